"""What a part holds is whole, private and its own, whatever happens to it."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import run_tacholog_text

from tacholog.runs.manifest import LogFile, Manifest, write
from tacholog.store.cache import PARTS, Cache
from tacholog.store.load import load
from tacholog.store.pool import Work

LINE = "Length:    32  Packets: {:8d}  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)\n"
FIRST = 77_841_180


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for number in range(3):
        folder, content = tmp_path / "data" / str(number), LINE.format(FIRST + number).encode()
        folder.mkdir(parents=True)
        (folder / "sub.log").write_bytes(content)
        write(folder / "run.toml", Manifest(system="rti", logs=(LogFile(file="sub.log", sha256=hashlib.sha256(content).hexdigest()),)))
    return tmp_path / "data"


def received(data: Path) -> tuple[list[int], int, int]:
    """The messages that the runs received, how many logs were read for that, and how many were kept."""
    work = Work(cache=Cache(data.parent / "cache"))
    results = load([data], work=work).results
    return [*map(int, results["value"][results["metric"] == "messages_received"])], work.tally.read, work.tally.cached


NUMBERS = [FIRST, FIRST + 1, FIRST + 2]


def parts(data: Path) -> list[Path]:
    return sorted((data.parent / "cache" / PARTS).iterdir())


@pytest.mark.parametrize("damage", ["flipped", "cut", "empty", "gone", "of others"])
def test_a_part_that_is_damaged_or_foreign_is_made_again(data: Path, damage: str) -> None:
    assert received(data) == (NUMBERS, 3, 0)
    assert received(data) == (NUMBERS, 0, 3)
    (part,) = parts(data)
    content = part.read_bytes()

    if damage == "gone":
        part.unlink()
    elif damage == "of others":
        other = data.parent / "other"
        shutil.copytree(data, other / "data")
        (other / "data/0/sub.log").write_text(LINE.format(1))
        assert received(other / "data")[0] == [1, FIRST + 1, FIRST + 2]
        shutil.copy(parts(other / "data")[0], part)
    else:
        flipped = bytearray(content)
        flipped[len(content) // 2] ^= 1
        part.write_bytes({"flipped": bytes(flipped), "cut": content[:-1], "empty": b""}[damage])

    assert received(data) == (NUMBERS, 3, 0)
    assert received(data) == (NUMBERS, 0, 3)


def test_only_their_owner_can_read_parts(data: Path) -> None:
    before = os.umask(0)
    try:
        received(data)
    finally:
        os.umask(before)

    assert parts(data)
    assert {path.stat().st_mode & 0o777 for path in parts(data)} == {0o600}
    assert (data.parent / "cache" / PARTS).stat().st_mode & 0o777 == 0o700


def test_two_commands_at_once_give_and_keep_the_same(data: Path) -> None:
    words = [sys.executable, "-m", "tacholog", "export", "--data", str(data), "--output"]
    environment = {**os.environ, "TACHOLOG_CACHE": str(data.parent / "cache")}
    commands = [subprocess.Popen([*words, str(data.parent / f"{number}.csv")], env=environment) for number in range(3)]

    assert [command.wait() for command in commands] == [0, 0, 0]
    assert len({(data.parent / f"{number}.csv").read_bytes() for number in range(3)}) == 1
    assert received(data) == (NUMBERS, 0, 3)


def test_a_command_that_is_killed_while_it_writes_a_part_leaves_none(data: Path) -> None:
    script = """
import os, pathlib, sys
from tacholog.store import parts
from tacholog.store.cache import Cache
from tacholog.store.load import load
from tacholog.store.pool import Work
whole = parts._sha256
def killed(path):
    os.kill(os.getpid(), 9)
