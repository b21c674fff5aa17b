"""Series that may be ranked against each other, in groups, and what leads a group.

What may be compared is decided in `tacholog.compare.comparable`. The headline number of a series (`headline`) and the value by which a number is
ranked (`standing`) are chosen here for all pages, so that no page contradicts another.
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
from tacholog.view.cost import spinning_among, way
from tacholog.view.names import joined, participant_title, with_system, words
from tacholog.view.numerals import NOT_STATED, size
from tacholog.view.page_index import PageIndex, PagePart
from tacholog.view.series import LOGICAL, LOSS, REFERENCE, Cell, Series, common_words
from tacholog.view.views import Selection, View, differing_labels

_BATCHED = "batched"
# Conditions that a group's own words name, that stand above its table, or that say little there.
_IN_GROUP_WORDS = (
    *("transport", "host", "definition", "load_mode", "basis", "campaign", "build", "planned_duration_s", "published", "side", "participant"),
    *("tool", "tool_version", "warmup", "settings", "run"),
)
_NEW = ("options", "settings", "labels")


class SystemSeries(msgspec.Struct, frozen=True):
    """One series of one system over one transport.

    ``part`` is the part of a page that shows it, if there is one, and ``slot`` is its place among the series of its test there.
    ``labels`` are the labels that differ anywhere in the view, with their values in this series.
    ``spins`` is true where it was told to sleep, and its processor time shows that it spins (`tacholog.view.cost.spinning`).
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
        """The labels that differ anywhere in the view, as far as it has them: ``plugin flannel``."""
        return joined(self.labels)

    @property
    def is_control(self) -> bool:
        """Whether it is a control: it says something about the machine, and is none of the transports that were to be measured."""
        return CONTROL in labels_of(self.series.runs[0].labels)

    @property
    def document(self) -> str | None:
        """The page that shows it."""
        return self.part.document if self.part else None

    @property
    def id(self) -> str:
        """A name for addresses, made from the conditions: it lasts as long as they do."""
        # Conditions that were added after 0.3 are left out where they are unknown: published addresses hold these names.
        key = tuple((name, value) for name, value in self.series.key if value is not None or name not in _NEW)
        return hashlib.sha256(repr((self.system, self.series.results[0].test, key)).encode()).hexdigest()[:8]

    @property
    def name(self) -> str:
        """Its name among all others."""
        return f"{with_system(self.system, self.transport)}: {self.series.label}"


class Group(msgspec.Struct, frozen=True):
    """A number, and the conditions that all series of the group share: those that a ranking asks for. All that must be known is known."""

    metric: str
    statistic: str
    conditions: tuple[tuple[str, Any], ...]

    def __getitem__(self, condition: str) -> Any:  # noqa: ANN401 - a condition is a word, a number or null
        """Return what all series share of a condition; ``None`` if it is not stated, or not asked for this metric."""
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
        """The number that is compared, in words."""
        statistic = {"p50": "median", "p99": "99\u00a0%"}.get(self.statistic, "")
        reference = "of a reference" if self["latency_of"] == A_REFERENCE else ""
        batched = "in batches" if self["batched"] == _BATCHED else ""
        return ", ".join(
            filter(None, (METRICS[self.metric].words, statistic, words("basis", self["basis"]), reference, batched, self["operating_system"]))
        )

    def words_of(self, members: Sequence[SystemSeries]) -> str:
        """Return the number in words, and the labels that differ elsewhere: all members of the group share them."""
        return ", ".join(filter(None, (self.words, members[0].label_words)))

    def of_any_campaign(self) -> tuple[object, ...]:
        """Return what the groups of several campaigns that measured the same have in common."""
        return (self.metric, self.statistic, *(pair for pair in self.conditions if pair[0] != "campaign"))

    def cells(self, one: SystemSeries) -> dict[int, Cell]:
        """Return the numbers of a series by size in bytes, without those for a range of sizes or of no stated size."""
        found = one.series.cells(self.metric, self.statistic)
        return {at: cell for at, cell in found.items() if at is not None and cell.value is not None and cell.sizes_high is None}


