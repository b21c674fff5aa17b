"""The native log of Tacholog's own ``perftest``: configuration, machine, results and histograms, one fact a line.

A line is a kind and its ``key=value`` pairs; ``docs/native-log.md`` defines them all::

    latency payload_bytes=64 basis=rtt samples=90412 lost=0 ... min_ns=180 p50_ns=402 p99_ns=604 max_ns=91233
    throughput payload_bytes=64 sent=812000 received=811000 lost=1000 ... goodput_bit_per_s=401800192.0
    sustain payload_bytes=64 basis=rtt ... goal_statistic=p99 goal_latency_ns=100000 ... outcome=found trials=21 rate_per_s=63000 ...
    demand payload_bytes=64 demand=100 recovery_time_ns=5000000 sent=9000 received=9000 lost=0 ... goodput_bit_per_s=10240000

Conditions are the lines ``config`` and ``settings``, as docs/native-log.md defines them. Environment is what describes the machine, the build, and
what the kernel counted: it sets machines and builds apart, which comparisons ask for by other ways.
Source: docs/native-log.md of this project; samples in tests/formats/native/, written by perftest itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import get_args

import msgspec

from tacholog.formats.kit import (
    Basis,
    Bins,
    Broken,
    Conditions,
    Detected,
    Dialect,
    Facts,
    Field,
    Found,
    Histogram,
    Line,
    LineRule,
    Number,
    Order,
    Reach,
    Record,
    Side,
    States,
    Test,
    settings_text,
)
from tacholog.formats.native import of_tools
from tacholog.formats.native.line import (
    LATENCY_STATISTICS,
    Fields,
    count,
    decimal,
    lacks,
    number,
    one_of,
    pairs_of,
    payload_bytes,
    unknown_kind_of_result,
)
from tacholog.formats.native.search import sustain, trial

SYSTEM = "Tacholog perftest"
TOOL = "perftest"
DIALECTS = (
    Dialect("native/1", "0.1.0 and later", "real logs"),
    Dialect("search/1", "of tacholog sustain, 0.4.0 and later", "real logs"),
)
DEFINITIONS = {
    "perftest-rtt": "Round trip of a closed-loop ping-pong with one message outstanding, on the publisher's clock: from before the message "
    "is handed over until the subscriber's answer has been taken. Percentiles are nearest-rank over a histogram whose bins are at most 1/1024 "
    "of their value wide.",
    "perftest-rtt-open": "Round trip in an open loop at a fixed rate, on the publisher's clock: from the moment that the schedule gives to the "
    "message, however late it was sent, until the subscriber's answer has been taken. Percentiles as those of perftest-rtt.",
    "perftest-rtt-probe": "Round trip of a probe under load: every so many messages of a throughput test (as the log says) one is answered; on the "
    "publisher's clock, from before the message is handed over until its answer has been taken, which the publisher does between messages. "
    "Percentiles as those of perftest-rtt.",
    "perftest-one-way": "The way there alone, in an open loop at a fixed rate: from the moment that the schedule gives to the message, however late "
    "it was sent, until the subscriber has taken and read it, both on the one monotonic clock of their host. Percentiles as those of perftest-rtt.",
    "perftest-sending": "How late an open loop handed its messages over, beside the schedule; the rate that it kept; and round trips counted from "
    "that moment, which hide what the sender waited for.",
    "perftest-throughput": "Payload bytes and messages taken by the subscriber between its first and last message of a size; lost messages "
    "by sequence number.",
    "perftest-demand": "Bursts of messages, each begun no sooner than the recovery time after the one before it. Both rates are over the time "
    "from the first message to the last, at the publisher and at the subscriber, the rests between bursts included; lost messages by sequence "
    "number.",
    "perftest-aggregate": "What all subscribers of one publisher received, or one subscriber of all its publishers, taken together: messages, loss "
    "and the other counts summed; of the rates of perftest-throughput or perftest-demand the least (min), at which everybody was served, and "
    "their sum. Sent messages count once.",
    "perftest-sustain": "The highest rate of an open loop of round trips whose trials keep a goal of latency and loss, as a search by the procedure "
    "of RFC 9971 (MLRsearch) found it: the relevant lower bound, confirmed by trials of full length. Lost is every message of the schedule "
    "without an answer, also one that was never sent. The relevant upper bound, at which the goal was missed, is at most the goal width above it.",
    **of_tools.DEFINITIONS,
    "perftest-resources": "What getrusage counted for one role from the opening of a size's channels to its last message, warm-up included: "
    "processor time, context switches, and the largest resident set of the process since its start (without peak_memory_from: at most that).",
}
STATES = {
    "demand": States(
        always="transport reach data_path payload_touched reliability demand recovery_time_ns batch_bytes publishers "
        "subscribers load_mode waiting tuning warmup definition planned_duration_s payload_bytes tool_version",
        sometimes="",
    ),
    "latency": States(
        always="transport reach data_path payload_touched reliability batch_bytes publishers subscribers load_mode "
        "waiting tuning warmup basis definition planned_duration_s payload_bytes tool_version",
        sometimes="offered_rate_per_s",
    ),
    "sustain": States(
        always="transport load_mode basis goal definition planned_duration_s tool_version",  # all that the search over another tool knows
        sometimes="reach data_path payload_touched reliability batch_bytes publishers subscribers waiting tuning warmup payload_bytes settings",
    ),
    "throughput": States(
        always="transport reach data_path payload_touched reliability batch_bytes publishers subscribers load_mode "
        "waiting tuning warmup definition planned_duration_s payload_bytes tool_version",
        sometimes="keyed instances offered_rate_per_s settings",
    ),
}

# What the line does not print, from what it prints. The first formula counts whose fields all stand on the line.
COMPUTED = {
    ("cpu_per_message", "mean"): ("(sides_ns + companion_ns) / messages", "sides_ns / messages"),
    ("loss", "total"): ("lost / (received + lost)",),
}

_Read = Record | Facts | Histogram | Broken | None
_KIND = re.compile(r"[a-z]+")
_COUNTS = ("sent", "received", "lost", "duplicated", "reordered", "corrupted", "dropped")
_BASES: tuple[Basis, ...] = get_args(Basis)
_TESTS: tuple[Test, ...] = get_args(Test)
_SIDES: Mapping[str, Side] = {"pub": "publisher", "sub": "subscriber"}
_MESSAGES = re.compile(r"\d{1,15}", re.ASCII)
_OUTCOMES = ("steady", "not_steady", "fixed")
# Versions whose log has no `reach` had these transports.
_REACH_BEFORE_IT_WAS_LOGGED: Mapping[str, Reach] = {
    **dict.fromkeys(("inter-thread", "mock"), "process"),
    **dict.fromkeys(("shm", "shm-zero-copy", "uds"), "host"),
    **dict.fromkeys(("tcp", "udp", "udp-multicast", "udp-reliable", "udp-wan", "udp-xdp"), "network"),
}
# What perftest prints on standard error, also behind the signs of progress that it prints in the hmbdc dialect.
_MESSAGE = re.compile(r"[xC.]{0,64}perftest: (?P<note>note: )?(?P<text>.{1,1000})")
_BIN = re.compile(r"[0-9]{1,19}+:[0-9]{1,19}+:[0-9]{1,19}+")
_BINS = re.compile(rf"(?:{_BIN.pattern},)*{_BIN.pattern}")  # A possessive group matches wrongly before Python 3.11.4.
_FACT_KINDS = ("host", "clock", "load", "affinity", "socket", "companion", "path", "way", "note")


# Intervals are what a long run prints most of; the others stand once a size. Their numbers, each under its key:
_OF_INTERVALS = (
    *(("latency", name, f"{name}_ns") for name in ("p50", "p99", "max")),
    ("messages_received", "total", "messages"),
    ("messages_received", "total", "received"),
    ("messages_lost", "total", "lost"),
    ("duration", "total", "duration_ns"),
)


def _intervals(test: Test, counted: str, *keys: str) -> LineRule:
    """Interval lines of one size. Behind its warm-up another size may have other conditions."""
    said = ("payload_bytes", "index", "duration_ns", counted, *keys)
    return LineRule(
        "interval" + "".join(f" {key}=(?P<{key}>[0-9]{{1,15}}+)" for key in said),
        fields=[Field(*number, is_exact=True) for number in _OF_INTERVALS],
        record=Record(test=test, payload_bytes=None, numbers=(), scope="interval"),
        order=(Order("another size has begun", lambda now, before: now["payload_bytes"] == before["payload_bytes"]),),
        size="payload_bytes",
        samples=counted,
    )


BULK = (*_intervals("throughput", "received", "lost").bulk, *_intervals("latency", "messages", "p50_ns", "p99_ns", "max_ns").bulk)


def detect(head: str) -> Detected:
    """A native log opens with a line that names its own dialect."""
    found = re.match(r"perftest [^\n]*\blog=native/1\b|search log=search/1\b", head) is not None
    return Detected(found, wants="a first line 'perftest ... log=native/1' or 'search log=search/1'", names_itself=found)


def parse(lines: Iterable[Line]) -> Iterator[Found]:
    """Yield what each line says; a log that stops before its ``end`` line is truncated."""
    run = _Run()
    search = _TrialsInOrder()
    kinds = _KINDS
    ended = False
    for line in lines:
        kind = _KIND.match(line.text)
        if line.text.startswith("search "):
            kinds = _KINDS_OF_TOOLS
        read = kinds.get(kind[0]) if kind else None
        if kind is None or read is None:
            if not line.text.strip():
                yield Found(line, None)
            continue
        run.met(kind[0])
        fields = pairs_of(line.text, kind.end())
        if fields is None or not line.whole or lacks(kind[0], fields):
            yield Found(line, Broken(f"{kind[0]} line is cut short or garbled"))
            continue
        ended = ended or kind[0] == "end"
        found = search.check(kind[0], fields, _read(read, fields, kind[0]))
        yield Found(line, run.said_of(found, fields, kind[0]))
    if not ended:
        yield Found(None, Facts(status="truncated", reason="the log has no end line: the run was killed, or is still running"))


class _Run:
    """What the lines of a run say of each other."""

    def __init__(self) -> None:
        self._phase = _Phase()
        self._is_open = self._is_one_of_several = self._has_companion = False

    def met(self, kind: str) -> None:
        """A line of this kind stands here, which may be broken."""
        if kind == "perftest":
            # The run before was killed, or two wrote at the same time. Then nobody knows which lines belong together.
            self._is_one_of_several = self._is_open
            self._phase, self._is_open, self._has_companion = _Phase(), True, self._is_open and self._has_companion
        elif kind == "end":
            self._is_open = False
        elif kind == "companion":
            self._has_companion = True

    def said_of(self, found: _Read, fields: Fields, kind: str) -> _Read:
        """Return a finding with what other lines of the run say of it."""
        if kind == "cost" and self._has_companion and "companion_ns" not in fields:
            return Broken("cost line without companion_ns, although the run has started a program that takes processor time")
        return found if self._is_one_of_several else self._phase.said_of(found, fields, kind)


class _Phase:
    """The size that is measured: what its warm-up says of its results. Sizes are run one after another, and only the last is kept."""

    def __init__(self) -> None:
        self._size: str | None = None
        self._outcome = ""
        self._warmed: int | None = None  # How many messages the warm-up had,
        self._measured: int | None = None  # and how many round trips were measured behind it.

    def said_of(self, found: _Read, fields: Fields, kind: str) -> _Read:
        """Return a finding with the outcome of its size's warm-up, and the use of resources with the number of round trips that it was for."""
        size = fields.get("payload_bytes", "")
        if kind == "warmup":
            outcome = fields.get("outcome", "")
            self._size, self._outcome, self._measured = size, outcome if outcome in _OUTCOMES else "", None
            self._warmed = int(messages[0]) if (messages := _MESSAGES.fullmatch(fields.get("messages", ""))) else None
        if not isinstance(found, Record) or size != self._size:
            return found
        if kind == "latency":
            self._measured = found.samples
        elif kind == "resources" and found.test == "latency" and self._warmed is not None and self._measured is not None:
            found = msgspec.structs.replace(found, samples=self._warmed + self._measured)
        if not self._outcome:
            return found
        return msgspec.structs.replace(found, conditions=msgspec.structs.replace(found.conditions, warmup=self._outcome))


