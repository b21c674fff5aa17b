"""A table as a value, and its four output forms: HTML, Markdown, text for a terminal, and CSV.

Everything that is shown as a table becomes a `Table` first. The form of tables is defined only here and in ``templates/table.html.jinja``. Tables of
words are made here, and tables of measured numbers in `tacholog.render.tables.results`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.markdown import escape, plain
from tacholog.view.numerals import NOT_STATED, grouped
from tacholog.visible import no_formula

Align = Literal["left", "right", "centre"]
_RULES: dict[Align, str] = {"left": "---", "right": "--:", "centre": ":-:"}


class TableColumn(NamedTuple):
    """The heading of a column.

    ``align`` is for Markdown and terminals; ``width`` is a class, for which a style sheet sets the column's width. ``title`` is the full heading, if
    ``heading`` is a short one.
    """

    heading: str | Html = ""
    unit: str = ""
    class_: str = ""
    id: str = ""
    align: Align = "left"
    width: str = ""
    title: str = ""


class TableCell(NamedTuple):
    """A cell. The macro of the template unpacks it, so the order of the fields is the same there.

    ``text`` is the visible text. ``value`` is the number with all digits; scripts sort by it. If ``is_empty`` is set, ``text`` states why there is no
    value. ``range`` goes from the lowest to the highest run. ``marks`` are names of quality marks. ``below`` is shown under the number. ``pad`` holds
    invisible digits that align decimal points. ``scope`` makes the cell a heading (row, rowgroup). ``span`` is the number of columns that it covers.
    ``head`` is the name of its column, which is shown on phones.
    """

    text: str | Html = ""
    value: str = ""
    link: str | None = None
    range: str = ""
    range_link: str | None = None
    marks: tuple[str, ...] = ()
    below: Html = NOTHING
    pad: str = ""
    best: bool = False
    title: str | None = None
    class_: str = ""
    is_empty: bool = False
    scope: str = ""
    span: int = 0
    head: str = ""

    @property
    def plain(self) -> str:
        """The text without markup."""
        return self.text.striptags() if isinstance(self.text, Html) else self.text


class TableRow(NamedTuple):
    """A row, and its class."""

    cells: Sequence[TableCell]
    class_: str = ""


class Table(NamedTuple):
    """A table. ``label`` describes it in words, ``bodies`` are groups of rows, and ``anchor`` begins the ids of the notes on its marks."""

    label: str
    columns: Sequence[TableColumn]
    bodies: Sequence[Sequence[TableRow]]
    class_: str = ""
    anchor: str = ""

    @property
    def rows(self) -> list[TableRow]:
        """The rows of all bodies."""
        return [row for body in self.bodies for row in body]

    def with_rest(self, words: str) -> Table:
        """Return the table with a last row that states what is left out; the same table if there is nothing to state."""
        return self._replace(bodies=[[*self.rows, TableRow([TableCell(words, span=len(self.columns))])]]) if words else self

    def without_empty_columns(self, empty: Sequence[str] = ("",)) -> Table:
        """Return the table without the columns whose cells are all empty. Each row needs a cell for each column."""
        indices = [index for index in range(len(self.columns)) if any(row.cells[index].text not in empty for row in self.rows)]
        bodies = [[row._replace(cells=[row.cells[index] for index in indices]) for row in body] for body in self.bodies]
        return self._replace(columns=[self.columns[index] for index in indices], bodies=bodies)


def head(text: object, class_: str = "", *, value: object = "", title: str | None = None) -> TableCell:
    """Return the first cell of a row, which is its heading."""
    return TableCell(_as_text(text), str(value), class_=class_, scope="row", title=title)


def empty(why: str = NOT_STATED, link: str | None = None, marks: tuple[str, ...] = (), title: str | None = None) -> TableCell:
    """Return a cell without a value, with the reason."""
    return TableCell(why, link=link, marks=marks, title=title, class_="tl-null", is_empty=True)


def exact(value: float) -> str:
    """Return a number as text with all its digits, for `TableCell.value`."""
    return f"{value:.12g}"


def words_table(label: str, heads: Sequence[str], rows: Iterable[Sequence[object]], class_: str = "") -> Table:
    """Return a table of words: names, dates, sentences. The first cell of a row is its heading. On phones, the other cells name their column.

    Plain text is marked as words, because its digits are part of a name and not a result.
    """
    body = [TableRow([head(first), *map(_words, others, heads[1:])]) for first, *others in rows]
    return Table(label, [TableColumn(words, class_="tl-text") for words in heads], [body], f"tl-table tl-words {class_}".strip())


def _words(content: object, name: str) -> TableCell:
    return TableCell(_as_text(content), class_="tl-text" if isinstance(content, Html) else "tl-text stat-label", head=name)


def _as_text(content: object) -> str | Html:
    return content if isinstance(content, str) else str(content)


def html(table: Table) -> Html:
    """Return a table as HTML."""
    from tacholog.render.templates import table_macro  # imported here, because Jinja takes long to load, and only HTML needs it

    widths = [column.width for column in table.columns]
    return Html(table_macro()(table.class_, widths if any(widths) else (), table.columns, table.bodies, _Signs(table.anchor)))  # noqa: S704 - it escapes


def scroller(table: Table, frame: str = "tl-scroll", *, tools: bool = True) -> Html:
    """Return a table in a scrollable region, so that the page itself does not scroll sideways. ``tools`` adds an element for a script's buttons."""
    region = tag("div", html(table), class_=frame, role="region", aria_label=table.label, tabindex=0)
    return join([tag("div", class_="tl-tools"), region]) if tools else region