def conditions_of(series: Series, metric: str) -> dict[str, Any]:
    """Return what is stated of a series, as `tacholog.compare.comparable.judge` asks for it in a ratio or a ranking of a metric."""
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
    """Return every series of a view, by system and transport. A label that differs anywhere in the view stands in each name.

    Only that of controls does not: all that is no control would be called so.
    """
    return view.once(("compared", pages.parts), partial(_placed, view.once("compared", partial(_compared, view)), pages))


def _compared(view: View) -> Sequence[SystemSeries]:
    """Return every series of a view, whatever page shows it: those that only count ask for no page."""
    pairs = sorted({(view.runs[run].system or NOT_STATED, transport or NOT_STATED) for run, kinds in view.kinds.items() for transport, _ in kinds})
    named = [name for name in differing_labels(view.runs[name] for name in view.by_run) if name != CONTROL]
    return [
        SystemSeries(system, transport, one, labels=_values_of(one, named), spins=way(one) in spins)
        for system, transport in pairs
        for part in (view.only(Selection(system=system, transport=transport)),)
        for spins in (spinning_among(part.series(named), part.by_run),)
        for test in _tests_of(part)
        for one in part.only(Selection(test=test)).series(named)
    ]


def _tests_of(part: View) -> list[str]:
    """Return the tests of whole measurements, in the order of appearance. Of a run with numbers of one test, no more than the first is looked at."""
    found: dict[str, None] = {}
    for name, results in part.by_run.items():
        whole = (result.test for result in results if result.scope == "summary")
        several = len({test for _, test in part.kinds[name]}) > 1
        found.update(dict.fromkeys(whole if several else islice(whole, 1)))
    return list(found)


