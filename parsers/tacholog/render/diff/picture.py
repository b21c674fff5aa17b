"""All ratios of a diff in one picture: a sign for each row, sorted from better to worse, with its interval and its threshold.

Ratios of latencies and of rates share an axis: above the line is worse, below it is better.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from tacholog.compare.result import DiffRow, Report, Verdict
from tacholog.render.diff.shapes import path_of
from tacholog.render.diff.words import interval, ratio
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.view.names import row_name

DRAWN: tuple[Verdict, ...] = ("worse", "better", "no_change", "inconclusive", "too_few_pairs", "unreplicated_diff", "unreplicated_same")
_WIDTH, _HEIGHT = 720, 260
_LEFT, _RIGHT, _END = 74, 12, 14  # room beside the rows, and above and below them
_MOST_STEP = 26.0  # between two rows: of few rows, the picture would be all gaps
_TICKS = (1.02, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
_LABEL_ROOM = 22  # in a phone the letters are as large
_LEAST_REACH, _MOST_REACH = math.log(1.06), math.log(150)
_MOST_TITLES = 150  # of more rows, a sign has no words of its own: each costs two elements of the page
_MOST_ROWS = 5_000
_FEWEST = 2


def picture(report: Report) -> Html:
    """Return the picture of all rows that compare; nothing for fewer than two, or if all are the same measurement."""
    rows = sorted((row for row in report.rows if row.verdict in DRAWN and row.change is not None and row.better), key=lambda row: row.change or 0.0)
    if len(rows) < _FEWEST or all("same_measurement" in row.reasons for row in rows):
        return NOTHING
    rows = rows if len(rows) <= _MOST_ROWS else [*rows[: _MOST_ROWS // 2], *rows[-_MOST_ROWS // 2 :]]
    frame = _Frame(rows)
    cut = _cut(frame)
    parts = [*_axis(frame), _band(frame), *_intervals(frame), *_signs(frame), cut]
    words = f"{len(rows)} ratios of new to old, sorted from better to worse"
    view = f"0 0 {frame.width:g} {_HEIGHT}"
    drawn = tag("svg", tag("title", words), *parts, class_="pic", viewBox=view, role="img", width=f"{frame.width:g}", height=_HEIGHT)
    return tag("figure", drawn, tag("figcaption", _CAPTION + (_CUT if cut else ""), class_="says stat-evidence"), class_="picture")


_CAPTION = (
    "Each sign is one row, sorted: above the line it is worse, below it better. The vertical line is its 95 % interval (for the row alone), or what "
    "rounding leaves open. The shaded band is the threshold: a smaller change does not count."
)
_CUT = " An arrow beside a sign: the value lies beyond the end of the axis."


class _Frame:
    """Where rows and changes stand in the picture."""

    def __init__(self, rows: Sequence[DiffRow]) -> None:
        self.rows = rows
        ends = sorted(max(abs(end) for end in (row.change or 0.0, *_ends(row))) for row in rows)
        reach = ends[math.ceil(0.95 * len(ends)) - 1] * 1.1  # as far as most rows: one that is far off would flatten all others
        self.reach = min(max(reach, _LEAST_REACH), _MOST_REACH)
        self.step = min((_WIDTH - _LEFT - _RIGHT) / len(rows), _MOST_STEP)
        self.width = max(_LEFT + _RIGHT + self.step * len(rows), 460.0)

    def x(self, place: int) -> float:
        """Return where the row of a place stands."""
        return round(_LEFT + self.step * (place + 0.5), 1)

    def y(self, change: float) -> float:
        """Return the height of a change; one beyond the axis stands at its end."""
        share = (max(-self.reach, min(self.reach, change)) + self.reach) / (2 * self.reach)
        return round(_HEIGHT - _END - (_HEIGHT - 2 * _END) * share, 1)


def _ends(row: DiffRow) -> list[float]:
    """Return both ends of a row's interval as changes, the better one first; an open end is left out."""
    sign = 1 if row.better == "lower" else -1
    return sorted(sign * math.log(end) for end in row.interval or () if end)


