"""The kinds of tables on RTI's published pages, however a page was saved: their heads, and the rules that make a record of a row's cells.

Pages of Connext DDS have ten columns of latencies; those of Connext Micro nine, and heads of their own.
Source: RTI's pages on Connext DDS 6.1 to 7.3, and on Connext Micro 2.4.14 and 3.0.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from tacholog.formats.kit import MICROSECOND, Broken, Cell, Cells, Check, Conditions, Field, Finding, Line, LineRule, Record, ascending
from tacholog.formats.rti import rules
from tacholog.formats.rti.rules import LATENCIES, LATENCY, OUT_OF_PLACE, RATES, SUMMARY, subscriber

CPU_COLUMNS = ("CPU (%)", "CPU %")
PERCENT_CELL = re.compile(r"[0-9]{1,3}\.[0-9][0-9]")
_SPREAD = ("min", "p50", "p90", "max")


def _goodput(group: str, statistic: str) -> Field:
    return Field("goodput", statistic, group, unit=1e6, places=0)


def _is_spread(cells: Cells) -> bool:
    return cells["subscribers"] > 0 and len({cells.decimals[name] for name in _SPREAD}) == 1


def _is_of_many(cells: Cells) -> bool:
    places = cells.decimals
    return cells["subscribers"] > 0 and not places["size"] and places["mbit"] > 0 and places["percent"] == len("00") and cells["percent"] <= 100  # noqa: PLR2004


SPREAD = LineRule(
    fields=[_goodput(name, name) for name in _SPREAD],
    record=subscriber("rti-over-subscribers"),
    checks=(
        Check(OUT_OF_PLACE.reason, _is_spread),
        Check("the statistics contradict each other", lambda cells: ascending([cells[name] for name in _SPREAD])),
    ),
    size=None,
)
TO_MANY = LineRule(
    fields=(_goodput("mbit", "mean"), Field("loss", "total", "percent", unit=0.01, places=6)),
    record=subscriber("rti-over-subscribers"),
    checks=(Check(OUT_OF_PLACE.reason, _is_of_many),),
)


class TableForm(NamedTuple):
    """A kind of table: the rule of its rows, the headings of its columns by the names of the rule's groups, and where its first decimal stands."""

    rule: LineRule
    headings: Mapping[str, str]
    first_decimal: int = 2

    def record(self, cells: Sequence[str]) -> Record | Broken:
        """Return the record of a row; behind the columns may stand the processor time."""
        texts = dict(zip((*self.headings, "cpu"), cells, strict=False))
        if "." in cells[0] or not all(cell.isdecimal() for name, cell in texts.items() if name in {"received", "rate", "lost"}):
            return OUT_OF_PLACE
        found = rules.record(self.rule, texts, unit=MICROSECOND)
        if isinstance(found, Broken) or "subscribers" not in texts:
            return found
        return msgspec.structs.replace(found, conditions=found.conditions.over(Conditions(subscribers=int(texts["subscribers"]))))


def tables(columns: Sequence[str]) -> list[TableForm]:
    """The kinds of tables whose head begins with these columns."""
    return [
        table
        for table in _TABLES
        if len(columns) - (columns[-1] in CPU_COLUMNS) <= len(table.headings)
        and all(re.fullmatch(wanted, column) for wanted, column in zip(table.headings.values(), columns, strict=False))
        and (columns[-1] not in CPU_COLUMNS or len(columns) == len(table.headings) + 1)
    ]


_US = r" \([\u03bc\u00b5u]s\)"
_MAYBE_US = f"(?:{_US})?"
_MEAN = "A(?:vg|ve)"
_SIZE = r"Size \(Bytes\)"


def _headings(groups: Sequence[str], *headings: str) -> Mapping[str, str]:
    return dict(zip(groups, headings, strict=True))


