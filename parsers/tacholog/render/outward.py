"""Links that lead out of a site. Their addresses come from manifests and settings, which strangers write: only plain web addresses become links."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

import msgspec

from tacholog.render.html import NOTHING, Html, esc, join, tag
from tacholog.visible import HIDDEN

_SCHEMES = ("http", "https")
_UNSAFE = re.compile(r"[\s<>\"'`\\]")


class Source(msgspec.Struct, frozen=True):
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


def sources_list(sources: Iterable[Source], vendor: str | None = None, *, digests: bool = False) -> Html:
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


def _source(source: Source, *, digests: bool) -> list[object]:
    digest = ("; SHA-256 ", tag("code", source.sha256)) if digests and source.sha256 else ()
    return [source.publisher, ": ", out_link(source.url, tag("cite", source.title)), f" ({source.document}", *digest, ")"]


def own_links(repository: str | None) -> Html:
    """Return a sentence with the repository of the project; nothing if it is not stated."""
    return join([tag("p", "The source of this site: ", out_link(repository, repository))]) if repository else NOTHING
