"""``tacholog import`` makes runs from existing logs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command import run_tacholog_text
from tests.importing.conftest import FORMATS, PATTERN, conditions, files_of, import_logs, lines_with, log_of, manifests

from tacholog.store.load import load

MakeTree = Callable[..., Path]


def test_logs_of_publisher_and_subscriber_become_one_run_with_fields_from_their_paths(cluster: Path, tmp_path: Path) -> None:
    said = import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN)

    runs = manifests(tmp_path / "data")
    assert list(runs) == [
        "throughput-test/flannel-hostgw-dds-secure-tcp/00",
        "throughput-test/flannel-hostgw-dds-secure-tcp/01",
        "throughput-test/hostnetwork-udp/00",
        "throughput-test/hostnetwork-udp/01",
    ]
    run = runs["throughput-test/hostnetwork-udp/01"]
    assert run.labels == {"test": "throughput-test", "plugin": "hostnetwork-udp"}
    assert (run.system, run.tool, run.repetition) == ("RTI Connext DDS", "RTI Perftest", 1)
    assert [(log.file, log.side, log.participant, log.path) for log in run.logs] == [
        ("rtiperftest-pub0.log", "publisher", None, "throughput-test/hostnetwork-udp/test-1/rtiperftest-pub0.log"),
        ("rtiperftest-sub0.log", "subscriber", None, "throughput-test/hostnetwork-udp/test-1/rtiperftest-sub0.log"),
    ]
    assert "4 runs of 8 logs, 4 of them new" in said
    assert "4 runs imported" in said
    (row,) = lines_with(said, ["throughput-test/hostnetwork-udp "])
    assert re.split("  +", row)[1:] == ["0 to 1", "2", "2 publisher, 2 subscriber", "rti", "latency (64 bytes), throughput (64 bytes)"]


def test_imported_folder_is_complete_and_has_no_problem(cluster: Path, tmp_path: Path) -> None:
    before = files_of(cluster)

    import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN)
    done = run_tacholog_text("check", tmp_path / "data")

    assert (done.stdout, done.returncode) == ("", 0)
    assert done.stderr == "4 runs, 236 lines, 72 numbers, 0 problems\n"
    assert files_of(cluster) == before
    copied = sorted(content for name, content in files_of(tmp_path / "data").items() if name.endswith(".log"))
    assert copied == sorted(before.values())


def test_dry_run_writes_nothing_and_prints_the_same_text_as_an_import(cluster: Path, tmp_path: Path) -> None:
    dry = import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN, "--dry-run")

    assert not (tmp_path / "data").exists()
    assert dry.endswith("dry run: nothing was written\n")
    assert dry.splitlines()[:-1] == import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN).splitlines()[:-1]


def test_second_import_adds_only_new_runs(cluster: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    import_logs(cluster, "--to", data, "--map", PATTERN)
    before = {name: (data / name).stat() for name in files_of(data)}
    new = cluster / "throughput-test/hostnetwork-udp/test-2/rtiperftest-sub0.log"
    new.parent.mkdir()
    new.write_text(log_of("sub", 99))

    said = import_logs(cluster, "--to", data, "--map", PATTERN)

    assert "5 runs of 9 logs, 1 of them new" in said
    assert "1 run imported" in said
    assert {name: (data / name).stat().st_mtime_ns for name in before} == {name: found.st_mtime_ns for name, found in before.items()}
    assert manifests(data).keys() - {"/".join(name.split("/")[:-1]) for name in before} == {"throughput-test/hostnetwork-udp/02"}


def test_log_that_changed_since_its_import_is_reported_and_not_imported_again(cluster: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    import_logs(cluster, "--to", data, "--map", PATTERN)
    before = files_of(data)
    (cluster / "throughput-test/hostnetwork-udp/test-1/rtiperftest-sub0.log").write_text(log_of("sub", 77))
    (cluster / "throughput-test/hostnetwork-udp/test-0/rtiperftest-sub1.log").write_text(log_of("sub", 78))

    said = import_logs(cluster, "--to", data, "--map", PATTERN, status=2)

    assert files_of(data) == before
    assert (
        "not imported: throughput-test/hostnetwork-udp/test-1/rtiperftest-sub0.log: throughput-test/hostnetwork-udp/01 is already there, "
        "and the log has changed since; to import it again, remove throughput-test/hostnetwork-udp/01 first" in said
    )
    assert "rtiperftest-sub1.log: throughput-test/hostnetwork-udp/00 is already there, and that run was imported without this log" in said


def test_runs_imported_earlier_with_other_values_are_named_and_not_changed(cluster: Path, tmp_path: Path) -> None:
    import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN)
    before = files_of(tmp_path / "data")

    said = import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN, "--set", "batch_bytes=0", "--set", "label.kernel=6.1")

    assert "4 runs already there under another name: throughput-test/flannel-hostgw-dds-secure-tcp/00," in said
    assert "4 runs already there with other values of conditions.batch_bytes, labels.kernel: " in said
    assert files_of(tmp_path / "data") == before


def test_two_publishers_of_one_run_are_two_participants_and_are_not_pooled(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({f"x/test-1/{side}{number}.log": log_of(side, 10 * number) for side in ("pub", "sub") for number in range(2)})

    import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}/test-{repetition}/{role}{participant}.log")

    results = load([tmp_path / "data"]).results
    means = results[(results["metric"] == "latency") & (results["statistic"] == "mean")]
    assert means[["side", "participant", "value"]].to_numpy().tolist() == [["publisher", "pub0", 1677e3], ["publisher", "pub1", 1687e3]]
    rates = results[results["metric"] == "message_rate"]
    assert rates[["participant", "value"]].to_numpy().tolist() == [["sub0", 11833.0], ["sub1", 11843.0]]


def test_printed_records_have_the_side_and_the_participant_of_the_manifest(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({f"x/1/{side}{number}.log": log_of(side, number) for side in ("pub", "sub") for number in range(2)})
    import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}/{repetition}/{role}{participant}.log")

    done = run_tacholog_text("parse", tmp_path / "data", "--format", "jsonl")

    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert {(record["side"], record["participant"]) for record in records} == {
        *(("publisher", "pub0"), ("publisher", "pub1"), ("subscriber", "sub0"), ("subscriber", "sub1")),
    }


def test_side_stated_in_the_log_has_precedence_over_the_side_in_its_path(tree: MakeTree, tmp_path: Path) -> None:
    import_logs(tree({"x/1/pub.log": log_of("sub")}), "--to", tmp_path / "data", "--map", "{label.x}/{repetition}/{role}.log")

    data = load([tmp_path / "data"])
    assert (data.logs["side"].tolist(), data.results["side"].unique().tolist()) == (["publisher"], ["subscriber"])


def test_log_without_results_does_not_make_its_run_empty_if_another_log_has_results(tree: MakeTree, tmp_path: Path) -> None:
    banner = "".join(line for line in log_of("sub").splitlines(keepends=True) if not line.startswith("Length:"))
    logs = tree({"x/1/pub.log": log_of("pub", kind="latency"), "x/1/sub.log": banner, "x/2/sub.log": banner})

    import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}/{repetition}/{role}.log")

    data = load([tmp_path / "data"])
    assert data.runs[["run", "status"]].fillna("").to_numpy().tolist() == [["x/01", "ok"], ["x/02", "empty"]]
    assert data.logs[["log", "status"]].fillna("").to_numpy().tolist() == [["pub.log", "ok"], ["sub.log", "empty"], ["sub.log", "empty"]]


def test_participants_are_named_in_all_repetitions_if_one_repetition_has_several_participants(tree: MakeTree, tmp_path: Path) -> None:
    files = {"x/1/sub0.log": log_of("sub", 1), "x/1/sub1.log": log_of("sub", 2), "x/2/sub0.log": log_of("sub", 3), "y/1/sub0.log": log_of("sub", 4)}

    import_logs(tree(files), "--to", tmp_path / "data", "--map", "{label.x}/{repetition}/{role}{participant}.log")

    found = {run: [log.participant for log in manifest.logs] for run, manifest in manifests(tmp_path / "data").items()}
    assert found == {"x/01": ["sub0", "sub1"], "x/02": ["sub0"], "y/01": [None]}


def test_fields_of_each_kind_are_written_to_the_manifest(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"Some DDS/6.1/tcp/64B/lab/2024-w3/t1/5.log": log_of("sub")})
    pattern = "{system}/{release}/{transport}/{payload_bytes}B/{host}/{session}/{options.window}/{repetition}.log"

    import_logs(
        *(logs, "--to", tmp_path / "data", "--map", pattern, "--set", "reliability=RELIABLE", "--set", "conditions.keyed=false"),
        *("--set", "options.rate=10", "--set", "label.kernel=6.1", "--set", "published=true", "--set", "tool_version=3", "--set", "campaign=c"),
    )

    ((folder, run),) = manifests(tmp_path / "data").items()
    assert (run.system, run.release, run.host, run.session, run.repetition, run.published) == ("Some DDS", "6.1", "lab", "2024-w3", 5, True)
    assert conditions(run) == {"transport": "tcp", "payload_bytes": 64, "reliability": "reliable", "keyed": False}
    assert (run.options, run.labels, run.tool_version, run.campaign) == ({"window": "t1", "rate": 10}, {"kernel": "6.1"}, "3", "c")
    assert re.fullmatch(r"c/Some-DDS-[0-9a-f]{6}/release-6.1/tcp/payload_bytes-64/lab/session-[0-9a-f]{6}/options-[0-9a-f]{6}/kernel-6.1/05", folder)


def test_first_matching_rule_of_a_field_has_precedence(tree: MakeTree, tmp_path: Path) -> None:
    files = {
        "udp/a-pub.log": log_of("pub"),
        "udp/a-sub.log": log_of("sub"),
        "udp/b.log": log_of("sub", 1),
        "udp/notes.txt": "by hand",
        "udp/x.log": "junk",
    }
    rules = tmp_path / "rules.toml"
    rules.write_text("""
