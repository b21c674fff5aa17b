"""The JSON of OpenMessaging Benchmark: lists with a value for each interval, and the figures of the whole test.

The JSON has thousands of quantiles between its figures, so it is read in parts. A part ends where a member of another kind begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from tacholog.formats.kit import (
    MICROSECOND,
    Broken,
    Conditions,
    Facts,
    Finding,
    JsonMember,
    JsonObject,
    JsonReader,
    Line,
    Number,
    Record,
    is_size,
    settings_text,
)
from tacholog.formats.openmessaging.results import DROPS, END_TO_END, MILLISECOND, NOT_SUSTAINED, RATES, Rates, marked, published

_STATISTICS = {"Avg": "mean", "Min": "min", "Max": "max"}
_FIGURE = re.compile(r"(?P<whole>aggregated)?(?P<kind>(?i:publishDelay|publish|endToEnd))Latency(?:(?P<percent>[0-9]{2,6})pct|(?P<name>Avg|Min|Max))")
_RATES = {"publishRate": "acknowledged_rate", "consumeRate": "message_rate"}
_LISTED = {*_RATES, "publishErrorRate", "backlog"}
_COUNTS = ("topics", "partitions", "producersPerTopic", "consumersPerTopic")


def _part_of(path: str) -> str | None:
    """Return the part to which a member belongs; ``None`` for a quantile, or for a member that is no figure."""
    name = path.removesuffix("/[]")
    if name in _LISTED and name != path:
        return "publish lists"
    figure = _FIGURE.fullmatch(name)
    if figure is None or (figure["whole"] is None) is (name == path):
        return None
    return ("end-to-end" if figure["kind"].lower() == "endtoend" else "publish") + ("" if figure["whole"] else " lists")


class ResultDocument:
    """Reads the JSON of a result, member by member."""

    def __init__(self) -> None:
        self._reader = JsonReader(lambda _: False)
        self._part: str | None = None
        self._values: dict[str, list[JsonMember]] = {}
        self._counts: dict[str, int] = {}
        self._settings: dict[str, str] = {}  # For example, the number of subscribers of a topic.
        self._payload_bytes: int | None = None
        self._is_sustained = True
        self._has_delay = False  # whether the document states delays of the publish call, as documents since August 2022 do
        self._step_ns: float | None = None  # the largest clock step so far

    @property
    def is_open(self) -> bool:
        """Whether a document is open."""
        return self._reader.is_open

    def take(self, line: Line) -> Iterator[Finding]:
        """Read a line of the document."""
        read = self._reader.take(line)
        if read.is_foreign:
            return
        if read.damage:
            yield Finding(line, Broken(read.damage))
            if not self.is_open:
                yield from self._broken()
                yield Finding(None, Facts(status="truncated", reason="the JSON is damaged, so the lines after the damage cannot be read"))
            return
        if any(path in self._values and path.removesuffix("/[]") in (path, *read.opened) for path, _ in read.members):
            yield Finding(line, Broken("an earlier line already states this figure"))
            return
        facts: list[Facts] = []
        is_figure = False
        for path, member in read.members:
            part = _part_of(path)
            if part != self._part:
                yield from self._flush()
                self._part = part
            if part:
                self._values.setdefault(path, []).append(member)
                is_figure = True
            else:
                facts += self._facts(path, member)
        yield from (Finding(line, fact) for fact in facts)
        if not facts and not is_figure:
            yield Finding(line, None)
        if not self.is_open:
            yield from self._flush()

    def close(self) -> Iterator[Finding]:
        """End the log. If the document is not complete, yield that its last part is broken and that the log is truncated."""
        if self.is_open:
            yield from self._broken()
            yield Finding(None, Facts(status="truncated", reason="the JSON ends before its last brace"))

    def _facts(self, path: str, member: JsonMember) -> Iterator[Facts]:
        value = member.value
        if path == "driver" and isinstance(value, str) and value:
            yield Facts(system=value)
        elif path == "workload" and isinstance(value, str):
            yield self._setting(path, value)
        elif not isinstance(value, int) or isinstance(value, bool):
            return
        elif path == "messageSize" and is_size(value):
            self._payload_bytes = value
            yield Facts()
        elif path in _COUNTS and 0 < value < 1 << 31:
            self._counts[path] = value
            yield self._setting(path, str(value)) if path == "consumersPerTopic" else Facts(conditions=self._conditions(path))

    def _setting(self, name: str, value: str) -> Facts:
        """Add a setting, and return all settings that are known so far.

        The name of the workload also counts as a setting, because old versions state the size and the rate only in this name.
        """
        self._settings[name] = value
        return Facts(conditions=Conditions(settings=settings_text(self._settings)))

    def _conditions(self, path: str) -> Conditions:
        if path == "topics":
            return Conditions(topics=self._counts[path])
        if path == "partitions":
            return Conditions(partitions=self._counts[path])
        topics = self._counts.get("topics")
        return Conditions(publishers=topics * self._counts[path]) if topics else Conditions()

    def _broken(self) -> Iterator[Finding]:
        lines, self._part, self._values = _lines(self._values), None, {}
        if lines:
            yield Finding(lines[0], Broken("the JSON ends within this part"), lines[1:])

    def _flush(self) -> Iterator[Finding]:
        part, values, self._part, self._values = self._part, self._values, None, {}
        if not values:
            return
        if part in ("publish", "end-to-end"):
            yield from self._aggregate(
                JsonObject("", {path: members[0] for path, members in values.items()}, _lines(values)), is_delivery=part != "publish"
            )
            return
        if len({len(members) for members in values.values()}) > 1:
            lines = _lines(values)
            yield Finding(lines[0], Broken("the lists of this result have different lengths"), lines[1:])
            return
        rates = Rates()
        for index in range(len(next(iter(values.values())))):
            members = {path.removesuffix("/[]"): members[index] for path, members in values.items()}
            interval = JsonObject("", members, _lines({name: [member] for name, member in members.items()}))
            yield from self._interval(interval, rates, is_delivery=part == "end-to-end lists")
        self._is_sustained = self._is_sustained and rates.is_sustained
        if summary := rates.summary():
            yield Finding(summary.line, self._sized(summary.what), _lines(values)[1:]) if isinstance(summary.what, Record) else summary

    def _interval(self, interval: JsonObject, rates: Rates, *, is_delivery: bool) -> Iterator[Finding]:
        if not is_delivery and (record := _rates_of(interval)):
            rates.add(interval.lines[0], record)
            yield interval.found(self._sized(record))
        if record := self._latencies(interval, is_delivery=is_delivery):
            yield interval.found(self._sized(replace(record, scope="interval")))

    def _aggregate(self, figures: JsonObject, *, is_delivery: bool) -> Iterator[Finding]:
        record = self._latencies(figures, is_delivery=is_delivery)
        if record is None:
            yield figures.found(None)
            return
        step_ns = max((number.resolution or 0.0 for number in record.numbers), default=0.0)
        if step_ns > (self._step_ns or 0.0):
            self._step_ns = step_ns
            yield Finding(figures.lines[0], Facts(environment={"clock_resolution_ns": f"{step_ns:.0f}"}))
        yield figures.found(self._sized(record))

    def _latencies(self, figures: JsonObject, *, is_delivery: bool) -> Record | None:
        numbers = [number for name in figures.members if (number := _number(figures, name))]
        if not is_delivery:
            self._has_delay = self._has_delay or any(number.metric == "send_lateness" for number in numbers)
            return published(numbers, has_delay=self._has_delay) if any(number.value for number in numbers) else None
        if not numbers:
            return None
        if not any(number.value for number in numbers):  # The tool dropped all latencies.
            return replace(END_TO_END, numbers=tuple(replace(number, value=None, resolution=None, bound="=", marks=(DROPS,)) for number in numbers))
        step = MILLISECOND if all((n.value or 0) % MILLISECOND == 0 for n in numbers if n.statistic != "mean") else MICROSECOND
        numbers = [replace(number, resolution=step) if number.statistic != "mean" and number.value is not None else number for number in numbers]
        record = marked(replace(END_TO_END, numbers=tuple(numbers)), DROPS)
        return record if self._is_sustained else marked(record, NOT_SUSTAINED)

    def _sized(self, record: Record) -> Record:
        return replace(record, payload_bytes=self._payload_bytes)


def _lines(values: Mapping[str, Sequence[JsonMember]]) -> tuple[Line, ...]:
    return tuple({members[0].line.number: members[0].line for members in values.values()}.values())


def _rates_of(interval: JsonObject) -> Record | None:
    numbers = [number for name, metric in _RATES.items() if (number := interval.number(name, metric, "mean", is_binned=True))]
    backlog = interval.number("backlog", "backlog", "last", is_binned=True)
    return replace(RATES, numbers=(*numbers, *([backlog] if backlog else []))) if numbers else None


def _number(figures: JsonObject, name: str) -> Number | None:
    figure = _FIGURE.fullmatch(name)
    if figure is None:
        return None
    is_delay = figure["kind"].lower() == "publishdelay"
    percent = figure["percent"]
    statistic = _STATISTICS[figure["name"]] if percent is None else f"p{percent[:2]}" + (f".{percent[2:]}" if percent[2:] else "")
    number = figures.number(name, "send_lateness" if is_delay else "latency", statistic, MICROSECOND if is_delay else MILLISECOND, is_binned=True)
    if number is None or number.value is None:
        return number
    return replace(number, value=round(number.value, 3), resolution=None if statistic == "mean" else MICROSECOND)
