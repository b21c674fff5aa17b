"""The Sphinx settings of the site. `tacholog report` copies this folder to the generated pages, and tells Sphinx where the dataset is."""

import html
import json
from pathlib import Path
from typing import Any

from markupsafe import escape
from sphinx.application import Sphinx

from tacholog.sphinx.theme import CONTEXT, OPTIONS, THEME
from tacholog.visible import drawn

_site = json.loads(Path(__file__).with_name("site.json").read_text(encoding="utf-8"))  # the settings from site.toml

project = html_title = _site["name"]
author = _site["name"]
copyright = _site["copyright"] or ""

extensions = ["myst_parser", "sphinx_copybutton", "tacholog.sphinx"]
# Prose only: `tacholog report` makes all other pages, the first one too. No page is in a table of contents: menu.html has the menu.
root_doc = "methodology"
suppress_warnings = ["toc.not_included"]
# A new list: the theme appends to the default list, so a second build in the same process would differ from the first.
templates_path = ["_templates"]
exclude_patterns = ["**/_*.md"]
nitpicky = True
smartquotes = False  # names are shown exactly as written

myst_heading_anchors = 3
myst_enable_extensions = ["attrs_inline", "deflist"]

_links = [*_site["links"], *([{"title": "Source", "url": _site["repository"]}] if _site["repository"] else [])]

html_theme = THEME
html_context = {**CONTEXT}
html_theme_options = {
    **OPTIONS,
    "logo": {
        "text": html.escape(_site["name"]),
        **({"image_light": _site["logo"], "image_dark": _site["logo"], "alt_text": ""} if _site["logo"] else {}),
    },
    "external_links": [{"name": html.escape(link["title"]), "url": html.escape(link["url"])} for link in _links],
    "navbar_center": ["menu"],
    "header_links_before_dropdown": 6,
    "footer_start": [*(["copyright"] if copyright else []), "versions"],  # nobody but its owner can say whose a site is
}
# No navigation in a sidebar: on some pages it would have more bytes than the page. The header and the pages of the systems have the links instead.
html_sidebars = {"**": []}
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_baseurl = drawn(_site["url"] or "")  # older versions of a page name the newest one as canonical
html_domain_indices = False
html_permalinks_icon = "#"
copybutton_exclude = ".linenos, .gp"


def _escape_name(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    """Sphinx takes the name of the site for HTML, so not all templates escape it."""
    context["docstitle"] = context["shorttitle"] = escape(_site["name"])


def _load_search_first(app: Sphinx, page: str, _template: str, _context: dict[str, Any], _doctree: object) -> None:
    """Load two scripts of Sphinx before tacholog-search.js on the search page, because tacholog-search.js changes these scripts.

    The index of the search is not loaded here. The page loads the index last, because the index starts the search.
    """
    if page == "search":
        for script in ("searchtools.js", "language_data.js"):
            app.add_js_file(script, priority=300, loading_method="defer")


def setup(app: Sphinx) -> None:
    """Register the functions that change the data of a page before the theme changes this data."""
    app.connect("html-page-context", _escape_name, priority=400)
    app.connect("html-page-context", _load_search_first, priority=400)
