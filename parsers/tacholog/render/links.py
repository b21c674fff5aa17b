"""The links of our HTML: to log pages, to other pages of a site, out of the site, and those that scripts use.

Inside a site, ``doc:NAME?QUERY#ANCHOR`` leads to a page and ``root:PATH`` to a file. They become addresses when a page is written.
Addresses outside come from manifests and settings, which strangers write: only plain web addresses become links.
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
    """The folder of the log pages. Without it, numbers are not linked. Sphinx resolves the links (``doc:``).

    ``all_numbers`` is what the ids of the tables with all numbers begin with (`numbers_anchor`), if they are on the same page.
    """

    logs: str | None = None
    all_numbers: str | None = None

    def to_line(self, result: ResultRow) -> str | None:
        """Return the link to the number itself on the line that it was read from."""
        anchor = number_anchor(result)
        return None if self.logs is None or anchor is None else f"{self.to_log(result.run.run, result.log)}#{anchor}"

    def to_each_run(self, series: Series) -> str | None:
        """Return the link to the values of each run of a series on the same page; ``None`` if no run was repeated."""
        return f"#{self.all_numbers}-{series.slot}-each" if self.all_numbers and series.repeated else None

    def to_log(self, run: str, log: str) -> str | None:
        """Return the link to the page of a log."""
        return None if self.logs is None else f"doc:{log_document(self.logs, run, log)}"


class SourceDocument(msgspec.Struct, frozen=True):
    """A published document: who published it, its title, its name as it is kept here, and its address if the manifest states one."""

    publisher: str
    title: str
    document: str
    url: str | None = None
    sha256: str | None = None


def is_web_address(address: str) -> bool:
    """Whether an address may be a link: http or https, with a host, and without a user name, which can make a host look like another one."""
    if _UNSAFE.search(address) or HIDDEN.search(address):
        return False
    try:
        parts = urlsplit(address)
        return parts.scheme in _SCHEMES and bool(parts.hostname) and parts.username is None
    except ValueError:
        return False


def out_link(address: str | None, words: object) -> Html:
    """Return a link out of the site, or only the words if the address may not be a link."""
    if address is None or not is_web_address(address):
        return esc(words)
    return tag("a", words, href=address, rel="noopener noreferrer", class_="tl-out")


def sources_list(sources: Iterable[SourceDocument], vendor: str | None = None, *, digests: bool = False) -> Html:
    """Return the documents that figures were taken from, and the vendor's own page if it is known; nothing if there is neither.

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
    """Return a sentence with the repository of the project; nothing if it is not stated."""
    return join([tag("p", "The source of this site: ", out_link(repository, repository))]) if repository else NOTHING


# In this HTML every `"` of the content is escaped, so `href="doc:` is always one of our links.
_LINK = re.compile(r'href="(doc|root):([^"#?]*)')


def with_addresses(html: str, target: Callable[[str, str], str]) -> str:
    """Return HTML in which each link has an address. ``target`` is called with the kind of a link (doc, root) and its name."""
    return _LINK.sub(lambda found: f'href="{target(found[1], found[2])}', html)


def pages_linked(html: str) -> set[str]:
    """Return the pages that HTML links to."""
    return {name for kind, name in _LINK.findall(html) if kind == "doc"}


@lru_cache(maxsize=1 << 14)  # the rows of a table lead to the same few pages
def address_from(document: str, kind: str, name: str) -> str:
    """Return the address of a page or a file, relative to the page of a document."""
    return posixpath.relpath(f"{name}.html" if kind == "doc" else name, posixpath.dirname(document) or ".")


class Targets:
    """The links of one script, written as elements so that Sphinx resolves them like all others."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def number(self, link: str | None) -> int | None:
        """Return the number of a link without its anchor."""
        return None if link is None else self._places.setdefault(link.partition("#")[0], len(self._places))

    def log(self, links: Links, result: ResultRow) -> int | None:
        """Return the number of the log's page that a number leads to, if there is one."""
        return None if result.line is None else self.number(links.to_log(result.run.run, result.log))

    def place(self, links: Links, result: ResultRow) -> list[object]:
        """Return where a number stands: the number of the log's page, if there is one, the line, and the end of the anchor if it is not the first."""
        ordinal = with_ordinal("", result.ordinal)
        return [self.log(links, result), result.line, *([ordinal] if ordinal else [])]

    def line(self, links: Links, result: ResultRow | None) -> Sequence[object] | None:
        """Return the same, or nothing if there is no such page."""
        return None if result is None or self.log(links, result) is None else self.place(links, result)

    def links(self) -> Iterator[Html]:
        """Yield one element for each link, in order."""
        for link in self._places:
            yield tag("a", href=link, tabindex=-1)

    def html(self) -> Html:
        """Return all links in a hidden element; nothing if there are none."""
        return tag("div", *self.links(), hidden=True, class_="tl-targets") if self._places else Html("")
