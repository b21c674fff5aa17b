"""Search the highest rate that keeps a goal, with any tool that has an option for a rate, and write the trials as a log.

It is the procedure of ``perftest --test sustain``: MLRsearch (RFC 9971) with one goal. ``bench/rig/sustain.hpp`` explains it and its error. Both
searches ask for the same trials (this one in whole messages per second), and their tests hold them to the same lists.
`tacholog.formats.native` reads the log.
"""

from __future__ import annotations

import hashlib
import math
import re
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Literal, NamedTuple

from tacholog.campaign.programs import behind_wrappers
from tacholog.errors import TachologError, UnreadableInput
from tacholog.formats.reading import Log, read_text
from tacholog.schema.records import Record

Bound = Literal["undecided", "lower", "upper"]
Outcome = Literal["found", "above_range", "below_range"]
_COARSE_STEP = 4.0
_LARGEST_STEP = 1e6
#: What stands for the rate and for the length of a trial in the command. Braces would be placeholders of a campaign file.
RATE, SECONDS = "%rate%", "%seconds%"
_KEPT_SHARE, _KEPT_MESSAGES = 0.999, 2  # what a tool has to send of a rate, and by how many messages its count may be off
_BEFORE_AND_AFTER_S = 60.0
_SHOWN_LINES, _SHOWN_CHARACTERS = 2, 200  # at the start and at the end of what a tool printed that failed
_BARE = re.compile(r"[A-Za-z0-9_.:/+,%@-]+", re.ASCII)
_ESCAPES = {ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n", ord("\t"): "\\t"}


class SearchPlan(NamedTuple):
    """Where to search, and how: rates in messages per second, lengths of trials in seconds, shares of 1.

    ``hidden_ratio`` is how far above the capacity a short trial may pass, because a queue grows only slowly.
    """

    least_per_s: float = 1000.0
    most_per_s: float = 10_000_000.0
    short_s: float = 1.0
    full_s: float = 5.0
    width_ratio: float = 0.01
    trials: int = 3
    exceed_ratio: float = 0.5
    hidden_ratio: float = 0.0


class TrialOrder(NamedTuple):
    """The trial that comes next."""

    rate_per_s: float
    duration_s: float
    is_full_length: bool


class Tried(NamedTuple):
    """How long a rate was tried, and with what outcome, in seconds."""

    full_passed_s: float = 0.0
    full_missed_s: float = 0.0
    short_passed_s: float = 0.0
    short_missed_s: float = 0.0


class Sustained(NamedTuple):
    """What was found: the relevant lower bound and the relevant upper bound, and how many rates well above the latter kept the goal."""

    outcome: Outcome
    rate_per_s: float | None
    upper_per_s: float | None
    trials: int
    at_rate: Tried
    passed_above: int


def classify(tried: Tried, duration_sum_s: float, exceed_ratio: float) -> Bound:
    """Return what these trials make of a rate, where trials have to add up to ``duration_sum_s`` (the load classification of RFC 9971)."""
    outweighed_s = tried.short_passed_s * exceed_ratio / (1 - exceed_ratio) if exceed_ratio < 1 else 0.0
    missed_s = tried.full_missed_s + max(0.0, tried.short_missed_s - outweighed_s)
    whole_s = max(tried.full_passed_s + missed_s, duration_sum_s)
    may_miss_s = whole_s * exceed_ratio * (1 + 1e-9)  # sums of durations are not exact
    if whole_s - tried.full_passed_s <= may_miss_s:
        return "lower"  # even if all that is to come misses it
    return "undecided" if missed_s <= may_miss_s else "upper"


def rounded(rate_per_s: float) -> float:
    """Return the rate as a whole number of at most five digits that count: what is printed is what was tried, and tools take whole rates."""
    return float(round(rate_per_s, min(0, 4 - math.floor(math.log10(rate_per_s)))))


class SustainSearch:
    """Asks for one trial after the other."""

    def __init__(self, plan: SearchPlan) -> None:
        """Take what to search for."""
        self._plan = plan
        self._rates: dict[float, Tried] = {}
        self._trials = 0

    def next(self) -> TrialOrder | None:
        """Return the next trial; ``None``: the search is over."""
        plan, found = self._plan, self._bounds(is_full_length=False)
        if found == (None, None):
            return TrialOrder(plan.least_per_s, plan.short_s, is_full_length=False)
        if not any(_is_confirmed(tried) for tried in self._rates.values()):
            rate = self._coarse(*found)
            if rate is not None:
                return TrialOrder(rate, plan.short_s, is_full_length=False)
        for rate, tried in sorted(self._rates.items()):
            if _is_confirmed(tried) and self._bound_of(tried, is_full_length=True) == "undecided":
                return TrialOrder(rate, plan.full_s, is_full_length=True)
        confirming = self._confirming(*found)
        return None if confirming is None else TrialOrder(confirming, plan.full_s, is_full_length=True)

    def add(self, trial: TrialOrder, *, passed: bool) -> None:
        """Take what the trial that was asked for last has shown."""
        tried = self._rates.get(trial.rate_per_s, Tried())
        name = f"{'full' if trial.is_full_length else 'short'}_{'passed' if passed else 'missed'}_s"
        self._rates[trial.rate_per_s] = tried._replace(**{name: getattr(tried, name) + trial.duration_s})
        self._trials += 1

    def result(self) -> Sustained:
        """Return what was found."""
        lower, upper = self._bounds(is_full_length=True)
        above = (tried for rate, tried in self._rates.items() if upper is not None and rate > upper * (1 + self._plan.hidden_ratio))
        passed_above = sum(self._bound_of(tried, is_full_length=False) == "lower" for tried in above)
        outcome: Outcome = "below_range" if lower is None else "above_range" if upper is None else "found"
        at_rate = self._rates[lower] if lower is not None else Tried()
        return Sustained(outcome, lower, upper, self._trials, at_rate, passed_above)

    def _bound_of(self, tried: Tried, *, is_full_length: bool) -> Bound:
        """What a rate is. One short trial decides where the interval is narrowed down; full-length ones count as such there."""
        plan = self._plan
        if is_full_length:
            return classify(tried, plan.full_s * plan.trials, plan.exceed_ratio)
        both = Tried(tried.full_passed_s + tried.short_passed_s, tried.full_missed_s + tried.short_missed_s)
        return classify(both, plan.short_s, plan.exceed_ratio)

    def _bounds(self, *, is_full_length: bool) -> tuple[float | None, float | None]:
        """The highest lower bound below the lowest upper bound, and that upper bound."""
        lower: float | None = None
        for rate, tried in sorted(self._rates.items()):
            bound = self._bound_of(tried, is_full_length=is_full_length)
            if bound == "upper":
                return lower, rate
            if bound == "lower":
                lower = rate
        return lower, None

    def _coarse(self, lower: float | None, upper: float | None) -> float | None:
        most = self._plan.most_per_s
        if lower is not None and upper is None:
            return min(rounded(lower * _COARSE_STEP), most) if lower < most else None
        return self._narrower(lower, upper)

    def _narrower(self, lower: float | None, upper: float | None) -> float | None:
        """The rate that narrows the interval; ``None`` if it is narrow enough."""
        if lower is None or upper is None or upper - lower <= upper * self._plan.width_ratio:
            return None
        middle = rounded(math.sqrt(lower * upper))
        return middle if lower < middle < upper else None

    def _confirming(self, short_lower: float | None, short_upper: float | None) -> float | None:
        """The rate to be tried next by full-length trials, given the interval that short ones have found."""
        plan, (lower, upper) = self._plan, self._bounds(is_full_length=True)
        if lower is not None and upper is not None:
            return self._narrower(lower, upper)
        if lower is not None:
            if lower >= plan.most_per_s:
                return None
            outwards = min(rounded(lower * self._step("lower")), plan.most_per_s)
            return min(short_upper, outwards) if short_upper is not None and short_upper > lower else outwards
        if upper is not None:
            return None if upper <= plan.least_per_s else max(rounded(upper / self._step("upper")), plan.least_per_s)
        return plan.least_per_s if short_lower is None else short_lower

    def _step(self, bound: Bound) -> float:
        """How far the search moves outwards: by a goal width, then by two, four and so on."""
        step = 1 / (1 - self._plan.width_ratio)
        for _ in range(sum(self._bound_of(tried, is_full_length=True) == bound for tried in self._rates.values()) - 1):
            step = min(step * step, _LARGEST_STEP)
        return step


def _is_confirmed(tried: Tried) -> bool:
    return tried.full_passed_s + tried.full_missed_s > 0


class Goal(NamedTuple):
    """What has to hold in a trial: a statistic of latency is at most so many ns (or anything, if none is named), and so much is lost at most."""

    statistic: str | None
    latency_ns: float
    loss_ratio: float


class TrialCommand(NamedTuple):
    """The tool: its command with placeholders, the format of its log, and a folder that keeps the logs of all trials, if they are to be kept."""

    words: Sequence[str]
    format: str | None
    kept_in: Path | None


class Judged(NamedTuple):
    """What the log of a trial says."""

    transport: str | None
    payload_bytes: int | None
    basis: str | None
    definition: str | None
    samples: int | None
    sent_per_s: float | None
    loss_ratio: float
    latency_ns: float | None
    passed: bool


def search(command: TrialCommand, goal: Goal, plan: SearchPlan, head: Mapping[str, object]) -> Iterator[str]:
    """Yield the lines of the log while trials are carried out, one after the other.

    Raises:
        TachologError: a trial could not be carried out, or its log does not say whether the goal was kept.
    """
    begin = time.monotonic()
    program = PurePath(command.words[behind_wrappers(command.words).position]).name
    yield line_of("search", {"log": "search/1", **head, "program": program, "command": shlex.join(command.words)})
    found, index, judged = SustainSearch(plan), 0, None
    while order := found.next():
        done = _carry_out(command, order)
        text = done.text
        judged = _judged(_read(done, command, order), order, goal)
        digest = hashlib.sha256(text.encode()).hexdigest()
        if command.kept_in is not None:
            (command.kept_in / f"trial-{index:03}.log").write_text(text, encoding="utf-8")
        found.add(order, passed=judged.passed)
        yield line_of("trial", {**_of(judged), "index": index, **_trial(order, judged, goal), "sha256": digest, "passed": judged.passed})
        index += 1
    if judged is not None:
        yield line_of(
            "sustain", {**_of(judged), **_goal(goal, plan), **_found(found.result()), "duration_ns": round((time.monotonic() - begin) * 1e9)}
        )
    yield line_of("end", {"status": "ok", "sustain": 1, "trials": index})


def line_of(kind: str, fields: Mapping[str, object]) -> str:
    """Return a line in the grammar of the native log (docs/native-log.md). What is unknown is left out."""
    return " ".join([kind, *(f"{key}={_written(value)}" for key, value in fields.items() if value is not None)])


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.9f}".rstrip("0").rstrip(".")
    text = str(value)
    if _BARE.fullmatch(text):
        return text
    escaped = text.translate(_ESCAPES)
    return '"' + "".join(letter if letter.isprintable() else "".join(f"\\x{byte:02X}" for byte in letter.encode()) for letter in escaped) + '"'


