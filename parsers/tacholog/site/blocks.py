"""The blocks of pages: tables, figures, sentences, lists. The templates of a site and the directives for other projects call them.

The arguments of each block are its page and the part of the data that it shows. It returns HTML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import unescape
from pathlib import Path

import msgspec

from tacholog.compare.diff.compare import check_across
from tacholog.compare.policy import Policy
from tacholog.compare.requirements.file import FILE as REQUIREMENTS
from tacholog.compare.result import Comparison
from tacholog.errors import TachologError
from tacholog.render import evidence as evidence_words
from tacholog.render.diff.page import anchor_of, brief, fragment, links_of
from tacholog.render.evidence import remarks as remarks_banner
from tacholog.render.figures.figures import FIGURES, Figure, latency_over_cost
from tacholog.render.figures.plots import plot as drawn_plot
from tacholog.render.figures.run_curves import distributions_of, interval_figures
from tacholog.render.home.page import machines_at_home
from tacholog.render.html import NOTHING, Html, data_block, folded, join, tag
from tacholog.render.links import SourceDocument, own_links, sources_list
from tacholog.render.portion import TEST_TITLES, portion_html, portion_runs
from tacholog.render.requirements import requirements_html
from tacholog.render.tables import comparison, definitions, logs, summary
from tacholog.render.tables.cost import cost_note, cost_summary, cost_table, spin_note
from tacholog.render.tables.cost import rig_cost as rig_cost_words
from tacholog.render.tables.definitions import schema_table
from tacholog.render.tables.history import link_finder, tables_of
from tacholog.render.tables.hosts import host_card, machines_side_by_side
from tacholog.render.tables.logs import MoveRowsOut
from tacholog.render.tables.rankings import overview as overview_table
from tacholog.render.tables.releases import releases_table
from tacholog.render.tables.results import loss_line, numbers_tables
from tacholog.render.tables.side_by_side import side_by_side as side_by_side_page
from tacholog.render.tables.sizes import side_by_side, sizes_table
from tacholog.render.tables.trials import trials_tables
from tacholog.site.data import Labels
from tacholog.site.downloads import all_downloads, download_links
from tacholog.site.for_programs import CHANGES_FEED, CITATION, DESCRIPTION, LATEST
from tacholog.site.log_pages import linked_lines, log_page, offered_log
from tacholog.site.page import RUNS, LoadedPart, Page, part_of, places_of
from tacholog.site.script import shell_script
from tacholog.slugs import slug
from tacholog.view.history import diff_documents, histories_in, neighbours
from tacholog.view.numerals import NOT_STATED
from tacholog.view.page_index import PageIndex
from tacholog.view.portions import Portion, at_once, portions
from tacholog.view.portions import evidence as evidence_of
from tacholog.view.results import RunRow
from tacholog.view.series import Series
from tacholog.view.side_by_side import DOCUMENT as SIDE_BY_SIDE
from tacholog.view.side_by_side import side_by_side_of
from tacholog.view.views import TESTS, Selection, View, manifest_of, rig_series
from tacholog.visible import drawn

EVERYTHING = Selection()
NO_PAGES = PageIndex()
_DOWNLOADS = "downloads"  # the page that lists all files
_FEED, _LINKED_DATA = "application/atom+xml", "application/ld+json"
_FILES = (
    (LATEST, "the newest results of each system, and the verdict of each requirement, in a small and stable form for dashboards"),
    (CITATION, "how to cite this site"),
    (DESCRIPTION, "what the data are, for search engines (Schema.org)"),
)
# A page shows at most this many scripts and cards directly, because each of them has 10 to 100 HTML elements.
_MOST_SCRIPTS = 10
_MOST_CARDS = 4
_TAG = re.compile(r"<[^>]*>")  # `<` and `>` in the content are escaped as well
_BETWEEN_TAGS = re.compile(r">[^<]*")
_WORD = re.compile(r"[^\W\d_]{3,}(?:-[^\W\d_]+)*")
_WORDS = frozenset({"releases", "machines", "schema", "marks", "metrics", "conditions", "definitions", "statistics"})  # tables of words
_WITH_ANCHORS = 20  # this many portions have their ids on the page, so links to these ids work; every other portion has only a link


def table(page: Page, name: str, wanted: Selection = EVERYTHING, *, best: bool = False) -> Html:
    """Return a table: all numbers of a test, or the listing with this name.

    Raises:
        TachologError: there is no such table, or it would be empty.
    """
    part = page.part(wanted)
    if name in TESTS:
        return _all_numbers(page, name, part.only(Selection(test=name)), wanted, best=best)
    if name == "cost":
        series = page.series(part, wanted, wanted.test or "", best=best)
        costs = cost_table(series, part.results)
        note = cost_note() if costs and not page.says_costs else NOTHING
        page.says_costs = page.says_costs or bool(costs)
        return join([cost_summary(series, part.results), costs, note])
    if name in _OF_A_TEST:
        series = page.series(part, wanted, wanted.test or "", best=best)
        content = _OF_A_TEST[name](series, page.links_beside(wanted, wanted.test), page.anchor(name, wanted))
        return join([content, spin_note(series, part.results) if name == "sizes" else NOTHING])
    subset = page.best(wanted).only(part) if best else part
    if name == "runs":
        return logs.runs_table(subset, page.links, offered_log, page.overflow("more-runs"))
    if name not in _LISTINGS:
        raise TachologError(f"no table {name!r}; there are {', '.join(sorted((*TESTS, *_OF_A_TEST, *_LISTINGS, 'cost', 'runs')))}")
    return _LISTINGS[name](subset, page)


_OF_A_TEST = {"side-by-side": side_by_side, "sizes": sizes_table}
_LISTINGS: Mapping[str, Callable[[View, Page], Html]] = {
    "releases": lambda part, page: releases_table(part, page.links),
    "machines": lambda part, _: machines_side_by_side(part),
    "schema": lambda _part, _page: schema_table(),
    "problems": lambda part, page: logs.problems_table(part, page.links),
    "bad-runs": lambda part, _: logs.bad_runs_table(part),
    "marks": lambda part, _: definitions.marks_table(part),
    "metrics": lambda _part, _page: definitions.metrics_table(),
    "conditions": lambda _part, _page: definitions.conditions_table(),
    "statistics": lambda _part, _page: definitions.statistics_table(),
    "definitions": lambda _part, _page: definitions.definitions_table(),
    "shared-conditions": lambda part, _: definitions.shared_conditions(part),
}


def _all_numbers(page: Page, test: str, part: View, wanted: Selection, *, best: bool) -> Html:
    if not part.summaries():
        raise TachologError(f"no data set for {_described(wanted)} (test {test})")
    series, trials = page.series(part, wanted, test, best=best), part.trials()
    anchor, overflow, aside = page.anchor(test, wanted), page.overflow(f"more-{test}"), page.table_part(page.own_part_name(RUNS))

    def each(some: Sequence[Series], *start: str) -> Html:
        return numbers_tables(some, page.links, anchor, aside, *start) + trials_tables(trials, some, page.links, anchor, aside)

    most = at_once(series, page.best(wanted).tests) if best and overflow else len(series)
    if overflow is None or most == len(series):
        return each(series)
    left = len(series) - most
    title = f"{left} more series" if left > 1 else f"One more series: {series[-1].label}"
    return each(series[:most]) + overflow(title, each(series[most:], f"{anchor}-more"))


def summary_of(page: Page, test: str, wanted: Selection = EVERYTHING, *, best: bool = False) -> Html:
    """Return the results of a test in sentences.

    ``test`` may also be ``"loss"`` or ``"acknowledgements"``. For ``"loss"``, the result is one line on the largest loss; nothing if no number has
    the mark for loss. For ``"acknowledgements"``, the result explains what an acknowledgement of the broker means; nothing if there are none.

    Raises:
        TachologError: there are no sentences on the test.
    """
    named_test = (wanted.test or "throughput") if test in ("loss", "acknowledgements") else test
    series = page.series(page.part(wanted).only(Selection(test=named_test)), wanted, named_test, best=best)
    if test == "loss":
        return loss_line(TEST_TITLES.get(named_test, named_test), series, page.links_beside(wanted, named_test))
    if test == "acknowledgements":
        return summary.acknowledgements(series)
    if test not in summary.SUMMARIES:
        raise TachologError(f"no sentences on {test!r}; there are {', '.join((*summary.SUMMARIES, 'loss', 'acknowledgements'))}")
    if not series:
        raise TachologError(f"no data set for {_described(wanted)} (test {test})")
    return summary.SUMMARIES[test](series, page.links_beside(wanted, test))


def plot(page: Page, name: str, wanted: Selection = EVERYTHING, *, best: bool = False) -> Html:
    """Return a figure over message size; nothing if there is nothing to plot, for example because no message was lost.

    Raises:
        TachologError: there is no such figure, or no data for it.
    """
    part, anchor = page.part(wanted), page.anchor(name, wanted)
    if name == "distribution":
        curves = distributions_of(page.series(part, wanted, wanted.test or "latency", best=best), part.histograms)
        return _drawn(page, curves, anchor)
    if name == "intervals":
        portion = page.best(wanted) if best else None
        drawn_curves = interval_figures(part.interval_series(), lambda curve: portion is None or portion.has_run(curve.results[0].run))
        return join([_drawn(page, figure, f"{anchor}-{slot}") for slot, figure in drawn_curves])
    if name not in FIGURES and name != "cost":
        raise TachologError(f"no plot {name!r}; there are {', '.join(sorted((*FIGURES, 'cost', 'distribution', 'intervals')))}")
    series = page.series(part, wanted, wanted.test or "", best=best)
    if not series:
        raise TachologError(f"no data set for {_described(wanted)}")
    return _drawn(page, FIGURES[name](series) if name in FIGURES else latency_over_cost(series, part.results), anchor)


def _drawn(page: Page, figure: Figure | None, anchor: str) -> Html:
    return drawn_plot(figure, anchor, page.links) if figure else NOTHING


def evidence(page: Page, wanted: Selection = EVERYTHING) -> Html:
    """Return a description of the runs with the best evidence, whose numbers the page shows first.

    It has one line for each set of runs, then a sentence on the load of the system, then the remarks that apply to all these runs.
    """
    part, best_evidence = page.part(wanted), page.best(wanted).evidence
    lines = evidence_words.evidence_lines(best_evidence, part, page.documents)
    return lines + loaded(page, wanted) + evidence_words.evidence_remarks(best_evidence, part)


def loaded(page: Page, wanted: Selection = EVERYTHING, metric: str | None = None) -> Html:
    """Return a sentence that states whether the system was loaded during its measurements: all of them, or only those of ``metric``."""
    part = page.part(wanted)
    return part.once(("load", metric), lambda: evidence_words.load_line(result for result in part.results if metric in (None, result.metric)))


def rig_cost(page: Page, wanted: Selection = EVERYTHING) -> Html:
    """Return a sentence that states how much time of each round trip perftest itself took; nothing if this was not measured.

    The sentence is based on the runs whose numbers the page shows first. All further runs in the sessions of these runs count too.
    """
    return rig_cost_of(page, page.best(wanted).only(page.part(wanted)).runs.values())


def rig_cost_of(page: Page, runs: Iterable[RunRow]) -> Html:
    """Return a sentence that states how much time of each round trip perftest itself took in the sessions of these runs; nothing if not measured."""
    return rig_cost_words(rig_series(page.data.view, runs), page.links)


def remarks(page: Page, wanted: Selection = EVERYTHING, releases: Sequence[str] = (), *, only_new: bool = False) -> Html:
    """Return the notes in the manifests of the runs, each note once. With ``only_new``, the notes that `evidence` shows are left out.

    If ``releases`` are named, only the runs of these releases count.
    """
    part = page.part(wanted)
    if releases:
        asked = [msgspec.structs.replace(wanted, release=release) for release in releases if wanted.release in (None, release)]
        runs = dict(sorted((name, run) for selection in asked for name, run in page.data.view.only(selection).runs.items()))
    else:
        runs = part.runs
    already_noted = {remark.note for remark in evidence_words.common_remarks(page.best(wanted).evidence, part)} if only_new else set()
    return remarks_banner(runs.values(), already_noted)


def scripts(page: Page, wanted: Selection = EVERYTHING, *, best: bool = False) -> Html:
    """Return the scripts that repeat the runs. Runs with equal scripts have one common script. If there are several scripts, each is folded."""
    part = page.part(wanted)
    part = page.best(wanted).only(part) if best else part
    scripts_by_body: dict[str, tuple[str, str]] = {}
    for run in part.runs.values():
        manifest = manifest_of(run)
        sizes = {result.payload_bytes for result in part.by_run.get(run.run, ())}
        text = shell_script(manifest, run.run, sizes) if manifest else None
        if text:
            scripts_by_body.setdefault(text.split("set -eu", 1)[1], (run.run, text))
    if not scripts_by_body:
        return tag("p", "No command is stated for these runs." if part.runs else f"No runs: {_described(wanted)}.", class_="tl-null")
    if len(scripts_by_body) == 1:
        return code(drawn(next(iter(scripts_by_body.values()))[1]), "sh")
    overflow, each = page.overflow("more-scripts", "tl-script"), list(scripts_by_body.values())
    most = len(each) if overflow is None or len(each) <= _MOST_SCRIPTS else _MOST_SCRIPTS
    # Coloured code has an element for each word, so several scripts would have more elements than all tables of a page.
    details = [tag("details", tag("summary", tag("code", run)), code(drawn(text), "none"), class_="tl-script") for run, text in each[:most]]
    if overflow is None or most == len(each):
        return join(details)
    others = join([tag("details", tag("summary", tag("code", run)), tag("pre", drawn(text)), class_="tl-script") for run, text in each[most:]])
    return join([*details, overflow(f"scripts of {len(each) - most} more runs", others)])


def host(page: Page, name: str, wanted: Selection = EVERYTHING) -> Html:
    """Return the card of the machine with this name.

    If the name is empty, return a card for each machine of the runs. The machine of the best evidence is first.

    Raises:
        TachologError: there is no such machine, or no run.
    """
    part = page.part(wanted)
    if name:
        if name not in part.hosts and name != NOT_STATED:
            raise TachologError(f"no host {name!r}")
        return host_card(name, part.hosts.get(name), named=False)
    if not part.runs:
        raise TachologError(f"no data set for {_described(wanted)}")
    ids = list(dict.fromkeys([host_id.host or "" for host_id in evidence_of(part)] + sorted({run.host or "" for run in part.runs.values()})))
    cards = [host_card(host_id, part.hosts.get(host_id)) for host_id in ids[:_MOST_CARDS]]
    if (more := len(ids) - _MOST_CARDS) > 0:
        words = f"{more} more machine{'s' if more > 1 else ''}"
        where = tag("a", words, href="doc:hosts") if "hosts" in page.documents else words
        cards.append(tag("p", where, " took part; the table of the runs names them.", class_="tl-note"))
    return join(cards)


def log(page: Page, name: str, wanted: Selection) -> Html:
    """Return the facts and the lines of a raw log.

    Raises:
        TachologError: there is no such log.
    """
    part = page.part(wanted)
    run = part.runs.get(wanted.run or "")
    log_row = next((row for row in part.logs if row.log == name), None)
    if run is None or run.root is None or log_row is None:
        raise TachologError(f"no log {name!r} in {_described(wanted)}")
    results = [result for result in part.results if result.log == name]
    lines = linked_lines(results, [problem for problem in part.problems if problem.log == name])
    facts = logs.log_facts(part, run.run, name, offered_log, page.documents)
    return facts + log_page(Path(run.root, name), log_row.format, lines, results)


def downloads(page: Page, wanted: Selection = EVERYTHING, file: str = "") -> Html:
    """Return links to the files with the numbers, which `tacholog report` puts into the site. ``file`` is the file of one page."""
    part = page.part(wanted)
    if not part.by_run:
        return NOTHING
    if wanted == EVERYTHING and page.document != _DOWNLOADS and _DOWNLOADS in page.documents:
        return all_downloads()
    return download_links(part, wanted.system, wanted.transport, file or None)


def overview(page: Page, pages: PageIndex = NO_PAGES, wanted: Selection = EVERYTHING) -> Html:
    """Return all systems and transports in one table, with links to their pages."""
    return _or_none(page, wanted, lambda part: overview_table(part, pages, page.links))


def doubts(page: Page, pages: PageIndex = NO_PAGES, wanted: Selection = EVERYTHING) -> Html:
    """Return the quality marks, and the pages with marked numbers."""
    return _or_none(page, wanted, lambda part: definitions.doubts_table(part, pages))


def machines(page: Page, pages: PageIndex = NO_PAGES, wanted: Selection = EVERYTHING) -> Html:
    """Return a section for each machine: a figure with all systems, and the best transports for each kind of message."""
    return _or_none(page, wanted, lambda part: machines_at_home(part, pages, page.links, f"{page.anchor('', wanted)}-machines", page.documents))


def compare(page: Page, pages: PageIndex = NO_PAGES, wanted: Selection = EVERYTHING) -> Html:
    """Return a table in which readers choose series, a metric and a baseline."""

    def make(part: View) -> Html:
        return comparison.compare(part, pages, page.links, page.anchor("", wanted)) + rig_cost_of(page, part.runs.values())

    return _or_none(page, wanted, make)


def systems_side_by_side(page: Page, pages: PageIndex = NO_PAGES, wanted: Selection = EVERYTHING, document: str = SIDE_BY_SIDE) -> Html:
    """Return the tables of all machines, limited to the sizes or statistics that the page ``document`` shows.

    If the site has no pages for the other sizes or statistics, they are shown here, folded.
    """

    def make(part: View) -> Html:
        compared, anchor = side_by_side_of(part, pages), page.anchor("", wanted) or "beside"
        alike = [each for each in compared.slices if (each.size is None) == (document != SIDE_BY_SIDE)] or compared.slices
        has_pages = {each.document for each in compared.slices} <= {*page.documents}
        slices = [each for each in compared.slices if each.document == page.document] if has_pages else alike
        overflow, documents = page.overflow("more-rows"), page.documents if has_pages else ()
        first, *others = [
            side_by_side_page(compared, each, part.hosts, page.links, f"{anchor}-{number}" if number else anchor, documents, overflow)
            for number, each in enumerate(slices)
        ]
        folds = [folded(tag("span", each.words), html) for each, html in zip(slices[1:], others, strict=True)]
        return join([first, *folds, rig_cost_of(page, [run for table in compared.tables for run in table.runs()])])

    return _or_none(page, wanted, make)


def _or_none(page: Page, wanted: Selection, make: Callable[[View], Html]) -> Html:
    part = page.part(wanted)
    return make(part) if part.by_run else tag("p", f"No numbers: {_described(wanted)}.")


def older(page: Page, title: str, wanted: Selection = EVERYTHING) -> Html:
    """Return a list of what the page does not show first: older releases, and further series of the newest release.

    The page loads the content of an item when a reader opens the item. The same content also has a page of its own.

    ``title`` is the title of this page. The titles of the other pages begin with it.
    """
    part = page.part(wanted)
    items = [_portion(page, part, portion, wanted, title, has_anchors=number < _WITH_ANCHORS) for number, portion in enumerate(portions(part)[1:])]
    return tag("div", *items, class_="tl-releases") if items else NOTHING


def _portion(page: Page, part: View, portion: Portion, wanted: Selection, title: str, *, has_anchors: bool) -> Html:
    words = f"release {portion.title}" if portion.is_release else portion.title
    name = page.part_name(words)
    # The parts of the releases `1-RC` and `1-rc` would have equal names, so one of the names gets a number.
    numbered = name.removeprefix(page.own_part_name(slug(words)))
    suffix = f"{slug(portion.title)}-{numbered}" if numbered else slug(portion.title)
    content = portion_html(part, portion, wanted, page.links, suffix, page.table_part(part_of(name, RUNS)), page.number(wanted))
    body = join([content, portion_runs(part, portion, page.links, offered_log, _rest_of_runs(page, words))])
    runs = len(portion.only(part).runs)
    count = tag("span", f"{len(portion.series)} series of {runs} run{'s' if runs != 1 else ''}", class_="tl-muted stat-label")
    heading = join([tag("span", f"{words[0].upper()}{words[1:]}", class_="stat-label"), " ", count])
    anchors = places_of(content) if has_anchors else []
    return page.folded(LoadedPart(name, {"": str(body)}, f"{title}, {words}"), heading, *anchors, class_="tl-release")


def _rest_of_runs(page: Page, portion_name: str) -> MoveRowsOut | None:
    overflow = page.overflow(f"{slug(portion_name)}-more-runs")
    return (lambda words, content: overflow(f"{words} of {portion_name}", content)) if overflow else None


def sources(
    _page: Page, published: Iterable[SourceDocument] = (), *, digests: bool = False, vendor: str | None = None, repository: str | None = None
) -> Html:
    """Return the sources of the figures, with links to other sites. An address that is not a plain web address is left out."""
    return sources_list(published, vendor, digests=digests) + own_links(repository)


def dataset(_page: Page, described: Mapping[str, object]) -> Html:
    """Return a description of the data for search engines, as a data block that is neither visible nor executed."""
    return data_block(described, "tl-dataset", _LINKED_DATA)


def programs(page: Page) -> Html:
    """Return a list of the files of a site that are intended for programs."""
    links = [(tag("a", file, href=f"root:{file}"), words) for file, words in _FILES]
    links += [(feed_link(page, file, file), f"{title}, as an Atom feed") for file, title in page.feeds.items()]
    return tag("ul", *(tag("li", link, f": {words}") for link, words in links))


def feed_link(page: Page, file: str, words: str) -> Html:
    """Return a link to a feed, if the site has it."""
    return tag("a", words, href=f"root:{file}", type=_FEED) if file in page.feeds else NOTHING


def feed_links(feeds: Mapping[str, str], pathto: Callable[[str, int], str]) -> Html:
    """Return the links to feeds for the head of a page, where feed readers search for them."""
    return join([tag("link", rel="alternate", type=_FEED, title=title, href=pathto(file, 1)) for file, title in feeds.items()])


def _described(wanted: Selection) -> str:
    fields = [(key, value) for key, value in msgspec.structs.asdict(wanted).items() if value and key != "labels"]
    return ", ".join(f"{key} {value!r}" for key, value in (*fields, *wanted.labels)) or "anything"


def code(text: str, language: str) -> Html:
    """Return a block of code, with colours for its language."""
    from sphinx.highlighting import PygmentsBridge

    # Pygments does not escape quotes, but in our HTML, `href="doc:` marks an internal link.
    coloured = _BETWEEN_TAGS.sub(lambda match: match[0].replace('"', "&quot;"), PygmentsBridge().highlight_block(text, language))
    return tag("div", Html(coloured), class_=f"highlight-{language} notranslate")  # noqa: S704 - Pygments has escaped the text


def is_searched(name: str, subject: str) -> bool:
    """Whether the words of a block belong in the search index. For most tables, the index has the keywords of their page instead."""
    return name in ("doubts", "sources", "script") or (name == "table" and subject in _WORDS) or (name == "host" and bool(subject))


def words_of(html: str) -> list[str]:
    """Return each word of HTML once, without numbers, because a page has thousands of numbers."""
    return list(dict.fromkeys(_WORD.findall(unescape(_TAG.sub(" ", html)))))


LIMIT = 50  # the largest number of rows of each verdict


def diff(
    page: Page,
    old: str,
    new: str,
    system: str | None = None,
    pages: PageIndex = NO_PAGES,
    *,
    labels: Labels = (),
    policy: Policy | None = None,
    only: Sequence[str] = (),
    limit: int = LIMIT,
) -> Html:
    """Return the differences between two releases.

    Args:
        page: the page.
        old: the first release.
        new: the second release.
        system: the system; by default all systems.
        pages: the index of the pages that show numbers.
        labels: the labels that the runs must have.
        policy: the rules for what counts as a change.
        only: the verdicts to show; if empty, all verdicts.
        limit: the largest number of rows of each verdict.

    Raises:
        TachologError: a release or a name is not known.
    """
    report = _report(page, old, new, system, labels, policy)
    sides = [page.data.view.only(Selection(system=system, release=release, labels=labels)) for release in (old, new)]
    leads = links_of(report, {"old": sides[0], "new": sides[1]}, page.links, pages)
    return fragment(report, anchor_of(system or "", old, new, labels), only, limit, leads)


def diff_in_a_line(page: Page, old: str, new: str, system: str | None = None, *, labels: Labels = (), policy: Policy | None = None) -> Html:
    """Return the result of a comparison in one line, with a link to its page.

    Raises:
        TachologError: a release or a name is not known.
    """
    report = _report(page, old, new, system, labels, policy)
    document = diff_documents(page.data.view.runs.values()).get((str(system), old, new))
    return brief(report, document if document in page.documents else None)


def _report(page: Page, old: str, new: str, system: str | None, labels: Labels, policy: Policy | None) -> Comparison:
    policy = policy or Policy()
    check_across(policy.across)
    policy.tests()
    return page.data.comparison((system, old, new), policy, labels)


def history(page: Page, metric: str, statistic: str, wanted: Selection = EVERYTHING) -> Html:
    """Return the history of a metric over all releases of each system.

    Raises:
        TachologError: no system has two releases.
    """
    part = page.part(wanted)
    runs = [run for run in part.runs.values() if wanted.system in (None, run.system)]
    policy = Policy(transports=(wanted.transport,) if wanted.transport else ())

    def compared(system: str, old: str, new: str) -> Comparison:
        return page.data.comparison((system, old, new), policy, wanted.labels)

    if not neighbours(runs):
        raise TachologError("no system here has two releases")
    find = part.once(("finder", page.links), lambda: link_finder(part, page.links))
    made = tables_of(histories_in(part, metric, statistic, compared, wanted), runs, page.documents, find)
    feed = feed_link(page, CHANGES_FEED, "an Atom feed")
    news = tag("p", "The steps and drifts of all metrics are ", feed, " too.", class_="tl-download") if feed else NOTHING
    own_cost = rig_cost_of(page, part.runs.values()) if metric == "latency" else NOTHING
    return join([made or tag("p", f"No two releases have comparable rows of {metric} {statistic}."), own_cost, news])


def changes(page: Page, wanted: Selection = EVERYTHING) -> Html:
    """Return the releases of each system, with the changes from the previous release."""
    part = page.part(wanted)

    def compared(system: str, old: str, new: str) -> Comparison:
        return page.data.comparison((system, old, new), None, wanted.labels)

    documents = diff_documents(page.data.view.runs.values())
    return releases_table(part, page.links, compared, {pair: document for pair, document in documents.items() if document in page.documents})


def requirements(page: Page, wanted: Selection = EVERYTHING) -> Html:
    """Return a table of all requirements with their verdicts and their history.

    Raises:
        TachologError: the data contain no requirements.
    """
    part = page.part(wanted)
    if page.data.requirements is None:
        raise TachologError(f"there is no {REQUIREMENTS} in the data")
    judged = [release for release in page.data.judged if wanted.system in (None, release.system)]
    if not judged or not part.runs:
        return tag("p", "No run states its release, so no requirement has been judged.")
    return requirements_html(judged, link_finder(part, page.links))
