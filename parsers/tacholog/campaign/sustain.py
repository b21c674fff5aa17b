"""Search for the highest rate that keeps a goal, with any tool that has an option for a rate, and write the trials as a log.

The procedure is the same as in ``perftest --test sustain``: MLRsearch (RFC 9971) with one goal. ``bench/rig/sustain.hpp`` explains it and its error.
Both searches do the same trials (this search rounds rates to whole messages per second); their tests compare both with the same lists of trials.
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
#: These words in the command stand for the rate and the duration of a trial. They have no braces, because a campaign file would replace {rate}
#: itself.
RATE, SECONDS = "%rate%", "%seconds%"
# A tool must send at least this share of the requested rate. Its count of messages may be wrong by this number.
_LEAST_SENT_SHARE, _COUNT_ERROR = 0.999, 2
_OVERHEAD_S = 60.0  # added to the time limit of a trial, for the start and the end of the tool
_QUOTED_LINES, _QUOTED_CHARACTERS = 2, 200  # a message quotes this number of lines from the start and from the end of the output of a failed tool
_BARE = re.compile(r"[A-Za-z0-9_.:/+,%@-]+", re.ASCII)
_ESCAPES = {ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n", ord("\t"): "\\t"}


class SearchPlan(NamedTuple):
    """The range and the parameters of a search. Rates are in messages per second, durations in seconds, and shares are fractions of 1.

    A short trial may pass at a rate above the capacity of the system, because a queue grows slowly. ``hidden_ratio`` is the largest possible excess
    of this rate over the capacity, as a share.
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
    """The next trial."""

    rate_per_s: float
    duration_s: float
    is_full_length: bool


class TrialTimes(NamedTuple):
    """The total durations of the trials at one rate, in seconds.

    There is a sum for each combination of length (full, short) and result (passed, goal missed).
    """

    full_passed_s: float = 0.0
    full_missed_s: float = 0.0
    short_passed_s: float = 0.0
    short_missed_s: float = 0.0


class SearchResult(NamedTuple):
    """The result of a search: a lower bound and an upper bound of the sustained rate, and ``passed_above``.

    ``passed_above`` is the number of rates that kept the goal, although they are well above the upper bound.
    """

    outcome: Outcome
    rate_per_s: float | None
    upper_per_s: float | None
    trials: int
    at_rate: TrialTimes
    passed_above: int


def classify(tried: TrialTimes, duration_sum_s: float, exceed_ratio: float) -> Bound:
    """Return whether a rate is a lower bound, an upper bound, or undecided, by the load classification of RFC 9971.

    A rate is decided by trials of ``duration_sum_s`` in total.
    """
    outweighed_s = tried.short_passed_s * exceed_ratio / (1 - exceed_ratio) if exceed_ratio < 1 else 0.0
    missed_s = tried.full_missed_s + max(0.0, tried.short_missed_s - outweighed_s)
    whole_s = max(tried.full_passed_s + missed_s, duration_sum_s)
    may_miss_s = whole_s * exceed_ratio * (1 + 1e-9)  # a tolerance, because sums of durations are not exact
    if whole_s - tried.full_passed_s <= may_miss_s:
        return "lower"  # even if all further trials miss the goal, the rate stays a lower bound
    return "undecided" if missed_s <= may_miss_s else "upper"


def rounded(rate_per_s: float) -> float:
    """Return the rate as a whole number with at most five significant digits, so that the log states exactly the requested rate."""
    return float(round(rate_per_s, min(0, 4 - math.floor(math.log10(rate_per_s)))))


