"""The log of ``tacholog sustain``: the search for the highest rate that a tool sustains, with every trial.

Its grammar is that of perftest's log. Latency and loss are what the tool itself prints, so that its definition is part of the goal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import get_args

from tacholog.formats.kit import Basis, Conditions, Facts, Number, Record
from tacholog.formats.native.line import Fields, count, decimal, number, one_of, payload_bytes
from tacholog.formats.native.search import goal_words, sustained, trials_passed

DEFINITIONS = {
    "sustain-of-tool": "The highest rate that a tool was told to send at and whose trials kept a goal of latency and loss, as a search by the "
    "procedure of RFC 9971 (MLRsearch) found it: the relevant lower bound, confirmed by trials of full length. Latency and loss are what the tool "
    "itself prints, by the definition that the goal names. A trial also fails if the tool says that it sent less than 99.9 % of the rate.",
    "trial-of-tool": "What a tool printed of one trial of such a search, by its own definition of latency and loss.",
}
_BASES: tuple[Basis, ...] = get_args(Basis)
_DEFINITION = re.compile(r"[a-z0-9]++(?:[-.][a-z0-9]++)*")
_LATENCY = re.compile(r"(max|p[1-9][0-9](?:\.[0-9]{0,5}[1-9])?)_ns")


def _opening(fields: Fields) -> Facts:
    """The head of the log. The measured system is what the command names, unless a manifest says otherwise."""
    planned_s = decimal(fields, "duration_s")
    return Facts(
        tool_version=fields["version"],
        system=fields["program"],
        environment={"search_command": fields["command"]},
        conditions=Conditions(load_mode="open", planned_duration_s=planned_s or None),
    )


def _trial(fields: Fields) -> Record:
    """One trial: a part of a measurement, at a rate of its own."""
    latencies = [key[1] for name in fields if (key := _LATENCY.fullmatch(name))]
    numbers = [n for statistic in latencies for n in number("latency", statistic, fields, f"{statistic}_ns")]
    numbers.append(Number(metric="loss", statistic="total", value=decimal(fields, "loss_ratio")))
    numbers += number("offered_rate", "mean", fields, "sent_rate_per_s")
    numbers.append(trials_passed(fields))
    return Record(
        test="sustain",
        payload_bytes=_payload_bytes(fields),
        numbers=tuple(numbers),
        samples=count(fields, "samples") if "samples" in fields else None,
        scope="interval",
        side="publisher",
        conditions=Conditions(
            transport=fields.get("transport"),
            basis=_basis(fields),
            definition="trial-of-tool",
            offered_rate_per_s=decimal(fields, "rate_per_s"),
        ),
    )


def _sustain(fields: Fields) -> Record:
    """What the trials have found."""
    by = fields.get("definition")
    if by is not None and _DEFINITION.fullmatch(by) is None:
        raise ValueError(f"definition={by} is no definition")
    goal = goal_words(fields) + (f", by {by}" if by else "")
    return Record(
        test="sustain",
        payload_bytes=_payload_bytes(fields),
        numbers=(*sustained(fields), *number("duration", "total", fields, "duration_ns")),
        side="publisher",
        conditions=Conditions(transport=fields.get("transport"), basis=_basis(fields), definition="sustain-of-tool", goal=goal),
    )


def _payload_bytes(fields: Fields) -> int | None:
    return payload_bytes(fields) if "payload_bytes" in fields else None


def _basis(fields: Fields) -> Basis | None:
    return one_of(_BASES, fields, "basis") if "basis" in fields else None


#: What reads the lines that perftest does not write, or writes otherwise.
KINDS: Mapping[str, Callable[[Fields], Record | Facts]] = {"search": _opening, "trial": _trial, "sustain": _sustain}
