"""The W3C checker finds no error in the pages: in nested elements, attributes and ARIA. This is also true after the scripts ran."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import Page
from tests.browser.fetch import CHECKER, fetched
from tests.browser.pages import every_page, pages_for
from tests.browser.patience import PATIENCE_S
from tests.depth import NIGHTLY
from tests.left_out import leave_out

Opener = Callable[..., AbstractContextManager[Page]]
Checker = Callable[[Path], list[str]]

pytestmark = [
    pytest.mark.browser,
    # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="session")
def mistakes() -> Checker:
    java, jar = shutil.which("java"), fetched(CHECKER)
    if java is None:
        leave_out("the checker of HTML needs Java (Debian: default-jre-headless)")

    def found(pages: Path) -> list[str]:
        options = ("--errors-only", "--exit-zero-always", "--format", "gnu", "--skip-non-html")
        command = (java, "-Xmx512m", "-jar", str(jar), *options, str(pages))
        done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=PATIENCE_S)
        return done.stderr.splitlines()

    return found


def test_w3c_checker_reports_errors_that_an_html_parser_accepts(tmp_path: Path, mistakes: Checker) -> None:
    page = '<!DOCTYPE html><html lang="en"><head><title>a</title></head><body><ul><p>a</p></ul><p role="moon">a</p></body></html>'
    (tmp_path / "page.html").write_text(page)

    child, role = mistakes(tmp_path)

    assert "Element “p” not allowed as child of element “ul” in this context" in child
    assert "Bad value “moon” for attribute “role”" in role


def test_pages_pass_the_w3c_checker(site: Path, tmp_path: Path, mistakes: Checker) -> None:
    for name in every_page(site) if NIGHTLY else pages_for(site, "phone"):
        copy = tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(site / name, copy)

    assert (tmp_path / "index.html").is_file()
    assert mistakes(tmp_path) == []


def test_tables_changed_by_scripts_pass_the_checker(opened: Opener, tmp_path: Path, mistakes: Checker) -> None:
    for name in ("compare.html", "systems.html", "quality.html"):
        with opened(name) as page:
            page.locator(".tl-table th button").first.wait_for()
            (tmp_path / name).write_text(page.content(), encoding="utf-8")

    assert mistakes(tmp_path) == []
