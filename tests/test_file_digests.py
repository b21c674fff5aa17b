"""A file is read again if and only if somebody may have written to it since the last reading. For logs and manifests, see test_kept_runs.py."""

from __future__ import annotations

import hashlib
import sqlite3
import sys
import time
from pathlib import Path

import pytest

from tacholog.store.cache import FILE, Cache
from tacholog.store.digests import FileDigests, read_sha256

pytestmark = [
    pytest.mark.machinery,
    pytest.mark.skipif(sys.platform == "win32", reason="nothing is remembered where a file has no time of its last change"),
]


@pytest.fixture(autouse=True)
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the clock of each test one minute ahead, so that files look one minute old."""
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 60_000_000_000)


def digest(path: Path, memory: Path) -> tuple[str | None, bool]:
    """Return the digest of a file, and whether the file was read to compute the digest.

    Each call acts like a new command. The call knows digests of earlier calls only from the cache in ``memory``.
    """
    ((found, is_read),) = digests([path], FileDigests(Cache(memory)))
    return found, is_read


def digests(paths: list[Path], known: FileDigests) -> list[tuple[str | None, bool]]:
    read = []

    def reading(path: str) -> str | None:
        read.append(path)
        return read_sha256(path)

    found = known.all_sha256([*map(str, paths)], reading)
    known.flush()
    return [(sha256, str(path) in read) for path, sha256 in zip(paths, found, strict=True)]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def page(tmp_path: Path, memory: Path) -> Path:
    (tmp_path / "page").write_text("one")
    assert digest(tmp_path / "page", memory) == (sha256("one"), True)
    return tmp_path / "page"


def test_file_is_recognised_by_a_path_that_is_relative_to_the_current_folder(page: Path, memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(page.parent)

    assert digest(Path(page.name), memory) == (sha256("one"), False)


def test_file_is_recognised_even_if_the_current_folder_was_deleted(page: Path, memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = page.with_name("gone")
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert digest(page, memory) == (sha256("one"), False)


def test_file_that_was_just_written_is_read_again(page: Path, memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page.write_text("two")
    monkeypatch.setattr(time, "time_ns", lambda: page.stat().st_mtime_ns)
    assert digest(page, memory) == (sha256("two"), True)

    assert digest(page, memory) == (sha256("two"), True)


def test_damaged_store_of_digests_is_not_used(page: Path, memory: Path) -> None:
    with sqlite3.connect(memory / FILE) as database:
        database.execute("UPDATE file SET value = substr(value, 1, length(value) - 1) || X'00'")

    assert digest(page, memory) == (sha256("one"), True)
    assert digest(page, memory) == (sha256("one"), False)


def test_next_command_uses_the_digests_of_two_simultaneous_commands(page: Path, memory: Path) -> None:
    paths = [page.with_name(name) for name in ("a", "b")]
    for path in paths:
        path.write_text(path.name)
    commands = [FileDigests(Cache(memory)) for _ in paths]
    for path, known in zip(paths, commands, strict=True):
        assert digests([path], known) == [(sha256(path.name), True)]

    assert digests(paths, FileDigests(Cache(memory))) == [(sha256("a"), False), (sha256("b"), False)]
