"""nats bench of the NATS command line: rates of publishers and subscribers, and since 0.3 the times of their calls.

A line states the options. Up to 0.1, a process has publishers and subscribers. In later versions, it has clients of only one kind::

    23:38:08 Starting pub/sub benchmark [msgs=1,000,000, msgsize=16 B, pubs=1, subs=2, js=false]
    NATS Pub/Sub stats: 7,123,965 msgs/sec ~ 108.70 MB/sec
     Pub stats: 1,190,144 msgs/sec ~ 18.16 MB/sec
     Sub stats: 5,937,525 msgs/sec ~ 90.60 MB/sec
      [1] 1,187,633 msgs/sec ~ 18.12 MB/sec (1000000 msgs)
    12:45:18 Starting Core NATS publisher benchmark [clients=1, msg-size=16 B, msgs=1,000,000, multi-subject=false, sleep=0s, subject=foo]
    NATS Core NATS publisher stats: 14,786,683 msgs/sec ~ 226 MiB/sec ~ 0.07us
    NATS Core NATS publisher stats: 3,224,372 msgs/sec ~ 394 MiB/sec ~ min: 0us ~ avg: 0.21us ~ max: 205.08us ~ P50: 0.08us ~ ... ~ P99.9: 21.41us

If there are several clients, each has a line, and a last line is for all together (``aggregated stats:``). ``--csv`` writes a row for each client.

"MB" of old versions are 2^20 bytes. The first line of old versions is left out: it is the sum of sent and received messages. In 0.2, the time after
the rate is one divided by the rate. In newer versions, it is the duration of the client's call: a publish call into a buffer (``send_call``), a
request and its answer, or the time until the server acknowledged. It is never the time of a delivery. Fetches and batched gets return before the
messages arrive, so their times are left out. A subscriber in a separate process prints the size in its own options, not the size of the received
messages. If this is the default (128 B) or unknown, the size is unknown, and the rate in bytes is left out, because the tool computes it from this
size. The standard deviation of times is wrong (the tool subtracts a mean in microseconds from nanoseconds) and is left out. ``MsgCount`` in CSV is
left out, because it counts the messages of the connection in both directions. CSV states neither the kind of the clients nor the size. The size is
computed from bytes and rates, if only one size is possible.

Conditions are on the line of options: the size, if it is printed in bytes; the number of publishers and subscribers; one subject (``topics``);
memory as storage (``durability``); replicas; and the load. All other options that change how messages are sent, and the kind of the clients, are
settings.
Source: cli/bench_command.go and internal/bench/stats.go of nats-io/natscli, bench/bench.go of nats-io/nats.go; samples in tests/formats/nats_bench/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from math import ceil, floor
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from tacholog.formats.kit import (
    DERIVED,
    MICROSECOND,
    Basis,
    Broken,
    Cell,
    Conditions,
    Detected,
    Dialect,
    Facts,
    Finding,
    Line,
    LineStart,
    LoadMode,
    Number,
    Record,
    Side,
    States,
    is_size,
    printed,
    settings_text,
)

SYSTEM = "NATS"
TOOL = "nats bench"
EXPANDS_TABS = True
DIALECTS = (
    Dialect("0.4", "0.3 and later: times of the calls", "logs recorded with 0.4.0"),
    Dialect("0.2", "0.2: kinds of clients, and one divided by the rate", "published logs"),
    Dialect("0.1", "before 0.2: publishers and subscribers in one process", "published logs"),
    Dialect("csv", "all, with --csv", "files recorded with 0.4.0"),
)
DEFINITIONS = {
    "nats-bench-publisher": "Messages that a client handed to its connection, divided by the time until the last message was flushed to the server. "
    "The receipt of the messages is not measured. send_call: the time of each publish call, which fills a buffer.",
    "nats-bench-publisher-or-requester": "Messages that a client published or requested, divided by the time until the last message was flushed. "
    "The log does not state whether the client waited for answers or acknowledgements. send_call: the time of each call of the client.",
    "nats-bench-subscriber": "Messages that a client received, divided by the time from its first to its last message.",
    "nats-bench-acknowledged": "From the call that publishes a message until the call returns with the server's acknowledgement. Rates are of "
    "acknowledged messages.",
    "nats-bench-batch": "From the first publish call of a batch until the server has acknowledged the whole batch.",
    "nats-bench-request": "From a request until its answer, on the clock of the client, which sends one request at a time.",
}
_STATED = "load_mode payload_bytes publishers durability replication_factor topics"
STATES = {
    "latency": States(always="basis definition settings", sometimes=f"{_STATED} demand"),
    "throughput": States(always="definition", sometimes=f"{_STATED} subscribers settings"),
}


class _ClientKind(NamedTuple):
    definition: str
    side: Side
    rate: str
    goodput: str | None = None
    basis: Basis | None = None
    has_send_calls: bool = False


_PUBLISHER = _ClientKind("nats-bench-publisher", "publisher", "offered_rate", "offered_goodput", has_send_calls=True)
_EITHER = _PUBLISHER._replace(definition="nats-bench-publisher-or-requester")
_SUBSCRIBER = _ClientKind("nats-bench-subscriber", "subscriber", "message_rate", "goodput")
_ACKNOWLEDGED = _ClientKind("nats-bench-acknowledged", "publisher", "acknowledged_rate", "acknowledged_goodput", "pub-to-ack")
_BATCH = _ACKNOWLEDGED._replace(definition="nats-bench-batch")
_REQUEST = _ClientKind("nats-bench-request", "publisher", "call_rate", None, "rtt")
_KINDS: Mapping[str, _ClientKind] = {
    "Core NATS publisher": _PUBLISHER,
    "Core NATS subscriber": _SUBSCRIBER,
    "Core NATS service requester": _REQUEST,
    "JetStream synchronous publisher": _ACKNOWLEDGED,
    "JetStream asynchronous publisher": _BATCH,
    "JetStream batched publisher": _BATCH,
    "JetStream ordered ephemeral consumer": _SUBSCRIBER,
    "JetStream durable consumer (callback)": _SUBSCRIBER,
    "JetStream durable consumer (fetch)": _SUBSCRIBER,
    "JetStream ordered ephemeral consumer (old API)": _SUBSCRIBER,
    "JetStream durable push consumer (old API)": _SUBSCRIBER,
    "JetStream durable pull consumer (old API)": _SUBSCRIBER,
    "JetStream synchronous getter": _REQUEST,
    "JetStream batched direct getter": _SUBSCRIBER,
    "JetStream KV putter": _ACKNOWLEDGED,
    "JetStream KV getter": _REQUEST,
    "Pub": _EITHER,
    "Sub": _SUBSCRIBER,
}

_TIME = r"(?:(?:[0-9]{4}/[0-9]{2}/[0-9]{2} )?[0-9]{2}:[0-9]{2}:[0-9]{2} )?"
_BANNER = re.compile(rf"{_TIME}Starting (?:(?P<label>[A-Za-z/()-][A-Za-z/() -]{{0,60}}) )?benchmark \[(?P<options>[^\]]{{0,2000}})\]")
_NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3}){1,5}|[0-9]{1,3})"
_US = rf"{_NUMBER}(?:\.[0-9]{{1,2}})?"
_RATES = rf"(?P<rate>{_NUMBER}) msgs/sec ~ (?P<goodput>[0-9]{{1,4}}(?:\.[0-9]{{1,2}})?) (?P<unit>B|[KMGT]i?B)/sec"
_CALLS = rf" ~ min: (?P<min>{_US})us ~ avg: (?P<mean>{_US})us ~ max: (?P<max>{_US})us ~ P50: (?P<p50>{_US})us ~ P90: (?P<p90>{_US})us"
_CALLS += rf" ~ P99: (?P<p99>{_US})us ~ P99\.9: (?P<p99_9>{_US})us"
_RESULT = rf"{_RATES}(?:{_CALLS}| ~ (?P<each>{_US})us)?"
_LABEL = r"(?P<label>[A-Z][A-Za-z() -]{1,60}?)"
_TOTAL = re.compile(rf" {{0,24}}NATS Pub/Sub stats: {_RATES}")
_STATS = re.compile(rf" {{0,24}}(?:NATS {_LABEL}(?P<together> aggregated)?|(?P<old>Pub|Sub)) stats: {_RESULT}")
_CLIENT = re.compile(rf" {{0,24}}\[(?P<client>[1-9][0-9]{{0,5}})\] {_RESULT} \((?P<count>{_NUMBER}|[0-9]{{4,15}}) msgs\)")
_OF_CLIENTS = re.compile(
    rf" {{0,24}}(?:message rates |avg latencies )?min {_US}(?:us)? \| avg {_US}(?:us)? \| max {_US}(?:us)? \| stddev {_US}(?: msgs|us)"
)
_OF_CALLS = re.compile(
    rf" {{0,24}}latencies per operation min (?P<min>{_US})us \| avg (?P<mean>{_US})us \| max (?P<max>{_US})us \| stddev {_US}us"
    rf" \| P50 (?P<p50>{_US})us \| P90 (?P<p90>{_US})us \| P99 (?P<p99>{_US})us \| P99\.9:? (?P<p99_9>{_US})us"
)
_STARTS = re.compile(r" {0,24}(?:NATS [A-Z][^:]{0,80} stats: |(?:Pub|Sub) stats: |\[[0-9]{1,6}\] [0-9,]{1,20} msgs/sec|latencies per operation )")
_IS_CLIENT = re.compile(r" {0,24}\[")
_HEADER = re.compile(r"#RunID,ClientID,MsgCount,MsgBytes,MsgsPerSec,BytesPerSec,DurationSecs(?P<calls>,MinLatencyMicroSecs,[\w.,]{1,200})?")
_MICROS = r"[0-9]{1,12}\.[0-9]{6}"
_ROW = re.compile(
    r"\w{1,40},(?P<role>[PS])(?P<client>[0-9]{1,6}),[0-9]{1,18},(?P<bytes>[0-9]{1,18}),(?P<rate>[0-9]{1,15}),(?P<goodput>[0-9]{1,18}\.[0-9]{6})"
    rf",(?P<seconds>{_MICROS})(?P<calls>,(?P<min>{_MICROS}),(?P<mean>{_MICROS}),(?P<max>{_MICROS}),(?P<p50>{_MICROS}),(?P<p90>{_MICROS})"
    rf",(?P<p99>{_MICROS}),(?P<p99_9>{_MICROS}),{_MICROS})?"
)
_IS_ROW = re.compile(r"\w{1,40},[PS?][0-9]{1,6},[0-9]")
_FAILED = re.compile(
    rf"{_TIME}(?:(?P<error>Error from client [0-9]{{1,6}}: .{{1,500}}|nats(?:\.exe)?: error: .{{1,500}})"
    r"|WARNING: (?P<warning>at least one of the clients disconnected or experienced an error) during the benchmark\..{0,100})"
)
_CHATTER = re.compile(
    rf"{_TIME}(?:(?:\[[0-9]{{1,6}}\] )?Starting [A-Za-z() -]{{1,80}}, (?:publishing|putting|expecting|requesting|trying to get|hit control).{{0,60}}"
    r"|Using (?:stream|bucket): .{1,255}|Purging .{1,255}|(?:Defined|Deleted) durable .{1,255}|JetStream .{1,60} mode[,:] subscriber.{1,120}"
    r"|Benchmark in \w{1,20}/\w{1,20} mode"
    r"|WARNING: at least one of the (?:pull consumer|clients got less) .{1,200}|Fetch {1,2}timeout!|Saved metric data in csv file .{1,1000})"
    r"|.{0,40}\[[=>-]{5,1000}\] {1,4}[0-9]{1,3}%|"
)
_HEAD = LineStart(
    rf"(?:{_TIME}Starting (?:[A-Za-z/() -]{{1,60}} )?benchmark \[[^\]\n]{{0,2000}}msgs=[0-9]"
    r"| {0,24}(?:NATS [A-Z][^:\n]{0,80}|Pub|Sub) stats: [0-9,]{1,20} msgs/sec ~ |#RunID,ClientID,MsgCount,MsgBytes,MsgsPerSec,)"
)
_OTHER = LineStart(r" {0,24}(?!NATS )[A-Z]\w{1,40} Pub/Sub stats: ")  # Centrifuge measures itself with a copy of the tool.
_UNITS = {"B": 1, **{f"{prefix}{end}": 1 << shift for prefix, shift in zip("KMGT", (10, 20, 30, 40), strict=True) for end in ("B", "iB")}}
_CALL_STATISTICS = ("min", "mean", "max", "p50", "p90", "p99", "p99_9")
#: Options that change how messages are sent or received. Other options are conditions, or only names.
_SETTINGS = frozenset(
    [
        *("ack", "acked", "acks", "batch", "consumerbatch", "dedup", "dedup-window", "dedupwindow"),
        *("deduplication", "double-acked", "js", "maxackpending", "multi-subject", "multi-subject-max", "multi-subject-randomize", "multisubject"),
        *("multisubjectmax", "pubbatch", "pubsleep", "pull", "pullbatch", "push", "randomize", "reply"),
        *("request", "sleep", "storage", "subsleep", "syncpub"),
    ]
)
_DEFAULT_SIZE = 128  # in bytes
_MOST_CLIENTS = 4000  # The lines of clients wait for a later line, and a line may wait for at most 4096 lines.
_MOST_SIZES = 1000


def detect(head: str) -> Detected:
    """Return whether the log has the options of a benchmark, a result, or the head of a CSV file."""
    return Detected(
        _HEAD.is_in(head) and not _OTHER.is_in(head),
        wants="'Starting ... benchmark [... msgs=', 'stats: N msgs/sec ~ ', or '#RunID,ClientID,MsgCount,MsgBytes,'",
    )


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield a record of rates for each client and for all clients together, and a record of latencies for clients that wait for an answer."""
    report = _BenchReport()
    for line in lines:
        yield from report.take(line)
    yield from report.close()


