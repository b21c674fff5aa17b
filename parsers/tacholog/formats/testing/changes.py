"""Ways to change a log. Each function returns the changed lines. It gets the lines of the log, those of another log, and a random generator."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence

Lines = Sequence[bytes]
Change = Callable[[Lines, Lines, random.Random], Lines]

SHARE = 0.4  # the largest share of changed lines
_MOST_LOST = 2  # the largest number of consecutive lines that are lost
NUMERALS = {bytes([byte]) for byte in b"0123456789.,eE+-"}
NO_NUMERALS = [byte for byte in range(256) if bytes([byte]) not in NUMERALS]
NO_LETTERS = [byte for byte in NO_NUMERALS if not chr(byte).isalpha() and byte not in b"%/"]
_NUMBER = re.compile(rb"[-+.0-9]*[0-9][-+.,0-9eE]*[ \[(]?(?P<unit>[A-Za-z%/\xc2\xb5\xce\xbc]{1,5})?")
_DIGITS = re.compile(rb"[0-9][0-9.]*")
_DIGIT = re.compile(rb"[0-9]")
_ROLE = re.compile(rb"\b[ps]ub\b")  # Roles are not changed: "pub" and "sub" differ by one byte, so nobody could recognise the change.
# Words that may be missing at the end of a complete line: in iperf3, the last word of a row, such as "(sender)"; in eCAL, "ZERO-COPY".
_REMARK = re.compile(rb"(?:(?<! ) {2,40}(?P<words>\([a-z]{1,20}\)) *|LAYER: SHM(?P<more> ZERO-COPY))\n?$")
CONTROL = [bytes([code]) for code in (*range(10), 11, 12, 13, *range(14, 32), 127)]
CONTROL += [text.encode() for text in ("\x85", "\x9b", "\u200b", "\u2028", "\u202e", "\ufeff")]
UNDECODABLE = [b"\x80", b"\xff", b"\xff\xfd", b"\xc3\x28", b"\xe2\x82", b"\xf0\x9f\x92", b"\xed\xa0\x80"]
ODD_NUMBERS = [
    b"0",
    b"-1",
    b"9" * 18,
    b"9" * 19,
    b"9" * 400,
    b"18446744073709551615",
    b"1e999",
    b"-nan",
    b"inf",
    b"0.0",
    b"1.",
    b".5",
    b"1,5",
    b"1_0",
]
ODD_NUMBERS += [
    "\u0663".encode(),
    "\u00b2".encode(),
    b"0x10",
    b"007",
    b"",
]  # `int` accepts an Arabic digit, and `str.isdigit` a superscript.


def foreign_digits(lines: Lines, chance: random.Random) -> Lines:
    """In some lines, replace each digit of one number by the Arabic digit seven.

    `int`, `float` and patterns for text accept Arabic digits.
    """

    def foreign(line: bytes) -> bytes:
        number = chance.choice([*_DIGITS.finditer(line)])
        return line[: number.start()] + _DIGIT.sub("\u0667".encode(), number[0]) + line[number.end() :]

    return [foreign(line) if chance.random() < SHARE and _DIGIT.search(line) else line for line in lines]


def cut(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """Cut some lines, but not within a number, because it would become another number.

    A line is also not cut before a `_REMARK`, because the line is complete without the remark.
    """

    def ends(line: bytes) -> list[int]:
        remark = _REMARK.search(line)
        excluded = () if remark is None else range(remark.start(), remark.start("words") + 1) or (remark.start("more"), remark.start("more") + 1)
        return [end for end in range(len(line)) if end not in excluded and not _is_within_number(line, end)]

    return [line[: chance.choice(ends(line) or [0])] + b"\n" if chance.random() < SHARE else line for line in lines]


def lost(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """Leave out some lines, at most two of them in a row."""
    remaining: list[bytes] = []
    gap = 0
    for line in lines:
        gap = gap + 1 if chance.random() < SHARE and gap < _MOST_LOST else 0
        remaining += [] if gap else [line]
    return remaining


def repeated(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """Print some lines several times."""
    return [line for line in lines for _ in range(chance.choice((1, 1, 1, 2, 3)))]


def interleaved(lines: Lines, others: Lines, chance: random.Random) -> Lines:
    """Mix the lines with the lines of another log. The lines of each log stay in their order."""
    mixed, logs = [], [list(reversed(lines)), list(reversed(others))]
    while all(logs):
        log = chance.choice(logs)
        mixed += [log.pop() for _ in range(min(len(log), chance.choice((1, 1, 2, 5, 20))))]
    return [*mixed, *(line for log in logs for line in reversed(log))]


def torn(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """Leave out a part of any length. Then a block may continue with the lines of another block, for example of the next test."""
    start, end = sorted(chance.randrange(len(lines) + 1) for _ in "ab")
    return [*lines[:start], *lines[end:]]


def shuffled(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """Shuffle consecutive lines."""
    start, end = sorted(chance.randrange(len(lines) + 1) for _ in "ab")
    return [*lines[:start], *chance.sample(lines[start:end], end - start), *lines[end:]]


def control(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """Put control characters into some lines, at any offset."""
    return [_with(line, chance.choice(CONTROL), chance) if chance.random() < SHARE else line for line in lines]


def undecodable(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """Put bytes that are not UTF-8 into some lines."""
    return [_with(line, chance.choice(UNDECODABLE), chance) if chance.random() < SHARE else line for line in lines]


def odd_numbers(lines: Lines, _: Lines, chance: random.Random) -> Lines:
    """Replace numbers in some lines by huge numbers, negative numbers, and numbers that no tool prints."""

    def another(number: re.Match[bytes]) -> bytes:
        return chance.choice(ODD_NUMBERS) if chance.random() < SHARE else number[0]

    return [_DIGITS.sub(another, line) if chance.random() < SHARE else line for line in lines]


#: After these changes, no record may state a value that no true record states. `MOVES` move lines to other positions; `GARBAGE` garbles lines.
DAMAGES: Mapping[str, Change] = {change.__name__: change for change in (cut, lost, repeated, interleaved)}
MOVES: Mapping[str, Change] = {change.__name__: change for change in (torn, shuffled, interleaved)}
GARBAGE: Mapping[str, Change] = {change.__name__: change for change in (control, undecodable, odd_numbers)}


def may_flip(log: bytes) -> dict[int, Sequence[int]]:
    """Return the offsets of bytes that may flip, each with the possible new values. No number, no role, and no letter of a possible unit is changed.

    "10 us" and "10 ms" differ by one byte, so nobody could recognise such a change.
    """
    flips: dict[int, Sequence[int]] = dict.fromkeys(range(len(log)), NO_NUMERALS)
    for number in _NUMBER.finditer(log):
        flips |= dict.fromkeys(range(*number.span("unit")), NO_LETTERS)
        for offset in range(number.start(), number.start("unit") if number["unit"] else number.end()):
            flips.pop(offset, None)
    for role in _ROLE.finditer(log):
        for offset in range(*role.span()):
            flips.pop(offset, None)
    return flips


def _with(line: bytes, more: bytes, chance: random.Random) -> bytes:
    offset = chance.randrange(len(line))
    return line[:offset] + more + line[offset:]


def _is_within_number(line: bytes, offset: int) -> bool:
    return line[offset - 1 : offset] in NUMERALS and line[offset : offset + 1] in NUMERALS
