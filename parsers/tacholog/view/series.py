"""Series: numbers that were measured the same way, so that one line may join them over the payload sizes.

Runs of one series repeat each other. Repetitions are shown as the median over runs with their range, and as two medians where the runs fall into two
groups; percentiles are never pooled. Every value shown is that of a run.

A median of runs in two groups describes neither group, and one run more or less moves it from one group to the other. The rule for groups is that of
the diff (`tacholog.compare.statistics.two_modes`); here a gap must also be wide enough to matter for a choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from math import log
from typing import NamedTuple

import msgspec

from tacholog.compare.comparable import settings_of
from tacholog.compare.policy import MIN_RUNS, percentile
from tacholog.compare.statistics import MIN_CLUSTER, cluster_split
from tacholog.runs.conditions import split_options
from tacholog.runs.labels import CONTROL, labels_of
from tacholog.schema.metrics import METRICS, median_place
from tacholog.store.quality import SAMPLES_BEYOND
from tacholog.view.names import SHOWN_CONDITIONS, joined, joined_or_unstated, made_different, told_apart, with_each_label, words
from tacholog.view.numerals import NOT_STATED, by_version, size
from tacholog.view.results import CONDITIONS, ResultRow, RunRow

LOSS = "loss"  # the mark of a rate at which more than 1 % of the messages were lost
LOGICAL = "no_bytes_moved"  # the mark of a rate that counts bytes which nobody moved
REFERENCE = "reference_only"  # the mark of a latency of a reference, not of the bytes
TOO_FEW = "too few samples"  # in place of a percentile that needs more than a run had
NOT_MEASURED = "not measured"  # in place of a number of a size that no run has
_RUN_PARTS = ("published", "host", "release", "system_version", "tool", "tool_version", "campaign", "options", "build")
_SAYS_MOST = ("data_path", "reliability", "keyed")  # the label of a series that is alone
_SEVERAL = 2
SeriesKey = tuple[tuple[str, object], ...]


class Coverage(NamedTuple):
    """How many measurements state a number, of how many; ``of_runs`` is how many runs made them. A run may measure the same several times."""

    times: int
    wanted: int
    of_runs: int


class Cell(msgspec.Struct, frozen=True, gc=False):
    """One number of a series at one size, over its runs, in the schema's unit.

    ``value`` is ``None`` where no run states it, or only some of the runs do: a median over fewer runs than in the next column would not belong to
    the same measurement (p99.99 came out above p99.999). ``coverage`` then holds how many measurements state it, of how many.
    ``shown`` is the result with this value: it has the bound, the resolution and the line. Where runs fall into two ``groups``, it is that of the
    larger one, or of two of one size the worse one: it stands for both where only one number is possible, as in a ratio.
    It is not what they are ranked by (`tacholog.view.ranking_groups`).
    ``marks`` are every mark on any of the numbers, in order, and that of two groups of runs.
    """

    value: float | None
    low: float | None
    high: float | None
    results: tuple[ResultRow, ...]
    shown: ResultRow
    coverage: Coverage | None = None
    groups: tuple[RunGroup, ...] = ()
    marks: tuple[str, ...] = ()

    @property
    def sizes_high(self) -> int | None:
        """The largest payload in bytes, where one number stands for a range of sizes."""
        for result in self.results:  # asked of each cell several times: a generator takes longer
            if result.payload_bytes_high is not None:
                return result.payload_bytes_high
        return None

    @property
    def size_words(self) -> str:
        """The payload size, or the range of sizes, that it is of."""
        first = size(self.results[0].payload_bytes) if self.results[0].payload_bytes is not None else "size not stated"
        return first if self.sizes_high is None else f"{first} to {size(self.sizes_high)}"

    @property
    def run_count(self) -> int:
        """How many runs are behind it."""
        return len({result.run.run for result in self.results})


class SeriesNumbers(msgspec.Struct, frozen=True, dict=True):
    """The numbers of a series. What pages ask of them is computed once: a site asks a hundred times for the same cells."""

    results: tuple[ResultRow, ...]

    @cached_property
    def runs(self) -> Sequence[RunRow]:
        """The runs behind them, in order."""
        return tuple({result.run.run: result.run for result in self.results}.values())

    @cached_property
    def is_repeated(self) -> bool:
        """Whether any number was measured more than once."""
        return len({(result.payload_bytes, result.metric, result.statistic) for result in self.results}) < len(self.results)

    @cached_property
    def sizes(self) -> Sequence[int | None]:
        """The payload sizes in bytes, ascending; ``None`` (not stated) comes first."""
        return sorted({result.payload_bytes for result in self.results}, key=lambda size_bytes: -1 if size_bytes is None else size_bytes)

    @cached_property
    def of_size(self) -> Mapping[int | None, Sequence[ResultRow]]:
        """The numbers by payload size, in the order of runs."""
        found: dict[int | None, list[ResultRow]] = {}
        for result in self.results:
            found.setdefault(result.payload_bytes, []).append(result)
        return found

    def measurements(self, at: int | None) -> Sequence[tuple[RunRow, Mapping[tuple[str, str], ResultRow]]]:
        """The measurements of a size, in the order of runs: each with its run, and its numbers by metric and statistic.

        A log may say of one measurement on several lines, as perftest does of its rate and of its processor time. So a record continues the last
        measurement of its log. One that says anything again is of another measurement.
        """
        found: dict[tuple[str, str], list[tuple[RunRow, dict[tuple[str, str], ResultRow]]]] = {}
        for record in _records(self.of_size[at]):
            first = next(iter(record.values()))
            of_log = found.setdefault((first.run.run, first.log), [])
            if of_log and of_log[-1][1].keys().isdisjoint(record):
                of_log[-1][1].update(record)
            else:
                of_log.append((first.run, record))
        return [measurement for of_log in found.values() for measurement in of_log]

    @cached_property
    def statistics(self) -> Sequence[tuple[str, str]]:
        """The (metric, statistic) pairs, in order of appearance."""
        return tuple(dict.fromkeys((result.metric, result.statistic) for result in self.results))

    @cached_property
    def marks(self) -> frozenset[str]:
        """Every mark on any of the numbers."""
        return frozenset(mark for marks in {result.marks for result in self.results} for mark in marks)

    def cells(self, metric: str, statistic: str) -> Mapping[int | None, Cell]:
        """One cell a size for the number of that name."""
        name = (metric, statistic)
        if name not in self.made_cells:
            sizes = self._by_size.get(metric, {})
            self.made_cells[name] = {at: _cell(found[statistic], self._most_stated[metric, at]) for at, found in sizes.items() if statistic in found}
        return self.made_cells[name]

    @cached_property
    def made_cells(self) -> dict[tuple[str, str], Mapping[int | None, Cell]]:
        """The cells that were asked for so far, by metric and statistic."""
        return {}

    @cached_property
    def _by_size(self) -> Mapping[str, Mapping[int | None, Mapping[str, list[ResultRow]]]]:
        """The numbers by metric, size and statistic."""
        each: dict[tuple[str, int | None, str], list[ResultRow]] = {}
        for result in self.results:
            each.setdefault((result.metric, result.payload_bytes, result.statistic), []).append(result)
        found: dict[str, dict[int | None, dict[str, list[ResultRow]]]] = {}
        for (metric, at, statistic), results in each.items():
            found.setdefault(metric, {}).setdefault(at, {})[statistic] = results
        return found

    @cached_property
    def _most_stated(self) -> Mapping[tuple[str, int | None], tuple[int, int]]:
        """By metric and size, how often all runs together should state a statistic, and how many runs there are.

        Each run should state it as often as the one that it states most often.
        """
        found = ((metric, at, statistics) for metric, sizes in self._by_size.items() for at, statistics in sizes.items())
        return {(metric, at): _most_stated(statistics.values()) for metric, at, statistics in found}


class Series(msgspec.Struct, frozen=True):
    """Numbers measured the same way. ``slot`` numbers the series on its page, and so fixes its colour."""

    label: str
    slot: int
    key: SeriesKey
    measured: SeriesNumbers

    @property
    def results(self) -> tuple[ResultRow, ...]:
        """Its numbers, in the order of runs."""
        return self.measured.results

    @property
    def published(self) -> bool:
        """Whether these are a vendor's published figures."""
        return self.results[0].run.published

    @property
    def runs(self) -> Sequence[RunRow]:
        """The runs behind it, in order."""
        return self.measured.runs

    @property
    def repeated(self) -> bool:
        """Whether any number was measured more than once."""
        return self.measured.is_repeated

    def sizes(self) -> Sequence[int | None]:
        """The payload sizes in bytes, ascending; ``None`` (not stated) comes first."""
        return self.measured.sizes

    def cells(self, metric: str, statistic: str) -> Mapping[int | None, Cell]:
        """One cell a size for the number of that name."""
        return self.measured.cells(metric, statistic)

    def statistics(self) -> Sequence[tuple[str, str]]:
        """The (metric, statistic) pairs that it has, in order of appearance."""
        return self.measured.statistics

    def absent(self, metric: str, statistic: str, at: int | None) -> str:
        """Return why a size has no such number. Every table asks here, so that one state has one name.

        No run has the size; or the runs that do not state the number had too few samples for it; or it is not stated.
        """
        if at not in self.measured.of_size:
            return NOT_MEASURED
        of_size = [result for result in self.measured.of_size[at] if result.metric == metric]
        stating = {result.run.run for result in of_size if result.statistic == statistic and result.value is not None}
        samples = [result.samples for result in of_size if result.run.run not in stating]
        return absent_words(metric, statistic, samples)

    def has_mark(self, mark: str) -> bool:
        """Whether any number carries that mark."""
        return mark in self.measured.marks


