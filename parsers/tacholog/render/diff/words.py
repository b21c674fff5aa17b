"""Words for comparisons.

The words state the numbers and the evidence of a row, or the reason why it has no verdict. The module also has the words for the loss of messages and
the meaning of the verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import log
from types import MappingProxyType
from typing import Literal

import msgspec

from tacholog.compare.groups import groups_of
from tacholog.compare.policy import MIN_RUNS, samples_needed
from tacholog.compare.result import (
    DIFFERS,
    OPEN,
    OUT_OF_TURN,
    REASONS_OUT_OF_TURN,
    ComparisonRow,
    Difference,
    Loss,
    LossSide,
    Side,
    Verdict,
    worse_by,
)
from tacholog.schema.marks import MARKS
from tacholog.schema.metrics import METRICS, median_run
from tacholog.view.names import row_name
from tacholog.view.numerals import NOT_STATED, quantity, with_bound
from tacholog.view.refusals import PUBLISHED_AGAIN, difference_words, not_stated

Which = Literal["old", "new"]
SIDES: tuple[Which, ...] = ("old", "new")
UNTESTED: tuple[Verdict, ...] = ("unreplicated_diff", "unreplicated_same")


class Meaning(msgspec.Struct, frozen=True):
    """The title of a verdict, and a sentence that states when a row gets it."""

    title: str
    sentence: str

    @property
    def words(self) -> str:
        """The title of the verdict in lower case, for use within a sentence."""
        return self.title.lower()


_DIFFERS = (
    "The two measurements differ, in this report as a whole, by more than the threshold. Whether the release or the day is the cause is not "
    "known, because the sides did not take turns. `tacholog ab` can tell."
)
#: The words for each verdict in text, on pages, in options and in the glossary. The keys are the words of JSON.
MEANINGS: Mapping[Verdict, Meaning] = MappingProxyType(
    {
        "worse": Meaning("Worse", "The change is significant in this report as a whole, and larger than the threshold."),
        "better": Meaning("Better", "The change is significant in this report as a whole, and larger than the threshold."),
        "differs_worse": Meaning("Measured worse", _DIFFERS),
        "differs_better": Meaning("Measured better", _DIFFERS),
        "differs_not": Meaning(
            "No difference seen",
            "The 95 % interval lies within the threshold. But the sides did not take turns: a change of the machine may hide one of the release.",
        ),
        "no_change": Meaning("No change", "The true change is within the threshold, with 95 % confidence on each side."),
        "inconclusive": Meaning(
            "Too noisy to tell",
            "The runs prove neither a change nor that nothing changed. Smallest detectable change: if only this row changed by so much, the report "
            "would find it in four cases of five.",
        ),
        "too_few_pairs": Meaning(
            "Too few pairs for so many rows",
            "No change of a single row could become significant among so many rows, however large. Each row says how many pairs or sessions are "
            "needed.",
        ),
        "insufficient": Meaning(
            "Not enough runs or samples",
            f"A verdict needs at least {MIN_RUNS} runs on each side, each with enough samples for the percentile. `tacholog ab` makes 12 pairs.",
        ),
        "unreplicated_diff": Meaning("Differ, not proven", "The values differ by more than the band, but no test decides: each row says why."),
        "unreplicated_same": Meaning("Alike, not proven", "The values differ by no more than the band, and no test decides: each row says why."),
        "not_comparable": Meaning("Not comparable", "Something other than the release is different."),
        "removed": Meaning("Only in old", "The new side has no such row, or only under other conditions."),
        "added": Meaning("Only in new", "The old side has no such row, or only under other conditions."),
        "invalid": Meaning(
            "Failed", "A run failed or gave no value, its log is not the one that was recorded, or its figures contradict each other."
        ),
        "lossy": Meaning("Too much lost", "One side lost more than 1 % of the messages: its figures describe only those that arrived."),
    }
)
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "single_run": "one run on a side",
        "unverified": "a condition is not stated",
        "order_confounded": "the sides did not take turns, so the time or the machine of the measurement may explain it",
        "sessions_confounded": "the sessions of the sides did not take turns, so the time or the machine of the measurement may explain it",
        "order_unknown": "the order of the runs is not known, so the time or the machine of the measurement may explain it",
        "pairs_unnamed": "the runs took turns, but do not state the session and repetition that make them pairs",
        "few_pairs": f"fewer than {MIN_RUNS} pairs of runs were made next to each other",
        "same_first": "one side ran first in nearly every pair or session, so its place may explain the change",
        "host_changed": "the host changed, and that may explain it",
        "bound": "the log prints a bound, not a value",
        "same_measurement": f"every value of the series is identical: {PUBLISHED_AGAIN}",
        "no_value": "no run gave a value",
        "not_positive": "a run measured zero",
        "mixed": "one side holds several configurations",
    }
)
THRESHOLD_SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "policy": "by default",
        "override": "from the thresholds file",
        "rounding": "what rounding hides",
        "same_build": "as measured with one build",
        "assumed": "assumed",
        "controls": "what the change of the host explains",
    }
)


def verdict_named(word: str) -> Verdict | None:
    """Return the verdict with this name, in the words of JSON or of reports; ``None`` if there is none."""
    words = " ".join(word.split()).casefold()
    return next((verdict for verdict, meaning in MEANINGS.items() if words in (verdict, meaning.words)), None)


_NAMED_RUNS = 3  # the largest number of left-out runs that a remark names
_ONE_VALUE = "one_value"  # the reason of rows with one value on each side; it is not in `REASONS`


def sentence_of(verdict: Verdict, rows: Iterable[ComparisonRow]) -> str:
    """Return the explanation of a verdict. If none of the rows was tested, and the reason is the same for all rows, return this reason instead."""
    kind = why_untested(rows) if verdict in UNTESTED else None
    if kind is None:
        return MEANINGS[verdict].sentence
    if verdict == "unreplicated_diff":
        why = "one value on each side cannot show that the change would occur again" if kind == _ONE_VALUE else REASONS.get(kind, kind)
        return f"The values differ by more than the band, but this is not proven: {why}."
    if kind == "same_measurement":
        return "The values are identical."
    why = "one value on each side cannot show more" if kind == _ONE_VALUE else REASONS.get(kind, kind)
    return f"The values differ by no more than the band. {why[:1].upper()}{why[1:]}."


def why_untested(rows: Iterable[ComparisonRow]) -> str | None:
    """Return the reason why these rows have no test (`has_one_value`, or one of `REASONS`); ``None`` if they have tests or several reasons."""
    kinds = {_ONE_VALUE if has_one_value(row) else next(iter(row.reasons), "") for row in rows}
    (kind,) = kinds if len(kinds) == 1 else ("",)
    return kind if kind in (_ONE_VALUE, *REASONS) else None


def told_by_sentence(verdict: Verdict, rows: Iterable[ComparisonRow]) -> str:
    """Return the reason that `sentence_of` already states for all of these rows, so that their remarks can leave it out; otherwise an empty text."""
    kind = why_untested(rows) if verdict in UNTESTED else None
    return "" if kind in (None, "same_measurement") else REASONS["single_run" if kind == _ONE_VALUE else str(kind)]


def has_one_value(row: ComparisonRow) -> bool:
    """Return whether a row has no test because a side has only one value."""
    return row.reasons[:1] == ("single_run",) and all(side is not None and side.runs == 1 for side in (row.old, row.new))


def untested_words(rows: Iterable[ComparisonRow]) -> str:
    """Return how rows without a test were compared, as the beginning of a sentence."""
    kind = why_untested(rows)
    if kind == _ONE_VALUE:
        return "one value on each side, so no test is possible"
    if kind in REASONS_OUT_OF_TURN:
        return "the runs do not show whether the sides differ; by the medians alone"
    return "compared without a test, by the median of each side"


ALONE = "the interval is for this row alone: among so many rows, such intervals occur by chance"
BETWEEN = "; "  # the separator between the parts of a remark
_PLAIN_GAP = 0.02  # readers notice if the logarithms of two ratios differ by at least this much
_PLAIN_RATIO = (0.1, 10.0)
_WHOLE_PERCENT = 9.95


def is_estimate(row: ComparisonRow) -> bool:
    """Return whether the ratio of a row is the Hodges-Lehmann estimate, and not the quotient of the two shown values."""
    return row.ratio is not None and row.ratio_kind not in (None, "quotient")


def ratio(value: float) -> str:
    """Return a ratio as a factor: x1.05."""
    return f"x{value:.3f}" if _PLAIN_RATIO[0] <= value < _PLAIN_RATIO[1] else f"x{value:.3g}"


def percent(share: float) -> str:
    """Return a share in percent, with one decimal if it is below 10 %."""
    integer = f"{share * 100:.0f}"
    return f"{integer} %" if abs(share) * 100 >= _WHOLE_PERCENT and (integer != "100" or share >= 1) else f"{share * 100:.1f} %"


def interval(row: ComparisonRow) -> str:
    """Return the interval of the ratio as text. The text is empty if there is no interval, or if both ends look the same."""
    if row.interval is None:
        return ""
    low, high = row.interval
    if not low:
        return "any ratio" if high is None else f"at most {ratio(high)}"
    if high is None:
        return f"at least {ratio(low)}"
    return "" if ratio(low) == ratio(high) else f"{ratio(low)} to {ratio(high)}"


def remark(row: ComparisonRow) -> str:
    """Return the parts of the remark on a row (`remarks`) as one text."""
    return BETWEEN.join(remarks(row))


def remarks(row: ComparisonRow) -> tuple[str, ...]:
    """Return the parts of the remark on a row's numbers: the size of the change, the evidence, or the reason why there is no verdict."""
    machines = [different(row.verdict, difference) for difference in row.differences if difference.field == "host" and row.old and row.new]
    reasons = [reason(row, code) for code in row.reasons if code != "host_changed"]  # `_threshold_words` states it
    parts = [change(row), evidence(row), _first_look(row), _alone(row), _threshold_words(row), *reasons, *machines, *_flags(row), _left_out_runs(row)]
    parts.append(acknowledged_words(row))
    alone = row.old is None or row.new is None
    return tuple(part for part in [*parts, *(other_conditions(row.old, row.differences) if alone else ())] if part)


