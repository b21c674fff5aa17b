"""Tacholog's walk through folders finds the same files as Python's walk."""

from __future__ import annotations

import os
from pathlib import Path

from tacholog.site.output_folder import walk


def tree(tmp_path: Path) -> Path:
    top = tmp_path / "top"
    for name in ("a/b/c", "a/d", "e"):
        (top / name).mkdir(parents=True)
        (top / name / "file").touch()
    (tmp_path / "outside/inner").mkdir(parents=True)
    (top / "a/to-a-folder").symlink_to(tmp_path / "outside")
    (top / "e/to-itself").symlink_to("to-itself")
    (top / "e/to-above").symlink_to(top)
    (top / "e/to-nothing").symlink_to("nothing")
    (top / "e/to-a-file").symlink_to("file")
    return top


def found(of: object) -> list[tuple[str, list[str], list[str]]]:
    return [(folder, sorted(names), sorted(files)) for folder, names, files in of]  # type: ignore[attr-defined]


def test_walk_finds_the_same_files_as_python_and_follows_no_link(tmp_path: Path) -> None:
    top = str(tree(tmp_path))

    assert found(walk(top)) == found(os.walk(top))
    assert not [folder for folder, _, _ in walk(top) if folder.endswith("inner")]


def test_folders_removed_by_the_caller_are_skipped(tmp_path: Path) -> None:
    top = str(tree(tmp_path))
    seen = []
    for folder, names, _ in walk(top):
        seen.append(folder)
        names[:] = [name for name in names if name != "b"]

    assert sorted(seen) == [top, f"{top}/a", f"{top}/a/d", f"{top}/e"]


def test_walk_of_a_missing_folder_yields_nothing(tmp_path: Path) -> None:
    assert not list(walk(str(tmp_path / "nowhere")))