def absent_words(metric: str, statistic: str, samples: Collection[int | None]) -> str:
    """Return what stands in place of a number that measurements of so many samples do not have."""
    share = percentile(statistic) if metric == "latency" else None
    if share is None or not samples:
        return NOT_STATED
    # 99.99 is a little less than it says as a binary fraction: 10 samples of 100 000 lie beyond it.
    few = all(count is not None and count * (100 - share) / 100 < SAMPLES_BEYOND * (1 - 1e-9) for count in samples)
    return TOO_FEW if few else NOT_STATED


def measured_alike(results: Iterable[ResultRow]) -> dict[SeriesKey, SeriesNumbers]:
    """Return numbers of whole measurements in groups that were measured the same way. Groups of later versions come later, controls last."""
    groups: dict[SeriesKey, list[ResultRow]] = {}
    known: dict[tuple[object, ...], list[ResultRow]] = {}  # by what is short: a key has some sixty parts, and looking it up asks for the hash of each
    for result in results:
        short = (result.run.run, result.side, result.participant, id(result.conditions))
        group = known.get(short)
        if group is None:
            group = known[short] = groups.setdefault(_key(result), [])
        group.append(result)
    return {key: SeriesNumbers(tuple(groups[key])) for key in sorted(groups, key=lambda key: (_is_control(key), _version(key)))}


