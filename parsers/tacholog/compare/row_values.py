"""One value for each row of a set of runs, for other tools and dashboards: the median over its runs, with a confidence interval.

The interval is computed from order statistics, without any assumption about the distribution of the runs. Each run is above or below the true median
with probability 1/2, so the number of runs below it has a binomial distribution. The interval from the k-th smallest to the k-th largest run
contains the median unless fewer than k runs lie on one side of the median.

Source:
    David & Nagaraja (2003), "Order Statistics", section 7.1; Hollander, Wolfe & Chicken (2014), "Nonparametric Statistical Methods", section 3.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import numpy as np

from tacholog.compare.diff.cells import CellTable, cell_table, mark_names, row_keys
from tacholog.compare.policy import TESTED, Policy
from tacholog.compare.profiles import Profile, profiles_of
from tacholog.compare.result import RowKey
from tacholog.compare.sides import stated_of, without_controls
from tacholog.schema.metrics import METRICS, Direction, median_run
from tacholog.store.frames import Dataset


class MedianInterval(NamedTuple):
    """The interval of a median: its ends, and its actual confidence, which is at least the required confidence."""

    low: float
    high: float
    confidence: float


def median_interval(values: Sequence[float], confidence: float) -> MedianInterval | None:
    """Return the interval of the median: the narrowest one that has at least this confidence. It is symmetric, and its ends are two of the values.

    Args:
        values: one value per run, shape (n,), independent of each other.
        confidence: two-sided, between 0 and 1. With 0.95, the median is below the interval in at most 2.5 % of the cases; likewise above it.

    Returns:
        ``None`` if there are too few values for this confidence; see `values_needed`.
    """
    rank, achieved = _rank(len(values), confidence)
    if not rank:
        return None
    ordered = sorted(values)
    return MedianInterval(ordered[rank - 1], ordered[-rank], achieved)


def values_needed(confidence: float) -> int:
    """Return the smallest number of values whose range contains the median with this confidence.

    The range of n values misses the median in 2 of 2**n cases.
    """
    count = 2
    while not _rank(count, confidence)[0]:
        count += 1
    return count


def attainable_confidence(count: int) -> float:
    """Return the largest confidence that ``count`` values allow: the confidence of the interval from the smallest to the largest value."""
    return float(1 - Fraction(2, 2**count)) if count else 0.0


@lru_cache(maxsize=1024)
def _rank(count: int, confidence: float) -> tuple[int, float]:
    """Return a rank k, and the confidence of the interval from the k-th smallest to the k-th largest value.

    k is the largest rank with at least the required confidence; 0 if there is no such rank.
    """
    # Fractions are exact: as floats, 0.95 would be rounded, and large powers of 2 overflow.
    allowed = (1 - Fraction(str(confidence))) * 2**count
    term, outside, rank, left = 1, 0, 0, Fraction(0)
    while rank < (count + 1) // 2:
        outside += 2 * term
        if outside > allowed:
            break
        left = Fraction(outside)
        rank += 1
        term = term * (count - rank + 1) // rank
    return rank, float(1 - left / 2**count) if rank else 0.0


CONFIDENCE = 0.95
LOSS = ("loss", "total")


class RowValue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row and its median over ``runs`` runs, in ``unit``. The median is always the value of one of the runs.

    The true median lies between ``low`` and ``high`` with ``confidence``; these are missing if there are too few runs. ``marks`` are quality marks.
    """

    key: RowKey
    unit: str
    better: Direction | None
    value: float
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    runs: int
    sessions: int = 0
    host: str | None = None
    release: str | None = None
    marks: tuple[str, ...] = ()


class DatasetRows(NamedTuple):
    """The numbers of a set of runs, arranged as for `tacholog diff`: the cells, the key of each cell, and the columns of each run."""

    cells: CellTable
    keys: list[RowKey]
    runs: list[dict[str, Any]]

    def values(self, cell: int) -> list[tuple[float, dict[str, Any]]]:
        """Return the value of each run of a row, together with the run."""
        span = self.cells.span(cell)
        return [(float(value), self.runs[run]) for run, value in zip(self.cells.value_run[span], self.cells.value[span], strict=True)]


def dataset_rows(dataset: Dataset) -> DatasetRows:
    """Arrange the summary numbers of one set of runs. Runs under different conditions, or on different machines, are different rows."""
    nothing = msgspec.structs.replace(dataset, runs=dataset.runs.iloc[:0], results=dataset.results.iloc[:0])
    number_of: dict[Profile, int] = {}
    numbers = np.array([number_of.setdefault(profile, len(number_of)) for profile in profiles_of(dataset)], np.int64)
    runs = stated_of(dataset.runs, ("run", "session", "host", "release"))
    cells = cell_table(dataset, nothing, Policy(), numbers)
    return DatasetRows(cells, row_keys(cells, np.arange(len(cells.tested)), Policy()), runs)


def row_values(dataset: Dataset) -> list[RowValue]:
    """Return the values of loss and of the rows that a diff tests, sorted by name.

    Controls are left out, because they measure the host and not a release.

    Args:
        dataset: runs of one release of each system, so that no row contains two releases.
    """
    rows = dataset_rows(without_controls(dataset))
    wanted = {(metric, statistic) for metric, statistics in TESTED.items() for statistic in statistics} | {LOSS}
    results = []
    for cell, key in enumerate(rows.keys):
        is_wanted = bool(rows.cells.tested[cell]) or (key.metric, key.statistic) in wanted
        if is_wanted and (values := rows.values(cell)):
            results.append(_row_value(key, values, mark_names(int(rows.cells.marks[cell]))))
    return sorted(
        results, key=lambda row: (str(row.key.system), row.key.metric, row.key.statistic, str(row.key.transport), row.key.payload_bytes or 0)
    )


def _row_value(key: RowKey, values: Sequence[tuple[float, dict[str, Any]]], marks: tuple[str, ...]) -> RowValue:
    plain = [value for value, _ in values]
    interval = median_interval(plain, CONFIDENCE)
    first = values[0][1]
    return RowValue(
        key=key,
        unit=METRICS[key.metric].unit,
        better=METRICS[key.metric].better,
        value=median_run(plain, key.metric),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        confidence=interval.confidence if interval else None,
        runs=len(plain),
        sessions=len({run["session"] for _, run in values if run["session"] is not None}),
        host=first["host"],
        release=first["release"],
        marks=marks,
    )
