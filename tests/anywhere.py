"""Make records without lines and positions, so that tests can compare documents whose layouts differ."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from tacholog.schema.records import Record


def anywhere(records: Iterable[Record]) -> list[Record]:
    return [
        replace(record, numbers=tuple(replace(number, line=None, value_start=None, value_end=None) for number in record.numbers))
        for record in records
    ]
