"""Several systems that one campaign measured with one tool, side by side: a table a size, a row a transport in a variant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.marks import Seen, mark_notes, shared_marks_note
from tacholog.render.remarks import remarks
from tacholog.render.table import Cell, Column, head, scroller
from tacholog.render.tables.loss import lost
from tacholog.render.tables.tables import CellWriter, Links, Number, ResultLine, marks_of_cells, results_table
from tacholog.schema.metrics import METRICS
from tacholog.view.numerals import size as size_words
from tacholog.view.numerals import unit_shown
from tacholog.view.page_index import PageIndex
from tacholog.view.side_by_side import COLUMNS, RATE, SIZES, SideBySideRow, at_size, of_session, session_of_several, side_by_side_rows, sizes_of
from tacholog.view.views import View

ROWS_AT_ONCE = 60  # of a table; a row has some 25 elements
_NONE = "No campaign measured several systems with one tool."


class Slice(NamedTuple):
    """Rows of a size that stand in one table: the size, which of several tables of that size it is, its title, and the rows."""

    size: int
    number: int
    title: str
    rows: Sequence[SideBySideRow]

    @property
    def name(self) -> str:
        """The end of its id."""
        return f"{self.size}-{self.number + 1}" if self.number else str(self.size)


Fold = Callable[[Slice, Html], Html]  # returns what leads to a table that is folded


def beside(view: View, pages: PageIndex, links: Links, anchor: str, fold: Fold) -> Html:
    """Return the first rows of the smallest size of the newest session that measured several systems with one tool, and folded all others."""
    session = session_of_several(view)
    if session is None:
        return tag("p", _NONE, class_="tl-null")
    part = of_session(view, session)
    rows = side_by_side_rows(part, pages)
    # No rule marks the processor time, so it takes no part in what all have in common.
    marked = (cells for row in rows for (metric, _), cells in row.cells.items() if metric != "cpu_per_message")
    shared = marks_of_cells(cell for cells in marked for cell in cells.values())
    slices = list(_slices(rows))
    if not slices:
        return tag("p", f"The newest such campaign measured none of {', '.join(map(size_words, SIZES))}.", class_="tl-null")
    first, *others = slices
    heading = tag("h2", first.title, id=f"{anchor}-{first.name}")
    shown = tag("section", heading, _marked_table(first, shared, links, anchor))
    folds = [fold(one, tag("section", _marked_table(one, shared, links, f"{anchor}-{one.name}"), id=f"{anchor}-{one.name}")) for one in others]
    return join([remarks(part.runs.values()), shown, *folds])


def _slices(rows: Sequence[SideBySideRow]) -> Iterator[Slice]:
    """Yield tables that a page can hold, whatever the number of systems is: those of each size."""
    for size in sizes_of(rows):
        of_size = at_size(rows, size)
        for number, start in enumerate(range(0, len(of_size), ROWS_AT_ONCE)):
            some = of_size[start : start + ROWS_AT_ONCE]
            which = f", rows {start + 1} to {start + len(some)}" if len(of_size) > ROWS_AT_ONCE else ""
            yield Slice(size, number, f"Messages of {size_words(size)}{which}", some)


def _marked_table(of: Slice, shared: Sequence[str], links: Links, anchor: str) -> Html:
    """Return a table between what all of its numbers have in common and the notes on its marks."""
    units = [unit_shown(METRICS[metric].unit) for metric, _, _ in COLUMNS]
    heads = [Column(heading, unit.sign) for (_, _, heading), unit in zip(COLUMNS, units, strict=True)]
    seen: Seen = {}
    lines = [ResultLine(_name(row), [_number(row, (metric, statistic), of.size, links) for metric, statistic, _ in COLUMNS]) for row in of.rows]
    write = CellWriter(links, anchor, seen, shared)
    table = results_table(of.title, [Column("system, transport", class_="tl-text"), *heads], units, lines, write, "tl-table tl-rows")
    return join([shared_marks_note(shared, anchor), scroller(table), mark_notes(seen, anchor)])


def _number(row: SideBySideRow, name: tuple[str, str], size: int, links: Links) -> Number:
    below = _lost(row, size, links) if name == RATE else NOTHING
    return Number(row.cells.get(name, {}).get(size), row.absent(*name, size), below=below)


def _lost(row: SideBySideRow, size: int, links: Links) -> Html:
    found = row.lost(size)
    return NOTHING if found is None else lost(found, links)


def _name(row: SideBySideRow) -> Cell:
    name = tag("strong", row.name)
    named = tag("a", name, href=f"doc:{row.document}") if row.document else name
    return head(join([named, " ", tag("span", row.how, class_="tl-how")]), "tl-text")