class _Options(NamedTuple):
    label: str = ""
    payload_bytes: int | None = None
    messages: int | None = None
    batch: int | None = None
    conditions: Conditions = Conditions()
    settings: Mapping[str, str] = MappingProxyType({})
    is_fast: bool = False

    def number_of(self, label: str) -> int | None:
        return self.conditions.publishers if label == "Pub" else self.conditions.subscribers


def _options(banner: re.Match[str]) -> _Options:
    values = dict(pair.split("=", 1) for pair in re.split(r", | {2,}", banner["options"]) if "=" in pair)
    size = re.fullmatch(r"([1-9][0-9]{0,3}|[0-9]{5,9})(?: B)?", values.get("msg-size", values.get("msgsize", "")))  # "1.0 KiB" is rounded.
    clients, rate = _count(values.get("clients")), _count(values.get("throughput"))
    label = banner["label"] or ""
    side = _KINDS[label].side if label in _KINDS else None
    return _Options(
        label,
        int(size[1]) if size else None,
        _count(values.get("msgs")),
        _count(values.get("batch")),
        Conditions(
            publishers=clients if side == "publisher" else _count(values.get("pubs")),
            subscribers=clients if side == "subscriber" else _count(values.get("subs")),
            topics=1 if values.get("multi-subject", values.get("multisubject")) == "false" else None,
            durability="memory" if values.get("storage") == "memory" else None,
            replication_factor=_count(values.get("replicas")),
            offered_rate_per_s=rate / (clients or 1) if rate else None,
        ),
        {name: value for name, value in values.items() if name in _SETTINGS},
        is_fast=rate is None and values.get("sleep", values.get("pubsleep")) == "0s" and values.get("syncpub") != "true",
    )


