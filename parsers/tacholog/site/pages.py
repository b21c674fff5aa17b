"""The list of pages, and the values for the template of each page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from tacholog.compare.policy import MIN_RUNS
from tacholog.formats.native import SYSTEM as PERFTEST
from tacholog.render.figures.figures import FIGURES
from tacholog.render.figures.run_curves import interval_figures
from tacholog.render.portion import DRAWN, MOST_SENTENCES, TEST_TITLES
from tacholog.render.tables.cost import has_cost
from tacholog.render.tables.hosts import host_anchor
from tacholog.runs.labels import label_fields, labels_of
from tacholog.runs.manifest import Source
from tacholog.runs.problems import ALTERED, CONTRADICTED
from tacholog.schema.metrics import METRICS
from tacholog.site.data import DOCUMENT as REQUIREMENTS
from tacholog.site.questions import DOCUMENT as QUESTIONS
from tacholog.site.questions import AskedQuestion, questions_of
from tacholog.site.result_pages import UNNAMED, PageGroup, ResultPage, groups_title, page_groups
from tacholog.site.settings import SiteSettings
from tacholog.store.export import number_id
from tacholog.view.history import diff_documents, history_document, latest, metrics_in, neighbours, newest_by_name, news, since
from tacholog.view.names import SHOWN_CONDITIONS, joined, words
from tacholog.view.numerals import NOT_STATED, size
from tacholog.view.page_index import PageIndex, PagePart
from tacholog.view.portions import Portion, portions
from tacholog.view.results import conditions_among
from tacholog.view.series import LOSS
from tacholog.view.side_by_side import BY_SIZE, side_by_side_of
from tacholog.view.side_by_side import DOCUMENT as SIDE_BY_SIDE
from tacholog.view.views import TESTS, Selection, View, marked_of
from tacholog.visible import drawn

_FORMER_ANCHOR = "fastest-by-size-one-machine-after-the-other"  # The page with medians by size had this anchor up to version 0.4.
# Each entry describes a page: its title, and whether a list of its headings stands next to it. A site does not always have all these pages.
_TITLES = {
    "systems": ("Systems and transports", False),
    "compare": ("Compare", False),
    "releases": ("Releases", False),
    "quality": ("Data quality", True),
    "downloads": ("Downloads", True),
    REQUIREMENTS: ("Requirements", False),
}
#: The pages in the menu, in order. Pages that a site does not have are left out.
MENU = (
    *(QUESTIONS, "systems", SIDE_BY_SIDE, "compare", "releases", "hosts", "quality"),
    *("methodology", "fairness", "definitions", "downloads", "about"),
)
_COMPARED_WORDS = "vs, versus"
_SHARED_MEMORY = re.compile(r"shm|iceoryx|aeron-ipc", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}")
# Additional search words for each way of waiting, because the pages do not contain them.
_WAITING_WORDS = {"busy-poll": "polls polling spins CPU", "spin-then-block": "polls polling spins sleeps CPU", "block": "sleeps sleeping blocks"}


class SitePage(msgspec.Struct, frozen=True):
    """A page to make.

    Attributes:
        document: the name of the page.
        template: the name of its template.
        title: its heading.
        context: the values for the template.
        parents: the pages above it, beginning with the page in the menu.
        anchor: an additional id of its heading, before the usual ones.
        keywords: additional search words, which no text of the page contains.
        entries: phrases, as in an index, for which this page is the first search result, each with the id of its target.
        has_contents: whether a list of its headings stands next to the page.
    """

    document: str
    template: str
    title: str
    context: dict[str, Any]
    parents: tuple[str, ...] = ()
    anchor: str = ""
    keywords: str = ""
    entries: tuple[tuple[str, str], ...] = ()
    has_contents: bool = False


def plan(view: View, settings: SiteSettings, *, has_requirements: bool = False) -> list[SitePage]:
    """Return all pages of the data, except pages of logs."""
    groups = page_groups(view, settings.pages)
    asked = questions_of(view, settings.questions)
    shared = {**_site_context(view, groups), "questions": [each for each in asked if each.is_listed], "is_by_size": _has_figure_by_size(view)}
    keywords = ", ".join(_size_words(view))
    pages = [SitePage("index", "index.html.jinja", settings.title, shared, keywords=keywords)]
    pages += _question_pages(asked, shared)
    pages += _group_pages(view, groups, shared["diffs"])
    pages += [_result_page(view, page, group) for group in groups for page in group.pages]
    for name, (title, has_contents) in _TITLES.items():
        if name != REQUIREMENTS or has_requirements:
            of_search = f"{keywords}, {_COMPARED_WORDS}, {_names(groups)}" if name == "compare" else ""
            parents = ("releases",) if name == REQUIREMENTS else ()
            pages.append(SitePage(name, f"{name}.html.jinja", title, shared, parents, keywords=of_search, has_contents=has_contents))
    pages += _side_by_side_pages(view, shared, f"{keywords}, {_COMPARED_WORDS}, {_names(groups)}")
    pages += [_hosts_page(view), _about(view), *_with_links_to_transports(_diff_pages(view), groups)]
    return pages


def _side_by_side_pages(view: View, shared: dict[str, Any], of_search: str) -> Iterator[SitePage]:
    for each in side_by_side_of(view, shared["pages"]).slices:
        is_first = each.document == SIDE_BY_SIDE
        title = "Side by side" if is_first else f"Side by side: {each.words}{'' if each.statistic is None else ', by size'}"
        anchor = _FORMER_ANCHOR if each.document == BY_SIZE else ""
        parents = () if is_first else (SIDE_BY_SIDE,)
        yield SitePage(each.document, "side-by-side.html.jinja", title, shared, parents, anchor, keywords=of_search if is_first else "")


def _has_figure_by_size(view: View) -> bool:
    """A figure over sizes is useful only if at least two sizes were each measured for several systems or transports."""
    measured = {(result.run.system, result.conditions.transport, result.payload_bytes) for results in view.by_run.values() for result in results}
    counts = Counter(payload_bytes for _, _, payload_bytes in measured)
    return sum(count > 1 for count in counts.values()) > 1


def _question_pages(asked: Sequence[AskedQuestion], shared: dict[str, Any]) -> Iterator[SitePage]:
    if asked:
        yield SitePage(QUESTIONS, "questions.html.jinja", "Questions", shared)
    for each in asked:
        yield SitePage(each.document, "question.html.jinja", each.title, {"asked": each}, (QUESTIONS,), has_contents=True)


def _result_page(view: View, page: ResultPage, group: PageGroup) -> SitePage:
    page_view = view.only(page.selection)
    context = _result_context(page_view, page)
    parents = ("systems", *((group.document,) if page.document != group.document else ()))
    entries = tuple((phrase, "") for phrase in _search_phrases(page_view, page))
    return SitePage(
        page.document, "transport.html.jinja", page.title, context, parents, keywords=_keywords(page_view), entries=entries, has_contents=True
    )


def _search_phrases(view: View, page: ResultPage) -> Iterator[str]:
    """Yield the phrases for which readers search, but which the page does not contain."""
    if any(_SHARED_MEMORY.search(part.transport) for part in page.parts):
        yield "shared memory"
    if any(conditions.data_path == "zero-copy" for conditions in conditions_among(view.results)):
        yield from ("zero copy", "zero-copy")


def _names(groups: Sequence[PageGroup]) -> str:
    parts = [part for group in groups for page in group.pages for part in page.parts]
    return drawn(", ".join(sorted({name for part in parts for name in (part.system, part.transport)})))


def _result_context(page_view: View, page: ResultPage) -> dict[str, Any]:
    parts = [_part_context(page_view, part, page) for part in page.parts]
    return {
        **_counts(page_view),
        "address": f"{page.document}.html",
        "file": page.file,
        "selection": page.selection,
        "common": _common_labels(page_view, page),
        "parts": parts,
        "repeated": any(part["repeated"] for part in parts),
        "kind": _kind(page_view),
        "has_fairness": _has_library(page_view),
    }


def _common_labels(view: View, page: ResultPage) -> str:
    texts = {run.labels for run in view.runs.values()}
    values = [(field, {labels_of(text).get(field) for text in texts}) for field in label_fields(texts) if field not in page.fields]
    return joined([(field, next(iter(labels))) for field, labels in values if len(labels) == 1])


def _part_context(view: View, part: PagePart, page: ResultPage) -> dict[str, Any]:
    part_view = view.only(part.selection)
    first, *others = portions(part_view)
    tests = [context for test in TESTS if (context := _test_context(part_view, part.selection, first, test))]
    transport = part.transport if part.transport != NOT_STATED else UNNAMED
    title = transport if "system" in page.fields else f"{part.system}, {transport}" if "transport" not in page.fields else part.system
    page_title = page.title if len(page.parts) == 1 else f"{page.title}, {title}"
    return {
        "title": title,
        "tests": tests,
        "repeated": any(test["repeated"] for test in tests),
        "costs": [test["name"] for test in tests if test["cost"]],
        "selection": part.selection,
        "page_title": page_title,
        "has_others": bool(others),
    }


def _test_context(view: View, selection: Selection, first: Portion, test: str) -> dict[str, Any] | None:
    of_test = view.only(Selection(test=test))
    series = first.series_of(test, of_test.series())
    if not series:
        return None
    histograms = {histogram.run for histogram in view.histograms}
    further = ["distribution"] if test == "latency" and any(run.run in histograms for member in series for run in member.runs) else []
    further += ["intervals"] if interval_figures(of_test.interval_series(), lambda curve: first.has_run(curve.results[0].run)) else []
    return {
        "name": test,
        "selection": msgspec.structs.replace(selection, test=test),
        "title": TEST_TITLES[test],
        "figures": [name for name in DRAWN[test] if FIGURES[name](series)],
        "further": further,
        "sentences": len(series) <= MOST_SENTENCES,
        "cost": has_cost(series, of_test.results),
        "repeated": any(member.repeated for member in series),
        "loses": any(member.has_mark(LOSS) for member in series),
    }


def _keywords(part: View) -> str:
    """Return search words that occur only in the tables of a page."""
    conditions = list(conditions_among(part.results))
    keywords = {words(name, value) for measured in conditions for name, value in msgspec.structs.asdict(measured).items() if name in SHOWN_CONDITIONS}
    # The search finds a phrase only as a whole, so its single words are added too.
    keywords |= {word for phrase in keywords for word in _WORD.findall(phrase)}
    keywords |= {word for measured in conditions for word in _WAITING_WORDS.get(measured.waiting or "", "").split()}
    percentiles = {result.statistic.replace(".", "") for result in part.results if result.metric == "latency" and _is_percentile(result.statistic)}
    keywords |= {*percentiles, "percentiles"} if percentiles else set()
    for run in part.runs.values():
        host = part.hosts.get(run.host or "")
        keywords |= {words(name, value) for name, value in labels_of(run.labels).items()}
        keywords |= {word for word in (run.system_version, run.tool, run.tool_version, run.release, run.host, host.name if host else None) if word}
    return drawn(", ".join([*sorted(word for word in keywords if word), *_size_words(part)]))


def _is_percentile(statistic: str) -> bool:
    return statistic.startswith("p") and statistic[1:2].isdigit()


def _size_words(part: View) -> list[str]:
    """Return sizes without blanks, such as ``64kib``. The search page converts the user's words in the same way."""
    sizes = sorted({result.payload_bytes for result in part.results if result.payload_bytes is not None})
    return [size(payload_bytes).replace("\u00a0", "").replace("\u202f", "").lower() for payload_bytes in sizes]


