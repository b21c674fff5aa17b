"""Links to other sites: their addresses are hostile input, and only plain web addresses become links."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.errors import UnreadableInput
from tacholog.render.links import SourceDocument, is_web_address, out_link, sources_list
from tacholog.site.settings import read_settings

HOSTILE = (
    *(
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,<script>",
        "file:///etc/passwd",
        "ftp://example.org",
        "//example.org",
        "mailto:a@b.c",
    ),
    *(
        "https://",
        "https:///path",
        "https://example.org@evil.test/",
        "https://ex ample.org",
        'https://example.org/"onclick="x',
        "https://[::1",
        "",
        " ",
    ),
    *("https://example.org/\u202egpj.exe", "java\nscript:alert(1)", "https://example.org\\@evil.test"),
)


@pytest.mark.parametrize("address", HOSTILE)
def test_hostile_address_is_not_a_link_and_its_text_stays(address: str) -> None:
    assert not is_web_address(address)
    assert out_link(address, "The <document>") == "The &lt;document&gt;"


def test_link_to_a_web_address_sends_no_referrer() -> None:
    assert out_link("https://example.org/a?b=1&c=2", "Words") == (
        '<a href="https://example.org/a?b=1&amp;c=2" rel="noopener noreferrer" class="tl-out">Words</a>'
    )


def test_document_without_an_address_is_named_without_a_link() -> None:
    documents = [SourceDocument("RTI", "Results", "summary.md"), SourceDocument("eCAL", "More", "b.rst", "https://example.org/b")]
    found = sources_list(documents, "javascript:x")

    assert found == (
        '<ul class="simple stat-label"><li>RTI: <cite>Results</cite> (summary.md)</li>'
        '<li>eCAL: <a href="https://example.org/b" rel="noopener noreferrer" class="tl-out"><cite>More</cite></a> (b.rst)</li></ul>'
    )


@pytest.mark.parametrize(
    ("text", "key"), [('repository = "javascript:alert(1)"', "repository"), ('[vendors]\n"Some DDS" = "https://a@b"', "vendors.Some DDS")]
)
def test_setting_with_a_hostile_address_is_refused_and_named(tmp_path: Path, text: str, key: str) -> None:
    (tmp_path / "site.toml").write_text(text)

    with pytest.raises(UnreadableInput, match=f"{key}: .* is not the address of a page"):
        read_settings(tmp_path / "site.toml")
