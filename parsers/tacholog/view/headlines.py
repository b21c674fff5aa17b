"""The numbers by which a page speaks of a series.

Home page, table of systems and transport pages all choose them here, so that none says what another denies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacholog.view.series import Cell, Series

# The statistic that says most of those a series has.
_TOLD_BY: Mapping[str, Sequence[str]] = {"latency": ("p50", "mean", "typical", "range-low", "min", "max"), "goodput": ("mean",)}
RANKED_BY = (("latency", "p50"), ("latency", "mean"), ("goodput", "mean"))  # what series may be ranked by; the others are too vague


def told_by(series: Series, metric: str) -> str | None:
    """Return the statistic by which a latency or goodput is told; ``None`` where the series has no such number."""
    present = [statistic for name, statistic in series.statistics() if name == metric]
    return next((name for name in _TOLD_BY[metric] if name in present), present[0] if present else None)


def headline(series: Series, metric: str) -> dict[int | None, Cell]:
    """Return the numbers by which a latency or goodput is told, by size; those that nobody states are left out."""
    statistic = told_by(series, metric)
    return {} if statistic is None else {at: cell for at, cell in series.cells(metric, statistic).items() if cell.value is not None}