def acknowledged_words(row: ComparisonRow | Loss) -> str:
    """Return, for a worse row that ``known.toml`` names, why it is acknowledged, or why it counts nevertheless."""
    entry = row.acknowledgement
    if entry is None:
        return ""
    percents, points = entry.at_most_percent, entry.at_most_points
    limit = f"{percents:g} %" if percents is not None else f"{points:g} points" if points is not None else ""
    at_most = f", at most {limit}" if limit else ""
    state = {
        "acknowledged": f"known until {entry.until}{at_most}",
        "grown": f"known, but it grew beyond {limit}",
        "expired": f"known, but only until {entry.until}",
    }[entry.state]
    return f"{state}: {entry.reason} ({entry.issue})"


def different(verdict: Verdict, difference: Difference) -> str:
    """Return a difference between the sides of a row, in words. If the machine differs and nothing is proven, say that it may be the cause."""
    text = difference_words(difference)
    return f"another machine, which may explain it ({text})" if difference.field == "host" and verdict in (*DIFFERS, "unreplicated_diff") else text


def other_conditions(old: object, differences: Sequence[Difference]) -> list[str]:
    """Return texts on why a row is on one side only. The list is empty if there are no differences.

    The first text says that the other side has this row under other conditions. The next texts state each of these conditions. ``old`` is ``None`` if
    the row is on the new side.
    """
    if not differences:
        return []
    other, this = ("old", "new") if old is None else ("new", "old")
    return [f"the {other} side has this row under other conditions than the {this} one", *map(difference_words, differences)]


