"""The JSON of iperf3: a document that is read line by line, or a stream of events (``--json-stream``), one object on each line.

Each result is identified by its path in the document, and stores the lines of its members. The order of members does not matter: if a result needs a
later member, it waits for this member. A document of iperf3 may be a part of another document or of a list. The path of its first result, or of the
description of its test, shows where it begins. Up to 3.6, no result has a member ``sender``. In these versions, the side of an interval follows from
the direction of the test, the role of the host, and members that only a sender has.
Source: the JSON reports of iperf3 3.12, and logs of 3.0.11, 3.1.3, 3.6 and 3.12; for the stream the reports of 3.17 and the description by its
authors (esnet/iperf, pull request 1098). No real log of a stream was read.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from math import floor, log10
from types import MappingProxyType
from typing import Any, NamedTuple

from tacholog.formats.iperf3.results import BOTH, EITHER, RECEIVED, SENT, SERVER_TO_CLIENT, IperfTest, all_lost, of_date, processors, record_of
from tacholog.formats.kit import (
    COUNT_LIMIT,
    Broken,
    Cell,
    Cells,
    Facts,
    Field,
    Finding,
    JsonLine,
    JsonObject,
    JsonReader,
    JsonScalar,
    Line,
    LineRule,
    Record,
    of_seconds,
    parse_json,
)

_STREAM = re.compile(r"intervals/\[\]/streams/\[\]|end/streams/\[\]/(?:sender|receiver|udp)")
_SUM = re.compile(r"intervals/\[\]/sum(?:_bidir_reverse)?|end/sum(?:_sent|_received)?(?:_bidir_reverse)?")
_RECEIVER = "end/streams/[]/receiver"
_OF_BOTH = ("end/sum", "end/sum_bidir_reverse")
_IS_SENT = {"end/sum_sent": True, "end/sum_received": False}
_PROCESSORS = "end/cpu_utilization_percent"
_ROLES = {"start/connecting_to": True, "start/accepted_connection": False}
_ALL_DIGITS, _SAYS_SENDER = (3, 1), (3, 7)  # The first versions that print all digits, and a member `sender`.
_ONE_SENDER = (3, 17)  # From this version on, both sums of a UDP test have the same value of "sender".
_VERSION = re.compile(r"(?:iperf )?([0-9]{1,3})\.([0-9]{1,3})(?![0-9])")
_SIGNS_OF_A_SENDER, _SIGNS_OF_A_RECEIVER = {"retransmits", "snd_cwnd"}, {"jitter_ms", "lost_packets", "lost_percent"}
_NO_PLACES: Mapping[str, Cell] = MappingProxyType({})


@functools.lru_cache(maxsize=1024)
def is_result(path: str) -> bool:
    """Whether the object at a path of the document, such as ``end/sum_sent``, is a result."""
    return bool(_STREAM.fullmatch(path) or _SUM.fullmatch(path) or path == _PROCESSORS)


def ending(error: str) -> Facts:
    """Return how the run ended, according to the text of an error."""
    stopped = error.startswith("interrupt") or "has terminated" in error
    return Facts(status="truncated" if stopped else "failed", reason=error)


class TestResults:
    """Reads the results of one test, in the order of the document. Earlier objects of the document describe the results."""

    def __init__(self) -> None:
        self.test = IperfTest()
        self._version: tuple[int, int] | None = None
        self._is_client: bool | None = None
        self._is_reverse: bool | None = None
        self._roles: set[bool] = set()
        self._paths: set[str] = set()
        self._sent: dict[str, int] = {}  # The number of sent datagrams that each summary states. The key is the result of `_without_side`.
        self._senders: dict[int, bool] = {}  # For each socket: whether this host sends on it. All results must agree.

    def describe(self, members: Mapping[str, JsonScalar]) -> None:
        """Read ``start/test_start``."""
        self.test = _test(members)
        self._is_reverse = {0: False, 1: True}.get(reverse) if isinstance(reverse := members.get("reverse"), int) else None

    def printed_by(self, version: str) -> None:
        """Store the version of iperf3 that printed the document. ``version`` is the text of ``start/version``."""
        match = _VERSION.match(version)
        self._version = (int(match[1]), int(match[2])) if match else None

    def met(self, path: str) -> None:
        """Store the fact that the document contains this object, because some objects show the role of this host.

        A client and a server print different objects about the connection. If the document contains both, the role is unknown.
        """
        if path in _ROLES:
            self._roles.add(_ROLES[path])
            self._is_client = _ROLES[path] if len(self._roles) == 1 else None

    def waits_for_its_pair(self, path: str) -> bool:
        """Whether this result is about received data, and the result about the sent data has not been read yet."""
        return "received" in path and path.replace("received", "sent") not in self._paths

    def may_repeat(self, path: str) -> bool:
        """Whether this is the result of both sides of a UDP test, and the result about the received data has not been read yet.

        Newer versions print both: the result of both sides then only repeats the bytes that were sent and the losses of the receiver.
        """
        can_repeat = self.test.transport == "UDP" and path in _OF_BOTH and not self._is_before(_SAYS_SENDER)
        return can_repeat and _of_receiver(path) not in self._paths

    def shows_no_datagrams(self, path: str, members: Mapping[str, JsonScalar]) -> bool:
        """Whether a client's summary states that no sent datagram arrived. The summary also states this if the test failed before its end."""
        is_summary = path.startswith("end/") and members.get("packets") == 0 and members.get("lost_packets") == 0 and "lost_percent" in members
        was_sent = bool(members.get("bytes")) or _without_side(path) in self._sent
        is_received = "received" in path and bool(members.get("bytes"))  # Received bytes imply received datagrams.
        return self.test.transport == "UDP" and self._is_client is True and is_summary and was_sent and not is_received

    def record(
        self, path: str, members: Mapping[str, JsonScalar], printed: Mapping[str, Cell] = _NO_PLACES, *, ended_well: bool = False
    ) -> Record | Broken | None:
        """Return the record of a result; ``None`` for the warm-up, and for results that repeat figures.

        These are the only stream of a test, and the UDP result of both sides if each side has a result too. ``printed`` has the positions of the
        result's members. ``ended_well`` is true if the test is known to have ended without an error.
        """
        if path == _PROCESSORS:
            return self._processors(members, printed)
        is_interval = path.startswith("intervals/")
        self._paths |= {"retransmits"} & members.keys()
        repeats = self.test.transport == "UDP" and path in _OF_BOTH and _of_receiver(path) in self._paths
        if repeats or members.get("omitted") is True or (_STREAM.fullmatch(path) and (self.test.streams or 1) == 1):
            return None
        is_paired = not self.waits_for_its_pair(path)
        self._paths.add(path)
        rule = self._rule(path, members, is_interval=is_interval)
        timing = _Timing(rule is not BOTH, has_all_digits=not self._is_before(_ALL_DIGITS), has_two_times=path == _RECEIVER)
        cells = _cells(members, printed, timing)
        lacks = cells is None or self._lacks(cells, is_sent=rule is SENT, is_interval=is_interval)
        if cells is None or rule is None or lacks or not is_paired or self._has_contradictory_side(path, members) or self._has_turned(members):
            return Broken("members of this result are missing, out of place, or contradict each other")
        if rule is SENT and not is_interval and cells.get("datagrams"):
            self._sent[_without_side(path)] = cells["datagrams"]
        participant = self._participant(path, members)
        if self.shows_no_datagrams(path, members):
            if not ended_well:
                return Broken("nothing received, and the end of the test is missing: the receiver's figures may never have arrived")
            return all_lost(cells, self.test, participant, self._sent.get(_without_side(path)))
        return record_of(rule, cells, self.test, "interval" if is_interval else "summary", participant)

    def _participant(self, path: str, members: Mapping[str, JsonScalar]) -> str | None:
        words = [SERVER_TO_CLIENT] if self._is_reverse or path.endswith("_bidir_reverse") else []
        words += [f"stream {_integer(members.get('socket'))}"] if _STREAM.fullmatch(path) else []
        return ", ".join(words) or None

    def _is_before(self, version: tuple[int, int]) -> bool:
        return self._version is not None and self._version < version

    def _rule(self, path: str, members: Mapping[str, JsonScalar], *, is_interval: bool) -> LineRule | None:
        """Return the rule for the result; ``None`` if a missing member leaves the rule unknown."""
        kind = path.rpartition("/")[2].removesuffix("_bidir_reverse")
        is_sender = members.get("sender")
        is_old = "sender" not in members and self._is_before(_SAYS_SENDER)
        if not (is_old or isinstance(is_sender, bool)) or (is_interval and not isinstance(members.get("omitted"), bool)):
            return None
        if _STREAM.fullmatch(path) and _integer(members.get("socket")) is None:
            return None
        if is_interval and is_old:
            return self._rule_before_3_7(members)
        if is_interval:
            return SENT if is_sender else RECEIVED
        return {"sum_sent": SENT, "sender": SENT, "sum_received": RECEIVED, "receiver": RECEIVED}.get(kind, BOTH)

    def _rule_before_3_7(self, members: Mapping[str, JsonScalar]) -> LineRule | None:
        """Return the rule for an interval without a member ``sender``.

        The rule follows from the test and from the members of the interval. It is ``None`` if the members contradict the test.
        """
        by_test = None if self._is_client is None or self._is_reverse is None else self._is_client is not self._is_reverse
        by_members = True if _SIGNS_OF_A_SENDER & members.keys() else (False if _SIGNS_OF_A_RECEIVER & members.keys() else None)
        if by_members is None and by_test is False and self.test.transport == "UDP":
            return None  # A receiver of datagrams would print the lost datagrams, but these members are missing.
        if None not in {by_test, by_members} and by_test is not by_members:
            return None
        is_sent = by_test if by_members is None else by_members
        return EITHER if is_sent is None else (SENT if is_sent else RECEIVED)

    def _has_contradictory_side(self, path: str, members: Mapping[str, JsonScalar]) -> bool:
        says_whose = self.test.transport == "UDP" and path in _IS_SENT and (self._version is None or self._is_before(_ONE_SENDER))
        return says_whose and members.get("sender") is not _IS_SENT[path]

    def _has_turned(self, members: Mapping[str, JsonScalar]) -> bool:
        """Whether the stream sends in this result but receives in an earlier result, or the reverse. Only damage can cause this."""
        socket, is_sender = _integer(members.get("socket")), members.get("sender")
        if socket is None or not isinstance(is_sender, bool) or (socket not in self._senders and len(self._senders) >= _STREAMS):
            return False
        return self._senders.setdefault(socket, is_sender) != is_sender

    def _lacks(self, cells: Cells, *, is_sent: bool, is_interval: bool) -> bool:
        """Whether a required count is missing, or belongs to another interval.

        A UDP result must have a count of datagrams. A TCP result must have a count of retransmissions if an earlier result had this count.
        """
        if self.test.transport == "UDP" and is_sent and not is_interval and cells["transfer"] == 0:
            return False  # If a server does not know how much was sent, it prints 0 bytes and an arbitrary count.
        if self.test.transport == "UDP":
            return "datagrams" not in cells or (is_interval and not _do_bytes_match_datagrams(cells, self.test.block_bytes))
        return is_sent and "retransmissions" not in cells and "retransmits" in self._paths

    def _processors(self, members: Mapping[str, JsonScalar], printed: Mapping[str, Cell]) -> Record | Broken:
        names = {f"{host}_{what}": f"{words}{which}" for host, words in _HOSTS.items() for what, which in _WHICH.items()}
        shares = {name: value for name in names if isinstance(value := members.get(name), int | float)}
        if len(shares) != len(names):
            return Broken("members of the processor times are missing")
        fields = {name: Field("cpu", names[name], name, is_exact=True) for name in names}
        return processors(self.test, (fields[name].number(Cells(shares, {}, printed)) for name in names), self._participant(_PROCESSORS, members))


