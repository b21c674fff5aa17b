"""Describe the content of records, and find values in the records of a changed log that no record of the unchanged log states."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, NamedTuple

import msgspec

from tacholog.formats.reading import Event
from tacholog.schema.records import Number, Record

FLIPPED_BYTES = 4  # the largest number of flipped bytes in a log
_FREE_TEXT = ("participant", "transport", "type")  # Any text is possible, so a cut text is not noticed: "UDPv4" instead of "UDPv4 & SHMEM".
_SETTING = "setting "  # Each setting is compared as a separate condition, because it may be on a separate line.
Printed = tuple[str, str, float | None, str, float | None]  # metric, statistic, value, bound, resolution


class Claim(NamedTuple):
    """The kind, sizes, conditions and numbers of a record, without numbers that the format computed from other numbers.

    Marks are not compared, because they are warnings that may depend on other lines around a result.
    """

    kind: tuple[str, str]
    sizes: tuple[int | None, int | None]
    words: frozenset[tuple[str, object]]
    numbers: frozenset[Printed]


class Distance(enum.IntEnum):
    """How much a record of a changed log may differ from the true records, which are the records of the unchanged sample.

    Each value also allows everything that the earlier values allow.

    Attributes:
        NONE: the record states only what one true record states.
        CONTEXT: the numbers and the size come from one true record. The conditions may come from other records, if a line with conditions was moved.
        SIZE: the numbers come from one true record. The size may come from another record, if the line with the size was moved.
        LINES: each number comes from a true record, but not all from the same one. This can happen if the lines of a record were moved.
    """

    NONE = 0
    CONTEXT = 1
    SIZE = 2
    LINES = 3


@dataclass(frozen=True)
class Allowances:
    """What a format may do with a changed log if the change cannot be recognised. By default, a record may only lose numbers and conditions.

    Attributes:
        may_lack_size: whether a record may have no size, because the size is on another line than the numbers.
        moved: how much records may differ from the true records if lines of one log are moved.
        mixed: how much records may differ from the true records if lines of two logs of the format are mixed.
        is_same: a function. It returns whether a record may state a value of a condition although the true record states another value. Its
            arguments are the name of the condition, the value, the conditions of the true record, and the kind of change.
        also_says: a function. It returns other numbers that may replace the numbers of a true record.
        extra_words: conditions that a record may have although no true record has them.
    """

    may_lack_size: bool = False
    moved: Distance = Distance.NONE
    mixed: Distance = Distance.CONTEXT
    is_same: Callable[[str, object, Mapping[str, object], str], bool] = lambda _name, _value, _true, _change: False
    also_says: Callable[[Claim], Iterable[Printed]] = lambda _claim: ()
    extra_words: frozenset[tuple[str, object]] = frozenset()


def is_derived(record: Record) -> bool:
    """Whether the format computed the record from other records. A computed record changes if these other records change."""
    return record.scope == "summary" and all("derived" in number.marks for number in record.numbers)


def claim_of(record: Record) -> Claim:
    """Return the content of a record. If the format itself counted the samples, their number is left out, because it changes if lines are missing."""
    conditions = {name: getattr(record.conditions, name) for name in record.conditions.__struct_fields__}
    settings = msgspec.json.decode(conditions.pop("settings") or "{}", type=dict[str, Any])
    conditions |= {f"{_SETTING}{name}": str(value) for name, value in settings.items()}
    counted = not any("derived" in n.marks for n in record.numbers if n.metric == "messages_received") and record.numbers
    samples = record.samples if counted and not all("derived" in n.marks for n in record.numbers) else None
    words = {**conditions, "side": record.side, "participant": record.participant, "samples": samples}
    return Claim(
        (record.test, record.scope),
        (record.payload_bytes, record.payload_bytes_high),
        frozenset((name, value) for name, value in words.items() if value is not None),
        frozenset((n.metric, n.statistic, n.value, n.bound, n.resolution) for n in record.numbers if "derived" not in n.marks),
    )


def claims_of(records: Iterable[Record]) -> frozenset[Claim]:
    """Return the contents of the records of a log, without computed records."""
    return frozenset(claim_of(record) for record in records if not is_derived(record))


def says_part_of(claim: Claim, true: Claim, change: str, allow: Allowances) -> bool:
    """Whether a record states only what this true record states. The record may have lost numbers or conditions."""
    words = dict(true.words)
    return (
        claim.kind == true.kind
        and (claim.numbers == true.numbers or (change != "repeated" and claim.numbers <= _numbers(true, allow)))
        and (claim.sizes == true.sizes or (claim.sizes == (None, None) and allow.may_lack_size))
        and all(_is_same_word(name, value, words, change, allow) for name, value in claim.words)
    )


def invented(records: Iterable[Record], true: frozenset[Claim], change: str, allow: Allowances) -> list[Record]:
    """Return the records that state a value that no true record states."""
    claims = [(record, claim_of(record)) for record in records if not is_derived(record)]
    return [
        record for record, claim in claims if claim not in true and not any(says_part_of(claim, true_claim, change, allow) for true_claim in true)
    ]


def misplaced(events: Iterable[Event], true: frozenset[Claim], change: str, allow: Allowances) -> list[Record]:
    """Return the records that differ from every true record by more than the `Allowances` of the format permit for such a change."""
    allowed: Distance = getattr(allow, allowance_for(change))
    return [record for record, distance in _distances(events, true, change, allow) if distance > allowed]


def allowance_for(change: str) -> Literal["moved", "mixed"]:
    """Return the field of `Allowances` for a change that moves lines."""
    return "mixed" if change == "interleaved" else "moved"


def distance_needed(events: Iterable[Event], true: frozenset[Claim], change: str, allow: Allowances) -> Distance | None:
    """Return the smallest `Distance` that allows every record of a changed log; ``None`` if no `Distance` allows every record."""
    furthest = max((distance for _, distance in _distances(events, true, change, allow)), default=Distance.NONE)
    return None if furthest == inf else Distance(int(furthest))


def _distances(events: Iterable[Event], true: frozenset[Claim], change: str, allow: Allowances) -> Iterator[tuple[Record, float]]:
    for event in events:
        if isinstance(event.what, Record) and not is_derived(event.what):
            yield event.what, _distance(event, claim_of(event.what), true, change, allow)


def unknown_numbers(records: Iterable[Record], true: frozenset[Claim], allow: Allowances) -> list[Record]:
    """Return the records with a number that no true record has."""
    true_values = _values(number for claim in true for number in _numbers(claim, allow))
    return [record for record in records if not is_derived(record) and not _values(claim_of(record).numbers) <= true_values]


def out_of_range(records: Sequence[Record]) -> list[Record]:
    """Return the computed records whose minimum, mean or maximum is outside of the range of all intervals."""
    interval_values: dict[tuple[str, str], list[float]] = {}
    for number in (number for record in records if record.scope == "interval" for number in record.numbers):
        interval_values.setdefault((number.metric, number.statistic), []).extend(() if number.value is None else (number.value,))

    def beyond(number: Number) -> bool:
        values = interval_values.get((number.metric, number.statistic), [])
        is_comparable = number.statistic in ("min", "mean", "max") and number.value is not None
        return is_comparable and not (values and min(values) * 0.999999 <= (number.value or 0) <= max(values) * 1.000001)

    return [record for record in records if is_derived(record) and any(beyond(number) for number in record.numbers)]


def _numbers(true: Claim, allow: Allowances) -> frozenset[Printed]:
    return true.numbers | frozenset(allow.also_says(true))


def _is_same_word(name: str, value: object, true: Mapping[str, object], change: str, allow: Allowances) -> bool:
    """Whether a record may state ``value`` for the condition ``name``, although the true record has the conditions ``true``."""
    if value == true.get(name) or allow.is_same(name, value, true, change):
        return True
    if not name.startswith((*_FREE_TEXT, _SETTING)):
        return False
    text, true_text = str(value), str(true.get(name))
    return (change == "flipped" and _are_alike(text, true_text)) or (change == "cut" and true_text.startswith(text))


def _are_alike(text: str, other: str) -> bool:
    """Whether flipped bytes can turn one text into the other. The length may change, because a byte may become a blank."""
    return other in text or text in other or (len(text) == len(other) and sum(a != b for a, b in zip(text, other, strict=True)) <= FLIPPED_BYTES)


def _distance(event: Event, claim: Claim, true: frozenset[Claim], change: str, allow: Allowances) -> float:
    """Return the `Distance` of the record in an event from the true records; infinity if the record differs more than each `Distance` allows."""
    if claim in true or any(says_part_of(claim, true_claim, change, allow) for true_claim in true):
        return Distance.NONE
    if not _has_known_conditions(claim, true, allow):
        return inf
    if same := [true_claim for true_claim in true if true_claim.kind == claim.kind and claim.numbers <= _numbers(true_claim, allow)]:
        return Distance.CONTEXT if claim.sizes in {(None, None), *(true_claim.sizes for true_claim in same)} else Distance.SIZE
    of_any = _values(number for true_claim in true for number in _numbers(true_claim, allow))
    return Distance.LINES if len(event.lines) > 1 and _values(claim.numbers) <= of_any else inf


def _has_known_conditions(claim: Claim, true: frozenset[Claim], allow: Allowances) -> bool:
    words = {word for true_claim in true for word in true_claim.words} | allow.extra_words
    sizes = {size for true_claim in true for size in true_claim.sizes} | {None}
    return {word for word in claim.words if word[0] != "participant"} <= words and sizes.issuperset(claim.sizes)


def _values(numbers: Iterable[Printed]) -> set[tuple[str, float | None, str]]:
    """Return the metric, value and bound of each number, without statistics and resolutions: these may depend on other lines of the result."""
    return {(metric, value, bound) for metric, _, value, bound, _ in numbers}


_SHOWN_LINES = 12
_SHOWN_BYTES = 200


class ChangedLog(NamedTuple):
    """A changed log.

    Attributes:
        log: the bytes of the log.
        events: the findings of the format in the log.
        true: the contents of the records in the unchanged sample.
    """

    log: bytes
    events: list[Event]
    true: frozenset[Claim]


def explain(record: Record, changed: ChangedLog) -> str:
    """Return a text that shows how a record differs from the nearest record of the sample, and the lines from which the record was read."""
    claim = claim_of(record)
    nearest = min(changed.true, key=lambda true: (*_unlikeness(claim, true), repr(true)), default=None)
    if nearest is None:
        differences = ["  the sample has no record"]
    else:
        differences = [f"  {name}: {here} here, {there} there" for name, here, there in _differences(claim, nearest)]
        differences = differences or ["  there is no other difference: the record lacks numbers, or is at the wrong position"]
    return "\n".join(("Compared with the nearest record of the sample:", *differences, "The lines of the record:", *_own_lines(record, changed)))


def name_distance(changed: ChangedLog, change: str, allow: Allowances) -> str:
    """Return a sentence with the smallest `Distance` that allows a log with moved lines.

    Another log with moved lines may need a larger distance.
    """
    if (needed := distance_needed(changed.events, changed.true, change, allow)) is None:
        return "This log passes with no Distance: the record states a value that no record of the sample states."
    return f"If the change cannot be recognised in this log, use at least allow=Allowances({allowance_for(change)}=Distance.{needed.name})."


def _unlikeness(claim: Claim, true: Claim) -> tuple[bool, int, bool, int]:
    return claim.kind != true.kind, len(claim.numbers - true.numbers), claim.sizes != true.sizes, len(claim.words ^ true.words)


def _differences(claim: Claim, true: Claim) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each difference, the value in the record, and the value in the true record."""
    if claim.kind != true.kind:
        yield "kind", " ".join(claim.kind), " ".join(true.kind)
    numbers, true_numbers = _by_name(claim.numbers - true.numbers), _by_name(true.numbers)
    yield from ((name, number, true_numbers.get(name, "no such number")) for name, number in sorted(numbers.items()))
    if not numbers:
        missing = _by_name(true.numbers - claim.numbers)
        yield from ((name, "missing", number) for name, number in sorted(missing.items()))
    if claim.sizes != true.sizes:
        yield "payload_bytes", str(claim.sizes[0]), str(true.sizes[0])
    words, true_words = dict(claim.words), dict(true.words)
    yield from ((name, repr(words[name]), repr(true_words.get(name))) for name in sorted(words) if words[name] != true_words.get(name))


def _by_name(numbers: frozenset[Printed]) -> dict[str, str]:
    return {
        f"{metric} {statistic}": f"{'' if bound == '=' else bound + ' '}{value} (resolution {resolution})"
        for metric, statistic, value, bound, resolution in numbers
    }


def _own_lines(record: Record, changed: ChangedLog) -> Iterator[str]:
    lines = changed.log.split(b"\n")
    numbers = sorted({number for event in changed.events if event.what is record for number in (event.line, *event.lines)})
    for number in numbers[:_SHOWN_LINES]:
        if 0 < number <= len(lines):
            yield f"  {number}: {lines[number - 1][:_SHOWN_BYTES]!r}"
    if len(numbers) > _SHOWN_LINES:
        yield f"  and {len(numbers) - _SHOWN_LINES} more"
