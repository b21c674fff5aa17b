"""The list of pages, and the values for the template of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from tacholog.compare.policy import MIN_RUNS
from tacholog.render.figures.figures import FIGURES
from tacholog.render.figures.intervals import interval_figures
from tacholog.render.portion import DRAWN, MOST_SENTENCES, TEST_TITLES
from tacholog.render.tables.cost import has_cost
from tacholog.runs.labels import label_fields, labels_of
from tacholog.runs.manifest import Source
from tacholog.runs.problems import ALTERED
from tacholog.schema.metrics import METRICS
from tacholog.site.questions import DOCUMENT as QUESTIONS
from tacholog.site.questions import AskedQuestion, questions_of
from tacholog.site.requirements import DOCUMENT as REQUIREMENTS
from tacholog.site.result_pages import DEFAULT, UNNAMED, PageGroup, ResultPage, groups_title, page_groups
from tacholog.site.script import is_perftest
from tacholog.site.settings import SiteSettings
from tacholog.store.export import number_id
from tacholog.view.history import diff_documents, history_document, latest, metrics_in, neighbours, news, since
from tacholog.view.names import SHOWN_CONDITIONS, joined, words
from tacholog.view.numerals import NOT_STATED, size
from tacholog.view.page_index import PageIndex, PagePart
from tacholog.view.portions import Portion, portions
from tacholog.view.results import conditions_among
from tacholog.view.series import LOSS
from tacholog.view.side_by_side import session_of_several
from tacholog.view.views import TESTS, Selection, View, marked_of
from tacholog.visible import drawn

_BESIDE, _RANKED = "side-by-side", "fastest-by-size-one-machine-after-the-other"
# The pages that every site has, or may have: their titles, and whether a list of headings stands beside them.
_TITLES = {
    "systems": ("Systems and transports", False),
    _BESIDE: ("Side by side", False),
    "rankings": ("Fastest by size", False),
    "compare": ("Compare", False),
    "releases": ("Releases", False),
    "quality": ("Data quality", True),
    "downloads": ("Downloads", True),
    REQUIREMENTS: ("Requirements", False),
}
#: The pages of the menu, in order; those that a site does not have are left out.
MENU = (
    *(QUESTIONS, "systems", _BESIDE, "rankings", "compare", "releases", "hosts", "quality"),
    *("methodology", "fairness", "definitions", "downloads", "about"),
)
_OWN_FORMAT = "native"
_WORD = re.compile(r"[^\W\d_]{2,}")
# What people type for a way of waiting, beside the words of the page.
_WAITING_WORDS = {"busy-poll": "polls polling spins CPU", "spin-then-block": "polls polling spins sleeps CPU", "block": "sleeps sleeping blocks"}


class SitePage(msgspec.Struct, frozen=True):
    """A page to make.

    Attributes:
        document: its name.
        template: the name of its template.
        title: its heading.
        context: the values for the template.
        parents: the pages above it, that of the menu first.
        place: an id that its heading has before the usual ones.
        keywords: words for the search that stand in no text of the page.
        has_contents: whether a list of its headings stands beside it.
    """

    document: str
    template: str
    title: str
    context: dict[str, Any]
    parents: tuple[str, ...] = ()
    place: str = ""
    keywords: str = ""
    has_contents: bool = False


def plan(view: View, settings: SiteSettings, *, has_requirements: bool = False) -> list[SitePage]:
    """Return all pages that the data give, except those of logs."""
    groups = page_groups(view, settings.pages)
    asked = questions_of(view, settings.questions)
    shared = {**_of_site(view, groups), "questions": [each for each in asked if each.is_listed], "is_by_size": _is_by_size(view)}
    keywords = ", ".join(_size_words(view))
    pages = [SitePage("index", "index.html.jinja", settings.title, shared, keywords=keywords)]
    pages += _question_pages(asked, shared)
    pages += _group_pages(view, groups, shared["diffs"])
    pages += [_result_page(view, page, group) for group in groups for page in group.pages]
    for name, (title, has_contents) in _TITLES.items():
        if (name != _BESIDE or shared["has_beside"]) and (name != REQUIREMENTS or has_requirements):
            of_search = keywords if name in ("compare", _BESIDE) else ""
            parents = ("releases",) if name == REQUIREMENTS else ()
            place = _RANKED if name == "rankings" else ""
            pages.append(SitePage(name, f"{name}.html.jinja", title, shared, parents, place, of_search, has_contents))
    pages += [_hosts_page(view), _about(view), *_with_transports(_diff_pages(view), groups)]
    return pages


def _is_by_size(view: View) -> bool:
    """Whether several systems or transports were measured at several message sizes: only then is a figure of all of them over sizes of use."""
    results = [result for results in view.by_run.values() for result in results]
    measured = {(result.run.system, result.conditions.transport) for result in results}
    return len(measured) > 1 and len({result.payload_bytes for result in results}) > 1


def _question_pages(asked: Sequence[AskedQuestion], shared: dict[str, Any]) -> Iterator[SitePage]:
    """Yield the page of each question, and one that lists those that the site asks."""
    if asked:
        yield SitePage(QUESTIONS, "questions.html.jinja", "Questions", shared)
    for each in asked:
        yield SitePage(each.document, "question.html.jinja", each.title, {"asked": each}, (QUESTIONS,), has_contents=True)


def _result_page(view: View, page: ResultPage, group: PageGroup) -> SitePage:
    whole = view.only(page.selection)
    context = _result_context(whole, page)
    parents = ("systems", *((group.document,) if page.document != group.document else ()))
    return SitePage(page.document, "transport.html.jinja", page.title, context, parents, keywords=_keywords(whole), has_contents=True)


def _result_context(whole: View, page: ResultPage) -> dict[str, Any]:
    parts = [_part_context(whole, part, page) for part in page.parts]
    return {
        **_counts(whole),
        "address": f"{page.document}.html",
        "file": page.file,
        "selection": page.selection,
        "common": _common_labels(whole, page),
        "parts": parts,
        "repeated": any(part["repeated"] for part in parts),
        "kind": _kind(whole),
        "has_fairness": _has_library(whole),
    }


def _common_labels(view: View, page: ResultPage) -> str:
    """Return in words the labels that all runs of a page share and that do not stand in its heading."""
    texts = {run.labels for run in view.runs.values()}
    values = [(field, {labels_of(text).get(field) for text in texts}) for field in label_fields(texts) if field not in page.fields]
    return joined([(field, next(iter(found))) for field, found in values if len(found) == 1])


def _part_context(view: View, part: PagePart, page: ResultPage) -> dict[str, Any]:
    """Return the values for a part of a page: its tests, what is drawn of each, and which releases it does not show at once."""
    shown = view.only(part.selection)
    first, *rest = portions(shown)
    tests = [found for test in TESTS if (found := _test_context(shown, part.selection, first, test))]
    stated = part.transport if part.transport != NOT_STATED else UNNAMED
    title = stated if "system" in page.fields else f"{part.system}, {stated}" if "transport" not in page.fields else part.system
    page_title = page.title if len(page.parts) == 1 else f"{page.title}, {title}"
    return {
        "title": title,
        "tests": tests,
        "repeated": any(test["repeated"] for test in tests),
        "costs": [test["name"] for test in tests if test["cost"]],
        "selection": part.selection,
        "page_title": page_title,
        "has_others": bool(rest),
    }


def _test_context(shown: View, selection: Selection, first: Portion, test: str) -> dict[str, Any] | None:
    """Return what a page shows of a test of its best evidence: its figures, and whether there are sentences and costs."""
    of_test = shown.only(Selection(test=test))
    series = first.series_of(test, of_test.series())
    if not series:
        return None
    histograms = {histogram.run for histogram in shown.histograms}
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
    """Return words for the search index that stand only in the tables of a page: conditions, percentiles, versions, machines.

    A phrase is found only as a whole, so its words are here too.
    """
    conditions = list(conditions_among(part.results))
    found = {words(name, value) for one in conditions for name, value in msgspec.structs.asdict(one).items() if name in SHOWN_CONDITIONS}
    found |= {word for phrase in found for word in _WORD.findall(phrase)}
    found |= {word for one in conditions for word in _WAITING_WORDS.get(one.waiting or "", "").split()}
    percentiles = {result.statistic.replace(".", "") for result in part.results if result.metric == "latency" and _is_percentile(result.statistic)}
    found |= {*percentiles, "percentiles"} if percentiles else set()
    for run in part.runs.values():
        host = part.hosts.get(run.host or "")
        found |= {words(name, value) for name, value in labels_of(run.labels).items()}
        found |= {word for word in (run.system_version, run.tool, run.tool_version, run.release, run.host, host.name if host else None) if word}
    return drawn(", ".join([*sorted(word for word in found if word), *_size_words(part)]))


def _is_percentile(statistic: str) -> bool:
    return statistic.startswith("p") and statistic[1:2].isdigit()


def _size_words(part: View) -> list[str]:
    """Return the message sizes as search words without blanks: ``64kib``. The search page converts what is typed in the same way."""
    sizes = sorted({result.payload_bytes for result in part.results if result.payload_bytes is not None})
    return [size(at).replace("\u00a0", "").replace("\u202f", "").lower() for at in sizes]


def _kind(part: View) -> str:
    kinds = {run.published for run in part.runs.values()}
    return "mixed" if len(kinds) > 1 else "published" if True in kinds else "own"


def _counts(view: View) -> dict[str, Any]:
    """Return how much there is. Several pages say it of everything."""
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
    """Yield each published document that runs come from, once."""
    seen: set[str] = set()
    for stated in _stated(view).values():
        source = stated.source
        if source is not None and source.sha256 not in seen:
            seen.add(source.sha256)
            yield source


def _of_site(view: View, groups: Sequence[PageGroup]) -> dict[str, Any]:
    """Return what pages say of the whole site."""
    parts = [part for group in groups for page in group.pages for part in page.parts]
    return {
        **_counts(view),
        "pages": PageIndex(parts),
        "transports_count": len({part.transport.casefold().partition(",")[0] for part in parts if part.transport != NOT_STATED}),
        "systems_count": len({part.system for part in parts}),
        "groups_title": groups_title(groups[0].field) if groups else "",
        "groups": [{"name": group.title, "document": group.document, "pages": _links(group)} for group in groups],
        "news": news(view),
        "min_runs": MIN_RUNS,
        "has_beside": session_of_several(view) is not None,
        "has_fairness": _has_library(view),
        **_again(view),
        **_compared(view),
    }


class _Argv(msgspec.Struct, frozen=True):
    """The words of a command."""

    argv: tuple[str, ...]


class _Stated(msgspec.Struct, frozen=True):
    """What the list of pages asks of the manifest of a run. Whole manifests of all runs would take a hundred MB, and three times as long to read."""

    system: str | None = None
    published: bool = False
    source: Source | None = None
    commands: tuple[_Argv, ...] = ()


_decode = msgspec.json.Decoder(_Stated).decode


def _stated(view: View) -> Mapping[str, _Stated]:
    """Return what the manifest of each run states, if it has one. Each manifest is read once."""
    return view.once("stated in manifests", lambda: {name: _decode(run.manifest) for name, run in view.runs.items() if run.manifest})


def _has_library(view: View) -> bool:
    """Whether a log names the library that was measured, where its campaign names the tool's own system."""
    return any(not (run := view.runs[name]).published and run.system != stated.system for name, stated in _stated(view).items())


