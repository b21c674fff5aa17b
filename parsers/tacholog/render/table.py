"""A table as a value, and its four writers: HTML, Markdown, text for a terminal, and CSV.

Everything that is shown as a table becomes a `Table` first. How tables look is defined here and in ``templates/table.html.jinja`` alone.
Tables of words are made here, too. Tables of measured numbers are made by `tacholog.render.tables.results`.
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
    """The head of a column. ``align`` is for Markdown and terminals; ``width`` is the class of the whole column, whose width a style sheet sets."""

    heading: str | Html = ""
    unit: str = ""
    class_: str = ""
    id: str = ""
    align: Align = "left"
    width: str = ""


class TableCell(NamedTuple):
    """A cell. The macro unpacks it, so its fields have the same order there.

    ``text`` is what is shown, ``value`` the number in full, by which scripts sort. A cell that ``is_empty`` says in ``text`` why it has no value.
    ``range`` is that of all runs. ``marks`` are names of quality marks, ``below`` stands under the number, ``pad`` holds invisible digits that align
    decimal points. ``scope`` makes it a head (row, rowgroup), ``span`` is how many columns it takes. ``head`` names its column on a phone.
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
    """A table: what it shows, in words; its columns; its rows, in one body or several. ``anchor`` begins the ids of the notes on its marks."""

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
        """Return the table with a last row on what it leaves out; the same table without words."""
        return self._replace(bodies=[[*self.rows, TableRow([TableCell(words, span=len(self.columns))])]]) if words else self

    def without_empty_columns(self, empty: Sequence[str] = ("",)) -> Table:
        """Return the table without the columns in which no cell says anything. Each row needs a cell for each column."""
        kept = [at for at in range(len(self.columns)) if any(row.cells[at].text not in empty for row in self.rows)]
        bodies = [[row._replace(cells=[row.cells[at] for at in kept]) for row in body] for body in self.bodies]
        return self._replace(columns=[self.columns[at] for at in kept], bodies=bodies)


def head(text: object, class_: str = "", *, value: object = "", title: str | None = None) -> TableCell:
    """Return the first cell of a row, which names it."""
    return TableCell(_shown(text), str(value), class_=class_, scope="row", title=title)


def empty(why: str = NOT_STATED, link: str | None = None, marks: tuple[str, ...] = (), title: str | None = None) -> TableCell:
    """Return a cell without a value, which says why there is none."""
    return TableCell(why, link=link, marks=marks, title=title, class_="tl-null", is_empty=True)


def exact(value: float) -> str:
    """Return a number as `Cell.value`."""
    return f"{value:.12g}"


def words_table(label: str, heads: Sequence[str], rows: Iterable[Sequence[object]], class_: str = "") -> Table:
    """Return a table of words: names, dates, sentences. The first cell of a row is its head, and on a phone each other one names its column.

    Plain text in it is marked as words: digits in it are part of a name, not a result.
    """
    body = [TableRow([head(first), *map(_words, rest, heads[1:])]) for first, *rest in rows]
    return Table(label, [TableColumn(words, class_="tl-text") for words in heads], [body], f"tl-table tl-words {class_}".strip())


def _words(content: object, name: str) -> TableCell:
    return TableCell(_shown(content), class_="tl-text" if isinstance(content, Html) else "tl-text stat-label", head=name)


def _shown(content: object) -> str | Html:
    return content if isinstance(content, str) else str(content)


def html(table: Table) -> Html:
    """Return a table as HTML."""
    from tacholog.render.templates import table_macro  # only HTML needs Jinja: `tacholog diff` prints text without it

    widths = [column.width for column in table.columns]
    return Html(table_macro()(table.class_, widths if any(widths) else (), table.columns, table.bodies, _Signs(table.anchor)))  # noqa: S704 - it escapes


def scroller(table: Table, frame: str = "tl-scroll", *, tools: bool = True) -> Html:
    """Return a table in a region that scrolls on its own and by keyboard, so that the page never scrolls sideways. A script may add ``tools``."""
    region = tag("div", html(table), class_=frame, role="region", aria_label=table.label, tabindex=0)
    return join([tag("div", class_="tl-tools"), region]) if tools else region


class _Signs(dict[str, Html]):
    """The sign of each mark, linked to its note."""

    def __init__(self, anchor: str) -> None:
        self._anchor = anchor

    def __missing__(self, name: str) -> Html:
        from tacholog.render.marks import mark_link

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
    """Return the lines of a table for a terminal. Columns in which no row says anything are left out."""
    shown = table.without_empty_columns(("", "-"))
    lines = [[_heading(column) for column in shown.columns], *([cell.plain for cell in row.cells] for row in shown.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [str.rjust if column.align == "right" else str.ljust for column in shown.columns]
    return [plain("  ".join(align(cell, width) for align, cell, width in zip(aligned, cells, widths, strict=True)).rstrip()) for cells in lines]


def as_csv(table: Table) -> str:
    """Return a table as CSV: numbers in full where they are known, and a column's unit beside its heading."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([no_formula(f"{_heading(column)} [{column.unit}]" if column.unit else _heading(column)) for column in table.columns])
    writer.writerows([no_formula(cell.value or ("" if cell.is_empty else cell.plain)) for cell in row.cells] for row in table.rows)
    return written.getvalue()


def _heading(column: TableColumn) -> str:
    return column.heading.striptags() if isinstance(column.heading, Html) else column.heading


MOST_ROWS = 200


def plain_table(label: str, heads: Sequence[str], rows: Iterable[Sequence[object]], *, class_: str = "") -> Html:
    """Return a table of words (`words_table`) in its own scrolling region.

    With a class of its own, the style sheet can give the columns of a long table widths that do not depend on its rows.
    """
    return scroller(words_table(label, heads, rows, class_))


def first_rows(rows: Sequence[Sequence[object]], what: str, where: str, most: int = MOST_ROWS) -> tuple[Sequence[Sequence[object]], Html]:
    """Return the rows that a page can hold, and a sentence on the others: how many ``what`` there are besides, and ``where``."""
    left = len(rows) - most
    if left <= 0:
        return rows, NOTHING
    return rows[:most], tag("p", count_of(left), f" more {what} are not listed here; {where}.", class_="tl-note")


def null() -> Html:
    """Return "not stated" in the style of a missing value."""
    return tag("span", NOT_STATED, class_="tl-null")


def count_of(number: int) -> Html:
    """Return a count in an element whose class says that it is one."""
    return tag("span", grouped(number), class_="stat-count", data_v=number)
