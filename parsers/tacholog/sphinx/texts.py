"""The texts of pages, by digest: in a site of ours, a page is read again if its text is another one, whatever the clock says.

Sphinx compares the time at which it read a page with that of the last change of the page. After a clock was set back, a page that changed looks as if
it had been read since, and the site would show what was there before.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


def setup(app: Sphinx) -> None:
    """Register the events that keep track of the texts."""
    app.connect("source-read", _remember)
    app.connect("env-get-outdated", _outdated)
    app.connect("env-purge-doc", lambda _app, env, page: _texts(env).pop(page, None))
    app.connect("env-merge-info", lambda _app, env, pages, other: _merge(_texts(env), _texts(other), pages))


def _texts(env: BuildEnvironment) -> dict[str, str]:
    if not hasattr(env, "tacholog_texts"):
        env.tacholog_texts = {}  # type: ignore[attr-defined]  # Sphinx's way for extensions to keep something
    texts: dict[str, str] = env.tacholog_texts  # type: ignore[attr-defined]
    return texts


def _remember(app: Sphinx, page: str, _text: list[str]) -> None:
    if app.config.tacholog_made_by:
        _texts(app.env)[page] = _digest(app.env, page)


def _merge(into: dict[str, str], other: dict[str, str], pages: Iterable[str]) -> None:
    into.update((page, other[page]) for page in pages if page in other)


def _outdated(app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], _removed: set[str]) -> list[str]:
    if not app.config.tacholog_made_by:
        return []
    texts = _texts(env)
    return [page for page in sorted(env.found_docs - added - changed) if texts.get(page) != _digest(env, page)]


def _digest(env: BuildEnvironment, page: str) -> str:
    return hashlib.sha256(env.doc2path(page).read_bytes()).hexdigest()
