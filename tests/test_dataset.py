"""Run folders become tables: an unusable file affects only itself and is reported."""

from __future__ import annotations

import hashlib
import inspect
import os
import shutil
import sys
import tracemalloc
import weakref
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from tacholog.errors import UnreadableInput
from tacholog.runs.manifest import LogFile, Manifest, read_manifest, write
from tacholog.schema.conditions import StatedConditions
from tacholog.schema.tables import TABLES
from tacholog.store.complaints import complaints
from tacholog.store.distributions import NoDistribution, PackedDistribution, packed_bins
from tacholog.store.export import write_hdr
from tacholog.store.frames import Dataset, dtype_of, open_saved, without_distributions
from tacholog.store.load import load, load_logs

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROOT = Path(__file__).resolve().parent.parent
SOCKPERF = ROOT / "tests/formats/sockperf/ping-pong-udp.log"
LATENCY = ROOT / "tests/formats/native/latency-udp.log"
LINE = "Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)\n"


def run(root: Path, name: str, text: str = LINE, sha256: str | None = None, **manifest: object) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "sub.log").write_text(text)
    digest = sha256 or hashlib.sha256(text.encode()).hexdigest()
    write(folder / "run.toml", Manifest(system="X", logs=(LogFile(file="sub.log", sha256=digest),), **manifest))  # type: ignore[arg-type]
    return folder


def test_dataset_states_the_origin_of_each_number(tmp_path: Path) -> None:
    run(tmp_path, "a/b")

    row = load([tmp_path]).results.set_index("metric").loc["goodput"]

    assert (row["run"], row["log"], row["line"], row["value"], row["unit"]) == ("a/b", "sub.log", 1, 664.2e6, "bit_per_s")


def test_column_of_labels_has_sorted_keys_and_is_null_for_a_run_without_labels(tmp_path: Path) -> None:
    run(tmp_path, "labelled", labels={"plugin": "flannel", "kernel": "6.1 <é>"})
    run(tmp_path, "without")

    runs = load([tmp_path]).runs.set_index("run")

    assert runs.loc["labelled", "labels"] == '{"kernel": "6.1 <é>", "plugin": "flannel"}'
    assert runs.loc["without", "labels"] is pd.NA


def test_manifest_adds_conditions_that_the_log_does_not_state_and_the_log_has_precedence(tmp_path: Path) -> None:
    run(tmp_path, "a", conditions=StatedConditions(transport="SHMEM", definition="something else"))

    row = load([tmp_path]).results.iloc[0]

    assert (row["transport"], row["definition"]) == ("SHMEM", "rti-throughput")


@pytest.mark.parametrize(
    ("environment", "threads", "is_busy"),
    [
        ({"load1_before": "11.2"}, "2", True),
        ({"load1_before": "2.4"}, "2", False),
        ({"load1_before": "11.2"}, "64", False),
        ({"load1_before": "11.2"}, "some", False),
        ({"load1_before": "nan"}, "2", False),
        ({"load1_before": "11.2", "other_load_before": "0.40"}, "2", False),
        ({"load1_before": "0.1", "other_load_before": "0.60"}, "2", True),
        ({"load1_before": "11.2", "other_load_before": "unknown"}, "2", True),
        ({}, "2", False),
    ],
)
def test_busy_machine_is_marked_if_only_the_manifest_states_the_load(
    tmp_path: Path, environment: dict[str, str], threads: str, is_busy: bool
) -> None:
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    (hosts / "lab.toml").write_text(f'name = "Lab"\nsource = "stated"\n\n[cpu]\nthreads = "{threads}"\n')
    run(tmp_path, "a", host="lab", environment=environment)
    marks = {mark for found in load([tmp_path]).results["marks"] for mark in found}
    assert ("busy_machine" in marks) == is_busy


def test_manifest_with_an_error_affects_only_its_run(tmp_path: Path) -> None:
    run(tmp_path, "good")
    (run(tmp_path, "bad") / "run.toml").write_text("system = ")

    dataset = load([tmp_path])

    assert list(dataset.runs["run"]) == ["good"]
    assert list(dataset.problems["run"]) == ["bad"]


