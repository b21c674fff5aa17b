"""The schema as documentation: Markdown tables for the pages in ``docs/``, and a JSON Schema of the results.

A page marks the position of a table by ``<!-- table: NAME -->`` and ``<!-- end of table -->``. ``python docs/make_tables.py`` writes the table
between these marks, and a test checks that the table is up to date.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tacholog.schema.columns import Kind, SchemaColumn
from tacholog.schema.conditions import CONDITIONS
from tacholog.schema.marks import MARKS
from tacholog.schema.metrics import METRICS, STATISTICS
from tacholog.schema.records import ENVIRONMENT
from tacholog.schema.tables import HISTOGRAMS, LOGS, OFFERED, PROBLEMS, RESULTS, RUNS

_WORDS_SHOWN = 10  # If a column allows more words than this, the words are in a separate table.
_PLACE = re.compile(r"<!-- table: (?P<name>[a-z]+) -->\n.*?<!-- end of table -->", re.DOTALL)
_BETTER = {"lower": "lower", "higher": "higher", None: "neither"}


def with_tables(page: str) -> str:
    """Return a page in which each table is generated again.

    Raises:
        KeyError: there is no table with this name.
    """
    return _PLACE.sub(lambda marker: f"<!-- table: {marker['name']} -->\n\n{TABLES_OF_DOCS[marker['name']]()}\n<!-- end of table -->", page)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in rows)
    return f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n{''.join(lines)}"


def _table_of_columns(columns: Mapping[str, SchemaColumn]) -> str:
    return _table(
        ("name", "kind", "unit", "meaning"),
        ([f"`{name}`", column.kind, f"`{column.unit}`" if column.unit else "", _meaning_and_words(column)] for name, column in columns.items()),
    )


def _table_of_conditions() -> str:
    return _table(
        ("name", "kind", "unit", "limits", "meaning"),
        (
            [f"`{name}`", column.kind, f"`{column.unit}`" if column.unit else "", _limits(column), _meaning_and_words(column)]
            for name, column in CONDITIONS.items()
        ),
    )


def _limits(column: SchemaColumn) -> str:
    limits = ((">=", column.at_least), (">", column.above))
    return ", ".join(f"`{sign} {limit:g}`" for sign, limit in limits if limit is not None)


def _meaning_and_words(column: SchemaColumn) -> str:
    words = [] if len(column.allowed) > _WORDS_SHOWN or all(f"`{word}`" in column.meaning for word in column.allowed) else column.allowed
    return column.meaning + (f" One of {', '.join(f'`{word}`' for word in words)}." if words else "")


def _metrics() -> str:
    rows = ([f"`{name}`", f"`{metric.unit}`", _BETTER[metric.better], metric.words] for name, metric in METRICS.items())
    return _table(("name", "unit", "better", "what it is"), rows)


def _statistics() -> str:
    percentile = ("`p50`, `p99.9`", "a percentile, above 0 and below 100, without needless zeros: neither `p05` nor `p99.90`")
    return _table(("statistic", "what it is"), [*((f"`{name}`", words) for name, words in STATISTICS.items()), percentile])


def _marks() -> str:
    rows = ([mark.sign, f"`{name}`", "formats" if mark.by_formats else "rules", f"{mark.title}. {mark.sentence}"] for name, mark in MARKS.items())
    return _table(("sign", "name", "set by", "what it means"), rows)


#: The tables that a page can contain, by name.
TABLES_OF_DOCS: Mapping[str, Callable[[], str]] = {
    "conditions": _table_of_conditions,
    "metrics": _metrics,
    "statistics": _statistics,
    "marks": _marks,
    "environment": lambda: _table(("key", "what it is"), ([f"`{name}`", words] for name, words in ENVIRONMENT.items())),
    "results": lambda: _table_of_columns({name: column for name, column in RESULTS.items() if name not in CONDITIONS}),
    "runs": lambda: _table_of_columns(RUNS),
    "logs": lambda: _table_of_columns(LOGS),
    "problems": lambda: _table_of_columns(PROBLEMS),
    "histograms": lambda: _table_of_columns(HISTOGRAMS),
}


_TYPES: dict[Kind, str] = {"text": "string", "integer": "integer", "number": "number", "true or false": "boolean", "list": "array"}


def results_schema() -> dict[str, Any]:
    """Return the JSON Schema of one line of the JSON lines that a site offers, or that ``tacholog export --format json`` prints."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One number of a Tacholog dataset",
        "description": "What was measured, under which conditions, and the log and line that contain the number. Null: not stated.",
        "type": "object",
        "properties": {name: _property(column) for name, column in OFFERED.items()},
        "required": list(OFFERED),
        "additionalProperties": False,
    }


def _property(column: SchemaColumn) -> dict[str, Any]:
    type_ = _TYPES[column.kind]
    schema: dict[str, Any] = {"description": column.meaning, "type": type_ if column.required else [type_, "null"]}
    if column.allowed:
        schema["enum"] = [*column.allowed] if column.required else [*column.allowed, None]
    if column.at_least is not None:
        schema["minimum"] = column.at_least
    if column.above is not None:
        schema["exclusiveMinimum"] = column.above
    if column.unit is not None:
        schema["x-unit"] = column.unit
    return schema