_HOSTS = {"host": "local", "remote": "remote"}
_WHICH = {"total": "", "user": "-user", "system": "-system"}


def _of_receiver(path: str) -> str:
    return path.replace("end/sum", "end/sum_received")


def _without_side(path: str) -> str:
    return path.replace("_sent", "").replace("_received", "")


def _integer(value: JsonScalar) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < COUNT_LIMIT else None


def _real(value: JsonScalar) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float(COUNT_LIMIT) else None


def _test(members: Mapping[str, JsonScalar]) -> IperfTest:
    protocol, target = members.get("protocol"), _real(members.get("target_bitrate"))
    return IperfTest(
        transport=protocol if isinstance(protocol, str) else None,
        block_bytes=max(_integer(members.get("blksize")) or 0, 0) or None,
        streams=max(_integer(members.get("num_streams")) or 0, 0) or None,
        duration_s=max(_real(members.get("duration")) or 0.0, 0.0) or None,
        load_mode=None if target is None else "paced" if target else "max-rate",
        target_bit_per_s=target if target and target > 0 else None,
    )


_STREAMS = 4096  # The largest number of sockets that are stored. A hostile log may contain more.
_DATAGRAMS = {"packets", "lost_packets", "lost_percent", "jitter_ms"}


def _do_bytes_match_datagrams(cells: Cells, block_bytes: int | None) -> bool:
    if not block_bytes:
        return True
    expected, datagrams = cells["transfer"] / block_bytes, cells["datagrams"]
    # A few datagrams may belong to the next interval. The count of datagrams may or may not include lost datagrams.
    return any(abs(expected - count) <= 2 + 0.05 * count for count in (datagrams, datagrams - cells.get("lost", 0)))


