"""A diff in words: what each verdict means, what each row says, why something was not compared. Text, Markdown and the page all say it from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from math import log, log1p
from types import MappingProxyType

import msgspec

from tacholog.compare.policy import MIN_RUNS, TESTABLE_BEYOND
from tacholog.compare.result import OPEN, VERDICTS, Difference, Key, Report, Row, Side, Verdict
from tacholog.compare.statistics import modes
from tacholog.render.platforms import participant_title
from tacholog.schema.marks import MARKS
from tacholog.schema.metrics import METRICS
from tacholog.schema.tables import title as column_title
from tacholog.view import names
from tacholog.view.numerals import NOT_STATED, quantity, size, with_bound

ALONE = "the interval is that of this row alone: among so many rows, such a one comes by chance"
_BETWEEN = "; "  # between the parts of a remark
_PLAIN_GAP = 0.02  # between two ratios, as a logarithm
_PLAIN_RATIO = (0.1, 10.0)
_WHOLE_PERCENT = 9.95
_OF_LATENCY = ("latency", "jitter", "interval_per_message", "send_lateness", "send_call", "serialization", "deserialization")


class Meaning(msgspec.Struct, frozen=True):
    """A verdict's title, and the sentence that says when a row gets it."""

    title: str
    sentence: str


MEANINGS: Mapping[Verdict, Meaning] = MappingProxyType(
    {
        "worse": Meaning("Worse", "The change is significant in this report as a whole, and larger than the threshold."),
        "better": Meaning("Better", "The change is significant in this report as a whole, and larger than the threshold."),
        "no_change": Meaning("No change", "The true change lies within the threshold, with 95 % confidence on either side."),
        "inconclusive": Meaning(
            "Too noisy to tell",
            "Neither a change nor its absence is shown. The smallest detectable change of a row is what the report calls a change in four cases of "
            "five, if this row alone changed.",
        ),
        "too_few_pairs": Meaning(
            "Too few pairs for so many rows",
            "No change of a single row could become significant among so many rows, however large. Each row says how many pairs or sessions it "
            "takes. A comparison of fewer rows (`--metric`, `--transport`) takes fewer.",
        ),
        "insufficient": Meaning(
            "Not enough runs",
            f"A verdict takes at least {MIN_RUNS} runs a side, and enough samples beyond the percentile. `tacholog ab` makes twelve pairs.",
        ),
        "unreplicated_diff": Meaning(
            "Differ, not replicated", "The values differ by more than the band, but one value a side cannot show that the change will come back."
        ),
        "unreplicated_same": Meaning("Alike, not replicated", "The values differ by no more than the band. One value a side cannot show more."),
        "not_comparable": Meaning("Not comparable", "Something else than the release is different."),
        "removed": Meaning("Only in old", "The new side has no such row, or only under other conditions."),
        "added": Meaning("Only in new", "The old side has no such row, or only under other conditions."),
        "invalid": Meaning("Failed", "A run failed or gave no value, or its figures contradict each other."),
        "lossy": Meaning("Too much lost", "On a side more than 1 % of the messages were lost: its figures are of those that were left."),
    }
)
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "single_run": "one run on a side",
        "unverified": "a condition is not stated",
        "order_confounded": "the sides did not take turns, so time may explain the change",
        "sessions_confounded": "the sessions of the sides did not take turns, so time may explain the change",
        "order_unknown": "the order of the runs is not known, so time may explain the change",
        "pairs_unnamed": "the runs took turns, but do not state the session and repetition that make them pairs",
        "few_pairs": f"fewer than {MIN_RUNS} pairs of runs were made next to each other",
        "same_first": "one side ran first in nearly every pair or session, so its place may explain the change",
        "bound": "the log prints a bound, not a value",
        "same_measurement": "every value of the series is identical: the same measurement, published again",
        "no_value": "no run gave a value",
        "not_positive": "a run measured zero",
        "mixed": "one side holds several configurations",
    }
)
FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "metric_def": "definition of the metric",
        "data_path": "data path",
        "load_mode": "load mode",
        "qos": "reliability",
        "batching": "batching",
        "payload_touched": "whether the payload was touched",
        "latency_of": "bytes against a reference",
        "offered_rate": "offered rate",
        "recovery_time": "recovery time",
        "cpu_model": "CPU model",
        "cores_smt": "cores and threads",
        "nic": "network card",
        "mtu": "MTU",
        "harness_major": "major version of the tool",
        "participant": "participant",
        "host": "machine",
    }
)
THRESHOLD_SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "policy": "by default",
        "override": "from the thresholds file",
        "rounding": "what rounding hides",
        "same_build": "as measured with one build",
        "assumed": "assumed",
    }
)


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One row in words. ``row`` is the row itself."""

    name: str
    old: str
    new: str
    ratio: str
    interval: str
    remark: str
    row: Row


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one verdict, worst first: how many there are, and those that are listed.

    ``shared`` is what the remarks of all listed rows have in common: said once, it leaves them to what differs.
    """

    verdict: Verdict
    title: str
    sentence: str
    total: int
    shared: str
    lines: tuple[Line, ...]

    @property
    def interval_title(self) -> str:
        """What the intervals of these rows are."""
        kinds = {line.row.interval_kind for line in self.lines if line.interval}
        return "95 % interval, row alone" if kinds == {"confidence"} else "by rounding" if kinds == {"rounding"} else "interval"

    @property
    def ratio_title(self) -> str:
        """What the ratios of these rows are."""
        return "estimated ratio" if any(is_estimate(line.row) for line in self.lines) else "ratio"

    @property
    def hidden(self) -> int:
        """How many rows are counted and not listed."""
        return self.total - len(self.lines)


