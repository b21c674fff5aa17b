"""The history of a metric has a line for each machine, even if two machines have the same stated hardware."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.sides import find
from tacholog.render.tables.history import tables_of, why_it_begins
from tacholog.runs.manifest import read_host, read_manifest, write
from tacholog.view.history import HistoryLine, SystemHistory, lines

RUN = "latency-shm/01"
FIRST, SECOND, UNKNOWN = "host-087119", "host-000000", "host-nowhere"


@pytest.fixture
def data(tmp_path: Path, checkout: Path) -> Path:
    """Return a folder with the host files of two machines. The stated hardware of both machines is equal, but the stated kernels differ."""
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    known = read_host(checkout / f"data/hosts/{FIRST}.toml")
    write(hosts / f"{FIRST}.toml", known)
    write(hosts / f"{SECOND}.toml", msgspec.structs.replace(known, system={**known.system, "kernel": "another"}))
    return tmp_path


def measure(data: Path, checkout: Path, release: str, day: int, *machines: str | None) -> None:
    """Add a release with a run on each machine. Each run is a copy of a run of perftest 0.1.0."""
    for place, machine in enumerate(machines):
        folder = data / release / str(place) / RUN
        shutil.copytree(checkout / "data/perftest/0.1.0" / RUN, folder)
        manifest = read_manifest(folder / "run.toml")
        made = {"release": release, "start_time": f"2026-11-{day:02}T12:0{place}:00Z", "session": f"{day}-{place}", "host": machine}
        write(folder / "run.toml", msgspec.structs.replace(manifest, **made))


def history(data: Path, *releases: str) -> list[HistoryLine]:
    sides = [find(str(data / release), [data]) for release in releases]
    found = lines([compare(old, new, Policy()) for old, new in pairwise(sides)], "latency", "p50")
    return [line for line in found if line.key.payload_bytes == 64]


def said(found: list[HistoryLine]) -> list[tuple[list[int], str]]:
    return sorted(([point.release for point in line.points], why_it_begins(line) or "") for line in found)


def test_another_machine_with_the_same_stated_hardware_starts_a_new_line_with_a_reason(data: Path, checkout: Path) -> None:
    measure(data, checkout, "1", 1, FIRST)
    measure(data, checkout, "2", 2, FIRST)
    measure(data, checkout, "3", 3, SECOND)
    measure(data, checkout, "4", 4, SECOND)

    found = history(data, "1", "2", "3", "4")
    page = str(tables_of({"X": SystemHistory(("1", "2", "3", "4"), tuple(found), ())}, [], [], lambda *_: None))

    assert [points for points, _ in said(found)] == [[0, 1], [2, 3]]
    reason = said(found)[1][1]
    assert reason.startswith("another machine with the same processor model, cores and memory: ")
    assert FIRST in reason
    assert SECOND in reason
    assert page.count('class="trend"') == 2
    noted = page.index("Another machine with the same processor model, cores and memory")
    assert noted < page.index('class="trend"') < page.index("Rows without an earlier line")


def test_each_machine_of_a_release_has_a_line(data: Path, checkout: Path) -> None:
    measure(data, checkout, "1", 1, FIRST)
    measure(data, checkout, "2", 2, FIRST, SECOND)
    measure(data, checkout, "3", 3, SECOND)

    found = history(data, "1", "2", "3")

    assert [points for points, _ in said(found)] == [[0, 1], [1, 2]]
    machines = [dict(line.key.apart).get("host") for line in found]
    assert sorted(machine or "" for machine in machines) == [SECOND, FIRST]


def test_machine_that_is_not_stated_is_not_treated_as_the_previous_machine(data: Path, checkout: Path) -> None:
    measure(data, checkout, "1", 1, FIRST)
    measure(data, checkout, "2", 2, None)

    assert [points for points, _ in said(history(data, "1", "2"))] == [[0], [1]]
