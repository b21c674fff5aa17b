"""Whose value it is: comparisons and histories keep the values of the runs that a row rests on, and other runs can have an equal one by chance."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Sequence

from tacholog.runs.labels import CONTROL, labels_of
from tacholog.view.results import ResultRow


def is_of_control(one: ResultRow) -> bool:
    """Whether a number is of a control, whose rows have the names of those that they stand beside."""
    return CONTROL in labels_of(one.run.labels)


def of_these_runs(there: Iterable[ResultRow], value: float, values: Sequence[float]) -> list[ResultRow]:
    """Return the numbers that have a value, of runs that were made together and have all ``values`` of the row; all that have it, if none do."""
    groups: dict[Hashable, list[ResultRow]] = {}
    for one in there:
        if one.value is not None:
            groups.setdefault((one.run.host, one.run.campaign, one.run.release, is_of_control(one), one.conditions), []).append(one)
    found = [(group, one) for group in groups.values() for one in group if one.value is not None and math.isclose(one.value, value)]
    whole = {id(group) for group, _ in found if _has_all(group, values)}
    return [one for group, one in found if id(group) in whole] or [one for _, one in found]


def _has_all(group: Sequence[ResultRow], values: Sequence[float]) -> bool:
    have = sorted(one.value for one in group if one.value is not None)
    for value in sorted(values):
        place = bisect_left(have, value * (1 - 1e-9))
        if place == len(have) or not math.isclose(have[place], value):
            return False
        del have[place]
    return True
