"""The quality rules, which mark numbers that a reader should not trust without a check. They never change a number.

`tacholog.schema.marks` explains each mark. Each rule evaluates all records together, as columns.

Source of the rules: counting (the number of samples beyond a percentile), the arithmetic of the tools' own figures, and physical limits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from itertools import combinations
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacholog.runs.disturbance import is_busy
from tacholog.schema.conditions import Conditions
from tacholog.schema.marks import MARK_BITS, SAMPLES_BEYOND
from tacholog.schema.records import BOUNDS
from tacholog.store.columns import NOT_STATED, Columns

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LOSS_LIMIT = 0.01
TIMEOUT_NS = (99.9e6, 100.2e6)  # The tool waits at most 200 ms for an answer, then prints half of this time as a latency: 100 ms plus a small delay.
DELIVERY_MARGIN = 1.05  # Rounding changes the figures by at most 2 %, so a difference of 5 % has another cause.
NO_MEMORY_BIT_PER_S = 1e12  # above this goodput, no bytes were moved: even one core reads memory at less than half of this rate
STEPS_OF_CLOCK = 10  # A latency of fewer steps of the clock is not exact: one step is more than 10 % of it.
# If the median at the largest size is at least this many times the median at the smallest size, bytes are copied. Noise causes a smaller ratio.
GROWTH = 2
MIDDLES = ("p50", "mean", "typical", "min")
ORDERED = ("min", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999", "max")
_MAIN_METRICS = ("latency", "goodput", "message_rate", "sustained_rate")


class RunContext(msgspec.Struct, frozen=True):
    """Facts about the log of a record and about its run that the rules need.

    Attributes:
        failed: whether the run failed.
        clock_overhead_ns: the duration of one reading of the clock.
        clock_resolution_ns: the step of the clock with which latencies were measured.
        messages_per_latency_sample: the number of messages that are sent for each message whose latency is measured.
        load: the load average when the run began, from the log or from the program that started the run. It may still include the two busy processes
            of the previous run.
        other_load: the number of processors that other programs kept busy right before the run, if it was measured. It has priority over the load
            average, which still includes the programs of previous runs.
        processors: the number of processors of the machine, from the log or the host file.
        is_disturbed: whether other programs used more of the machine than the limits of the campaign allow.
        took_other_way: whether the counters of the kernel show that the data took another path than the path of this transport.
    """

    failed: bool = False
    clock_overhead_ns: float | None = None
    clock_resolution_ns: float | None = None
    messages_per_latency_sample: float | None = None
    load: float | None = None
    other_load: float | None = None
    processors: float | None = None
    is_disturbed: bool = False
    took_other_way: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether other programs used more than a quarter of the processors of the machine."""
        return is_busy(self.other_load, self.load, self.processors)


def judge(columns: Columns, contexts: Sequence[RunContext], context_of: Integers, run_of: Integers) -> None:
    """Set the marks of all rules that need only one record, or only one run.

    Args:
        columns: the results, completed from their runs. Their marks are changed.
        contexts: the facts about each log.
        context_of: for each record the index of its log in ``contexts``.
        run_of: for each record the number of its run.
    """
    table = _RuleTable(columns, contexts, context_of, run_of)
    for rule in _RULES:
        rule(table)


