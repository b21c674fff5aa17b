"""Figures of ``data/`` compared with values typed by hand from the documents: at least ten for each system."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tacholog.runs.manifest import read_manifest
from tacholog.store.frames import Dataset
from tacholog.store.load import load

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load([DATA])


def found(dataset: Dataset, run: str, **where: Any) -> pd.DataFrame:  # noqa: ANN401
    rows = dataset.results[dataset.results["run"] == run]
    for column, value in where.items():
        rows = rows[rows[column].isna() if value is None else rows[column] == value]
    return rows


def number(dataset: Dataset, run: str, metric: str, statistic: str, **where: Any) -> float | None:  # noqa: ANN401
    [value] = found(dataset, run, metric=metric, statistic=statistic, **where)["value"]
    return None if pd.isna(value) else float(value)


# The name of the run, then the columns of the document: Length, Packets, Packets/s, Mbps, Lost, %
RTI_THROUGHPUT = [
    ("default-type/shmem-regular", 32, 77849677, 2594706, 664.2, 0, 0.00),
    ("default-type/shmem-regular", 1548576, 47602, 1586, 19659.3, 0, 0.00),
    ("default-type/shmem-flat-data", 64, 3322883, 110762, 56.7, 0, 0.00),
    ("default-type/shmem-zero-copy", 250000, 1221681, 40722, 81445.2, 0, 0.00),
    ("default-type/udpv4-flat-data", 32768, 986346, 32878, 8618.8, 484451, 32.94),
    ("custom-type/shmem-flat-data", 250000, 535729, 17856, 35713.6, 0, 0.00),
    ("custom-type/udpv4-regular", 16384, 1545456, 51515, 6752.2, 0, 0.00),
    ("custom-type/udpv4-flat-data", 31457280, 1120, 37, 9358.5, 215763, 99.48),
]
# Sample Size, Ave, Std, Min, Max, 50, 90, 99, 99.99, 99.9999 %, in microseconds
RTI_LATENCY = [
    ("unkeyed-best-effort", 32, 16, 0.9, 15, 61, 16, 17, 18, 45, 61),
    ("unkeyed-best-effort", 512, 19, 1.1, 17, 58, 19, 20, 21, 47, 58),
    ("unkeyed-reliable", 64, 18, 1.2, 17, 58, 18, 18, 22, 47, 58),
    ("keyed-best-effort", 63000, 189, 3.0, 107, 333, 189, 190, 193, 226, 333),
    ("keyed-reliable", 1024, 26, 7.2, 21, 3095, 26, 28, 36, 56, 3095),
]
ECAL_COLUMNS = (("Win10 AMD64", "copy"), ("Win10 AMD64", "zero-copy"), ("Ubuntu22 AMD64", "copy"), ("Ubuntu22 AMD64", "zero-copy"))
ECAL = [  # Release, size in kilobytes of 1024 bytes, and the latency in each of ECAL_COLUMNS, in microseconds.
    ("5.12", 1, (10, 5, 8, 3)),
    ("5.12", 256, (37, 5, 135, 3)),
    ("5.12", 1024, (112, 5, 182, 3)),
    ("5.12", 16384, (3458, 5, 2998, 3)),
    ("5.12", 32768, (6642, 5, 5880, 3)),
    ("5.11", 1, (10, 9, 8, 9)),
    ("5.11", 16, (13, 10, 12, 10)),
    ("5.11", 1024, (112, 42, 182, 40)),
    ("5.11", 32768, (6642, 2471, 5880, 2078)),
]
ECAL_EARLY = [  # Kilobytes, Windows 10, Ubuntu 16.
    *(("5.4.0", 1, 13, 14), ("5.4.0", 64, 27, 26), ("5.4.0", 1024, 288, 720), ("5.4.0", 4096, 1548, 3600)),
    *(("5.5.0", 1, 10, 18), ("5.5.0", 512, 62, 76), ("5.5.0", 16384, 3681, 3258)),
]
# Bytes, burst size. Sent messages: count, microseconds, MBits/sec. Received messages: count, lost, microseconds, MBits/sec.
FASTRTPS = [
    (16, 500, 152500, 5011845, 3.895, 152500, 0, 5019968, 3.888),
    (16, 750, 194250, 5014519, 4.958, 194079, 171, 5028145, 4.941),
    (16, 1600, 270400, 5018617, 6.897, 270293, 107, 5031175, 6.877),
    (16, 2000, 284000, 5031777, 7.224, 283886, 114, 5043818, 7.204),
    (32, 500, 158000, 5006978, 8.078, 158000, 0, 5021297, 8.055),
    (32, 850, 199750, 5014290, 10.198, 198869, 881, 5027873, 10.126),
]
US, MS = 1_000, 1_000_000
# For each row: its number, the transport, the data path, the smallest and the largest message size in bytes, and the latencies in nanoseconds. The
# key of a latency is its bound.
HMBDC = [
    ("0.1", "TCP (qperf), loopback", None, 100, 10_000_000, {"range-low": 5 * US, "range-high": 2 * MS}),
    ("0.2", "TCP (qperf), network", None, 100, 10_000_000, {"range-low": 60 * US, "range-high": 90 * MS}),
    ("1.1", "inter-thread", "pointer", None, None, {"~": 2 * US}),
    ("2.1", "inter-process (IPC)", "zero-copy", 100, 10_000_000, {"<": 1 * US}),
    ("2.2", "inter-process (IPC)", "copy", 100, 10_000_000, {"range-low": 1 * US, "range-high": 4 * MS}),
    ("3.1", "tcpcast", None, 100, 10_000_000, {"range-low": 60 * US, "range-high": 80 * MS}),
    ("4.1", "rmcast", None, 100, 10_000_000, {"range-low": 60 * US, "range-high": 80 * MS}),
]


@pytest.mark.parametrize(("run", "size", "cells"), [(run, size, cells) for run, size, *cells in RTI_THROUGHPUT])
def test_throughput_of_rti_equals_the_document(run: str, size: int, cells: list[float], dataset: Dataset) -> None:
    packets, rate, mbit, lost, percent = cells
    expected = {
        ("messages_received", "total"): packets,
        ("message_rate", "mean"): rate,
        ("goodput", "mean"): mbit * 1e6,
        ("messages_lost", "total"): lost,
        ("loss", "total"): percent / 100,
    }
    for (metric, statistic), value in expected.items():
        assert number(dataset, f"rti/{run}", metric, statistic, payload_bytes=size) == pytest.approx(value)


@pytest.mark.parametrize(("run", "size", "cells"), [(run, size, cells) for run, size, *cells in RTI_LATENCY])
def test_latency_of_rti_equals_the_document(run: str, size: int, cells: list[float], dataset: Dataset) -> None:
    statistics = ("mean", "std", "min", "max", "p50", "p90", "p99", "p99.99", "p99.9999")
    for statistic, cell in zip(statistics, cells, strict=True):
        assert number(dataset, f"rti/udpv4-wan/{run}", "latency", statistic, payload_bytes=size, basis="rtt/2") == pytest.approx(cell * 1000)


@pytest.mark.parametrize(("version", "kilobytes", "cells"), ECAL)
def test_latency_of_ecal_equals_the_document(version: str, kilobytes: int, cells: tuple[int, ...], dataset: Dataset) -> None:
    for (platform, path), cell in zip(ECAL_COLUMNS, cells, strict=True):
        where = {"payload_bytes": kilobytes * 1024, "participant": platform, "data_path": path, "basis": "one-way"}
        assert number(dataset, f"ecal/{version}", "latency", "mean", **where) == cell * 1000


@pytest.mark.parametrize(("version", "kilobytes", "windows", "ubuntu"), ECAL_EARLY)
def test_latency_of_early_ecal_equals_the_published_latency(version: str, kilobytes: int, windows: int, ubuntu: int, dataset: Dataset) -> None:
    for platform, cell in (("Win10 AMD64", windows), ("Ubuntu16 AMD64", ubuntu)):
        assert number(dataset, f"ecal/{version}", "latency", "mean", payload_bytes=kilobytes * 1024, participant=platform) == cell * 1000


@pytest.mark.parametrize(("size", "demand", "cells"), [(size, demand, cells) for size, demand, *cells in FASTRTPS])
def test_figures_of_bursts_of_fast_rtps_equal_the_document(size: int, demand: int, cells: list[float], dataset: Dataset) -> None:
    sent, send_us, offered_mbit, received, lost, receive_us, mbit = cells
    expected = {
        ("messages_sent", "total"): sent,
        ("send_duration", "total"): send_us * 1000,
        ("offered_goodput", "mean"): offered_mbit * 1e6,
        ("messages_received", "total"): received,
        ("messages_lost", "total"): lost,
        ("duration", "total"): receive_us * 1000,
        ("goodput", "mean"): mbit * 1e6,
    }
    for (metric, statistic), value in expected.items():
        where = {"payload_bytes": size, "demand": demand, "recovery_time_ns": 50_000_000}
        assert number(dataset, "fastrtps/manual", metric, statistic, **where) == pytest.approx(value)


@pytest.mark.parametrize(
    ("edition", "row"), [*itertools.product(("14-2", "15-17-1"), HMBDC)], ids=lambda value: value if isinstance(value, str) else value[0]
)
def test_bounds_of_latencies_of_hmbdc_equal_the_document(edition: str, row: tuple[Any, ...], dataset: Dataset) -> None:
    _, transport, path, low, high, bounds = row
    rows = found(dataset, f"hmbdc/{edition}", transport=transport, data_path=path, payload_bytes=low, payload_bytes_high=high)

    assert dict(zip(rows["bound"], rows["value"], strict=True)) == bounds


def test_number_of_published_rows_equals_the_number_of_rows_in_the_documents(dataset: Dataset) -> None:
    rows = dataset.results.drop_duplicates(["run", "log", "line", "participant", "data_path", "payload_bytes", "demand", "test"])
    of = rows["run"].str.split("/").str[0] + " " + rows["test"].astype("str")

    assert of[~of.str.startswith(("perftest", "middleware", "brokers"))].value_counts().to_dict() == {
        "rti throughput": 177,
        "rti latency": 54,
        "ecal latency": 64 + 64 + 26 + 30,
        "fastrtps demand": 13,
        "hmbdc latency": 2 * 7,  # Seven rows on each of two pages. Another row has no number, but the text "slightly better than rmcast".
    }


def test_figures_that_were_published_again_are_marked_as_one_measurement(dataset: Dataset) -> None:
    rows = dataset.results.assign(again=dataset.results["marks"].map(lambda marks: "republished" in marks))
    of_ecal = rows[rows["again"] & (rows["run"] == "ecal/5.12")]

    # The page of hmbdc 15-17-1 has the figures of 14-2. The page of eCAL 5.12 has new figures for zero copy, and the figures of 5.11 for copy.
    assert set(rows.loc[rows["again"], "run"]) == {"hmbdc/14-2", "hmbdc/15-17-1", "ecal/5.11", "ecal/5.12"}
    assert Counter(zip(of_ecal["participant"], of_ecal["data_path"], strict=True)) == {("Ubuntu22 AMD64", "copy"): 16, ("Win10 AMD64", "copy"): 16}
    assert rows.loc[rows["run"] == "hmbdc/15-17-1", "again"].all()


@pytest.mark.parametrize("edition", ["14-2", "15-17-1"])
def test_manifests_of_hmbdc_state_the_commands_of_all_results(edition: str) -> None:
    commands = {(command.result, command.machine, command.role): command for command in read_manifest(DATA / f"hmbdc/{edition}/run.toml").commands}
    of_4_1 = commands["4.1", "a", "pub"]

    assert {result for result, _, _ in commands} == {row[0] for row in HMBDC}
    assert commands["4.1", "b", "sub"].argv == ("./tips-ping-pong", "-r", "pong", "--cpuIndex", "4", "-I", "192.168.2.0/24", "--netprot=rmcast")
    assert of_4_1.argv[-7:] == ("--netprot", "rmcast", "--msgSize={payload_bytes}", "--runTime", "20", "-I", "192.168.2.0/24")
    assert of_4_1.each[0] == {"payload_bytes": 100, "messages_per_s": 500}
    assert of_4_1.each[-1] == {"payload_bytes": 10_000_000, "messages_per_s": 5}
    assert commands["0.1", "a", "pub"].argv[0] == {"14-2": "./tips-ping-pong", "15-17-1": "qperf"}[edition]


def test_zero_copy_latency_is_not_marked_as_latency_of_a_reference_if_it_grows_with_the_size(dataset: Dataset) -> None:
    rows = dataset.results[(dataset.results["data_path"] == "zero-copy") & (dataset.results["metric"] == "latency")]
    marks = {run: {mark for found in rows[rows["run"] == run]["marks"] for mark in found} for run in ("ecal/5.11", "ecal/5.12")}

    # eCAL 5.11: latency grows with the size, from 9 to 2471 microseconds. eCAL 5.12: 5 or 3 microseconds (by machine) at each size.
    assert marks == {"ecal/5.11": {"grows_with_size"}, "ecal/5.12": {"reference_only"}}
