"""A portion of what a page shows, as one piece: for the page of an older release, and for a page that loads it when somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tacholog.render.figures.distribution import distribution_of
from tacholog.render.figures.figures import FIGURES, Figure
from tacholog.render.figures.intervals import interval_figures
from tacholog.render.figures.plots import plot
from tacholog.render.html import Html, join, tag
from tacholog.render.tables import summary, tables
from tacholog.render.tables.logs import Offer, runs_table
from tacholog.render.tables.side_by_side import has_side_by_side, side_by_side
from tacholog.render.tables.tables import Apart, Links
from tacholog.view.portions import Portion
from tacholog.view.series import Series
from tacholog.view.views import TESTS, Selection, View

TEST_TITLES = {"latency": "Latency", "throughput": "Throughput", "demand": "Throughput in bursts"}
DRAWN = {"latency": ("latency",), "throughput": ("goodput", "messages", "loss"), "demand": ("goodput", "messages", "loss")}


def portion_html(part: View, portion: Portion, selection: Selection, links: Links, suffix: str, apart: Apart | None) -> Html:
    """Return the numbers of a portion with headings, figures and tables.

    Args:
        part: all that the page shows.
        portion: what of it is wanted.
        selection: what ``part`` was selected by: ids are made from it, and are those of a page that shows everything.
        links: where the pages of the logs are.
        suffix: the end of ids that are not of one series, and that the page may have too.
        apart: keeps large tables out of the piece.
    """
    found = []
    for test in TESTS:
        of_test = part.only(Selection(test=test))
        series = [member for member in of_test.series() if portion.has(test, member)]
        if series:
            found.append(_test(of_test, portion, series, _Place(test, selection, links, suffix, apart)))
    return join(found)


class _Place:
    """Where the numbers of a test are put: what their ids are made from."""

    def __init__(self, test: str, selection: Selection, links: Links, suffix: str, apart: Apart | None) -> None:
        self.test, self.suffix, self.apart = test, suffix, apart
        self.numbers = tables.numbers_anchor(test, selection)
        self.links = Links(links.logs, self.numbers)
        self._values = msgspec.structs.replace(selection, test=test).values()

    def figure(self, name: str) -> str:
        """Return the start of the ids of a figure."""
        return tables.page_anchor(name, *self._values)


def _test(part: View, portion: Portion, series: Sequence[Series], place: _Place) -> Html:
    make = summary.latency_summary if place.test == "latency" else summary.throughput_summary
    title = TEST_TITLES[place.test]
    beside: list[Html] = []
    if has_side_by_side(series):
        beside = [tag("h3", f"{title}: side by side"), side_by_side(series, place.links, f"{place.figure('side-by-side')}-{place.suffix}")]
    return join(
        [
            tag("h2", title, id=f"{place.test}-{place.suffix}"),
            make(series, place.links),
            *_figures(part, portion, series, place),
            *beside,
            tag("h3", f"{title}: all numbers"),
            tables.numbers(series, place.links, place.numbers, place.apart, f"{place.numbers}-{place.suffix}"),
        ]
    )


def _figures(part: View, portion: Portion, series: Sequence[Series], place: _Place) -> Iterator[Html]:
    for name in DRAWN[place.test]:
        figure = FIGURES[name](series)
        if figure:
            yield plot(figure, f"{place.figure(name)}-{place.suffix}", place.links)
    if place.test == "latency":
        yield from _each("distribution", ((member.slot, distribution_of(member, part.histograms)) for member in series), place)
    if portion.is_first:
        yield from _each("intervals", interval_figures(part.intervals(), lambda curve: portion.has_run(curve.results[0].run)), place)


def _each(name: str, figures: Iterable[tuple[int, Figure | None]], place: _Place) -> Iterator[Html]:
    for slot, figure in figures:
        if figure:
            yield plot(figure, f"{place.figure(name)}-{slot}", place.links)


def portion_runs(part: View, portion: Portion, links: Links, offer: Offer) -> Html:
    """Return the table of the runs of a portion."""
    return join([tag("h2", "Runs and raw logs"), runs_table(portion.only(part), links, offer)]) if portion.is_first else Html()
