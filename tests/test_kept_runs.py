"""Runs from the cache equal runs that are read from their logs. A log is opened only if the cache has no intact results for it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.command import run_tacholog_text
from tests.samples import SAMPLE_LOGS
from tests.small_runs import FIRST, LINE, add_run, messages_received, tables

from tacholog.cli import tacholog
from tacholog.compare.sides import find, find_all
from tacholog.evidence import _open
from tacholog.runs.logs import ReadingLimits
from tacholog.site.verification.receipt import verify_data
from tacholog.store.cache import FILE, PARTS, VARIABLE, Cache, Kind
from tacholog.store.load import load, load_logs
from tacholog.store.pool import Work

NUMBERS = [FIRST, FIRST + 1, FIRST + 2]
OTHER = 77_841_199
OF_RUNS = {f"{run}/{file}" for run in "012" for file in ("run.toml", "sub.log")}


@pytest.fixture(autouse=True)
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests run one minute after the files were written."""
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 60_000_000_000)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    paths: list[str] = []

    def opening(path: str, flags: int, at: int | None) -> int:
        paths.append("/".join(path.rsplit("/", 2)[-2:]))
        return _open(path, flags, at)

    monkeypatch.setattr("tacholog.evidence._open", opening)
    return paths


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for number, packets in enumerate(NUMBERS):
        add_run(tmp_path / "data" / str(number), packets)
    return tmp_path / "data"


def work_for(data: Path, cache: str = "cache") -> Work:
    """Return a new `Work` whose cache is in a folder next to the data. A new command also begins with a new `Work`."""
    return Work(cache=Cache(data.parent / cache))


def received(data: Path, cache: str = "cache") -> tuple[list[int], int, int]:
    """Return the messages that the runs received, how many logs were read, and how many came from the cache."""
    work = work_for(data, cache)
    numbers = messages_received(load([data], work=work))
    return numbers, work.tally.read, work.tally.cached


def parts(data: Path) -> list[Path]:
    return sorted((data.parent / "cache" / PARTS).iterdir())


def test_each_sample_log_from_the_cache_equals_the_log_read_from_its_file(tmp_path: Path) -> None:
    first, second = Work(cache=Cache(tmp_path)), Work(cache=Cache(tmp_path))

    read = tables(load_logs(SAMPLE_LOGS, skip_unreadable=True, work=first))

    assert tables(load_logs(SAMPLE_LOGS, skip_unreadable=True, work=second)) == read
    assert tables(load_logs(SAMPLE_LOGS, skip_unreadable=True, work=Work(cache=Cache(None)))) == read
    assert first.tally.cached == 0
    assert second.tally.cached > 200


@pytest.mark.machinery
def test_unchanged_files_are_not_opened(data: Path, opened: list[str]) -> None:
    assert received(data) == (NUMBERS, 3, 0)
    assert {*opened} == OF_RUNS
    opened.clear()

    assert received(data) == (NUMBERS, 0, 3)
    assert opened == []


