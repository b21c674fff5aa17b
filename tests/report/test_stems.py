"""The stems of words for the search are kept for the next build, of words that it asked for, and are not believed if they are damaged."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from tacholog.site.output.memory import keep_value, kept_value

# What MyST and the theme still use of Sphinx is their business.
pytestmark = [
    pytest.mark.machinery,
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
MEMORY = "trees/.tacholog-templates/stems.json"
TEXT = "# Ours\n\nThroughputs were measured repeatedly.\n"


def index_of(folder: Path, text: str) -> str:
    """Build a project of one page, from what was kept of its last build only. Return the search index."""
    for name in ("docs", "out"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "docs").mkdir(parents=True)
    (folder / "docs/index.md").write_text(text, encoding="utf-8")
    settings: dict[str, Any] = {"extensions": ["myst_parser", "tacholog.sphinx"]}
    with docutils_namespace():  # directives are registered for the whole process, and the next build would find them taken
        Sphinx(folder / "docs", None, folder / "out", folder / "trees", "html", settings, status=None).build()
    return (folder / "out/searchindex.js").read_text(encoding="utf-8")


def kept(folder: Path) -> dict[str, Any]:
    found = kept_value(folder / MEMORY, dict[str, Any])
    assert found is not None
    return found


def test_stems_are_taken_from_the_last_build(tmp_path: Path) -> None:
    first = index_of(tmp_path, TEXT)
    memory = kept(tmp_path)
    assert '"throughput"' in first
    assert memory["stems"]["Throughputs"] == "throughput"
    assert index_of(tmp_path, TEXT) == first

    keep_value(tmp_path / MEMORY, memory | {"stems": memory["stems"] | {"Throughputs": "fromthememory"}})

    assert '"fromthememory"' in index_of(tmp_path, TEXT)


@pytest.mark.parametrize("change", ["a damaged byte", "other packages"])
def test_stems_that_are_damaged_or_of_another_version_are_found_again(tmp_path: Path, change: str) -> None:
    right = index_of(tmp_path, TEXT)
    memory = kept(tmp_path)
    if change == "a damaged byte":
        whole = (tmp_path / MEMORY).read_bytes()
        (tmp_path / MEMORY).write_bytes(whole.replace(b'"throughput"', b'"throughpot"'))
        assert (tmp_path / MEMORY).read_bytes() != whole
    else:
        keep_value(tmp_path / MEMORY, {"made_by": "others", "stems": memory["stems"] | {"Throughputs": "ofanotherversion"}})

    assert index_of(tmp_path, TEXT) == right


def test_no_word_is_kept_that_stands_on_no_page_any_more(tmp_path: Path) -> None:
    index_of(tmp_path, TEXT.replace("Ours", "Secretname"))
    assert "Secretname" in kept(tmp_path)["stems"]

    index_of(tmp_path, TEXT)

    assert "Secretname" not in kept(tmp_path)["stems"]
