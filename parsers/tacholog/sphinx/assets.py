"""The files that the pages need (style sheets, scripts, one copy of Plotly for each site), and the content security policy of each page."""

from __future__ import annotations

import base64
import filecmp
import hashlib
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.util import logging

from tacholog.installation import site_dir
from tacholog.site.bundle import plotly_bundle
from tacholog.visible import drawn_in_line

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

_LOGGER = logging.getLogger(__name__)
PLOTLY = "plotly.min.js"


def setup(app: Sphinx) -> None:
    """Add our files to every page, Plotly to the built site and, if ``tacholog_csp`` is set, the content security policy to every page."""
    app.connect("config-inited", _add_static)
    for style in ("tacholog.css", "tacholog-diff.css"):
        app.add_css_file(style)
    for script in ("tacholog.js", "tacholog-tables.js", "tacholog-keys.js"):
        app.add_js_file(script, loading_method="defer")
    app.connect("html-page-context", _add_scripts_of_page)
    app.connect("html-collect-pages", _empty_pages)
    app.connect("build-finished", _finish)


def _add_scripts_of_page(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    if page == "search":
        app.add_js_file("tacholog-search.js", loading_method="defer")
    if 'class="tl-choose"' in context.get("body", ""):
        for script in ("tacholog-numerals.js", "tacholog-compare.js"):
            app.add_js_file(script, loading_method="defer")


def _add_static(_app: Sphinx, config: Config) -> None:
    folder = str(site_dir() / "_static")
    if folder not in config.html_static_path and not _has_copies(_app, config):
        config.html_static_path.append(folder)


def _has_copies(app: Sphinx, config: Config) -> bool:
    # Our own site has a copy of our files.
    return any(Path(app.confdir, folder, "tacholog.js").is_file() for folder in config.html_static_path)


def _finish(app: Sphinx, problem: Exception | None) -> None:
    if problem is not None or app.builder.format != "html":
        return
    site = Path(app.outdir)
    _copy_plotly(site / "_static")
    if app.config.tacholog_csp:
        theme_scripts = known_scripts(site)
        for page in sorted(site.rglob("*.html")):
            _add_policy(page, page.relative_to(site).with_suffix("").as_posix(), theme_scripts)


def _copy_plotly(static: Path) -> None:
    source, note = plotly_bundle()
    if note:
        _LOGGER.info(note)
    target = static / PLOTLY
    if not target.exists() or not filecmp.cmp(source, target, shallow=False):
        static.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def _add_policy(page: Path, name: str, theme_scripts: Iterable[str]) -> None:
    text = page.read_text(encoding="utf-8")
    position = head_of(text)
    if position is not None:
        page.write_text(f"{text[:position]}\n    {policy_of(text, name, theme_scripts)}{text[position:]}", encoding="utf-8")


_EMPTY_PAGE = "tacholog-page-without-content"
_SCRIPT = re.compile(r"<script\b([^>]*)>(.*?)</script\b", re.DOTALL | re.IGNORECASE)
_NOT_INLINE = re.compile(r"\ssrc\s*=|\stype\s*=\s*[\"']?(?:application/(?!javascript)|text/(?!javascript))", re.IGNORECASE)
_HEAD = re.compile(r'<meta charset="[^"]*"\s*/?>|<head>', re.IGNORECASE)
_MARK = '<meta http-equiv="Content-Security-Policy"'
_SHOWN = 60  # the number of characters of a script that a warning quotes


def _empty_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    if not app.config.tacholog_csp:
        return
    templates = dict.fromkeys(
        ["page.html", *(["search.html"] if getattr(app.builder, "search", False) else []), *app.config.html_additional_pages.values()]
    )
    for number, template in enumerate(templates):
        yield f"{_EMPTY_PAGE}-{number}", {"title": "", "body": ""}, template


def known_scripts(site: Path) -> frozenset[str]:
    """Return the inline scripts of the theme. They are read from empty pages, and these pages are then deleted.

    If a script contains the name of its page, ``_EMPTY_PAGE`` replaces this name.
    """
    bodies: set[str] = set()
    for page in [*site.glob(f"{_EMPTY_PAGE}-*.html"), *site.glob(f"{_EMPTY_PAGE}-*/index.html")]:
        name = page.parent.name if page.name == "index.html" else page.stem
        bodies.update(script.replace(name, _EMPTY_PAGE) for script in inline_scripts(page.read_text(encoding="utf-8")))
        page.unlink()
        if page.parent != site:
            page.parent.rmdir()
    return frozenset(bodies)


def inline_scripts(page: str) -> list[str]:
    """Return the inline scripts of a page, without links to script files and without data blocks."""
    return [body for attributes, body in _SCRIPT.findall(page) if not _NOT_INLINE.search(attributes)]


def head_of(page: str) -> int | None:
    """Return the position in a page where the policy is inserted; ``None`` if the page has a policy already, or has no head."""
    match = _HEAD.search(page)
    return None if match is None or has_policy(page) else match.end()


def has_policy(page: str) -> bool:
    """Whether a page, or the beginning of a page, already has a content security policy."""
    match = _HEAD.search(page)
    return match is not None and page[match.end() :].lstrip().startswith(_MARK)


def policy_of(page: str, name: str, theme_scripts: Iterable[str]) -> str:
    """Return the HTML element with the policy of the page ``name``. Warn about each script that the policy blocks."""
    names = (name, name.removesuffix("/index"))  # scripts of the theme may contain the page's name without "/index"
    allowed = {script.replace(_EMPTY_PAGE, page_name) for script in theme_scripts for page_name in names}
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
            "style-src 'self' 'unsafe-inline'",  # Plotly sets inline styles on the elements of a plot
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
