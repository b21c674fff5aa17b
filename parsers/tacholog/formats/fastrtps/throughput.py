"""The tables of Fast RTPS's ThroughputTest and VideoTest.

ThroughputTest prints a row for each payload, demand and recovery time, with the figures of both sides.

VideoTest prints two tables and writes a CSV file with both tables: a table of the frames shown per second, and a table of the frames that were late
or lost. Both tables have nine columns with the same names. Only the widths of the columns show to which table a row belongs.
Source: the printers of ThroughputTest in Fast RTPS 0.4 to Fast DDS 3, see tacholog.formats.fastrtps; test/performance/video of Fast DDS 2 and 3. No
real log of VideoTest was read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from tacholog.formats.fastrtps.tables import STATISTICS, Form, RecordTable, is_in_order
from tacholog.formats.kit import (
    COUNT_LIMIT,
    MICROSECOND,
    Broken,
    BulkFinding,
    BulkStep,
    Cells,
    Check,
    Conditions,
    Field,
    Line,
    LineRule,
    Lines,
    Order,
    Record,
    Records,
    at_least,
    every,
    first_false,
    unit_of_last_place,
)

if TYPE_CHECKING:
    # At run time, only the functions that use NumPy import it: most logs are read without it.
    import numpy as np
    from numpy.typing import NDArray

_MILLISECOND = 1_000_000
_COUNT = r"[0-9]{1,20}"
_THREE = r"[0-9]{1,24}\.[0-9]{3}"
_ROW_ENDS = r"(?:[^0-9.,].*)?"  # In text copied from a page, other text may directly follow the last row of a table.
ROUNDING = 0.0006  # Half a unit of the third decimal, plus the error of binary floating point.
_MOST_KINDS = 1000  # If rows have more different pairs of demand and recovery time than this, they are read one by one.
_WAITS_LEFT_OUT = 0.8  # A publisher's time below this share of the subscriber's time excludes the waits between bursts.


def _form(columns: str, definition: str, time: str = _COUNT) -> Form:
    names = columns.split()
    cells = {name: _THREE if name.endswith(("rate", "mbit")) else time if name.endswith("time") else _COUNT for name in names}
    # If the log ends within a row, the record needs all cells up to the receiver's time. With fewer cells, no rate can be computed, and the
    # forms of different versions cannot be distinguished.
    return Form.from_cells(cells, definition, end=_ROW_ENDS, least=names.index("received_time") + 1)


_T1 = "bytes demand sent sent_time sent_mbit received lost received_time received_mbit"
_T2 = "bytes demand sent sent_time sent_rate sent_mbit received lost received_time received_rate received_mbit"
_T3 = _T2.replace("demand ", "demand recovery ")
_PUBLISHER, _SUBSCRIBER = "[SentSamples,SendTime(us),{}MBits/sec]", "[RecSamples,LostSamples,RecTime(us),{}MBits/sec]"
_SIDES = _PUBLISHER + _SUBSCRIBER
_LOOSE = r"[0-9]{1,18}(?:\.[0-9]{1,9})?(?:e[+-][0-9][0-9])?"


def _early(columns: str) -> Form:
    """Return the form of a table that Fast RTPS printed in 2014, for these columns. A C++ stream printed the rates and the times."""
    cells = {name: _LOOSE if name in {"sent_mbit", "sent_time"} else _COUNT for name in columns.split()}
    return Form.from_cells(cells, "fastrtps-demand-0.4", is_fixed=False)


_FORMS: Mapping[str, Form] = {
    "size,nsamples,Mbit/s,time,demand": _early("bytes sent sent_mbit sent_time demand"),
    "size,nsamples,Mbit/s,demand,time": _early("bytes sent sent_mbit demand sent_time"),
    "[Bytes,Demand]" + _SIDES.format("", ""): _form(_T1, "fastrtps-demand-0.5.1"),
    "[Bytes,Demand]" + _SIDES.format("Packs/sec,", "Packs/sec,"): _form(_T2, "fastrtps-demand-1.7"),
    "[Bytes,Demand,RecoveryTime]" + _SIDES.format("Packs/sec,", "Packs/sec,"): _form(_T3, "fastrtps-demand-1.9.4"),
}
_CSV_HEADER = (
    "payload[bytes],demand[sample/burst],recoverytime[ms],sent[samples],publicationtime[us],publicationsamplerate[sample/s],"
    "publicationthroughput[mb/s],received[samples],lost[samples],subscriptiontime[us],subscriptionsamplerate[sample/s],subscriptionthroughput[mb/s]"
)
_CSV_FORM = _form(_T3, "fastrtps-demand-1.9.4", time=rf"(?:{_COUNT}|{_THREE})")


def form_of(squeezed: str) -> Form | None:
    """Return the form of the table below a header; ``None`` if the header is unknown.

    A header of eProsima's derived CSV files is also recognised, although it has slightly different names for the same columns.
    """
    as_csv = squeezed.lower().replace("[samples/burst]", "[sample/burst]").replace("[samples/s]", "[sample/s]").replace("[mbits/s]", "[mb/s]")
    return _CSV_FORM if as_csv == _CSV_HEADER else _FORMS.get(squeezed)


class DemandTable(RecordTable):
    """A table of ThroughputTest that is being read.

    If the table has no column of recovery times, its rows get the recovery time of the banner before the table.
    """

    def __init__(self, form: Form, recovery_ms: int | None) -> None:
        self.form = form
        self._recovery_ms = recovery_ms
        self._last: Cells | None = None  # The previous row, if it was complete.

    def row(self, line: Line) -> Record | Broken:
        """Return the record of a row. If the log ends within the row, its complete cells are used."""
        texts = self.form.texts(line)
        if texts is None:
            return Broken("a row of this table is cut short or garbled")
        cells = DEMANDS.cells(texts)
        record = DEMANDS.record(cells, self._last)
        if isinstance(record, Broken):
            return record
        self._last = cells
        return self._with_conditions(record, cells)

    def take_many(self, lines: Lines) -> BulkStep:
        """Read rows up to the first row that is out of order. Rows with different demands or recovery times get different conditions."""
        import numpy as np

        cells = DEMANDS.cells_of(lines) if lines.bulk in BULK else None
        if cells is None or cells.keys() != {*self.form.columns}:
            return BulkStep()
        count = first_false(DEMANDS.valid(cells, self._last))
        cells, part = cells.part(slice(count)), lines.part(0, count)
        kind = _kinds([cells["demand"], cells.get("recovery", cells["demand"]), self._leaves_out_waits(cells)])
        if count == 0 or kind.max() >= _MOST_KINDS:
            return BulkStep()
        records = [DEMANDS.read(part.line(int(first)).text) for first in np.unique(kind, return_index=True)[1]]
        columns = DEMANDS.columns_of(cells, records[0]) if isinstance(records[0], Record) else None
        findings = []
        for number, record in enumerate(records):
            indices = np.flatnonzero(kind == number)
            if columns is None or not isinstance(record, Record):
                return BulkStep()
            like = self._with_conditions(record, cells.part(int(indices[0])))
            findings.append(BulkFinding(part, Records(like, columns.rows(indices), indices)))
        self._last = cells.part(-1)
        return BulkStep(count, findings)

    def _with_conditions(self, record: Record, cells: Cells) -> Record:
        recovery_ms = int(cells["recovery"]) if "recovery" in cells else self._recovery_ms
        conditions = Conditions(
            demand=int(cells["demand"]),
            recovery_time_ns=None if recovery_ms is None else recovery_ms * _MILLISECOND,
            definition="fastrtps-demand-1.9.1" if self._leaves_out_waits(cells) else self.form.definition,
        )
        return msgspec.structs.replace(record, side="both" if "received" in cells else "publisher", conditions=conditions)

    def _leaves_out_waits(self, cells: Cells) -> Any:  # noqa: ANN401
        """Whether the publisher's time excludes the waits between bursts, as in versions 1.9.1 to 1.9.3.

        The tables of 1.7 to 1.9.3 look alike, and no version is printed. So the publisher's time is compared with the subscriber's time.
        """
        is_open = self.form.definition == "fastrtps-demand-1.7"
        return (cells["sent_time"] < _WAITS_LEFT_OUT * cells["received_time"]) if is_open else cells["sent_time"] < 0


def _kinds(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
    """Return a code for each row. Equal rows get the same code. Columns are compared one by one, because this is faster than comparing rows."""
    import numpy as np

    kind = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        if len(column) and (column != column[0]).any():
            values, codes = np.unique(column, return_inverse=True)
            _, kind = np.unique(kind * len(values) + codes, return_inverse=True)
    return kind


def _is_timed(side: str) -> Check:
    return Check("no time was measured", lambda cells: _is_unknown(cells, side) | (cells.get(f"{side}_time", 1) > 0))


def _is_unknown(cells: Cells, side: str) -> Any:  # noqa: ANN401
    return side not in cells or cells[side] >= COUNT_LIMIT


def _rates_agree(side: str) -> Check:
    def holds(cells: Cells) -> Any:  # noqa: ANN401
        if side not in cells:
            return True
        time_us = at_least(cells[f"{side}_time"], 1e-3)
        slack = (0.0011 if cells.decimals[f"{side}_time"] else 1.1) / time_us
        agree = _is_unknown(cells, side)
        expected = {f"{side}_mbit": cells[side] * cells["bytes"] * 8 / time_us, f"{side}_rate": cells[side] * 1e6 / time_us}
        return agree | every(
            abs(cells[key] - value) <= _rounding(cells, key, value) + value * slack for key, value in expected.items() if key in cells
        )

    return Check("the rates of this row do not match its samples, size and time", holds)


def _rounding(cells: Cells, key: str, expected: Any) -> Any:  # noqa: ANN401
    return ROUNDING if cells.decimals[key] == len("000") else expected * 0.01


def _has_loss(cells: Cells) -> Any:  # noqa: ANN401
    return "received" in cells and (cells["received"] < COUNT_LIMIT) & (cells["sent"] > 0) & (cells["sent"] >= cells["received"])


def _samples(cells: Cells) -> Any:  # noqa: ANN401
    received = cells.get("received")
    return None if isinstance(received, int) and received >= COUNT_LIMIT else received


def _time(metric: str, side: str) -> Field:
    """Return the field for the total time of a side.

    The tool prints a time in whole microseconds or with three decimals, so the resolution follows from the decimals. In 2014, a C++ stream printed
    the time, so the resolution is the unit of the last digit.
    """
    name = f"{side}_time"

    def resolution(cells: Cells) -> float:
        is_plain = cells.decimals[name] == len("000") or not (cells.decimals[name] or isinstance(cells[name], float))
        return (10.0 ** -cells.decimals[name] if is_plain else unit_of_last_place(cells[name])) * MICROSECOND

    return Field(metric, "total", name, unit=MICROSECOND, resolution=resolution)


def _rate(metric: str, side: str, kind: str, unit: float) -> Field:
    """Return the field for the mean rate of a side.

    The tool prints a rate with three decimals. In 2014, a C++ stream printed the rate, so the resolution is the unit of the last digit.
    """
    name = f"{side}_{kind}"

    def resolution(cells: Cells) -> float:
        return (0.001 if cells.decimals[name] == len("000") else unit_of_last_place(cells[name])) * unit

    return Field(
        metric,
        "mean",
        name,
        unit=unit,
        resolution=resolution,
        zero=lambda cells: cells[side] == 0,
        unknown=lambda cells: cells[side] >= COUNT_LIMIT,
    )


def _padded_row_pattern(columns: str) -> str:
    cells = (r"[0-9]{1,12}+\.[0-9]{3}" if name.endswith(("rate", "mbit")) else "[0-9]{1,15}+" for name in columns.split())
    return ",".join(f" *+(?P<{name}>{cell})" for name, cell in zip(columns.split(), cells, strict=True))


DEMANDS = LineRule(
    *map(_padded_row_pattern, (_T1, _T2, _T3)),
    fields=(
        Field.counted("messages_sent", "sent"),
        _time("send_duration", "sent"),
        _rate("offered_rate", "sent", "rate", 1.0),
        _rate("offered_goodput", "sent", "mbit", 1e6),
        Field.counted("messages_received", "received"),
        Field.counted("messages_lost", "lost"),
        Field("loss", "total", lambda cells: (cells["sent"] - cells["received"]) / at_least(cells["sent"], 1), where=_has_loss, marks=("derived",)),
        _time("duration", "received"),
        _rate("message_rate", "received", "rate", 1.0),
        _rate("goodput", "received", "mbit", 1e6),
    ),
    record=Record(test="demand", payload_bytes=None, numbers=()),
    checks=(
        Check(
            "an impossible message size or demand",
            lambda cells: every((cells[name] > 0) & (cells[name] < COUNT_LIMIT) for name in ("bytes", "demand")),
        ),
        Check(
            "the number of sent samples is not a multiple of the demand",
            lambda cells: (cells["sent"] % at_least(cells["demand"], 1) == 0) & (cells["sent"] < COUNT_LIMIT),
        ),
        Check(
            "more samples were received or lost than were sent",
            lambda cells: "received" not in cells or (cells["received"] >= COUNT_LIMIT) | (cells["received"] + cells["lost"] <= cells["sent"]),
        ),
        _is_timed("sent"),
        _rates_agree("sent"),
        _is_timed("received"),
        _rates_agree("received"),
    ),
    order=(Order("sizes only grow within a table: this row belongs to another table", lambda now, before: now["bytes"] >= before["bytes"]),),
    size="bytes",
    samples=_samples,
)
BULK = tuple(bulk._replace(rule=None) for bulk in DEMANDS.bulk)  # ``parse`` reads all these lines, because each record has its own conditions.


_RATE, _LOST = "message_rate", "messages_lost"
_FRAMES, _VIDEO_CELL = r"[1-9][0-9]{0,9}", r"-?[0-9]{1,12}\.[0-9][0-9]|-?nan"
_LOOSE_CELL = r"-?[0-9]{1,12}(?:\.[0-9]{1,9})?(?:e[+-][0-9][0-9])?|-?nan"


def _video_form(*metrics: str) -> Form:
    is_file = len(metrics) > 1
    cells = {f"{metric}_{name}": _LOOSE_CELL if is_file else _VIDEO_CELL for metric in metrics for name in STATISTICS}
    return Form.from_cells({"samples": _FRAMES, **cells}, "fastrtps-video", end="," if is_file else "", is_fixed=False)


def _video_header(words: Sequence[str], percent: str) -> str:
    return ",".join(f"{w}stdev,{w}Mean,min{w},{w}50{percent},{w}90{percent},{w}99{percent},{w}99.99{percent},{w}max" for w in words)


# The form and the widths of the columns of each table of VideoTest, by the table's header. Columns of the CSV file have no fixed width.
VIDEO_FORMS: Mapping[str, tuple[Form, Sequence[int]]] = {
    "Samples," + _video_header(["Avg"], "%"): (_video_form(_RATE), [11, 11, 11, 11, 11, 11, 11, 13, 11]),
    "Samples," + _video_header(["FameDrop"], "%"): (_video_form(_LOST), [11, 15, 14, 13, 14, 14, 14, 16, 14]),
    "Samples," + _video_header(["Avg", "Drop"], "%%"): (_video_form(_RATE, _LOST), []),
}


def _video_field(metric: str, name: str) -> Field:
    key = f"{metric}_{name}"

    def resolution(cells: Cells) -> float:
        # The tables have two decimals. In the CSV file, the number of decimals varies, because a C++ stream printed the numbers.
        is_file = all(any(other.startswith(metric) for other in cells) for metric in (_RATE, _LOST))
        return unit_of_last_place(cells[key]) if is_file else 0.01

    return Field(metric, name.replace("_", "."), key, resolution=resolution, unknown=lambda cells: not cells[key] >= 0)


_VIDEO = LineRule(
    fields=[_video_field(metric, name) for metric in (_RATE, _LOST) for name in STATISTICS],
    record=Record(test="throughput", payload_bytes=None, numbers=(), side="subscriber", conditions=Conditions(definition="fastrtps-video")),
    checks=(
        Check(
            "minimum, percentiles and maximum of this row are not in order",
            lambda cells: is_in_order(cells, f"{_RATE}_") and is_in_order(cells, f"{_LOST}_"),
        ),
    ),
    size=None,
    samples="samples",
)


class VideoTable(RecordTable):
    """An open table of VideoTest, which has one row."""

    def __init__(self, form: Form, widths: Sequence[int]) -> None:
        self._video_form: Form | None = form
        self._widths = widths

    def row(self, line: Line) -> Record | Broken:
        """Return the record of the row."""
        form, self._video_form = self._video_form, None
        if form is None:
            return Broken("a second row: this table has only one row")
        if self._widths and "\t" in line.text:
            return Broken("there are tabs in this row, but only the widths of its columns show its table: restore the blanks, or copy the log again")
        texts = form.texts(line)
        if texts is None or (self._widths and [*map(len, line.text.rstrip(" ").split(","))] != self._widths):
            return Broken("the row is cut short, garbled, or belongs to another table")
        return _VIDEO.record(_VIDEO.cells(texts))
