"""Logs are grouped into runs and repetitions even if their paths state neither. The tests also check the names of run folders."""

from __future__ import annotations

import gzip
import lzma
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.importing.conftest import FORMATS, files_of, import_logs, lines_with, log_of, manifests

MakeTree = Callable[..., Path]


def started(time: str) -> str:
    return (FORMATS / "native/latency-udp.log").read_text().replace("start time=2026-11-21T04:04:02.776Z", f"start time={time}")


def origin(data: Path) -> dict[str, list[str | None]]:
    return {run: [log.path for log in manifest.logs] for run, manifest in manifests(data).items()}


def test_logs_with_the_same_fields_are_repetitions_in_the_order_of_their_names(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({f"udp/log_{number}.txt": log_of("sub", number) for number in (10, 9, 100)})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}/{_name}.txt")

    assert origin(tmp_path / "data") == {"udp/01": ["udp/log_9.txt"], "udp/02": ["udp/log_10.txt"], "udp/03": ["udp/log_100.txt"]}
    assert [run.repetition for run in manifests(tmp_path / "data").values()] == [1, 2, 3]
    assert "no path states a repetition: all runs were numbered in the order of the names of the logs" in said


def test_runs_are_numbered_in_the_order_of_the_start_times_that_their_logs_state(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"udp/a.txt": started("2026-11-21T04:09:00.000Z"), "udp/b.txt": started("2026-11-21T05:08:00.000+01:00")})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}/{_name}.txt")

    assert origin(tmp_path / "data") == {"udp/01": ["udp/b.txt"], "udp/02": ["udp/a.txt"]}
    assert "no path states a repetition: all runs were numbered in the order of the start times in the logs" in said


def test_each_folder_becomes_a_run_if_several_folders_have_a_log_of_the_same_role(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({f"udp/{day}/{side}.log": log_of(side, number) for number, day in enumerate(("mon", "tue")) for side in ("pub", "sub")})

    import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}/{_day}/{role}.log")

    assert origin(tmp_path / "data") == {
        "udp/01": ["udp/mon/pub.log", "udp/mon/sub.log"],
        "udp/02": ["udp/tue/pub.log", "udp/tue/sub.log"],
    }


def test_logs_are_refused_and_named_if_it_is_unclear_which_of_them_belong_to_one_run(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({f"udp/{side}-{name}.log": log_of(side, number) for number, name in enumerate("ab") for side in ("pub", "sub")})
    logs = tree({"tcp/pub-a.log": log_of("pub", 9)})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}/{role}-{_name}.log", "--verbose", status=2)

    assert origin(tmp_path / "data") == {"tcp/01": ["tcp/pub-a.log"]}
    (line,) = lines_with(
        said, ["not imported: 4 files: several logs have the same fields, so it is not clear which of them are one run; add a field"]
    )
    assert line.endswith(": udp/pub-a.log, udp/pub-b.log, udp/sub-a.log, udp/sub-b.log")


def test_logs_are_refused_and_named_if_their_paths_state_the_same_repetition_and_the_same_fields(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"mon/udp-1.log": log_of("sub"), "tue/udp-1.log": log_of("sub", 1), "tue/udp-2.log": log_of("sub", 2)})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{_day}/{transport}-{repetition}.log", status=2)

    (line,) = lines_with(said, ["not imported: 2 files: several logs have the same fields"])
    assert line.endswith(": mon/udp-1.log, tue/udp-1.log")
    assert origin(tmp_path / "data") == {"udp/02": ["tue/udp-2.log"]}


def test_numbered_repetitions_keep_their_numbers_when_more_logs_are_imported(tree: MakeTree, tmp_path: Path) -> None:
    words = ("--to", tmp_path / "data", "--map", "{label.x}/{_name}.txt")
    import_logs(tree({"udp/b.txt": log_of("sub", 1), "udp/d.txt": log_of("sub", 2)}), *words)
    before = files_of(tmp_path / "data")

    said = import_logs(tree({"udp/a.txt": log_of("sub", 3), "udp/c.txt": log_of("sub", 4)}), *words)

    assert "4 runs of 4 logs, 2 of them new" in said
    assert origin(tmp_path / "data") == {"udp/01": ["udp/b.txt"], "udp/02": ["udp/d.txt"], "udp/03": ["udp/a.txt"], "udp/04": ["udp/c.txt"]}
    assert before.items() <= files_of(tmp_path / "data").items()


def test_log_without_a_number_gets_an_unused_number(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({**{f"a/run_{number}.txt": log_of("sub", number) for number in range(3)}, "a/long.txt": log_of("sub", 9)})
    words = (logs, "--to", tmp_path / "data", "--map", "{label.x}/run_{repetition}.txt", "--map", "{label.x}/long.txt")

    dry = import_logs(*words, "--dry-run")
    import_logs(*words)
    again = import_logs(*words)

    assert "4 runs of 4 logs, 4 of them new" in dry
    assert "1 run whose path states no repetition got a number that no other run has: a/long.txt (3)" in dry
    assert origin(tmp_path / "data") == {**{f"a/0{number}": [f"a/run_{number}.txt"] for number in range(3)}, "a/03": ["a/long.txt"]}
    assert "4 runs of 4 logs, 0 of them new" in again


def test_repetition_is_refused_if_its_number_belongs_to_an_existing_run(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"a/long.txt": log_of("sub", 9)})
    words = (logs, "--to", tmp_path / "data", "--map", "{label.x}/run_{repetition}.txt", "--map", "{label.x}/long.txt")
    import_logs(*words)
    tree({"a/run_1.txt": log_of("sub", 1), "a/run_2.txt": log_of("sub", 2)})

    said = import_logs(*words, "--dry-run", status=2)

    (line,) = lines_with(said, ["not imported"])
    reason = "a/01 is already there, and is repetition 1 of a/long.txt; state another repetition for one of the two, or a label"
    assert line == f"tacholog: not imported: a/run_1.txt: {reason}"


