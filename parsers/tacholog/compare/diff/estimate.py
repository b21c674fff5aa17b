"""The shift of each testable row, and the tests of all rows together. Rows with the same numbers of runs are computed in one call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tacholog.compare.diff.cells import CellPairs, CellTable, Flags, Floats, Integers, run_sets, upper_of_two
from tacholog.compare.diff.design import Design, lay_out
from tacholog.compare.power import RunCounts, attainable, detectable, runs_needed, share_of_largest
from tacholog.compare.result import RunOrder
from tacholog.compare.statistics import (
    RoundingRange,
    SharedRows,
    Shift,
    adjusted,
    adjusted_each,
    by_largest,
    paired_shift,
    rank_sum_p,
    unpaired_shift,
)

_MOST_ELEMENTS = 4_000_000  # the largest number of elements of one matrix, which is 32 MB


class Estimates(NamedTuple):
    """The estimates and the tests, one element for each pair of cells; NaN or 0 for untested pairs.

    Shifts are new minus old, usually of logarithms.

    Attributes:
        design: the index of the row's design in ``designs``; -1: none.
        designs: the designs.
        tested: whether the row was tested.
        shift: the estimated shift, with its intervals and its unadjusted p-value.
        deviation: the standard deviation by chance. If a row is compared in pairs, this is the deviation of the differences of its pairs. Otherwise,
            it is the deviation between the runs of a side.
        rounding: the largest shift that rounding can hide.
        groups: the number of pairs or sessions of each side, shape (rows, 2).
        p_adjusted: the p-value, adjusted for all rows that were tested together.
        attainable: the smallest adjusted p-value that the row can have if no other row changed.
        needed: the number of pairs, or of sessions on each side, with which the row can be significant.
        detectable: the smallest true shift of this row that is detected in four cases of five if no other row changed.
        values: the compared values, as they were measured, one column for each pair or session.
        in_pairs: the rows that are compared in pairs, with the differences of their pairs.
    """

    design: Integers
    designs: tuple[Design, ...]
    tested: Flags
    shift: Shift
    deviation: Floats
    rounding: Floats
    groups: Integers
    p_adjusted: Floats
    attainable: Floats
    needed: Integers
    detectable: Floats
    values: dict[int, tuple[Floats, Floats]]
    in_pairs: list[SharedRows]

    @property
    def paired(self) -> Flags:
        """Whether each row is compared in pairs."""
        kinds = np.array([*(design.kind == "paired" for design in self.designs), False])
        paired: Flags = kinds[self.design]  # A row without a design has the index -1, so it gets the last element: False.
        return paired


def no_estimates(design: Integers, designs: tuple[Design, ...]) -> Estimates:
    """Return empty estimates for rows with these designs: no row counts as tested, and all numbers are NaN or 0."""
    total = len(design)

    def unknown() -> Floats:
        return np.full(total, np.nan)

    return Estimates(
        design=design,
        designs=designs,
        tested=np.zeros(total, bool),
        shift=Shift(*(unknown() for _ in Shift._fields)),
        deviation=unknown(),
        rounding=unknown(),
        groups=np.zeros((total, 2), np.int64),
        p_adjusted=unknown(),
        attainable=unknown(),
        needed=np.zeros(total, np.int64),
        detectable=unknown(),
        values={},
        in_pairs=[],
    )


class _Batch(NamedTuple):
    """Rows with equal numbers of pairs or sessions.

    ``rows`` are their indices. ``old`` and ``new`` have one column for each pair or session. ``half_old`` and ``half_new`` are half the rounding step
    of each row.
    """

    rows: Integers
    old: Floats
    new: Floats
    half_old: Floats
    half_new: Floats
    paired: bool


def estimate(cells: CellTable, pairs: CellPairs, wanted: Flags, runs: Sequence[RunOrder], scale: Callable[[Floats], Floats] = np.log) -> Estimates:
    """Estimate and test the shift of the ``wanted`` pairs, which have at least `MIN_RUNS` runs on each side. `adjust` computes the adjusted p-values.

    ``scale`` converts the values to the scale on which they are compared. For a logarithmic scale, all values must be above zero.
    """
    estimates = no_estimates(*_designs(cells, pairs, wanted, runs))
    numbers = _pair_numbers(estimates.designs)
    confounded = np.array([*(design.kind == "confounded" for design in estimates.designs), True])  # index -1 (no design) gets True
    for batch in _batches(cells, pairs, estimates, ~confounded[estimates.design]):
        _test(batch, estimates, scale)
        if batch.paired:
            differences = scale(batch.new) - scale(batch.old)
            pair_numbers = np.array([numbers[index] for index in estimates.design[batch.rows].tolist()])
            estimates.in_pairs.append(SharedRows(batch.rows, differences, pair_numbers))
    return estimates


def side_shifts(
    cells: CellTable, pairs: CellPairs, estimates: Estimates, rows: Flags, limits: tuple[Floats, Floats], scale: Callable[[Floats], Floats] = np.log
) -> tuple[Shift, Floats]:
    """Return the shift between sides that did not take turns, whatever its cause. The designs of these rows are ``confounded``.

    Args:
        cells: the numbers of both sides.
        pairs: the compared cells.
        estimates: the designs of the rows.
        rows: whether each row is wanted.
        limits: the lowest and the highest shift that does not count, for each row of the comparison.
        scale: converts values to the scale on which they are compared.

    Returns:
        The shifts, and the p-values of the test whether the shift lies outside the limits; NaN for all other rows of the comparison. Intervals and
        p-values are not adjusted for the number of rows.
    """
    total = len(rows)
    shift, p_beyond = Shift(*(np.full(total, np.nan) for _ in Shift._fields)), np.full(total, np.nan)
    for batch in _batches(cells, pairs, estimates, rows):
        old, new = scale(batch.old), scale(batch.new)
        part = unpaired_shift(old, new, _rounding_ranges(batch, scale))
        for column, values in zip(shift, part, strict=True):
            column[batch.rows] = values
        low, high = (limit[batch.rows] for limit in limits)
        nearest = np.clip(part.estimate, low, high)
        to_limit = np.where(np.isfinite(nearest), nearest, 0.0)[:, None]
        is_outside = (part.estimate < low) | (part.estimate > high)
        p_beyond[batch.rows] = np.where(is_outside, rank_sum_p(old + to_limit, new), 1.0)
    return shift, p_beyond


def _batches(cells: CellTable, pairs: CellPairs, estimates: Estimates, wanted: Flags) -> Iterator[_Batch]:
    half = np.nan_to_num(cells.resolution / 2)
    upper = upper_of_two(cells.columns["metric"])
    shapes: dict[tuple[bool, int, int], list[_Batch]] = defaultdict(list)
    for index, design in enumerate(estimates.designs):
        rows = np.flatnonzero(wanted & (estimates.design == index))
        if not len(rows):
            continue
        chosen = pairs.old[rows], pairs.new[rows]
        groups = (design.old, design.groups_old), (design.new, design.groups_new)
        sides = [_medians_of_groups(_matrix(cells, side), *group, upper[side]) for side, group in zip(chosen, groups, strict=True)]
        batch = _Batch(rows, sides[0], sides[1], half[chosen[0]], half[chosen[1]], design.kind == "paired")
        shapes[batch.paired, batch.old.shape[1], batch.new.shape[1]].append(batch)
    for batches in shapes.values():
        yield from _joined_in_parts(batches)


def _pair_numbers(designs: Sequence[Design]) -> list[Integers]:
    """Pairs with the same name have the same number in all designs."""
    number_of: dict[tuple[str, int], int] = {}
    return [np.array([number_of.setdefault(name, len(number_of)) for name in design.pairs], np.int64) for design in designs]


def _designs(cells: CellTable, pairs: CellPairs, wanted: Flags, runs: Sequence[RunOrder]) -> tuple[Integers, tuple[Design, ...]]:
    """Return the index of each pair's design, and all designs. The index is -1 if the pair is not ``wanted``.

    Two pairs share a design if they have the same old runs and the same new runs.
    """
    which = np.full(len(pairs.old), -1)
    rows = np.flatnonzero(wanted)
    if not len(rows):
        return which, ()
    signature = run_sets(cells, np.arange(len(runs)))
    both = np.stack([signature[pairs.old[rows]], signature[pairs.new[rows]]], axis=1)
    _, first, inverse = np.unique(both, axis=0, return_index=True, return_inverse=True)
    which[rows] = inverse.reshape(-1)
    return which, tuple(lay_out(*(_runs(cells, side[row], runs) for side in (pairs.old, pairs.new))) for row in rows[first])


def _runs(cells: CellTable, cell: int, runs: Sequence[RunOrder]) -> list[RunOrder]:
    return [runs[run] for run in cells.value_run[cells.span(cell)]]


def _matrix(cells: CellTable, chosen: Integers) -> Floats:
    """Return the values of these cells, one row for each cell. All these cells must have the same number of values."""
    columns = np.arange(cells.runs[chosen[0]])
    return cells.value[cells.first[chosen][:, None] + columns]


def _medians_of_groups(values: Floats, group: Integers, groups: int, upper: Integers) -> Floats:
    """Return one column for each group. A median is always the value of one run."""
    if (np.bincount(group[group >= 0], minlength=groups) == 1).all():
        order = np.argsort(group, kind="stable")[(group < 0).sum() :]
        return values[:, order]
    return np.stack([_median_of_runs(values[:, group == index], upper) for index in range(groups)], axis=1)


def _median_of_runs(values: Floats, upper: Integers) -> Floats:
    """Return the median of each row of values. ``upper`` states which of two middle values is the median (`upper_of_two`)."""
    middle = (values.shape[1] - 1 + upper) // 2
    medians: Floats = np.sort(values, axis=1)[np.arange(len(values)), middle]
    return medians


def _joined_in_parts(batches: Sequence[_Batch]) -> Iterator[_Batch]:
    """Yield batches of limited size, so that the statistics do not need too much memory."""
    rows, old, new, half_old, half_new = (np.concatenate([batch[index] for batch in batches]) for index in range(5))
    columns = old.shape[1] * max(new.shape[1], 1)
    step = max(1, _MOST_ELEMENTS // columns)
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        yield _Batch(rows[part], old[part], new[part], half_old[part], half_new[part], batches[0].paired)


def _test(batch: _Batch, estimates: Estimates, scale: Callable[[Floats], Floats]) -> None:
    rows, old, new = batch.rows, scale(batch.old), scale(batch.new)
    ranges = _rounding_ranges(batch, scale)
    shift = paired_shift(new - old, ranges) if batch.paired else unpaired_shift(old, new, ranges)
    for column, values in zip(estimates.shift, shift, strict=True):
        column[rows] = values
    between = np.sqrt((old.var(axis=1, ddof=1) + new.var(axis=1, ddof=1)) / 2)
    estimates.tested[rows] = True
    estimates.deviation[rows] = (new - old).std(axis=1, ddof=1) if batch.paired else between
    estimates.rounding[rows] = 0.0 if ranges is None else _half_width(ranges.old_low, ranges.old_high) + _half_width(ranges.new_low, ranges.new_high)
    estimates.groups[rows] = old.shape[1], new.shape[1]
    for index, row in enumerate(rows):
        estimates.values[int(row)] = (batch.old[index], batch.new[index])


def _rounding_ranges(batch: _Batch, scale: Callable[[Floats], Floats]) -> RoundingRange | None:
    """Return the range of true values that each rounded value may stand for; ``None`` if all values are exact."""
    if not (batch.half_old.any() or batch.half_new.any()):
        return None
    sides = ((batch.old, batch.half_old[:, None]), (batch.new, batch.half_new[:, None]))
    with np.errstate(divide="ignore"):  # the true value may be 0 if the printed value is at most half a step
        return RoundingRange(*(scale(end) for values, half in sides for end in (np.maximum(values - half, 0.0), values + half)))


def _half_width(low: Floats, high: Floats) -> Floats:
    width: Floats = (high - low).mean(axis=1) / 2
    return width


def adjust(estimates: Estimates, family: Integers, least: Floats, rate: float, *, each: bool = False) -> None:
    """Fill in the adjusted p-values of rows that are tested together, and the power of the tests.

    Args:
        estimates: the estimates of all rows.
        family: the rows that are tested together, shape (members,).
        least: the smallest shift that counts, for each row of the comparison.
        rate: the level that the two tests of `adjusted_together` share.
        each: see `adjusted_together`.
    """
    if not len(family):
        return
    estimates.p_adjusted[family] = adjusted_together(estimates, family, rate, each=each)
    share = _share_of_largest(estimates, family, rate)
    shapes, which = np.unique(np.column_stack([estimates.paired[family], estimates.groups[family]]), axis=0, return_inverse=True)
    for index, (paired, old, new) in enumerate(shapes.tolist()):
        rows = family[which.reshape(-1) == index]
        counts = RunCounts(old, new, len(family), bool(paired))
        estimates.attainable[rows] = attainable(counts, share)
        estimates.needed[rows] = runs_needed(len(family), rate, bool(paired))
        estimates.detectable[rows] = detectable(estimates.deviation[rows], counts, rate, least[rows], estimates.rounding[rows], share=share)


def adjusted_together(estimates: Estimates, family: Integers, rate: float, *, each: bool = False) -> Floats:
    """Return the adjusted p-values of rows that are tested together, in the order of ``family``.

    Two tests share the level. The first test is the rank test of each row. The second test is `by_largest`, which compares each row with the largest
    statistic of all rows. So each row has two p-values. Each p-value is divided by the share of its test, and the smaller result counts.

    Args:
        estimates: the estimates of all rows.
        family: the rows that are tested together.
        rate: the level that the two tests share.
        each: what the rank test limits. True: the probability that any row is a false discovery (Holm). False: the share of false discoveries among
            all discoveries (Benjamini and Hochberg).
    """
    if not len(family):
        return np.zeros(0)
    share = _share_of_largest(estimates, family, rate)
    result = np.ones(len(family))
    if share < 1:
        result = (adjusted_each if each else adjusted)(estimates.shift.p[family]) / (1 - share)
    if share:
        members = np.zeros(len(estimates.tested), bool)
        members[family] = True
        largest = by_largest([_part(batch, members) for batch in estimates.in_pairs if members[batch.rows].any()], len(members))[family]
        result = np.fmin(result, largest / share)
    return np.minimum(result, 1.0)


def _part(batch: SharedRows, members: Flags) -> SharedRows:
    chosen = members[batch.rows]
    return SharedRows(batch.rows[chosen], batch.values[chosen], batch.numbers[chosen])


def _share_of_largest(estimates: Estimates, family: Integers, rate: float) -> float:
    paired = estimates.paired[family]
    return share_of_largest(np.unique(estimates.groups[family][paired, 0]).tolist(), rate, sessions=not paired.all())
