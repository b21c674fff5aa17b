"""The JSON of iperf3, read as it comes: each result is known by its place in the document, and keeps the lines that its members stand on.

Source: the JSON reports of iperf3 3.12, and logs of 3.0.11, 3.1.3, 3.6 and 3.12.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tacholog.formats.iperf3 import times
from tacholog.formats.iperf3.objects import Results, ending, is_result
from tacholog.formats.kit import Broken, Facts, Found, JsonLine, JsonObject, JsonReader, Line, of_seconds

_TEST = "start/test_start"
_SEVERAL = "several results on one line: print the JSON with a member a line"


class IperfDocument:
    """One JSON document after another."""

    def __init__(self) -> None:
        """Wait for a document."""
        self._reader = JsonReader(lambda place: is_result(place) or place == _TEST, nested=False, shares_lines=False)
        self._results = Results()
        self._lacks_its_end = False

    @property
    def is_open(self) -> bool:
        """Whether this is within a document."""
        return self._reader.is_open

    def take(self, line: Line) -> Iterator[Found]:
        """Use one line, the first of which is an opening brace."""
        self._lacks_its_end = self._lacks_its_end or not self._reader.is_open
        if line.text.count('"bits_per_second"') + line.text.count('"host_total"') > 1:
            yield from self._damaged(line, self._reader.spoil(line, _SEVERAL))
            return
        read = self._reader.take(line)
        self._lacks_its_end &= "end" not in read.opened
        closed = [found for item in read.closed if (found := self._closed(item))] if read.closed else []
        if read.damage:
            yield from (found for found in closed if line not in {found.line, *found.also})
            yield from self._damaged(line, read)
            return
        yield from closed
        if any(map(is_result, self._reader.holders(line))):
            return
        if not any(line in {found.line, *found.also} for found in closed):
            yield Found(line, self._facts(read))

    def close(self) -> Iterator[Found]:
        """The log has ended."""
        if self.is_open:
            yield from self._given_up(self._reader.abandon(), "the JSON ends within this result")
            yield Found(None, Facts(status="truncated", reason="the JSON ends before its last brace"))

    def _damaged(self, line: Line, read: JsonLine) -> Iterator[Found]:
        """Say what a damaged line costs: the line itself, the result that it is of, or all that follows."""
        yield from self._given_up(read.lost, "the JSON is damaged behind this result")
        if not any(map(is_result, self._reader.holders(line))):
            yield Found(line, Broken(read.damage or ""))
        if not self.is_open:
            self._results = Results()
            yield Found(None, Facts(status="truncated", reason="the JSON is damaged, and what follows cannot be placed"))

    def _given_up(self, lost: Iterable[JsonObject], reason: str) -> Iterator[Found]:
        yield from (item.found(Broken(reason)) for item in lost if is_result(item.place))

    def _closed(self, item: JsonObject) -> Found | None:
        """Read an object that has ended; return the finding if it is a result."""
        members = {name: member.value for name, member in item.members.items()} if item.members else {}
        found = None
        if is_result(item.place) and item.lines:
            damaged = Broken("a member of this result is damaged or missing") if item.is_damaged else None
            found = item.found(damaged or self._results.record(item.place, members))
        if item.place == _TEST:
            self._results.describe({} if item.is_damaged else members)
        self._results.met(item.place)
        if item.place == "":
            self._results = Results()
        return found

    def _facts(self, read: JsonLine) -> Facts | None:
        """Return what the values of a line say of the run."""
        if not self.is_open:
            return Facts(status="truncated", reason="the JSON has no 'end'") if self._lacks_its_end else Facts(status="ok")
        stated = {place: member.value for place, member in read.members}
        if isinstance(error := stated.get("error"), str):
            return ending(error)
        if isinstance(version := stated.get("start/version"), str):
            self._results.printed_by(version)
            return Facts(tool_version=version.removeprefix("iperf "))
        if isinstance(system := stated.get("start/system_info"), str):
            return Facts(environment={"system_info": system})
        if isinstance(time := stated.get("start/timestamp/time"), str):
            return Facts(start_time=times.of_date(time))
        if (moment := of_seconds(stated.get("start/timestamp/timesecs"))) is not None:
            return Facts(start_time=moment)
        return None
