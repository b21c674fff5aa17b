"""The links in our HTML: ``doc:NAME?QUERY#ANCHOR`` leads to a page, ``root:PATH`` to a file of the site.

They become addresses when a page is written.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from functools import lru_cache

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
