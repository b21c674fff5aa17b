"""Numbers in file names can have leading zeros, and a suggested pattern matches the logs that it was made from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.importing.conftest import import_logs, log_of, manifests

from tacholog.runs.importing.suggestion import suggest

MakeTree = Callable[..., Path]
#: From github.com/rex-schilasky/rmw_perftest, experiments/
TWO_ROLES_IN_A_NAME = [
    "002/pub_01-sub_01-rate_0010-hist_all/rmw_cyclonedds_cpp/Array1k/log_test_topic_28-11-2020_08-57-42",
    "002/pub_01-sub_10-rate_1000-hist_all/rmw_fastrtps_cpp/Struct4k/log_test_topic_30-11-2020_11-31-29",
    "003/pub_01-sub_05-rate_0010-hist_last/rmw_ecal_dynamic_cpp/PointCloud4m/log_test_topic_28-11-2020_10-55-23",
]


@pytest.mark.parametrize("number", ["3", "03", "003", "00000000000000003"])
def test_leading_zeros_of_a_repetition_are_ignored(tree: MakeTree, tmp_path: Path, number: str) -> None:
    logs = tree({f"run{number}/sub.log": log_of("sub")})

    import_logs(logs, "--to", tmp_path / "data", "--map", "run{repetition}/{role}.log")

    assert [run.repetition for run in manifests(tmp_path / "data").values()] == [3]


def test_leading_zeros_of_numbers_are_ignored(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"rate_0010/sub01.log": log_of("sub"), "rate_0010/sub02.log": log_of("sub", 1)})
    (tmp_path / "rules.toml").write_text('[[rule]]\npath = "rate_{offered_rate_per_s}/{role}{participant}.log"\nset = { repetition = "007" }\n')

    import_logs(logs, "--to", tmp_path / "data", "--rules", tmp_path / "rules.toml", "--set", "instances=02")

    (run,) = manifests(tmp_path / "data").values()
    assert (run.repetition, run.conditions.offered_rate_per_s, run.conditions.instances) == (7, 10.0, 2)
    assert [log.participant for log in run.logs] == ["sub1", "sub2"]


def test_ten_runs_in_folders_numbered_01_to_10_are_all_imported(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({f"run{number:02}/sub.log": log_of("sub", number) for number in range(1, 11)})

    (found,) = suggest([f"run{number:02}/sub.log" for number in range(1, 11)])
    said = import_logs(logs, "--to", tmp_path / "data", "--map", found.pattern)

    assert found.pattern == "run{repetition}/{role}.log"
    assert "10 runs imported" in said


@pytest.mark.parametrize(
    "paths",
    [
        TWO_ROLES_IN_A_NAME,
        [f"{a}-{b}/{c}.log" for a in ("pub", "sub") for b in ("pub", "sub") for c in ("pub", "sub")],
        [f"{a}{b}.log" for a in ("pub", "sub") for b in ("pub", "sub")],
        [f"run{i:02}/pub{j:02}-sub{k}/perf-{role}.log" for i in range(1, 4) for j in (1, 10) for k in (1, 2) for role in ("pub", "sub")],
    ],
)
def test_suggested_pattern_matches_all_logs_that_it_was_made_from(paths: list[str]) -> None:
    assert [sorted(one.paths) for one in suggest(paths)] == [sorted(paths)]