class _Done(NamedTuple):
    """What a tool printed on its standard output, which is its log, and on standard error."""

    text: str
    errors: str

    @property
    def ends(self) -> str:
        """The first and the last lines in one line. A tool that prints its help too says before it what is wrong; others say it at the end."""
        lines = [line.strip()[:_SHOWN_CHARACTERS] for text in (self.text, self.errors) for line in text.splitlines() if line.strip()]
        if len(lines) > 2 * _SHOWN_LINES:
            lines = [*lines[:_SHOWN_LINES], "...", *lines[-_SHOWN_LINES:]]
        return " | ".join(lines) or "nothing"


def _read(done: _Done, command: TrialCommand, order: TrialOrder) -> Log:
    """Read the log of a trial. Many tools end with status 0 after an error, so one without any result is shown."""
    try:
        log = read_text(done.text, command.format)
    except UnreadableInput as error:
        raise TachologError(f"{_at(command, order)}: it printed no log that can be read ({error}). It printed: {done.ends}") from error
    if not any(record.scope == "summary" for record in log.records):
        raise TachologError(f"{_at(command, order)}: its log has no result. It printed: {done.ends}")
    return log


def _at(command: TrialCommand, order: TrialOrder) -> str:
    return f"{command.words[0]} at {order.rate_per_s:.0f} messages per second"


