"""The list of headings beside a page is that of the theme, is made once, and is not believed if it is damaged."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from tacholog.resources import site_dir
from tacholog.site.output.memory import keep_value, kept_value

# What MyST and the theme still use of Sphinx is their business.
pytestmark = [
    pytest.mark.machinery,
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
MEMORY = "trees/.tacholog-templates/contents.json"
HEADINGS = '# Ours\n\n## First & "second" `code <b>`\n\nText.\n\n### Below\n\n## Last \u2014 é\n\nText.\n'


def build(folder: Path, text: str, item: str = "contents", pages: tuple[str, ...] = ()) -> str:
    """Build a project whose first page has this text, from what was kept of its last build only. Return the page."""
    for name in ("docs", "out"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "docs").mkdir(parents=True)
    (folder / "docs/index.md").write_text(text, encoding="utf-8")
    for page in pages:
        (folder / f"docs/{page}.md").write_text(f"---\norphan: true\n---\n\n{text}", encoding="utf-8")
    settings: dict[str, Any] = {
        "extensions": ["myst_parser", "tacholog.sphinx"],
        "html_theme": "pydata_sphinx_theme",
        "html_theme_options": {"secondary_sidebar_items": [item]},
        "templates_path": [str(site_dir() / "_templates")],
    }
    with docutils_namespace():  # directives are registered for the whole process, and the next build would find them taken
        Sphinx(folder / "docs", None, folder / "out", folder / "trees", "html", settings, status=None).build()
    return (folder / "out/index.html").read_text(encoding="utf-8")


def kept(folder: Path) -> dict[str, Any]:
    found = kept_value(folder / MEMORY, dict[str, Any])
    assert found is not None
    return found


@pytest.mark.parametrize("text", [HEADINGS, "# Ours\n\nText.\n", "# One\n\n## A\n\n# Two\n\n## B\n", "Text.\n"])
def test_the_list_is_that_of_the_theme_the_first_time_and_the_next(tmp_path: Path, text: str) -> None:
    of_theme = build(tmp_path / "theme", text, "page-toc")

    first = build(tmp_path / "ours", text)

    assert first == of_theme
    assert build(tmp_path / "ours", text) == of_theme


def test_a_list_is_taken_from_the_last_build(tmp_path: Path) -> None:
    build(tmp_path, HEADINGS)
    memory = kept(tmp_path)
    memory["pages"]["index"][1] = "<p>from the memory</p>"
    keep_value(tmp_path / MEMORY, memory)

    assert "<p>from the memory</p>" in build(tmp_path, HEADINGS)
    assert "<p>from the memory</p>" not in build(tmp_path, HEADINGS.replace("Last", "New"))


@pytest.mark.parametrize("change", ["a damaged byte", "other packages"])
def test_a_list_that_is_damaged_or_of_another_version_is_made_again(tmp_path: Path, change: str) -> None:
    right = build(tmp_path, HEADINGS)
    memory = kept(tmp_path)
    if change == "a damaged byte":
        whole = (tmp_path / MEMORY).read_bytes()
        (tmp_path / MEMORY).write_bytes(whole.replace(b"Last", b"Lost"))
        assert (tmp_path / MEMORY).read_bytes() != whole
    else:
        memory["pages"]["index"][1] = "<p>of another version</p>"
        keep_value(tmp_path / MEMORY, memory | {"made_by": "others"})

    assert build(tmp_path, HEADINGS) == right


def test_nothing_is_kept_of_a_page_that_is_gone(tmp_path: Path) -> None:
    build(tmp_path, HEADINGS, pages=("private",))
    assert set(kept(tmp_path)["pages"]) == {"index", "private"}

    build(tmp_path, HEADINGS)

    assert set(kept(tmp_path)["pages"]) == {"index"}
    assert "private" not in msgspec.json.encode(kept(tmp_path)).decode()
