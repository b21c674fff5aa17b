"""The quality rules: they mark numbers that a reader should not trust without a second look. They never change a number.

`tacholog.schema.marks` explains each mark.

Source of the rules: elementary counting (how many samples can lie beyond a percentile), the arithmetic of the tools' own figures, and physical
limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import msgspec

from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Record

SAMPLES_BEYOND = 10  # With fewer samples beyond it, a percentile is mostly too good.
LOSS_LIMIT = 0.01
TIMEOUT_NS = (99.9e6, 100.2e6)  # Half of the 200 ms that the tool waits for a lost answer, and the time until it notices.
OWN_LOAD = 2  # The load average may still hold the publisher and the subscriber of the run before, which both polled.
DELIVERY_MARGIN = 1.05  # Well above the rounding of the figures, which is at most 2 %.
COINCIDENCE = 3  # So many equal figures are no accident. Fewer may be, unless they are bounds.
NO_MEMORY_BIT_PER_S = 1e12  # More than twice of what one core can read from memory, or from a cache that is too small for large messages.
GROWTH = 2  # From the smallest to the largest size. Noise changes a median by less, and copying bytes changes it by more.
MIDDLES = ("p50", "mean", "typical", "min")
#: Columns of the results in which the numbers of one series differ. All other columns set series apart.
_VARYING = (
    *("run", "log", "line", "last_line", "value_line", "payload_bytes", "payload_bytes_high", "samples"),
    *("value", "bound", "resolution", "marks"),
)
ORDERED = ("min", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999", "max")


class RunContext(msgspec.Struct, frozen=True):
    """What the rules need to know about the run that a record belongs to.

    Attributes:
        failed: whether the run failed.
        clock_overhead_ns: how long one reading of the clock took.
        load: the load average when the run began, from the log or from the program that started the run. The run before it may still be in it, with
            its two busy processes.
        processors: how many processors the machine has, from the log or the host file.
        best_goodput_bit_per_s: the highest goodput that any size of the run reached.
        is_disturbed: whether others took more of the machine than the limits of the campaign allow.
        took_other_way: whether the kernel's counters contradict the way that the transport expects its data to take.
    """

    failed: bool = False
    clock_overhead_ns: float | None = None
    load: float | None = None
    processors: float | None = None
    best_goodput_bit_per_s: float | None = None
    is_disturbed: bool = False
    took_other_way: bool = False


def best_goodput(records: Iterable[Record]) -> float | None:
    """Return the highest goodput among the records, in bit/s; ``None`` if none of them states any."""
    found = [number.value for record in records if (number := record.number("goodput", "mean")) and number.value is not None]
    return max(found, default=None)


def judge(record: Record, conditions: Conditions, run: RunContext) -> Record:
    """Return the record with the marks that the rules set on its numbers.

    Args:
        record: as the log prints it.
        conditions: the record's own, completed from its run.
        run: what is known about the run.
    """
    marks = {number.key: set(number.marks) for number in record.numbers}
    for rule in (_undersampled, _timeouts, _order, _clock, _moved_nothing, _losses, _overload, _warmup, _busy, _disturbed, _way):
        for key, mark in rule(record, conditions, run):
            marks[key].add(mark)
    if run.failed:
        for found in marks.values():
            found.add("run_failed")
    numbers = tuple(msgspec.structs.replace(number, marks=tuple(sorted(marks[number.key]))) for number in record.numbers)
    return msgspec.structs.replace(record, numbers=numbers)


#: Pairs of a number's key and the mark that it gets.
Findings = Iterable[tuple[str, str]]


def samples_at_most(record: Record, conditions: Conditions) -> float | None:
    """Return how many samples are behind a latency record: the number that it states, else the most that fit into the planned time.

    A closed loop has one message outstanding. In ``planned_duration_s`` it cannot take more samples than there are mean round trips in that time.
    Returns ``None`` if neither is known.
    """
    if record.samples is not None:
        return record.samples
    mean = record.number("latency", "mean")
    if conditions.load_mode != "closed" or conditions.planned_duration_s is None or mean is None or not mean.value:
        return None
    round_trip_ns = mean.value * (2 if conditions.basis == "rtt/2" else 1)
    return conditions.planned_duration_s * 1e9 / round_trip_ns


def _undersampled(record: Record, conditions: Conditions, _: RunContext) -> Findings:
    samples = samples_at_most(record, conditions)
    for number in record.numbers if samples is not None else ():
        if number.metric == "latency" and number.statistic.startswith("p"):
            beyond = (samples or 0) * (1 - float(number.statistic[1:]) / 100)
            if beyond < SAMPLES_BEYOND * (1 - 1e-9):
                yield number.key, "undersampled"


def _timeouts(record: Record, conditions: Conditions, _: RunContext) -> Findings:
    if conditions.definition != "rti-one-way":
        return
    largest = record.number("latency", "max")
    if largest is None or largest.value is None or not TIMEOUT_NS[0] <= largest.value <= TIMEOUT_NS[1]:
        return
    for number in record.numbers:
        late = number.value is not None and number.value >= TIMEOUT_NS[0]
        if number.metric == "latency" and (late or number.statistic in ("mean", "std")):
            yield number.key, "timeout_artefact"


def _order(record: Record, _: Conditions, __: RunContext) -> Findings:
    """Mark each pair of statistics of which the lower one is above the higher one by more than the rounding of both."""
    known = [n for name in ORDERED if (n := record.number("latency", name)) and n.value is not None and n.bound == "="]
    if all((low.value or 0) <= (high.value or 0) for low, high in pairwise(known)):
        return  # Almost all records; the loop below compares each number with all others.
    for low, high in combinations(known, 2):
        rounding = (low.resolution or 0) + (high.resolution or 0)
        # A tool may round each statistic to another unit: 1.42 s and 1416.192 ms can be the same latency. The factor absorbs the error of floats.
        if (low.value or 0) - (high.value or 0) > rounding * (1 + 1e-9):
            yield low.key, "out_of_order"
            yield high.key, "out_of_order"


def _clock(record: Record, _: Conditions, run: RunContext) -> Findings:
    median = record.number("latency", "p50")
    if median and median.value is not None and run.clock_overhead_ns and median.value < 20 * run.clock_overhead_ns:
        yield median.key, "clock_coarse"


def _moved_nothing(record: Record, conditions: Conditions, run: RunContext) -> Findings:
    goodput = record.number("goodput", "mean")
    beyond = conditions.data_path is None and (run.best_goodput_bit_per_s or 0) > NO_MEMORY_BIT_PER_S
    if goodput and (beyond or _by_reference(conditions)):
        yield goodput.key, "no_bytes_moved"
    for number in record.numbers if _by_reference(conditions) else ():
        if number.metric == "latency":
            yield number.key, "reference_only"


def _by_reference(conditions: Conditions) -> bool:
    return conditions.data_path in ("zero-copy", "pointer") and conditions.payload_touched in (None, "none")


def _losses(record: Record, _: Conditions, __: RunContext) -> Findings:
    loss = record.number("loss", "total")
    if loss and loss.value is not None and loss.value > LOSS_LIMIT:
        for metric, statistic in (("loss", "total"), ("goodput", "mean"), ("message_rate", "mean")):
            if number := record.number(metric, statistic):
                yield number.key, "loss"


def _overload(record: Record, conditions: Conditions, run: RunContext) -> Findings:
    offered = _offered_bit_per_s(record)
    limits = [limit for limit in (conditions.link_bit_per_s, run.best_goodput_bit_per_s) if limit]
    lost = record.number("messages_lost", "total")
    if offered is not None and limits and lost and lost.value and offered > min(limits) * DELIVERY_MARGIN:
        yield lost.key, "offered_above_delivered"


def _offered_bit_per_s(record: Record) -> float | None:
    """Return what the publisher offered: the goodput, enlarged by the share of messages that were lost."""
    values = [record.number(*name) for name in (("goodput", "mean"), ("messages_received", "total"), ("messages_lost", "total"))]
    goodput, received, lost = (number.value if number else None for number in values)
    if goodput is None or not received or lost is None:
        return None
    return goodput * (received + lost) / received


def _warmup(record: Record, conditions: Conditions, _: RunContext) -> Findings:
    mark = {"fixed": "warmup_fixed", "not_steady": "not_steady"}.get(conditions.warmup or "")
    for number in record.numbers if mark and record.scope == "summary" else ():
        if number.metric in ("latency", "goodput", "message_rate"):
            yield number.key, mark or ""


def _busy(record: Record, _: Conditions, run: RunContext) -> Findings:
    if run.load is None or run.processors is None or run.load <= OWN_LOAD + run.processors / 4:
        return
    for number in record.numbers:
        if number.metric in ("latency", "goodput", "message_rate"):
            yield number.key, "busy_machine"


def _disturbed(record: Record, _: Conditions, run: RunContext) -> Findings:
    for number in record.numbers if run.is_disturbed else ():
        if number.metric in ("latency", "goodput", "message_rate"):
            yield number.key, "disturbed"


def _way(record: Record, _: Conditions, run: RunContext) -> Findings:
    for number in record.numbers if run.took_other_way else ():
        if number.metric in ("latency", "goodput", "message_rate"):
            yield number.key, "other_way"


def mark_republished(rows: Iterable[dict[str, Any]], releases: Mapping[str, tuple[str, str]]) -> None:
    """Mark results that another release of the same system is published with too, size for size.

    Args:
        rows: rows of ``results``; marks are added to them.
        releases: the system and the release of each published run.
    """
    series: dict[tuple[object, ...], dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        if row["run"] in releases:
            system, release = releases[row["run"]]
            key = (system, *(row[name] for name in row if name not in _VARYING))
            series.setdefault(key, {}).setdefault(release, []).append(row)
    for by_release in series.values():
        for members in _equal_releases(by_release):
            for row in members:
                row["marks"].append("republished")


def mark_growing(rows: Iterable[dict[str, Any]]) -> None:
    """Replace the mark ``reference_only`` where a latency grows with the size.

    Handing over a reference takes the same time at any size. Where the latency grows, somebody wrote, read or copied the bytes. Only the whole series
    shows it.

    Args:
        rows: rows of ``results``; their marks are changed.
    """
    series: dict[tuple[object, ...], list[dict[str, Any]]] = {}
    for row in rows:
        if "reference_only" in row["marks"]:
            key = (row["run"], *(row[name] for name in row if name not in (*_VARYING, "statistic")))
            series.setdefault(key, []).append(row)
    for members in series.values():
        if _grows(members):
            for row in members:
                row["marks"] = sorted({*row["marks"], "grows_with_size"} - {"reference_only"})


def _grows(members: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the middle of the distribution is much higher at the largest size than at the smallest."""
    middle = next((name for name in MIDDLES if any(row["statistic"] == name for row in members)), None)
    known = [row for row in members if row["statistic"] == middle and row["value"] is not None and row["payload_bytes"] is not None]
    if not known:
        return False
    least, most = (choose(known, key=lambda row: row["payload_bytes"])["value"] for choose in (min, max))
    return bool(most >= GROWTH * least)


def _equal_releases(by_release: Mapping[str, list[dict[str, Any]]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the results of releases that have the same figures as another one, if there are too many of them for an accident."""
    equal: dict[frozenset[object], list[list[dict[str, Any]]]] = {}
    for members in by_release.values():
        equal.setdefault(frozenset(_figure(row) for row in members), []).append(members)
    for figures, released in equal.items():
        if len(released) > 1 and (len(figures) >= COINCIDENCE or all(row["bound"] != "=" for row in released[0])):
            yield from released


def _figure(row: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(row[name] for name in ("payload_bytes", "payload_bytes_high", "value", "bound"))
