"""The native log of Tacholog's own ``perftest``: configuration, machine, results and histograms, one fact a line.

A line is a kind and its ``key=value`` pairs; ``docs/native-log.md`` defines them all::

    latency payload_bytes=64 basis=rtt samples=90412 lost=0 ... min_ns=180 p50_ns=402 p99_ns=604 max_ns=91233
    throughput payload_bytes=64 sent=812000 received=811000 lost=1000 ... goodput_bit_per_s=401800192.0
    demand payload_bytes=64 demand=100 recovery_time_ns=5000000 sent=9000 received=9000 lost=0 ... goodput_bit_per_s=10240000

Source: docs/native-log.md of this project; samples in tests/formats/native/, written by perftest itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar, get_args

import msgspec

from tacholog.formats.lines import Broken, Detected, Dialect, Found, Line
from tacholog.records import Basis, Conditions, Facts, Histogram, Number, Record, Side, Test

SYSTEM = "Tacholog perftest"
TOOL = "perftest"
DIALECTS = (Dialect("native/1", "0.1.0 and later", "real logs"),)
DEFINITIONS = {
    "perftest-rtt": "Round trip of a closed-loop ping-pong with one message outstanding, on the publisher's clock: from before the message "
    "is handed over until the subscriber's answer has been taken. Percentiles are nearest-rank over a histogram whose bins are at most 1/1024 "
    "of their value wide.",
    "perftest-rtt-open": "Round trip in an open loop at a fixed rate, on the publisher's clock: from the moment that the schedule gives to the "
    "message, however late it was sent, until the subscriber's answer has been taken. Percentiles as those of perftest-rtt.",
    "perftest-sending": "How late an open loop handed its messages over, beside the schedule; the rate that it kept; and round trips counted from "
    "that moment, which hide what the sender waited for.",
    "perftest-throughput": "Payload bytes and messages taken by the subscriber between its first and last message of a size; lost messages "
    "by sequence number.",
    "perftest-demand": "Bursts of messages, each begun no sooner than the recovery time after the one before it. Both rates are over the time "
    "from the first message to the last, at the publisher and at the subscriber, the rests between bursts included; lost messages by sequence "
    "number.",
    "perftest-resources": "What getrusage counted for one role from the opening of a size's channels to its last message, warm-up included: "
    "processor time, context switches, and the largest resident set of the process since its start.",
}

_PAIR = re.compile(r' ([a-z][a-z0-9_.]*)=(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))')
_KIND = re.compile(r"[a-z]+")
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|.)")
_PLAIN_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_LATENCY_STATISTICS = ("mean", "std", "min", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999", "max")
_COUNTS = ("sent", "received", "lost", "duplicated", "reordered", "corrupted")
_BASES: tuple[Basis, ...] = get_args(Basis)
_TESTS: tuple[Test, ...] = get_args(Test)
_SIDES: Mapping[str, Side] = {"pub": "publisher", "sub": "subscriber"}
_FACT_KINDS = ("host", "clock", "load", "affinity", "socket", "path", "note")

Fields = Mapping[str, str]
Word = TypeVar("Word", bound=str)


def detect(head: str) -> Detected:
    """A native log opens with a ``perftest`` line that names its own dialect."""
    return Detected(re.match(r"perftest [^\n]*\blog=native/1\b", head) is not None, wants="a first line 'perftest ... log=native/1'")


def parse(lines: Iterable[Line]) -> Iterator[Found]:
    """Yield what each line says; a log that stops before its ``end`` line is truncated."""
    warmups: dict[str, str] = {}
    ended = False
    for line in lines:
        kind = _KIND.match(line.text)
        read = _KINDS.get(kind[0]) if kind else None
        if kind is None or read is None:
            if not line.text.strip():
                yield Found(line, None)
            continue
        fields = _fields(line.text[kind.end() :])
        if fields is None or not line.whole:
            yield Found(line, Broken(f"{kind[0]} line is cut short or garbled"))
            continue
        ended = ended or kind[0] == "end"
        yield Found(line, _with_warmup(_read(read, fields, kind[0]), fields, kind[0], warmups))
    if not ended:
        yield Found(None, Facts(status="truncated", reason="the log has no end line: the run was killed, or is still running"))


def _read(read: Reader, fields: Fields, kind: str) -> Record | Facts | Histogram | Broken | None:
    try:
        return read(fields)
    except KeyError as missing:
        return Broken(f"{kind} line without {missing.args[0]}")
    except ValueError as error:
        return Broken(f"{kind} line: {error}")


def _fields(text: str) -> Fields | None:
    """The pairs of a line, or ``None`` if anything is left over between or behind them."""
    fields: dict[str, str] = {}
    at = 0
    while pair := _PAIR.match(text, at):
        fields[pair[1]] = pair[3] if pair[2] is None else _ESCAPE.sub(_unescape, pair[2])
        at = pair.end()
    return fields if at == len(text) else None


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if len(code) == 3 else _PLAIN_ESCAPES.get(code, code)  # noqa: PLR2004


def _count(fields: Fields, key: str) -> int:
    text = fields[key]
    if not (text.isascii() and text.isdigit()) or int(text) >= 2**63:
        raise ValueError(f"{key}={text} is no count")
    return int(text)


def _decimal(fields: Fields, key: str) -> float:
    text = fields[key]
    if re.fullmatch(r"\d{1,19}(\.\d+)?", text) is None:
        raise ValueError(f"{key}={text} is no number")
    return float(text)


def _number(metric: str, statistic: str, fields: Fields, key: str) -> Iterator[Number]:
    if key in fields:
        yield Number(metric=metric, statistic=statistic, value=_decimal(fields, key))


def _payload_bytes(fields: Fields) -> int:
    size = _count(fields, "payload_bytes")
    if size == 0:
        raise ValueError("a payload of 0 bytes")
    return size


def _one_of(known: tuple[Word, ...], fields: Fields, key: str) -> Word:
    for word in known:
        if fields[key] == word:
            return word
    raise ValueError(f"{key}={fields[key]} is not known")


def _basis(fields: Fields) -> Basis:
    return _one_of(_BASES, fields, "basis")


def _latency(fields: Fields) -> Record:
    numbers = [n for name in _LATENCY_STATISTICS for n in _number("latency", name, fields, f"{name}_ns")]
    for name in _COUNTS:
        numbers += _number(f"messages_{name}", "total", fields, name)
    numbers += _number("histogram_overflow", "total", fields, "overflow")
    numbers += _number("duration", "total", fields, "duration_ns")
    return Record(
        test="latency",
        payload_bytes=_payload_bytes(fields),
        numbers=tuple(numbers),
        samples=_count(fields, "samples"),
        side="publisher",
        conditions=Conditions(basis=_basis(fields), definition=_definition(fields)),
    )


def _definition(fields: Fields) -> str:
    if "from" not in fields:
        return "perftest-rtt"
    _one_of(("schedule",), fields, "from")
    return "perftest-rtt-open"


def _sending(fields: Fields) -> Record:
    numbers = [n for name in _LATENCY_STATISTICS for n in _number("latency", name, fields, f"from_send_{name}_ns")]
    numbers += [n for name in _LATENCY_STATISTICS for n in _number("send_lateness", name, fields, f"lateness_{name}_ns")]
    numbers += _number("messages_sent", "total", fields, "sent")
    numbers += _number("offered_rate", "mean", fields, "offered_rate_per_s")
    return Record(
        test="latency",
        payload_bytes=_payload_bytes(fields),
        numbers=tuple(numbers),
        samples=_count(fields, "sent"),
        side="publisher",
        conditions=Conditions(basis=_basis(fields), definition="perftest-sending", offered_rate_per_s=_decimal(fields, "target_rate_per_s")),
    )


def _throughput(fields: Fields) -> Record:
    received, lost = _count(fields, "received"), _count(fields, "lost")
    numbers = [n for name in _COUNTS for n in _number(f"messages_{name}", "total", fields, name)]
    if received + lost:
        numbers.append(Number(metric="loss", statistic="total", value=lost / (received + lost)))
    numbers += _number("message_rate", "mean", fields, "rate_per_s")
    numbers += _number("goodput", "mean", fields, "goodput_bit_per_s")
    numbers += _number("offered_rate", "mean", fields, "offered_rate_per_s")
    numbers += _number("duration", "total", fields, "duration_ns")
    return Record(
        test="throughput",
        payload_bytes=_payload_bytes(fields),
        numbers=tuple(numbers),
        samples=received,
        side="subscriber",
        conditions=Conditions(definition="perftest-throughput"),
    )


def _demand(fields: Fields) -> Record:
    received, lost = _count(fields, "received"), _count(fields, "lost")
    numbers = [n for name in _COUNTS for n in _number(f"messages_{name}", "total", fields, name)]
    if received + lost:
        numbers.append(Number(metric="loss", statistic="total", value=lost / (received + lost)))
    numbers += _number("send_duration", "total", fields, "send_duration_ns")
    numbers += _number("duration", "total", fields, "receive_duration_ns")
    numbers += _number("offered_rate", "mean", fields, "offered_rate_per_s")
    numbers += _number("offered_goodput", "mean", fields, "offered_goodput_bit_per_s")
    numbers += _number("message_rate", "mean", fields, "rate_per_s")
    numbers += _number("goodput", "mean", fields, "goodput_bit_per_s")
    return Record(
        test="demand",
        payload_bytes=_payload_bytes(fields),
        numbers=tuple(numbers),
        samples=received,
        side="both" if "send_duration_ns" in fields else "subscriber",
        conditions=_bursts(fields),
    )


def _resources(fields: Fields) -> Record:
    numbers = [n for name in ("user", "system") for n in _number("cpu_time", name, fields, f"{name}_ns")]
    numbers += [n for name in ("voluntary", "involuntary") for n in _number("context_switches", name, fields, f"{name}_switches")]
    numbers += _number("peak_memory", "max", fields, "peak_memory_bytes")
    numbers += _number("duration", "total", fields, "duration_ns")
    conditions = _bursts(fields) if "demand" in fields else Conditions()
    return Record(
        test=_one_of(_TESTS, fields, "test"),
        payload_bytes=_payload_bytes(fields),
        numbers=tuple(numbers),
        side=_SIDES[_one_of(tuple(_SIDES), fields, "role")],
        scope="resources",
        conditions=msgspec.structs.replace(conditions, definition="perftest-resources"),
    )


def _bursts(fields: Fields) -> Conditions:
    """What a line of the demand test says of its bursts."""
    demand = _count(fields, "demand")
    if demand == 0:
        raise ValueError("bursts of no messages")
    return Conditions(demand=demand, recovery_time_ns=_count(fields, "recovery_time_ns"), definition="perftest-demand")


def _interval(fields: Fields) -> Record:
    if "demand" in fields:
        return msgspec.structs.replace(_interval_of(fields), test="demand", conditions=_bursts(fields))
    return _interval_of(fields)


def _interval_of(fields: Fields) -> Record:
    is_latency = "messages" in fields
    numbers = [n for name in ("p50", "p99", "max") for n in _number("latency", name, fields, f"{name}_ns")]
    numbers += _number("messages_received", "total", fields, "messages" if is_latency else "received")
    numbers += _number("messages_lost", "total", fields, "lost")
    numbers += _number("duration", "total", fields, "duration_ns")
    return Record(
        test="latency" if is_latency else "throughput",
        payload_bytes=_payload_bytes(fields),
        numbers=tuple(numbers),
        samples=_count(fields, "messages" if is_latency else "received"),
        scope="interval",
        conditions=Conditions(basis="rtt", definition=_definition(fields)) if is_latency else Conditions(definition="perftest-throughput"),
    )


def _histogram(fields: Fields) -> Histogram:
    bins: list[tuple[int, int, int]] = []
    for text in fields["bins"].split(","):
        edges = re.fullmatch(r"(\d{1,19}):(\d{1,19}):(\d{1,19})", text)
        if edges is None:
            raise ValueError(f"bin {text[:40]!r} is not lower:upper:count")
        bins.append((int(edges[1]), int(edges[2]), int(edges[3])))
    return Histogram(payload_bytes=_payload_bytes(fields), basis=_basis(fields), bins=tuple(bins))


def _opening(fields: Fields) -> Facts:
    environment = {f"perftest_{key}": value for key, value in fields.items() if key not in ("version", "log")}
    return Facts(tool_version=fields["version"], system_version=fields["version"], environment=environment)


def _config(fields: Fields) -> Facts:
    wanted = {
        "transport": fields.get("transport"),
        "data_path": fields.get("data_path"),
        "payload_touched": fields.get("touch"),
        "reliability": fields.get("reliability"),
        "load_mode": fields.get("load_mode"),
        "waiting": fields.get("waiting"),
        "warmup": fields.get("warmup"),
        "publishers": _count(fields, "publishers") if "publishers" in fields else None,
        "subscribers": _count(fields, "subscribers") if "subscribers" in fields else None,
        "offered_rate_per_s": _decimal(fields, "rate_per_s") if "rate_per_s" in fields else None,
        "planned_duration_s": _decimal(fields, "duration_s") if "duration_s" in fields else None,
    }
    try:
        conditions = msgspec.convert({name: value for name, value in wanted.items() if value is not None}, Conditions)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    return Facts(conditions=conditions, environment={"perftest_command": fields["command"]} if "command" in fields else {})


def _start(fields: Fields) -> Facts:
    return Facts(start_time=fields["time"])


def _error(fields: Fields) -> Facts:
    return Facts(status="failed", reason=fields["text"])


def _end(fields: Fields) -> Facts:
    if fields["status"] not in ("ok", "failed"):
        raise ValueError(f"status={fields['status']} is not known")
    return Facts(status="failed" if fields["status"] == "failed" else "ok")


def _nothing(_: Fields) -> None:
    """Lines that the tool is known to print and that state nothing about the results."""


Reader = Callable[[Fields], Record | Facts | Histogram | None]


def _facts_of(kind: str) -> Reader:
    def facts(fields: Fields) -> Facts:
        scope = fields.get("role") or fields.get("at")
        prefix = f"{kind}_{scope}" if scope else kind
        return Facts(environment={f"{prefix}_{key}": value for key, value in fields.items() if key not in ("role", "at")})

    return facts


_KINDS: Mapping[str, Reader] = {
    "perftest": _opening,
    "config": _config,
    "start": _start,
    "warmup": _nothing,
    "interval": _interval,
    "latency": _latency,
    "histogram": _histogram,
    "throughput": _throughput,
    "demand": _demand,
    "resources": _resources,
    "sending": _sending,
    "error": _error,
    "end": _end,
    **{kind: _facts_of(kind) for kind in _FACT_KINDS},
}


def _with_warmup(
    found: Record | Facts | Histogram | Broken | None, fields: Fields, kind: str, warmups: dict[str, str]
) -> Record | Facts | Histogram | Broken | None:
    """Note the outcome of each size's warm-up, and put it on the results of that size."""
    size = fields.get("payload_bytes", "")
    if kind == "warmup":
        warmups.clear()  # Sizes are run one after another: keeping more than the last would let a hostile log fill the memory.
        warmups[size] = fields.get("outcome", "")
    if isinstance(found, Record) and warmups.get(size):
        return msgspec.structs.replace(found, conditions=msgspec.structs.replace(found.conditions, warmup=warmups[size]))
    return found
