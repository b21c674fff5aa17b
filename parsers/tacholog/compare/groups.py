"""Two groups of runs: one rule for all tables, answers and comparisons, so that the same runs form the same groups everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import log, sqrt
from typing import TYPE_CHECKING

from tacholog.compare.policy import MIN_RUNS

if TYPE_CHECKING:
    from tacholog.compare.result import Side

# The width of the gap between two groups, as a share of the value below the gap. If runs vary by 5 %, a gap of this width occurs by chance in 1 % of
# the rows with six runs and in 0.1 % of the rows with 12 runs. If runs vary by 10 %, these shares are 10 % and 1 %.
LEAST_GAP = 0.1
_LEAST_RUNS = 2  # A single distant value is an outlier, not a group.
_LEAST_STEPS = 2  # the least gap, in units of the last printed digit: rounding may cause smaller gaps
_SURELY_NO_GAP = (1 + LEAST_GAP) * (1 - 1e-9)  # slightly less than the limit, because logarithms are rounded


def size_of_lower_group(values: Sequence[float], step: float = 0.0) -> int | None:
    """Return how many runs are in the lower of two groups; ``None`` if the runs do not form two groups.

    They do if the widest gap is more than three times the spread within the groups, and wider than `LEAST_GAP` and than rounding explains.

    Args:
        values: the sorted values of the runs.
        step: the unit of the last printed digit, or 0 if it is not known.
    """
    if len(values) < MIN_RUNS or values[0] <= 0:
        return None
    split = _split(tuple(values))
    return None if split is None or values[split] - values[split - 1] <= _LEAST_STEPS * step else split


def groups_of(side: Side | None) -> list[list[float]]:
    """Return the values of the two groups of a side, the lower values first; an empty list if its values are one group."""
    values = sorted(side.values) if side and side.bound == "=" else []
    split = size_of_lower_group(values, (side.resolution if side else None) or 0.0)
    return [values[:split], values[split:]] if split else []


@lru_cache(maxsize=1 << 16)
def _split(values: tuple[float, ...]) -> int | None:
    positions = range(_LEAST_RUNS, len(values) - _LEAST_RUNS + 1)
    if all(values[position] <= values[position - 1] * _SURELY_NO_GAP for position in positions):
        return None
    logarithms = [log(value) for value in values]
    split = max(positions, key=lambda position: logarithms[position] - logarithms[position - 1])
    gap = logarithms[split] - logarithms[split - 1]
    parts = logarithms[:split], logarithms[split:]
    squares = sum((value - sum(part) / len(part)) ** 2 for part in parts for value in part)
    return split if gap > 3 * sqrt(squares / (len(values) - 2)) and gap > log(1 + LEAST_GAP) else None
