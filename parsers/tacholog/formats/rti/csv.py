"""RTI Perftest's CSV, its default since 3.1: four kinds of rows, with titles and heads or without.

What a row is can be told from its number of cells and their decimals, so that heads may be missing (``-noOutputHeaders``). Only the unit of time
stands nowhere else: without a head it is taken to be the microsecond, which all but special builds print, and the figures are marked. Rows that a
spreadsheet has saved anew have lost their padding and some zeros behind the point; they need their head.

Where the log ends within a row, its head says what its closed cells are, and they are kept where they stand by themselves (`_LEAST`). Without a head
they are refused, as the first cells of one kind look like those of another; so are latencies from a spreadsheet: the lost cell may have told their
decimals.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from tacholog.formats.kit import Broken, Cell, Found, Line, Number, Record, closed_cells
from tacholog.formats.rti.figures import CUT, OUT_OF_PLACE, UNIT, PrintStyle, Rates, cpu, latency, running_latency, serialization, throughput, unit_ns

Kind = Literal["running latency", "latency", "running throughput", "throughput"]

_TITLE = re.compile(r"(?:Intervals One-[wW]ay Latency|Intervals? Throughput) for [0-9]{1,19} Bytes:|One-[wW]ay Latency Summary:|Throughput Summary:")
_CPU_HEAD = r"(?P<cpu>, CPU (?:\(%{1,2}\)|%))?"  # Without brackets in the document that the heads were designed in.
_LOSS_HEAD = r", Lost Samples, Lost Samples \(%{1,2}\)" + _CPU_HEAD
_SIZE_HEAD = r"(?:Length|Sample Size) \(Bytes\)"
_HEADS: dict[Kind, re.Pattern[str]] = {
    "running latency": re.compile(rf"{_SIZE_HEAD}, Latency \((?P<unit>{UNIT})\)" + r", \w+ \((?P=unit)\)" * 4 + _CPU_HEAD),
    "latency": re.compile(
        rf"{_SIZE_HEAD}, Ave \((?P<unit>{UNIT})\)"
        + "".join(rf", {name} \((?P=unit)\)" for name in ("Std", "Min", "Max"))
        + "".join(rf", {share}%{{1,2}} \((?P=unit)\)" for share in ("50", "90", "99", r"99\.99", r"99\.9999"))
        + r"(?P<cost>, Serialization \((?P=unit)\), Deserialization \((?P=unit)\), Total \((?P=unit)\))?"
        + _CPU_HEAD
    ),
    "running throughput": re.compile(rf"{_SIZE_HEAD}, Total Samples, +Samples/s, A(?:ve|vg) Samples/s, +Mbps, +A(?:ve|vg) Mbps{_LOSS_HEAD}"),
    "throughput": re.compile(rf"{_SIZE_HEAD}, Total Samples, A(?:ve|vg) Samples/s, +A(?:ve|vg) Mbps{_LOSS_HEAD}"),
}
_HEAD_START = re.compile(r"\s*(?:Length|Sample Size) \(Bytes\),")
_BARE_CPU_HEAD = re.compile(r", CPU \(%{1,2}\)")  # C# prints it on a line of its own where it leaves out the rest of the head.
_ROW = re.compile(r"\s*[0-9]{1,40}\s*,%?\s*[0-9]{1,40}\s*[,.]")
_DECIMALS: dict[Kind, tuple[int, ...]] = {
    "running latency": (0, 0, 0, 1, 0, 0),
    "latency": (0, 0, 1, 0, 0, 0, 0, 0, 0, 0),
    "running throughput": (0, 0, 0, 0, 1, 1, 0, 2),
    "throughput": (0, 0, 0, 1, 0, 2),
}
# How many cells stand by themselves: rates need the count of what was lost, and a summary's mean needs the minimum and maximum that it lies between.
_LEAST: dict[Kind, int] = {"running latency": 5, "latency": 5, "running throughput": 7, "throughput": 5}
_COSTS = ("serialize", "deserialize", "total")


class _Head(NamedTuple):
    """The columns that the last head names."""

    kind: Kind
    cost: bool
    cpu: bool


def _row(kind: Kind, decimals: Sequence[int], point: str, closed: _Head | None = None) -> re.Pattern[str]:
    """The pattern of a row; with the head that it stands below, of its closed cells where the log ends within it.

    C# lost a comma between the fifth and sixth cell, and put a percent sign before the second. Where the point is a comma, as Java prints it in many
    countries, blanks behind the other commas must tell them apart.
    """
    comma = r"\s*+,\s*+" if point == r"\." else r",\s++"

    def cell(places: int, most: int = 40) -> str:
        return rf"[0-9]{{1,{most}}}+{point}[0-9]{{{places}}}" if places else rf"[0-9]{{1,{most}}}+"

    gaps = ["", *([comma] * (len(decimals) - 1))]
    if kind == "latency":
        gaps[5] = rf"(?:{comma}|\s++)"
    if kind == "throughput":
        gaps[1] = rf"{comma}%?\s*+" if point == r"\." else r",(?:\s++|\s*+%\s++)"
    each = [f"{gap}({cell(places)})" for gap, places in zip(gaps, decimals, strict=True)]
    paid = [f"{comma}(?P<{name}>-?{cell(3, most=12)})" for name in _COSTS]
    if closed:
        may_lack = [*each[_LEAST[kind] :], *(paid if closed.cost else ()), *([f"{comma}(?P<cpu>{cell(2, most=12)})"] if closed.cpu else ())]
        return re.compile("".join(each[: _LEAST[kind]]) + "".join(f"(?:{one}" for one in may_lack) + ")?" * len(may_lack))
    cells, costs = "".join(each), "".join(paid)
    return re.compile(rf"{cells}{f'(?:{costs})?' if kind == 'latency' else ''}(?:{comma}(?P<cpu>{cell(2, most=12)}))?")


def _fine(decimals: Sequence[int]) -> tuple[int, ...]:
    """The decimals of a build of high resolution."""
    return (0, *(3 for _ in decimals[1:]))


_FORMS: tuple[tuple[Kind, tuple[int, ...]], ...] = (
    *_DECIMALS.items(),
    ("running latency", _fine(_DECIMALS["running latency"])),
    ("latency", _fine(_DECIMALS["latency"])),
)
_ROWS = {point: tuple((kind, _row(kind, decimals, point)) for kind, decimals in _FORMS) for point in (r"\.", ",")}


@functools.cache
def _closed_rows(head: _Head, point: str) -> tuple[re.Pattern[str], ...]:
    """The patterns of the closed cells of a row below this head."""
    return tuple(_row(kind, decimals, point, head) for kind, decimals in _FORMS if kind == head.kind)


def is_row(text: str) -> bool:
    """Whether the text is a row as the tool pads it."""
    return (",  " in text or ",\t" in text) and any(pattern.fullmatch(text.strip()) for _, pattern in _ROWS[r"\."])


class CsvTable:
    """The last head, and the unit of time that heads state."""

    def __init__(self) -> None:
        self._head: _Head | None = None
        self._unit: str | None = None
        self._trouble: str | None = None

    def take(self, line: Line) -> list[Found] | None:
        """Use a title, a head or a row; ``None`` for anything else."""
        bare = line.text.rstrip(", \t")  # A spreadsheet fills short rows up with empty cells.
        text = " ".join(bare.split()) if "\t" in bare else bare.strip()  # A row has commas: tabs between them are blanks.
        if not text:
            return [Found(line, None)] if "," in line.text else None
        if _TITLE.fullmatch(text):
            self._head, self._trouble = None, "the title's head is missing"
            return [Found(line, None)]
        if _BARE_CPU_HEAD.fullmatch(text):
            return [Found(line, None)]
        if _HEAD_START.match(text):
            return [Found(line, self._headed(text) if line.whole else CUT)]
        if _ROW.match(text) and (text if line.whole else line.text).count(",") >= 5:  # noqa: PLR2004
            return [Found(line, self._row(line, text))]
        return None

    def _headed(self, text: str) -> Broken | None:
        self._head, self._trouble = None, "the head above is garbled"
        for kind, pattern in _HEADS.items():
            if head := pattern.fullmatch(text):
                cells = head.groupdict()
                unit = cells.get("unit")
                differs = unit is not None and self._unit is not None and unit_ns(unit) != unit_ns(self._unit)
                self._unit = unit or self._unit
                self._trouble = "heads with two units of time in one run" if differs else None
                self._head = _Head(kind, bool(cells.get("cost")), bool(cells["cpu"]))
                return None
        return Broken("the head is garbled or of an unknown version")

    def _row(self, line: Line, text: str) -> Record | Broken:
        if self._trouble:
            return Broken(self._trouble)
        if not line.whole:
            return self._closed(line)
        for kind, pattern in _ROWS[r"\." if "." in text else ","]:
            if found := pattern.fullmatch(text):
                if (shift := line.text.find(text)) < 0:  # Tabs were taken for blanks.
                    return self._record(kind, found.groups()[: len(_DECIMALS[kind])], found.groupdict())
                cells = [cell for cell in Cell.numbered(found, shift)[: len(_DECIMALS[kind])] if cell is not None]
                return self._record(kind, cells, Cell.named(found, shift))
        return self._saved_anew(text)

    def _closed(self, line: Line) -> Record | Broken:
        """What the closed cells of a row say that the log ends in. A last cell that has all its decimals has lost nothing either."""
        if self._head is None or ("latency" in self._head.kind and " " not in line.text.strip()):
            return CUT
        # A comma that separates cells has a blank behind it; a decimal comma of Java has none.
        point, separator = (",", ", ") if "." not in line.text and ", " in line.text else (r"\.", ",")
        closed = separator.join(closed_cells(line, separator)).strip()
        has_decimals = re.search(rf"{point}[0-9]+\s*\Z", line.text)  # Which they are, the patterns say.
        for text in (line.text.strip(), closed) if has_decimals else (closed,):
            for pattern in _closed_rows(self._head, point):
                if found := pattern.fullmatch(text):
                    cells = [cell for cell in found.groups()[: len(_DECIMALS[self._head.kind])] if cell is not None]
                    return self._record(self._head.kind, cells, found.groupdict())
        return self._saved_anew(closed.rstrip(", \t"), whole=False)

    def _record(self, kind: Kind, cells: Sequence[str], others: Mapping[str, str | None]) -> Record | Broken:
        running = kind.startswith("running")
        busy = others.get("cpu")
        more: tuple[Number, ...] = (cpu(busy, "last" if running else "mean"),) if busy else ()
        if kind == "throughput":
            return throughput(Rates(*cells), more)
        if kind == "running throughput":
            size, received, last_rate, rate, last_mbit, mbit, lost, *percent = cells
            return throughput(Rates(size, received, rate, mbit, lost, percent[0] if percent else None, last_rate, last_mbit), more)
        if kind == "running latency":
            return running_latency(cells[0], cells[1:], self._style(cells), more)
        if others.get("serialize"):
            costs = serialization(others["serialize"] or "", others.get("deserialize"), others.get("total"))
            if isinstance(costs, Broken):
                return costs
            more = (*costs, *more)
        return latency(cells[0], cells[1:], self._style(cells), more)

    def _style(self, cells: Sequence[str]) -> PrintStyle:
        """High resolution is in microseconds wherever it is printed with decimals; whole numbers without a head may be either unit."""
        if self._unit:
            return PrintStyle(unit_ns(self._unit))
        certain = "." in cells[-1] or "," in cells[-1]
        return PrintStyle() if certain else PrintStyle(marks=("unit_assumed",))

    def _saved_anew(self, text: str, *, whole: bool = True) -> Record | Broken:
        """A row from a spreadsheet, or the closed cells of one: no padding, and zeros gone from behind the point."""
        head = self._head
        if head is None or re.search(r"\s", text):
            return OUT_OF_PLACE if whole else CUT
        cells = text.split(",")
        decimals = _DECIMALS[head.kind]
        if "latency" in head.kind and any(len(cell.partition(".")[2]) > 1 for cell in cells[: len(decimals)]):
            decimals = _fine(decimals)
        decimals += (3, 3, 3) * head.cost + (2,) * head.cpu
        if not whole:
            if len(cells) < _LEAST[head.kind]:
                return CUT
            decimals = decimals[: len(cells)]
        if len(cells) != len(decimals) or not all(map(_fits, cells, decimals)):
            return OUT_OF_PLACE
        cells = [_filled(cell, places) for cell, places in zip(cells, decimals, strict=True)]
        length = len(_DECIMALS[head.kind])
        others = dict(zip((*(_COSTS if head.cost else ()), *(("cpu",) if head.cpu else ())), cells[length:], strict=False))
        return self._record(head.kind, cells[:length], others)


def _fits(cell: str, places: int) -> bool:
    return re.fullmatch(rf"-?[0-9]{{1,40}}(?:\.[0-9]{{1,{places}}})?" if places else r"[0-9]{1,40}", cell) is not None


def _filled(cell: str, places: int) -> str:
    """The cell with the zeros that stood behind its point."""
    whole, _, behind = cell.partition(".")
    return f"{whole}.{behind:0<{places}}" if places else whole
