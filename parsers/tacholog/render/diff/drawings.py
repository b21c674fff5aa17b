"""The drawings of a comparison: the sign of each verdict, one picture of all ratios, and the ratio and the runs of each row.

Shapes distinguish verdicts if colours cannot: on grey prints, and for readers with colour blindness. In the picture, ratios of latencies and of rates
share an axis. A sign above the line of x1 means worse, and a sign below this line means better.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from tacholog.compare.result import Comparison, ComparisonRow, Verdict
from tacholog.render.diff.words import interval, ratio
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.view.names import row_name

_SIZE = 14

# Paths around (0, 0), in pixels. A triangle that points up is worse, down is better, hollow is undecided. A cross means that there was no test.
_PATHS: Mapping[str, str] = MappingProxyType(
    {
        "worse": "M{x} {y}m0 -5.5l5.5 9.5h-11z",
        "better": "M{x} {y}m0 5.5l5.5 -9.5h-11z",
        "differs_worse": "M{x} {y}m0 -5.5l5.5 9.5h-11z",
        "differs_better": "M{x} {y}m0 5.5l5.5 -9.5h-11z",
        "differs_not": "M{x} {y}m-3.5 0h7m-3.5 -3.5v7",
        "no_change": "M{x} {y}m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
        "inconclusive": "M{x} {y}m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
        "too_few_pairs": "M{x} {y}m-3.5 -3.5h7v7h-7z",
        "unreplicated_diff": "M{x} {y}m-3.5 -3.5l7 7m0 -7l-7 7",
        "unreplicated_same": "M{x} {y}m-3.5 0h7",
    }
)


def path_of(verdict: str, x: float, y: float) -> str | None:
    """Return an SVG path that draws the sign for a verdict at a point; ``None`` if the verdict has no sign."""
    path = _PATHS.get(verdict)
    return path.format(x=f"{x:g}", y=f"{y:g}") if path else None


def swatch(verdict: str) -> Html:
    """Return the sign alone, for a legend; an empty text if the verdict has none."""
    path = path_of(verdict, _SIZE / 2, _SIZE / 2)
    if path is None:
        return Html()
    drawn = tag("path", d=path, class_=f"sign {verdict}")
    return tag("svg", drawn, class_="sw", viewBox=f"0 0 {_SIZE} {_SIZE}", aria_hidden="true")


RATIO_WIDTH, RUNS_WIDTH, HEIGHT = 220, 150, 30
_ROOM = 8
_LEAST_REACH, _MOST_REACH = math.log(1.1), math.log(4)
_TICKS = (0.25, 0.33, 0.5, 0.67, 0.8, 0.9, 0.95, 1.0, 1.05, 1.11, 1.25, 1.5, 2.0, 3.0, 4.0)
_LABEL_ROOM = 40
_HALF_LABEL = 22  # half the width of the widest label; a label nearer to an end of the axis would be cut off
_MOST_DOTS = 200
_RADIUS = 3
_ROWS = ((9, "old"), (22, "new"))  # the heights of the dots of each side, and their CSS class


def reach(rows: Sequence[ComparisonRow]) -> float:
    """Return the length of the common axis of these rows, as the logarithm of the largest ratio on it. About nine of ten rows fit on this axis."""
    ends = sorted(max(abs(math.log(end)) for end in _ends(row)) for row in rows if _ends(row))
    if not ends:
        return _LEAST_REACH
    return min(max(ends[math.ceil(0.9 * len(ends)) - 1] * 1.1, _LEAST_REACH), _MOST_REACH)


def axis(span: float) -> Html:
    """Return the labels of the common axis."""
    labels: dict[float, Html] = {}
    for tick in sorted((t for t in _TICKS if abs(math.log(t)) <= span), key=lambda t: abs(math.log(t))):  # x1 is first, so it always has a label
        x = _x_of(tick, span)
        fits = _HALF_LABEL <= x <= RATIO_WIDTH - _HALF_LABEL
        if fits and all(abs(x - other) >= _LABEL_ROOM for other in labels):
            labels[x] = tag("text", f"x{tick:g}", x=x, y=12, text_anchor="middle")
    return tag("svg", *labels.values(), class_="ax", viewBox=f"0 0 {RATIO_WIDTH} 16", aria_hidden="true")


def ratio_plot(row: ComparisonRow, span: float) -> Html:
    """Return a drawing of a row's ratio, its interval and the threshold. An arrow replaces a ratio beyond the axis."""
    if row.ratio is None or row.ratio <= 0 or row.threshold is None:
        return NOTHING
    words = " ".join(("ratio", ratio(row.ratio), interval(row))).strip()
    return tag(
        "svg", tag("title", words), *_ratio_parts(row, row.ratio, span), class_=f"rt {row.verdict}", viewBox=f"0 0 {RATIO_WIDTH} {HEIGHT}", role="img"
    )


