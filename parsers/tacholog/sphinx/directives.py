"""The directives. Each selects a part of the dataset by its options and shows it as HTML that `tacholog.render` makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
from docutils import nodes
from docutils.parsers.rst import directives

from tacholog.render.evidence import common_remarks, evidence_lines, evidence_remarks
from tacholog.render.figures.cost import latency_over_cost
from tacholog.render.figures.distribution import distributions_of
from tacholog.render.figures.figures import FIGURES, Figure
from tacholog.render.figures.intervals import interval_figures
from tacholog.render.figures.plots import plot
from tacholog.render.home.page import machines_at_home
from tacholog.render.html import NOTHING, Html, folded, join, tag
from tacholog.render.portion import TEST_TITLES
from tacholog.render.remarks import remarks
from tacholog.render.tables import definitions, logs, summary, tables
from tacholog.render.tables.beside import Slice, beside
from tacholog.render.tables.comparison import compare
from tacholog.render.tables.cost import cost_note, cost_summary, cost_table, spin_note
from tacholog.render.tables.hosts import host_card, machines_side_by_side
from tacholog.render.tables.loss import loss_line
from tacholog.render.tables.overview import overview
from tacholog.render.tables.rankings import rankings
from tacholog.render.tables.releases import releases_table
from tacholog.render.tables.schema import schema_table
from tacholog.render.tables.sizes import side_by_side, sizes_table
from tacholog.render.tables.tables import Links
from tacholog.render.tables.trials import trials_tables
from tacholog.site.downloads import all_downloads, download_links
from tacholog.site.logpage import log_page
from tacholog.site.offered import offered_log
from tacholog.site.output.log_pages import linked_lines
from tacholog.site.output.parts import RUNS, Part
from tacholog.site.script import shell_script
from tacholog.sphinx.perf import OPTIONS, Perf, places_of
from tacholog.sphinx.store import digests_of_runs, view
from tacholog.view.beside import of_session, session_of_several
from tacholog.view.evidence import evidence
from tacholog.view.numerals import NOT_STATED
from tacholog.view.page_index import Entry, PageIndex, page_index
from tacholog.view.portions import at_once
from tacholog.view.series import Series
from tacholog.view.views import TESTS, Selection, View, manifest_of
from tacholog.visible import drawn

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_DOWNLOADS = "downloads"  # the page that lists all files
_NOTED = "tacholog_cost_note"  # whether a page says already what the numbers of a table of costs mean
# What a page holds at once. Each of these is some ten to a hundred elements.
_MOST_SCRIPTS = 10
_MOST_CARDS = 4


class PerfTable(Perf):
    """``{perf-table} NAME``: numbers of a test (latency, throughput, demand, sustain), or a listing."""

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the table of that name."""
        make = _TABLES.get(self.subject)
        if make is None:
            return self.warn(f"no table {self.subject!r}; there are {', '.join(sorted(_TABLES))}")
        if self.subject in TESTS:
            part = part.only(Selection(test=self.subject))
            if not part.summaries():
                return self.warn(f"no data set for {_described(wanted)} (test {self.subject})")
            return self._numbers(part, wanted)
        if self.subject == "cost":
            series = self.series(part, wanted, wanted.test or "")
            table = cost_table(series, part.results)
            note = cost_note() if table and not self.env.temp_data.get(_NOTED) else NOTHING
            self.env.temp_data[_NOTED] = bool(table) or self.env.temp_data.get(_NOTED, False)
            return self.html(join([cost_summary(series, part.results), table, note]))
        if self.subject in _OF_A_TEST:
            series = self.series(part, wanted, wanted.test or "")
            found = _OF_A_TEST[self.subject](series, self.links_beside(wanted, wanted.test), self.anchor(wanted))
            return self.html(join([found, spin_note(series, part.results) if self.subject == "sizes" else NOTHING]))
        portion = self.portion(wanted)
        if self.subject == "runs":
            rest = self.rest("more-runs", "tl-release")
            return self.html(logs.runs_table(portion.only(part) if portion else part, self.links, offered_log, rest))
        return self.html(make(portion.only(part) if portion else part, self.links, self.anchor(wanted)), searched=self.subject in _WORDS)

    def _numbers(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return a table for each series, and one of its trials. What a page cannot hold is loaded when somebody asks for it."""
        series, trials = self.series(part, wanted, self.subject), part.trials()
        portion, anchor, rest = self.portion(wanted), self.anchor(wanted), self.rest(f"more-{self.subject}", "tl-release")
        apart = self.apart(self.beside(RUNS))

        def each(some: Sequence[Series], *start: str) -> Html:
            return tables.numbers(some, self.links, anchor, apart, *start) + trials_tables(trials, some, self.links, anchor, apart)

        most = at_once(series, portion.tests) if portion and rest else len(series)
        if rest is None or most == len(series):
            return self.html(each(series))
        left = len(series) - most
        title = f"{left} more series" if left > 1 else f"One more series: {series[-1].label}"
        return self.html(each(series[:most]) + rest(title, each(series[most:], f"{anchor}-more")))


class PerfDownloads(Perf):
    """``{perf-downloads}``: links to the numbers as files, which `tacholog report` puts into the site."""

    option_spec: ClassVar[dict[str, Callable[[str], object]] | None] = {**OPTIONS, "file": directives.unchanged_required}

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the links."""
        if not part.by_run:
            return []
        file, everything = self.options.get("file"), wanted == Selection()
        if everything and self.env.docname != _DOWNLOADS and _DOWNLOADS in self.env.found_docs:
            return self.html(all_downloads())
        return self.html(download_links(part, wanted.system, wanted.transport, str(file) if file else None))


class PerfSummary(Perf):
    """``{perf-summary} TEST``: the answer in sentences. ``{perf-summary} loss``: one line on the largest loss of a ``:test:``."""

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the sentences; of loss nothing, if no rate carries the mark of it."""
        if self.subject == "loss":
            test = wanted.test or "throughput"
            line = loss_line(TEST_TITLES.get(test, test), self.series(part.only(Selection(test=test)), wanted, test), self.links_beside(wanted, test))
            return self.html(line) if line else []
        series = self.series(part.only(Selection(test=self.subject)), wanted, self.subject)
        if not series:
            return self.warn(f"no data set for {_described(wanted)} (test {self.subject})")
        make = summary.SUMMARIES[self.subject]
        return self.html(make(series, self.links_beside(wanted, self.subject)))


class PerfPlot(Perf):
    """``{perf-plot} NAME``: a figure over message size."""

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the figure of that name, or nothing if there is nothing to draw (no message was lost)."""
        portion = self.portion(wanted)
        if self.subject == "distribution":
            curves = distributions_of(self.series(part, wanted, wanted.test or "latency"), part.histograms)
            return self.html(plot(curves, self.anchor(wanted), self.links)) if curves else []
        if self.subject == "intervals":
            shown = interval_figures(part.interval_series(), lambda curve: portion is None or portion.has_run(curve.results[0].run))
            return self._each(shown, self.anchor(wanted))
        make = FIGURES.get(self.subject)
        if make is None and self.subject != "cost":
            return self.warn(f"no plot {self.subject!r}; there are {', '.join(sorted((*FIGURES, 'cost', 'distribution', 'intervals')))}")
        series = self.series(part, wanted, wanted.test or "")
        if not series:
            return self.warn(f"no data set for {_described(wanted)}")
        figure = make(series) if make else latency_over_cost(series, part.results)
        return self.html(plot(figure, self.anchor(wanted), self.links)) if figure else []

    def _each(self, figures: Iterable[tuple[int, Figure | None]], anchor: str) -> list[nodes.Node]:
        """Return one figure for each series that has something to draw."""
        return [node for slot, figure in figures if figure for node in self.html(plot(figure, f"{anchor}-{slot}", self.links))]


class PerfEvidence(Perf):
    """``{perf-evidence}``: what the numbers are made of that a page opens with, and remarks that are on all of them."""

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return a line for each set of runs, then the remarks."""
        found = self.best(wanted).evidence
        return self.html(evidence_lines(found, part, self.env.found_docs) + evidence_remarks(found, part))


class PerfRemarks(Perf):
    """``{perf-remarks}``: the notes in the manifests of the selected runs, each once. The argument may name releases.

    With ``:show: rest``, those are left out that ``{perf-evidence}`` shows.
    """

    def select(self, wanted: Selection) -> View:
        """Return the runs of the releases: a page about two releases stays as it is when there is a third."""
        if not self.words:
            return super().select(wanted)
        parts = [view(self.env, msgspec.structs.replace(wanted, release=release)) for release in self.words if wanted.release in (None, release)]
        runs = {name: run for part in parts for name, run in part.runs.items()}
        return View({}, dict(sorted(runs.items())), (), (), {})

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the notes, or nothing if there are none."""
        shown = {remark.note for remark in common_remarks(self.best(wanted).evidence, part)} if self.options.get("show") == "rest" else set()
        banner = remarks(part.runs.values(), shown)
        return self.html(banner) if banner else []


class PerfScript(Perf):
    """``{perf-script}``: scripts that repeat the selected runs; runs with the same script share it."""

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the scripts, folded if there are several."""
        portion, scripts = self.portion(wanted), dict[str, tuple[str, str]]()
        part = portion.only(part) if portion else part
        for run in part.runs.values():
            manifest = manifest_of(run)
            sizes = {result.payload_bytes for result in part.by_run.get(run.run, ())}
            text = shell_script(manifest, run.run, sizes) if manifest else None
            if text:
                body = text.split("set -eu", 1)[1]
                scripts.setdefault(body, (run.run, text))
        if not scripts:
            words = "No command is stated for these runs." if part.runs else f"No runs: {_described(wanted)}."
            return self.html(tag("p", words, class_="tl-null"))
        rest, found = self.rest("more-scripts", "tl-script"), list(scripts.values())
        most = len(found) if rest is None or len(found) <= _MOST_SCRIPTS else _MOST_SCRIPTS
        shown = [node for script in found[:most] for node in self._block(*script, folded=len(found) > 1)]
        if rest is None or most == len(found):
            return shown
        others = join([tag("details", tag("summary", tag("code", run)), tag("pre", drawn(text)), class_="tl-script") for run, text in found[most:]])
        return [*shown, *self.html(rest(f"scripts of {len(found) - most} more runs", others))]

    def _block(self, run: str, text: str, *, folded: bool) -> list[nodes.Node]:
        text = drawn(text)
        # Colours are an element for each word: several scripts had more elements than all tables of a page.
        block = nodes.literal_block(text, text, language="none" if folded else "sh")
        self.set_source_info(block)
        if not folded:
            return [block]
        summary_ = tag("summary", tag("code", run))
        return [*self.html(Html('<details class="tl-script">') + summary_), block, *self.html(Html("</details>"))]


class PerfHost(Perf):
    """``{perf-host} ID``: the machine of that id, or those of the selected runs."""

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return one card for each machine, that of the best evidence first."""
        if self.subject:
            if self.subject not in part.hosts and self.subject != NOT_STATED:
                return self.warn(f"no host {self.subject!r}")
            return self.html(host_card(self.subject, part.hosts.get(self.subject), named=False), searched=True)
        if not part.runs:
            return self.warn(f"no data set for {_described(wanted)}")
        ids = list(dict.fromkeys([one.host or "" for one in evidence(part)] + sorted({run.host or "" for run in part.runs.values()})))
        cards = [node for host in ids[:_MOST_CARDS] for node in self.html(host_card(host, part.hosts.get(host)))]
        return [*cards, *(self._others(len(ids) - _MOST_CARDS) if len(ids) > _MOST_CARDS else [])]

    def _others(self, count: int) -> list[nodes.Node]:
        """Return a sentence on machines that have no card here, with a link to those of all machines."""
        words = f"{count} more machine{'s' if count > 1 else ''}"
        where = tag("a", words, href="doc:hosts") if "hosts" in self.env.found_docs else words
        return self.html(tag("p", where, " took part; the table of the runs names them.", class_="tl-note"))


class PerfLog(Perf):
    """``{perf-log} NAME`` with ``:run:``: a raw log, line by line."""

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the facts and the lines of the log."""
        run = part.runs.get(wanted.run or "")
        found = next((log for log in part.logs if log.log == self.subject), None)
        if run is None or run.root is None or found is None:
            return self.warn(f"no log {self.subject!r} in {_described(wanted)}")
        results = [result for result in part.results if result.log == found.log]
        lines = linked_lines(results, [problem for problem in part.problems if problem.log == found.log])
        path = Path(run.root, found.log)
        if path.exists():  # a log that is not shown has no file, and Sphinx would read its page again at each build
            self.env.note_dependency(str(path))
        facts = logs.log_facts(part, run.run, found.log, offered_log, self.env.found_docs)
        return self.html(facts + log_page(path, found.format, lines, results))


_WORDS = ("releases", "machines", "schema", "marks", "metrics", "conditions", "definitions", "statistics")
_OF_A_TEST = {"side-by-side": side_by_side, "sizes": sizes_table}
_Table = Callable[[View, Links, str], Html]
_TABLES: dict[str, _Table] = {
    **dict.fromkeys((*TESTS, "side-by-side", "sizes", "cost", "runs"), lambda _part, _links, _anchor: Html()),  # `PerfTable` makes these
    "releases": lambda part, links, _: releases_table(part, links),
    "machines": lambda part, _links, _: machines_side_by_side(part),
    "schema": lambda _part, _links, _anchor: schema_table(),
    "problems": lambda part, links, _: logs.problems_table(part, links),
    "bad-runs": lambda part, _links, _anchor: logs.bad_runs_table(part),
    "marks": lambda part, _links, _anchor: definitions.marks_table(part),
    "metrics": lambda _part, _links, _anchor: definitions.metrics_table(),
    "conditions": lambda _part, _links, _anchor: definitions.conditions_table(),
    "statistics": lambda _part, _links, _anchor: definitions.statistics_table(),
    "definitions": lambda _part, _links, _anchor: definitions.definitions_table(),
    "shared-conditions": lambda part, _links, _anchor: definitions.shared_conditions(part),
}


def setup(app: Sphinx) -> None:
    """Register every directive."""
    found: Sequence[tuple[str, type[Perf]]] = (
        ("perf-table", PerfTable),
        ("perf-summary", PerfSummary),
        ("perf-plot", PerfPlot),
        ("perf-evidence", PerfEvidence),
        ("perf-remarks", PerfRemarks),
        ("perf-script", PerfScript),
        ("perf-host", PerfHost),
        ("perf-log", PerfLog),
        ("perf-overview", PerfOverview),
        ("perf-beside", PerfBeside),
        ("perf-compare", PerfCompare),
        ("perf-doubts", PerfDoubts),
        ("perf-glance", PerfGlance),
        ("perf-machines", PerfMachines),
        ("perf-downloads", PerfDownloads),
    )
    for name, directive in found:
        app.add_directive(name, directive)


def _described(wanted: Selection) -> str:
    fields = [(key, value) for key, value in msgspec.structs.asdict(wanted).items() if value and key != "labels"]
    parts = [f"{key} {value!r}" for key, value in (*fields, *wanted.labels)]
    return ", ".join(parts) or "anything"


class PerfOverview(Perf):
    """``{perf-overview}``: all systems and transports.

    The body maps them to pages: a JSON list of [system, transport, document]. If a page shows only a part of these numbers, a fourth item says which,
    such as {"label.plugin": "flannel"}; it may name a host, a release and labels.
    """

    has_content = True
    searched: ClassVar[bool] = False  # its words

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the table. Without a body, nothing is linked."""
        try:
            pages = page_index(msgspec.json.decode("\n".join(self.content) or "[]", type=list[Entry]))
        except (msgspec.DecodeError, ValueError) as error:
            return self.warn(f"the body is not a list of [system, transport, document]: {error}")
        if not part.by_run:
            return self.html(tag("p", f"No numbers: {_described(wanted)}."))
        return self.html(self.made(part, pages, wanted), searched=self.searched)

    def made(self, part: View, pages: PageIndex, _wanted: Selection) -> Html:
        """Return the HTML for the selected part, which holds numbers."""
        return overview(part, pages, self.links)


class PerfDoubts(PerfOverview):
    """``{perf-doubts}``: the quality marks, and the pages with marked numbers. The body is that of the overview."""

    searched = True

    def made(self, part: View, pages: PageIndex, _wanted: Selection) -> Html:
        """Return the table."""
        return definitions.doubts_table(part, pages)


class PerfGlance(PerfOverview):
    """``{perf-glance}``: the fastest by size, one machine after the other. The body is that of the overview."""

    def made(self, part: View, pages: PageIndex, wanted: Selection) -> Html:
        """Return the tables of each machine."""
        return rankings(part, pages, self.links, self.anchor(wanted), self.env.found_docs)


class PerfMachines(PerfOverview):
    """``{perf-machines}``: of each machine a figure of all systems, and which transport suits which message. The body is that of the overview."""

    def made(self, part: View, pages: PageIndex, wanted: Selection) -> Html:
        """Return a section for each machine."""
        return machines_at_home(part, pages, self.links, f"{self.anchor(wanted)}-machines", self.env.found_docs)


class PerfBeside(PerfOverview):
    """``{perf-beside}``: several systems that one campaign measured with one tool. The body is that of the overview."""

    def made(self, part: View, pages: PageIndex, wanted: Selection) -> Html:
        """Return a table for each size, the first one open. The others are loaded when somebody opens them, and are pages of their own too."""

        def fold(of: Slice, content: Html) -> Html:
            heading = tag("h2", of.title)
            if not self.config.tacholog_parts:
                return folded(heading, content)
            kept = Part(self.part_name(of.name), {"": str(content)}, f"{self.title}: {of.title}")
            return self.folded(kept, heading, *places_of(content), class_="tl-fold")

        anchor = self.anchor(wanted) or "beside"

        def made_of() -> list[object]:
            digests, session = digests_of_runs(self.env), session_of_several(part)
            runs = [digests[run] for run in of_session(part, session).runs] if session else []
            return [anchor, wanted, [[one.selection, one.document] for one in pages.parts], runs]

        return self.taken_over(f"{anchor}-all", self.beside(""), made_of, lambda: beside(part, pages, self.links, anchor, fold))


class PerfCompare(PerfOverview):
    """``{perf-compare}``: choose series, a metric and a baseline. The body is that of the overview."""

    def made(self, part: View, pages: PageIndex, wanted: Selection) -> Html:
        """Return the data for the chooser, and the static tables."""
        return compare(part, pages, self.links, self.anchor(wanted))