def sections(report: Report, only: Sequence[str] = (), limit: int = 0) -> list[Section]:
    """The rows by verdict, worst first; those of ``only``, or all. ``limit``: rows to list of each; 0: all."""
    several = len({row.key.system for row in report.rows}) > 1
    found = []
    for verdict, rows in groupby(report.rows, key=lambda row: row.verdict):
        if not only or verdict in only:
            meaning, listed = MEANINGS[verdict], list(rows)
            shared, lines = _said_once([line(row, with_system=several) for row in listed[: limit or None]])  # not all: there may be a million
            found.append(Section(verdict=verdict, title=meaning.title, sentence=meaning.sentence, total=len(listed), shared=shared, lines=lines))
    return found


def _said_once(lines: Sequence[Line]) -> tuple[str, tuple[Line, ...]]:
    """Return what the remarks of several rows all say, and the rows without it."""
    said = [line.remark.split(_BETWEEN) for line in lines]
    own = change(lines[0].row) if lines else ""  # how much a row changed stays beside its ratio, also where all changed alike
    shared = [part for part in said[0] if part not in ("", own) and all(part in parts for parts in said)] if len(lines) > 1 else []
    rest = [_BETWEEN.join(part for part in parts if part not in shared) for parts in said]
    return _BETWEEN.join(shared), tuple(msgspec.structs.replace(line, remark=remark) for line, remark in zip(lines, rest, strict=True))


def line(row: Row, *, with_system: bool = False) -> Line:
    """One row in words."""
    return Line(
        name=name(row.key, with_system=with_system) + _across(row),
        old=value_of(row, "old"),
        new=value_of(row, "new"),
        ratio=ratio(row.ratio) if row.ratio is not None else "",
        interval=interval(row),
        remark=remark(row),
        row=row,
    )


def counts(report: Report) -> list[tuple[str, int]]:
    """How many rows got each verdict that any row got, worst first."""
    return [(MEANINGS[verdict].title, report.counts[verdict]) for verdict in VERDICTS if report.counts[verdict]]


def headline(report: Report) -> str:
    """The result in one line."""
    if "same_runs" in report.warnings:
        return "the same runs"
    said = ", ".join(f"{count} {title[0].lower()}{title[1:]}" for title, count in counts(report)) or "nothing to compare"
    return f"{said}; loss: {loss_counts(report)}" if report.losses else said


def loss_counts(report: Report) -> str:
    """How many rows in which something was lost got each verdict that any got, worst first."""
    found = ((MEANINGS[verdict].title.lower(), report.loss_counts.get(verdict, 0)) for verdict in VERDICTS)
    return ", ".join(f"{count} {title}" for title, count in found if count)


def name(key: Key, *, with_system: bool = False) -> str:
    """What a row is about: metric, statistic, and the setting."""
    statistic = "" if key.statistic == "total" else f" {key.statistic}"
    peers = f"{key.publishers or '?'}:{key.subscribers or '?'}" if (key.publishers or 1, key.subscribers or 1) != (1, 1) else None
    keyed = None if key.keyed is None else "keyed" if key.keyed else "unkeyed"
    demand = f"demand {key.demand}" if key.demand else None
    system = key.system if with_system else None
    parts = (
        METRICS[key.metric].words.lower() + statistic,
        system,
        key.transport,
        key.data_path,
        key.type,
        keyed,
        peers,
        key.participant,
        sizes(key),
        demand,
        *_apart(key),
        f"in a test of {key.test}" if key.test and key.test != _tested_by(key) else None,
    )
    return ", ".join(part for part in parts if part)


def _apart(key: Key) -> list[str]:
    """What tells a row from those that are alike in all else; what is not stated is named where nothing else tells it."""
    said = [word for field, value in key.apart if (word := names.words(field, value))]
    return said or [f"{column_title(field)} {NOT_STATED}" for field, _ in key.apart]