def _axis(frame: _Frame) -> Iterator[Html]:
    end = frame.width - _RIGHT
    shown: list[float] = []
    for tick in (1.0, *reversed(_TICKS)):  # x1 for certain, then from the ends inwards
        change = math.log(tick)
        heights = {frame.y(change), frame.y(-change)}
        if change > frame.reach or any(abs(height - other) < _LABEL_ROOM for height in heights for other in shown):
            continue
        shown += heights
        for height in sorted(heights):
            yield tag("line", x1=_LEFT, x2=f"{end:g}", y1=height, y2=height, class_="one" if tick == 1 else "grid")
            yield tag("text", "same" if tick == 1 else f"{tick:g}\u00d7", x=_LEFT - 6, y=height + 4, text_anchor="end")
    yield tag("text", "\u2191 worse", x=_LEFT + 4, y=_END + 6, class_="way")
    yield tag("text", "\u2193 better", x=f"{end:g}", y=_HEIGHT - _END, text_anchor="end", class_="way")


def _band(frame: _Frame) -> Html:
    """Return the thresholds of all rows as one path."""
    half = frame.step / 2
    parts = (
        f"M{frame.x(place) - half:.1f} {frame.y(limit)}h{frame.step:.1f}V{frame.y(-limit)}h{-frame.step:.1f}z"
        for place, row in enumerate(frame.rows)
        if (limit := math.log1p(row.threshold or 0.0))
    )
    return tag("path", d="".join(parts) or "M0 0", class_="band")


def _intervals(frame: _Frame) -> Iterator[Html]:
    """Yield the intervals of the rows of each verdict as one path."""
    for verdict in DRAWN:
        parts = (_interval(frame, place, row) for place, row in enumerate(frame.rows) if row.verdict == verdict and row.interval)
        path = "".join(parts)
        if path:
            yield tag("path", d=path, class_=f"ci {verdict}")


def _interval(frame: _Frame, place: int, row: DiffRow) -> str:
    low, high = row.interval or (None, None)
    ends = [math.log(low) if low else -math.inf, math.log(high) if high else math.inf]
    heights = [frame.y(end if row.better == "lower" else -end) for end in ends]
    return f"M{frame.x(place)} {heights[0]}V{heights[1]}"


def _signs(frame: _Frame) -> Iterator[Html]:
    places = [(row, frame.x(place), frame.y(row.change or 0.0)) for place, row in enumerate(frame.rows)]
    if len(places) > _MOST_TITLES:
        for verdict in DRAWN:
            yield from _all_of(verdict, ((x, y) for row, x, y in places if row.verdict == verdict))
        return
    for row, x, y in places:
        words = " ".join(part for part in (f"{row_name(row.key)}: ratio {ratio(row.ratio or 1.0)}", interval(row)) if part)
        yield tag("path", tag("title", words), d=path_of(row.verdict, x, y), class_=f"sign {row.verdict}")


def _cut(frame: _Frame) -> Html:
    """Return an arrow for each sign that stands at an end of the axis because its change lies beyond it."""
    arrows, half = [], min(4.0, frame.step * 0.38)  # beside each other they must not touch
    for place, row in enumerate(frame.rows):
        change = row.change or 0.0
        if abs(change) > frame.reach:
            x, y, way = frame.x(place), frame.y(change), -1 if change > 0 else 1  # heights are counted from above
            arrows.append(f"M{x - half:.1f} {y + 7 * way:.1f}L{x:.1f} {y + 12 * way:.1f}L{x + half:.1f} {y + 7 * way:.1f}")
    return tag("path", d="".join(arrows), class_="cut") if arrows else NOTHING


def _all_of(verdict: Verdict, places: Iterable[tuple[float, float]]) -> Iterator[Html]:
    path = "".join(filter(None, (path_of(verdict, x, y) for x, y in places)))
    if path:
        yield join([tag("path", d=path, class_=f"sign {verdict}")])
