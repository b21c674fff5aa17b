"""How long a diff takes and how much memory: ``python tests/diff/perf.py [ROWS]`` prints both. No test, because a slow machine is no mistake.

A million result rows a side: 5000 runs (500 configurations in 10 interleaved pairs) of 20 sizes and 10 statistics.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import click
import numpy as np
import pandas as pd

from tacholog.dataset import Dataset
from tacholog.diff.compare import compare
from tacholog.diff.policy import Policy
from tacholog.manifest import Host

STATISTICS = ("min", "mean", "std", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "max")
SIZES, REPETITIONS = 20, 10
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
UNKNOWN = {
    **dict.fromkeys(("participant", "type", "warmup"), "string"),
    **dict.fromkeys(("instances", "demand", "recovery_time_ns", "batch_bytes", "payload_bytes_high"), "Int64"),
    **dict.fromkeys(("offered_rate_per_s", "link_bit_per_s", "resolution"), "Float64"),
    "keyed": "boolean",
}
HOST = Host(name="Machine", source="made up", cpu={"model": "CPU", "cores": "8"}, memory={"size": "64 GiB"}, network={"eth0": "x, MTU 1500"})


def side(rows: int, new: int) -> Dataset:
    """One side of about ``rows`` result rows."""
    generator = np.random.default_rng(new)
    a_run = SIZES * len(STATISTICS)
    runs = max(rows // a_run // REPETITIONS, 1) * REPETITIONS
    total = runs * a_run
    names = np.array([f"config-{run // REPETITIONS}/{run % REPETITIONS:02}" for run in range(runs)])
    columns = {name: constant(value, "string", total) for name, value in FIXED.items()}
    columns |= {name: constant(None, dtype, total) for name, dtype in UNKNOWN.items()}
    columns |= {
        "run": pd.Series(np.repeat(names, a_run), dtype="string"),
        "log": constant("perftest.log", "string", total),
        "line": pd.Series(np.tile(np.arange(a_run), runs), dtype="Int64"),
        "transport": pd.Series(np.repeat([f"transport-{run // REPETITIONS}" for run in range(runs)], a_run), dtype="string"),
        "payload_bytes": pd.Series(np.tile(np.repeat(16 << np.arange(SIZES), len(STATISTICS)), runs), dtype="Int64"),
        "statistic": pd.Series(np.tile(np.array(STATISTICS), runs * SIZES), dtype="string"),
        **{name: pd.Series(np.ones(total, np.int64), dtype="Int64") for name in ("publishers", "subscribers")},
        "samples": pd.Series(np.full(total, 1_000_000), dtype="Int64"),
        "planned_duration_s": pd.Series(np.ones(total), dtype="Float64"),
        "value": pd.Series(10_000 * np.exp(0.02 * generator.standard_normal(total)), dtype="Float64"),
        "marks": pd.Series([[]] * total, dtype="object"),
    }
    nothing = dict.fromkeys(("logs", "problems", "histograms"), pd.DataFrame())
    return Dataset(runs=_runs(names, new), results=pd.DataFrame(columns), hosts={"host": HOST}, **nothing)


def constant(value: str | None, dtype: str, count: int) -> pd.Series[Any]:
    """A column that says the same everywhere."""
    return pd.Series([value], dtype=dtype).repeat(count).reset_index(drop=True)


def _runs(names: np.ndarray[tuple[int], np.dtype[np.str_]], new: int) -> pd.DataFrame:
    count = len(names)
    text = dict.fromkeys(("system", "tool", "host", "session"), "host") | {"system_version": None, "release": None, "manifest": None}
    moments = pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(2 * np.arange(count) + (np.arange(count) + new) % 2, unit="s")
    return pd.DataFrame(
        {
            "run": pd.Series(names, dtype="string"),
            **{name: pd.Series([value] * count, dtype="string") for name, value in text.items()},
            "tool_version": pd.Series(["1.0"] * count, dtype="string"),
            "published": pd.Series([False] * count, dtype="boolean"),
            "status": pd.Series(["ok"] * count, dtype="string"),
            "start_time": pd.Series([moment.isoformat() for moment in moments], dtype="string"),
            "order_index": pd.Series(np.arange(count), dtype="Int64"),
            "repetition": pd.Series(np.arange(count) % REPETITIONS, dtype="Int64"),
        }
    )


def main() -> None:
    """Compare two sides, and print what it took."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    old, new = side(rows, 0), side(rows, 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.perf_counter()
    report = compare(old, new, Policy(), everything="--all" in sys.argv)
    took = time.perf_counter() - start
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = f"{len(old.results)} and {len(new.results)} result rows, {len(report.rows)} rows compared"
    click.echo(f"{size}: {took:.2f} s, {most:.0f} MB ({before:.0f} MB before); {report.counts}")


if __name__ == "__main__":
    main()
