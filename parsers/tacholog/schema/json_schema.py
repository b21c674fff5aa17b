"""The JSON Schema of the results in the files for other tools: one object a line, one number an object."""

from __future__ import annotations

from typing import Any

from tacholog.schema.columns import Kind, SchemaColumn
from tacholog.schema.tables import OFFERED

_TYPES: dict[Kind, str] = {"text": "string", "integer": "integer", "number": "number", "true or false": "boolean", "list": "array"}


def results_schema() -> dict[str, Any]:
    """Return the JSON Schema of one line of the JSON lines that a site offers, or that ``tacholog export --format json`` prints."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One number of a Tacholog dataset",
        "description": "What was measured, under which conditions, and where it stands in which log. Null: not stated.",
        "type": "object",
        "properties": {name: _property(column) for name, column in OFFERED.items()},
        "required": list(OFFERED),
        "additionalProperties": False,
    }


def _property(column: SchemaColumn) -> dict[str, Any]:
    type_ = _TYPES[column.kind]
    found: dict[str, Any] = {"description": column.meaning, "type": type_ if column.required else [type_, "null"]}
    if column.allowed:
        found["enum"] = [*column.allowed] if column.required else [*column.allowed, None]
    if column.at_least is not None:
        found["minimum"] = column.at_least
    if column.above is not None:
        found["exclusiveMinimum"] = column.above
    if column.unit is not None:
        found["x-unit"] = column.unit
    return found
