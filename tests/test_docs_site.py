"""The documentation as a site: it builds without a warning, each document can be reached and found, and the reference is complete."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.waiting import LIMIT_S

from tacholog import list_formats
from tacholog.cli import COMMANDS

ROOT = Path(__file__).parent.parent
DOCUMENTS = {path.stem for path in ROOT.glob("docs/*.md")}
pytestmark = pytest.mark.site


@pytest.fixture(scope="module")
def html(made_once: Callable[[str, Callable[[Path], object]], Path]) -> dict[str, str]:
    folder = made_once("docs", build)
    return {path.stem: path.read_text(encoding="utf-8") for path in [*folder.glob("*.html"), folder / "searchindex.js"]}


def build(folder: Path) -> None:
    words = ["--fail-on-warning", "--keep-going", "--quiet", "-d", str(folder / "trees"), str(ROOT / "docs"), str(folder)]
    done = subprocess.run([sys.executable, "-m", "sphinx", *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, f"a new page is named in a toctree of docs/index.md, docs/reference.md or the page of a reader\n{done.stderr}"


def linked(page: str) -> set[str]:
    return set(re.findall(r'href="([\w-]+)\.html', page.partition("<article")[2].partition("</article>")[0]))


def test_each_document_can_be_reached_from_the_front_page_by_links_in_the_texts(html: dict[str, str]) -> None:
    reached, waiting = {"index"}, ["index"]
    while waiting:
        new = (linked(html[waiting.pop()]) & html.keys()) - reached
        reached |= new
        waiting += new

    assert DOCUMENTS - reached == set()


def test_search_has_each_document(html: dict[str, str]) -> None:
    names = re.search(r'"?docnames"?:\[([^]]*)\]', html["searchindex"])

    assert names
    assert set(re.findall(r'"([^"]+)"', names[1])) == DOCUMENTS


def test_reference_has_the_help_of_each_command(html: dict[str, str]) -> None:
    assert re.findall(r'<section id="tacholog-([a-z]+)">', html["commands"]) == list(COMMANDS)
    assert all(f"Usage: tacholog {name} [OPTIONS]" in html["commands"] for name in COMMANDS)


def test_reference_has_each_format(html: dict[str, str]) -> None:
    assert [form.name for form in list_formats() if f'<h2>{form.name}<a class="headerlink"' not in html["formats"]] == []


def test_reference_has_each_function_of_the_package(html: dict[str, str]) -> None:
    names = ["read", "load", "diff", "list_formats", "LogFormat"]

    assert [name for name in names if f'id="tacholog.{name}"' not in html["python"]] == []
