"""The native log of Tacholog's own ``perftest``: configuration, machine, results and histograms, one fact on each line.

A line is a kind and its ``key=value`` pairs; ``docs/native-log.md`` defines them all::

    latency payload_bytes=64 basis=rtt samples=90412 lost=0 ... min_ns=180 p50_ns=402 p99_ns=604 max_ns=91233
    throughput payload_bytes=64 sent=812000 received=811000 lost=1000 ... goodput_bit_per_s=401800192.0
    sustain payload_bytes=64 basis=rtt ... goal_statistic=p99 goal_latency_ns=100000 ... outcome=found trials=21 rate_per_s=63000 ...
    demand payload_bytes=64 demand=100 recovery_time_ns=5000000 sent=9000 received=9000 lost=0 ... goodput_bit_per_s=10240000

Conditions are the lines ``config`` and ``settings``, as docs/native-log.md defines them. The description of the machine, the build and the counts of
the kernel are environment, because comparisons do not use them to distinguish machines and builds.
Source: docs/native-log.md of this project; samples in tests/formats/native/, written by perftest itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

import msgspec

from tacholog.formats.kit import Bins, Broken, Conditions, Detected, Dialect, Facts, Finding, Histogram, Line, Reach, Record, States, settings_text
from tacholog.formats.native.results import (
    BULK,
    RESULTS,
    RESULTS_OF_TOOLS,
    Fields,
    basis_of,
    conditions_under,
    count,
    decimal,
    pairs_of,
    payload_bytes,
    unknown_kind_of_result,
)

__all__ = ["BULK"]
SYSTEM = "Tacholog perftest"
TOOL = "perftest"
DIALECTS = (
    Dialect("native/1", "0.1.0 and later", "real logs"),
    Dialect("search/1", "of tacholog sustain, 0.4.0 and later", "real logs"),
)
DEFINITIONS = {
    "perftest-rtt": "Round trip of a closed-loop ping-pong with one message outstanding, on the publisher's clock: from before the message is "
    "handed over until the subscriber's answer was received. Percentiles are nearest-rank over a histogram. The width of a bin is at most "
    "1/1024 of its value.",
    "perftest-rtt-open": "Round trip in an open loop at a fixed rate, on the publisher's clock: from the scheduled time of the message, even if it "
    "was sent later, until the subscriber's answer was received. Percentiles are as in perftest-rtt.",
    "perftest-rtt-probe": "Round trip of a probe under load, on the publisher's clock. In a throughput test, the subscriber answers one message in "
    "a fixed number, which the log states. The time is from before the message is handed over until its answer was received. The publisher "
    "receives answers between its messages. Percentiles are as in perftest-rtt.",
    "perftest-one-way": "One-way latency in an open loop at a fixed rate: from the scheduled time of the message, even if it was sent later, until "
    "the subscriber has received and read it. Both times are on the monotonic clock of one host. Percentiles are as in perftest-rtt.",
    "perftest-sending": "How late an open loop handed over its messages, compared with the schedule, and the rate that it reached. Also round trips "
    "from the time when the messages were handed over; they do not include the time that the sender waited.",
    "perftest-throughput": "Payload bytes and messages that the subscriber received between the first and the last message of a size. Lost messages "
    "are counted by sequence number.",
    "perftest-demand": "Messages are sent in bursts. Each burst begins no sooner than the recovery time after the previous burst began. "
    "The two rates (publisher and subscriber) are computed over the time from the first message to the last, including the pauses between bursts. "
    "Lost messages are counted by sequence number.",
    "perftest-aggregate": "What all subscribers of one publisher received together, or what one subscriber received from all its publishers. "
    "Messages, losses and other counts are added. For the rates of perftest-throughput or perftest-demand there are two values: the lowest rate "
    "(min) and the sum. Sent messages count once.",
    "perftest-sustain": "The highest rate of an open loop of round trips whose trials met a goal of latency and loss. A search by the procedure of "
    "RFC 9971 (MLRsearch) found it. It is the relevant lower bound, confirmed by trials of full length. Each scheduled message without an "
    "answer is lost, even if it was never sent. The goal was missed at the relevant upper bound, which is higher by at most the goal width.",
    "sustain-of-tool": "The highest requested rate of a tool whose trials met a goal of latency and loss. A search by the procedure of RFC 9971 "
    "(MLRsearch) found it. It is the relevant lower bound, confirmed by trials of full length. The tool itself prints latency and loss, by the "
    "definition that the goal names. A trial also fails if the tool states that it sent less than 99.9 % of the rate.",
    "trial-of-tool": "The figures that a tool printed for one trial of a search for the sustained rate, by its own definition of latency and loss.",
    "perftest-resources": "What getrusage counted for one side, from the opening of the channels of a size to the last message of this size, "
    "including the warm-up: processor time, context switches, and the largest resident set of the process since its start. Without "
    "peak_memory_from, the largest resident set is an upper bound.",
}
_ALWAYS = (
    "transport reach data_path payload_touched reliability batch_bytes publishers subscribers load_mode waiting tuning warmup definition "
    "planned_duration_s payload_bytes tool_version"
)
STATES = {
    "demand": States(always=f"{_ALWAYS} demand recovery_time_ns", sometimes="placement"),
    "latency": States(always=f"{_ALWAYS} basis", sometimes="offered_rate_per_s placement"),
    "sustain": States(
        always="transport load_mode basis goal definition planned_duration_s tool_version",  # the conditions of a search with another tool
        sometimes="reach data_path payload_touched reliability batch_bytes publishers subscribers waiting tuning warmup "
        "placement payload_bytes settings",
    ),
    "throughput": States(always=_ALWAYS, sometimes="keyed instances offered_rate_per_s placement settings"),
}

# Formulas of numbers that a line does not print. A number may have several formulas, for lines with different fields. The first formula is used
# whose fields are all on the line.
COMPUTED = {
    ("cpu_per_message", "mean"): ("(sides_ns + companion_ns) / messages", "sides_ns / messages"),
    ("loss", "total"): ("lost / (received + lost)",),
}

_What = Record | Facts | Histogram | Broken | None
_KIND = re.compile(r"[a-z]+")
_MESSAGES = re.compile(r"\d{1,15}", re.ASCII)
_OUTCOMES = ("steady", "not_steady", "fixed")
# The `reach` of each transport, for logs of versions that do not state it.
_REACH_BEFORE_IT_WAS_LOGGED: Mapping[str, Reach] = {
    **dict.fromkeys(("inter-thread", "mock"), "process"),
    **dict.fromkeys(("shm", "shm-zero-copy", "uds"), "host"),
    **dict.fromkeys(("tcp", "udp", "udp-multicast", "udp-reliable", "udp-wan", "udp-xdp"), "network"),
}
# Perftest up to 0.4 printed such messages on standard error while it wrote a log in the format of another tool. A message may follow the characters
# with which hmbdc shows its progress.
_MESSAGE = re.compile(r"[xC.]{0,64}perftest: (?P<note>note: )?(?P<text>.{1,1000})")
_BIN = re.compile(r"[0-9]{1,19}+:[0-9]{1,19}+:[0-9]{1,19}+")
_BINS = re.compile(rf"(?:{_BIN.pattern},)*{_BIN.pattern}")  # No possessive group: it matches wrongly before Python 3.11.4.


def detect(head: str) -> Detected:
    """Return whether the first line of the log names this dialect."""
    fits = re.match(r"perftest [^\n]*\blog=native/1\b|search log=search/1\b", head) is not None
    return Detected(fits, wants="a first line 'perftest ... log=native/1' or 'search log=search/1'", names_itself=fits)


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield the finding of each line. A log without its ``end`` line is truncated."""
    run = _NativeRun()
    ended = of_tool = False
    for line in lines:
        of_tool = of_tool or line.text.startswith("search ")
        kind = match[0] if (match := _KIND.match(line.text)) else ""
        result = (RESULTS_OF_TOOLS if of_tool else RESULTS).get(kind)
        read = result.record if result else (_KINDS_OF_TOOLS if of_tool else _KINDS).get(kind)
        if read is None:
            if not line.text.strip():
                yield Finding(line, None)
            continue
        run.met(kind)
        fields = pairs_of(line.text, len(kind))
        if fields is None or not line.whole or (result and result.lacks(fields)):
            yield Finding(line, Broken(f"{kind} line is cut short or garbled"))
            continue
        ended = ended or kind == "end"
        yield Finding(line, run.said_of(_read(read, fields, kind), fields, kind))
    if not ended:
        yield Finding(None, Facts(status="truncated", reason="the log has no end line: the run was killed, or is still running"))