class _RuleTable:
    """The columns, and the values that rules need. Each array has one value for each record; NaN means that the record has no such value."""

    def __init__(self, columns: Columns, contexts: Sequence[RunContext], context_of: Integers, run_of: Integers) -> None:
        self.columns, self.records, self.numbers = columns, columns.records, columns.numbers
        self.codes = {name: code for code, name in enumerate(columns.names)}
        self._contexts, self._context_of, self.run_of = contexts, context_of, run_of
        self._positions: dict[int, Integers] = {}

    def value(self, metric: str, statistic: str) -> Floats:
        """Return the value of this number in each record."""
        return self._of_number(metric, statistic, self.numbers.value)

    def resolution(self, metric: str, statistic: str) -> Floats:
        """Return the resolution of this number in each record; 0 if it is unknown."""
        return np.nan_to_num(self._of_number(metric, statistic, self.numbers.resolution))

    def exact(self, metric: str, statistic: str) -> Floats:
        """Return the value of this number in each record; NaN if it is a bound."""
        return self._of_number(metric, statistic, self._exact_values)

    @cached_property
    def _names(self) -> Integers:
        """The code of the name of each number. A code has few bytes, so that comparing all codes with a name is fast."""
        return self.numbers.name.astype(np.min_scalar_type(len(self.columns.names)))

    @cached_property
    def _exact_values(self) -> Floats:
        are_exact = self.numbers.bound == BOUNDS.index("=")
        return self.numbers.value if are_exact.all() else np.where(are_exact, self.numbers.value, np.nan)

    def _of_number(self, metric: str, statistic: str, column: Floats) -> Floats:
        result = np.full(len(self.records.line), np.nan)
        # The order is reversed: if a record has two numbers with this name, the first number is written last, and replaces the second.
        positions = self.positions(metric, statistic)[::-1]
        result[self.numbers.record[positions]] = column[positions]
        return result

    def positions(self, metric: str, statistic: str) -> Integers:
        code = self.codes.get((metric, statistic))
        if code is None:
            return np.zeros(0, dtype=np.int64)
        if code not in self._positions:
            self._positions[code] = np.flatnonzero(self._names == code)
        return self._positions[code]

    def of_shapes(self, values: Sequence[object], dtype: str) -> Any:  # noqa: ANN401 - an array of that dtype
        return np.array(values, dtype=dtype)[self.records.shape]

    @property
    def conditions(self) -> list[Conditions]:
        return [shape.conditions for shape in self.columns.shapes]

    def of_contexts(self, choose: Callable[[RunContext], Any], dtype: str) -> Any:  # noqa: ANN401 - an array of that dtype
        """For each record, return a fact about its log."""
        return np.array([choose(context) for context in self._contexts], dtype=dtype)[self._context_of]

    @cached_property
    def best_goodput(self) -> Floats:
        """For each record, the highest goodput that any record of its run states."""
        goodput = self.value("goodput", "mean")
        best = np.full(int(self.run_of.max(initial=-1)) + 1, np.nan)
        np.fmax.at(best, self.run_of, goodput)
        return best[self.run_of]

    @cached_property
    def messages_of_size(self) -> Floats:
        """For each record, the number of messages of its size that its run sent: the largest sum of received and lost messages in a summary."""
        counted = self.value("messages_received", "total") + np.nan_to_num(self.value("messages_lost", "total"))
        counted[~self.of_shapes([shape.scope == "summary" for shape in self.columns.shapes], "bool")] = np.nan
        sizes = self.records.payload_bytes
        _, group = np.unique(self.run_of * (int(sizes.max(initial=0)) + 2) + sizes + 1, return_inverse=True)
        most = np.full(int(group.max(initial=-1)) + 1, np.nan)
        np.fmax.at(most, group, counted)
        return most[group]

    def numbers_where(self, wanted: Callable[[str, str], bool]) -> Flags:
        return np.array([wanted(*name) for name in self.columns.names], dtype=bool)[self.numbers.name]

    def mark(self, mark: str, records: Flags, names: Collection[tuple[str, str]]) -> None:
        if records.any():
            self.mark_numbers(mark, records[self.numbers.record] & self.numbers_where(lambda metric, statistic: (metric, statistic) in names))

    def mark_metrics(self, mark: str, records: Flags, metrics: Collection[str]) -> None:
        if records.any():
            self.mark_numbers(mark, records[self.numbers.record] & self.numbers_where(lambda metric, _: metric in metrics))

    def mark_numbers(self, mark: str, numbers: Flags) -> None:
        if numbers.any():
            self.columns.add_marks(numbers, (mark,))

    def mark_positions(self, mark: str, positions: Integers) -> None:
        if len(positions):
            self.columns.add_marks(positions, (mark,))