class SustainSearch:
    """A search for the sustained rate. It requests one trial at a time."""

    def __init__(self, plan: SearchPlan) -> None:
        """Start without trials."""
        self._plan = plan
        self._rates: dict[float, TrialTimes] = {}
        self._trials = 0

    def next(self) -> TrialOrder | None:
        """Return the next trial; ``None`` if the search is over."""
        plan, bounds = self._plan, self._bounds(is_full_length=False)
        if bounds == (None, None):
            return TrialOrder(plan.least_per_s, plan.short_s, is_full_length=False)
        if not any(_is_confirmed(tried) for tried in self._rates.values()):
            rate = self._coarse(*bounds)
            if rate is not None:
                return TrialOrder(rate, plan.short_s, is_full_length=False)
        for rate, tried in sorted(self._rates.items()):
            if _is_confirmed(tried) and self._bound_of(tried, is_full_length=True) == "undecided":
                return TrialOrder(rate, plan.full_s, is_full_length=True)
        confirming = self._confirming(*bounds)
        return None if confirming is None else TrialOrder(confirming, plan.full_s, is_full_length=True)

    def add(self, trial: TrialOrder, *, passed: bool) -> None:
        """Add the result of a trial. The trial must be the one that `next` returned last. ``passed`` states whether the trial passed."""
        tried = self._rates.get(trial.rate_per_s, TrialTimes())
        name = f"{'full' if trial.is_full_length else 'short'}_{'passed' if passed else 'missed'}_s"
        self._rates[trial.rate_per_s] = tried._replace(**{name: getattr(tried, name) + trial.duration_s})
        self._trials += 1

    def result(self) -> SearchResult:
        """Return the result so far."""
        lower, upper = self._bounds(is_full_length=True)
        above = (tried for rate, tried in self._rates.items() if upper is not None and rate > upper * (1 + self._plan.hidden_ratio))
        passed_above = sum(self._bound_of(tried, is_full_length=False) == "lower" for tried in above)
        outcome: Outcome = "below_range" if lower is None else "above_range" if upper is None else "found"
        at_rate = self._rates[lower] if lower is not None else TrialTimes()
        return SearchResult(outcome, lower, upper, self._trials, at_rate, passed_above)

    def _bound_of(self, tried: TrialTimes, *, is_full_length: bool) -> Bound:
        """Return whether the trials at a rate make this rate a lower bound or an upper bound of the sustained rate, or leave it undecided.

        If ``is_full_length`` is false, short trials count as much as trials of full length. In this case the duration of one
        short trial is enough for a decision.
        """
        plan = self._plan
        if is_full_length:
            return classify(tried, plan.full_s * plan.trials, plan.exceed_ratio)
        both = TrialTimes(tried.full_passed_s + tried.short_passed_s, tried.full_missed_s + tried.short_missed_s)
        return classify(both, plan.short_s, plan.exceed_ratio)

    def _bounds(self, *, is_full_length: bool) -> tuple[float | None, float | None]:
        """Return the lower and the upper bound of the sustained rate. A bound is ``None`` if no tried rate is such a bound.

        Each tried rate is "lower", "upper" or "undecided", see `_bound_of`. The returned upper bound is the lowest rate that is "upper". The returned
        lower bound is the highest "lower" rate below this upper bound.
        """
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
        """Return the next rate within the interval; ``None`` if the interval is narrow enough."""
        if lower is None or upper is None or upper - lower <= upper * self._plan.width_ratio:
            return None
        middle = rounded(math.sqrt(lower * upper))
        return middle if lower < middle < upper else None

    def _confirming(self, short_lower: float | None, short_upper: float | None) -> float | None:
        """Return the rate of the next full-length trial; ``None`` if the search is over."""
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
        """Return the factor from an outermost known rate to the next rate. Each step is twice as wide as the step before."""
        step = 1 / (1 - self._plan.width_ratio)
        for _ in range(sum(self._bound_of(tried, is_full_length=True) == bound for tried in self._rates.values()) - 1):
            step = min(step * step, _LARGEST_STEP)
        return step


def _is_confirmed(tried: TrialTimes) -> bool:
    return tried.full_passed_s + tried.full_missed_s > 0


class Goal(NamedTuple):
    """The goal of each trial: a limit for a latency statistic, and a limit for the share of lost messages.

    If ``statistic`` is ``None``, latency has no limit.
    """

    statistic: str | None
    latency_ns: float
    loss_ratio: float


class TrialCommand(NamedTuple):
    """The tool: its command with placeholders, the format of its log, and the folder for the logs of all trials (``None``: logs are not kept)."""

    words: Sequence[str]
    format: str | None
    log_folder: Path | None