def test_log_that_was_changed_after_its_run_is_reported(tmp_path: Path) -> None:
    run(tmp_path, "a", sha256="0" * 64)

    assert "run.toml says 000000" in load([tmp_path]).problems["reason"].iloc[0]


def test_missing_log_and_unlisted_log_are_reported(tmp_path: Path) -> None:
    folder = run(tmp_path, "a")
    (folder / "sub.log").rename(folder / "other.log")

    dataset = load([tmp_path])

    assert sorted(zip(dataset.problems["log"], dataset.problems["kind"], strict=True)) == [("other.log", "manifest"), ("sub.log", "unreadable")]
    assert dataset.runs["status"].iloc[0] == "failed"


def test_unknown_and_broken_lines_become_problems_with_their_line_numbers(tmp_path: Path) -> None:
    run(tmp_path, "a", text=f"{LINE}<script>alert(1)</script>\nLength: 64 Pack\n")

    problems = load([tmp_path]).problems

    assert list(zip(problems["line"], problems["kind"], problems["text"], strict=True)) == [
        (2, "unknown", "<script>alert(1)</script>"),
        (3, "broken", "Length: 64 Pack"),
    ]


def test_path_outside_of_a_run_folder_is_refused(tmp_path: Path) -> None:
    folder = run(tmp_path, "a")
    text = (folder / "run.toml").read_text().replace("sub.log", "../../etc/passwd")
    (folder / "run.toml").write_text(text)

    assert "run.toml" in load([tmp_path]).problems["reason"].iloc[0]


def test_dataset_stays_the_same_after_saving_and_opening(tmp_path: Path) -> None:
    run(tmp_path / "data", "a")
    run(tmp_path / "data", "lossy", LINE.replace("Lost:     0 (0.00%)", "Lost: 9000000 (10.36%)"))
    dataset = load([tmp_path / "data"])

    dataset.save(tmp_path / "saved")

    again = open_saved(tmp_path / "saved")
    assert again.results["marks"].tolist() == dataset.results["marks"].tolist()
    assert ("loss",) in dataset.results["marks"].tolist()
    assert list(again.results.columns) == list(dataset.results.columns)
    assert set(dataset.results.columns) - set(open_saved(tmp_path / "saved", ("log", "unit")).results.columns) == {"log", "unit"}
    assert list(again.results.dtypes) == list(dataset.results.dtypes)
    assert again.results["value"].tolist() == dataset.results["value"].tolist()


def test_distributions_that_a_dataset_drops_are_removed_from_memory(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "data/perftest/0.3.0/latency-shm/01", tmp_path / "run")
    data = load([tmp_path])
    bins = weakref.ref(data.histograms["bins"].iloc[0])

    data = without_distributions(data)

    assert data.histograms.empty
    assert list(data.histograms.columns) == list(TABLES["histograms"])
    assert bins() is None


def test_help_shows_the_fields_of_a_dataset() -> None:
    assert [*inspect.signature(Dataset).parameters] == [*TABLES, "hosts"]


def test_damaged_distribution_can_be_printed() -> None:
    assert repr(PackedDistribution(b"damaged")) == "<Distribution, damaged>"


def test_unused_categories_are_not_saved(tmp_path: Path) -> None:
    for name in ("kept", "secret"):
        run(tmp_path / "data", name)
    data = load([tmp_path / "data"])

    msgspec.structs.replace(data, results=data.results[data.results["run"] == "kept"]).save(tmp_path / "saved")

    words = parquet.read_table(tmp_path / "saved/results.parquet", read_dictionary=["run"])["run"].chunk(0).dictionary
    assert words.to_pylist() == ["kept"]
    assert list(open_saved(tmp_path / "saved").results["run"].cat.categories) == ["kept"]


