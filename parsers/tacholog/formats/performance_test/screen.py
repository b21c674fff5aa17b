"""The boxes that performance_test prints on a terminal, its output unless it is told another: one screen about every second.

As the tool prints them, but for blanks and for versions that print the loops of publishers and subscribers below the samples::

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

All figures are those of a row of the tool's CSV, but latencies are in seconds with six decimals. That is too coarse for the variance, which is in
seconds squared: it is left out, as is the usage of the system, which nothing ties to the samples above it. Between two screens the tool moves
the cursor up, so that a log holds one below the other.
Source: outputs/stdout_output.cpp of performance_test 1.x and 2.x, and what the manual of TogetheROS prints of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

import msgspec

from tacholog.formats.kit import MICROSECOND, Broken, Cell, Finding, Line, Record, finding_on
from tacholog.formats.performance_test.row import USAGE, ExperimentRow, checked

SIGN = r"[ \t]*\| T_experiment +\| "
_RULE = re.compile(r"\s*\+-[-+ ]{1,400}\+\s*")
_TITLE = re.compile(r"\s*(?:run time|samples {1,99}latency|publisher loop {1,99}subscriber loop|system usage)\s*")
_BOX = re.compile(r"\s*\|[^|]{1,80}\|(?:[^|]{1,80}\|){1,40}\s*")
_COUNTS = ("received", "sent", "lost", "data_received", "relative_loss")
_LATENCY = ("min", "max", "mean", "variance")
_SAMPLES = ("recv", "sent", "lost", "data_recv", "relative_loss", *_LATENCY)
_HALF = len(USAGE) // 2
_USAGE = tuple(name.removeprefix("ru_") for name in USAGE)
_HEADS = {_SAMPLES, (*_LATENCY, *_LATENCY), _USAGE[:_HALF], _USAGE[_HALF:]}
_VALUE = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{6})?|-?(?:nan|inf)|-")
_SECONDS = re.compile(r"[0-9]{1,12}\.[0-9]{6}")
_HELD_LINES = 400  # A screen has 37.
_TO_SAMPLES = 6  # Lines from that of the time to that of the samples, without blank ones.
_CUT = re.compile(r"\s*[|+]")
_LATER = re.compile(r"\s*(?:publisher loop|system usage)\b")
_GARBLED = Broken("a row of a box that is cut short or garbled")
_TOO_EARLY = Broken("the screen ends before its samples")
_NO_TIME = Broken("no box above says of which time these samples are")


class Screen(NamedTuple):
    """What one screen says, and the lines that say it: that of the time, and that of the samples, if there is one."""

    lines: tuple[Line, ...]
    row: ExperimentRow | Broken


def is_of_screen(text: str) -> bool:
    """Whether the text is a line of a box, or the title above one."""
    return (_BOX.fullmatch(text) or _RULE.fullmatch(text) or _TITLE.fullmatch(text)) is not None


class Screens:
    """The screen that the log is in."""

    def __init__(self) -> None:
        """Begin before the first."""
        self._begin: Line | None = None  # The line of the time of a screen whose samples are still to come.
        self._since = 0  # Lines of boxes after it.
        self._times: tuple[Cell, ...] = ()
        self._head: tuple[Cell, ...] = ()
        self._tangled = False  # Whose samples the next ones are cannot be told.

    def take(self, line: Line) -> Iterator[Finding | Screen]:
        """Use a line that `is_of_screen`."""
        cells = tuple(cell for cell in Cell.between(line.text, "|") if cell) if "|" in line.text else ()
        self._since += 1
        if cells[:1] == ("T_experiment",):
            yield from self._begun(line, cells)
            return
        if self._begin and (self._since > _TO_SAMPLES or _LATER.match(line.text) or (cells in _HEADS and cells != _SAMPLES)):
            begin, self._begin = self._begin, None  # Its samples are lost: those to come are of another.
            yield Screen((begin,), _TOO_EARLY)
        if cells in _HEADS:
            self._tangled = self._tangled or bool(self._head)
            self._head = cells
            yield Finding(line, None)
        elif cells:
            yield from self._valued(line, cells)
        else:
            yield Finding(line, None)

    def close(self) -> Iterator[Screen]:
        """The screen is over: another begins, or the log ends."""
        if self._begin:
            yield Screen((self._begin,), _TOO_EARLY)
        self._begin, self._head = None, ()

    def pass_by(self, line: Line) -> Iterator[Screen]:
        """Another line stands between boxes: a line of a box that is cut may be that of the samples, and a screen is not held open for ever."""
        is_cut = _CUT.match(line.text) and not is_of_screen(line.text)
        if self._begin and (is_cut or line.number - self._begin.number > _HELD_LINES):
            yield from self.close()

    def _begun(self, line: Line, cells: tuple[Cell, ...]) -> Iterator[Finding | Screen]:
        self._tangled = self._begin is not None
        yield from self.close()
        good = line.whole and len(cells) == 4 and cells[2] == "T_loop" and all(_SECONDS.fullmatch(cell) for cell in cells[1::2])  # noqa: PLR2004
        if not good:
            yield Finding(line, _GARBLED)
            return
        self._begin, self._since, self._times = line, 0, cells[1::2]

    def _valued(self, line: Line, cells: tuple[Cell, ...]) -> Iterator[Finding | Screen]:
        head, self._head = self._head, ()
        good = line.whole and len(cells) == len(head) and all(_VALUE.fullmatch(cell) for cell in cells)
        if not good:
            yield from self.close()  # It may be that of the samples: the screens after it are whole.
            yield Finding(line, _GARBLED)
        elif head != _SAMPLES:
            yield Finding(line, None)
        elif self._begin is None or self._tangled:
            yield Screen((line,), _NO_TIME)
        else:
            begin, self._begin = self._begin, None
            yield Screen((begin, line), _row(self._times, cells))


def _row(times: tuple[Cell, ...], cells: tuple[Cell, ...]) -> ExperimentRow:
    """The row of a CSV that says the same. Without a message, bars stand for the latencies."""
    shown = dict(zip(("T_experiment", "T_loop", *_COUNTS), (*times, *cells), strict=False))
    seconds = dict(zip(("min", "max", "mean"), cells[len(_COUNTS) :], strict=False))
    shown |= {f"latency_{name} (ms)": cell.read_as(str(Decimal(cell) * 1000)) for name, cell in seconds.items() if _SECONDS.fullmatch(cell)}
    return checked(ExperimentRow(float(times[0]), shown, place_ns=MICROSECOND))


def found_of(screen: Screen, found: Finding) -> Finding:
    """Let a finding stand on the lines of its screen, and each number on its own: a row's time is on the first, all else on the last."""
    record = found.what
    if isinstance(record, Record):
        first, last = screen.lines[0].number, screen.lines[-1].number
        numbers = tuple(msgspec.structs.replace(n, line=first if n.metric == "duration" else last) for n in record.numbers)
        record = msgspec.structs.replace(record, numbers=numbers)
    return finding_on(screen.lines, record)
