"""The search index.

The stem of a word is found once for all pages, which have most words in common, and is kept for the next build.

A percentile is one word, however it is written: `p999` is found by p99.9, 99.9 %, 99.9th and 99.9. So is the version of a release: `v0_4_0` is
found by 0.4.0, v0.4.0 and 0.4. Sphinx itself splits words at the dot, and leaves out numbers.

Sphinx keeps the words of pages that are gone or were changed: a word that stands on no page any more is taken out of it.
Otherwise, a name that the owner of a site hides today would stay in the index for ever.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from sphinx.search.en import SearchEnglish

from tacholog.site.output.memory import keep_value, kept_value
from tacholog.sphinx.theme import FOLDER, packages_digest

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_START, _END = "Search.setIndex(", ")"
_WORDS = ("terms", "titleterms")
_PERCENTILE = re.compile(r"(?<![\w.])(?:p(\d\d(?:\.\d{1,4})?)|(\d\d(?:\.\d{1,4})?)(?:\s?%|th))(?!\w)")  # the search page has the same pattern

# Of two parts only behind a name (ecal-5.12): other numbers with one dot are measurements.
_VERSION = re.compile(r"(?<![\w.])v?(\d{1,9}(?:\.\d{1,9}){2,3}|(?<=[A-Za-z]-)\d{1,9}\.\d{1,9})(?!\.?\w)")


_FILE = "stems.json"
_before: dict[str, str] = {}
_now: dict[str, str] = {}  # Sphinx makes the language itself, of its settings. As with a cache, what is in it is true, whoever asks.


class _Kept(msgspec.Struct):
    """Stems by word, and the digest of what found them."""

    made_by: str
    stems: dict[str, str]


class English(SearchEnglish):
    """English as Sphinx knows it; stems are remembered."""

    def stem(self, word: str) -> str:
        """Return the stem of a word."""
        known = _now.get(word)
        if known is None:
            known = _now[word] = _before.get(word) or super().stem(word)
        return known

    def split(self, input: str) -> list[str]:  # noqa: A002  # the name is Sphinx's
        """Return the words of a text, and those for the percentiles and versions in it."""
        percentiles = (f"p{(of_p or of_sign).replace('.', '')}" for of_p, of_sign in _PERCENTILE.findall(input))
        versions = (f"v{version.replace('.', '_')}" for version in _VERSION.findall(input))
        return [*super().split(input), *percentiles, *versions]


def setup(app: Sphinx) -> None:
    """Look at the index when it is written."""
    app.add_search_language(English)
    app.connect("builder-inited", _remember)
    app.connect("build-finished", _keep)
    app.connect("build-finished", _forget_words)


def _remember(app: Sphinx) -> None:
    global _before, _now
    folder = Path(app.doctreedir, FOLDER)
    kept = None if folder.is_symlink() else kept_value(folder / _FILE, _Kept)
    _before, _now = (kept.stems if kept and kept.made_by == _made_by(app) else {}), {}


def _keep(app: Sphinx, problem: Exception | None) -> None:
    """Keep the stems that this build asked for. Other words may stand on no page any more, and may be private."""
    folder = Path(app.doctreedir, FOLDER)
    if problem is None and folder.is_dir() and not folder.is_symlink():
        keep_value(folder / _FILE, _Kept(_made_by(app), _now))


def _made_by(app: Sphinx) -> str:
    return f"{packages_digest(app)} {version('snowballstemmer')}"


def _forget_words(app: Sphinx, problem: Exception | None) -> None:
    index = Path(app.outdir, getattr(app.builder, "searchindex_filename", None) or "searchindex.js")
    if problem is None and app.builder.format == "html" and index.is_file():
        text = index.read_text(encoding="utf-8")
        fresh = without_lost_words(text)
        if fresh != text:
            index.write_text(fresh, encoding="utf-8")


def without_lost_words(index: str) -> str:
    """Return a search index without the words that stand on no page; an index of another form as it is."""
    if not (index.startswith(_START) and index.endswith(_END)):
        return index
    content = json.loads(index[len(_START) : -len(_END)])
    for name in _WORDS:
        content[name] = {word: pages for word, pages in content.get(name, {}).items() if pages != []}
    return f"{_START}{json.dumps(content, separators=(',', ':'), sort_keys=True)}{_END}"
