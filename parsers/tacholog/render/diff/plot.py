"""The drawings of a diff: for each row its ratio with interval and threshold on one common axis, and every run of both sides as a dot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tacholog.compare.result import DiffRow
from tacholog.render.diff.shapes import path_of
from tacholog.render.diff.words import interval, ratio
from tacholog.render.html import NOTHING, Html, join, tag

RATIO_WIDTH, RUNS_WIDTH, HEIGHT = 220, 150, 30
_ROOM = 8
_LEAST_REACH, _MOST_REACH = math.log(1.1), math.log(4)
_TICKS = (0.25, 0.33, 0.5, 0.67, 0.8, 0.9, 0.95, 1.0, 1.05, 1.11, 1.25, 1.5, 2.0, 3.0, 4.0)
_LABEL_ROOM = 40
_HALF_LABEL = 22  # of the widest label: one nearer to an end would be cut
_MOST_DOTS = 200
_RADIUS = 3
_ROWS = ((9, "old"), (22, "new"))  # the height of the dots of each side, and their class


def reach(rows: Sequence[DiffRow]) -> float:
    """How far the common axis of these rows reaches to either side, as a logarithm: as far as nine rows in ten."""
    ends = sorted(max(abs(math.log(end)) for end in _ends(row)) for row in rows if _ends(row))
    if not ends:
        return _LEAST_REACH
    return min(max(ends[math.ceil(0.9 * len(ends)) - 1] * 1.1, _LEAST_REACH), _MOST_REACH)


def axis(span: float) -> Html:
    """The labels of the common axis."""
    shown: dict[float, Html] = {}
    for tick in sorted((t for t in _TICKS if abs(math.log(t)) <= span), key=lambda t: abs(math.log(t))):  # x1 has its label for certain
        at = _at(tick, span)
        fits = _HALF_LABEL <= at <= RATIO_WIDTH - _HALF_LABEL
        if fits and all(abs(at - other) >= _LABEL_ROOM for other in shown):
            shown[at] = tag("text", f"x{tick:g}", x=at, y=12, text_anchor="middle")
    return tag("svg", *shown.values(), class_="ax", viewBox=f"0 0 {RATIO_WIDTH} 16", aria_hidden="true")


def ratio_plot(row: DiffRow, span: float) -> Html:
    """The ratio of a row, its interval, and the threshold; an arrow where it lies beyond the axis."""
    if row.ratio is None or row.ratio <= 0 or row.threshold is None:
        return NOTHING
    words = " ".join(("ratio", ratio(row.ratio), interval(row))).strip()
    return tag(
        "svg", tag("title", words), *_ratio_parts(row, row.ratio, span), class_=f"rt {row.verdict}", viewBox=f"0 0 {RATIO_WIDTH} {HEIGHT}", role="img"
    )


def runs_plot(row: DiffRow) -> Html:
    """Every run of both sides as a dot on the row's own axis, the old side above, so that the spread is seen."""
    if row.old is None or row.new is None or max(row.old.runs, row.new.runs) <= 1:
        return NOTHING
    sides = [side.values[:_MOST_DOTS] for side in (row.old, row.new)]
    values = [value for side in sides for value in side if value > 0]
    if not values:
        return NOTHING
    low, high = math.log(min(values)), math.log(max(values))
    dots = [_dots([_share(math.log(value), low, high) for value in side if value > 0], *place) for side, place in zip(sides, _ROWS, strict=True)]
    title = f"{len(sides[0])} old runs above, {len(sides[1])} new runs below"
    return tag("svg", tag("title", title), *dots, class_="rn", viewBox=f"0 0 {RUNS_WIDTH} {HEIGHT}", role="img")


def _dots(shares: Sequence[float], height: int, name: str) -> Html:
    """All runs of a side as one path: an element for each was a third of a page."""
    places = (f"{_ROOM + (RUNS_WIDTH - 2 * _ROOM) * share - _RADIUS:.1f}" for share in shares)
    half = f"a{_RADIUS} {_RADIUS} 0 1 0 "
    return tag("path", d="".join(f"M{x} {height}{half}{2 * _RADIUS} 0{half}-{2 * _RADIUS} 0z" for x in places), class_=name)


def _ratio_parts(row: DiffRow, value: float, span: float) -> Iterator[Html]:
    middle = HEIGHT / 2
    limit = min(row.threshold or 0.0, math.exp(span) - 1)
    left, right = _at(1 / (1 + limit), span), _at(1 + limit, span)
    yield tag("rect", x=left, y=2, width=round(right - left, 1), height=HEIGHT - 4, class_="band")
    yield tag("line", x1=_at(1, span), x2=_at(1, span), y1=2, y2=HEIGHT - 2, class_="one")
    low, high = row.interval or (None, None)
    ends = _at(low, span) if low else 0, _at(high, span) if high else RATIO_WIDTH
    yield tag("line", x1=ends[0], x2=ends[1], y1=middle, y2=middle, class_="ci")
    place = _at(value, span)
    if abs(math.log(value)) > span:
        sign = 1 if value > 1 else -1
        yield tag("path", d=f"M{place - 7 * sign} {middle - 5}L{place + sign} {middle}L{place - 7 * sign} {middle + 5}Z", class_="dot")
    else:
        yield tag("path", d=path_of(row.verdict, place, middle) or f"M{place} {middle}h.1", class_=f"sign {row.verdict}")


def legend() -> Html:
    """What the drawings show, in words."""
    sentences = (
        "In the tables below: the sign in the column \u201cRatio, drawn\u201d is the ratio of new to old, its line the interval of the row alone.",
        "Changes within the shaded band do not count.",
        "In the column \u201cRuns\u201d each dot is one run: hollow and above is old, filled and below is new.",
    )
    return join([" ".join(sentences)])


def _ends(row: DiffRow) -> list[float]:
    found = [row.ratio, *(row.interval or ())] if row.threshold is not None else []
    return [end for end in found if end is not None and end > 0]


def _share(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 0.5


def _at(value: float, span: float) -> float:
    share = (max(-span, min(span, math.log(value))) + span) / (2 * span)
    return round(_ROOM + (RATIO_WIDTH - 2 * _ROOM) * share, 1)
