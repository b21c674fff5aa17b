"""How words are found: the stem of a word is looked for once, and what has a dot in it is one word where people search for it as one.

A percentile is one word, however it is written: `p999` is found by p99.9, 99.9 %, 99.9th and 99.9. So is the version of a release: `v0_4_0` is
found by 0.4.0, v0.4.0 and 0.4. Sphinx itself splits words at the dot, and leaves out numbers.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from sphinx.search.en import SearchEnglish

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_PERCENTILE = re.compile(r"(?<![\w.])(?:p(\d\d(?:\.\d{1,4})?)|(\d\d(?:\.\d{1,4})?)(?:\s?%|th))(?!\w)")  # the search page has the same pattern

# Of two parts only behind a name (ecal-5.12): other numbers with one dot are measurements.
_VERSION = re.compile(r"(?<![\w.])v?(\d{1,9}(?:\.\d{1,9}){2,3}|(?<=[A-Za-z]-)\d{1,9}\.\d{1,9})(?!\.?\w)")


class English(SearchEnglish):
    """English as Sphinx splits it. Stems are cached, because pages share most of their words."""

    @lru_cache(maxsize=1 << 16)  # noqa: B019 - there is one for each build
    def stem(self, word: str) -> str:
        """Return the stem of a word."""
        return super().stem(word)

    def split(self, input: str) -> list[str]:  # noqa: A002  # the name is Sphinx's
        """Return the words of a text, and those for the percentiles and versions in it."""
        percentiles = (f"p{(of_p or of_sign).replace('.', '')}" for of_p, of_sign in _PERCENTILE.findall(input))
        versions = (f"v{version.replace('.', '_')}" for version in _VERSION.findall(input))
        return [*super().split(input), *percentiles, *versions]


def setup(app: Sphinx) -> None:
    """Register the language."""
    app.add_search_language(English)