def _kind(part: View) -> str:
    kinds = {run.published for run in part.runs.values()}
    return "mixed" if len(kinds) > 1 else "published" if True in kinds else "own"


def _counts(view: View) -> dict[str, Any]:
    return view.once("counts", partial(_counted, view))


def _counted(view: View) -> dict[str, Any]:
    published = sum(run.published for run in view.runs.values())
    return {
        "runs": len(view.runs),
        "own_runs": len(view.runs) - published,
        "published_runs": published,
        "numbers": sum(map(len, view.by_run.values())),
        "marked": sum(marked.total() for marked in marked_of(view).values()),
        "bad_runs": sum(run.status not in ("ok", None) for run in view.runs.values()),
        "unread_runs": len(view.unread),
        "altered_logs": len({(problem.run, problem.log) for problem in view.problems if problem.kind == ALTERED}),
        "sources_of_figures": list(_sources(view)),
        **_line_counts(view),
    }


def _line_counts(view: View) -> dict[str, int]:
    unread = sum((log.broken or 0) + (log.unknown or 0) for log in view.logs)
    return {"logs": len(view.logs), "lines": sum(log.lines or 0 for log in view.logs), "unread_lines": unread}


def _sources(view: View) -> Iterator[Source]:
    digests: set[str] = set()
    for manifest in _short_manifests(view).values():
        source = manifest.source
        if source is not None and source.sha256 not in digests:
            digests.add(source.sha256)
            yield source