class _TrialsInOrder:
    """The trials of a search are counted: one that stands twice was not carried out twice."""

    def __init__(self) -> None:
        self._last = -1

    def check(self, kind: str, fields: Fields, found: _Read) -> _Read:
        if kind == "sustain":
            self._last = -1
        if kind != "trial" or isinstance(found, Broken):
            return found
        try:
            index = count(fields, "index")
        except (KeyError, ValueError) as error:
            return Broken(f"trial line: {error}")
        last, self._last = self._last, max(self._last, index)
        return found if index > last else Broken(f"trial {index} stands after trial {last}")


def read_in_any_log(line: Line) -> Found | None:
    """Read a message that perftest prints beside a log of any dialect that it writes: why the run failed, or a note without meaning for results."""
    message = _MESSAGE.fullmatch(line.text)
    if message is None:
        return None
    return Found(line, None if message["note"] else Facts(status="failed", reason=message["text"]))


def _read(read: Reader, fields: Fields, kind: str) -> _Read:
    try:
        what = read(fields)
        unknown = unknown_kind_of_result(kind, fields)
        return what if unknown is None else Broken(f"{kind} line is of something this version does not know: {unknown}={fields[unknown]}")
    except KeyError as missing:
        return Broken(f"{kind} line without {missing.args[0]}")
    except ValueError as error:
        return Broken(f"{kind} line: {error}")


