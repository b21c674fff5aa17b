"""Where the numbers of a finding stand in the log: a line there may hold more than what its format has seen of it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tacholog.formats.kit.findings import Finding
from tacholog.formats.kit.lines import Line
from tacholog.schema.records import Number, Record

_TAB = 8  # Columns.


def placed(record: Record, found: Finding, lines: Sequence[Line]) -> Record:
    """Return the record of a finding with the places of its numbers as in the log, where more may stand on a line than its format has seen."""
    if all(number.value_start is None for number in record.numbers):
        return record
    in_log = {line.number: line for line in lines}
    seen = {line.number: line for line in (found.line, *found.also) if isinstance(line, Line)}
    first = next(iter(seen))
    pairs = ((number, seen.get(number.line or first)) for number in record.numbers)
    return msgspec.structs.replace(
        record, numbers=tuple(_moved(number, line, in_log.get(line.number, line) if line else None) for number, line in pairs)
    )


def _moved(number: Number, seen: Line | None, line: Line | None) -> Number:
    """Return a number with its place on a line of the log, of which its format has seen this."""
    start, end = number.value_start, number.value_end
    if start is None or end is None or (seen is line and line and line.shown is line.text):
        return number
    place = _place(start, seen.text, line) if seen and line else None
    return number if place == start else msgspec.structs.replace(number, value_start=place, value_end=None if place is None else place + end - start)


def _place(at: int, seen: str, line: Line) -> int | None:
    """Return where on a line of the log stands what a format has seen at a place; ``None`` if it has seen something else."""
    before, text = len(line.shown) - len(line.text), line.text.rstrip(" \t")
    if line.text.startswith(seen):
        return before + at
    if text.endswith(seen):
        return before + len(text) - len(seen) + at
    if text.expandtabs() != seen:
        return None
    for piece in text.split("\t"):
        if at < len(piece):
            break
        before += len(piece) + 1
        at -= len(piece) // _TAB * _TAB + _TAB
    return before + at
