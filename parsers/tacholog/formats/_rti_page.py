"""Tables of RTI's published pages, saved as text: one cell a paragraph, with titles, prose and scripts between the tables.

A row has as many cells as its table has columns, all of them equally far apart. Only ``CPU (%)`` may be missing from every row; its values have two
decimals and sizes have none, which tells a processor time from the size of the next row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from tacholog.formats._rti_figures import OUT_OF_PLACE, STATISTICS, Rates, cpu, impossible, last_place, latency, printed, throughput
from tacholog.formats.lines import Broken, Found, Line
from tacholog.records import Conditions, Record

_ENDS = "the page ends within this row"
_SLIPPED = "the table ends within this row"
_RELIABILITY = {"Best Effort": Conditions(reliability="best-effort"), "Reliable": Conditions(reliability="reliable")}
_TRANSPORT = r"(?P<transport>UDPv4_WAN|UDPv4|UDPv6|SHMEM|TCP|TLS|DTLS)\b"
_TITLES = (
    re.compile(rf"(?:\d[\d.]{{0,20}} )?(?P<keyed>Unkeyed|Keyed), {_TRANSPORT}(?:[^\n]* C\+\+\S*|(?: \d+ ?Gbps)?(?: Network)?)"),
    re.compile(rf"\d[\d.]{{1,20}} {_TRANSPORT}(?: \d+ ?Gbps)?(?: Network)?"),
    re.compile(r"(?:Table )?(?:\d[\d.]{0,20} )?C\+\+ (?P<reliability>Best Effort|Reliable) (?P<keyed>Keyed|Unkeyed)(?: \d+ ?Gbps)?"),
)
_CELL = re.compile(r"\d{1,18}(?:\.\d{1,3})?")
_CPU_COLUMN = "CPU (%)"
_CPU = ("cpu_of_machine", "mean")
_RATES = (
    None,
    ("messages_received", "total"),
    ("message_rate", "mean"),
    ("goodput", "mean"),
    ("messages_lost", "total"),
    ("loss", "total"),
)
_SPREAD = (None, *(("goodput", statistic) for statistic in ("min", "p50", "p90", "max")))
_PERCENT_CELL = re.compile(r"\d{1,3}\.\d\d")


class _Table(NamedTuple):
    """The columns of a kind of table, what makes a record of a row's cells, and which number each cell is (``None``: a setting, not a number)."""

    columns: tuple[str, ...]
    first_decimal: int
    read: Callable[[Sequence[str]], Record | Broken]
    numbers: tuple[tuple[str, str] | None, ...]


