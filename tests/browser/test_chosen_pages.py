"""The browser tests open only some pages of a site. Each CSS class of the site is on one of these pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.pages import largest_of_folders, showing_all_classes

pytestmark = pytest.mark.browser


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """Five pages; two of them have the same classes."""
    pages = {
        "index.html": '<p class="words">home</p>',
        "logs/long.html": f'<p class="words line">{"long " * 20}</p>',
        "logs/short.html": '<p class="words line">short</p>',
        "logs/odd.html": '<p class="line odd">odd</p>',
        "_static/theme.html": '<p class="theme">no page</p>',
    }
    for name, text in pages.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_each_class_of_element_is_on_a_chosen_page(few: Path) -> None:
    assert showing_all_classes(few, ()) == ["index.html", "logs/odd.html"]
    assert showing_all_classes(few, ["index.html", "logs/long.html"]) == ["index.html", "logs/long.html", "logs/odd.html"]


def test_largest_page_of_each_folder_is_chosen(few: Path) -> None:
    assert largest_of_folders(few) == ["logs/long.html"]
