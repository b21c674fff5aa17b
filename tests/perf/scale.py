"""From one log to many: ingest to Parquet by format, small logs new and cached, growth with the number of runs, two releases, and a cluster.

All data is made here. CPU time of the command and its children, because the machine is shared. TACHOLOG_SCALE_RUNS names the numbers of runs whose
growth is measured (default 200,800; the goals are for 10000), TACHOLOG_SCALE_LOGS that of small logs for export and cluster (default 4000; the goals
are for 100000), TACHOLOG_SCALE_MB the size of a log (default 20).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from perf_table import Effort, Goal, LeftOut, Row

from tacholog.runs.manifest import LogFile, Manifest, read_manifest, write

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))
from tests.long_logs import HISTOGRAMS, LONG_LOGS  # noqa: E402 - the logs that the tests of the readers use

RUNS = [int(count) for count in os.environ.get("TACHOLOG_SCALE_RUNS", "200,800").split(",")]
LOGS = int(os.environ.get("TACHOLOG_SCALE_LOGS", "4000"))
LOG_BYTES = int(float(os.environ.get("TACHOLOG_SCALE_MB", "20")) * 1e6)
TACHOLOG = (sys.executable, "-m", "tacholog")
#: Bytes a CPU-second that reach Parquet, by the beginning of the name of the log.
GOALS = {"RTI summaries": 40e6, "RTI intervals": 40e6, "RTI CSV": 20e6, "Fast RTPS samples": 10e6, "RTI samples": 10e6, "eCAL samples": 10e6}
OTHER_GOAL = 20e6
NEW_LOGS_PER_S, CACHED_LOGS_PER_S = 1000, 8000
SMALL_BYTES = 3000
_NUMBERS = "import re,sys\nfor line in open(sys.argv[1]): re.findall(r'[0-9.]+', line)"
_SIZES = (32, 64, 256, 1024, 4096, 16384, 63000)


class Cost(NamedTuple):
    """What a command cost: CPU seconds with those of its children, seconds on the clock, and its largest resident set in MB."""

    cpu_s: float
    wall_s: float
    peak_mb: float


def measure(effort: Effort) -> Iterator[Row | LeftOut]:
    """Measure each part in a folder of its own, with a cache of its own."""
    del effort  # Each figure is of seconds, and is measured once.
    for part in (_ingest, _small_logs, _growth, _cluster):
        with tempfile.TemporaryDirectory() as folder:
            yield from part(Path(folder))


def cost(argv: Sequence[str], cache: Path, *, allowed: Sequence[int] = (0,)) -> Cost:
    """Run a command of Tacholog to its end."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            [*TACHOLOG, *argv], stdout=subprocess.DEVNULL, stderr=complaints, env={**os.environ, "TACHOLOG_CACHE": str(cache)}, cwd=cache.parent
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in allowed:
            complaints.seek(0)
            raise SystemExit(f"{' '.join(argv)} failed: {complaints.read().decode(errors='replace')}")
    return Cost(used.ru_utime + used.ru_stime, time.monotonic() - began, used.ru_maxrss * 1024 / 1e6)


