"""Rows that are adjusted together: their adjusted p-values by both tests, and what these could have found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacholog.compare.detection import Design, attainable, detectable, runs_needed, share_of_largest
from tacholog.compare.diff.estimate import Estimates
from tacholog.compare.diff.numbers import Flags, Floats, Integers
from tacholog.compare.jointly import PairedRows, by_largest
from tacholog.compare.statistics import adjusted, adjusted_each


class Power(NamedTuple):
    """The power of the tests in each row of a report, shape (rows,) each; NaN, or 0, for rows that were not tested.

    ``attainable`` is the smallest adjusted p-value that the row can have if only it changed, ``needed`` the number of pairs, or of sessions on each
    side, that makes it significant, ``detectable`` the smallest true shift of this row alone that is detected in four cases of five.
    """

    attainable: Floats
    needed: Integers
    detectable: Floats


def no_power(total: int) -> Power:
    """The power of rows that were not tested."""
    return Power(np.full(total, np.nan), np.zeros(total, np.int64), np.full(total, np.nan))


def adjusted_together(found: Estimates, family: Integers, rate: float, *, each: bool = False) -> Floats:
    """The adjusted p-values of rows that are tested together, in their order.

    Two tests share the level: the ranks of each row, and the largest of all rows. Each p-value is divided by its part of the level, and the smaller
    one counts.

    Args:
        found: the estimates of all rows.
        family: the rows that are tested together.
        rate: the level of both tests.
        each: whether any false row counts (Holm) and not the share of false rows (Benjamini and Hochberg).
    """
    if not len(family):
        return np.zeros(0)
    share = _share(found, family, rate)
    result = np.ones(len(family))
    if share < 1:
        result = (adjusted_each if each else adjusted)(found.shift.p[family]) / (1 - share)
    if share:
        members = np.zeros(len(found.tested), bool)
        members[family] = True
        largest = by_largest([_part(batch, members) for batch in found.in_pairs if members[batch.rows].any()], len(members))[family]
        result = np.fmin(result, largest / share)
    return np.minimum(result, 1.0)


def _part(batch: PairedRows, members: Flags) -> PairedRows:
    chosen = members[batch.rows]
    return PairedRows(batch.rows[chosen], batch.differences[chosen], batch.pairs[chosen])


def _share(found: Estimates, family: Integers, rate: float) -> float:
    """The part of the level that the test by the largest row gets."""
    paired = found.paired[family]
    return share_of_largest(np.unique(found.groups[family][paired, 0]).tolist(), rate, sessions=not paired.all())


def power_of(found: Estimates, family: Integers, least: Floats, rate: float) -> Power:
    """The power of the tests in rows that are adjusted together.

    Args:
        found: the estimates of all rows.
        family: the rows that are adjusted together, shape (members,).
        least: the smallest shift that counts in each row of the report.
        rate: the level of both tests.
    """
    result, many = no_power(len(family)), len(family)
    if not many:
        return result
    share = _share(found, family, rate)
    shapes, which = np.unique(np.column_stack([found.paired[family], found.groups[family]]), axis=0, return_inverse=True)
    for index, (paired, old, new) in enumerate(shapes.tolist()):
        there = np.flatnonzero(which.reshape(-1) == index)
        rows = family[there]
        design = Design(old, new, many, bool(paired))
        result.attainable[there] = attainable(design, share)
        result.needed[there] = runs_needed(many, rate, bool(paired))
        result.detectable[there] = detectable(found.deviation[rows], design, rate, least[rows], found.hidden[rows], share=share)
    return result
