"""The kinds of tables on RTI's published pages, however a page was saved: their heads, and what makes a record of a row's cells.

Pages of Connext DDS have ten columns of latencies; those of Connext Micro nine, and heads of their own.
Source: RTI's pages on Connext DDS 6.1 to 7.3, and on Connext Micro 2.4.14 and 3.0.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tacholog.formats.kit import Broken, Conditions, Found, Line, Record, printed, unit_of_last_decimal
from tacholog.formats.rti.figures import OUT_OF_PLACE, Rates, cpu, latency, throughput, too_large
from tacholog.formats.rti.rules import STATISTICS

CPU_COLUMNS = ("CPU (%)", "CPU %")
CPU = ("cpu_of_machine", "mean")
_RATES = (
    None,
    ("messages_received", "total"),
    ("message_rate", "mean"),
    ("goodput", "mean"),
    ("messages_lost", "total"),
    ("loss", "total"),
)
_SPREAD = (None, *(("goodput", statistic) for statistic in ("min", "p50", "p90", "max")))
PERCENT_CELL = re.compile(r"[0-9]{1,3}\.[0-9][0-9]")


class TableForm(NamedTuple):
    """The columns of a kind of table, what makes a record of a row's cells, and which number each cell is (``None``: a setting, not a number)."""

    columns: tuple[str, ...]
    first_decimal: int
    read: Callable[[Sequence[str]], Record | Broken]
    numbers: tuple[tuple[str, str] | None, ...]


def tables(columns: Sequence[str]) -> list[TableForm]:
    """The kinds of tables whose head begins with these columns."""
    return [
        table
        for table in _TABLES
        if len(columns) - (columns[-1] in CPU_COLUMNS) <= len(table.columns)
        and all(re.fullmatch(wanted, column) for wanted, column in zip(table.columns, columns, strict=False))
        and (columns[-1] not in CPU_COLUMNS or len(columns) == len(table.columns) + 1)
    ]


def _latency(cells: Sequence[str]) -> Record | Broken:
    more = (cpu(cells[10]),) if len(cells) > 10 else ()  # noqa: PLR2004
    return latency(cells[0], cells[1:10], more=more)


def _latency_of_micro(cells: Sequence[str]) -> Record | Broken:
    return latency(cells[0], cells[1:9], more=(cpu(cells[9]),) if len(cells) > 9 else ())  # noqa: PLR2004


def _latency_of_micro_3(cells: Sequence[str]) -> Record | Broken:
    more = (cpu(cells[9]),) if len(cells) > 9 else ()  # noqa: PLR2004
    return latency(cells[0], cells[1:9], more=more, statistics=_STATISTICS_OF_MICRO_3)


def _throughput(cells: Sequence[str]) -> Record | Broken:
    size, received, rate, mbit, lost, percent = cells[:6]
    if any("." in count for count in (received, rate, lost)):
        return OUT_OF_PLACE
    return throughput(Rates(size, received, rate, mbit, lost, percent), (cpu(cells[6]),) if len(cells) > 6 else ())  # noqa: PLR2004


def _over_subscribers(cells: Sequence[str]) -> Record | Broken:
    subscribers, *figures = cells
    if len({len(figure.partition(".")[2]) for figure in figures}) > 1:
        return OUT_OF_PLACE
    if trouble := too_large(subscribers, *figures):
        return trouble
    if any(float(low) > float(high) for low, high in pairwise(figures)):
        return Broken("the statistics contradict each other")
    return Record(
        test="throughput",
        payload_bytes=None,
        numbers=tuple(
            printed("goodput", name, round(float(cell) * 1e6), unit_of_last_decimal(cell) * 1e6)
            for name, cell in zip(("min", "p50", "p90", "max"), figures, strict=True)
        ),
        side="subscriber",
        conditions=Conditions(definition="rti-over-subscribers", subscribers=int(subscribers)),
    )


def _to_many(cells: Sequence[str]) -> Record | Broken:
    subscribers, size, mbit, percent = cells
    if "." in size or "." not in mbit or not PERCENT_CELL.fullmatch(percent) or float(percent) > 100:  # noqa: PLR2004
        return OUT_OF_PLACE
    if trouble := too_large(size, mbit) or too_large(subscribers, percent):
        return trouble
    goodput = printed("goodput", "mean", round(float(mbit) * 1e6), unit_of_last_decimal(mbit) * 1e6)
    return Record(
        test="throughput",
        payload_bytes=int(size),
        numbers=(goodput, printed("loss", "total", round(float(percent) / 100, 6), round(unit_of_last_decimal(percent) / 100, 6))),
        side="subscriber",
        conditions=Conditions(definition="rti-over-subscribers", subscribers=int(subscribers)),
    )


