"""Every page is valid HTML: by html5lib's parser, which reports each mistake that browsers repair in silence."""

from __future__ import annotations

from pathlib import Path

import html5lib
import pytest
from html5lib.constants import E as SENTENCES

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.render.diff.page import html
from tacholog.store.load import load

# What MyST and the theme still use of Sphinx is their business.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def mistakes(text: str) -> list[str]:
    """What the parser of HTML had to repair, each with its line."""
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    parser.parse(text)
    return [f"line {place[0]}: {SENTENCES[code] % data}" for place, code, data in parser.errors]


def test_a_mistake_is_found() -> None:
    assert mistakes("<!DOCTYPE html><p><div></div></p>") == ["line 1: Unexpected end tag (p). Ignored."]


def test_every_page_of_the_site_is_valid(site: Path) -> None:
    pages = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)

    assert len(pages) > 20
    assert [f"{path.relative_to(site)}: {mistake}" for path in pages for mistake in mistakes(path.read_text())] == []


def test_the_page_of_a_diff_is_valid(data: Path) -> None:
    everything = load([data])

    report = compare(everything, everything, Policy(), ("old", "<b>new"))

    assert mistakes(html(report)) == []
