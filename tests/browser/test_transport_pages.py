"""Pages of results: short on the screen and on paper, with few Tab stops; arrow keys move in tables and legends."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.patience import draw, patient

Opener = Callable[..., AbstractContextManager[Page]]
MOST_STOPS, MOST_PIXELS, MOST_SHEETS, MOST_ELEMENTS = 60, 6000, 6, 5000
SHM, ZEROMQ, RTI, HMBDC = (
    "tacholog-perftest/shm.html",
    "zeromq/zeromq-ipc.html",
    "rti-connext-dds/udpv4_wan.html",
    "hmbdc/inter-process-ipc-0b1c3b.html",
)
PAGES = (SHM, "tacholog-perftest/udp.html", "tacholog-perftest/tcp.html", ZEROMQ, RTI, "rti-connext-dds/shmem.html", HMBDC)
FOCUSED = """() => {
    const item = document.activeElement;
    return {text: item.textContent, cell: item.closest('td, th')?.cellIndex ?? null, row: item.closest('tr')?.rowIndex ?? null};
}"""

pytestmark = [
    pytest.mark.browser,
    # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture
def wide(site: Path, browser: Browser) -> Iterator[Callable[[str], Page]]:
    context = patient(browser, 1280, 800)
    page = context.new_page()

    def go(name: str) -> Page:
        page.goto((site / name).as_uri())
        return page

    yield go
    context.close()


def stops(page: Page) -> int:
    """Return how often a reader presses Tab to reach the end of the page."""
    for count in range(MOST_STOPS * 2):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            return count
    return MOST_STOPS * 2


@pytest.mark.parametrize("name", PAGES)
def test_page_of_results_is_short_on_screen_and_on_paper(wide: Callable[[str], Page], name: str) -> None:
    page = wide(name)

    assert page.evaluate("document.documentElement.scrollHeight") <= MOST_PIXELS
    assert page.evaluate("document.getElementsByTagName('*').length") <= MOST_ELEMENTS
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))) <= MOST_SHEETS


@pytest.mark.parametrize("name", PAGES)
def test_page_of_results_has_few_elements_that_the_tab_key_reaches(wide: Callable[[str], Page], name: str) -> None:
    page = wide(name)
    draw(page.locator(".tl-figure").first)

    assert stops(page) <= MOST_STOPS


def test_printed_page_shows_its_main_parts_and_states_where_the_folded_parts_are(wide: Callable[[str], Page]) -> None:
    page = wide(SHM)
    page.emulate_media(media="print")

    assert page.locator(".tl-evidence").first.is_visible()
    assert page.locator(".tl-svg").first.is_visible()
    assert page.locator("table.tl-beside").first.is_visible()
    assert page.locator(".tl-on-paper").inner_text().endswith(f"They are on the page {SHM}.")
    assert not page.locator(".tl-fold").first.is_visible()


def test_tab_key_leaves_a_table_and_arrow_keys_move_between_its_cells(wide: Callable[[str], Page]) -> None:
    page = wide(SHM)
    table = page.locator("table.tl-beside").first
    table.locator("thead button").first.focus()

    found = []
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "End", "Home", "Control+Home"):
        page.keyboard.press(key)
        found.append(page.evaluate(FOCUSED))

    assert [(place["row"], place["cell"]) for place in found] == [(1, 1), (1, 1), (2, 1), (2, 2), (2, 1), (0, 0)]
    assert table.locator("[tabindex='0']").count() == 1
    assert page.locator(".tl-keys").inner_text().startswith("Arrow keys: move in the table.")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('table') === null")
    assert not page.locator(".tl-keys").is_visible()


def test_shift_tab_returns_to_the_last_focused_link_in_a_table(wide: Callable[[str], Page]) -> None:
    page = wide(SHM)
    page.locator("table.tl-beside thead button").first.focus()
    page.keyboard.press("ArrowDown")
    before = page.evaluate("document.activeElement.href")

    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")

    assert page.evaluate("document.activeElement.href") == before


def test_tab_key_does_not_reach_a_row_that_a_filter_hides(opened: Opener) -> None:
    with opened("systems.html") as page:
        table = page.locator("table").first
        table.locator("tbody a").first.focus()
        page.get_by_label("Filter").first.fill("hmbdc")

        reached = table.locator("[tabindex='0']")

        assert reached.count() == 1
        assert reached.is_visible()


def test_tab_key_reaches_only_one_line_of_a_log_and_arrow_keys_move_between_lines(opened: Opener) -> None:
    with opened("logs/hmbdc/15-17-1/perf-sample.txt.html") as page:
        links = page.locator("ol.tl-log > li > a")
        links.first.focus()
        page.keyboard.press("ArrowDown")

        assert links.count() > 20
        assert page.locator("ol.tl-log [tabindex='0']").count() == 1
        assert page.evaluate("document.activeElement.getAttribute('href')") == "#L2"


def test_link_to_the_numbers_of_each_run_opens_the_folded_table_of_these_numbers(wide: Callable[[str], Page]) -> None:
    page = wide(SHM)

    page.locator("table.tl-beside a.tl-range").first.click()

    each = page.locator("details.tl-each[open]")
    each.locator("table").wait_for()
    assert page.locator("details.tl-fold[open]").count() == 1
