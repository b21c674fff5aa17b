"""Checks of the findings of a format. An error in a format must not look like a measurement, and it must not break the code that uses the record.

There are two kinds of errors. If a record has an impossible number (`out_of_range`), only its line is lost, because the error may be in the log. If a
finding has a wrong type (`defect_of`), the error is in the format, and the whole log is lost: if a format yields a text as a size, its results on
other lines may be wrong, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from tacholog.formats.kit.bulk import Lines
from tacholog.formats.kit.findings import BulkFinding, Finding, Records
from tacholog.formats.kit.lines import Broken, Line
from tacholog.formats.kit.numbers import COUNT_LIMIT, VALUE_LIMIT
from tacholog.schema.conditions import Basis, Conditions
from tacholog.schema.marks import FORMAT_MARKS
from tacholog.schema.records import Bins, Facts, Histogram, Number, Record

if TYPE_CHECKING:
    # At run time, only the functions that use NumPy import it: most logs are read without it.
    import numpy as np
    from numpy.typing import NDArray

_LONGEST_TEXT = 4096
_BASES = frozenset(get_args(Basis))
_PLAIN = (Record, Broken, Facts, Histogram)


def out_of_range(what: Record | Facts | Histogram | Broken | None) -> str | None:
    """Return a message about the first impossible number in a finding; ``None`` if no number is impossible.

    For example, a message size is impossible if it is negative or too large for a table.

    A log may contain any number. This function checks the ranges for the formats of all packages, so no format needs to check the ranges.
    """
    if isinstance(what, Record):
        return _impossible_number(what)
    if isinstance(what, Facts):
        return _impossible_condition(what.conditions)
    if isinstance(what, Histogram) and what.payload_bytes is not None and not 0 <= what.payload_bytes < COUNT_LIMIT:
        return f"the message size is {_as_text(what.payload_bytes)}, which is impossible"
    return None


def _impossible_number(record: Record) -> str | None:
    for size, words in ((record.payload_bytes, "message size"), (record.payload_bytes_high, "message size"), (record.samples, "number of samples")):
        if size is not None and not 0 <= size < COUNT_LIMIT:
            return f"the {words} is {_as_text(size)}, which is impossible"
    if condition := _impossible_condition(record.conditions):
        return condition
    for number in record.numbers:
        value = number.value
        if number.resolution is not None and not 0 < number.resolution <= VALUE_LIMIT:
            return f"{number.metric} {number.statistic} is known to {number.resolution:g}, which is impossible"
        if value is None:
            continue
        if not isfinite(value) or value > VALUE_LIMIT or (value < 0 and (value < -VALUE_LIMIT or not _may_be_negative(record, number))):
            return f"{number.metric} {number.statistic} is {value:g}, which is impossible"
    return None


@lru_cache(maxsize=1024)  # cached, because many records have the same conditions
def _impossible_condition(conditions: Conditions) -> str | None:
    """Return a message about the first impossible number in conditions; ``None`` if no number is impossible."""
    for name in Conditions.__struct_fields__:
        value = getattr(conditions, name)
        if type(value) is int and not 0 <= value < COUNT_LIMIT:
            return f"{name} is {_as_text(value)}, which is impossible"
        if type(value) is float and not (isfinite(value) and 0 <= value <= VALUE_LIMIT):
            return f"{name} is {value:g}, which is impossible"
    return None


def _as_text(count: int) -> str:
    """Return the text of a count: its digits, or about which power of two it is if the count is not below `VALUE_LIMIT`.

    The count is not converted to a float for this, because a count with hundreds of digits does not fit into a float.
    """
    return str(count) if abs(count) < VALUE_LIMIT else f"about 2^{count.bit_length()}"


def _may_be_negative(record: Record, number: Number) -> bool:
    """A one-way latency may be negative, because it is the difference of two clocks."""
    return number.metric == "latency" and record.conditions.basis in ("one-way", None)


def defect_of(finding: Finding | BulkFinding, reached: int) -> str | None:
    """Return the reason why a finding is not valid; ``None`` if it is valid. ``reached`` is the number of the last line that the format has got."""
    if type(finding) is BulkFinding:
        return _defect_of_many(finding, reached)
    if type(finding) is not Finding:
        return f"yields {type(finding).__name__}, not Finding"
    line, what, also = finding
    if type(also) is not tuple:
        return f"has {type(also).__name__} as its other lines, not a tuple"
    if line is not None and (defect := _defect_of_line(line, reached)):
        return defect
    return next((defect for lines in also if (defect := _defect_of_lines(lines, reached))), None) or _defect_of_what(what)


def _defect_of_line(line: object, reached: int) -> str | None:
    if not isinstance(line, Line) or type(line.number) is not int or type(line.text) is not str:
        return "names a line that is not a Line"
    return None if 0 < line.number <= reached else f"names line {line.number}, which it has not got"


def _defect_of_lines(lines: Line | Lines, reached: int) -> str | None:
    if type(lines) is not Lines:
        return _defect_of_line(lines, reached)
    is_given = lines.number > 0 and 0 < lines.count <= reached - lines.number + 1
    return None if is_given else f"names {lines.count} lines from {lines.number} on, but has not got all of them"


def _defect_of_many(finding: BulkFinding, reached: int) -> str | None:
    lines, what = finding
    if type(lines) is not Lines or (defect := _defect_of_lines(lines, reached)):
        return defect if type(lines) is Lines else f"finds many records on {type(lines).__name__}, not on Lines"
    if what is not None and type(what) is not Records:
        return f"finds {type(what).__name__} on many lines, which is neither Records nor None"
    return defect_of_records(what, lines.count) if what else None


def defect_of_records(records: Records, count: int) -> str | None:
    """Return the reason why these are not valid records on this number of lines; ``None`` if they are valid."""
    columns, indices = records.columns, records.places
    if indices is not None and not (indices.dtype.kind == "i" and indices.ndim == 1 and len(indices) and _ascending(indices, count)):
        return "finds Records whose places do not ascend, or are outside of their Lines"
    try:
        columns.check(count if indices is None else len(indices))
        names = [Number(metric=c.metric, statistic=c.statistic, value=None, bound=c.bound, marks=c.marks) for c in columns.numbers]
    except (TypeError, ValueError) as error:
        return f"finds Records with invalid columns: {error}"
    if not columns.possible().all():
        return "finds Records with impossible sizes or numbers"
    return _defect_of_what(msgspec.structs.replace(records.like, numbers=tuple(names)))


def _ascending(indices: NDArray[np.int64], count: int) -> bool:
    return bool(indices[0] >= 0 and indices[-1] < count and (indices[1:] > indices[:-1]).all())


def _defect_of_what(what: Record | Facts | Histogram | Broken | None) -> str | None:
    kind = type(what)
    if what is None or kind not in _PLAIN:
        return None if what is None else f"finds {kind.__name__}, which is none of Record, Facts, Histogram, Broken and None"
    if isinstance(what, Histogram):
        return _defect_of_histogram(what)
    try:
        plain = msgspec.to_builtins(what)
        msgspec.convert(plain, kind)  # Checks that each field has the type that the schema declares.
    except (msgspec.ValidationError, TypeError, ValueError, OverflowError) as error:
        return f"has a {kind.__name__} that is invalid: {error}"
    if isinstance(what, Record | Facts):
        if type(what.conditions) is not Conditions:
            return f"has {type(what.conditions).__name__} for Conditions"
        if fault := _impossible_condition(what.conditions):
            return f"says that {fault}"
    if isinstance(what, Record) and (defect := _defect_of_record(what)):
        return defect
    return next((defect for text in _texts(plain) if (defect := _defect_of_text(text))), None)


def _defect_of_record(record: Record) -> str | None:
    """Return the error in a record whose fields have the right types."""
    for name, size, least in (("size", record.payload_bytes, 1), ("size", record.payload_bytes_high, 1), ("number of samples", record.samples, 0)):
        if size is not None and not least <= size < COUNT_LIMIT:
            return f"has a {name} of {size!r:.40}, which is impossible"
    if type(record.numbers) is not tuple:
        return f"has numbers in a {type(record.numbers).__name__}, not in a tuple"
    return next((defect for number in record.numbers if (defect := _defect_of_number(number))), None)


def _defect_of_number(number: Number) -> str | None:
    if type(number) is not Number:
        return f"has {type(number).__name__} among its numbers"
    if number.resolution is not None and not 0 < number.resolution <= VALUE_LIMIT:
        return f"has a resolution of {number.resolution!r:.40} for {number.metric} {number.statistic}"
    if type(number.marks) is not tuple or not FORMAT_MARKS.issuperset(number.marks):
        return f"has marks {number.marks!r:.80}, which are not all of {', '.join(sorted(FORMAT_MARKS))}"
    if number.line is not None and not 0 < number.line < COUNT_LIMIT:
        return f"has a number on line {number.line!r:.40}"
    return None


def _texts(plain: Any) -> Iterator[str]:  # noqa: ANN401 - a finding as plain values
    """Yield all texts of a finding, except the texts in its ``numbers``.

    The texts in ``numbers`` are left out, because they are only words of the schema, such as the names of metrics.
    """
    if isinstance(plain, str):
        yield plain
    elif isinstance(plain, dict):
        for name, value in plain.items():
            if name != "numbers":
                yield name
                yield from _texts(value)


def _defect_of_text(text: str) -> str | None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "has a text with half of a character (a lone surrogate)"
    return f"has a text of {len(text)} characters" if len(text) > _LONGEST_TEXT else None


def _defect_of_histogram(histogram: Histogram) -> str | None:
    size, bins = histogram.payload_bytes, histogram.bins
    is_size = size is None or (type(size) is int and 0 <= size < COUNT_LIMIT)
    if not is_size or histogram.basis not in _BASES or type(bins) not in (tuple, Bins):
        return "has an invalid histogram"
    return next((f"has a histogram with the bin {edges!r:.80}" for edges in bins if not _is_bin(edges)), None)


def _is_bin(edges: object) -> bool:
    return type(edges) is tuple and len(edges) == 3 and all(type(edge) is int and 0 <= edge < COUNT_LIMIT for edge in edges)  # noqa: PLR2004
