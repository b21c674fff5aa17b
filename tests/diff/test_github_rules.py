"""In a comment on GitHub, text of strangers becomes no link, no mention and no picture. The tests use GitHub's own renderer."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.left_out import leave_out

from tacholog.commands.diff import rendered
from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.render.markdown import escape
from tacholog.store.frames import Dataset

Side = Callable[..., Dataset]
# Text that GitHub turns into links, mentions or emoji. GitHub does this after it has made HTML from Markdown, and not inside of code. Sources:
# https://github.com/gjtorikian/html-pipeline, and "Autolinked references" in the docs of GitHub.
ACTIVE = re.compile(
    r"(?:^|\W)@[a-z0-9]|(?:^|[^\w&])#\d|[\w-]/[\w.-]+[#@]\w|(?:^|\W)gh-\d|[a-z][a-z0-9+.-]*://|www\.|[\w.+-]+@[\w-]|:(?!\d\d:)[\w+-]+:", re.IGNORECASE
)
HOSTILE = (
    *("@octocat", "see (@octocat)", "me@evil.test", "mailto:me@evil.test", "a/b@d1af673c"),
    *("#1", "fixes #1", "a/b#2", "GH-3", "gh-3"),
    *("https://evil.test/x", "HTTPS://evil.test", "ftp://evil.test", "www.evil.test", "WWW.evil.test", "_www.evil.test", "(https://evil.test)"),
    *(
        "[x](https://evil.test)",
        "![x](https://evil.test/x.png)",
        "<https://evil.test>",
        "<a href='https://evil.test'>x</a>",
        "[x]: https://evil.test",
    ),
    *("&#64;octocat", "&commat;octocat", "@\u2060@octocat", "\\@octocat", "`@octocat", "``` @octocat", "|@octocat|"),
    *(":tada:", "a:tada:b", "$@octocat$", "~~@octocat~~", "**@octocat**", "<img src=x>", "<!-- @octocat", "</details> @octocat"),
)


class Text(HTMLParser):
    """Collects the elements of a page, and the text that is not in a code element."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.text: list[str] = []
        self._code = 0

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        self.elements.add(tag)
        self._code += tag in ("code", "pre")

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in ("code", "pre")

    def handle_data(self, data: str) -> None:
        if not self._code:
            self.text.append(data)


def shown(markdown: str) -> Text:
    """Return the page that GitHub's renderer makes of a Markdown text.

    GitHub adds links and mentions to the text of the page in a later step. Therefore this page does not contain them yet.
    """
    try:
        cmark = importlib.import_module("cmarkgfm.cmark")
    except ImportError:
        leave_out("cmarkgfm, GitHub's renderer of Markdown, is not installed")
    extensions = ["table", "autolink", "tagfilter", "strikethrough", "tasklist"]
    page = Text()
    page.feed(cmark.markdown_to_html_with_extensions(markdown, cmark.Options.CMARK_OPT_UNSAFE, extensions))
    page.close()
    return page


def active(page: Text) -> Iterator[str]:
    yield from page.elements & {"a", "img", "script"}
    yield from (found[0] for text in page.text for found in ACTIVE.finditer(text))


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "around", ["{}", "| a |\n|---|\n| {} |", "- {}", "> **Note** {}", "### {} → 1", "<details><summary>{}</summary>\n\nx\n</details>"]
)
def test_escaped_text_never_becomes_a_link_or_a_mention(text: str, around: str) -> None:
    assert list(active(shown(around.format(escape(text))))) == []


@pytest.mark.parametrize("text", ["@octocat", "fixes #1", "https://evil.test/x", "www.evil.test", "me@evil.test"])
def test_text_without_escaping_becomes_a_link_or_a_mention(text: str) -> None:
    assert list(active(shown(text))) != []


@given(st.lists(st.sampled_from([*HOSTILE, "www", ".", ":", "//", "@", "#", "1", "a", "_", "\\", " ", "&", ";"]), max_size=8).map("".join))
def test_escaped_text_in_a_table_never_becomes_a_link_or_a_mention(text: str) -> None:
    assert list(active(shown(f"| a |\n|---|\n| {escape(text)} |"))) == []


@pytest.mark.parametrize("text", ["shm-zero-copy", "1.2", "payload 64 KiB", "a_b*c", "x < y & z", "100 %", "C:/x", "12:30:00"])
def test_escaped_text_is_shown_unchanged(text: str) -> None:
    assert "".join(shown(escape(text)).text).strip() == text


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("output", ["comment", "markdown", "github"])
def test_name_of_a_run_never_becomes_a_link_or_a_mention(name: str, output: str, side: Side) -> None:
    values = np.array([[4100.0, 4300.0, 4200.0, 4600.0, 4000.0, 4400.0]])
    stated = {"transport": name, "participant": name, "type": name, "tool_version": name}
    old = side(values, [0, 3, 4, 7, 8, 11], system=name, release=name, **stated)
    new = side(values * 2, [1, 2, 5, 6, 9, 10], system=name, release=f"{name} 2", system_version=name, **stated)

    text = rendered(output, compare(old, new, Policy(), (name, f"{name} 2")))

    assert list(active(shown(text))) == []
