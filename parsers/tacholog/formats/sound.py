"""Whether what a format yields can be what a log says: what a format gets wrong must neither look like a measurement nor break what comes after.

There are two kinds of wrong. A record whose numbers cannot be (`fault_of`) costs its line, for that may be the log's fault. Something that is no
finding at all (`strangeness_of`) is the format's fault, and costs the log: who hands out texts for sizes is not trusted with the rest.
"""

from __future__ import annotations

from functools import lru_cache
from math import isfinite
from typing import get_args

import msgspec

from tacholog.formats.kit.lines import Broken, Found, Line
from tacholog.schema.conditions import Basis, Conditions
from tacholog.schema.marks import FORMAT_MARKS
from tacholog.schema.records import Facts, Histogram, Number, Record, Scope, Side, Test

LARGEST = 1e21  # More than 2^64 bytes in bits: no counter, rate or time of any tool reaches it.
_LARGEST_COUNT = 2**63
_LONGEST_TEXT = 4096
_TESTS, _SCOPES, _SIDES, _BASES = (frozenset(get_args(kind)) for kind in (Test, Scope, Side, Basis))
_NONE = type(None)
_PLAIN = (Record, Broken, Facts, Histogram, _NONE)


def fault_of(record: Record) -> str | None:
    """Say what is impossible in a record; ``None`` if nothing is."""
    for number in record.numbers:
        value = number.value
        if value is None:
            continue
        if not isfinite(value) or value > LARGEST or (value < 0 and (value < -LARGEST or not _clocks_apart(record, number))):
            return f"{number.metric} {number.statistic} is {value:g}, which it cannot be"
    return None


def _clocks_apart(record: Record, number: Number) -> bool:
    """Between two clocks a one-way latency may be negative: it is shown as it is."""
    return number.metric == "latency" and record.conditions.basis in ("one-way", None)


def strangeness_of(found: Found, reached: int) -> str | None:
    """Say why this is no finding in a log of which ``reached`` lines were handed out; ``None`` if it is one."""
    if type(found) is not Found:
        return f"yields {type(found).__name__}, not Found"
    line, what, also = found
    if line is not None and (strange := _strange_line(line, reached)):
        return strange
    if also and (strange := _strange_others(also, reached)):
        return strange
    if type(what) not in _PLAIN:
        return f"finds {type(what).__name__}, which is none of Record, Facts, Histogram, Broken and None"
    return _strange_what(what)


def _strange_what(what: Record | Facts | Histogram | Broken | None) -> str | None:
    if isinstance(what, Record):
        return _strange_record(what)
    if isinstance(what, Facts):
        return _strange_facts(what)
    if isinstance(what, Histogram):
        return _strange_histogram(what)
    return _strange_text("the reason of a Broken", what.reason) if what else None


def _strange_line(line: object, reached: int) -> str | None:
    if not isinstance(line, Line) or type(line.number) is not int or type(line.text) is not str:
        return "names a line that is none"
    return None if 0 < line.number <= reached else f"names line {line.number}, of which it was not given any"


def _strange_others(also: tuple[Line, ...], reached: int) -> str | None:
    if type(also) is not tuple:
        return f"names other lines as {type(also).__name__}, not as a tuple"
    return next((strange for line in also if (strange := _strange_line(line, reached))), None)


def _strange_record(record: Record) -> str | None:
    if record.test not in _TESTS or record.scope not in _SCOPES or not (record.side is None or record.side in _SIDES):
        return f"has a record of test {record.test!r}, scope {record.scope!r} and side {record.side!r}, of which one is unheard of"
    for name, size, least in (("size", record.payload_bytes, 1), ("size", record.payload_bytes_high, 1), ("number of samples", record.samples, 0)):
        if size is not None and (type(size) is not int or not least <= size < _LARGEST_COUNT):
            return f"has a {name} of {size!r:.40}, which is none"
    if record.participant is not None and (strange := _strange_text("a participant", record.participant)):
        return strange
    if strange := _strange_conditions(record.conditions):
        return strange
    if type(record.numbers) is not tuple:
        return f"has numbers in a {type(record.numbers).__name__}, not in a tuple"
    return next((strange for number in record.numbers if (strange := _strange_number(number))), None)


def _strange_number(number: Number) -> str | None:
    if type(number) is not Number:
        return f"has {type(number).__name__} among its numbers"
    kind = type(number.value)
    if kind is not float and kind is not _NONE and kind is not int:
        return f"has a value of {number.value!r:.40} for {number.metric} {number.statistic}"
    step = number.resolution
    if step is not None and not (type(step) in (float, int) and 0 < step <= LARGEST):
        return f"has a resolution of {step!r:.40} for {number.metric} {number.statistic}"
    if number.marks and (type(number.marks) is not tuple or not FORMAT_MARKS.issuperset(number.marks)):
        return f"has marks {number.marks!r:.80}, which are not all of {', '.join(sorted(FORMAT_MARKS))}"
    if number.line is not None and (type(number.line) is not int or not 0 < number.line < _LARGEST_COUNT):
        return f"has a number on line {number.line!r:.40}"
    return None


def _strange_conditions(conditions: Conditions) -> str | None:
    if type(conditions) is not Conditions:
        return f"has {type(conditions).__name__} for Conditions"
    try:
        return _judged(conditions)
    except TypeError:
        return "has conditions that are not of the types of tacholog.schema.conditions.Conditions"


@lru_cache(maxsize=1024)
def _judged(conditions: Conditions) -> str | None:
    """A log has few different conditions, and each of its records has some."""
    return _strange_fields(conditions, Conditions)


def _strange_facts(facts: Facts) -> str | None:
    return _strange_conditions(facts.conditions) or _strange_fields(facts, Facts)


def _strange_fields(struct: Conditions | Facts, kind: type[Conditions | Facts]) -> str | None:
    """Judge each field by the type that the schema declares for it."""
    try:
        plain = msgspec.to_builtins(struct)
        msgspec.convert(plain, kind)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        return f"has {kind.__name__} that are none: {error}"
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if isinstance(value, str) and (strange := _strange_text(f"a {name}", value)):
            return strange
        if type(value) in (float, int) and not abs(value) < _LARGEST_COUNT:
            return f"has a {name} of {value:g}"
    pairs = struct.environment.items() if isinstance(struct, Facts) else ()
    return next((strange for pair in pairs for text in pair if (strange := _strange_text("an environment", text))), None)


def _strange_text(what: str, text: object) -> str | None:
    """Texts go into files in UTF-8, which has no halves of characters."""
    if type(text) is not str:
        return f"has {what} that is no text"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return f"has {what} with half of a character in it"
    return f"has {what} of {len(text)} characters" if len(text) > _LONGEST_TEXT else None


def _strange_histogram(histogram: Histogram) -> str | None:
    size, bins = histogram.payload_bytes, histogram.bins
    if type(size) is not int or not 0 <= size < _LARGEST_COUNT or histogram.basis not in _BASES or type(bins) is not tuple:
        return "has a histogram that is none"
    return next((f"has a histogram with the bin {edges!r:.80}" for edges in bins if not _is_bin(edges)), None)


def _is_bin(edges: object) -> bool:
    return type(edges) is tuple and len(edges) == 3 and all(type(edge) is int and 0 <= edge < _LARGEST_COUNT for edge in edges)  # noqa: PLR2004