def _tested_by(key: Key) -> str:
    """The test that a metric is expected in: another one is named."""
    return "latency" if key.metric in _OF_LATENCY else "demand" if key.demand else "throughput"


def _across(row: Row) -> str:
    """What the sides are where configurations are compared; of a row that only one side has, what that side is."""
    if row.old and row.new:
        return f" ({sides_of(row.across)})" if row.across else ""
    alone = [msgspec.structs.replace(one, old=one.old or one.new, new=one.old or one.new) for one in row.across]
    return f" ({sides_of(alone)})" if alone else ""


def sides_of(across: Sequence[Difference]) -> str:
    """What each side is of the fields that a diff goes across: once where both are the same."""
    return "; ".join(field_words(one) for one in across)


def field_words(one: Difference) -> str:
    """A condition and what it is on either side."""
    if one.field == "keyed":
        old, new = ({None: NOT_STATED, "True": "keyed", "False": "unkeyed"}[value] for value in (one.old, one.new))
        return old if old == new else f"{old} -> {new}"
    old, new = (value or NOT_STATED for value in (one.old, one.new))
    if one.field == "latency_of":
        return f"the latency of {old} against that of {new}"
    return f"{field_title(one)}: {old if old == new else f'{old} -> {new}'}"


def field_title(one: Difference) -> str:
    """What a condition is called."""
    return participant_title(one.old or one.new) if one.field == "participant" else FIELDS.get(one.field, one.field.replace("_", " "))


def sizes(key: Key) -> str | None:
    """The payload size, or the range of sizes."""
    if key.payload_bytes is None:
        return None
    return size(key.payload_bytes) if key.payload_bytes_high is None else f"{size(key.payload_bytes)} to {size(key.payload_bytes_high)}"


def is_estimate(row: Row) -> bool:
    """Whether the ratio of a row is the Hodges-Lehmann estimate, and not the quotient of the two values beside it."""
    return row.ratio is not None and row.ratio_kind not in (None, "quotient")


def ratio(value: float) -> str:
    """A ratio as a factor: x1.05."""
    return f"x{value:.3f}" if _PLAIN_RATIO[0] <= value < _PLAIN_RATIO[1] else f"x{value:.3g}"


def percent(share: float) -> str:
    """A share in percent, with as many decimals as it deserves."""
    whole = f"{share * 100:.0f}"
    return f"{whole} %" if abs(share) * 100 >= _WHOLE_PERCENT and (whole != "100" or share >= 1) else f"{share * 100:.1f} %"


def interval(row: Row) -> str:
    """The interval of the ratio; nothing where rounding leaves none open."""
    if row.interval is None:
        return ""
    low, high = row.interval
    if not low:
        return "any ratio" if high is None else f"at most {ratio(high)}"
    if high is None:
        return f"at least {ratio(low)}"
    return "" if ratio(low) == ratio(high) else f"{ratio(low)} to {ratio(high)}"


def remark(row: Row) -> str:
    """What there is to say of a row beside its numbers: how large the change is, on what evidence, or why there is no verdict."""
    machines = [field_words(found) for found in row.differences if found.field == "host" and row.old and row.new]
    found = [change(row), evidence(row), _alone(row), _limits(row), *(reason(row, code) for code in row.reasons), *machines, *_flags(row)]
    alone = row.old is None or row.new is None
    return _BETWEEN.join(part for part in [*found, *(elsewhere(row.old, row.differences) if alone else ())] if part)


def elsewhere(old: object, differences: Sequence[Difference]) -> list[str]:
    """Under which other conditions the other side has a row that only one side has under its own; ``old`` is none if the new one has it."""
    if not differences:
        return []
    other, this = ("old", "new") if old is None else ("new", "old")
    return [f"the {other} side has it under other conditions than the {this} one", *map(field_words, differences)]


def change(row: Row) -> str:
    """The change in words. Better and worse only where repeated runs show it."""
    if row.ratio is None or row.verdict in ("not_comparable", "invalid", "lossy", "insufficient"):
        return ""
    if row.verdict in ("worse", "better"):
        return f"{percent(abs(row.ratio - 1))} {row.verdict}{_of_medians(row)}"
    return f"{_higher(row.ratio) or 'equal'}{_of_medians(row)}"


def _higher(value: float) -> str:
    """How much higher or lower a ratio says that the new side is."""
    return f"{percent(abs(value - 1))} {'higher' if value > 1 else 'lower'}" if value != 1 else ""


def _of_medians(row: Row) -> str:
    """What the shown medians would make of the ratio, where it is plainly another one: a reader divides."""
    old, new = (side.median if side else None for side in (row.old, row.new))
    if row.p_adjusted is None or not row.ratio or not old or not new or abs(log(new / old / row.ratio)) < _PLAIN_GAP:
        return ""
    kind = "pair by pair" if row.design == "paired" else "session by session"
    return f" {kind}, though the new median is {_higher(new / old) or 'the same'}"


