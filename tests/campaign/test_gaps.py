"""Results can be compared only if some conditions are stated. The plan, or a message after the first log of a variant, names missing conditions."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.command import run_tacholog_text

from tacholog.campaign.campaign_file import read_campaign
from tacholog.campaign.preview import preview
from tacholog.commands.bench import bench as bench_command
from tacholog.commands.shared.campaigns import Pace, preview_words

LOGS = Path(__file__).parent.parent / "formats"
SOCKPERF = """
system = "Sockets"
tool = "sockperf"
repetitions = 2
{version}
[[runs]]
name = "throughput"
command = ["cat", "{log}"]
expected_s = 2
conditions = {{ {conditions} }}
"""
VERSION = 'version_command = ["sockperf", "--version"]'


def campaign(folder: Path, conditions: str, log: str = "sockperf/throughput-tcp.log", version: str = "", tool: str = "sockperf") -> Path:
    path = folder / "small.toml"
    path.write_text(SOCKPERF.format(conditions=conditions, log=LOGS / log, version=version).replace('tool = "sockperf"', f'tool = "{tool}"'))
    return path


def bench(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_tacholog_text("bench", "--no-control", *arguments, cwd=cwd)


def test_plan_states_runs_repetitions_and_durations_and_starts_nothing(tmp_path: Path) -> None:
    done = bench("--plan", campaign(tmp_path, 'load_mode = "max-rate", batch_bytes = 0, reliability = "reliable"'), cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    cat = shutil.which("cat")
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        "small: 1 variant, 2 repetitions each: 2 runs, about 4 s.",
        "  throughput: 2 runs of about 2 s",
        "Order: each repetition runs all variants in a new random order (seed: chosen at the start).",
    ]
    assert lines[3].startswith(f"Program cat: {cat}, SHA-256 ")
    assert lines[4:] == ["All conditions that comparisons need will be stated."]
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_plan_names_the_build_command_if_perftest_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    path = tmp_path / "own.toml"
    path.write_text('system = "S"\ntool = "perftest"\nrepetitions = 1\n[[runs]]\nname = "r"\ncommand = ["perftest"]\n')

    lines = preview_words(preview(read_campaign(path), "own", {}))

    way = "build it with `nox -s core`, or give its path with --perftest or in TACHOLOG_PERFTEST"
    assert f"Program perftest: NOT FOUND on this machine; {way}." in lines


@pytest.mark.parametrize("has_perftest", [True, False])
def test_plan_without_perftest_states_that_controls_would_come_on_top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_perftest: bool) -> None:
    monkeypatch.setattr("tacholog.commands.bench.find_programs", lambda *_: {"perftest": Path("/bin/cat")} if has_perftest else {})
    path = campaign(tmp_path, 'load_mode = "max-rate"')

    plans = [CliRunner().invoke(bench_command, ["--plan", str(path), *options]).stdout for options in ([], ["--no-control"])]

    said = "No controls are planned: there is no perftest. With it, they come on top of these runs"
    assert [said in plan for plan in plans] == [not has_perftest, False]


def test_plan_names_an_option_that_no_command_uses(tmp_path: Path) -> None:
    path = campaign(tmp_path, 'load_mode = "max-rate", batch_bytes = 0, reliability = "reliable"')
    log = LOGS / "sockperf/throughput-tcp.log"
    path.write_text(path.read_text() + f'options = {{ duration_s = 10, log = "{log}", sizes_bytes = [64, 1024] }}\n')

    lines = bench("--plan", path, cwd=tmp_path).stdout.splitlines()

    end = "or this value, so the runs may use another value than the recorded one."
    assert [line for line in lines if line.endswith(end)] == [  # No message about the option ``log``: the command contains {log}.
        f"duration_s = 10: no command of throughput has {{duration_s}} {end}",
        f"sizes_bytes = 64,1024: no command of throughput has {{sizes_bytes}} {end}",
    ]


def test_plan_names_each_missing_condition_and_the_key_that_would_state_it(tmp_path: Path) -> None:
    done = bench("--plan", campaign(tmp_path, 'load_mode = "max-rate"'), cwd=tmp_path)

    assert done.stdout.splitlines()[-3:] == [
        (
            'reliability: nothing states it; rows of throughput cannot be compared without it: add conditions = { reliability = "reliable" } '
            '(or "best-effort") for throughput.'
        ),
        (
            "batch_bytes: nothing states it; rows of throughput at max-rate cannot be compared without it: add conditions = { batch_bytes = 0 } "
            "(0: batching is off) for throughput."
        ),
        "docs/conditions.md explains each condition.",
    ]


def test_plan_for_latencies_states_only_the_conditions_that_latencies_need(tmp_path: Path) -> None:
    done = bench("--plan", campaign(tmp_path, 'load_mode = "closed", reliability = "reliable"'), cwd=tmp_path)

    assert "batch_bytes" not in done.stdout
    assert (
        "Rows of latency need transport, payload_bytes, tool_version, which only some logs of this format state; "
        "the log of the first run will show it (throughput).\n"
    ) in done.stdout


@pytest.mark.parametrize(
    ("tool", "reason"),
    [("mytool", "the campaign names no format, and no format reads the tool 'mytool'")],
)
def test_plan_states_that_conditions_are_not_known_yet_if_the_log_format_is_unknown(tmp_path: Path, tool: str, reason: str) -> None:
    done = bench("--plan", campaign(tmp_path, 'load_mode = "closed"', tool=tool), cwd=tmp_path)

    line = f"Not known before the first run: which conditions the logs of throughput state ({reason})."
    assert line in done.stdout.splitlines()


def test_plan_names_a_missing_program_and_a_command_whose_measured_program_is_unknown(tmp_path: Path) -> None:
    path = campaign(tmp_path, 'load_mode = "closed"')
    path.write_text(path.read_text() + '[[runs]]\nname = "b"\ncommand = ["taskset", "-c", "0", "no-such-tool"]\n')
    path.write_text(path.read_text() + '[[runs]]\nname = "c"\ncommand = ["sh", "-c", "cat log"]\n')

    done = bench("--plan", path, cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr == "tacholog: not found on this machine: no-such-tool; nothing would be run\n"
    assert "Program no-such-tool, behind taskset: NOT FOUND on this machine; install it, or put it on the PATH." in done.stdout
    assert (
        "Program sh: the measured program is not known (sh reads its commands from a text or a file), so the SHA-256 in run.toml is that of sh."
        in done.stdout
    )


def test_missing_conditions_are_reported_once_before_the_runs_and_not_again_after_the_first_log(tmp_path: Path) -> None:
    done = bench(campaign(tmp_path, 'load_mode = "max-rate", reliability = "reliable"'), cwd=tmp_path)

    assert done.returncode == 0
    assert done.stderr.count("batch_bytes: ") == 1
    assert done.stderr.index("batch_bytes: nothing states it") < done.stderr.index("[1/2]")


def test_conditions_missing_in_a_log_are_reported_once_after_the_first_run_of_a_variant(tmp_path: Path) -> None:
    path = campaign(tmp_path, 'load_mode = "closed", reliability = "reliable"', "sockperf/ping-pong-udp.log")

    done = bench(path, cwd=tmp_path)

    first, second = (done.stderr.index(f"[{number}/2]") for number in (1, 2))
    told = done.stderr[first:second].splitlines()[1:]
    assert told == [
        (
            "throughput/01: payload_bytes: neither its log nor the campaign states it; without it, results of several sizes become one row: "
            'add conditions = { payload_bytes = "{payload_bytes}" } for throughput.'
        )
    ]
    assert done.stderr[second:].splitlines()[1:] == []


def test_unknown_lines_of_the_first_log_are_reported(tmp_path: Path) -> None:
    log = tmp_path / "strange.log"
    text = (LOGS / "sockperf/throughput-tcp.log").read_text()
    log.write_text(text + "sockperf: a line of a version to come\n")
    path = campaign(tmp_path, 'load_mode = "max-rate", batch_bytes = 0, reliability = "reliable"', str(log))

    done = bench(path, cwd=tmp_path)

    line = len(text.splitlines()) + 1
    assert done.stderr.splitlines()[1] == (
        f"throughput/01: 1 line of perftest.log is unknown to its format, from line {line} on (tacholog parse --explain shows them)"
    )


def test_plan_does_not_report_a_missing_condition_in_which_sides_may_differ(tmp_path: Path) -> None:
    path = campaign(tmp_path, 'load_mode = "max-rate"')

    plain, across = (
        run_tacholog_text("ab", "cat", "cat", path, "--plan", "--pairs", "1", *more, cwd=tmp_path) for more in ((), ("--across", "batch_bytes"))
    )

    assert "batch_bytes: nothing states it; rows of throughput at max-rate cannot be compared without it" in plain.stderr
    assert "batch_bytes" not in across.stderr
    assert "reliability: nothing states it" in across.stderr


def test_unknown_field_in_which_sides_may_differ_is_refused_before_any_run(tmp_path: Path) -> None:
    done = run_tacholog_text("ab", "cat", "cat", campaign(tmp_path, ""), "--across", "colour", cwd=tmp_path)

    assert done.returncode == 2
    assert "colour" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_sides_that_differ_in_a_field_are_compared_if_the_user_allows_this_difference(tmp_path: Path) -> None:
    path = campaign(tmp_path, 'load_mode = "max-rate", batch_bytes = 0, reliability = "reliable"')
    sides = "cat {arguments}", "sed s/TCP/UDP/ {arguments}"

    plain, across = (
        json.loads(run_tacholog_text("ab", *sides, path, "--pairs", "1", "--format", "json", "--output", name, *more, cwd=tmp_path).stdout)
        for name, more in (("a", ()), ("b", ("--across", "transport")))
    )

    assert {row["verdict"] for row in plain["rows"]} <= {"added", "removed", "not comparable"}
    assert [row["verdict"] for row in across["rows"] if row["key"]["metric"] == "offered_rate"] != ["added"]
    assert not {row["verdict"] for row in across["rows"]} & {"added", "removed"}
    assert not list((tmp_path / "b").glob("same-build"))


def test_remaining_time_follows_from_finished_runs_of_the_same_name_or_from_all_finished_runs() -> None:
    pace = Pace()

    assert pace.seconds([("a", 10.0), ("b", 1.0)]) == 11.0
    pace.add("a", 10.0, 30.0)
    assert pace.seconds([("a", 10.0), ("b", 1.0)]) == 33.0
    pace.add("b", 10.0, 10.0)
    assert pace.seconds([("a", 10.0), ("b", 1.0), ("c", 1.0)]) == 33.0  # No run of c has ended. The ended runs took 40 s, not 20 s.


def test_plan_names_the_percentiles_that_will_get_no_verdict(tmp_path: Path) -> None:
    conditions = 'load_mode = "open", reliability = "reliable", offered_rate_per_s = 5000, planned_duration_s = 4'

    done = bench("--plan", campaign(tmp_path, conditions), cwd=tmp_path)

    assert (
        "Comparisons will give p99.9 no verdict: that needs 100,000 samples in each run, and at the planned rate and duration there are 20,000 "
        "(throughput).\n"
    ) in done.stdout
    assert "p99 no verdict" not in done.stdout


def test_percentiles_with_too_few_samples_are_reported_once_after_the_first_run_of_a_variant(tmp_path: Path) -> None:
    done = bench(campaign(tmp_path, 'load_mode = "open", reliability = "reliable"', "sockperf/under-load.log"), cwd=tmp_path)

    lines = [line for line in done.stderr.splitlines() if "no verdict" in line]
    assert lines == [
        f"throughput/01: comparisons will give {statistic} no verdict: that needs {needed} samples in each run, and this run has 273; "
        "longer runs have more"
        for statistic, needed in (("p99", "10,000"), ("p99.9", "100,000"))
    ]
