"""The load that other programs cause on a machine: it is computed, recorded with each run, and compared with the limits of the campaign."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.campaign.test_bench import HEAD, bench, manifests, only_folder
from tests.command import run_tacholog_text

from tacholog.runs.disturbance import Disturbance, Limits, ProcessorTime, as_environment, disturbance, exceeded, processor_time

# Two readings of a virtual machine with two processors. The second reading is one second later, after 0.80 s of programs, 0.05 s of interrupts,
# 1.11 s of idling and 0.04 s of stolen time.
FIRST = """cpu  4936942 492537 1140360 1275095 13200 0 66877 4219 0 0
cpu0 2438337 229336 545228 709673 3691 0 35377 2099 0 0
cpu1 2498605 263201 595131 565422 9509 0 31499 2119 0 0
intr 49384716 0 0 1 2
ctxt 634387176
"""
SECOND = FIRST.replace("cpu  4936942 492537 1140360 1275095 13200 0 66877 4219", "cpu  4936992 492547 1140380 1275205 13201 2 66880 4223")
QUIET = '[[runs]]\nname = "to-{last}"\ncommand = ["seq", "{last}"]\nvary.last = [3, 5]\n'
UNREACHABLE = "limits = { steal_percent = 100, other_load = 100000 }\n"
BUSY = '[[runs]]\nname = "busy"\ncommand = ["sh", "-c", "seq 3"]\n'


def reading(text: str) -> ProcessorTime:
    found = processor_time(text)
    assert found is not None
    return found


def test_each_kind_of_processor_time_is_counted_separately() -> None:
    assert reading(FIRST) == ProcessorTime(2, 4936942 + 492537 + 1140360, 66877, 1275095 + 13200, 4219)


def test_processor_time_of_the_run_itself_is_not_counted_as_load_of_other_programs() -> None:
    found = disturbance(reading(FIRST), reading(SECOND), own_s=0.5)

    assert found is not None
    assert found.steal_percent == pytest.approx(2.0)
    assert found.other_load == pytest.approx(0.3)


def test_load_of_other_programs_is_unknown_if_the_processor_time_of_the_run_is_unknown() -> None:
    assert disturbance(reading(FIRST), reading(SECOND), own_s=None) == Disturbance(2.0, None)


def test_load_of_other_programs_is_never_below_zero() -> None:
    assert disturbance(reading(FIRST), reading(SECOND), own_s=0.83) == Disturbance(2.0, 0.0)


@pytest.mark.parametrize("text", ["", "cpu  1 2 3\ncpu0 1 2 3\n", "cpu  a b c d e f g h\ncpu0 1\n", "cpu  1 2 3 4 5 6 7 8\n"])
def test_processor_times_are_unknown_if_the_kernel_prints_too_few_counters(text: str) -> None:
    assert processor_time(text) is None


def test_load_is_unknown_if_both_readings_are_from_the_same_time() -> None:
    assert disturbance(reading(FIRST), reading(FIRST), 0) is None


def test_load_is_unknown_if_the_number_of_processors_changed_between_the_readings() -> None:
    assert disturbance(reading(FIRST), reading(SECOND + "cpu2 1 2 3 4 5 6 7 8 0 0\n"), 0) is None


def test_limits_apply_to_the_load_of_each_machine_before_and_during_a_run() -> None:
    during = as_environment(Disturbance(0, 0.7), "during")
    facts = as_environment(Disturbance(2.5, 0.3), "before") | {f"b.{name}": text for name, text in during.items()}

    assert facts == {"steal_percent_before": "2.50", "other_load_before": "0.30", "b.steal_percent_during": "0.00", "b.other_load_during": "0.70"}
    assert [*exceeded(facts, Limits(steal_percent=2, other_load=0.5))] == ["steal 2.5 % before the run", "load of others 0.7 during the run (b)"]
    assert [*exceeded(facts, Limits(steal_percent=3))] == []
    assert [*exceeded(facts, None)] == []


def test_load_that_is_not_a_number_exceeds_no_limit() -> None:
    assert [*exceeded({"steal_percent_before": "nan", "other_load_during": "1e9", "load1_before": "9"}, Limits(steal_percent=0, other_load=0))] == []


def test_load_before_and_after_runs_is_recorded_if_the_campaign_has_limits(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(HEAD + UNREACHABLE + QUIET)

    done = bench("small.toml", "--output", "out", cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "All runs stayed within the limits (steal 100 %, load of others 100000)."
    runs = manifests(only_folder(tmp_path / "out"))
    assert all({"steal_percent_before", "other_load_before"} <= run.environment.keys() for run in runs.values())
    last = max(runs.values(), key=lambda run: run.order_index or 0)
    assert [run for run in runs.values() if "steal_percent_after" in run.environment] == [last]
    assert {run.limits for run in runs.values()} == {Limits(steal_percent=100, other_load=100000)}


def disturbed(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(HEAD + UNREACHABLE + QUIET)
    bench("small.toml", "--output", "out", cwd=tmp_path)
    folder = only_folder(tmp_path / "out")
    mark_disturbed(folder / "to-3/01/run.toml")
    return folder


def mark_disturbed(file: Path) -> None:
    """Write into the manifest that other programs caused a high load before the run."""
    lines = [line for line in file.read_text().splitlines() if not line.startswith("other_load_before")]
    place = lines.index("[environment]") + 1
    file.write_text("\n".join([*lines[:place], 'other_load_before = "200000.00"', *lines[place:]]) + "\n")


def test_run_above_the_load_limits_is_reported_and_repeated_when_the_campaign_is_resumed(tmp_path: Path) -> None:
    folder = disturbed(tmp_path)
    before = json.dumps({name: run.start_time for name, run in manifests(folder).items() if name != "to-3/01"})

    checked = run_tacholog_text("check", folder, cwd=tmp_path)
    done = bench(folder, "--resume", cwd=tmp_path)

    assert "to-3/01: above the limits of its campaign: load of others 200000 before the run" in checked.stdout
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All runs stayed within the limits" in done.stdout
    runs = manifests(folder)
    assert float(runs["to-3/01"].environment["other_load_before"]) < 100000
    assert json.dumps({name: run.start_time for name, run in runs.items() if name != "to-3/01"}) == before


def test_campaign_with_a_run_above_the_load_limits_is_not_copied_for_publication(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(HEAD + "limits = { other_load = 0 }\n" + BUSY)
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        done = bench("small.toml", "--output", "out", "--release", "1.0", "--data", "kept", cwd=tmp_path)
    finally:
        other.kill()
        other.wait()

    assert done.returncode == 1
    assert done.stderr.count(" busy/01: ") == 3, "measured, and twice again"
    assert "exceeded the limits (load of others 0), so this campaign is not fit to publish" in done.stdout
    assert f"tacholog bench --resume {only_folder(tmp_path / 'out').relative_to(tmp_path)} --data kept" in done.stdout
    assert "not copied to kept, because the campaign exceeded its limits" in done.stderr
    assert not (tmp_path / "kept").exists()


def compared(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_tacholog_text(
        "ab", "--no-control", "env A=1 seq {arguments}", "seq {arguments}", "small.toml", "--pairs", "1", *arguments, cwd=tmp_path
    )


def test_comparison_with_a_run_above_the_load_limits_is_not_copied_for_publication(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(HEAD + "limits = { other_load = 0 }\n" + QUIET)
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        done = compared(tmp_path, "--release", "1.0", "1.1")
    finally:
        other.kill()
        other.wait()

    assert "of 4 runs exceeded the limits (load of others 0)" in done.stderr
    assert "repeat these runs with: the same command with --resume, which takes both runs of a pair" in done.stderr
    assert "not copied to data, because runs exceeded the limits of the campaign" in done.stderr
    assert not (tmp_path / "data").exists()


def test_disturbed_run_of_a_pair_is_repeated_with_the_other_run_of_the_pair(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(HEAD + UNREACHABLE + QUIET)
    compared(tmp_path)
    [folder] = (tmp_path / "build/runs").glob("ab-small-*")
    mark_disturbed(folder / "old/to-3/01/run.toml")

    done = compared(tmp_path, "--resume")

    assert "All runs stayed within the limits" in done.stderr, done.stderr
    assert float(manifests(folder)["old/to-3/01"].environment["other_load_before"]) < 100000
    assert [name for name in manifests(folder) if name.startswith("half-pairs")] == ["half-pairs/new/to-3/01"]