def measured_in(
    whole: Mapping[SeriesKey, SeriesNumbers], kinds: Mapping[str, Collection[tuple[str | None, str]]], part: Collection[str]
) -> dict[SeriesKey, SeriesNumbers] | None:
    """Return the same groups of the part of one test as they are among all tests, so that pages of both share what is computed of them.

    Return nothing if the runs of a group have numbers of several tests: of these, only a part may belong to the test.

    Args:
        whole: what `measured_alike` returned of all tests.
        kinds: the transports and tests of each run.
        part: the runs with numbers of the test.
    """
    if any(len({test for run in group.runs for _, test in kinds[run.run]}) > 1 for group in whole.values()):
        return None
    return {key: group for key, group in whole.items() if group.runs[0].run in part}


def series_of(results: Iterable[ResultRow], named: Sequence[str] = ()) -> list[Series]:
    """Return the series in ``results``: see `labelled`."""
    return labelled(measured_alike(results), named)


def labelled(groups: Mapping[SeriesKey, SeriesNumbers], named: Sequence[str] = ()) -> list[Series]:
    """Return a series for each group, labelled by only those conditions in which they differ.

    Series of later versions come later, so that old versions keep their colours, and controls come last: they are not what was measured.

    Args:
        groups: what `measured_alike` returned.
        named: labels of the user's own that stand in each name, also where all series share them.
    """
    labels = _labels(list(groups), named)
    return [Series(label, slot, key, groups[key]) for slot, (label, key) in enumerate(zip(labels, groups, strict=True))]


