"""RTI Perftest's CSV, its default since 3.1: four kinds of rows, with or without titles and heads.

The kind of a row follows from its number of cells and their decimals, so heads may be missing (``-noOutputHeaders``). Only the head states the unit
of time: without a head, the unit is assumed to be the microsecond, as in all normal builds, and the figures are marked. If a spreadsheet saved rows,
it has removed their padding and trailing zeros, so these rows need their head.

If the log ends within a row, the head identifies the complete cells, and they are used if they are enough for a record. Without a head, the row is
refused, because the first cells of different kinds of rows look the same. If a spreadsheet saved a row of latencies, and the log ends within this
row, the row is also refused: the missing cell may be the only cell with decimals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tacholog.formats.kit import Broken, Cell, Finding, Line, Record, closed_cells
from tacholog.formats.rti import rules
from tacholog.formats.rti.rules import COSTS, CSV_ROWS, CUT, OUT_OF_PLACE, UNIT, CsvRow, unit_ns

_TITLE = re.compile(r"(?:Intervals One-[wW]ay Latency|Intervals? Throughput) for [0-9]{1,19} Bytes:|One-[wW]ay Latency Summary:|Throughput Summary:")
_CPU_HEAD = r"(?P<cpu>, CPU (?:\(%{1,2}\)|%))?"  # RTI's design document has this head without parentheses.
_LOSS_HEAD = r", Lost Samples, Lost Samples \(%{1,2}\)" + _CPU_HEAD
_SIZE_HEAD = r"(?:Length|Sample Size) \(Bytes\)"
_HEADS = (
    re.compile(rf"{_SIZE_HEAD}, Latency \((?P<unit>{UNIT})\)" + r", \w+ \((?P=unit)\)" * 4 + _CPU_HEAD),
    re.compile(
        rf"{_SIZE_HEAD}, Ave \((?P<unit>{UNIT})\)"
        + "".join(rf", {name} \((?P=unit)\)" for name in ("Std", "Min", "Max"))
        + "".join(rf", {share}%{{1,2}} \((?P=unit)\)" for share in ("50", "90", "99", r"99\.99", r"99\.9999"))
        + r"(?P<cost>, Serialization \((?P=unit)\), Deserialization \((?P=unit)\), Total \((?P=unit)\))?"
        + _CPU_HEAD
    ),
    re.compile(rf"{_SIZE_HEAD}, Total Samples, +Samples/s, A(?:ve|vg) Samples/s, +Mbps, +A(?:ve|vg) Mbps{_LOSS_HEAD}"),
    re.compile(rf"{_SIZE_HEAD}, Total Samples, A(?:ve|vg) Samples/s, +A(?:ve|vg) Mbps{_LOSS_HEAD}"),
)
_HEAD_START = re.compile(r"\s*(?:Length|Sample Size) \(Bytes\),")
_BARE_CPU_HEAD = re.compile(r", CPU \(%{1,2}\)")  # C# sometimes leaves out the other columns of the head. Then this part is alone on a line.
_ROW = re.compile(r"\s*[0-9]{1,40}\s*,%?\s*[0-9]{1,40}\s*[,.]")
_RUNNING_LATENCY, _LATENCY, _RUNNING_THROUGHPUT, _SUMMARY = CSV_ROWS
_OF_LATENCY = (_RUNNING_LATENCY, _LATENCY)


class _Head(NamedTuple):
    row: CsvRow
    cost: bool
    cpu: bool


def _decimals_of_high_resolution(decimals: Mapping[str, int]) -> Mapping[str, int]:
    return {name: 3 if name != "size" else 0 for name in decimals}


def _forms(head: _Head) -> Iterator[Mapping[str, int]]:
    """Yield the possible forms of the rows below a head. A form is the number of decimals of each cell."""
    for decimals in (head.row.decimals, _decimals_of_high_resolution(head.row.decimals)) if head.row in _OF_LATENCY else (head.row.decimals,):
        yield {**decimals, **dict.fromkeys(COSTS if head.cost else (), 3), **dict.fromkeys(("cpu",) if head.cpu else (), 2)}


_HEADS_KNOWN = [_Head(row, cost, cpu) for row in CSV_ROWS for cost in {False, row is _LATENCY} for cpu in (False, True)]
#: The kind of a row, by the decimals of its cells.
_FORMS = {tuple(form.values()): (head.row, tuple(form)) for head in _HEADS_KNOWN for form in _forms(head)}


def _row_pattern(number: str, comma: str, second: str) -> re.Pattern[str]:
    """Return the pattern of a row of cells, from the patterns of their parts.

    C# omits the comma between the fifth and the sixth cell. C# also prints a percent sign before the second cell, so ``second`` is the pattern of the
    text before the second cell.
    """
    return re.compile(rf"{number}{second}{number}(?:{comma}{number}){{3}}(?:(?:{comma}|\s++){number}(?:{comma}{number})*)?")


# In many locales, Java prints commas in place of decimal points. Then a blank follows each comma between cells.
_NUMBERS = {point: re.compile(rf"-?[0-9]{{1,40}}+(?:{re.escape(point)}[0-9]{{1,3}})?") for point in (".", ",")}
_ROWS = {
    ".": _row_pattern(_NUMBERS["."].pattern, r"\s*+,\s*+", r"\s*+,\s*+%?\s*+"),
    ",": _row_pattern(_NUMBERS[","].pattern, r",\s++", r",(?:\s++|\s*+%\s++)"),
}


def _cells(text: str, point: str, line: Line | None = None) -> Sequence[str]:
    """Return the cells of a row; empty if the text is no row. The cells have no positions if the text has blanks in place of tabs."""
    if not _ROWS[point].fullmatch(text):
        return ()
    shift = line.text.find(text) if line else -1
    return [Cell(match[0], match.start() + shift) if shift >= 0 else match[0] for match in _NUMBERS[point].finditer(text)]


def _signature(cells: Sequence[str], point: str) -> tuple[int, ...]:
    return tuple(len(cell.partition(point)[2]) for cell in cells)


def is_row(text: str) -> bool:
    """Whether the text is a row with the padding of the tool."""
    return (",  " in text or ",\t" in text) and _signature(_cells(text.strip(), "."), ".") in _FORMS


class CsvTable:
    """Reads the CSV tables of a log, line by line. It stores the latest head, and the unit of time that the heads state."""

    def __init__(self) -> None:
        self._head: _Head | None = None
        self._unit: str | None = None
        self._trouble: str | None = None

    def take(self, line: Line) -> list[Finding] | None:
        """Read a title, a head or a row; ``None`` for any other line."""
        bare = line.text.rstrip(", \t")  # A spreadsheet fills short rows with empty cells.
        text = " ".join(bare.split()) if "\t" in bare else bare.strip()  # Only commas separate cells, so a tab is treated as a blank.
        if not text:
            return [Finding(line, None)] if "," in line.text else None
        if _TITLE.fullmatch(text):
            self._head, self._trouble = None, "the title's head is missing"
            return [Finding(line, None)]
        if _BARE_CPU_HEAD.fullmatch(text):
            return [Finding(line, None)]
        if _HEAD_START.match(text):
            return [Finding(line, self._take_head(text) if line.whole else CUT)]
        if _ROW.match(text) and (text if line.whole else line.text).count(",") >= 5:  # noqa: PLR2004
            return [Finding(line, self._row(line, text))]
        return None

    def _take_head(self, text: str) -> Broken | None:
        self._head, self._trouble = None, "the head above is garbled"
        for row, pattern in zip(CSV_ROWS, _HEADS, strict=True):
            if head := pattern.fullmatch(text):
                cells = head.groupdict()
                unit = cells.get("unit")
                differs = unit is not None and self._unit is not None and unit_ns(unit) != unit_ns(self._unit)
                self._unit = unit or self._unit
                self._trouble = "heads with two units of time in one run" if differs else None
                self._head = _Head(row, bool(cells.get("cost")), bool(cells["cpu"]))
                return None
        return Broken("the head is garbled or of an unknown version")

    def _row(self, line: Line, text: str) -> Record | Broken:
        if self._trouble:
            return Broken(self._trouble)
        if not line.whole:
            return self._record_of_cut_row(line)
        point = "." if "." in text else ","
        cells = _cells(text, point, line)
        row, names = _FORMS.get(_signature(cells, point), (None, ()))
        return self._record_of_saved_row(line, text) if row is None else self._record(row, dict(zip(names, cells, strict=True)))

    def _record_of_cut_row(self, line: Line) -> Record | Broken:
        """Read the complete cells of a row within which the log ends."""
        head = self._head
        if head is None or (head.row in _OF_LATENCY and " " not in line.text.strip()):
            return CUT
        # In Java's rows, a blank follows a comma between cells, but not a decimal comma.
        point, separator = (",", ", ") if "." not in line.text and ", " in line.text else (".", ",")
        closed = separator.join(closed_cells(line, separator)).strip()
        has_decimals = re.search(rf"{re.escape(point)}[0-9]+\s*\Z", line.text)  # The form shows whether the last cell is complete.
        for text in (line.text.strip(), closed) if has_decimals else (closed,):
            cells = _cells(text, point, line)
            for form in _forms(head):
                if len(cells) >= head.row.least and _signature(cells, point) == tuple(form.values())[: len(cells)]:
                    return self._record(head.row, dict(zip(form, cells, strict=False)))
        return self._record_of_saved_row(line, closed.rstrip(", \t"), is_whole=False)

    def _record(self, row: CsvRow, cells: Mapping[str, str]) -> Record | Broken:
        if row not in _OF_LATENCY:
            return rules.record(row.rule, cells)
        # High-resolution builds always print microseconds with decimals. Whole numbers without a head may be microseconds or nanoseconds.
        is_certain = self._unit is not None or re.search("[.,]", cells["min"]) is not None
        return rules.record(row.rule, cells, () if is_certain else ("unit_assumed",), unit=unit_ns(self._unit or "us"))

    def _record_of_saved_row(self, line: Line, text: str, *, is_whole: bool = True) -> Record | Broken:
        """Read a row that a spreadsheet has saved. Such a row has neither padding nor trailing zeros."""
        head = self._head
        if head is None or re.search(r"\s", text):
            return OUT_OF_PLACE if is_whole else CUT
        cells = Cell.between(text, ",", line.text.find(text))
        is_fine = head.row in _OF_LATENCY and any(len(cell.partition(".")[2]) > 1 for cell in cells[: len(head.row.decimals)])
        decimals = list(_forms(head))[is_fine]
        if not is_whole and len(cells) < head.row.least:
            return CUT
        lacks = len(cells) != len(decimals) if is_whole else len(cells) > len(decimals)
        if lacks or not all(map(_fits, cells, decimals.values())):
            return OUT_OF_PLACE
        return self._record(head.row, {name: _with_trailing_zeros(cell, decimals[name]) for name, cell in zip(decimals, cells, strict=False)})


def _fits(cell: str, decimals: int) -> bool:
    return re.fullmatch(rf"-?[0-9]{{1,40}}(?:\.[0-9]{{1,{decimals}}})?" if decimals else r"[0-9]{1,40}", cell) is not None


def _with_trailing_zeros(cell: Cell, decimals: int) -> Cell:
    integer, _, behind = cell.partition(".")
    return cell.read_as(f"{integer}.{behind:0<{decimals}}" if decimals else integer)
