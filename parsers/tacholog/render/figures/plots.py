"""A figure on a page: the static drawing, its legend, and the data for the live plot."""

from __future__ import annotations

import re

from tacholog.render.figures.figures import Figure
from tacholog.render.figures.spec import spec
from tacholog.render.figures.svg import draw, series_class, swatch
from tacholog.render.html import Html, data_block, tag
from tacholog.render.tables.tables import Links
from tacholog.render.targets import Targets

_LINK = "Link to this figure"
_STYLES = {"p50": "median", "mean": "mean", "min": "min", "max": "max"}


def plot(figure: Figure, anchor: str, links: Links) -> Html:
    """Return the ``figure`` element. It is complete without scripts; a script may replace the drawing by a live plot."""
    targets = Targets()
    data = data_block(spec(figure, lambda result: targets.line(links, result)), "tl-spec")
    note = tag("p", figure.note, class_="tl-note") if figure.note else ""
    return tag(
        "figure",
        tag("figcaption", figure.title, tag("a", "#", href=f"#{anchor}", class_="headerlink", title=_LINK, aria_label=_LINK)),
        tag("div", draw(figure, anchor), class_="tl-stage", role="group", aria_label=figure.title),
        _legend(figure),
        note,
        tag("p", class_="tl-points"),  # a script adds a button here; the reserved space keeps the page from jumping
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
    """Return the symbol in the legend for a line style that all series share."""
    path = tag("path", d="M1 6H27", class_="tl-path", stroke_dasharray={"solid": None, "dash": "7 4", "dot": "1.5 3.5"}[dash])
    return tag("svg", path, class_="tl-swatch tl-grey", viewBox="0 0 28 12", aria_hidden="true")
