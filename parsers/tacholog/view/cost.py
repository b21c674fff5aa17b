"""What messages cost: processor time, context switches and memory, from what the kernel counted for each side of a run.

The kernel counts for a whole size, with its warm-up and the time before and behind it in which nothing is sent. Where a log says how many messages
that was for, as perftest's does, processor time and context switches are divided by their number; where it states the processor time for each message
itself, that number is used. Else they are the share of processors in use, or the switches in a unit of time, times the time for a message while it
was measured: too little where a side slept through much of the counted time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median_high

import msgspec

from tacholog.view.results import ResultRow
from tacholog.view.series import Series

_SIDES = {"publisher", "subscriber"}
_MESSAGES = {"latency": ("samples", 2), "throughput": ("messages_received", 1)}  # a round trip is two messages
_ALIKE = ("labels", "transport", "reliability", "waiting", "settings", "host", "system_version", "campaign", "tool_version", "build")
_SPINS_PROCESSORS, _SPINS_SWITCHES = 0.9, 0.1  # more than so many processors in use, and fewer than so many context switches a message
SPINS = "spins by default"
_Place = tuple[str, str, int | None]  # run, test, payload


class Spread(msgspec.Struct, frozen=True):
    """A value over runs: the median (of an even number the higher one), the lowest and the highest, and how many runs."""

    value: float
    low: float
    high: float
    runs: int


class Cost(msgspec.Struct, frozen=True):
    """What a series costs at one size. What no run states is ``None``.

    Attributes:
        processors: processors in use, of both sides together: 2 where both wait by polling.
        cpu_ns: processor time for each message.
        switches: context switches for each message.
        memory_bytes: the largest resident set of a side.
    """

    processors: Spread | None
    cpu_ns: Spread | None
    switches: Spread | None
    memory_bytes: Spread | None


def costs(series: Series, resources: Mapping[_Place, Sequence[ResultRow]]) -> dict[int | None, Cost]:
    """Return the cost at each size for which the kernel's counts of both sides are known."""
    test = series.results[0].test
    found = {}
    for payload in series.sizes():
        by_run: dict[str, list[ResultRow]] = {}
        for result in series.measured.of_size[payload]:
            by_run.setdefault(result.run.run, []).append(result)
        each = [one for run, numbers in by_run.items() if (one := _of_run(numbers, resources.get((run, test, payload), ()), test))]
        if each:
            found[payload] = Cost(*(_spread(name, each) for name in Cost.__struct_fields__))
    return found


def resources_of(results: Iterable[ResultRow]) -> dict[_Place, list[ResultRow]]:
    """Return the kernel's counts by run, test and size."""
    found: dict[_Place, list[ResultRow]] = {}
    for result in results:
        if result.scope == "resources":
            found.setdefault((result.run.run, result.test, result.payload_bytes), []).append(result)
    return found


def spinning_among(series: Iterable[Series], by_run: Mapping[str, Sequence[ResultRow]]) -> set[tuple[object, ...]]:
    """Return the same as `spinning`. ``by_run`` holds all numbers of a view: only runs that may spin are looked at."""
    told = [one for one in series if _is_told_to_sleep(one)]
    runs = dict.fromkeys(run.run for one in told for run in one.runs)
    return spinning(told, resources_of(result for run in runs for result in by_run[run]))


def spinning(series: Iterable[Series], resources: Mapping[_Place, Sequence[ResultRow]]) -> set[tuple[object, ...]]:
    """Return the `way` of those series that are told to sleep (block) and spin: they keep a processor in use, and are hardly ever woken.

    Only a round trip shows it: there, each side waits for each message. Its smallest messages show it best, as there is little to copy.
    """
    found = set()
    for one in series:
        if not _is_told_to_sleep(one):
            continue
        known = {at: cost for at, cost in costs(one, resources).items() if at is not None and cost.processors and cost.switches}
        cost = known[min(known)] if known else None
        if cost and cost.processors and cost.switches and cost.processors.value > _SPINS_PROCESSORS and cost.switches.value < _SPINS_SWITCHES:
            found.add(way(one))
    return found


