"""Reading many result lines at once, as arrays: optional, for tools that print results by the hundred thousand.

A format lists the shapes of such lines in its constant ``BULK``. The format still reads the first and the last line of each run of such lines in
``parse``; only those between them are read as arrays. A line in any doubt is read one by one, and judged in ``parse``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from tacholog.schema.records import Bound, Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class NumberColumn(NamedTuple):
    """One number of many records: the fields of `Number`, each an array with one value for each record.

    A value or a resolution of NaN means ``None``.
    """

    metric: str
    statistic: str
    values: NDArray[np.float64]
    resolutions: NDArray[np.float64]
    below: NDArray[np.bool_]  #: where the bound is "<"
    marks: tuple[str, ...] = ()  #: of all of them
    bound: Bound = "="  #: where it is not "<"


class RecordColumns(NamedTuple):
    """The records of many lines, as columns of one length. Lines where ``valid`` is false are read one by one instead."""

    valid: NDArray[np.bool_]
    payload_bytes: NDArray[np.int64]
    samples: NDArray[np.int64] | None
    numbers: tuple[NumberColumn, ...]


class Bulk(NamedTuple):
    """A shape of result line of which a log has thousands in a row.

    ``line`` is a pattern that matches one such line without its end: ASCII, always with the same count of numbers, none of more than 15 digits,
    none with a sign. In a run of such lines each line is one record like that of the run's first line, and shares its conditions. ``read`` takes the
    numbers (an array with a row for each line) and the first line's record. It returns the columns, or ``None``: read these lines one by one.
    """

    line: bytes
    read: Callable[[NDArray[np.float64], Record], RecordColumns | None]


def counted_column(metric: str, counts: NDArray[np.float64]) -> NumberColumn:
    """Make a column of exact counts: what `counted` is for one number."""
    import numpy as np

    return NumberColumn(metric, "total", counts, np.full(len(counts), np.nan), np.zeros(len(counts), dtype=np.bool_))


def printed_column(metric: str, statistic: str, values: NDArray[np.float64], resolution: float) -> NumberColumn:
    """Make a column of numbers that were rounded to ``resolution``: what `printed` is for one number."""
    import numpy as np

    below = values == 0
    return NumberColumn(metric, statistic, np.where(below, resolution, values), np.full(len(values), resolution), below)