@pytest.mark.machinery
@pytest.mark.parametrize("words", [["export", "--data", "data", "--format", "json"], ["diff", "data/0", "data/1"]])
def test_no_command_opens_files_that_another_command_has_read(
    data: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv(VARIABLE, str(data.parent / "cache"))
    monkeypatch.chdir(data.parent)
    received(data)
    opened.clear()

    assert CliRunner().invoke(tacholog, words).exit_code in (0, 4)
    assert not {*opened} & OF_RUNS


@pytest.mark.machinery
def test_verification_opens_files_although_another_command_has_read_them(data: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(data.parent / "cache"))
    received(data)
    opened.clear()

    assert verify_data(data).numbers
    assert {*opened} == OF_RUNS


@pytest.mark.machinery
def test_only_added_and_changed_runs_are_opened(data: Path, opened: list[str]) -> None:
    received(data)
    add_run(data / "3", OTHER)
    add_run(data / "1", OTHER)
    opened.clear()

    assert received(data) == ([FIRST, OTHER, FIRST + 2, OTHER], 2, 2)
    assert {*opened} == {"1/run.toml", "1/sub.log", "3/run.toml", "3/sub.log"}


@pytest.mark.parametrize("change", ["manifest", "name"])
def test_run_with_a_changed_manifest_is_read_again_but_a_renamed_run_comes_from_the_cache(data: Path, change: str) -> None:
    received(data)
    if change == "manifest":
        add_run(data / "2", NUMBERS[2], release="2")
    else:
        (data / "2").rename(data / "b")
    work = work_for(data)

    dataset = load([data], work=work)

    assert (work.tally.read, work.tally.cached) == ((1, 2) if change == "manifest" else (0, 3))
    assert tables(dataset) == tables(load([data], work=Work(cache=Cache(None))))


@pytest.mark.parametrize("way", ["written", "replaced"])
def test_changed_log_is_read_again_even_with_the_same_size_and_times(data: Path, way: str) -> None:
    received(data)
    log = data / "0/sub.log"
    before = log.stat()
    target = log if way == "written" else data.parent / "other.log"
    target.write_text(LINE.format(OTHER))
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    target.replace(log)

    assert (log.stat().st_size, log.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert received(data) == ([OTHER, *NUMBERS[1:]], 1, 2)


@pytest.mark.machinery
def test_log_that_is_replaced_during_the_lookup_is_stored_under_the_digest_of_its_new_content(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    received(data)
    cache, look_up = Cache(data.parent / "another cache"), Cache.get

    def exchanged(cache: Cache, kind: Kind, keys: Iterable[bytes]) -> object:
        entries = look_up(cache, kind, keys)
        if kind is Kind.RUN:
            (data / "0/sub.log").write_text(LINE.format(OTHER))
        return entries

    monkeypatch.setattr(Cache, "get", exchanged)
    load([data], work=Work(cache=cache))
    monkeypatch.undo()

    assert received(data, "another cache")[0] == [OTHER, *NUMBERS[1:]]
    (data / "0/sub.log").write_text(LINE.format(FIRST))
    assert received(data, "another cache")[0] == NUMBERS


def test_symbolic_link_in_place_of_a_log_is_refused(data: Path) -> None:
    received(data)
    (data / "0/sub.log").rename(data.parent / "moved.log")
    (data / "0/sub.log").symlink_to(data.parent / "moved.log")

    assert received(data)[0] == NUMBERS[1:]


def test_unreadable_manifest_is_reported_each_time_the_runs_are_loaded(data: Path) -> None:
    (data / "0/run.toml").write_text("system = ")

    for _ in range(2):
        problems = load([data], work=work_for(data)).problems
        assert [run for run, log in zip(problems["run"], problems["log"], strict=True) if log == "run.toml"] == ["0"]


def test_each_copy_of_a_run_is_taken_from_the_cache(tmp_path: Path) -> None:
    for number in range(4):
        add_run(tmp_path / "data" / str(number), FIRST + number % 2, clocks="several")

    assert received(tmp_path / "data") == ([FIRST, FIRST + 1] * 2, 4, 0)
    assert received(tmp_path / "data") == ([FIRST, FIRST + 1] * 2, 0, 4)


def test_unreadable_log_is_read_again_by_the_next_command(tmp_path: Path) -> None:
    data = add_run(tmp_path / "data" / "0", "no log of any tool\n").parent

    assert load([data], work=work_for(data)).problems["kind"].tolist() == ["unreadable"]
    assert received(data) == ([], 1, 0)


def test_limits_also_apply_to_a_log_that_was_cached_without_limits(data: Path) -> None:
    received(data)

    for limits in (ReadingLimits(50, 1000), ReadingLimits(1000, 3)):
        kept = load([data], limits, work=work_for(data))

        assert tables(kept) == tables(load([data], limits, work=Work(cache=Cache(None))))
        assert len(kept.results) == 0


def test_log_above_both_limits_gets_the_same_message_from_the_cache_and_from_reading(tmp_path: Path) -> None:
    content = "".join(LINE.format(2_000_000 + number) for number in range(20_000))  # The limit of 100 numbers is exceeded first.
    data = add_run(tmp_path / "data" / "0", content).parent
    received(data)
    limits = ReadingLimits(len(content) - 1, 100)

    kept = load([data], limits, work=work_for(data))

    assert kept.problems["reason"].tolist() == ["it holds more than 100 numbers, the limit (log_numbers), so it was not read"]
    assert tables(kept) == tables(load([data], limits, work=Work(cache=Cache(None))))


@pytest.fixture
def releases(tmp_path: Path) -> Path:
    """Two runs of each of three releases. One run is published."""
    for number in range(6):
        add_run(tmp_path / "data" / str(number), FIRST + number, release=f"{number % 3}.0", published=number == 2)
    return tmp_path / "data"


def test_release_is_compared_without_reading_other_releases(releases: Path) -> None:
    work = work_for(releases)

    side = find("1.0", [releases], work)

    assert side.runs["run"].tolist() == ["1", "4"]
    assert work.tally.read == 3  # Three logs are read: of the two runs of 1.0, and of the published run of 2.0.


def test_two_releases_are_compared_with_one_search_of_their_folder(releases: Path) -> None:
    work = work_for(releases)

    new, old = find_all(["1.0", "0.0"], [releases], work)

    # Five logs are read: of the two runs of 1.0, of the two runs of 0.0, and of the published run of 2.0, which is read only once.
    assert work.tally.read == 5
    assert (old.runs["run"].tolist(), new.runs["run"].tolist()) == (["0", "3"], ["1", "4"])


def test_releases_in_different_folders_are_found(tmp_path: Path) -> None:
    add_run(tmp_path / "a" / "1", 2_000_001, release="1.0")
    add_run(tmp_path / "b" / "1", 2_000_002, release="1.0")
    add_run(tmp_path / "b" / "2", 2_000_003, release="2.0")

    old, new = find_all(["1.0", "2.0"], [tmp_path / "a", tmp_path / "b"])

    assert old.runs["root"].tolist() == [str(tmp_path / "a" / "1")]
    assert new.runs["run"].tolist() == ["2"]


def test_command_shows_and_empties_the_cache(data: Path) -> None:
    cache = data.parent / "cache"
    environment = {VARIABLE: str(cache)}
    run_tacholog_text("export", data, "--output", data.parent / "numbers.csv", environment=environment)

    shown = run_tacholog_text("cache", environment=environment)
    cleared = run_tacholog_text("cache", "--clear", environment=environment)

    assert shown.stdout.splitlines()[0].startswith(f"{cache / FILE}: 0.0 MB")
    assert "  runs: 3, 0.0 MB" in shown.stdout
    assert cleared.stdout == f"{cache / FILE} is empty\n"
    assert "  runs: 0, 0.0 MB" in run_tacholog_text("cache", environment=environment).stdout


def test_published_runs_without_results_can_be_loaded(tmp_path: Path) -> None:
    add_run(tmp_path / "data" / "a", "Length:    32  Packets: 77\n", published=True, release="1")

    assert len(load([tmp_path / "data"]).results) == 0


@pytest.mark.parametrize("damage", ["flipped", "cut", "empty", "gone", "of others"])
def test_missing_or_damaged_part_of_the_cached_tables_is_made_again(data: Path, damage: str) -> None:
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


def test_only_the_owner_can_read_the_tables_in_the_cache(data: Path) -> None:
    before = os.umask(0)
    try:
        received(data)
    finally:
        os.umask(before)

    assert parts(data)
    assert {path.stat().st_mode & 0o777 for path in parts(data)} == {0o600}
    assert (data.parent / "cache" / PARTS).stat().st_mode & 0o777 == 0o700


def test_simultaneous_commands_print_and_store_the_same_results(data: Path) -> None:
    words = [sys.executable, "-m", "tacholog", "export", "--data", str(data), "--output"]
    environment = {**os.environ, VARIABLE: str(data.parent / "cache")}
    commands = [subprocess.Popen([*words, str(data.parent / f"{number}.csv")], env=environment) for number in range(3)]

    assert [command.wait() for command in commands] == [0, 0, 0]
    assert len({(data.parent / f"{number}.csv").read_bytes() for number in range(3)}) == 1
    assert received(data) == (NUMBERS, 0, 3)


LOADING = """
import os, pathlib, resource, signal, sys
from tacholog.store import parts
from tacholog.store.cache import Cache
from tacholog.store.load import load
from tacholog.store.pool import Work
folder = pathlib.Path(sys.argv[1])
cache = Cache(folder.parent / "cache")
{}
load([folder], work=Work(cache=cache))
"""
KILLED = "parts._sha256 = lambda path: os.kill(os.getpid(), 9)"
FULL = "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))"


def loading(data: Path, trouble: str) -> subprocess.CompletedProcess[str]:
    """Run a program that first executes the code in ``trouble`` and then reads the runs. Return the ended program with its output."""
    return subprocess.run([sys.executable, "-c", LOADING.format(trouble), str(data)], check=False, capture_output=True, text=True)


def test_command_killed_while_writing_a_part_leaves_no_part(data: Path) -> None:
    assert loading(data, KILLED).returncode == -signal.SIGKILL
    assert not [path for path in parts(data) if path.suffix == ".parquet"]
    assert received(data) == (NUMBERS, 3, 0)
    assert received(data) == (NUMBERS, 0, 3)


def test_part_that_does_not_fit_on_the_disk_is_not_stored(data: Path) -> None:
    assert "the numbers of the logs cannot be written there; make room" in loading(data, FULL).stderr
    assert parts(data) == []
    assert received(data) == (NUMBERS, 3, 0)


def test_full_disk_of_the_cache_does_not_stop_reading_and_leaves_no_partial_file(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put, full = os.open, OSError(28, "No space left on device")

    def opened(path: str | Path, flags: int, mode: int = 0o777, **more: int) -> int:
        if str(path).startswith(str(data.parent / "cache" / PARTS)) and flags & os.O_CREAT:
            raise full
        return put(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", opened)
    assert received(data) == (NUMBERS, 3, 0)
    monkeypatch.undo()

    assert parts(data) == []
    assert received(data) == (NUMBERS, 3, 0)


def test_temporary_parts_are_deleted_at_the_end_of_a_command_if_there_is_no_cache(data: Path, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "no folder").write_text("")
    environment = {"TMPDIR": str(tmp_path / "tmp"), VARIABLE: str(tmp_path / "no folder")}

    done = run_tacholog_text("export", "--data", data, environment=environment)

    assert done.stdout.count("messages_received") == 6
    assert [*(tmp_path / "tmp").iterdir()] == []


def test_rows_have_the_order_of_their_runs_even_if_the_cache_has_several_parts(data: Path) -> None:
    (data / "1").rename(data.parent / "later")
    assert received(data) == ([FIRST, FIRST + 2], 2, 0)
    (data.parent / "later").rename(data / "1")

    assert received(data) == (NUMBERS, 1, 2)
    assert len(parts(data)) == 2
    cache = {VARIABLE: str(data.parent / "cache")}
    for kind in ("csv", "json"):
        exported = run_tacholog_text("export", "--data", str(data), "--format", kind, environment=cache).stdout
        assert sorted(map(str, NUMBERS), key=exported.index) == [*map(str, NUMBERS)]


def test_later_command_deletes_unused_parts_of_the_cache_unless_they_are_new(data: Path) -> None:
    received(data)
    (named,) = parts(data)
    lost, young = named.with_name(f"{'1' * 64}.parquet"), named.with_name(f"{'2' * 64}.parquet")
    half, foreign = named.with_name(".part-7-killed"), named.with_name("notes.txt")
    for path in (lost, young, half, foreign):
        path.write_bytes(b"x")
    for path in (named, lost, half, foreign):
        os.utime(path, (1, 1))

    received(data)
    assert lost.exists()  # No log was read, so nothing was deleted.
    add_run(data / "3", 7)
    received(data)

    assert {path for path in (named, lost, young, half, foreign) if path.exists()} == {named, young, foreign}
