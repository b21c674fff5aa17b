"""A file is read again exactly if somebody may have written to it since it was read."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tacholog.file_digests import known_sha256, read_sha256, remembering

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is remembered where a file has no time of its last change")


@pytest.fixture(autouse=True)
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """All happens a minute after the files were written."""
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 60_000_000_000)


def digest(path: Path, memory: Path) -> tuple[str | None, bool]:
    """The digest of a file as a build learns it, and whether it reads the file for that."""
    read = []

    def reading() -> str | None:
        read.append(path)
        return None if path.is_symlink() else read_sha256(str(path))

    with remembering(memory):
        return known_sha256(str(path), reading), bool(read)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "page").write_text("one")
    assert digest(tmp_path / "page", tmp_path / "memory") == (sha256("one"), True)
    return tmp_path / "page"


def test_the_next_build_does_not_read_a_file_that_nobody_changed(page: Path, tmp_path: Path) -> None:
    assert digest(page, tmp_path / "memory") == (sha256("one"), False)


def test_a_change_that_keeps_size_and_time_is_found(page: Path, tmp_path: Path) -> None:
    at = page.stat()
    page.write_text("two")
    os.utime(page, ns=(at.st_atime_ns, at.st_mtime_ns))

    assert digest(page, tmp_path / "memory") == (sha256("two"), True)


def test_another_file_of_the_same_size_and_time_in_its_place_is_found(page: Path, tmp_path: Path) -> None:
    at = page.stat()
    (tmp_path / "other").write_text("two")
    os.utime(tmp_path / "other", ns=(at.st_atime_ns, at.st_mtime_ns))
    (tmp_path / "other").replace(page)

    assert digest(page, tmp_path / "memory") == (sha256("two"), True)


def test_a_link_in_its_place_is_found(page: Path, tmp_path: Path) -> None:
    page.rename(tmp_path / "moved")
    page.symlink_to("moved")

    assert digest(page, tmp_path / "memory") == (None, True)


def test_a_file_that_was_just_written_is_read_again(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page.write_text("two")
    monkeypatch.setattr(time, "time_ns", lambda: page.stat().st_mtime_ns)
    assert digest(page, tmp_path / "memory") == (sha256("two"), True)

    assert digest(page, tmp_path / "memory") == (sha256("two"), True)


@pytest.mark.parametrize("damage", [lambda content: content[:-1] + bytes([content[-1] ^ 1]), lambda content: content[:40], lambda _: b""])
def test_a_damaged_memory_is_not_used(page: Path, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    memory = tmp_path / "memory"
    memory.write_bytes(damage(memory.read_bytes()))

    assert digest(page, memory) == (sha256("one"), True)


def test_files_that_no_build_asks_for_are_forgotten(page: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("other")
    digest(tmp_path / "other", tmp_path / "memory")

    assert digest(page, tmp_path / "memory") == (sha256("one"), True)


def test_nothing_is_remembered_outside_of_a_build(page: Path) -> None:
    assert known_sha256(str(page), lambda: "read") == "read"


def test_a_build_whose_memory_cannot_be_written_ends_as_any_other(page: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere/of somebody else").mkdir(parents=True)

    assert digest(page, tmp_path / "elsewhere") == (sha256("one"), True)
    assert not [*tmp_path.glob("*.part")]
