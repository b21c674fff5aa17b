"""Code or host? What the controls say: rows that no release changes, measured beside the others.

Controls that moved show that the host changed. How much that explains of other rows is estimated from how much the controls moved, and how
differently: a row is called better or worse only if it lies outside of what one more row may do with a probability of 95 %, for all rows together.
Nothing is divided by a control: the host need not have the same effect on every row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacholog.compare.detection import least_p
from tacholog.compare.diff.estimate import Estimates
from tacholog.compare.diff.match import CellPairs
from tacholog.compare.diff.numbers import Flags, Floats, Integers, Numbers
from tacholog.compare.diff.rows import Findings
from tacholog.compare.diff.verdict import CODE, REASON, Verdicts, lower_is_better
from tacholog.compare.distributions import student_t_two_sided_quantile
from tacholog.compare.jointly import PairedRows, by_largest
from tacholog.compare.policy import MIN_RUNS, band_of
from tacholog.compare.result import Controls, DiffRow
from tacholog.compare.statistics import adjusted_each, unpaired_shift
from tacholog.runs.labels import CONTROL

_LEVEL = 0.03  # of the test of the controls: chosen by simulation, see tests/diff/test_controls.py
_LEAST = 2  # controls that it takes to tell how differently rows move


class HostChange(NamedTuple):
    """What the controls show. Shifts are logarithms; positive is worse.

    ``rows`` are the places of the controls that were judged, ``shift`` that of each, ``p`` the p-value of all together. ``low`` and ``high`` are the
    range of shifts of other rows that the host explains, empty if the controls did not move.
    """

    rows: Integers
    shift: Floats
    moved: bool
    p: float
    mean: float
    low: float
    high: float


def is_control(data: Numbers, pairs: CellPairs) -> Flags:
    """Which pairs of cells are controls: those whose runs have the label."""
    column = data.columns.get(CONTROL)
    if column is None:
        return np.zeros(len(pairs.old), bool)
    cell = np.where(pairs.old >= 0, pairs.old, pairs.new)
    return np.asarray(column.codes[cell] > 0)


def chosen(pairs: CellPairs, which: Flags) -> CellPairs:
    """These of the pairs."""
    return CellPairs(pairs.old[which], pairs.new[which])


def host_change(data: Numbers, pairs: CellPairs, found: Estimates, others: int) -> HostChange | None:
    """Judge the controls; ``None`` if none of them can be judged.

    Medians, means and rates are judged, because percentiles beyond vary too much. Controls need no layout that excludes time as the reason: if time
    is the reason why they moved, the host changed with it.

    Args:
        data: both sides' numbers.
        pairs: the controls.
        found: their estimates.
        others: how many rows are judged beside them.
    """
    statistic = data.columns["statistic"]
    centre = np.array([False, *(band_of(word) == "centre" for word in statistic.words)])[statistic.codes[np.maximum(pairs.old, 0)]]
    rows = np.flatnonzero(found.tested & found.paired & centre)
    worse = np.where(lower_is_better(data, pairs), 1.0, -1.0)
    if len(rows):
        p = _p_of_pairs(found, rows, worse)
        least = least_p(int(found.groups[rows].max()), 0, paired=True)
        shift, error = found.shift.estimate[rows], found.deviation[rows] / np.sqrt(found.groups[rows, 0])
    else:
        enough = np.minimum(data.cells.values[pairs.old], data.cells.values[pairs.new]) >= MIN_RUNS
        rows = np.flatnonzero(centre & pairs.both & enough & (np.fmin(data.cells.median[pairs.old], data.cells.median[pairs.new]) > 0))
        if not len(rows):
            return None
        shift, error, every = _by_runs(data, chosen(pairs, np.isin(np.arange(len(centre)), rows)))
        p, least = float(adjusted_each(every).min()), 0.0
    return _judged(rows, shift * worse[rows], error, p, (max(_LEVEL, least), others))


def _p_of_pairs(found: Estimates, rows: Integers, worse: Floats) -> float:
    """The p-value of the largest of all controls and of their mean, by flips of the pairs."""
    batches = []
    for batch in found.in_pairs:
        part = np.isin(batch.rows, rows)
        differences, numbers = batch.differences[part] * worse[batch.rows[part], None], batch.pairs[part]
        batches.append(PairedRows(batch.rows[part], differences, numbers))
        if len(numbers) > 1 and (numbers == numbers[0]).all():
            batches.append(PairedRows(np.array([len(found.tested)]), differences.mean(axis=0, keepdims=True), numbers[:1]))
    return float(np.nanmin(by_largest(batches, len(found.tested) + 1)))


def _by_runs(data: Numbers, pairs: CellPairs) -> tuple[Floats, Floats, Floats]:
    """The shift of each control between all runs of both sides, its standard error, and its p-value."""
    columns: list[tuple[float, float, float]] = []
    entries, cells = data.entries, data.cells
    for old, new in zip(pairs.old.tolist(), pairs.new.tolist(), strict=True):
        sides = [np.log(entries.value[cells.first[cell] : cells.first[cell] + cells.values[cell]])[None] for cell in (old, new)]
        shift = unpaired_shift(sides[0], sides[1])
        error = np.sqrt(sum(float(side.var(ddof=1)) / side.shape[1] for side in sides))
        columns.append((float(shift.estimate[0]), float(error), float(shift.p[0])))
    estimate, error_of_each, p = np.array(columns).T
    return estimate, error_of_each, p


def _judged(rows: Integers, shift: Floats, error: Floats, p: float, limits: tuple[float, int]) -> HostChange:
    """What shifts of other rows the host explains: those of one more row of the same kind, for all rows together."""
    (level, others), count = limits, len(rows)
    mean = float(shift.mean())
    if p > level:
        return HostChange(rows, shift, moved=False, p=p, mean=mean, low=0.0, high=0.0)
    if count < _LEAST:
        return HostChange(rows, shift, moved=True, p=p, mean=mean, low=-np.inf, high=np.inf)
    scatter = max(float(shift.std(ddof=1)), float(np.median(error)))
    quantile = student_t_two_sided_quantile(np.array([0.05 / max(others, 1)]), count - 1)[0]
    width = float(quantile * scatter * np.sqrt(1 + 1 / count))
    return HostChange(rows, shift, moved=True, p=p, mean=mean, low=min(mean - width, 0.0), high=max(mean + width, 0.0))


def controls_of(change: HostChange | None, rows: tuple[DiffRow, ...], findings: Findings) -> Controls:
    """The controls as the report has them, once the verdicts of all other rows are known."""
    judged = [row for row in rows if row.old and row.new]
    if change is None:
        return Controls(rows=rows)
    used = {row.key.transport for row in judged}
    transport = findings.data.columns["transport"]
    called = np.isin(findings.verdicts.verdict, [CODE["worse"], CODE["better"]])
    of_called = {transport.at(int(cell)) for cell in findings.pairs.new[called]}
    ends = tuple(float(np.expm1(end)) if np.isfinite(end) else None for end in (change.low, change.high))
    return Controls(
        rows=rows,
        moved=change.moved,
        p=change.p,
        change=float(np.expm1(change.mean)),
        explains=(ends[0], ends[1]) if change.moved else None,
        uncovered=tuple(sorted(name for name in of_called - used if name)),
    )


def within_host(verdicts: Verdicts, found: Estimates, lower: Flags, change: HostChange) -> None:
    """Take the verdict from rows that are better or worse by no more than what the host explains."""
    shift = found.shift.estimate * np.where(lower, 1.0, -1.0)
    called = np.isin(verdicts.verdict, [CODE["worse"], CODE["better"]])
    explained = called & (shift >= change.low) & (shift <= change.high)
    verdicts.verdict[explained] = CODE["inconclusive"]
    verdicts.reason[explained] = REASON["host_changed"]
