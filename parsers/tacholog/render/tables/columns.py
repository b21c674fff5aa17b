"""The columns of a table of numbers, and the marks and zeros that are stated once above it instead of in each cell."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tacholog.schema.metrics import METRICS
from tacholog.view.numerals import SECONDS, Unit, unit_shown
from tacholog.view.series import Series

_STATISTICS = ("typical", "range-low", "min", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999", "max", "range-high", "mean", "std")
_HEADINGS = {
    "p50": "median",
    "std": "std dev",
    "range-low": "lowest",
    "range-high": "highest",
    "typical": "typical",
    "min": "min",
    "max": "max",
    "mean": "mean",
}
_COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("sustained_rate", "lower-bound", "sustained rate"),
    ("sustained_rate", "upper-bound", "goal missed at"),
    ("message_rate", "mean", "received rate"),
    ("goodput", "mean", "goodput"),
    ("offered_rate", "mean", "offered rate"),
    ("cpu_per_message", "mean", "processor time per message"),
    ("messages_sent", "total", "sent"),
    ("messages_received", "total", "received"),
    ("messages_lost", "total", "lost"),
    ("loss", "total", "loss"),
    ("messages_duplicated", "total", "received twice"),
    ("messages_late", "total", "answered late"),
    ("messages_reordered", "total", "out of order"),
    ("messages_corrupted", "total", "corrupted"),
    ("histogram_overflow", "total", "above the histogram"),
    ("duration", "total", "duration"),
)
_ERRORS = ("messages_duplicated", "messages_late", "messages_reordered", "messages_corrupted", "histogram_overflow")
_MEASURED = ("latency", "goodput", "message_rate", "sustained_rate")


class TableColumn(msgspec.Struct, frozen=True):
    """One column: the number it shows, its heading and its unit."""

    metric: str
    statistic: str
    heading: str
    unit: Unit

    @property
    def pair(self) -> tuple[str, str]:
        """The metric and the statistic."""
        return self.metric, self.statistic


def columns_of(series: Series) -> list[TableColumn]:
    """Return the columns for which a series has numbers, in reading order."""
    present = series.statistics()
    latency = [TableColumn("latency", name, heading_of("latency", name), unit_shown("ns")) for name in _STATISTICS if ("latency", name) in present]
    others = [
        TableColumn(metric, statistic, heading, SECONDS if metric == "duration" else unit_shown(METRICS[metric].unit))
        for metric, statistic, heading in _COLUMNS
        if (metric, statistic) in present
    ]
    known = {(column.metric, column.statistic) for column in (*latency, *others)}
    rest = [
        TableColumn(metric, statistic, _words(metric, statistic), _unit(metric)) for metric, statistic in present if (metric, statistic) not in known
    ]
    return [*latency, *others, *rest]


def heading_of(metric: str, statistic: str) -> str:
    """Return the heading of a number: ``median``, ``99 %``, ``goodput``."""
    if metric == "latency":
        return _HEADINGS.get(statistic, f"{statistic.removeprefix('p')} %")
    return next((heading for *pair, heading in _COLUMNS if pair == [metric, statistic]), _words(metric, statistic))


def without_zeros(series: Series, columns: Sequence[TableColumn]) -> tuple[list[TableColumn], list[TableColumn]]:
    """Return the columns to show, and those of errors that never happened: a sentence replaces a column of zeros."""
    never = [column for column in columns if column.metric in _ERRORS and _all_zero(series, column)]
    return [column for column in columns if column not in never], never


def marks_everywhere(series: Series, columns: Sequence[TableColumn]) -> list[str]:
    """Return the marks that every latency and rate of a series has. They are stated once above the table."""
    cells = [cell for column in columns if column.metric in _MEASURED for cell in series.cells(column.metric, column.statistic).values()]
    if not cells:
        return []
    return [mark for mark in cells[0].marks if all(mark in cell.marks for cell in cells)]


def _all_zero(series: Series, column: TableColumn) -> bool:
    return all(cell.high == 0 for cell in series.cells(column.metric, column.statistic).values())


def _words(metric: str, statistic: str) -> str:
    words = METRICS[metric].words.lower() if metric in METRICS else metric
    return words if statistic == "total" else f"{words}, {statistic}"


def _unit(metric: str) -> Unit:
    return unit_shown(METRICS[metric].unit) if metric in METRICS else Unit("", 1.0)
