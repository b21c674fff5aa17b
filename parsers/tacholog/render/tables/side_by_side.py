"""The page "Side by side": its links to the other sizes and statistics, and the table of each machine, with bars behind the numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from tacholog.compare.policy import MIN_RUNS
from tacholog.render.evidence import remarks
from tacholog.render.html import NOTHING, Html, folded, join, tag
from tacholog.render.links import Links
from tacholog.render.marks import UsedMarks, mark_notes, shared_marks_note
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, head, scroller
from tacholog.render.tables.rankings import link_to_each_run, machine_heading, unranked_list
from tacholog.render.tables.results import CellWriter, ResultNumber, lost_words, marks_of_cells
from tacholog.runs.labels import label_name
from tacholog.runs.manifest import Host
from tacholog.schema.metrics import METRICS
from tacholog.view.names import build_words
from tacholog.view.numerals import Unit, unit_shown
from tacholog.view.numerals import size as size_words
from tacholog.view.ranking_groups import best_of, column_of, common_conditions, standing
from tacholog.view.rankings import build_of
from tacholog.view.series import Cell
from tacholog.view.side_by_side import RATE, ComparedRow, MachineTable, RowGroup, SideBySide, Slice, Statistic, in_order

_Column = tuple[Statistic, int]
_MOST_CELLS = 450  # the number of numbers on a page; a number has about six elements
_BARS = 20  # lengths of bars
_COST = "cpu_per_message"  # never highlighted: transports that poll use the least CPU per message at full rate, but the most at all other rates
_UNITS = {"messages_per_s": Unit("M\u202fmsg/s", 1e6)}  # with this unit, rates have at most three digits before the decimal point
_ONE_TRANSPORT = "Only one transport was measured: there is nothing to rank it against. These are its numbers."
_NOT_ALIKE = "Nothing can be ranked: no two transports were measured on the same machine, in the same way and in the same campaign."

Overflow = Callable[[str, Html], Html]  # a function that moves the end of a page to a separate part, and returns the link to it


class _Piece(NamedTuple):
    """The rows of a table that fit on one page. A machine with more rows has several pieces."""

    table: MachineTable
    groups: Sequence[RowGroup]
    columns: Sequence[_Column]


def side_by_side(
    compared: SideBySide,
    current: Slice,
    hosts: Mapping[str, Host],
    links: Links,
    anchor: str,
    documents: Collection[str] = (),
    overflow: Overflow | None = None,
) -> Html:
    """Return one page: the table of each machine, then the series without a table.

    Args:
        compared: the tables of all machines.
        current: the part of the tables that the page shows.
        hosts: the machines by their ids.
        links: the addresses of the logs.
        anchor: the start of every id.
        documents: the existing pages.
        overflow: a function that moves the rows that do not fit on the page; without it, they stay on the page.
    """
    pages = [*_pages(compared.tables, current, _MOST_CELLS if overflow else None)]
    first, *others = [_page(pieces, hosts, links, anchor, documents) for pieces in pages] or [NOTHING]
    why_none = [] if compared.tables and not compared.is_alone else [tag("p", _ONE_TRANSPORT if compared.tables else _NOT_ALIKE, class_="tl-null")]
    folds = []
    for pieces, content in zip(pages[1:], others, strict=True):
        count = sum(len(group.rows) for piece in pieces for group in piece.groups)
        folds.append(overflow(f"{count} more rows", content) if overflow else content)
    links_to_others = switches(compared.slices, current, anchor, documents) if compared.tables else NOTHING
    return join([links_to_others, *why_none, first, *folds, unranked_list(compared.unranked)])


def switches(slices: Sequence[Slice], current: Slice, anchor: str, documents: Collection[str]) -> Html:
    """Return the links to the pages of the other sizes and statistics; nothing if there is only this page."""
    of_sizes = [each for each in slices if each.size is not None]
    of_statistics = [each for each in slices if each.statistic is not None]
    lists = [("One size:", of_sizes), ("All sizes:", of_statistics)]
    items = [
        tag("p", tag("span", title, class_="tl-muted"), *(tag("span", _switch(each, current, anchor), " ") for each in some))
        for title, some in lists
        if some
    ]
    return tag("nav", *items, class_="tl-switches", aria_label="Sizes and statistics") if len(slices) > 1 and documents else NOTHING


def _switch(other: Slice, current: Slice, anchor: str) -> Html:
    # Before version 0.5, all sizes were on one page and had these ids. They are kept, so that old links still work.
    former = f"{anchor}-{other.size}" if other.size is not None else None
    return tag("a", other.words, href=f"doc:{other.document}", id=former, aria_current="page" if other == current else None)


def _pages(tables: Sequence[MachineTable], current: Slice, most: int | None) -> Iterator[list[_Piece]]:
    """Divide the tables into pages with at most ``most`` numbers, and yield a list for each page: the pieces of tables that the page shows."""
    pieces: list[_Piece] = []
    left = most
    for table in tables:
        columns = current.columns(table)
        groups: list[RowGroup] = []
        for group in table.groups if columns else ():
            rows = in_order([row for row in group.rows if any(size in row.cells(statistic) for statistic, size in columns)], columns)
            while rows:
                count = len(rows) if left is None else max(left // len(columns), 0 if pieces or groups else 1)
                some, rows = rows[:count], rows[count:]
                if some:
                    groups.append(RowGroup(group.words, tuple(some)))
                    left = None if left is None else left - len(some) * len(columns)
                if rows:
                    yield [*pieces, *([_Piece(table, groups, columns)] if groups else [])]
                    pieces, groups, left = [], [], most
        if groups:
            pieces.append(_Piece(table, groups, columns))
    if pieces:
        yield pieces


def _page(pieces: Sequence[_Piece], hosts: Mapping[str, Host], links: Links, anchor: str, documents: Collection[str]) -> Html:
    used_marks: UsedMarks = {}
    sections = []
    for piece in pieces:
        table = piece.table
        heading = machine_heading(table.host, hosts.get(table.host), table.published, documents, table.runs())
        content, is_best_shown = _table(piece, links, anchor, used_marks)
        notes = " ".join(filter(None, (table.load, "" if is_best_shown else _why_no_best(table))))
        note = tag("p", notes, class_="tl-note")
        sections.append(tag("section", heading, note, _conditions(table), content, class_="tl-glance"))
    return join([*sections, mark_notes(used_marks, anchor)])


def _why_no_best(table: MachineTable) -> str:
    if all(member.series.published for member in table.members):
        return "No best is highlighted: single published figures cannot show a winner."
    few = max(len(member.series.runs) for member in table.members) < MIN_RUNS
    return f"No best is highlighted: fewer than {MIN_RUNS} runs." if few and len(table.rows) > 1 else ""


def _conditions(table: MachineTable) -> Html:
    of_build: dict[str, set[str]] = {}
    for member in table.members:
        if build := build_of(member):
            of_build.setdefault(build_words(str(build)), set()).add(member.system)
    built = [f"{', '.join(sorted(systems))}: built from {build}." for build, systems in sorted(of_build.items())]
    campaigns = sorted({str(campaign) for member in table.members if (campaign := dict(member.series.key)["campaign"])})
    named = [f"Campaign {' and '.join(campaigns)}."] if campaigns else []
    durations = sorted({float(seconds) for member in table.members if (seconds := dict(member.series.key)["planned_duration_s"]) is not None})  # type: ignore[arg-type]
    ends = " to ".join(f"{seconds:g}" for seconds in dict.fromkeys((durations[0], durations[-1]))) if durations else ""
    counts = sorted({len(member.series.runs) for member in table.members})
    runs = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    length = f" of {ends} seconds" if ends else ""
    each = [f"A number is the median of {runs} runs{length}."] if counts[-1] > 1 else []
    common = common_conditions(table.members)
    parts = [*named, *each, *built, *([f"Same for all: {common}."] if common else [])]
    notes = remarks(table.runs())
    conditions = tag("p", " ".join(parts), class_="tl-note") if parts else NOTHING
    return folded(tag("span", "How these rows were measured"), notes, conditions) if notes or parts else NOTHING


def _table(piece: _Piece, links: Links, anchor: str, used_marks: UsedMarks) -> tuple[Html, bool]:
    """Return a table, and whether any of its numbers is highlighted."""
    rows = [row for group in piece.groups for row in group.rows]
    cells = [[cell for row in rows if (cell := row.cells(statistic).get(size))] for statistic, size in piece.columns]
    # Processor time never has a mark, so it is not considered for the marks of all numbers.
    marked = [cell for (statistic, _), of_column in zip(piece.columns, cells, strict=True) if statistic.metric != _COST for cell in of_column]
    shared = marks_of_cells(marked)
    write = CellWriter(links, anchor, used_marks, shared)
    units = [_unit(statistic) for statistic, _ in piece.columns]
    numbers = [_NumberColumn(*column, unit, _BarScale(of_column)) for column, unit, of_column in zip(piece.columns, units, cells, strict=True)]
    texts = [column for column in _text_columns(piece.table) if any(map(column.text, rows))]
    is_by_size = len({statistic for statistic, _ in piece.columns}) == 1
    heads = [TableColumn("transport", class_="tl-text"), *(TableColumn(column.heading, class_="tl-text tl-choice") for column in texts)]
    heads += [TableColumn(size_words(column.size) if is_by_size else column.statistic.words, column.unit.sign) for column in numbers]
    bodies, has_best = [], False
    for group in piece.groups:
        rivals = next(other.rows for other in piece.table.groups if other.words == group.words)  # including those on other pages
        best = [_best(rivals, column) for column in piece.columns]
        has_best = has_best or any(best)
        body = [TableRow([TableCell(group.words, scope="rowgroup", span=len(heads), class_="tl-text")], "tl-heading")] if group.words else []
        for row in group.rows:
            words = [TableCell(column.text(row), class_="tl-text stat-label", head=column.heading) for column in texts]
            figures = [_number(row, column, write, links, best=row in leading) for column, leading in zip(numbers, best, strict=True)]
            body.append(TableRow([_row_head(row, links), *words, *figures]))
        bodies.append(body)
    label = f"Side by side on {piece.table.host}, {numbers[0].statistic.words if is_by_size else size_words(numbers[0].size)}"
    table = Table(label, heads, bodies, "tl-table tl-rows tl-bars", anchor)
    return join([shared_marks_note(shared, anchor), scroller(table)]), has_best


class _TextColumn(NamedTuple):
    """Words that state how a row was measured. A script offers them as a filter."""

    heading: str
    text: Callable[[ComparedRow], str]


def _text_columns(table: MachineTable) -> list[_TextColumn]:
    def label(index: int, row: ComparedRow) -> str:
        return row.labels[index]

    labels = [_TextColumn(label_name(name), partial(label, index)) for index, name in enumerate(table.labels)]
    return [_TextColumn("waiting", lambda row: row.waits), _TextColumn("guarantee", lambda row: row.guarantee), *labels]


class _BarScale:
    def __init__(self, cells: Sequence[Cell]) -> None:
        values = [value for cell in cells if (value := standing(cell).value) > 0]
        self._low, self._high = (min(values), max(values)) if values else (1.0, 1.0)

    def class_of(self, cell: Cell) -> str:
        """Return the class of a cell, which determines the length of its bar in the style sheet."""
        value = standing(cell).value
        if value <= 0 or self._high == self._low:
            return ""
        share = math.log(value / self._low) / math.log(self._high / self._low)
        return f"tl-bar{1 + round(share * (_BARS - 1))}"


class _NumberColumn(NamedTuple):
    statistic: Statistic
    size: int
    unit: Unit
    scale: _BarScale


def _number(row: ComparedRow, column: _NumberColumn, write: CellWriter, links: Links, *, best: bool) -> TableCell:
    cell, member = row.cells(column.statistic).get(column.size), row.member(column.statistic)
    lost = row.lost(column.size) if column.statistic.pair == RATE else None
    number = ResultNumber(
        cell,
        row.absent(column.statistic, column.size),
        link_to_each_run(member) if member else None,
        best,
        lost_words(lost, links) if lost is not None else NOTHING,
    )
    written = write.cell(number, column.unit)
    return written._replace(class_=column.scale.class_of(cell)) if cell else written


def _best(rows: Sequence[ComparedRow], column: _Column) -> list[ComparedRow]:
    statistic, size = column
    indices = best_of(column_of([row.cells(statistic) for row in rows], size)) if len(rows) > 1 and statistic.metric != _COST else ()
    return [rows[index] for index in indices]


def _unit(statistic: Statistic) -> Unit:
    unit = METRICS[statistic.metric].unit
    return _UNITS.get(unit) or unit_shown(unit)


def _row_head(row: ComparedRow, links: Links) -> TableCell:
    name = tag("a", row.name, href=f"doc:{row.document}") if row.document and links.logs is not None else tag("strong", row.name)
    return head(join([name, tag("span", f" {row.how}", class_="tl-how") if row.how else NOTHING]), "tl-text")