class _NativeRun:
    """The facts about a run that change how later lines are read.

    Only the warm-up of the latest size is stored, because the sizes are measured one after another.
    """

    def __init__(self) -> None:
        self._is_open = self._is_one_of_several = self._has_companion = False
        self._last_trial = -1
        self._begin_size(None)

    def _begin_size(self, size: str | None, outcome: str = "", warmed: int | None = None) -> None:
        self._size, self._outcome = size, outcome
        self._warmed = warmed  # The number of messages in the warm-up.
        self._measured: int | None = None  # The number of round trips after the warm-up.

    def met(self, kind: str) -> None:
        if kind == "perftest":
            # The previous run was killed, or two runs wrote at the same time. Then it is unknown which lines belong together.
            self._is_one_of_several, self._has_companion = self._is_open, self._is_open and self._has_companion
            self._is_open = True
            self._begin_size(None)
        elif kind == "end":
            self._is_open = False
        elif kind == "companion":
            self._has_companion = True
        elif kind == "sustain":
            self._last_trial = -1

    def said_of(self, what: _What, fields: Fields, kind: str) -> _What:
        """Return the content of a line, with the conditions that earlier lines of the run state for it."""
        if kind == "cost" and self._has_companion and "companion_ns" not in fields:
            return Broken("cost line without companion_ns, although the run has started a program that takes processor time")
        if kind == "trial" and isinstance(what, Record):
            what = self._in_order(what, fields)
        return what if self._is_one_of_several else self._with_warmup(what, fields, kind)

    def _in_order(self, trial: Record, fields: Fields) -> Record | Broken:
        try:
            index = count(fields, "index")
        except (KeyError, ValueError) as error:
            return Broken(f"trial line: {error}")
        last, self._last_trial = self._last_trial, max(self._last_trial, index)
        return trial if index > last else Broken(f"trial {index} stands after trial {last}")

    def _with_warmup(self, what: _What, fields: Fields, kind: str) -> _What:
        """Return the content of a line. A record gets the outcome of the warm-up of its size.

        The resources of a latency test also get the number of round trips.
        """
        size = fields.get("payload_bytes", "")
        if kind == "warmup":
            outcome, messages = fields.get("outcome", ""), _MESSAGES.fullmatch(fields.get("messages", ""))
            self._begin_size(size, outcome if outcome in _OUTCOMES else "", int(messages[0]) if messages else None)
        if not isinstance(what, Record) or size != self._size:
            return what
        if kind == "latency":
            self._measured = what.samples
        elif kind == "resources" and what.test == "latency" and self._warmed is not None and self._measured is not None:
            what = msgspec.structs.replace(what, samples=self._warmed + self._measured)
        if not self._outcome:
            return what
        return msgspec.structs.replace(what, conditions=msgspec.structs.replace(what.conditions, warmup=self._outcome))


