"""The JSON of iperf3 as a stream of events (``--json-stream``): one object a line, as soon as it is known.

Source: the reports of iperf3 3.17 and what its authors say of them (esnet/iperf, pull request 1098); no real log was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tacholog.formats.iperf3 import times
from tacholog.formats.iperf3.objects import Results, ending, is_result
from tacholog.formats.kit import Broken, Facts, Finding, JsonScalar, Line, Record, of_seconds, parse_json

SIGN = re.compile(r"\{\"event\":\s?\"(?P<event>start|interval|end|error|server_output_json|server_output_text)\",\s?\"data\":")
_NEXT_DOCUMENT = re.compile(r"\}\s*+(?=\{\s*+\"start\"\s*+:)")  # Within a text, a quote mark would stand behind a backslash.
_INTERVAL = "intervals/[]"
_Object = dict[str, Any]


class EventStream:
    """One test after another."""

    def __init__(self) -> None:
        """Wait for a test."""
        self._results = Results()
        self._is_running = self._has_failed = False

    def take(self, line: Line) -> Iterator[Finding] | None:
        """What an event says; ``None`` for any other line."""
        sign = SIGN.match(line.text)
        return self._event(line, sign["event"]) if sign else None

    def close(self) -> Iterator[Finding]:
        """The log has ended."""
        if self._is_running:
            yield Finding(None, Facts(status="truncated", reason="the events stop before 'end'"))

    def _event(self, line: Line, name: str) -> Iterator[Finding]:
        data = _data(line)
        if isinstance(data, Broken):
            yield Finding(line, data)
        elif name == "start" and isinstance(data, dict):
            yield Finding(line, self._start(data))
        elif name in {"interval", "end"} and isinstance(data, dict):
            place = _INTERVAL if name == "interval" else name
            records = self._records(data, place)
            yield from (Finding(line, found) for found in records)
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

    def _records(self, data: _Object, place: str) -> list[Record | Broken]:
        """The results in an object. What was received is read behind what was sent."""
        found, later = [], []
        for at, members in _objects(data, place):
            if self._results.waits_for_its_pair(at):
                later.append((at, members))
            else:
                found.append(self._results.record(at, members, ended_well=not self._has_failed))
        found += [self._results.record(at, members, ended_well=not self._has_failed) for at, members in later]
        return [record for record in found if record]

    def document(self, line: Line) -> Iterator[Finding] | None:
        """What a whole document, several in a list or in a row, or one within another say on one line; ``None`` for any other line."""
        if line.text[:1] not in ("{", "[") or '"start"' not in line.text or line.text.rstrip()[-1:] not in ("}", "]"):
            return None
        # It is whole if its brackets are closed, whether or not its line is.
        value = parse_json(f'{{"":{line.text}}}') or parse_json(f'{{"":[{_NEXT_DOCUMENT.sub("},", line.text)}]}}')
        documents = list(_documents(value)) if value else []
        return (found for document in documents for found in self._document(line, document)) if documents else None

    def _document(self, line: Line, document: _Object) -> Iterator[Finding]:
        yield Finding(line, self._start(document["start"]))
        if isinstance(error := document.get("error"), str):
            self._has_failed = True
            yield Finding(line, ending(error))
        for interval in document.get("intervals", []):
            yield from (Finding(line, found) for found in self._records(interval, _INTERVAL))
        if isinstance(end := document.get("end"), dict):
            yield from (Finding(line, found) for found in self._records(end, "end"))
        yield Finding(line, Facts(status="ok") if "end" in document else Facts(status="truncated", reason="the JSON has no 'end'"))
        self._is_running = False

    def _start(self, data: _Object) -> Facts:
        self._results, self._is_running, self._has_failed = Results(), True, False
        described = dict(_objects(data, "start", results=False))
        self._results.describe(described.get("start/test_start", {}))
        for place in described:
            self._results.met(place)
        self._results.printed_by(str(data.get("version") or ""))
        system, stamp = data.get("system_info"), described.get("start/timestamp", {})
        return Facts(
            tool_version=str(data.get("version") or "").removeprefix("iperf ") or None,
            environment={"system_info": system} if isinstance(system, str) else {},
            start_time=of_seconds(stamp.get("timesecs")) or times.of_date(str(stamp.get("time"))),
        )


def _data(line: Line) -> Any:  # noqa: ANN401 - whatever JSON holds
    if not line.whole:
        return Broken("the log ends within this event, or it is too long a line")
    event = parse_json(line.text)
    if event is None:
        return Broken("an event that is cut short or garbled")
    return event["data"] if event.keys() == {"event", "data"} else Broken("an event with other members than its name and its data")


def _documents(value: Any) -> Iterator[_Object]:  # noqa: ANN401
    """The documents of iperf3 in a value: objects with a description of the run. One within another is the other side's, of the same test."""
    if isinstance(value, dict) and isinstance(value.get("start"), dict) and value.keys() & {"intervals", "end"}:
        yield value
    elif isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _documents(member)


def _objects(value: Any, place: str, *, results: bool = True) -> Iterator[tuple[str, Mapping[str, JsonScalar]]]:  # noqa: ANN401
    """The objects within a value by their places, and of each the members that are no objects; of results, or of all others."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _objects(member, f"{place}/{name}", results=results)
        if is_result(place) is results:
            yield place, {name: member for name, member in value.items() if not isinstance(member, dict | list)}
    elif isinstance(value, list):
        for member in value:
            yield from _objects(member, f"{place}/[]", results=results)
