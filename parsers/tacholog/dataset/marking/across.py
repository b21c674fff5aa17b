"""The quality rules that look across results: a series of sizes, or the same figures in two releases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacholog.dataset.columns import BOUNDS, NOT_STATED, Columns, mark_bits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

COINCIDENCE = 3  # So many equal figures are no accident. Fewer may be, unless they are bounds.
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


def _numbered(keys: Sequence[Integers]) -> Integers:
    """Return a number for each row, the same for rows that agree in all keys."""
    import numpy as np

    order, starts = _ordered(keys)
    numbered = np.empty(len(order), dtype=np.int64)
    numbered[order] = np.cumsum(starts) - 1
    return numbered


def _ordered(keys: Sequence[Integers]) -> tuple[Integers, Integers]:
    """Return the places of the rows, sorted by the keys, and where in this order a row differs from the one before it."""
    import numpy as np

    order = np.lexsort(keys)
    starts = np.ones(len(order), dtype=bool)
    starts[1:] = False
    for key in keys:
        starts[1:] |= np.diff(key[order]) != 0
    return order, starts


def mark_republished(columns: Columns, releases: Sequence[tuple[str, str] | None], run_of: Integers) -> None:
    """Mark results that another release of the same system is published with too, size for size.

    Args:
        columns: the results; their marks are changed.
        releases: the system and the release of each run; ``None`` if it is not a published one.
        run_of: for each record the number of its run.
    """
    import numpy as np

    systems = {system: code for code, system in enumerate(sorted({found[0] for found in releases if found}))}
    labels = {label: code for code, label in enumerate(sorted({found[1] for found in releases if found}))}
    if not labels:
        return
    numbers, records = columns.numbers, columns.records
    published = np.array([found is not None for found in releases])[run_of]
    places = np.flatnonzero(published[numbers.record])
    if not len(places):
        return  # The logs of all published runs are without results.
    record = numbers.record[places]
    system = np.array([systems[found[0]] if found else NOT_STATED for found in releases])[run_of][record]
    label = np.array([labels[found[1]] if found else NOT_STATED for found in releases])[run_of][record]
    figures = _figures(columns, places)
    series = _numbered((system, records.shape[record], numbers.name[places]))
    of_release = _numbered((series, label))
    distinct = np.unique(np.stack((of_release, figures), axis=1), axis=0)
    sets = np.split(distinct[:, 1], np.flatnonzero(np.diff(distinct[:, 0])) + 1)
    first = np.unique(of_release, return_index=True)[1]
    equal: dict[tuple[int, bytes], list[int]] = {}
    for number, (place, found) in enumerate(zip(first.tolist(), sets, strict=True)):
        equal.setdefault((int(series[place]), found.tobytes()), []).append(number)
    bounds = numbers.bound[places]
    are_bounds = np.ones(len(first), dtype=bool)
    np.logical_and.at(are_bounds, of_release, bounds != BOUNDS.index("="))
    marked = np.zeros(len(first), dtype=bool)
    for same in equal.values():
        if len(same) > 1 and (len(sets[same[0]]) >= COINCIDENCE or are_bounds[same[0]]):
            marked[same] = True
    columns.add_marks(places[marked[of_release]], ("republished",))


def _figures(columns: Columns, places: Integers) -> Integers:
    """Return a number for each figure, the same for figures with the same size, value and bound."""
    import numpy as np

    numbers, records = columns.numbers, columns.records
    record = numbers.record[places]
    value = np.where(np.isnan(numbers.value[places]), np.nan, numbers.value[places] + 0.0)  # one NaN, and no negative zero
    return _numbered((records.payload_bytes[record], records.payload_bytes_high[record], value.view(np.int64), numbers.bound[places]))
