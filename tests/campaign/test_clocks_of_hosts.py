"""One-way latencies between two machines need reports on both clocks. The reports come from a real chronyd that does not adjust the clock."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from tests.campaign.ssh_campaigns import bench, manifest, missing_requirement, run_folder
from tests.campaign.two_hosts import TwoHosts, two_hosts
from tests.left_out import leave_out
from tests.waiting import until

from tacholog.store.frames import Dataset
from tacholog.store.load import load

#: A log with one-way latencies. Instead of measuring, the hosts of these tests print this log.
LOG = Path(__file__).parents[1] / "formats/native/latency-one-way-shm.log"
CAMPAIGN = """
system = "transports"
tool = "perftest"
repetitions = 1
hosts.a = { ssh = "host-a", address = "10.88.0.2" }
hosts.b = { ssh = "host-b", address = "10.88.0.3" }

[[runs]]
name = "one-way"
deadline_s = 500

[[runs.processes]]
name = "publisher"
role = "pub"
host = "a"
command = ["sh", "-c", "echo sending; sleep 1000"]
ready = { output = "sending", deadline_s = 500 }
ends = "stopped"
results = false

[[runs.processes]]
name = "subscriber"
role = "sub"
host = "b"
"""


@pytest.fixture
def clocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], TwoHosts]]:
    """Yield a function that returns two hosts. Host ``b`` has a different boot id than host ``a``, as if they were two machines."""
    if missing_requirement():
        leave_out(f"needs {missing_requirement()}")
    if shutil.which("chronyd", path="/usr/sbin:/usr/local/sbin:/sbin:/usr/bin") is None or shutil.which("chronyc") is None:
        leave_out("needs chronyd and chronyc (Debian: chrony)")
    (tmp_path / "lab").mkdir()
    boot = tmp_path / "boot_id"
    boot.write_text("00000000-1111-2222-3333-444444444444\n")
    with two_hosts(tmp_path / "lab", lambda hosts: hosts.mounts["b"].update({"/proc/sys/kernel/random/boot_id": boot})) as hosts:
        monkeypatch.setenv("PATH", f"{hosts.bin}:{os.environ['PATH']}")
        yield lambda: hosts


def measured(tmp_path: Path) -> Dataset:
    path = tmp_path / "one-way.toml"
    path.write_text(f'{CAMPAIGN}command = ["cat", "{LOG}"]\n')
    code, said = bench(path, tmp_path)
    assert code == 0, said
    return load([tmp_path / "out"])


def latencies(data: Dataset) -> pd.DataFrame:
    return data.results[(data.results["metric"] == "latency") & (data.results["basis"] == "one-way")]


def start_clocks(hosts: TwoHosts) -> None:
    hosts.start_clock("a", "local stratum 8", "allow")
    hosts.start_clock("b", "server 10.88.0.2 minpoll -4 maxpoll -4 iburst", "port 0")
    until(lambda: hosts.clock("a").endswith(",Normal\n") and hosts.clock("b").startswith("0A580002,10.88.0.2,9,"), "the clock of b follows that of a")


def test_clock_error_is_stored_for_each_one_way_latency(tmp_path: Path, clocked: Callable[[], TwoHosts]) -> None:
    start_clocks(clocked())

    data = measured(tmp_path)

    assert manifest(tmp_path).clocks == "several"
    lines = (run_folder(tmp_path) / "clock.log").read_text().splitlines()
    assert (lines[0], lines[-1]) == ("clock reports log=clock/1", "end")
    assert [line.split(",")[0] for line in lines if "chronyc" in line] == [
        f"{place} {when} chronyc {reference}" for when in ("before", "after") for place, reference in (("b", "0A580002"), ("a", "7F7F0101"))
    ]
    assert latencies(data)["value"].notna().all()
    errors = data.results[data.results["metric"] == "clock_error"]
    assert len(errors) == len(latencies(data)[["log", "line"]].drop_duplicates())
    # In this test, both hosts have the same clock. chrony measures a small error, because messages take time in the network.
    assert (errors["value"].nunique(), bool((errors["value"] > 0).all()), bool((errors["value"] < 1e9).all())) == (1, True, True)
    assert data.problems.empty, data.problems.to_string()


@pytest.mark.nightly
def test_one_way_latencies_without_clock_reports_are_refused_with_a_reason(tmp_path: Path, clocked: Callable[[], TwoHosts]) -> None:
    clocked()

    data = measured(tmp_path)

    found = latencies(data)
    assert len(found) > 0
    assert found["value"].isna().all()
    assert all("two_clocks" in marks for marks in found["marks"])
    assert "clock_error" not in set(data.results["metric"])
    assert data.histograms.empty
    assert data.problems[["log", "kind", "reason"]].to_numpy().tolist() == [
        [
            "subscriber.log",
            "clocks",
            "one-way latencies between machines are not shown: no clock service reports on a (before the run): neither chronyc nor pmc answers there",
        ]
    ]
    others = data.results[data.results["metric"] == "send_lateness"]
    assert len(others) > 0
    assert others["value"].notna().all()


@pytest.mark.nightly
def test_one_way_latencies_are_refused_if_the_two_clocks_have_no_common_reference(tmp_path: Path, clocked: Callable[[], TwoHosts]) -> None:
    hosts = clocked()
    for place in "ab":
        hosts.start_clock(place, "local stratum 8", "port 0")
    until(lambda: all(hosts.clock(place).endswith(",Normal\n") for place in "ab"), "both clocks report")

    data = measured(tmp_path)

    assert latencies(data)["value"].isna().all()
    [reason] = data.problems["reason"]
    assert str(reason).endswith(": the clocks of a and b do not follow one reference (before the run)")