def change(row: ComparisonRow) -> str:
    """Return the change in words. It is called better or worse only if repeated runs show it."""
    if row.ratio is None or row.verdict in ("not_comparable", "invalid", "lossy", "insufficient"):
        return ""
    if row.verdict in ("worse", "better"):
        return f"{percent(abs(worse_by(row.ratio, row.better)))} {row.verdict}{_of_medians(row)}"
    if row.verdict in DIFFERS:
        return f"{measured_change(row)}{_of_medians(row)}"
    direction = f", {toward(row)}" if row.verdict == "unreplicated_diff" and toward(row) else ""
    return f"{_higher_or_lower(row.ratio) or 'equal'}{_of_medians(row)}{direction}"


def measured_change(row: ComparisonRow) -> str:
    """Return how much slower or faster, lower or higher the measurement of the new side is."""
    value = row.ratio or 1.0
    if row.better == "lower" and METRICS[row.key.metric].unit == "ns":
        return f"{percent(abs(value - 1))} {'slower' if value > 1 else 'faster'}"
    return _higher_or_lower(value)


def toward(row: ComparisonRow) -> str:
    """Return whether an unproven change is "toward worse" or "toward better". The text is empty if there is no change.

    The direction depends on the metric. For example, 26 % lower is worse for a rate, but better for a latency.
    """
    return "" if not row.change else "toward worse" if row.change > 0 else "toward better"


