"""The typical comparisons of users, through the command line. The expected verdicts are typed in."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tacholog.commands.diff import diff

Found = Counter[tuple[str | None, str, str]]


@pytest.fixture(scope="module")
def published(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of a few releases, because reading all data of the checkout takes seconds."""
    folder = tmp_path_factory.mktemp("published") / "data"
    for name in ("ecal", "hmbdc", "hosts"):
        shutil.copytree(checkout / "data" / name, folder / name)
    return folder


def compared(data: Path, *words: str, exit_code: int = 0) -> dict[str, Any]:
    result = CliRunner().invoke(diff, [*words, "--data", str(data), "--format", "json"], catch_exceptions=False)
    assert result.exit_code == exit_code
    report: dict[str, Any] = json.loads(result.output)
    assert report["counts"]["worse"] + report["counts"]["better"] == 0
    return report


def verdicts(report: dict[str, Any]) -> Found:
    return Counter((row["key"].get("data_path"), row["verdict"], " ".join(row.get("reasons", ()))) for row in report["rows"])


def test_ecal_5_4_and_5_5_are_not_comparable_because_their_programs_differ(published: Path) -> None:
    report = compared(published, "ecal-5.4.0", "ecal-5.5.0", exit_code=4)

    assert verdicts(report) == {(None, "not_comparable", "tool"): 26, (None, "added", ""): 4}
    (difference,) = report["rows"][0]["differences"]
    assert (difference["old"], difference["new"]) == ("ecal_sample_latency_rec", "ecal_sample_latency_rec_cb")


def test_report_on_ecal_5_5_and_5_11_lists_all_different_conditions(published: Path) -> None:
    report = compared(published, "ecal-5.5.0", "ecal-5.11", exit_code=4)

    assert verdicts(report) == {
        (None, "not_comparable", "tool participant transport data_path"): 15,
        (None, "not_comparable", "tool transport data_path"): 15,
        ("copy", "added", ""): 2,  # Size 32 MiB: only 5.11 measured it.
        ("zero-copy", "added", ""): 32,
    }
    first = report["rows"][0]
    assert [(found["field"], found["old"], found["new"]) for found in first["differences"]] == [
        ("tool", "ecal_sample_latency_rec_cb", "ecal_sample_latency_rec"),
        ("participant", "Ubuntu16 AMD64", "Ubuntu22 AMD64"),
        ("transport", None, "SHM"),
        ("data_path", None, "copy"),
        ("host", None, "HP ZBook 15 G5"),
    ]
    assert (first["key"]["participant"], first["new_key"]["participant"]) == ("Ubuntu16 AMD64", "Ubuntu22 AMD64")


def test_ecal_5_4_and_5_11_have_the_same_program_on_different_versions_of_ubuntu(published: Path) -> None:
    report = compared(published, "ecal-5.4.0", "ecal-5.11", exit_code=4)

    assert verdicts(report)[None, "not_comparable", "participant transport data_path"] == 13
    assert verdicts(report)[None, "not_comparable", "transport data_path"] == 13


def test_ecal_5_12_is_comparable_with_5_11_for_copies_only(published: Path) -> None:
    report = compared(published, "ecal-5.11", "ecal-5.12")

    assert verdicts(report) == {("copy", "unreplicated_same", "same_measurement"): 32, ("zero-copy", "not_comparable", "latency_of"): 32}
    refused = [row for row in report["rows"] if row["key"]["data_path"] == "zero-copy"]
    assert {(d["field"], d["old"], d["new"]) for row in refused for d in row["differences"]} == {("latency_of", "bytes", "a reference")}
    assert not any("ratio" in row or "interval" in row for row in refused)
    assert report["warnings"] == ["single_values", "latency_of:32"]
    largest = next(row for row in refused if (row["key"]["participant"], row["key"]["payload_bytes"]) == ("Ubuntu22 AMD64", 33554432))
    assert (largest["old"]["median"], largest["new"]["median"]) == (2_078_000, 3_000)
    assert {tuple(row.get("marks", ())) for row in report["rows"] if row["key"]["data_path"] == "zero-copy"} == {
        ("reference_only", "grows_with_size")
    }


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_report_on_ecal_5_12_begins_with_the_rows_that_measured_a_reference(published: Path, form: str) -> None:
    result = CliRunner().invoke(diff, ["ecal-5.11", "ecal-5.12", "--data", str(published), "--format", form], catch_exceptions=False)

    top = result.output[: result.output.upper().index("NOT COMPARABLE (32)")]
    assert "32 rows do not compare: 32 that measured bytes in the old release and a reference in the new one" in top
    assert "32 rows have the latency of bytes on one side" in top
    assert "the latency of bytes against that of a reference" in result.output
    assert "x0.00144" not in result.output
    assert "Marked: The latency of a reference (32 rows): Zero copy hands over a reference" in result.output