class Page:
    """Where in a table the text is, the cells of the row so far, and what titles say of the tables behind them."""

    def __init__(self) -> None:
        self._columns: list[str] = []  # Of the head seen so far; none outside of a table.
        self._row: list[Line] = []
        self._held: Found | None = None  # A row that is complete, unless the row behind it shows that a cell slipped.
        self._title = Conditions()
        self._reliability = self._of_title = Conditions()
        self._bullets: set[str] = set()  # Since the title: one that comes again stands under another, which is garbled.

    def take(self, line: Line) -> list[Found] | None:
        """Use one paragraph: a title, a head, a cell, or the text behind a table; ``None`` for text of no meaning here."""
        text = line.text
        if not text.strip():
            return None
        heading = _HEADING.fullmatch(text) is not None
        if heading and not self._row and _tables([*self._columns, text]):
            self._columns.append(text)
            return [Found(line, None)]
        if heading and _tables([text]):
            done = list(self._leave(_SLIPPED))
            self._columns = [text]
            return [*done, Found(line, None)]
        if self._columns and _CELL.fullmatch(text):
            return self._cell(line)
        done = [*self._leave(_SLIPPED), *self._stated(line)]
        return done or None

    def close(self, reason: str = _ENDS) -> Iterator[Found]:
        """Leave the table at once; a row that may lack a cell is broken."""
        if self._held:
            yield self._held
        if self._row:
            yield Found(self._row[0], Broken(reason), tuple(self._row[1:]))
        if self._columns:
            self._reliability = self._of_title  # A bullet is about one table: that of the next may be garbled.
        self._row, self._columns, self._held = [], [], None

    def _leave(self, reason: str) -> Iterator[Found]:
        """Leave the table for text behind it, before which its last row is complete even without its processor time."""
        if self._columns[-1:] == [_CPU_COLUMN] and len(self._row) == len(self._columns) - 1:
            yield from self._complete()
        elif self._row and self._held:
            yield self._held._replace(what=OUT_OF_PLACE)
            self._held = None
        yield from self.close(reason)

    def _stated(self, line: Line) -> Iterator[Found]:
        words = line.text.strip(" \u2022")
        title = next((found for pattern in _TITLES if (found := pattern.fullmatch(line.text.strip()))), None)
        if title:
            said = title.groupdict()
            self._title = Conditions(keyed=said["keyed"] == "Keyed" if said.get("keyed") else None, transport=said.get("transport"))
            self._reliability = self._of_title = _RELIABILITY.get(said.get("reliability") or "", Conditions())
            self._bullets = set()
        elif words in _RELIABILITY:
            if words in self._bullets:
                self._title, self._bullets = Conditions(), set()
            self._bullets.add(words)
            self._reliability = _RELIABILITY[words]
        else:
            self._reliability = self._of_title  # A bullet stands right above its table, whose head may be garbled.
            return
        yield Found(line, None)

    def _cell(self, line: Line) -> list[Found]:
        done: list[Found] = []
        optional = self._columns[-1] == _CPU_COLUMN
        if optional and len(self._row) == len(self._columns) - 1 and not _PERCENT_CELL.fullmatch(line.text):
            done += self._complete()
            if not self._columns:
                return done
        self._row.append(line)
        table = next((table for table in _tables(self._columns) if len(table.columns) == len(self._columns) - optional), None)
        if table is None:
            return [*done, *self.close("a row under a header that is not the latency table's")]
        if len(self._row) == table.first_decimal + 1:
            done += self._checked(table)
        return [*done, *self._complete()] if len(self._row) == len(self._columns) else done

    def _checked(self, table: _Table) -> Iterator[Found]:
        """The row before this one, which is good if this one has its first decimal where it should be."""
        if self._held is None:
            return
        slipped = [at for at, cell in enumerate(self._row) if "." in cell.text] != [table.first_decimal]
        yield self._held._replace(what=OUT_OF_PLACE) if slipped else self._held
        self._held = None

    def _complete(self) -> Iterator[Found]:
        """Hold the row that is complete, until the next one shows whether it is; a broken row ends the table."""
        if self._held:
            yield self._held
        first, *others = self._row
        what = self._record([cell.text for cell in self._row])
        self._held = Found(first, what, tuple(others))
        self._row = []
        if isinstance(what, Broken):
            yield from self.close()

    def _record(self, cells: list[str]) -> Record | Broken:
        gaps = {later.number - cell.number for cell, later in pairwise(self._row)}
        if not all(cell.whole for cell in self._row) or "." in cells[0] or len(gaps) > 1:
            return OUT_OF_PLACE
        (table,) = _tables(self._columns)
        record = table.read(cells)
        if isinstance(record, Broken):
            return record
        places = {name: cell.number for name, cell in zip((*table.numbers, _CPU), self._row, strict=False) if name}
        numbers = tuple(msgspec.structs.replace(number, line=places[number.metric, number.statistic]) for number in record.numbers)
        return msgspec.structs.replace(record, numbers=numbers, conditions=record.conditions.over(self._reliability.over(self._title)))


