"""A row of performance_test's table, or an object of its JSON: its cells by name, what they must add up to, and the records in it.

``received``, ``sent``, ``lost`` and ``data_received`` are rates: the tool counts, divides by how long the row took, and cuts the fraction off.
Source: experiment_execution/analysis_result.cpp of performance_test; data_running/data_runner.hpp (1.x) and experiment_metrics/subscriber_stats.hpp
and publisher_stats.hpp (1.3 to 2.x) divide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from math import ceil, inf, sqrt
from typing import NamedTuple

import msgspec

from tacholog.formats.kit import COUNT_LIMIT, DERIVED, Broken, Cell, Conditions, Line, Number, Record, closed_cells, impossible, printed

_MIN, _MEAN, _MAX = "latency_min (ms)", "latency_mean (ms)", "latency_max (ms)"
_NEEDED = ("T_experiment", "T_loop", "received")
COUNTS = ("received", "sent", "lost", "data_received")
USAGE = tuple(
    f"ru_{name}"
    for name in "utime stime maxrss ixrss idrss isrss minflt majflt nswap inblock oublock msgsnd msgrcv nsignals nvcsw nivcsw".split()  # noqa: SIM905
)
_CELL = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,9})?(?:e[+-][0-9]{1,3})?|-?(?:nan|inf)")
_COLUMN = re.compile(r"[A-Za-z][\w ().%/-]{0,60}")
_MOST_COLUMNS = 200
_HUGE_MS = 1e12  # Thirty years: a minimum or maximum that nothing was ever compared with.
_ALL_CORES = 101.0  # Percent, and what clocks of different steps make of it.
_ROUNDING = 0.0051
# Where the numbers of a record stand.
_PRINTED = {
    **{("latency", name): f"latency_{name} (ms)" for name in ("min", "max", "mean")},
    ("message_rate", "mean"): "received",
    ("offered_rate", "mean"): "sent",
    ("goodput", "mean"): "data_received",
    ("duration", "total"): "T_loop",
    ("cpu_of_machine", "mean"): "cpu_usage (%)",
    ("peak_memory", "max"): "ru_maxrss",
}
_SHOWN = frozenset(_PRINTED.values())
_DIGITS = 4


class ExperimentRow(NamedTuple):
    """The cells by the name of their column.

    ``digits`` are those that are printed of a latency, ``None`` if all are; ``place_ns`` is the place that latencies are printed to, where it is the
    same for all. ``impossible`` names the cells that cannot be, or that contradict each other: the others are none the worse for them. ``derived``
    says that the latencies were computed from those of longer times. ``flowing`` names the rates that were above zero before: only then is a zero a
    rate, and not that of a process that has no such side.
    """

    time: float
    cells: Mapping[str, str]
    digits: int | None = _DIGITS
    impossible: frozenset[str] = frozenset()
    derived: bool = False
    flowing: frozenset[str] = frozenset()
    place_ns: float | None = None

    def records(self, conditions: Conditions, meaning: Conditions) -> tuple[Record, ...]:
        """The latencies, if anything was received, and the rates. ``meaning`` says what a latency is of."""
        counts = Record(
            test="throughput",
            payload_bytes=None,  # No line states it. Bytes through messages is no size: both are rates without their fractions.
            numbers=tuple(self._placed(self._counts())),
            scope="interval",
            conditions=Conditions(definition="performance_test-rates").over(conditions),
        )
        latency = self.latency(conditions, meaning)
        return (latency, counts) if latency else (counts,)

    def latency(self, conditions: Conditions, meaning: Conditions) -> Record | None:
        """The latencies, if there are any."""
        samples = self.samples
        if not samples or _MEAN not in self.cells:
            return None
        return Record(
            test="latency",
            payload_bytes=None,
            numbers=tuple(self._placed(self._latencies())),
            samples=samples,
            scope="interval",
            conditions=meaning.over(conditions),
        )

    def _placed(self, numbers: Iterable[Number]) -> Iterator[Number]:
        for number in numbers:
            cell = self.cells.get(_PRINTED.get((number.metric, number.statistic), ""))
            yield msgspec.structs.replace(number, value_start=cell.start, value_end=cell.end) if isinstance(cell, Cell) else number

    @property
    def samples(self) -> int:
        """How many latencies are behind the statistics: what the row states, or as many as the rate and the time need at least."""
        return int(Decimal(self.cells["latencies"])) if "latencies" in self.cells else self.received

    @property
    def idle(self) -> bool:
        """Whether nothing happened."""
        return not any(self._rate(name) for name in COUNTS)

    @property
    def active(self) -> frozenset[str]:
        """The rates that are above zero."""
        return frozenset(name for name in COUNTS if self._rate(name))

    @property
    def lasted(self) -> float:
        """How many seconds the row is of; 1 where that cannot be known."""
        return float(self._seconds)

    @property
    def _seconds(self) -> Decimal:
        return Decimal(1) if "T_loop" in self.impossible else Decimal(self.cells["T_loop"])

    def _rate(self, name: str) -> int:
        """A rate per second, as printed."""
        return 0 if name in self.impossible else int(self.cells.get(name, "0"))

    @property
    def received(self) -> int:
        """How many messages came at least: the tool cut the fraction off the rate, and they are whole. 0 where that cannot be known."""
        return ceil(self._rate("received") * self._seconds)

    def _latencies(self) -> Iterator[Number]:
        for statistic in ("min", "max", "mean"):
            if f"latency_{statistic} (ms)" in self.cells:
                yield self._milliseconds(statistic, f"latency_{statistic} (ms)")
        variance = float(self.cells.get("latency_variance (ms)", "nan"))
        if 0 <= variance < _HUGE_MS and _MEAN not in self.impossible:
            yield Number(metric="latency", statistic="std", value=round(sqrt(variance / 1000) * 1e9, 3), marks=(DERIVED,))

    def _counts(self) -> Iterator[Number]:
        for name in ("received", "sent", "lost"):
            if name in self.impossible:
                yield impossible(f"messages_{name}")
            elif name in self.cells and "T_loop" not in self.impossible:
                yield Number(metric=f"messages_{name}", statistic="total", value=self._rate(name) * self.lasted, marks=(DERIVED,))
        received, lost = self._rate("received"), self._rate("lost")
        if received + lost and {"received", "lost"} <= self.cells.keys() - self.impossible:
            yield Number(metric="loss", statistic="total", value=lost / (received + lost), marks=(DERIVED,))
        for metric, name, bits in (("message_rate", "received", 1), ("offered_rate", "sent", 1), ("goodput", "data_received", 8)):
            rate = bits * self._rate(name)
            if rate or (name in self.flowing and name in self.cells and name not in self.impossible):
                marks = () if rate else (DERIVED,)  # That a zero is a rate follows from the rows before it.
                yield Number(metric=metric, statistic="mean", value=float(rate), resolution=float(bits), marks=marks)
        if "T_loop" in self.impossible:
            yield impossible("duration")
        else:
            resolution = 1e3 if self.digits else None
            yield Number(metric="duration", statistic="total", value=float(Decimal(self.cells["T_loop"]) * 10**9), resolution=resolution)
        yield from self._process()

    def _process(self) -> Iterator[Number]:
        if 0 <= float(self.cells.get("cpu_usage (%)", "nan")) <= _ALL_CORES:
            yield self._significant("cpu_of_machine", "mean", Decimal(self.cells["cpu_usage (%)"]))
        peak_kib = self.cells.get("ru_maxrss", "")
        if peak_kib.isdigit() and 0 < int(peak_kib) < COUNT_LIMIT:
            yield Number(metric="peak_memory", statistic="max", value=float(int(peak_kib) * 1024), resolution=1024.0)

    def _milliseconds(self, statistic: str, name: str) -> Number:
        if name in self.impossible:
            return impossible("latency", statistic)
        if self.place_ns:
            return printed("latency", statistic, float(Decimal(self.cells[name]) * 1_000_000), self.place_ns)
        number = self._significant("latency", statistic, Decimal(self.cells[name]) * 1_000_000)
        return msgspec.structs.replace(number, marks=(DERIVED,)) if self.derived else number

    def _significant(self, metric: str, statistic: str, value: Decimal) -> Number:
        """A number of which so many significant digits are printed, less trailing zeros; of a zero it is not known how small it was."""
        if not value or self.digits is None:
            return Number(metric=metric, statistic=statistic, value=float(value))
        resolution = float(Decimal(10) ** (value.adjusted() - self.digits + 1))
        return Number(metric=metric, statistic=statistic, value=float(value), resolution=resolution)


def columns_of(text: str) -> tuple[str, ...]:
    """The columns that a header names; none if it is garbled. Versions differ in what they print: columns are read by name."""
    cells = [cell.strip().replace("(ms)", " (ms)").replace("  ", " ") for cell in text.rstrip().rstrip(",").split(",")]
    good = len(set(cells)) == len(cells) <= _MOST_COLUMNS and all(_COLUMN.fullmatch(cell) for cell in cells)
    return tuple(cells) if good and set(_NEEDED) <= set(cells) else ()


def read_row(line: Line, columns: Sequence[str]) -> ExperimentRow | Broken:
    """The cells of a line, if it says what its header does. Of a line that the log ends in, the cells that are closed count."""
    pieces = closed_cells(line)
    cells = [piece.strip() for piece in pieces]
    if line.whole and cells and not cells[-1]:
        cells.pop()  # Some versions print a separator behind the last cell.
    if not columns:
        return Broken("a row without a table's header before it")
    if not line.whole and len(cells) < len(columns):
        needed = max((columns.index(name) for name in columns if name in (*_NEEDED, *COUNTS)), default=0)
        if len(cells) <= needed:
            return Broken("the log ends within this line")
    elif len(cells) != len(columns):
        return Broken("row is cut short, garbled or of another table")
    if not all(_CELL.fullmatch(cell) for cell in cells):
        return Broken("row is cut short, garbled or of another table")
    row: dict[str, str] = dict(zip(columns, cells, strict=False))
    at = 0
    for name, piece in zip(columns, pieces, strict=False):
        if name in _SHOWN:
            row[name] = Cell(row[name], at + piece.index(row[name]))
        at += len(piece) + 1
    return checked(ExperimentRow(float(cells[0]), row))


def checked(row: ExperimentRow) -> ExperimentRow:
    """The row, with the names of the cells that cannot be."""
    cells = row.cells
    impossible = {name for name in COUNTS if name in cells and (not cells[name].isdigit() or int(cells[name]) >= COUNT_LIMIT)}
    if not 0 < float(cells["T_loop"]) <= row.time + 0.01:
        impossible.add("T_loop")
    sent, lost, share = (float(cells.get(name, "nan")) for name in ("sent", "lost", "relative_loss"))
    if sent and not impossible & {"sent", "lost"} and 0 <= share < inf and abs(share - lost / sent) > _ROUNDING:
        impossible |= {"sent", "lost"}  # One of them is wrong, and nobody can tell which.
    latencies = {name: float(cells[name]) for name in (_MIN, _MEAN, _MAX) if name in cells}
    impossible |= {name for name, value in latencies.items() if not 0 <= value < _HUGE_MS}
    slack = 1 + 10.0 ** (1 - _DIGITS)
    ordered = [value for name, value in latencies.items() if name not in impossible]
    if any(low > high * slack for low, high in pairwise(ordered)):
        impossible |= latencies.keys()
    return row._replace(impossible=frozenset(impossible))
