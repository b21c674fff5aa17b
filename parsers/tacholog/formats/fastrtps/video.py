"""The two tables of Fast DDS's VideoTest, and its CSV file: frames shown a second, and frames that came late or never.

Both tables have nine columns that are named alike; what tells a row of the one from a row of the other is how wide its columns are.
Source: test/performance/video of Fast DDS 2 and 3; no real log was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tacholog.formats.fastrtps.statistics import STATISTICS, is_ascending
from tacholog.formats.kit import Broken, Conditions, Line, Number, Record, impossible, printed, unit_of_last_place

DEFINITION = "fastrtps-video"
_RATE, _LOST = "message_rate", "messages_lost"
_COUNT, _CELL = r"[1-9][0-9]{0,9}", r"-?[0-9]{1,12}\.[0-9][0-9]|-?nan"
_LOOSE_CELL = r"-?[0-9]{1,12}(?:\.[0-9]{1,9})?(?:e[+-][0-9][0-9])?|-?nan"


class VideoForm(NamedTuple):
    """A table: what its columns behind the count are of, how wide all are (`()`: as wide as their text), and a whole row without blanks."""

    metrics: Sequence[str]
    widths: Sequence[int]
    row: re.Pattern[str]


def _form(metrics: Sequence[str], widths: Sequence[int]) -> VideoForm:
    cells = [f"({_CELL if widths else _LOOSE_CELL})"] * (len(metrics) * len(STATISTICS))
    return VideoForm(metrics, widths, re.compile(",".join((f"({_COUNT})", *cells)) + ("" if widths else ",")))


def _header(words: Sequence[str], percent: str) -> str:
    return ",".join(f"{w}stdev,{w}Mean,min{w},{w}50{percent},{w}90{percent},{w}99{percent},{w}99.99{percent},{w}max" for w in words)


FORMS: Mapping[str, VideoForm] = {
    "Samples," + _header(["Avg"], "%"): _form((_RATE,), (11, 11, 11, 11, 11, 11, 11, 13, 11)),
    "Samples," + _header(["FameDrop"], "%"): _form((_LOST,), (11, 15, 14, 13, 14, 14, 14, 16, 14)),
    "Samples," + _header(["Avg", "Drop"], "%%"): _form((_RATE, _LOST), ()),
}


class VideoTable:
    """A table that is open: it has one row."""

    def __init__(self, form: VideoForm) -> None:
        """Open a table below its header."""
        self._form: VideoForm | None = form

    def row(self, line: Line, squeezed: str) -> Record | Broken:
        """The record of its row, given also without its blanks."""
        form, self._form = self._form, None
        if form is None:
            return Broken("a second row: this table has one")
        if "\t" in line.text and form.widths:
            return Broken("tabs stand in this row, which is told by the widths of its columns: restore the blanks, or copy the log anew")
        found = form.row.fullmatch(squeezed)
        widths = tuple(map(len, line.text.rstrip(" ").split(",")))
        if found is None or not line.whole or (form.widths and widths != tuple(form.widths)):
            return Broken("a row of this table is cut short, garbled or of another one")
        count, *cells = found.groups()
        tables = [dict(zip(STATISTICS, cells[at : at + len(STATISTICS)], strict=True)) for at in range(0, len(cells), len(STATISTICS))]
        if not all(map(is_ascending, tables)):
            return Broken("minimum, percentiles and maximum of this row are not in order")
        numbers = [number for metric, table in zip(form.metrics, tables, strict=True) for number in _numbers(metric, table, loose=not form.widths)]
        conditions = Conditions(definition=DEFINITION)
        return Record(test="throughput", payload_bytes=None, numbers=tuple(numbers), samples=int(count), side="subscriber", conditions=conditions)


def _numbers(metric: str, cells: Mapping[str, str], *, loose: bool) -> Iterator[Number]:
    for name, cell in cells.items():
        statistic, value = name.replace("_", "."), float(cell)
        if cell.endswith("nan") or value < 0:
            yield impossible(metric, statistic)
        elif loose:
            yield printed(metric, statistic, value, unit_of_last_place(value))
        else:
            yield printed(metric, statistic, value, 0.01)
