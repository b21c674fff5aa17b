"""The quality rule that looks at a series of sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacholog.schema.marks import mark_bits
from tacholog.store.columns import NOT_STATED, Columns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

GROWTH = 2  # From the smallest to the largest size. Noise changes a median by less, and copying bytes changes it by more.
MIDDLES = ("p50", "mean", "typical", "min")


def mark_growing(columns: Columns, run_of: Integers) -> None:
    """Replace the mark ``reference_only`` where a latency grows with the size.

    Handing over a reference takes the same time at any size. Where the latency grows, somebody wrote, read or copied the bytes. Only the whole series
    shows it.

    Args:
        columns: the results; their marks are changed.
        run_of: for each record the number of its run.
    """
    import numpy as np

    reference, grows = mark_bits(("reference_only",)), mark_bits(("grows_with_size",))
    numbers = columns.numbers
    places = np.flatnonzero(numbers.marks & reference)
    if not len(places):
        return
    record = numbers.record[places]
    metrics = {metric: code for code, (metric, _) in enumerate(columns.names)}
    metric = np.array([metrics[metric] for metric, _ in columns.names])[numbers.name[places]]
    for members in groups((run_of[record], columns.records.shape[record], metric)):
        here = places[members]
        if _grows(columns, here):
            marks = columns.changeable("marks")
            marks[here] = (marks[here] | grows) & ~reference


def _grows(columns: Columns, places: Integers) -> bool:
    """Return whether the middle of the distribution is much higher at the largest size than at the smallest."""
    import numpy as np

    numbers = columns.numbers
    statistics = [columns.names[code][1] for code in numbers.name[places].tolist()]
    middle = next((name for name in MIDDLES if name in statistics), None)
    values, sizes = numbers.value[places], columns.records.payload_bytes[numbers.record[places]]
    known = np.array([name == middle for name in statistics]) & ~np.isnan(values) & (sizes != NOT_STATED)
    if not known.any():
        return False
    values, sizes = values[known], sizes[known]
    return bool(values[sizes.argmax()] >= GROWTH * values[sizes.argmin()])


def groups(keys: Sequence[Integers]) -> list[Integers]:
    """Return the places of the rows that agree in all keys: one array for each group, ascending."""
    import numpy as np

    order, starts = _ordered(keys)
    return np.split(order, np.flatnonzero(starts)[1:]) if len(order) else []


def _ordered(keys: Sequence[Integers]) -> tuple[Integers, Integers]:
    """Return the places of the rows, sorted by the keys, and where in this order a row differs from the one before it."""
    import numpy as np

    order = np.lexsort(keys)
    starts = np.ones(len(order), dtype=bool)
    starts[1:] = False
    for key in keys:
        starts[1:] |= np.diff(key[order]) != 0
    return order, starts
