"""The content of the comparison page: the series with their numbers, and verdicts. A verdict says whether two series may be compared.

The page's script decides nothing. It looks up verdicts (`ConditionVerdicts`), filters, sorts, and computes ratios and means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tacholog.compare.comparable import asked, judge
from tacholog.schema.metrics import METRICS
from tacholog.view.home import UNDER_LOAD
from tacholog.view.names import condition_name, participant_title, value_words, with_each_label, words
from tacholog.view.numerals import NOT_STATED
from tacholog.view.page_index import PageIndex
from tacholog.view.ranking_groups import SystemSeries, conditions_of, system_series
from tacholog.view.rankings import main_campaigns, of_last_releases
from tacholog.view.refusals import refusals
from tacholog.view.series import Cell
from tacholog.view.views import View

# The numbers that the page offers, in its order.
METRICS_SHOWN = (
    *(
        ("latency", name, label)
        for name, label in (("p50", "median"), ("p99", "99 %"), ("p99.9", "99.9 %"), ("p99.99", "99.99 %"), ("max", "maximum"))
    ),
    ("latency", "mean", "mean"),
    ("goodput", "mean", ""),
    ("message_rate", "mean", ""),
    ("loss", "total", ""),
)
_ELSEWHERE = ("host", "basis", "definition", "load_mode", "published", "run", "transport")  # conditions that are shown elsewhere on the page
_SAYS_VERSION = ("release", "tool_version")
_PUBLISHED = "published figures"
_REPUBLISHED = "republished"  # the mark of figures that a document copied from an older document
LEFT_OUT = frozenset(
    {"loss", "undersampled", "run_failed", "altered", "out_of_order", "impossible"}
)  # a diff gives no verdict to numbers with these marks
# How a number may be used: COUNTED in ratios and in the mean ratio, UNCOUNTED in ratios only, ZERO and BOUND in no ratio. `USES` has the reasons.
COUNTED, UNCOUNTED, ZERO, BOUND = range(4)
USES = (
    "",
    "there is no chosen size at which both sides have enough samples and little loss",
    "one side measured zero",
    "one side states only a bound",
)


class ConditionVerdicts(msgspec.Struct, frozen=True):
    """Reasons why a ratio of two series would be meaningless, for one condition.

    Each different value of the condition has an index.

    ``value_indices`` has an entry for each series: the index of the series' value, or null if the series lacks the metric.

    ``reasons[baseline][other]`` is the reason why these two values cannot be compared, or null if there is no reason. ``baseline`` and ``other`` are
    indices of values.
    """

    condition: str
    value_indices: tuple[int | None, ...]
    reasons: tuple[tuple[str | None, ...], ...]


class OfferedSeries(msgspec.Struct, frozen=True):
    """A series on the page: its numbers by metric (``latency.p50``), and whether it belongs to the newest release and its main campaign."""

    system_series: SystemSeries
    cells: dict[str, list[tuple[int, Cell]]]
    is_newest: bool
    is_main: bool

    def absent(self, metric: str, statistic: str) -> dict[int, str]:
        """Return why numbers of a metric and statistic are missing: a reason for each measured size without such a number."""
        numbers = {size for size, _ in self.cells.get(f"{metric}.{statistic}", ())}
        series = self.system_series.series
        return {size: series.absent(metric, statistic, size) for size in series.sizes() if size is not None and size not in numbers}


class SeriesComparison(msgspec.Struct, frozen=True):
    """All series on the page, with verdicts and repeats.

    Attributes:
        series: all series on the page.
        verdicts: the verdicts for each metric.
        repeats: for each metric, an entry for each series. The entry lists the indices of all further series with the same republished figures.
    """

    series: tuple[OfferedSeries, ...]
    verdicts: dict[str, tuple[ConditionVerdicts, ...]]
    repeats: dict[str, tuple[tuple[int, ...], ...]]


def comparison(view: View, pages: PageIndex) -> SeriesComparison:
    """Return the series of a view that can be compared. Controls are left out, because the comparisons of releases show them."""
    everything = [member for member in system_series(view, pages) if not member.is_control]
    under_load = _under_load(everything)
    of_each_load = ([member for member in everything if (member.id in under_load) is loaded] for loaded in (False, True))
    last = {member.id for members in of_each_load for member in of_last_releases(members)}
    main = main_campaigns(everything) - under_load
    offered = tuple(OfferedSeries(member, cells, member.id in last, member.id in main) for member in everything if (cells := _cells(member)))
    names = [(f"{metric}.{statistic}", metric) for metric, statistic, _ in METRICS_SHOWN]
    measured = [(name, metric) for name, metric in names if any(name in member.cells for member in offered)]
    return SeriesComparison(
        offered,
        {name: tuple(verdicts_on(offered, name, metric)) for name, metric in measured},
        {name: _repeats(offered, name) for name, _ in measured},
    )


def _cells(member: SystemSeries) -> dict[str, list[tuple[int, Cell]]]:
    by_metric = {f"{metric}.{statistic}": list(_sized(member.series.cells(metric, statistic))) for metric, statistic, _ in METRICS_SHOWN}
    return {name: cells for name, cells in by_metric.items() if cells}


def _under_load(members: Sequence[SystemSeries]) -> set[str]:
    """Return the ids of the series under load from machines that also have series without load.

    Readers see the series under load if they choose the campaign.
    """
    by_load: dict[bool, list[SystemSeries]] = {True: [], False: []}
    for member in members:
        by_load[dict(member.series.key)["load_mode"] in UNDER_LOAD].append(member)
    others = {dict(member.series.key)["host"] for member in by_load[False]}
    return {member.id for member in by_load[True] if dict(member.series.key)["host"] in others}


def _sized(cells: Mapping[int | None, Cell]) -> Iterator[tuple[int, Cell]]:
    for size_bytes, cell in sorted(cells.items(), key=lambda item: item[0] or 0):
        if size_bytes is not None and cell.value is not None and cell.sizes_high is None:
            yield size_bytes, cell


def verdicts_on(offered: Sequence[OfferedSeries], name: str, metric: str) -> Iterator[ConditionVerdicts]:
    """Yield, for each condition, its verdicts on the ratios of a metric. Conditions that allow every ratio are left out."""
    conditions = [conditions_of(series.system_series.series, metric) if name in series.cells else None for series in offered]
    for condition in asked("ratio", metric):
        values = list(dict.fromkeys(series[condition] for series in conditions if series is not None))
        reasons = tuple(tuple(_reason(condition, base, other, metric) for other in values) for base in values)
        if any(reason is not None for row in reasons for reason in row):
            yield ConditionVerdicts(condition, tuple(None if series is None else values.index(series[condition]) for series in conditions), reasons)


def _reason(condition: str, base: object, other: object, metric: str) -> str | None:
    sides = [{"metric": metric, condition: value} for value in (base, other)]
    return "; ".join(refusals(judge(sides[0], sides[1], comparison="ratio", only=(condition,)))) or None


def _repeats(offered: Sequence[OfferedSeries], name: str) -> tuple[tuple[int, ...], ...]:
    cells_of = [series.cells.get(name, ()) for series in offered]
    again = [(index, dict(cells)) for index, cells in enumerate(cells_of) if _has_republished(cells)]
    repeats: dict[int, tuple[int, ...]] = {}
    for index, cells in again:
        repeats[index] = tuple(other for other, theirs in again if other != index and _is_repeat(cells, theirs))
    return tuple(repeats.get(index, ()) for index in range(len(offered)))


def _has_republished(cells: Sequence[tuple[int, Cell]]) -> bool:
    return any(_REPUBLISHED in cell.marks for _, cell in cells)


def _is_repeat(mine: Mapping[int, Cell], theirs: Mapping[int, Cell]) -> bool:
    both = [(mine[size_bytes], theirs[size_bytes]) for size_bytes in mine.keys() & theirs.keys()]
    return bool(both) and all(number.value == other.value and _REPUBLISHED in number.marks and _REPUBLISHED in other.marks for number, other in both)


def use_of(cell: Cell, metric: str) -> int:
    """Return how a number may be used, as an index into `USES`. If losses are compared, the mark for loss restricts nothing."""
    if not cell.value or cell.value < 0:
        return ZERO
    if cell.result.bound != "=":
        return BOUND
    return UNCOUNTED if any(mark in LEFT_OUT and not (mark == metric == "loss") for mark in cell.marks) else COUNTED


def campaign_words(member: SystemSeries) -> str:
    """Return in words how long and how often each size was measured. Two campaigns of one release may differ only in this."""
    if member.series.published:
        return _PUBLISHED
    duration = words("planned_duration_s", dict(member.series.key)["planned_duration_s"])
    runs = max(cell.run_count for metric, statistic, _ in METRICS_SHOWN for cell in member.series.cells(metric, statistic).values())
    return ", ".join(filter(None, (duration, f"{runs} run{'s' if runs > 1 else ''}")))


def version_of(member: SystemSeries) -> str:
    """Return the release of a series, or the version of its system."""
    key = dict(member.series.key)
    return str(key["release"] or key["system_version"] or NOT_STATED)


def other_conditions(key: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each condition that the page does not show elsewhere.

    The release and the version of the tool are omitted if they only repeat a version that is already stated, such as the version of the system.
    """
    versions = {key["system_version"]}
    key = with_each_label([key])[0]
    for name in (name for name in key if name not in _ELSEWHERE and key[name] is not None):
        if name in _SAYS_VERSION and key[name] in versions:
            continue
        versions |= {key[name]} if name in _SAYS_VERSION else set()
        called = participant_title(key[name]) if name == "participant" else condition_name(name)
        yield called, value_words(name, key[name])


def metric_words(metric: str, label: str) -> str:
    """Return the name of a metric, followed by the label of a statistic if this label is not empty."""
    return ", ".join(filter(None, (METRICS[metric].words, label)))