_MICROSECONDS = r" \([\u03bc\u00b5u]s\)"
_STATISTICS_OF_MICRO_3 = (*STATISTICS[:7], "p99.9")
_TABLES = (
    TableForm(
        (
            r"Sample Size \(Bytes\)",
            *(
                name + _MICROSECONDS
                for name in ("A(?:vg|ve)", "Std", "Min", "Max", "50%", "90%{1,2}", "99%{1,2}", r"99\.99%{1,2}", r"99\.9999%{1,2}")
            ),
        ),
        2,
        _latency,
        (None, *(("latency", statistic) for statistic in STATISTICS)),
    ),
    TableForm(
        (
            "Length|Bytes",
            f"A(?:vg|ve){_MICROSECONDS}",
            f"Std(?:{_MICROSECONDS})?",
            *(name + _MICROSECONDS for name in ("Min", "Max")),
            *(f"{name}(?:{_MICROSECONDS})?" for name in ("50%", "90%", "99%", r"99\.99%")),
        ),
        2,
        _latency_of_micro,
        (None, *(("latency", statistic) for statistic in STATISTICS[:8])),
    ),
    TableForm(
        (r"Size \(Bytes\)", *(name + _MICROSECONDS for name in ("A(?:vg|ve)", "Std", "Min", "Max", "50%", "90%", "99%", r"99\.9%"))),
        2,
        _latency_of_micro_3,
        (None, *(("latency", statistic) for statistic in _STATISTICS_OF_MICRO_3)),
    ),
    TableForm((r"Size \(Bytes\)", "Packets", "Packets/s", r"Mbps \(ave\)", "Lost", r"Lost \(%\)"), 3, _throughput, _RATES),
    TableForm(
        ("Length", "Total Samples", "A(?:vg|ve) Samples/s", "A(?:vg|ve) Mbps", "Lost Samples", r"Lost Samples (?:%|\(%\))"), 3, _throughput, _RATES
    ),
    TableForm(("Subscribers", *(rf"{name}(?: \(Mbps\))?" for name in ("Min", "Median", "90percentile", "Max"))), 1, _over_subscribers, _SPREAD),
    TableForm(
        ("Subscribers", r"Sample Size \(Bytes\)", "A(?:vg|ve) Mbps", r"Lost Samples \(%\)"),
        2,
        _to_many,
        (None, None, ("goodput", "mean"), ("loss", "total")),
    ),
)
# One look that says of nearly every line that it is no heading.
HEADING = re.compile("|".join(dict.fromkeys((*map(re.escape, CPU_COLUMNS), *(f"(?:{wanted})" for table in _TABLES for wanted in table.columns)))))


def bare(text: str) -> str:
    """A cell or heading without the bar behind it that some ways of saving a page leave there."""
    return text[:-1].rstrip() if text.endswith("|") else text


class LineTable:
    """A table with a row a line: cells between bars, or, where headings have no bars, between blanks."""

    def __init__(self) -> None:
        """Wait for a head."""
        self._table: TableForm | None = None
        self.is_open = False  # Whether rows may follow.
        self._has_bars = False
        self.has_begun = False  # With the latest line.

    def take(self, line: Line) -> Found | None:
        """Use a head, a rule, or a row; any other line ends the table."""
        text = line.text.strip()
        self.has_begun = False
        if GRID_RULE.fullmatch(text):
            return Found(line, None)
        if head := _head(text):
            self.has_begun = True
            self._table, self.is_open, self._has_bars = head, True, "|" in text
            return Found(line, None)
        if self._table is None or not _ROW.fullmatch(text):
            self._table, self.is_open = None, False
            return None
        if not text.strip("-|: "):
            return Found(line, None)
        return Found(line, self._record(line, text, self._table))

    def _record(self, line: Line, text: str, table: TableForm) -> Record | Broken:
        cells = [cell.strip() for cell in text.strip("|").split("|")] if self._has_bars else text.split()
        if not line.whole or len(cells) != len(table.columns) or not all(_CELL.fullmatch(cell) for cell in cells):
            return Broken("a row that does not fit the table's columns")
        places = [at for at, cell in enumerate(cells) if "." in cell]
        if places[:1] != [table.first_decimal]:
            return OUT_OF_PLACE
        return table.read(cells)


GRID_RULE = re.compile(r"\+(?:[-=]{3,80}\+){2,20}")  # Of reStructuredText, between all rows.
_CELL = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,3})?")
_ROW = re.compile(r"[0-9][0-9. ]{1,200}|[|0-9][0-9.| ]{1,200}|-{3}[-|: ]{1,200}")
_LINE_HEADS = tuple((table, re.compile(r"\|? *" + r"(?: *\| *| )".join(f"(?:{wanted})" for wanted in table.columns) + r" *\|?")) for table in _TABLES)
HEADS_BEGIN = ("|", "+", "Length", "Bytes", "Size (Bytes)", "Sample Size (Bytes)", "Subscribers")  # Of a table with a row a line.


def _head(text: str) -> TableForm | None:
    """The table whose whole head this line is; bars are between all its headings or between none."""
    if not text.startswith(HEADS_BEGIN):
        return None
    bars = text.strip("|").count("|")
    return next((table for table, head in _LINE_HEADS if bars in {0, len(table.columns) - 1} and head.fullmatch(text)), None)
