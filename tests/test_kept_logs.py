"""What the cache gives of logs is what reading them gives; what it cannot know, or what was damaged, is read."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from tests.command import run_tacholog_text
from tests.samples import SAMPLE_LOGS

from tacholog.compare.sides import find, find_all
from tacholog.privacy.redact import redacted
from tacholog.privacy.settings import Privacy
from tacholog.runs.manifest import LogFile, Manifest, write
from tacholog.schema.tables import TABLES
from tacholog.store.cache import FILE, Cache
from tacholog.store.frames import Dataset
from tacholog.store.load import load, load_logs
from tacholog.store.logs import ReadingLimits
from tacholog.store.pool import Work

TABLE_RUN = list(TABLES["results"]).index("run")


def summary(rate: int) -> str:
    """A line of RTI's, whose figures agree with each other."""
    return f"Length:    32  Packets: {rate * 30:8d}  Packets/s(ave): {rate:8d}  Mbps(ave): {rate * 32 * 8 / 1e6:7.1f}  Lost:     0 (0.00%)\n"


def run(folder: Path, rate: int = 2_594_706, **about: object) -> Path:
    """A run with one log."""
    content = summary(rate).encode()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sub.log").write_bytes(content)
    entry = LogFile(file="sub.log", sha256=hashlib.sha256(content).hexdigest(), participant=about.pop("participant", None))  # type: ignore[arg-type]
    write(folder / "run.toml", Manifest(system="rti", logs=(entry,), **about))  # type: ignore[arg-type]
    return folder


def tables(dataset: Dataset) -> dict[str, list[list[object]]]:
    found = {name: getattr(dataset, name).astype("object") for name in TABLES}
    if "bins" in found["histograms"]:
        found["histograms"]["bins"] = [bins.tolist() for bins in found["histograms"]["bins"]]
    return {name: table.where(table.notna(), None).to_numpy().tolist() for name, table in found.items()}


def counts(work: Work) -> tuple[int, int]:
    return work.tally.read, work.tally.cached


def test_every_sample_log_comes_out_of_the_cache_as_it_was_read(tmp_path: Path) -> None:
    first, second = Work(cache=Cache(tmp_path)), Work(cache=Cache(tmp_path))

    read = tables(load_logs(SAMPLE_LOGS, skip_unreadable=True, work=first))
    kept = tables(load_logs(SAMPLE_LOGS, skip_unreadable=True, work=second))

    assert kept == read
    assert read == tables(load_logs(SAMPLE_LOGS, skip_unreadable=True, work=Work(cache=Cache(None))))
    assert first.tally.cached == 0
    assert second.tally.cached > 200


@pytest.mark.parametrize("change", ["log", "manifest", "name"])
def test_a_changed_log_or_manifest_is_read_again(tmp_path: Path, change: str) -> None:
    cache = Cache(tmp_path / "cache")
    folder = run(tmp_path / "data" / "a", release="1")
    load([tmp_path / "data"], work=Work(cache=cache))

    if change == "log":
        (folder / "sub.log").write_text(summary(3_000_000))
    elif change == "manifest":
        run(folder, release="2")
    else:
        folder.rename(tmp_path / "data" / "b")
    work = Work(cache=cache)
    found = load([tmp_path / "data"], work=work)

    assert counts(work) == ((0, 1) if change == "name" else (1, 0))
    assert tables(found) == tables(load([tmp_path / "data"], work=Work(cache=Cache(None))))


