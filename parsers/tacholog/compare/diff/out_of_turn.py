"""Do the two measurements differ, whatever the cause? The answer for rows whose sides did not take turns.

Anything else that changed between the sides may be the cause, such as the machine or the day, so these rows never say that a release is better or
worse. The test is that of the rank sums, of the runs (or of the sessions, if each side has enough of them), moved by the threshold: it asks whether
the change is larger than what does not count. Its p-values are adjusted over the comparison.
"""

from __future__ import annotations

import numpy as np

from tacholog.compare.diff.cells import Flags, Floats, Integers
from tacholog.compare.diff.estimate import side_shifts
from tacholog.compare.diff.verdict import CODE, REASON, RowArrays
from tacholog.compare.result import REASONS_OUT_OF_TURN, Interval
from tacholog.compare.statistics import Shift, adjusted, adjusted_each


def out_of_turn(rows: RowArrays) -> Flags:
    """The rows with enough runs whose sides did not take turns, as far as is known."""
    return rows.by_value & np.isin(rows.reason, [REASON[reason] for reason in REASONS_OUT_OF_TURN])


def say_whether_sides_differ(rows: RowArrays, host: Interval | None, rate: float) -> RowArrays:
    """Give the rows of `out_of_turn` the verdict that their measurements differ, or do not, where this can be shown. Other rows keep theirs.

    Args:
        rows: the results.
        host: the range of relative changes that a change of the host explains, positive is worse; an end without a limit is ``None``.
        rate: the false discovery rate.
    """
    wanted = out_of_turn(rows)
    if not wanted.any():
        return rows
    limits = _limits(rows, host)
    shift, p_beyond = side_shifts(rows.cells, rows.pairs, rows.estimates, wanted, limits)
    p = np.ones(len(wanted))
    for family, adjust in ((wanted & ~rows.gated, adjusted), (wanted & rows.gated, adjusted_each)):
        p[family] = adjust(p_beyond[family])
    verdict = side_verdicts(shift, p < rate, limits, rows.limits.close, rows.lower_is_better)
    decided = wanted & (verdict >= 0)
    rows.verdict[decided] = verdict[decided]
    return rows._replace(sides=shift, side_limits=limits)


def _limits(rows: RowArrays, host: Interval | None) -> tuple[Floats, Floats]:
    """The lowest and the highest shift of each row that does not count."""
    least = rows.limits.sides
    if host is None:
        return -least, least
    better, worse = (np.inf if end is None else abs(float(np.log1p(end))) for end in host)
    lower = rows.lower_is_better
    return np.minimum(-least, -np.where(lower, better, worse)), np.maximum(least, np.where(lower, worse, better))


def side_verdicts(shift: Shift, significant: Flags, limits: tuple[Floats, Floats], close: Floats, lower_is_better: Flags) -> Integers:
    """The verdicts as indices into `VERDICTS`; -1 where neither a difference nor its absence is shown.

    Args:
        shift: the estimates, shape (rows,) each.
        significant: whether the shift lies outside the limits, adjusted over the comparison.
        limits: the lowest and the highest shift that does not count.
        close: the largest shift that counts as none.
        lower_is_better: the rows' direction.
    """
    low, high = limits
    is_outside = significant & ((shift.low > high) | (shift.high < low))
    rose = np.where((shift.estimate > 0) == lower_is_better, CODE["differs_worse"], CODE["differs_better"])
    is_inside = (shift.low > -close) & (shift.high < close)
    return np.where(is_outside, rose, np.where(is_inside, CODE["differs_not"], -1))
