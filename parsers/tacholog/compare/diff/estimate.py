"""The shift of every row that can be tested, in as few calls as there are shapes of data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tacholog.compare.diff.cells import CellPairs, Cells, Entries, Flags, Floats, Integers, Numbers, run_sets, upper_of_two
from tacholog.compare.diff.design import Design, lay_out
from tacholog.compare.result import RunOrder
from tacholog.compare.statistics import PairedRows, RoundingRange, Shift, paired_shift, two_modes, unpaired_shift

_AT_ONCE = 4_000_000  # elements of the largest matrix: 32 MB


class Estimates(NamedTuple):
    """What was found, row by row of the pairs. NaN where nothing was tested. Shifts are new minus old, mostly of logarithms.

    ``deviation`` is what scatters by chance, ``hidden`` how much of a shift rounding can hide, ``groups`` how many pairs or sessions each side has,
    shape (rows, 2). ``values`` are those that were compared, as they were measured, one column a pair or session. ``in_pairs`` are the rows that
    are compared pair by pair, with the differences of their pairs.
    """

    design: Integers
    designs: tuple[Design, ...]
    tested: Flags
    shift: Shift
    deviation: Floats
    hidden: Floats
    groups: Integers
    two_modes: Flags
    values: dict[int, tuple[Floats, Floats]]
    in_pairs: list[PairedRows]

    @property
    def paired(self) -> Flags:
        """Which rows are compared pair by pair."""
        kinds = np.array([*(design.kind == "paired" for design in self.designs), False])
        found: Flags = kinds[self.design]  # a row without a design is -1: the last one
        return found


class _Batch(NamedTuple):
    """Rows of one shape: their places in the report, both sides' values, one column a pair or session, and half the step of rounding of each."""

    rows: Integers
    old: Floats
    new: Floats
    half_old: Floats
    half_new: Floats
    paired: bool


def estimate(
    data: Numbers, pairs: CellPairs, wanted: Flags, runs: Sequence[RunOrder], threshold: Floats, scale: Callable[[Floats], Floats] = np.log
) -> Estimates:
    """Estimate and test the shift of the ``wanted`` pairs, each of which has at least `MIN_RUNS` runs a side.

    ``scale`` is what the values are compared on; on that of logarithms all of them must be above zero.
    """
    cells, entries = data.cells, data.entries
    total = len(pairs.old)
    which, designs = _designs(cells, entries, pairs, wanted, runs)
    found = Estimates(which, designs, np.zeros(total, bool), Shift(*(np.full(total, np.nan) for _ in Shift._fields)), *_empty(total), {}, [])
    numbers = _pair_numbers(designs)
    half = np.nan_to_num(cells.resolution / 2)
    upper = upper_of_two(data.stated["metric"])
    shapes: dict[tuple[bool, int, int], list[_Batch]] = defaultdict(list)
    for index, design in enumerate(designs):
        rows = np.flatnonzero(which == index)
        if design.kind == "confounded":
            continue
        chosen = pairs.old[rows], pairs.new[rows]
        groups = (design.old, design.groups_old), (design.new, design.groups_new)
        sides = [_grouped(_matrix(cells, entries, side), *group, upper[side]) for side, group in zip(chosen, groups, strict=True)]
        batch = _Batch(rows, sides[0], sides[1], half[chosen[0]], half[chosen[1]], design.kind == "paired")
        shapes[batch.paired, batch.old.shape[1], batch.new.shape[1]].append(batch)
    for batches in shapes.values():
        for batch in _joined(batches):
            _test(batch, found, threshold[batch.rows], scale)
            if batch.paired:
                differences = scale(batch.new) - scale(batch.old)
                found.in_pairs.append(PairedRows(batch.rows, differences, np.array([numbers[index] for index in which[batch.rows].tolist()])))
    return found


def _pair_numbers(designs: Sequence[Design]) -> list[Integers]:
    """For each design the numbers of its pairs. Designs share a number where they share the name of a pair."""
    known: dict[tuple[str, int], int] = {}
    return [np.array([known.setdefault(name, len(known)) for name in design.pairs], np.int64) for design in designs]


