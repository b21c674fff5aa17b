"""RTI Perftest's legacy text: summaries, intervals and the time of serialisation, each on one line.

Intervals do not state their size. The head ``********** New data length is N`` before the intervals states it. A publisher prints an interval for
each answer, a subscriber an interval for each second.
"""

from __future__ import annotations

import re

from tacholog.formats.kit import Broken, Cell, Cells, Finding, Line, LineRule, Record
from tacholog.formats.rti import rules
from tacholog.formats.rti.rules import CUT, LATENCIES, UNIT, unit_ns

_WHOLE = r"[0-9]{1,40}"  # More digits than any counter has. So an impossible size is also read, and a message states the error.
_REAL = r"[0-9]{1,40}(?:[.,][0-9]{1,3})?"
_PERCENT = r"\((?P<percent>[0-9]{1,3}[.,][0-9]{1,2})\s?(?:%|\(%\))\)"
_PERCENTAGE = r"(?P<cpu>[0-9]{1,12}(?:[.,\u00a0\u202f][0-9]{3}){0,3}(?:[.,][0-9]{1,15})?)[\s\u00a0\u202f]?(?P<sign>%|percent|\(%\))"
_CPU = rf"(?:\s+CPU(?:(?P<colon>:)\s*| ){_PERCENTAGE})?\s*"
_LOSS = rf"\s+Lost:\s*(?P<lost>{_WHOLE})(?:\s+{_PERCENT})?{_CPU}"
_THROUGHPUT = re.compile(
    rf"\s*Length:\s*(?P<size>[0-9]+)\s+Packets:\s*(?P<received>{_WHOLE})\s+Packets/s\(ave\):\s*(?P<rate>{_WHOLE})"
    rf"\s+Mbps\(ave\):\s*(?P<mbit>[0-9]{{1,40}}[.,][0-9]){_LOSS}"
)
_RUNNING_THROUGHPUT = re.compile(
    rf"\s*Packets:\s*(?P<received>{_WHOLE})\s+Packets/s:\s*(?P<last_rate>{_WHOLE})\s+Packets/s\(ave\):\s*(?P<rate>{_WHOLE})"
    rf"\s+Mbps:\s*(?P<last_mbit>[0-9]{{1,40}}[.,][0-9])\s+Mbps\(ave\):\s*(?P<mbit>[0-9]{{1,40}}[.,][0-9]){_LOSS}"
)


def _statistic(name: str, group: str) -> str:
    return rf"\s+{name}\s+(?P<{group}>{_REAL}) (?P=unit)"


_NAMES = ("Std", "Min", "Max", "50%", "90%", "99%", r"99\.99%")
_LAST_STATISTIC = _statistic(r"99\.9999%", "p99_9999")  # The first version does not print this statistic.
_LATENCY = re.compile(
    rf"\s*Length:\s*(?P<size>[0-9]+)\s+Latency:\s+Ave\s+(?P<mean>{_REAL}) (?P<unit>{UNIT})"
    + "".join(map(_statistic, _NAMES, LATENCIES[1:]))
    + f"(?:{_LAST_STATISTIC})?{_CPU}"
)
_RUNNING_LATENCY = re.compile(
    rf"\s*One[ -][wW]ay Latency:\s+(?P<last>{_REAL}) (?P<unit>{UNIT}){_statistic('Ave', 'mean')}{_statistic('Std', 'std')}{_statistic('Min', 'min')}"
    rf"\s+Max\s+(?P<max>{_REAL})(?: (?P=unit))?{_CPU}"
)
_HEAD = re.compile(r"\s*\*{10} New data length is (?P<size>[0-9]+)\s*")
_SERIALIZATION = re.compile(
    r"\s*Serialization/Deserialization: (?P<serialize>{0}) us / (?P<deserialize>{0}) us / TOTAL: (?P<total>{0}) us\s*".replace(
        "{0}", r"-?[0-9]{1,12}\.[0-9]{3}"
    )
)
_AVERAGE = re.compile(r"\s*Average Latency time = (?P<mean>[0-9]{1,18}) \(us\)\s*")
_GARBLED = Broken("summary line is cut short or garbled")
_GARBLED_INTERVAL = Broken("interval line is cut short or garbled")
_HEADLESS = Broken("no head states the size of this interval")
_TANGLED = Broken("two sizes are mixed: it is unknown to which size this interval belongs")
_STARTS = (
    *("Length:", "Packets:", "One way Latency:", "One-Way Latency:", "One-way Latency:", "Serialization/Deserialization:", "Average Latency time"),
)


