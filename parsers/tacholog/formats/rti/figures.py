"""RTI Perftest's figures as records, whatever dialect printed them: what the cells of a row have to be before the rules are applied to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tacholog.formats.kit import COUNT_LIMIT, MICROSECOND, Broken, Cells, Number, Record, is_size, printed, unit_of_last_decimal
from tacholog.formats.rti.rules import (
    LATENCY,
    RUNNING,
    RUNNING_LATENCY,
    RUNNING_THROUGHPUT,
    STATISTICS,
    SUMMARY,
    group_of,
    share_lost,
    share_slack,
)

UNIT = "us|ns|[\u03bc\u00b5]s"
CUT = Broken("the log ends within this line")
OUT_OF_PLACE = Broken("cells of this row are missing or out of place")


class PrintStyle(NamedTuple):
    """How a dialect prints latencies: the unit, whether decimals are free (where names, not places, tell the cells apart), and marks."""

    unit_ns: float = MICROSECOND
    free: bool = False
    marks: tuple[str, ...] = ()


_MICROSECONDS = PrintStyle()


class Rates(NamedTuple):
    """The cells of a throughput row. ``percent`` is ``None`` where the dialect prints no share; ``last_*`` are those of the last second."""

    size: str
    received: str
    rate: str
    mbit: str
    lost: str
    percent: str | None = None
    last_rate: str | None = None
    last_mbit: str | None = None


def unit_ns(unit: str) -> float:
    """Nanoseconds in a printed unit of time."""
    return 1.0 if unit == "ns" else MICROSECOND


def to_float(text: str) -> float:
    """A printed number; the decimal sign may be a comma, as Java prints it in many countries."""
    return float(text.replace(",", "."))


def too_large(size: str, *numbers: str) -> Broken | None:
    """Whether a size or a counter is beyond what the tool can hold."""
    if len(size) > len(str(COUNT_LIMIT)) or not is_size(int(size)):
        return Broken("a message size that cannot be")
    if any(len(re.split("[.,]", number)[0]) > 18 for number in numbers):  # noqa: PLR2004
        return Broken("a number that no counter of the tool can hold")
    return None


def latency(
    size: str, cells: Sequence[str], style: PrintStyle = _MICROSECONDS, more: Sequence[Number] = (), statistics: Sequence[str] = STATISTICS
) -> Record | Broken:
    """A summary of latencies from the cells in the tool's order; the first version prints no p99.9999."""
    if trouble := too_large(size, *cells) or _misplaced(cells, style):
        return trouble
    texts = dict(zip(map(group_of, statistics), cells, strict=False))
    return with_more(LATENCY.record(LATENCY.cells(texts, size=int(size), unit=style.unit_ns), marks=style.marks), more)


def running_latency(size: str, cells: Sequence[str], style: PrintStyle = _MICROSECONDS, more: Sequence[Number] = ()) -> Record | Broken:
    """The latency of one answer, and mean, deviation, minimum and maximum since the size began; the maximum may have been cut off."""
    found = running_cells(size, cells, style)
    return found if isinstance(found, Broken) else with_more(RUNNING_LATENCY.record(found, marks=style.marks), more)


def running_cells(size: str, cells: Sequence[str], style: PrintStyle) -> Cells | Broken:
    """The figures of such an interval."""
    if trouble := too_large(size, *cells) or _misplaced(cells[1:], style):
        return trouble
    return RUNNING_LATENCY.cells(dict(zip(RUNNING, cells, strict=False)), size=int(size), unit=style.unit_ns)


def with_more(found: Record | Broken, more: Sequence[Number]) -> Record | Broken:
    """The record with numbers that the rules do not know, behind the others."""
    return msgspec.structs.replace(found, numbers=(*found.numbers, *more)) if more and isinstance(found, Record) else found


def extremes(record: Record) -> tuple[float, float]:
    """Minimum and maximum of a record of latencies, as they were printed."""
    low, high = (record.number("latency", name) for name in ("min", "max"))
    return (low.value or 0.0 if low and low.bound == "=" else 0.0, high.value or 0.0 if high and high.bound == "=" else 0.0)


def _misplaced(cells: Sequence[str], style: PrintStyle) -> Broken | None:
    """Only the deviation has one decimal, or all have three: where it stands elsewhere, a cell is missing and the row has slipped."""
    decimals = [len(re.split("[.,]", cell)[1]) if re.search("[.,]", cell) else 0 for cell in cells]
    others = set(decimals[2:]) | (set() if style.free else {decimals[0]})
    usual = others == {0} and (style.free or decimals[1] == 1)
    fine = others == {3} and decimals[1] == 3  # noqa: PLR2004
    return None if usual or fine else OUT_OF_PLACE


def throughput(rates: Rates, more: Sequence[Number] = ()) -> Record | Broken:
    """A subscriber's rates: of a whole size, or (with those of the last second) of the time since the size began."""
    running = rates.last_rate is not None and rates.last_mbit is not None
    if not (rates.received.isdecimal() and rates.lost.isdecimal()):
        return OUT_OF_PLACE
    if trouble := too_large(*(cell for cell in rates if cell is not None)):
        return trouble
    rule = RUNNING_THROUGHPUT if running else SUMMARY
    cells = rule.cells(rates._asdict())
    shares: tuple[Number, ...] = ()
    if "percent" in cells:
        counted, slack = share_lost(cells), share_slack(cells)
        if abs(cells["percent"] - counted / 100) <= slack < abs(cells["percent"] - counted):  # The C# printer writes a fraction for a percentage.
            del cells["percent"]
            shares = (Number(metric="loss", statistic="total", value=counted / 100, marks=("derived",)),)
    return with_more(rule.record(cells), (*shares, *more))


def cpu(text: str, statistic: str = "mean", factor: float = 1.0) -> Number:
    """Processor time of the process, of which 100 % is the whole machine."""
    plain = re.sub("[\u00a0\u202f]", "", text)
    if re.search(r"[.,][0-9]{3}[.,]", plain):
        plain = re.sub(r"[.,](?=[0-9]{3}(?:\D|$))", "", plain)
    place = unit_of_last_decimal(plain) * factor
    return printed("cpu_of_machine", statistic, round(to_float(plain) * factor, 6), place, cell=text)


def serialization(serialize: str | None, deserialize: str | None, total: str | None) -> tuple[Number, ...] | Broken:
    """The cost of serialising and deserialising; -1 is what the tool prints where it did not compute it, ``None`` what the log ends before."""
    if (serialize or "").startswith("-") or (deserialize or "").startswith("-"):
        return ()
    if serialize and deserialize and total and abs(to_float(serialize) + to_float(deserialize) - to_float(total)) > 0.0016:  # noqa: PLR2004
        return Broken("the total of serialisation contradicts its parts")
    places = (("serialization", serialize), ("deserialization", deserialize))
    return tuple(printed(metric, "mean", round(to_float(text) * MICROSECOND), resolution=1.0, cell=text) for metric, text in places if text)
