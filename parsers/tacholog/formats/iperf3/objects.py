"""The objects in the JSON of iperf3, whichever way it is printed: which are results, and what they and the others say.

Up to 3.6 no result has a member ``sender``: the test's direction, the host's role and the sender's own members say whose an interval is.
Source: the JSON reports of iperf3 3.12, and logs of 3.0.11, 3.1.3, 3.6 and 3.12.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from math import floor, log10
from types import MappingProxyType

from tacholog.formats.iperf3.results import SERVER_TO_CLIENT, IperfTest, all_lost, processors, result
from tacholog.formats.iperf3.rules import BOTH, EITHER, RECEIVED, SENT
from tacholog.formats.kit import COUNT_LIMIT, Broken, Cell, Cells, Facts, Field, JsonScalar, LineRule, Record

_STREAM = re.compile(r"intervals/\[\]/streams/\[\]|end/streams/\[\]/(?:sender|receiver|udp)")
_SUM = re.compile(r"intervals/\[\]/sum(?:_bidir_reverse)?|end/sum(?:_sent|_received)?(?:_bidir_reverse)?")
_IS_SENT = {"end/sum_sent": True, "end/sum_received": False}
_PROCESSORS = "end/cpu_utilization_percent"
_ROLES = {"start/connecting_to": True, "start/accepted_connection": False}
_ALL_DIGITS, _SAYS_SENDER = (3, 1), (3, 7)  # The first versions that do.
_ONE_SENDER = (3, 17)  # From here on "sender" is the same in both sums of a UDP test.
_VERSION = re.compile(r"(?:iperf )?([0-9]{1,3})\.([0-9]{1,3})(?![0-9])")
_SIGNS_OF_A_SENDER, _SIGNS_OF_A_RECEIVER = {"retransmits", "snd_cwnd"}, {"jitter_ms", "lost_packets", "lost_percent"}
_NO_PLACES: Mapping[str, Cell] = MappingProxyType({})


@functools.lru_cache(maxsize=1024)
def is_result(place: str) -> bool:
    """Whether the object at a place of the document, such as ``end/sum_sent``, is a result."""
    return bool(_STREAM.fullmatch(place) or _SUM.fullmatch(place) or place == _PROCESSORS)


def ending(error: str) -> Facts:
    """What an error says of how the run ended."""
    stopped = error.startswith("interrupt") or "has terminated" in error
    return Facts(status="truncated" if stopped else "failed", reason=error)


class Results:
    """The results of one test, in their order: what stood before them says what they are of."""

    def __init__(self) -> None:
        """Wait for the object that describes the test."""
        self.test = IperfTest()
        self._version: tuple[int, int] | None = None
        self._is_client: bool | None = None
        self._is_reverse: bool | None = None
        self._roles: set[bool] = set()
        self._seen: set[str] = set()
        self._sent: dict[str, int] = {}  # How many datagrams the summary says were sent, by the place of the result and its socket.
        self._senders: dict[int, bool] = {}  # By socket: whether this host sends on it, which no result may contradict.

    def describe(self, members: Mapping[str, JsonScalar]) -> None:
        """Take ``start/test_start``."""
        self.test = _test(members)
        self._is_reverse = {0: False, 1: True}.get(reverse) if isinstance(reverse := members.get("reverse"), int) else None

    def printed_by(self, version: str) -> None:
        """Take the version, as ``start/version`` has it."""
        found = _VERSION.match(version)
        self._version = (int(found[1]), int(found[2])) if found else None

    def met(self, place: str) -> None:
        """An object stood here: that of its connection says whether this host is the client. Both at once say nothing."""
        if place in _ROLES:
            self._roles.add(_ROLES[place])
            self._is_client = _ROLES[place] if len(self._roles) == 1 else None

    @property
    def is_described(self) -> bool:
        """Whether ``start/test_start`` has been read."""
        return self.test != IperfTest()

    def waits_for_its_pair(self, place: str) -> bool:
        """Whether this is what was received, and what was sent has not been read."""
        return "received" in place and place.replace("received", "sent") not in self._seen

    def shows_no_datagrams(self, place: str, members: Mapping[str, JsonScalar]) -> bool:
        """Whether a client's summary says that of datagrams that were sent none arrived: so it does where the test failed before its end, too."""
        is_summary = place.startswith("end/") and members.get("packets") == 0 and members.get("lost_packets") == 0 and "lost_percent" in members
        was_sent = bool(members.get("bytes")) or _pair(place) in self._sent
        is_received = "received" in place and bool(members.get("bytes"))  # Who received bytes received datagrams.
        return self.test.transport == "UDP" and self._is_client is True and is_summary and was_sent and not is_received

    def record(
        self, place: str, members: Mapping[str, JsonScalar], printed: Mapping[str, Cell] = _NO_PLACES, *, ended_well: bool = False
    ) -> Record | Broken | None:
        """The record of a result; ``None`` if it is of the warm-up, or of the one stream whose sum says the same.

        ``printed`` is where its members stand. ``ended_well`` says whether it is known that the test ended without an error.
        """
        if place == _PROCESSORS:
            return self._processors(members, printed)
        is_interval = place.startswith("intervals/")
        self._seen |= {"retransmits"} & members.keys()
        if members.get("omitted") is True or (_STREAM.fullmatch(place) and (self.test.streams or 1) == 1):
            return None
        is_paired = not self.waits_for_its_pair(place)
        self._seen.add(place)
        rule = self._rule(place, members, is_interval=is_interval)
        cells = _cells(members, printed, of_one_side=rule is not BOTH, has_all_digits=not self._is_before(_ALL_DIGITS))
        lacks = cells is None or self._lacks(cells, is_sent=rule is SENT, is_interval=is_interval)
        if cells is None or rule is None or lacks or not is_paired or self._is_of_the_other(place, members) or self._turned(members):
            return Broken("members of this result are missing, out of place, or contradict each other")
        if rule is SENT and not is_interval and cells.get("datagrams"):
            self._sent[_pair(place)] = cells["datagrams"]
        participant = self._participant(place, members)
        if self.shows_no_datagrams(place, members):
            if not ended_well:
                return Broken("nothing received in a test that did not end: the receiver's figures may never have arrived")
            return all_lost(cells, self.test, participant, self._sent.get(_pair(place)))
        return result(rule, cells, self.test, "interval" if is_interval else "summary", participant)

    def _participant(self, place: str, members: Mapping[str, JsonScalar]) -> str | None:
        """Which of several streams, and whether the server sends; ``None`` for what the client sends, if it is the sum or of a single stream."""
        words = [SERVER_TO_CLIENT] if self._is_reverse or place.endswith("_bidir_reverse") else []
        words += [f"stream {_whole(members.get('socket'))}"] if _STREAM.fullmatch(place) else []
        return ", ".join(words) or None

    def _is_before(self, version: tuple[int, int]) -> bool:
        return self._version is not None and self._version < version

    def _rule(self, place: str, members: Mapping[str, JsonScalar], *, is_interval: bool) -> LineRule | None:
        """Which kind of record the result is; ``None`` if it lacks what says so."""
        kind = place.rpartition("/")[2].removesuffix("_bidir_reverse")
        is_sender = members.get("sender")
        is_old = "sender" not in members and self._is_before(_SAYS_SENDER)
        if not (is_old or isinstance(is_sender, bool)) or (is_interval and not isinstance(members.get("omitted"), bool)):
            return None
        if _STREAM.fullmatch(place) and _whole(members.get("socket")) is None:
            return None
        if is_interval and is_old:
            return self._rule_before_3_7(members)
        if is_interval:
            return SENT if is_sender else RECEIVED
        return {"sum_sent": SENT, "sender": SENT, "sum_received": RECEIVED, "receiver": RECEIVED}.get(kind, BOTH)

    def _rule_before_3_7(self, members: Mapping[str, JsonScalar]) -> LineRule | None:
        """Whose an interval is where no member says it; ``None`` if what says it in other words contradicts itself."""
        by_test = None if self._is_client is None or self._is_reverse is None else self._is_client is not self._is_reverse
        by_members = True if _SIGNS_OF_A_SENDER & members.keys() else (False if _SIGNS_OF_A_RECEIVER & members.keys() else None)
        if by_members is None and by_test is False and self.test.transport == "UDP":
            return None  # Who receives datagrams prints their losses.
        if None not in {by_test, by_members} and by_test is not by_members:
            return None
        is_sent = by_test if by_members is None else by_members
        return EITHER if is_sent is None else (SENT if is_sent else RECEIVED)

    def _is_of_the_other(self, place: str, members: Mapping[str, JsonScalar]) -> bool:
        """Whether what was received stands under the name of what was sent, or the reverse, where UDP says whose it is."""
        says_whose = self.test.transport == "UDP" and place in _IS_SENT and (self._version is None or self._is_before(_ONE_SENDER))
        return says_whose and members.get("sender") is not _IS_SENT[place]

    def _turned(self, members: Mapping[str, JsonScalar]) -> bool:
        """Whether a stream that was one of sending is now one of receiving: its object is of pieces."""
        socket, is_sender = _whole(members.get("socket")), members.get("sender")
        if socket is None or not isinstance(is_sender, bool) or (socket not in self._senders and len(self._senders) >= _STREAMS):
            return False
        return self._senders.setdefault(socket, is_sender) != is_sender

    def _lacks(self, cells: Cells, *, is_sent: bool, is_interval: bool) -> bool:
        """Whether there is no count of datagrams in UDP, or another interval's, or none of retransmissions where there was one before."""
        if self.test.transport == "UDP" and is_sent and not is_interval and cells["transfer"] == 0:
            return False  # A server that was not told what was sent prints any count beside it.
        if self.test.transport == "UDP":
            return "datagrams" not in cells or (is_interval and not _are_datagrams_whole(cells, self.test.block_bytes))
        return is_sent and "retransmissions" not in cells and "retransmits" in self._seen

    def _processors(self, members: Mapping[str, JsonScalar], printed: Mapping[str, Cell]) -> Record | Broken:
        names = {f"{host}_{what}": f"{words}{which}" for host, words in _HOSTS.items() for what, which in _WHICH.items()}
        shares = {name: value for name in names if isinstance(value := members.get(name), int | float)}
        if len(shares) != len(names):
            return Broken("members of the processor times are missing")
        fields = {name: Field("cpu", names[name], name, is_exact=True) for name in names}
        return processors(self.test, (fields[name].number(Cells(shares, {}, printed)) for name in names), self._participant(_PROCESSORS, members))


