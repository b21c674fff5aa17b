"""Did the controls move? Joint tests of all controls and of their mean: by pairs, by sessions, or by the runs of two blocks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tacholog.compare.detection import least_p
from tacholog.compare.diff.estimate import Estimates
from tacholog.compare.diff.match import CellPairs
from tacholog.compare.diff.numbers import Flags, Floats, Integers, Numbers
from tacholog.compare.jointly import PairedRows, SplitRows, by_largest, by_largest_of_splits, splits_of
from tacholog.compare.policy import MIN_RUNS
from tacholog.compare.result import ControlLayout, RunOrder
from tacholog.compare.statistics import unpaired_shift


class Moved(NamedTuple):
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


def moved(data: Numbers, pairs: CellPairs, found: Estimates, centre: Flags, order: Sequence[RunOrder], worse: Floats) -> Moved | None:
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


def _by_pairs(found: Estimates, rows: Integers, worse: Floats) -> Moved:
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
    return Moved(rows, shift, error, float(p), least_p(int(found.groups[rows].max()), 0, paired=True), "pairs")


def _by_splits(runs: _Runs, rows: Integers, worse: Floats, layout: ControlLayout) -> Moved:
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
    return Moved(rows, shift * worse, error, float(p), 1 / splits_of(runs.olds, runs.news), layout)


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
        places = [np.arange(cells.values[cell]) + cells.first[cell] for cell in (pairs.old[row], pairs.new[row])]
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