def test_hmbdc_15_17_1_has_the_same_published_results_as_14_2(published: Path) -> None:
    report = compared(published, "hmbdc-14-2", "hmbdc-15-17-1")

    assert {(verdict, reason) for _, verdict, reason in verdicts(report)} == {("unreplicated_same", "same_measurement")}
    assert Counter(row["key"]["statistic"] for row in report["rows"]) == {"range-low": 5, "range-high": 5, "typical": 2}


def test_rti_default_type_is_compared_with_custom_type(checkout: Path) -> None:
    data = checkout / "data/rti"

    report = compared(data, str(data / "default-type"), str(data / "custom-type"), "--across", "type")

    assert verdicts(report) == {
        ("copy", "unreplicated_diff", "single_run"): 10,
        ("copy", "unreplicated_same", "single_run"): 20,
        ("copy", "removed", ""): 7,
        ("copy", "added", ""): 3,
        ("flat-data", "unreplicated_diff", "single_run"): 9,
        ("flat-data", "unreplicated_same", "single_run"): 13,
        ("flat-data", "lossy", "loss"): 10,
        ("flat-data", "removed", ""): 6,
        ("flat-data", "added", ""): 1,
        ("zero-copy", "unreplicated_diff", "single_run"): 4,
        ("zero-copy", "unreplicated_same", "single_run"): 14,
    }


@pytest.mark.parametrize(
    ("old", "new", "across"),
    [
        ("keyed-reliable", "unkeyed-reliable", ("keyed", "instances")),
        ("unkeyed-best-effort", "unkeyed-reliable", ("reliability",)),
    ],
)
def test_rti_udpv4_wan_is_compared_in_two_configurations(checkout: Path, old: str, new: str, across: tuple[str, ...]) -> None:
    data = checkout / "data/rti/udpv4-wan"

    report = compared(data, str(data / old), str(data / new), *(word for field in across for word in ("--across", field)))

    assert {(verdict, reason) for _, verdict, reason in verdicts(report)} <= {
        ("unreplicated_diff", "single_run"),
        ("unreplicated_same", "single_run"),
        ("added", ""),
    }
    assert report["counts"]["unreplicated_diff"] + report["counts"]["unreplicated_same"] == 24


def test_two_releases_of_perftest_are_compared_in_recorded_pairs(checkout: Path) -> None:
    pairs = checkout / "data/perftest/0.1.0-to-0.2.0"

    result = CliRunner().invoke(diff, [str(pairs / "old"), str(pairs / "new"), "--format", "json"], catch_exceptions=False)

    report = json.loads(result.output)
    found = {(row["key"]["transport"], row["key"]["payload_bytes"]): row for row in report["rows"] if row["key"]["statistic"] == "p50"}
    assert (result.exit_code, report["counts"]["worse"], set(report["designs"])) == (0, 0, {"paired"})
    assert found["tcp", 64]["verdict"] == "better"
    assert found["tcp", 64]["ratio"] == pytest.approx(0.654, abs=0.001)
    assert found["shm", 64]["verdict"] == "no_change"


def test_sides_are_not_the_same_build_if_one_side_has_an_additional_release(checkout: Path) -> None:
    pairs = checkout / "data/perftest/0.1.0-to-0.2.0"

    result = CliRunner().invoke(diff, [str(pairs / "old"), str(pairs), "--format", "json"], catch_exceptions=False)

    report = json.loads(result.output)
    assert (report["new"]["releases"], report["same_build"], "same_build" in report["warnings"]) == (["0.1.0", "0.2.0"], False, False)


def test_maximum_is_tested_only_on_request_and_with_the_threshold_of_the_tail(checkout: Path) -> None:
    recorded = [str(checkout / "data/perftest/0.1.0-to-0.2.0" / side) for side in ("old", "new")]

    unasked, asked = (
        json.loads(CliRunner().invoke(diff, [*recorded, "--format", "json", *words], catch_exceptions=False).output)["rows"]
        for words in ([], ["--metric", "latency:max"])
    )

    assert "max" not in {row["key"]["statistic"] for row in unasked}
    assert {(row["key"]["statistic"], row["threshold"]) for row in asked} == {("max", 0.1)}


def test_two_repetitions_are_not_enough_and_the_report_states_how_many_are_needed(checkout: Path) -> None:
    recorded = [str(checkout / "data/perftest" / release) for release in ("0.1.0", "0.2.0")]

    result = CliRunner().invoke(diff, recorded, catch_exceptions=False)

    assert result.exit_code == 4  # Exit code 4: no row could be tested, so the comparison does not succeed.
    assert "2 and 2 runs, 6 a side are needed" in result.output
    assert "`tacholog ab` makes 12 pairs" in result.output
