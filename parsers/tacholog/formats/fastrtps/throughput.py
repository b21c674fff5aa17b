"""The tables of Fast RTPS's ThroughputTest: a row a payload, demand and recovery time, with the figures of both sides.

Source: the printers of ThroughputTest in Fast RTPS 0.4 to Fast DDS 3, see tacholog.formats.fastrtps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tacholog.formats.kit import (
    COUNT_LIMIT,
    MICROSECOND,
    Broken,
    Conditions,
    Line,
    Number,
    Record,
    closed_cells,
    counted,
    impossible,
    is_size,
    printed,
    unit_of_last_place,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MILLISECOND = 1_000_000
_COUNT = r"[0-9]{1,20}"
_THREE = r"[0-9]{1,24}\.[0-9]{3}"
_ROW_ENDS = r"(?:[^0-9.,].*)?"  # Text of a page that stuck to the last row of its table.
ROUNDING = 0.0006  # Half a unit of the third decimal, and what binary fractions add.
_WAITS_LEFT_OUT = 0.8  # A publisher's time this much shorter than the subscriber's lacks the waits between bursts.


class DemandForm(NamedTuple):
    """A generation of the table: its columns in order, the text of a whole row, and what its numbers mean.

    ``fixed`` is whether the last cell always has three decimals, so that a cut one shows. ``closed`` are the texts of rows that the log ends in, by
    how many of their cells are closed. Fewer do not stand by themselves: without the receiver's count, losses and time there is neither a rate nor a
    way to tell the generations apart. The tables of 2014 have none: their last cell is the demand, or the time that alone vouches for their rate.
    """

    columns: Sequence[str]
    row: re.Pattern[str]
    definition: str
    fixed: bool = True
    closed: Mapping[int, re.Pattern[str]] = MappingProxyType({})


def _form(columns: str, definition: str, time: str = _COUNT) -> DemandForm:
    """A form from its columns: rates have three decimals, all others are whole numbers."""
    names = columns.split()
    cells = [_THREE if name.endswith(("rate", "mbit")) else time if name.endswith("time") else _COUNT for name in names]
    row = [f"({cell})" for cell in cells]
    closed = {kept: re.compile(",".join(row[:kept])) for kept in range(names.index("received_time") + 1, len(names))}
    return DemandForm(names, re.compile(",".join(row) + _ROW_ENDS), definition, closed=closed)


_T1 = "bytes demand sent sent_time sent_mbit received lost received_time received_mbit"
_T2 = "bytes demand sent sent_time sent_rate sent_mbit received lost received_time received_rate received_mbit"
_T3 = _T2.replace("demand ", "demand recovery ")
_PUBLISHER, _SUBSCRIBER = "[SentSamples,SendTime(us),{}MBits/sec]", "[RecSamples,LostSamples,RecTime(us),{}MBits/sec]"
_SIDES = _PUBLISHER + _SUBSCRIBER
_LOOSE = r"[0-9]{1,18}(?:\.[0-9]{1,9})?(?:e[+-][0-9][0-9])?"


def _early(columns: str) -> DemandForm:
    """A form of 2014, with rates and times as a C++ stream prints them."""
    cells = (_LOOSE if name in {"sent_mbit", "sent_time"} else _COUNT for name in columns.split())
    return DemandForm(columns.split(), re.compile(",".join(f"({cell})" for cell in cells)), "fastrtps-demand-0.4", fixed=False)


FORMS: Mapping[str, DemandForm] = {
    "size,nsamples,Mbit/s,time,demand": _early("bytes sent sent_mbit sent_time demand"),
    "size,nsamples,Mbit/s,demand,time": _early("bytes sent sent_mbit demand sent_time"),
    "[Bytes,Demand]" + _SIDES.format("", ""): _form(_T1, "fastrtps-demand-0.5.1"),
    "[Bytes,Demand]" + _SIDES.format("Packs/sec,", "Packs/sec,"): _form(_T2, "fastrtps-demand-1.7"),
    "[Bytes,Demand,RecoveryTime]" + _SIDES.format("Packs/sec,", "Packs/sec,"): _form(_T3, "fastrtps-demand-1.9.4"),
}
CSV_HEADER = (
    "payload[bytes],demand[sample/burst],recoverytime[ms],sent[samples],publicationtime[us],publicationsamplerate[sample/s],"
    "publicationthroughput[mb/s],received[samples],lost[samples],subscriptiontime[us],subscriptionsamplerate[sample/s],subscriptionthroughput[mb/s]"
)
CSV_FORM = _form(_T3, "fastrtps-demand-1.9.4", time=rf"(?:{_COUNT}|{_THREE})")


def csv_header(squeezed: str) -> str:
    """A header of a CSV file in the tool's own words: eProsima's derived files name the same columns a little differently."""
    return squeezed.lower().replace("[samples/burst]", "[sample/burst]").replace("[samples/s]", "[sample/s]").replace("[mbits/s]", "[mb/s]")


class DemandTable:
    """A table that is open: its form, and the recovery time that a banner before it gave."""

    def __init__(self, form: DemandForm, recovery_ms: int | None = None) -> None:
        """Open a table below its header."""
        self.form = form
        self._recovery_ms = recovery_ms
        self.payload_bytes = 0

    def row(self, line: Line, squeezed: str) -> Record | Broken:
        """The record of a row, given without its blanks and tabs. Where the log ends within it, what its closed cells say."""
        found = self.form.row.fullmatch(squeezed) if self.form.fixed or line.whole else None
        if found is None and not line.whole:
            closed = closed_cells(line._replace(text=squeezed))
            found = self.form.closed[len(closed)].fullmatch(",".join(closed)) if len(closed) in self.form.closed else None
        if found is None:
            return Broken("a row of this table is cut short or garbled")
        cells = dict(zip(self.form.columns, found.groups(), strict=False))
        payload_bytes, demand = int(cells["bytes"]), int(cells["demand"])
        if not is_size(payload_bytes) or not is_size(demand):
            return Broken("a message size or demand that cannot be")
        if payload_bytes < self.payload_bytes:
            return Broken("sizes only grow within a table: this row is of another one")
        if trouble := _miscounted(cells, demand) or _contradiction(cells, payload_bytes):
            return Broken(trouble)
        self.payload_bytes = payload_bytes
        return self._record(cells, payload_bytes, demand)

    def record(self, line: Line) -> Record | None:
        """The record of a row of which it is known that it is whole and in order; the table does not remember it."""
        found = self.form.row.fullmatch("".join(line.text.split()))
        if found is None:
            return None
        cells = dict(zip(self.form.columns, found.groups(), strict=False))
        return self._record(cells, int(cells["bytes"]), int(cells["demand"]))

    def waits_left_out(self, cells: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
        """Where a row of a table that does not say so is of a version that leaves the waits out of the publisher's time."""
        short = cells["sent_time"] < _WAITS_LEFT_OUT * cells["received_time"]
        return short if self.form.definition == "fastrtps-demand-1.7" else short & False

    def _record(self, cells: Mapping[str, str], payload_bytes: int, demand: int) -> Record:
        received = _count(cells.get("received"))
        recovery_ms = int(cells["recovery"]) if "recovery" in cells else self._recovery_ms
        return Record(
            test="demand",
            payload_bytes=payload_bytes,
            numbers=(*_sent(cells), *_received(cells)),
            samples=received,
            side="both" if "received" in cells else "publisher",
            conditions=Conditions(
                demand=demand,
                recovery_time_ns=None if recovery_ms is None else recovery_ms * _MILLISECOND,
                definition=_definition(self.form.definition, cells),
            ),
        )


