"""The cost of messages (processor time, context switches and memory), from the kernel's counts for each side of a run.

The kernel's counts cover the whole measurement of a size, including its warm-up and the idle time before and after it. How the cost of a message is
computed depends on the log:

- A log may state the processor time for each message. Then this number is used.
- A log may state the number of messages in the counted time, as logs of perftest do. Then processor time and context switches are divided by it.
- For other logs, the average number of processors in use, or of switches per second, is divided by the message rate of the measurement. This result
  is too low if a side slept during much of the counted time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median_high

import msgspec

from tacholog.compare.groups import size_of_lower_group
from tacholog.view.results import ResultRow
from tacholog.view.series import Series

_SIDES = {"publisher", "subscriber"}
_MESSAGES = {"latency": ("samples", 2), "throughput": ("messages_received", 1)}  # A round trip is two messages.
_ALIKE = ("labels", "transport", "reliability", "waiting", "settings", "host", "system_version", "campaign", "tool_version", "build")
_SPINS_PROCESSORS, _SPINS_SWITCHES = 0.9, 0.1  # A side spins if it uses more processors than this, with fewer context switches for each message.
SPINS = "spins by default"
_Place = tuple[str, str, int | None]  # run, test, payload


class Spread(msgspec.Struct, frozen=True):
    """The values of several runs: the median (the higher one of two middle values), the lowest value, the highest value, and the number of runs.

    If the runs form two groups, ``groups`` are the median and the number of runs of each, and ``value`` is the median of the higher group.
    """

    value: float
    low: float
    high: float
    runs: int
    groups: tuple[tuple[float, int], ...] = ()


class Cost(msgspec.Struct, frozen=True):
    """The cost of a series at one size; ``None`` for values that no run states.

    Attributes:
        processors: the processors in use, of both sides together: 2 if both wait by polling.
        cpu_ns: processor time for each message.
        switches: context switches for each message.
        memory_bytes: the largest resident set of a side.
    """

    processors: Spread | None
    cpu_ns: Spread | None
    switches: Spread | None
    memory_bytes: Spread | None


def costs(series: Series, resources: Mapping[_Place, Sequence[ResultRow]]) -> dict[int | None, Cost]:
    """Return the cost at each size for which the kernel's counts for both sides are known."""
    test = series.results[0].test
    by_size = {}
    for payload in series.sizes():
        by_run: dict[str, list[ResultRow]] = {}
        for result in series.measured.of_size[payload]:
            by_run.setdefault(result.run.run, []).append(result)
        each = [cost for run, numbers in by_run.items() if (cost := _cost_of_run(numbers, resources.get((run, test, payload), ()), test))]
        if each:
            by_size[payload] = Cost(*(_spread(name, each) for name in Cost.__struct_fields__))
    return by_size


def resources_of(results: Iterable[ResultRow]) -> dict[_Place, list[ResultRow]]:
    """Return the kernel's counts, by run, test and size."""
    counts: dict[_Place, list[ResultRow]] = {}
    for result in results:
        if result.scope == "resources":
            counts.setdefault((result.run.run, result.test, result.payload_bytes), []).append(result)
    return counts


def spinning_among(series: Iterable[Series], by_run: Mapping[str, Sequence[ResultRow]]) -> set[tuple[object, ...]]:
    """Return the result of `spinning` for these series. It is faster, because it reads only runs that are configured to sleep.

    ``by_run`` contains all numbers of a view.
    """
    sleeping = [member for member in series if _is_told_to_sleep(member)]
    runs = dict.fromkeys(run.run for member in sleeping for run in member.runs)
    return spinning(sleeping, resources_of(result for run in runs for result in by_run[run]))


def spinning(series: Iterable[Series], resources: Mapping[_Place, Sequence[ResultRow]]) -> set[tuple[object, ...]]:
    """Return the `way_of_measuring` of each series that spins: it is configured to sleep (block), but keeps a processor busy and rarely sleeps.

    Only a round trip shows spinning, because each side waits for each message. The smallest messages show it best, because there is little to copy.
    """
    measured_ways = set()
    for member in series:
        if not _is_told_to_sleep(member):
            continue
        by_size = {size: cost for size, cost in costs(member, resources).items() if size is not None and cost.processors and cost.switches}
        cost = by_size[min(by_size)] if by_size else None
        if cost and cost.processors and cost.switches and cost.processors.value > _SPINS_PROCESSORS and cost.switches.value < _SPINS_SWITCHES:
            measured_ways.add(way_of_measuring(member))
    return measured_ways


