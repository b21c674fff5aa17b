"""A portion of a page as one piece of HTML, for the page of an older release, and for a page that loads the piece on demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tacholog.render.evidence import evidence_lines, evidence_remarks, load_line
from tacholog.render.figures.figures import FIGURES, Figure, latency_over_cost
from tacholog.render.figures.plots import plot
from tacholog.render.figures.run_curves import distributions_of, interval_figures
from tacholog.render.html import NOTHING, Html, folded, join, tag
from tacholog.render.links import Links
from tacholog.render.tables import summary
from tacholog.render.tables.cost import cost_note, cost_table
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
MOST_SENTENCES = 3  # with more series, the table is easier to read than the figure
_OF_RATES = ("goodput", "messages", "loss")
DRAWN = {"latency": ("latency",), "throughput": _OF_RATES, "demand": _OF_RATES, "sustain": ("sustained",)}


def portion_html(
    part: View, portion: Portion, selection: Selection, links: Links, suffix: str, move_out: MoveTableOut | None, number: int = 1
) -> Html:
    """Return the numbers of a portion as HTML. Its first test shows a figure and the table of sizes; everything else is folded under headings.

    Args:
        part: all data of the page.
        portion: the portion of the data to show.
        selection: the selection that gave ``part``. Ids are made from it, so the ids of the portion are the same as on the whole page.
        links: the addresses of the log pages.
        suffix: the end of ids that do not belong to one series; it distinguishes them from the ids on the page.
        move_out: a function that moves large tables into separate files.
        number: the number of the part of the page, as for `page_anchor`.
    """
    parts: list[Html | str] = []
    if portion.is_first:
        loads = load_line(result for result in part.results if portion.has_run(result.run))
        parts = [evidence_lines(portion.evidence, part), loads, evidence_remarks(portion.evidence, part)]
    is_first = True
    for test in TESTS:
        of_test = part.only(Selection(test=test))
        series = portion.series_of(test, of_test.series())
        if series:
            parts.append(_test(of_test, portion, series, _TestContext(test, selection, links, suffix, move_out, number), is_first=is_first))
            is_first = False
    return join(parts)


class _TestContext:
    def __init__(self, test: str, selection: Selection, links: Links, suffix: str, move_out: MoveTableOut | None, number: int) -> None:
        self.test, self.suffix, self.move_out, self._number = test, suffix, move_out, number
        self.numbers = numbers_anchor(test, selection, number)
        self.links = Links(links.logs, self.numbers)
        self._values = msgspec.structs.replace(selection, test=test).values()

    def figure(self, name: str) -> str:
        """Return the start of the ids of a figure."""
        return page_anchor(name, *self._values, number=self._number)


def _test(part: View, portion: Portion, series: Sequence[Series], context: _TestContext, *, is_first: bool) -> Html:
    title = TEST_TITLES[context.test]
    figures = list(_figures(part, portion, series, context))
    numbers = numbers_tables(series, context.links, context.numbers, context.move_out, f"{context.numbers}-{context.suffix}")
    trials = trials_tables(part.trials(), series, context.links, context.numbers, context.move_out)
    parts = [
        summary.SUMMARIES[context.test](series, context.links) if len(series) <= MOST_SENTENCES else summary.acknowledgements(series),
        *figures[:1],
        sizes_table(series, context.links, f"{context.figure('sizes')}-{context.suffix}"),
        folded(tag("h3", f"{title}: more figures"), *figures[1:]) if figures[1:] else "",
        _costs([result for run in portion.runs for result in part.by_run.get(run, ())], series, context),
        folded(tag("h3", f"{title}: {NUMBERS_TITLE}"), numbers, trials),
    ]
    heading = tag("h2", title, id=f"{context.test}-{context.suffix}")
    return join([heading, *parts]) if is_first else join([loss_line(title, series, context.links), folded(heading, *parts)])


def _costs(results: Sequence[ResultRow], series: Sequence[Series], context: _TestContext) -> Html:
    """Return the figure and the table of costs, in a folded section; nothing if no cost is known.

    ``results`` must contain only the results of the portion, because a search in the results of all releases would take too long for each portion.
    """
    table = cost_table(series, results)
    if not table:
        return NOTHING
    drawn = latency_over_cost(series, results)
    figure = plot(drawn, f"{context.figure('cost')}-{context.suffix}", context.links) if drawn else ""
    return folded(tag("h3", f"{TEST_TITLES[context.test]}: {COST_TITLE}"), figure, table, cost_note())


def _figures(part: View, portion: Portion, series: Sequence[Series], context: _TestContext) -> Iterator[Html]:
    for name in DRAWN[context.test]:
        figure = FIGURES[name](series)
        if figure:
            yield plot(figure, f"{context.figure(name)}-{context.suffix}", context.links)
    if context.test == "latency":
        curves = distributions_of(series, part.histograms)
        if curves:
            yield plot(curves, f"{context.figure('distribution')}-{context.suffix}", context.links)
    if portion.is_first:
        yield from _each("intervals", interval_figures(part.interval_series(), lambda curve: portion.has_run(curve.results[0].run)), context)


def _each(name: str, figures: Iterable[tuple[int, Figure | None]], context: _TestContext) -> Iterator[Html]:
    for slot, figure in figures:
        if figure:
            yield plot(figure, f"{context.figure(name)}-{slot}", context.links)


def portion_runs(part: View, portion: Portion, links: Links, find_log: FindOfferedLog, move_rows_out: MoveRowsOut | None) -> Html:
    """Return the table of the runs of a portion, in a folded section; nothing if the portion is not the first one.

    ``move_rows_out`` moves all rows except the first ones out of the page.
    """
    if not portion.is_first:
        return NOTHING
    return folded(tag("h2", "Runs and raw logs"), runs_table(portion.only(part), links, find_log, move_rows_out))
