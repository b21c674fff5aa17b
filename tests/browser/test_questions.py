"""Pages of questions in a browser: the links to values that are not shown, and the export of points."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.conftest import TOO_WIDE
from tests.browser.patience import draw, patient
from tests.questions.datasets import lossy

from tacholog.runs.questions import Question
from tacholog.site.build import build_site
from tacholog.site.settings import SiteSettings

pytestmark = [
    pytest.mark.browser,
    # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def asked(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """Return a site that answers two questions.

    The first question names no network bandwidth, although the runs have several bandwidths. The second question has names instead of numbers on its
    axis.
    """

    def build(folder: Path) -> None:
        lossy(folder / "data")
        questions = (
            Question(title="Open", subject="system", over="network_loss_percent", metric="latency:p99"),
            Question(title="Names", subject="system", by=("network_bandwidth_bit_per_s",), where={"network_loss_percent": "0"}),
        )
        build_site([folder / "data"], folder / "site", folder / "work", SiteSettings(questions=questions))

    return made_once("asked-site", build) / "site"


@pytest.fixture
def page(asked: Path, browser: Browser) -> Iterator[Page]:
    page = patient(browser, 375, 800).new_page()
    page.goto((asked / "questions.html").as_uri())
    yield page
    page.context.close()


@pytest.mark.parametrize(
    ("link", "figures", "axis", "column"),
    [
        ("over network bandwidth", 1, "Network bandwidth", "network bandwidth 300\u00a0Mbit/s"),
        ("divided by network bandwidth", 2, "Network loss", "network bandwidth"),
        ("network bandwidth 300\u00a0Mbit/s", 1, "Network loss", "network loss 20\u00a0%"),
    ],
)
def test_answer_links_to_other_answers_that_show_its_missing_values(page: Page, link: str, figures: int, axis: str, column: str) -> None:
    page.locator("#open").get_by_role("link", name="The picture").click()
    assert "Not shown: 300 Mbit/s (66 runs)." in page.locator(".tl-answer-notes").inner_text().replace("\u00a0", " ")
    page.locator(".tl-answer-notes").get_by_role("link", name=link, exact=True).click()

    assert page.locator("h1").inner_text().startswith(f"Open: {link}")
    assert page.locator("figure.tl-figure").count() == figures
    assert page.locator("figure.tl-figure").first.get_by_text(axis, exact=True).count()
    assert column in page.locator(".tl-answer thead").inner_text()
    assert page.evaluate(TOO_WIDE) == []


def test_exported_points_contain_the_names_on_an_axis_without_numbers(page: Page) -> None:
    page.locator("#names").get_by_role("link", name="The picture").click()
    draw(page.locator("figure.tl-figure").first)
    with page.expect_download() as download:
        page.locator(".tl-points a").click()

    header, *rows = csv.reader(Path(download.value.path()).read_text().splitlines())

    assert header[1] == "network bandwidth"
    assert {row[1] for row in rows} == {"54\u00a0Mbit/s", "300\u00a0Mbit/s"}
    assert len(rows) == 42  # Three systems at two bandwidths, each with six runs and a median: 3 * 2 * 7.
