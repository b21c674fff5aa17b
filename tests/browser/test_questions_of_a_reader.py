"""The questions of a reader who must choose a transport, answered from the committed data in at most two clicks from the first page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page
from tests.browser.conftest import Opener

pytestmark = [
    pytest.mark.browser,
    # What MyST and the theme still use of Sphinx is their business.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
PERFTEST = "Tacholog perftest: 0.3.0 \u2192 0.4.0"
ECAL = "ecal-5.11 \u2192 ecal-5.12"


def text_of(page: Page, place: str = "article.bd-article") -> str:
    """Return the visible text of a part of a page, with plain single blanks."""
    return " ".join(page.locator(place).first.inner_text().split())


@pytest.mark.parametrize(
    ("clicks", "answers"),
    [
        pytest.param(["UDPv4_WAN"], ["One run of each series", "cannot be tested"], id="are keyed messages of RTI slower, and is that certain"),
        pytest.param(["inter-process (IPC)"], ["zero-copy", "published by the vendor"], id="what does zero copy of hmbdc take between processes"),
        pytest.param(["methodology"], ["10 million for the 99.9999th"], id="how many samples does a percentile of 99.9999 need"),
        pytest.param(
            ["releases", ECAL],
            ["32 rows are the same measurement, published again", "32 that measured bytes in the old release and a reference in the new one"],
            id="what changed between two releases of eCAL",
        ),
        pytest.param([PERFTEST], ["over shm: p99 by 6.3 %"], id="did shm get faster in the last release"),
        pytest.param(["side by side"], ["CPU"], id="what does polling cost"),
        pytest.param(["all systems and transports"], ["Fast RTPS", "not comparable with each other"], id="is Fast RTPS faster than RTI at 1 KiB"),
        pytest.param(["side by side"], ["zeromq-tcp", "nng-tcp"], id="ZeroMQ or nng over TCP at 1 KiB"),
        pytest.param(["side by side"], ["% lost"], id="who loses messages at full speed"),
        pytest.param(["see below"], [".venv/bin/nox -s bench report"], id="what must be typed to measure"),
        pytest.param([], ["Under load it was not measured"], id="what is the latency under load"),
    ],
)
def test_answer_is_at_most_two_clicks_away(opened: Opener, clicks: list[str], answers: list[str]) -> None:
    with opened("index.html") as page:
        for words in clicks:
            page.locator(f'article a:visible:text-is("{words}")').first.click()
            page.wait_for_load_state()
        text = text_of(page)

        assert [answer for answer in answers if answer not in text] == []


@pytest.mark.parametrize(
    ("use", "criterion", "column", "expected"),
    [
        ("Frames, 1 MiB", "steadiest", 1, ("iceoryx2", "178 µs", "ahead of all other libraries")),
        ("Tiles, 64 KiB", "fastest", 1, ("iceoryx2", "9.27 µs", "ahead of all other libraries")),
        ("Tiles, 64 KiB", "fastest", 2, ("iceoryx", "56.4 µs", "ahead of all other libraries")),
        ("Control messages, 64 B", "without a library", 1, ("shm-zero-copy", "161 ns", "")),
    ],
)
def test_table_of_the_home_page_names_a_transport_its_number_and_how_sure_it_is(
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


@pytest.mark.parametrize("name", ["index.html", "systems.html", "cyclone-dds/cyclonedds-udp.html", "fast-dds/fastdds-udp.html"])
def test_page_of_results_says_whether_the_system_was_loaded(opened: Opener, name: str) -> None:
    with opened(name) as page:
        assert "the system was not loaded" in text_of(page)


def test_pointer_on_a_dot_of_a_panel_shows_its_number(opened: Opener) -> None:
    with opened("index.html") as page:
        value = page.locator(".tl-panel .tl-value").first
        value.scroll_into_view_if_needed()
        assert not value.locator("text").is_visible()

        value.locator("path").hover(force=True)

        assert value.locator("text").is_visible()
