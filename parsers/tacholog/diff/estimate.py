"""The shift of every row that can be tested, in as few calls as there are shapes of data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tacholog.diff.design import Design, lay_out
from tacholog.diff.match import Pairs
from tacholog.diff.numbers import Cells, Entries, Flags, Floats, Integers, Numbers, run_sets
from tacholog.diff.result import RunOrder
from tacholog.diff.statistics import Shift, paired_shift, smallest_detectable, two_modes, unpaired_shift

_AT_ONCE = 4_000_000  # elements of the largest matrix: 32 MB


class Estimates(NamedTuple):
    """What was found, row by row of the pairs. NaN where nothing was tested. Shifts are new minus old, mostly of logarithms."""

    design: Integers
    designs: tuple[Design, ...]
    tested: Flags
    shift: Shift
    deviation: Floats
    detectable: Floats
    two_modes: Flags
    values: dict[int, tuple[Floats, Floats]]


class _Batch(NamedTuple):
    """Rows of one shape: their places in the report, and the values of both sides on their scale, one column a pair or session."""

    rows: Integers
    old: Floats
    new: Floats
    paired: bool


def estimate(
    data: Numbers, pairs: Pairs, wanted: Flags, runs: Sequence[RunOrder], threshold: Floats, scale: Callable[[Floats], Floats] = np.log
) -> Estimates:
    """Estimate and test the shift of the ``wanted`` pairs, each of which has at least `MIN_RUNS` runs a side.

    ``scale`` is what the values are compared on; on that of logarithms all of them must be above zero.
    """
    cells, entries = data.cells, data.entries
    total = len(pairs.old)
    which, designs = _designs(cells, entries, pairs, wanted, runs)
    found = Estimates(which, designs, np.zeros(total, bool), Shift(*(np.full(total, np.nan) for _ in Shift._fields)), *_empty(total), {})
    shapes: dict[tuple[bool, int, int], list[_Batch]] = defaultdict(list)
    for index, design in enumerate(designs):
        rows = np.flatnonzero(which == index)
        if design.kind == "confounded":
            continue
        olds, news = (scale(_matrix(cells, entries, side[rows])) for side in (pairs.old, pairs.new))
        batch = _Batch(rows, _grouped(olds, design.old, design.groups_old), _grouped(news, design.new, design.groups_new), design.kind == "paired")
        shapes[batch.paired, batch.old.shape[1], batch.new.shape[1]].append(batch)
    for batches in shapes.values():
        for batch in _joined(batches):
            _test(batch, found, threshold[batch.rows])
    return found


def _empty(total: int) -> tuple[Floats, Floats, Flags]:
    return np.full(total, np.nan), np.full(total, np.nan), np.zeros(total, bool)


def _designs(cells: Cells, entries: Entries, pairs: Pairs, wanted: Flags, runs: Sequence[RunOrder]) -> tuple[Integers, tuple[Design, ...]]:
    """The design of each wanted pair: rows that come of the same runs share one."""
    which = np.full(len(pairs.old), -1)
    rows = np.flatnonzero(wanted)
    if not len(rows):
        return which, ()
    signature = run_sets(cells, entries, np.arange(len(runs)))
    both = np.stack([signature[pairs.old[rows]], signature[pairs.new[rows]]], axis=1)
    _, first, inverse = np.unique(both, axis=0, return_index=True, return_inverse=True)
    which[rows] = inverse.reshape(-1)
    return which, tuple(lay_out(*(_runs(cells, entries, side[rows[place]], runs) for side in (pairs.old, pairs.new))) for place in first)


def _runs(cells: Cells, entries: Entries, cell: int, runs: Sequence[RunOrder]) -> list[RunOrder]:
    first = cells.first[cell]
    return [runs[run] for run in entries.run[first : first + cells.values[cell]]]


def _matrix(cells: Cells, entries: Entries, chosen: Integers) -> Floats:
    """These cells' values; all of them have the same number."""
    columns = np.arange(cells.values[chosen[0]])
    return entries.value[cells.first[chosen][:, None] + columns]


def _grouped(values: Floats, group: Integers, groups: int) -> Floats:
    """One column a group: the median of its runs."""
    if (np.bincount(group[group >= 0], minlength=groups) == 1).all():
        order = np.argsort(group, kind="stable")[(group < 0).sum() :]
        return values[:, order]
    return np.stack([np.median(values[:, group == index], axis=1) for index in range(groups)], axis=1)


def _joined(batches: Sequence[_Batch]) -> Iterator[_Batch]:
    """All rows of one shape, cut where the statistics would take too much memory."""
    rows, old, new = (np.concatenate([batch[index] for batch in batches]) for index in range(3))
    columns = old.shape[1] * max(new.shape[1], 1)
    step = max(1, _AT_ONCE // columns)
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        yield _Batch(rows[part], old[part], new[part], batches[0].paired)


def _test(batch: _Batch, found: Estimates, threshold: Floats) -> None:
    rows, old, new = batch.rows, batch.old, batch.new
    shift = paired_shift(new - old) if batch.paired else unpaired_shift(old, new)
    for column, values in zip(found.shift, shift, strict=True):
        column[rows] = values
    between = np.sqrt((old.var(axis=1, ddof=1) + new.var(axis=1, ddof=1)) / 2)
    deviation = (new - old).std(axis=1, ddof=1) if batch.paired else between
    found.tested[rows] = True
    found.deviation[rows] = deviation
    found.detectable[rows] = smallest_detectable(deviation, min(old.shape[1], new.shape[1]), batch.paired)
    found.two_modes[rows] = two_modes(old, threshold) | two_modes(new, threshold)
    for place, row in enumerate(rows):
        found.values[int(row)] = (old[place], new[place])