def _count(text: str | None) -> int | None:
    return int(text.replace(",", "")) if text and re.fullmatch(_NUMBER + "|[0-9]{1,15}", text) else None


class _BenchReport:
    """The results of one benchmark.

    In old versions, the line with the kind of the clients is before the lines of the clients. In new versions, it is after them.
    """

    def __init__(self) -> None:
        self._options = _Options()
        self._clients: list[Line] = []  # lines of clients whose kind is unknown so far
        self._last_client = 0
        self._of_clients = ""  # the kind of the clients on the next lines
        self._of_calls = ""  # the kind of clients for which the next line may state the times of all clients together
        self._has_calls = False  # whether the rows of the CSV file have times

    def take(self, line: Line) -> Iterator[Finding]:
        text = line.text.rstrip()
        if _STARTS.match(text):
            yield from self._result(line, text)
        elif banner := _BANNER.fullmatch(text):
            yield from self.close()
            self._options = _options(banner)
            self._of_clients = self._options.label
            yield Finding(line, None)
        elif header := _HEADER.fullmatch(text):
            self._has_calls = header["calls"] is not None
            yield Finding(line, None)
        elif _IS_ROW.match(text):
            row = _ROW.fullmatch(text)
            is_row = row is not None and (row["calls"] is not None) == self._has_calls
            yield Finding(line, _row(Cell.named(row)) if row and is_row else Broken("the row is cut short or garbled, or its head is missing"))
        elif failed := _FAILED.fullmatch(text):
            yield Finding(line, Facts(status="failed", reason=failed["error"] or failed["warning"]))
        elif _OF_CLIENTS.fullmatch(text):
            self._of_clients = ""
            yield Finding(line, None)
        elif _CHATTER.fullmatch(text):
            yield Finding(line, None)

    def close(self) -> Iterator[Finding]:
        """End the results of this benchmark. Yield a broken line for each client whose kind is not stated by any line."""
        for client in self._clients:
            yield Finding(client, Broken("no line says what this client did"))
        self._clients, self._last_client, self._of_clients, self._of_calls = [], 0, "", ""

    def _result(self, line: Line, text: str) -> Iterator[Finding]:
        if _TOTAL.fullmatch(text):
            yield from self.close()
            yield Finding(line, None)
        elif (client := _CLIENT.fullmatch(text)) and line.whole:
            yield from self._client(line, client)
        elif (stats := _STATS.fullmatch(text)) and line.whole:
            yield from self._stats(line, stats)
        elif (calls := _OF_CALLS.fullmatch(text)) and line.whole and self._of_calls:
            label, self._of_calls = self._of_calls, ""
            yield from self._records(line, Cell.named(calls), label, "all", self._options.messages)
        else:
            if not _IS_CLIENT.match(text):
                yield from self.close()
            yield Finding(line, Broken("the result is cut short, garbled or out of its place"))

    def _client(self, line: Line, client: re.Match[str]) -> Iterator[Finding]:
        number = int(client["client"])
        if number <= self._last_client or len(self._clients) >= _MOST_CLIENTS:
            yield from self.close()
        self._last_client = number
        if self._of_clients in _KINDS:
            yield from self._records(line, Cell.named(client), self._of_clients, str(number), _count(client["count"]))
        else:
            self._clients.append(line)

    def _stats(self, line: Line, stats: re.Match[str]) -> Iterator[Finding]:
        label = stats["label"] or stats["old"]
        if label not in _KINDS:
            yield from self.close()
            yield Finding(line, Broken(f"a kind of benchmark that this format does not know: {label}"))
            return
        clients, self._clients = self._clients if stats["together"] else [], [] if stats["together"] else self._clients
        for client in clients:
            match = _CLIENT.fullmatch(client.text.rstrip())
            if match:
                yield from self._records(client, Cell.named(match), label, match["client"], _count(match["count"]))
        yield from self.close()
        is_single = self._options.number_of(label) == 1 if stats["old"] else not stats["together"]
        self._of_clients, self._of_calls = "" if is_single else stats["old"] or "", "" if is_single else stats["label"] or ""
        # The publishers together send this number of messages. Subscribers may share the messages, or each may receive all of them.
        samples = self._options.messages if is_single or _KINDS[label].side == "publisher" else None
        yield from self._records(line, Cell.named(stats), label, None if is_single else "all", samples)

    def _do_options_fit(self, label: str, cells: Mapping[str, Cell]) -> bool:
        if label not in (self._options.label, "Pub", "Sub"):
            return False
        size = self._options.payload_bytes
        if size is None or "unit" not in cells:
            return True
        unit = _UNITS[cells["unit"]]
        step = unit * 10.0 ** -len(cells["goodput"].partition(".")[2])
        return abs(_value(cells["rate"]) * size - _value(cells["goodput"]) * unit) <= step + size

    def _records(self, line: Line, cells: dict[str, Cell], label: str, client: str | None, samples: int | None) -> Iterator[Finding]:
        """Yield the records of a client, or of all clients together.

        The times of calls are latencies if the calls wait for an acknowledgement. Such latencies are a separate record, because only latencies have a
        basis, such as the time to an acknowledgement.
        """
        kind = _KINDS[label]
        fits = self._do_options_fit(label, cells)
        options = self._options if fits else _Options()
        if kind is _SUBSCRIBER and options.payload_bytes in (None, _DEFAULT_SIZE) and not options.conditions.publishers:
            kind, options = kind._replace(goodput=None), options._replace(payload_bytes=None)
        if not _ascend(cells):
            yield Finding(line, Broken("times that do not ascend"))
            return
        conditions = _conditions(kind, label, options)
        record = Record(
            test="throughput",
            payload_bytes=options.payload_bytes,
            numbers=(),
            samples=samples if fits or "count" in cells else None,
            side=kind.side,
            participant=f"{kind.side[:3]}{client}" if client and client != "all" else client,
            conditions=replace(conditions, basis=None),
        )
        rates, calls = tuple(_rates(kind, cells, "sum" if client == "all" and kind.side == "subscriber" else "mean")), tuple(_calls(kind, cells))
        if kind.basis == "rtt":
            yield Finding(line, replace(record, test="latency", numbers=(*rates, *calls), conditions=conditions))
            return
        if rates or kind.has_send_calls:
            yield Finding(line, replace(record, numbers=rates if kind.basis else (*rates, *calls)))
        if kind.basis and calls:
            batch = options.batch if kind is _BATCH else None
            batches = ceil(samples / batch) if samples and batch and client != "all" else None
            yield Finding(
                line,
                replace(
                    record,
                    test="latency",
                    numbers=calls,
                    samples=batches if kind is _BATCH else record.samples,
                    conditions=replace(conditions, demand=batch),
                ),
            )
        if not rates and not calls:
            yield Finding(line, None)  # The calls return before their messages arrive, so their times are left out.


