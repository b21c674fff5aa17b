"""Each page is valid HTML for the parser of html5lib, which reports each mistake that browsers repair silently."""

from __future__ import annotations

from pathlib import Path

import html5lib
import pytest
from html5lib.constants import E as SENTENCES

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.render.diff.page import html
from tacholog.store.load import load

# Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def mistakes(text: str) -> list[str]:
    """Return the mistakes that the HTML parser had to repair, each with its line."""
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    parser.parse(text)
    return [f"line {place[0]}: {SENTENCES[code] % data}" for place, code, data in parser.errors]


def test_mistake_in_html_is_reported() -> None:
    assert mistakes("<!DOCTYPE html><p><div></div></p>") == ["line 1: Unexpected end tag (p). Ignored."]


def test_each_page_of_the_site_is_valid(site: Path) -> None:
    pages = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)

    assert len(pages) > 20
    assert [f"{path.relative_to(site)}: {mistake}" for path in pages for mistake in mistakes(path.read_text())] == []


def test_page_of_a_diff_is_valid(data: Path) -> None:
    everything = load([data])

    report = compare(everything, everything, Policy(), ("old", "<b>new"))

    assert mistakes(html(report)) == []
