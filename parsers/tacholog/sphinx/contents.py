"""The list of headings beside a page, made once: the theme makes it by reading HTML, and before the first one it spends a twentieth of a second.

Only pages of a theme with such a list, and of a project whose templates call ``kept_contents``, are concerned. `tacholog report` is one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tacholog.site.output.memory import keep_value, kept_value
from tacholog.sphinx.theme import FOLDER, packages_digest

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_FILE = "contents.json"
_SET_BY = "theme_show_toc_level"  # The one setting that the theme asks for.


class _Kept(msgspec.Struct):
    """The lists of pages: of each what it was made of, as a digest, and its HTML. ``made_by`` is the digest of what made them."""

    made_by: str
    pages: dict[str, tuple[str, str]] = {}


def setup(app: Sphinx) -> None:
    """Offer the function to templates, and keep what it gave."""
    app.connect("builder-inited", _open)
    app.connect("html-page-context", _offer)
    app.connect("build-finished", _save)


def _folder(app: Sphinx) -> Path:
    return Path(app.doctreedir, FOLDER)


def _open(app: Sphinx) -> None:
    made_by = packages_digest(app)
    kept = None if _folder(app).is_symlink() else kept_value(_folder(app) / _FILE, _Kept)
    app.tacholog_contents = kept if kept and kept.made_by == made_by else _Kept(made_by)  # type: ignore[attr-defined]  # as for the environment


def _offer(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    lists: dict[str, tuple[str, str]] = app.tacholog_contents.pages  # type: ignore[attr-defined]

    def kept_contents(make: Callable[[], object]) -> Callable[[], str]:
        """Return a function that makes the list of headings of the page, as ``make`` does."""

        def contents() -> str:
            given = repr((context.get("toc"), context.get(_SET_BY)))
            digest = hashlib.sha256(given.encode("utf-8", "surrogateescape")).hexdigest()
            known = lists.get(page)
            if known is None or known[0] != digest:
                known = lists[page] = (digest, str(make()))
            return known[1]

        return contents

    context["kept_contents"] = kept_contents


def _save(app: Sphinx, problem: Exception | None) -> None:
    kept: _Kept = app.tacholog_contents  # type: ignore[attr-defined]
    if problem is None and kept.pages and _folder(app).is_dir() and not _folder(app).is_symlink():
        # The headings of pages that are gone may be private by now.
        kept.pages = {page: made for page, made in kept.pages.items() if page in app.env.found_docs}
        keep_value(_folder(app) / _FILE, kept)