def labelled_among(series: Sequence[Series]) -> list[Series]:
    """Return series with labels that tell them apart from each other only. Their slots, and so their colours, stay."""
    labels = _labels([one.key for one in series]) if series else []
    return [msgspec.structs.replace(one, label=label) for one, label in zip(series, labels, strict=True)]


def labels_among(series: Sequence[tuple[str, Series]]) -> list[str]:
    """Return the label of each series among others: only the conditions that differ; system and transport stand beside the label."""
    keys = [one.key for _, one in series]
    names = ["" for _ in keys] if len(keys) < _SEVERAL else [joined(parts) for parts in told_apart([dict(key) for key in keys], but="transport")]
    found = list(names)
    beside: dict[tuple[str, object], list[int]] = {}
    for place, (system, one) in enumerate(series):
        beside.setdefault((system, dict(one.key)["transport"]), []).append(place)
    for places in beside.values():
        for place, name in zip(places, made_different([names[at] for at in places], [dict(keys[at]) for at in places]), strict=True):
            found[place] = name
    return found


def common_words(series: Iterable[Series], but: Container[str]) -> list[str]:
    """Return, in words, the known conditions that all series share, except the names given."""
    first, *rest = with_each_label([dict(one.key) for one in series])
    return [phrase for name, value in first.items() if name not in but and all(one[name] == value for one in rest) and (phrase := words(name, value))]


def newest_first(series: Iterable[Series]) -> list[Series]:
    """Return series of later versions before those of earlier ones, and else in their order."""
    return sorted(series, key=lambda one: _version(one.key), reverse=True)


def _is_control(key: SeriesKey) -> bool:
    labels = dict(key)["labels"]
    return labels is not None and CONTROL in labels_of(str(labels))


def _version(key: SeriesKey) -> list[tuple[int, int, str]]:
    return by_version(str(dict(key)["system_version"] or ""))


def _records(results: Iterable[ResultRow]) -> list[dict[tuple[str, str], ResultRow]]:
    """Return the records that numbers of one size come from. Several may stand on one line; then each number of that name is of another one."""
    found: dict[tuple[str, str, int | None, int], dict[tuple[str, str], ResultRow]] = {}
    seen = Counter[tuple[str, str, int | None, str, str]]()
    for result in results:
        line = (result.run.run, result.log, result.line)
        name = (result.metric, result.statistic)
        found.setdefault((*line, seen[*line, *name]), {})[name] = result
        seen[*line, *name] += 1
    return list(found.values())


def _most_stated(statistics: Iterable[Sequence[ResultRow]]) -> tuple[int, int]:
    """Return how often all runs together state the statistic of a metric that each states most often, and how many runs do.

    As often they should state every other statistic.
    """
    most: dict[str, int] = {}
    before: list[str] = []
    for results in statistics:
        stating = [result.run.run for result in results if result.value is not None]
        if stating == before:
            continue  # as almost all are: a run states all percentiles or none
        before = stating
        for name, count in Counter(stating).items():
            if count > most.get(name, 0):
                most[name] = count
    return sum(most.values()), len(most)


def _cell(results: Sequence[ResultRow], most_stated: tuple[int, int]) -> Cell:
    """Return the cell of a number that so many runs should state so often."""
    wanted, of_runs = most_stated
    known = [(result.value, result) for result in results if result.value is not None]
    if not known or len(known) < wanted:
        first = known[0][1] if known else results[0]
        return Cell(None, None, None, tuple(results), first, Coverage(len(known), wanted, of_runs) if known else None, marks=_marks_of(results))
    values = [value for value, _ in known]
    value, shown = known[median_place(values, results[0].metric)]
    groups = two_groups(results)
    for group in groups:
        if group.low <= value <= group.high:
            value, shown = group.value, group.result
    return Cell(value, min(values), max(values), tuple(results), shown, groups=groups, marks=_marks_of(results, [TWO_GROUPS] if groups else []))


def _marks_of(results: Sequence[ResultRow], more: Sequence[str] = ()) -> tuple[str, ...]:
    found = dict.fromkeys([result.marks for result in results])  # most numbers have none, or the same
    return tuple(dict.fromkeys([*chain.from_iterable(found), *more]))


