"""The links of our HTML: to log pages, to other pages of a site, to other sites, and the links that scripts use.

Inside a site, ``doc:NAME?QUERY#ANCHOR`` leads to a page and ``root:PATH`` to a file. They become addresses when a page is written.
Addresses of other sites come from manifests and settings, which strangers may write, so only plain web addresses become links.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

import msgspec

from tacholog.render.html import NOTHING, Html, esc, join, tag
from tacholog.render.number_spans import number_anchor
from tacholog.store.export import with_ordinal
from tacholog.view.results import ResultRow
from tacholog.view.series import Series
from tacholog.view.views import log_document
from tacholog.visible import HIDDEN

_SCHEMES = ("http", "https")
_UNSAFE = re.compile(r"[\s<>\"'`\\]")


class Links(msgspec.Struct, frozen=True):
    """The links to log pages.

    ``logs`` is the folder of these pages; without it, numbers are not linked. Sphinx resolves the links (``doc:``).
    ``all_numbers`` is the start of the ids of the tables with all numbers (`numbers_anchor`), if these tables are on the same page.
    """

    logs: str | None = None
    all_numbers: str | None = None

    def to_line(self, result: ResultRow) -> str | None:
        """Return the link to a number on its log line; ``None`` if the number has no line, or if logs have no pages."""
        anchor = number_anchor(result)
        return None if self.logs is None or anchor is None else f"{self.to_log(result.run.run, result.log)}#{anchor}"

    def to_each_run(self, series: Series) -> str | None:
        """Return the link to the table with the numbers of each run of a series. This table is on the same page as the link.

        The link is ``None`` if no run was repeated, or if the page has no tables with all numbers.
        """
        return f"#{self.all_numbers}-{series.slot}-each" if self.all_numbers and series.repeated else None

    def to_log(self, run: str, log: str) -> str | None:
        """Return the link to the page of a log."""
        return None if self.logs is None else f"doc:{log_document(self.logs, run, log)}"


class SourceDocument(msgspec.Struct, frozen=True):
    """A published document: publisher, title, file name in this dataset, and the address if the manifest states one."""

    publisher: str
    title: str
    document: str
    url: str | None = None
    sha256: str | None = None


def is_web_address(address: str) -> bool:
    """Whether an address may become a link: http or https, with a host, and without a user name, which could disguise the host."""
    if _UNSAFE.search(address) or HIDDEN.search(address):
        return False
    try:
        parts = urlsplit(address)
        return parts.scheme in _SCHEMES and bool(parts.hostname) and parts.username is None
    except ValueError:
        return False


def out_link(address: str | None, words: object) -> Html:
    """Return a link to another site; return only the words if the address must not become a link."""
    if address is None or not is_web_address(address):
        return esc(words)
    return tag("a", words, href=address, rel="noopener noreferrer", class_="tl-out")


def sources_list(sources: Iterable[SourceDocument], vendor: str | None = None, *, digests: bool = False) -> Html:
    """Return a list of the source documents and the vendor's page; nothing if both are missing.

    Args:
        sources: the documents.
        vendor: the address of the vendor's page.
        digests: whether to state the SHA-256 of each document.
    """
    items = [tag("li", *_source(source, digests=digests)) for source in sources]
    if vendor is not None and is_web_address(vendor):
        items.append(tag("li", out_link(vendor, "The vendor's page")))
    return tag("ul", *items, class_="simple stat-label") if items else NOTHING


def _source(source: SourceDocument, *, digests: bool) -> list[object]:
    digest = ("; SHA-256 ", tag("code", source.sha256)) if digests and source.sha256 else ()
    return [source.publisher, ": ", out_link(source.url, tag("cite", source.title)), f" ({source.document}", *digest, ")"]


def own_links(repository: str | None) -> Html:
    """Return a sentence with a link to the source repository of the site; nothing without a repository."""
    return join([tag("p", "The source of this site: ", out_link(repository, repository))]) if repository else NOTHING


# Every `"` in the content of this HTML is escaped, so `href="doc:` always begins one of our links.
_LINK = re.compile(r'href="(doc|root):([^"#?]*)')


def with_addresses(html: str, target: Callable[[str, str], str]) -> str:
    """Replace each link by its address. ``target`` takes the kind of a link (doc, root) and its name, and returns its address."""
    return _LINK.sub(lambda match: f'href="{target(match[1], match[2])}', html)


def pages_linked(html: str) -> set[str]:
    """Return the pages to which HTML links."""
    return {name for kind, name in _LINK.findall(html) if kind == "doc"}


@lru_cache(maxsize=1 << 14)  # cached, because the rows of a table lead to the same few pages
def address_from(document: str, kind: str, name: str) -> str:
    """Return the address of a page or a file, relative to the page of a document."""
    return posixpath.relpath(f"{name}.html" if kind == "doc" else name, posixpath.dirname(document) or ".")


class ScriptLinks:
    """The links of one script. Each link is a hidden element of the page, which Sphinx resolves; the data of the script refer to it by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, link: str | None) -> int | None:
        """Return the number of a link. Links that differ only in their anchor have the same number."""
        return None if link is None else self._numbers.setdefault(link.partition("#")[0], len(self._numbers))

    def log(self, links: Links, result: ResultRow) -> int | None:
        """Return the number of the link to the log page of a result; ``None`` if it has no page."""
        return None if result.line is None else self.number(links.to_log(result.run.run, result.log))

    def position(self, links: Links, result: ResultRow) -> list[object]:
        """Return the position of a result as a list: the number of its log page, and its line.

        If the line has several numbers of this metric and statistic, the list ends with the part of the anchor that distinguishes them.
        """
        ordinal = with_ordinal("", result.ordinal)
        return [self.log(links, result), result.line, *([ordinal] if ordinal else [])]

    def line(self, links: Links, result: ResultRow | None) -> Sequence[object] | None:
        """Return the position of a result; ``None`` if its log has no page."""
        return None if result is None or self.log(links, result) is None else self.position(links, result)

    def links(self) -> Iterator[Html]:
        """Yield one element for each link, in order."""
        for link in self._numbers:
            yield tag("a", href=link, tabindex=-1)

    def html(self) -> Html:
        """Return all links in a hidden element; nothing if there are none."""
        return tag("div", *self.links(), hidden=True, class_="tl-targets") if self._numbers else Html("")