def _rates(kind: _ClientKind, cells: Mapping[str, Cell], statistic: str) -> Iterator[Number]:
    if "rate" not in cells:
        return
    unit = 8.0 * _UNITS[cells["unit"]]
    decimals = len(cells["goodput"].partition(".")[2])
    yield printed(kind.rate, statistic, _value(cells["rate"]), 1.0, cell=cells["rate"])
    if kind.goodput:
        yield printed(kind.goodput, statistic, float(round(_value(cells["goodput"]) * unit)), unit * 10.0**-decimals, cell=cells["goodput"])
    if "each" in cells:
        yield _time("interval_per_message", "mean", cells["each"], (DERIVED,))


def _row(cells: Mapping[str, Cell]) -> Record | Broken:
    kind = _EITHER if cells["role"] == "P" else _SUBSCRIBER
    if not _ascend(cells):
        return Broken("times that do not ascend")
    size = _size(int(cells["bytes"]), int(cells["rate"]), float(cells["goodput"]))
    return Record(
        test="throughput",
        payload_bytes=size,
        numbers=(
            printed(kind.rate, "mean", float(cells["rate"]), 1.0, cell=cells["rate"]),
            printed(str(kind.goodput), "mean", round(float(cells["goodput"]) * 8, 6), 8e-6, cell=cells["goodput"]),
            printed("duration", "total", float(round(float(cells["seconds"]) * 1e9)), 1000.0, cell=cells["seconds"]),
            *_calls(kind, cells, step=1.0),
        ),
        samples=int(cells["bytes"]) // size if size else None,
        side=kind.side,
        participant=f"{kind.side[:3]}{int(cells['client']) + 1}",
        conditions=Conditions(definition=kind.definition),
    )