def test_a_log_is_read_again_although_its_size_and_its_times_are_those_of_before(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    log = run(tmp_path / "data" / "a") / "sub.log"
    before = log.stat()
    load([tmp_path / "data"], work=Work(cache=cache))

    log.write_bytes(log.read_bytes().replace(b"77841180", b"77841181"))
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))
    work = Work(cache=cache)
    found = load([tmp_path / "data"], work=work).results

    assert (log.stat().st_size, log.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert counts(work) == (1, 0)
    assert found["value"][found["metric"] == "messages_received"].tolist() == [77_841_181]


def test_copies_of_a_run_are_each_taken_from_the_cache_and_do_not_change_each_other(tmp_path: Path) -> None:
    for number in range(4):
        run(tmp_path / "data" / str(number), 2_000_000 + number % 2, clocks="several")
    first, again = Work(cache=Cache(tmp_path / "cache")), Work(cache=Cache(tmp_path / "cache"))

    read = tables(load([tmp_path / "data"], work=first))

    assert tables(load([tmp_path / "data"], work=again)) == read
    assert (counts(first), counts(again)) == ((4, 0), (0, 4))
    assert len({row[TABLE_RUN] for row in read["results"]}) == 4


def test_after_some_logs_that_were_read_together_changed_the_others_are_still_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    for number in range(30):
        run(tmp_path / "data" / f"{number:02d}", 2_000_000 + number)
    load([tmp_path / "data"], work=Work(cache=cache))
    for number in (0, 7, 29):
        run(tmp_path / "data" / f"{number:02d}", 3_000_000 + number)
    run(tmp_path / "data" / "before", 4_000_000)

    changed, again = Work(cache=cache), Work(cache=cache)
    found = tables(load([tmp_path / "data"], work=changed))

    assert found == tables(load([tmp_path / "data"], work=Work(cache=Cache(None))))
    assert tables(load([tmp_path / "data"], work=again)) == found
    assert (counts(changed), counts(again)) == ((4, 27), (0, 31))


def test_a_log_that_cannot_be_read_is_tried_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    folder = run(tmp_path / "data" / "a")
    (folder / "sub.log").write_text("no log of any tool\n")
    assert load([tmp_path / "data"], work=Work(cache=cache)).problems["kind"].tolist() == ["unreadable"]

    work = Work(cache=cache)
    load([tmp_path / "data"], work=work)

    assert counts(work) == (1, 0)


def test_limits_hold_for_a_log_that_was_kept_without_them(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    run(tmp_path / "data" / "a")
    load([tmp_path / "data"], work=Work(cache=cache))

    for limits in (ReadingLimits(50, 1000), ReadingLimits(1000, 3)):
        kept = load([tmp_path / "data"], limits, work=Work(cache=cache))

        assert tables(kept) == tables(load([tmp_path / "data"], limits, work=Work(cache=Cache(None))))
        assert len(kept.results) == 0


def test_of_a_log_beyond_both_limits_the_same_one_is_named_whether_it_was_kept_or_not(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    content = "".join(summary(2_000_000 + number) for number in range(20_000)).encode()  # beyond 100 numbers long before 2 MB of text
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sub.log").write_bytes(content)
    write(tmp_path / "data" / "run.toml", Manifest(system="rti", logs=(LogFile(file="sub.log", sha256=hashlib.sha256(content).hexdigest()),)))
    load([tmp_path / "data"], work=Work(cache=cache))
    limits = ReadingLimits(len(content) - 1, 100)

    kept = load([tmp_path / "data"], limits, work=Work(cache=cache))

    assert kept.problems["reason"].tolist() == ["it holds more than 100 numbers, the limit (log_numbers), so it was not read"]
    assert tables(kept) == tables(load([tmp_path / "data"], limits, work=Work(cache=Cache(None))))


def test_a_release_is_compared_without_reading_the_others(tmp_path: Path) -> None:
    for number in range(6):
        run(tmp_path / "data" / str(number), 2_000_000 + number, release=f"{number % 3}.0")
    work = Work(cache=Cache(tmp_path / "cache"))

    side = find("1.0", [tmp_path / "data"], work)

    assert counts(work) == (2, 0)
    assert side.runs["run"].tolist() == ["1", "4"]


def test_two_releases_are_compared_with_one_search_of_their_folder(tmp_path: Path) -> None:
    for number in range(6):
        run(tmp_path / "data" / str(number), 2_000_000 + number, release=f"{number % 3}.0", published=number == 2)
    work = Work(cache=Cache(tmp_path / "cache"))

    new, old = find_all(["1.0", "0.0"], [tmp_path / "data"], work)

    assert counts(work) == (5, 0)  # the published run of 2.0 too, but only once
    assert (old.runs["run"].tolist(), new.runs["run"].tolist()) == (["0", "3"], ["1", "4"])


def test_releases_of_different_folders_are_found(tmp_path: Path) -> None:
    run(tmp_path / "a" / "1", 2_000_001, release="1.0")
    run(tmp_path / "b" / "1", 2_000_002, release="1.0")
    run(tmp_path / "b" / "2", 2_000_003, release="2.0")

    old, new = find_all(["1.0", "2.0"], [tmp_path / "a", tmp_path / "b"])

    assert old.runs["root"].tolist() == [str(tmp_path / "a" / "1")]
    assert new.runs["run"].tolist() == ["2"]


def test_names_in_the_results_of_own_runs_are_replaced(tmp_path: Path) -> None:
    run(tmp_path / "data" / "a", host="acme-secret-box", participant="acme-secret-box")

    shown = redacted(load([tmp_path / "data"]), Privacy(), tmp_path / "shown")

    assert not shown.results.astype("string").map(lambda cell: "secret" in str(cell)).to_numpy().any()
    assert len(shown.results) > 0


def test_the_command_shows_and_empties_the_cache(tmp_path: Path) -> None:
    run(tmp_path / "data" / "a")
    environment = {"TACHOLOG_CACHE": str(tmp_path / "cache")}
    run_tacholog_text("check", tmp_path / "data", environment=environment)

    shown = run_tacholog_text("cache", environment=environment)
    cleared = run_tacholog_text("cache", "--clear", environment=environment)

    assert shown.stdout.splitlines()[0].startswith(f"{tmp_path / 'cache' / FILE}: 0.0 MB")
    assert "  runs: 1, 0.0 MB" in shown.stdout
    assert cleared.stdout == f"{tmp_path / 'cache' / FILE} is empty\n"
    assert "  runs: 0, 0.0 MB" in run_tacholog_text("cache", environment=environment).stdout


def test_published_runs_without_results_are_no_trouble(tmp_path: Path) -> None:
    folder = run(tmp_path / "data" / "a", published=True, release="1")
    (folder / "sub.log").write_text("Length:    32  Packets: 77\n")

    assert len(load([tmp_path / "data"]).results) == 0
