# ruff: noqa: ANN401 - the patterns that `re._parser` returns have no public types
r"""No pattern for logs backtracks over a long text. With such a pattern, a hostile line would take minutes.

These tests analyse each compiled pattern of the formats and of the redaction. They measure no time. A pattern is refused in two cases. Either a long
repeat contains another long repeat. Or two long repeats can match the same characters, and no required text separates them. To mend a pattern, make
the first repeat possessive (``\\s*+``), limit both repeats, or split the text first.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import tacholog.formats
import tacholog.privacy
from tacholog.formats.kit import LineStart

LONG = 256  # The minimum count of a long repetition. Shorter repetitions are fast, even two in a row.
Text = frozenset[int]
EVERY: Text = frozenset(range(256))
CATEGORIES = {
    codes.CATEGORY_DIGIT: re.compile(r"\d"),
    codes.CATEGORY_SPACE: re.compile(r"\s"),
    codes.CATEGORY_WORD: re.compile(r"\w"),
    codes.CATEGORY_NOT_DIGIT: re.compile(r"\D"),
    codes.CATEGORY_NOT_SPACE: re.compile(r"\S"),
    codes.CATEGORY_NOT_WORD: re.compile(r"\W"),
}


def in_category(category: Any) -> Text:
    return frozenset(code for code in EVERY if CATEGORIES[category].match(chr(code)))


def in_set(items: Any) -> Text:
    codes_in_set: set[int] = set()
    negated = False
    for kind, value in items:
        if kind is codes.NEGATE:
            negated = True
        elif kind is codes.LITERAL:
            codes_in_set.add(value)
        elif kind is codes.RANGE:
            codes_in_set |= set(range(value[0], min(value[1], 255) + 1))
        elif kind is codes.CATEGORY:
            codes_in_set |= in_category(value)
    return EVERY - codes_in_set if negated else frozenset(codes_in_set) & EVERY


def texts(sequence: Any) -> Text:
    """Return all characters that a sequence can match at any position."""
    return frozenset().union(*(texts_of(item) for item in sequence))


def texts_of(item: Any) -> Text:
    """Return all characters that an item can match at any position."""
    kind, value = item
    if kind is codes.LITERAL:
        return frozenset({value}) & EVERY
    if kind is codes.NOT_LITERAL:
        return EVERY - {value}
    if kind is codes.ANY:
        return EVERY - {10}
    if kind is codes.IN:
        return in_set(value)
    if kind in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return texts(value[2])
    if kind is codes.SUBPATTERN:
        return texts(value[3])
    if kind is codes.ATOMIC_GROUP:
        return texts(value)
    if kind is codes.BRANCH:
        return frozenset().union(*(texts(branch) for branch in value[1]))
    return frozenset()  # Anchors, lookarounds and back-references count as items without characters.


def fits(sequence: Any, within: Text) -> bool:
    """Return whether a sequence can match the empty text, or a text whose characters are all in ``within``."""
    return all(item_fits(item, within) for item in sequence)


def item_fits(item: Any, within: Text) -> bool:
    """Return whether an item can match the empty text, or a text whose characters are all in ``within``."""
    kind, value = item
    if kind in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return value[0] == 0 or fits(value[2], within)
    if kind is codes.SUBPATTERN:
        return fits(value[3], within)
    if kind is codes.ATOMIC_GROUP:
        return fits(value, within)
    if kind is codes.BRANCH:
        return any(fits(branch, within) for branch in value[1])
    if kind in (codes.AT, codes.ASSERT, codes.ASSERT_NOT, codes.GROUPREF):
        return True
    return bool(texts_of(item) & within)


def is_long(item: Any) -> bool:
    kind, value = item
    return kind in (codes.MAX_REPEAT, codes.MIN_REPEAT) and value[1] >= LONG


def chains(sequence: Any) -> Iterator[list[Any]]:
    """Yield one list with all items of a sequence. Each group without branches is replaced by the items of this group."""
    flat: list[Any] = []
    for item in sequence:
        kind, value = item
        if kind is codes.SUBPATTERN and not any(inner[0] is codes.BRANCH for inner in value[3]):
            flat += next(chains(value[3]))
        else:
            flat.append(item)
    yield flat


def long_parts(item: Any) -> Iterator[tuple[Any, list[Any], list[Any]]]:
    """Yield the repeated part, the items before it, and the items after it.

    Atomic and possessive parts are left out, because they do not backtrack.
    """
    kind, value = item
    if is_long(item):
        yield value[2], [], []
    if kind in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        inner = [value[2]]
    elif kind is codes.SUBPATTERN:
        inner = [value[3]]
    elif kind is codes.BRANCH:
        inner = value[1]
    else:
        return
    for sequence in inner:
        for index, inner_item in enumerate(sequence):
            for repeated, before, behind in long_parts(inner_item):
                yield repeated, [*list(sequence)[:index], *before], [*behind, *list(sequence)[index + 1 :]]


def faults(sequence: Any) -> Iterator[str]:
    for flat in chains(sequence):
        for index, first in enumerate(flat):
            for repeated, _, behind in long_parts(first):
                for end in range(index + 1, len(flat)):
                    for other, before, _ in long_parts(flat[end]):
                        shared = texts(repeated) & texts(other)
                        if shared and fits([*repeated, *other, *behind, *flat[index + 1 : end], *before], shared):
                            yield f"two repeats of {sample(shared)} with nothing else between"
    for kind, value in sequence:
        if kind in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            group = (codes.SUBPATTERN, (None, 0, 0, value[2]))
            if value[1] >= LONG and any(fits([*before, *behind], texts(inner)) for inner, before, behind in long_parts(group)):
                yield "a repeat within a repeat"
            yield from faults(value[2])
        elif kind is codes.SUBPATTERN:
            yield from faults(value[3])
        elif kind is codes.BRANCH:
            for branch in value[1]:
                yield from faults(branch)
        elif kind in (codes.ASSERT, codes.ASSERT_NOT):
            yield from faults(value[1])
        elif kind is codes.ATOMIC_GROUP:
            yield from faults(value)
        elif kind is codes.POSSESSIVE_REPEAT:
            if len(value[2]) > 1 or value[2][0][0] in (codes.SUBPATTERN, codes.BRANCH):
                yield "a possessive group, which Python up to 3.11.4 matches wrongly"
            yield from faults(value[2])


def sample(characters: Text) -> str:
    return repr("".join(chr(code) for code in sorted(characters) if 32 <= code < 127)[:12])


def patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    for package in (tacholog.formats, tacholog.privacy):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".testing" in module.name:
                continue
            for name, value in vars(importlib.import_module(module.name)).items():
                for number, found in enumerate(compiled(value)):
                    yield f"{module.name}.{name}.{number}", found


def compiled(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, LineStart):
        yield value._pattern  # noqa: SLF001
    elif isinstance(value, dict) and depth < 4:
        for member in value.values():
            yield from compiled(member, depth + 1)
    elif isinstance(value, list | tuple) and depth < 4:
        for member in value:
            yield from compiled(member, depth + 1)


@pytest.mark.parametrize(("name", "pattern"), [pytest.param(name, found, id=name) for name, found in patterns()])
def test_no_pattern_backtracks_over_a_long_text(name: str, pattern: re.Pattern[Any]) -> None:
    found = list(faults(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)))

    assert found == [], f"{name}: {pattern.pattern!r}"


@pytest.mark.parametrize(
    "slow",
    [
        r"\s*,?\s*x",
        r"(?:a+)+b",
        r"[0-9]*\w+ ",
        r".*,.*,.*,",
        r"(\s*)(\s+)z",
        r"(?:\w+ ?)+!",
        r"\s*(?:a|\s*b)",
        r"x{0,300}x{0,300}",
    ],
)
def test_slow_patterns_are_detected(slow: str) -> None:
    assert list(faults(parser.parse(slow))) != []


@pytest.mark.parametrize("quick", [r"\s*+,?\s*x", r"\s*,\s*x", r"[0-9]+\s+[0-9]+", r"(?:a,)+b", r"(?>a+)a*b", r"x{1,40}x{1,40}", r"\w+: .*"])
def test_fast_patterns_are_accepted(quick: str) -> None:
    assert list(faults(parser.parse(quick))) == []
