"""From one log to many: ingest to Parquet by format, small logs new and cached, growth with the number of runs, two releases, a cluster, and sites.

All data is made here. The figures are CPU time of the command and its children, because the machine is shared. Environment variables:

- TACHOLOG_SCALE_RUNS: growth is measured for these numbers of runs (default 200,800; the goals are for 10000)
- TACHOLOG_SCALE_LOGS: the number of small logs for export and cluster (default 4000; the goals are for 100000)
- TACHOLOG_SCALE_MB: the size of a log (default 20)
- TACHOLOG_SCALE_PUBLISHED_RUNS: how many runs each of the two published releases has (default 200; the limit of a hoster was measured with 1300)
- TACHOLOG_SCALE_PARTS: the parts to measure (default: all)
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from perf_runs import RELEASES, ROOT, TACHOLOG, at, cost, write_long_runs, write_run, write_small_runs
from perf_site import published, views
from perf_table import Effort, Goal, LeftOut, Row, cells

sys.path.insert(0, str(ROOT))
from tests.long_logs import HISTOGRAMS, LONG_LOGS

RUNS = [int(count) for count in os.environ.get("TACHOLOG_SCALE_RUNS", "200,800").split(",")]
LOGS = int(os.environ.get("TACHOLOG_SCALE_LOGS", "4000"))
LOG_BYTES = int(float(os.environ.get("TACHOLOG_SCALE_MB", "20")) * 1e6)
COMPARED_RUNS = 2000
#: The goals for the conversion to Parquet, in bytes per CPU second. The key is the start of the name of a log.
GOALS = {"RTI summaries": 40e6, "RTI intervals": 40e6, "RTI CSV": 20e6, "Fast RTPS samples": 10e6, "RTI samples": 10e6, "eCAL samples": 10e6}
OTHER_GOAL = 20e6
_MILLION = 1_000_000
_SMALL_NUMBERS = 150  # The numbers in each small log.
_GROWN_RUNS, _GROWN_S, _GROWN_BYTES = 10_000, 240, 2e9
NEW_LOGS_PER_S, CACHED_LOGS_PER_S = 1000, 8000
_NUMBERS = "import re,sys\nfor line in open(sys.argv[1]): re.findall(r'[0-9.]+', line)"


def measure(effort: Effort) -> Iterator[Row | LeftOut]:
    """Yield the rows of all parts. Each part has a separate folder and cache.

    All parts together take hours. Therefore, each row is also printed immediately.
    """
    del effort  # Each figure takes seconds or longer, and is measured once.
    for name in os.environ.get("TACHOLOG_SCALE_PARTS", ",".join(PARTS)).split(","):
        with tempfile.TemporaryDirectory() as folder:
            for row in PARTS[name](Path(folder)):
                sys.stderr.write(f"{' | '.join(cells(row) if isinstance(row, Row) else row)}\n")
                yield row


def _ingest(folder: Path) -> Iterator[Row]:
    """Yield the speed of the conversion of a long log to Parquet with an empty cache, for each layout of logs."""
    empty = write_run(folder / "empty" / "run", b"Length:  32  Packets: 7  Packets/s(ave): 7  Mbps(ave): 0.0  Lost: 0 (0.00%)\n", format="rti")
    start = cost(["export", "--data", str(empty.parent), "--format", "parquet", "--output", "x.parquet"], folder / "cache")
    for name, log in (LONG_LOGS | {"perftest histograms": HISTOGRAMS}).items():
        rows = 4000
        rows = max(rows, rows * LOG_BYTES // len(log.text(rows)))
        run = write_run(folder / "data" / "run", log.text(rows).encode(), format=log.format)
        size, path = (run / "some.log").stat().st_size, run / "some.log"
        argv = ["export", "--data", str(run.parent), "--format", "parquet", "--output", "x.parquet"]
        speed = size / (cost(argv, folder / "cache").cpu_s - start.cpu_s)
        goal = next((goal for begin, goal in GOALS.items() if name.startswith(begin)), OTHER_GOAL)
        yield Row(f"{name} to Parquet, a CPU-second", speed, "B/s", "goal", goal, Goal(">=", 1))
        yield Row(f"{name} to Parquet, a CPU-second", speed, "B/s", "Python's re", size / _of(sys.executable, "-c", _NUMBERS, str(path)))
        yield Row(f"{name} to Parquet, a CPU-second", speed, "B/s", "wc -l", size / _of("wc", "-l", str(path)))
        shutil.rmtree(folder / "data")


def _of(*argv: str) -> float:
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return max(used.ru_utime + used.ru_stime, 1e-3)


def _small_logs(folder: Path) -> Iterator[Row | LeftOut]:
    """Yield figures for logs of 3 kB, one for each run. The start of the command does not count: the time for a quarter of the logs is subtracted."""
    made = {}
    for count in (LOGS // 4, LOGS):
        root, cache = folder / str(count), folder / f"cache{count}"
        write_small_runs(root, range(count))
        argv = ["export", "--data", str(root), "--format", "parquet", "--output", "x.parquet"]
        made[count] = cost(argv, cache), cost(argv, cache)
    more = LOGS - LOGS // 4
    for place, words, goal in ((0, "new", NEW_LOGS_PER_S), (1, "in the cache", CACHED_LOGS_PER_S)):
        took_s = made[LOGS][place].cpu_s - made[LOGS // 4][place].cpu_s
        yield Row(f"logs of 3 kB, {words}, a CPU-second", more / max(took_s, 1e-3), "/s", "goal", goal, Goal(">=", 1))
    few, all_ = (made[count][0].peak_bytes for count in (LOGS // 4, LOGS))
    yield Row(f"export of {LOGS} logs, peak memory", all_, "B", f"of {LOGS // 4}", few)
    million = at(_MILLION, (LOGS // 4, few), (LOGS, all_))
    yield Row("export of a million logs, peak memory (extrapolated)", million, "B", "goal", 4e9, Goal("<=", 1))
    new_s, kept_s = (at(_MILLION, (LOGS // 4, made[LOGS // 4][place].cpu_s), (LOGS, made[LOGS][place].cpu_s)) for place in (0, 1))
    yield Row("export of a million new logs, CPU time (extrapolated)", new_s * 1e9, "ns", "of those in the cache", kept_s * 1e9)


def _growth(folder: Path) -> Iterator[Row]:
    """Yield figures for reports of runs with about 190 numbers.

    Each report is built with an empty cache, and again after one run was added.
    """
    colds, peaks = {}, {}
    for count in RUNS:
        root, cache = folder / f"{count}", folder / f"cache{count}"
        write_long_runs(root, range(count))
        argv = ["report", str(root), "--output", f"site{count}"]
        cold = cost(argv, cache)
        colds[count], peaks[count] = cold.cpu_s, cold.peak_bytes
        yield Row(f"report of {count} runs, cold", cold.cpu_s * 1e9, "ns", "goal, by runs", _GROWN_S * 1e9 * count / _GROWN_RUNS, Goal("<=", 1))
        yield Row(f"report of {count} runs, peak memory", cold.peak_bytes, "B", f"goal for {_GROWN_RUNS}", _GROWN_BYTES, Goal("<=", 1))
        write_long_runs(root, [count])
        yield Row(f"report of {count} runs, one run more", cost(argv, cache).cpu_s * 1e9, "ns", "goal", 10e9, Goal("<=", 1))
    for few, many in pairwise(RUNS):
        steps = math.log(many / few)
        yield Row(f"growth exponent of CPU time, {few} to {many} runs", math.log(colds[many] / colds[few]) / steps, "ratio", "linear", 1)
        yield Row(f"growth exponent of memory, {few} to {many} runs", math.log(peaks[many] / peaks[few]) / steps, "ratio", "linear", 1)
    if len(RUNS) > 1 and RUNS[-1] < _GROWN_RUNS:
        cpu_s, peak = (at(_GROWN_RUNS, *((count, of[count]) for count in RUNS[-2:])) for of in (colds, peaks))
        what = f"report of {_GROWN_RUNS} runs (extrapolated)"
        yield Row(f"{what}, cold", cpu_s * 1e9, "ns", "goal", _GROWN_S * 1e9, Goal("<=", 1))
        yield Row(f"{what}, peak memory", peak, "B", "goal", _GROWN_BYTES, Goal("<=", 1))


def _diff(folder: Path) -> Iterator[Row]:
    """Compare two of twenty releases, first with an empty cache, then with a full cache."""
    root = folder / "runs"
    write_long_runs(root, range(COMPARED_RUNS))
    for words in ("new", "in the cache"):
        found = cost(["diff", "0.0", "1.0", "--data", str(root)], folder / "cache", allowed=(0, 4))
        what = f"diff of two of {RELEASES} releases, {COMPARED_RUNS} runs, {words}"
        yield Row(what, found.cpu_s * 1e9, "ns", "goal", 2e9, Goal("<=", 1))
        yield Row(f"{what}, peak memory", found.peak_bytes, "B", "nothing", 0)


def _cluster(folder: Path) -> Iterator[Row | LeftOut]:
    """Yield how fast two workers of a cluster convert small logs to Parquet. The reference is the speed of two separate processes."""
    if find_spec("distributed") is None:
        yield LeftOut("two workers of a cluster", "the package distributed is not installed")
        return
    halves = [folder / "data" / "a", folder / "data" / "b"]
    for place, half in enumerate(halves):
        write_small_runs(half, range(place * LOGS, place * LOGS + LOGS // 2))
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
    """Start a scheduler of Dask and its workers, and yield the address of the scheduler as soon as all workers are registered there."""
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


PARTS: dict[str, Callable[[Path], Iterator[Row | LeftOut]]] = {
    "ingest": _ingest,
    "small": _small_logs,
    "growth": _growth,
    "diff": _diff,
    "cluster": _cluster,
    "published": published,
    "views": views,
}
