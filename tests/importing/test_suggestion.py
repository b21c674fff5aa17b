"""If no pattern is given, the message suggests one from the paths."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import run_tacholog_text
from tests.importing.conftest import import_logs, log_of, manifests

from tacholog.runs.importing.patterns import read_pattern
from tacholog.runs.importing.suggestion import suggest

IPERF3 = Path(__file__).parent.parent / "formats" / "iperf3"
MakeTree = Callable[..., Path]


@pytest.mark.parametrize(
    ("paths", "pattern"),
    [
        (
            [f"Data/{test}-test/{plugin}/test-{n}/rtiperftest-{side}.log"
             for test in ("latency", "throughput") for plugin in ("flannel-udp", "calico") for n in (0, 10) for side in ("pub0", "sub0", "sub1")],
            "Data/{label.folder2}-test/{label.folder3}/test-{repetition}/rtiperftest-{role}{participant}.log",
        ),
        (["udp/1.txt", "tcp/2.txt"], "{transport}/{repetition}.txt"),
        (["1.2/run3.json", "1.10.1/run4.json"], "{release}/run{repetition}.json"),
        (["size-64/1.log", "size-1024/2.log"], "size-{payload_bytes}/{repetition}.log"),
        (["64B-1.log", "1024B-2.log"], "{payload_bytes}B-{repetition}.log"),
        (["node1/run-1.log", "node2/run-2.log", "node2/run-3.log"], "node{label.node}/run-{repetition}.log"),
        (["client.log", "server.log"], "{role}.log"),
        (["iperf-udp-big.json", "iperf-tcp.json"], "iperf-{label.name}.json"),
        (["a.log"], "a.log"),
        (["x{1}.log", "x{2}.log"], "x{{{repetition}}}.log"),
        (["tcp-1k.txt", "tcp-64k.txt"], "tcp-{label.number1}k.txt"),
        (["size-1k.txt", "size-64k.txt"], "size-{label.size}k.txt"),
        (["tcp_P1.txt", "tcp_P4.txt"], "tcp_P{label.number1}.txt"),
        (["tcp-1k.txt", "tcp-2k.txt"], "tcp-{label.number1}k.txt"),
        (["attempt-3.txt", "attempt-7.txt"], "attempt-{repetition}.txt"),
        (["publisher0.log"], "{role}{participant}.log"),
        (["1.0/2026-01-10/run1.log", "1.0/2026-01-10/run2.log", "1.1/2026-03-02/run1.log"], "{release}/{start_time}/run{repetition}.log"),
        (["udp 2026-01-31T12:00:00Z.log", "tcp 2026-01-31T13:00:00Z.log"], "{transport} {start_time}.log"),
        (["2026-01-10/2026-01-11/a.log", "2026-01-12/2026-01-13/a.log"], "{start_time}/{*}/a.log"),
        (["a 1/client.log", "a 2/client.log.gz", "a 3/client.log.zst"], "a {repetition}/{role}.log"),
        (["1.log.xz", "2.log.xz"], "{repetition}.log"),
        (["a/.gz"], "a/.gz"),
        (["2.1.0/a.log", "2.2.0-rc1/a.log", "v3.0-beta.2/a.log"], "{release}/a.log"),
        (["2.1.0/a.log", "2.1.0-large/a.log"], "{label.folder1}/a.log"),
        (["9999-99-98.log", "9999-99-99.log"], "9999-99-{label.number1}.log"),
        (
            [f"rmw_{rmw}_cpp_{mode}_{type_}@30_5_{bandwidth}bw_{loss}loss_0delay/run{n:02}/sub_log_1.log"
             for rmw in ("fastrtps", "cyclonedds") for mode in ("sync", "async") for type_ in ("Array1k", "PointCloud512k")
             for bandwidth in (54, 300) for loss in (0, 20) for n in (1, 2)],
            "rmw_{system}_cpp_{label.folder1}_{label.folder1_8}@30_5_{label.bw}bw_{network_loss_percent}loss_0delay/run{repetition}/{role}_log_1.log",
        ),
        ([f"pub_01-sub_{subs:02}-rate_{rate}-hist_{hist}/rmw_{rmw}_cpp/a.log"
          for subs in (1, 5) for rate in (10, 500) for hist in ("all", "last") for rmw in ("fastrtps", "ecal_dynamic")],
         "pub_01-sub_{subscribers}-rate_{label.rate}-hist_{label.hist}/rmw_{system}_cpp/a.log"),
        ([f"{plugin}_{security}_r{n}/a.json" for plugin in ("flannel", "calico") for security in ("none", "ipsec") for n in (1, 2)],
         "{label.folder1}_{label.folder1_2}_r{repetition}/a.json"),
        (
            [f"proxy-{proxy}_gcp/time-{time}/bw_{route}_{n}.res"
             for proxy, time in (("europe-west2", "27-07-2021_14-54"), ("northamerica-northeast1", "02-08-2021_15-17"))
             for route in ("target", "proxy") for n in range(3)],
            "proxy-{label.folder1}_gcp/time-{start_time:%d-%m-%Y_%H-%M}/bw_{label.name}_{repetition}.res",
        ),
        (["27.07.2021/a.log", "02.08.2021/a.log"], "{start_time:%d.%m.%Y}/a.log"),
        (["a-2024-09-04T03_50_20.json", "b-2024-10-04T03_50_20.json"], "{label.name}-{start_time:%Y-%m-%dT%H_%M_%S}.json"),
        (["x_20240904_035020Z.log", "x_20241004_035020Z.log"], "x_{start_time:%Y%m%d_%H%M%S%z}.log"),
        (  # The first folder contains the time of the whole experiment; the names of the logs contain the time of each run.
            [f"2020-10-23_10-47-36/run{n}/sub_log_23-10-2020_19-49-{n}4" for n in (1, 2)],
            "{*}/run{repetition}/{role}_log_{start_time:%d-%m-%Y_%H-%M-%S}",
        ),
        (["x 27-07-2021_14-54-01.log", "x 05-08-2021_15-54-01.log"], "x {start_time:%d-%m-%Y_%H-%M-%S}.log"),
        (["02-07-2021.log", "02-08-2021.log"], "02-{label.number1}-2021.log"),  # It is unknown which number is the day.
        (["27-07-2021.log", "31-06-2021.log"], "{label.number1}-{label.number2}-2021.log"),  # 31 June does not exist, so these are no dates.
        (["27-07-2021/28-07-2021/a.log", "28-07-2021/29-07-2021/a.log"], "{start_time:%d-%m-%Y}/{*}/a.log"),
        (["loss_0.log", "loss_1.log", "loss_2.log"], "loss_{network_loss_percent}.log"),
        (["keyed_0.log", "keyed_1.log"], "keyed_{label.keyed}.log"),
        (["nodelay0.log", "nodelay1.log"], "nodelay{label.nodelay}.log"),
        (["udp-fast_0.log", "tcp-slow_1.log"], "{transport}-{label.name}_{repetition}.log"),
        ([f"depth-{depth}/{subs}subs.log" for depth in (10, 100) for subs in (1, 4)], "depth-{label.depth}/{subscribers}subs.log"),
    ],
)  # fmt: skip
def test_suggested_pattern_has_a_field_for_each_part_that_differs_between_paths(paths: list[str], pattern: str) -> None:
    (found,) = suggest(paths)

    assert found.pattern == pattern
    assert sorted(found.paths) == sorted(paths)


def test_shorter_file_names_get_a_separate_pattern() -> None:
    paths = [f"{rate}-{way}-LOSS_TEST_{n}-SIZE-{size}.json" for rate in (50, 200) for way in ("up", "down") for n in (1, 2) for size in (200, 800)]
    shorter = [f"{rate}-up-LOSS_TEST_{n}.json" for rate in (50, 200) for n in (1, 2)]

    found = suggest(paths + shorter)

    assert [(one.pattern, len(one.paths)) for one in found] == [
        ("{label.number1}-{label.name}-LOSS_TEST_{repetition}-SIZE-{payload_bytes}.json", 16),
        ("{label.number1}-{label.name}-LOSS_TEST_{repetition}.json", 4),
    ]


def test_size_in_a_path_becomes_a_label_if_the_logs_state_another_size() -> None:
    (found,) = suggest(["SIZE-200.json", "SIZE-800.json"], lambda _: frozenset({131072}))

    assert found.pattern == "SIZE-{label.size}.json"


def test_logs_at_different_depths_of_the_tree_get_separate_patterns() -> None:
    found = suggest(["a/1.log", "a/2.log", "a/3.log", "b/x/1.log", "b/x/2.log", "c.csv"])

    assert [one.pattern for one in found] == ["a/{repetition}.log", "b/x/{repetition}.log", "c.csv"]


@pytest.mark.parametrize(
    ("stated", "pattern"),
    [
        ({}, "x/{label.name}_{payload_bytes}_r{repetition}.txt"),
        ({64: {64}, 1024: {1024}}, "x/{label.name}_{payload_bytes}_r{repetition}.txt"),
        ({64: {64}, 1024: {14}}, "x/{label.name}_{label.number1}_r{repetition}.txt"),
        ({64: {64, 1024}}, "x/{label.name}_{label.number1}_r{repetition}.txt"),
    ],
)
def test_number_in_a_path_is_the_message_size_only_if_no_log_states_another_size(stated: dict[int, set[int]], pattern: str) -> None:
    paths = [f"x/{tool}_{size}_r{number}.txt" for tool in ("sockperf", "iperf3") for size in (64, 1024) for number in (1, 2, 3)]

    (found,) = suggest(paths, lambda path: frozenset(stated.get(int(path.split("_")[1]), ())))

    assert found.pattern == pattern
    assert sorted(found.paths) == sorted(paths)


@pytest.mark.parametrize(
    ("paths", "states", "pattern"),
    [
        (["depth-16.log", "depth-64.log"], False, "depth-{label.depth}.log"),  # The word before the number states its meaning.
        (["msg-100.log", "msg-1500.log"], False, "msg-{label.msg}.log"),
        (["msg-100.log", "msg-1500.log"], True, "msg-{payload_bytes}.log"),
        (["udp-100.log", "udp-1500.log"], False, "udp-{label.number1}.log"),
        (["udp-64.log", "udp-1024.log"], False, "udp-{payload_bytes}.log"),
        (["udp-2.log", "udp-8.log"], False, "udp-{label.number1}.log"),
        (["udp-64k.log", "udp-128k.log"], False, "udp-{label.number1}k.log"),
        (["size-64/udp-64.log", "size-64/udp-128.log", "size-32/udp-64.log"], False, "size-{payload_bytes}/udp-{label.number1}.log"),
        (["size1024_r1.log", "size1024_r2.log"], False, "size{payload_bytes}_r{repetition}.log"),
        (["size1000_r1.log", "size1000_r2.log"], False, "size1000_r{repetition}.log"),
        (["size64/len-32.log", "size64/len-48.log"], False, "size64/len-{payload_bytes}.log"),
    ],
)
def test_number_next_to_a_word_is_the_message_size_only_if_logs_state_this_size(paths: list[str], states: bool, pattern: str) -> None:
    (found,) = suggest(paths, lambda path: frozenset({int(path.rpartition("-")[2].partition(".")[0])} if states else ()))

    assert found.pattern == pattern


@pytest.mark.parametrize(("stated", "pattern"), [("32", "m{payload_bytes}"), ("64", "m{label.number1}")])
def test_number_in_names_is_suggested_as_message_size_only_if_the_logs_state_the_same_size(tree: MakeTree, stated: str, pattern: str) -> None:
    """The logs named m64 state 64 bytes. The logs named m32 state 32 or 64 bytes."""
    logs = {}
    for size, in_log in (("32", stated), ("64", "64")):
        for number, name in enumerate("xy"):
            text = log_of("sub", number)
            logs[f"m{size}_{name}.log"] = text.replace("Data Size: 64", f"Data Size: {in_log}").replace("Length:    64", f"Length:    {in_log}")

    assert f"--map '{pattern}_{{label.name}}.log'" in import_logs(tree(logs), status=2)


NAMES = st.text(alphabet="abp-_.019{}é ", min_size=1, max_size=12).filter(lambda name: not name.startswith("."))
PATHS = st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), min_size=1, max_size=8, unique=True)


@given(PATHS)
def test_suggested_pattern_matches_its_paths(paths: list[str]) -> None:
    for found in suggest(paths):
        pattern = read_pattern(found.pattern, "")
        assert all(isinstance(pattern.match(path), dict) for path in found.paths)


@pytest.mark.parametrize("command", ["import", "report"])
def test_suggested_command_works_unchanged(cluster: Path, tmp_path: Path, command: str) -> None:
    done = run_tacholog_text(command, cluster)
    (line,) = [line for line in (done.stdout + done.stderr).splitlines() if "tacholog import" in line]
    words = shlex.split(line[line.index("tacholog import") :])

    assert done.returncode == 2
    assert words[-1] == "--dry-run"
    import_logs(*words[2:-1][: words.index("DATA") - 2], tmp_path / "data", *words[words.index("DATA") + 1 : -1])
    assert len(manifests(tmp_path / "data")) == 4


def test_names_with_special_characters_of_the_shell_are_quoted(tree: MakeTree) -> None:
    said = import_logs(tree({"a b;rm/1.log": log_of("sub"), "a b;rm/2.log": log_of("sub", 1)}), status=2)

    assert "--map 'a b;rm/{repetition}.log'" in said


def test_labels_of_a_suggestion_are_listed_with_their_values(cluster: Path) -> None:
    said = import_logs(cluster, status=2)

    assert "8 logs of known formats, 0 other files\nNothing was imported: --map must state what the paths mean.\n" in said
    assert "label.folder2 is flannel-hostgw-dds-secure-tcp, hostnetwork-udp; give it another name: " in said


def test_folder_without_logs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("hello")

    assert "no log of a known format in this folder" in import_logs(tmp_path, status=2)


def test_report_accepts_a_folder_of_runs_as_an_argument(tmp_path: Path) -> None:
    done = run_tacholog_text("report", tmp_path / "nothing")

    assert (done.returncode, done.stderr) == (2, f"tacholog: {tmp_path}/nothing: no such folder\n")


def test_diff_compares_folders_of_logs_without_manifests_and_suggests_an_import(cluster: Path) -> None:
    sides = [cluster / "throughput-test" / plugin for plugin in ("hostnetwork-udp", "flannel-hostgw-dds-secure-tcp")]

    done = run_tacholog_text("diff", *sides)

    assert "4 runs" in done.stdout
    for side in sides:
        words = f"tacholog import {side} --to DATA --map 'test-{{repetition}}/rtiperftest-{{role}}{{participant}}.log' --dry-run"
        assert f"{side}: logs without run.toml; each of them counts as a run of its own. To make runs of them: {words}" in done.stderr


def test_diff_of_two_single_logs_does_not_suggest_an_import(cluster: Path) -> None:
    logs = sorted(cluster.rglob("*sub0.log"))

    assert "import" not in run_tacholog_text("diff", logs[0], logs[1]).stderr


def test_diff_of_logs_without_manifests_warns_if_several_logs_state_no_message_size(tmp_path: Path) -> None:
    for side in ("old", "new"):
        for name in ("tcp-1k.txt", "tcp-64k.txt"):
            (tmp_path / side).mkdir(exist_ok=True)
            (tmp_path / side / name).write_text((IPERF3 / "tcp.log").read_text() + f"\nTCP window size: {name}\n")
    folder = tmp_path / "old"
    sentence = f"2 logs of {folder} state no message size, and these may differ: a row without a size can mix several sizes. "

    for form in ("text", "markdown"):
        printed = " ".join(run_tacholog_text("diff", folder, tmp_path / "new", "--format", form).stdout.split()).replace("\\", "")
        assert sentence in printed
        words = "a pattern with {payload_bytes} reads the size out of their paths, --set payload_bytes=NUMBER states one for all"
        assert words in printed.replace("payload\\_bytes", "payload_bytes")
    report = json.loads(run_tacholog_text("diff", folder, tmp_path / "new", "--format", "json").stdout)
    assert f"sizes_unstated:2:{folder}" in report["warnings"]


def test_diff_of_two_logs_without_manifests_states_that_their_message_sizes_may_differ(tmp_path: Path) -> None:
    for size in ("64", "1024"):
        (tmp_path / size).write_text((IPERF3 / "tcp.log").read_text())

    printed = " ".join(run_tacholog_text("diff", tmp_path / "64", tmp_path / "1024").stdout.split())

    for size in ("64", "1024"):
        assert f"The log of {tmp_path / size} states no message size: rows without a size may differ only because their sizes differ." in printed


def test_diff_of_logs_without_manifests_does_not_warn_if_the_logs_state_their_message_sizes(cluster: Path) -> None:
    sides = [cluster / "throughput-test" / plugin for plugin in ("hostnetwork-udp", "flannel-hostgw-dds-secure-tcp")]

    assert "state no message size" not in run_tacholog_text("diff", *sides).stdout
