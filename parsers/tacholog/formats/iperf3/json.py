"""The JSON of iperf3, read as it comes: each result is known by its place in the document, and keeps the lines that its members stand on.

The order of members does not matter: a result that needs what stands later in the document waits for it. A document may be a part of another one, or
one of a list: its place is where its first result, or the description of its test, is found.
Source: the JSON reports of iperf3 3.12, and logs of 3.0.11, 3.1.3, 3.6 and 3.12.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tacholog.formats.iperf3 import times
from tacholog.formats.iperf3.objects import Results, ending, is_result
from tacholog.formats.kit import Broken, Cell, Facts, Finding, JsonLine, JsonObject, JsonReader, JsonScalar, Line, of_seconds

_TEST = "start/test_start"
_PART = re.compile(r"(?:^|/)(?=(?:start|intervals|end|error)(?:/|$))")
_OTHER_SIDE = "server_output_json"  # The server's document within the client's, of the same test.
_SEVERAL = "several results on one line: print the JSON with a member a line"
_MOST_PARTS = 1000
_MOST_HELD = 20_000  # Results that wait for the description of their test, which sorted documents have last.
_WAIT_LINES = 3000  # After so many lines those of a waiting result are claimed: a format must claim a line within 4096.


class _Held(NamedTuple):
    """A result that waits: its place in its document, its members, and the object that it is read from."""

    place: str
    members: Mapping[str, JsonScalar]
    item: JsonObject

    def found(self, results: Results, *, ended_well: bool = False) -> Finding:
        """Return what the object says."""
        printed = {name: member.text for name, member in self.item.members.items() if isinstance(member.text, Cell)}
        return self.item.found(results.record(self.place, self.members, printed, ended_well=ended_well))


class IperfDocument:
    """One JSON document after another."""

    def __init__(self) -> None:
        """Wait for a document."""
        self._reader = JsonReader(self._keeps, nested=False, shares_lines=False)
        self._begin()

    def _begin(self) -> None:
        self._results = Results()
        self._root: str | None = None  # The place of the document within the JSON, once it is known.
        self._parts: set[str] = set()  # The places of its "start" and "end", and of what is called so around it.
        self._has_failed = False
        self._held: list[_Held] = []
        self._claimed = 0  # So many of the held results have their lines claimed.

    @property
    def is_open(self) -> bool:
        """Whether this is within a document."""
        return self._reader.is_open

    def take(self, line: Line) -> Iterator[Finding]:
        """Use one line, the first of which is an opening brace or bracket."""
        if not self._reader.is_open:
            self._begin()
            self._tests = 0
        if line.text.count('"bits_per_second"') + line.text.count('"host_total"') > 1:
            yield from self._damaged(line, self._reader.spoil(line, _SEVERAL))
            return
        read = self._reader.take(line)
        if read.is_foreign:
            return
        if len(self._parts) < _MOST_PARTS:
            self._parts |= {place for place in read.opened if place.rpartition("/")[2] in ("start", "end")}
        facts = [fact for place, member in read.members if (fact := self._fact(place, member.value))]
        closed = [found for item in read.closed for found in self._closed(item)] if read.closed else []
        if read.damage:
            yield from (found for found in closed if line not in {found.line, *found.also})
            yield from self._damaged(line, read)
            return
        yield from closed
        yield from self._claim(line)
        yield from (Finding(line, fact) for fact in facts)
        is_of_result = any(self._is_result(place) for place in self._reader.holders(line)) or any(line in held.item.lines for held in self._held)
        if not (facts or is_of_result or any(line in {found.line, *found.also} for found in closed)):
            yield Finding(line, None)
        if not self.is_open and not self._tests and self._is_report:
            yield Finding(None, self._ending())

    def close(self) -> Iterator[Finding]:
        """The log has ended."""
        if self.is_open:
            yield from self._given_up(self._reader.abandon(), "the JSON ends within this result")
            yield from self._never_described()
            yield Finding(None, Facts(status="truncated", reason="the JSON ends before its last brace"))

    @property
    def _is_report(self) -> bool:
        """Whether this says how a test ended. With -d, what the two sides tell each other of a test stands in its text, as JSON too."""
        return bool(self._parts) or self._root is not None or self._has_failed

    def _has(self, part: str) -> bool:
        """Whether the document has begun to say what was run (``start``), or what came of it (``end``)."""
        if self._root is None:
            return any(place.rpartition("/")[2] == part for place in self._parts)
        return (f"{self._root}/{part}" if self._root else part) in self._parts

    def _keeps(self, place: str) -> bool:
        """Whether an object is a result, or the description of the test. The first one shows where the document is."""
        within = self._within(place)
        if within is None or not (is_result(within) or within == _TEST):
            return False
        if self._root is None:
            self._root = place.removesuffix(within).rstrip("/")
        return True

    def _within(self, place: str) -> str | None:
        """Return a place as it is within the document of iperf3; ``None`` if it is not within one."""
        if _OTHER_SIDE in place:
            return None
        if self._root is not None:
            return place if not self._root else place.removeprefix(f"{self._root}/") if place.startswith(f"{self._root}/") else None
        starts = [part.end() for part in _PART.finditer(place)]
        return next((place[at:] for at in starts if is_result(place[at:])), place[starts[0] :] if starts else None)

    def _is_result(self, place: str) -> bool:
        within = self._within(place)
        return within is not None and is_result(within)

    def _damaged(self, line: Line, read: JsonLine) -> Iterator[Finding]:
        """Say what a damaged line costs: the line itself, the result that it is of, or all that follows."""
        yield from self._given_up(read.lost, "the JSON is damaged behind this result")
        if not any(map(self._is_result, self._reader.holders(line))):
            yield Finding(line, Broken(read.damage or ""))
        if not self.is_open:
            yield from self._never_described()
            self._begin()
            yield Finding(None, Facts(status="truncated", reason="the JSON is damaged, and what follows cannot be placed"))

    def _given_up(self, lost: Iterable[JsonObject], reason: str) -> Iterator[Finding]:
        yield from (item.found(Broken(reason)) for item in lost if self._is_result(item.place))

    def _never_described(self) -> Iterator[Finding]:
        held, self._held = self._held, []
        yield from (one.item.found(Broken("the JSON ends before it says what was run, or how it ended")) for one in held)

    def _closed(self, item: JsonObject) -> Iterator[Finding]:
        """Read an object that has ended; yield the finding if it is a result, and those that waited for it."""
        if item.place == self._root:
            yield from self._end_of_test()
            return
        place = self._within(item.place)
        if place is None:
            return
        members = {name: member.value for name, member in item.members.items()} if item.members else {}
        if is_result(place) and item.lines:
            yield from self._result(_Held(place, members, item))
        elif place == _TEST:
            self._results.describe({} if item.is_damaged else members)
        self._results.met(place)

    def _result(self, one: _Held) -> Iterator[Finding]:
        if one.item.is_damaged:
            yield one.item.found(Broken("a member of this result is damaged or missing"))
        elif self._has("start") and not self._results.waits_for_its_pair(one.place) and not self._results.shows_no_datagrams(one.place, one.members):
            yield one.found(self._results)
        elif len(self._held) < _MOST_HELD:
            self._held.append(one)
        else:
            yield one.item.found(Broken("more results stand before the description of their test than can wait for it"))

    def _claim(self, line: Line) -> Iterator[Finding]:
        """Claim the lines of those that have waited for long. They stay the lines of their results."""
        while self._claimed < len(self._held) and self._held[self._claimed].item.lines[0].number < line.number - _WAIT_LINES:
            yield self._held[self._claimed].item.found(None)
            self._claimed += 1

    def _end_of_test(self) -> Iterator[Finding]:
        """The object of the document is closed: what waited is read in the order in which iperf3 prints it."""
        held = sorted(self._held, key=lambda one: (one.place.startswith("end/"), "received" in one.place))
        for one in held:
            yield one.found(self._results, ended_well=self._has("end") and not self._has_failed)
        yield Finding(None, self._ending())
        self._tests += 1
        self._begin()

    def _ending(self) -> Facts:
        return Facts(status="ok") if self._has("end") else Facts(status="truncated", reason="the JSON has no 'end'")

    def _fact(self, place: str, value: JsonScalar) -> Facts | None:
        """Return what a value says of the run."""
        match self._within(place), value:
            case "error", str():
                self._has_failed = True
                return ending(value)
            case "start/version", str():
                self._results.printed_by(value)
                return Facts(tool_version=value.removeprefix("iperf "))
            case "start/system_info", str():
                return Facts(environment={"system_info": value})
            case "start/timestamp/time", str():
                return Facts(start_time=times.of_date(value))
            case "start/timestamp/timesecs", _ if (moment := of_seconds(value)) is not None:
                return Facts(start_time=moment)
        return None
