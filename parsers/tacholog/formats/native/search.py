"""The lines of the sustain test: its trials, and the highest rate that they have found.

Source: docs/native-log.md of this project.
"""

from __future__ import annotations

from tacholog.formats.kit import Basis, Bound, Conditions, Number, Record
from tacholog.formats.native.line import LATENCY_STATISTICS, Fields, count, decimal, number, one_of, payload_bytes

_BASES: tuple[Basis, ...] = ("rtt",)
_UNITS_OF_TIME = ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))


def trial(fields: Fields) -> Record:
    """One trial of a search: a part of a measurement, at a rate of its own."""
    numbers = [n for name in LATENCY_STATISTICS for n in number("latency", name, fields, f"{name}_ns")]
    numbers += [Number(metric="messages_sent", statistic="total", value=count(fields, "sent"))]
    numbers += number("messages_lost", "total", fields, "lost")
    numbers += number("loss", "total", fields, "loss_ratio")
    numbers += number("offered_rate", "mean", fields, "offered_rate_per_s")
    numbers += number("send_lateness", "p99", fields, "lateness_p99_ns")
    numbers += number("duration", "total", fields, "duration_ns")
    numbers.append(trials_passed(fields))
    return Record(
        test="sustain",
        payload_bytes=payload_bytes(fields),
        numbers=tuple(numbers),
        samples=count(fields, "samples"),
        scope="interval",
        side="publisher",
        conditions=Conditions(
            basis=one_of(_BASES, fields, "basis"), definition="perftest-rtt-open", offered_rate_per_s=decimal(fields, "rate_per_s")
        ),
    )


def trials_passed(fields: Fields) -> Number:
    """Whether a trial kept the goal, as a count: 1 or 0."""
    return Number(metric="trials_passed", statistic="total", value=1.0 if one_of(("yes", "no"), fields, "passed") == "yes" else 0.0)


def sustain(fields: Fields) -> Record:
    """What the trials of a size have found."""
    return Record(
        test="sustain",
        payload_bytes=payload_bytes(fields),
        numbers=(*sustained(fields), *number("duration", "total", fields, "duration_ns")),
        side="publisher",
        conditions=Conditions(basis=one_of(_BASES, fields, "basis"), definition="perftest-sustain", goal=goal_words(fields)),
    )


def sustained(fields: Fields) -> list[Number]:
    """The rates that a search has found. One that ends at a limit of its range knows on which side of it the rate lies."""
    outcome = one_of(("found", "above_range", "below_range"), fields, "outcome")
    if outcome == "below_range":
        return [Number(metric="sustained_rate", statistic="lower-bound", value=decimal(fields, "upper_rate_per_s"), bound="<")]
    bound: Bound = "=" if outcome == "found" else ">"
    numbers = [Number(metric="sustained_rate", statistic="lower-bound", value=decimal(fields, "rate_per_s"), bound=bound)]
    if outcome == "found":
        numbers.append(Number(metric="sustained_rate", statistic="upper-bound", value=decimal(fields, "upper_rate_per_s")))
    return numbers


def goal_words(fields: Fields) -> str:
    """The goal of a search in words: what is not the same in two goals is not the same in their words."""
    loss, exceed = decimal(fields, "goal_loss_ratio"), decimal(fields, "exceed_ratio")
    latency = [_latency_words(fields)] if "goal_statistic" in fields else []
    return ", ".join((*latency, f"loss at most {loss}" if loss else "no loss", f"exceed ratio {exceed}"))


def _latency_words(fields: Fields) -> str:
    latency_ns = count(fields, "goal_latency_ns")
    factor, unit = next((factor, unit) for factor, unit in _UNITS_OF_TIME if latency_ns % factor == 0)
    return f"{one_of(LATENCY_STATISTICS, fields, 'goal_statistic')} at most {latency_ns // factor} {unit}"
