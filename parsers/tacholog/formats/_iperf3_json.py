"""The JSON of iperf3, read as it comes: each result is known by its place in the document, and keeps the lines that its members stand on.

Source: the JSON reports of iperf3 3.12, and logs recorded with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from tacholog.formats._iperf3_results import Test, Traffic, combined, processors, received, sent
from tacholog.formats.lines import Broken, Found, Line
from tacholog.records import Facts, Record, Scope

Scalar = str | int | float | bool | None

_TOKEN = re.compile(
    r"\s*(?:(?P<mark>[{}\[\],:])|(?P<text>\"(?:[^\"\\\x00-\x1f]|\\.)*\")|(?P<number>-?\d{1,19}(?:\.\d{1,25})?(?:[eE][-+]?\d{1,3})?)(?![\w.])|"
    r"(?P<word>true|false|null)\b)"
)
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_DEEPEST = 16
_MEMBERS = 100
_STREAM = re.compile(r"intervals/\[\]/streams/\[\]|end/streams/\[\]/(?:sender|receiver|udp)")
_SUM = re.compile(r"intervals/\[\]/sum(?:_bidir_reverse)?|end/sum(?:_sent|_received)?(?:_bidir_reverse)?")
_PROCESSORS = "end/cpu_utilization_percent"
_KEPT = {"", "start", "start/test_start", "start/timestamp"}


class _Frame:
    """An object or a list that is open: where it is, and the members and lines of an object that is of interest."""

    def __init__(self, place: str, closing: str) -> None:
        self.place, self.closing = place, closing
        self.key = ""
        self.members: dict[str, Scalar] = {}
        self.lines: list[Line] = []
        self.expects = "first"  # first, key, colon, value, next
        self.is_damaged = False
        self.is_result = closing == "}" and bool(_STREAM.fullmatch(place) or _SUM.fullmatch(place) or place == _PROCESSORS)

    def keep(self, value: Scalar) -> None:
        """Take a member's value."""
        if self.is_result and (self.key in self.members or len(self.members) >= _MEMBERS):
            self.is_damaged = True
        elif self.is_result or (self.place in _KEPT and len(self.members) < _MEMBERS):
            self.members[self.key] = value


class _DamagedError(ValueError):
    """The text is no JSON."""


