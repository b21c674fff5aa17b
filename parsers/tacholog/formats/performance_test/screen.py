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
seconds squared: it is left out. Between two screens the tool moves the cursor up, so that a log holds one below the other.
Source: outputs/stdout_output.cpp of performance_test 1.x and 2.x, and what the manual of TogetheROS prints of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from tacholog.formats.kit import MICROSECOND, Broken, Found, Line, found_on
from tacholog.formats.performance_test.row import USAGE, ExperimentRow, checked

SIGN = r"[ \t]*\| T_experiment +\| "
_RULE = re.compile(r"\s*\+-[-+ ]{1,400}\+\s*")
_TITLE = re.compile(r"\s*(?:run time|samples {1,99}latency|publisher loop {1,99}subscriber loop|system usage)\s*")
_BOX = re.compile(r"\s*\|[^|]{1,80}\|(?:[^|]{1,80}\|){1,40}\s*")
_RUN_TIME = ("T_experiment", "T_loop")
_SAMPLES = ("recv", "sent", "lost", "data_recv", "relative_loss")
_LATENCY = ("min", "max", "mean", "variance")
_HALF = len(USAGE) // 2
_USAGE = tuple(name.removeprefix("ru_") for name in USAGE)
# What the CSV calls the cells below each head. No record has those of the loops.
_NAMES: dict[tuple[str, ...], tuple[str, ...]] = {
    (*_SAMPLES, *_LATENCY): ("received", "sent", "lost", "data_received", "relative_loss", *(f"latency_{name} (ms)" for name in _LATENCY)),
    (*_LATENCY, *_LATENCY): ("",) * 8,
    _USAGE[:_HALF]: USAGE[:_HALF],
    _USAGE[_HALF:]: USAGE[_HALF:],
}
_NEEDED = {"received", "sent", "lost", "data_received", "relative_loss"}
_VALUE = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{6})?|-?(?:nan|inf)|-")
_SECONDS = re.compile(r"[0-9]{1,12}\.[0-9]{6}")
_HELD_LINES = 400  # A screen has 37.
_GARBLED = Broken("a row of a box that is cut short or garbled")
_TOO_EARLY = Broken("the screen ends before its samples")


class Screen(NamedTuple):
    """What one screen says, and the lines that say it."""

    lines: tuple[Line, ...]
    row: ExperimentRow | Broken


def is_of_screen(text: str) -> bool:
    """Whether the text is a line of a box, or the title above one."""
    return (_BOX.fullmatch(text) or _RULE.fullmatch(text) or _TITLE.fullmatch(text)) is not None


class Screens:
    """The screen that the log is in."""

    def __init__(self) -> None:
        """Begin before the first."""
        self._lines: list[Line] = []
        self._cells: dict[str, str] = {}
        self._names: tuple[str, ...] = ()

    def take(self, line: Line) -> Iterator[Found | Screen]:
        """Use a line that `is_of_screen`."""
        cells = [cell.strip() for cell in line.text.strip().strip("|").split("|") if cell.strip()] if "|" in line.text else []
        if cells[:1] == ["T_experiment"]:
            yield from self.close()
            yield from self._begun(line, cells)
        elif tuple(cells) in _NAMES:
            self._names = _NAMES[tuple(cells)]
            yield Found(line, None)
        elif cells:
            yield from self._valued(line, cells)
        else:
            yield Found(line, None)

    def close(self) -> Iterator[Screen]:
        """The screen is over: another begins, or the log ends."""
        if self._lines:
            complete = self._cells.keys() >= _NEEDED
            yield Screen(tuple(self._lines), _row(self._cells) if complete else _TOO_EARLY)
        self._lines, self._cells, self._names = [], {}, ()

    def pass_by(self, line: Line) -> Iterator[Screen]:
        """Another line stands between boxes: a screen is not held open for ever."""
        if self._lines and line.number - self._lines[0].number > _HELD_LINES:
            yield from self.close()

    def _begun(self, line: Line, cells: list[str]) -> Iterator[Found]:
        good = line.whole and len(cells) == 4 and cells[2] == "T_loop" and all(_SECONDS.fullmatch(cell) for cell in cells[1::2])  # noqa: PLR2004
        if not good:
            yield Found(line, _GARBLED)
            return
        self._lines, self._cells = [line], dict(zip(_RUN_TIME, cells[1::2], strict=True))

    def _valued(self, line: Line, cells: list[str]) -> Iterator[Found | Screen]:
        names, self._names = self._names, ()
        if not self._lines or not names or not line.whole or len(cells) != len(names) or not all(_VALUE.fullmatch(cell) for cell in cells):
            yield Found(line, _GARBLED)
        elif not any(names):
            yield Found(line, None)
        else:
            self._lines.append(line)
            self._cells |= dict(zip(names, cells, strict=True))
            if names[-1] == USAGE[-1]:
                yield from self.close()


def _row(cells: dict[str, str]) -> ExperimentRow:
    """The row of a CSV that says the same. Without a message, bars stand for the latencies."""
    shown = {}
    for name, cell in cells.items():
        if not name.startswith("latency_"):
            shown[name] = cell
        elif "variance" not in name and cell != "-":
            shown[name] = str(Decimal(cell) * 1000)
    return checked(ExperimentRow(float(cells["T_experiment"]), shown, place_ns=MICROSECOND))


def found_of(screen: Screen, found: Found) -> Found:
    """Let a finding stand on all lines of its screen."""
    return found_on(screen.lines, found.what)