def read_in_any_log(line: Line) -> Finding | None:
    """Read a message of perftest in a log of another tool. The message is the reason for a failure, or a note that does not affect results."""
    message = _MESSAGE.fullmatch(line.text)
    if message is None:
        return None
    return Finding(line, None if message["note"] else Facts(status="failed", reason=message["text"]))


def _read(read: _Reader, fields: Fields, kind: str) -> _What:
    try:
        what = read(fields)
    except KeyError as missing:
        return Broken(f"{kind} line without {missing.args[0]}")
    except ValueError as error:
        return Broken(f"{kind} line: {error}")
    unknown = unknown_kind_of_result(fields) if isinstance(what, Record) else None
    return what if unknown is None else Broken(f"{kind} line has a value that this version does not know: {unknown}={fields[unknown]}")


def _histogram(fields: Fields) -> Histogram:
    text = fields["bins"]
    if _BINS.fullmatch(text) is None:
        wrong = next((text for text in text.split(",") if _BIN.fullmatch(text) is None), "")
        raise ValueError(f"bin {wrong[:40]!r} is not lower:upper:count")
    return Histogram(payload_bytes=payload_bytes(fields), basis=basis_of(fields), bins=_bins(text.replace(":", ",")))


_decode_edges = msgspec.json.Decoder(list[int]).decode


def _bins(numbers: str) -> Bins:
    edges: Iterable[int]
    try:
        edges = _decode_edges(f"[{numbers}]")  # Faster than calling int() for each number.
    except msgspec.DecodeError:  # A number may have leading zeros, which JSON does not allow.
        edges = map(int, numbers.split(","))
    try:
        return Bins(edges)
    except OverflowError as error:
        raise ValueError("a bin beyond 2^63") from error