def _links(group: PageGroup) -> list[dict[str, str]]:
    """Return the pages of a group, except a page that is the group's own."""
    return [{"name": page.name, "document": page.document} for page in group.pages if page.document != group.document]


def _again(view: View) -> dict[str, Any]:
    """Return whether any page has a script, and the systems whose own runs `tacholog bench` can repeat: only those of our own tool."""
    native = {log.run for log in view.logs if log.format == _OWN_FORMAT}
    stated = _stated(view)
    ours = {
        one.system for name, one in stated.items() if not one.published and (name in native or any(is_perftest(each.argv) for each in one.commands))
    }
    return {"scripts_are_there": any(one.commands for one in stated.values()), "bench_measures": sorted(system for system in ours if system)}


def _group_pages(view: View, groups: Sequence[PageGroup], diffs: Sequence[dict[str, Any]]) -> Iterator[SitePage]:
    """Yield a page for each group that has more than one page of its own: its pages, and what changed between the releases of a system."""
    for group in groups:
        if not _links(group):
            continue
        part = view.only(group.selection)
        context = {**_counts(part), "pages": PageIndex(shown for page in group.pages for shown in page.parts), "kind": _kind(part)}
        context["selection"] = group.selection
        context["diffs"] = [pair for pair in diffs if group.field == "system" and pair["system"] == group.value]
        yield SitePage(group.document, "system.html.jinja", group.title, context, ("systems",))


