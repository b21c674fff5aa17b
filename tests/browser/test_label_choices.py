"""Labels in a browser: a reader filters by a label, and the address keeps this choice. A site can have a page for each value of a label."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.conftest import TOO_WIDE, unfold
from tests.browser.patience import patient

from tacholog.runs.manifest import LogFile, Manifest, write
from tacholog.site.build import build_site
from tacholog.site.settings import SiteSettings

pytestmark = [
    pytest.mark.browser,
    # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
LOG = Path(__file__).parent.parent / "formats/native/latency-udp.log"
NAME = "Some Middleware performance"  # The name of the example site in docs/site.md.
PLUGINS = ("flannel", "calico", "<b>bold</b>, a|b", None)


@pytest.fixture(scope="module")
def labelled(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """A site with a page for each value of the label "plugin"."""

    def build(folder: Path) -> None:
        for plugin in PLUGINS:
            for transport in ("udp", "tcp"):
                run = folder / "data" / f"{PLUGINS.index(plugin)}-{transport}"
                run.mkdir(parents=True)
                log = LOG.read_text().replace("transport=udp", f"transport={transport}")
                (run / "a.log").write_text(log)
                logs = (LogFile(file="a.log", sha256=hashlib.sha256(log.encode()).hexdigest()),)
                labels = {"lab": "one"} | ({"plugin": plugin} if plugin else {})
                write(run / "run.toml", Manifest(system="S", host="desk", labels=labels, logs=logs))
        build_site([folder / "data"], folder / "site", folder / "work", SiteSettings(name=NAME, pages=("system", "label.plugin")))

    return made_once("labelled-site", build) / "site"


@pytest.fixture
def compare(labelled: Path, browser: Browser) -> Iterator[Page]:
    page = patient(browser).new_page()
    page.goto((labelled / "compare.html").as_uri())
    yield page
    page.context.close()


def names(page: Page) -> list[str]:
    return page.locator(".tl-result tbody th").all_inner_texts()


def test_label_is_a_choice_only_if_its_value_differs_between_runs(compare: Page) -> None:
    unfold(compare)
    legends = compare.locator(".tl-boxes legend").all_inner_texts()

    assert "Plugin" in legends
    assert "Lab" not in legends
    assert len(names(compare)) == 8
    assert any("plugin <b>bold</b>, a|b" in name for name in names(compare))


def test_reader_filters_by_a_label_and_the_address_keeps_the_filter(compare: Page) -> None:
    unfold(compare)
    for plugin in ("flannel", "not stated", "<b>bold</b>, a|b"):
        compare.get_by_label(plugin, exact=True).uncheck()

    assert len(names(compare)) == 2
    assert all("plugin calico" in name for name in names(compare))
    assert parse_qs(urlsplit(compare.url).query)["label.plugin"] == ["calico"]
    compare.reload()
    assert len(names(compare)) == 2


def test_series_with_different_labels_have_no_ratio_and_the_reason_names_both_labels(compare: Page) -> None:
    reasons = " ".join(compare.locator(".tl-why").all_inner_texts())

    assert "plugin: flannel -> calico" in reasons or "plugin: calico -> flannel" in reasons


@pytest.mark.parametrize("name", ["flannel", "not-stated", "index"])
def test_page_of_one_label_value_fits_a_phone(labelled: Path, browser: Browser, name: str) -> None:
    page = patient(browser, 375, 800).new_page()
    page.goto((labelled / f"s/{name}.html").as_uri())

    assert page.evaluate(TOO_WIDE) == []
    page.context.close()


def test_long_name_of_the_site_leaves_the_search_visible_on_a_phone(labelled: Path, browser: Browser) -> None:
    page = patient(browser, 375, 800).new_page()
    page.goto((labelled / "s/flannel.html").as_uri())

    name = page.locator(".bd-header .logo__title").bounding_box()
    search = page.locator(".navbar-persistent--mobile .search-button__button").bounding_box()
    assert page.locator(".bd-header .logo__title").inner_text() == NAME
    assert name
    assert search
    assert name["x"] + name["width"] <= search["x"]
    assert search["x"] + search["width"] <= 375
    page.context.close()
