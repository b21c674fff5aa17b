"""A figure as static SVG. It is visible without scripts and in print. Its colours come from the style sheet, so it suits both colour themes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tacholog.render.figures.axes import Axis
from tacholog.render.figures.figures import MOST_SHADED, Figure, PlotPoint, Trace
from tacholog.render.html import NOTHING, Html, join, tag

WIDTH, HEIGHT = 760, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 28, 32, 52
COLOURS = 8
_DASHES = {"solid": None, "dash": "7 4", "dot": "1.5 3.5"}
_SHAPES = ("circle", "square", "diamond")
_REACH = 4
_STRIP, _STRIP_EDGE = 100, 4


def draw(figure: Figure, anchor: str) -> Html:
    """Return the ``svg`` element of a figure; ``anchor`` makes the ids of its title and description unique."""
    return tag(
        "svg",
        tag("title", figure.title, id=f"{anchor}-t"),
        tag("desc", figure.description, id=f"{anchor}-d"),
        *_grid(figure.x, figure.y),
        *(_shade(figure, shade) for shade in figure.shades if len(figure.shades) <= MOST_SHADED),
        *(_line(figure, trace) for trace in figure.traces),
        class_="tl-svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_labelledby=f"{anchor}-t",
        aria_describedby=f"{anchor}-d",
    )


def swatch(slot: int, dash: str = "solid", *, hollow: bool = False) -> Html:
    """Return the symbol of a line in the legend."""
    return tag(
        "svg",
        _path("M1 6H27", dash),
        _marker(14, 6, slot, hollow=hollow),
        class_=f"tl-swatch {series_class(slot)}",
        viewBox="0 0 28 12",
        aria_hidden="true",
    )


def dot_strip(values: Sequence[float]) -> Html:
    """Return a short line from the lowest to the highest value of some runs, with a dot for each run. The table cell contains the numbers."""
    low, high = min(values), max(values)
    dots = "".join(f"M{_STRIP_EDGE + (value - low) / ((high - low) or 1) * (_STRIP - 2 * _STRIP_EDGE):.1f} 5h0" for value in sorted(values))
    line = tag("path", d=f"M{_STRIP_EDGE} 5H{_STRIP - _STRIP_EDGE}", class_="tl-grid")
    return tag("svg", line, tag("path", d=dots, class_="tl-dots"), class_="tl-strip", viewBox=f"0 0 {_STRIP} 10", aria_hidden="true")


def series_class(slot: int) -> str:
    """Return the style class that gives a series its colour."""
    return f"tl-s{slot % COLOURS}"


def _grid(x: Axis, y: Axis) -> Iterator[Html]:
    bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
    for tick, label in zip(y.ticks, y.labels, strict=True):
        position = _y(y, tick)
        yield tag("line", x1=_LEFT, x2=right, y1=position, y2=position, class_="tl-grid")
        yield tag("text", label, x=_LEFT - 8, y=round(position + 4.5, 1), class_="tl-tick", text_anchor="end")
    for tick, label in zip(x.ticks, x.labels, strict=True):
        position = _x(x, tick)
        yield tag("line", x1=position, x2=position, y1=_TOP, y2=bottom, class_="tl-grid")
        yield tag("text", label, x=position, y=bottom + 18, class_="tl-tick", text_anchor="middle")
    yield tag("text", x.title, x=(_LEFT + right) / 2, y=HEIGHT - 8, class_="tl-axis", text_anchor="middle")
    yield tag("text", y.title, x=0, y=14, class_="tl-axis")  # horizontal text is easier to read and does not touch the labels of the ticks


def _shade(figure: Figure, shade: Trace) -> Html:
    return tag("path", d=_outline(shade, _coordinates(figure, shade)), class_=f"tl-shade {series_class(shade.slot)}")


def _coordinates(figure: Figure, trace: Trace) -> list[tuple[float, float]]:
    return [(_x(figure.x, point.x), _y(figure.y, point.y)) for point in trace.points]


def _outline(trace: Trace, coordinates: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in coordinates) + ("Z" if trace.shape == "area" else "")


def _line(figure: Figure, trace: Trace) -> Html:
    coordinates = _coordinates(figure, trace)
    if trace.shape == "runs":
        strip = tag("path", d="".join(f"M{x:g} {y:g}h0" for x, y in coordinates), class_="tl-dots")
        return tag("g", strip, class_=f"tl-runs-strip tl-line {series_class(trace.slot)}")
    return tag(
        "g",
        *([] if trace.shape == "points" else [_path(_outline(trace, coordinates), trace.dash)]),
        *_whiskers(figure, trace.points),
        *(_dots(coordinates, trace) if figure.dense else _markers(coordinates, trace.points, trace)),
        class_=f"{'tl-dense ' if figure.dense else ''}{'tl-area ' if trace.shape == 'area' else ''}tl-line {series_class(trace.slot)}",
    )


def _whiskers(figure: Figure, points: Sequence[PlotPoint]) -> Iterator[Html]:
    whiskers = [
        f"M{_x(figure.x, point.x):g} {_y(figure.y, point.low):g}V{_y(figure.y, point.high):g}"
        for point in points
        if point.low is not None and point.high is not None and point.low > figure.y.low
    ]
    if whiskers:
        yield tag("path", d="".join(whiskers), class_="tl-whisker")


def _dots(coordinates: Sequence[tuple[float, float]], trace: Trace) -> Iterator[Html]:
    """Yield one element for all points, because an element for each point would be a fifth of the page."""
    yield tag("path", d="".join(f"M{x:g} {y:g}h0" for x, y in coordinates), class_="tl-dots")
    yield tag("title", f"{trace.name}: {', '.join(point.words for point in trace.points)}")


def _markers(coordinates: Sequence[tuple[float, float]], points: Sequence[PlotPoint], trace: Trace) -> Iterator[Html]:
    style = "" if trace.style in ("mean", "total") else f" {trace.style}"
    for (x, y), point in zip(coordinates, points, strict=True):
        words = tag("title", f"{trace.name}{style}, {point.words}")
        yield _triangle(x, y, words) if trace.shape == "below" else _marker(x, y, trace.slot, words, hollow=trace.hollow, cross=point.undersampled)


def _path(path: str, dash: str) -> Html:
    return tag("path", d=path, class_="tl-path", stroke_dasharray=_DASHES[dash])


def _marker(x: float, y: float, slot: int, words: Html = NOTHING, *, hollow: bool, cross: bool = False) -> Html:
    """Return the marker of a point: a cross if the point has too few samples, otherwise a shape. Series with the same colour get different shapes."""
    if cross:
        return tag("path", words, d=f"M{x - 3:g} {y - 3:g}l6 6m0-6l-6 6", class_="tl-point")
    class_ = "tl-point tl-hollow" if hollow else "tl-point"
    shape = _SHAPES[slot // COLOURS % len(_SHAPES)]
    inside = join([words])
    if shape == "circle":
        return tag("circle", inside, cx=f"{x:g}", cy=f"{y:g}", r=_REACH - 0.5, class_=class_)
    if shape == "square":
        return tag("rect", inside, x=f"{x - 3:g}", y=f"{y - 3:g}", width=6, height=6, class_=class_)
    diamond = f"M{x:g} {y - _REACH:g}l{_REACH} {_REACH}l-{_REACH} {_REACH}l-{_REACH} -{_REACH}z"
    return tag("path", inside, d=diamond, class_=class_)


def _triangle(x: float, y: float, words: Html) -> Html:
    return tag("path", words, d=f"M{x - _REACH:g} {y:g}h{2 * _REACH}l-{_REACH} {2 * _REACH}z", class_="tl-point tl-hollow")


def _x(axis: Axis, value: float) -> float:
    return round(_LEFT + axis.position(value) * (WIDTH - _LEFT - _RIGHT), 1)


def _y(axis: Axis, value: float) -> float:
    return round(HEIGHT - _BOTTOM - axis.position(value) * (HEIGHT - _TOP - _BOTTOM), 1)