parts._sha256 = killed
load([pathlib.Path(sys.argv[1])], work=Work(cache=Cache(pathlib.Path(sys.argv[1]).parent / "cache")))
"""
    done = subprocess.run([sys.executable, "-c", script, str(data)], check=False)

    assert done.returncode == -signal.SIGKILL
    assert not [path for path in parts(data) if path.suffix == ".parquet"]
    assert received(data) == (NUMBERS, 3, 0)
    assert received(data) == (NUMBERS, 0, 3)


def test_where_the_disk_of_the_cache_is_full_numbers_are_read_and_nothing_half_is_kept(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = data.parent / "cache"
    put, full = os.open, OSError(28, "No space left on device")

    def opened(path: str | Path, flags: int, mode: int = 0o777, **more: int) -> int:
        if str(path).startswith(str(cache / PARTS)) and flags & os.O_CREAT:
            raise full
        return put(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", opened)
    assert received(data) == (NUMBERS, 3, 0)
    monkeypatch.undo()

    assert parts(data) == []
    assert received(data) == (NUMBERS, 3, 0)
    assert received(data) == (NUMBERS, 0, 3)


def test_a_part_that_does_not_fit_on_the_disk_is_not_kept(data: Path) -> None:
    script = """
import pathlib, resource, signal, sys
from tacholog.store.cache import Cache
from tacholog.store.load import load
from tacholog.store.pool import Work
folder = pathlib.Path(sys.argv[1])
cache = Cache(folder.parent / "cache")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
load([folder], work=Work(cache=cache))
"""
    done = subprocess.run([sys.executable, "-c", script, str(data)], check=False, capture_output=True, text=True)

    assert "the numbers of the logs cannot be written there; make room" in done.stderr
    assert parts(data) == []
    assert received(data) == (NUMBERS, 3, 0)


def test_without_a_cache_parts_are_gone_at_the_end(data: Path, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "no folder").write_text("")
    environment = {"TMPDIR": str(tmp_path / "tmp"), "TACHOLOG_CACHE": str(tmp_path / "no folder")}

    done = run_tacholog_text("export", "--data", data, environment=environment)

    assert done.stdout.count("messages_received") == 6
    assert [*(tmp_path / "tmp").iterdir()] == []


def test_parts_stay_few_files_when_a_log_changes(data: Path) -> None:
    received(data)
    (data / "1/sub.log").write_text(LINE.format(5))

    assert received(data) == ([FIRST, 5, FIRST + 2], 1, 2)
    assert len(parts(data)) == 2


def test_rows_are_in_the_order_of_their_runs_whatever_parts_these_are_in(data: Path) -> None:
    (data / "1").rename(data.parent / "later")
    assert received(data) == ([FIRST, FIRST + 2], 2, 0)
    (data.parent / "later").rename(data / "1")

    assert received(data) == (NUMBERS, 1, 2)
    assert len(parts(data)) == 2
    cache = {"TACHOLOG_CACHE": str(data.parent / "cache")}
    for kind in ("csv", "json"):
        exported = run_tacholog_text("export", "--data", str(data), "--format", kind, environment=cache).stdout
        assert sorted(map(str, NUMBERS), key=exported.index) == [*map(str, NUMBERS)]


def test_a_run_that_is_a_copy_of_another_one_has_its_numbers_in_its_own_place(data: Path) -> None:
    shutil.copytree(data / "2", data / "0-copy")

    first = received(data)

    assert first == ([FIRST, FIRST + 2, FIRST + 1, FIRST + 2], 4, 0)
    assert received(data) == (first[0], 0, 4)


def test_parts_that_no_run_names_are_deleted_by_a_later_command_but_none_that_another_one_may_be_writing(data: Path) -> None:
    received(data)
    (named,) = parts(data)
    lost, young = named.with_name(f"{'1' * 64}.parquet"), named.with_name(f"{'2' * 64}.parquet")
    half, foreign = named.with_name(".part-7-killed"), named.with_name("notes.txt")
    for path in (lost, young, half, foreign):
        path.write_bytes(b"x")
    for path in (named, lost, half, foreign):
        os.utime(path, (1, 1))

    received(data)
    assert lost.exists()  # Nothing was read, so nothing was cleaned.
    shutil.copytree(data / "2", data / "3")
    (data / "3" / "sub.log").write_bytes(LINE.format(7).encode())
    received(data)

    assert {path for path in (named, lost, young, half, foreign) if path.exists()} == {named, young, foreign}
