"""Series that may be ranked against each other, in groups, and the leaders of each group.

`tacholog.compare.comparable` decides which series are comparable. This module chooses the headline number of a series (`headline`) and the value by
which a number is ranked (`standing`) for all pages, so that no page contradicts another.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from tacholog.compare.comparable import A_REFERENCE, BYTES, MOVED, NOT_MOVED, is_ranked_nowhere, shared, unknown
from tacholog.compare.policy import MIN_RUNS
from tacholog.runs.labels import CONTROL, labels_of
from tacholog.schema.metrics import METRICS
from tacholog.view.cost import spinning_among, way_of_measuring
from tacholog.view.names import joined, participant_title, with_system, words
from tacholog.view.numerals import NOT_STATED, alphabetical
from tacholog.view.page_index import PageIndex, PagePart
from tacholog.view.series import LOGICAL, LOSS, REFERENCE, Cell, Series, common_words, worse_of
from tacholog.view.views import Selection, View, differing_labels

_BATCHED = "batched"
# Conditions that are not repeated with the words of a group: the words or the heading state them, or they do not help readers.
_IN_GROUP_WORDS = (
    *("transport", "host", "definition", "load_mode", "basis", "campaign", "build", "planned_duration_s", "published", "side", "participant"),
    *("tool", "tool_version", "warmup", "settings", "run"),
)
_NEW = ("options", "settings", "labels")


class SystemSeries(msgspec.Struct, frozen=True):
    """One series of one system over one transport.

    ``part`` is the part of a page that shows the series, if there is one, and ``slot`` is the number of the series within its test in this part.
    ``labels`` are the labels that differ anywhere in the view, with their values in this series. ``spins`` is true if the series was configured to
    sleep, but its processor time shows that it spins (`tacholog.view.cost.spinning`).
    """

    system: str
    transport: str
    series: Series
    part: PagePart | None = None
    slot: int = 0
    labels: tuple[tuple[str, str | None], ...] = ()
    spins: bool = False

    @property
    def label_words(self) -> str:
        """The labels of the series in words, such as ``plugin flannel``. A label is left out if it is the same in the whole view."""
        return joined(self.labels)

    @property
    def is_control(self) -> bool:
        """Whether the series is a control, which measures the machine and not a transport under test."""
        return CONTROL in labels_of(self.series.runs[0].labels)

    @property
    def document(self) -> str | None:
        """The page that shows the series."""
        return self.part.document if self.part else None

    @property
    def id(self) -> str:
        """A name for addresses, made from the conditions. It stays the same as long as the conditions do."""
        # Unknown conditions are left out if they were added after version 0.3, so that published addresses stay valid.
        key = tuple((name, value) for name, value in self.series.key if value is not None or name not in _NEW)
        return hashlib.sha256(repr((self.system, self.series.results[0].test, key)).encode()).hexdigest()[:8]

    @property
    def name(self) -> str:
        """The name of the series, which is unique among all series."""
        return f"{with_system(self.system, self.transport)}: {self.series.label}"


class Group(msgspec.Struct, frozen=True):
    """A metric with a statistic, and the conditions that all series of the group share. All conditions that a ranking requires are known."""

    metric: str
    statistic: str
    conditions: tuple[tuple[str, Any], ...]

    def __getitem__(self, condition: str) -> Any:  # noqa: ANN401 - a condition is a word, a number or null
        """Return the common value of a condition; ``None`` if it is not stated, or if it does not matter for this metric."""
        return dict(self.conditions).get(condition)

    @property
    def host(self) -> str:
        """The machine."""
        return str(self["host"])

    @property
    def test(self) -> str:
        """The test."""
        return str(self["test"])

    @property
    def definition(self) -> str:
        """The definition of the metric."""
        return str(self["definition"])

    @property
    def load(self) -> str:
        """The load mode in words."""
        return str(self["load_mode"] or NOT_STATED)

    @property
    def words(self) -> str:
        """The name of the compared number: its metric, its statistic and its basis in words."""
        statistic = {"p50": "median", "p99": "99\u00a0%"}.get(self.statistic, "")
        reference = "of a reference" if self["latency_of"] == A_REFERENCE else ""
        batched = "in batches" if self["batched"] == _BATCHED else ""
        return ", ".join(
            filter(None, (METRICS[self.metric].words, statistic, words("basis", self["basis"]), reference, batched, self["operating_system"]))
        )

    def words_of(self, members: Sequence[SystemSeries]) -> str:
        """Return the name of the compared number, followed by the labels that distinguish this group from other groups."""
        return ", ".join(filter(None, (self.words, members[0].label_words)))

    def of_any_campaign(self) -> tuple[object, ...]:
        """Return the group without its campaign. Groups of campaigns that measured the same are then equal."""
        return (self.metric, self.statistic, *(pair for pair in self.conditions if pair[0] != "campaign"))

    def cells(self, member: SystemSeries) -> dict[int, Cell]:
        """Return the numbers of a series by size in bytes. Numbers for a range of sizes or an unknown size are left out."""
        cells = member.series.cells(self.metric, self.statistic)
        return {key: cell for key, cell in cells.items() if key is not None and cell.value is not None and cell.sizes_high is None}


def conditions_of(series: Series, metric: str) -> dict[str, Any]:
    """Return the conditions of a series in the form that `tacholog.compare.comparable.judge` needs for a ratio or a ranking of a metric."""
    key = dict(series.key)
    participant = key["participant"]
    is_system = participant_title(participant) == "operating system"
    return {
        **key,
        "metric": metric,
        "test": series.results[0].test,
        "latency_of": (A_REFERENCE if series.has_mark(REFERENCE) else BYTES) if metric == "latency" else None,
        "bytes_moved": NOT_MOVED if metric == "goodput" and series.has_mark(LOGICAL) else MOVED,
        "operating_system": str(participant) if is_system else None,
        "batched": _BATCHED if key["batch_bytes"] else "one by one",
    }


def system_series(view: View, pages: PageIndex) -> Sequence[SystemSeries]:
    """Return every series of a view, by system and transport. Labels that differ anywhere in the view are part of each name.

    The label of controls is not part of the names. Otherwise every other series would be called "measured runs".
    """
    return view.once(("compared", pages.parts), partial(_with_parts, view.once("compared", partial(_all_series, view)), pages))


def _all_series(view: View) -> Sequence[SystemSeries]:
    measured = {(view.runs[run].system or NOT_STATED, transport or NOT_STATED) for run, kinds in view.kinds.items() for transport, _ in kinds}
    pairs = sorted(measured, key=lambda pair: alphabetical(*pair))
    named = [name for name in differing_labels(view.runs[name] for name in view.by_run) if name != CONTROL]
    return [
        SystemSeries(system, transport, series, labels=_values_of(series, named), spins=way_of_measuring(series) in spins)
        for system, transport in pairs
        for part in (view.only(Selection(system=system, transport=transport)),)
        for spins in (spinning_among(part.series(named), part.by_run),)
        for test in _tests_of(part)
        for series in part.only(Selection(test=test)).series(named)
    ]


def _tests_of(part: View) -> list[str]:
    tests: dict[str, None] = {}
    for name, results in part.by_run.items():
        of_summaries = (result.test for result in results if result.scope == "summary")
        several = len({test for _, test in part.kinds[name]}) > 1
        # If a run has only one test, its first number is enough.
        tests.update(dict.fromkeys(of_summaries if several else islice(of_summaries, 1)))
    return list(tests)


def _values_of(series: Series, named: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
    labels = labels_of(series.runs[0].labels)
    return tuple((name, labels.get(name)) for name in named)


def _with_parts(everything: Iterable[SystemSeries], pages: PageIndex) -> Sequence[SystemSeries]:
    counts: Counter[tuple[str, str, str, PagePart | None]] = Counter()
    placed = []
    for member in everything:
        first = member.series.results[0]
        part = pages.part_with(member.system, member.transport, first.run)
        there = (member.system, member.transport, first.test, part)
        placed.append(msgspec.structs.replace(member, part=part, slot=counts[there]))
        counts[there] += 1
    return placed


def groups(everything: Iterable[SystemSeries], *, least: int = 2, across: Collection[str] = ()) -> dict[Group, list[SystemSeries]]:
    """Return the groups of series that may be ranked against each other.

    Args:
        everything: the series.
        least: the smallest number of series in a group; with 1, a single series is a group too.
        across: conditions that may differ between the members of a group.
    """
    by_group: dict[Group, list[SystemSeries]] = {}
    for member in everything:
        group = group_of(member, across)
        if group is not None:
            by_group.setdefault(group, []).append(member)
    return {group: members for group, members in by_group.items() if len(members) >= least}


def group_of(member: SystemSeries, across: Collection[str] = ()) -> Group | None:
    """Return the group in which a series is ranked; ``None`` if a required condition is not known, or if no number of the series can be ranked.

    The conditions ``across`` may differ between the members of the group.
    """
    for metric, statistic in RANKED_BY:
        conditions = conditions_of(member.series, metric)
        if not member.series.cells(metric, statistic) or is_ranked_nowhere(conditions):
            continue
        if unknown(conditions, "ranking"):
            return None
        group = Group(metric, statistic, tuple(pair for pair in shared(conditions, "ranking") if pair[0] not in across))
        return group if group.cells(member) else None
    return None


def sizes_of(group: Group, members: Sequence[SystemSeries], most: int) -> list[int]:
    """Return up to ``most`` sizes, including the smallest and the largest. They are chosen among the sizes that are measured by the most series."""
    counts: dict[int, int] = {}
    for member in members:
        for size_bytes in group.cells(member):
            counts[size_bytes] = counts.get(size_bytes, 0) + 1
    sizes = sorted(size_bytes for size_bytes, count in counts.items() if count == max(counts.values()))
    if len(sizes) <= most:
        return sizes
    return [sizes[round(index * (len(sizes) - 1) / (most - 1))] for index in range(most)]


def best_of(cells: Mapping[int, Cell]) -> set[int]:
    """Return the keys of the best cells; an empty set if one of them has too few runs."""
    leading = leaders(cells)
    return leading if all(cells[key].run_count >= MIN_RUNS for key in leading) else set()


def leaders(cells: Mapping[int, Cell]) -> set[int]:
    """Return the keys of the leading cells, even if they have few runs: one cell, or several cells that repeated runs cannot distinguish.

    A cell is ranked by its `standing`. A bound never leads, nor does a rate with more than 1 % loss, a percentile of too few samples, or the latency
    of a reference if there are latencies of bytes.
    """
    able = {key: cell for key, cell in eligible(cells).items() if UNDERSAMPLED not in cell.marks}
    able = {key: cell for key, cell in able.items() if REFERENCE not in cell.marks} or able
    if not able:
        return set()
    best = standing(min(able.values(), key=rank_key))
    return {key for key, cell in able.items() if overlap(standing(cell), best)}


def eligible(cells: Mapping[int, Cell]) -> dict[int, Cell]:
    """Return the cells that can be ranked. Bounds are left out, and so are rates with more than 1 % loss."""
    return {key: cell for key, cell in cells.items() if cell.value is not None and cell.result.bound == "=" and LOSS not in cell.marks}


def ordered(group: Group, members: Sequence[SystemSeries], sizes: Sequence[int]) -> list[SystemSeries]:
    """Return the series from the best to the worst: by the geometric mean of their ratios to the best value of each size."""
    lower = METRICS[group.metric].better == "lower"
    return [members[index] for index in ordered_cells([group.cells(member) for member in members], sizes, lower=lower)]


def ordered_cells(rows: Sequence[Mapping[int, Cell]], sizes: Sequence[int], *, lower: bool) -> list[int]:
    """Return the indices of the rows, the best row first: by the geometric mean of their ratios to the best of each size.

    If ``lower`` is true, lower values are better; otherwise, higher values are better.
    """
    cells = [{size_bytes: standing(cell).value for size_bytes, cell in row.items()} for row in rows]
    choose = min if lower else max
    best = {size_bytes: choose((values[size_bytes] for values in cells if size_bytes in values), default=0.0) for size_bytes in sizes}

    def worth(values: Mapping[int, float]) -> float:
        ratios = []
        for size_bytes in sizes:
            mine = values.get(size_bytes, 0.0)
            if best[size_bytes] > 0 and mine > 0:
                ratios.append(math.log(mine / best[size_bytes]) * (1 if lower else -1))
        return sum(ratios) / len(ratios) if ratios else math.inf

    return sorted(range(len(rows)), key=lambda index: (worth(cells[index]), index))


def column_of(cells: Sequence[Mapping[int, Cell]], size_bytes: int) -> dict[int, Cell]:
    """Return the cells of one size by the index of their series."""
    return {index: row[size_bytes] for index, row in enumerate(cells) if size_bytes in row}


def runs_of_all(group: Group, members: Sequence[SystemSeries], sizes: Sequence[int]) -> str:
    """Return, in words, how many runs each number of a group has; an empty text if this is not the same for all numbers."""
    rows = ((member, group.cells(member)) for member in members)
    counts = {runs_words(member, cells[size_bytes]) for member, cells in rows for size_bytes in sizes if size_bytes in cells}
    return counts.pop() if len(counts) == 1 else ""


def runs_words(member: SystemSeries, cell: Cell) -> str:
    """Return, in words, how many runs a number comes from, and the planned duration of each run; an empty text for published figures."""
    if member.series.published:
        return ""
    count, duration = cell.run_count, dict(member.series.key)["planned_duration_s"]
    return f"{count}\u202f\u00d7\u202f{duration:g}\u00a0s" if duration is not None else f"{count}\u00a0run{'s' if count > 1 else ''}"


def common_conditions(members: Sequence[SystemSeries]) -> str:
    """Return, in words, the conditions that all members of a group share, and that their labels do not state."""
    versions = {dict(member.series.key)["system_version"] for member in members}
    labels = {name for member in members for name, _ in member.labels}
    phrases = common_words((member.series for member in members), {*_IN_GROUP_WORDS, *labels, *(("release",) if versions != {None} else ())})
    return ", ".join(phrases)


# The statistics in order of preference.
_PREFERRED: Mapping[str, Sequence[str]] = {"latency": ("p50", "mean", "typical", "range-low", "min", "max"), "goodput": ("mean",)}
RANKED_BY = (("latency", "p50"), ("latency", "mean"), ("goodput", "mean"))  # other statistics are too imprecise for a ranking


def headline_statistic(series: Series, metric: str) -> str | None:
    """Return the headline statistic of a latency or goodput; ``None`` if the series has no such number."""
    present = [statistic for name, statistic in series.statistics() if name == metric]
    return next((name for name in _PREFERRED[metric] if name in present), present[0] if present else None)


def headline(series: Series, metric: str) -> dict[int | None, Cell]:
    """Return the headline numbers of a latency or goodput by size. Cells without a value are left out."""
    statistic = headline_statistic(series, metric)
    return {} if statistic is None else {size_bytes: cell for size_bytes, cell in series.cells(metric, statistic).items() if cell.value is not None}


UNDERSAMPLED = "undersampled"  # the mark of a percentile with too few samples


class Standing(NamedTuple):
    """The value by which a number is ranked, with the range of its runs, in the metric's unit."""

    value: float
    low: float | None
    high: float | None


def standing(cell: Cell) -> Standing:
    """Return the value by which a number is ranked, with the range of its runs. If the runs form two groups, the worse group is used.

    Raises:
        ValueError: the number is not known. If it counted as 0, it would be the lowest latency.
    """
    if cell.value is None:
        raise ValueError("a number that is not known cannot be ranked")
    if not cell.groups:
        return Standing(cell.value, cell.low, cell.high)
    group = worse_of(cell.groups)
    return Standing(cell.value, group.low, group.high)


def rank_key(cell: Cell) -> tuple[float, bool]:
    """Return the sort key of the numbers of one metric, the best first. Of equal numbers, one whose runs form one group comes first."""
    value = standing(cell).value
    return (value if METRICS[cell.result.metric].better == "lower" else -value), bool(cell.groups)


def overlap(first: Standing, second: Standing) -> bool:
    """Whether the ranges of two numbers overlap, so that runs cannot distinguish them. Numbers without ranges overlap only if they are equal."""
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return first.value == second.value
    return first.low <= second.high and second.low <= first.high