# The members of a result that are counts, and those that are other numbers. The key is the name of the group in the rule.
_COUNTS = {"transfer": "bytes", "retransmissions": "retransmits", "lost": "lost_packets", "datagrams": "packets"}
_REALS = {"rate": "bits_per_second", "seconds": "seconds", "jitter": "jitter_ms", "share": "lost_percent"}
_ROUNDED = ("rate", "seconds", "jitter")


class _Timing(NamedTuple):
    """How rate, bytes and times of a result are related.

    Attributes:
        of_one_side: whether bytes and rate belong to the same side. A row for both sides has the bytes of one side, but its rate is computed from
            the time of the other side.
        has_all_digits: whether rates and times are printed with all digits; otherwise with six digits.
        has_two_times: whether ``end`` is the time of the receiver, and ``seconds`` the time of the host that prints. These two times may differ by
            any amount. Only the receiver of a TCP stream has two times. The rate is computed from ``end``. Source: ``iperf_print_results`` in
            ``iperf_api.c``, which prints ``receiver_time`` as end, and ``end_time`` as seconds.
    """

    of_one_side: bool
    has_all_digits: bool
    has_two_times: bool


def _cells(members: Mapping[str, JsonScalar], printed: Mapping[str, Cell], timing: _Timing) -> Cells | None:
    """Return the figures of a result. Each figure is named after its group in the rule, for example ``transfer`` for the member ``bytes``.

    ``None`` is returned if a required figure is missing, or if the rate does not match bytes and time.
    """
    counts, reals = (
        {group: value for group, name in names.items() if (value := read(members.get(name))) is not None}
        for names, read in ((_COUNTS, _integer), (_REALS, _real))
    )
    values: dict[str, float] = counts | reals
    start, end = _real(members.get("start")), _real(members.get("end"))
    if start is None or end is None or not {"transfer", "rate", "seconds"} <= values.keys():
        return None
    if min(values["transfer"], values["rate"], values["seconds"]) < 0 or members.keys() & _DATAGRAMS not in (set(), {"packets"}, _DATAGRAMS):
        return None
    lasted = _lasted(values, end - start, timing)
    if lasted is None:
        return None
    cells = {
        group: printed[name] for group, name in (_COUNTS | _REALS).items() if name in printed and (group != "seconds" or lasted == values[group])
    }
    values["seconds"] = lasted
    if "share" in values:
        values["share"] /= 100
    if not timing.has_all_digits:
        rounded = ((group, members.get(_REALS[group])) for group in _ROUNDED)
        values |= {f"{group}_step": _unit_of_sixth_digit(figure) for group, figure in rounded if isinstance(figure, float)}
    return Cells(values, {}, cells)