def _basis(fields: Fields) -> Basis:
    return one_of(_BASES, fields, "basis")


def _latency(fields: Fields) -> Record:
    numbers = [n for name in LATENCY_STATISTICS for n in number("latency", name, fields, f"{name}_ns")]
    for name in _COUNTS:
        numbers += number(f"messages_{name}", "total", fields, name)
    numbers += number("messages_late", "total", fields, "late")
    numbers += _instances(fields, "total")
    numbers += number("histogram_overflow", "total", fields, "overflow")
    numbers += number("duration", "total", fields, "duration_ns")
    return Record(
        test="latency",
        payload_bytes=payload_bytes(fields),
        numbers=tuple(numbers),
        samples=count(fields, "samples"),
        side="subscriber" if fields["basis"] == "one-way" else "publisher",
        conditions=Conditions(basis=_basis(fields), definition=_definition(fields)),
    )


def _definition(fields: Fields) -> str:
    if "probe_every" in fields:
        return "perftest-rtt-probe"
    if "from" not in fields:
        return "perftest-rtt"
    one_of(("schedule",), fields, "from")
    return "perftest-one-way" if fields.get("basis") == "one-way" else "perftest-rtt-open"


def _sending(fields: Fields) -> Record:
    numbers = [n for name in LATENCY_STATISTICS for n in number("latency", name, fields, f"from_send_{name}_ns")]
    numbers += [n for name in LATENCY_STATISTICS for n in number("send_lateness", name, fields, f"lateness_{name}_ns")]
    numbers += number("messages_sent", "total", fields, "sent")
    numbers += number("offered_rate", "mean", fields, "offered_rate_per_s")
    return Record(
        test="latency",
        payload_bytes=payload_bytes(fields),
        numbers=tuple(numbers),
        samples=count(fields, "sent"),
        side="publisher",
        conditions=Conditions(basis=_basis(fields), definition="perftest-sending", offered_rate_per_s=decimal(fields, "target_rate_per_s")),
    )


