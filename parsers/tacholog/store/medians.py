"""The median of several runs. It is always the value of one of them, never a midpoint between two.

An even number of values has two in the middle. The worse of the two is taken: the higher latency, the lower rate. Every number on a page then has a
log line that prints it, and an even number of runs never looks better than it is.

Where neither direction is better, a time takes the higher value, as latency does. An amount or a rate takes the lower value, as goodput does.
So the columns of one row agree: the bytes beside the lower goodput are those of the slower run too.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacholog.schema.metrics import METRICS


def median_place(values: Sequence[float], metric: str) -> int:
    """Return the index of the median in ``values``. Of two in the middle it is the worse one, by the metric's direction.

    Args:
        values: one value a run, shape (n,), n >= 1, in the metric's unit, in any order.
        metric: a name of `tacholog.schema.metrics.METRICS`.

    Returns:
        An index into ``values``. Of equal values it is the first, so that the same input gives the same run.
    """
    ordered = sorted(values)
    lower_of_two, upper_of_two = (len(ordered) - 1) // 2, len(ordered) // 2
    return values.index(ordered[upper_of_two if upper_of_two_counts(metric) else lower_of_two])


def upper_of_two_counts(metric: str) -> bool:
    """Return whether the upper one of two values in the middle is the median. For code that computes many medians as arrays."""
    better, unit = METRICS[metric].better, METRICS[metric].unit
    return better == "lower" or (better is None and unit == "ns")


def median_run(values: Sequence[float], metric: str) -> float:
    """Return the median by the rule of `median_place`: one of ``values``."""
    return values[median_place(values, metric)]
