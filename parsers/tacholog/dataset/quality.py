"""Plausibility rules: what a reader should know before trusting a number. They leave marks and never change a number.

Source of the rules: elementary counting (how many samples can lie beyond a percentile), the arithmetic of the tools' own figures, and
physical limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Record

SAMPLES_BEYOND = 10  # A percentile is worth printing with ten samples beyond it; with fewer it is mostly too good.
LOSS_LIMIT = 0.01
TIMEOUT_NS = (99.9e6, 100.2e6)  # Half of a 200 ms wait for a lost answer, and the time to notice it.
OWN_LOAD = 2  # Publisher and subscriber of the run before, both polling, may still be in the load average.
DELIVERY_MARGIN = 1.05  # Well above the rounding of the figures, which is 2 % at the most.
COINCIDENCE = 3  # So many figures alike are no accident, and fewer may be, unless they are bounds.
NO_MEMORY_BIT_PER_S = 1e12  # Twice and more of what one core reads from memory or cache, where larger messages no longer fit.
GROWTH = 2  # Between the ends of a series: more than noise does to a middle, less than bytes do over the sizes that people measure.
MIDDLES = ("p50", "mean", "typical", "min")
ORDERED = ("min", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999", "max")


class RunContext(msgspec.Struct, frozen=True):
    """What the rules need to know of the run around a record. ``best_goodput_bit_per_s`` is the highest that any size of the run reached.

    ``load`` is the load average when it began, in which the run before it, of two busy processes, may still be.
    """

    failed: bool = False
    clock_overhead_ns: float | None = None
    load: float | None = None
    processors: float | None = None
    best_goodput_bit_per_s: float | None = None


Marks = dict[str, set[str]]
"""The marks of one record, by the key of its number."""


def best_goodput(records: Iterable[Record]) -> float | None:
    """The highest goodput among the records, bit/s; ``None`` if none states any."""
    found = [number.value for record in records if (number := record.number("goodput", "mean")) and number.value is not None]
    return max(found, default=None)


def judge(record: Record, conditions: Conditions, run: RunContext) -> Record:
    """Return the record with the marks that the rules leave on its numbers.

    ``conditions`` are the record's own, completed from its run.
    """
    marks: Marks = {number.key: set(number.marks) for number in record.numbers}
    for rule in (_undersampled, _timeouts, _order, _clock, _moved_nothing, _losses, _overload, _warmup, _busy):
        for key, mark in rule(record, conditions, run):
            marks[key].add(mark)
    if run.failed:
        for found in marks.values():
            found.add("run_failed")
    numbers = tuple(msgspec.structs.replace(number, marks=tuple(sorted(marks[number.key]))) for number in record.numbers)
    return msgspec.structs.replace(record, numbers=numbers)


Verdicts = Iterable[tuple[str, str]]


def samples_at_most(record: Record, conditions: Conditions) -> float | None:
    """How many samples are behind a latency record: as stated, else the most that a closed loop can have had in the time planned.

    A closed loop has one message outstanding, so a run of ``planned_duration_s`` cannot hold more than one sample a mean round trip.
    """
    if record.samples is not None:
        return record.samples
    mean = record.number("latency", "mean")
    if conditions.load_mode != "closed" or conditions.planned_duration_s is None or mean is None or not mean.value:
        return None
    round_trip_ns = mean.value * (2 if conditions.basis == "rtt/2" else 1)
    return conditions.planned_duration_s * 1e9 / round_trip_ns


def _undersampled(record: Record, conditions: Conditions, _: RunContext) -> Verdicts:
    samples = samples_at_most(record, conditions)
    for number in record.numbers if samples is not None else ():
        if number.metric == "latency" and number.statistic.startswith("p"):
            beyond = (samples or 0) * (1 - float(number.statistic[1:]) / 100)
            if beyond < SAMPLES_BEYOND * (1 - 1e-9):
                yield number.key, "undersampled"


def _timeouts(record: Record, conditions: Conditions, _: RunContext) -> Verdicts:
    if conditions.definition != "rti-one-way":
        return
    largest = record.number("latency", "max")
    if largest is None or largest.value is None or not TIMEOUT_NS[0] <= largest.value <= TIMEOUT_NS[1]:
        return
    for number in record.numbers:
        late = number.value is not None and number.value >= TIMEOUT_NS[0]
        if number.metric == "latency" and (late or number.statistic in ("mean", "std")):
            yield number.key, "timeout_artefact"


def _order(record: Record, _: Conditions, __: RunContext) -> Verdicts:
    known = [n for name in ORDERED if (n := record.number("latency", name)) and n.value is not None and n.bound == "="]
    if any((low.value or 0) > (high.value or 0) for low, high in pairwise(known)):
        for number in known:
            yield number.key, "out_of_order"


def _clock(record: Record, _: Conditions, run: RunContext) -> Verdicts:
    median = record.number("latency", "p50")
    if median and median.value is not None and run.clock_overhead_ns and median.value < 20 * run.clock_overhead_ns:
        yield median.key, "clock_coarse"


def _moved_nothing(record: Record, conditions: Conditions, run: RunContext) -> Verdicts:
    goodput = record.number("goodput", "mean")
    beyond = conditions.data_path is None and (run.best_goodput_bit_per_s or 0) > NO_MEMORY_BIT_PER_S
    if goodput and (beyond or _by_reference(conditions)):
        yield goodput.key, "no_bytes_moved"
    for number in record.numbers if _by_reference(conditions) else ():
        if number.metric == "latency":
            yield number.key, "reference_only"


def _by_reference(conditions: Conditions) -> bool:
    return conditions.data_path in ("zero-copy", "pointer") and conditions.payload_touched in (None, "none")


def _losses(record: Record, _: Conditions, __: RunContext) -> Verdicts:
    loss = record.number("loss", "total")
    if loss and loss.value is not None and loss.value > LOSS_LIMIT:
        for metric, statistic in (("loss", "total"), ("goodput", "mean"), ("message_rate", "mean")):
            if number := record.number(metric, statistic):
                yield number.key, "loss"


def _overload(record: Record, conditions: Conditions, run: RunContext) -> Verdicts:
    offered = _offered_bit_per_s(record)
    limits = [limit for limit in (conditions.link_bit_per_s, run.best_goodput_bit_per_s) if limit]
    lost = record.number("messages_lost", "total")
    if offered is not None and limits and lost and lost.value and offered > min(limits) * DELIVERY_MARGIN:
        yield lost.key, "offered_above_delivered"


def _offered_bit_per_s(record: Record) -> float | None:
    """What the publisher offered: the goodput and, in proportion, what was lost."""
    values = [record.number(*name) for name in (("goodput", "mean"), ("messages_received", "total"), ("messages_lost", "total"))]
    goodput, received, lost = (number.value if number else None for number in values)
    if goodput is None or not received or lost is None:
        return None
    return goodput * (received + lost) / received


def _warmup(record: Record, conditions: Conditions, _: RunContext) -> Verdicts:
    mark = {"fixed": "warmup_fixed", "not_steady": "not_steady"}.get(conditions.warmup or "")
    for number in record.numbers if mark and record.scope == "summary" else ():
        if number.metric in ("latency", "goodput", "message_rate"):
            yield number.key, mark or ""


def _busy(record: Record, _: Conditions, run: RunContext) -> Verdicts:
    if run.load is None or run.processors is None or run.load <= OWN_LOAD + run.processors / 4:
        return
    for number in record.numbers:
        if number.metric in ("latency", "goodput", "message_rate"):
            yield number.key, "busy_machine"


def mark_republished(rows: Iterable[dict[str, Any]], releases: Mapping[str, tuple[str, str]]) -> None:
    """Mark the results that stand in another release of their system too, size for size.

    Args:
        rows: of the results table, as dictionaries; their marks are added to.
        releases: system and release of each run that is published.
    """
    series: dict[tuple[object, ...], dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        if row["run"] in releases:
            system, release = releases[row["run"]]
            key = (system, *(row[name] for name in row if name not in _OF_ONE_FIGURE))
            series.setdefault(key, {}).setdefault(release, []).append(row)
    for by_release in series.values():
        for members in _alike(by_release):
            for row in members:
                row["marks"].append("republished")


def mark_growing(rows: Iterable[dict[str, Any]]) -> None:
    """Judge latencies that are called those of a reference by their whole series: a reference's are the same at any size, and bytes show.

    Args:
        rows: of the results table, as dictionaries; their marks are changed.
    """
    series: dict[tuple[object, ...], list[dict[str, Any]]] = {}
    for row in rows:
        if "reference_only" in row["marks"]:
            key = (row["run"], *(row[name] for name in row if name not in (*_OF_ONE_FIGURE, "statistic")))
            series.setdefault(key, []).append(row)
    for members in series.values():
        if _grows(members):
            for row in members:
                row["marks"] = sorted({*row["marks"], "grows_with_size"} - {"reference_only"})


def _grows(members: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the middle of the distribution is much higher at the largest size than at the smallest."""
    told = next((name for name in MIDDLES if any(row["statistic"] == name for row in members)), None)
    known = [row for row in members if row["statistic"] == told and row["value"] is not None and row["payload_bytes"] is not None]
    if not known:
        return False
    least, most = (choose(known, key=lambda row: row["payload_bytes"])["value"] for choose in (min, max))
    return bool(most >= GROWTH * least)


def _alike(by_release: Mapping[str, list[dict[str, Any]]]) -> Iterator[list[dict[str, Any]]]:
    """The results of those releases whose figures are the same as another's, too many to be so by accident."""
    alike: dict[frozenset[object], list[list[dict[str, Any]]]] = {}
    for members in by_release.values():
        alike.setdefault(frozenset(_figure(row) for row in members), []).append(members)
    for figures, released in alike.items():
        if len(released) > 1 and (len(figures) >= COINCIDENCE or all(row["bound"] != "=" for row in released[0])):
            yield from released


_OF_ONE_FIGURE = (
    "run",
    "log",
    "line",
    "last_line",
    "value_line",
    "payload_bytes",
    "payload_bytes_high",
    "samples",
    "value",
    "bound",
    "resolution",
    "marks",
)


def _figure(row: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(row[name] for name in ("payload_bytes", "payload_bytes_high", "value", "bound"))