class Document:
    """One JSON document after another."""

    def __init__(self) -> None:
        """Wait for a document."""
        self._frames: list[_Frame] = []
        self._test = Test()
        self._seen: set[str] = set()
        self._senders: dict[int, bool] = {}  # By socket: whether this host sends on it, which no result may contradict.
        self._lacks_its_end = False
        self._closed: list[Found] = []  # The results that the present line has closed.

    @property
    def is_open(self) -> bool:
        """Whether this is within a document."""
        return bool(self._frames)

    def take(self, line: Line) -> Iterator[Found]:
        """Use one line, the first of which is an opening brace."""
        self._closed = []
        try:
            if line.text.count('"bits_per_second"') + line.text.count('"host_total"') > 1:
                raise _DamagedError("several results on one line: print the JSON with a member a line")  # noqa: TRY301
            self._read(line)
        except _DamagedError as error:
            yield from (found for found in self._closed if line not in {found.line, *found.also})
            yield from self._damaged(line, str(error))
            return
        yield from self._closed
        if not any(frame.lines and frame.lines[-1] is line for frame in self._frames) and not self._is_claimed(line):
            yield Found(line, self._facts())

    def _is_claimed(self, line: Line) -> bool:
        return any(line in {found.line, *found.also} for found in self._closed)

    def close(self) -> Iterator[Found]:
        """The log has ended."""
        if self.is_open:
            yield from self._abandon("the JSON ends within this result")
            yield Found(None, Facts(status="truncated", reason="the JSON ends before its last brace"))

    def _damaged(self, line: Line, reason: str) -> Iterator[Found]:
        """A line that opens and closes nothing costs only the result that it is of; else what follows has no place that is known."""
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.closing == "}" and not re.search(r"[{}\[\]]", line.text):
            frame.is_damaged, frame.expects = True, "key"
            if not frame.is_result:
                yield Found(line, Broken(reason))
            elif line not in frame.lines:
                frame.lines.append(line)
            return
        for open_frame in self._frames:
            open_frame.lines = [kept for kept in open_frame.lines if kept is not line]
        yield from self._abandon("the JSON is damaged behind this result")
        yield Found(line, Broken(reason))
        yield Found(None, Facts(status="truncated", reason="the JSON is damaged, and what follows cannot be placed"))

    def _abandon(self, reason: str) -> Iterator[Found]:
        for frame in self._frames:
            if frame.is_result and frame.lines:
                yield Found(frame.lines[0], Broken(reason), tuple(frame.lines[1:]))
        self._frames, self._test, self._seen, self._senders = [], Test(), set(), {}

    def _read(self, line: Line) -> None:
        """All tokens of a line."""
        at = 0
        text = line.text.rstrip()
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None or (not line.whole and token.end() == len(text) and token["number"]):
                raise _DamagedError("no JSON, or cut")
            at = token.end()
            if token["mark"] in {"{", "["}:
                self._open(token["mark"])
            elif token["mark"] in {"}", "]"}:
                self._close_frame(token["mark"])
            elif token["mark"]:
                self._separate(token["mark"])
            else:
                self._scalar(token, line)

    def _open(self, mark: str) -> None:
        if not self._frames:
            self._frames, self._lacks_its_end = [_Frame("", "}")], False
            return
        parent = self._frames[-1]
        self._expect_value(parent)
        if len(self._frames) >= _DEEPEST:
            raise _DamagedError("deeper than any report of the tool")
        name = parent.key if parent.closing == "}" else "[]"
        opened = _Frame(f"{parent.place}/{name}".lstrip("/"), "}" if mark == "{" else "]")
        self._seen |= {"end"} & {opened.place}
        self._frames.append(opened)

    def _close_frame(self, mark: str) -> None:
        frame = self._frames[-1] if self._frames else None
        if frame is None or frame.closing != mark or frame.expects not in {"first", "next", "key"}:
            raise _DamagedError("a bracket that closes nothing")
        if frame.expects == "key":
            frame.is_damaged = True  # A comma without another member: a line is missing.
        self._frames.pop()
        if self._frames:
            self._frames[-1].expects = "next"
        if frame.is_result and frame.lines:
            self._closed.append(Found(frame.lines[0], self._result(frame), tuple(frame.lines[1:])))
        if frame.place == "start/test_start":
            self._test = _test(frame.members)
        if not self._frames:
            self._lacks_its_end = "end" not in self._seen
            self._test, self._seen = Test(), set()

    def _separate(self, mark: str) -> None:
        frame = self._frames[-1] if self._frames else None
        wanted = {",": "next", ":": "colon"}[mark]
        if frame is None or frame.expects != wanted:
            raise _DamagedError("a comma or colon out of its place")
        frame.expects = "value" if mark == ":" or frame.closing == "]" else "key"

    def _scalar(self, token: re.Match[str], line: Line) -> None:
        if not self._frames:
            raise _DamagedError("a value outside of the document")
        frame = self._frames[-1]
        if frame.closing == "}" and frame.expects in {"first", "key"}:
            if token["text"] is None:
                raise _DamagedError("a member without a name")
            frame.key, frame.expects = token["text"][1:-1], "colon"
            return
        self._expect_value(frame)
        frame.keep(_value(token))
        frame.expects = "next"
        if frame.is_result and (not frame.lines or frame.lines[-1] is not line):
            if self._is_claimed(line):
                raise _DamagedError("several results on one line: print the JSON with a member a line")
            frame.lines.append(line)

    def _expect_value(self, frame: _Frame) -> None:
        if frame.expects != "value" and not (frame.closing == "]" and frame.expects == "first"):
            raise _DamagedError("a value out of its place")

    def _facts(self) -> Facts | None:
        """What the members that are known by now say of the run."""
        if not self._frames:
            return Facts(status="truncated", reason="the JSON has no 'end'") if self._lacks_its_end else None
        place, members = self._frames[-1].place, self._frames[-1].members
        if place == "" and isinstance(error := members.pop("error", None), str):
            stopped = error.startswith("interrupt") or "has terminated" in error
            return Facts(status="truncated" if stopped else "failed", reason=error)
        if place == "start" and isinstance(version := members.pop("version", None), str):
            return Facts(tool_version=version.removeprefix("iperf "))
        if place == "start" and isinstance(system := members.pop("system_info", None), str):
            return Facts(environment={"system_info": system})
        if place == "start/timestamp" and isinstance(time := members.pop("time", None), str):
            return Facts(start_time=time)
        return None

    def _result(self, frame: _Frame) -> Record | Broken | None:
        if frame.is_damaged:
            return Broken("a member of this result is damaged or missing")
        if frame.place == _PROCESSORS:
            return self._processors(frame)
        is_interval = frame.place.startswith("intervals/")
        self._seen |= {"retransmits"} & frame.members.keys()
        if frame.members.get("omitted") is True or (_STREAM.fullmatch(frame.place) and (self._test.streams or 1) == 1):
            return None  # Before the measurement; or a stream whose sum says the same.
        make = _maker(frame, is_interval=is_interval)
        traffic = _traffic(frame.members, of_one_side=make is not combined)
        in_order = "received" not in frame.place or frame.place.replace("received", "sent") in self._seen
        if traffic is None or make is None or not in_order or self._turned(frame) or self._lacks(traffic, is_sent=make is sent):
            return Broken("members of this result are missing, out of place, or contradict each other")
        self._seen.add(frame.place)
        scope: Scope = "interval" if is_interval else "summary"
        return make(self._test, traffic, scope, _participant(frame))

    def _turned(self, frame: _Frame) -> bool:
        """Whether a stream that was one of sending is now one of receiving: its object is of pieces."""
        socket, is_sender = _whole(frame.members.get("socket")), frame.members.get("sender")
        if socket is None or not isinstance(is_sender, bool) or (socket not in self._senders and len(self._senders) >= _STREAMS):
            return False
        return self._senders.setdefault(socket, is_sender) != is_sender

    def _lacks(self, traffic: Traffic, *, is_sent: bool) -> bool:
        """Whether there is no count of datagrams in UDP, or none of retransmissions where there was one before."""
        if self._test.transport == "UDP":
            return traffic.datagrams is None
        return is_sent and traffic.retransmissions is None and "retransmits" in self._seen

    def _processors(self, frame: _Frame) -> Record | Broken:
        names = {f"{host}_{what}": f"{words}{which}" for host, words in _HOSTS.items() for what, which in _WHICH.items()}
        percent = {words: value for name, words in names.items() if isinstance(value := frame.members.get(name), int | float)}
        return processors(self._test, percent, None) if len(percent) == len(names) else Broken("members of the processor times are missing")