_HOSTS = {"host": "local", "remote": "remote"}
_WHICH = {"total": "", "user": "-user", "system": "-system"}


def _pair(place: str) -> str:
    """The place of a sum without whose it is: what was sent and what was received are a pair."""
    return place.replace("_sent", "").replace("_received", "")


def _whole(value: JsonScalar) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < COUNT_LIMIT else None


def _real(value: JsonScalar) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float(COUNT_LIMIT) else None


def _test(members: Mapping[str, JsonScalar]) -> IperfTest:
    protocol, target = members.get("protocol"), _real(members.get("target_bitrate"))
    return IperfTest(
        transport=protocol if isinstance(protocol, str) else None,
        block_bytes=max(_whole(members.get("blksize")) or 0, 0) or None,
        streams=max(_whole(members.get("num_streams")) or 0, 0) or None,
        duration_s=max(_real(members.get("duration")) or 0.0, 0.0) or None,
        load_mode=None if target is None else "paced" if target else "max-rate",
    )


_STREAMS = 4096  # So many sockets are remembered: a hostile log may name more.
_DATAGRAMS = {"packets", "lost_packets", "lost_percent", "jitter_ms"}


def _are_datagrams_whole(cells: Cells, block_bytes: int | None) -> bool:
    """Whether the bytes are those of the datagrams: of all, or of all but the lost; some may have come out of their interval."""
    if not block_bytes:
        return True
    found, datagrams = cells["transfer"] / block_bytes, cells["datagrams"]
    return any(abs(found - count) <= 2 + 0.05 * count for count in (datagrams, datagrams - cells.get("lost", 0)))