ignore = ["*.txt"]

[[rule]]
path = "{transport}/{label.name}-{role}.log"
set = { batch_bytes = 0, label.kernel = "6.1", conditions.reliability = "reliable" }

[[rule]]
path = "{transport}/x.log"
set = { label.name = "a", role = "server", label.kernel = "6.1", conditions.reliability = "reliable", batch_bytes = 0 }
results = false

[[rule]]
path = "{transport}/{label.name}.log"
format = "rti"
""")
    said = import_logs(tree(files), "--to", tmp_path / "data", "--rules", rules, "--set", "batch_bytes=1")

    runs = manifests(tmp_path / "data")
    assert [conditions(run) for run in runs.values()] == [
        {"transport": "udp", "reliability": "reliable", "batch_bytes": 0},
        {"transport": "udp", "batch_bytes": 1},
    ]
    assert [(log.file, log.side, log.results) for log in runs["udp/a/kernel-6.1/01"].logs] == [
        ("a-pub.log", "publisher", True),
        ("a-sub.log", "subscriber", True),
        ("x.log", "subscriber", False),
    ]
    assert [log.format for log in runs["udp/b/01"].logs] == ["rti"]
    assert "notes.txt" not in said


def test_log_is_refused_if_its_path_and_its_rule_contradict_each_other(tree: MakeTree, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\npath = "{transport}/{label.name}.log"\nset = { transport = "udp" }\n')

    said = import_logs(tree({"udp/a.log": log_of("sub"), "tcp/b.log": log_of("sub", 1)}), "--to", tmp_path / "data", "--rules", rules, status=2)

    assert "not imported: tcp/b.log: the path states conditions.transport = 'tcp', its rule states 'udp'" in said
    assert list(manifests(tmp_path / "data")) == ["udp/a/01"]


def test_values_that_a_field_does_not_accept_are_reported(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"1k/a.log": log_of("sub"), "64/a.log": log_of("sub", 1)})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{payload_bytes}/{label.x}.log", status=2)

    assert "not imported: 1k/a.log: in the path, payload_bytes = '1k' may use units of 1000 or of 1024. State the size in bytes: " in said
    assert list(manifests(tmp_path / "data")) == ["payload_bytes-64/a/01"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "batch_bytes"], "--set batch_bytes: write --set NAME=VALUE"),
        (["--set", "batch_bytes=off"], "--set: batch_bytes = 'off' is not a whole number that is not negative"),
        (["--set", "batch_bytes=99999999999999999999"], "--set: conditions.batch_bytes = 99999999999999999999... does not fit into 64 bits"),
        (["--set", "repetition=-1"], "--set: repetition = -1 is negative"),
        (["--set", "host=" + "\u00fc" * 200], "cannot be the name of a file in hosts/"),
        (["--set", "host=a\nb"], "cannot be the name of a file in hosts/"),
        (["--set", "reliability=yes"], "--set: reliability = 'yes' is not one of reliable, best-effort"),
        (["--set", "role=master"], "--set: role = 'master' is not one of publisher, pub, client"),
        (["--set", "size=64"], "--set: there is no field 'size' (is payload_bytes meant?); for a label of your own, write label.size"),
        (["--set", "batching=0"], "--set: there is no field 'batching'"),
        (["--set", "transport=a", "--set", "conditions.transport=b"], "--set: conditions.transport is stated twice"),
        (["--set", "host=../etc"], "--set: host = '../etc' cannot be the name of a file in hosts/"),
        (["--set", "system= "], "--set: system = '' is blank"),
        (["--rules", "nothing.toml"], "nothing.toml: No such file or directory"),
    ],
)
def test_invalid_option_is_refused_in_one_line(cluster: Path, tmp_path: Path, words: list[str], message: str) -> None:
    said = import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN, *words, status=2)

    assert message in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[[rule]]\npath = "{nothing}"', "rule 1 '{nothing}': there is no field 'nothing'"),
        ('[[rule]]\npath = "{*}"\nset = { keyed = "perhaps" }', "rule 1: set: keyed = 'perhaps' is not true or false"),
        ('[[rule]]\npath = "{*}"\nset = { label.x = 5 }', "rule 1: set: label.x = 5 is not a text; put it in quotes"),
        ('[[rule]]\npath = "{*}"\nformat = "perf"', "no format is called 'perf'"),
        ('[[rule]]\npaths = "{*}"', "Object contains unknown field `paths` (is path meant?)"),
        ('[[rule]]\npath = "{*}"\nset = { options.x = nan }', "rule 1: set: options.x = nan is not a text, number, truth value or list of these"),
        ('[[rule]]\npath = "{*}"\nset = { options.x = 1979-05-27 }', "is not a text, number, truth value or list of these"),
        ("[[rule]]", "Object missing required field `path`"),
    ],
)
def test_invalid_rules_file_is_refused_in_one_line(cluster: Path, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "rules.toml").write_text(content)

    said = import_logs(cluster, "--to", tmp_path / "data", "--rules", tmp_path / "rules.toml", status=2)

    assert message in said
    assert len(said.splitlines()) == 1


def test_log_that_no_pattern_matches_is_reported_and_other_logs_are_imported(cluster: Path, tmp_path: Path) -> None:
    (cluster / "throughput-test/old-sub.log").write_text(log_of("sub", 50))
    (cluster / "plot.png").write_bytes(b"\x89PNG\r\n" + bytes(range(256)))
    (cluster / "throughput-test/hostnetwork-udp/test-0/rtiperftest-sub7.log").write_text("ssh: connect to host b port 22\n")

    said = import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN, status=2)

    assert "not imported: throughput-test/old-sub.log: no pattern fits the path of this log" in said
    assert "1 other file left alone, because no pattern and no format fits: plot.png" in said
    assert lines_with(said, ["not imported", "rtiperftest-sub7.log", "no format fits", "give it a rule with results = false"])
    assert len(manifests(tmp_path / "data")) == 4


def test_log_is_refused_if_a_field_has_two_different_values_in_its_path(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"a/a-1.log": log_of("sub"), "a/b-1.log": log_of("sub", 1)})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}/{label.x}-{repetition}.log", status=2)

    assert "not imported: a/b-1.log: {label.x} occurs twice in the pattern, but is 'a' and 'b' in this path" in said


def test_logs_that_contradict_their_paths_are_imported_and_reported(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"tcp/128/3.1.0/a.log": log_of("sub")})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{transport}/{payload_bytes}/{tool_version}/{label.x}.log")

    assert "some values contradict the logs; the values in the logs are used, and get a mark:" in said
    assert "  1 log: the path or a rule states transport = tcp, the log states UDPv4 & SHMEM: tcp/128/3.1.0/a.log" in said
    assert "the path or a rule states payload_bytes = 128, the log states 64" in said
    assert "the path or a rule states tool_version = 3.1.0, the log states 3.0.1" in said
    assert set(load([tmp_path / "data"]).problems["kind"]) == {"contradicted"}


def test_value_in_a_log_has_precedence_over_a_value_from_the_command_line(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"a/1.log": log_of("pub", kind="latency"), "b/1.log": log_of("sub"), "c/1.log": log_of("pub")})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}/{repetition}.log", "--set", "load_mode=max-rate")

    assert [run.conditions.load_mode for run in manifests(tmp_path / "data").values()] == [None, "max-rate", "max-rate"]
    assert "--set load_mode=max-rate is not used for runs whose logs state closed: 1 run: a/01" in said
    assert load([tmp_path / "data"]).problems.empty


def test_start_times_in_paths_determine_the_numbers_of_runs_and_are_written_to_the_manifests(tree: MakeTree, tmp_path: Path) -> None:
    starts = ("2026-02-01T08:00:00Z", "2026-01-31T12:00:00Z")
    paths = [(f"udp/{start}-{role}.log", role, place) for place, start in enumerate(starts) for role in ("pub", "sub")]
    root = tree({path: log_of(role, value=place) for path, role, place in paths})

    said = import_logs(root, "--map", "{transport}/{start_time}-{role}.log", "--set", "release=1", "--to", tmp_path / "data")

    found = manifests(tmp_path / "data")
    assert [run.rpartition("/")[2] for run in found] == ["01", "02"]
    assert len({run.rpartition("/")[0] for run in found}) == 1
    assert [(run.start_time, run.repetition, len(run.logs)) for run in found.values()] == [(starts[1], 1, 2), (starts[0], 2, 2)]
    assert "start time, so tacholog diff" not in said
    assert not import_logs(root, "--map", "{transport}/{start_time}-{role}.log", "--set", "release=1", "--to", tmp_path / "data").count(
        "1 run imported"
    )


def test_start_time_stated_in_the_log_has_precedence_over_the_time_in_its_path(tree: MakeTree, tmp_path: Path) -> None:
    root = tree({"a.log": (FORMATS / "native/latency-udp.log").read_text()})

    said = import_logs(root, "--map", "{*}.log", "--set", "start_time=2020-01-01", "--to", tmp_path / "data")

    (run,) = manifests(tmp_path / "data").values()
    assert run.start_time is None
    assert "start_time=2020-01-01 is not used for runs whose logs state 20" in said


def test_date_in_a_path_is_reported_and_not_used_if_the_logs_state_another_date(tree: MakeTree, tmp_path: Path) -> None:
    paths = {"2020-01-01/run1.log": "latency-udp", "2020-01-01/run2.log": "throughput-udp", "2026-11-21/run3.log": "demand-udp"}
    root = tree({path: (FORMATS / f"native/{name}.log").read_text() for path, name in paths.items()})

    said = import_logs(root, "--map", "{start_time}/run{repetition}.log", "--to", tmp_path / "data")

    assert said.count("is not used for runs whose logs state") == 1
    assert "start_time=2020-01-01 is not used for runs whose logs state 2026-11-21: 2 runs: " in said


def test_invalid_start_time_in_a_path_is_reported(tree: MakeTree, tmp_path: Path) -> None:
    root = tree({"3am/sub.log": log_of("sub"), "2026-02-30/sub.log": log_of("sub", 1)})

    said = import_logs(root, "--map", "{start_time}/{role}.log", "--to", tmp_path / "data", status=2)

    assert """3am/sub.log: in the path, start_time = '3am' is not a time such as "2026-01-31T12:00:00Z\"""" in said
    assert "2026-02-30/sub.log: in the path, start_time = '2026-02-30' is not a time" in said


