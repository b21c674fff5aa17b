"""What the columns of the tables for other tools mean."""

from __future__ import annotations

from tacholog.render.html import Html, join, tag
from tacholog.render.tables.plain import count_of, plain_table
from tacholog.schema.tables import OFFERED


def schema_table() -> Html:
    """Return the columns, their kinds and their meanings as a table, which a phone folds: it is four screens high there."""
    rows = [[tag("code", name), column.kind, _words(column.meaning)] for name, column in OFFERED.items()]
    table = plain_table("Columns", ("column", "kind", "meaning"), rows, class_="tl-compact")
    summary = tag("summary", count_of(len(rows)), " columns")
    return tag("details", summary, table, class_="tl-long tl-folds-on-phone", open=True)


def _words(text: str) -> Html:
    """Return text whose odd pieces between backticks are code."""
    return join(tag("code", piece) if index % 2 else piece for index, piece in enumerate(text.split("`")))
