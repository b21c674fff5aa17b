"""The JSON of iperf3 as a stream of events (``--json-stream``): one object a line, as soon as it is known.

Source: the reports of iperf3 3.17 and what its authors say of them (esnet/iperf, pull request 1098); no real log was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tacholog.formats.iperf3 import times
from tacholog.formats.iperf3.objects import Results, ending, is_result
from tacholog.formats.kit import Broken, Facts, Found, JsonScalar, Line, of_seconds, parse_json

SIGN = re.compile(r"\{\"event\":\s?\"(?P<event>start|interval|end|error|server_output_json|server_output_text)\",\s?\"data\":")
_INTERVAL = "intervals/[]"
_Object = dict[str, Any]


class EventStream:
    """One test after another."""

    def __init__(self) -> None:
        """Wait for a test."""
        self._results = Results()
        self._is_running = False

    def take(self, line: Line) -> Iterator[Found] | None:
        """What an event says; ``None`` for any other line."""
        sign = SIGN.match(line.text)
        return self._event(line, sign["event"]) if sign else None

    def close(self) -> Iterator[Found]:
        """The log has ended."""
        if self._is_running:
            yield Found(None, Facts(status="truncated", reason="the events stop before 'end'"))

    def _event(self, line: Line, name: str) -> Iterator[Found]:
        data = _data(line)
        if isinstance(data, Broken):
            yield Found(line, data)
        elif name == "start" and isinstance(data, dict):
            yield Found(line, self._start(data))
        elif name in {"interval", "end"} and isinstance(data, dict):
            place = _INTERVAL if name == "interval" else name
            records = [found for at, members in _objects(data, place) if (found := self._results.record(at, members))]
            yield from (Found(line, found) for found in records)
            if name == "end":
                self._is_running = False
                yield Found(line, Facts(status="ok"))
            elif not records:
                yield Found(line, None)
        elif name == "error" and isinstance(data, str):
            self._is_running = False
            yield Found(line, ending(data))
        else:
            yield Found(line, None if name.startswith("server_output") else Broken("an event without its data"))

    def _start(self, data: _Object) -> Facts:
        self._results, self._is_running = Results(), True
        described = dict(_objects(data, "start", results=False))
        self._results.describe(described.get("start/test_start", {}))
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
