"""The headline numbers of a series.

Home page, table of systems and transport pages all choose them here, so that no page contradicts another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacholog.view.series import Cell, Series

# The statistics in order of preference.
_PREFERRED: Mapping[str, Sequence[str]] = {"latency": ("p50", "mean", "typical", "range-low", "min", "max"), "goodput": ("mean",)}
RANKED_BY = (("latency", "p50"), ("latency", "mean"), ("goodput", "mean"))  # what series may be ranked by; other statistics are too vague


def headline_statistic(series: Series, metric: str) -> str | None:
    """Return the statistic that stands for a latency or goodput; ``None`` where the series has no such number."""
    present = [statistic for name, statistic in series.statistics() if name == metric]
    return next((name for name in _PREFERRED[metric] if name in present), present[0] if present else None)


def headline(series: Series, metric: str) -> dict[int | None, Cell]:
    """Return the headline numbers of a latency or goodput by size; those that are not stated are left out."""
    statistic = headline_statistic(series, metric)
    return {} if statistic is None else {at: cell for at, cell in series.cells(metric, statistic).items() if cell.value is not None}
