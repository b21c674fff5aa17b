"""What was lost on either side. Shares of which most are zero have no ratios: they are shown run by run, and not tested."""

from __future__ import annotations

import numpy as np

from tacholog.diff.keys import keys_of
from tacholog.diff.match import NONE, Pairs
from tacholog.diff.numbers import Floats, Numbers
from tacholog.diff.policy import Policy
from tacholog.diff.result import Loss, LossSide
from tacholog.diff.rows import either, natural

_METRIC = "loss"


def losses(data: Numbers, pairs: Pairs, policy: Policy) -> tuple[tuple[Loss, ...], int]:
    """Return the rows in which a run lost something, in the order of their names, and how many there are in which none did.

    Args:
        data: both sides' numbers.
        pairs: the cells that stand against each other, tested or not.
        policy: which metrics are asked for.
    """
    metric = data.columns["metric"]
    if _METRIC not in metric.words or (policy.metrics and not any(word.partition(":")[0] == _METRIC for word in policy.metrics)):
        return (), 0
    cell = either(pairs)
    stated = np.where(pairs.old != NONE, data.cells.values[pairs.old], 0) + np.where(pairs.new != NONE, data.cells.values[pairs.new], 0) > 0
    places = np.flatnonzero(stated & (metric.codes[cell] == metric.words.index(_METRIC) + 1))
    most = np.append(_most(data), 0.0)  # the last one is that of a side that is not there
    lossy = places[np.maximum(most[pairs.old[places]], most[pairs.new[places]]) > 0]
    lossy = lossy[np.lexsort(tuple(natural(data, cell[lossy])))]
    sides = ([_side(_values(data, found)) for found in side[lossy]] for side in pairs)
    rows = zip(keys_of(data, cell[lossy], policy), *sides, strict=True)
    return tuple(Loss(key=key, old=old, new=new) for key, old, new in rows), len(places) - len(lossy)


def _most(data: Numbers) -> Floats:
    """The largest value of each cell; 0 where there is none."""
    most = np.zeros(len(data.cells.values))
    filled = np.flatnonzero(data.cells.values)
    if len(filled):
        most[filled] = np.maximum.reduceat(data.entries.value, data.cells.first[filled])
    return most


def _values(data: Numbers, cell: np.int64) -> Floats:
    """One share a run of a cell; none where there is no cell."""
    if cell == NONE:
        return data.entries.value[:0]
    first = data.cells.first[cell]
    return data.entries.value[first : first + data.cells.values[cell]]


def _side(shares: Floats) -> LossSide | None:
    if not len(shares):
        return None
    return LossSide(runs=len(shares), lossy=int((shares > 0).sum()), median=float(np.median(shares)), most=float(shares.max()))
