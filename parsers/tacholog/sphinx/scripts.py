"""The content security policy of the pages: nothing from other sites, and no inline scripts except those of the theme.

To know the scripts of the theme, ``conf.py`` and extensions, each template is rendered once for a page without content. Any other inline script came
with the content of a page. Browsers block it, and the build warns about it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.util import logging

from tacholog.visible import drawn_in_line

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LOGGER = logging.getLogger(__name__)
_EMPTY_PAGE = "tacholog-page-without-content"
_SCRIPT = re.compile(r"<script\b([^>]*)>(.*?)</script\b", re.DOTALL | re.IGNORECASE)
_NOT_INLINE = re.compile(r"\ssrc\s*=|\stype\s*=\s*[\"']?(?:application/(?!javascript)|text/(?!javascript))", re.IGNORECASE)
_HEAD = re.compile(r'<meta charset="[^"]*"\s*/?>|<head>', re.IGNORECASE)
_MARK = '<meta http-equiv="Content-Security-Policy"'
_SHOWN = 60  # characters of a script that a warning quotes


def setup(app: Sphinx) -> None:
    """Register the pages without content."""
    app.connect("html-collect-pages", _empty_pages)


def _empty_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    if not app.config.tacholog_csp:
        return
    templates = dict.fromkeys(
        ["page.html", *(["search.html"] if getattr(app.builder, "search", False) else []), *app.config.html_additional_pages.values()]
    )
    for number, template in enumerate(templates):
        yield f"{_EMPTY_PAGE}-{number}", {"title": "", "body": ""}, template


def known_scripts(site: Path) -> frozenset[str]:
    """Return the scripts of the pages without content, and delete these pages. ``_EMPTY_PAGE`` in a script stands for the name of a page."""
    found: set[str] = set()
    for page in [*site.glob(f"{_EMPTY_PAGE}-*.html"), *site.glob(f"{_EMPTY_PAGE}-*/index.html")]:
        name = page.parent.name if page.name == "index.html" else page.stem
        found.update(script.replace(name, _EMPTY_PAGE) for script in inline_scripts(page.read_text(encoding="utf-8")))
        page.unlink()
        if page.parent != site:
            page.parent.rmdir()
    return frozenset(found)


def inline_scripts(page: str) -> list[str]:
    """Return the inline scripts of a page, without links to script files and without data blocks."""
    return [body for attributes, body in _SCRIPT.findall(page) if not _NOT_INLINE.search(attributes)]


def head_of(page: str) -> int | None:
    """Return the position for the policy in a page; ``None`` if the page has one already, or has no head."""
    place = _HEAD.search(page)
    return None if place is None or has_policy(page) else place.end()


def has_policy(page: str) -> bool:
    """Whether a page, or the start of one, has a policy already."""
    place = _HEAD.search(page)
    return place is not None and page[place.end() :].lstrip().startswith(_MARK)


def policy_of(page: str, name: str, known: Iterable[str]) -> str:
    """Return the element with the policy of the page ``name``, and warn about each script that it blocks."""
    names = (name, name.removesuffix("/index"))  # the second if each page is the index of its own folder
    allowed = {script.replace(_EMPTY_PAGE, page_name) for script in known for page_name in names}
    there = dict.fromkeys(inline_scripts(page))
    for script in there:
        if script not in allowed:
            excerpt = drawn_in_line(" ".join(script.split()))[:_SHOWN]
            _LOGGER.warning("%s: an inline script came with the page's content and is blocked: %r", name, excerpt, type="perf", subtype="script")
    return f'{_MARK} content="{_policy(script for script in there if script in allowed)}">'


def _policy(scripts: Iterable[str]) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            " ".join(["script-src 'self'", *map(_sha256, scripts)]),
            "style-src 'self' 'unsafe-inline'",  # Plotly sets styles on what it draws
            "img-src 'self' data: blob:",
            "font-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
        )
    )


def _sha256(body: str) -> str:
    digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
    return f"'sha256-{digest}'"
