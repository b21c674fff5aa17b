"""Which number it is of those with the same metric and statistic that one line gives: a row of a table has a record in each of its columns."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from tacholog.store.columns import Integers


def with_ordinal(name: str, ordinal: int) -> str:
    """Return what tells a number from the others of its line: the first keeps the name that it would have alone."""
    return name if ordinal == 1 else f"{name}~{ordinal}"


class Ordinals:
    """Counts the numbers of results that come in frames, in their order: a frame may end within a line."""

    def __init__(self) -> None:
        """Begin before the first frame."""
        self._line: tuple[object, ...] | None = None
        self._counts: Counter[tuple[object, ...]] = Counter()

    def of(self, results: pd.DataFrame) -> Integers:
        """Return the ordinal of each number, from 1, in the order in which the line gave them."""
        import numpy as np
        import pandas as pd

        found = np.ones(len(results), dtype=np.int64)
        if not len(results):
            return found
        starts = line_starts(results)
        metrics, statistics = (as_words(results[name]) for name in ("metric", "statistic"))
        lines = np.cumsum(starts) * len(metrics.categories) * len(statistics.categories)
        keys = pd.Series(lines + metrics.codes.astype(np.int64) * len(statistics.categories) + statistics.codes)
        if keys.duplicated().any():
            found += keys.groupby(keys).cumcount().to_numpy()
        self._go_on(results, starts, found)
        return found

    def _go_on(self, results: pd.DataFrame, starts: NDArray[np.bool_], found: Integers) -> None:
        """Add what the frames before had of the first line, and remember the last one."""
        import numpy as np

        places = np.flatnonzero(starts)
        first, last = places[1] if len(places) > 1 else len(results), places[-1]
        if _line_of(results, 0) == self._line:
            found[:first] += [self._counts[name] for name in _names(results, 0, first)]
        if last or _line_of(results, 0) != self._line:
            self._line, self._counts = _line_of(results, last), Counter()
        self._counts.update(_names(results, last, len(results)))


def line_starts(results: pd.DataFrame) -> NDArray[np.bool_]:
    """Return whether a number is the first of its line."""
    import numpy as np

    run, log, line = as_words(results["run"]).codes, as_words(results["log"]).codes, results["line"].to_numpy(dtype=np.int64)
    starts = np.ones(len(results), dtype=bool)
    starts[1:] = (line[1:] != line[:-1]) | (run[1:] != run[:-1]) | (log[1:] != log[:-1])
    return starts


def as_words(column: pd.Series) -> pd.Categorical:
    """Return a column of words as categories, which it mostly is already. pandas itself would make a copy and check it."""
    import pandas as pd

    return column.array if isinstance(column.array, pd.Categorical) else pd.Categorical(column)


def _line_of(results: pd.DataFrame, place: int) -> tuple[object, ...]:
    return tuple(results[name].iloc[place] for name in ("run", "log", "line"))


def _names(results: pd.DataFrame, first: int, last: int) -> list[tuple[object, ...]]:
    return list(zip(results["metric"].iloc[first:last], results["statistic"].iloc[first:last], strict=True))