def _site_context(view: View, groups: Sequence[PageGroup]) -> dict[str, Any]:
    parts = [part for group in groups for page in group.pages for part in page.parts]
    return {
        **_counts(view),
        "pages": PageIndex(parts),
        "transports_count": len({part.transport.casefold().partition(",")[0] for part in parts if part.transport != NOT_STATED}),
        "systems_count": len({part.system for part in parts}),
        "groups_title": groups_title(groups[0].field) if groups else "",
        "groups": [{"name": group.title, "document": group.document, "pages": _other_pages(group)} for group in groups],
        "news": news(view),
        "min_runs": MIN_RUNS,
        "has_fairness": _has_library(view),
        **_context_for_repeating(view),
        **_comparison_context(view),
    }


class _Argv(msgspec.Struct, frozen=True):
    argv: tuple[str, ...]


class _ShortManifest(msgspec.Struct, frozen=True):
    """Only these fields are decoded, because all fields of all manifests would take much memory."""

    system: str | None = None
    published: bool = False
    source: Source | None = None
    commands: tuple[_Argv, ...] = ()


_decode = msgspec.json.Decoder(_ShortManifest).decode


def _short_manifests(view: View) -> Mapping[str, _ShortManifest]:
    return view.once("stated in manifests", lambda: {name: _decode(run.manifest) for name, run in view.runs.items() if run.manifest})


