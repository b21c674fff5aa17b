"""Apache Kafka's own tools: kafka-producer-perf-test, kafka-consumer-perf-test, and kafka-e2e-latency (EndToEndLatency). They print only text.

The producer prints a line every five seconds, and a line for the whole test. Newer versions print a second such line, without the warm-up::

    999600 records sent, 199920.0 records/sec (19.07 MB/sec), 10.3 ms avg latency, 490.0 ms max latency.
    1000000 records sent, 233699.462491 records/sec (22.29 MB/sec), 866.05 ms avg latency, 1652.00 ms max latency, 827 ms 50th, ...
    990000 steady state records sent, ...

The consumer prints a row of columns, and the end-to-end tool prints two lines::

    2024-08-06 18:54:43:339, 2024-08-06 18:54:57:295, 4882.8306, 349.8732, 10000037, 716540.3411, 3856, 10100, 483.4486, 990102.6733
    Avg latency: 1.0493 ms
    Percentiles: 50th = 0, 99th = 3, 99.9th = 7

"MB" are 2^20 bytes. The decimal sign (point or comma) depends on the locale. Latencies of the producer end at the acknowledgement, not at a delivery.
All percentiles are whole milliseconds. Percentiles of the producer are of at most 500,000 samples. Percentiles of the end-to-end tool are cut off,
not rounded, so a printed 0 is "less than 1 ms". Some old consumers print the time since 1970 as the time of the rebalance, and a negative fetch time.
Then the rates without the rebalance are impossible.

Conditions are the transport and, if the log contains the command of the tool, the size, acks and the load. Otherwise the manifest must state them,
because the tools print none of their options. The rows of the consumer state the start of the run.
Source: ProducerPerformance.java, ConsumerPerformance.java and EndToEndLatency.java of apache/kafka; published lines, see the README of
tests/formats/kafka/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from msgspec.structs import replace

from tacholog.formats.kit import (
    COUNT_LIMIT,
    Broken,
    Cell,
    Conditions,
    Detected,
    Dialect,
    Facts,
    Finding,
    Line,
    LineStart,
    Number,
    Record,
    States,
    counted,
    finding_on,
    impossible,
    is_size,
    printed,
)

SYSTEM = "Kafka"
TOOL = "Kafka's performance tools"
DIALECTS = (
    Dialect("producer", "since 0.9", "published lines since 1.0, logs recorded with 4.3.1"),
    Dialect("producer-steady", "4.2 and later with --warmup-records: a second summary", "logs recorded with 4.3.1"),
    Dialect("consumer", "since 2.0: with rebalance.time.ms", "published lines since 2.3, logs recorded with 4.3.1"),
    Dialect("consumer-1", "before 2.0: without rebalance.time.ms", "from source only"),
    Dialect("end-to-end", "all", "published lines, logs recorded with 4.3.1"),
)
DEFINITIONS = {
    "kafka-producer": "From before the producer's send until the acknowledgement was handled, in whole milliseconds. The send may wait for room in "
    "the producer's buffer. Percentiles are of at most 500,000 records. Rates are of acknowledged records, from the start of the first send.",
    "kafka-producer-steady": "As kafka-producer, but without the first records, which are the warm-up.",
    "kafka-consumer": "What a consumer received, from its start until the last message. The time includes joining its group.",
    "kafka-consumer-fetch": "What a consumer received, over the time in which it was a member of its group.",
    "kafka-end-to-end": "From before the send of a message until a consumer in the same process received it. The send waits for the "
    "acknowledgement. Percentiles are cut off to whole milliseconds.",
}
_CONDITIONS = "acks load_mode offered_rate_per_s payload_bytes"
STATES = {
    "latency": States(always="transport basis definition", sometimes=f"{_CONDITIONS} warmup partitions replication_factor"),
    "throughput": States(always="transport definition", sometimes=f"{_CONDITIONS} warmup"),
}
_MEBIBYTE, _MILLISECOND = 8.0 * (1 << 20), 1e6  # A mebibyte in bits, because "MB" is 1024 * 1024 bytes; a millisecond in nanoseconds.
_SAMPLED = 500_000
_LONGEST = 8000  # In characters. A longer command is cut.
_LINES_BETWEEN = 20  # Old versions print a blank line between the mean and the percentiles.
_NO_PERCENTILES = "the percentiles that follow this mean are missing"
_D = r"[0-9]{1,15}+[.,][0-9]"  # The decimal sign is a point or a comma. No tool prints thousands separators.
_PRODUCED = rf"(?P<count>[0-9]{{1,18}}+)(?P<steady> steady state)? records sent, (?P<rate>{_D}{{1,6}}) records/sec \((?P<goodput>{_D}{{2}}) MB/sec\)"
_INTERVAL = re.compile(rf"{_PRODUCED}, (?P<mean>{_D}) ms avg latency, (?P<max>{_D})(?: ms)? max latency\.")
_SUMMARY = re.compile(
    rf"{_PRODUCED}, (?P<mean>{_D}{{2}}) ms avg latency, (?P<max>{_D}{{2}}) ms max latency, (?P<p50>[0-9]{{1,12}}) ms 50th, "
    r"(?P<p95>[0-9]{1,12}) ms 95th, (?P<p99>[0-9]{1,12}) ms 99th, (?P<p99_9>[0-9]{1,12}) ms 99\.9th\.?"
)
_IS_PRODUCED = re.compile(r"[0-9]{1,18}(?: steady state)? records sent, ")
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}:[0-9]{3}"
_CONSUMED = rf"(?P<mebibytes>{_D}{{4}}), (?P<goodput>{_D}{{4}}), (?P<count>[0-9]{{1,18}}), (?P<rate>{_D}{{4}})"
_FETCHED = rf", (?P<rebalance>-?[0-9]{{1,18}}), (?P<fetch>-?[0-9]{{1,18}}), (?P<fetch_goodput>-?{_D}{{4}}), (?P<fetch_rate>-?{_D}{{4}})"
_ROW = re.compile(rf"(?P<start>{_TIME}), (?:(?P<end>{_TIME})|(?P<thread>[0-9]{{1,9}})), {_CONSUMED}(?:{_FETCHED})?")
_IS_ROW = re.compile(rf"{_TIME}, ")
_HEAD_OF_ROWS = re.compile(r"(?:start\.time, end\.time|time, threadId), data\.consumed\.in\.MB, MB\.sec, [\w., ]{1,200}")
_MEAN = re.compile(rf"Avg latency: (?P<mean>{_D}{{4}}) ms")
_PERCENTILES = re.compile(r"Percentiles: 50th = (?P<p50>[0-9]{1,12}), 99th = (?P<p99>[0-9]{1,12}), 99\.9th = (?P<p99_9>[0-9]{1,12})")
_IS_PERCENTILES = re.compile(r"Percentiles: 50th = ")
_PROGRESS = re.compile(r"[0-9]{1,15}[\t ]{1,16}[0-9.E-]{1,30}")
_CREATED = re.compile(
    r"Topic \"[^\"]{1,255}\" does not exist\. Will create topic with ([0-9]{1,6}) partition\(s\) and replication factor = ([0-9]{1,4})"
)
_CHATTER = re.compile(
    r"(?:In|Beginning) steady state\.|Reading payloads from: .{1,4000}|Number of messages read: [0-9]{1,18}|"
    r"Metric Name {1,400}Value|[a-z][\w-]{0,80}:[\w.-]{1,120}:\{[^{}]{0,1000}\} {0,400}: .{0,300}|"  # of --print-metrics
    r"WARNING: (?:option \[threads\]|The 'kafka\.tools' package is deprecated).{0,300}|\s*"
)
_WARMUP = re.compile(r"Warmup first (?P<count>[0-9]{1,15}) records\. Steady state results will print after the complete test summary\.")
_SHORT = re.compile(r"WARNING: Exiting before consuming the expected number of (?:messages|records): timeout .{1,200}")
_ERROR = re.compile(r"(?:\[[^\]]{1,40}\] ERROR .{0,200})?org\.apache\.kafka\.common\.errors\.(?P<name>\w{1,80}): .{0,2000}")
_COMMAND = re.compile(
    r"kafka-(?P<script>producer|consumer)-perf-test|kafka-e2e-latency|\.(?P<class>ProducerPerformance|EndToEndLatency|ConsumerPerformance)\b"
)
_OPTIONS = {
    "size": re.compile(r"--record-size[ =]([0-9]{1,10})\b"),
    "rate": re.compile(r"--throughput[ =](-?[0-9]{1,12}(?:\.[0-9]{1,6})?)(?![\w.])"),
    "acks": re.compile(r"(?:\backs=|--producer-acks[ =])(all|-1|0|1)(?![\w.])"),
}
_END_TO_END = re.compile(
    r"(?:EndToEndLatency|kafka-e2e-latency(?:\.sh|\.bat)?) +[^\s-]\S{0,400} +\S{1,249} +[0-9]{1,12} +(all|1) +([0-9]{1,10})(?: |$)"
)
_HEAD = LineStart(
    r"[0-9]{1,18}(?: steady state)? records sent, [0-9]{1,15}[.,][0-9]{1,6} records/sec \([0-9]{1,15}[.,][0-9]{2} MB/sec\), "
    r"|(?:start\.time, end\.time|time, threadId), data\.consumed\.in\.MB, MB\.sec, "
    r"|Avg latency: [0-9]{1,15}[.,][0-9]{4} ms\s{1,4}Percentiles: 50th = "
)


def detect(head: str) -> Detected:
    """Return whether the log has a line of the producer, the head of the consumer's columns, or the two lines of the end-to-end tool."""
    return Detected(
        _HEAD.is_in(head),
        wants="a line 'N records sent, N records/sec (N MB/sec), ', 'start.time, end.time, data.consumed.in.MB', or 'Avg latency: N ms'",
    )


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield two records (rates and latencies) for each line of a producer, a record of rates for a consumer, and a record of end-to-end latencies."""
    command = _Command()
    mean: Line | None = None
    has_start = has_step = False
    for line in lines:
        text = line.text.rstrip()
        if mean and (_MEAN.fullmatch(text) or line.number - mean.number > _LINES_BETWEEN):
            yield Finding(mean, Broken(_NO_PERCENTILES))
            mean = None
        if _IS_PRODUCED.match(text):
            if not has_step:
                has_step = True
                yield Finding(line, Facts(environment={"clock_resolution_ns": "1000000"}))
            yield from _produced(line, text, command)
        elif _IS_ROW.match(text):
            if not has_start and (match := _ROW.fullmatch(text)):
                has_start = True
                yield Finding(line, Facts(start_time=f"{match['start'][:10]}T{match['start'][11:19]}.{match['start'][20:]}"))
            yield from _consumed(line, text, command.conditions)
        elif _MEAN.fullmatch(text):
            mean = line
        elif _IS_PERCENTILES.match(text):
            yield from _end_to_end(mean, line, command)
            mean = None
        elif what := command.take(line):
            yield Finding(line, what if isinstance(what, Facts) else None)
        elif _SHORT.fullmatch(text):
            yield Finding(line, Facts(status="failed", reason="the consumer stopped before all messages had arrived"))
        elif error := _ERROR.fullmatch(text):
            yield Finding(line, Facts(status="failed", reason=error["name"]))
        elif _HEAD_OF_ROWS.fullmatch(text) or _PROGRESS.fullmatch(text) or _CHATTER.fullmatch(text):
            yield Finding(line, None)
    if mean:
        yield Finding(mean, Broken(_NO_PERCENTILES))


class _Command:
    """The facts about the next results, taken from a command and from the lines before these results."""

    def __init__(self) -> None:
        self.conditions = Conditions()
        self.payload_bytes: int | None = None
        self.warmup: str | None = None
        self._begun = ""  # the start of a command whose line ended with a backslash
        self._next = 0  # the number of the line that continues the command

    def take(self, line: Line) -> bool | Facts:
        """Return the facts of a line about a new topic. For all other lines, return whether the line is known.

        A line with a new command replaces the facts of the earlier command.
        """
        text = line.text.rstrip()
        if created := _CREATED.fullmatch(text):
            return Facts(conditions=Conditions(partitions=int(created[1]), replication_factor=int(created[2])))
        if warmup := _WARMUP.fullmatch(text):
            self.warmup = f"{warmup['count']} records"
            return True
        if self._begun and line.number == self._next:
            text = self._begun + text
        elif _COMMAND.search(text[:_LONGEST]) is None:
            return False
        text = text[:_LONGEST]
        self._begun, self._next = text[:-1] if text.endswith("\\") else "", line.number + 1
        options = {name: match[1] for name, pattern in _OPTIONS.items() if (match := pattern.search(text))}
        if end_to_end := _END_TO_END.search(text):
            options |= {"acks": end_to_end[1], "size": end_to_end[2]}
        rate = float(options["rate"]) if "rate" in options else None
        size = int(options.get("size", 0))
        self.payload_bytes = size if is_size(size) else None
        self.warmup = None
        self.conditions = Conditions(
            acks={"-1": "all"}.get(options.get("acks", ""), options.get("acks")),
            load_mode=None if rate is None else "max-rate" if rate <= 0 else "paced",
            offered_rate_per_s=rate if rate and rate > 0 else None,
        )
        return True


def _produced(line: Line, text: str, command: _Command) -> Iterator[Finding]:
    match = _SUMMARY.fullmatch(text) or _INTERVAL.fullmatch(text)
    if match is None or not line.whole:
        yield Finding(line, Broken("the line of the producer is cut short or garbled"))
        return
    cells = Cell.named(match)
    count, is_interval = int(cells["count"]), "p50" not in cells
    if count == 0 or count >= COUNT_LIMIT or not _ascend(cells):
        yield Finding(line, Broken("figures that contradict each other"))
        return
    steady = Conditions(warmup=command.warmup, definition="kafka-producer-steady") if "steady" in cells else Conditions(definition="kafka-producer")
    conditions = Conditions(transport="TCP").over(steady.over(command.conditions))
    rates = Record(
        test="throughput",
        payload_bytes=command.payload_bytes,
        numbers=(
            _number("acknowledged_rate", "mean", cells["rate"], 1.0),
            _number("acknowledged_goodput", "mean", cells["goodput"], _MEBIBYTE),
            counted("messages_acknowledged", count, cell=cells["count"]),
        ),
        samples=count,
        scope="interval" if is_interval else "summary",
        side="publisher",
        conditions=conditions,
    )
    latencies = (_number("latency", name.replace("_", "."), cell, _MILLISECOND) for name, cell in cells.items() if name in _LATENCIES)
    yield Finding(line, rates)
    yield Finding(
        line,
        replace(
            rates,
            test="latency",
            numbers=tuple(latencies),
            samples=count if is_interval else count // max(1, count // _SAMPLED),
            conditions=replace(conditions, basis="pub-to-ack"),
        ),
    )


_LATENCIES = ("mean", "max", "p50", "p95", "p99", "p99_9")


def _ascend(cells: Mapping[str, Cell]) -> bool:
    values = [_value(cells[name]) for name in ("p50", "p95", "p99", "p99_9", "max") if name in cells]
    return all(low <= high for low, high in pairwise(values)) and _value(cells["mean"]) <= _value(cells["max"]) + 0.01


def _consumed(line: Line, text: str, conditions: Conditions) -> Iterator[Finding]:
    match = _ROW.fullmatch(text)
    if match is None or not line.whole:
        yield Finding(line, Broken("the row of the consumer is cut short or garbled"))
        return
    cells = Cell.named(match)
    is_interval, count = "thread" in cells, int(cells["count"])
    exact = count == 0
    row = Record(
        test="throughput",
        payload_bytes=None,
        numbers=(),
        scope="interval" if is_interval else "summary",
        side="subscriber",
        conditions=Conditions(transport="TCP", definition="kafka-consumer").over(
            replace(conditions, acks=None, load_mode=None, offered_rate_per_s=None)
        ),
    )
    numbers = (
        _number("message_rate", "mean", cells["rate"], 1.0, is_exact_zero=exact),
        _number("goodput", "mean", cells["goodput"], _MEBIBYTE, is_exact_zero=exact),
    )
    # In an interval row, the counts are totals since the start, so they are left out.
    counts = (
        counted("messages_received", count, cell=cells["count"]),
        _number("bytes_received", "total", cells["mebibytes"], _MEBIBYTE / 8, is_exact_zero=exact),
    )
    yield Finding(
        line, replace(row, numbers=(*numbers, *(() if is_interval else counts)), samples=count if not is_interval and count < COUNT_LIMIT else None)
    )
    if "fetch" in cells:
        fetched = (("message_rate", cells["fetch_rate"], 1.0), ("goodput", cells["fetch_goodput"], _MEBIBYTE))
        is_possible = int(cells["fetch"]) >= 0 and int(cells["rebalance"]) >= 0
        yield Finding(
            line,
            replace(
                row,
                numbers=tuple(
                    _number(metric, "mean", cell, unit, is_exact_zero=exact) if is_possible else impossible(metric, "mean", cell=cell)
                    for metric, cell, unit in fetched
                ),
                conditions=replace(row.conditions, definition="kafka-consumer-fetch"),
            ),
        )


def _end_to_end(mean: Line | None, line: Line, command: _Command) -> Iterator[Finding]:
    match = _PERCENTILES.fullmatch(line.text.rstrip())
    of_mean = _MEAN.fullmatch(mean.text.rstrip()) if mean else None
    if mean is None or of_mean is None:
        yield Finding(line, Broken("there is no 'Avg latency' before these percentiles"))
        return
    if match is None or not line.whole:
        yield finding_on([mean, line], Broken("the percentiles are cut short or garbled"))
        return
    cells = Cell.named(of_mean, line=mean.number) | Cell.named(match, line=line.number)
    values = [int(cells[name]) for name in ("p50", "p99", "p99_9")]
    if values != sorted(values):
        yield finding_on([mean, line], Broken("percentiles that do not ascend"))
        return
    yield Finding(mean, Facts(environment={"clock_resolution_ns": "1000000"}))
    record = Record(
        test="latency",
        payload_bytes=command.payload_bytes,
        numbers=tuple(_number("latency", name.replace("_", "."), cell, _MILLISECOND) for name, cell in cells.items()),
        side="both",
        conditions=replace(
            command.conditions, transport="TCP", basis="one-way", definition="kafka-end-to-end", load_mode="closed", offered_rate_per_s=None
        ),
    )
    yield finding_on([mean, line], record)


def _value(cell: str) -> float:
    return float(cell.replace(",", "."))


def _number(metric: str, statistic: str, cell: Cell, unit: float, *, is_exact_zero: bool = False) -> Number:
    decimals = len(cell.replace(",", ".").partition(".")[2])
    return printed(metric, statistic, round(_value(cell) * unit, 6), unit * 10.0**-decimals, zero_is_exact=is_exact_zero, cell=cell)
