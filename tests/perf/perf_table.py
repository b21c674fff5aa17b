"""Rows of a measured figure, its reference, and the goal."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan, nan
from typing import Literal, NamedTuple

Unit = Literal["ns", "/s", "B/s", "s", "ratio", "%", "B", "MB"]
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


class Effort(NamedTuple):
    """The number of rounds and the duration of a measurement."""

    rounds: int
    seconds: float


class Goal(NamedTuple):
    """The goal for a ratio: an upper limit, or a lower limit."""

    sense: Literal["<=", ">="]
    factor: float

    def reached(self, ratio: float) -> bool:
        return ratio <= self.factor if self.sense == "<=" else ratio >= self.factor


class Row(NamedTuple):
    """A row of the table: a figure and the reference that it is compared with.

    The ratio of both must reach the goal. If there is no goal, figure and reference are shown, but not judged.
    """

    what: str
    value: float
    unit: Unit
    beside: str
    reference: float
    goal: Goal | None = None


class LeftOut(NamedTuple):
    """A figure that could not be measured, and the reason."""

    what: str
    why: str


def amount(value: float, unit: Unit) -> str:
    if unit == "ratio":
        return f"{value:.2f}"
    if unit == "%":
        return "-" if isnan(value) else f"{value:.1f} %"
    if unit == "ns":
        factor, word = next(((factor, word) for factor, word in ((1e9, "s"), (1e6, "ms"), (1e3, "us")) if value >= factor), (1.0, "ns"))
        return f"{value / factor:.3g} {word}"
    factor, prefix = next(((factor, prefix) for factor, prefix in PREFIXES if value >= factor), (1.0, ""))
    return f"{value / factor:.3g} {prefix}{unit}".replace(" /s", "/s")


def cells(row: Row) -> tuple[str, ...]:
    ratio = row.value / row.reference if row.reference else nan
    goal = f"{row.goal.sense} {row.goal.factor:g}" if row.goal else ""
    verdict = ("reached" if row.goal.reached(ratio) else "MISSED") if row.goal else ""
    return (
        row.what,
        amount(row.value, row.unit),
        f"{row.beside} {amount(row.reference, row.unit)}",
        "-" if isnan(ratio) else f"{ratio:.2f}",
        goal,
        verdict,
    )


def show(rows: Iterable[Row | LeftOut]) -> str:
    """Return all rows as one table, and below it the missing figures."""
    found = list(rows)
    table = [("what", "measured", "beside", "ratio", "goal", ""), *(cells(row) for row in found if isinstance(row, Row))]
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table]
    return "\n".join(lines + [f"left out: {row.what}: {row.why}" for row in found if isinstance(row, LeftOut)])