class _Signs(dict[str, Html]):
    def __init__(self, anchor: str) -> None:
        self._anchor = anchor

    def __missing__(self, name: str) -> Html:
        from tacholog.render.marks import mark_link  # imported here, because only HTML has marks

        return self.setdefault(name, mark_link(name, self._anchor))


def markdown(table: Table) -> list[str]:
    """Return the lines of a table as Markdown."""
    heads = "".join(f"| {escape(name)} " if (name := _heading(column)) else "| " for column in table.columns)
    rows = (f"| {' | '.join(map(_in_markdown, row.cells))} |" for row in table.rows)
    return [f"{heads}|", f"|{'|'.join(_RULES[column.align] for column in table.columns)}|", *rows]


def _in_markdown(cell: TableCell) -> str:
    text = escape(cell.plain)
    return (f"**{text}**" if cell.best else text) + " |" * (cell.span - 1)


def terminal(table: Table) -> list[str]:
    """Return the lines of a table for a terminal, without empty columns."""
    visible = table.without_empty_columns(("", "-"))
    lines = [[_heading(column) for column in visible.columns], *([cell.plain for cell in row.cells] for row in visible.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [str.rjust if column.align == "right" else str.ljust for column in visible.columns]
    return [plain("  ".join(align(cell, width) for align, cell, width in zip(aligned, cells, widths, strict=True)).rstrip()) for cells in lines]


def as_csv(table: Table) -> str:
    """Return a table as CSV, with numbers in full and with units in the headings."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([no_formula(f"{_heading(column)} [{column.unit}]" if column.unit else _heading(column)) for column in table.columns])
    writer.writerows([no_formula(cell.value or ("" if cell.is_empty else cell.plain)) for cell in row.cells] for row in table.rows)
    return written.getvalue()


def _heading(column: TableColumn) -> str:
    return column.title or (column.heading.striptags() if isinstance(column.heading, Html) else column.heading)


MOST_ROWS = 200


def plain_table(label: str, heads: Sequence[str], rows: Iterable[Sequence[object]], *, class_: str = "") -> Html:
    """Return a table of words (`words_table`) in its own scrolling region.

    With ``class_``, the style sheet can set column widths that do not depend on the rows of a long table.
    """
    return scroller(words_table(label, heads, rows, class_))


def first_rows(rows: Sequence[Sequence[object]], what: str, where: str, most: int = MOST_ROWS) -> tuple[Sequence[Sequence[object]], Html]:
    """Return the first rows, and a sentence that counts the rows that are left out.

    ``what`` names the kind of the rows, such as "runs". ``where`` tells the reader where to find all rows.
    """
    left = len(rows) - most
    if left <= 0:
        return rows, NOTHING
    return rows[:most], tag("p", count_of(left), f" more {what} are not listed here; {where}.", class_="tl-note")


def null() -> Html:
    """Return "not stated" in the style of a missing value."""
    return tag("span", NOT_STATED, class_="tl-null")


def count_of(number: int) -> Html:
    """Return a count in an element whose class marks it as a count."""
    return tag("span", grouped(number), class_="stat-count", data_v=number)
