"""What records say, wherever their numbers stand: the same document may be laid out in many ways."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from tacholog.schema.records import Record


def anywhere(records: Iterable[Record]) -> list[Record]:
    """Return the records without the lines and places of their numbers."""
    return [
        replace(record, numbers=tuple(replace(number, line=None, value_start=None, value_end=None) for number in record.numbers))
        for record in records
    ]
