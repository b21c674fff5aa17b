"""A row of performance_test's table, or an object of its JSON: its cells by name, what they must add up to, and the records in it.

Source: performance_test/src/experiment_execution/analysis_result.cpp of performance_test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import inf, sqrt
from typing import NamedTuple

import msgspec

from tacholog.formats._intervals import DERIVED
from tacholog.formats.lines import Broken
from tacholog.records import Conditions, Number, Record

_STATISTICS = ("min", "max", "mean", "variance")
COUNTS = ("received", "sent", "lost", "data_received")
USAGE = tuple(
    f"ru_{name}"
    for name in "utime stime maxrss ixrss idrss isrss minflt majflt nswap inblock oublock msgsnd msgrcv nsignals nvcsw nivcsw".split()  # noqa: SIM905
)
COLUMNS = frozenset(
    (
        *("T_experiment", "T_loop", "relative_loss", "cpu_usage (%)", *COUNTS, *USAGE),
        *(f"{what}_{statistic} (ms)" for what in ("latency", "pub_loop_res", "sub_loop_res") for statistic in _STATISTICS),
    )
)
_CELL = re.compile(r"-?\d{1,400}(?:\.\d{1,9})?(?:e[+-]\d{1,3})?|-?(?:nan|inf)")
_LARGEST_COUNT = 2**63
_HUGE_MS = 1e12  # Thirty years: a minimum or maximum that nothing was ever compared with.
_ALL_CORES = 101.0  # Percent, and what clocks of different steps make of it.
_ROUNDING = 0.0051
_DIGITS = 4


class Row(NamedTuple):
    """The cells by the name of their column; ``digits`` are those that are printed of a latency, ``None`` if all are."""

    time: float
    cells: Mapping[str, str]
    digits: int | None = _DIGITS

    def records(self, conditions: Conditions, meaning: Conditions) -> tuple[Record, ...]:
        """The latencies, if anything was received, and the counts. ``meaning`` says what a latency is of."""
        counts = Record(
            test="throughput",
            payload_bytes=self._payload_bytes,
            numbers=tuple(self._counts()),
            scope="interval",
            conditions=Conditions(definition="performance_test-counts").over(conditions),
        )
        samples = int(Decimal(self.cells.get("latencies", self.cells.get("received", "0"))))
        if not samples or not all(f"latency_{statistic} (ms)" in self.cells for statistic in ("min", "max", "mean")):
            return (counts,)
        latency = msgspec.structs.replace(
            counts, test="latency", numbers=tuple(self._latencies()), samples=samples, conditions=meaning.over(conditions)
        )
        return (latency, counts)

    @property
    def idle(self) -> bool:
        """Whether nothing happened."""
        return not any(self._count(name) for name in COUNTS)

    def _count(self, name: str) -> int:
        return int(self.cells.get(name, "0"))

    @property
    def _payload_bytes(self) -> int | None:
        """The size of a message, which is not printed: the bytes are its size times the messages."""
        received, data = self._count("received"), self._count("data_received")
        return data // received if received and data and data % received == 0 else None

    def _latencies(self) -> Iterator[Number]:
        for statistic in ("min", "max", "mean"):
            yield self._milliseconds(statistic, self.cells[f"latency_{statistic} (ms)"])
        variance = float(self.cells.get("latency_variance (ms)", "nan"))
        if 0 <= variance < _HUGE_MS:
            yield Number(metric="latency", statistic="std", value=round(sqrt(variance / 1000) * 1e9, 3), marks=(DERIVED,))

    def _counts(self) -> Iterator[Number]:
        for name in ("received", "sent", "lost"):
            if name in self.cells:
                yield Number(metric=f"messages_{name}", statistic="total", value=float(self._count(name)))
        received, sent, lost = (self._count(name) for name in ("received", "sent", "lost"))
        if received + lost:
            yield Number(metric="loss", statistic="total", value=lost / (received + lost), marks=(DERIVED,))
        seconds = float(self.cells["T_loop"])
        rates = (("message_rate", received), ("offered_rate", sent), ("goodput", 8 * self._count("data_received")))
        for metric, count in rates:
            if count and seconds > 0:
                yield Number(metric=metric, statistic="mean", value=count / seconds, marks=(DERIVED,))
        resolution = 1e3 if self.digits else None
        yield Number(metric="duration", statistic="total", value=float(Decimal(self.cells["T_loop"]) * 10**9), resolution=resolution)
        yield from self._process()

    def _process(self) -> Iterator[Number]:
        if 0 <= float(self.cells.get("cpu_usage (%)", "nan")) <= _ALL_CORES:
            yield self._significant("cpu_of_machine", "mean", Decimal(self.cells["cpu_usage (%)"]))
        peak_kib = self.cells.get("ru_maxrss", "")
        if peak_kib.isdigit() and 0 < int(peak_kib) < _LARGEST_COUNT:
            yield Number(metric="peak_memory", statistic="max", value=float(int(peak_kib) * 1024), resolution=1024.0)

    def _milliseconds(self, statistic: str, text: str) -> Number:
        if not 0 <= float(text) < _HUGE_MS:
            return Number(metric="latency", statistic=statistic, value=None, marks=("impossible",))
        return self._significant("latency", statistic, Decimal(text) * 1_000_000)

    def _significant(self, metric: str, statistic: str, value: Decimal) -> Number:
        """A number of which so many significant digits are printed, less trailing zeros; of a zero it is not known how small it was."""
        if not value or self.digits is None:
            return Number(metric=metric, statistic=statistic, value=float(value))
        resolution = float(Decimal(10) ** (value.adjusted() - self.digits + 1))
        return Number(metric=metric, statistic=statistic, value=float(value), resolution=resolution)


def read_row(text: str, columns: Sequence[str]) -> Row | Broken:
    """The cells of a line, if it is whole and what it says can be."""
    cells = [cell.strip() for cell in text.rstrip().removesuffix(",").split(",")]
    if not columns:
        return Broken("a row without a table's header before it")
    if len(cells) != len(columns) or not all(_CELL.fullmatch(cell) for cell in cells):
        return Broken("row is cut short, garbled or of another table")
    return checked(Row(float(cells[0]), dict(zip(columns, cells, strict=True))))


def checked(row: Row) -> Row | Broken:
    """The row, if what it says can be."""
    if any(not cell.isdigit() or int(cell) >= _LARGEST_COUNT for name, cell in row.cells.items() if name in COUNTS):
        return Broken("a count that no counter of the tool can hold")
    if not 0 < float(row.cells["T_loop"]) <= row.time + 0.01 or not _adds_up(row.cells):
        return Broken("the cells contradict each other")
    return row


def _adds_up(cells: Mapping[str, str]) -> bool:
    """Whether the loss is the share of the counts, and the statistics are in the order that any statistics are in."""
    sent, lost = int(cells.get("sent", "0")), int(cells.get("lost", "0"))
    share = float(cells.get("relative_loss", "nan"))
    if sent and 0 <= share < inf and abs(share - lost / sent) > _ROUNDING:
        return False
    low, high, mean = (float(cells.get(f"latency_{name} (ms)", "nan")) for name in ("min", "max", "mean"))
    if int(cells.get("received", "0")) == 0 or not all(abs(value) < _HUGE_MS for value in (low, high, mean)):
        return True
    slack = 1 + 10.0 ** (1 - _DIGITS)
    return low <= mean * slack and mean <= high * slack