def _ingest(folder: Path) -> Iterator[Row]:
    """Each format with a long log: a run with that log becomes Parquet, nothing in the cache."""
    empty = _run(folder / "empty" / "run", b"Length:  32  Packets: 7  Packets/s(ave): 7  Mbps(ave): 0.0  Lost: 0 (0.00%)\n", format="rti")
    start = cost(["export", "--data", str(empty.parent), "--format", "parquet", "--output", "x.parquet"], folder / "cache")
    for name, log in (LONG_LOGS | {"perftest histograms": HISTOGRAMS}).items():
        rows = 4000
        rows = max(rows, rows * LOG_BYTES // len(log.text(rows)))
        run = _run(folder / "data" / "run", log.text(rows).encode(), format=log.format)
        size, path = (run / "some.log").stat().st_size, run / "some.log"
        argv = ["export", "--data", str(run.parent), "--format", "parquet", "--jobs", "1", "--output", "x.parquet"]
        speed = size / (cost(argv, folder / "cache").cpu_s - start.cpu_s)
        goal = next((goal for begin, goal in GOALS.items() if name.startswith(begin)), OTHER_GOAL)
        yield Row(f"{name} to Parquet, a CPU-second", speed, "B/s", "goal", goal, Goal(">=", 1))
        yield Row(f"{name} to Parquet, a CPU-second", speed, "B/s", "Python's re", size / _of(sys.executable, "-c", _NUMBERS, str(path)))
        yield Row(f"{name} to Parquet, a CPU-second", speed, "B/s", "wc -l", size / _of("wc", "-l", str(path)))
        shutil.rmtree(folder / "data")


def _of(*argv: str) -> float:
    """CPU seconds of another program."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return max(used.ru_utime + used.ru_stime, 1e-3)


def _small_logs(folder: Path) -> Iterator[Row]:
    """Logs of 3 kB, each a run. What the command itself takes is left out: a quarter of the logs is measured too, and the difference counts."""
    made = {}
    for count in (LOGS // 4, LOGS):
        root, cache = folder / str(count), folder / f"cache{count}"
        _small_runs(root, count)
        argv = ["export", "--data", str(root), "--format", "parquet", "--jobs", "1", "--output", "x.parquet"]
        made[count] = cost(argv, cache), cost(argv, cache)
    more = LOGS - LOGS // 4
    for place, words, goal in ((0, "new", NEW_LOGS_PER_S), (1, "in the cache", CACHED_LOGS_PER_S)):
        few, all_ = made[LOGS // 4][place], made[LOGS][place]
        yield Row(f"logs of 3 kB, {words}, a CPU-second", more / max(all_.cpu_s - few.cpu_s, 1e-3), "/s", "goal", goal, Goal(">=", 1))
    peak = made[LOGS][0].peak_mb
    yield Row(f"export of {LOGS} logs, peak memory", peak, "MB", f"of {LOGS // 4}", made[LOGS // 4][0].peak_mb)
    yield Row(f"export of {LOGS} logs, peak memory", peak, "MB", "goal for a million", 4000, Goal("<=", 1))
    hours = made[LOGS][0].cpu_s / LOGS * 1e6
    yield Row("export of a million new logs, CPU time (extrapolated)", hours * 1e9, "ns", "of those in the cache", made[LOGS][1].cpu_s / LOGS * 1e15)


def _growth(folder: Path) -> Iterator[Row]:
    """Reports of runs of about 190 numbers: cold, with one run more, and a comparison of two releases."""
    colds, peaks = {}, {}
    for count in RUNS:
        root, cache = folder / f"{count}", folder / f"cache{count}"
        _long_runs(root, count)
        argv = ["report", str(root), "--output", f"site{count}"]
        cold = cost(argv, cache)
        colds[count], peaks[count] = cold.cpu_s, cold.peak_mb
        yield Row(f"report of {count} runs, cold", cold.cpu_s * 1e9, "ns", "goal, by runs", 240e9 * count / 10_000, Goal("<=", 1))
        yield Row(f"report of {count} runs, peak memory", cold.peak_mb, "MB", "goal for 10000", 2000, Goal("<=", 1))
        _long_runs(root, 1, first=count)
        yield Row(f"report of {count} runs, one run more", cost(argv, cache).cpu_s * 1e9, "ns", "goal", 10e9, Goal("<=", 1))
        diff = cost(["diff", "0.0", "1.0", "--data", str(root)], cache, allowed=(0, 4))
        yield Row(f"diff of two of {_RELEASES} releases, {count} runs, in the cache", diff.cpu_s * 1e9, "ns", "goal", 2e9, Goal("<=", 1))
        fresh = cost(["diff", "0.0", "1.0", "--data", str(root)], folder / "fresh", allowed=(0, 4))
        yield Row(f"diff of two of {_RELEASES} releases, {count} runs, new", fresh.cpu_s * 1e9, "ns", "goal", 2e9, Goal("<=", 1))
    for few, many in pairwise(RUNS):
        steps = math.log(many / few)
        yield Row(f"growth exponent of CPU time, {few} to {many} runs", math.log(colds[many] / colds[few]) / steps, "ratio", "linear", 1)
        yield Row(f"growth exponent of memory, {few} to {many} runs", math.log(peaks[many] / peaks[few]) / steps, "ratio", "linear", 1)


def _cluster(folder: Path) -> Iterator[Row | LeftOut]:
    """Small logs from nothing to Parquet: two workers of a cluster, beside two separate processes on half of the logs each."""
    if find_spec("distributed") is None:
        yield LeftOut("two workers of a cluster", "the package distributed is not installed")
        return
    halves = [folder / "data" / "a", folder / "data" / "b"]
    for place, half in enumerate(halves):
        _small_runs(half, LOGS // 2, first=place * LOGS)
    began = time.monotonic()
    words = [[*TACHOLOG, "export", "--data", str(half), "--format", "parquet", "--jobs", "1", "--output", str(half) + ".parquet"] for half in halves]
    separate = [
        subprocess.Popen(argv, env={**os.environ, "TACHOLOG_CACHE": str(folder / f"cache{place}")}, cwd=folder) for place, argv in enumerate(words)
    ]
    if any(process.wait() for process in separate):
        raise SystemExit("an export failed")
    alone_s = time.monotonic() - began
    with _workers(folder, 2) as address:
        argv = ["export", "--data", str(folder / "data"), "--format", "parquet", "--cluster", address, "--output", "x.parquet"]
        together = cost(argv, folder / "cache")
    yield Row(f"{LOGS} logs of 3 kB, two workers, a second", LOGS / together.wall_s, "/s", "two processes", LOGS / alone_s, Goal(">=", 0.9))


@contextmanager
def _workers(folder: Path, count: int) -> Iterator[str]:
    """Start a scheduler and its workers, and wait until they are there."""
    file = folder / "scheduler.json"

    def start(*argv: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", *argv, "--scheduler-file", str(file)], stderr=subprocess.DEVNULL, cwd=folder)

    processes = [start("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-jupyter")]
    try:
        while not file.exists() or not file.read_text().endswith("}"):
            time.sleep(0.1)
        processes += [start("distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", "--no-dashboard") for _ in range(count)]
        distributed: Any = import_module("distributed")
        address = str(json.loads(file.read_text())["address"])
        with distributed.Client(address) as client:
            client.wait_for_workers(count)
        yield address
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def _run(folder: Path, content: bytes, **about: str) -> Path:
    """Make a run of one log."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "some.log").write_bytes(content)
    entry = LogFile(file="some.log", sha256=hashlib.sha256(content).hexdigest(), format=about.get("format"))
    write(folder / "run.toml", Manifest(system="some system", release=about.get("release"), logs=(entry,)))
    return folder


def _small_runs(root: Path, count: int, first: int = 0) -> None:
    """Make runs of RTI's summaries, each with one log of 3 kB that no other has."""
    head = "RTI Perftest 3.0.1 (RTI Connext DDS 6.0.1)\n\nPerftest Configuration:\n\tReliability: Best Effort\n\tKeyed: No\n"
    for number in range(first, first + count):
        text = head
        while len(text) < SMALL_BYTES:
            size, rate = _SIZES[len(text) % len(_SIZES)], 40_000 + number
            mbit = rate * size * 8 / 1e6
            text += f"Length: {size:5d}  Packets: {rate * 30:8d}  Packets/s(ave): {rate:7d}  Mbps(ave): {mbit:7.1f}  Lost:     0 (0.00%)\n"
        _run(root / f"{number // 1000:04d}" / f"{number % 1000:03d}", text.encode())


_RELEASES = 20
_PERFTEST = ROOT / "data" / "perftest" / "0.3.0"


def _long_runs(root: Path, count: int, first: int = 0) -> None:
    """Make runs of perftest's own: copies of those in ``data/`` with another time of their start."""
    models = sorted(path.parent for path in _PERFTEST.rglob("run.toml"))
    for number in range(first, first + count):
        model = models[number // _RELEASES % len(models)]
        folder = root / f"{number:05d}"
        folder.mkdir(parents=True)
        manifest = read_manifest(model / "run.toml")
        entries = []
        for entry in manifest.logs:
            text = (model / entry.file).read_bytes()
            text = re.sub(rb"(?m)^start time=.*$", b"start time=2026-01-01T00:00:00.%06dZ" % number, text)
            (folder / entry.file).write_bytes(text)
            entries.append(LogFile(file=entry.file, sha256=hashlib.sha256(text).hexdigest(), format=entry.format))
        release = f"{number % _RELEASES}.0"
        about = {"release": release, "system_version": release, "repetition": number, "logs": tuple(entries)}
        write(folder / "run.toml", Manifest(**{**{name: getattr(manifest, name) for name in Manifest.__struct_fields__}, **about}))
