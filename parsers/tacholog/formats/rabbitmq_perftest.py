"""RabbitMQ PerfTest: rates and latencies of each second, and of the whole test. They are text, columns (``-mf compact``), or a CSV file.

The last lines are about the whole test. Compact lines have no ``id``, but are below a head with the names of the columns::

    id: test-095630-764, time 1.028 s, sent: 2002 msg/s, confirmed: 1969 msg/s, nacked: 0 msg/s, received: 1969 msg/s, min/median/75th/95th/99th \
consumer latency: 131/5193/9468/30381/42229 µs, confirm latency: 79/2874/7195/23363/26217 µs
    id: test-095630-764, sending rate avg: 2281 msg/s
    id: test-095630-764, confirm latency min/median/75th/95th/99th 72/533/3442/16230/24594 µs
    time               sent    confirmed       nacked     received       consumer latency        confirm latency
    1.006s       1681 msg/s   1628 msg/s      0 msg/s   1615 msg/s 1533/39884/51222/76942/132565 µs 134/14963/24150/34005/35843 µs

The consumer latency is the time of a delivery. Its clock counts nanoseconds within a process or a machine, or milliseconds with ``-ms``. Latencies of
zero and below are dropped, so these numbers have a mark. With ``-ms``, these are all latencies below a millisecond. The confirm latency ends at the
broker's confirm: it is no delivery. All statistics, including the minimum, are of a sample of 1028 latencies that prefers the newest. Newer versions
add ``/max``. The ``µ`` may be printed as ``micro-`` or in another encoding; ``0/0/0/0/0`` means that there was no latency. In some versions, the time
of the whole test starts later than its messages. Then the rates of the whole test can be higher than the rates of all seconds.

CSV and versions before 2.19 state no latency of the whole test, and it cannot be computed from seconds, so it is marked as unknown.
Conditions are not printed: the manifest or ``--set`` must state the size, the number of producers and consumers, the rate and the kind of queue.
Source: com.rabbitmq.perf.metrics and Stats of rabbitmq/rabbitmq-perf-test, 2.1 to 2.22; samples in tests/formats/rabbitmq_perftest/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

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
    Scope,
    States,
    Tally,
    impossible,
    printed,
    unit_of_last_decimal,
)

SYSTEM = "RabbitMQ"
TOOL = "RabbitMQ PerfTest"
EXPANDS_TABS = True
DIALECTS = (
    Dialect("2.22", "2.19 and later: latencies of the whole test", "logs recorded with 2.22.1"),
    Dialect("2.1", "2.1 to 2.18: rates of the whole test only", "published logs"),
    Dialect("max", "newer: /max after the percentiles", "a published line"),
    Dialect("compact", "2.19 and later with --metrics-format compact", "logs recorded with 2.22.1"),
    Dialect("csv", "all, with --output-file", "files recorded with 2.22.1"),
)
DEFINITIONS = {
    "rabbitmq-published": "Messages that the producers handed to their channels, in each second or over the whole test. Acknowledged messages are "
    "those that the broker confirmed.",
    "rabbitmq-received": "Messages that the consumers received, in each second or over the whole test.",
    "rabbitmq-consumer-latency": "From the time that the producer wrote into the message until the consumer handled the message, on one clock or on "
    "two. Latencies of zero and below are dropped. Statistics are of a sample of 1028 latencies that prefers the newest.",
    "rabbitmq-confirm-latency": "From the publish call until the producer handled the broker's confirm. Statistics are of a sample of 1028 "
    "latencies that prefers the newest.",
}
STATES = {"latency": States(always="basis definition", sometimes="acks"), "throughput": States(always="definition", sometimes="acks")}

# A rate has at most two decimals. "2,325 msg/s", which somebody grouped by thousands, must not become 2.325 msg/s.
_R, _S, _UNIT = r"[0-9]{1,12}(?:[.,][0-9]{1,2})?", r"[0-9]{1,12}(?:[.,][0-9]{1,3})?", "ms|(?:\u00b5|\u03bc|micro-|microsecond|\\?|\ufffd)s"
_NAMES = r"(?:min|avg|median|max|[0-9]{2}th)(?:/(?:avg|median|max|[0-9]{2}th)){1,8}"
_VALUES = r"-?[0-9]{1,20}(?:/-?[0-9]{1,20}){1,8}"
_ID = r"id: [^,]{1,200}"
_RATES = "".join(rf"(?:, {name}: (?P<{name}>{_R}) msg/s)?" for name in ("sent", "returned", "confirmed", "nacked", "received"))
_LATENCIES = rf"(?:(?:consumer )?latency: (?P<consumer>{_VALUES}) (?P<consumer_unit>{_UNIT}))?"
_LATENCIES += rf"(?:(?:, )?confirm latency: (?P<confirm>{_VALUES}) (?P<confirm_unit>{_UNIT}))?"
_SECOND = re.compile(rf"(?P<id>{_ID}), time:? (?P<time>{_S}) ?s{_RATES}(?:, (?P<names>{_NAMES}) {_LATENCIES})?")
_RATE = re.compile(rf"(?:{_ID}, )?(?P<what>sending|receiving) rate avg: (?P<rate>{_R}) msg/s")
_LATENCY = re.compile(rf"(?:{_ID}, )?(?P<what>consumer|confirm) latency (?P<names>{_NAMES}) (?P<values>{_VALUES}) (?P<unit>{_UNIT})")
_HEADER = re.compile(r"time(?: {2,16}(?:sent|returned|confirmed|nacked|received|consumer latency|confirm latency)){1,7}")
_COLUMN = re.compile(r"sent|returned|confirmed|nacked|received|consumer latency|confirm latency")
_ROW = re.compile(r"(?P<time>[0-9]{1,9}[.,][0-9]{3})s +(?P<cells>[0-9].{0,400})")
_CELL = re.compile(rf"(?P<rate>{_R}) msg/s(?: +|$)|(?P<values>{_VALUES}) (?P<unit>{_UNIT})(?: +|$)")
_CSV = re.compile(r"id,time \(s\),.{0,1500}")
_CSV_RATE = re.compile(r"(published|sent|returned|confirmed|nacked|received) \(msg/s\)")
_CSV_LATENCY = re.compile(rf"(?P<name>min|avg|median|max|[0-9]{{2}}th p\.) (?:(?P<what>consumer|confirm) )?latency \((?P<unit>{_UNIT})\)")
_IS_RESULT = re.compile(rf"{_ID}, time:? [0-9]|(?:{_ID}, )?(?:sending|receiving) rate avg: |(?:{_ID}, )?(?:consumer|confirm) latency min/")
_STOPPED = re.compile(r"test stopped \((?P<why>[^)]{1,200})\)")
_WELL = re.compile(r"Reached time limit|(?:Producer|Consumer)s? reached message limit", re.IGNORECASE)
_FAILED = re.compile(r"Main thread caught exception: (?P<why>.{1,500})")
_CHATTER = re.compile(rf"{_ID}, starting (?:consumer|producer) #[0-9]{{1,9}}(?:, channel #[0-9]{{1,9}})?|\s*|\s+at [\w.$/]{{1,200}}\(.{{0,200}}\)")
_HEAD = LineStart(
    rf"{_ID}, time:? [0-9.,]{{1,12}} ?s, (?:sent|received|returned|confirmed|nacked|min/)|{_ID}, (?:sending|receiving) rate avg: |sending rate avg: "
    rf"|{_ID}, starting (?:consumer|producer) #|time {{2,16}}(?:sent|received) .{{0,80}}|id,time \(s\),(?:published|sent) \(msg/s\),"
)
_STATISTICS = ("min", "median", "75th", "95th", "99th", "max")
_BASES: Mapping[str, Conditions] = {
    "consumer": Conditions(basis="one-way", definition="rabbitmq-consumer-latency"),
    "confirm": Conditions(basis="pub-to-ack", acks="confirm", definition="rabbitmq-confirm-latency"),
}
_UNMEASURED = {"0"}


class _Measured(NamedTuple):
    """The numbers of a second, or of a whole test. Each kind of latency has names, values and a unit."""

    rates: Mapping[str, Cell]
    latencies: Mapping[str, tuple[Sequence[str], Sequence[Cell], str]]


def detect(head: str) -> Detected:
    """Return whether the log has a line or a head of PerfTest."""
    return Detected(
        _HEAD.is_in(head), wants="'id: ..., time ... s, sent: N msg/s', 'sending rate avg: N msg/s', or CSV with 'id,time (s),published (msg/s)'"
    )


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield an interval record for each second, and summaries. If the log has no summaries, they are computed from the seconds as far as possible."""
    test = _Test()
    for line in lines:
        yield from test.take(line)
    yield from test.close()


