"""The position of a number on its log line, so that a link leads to the number itself and not only to its line.

Many formats state the position. For other formats, only the line is known. In this case, the exact printed value is searched on the line, in all
units that logs use. If the value occurs more than once, the word before it decides (``lost=0 duplicated=0``). If the position is still unclear, or if
the number was computed from others, the link leads to the whole line.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from tacholog.render.html import Html, join, tag, visible
from tacholog.schema.metrics import METRICS
from tacholog.store.export import with_ordinal
from tacholog.view.results import ResultRow

_PRINTED = re.compile(r"(?<![\w.])\d{1,30}(?:\.\d{1,30})?")
_WORD_BEFORE = re.compile(r"([A-Za-z][\w.]{0,40})\W{0,12}$")
_BEFORE = 64  # how many characters before a number are searched for the word that belongs to it
_STEPS = (1.0, 1e3, 1e6, 1e9)
_SCALES: Mapping[str, tuple[float, ...]] = {
    "ns": _STEPS,
    "bit_per_s": (*_STEPS, *(8 * step for step in _STEPS), 8.0 * 2**10, 8.0 * 2**20, 8.0 * 2**30),
    "messages_per_s": _STEPS,
    "ratio": (1.0, 0.01),
}
_NEAR = 1e-9  # relative tolerance for errors of floating point, not for rounding
Span = tuple[int, int]
NOWHERE: Mapping[str, Span] = {}


def number_anchor(result: ResultRow) -> str | None:
    """Return the anchor of a number on its log page; ``None`` if the number has no line. The permanent id of the number ends with this anchor."""
    return None if result.line is None else with_ordinal(f"L{result.line}:{result.metric}.{result.statistic}", result.ordinal)


def by_line(results: Iterable[ResultRow]) -> dict[int, dict[str, ResultRow]]:
    """Return a mapping for each line: from the anchor of a number to the number."""
    lines: dict[int, dict[str, ResultRow]] = {}
    for result in results:
        anchor = number_anchor(result)
        if anchor is not None and result.number_line is not None:
            lines.setdefault(result.number_line, {})[anchor] = result
    return lines


def with_anchors(text: str, spans: Mapping[str, Span | None]) -> Html:
    """Return a line, escaped, with an anchor at each number.

    ``spans`` has the position of each number, by anchor. The anchor of a number is at the start of the line if the position is not known, or if the
    position is after the end of the text.
    """
    anchors_at: dict[Span, list[str]] = {}
    for anchor, span in spans.items():
        anchors_at.setdefault(span if span and span[1] <= len(text) else (0, 0), []).append(anchor)
    return join(_pieces(text, anchors_at))


def spans_of(text: str, numbers: Mapping[str, ResultRow], format_spans: Mapping[str, Span] = NOWHERE) -> dict[str, Span | None]:
    """Return the position of each number on a line, by anchor; ``None`` if the position is not certain."""
    stated_spans = {anchor: span for anchor in numbers if (span := format_spans.get(anchor)) and span[1] <= len(text)}
    others = {anchor: printed_at(text, result) for anchor, result in numbers.items() if anchor not in stated_spans}
    found_spans = {
        anchor: span for anchor, span in others.items() if span and all(_is_equal_or_apart(span, other) for other in stated_spans.values())
    }
    return {anchor: stated_spans.get(anchor) or found_spans.get(anchor) for anchor in numbers}


def _is_equal_or_apart(span: Span, other: Span) -> bool:
    return span == other or span[1] <= other[0] or other[1] <= span[0]


def _pieces(text: str, anchors_at: Mapping[Span, list[str]]) -> Iterator[Html]:
    end = 0
    for (start, stop), anchors in sorted(anchors_at.items()):
        yield visible(text[end:start])
        marked = visible(text[start:stop])
        for anchor in anchors:
            marked = tag("b", marked, id=anchor)  # the shortest element, because a site has a hundred thousand of them
        yield marked
        end = stop
    yield visible(text[end:])


def printed_at(text: str, result: ResultRow) -> Span | None:
    """Return the position of a number on a line; ``None`` if it is not certain."""
    if result.value is None:
        return None
    candidates = sorted(_positions_of_value(text, result, result.value))
    if len(candidates) > 1:
        names = _names(result)
        candidates = [span for span in candidates if _is_named(text[max(0, span[0] - _BEFORE) : span[0]], names)]
    return candidates[0] if len(candidates) == 1 else None


def _scales(result: ResultRow) -> tuple[float, ...]:
    """Return the factors by which a printed number may have to be multiplied to get the value of a result.

    For example, a tool may print microseconds for a value in nanoseconds. A value without a resolution was not converted, so its only factor is 1.
    """
    return _SCALES.get(METRICS[result.metric].unit, (1.0,)) if result.resolution is not None else (1.0,)


def _positions_of_value(text: str, result: ResultRow, value: float) -> set[Span]:
    values, printed = _printed_in(text)
    near, resolution = _NEAR * abs(value), result.resolution
    spans: set[Span] = set()
    for scale in _scales(result):
        # A line has up to a hundred numbers, and each is searched. A bisection limits the search to numbers of about this value.
        first, last = bisect_left(values, (value - 2 * near) / scale), bisect_right(values, (value + 2 * near) / scale)
        for number, last_place, span in printed[first:last]:
            fits = resolution is None or abs(scale * last_place - resolution) <= _NEAR * resolution
            if fits and abs(number * scale - value) <= near:
                spans.add(span)
    return spans


@lru_cache(maxsize=64)
def _printed_in(text: str) -> tuple[list[float], list[tuple[float, float, Span]]]:
    """Return the numbers on a line in ascending order, as a list of values, and as a list of (value, unit of the last digit, span)."""
    printed = sorted((float(match[0]), 10.0 ** -len(match[0].partition(".")[2]), match.span()) for match in _PRINTED.finditer(text))
    return [value for value, _, _ in printed], printed


def _names(result: ResultRow) -> tuple[str, ...]:
    """Return the words that a log may print before the number of a result.

    They are the statistic, and the last word of the metric: for example, ``lost`` for the metric ``messages_lost``.
    """
    return (result.statistic, result.metric.rpartition("_")[2])


@lru_cache(maxsize=1024)
def _word_before(before: str) -> str:
    word = _WORD_BEFORE.search(before)
    return word[1].lower() if word else ""


def _is_named(before: str, names: tuple[str, ...]) -> bool:
    printed = _word_before(before)
    return any(printed == name or printed.startswith(f"{name}_") for name in names)
