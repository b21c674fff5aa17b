"""The log of OpenMessaging Benchmark: a line for each interval of 10 s, a line for the whole test, and the description of the workload."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from tacholog.formats.kit import MICROSECOND, Broken, Cell, Conditions, Facts, Finding, JsonObject, JsonReader, Line, Number, Record, is_size, printed
from tacholog.formats.openmessaging.results import MILLISECOND, RATES, Rates, published

_MEBIBYTE = 8.0 * (1 << 20)  # in bits; "MB" is 1024 * 1024 bytes
_N = r"-?[0-9]{1,15}+[.,][0-9]"  # The decimal sign depends on the locale.


def _statistics(prefix: str, *names: str) -> str:
    """Return a pattern for the statistics on a line, such as ``50%:  0.4 - Max:  7.3``.

    The pattern has a named group for each number. For example, if ``prefix`` is ``l_``, the group for ``99.9%`` is ``l_p99_9``.
    """
    groups = ((name.replace(".", "[.]"), "max" if name == "Max" else f"p{name[:-1].replace('.', '_')}") for name in names)
    return " - ".join(f"{name}: {{1,16}}(?P<{prefix}{group}>{_N})" for name, group in groups)


_PERCENTS = ("50%", "99%", "99.9%", "Max")
_ALL_PERCENTS = ("50%", "95%", "99%", "99.9%", "99.99%", "Max")
_INTERVAL = re.compile(
    rf"(?P<prefix>.{{0,120}}?)Pub rate {{1,16}}(?P<sent>{_N}) msg/s / {{1,16}}(?P<sent_mb>{_N}) M[Bb]/s(?: \| Pub err {{1,16}}{_N} err/s)?"
    rf" \| Cons rate {{1,16}}(?P<received>{_N}) msg/s / {{1,16}}(?P<received_mb>{_N}) M[Bb]/s \| Backlog: {{1,16}}(?P<backlog>{_N}) K"
    rf" \| Pub Latency \(ms\) avg: {{1,16}}(?P<l_mean>{_N}) - {_statistics('l_', *_PERCENTS)}"
    rf"(?: \| Pub Delay Latency \(us\) avg: {{1,16}}(?P<d_mean>{_N}) - "
    rf"{_statistics('d_', *_PERCENTS)})?"
)
_AGGREGATE = re.compile(
    rf".{{0,120}}?----- Aggregated Pub Latency \(ms\) avg: {{1,16}}(?P<l_mean>{_N})"
    rf" - {_statistics('l_', *_ALL_PERCENTS)}"
    rf"(?: \| Pub Delay \(us\)  avg: {{1,16}}(?P<d_mean>{_N}) - {_statistics('d_', *_ALL_PERCENTS)})?"
)
_IS_INTERVAL, _IS_AGGREGATE = re.compile(r".{0,120}?Pub rate {1,16}[-0-9]"), re.compile(r".{0,120}?----- Aggregated Pub Latency \(ms\)")
_LINE = re.compile(r"(?:[0-9:.,T -]{8,32} )?\[[^\]\n]{1,120}\] (?:TRACE|DEBUG|INFO|WARN|ERROR)(?: [\w.$]{1,80})? - (?P<words>.{0,4000})")
_PHASE = re.compile(r"----- Starting (?P<phase>warm-up|benchmark) traffic (?:\((?P<minutes>[0-9]{1,5})m\) ?)?------")
_TEST = re.compile(r"-{5,20} WORKLOAD : (?P<workload>.{0,200}?) --- DRIVER : (?P<driver>.{1,80}?)-{5,20}")
_SETTING = re.compile(r"[ \t]{1,8}[a-z][\w.]{0,80} = .{0,4000}")
_MOST_WORKLOADS = 1000
_ACKS = re.compile(r"[ \t]{1,8}acks = (?P<acks>-1|all|0|1)")


class BenchmarkLog:
    """Reads the lines of a log. Workloads are JSON over several lines."""

    def __init__(self) -> None:
        self._reader = JsonReader(lambda path: bool(path) and "/" not in path)
        self._workloads: dict[str, Mapping[str, int]] = {}
        self._workload: Mapping[str, int] = {}
        self._driver: str | None = None
        self._other_driver = False
        self._conditions = Conditions()
        self._is_measuring = False  # whether the benchmark traffic has begun; earlier intervals may be the warm-up
        self._rates = Rates()

    @property
    def is_open(self) -> bool:
        """Whether the JSON of workloads is open."""
        return self._reader.is_open

    def take(self, line: Line) -> Iterator[Finding]:
        """Read a line, and yield the findings that this line completes."""
        text = line.text.rstrip()
        if self.is_open:
            yield from self._json(line)
        elif _IS_INTERVAL.match(text) or _IS_AGGREGATE.match(text):
            yield from self._result(line, _INTERVAL.fullmatch(text) or _AGGREGATE.fullmatch(text))
        elif (match := _LINE.fullmatch(text)) or _TEST.fullmatch(text) or _PHASE.fullmatch(text):
            yield from self._logged(line, match["words"] if match else text)
        elif match := _ACKS.fullmatch(text):
            yield Finding(line, Facts(conditions=Conditions(acks="all" if match["acks"] == "-1" else match["acks"])))
        elif _SETTING.fullmatch(text):
            yield Finding(line, None)

    def close(self) -> Iterator[Finding]:
        """End the log, and yield the rates of its last test."""
        if summary := self._rates.summary():
            yield summary
        self._rates = Rates()

    def _logged(self, line: Line, words: str) -> Iterator[Finding]:
        if words.endswith(": {"):
            self._reader.take(Line(line.number, "{"))
        if test := _TEST.fullmatch(words):
            yield from self.close()
            self._other_driver = self._driver not in (None, test["driver"])
            self._driver = self._driver or test["driver"]
            self._workload = self._workloads.get(test["workload"], {})
            self._conditions, self._is_measuring = Conditions(), False
            yield Finding(line, Facts(system=self._driver))
        elif phase := _PHASE.fullmatch(words):
            yield from self.close()
            self._is_measuring = phase["phase"] == "benchmark"
            minutes = int(phase["minutes"] or 0)
            phase_conditions = (
                Conditions(planned_duration_s=60.0 * minutes if minutes else None) if self._is_measuring else Conditions(warmup="fixed")
            )
            self._conditions = phase_conditions.over(self._conditions)
            yield Finding(line, None)
        elif words.startswith("Failed to run the workload "):
            yield Finding(line, Facts(status="failed", reason="the workload failed"))
        elif words.startswith("Writing test result into "):
            yield Finding(line, Facts(status="ok"))
        else:
            yield Finding(line, None)

    def _json(self, line: Line) -> Iterator[Finding]:
        read = self._reader.take(line)
        if read.is_foreign:
            return
        for workload in read.closed:
            if (name := workload.text("name")) is not None and len(self._workloads) < _MOST_WORKLOADS:
                self._workloads[name] = _counts(workload)
        yield Finding(line, Broken(read.damage) if read.damage else None)

    def _result(self, line: Line, match: re.Match[str] | None) -> Iterator[Finding]:
        if match is None or not line.whole:
            yield Finding(line, Broken("the line is cut short or garbled"))
            return
        if self._other_driver:
            yield Finding(line, Broken("a second driver in one log: split the log at the line 'WORKLOAD'"))
            return
        cells = Cell.named(match)
        latencies = published(list(_latencies(cells)), has_delay="d_mean" in cells)
        if "sent" in cells:
            rates = self._with_conditions(replace(RATES, numbers=tuple(_rates(cells))))
            if self._is_measuring:
                self._rates.add(line, rates)
            yield Finding(line, rates)
            yield Finding(line, self._with_conditions(replace(latencies, scope="interval")))
        elif not self._is_measuring:
            yield Finding(line, None)
        else:
            yield from self.close()
            yield Finding(line, Facts(environment={"clock_resolution_ns": f"{MILLISECOND / 10:.0f}"}))
            yield Finding(line, self._with_conditions(latencies))

    def _with_conditions(self, record: Record) -> Record:
        counts = dict(self._workload)
        rate = counts.get("producerRate", 0)
        topics, groups = counts.get("topics"), counts.get("subscriptionsPerTopic")
        conditions = Conditions(
            topics=topics,
            partitions=counts.get("partitionsPerTopic"),
            consumer_groups=groups,
            publishers=_product(topics, counts.get("producersPerTopic")),
            subscribers=_product(topics, groups, counts.get("consumerPerSubscription")),
            offered_rate_per_s=float(rate) if rate else None,
        )
        return replace(record, payload_bytes=counts.get("messageSize"), conditions=record.conditions.over(conditions).over(self._conditions))


def _product(*counts: int | None) -> int | None:
    product = 1
    for count in counts:
        if count is None:
            return None
        product *= count
    return product if product < 1 << 31 else None


def _counts(workload: JsonObject) -> dict[str, int]:
    names = ("topics", "partitionsPerTopic", "subscriptionsPerTopic", "producersPerTopic", "consumerPerSubscription", "producerRate", "messageSize")
    counts = {name: count for name in names if (count := workload.whole(name)) is not None and 0 < count < 1 << 31}
    if (rate := workload.real("producerRate")) is not None and rate > 0:
        counts["producerRate"] = round(rate)
    return counts if "messageSize" not in counts or is_size(counts["messageSize"]) else {}


def _rates(cells: Mapping[str, Cell]) -> Iterator[Number]:
    for name, rate, goodput in (("sent", "acknowledged_rate", "acknowledged_goodput"), ("received", "message_rate", "goodput")):
        yield _number(rate, "mean", cells[name], 1.0)
        yield _number(goodput, "mean", cells[f"{name}_mb"], _MEBIBYTE)
    yield _number("backlog", "last", cells["backlog"], 1000.0)


def _latencies(cells: Mapping[str, Cell]) -> Iterator[Number]:
    for prefix, metric, unit in (("l_", "latency", MILLISECOND), ("d_", "send_lateness", MICROSECOND)):
        for name, cell in cells.items():
            if name.startswith(prefix):
                yield _number(metric, name.removeprefix(prefix).replace("_", "."), cell, unit)


def _number(metric: str, statistic: str, cell: Cell, unit: float) -> Number:
    value = round(float(cell.replace(",", ".")) * unit, 3)
    return printed(metric, statistic, value, unit / 10, cell=cell)
