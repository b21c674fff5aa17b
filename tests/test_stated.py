"""Conditions in a manifest and its logs: the manifest fills gaps, runs with different options are not pooled, contradictions are reported."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.command import run_tacholog_text

from tacholog.runs.manifest import Command, Host, LogFile, Manifest, as_toml, write
from tacholog.schema.conditions import StatedConditions
from tacholog.store.frames import open_saved
from tacholog.store.load import load
from tacholog.view import results
from tacholog.view.series import series_of

ROOT = Path(__file__).resolve().parent.parent
# The ping-pong test of sockperf prints no size: the log is the same for any -m.
SOCKPERF = ROOT / "tests/formats/sockperf/ping-pong-udp.log"
UDP = ROOT / "tests/formats/native/latency-udp.log"


def run(root: Path, name: str, log: Path = SOCKPERF, **manifest: Any) -> Path:  # noqa: ANN401 - whatever a manifest may hold
    folder = root / name
    folder.mkdir(parents=True)
    shutil.copy(log, folder / "x.log")
    digest = hashlib.sha256(log.read_bytes()).hexdigest()
    write(folder / "run.toml", Manifest(system="Sockets", status="ok", logs=(LogFile(file="x.log", sha256=digest),), **manifest))
    return folder


def tacholog(*words: object) -> subprocess.CompletedProcess[str]:
    return run_tacholog_text(*map(str, words))


@pytest.mark.parametrize(
    "said",
    [{"conditions": StatedConditions(payload_bytes=64)}, {"options": {"payload_bytes": 64}}, {"options": {"size_bytes": 64}}],
    ids=["conditions", "an option of that name", "an option that means it"],
)
def test_size_from_a_campaign_is_used_and_marked_if_the_log_states_no_size(tmp_path: Path, said: dict[str, Any]) -> None:
    run(tmp_path, "a", **said)

    latency = load([tmp_path]).results.query("metric == 'latency' and statistic == 'p50'").iloc[0]

    assert latency["payload_bytes"] == 64
    assert latency["value"] == 1770.0  # The line "percentile 50.000 =    1.770".
    assert "size_from_manifest" in latency["marks"]


def test_parse_shows_the_same_size_as_the_pages(tmp_path: Path) -> None:
    folder = run(tmp_path, "a", conditions=StatedConditions(payload_bytes=64))

    shown = tacholog("parse", folder / "x.log").stdout

    assert shown.splitlines()[2].split()[:2] == ["10", "64"]


def test_size_printed_by_the_log_is_not_replaced_and_has_no_mark(tmp_path: Path) -> None:
    run(tmp_path, "a", UDP, options={"sizes_bytes": [64, 1024]})

    dataset = load([tmp_path])

    assert not any("size_from_manifest" in marks for marks in dataset.results["marks"])


@pytest.mark.parametrize(
    ("first", "second", "pooled"),
    [
        ({"payload_bytes": 64}, {"payload_bytes": 1024}, False),
        ({"msg": 64}, {"msg": 1024}, False),
        ({"rate": "max"}, {}, False),
        ({"words": ["--a"]}, {"words": ["--b"]}, False),
        ({"seed": 1, "port": 11111, "log_file": "a", "repetition": 1}, {"seed": 2, "port": 11112, "log_file": "b", "repetition": 2}, True),
        ({"program": "/opt/a/sockperf"}, {"program": "/opt/b/sockperf"}, True),
        ({"flags": ["--a", "--b"]}, {"flags": ["--b", "--a"]}, True),
    ],
)
def test_runs_with_different_options_are_pooled_only_if_the_options_do_not_change_the_measurement(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], pooled: bool
) -> None:
    run(tmp_path, "a", options=first)
    run(tmp_path, "b", options=second)

    latencies = [result for result in results.results(load([tmp_path])) if result.metric == "latency" and result.statistic == "p50"]
    cells = [cell for series in series_of(latencies) for cell in series.cells("latency", "p50").values()]

    assert [cell.run_count for cell in cells] == ([2] if pooled else [1, 1])


def test_names_of_series_contain_an_option_if_its_value_differs(tmp_path: Path) -> None:
    run(tmp_path, "a", options={"msg": 64})
    run(tmp_path, "b", options={"msg": 1024})

    assert sorted(series.label for series in series_of(results.results(load([tmp_path])))) == ["msg 1024", "msg 64"]


def test_diff_compares_runs_with_different_options_only_if_the_user_allows_different_options(tmp_path: Path) -> None:
    run(tmp_path, "old", options={"msg": 64}, host="here", start_time="2026-01-01T00:00:00Z")
    run(tmp_path, "new", options={"msg": 1024}, host="here", start_time="2026-01-02T00:00:00Z")

    plain = tacholog("diff", tmp_path / "old", tmp_path / "new")
    across = tacholog("diff", tmp_path / "old", tmp_path / "new", "--across", "options")

    assert plain.returncode == 4
    assert "msg 64" in plain.stdout
    assert "msg 1024" in plain.stdout
    assert across.returncode == 0


def test_diff_notices_an_option_that_only_one_side_sets(tmp_path: Path) -> None:
    run(tmp_path, "old", options={"seed": 1}, host="here", start_time="2026-01-01T00:00:00Z")
    run(tmp_path, "new", options={"seed": 2, "colour": "blue"}, host="here", start_time="2026-01-02T00:00:00Z")

    done = tacholog("diff", tmp_path / "old", tmp_path / "new")

    assert done.returncode == 4
    assert "options: none -> colour blue" in done.stdout


def test_runs_whose_servers_were_on_different_machines_are_not_compared(tmp_path: Path) -> None:
    for name, machine, day in (("old", "host-1a2b3c", 1), ("new", "host-4d5e6f", 2)):
        server = Command(role="subscriber", argv=("sockperf", "server"), name="server", host=machine)
        client = Command(role="publisher", argv=("sockperf", "ping-pong"), name="client")
        run(tmp_path, name, commands=(server, client), host="here", start_time=f"2026-01-0{day}T00:00:00Z")

    done = tacholog("diff", tmp_path / "old", tmp_path / "new")

    assert "options: server on host-1a2b3c -> server on host-4d5e6f" in done.stdout
    assert done.returncode == 4  # Exit code 4: no row could be compared.
    latencies = [result for result in results.results(load([tmp_path])) if result.metric == "latency"]
    assert len(series_of(latencies)) == 2


def test_runs_whose_servers_had_different_kernels_on_the_same_hardware_are_compared(tmp_path: Path) -> None:
    for name, machine, kernel, day in (("old", "host-1a2b3c", "6.1", 1), ("new", "host-4d5e6f", "6.2", 2)):
        (tmp_path / name / "hosts").mkdir(parents=True)
        write(tmp_path / name / "hosts" / f"{machine}.toml", Host(name="Some CPU", source="x", cpu={"model": "Some CPU"}, system={"kernel": kernel}))
        server = Command(role="subscriber", argv=("sockperf", "server"), name="server", host=machine)
        run(tmp_path / name, "run", commands=(server,), host="here", start_time=f"2026-01-0{day}T00:00:00Z")

    done = tacholog("diff", tmp_path / "old", tmp_path / "new")

    assert "options:" not in done.stdout
    assert done.returncode == 0


def test_contradiction_between_manifest_and_log_is_reported_and_marks_the_numbers(tmp_path: Path) -> None:
    run(tmp_path, "a", UDP, conditions=StatedConditions(transport="tcp"))

    checked = tacholog("check", tmp_path)
    dataset = load([tmp_path])

    assert checked.returncode == 1
    assert "contradicted: run.toml says transport = tcp, the log says udp" in checked.stdout
    assert checked.stdout.count("contradicted") == 1
    assert set(dataset.results["transport"]) == {"udp"}
    assert all("contradicted" in marks for marks in dataset.results["marks"])


@pytest.mark.parametrize("transport", ["udp", "UDP"])
def test_equal_condition_of_manifest_and_log_is_not_a_contradiction(tmp_path: Path, transport: str) -> None:
    run(tmp_path, "a", UDP, conditions=StatedConditions(transport=transport))

    assert "contradicted" not in set(load([tmp_path]).problems["kind"])


def test_bench_reports_a_contradiction_between_campaign_and_log_after_the_first_run(tmp_path: Path) -> None:
    campaign = tmp_path / "wrong.toml"
    campaign.write_text(
        f'system = "Sockets"\ntool = "cat"\nrepetitions = 1\n[[runs]]\nname = "udp"\ncommand = ["cat", "{UDP}"]\nconditions.transport = "tcp"\n'
    )

    done = tacholog("bench", "--no-control", campaign, "--output", tmp_path / "runs")

    assert done.returncode == 1
    assert "run.toml says transport = tcp, the log says udp" in done.stderr


def test_dataset_that_version_0_3_saved_without_options_can_be_opened(tmp_path: Path) -> None:
    run(tmp_path / "data", "a", options={"msg": 64})
    dataset = load([tmp_path / "data"])
    dataset.save(tmp_path / "saved")
    dataset.runs.drop(columns="options").to_parquet(tmp_path / "saved/runs.parquet")

    assert open_saved(tmp_path / "saved").runs["options"].isna().all()


def test_options_that_json_cannot_represent_are_saved_as_text(tmp_path: Path) -> None:
    written = {"a": "since = 2026-01-01\nlimit = nan", "b": "since = 2026-01-02\nlimit = inf", "c": "at = [07:32:00]"}
    for name, lines in written.items():
        manifest = run(tmp_path, name) / "run.toml"
        manifest.write_text(f"{manifest.read_text()}\n[options]\n{lines}\n")

    dataset = load([tmp_path])
    dataset.save(tmp_path / "saved")

    assert list(open_saved(tmp_path / "saved").runs["options"]) == [
        '{"limit": "nan", "since": "2026-01-01"}',
        '{"limit": "inf", "since": "2026-01-02"}',
        '{"at": ["07:32:00"]}',
    ]
    assert all(as_toml(msgspec.json.decode(manifest, type=Manifest)) for manifest in dataset.runs["manifest"])
