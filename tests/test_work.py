"""Logs are read in several processes and on a cluster as they are in one process; a process that is lost costs only what it was reading."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from tacholog.store.cluster import Cluster
from tacholog.store.work.entries import DamagedEntry, EntryPack, LogEntry, ReadLogs, checked, decoded, encoded
from tacholog.store.work.tasks import Heard, InThisProcess, LogTask, Promise
from tests.left_out import leave_out
from tests.waiting import LIMIT_S, until

from tacholog.errors import TachologError
from tacholog.runs.manifest import LogFile, Manifest, write
from tacholog.schema.tables import TABLES
from tacholog.store.cache import Cache, Kind, packed, unpacked
from tacholog.store.distributions import Distribution
from tacholog.store.fetch import Fetching, ListedRun
from tacholog.store.frames import Dataset
from tacholog.store.load import load
from tacholog.store.logs import read_log
from tacholog.store.pool import Pool
from tacholog.store.work import Work

LINE = "Length:    32  Packets: {:8d}  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)\n"
LATENCY = Path(__file__).resolve().parent / "formats/native/latency-udp.log"


def runs(root: Path, count: int) -> None:
    """So many runs, each with one small log."""
    for number in range(count):
        content = LINE.format(77_841_180 + number).encode()
        folder = root / f"{number:04d}"
        folder.mkdir(parents=True)
        (folder / "sub.log").write_bytes(content)
        write(folder / "run.toml", Manifest(system="rti", logs=(LogFile(file="sub.log", sha256=hashlib.sha256(content).hexdigest()),)))


@contextmanager
def as_few_open_files_as_possible(more: int) -> Iterator[None]:
    """Let this process open only so many more files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    held = [os.open(os.devnull, os.O_RDONLY)]
    while held[-1] < highest:  # No number below the highest one is left free.
        held.append(os.open(os.devnull, os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[-1] + 1 + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for file in held:
            os.close(file)


def tables(dataset: Dataset) -> dict[str, list[list[object]]]:
    found = {name: getattr(dataset, name).astype("object") for name in TABLES}
    return {name: table.where(table.notna(), None).to_numpy().tolist() for name, table in found.items()}


def contents(cache: Cache) -> set[tuple[bytes, bytes]]:
    """The entries of logs that a cache keeps, each as a pack of its own: how many there are in one depends on who read them."""
    assert cache.path
    import sqlite3

    with sqlite3.connect(cache.path) as file:
        keys = [key for (key,) in file.execute("SELECT key FROM log")]
    file.close()
    return {(key, encoded([decoded(content).entry(place)])) for content, wanted in cache.packs(Kind.LOG, keys) for key, place in wanted}


def entries_of(promise: Promise) -> list[LogEntry]:
    return [pack.entry(place) for pack in (read.pack() for read in promise.result()) for place in range(len(pack))]


def task(content: bytes, log_format: str | None = None) -> LogTask:
    entry = LogFile(file="some.log", sha256=hashlib.sha256(content).hexdigest(), format=log_format)
    return LogTask(msgspec.json.encode(Manifest(system="rti", logs=(entry,))), 0, content, "/nowhere", size_bytes=len(content))


GOOD = [task(LINE.format(77_841_180 + number).encode()) for number in range(3)]
HANGING = """
import os, time
from tacholog.formats.kit import Detected
SYSTEM, TOOL, DIALECTS, DEFINITIONS = "x", "x", (), {}
def detect(head): return Detected("poison" in head, "a line with 'poison'")
def parse(lines):
    for line in lines:
        if "hang" in line.text:
            open("begun", "w").close()
            time.sleep(3600)
        if "die" in line.text: os.kill(os.getpid(), 9)
        if "print" in line.text: print("what a format prints")
        yield from ()
"""


@pytest.fixture
def poisoned_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A format of somebody else that hangs or dies."""
    folder = tmp_path / "installed"
    (folder / "poisoned_format-1.0.dist-info").mkdir(parents=True)
    (folder / "poisoned_format.py").write_text(HANGING)
    (folder / "poisoned_format-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: poisoned-format\nVersion: 1.0\n")
    (folder / "poisoned_format-1.0.dist-info" / "entry_points.txt").write_text("[tacholog.formats]\npoisoned = poisoned_format\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))


def test_several_processes_give_the_same_bytes_as_one() -> None:
    pool = Pool(2)
    in_pool = [pool.submit(GOOD, lambda _place, _count: None) for _ in range(5)]
    here = [InThisProcess().submit(GOOD, lambda _place, _count: None) for _ in range(5)]

    assert [[read.content for read in promise.result()] for promise in in_pool] == [[read.content for read in promise.result()] for promise in here]
    pool.close()


@pytest.fixture
def patient_until_it_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nobody lose patience with a process before it has begun to hang, and nobody wait any longer."""
    begun = Path.cwd() / "begun"

    def waited(reading: list[int], writing: list[int], failing: list[int], _patience_s: float) -> tuple[list[int], ...]:
        while True:
            hangs = begun.exists()
            found = select.select(reading, writing, failing, 0.02)
            if any(found):
                return found
            if hangs:
                begun.unlink()
                return found

    monkeypatch.setattr("tacholog.store.pool.select", SimpleNamespace(select=waited))


@pytest.mark.usefixtures("poisoned_format", "patient_until_it_hangs")
@pytest.mark.parametrize(
    ("poison", "reason"),
    [
        ("poison: hang", "reading it took too long: nothing happened for 300 s"),
        ("poison: die", "the process that read it ended (SIGKILL)"),
    ],
)
def test_a_log_that_hangs_or_kills_its_reader_costs_only_itself(poison: str, reason: str) -> None:
    pool = Pool(1)
    tasks = [GOOD[0], task(f"{poison}\n".encode()), GOOD[1], task(b"poison: print\n"), GOOD[2]]

    entries = entries_of(pool.submit(tasks, lambda _place, _count: None))

    pool.close()
    assert [entry.head.is_lost for entry in entries] == [False, True, False, False, False]
    assert [problem.reason for problem in entries[1].head.problems] == [reason]
    assert [len(entry.columns.records.line) for entry in entries] == [1, 0, 1, 0, 1]


@pytest.mark.usefixtures("poisoned_format")
def test_of_logs_that_are_read_together_each_that_kills_its_reader_is_lost_and_no_other() -> None:
    pool, poison = Pool(1), [task(f"poison: die {number}\n".encode()) for number in range(3)]
    large = task(LINE.format(77_841_183).encode() * 4000)
    heard: list[int] = []

    entries = entries_of(pool.submit([poison[0], *GOOD, poison[1], poison[2], large], lambda place, _count: heard.append(place)))

    pool.close()
    assert [entry.head.is_lost for entry in entries] == [True, False, False, False, True, True, False]
    assert [entry.columns.records.line.size for entry in entries] == [0, 1, 1, 1, 0, 0, 4000]
    assert [entry.columns.numbers.value[0] for entry in entries[1:4]] == [77_841_180, 77_841_181, 77_841_182]
    assert set(heard) == {6}


class Given:
    """Reads in this process, as so many others would, and keeps what it was given at a time."""

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self.sizes: list[list[int]] = []

    def submit(self, tasks: Sequence[LogTask], heard: Heard) -> Promise:
        self.sizes.append([task.size_bytes for task in tasks])
        return InThisProcess().submit(tasks, heard)

    def close(self) -> None:
        pass


class Miscounts(Given):
    """Gives an answer for another number of logs than it was given."""

    def submit(self, tasks: Sequence[LogTask], heard: Heard) -> Promise:
        return super().submit([*tasks, tasks[0]] if self.processes > 1 else tasks[1:], heard)


@pytest.mark.machinery
@pytest.mark.parametrize("processes", [1, 2])
def test_an_answer_for_other_logs_is_refused(tmp_path: Path, processes: int) -> None:
    fetching = Fetching(Cache(None), lambda _logs, _size: Miscounts(processes))

    with pytest.raises(DamagedEntry, match="more or fewer"):
        list(fetching.runs(listed(tmp_path, [b"\n"] * 3)))


@pytest.mark.machinery
@pytest.mark.parametrize(("processes", "chunk"), [(2, 256), (8, 64), (100, 32)])
def test_the_more_processes_read_the_fewer_logs_each_is_given_at_a_time(tmp_path: Path, processes: int, chunk: int) -> None:
    given = Given(processes)

    list(Fetching(Cache(None), lambda _logs, _size: given).runs(listed(tmp_path, [b"\n"] * 1024)))

    assert [len(sizes) for sizes in given.sizes] == [chunk] * (1024 // chunk)


@pytest.mark.machinery
def test_other_processes_are_given_work_ahead_within_bounds(tmp_path: Path) -> None:
    given = Given(2)
    found = Fetching(Cache(None), lambda _logs, _size: given).runs(listed(tmp_path, [b"x" * 2_000_000] * 60))

    next(found)

    assert 32 <= sum(map(len, given.sizes)) <= 40  # 64 MiB, and the window that exceeds them
    assert len(list(found)) == 59


@pytest.mark.machinery
def test_logs_larger_than_what_is_read_ahead_keep_all_processes_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacholog.store.fetch._WINDOW_BYTES", 1000)
    monkeypatch.setattr("tacholog.store.fetch._AHEAD_BYTES", 1000)
    given = Given(3)
    found = Fetching(Cache(None), lambda _logs, _size: given).runs(listed(tmp_path, [b"x" * 2000] * 60))

    next(found)

    assert sum(map(len, given.sizes)) == 6  # two for each


@pytest.mark.machinery
def test_of_large_logs_in_the_cache_few_are_taken_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, given = Cache(tmp_path / "cache"), Given(3)
    kept = [*listed(tmp_path, [b"x" * 2000 + bytes([number]) for number in range(60)])]
    list(Fetching(cache, lambda _logs, _size: given).runs(kept[1:]))
    monkeypatch.setattr("tacholog.store.fetch._WINDOW_BYTES", 1000)
    monkeypatch.setattr("tacholog.store.fetch._AHEAD_BYTES", 1000)
    fetching = Fetching(cache, lambda _logs, _size: given)

    next(fetching.runs(kept))

    assert (fetching.tally.read, fetching.tally.kept) == (1, 6)


@pytest.mark.machinery
def test_this_process_reads_no_log_before_it_is_needed(tmp_path: Path) -> None:
    given = Given(0)
    found = Fetching(Cache(None), lambda _logs, _size: given).runs(listed(tmp_path, [b"\n"] * 2000))

    next(found)

    assert sum(map(len, given.sizes)) == 1024


def listed(root: Path, contents: Sequence[bytes]) -> Iterator[ListedRun]:
    for number, content in enumerate(contents):
        folder = root / f"{number:04d}"
        folder.mkdir()
        (folder / "some.log").write_bytes(content)
        manifest = Manifest(system="rti", logs=(LogFile(file="some.log", sha256=hashlib.sha256(content).hexdigest(), format="rti"),))
        yield ListedRun(folder.name, folder, manifest, msgspec.json.encode(manifest))


def test_a_process_that_is_lost_once_costs_nothing() -> None:
    pool = Pool(1)
    first = pool.submit(GOOD[:1], lambda _place, _count: None).result()
    for process in pool.started():
        os.kill(process, signal.SIGKILL)

    again = pool.submit(GOOD[:1], lambda _place, _count: None).result()

    pool.close()
    assert again == first


@pytest.mark.parametrize("first_refused", [1, 2])
def test_where_the_system_starts_no_thread_logs_are_read_in_this_process(first_refused: int, monkeypatch: pytest.MonkeyPatch) -> None:
    start, started, said = threading.Thread.start, [0], list[str]()

    def refused(thread: threading.Thread) -> None:
        started[0] += 1
        if started[0] >= first_refused:
            raise RuntimeError("can't start new thread")
        start(thread)

    pool = Pool(1, warned=said.append)
    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", refused)
        entries = entries_of(pool.submit(GOOD, lambda _place, _count: None))

    pool.close()
    assert [entry.columns.records.line.size for entry in entries] == [1, 1, 1]
    assert said == [
        "the system starts no further process (can't start new thread): some logs are read in this one, where a log that hangs stops everything"
    ]


@pytest.mark.usefixtures("poisoned_format")
def test_where_the_system_starts_no_process_logs_are_read_in_this_one() -> None:
    large = task(LINE.format(77_841_183).encode() * 4000)
    said: list[str] = []
    pool = Pool(1, warned=said.append)

    with as_few_open_files_as_possible(more=3):  # Too few for a process and its pipes.
        entries = entries_of(pool.submit([*GOOD, large], lambda _place, _count: None))
        again = entries_of(pool.submit(GOOD, lambda _place, _count: None))
    afterwards = entries_of(pool.submit(GOOD, lambda _place, _count: None))

    started = pool.started()
    pool.close()
    assert [problem for entry in entries for problem in entry.head.problems] == []
    assert [entry.columns.records.line.size for entry in entries] == [1, 1, 1, 4000]
    assert [encoded([entry]) for entry in again] == [encoded([entry]) for entry in afterwards]
    assert said == [
        "the system starts no further process (Too many open files): some logs are read in this one, where a log that hangs stops everything"
    ]
    assert len(started) == 1


def test_the_cache_is_filled_with_the_same_bytes_by_one_process_and_by_several(tmp_path: Path) -> None:
    runs(tmp_path / "data", 400)
    one, several = Cache(tmp_path / "one"), Cache(tmp_path / "several")
    work = Work(2, cache=several)

    alone = tables(load([tmp_path / "data"], work=Work(1, cache=one)))

    assert tables(load([tmp_path / "data"], work=work)) == alone
    assert (work.tally.read, work.tally.kept) == (400, 0)
    assert contents(one) == contents(several)
    assert tables(load([tmp_path / "data"], work=work)) == alone
    assert (work.tally.read, work.tally.kept) == (400, 400)


def test_a_log_of_many_numbers_is_the_same_read_here_read_elsewhere_and_taken_from_the_cache(tmp_path: Path) -> None:
    sizes = [(number, 77_841_180 * number) for number in range(1, 4001)]
    lines = [LINE.replace("   32", f"{size:5d}").replace("664.2", f"{2594706 * size * 8 / 1e6:.1f}").format(received) for size, received in sizes]
    content = "".join(lines).encode()
    (tmp_path / "data/run").mkdir(parents=True)
    (tmp_path / "data/run/sub.log").write_bytes(content)
    entry = LogFile(file="sub.log", sha256=hashlib.sha256(content).hexdigest())
    write(tmp_path / "data/run/run.toml", Manifest(system="rti", logs=(entry,)))
    cache, pool = Cache(tmp_path / "cache"), Pool(1)

    here = load([tmp_path / "data"], work=Work(1, cache=cache))
    again = Work(1, cache=cache)

    results = here.results[here.results["metric"] == "messages_received"]
    assert list(zip(results["payload_bytes"], results["value"], strict=True)) == sizes
    assert tables(load([tmp_path / "data"], work=again)) == tables(here)
    assert (again.tally.read, again.tally.kept) == (0, 1)
    assert {one.content for one in pool.submit([task(content)], lambda _place, _count: None).result()} == {
        one.content for one in InThisProcess().submit([task(content)], lambda _place, _count: None).result()
    }
    ((elsewhere,), (own,)) = (readers.submit([task(content)], lambda _place, _count: None).result() for readers in (pool, InThisProcess()))
    assert len(elsewhere.columns) == (13 if sys.platform == "linux" else 0)
    for name in ("records", "numbers"):
        found, expected = (getattr(read.pack().entry(0).columns, name) for read in (elsewhere, own))
        assert all(np.array_equal(*columns, equal_nan=True) for columns in zip(found, expected, strict=True))
    assert values_of(elsewhere.pack()) == values_of(ReadLogs(elsewhere.content).pack())  # without shared memory
    pool.close()


def values_of(pack: EntryPack) -> list[list[int]]:
    columns = pack.entry(0).columns
    return [column.tolist() for column in (*columns.record_words, *columns.number_words)]


def head_and_words(content: bytes) -> tuple[list[Any], bytes]:
    """What stands before the columns of a pack, and the columns."""
    plain = unpacked(content)
    size = int.from_bytes(plain[:8], "little")
    return msgspec.msgpack.decode(plain[8 : 8 + size]), plain[8 + size :]


def pack_of(head: list[Any], words: bytes) -> bytes:
    encoded_head = msgspec.msgpack.encode(head)
    return packed(len(encoded_head).to_bytes(8, "little") + encoded_head + words)


@pytest.mark.machinery
def test_a_pack_that_contradicts_itself_is_damaged() -> None:
    head, words = head_and_words(encoded(entries_of(InThisProcess().submit(GOOD, lambda _place, _count: None))))
    heads, shapes, names, meanings, meaning, records, numbers, widths = head
    right = {"heads": heads, "shapes": shapes, "names": names, "meanings": meanings, "meaning": meaning}
    right |= {"records": records, "numbers": numbers, "widths": widths}

    def pack_with(words: bytes = words, **changed: object) -> bytes:
        return pack_of(list({**right, **changed}.values()), words)

    assert (
        decoded(pack_with()).entry(2).columns.numbers.value.tolist()
        == entries_of(InThisProcess().submit(GOOD, lambda _place, _count: None))[2].columns.numbers.value.tolist()
    )
    wrong: list[dict[str, Any]] = [
        {"widths": widths[:-1]},
        {"widths": b""},
        {"widths": b"\x03" + widths[1:]},
        {"words": words[:-1]},
        {"words": words + b"\0"},
        {"records": records[:-1]},
        {"records": [-1, 2, 2]},
        {"numbers": [0, *numbers[1:]]},
        {"meaning": [0, 0, 7]},
        {"meaning": [0, 0, -1]},
        {"meanings": [[[0, 7], meanings[0][1]]]},
        {"meanings": []},
        {"names": names[:-1]},
    ]
    for changed in wrong:
        with pytest.raises(DamagedEntry):
            decoded(pack_with(**changed))


@pytest.mark.machinery
def test_what_another_process_sends_is_checked() -> None:
    (read,) = InThisProcess().submit(GOOD, lambda _place, _count: None).result()
    (*others, widths), words = head_and_words(encoded(entries_of(InThisProcess().submit(GOOD, lambda _place, _count: None))))
    assert list(widths) == [0, 0, 0, 0, 0, 4, 0, 1, 8, 8, 0, 0, 0]  # 0: one value of eight bytes stands for all
    shape, record = 2 * 8, 5 * 8 + 3 * 4  # where the shape of all records and the record of all numbers are
    assert len(checked(read.content)) == 3

    for place, byte in ((shape, 1), (shape + 7, 0xFF), (record, 3), (record + 7, 0xFF)):
        damaged = words[:place] + bytes([byte]) + words[place + 1 :]
        with pytest.raises(DamagedEntry):
            checked(pack_of([*others, widths], damaged))
    others[3] = [[[-1], others[3][0][1]]]
    with pytest.raises(DamagedEntry):
        checked(pack_of([*others, widths], words))
    for sent in (b"", b"\x01", b"\x02xyz", read.content[:-5], packed(b"no pack")):
        with pytest.raises(DamagedEntry):
            checked(sent)


@pytest.mark.machinery
def test_a_distribution_that_another_process_sent_damaged_is_noticed() -> None:
    with LATENCY.open("rb") as stream:
        entry = read_log(stream, Manifest(system="Sockets", logs=()), LogFile(file="a.log", sha256=""))
    assert [len(Distribution(one.packed)) for one in entry.head.histograms] == [566, 347]
    assert len(checked(encoded([entry]))) == 1

    entry.head.histograms[1].packed = entry.head.histograms[1].packed[:-1]
    with pytest.raises(DamagedEntry, match="a packed distribution is damaged"):
        checked(encoded([entry]))


class Running(NamedTuple):
    """A scheduler with two workers."""

    scheduler: subprocess.Popen[bytes]
    address: str
    workers: list[subprocess.Popen[bytes]]


def needs_dask() -> None:
    if find_spec("distributed") is None:
        leave_out("the package distributed is not installed")


@contextmanager
def cluster(folder: Path, patch: pytest.MonkeyPatch, connect_s: int = LIMIT_S) -> Iterator[Running]:
    """Start a scheduler and two workers, and wait until it knows both."""
    patch.setattr("tacholog.store.cluster._CONNECT_S", connect_s)
    distributed: Any = import_module("distributed")
    file = folder / "scheduler.json"
    quiet = {**os.environ, "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical"}

    def start(*words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", *words, "--scheduler-file", str(file)], env=quiet, cwd=folder, stderr=subprocess.DEVNULL)

    processes = [start("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-jupyter")]
    try:
        until(lambda: processes[0].poll() is not None or (file.exists() and file.read_text().endswith("}")), "the scheduler wrote its address")
        assert processes[0].poll() is None
        address = json.loads(file.read_text())["address"]
        own = ("--local-directory", str(folder))
        processes += [start("distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", "--no-dashboard", *own) for _ in range(2)]
        with distributed.Client(address, timeout=LIMIT_S, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=LIMIT_S)
        yield Running(processes[0], address, processes[1:])
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


@pytest.fixture
def soon_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often whether there are workers, on a clock that goes on by 20 seconds each time: a cluster without any is given up at the second look."""
    monkeypatch.setattr("tacholog.store.cluster._LOOK_S", 0.1)
    monkeypatch.setattr("tacholog.store.cluster.time", SimpleNamespace(monotonic=count(0, 20).__next__))


def test_a_cluster_gives_what_one_process_gives_although_a_worker_is_killed_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_dask()
    runs(tmp_path / "data", 2500)  # three windows of work
    one, of_cluster = Cache(tmp_path / "one"), Cache(tmp_path / "cluster")
    alone = tables(load([tmp_path / "data"], work=Work(1, cache=one)))
    killed: list[int] = []

    with cluster(tmp_path, monkeypatch) as running:

        def kill_one(done: int, total: int) -> None:
            if not killed and done < total:
                running.workers[0].kill()
                killed.append(done)

        work = Work(1, running.address, cache=of_cluster, told=kill_one)
        found = tables(load([tmp_path / "data"], work=work))

    assert killed == [1]
    assert work.tally.read == 2500
    assert found == alone
    assert contents(one) == contents(of_cluster)


@pytest.mark.nightly
@pytest.mark.usefixtures("soon_given_up")
@pytest.mark.parametrize(("lost", "connect_s"), [("all workers", LIMIT_S), ("the scheduler", 60)])  # so long it is called when it is gone
def test_what_a_cluster_that_is_lost_did_not_read_is_read_here(tmp_path: Path, lost: str, connect_s: int, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_dask()
    runs(tmp_path / "data", 1500)
    alone = tables(load([tmp_path / "data"], work=Work(1, cache=Cache(tmp_path / "one"))))
    said: list[str] = []

    with cluster(tmp_path, monkeypatch, connect_s) as running:

        def kill(_done: int, _total: int) -> None:
            for process in running.workers if lost == "all workers" else [running.scheduler]:
                process.kill()

        found = tables(load([tmp_path / "data"], work=Work(1, running.address, cache=Cache(tmp_path / "cluster"), told=kill, warned=said.append)))

    assert found == alone
    assert len(said) < 2  # The workers may have read everything by then.
    assert all(text.startswith("--cluster tcp://") and text.endswith("; the rest is read on this machine") for text in said)


@pytest.mark.nightly
@pytest.mark.usefixtures("soon_given_up")
def test_a_cluster_without_workers_is_given_up_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_dask()
    said: list[str] = []
    with cluster(tmp_path, monkeypatch) as running:
        readers = Cluster(running.address, 1, said.append)
        for worker in running.workers:
            worker.kill()
            worker.wait()
        found = entries_of(readers.submit(GOOD, lambda _place, _count: None))
        again = entries_of(readers.submit(GOOD, lambda _place, _count: None))
        readers.close()

    assert [entry.head for entry in found] == [entry.head for entry in entries_of(InThisProcess().submit(GOOD, lambda _place, _count: None))]
    assert [entry.head for entry in again] == [entry.head for entry in found]
    assert said == [f"--cluster {running.address}: the cluster had no workers for 30 seconds; the rest is read on this machine"]


def test_where_no_scheduler_answers_the_address_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_dask()
    monkeypatch.setattr("tacholog.store.cluster._CONNECT_S", 1)
    runs(tmp_path / "data", 1)

    with pytest.raises(TachologError, match=r"^--cluster tcp://127.0.0.1:9: no scheduler"):
        load([tmp_path / "data"], work=Work(1, "tcp://127.0.0.1:9", cache=Cache(None)))
