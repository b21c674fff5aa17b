"""The directives. Each selects a part of the dataset by its options and shows it as HTML that `tacholog.render` makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tacholog.errors import TachologError
from tacholog.render.figures.distribution import distribution_of
from tacholog.render.figures.figures import FIGURES, Figure
from tacholog.render.figures.intervals import interval_figures
from tacholog.render.figures.plots import plot
from tacholog.render.html import Html, tag
from tacholog.render.myst import unquoted
from tacholog.render.remarks import remarks
from tacholog.render.tables import definitions, logs, summary, tables
from tacholog.render.tables.beside import beside
from tacholog.render.tables.comparison import compare
from tacholog.render.tables.hosts import host_card
from tacholog.render.tables.overview import overview
from tacholog.render.tables.rankings import rankings
from tacholog.render.tables.releases import releases_table
from tacholog.render.tables.schema import schema_table
from tacholog.render.tables.side_by_side import side_by_side
from tacholog.render.tables.tables import Apart, Links
from tacholog.runs.labels import labels_asked
from tacholog.site.downloads import all_downloads, download_links
from tacholog.site.logpage import log_page
from tacholog.site.offered import offered_log
from tacholog.site.output.log_pages import linked_lines
from tacholog.site.output.parts import Part, add_to_part, parts_of
from tacholog.site.script import shell_script
from tacholog.sphinx.node import PerfHtml, words_of
from tacholog.sphinx.store import first_portion, view
from tacholog.view.numerals import NOT_STATED
from tacholog.view.page_index import Entry, PageIndex, page_index
from tacholog.view.portions import Portion
from tacholog.view.series import Series
from tacholog.view.views import Selection, View, manifest_of
from tacholog.visible import drawn

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LOGGER = logging.getLogger(__name__)
_LABEL = "label"
_DOWNLOADS = "downloads"  # the page that lists all files
_OPTIONS = dict.fromkeys((*(name for name in Selection.__struct_fields__ if name != "labels"), _LABEL), directives.unchanged_required)
_SHOW, _NEWEST = "show", "newest"


class Perf(SphinxDirective):
    """What all directives share: the options of a selection, access to the dataset, and warnings with file and line."""

    required_arguments = 0
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Callable[[str], object]] | None] = {**_OPTIONS, _SHOW: directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the nodes for the selection. If the dataset or the part is missing, warn and show nothing."""
        try:
            given = {key: str(value) for key, value in self.options.items() if key in _OPTIONS}
            labels = self.labels(given.pop(_LABEL, ""))
            wanted = msgspec.structs.replace(msgspec.convert(given, Selection), labels=labels)
            return self.show(view(self.env, wanted), wanted)
        except TachologError as error:
            return self.warn(str(error))

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the nodes for the selected part."""
        raise NotImplementedError

    def warn(self, message: str) -> list[nodes.Node]:
        """Warn through Sphinx: ``-W`` makes it an error, ``suppress_warnings`` silences it by its type."""
        _LOGGER.warning("%s: %s", self.name, message, location=self.get_location(), type="perf", subtype="nodata")
        return []

    def html(self, html: Html, *, searched: bool = False) -> list[nodes.Node]:
        """Wrap HTML into a node. With ``searched`` its words go into the search index."""
        node = PerfHtml(html=str(html))
        if searched:
            node += words_of(node["html"])
        self.set_source_info(node)
        return [node]

    @property
    def links(self) -> Links:
        """Where the pages of the logs are."""
        return Links(self.config.tacholog_logs)

    def links_beside(self, wanted: Selection, test: str | None) -> Links:
        """Return the links of a table that stands beside those with all numbers of a test, as on the pages of a site."""
        others = msgspec.structs.replace(wanted, test=None)
        beside = test and wanted.system and wanted.transport and not wanted.run
        return Links(self.config.tacholog_logs, tables.numbers_anchor(str(test), others) if beside else None)

    def portion(self, wanted: Selection) -> Portion | None:
        """Return what ``:show: newest`` limits the selection to: the newest release of all tests; nothing without that option.

        Raises:
            TachologError: the option has another value.
        """
        if _SHOW not in self.options:
            return None
        if self.options[_SHOW] != _NEWEST:
            raise TachologError(f":show: {self.options[_SHOW]}: there is only {_NEWEST}")
        return first_portion(self.env, msgspec.structs.replace(wanted, test=None))

    def series(self, part: View, wanted: Selection, test: str) -> list[Series]:
        """Return the series of a test that are shown. Their names and colours are those that they have among all."""
        portion = self.portion(wanted)
        return [member for member in part.series() if portion is None or portion.has(test, member)]

    def apart(self, name: str) -> Apart | None:
        """Return what keeps large tables out of the page, in a part of that name; nothing if the project keeps no parts."""
        if not self.config.tacholog_parts:
            return None

        def keep(place: str, content: Html) -> tuple[str, Html]:
            self.put_aside(Part(name, {place: str(content)}))
            words = "This table needs JavaScript. The pages of the logs have the same numbers, and so has the CSV file of this page."
            return f"{name}.js", tag("p", words, class_="tl-note")

        return keep

    def put_aside(self, part: Part) -> None:
        """Keep a part of the page that is loaded when somebody asks for it."""
        if self.config.tacholog_parts:
            add_to_part(Path(self.config.tacholog_parts), self.env.docname, part)

    def part_name(self, name: str) -> str:
        """Return a name for a part with a page of its own that no other page or part beside this page has."""
        folder = self.env.docname.rpartition("/")[0]
        taken = {part.name for part in parts_of(Path(self.config.tacholog_parts), self.env.docname)} if self.config.tacholog_parts else set()
        names = (name, *(f"{name}-{number}" for number in range(2, len(taken) + len(self.env.found_docs) + 3)))
        return next(found for found in names if found not in taken and f"{folder}/{found}".lstrip("/") not in self.env.found_docs)

    @property
    def subject(self) -> str:
        """The only argument of the directive, with or without double quotes."""
        argument = self.arguments[0].strip() if self.arguments else ""
        return self.words[0] if argument.startswith('"') and len(self.words) == 1 else argument

    def labels(self, option: str) -> tuple[tuple[str, str], ...]:
        """Return the labels that an option asks for: ``plugin=flannel kernel=6.1 rt "other=a=b c=d"``.

        A word without ``=`` belongs to the value before it: the parser of options has removed the quotes around a single value with blanks.

        Raises:
            TachologError: it is not of this form.
        """
        words: list[str] = []
        for word in words_of_line(option):
            if words and "=" not in word:
                words[-1] = f"{words[-1]} {word}"
            else:
                words.append(word)
        return labels_asked(words, ":label:")

    @property
    def words(self) -> list[str]:
        """The words of the argument. A word with blanks or signs is written in double quotes.

        Raises:
            TachologError: a quote is not closed.
        """
        return words_of_line(" ".join(self.arguments))

    def anchor(self, wanted: Selection) -> str:
        """Return an id that is made from what is shown, so that links to it last."""
        return tables.page_anchor(self.subject, *wanted.values())


class PerfTable(Perf):
    """``{perf-table} NAME``: numbers of a test (latency, throughput, demand), or a listing."""

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the table of that name."""
        make = _TABLES.get(self.subject)
        if make is None:
            return self.warn(f"no table {self.subject!r}; there are {', '.join(sorted(_TABLES))}")
        if self.subject in _NUMBERS:
            part = part.only(Selection(test=self.subject))
            if not part.summaries():
                return self.warn(f"no data set for {_described(wanted)} (test {self.subject})")
            series = self.series(part, wanted, self.subject)
            apart = self.apart(f"{Path(self.env.docname).name}-runs")
            return self.html(tables.numbers(series, self.links, self.anchor(wanted), apart))
        if self.subject == "side-by-side":
            series = self.series(part, wanted, wanted.test or "")
            return self.html(side_by_side(series, self.links_beside(wanted, wanted.test), self.anchor(wanted)))
        portion = self.portion(wanted)
        return self.html(make(portion.only(part) if portion else part, self.links, self.anchor(wanted)), searched=self.subject in _WORDS)


