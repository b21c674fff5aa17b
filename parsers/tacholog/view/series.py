"""Series: numbers that were measured in the same way, so that one line may join them over the payload sizes.

The runs of one series are repetitions of each other. They are shown as the median over runs with their range, and as two medians if the runs fall
into two groups; percentiles are never pooled. Every shown value is the value of one run.

A median over two groups describes neither group, and a single additional run can move it from one group to the other. Groups are detected by
the rule of `tacholog.compare.groups`, which comparisons use too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import msgspec

from tacholog.compare.comparable import settings_of
from tacholog.compare.groups import size_of_lower_group
from tacholog.compare.policy import MIN_RUNS, percentile
from tacholog.runs.conditions import split_options
from tacholog.runs.labels import CONTROL, labels_of
from tacholog.schema.marks import SAMPLES_BEYOND
from tacholog.schema.metrics import METRICS, median_place
from tacholog.view.names import (
    SHOWN_CONDITIONS,
    condition_name,
    headings,
    joined,
    joined_or_unstated,
    made_different,
    told_apart,
    value_words,
    with_each_label,
    words,
)
from tacholog.view.numerals import NOT_STATED, by_version, size
from tacholog.view.results import CONDITIONS, ResultRow, RunRow

LOSS = "loss"  # the mark of a rate at which more than 1 % of the messages were lost
LOGICAL = "no_bytes_moved"  # the mark of a rate of bytes that were not moved
REFERENCE = "reference_only"  # the mark of the latency of a reference to the bytes
TOO_FEW = "too few samples"  # shown instead of a percentile that needs more samples than a run had
NOT_MEASURED = "not measured"  # shown instead of a number at a size that was not measured
_RUN_PARTS = ("published", "host", "release", "system_version", "tool", "tool_version", "campaign", "options", "build")
_SAYS_MOST = ("data_path", "reliability", "keyed")  # the conditions in the label of a series if there is no other series
_SEVERAL = 2
SeriesKey = tuple[tuple[str, object], ...]


class Coverage(NamedTuple):
    """How many of the measurements that should state a number do state the number.

    Attributes:
        times: how many measurements state the number.
        wanted: how many measurements should state the number.
        of_runs: the number of runs from which these measurements are.
    """

    times: int
    wanted: int
    of_runs: int


class Cell(msgspec.Struct, frozen=True, gc=False):
    """One number of a series at one size, over all its runs, in the schema's unit.

    A median over only some of the runs is not comparable with the next column: p99.99 could be above p99.999. So there is no value if not all runs
    state the number.

    If the runs form two groups, the value is the value of the worse group, on all pages. Otherwise a transport could win although it is slow in two
    of six runs, and nobody knows to which group the next run will belong.

    Attributes:
        value: the median of the results, or the value of the worse group; ``None`` if not all runs state the number.
        low: the lowest value in all runs; ``None`` if ``value`` is ``None``.
        high: the highest value in all runs; ``None`` if ``value`` is ``None``.
        results: the results of all runs.
        result: the result that has this value, with its bound, resolution and line.
        coverage: how many measurements state the number, if only some of the measurements do; else ``None``.
        groups: the two groups of runs; empty if the runs do not form two groups.
        marks: the marks of all results, in order. A mark for two groups follows if there are two groups.
    """

    value: float | None
    low: float | None
    high: float | None
    results: tuple[ResultRow, ...]
    result: ResultRow
    coverage: Coverage | None = None
    groups: tuple[RunGroup, ...] = ()
    marks: tuple[str, ...] = ()

    @property
    def sizes_high(self) -> int | None:
        """The largest payload in bytes, if the number is for a range of sizes; else ``None``."""
        for result in self.results:  # A loop is faster than a generator here, and each cell is queried several times.
            if result.payload_bytes_high is not None:
                return result.payload_bytes_high
        return None

    @property
    def size_words(self) -> str:
        """The payload size, or the range of sizes, in words."""
        first = size(self.results[0].payload_bytes) if self.results[0].payload_bytes is not None else "size not stated"
        return first if self.sizes_high is None else f"{first} to {size(self.sizes_high)}"

    @property
    def run_count(self) -> int:
        """The count of the runs that state a result of this cell."""
        return len({result.run.run for result in self.results})


class SeriesNumbers(msgspec.Struct, frozen=True, dict=True):
    """The numbers of a series. Each property is computed once, because the pages of a site use the same cells many times."""

    results: tuple[ResultRow, ...]

    @cached_property
    def runs(self) -> Sequence[RunRow]:
        """The runs of the numbers, in order."""
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
        by_size: dict[int | None, list[ResultRow]] = {}
        for result in self.results:
            by_size.setdefault(result.payload_bytes, []).append(result)
        return by_size

    def measurements(self, size_bytes: int | None) -> Sequence[tuple[RunRow, Mapping[tuple[str, str], ResultRow]]]:
        """Return the measurements of a size, in the order of runs. Each measurement has a run, and numbers by metric and statistic.

        A log may describe one measurement on several lines, as perftest does with rate and processor time. Therefore the numbers of a record are
        added to the previous measurement of the log. But the record begins a new measurement if the previous measurement already has a
        number of the same metric and statistic.
        """
        by_log: dict[tuple[str, str], list[tuple[RunRow, dict[tuple[str, str], ResultRow]]]] = {}
        for record in _records(self.of_size[size_bytes]):
            first = next(iter(record.values()))
            of_log = by_log.setdefault((first.run.run, first.log), [])
            if of_log and of_log[-1][1].keys().isdisjoint(record):
                of_log[-1][1].update(record)
            else:
                of_log.append((first.run, record))
        return [measurement for of_log in by_log.values() for measurement in of_log]

    @cached_property
    def statistics(self) -> Sequence[tuple[str, str]]:
        """The (metric, statistic) pairs, in order of appearance."""
        return tuple(dict.fromkeys((result.metric, result.statistic) for result in self.results))

    @cached_property
    def marks(self) -> frozenset[str]:
        """All marks on any of the numbers."""
        return frozenset(mark for marks in {result.marks for result in self.results} for mark in marks)

    def cells(self, metric: str, statistic: str) -> Mapping[int | None, Cell]:
        """Return the cells of a metric and statistic, one cell for each size."""
        name = (metric, statistic)
        if name not in self.made_cells:
            sizes = self._by_size.get(metric, {})
            with_statistic = ((size_bytes, numbers[statistic]) for size_bytes, numbers in sizes.items() if statistic in numbers)
            self.made_cells[name] = {size_bytes: _cell(results, self._most_stated[metric, size_bytes]) for size_bytes, results in with_statistic}
        return self.made_cells[name]

    @cached_property
    def made_cells(self) -> dict[tuple[str, str], Mapping[int | None, Cell]]:
        """The cells that were requested so far, by metric and statistic."""
        return {}

    @cached_property
    def _by_size(self) -> Mapping[str, Mapping[int | None, Mapping[str, list[ResultRow]]]]:
        each: dict[tuple[str, int | None, str], list[ResultRow]] = {}
        for result in self.results:
            each.setdefault((result.metric, result.payload_bytes, result.statistic), []).append(result)
        by_metric: dict[str, dict[int | None, dict[str, list[ResultRow]]]] = {}
        for (metric, size_bytes, statistic), results in each.items():
            by_metric.setdefault(metric, {}).setdefault(size_bytes, {})[statistic] = results
        return by_metric

    @cached_property
    def _most_stated(self) -> Mapping[tuple[str, int | None], tuple[int, int]]:
        groups = ((metric, size_bytes, statistics) for metric, sizes in self._by_size.items() for size_bytes, statistics in sizes.items())
        return {(metric, size_bytes): _most_stated(statistics.values()) for metric, size_bytes, statistics in groups}


class Series(msgspec.Struct, frozen=True):
    """Numbers that were measured in the same way. ``slot`` is the number of the series on its page, which determines its colour."""

    label: str
    slot: int
    key: SeriesKey
    measured: SeriesNumbers

    @property
    def results(self) -> tuple[ResultRow, ...]:
        """The numbers of the series, in the order of runs."""
        return self.measured.results

    @property
    def published(self) -> bool:
        """Whether the numbers are published figures of a vendor."""
        return self.results[0].run.published

    @property
    def runs(self) -> Sequence[RunRow]:
        """The runs of the series, in order."""
        return self.measured.runs

    @property
    def repeated(self) -> bool:
        """Whether any number of the series was measured more than once."""
        return self.measured.is_repeated

    def sizes(self) -> Sequence[int | None]:
        """The payload sizes in bytes, ascending; ``None`` (not stated) comes first."""
        return self.measured.sizes

    def cells(self, metric: str, statistic: str) -> Mapping[int | None, Cell]:
        """Return the cells of a metric and statistic, one cell for each size."""
        return self.measured.cells(metric, statistic)

    def statistics(self) -> Sequence[tuple[str, str]]:
        """The pairs of metric and statistic that the series has, in order of appearance."""
        return self.measured.statistics

    def absent(self, metric: str, statistic: str, size_bytes: int | None) -> str:
        """Return why a size has no number for the metric and statistic, in the same words for every table.

        The reasons are: no run has the size; the runs without the number had too few samples for it; or the number is not stated.
        """
        if size_bytes not in self.measured.of_size:
            return NOT_MEASURED
        of_size = [result for result in self.measured.of_size[size_bytes] if result.metric == metric]
        stating = {result.run.run for result in of_size if result.statistic == statistic and result.value is not None}
        samples = [result.samples for result in of_size if result.run.run not in stating]
        return absent_words(metric, statistic, samples)

    def has_mark(self, mark: str) -> bool:
        """Whether any number has this mark."""
        return mark in self.measured.marks


def absent_words(metric: str, statistic: str, samples: Collection[int | None]) -> str:
    """Return the words that are shown instead of a missing number.

    ``samples`` contains the number of samples of each measurement without the number.
    """
    share = percentile(statistic) if metric == "latency" else None
    if share is None or not samples:
        return NOT_STATED
    # The tolerance allows for rounding: 99.99 is not exact as a binary fraction, and exactly 10 of 100 000 samples lie beyond it.
    few = all(count is not None and count * (100 - share) / 100 < SAMPLES_BEYOND * (1 - 1e-9) for count in samples)
    return TOO_FEW if few else NOT_STATED


def measured_alike(results: Iterable[ResultRow]) -> dict[SeriesKey, SeriesNumbers]:
    """Group numbers of whole measurements by the way of measuring. Groups of later versions come later, and controls come last."""
    groups: dict[SeriesKey, list[ResultRow]] = {}
    by_short_key: dict[tuple[object, ...], list[ResultRow]] = {}  # Each look-up computes the hash of all sixty parts of a key.
    for result in results:
        short = (result.run.run, result.side, result.participant, id(result.conditions))
        group = by_short_key.get(short)
        if group is None:
            group = by_short_key[short] = groups.setdefault(_key(result), [])
        group.append(result)
    return {key: SeriesNumbers(tuple(groups[key])) for key in sorted(groups, key=lambda key: (_is_control(key), _version(key)))}


def measured_in(
    all_tests: Mapping[SeriesKey, SeriesNumbers], kinds: Mapping[str, Collection[tuple[str | None, str]]], part: Collection[str]
) -> dict[SeriesKey, SeriesNumbers] | None:
    """Return the groups of one test. They are taken from the groups of all tests, so that the properties of a group are computed only once.

    Return ``None`` if the runs of a group have numbers of several tests, because then only a part of the group may belong to the test.

    Args:
        all_tests: the result of `measured_alike` for all tests.
        kinds: the transports and tests of each run.
        part: the runs with numbers of the test.
    """
    if any(len({test for run in group.runs for _, test in kinds[run.run]}) > 1 for group in all_tests.values()):
        return None
    return {key: group for key, group in all_tests.items() if group.runs[0].run in part}


def series_of(results: Iterable[ResultRow], named: Sequence[str] = ()) -> list[Series]:
    """Return the series in ``results``, with the labels of `labelled`."""
    return labelled(measured_alike(results), named)


def labelled(groups: Mapping[SeriesKey, SeriesNumbers], named: Sequence[str] = ()) -> list[Series]:
    """Return a series for each group. Its label states only the conditions that differ between the groups.

    Series of later versions come later, so that old versions keep their colours. Controls come last, because they are not the subject.

    Args:
        groups: the result of `measured_alike`.
        named: the user's labels that are part of each name, even if all series share them.
    """
    labels = _labels(list(groups), named)
    return [Series(label, slot, key, groups[key]) for slot, (label, key) in enumerate(zip(labels, groups, strict=True))]


def labelled_among(series: Sequence[Series]) -> list[Series]:
    """Return the series with labels that distinguish them from each other. Their slots, and so their colours, do not change."""
    labels = _labels([member.key for member in series]) if series else []
    return [msgspec.structs.replace(member, label=label) for member, label in zip(series, labels, strict=True)]


def labels_among(series: Sequence[tuple[str, Series]]) -> list[str]:
    """Return a label for each series. The label states only the conditions that differ between these series, without system and transport."""
    keys = [member.key for _, member in series]
    names = ["" for _ in keys] if len(keys) < _SEVERAL else [joined(parts) for parts in told_apart([dict(key) for key in keys], but="transport")]
    labels = list(names)
    alike: dict[tuple[str, object], list[int]] = {}
    for index, (system, member) in enumerate(series):
        alike.setdefault((system, dict(member.key)["transport"]), []).append(index)
    for indices in alike.values():
        for index, name in zip(indices, made_different([names[index] for index in indices], [dict(keys[index]) for index in indices]), strict=True):
            labels[index] = name
    return labels


def headings_among(series: Sequence[Series]) -> Sequence[str]:
    """Return short names of series for the columns of a table. Their labels and `conditions_in_words` state what these names leave out."""
    return headings([dict(member.key) for member in series], [member.label for member in series])


def conditions_in_words(series: Iterable[Series]) -> list[tuple[str, list[str]]]:
    """Return the conditions that any of the series states: the name of each condition, and its value in each series in words."""
    rows = with_each_label([dict(member.key) for member in series])
    condition_names = [name for name in rows[0] if name != "run" and any(row[name] is not None for row in rows)]
    return [(condition_name(name), [value_words(name, row[name]) or NOT_STATED for row in rows]) for name in condition_names]


def common_words(series: Iterable[Series], but: Container[str]) -> list[str]:
    """Return, in words, the known conditions that all series share, except for the conditions in ``but``."""
    first, *others = with_each_label([dict(member.key) for member in series])
    in_common = [(name, value) for name, value in first.items() if name not in but and all(other[name] == value for other in others)]
    return [phrase for name, value in in_common if (phrase := words(name, value))]


def newest_first(series: Iterable[Series]) -> list[Series]:
    """Return the series, those of later versions first. The order within a version does not change."""
    return sorted(series, key=lambda member: _version(member.key), reverse=True)


def _is_control(key: SeriesKey) -> bool:
    labels = dict(key)["labels"]
    return labels is not None and CONTROL in labels_of(str(labels))


def _version(key: SeriesKey) -> list[tuple[int, int, str]]:
    return by_version(str(dict(key)["system_version"] or ""))


def _records(results: Iterable[ResultRow]) -> list[dict[tuple[str, str], ResultRow]]:
    """Return the records: the numbers of each line, by metric and statistic. A line with two numbers of the same statistic has two records."""
    records: dict[tuple[str, str, int | None, int], dict[tuple[str, str], ResultRow]] = {}
    counts = Counter[tuple[str, str, int | None, str, str]]()
    for result in results:
        line = (result.run.run, result.log, result.line)
        name = (result.metric, result.statistic)
        records.setdefault((*line, counts[*line, *name]), {})[name] = result
        counts[*line, *name] += 1
    return list(records.values())


def _most_stated(statistics: Iterable[Sequence[ResultRow]]) -> tuple[int, int]:
    """Return how many values each statistic should have in all runs together, and how many runs state any statistic.

    In one run, each statistic should have as many values as the statistic with the most values in that run.
    """
    most: dict[str, int] = {}
    before: list[str] = []
    for results in statistics:
        stating = [result.run.run for result in results if result.value is not None]
        if stating == before:
            continue  # The usual case: a run states all percentiles or none.
        before = stating
        for name, count in Counter(stating).items():
            if count > most.get(name, 0):
                most[name] = count
    return sum(most.values()), len(most)


def _cell(results: Sequence[ResultRow], most_stated: tuple[int, int]) -> Cell:
    wanted, of_runs = most_stated
    stated_values = [(result.value, result) for result in results if result.value is not None]
    if not stated_values or len(stated_values) < wanted:
        first = stated_values[0][1] if stated_values else results[0]
        coverage = Coverage(len(stated_values), wanted, of_runs) if stated_values else None
        return Cell(None, None, None, tuple(results), first, coverage, marks=_marks_of(results))
    values = [value for value, _ in stated_values]
    value, representative = stated_values[median_place(values, results[0].metric)]
    groups = two_groups(results)
    if groups:
        worse = worse_of(groups)
        value, representative = worse.value, worse.result
    marks = _marks_of(results, [TWO_GROUPS] if groups else [])
    return Cell(value, min(values), max(values), tuple(results), representative, groups=groups, marks=marks)


def _marks_of(results: Sequence[ResultRow], more: Sequence[str] = ()) -> tuple[str, ...]:
    combinations = dict.fromkeys([result.marks for result in results])  # Most numbers have no marks, or the same ones.
    return tuple(dict.fromkeys([*chain.from_iterable(combinations), *more]))


def _key(result: ResultRow) -> SeriesKey:
    parts: list[tuple[str, object]] = [("labels", result.run.labels)]
    parts += [(name, getattr(result.conditions, name)) for name in CONDITIONS if name in SHOWN_CONDITIONS]
    parts += [(name, getattr(result.run, name)) for name in _RUN_PARTS if name != "options"]
    options, settings = split_options(result.run.options)
    settings = {**settings_of(result.conditions.settings), **settings}
    parts += [("options", options), ("settings", ", ".join(f"{name} {value}" for name, value in settings.items()) or None)]
    parts += [("side", result.side), ("participant", result.participant)]
    # Two published tables are never repetitions of each other: they are two measurements, even if the document does not state their difference.
    parts.append(("run", result.run.run if result.run.published else None))
    return tuple(parts)


def _labels(keys: Sequence[SeriesKey], named: Sequence[str] = ()) -> list[str]:
    rows = [dict(key) for key in keys]
    common = _common_labels(rows, named)
    if len(rows) == 1:
        return [joined_or_unstated([*common, *((name, rows[0][name]) for name in _SAYS_MOST)]) or "all runs"]
    return made_different([joined_or_unstated([*common, *parts]) or "no further conditions stated" for parts in told_apart(rows)], rows)


def _common_labels(rows: Sequence[Mapping[str, object]], named: Sequence[str]) -> list[tuple[str, object]]:
    texts = {None if row["labels"] is None else str(row["labels"]) for row in rows}
    values = [(name, {labels_of(text).get(name) for text in texts}) for name in named]
    return [(name, next(iter(values_of_label))) for name, values_of_label in values if len(values_of_label) == 1]


TWO_GROUPS = "two_groups"
_NOT_RANKED = ("std",)


class RunGroup(msgspec.Struct, frozen=True):
    """One of two groups of runs: the result that represents it, the lowest and the highest value, and the number of its runs."""

    result: ResultRow
    value: float
    low: float
    high: float
    runs: int


def two_groups(results: Sequence[ResultRow]) -> tuple[RunGroup, ...]:
    """Return the two groups of the runs of one number, the group with lower values first; an empty tuple if the runs are one group.

    Args:
        results: numbers of one metric and one statistic, one or more for each run.
    """
    if len(results) < MIN_RUNS or not may_have_groups(results[0].metric, results[0].statistic):
        return ()
    sorted_values = [(result.value, result) for result in results if result.value is not None and result.value > 0 and result.bound == "="]
    if len(sorted_values) < len(results):
        return ()
    sorted_values.sort(key=lambda pair: pair[0])
    steps = [result.resolution for _, result in sorted_values if result.resolution is not None]
    split = size_of_lower_group([value for value, _ in sorted_values], max(steps, default=0.0))
    if split is None:
        return ()
    return tuple(_group([result for _, result in part], [value for value, _ in part]) for part in (sorted_values[:split], sorted_values[split:]))


def worse_of(groups: Sequence[RunGroup]) -> RunGroup:
    """Return the worse of two groups: the one with higher latencies or lower rates. In ``groups``, the lower values come first."""
    return groups[-1 if METRICS[groups[0].result.metric].better == "lower" else 0]


def may_have_groups(metric: str, statistic: str) -> bool:
    """Whether numbers of this metric can have groups. A metric without a better direction has none, because it does not matter for a choice."""
    return METRICS[metric].better is not None and statistic not in _NOT_RANKED


def _group(results: Sequence[ResultRow], values: Sequence[float]) -> RunGroup:
    index = median_place(values, results[0].metric)
    return RunGroup(results[index], values[index], values[0], values[-1], len({result.run.run for result in results}))
