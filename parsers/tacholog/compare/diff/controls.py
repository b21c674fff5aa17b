"""Code or host? What the controls say: rows that no release changes, measured beside the others.

Controls that moved show that the host changed. How much that explains of other rows is estimated from how much the controls moved, and how
differently: a row is called better or worse only if it lies outside of what one more row may do with a probability of 95 %, for all rows together.
Nothing is divided by a control: the host need not have the same effect on every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from tacholog.compare.diff.control_tests import Moved, moved
from tacholog.compare.diff.estimate import Estimates
from tacholog.compare.diff.match import CellPairs
from tacholog.compare.diff.numbers import Flags, Floats, Integers, Numbers
from tacholog.compare.diff.rows import Findings
from tacholog.compare.diff.verdict import CODE, REASON, Verdicts, lower_is_better
from tacholog.compare.distributions import student_t_two_sided_quantile
from tacholog.compare.policy import band_of
from tacholog.compare.result import VERDICTS, ControlLayout, Controls, DiffRow, Loss, RunOrder
from tacholog.runs.labels import CONTROL

_LEVEL = 0.03  # of the test of the controls: chosen by simulation, see tests/diff/test_controls.py
_LEAST = 2  # controls that it takes to tell how differently rows move


class HostChange(NamedTuple):
    """What the controls show. Shifts are logarithms; positive is worse.

    ``rows`` are the places of the controls that were judged, ``shift`` that of each, ``p`` the p-value of all together. ``low`` and ``high`` are the
    range of shifts of other rows that the host explains, empty if the controls did not move. ``alone`` is that range for a row alone, also if they
    did not move: so much they may have missed. ``layout`` says what was compared.
    """

    rows: Integers
    shift: Floats
    moved: bool
    p: float
    mean: float
    low: float
    high: float
    alone: tuple[float, float]
    layout: ControlLayout


def is_control(data: Numbers, pairs: CellPairs) -> Flags:
    """Which pairs of cells are controls: those whose runs have the label."""
    return are_controls(data, np.where(pairs.old >= 0, pairs.old, pairs.new))


def are_controls(data: Numbers, cell: Integers) -> Flags:
    """Which of these cells are of controls."""
    column = data.columns.get(CONTROL)
    return np.zeros(len(cell), bool) if column is None else np.asarray(column.codes[cell] > 0)


def chosen(pairs: CellPairs, which: Flags) -> CellPairs:
    """These of the pairs."""
    return CellPairs(pairs.old[which], pairs.new[which])


def host_change(data: Numbers, pairs: CellPairs, found: Estimates, others: int, order: Sequence[RunOrder]) -> HostChange | None:
    """Judge the controls; ``None`` if none of them can be judged.

    Medians, means and rates are judged, because percentiles beyond vary too much. Controls need no layout that excludes time as the reason: if time
    is the reason why they moved, the host changed with it.

    Args:
        data: both sides' numbers.
        pairs: the controls.
        found: their estimates.
        others: how many rows are judged beside them.
        order: when the runs were made.
    """
    statistic = data.columns["statistic"]
    centre = np.array([False, *(band_of(word) == "centre" for word in statistic.words)])[statistic.codes[np.maximum(pairs.old, 0)]]
    worse = np.where(lower_is_better(data, pairs), 1.0, -1.0)
    tested = moved(data, pairs, found, centre, order, worse)
    return _judged(tested, others) if tested else None


def _judged(tested: Moved, others: int) -> HostChange:
    """What shifts of other rows the host explains: those of one more row of the same kind, for all rows together, and for a row alone."""
    shift, mean = tested.shift, float(tested.shift.mean())
    moved = tested.p <= max(_LEVEL, tested.least)
    ranges = [_range(shift, tested.error, mean, rows) for rows in (max(others, 1), 1)]
    low, high = ranges[0] if moved else (0.0, 0.0)
    return HostChange(tested.rows, shift, moved=moved, p=tested.p, mean=mean, low=low, high=high, alone=ranges[1], layout=tested.layout)


def _range(shift: Floats, error: Floats, mean: float, rows: int) -> tuple[float, float]:
    """Where one more row lies with a probability of 95 %, and so many rows together; one control does not tell how differently rows move."""
    count = len(shift)
    if count < _LEAST:
        return -np.inf, np.inf
    scatter = max(float(shift.std(ddof=1)), float(np.median(error)))
    quantile = student_t_two_sided_quantile(np.array([0.05 / rows]), count - 1)[0]
    width = float(quantile * scatter * np.sqrt(1 + 1 / count))
    return min(mean - width, 0.0), max(mean + width, 0.0)


def controls_of(change: HostChange | None, rows: tuple[DiffRow, ...], findings: Findings) -> Controls:
    """The controls as the report has them, once the verdicts of all other rows are known."""
    judged = [row for row in rows if row.old and row.new]
    if change is None:
        return Controls(rows=rows)
    used = {row.key.transport for row in judged}
    transport = findings.data.columns["transport"]
    called = np.isin(findings.verdicts.verdict, [CODE["worse"], CODE["better"]])
    of_called = {transport.at(int(cell)) for cell in findings.pairs.new[called]}
    low, high, *alone = (float(np.expm1(end)) if np.isfinite(end) else None for end in (change.low, change.high, *change.alone))
    return Controls(
        rows=rows,
        moved=change.moved,
        judged=len(change.rows),
        p=change.p,
        change=float(np.expm1(change.mean)),
        layout=change.layout,
        explains=(low, high) if change.moved else None,
        alone=(alone[0], alone[1]),
        uncovered=tuple(sorted(name for name in of_called - used if name)),
    )


def within_host(verdicts: Verdicts, found: Estimates, lower: Flags, change: HostChange) -> None:
    """Take the verdict from rows that are better or worse by no more than what the host explains."""
    shift = found.shift.estimate * np.where(lower, 1.0, -1.0)
    called = np.isin(verdicts.verdict, [CODE["worse"], CODE["better"]])
    explained = called & (shift >= change.low) & (shift <= change.high)
    verdicts.verdict[explained] = CODE["inconclusive"]
    verdicts.reason[explained] = REASON["host_changed"]


def losses_within_host(losses: tuple[Loss, ...]) -> tuple[Loss, ...]:
    """Take the verdict from loss that is worse or better while the host changed: how much the host explains of it, times and rates cannot tell."""
    found = (replace(one, verdict="inconclusive", reasons=("host_changed",)) if one.verdict in ("worse", "better") else one for one in losses)
    return tuple(sorted(found, key=lambda one: VERDICTS.index(one.verdict)))