class PerfDownloads(Perf):
    """``{perf-downloads}``: links to the numbers as files, which `tacholog report` puts into the site."""

    option_spec: ClassVar[dict[str, Callable[[str], object]] | None] = {**_OPTIONS, "file": directives.unchanged_required}

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the links."""
        if not part.by_run:
            return []
        file, everything = self.options.get("file"), wanted == Selection()
        if everything and self.env.docname != _DOWNLOADS and _DOWNLOADS in self.env.found_docs:
            return self.html(all_downloads())
        return self.html(download_links(part, wanted.system, wanted.transport, str(file) if file else None))


class PerfSummary(Perf):
    """``{perf-summary} TEST``: the answer in sentences."""

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the sentences."""
        series = self.series(part.only(Selection(test=self.subject)), wanted, self.subject)
        if not series:
            return self.warn(f"no data set for {_described(wanted)} (test {self.subject})")
        make = summary.latency_summary if self.subject == "latency" else summary.throughput_summary
        return self.html(make(series, self.links_beside(wanted, self.subject)))


class PerfPlot(Perf):
    """``{perf-plot} NAME``: a figure over message size."""

    def show(self, part: View, wanted: Selection) -> list[nodes.Node]:
        """Return the figure of that name, or nothing if there is nothing to draw (no message was lost)."""
        portion = self.portion(wanted)
        if self.subject == "distribution":
            series = self.series(part, wanted, wanted.test or "latency")
            return self._each(((member.slot, distribution_of(member, part.histograms)) for member in series), self.anchor(wanted))
        if self.subject == "intervals":
            shown = interval_figures(part.intervals(), lambda curve: portion is None or portion.has_run(curve.results[0].run))
            return self._each(shown, self.anchor(wanted))
        make = FIGURES.get(self.subject)
        if make is None:
            return self.warn(f"no plot {self.subject!r}; there are {', '.join(sorted((*FIGURES, 'distribution', 'intervals')))}")
        series = self.series(part, wanted, wanted.test or "")
        if not series:
            return self.warn(f"no data set for {_described(wanted)}")
        figure = make(series)
        return self.html(plot(figure, self.anchor(wanted), self.links)) if figure else []

    def _each(self, figures: Iterable[tuple[int, Figure | None]], anchor: str) -> list[nodes.Node]:
        """Return one figure for each series that has something to draw."""
        return [node for slot, figure in figures if figure for node in self.html(plot(figure, f"{anchor}-{slot}", self.links))]