def _has_library(view: View) -> bool:
    """Whether any own run measured a library through another system.

    The log of such a run names the library as the system, and the manifest names the other system.
    """
    return any(not (run := view.runs[name]).published and run.system != manifest.system for name, manifest in _short_manifests(view).items())


def _other_pages(group: PageGroup) -> list[dict[str, str]]:
    return [{"name": page.name, "document": page.document} for page in group.pages if page.document != group.document]


def _context_for_repeating(view: View) -> dict[str, Any]:
    manifests = _short_manifests(view).values()
    return {
        "scripts_are_there": any(manifest.commands for manifest in manifests),
        # `nox -s bench` measures only this system; a campaign that measures another system by perftest is not in the checkout.
        "has_perftest": any(manifest.system == PERFTEST and not manifest.published for manifest in manifests),
    }


def _group_pages(view: View, groups: Sequence[PageGroup], diffs: Sequence[dict[str, Any]]) -> Iterator[SitePage]:
    for group in groups:
        if not _other_pages(group):
            continue
        part = view.only(group.selection)
        context = {**_counts(part), "pages": PageIndex(page_part for page in group.pages for page_part in page.parts), "kind": _kind(part)}
        context["selection"] = group.selection
        context["diffs"] = [pair for pair in diffs if group.field == "system" and pair["system"] == group.value]
        yield SitePage(group.document, "system.html.jinja", group.title, context, ("systems",))