def _unit_of_sixth_digit(value: float) -> float:
    return float(10 ** (floor(log10(abs(value))) - 5)) if value else 0.0


def _lasted(values: Mapping[str, float], from_start_to_end: float, timing: _Timing) -> float | None:
    """Return the time from which the rate was computed: the stated seconds, or end minus start; ``None`` if neither time matches the rate.

    Some versions print the time of one side, but compute the rate from the time of the other side.
    """
    bits, rate, seconds = 8 * values["transfer"], values["rate"], values["seconds"]
    digits = 1e-6 if timing.has_all_digits else 1.2e-5
    allowed = bits * (digits if timing.of_one_side else 0.05) + rate * 2e-6
    fits = [abs(rate * time - bits) <= allowed for time in (seconds, from_start_to_end)]
    near = abs(from_start_to_end - seconds) <= 0.05 * seconds + 0.01
    if fits[0] and (near or bits > 0):
        return seconds
    return from_start_to_end if fits[1] and (near or timing.has_two_times) else None


_TEST = "start/test_start"
_PART = re.compile(r"(?:^|/)(?=(?:start|intervals|end|error)(?:/|$))")
_OTHER_SIDE = "server_output_json"  # In the client's document, this path contains the document of the server.
_SEVERAL = "several results on one line: print the JSON with one member on each line"
_MOST_PARTS = 1000
_MOST_HELD = 20_000  # At most this number of results wait for the description of their test. It is last if the members were sorted.
_WAIT_LINES = 3000  # After this many lines, a waiting result claims its lines. The limit for claiming a line is 4096 lines.


