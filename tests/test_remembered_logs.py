"""A log or a manifest is opened only if somebody may have written to it since a command read it, or if the cache has lost what it gave."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tacholog.cli import tacholog
from tacholog.evidence import _open
from tacholog.runs.manifest import LogFile, Manifest, write
from tacholog.site.verification.receipt import verify_data
from tacholog.store.cache import VARIABLE, Cache, Kind
from tacholog.store.load import load
from tacholog.store.pool import Work

LINE = "Length:    32  Packets: {:8d}  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)\n"
OF_RUNS = {"a/run.toml", "a/sub.log", "b/run.toml", "b/sub.log"}
FIRST, SECOND, OTHER = 77_841_180, 77_841_181, 77_841_199


@pytest.fixture(autouse=True)
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """All happens a minute after the files were written."""
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 60_000_000_000)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of runs that were opened."""
    paths: list[str] = []

    def opening(path: str, flags: int, at: int | None) -> int:
        paths.append("/".join(path.rsplit("/", 2)[-2:]))
        return _open(path, flags, at)

    monkeypatch.setattr("tacholog.evidence._open", opening)
    return paths


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, packets in (("a", FIRST), ("b", SECOND)):
        run(tmp_path / "data" / name, packets)
    return tmp_path / "data"


def run(folder: Path, packets: int) -> None:
    """A run with one log."""
    content = LINE.format(packets).encode()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sub.log").write_bytes(content)
    write(folder / "run.toml", Manifest(system="rti", logs=(LogFile(file="sub.log", sha256=hashlib.sha256(content).hexdigest()),)))


def built(data: Path, cache: str = "cache") -> list[int]:
    """The messages that the runs received, as a command reads them that has just begun."""
    results = load([data], work=Work(cache=Cache(data.parent / cache))).results
    return [*map(int, results["value"][results["metric"] == "messages_received"])]


@pytest.mark.machinery
def test_nothing_is_opened_that_nobody_changed(data: Path, opened: list[str]) -> None:
    assert built(data) == [FIRST, SECOND]
    assert {*opened} == OF_RUNS
    opened.clear()

    assert built(data) == [FIRST, SECOND]
    assert opened == []


@pytest.mark.machinery
@pytest.mark.parametrize("words", [["check", "data"], ["export", "--data", "data", "--format", "json"], ["diff", "data/a", "data/b"]])
def test_no_command_opens_what_another_one_has_read(data: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    monkeypatch.setenv(VARIABLE, str(data.parent / "cache"))
    monkeypatch.chdir(data.parent)
    built(data)
    opened.clear()

    assert CliRunner().invoke(tacholog, words).exit_code in (0, 4)
    assert not {*opened} & OF_RUNS


@pytest.mark.machinery
def test_verify_opens_what_another_command_has_read(data: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(data.parent / "cache"))
    built(data)
    opened.clear()

    assert verify_data(data).numbers
    assert {*opened} == OF_RUNS


@pytest.mark.machinery
def test_a_run_more_and_a_changed_one_are_opened(data: Path, opened: list[str]) -> None:
    built(data)
    run(data / "c", OTHER)
    run(data / "b", OTHER)
    opened.clear()

    assert built(data) == [FIRST, OTHER, OTHER]
    assert {*opened} == {"b/run.toml", "b/sub.log", "c/run.toml", "c/sub.log"}


def test_a_log_is_opened_although_its_size_and_its_times_are_those_of_before(data: Path) -> None:
    built(data)
    log = data / "a/sub.log"
    before = log.stat()
    log.write_text(LINE.format(OTHER))
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert built(data) == [OTHER, SECOND]


@pytest.mark.machinery
def test_all_is_read_again_when_the_cache_is_empty(data: Path) -> None:
    assert built(data) == built(data, "another cache") == [FIRST, SECOND]


@pytest.mark.machinery
def test_a_log_that_was_exchanged_while_it_was_looked_up_is_kept_under_its_own_content(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(data)
    cache, look_up = Cache(data.parent / "another cache"), Cache.get

    def exchanged(cache: Cache, kind: Kind, keys: Iterable[bytes]) -> object:
        found = look_up(cache, kind, keys)
        if kind is Kind.RUN:
            (data / "a/sub.log").write_text(LINE.format(OTHER))
        return found

    monkeypatch.setattr(Cache, "get", exchanged)
    load([data], work=Work(cache=cache))
    monkeypatch.undo()

    assert built(data, "another cache") == [OTHER, SECOND]
    (data / "a/sub.log").write_text(LINE.format(FIRST))
    assert built(data, "another cache") == [FIRST, SECOND]


def test_a_link_in_the_place_of_a_log_is_refused(data: Path) -> None:
    built(data)
    (data / "a/sub.log").rename(data.parent / "moved.log")
    (data / "a/sub.log").symlink_to(data.parent / "moved.log")

    assert built(data) == [SECOND]


def test_a_manifest_that_cannot_be_read_is_named_at_each_build(data: Path) -> None:
    (data / "a/run.toml").write_text("system = ")

    for _ in range(2):
        problems = load([data], work=Work(cache=Cache(data.parent / "cache"))).problems
        assert [run for run, log in zip(problems["run"], problems["log"], strict=True) if log == "run.toml"] == ["a"]
