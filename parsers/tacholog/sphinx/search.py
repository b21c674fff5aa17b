"""Split text into the words that the search of a site finds.

A percentile is one word, however it is written: p99.9, 99.9 %, 99.9th and 99.9 all find `p999`. The version of a release is one word too: 0.4.0,
v0.4.0 and 0.4 find `v0_4_0`. Sphinx itself splits words at the dot, and omits numbers. The stem of each word is computed only once.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from sphinx.search.en import SearchEnglish

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_PERCENTILE = re.compile(r"(?<![\w.])(?:p(\d\d(?:\.\d{1,4})?)|(\d\d(?:\.\d{1,4})?)(?:\s?%|th))(?!\w)")  # the search page has the same pattern

# A version of two parts is recognised only after a name (ecal-5.12), because other numbers with one dot are measured values.
_VERSION = re.compile(r"(?<![\w.])v?(\d{1,9}(?:\.\d{1,9}){2,3}|(?<=[A-Za-z]-)\d{1,9}\.\d{1,9})(?!\.?\w)")


class English(SearchEnglish):
    """The language English for the search of Sphinx. Stems are cached, because pages share most of their words."""

    @lru_cache(maxsize=1 << 16)  # noqa: B019 - there is one for each build
    def stem(self, word: str) -> str:
        """Return the stem of a word."""
        return super().stem(word)

    def split(self, input: str) -> list[str]:  # noqa: A002  # the name is Sphinx's
        """Return the words of a text, and additional words for the percentiles and versions in it."""
        percentiles = (f"p{(of_p or of_sign).replace('.', '')}" for of_p, of_sign in _PERCENTILE.findall(input))
        versions = (f"v{version.replace('.', '_')}" for version in _VERSION.findall(input))
        return [*super().split(input), *percentiles, *versions]


def setup(app: Sphinx) -> None:
    """Register the language."""
    app.add_search_language(English)
