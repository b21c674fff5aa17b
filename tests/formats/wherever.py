"""What records say, wherever it stands."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from tacholog.schema.records import Record


def wherever(records: Iterable[Record]) -> list[Record]:
    """Return the records without the lines that their numbers stand on."""
    return [replace(record, numbers=tuple(replace(number, line=None) for number in record.numbers)) for record in records]