def _empty(total: int) -> tuple[Floats, Floats, Integers, Flags]:
    return np.full(total, np.nan), np.full(total, np.nan), np.zeros((total, 2), np.int64), np.zeros(total, bool)


def _designs(cells: Cells, entries: Entries, pairs: CellPairs, wanted: Flags, runs: Sequence[RunOrder]) -> tuple[Integers, tuple[Design, ...]]:
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
    return [runs[run] for run in entries.run[first : first + cells.runs[cell]]]


def _matrix(cells: Cells, entries: Entries, chosen: Integers) -> Floats:
    """These cells' values; all of them have the same number."""
    columns = np.arange(cells.runs[chosen[0]])
    return entries.value[cells.first[chosen][:, None] + columns]


def _grouped(values: Floats, group: Integers, groups: int, upper: Integers) -> Floats:
    """One column a group: the median of its runs, which is the value of one of them."""
    if (np.bincount(group[group >= 0], minlength=groups) == 1).all():
        order = np.argsort(group, kind="stable")[(group < 0).sum() :]
        return values[:, order]
    return np.stack([_median_of_runs(values[:, group == index], upper) for index in range(groups)], axis=1)


def _median_of_runs(values: Floats, upper: Integers) -> Floats:
    """The median of each row by the rule of `tacholog.schema.metrics`; ``upper`` as `upper_of_two` says it."""
    middle = (values.shape[1] - 1 + upper) // 2
    medians: Floats = np.sort(values, axis=1)[np.arange(len(values)), middle]
    return medians


def _joined(batches: Sequence[_Batch]) -> Iterator[_Batch]:
    """All rows of one shape, cut where the statistics would take too much memory."""
    rows, old, new, half_old, half_new = (np.concatenate([batch[index] for batch in batches]) for index in range(5))
    columns = old.shape[1] * max(new.shape[1], 1)
    step = max(1, _AT_ONCE // columns)
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        yield _Batch(rows[part], old[part], new[part], half_old[part], half_new[part], batches[0].paired)


def _test(batch: _Batch, found: Estimates, threshold: Floats, scale: Callable[[Floats], Floats]) -> None:
    rows, old, new = batch.rows, scale(batch.old), scale(batch.new)
    hidden = _hidden(batch, scale)
    shift = paired_shift(new - old, hidden) if batch.paired else unpaired_shift(old, new, hidden)
    for column, values in zip(found.shift, shift, strict=True):
        column[rows] = values
    between = np.sqrt((old.var(axis=1, ddof=1) + new.var(axis=1, ddof=1)) / 2)
    found.tested[rows] = True
    found.deviation[rows] = (new - old).std(axis=1, ddof=1) if batch.paired else between
    found.hidden[rows] = 0.0 if hidden is None else _width(hidden.old_low, hidden.old_high) + _width(hidden.new_low, hidden.new_high)
    found.groups[rows] = old.shape[1], new.shape[1]
    found.two_modes[rows] = two_modes(old, threshold) | two_modes(new, threshold)
    for place, row in enumerate(rows):
        found.values[int(row)] = (batch.old[place], batch.new[place])


def _hidden(batch: _Batch, scale: Callable[[Floats], Floats]) -> RoundingRange | None:
    """What rounding leaves open of the values; nothing if all of them were printed exactly."""
    if not (batch.half_old.any() or batch.half_new.any()):
        return None
    sides = ((batch.old, batch.half_old[:, None]), (batch.new, batch.half_new[:, None]))
    with np.errstate(divide="ignore"):  # what is printed as half a step or less may be nothing at all
        return RoundingRange(*(scale(end) for values, half in sides for end in (np.maximum(values - half, 0.0), values + half)))


def _width(low: Floats, high: Floats) -> Floats:
    """Half of what is open, on average over the runs."""
    width: Floats = (high - low).mean(axis=1) / 2
    return width