def _is_told_to_sleep(series: Series) -> bool:
    return series.results[0].test == "latency" and dict(series.key)["waiting"] == "block"


def way(series: Series) -> tuple[object, ...]:
    """Return what a series of a stream shares with the round trips that were measured in the same way."""
    key = dict(series.key)
    return tuple(key[name] for name in _ALIKE)


def _spread(name: str, each: Sequence[Mapping[str, float]]) -> Spread | None:
    values = [one[name] for one in each if name in one]
    return Spread(median_high(values), min(values), max(values), len(values)) if values else None


def _of_run(numbers: Sequence[ResultRow], counted: Sequence[ResultRow], test: str) -> dict[str, float]:
    """Return the cost of one run at one size, by the names of `Cost`; nothing if a side is missing or stands twice."""
    names = [(result.side, result.participant, result.metric, result.statistic) for result in counted]
    if test not in _MESSAGES or {result.side for result in counted} != _SIDES or len({*names}) < len(names):
        return {}
    found: dict[str, float] = {}
    processors, switches = _for_each_ns(counted, "cpu_time"), _for_each_ns(counted, "context_switches")
    rate, messages = _rate_per_ns(numbers, test), _messages(numbers, counted, test)
    if processors is not None:
        found["processors"] = processors
        if messages:
            found["cpu_ns"] = sum(_values(counted, "cpu_time")) / messages
        elif rate:
            found["cpu_ns"] = processors / rate
    if switches is not None and (messages or rate):
        found["switches"] = sum(_values(counted, "context_switches")) / messages if messages else switches / (rate or 1)
    peaks = [result for result in counted if result.metric == "peak_memory"]
    if peaks and all(peak.bound == "=" for peak in peaks):  # else one is only known not to be above that of the program that started it
        found["memory_bytes"] = max(_values(peaks, "peak_memory"))
    stated = _values(numbers, "cpu_per_message")
    return found | ({"cpu_ns": stated[0]} if stated else {})


def _messages(numbers: Sequence[ResultRow], counted: Sequence[ResultRow], test: str) -> int | None:
    """Return how many messages the kernel's counts are for, warm-up included, if the log says so: of a stream, those of its own cost."""
    if test == "latency":
        trips = _first(counted, lambda result: result.samples)
        return int(trips) * _MESSAGES[test][1] if trips else None
    stated = _first(numbers, lambda result: result.samples if result.metric == "cpu_per_message" else None)
    return int(stated) if stated else None


def _for_each_ns(counted: Sequence[ResultRow], metric: str) -> float | None:
    """Return a count of all participants together for each nanosecond; unknown if a count, one of its kinds, or the time of one of them is."""
    known = {(result.side, result.participant, result.metric, result.statistic): result.value for result in counted}
    times = {(result.side, result.participant): result.value for result in counted if result.metric == "duration"}
    kinds = dict.fromkeys(result.statistic for result in counted if result.metric == metric)  # such as voluntary switches, and others
    found = 0.0
    for side, participant in dict.fromkeys((result.side, result.participant) for result in counted):
        time = times.get((side, participant))
        for kind in kinds:
            count = known.get((side, participant, metric, kind))
            if count is None or not time:
                return None
            found += count / time
    return found if kinds else None


def _rate_per_ns(numbers: Sequence[ResultRow], test: str) -> float | None:
    """Return the messages of a nanosecond while it was measured."""
    name, each = _MESSAGES[test]
    duration = _first(numbers, lambda result: result.value if result.metric == "duration" else None)
    count = _first(numbers, lambda result: result.samples if name == "samples" else result.value if result.metric == name else None)
    return count * each / duration if count and duration else None


def _first(numbers: Iterable[ResultRow], value: Callable[[ResultRow], float | None]) -> float | None:
    return next((found for result in numbers if (found := value(result)) is not None), None)


def _values(results: Iterable[ResultRow], metric: str) -> list[float]:
    return [result.value for result in results if result.metric == metric and result.value is not None]
