"""Controls: rows that no release changes, measured together with the other rows. They show whether the release or the host caused a change.

If controls moved, the host changed. The mean and the scatter of their shifts predict the shift of one more control. A row is called better or worse
only if its shift is outside this prediction interval, because the host may explain any shift within it. The interval has a probability of 95 % for
all rows together. No value is divided by the value of a control, because the host may have a different effect on each row.

One test decides whether the controls moved. It tests all controls and the mean of the controls together. It compares pairs, sessions, or the runs of
two blocks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from tacholog.compare.diff.cells import CellTable, Flags, Floats, Integers, by_word
from tacholog.compare.diff.estimate import Estimates
from tacholog.compare.diff.verdict import CODE, REASON, RowArrays
from tacholog.compare.policy import MIN_RUNS, band_of
from tacholog.compare.power import least_p
from tacholog.compare.result import VERDICTS, ComparisonRow, ControlLayout, Controls, Loss, RunOrder
from tacholog.compare.statistics import (
    SharedRows,
    by_largest,
    splits_of,
    student_t_two_sided_quantile,
    unpaired_shift,
)
from tacholog.runs.labels import CONTROL

_LEVEL = 0.03  # the significance level of the test of the controls; chosen by simulation, see tests/diff/test_controls.py
_LEAST = 2  # the least number of controls that shows the scatter of the shifts


class ControlTest(NamedTuple):
    """The result of the test: the judged rows, the shift of each row with its standard error, and the p-value of all rows together.

    Shifts are logarithms; positive is worse. ``least_p`` is the smallest p-value that is possible in this layout.
    """

    rows: Integers
    shift: Floats
    error: Floats
    p: float
    least_p: float
    layout: ControlLayout


class HostChange(NamedTuple):
    """The change of the host, as the controls show it. Shifts are logarithms; positive is worse.

    Attributes:
        test: the test of the controls.
        has_moved: whether the controls moved.
        mean: the mean shift of the controls.
        low: the lower end of a range of shifts. The change of the host may explain the shift of a row that is no control if the shift is in this
            range. The range is empty if the controls did not move.
        high: the upper end of this range.
        alone: the range for a single row. It is present even if the controls did not move, because they may have missed a change of this size.
    """

    test: ControlTest
    has_moved: bool
    mean: float
    low: float
    high: float
    alone: tuple[float, float]


def are_controls(cells: CellTable, cell: Integers) -> Flags:
    """Whether each of these cells is a control, by the label of its runs."""
    column = cells.columns.get(CONTROL)
    return np.zeros(len(cell), bool) if column is None else column.notna()[cell]


def host_change(controls: RowArrays, others: int, order: Sequence[RunOrder]) -> HostChange | None:
    """Judge the controls; return ``None`` if no control can be judged.

    Only medians, means and rates are judged, because high percentiles vary too much. Controls are judged even if their sides did not take turns: if
    controls change with time, the host changed with time.

    Args:
        controls: the results of the controls.
        others: the number of other judged rows.
        order: the runs, with their times.
    """
    test = _test_by_layout(controls, order)
    if test is None:
        return None
    mean, has_moved = float(test.shift.mean()), test.p <= max(_LEVEL, test.least_p)
    # Two prediction intervals for the shift of one more control: the first holds for all rows together, the second for a single row.
    together, alone = (_prediction_range(test.shift, test.error, mean, rows) for rows in (max(others, 1), 1))
    return HostChange(test, has_moved, mean, *(together if has_moved else (0.0, 0.0)), alone)


def _prediction_range(shift: Floats, error: Floats, mean: float, rows: int) -> tuple[float, float]:
    """Return a range for the shifts of further controls. All shifts of ``rows`` further controls are in this range with a probability of 95 %."""
    count = len(shift)
    if count < _LEAST:
        return -np.inf, np.inf  # one control shows no scatter
    scatter = max(float(shift.std(ddof=1)), float(np.median(error)))
    quantile = student_t_two_sided_quantile(np.array([0.05 / rows]), count - 1)[0]
    width = float(quantile * scatter * np.sqrt(1 + 1 / count))
    return min(mean - width, 0.0), max(mean + width, 0.0)


def controls_of(change: HostChange | None, rows: tuple[ComparisonRow, ...], others: RowArrays) -> Controls:
    """Return the controls of the comparison. Call this after the verdicts of all ``others`` are decided."""
    if change is None:
        return Controls(rows=rows)
    used = {row.key.transport for row in rows if row.old and row.new}
    called = np.isin(others.verdict, [CODE["worse"], CODE["better"]])
    transports = {*others.cells.column("transport", others.pairs.new[called])}
    low, high, *alone = (float(np.expm1(end)) if np.isfinite(end) else None for end in (change.low, change.high, *change.alone))
    return Controls(
        rows=rows,
        moved=change.has_moved,
        judged=len(change.test.rows),
        p=change.test.p,
        change=float(np.expm1(change.mean)),
        layout=change.test.layout,
        explains=(low, high) if change.has_moved else None,
        alone=(alone[0], alone[1]),
        uncovered=tuple(sorted(name for name in transports - used if name)),
    )


def within_host(rows: RowArrays, change: HostChange) -> None:
    """Withdraw the verdict "better" or "worse" of a row if the host explains the change of this row."""
    shift = rows.estimates.shift.estimate * np.where(rows.lower_is_better, 1.0, -1.0)
    called = np.isin(rows.verdict, [CODE["worse"], CODE["better"]])
    explained = called & (shift >= change.low) & (shift <= change.high)
    rows.verdict[explained] = CODE["inconclusive"]
    rows.reason[explained] = REASON["host_changed"]


def losses_within_host(losses: tuple[Loss, ...]) -> tuple[Loss, ...]:
    """Return the rows of loss without the verdicts "worse" and "better", for a host that changed.

    Controls show how the host changed latencies and rates, but not how it changed loss.
    """
    rows = (replace(loss, verdict="inconclusive", reasons=("host_changed",)) if loss.verdict in ("worse", "better") else loss for loss in losses)
    return tuple(sorted(rows, key=lambda loss: VERDICTS.index(loss.verdict)))


class _RunValues(NamedTuple):
    """The values of each row, by the number of the run (or session).

    The old side has ``olds`` runs, which have the lowest numbers. The new side has ``news`` runs.
    """

    olds: int
    news: int
    values: list[dict[int, float]]


def _test_by_layout(controls: RowArrays, order: Sequence[RunOrder]) -> ControlTest | None:
    """Test whether the controls moved, in pairs if possible. Return ``None`` if no median, mean or rate of the controls can be tested."""
    estimates, old = controls.estimates, np.maximum(controls.pairs.old, 0)
    centre = by_word(controls.cells.columns["statistic"], lambda word: band_of(word) == "centre", unknown=False)[old]
    worse = np.where(controls.lower_is_better, 1.0, -1.0)  # 1: a positive shift is worse; -1: it is better
    paired = np.flatnonzero(estimates.tested & estimates.paired & centre)
    if len(paired):
        return _test_by_pairs(estimates, paired, worse)
    rows = np.flatnonzero((estimates.design >= 0) & centre)
    take_turns = bool(estimates.tested[rows].all())
    return _test_by_splits(_run_values(controls, rows, order), rows, worse[rows], "sessions" if take_turns else "blocks") if len(rows) else None


def _test_by_pairs(estimates: Estimates, rows: Integers, worse: Floats) -> ControlTest:
    batches, means, total = [], [], len(estimates.tested)
    for batch in estimates.in_pairs:
        part = np.isin(batch.rows, rows)
        differences, pairs = batch.values[part] * worse[batch.rows[part], None], batch.numbers[part]
        batches.append(SharedRows(batch.rows[part], differences, pairs))
        means += _means_over_rows(differences, pairs)
    batches += [SharedRows(np.array([total + index]), *mean) for index, mean in enumerate(means)]
    p = np.nanmin(by_largest(batches, total + len(means)))
    shift, error = estimates.shift.estimate[rows] * worse[rows], estimates.deviation[rows] / np.sqrt(estimates.groups[rows, 0])
    return ControlTest(rows, shift, error, float(p), least_p(int(estimates.groups[rows].max()), 0, paired=True), "pairs")


def _test_by_splits(runs: _RunValues, rows: Integers, worse: Floats, layout: ControlLayout) -> ControlTest:
    by_count: dict[int, list[int]] = defaultdict(list)
    for row, values_of_row in enumerate(runs.values):
        by_count[len(values_of_row)].append(row)
    batches, means, total = [], [], len(runs.values)
    for members in by_count.values():
        numbers = np.array([list(runs.values[row]) for row in members])
        values = np.array([list(runs.values[row].values()) for row in members]) * worse[members, None]
        batches.append(SharedRows(np.array(members), values, numbers))
        means += _means_over_rows(values - values.mean(axis=1, keepdims=True), numbers)
    batches += [SharedRows(np.array([total + index]), *mean) for index, mean in enumerate(means)]
    p = np.nanmin(by_largest(batches, total + len(means), runs.olds))
    shift, error = np.array([_shift_and_error(values_of_row, runs.olds) for values_of_row in runs.values]).T
    return ControlTest(rows, shift * worse, error, float(p), 1 / splits_of(runs.olds, runs.news), layout)


def _means_over_rows(values: Floats, runs: Integers) -> list[tuple[Floats, Integers]]:
    """Return the means of the rows that have the same runs.

    The list has one entry for each set of runs that several rows have: the means over these rows, and the numbers of the runs. Both arrays have the
    shape (1, runs).

    First, each row is divided by a factor, so that the sum of its squares is 1. So all rows have the same weight, even noisy rows. This sum does not
    change if runs are exchanged between the sides.
    """
    size = np.sqrt((values**2).sum(axis=1, keepdims=True))
    scaled = np.divide(values, size, out=np.zeros_like(values), where=size > 0)
    shared: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for row, numbers in enumerate(runs.tolist()):
        shared[tuple(numbers)].append(row)
    return [(scaled[rows].mean(axis=0)[None], np.array([numbers])) for numbers, rows in shared.items() if len(rows) > 1]


def _shift_and_error(values: dict[int, float], olds: int) -> tuple[float, float]:
    old, new = (np.array([[value for number, value in values.items() if (number >= olds) == is_new]]) for is_new in (False, True))
    error = np.sqrt(sum(float(side.var(ddof=1)) / side.shape[1] for side in (old, new)))
    return float(unpaired_shift(old, new).estimate[0]), float(error)


def _run_values(controls: RowArrays, rows: Integers, order: Sequence[RunOrder]) -> _RunValues:
    """Return the values of each row, by the number of the run.

    Runs of different rows get the same number if they have the same session and repetition. If all rows have enough sessions, sessions take the place
    of runs: the value of a session is the median of its runs.
    """
    cells = controls.cells
    runs_of_rows: list[list[tuple[RunOrder, float]]] = []
    for row in rows.tolist():
        spans = [cells.span(cell) for cell in (controls.pairs.old[row], controls.pairs.new[row])]
        runs_of_rows.append(
            [(order[run], float(np.log(value))) for span in spans for run, value in zip(cells.value_run[span], cells.value[span], strict=True)]
        )
    by_session = all(_has_enough_sessions(runs) for runs in runs_of_rows)
    named_rows = [_values_by_name(runs, by_session=by_session) for runs in runs_of_rows]
    names = sorted({name for row in named_rows for name in row})
    number = {name: index for index, name in enumerate(names)}
    values = [{number[name]: float(np.median(row[name])) for name in sorted(row)} for row in named_rows]
    news = sum(is_new for is_new, *_ in names)
    return _RunValues(len(names) - news, news, values)


def _has_enough_sessions(runs: Sequence[tuple[RunOrder, float]]) -> bool:
    sessions = {side: {run.session for run, _ in runs if run.side == side} for side in ("old", "new")}
    return all(None not in names and len(names) >= MIN_RUNS for names in sessions.values())


def _values_by_name(runs: Sequence[tuple[RunOrder, float]], *, by_session: bool) -> dict[tuple[bool, str, int, int], list[float]]:
    """Return the values by side (true: new), session, repetition and a number. The number distinguishes otherwise equal runs.

    With ``by_session``, all runs of a session are one group.
    """
    values: dict[tuple[bool, str, int, int], list[float]] = defaultdict(list)
    count: Counter[tuple[bool, str, int]] = Counter()
    for run, value in runs:
        name = run.side == "new", run.session or "", 0 if by_session else run.repetition or 0
        count[name] += 1
        values[(*name, 0 if by_session else count[name])].append(value)
    return values
