"""The cache returns the value that was put into it, or nothing."""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command import run_tacholog_text
from tests.depth import tries

from tacholog.runs.manifest import LogFile, Manifest, write
from tacholog.store.cache import FILE, PARTS, VARIABLE, Cache, Kind, cache_folder, key_of
from tacholog.store.digests import code_digest, detection_digest, is_code_changed, reader_digest

KEY = key_of("a log", b"\x00\x01")
LONG = b"a value that is worth packing " * 100
VERY_LONG = bytes(range(256)) * 1000


def changed_bytes(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 0x10
    path.write_bytes(content)


@pytest.mark.machinery
@pytest.mark.parametrize("value", [b"", b"short", LONG, VERY_LONG])
def test_value_is_found_by_another_process(tmp_path: Path, value: bytes) -> None:
    Cache(tmp_path).put(Kind.PUBLISHED, {KEY: value})

    assert Cache(tmp_path).get(Kind.PUBLISHED, [KEY, key_of("another")]) == {KEY: value}


@pytest.mark.machinery
def test_value_is_found_only_under_its_own_key(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(Kind.PUBLISHED, {KEY: LONG})
    cache.close()
    with sqlite3.connect(tmp_path / FILE) as file:  # Damage the file: the value gets another key.
        file.execute("UPDATE published SET key = ?", (key_of("another"),))
    file.close()

    assert Cache(tmp_path).get(Kind.PUBLISHED, [KEY, key_of("another")]) == {}


@pytest.mark.machinery
def test_keys_differ_if_the_same_text_is_divided_into_other_parts() -> None:
    assert len({key_of("ab", "c"), key_of("a", "bc"), key_of("abc"), key_of("abc", "")}) == 4


@pytest.mark.machinery
def test_flipped_byte_of_an_entry_removes_only_this_entry(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(Kind.PUBLISHED, {KEY: LONG, key_of("other"): b"other"})
    cache.close()
    with sqlite3.connect(tmp_path / FILE) as file:
        (stored,) = file.execute("SELECT value FROM published WHERE key = ?", (KEY,)).fetchone()
        for place in range(len(stored)):
            damaged = bytearray(stored)
            damaged[place] ^= 1
            file.execute("UPDATE published SET value = ? WHERE key = ?", (bytes(damaged), KEY))
            file.commit()
            again = Cache(tmp_path)
            assert again.get(Kind.PUBLISHED, [KEY, key_of("other")]) == {key_of("other"): b"other"}, place
            again.close()
    file.close()

    rebuilt = Cache(tmp_path)
    rebuilt.put(Kind.PUBLISHED, {KEY: LONG})

    assert rebuilt.get(Kind.PUBLISHED, [KEY]) == {KEY: LONG}


@pytest.mark.machinery
@settings(max_examples=tries(15, 60))
@given(st.data())
def test_damaged_cache_returns_only_correct_values_and_is_filled_again(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("cache")
    values = {key_of(str(number)): bytes([number]) * 400 for number in range(50)}
    cache = Cache(folder)
    cache.put(Kind.PUBLISHED, values)
    cache.close()
    size = (folder / FILE).stat().st_size
    if data.draw(st.booleans()):
        for place in data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=20)):
            changed_bytes(folder / FILE, place)
    else:
        os.truncate(folder / FILE, data.draw(st.integers(0, size)))

    damaged = Cache(folder)

    assert damaged.get(Kind.PUBLISHED, values).items() <= values.items()
    damaged.put(Kind.PUBLISHED, values)
    damaged.close()
    again = Cache(folder)
    found = again.get(Kind.PUBLISHED, values)
    again.close()
    assert found.items() <= values.items()
    if not found:  # Reading does not notice the damage. The next write notices the damage, and replaces the file by a new file.
        again = Cache(folder)
        again.put(Kind.PUBLISHED, values)
        assert again.get(Kind.PUBLISHED, values).items() <= values.items()


def by_another_program(path: Path, application: int) -> None:
    with sqlite3.connect(path) as file:
        file.execute(f"PRAGMA application_id = {application}")
        file.execute("CREATE TABLE log (something TEXT)")
    file.close()


@pytest.mark.parametrize(
    "made",
    [
        lambda path: path.write_bytes(b"no database at all, but a long enough text to be looked at" * 20),
        lambda path: path.write_bytes(b"x"),
        lambda path: path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 4096),
        lambda path: by_another_program(path, 7),
        lambda path: by_another_program(path, 0),
    ],
    ids=["text", "one byte", "damaged in the first bytes", "another program", "a program that does not give its name"],
)
def test_file_of_another_program_is_neither_deleted_nor_changed_and_no_command_fails(tmp_path: Path, made: Callable[[Path], object]) -> None:
    made(tmp_path / FILE)
    before = (tmp_path / FILE).read_bytes()

    cache = Cache(tmp_path)
    cache.put(Kind.PUBLISHED, {KEY: b"x"})
    assert cache.get(Kind.PUBLISHED, [KEY]) == {}
    cache.clear()

    assert cache.is_of_others()
    assert not cache.is_empty()
    assert (tmp_path / FILE).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_file_of_another_program_is_named_by_each_command_that_would_use_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    by_another_program(tmp_path / FILE, 7)
    words = f"{FILE}: Tacholog did not make this file, or it is damaged, so nothing is kept: move it away"

    shown, cleared = run_tacholog_text("cache"), run_tacholog_text("cache", "--clear")
    exported = run_tacholog_text("export", "--data", str(Path(__file__).parent.parent / "docs" / "example" / "data"))

    assert (shown.returncode, cleared.returncode, exported.returncode) == (2, 2, 0)
    assert all(words in done.stderr for done in (shown, cleared, exported))


@pytest.mark.parametrize("begun", [b"", None], ids=["empty", "without tables"])
def test_empty_database_is_used(tmp_path: Path, begun: bytes | None) -> None:
    with sqlite3.connect(tmp_path / FILE) as file:
        file.execute("PRAGMA journal_mode = WAL")
    file.close()
    if begun is not None:
        (tmp_path / FILE).write_bytes(begun)

    cache = Cache(tmp_path)
    cache.put(Kind.PUBLISHED, {KEY: b"x"})

    assert cache.get(Kind.PUBLISHED, [KEY]) == {KEY: b"x"}


@pytest.mark.machinery
@pytest.mark.parametrize("change", ["PRAGMA user_version = 3", None], ids=["another layout", "damaged"])
def test_cache_of_another_version_or_with_damage_is_replaced(tmp_path: Path, change: str | None) -> None:
    cache = Cache(tmp_path)
    cache.put(Kind.PUBLISHED, {KEY: b"x"})
    cache.close()
    if change:
        with sqlite3.connect(tmp_path / FILE) as file:
            file.execute(change)
        file.close()
    else:
        content = (tmp_path / FILE).read_bytes()
        (tmp_path / FILE).write_bytes(content[:100] + bytes(byte ^ 0xFF for byte in content[100:]))

    cache = Cache(tmp_path)
    assert cache.get(Kind.PUBLISHED, [KEY]) == {}
    cache.put(Kind.PUBLISHED, {KEY: b"x"})

    assert cache.get(Kind.PUBLISHED, [KEY]) == {KEY: b"x"}


def test_cache_without_a_writable_folder_stores_nothing_and_does_not_fail(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for cache in (Cache(None), Cache(tmp_path / "file" / "below")):
        cache.put(Kind.PUBLISHED, {KEY: b"x"})

        assert cache.get(Kind.PUBLISHED, [KEY]) == {}
        assert cache.sizes() == {}
        cache.clear()


@pytest.mark.machinery
def test_process_killed_while_writing_leaves_only_complete_values(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tacholog.store.cache import Cache, Kind, key_of\n"
        "cache = Cache(Path(sys.argv[1]))\n"
        "for start in range(0, 10**7, 20):\n"
        "    cache.put(Kind.PUBLISHED, {key_of(str(n)): str(n).encode() * 200 for n in range(start, start + 20)})\n"
        "    print(start, flush=True)\n"
    )
    values = {key_of(str(n)): str(n).encode() * 200 for n in range(2000)}
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.stdout.readline()
            process.send_signal(signal.SIGKILL)

        found = Cache(tmp_path).get(Kind.PUBLISHED, values)

        assert len(found) >= 20
        assert found.items() <= values.items()


@pytest.mark.machinery
def test_two_processes_can_fill_the_cache_at_the_same_time(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tacholog.store.cache import Cache, Kind, key_of\n"
        "cache = Cache(Path(sys.argv[1]))\n"
        "for start in range(0, 400, 20):\n"
        "    cache.put(Kind.PUBLISHED, {key_of(str(n)): str(n).encode() * 200 for n in range(start, start + 20)})\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]

    values = {key_of(str(n)): str(n).encode() * 200 for n in range(400)}
    assert Cache(tmp_path).get(Kind.PUBLISHED, values) == values


def test_file_of_the_cache_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    Cache(tmp_path / "new").put(Kind.PUBLISHED, {KEY: b"x"})

    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "new" / FILE).stat().st_mode & 0o777 == 0o600


def test_clearing_removes_all_entries(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(Kind.PUBLISHED, {KEY: LONG})
    assert cache.sizes()[Kind.PUBLISHED].entries == 1

    cache.clear()

    assert cache.sizes()[Kind.PUBLISHED] == (0, 0)
    assert cache.get(Kind.PUBLISHED, [KEY]) == {}


def test_cache_folder_is_set_by_a_variable_or_is_in_the_cache_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TACHOLOG_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("TACHOLOG_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/tacholog")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder() == Path("/home/me/.cache/tacholog")


@pytest.mark.machinery
def test_changed_code_has_another_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "some_package_for_digests"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    first = code_digest("some_package_for_digests")
    code_digest.cache_clear()
    assert code_digest("some_package_for_digests") == first

    (package / "part.py").write_text("x = 2\n")
    code_digest.cache_clear()

    assert code_digest("some_package_for_digests") != first


@pytest.mark.machinery
def test_code_of_each_format_and_of_detection_has_a_separate_digest() -> None:
    assert reader_digest("rti") != reader_digest("native")
    assert detection_digest() not in (reader_digest("rti"), reader_digest("native"))


def test_command_leaves_no_temporary_file_in_the_cache(tmp_path: Path) -> None:
    log = (Path(__file__).parent / "formats" / "native" / "latency-udp.log").read_bytes()
    (tmp_path / "some.log").write_bytes(log)
    write(tmp_path / "run.toml", Manifest(system="Tacholog perftest", logs=(LogFile(file="some.log", sha256=hashlib.sha256(log).hexdigest()),)))
    words = [sys.executable, "-m", "tacholog", "export", "--data", str(tmp_path), "--output", str(tmp_path / "numbers.csv")]

    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "TACHOLOG_CACHE": str(tmp_path / "cache")})

    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == [FILE, PARTS]
    assert [path.suffix for path in (tmp_path / "cache" / PARTS).iterdir()] == [".parquet"]


@pytest.mark.machinery
def test_cache_that_cannot_be_emptied_is_not_called_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    (tmp_path / FILE / "folder in its place").mkdir(parents=True)

    cleared, shown = run_tacholog_text("cache", "--clear"), run_tacholog_text("cache")

    assert (cleared.returncode, shown.returncode) == (2, 2)
    assert f"{FILE}: cannot be emptied; delete the file" in cleared.stderr
    assert f"{FILE}: cannot be opened or written, so nothing is kept" in shown.stderr


@pytest.mark.machinery
def test_command_that_waited_once_for_a_locked_cache_does_not_use_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacholog.store.cache._WAIT_S", 0)
    cache = Cache(tmp_path)
    with sqlite3.connect(tmp_path / FILE) as file:
        file.execute("BEGIN IMMEDIATE")
        cache.put(Kind.PUBLISHED, {KEY: b"x"})
        file.rollback()
    file.close()

    cache.put(Kind.PUBLISHED, {KEY: b"x"})

    assert cache.get(Kind.PUBLISHED, [KEY]) == {}
    assert Cache(tmp_path).get(Kind.PUBLISHED, [KEY]) == {}


@pytest.mark.machinery
def test_code_edited_after_its_digest_was_computed_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacholog.store.digests._READ_FILES", {})
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "edited_while_it_runs.py"
    module.write_text("one = 1\n")
    at = module.stat()
    code_digest("edited_while_it_runs")
    assert not is_code_changed()

    module.write_text("one = 2\n")
    os.utime(module, ns=(at.st_atime_ns, at.st_mtime_ns))

    assert is_code_changed()