def runs_plot(row: ComparisonRow) -> Html:
    """Return a drawing of the spread of a row: a dot for each run, old runs above new runs. Each row has an axis of its own."""
    if row.old is None or row.new is None or max(row.old.runs, row.new.runs) <= 1:
        return NOTHING
    sides = [side.values[:_MOST_DOTS] for side in (row.old, row.new)]
    values = [value for side in sides for value in side if value > 0]
    if not values:
        return NOTHING
    low, high = math.log(min(values)), math.log(max(values))
    dots = [_dots([_share(math.log(value), low, high) for value in side if value > 0], *row) for side, row in zip(sides, _ROWS, strict=True)]
    title = f"{len(sides[0])} old runs above, {len(sides[1])} new runs below"
    return tag("svg", tag("title", title), *dots, class_="rn", viewBox=f"0 0 {RUNS_WIDTH} {HEIGHT}", role="img")


def _dots(shares: Sequence[float], height: int, name: str) -> Html:
    """Return all dots as one path, because one element for each run would make pages large."""
    lefts = (f"{_ROOM + (RUNS_WIDTH - 2 * _ROOM) * share - _RADIUS:.1f}" for share in shares)
    half = f"a{_RADIUS} {_RADIUS} 0 1 0 "
    return tag("path", d="".join(f"M{x} {height}{half}{2 * _RADIUS} 0{half}-{2 * _RADIUS} 0z" for x in lefts), class_=name)


def _ratio_parts(row: ComparisonRow, value: float, span: float) -> Iterator[Html]:
    middle = HEIGHT / 2
    limit = min(row.threshold or 0.0, math.exp(span) - 1)
    left, right = _x_of(1 / (1 + limit), span), _x_of(1 + limit, span)
    yield tag("rect", x=left, y=2, width=round(right - left, 1), height=HEIGHT - 4, class_="band")
    yield tag("line", x1=_x_of(1, span), x2=_x_of(1, span), y1=2, y2=HEIGHT - 2, class_="one")
    low, high = row.interval or (None, None)
    ends = _x_of(low, span) if low else 0, _x_of(high, span) if high else RATIO_WIDTH
    yield tag("line", x1=ends[0], x2=ends[1], y1=middle, y2=middle, class_="ci")
    x = _x_of(value, span)
    if abs(math.log(value)) > span:
        sign = 1 if value > 1 else -1
        yield tag("path", d=f"M{x - 7 * sign} {middle - 5}L{x + sign} {middle}L{x - 7 * sign} {middle + 5}Z", class_="dot")
    else:
        yield tag("path", d=path_of(row.verdict, x, middle) or f"M{x} {middle}h.1", class_=f"sign {row.verdict}")


def legend() -> Html:
    """Return the legend of the drawings, in words."""
    sentences = (
        "In the tables below: the sign in the column \u201cRatio, drawn\u201d is the ratio of new to old, its line the interval of the row alone.",
        "Changes within the shaded band do not count.",
        "In the column \u201cRuns\u201d each dot is one run: hollow and above is old, filled and below is new.",
    )
    return join([" ".join(sentences)])


def _ends(row: ComparisonRow) -> list[float]:
    values = [row.ratio, *(row.interval or ())] if row.threshold is not None else []
    return [end for end in values if end is not None and end > 0]