class PerfRemarks(Perf):
    """``{perf-remarks}``: the notes in the manifests of the selected runs, each once. The argument may name releases."""

    def show(self, part: View, _wanted: Selection) -> list[nodes.Node]:
        """Return the notes, or nothing if there are none."""
        releases = self.words
        banner = remarks(run for run in part.runs.values() if not releases or run.release in releases)
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
        return [node for script in scripts.values() for node in self._block(*script, folded=len(scripts) > 1)]

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
        """Return one card for each machine."""
        if self.subject:
            if self.subject not in part.hosts and self.subject != NOT_STATED:
                return self.warn(f"no host {self.subject!r}")
            return self.html(host_card(self.subject, part.hosts.get(self.subject), named=False), searched=True)
        ids = sorted({run.host or "" for run in part.runs.values()})
        if not ids:
            return self.warn(f"no data set for {_described(wanted)}")
        return [node for host in ids for node in self.html(host_card(host, part.hosts.get(host)))]


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


_NUMBERS = ("latency", "throughput", "demand")
_WORDS = ("releases", "schema", "marks", "metrics", "conditions", "definitions", "statistics")
_Table = Callable[[View, Links, str], Html]
_TABLES: dict[str, _Table] = {
    **dict.fromkeys((*_NUMBERS, "side-by-side"), lambda _part, _links, _anchor: Html()),  # `PerfTable` makes these
    "runs": lambda part, links, _: logs.runs_table(part, links, offered_log),
    "releases": lambda part, links, _: releases_table(part, links),
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
        ("perf-remarks", PerfRemarks),
        ("perf-script", PerfScript),
        ("perf-host", PerfHost),
        ("perf-log", PerfLog),
        ("perf-overview", PerfOverview),
        ("perf-beside", PerfBeside),
        ("perf-compare", PerfCompare),
        ("perf-doubts", PerfDoubts),
        ("perf-glance", PerfGlance),
        ("perf-downloads", PerfDownloads),
    )
    for name, directive in found:
        app.add_directive(name, directive)


def words_of_line(line: str) -> list[str]:
    """Return the words of a line of a directive.

    Raises:
        TachologError: a quote is not closed.
    """
    try:
        return unquoted(line)
    except ValueError as error:
        raise TachologError(f"{line}: {error}") from error


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
        if not part.results:
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


class PerfBeside(PerfOverview):
    """``{perf-beside}``: several systems that one campaign measured with one tool. The body is that of the overview."""

    def made(self, part: View, pages: PageIndex, wanted: Selection) -> Html:
        """Return a table for each size."""
        return beside(part, pages, self.links, self.anchor(wanted) or "beside")


class PerfCompare(PerfOverview):
    """``{perf-compare}``: choose series, a metric and a baseline. The body is that of the overview."""

    def made(self, part: View, pages: PageIndex, wanted: Selection) -> Html:
        """Return the data for the chooser, and the static tables."""
        return compare(part, pages, self.links, self.anchor(wanted))