def _counts(fields: Fields) -> list[Number]:
    """What became of messages."""
    received, lost = count(fields, "received"), count(fields, "lost")
    numbers = [n for name in _COUNTS for n in number(f"messages_{name}", "total", fields, name)]
    if received + lost:
        numbers.append(Number(metric="loss", statistic="total", value=lost / (received + lost)))
    return numbers


def _instances(fields: Fields, statistic: str) -> list[Number]:
    """Of keyed data, of how many instances something came."""
    if "instances_heard" not in fields:
        return []
    heard, instances = count(fields, "instances_heard"), count(fields, "instances")
    if heard > instances:
        raise ValueError(f"{heard} of {instances} instances were heard")
    return [Number(metric="instances_heard", statistic=statistic, value=heard)]


def _throughput(fields: Fields) -> Record:
    numbers = _counts(fields) + _instances(fields, "total")
    numbers += number("message_rate", "mean", fields, "rate_per_s")
    numbers += number("goodput", "mean", fields, "goodput_bit_per_s")
    numbers += number("offered_rate", "mean", fields, "offered_rate_per_s")
    numbers += number("duration", "total", fields, "duration_ns")
    return Record(
        test="throughput",
        payload_bytes=payload_bytes(fields),
        numbers=tuple(numbers),
        samples=count(fields, "received"),
        side="subscriber",
        participant=fields.get("participant"),
        conditions=Conditions(definition="perftest-throughput", batch_bytes=_alone(fields)),
    )


def _alone(fields: Fields) -> int | None:
    """No bytes to a batch where each message of this size went alone, whatever the run was told; else what it was told."""
    return 0 if "batch_messages" in fields and count(fields, "batch_messages") == 1 else None


