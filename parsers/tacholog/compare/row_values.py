"""One value for each row of a set of runs: the median over its runs, and the interval in which it lies. What other tools and dashboards are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from tacholog.compare.diff.keys import row_keys
from tacholog.compare.diff.numbers import Numbers, mark_names, numbers
from tacholog.compare.policy import TESTED, Policy
from tacholog.compare.profiles import Profile, profiles_of
from tacholog.compare.requirements.interval import median_interval
from tacholog.compare.result import RowKey
from tacholog.compare.sides import stated_of, without_controls
from tacholog.schema.metrics import METRICS, Direction, median_run
from tacholog.store.frames import Dataset

CONFIDENCE = 0.95
LOSS = ("loss", "total")


class RowValue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row and its median over ``runs``, which is the value of one of them, in ``unit``.

    The median over runs lies between ``low`` and ``high`` with ``confidence``; they are missing where too few runs were made. ``marks`` are reasons
    to be careful.
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


class Arranged(NamedTuple):
    """The numbers of a set of runs as `tacholog diff` arranges them, and what is known of each run, in the order of the runs."""

    data: Numbers
    keys: list[RowKey]
    runs: list[dict[str, Any]]

    def values(self, cell: int) -> list[tuple[float, dict[str, Any]]]:
        """The value of each run of a row, with the run."""
        cells, entries = self.data.cells, self.data.entries
        first = int(cells.first[cell])
        span = slice(first, first + int(cells.runs[cell]))
        return [(float(value), self.runs[run]) for run, value in zip(entries.run[span], entries.value[span], strict=True)]


def arranged(dataset: Dataset) -> Arranged:
    """Arrange the summary numbers of one set of runs. Runs under other conditions or on another machine are another row."""
    nothing = msgspec.structs.replace(dataset, runs=dataset.runs.iloc[:0], results=dataset.results.iloc[:0])
    known: dict[Profile, int] = {}
    codes = np.array([known.setdefault(profile, len(known)) for profile in profiles_of(dataset)], np.int64)
    runs = stated_of(dataset.runs, ("run", "session", "host", "release"))
    data = numbers(dataset, nothing, Policy(), codes)
    return Arranged(data, row_keys(data, np.arange(len(data.tested)), Policy()), runs)


def row_values(dataset: Dataset) -> list[RowValue]:
    """The values of the rows that a diff tests, and of loss, by name. Controls are left out: they show what a host does, and nothing of a release.

    Args:
        dataset: runs of one release of each system, so that no row holds two releases.
    """
    found = arranged(without_controls(dataset))
    wanted = {(metric, statistic) for metric, statistics in TESTED.items() for statistic in statistics} | {LOSS}
    made = []
    for cell, key in enumerate(found.keys):
        is_wanted = bool(found.data.tested[cell]) or (key.metric, key.statistic) in wanted
        if is_wanted and (values := found.values(cell)):
            made.append(_row_value(key, values, mark_names(int(found.data.cells.marks[cell]))))
    return sorted(made, key=lambda row: (str(row.key.system), row.key.metric, row.key.statistic, str(row.key.transport), row.key.payload_bytes or 0))


def _row_value(key: RowKey, values: Sequence[tuple[float, dict[str, Any]]], marks: tuple[str, ...]) -> RowValue:
    plain = [value for value, _ in values]
    interval = median_interval(plain, CONFIDENCE)
    run = values[0][1]
    return RowValue(
        key=key,
        unit=METRICS[key.metric].unit,
        better=METRICS[key.metric].better,
        value=median_run(plain, key.metric),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        confidence=interval.confidence if interval else None,
        runs=len(plain),
        sessions=len({one["session"] for _, one in values if one["session"] is not None}),
        host=run["host"],
        release=run["release"],
        marks=marks,
    )
