"""Artificial campaigns with known changes: datasets with the values, the order and the conditions that a test requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison
from tacholog.runs.manifest import Host
from tacholog.schema.conditions import CONDITIONS
from tacholog.schema.tables import RESULTS
from tacholog.store.frames import Dataset

HOST = Host(
    name="Machine",
    source="made up",
    cpu={"model": "Made-up CPU", "cores": "8", "threads": "16"},
    memory={"size": "64 GiB"},
    network={"eth0": "made, 10000 Mbit/s, MTU 1500"},
    system={"kernel": "6.1"},
)
START = datetime(2026, 1, 1, tzinfo=UTC)
_SETTINGS: dict[str, Any] = dict.fromkeys(CONDITIONS) | {
    "scope": "summary",
    "test": "latency",
    "side": "publisher",
    "participant": None,
    "transport": "shm",
    "data_path": "copy",
    "payload_touched": "write+read",
    "reliability": "reliable",
    "publishers": 1,
    "subscribers": 1,
    "load_mode": "closed",
    "waiting": "busy-poll",
    "basis": "rtt/2",
    "definition": "perftest-latency",
    "planned_duration_s": 1.0,
    "payload_bytes_high": None,
    "samples": 1_000_000,
    "metric": "latency",
    "statistic": "p50",
    "unit": "ns",
    "bound": "=",
    "resolution": None,
}
Side = Callable[..., Dataset]
Compared = Callable[..., Comparison]
OLD_TURNS = [2 * pair + pair % 2 for pair in range(12)]  # The old side is first in pairs 0, 2, 4 and so on, and the new side in the other pairs.
NEW_TURNS = [2 * pair + 1 - pair % 2 for pair in range(12)]


def make_side(
    values: NDArray[np.float64],
    places: Sequence[int] | None = None,
    *,
    host: Host | None = HOST,
    marks: tuple[str, ...] = (),
    **said: Any,  # noqa: ANN401 - any column
) -> Dataset:
    """Return one side of a diff: ``values`` has a row for each size and a column for each run.

    Args:
        values: shape (sizes, runs).
        places: the position of each run in time; None: not stated.
        host: the machine; None: not stated.
        marks: quality marks of each number.
        said: values of other columns: one value for all runs, or a list with one value for each run.
    """
    sizes, runs = values.shape
    frame = _runs(runs, places, said) | {"host": ["host" if host else None] * runs}
    number = _SETTINGS | {name: value for name, value in said.items() if name in _SETTINGS}
    rows = sizes * runs
    columns = {name: pd.Series([value] * rows, dtype=RESULTS[name].dtype) for name, value in number.items()}
    columns |= {
        "run": pd.Series(np.repeat(frame["run"], sizes), dtype="string"),
        "log": pd.Series(["log"] * rows, dtype="string"),
        "line": pd.Series(np.tile(np.arange(1, sizes + 1), runs), dtype="Int64"),
        "payload_bytes": pd.Series(np.tile(16 * np.arange(1, sizes + 1), runs), dtype="Int64"),
        "value": pd.Series(values.T.reshape(-1), dtype="Float64"),
        "marks": pd.Series([tuple(marks)] * rows, dtype="object"),
    }
    tables = {name: pd.DataFrame({"run": pd.Series([], dtype="string")}) for name in ("logs", "problems", "histograms")}
    return Dataset(runs=_run_frame(frame), results=pd.DataFrame(columns), hosts={"host": host} if host else {}, **tables)


def _runs(runs: int, places: Sequence[int] | None, said: dict[str, Any]) -> dict[str, list[Any]]:
    times = [None] * runs if places is None else [(START + timedelta(minutes=int(place))).isoformat() for place in places]
    frame: dict[str, Any] = {
        "run": [f"run-{index}" for index in range(runs)],
        "system": "Made-up middleware",
        "system_version": None,
        "tool": "perftest",
        "tool_version": "1.2.0",
        "build": None,
        "labels": None,
        "release": None,
        "published": False,
        "status": "ok",
        "reason": None,
        "start_time": times,
        "order_index": None,
        "session": "session-1",
        "repetition": list(range(1, runs + 1)),
        "manifest": None,
    }
    frame |= {name: value for name, value in said.items() if name in frame}
    return {name: value if isinstance(value, list) else [value] * runs for name, value in frame.items()}


def _run_frame(frame: dict[str, list[Any]]) -> pd.DataFrame:
    types = {"published": "boolean", "order_index": "Int64", "repetition": "Int64"}
    return pd.DataFrame({name: pd.Series(values, dtype=types.get(name, "string")) for name, values in frame.items()})


def make_pairs(old: NDArray[np.float64], new: NDArray[np.float64], **said: Any) -> tuple[Dataset, Dataset]:  # noqa: ANN401 - any column
    """Return an old and a new side whose runs form pairs. The old side goes first in the first pair, the new side in the second pair, and so on."""
    pairs = np.arange(old.shape[1])
    first = pairs % 2
    return make_side(old, list(2 * pairs + first), **said), make_side(new, list(2 * pairs + 1 - first), **said)


def compare_pairs(
    old: NDArray[np.float64],
    new: NDArray[np.float64],
    policy: Policy | None = None,
    **said: Any,  # noqa: ANN401 - any column
) -> Comparison:
    return compare(*make_pairs(np.atleast_2d(old), np.atleast_2d(new), **said), policy or Policy())


_FIGURES = pytest.StashKey[list[str]]()


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Record results of simulations, which are printed at the end of the tests."""

    def note(what: str, found: str) -> None:
        request.config.stash.setdefault(_FIGURES, []).append(f"{what}: {found}")

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    figures = config.stash.get(_FIGURES, [])
    if figures:
        terminalreporter.section("simulated with known truth")
        for line in figures:
            terminalreporter.line(line)


@pytest.fixture
def side() -> Side:
    return make_side


@pytest.fixture
def compared() -> Compared:
    return compare_pairs


@pytest.fixture
def noise() -> NDArray[np.float64]:
    """Latencies of one build, shape (sides, rows, pairs): 12 pairs with 4 rows. They are about 10 us, with 1 % noise."""
    generator = np.random.default_rng(20261121)
    return 10_000 * np.exp(0.01 * generator.standard_normal((2, 4, 12)))


@pytest.fixture
def other_host() -> Host:
    return msgspec.structs.replace(HOST, cpu=HOST.cpu | {"model": "Another CPU"})
