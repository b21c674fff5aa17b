"""Fixtures of the browser tests: a site of the data in the checkout, and a browser. All tests share both."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.browser.fetch import PLOTLY, fetched
from tests.browser.patience import PATIENCE_MS, patient
from tests.left_out import leave_out

from tacholog.runs.manifest import Command, Host, LogFile, Manifest, write
from tacholog.site.build import build_site

ROOT = Path(__file__).resolve().parent.parent.parent
NATIVE = ROOT / "tests" / "formats" / "native"
SCREENS = {"light": (1400, 900), "dark": (1400, 900), "phone": (375, 800)}
# Finds out whether the page or its article is too wide for the screen. The article is checked separately, because it hides its overflow.
TOO_WIDE = """() => [document.documentElement, ...document.querySelectorAll('.bd-article-container')]
    .filter((box) => box.scrollWidth > box.clientWidth).map((box) => `${box.className || 'page'}: ${box.scrollWidth} > ${box.clientWidth} px`)"""

Opener = Callable[..., AbstractContextManager[Page]]


def add_own_runs(root: Path) -> Path:
    """Write repeated runs and a killed run of perftest, and the description of their machine."""
    command = Command(role="both", argv=("perftest", "--test", "latency", "--transport", "udp", "--sizes", "64,1024"))
    for name in ("latency-udp", "latency-udp", "throughput-udp", "subscriber-killed"):
        folder = root / "own" / f"{name}-{len(list(root.glob(f'own/{name}*'))) + 1}"
        folder.mkdir(parents=True)
        log = (NATIVE / f"{name}.log").read_bytes()
        (folder / "perftest.log").write_bytes(log)
        logs = (LogFile(file="perftest.log", sha256=hashlib.sha256(log).hexdigest()),)
        write(
            folder / "run.toml",
            Manifest(system="Tacholog perftest", tool="perftest", host="lab-machine", release="0.1", commands=(command,), logs=logs),
        )
    (root / "hosts").mkdir()
    host = Host(name="lab-machine", source="the log", cpu={"model": "Intel(R) Xeon(R) Processor", "threads": "2"}, system={"kernel": "6.18"})
    write(root / "hosts" / "lab-machine.toml", host)
    return root


@pytest.fixture(scope="session", autouse=True)
def _offline() -> Iterator[None]:
    """Build the site with the small Plotly that was fetched before, because no test may need the network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TACHOLOG_PLOTLY", str(fetched(PLOTLY)))
        yield


@pytest.fixture(scope="session")
def site(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """The site of all runs: those in the folder ``data`` of the checkout, and those that `add_own_runs` makes."""

    def build(folder: Path) -> None:
        build_site([ROOT / "data", add_own_runs(folder / "own-data")], folder / "site", folder / "work")

    return made_once("whole-site", build) / "site"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests so that no process is idle for long: first the tests without the site, then the slow tests, then the fast tests."""
    slow = ("test_pages_open", "test_each_", "test_what_scripts_make", "test_pages_pass")
    items.sort(key=lambda item: ("site" in getattr(item, "fixturenames", ()), not item.name.startswith(slow)))


@pytest.fixture(scope="session")
def screenshots() -> Path | None:
    """Return the folder for screenshots, which TACHOLOG_SCREENSHOTS names. Return ``None`` if it names no folder.

    The screenshots are for people, because no test checks them.
    """
    if not os.environ.get("TACHOLOG_SCREENSHOTS"):
        return None
    folder = Path(os.environ["TACHOLOG_SCREENSHOTS"]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = os.environ.get("TACHOLOG_CHROMIUM")
    if not executable:
        leave_out("TACHOLOG_CHROMIUM names no Chromium (nox -s browser finds one)")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, timeout=PATIENCE_MS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def opened(site: Path, browser: Browser) -> Opener:
    """Return a function that opens a page of the site. The argument ``screen`` of this function is a key of `SCREENS`."""

    @contextmanager
    def open_page(address: str, screen: str = "light", *, scripts: bool = True) -> Iterator[Page]:
        width, height = SCREENS[screen]
        context = patient(browser, width, height, dark=screen == "dark", scripts=scripts)
        page = context.new_page()
        name, sign, rest = address.partition("?") if "?" in address else address.partition("#")
        page.goto(f"{(site / name).as_uri()}{sign}{rest}")
        yield page
        context.close()

    return open_page


def unfold(page: Page) -> None:
    """Show all choices on the comparison page, because only metric, machine and baseline are visible at first."""
    page.locator(".tl-more-choices > summary").click()


def open_folds(page: Page) -> None:
    """Open all folded parts of a page, except parts that are loaded only when a reader opens them."""
    page.evaluate("document.querySelectorAll('details.tl-fold').forEach((fold) => { fold.open = true; })")


def open_everything(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    expect(page.locator("details[open]:is([data-part], [aria-busy])")).to_have_count(0)
