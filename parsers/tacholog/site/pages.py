"""The list of pages, and the values for the template of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tacholog.compare.policy import MIN_RUNS
from tacholog.dataset.export import number_id
from tacholog.render.figures.figures import FIGURES
from tacholog.render.figures.intervals import interval_figures
from tacholog.render.tables.side_by_side import has_side_by_side
from tacholog.schema.metrics import METRICS
from tacholog.site.downloads import csv_names
from tacholog.site.script import is_perftest
from tacholog.slugs import slug
from tacholog.view.history import METRICS_SHOWN, diff_documents, history_document, latest, neighbours, since, tested
from tacholog.view.names import SHOWN_CONDITIONS, words
from tacholog.view.news import news
from tacholog.view.numerals import NOT_STATED, size
from tacholog.view.views import TESTS, Selection, View, log_document, manifest_of, transport_of
from tacholog.visible import drawn

LOGS = "logs"
_OWN_FORMAT = "native"
_FIGURES = {"latency": ("latency",), "throughput": ("goodput", "messages", "loss"), "demand": ("goodput", "messages", "loss")}
_TITLES = {"latency": "Latency", "throughput": "Throughput", "demand": "Throughput in bursts"}
# Folders of a site that are not for systems. A system of this name gets another folder.
_NOT_OF_SYSTEMS = ("data", "diffs", "downloads", "history", "logs", "raw", "versions")
_PAGE_ENDINGS = (".html", ".inv", ".js")  # of files beside those folders: `about.html` is a page of every site


class SitePage(msgspec.Struct, frozen=True):
    """A page to generate: its document name, its template, and the values for the template."""

    document: str
    template: str
    context: dict[str, Any]


def plan(view: View) -> list[SitePage]:
    """Return all pages of the site."""
    systems = _systems(view)
    transports = [page for pages in systems.values() for page in pages]
    index = _index(view, systems)
    pages = [index, *_system_pages(view, systems, index.context["diffs"]), *transports]
    pages += [
        *(SitePage(name, f"{name}.md.jinja", pages[0].context) for name in ("systems", "compare", "quality", "releases", "downloads")),
        _hosts_page(view),
        _about(view),
        *_diff_pages(view),
    ]
    return [*pages, *_log_pages(view, transports)]


def _systems(view: View) -> dict[str, list[SitePage]]:
    """Return the transport pages of each system."""
    pairs = {(result.run.system or NOT_STATED, result.conditions.transport or NOT_STATED) for result in view.results}
    files = csv_names(pairs)
    full = {result.run.run for result in view.results}
    pairs |= {(run.system or NOT_STATED, transport_of(run) or NOT_STATED) for run in view.runs.values() if run.run not in full}
    systems: dict[str, list[SitePage]] = {}
    folders: dict[str, str] = {}
    taken, taken_folders = set[str](), set(_NOT_OF_SYSTEMS)
    for system, transport in sorted(pairs, key=lambda pair: (pair[0].lower(), pair[1].lower(), pair)):
        if system not in folders:
            folder = slug(system)
            folders[system] = _free(f"{folder}-system" if folder.endswith(_PAGE_ENDINGS) else folder, taken_folders)
            taken.add(f"{folders[system]}/index")
        document = _free(f"{folders[system]}/{slug(transport)}", taken)
        part = view.only(Selection(system=system, transport=transport))
        systems.setdefault(system, []).append(
            SitePage(document, "transport.md.jinja", {**_transport_context(part, system, transport), "file": files.get((system, transport), "")})
        )
    return systems


def _free(document: str, taken: set[str]) -> str:
    """Return a name that no other page or folder has: `UDP` and `udp` are two transports with the same file name."""
    name, number = document, 2
    while name in taken:
        name, number = f"{document}-{number}", number + 1
    taken.add(name)
    return name


def _transport_context(part: View, system: str, transport: str) -> dict[str, Any]:
    tests, repeated = [], False
    for test in TESTS:
        series = part.only(Selection(test=test)).series()
        if series:
            repeated |= any(member.repeated for member in series)
            drawn = [name for name in _FIGURES[test] if FIGURES[name](series)]
            drawn += ["distribution"] if test == "latency" and part.histograms else []
            drawn += ["intervals"] if interval_figures(part.only(Selection(test=test)).intervals()) else []
            tests.append({"name": test, "title": _TITLES[test], "figures": drawn, "side_by_side": has_side_by_side(series)})
    return {
        **_counts(part),
        "system": system,
        "transport": transport,
        "stated": transport != NOT_STATED,
        "tests": tests,
        "repeated": repeated,
        "kind": _kind(part),
        "keywords": _keywords(part),
    }


def _keywords(part: View) -> str:
    """Return words for the search index that stand only in the tables of a page: conditions, versions, machines."""
    found = {
        words(name, value)
        for conditions in {result.conditions for result in part.results}
        for name, value in msgspec.structs.asdict(conditions).items()
        if name in SHOWN_CONDITIONS
    }
    for run in part.runs.values():
        host = part.hosts.get(run.host or "")
        found |= {word for word in (run.system_version, run.tool, run.tool_version, run.release, run.host, host.name if host else None) if word}
    return drawn(", ".join([*sorted(word for word in found if word), *_size_words(part)]))


def _size_words(part: View) -> list[str]:
    """Return the message sizes as search words without blanks: ``64kib``. The search page converts what is typed in the same way."""
    sizes = sorted({result.payload_bytes for result in part.results if result.payload_bytes is not None})
    return [size(at).replace("\u00a0", "").replace("\u202f", "").lower() for at in sizes]


def _kind(part: View) -> str:
    kinds = {run.published for run in part.runs.values()}
    return "mixed" if len(kinds) > 1 else "published" if True in kinds else "own"


def _counts(view: View) -> dict[str, Any]:
    published = sum(run.published for run in view.runs.values())
    return {
        "runs": len(view.runs),
        "own_runs": len(view.runs) - published,
        "published_runs": published,
        "numbers": len(view.results),
        "marked": sum(bool(result.marks) for result in view.results),
        "bad_runs": sum(run.status not in ("ok", None) for run in view.runs.values()),
        "unread_runs": len(view.unread),
        "sources": list(_sources(view)),
        **_line_counts(view),
    }


def _line_counts(view: View) -> dict[str, int]:
    unread = sum((log.broken or 0) + (log.unknown or 0) for log in view.logs)
    return {"logs": len(view.logs), "lines": sum(log.lines or 0 for log in view.logs), "unread_lines": unread}


def _sources(view: View) -> Iterator[dict[str, str | None]]:
    """Yield each published document that runs come from, once."""
    seen: set[str] = set()
    for run in view.runs.values():
        manifest = manifest_of(run)
        source = manifest.source if manifest else None
        if source is not None and source.sha256 not in seen:
            seen.add(source.sha256)
            yield {"title": source.title, "publisher": source.publisher, "document": source.document, "sha256": source.sha256, "url": source.url}


def _index(view: View, systems: Mapping[str, Sequence[SitePage]]) -> SitePage:
    rows = [[system, page.context["transport"], page.document] for system, pages in systems.items() for page in pages]
    context = {
        **_counts(view),
        "rows": rows,
        "transports_count": len(
            {page.context["transport"].casefold().partition(",")[0] for pages in systems.values() for page in pages if page.context["stated"]}
        ),
        "systems": [_system_entry(name, pages) for name, pages in systems.items()],
        "news": news(view),
        "min_runs": MIN_RUNS,
        **_again(view),
        **_compared(view),
        "keywords": ", ".join(_size_words(view)),
    }
    return SitePage("index", "index.md.jinja", context)


def _again(view: View) -> dict[str, Any]:
    """Return whether any page has a script, and the systems whose own runs `tacholog bench` can repeat: only those of our own tool."""
    manifests = {run.run: manifest for run in view.runs.values() if (manifest := manifest_of(run))}
    native = {log.run for log in view.logs if log.format == _OWN_FORMAT}
    own = {name: manifest for name, manifest in manifests.items() if not manifest.published}
    ours = {manifest.system for name, manifest in own.items() if name in native or any(is_perftest(command.argv) for command in manifest.commands)}
    return {"scripts": any(one.commands for one in manifests.values()), "bench_measures": sorted(system for system in ours if system)}


def _system_entry(name: str, pages: Sequence[SitePage]) -> dict[str, Any]:
    folder = pages[0].document.split("/", maxsplit=1)[0]
    return {"name": name, "document": f"{folder}/index", "pages": pages}


def _system_pages(view: View, systems: Mapping[str, Sequence[SitePage]], diffs: Sequence[dict[str, Any]]) -> Iterator[SitePage]:
    for system, pages in systems.items():
        part = view.only(Selection(system=system))
        rows = [[system, page.context["transport"], page.document] for page in pages]
        context = {**_counts(part), "system": system, "pages": pages, "rows": rows, "kind": _kind(part)}
        context["diffs"] = [pair for pair in diffs if pair["system"] == system]
        yield SitePage(_system_entry(system, pages)["document"], "system.md.jinja", context)


def _hosts_page(view: View) -> SitePage:
    used: dict[str, int] = {}
    for run in view.runs.values():
        used[run.host or NOT_STATED] = used.get(run.host or NOT_STATED, 0) + 1
    ids = sorted({*view.hosts, *(host for host in used if host != NOT_STATED)})
    hosts = [{"id": host, "name": view.hosts[host].name if host in view.hosts else host, "runs": used.get(host, 0)} for host in ids]
    return SitePage("hosts", "hosts.md.jinja", {"hosts": [h for h in hosts if h["id"] in view.hosts], "unstated": used.get(NOT_STATED, 0)})


def _about(view: View) -> SitePage:
    result = next((result for result in view.summaries() if result.line), None)
    example = ("run", "sub.log", "3", "goodput", "mean")
    if result:
        example = (result.run.run, result.log, str(result.line), result.metric, result.statistic)
    return SitePage("about", "about.md.jinja", {**_counts(view), "example": number_id(*example), "example_line": example[2]})


def _diff_pages(view: View) -> Iterator[SitePage]:
    """Yield a page for each two consecutive releases, for each older release with the newest one, and for the history of each metric."""
    pairs, documents = neighbours(view.runs.values()), diff_documents(view.runs.values())
    for system, old, new in sorted([*pairs, *since(view.runs.values())], key=lambda pair: pair[0].lower()):  # neighbours first
        context = {"system": system, "old": old, "new": new, "neighbours": (system, old, new) in pairs}
        yield SitePage(documents[system, old, new], "diff.md.jinja", context)
    compared = {(system, release) for system, *releases in pairs for release in releases}
    there = tested(result for result in view.summaries() if (result.run.system, result.run.release) in compared)
    for metric, statistic in METRICS_SHOWN:
        if (metric, statistic) in there:
            context = {"metric": metric, "statistic": statistic, "words": METRICS[metric].words, "better": METRICS[metric].better}
            yield SitePage(history_document(metric, statistic), "history.md.jinja", context)


def _compared(view: View) -> dict[str, Any]:
    """Return the comparisons that pages list: all of them, the newest one, and the pages with the history of a metric."""
    runs = list(view.runs.values())
    pages = list(_diff_pages(view))
    return {
        "diffs": [{**page.context, "document": page.document} for page in pages if "old" in page.context],
        "latest": latest(runs),
        "history": [{**page.context, "document": page.document} for page in pages if "metric" in page.context],
    }


def _log_pages(view: View, transports: Iterable[SitePage]) -> Iterator[SitePage]:
    parents: dict[str, list[dict[str, str]]] = {}
    for page in transports:
        wanted = Selection(system=page.context["system"], transport=page.context["transport"])
        for run in view.only(wanted).runs:
            parents.setdefault(run, []).append({"title": f"{page.context['system']}, {page.context['transport']}", "document": page.document})
    for log in view.logs:
        context = {"run": log.run, "log": log.log, "parents": parents.get(log.run, [])}
        yield SitePage(log_document(LOGS, log.run, log.log), "log.md.jinja", context)