def band(threshold: float) -> str:
    """Return the range of "no change" in words. A threshold of 0.1 allows ratios from 1/1.1 to 1.1, which is "9.1 % lower to 10 % higher"."""
    return f"{percent(threshold / (1 + threshold))} lower to {percent(threshold)} higher"


def _higher_or_lower(value: float) -> str:
    return f"{percent(abs(value - 1))} {'higher' if value > 1 else 'lower'}" if value != 1 else ""


def _of_medians(row: ComparisonRow) -> str:
    """Return words about the ratio of the shown medians; empty if this ratio is close to the estimate.

    The words are needed, because readers divide the shown medians and would otherwise doubt the estimate.
    """
    old, new = (side.median if side else None for side in (row.old, row.new))
    if not is_estimate(row) or not row.ratio or not old or not new or abs(log(new / old / row.ratio)) < _PLAIN_GAP:
        return ""
    kinds = {"hodges_lehmann_pairs": "pair by pair", "hodges_lehmann_runs": "run by run"}
    kind = kinds.get(row.ratio_kind or "", "session by session")
    return f" {kind}, though the new median is {_higher_or_lower(new / old) or 'the same'}"


def evidence(row: ComparisonRow) -> str:
    """Return the number of runs on each side, and the result of the test."""
    if row.old is None or row.new is None:
        return ""
    if row.verdict in OUT_OF_TURN:
        return f"{row.old.runs} and {row.new.runs} runs"
    if row.p_adjusted is None:
        few = row.reasons[:1] == ("few_runs",) or max(row.old.runs, row.new.runs) <= 1
        unclear = ", which do not show whether the measurements differ" if {*row.reasons[:1]} & {*REASONS_OUT_OF_TURN} else ""
        return "" if few else f"medians of {row.old.runs} and {row.new.runs} runs{unclear}"
    old, new = len(row.old.values), len(row.new.values)
    runs = _pairs(old, row) if row.design == "paired" else f"{old} and {new} sessions"
    of_runs = f" (of {row.old.runs} and {row.new.runs} runs)" if row.design == "paired" and old < max(row.old.runs, row.new.runs) else ""
    return f"{runs}{of_runs}, adjusted p\u00a0{row.p_adjusted:.2g}{' in the gate' if 'gated' in row.flags else ''}"


def _pairs(count: int, row: ComparisonRow | Loss) -> str:
    return f"{count} {'new ' if row.first_look else ''}pairs"


def _first_look(row: ComparisonRow | Loss) -> str:
    first = row.first_look
    if first is None:
        return ""
    amount = _signed_points(first.difference) + " points" if first.difference is not None else percent(abs((first.ratio or 1.0) - 1))
    return f"{'confirmed' if first.confirmed else 'not confirmed'}: {amount} {first.verdict} in the first {first.pairs} pairs"


def _alone(row: ComparisonRow) -> str:
    """Return a note if a row is undecided although its interval does not contain 1."""
    if row.verdict not in OPEN or "significant" in row.flags or row.interval is None or _holds_one(row.interval):
        return ""
    return ALONE


def _holds_one(interval: tuple[float | None, float | None]) -> bool:
    low, high = interval
    return (low is None or low <= 1) and (high is None or high >= 1)


def reason(row: ComparisonRow, code: str) -> str:
    """Return why a row has its verdict."""
    if code == "unverified" and row.unverified:
        return not_stated(row.unverified)
    if code == "undersampled":
        return _few_samples(row)
    if code in MARKS:
        return MARKS[code].title.lower()
    difference = next((d for d in row.differences if d.field == code), None)
    if difference:
        return difference_words(difference)
    if "same_runs" in row.flags and code == "same_measurement":
        return "the same runs on both sides"
    if code == "few_runs":
        return f"{_runs(row.old)} and {_runs(row.new)} runs, {MIN_RUNS} a side are needed"
    return REASONS.get(code, code)


def _runs(side: Side | LossSide | None) -> int:
    return side.runs if side else 0


def _few_samples(row: ComparisonRow) -> str:
    if row.level == "a":
        return MARKS["undersampled"].title.lower()
    samples = [side.samples for side in (row.old, row.new) if side and side.samples is not None]
    needed = samples_needed(row.key.statistic)
    wanted = f"too few samples for a verdict: {row.key.statistic} needs {f'{needed:,}' if needed else 'more'} in each of {MIN_RUNS} runs a side"
    return f"{wanted}; the run with the fewest has {min(samples):,}" if samples else wanted


