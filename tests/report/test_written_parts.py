"""Parts of pages are written again, and looked at again, only where something of them changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.errors import TachologError
from tacholog.site.output.log_pages import PageMaker
from tacholog.site.output.memory import kept_value
from tacholog.site.output.page_frame import FRAME_TITLE, PageFrame
from tacholog.site.output.parts import Part, add_to_part, part_folder, pieces_of, write_parts
from tacholog.site.sources import Sources

pytestmark = pytest.mark.machinery

PAGE, OTHER = "results/udp", "logs/first"
TEXT = f'<p><a href="doc:{OTHER}#line-1">the line</a></p>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A page with a part that is a page of its own, and one that is none. Both lead to a page of a log."""
    (tmp_path / "site/results").mkdir(parents=True)
    (tmp_path / "site/frame.html").write_text(f'<title>{FRAME_TITLE}</title><article class="bd-article"></article>')
    for part in (Part("older", {"": TEXT}, "An older release"), Part("tables", {"one": TEXT})):
        add_to_part(tmp_path / "parts", PAGE, part)
    return tmp_path


def build(folder: Path, *documents: str) -> dict[str, bytes]:
    """Write the parts as a build does, and return the files."""
    site = folder / "site"
    maker = PageMaker(site, folder / "log-pages.json", PageFrame(site / "frame.html"))
    write_parts(maker, Sources(site), folder / "parts", documents, frozenset(documents), "this code")
    maker.save()
    return {path.name: path.read_bytes() for path in (site / "results").iterdir()}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The parts that are read from now on."""
    names: list[str] = []

    def reading(path: Path, kind: type[Part]) -> Part | None:
        names.append(path.stem)
        return kept_value(path, kind)

    monkeypatch.setattr("tacholog.site.output.parts.kept_value", reading)
    return names


def test_parts_that_did_not_change_are_not_read_again(folder: Path, opened: list[str]) -> None:
    first = build(folder, PAGE, OTHER)
    assert sorted(first) == ["older.html", "older.js", "tables.js"]
    opened.clear()

    assert build(folder, PAGE, OTHER, "logs/second") == first
    assert opened == []


def test_only_the_part_that_changed_is_written_again(folder: Path, opened: list[str]) -> None:
    first = build(folder, PAGE, OTHER)
    add_to_part(folder / "parts", PAGE, Part("tables", {"two": "<p>more</p>"}))
    opened.clear()

    second = build(folder, PAGE, OTHER)

    assert opened == ["tables"]
    assert pieces_of(second["tables.js"].decode()).keys() == {"one", "two"}
    assert {name: second[name] for name in ("older.html", "older.js")} == {name: first[name] for name in ("older.html", "older.js")}


def test_a_part_that_did_not_change_is_refused_when_a_page_that_it_leads_to_is_gone(folder: Path) -> None:
    build(folder, PAGE, OTHER)
    for _ in range(2):  # the build that failed leaves nothing that the next one believes
        with pytest.raises(TachologError, match="no page 'logs/first' to link to"):
            build(folder, PAGE)


@pytest.mark.parametrize("name", ["older.html", "older.js", "tables.js"])
def test_a_file_of_a_part_that_somebody_deleted_is_there_again(folder: Path, name: str) -> None:
    first = build(folder, PAGE, OTHER)
    (folder / "site/results" / name).unlink()

    assert build(folder, PAGE, OTHER) == first


def test_links_are_looked_at_again_when_what_is_known_of_pages_is_damaged(folder: Path, opened: list[str]) -> None:
    first = build(folder, PAGE, OTHER)
    memory = folder / "log-pages.json"
    memory.write_bytes(memory.read_bytes().replace(b"logs/first", b"logs/other"))
    opened.clear()

    assert build(folder, PAGE, OTHER) == first
    assert opened == ["older", "tables"]


def test_a_page_of_a_part_is_written_again_when_what_is_known_of_it_is_damaged(folder: Path) -> None:
    build(folder, PAGE, OTHER)
    memory, frame = folder / "log-pages.json", folder / "site/frame.html"
    memory.write_bytes(memory.read_bytes().replace(b'"results/older"', b'"results/oldem"'))
    frame.write_text(frame.read_text().replace("<article", "<header>another frame</header><article"))

    assert b"another frame" in build(folder, PAGE, OTHER)["older.html"]


def test_a_damaged_part_is_not_written_and_its_file_counts_as_made_of_nothing(folder: Path) -> None:
    build(folder, PAGE, OTHER)
    path = part_folder(folder / "parts", PAGE) / "tables.json"
    good = path.read_bytes()
    path.write_bytes(b"0" * 64 + good[64:])
    build(folder, PAGE, OTHER)
    (folder / "site/results/tables.js").write_text("somebody wrote this")
    path.write_bytes(good)

    assert pieces_of(build(folder, PAGE, OTHER)["tables.js"].decode()) == {"one": TEXT.replace(f"doc:{OTHER}", f"../{OTHER}.html")}