def test_broken_and_unknown_lines_are_counted(tree: MakeTree) -> None:
    logs = tree({"a.log": log_of("sub").replace("Lost:", "Lst:"), "b.log": log_of("sub") + "segmentation what\n", "c.log": log_of("pub")})

    said = import_logs(logs, "--dry-run", "--map", "{label.x}.log")

    assert "2 broken or unknown lines in 2 logs, which tacholog parse shows: a.log, b.log" in said


def test_message_names_each_unused_value_from_the_command_line(tree: MakeTree) -> None:
    said = import_logs(tree({"udp/a.log": log_of("sub")}), "--dry-run", "--map", "{transport}/{label.x}.log", "--set", "transport=tcp")

    assert "--set conditions.transport is not used, because the paths or rules of all logs state this field" in said


def test_message_suggests_a_matching_pattern_if_the_given_pattern_matches_no_log(cluster: Path, tmp_path: Path) -> None:
    said = import_logs(cluster, "--to", tmp_path / "data", "--map", "logs/{label.x}.log", status=2)

    assert f"a pattern that fits their paths: tacholog import {cluster} --to DATA --map 'throughput-test/{{label.folder2}}/test-" in said


def test_message_names_missing_conditions_and_the_options_to_state_them(cluster: Path) -> None:
    said = import_logs(cluster, "--dry-run", "--map", PATTERN)
    stated = import_logs(cluster, "--dry-run", "--map", PATTERN, "--set", "host=lab", "--set", "load_mode=max-rate", "--set", "batch_bytes=0")

    assert "machine, in 8 logs of latency and throughput: --set host=NAME" in said
    assert (
        "  load mode, in 4 logs of throughput: --set load_mode=VALUE (max-rate or paced) (other logs of these runs state load_mode = max-rate)"
        in said
    )
    assert (
        "  batching, in 4 logs of throughput: --set batch_bytes=BYTES (0 if batching was off) (other logs of these runs state batch_bytes = 0)"
        in said
    )
    assert "4 repeated runs state no start time" in said
    assert "not stated, although" not in stated