def _demand(fields: Fields) -> Record:
    numbers = _counts(fields) + _instances(fields, "total")
    numbers += number("send_duration", "total", fields, "send_duration_ns")
    numbers += number("duration", "total", fields, "receive_duration_ns")
    numbers += number("offered_rate", "mean", fields, "offered_rate_per_s")
    numbers += number("offered_goodput", "mean", fields, "offered_goodput_bit_per_s")
    numbers += number("message_rate", "mean", fields, "rate_per_s")
    numbers += number("goodput", "mean", fields, "goodput_bit_per_s")
    return Record(
        test="demand",
        payload_bytes=payload_bytes(fields),
        numbers=tuple(numbers),
        samples=count(fields, "received"),
        side="both" if "send_duration_ns" in fields else "subscriber",
        participant=fields.get("participant"),
        conditions=msgspec.structs.replace(_bursts(fields), batch_bytes=_alone(fields)),
    )


def _aggregate(fields: Fields) -> Record:
    numbers = _counts(fields) + _instances(fields, "min")
    for statistic in ("min", "sum"):
        numbers += number("message_rate", statistic, fields, f"rate_{statistic}_per_s")
        numbers += number("goodput", statistic, fields, f"goodput_{statistic}_bit_per_s")
    numbers += number("offered_rate", "mean", fields, "offered_rate_per_s")
    conditions = _bursts(fields) if "demand" in fields else Conditions()
    return Record(
        test=one_of(_TESTS, fields, "test"),
        payload_bytes=payload_bytes(fields),
        numbers=tuple(numbers),
        samples=count(fields, "received"),
        side="subscriber",
        participant="all",
        conditions=msgspec.structs.replace(
            conditions,
            definition="perftest-aggregate",
            publishers=count(fields, "publishers") if "publishers" in fields else None,
            subscribers=count(fields, "subscribers"),
            batch_bytes=_alone(fields),
        ),
    )


def _resources(fields: Fields) -> Record:
    numbers = [n for name in ("user", "system") for n in number("cpu_time", name, fields, f"{name}_ns")]
    numbers += [n for name in ("voluntary", "involuntary") for n in number("context_switches", name, fields, f"{name}_switches")]
    # Without a word on where it was read it is getrusage's, which is at least what the program had that started this one: Python, of a campaign.
    own = "peak_memory_from" in fields
    numbers += [peak if own else msgspec.structs.replace(peak, bound="<") for peak in number("peak_memory", "max", fields, "peak_memory_bytes")]
    numbers += number("duration", "total", fields, "duration_ns")
    conditions = _bursts(fields) if "demand" in fields else Conditions()
    return Record(
        test=one_of(_TESTS, fields, "test"),
        payload_bytes=payload_bytes(fields),
        numbers=tuple(numbers),
        side=_SIDES[one_of(tuple(_SIDES), fields, "role")],
        participant=fields.get("participant"),
        scope="resources",
        conditions=msgspec.structs.replace(conditions, definition="perftest-resources"),
    )


def _cost(fields: Fields) -> Record:
    """The processor time of the sides and of the broker for each message that arrived. It belongs to the row of the throughput."""
    messages, used_ns = count(fields, "messages"), count(fields, "sides_ns") + (count(fields, "companion_ns") if "companion_ns" in fields else 0)
    if messages == 0:
        raise ValueError("the cost of no messages")
    conditions = _bursts(fields) if "demand" in fields else Conditions(definition="perftest-throughput")
    return Record(
        test=one_of(_TESTS, fields, "test"),
        payload_bytes=payload_bytes(fields),
        numbers=(Number(metric="cpu_per_message", statistic="mean", value=used_ns / messages),),
        samples=messages,
        side="both" if "demand" in fields else "subscriber",
        conditions=conditions,
    )


def _bursts(fields: Fields) -> Conditions:
    """What a line of the demand test says of its bursts."""
    demand = count(fields, "demand")
    if demand == 0:
        raise ValueError("bursts of no messages")
    return Conditions(demand=demand, recovery_time_ns=count(fields, "recovery_time_ns"), definition="perftest-demand")


def _interval(fields: Fields) -> Record:
    if "demand" in fields:
        return msgspec.structs.replace(_interval_of(fields), test="demand", conditions=_bursts(fields))
    return _interval_of(fields)


def _interval_of(fields: Fields) -> Record:
    is_latency = "messages" in fields
    return Record(
        test="latency" if is_latency else "throughput",
        payload_bytes=payload_bytes(fields),
        numbers=tuple(found for metric, statistic, key in _OF_INTERVALS for found in number(metric, statistic, fields, key)),
        samples=count(fields, "messages" if is_latency else "received"),
        scope="interval",
        participant=fields.get("participant"),
        conditions=_of_latency(fields) if is_latency else Conditions(definition="perftest-throughput"),
    )


