"""Control runs of a campaign. If the campaign file has no control runs, short runs of perftest (the floor) are added to the campaign."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import run_tacholog_text

from tacholog.campaign.campaign_file import Campaign, read_campaign
from tacholog.campaign.floor import floor_tools, with_floor
from tacholog.campaign.plan import schedule_runs
from tacholog.runs.manifest import FLOOR, read_manifest

HEAD = 'system = "S"\ntool = "t"\nrepetitions = 2\n'
RUN = '[[runs]]\nname = "measured"\ncommand = ["client"]\n'
CONTROL = '[[runs]]\nname = "control"\ncontrol = true\ncommand = ["sockperf"]\nlabels = { kind = "tcp" }\n'
TOOLS = floor_tools({}, Path("/opt/perftest"))


def campaign(folder: Path, text: str) -> Campaign:
    (folder / "small.toml").write_text(HEAD + text)
    return read_campaign(folder / "small.toml")


def test_only_control_runs_have_the_label_named_control(tmp_path: Path) -> None:
    runs = schedule_runs(campaign(tmp_path, RUN + CONTROL), 1, ("0", "1"))

    assert {run.folder.partition("/")[0]: run.labels for run in runs} == {"measured": {}, "control": {"kind": "tcp", "control": "yes"}}


def test_each_repetition_includes_control_runs_with_a_separate_perftest_program(tmp_path: Path) -> None:
    runs = schedule_runs(with_floor(campaign(tmp_path, RUN), TOOLS), 1, ("0", "1"))

    floor = [run for run in runs if run.labels == {"control": "yes"}]
    assert len(floor) == len(runs) - 2 == 2 * 5
    assert {run.processes[0].command[0] for run in floor} == {FLOOR}
    assert {run.conditions.transport for run in floor} == {"inter-thread", "null", "shm", "uds", "tcp"}
    assert sum(run.expected_s for run in floor if run.repetition == 1) < 5


@pytest.mark.parametrize("text", [RUN + CONTROL, 'hosts.lab = { ssh = "lab" }\n' + RUN], ids=["controls of its own", "another host"])
def test_controls_are_not_added_if_a_campaign_has_own_controls_or_remote_hosts(tmp_path: Path, text: str) -> None:
    given = campaign(tmp_path, text)

    assert with_floor(given, TOOLS) == given


def test_no_control_runs_are_added_if_perftest_is_missing(tmp_path: Path) -> None:
    given = campaign(tmp_path, RUN)

    assert with_floor(given, floor_tools({"client": Path("client")}, None)) == given


@pytest.mark.core
@pytest.mark.parametrize("no_control", [False, True])
def test_both_sides_of_a_comparison_use_the_same_program_for_control_runs(tmp_path: Path, perftest: Path, no_control: bool) -> None:
    other = tmp_path / "perftest"
    other.write_text(f'#!/bin/sh\nexec "{perftest}" "$@"\n')
    other.chmod(0o755)
    (tmp_path / "small.toml").write_text(
        'system = "S"\ntool = "perftest"\nformat = "native"\nversion_command = ["perftest", "--version"]\nrepetitions = 1\n'
        '[[runs]]\nname = "latency"\ncommand = ["perftest", "--test", "latency", "--transport", "shm", "--role", "both", "--sizes", "64", '
        '"--duration", "0.1", "--warmup", "0.05", "--output", "-"]\n'
    )

    options = ["--no-control"] if no_control else []
    done = run_tacholog_text("ab", other, perftest, "small.toml", "--pairs", "1", "--perftest", perftest, *options, cwd=tmp_path)

    runs = [read_manifest(path) for path in tmp_path.rglob("run.toml")]
    floor = [run for run in runs if run.labels]
    assert len(runs) - len(floor) == 2, done.stderr
    assert len(floor) == (0 if no_control else 10)
    assert {run.status for run in runs} == {"ok"}
    assert len({command.program_sha256 for run in floor for command in run.commands}) == (0 if no_control else 1)
    assert all(run.tool == "perftest" and run.tool_version for run in runs)