def _opening(fields: Fields) -> Facts:
    environment = {f"perftest_{key}": value for key, value in fields.items() if key not in ("version", "log")}
    return Facts(tool_version=fields["version"], system_version=fields["version"], build=fields.get("git"), environment=environment)


def _config(fields: Fields) -> Facts:
    # If a version does not print a condition, the condition has only one possible value in this version.
    values = {"tuning": "none", "batch_bytes": 0, "reach": _REACH_BEFORE_IT_WAS_LOGGED.get(fields.get("transport", ""))}
    values |= conditions_under(fields, "transport reach data_path touch reliability load_mode waiting tuning warmup publishers subscribers instances")
    values |= conditions_under(fields, "rate_per_s duration_s batch_bytes")
    values |= {"keyed": True} if "instances" in fields else {}
    environment = {f"perftest_{key}": fields[key] for key in ("command", "slow_subscriber", "probe_every") if key in fields}
    return Facts(conditions=_checked(values), environment=environment)


def _checked(values: Mapping[str, object]) -> Conditions:
    try:
        return msgspec.convert(values, Conditions)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error


def _search(fields: Fields) -> Facts:
    planned_s = decimal(fields, "duration_s")
    return Facts(
        tool_version=fields["version"],
        system=fields["program"],  # Unless a manifest states another system.
        environment={"search_command": fields["command"]},
        conditions=Conditions(load_mode="open", planned_duration_s=planned_s or None),
    )


def _placement(fields: Fields) -> Facts:
    values = {} if fields["relation"] == "unknown" else {"placement": fields["relation"]}
    return msgspec.structs.replace(_facts_of("placement")(fields), conditions=_checked(values))


def _settings(fields: Fields) -> Facts:
    """Return all settings as one condition, because the names of settings differ from transport to transport."""
    return Facts(conditions=Conditions(settings=settings_text(fields)))


def _transport(fields: Fields) -> Facts:
    """Return the facts that a line about the transport states. If the line names the library of a middleware, the library is the measured system."""
    facts = _facts_of("transport")(fields)
    return msgspec.structs.replace(facts, system=fields.get("library"), system_version=fields.get("library_version"))


def _start(fields: Fields) -> Facts:
    datetime.fromisoformat(fields["time"])  # Any other text raises ValueError, because pages would sort and show it as a time.
    return Facts(start_time=fields["time"])


def _end(fields: Fields) -> Facts:
    if fields["status"] not in ("ok", "failed"):
        raise ValueError(f"status={fields['status']} is not known")
    return Facts(status="failed" if fields["status"] == "failed" else "ok")


def _facts_of(kind: str) -> Callable[[Mapping[str, str]], Facts]:
    def facts(fields: Mapping[str, str]) -> Facts:
        scope = fields.get("participant") or fields.get("role") or fields.get("at")
        prefix = f"{kind}_{scope}" if scope else kind
        return Facts(environment={f"{prefix}_{key}": value for key, value in fields.items() if key not in ("participant", "role", "at")})

    return facts


def _memory(fields: Fields) -> Facts:
    """Return the facts about the shared memory of a side, for one message size.

    The name of each fact contains the message size, because a run has a different value for each size.
    """
    others = {key: value for key, value in fields.items() if key != "payload_bytes"}
    return _facts_of(f"memory_{payload_bytes(fields)}")(others)


_Reader = Callable[[Fields], Record | Facts | Histogram | None]
_ANYWHERE: Mapping[str, _Reader] = {
    "note": _facts_of("note"),
    "error": lambda fields: Facts(status="failed", reason=fields["text"]),
    "end": _end,
}
_KINDS: Mapping[str, _Reader] = {
    **{kind: _facts_of(kind) for kind in ("host", "clock", "load", "affinity", "socket", "companion", "path", "way")},
    "perftest": _opening,
    "config": _config,
    "settings": _settings,
    "transport": _transport,
    "placement": _placement,
    "memory": _memory,
    "start": _start,
    "histogram": _histogram,
    "warmup": lambda _: None,  # The outcome of the warm-up is stored, as a condition of later results.
    **_ANYWHERE,
}
_KINDS_OF_TOOLS: Mapping[str, _Reader] = {"search": _search, **_ANYWHERE}