def _left_out_runs(row: ComparisonRow) -> str:
    if not row.short_runs:
        return ""
    named = ", ".join(f"{run.side} {run.run} ({run.samples:,})" for run in row.short_runs[:_NAMED_RUNS])
    more = f" and {len(row.short_runs) - _NAMED_RUNS} more" if len(row.short_runs) > _NAMED_RUNS else ""
    return f"left out, because {row.key.statistic} needs {row.short_runs[0].needed:,} samples in a run: {named}{more}"


def value_of(row: ComparisonRow, which: str, write: Callable[[float, str], str] = quantity) -> str:
    """Return the median of a side as text. ``which`` is ``old`` or ``new``; ``write`` formats a number with its unit."""
    side = row.old if which == "old" else row.new
    if side is None:
        return "-"
    if side.median is None:
        return NOT_STATED
    bound = "=" if side.bound.startswith("range") else side.bound
    return with_bound(write(side.median, row.unit), bound)


def _threshold_words(row: ComparisonRow) -> str:
    if row.threshold is None:
        return ""
    source = THRESHOLD_SOURCES.get(row.threshold_source or "", "")
    limit = f"{percent(row.threshold)} {source}".strip()
    if row.verdict in OPEN:
        return f"{_why_undecided(row)}, threshold {limit}"
    if row.verdict.startswith("unreplicated"):
        return f"band: {', '.join(filter(None, (band(row.threshold), source)))}" if row.reasons != ("same_measurement",) else ""
    return f"threshold {limit}" if row.threshold_source != "policy" else ""


def _why_undecided(row: ComparisonRow) -> str:
    if row.verdict == "too_few_pairs":
        return few(row.attainable_p, row.needed, row.design)
    if "host_changed" in row.reasons:
        return "a change, but the host changed too, and that may explain it"
    if "significant" in row.flags:
        rounded = row.interval is not None and _holds_one(row.interval)
        return "a change, but rounding alone may explain it" if rounded else "a change, but it may be too small to matter"
    return (
        f"smallest detectable change {percent(row.detectable)}" if row.detectable is not None else "no change could be detected, because of rounding"
    )


def few(attainable_p: float | None, needed: int | None, design: str | None) -> str:
    """Return a sentence on how many pairs or sessions are needed, because a single row cannot become significant with fewer of them.

    ``attainable_p`` is the smallest adjusted p that a single row can have so far.
    """
    groups = "pairs" if design == "paired" else "sessions a side"
    least = f"{attainable_p or 1.0:.2g}"
    return f"among so many rows, the adjusted p of a single row is at least {least}, whatever its values: {needed} {groups} are needed"


def _flags(row: ComparisonRow) -> list[str]:
    host = [host_label(row.host_change)] if row.host_change is not None else []
    return host + [words for which in SIDES if (words := "".join(text for text, _ in group_parts(row, which)))]


def group_parts(row: ComparisonRow, which: Which) -> list[tuple[str, float | None]]:
    """Return the two groups of a side in words, in parts; an empty list if its runs are one group.

    Each part is a text. If the text is the median of a group, its value follows, so that a page can link it to its log line.
    """
    groups = groups_of(row.old if which == "old" else row.new)
    if not groups:
        return []
    members = "sessions" if row.p_adjusted is not None and row.design != "paired" else "runs"
    (low, of_low), (high, of_high) = [(median_run(values, row.key.metric), len(values)) for values in groups]
    return [
        (f"the {which} {members} form two groups: ", None),
        (quantity(low, row.unit), low),
        (f" in {of_low} and ", None),
        (quantity(high, row.unit), high),
        (f" in {of_high} {members}", None),
    ]


def host_label(change: float) -> str:
    """Return the label of rows that were measured while the host changed."""
    return f"host changed: {percent(abs(change))} {'worse' if change > 0 else 'better'}, by controls"


Parts = tuple[str, str, str]  # A loss in words: the text before the largest share that a run lost, this share, and the text after it.


class LossLine(msgspec.Struct, frozen=True):
    """The texts that describe a row with loss. ``direction`` states whether the loss is now higher, lower, or equal."""

    name: str
    old_parts: Parts
    new_parts: Parts
    remark: str
    verdict: Verdict
    direction: str

    @property
    def old(self) -> str:
        """The loss of the old side, in words."""
        return "".join(self.old_parts)

    @property
    def new(self) -> str:
        """The loss of the new side, in words."""
        return "".join(self.new_parts)