class Trial(NamedTuple):
    """The result of a trial, from its log."""

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
    """Do the trials one after the other, and yield each line of the log as soon as it is known.

    Raises:
        TachologError: a trial could not be done, or its log does not state the values that the goal needs.
    """
    begin = time.monotonic()
    program = PurePath(command.words[behind_wrappers(command.words).position]).name
    yield line_of("search", {"log": "search/1", **head, "program": program, "command": shlex.join(command.words)})
    rate_search, index, trial = SustainSearch(plan), 0, None
    while order := rate_search.next():
        output = _run_tool(command, order)
        trial = _judge(_read_log(output, command, order), order, goal)
        digest = hashlib.sha256(output.text.encode()).hexdigest()
        if command.log_folder is not None:
            (command.log_folder / f"trial-{index:03}.log").write_text(output.text, encoding="utf-8")
        rate_search.add(order, passed=trial.passed)
        yield line_of("trial", {**_setting(trial), "index": index, **_trial_fields(order, trial, goal), "sha256": digest, "passed": trial.passed})
        index += 1
    if trial is not None:
        duration_ns = round((time.monotonic() - begin) * 1e9)
        yield line_of("sustain", {**_setting(trial), **_goal_fields(goal, plan), **_result_fields(rate_search.result()), "duration_ns": duration_ns})
    yield line_of("end", {"status": "ok", "sustain": 1, "trials": index})


def line_of(kind: str, fields: Mapping[str, object]) -> str:
    """Return a line in the grammar of the native log (docs/native-log.md), without the unknown fields (``None``)."""
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


class ToolOutput(NamedTuple):
    """The standard output of a tool, which is its log, and its standard error."""

    text: str
    errors: str

    @property
    def excerpt(self) -> str:
        """Return the first and the last lines of the output as one text.

        Both are needed: some tools print an error and then their help, and other tools print the error at the end.
        """
        lines = [line.strip()[:_QUOTED_CHARACTERS] for text in (self.text, self.errors) for line in text.splitlines() if line.strip()]
        if len(lines) > 2 * _QUOTED_LINES:
            lines = [*lines[:_QUOTED_LINES], "...", *lines[-_QUOTED_LINES:]]
        return " | ".join(lines) or "nothing"


def _read_log(output: ToolOutput, command: TrialCommand, order: TrialOrder) -> Log:
    try:
        log = read_text(output.text, command.format)
    except UnreadableInput as error:
        raise TachologError(f"{_trial_name(command, order)}: its output is not a readable log ({error}). It printed: {output.excerpt}") from error
    # Many tools end with status 0 after an error, and such a log has no result.
    if not any(record.scope == "summary" for record in log.records):
        raise TachologError(f"{_trial_name(command, order)}: its log has no result. It printed: {output.excerpt}")
    return log


def _trial_name(command: TrialCommand, order: TrialOrder) -> str:
    return f"{command.words[0]} at {order.rate_per_s:.0f} messages per second"