def samples_at_most(table: _RuleTable) -> Floats:
    """Return the number of samples of each latency record. If the record does not state it, return its upper limit; NaN if there is none.

    In a closed loop, a message is only sent after the previous message was answered. So the number of samples is at most ``planned_duration_s``
    divided by the mean round trip. If the latency of only each nth message is measured, a second limit follows from the number of messages of this
    size in the run. Another log of the run may state this number.
    """
    of_closed_loops = [conditions.planned_duration_s if conditions.load_mode == "closed" else None for conditions in table.conditions]
    planned = table.of_shapes(of_closed_loops, "float64")
    trips = table.of_shapes([2 if conditions.basis == "rtt/2" else 1 for conditions in table.conditions], "float64")
    mean = table.value("latency", "mean")
    with np.errstate(divide="ignore", invalid="ignore"):
        fitting = np.where(mean == 0, np.nan, planned * 1e9 / (mean * trips))
    every = table.of_contexts(lambda context: context.messages_per_latency_sample or None, "float64")
    if np.isfinite(every).any():
        fitting = np.fmin(fitting, table.messages_of_size // every + 1)
    return np.where(table.records.samples == NOT_STATED, fitting, table.records.samples)


def _undersampled(table: _RuleTable) -> None:
    percentiles = [statistic for metric, statistic in table.codes if metric == "latency" and statistic.startswith("p")]
    if not percentiles:
        return
    samples, enough = samples_at_most(table), SAMPLES_BEYOND * (1 - 1e-9)
    fewest = float(np.fmin.reduce(samples, initial=np.inf))
    for statistic in percentiles:
        share = 1 - float(statistic[1:]) / 100
        if fewest * share < enough:  # Otherwise, all records have enough samples for this percentile, and none is marked.
            positions = table.positions("latency", statistic)
            table.mark_positions("undersampled", positions[samples[table.numbers.record[positions]] * share < enough])


def _timeouts(table: _RuleTable) -> None:
    largest = table.value("latency", "max")
    here = table.of_shapes([conditions.definition == "rti-one-way" for conditions in table.conditions], "bool")
    here &= (largest >= TIMEOUT_NS[0]) & (largest <= TIMEOUT_NS[1])
    if not here.any():
        return
    spoiled = (table.numbers.value >= TIMEOUT_NS[0]) | table.numbers_where(lambda _, statistic: statistic in ("mean", "std"))
    is_latency = table.numbers_where(lambda metric, _: metric == "latency")
    table.mark_numbers("timeout_artefact", here[table.numbers.record] & is_latency & spoiled)


def _out_of_order(table: _RuleTable) -> None:
    """Mark each pair of statistics in the wrong order, such as a median above the 99th percentile. Rounding alone is not marked."""
    values = {name: value for name in ORDERED if ("latency", name) in table.codes and not np.isnan(value := table.exact("latency", name)).all()}
    if not values:
        return
    highest, suspect = np.full(len(table.records.line), -np.inf), np.zeros(len(table.records.line), dtype=bool)
    for value in values.values():
        suspect |= value < highest
        highest = np.fmax(highest, value)
    if not suspect.any():
        return  # Almost all logs end here. The next loop, which compares all pairs of statistics, is slow.
    resolutions = {name: table.resolution("latency", name) for name in values}
    for low, high in combinations(values, 2):
        # A tool may round each statistic to another unit: 1.42 s and 1416.192 ms can be the same latency. The factor covers the rounding errors of
        # floats.
        here = suspect & (values[low] - values[high] > (resolutions[low] + resolutions[high]) * (1 + 1e-9))
        table.mark("out_of_order", here, (("latency", low), ("latency", high)))


def _clock(table: _RuleTable) -> None:
    overhead = table.of_contexts(lambda context: context.clock_overhead_ns or None, "float64")
    table.mark("clock_coarse", table.value("latency", "p50") < 20 * overhead, (("latency", "p50"),))


def _near_resolution(table: _RuleTable) -> None:
    """Mark each latency of fewer than ten steps of the clock, unless the latency has a finer resolution than the step."""
    step = table.of_contexts(lambda context: context.clock_resolution_ns or None, "float64")
    if np.isfinite(step).any():
        steps = step[table.numbers.record]
        near = (np.nan_to_num(table.numbers.resolution) >= steps) & (table.numbers.value < STEPS_OF_CLOCK * steps)
        table.mark_numbers("near_resolution", near & table.numbers_where(lambda metric, _: metric == "latency"))


def _moved_nothing(table: _RuleTable) -> None:
    by_reference = table.of_shapes([_by_reference(conditions) for conditions in table.conditions], "bool")
    beyond = table.of_shapes([conditions.data_path is None for conditions in table.conditions], "bool") & (table.best_goodput > NO_MEMORY_BIT_PER_S)
    table.mark("no_bytes_moved", beyond | by_reference, (("goodput", "mean"),))
    table.mark_metrics("reference_only", by_reference, ("latency",))


def _by_reference(conditions: Conditions) -> bool:
    return conditions.data_path in ("zero-copy", "pointer") and conditions.payload_touched in (None, "none")


def _losses(table: _RuleTable) -> None:
    lost = table.value("loss", "total") > LOSS_LIMIT
    table.mark("loss", lost, (("loss", "total"),))
    table.mark_metrics("loss", lost, ("goodput", "message_rate"))


def _overload(table: _RuleTable) -> None:
    lost = table.value("messages_lost", "total")
    link = table.of_shapes([conditions.link_bit_per_s for conditions in table.conditions], "float64")
    limit = np.fmin(link, np.where(table.best_goodput == 0, np.nan, table.best_goodput))
    table.mark("offered_above_delivered", (lost != 0) & (_offered_bit_per_s(table, lost) > limit * DELIVERY_MARGIN), (("messages_lost", "total"),))


def _offered_bit_per_s(table: _RuleTable, lost: Floats) -> Floats:
    received = table.value("messages_received", "total")
    with np.errstate(divide="ignore", invalid="ignore"):
        # The goodput that would have been measured without loss.
        offered = table.value("goodput", "mean") * (received + lost) / received
    return np.where(received == 0, np.nan, offered)


def _warmup(table: _RuleTable) -> None:
    for word, mark in (("fixed", "warmup_fixed"), ("not_steady", "not_steady")):
        summaries = [shape.scope == "summary" and shape.conditions.warmup == word for shape in table.columns.shapes]
        table.mark_metrics(mark, table.of_shapes(summaries, "bool"), _MAIN_METRICS)


def _circumstances(table: _RuleTable) -> None:
    for fact, mark in (("is_busy", "busy_machine"), ("is_disturbed", "disturbed"), ("took_other_way", "other_way")):
        table.mark_metrics(mark, table.of_contexts(attrgetter(fact), "bool"), _MAIN_METRICS)


def _failed(table: _RuleTable) -> None:
    failed = table.of_contexts(lambda context: context.failed, "bool")
    if failed.any():
        table.mark_numbers("run_failed", failed[table.numbers.record])


def _growing(table: _RuleTable) -> None:
    """Replace the mark ``reference_only`` by ``grows_with_size`` if a latency grows with the size.

    Handing over a reference takes the same time for all sizes. If the latency grows, the bytes were written, read or copied. So all sizes of a series
    are compared.
    """
    numbers, reference, grows = table.numbers, MARK_BITS["reference_only"], MARK_BITS["grows_with_size"]
    positions = np.flatnonzero(numbers.marks & reference)
    if not len(positions):
        return
    record = numbers.record[positions]
    metrics = {metric: code for code, (metric, _) in enumerate(table.columns.names)}
    metric = np.array([metrics[metric] for metric, _ in table.columns.names])[numbers.name[positions]]
    _, series = np.unique(np.stack((table.run_of[record], table.records.shape[record], metric)), axis=1, return_inverse=True)
    for here in np.split(positions[np.argsort(series, kind="stable")], np.cumsum(np.bincount(series))[:-1]):
        if _grows(table, here):
            numbers.marks[here] = (numbers.marks[here] | grows) & ~reference


def _grows(table: _RuleTable, positions: Integers) -> bool:
    numbers = table.numbers
    statistics = [table.columns.names[code][1] for code in numbers.name[positions].tolist()]
    middle = next((name for name in MIDDLES if name in statistics), None)
    values, sizes = numbers.value[positions], table.records.payload_bytes[numbers.record[positions]]
    usable = np.array([name == middle for name in statistics]) & ~np.isnan(values) & (sizes != NOT_STATED)
    if not usable.any():
        return False
    values, sizes = values[usable], sizes[usable]
    return bool(values[sizes.argmax()] >= GROWTH * values[sizes.argmin()])


_RULES = (
    *(_undersampled, _timeouts, _out_of_order, _clock, _near_resolution, _moved_nothing, _losses, _overload),
    *(_warmup, _circumstances, _failed, _growing),
)
