"""The pages of logs, and the files of raw logs."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tacholog.errors import UnreadableInput
from tacholog.evidence import read_evidence
from tacholog.privacy.logs import line_classes_path, sha256_of
from tacholog.render.html import Html, join, tag
from tacholog.render.tables.logs import log_facts, raw_log_name, raw_name
from tacholog.runs.manifest import RUN_FILE, as_toml
from tacholog.site.former import FormerSite
from tacholog.site.logpage import linked_lines, log_page
from tacholog.site.offered import offered_log
from tacholog.site.result_pages import page_groups
from tacholog.view.results import LogRow, ProblemRow
from tacholog.view.views import View, log_document, manifest_of


class LogPage(NamedTuple):
    """The page of a log: its document, and the pages of results that lead to it, by document and title."""

    document: str
    log: LogRow
    parents: Sequence[tuple[str, str]]

    @property
    def title(self) -> str:
        """The heading."""
        return f"{self.log.run}/{self.log.log}"


def log_pages(view: View, folder: str, fields: tuple[str, ...]) -> list[LogPage]:
    """Return the page of each log in a folder. ``fields`` make the pages of results."""
    parents: dict[str, list[tuple[str, str]]] = {}
    for page in (page for group in page_groups(view, fields) for page in group.pages):
        for run in view.only(page.selection).runs:
            parents.setdefault(run, []).append((page.document, page.long_name))
    return [LogPage(log_document(folder, log.run, log.log), log, parents.get(log.run, ())) for log in view.logs]


def log_bodies(
    pages: Sequence[LogPage], view: View, documents: Collection[str], digests: Mapping[tuple[str, str], str], is_made: Callable[..., bool]
) -> Iterator[tuple[LogPage, Html]]:
    """Yield each page that is to be made, with what stands below its heading.

    Args:
        pages: all pages of logs.
        view: everything that the site shows.
        documents: the pages of the site.
        digests: those of all numbers of each log, by run and log.
        is_made: whether a page is there already that was made of these; the page is the first argument.
    """
    problems: dict[tuple[str, str], list[ProblemRow]] = {}
    for problem in view.problems:
        problems.setdefault((problem.run, problem.log or ""), []).append(problem)
    for page in pages:
        run, log = view.runs[page.log.run], page.log
        of_log = problems.get((log.run, log.log), ())
        lines = sha256_of(*line_classes_path(Path(run.root), log.log)) if run.root else None
        received = (page.parents, run, log, of_log, view.hosts.get(run.host or ""), offered_log(run, log), lines, digests.get((log.run, log.log)))
        if not is_made(page, *received):
            yield page, _body(page, view, of_log, documents)


def _body(page: LogPage, view: View, problems: Sequence[ProblemRow], documents: Collection[str]) -> Html:
    run, log = view.runs[page.log.run], page.log
    results = [result for result in view.by_run.get(log.run, ()) if result.log == log.log]
    part = View({log.run: results}, {log.run: run}, [log], problems, view.hosts)
    links = [
        join([tag("a", title, href=f"doc:{document}"), ", ", tag("a", "its script", href=f"doc:{document}#run-it-again")])
        for document, title in page.parents
    ]
    facts = log_facts(part, log.run, log.log, offered_log, documents)
    lines = log_page(Path(run.root, log.log), log.format, linked_lines(results, problems), results) if run.root else ""
    return join([tag("p", join(links, " \u00b7 ")) if links else "", facts, lines])


def raw_files(view: View, former: FormerSite) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each raw log and each manifest for download. Logs are named after their content: each is there once.

    Those that ``former`` has are left out.
    """
    written = set[str]()
    for log in view.logs:
        run = view.runs[log.run]
        offered = offered_log(run, log)
        if run.root is None or not offered.is_readable or not offered.sha256:
            continue
        name = raw_log_name(offered.sha256)
        if name not in written:
            written.add(name)
            if former.has(name):
                continue
            with suppress(UnreadableInput):
                yield name, gzip.compress(read_evidence(Path(run.root), log.log), mtime=0)
    for run in view.runs.values():
        if run.manifest and (manifest := manifest_of(run)):
            yield raw_name(run.run, RUN_FILE), as_toml(manifest).encode()
