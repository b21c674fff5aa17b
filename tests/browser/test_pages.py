"""Every page in a real browser: nothing asked from elsewhere, nothing forbidden, nothing wider than the screen.

Screenshots go to build/screenshots.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Playwright, sync_playwright

from tacholog.report.build import build_site
from tacholog.report.markup import path_slug

ROOT = Path(__file__).resolve().parent.parent.parent
SCREENSHOTS = ROOT / "build" / "screenshots"
SCREENS = {"light": (1400, 900, "light"), "dark": (1400, 900, "dark"), "phone": (375, 800, "light")}
PLOT_PATIENCE_MS = 60_000

pytestmark = [
    pytest.mark.browser,
    # What MyST and the theme still use of Sphinx is their business.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the checkout's data."""
    folder = tmp_path_factory.mktemp("browser")
    return build_site([ROOT / "data"], folder / "site", folder).parent


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    executable = os.environ.get("TACHOLOG_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("no Chromium found (nox -s browser says how to install it)")
    with sync_playwright() as playwright:
        yield from _launched(playwright, executable)


def _launched(playwright: Playwright, executable: str) -> Iterator[Browser]:
    opened = playwright.chromium.launch(executable_path=executable)
    yield opened
    opened.close()


def pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def transport_page(site: Path) -> Path:
    return next(path for path in pages(site) if 'class="tl-figure"' in path.read_text())


def watch(page: Page, complaints: list[str]) -> None:
    """Collect what the console complains of (policy violations are there too) and what is asked from elsewhere."""
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
    page.on("request", lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else complaints.append(f"asked for {request.url}"))


def scroll_through(page: Page) -> None:
    """Bring every figure into view, and wait until all are drawn."""
    figures = page.locator(".tl-figure")
    for index in range(figures.count()):
        figures.nth(index).scroll_into_view_if_needed()
        figures.nth(index).locator(".tl-is-live").wait_for(timeout=PLOT_PATIENCE_MS)
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")


@pytest.mark.parametrize("screen", SCREENS)
def test_every_page_opens_without_complaint_and_fits_its_screen(site: Path, browser: Browser, screen: str) -> None:
    width, height, scheme = SCREENS[screen]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light")
    complaints: list[str] = []
    for path in pages(site):
        name = path.relative_to(site).as_posix()
        page = context.new_page()
        found: list[str] = []
        watch(page, found)
        page.goto(path.as_uri())
        scroll_through(page)
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            found.append("the page scrolls sideways")
        if not name.startswith("logs/"):
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=SCREENSHOTS / f"{path_slug(name.replace('/', '.'))}-{screen}.png", full_page=True)
        complaints += [f"{name}: {complaint}" for complaint in found]
        page.close()
    context.close()

    assert complaints == []


@pytest.mark.parametrize("screen", SCREENS)
def test_accessibility_rules_find_nothing(site: Path, browser: Browser, screen: str) -> None:
    width, height, scheme = SCREENS[screen]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light")
    found = []
    for path in (site / "index.html", transport_page(site), site / "hosts.html", site / "definitions.html", next((site / "logs").rglob("*.html"))):
        page = context.new_page()
        page.goto(path.as_uri())
        scroll_through(page)
        violations = Axe().run(page).response["violations"]
        found += [f"{path.name}: {rule['id']}: {rule['nodes'][0]['html'][:200]}" for rule in violations]
        page.close()
    context.close()

    assert found == []


def test_figures_and_tables_are_there_without_scripts(site: Path, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False, color_scheme="dark")
    page = context.new_page()
    page.goto(transport_page(site).as_uri())

    drawing = page.locator(".tl-svg").first

    assert drawing.is_visible()
    assert drawing.locator(".tl-line .tl-path").first.bounding_box()
    assert page.locator(".tl-table td").count() > 10
    context.close()


def test_a_live_figure_follows_the_theme_and_has_no_button_that_uploads(site: Path, browser: Browser) -> None:
    context = browser.new_context(color_scheme="light")
    page = context.new_page()
    page.goto(transport_page(site).as_uri())
    scroll_through(page)
    tick = page.locator(".tl-live .xtick text").first
    light = tick.evaluate("element => getComputedStyle(element).fill")

    titles = page.locator(".modebar-btn").evaluate_all("buttons => buttons.map(button => button.dataset.title || button.ariaLabel || '')")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_timeout(1500)

    assert titles
    assert not any(word in title.lower() for title in titles for word in ("cloud", "share", "edit"))
    assert page.locator(".tl-live .xtick text").first.evaluate("element => getComputedStyle(element).fill") != light
    context.close()


def test_the_legend_hides_a_series_by_keyboard(site: Path, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(transport_page(site).as_uri())
    scroll_through(page)
    figure = page.locator(".tl-figure").first
    before = figure.locator(".tl-live .trace").count()

    figure.locator(".tl-legend button").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_timeout(1000)

    assert figure.locator(".tl-live .trace").count() < before
    assert figure.locator(".tl-legend button").first.get_attribute("aria-pressed") == "false"
    context.close()


def test_a_number_leads_to_its_highlighted_line(site: Path, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(transport_page(site).as_uri())

    page.locator(".tl-table tbody td a[href*='#L']").first.click()
    page.wait_for_load_state()

    line = page.locator(".tl-log li:target")
    assert line.count() == 1
    assert line.evaluate("element => getComputedStyle(element).backgroundColor") != "rgba(0, 0, 0, 0)"
    context.close()