def test_copies_of_a_log_do_not_count_as_repetitions(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"udp/a.txt": log_of("sub"), "udp/copy of a.txt": log_of("sub")})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}/{_name}.txt", status=2)

    assert "not imported: udp/copy of a.txt: the same bytes as udp/a.txt, so that all numbers would count twice" in said
    assert list(manifests(tmp_path / "data")) == ["udp/01"]


def test_compressed_copies_do_not_count_as_repetitions(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"udp/a.txt": log_of("sub")})
    for name, content in (("b", gzip.compress), ("c", lzma.compress)):
        (logs / f"udp/{name}.txt.gz").write_bytes(content((logs / "udp/a.txt").read_bytes()))

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}/{_name}.txt", status=2)

    words = "not imported: 2 files: the same text as udp/a.txt, so that all numbers would count twice: udp/b.txt.gz, udp/c.txt.gz"
    assert words in said
    assert list(manifests(tmp_path / "data")) == ["udp/01"]


def test_logs_with_equal_file_names_in_one_run_get_different_names(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"udp/1/pub/perf.log": log_of("pub"), "udp/1/sub/perf.log": log_of("sub")})

    import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}/{repetition}/{role}/perf.log")

    assert [log.file for log in manifests(tmp_path / "data")["udp/01"].logs] == ["pub-perf.log", "sub-perf.log"]


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (("a b", "a_b", "a-b", "a?b", "A-B"), "x-{label.x}.log"),
        (("hosts", "same-build", "..", "...", "-", "é", "e"), "x-{label.x}.log"),
        (("64", "064", "6.4", "true"), "x-{label.x}.log"),
        (("x" * 100, "x" * 101, "x" * 60), "x-{label.x}.log"),
        (("a/01", "a/x", "x/a", "b/01"), "x-{label.x}/{label.y}.log"),
    ],
)
def test_runs_with_similar_or_unsafe_labels_get_different_and_safe_folder_names(
    tree: MakeTree, tmp_path: Path, names: tuple[str, ...], pattern: str
) -> None:
    logs = tree({f"x-{name}.log": log_of("sub", number) for number, name in enumerate(names)})

    import_logs(logs, "--to", tmp_path / "data", "--map", pattern)

    runs = manifests(tmp_path / "data")
    assert len(runs) == len(names)
    assert {"/".join(run.labels.values()) for run in runs.values()} == {*names}
    assert all(part.strip(".") and part.isascii() and len(part) <= 67 for run in runs for part in run.split("/"))
    assert not {"hosts", "same-build"} & {part for run in runs for part in run.split("/")}


def test_runs_with_the_same_value_of_different_labels_get_different_folders(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"a/x.log": log_of("sub"), "b/x.log": log_of("sub", 1)})

    import_logs(logs, "--to", tmp_path / "data", "--map", "a/{label.first}.log", "--map", "b/{label.second}.log")

    runs = manifests(tmp_path / "data")
    assert sorted(tuple(run.labels.items()) for run in runs.values()) == [(("first", "x"),), (("second", "x"),)]
    assert all(re.fullmatch("x-[0-9a-f]{6}/01", folder) for folder in runs)


def test_runs_of_two_imports_with_different_conditions_get_different_folders(tree: MakeTree, tmp_path: Path) -> None:
    words = ("--to", tmp_path / "data", "--map", "{label.x}.log")
    import_logs(tree({"a.log": log_of("sub")}, "one"), *words, "--set", "batch_bytes=0")
    two = tree({"a.log": log_of("sub", 1)}, "two")
    import_logs(two, *words, "--set", "batch_bytes=1")

    assert [run.conditions.batch_bytes for run in manifests(tmp_path / "data").values()] == [0, 1]
    assert "0 of them new" in import_logs(two, *words, "--set", "batch_bytes=1")


def test_runs_without_results_are_never_treated_as_copies(tree: MakeTree, tmp_path: Path) -> None:
    banner = "".join(line for line in log_of("sub").splitlines(keepends=True) if not line.startswith("Length:"))
    logs = tree({"a.log": banner, "b.log": banner})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}.log")

    assert list(manifests(tmp_path / "data")) == ["a/01", "b/01"]
    assert "2 logs without any result: a.log, b.log" in said


def test_message_about_one_truncated_or_failed_log_uses_the_singular(tree: MakeTree, tmp_path: Path) -> None:
    native = (FORMATS / "native/latency-udp.log").read_text().splitlines(keepends=True)
    logs = tree({"cut.log": "".join(native[:-1]), "failed.log": "".join(native[:-1]) + native[-1].replace("status=ok", "status=failed")})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}.log")

    assert "1 log cut off before its end: cut.log" in said
    assert "1 log of a failed run: failed.log" in said


def test_run_with_logs_of_two_systems_is_imported_only_if_an_option_states_the_system(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"a/pub.log": log_of("pub"), "a/sub.log": (FORMATS / "iperf3/tcp.log").read_text()})
    words = ("--to", tmp_path / "data", "--map", "{label.x}/{role}.log")

    said = import_logs(logs, *words, status=2)
    import_logs(logs, *words, "--set", "system=Both")

    assert "not imported: a/pub.log: the logs of this run name several systems (RTI Connext DDS, " in said
    assert [(run.system, run.tool) for run in manifests(tmp_path / "data").values()] == [("Both", None)]
