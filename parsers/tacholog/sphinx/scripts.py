"""The content security policy of pages: nothing from elsewhere, and of inline scripts only those that are known before any page is looked at.

Known is what the theme, ``conf.py`` and extensions put into a page that has no content: each template of the theme is rendered once for such a page.
A script that stands in a page beside those came with its content. It is not let run, and the build names it.
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
_SHOWN = 60  # characters of a script that is named


def setup(app: Sphinx) -> None:
    """Have the empty pages made."""
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
    """Return the scripts of the pages without content, which are deleted; ``_EMPTY_PAGE`` in them stands for the name of a page."""
    found: set[str] = set()
    for page in [*site.glob(f"{_EMPTY_PAGE}-*.html"), *site.glob(f"{_EMPTY_PAGE}-*/index.html")]:
        name = page.parent.name if page.name == "index.html" else page.stem
        found.update(script.replace(name, _EMPTY_PAGE) for script in inline_scripts(page.read_text(encoding="utf-8")))
        page.unlink()
        if page.parent != site:
            page.parent.rmdir()
    return frozenset(found)


def inline_scripts(page: str) -> list[str]:
    """Return the scripts that stand in a page: not those that it names, and no data."""
    return [body for attributes, body in _SCRIPT.findall(page) if not _NOT_INLINE.search(attributes)]


def head_of(page: str) -> int | None:
    """Return where the policy of a page belongs; nothing if it is there already, or the page has no head."""
    place = _HEAD.search(page)
    return None if place is None or page[place.end() :].lstrip().startswith(_MARK) else place.end()


def policy_of(page: str, name: str, known: Iterable[str]) -> str:
    """Return the element with the policy of a page that is called ``name``; name in the build's warnings what it blocks."""
    names = (name, name.removesuffix("/index"))  # the second where each page has a folder of its own
    allowed = {script.replace(_EMPTY_PAGE, one) for script in known for one in names}
    there = dict.fromkeys(inline_scripts(page))
    for script in there:
        if script not in allowed:
            said = drawn_in_line(" ".join(script.split()))[:_SHOWN]
            _LOGGER.warning("%s: an inline script came with the page's content and is blocked: %r", name, said, type="perf", subtype="script")
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
