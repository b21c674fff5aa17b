"""The two tables of Fast DDS's VideoTest, and its CSV file: frames shown a second, and frames that came late or never.

Both tables have nine columns that are named alike; what tells a row of the one from a row of the other is how wide its columns are.
Source: test/performance/video of Fast DDS 2 and 3; no real log was read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacholog.formats.fastrtps.rows import STATISTICS, Form, TableOfRecords, is_in_order
from tacholog.formats.kit import Broken, Cells, Check, Conditions, Field, Line, LineRule, Record, unit_of_last_place

DEFINITION = "fastrtps-video"
_RATE, _LOST = "message_rate", "messages_lost"
_COUNT, _CELL = r"[1-9][0-9]{0,9}", r"-?[0-9]{1,12}\.[0-9][0-9]|-?nan"
_LOOSE_CELL = r"-?[0-9]{1,12}(?:\.[0-9]{1,9})?(?:e[+-][0-9][0-9])?|-?nan"


def _form(*metrics: str) -> Form:
    is_file = len(metrics) > 1
    cells = {f"{metric}_{name}": _LOOSE_CELL if is_file else _CELL for metric in metrics for name in STATISTICS}
    return Form.of({"samples": _COUNT, **cells}, DEFINITION, end="," if is_file else "", is_fixed=False)


def _header(words: Sequence[str], percent: str) -> str:
    return ",".join(f"{w}stdev,{w}Mean,min{w},{w}50{percent},{w}90{percent},{w}99{percent},{w}99.99{percent},{w}max" for w in words)


# Each form, and how wide its columns are; those of the file are as wide as their text.
FORMS: Mapping[str, tuple[Form, Sequence[int]]] = {
    "Samples," + _header(["Avg"], "%"): (_form(_RATE), [11, 11, 11, 11, 11, 11, 11, 13, 11]),
    "Samples," + _header(["FameDrop"], "%"): (_form(_LOST), [11, 15, 14, 13, 14, 14, 14, 16, 14]),
    "Samples," + _header(["Avg", "Drop"], "%%"): (_form(_RATE, _LOST), []),
}


def _field(metric: str, name: str) -> Field:
    """A statistic, with two decimals in the tables and as a C++ stream prints it in the file."""
    key = f"{metric}_{name}"

    def resolution(cells: Cells) -> float:
        is_file = all(any(other.startswith(metric) for other in cells) for metric in (_RATE, _LOST))
        return unit_of_last_place(cells[key]) if is_file else 0.01

    return Field(metric, name.replace("_", "."), key, resolution=resolution, unknown=lambda cells: not cells[key] >= 0)


def _is_possible(cells: Cells) -> Any:  # noqa: ANN401
    return is_in_order(cells, f"{_RATE}_") and is_in_order(cells, f"{_LOST}_")


_VIDEO = LineRule(
    fields=[_field(metric, name) for metric in (_RATE, _LOST) for name in STATISTICS],
    record=Record(test="throughput", payload_bytes=None, numbers=(), side="subscriber", conditions=Conditions(definition=DEFINITION)),
    checks=(Check("minimum, percentiles and maximum of this row are not in order", _is_possible),),
    size=None,
    samples="samples",
)


class VideoTable(TableOfRecords):
    """A table that is open: it has one row."""

    def __init__(self, form: Form, widths: Sequence[int]) -> None:
        """Open a table below its header."""
        self._form: Form | None = form
        self._widths = widths

    def row(self, line: Line) -> Record | Broken:
        """The record of its row."""
        form, self._form = self._form, None
        if form is None:
            return Broken("a second row: this table has one")
        if self._widths and "\t" in line.text:
            return Broken("tabs stand in this row, which is told by the widths of its columns: restore the blanks, or copy the log anew")
        texts = form.texts(line)
        if texts is None or (self._widths and [*map(len, line.text.rstrip(" ").split(","))] != self._widths):
            return Broken("a row of this table is cut short, garbled or of another one")
        return _VIDEO.record(_VIDEO.cells(texts))
