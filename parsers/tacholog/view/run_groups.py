"""Runs that fall into two groups: how they are found, and which values stand for them.

A median of such runs describes neither group, and one run more or less moves it from one group to the other. The rule is that of the diff
(`tacholog.compare.statistics.two_modes`); here a gap must also be wide enough to matter for a choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import log

import msgspec

from tacholog.compare.policy import MIN_RUNS
from tacholog.compare.statistics import MIN_CLUSTER, cluster_split
from tacholog.schema.metrics import METRICS, median_place
from tacholog.view.results import ResultRow

MARK = "two_groups"
# Of the value below the gap. Of rows of six runs, 1 % show a gap that chance made if runs vary by 5 %, and 10 % if by 10 %; of 12 runs 0.1 % and 1 %.
LEAST_GAP = 0.1
_SURELY_NO_GAP = (1 + LEAST_GAP) * (1 - 1e-9)  # whatever the last place of a logarithm is
_LEAST_STEPS = 2  # of the last printed place: fewer may be rounding
_NOT_RANKED = ("std",)


class RunGroup(msgspec.Struct, frozen=True):
    """One of two groups of runs: the run whose value stands for it, the lowest and the highest value, and how many runs are in it."""

    result: ResultRow
    value: float
    low: float
    high: float
    runs: int


def two_groups(results: Sequence[ResultRow]) -> tuple[RunGroup, ...]:
    """Return the two groups that the runs of one number fall into, the lower values first; nothing where they are one group.

    Args:
        results: numbers of one metric and one statistic, one or more a run.
    """
    if len(results) < MIN_RUNS or not may_have_groups(results[0].metric, results[0].statistic):
        return ()
    found = [(result.value, result) for result in results if result.value is not None and result.value > 0 and result.bound == "="]
    if len(found) < len(results):
        return ()
    found.sort(key=lambda one: one[0])
    split = _split(tuple(value for value, _ in found))
    if split is None:
        return ()
    steps = [result.resolution for _, result in found if result.resolution is not None]
    if found[split][0] - found[split - 1][0] <= _LEAST_STEPS * max(steps, default=0.0):
        return ()
    return tuple(_group([result for _, result in part], [value for value, _ in part]) for part in (found[:split], found[split:]))


def may_have_groups(metric: str, statistic: str) -> bool:
    """Whether groups are looked for in such numbers: those that are neither better nor worse are no reason to choose."""
    return METRICS[metric].better is not None and statistic not in _NOT_RANKED


@lru_cache(maxsize=1 << 16)
def _split(values: tuple[float, ...]) -> int | None:
    """Return how many of the sorted values are in the lower group. A page asks for the same cells many times, and in most no gap is wide enough."""
    inner = range(MIN_CLUSTER - 1, len(values) - MIN_CLUSTER)
    if all(values[place + 1] <= values[place] * _SURELY_NO_GAP for place in inner):
        return None
    return cluster_split(values, log(1 + LEAST_GAP))


def _group(results: Sequence[ResultRow], values: Sequence[float]) -> RunGroup:
    place = median_place(values, results[0].metric)
    return RunGroup(results[place], values[place], values[0], values[-1], len({result.run.run for result in results}))