def _run_tool(command: TrialCommand, order: TrialOrder) -> ToolOutput:
    words = [word.replace(RATE, f"{order.rate_per_s:.0f}").replace(SECONDS, f"{order.duration_s:g}") for word in command.words]
    try:
        done = subprocess.run(words, capture_output=True, check=False, timeout=3 * order.duration_s + _OVERHEAD_S)
    except subprocess.TimeoutExpired as error:
        raise TachologError(f"{_trial_name(command, order)}: it did not end in time") from error
    except OSError as error:
        raise TachologError(f"{words[0]}: {error.strerror}") from error
    output = ToolOutput(done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
    if done.returncode != 0:
        raise TachologError(f"{_trial_name(command, order)}: exit status {done.returncode}: {output.excerpt}")
    return output


def _judge(log: Log, order: TrialOrder, goal: Goal) -> Trial:
    results = [record for record in log.records if record.scope == "summary"]
    log_name = f"the log of the trial at {order.rate_per_s:.0f} messages per second"
    latency = next((record for record in results if goal.statistic and _value(record, "latency", goal.statistic) is not None), None)
    if goal.statistic and latency is None:
        raise TachologError(f"{log_name} states no latency {goal.statistic}")
    if latency and _has_too_few_samples(latency, goal.statistic or ""):
        advice = "Raise the lowest rate or --trial-duration, or let the tool measure more of its messages"
        raise TachologError(f"{log_name} has only {latency.samples} samples: too few for {goal.statistic}. {advice}")
    losses = [loss for record in results if (loss := _loss_ratio(record)) is not None]
    if not losses:
        raise TachologError(f"{log_name} does not state how many messages were lost")
    sent = next((rate for record in results if (rate := _sent_rate_and_duration(record)) is not None), None)
    latency_ns = _value(latency, "latency", goal.statistic) if latency and goal.statistic else None
    is_rate_kept = sent is None or sent[0] >= _LEAST_SENT_SHARE * order.rate_per_s - _COUNT_ERROR / sent[1]
    passed = is_rate_kept and max(losses) <= goal.loss_ratio and (latency_ns is None or latency_ns <= goal.latency_ns)
    record = latency or results[0]
    conditions = record.conditions.over(log.facts.conditions)
    return Trial(
        conditions.transport,
        record.payload_bytes,
        conditions.basis,
        conditions.definition,
        record.samples,
        sent[0] if sent else None,
        max(losses),
        latency_ns,
        passed,
    )


def _has_too_few_samples(record: Record, statistic: str) -> bool:
    """Whether less than one sample is above a percentile. Such a percentile is almost the maximum."""
    beyond = 1 - float(statistic[1:]) / 100 if statistic.startswith("p") else 1.0
    return record.samples is not None and record.samples * beyond < 1 - 1e-9


def _value(record: Record, metric: str, statistic: str) -> float | None:
    number = record.number(metric, statistic)
    return number.value if number else None


def _loss_ratio(record: Record) -> float | None:
    if (loss := _value(record, "loss", "total")) is not None:
        return loss
    lost = _value(record, "messages_lost", "total")
    received = _value(record, "messages_received", "total")
    if lost is None or not lost:
        return lost
    arrived = received if received is not None else record.samples
    return lost / (lost + arrived) if arrived is not None else 1.0


def _sent_rate_and_duration(record: Record) -> tuple[float, float] | None:
    """Return the sent messages per second, and the duration in seconds; ``None`` if the record does not state both."""
    sent, duration = _value(record, "messages_sent", "total"), _value(record, "duration", "total")
    if sent is None or not duration:
        return None
    return sent / duration * 1e9, duration / 1e9


def _setting(trial: Trial) -> dict[str, object]:
    return {"transport": trial.transport, "payload_bytes": trial.payload_bytes, "basis": trial.basis, "definition": trial.definition}


def _trial_fields(order: TrialOrder, trial: Trial, goal: Goal) -> dict[str, object]:
    return {
        "length": "full" if order.is_full_length else "short",
        "rate_per_s": order.rate_per_s,
        "duration_s": order.duration_s,
        "samples": trial.samples,
        "sent_rate_per_s": trial.sent_per_s,
        "loss_ratio": trial.loss_ratio,
        f"{goal.statistic}_ns": trial.latency_ns,
    }


def _goal_fields(goal: Goal, plan: SearchPlan) -> dict[str, object]:
    latency = {"goal_statistic": goal.statistic, "goal_latency_ns": round(goal.latency_ns)} if goal.statistic else {}
    return {**latency, "goal_loss_ratio": goal.loss_ratio, "exceed_ratio": plan.exceed_ratio}


def _result_fields(result: SearchResult) -> dict[str, object]:
    return {
        "outcome": result.outcome,
        "trials": result.trials,
        "rate_per_s": result.rate_per_s,
        "passed_s": result.at_rate.full_passed_s,
        "missed_s": result.at_rate.full_missed_s,
        "upper_rate_per_s": result.upper_per_s,
        "passed_above": result.passed_above,
    }
