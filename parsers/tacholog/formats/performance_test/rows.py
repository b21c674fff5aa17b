"""The rows of performance_test, and the records of a row. A row is from CSV, from JSON, or from the boxes that the tool prints on a terminal.

``received``, ``sent``, ``lost`` and ``data_received`` are rates: the tool divides its counts by the time of the row, and cuts off the fraction.

The boxes are the default output of the tool: one screen about every second. Some versions also print the loops of publishers and subscribers below
the samples. This example of a screen is as the tool prints it, except for blanks::

    run time
    +--------------+----------+--------+----------+
    | T_experiment | 2.000312 | T_loop | 1.000104 |
    +--------------+----------+--------+----------+
    samples                                             latency
    +------+------+------+-----------+---------------+  +----------+----------+----------+----------+
    | recv | sent | lost | data_recv | relative_loss |  | min      | max      | mean     | variance |
    +------+------+------+-----------+---------------+  +----------+----------+----------+----------+
    | 99   | 100  | 0    | 103800    | 0.000000      |  | 0.000146 | 0.000381 | 0.000195 | 0.000000 |
    +------+------+------+-----------+---------------+  +----------+----------+----------+----------+
    system usage
    ...

The figures of a screen are those of a row of the CSV, but latencies are in seconds with six decimals. This is too coarse for the variance, which is
in seconds squared, so it is left out. The usage of the system is also left out, because it may not belong to the samples above it. Between two
screens the tool moves the cursor up, so a log contains one screen after the other.
Source: experiment_execution/analysis_result.cpp of performance_test; data_running/data_runner.hpp (1.x) and experiment_metrics/subscriber_stats.hpp
and publisher_stats.hpp (1.3 to 2.x) divide. For the screens: outputs/stdout_output.cpp of 1.x and 2.x, and what the manual of TogetheROS prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from math import ceil, inf, sqrt
from typing import NamedTuple

import msgspec

from tacholog.formats.kit import (
    COUNT_LIMIT,
    DERIVED,
    MICROSECOND,
    Broken,
    Cell,
    Conditions,
    Finding,
    Line,
    Number,
    Record,
    closed_cells,
    finding_on,
    impossible,
    printed,
)

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
_HUGE_MS = 1e12  # Thirty years. Without a sample, the tool prints the initial value of a minimum or maximum, which is larger.
_ALL_CORES = 101.0  # In percent. The tool uses clocks with different steps, so the value may be slightly above 100.
_ROUNDING = 0.0051
# The column from which each number of a record is read.
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
    """The cells of a row by the names of their columns.

    ``digits`` is the number of significant digits of a latency; ``None`` if all digits are printed. ``place_ns`` is the unit of the last digit of
    latencies, if it is the same for all latencies. ``impossible`` names the cells that are impossible or contradict each other; all other cells are
    valid. ``derived`` is true if the latencies were computed from latencies that cover a longer time. ``flowing`` names the rates that were above
    zero in an earlier row. A rate of zero is used only if it is one of these rates. If a rate was always zero, the process does not send or receive.
    """

    time: float
    cells: Mapping[str, str]
    digits: int | None = _DIGITS
    impossible: frozenset[str] = frozenset()
    derived: bool = False
    flowing: frozenset[str] = frozenset()
    place_ns: float | None = None

    def records(self, conditions: Conditions, meaning: Conditions) -> tuple[Record, ...]:
        """Return the records of the row. If the row has latencies, the first record contains them. The last record contains the rates.

        ``meaning`` applies only to latencies.
        """
        counts = Record(
            test="throughput",
            # The tool does not state the size. It also cannot be computed from the rates of bytes and messages, because their fractions are cut off.
            payload_bytes=None,
            numbers=tuple(self._with_positions(self._counts())),
            scope="interval",
            conditions=Conditions(definition="performance_test-rates").over(conditions),
        )
        latency = self.latency(conditions, meaning)
        return (latency, counts) if latency else (counts,)

    def latency(self, conditions: Conditions, meaning: Conditions) -> Record | None:
        """Return the record of latencies, if there are any."""
        samples = self.samples
        if not samples or _MEAN not in self.cells:
            return None
        return Record(
            test="latency",
            payload_bytes=None,
            numbers=tuple(self._with_positions(self._latencies())),
            samples=samples,
            scope="interval",
            conditions=meaning.over(conditions),
        )

    def _with_positions(self, numbers: Iterable[Number]) -> Iterator[Number]:
        for number in numbers:
            cell = self.cells.get(_PRINTED.get((number.metric, number.statistic), ""))
            yield msgspec.structs.replace(number, value_start=cell.start, value_end=cell.end) if isinstance(cell, Cell) else number

    @property
    def samples(self) -> int:
        """The number of samples of the latencies, as the row states it; otherwise the number of received messages."""
        return int(Decimal(self.cells["latencies"])) if "latencies" in self.cells else self.received

    @property
    def idle(self) -> bool:
        """Whether no messages were sent, received or lost."""
        return not any(self._rate(name) for name in COUNTS)

    @property
    def active(self) -> frozenset[str]:
        """The rates that are above zero."""
        return frozenset(name for name in COUNTS if self._rate(name))

    @property
    def lasted(self) -> float:
        """The time in seconds that the row covers; 1 if it is unknown."""
        return float(self._seconds)

    @property
    def _seconds(self) -> Decimal:
        return Decimal(1) if "T_loop" in self.impossible else Decimal(self.cells["T_loop"])

    def _rate(self, name: str) -> int:
        return 0 if name in self.impossible else int(self.cells.get(name, "0"))

    @property
    def received(self) -> int:
        """The number of received messages, computed from the rate; 0 if the rate is unknown.

        The tool cuts off the fraction of the rate, so this is the smallest number that fits the rate.
        """
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
                yield Number(metric=f"messages_{name}", statistic="total", value=float(self._rate(name) * self._seconds), marks=(DERIVED,))
        received, lost = self._rate("received"), self._rate("lost")
        if received + lost and {"received", "lost"} <= self.cells.keys() - self.impossible:
            yield Number(metric="loss", statistic="total", value=lost / (received + lost), marks=(DERIVED,))
        for metric, name, bits in (("message_rate", "received", 1), ("offered_rate", "sent", 1), ("goodput", "data_received", 8)):
            rate = bits * self._rate(name)
            if rate or (name in self.flowing and name in self.cells and name not in self.impossible):
                marks = () if rate else (DERIVED,)  # A zero is a rate only if an earlier row had a rate above zero.
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
        if not value or self.digits is None:
            return Number(metric=metric, statistic=statistic, value=float(value))
        resolution = float(Decimal(10) ** (value.adjusted() - self.digits + 1))
        return Number(metric=metric, statistic=statistic, value=float(value), resolution=resolution)


def columns_of(text: str) -> tuple[str, ...]:
    """Return the columns that a header names; empty if the header is garbled. Versions print different columns, so columns are read by name."""
    cells = [cell.strip().replace("(ms)", " (ms)").replace("  ", " ") for cell in text.rstrip().rstrip(",").split(",")]
    good = len(set(cells)) == len(cells) <= _MOST_COLUMNS and all(_COLUMN.fullmatch(cell) for cell in cells)
    return tuple(cells) if good and set(_NEEDED) <= set(cells) else ()


def read_row(line: Line, columns: Sequence[str]) -> ExperimentRow | Broken:
    """Return the row of a line, if its cells match the header. If the log ends within the line, the complete cells are used."""
    pieces = closed_cells(line)
    cells = [piece.strip() for piece in pieces]
    if line.whole and cells and not cells[-1]:
        cells.pop()  # Some versions print a separator after the last cell, too.
    if not columns:
        return Broken("there is no header of a table before this row")
    if not line.whole and len(cells) < len(columns):
        needed = max((columns.index(name) for name in columns if name in (*_NEEDED, *COUNTS)), default=0)
        if len(cells) <= needed:
            return Broken("the log ends within this line")
    elif len(cells) != len(columns):
        return Broken("row is cut short, garbled or of another table")
    if not all(_CELL.fullmatch(cell) for cell in cells):
        return Broken("row is cut short, garbled or of another table")
    row: dict[str, str] = dict(zip(columns, cells, strict=False))
    offset = 0
    for name, piece in zip(columns, pieces, strict=False):
        if name in _SHOWN:
            row[name] = Cell(row[name], offset + piece.index(row[name]))
        offset += len(piece) + 1
    return checked(ExperimentRow(float(cells[0]), row))


def checked(row: ExperimentRow) -> ExperimentRow:
    """Return the row with the names of its impossible cells."""
    cells = row.cells
    impossible = {name for name in COUNTS if name in cells and (not cells[name].isdigit() or int(cells[name]) >= COUNT_LIMIT)}
    if not 0 < float(cells["T_loop"]) <= row.time + 0.01:
        impossible.add("T_loop")
    sent, lost, share = (float(cells.get(name, "nan")) for name in ("sent", "lost", "relative_loss"))
    if sent and not impossible & {"sent", "lost"} and 0 <= share < inf and abs(share - lost / sent) > _ROUNDING:
        impossible |= {"sent", "lost"}  # One of these cells is wrong, but it is unknown which.
    latencies = {name: float(cells[name]) for name in (_MIN, _MEAN, _MAX) if name in cells}
    impossible |= {name for name, value in latencies.items() if not 0 <= value < _HUGE_MS}
    slack = 1 + 10.0 ** (1 - _DIGITS)
    ordered = [value for name, value in latencies.items() if name not in impossible]
    if any(low > high * slack for low, high in pairwise(ordered)):
        impossible |= latencies.keys()
    return row._replace(impossible=frozenset(impossible))


SCREEN_SIGN = r"[ \t]*\| T_experiment +\| "
_BOX_RULE = re.compile(r"\s*\+-[-+ ]{1,400}\+\s*")
_BOX_TITLE = re.compile(r"\s*(?:run time|samples {1,99}latency|publisher loop {1,99}subscriber loop|system usage)\s*")
_BOX = re.compile(r"\s*\|[^|]{1,80}\|(?:[^|]{1,80}\|){1,40}\s*")
_SCREEN_COUNTS = ("received", "sent", "lost", "data_received", "relative_loss")
_LATENCY = ("min", "max", "mean", "variance")
_SAMPLES = ("recv", "sent", "lost", "data_recv", "relative_loss", *_LATENCY)
_HALF = len(USAGE) // 2
_USAGE = tuple(name.removeprefix("ru_") for name in USAGE)
_BOX_HEADS = {_SAMPLES, (*_LATENCY, *_LATENCY), _USAGE[:_HALF], _USAGE[_HALF:]}
_BOX_VALUE = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{6})?|-?(?:nan|inf)|-")
_SECONDS = re.compile(r"[0-9]{1,12}\.[0-9]{6}")
_HELD_LINES = 400  # A screen has 37 lines.
_TO_SAMPLES = 6  # The number of lines from the times to the samples, without blank lines.
_CUT = re.compile(r"\s*[|+]")
_LATER = re.compile(r"\s*(?:publisher loop|system usage)\b")
_GARBLED = Broken("a row of a box that is cut short or garbled")
_TOO_EARLY = Broken("the screen ends before its samples")
_NO_TIME = Broken("no box above states the time of these samples")


class Screen(NamedTuple):
    """One screen: the line of its times, the line of its samples (if there is such a line), and the row with the values of both lines."""

    lines: tuple[Line, ...]
    row: ExperimentRow | Broken


def is_of_screen(text: str) -> bool:
    """Whether the text is a line of a box, or a title above boxes."""
    return (_BOX.fullmatch(text) or _BOX_RULE.fullmatch(text) or _BOX_TITLE.fullmatch(text)) is not None


class Screens:
    """Reads screens, one after another."""

    def __init__(self) -> None:
        self._begin: Line | None = None  # The line with the times of the open screen, while its samples are missing.
        self._since = 0  # The number of lines of boxes after this line.
        self._times: tuple[Cell, ...] = ()
        self._head: tuple[Cell, ...] = ()
        self._tangled = False  # Whether it is unknown to which screen the next samples belong.

    def take(self, line: Line) -> Iterator[Finding | Screen]:
        """Read a line for which `is_of_screen` is true. Yield screens that end here, and a finding if the line belongs to no screen."""
        cells = tuple(cell for cell in Cell.between(line.text, "|") if cell) if "|" in line.text else ()
        self._since += 1
        if cells[:1] == ("T_experiment",):
            yield from self._take_times(line, cells)
            return
        if self._begin and (self._since > _TO_SAMPLES or _LATER.match(line.text) or (cells in _BOX_HEADS and cells != _SAMPLES)):
            begin, self._begin = self._begin, None  # The samples of this screen are lost. The next samples belong to another screen.
            yield Screen((begin,), _TOO_EARLY)
        if cells in _BOX_HEADS:
            self._tangled = self._tangled or bool(self._head)
            self._head = cells
            yield Finding(line, None)
        elif cells:
            yield from self._take_values(line, cells)
        else:
            yield Finding(line, None)

    def close(self) -> Iterator[Screen]:
        """Close the open screen, and yield it as a screen without samples. Yield nothing if no screen is open.

        A screen is closed early if another screen begins, or if the log ends.
        """
        if self._begin:
            yield Screen((self._begin,), _TOO_EARLY)
        self._begin, self._head = None, ()

    def pass_by(self, line: Line) -> Iterator[Screen]:
        """Close the open screen if its samples cannot follow any more, and yield this screen without samples.

        The samples cannot follow in two cases: if this line looks like a line of samples that is cut off, or if the screen began too many lines ago.
        Therefore this function must be called for each line of the log.
        """
        is_cut = _CUT.match(line.text) and not is_of_screen(line.text)
        if self._begin and (is_cut or line.number - self._begin.number > _HELD_LINES):
            yield from self.close()

    def _take_times(self, line: Line, cells: tuple[Cell, ...]) -> Iterator[Finding | Screen]:
        self._tangled = self._begin is not None
        yield from self.close()
        good = line.whole and len(cells) == 4 and cells[2] == "T_loop" and all(_SECONDS.fullmatch(cell) for cell in cells[1::2])  # noqa: PLR2004
        if not good:
            yield Finding(line, _GARBLED)
            return
        self._begin, self._since, self._times = line, 0, cells[1::2]

    def _take_values(self, line: Line, cells: tuple[Cell, ...]) -> Iterator[Finding | Screen]:
        head, self._head = self._head, ()
        good = line.whole and len(cells) == len(head) and all(_BOX_VALUE.fullmatch(cell) for cell in cells)
        if not good:
            yield from self.close()  # This may be the line of the samples. Later screens are not affected.
            yield Finding(line, _GARBLED)
        elif head != _SAMPLES:
            yield Finding(line, None)
        elif self._begin is None or self._tangled:
            yield Screen((line,), _NO_TIME)
        else:
            begin, self._begin = self._begin, None
            yield Screen((begin, line), _row_of_screen(self._times, cells))


def _row_of_screen(times: tuple[Cell, ...], cells: tuple[Cell, ...]) -> ExperimentRow:
    """Return the row that the CSV would have for this screen. If there was no message, hyphens replace the latencies."""
    row_cells = dict(zip(("T_experiment", "T_loop", *_SCREEN_COUNTS), (*times, *cells), strict=False))
    seconds = dict(zip(("min", "max", "mean"), cells[len(_SCREEN_COUNTS) :], strict=False))
    row_cells |= {f"latency_{name} (ms)": cell.read_as(str(Decimal(cell) * 1000)) for name, cell in seconds.items() if _SECONDS.fullmatch(cell)}
    return checked(ExperimentRow(float(times[0]), row_cells, place_ns=MICROSECOND))


def found_of(screen: Screen, finding: Finding) -> Finding:
    """Return the finding of a screen, with the log line of each number.

    The duration is on the first line of a screen. All other numbers are on the last line.
    """
    record = finding.what
    if isinstance(record, Record):
        first, last = screen.lines[0].number, screen.lines[-1].number
        numbers = tuple(msgspec.structs.replace(n, line=first if n.metric == "duration" else last) for n in record.numbers)
        record = msgspec.structs.replace(record, numbers=numbers)
    return finding_on(screen.lines, record)
