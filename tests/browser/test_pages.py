"""Pages in a real browser: no external requests, no policy violations, no overflow of the screen, no layout shift.

See pages.py for the choice of the pages. If TACHOLOG_SCREENSHOTS names a folder, screenshots are stored there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize, expect
from tests.browser.conftest import SCREENS, TOO_WIDE, open_everything, open_folds
from tests.browser.measures import STOPS
from tests.browser.pages import pages_for
from tests.browser.patience import draw, draw_all, patient
from tests.browser.shifts import DRAWN, MOST_SHIFT, SHIFTS

from tacholog.slugs import path_slug

Opener = Callable[..., AbstractContextManager[Page]]
PARTS = 3  # The pages are divided into so many parts. The tests of the parts run in parallel.
MOST_STOPS = 60
# One page of each kind, for tests of a property that all pages of a kind share.
KINDS = (
    *("index.html", "systems.html", "compare.html", "hosts.html", "quality.html", "releases.html", "definitions.html", "methodology.html"),
    *("downloads.html", "about.html", "tacholog-perftest/udp.html", "logs/hmbdc/15-17-1/perf-sample.txt.html"),
    *("diffs/ecal-ecal-5.11-to-ecal-5.12.html", "history/latency-mean.html"),
)
PAPER: ViewportSize = {"width": 1032, "height": 703}  # A4 in landscape format, without its margins.
BEYOND_PAPER = """() => [...document.querySelectorAll('table')]
    .filter((table) => !table.closest('details:not([open])') && table.getBoundingClientRect().right > innerWidth)
    .map((table) => table.outerHTML.slice(0, 300))"""
HIDDEN = """(elements) => elements.filter((element) => {
    const box = element.getBoundingClientRect();
    return !element.checkVisibility({visibilityProperty: true}) || box.width * box.height === 0;
}).map((element) => element.outerHTML.slice(0, 300))"""
INK = "rgb(27, 39, 51)"
# Texts smaller than 12 pixels on the screen.
TOO_SMALL = """() => {
    const words = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT), found = [];
    while (words.nextNode()) {
        const element = words.currentNode.parentElement, drawing = element.closest('svg');
        if (!words.currentNode.data.trim() || element.closest('title, desc, script, style, option')) continue;
        if (!element.checkVisibility({visibilityProperty: true})) continue;
        const scale = drawing?.viewBox.baseVal?.width ? drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width : 1;
        if (parseFloat(getComputedStyle(element).fontSize) * scale < 11.9) found.push(element.outerHTML.slice(0, 100));
    }
    return found.slice(0, 5);
}"""
# Line labels that overlap the next plot of their panel.
BEYOND_PLOT = """() => [...document.querySelectorAll('.tl-panel svg')].flatMap((drawing) => {
    const ticks = [...drawing.querySelectorAll('.tl-tick')].map((tick) => tick.getBBox().x);
    return [...drawing.querySelectorAll('.tl-name')]
        .filter((name) => { const box = name.getBBox(); return ticks.some((x) => x > box.x && x < box.x + box.width); })
        .map((name) => name.textContent);
})"""

pytestmark = [
    pytest.mark.browser,
    # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def scroll_through(page: Page) -> None:
    draw_all(page)
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")


def watch(page: Page, complaints: list[str]) -> None:
    """Collect the errors on the console (also policy violations) and the external requests."""
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
    page.on("request", lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else complaints.append(f"asked for {request.url}"))
    page.add_init_script(SHIFTS)


def complaints_of(page: Page, screen: str) -> Iterator[str]:
    page.evaluate(DRAWN)
    page.evaluate("window.shifts = 0")  # The shifts during loading depend on the machine: see test_slow_arrival.py.
    if not 3 < page.evaluate(STOPS) <= MOST_STOPS:
        yield f"the Tab key stops {page.evaluate(STOPS)} times"
    scroll_through(page)
    page.evaluate(DRAWN)
    if (shift := page.evaluate("window.shifts")) > MOST_SHIFT:
        yield f"the layout shifts by {shift:.3f} when figures are drawn: {page.evaluate('window.moved')}"
    open_folds(page)
    scroll_through(page)
    if wide := page.evaluate(TOO_WIDE):
        yield f"the page is wider than its screen: {wide}"
    if small := page.evaluate(TOO_SMALL):
        yield f"text is too small to read: {small}"
    if screen != "phone":
        # In the dark theme, only colours differ.
        yield from violations(page, {"runOnly": ["color-contrast"]} if screen == "dark" else {})


def violations(page: Page, options: dict[str, object] | None = None) -> Iterator[str]:
    # "preload" is off: axe would request the style sheets again, and a page that is opened as a file cannot do this.
    # "resultTypes" limits the list to violations: a list of all elements without problems would take longer than the check.
    asked = {"preload": False, "resultTypes": ["violations"], **(options or {})}
    for rule in Axe().run(page, options=asked).response["violations"]:
        yield f"{rule['id']}: {rule['nodes'][0]['html'][:200]}"


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("screen", SCREENS)
def test_pages_open_without_problems_and_fit_their_screen(site: Path, browser: Browser, screenshots: Path | None, screen: str, part: int) -> None:
    width, height = SCREENS[screen]
    context = patient(browser, width, height, dark=screen == "dark")
    complaints: list[str] = []
    for name in pages_for(site, screen)[part::PARTS]:
        page = context.new_page()
        found: list[str] = []
        watch(page, found)
        page.goto((site / name).as_uri())
        found += complaints_of(page, screen)
        if screenshots and not name.startswith("logs/"):
            page.screenshot(path=screenshots / f"{path_slug(name.replace('/', '.'))}-{screen}.png", full_page=True)
        complaints += [f"{name}: {complaint}" for complaint in found]
        page.close()
    context.close()

    assert complaints == []


@pytest.mark.nightly
def test_accessibility_rules_report_nothing_on_a_phone(opened: Opener) -> None:
    found = []
    for name in KINDS:
        with opened(name, "phone") as page:
            open_folds(page)
            scroll_through(page)
            found += [f"{name}: {violation}" for violation in violations(page)]

    assert found == []


@pytest.mark.parametrize("screen", ["light", "phone"])
def test_line_labels_do_not_overlap_the_next_plot(opened: Opener, screen: str) -> None:
    with opened("index.html", screen) as page:
        open_everything(page)

        assert page.locator(".tl-panel .tl-name").count() > 10
        assert page.evaluate(BEYOND_PLOT) == []


@pytest.mark.parametrize(("name", "cells"), [("systems.html", ("system", "kind")), ("downloads.html", ("release",))])
def test_short_cells_of_a_long_table_share_a_line_on_a_phone(opened: Opener, name: str, cells: tuple[str, ...]) -> None:
    with opened(name, "phone") as page:
        row = page.locator("table.tl-words tbody tr").first
        first_line = "cell => { const line = cell.getClientRects()[0]; return line.y + line.height / 2; }"
        middles = [row.locator(place).evaluate(first_line) for place in ("th", *(f"td[data-head='{cell}']" for cell in cells))]

        assert max(middles) - min(middles) < 6


@pytest.mark.parametrize(("screen", "is_open"), [("light", True), ("phone", False)])
@pytest.mark.parametrize(("name", "count"), [("downloads.html", 1), ("definitions.html", 5)])
def test_long_tables_of_text_are_folded_only_on_a_phone(opened: Opener, name: str, count: int, screen: str, *, is_open: bool) -> None:
    with opened(name, screen) as page:
        folds = page.locator("details.tl-long").all()

        assert [fold.locator("table").is_visible() for fold in folds] == [is_open] * count
        assert [fold.locator("summary").is_visible() for fold in folds] == [not is_open] * count


@pytest.mark.parametrize("name", KINDS)
def test_page_has_all_content_without_scripts(opened: Opener, name: str) -> None:
    with opened(name, "phone", scripts=False) as page:
        assert page.locator("h1").first.is_visible()
        assert page.locator(":is(.tl-table, .tl-svg):not(details *)").evaluate_all(HIDDEN) == []
        assert page.locator(".tl-tools:visible").count() == 0


def test_comparison_page_has_tables_without_scripts(opened: Opener) -> None:
    with opened("compare.html", scripts=False) as page:
        assert page.locator(".tl-static .tl-table td").count() > 10


@pytest.mark.parametrize("name", ["index.html", "compare.html"])
def test_keyboard_reaches_each_element(opened: Opener, name: str) -> None:
    mark = """() => [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
        .filter((element) => element.checkVisibility({visibilityProperty: true}) && !element.closest('dialog, [hidden]') && element.tabIndex >= 0)
        .filter((element) => element.type !== 'radio')
        .map((element, index) => { element.dataset.wanted = index; return element.outerHTML.slice(0, 120); })"""
    with opened(name) as page:
        wanted = page.evaluate(mark)
        reached: set[str] = set()
        for _ in range(len(wanted) + 10):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement?.dataset.wanted ?? ''"))

        assert [element for index, element in enumerate(wanted) if str(index) not in reached] == []
        assert len(wanted) > 20


@pytest.mark.parametrize(("name", "links", "row"), [("index.html", ".tl-panels", ".tl-panel"), ("systems.html", ".tl-links", "li")])
def test_tab_key_leaves_a_group_of_links_and_arrow_keys_move_between_its_links(opened: Opener, name: str, links: str, row: str) -> None:
    place = f"() => [...document.querySelectorAll('{links} a')].indexOf(document.activeElement)"
    with opened(name) as page:
        count = page.locator(f"{links} >> nth=0 >> a").count()
        second = page.locator(f"{links} {row} >> nth=0 >> a").count()
        page.locator(f"{links} a").first.focus()
        found = []
        for key in ("ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "Control+End", "ArrowRight", "Control+Home"):
            page.keyboard.press(key)
            found.append(page.evaluate(place))
        page.keyboard.press("Tab")

        assert found == [1, 0, second, 0, count - 1, count - 1, 0]
        assert page.evaluate(f"document.querySelector('{links}').contains(document.activeElement)") is False


@pytest.mark.parametrize("screen", ["light", "dark"])
@pytest.mark.parametrize("name", ["index.html", "tacholog-perftest/udp.html", "compare.html", "rti-connext-dds/udpv4_wan.html", "quality.html"])
def test_page_can_be_printed(opened: Opener, tmp_path: Path, name: str, screen: str) -> None:
    with opened(name, screen) as page:
        scroll_through(page)
        page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
        page.emulate_media(media="print")
        page.set_viewport_size(PAPER)

        assert (tmp_path / "page.pdf").stat().st_size > 20_000
        assert not page.locator(".bd-header").is_visible()
        assert not any(tools.is_visible() for tools in page.locator(".tl-tools").all())
        drawings = page.locator(".tl-stage > .tl-svg").all()
        assert all(drawing.is_visible() or drawing.evaluate("drawing => drawing.closest('details:not([open])') !== null") for drawing in drawings)
        assert page.evaluate("[...document.querySelectorAll('.tl-scroll')].every((box) => getComputedStyle(box).overflowX === 'visible')")
        assert page.evaluate(BEYOND_PAPER) == []
        assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == INK


@pytest.mark.parametrize("screen", ["light", "dark"])
def test_badge_on_paper_is_dark_text_in_a_frame(opened: Opener, screen: str) -> None:
    style = "badge => { const style = getComputedStyle(badge); return [style.color, style.backgroundColor, style.borderColor, style.borderStyle]; }"
    with opened("systems.html", screen) as page:
        page.emulate_media(media="print")

        assert page.locator(".tl-own").first.evaluate(style) == [INK, "rgba(0, 0, 0, 0)", INK, "solid"]
        assert page.locator(".tl-published").first.evaluate(style) == [INK, "rgba(0, 0, 0, 0)", INK, "dashed"]


def test_interactive_plot_follows_the_theme_and_has_no_upload_button(opened: Opener) -> None:
    with opened("tacholog-perftest/udp.html") as page:
        scroll_through(page)
        tick = page.locator(".tl-live .xtick text").first
        light = tick.evaluate("element => getComputedStyle(element).fill")

        titles = page.locator(".modebar-btn").evaluate_all("buttons => buttons.map(button => button.dataset.title || button.ariaLabel || '')")
        page.evaluate("document.documentElement.dataset.theme = 'dark'")

        assert titles
        assert not any(word in title.lower() for title in titles for word in ("cloud", "share", "edit"))
        expect(tick).not_to_have_css("fill", light)


def test_row_name_in_a_history_stays_visible_while_its_values_scroll(opened: Opener) -> None:
    with opened("history/latency-p50.html", "phone") as page:
        box = page.locator(".tl-diff .scroll").first
        name = box.locator("th[scope=row]").first
        before = name.bounding_box()
        box.evaluate("box => { box.scrollLeft = 200; }")

        assert box.evaluate("box => box.scrollLeft") == 200
        assert name.bounding_box() == before


def test_reasons_of_a_comparison_fit_a_phone(opened: Opener) -> None:
    heights = "[...document.querySelectorAll('.tl-diff td.r:not(:empty)')].map((cell) => [cell.clientHeight, cell.clientWidth])"
    with opened("diffs/ecal-ecal-5.5.0-to-ecal-5.12.html", "phone") as page:
        page.locator(".tl-diff section[id$=apart] summary").click()
        found = page.evaluate(heights)

        assert len(found) == 15
        assert all(height < 200 and width > 300 for height, width in found)
        first = page.locator(".tl-diff tbody tr", has=page.locator("td.r")).first
        assert first.inner_text().startswith("latency mean, Ubuntu16 AMD64, 1\u00a0KiB\n")
        assert page.locator(".tl-diff td.r:not(:empty)").first.inner_text().startswith("operating system: ")
        assert page.locator(".tl-diff .shared").first.inner_text().startswith("In all of these rows: tool: ecal_sample_latency_rec_cb -> ")


def test_series_can_be_hidden_in_the_legend_by_keyboard(opened: Opener) -> None:
    with opened("tacholog-perftest/udp.html") as page:
        scroll_through(page)
        figure = page.locator(".tl-figure").first
        before = figure.locator(".tl-live .trace").count()

        figure.locator(".tl-legend button").first.focus()
        page.keyboard.press("Enter")

        expect(figure.locator(".tl-live .trace")).not_to_have_count(before)
        expect(figure.locator(".tl-legend button").first).to_have_attribute("aria-pressed", "false")


def test_tooltip_of_a_point_shows_all_its_conditions(opened: Opener) -> None:
    with opened("rti-connext-dds/udpv4_wan.html") as page:
        figure = page.locator(".tl-figure").first
        draw(figure)
        point = figure.locator(".tl-live path.point").last
        point.scroll_into_view_if_needed()
        box = point.bounding_box()
        assert box
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.locator(".hovertext").first.wait_for()

        words = page.locator(".hovertext").first.text_content() or ""
        assert "10\u00a0MiB: 11.6\u00a0ms" in words
        assert "1 run, samples not stated" in words
        assert "rti/udpv4-wan/unkeyed-reliable/latency-pub.txt, line 377" in words
        assert "RTI Connext DDS (version not stated)" in words
        assert "machine: rti-benchmark-lab" in words
        assert "published by the vendor" in words


def test_a_plot_keeps_its_button_while_the_mouse_is_over_the_button(opened: Opener) -> None:
    with opened("rti-connext-dds/udpv4_wan.html") as page:
        figure = page.locator(".tl-figure").first
        button = figure.get_by_role("button", name="Show exact values")

        button.hover()
        assert figure.locator(".tl-live").count() == 0

        button.click()
        figure.locator(".tl-is-live").wait_for()


def test_plot_shades_the_range_between_percentiles_if_only_two_series_are_shown(opened: Opener) -> None:
    with opened("rti-connext-dds/udpv4_wan.html") as page:
        figure = page.locator(".tl-figure").first
        draw(figure)
        assert figure.locator(".tl-legend button").count() == 4
        shaded = figure.locator(".tl-live .js-fill")
        assert shaded.count() == 0

        for index in (0, 1):
            figure.locator(".tl-legend button").nth(index).click()

        shaded.nth(1).wait_for(state="attached")
        assert shaded.count() == 2


@pytest.mark.parametrize(
    ("name", "words", "excerpt"),
    [
        ("iceoryx/iceoryx.html", ["iceoryx", "latenc"], "block. Median round trip is 48.8\u00a0µs at 64\u00a0B and "),
        ("methodology.html", ["divid", "tools"], "A round trip divided by two. Many tools print it as latency."),
        ("quality.html", ["reference", "latency"], "The latency of a reference, 36, Zero copy hands over a reference."),
    ],
    ids=["results", "words", "quality"],
)
def test_search_shows_whole_sentences_of_a_page_and_no_text_of_its_plots(
    opened: Opener, site: Path, name: str, words: list[str], excerpt: str
) -> None:
    with opened("search.html") as page:
        made = "([html, words]) => Search.makeSearchSummary(html, new Set(words), '').textContent"
        found = page.evaluate(made, [(site / name).read_text(encoding="utf-8"), words])

        assert found.replace(" ", "\u00a0").startswith(excerpt.replace(" ", "\u00a0"))


def test_number_links_to_its_highlighted_line(opened: Opener) -> None:
    with opened("rti-connext-dds/shmem.html") as page:
        open_folds(page)
        page.locator("#tl-throughput-rti-connext-dds-shmem-0 tbody td a[href*='#L']").first.click()
        page.wait_for_load_state()

        line, number = page.locator(".tl-log li:has(:target)"), page.locator(".tl-log code :target")
        assert (line.count(), number.count()) == (1, 1)
        grounds = [one.evaluate("element => getComputedStyle(element).backgroundColor") for one in (line, number)]
        assert len({*grounds, "rgba(0, 0, 0, 0)"}) == 3
        assert number.inner_text() in ("3558453", "118614", "30.4")