def _definition(form: str, cells: Mapping[str, str]) -> str:
    """The definition of the row: 1.7 to 1.9.3 print alike, but from 1.9.1 on the publisher's time leaves out the waits, which shows."""
    if form == "fastrtps-demand-1.7" and float(cells["sent_time"]) < _WAITS_LEFT_OUT * float(cells["received_time"]):
        return "fastrtps-demand-1.9.1"
    return form


def _miscounted(cells: Mapping[str, str], demand: int) -> str | None:
    """Samples are sent in whole bursts, and none arrives or is lost that was not sent."""
    sent, received = int(cells["sent"]), _count(cells.get("received"))
    if sent % demand or sent >= COUNT_LIMIT:
        return "the samples of this row are not bursts of its demand"
    if received is not None and received + int(cells["lost"]) > sent:
        return "more samples of this row came or were lost than were sent"
    return None


def _contradiction(cells: Mapping[str, str], payload_bytes: int) -> str | None:
    """Rate, samples, size and time of either side fix each other: where they do not agree, the row is not whole."""
    for side in ("sent", "received"):
        if side not in cells or _count(cells[side]) is None:
            continue
        count, time_us = int(cells[side]), float(cells[f"{side}_time"])
        if time_us <= 0:
            return "no time was measured"
        slack = 1.1 / time_us if "." not in cells[f"{side}_time"] else 0.0011 / time_us
        rates = ((f"{side}_mbit", count * payload_bytes * 8 / time_us), (f"{side}_rate", count * 1e6 / time_us))
        for key, expected in rates:
            printed_to = ROUNDING if re.fullmatch(_THREE, cells.get(key, "0.000")) else expected * 0.01
            if key in cells and abs(float(cells[key]) - expected) > printed_to + expected * slack:
                return "the rates of this row do not belong to its samples, size and time"
    return None


