"""The command diff: error rate and power of simulated comparisons, and time and peak memory of large comparisons.

The large comparisons read both sides from saved datasets. Each runs in a separate process, so its peak memory includes nothing else. Its time
excludes the imports and the reading, except in the rows named "the whole command". CPU time is shown too, because elapsed time is longer on a busy
machine.
"""

from __future__ import annotations

import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from ingest import TACHOLOG, cost
from perf_table import Effort, Goal, LeftOut, Row
from perf_truth import truths

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.sides import find
from tacholog.runs.manifest import Host
from tacholog.schema.conditions import CONDITIONS
from tacholog.schema.tables import RESULTS
from tacholog.store.frames import Dataset, frame

STATISTICS = ("min", "mean", "std", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "max")
SIZES = 20
SIDES = ("old", "new")
MILLION, FEW = 1_000_000, 200
GOAL_S, GOAL_BYTES, GOAL_FEW_S = 10.0, 2e9, 1.0
FIXED = {
    "scope": "summary",
    "test": "latency",
    "side": "publisher",
    "data_path": "copy",
    "payload_touched": "write+read",
    "reliability": "reliable",
    "load_mode": "closed",
    "waiting": "busy-poll",
    "basis": "rtt/2",
    "definition": "perftest-latency",
    "metric": "latency",
    "unit": "ns",
    "bound": "=",
}
UNKNOWN = {name: RESULTS[name].dtype for name in (*CONDITIONS, "participant", "payload_bytes_high", "resolution") if name not in FIXED}
HOST = Host(name="Machine", source="made up", cpu={"model": "CPU", "cores": "8"}, memory={"size": "64 GiB"}, network={"eth0": "x, MTU 1500"})


def side(rows: int, repetitions: int, new: int) -> Dataset:
    """Return a side of about ``rows`` result rows. Each configuration has ``repetitions`` interleaved repetitions."""
    generator = np.random.default_rng(new)
    a_run = SIZES * len(STATISTICS)
    runs = max(rows // a_run // repetitions, 1) * repetitions
    total = runs * a_run
    names = np.array([f"config-{run // repetitions}/{run % repetitions:02}" for run in range(runs)])
    columns = {name: constant(value, "string", total) for name, value in FIXED.items()}
    columns |= {name: constant(None, dtype, total) for name, dtype in UNKNOWN.items()}
    columns |= {
        "run": pd.Series(np.repeat(names, a_run), dtype="string"),
        "log": constant("perftest.log", "string", total),
        "line": pd.Series(np.tile(np.arange(a_run), runs), dtype="Int64"),
        "transport": pd.Series(np.repeat([f"transport-{run // repetitions}" for run in range(runs)], a_run), dtype="string"),
        "payload_bytes": pd.Series(np.tile(np.repeat(16 << np.arange(SIZES), len(STATISTICS)), runs), dtype="Int64"),
        "statistic": pd.Series(np.tile(np.array(STATISTICS), runs * SIZES), dtype="string"),
        **{name: pd.Series(np.ones(total, np.int64), dtype="Int64") for name in ("publishers", "subscribers")},
        "samples": pd.Series(np.full(total, 1_000_000), dtype="Int64"),
        "planned_duration_s": pd.Series(np.ones(total), dtype="Float64"),
        "value": pd.Series(10_000 * np.exp(0.02 * generator.standard_normal(total)), dtype="Float64"),
        "marks": pd.Series([[]] * total, dtype="object"),
    }
    nothing = {name: frame(name, []) for name in ("logs", "problems", "histograms")}
    return Dataset(runs=_runs(names, repetitions, new), results=pd.DataFrame(columns), hosts={"host": HOST}, **nothing)


def constant(value: str | None, dtype: str, count: int) -> pd.Series[Any]:
    return pd.Series([value], dtype=dtype).repeat(count).reset_index(drop=True)


def _runs(names: np.ndarray[tuple[int], np.dtype[np.str_]], repetitions: int, new: int) -> pd.DataFrame:
    count = len(names)
    text = dict.fromkeys(("system", "tool", "host", "session"), "host") | {
        "system_version": None,
        "release": None,
        "manifest": None,
        "reason": None,
        "root": None,
    }
    moments = pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(2 * np.arange(count) + (np.arange(count) + new) % 2, unit="s")
    return pd.DataFrame(
        {
            "run": pd.Series(names, dtype="string"),
            **{name: pd.Series([value] * count, dtype="string") for name, value in text.items()},
            "tool_version": pd.Series(["1.0"] * count, dtype="string"),
            "build": pd.Series([None] * count, dtype="string"),
            "published": pd.Series([False] * count, dtype="boolean"),
            "status": pd.Series(["ok"] * count, dtype="string"),
            "start_time": pd.Series([moment.isoformat() for moment in moments], dtype="string"),
            "order_index": pd.Series(np.arange(count), dtype="Int64"),
            "repetition": pd.Series(np.arange(count) % repetitions, dtype="Int64"),
        }
    )


def measure(effort: Effort) -> Iterator[Row | LeftOut]:
    """Yield the time and the memory of comparisons of different sizes. Each value is the best of all rounds."""
    yield from truths()
    for what, rows, repetitions in (("a million rows, 10 pairs", MILLION, 10), ("a million rows, single runs", MILLION, 1)):
        with _saved(rows, repetitions) as sides:
            best = min((_apart(sides) for _ in range(effort.rounds)), key=lambda found: found["s"])
            whole = min(cost([*TACHOLOG, "diff", *sides]) for _ in range(effort.rounds))
        yield Row(what, best["s"], "s", "goal", GOAL_S, Goal("<=", 1))
        yield Row(f"{what}: CPU", best["cpu_s"], "s", "goal", GOAL_S, Goal("<=", 1))
        yield Row(f"{what}: peak", best["MB"] * 1e6, "B", "goal", GOAL_BYTES, Goal("<=", 1))
        yield Row(f"{what}, the whole command: CPU", whole.cpu_s, "s", "goal", GOAL_S, Goal("<=", 1))
        yield Row(f"{what}, the whole command: peak", whole.peak_mb * 1e6, "B", "goal", GOAL_BYTES, Goal("<=", 1))
    with _saved(FEW, 1) as sides:
        best = min((_apart(sides) for _ in range(effort.rounds)), key=lambda found: found["s"])
    yield Row("two hundred rows", best["s"], "s", "goal", GOAL_FEW_S, Goal("<=", 1))


@contextlib.contextmanager
def _saved(rows: int, repetitions: int) -> Iterator[list[str]]:
    """Yield the paths of two saved datasets, the sides of a comparison.

    A separate process makes the datasets, so that the memory for making them is not measured.
    """
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, __file__, "save", str(rows), str(repetitions), folder], check=True)
        yield [str(Path(folder, name)) for name in SIDES]


def _apart(sides: list[str]) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, "compare", *sides], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Save both sides with the given numbers of rows and repetitions in a folder; or compare two saved sides and print the resources."""
    what, *words = sys.argv[1:]
    if what == "save":
        rows, repetitions = map(int, words[:2])
        for which, name in enumerate(SIDES):
            side(rows, repetitions, which).save(Path(words[2], name))
        return
    old, new = (find(name, ()) for name in words)
    start, busy = time.perf_counter(), time.process_time()
    compare(old, new, Policy(), everything=False)
    took, used = time.perf_counter() - start, time.process_time() - busy
    sys.stdout.write(json.dumps({"s": took, "cpu_s": used, "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6}))


if __name__ == "__main__":
    main()