def test_dataset_saved_by_version_0_3_opens_with_the_present_columns() -> None:
    # Saved by 0.3.0 from tests/formats/native/latency-udp.log, as a run on a described host.
    saved = open_saved(ROOT / "tests/saved/0.3.0")

    for name, columns in TABLES.items():
        table = getattr(saved, name)
        assert list(table.columns) == list(columns)
        assert [str(dtype) for dtype in table.dtypes] == [dtype_of(name, column) for column in columns.values()]
    medians = saved.results.query("scope == 'summary' and metric == 'latency' and statistic == 'p50'")
    assert medians[["payload_bytes", "value", "transport", "basis"]].to_numpy().tolist() == [[64, 3851.0, "udp", "rtt"], [1024, 4667.0, "udp", "rtt"]]
    assert saved.runs["options"].tolist() == ['{"turbo": true}']
    assert saved.hosts["box"].cpu == {"model": "Some CPU"}


def test_open_saved_adds_missing_columns_in_order_and_without_values(tmp_path: Path) -> None:
    run(tmp_path / "data", "a")
    dataset = load([tmp_path / "data"])
    runs = dataset.runs.drop(columns=["options", "labels"])
    older = msgspec.structs.replace(dataset, results=dataset.results.drop(columns=["waiting", "keyed"]), runs=runs)
    older.save(tmp_path / "saved")

    again = open_saved(tmp_path / "saved")
    part = open_saved(tmp_path / "saved", ("keyed", "unit"))

    assert list(again.results.columns) == list(dataset.results.columns)
    assert list(again.results.dtypes) == list(dataset.results.dtypes)
    assert list(again.runs.dtypes) == list(dataset.runs.dtypes)
    assert again.results[["waiting", "keyed"]].isna().all(axis=None)
    assert set(dataset.results.columns) - set(part.results.columns) == {"keyed", "unit"}


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="no such folder"):
        load([tmp_path / "missing"])


def test_first_of_two_copies_of_a_run_is_read_and_both_copies_are_named(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    run(one, "a")
    run(two, "a")
    run(two, "b")

    data = load([one, two])

    assert data.runs[["run", "root"]].to_numpy().tolist() == [["a", str(one / "a")], ["b", str(two / "b")]]
    assert complaints(data).unread == (f"{two}/a: not read, because the run a is in {one}/a too; give one of the two folders another name",)
    assert complaints(load([one])).unread == ()


def test_folder_given_twice_is_an_error(tmp_path: Path) -> None:
    run(tmp_path / "one", "a")

    with pytest.raises(UnreadableInput, match=r"one/\.\./one: this folder was given twice"):
        load([tmp_path / "one", tmp_path / "one/../one"])


_FOLDED = "options = {a = " + "[" * 400 + "]" * 400 + "}"
_HUGE = "1" + "0" * 30


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"conditions = {{payload_bytes = {_HUGE}}}", "does not fit into 64 bits"),
        (f"options = {{payload_bytes = {_HUGE}}}", "does not fit into 64 bits"),
        (f"repetition = -{_HUGE}", "does not fit into 64 bits"),
        (f"repetition = {'9' * 5000}", "run.toml: a whole number does not fit into 64 bits"),
        (f"repetition = 0x{'f' * 5000}", "run.toml: a whole number does not fit into 64 bits"),
        (_FOLDED, "more than 32 deep"),
        (_FOLDED.replace("[" * 400, "[" * 5000).replace("]" * 400, "]" * 5000), "more than 32 deep"),
        (f"options.{'.'.join('a' * 3000)} = 1", "more than 32 deep"),
        ("options = {b = 1, " + ".".join([r'"a\""'] * 3000) + " = 1}", "run.toml:3: tables and lists are nested more than 32 deep"),
    ],
    ids=[
        "a size",
        "an option",
        "a repetition",
        "more digits than Python reads",
        "more bits than Python writes",
        "a deep list",
        "a list too deep for Python",
        "a deep table",
        "a deep table in a table",
    ],
)
def test_manifest_with_values_that_no_table_can_store_affects_only_its_run(tmp_path: Path, line: str, said: str) -> None:
    for name, extra in (("good", ""), ("bad", line)):
        (tmp_path / name).mkdir()
        shutil.copy(SOCKPERF, tmp_path / name / "x.log")
        digest = hashlib.sha256(SOCKPERF.read_bytes()).hexdigest()
        (tmp_path / name / "run.toml").write_text(f'schema = 1\nsystem = "S"\n{extra}\nlogs = [{{file = "x.log", sha256 = "{digest}"}}]\n')

    dataset = load([tmp_path])

    assert list(dataset.runs["run"]) == ["good"]
    assert [said in reason for reason in dataset.problems.query("run == 'bad'")["reason"]] == [True]


