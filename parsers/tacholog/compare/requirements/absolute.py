"""Requirements with a limit of their own: is the median over the runs above or below it?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import NamedTuple

import msgspec
import numpy as np

from tacholog.compare.diff.numbers import Numbers, mark_names
from tacholog.compare.diff.verdict import FAILED_BITS
from tacholog.compare.policy import TESTABLE_BEYOND, band_of, percentile
from tacholog.compare.requirements.file import Requirement
from tacholog.compare.requirements.interval import MedianInterval, attainable, median_interval, values_needed
from tacholog.compare.requirements.result import RequirementRow, RowVerdict
from tacholog.compare.result import RowKey
from tacholog.compare.row_values import Arranged, arranged
from tacholog.schema.marks import MARK_BITS
from tacholog.schema.metrics import median_run
from tacholog.schema.records import BOUNDS
from tacholog.store.frames import Dataset

_LOST = ("loss", "messages_lost")
_EXACT = 1e-9  # a limit in the file and the same number in a log may differ by what floats lose


class _Run(NamedTuple):
    """A run's value, and the session that it belongs to."""

    value: float
    session: str | None


def judge_absolute(dataset: Dataset, requirement: Requirement) -> tuple[RequirementRow, ...]:
    """Judge each row of a dataset that holds only what the requirement names.

    Rows are those of `tacholog diff`: runs under other conditions, or on another machine, are another row.
    """
    found = arranged(dataset)
    rows = [msgspec.structs.replace(_row(found, cell, requirement), key=key) for cell, key in enumerate(found.keys)]
    return tuple(sorted(rows, key=_order))


def _order(row: RequirementRow) -> tuple[object, ...]:
    return ("failed", "undecided", "passed").index(row.verdict), row.key.transport or "", row.key.payload_bytes or 0


def _row(found: Arranged, cell: int, requirement: Requirement) -> RequirementRow:
    data, cells = found.data, found.data.cells
    runs = [_Run(value, run["session"]) for value, run in found.values(cell)]
    samples = float(cells.samples[cell])
    row = RequirementRow(
        key=RowKey(metric=requirement.metric, statistic=requirement.statistic),  # its own is added with those of all others
        verdict="undecided",
        host=found.runs[int(cells.run[cell])]["host"],
        runs=len(runs),
        sessions=len({run.session for run in runs if run.session is not None}),
        samples=None if np.isnan(samples) else int(samples),
        marks=mark_names(int(cells.marks[cell])),
    )
    if reasons := _unfit(int(cells.marks[cell]), runs, row.samples, requirement):
        needed = _samples_needed(requirement.statistic) if "undersampled" in reasons else None
        return msgspec.structs.replace(row, reasons=reasons, needed=needed, value=_median([run.value for run in runs], requirement))
    return _judged(row, runs, _widths(data, cell), requirement)


def _unfit(marks: int, runs: Sequence[_Run], samples: int | None, requirement: Requirement) -> tuple[str, ...]:
    """Why the values of a row cannot be judged, whatever they are."""
    if not runs:
        return ("no_value",)
    if marks & FAILED_BITS:
        return ("marked", *(name for name in mark_names(marks & FAILED_BITS)))
    if marks & MARK_BITS["loss"] and requirement.metric != "loss":
        return ("lossy",)
    needed = _samples_needed(requirement.statistic)
    if marks & MARK_BITS["undersampled"] or (needed is not None and samples is not None and samples < needed):
        return ("undersampled",)
    return ()


def _samples_needed(statistic: str) -> int | None:
    """How many samples in each run a percentile needs; ``None``: it is in the middle of the distribution, or no percentile."""
    share = percentile(statistic)
    if share is None or band_of(statistic) == "centre":
        return None
    return round(TESTABLE_BEYOND * 100 / (100 - share))


def _judged(row: RequirementRow, runs: Sequence[_Run], widths: tuple[float, float], requirement: Requirement) -> RequirementRow:
    needed = values_needed(requirement.confidence)
    over_sessions = row.sessions >= needed and all(run.session is not None for run in runs)
    by_session = _by_session(runs)
    values = list(by_session.values()) if over_sessions else [run.value for run in runs]
    found = median_interval(values, requirement.confidence)
    row = msgspec.structs.replace(row, value=_median([run.value for run in runs], requirement), over="sessions" if over_sessions else "runs")
    if found is None:
        return msgspec.structs.replace(row, reasons=("few_runs",), needed=needed, confidence=attainable(len(values)))
    found = MedianInterval(max(found.low - widths[0], 0.0), found.high + widths[1], found.confidence)
    verdict = _verdict(found.low, found.high, requirement)
    reasons: tuple[str, ...] = ("across_limit",) if verdict == "undecided" else ()
    # A few sessions do not show how much sessions differ. If they disagree about the limit, more runs of the same days would not settle it.
    if verdict != "undecided" and not over_sessions and any(_verdict(value, value, requirement) != verdict for value in by_session.values()):
        verdict, reasons = "undecided", ("sessions_disagree",)
    # Losses come in bursts: a few runs that lost much move no median, and a limit of no loss at all would pass.
    mean = fmean(run.value for run in runs)
    if verdict == "passed" and requirement.metric in _LOST and _verdict(mean, mean, requirement) == "failed":
        verdict, reasons = "undecided", ("some_runs_lost",)
    interval = (found.low, found.high if np.isfinite(found.high) else None)
    return msgspec.structs.replace(row, verdict=verdict, reasons=reasons, interval=interval, confidence=found.confidence)


def _by_session(runs: Sequence[_Run]) -> dict[str, float]:
    """The median of each session; between two runs in the middle, the mean of both.

    The worse of the two, as everywhere else, would move each session of two runs to the bad side: a requirement that is just met failed in 19 %.
    """
    names = sorted({run.session for run in runs if run.session is not None})
    return {name: median(run.value for run in runs if run.session == name) for name in names}


def _median(values: Sequence[float], requirement: Requirement) -> float | None:
    return median_run(values, requirement.metric) if values else None


def _verdict(low: float, high: float, requirement: Requirement) -> RowVerdict:
    """Whether an interval lies on the right side of the limit, on the wrong one, or on both. A value that is the limit is on the right side."""
    limit = requirement.limit
    room = abs(limit) * _EXACT
    if requirement.max is not None:
        return "passed" if high <= limit + room else "failed" if low > limit + room else "undecided"
    return "passed" if low >= limit - room else "failed" if high < limit - room else "undecided"


def _widths(data: Numbers, cell: int) -> tuple[float, float]:
    """How far below and above a printed value the true one may lie, by its rounding and its bound."""
    resolution, bound = float(data.cells.resolution[cell]), BOUNDS[int(data.cells.bound[cell])]
    half = 0.0 if np.isnan(resolution) else resolution / 2
    if bound == "<":
        return np.inf, half
    if bound == ">":
        return half, np.inf
    return (2 * half, 2 * half) if bound == "~" else (half, half)
