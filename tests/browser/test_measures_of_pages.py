"""What a first visit loads, and how often one presses Tab, stay within limits. Heights limit nothing: build/measures-of-pages.md has them all."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.browser.measures import SCREEN, STOPS, Measures, measure, pages_of_kinds, table
from tests.browser.patience import patient
from tests.browser.test_pages import page_names

ROOT = Path(__file__).resolve().parent.parent.parent
# In bytes as they are sent: gzipped.
MOST_THEME = 130_000
MOST_OWN = {"home": 60_000}
MOST_STOPS = 60

pytestmark = [
    pytest.mark.browser,
    # What MyST and the theme still use of Sphinx is their business.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def measured(site: Path, browser: Browser) -> dict[str, Measures]:
    """The measures of a page of each kind, by its kind."""
    found = {kind: measure(site, browser, kind, name) for kind, name in pages_of_kinds(site)}
    kept = ROOT / "build" / "measures-of-pages.md"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(table(list(found.values())), encoding="utf-8")
    return found


def test_a_first_visit_loads_little_and_no_font(measured: dict[str, Measures]) -> None:
    assert {kind for kind, one in measured.items() if one.theme > MOST_THEME} == set()
    assert {kind for kind, one in measured.items() if one.fonts} == set()
    assert {kind: measured[kind].own for kind, most in MOST_OWN.items() if measured[kind].own > most} == {}


def test_the_library_of_figures_comes_after_the_first_paint_and_never_on_the_home_page(measured: dict[str, Measures]) -> None:
    assert measured["home"].plotly == 0
    assert {kind for kind, one in measured.items() if one.early} == set()
    assert any(one.plotly for one in measured.values())


def test_no_page_takes_long_to_get_through_with_the_tab_key(site: Path, browser: Browser) -> None:
    page = patient(browser.new_context(viewport=SCREEN)).new_page()
    stops = {}
    for name in page_names(site, "light"):
        page.goto((site / name).as_uri())
        stops[name] = page.evaluate(STOPS)

    assert {name: count for name, count in stops.items() if count > MOST_STOPS} == {}
    assert min(stops.values()) > 5