def test_manifest_key_of_thousands_of_parts_is_refused_without_using_much_memory(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(f"{'.'.join('a' * 3000)} = 1\n")

    tracemalloc.start()
    with pytest.raises(UnreadableInput, match=r"run\.toml:1: tables and lists are nested more than 32 deep"):
        read_manifest(tmp_path / "run.toml")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 5_000_000


def test_text_with_many_dots_in_a_manifest_is_not_treated_as_a_key(tmp_path: Path) -> None:
    run(tmp_path, "good")
    path = tmp_path / "good" / "run.toml"
    path.write_text(f'notes = ["{".".join("a" * 100)}"]\n{path.read_text()}')

    assert read_manifest(path).notes == (".".join("a" * 100),)


def test_saved_dataset_that_lacks_a_newer_column_can_be_opened(tmp_path: Path) -> None:
    run(tmp_path / "data", "good")
    load([tmp_path / "data"]).save(tmp_path / "saved")
    results = pd.read_parquet(tmp_path / "saved" / "results.parquet")
    results.drop(columns="reach").to_parquet(tmp_path / "saved" / "results.parquet")

    assert open_saved(tmp_path / "saved").results["reach"].isna().all()


def test_name_that_is_not_valid_utf_8_is_reported_and_affects_only_itself(tmp_path: Path) -> None:
    run(tmp_path, "good")
    shutil.copytree(tmp_path / "good", os.fsdecode(os.fsencode(tmp_path) + b"/r\xff"))
    (tmp_path / "good" / os.fsdecode(b"l\xe9.log")).write_text(LINE)
    (tmp_path / "hosts").mkdir()
    (tmp_path / "hosts" / os.fsdecode(b"h\xe9.toml")).write_text('name = "x"\nsource = "y"\n')

    dataset = load([tmp_path])
    dataset.save(tmp_path / "saved")

    assert list(dataset.runs["run"]) == ["good"]
    assert sorted(dataset.problems["reason"]) == [
        "h\\udce9.toml: the name is not valid UTF-8, so it cannot name a page; rename it",
        "r\\udcff: the name is not valid UTF-8, so it cannot name a page; rename it",
        "the file is not listed in run.toml and was not read",
    ]
    assert dataset.hosts == {}


def test_log_without_a_manifest_and_with_an_invalid_utf_8_name_is_reported(tmp_path: Path) -> None:
    log = tmp_path / os.fsdecode(b"l\xe9.log")
    shutil.copy(SOCKPERF, log)

    with pytest.raises(UnreadableInput, match=r"l\\udce9.log: the name is not valid UTF-8"):
        load_logs([log])


def full_log_without_a_size(folder: Path) -> Path:
    """Write a full log of sockperf without the message size, and return its path. A full log has the latency of each packet."""
    log = folder / "full.csv"
    log.write_text((SOCKPERF.parent / "full-log.csv").read_text().replace("--msg-size=14 ", ""))
    return log


@pytest.mark.parametrize("packed", [False, True])
def test_dataset_can_be_saved_with_many_distributions_with_no_distribution_and_with_an_empty_distribution(tmp_path: Path, packed: bool) -> None:
    dataset = load_logs([LATENCY])
    bins = PackedDistribution(packed_bins(np.array([[1, 2, 3], [4, 5, 6]])))
    several = dataset.histograms.assign(bins=pd.Series([bins, PackedDistribution()], dtype="object"))
    many = pd.concat([several] * 2001, ignore_index=True)  # More distributions than are written in one step.
    for name, table in (("several", several), ("many", many), ("none", several[:0])):
        msgspec.structs.replace(dataset, histograms=table).save(tmp_path / name, packed=packed)

    assert [found.tolist() for found in open_saved(tmp_path / "several").histograms["bins"]] == [[[1, 2, 3], [4, 5, 6]], []]
    assert open_saved(tmp_path / "none").histograms["bins"].tolist() == []
    found = open_saved(tmp_path / "many").histograms
    assert [bins.tolist() for bins in found["bins"]] == [[[1, 2, 3], [4, 5, 6]], []] * 2001
    assert found["line"].tolist() == [*several["line"]] * 2001


def test_other_programs_can_read_the_bins_of_a_saved_dataset(tmp_path: Path) -> None:
    load_logs([LATENCY]).save(tmp_path)

    bins = parquet.read_table(tmp_path / "histograms.parquet")["bins"].to_pylist()
    assert bins[0][:2] == [[2828, 2829, 1], [2900, 2901, 1]]


def test_distribution_can_be_read_as_an_array_of_bins_of_any_size() -> None:
    for bins in (
        [],
        [[0, 0, 1]],
        [[2828, 2829, 1], [2900, 2901, 1]],
        [[0, 2**63 - 1, 2**63 - 1]],
        [[2**62, 2**63 - 2, 5], [2**63 - 1, 2**63 - 1, 1]],
    ):
        distribution = PackedDistribution(packed_bins(np.array(bins, np.int64).reshape(-1, 3)))

        assert distribution.tolist() == np.asarray(distribution).tolist() == bins
        assert [*distribution] == [*map(tuple, bins)]
        assert len(distribution) == len(bins)


def test_bytes_that_are_not_a_distribution_are_an_error() -> None:
    whole = packed_bins(np.array([[1, 2, 3], [4, 5, 6]]))
    for damaged in (whole[:-1], b"not packed", zstd.compress(b"\0" * 32)):
        with pytest.raises(NoDistribution):
            PackedDistribution(damaged).array()


def test_saved_bin_without_three_numbers_is_an_error(tmp_path: Path) -> None:
    dataset = load_logs([LATENCY])
    dataset.save(tmp_path)
    table = parquet.read_table(tmp_path / "histograms.parquet").drop_columns(["bins"])
    parquet.write_table(table.append_column("bins", pa.array([[[1, 2]]] * len(table))), tmp_path / "histograms.parquet")

    with pytest.raises(UnreadableInput, match="a bin of a distribution does not have three numbers"):
        open_saved(tmp_path)


def test_distribution_needs_no_message_size(tmp_path: Path) -> None:
    dataset = load_logs([full_log_without_a_size(tmp_path)])
    dataset.save(tmp_path / "saved")

    assert dataset.histograms["payload_bytes"].isna().tolist() == [True]
    assert sum(count for _, _, count in dataset.histograms["bins"][0]) == 54
    again = open_saved(tmp_path / "saved")
    assert [bins.tolist() for bins in again.histograms["bins"]] == [bins.tolist() for bins in dataset.histograms["bins"]]
    assert write_hdr([{str(name): value for name, value in row.items()} for row in again.histograms.to_dict("records")], tmp_path / "hdr") == 1
    assert "Tag=bytes-unknown-line-" in next((tmp_path / "hdr").rglob("*.hlog")).read_text()


def test_distribution_without_a_message_size_gets_the_message_size_of_its_manifest(tmp_path: Path) -> None:
    log = full_log_without_a_size(tmp_path)
    entry = LogFile(file=log.name, sha256=hashlib.sha256(log.read_bytes()).hexdigest())
    write(tmp_path / "run.toml", Manifest(system="Sockets", conditions=StatedConditions(payload_bytes=14), logs=(entry,)))

    assert load([tmp_path]).histograms["payload_bytes"].tolist() == [14]
