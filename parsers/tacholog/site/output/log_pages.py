"""The pages of logs. Sphinx writes one page without content, and every log gets a copy of it: Sphinx took 20 ms for each.

What is between the header and the footer of a page is made only if the log, its numbers or the code changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from tacholog.render.addresses import address_from, with_addresses
from tacholog.render.html import Html, esc, join, tag
from tacholog.render.tables.logs import log_facts
from tacholog.site.logpage import log_page
from tacholog.site.offered import offered_log
from tacholog.site.output.memory import keep_value, kept_value
from tacholog.site.output.page_frame import PageFrame
from tacholog.site.sources import Sources
from tacholog.view.results import LogRow, ProblemRow, ResultRow
from tacholog.view.run_digests import digest
from tacholog.view.views import View, log_document

_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]")
_NOT_IN_ID = re.compile(r"[^a-z0-9]+")


class LogPage(NamedTuple):
    """The page of a log: its document, and the pages of results that lead to it, by document and title."""

    document: str
    log: LogRow
    parents: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        """The heading."""
        return f"{self.log.run}/{self.log.log}"


def log_pages(view: View, folder: str, parents: Mapping[str, Sequence[tuple[str, str]]]) -> list[LogPage]:
    """Return the page of each log; ``parents`` holds the pages of results of each run."""
    return [LogPage(log_document(folder, log.run, log.log), log, tuple(parents.get(log.run, ()))) for log in view.logs]


class _Written(msgspec.Struct, frozen=True):
    """What a build wrote: the key of each file, and to which pages the links in them may lead."""

    keys: dict[str, str]
    targets: list[str]


class PageMaker:
    """Writes pages into the frame that Sphinx made, and remembers by its key what is on each."""

    def __init__(self, site: Path, memory: Path, frame: PageFrame) -> None:
        """``memory`` is the file that keeps the keys between builds. ``frame`` is that of the pages that are written next."""
        self._site, self._memory, self.frame = os.fspath(site), memory, frame
        written = kept_value(memory, _Written) or _Written({}, [])
        self._before, self._targets_before = written.keys, frozenset(written.targets)
        memory.unlink(missing_ok=True)  # A build that fails may have written other pages than those that the file knows.
        self._now: dict[str, str] = {}
        self._targets: frozenset[str] = frozenset()

    def keep(self, document: str, key: str, into: Sources) -> bool:
        """Keep a page as it is if it was made for this key and in this frame, and return whether it was."""
        if self._before.get(document) != self._remembered(key) or not into.kept(self._inside(document, into)):
            return False
        self._now[document] = self._remembered(key)
        return True

    def known(self, document: str, key: str) -> str | None:
        """Return the body that was written for this key, if it is still there; it may be in another frame."""
        if not self._is_there(f"{document}.html", self._before.get(document, "").partition(" ")[0] == key):
            return None
        return self.frame.body_of(Path(self._site, f"{document}.html").read_text(encoding="utf-8"))

    def write(self, document: str, key: str, title: str, body: str, into: Sources) -> None:
        """Write a page, if it differs from the one that is there. Its title follows from ``key`` too."""
        self._now[document] = self._remembered(key)
        into.write(self._inside(document, into), self.frame.page(document, title, body))

    def is_current(self, name: str, key: str) -> bool:
        """Note that a file that is no page is made of this, and return whether it was written so before and is still there."""
        return self._is_there(name, self.was_made_of(name, key))

    def was_made_of(self, name: str, key: str) -> bool:
        """Note that a file that is no page is made of this, and return whether it was written so before. Whether it is still there, others ask."""
        self._now[name] = key
        return self._before.get(name) == key

    def keep_with_page(self, name: str, key: str, into: Sources) -> bool:
        """Keep a file that is no page, and the page of its name if it was written too, if both were made for this key; return whether they were."""
        file, page = f"{name}.js", name in self._before
        if not self._is_there(file, self._before.get(file) == key) or (page and not self.keep(name, key, into)):
            return False
        self._now[file] = key
        return True

    def leads_to(self, documents: frozenset[str]) -> bool:
        """Note to which pages links may lead. Return whether all to which those of the last build might lead are among them."""
        self._targets = documents
        return bool(self._targets_before) and self._targets_before <= documents

    def _remembered(self, key: str) -> str:
        return f"{key} {self.frame.digest}"

    def _is_there(self, name: str, is_known: bool) -> bool:
        return is_known and os.path.isfile(f"{self._site}/{name}")  # noqa: PTH113 - of thousands of files, as in `Sources`

    def _inside(self, document: str, into: Sources) -> str:
        folder = os.fspath(into.folder)[len(self._site) + 1 :]
        return f"{document}.html".removeprefix(f"{folder}/" if folder else "")

    def save(self) -> None:
        """Keep the keys for the next build."""
        keep_value(self._memory, _Written(self._now, sorted(self._targets)))


def write_log_pages(
    maker: PageMaker, into: Sources, pages: Iterable[LogPage], view: View, runs: Mapping[str, str], documents: frozenset[str]
) -> None:
    """Write the page of each log.

    Args:
        maker: what writes pages.
        into: the folder of logs in the site.
        pages: the pages.
        view: everything.
        runs: the digest of each run, with that of the code.
        documents: all pages of the site.
    """
    problems: dict[tuple[str, str], list[ProblemRow]] = {}
    for problem in view.problems:
        problems.setdefault((problem.run, problem.log or ""), []).append(problem)
    for page in pages:
        offered = offered_log(view.runs[page.log.run], page.log)
        key = digest(
            [runs[page.log.run], page.log.log, list(offered), page.parents, "hosts" in documents, view.runs[page.log.run].host in view.hosts]
        )
        if maker.keep(page.document, key, into):
            continue
        body = maker.known(page.document, key)
        if body is None:
            found = problems.get((page.log.run, page.log.log), [])
            body = with_addresses(_body(page, view, found, documents), partial(address_from, page.document))
        maker.write(page.document, key, page.title, body, into)


def _body(page: LogPage, view: View, problems: Sequence[ProblemRow], documents: frozenset[str]) -> Html:
    run, log = view.runs[page.log.run], page.log
    results = [result for result in view.by_run.get(log.run, ()) if result.log == log.log]
    part = View({log.run: results}, {log.run: run}, [log], problems, view.hosts)
    links = [
        join([tag("a", title, href=f"doc:{document}"), ", ", tag("a", "its script", href=f"doc:{document}#run-it-again")])
        for document, title in page.parents
    ]
    facts = log_facts(part, log.run, log.log, offered_log, documents)
    lines = log_page(Path(run.root, log.log), log.format, linked_lines(results, problems), results) if run.root else ""
    return join([heading(page.title), tag("p", join(links, " \u00b7 ")) if links else "", facts, lines])


def heading(title: str) -> Html:
    """Return the heading of a page with the anchors that Sphinx and MyST give it."""
    anchor = _NOT_IN_ID.sub("-", title.lower()).lstrip("-0123456789").rstrip("-") or "top"
    other = _NOT_IN_ANCHOR.sub("", title.lower()).replace(" ", "-")
    link = tag("a", "#", href=f"#{anchor}", class_="headerlink", title="Link to this heading")
    return join([tag("span", id=other) if other != anchor else "", tag("h1", esc(title), link, id=anchor)])


def linked_lines(results: Iterable[ResultRow], problems: Iterable[ProblemRow]) -> set[int]:
    """Return the numbers of the lines that something on the site links to."""
    found = [*(line for result in results for line in (result.line, result.place)), *(problem.line for problem in problems)]
    return {line for line in found if line}
