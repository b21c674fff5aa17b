"""Tables of words: names, dates, sentences. The numbers of results have tables of their own (`tacholog.render.tables.tables`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tacholog.render.html import NOTHING, Html, tag
from tacholog.render.table import scroller, words_table
from tacholog.view.numerals import NOT_STATED, grouped

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