class _Test:
    def __init__(self) -> None:
        self._id = ""
        self._columns: list[str] = []
        self._tallies: dict[str | None, Tally] = {}
        self._names: dict[str | None, tuple[str, ...]] = {}
        self._has_step = False
        self._seconds = 0

    def take(self, line: Line) -> Iterator[Finding]:
        text = line.text.rstrip()
        if _IS_RESULT.match(text):
            yield from self._result(line, text)
        elif _HEADER.fullmatch(text) or _CSV.fullmatch(text):
            yield from self.close()
            self._columns = text.split(",") if "," in text else _COLUMN.findall(text)
            yield Finding(line, None)
        elif self._columns and (_ROW.fullmatch(text) if "id" not in self._columns else re.match(r"[^,\s]{1,200},[0-9.]{1,12},", text)):
            measured = (self._csv(line, text) if "id" in self._columns else self._read_compact_row(text)) if line.whole else None
            yield from self._second(line, measured) if measured else [Finding(line, Broken("the row is cut short, garbled, or of another table"))]
        elif stopped := _STOPPED.fullmatch(text):
            yield Finding(line, Facts(status="ok") if _WELL.fullmatch(stopped["why"]) else None)
        elif failed := _FAILED.fullmatch(text):
            yield Finding(line, Facts(status="failed", reason=failed["why"]))
        elif _CHATTER.fullmatch(text):
            yield Finding(line, None)

    def close(self) -> Iterator[Finding]:
        """Yield the summaries that the log does not state.

        These summaries are computed from the numbers of each second. Therefore their percentiles are unknown.
        """
        for key, tally in self._tallies.items():
            unknown = [
                Number(metric="latency", statistic=name, value=None, marks=("intervals_only",)) for name in self._names.get(key, ()) if name[0] == "p"
            ]
            if (summary := tally.found(unknown)) and tally.numbers():
                yield summary
        self._tallies, self._names, self._seconds = {}, {}, 0

    def _result(self, line: Line, text: str) -> Iterator[Finding]:
        second, rate, latency = _SECOND.fullmatch(text), _RATE.fullmatch(text), _LATENCY.fullmatch(text)
        measured = None
        if second:
            if second["id"] != self._id:
                yield from self.close()
                self._id = second["id"]
            cells = Cell.named(second)
            names = (second["names"] or "").split("/")
            measured = _Measured(cells, {what: (names, _values(cells[what]), cells[f"{what}_unit"]) for what in _BASES if what in cells})
        elif rate:
            measured = _Measured({"sent" if rate["what"] == "sending" else "received": Cell.named(rate)["rate"]}, {})
        elif latency:
            cells = Cell.named(latency)
            measured = _Measured({}, {latency["what"]: (latency["names"].split("/"), _values(cells["values"]), cells["unit"])})
        if measured is None or not line.whole or not _is_possible(measured):
            yield Finding(line, Broken("the line is cut short, garbled, or contradicts itself"))
        elif second:
            yield from self._second(line, measured)
        else:
            records = list(_records(measured, "summary"))
            for record in records:
                self._tallies.pop(record.conditions.definition, None)
            yield from self._findings(line, measured, records)

    def _second(self, line: Line, measured: _Measured) -> Iterator[Finding]:
        if not _is_possible(measured):
            yield Finding(line, Broken("latencies that do not ascend, or more names than values"))
            return
        records = list(_records(measured, "interval"))
        yield from self._findings(line, measured, records)
        self._seconds += 1
        for record in records:
            key = record.conditions.definition
            tally = self._tallies.setdefault(key, Tally(line, record))
            self._names.setdefault(key, tuple(number.statistic for number in record.numbers))
            tally.add(line, record, stamp=float(self._seconds), whole=self._seconds > 1)

    def _findings(self, line: Line, measured: _Measured, records: Sequence[Record]) -> Iterator[Finding]:
        if measured.latencies and not self._has_step:
            self._has_step = True
            is_coarse = any(unit == "ms" for *_, unit in measured.latencies.values())
            yield Finding(line, Facts(environment={"clock_resolution_ns": "1000000" if is_coarse else "1000"}))
        yield from (Finding(line, record) for record in records)
        if not records:
            yield Finding(line, None)

    def _read_compact_row(self, text: str) -> _Measured | None:
        cells, position = [], len(text) - len(text.partition("s")[2].lstrip())
        while cell := _CELL.match(text, position):
            cells.append(cell)
            position = cell.end()
        if position != len(text) or [name.endswith("latency") for name in self._columns] != [cell["rate"] is None for cell in cells]:
            return None
        pairs = [(name, Cell.named(cell)) for name, cell in zip(self._columns, cells, strict=True)]
        return _Measured(
            {name: cell["rate"] for name, cell in pairs if "rate" in cell},
            {
                name.partition(" ")[0]: (_STATISTICS[: len(values)], values, cell["unit"])
                for name, cell in pairs
                if "values" in cell and (values := _values(cell["values"]))
            },
        )

    def _csv(self, line: Line, text: str) -> _Measured | None:
        cells = Cell.between(text, ",")
        if len(cells) != len(self._columns) or not all(re.fullmatch(r"-?[0-9]{1,15}(?:\.[0-9]{1,3})?|", cell) for cell in cells[1:]):
            return None
        if cells[0] != self._id:
            self._id = cells[0]
        rates, latencies = {}, dict[str, tuple[list[str], list[Cell], str]]()
        for name, cell in zip(self._columns, cells, strict=True):
            if cell and (rate := _CSV_RATE.fullmatch(name)):
                rates["sent" if rate[1] == "published" else rate[1]] = cell
            elif cell and (latency := _CSV_LATENCY.fullmatch(name)):
                names, values, _ = latencies.setdefault(latency["what"] or "consumer", ([], [], latency["unit"]))
                names.append(latency["name"].removesuffix(" p."))
                values.append(cell)
        return _Measured(rates, latencies) if line.whole else None