def _of_latency(fields: Fields) -> Conditions:
    """Interval lines of round trips do not name their basis."""
    return Conditions(basis=_basis(fields) if "basis" in fields else "rtt", definition=_definition(fields))


def _histogram(fields: Fields) -> Histogram:
    text = fields["bins"]
    if _BINS.fullmatch(text) is None:
        wrong = next((text for text in text.split(",") if _BIN.fullmatch(text) is None), "")
        raise ValueError(f"bin {wrong[:40]!r} is not lower:upper:count")
    return Histogram(payload_bytes=payload_bytes(fields), basis=_basis(fields), bins=_bins(text.replace(":", ",")))


def _bins(numbers: str) -> Bins:
    found: Iterable[int]
    try:
        found = msgspec.json.decode(f"[{numbers}]", type=list[int])  # Four times as fast as int().
    except msgspec.DecodeError:  # JSON has no leading zeros.
        found = map(int, numbers.split(","))
    try:
        return Bins(found)
    except OverflowError as error:
        raise ValueError("a bin beyond 2^63") from error


def _opening(fields: Fields) -> Facts:
    environment = {f"perftest_{key}": value for key, value in fields.items() if key not in ("version", "log")}
    return Facts(tool_version=fields["version"], system_version=fields["version"], build=fields.get("git"), environment=environment)


def _config(fields: Fields) -> Facts:
    wanted = {
        "transport": fields.get("transport"),
        "reach": fields.get("reach", _REACH_BEFORE_IT_WAS_LOGGED.get(fields.get("transport", ""))),
        "data_path": fields.get("data_path"),
        "payload_touched": fields.get("touch"),
        "reliability": fields.get("reliability"),
        "load_mode": fields.get("load_mode"),
        "waiting": fields.get("waiting"),
        "tuning": fields.get("tuning", "none"),  # A version that does not say it cannot ask for it.
        "warmup": fields.get("warmup"),
        "publishers": count(fields, "publishers") if "publishers" in fields else None,
        "subscribers": count(fields, "subscribers") if "subscribers" in fields else None,
        "keyed": True if "instances" in fields else None,
        "instances": count(fields, "instances") if "instances" in fields else None,
        "offered_rate_per_s": decimal(fields, "rate_per_s") if "rate_per_s" in fields else None,
        "planned_duration_s": decimal(fields, "duration_s") if "duration_s" in fields else None,
        "batch_bytes": count(fields, "batch_bytes") if "batch_bytes" in fields else 0,  # A version that does not say it cannot do it.
    }
    try:
        conditions = msgspec.convert({name: value for name, value in wanted.items() if value is not None}, Conditions)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    return Facts(
        conditions=conditions, environment={f"perftest_{key}": fields[key] for key in ("command", "slow_subscriber", "probe_every") if key in fields}
    )


def _settings(fields: Fields) -> Facts:
    """All settings of the transport, as one condition: which there are depends on the transport."""
    return Facts(conditions=Conditions(settings=settings_text(fields)))


def _transport(fields: Fields) -> Facts:
    """What a transport states of itself. The library of a middleware is what was measured."""
    stated = _facts_of("transport")(fields)
    return msgspec.structs.replace(stated, system=fields.get("library"), system_version=fields.get("library_version"))


def _start(fields: Fields) -> Facts:
    datetime.fromisoformat(fields["time"])  # It raises ValueError: any other text would be sorted and shown as a time.
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


def _facts_of(kind: str) -> Callable[[Fields], Facts]:
    def facts(fields: Fields) -> Facts:
        scope = fields.get("participant") or fields.get("role") or fields.get("at")
        prefix = f"{kind}_{scope}" if scope else kind
        return Facts(environment={f"{prefix}_{key}": value for key, value in fields.items() if key not in ("participant", "role", "at")})

    return facts


_KINDS: Mapping[str, Reader] = {
    "perftest": _opening,
    "config": _config,
    "settings": _settings,
    "transport": _transport,
    "start": _start,
    "warmup": _nothing,
    "interval": _interval,
    "latency": _latency,
    "histogram": _histogram,
    "throughput": _throughput,
    "demand": _demand,
    "aggregate": _aggregate,
    "trial": trial,
    "sustain": sustain,
    "resources": _resources,
    "cost": _cost,
    "sending": _sending,
    "error": _error,
    "end": _end,
    **{kind: _facts_of(kind) for kind in _FACT_KINDS},
}

_KINDS_OF_TOOLS: Mapping[str, Reader] = {**of_tools.KINDS, "note": _facts_of("note"), "error": _error, "end": _end}