def _hosts_page(view: View) -> SitePage:
    """Return the page of machines. One without a run here is left out: nothing on the site was measured on it."""
    used = {run.host for run in view.runs.values() if run.host}
    context = {
        "described": bool(used & view.hosts.keys()),
        "undescribed": sorted(used - view.hosts.keys()),
        "unstated": sum(run.host is None for run in view.runs.values()),
    }
    return SitePage("hosts", "hosts.html.jinja", "Machines", context)


def _about(view: View) -> SitePage:
    result = next((result for result in view.summaries() if result.line and result.ordinal == 1), None)
    example = ("run", "sub.log", "3", "goodput", "mean")
    if result:
        example = (result.run.run, result.log, str(result.line), result.metric, result.statistic)
    context = {**_counts(view), "example": number_id(*example)}
    return SitePage("about", "about.html.jinja", "About the figures", context, has_contents=True)


def _with_transports(pages: Iterable[SitePage], groups: Sequence[PageGroup]) -> Iterator[SitePage]:
    """Yield the pages of comparisons, each with the pages of its system's transports, which it links to."""
    parts = [part for group in groups for page in group.pages for part in page.parts]
    for page in pages:
        of_system = PageIndex(part for part in parts if part.system == page.context.get("system"))
        yield msgspec.structs.replace(page, context={**page.context, "pages": of_system})


