"""Each choice of a reader has an effect, or a message states why it has none.

The choices are on the comparison page, on the page of search results, and at the points of plots.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote_plus, urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page
from tests.browser.conftest import unfold
from tests.browser.patience import draw, patient

Opener = Callable[..., AbstractContextManager[Page]]

pytestmark = [
    pytest.mark.browser,
    # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
OWN = "compare.html?host=host-087119&metric=latency.p50%40rtt"


def missing(page: Page) -> str:
    return " ".join(page.locator(".tl-missing").all_inner_texts())


def test_comparison_page_initially_has_the_best_series_as_its_baseline(opened: Opener) -> None:
    with opened(OWN) as page:
        ratios = [text.rstrip("\u00d7") for text in page.locator(".tl-result tbody td:nth-child(2)").all_inner_texts()]

    assert ratios[0] == "baseline"
    assert len(ratios) > 3
    assert all(float(ratio) >= 1 for ratio in ratios[1:])


def test_machine_that_is_shown_first_has_enough_runs_for_a_verdict(opened: Opener) -> None:
    with opened("compare.html") as page:
        assert page.locator("#tl-host").input_value() == "host-a2b38a"
        assert {*page.locator(".tl-result td .tl-runs").all_inner_texts()} == {"6\u00a0runs"}
        # These series measure round trips without load: variants in data/middleware and data/brokers, and transports of release 0.4.0.
        assert "42 of 57 series" in page.locator(".tl-rest").inner_text()
        assert not any("host-a2b38a" in name for name in names(page))  # The heading names the machine.


def test_choice_of_versions_and_transports_does_not_change_the_baseline(opened: Opener) -> None:
    with opened(OWN) as page:
        before = page.locator("tr.tl-base th").inner_text()
        unfold(page)
        page.get_by_label("0.1.0", exact=True).check()
        page.get_by_label("tcp", exact=True).uncheck()

        assert page.locator("tr.tl-base th").inner_text() == before
        assert parse_qs(urlsplit(page.url).query)["base"]
        assert missing(page) == ""


def test_message_names_the_new_baseline_if_the_old_baseline_is_unticked(opened: Opener) -> None:
    with opened(OWN) as page:
        name = page.locator("#tl-base option:checked").inner_text()
        unfold(page)
        page.get_by_label(name.split(", ")[1].split(":")[0], exact=True).uncheck()

        assert f"{name} is not among what is chosen: the baseline is " in missing(page)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("base=abc", "There is no baseline \u201cabc\u201d here: the baseline is Tacholog perftest, "),
        ("base=abc&transport=moon", "There is no transport \u201cmoon\u201d here."),
        ("metric=speed", "There is no metric \u201cspeed\u201d here: Latency, median, round trip is shown."),
        ("host=moon", "There is no machine with this metric, \u201cmoon\u201d here: "),
        ("version=9", "There is no version \u201c9\u201d here."),
        ("size=7", "There is no size of \u201c7 B\u201d here."),
        ("wrong=1", "There is no choice named \u201cwrong\u201d here."),
    ],
    ids=["base", "base-and-transport", "metric", "host", "version", "size", "name"],
)
def test_message_names_each_invalid_choice_in_the_address_of_the_comparison_page(opened: Opener, asked: str, said: str) -> None:
    with opened(f"compare.html?{asked}") as page:
        assert said in missing(page)


def names(page: Page) -> list[str]:
    return page.locator(".tl-result tbody th").all_inner_texts()


@pytest.mark.parametrize(
    ("shown", "meant"),
    [("version=5.12", "version=ecal-5.12"), ("size=64KiB", "size=65536"), ("transport=shm%7Ctcp", "transport=shm%7CSHM%7Ctcp%7CTCP")],
)
def test_choices_shown_on_the_page_are_accepted_in_an_address(opened: Opener, shown: str, meant: str) -> None:
    with opened(f"compare.html?host=any&metric=latency.mean&{shown}") as page:
        assert names(page)
        assert missing(page) == ""
        understood = parse_qs(urlsplit(page.url).query)[shown.partition("=")[0]]

    assert {*understood[0].split("|")} == {*meant.split("=")[1].split("%7C")}


def test_table_is_unchanged_after_a_version_was_ticked_and_unticked(opened: Opener) -> None:
    with opened(OWN) as page:
        before = page.locator(".tl-result tbody").inner_text()
        unfold(page)
        page.get_by_label("0.1.0", exact=True).check()
        assert len(names(page)) == 12
        page.get_by_label("0.1.0", exact=True).uncheck()

        assert page.locator(".tl-result tbody").inner_text() == before
        assert len(names(page)) == 6


def test_ratios_are_coloured_only_if_there_are_enough_runs_for_a_verdict(opened: Opener) -> None:
    tinted = ".tl-ratio.tl-better, .tl-ratio.tl-worse"
    with opened(OWN) as page:
        assert page.locator(tinted).count() == 0  # Only two runs per side: too few for a verdict.
        assert page.locator(".tl-result td .tl-runs").first.inner_text() == "2\u00a0runs"
        page.get_by_role("button", name="Show it").click()

        assert len(names(page)) == 4
        assert {*page.locator(".tl-result td .tl-runs").all_inner_texts()} == {"12\u00a0runs"}
        assert page.locator(tinted).count() > 0


def with_base(page: Page, transport: str) -> str:
    value = page.locator("#tl-base option", has_text=f", {transport}:").first.get_attribute("value") or ""
    page.locator("#tl-base").select_option(value)
    return value


def test_baseline_that_was_unticked_is_removed_from_the_address(opened: Opener) -> None:
    with opened(f"{OWN}&transport=shm%7Cuds%7Ctcp") as page:
        base = with_base(page, "shm")
        assert parse_qs(urlsplit(page.url).query)["base"] == [base]
        unfold(page)
        page.get_by_label("shm", exact=True).uncheck()

        assert parse_qs(urlsplit(page.url).query)["base"] != [base]
        assert "is not among what is chosen" in missing(page)


def test_series_has_no_ratio_if_it_is_republished_or_has_another_operating_system(opened: Opener) -> None:
    with opened("compare.html?host=ecal-hp-zbook-15-g5&metric=latency.mean&version=5.11%7C5.12") as page:
        rows = {text.splitlines()[0]: text for text in page.locator(".tl-result tbody tr").all_inner_texts()}
        base = page.locator("tr.tl-base th").inner_text()
        reasons = page.locator(".tl-why").all_inner_texts()

    def reason(text: str) -> str:
        return reasons[int(re.findall(r"no ratio \((\d+)\)", text)[0]) - 1]

    assert "Win10" in base
    assert all("operating system: Win10 AMD64 -> Ubuntu22 AMD64" in reason(text) for name, text in rows.items() if "Ubuntu22" in name)
    (again,) = (reason(text) for name, text in rows.items() if "copy, version 5.11, Win10" in name and "zero" not in name)
    assert "the same measurement, published again (see copy, version 5.12, Win10 AMD64)" in again


def test_mean_ratio_excludes_sizes_with_too_few_samples_and_is_missing_without_any_size(opened: Opener) -> None:
    with opened("compare.html?host=host-087119&metric=latency.p99.99%40rtt") as page:
        with_base(page, "shm")
        rows = {text.split(",")[1].partition(":")[0].strip(): text for text in page.locator(".tl-result tbody tr").all_inner_texts()}
        reasons = page.locator(".tl-why").all_inner_texts()

    assert "4 of 6 sizes" in rows["uds"]
    assert "3 of 6 sizes" in rows["udp"]
    assert "no ratio (1)" in rows["tcp"]
    assert reasons == ["1 series: there is no chosen size at which both sides have enough samples and little loss"]


def test_each_series_without_a_ratio_refers_to_a_numbered_reason_below_the_table(opened: Opener) -> None:
    for asked in ("metric=loss.total", "metric=goodput.mean&host=any", "metric=latency.mean&host=any"):
        with opened(f"compare.html?{asked}") as page:
            if page.locator(".tl-rest button").count():
                page.locator(".tl-rest button").click()
            rows = page.locator(".tl-result tbody tr", has_text="no ratio").all_inner_texts()
            reasons = page.locator(".tl-why").all_inner_texts()

        numbers = [int(re.findall(r"no ratio \((\d+)\)", text)[0]) for text in rows]
        assert numbers
        assert {number: numbers.count(number) for number in sorted({*numbers})} == {
            place: int(reason.split(" series: ")[0]) for place, reason in enumerate(reasons, 1)
        }
        assert len({reason.partition(": ")[2] for reason in reasons}) == len(reasons)


def test_table_is_on_the_first_screen_and_the_choices_are_folded(opened: Opener) -> None:
    with opened("compare.html") as page:
        page.set_viewport_size({"width": 1280, "height": 800})
        row = page.locator("tr.tl-base").bounding_box()
        folded = page.locator(".tl-more-choices").first

        assert row
        assert row["y"] + row["height"] < 800
        assert folded.get_attribute("open") is None
        assert "13 systems" in folded.inner_text()
        unfold(page)
        page.get_by_label("Aeron", exact=True).uncheck()
        assert folded.get_attribute("open") is not None  # Parts that a reader opened stay open.
        assert "12 systems" in folded.inner_text()


# Content of cells that extends beyond the cell.
OVER_THE_EDGE = """() => [...document.querySelectorAll('.tl-result tbody td')].filter((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    const edge = cell.getBoundingClientRect();
    return [...range.getClientRects()].some((box) => box.width && (box.left < edge.left - 1 || box.right > edge.right + 1));
}).map((cell) => cell.innerText)"""


@pytest.mark.parametrize("metric", ["latency.p50", "goodput.mean"])
def test_numbers_and_marks_stay_inside_their_cells_on_a_phone(opened: Opener, metric: str) -> None:
    with opened(f"compare.html?metric={metric}&host=any", "phone") as page:
        assert page.locator(".tl-result td sup .tl-mark").count() > 10
        assert page.evaluate(OVER_THE_EDGE) == []


def test_comparison_of_two_operating_systems_does_not_state_that_participants_differ(opened: Opener) -> None:
    with opened("compare.html?host=any&metric=latency.mean&system=eCAL&transport=SHM") as page:
        differences = " ".join(page.locator(".tl-differs, .tl-why").all_inner_texts())

    assert "operating system: " in differences
    assert "participant" not in differences


def results(page: Page) -> list[str]:
    page.locator("#search-results", has_text=re.compile("Search finished|did not match")).wait_for()
    return page.locator("#search-results ul.search > li > a").all_inner_texts()


def errors_of(page: Page) -> list[str]:
    """Return a list to which all later errors in a page are added."""
    said: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            said.append(message.text)

    page.on("console", on_console)
    page.on("pageerror", lambda error: said.append(str(error)))
    return said


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("query", ["64 KiB", "64KB", "65536"])
def test_search_finds_a_message_size_in_any_spelling_with_and_without_a_web_server(site: Path, browser: Browser, served: str, query: str) -> None:
    for root in (site.as_uri(), served):
        context = patient(browser)
        page = context.new_page()
        said = errors_of(page)
        page.goto(f"{root}/search.html?q={quote_plus(query)}")
        found = results(page)
        context.close()

        assert "Compare" in found
        assert "Tacholog perftest over shm" in found
        assert "RTI Connext DDS over UDPv4_WAN" not in found  # This page has no results for 64 KiB.
        assert said == []


@pytest.mark.parametrize("query", ["99.9999", "99.9999 %", "p99.9999", "99.9999th percentile", "p99 64 KiB", "99 % 64KB"])
def test_search_finds_a_percentile_in_any_spelling(opened: Opener, query: str) -> None:
    with opened(f"search.html?q={quote_plus(query)}") as page:
        found = results(page)

    assert "Tacholog perftest over shm" in found


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("floor", "Definitions"),
        ("lost messages", "Definitions"),
        ("nng vs zeromq", "Compare"),
        ("host-a2b38a", "Machines"),
        ("shared memory", r".* over .*(shm|ipc|iceoryx).*"),
        ("zero copy", r".* over .*(shm|ipc|iceoryx).*"),
        ("rti 1 KiB", r"RTI Connext DDS over .*"),
        ("99.9999", "Methodology"),
    ],
)
def test_first_search_result_is_the_page_about_the_searched_words(opened: Opener, query: str, first: str) -> None:
    with opened(f"search.html?q={quote_plus(query)}") as page:
        found = results(page)

    assert re.fullmatch(first, found[0], re.IGNORECASE), found[:5]


@pytest.mark.parametrize("query", ["0.4.0", "v0.4.0", "0.3.0 0.4.0", "perftest 0.4"])
def test_search_for_a_version_finds_its_comparison_and_no_comparison_of_other_versions(opened: Opener, query: str) -> None:
    with opened(f"search.html?q={quote_plus(query)}") as page:
        found = results(page)

    assert "Tacholog perftest: 0.3.0 \u2192 0.4.0" in found
    assert "Tacholog perftest: 0.1.0 \u2192 0.2.0" not in found


def test_search_for_a_system_and_its_version_finds_the_comparison_of_this_version(opened: Opener) -> None:
    with opened("search.html?q=ecal+5.12") as page:
        found = results(page)

    assert "eCAL: ecal-5.11 \u2192 ecal-5.12" in found
    assert "eCAL: ecal-5.4.0 \u2192 ecal-5.5.0" not in found


@pytest.mark.parametrize("query", ["polling", "busy-poll", "CPU sleeps"])
def test_search_for_polling_or_sleeping_finds_the_methodology_page(opened: Opener, query: str) -> None:
    with opened(f"search.html?q={quote_plus(query)}") as page:
        assert "Methodology" in results(page)


def test_log_pages_come_after_other_pages_in_search_results(opened: Opener) -> None:
    with opened("search.html?q=shm") as page:
        found = results(page)

    assert re.search(" over [a-z-]*shm", found[0], re.IGNORECASE)


def test_search_loads_the_page_of_a_result_when_the_result_is_in_view(browser: Browser, served: str) -> None:
    context = patient(browser, 1280, 800)
    page = context.new_page()
    page.goto(f"{served}/search.html?q=p99")
    count = len(results(page))
    items = page.locator("#search-results ul.search > li")
    items.first.locator("p.context").wait_for()

    assert count > 30
    assert items.last.locator("p.context").count() == 0

    items.last.scroll_into_view_if_needed()
    items.last.locator("p.context").wait_for()
    context.close()


def test_click_on_a_point_opens_its_log_line(opened: Opener) -> None:
    with opened("rti-connext-dds/shmem.html") as page:
        figure = page.locator(".tl-figure").first
        draw(figure)
        assert "Click a point to see its log line" in figure.inner_text()
        figure.scroll_into_view_if_needed()
        figure.locator(".scatterlayer .trace .point").first.click(force=True)
        page.wait_for_url("**/logs/rti/**")

        assert page.locator("li:has(:target)").count() == 1


def test_rows_without_a_ratio_are_sorted_by_value_if_one_size_is_shown(opened: Opener) -> None:
    with opened("compare.html?host=host-a2b38a&metric=latency.p99%40rtt&size=1048576") as page:
        cells = page.locator(".tl-result tbody td:nth-child(3)")
        values = [float(text) for text in cells.evaluate_all("cells => cells.map(cell => cell.dataset.v ?? 'inf')")]
        ratios = page.locator(".tl-result tbody td:nth-child(2)").all_inner_texts()

    assert values == sorted(values)
    assert ratios[0].startswith("no ratio")
    assert "baseline" in ratios[1:]


def test_cell_states_whether_samples_are_too_few_or_the_size_was_not_measured(opened: Opener) -> None:
    with opened("compare.html?host=host-a2b38a&metric=latency.p99%40rtt&size=64%7C1048576") as page:
        rows = page.locator(".tl-result tbody tr").filter(has_text="fastdds-udp")
        said = {row.locator("th").inner_text(): row.locator("td").last.inner_text() for row in rows.all()}

    assert [words for name, words in said.items() if "where nothing may be lost" in name] == ["too few samples"]
    assert [words for name, words in said.items() if "as it comes" in name] == ["not measured"]


def test_all_panels_of_the_home_page_fit_a_phone(opened: Opener) -> None:
    with opened("index.html") as page:
        page.set_viewport_size({"width": 375, "height": 800})
        found = page.locator(".tl-panels").evaluate_all("all => all.map(each => [each.scrollWidth, each.clientWidth])")

    assert found
    assert all(inner <= outer for inner, outer in found)


@pytest.mark.parametrize(("screen", "scripts", "is_open"), [("phone", True, False), ("phone", False, True), ("light", True, True)])
def test_secondary_content_is_folded_only_on_a_phone_with_scripts(opened: Opener, screen: str, scripts: bool, is_open: bool) -> None:
    with opened("index.html", screen, scripts=scripts) as page:
        folds = page.locator("details.tl-folds-on-phone").evaluate_all("(all) => all.map((fold) => fold.open)")

        assert folds
        assert set(folds) == {is_open}
        sizes = page.locator("table.tl-choices").first.locator("tbody")
        assert sizes.evaluate_all("all => all.filter(size => size.checkVisibility()).length") == (1 if screen == "phone" else sizes.count())