class _WaitingResult(NamedTuple):
    path: str
    members: Mapping[str, JsonScalar]
    item: JsonObject

    def finding(self, results: TestResults, *, ended_well: bool = False) -> Finding:
        printed = {name: member.text for name, member in self.item.members.items() if isinstance(member.text, Cell)}
        return self.item.found(results.record(self.path, self.members, printed, ended_well=ended_well))


class IperfDocument:
    """The JSON documents of a log, one after another."""

    def __init__(self) -> None:
        self._reader = JsonReader(self._keeps, nested=False, shares_lines=False)
        self._begin()

    def _begin(self) -> None:
        self._results = TestResults()
        self._root: str | None = None  # The path of iperf3's document within the JSON; None until it is known.
        #: The paths of all objects with the name "start" or "end", in the document of iperf3 and around it.
        self._parts: set[str] = set()
        self._has_failed = False
        self._waiting: list[_WaitingResult] = []
        self._claimed = 0  # The number of waiting results whose lines are claimed.

    @property
    def is_open(self) -> bool:
        """Whether a document is open."""
        return self._reader.is_open

    def take(self, line: Line) -> Iterator[Finding]:
        """Read one line. The first line of a document has an opening brace or bracket."""
        if not self._reader.is_open:
            self._begin()
            self._tests = 0
        if line.text.count('"bits_per_second"') + line.text.count('"host_total"') > 1:
            yield from self._findings_of_damage(line, self._reader.spoil(line, _SEVERAL))
            return
        read = self._reader.take(line)
        if read.is_foreign:
            return
        if len(self._parts) < _MOST_PARTS:
            self._parts |= {path for path in read.opened if path.rpartition("/")[2] in ("start", "end")}
        facts = [fact for path, member in read.members if (fact := self._fact(path, member.value))]
        closed = [finding for item in read.closed for finding in self._close_object(item)] if read.closed else []
        if read.damage:
            yield from (finding for finding in closed if line not in {finding.line, *finding.also})
            yield from self._findings_of_damage(line, read)
            return
        yield from closed
        yield from self._claim(line)
        yield from (Finding(line, fact) for fact in facts)
        is_of_result = any(self._is_result(path) for path in self._reader.holders(line)) or any(line in result.item.lines for result in self._waiting)
        if not (facts or is_of_result or any(line in {finding.line, *finding.also} for finding in closed)):
            yield Finding(line, None)
        if not self.is_open and not self._tests and self._is_report:
            yield Finding(None, self._ending())

    def close(self) -> Iterator[Finding]:
        """Yield the findings at the end of the log."""
        if self.is_open:
            yield from self._given_up(self._reader.abandon(), "the JSON ends within this result")
            yield from self._never_described()
            yield Finding(None, Facts(status="truncated", reason="the JSON ends before its last brace"))

    @property
    def _is_report(self) -> bool:
        """Whether this document is the report of a test. With -d, the tool also prints the messages between the two sides as JSON."""
        return bool(self._parts) or self._root is not None or self._has_failed

    def _has_part(self, part: str) -> bool:
        if self._root is None:
            return any(path.rpartition("/")[2] == part for path in self._parts)
        return (f"{self._root}/{part}" if self._root else part) in self._parts

    def _keeps(self, path: str) -> bool:
        within = self._path_in_document(path)
        if within is None or not (is_result(within) or within == _TEST):
            return False
        # The first result or description determines the path of the document.
        if self._root is None:
            self._root = path.removesuffix(within).rstrip("/")
        return True

    def _path_in_document(self, path: str) -> str | None:
        if _OTHER_SIDE in path:
            return None
        if self._root is not None:
            return path if not self._root else path.removeprefix(f"{self._root}/") if path.startswith(f"{self._root}/") else None
        starts = [part.end() for part in _PART.finditer(path)]
        return next((path[start:] for start in starts if is_result(path[start:])), path[starts[0] :] if starts else None)

    def _is_result(self, path: str) -> bool:
        within = self._path_in_document(path)
        return within is not None and is_result(within)

    def _findings_of_damage(self, line: Line, read: JsonLine) -> Iterator[Finding]:
        yield from self._given_up(read.lost, "the JSON is damaged after this result")
        if not any(map(self._is_result, self._reader.holders(line))):
            yield Finding(line, Broken(read.damage or ""))
        if not self.is_open:
            yield from self._never_described()
            self._begin()
            yield Finding(None, Facts(status="truncated", reason="the JSON is damaged, so the lines after the damage cannot be read"))

    def _given_up(self, lost: Iterable[JsonObject], reason: str) -> Iterator[Finding]:
        yield from (item.found(Broken(reason)) for item in lost if self._is_result(item.path))

    def _never_described(self) -> Iterator[Finding]:
        waiting, self._waiting = self._waiting, []
        yield from (result.item.found(Broken("the JSON ends before it says what was run, or how it ended")) for result in waiting)

    def _close_object(self, item: JsonObject) -> Iterator[Finding]:
        if item.path == self._root:
            yield from self._end_of_test()
            return
        path = self._path_in_document(item.path)
        if path is None:
            return
        members = {name: member.value for name, member in item.members.items()} if item.members else {}
        if is_result(path) and item.lines:
            yield from self._result(_WaitingResult(path, members, item))
        elif path == _TEST:
            self._results.describe({} if item.is_damaged else members)
        self._results.met(path)

    def _result(self, result: _WaitingResult) -> Iterator[Finding]:
        if result.item.is_damaged:
            yield result.item.found(Broken("a member of this result is damaged or missing"))
        elif (
            self._has_part("start")
            and not self._results.waits_for_its_pair(result.path)
            and not self._results.may_repeat(result.path)
            and not self._results.shows_no_datagrams(result.path, result.members)
        ):
            yield result.finding(self._results)
        elif len(self._waiting) < _MOST_HELD:
            self._waiting.append(result)
        else:
            yield result.item.found(Broken("too many results are before the description of their test"))

    def _claim(self, line: Line) -> Iterator[Finding]:
        """Claim the lines of each waiting result that has waited for more than `_WAIT_LINES` lines. The record of the result is yielded later."""
        while self._claimed < len(self._waiting) and self._waiting[self._claimed].item.lines[0].number < line.number - _WAIT_LINES:
            yield self._waiting[self._claimed].item.found(None)
            self._claimed += 1

    def _end_of_test(self) -> Iterator[Finding]:
        # iperf3 prints the results in this order.
        waiting = sorted(self._waiting, key=lambda result: (result.path.startswith("end/"), result.path in _OF_BOTH, "received" in result.path))
        for result in waiting:
            yield result.finding(self._results, ended_well=self._has_part("end") and not self._has_failed)
        yield Finding(None, self._ending())
        self._tests += 1
        self._begin()

    def _ending(self) -> Facts:
        return Facts(status="ok") if self._has_part("end") else Facts(status="truncated", reason="the JSON has no 'end'")

    def _fact(self, path: str, value: JsonScalar) -> Facts | None:
        match self._path_in_document(path), value:
            case "error", str():
                self._has_failed = True
                return ending(value)
            case "start/version", str():
                self._results.printed_by(value)
                return Facts(tool_version=value.removeprefix("iperf "))
            case "start/system_info", str():
                return Facts(environment={"system_info": value})
            case "start/timestamp/time", str():
                return Facts(start_time=of_date(value))
            case "start/timestamp/timesecs", _ if (moment := of_seconds(value)) is not None:
                return Facts(start_time=moment)
        return None


