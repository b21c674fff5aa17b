"""The files that the pages need: style sheets, scripts, Plotly once per site; and the content security policy of each page."""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.util import logging

from tacholog.installation import site_dir
from tacholog.site.bundle import plotly_bundle
from tacholog.sphinx.scripts import head_of, known_scripts, policy_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

_LOGGER = logging.getLogger(__name__)
PLOTLY = "plotly.min.js"


def setup(app: Sphinx) -> None:
    """Add our files to every page, Plotly to the built site and, if ``tacholog_csp`` is set, the policy to every page."""
    app.connect("config-inited", _add_static)
    for style in ("tacholog.css", "tacholog-diff.css"):
        app.add_css_file(style)
    for script in ("tacholog.js", "tacholog-tables.js", "tacholog-keys.js"):
        app.add_js_file(script, loading_method="defer")
    app.connect("html-page-context", _add_own)
    app.connect("build-finished", _finish)


def _add_own(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    """Add scripts that only some pages need: the search page, and pages with a chooser."""
    if page == "search":
        app.add_js_file("tacholog-search.js", loading_method="defer")
    if 'class="tl-choose"' in context.get("body", ""):
        for script in ("tacholog-numerals.js", "tacholog-compare.js"):
            app.add_js_file(script, loading_method="defer")


def _add_static(_app: Sphinx, config: Config) -> None:
    folder = str(site_dir() / "_static")
    if folder not in config.html_static_path and not _has_own(_app, config):
        config.html_static_path.append(folder)


def _has_own(app: Sphinx, config: Config) -> bool:
    """Whether the project already has a copy of our files, as our own site does."""
    return any(Path(app.confdir, folder, "tacholog.js").is_file() for folder in config.html_static_path)


def _finish(app: Sphinx, problem: Exception | None) -> None:
    if problem is not None or app.builder.format != "html":
        return
    site = Path(app.outdir)
    _copy_plotly(site / "_static")
    if app.config.tacholog_csp:
        known = known_scripts(site)
        for page in sorted(site.rglob("*.html")):
            _protect(page, page.relative_to(site).with_suffix("").as_posix(), known)


def _copy_plotly(static: Path) -> None:
    """Copy Plotly, which `tacholog.site.bundle` provides, into the site."""
    source, note = plotly_bundle()
    if note:
        _LOGGER.info(note)
    target = static / PLOTLY
    if not target.exists() or not filecmp.cmp(source, target, shallow=False):
        static.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def _protect(page: Path, name: str, known: Iterable[str]) -> None:
    """Add the policy to a page, unless it has one."""
    text = page.read_text(encoding="utf-8")
    place = head_of(text)
    if place is not None:
        page.write_text(f"{text[:place]}\n    {policy_of(text, name, known)}{text[place:]}", encoding="utf-8")
