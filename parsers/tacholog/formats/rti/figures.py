"""RTI Perftest's figures as records, whatever dialect printed them.

A row whose figures contradict each other is broken: the order of minimum, percentiles and maximum, between which the mean must be, the rate that must
give the goodput, and the share of loss that must follow from the counts. The tool's own arithmetic guarantees all of them, so only a damaged row can
violate them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

from tacholog.formats.kit import COUNT_LIMIT, MICROSECOND, Broken, Conditions, Number, Record, Scope, is_size, printed, unit_of_last_decimal

STATISTICS = ("mean", "std", "min", "max", "p50", "p90", "p99", "p99.99", "p99.9999")
RUNNING = ("last", "mean", "std", "min", "max")
UNIT = "us|ns|[\u03bc\u00b5]s"
CUT = Broken("the log ends within this line")
OUT_OF_PLACE = Broken("cells of this row are missing or out of place")
ORDER = {"min": 0.0, "p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999, "p99.9999": 0.999999, "max": 1.0}
_STYLES = ({"0"}, {"0", "3"})  # Decimals of the whole numbers, and of all numbers in builds of high resolution.
SHARE_SLACK = 0.006  # Half of the last printed place of a percentage, and what single precision adds to it.
RATE_SLACK_BIT_PER_S = 0.06e6  # Half of the last printed place of Mbps, and a little.


class PrintStyle(NamedTuple):
    """How a dialect prints latencies: the unit, whether decimals are free (where names, not places, tell the cells apart), and marks."""

    unit_ns: float = MICROSECOND
    free: bool = False
    marks: tuple[str, ...] = ()


MICROSECONDS = PrintStyle()


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
    size: str, cells: Sequence[str], style: PrintStyle = MICROSECONDS, more: Sequence[Number] = (), statistics: Sequence[str] = STATISTICS
) -> Record | Broken:
    """A summary of latencies from the cells in the tool's order; the first version prints no p99.9999."""
    if trouble := too_large(size, *cells) or _misplaced(cells, style):
        return trouble
    names = statistics[: len(cells)]
    values = dict(zip(names, map(to_float, cells), strict=True))
    smallest = _smallest_for_percentiles(values)
    if _contradictory({name: value for name, value in values.items() if name not in smallest}):
        return Broken("the statistics contradict each other")
    return Record(
        test="latency",
        payload_bytes=int(size),
        numbers=(*(_latency_number(name, cell, style, name in smallest) for name, cell in zip(names, cells, strict=True)), *more),
        side="publisher",
        conditions=Conditions(basis="rtt/2", definition="rti-one-way"),
    )


def running_latency(size: str, cells: Sequence[str], style: PrintStyle = MICROSECONDS, more: Sequence[Number] = ()) -> Record | Broken:
    """The latency of one answer, and mean, deviation, minimum and maximum since the size began; the maximum may have been cut off."""
    if trouble := too_large(size, *cells) or _misplaced(cells[1:], style):
        return trouble
    last, mean, _, low, *maximum = map(to_float, cells)
    high = maximum[0] if maximum else inf
    if not (low <= last <= high and low - 1 <= mean <= high + 1):
        return Broken("the statistics contradict each other")
    return Record(
        test="latency",
        payload_bytes=int(size),
        numbers=(*(_latency_number(name, cell, style, unknown=False) for name, cell in zip(RUNNING[: len(cells)], cells, strict=True)), *more),
        scope="interval",
        side="publisher",
        conditions=Conditions(basis="rtt/2", definition="rti-one-way-running"),
    )


def extremes(record: Record) -> tuple[float, float]:
    """Minimum and maximum of a record of latencies, as they were printed."""
    low, high = (record.number("latency", name) for name in ("min", "max"))
    return (low.value or 0.0 if low and low.bound == "=" else 0.0, high.value or 0.0 if high and high.bound == "=" else 0.0)


def _latency_number(statistic: str, cell: str, style: PrintStyle, unknown: bool) -> Number:
    if unknown:
        return Number(metric="latency", statistic=statistic, value=None, marks=("impossible", *style.marks))
    unit = style.unit_ns
    return printed("latency", statistic, round(to_float(cell) * unit, 3), round(unit_of_last_decimal(cell) * unit, 6), style.marks)


def _misplaced(cells: Sequence[str], style: PrintStyle) -> Broken | None:
    """Only the deviation has one decimal, or all have three: where it stands elsewhere, a cell is missing and the row has slipped."""
    decimals = [len(re.split("[.,]", cell)[1]) if re.search("[.,]", cell) else 0 for cell in cells]
    others = set(decimals[2:]) | (set() if style.free else {decimals[0]})
    usual = others == {0} and (style.free or decimals[1] == 1)
    fine = others == {3} and decimals[1] == 3  # noqa: PLR2004
    return None if usual or fine else OUT_OF_PLACE


def _smallest_for_percentiles(values: Mapping[str, float]) -> tuple[str, ...]:
    """The percentiles that Java's printer got wrong: it divides whole numbers, 9999/10000 is 0, and so it prints the smallest sample."""
    wrong = ("p99.99", "p99.9999")
    if all(values.get(name) == values["min"] for name in wrong) and values["min"] < values["p99"]:
        return wrong
    return ()