def _count(cell: str | None) -> int | None:
    """A count; ``None`` where a count below zero was printed as a huge one."""
    return None if cell is None or int(cell) >= COUNT_LIMIT else int(cell)


def _sent(cells: Mapping[str, str]) -> Iterator[Number]:
    yield counted("messages_sent", int(cells["sent"]))
    yield _time("send_duration", cells["sent_time"])
    if "sent_rate" in cells:
        yield _rate("offered_rate", cells["sent_rate"], 1.0, int(cells["sent"]))
    yield _rate("offered_goodput", cells["sent_mbit"], 1e6, int(cells["sent"]))


def _received(cells: Mapping[str, str]) -> Iterator[Number]:
    if "received" not in cells:
        return
    received = _count(cells["received"])
    yield from _losses(int(cells["sent"]), received, _count(cells["lost"]))
    yield _time("duration", cells["received_time"])
    for metric, key, unit in (("message_rate", "received_rate", 1.0), ("goodput", "received_mbit", 1e6)):
        if key in cells:
            yield _rate(metric, cells[key], unit, received) if received is not None else impossible(metric, "mean")


def _losses(sent: int, received: int | None, lost: int | None) -> Iterator[Number]:
    """The counts, and the share of what was sent that did not come."""
    for metric, count in (("messages_received", received), ("messages_lost", lost)):
        yield counted(metric, count) if count is not None else impossible(metric)
    if received is not None and 0 < sent >= received:
        yield Number(metric="loss", statistic="total", value=(sent - received) / sent, marks=("derived",))


def _time(metric: str, microseconds: str) -> Number:
    whole_or_thousandths = re.fullmatch(rf"{_COUNT}(?:\.[0-9]{{3}})?", microseconds)
    last_place = 10.0 ** -len(microseconds.partition(".")[2]) if whole_or_thousandths else unit_of_last_place(float(microseconds))
    return printed(metric, "total", round(float(microseconds) * MICROSECOND, 3), last_place * MICROSECOND)


def _rate(metric: str, cell: str, unit: float, count: int) -> Number:
    value = float(cell)
    if count == 0:
        return Number(metric=metric, statistic="mean", value=0.0)
    resolution = 0.001 if re.fullmatch(_THREE, cell) else unit_of_last_place(value)
    return printed(metric, "mean", round(value * unit, 3), resolution * unit)
