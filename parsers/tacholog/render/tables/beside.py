"""Several systems that one campaign measured with one tool, side by side: a table a size, a row a transport in a variant."""

from __future__ import annotations

from collections.abc import Sequence

from tacholog.render.html import Html, folded, join, tag
from tacholog.render.marks import mark_notes, shared_marks_note
from tacholog.render.remarks import remarks
from tacholog.render.tables.tables import CellWriter, Links, Marks, column_decimals, marks_of_cells, scroller
from tacholog.schema.metrics import METRICS
from tacholog.view.beside import COLUMNS, BesideRow, at_size, beside_rows, of_session, session_of_several, sizes_of
from tacholog.view.numerals import size as size_words
from tacholog.view.numerals import unit_shown
from tacholog.view.page_index import PageIndex
from tacholog.view.series import Cell
from tacholog.view.views import View

_NONE = "No campaign measured several systems with one tool."


def beside(view: View, pages: PageIndex, links: Links, anchor: str) -> Html:
    """Return a table for each size of the newest session that measured several systems with one tool: the first open, the others folded."""
    session = session_of_several(view)
    if session is None:
        return tag("p", _NONE, class_="tl-null")
    part = of_session(view, session)
    rows = beside_rows(part, pages)
    # No rule marks the processor time, so it takes no part in what all have in common.
    marked = (cells for row in rows for (metric, _), cells in row.cells.items() if metric != "cpu_per_message")
    shared = marks_of_cells(cell for cells in marked for cell in cells.values())
    seen = dict.fromkeys(shared)
    write = CellWriter(links, anchor, Marks(seen, shared), None)
    tables = [_table(at_size(rows, size), size, write, f"{anchor}-{size}", is_open=place == 0) for place, size in enumerate(sizes_of(rows))]
    return join([remarks(part.runs.values()), shared_marks_note(shared, anchor), *tables, mark_notes(seen, anchor)])


def _table(rows: Sequence[BesideRow], size: int, write: CellWriter, anchor: str, *, is_open: bool) -> Html:
    units = [unit_shown(METRICS[metric].unit) for metric, _, _ in COLUMNS]
    found: list[list[Cell | None]] = [[row.cells.get((metric, statistic), {}).get(size) for metric, statistic, _ in COLUMNS] for row in rows]
    places = [column_decimals([cell for cells in found if (cell := cells[at])], unit) for at, unit in enumerate(units)]
    body = [
        tag(
            "tr",
            tag("th", _name(row), " ", tag("span", row.how, class_="tl-how"), scope="row", class_="tl-text"),
            *(
                tag("td", "not measured", class_="tl-null") if cell is None else write.cell(cell, unit, place)
                for cell, unit, place in zip(cells, units, places, strict=True)
            ),
        )
        for row, cells in zip(rows, found, strict=True)
    ]
    heads = [tag("th", heading, tag("span", unit.sign, class_="tl-unit"), scope="col") for (_, _, heading), unit in zip(COLUMNS, units, strict=True)]
    table = tag(
        "table",
        tag("thead", tag("tr", tag("th", "system, transport", scope="col", class_="tl-text"), *heads)),
        tag("tbody", *body),
        class_="tl-table tl-rows",
    )
    words = f"Messages of {size_words(size)}"
    heading, shown = tag("h2", words, id=anchor), scroller(words, table)
    return tag("section", *((heading, shown) if is_open else (folded(heading, shown),)))


def _name(row: BesideRow) -> Html:
    name = tag("strong", row.name)
    return tag("a", name, href=f"doc:{row.document}") if row.document else name
