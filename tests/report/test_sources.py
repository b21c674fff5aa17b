"""A folder of generated files: what is kept, what is written, and what goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.site.sources import Sources


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.parametrize("is_alone", [False, True])
def test_what_was_neither_kept_nor_written_is_deleted_with_its_folder(tmp_path: Path, *, is_alone: bool) -> None:
    for name in ("runs/a/1", "runs/b/1", "runs/b/c/2", "old/1", "both/old", "both/new"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "empty").mkdir()

    sources = Sources(tmp_path, is_alone=is_alone)
    found = [sources.kept(name) for name in ("runs/a/1", "both/new", "runs/a/2", "runs")]
    sources.write("runs/d/e/1", "new")
    again = sources.kept("runs/d/e/1")
    sources.tidy()

    assert (found, again) == ([True, True, False, False], True)
    assert names(tmp_path) == ["both", "both/new", "runs", "runs/a", "runs/a/1", "runs/d", "runs/d/e", "runs/d/e/1"]
    assert (tmp_path / "runs/d/e/1").read_text() == "new"


@pytest.mark.parametrize("is_alone", [False, True])
def test_a_folder_that_is_not_there_is_made_when_something_is_written(tmp_path: Path, *, is_alone: bool) -> None:
    sources = Sources(tmp_path / "new", is_alone=is_alone)
    sources.tidy()
    assert not (tmp_path / "new").exists()

    sources.write("inside/1", "text")
    sources.tidy()

    assert names(tmp_path / "new") == ["inside", "inside/1"]