class LegacyText:
    """Reads the legacy text. It stores the size of the next interval, and the summary to which the next time of serialisation belongs."""

    def __init__(self) -> None:
        self._open: str | None = None
        self._tangled = False
        self._last: Cells | None = None  # The previous interval of the same size.
        self._shape: tuple[object, ...] | None = None
        self._summary: str | None = None
        #: Whether every earlier summary had a time of serialisation. Otherwise it is unknown whether the next time belongs to the latest summary.
        self._costs = True

    def take(self, line: Line) -> list[Finding] | None:
        """Read a line of the legacy text; ``None`` for any other line."""
        text = line.text.lstrip()
        if text.startswith("**********"):
            return self._head(line)
        if not text.startswith(_STARTS):
            return None
        return [Finding(line, self._result(line, text))]

    def _head(self, line: Line) -> list[Finding] | None:
        head = _HEAD.fullmatch(line.text)
        if head is None:
            return None
        size = head["size"] if line.whole and rules.too_large(size=head["size"]) is None else None
        self._tangled = self._open is not None and self._open != size
        self._open, self._last, self._shape = size, None, None
        return [Finding(line, None if size else Broken("an impossible message size"))]

    def _result(self, line: Line, text: str) -> Record | Broken:
        if text.startswith("Length:"):
            return self._summary_record(line)
        if text.startswith("Serialization"):
            size, self._summary = self._summary if self._costs else None, None
            return _serialization(line, size)
        if text.startswith("Average"):
            return self._low_resolution(line)
        if not line.whole:
            return CUT
        if self._open is None or self._tangled:
            return _TANGLED if self._tangled else _HEADLESS
        return self._interval(line, self._open)

    def _summary_record(self, line: Line) -> Record | Broken:
        self._costs = self._costs and self._summary is None
        self._open, self._tangled, self._summary = None, False, None
        if match := _THROUGHPUT.fullmatch(line.text):
            return _record(rules.SUMMARY, match) if line.whole else CUT
        if match := _LATENCY.fullmatch(line.text):
            if not line.whole:
                return CUT
            record = _record(rules.LATENCY, match)
            self._summary = match["size"] if isinstance(record, Record) else None
            return record
        return _GARBLED

    def _interval(self, line: Line, size: str) -> Record | Broken:
        if match := _RUNNING_THROUGHPUT.fullmatch(line.text):
            if not self._alike(match):
                return _TANGLED
            return _record(rules.RUNNING_THROUGHPUT, match, size)
        match = _RUNNING_LATENCY.fullmatch(line.text)
        if match is None:
            return _GARBLED_INTERVAL
        if not self._alike(match):
            return _TANGLED
        cells = _figures(rules.ANSWER, match, size)
        record = cells if isinstance(cells, Broken) else rules.ANSWER.record(cells, self._last)
        if isinstance(cells, Broken) or isinstance(record, Broken):
            self._open = None if record == Broken(rules.GO_BACK) else self._open
            return record
        self._last = cells
        return record

    def _alike(self, match: re.Match[str]) -> bool:
        """Whether the interval has the form of earlier intervals. A program prints all intervals of a size in one form."""
        cells = match.groupdict()
        shape = (match[0].lstrip()[:8], cells.get("unit"), match["sign"], cells.get("percent") is None)
        self._shape = self._shape or shape
        return shape == self._shape

    def _low_resolution(self, line: Line) -> Record | Broken:
        match = _AVERAGE.fullmatch(line.text)
        if match is None or not line.whole:
            return CUT if match else _GARBLED
        return _record(rules.LOW_RESOLUTION, match)


def _serialization(line: Line, size: str | None) -> Record | Broken:
    match = _SERIALIZATION.fullmatch(line.text)
    if match is None or not line.whole:
        return CUT if match else Broken("serialization line is cut short or garbled")
    if size is None:
        return Broken("there is no summary of latencies before this line")
    record = _record(rules.SERIALIZATION, match, size)
    return record if isinstance(record, Broken) or record.numbers else Broken("the tool did not compute the cost of serialising")


def _record(rule: LineRule, match: re.Match[str], size: str | None = None) -> Record | Broken:
    cells = _figures(rule, match, size)
    return cells if isinstance(cells, Broken) else rule.record(cells)


def _figures(rule: LineRule, match: re.Match[str], size: str | None = None) -> Cells | Broken:
    """Return the figures of a line. From 3.1 on, the C# program multiplies a percentage by 100 twice. This is corrected."""
    cells = Cell.named(match)
    texts: dict[str, str] = {**cells, **({"size": size} if size else {})}
    units = {"unit": unit_ns(cells["unit"])} if "unit" in cells else {}
    if cpu := cells.get("cpu"):
        texts["cpu"] = cpu.read_as(_without_thousands(cpu))
        units["cpu_unit"] = 0.01 if "colon" not in cells and cells["sign"] == "%" else 1.0
    return rules.figures(rule, texts, **units)


def _without_thousands(text: str) -> str:
    plain = re.sub("[\u00a0\u202f]", "", text)
    return re.sub(r"[.,](?=[0-9]{3}(?:\D|$))", "", plain) if re.search(r"[.,][0-9]{3}[.,]", plain) else plain
