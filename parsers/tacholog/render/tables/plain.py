"""Tables of words: names, dates, sentences. The numbers of results have tables of their own (`tacholog.render.tables.tables`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tacholog.render.html import Html, tag
from tacholog.render.tables.tables import scroller
from tacholog.view.numerals import NOT_STATED, grouped


def plain_table(label: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """Return a table of words in its own scrolling region. The first cell of a row is its header. On a phone each cell names its column itself."""
    head = tag("tr", *(tag("th", words_, scope="col", class_="tl-text") for words_ in heads))
    body = [tag("tr", tag("th", row[0], scope="row"), *map(_cell, row[1:], heads[1:])) for row in rows]
    return scroller(label, tag("table", tag("thead", head), tag("tbody", *body), class_="tl-table tl-words"))


def _cell(content: object, head: str) -> Html:
    """Write a cell. Plain text in it is marked as words: digits in it are part of a name, not a result."""
    return tag("td", content, class_="tl-text" if isinstance(content, Html) else "tl-text stat-label", data_head=head)


def null() -> Html:
    """Return "not stated" in the style of a missing value."""
    return tag("span", NOT_STATED, class_="tl-null")


def count_of(number: int) -> Html:
    """Return a count in an element whose class says that it is one."""
    return tag("span", grouped(number), class_="stat-count", data_v=number)