def test_second_import_does_not_report_conditions_that_were_added_to_the_manifest(cluster: Path, tmp_path: Path) -> None:
    words = (cluster, "--to", tmp_path / "data", "--map", PATTERN)
    first = import_logs(*words)
    for place in (tmp_path / "data").rglob("run.toml"):
        place.write_text('start_time = "2026-01-31T12:00:00Z"\nhost = "lab"\n' + place.read_text())

    again = import_logs(*words)

    assert "repeated runs state no start time" in first
    assert "machine, in 8 logs" in first
    assert "0 of them new" in again
    assert "state no start time" not in again
    assert "machine, in" not in again


def test_two_logs_with_the_same_results_in_one_run_are_reported(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"a/client.log": log_of("sub"), "a/server.log": log_of("sub", 5)})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}/{role}.log")

    assert "1 log with the same results as another log of the run" in said


def test_hosts_described_in_logs_become_host_files(tree: MakeTree, tmp_path: Path) -> None:
    native = (FORMATS / "native/latency-udp.log").read_text()
    logs = tree({"a/1.log": native, "a/2.log": native.replace("T04:04:02", "T04:05:02")})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{label.x}/{repetition}.log")

    hosts = [path.stem for path in (tmp_path / "data/hosts").iterdir()]
    assert {run.host for run in manifests(tmp_path / "data").values()} == {*hosts}
    assert len(hosts) == 1
    assert f"hosts/{hosts[0]}.toml" in said
    assert load([tmp_path / "data"]).hosts[hosts[0]].cpu == {"model": "Intel(R) Xeon(R) Processor"}


