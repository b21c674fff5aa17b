"""Limits for the bytes of a first visit. ``python tests/browser/measures.py SITE`` prints all measures, also those without a limit."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route
from tests.browser.measures import KINDS, SCREEN, Weights, pages_of_kinds, weigh
from tests.browser.patience import patient
from tests.depth import tries

# The most bytes that a page may load: from the theme's files, and from the site's own files. The bytes are counted after compression by gzip.
MOST_THEME = 130_000
MOST_OWN = {"home": 70_000}
# A promise that is resolved when a part of the page is painted.
PAINTED = """() => new Promise((painted) => {
    new PerformanceObserver(painted).observe({type: 'paint', buffered: true});
}).then(() => true)"""

pytestmark = [
    pytest.mark.browser,
    # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def weights(site: Path, browser: Browser) -> dict[str, Weights]:
    kinds = tries(gate=("home", "compare", "transport (shm)", "log"), nightly=tuple(KINDS))
    return {kind: weigh(site, browser, name) for kind, name in pages_of_kinds(site) if kind in kinds}


def test_first_visit_loads_few_bytes_and_no_font(weights: dict[str, Weights]) -> None:
    assert {kind for kind, one in weights.items() if one.theme > MOST_THEME} == set()
    assert {kind for kind, one in weights.items() if one.fonts} == set()
    assert {kind: weights[kind].own for kind, most in MOST_OWN.items() if weights[kind].own > most} == {}


def test_plot_library_is_loaded_by_pages_with_interactive_plots_but_not_by_the_home_page(weights: dict[str, Weights]) -> None:
    loading = {kind for kind, one in weights.items() if one.plotly}

    assert "transport (shm)" in loading
    assert not loading & {"home", "systems", "quality", "log"}


@pytest.mark.parametrize("name", ["tacholog-perftest/udp.html", "rti-connext-dds/shmem.html"])
def test_plot_library_is_loaded_only_when_somebody_points_at_a_plot(site: Path, browser: Browser, name: str) -> None:
    context = patient(browser, *SCREEN)
    page = context.new_page()
    held: list[Route] = []
    page.route("**/plotly.min.js*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright cannot hold a method of a list

    figure = page.locator(".tl-figure").first
    page.goto((site / name).as_uri())
    figure.scroll_into_view_if_needed()
    page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
    assert held == []
    with page.expect_request("**/plotly.min.js*"):
        figure.locator(".tl-stage").hover()

    assert page.evaluate(PAINTED)
    assert figure.locator(".tl-svg").is_visible()
    assert not page.locator(".tl-is-live").count()
    for route in held:
        route.continue_()
    figure.locator(".tl-is-live").wait_for()
    context.close()