# Members by the names of the rules' groups, those that are counts and the others.
_COUNTS = {"transfer": "bytes", "retransmissions": "retransmits", "lost": "lost_packets", "datagrams": "packets"}
_REALS = {"rate": "bits_per_second", "seconds": "seconds", "jitter": "jitter_ms", "share": "lost_percent"}
_ROUNDED = ("rate", "seconds", "jitter")


def _cells(members: Mapping[str, JsonScalar], printed: Mapping[str, Cell], *, of_one_side: bool, has_all_digits: bool) -> Cells | None:
    """The figures by the names of the rules, if all that every result has are there, and the rate is bytes over time."""
    counts, reals = (
        {group: value for group, name in names.items() if (value := read(members.get(name))) is not None}
        for names, read in ((_COUNTS, _whole), (_REALS, _real))
    )
    values: dict[str, float] = counts | reals
    start, end = _real(members.get("start")), _real(members.get("end"))
    if start is None or end is None or not {"transfer", "rate", "seconds"} <= values.keys():
        return None
    if min(values["transfer"], values["rate"], values["seconds"]) < 0 or members.keys() & _DATAGRAMS not in (set(), {"packets"}, _DATAGRAMS):
        return None
    lasted = _lasted(values, end - start, of_one_side=of_one_side, has_all_digits=has_all_digits)
    if lasted is None:
        return None
    steps = (
        {}
        if has_all_digits
        else {f"{group}_step": _last_digit(value) for group in _ROUNDED if isinstance(value := members.get(_REALS[group]), float)}
    )
    shown = {
        group: printed[name] for group, name in (_COUNTS | _REALS).items() if name in printed and (group != "seconds" or lasted == values[group])
    }
    values["seconds"] = lasted
    if "share" in values:
        values["share"] /= 100
    return Cells(values | steps, {}, shown)


def _last_digit(value: float) -> float:
    """The unit of the last of six significant digits."""
    return float(10 ** (floor(log10(abs(value))) - 5)) if value else 0.0


def _lasted(values: Mapping[str, float], from_start_to_end: float, *, of_one_side: bool, has_all_digits: bool) -> float | None:
    """Return the time that the rate of a result is over: the stated seconds, or end minus start; ``None`` if it is neither.

    Some versions print the other side's time beside a rate over their own.
    """
    bits, rate, seconds = 8 * values["transfer"], values["rate"], values["seconds"]
    digits = 1e-6 if has_all_digits else 1.2e-5
    allowed = bits * (digits if of_one_side else 0.05) + rate * 2e-6  # The rate of a row for both sides is over the other side's time.
    fits = [abs(rate * time - bits) <= allowed for time in (seconds, from_start_to_end)]
    near = abs(from_start_to_end - seconds) <= 0.05 * seconds + 0.01
    if fits[0] and (near or bits > 0):
        return seconds
    return from_start_to_end if fits[1] and near else None
