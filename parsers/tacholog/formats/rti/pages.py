"""Tables of RTI's published pages. Depending on how a page was saved, each cell is a paragraph, or each row is a line.

There are titles, prose and scripts between the tables. A bar may follow a cell. If each cell is a paragraph, a row has a cell for each column of the
table, at equal distances. Only the cell of ``CPU (%)`` may be missing from a row. Processor times have two decimals and sizes have no decimals, so a
processor time can be distinguished from the size of the next row. Pages of Connext DDS have ten columns of latencies; pages of Connext Micro have
nine columns, and different heads.
Source: RTI's pages on Connext DDS 6.1 to 7.3, and on Connext Micro 2.4.14 and 3.0.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from tacholog.formats.kit import MICROSECOND, Broken, Cell, Cells, Check, Conditions, Field, Finding, Line, LineRule, Record, ascending, finding_on
from tacholog.formats.rti import rules
from tacholog.formats.rti.rules import LATENCIES, LATENCY, OUT_OF_PLACE, RATES, SUMMARY, subscriber

CPU_COLUMNS = ("CPU (%)", "CPU %")
PERCENT_CELL = re.compile(r"[0-9]{1,3}\.[0-9][0-9]")
_SPREAD = ("min", "p50", "p90", "max")


def _goodput(group: str, statistic: str) -> Field:
    return Field("goodput", statistic, group, unit=1e6, places=0)


def _is_of_many(cells: Cells) -> bool:
    decimals = cells.decimals
    return cells["subscribers"] > 0 and not decimals["size"] and decimals["mbit"] > 0 and decimals["percent"] == len("00") and cells["percent"] <= 100  # noqa: PLR2004


SPREAD = LineRule(
    fields=[_goodput(name, name) for name in _SPREAD],
    record=subscriber("rti-over-subscribers"),
    checks=(
        Check(OUT_OF_PLACE.reason, lambda cells: cells["subscribers"] > 0 and len({cells.decimals[name] for name in _SPREAD}) == 1),
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
    """A kind of table: the rule of its rows, its headings, and the index of its first column with decimals.

    ``headings`` has the heading of each column. The key is the name of a group of the rule.
    """

    rule: LineRule
    headings: Mapping[str, str]
    first_decimal: int = 2

    def record(self, cells: Sequence[str]) -> Record | Broken:
        """Return the record of a row. ``cells`` has a cell for each heading, and perhaps a processor time as the last cell."""
        texts = dict(zip((*self.headings, "cpu"), cells, strict=False))
        if "." in cells[0] or not all(cell.isdecimal() for name, cell in texts.items() if name in {"received", "rate", "lost"}):
            return OUT_OF_PLACE
        record = rules.record(self.rule, texts, unit=MICROSECOND)
        if isinstance(record, Broken) or "subscribers" not in texts:
            return record
        return msgspec.structs.replace(record, conditions=record.conditions.over(Conditions(subscribers=int(texts["subscribers"]))))


def tables(columns: Sequence[str]) -> list[TableForm]:
    """Return the kinds of tables that have a head beginning with these columns."""
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
# One pattern for all headings, so that other lines are rejected fast.
HEADING = re.compile(
    "|".join(dict.fromkeys((*map(re.escape, CPU_COLUMNS), *(f"(?:{wanted})" for table in _TABLES for wanted in table.headings.values()))))
)


def bare(text: str) -> str:
    """Return a cell or a heading without the bar that follows it in some saved pages."""
    return text[:-1].rstrip() if text.endswith("|") else text


class LineTable:
    """A table with one row on each line. The cells are between bars, or, if there are no bars between the headings, between blanks."""

    def __init__(self) -> None:
        self._table: TableForm | None = None
        self.is_open = False  # Whether the next line may be a row.
        self._has_bars = False
        self.has_begun = False  # Whether the latest line was a head.

    def take(self, line: Line) -> Finding | None:
        """Read a head, a row, or a line of dashes. Any other line ends the table."""
        text = line.text.strip()
        self.has_begun = False
        if GRID_RULE.fullmatch(text):
            return Finding(line, None)
        if head := _table_of_head(text):
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
        if not line.whole or len(cells) != len(table.headings) or not all(_NUMBER_CELL.fullmatch(cell) for cell in cells):
            return Broken("a row that does not fit the table's columns")
        decimal_columns = [column for column, cell in enumerate(cells) if "." in cell]
        if decimal_columns[:1] != [table.first_decimal]:
            return OUT_OF_PLACE
        return table.record(cells)


GRID_RULE = re.compile(r"\+(?:[-=]{3,80}\+){2,20}")  # In reStructuredText, such a line separates the rows.
_NUMBER_CELL = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,3})?")
_ROW = re.compile(r"[0-9][0-9. ]{1,200}|[|0-9][0-9.| ]{1,200}|-{3}[-|: ]{1,200}")
_LINE_HEADS = tuple(
    (table, re.compile(r"\|? *" + r"(?: *\| *| )".join(f"(?:{wanted})" for wanted in table.headings.values()) + r" *\|?")) for table in _TABLES
)
HEADS_BEGIN = ("|", "+", "Length", "Bytes", "Size (Bytes)", "Sample Size (Bytes)", "Subscribers")  # the start of a table with one row on each line


def _table_of_head(text: str) -> TableForm | None:
    if not text.startswith(HEADS_BEGIN):
        return None
    bars = text.strip("|").count("|")
    # Bars are between all headings, or there are no bars.
    return next((table for table, head in _LINE_HEADS if bars in {0, len(table.headings) - 1} and head.fullmatch(text)), None)


_ENDS = "the page ends within this row"
_SLIPPED = "the table ends within this row"
_RELIABILITY = {"Best Effort": Conditions(reliability="best-effort"), "Reliable": Conditions(reliability="reliable")}
_TRANSPORT = r"(?P<transport>UDPv4_WAN|UDPv4|UDPv6|SHMEM|TCP|TLS|DTLS)\b"
_TITLES = (
    re.compile(rf"(?:[0-9][0-9.]{{0,20}} )?(?P<keyed>Unkeyed|Keyed), {_TRANSPORT}(?:[^\n]* C\+\+\S*|(?: [0-9]+ ?Gbps)?(?: Network)?)"),
    re.compile(rf"[0-9][0-9.]{{1,20}} {_TRANSPORT}(?: [0-9]+ ?Gbps)?(?: Network)?"),
    re.compile(
        rf"(?:Table )?(?:[0-9][0-9.]{{0,20}} )?(?:Latency |Throughput )?C\+\+ (?:(?P<memory>Shared Memory) |(?:{_TRANSPORT} (?:[0-9]+ ?Gbps )?))?"
        r"(?P<reliability>Best Effort|Reliable) (?P<keyed>[Kk]eyed|[Uu]nkeyed)(?: [0-9]+ ?Gbps)?"
    ),
)
_CELL = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,3})?")
_UNDERLINE = re.compile(r"`{4,200}|~{4,200}|={4,200}|-{4,200}|\"{4,200}|\^{4,200}")  # In reStructuredText, such a line is below a title.
_UNDER_A_HEAD = re.compile(r"-{3,}(?:\|-{3,}){2,20}\|?")


class WebPage:
    """Reads a page. It stores the position within a table, the cells of the current row, and the conditions from titles."""

    def __init__(self) -> None:
        self._columns: list[str] = []  # The headings so far; empty outside of a table.
        self._row: list[Line] = []
        self._last_row: Finding | None = None  # The latest complete row. The next row shows whether this row lacked a cell.
        self._title = Conditions()
        self._reliability = self._of_title = Conditions()
        self._lines = LineTable()
        self._bullets: set[str] = set()  # The bullets since the latest title. If a bullet occurs twice, a garbled title is between.

    def take(self, line: Line) -> list[Finding] | None:
        """Read one paragraph, such as a title, the heading of a column, or a cell.

        Return the findings that are complete; ``None`` if the paragraph is other text.
        """
        text = line.text
        if text.endswith("|"):
            text = bare(text)
        if not text.strip():
            return self._empty_cell(line) if line.text.strip() else None
        if self._title != Conditions() and _UNDERLINE.fullmatch(text.strip()):
            return [Finding(line, None)]
        if (self._lines.is_open or text.startswith(HEADS_BEGIN)) and (findings := self._line_of_cells(line)) is not None:
            return findings
        heading = HEADING.fullmatch(text) is not None
        if heading and not self._row and tables([*self._columns, text]):
            self._columns.append(text)
            return [Finding(line, None)]
        if heading and tables([text]):
            done = list(self._leave(_SLIPPED))
            self._columns = [text]
            return [*done, Finding(line, None)]
        if self._columns and _CELL.fullmatch(text):
            return self._cell(line)
        is_rule = bool(self._columns) and _UNDER_A_HEAD.fullmatch(line.text) is not None and not self._row and self._last_row is None
        done = [Finding(line, None)] if is_rule else [*self._leave(_SLIPPED), *self._use_title(line)]
        return done or None

    def close(self, reason: str = _ENDS) -> Iterator[Finding]:
        """Leave the table. An incomplete row is broken."""
        if self._last_row:
            yield self._last_row
        if self._row:
            yield finding_on(self._row, Broken(reason))
        if self._columns:
            self._use_up_title()
        self._row, self._columns, self._last_row = [], [], None

    def _empty_cell(self, line: Line) -> list[Finding] | None:
        """Handle a single bar, which stands for an empty processor time."""
        if not self._columns or self._columns[-1] not in CPU_COLUMNS or len(self._row) != len(self._columns) - 1:
            return None
        return [Finding(line, None), *self._complete()]

    def _leave(self, reason: str) -> Iterator[Finding]:
        # The last row is complete even if it lacks a processor time.
        if self._columns[-1:] and self._columns[-1] in CPU_COLUMNS and len(self._row) == len(self._columns) - 1:
            yield from self._complete()
        elif self._row and self._last_row:
            yield self._last_row._replace(what=OUT_OF_PLACE)
            self._last_row = None
        yield from self.close(reason)

    def _use_title(self, line: Line) -> Iterator[Finding]:
        words = line.text.strip(" \u2022")
        title = next((match for pattern in _TITLES if (match := pattern.fullmatch(line.text.strip().removesuffix("\u00b6")))), None)
        if title:
            groups = title.groupdict()
            transport = "SHMEM" if groups.get("memory") else groups.get("transport")
            self._title = Conditions(keyed=groups["keyed"].lower() == "keyed" if groups.get("keyed") else None, transport=transport)
            self._reliability = self._of_title = _RELIABILITY.get(groups.get("reliability") or "", Conditions())
            self._bullets = set()
        elif words in _RELIABILITY:
            if words in self._bullets:
                self._title, self._bullets = Conditions(), set()
            self._bullets.add(words)
            self._reliability = _RELIABILITY[words]
        else:
            self._use_up_title()  # A title is directly above its table, so this line may be the garbled head of a table.
            return
        yield Finding(line, None)

    def _cell(self, line: Line) -> list[Finding]:
        done: list[Finding] = []
        optional = self._columns[-1] in CPU_COLUMNS
        if optional and len(self._row) == len(self._columns) - 1 and not PERCENT_CELL.fullmatch(bare(line.text)):
            done += self._complete()
            if not self._columns:
                return done
        self._row.append(line)
        table = next((table for table in tables(self._columns) if len(table.headings) == len(self._columns) - optional), None)
        if table is None:
            return [*done, *self.close("the header of this row is not a header of a latency table")]
        if len(self._row) == table.first_decimal + 1:
            done += self._previous_row(table)
        return [*done, *self._complete()] if len(self._row) == len(self._columns) else done

    def _previous_row(self, table: TableForm) -> Iterator[Finding]:
        """Yield the previous row. The previous row is broken if the current row is shifted, because the previous row then lacks a cell.

        A row is shifted if its first number with decimals is in the wrong column.
        """
        if self._last_row is None:
            return
        slipped = [column for column, cell in enumerate(self._row) if "." in cell.text] != [table.first_decimal]
        yield self._last_row._replace(what=OUT_OF_PLACE) if slipped else self._last_row
        self._last_row = None

    def _complete(self) -> Iterator[Finding]:
        """Store the complete row until the next row shows whether it is valid. If the row is broken, the table ends."""
        if self._last_row:
            yield self._last_row
        what = self._record()
        self._last_row = finding_on(self._row, what)
        self._row = []
        if isinstance(what, Broken):
            yield from self.close()

    def _record(self) -> Record | Broken:
        gaps = {later.number - cell.number for cell, later in pairwise(self._row)}
        if not all(cell.whole for cell in self._row) or len(gaps) > 1:
            return OUT_OF_PLACE
        (table,) = tables(self._columns)
        record = table.record([Cell(bare(cell.text), 0, cell.number) for cell in self._row])
        return record if isinstance(record, Broken) else self._with_conditions(record)

    def _line_of_cells(self, line: Line) -> list[Finding] | None:
        was_open = self._lines.is_open
        finding = self._lines.take(line)
        if was_open and (finding is None or self._lines.has_begun):
            self._use_up_title()
        if finding is None:
            return None
        done = list(self._leave(_SLIPPED)) if self._columns else []
        return [*done, finding._replace(what=self._with_conditions(finding.what)) if isinstance(finding.what, Record) else finding]

    def _use_up_title(self) -> None:
        """Forget a title that states the reliability. It applies to only one table, and the title of the next table may be garbled."""
        if self._of_title.reliability:
            self._title = self._of_title = Conditions()
        self._reliability = self._of_title  # The reliability in a bullet also applies to only one table.

    def _with_conditions(self, record: Record) -> Record:
        return msgspec.structs.replace(record, conditions=record.conditions.over(self._reliability.over(self._title)))
