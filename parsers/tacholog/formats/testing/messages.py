"""The message of a test that failed: what is wrong with a record of a changed log, in a few lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tacholog.formats.reading import Event
from tacholog.formats.testing.claims import Allowances, Claim, Printed, allowance_for, claim_of, distance_needed
from tacholog.schema.records import Record

_SHOWN_LINES = 12
_SHOWN_BYTES = 200


class ChangedLog(NamedTuple):
    """A changed log.

    Attributes:
        log: its bytes.
        events: what the format found in it.
        true: what the records of the unchanged sample say.
    """

    log: bytes
    events: list[Event]
    true: frozenset[Claim]


def explain(record: Record, changed: ChangedLog) -> str:
    """Return how a record differs from the nearest record of the sample, and the lines that it was read from."""
    claim = claim_of(record)
    nearest = min(changed.true, key=lambda true: (*_unlikeness(claim, true), repr(true)), default=None)
    if nearest is None:
        differences = ["  the sample has no record"]
    else:
        differences = [f"  {name}: {here} here, {there} there" for name, here, there in _differences(claim, nearest)]
        differences = differences or ["  it says nothing else; it lacks numbers, or says them where they should not be"]
    return "\n".join(("Compared with the nearest record of the sample:", *differences, "The lines of the record:", *_own_lines(record, changed)))


def name_distance(changed: ChangedLog, change: str, allow: Allowances) -> str:
    """Return the sentence that names the smallest `Distance` with which a log whose lines moved would pass. Another change may need a larger one."""
    if (needed := distance_needed(changed.events, changed.true, change, allow)) is None:
        return "No Distance lets this log pass: the record says what no record of the sample says."
    return f"If nobody could tell from this log, allow=Allowances({allowance_for(change)}=Distance.{needed.name}) is the least that lets it pass."


def _unlikeness(claim: Claim, true: Claim) -> tuple[bool, int, bool, int]:
    return claim.kind != true.kind, len(claim.numbers - true.numbers), claim.sizes != true.sizes, len(claim.words ^ true.words)


def _differences(claim: Claim, true: Claim) -> Iterator[tuple[str, str, str]]:
    """Yield what the record says otherwise: a name, the record's value, and that of the true record."""
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