def _key(result: ResultRow) -> SeriesKey:
    parts: list[tuple[str, object]] = [("labels", result.run.labels)]
    parts += [(name, getattr(result.conditions, name)) for name in CONDITIONS if name in SHOWN_CONDITIONS]
    parts += [(name, getattr(result.run, name)) for name in _RUN_PARTS if name != "options"]
    options, settings = split_options(result.run.options)
    settings = {**settings_of(result.conditions.settings), **settings}
    parts += [("options", options), ("settings", ", ".join(f"{name} {value}" for name, value in settings.items()) or None)]
    parts += [("side", result.side), ("participant", result.participant)]
    # Two published tables are never repetitions: a document that prints both describes two measurements, even if it does not say how they differ.
    parts.append(("run", result.run.run if result.run.published else None))
    return tuple(parts)


def _labels(keys: Sequence[SeriesKey], named: Sequence[str] = ()) -> list[str]:
    rows = [dict(key) for key in keys]
    common = _common_labels(rows, named)
    if len(rows) == 1:
        return [joined_or_unstated([*common, *((name, rows[0][name]) for name in _SAYS_MOST)]) or "all runs"]
    return made_different([joined_or_unstated([*common, *parts]) or "no further conditions stated" for parts in told_apart(rows)], rows)


def _common_labels(rows: Sequence[Mapping[str, object]], named: Sequence[str]) -> list[tuple[str, object]]:
    """Return those of the given labels that all series share."""
    texts = {None if row["labels"] is None else str(row["labels"]) for row in rows}
    values = [(name, {labels_of(text).get(name) for text in texts}) for name in named]
    return [(name, next(iter(found))) for name, found in values if len(found) == 1]


TWO_GROUPS = "two_groups"
# Of the value below the gap. Of rows of six runs, 1 % show a gap that chance made if runs vary by 5 %, and 10 % if by 10 %; of 12 runs 0.1 % and 1 %.
LEAST_GAP = 0.1
_SURELY_NO_GAP = (1 + LEAST_GAP) * (1 - 1e-9)  # whatever the last place of a logarithm is
_LEAST_STEPS = 2  # of the last printed place: fewer may be rounding
_NOT_RANKED = ("std",)


class RunGroup(msgspec.Struct, frozen=True):
    """One of two groups of runs: the run whose value stands for it, the lowest and the highest value, and how many runs are in it."""

    result: ResultRow
    value: float
    low: float
    high: float
    runs: int


def two_groups(results: Sequence[ResultRow]) -> tuple[RunGroup, ...]:
    """Return the two groups that the runs of one number fall into, the lower values first; nothing where they are one group.

    Args:
        results: numbers of one metric and one statistic, one or more a run.
    """
    if len(results) < MIN_RUNS or not may_have_groups(results[0].metric, results[0].statistic):
        return ()
    found = [(result.value, result) for result in results if result.value is not None and result.value > 0 and result.bound == "="]
    if len(found) < len(results):
        return ()
    found.sort(key=lambda one: one[0])
    split = _split(tuple(value for value, _ in found))
    if split is None:
        return ()
    steps = [result.resolution for _, result in found if result.resolution is not None]
    if found[split][0] - found[split - 1][0] <= _LEAST_STEPS * max(steps, default=0.0):
        return ()
    return tuple(_group([result for _, result in part], [value for value, _ in part]) for part in (found[:split], found[split:]))


def may_have_groups(metric: str, statistic: str) -> bool:
    """Whether groups are looked for in such numbers: those that are neither better nor worse are no reason to choose."""
    return METRICS[metric].better is not None and statistic not in _NOT_RANKED


@lru_cache(maxsize=1 << 16)
def _split(values: tuple[float, ...]) -> int | None:
    """Return how many of the sorted values are in the lower group. A page asks for the same cells many times, and in most no gap is wide enough."""
    inner = range(MIN_CLUSTER - 1, len(values) - MIN_CLUSTER)
    if all(values[place + 1] <= values[place] * _SURELY_NO_GAP for place in inner):
        return None
    return cluster_split(values, log(1 + LEAST_GAP))


def _group(results: Sequence[ResultRow], values: Sequence[float]) -> RunGroup:
    place = median_place(values, results[0].metric)
    return RunGroup(results[place], values[place], values[0], values[-1], len({result.run.run for result in results}))
