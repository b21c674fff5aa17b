"""A portion of what a page shows, as one piece: for the page of an older release, and for a page that loads it when somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tacholog.render.evidence import evidence_lines, evidence_remarks
from tacholog.render.figures.figures import FIGURES, Figure, latency_over_cost
from tacholog.render.figures.plots import plot
from tacholog.render.figures.run_curves import distributions_of, interval_figures
from tacholog.render.html import NOTHING, Html, folded, join, tag
from tacholog.render.links import Links
from tacholog.render.tables import summary
from tacholog.render.tables.cost import cost_note, cost_table, has_cost
from tacholog.render.tables.logs import FindOfferedLog, MoveRowsOut, runs_table
from tacholog.render.tables.results import MoveTableOut, loss_line, numbers_anchor, numbers_tables, page_anchor
from tacholog.render.tables.sizes import sizes_table
from tacholog.render.tables.trials import trials_tables
from tacholog.view.portions import Portion
from tacholog.view.results import ResultRow
from tacholog.view.series import Series
from tacholog.view.views import TESTS, Selection, View

TEST_TITLES = {"latency": "Latency", "throughput": "Throughput", "demand": "Throughput in bursts", "sustain": "Highest sustained rate"}
COST_TITLE = "processor time, context switches and memory"
NUMBERS_TITLE = "all percentiles, samples and every run"
MOST_SENTENCES = 3  # with more series, the table is easier to read
_OF_RATES = ("goodput", "messages", "loss")
DRAWN = {"latency": ("latency",), "throughput": _OF_RATES, "demand": _OF_RATES, "sustain": ("sustained",)}


def portion_html(part: View, portion: Portion, selection: Selection, links: Links, suffix: str, apart: MoveTableOut | None, number: int = 1) -> Html:
    """Return the numbers of a portion: of its first test a figure and the table of sizes, and all else folded under its heading.

    Args:
        part: all that the page shows.
        portion: what of it is wanted.
        selection: what ``part`` was selected by: ids are made from it, and are those of a page that shows everything.
        links: where the pages of the logs are.
        suffix: the end of ids that are not of one series, and that the page may have too.
        apart: keeps large tables out of the piece.
        number: that of the part of the page, as for `page_anchor`.
    """
    found = [evidence_lines(portion.evidence, part), evidence_remarks(portion.evidence, part)] if portion.is_first else []
    is_first = True
    for test in TESTS:
        of_test = part.only(Selection(test=test))
        series = portion.series_of(test, of_test.series())
        if series:
            found.append(_test(of_test, portion, series, _Place(test, selection, links, suffix, apart, number), is_first=is_first))
            is_first = False
    return join(found)


class _Place:
    """Where the numbers of a test are put: what their ids are made from."""

    def __init__(self, test: str, selection: Selection, links: Links, suffix: str, apart: MoveTableOut | None, number: int) -> None:
        self.test, self.suffix, self.apart, self._number = test, suffix, apart, number
        self.numbers = numbers_anchor(test, selection, number)
        self.links = Links(links.logs, self.numbers)
        self._values = msgspec.structs.replace(selection, test=test).values()

    def figure(self, name: str) -> str:
        """Return the start of the ids of a figure."""
        return page_anchor(name, *self._values, number=self._number)


def _test(part: View, portion: Portion, series: Sequence[Series], place: _Place, *, is_first: bool) -> Html:
    title = TEST_TITLES[place.test]
    figures = list(_figures(part, portion, series, place))
    numbers = numbers_tables(series, place.links, place.numbers, place.apart, f"{place.numbers}-{place.suffix}")
    trials = trials_tables(part.trials(), series, place.links, place.numbers, place.apart)
    shown = [
        summary.SUMMARIES[place.test](series, place.links) if len(series) <= MOST_SENTENCES else "",
        *figures[:1],
        sizes_table(series, place.links, f"{place.figure('sizes')}-{place.suffix}"),
        folded(tag("h3", f"{title}: more figures"), *figures[1:]) if figures[1:] else "",
        _costs([result for run in portion.runs for result in part.by_run.get(run, ())], series, place),
        folded(tag("h3", f"{title}: {NUMBERS_TITLE}"), numbers, trials),
    ]
    heading = tag("h2", title, id=f"{place.test}-{place.suffix}")
    return join([heading, *shown]) if is_first else join([loss_line(title, series, place.links), folded(heading, *shown)])


def _costs(results: Sequence[ResultRow], series: Sequence[Series], place: _Place) -> Html:
    """Return what a message costs, folded; nothing where nobody measured it.

    ``results`` are those of the portion. To search those of all releases for each of them grew with the square of their number.
    """
    if not has_cost(series, results):
        return NOTHING
    drawn = latency_over_cost(series, results)
    figure = plot(drawn, f"{place.figure('cost')}-{place.suffix}", place.links) if drawn else ""
    return folded(tag("h3", f"{TEST_TITLES[place.test]}: {COST_TITLE}"), figure, cost_table(series, results), cost_note())


def _figures(part: View, portion: Portion, series: Sequence[Series], place: _Place) -> Iterator[Html]:
    for name in DRAWN[place.test]:
        figure = FIGURES[name](series)
        if figure:
            yield plot(figure, f"{place.figure(name)}-{place.suffix}", place.links)
    if place.test == "latency":
        curves = distributions_of(series, part.histograms)
        if curves:
            yield plot(curves, f"{place.figure('distribution')}-{place.suffix}", place.links)
    if portion.is_first:
        yield from _each("intervals", interval_figures(part.interval_series(), lambda curve: portion.has_run(curve.results[0].run)), place)


def _each(name: str, figures: Iterable[tuple[int, Figure | None]], place: _Place) -> Iterator[Html]:
    for slot, figure in figures:
        if figure:
            yield plot(figure, f"{place.figure(name)}-{slot}", place.links)


def portion_runs(part: View, portion: Portion, links: Links, offer: FindOfferedLog, rest: MoveRowsOut | None) -> Html:
    """Return the table of the runs of a portion, folded. ``rest`` takes all but the first runs out of the piece."""
    if not portion.is_first:
        return NOTHING
    return folded(tag("h2", "Runs and raw logs"), runs_table(portion.only(part), links, offer, rest))
