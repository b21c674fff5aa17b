"""The files that the pages need: style sheets, scripts, Plotly once per site; and the content security policy of each page."""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import re
import shutil
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.util import logging

from tacholog.resources import site_dir
from tacholog.site.bundle import plotly_bundle
from tacholog.site.walk import walk
from tacholog.sphinx.node import other_pages
from tacholog.sphinx.scripts import has_policy, head_of, known_scripts, policy_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

_LOGGER = logging.getLogger(__name__)
_ICONS = re.compile(r'<script[^>]*\bsrc="[^"]*_static/scripts/fontawesome\.js[^"]*"></script>\n?')
_ICON = re.compile(r'\.fa-[a-z0-9-]+(?:,\.fa-[a-z0-9-]+)*\{--fa:"[^"]*"\}')  # the rule of one of 2000 icons; tacholog.css draws those that pages use
_FONT = re.compile(r"@font-face\{[^}]*/fa-(?:brands|regular)-[^}]*\}")  # The theme itself uses icons of the third font only.
_NEVER_LOADED = ("**/*.map", "scripts/fontawesome.js*", "webpack-macros.html", "copybutton_funcs.js", "vendor/fontawesome/webfonts/fa-[br]*")
_STEMMERS = "*-stemmer.js"  # Sphinx has put them into language_data.js too.
_SEARCH = re.compile(r'<script[^>]*\bsrc="(?:[^"]*/)?(?:searchtools|language_data|searchindex)\.js[^"]*"></script>\n?')
PLOTLY = "plotly.min.js"
_HEAD_BYTES = 2048  # of a page, which hold the start of its head


def setup(app: Sphinx) -> None:
    """Add our files to every page, Plotly to the built site and, if ``tacholog_csp`` is set, the policy to every page."""
    app.add_config_value("tacholog_code", "", "env", types=frozenset({str}))
    app.connect("config-inited", _add_static)
    app.connect("config-inited", _note_code)
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


def _note_code(_app: Sphinx, config: Config) -> None:
    """Make all pages depend on the code of this package: another version may make other tables from the same data."""
    if config.tacholog_made_by:
        return  # `tacholog report` has looked at the code already.
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for module in sorted(package.rglob("*.py")):
        digest.update(module.read_bytes())
    config.tacholog_code = digest.hexdigest()


def _has_own(app: Sphinx, config: Config) -> bool:
    """Whether the project already has a copy of our files, as our own site does."""
    return any(Path(app.confdir, folder, "tacholog.js").is_file() for folder in config.html_static_path)


def _finish(app: Sphinx, problem: Exception | None) -> None:
    if problem is not None or app.builder.format != "html":
        return
    _copy_plotly(Path(app.outdir, "_static"))
    if app.config.tacholog_csp:
        site = Path(app.outdir)
        _drop_unused(site)
        known = known_scripts(site)
        # Pages of logs are thousands. They are written later, into the frame of a page that is protected here.
        others = frozenset(json.loads(app.config.tacholog_other_folders or "[]"))
        for name in sorted(set(_pages(site, others)) - other_pages(app.config.tacholog_other_pages)):
            _protect(site / f"{name}.html", name, known)


def _pages(site: Path, others: Container[str]) -> Iterator[str]:
    """Yield the names of the pages in a site. There are thousands, and to make a `Path` of each takes longer than to find it.

    Args:
        site: its folder.
        others: the folders at its top in whose folders Sphinx writes no page.
    """
    top = os.fspath(site)
    for folder, folders, files in walk(top):
        if folder == top:
            folders[:] = [name for name in folders if not name.startswith(".")]  # a folder such as .git is not ours
        inside = folder[len(top) + 1 :].replace(os.sep, "/")
        if inside in others:
            folders.clear()
        for file in files:
            if file.endswith(".html") and not (folder == top and file.startswith(".")):
                yield f"{inside}/{file}".removeprefix("/").removesuffix(".html")


def _drop_unused(site: Path) -> None:
    """Delete what no page loads of Sphinx, the theme and its icons: maps for debuggers, templates, fonts. That was half of the folder."""
    static, search = site / "_static", site / "search.html"
    loads_stemmers = search.is_file() and _STEMMERS[1:] in search.read_text(encoding="utf-8")
    for pattern in (*_NEVER_LOADED, *(() if loads_stemmers else (_STEMMERS,))):
        for path in static.glob(pattern):
            path.unlink()
    for sheet in static.glob("styles/pydata-sphinx-theme.css"):
        text = sheet.read_text(encoding="utf-8")
        if (less := _FONT.sub("", _ICON.sub("", text))) != text:
            sheet.write_text(less, encoding="utf-8")


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
    """Add the policy to a page, unless it has one.

    Two scripts of the theme are removed, for additional icons and for search results while one types. Our pages use neither, and they were a quarter
    of what a first visit loads.
    """
    with page.open("rb") as file:
        if has_policy(file.read(_HEAD_BYTES).decode("utf-8", "ignore")):
            return  # as hundreds of pages that this build did not write
    text = page.read_text(encoding="utf-8")
    place = head_of(text)
    if place is None:
        return
    rest = _ICONS.sub("", text[place:])
    rest = rest if name == "search" else _SEARCH.sub("", rest)
    page.write_text(f"{text[:place]}\n    {policy_of(text, name, known)}{rest}", encoding="utf-8")