def _values(cells: Cell) -> list[Cell]:
    return [Cell(match[0], cells.start + match.start()) for match in re.finditer("[^/]+", cells)]


def _is_possible(measured: _Measured) -> bool:
    for names, values, _ in measured.latencies.values():
        ordered = [int(value) for name, value in zip(names, values, strict=False) if name != "avg"]
        if len(names) != len(values) or any(low > high for low, high in pairwise(ordered)):
            return False
    return True


def _records(measured: _Measured, scope: Scope) -> Iterator[Record]:
    rates, record = measured.rates, Record(test="throughput", payload_bytes=None, numbers=(), scope=scope)
    sent = [_rate(metric, rates[name]) for name, metric in (("sent", "offered_rate"), ("confirmed", "acknowledged_rate")) if name in rates]
    if sent:
        conditions = Conditions(definition="rabbitmq-published", acks="confirm" if "confirmed" in rates else None)
        yield replace(record, numbers=tuple(sent), side="publisher", conditions=conditions)
    if "received" in rates:
        yield replace(
            record, numbers=(_rate("message_rate", rates["received"]),), side="subscriber", conditions=Conditions(definition="rabbitmq-received")
        )
    for what, (names, values, unit) in measured.latencies.items():
        if {*values} != _UNMEASURED:
            step, marks = (1e6, ("drops_samples",) if what == "consumer" else ()) if unit == "ms" else (1e3, ())
            numbers = tuple(_latency(_statistic(name), value, step, marks) for name, value in zip(names, values, strict=True))
            side = "subscriber" if what == "consumer" else "publisher"
            yield replace(record, test="latency", numbers=numbers, side=side, conditions=_BASES[what])


def _latency(statistic: str, cell: Cell, step: float, marks: tuple[str, ...]) -> Number:
    value = int(cell) * step
    # Two unrelated clocks cause a latency of centuries.
    return printed("latency", statistic, value, step, marks, cell=cell) if value < COUNT_LIMIT else impossible("latency", statistic, marks, cell=cell)


def _statistic(name: str) -> str:
    return {"median": "p50", "avg": "mean"}.get(name, name if name in ("min", "max") else f"p{name.removesuffix('th')}")


def _rate(metric: str, cell: Cell) -> Number:
    """Return a rate. The tool cuts off the decimals of rates from 10 on, and prints a rate of exactly 0 without decimals."""
    return printed(metric, "mean", float(cell.replace(",", ".")), unit_of_last_decimal(cell), zero_is_exact=cell == "0", cell=cell)