def _contradictory(values: Mapping[str, float]) -> bool:
    """Whether the statistics are out of order, or their mean is where no distribution with these percentiles can have it."""
    levels = [(share, values[name]) for name, share in ORDER.items() if name in values]
    if any(low > high for (_, low), (_, high) in pairwise(levels)):
        return True
    least = sum((above - share) * low for (share, low), (above, _) in pairwise(levels))
    most = sum((above - share) * high for (share, _), (above, high) in pairwise(levels))
    return not least - 1 <= values["mean"] <= most + 1


def throughput(rates: Rates, more: Sequence[Number] = ()) -> Record | Broken:
    """A subscriber's rates: of a whole size, or (with those of the last second) of the time since the size began."""
    running = rates.last_rate is not None and rates.last_mbit is not None
    if not (rates.received.isdecimal() and rates.lost.isdecimal()):
        return OUT_OF_PLACE
    if trouble := too_large(*(cell for cell in rates if cell is not None)) or _rates_contradict(rates, running):
        return trouble
    received, lost = int(rates.received), int(rates.lost)
    share = _loss(received, lost, rates.percent)
    if isinstance(share, Broken):
        return share
    numbers = [
        Number(metric="messages_received", statistic="total", value=float(received)),
        Number(metric="messages_lost", statistic="total", value=float(lost)),
        *_rate("mean", rates.rate, rates.mbit),
        *(_rate("last", rates.last_rate or "", rates.last_mbit or "") if running else ()),
        *share,
        *more,
    ]
    scope: Scope = "interval" if running else "summary"
    return Record(
        test="throughput",
        payload_bytes=int(rates.size),
        numbers=tuple(numbers),
        samples=received,
        scope=scope,
        side="subscriber",
        conditions=Conditions(definition="rti-throughput-running" if running else "rti-throughput"),
    )


def _rate(statistic: str, rate: str, mbit: str) -> tuple[Number, Number]:
    """A message rate and a goodput; a spreadsheet drops the decimal of 180.0, which says nothing of the resolution."""
    return (
        printed("message_rate", statistic, to_float(rate), resolution=unit_of_last_decimal(rate)),
        printed("goodput", statistic, round(to_float(mbit) * 1e6, 0), resolution=1e5),
    )


def _rates_contradict(rates: Rates, running: bool) -> Broken | None:
    bits = 8.0 * int(rates.size)
    pairs = [(rates.rate, rates.mbit, 1.6 if running else 1.01)]  # A mean of truncated rates is rounded once more.
    if running:
        pairs.append((rates.last_rate or "", rates.last_mbit or "", 1.01))
    for rate, mbit, messages in pairs:
        if abs(to_float(mbit) * 1e6 - to_float(rate) * bits) > messages * bits + RATE_SLACK_BIT_PER_S:
            return Broken("rate, size and Mbps contradict each other")
    return None


def _loss(received: int, lost: int, percent: str | None) -> tuple[Number, ...] | Broken:
    if percent is None:
        return ()
    stated, counted = to_float(percent), 100.0 * lost / (received + lost) if received + lost else 0.0
    slack = SHARE_SLACK + unit_of_last_decimal(percent) / 2 - 0.005
    if lost == 0 and stated == 0:
        return (Number(metric="loss", statistic="total", value=0.0),)
    if abs(stated - counted) <= slack:
        return (printed("loss", "total", round(stated / 100, 6), resolution=round(unit_of_last_decimal(percent) / 100, 6)),)
    if abs(stated - counted / 100) <= slack:  # The C# printer writes the fraction under the head of a percentage.
        return (Number(metric="loss", statistic="total", value=counted / 100, marks=("derived",)),)
    return Broken("the share of loss contradicts the counts")


def cpu(text: str, statistic: str = "mean", factor: float = 1.0) -> Number:
    """Processor time of the process, of which 100 % is the whole machine."""
    plain = re.sub("[\u00a0\u202f]", "", text)
    if re.search(r"[.,][0-9]{3}[.,]", plain):
        plain = re.sub(r"[.,](?=[0-9]{3}(?:\D|$))", "", plain)
    place = unit_of_last_decimal(plain) * factor
    return printed("cpu_of_machine", statistic, round(to_float(plain) * factor, 6), place)


def serialization(serialize: str, deserialize: str | None, total: str | None) -> tuple[Number, ...] | Broken:
    """The cost of serialising and deserialising; -1 is what the tool prints where it did not compute it, ``None`` what the log ends before."""
    if serialize.startswith("-") or (deserialize or "").startswith("-"):
        return ()
    if deserialize and total and abs(to_float(serialize) + to_float(deserialize) - to_float(total)) > 0.0016:  # noqa: PLR2004
        return Broken("the total of serialisation contradicts its parts")
    places = (("serialization", serialize), ("deserialization", deserialize))
    return tuple(printed(metric, "mean", round(to_float(text) * MICROSECOND), resolution=1.0) for metric, text in places if text)
