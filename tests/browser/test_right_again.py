"""Readers see correct content: sorting and filters use all rows, and an address restores its page."""

from __future__ import annotations

import csv
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from playwright.sync_api import Page
from tests.test_csv_guard import FORMULAS

from tacholog.visible import no_formula

Opener = Callable[..., AbstractContextManager[Page]]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="session")
def many(opened: Opener) -> str:
    """The address of a comparison with so many series that the table shows only some of them."""
    with opened("compare.html?host=any") as page:
        page.locator(".tl-more-choices > summary").click()
        for choice in ("Versions: all", "Campaigns (time each, runs): all"):
            page.get_by_role("button", name=choice).click()
        assert page.locator(".tl-rest").count() == 1
        return f"compare.html?{page.url.partition('?')[2]}"


ROWS = ".tl-result tbody tr"


def names(page: Page) -> list[str]:
    return page.locator(f"{ROWS}:visible th").all_inner_texts()


def all_names(opened: Opener, address: str) -> list[str]:
    with opened(address) as page:
        page.locator(".tl-rest button").click()
        return names(page)


def test_sorting_uses_all_series_and_not_only_the_visible_series(opened: Opener, many: str) -> None:
    everything = all_names(opened, many)
    with opened(many) as page:
        first = len(names(page))
        page.locator(".tl-result thead th button").nth(2).click()
        numbers = page.locator(ROWS).evaluate_all("(rows) => rows.map((row) => row.cells[2].dataset.v).filter(Boolean).map(Number)")

        assert first < len(everything) == len(names(page))
        assert sorted(names(page)) == sorted(everything)
        assert numbers == sorted(numbers)
        assert page.locator(".tl-rest").count() == 0


def test_filter_finds_a_series_that_is_not_visible(opened: Opener, many: str) -> None:
    everything = all_names(opened, many)
    with opened(many) as page:
        hidden = next(name for name in reversed(everything) if name not in names(page))
        page.get_by_label("Filter").fill(hidden.split(":")[0])

        assert hidden in names(page)
        assert page.locator(".tl-result [role=status]").inner_text().endswith(f" of {len(everything)} rows")
        page.get_by_label("Filter").fill("")
        assert names(page) == everything


def test_copied_table_has_all_series(opened: Opener, many: str) -> None:
    everything = all_names(opened, many)
    with opened(many) as page:
        page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
        page.get_by_role("button", name="Copy as CSV").click()

        assert len(str(page.evaluate("window.copied")).splitlines()) == 1 + len(everything)


@pytest.mark.parametrize("act", ["sort", "filter"])
def test_address_of_a_comparison_restores_its_page(opened: Opener, act: str) -> None:
    with opened("compare.html") as page:
        if act == "sort":
            page.locator(".tl-result thead th button").nth(2).click()
        else:
            page.get_by_label("Filter").fill("shm")
        shown, address = names(page), page.url
        page.goto("about:blank")
        page.goto(address)

        assert f".{act}=" in address
        assert names(page) == shown
        assert page.locator(".tl-missing").all_inner_texts() == []


@pytest.mark.parametrize("sort", ["1.5", "99", "-", "x"])
def test_page_is_shown_although_the_address_has_an_invalid_sort_order(opened: Opener, sort: str) -> None:
    with opened(f"compare.html?compare.sort={sort}") as page:
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.reload()

        assert errors == []
        assert names(page)
        assert page.get_by_role("button", name="Copy as CSV").count() == 1


def test_message_names_an_unknown_choice_in_the_address(opened: Opener) -> None:
    with opened("compare.html?moon=full") as page:
        assert page.locator(".tl-missing").all_inner_texts() == ["There is no choice named \u201cmoon\u201d here."]


@pytest.mark.parametrize("text", FORMULAS)
def test_csv_from_a_page_and_csv_from_a_command_contain_no_formulas(opened: Opener, text: str) -> None:
    with opened("about.html") as page:
        assert page.evaluate("(text) => tachologCsv.field(text)", text) == FORMULAS[text]
    assert next(csv.reader([FORMULAS[text]])) == [no_formula(text)]


@pytest.mark.parametrize("width", [960, 1024, 1152, 1280, 1366])
def test_unfolded_menu_fits_the_window(opened: Opener, width: int) -> None:
    with opened("index.html") as page:
        page.set_viewport_size({"width": width, "height": 800})
        page.locator(".bd-header .navbar-header-items__center .dropdown-toggle").click()
        menu = page.locator(".bd-header .navbar-header-items__center .dropdown-menu")
        menu.wait_for()
        box = menu.bounding_box()

        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_long_words_in_a_script_do_not_hide_its_end(opened: Opener) -> None:
    """A script has thousands of spaces or a word of thousands of letters. The last word of the script must still be inside the box."""
    with opened("rti-connext-dds/shmem.html", "phone") as page:
        page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        scripts = page.locator("div.highlight pre")
        assert scripts.count() > 0
        for word in (" " * 5000, "x" * 5000):
            page.evaluate(
                "(word) => document.querySelectorAll('div.highlight pre').forEach((one) => { one.textContent = `perftest ${word}; end`; })", word
            )
            beyond = """(all) => all.filter((one) => {
                const range = document.createRange();
                range.setStart(one.firstChild, one.textContent.length - 3);
                range.setEnd(one.firstChild, one.textContent.length);
                return range.getBoundingClientRect().right > one.getBoundingClientRect().right + 1;
            }).length"""
            assert scripts.evaluate_all(beyond) == 0
