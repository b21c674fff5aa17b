"""A figure on a page: the static drawing, its legend, and the data for Plotly.

The data contain no colours, because the script of the page takes them from the style sheet (light, dark, print).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from tacholog.render.figures.axes import Axis
from tacholog.render.figures.figures import MOST_SHADED, Figure, Trace
from tacholog.render.figures.svg import draw, series_class, swatch
from tacholog.render.html import Html, data_block, esc, tag
from tacholog.render.links import Links, ScriptLinks
from tacholog.view.results import ResultRow

_LINK = "Link to this figure"
_STYLES = {"p50": "median", "mean": "mean", "min": "min", "max": "max"}


def plot(figure: Figure, anchor: str, links: Links) -> Html:
    """Return the ``figure`` element. It is complete without scripts; a script may replace the drawing by an interactive plot."""
    targets = ScriptLinks()
    data = data_block(spec(figure, lambda result: targets.line(links, result)), "tl-spec")
    note = tag("p", figure.note, class_="tl-note") if figure.note else ""
    link = tag("a", "#", href=f"#{anchor}", class_="headerlink", title=_LINK, aria_label=_LINK)
    return tag(
        "figure",
        tag("figcaption", tag("span", figure.title, class_="stat-label"), link),
        tag("div", draw(figure, anchor), class_="tl-stage", role="group", aria_label=figure.title),
        _legend(figure),
        note,
        tag("p", class_="tl-points"),  # a script adds a button here; without the reserved space, the content of the page would move
        targets.html(),
        data,
        class_="tl-figure",
        id=anchor,
    )


def _legend(figure: Figure) -> Html:
    series = {trace.slot: trace for trace in figure.traces}
    items = [tag("li", swatch(slot, hollow=trace.hollow), trace.name, class_=series_class(slot), data_series=slot) for slot, trace in series.items()]
    styles = {trace.dash: trace.style for trace in figure.traces}
    if len(styles) > 1:
        items += [tag("li", swatch_grey(dash), _style_words(style), class_="tl-style") for dash, style in styles.items()]
    if any(trace.hollow for trace in figure.traces):
        items.append(tag("li", "hollow points: published by the vendor", class_="tl-style"))
    return tag("ul", *items, class_="tl-legend", aria_label="Legend")


def _style_words(style: str) -> str:
    return _STYLES.get(style) or (f"{style[1:]}\u202f%" if re.fullmatch(r"p[\d.]+", style) else style)


def swatch_grey(dash: str) -> Html:
    """Return the symbol of a line style in the legend. It is grey, because all series use this style."""
    path = tag("path", d="M1 6H27", class_="tl-path", stroke_dasharray={"solid": None, "dash": "7 4", "dot": "1.5 3.5"}[dash])
    return tag("svg", path, class_="tl-swatch tl-grey", viewBox="0 0 28 12", aria_hidden="true")


_SYMBOLS = ("circle", "square", "diamond")
_COLOURS = 8
_SMALL_PX, _LARGE_PX = 4, 7
_CROSS = "x-thin"  # the symbol for too few samples; unlike a pale point, it is visible in both themes


TargetOf = Callable[[ResultRow | None], Sequence[object] | None]


def spec(figure: Figure, target_of: TargetOf) -> dict[str, object]:
    """Return ``data`` and ``layout`` for Plotly.

    The ``meta`` of a trace contains its colour, its series, its details, and whether it is a shaded area.

    ``target_of`` returns the position of a result: the number of its log page and its line (`ScriptLinks.line`).
    """
    return {
        "title": figure.title,
        "columns": [_heading_in_file(figure.x), _heading_in_file(figure.y)],
        **({"names": figure.x.labels} if figure.x.is_of_names else {}),
        "shades": MOST_SHADED,
        "data": [*(_shade(shade) for shade in figure.shades), *(_trace(trace, dense=figure.dense, target_of=target_of) for trace in figure.traces)],
        "layout": {
            "xaxis": {**_axis(figure.x), "title": {"text": esc(figure.x.title)}},
            "yaxis": _axis(figure.y),
            "annotations": [_title_above_axis(figure.y.title)],
            "hovermode": "closest",
            "showlegend": False,
        },
    }


def _trace(trace: Trace, target_of: TargetOf, *, dense: bool) -> dict[str, object]:
    symbol = _SYMBOLS[trace.slot // _COLOURS % len(_SYMBOLS)]
    style = "" if trace.style in ("mean", "total") else f" {trace.style}"
    style += ", each run" if trace.shape == "runs" else ""
    # Plotly interprets some HTML tags in these texts, so names are escaped here too.
    name = esc(trace.name + style)
    points = [*trace.points, trace.points[0]] if trace.shape == "area" else trace.points
    targets = [target_of(point.result) for point in points]
    symbol = "triangle-down" if trace.shape == "below" else symbol
    return {
        "type": "scatter",
        "mode": "markers" if trace.shape in ("points", "runs") else "lines+markers",
        "name": name,
        "x": [point.x for point in points],
        "y": [point.y for point in points],
        "text": ["<br>".join([f"<b>{esc(point.words)}</b>", name, *map(esc, point.more)]) for point in points],
        **({"fill": "toself", "hoveron": "points"} if trace.shape == "area" else {}),
        "hovertemplate": "%{text}<extra></extra>",
        "line": {"dash": trace.dash, "width": 2},
        **({"customdata": targets} if any(targets) else {}),
        **_error_bars(trace),
        "marker": {"symbol": _symbols(trace, f"{symbol}-open" if trace.hollow else symbol), **_point_size(trace, dense=dense)},
        "meta": {**_meta(trace), "details": "<br>".join(map(esc, trace.details)), **_end_of_addresses(trace)},
    }


def _point_size(trace: Trace, *, dense: bool) -> dict[str, object]:
    """Return size and opacity of the points. If the points are single runs, they are small and translucent, so that the line remains visible."""
    return {"size": _SMALL_PX, "opacity": 0.55} if trace.shape == "runs" else {"size": _SMALL_PX if dense else _LARGE_PX}


def _end_of_addresses(trace: Trace) -> dict[str, object]:
    """Return the end of the addresses of all points: metric and statistic, which follow the line number. All points of a trace have the same end."""
    result = trace.points[0].result
    return {"number": f":{result.metric}.{result.statistic}"} if result and not trace.records else {}


def _symbols(trace: Trace, symbol: str) -> object:
    symbols = [_CROSS if point.undersampled else symbol for point in trace.points]
    return symbols if _CROSS in symbols else symbol


def _meta(trace: Trace) -> dict[str, object]:
    return {"slot": trace.slot % _COLOURS, "series": trace.slot}


def _shade(shade: Trace) -> dict[str, object]:
    """Return the shaded area between two edges. Each edge is also drawn as a separate trace, so that a reader can hover over its points."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [point.x for point in shade.points],
        "y": [point.y for point in shade.points],
        "fill": "toself",
        "hoverinfo": "skip",
        "line": {"width": 0},
        "meta": {**_meta(shade), "shade": True},
    }


def _heading_in_file(axis: Axis) -> str:
    return f"{axis.title} ({axis.unit.replace('_per_', '/').replace('_', ' ')})" if axis.unit else axis.title


def _title_above_axis(title: str) -> dict[str, object]:
    position = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "yshift": 6}
    return {"text": esc(title), "showarrow": False, **position}


def _error_bars(trace: Trace) -> dict[str, object]:
    if all(point.low is None for point in trace.points):
        return {}
    above = [(point.high or point.y) - point.y for point in trace.points]
    below = [point.y - (point.low if point.low is not None else point.y) for point in trace.points]
    return {"error_y": {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "thickness": 1.2, "width": 3}}


def _axis(axis: Axis) -> dict[str, object]:
    ends = [math.log10(axis.low), math.log10(axis.high)] if axis.scale == "log" else [axis.low, axis.high]
    return {
        "type": axis.scale,
        "range": ends,
        "tickmode": "array",
        "tickvals": list(axis.ticks),
        "ticktext": list(axis.labels),
        "zeroline": False,
    }