_TABLES = (
    TableForm(
        LATENCY,
        _headings(
            ("size", *LATENCIES),
            rf"Sample {_SIZE}",
            *(name + _US for name in (_MEAN, "Std", "Min", "Max", "50%", "90%{1,2}", "99%{1,2}", r"99\.99%{1,2}", r"99\.9999%{1,2}")),
        ),
    ),
    TableForm(
        LATENCY,
        _headings(
            ("size", *LATENCIES[:8]),
            *("Length|Bytes", _MEAN + _US, f"Std{_MAYBE_US}", f"Min{_US}", f"Max{_US}"),
            *(name + _MAYBE_US for name in ("50%", "90%", "99%", r"99\.99%")),
        ),
    ),
    TableForm(
        LATENCY,
        _headings(("size", *LATENCIES[:7], "p99_9"), _SIZE, *(name + _US for name in (_MEAN, "Std", "Min", "Max", "50%", "90%", "99%", r"99\.9%"))),
    ),
    TableForm(SUMMARY, _headings(RATES, _SIZE, "Packets", "Packets/s", r"Mbps \(ave\)", "Lost", r"Lost \(%\)"), first_decimal=3),
    TableForm(
        SUMMARY,
        _headings(RATES, "Length", "Total Samples", f"{_MEAN} Samples/s", f"{_MEAN} Mbps", "Lost Samples", r"Lost Samples (?:%|\(%\))"),
        first_decimal=3,
    ),
    TableForm(
        SPREAD,
        _headings(("subscribers", *_SPREAD), "Subscribers", *(rf"{name}(?: \(Mbps\))?" for name in ("Min", "Median", "90percentile", "Max"))),
        first_decimal=1,
    ),
    TableForm(
        TO_MANY, _headings(("subscribers", "size", "mbit", "percent"), "Subscribers", rf"Sample {_SIZE}", f"{_MEAN} Mbps", r"Lost Samples \(%\)")
    ),
)
# One look that says of nearly every line that it is no heading.
HEADING = re.compile(
    "|".join(dict.fromkeys((*map(re.escape, CPU_COLUMNS), *(f"(?:{wanted})" for table in _TABLES for wanted in table.headings.values()))))
)


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

    def take(self, line: Line) -> Finding | None:
        """Use a head, a rule, or a row; any other line ends the table."""
        text = line.text.strip()
        self.has_begun = False
        if GRID_RULE.fullmatch(text):
            return Finding(line, None)
        if head := _head(text):
            self.has_begun = True
            self._table, self.is_open, self._has_bars = head, True, "|" in text
            return Finding(line, None)
        if self._table is None or not _ROW.fullmatch(text):
            self._table, self.is_open = None, False
            return None
        if not text.strip("-|: "):
            return Finding(line, None)
        return Finding(line, self._record(line, text, self._table))

    def _record(self, line: Line, text: str, table: TableForm) -> Record | Broken:
        inner = text.strip("|")
        cells = Cell.between(inner, "|" if self._has_bars else None, line.text.find(inner))
        if not line.whole or len(cells) != len(table.headings) or not all(_CELL.fullmatch(cell) for cell in cells):
            return Broken("a row that does not fit the table's columns")
        places = [at for at, cell in enumerate(cells) if "." in cell]
        if places[:1] != [table.first_decimal]:
            return OUT_OF_PLACE
        return table.record(cells)


GRID_RULE = re.compile(r"\+(?:[-=]{3,80}\+){2,20}")  # Of reStructuredText, between all rows.
_CELL = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,3})?")
_ROW = re.compile(r"[0-9][0-9. ]{1,200}|[|0-9][0-9.| ]{1,200}|-{3}[-|: ]{1,200}")
_LINE_HEADS = tuple(
    (table, re.compile(r"\|? *" + r"(?: *\| *| )".join(f"(?:{wanted})" for wanted in table.headings.values()) + r" *\|?")) for table in _TABLES
)
HEADS_BEGIN = ("|", "+", "Length", "Bytes", "Size (Bytes)", "Sample Size (Bytes)", "Subscribers")  # Of a table with a row a line.


def _head(text: str) -> TableForm | None:
    """The table whose whole head this line is; bars are between all its headings or between none."""
    if not text.startswith(HEADS_BEGIN):
        return None
    bars = text.strip("|").count("|")
    return next((table for table, head in _LINE_HEADS if bars in {0, len(table.headings) - 1} and head.fullmatch(text)), None)