def _values_of(series: Series, named: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
    labels = labels_of(series.runs[0].labels)
    return tuple((name, labels.get(name)) for name in named)


def _placed(everything: Iterable[SystemSeries], pages: PageIndex) -> Sequence[SystemSeries]:
    """Return the series, each with the part of a page that shows it and its place among the series of its test there."""
    counts: Counter[tuple[str, str, str, PagePart | None]] = Counter()
    found = []
    for one in everything:
        first = one.series.results[0]
        part = pages.part_with(one.system, one.transport, first.run)
        there = (one.system, one.transport, first.test, part)
        found.append(msgspec.structs.replace(one, part=part, slot=counts[there]))
        counts[there] += 1
    return found


def groups(everything: Iterable[SystemSeries], *, least: int = 2, across: Collection[str] = ()) -> dict[Group, list[SystemSeries]]:
    """Return the series that may be ranked with at least one other, by what they have in common.

    Args:
        everything: the series.
        least: how many series a group has at least; 1: those that stand alone are groups too.
        across: conditions in which the members of a group may differ.
    """
    found: dict[Group, list[SystemSeries]] = {}
    for one in everything:
        group = group_of(one, across)
        if group is not None:
            found.setdefault(group, []).append(one)
    return {group: members for group, members in found.items() if len(members) >= least}


def group_of(one: SystemSeries, across: Collection[str] = ()) -> Group | None:
    """Return the group in which a series is ranked; nothing if a condition is not known, or it has no number to be ranked by.

    The members of the group may differ in the conditions ``across``.
    """
    for metric, statistic in RANKED_BY:
        stated = conditions_of(one.series, metric)
        if not one.series.cells(metric, statistic) or is_ranked_nowhere(stated):
            continue
        if unknown(stated, "ranking"):
            return None
        group = Group(metric, statistic, tuple(pair for pair in shared(stated, "ranking") if pair[0] not in across))
        return group if group.cells(one) else None
    return None


def sizes_of(group: Group, members: Sequence[SystemSeries], most: int) -> list[int]:
    """Choose at most so many sizes, the smallest and the largest among them, of those that most of the series have."""
    counts: dict[int, int] = {}
    for one in members:
        for at in group.cells(one):
            counts[at] = counts.get(at, 0) + 1
    sizes = sorted(at for at, count in counts.items() if count == max(counts.values()))
    if len(sizes) <= most:
        return sizes
    return [sizes[round(index * (len(sizes) - 1) / (most - 1))] for index in range(most)]


def sizes_of_few(group: Group, members: Sequence[SystemSeries]) -> dict[tuple[int, ...], list[int]]:
    """Return the sizes that fewer series have than other sizes, by the places of the series that have them. `sizes_of` leaves these sizes out."""
    having: dict[int, tuple[int, ...]] = {}
    for place, one in enumerate(members):
        for at in group.cells(one):
            having[at] = (*having.get(at, ()), place)
    most = max(map(len, having.values()))
    found: dict[tuple[int, ...], list[int]] = {}
    for at in sorted(having):
        if len(having[at]) < most:
            found.setdefault(having[at], []).append(at)
    return found


def best_of(cells: Mapping[int, Cell]) -> set[int]:
    """Return the keys of the best cells; none if one of them has too few runs."""
    found = leaders(cells)
    return found if all(cells[key].run_count >= MIN_RUNS for key in found) else set()


def leaders(cells: Mapping[int, Cell]) -> set[int]:
    """Return the keys of the leading cells, however few runs they have: one, or several that repeated runs cannot tell apart.

    A cell is ranked by its `standing`. A bound never leads, nor does a rate with more than 1 % loss, nor the latency of a reference beside those of
    bytes. Nor does a percentile of too few samples.
    """
    able = {key: cell for key, cell in eligible(cells).items() if UNDERSAMPLED not in cell.marks}
    able = {key: cell for key, cell in able.items() if REFERENCE not in cell.marks} or able
    if not able:
        return set()
    best = standing(min(able.values(), key=rank_key))
    return {key for key, cell in able.items() if overlap(standing(cell), best)}


def eligible(cells: Mapping[int, Cell]) -> dict[int, Cell]:
    """Return the cells that are no bounds, and no rates with more than 1 % loss."""
    return {key: cell for key, cell in cells.items() if cell.value is not None and cell.shown.bound == "=" and LOSS not in cell.marks}


def ordered(group: Group, members: Sequence[SystemSeries], sizes: Sequence[int]) -> list[SystemSeries]:
    """Return the series, the best first: by the geometric mean of their ratios to the best of each size."""
    cells = [{at: standing(cell).value for at, cell in group.cells(one).items()} for one in members]
    lower = METRICS[group.metric].better == "lower"
    choose = min if lower else max
    best = {at: choose((found[at] for found in cells if at in found), default=0.0) for at in sizes}

    def worth(found: Mapping[int, float]) -> float:
        ratios = []
        for at in sizes:
            mine = found.get(at, 0.0)
            if best[at] > 0 and mine > 0:
                ratios.append(math.log(mine / best[at]) * (1 if lower else -1))
        return sum(ratios) / len(ratios) if ratios else math.inf

    order = sorted(range(len(members)), key=lambda index: (worth(cells[index]), index))
    return [members[index] for index in order]


def column_of(cells: Sequence[Mapping[int, Cell]], at: int) -> dict[int, Cell]:
    """Return the cells of one size by the place of their series."""
    return {index: found[at] for index, found in enumerate(cells) if at in found}


def runs_of_all(group: Group, members: Sequence[SystemSeries], sizes: Sequence[int]) -> str:
    """Return how many runs are behind each number of a group, if it is the same for all; the cells then need not say it."""
    counts = {runs_words(one, found[at]) for one in members for found in (group.cells(one),) for at in sizes if at in found}
    return counts.pop() if len(counts) == 1 else ""


def runs_words(one: SystemSeries, cell: Cell) -> str:
    """Return how many runs are behind a number, and how long each was meant to take; nothing for published figures."""
    if one.series.published:
        return ""
    count, duration = cell.run_count, dict(one.series.key)["planned_duration_s"]
    return f"{count}\u202f\u00d7\u202f{duration:g}\u00a0s" if duration is not None else f"{count}\u00a0run{'s' if count > 1 else ''}"


def no_best_words(group: Group, members: Sequence[SystemSeries], sizes: Sequence[int]) -> str:
    """Return at which sizes no best is highlighted, and why; nothing if there is one at each size."""
    cells = [group.cells(one) for one in members]
    columns = {at: column_of(cells, at) for at in sizes}
    too_few = [at for at in sizes if eligible(columns[at]) and not leaders(columns[at])]
    bare = [at for at in sizes if leaders(columns[at]) and not best_of(columns[at])]
    by_few_runs = (
        f"single published figures cannot show a winner, which takes {MIN_RUNS} runs"
        if all(one.series.published for one in members)
        else f"the leader, or a transport whose range overlaps with its own, rests on fewer than {MIN_RUNS} runs"
    )
    reasons = ((bare, by_few_runs), (too_few, "no transport has enough samples"))
    return " ".join(f"No best is highlighted{_at(found, sizes)}: {reason}." for found, reason in reasons if found)


def _at(found: Sequence[int], sizes: Sequence[int]) -> str:
    """Return at which of the sizes of a table something holds; nothing if it does at all of them."""
    return "" if len(found) == len(sizes) else f" at {', '.join(map(size, found))}"


def common_conditions(members: Sequence[SystemSeries]) -> str:
    """Return the other conditions that all members of a group share, which their labels leave out."""
    versions = {dict(one.series.key)["system_version"] for one in members}
    labels = {name for one in members for name, _ in one.labels}
    found = common_words((one.series for one in members), {*_IN_GROUP_WORDS, *labels, *(("release",) if versions != {None} else ())})
    return ", ".join(found)


# The statistics in order of preference.
_PREFERRED: Mapping[str, Sequence[str]] = {"latency": ("p50", "mean", "typical", "range-low", "min", "max"), "goodput": ("mean",)}
RANKED_BY = (("latency", "p50"), ("latency", "mean"), ("goodput", "mean"))  # what series may be ranked by; other statistics are too vague


def headline_statistic(series: Series, metric: str) -> str | None:
    """Return the statistic that stands for a latency or goodput; ``None`` where the series has no such number."""
    present = [statistic for name, statistic in series.statistics() if name == metric]
    return next((name for name in _PREFERRED[metric] if name in present), present[0] if present else None)


def headline(series: Series, metric: str) -> dict[int | None, Cell]:
    """Return the headline numbers of a latency or goodput by size; those that are not stated are left out."""
    statistic = headline_statistic(series, metric)
    return {} if statistic is None else {at: cell for at, cell in series.cells(metric, statistic).items() if cell.value is not None}


UNDERSAMPLED = "undersampled"  # the mark of a percentile with too few samples


class Standing(NamedTuple):
    """The value by which a number is ranked, with the range of the runs that it stands for, in the unit of its metric."""

    value: float
    low: float | None
    high: float | None


def standing(cell: Cell) -> Standing:
    """Return what a number with a value is ranked by: of two groups of runs, the worse one.

    The larger group would let a transport win that is slow in two of six runs: nobody who chooses it knows in which group the next run falls.

    Raises:
        ValueError: the number is not known. As 0 it would be the lowest latency.
    """
    if cell.value is None:
        raise ValueError("a number that is not known cannot be ranked")
    if not cell.groups:
        return Standing(cell.value, cell.low, cell.high)
    group = cell.groups[-1 if METRICS[cell.shown.metric].better == "lower" else 0]
    return Standing(group.value, group.low, group.high)


def rank_key(cell: Cell) -> tuple[float, bool]:
    """Return what numbers of one metric are sorted by, the best first. Of equal ones, that of runs in one group comes first."""
    value = standing(cell).value
    return (value if METRICS[cell.shown.metric].better == "lower" else -value), bool(cell.groups)


def overlap(one: Standing, other: Standing) -> bool:
    """Whether repeated runs do not tell two numbers apart: their ranges meet. Numbers without ranges are alike only where they are equal."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return one.value == other.value
    return one.low <= other.high and other.low <= one.high
