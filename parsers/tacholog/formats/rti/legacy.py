"""RTI Perftest's legacy text: summaries, intervals and the cost of serialising, one line each.

Intervals do not say of which size they are: the head ``********** New data length is N`` before them does. A publisher prints an interval for every
answer it gets, a subscriber one a second.
"""

from __future__ import annotations

import re

from tacholog.formats.kit import Broken, Cell, Cells, Conditions, Found, Line, Number, Record, printed
from tacholog.formats.rti import figures
from tacholog.formats.rti.figures import CUT, UNIT, PrintStyle, Rates, throughput, too_large, unit_ns, with_more
from tacholog.formats.rti.rules import ANSWER, GO_BACK

_WHOLE = r"[0-9]{1,40}"  # More digits than any counter has, so that an impossible size is not mistaken for a garbled line.
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


def _statistic(name: str, number: int) -> str:
    return rf"\s+{name}\s+(?P<c{number}>{_REAL}) (?P=unit)"


_LAST_STATISTIC = _statistic(r"99\.9999%", 8)  # Not in the first version.
_LATENCY = re.compile(
    rf"\s*Length:\s*(?P<size>[0-9]+)\s+Latency:\s+Ave\s+(?P<c0>{_REAL}) (?P<unit>{UNIT})"
    + "".join(_statistic(name, at) for at, name in enumerate(("Std", "Min", "Max", "50%", "90%", "99%", r"99\.99%"), start=1))
    + f"(?:{_LAST_STATISTIC})?{_CPU}"
)
_RUNNING_LATENCY = re.compile(
    rf"\s*One[ -][wW]ay Latency:\s+(?P<c0>{_REAL}) (?P<unit>{UNIT}){_statistic('Ave', 1)}{_statistic('Std', 2)}{_statistic('Min', 3)}"
    rf"\s+Max\s+(?P<c4>{_REAL})(?: (?P=unit))?{_CPU}"
)
_HEAD = re.compile(r"\s*\*{10} New data length is (?P<size>[0-9]+)\s*")
_SERIALIZATION = re.compile(
    r"\s*Serialization/Deserialization: (-?[0-9]{1,12}\.[0-9]{3}) us / (-?[0-9]{1,12}\.[0-9]{3})"
    r" us / TOTAL: (-?[0-9]{1,12}\.[0-9]{3}) us\s*"
)
_LOW_RESOLUTION = re.compile(r"\s*Average Latency time = (?P<mean>[0-9]{1,18}) \(us\)\s*")
_GARBLED = Broken("summary line is cut short or garbled")
_GARBLED_INTERVAL = Broken("interval line is cut short or garbled")
_HEADLESS = Broken("no head says of which size this interval is")
_TANGLED = Broken("two sizes at once: whose interval this is cannot be told")
_STARTS = (
    *("Length:", "Packets:", "One way Latency:", "One-Way Latency:", "One-way Latency:", "Serialization/Deserialization:", "Average Latency time"),
)