def _diff_pages(view: View) -> Sequence[SitePage]:
    """Return the pages that compare releases."""
    return view.once("pages of comparisons", lambda: list(_made_diff_pages(view)))


def _made_diff_pages(view: View) -> Iterator[SitePage]:
    """Yield a page for each two consecutive releases, for each older release with the newest one, and for the history of each metric."""
    pairs, documents = neighbours(view.runs.values()), diff_documents(view.runs.values())
    for system, old, new in sorted([*pairs, *since(view.runs.values())], key=lambda pair: pair[0].lower()):  # neighbours first
        context = {"system": system, "old": old, "new": new, "neighbours": (system, old, new) in pairs, "selection": Selection(system=system)}
        yield SitePage(documents[system, old, new], "diff_page.html.jinja", f"{system}: {old} \u2192 {new}", context, ("releases",))
    for metric, statistic in metrics_in(view):
        words = METRICS[metric].words
        context = {"metric": metric, "statistic": statistic, "words": words, "better": METRICS[metric].better}
        yield SitePage(history_document(metric, statistic), "history.html.jinja", f"History: {words}, {statistic}", context, ("releases",))


def _compared(view: View) -> dict[str, Any]:
    """Return the comparisons that pages list: all of them, the newest ones, and the pages with the history of a metric."""
    runs = list(view.runs.values())
    pages = _diff_pages(view)
    diffs = [{**page.context, "document": page.document} for page in pages if "old" in page.context]
    return {
        "diffs": diffs,
        "skipping": [pair for pair in diffs if not pair["neighbours"]],
        "latest": latest(runs),
        "history_pages": [{**page.context, "document": page.document} for page in pages if "metric" in page.context],
    }


def parents_of_runs(view: View, fields: tuple[str, ...] = DEFAULT) -> dict[str, list[tuple[str, str]]]:
    """Return the pages of results of each run, by document and title."""
    parents: dict[str, list[tuple[str, str]]] = {}
    for page in (page for group in page_groups(view, fields) for page in group.pages):
        for run in view.only(page.selection).runs:
            parents.setdefault(run, []).append((page.document, page.long_name))
    return parents