def _share(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 0.5


def _x_of(value: float, span: float) -> float:
    share = (max(-span, min(span, math.log(value))) + span) / (2 * span)
    return round(_ROOM + (RATIO_WIDTH - 2 * _ROOM) * share, 1)


DRAWN: tuple[Verdict, ...] = (
    *("worse", "better", "differs_worse", "differs_better", "no_change", "differs_not", "inconclusive", "too_few_pairs"),
    *("unreplicated_diff", "unreplicated_same"),
)
_WIDTH, _HEIGHT = 720, 260
_LEFT, _RIGHT, _END = 74, 12, 14  # the margins beside, above and below the rows
_MOST_STEP = 26.0  # the largest distance between two rows, so that a picture of few rows is not too sparse
_PICTURE_TICKS = (1.02, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
_PICTURE_LABEL_ROOM = 22  # the smallest vertical distance between two labels; also enough for the larger letters on a phone
_PICTURE_LEAST_REACH, _PICTURE_MOST_REACH = math.log(1.06), math.log(150)
_MOST_TITLES = 150  # With more rows, signs have no titles, because each title needs two elements of the page.
_MOST_ROWS = 5_000
_FEWEST = 2


def picture(comparison: Comparison) -> Html:
    """Return the picture of all comparable rows; an empty text if there are fewer than two, or if all are the same measurement."""
    rows = sorted(
        (row for row in comparison.rows if row.verdict in DRAWN and row.change is not None and row.better), key=lambda row: row.change or 0.0
    )
    if len(rows) < _FEWEST or all("same_measurement" in row.reasons for row in rows):
        return NOTHING
    rows = rows if len(rows) <= _MOST_ROWS else [*rows[: _MOST_ROWS // 2], *rows[-_MOST_ROWS // 2 :]]
    frame = _PictureScale(rows)
    cut = _arrows_beyond_axis(frame)
    parts = [*_axis(frame), _threshold_band(frame), *_intervals(frame), *_signs(frame), cut]
    words = f"{len(rows)} ratios of new to old, sorted from better to worse"
    view = f"0 0 {frame.width:g} {_HEIGHT}"
    drawn = tag("svg", tag("title", words), *parts, class_="pic", viewBox=view, role="img", width=f"{frame.width:g}", height=_HEIGHT)
    caption = _CAPTION + (_CUT if cut else "") + _not_drawn(comparison)
    return tag("figure", drawn, tag("figcaption", caption, class_="says stat-evidence"), class_="picture")


def _not_drawn(comparison: Comparison) -> str:
    """Return a sentence that counts the rows with a ratio but without a sign. Their ratios may be larger than all that are drawn."""
    count = sum(row.verdict not in DRAWN and row.ratio is not None for row in comparison.rows)
    if not count:
        return ""
    return f" {count} row{' with a ratio has' if count == 1 else 's with a ratio have'} no sign, because too little was measured well enough."


_CAPTION = (
    "Each sign is one row, sorted: above the line it is worse, below it better. The vertical line is its 95 % interval (for the row alone), or what "
    "rounding leaves open. The shaded band is the threshold: a smaller change does not count."
)
_CUT = " An arrow beside a sign: the value lies beyond the end of the axis."


class _PictureScale:
    def __init__(self, rows: Sequence[ComparisonRow]) -> None:
        self.rows = rows
        ends = sorted(max(abs(end) for end in (row.change or 0.0, *_change_ends(row))) for row in rows)
        reach = ends[math.ceil(0.95 * len(ends)) - 1] * 1.1  # The scale covers most rows. A single extreme row would flatten all others.
        self.reach = min(max(reach, _PICTURE_LEAST_REACH), _PICTURE_MOST_REACH)
        self.step = min((_WIDTH - _LEFT - _RIGHT) / len(rows), _MOST_STEP)
        self.width = max(_LEFT + _RIGHT + self.step * len(rows), 460.0)

    def x(self, index: int) -> float:
        """Return the x coordinate of a row, by its index."""
        return round(_LEFT + self.step * (index + 0.5), 1)

    def y(self, change: float) -> float:
        """Return the y coordinate of a change. A change beyond the axis is drawn at the end of the axis."""
        share = (max(-self.reach, min(self.reach, change)) + self.reach) / (2 * self.reach)
        return round(_HEIGHT - _END - (_HEIGHT - 2 * _END) * share, 1)


def _change_ends(row: ComparisonRow) -> list[float]:
    """Return the two ends of the interval of a change, the better end first.

    Each end is the logarithm of a ratio, and a positive end is worse. An end that is 0 or unknown is left out.
    """
    sign = 1 if row.better == "lower" else -1
    return sorted(sign * math.log(end) for end in row.interval or () if end)


def _axis(frame: _PictureScale) -> Iterator[Html]:
    end = frame.width - _RIGHT
    taken_heights: list[float] = []
    for tick in (1.0, *reversed(_PICTURE_TICKS)):  # "x1" is labelled first, then the ends of the axis, then the ticks between them
        change = math.log(tick)
        heights = {frame.y(change), frame.y(-change)}
        if change > frame.reach or any(abs(height - other) < _PICTURE_LABEL_ROOM for height in heights for other in taken_heights):
            continue
        taken_heights += heights
        for height in sorted(heights):
            yield tag("line", x1=_LEFT, x2=f"{end:g}", y1=height, y2=height, class_="one" if tick == 1 else "grid")
            yield tag("text", "same" if tick == 1 else f"{tick:g}\u00d7", x=_LEFT - 6, y=height + 4, text_anchor="end")
    yield tag("text", "\u2191 worse", x=_LEFT + 4, y=_END + 6, class_="way")
    yield tag("text", "\u2193 better", x=f"{end:g}", y=_HEIGHT - _END, text_anchor="end", class_="way")


def _threshold_band(frame: _PictureScale) -> Html:
    half = frame.step / 2
    parts = (
        f"M{frame.x(index) - half:.1f} {frame.y(limit)}h{frame.step:.1f}V{frame.y(-limit)}h{-frame.step:.1f}z"
        for index, row in enumerate(frame.rows)
        if (limit := math.log1p(row.threshold or 0.0))
    )
    return tag("path", d="".join(parts) or "M0 0", class_="band")


def _intervals(frame: _PictureScale) -> Iterator[Html]:
    for verdict in DRAWN:
        parts = (_interval(frame, index, row) for index, row in enumerate(frame.rows) if row.verdict == verdict and row.interval)
        path = "".join(parts)
        if path:
            yield tag("path", d=path, class_=f"ci {verdict}")


def _interval(frame: _PictureScale, index: int, row: ComparisonRow) -> str:
    low, high = row.interval or (None, None)
    ends = [math.log(low) if low else -math.inf, math.log(high) if high else math.inf]
    heights = [frame.y(end if row.better == "lower" else -end) for end in ends]
    return f"M{frame.x(index)} {heights[0]}V{heights[1]}"


def _signs(frame: _PictureScale) -> Iterator[Html]:
    signs = [(row, frame.x(index), frame.y(row.change or 0.0)) for index, row in enumerate(frame.rows)]
    if len(signs) > _MOST_TITLES:
        for verdict in DRAWN:
            yield from _all_of(verdict, ((x, y) for row, x, y in signs if row.verdict == verdict))
        return
    for row, x, y in signs:
        words = " ".join(part for part in (f"{row_name(row.key)}: ratio {ratio(row.ratio or 1.0)}", interval(row)) if part)
        yield tag("path", tag("title", words), d=path_of(row.verdict, x, y), class_=f"sign {row.verdict}")


def _arrows_beyond_axis(frame: _PictureScale) -> Html:
    arrows, half = [], min(4.0, frame.step * 0.38)  # so that neighbouring arrows do not touch
    for index, row in enumerate(frame.rows):
        change = row.change or 0.0
        if abs(change) > frame.reach:
            x, y, direction = frame.x(index), frame.y(change), -1 if change > 0 else 1  # y grows downwards
            arrows.append(f"M{x - half:.1f} {y + 7 * direction:.1f}L{x:.1f} {y + 12 * direction:.1f}L{x + half:.1f} {y + 7 * direction:.1f}")
    return tag("path", d="".join(arrows), class_="cut") if arrows else NOTHING


def _all_of(verdict: Verdict, points: Iterable[tuple[float, float]]) -> Iterator[Html]:
    path = "".join(filter(None, (path_of(verdict, x, y) for x, y in points)))
    if path:
        yield join([tag("path", d=path, class_=f"sign {verdict}")])