def test_compressed_logs_stay_compressed(tmp_path: Path) -> None:
    import gzip

    (tmp_path / "logs").mkdir()
    packed = gzip.compress(log_of("sub").encode())
    (tmp_path / "logs/a.log.gz").write_bytes(packed)

    import_logs(tmp_path / "logs", "--to", tmp_path / "data", "--map", "{label.x}.log.gz")

    assert (tmp_path / "data/a/01/a.log.gz").read_bytes() == packed


def test_option_link_makes_hard_links_instead_of_copies_of_the_logs(cluster: Path, tmp_path: Path) -> None:
    import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN, "--link")

    name = "throughput-test/hostnetwork-udp/{}/rtiperftest-sub0.log"
    assert (cluster / name.format("test-1")).samefile(tmp_path / "data" / name.format("01"))


def test_logs_keep_the_modification_time_of_their_files(cluster: Path, tmp_path: Path) -> None:
    name = "throughput-test/hostnetwork-udp/{}/rtiperftest-sub0.log"
    os.utime(cluster / name.format("test-1"), (1e9, 1e9))

    import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN)

    assert (tmp_path / "data" / name.format("01")).stat().st_mtime == 1e9


def test_message_about_several_folders_says_how_to_import_them(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()

    done = run_tacholog_text("import", tmp_path / "a", tmp_path / "missing")

    assert done.returncode == 2
    assert done.stderr.endswith(
        "Error: import reads one folder, and 2 are named. To import several folders, name the folder that contains them. "
        "Name the data folder with --to DATA\n"
    )


def test_import_requires_a_destination_except_in_a_dry_run(cluster: Path) -> None:
    assert "--to DATA is missing" in import_logs(cluster, "--map", PATTERN, status=2)
    assert "dry run: nothing was written" in import_logs(cluster, "--map", PATTERN, "--dry-run")


def test_option_verbose_lists_each_run_with_its_logs(cluster: Path) -> None:
    said = import_logs(cluster, "--map", PATTERN, "--dry-run", "--verbose")

    assert "throughput-test/hostnetwork-udp/01\n    throughput-test/hostnetwork-udp/test-1/rtiperftest-pub0.log  publisher, rti\n" in said


def test_import_skips_subfolders_that_already_contain_runs(cluster: Path, tmp_path: Path) -> None:
    import_logs(cluster, "--to", cluster / "data", "--map", PATTERN)
    (cluster / "done").mkdir()
    (cluster / "data/throughput-test").rename(cluster / "done/data")

    said = import_logs(cluster, "--to", tmp_path / "data", "--map", PATTERN)

    assert "4 folders with a run.toml left alone: done/data/" in said
    assert "4 runs imported" in said


def test_data_folder_inside_the_imported_folder_is_not_imported(cluster: Path) -> None:
    import_logs(cluster, "--to", cluster / "data", "--map", PATTERN)

    stray = cluster / "data/x/test-9/rtiperftest-sub0.log"
    stray.parent.mkdir(parents=True)
    stray.write_text(log_of("sub", 44))

    assert "4 runs of 8 logs, 0 of them new" in import_logs(cluster, "--to", cluster / "data", "--map", PATTERN)


def test_log_that_names_no_system_is_imported_only_if_an_option_states_the_system(tree: MakeTree, tmp_path: Path) -> None:
    summary = (FORMATS / "fastrtps/latency-summary.csv").read_text()
    logs = tree({"cyclonedds/summary.csv": summary})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{transport}/summary.csv", status=2)
    assert "no log of this run names the measured system, so the system must be stated: --set system=NAME" in said

    import_logs(logs, "--to", tmp_path / "data", "--map", "{transport}/summary.csv", "--set", "system=Cyclone DDS")
    (run,) = manifests(tmp_path / "data").values()
    assert run.system == "Cyclone DDS"


def test_message_about_a_missing_load_mode_suggests_values_and_counts_the_logs(tree: MakeTree) -> None:
    latency = (FORMATS / "sockperf/under-load.log").read_text()
    throughput = log_of("sub")

    of_latency = import_logs(tree({"1/a.log": latency, "2/a.log": f"{latency}\n"}, "latency"), "--dry-run", "--map", "{repetition}/a.log")
    of_both = import_logs(tree({"1/a.log": latency, "1/b.log": throughput}, "both"), "--dry-run", "--map", "{repetition}/{label.x}.log")

    assert "2 logs  sockperf" in of_latency
    assert "in 2 logs of latency: --set load_mode=VALUE (closed or open)\n" in of_latency
    assert (
        "message size, in 2 logs of latency: {payload_bytes} in the pattern if the paths state it, or --set payload_bytes=BYTES if all" in of_latency
    )
    assert "in 2 logs of latency and throughput: --set load_mode=VALUE (closed or open for latency; max-rate or paced for the other tests)" in of_both