SIGN = re.compile(r"\{\"event\":\s?\"(?P<event>start|interval|end|error|server_output_json|server_output_text)\",\s?\"data\":")
_NEXT_DOCUMENT = re.compile(r"\}\s*+(?=\{\s*+\"start\"\s*+:)")  # Within a text of JSON, a backslash is before each quote mark.
_INTERVAL = "intervals/[]"
_Object = dict[str, Any]


class EventStream:
    """Reads the events of a log, one test after another."""

    def __init__(self) -> None:
        self._results = TestResults()
        self._is_running = self._has_failed = False

    def take(self, line: Line) -> Iterator[Finding] | None:
        """Return the findings of an event; ``None`` for any other line."""
        sign = SIGN.match(line.text)
        return self._event(line, sign["event"]) if sign else None

    def close(self) -> Iterator[Finding]:
        """Yield the findings at the end of the log."""
        if self._is_running:
            yield Finding(None, Facts(status="truncated", reason="the events stop before 'end'"))

    def _event(self, line: Line, name: str) -> Iterator[Finding]:
        data = _data(line)
        if isinstance(data, Broken):
            yield Finding(line, data)
        elif name == "start" and isinstance(data, dict):
            yield Finding(line, self._start(data))
        elif name in {"interval", "end"} and isinstance(data, dict):
            path = _INTERVAL if name == "interval" else name
            records = self._records(data, path)
            yield from (Finding(line, record) for record in records)
            if name == "end":
                self._is_running = False
                yield Finding(line, Facts(status="ok"))
            elif not records:
                yield Finding(line, None)
        elif name == "error" and isinstance(data, str):
            self._is_running, self._has_failed = False, True
            yield Finding(line, ending(data))
        else:
            yield Finding(line, None if name.startswith("server_output") else Broken("an event without its data"))

    def _records(self, data: _Object, path: str) -> list[Record | Broken]:
        records, later = [], []
        for result_path, members in _objects(data, path):
            if self._results.waits_for_its_pair(result_path) or self._results.may_repeat(result_path):
                later.append((result_path, members))
            else:
                records.append(self._results.record(result_path, members, ended_well=not self._has_failed))
        later.sort(key=lambda result: result[0] in _OF_BOTH)
        records += [self._results.record(result_path, members, ended_well=not self._has_failed) for result_path, members in later]
        return [record for record in records if record]

    def document(self, line: Line) -> Iterator[Finding] | None:
        """Return the findings of a line with complete documents; ``None`` for any other line.

        Several documents may be in a list, one after the other, or nested.
        """
        if line.text[:1] not in ("{", "[") or '"start"' not in line.text or line.text.rstrip()[-1:] not in ("}", "]"):
            return None
        # A document is complete if all its brackets are closed, even if its line is cut.
        value = parse_json(f'{{"":{line.text}}}') or parse_json(f'{{"":[{_NEXT_DOCUMENT.sub("},", line.text)}]}}')
        documents = list(_documents(value)) if value else []
        return (finding for document in documents for finding in self._document(line, document)) if documents else None

    def _document(self, line: Line, document: _Object) -> Iterator[Finding]:
        yield Finding(line, self._start(document["start"]))
        if isinstance(error := document.get("error"), str):
            self._has_failed = True
            yield Finding(line, ending(error))
        for interval in document.get("intervals", []):
            yield from (Finding(line, record) for record in self._records(interval, _INTERVAL))
        if isinstance(end := document.get("end"), dict):
            yield from (Finding(line, record) for record in self._records(end, "end"))
        yield Finding(line, Facts(status="ok") if "end" in document else Facts(status="truncated", reason="the JSON has no 'end'"))
        self._is_running = False

    def _start(self, data: _Object) -> Facts:
        self._results, self._is_running, self._has_failed = TestResults(), True, False
        described = dict(_objects(data, "start", results=False))
        self._results.describe(described.get("start/test_start", {}))
        for path in described:
            self._results.met(path)
        self._results.printed_by(str(data.get("version") or ""))
        system, stamp = data.get("system_info"), described.get("start/timestamp", {})
        return Facts(
            tool_version=str(data.get("version") or "").removeprefix("iperf ") or None,
            environment={"system_info": system} if isinstance(system, str) else {},
            start_time=of_seconds(stamp.get("timesecs")) or of_date(str(stamp.get("time"))),
        )


def _data(line: Line) -> Any:  # noqa: ANN401 - whatever JSON holds
    if not line.whole:
        return Broken("the log ends within this event, or the line is too long")
    event = parse_json(line.text)
    if event is None:
        return Broken("an event that is cut short or garbled")
    return event["data"] if event.keys() == {"event", "data"} else Broken("an event with other members than its name and its data")


def _documents(value: Any) -> Iterator[_Object]:  # noqa: ANN401
    """Yield the objects that describe a test. Objects within a yielded object are left out, because they describe the other side of that test."""
    if isinstance(value, dict) and isinstance(value.get("start"), dict) and value.keys() & {"intervals", "end"}:
        yield value
    elif isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _documents(member)


def _objects(value: Any, path: str, *, results: bool = True) -> Iterator[tuple[str, Mapping[str, JsonScalar]]]:  # noqa: ANN401
    """Yield the path and the scalar members of each object. ``results`` selects either the results or all other objects."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _objects(member, f"{path}/{name}", results=results)
        if is_result(path) is results:
            yield path, {name: member for name, member in value.items() if not isinstance(member, dict | list)}
    elif isinstance(value, list):
        for member in value:
            yield from _objects(member, f"{path}/[]", results=results)
