"""The one rule for the median of several runs: it is the value of one of them, never a midpoint between two.

Of an even number of values two stand in the middle. The worse one is taken: the higher latency, the lower rate. A number on a page then
always has a log line that says it, and an even number of runs never looks better than it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacholog.schema.metrics import METRICS


def median_place(values: Sequence[float], metric: str) -> int:
    """Return the place in ``values`` of their median: of two in the middle the worse one, by the metric's direction.

    Args:
        values: one value a run, shape (n,), n >= 1, in the metric's unit, in any order.
        metric: a name of `tacholog.schema.metrics.METRICS`. Of a metric without a better direction the higher value is taken.

    Returns:
        An index into ``values``. Of equal values the first one is taken, so that the same input gives the same run.
    """
    order = sorted(range(len(values)), key=lambda place: (values[place], place))
    lower_of_two = (len(order) - 1) // 2
    upper_of_two = len(order) // 2
    place = order[upper_of_two if upper_of_two_counts(metric) else lower_of_two]
    return next(first for first in range(len(values)) if values[first] == values[place])


def upper_of_two_counts(metric: str) -> bool:
    """Whether, of two values in the middle, the upper one is taken: where arrays of many medians are worked out at once."""
    return METRICS[metric].better != "higher"


def median_run(values: Sequence[float], metric: str) -> float:
    """Return the median as `median_place` finds it: always one of ``values``."""
    return values[median_place(values, metric)]
