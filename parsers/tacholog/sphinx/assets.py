"""What the pages need beside their text: our style sheet and script, Plotly once a site, and a content security policy."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.util import logging

from tacholog.report.bundle import plotly_bundle
from tacholog.resources import site_dir

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

_LOGGER = logging.getLogger(__name__)
_INLINE = re.compile(r"<script(?![^>]*\bsrc=)([^>]*)>(.*?)</script>", re.DOTALL)
_HEAD = re.compile(r'<meta charset="[^"]*"\s*/?>|<head>', re.IGNORECASE)
_ICONS = re.compile(r'<script[^>]*\bsrc="[^"]*_static/scripts/fontawesome\.js[^"]*"></script>\n?')
_SEARCH = re.compile(r'<script[^>]*\bsrc="(?:[^"]*/)?(?:searchtools|language_data|searchindex)\.js[^"]*"></script>\n?')
_MARK = '<meta http-equiv="Content-Security-Policy"'
PLOTLY = "plotly.min.js"


def setup(app: Sphinx) -> None:
    """Add our files to every page, Plotly to the built site, and, where asked for, the policy to every page."""
    app.add_config_value("tacholog_code", "", "env", types=frozenset({str}))
    app.connect("config-inited", _add_static)
    app.connect("config-inited", _note_code)
    for style in ("tacholog.css", "tacholog-diff.css"):
        app.add_css_file(style)
    for script in ("tacholog.js", "tacholog-tables.js"):
        app.add_js_file(script, loading_method="defer")
    app.connect("html-page-context", _add_own)
    app.connect("build-finished", _finish)


def _add_own(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    """Give the page of search results, and those that compare, what they need alone."""
    if page == "search":
        app.add_js_file("tacholog-search.js", loading_method="defer")
    if 'class="tl-choose"' in context.get("body", ""):
        for script in ("tacholog-numerals.js", "tacholog-compare.js"):
            app.add_js_file(script, loading_method="defer")


def _add_static(_app: Sphinx, config: Config) -> None:
    folder = str(site_dir() / "_static")
    if folder not in config.html_static_path and not _has_own(_app, config):
        config.html_static_path.append(folder)


def _note_code(_app: Sphinx, config: Config) -> None:
    """Make all pages depend on this package: another version of it makes other tables from the same data."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for module in sorted(package.rglob("*.py")):
        digest.update(module.read_bytes())
    config.tacholog_code = digest.hexdigest()


def _has_own(app: Sphinx, config: Config) -> bool:
    """Whether the project carries a copy of our files already, as our own site does."""
    return any(Path(app.confdir, folder, "tacholog.js").is_file() for folder in config.html_static_path)


def _finish(app: Sphinx, problem: Exception | None) -> None:
    if problem is not None or app.builder.format != "html":
        return
    _copy_plotly(Path(app.outdir, "_static"))
    if app.config.tacholog_csp:
        for page in sorted(Path(app.outdir).rglob("*.html")):
            _protect(page, is_search=page.name == "search.html")


def _copy_plotly(static: Path) -> None:
    """Put Plotly beside the pages once; where it comes from is `tacholog.report.bundle`'s business."""
    source, note = plotly_bundle()
    if note:
        _LOGGER.info(note)
    target = static / PLOTLY
    if not target.exists() or target.stat().st_size != source.stat().st_size:
        static.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def _protect(page: Path, *, is_search: bool) -> None:
    """Put the policy into a page, once: the theme's own inline scripts run because their hashes are named, and no other does.

    The theme's scripts for icons that a project adds and for results while one types are left out: our pages have neither, and they were a quarter of
    what a first visit loads.
    """
    text = page.read_text(encoding="utf-8")
    if _MARK in text or (place := _HEAD.search(text)) is None:
        return
    meta = f'{_MARK} content="{policy(text)}">'
    rest = _ICONS.sub("", text[place.end() :])
    page.write_text(f"{text[: place.end()]}\n    {meta}{rest if is_search else _SEARCH.sub('', rest)}", encoding="utf-8")


def policy(page: str) -> str:
    """Return the content security policy of a page: nothing from elsewhere, and of inline scripts only those that the page has now."""
    hashes = dict.fromkeys(_sha256(body) for attributes, body in _INLINE.findall(page) if "application/" not in attributes)
    return "; ".join(
        (
            "default-src 'none'",
            " ".join(["script-src 'self'", *hashes]),
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
