"""What a number is ranked by. Every ranking asks here, so that none of them prefers a transport that the others do not."""

from __future__ import annotations

from typing import NamedTuple

from tacholog.schema.metrics import METRICS
from tacholog.view.series import Cell

UNDERSAMPLED = "undersampled"  # the mark of a percentile with too few samples


class Standing(NamedTuple):
    """The value by which a number is ranked, with the range of the runs that it stands for, in the unit of its metric."""

    value: float
    low: float | None
    high: float | None


def standing(cell: Cell) -> Standing:
    """Return what a number with a value is ranked by: of two groups of runs, the worse one.

    The larger group would let a transport win that is slow in two of six runs: nobody who chooses it knows in which group the next run falls.

    Raises:
        ValueError: the number is not known. As 0 it would be the lowest latency.
    """
    if cell.value is None:
        raise ValueError("a number that is not known cannot be ranked")
    if not cell.groups:
        return Standing(cell.value, cell.low, cell.high)
    group = cell.groups[-1 if METRICS[cell.shown.metric].better == "lower" else 0]
    return Standing(group.value, group.low, group.high)


def rank_key(cell: Cell) -> tuple[float, bool]:
    """Return what numbers of one metric are sorted by, the best first. Of equal ones, that of runs in one group comes first."""
    value = standing(cell).value
    return (value if METRICS[cell.shown.metric].better == "lower" else -value), bool(cell.groups)


def overlap(one: Standing, other: Standing) -> bool:
    """Whether repeated runs do not tell two numbers apart: their ranges meet. Numbers without ranges are alike only where they are equal."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return one.value == other.value
    return one.low <= other.high and other.low <= one.high
