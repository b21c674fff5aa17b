"""The common parts of the tables of Fast RTPS's tools: a header that names the columns, and rows of numbers separated by commas.

Source: the printers of ThroughputTest, LatencyTest and VideoTest, see tacholog.formats.fastrtps.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

from tacholog.formats.kit import Basis, Broken, BulkStep, Cell, Cells, Finding, Line, Lines, Record, ascending

STATISTICS = ("std", "mean", "min", "p50", "p90", "p99", "p99_99", "max")
"""The statistics, in the order of the columns. They are also the names of groups in patterns, so they contain no dots."""

_ORDERED = ("min", "p50", "p90", "p99", "p99_99", "max")
_ROW = re.compile(r"[0-9]{1,20},(?:[^,]*+,){3}")


class Form(NamedTuple):
    """The form of a table in some versions of a tool.

    Attributes:
        columns: the pattern of each cell, by the name of its column. A group in the pattern captures the number.
        definition: the meaning of the numbers.
        basis: the basis of latencies.
        least: the number of complete cells that a record needs if the log ends within a row.
        is_fixed: whether the last cell always has the same number of decimals, so that a cut cell is recognised.
    """

    columns: Mapping[str, re.Pattern[str]]
    definition: str
    basis: Basis | None = None
    least: int | None = None
    is_fixed: bool = True

    @classmethod
    def from_cells(cls, cells: Mapping[str, str], *more: Any, end: str = "", **others: Any) -> Self:  # noqa: ANN401 - what a form has besides its columns
        """Return a form whose columns have the patterns in ``cells``.

        ``end`` is the pattern of the text after the last cell. ``more`` and ``others`` are the attributes of the form after ``columns``.
        """
        *_, last = cells
        return cls({name: re.compile(f"({cell}){end if name == last else ''}") for name, cell in cells.items()}, *more, **others)

    def texts(self, line: Line) -> dict[str, str] | None:
        """Return the printed cells of a row, without blanks; ``None`` if the line is no row of this table."""
        pieces = line.text.split(",", len(self.columns) - 1)
        texts = self._cells(pieces) if len(pieces) == len(self.columns) and (line.whole or self.is_fixed) else None
        if texts is None and not line.whole and self.least is not None:
            closed = line.text.split(",")[:-1]
            texts = self._cells(closed) if self.least <= len(closed) < len(self.columns) else None
        return texts

    def _cells(self, pieces: list[str]) -> dict[str, str] | None:
        cells: dict[str, str] = {}
        start = 0
        for (name, pattern), piece in zip(self.columns.items(), pieces, strict=False):
            cell = pattern.fullmatch("".join(piece.split()))
            if cell is None:
                return None
            offset = piece.find(cell[1])  # A cell with blanks within its text is not found.
            cells[name] = Cell(cell[1], start + offset) if offset >= 0 else cell[1]
            start += len(piece) + 1
        return cells


class LogTable(ABC):
    """An open table or file."""

    def knows(self, squeezed: str) -> bool:
        """Whether a line, without its blanks, is a row of this table."""
        return _ROW.match(squeezed) is not None

    @abstractmethod
    def take(self, line: Line) -> Iterator[Finding]:
        """Yield the findings on a row."""

    def take_many(self, _: Lines) -> BulkStep:
        """Read many rows together. By default, no rows are read here: ``take`` reads each row."""
        return BulkStep()

    def close(self) -> Iterator[Finding]:
        """Yield the findings at the end of the table."""
        yield from ()


class RecordTable(LogTable):
    """A table in which each row is a record."""

    def take(self, line: Line) -> Iterator[Finding]:
        """Yield the record of a row."""
        yield Finding(line, self.row(line))

    @abstractmethod
    def row(self, line: Line) -> Record | Broken:
        """Return the record of a row."""


def is_in_order(cells: Cells, prefix: str = "") -> Any:  # noqa: ANN401 - a truth value, or an array of them
    """Whether minimum, percentiles and maximum are in order."""
    return ascending([cells[prefix + name] for name in _ORDERED if prefix + name in cells])