def _tables(columns: Sequence[str]) -> list[_Table]:
    """The kinds of tables whose head begins with these columns."""
    return [
        table
        for table in _TABLES
        if len(columns) - (columns[-1] == _CPU_COLUMN) <= len(table.columns)
        and all(re.fullmatch(wanted, column) for wanted, column in zip(table.columns, columns, strict=False))
        and (columns[-1] != _CPU_COLUMN or len(columns) == len(table.columns) + 1)
    ]


def _latency(cells: Sequence[str]) -> Record | Broken:
    more = (cpu(cells[10]),) if len(cells) > 10 else ()  # noqa: PLR2004
    return latency(cells[0], cells[1:10], more=more)


def _throughput(cells: Sequence[str]) -> Record | Broken:
    size, received, rate, mbit, lost, percent = cells[:6]
    if any("." in count for count in (received, rate, lost)):
        return OUT_OF_PLACE
    return throughput(Rates(size, received, rate, mbit, lost, percent), (cpu(cells[6]),) if len(cells) > 6 else ())  # noqa: PLR2004


def _over_subscribers(cells: Sequence[str]) -> Record | Broken:
    subscribers, *figures = cells
    if len({len(figure.partition(".")[2]) for figure in figures}) > 1:
        return OUT_OF_PLACE
    if trouble := impossible(subscribers, *figures):
        return trouble
    if any(float(low) > float(high) for low, high in pairwise(figures)):
        return Broken("the statistics contradict each other")
    return Record(
        test="throughput",
        payload_bytes=None,
        numbers=tuple(
            printed("goodput", name, round(float(cell) * 1e6), last_place(cell) * 1e6)
            for name, cell in zip(("min", "p50", "p90", "max"), figures, strict=True)
        ),
        side="subscriber",
        conditions=Conditions(definition="rti-over-subscribers", subscribers=int(subscribers)),
    )


def _to_many(cells: Sequence[str]) -> Record | Broken:
    subscribers, size, mbit, percent = cells
    if "." in size or "." not in mbit or not _PERCENT_CELL.fullmatch(percent) or float(percent) > 100:  # noqa: PLR2004
        return OUT_OF_PLACE
    if trouble := impossible(size, mbit) or impossible(subscribers, percent):
        return trouble
    goodput = printed("goodput", "mean", round(float(mbit) * 1e6), last_place(mbit) * 1e6)
    return Record(
        test="throughput",
        payload_bytes=int(size),
        numbers=(goodput, printed("loss", "total", round(float(percent) / 100, 6), round(last_place(percent) / 100, 6))),
        side="subscriber",
        conditions=Conditions(definition="rti-over-subscribers", subscribers=int(subscribers)),
    )


_MICROSECONDS = r" \([\u03bc\u00b5]s\)"
_TABLES = (
    _Table(
        (
            r"Sample Size \(Bytes\)",
            *(name + _MICROSECONDS for name in ("A(?:vg|ve)", "Std", "Min", "Max", "50%", "90%", "99%", r"99\.99%", r"99\.9999%")),
        ),
        2,
        _latency,
        (None, *(("latency", statistic) for statistic in STATISTICS)),
    ),
    _Table(
        ("Length", "Total Samples", "A(?:vg|ve) Samples/s", "A(?:vg|ve) Mbps", "Lost Samples", r"Lost Samples (?:%|\(%\))"), 3, _throughput, _RATES
    ),
    _Table(("Subscribers", *(rf"{name}(?: \(Mbps\))?" for name in ("Min", "Median", "90percentile", "Max"))), 1, _over_subscribers, _SPREAD),
    _Table(
        ("Subscribers", r"Sample Size \(Bytes\)", "A(?:vg|ve) Mbps", r"Lost Samples \(%\)"),
        2,
        _to_many,
        (None, None, ("goodput", "mean"), ("loss", "total")),
    ),
)
# One look that says of nearly every line that it is no heading.
_HEADING = re.compile("|".join({re.escape(_CPU_COLUMN), *(f"(?:{wanted})" for table in _TABLES for wanted in table.columns)}))