def _maker(frame: _Frame, *, is_interval: bool) -> Callable[[Test, Traffic, Scope, str | None], Record] | None:
    """Which kind of record the result is; ``None`` if it lacks what says so."""
    kind = frame.place.rpartition("/")[2].removesuffix("_bidir_reverse")
    is_sender, omitted = frame.members.get("sender"), frame.members.get("omitted")
    if not isinstance(is_sender, bool) or (is_interval and not isinstance(omitted, bool)):
        return None
    if _STREAM.fullmatch(frame.place) and _whole(frame.members.get("socket")) is None:
        return None
    if is_interval:
        return sent if is_sender else received
    return {"sum_sent": sent, "sender": sent, "sum_received": received, "receiver": received}.get(kind, combined)


_HOSTS = {"host": "local", "remote": "remote"}
_WHICH = {"total": "", "user": "-user", "system": "-system"}


def _value(token: re.Match[str]) -> Scalar:
    if token["number"]:
        number = token["number"]
        return int(number) if re.fullmatch(r"-?\d+", number) else float(number)
    if token["text"]:
        try:
            return str(json.loads(token["text"]))
        except ValueError:
            raise _DamagedError("a text with an escape that JSON does not know") from None
    return _WORDS[token["word"]]


def _whole(value: Scalar) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _real(value: Scalar) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float(2**63) else None


def _test(members: dict[str, Scalar]) -> Test:
    protocol, target = members.get("protocol"), _real(members.get("target_bitrate"))
    return Test(
        transport=protocol if isinstance(protocol, str) else None,
        block_bytes=_whole(members.get("blksize")) or None,
        streams=_whole(members.get("num_streams")) or None,
        duration_s=_real(members.get("duration")) or None,
        load_mode=None if target is None else "paced" if target else "max-rate",
    )


def _participant(frame: _Frame) -> str | None:
    socket = _whole(frame.members.get("socket"))
    words = ["server to client"] if frame.place.endswith("_bidir_reverse") else []
    words += [f"stream {socket}"] if _STREAM.fullmatch(frame.place) else []
    return ", ".join(words) or None


_STREAMS = 4096  # So many sockets are remembered: a hostile log may name more.
_DATAGRAMS = {"packets", "lost_packets", "lost_percent", "jitter_ms"}


def _traffic(members: dict[str, Scalar], *, of_one_side: bool) -> Traffic | None:
    """The figures, if all that every result has are there, and the rate is bytes over time."""
    size, rate = _whole(members.get("bytes")), _real(members.get("bits_per_second"))
    start, end, seconds = (_real(members.get(name)) for name in ("start", "end", "seconds"))
    if size is None or rate is None or start is None or end is None or seconds is None or min(size, rate, seconds) < 0:
        return None
    if abs(end - start - seconds) > 0.05 * seconds + 0.01:
        return None
    allowed = 8 * size * (1e-6 if of_one_side else 0.05) + rate * 2e-6  # The rate of a row for both sides is over the other side's time.
    if not any(abs(rate * time - 8 * size) <= allowed for time in (seconds, end - start)):
        return None
    if members.keys() & _DATAGRAMS not in (set(), {"packets"}, _DATAGRAMS):
        return None
    percent = _real(members.get("lost_percent"))
    return Traffic(
        bytes=float(size),
        bit_per_s=rate,
        seconds=seconds,
        retransmissions=_whole(members.get("retransmits")),
        jitter_ms=_real(members.get("jitter_ms")),
        lost=_whole(members.get("lost_packets")),
        datagrams=_whole(members.get("packets")),
        loss=percent / 100 if percent is not None else None,
    )