def _carry_out(command: TrialCommand, order: TrialOrder) -> _Done:
    """Run the tool once; return what it printed."""
    values = {RATE: f"{order.rate_per_s:.0f}", SECONDS: f"{order.duration_s:g}"}
    words = [_filled(word, values) for word in command.words]
    try:
        done = subprocess.run(words, capture_output=True, check=False, timeout=3 * order.duration_s + _BEFORE_AND_AFTER_S)
    except subprocess.TimeoutExpired as error:
        raise TachologError(f"{_at(command, order)}: it did not end in time") from error
    except OSError as error:
        raise TachologError(f"{words[0]}: {error.strerror}") from error
    printed = _Done(done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
    if done.returncode != 0:
        raise TachologError(f"{_at(command, order)}: exit status {done.returncode}: {printed.ends}")
    return printed


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(name, value)
    return word


def _judged(log: Log, order: TrialOrder, goal: Goal) -> Judged:
    """Judge a trial by the results in its log. What nothing states is not taken for kept."""
    results = [record for record in log.records if record.scope == "summary"]
    at = f"the log of the trial at {order.rate_per_s:.0f} messages per second"
    latency = next((record for record in results if goal.statistic and _value(record, "latency", goal.statistic) is not None), None)
    if goal.statistic and latency is None:
        raise TachologError(f"{at} states no latency {goal.statistic}")
    if latency and _too_few(latency, goal.statistic or ""):
        advice = "Raise the lowest rate or --trial-duration, or let the tool measure more of its messages"
        raise TachologError(f"{at} has only {latency.samples} samples: too few for {goal.statistic}. {advice}")
    losses = [loss for record in results if (loss := _loss(record)) is not None]
    if not losses:
        raise TachologError(f"{at} does not state how many messages were lost")
    sent = next((rate for record in results if (rate := _sent(record)) is not None), None)
    latency_ns = _value(latency, "latency", goal.statistic) if latency and goal.statistic else None
    is_rate_kept = sent is None or sent[0] >= _KEPT_SHARE * order.rate_per_s - _KEPT_MESSAGES / sent[1]
    passed = is_rate_kept and max(losses) <= goal.loss_ratio and (latency_ns is None or latency_ns <= goal.latency_ns)
    one = latency or results[0]
    stated = one.conditions.over(log.facts.conditions)
    return Judged(
        stated.transport,
        one.payload_bytes,
        stated.basis,
        stated.definition,
        one.samples,
        sent[0] if sent else None,
        max(losses),
        latency_ns,
        passed,
    )


def _too_few(record: Record, statistic: str) -> bool:
    """Whether less than one sample lies beyond a percentile: it says little more than the largest value."""
    beyond = 1 - float(statistic[1:]) / 100 if statistic.startswith("p") else 1.0
    return record.samples is not None and record.samples * beyond < 1 - 1e-9


def _value(record: Record, metric: str, statistic: str) -> float | None:
    number = record.number(metric, statistic)
    return number.value if number else None


def _loss(record: Record) -> float | None:
    """The share of messages that a record counts as lost; ``None`` if it does not say."""
    if (loss := _value(record, "loss", "total")) is not None:
        return loss
    lost = _value(record, "messages_lost", "total")
    received = _value(record, "messages_received", "total")
    if lost is None or not lost:
        return lost
    known = received if received is not None else record.samples
    return lost / (lost + known) if known is not None else 1.0


def _sent(record: Record) -> tuple[float, float] | None:
    """The rate that was sent, and for how many seconds; ``None`` if the record does not say."""
    sent, duration = _value(record, "messages_sent", "total"), _value(record, "duration", "total")
    if sent is None or not duration:
        return None
    return sent / duration * 1e9, duration / 1e9


def _of(judged: Judged) -> dict[str, object]:
    return {"transport": judged.transport, "payload_bytes": judged.payload_bytes, "basis": judged.basis, "definition": judged.definition}


def _trial(order: TrialOrder, judged: Judged, goal: Goal) -> dict[str, object]:
    return {
        "length": "full" if order.is_full_length else "short",
        "rate_per_s": order.rate_per_s,
        "duration_s": order.duration_s,
        "samples": judged.samples,
        "sent_rate_per_s": judged.sent_per_s,
        "loss_ratio": judged.loss_ratio,
        f"{goal.statistic}_ns": judged.latency_ns,
    }


def _goal(goal: Goal, plan: SearchPlan) -> dict[str, object]:
    latency = {"goal_statistic": goal.statistic, "goal_latency_ns": round(goal.latency_ns)} if goal.statistic else {}
    return {**latency, "goal_loss_ratio": goal.loss_ratio, "exceed_ratio": plan.exceed_ratio}


def _found(found: Sustained) -> dict[str, object]:
    return {
        "outcome": found.outcome,
        "trials": found.trials,
        "rate_per_s": found.rate_per_s,
        "passed_s": found.at_rate.full_passed_s,
        "missed_s": found.at_rate.full_missed_s,
        "upper_rate_per_s": found.upper_per_s,
        "passed_above": found.passed_above,
    }