class Legacy:
    """Which size the next interval is of, and which summary the next cost of serialising belongs to."""

    def __init__(self) -> None:
        self._open: str | None = None
        self._tangled = False
        self._last: Cells | None = None  # The interval before, of the same size.
        self._shape: tuple[object, ...] | None = None
        self._summary: str | None = None
        self._costs = True  # Whether every summary so far had its cost of serialising, so that the next cost is the last summary's.

    def take(self, line: Line) -> list[Found] | None:
        """Use a line of the legacy text; ``None`` if it is not one."""
        text = line.text.lstrip()
        if text.startswith("**********"):
            return self._head(line)
        if not text.startswith(_STARTS):
            return None
        return [Found(line, self._result(line, text))]

    def _head(self, line: Line) -> list[Found] | None:
        head = _HEAD.fullmatch(line.text)
        if head is None:
            return None
        size = head["size"] if line.whole and too_large(head["size"]) is None else None
        self._tangled = self._open is not None and self._open != size
        self._open, self._last, self._shape = size, None, None
        return [Found(line, None if size else Broken("a message size that cannot be"))]

    def _result(self, line: Line, text: str) -> Record | Broken:
        if text.startswith("Length:"):
            return self._summarised(line)
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

    def _summarised(self, line: Line) -> Record | Broken:
        self._costs = self._costs and self._summary is None
        self._open, self._tangled, self._summary = None, False, None
        if found := _THROUGHPUT.fullmatch(line.text):
            return throughput(_rates(found, found["size"]), _cpu(found)) if line.whole else CUT
        if found := _LATENCY.fullmatch(line.text):
            if not line.whole:
                return CUT
            record = figures.latency(found["size"], _cells(found), PrintStyle(unit_ns(found["unit"])), _cpu(found))
            self._summary = found["size"] if isinstance(record, Record) else None
            return record
        return _GARBLED

    def _interval(self, line: Line, size: str) -> Record | Broken:
        if found := _RUNNING_THROUGHPUT.fullmatch(line.text):
            if not self._alike(found):
                return _TANGLED
            return throughput(_rates(found, size), _cpu(found, "last"))
        found = _RUNNING_LATENCY.fullmatch(line.text)
        if found is None:
            return _GARBLED_INTERVAL
        if not self._alike(found):
            return _TANGLED
        return self._continued(figures.running_cells(size, _cells(found), PrintStyle(unit_ns(found["unit"]))), _cpu(found, "last"))

    def _continued(self, cells: Cells | Broken, cpu: tuple[Number, ...]) -> Record | Broken:
        record = cells if isinstance(cells, Broken) else ANSWER.record(cells, self._last)
        if isinstance(cells, Broken) or isinstance(record, Broken):
            self._open = None if record == Broken(GO_BACK) else self._open
            return record
        self._last = cells
        return with_more(record, cpu)

    def _alike(self, found: re.Match[str]) -> bool:
        """Whether the interval is printed as those before it are: one program prints all of a size alike."""
        cells = found.groupdict()
        shape = (found[0].lstrip()[:8], cells.get("unit"), found["sign"], cells.get("percent") is None)
        self._shape = self._shape or shape
        return shape == self._shape

    def _low_resolution(self, line: Line) -> Record | Broken:
        found = _LOW_RESOLUTION.fullmatch(line.text)
        if found is None or not line.whole:
            return CUT if found else _GARBLED
        return Record(
            test="latency",
            payload_bytes=None,  # The banner may name it, though not always this run's banner where logs run into one another.
            numbers=(printed("latency", "mean", float(found["mean"]) * 1000, 1000.0, cell=Cell.named(found)["mean"]),),
            side="publisher",
            conditions=Conditions(basis="rtt/2", definition="rti-low-resolution"),
        )


def _serialization(line: Line, size: str | None) -> Record | Broken:
    found = _SERIALIZATION.fullmatch(line.text)
    if found is None or not line.whole:
        return CUT if found else Broken("serialization line is cut short or garbled")
    if size is None:
        return Broken("no summary of latencies stands before this line")
    numbers = figures.serialization(*Cell.numbered(found))
    if isinstance(numbers, Broken):
        return numbers
    if not numbers:
        return Broken("the tool did not compute the cost of serialising")
    return Record(test="latency", payload_bytes=int(size), numbers=numbers, side="publisher", conditions=Conditions(definition="rti-serialization"))


def _cells(found: re.Match[str]) -> list[str]:
    return [cell for name, cell in Cell.named(found).items() if re.fullmatch(r"c[0-9]", name)]


def _rates(found: re.Match[str], size: str) -> Rates:
    cells: dict[str, str] = dict(Cell.named(found))
    return Rates(size, **{name: cells[name] for name in Rates._fields[1:] if name in cells})


def _cpu(found: re.Match[str], statistic: str = "mean") -> tuple[Number, ...]:
    """C# from 3.1 on formats what is a percentage already as one, which makes it a hundred times too large."""
    if found["cpu"] is None:
        return ()
    twice = not found["colon"] and found["sign"] == "%"
    return (figures.cpu(Cell.named(found)["cpu"], statistic, 0.01 if twice else 1.0),)
