"""Code or host? What the controls say: rows that no release changes, measured beside the others.

Controls that moved show that the host changed. How much that explains of other rows is estimated from how much the controls moved, and how
differently: a row is called better or worse only if it lies outside of what one more row may do with a probability of 95 %, for all rows together.
Nothing is divided by a control: the host need not have the same effect on every row.

Whether the controls moved is tested jointly, all of them and their mean: by pairs, by sessions, or by the runs of two blocks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from tacholog.compare.diff.cells import CellPairs, Flags, Floats, Integers, Numbers, by_word
from tacholog.compare.diff.estimate import Estimates
from tacholog.compare.diff.rows import RowArrays
from tacholog.compare.diff.verdict import CODE, REASON, Verdicts, lower_is_better
from tacholog.compare.policy import MIN_RUNS, band_of
from tacholog.compare.power import least_p
from tacholog.compare.result import VERDICTS, ComparisonRow, ControlLayout, Controls, Loss, RunOrder
from tacholog.compare.statistics import (
    PairedRows,
    SplitRows,
    by_largest,
    by_largest_of_splits,
    splits_of,
    student_t_two_sided_quantile,
    unpaired_shift,
)
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
    column = data.stated.get(CONTROL)
    return np.zeros(len(cell), bool) if column is None else column.notna()[cell]


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
    centre = by_word(data.stated["statistic"], lambda word: band_of(word) == "centre", unknown=False)[np.maximum(pairs.old, 0)]
    worse = np.where(lower_is_better(data, pairs), 1.0, -1.0)
    tested = moved(data, pairs, found, centre, order, worse)
    return _judged(tested, others) if tested else None


def _judged(tested: ControlTest, others: int) -> HostChange:
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


def controls_of(change: HostChange | None, rows: tuple[ComparisonRow, ...], findings: RowArrays) -> Controls:
    """The controls as the report has them, once the verdicts of all other rows are known."""
    judged = [row for row in rows if row.old and row.new]
    if change is None:
        return Controls(rows=rows)
    used = {row.key.transport for row in judged}
    called = np.isin(findings.verdicts.verdict, [CODE["worse"], CODE["better"]])
    of_called = {*findings.data.said("transport", findings.pairs.new[called])}
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


class ControlTest(NamedTuple):
    """What the test found: the rows that were judged, the shift of each with its standard error, and the p-value of all together.

    Shifts are logarithms; positive is worse. ``least`` is the smallest p-value that the layout allows.
    """

    rows: Integers
    shift: Floats
    error: Floats
    p: float
    least: float
    layout: ControlLayout


class _Runs(NamedTuple):
    """The runs of both sides, or their sessions: how many there are, and the values of each row by the number of the run, old ones first."""

    olds: int
    news: int
    values: list[dict[int, float]]


def moved(data: Numbers, pairs: CellPairs, found: Estimates, centre: Flags, order: Sequence[RunOrder], worse: Floats) -> ControlTest | None:
    """Test the controls as their layout allows; ``None`` if none of them can be tested.

    Args:
        data: both sides' numbers.
        pairs: the controls.
        found: their estimates.
        centre: which of them are medians, means or rates.
        order: when the runs were made.
        worse: 1 where larger values are worse, and -1 elsewhere.
    """
    paired = np.flatnonzero(found.tested & found.paired & centre)
    if len(paired):
        return _by_pairs(found, paired, worse)
    rows = np.flatnonzero((found.design >= 0) & centre)
    take_turns = bool(found.tested[rows].all())
    return _by_splits(_runs_of(data, pairs, rows, order), rows, worse[rows], "sessions" if take_turns else "blocks") if len(rows) else None


def _by_pairs(found: Estimates, rows: Integers, worse: Floats) -> ControlTest:
    """By flips of the pairs."""
    batches, means, total = [], [], len(found.tested)
    for batch in found.in_pairs:
        part = np.isin(batch.rows, rows)
        differences, pairs = batch.differences[part] * worse[batch.rows[part], None], batch.pairs[part]
        batches.append(PairedRows(batch.rows[part], differences, pairs))
        means += _means(differences, pairs)
    batches += [PairedRows(np.array([total + index]), *mean) for index, mean in enumerate(means)]
    p = np.nanmin(by_largest(batches, total + len(means)))
    shift, error = found.shift.estimate[rows] * worse[rows], found.deviation[rows] / np.sqrt(found.groups[rows, 0])
    return ControlTest(rows, shift, error, float(p), least_p(int(found.groups[rows].max()), 0, paired=True), "pairs")


def _by_splits(runs: _Runs, rows: Integers, worse: Floats, layout: ControlLayout) -> ControlTest:
    """By splits of the runs, or of the sessions, into sides of the same sizes."""
    by_count: dict[int, list[int]] = defaultdict(list)
    for row, of_row in enumerate(runs.values):
        by_count[len(of_row)].append(row)
    batches, means, total = [], [], len(runs.values)
    for members in by_count.values():
        numbers = np.array([list(runs.values[row]) for row in members])
        values = np.array([list(runs.values[row].values()) for row in members]) * worse[members, None]
        batches.append(SplitRows(np.array(members), values, numbers))
        means += _means(values - values.mean(axis=1, keepdims=True), numbers)
    batches += [SplitRows(np.array([total + index]), *mean) for index, mean in enumerate(means)]
    p = np.nanmin(by_largest_of_splits(batches, runs.olds, total + len(means)))
    shift, error = np.array([_shift(of_row, runs.olds) for of_row in runs.values]).T
    return ControlTest(rows, shift * worse, error, float(p), 1 / splits_of(runs.olds, runs.news), layout)


def _means(values: Floats, runs: Integers) -> list[tuple[Floats, Integers]]:
    """The means of rows that share their runs, with the numbers of these runs, shape (1, runs) each.

    Each row counts as much as any other, however noisy it is: its squares add up to 1, and no relabelling of the runs changes their sum.
    """
    size = np.sqrt((values**2).sum(axis=1, keepdims=True))
    scaled = np.divide(values, size, out=np.zeros_like(values), where=size > 0)
    shared: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for row, numbers in enumerate(runs.tolist()):
        shared[tuple(numbers)].append(row)
    return [(scaled[rows].mean(axis=0)[None], np.array([numbers])) for numbers, rows in shared.items() if len(rows) > 1]


def _shift(values: dict[int, float], olds: int) -> tuple[float, float]:
    """The shift of a control between both sides, and its standard error."""
    old, new = (np.array([[value for number, value in values.items() if (number >= olds) == side]]) for side in (False, True))
    error = np.sqrt(sum(float(side.var(ddof=1)) / side.shape[1] for side in (old, new)))
    return float(unpaired_shift(old, new).estimate[0]), float(error)


def _runs_of(data: Numbers, pairs: CellPairs, rows: Integers, order: Sequence[RunOrder]) -> _Runs:
    """The runs of these rows. Rows share a run of the same session and repetition. Where there are enough sessions, these stand for their runs."""
    cells, entries = data.cells, data.entries
    found: list[list[tuple[RunOrder, float]]] = []
    for row in rows.tolist():
        places = [np.arange(cells.runs[cell]) + cells.first[cell] for cell in (pairs.old[row], pairs.new[row])]
        found.append([(order[entries.run[place]], float(np.log(entries.value[place]))) for place in np.concatenate(places).tolist()])
    by_session = all(_has_sessions(runs) for runs in found)
    named = [_named(runs, by_session=by_session) for runs in found]
    names = sorted({name for row in named for name in row})
    number = {name: index for index, name in enumerate(names)}
    values = [{number[name]: float(np.median(row[name])) for name in sorted(row)} for row in named]
    news = sum(is_new for is_new, *_ in names)
    return _Runs(len(names) - news, news, values)


def _has_sessions(runs: Sequence[tuple[RunOrder, float]]) -> bool:
    """Whether either side has enough sessions to compare these, and no run without one."""
    sessions = {side: {run.session for run, _ in runs if run.side == side} for side in ("old", "new")}
    return all(None not in names and len(names) >= MIN_RUNS for names in sessions.values())


def _named(runs: Sequence[tuple[RunOrder, float]], *, by_session: bool) -> dict[tuple[bool, str, int, int], list[float]]:
    """The values of a row by side, session, repetition, and place among runs of the same name, of which all count as one if sessions do."""
    found: dict[tuple[bool, str, int, int], list[float]] = defaultdict(list)
    seen: Counter[tuple[bool, str, int]] = Counter()
    for run, value in runs:
        name = run.side == "new", run.session or "", 0 if by_session else run.repetition or 0
        seen[name] += 1
        found[(*name, 0 if by_session else seen[name])].append(value)
    return found