def _is_told_to_sleep(series: Series) -> bool:
    return series.results[0].test == "latency" and dict(series.key)["waiting"] == "block"


def way_of_measuring(series: Series) -> tuple[object, ...]:
    """Return the conditions that state how a series was measured. They are equal for a stream and round trips that were measured in the same way."""
    key = dict(series.key)
    return tuple(key[name] for name in _ALIKE)


def _spread(name: str, each: Sequence[Mapping[str, float]]) -> Spread | None:
    values = sorted(cost[name] for cost in each if name in cost)
    if not values:
        return None
    split = size_of_lower_group(values) if name != "processors" else None  # neither more nor fewer processors are better
    groups = tuple((median_high(part), len(part)) for part in (values[:split], values[split:])) if split else ()
    return Spread(groups[-1][0] if groups else median_high(values), values[0], values[-1], len(values), groups)


def _cost_of_run(numbers: Sequence[ResultRow], counted: Sequence[ResultRow], test: str) -> dict[str, float]:
    """Return costs by the names of `Cost`; an empty result if a side is missing or occurs twice."""
    names = [(result.side, result.participant, result.metric, result.statistic) for result in counted]
    if test not in _MESSAGES or {result.side for result in counted} != _SIDES or len({*names}) < len(names):
        return {}
    cost: dict[str, float] = {}
    processors, switches = _for_each_ns(counted, "cpu_time"), _for_each_ns(counted, "context_switches")
    rate, messages = _messages_per_ns(numbers, test), _number_of_messages(numbers, counted, test)
    if processors is not None:
        cost["processors"] = processors
        if messages:
            cost["cpu_ns"] = sum(_values(counted, "cpu_time")) / messages
        elif rate:
            cost["cpu_ns"] = processors / rate
    if switches is not None and (messages or rate):
        cost["switches"] = sum(_values(counted, "context_switches")) / messages if messages else switches / (rate or 1)
    peaks = [result for result in counted if result.metric == "peak_memory"]
    if peaks and all(peak.bound == "=" for peak in peaks):  # a peak with a bound may be that of the program that started this one
        cost["memory_bytes"] = max(_values(peaks, "peak_memory"))
    in_log = _values(numbers, "cpu_per_message")
    return cost | ({"cpu_ns": in_log[0]} if in_log else {})


def _number_of_messages(numbers: Sequence[ResultRow], counted: Sequence[ResultRow], test: str) -> int | None:
    """Return how many messages the kernel's counts cover, including those of the warm-up; ``None`` if the number is not known.

    In a test other than latency, the `cost` line of the log states this number.
    """
    if test == "latency":
        trips = _first(counted, lambda result: result.samples)
        return int(trips) * _MESSAGES[test][1] if trips else None
    samples = _first(numbers, lambda result: result.samples if result.metric == "cpu_per_message" else None)
    return int(samples) if samples else None


def _for_each_ns(counted: Sequence[ResultRow], metric: str) -> float | None:
    """Return the counts of a metric per nanosecond, added over all participants; ``None`` if any count or time is unknown."""
    counts = {(result.side, result.participant, result.metric, result.statistic): result.value for result in counted}
    times = {(result.side, result.participant): result.value for result in counted if result.metric == "duration"}
    kinds = dict.fromkeys(result.statistic for result in counted if result.metric == metric)  # such as voluntary and involuntary context switches
    total = 0.0
    for side, participant in dict.fromkeys((result.side, result.participant) for result in counted):
        time = times.get((side, participant))
        for kind in kinds:
            count = counts.get((side, participant, metric, kind))
            if count is None or not time:
                return None
            total += count / time
    return total if kinds else None


def _messages_per_ns(numbers: Sequence[ResultRow], test: str) -> float | None:
    name, each = _MESSAGES[test]
    duration = _first(numbers, lambda result: result.value if result.metric == "duration" else None)
    count = _first(numbers, lambda result: result.samples if name == "samples" else result.value if result.metric == name else None)
    return count * each / duration if count and duration else None


def _first(numbers: Iterable[ResultRow], value: Callable[[ResultRow], float | None]) -> float | None:
    return next((number for result in numbers if (number := value(result)) is not None), None)


def _values(results: Iterable[ResultRow], metric: str) -> list[float]:
    return [result.value for result in results if result.metric == metric and result.value is not None]