def evidence(row: Row) -> str:
    """How many runs there are on each side, and what the test says."""
    if row.old is None or row.new is None:
        return ""
    if row.p_adjusted is None:
        few = row.reasons[:1] == ("few_runs",) or max(row.old.runs, row.new.runs) <= 1
        return "" if few else f"medians of {row.old.runs} and {row.new.runs} runs"
    old, new = len(row.old.values), len(row.new.values)
    runs = f"{old} pairs" if row.design == "paired" else f"{old} and {new} sessions"
    rest = f" (of {row.old.runs} and {row.new.runs} runs)" if row.design == "paired" and old < max(row.old.runs, row.new.runs) else ""
    return f"{runs}{rest}, adjusted p\u00a0{row.p_adjusted:.2g}{' in the gate' if 'gated' in row.flags else ''}"


def _alone(row: Row) -> str:
    """That an interval which leaves out no change shows none, where the report as a whole does not: a reader takes it for the decision."""
    if row.verdict not in OPEN or "significant" in row.flags or row.interval is None or _holds_one(row.interval):
        return ""
    return ALONE


def _holds_one(interval: tuple[float | None, float | None]) -> bool:
    low, high = interval
    return (low is None or low <= 1) and (high is None or high >= 1)


def reason(row: Row, code: str) -> str:
    """Why a row has the verdict that it has."""
    if code == "unverified" and row.unverified:
        return f"not stated: {', '.join(FIELDS.get(field, field) for field in row.unverified)}"
    if code in MARKS:
        return MARKS[code].title.lower()
    difference = next((d for d in row.differences if d.field == code), None)
    if difference:
        return field_words(difference)
    if "same_runs" in row.flags and code == "same_measurement":
        return "the same runs on both sides"
    if code == "few_runs":
        return f"{_runs(row.old)} and {_runs(row.new)} runs, {MIN_RUNS} a side are needed"
    return _few_samples(row) if code == "undersampled" else REASONS.get(code, code)


def _runs(side: Side | None) -> int:
    return side.runs if side else 0


def _few_samples(row: Row) -> str:
    samples = [side.samples for side in (row.old, row.new) if side and side.samples is not None]
    of = f"{min(samples)} samples a run" if samples else "too few samples"
    return f"{of} for this percentile" if row.level == "a" else f"{of}, {TESTABLE_BEYOND} beyond the percentile are needed"


def value_of(row: Row, which: str, said: Callable[[float, str], str] = quantity) -> str:
    """The value of a side, ``old`` or ``new``, in the words of ``said``."""
    found = row.old if which == "old" else row.new
    if found is None:
        return "-"
    if found.median is None:
        return NOT_STATED
    bound = "=" if found.bound.startswith("range") else found.bound
    return with_bound(said(found.median, row.unit), bound)


def _limits(row: Row) -> str:
    """The threshold where it decided, and how much would have been seen where nothing was."""
    if row.threshold is None:
        return ""
    limit = f"{percent(row.threshold)} {THRESHOLD_SOURCES.get(row.threshold_source or '', '')}".strip()
    if row.verdict in OPEN:
        return f"{_open(row)}, threshold {limit}"
    if row.verdict.startswith("unreplicated"):
        return f"band {limit}" if row.reasons != ("same_measurement",) else ""
    return f"threshold {limit}" if row.threshold_source != "policy" else ""


def _open(row: Row) -> str:
    """Why a row is open: too few pairs, noise, or a change that is there but may be too small to count or come of rounding."""
    if row.verdict == "too_few_pairs":
        return few(row.attainable_p, row.needed, row.design)
    if "significant" in row.flags:
        rounded = row.interval is not None and _holds_one(row.interval)
        return "a change, but perhaps one of rounding alone" if rounded else "a change, but perhaps one that is too small to matter"
    return (
        f"smallest detectable change {percent(row.detectable)}" if row.detectable is not None else "no change could be detected, because of rounding"
    )


def few(attainable_p: float | None, needed: int | None, design: str | None) -> str:
    """How far a row is from what it would take to become significant alone."""
    groups = "pairs" if design == "paired" else "sessions a side"
    return f"alone among so many rows its adjusted p is at least {attainable_p or 1.0:.2g}, whatever its values: {needed} {groups} are needed"


def _flags(row: Row) -> list[str]:
    """What else a reader should know."""
    if "two_modes" not in row.flags:
        return []
    sides = [("old", row.old), ("new", row.new)]
    found = [(which, modes(side.values, log1p(row.threshold or 0))) for which, side in sides if side]
    return [f"the {which} runs fall into two groups, around {' and '.join(_quantity(row, mode) for mode in two)}" for which, two in found if two]


def _quantity(row: Row, value: float) -> str:
    return quantity(value, row.unit)