def _conditions(kind: _ClientKind, label: str, options: _Options) -> Conditions:
    waits = kind in (_ACKNOWLEDGED, _REQUEST)
    load_mode: LoadMode | None = "closed" if waits else "max-rate" if options.is_fast and kind.side == "publisher" else None
    if options.conditions.offered_rate_per_s and kind.side == "publisher":
        load_mode = "paced"
    settings = settings_text({**options.settings, **({} if label in ("Pub", "Sub") else {"benchmark": label})})
    return replace(options.conditions, load_mode=load_mode, settings=settings, basis=kind.basis, definition=kind.definition)


def _calls(kind: _ClientKind, cells: Mapping[str, Cell], step: float = 10.0) -> Iterator[Number]:
    metric = "send_call" if kind.has_send_calls else "latency" if kind.basis else None
    for name in _CALL_STATISTICS:
        if metric and name in cells:
            yield _time(metric, name.replace("_", "."), cells[name], step=step)


def _time(metric: str, statistic: str, cell: Cell, marks: tuple[str, ...] = (), step: float = 10.0) -> Number:
    """Return the number for a cell with a time in microseconds.

    In its text output, the tool prints at most two decimals of a microsecond, so the default of ``step`` is 10 ns. Further decimals are cut off, and
    zeros at the end are not printed.
    """
    return printed(metric, statistic, round(_value(cell) * MICROSECOND, 3), step, marks, cell=cell)


def _value(cell: str) -> float:
    return float(cell.replace(",", ""))


def _ascend(cells: Mapping[str, Cell]) -> bool:
    values = [_value(cells[name]) for name in ("min", "p50", "p90", "p99", "p99_9", "max") if name in cells]
    return all(low <= high for low, high in pairwise(values)) and ("mean" not in cells or values[0] <= _value(cells["mean"]) <= values[-1])


def _size(total: int, rate: int, bytes_per_s: float) -> int | None:
    """Return the only message size that is possible; ``None`` if there are several or none.

    The total bytes must be a multiple of the size. The size must also match the printed rate, whose decimals are cut off.
    """
    if rate == 0:
        return None
    lowest, highest = floor((bytes_per_s - 1e-6) / (rate + 1)) + 1, floor((bytes_per_s + 1e-6) / rate)
    if highest - lowest >= _MOST_SIZES:
        return None
    sizes = [size for size in range(max(lowest, 1), highest + 1) if total % size == 0]
    return sizes[0] if len(sizes) == 1 and is_size(sizes[0]) else None
