"""Comparisons of published figures. Each side has only one value."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.compare.diff.compare import compare, exit_code
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison, ComparisonRow, ComparisonWarning
from tacholog.compare.sides import find
from tacholog.render.diff.page import links_of
from tacholog.render.diff.summary import unstated_words
from tacholog.render.links import Links
from tacholog.store.load import load
from tacholog.view.page_index import PageIndex
from tacholog.view.views import view_of

FORMATS = Path(__file__).parent.parent / "formats"


def diff(old: Path, new: Path, *across: str) -> Comparison:
    return compare(find(str(old), []), find(str(new), []), Policy(across=across), (old.name, new.name))


def row(report: Comparison, metric: str, payload_bytes: int, **key: str) -> ComparisonRow:
    (found,) = (
        row
        for row in report.rows
        if (row.key.metric, row.key.payload_bytes) == (metric, payload_bytes) and all(getattr(row.key, name) == value for name, value in key.items())
    )
    return found


def test_rti_default_type_is_compared_with_custom_type_by_ratios_without_verdicts(checkout: Path) -> None:
    report = diff(checkout / "data/rti/default-type", checkout / "data/rti/custom-type", "type")

    smallest = row(report, "goodput", 32, transport="SHMEM", data_path="copy")
    assert smallest.verdict == "unreplicated_diff"
    assert smallest.ratio == pytest.approx(472.8 / 664.2)
    assert report.counts["worse"] + report.counts["better"] == 0
    copies = [curve for curve in report.curves if curve.key.data_path == "copy"]
    assert [(curve.key.transport, curve.rows, curve.lower) for curve in copies] == [("SHMEM", 18, 17), ("UDPv4", 12, 11)]


def test_zero_copy_rate_is_compared_in_messages_per_second_because_no_bytes_moved(checkout: Path) -> None:
    report = diff(checkout / "data/rti/default-type", checkout / "data/rti/custom-type", "type")

    assert {row.key.metric for row in report.rows if row.key.data_path == "zero-copy"} == {"message_rate"}
    assert {row.key.metric for row in report.rows if row.key.data_path == "copy"} == {"goodput"}


def test_different_data_types_are_compared_only_on_request(checkout: Path) -> None:
    report = diff(checkout / "data/rti/default-type", checkout / "data/rti/custom-type")

    assert {row.verdict for row in report.rows} == {"removed", "added"}
    assert report.warnings == (ComparisonWarning("try_across", names=("type",)),)
    assert exit_code(report, ()) == 4


def test_raw_zero_copy_logs_are_compared_by_messages_per_second_and_missing_conditions_are_named(checkout: Path) -> None:
    old, new = (checkout / f"data/rti/{kind}-type/shmem-zero-copy/throughput-sub.log" for kind in ("default", "custom"))

    report = diff(old, new)

    assert {row.key.metric for row in report.rows} == {"message_rate"}
    assert unstated_words(report).endswith("transport, data path")


def test_report_on_copies_and_references_recommends_a_comparison_across_the_data_path(checkout: Path) -> None:
    folder = checkout / "data/rti/default-type"

    assert diff(folder / "shmem-regular", folder / "shmem-zero-copy").warnings == (ComparisonWarning("try_across", names=("data_path",)),)
    assert diff(folder / "shmem-regular", folder / "shmem-zero-copy", "data_path").counts["unreplicated_diff"] == 18


def test_keyed_data_over_a_wan_is_compared_with_unkeyed_data(checkout: Path) -> None:
    folder = checkout / "data/rti/udpv4-wan"
    report = diff(folder / "keyed-reliable", folder / "unkeyed-reliable", "keyed", "instances")

    smallest = row(report, "latency", 32, statistic="p50")
    assert smallest.verdict == "unreplicated_diff"
    assert (smallest.old and smallest.old.median, smallest.new and smallest.new.median) == (20_000, 17_000)
    assert smallest.interval is not None
    assert list(smallest.interval) == pytest.approx([16.5 / 20.5, 17.5 / 19.5])
    assert report.counts["added"] == 12  # Two rows for each of six sizes that only the unkeyed table has.
    assert smallest.unverified == ("harness_major",)


def test_best_effort_over_a_wan_is_compared_with_reliable(checkout: Path) -> None:
    folder = checkout / "data/rti/udpv4-wan"
    report = diff(folder / "unkeyed-best-effort", folder / "unkeyed-reliable", "reliability")

    assert report.counts["unreplicated_diff"] + report.counts["unreplicated_same"] == 24
    assert diff(folder / "unkeyed-best-effort", folder / "unkeyed-reliable").counts["not_comparable"] == 24


def raw_log(folder: Path, model: str, second: str) -> Path:
    """Write a log of perftest to the new folder, and return the folder.

    In the log, ``model`` is the model of the CPU, and ``second`` is the second of the start time.
    """
    folder.mkdir()
    text = (FORMATS / "native" / "latency-udp.log").read_text().replace("Intel(R) Xeon(R) Processor", model)
    (folder / "run.log").write_text(text.replace("T04:04:02.", f"T04:04:{second}."))
    return folder


def test_raw_logs_of_two_machines_do_not_compare(tmp_path: Path) -> None:
    report = diff(raw_log(tmp_path / "old", "Model A", "02"), raw_log(tmp_path / "new", "Model B", "03"))

    assert {one.verdict for one in report.rows} == {"not_comparable"}
    assert {("cpu_model", "Model A", "Model B"), ("host", "Model A, 2 threads", "Model B, 2 threads")} <= {
        (one.field, one.old, one.new) for one in report.rows[0].differences
    }
    assert (report.old.hosts, report.new.hosts) == (("Model A, 2 threads",), ("Model B, 2 threads",))


def test_raw_logs_of_one_machine_have_no_unverified_property_of_the_machine(tmp_path: Path) -> None:
    report = diff(raw_log(tmp_path / "old", "Model A", "02"), raw_log(tmp_path / "new", "Model A", "03"))

    assert report.rows
    assert not {"cpu_model", "cores_smt", "memory", "nic", "mtu"} & {name for one in report.rows for name in one.unverified}
    assert all(one.verdict != "not_comparable" for one in report.rows)


def test_log_without_a_host_line_states_no_machine(tmp_path: Path) -> None:
    folder = raw_log(tmp_path / "old", "Model A", "02")
    lines = (folder / "run.log").read_text().splitlines(keepends=True)
    (folder / "run.log").write_text("".join(line for line in lines if not line.startswith("host ")))

    report = diff(folder, raw_log(tmp_path / "new", "Model A", "03"))

    assert report.old.hosts == ()
    assert "cpu_model" in report.rows[0].unverified


def test_value_links_to_its_own_run_and_not_to_a_control_with_an_equal_value(checkout: Path) -> None:
    old, new = (
        load([checkout / "data"], wanted=lambda one: one.release == "0.3.0"),
        load([checkout / "data"], wanted=lambda one: one.release == "0.4.0"),
    )
    report = compare(old, new, Policy(transports=("tcp",)))
    found = row(report, "latency", 4096, statistic="p99.9")

    leads = links_of(report, {"old": view_of(old), "new": view_of(new)}, Links("logs"), PageIndex())

    # Two runs have the value p99.9_ns=42079 for 4 KiB: run 01 of version 0.3.0, and a control of version 0.4.0. The control ran on another machine.
    assert found.old is not None
    assert found.old.median == 42_079
    assert leads.line(found, "old") == "doc:logs/perftest/0.3.0/latency-tcp/01/perftest.log#L20:latency.p99.9"