def loss_line(loss: Loss, *, with_system: bool) -> LossLine:
    """Return the texts that describe a row with loss."""
    remark = "; ".join(_loss_remarks(loss))
    return LossLine(row_name(loss.key, with_system=with_system), _lost(loss.old), _lost(loss.new), remark, loss.verdict, direction_of(loss))


def _lost(side: LossSide | None) -> Parts:
    if side is None:
        return NOT_STATED, "", ""
    if side.runs == 1:
        return "", share(side) if side.most else "nothing", ""
    if not side.lossy:
        return "", "nothing", f" in {side.runs} runs"
    return f"in {side.lossy} of {side.runs} runs, at most ", share(side), f", median {share(side, median=True)}"


def _loss_remarks(loss: Loss) -> Iterator[str]:
    title = _loss_title(loss)
    has_range = loss.p_adjusted is not None or loss.verdict in OUT_OF_TURN
    yield f"{title}: {', '.join(_test_words(loss))}" if has_range else title
    if loss.first_look:
        yield _first_look(loss)
    if loss.verdict == "too_few_pairs":
        yield few(loss.attainable_p, loss.needed, loss.design)
    if loss.verdict in OPEN and not _holds_zero(loss) and "host_changed" not in loss.reasons:
        yield ALONE
    yield from (_reason(loss, code) for code in loss.reasons if code not in {difference.field for difference in loss.differences})
    if loss.acknowledgement is not None:
        yield acknowledged_words(loss)
    if loss.old is None or loss.new is None:
        yield from other_conditions(loss.old, loss.differences)
    else:
        yield from (different(loss.verdict, difference) for difference in loss.differences)


def _loss_title(loss: Loss) -> str:
    """Return the title of the remark on a row of loss: usually the verdict in words.

    For a row without a test, the title also states whether the loss is higher or lower now. The verdict does not show this if the medians are equal.
    """
    title, direction = MEANINGS[loss.verdict].words, direction_of(loss)
    if loss.verdict in DIFFERS:
        return "more loss measured" if loss.verdict == "differs_worse" else "less loss measured"
    if direction == "alike" or loss.verdict not in (*UNTESTED, "insufficient"):
        return title
    if loss.verdict == "unreplicated_same" and loss.threshold:
        points = loss.threshold * 100
        return f"{direction}, not proven: the medians differ by no more than {points:g} point{'' if points == 1 else 's'}"
    return f"{direction}, not enough runs" if loss.verdict == "insufficient" else f"{direction}, not proven"


def _holds_zero(loss: Loss) -> bool:
    low, high = loss.interval or (None, None)
    return (low is None or low <= 0) and (high is None or high >= 0)


def _test_words(loss: Loss) -> Iterator[str]:
    low, high = loss.interval or (None, None)
    ends = f" ({_signed_points(low)} to {_signed_points(high)})" if low is not None and high is not None else ""
    if loss.difference is not None:
        yield f"{_signed_points(loss.difference)} points{ends}"
    if loss.verdict in OUT_OF_TURN:
        yield f"{_runs(loss.old)} and {_runs(loss.new)} runs"
        return
    old, new = (side.pairs if side else 0 for side in (loss.old, loss.new))
    yield _pairs(old or 0, loss) if loss.design == "paired" else f"{old} and {new} sessions"
    if loss.p_adjusted is not None:
        yield f"adjusted p\u00a0{loss.p_adjusted:.2g}"


def _signed_points(share: float) -> str:
    return f"{share * 100 + 0.0:+.3g}"


def _reason(loss: Loss, code: str) -> str:
    if code == "few_runs":
        return f"{_runs(loss.old)} and {_runs(loss.new)} runs, {MIN_RUNS} a side are needed"
    return MARKS[code].title.lower() if code in MARKS else REASONS.get(code, code)


def share(side: LossSide | None, *, median: bool = False) -> str:
    """Return, as text, the largest share of messages that was lost in any run of a side; if ``median`` is true, the share in the median run."""
    return quantity((side.median if median else side.most) if side else 0.0, METRICS["loss"].unit)


def direction_of(loss: Loss) -> str:
    """Return whether the loss of a row is higher now, lower, or equal."""
    return "alike" if not loss.change else "higher" if loss.change > 0 else "lower"


def sides_of(across: Sequence[Difference]) -> str:
    """Return the ``across`` fields in words, with the values of both sides."""
    return "; ".join(difference_words(difference) for difference in across)