def _hosts_page(view: View) -> SitePage:
    used = {run.host for run in view.runs.values() if run.host}
    context = {
        "described": bool(used & view.hosts.keys()),
        "undescribed": sorted(used - view.hosts.keys()),
        "unstated": sum(run.host is None for run in view.runs.values()),
        "contradicted": [problem.reason for problem in view.problems if problem.kind == CONTRADICTED and not problem.run],
    }
    names = {name: host_anchor(host) for host in sorted(used & view.hosts.keys()) for name in (view.hosts[host].name, host) if name}
    return SitePage("hosts", "hosts.html.jinja", "Machines", context, entries=tuple(names.items()))


def _about(view: View) -> SitePage:
    result = next((result for result in view.summaries() if result.line and result.ordinal == 1), None)
    example = ("run", "sub.log", "3", "goodput", "mean")
    if result:
        example = (result.run.run, result.log, str(result.line), result.metric, result.statistic)
    context = {**_counts(view), "example": number_id(*example)}
    return SitePage("about", "about.html.jinja", "About the figures", context, has_contents=True)


def _with_links_to_transports(pages: Iterable[SitePage], groups: Sequence[PageGroup]) -> Iterator[SitePage]:
    parts = [part for group in groups for page in group.pages for part in page.parts]
    for page in pages:
        of_system = PageIndex(part for part in parts if part.system == page.context.get("system"))
        yield msgspec.structs.replace(page, context={**page.context, "pages": of_system})


def _diff_pages(view: View) -> Sequence[SitePage]:
    return view.once("pages of comparisons", lambda: list(_made_diff_pages(view)))


def _made_diff_pages(view: View) -> Iterator[SitePage]:
    pairs, documents, order_notes = neighbours(view.runs.values()), diff_documents(view.runs.values()), _order_notes(view)
    for system, old, new in sorted([*pairs, *since(view.runs.values())], key=lambda pair: pair[0].lower()):  # neighbours first
        context = {"system": system, "old": old, "new": new, "neighbours": (system, old, new) in pairs, "selection": Selection(system=system)}
        context["order_note"] = order_notes.get(system, "")
        yield SitePage(documents[system, old, new], "diff_page.html.jinja", f"{system}: {old} \u2192 {new}", context, ("releases",))
    for metric, statistic in metrics_in(view):
        words = METRICS[metric].words
        context = {"metric": metric, "statistic": statistic, "words": words, "better": METRICS[metric].better}
        yield SitePage(history_document(metric, statistic), "history.html.jinja", f"History: {words}, {statistic}", context, ("releases",))


def _order_notes(view: View) -> dict[str, str]:
    """Return a warning for each system whose own releases are ordered by name, because start times are missing.

    If this order is wrong, an improvement is shown as a regression.
    """
    by_name = newest_by_name((run.system, run.release, run.start_time) for run in view.runs.values() if not run.published)
    return {
        system: f"The releases of {system} are in the order of their names, because {reason}. So {newest} counts as the newest."
        for system, (newest, reason) in by_name.items()
    }


def _comparison_context(view: View) -> dict[str, Any]:
    runs = list(view.runs.values())
    pages = _diff_pages(view)
    diffs = [{**page.context, "document": page.document} for page in pages if "old" in page.context]
    return {
        "diffs": diffs,
        "skipping": [pair for pair in diffs if not pair["neighbours"]],
        "latest": latest(runs),
        "order_notes": list(_order_notes(view).values()),
        "history_pages": [{**page.context, "document": page.document} for page in pages if "metric" in page.context],
    }
