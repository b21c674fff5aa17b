"""The questions of a reader who must choose a transport, answered from the committed data in at most two clicks from the first page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page
from tests.browser.conftest import Opener

pytestmark = [
    pytest.mark.browser,
    # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
PERFTEST = "Tacholog perftest: 0.3.0 \u2192 0.4.0"
AHEAD = "ahead of all other libraries"
ECAL = "ecal-5.11 \u2192 ecal-5.12"
LOG_LINE = re.compile(r'href="[^"]*logs/[^"]*#L')
LOADED = re.compile("one message at a time|the system (was|is) (not )?loaded|load not stated|measured under load|others those of a loaded system")


def text_of(page: Page, place: str = "article.bd-article") -> str:
    return " ".join(page.locator(place).first.inner_text().split())


@pytest.mark.parametrize(
    ("clicks", "answers"),
    [
        pytest.param(["UDPv4_WAN"], ["One run of each series", "cannot be tested"], id="b: are keyed messages of RTI slower, and is that certain"),
        pytest.param(["inter-process (IPC)"], ["zero-copy", "published by the vendor"], id="c: what does zero copy of hmbdc take between processes"),
        pytest.param(["methodology"], ["10 million for the 99.9999th"], id="d: how many samples does a percentile of 99.9999 need"),
        pytest.param(
            ["releases", ECAL],
            ["32 rows are the same measurement, published again", "32 that measured bytes in the old release and a reference in the new one"],
            id="e: what changed between two releases of eCAL",
        ),
        pytest.param([PERFTEST], ["over shm: p99 by 6.3 %"], id="f: did shm get faster in the last release"),
        pytest.param(
            ["iceoryx2", "Processor time, context switches and memory"],
            ["with 0.81 processors in use", "with 2 processors in use"],
            id="h: what does polling cost",
        ),
        pytest.param(
            ["all systems and transports", "Fast RTPS"],
            ["states neither version, machine, transport nor date", "10.1 Mbit/s 32 B"],
            id="i: is Fast RTPS faster than RTI at 1 KiB",
        ),
        pytest.param(["side by side"], ["0.161", "0.14\u20130.46", "0.17", "0.16\u20130.621"], id="j: is zero copy faster than shm at 64 B"),
        pytest.param(["side by side", "1 KiB"], ["74.2\u2013105", "92.4\u2013114"], id="k: ZeroMQ or nng over TCP at 1 KiB"),
        pytest.param(["side by side"], ["94.3 % lost"], id="l: who loses messages at full speed"),
        pytest.param(
            ["see below"], [".venv/bin/nox -s bench report", "names no public address of the source"], id="m: what must be typed to measure"
        ),
        pytest.param([], ["Latencies under load are on the page \u201cSide by side\u201d."], id="n: where is the latency under load"),
        pytest.param(
            ["side by side"],
            ["1 k msg/s offered, on two cores with a shared cache", "50 % of the highest rate of each"],
            id="n: what is the latency under load",
        ),
    ],
)
def test_answer_is_at_most_two_clicks_away(opened: Opener, clicks: list[str], answers: list[str]) -> None:
    with opened("index.html") as page:
        for words in clicks:
            links = page.locator("article :is(a, summary):visible")
            pattern = re.escape(words).replace(r"\ ", r"\s")  # also matches non-breaking spaces
            links.filter(has_text=re.compile(rf"^\s*(all transports )?{pattern}\s*$")).first.click()
            page.wait_for_load_state()
        text = text_of(page)

        assert [answer for answer in answers if answer not in text] == []


@pytest.mark.parametrize(
    ("use", "criterion", "column", "expected"),
    [
        pytest.param("Frames, 1 MiB", "steadiest", 1, ("iceoryx2", "178 µs", AHEAD), id="a: lowest p99 at 1 MiB"),
        pytest.param("Tiles, 64 KiB", "fastest", 1, ("iceoryx2", "9.27 µs", AHEAD), id="g: tiles of 64 KiB, if a processor may be kept busy"),
        pytest.param("Tiles, 64 KiB", "fastest", 2, ("iceoryx", "56.4 µs", AHEAD), id="g: tiles of 64 KiB, if it may not"),
    ],
)
def test_home_page_states_the_best_transport_with_its_value_and_its_lead(
    opened: Opener, use: str, criterion: str, column: int, expected: tuple[str, ...]
) -> None:
    with opened("index.html") as page:
        size = page.locator("table.tl-choices tbody").filter(has_text=use).first
        cell = size.locator("tr").filter(has=page.locator(f'th:has-text("{criterion}")')).locator("td").nth(column - 1)
        text = " ".join(cell.inner_text().split())

        assert page.locator("table.tl-choices thead th").nth(column).inner_text().split("\n") == [
            "Between processes",
            ["polls", "sleeps"][column - 1],
        ]
        assert [words for words in expected if words not in text] == []


def test_each_page_of_results_states_whether_the_system_was_loaded(site: Path) -> None:
    pages = {path.relative_to(site).as_posix(): path.read_text() for path in site.rglob("*.html") if "logs" not in path.parts}
    # Two kinds of pages are not checked. A part of a page ("-more-") does not state the load, because its main page does.
    # The page of requirements only repeats results of other pages.
    results = {name: text for name, text in pages.items() if LOG_LINE.search(text) and "-more-" not in name and name != "requirements.html"}

    assert [name for name, text in results.items() if not LOADED.search(text)] == []
    assert len(results) > 80


def test_value_of_a_dot_is_shown_while_the_pointer_is_on_the_dot(opened: Opener) -> None:
    with opened("index.html") as page:
        panel = page.locator(".tl-panel").first
        panel.scroll_into_view_if_needed()
        assert panel.locator(".tl-value text:visible").count() == 0

        panel.locator(".tl-value path").first.hover(force=True)

        assert panel.locator(".tl-value text:visible").count() == 1
