"""`tacholog ab` with the real perftest and its mock transport: order of pairs, interruption, extension, calibration, and a detected change."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.command import run_tacholog_text
from tests.left_out import leave_out
from tests.waiting import LIMIT_S, until

from tacholog.campaign.builds import apply_template, find_build
from tacholog.campaign.campaign_file import read_campaign
from tacholog.campaign.pairs import schedule_pairs
from tacholog.compare.bands import read, same_build
from tacholog.compare.pairing import read_record
from tacholog.formats.reading import read as read_log
from tacholog.runs.manifest import Manifest, read_manifest
from tacholog.schema.records import Record

# Throughput, because it can be measured on a busy machine. A latency would have too few samples in such a short run.
CAMPAIGN = """
system = "Tacholog perftest"
tool = "perftest"
version_command = ["perftest", "--version"]
format = "native"
repetitions = 1
seed = 3

[[runs]]
name = "stream-uds"
command = ["perftest", "--test", "throughput", "--transport", "uds", "--role", "both", "--sizes", "{sizes_bytes}", "--duration", "{duration_s}",
           "--warmup", "0.02", "--cpu-pub", "{cpu_pub}", "--cpu-sub", "{cpu_sub}", "--output", "-"]
shuffle = ["sizes_bytes"]
options = { sizes_bytes = [64, 1024], duration_s = 0.15, warmup_s = 0.02 }
conditions = { transport = "uds", load_mode = "max-rate", payload_touched = "write+read", publishers = 1, subscribers = 1 }
"""
HOLD_US = 100


def ab(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_tacholog_text("ab", "--no-control", *arguments, cwd=cwd)


def campaign(folder: Path, text: str = CAMPAIGN) -> Path:
    path = folder / "small.toml"
    path.write_text(text)
    return path


def only_folder(folder: Path) -> Path:
    [found] = folder.glob("build/runs/ab-small-*")
    return found


def runs_in_order(folder: Path) -> list[tuple[str, Manifest]]:
    runs = [(path.relative_to(folder).parts[0], read_manifest(path)) for path in folder.rglob("run.toml")]
    return sorted(runs, key=lambda run: run[1].order_index or 0)


@pytest.mark.core
def test_runs_of_the_two_builds_form_pairs_in_changing_order(tmp_path: Path, perftest: Path) -> None:
    done = ab(perftest, perftest, campaign(tmp_path), "--pairs", "6", "--format", "json", cwd=tmp_path)

    report = json.loads(done.stdout)
    assert set(report["designs"]) == {"paired"}
    runs = runs_in_order(only_folder(tmp_path))
    assert [run.order_index for _, run in runs] == list(range(1, 13))
    pairs = [runs[start : start + 2] for start in range(0, 12, 2)]
    assert all({side for side, _ in pair} == {"old", "new"} for pair in pairs)
    assert all(one.repetition == two.repetition and one.options == two.options for (_, one), (_, two) in pairs)
    assert Counter(pair[0][0] for pair in pairs) == {"old": 3, "new": 3}
    assert len({run.session for _, run in runs}) == 1
    progress = [line for line in done.stderr.splitlines() if line.startswith("[")]
    assert [line.partition("]")[0] for line in progress] == [f"[{number}/12" for number in range(1, 13)]
    assert all(
        re.fullmatch(r"\d+ (s|min) left", line.rpartition(", ")[2]) for line in progress
    )  # The remaining time is corrected by the duration of the finished runs.
    assert progress[-1].endswith(", 0 s left")


@pytest.mark.core
def test_plan_states_the_detectable_change_and_the_time_and_writes_nothing(tmp_path: Path, perftest: Path) -> None:
    done = ab(perftest, perftest, campaign(tmp_path), "--plan", cwd=tmp_path)

    assert done.returncode == 0
    assert "12 pairs of 1 variant: 24 runs to do, about 20 s." in done.stderr
    assert "Run-to-run noise: 2.0% (assumed" in done.stderr
    sentence = "Smallest detectable change of a median or mean, in four cases of five: 3.8 % in a single row, 3.8 % in one row of 2."
    assert sentence in done.stderr  # Larger than the threshold of 3 %: a change of 3 % is often measured as less than 3 %.
    assert list(tmp_path.glob("build/runs/*")) == []


@pytest.mark.core
def test_plan_counts_one_row_for_each_percentile_that_the_comparison_tests(tmp_path: Path, perftest: Path) -> None:
    text = CAMPAIGN.replace("throughput", "latency").replace("max-rate", "closed")

    done = ab(perftest, perftest, campaign(tmp_path, text), "--plan", cwd=tmp_path)

    assert "in one row of 6." in done.stderr  # p50, p99 and p99.9 of two sizes


@pytest.mark.core
def test_plan_states_that_there_are_too_few_pairs_for_any_verdict(tmp_path: Path, perftest: Path) -> None:
    text = CAMPAIGN.replace("throughput", "latency").replace("max-rate", "closed")

    one, six = (ab(perftest, perftest, campaign(tmp_path, text), "--plan", "--pairs", pairs, cwd=tmp_path).stderr for pairs in ("1", "6"))

    assert "1 pair of 1 variant: " in one
    assert one.endswith("Fewer than 6 pairs never give a verdict, whatever the change.\n")
    assert re.search(r"four cases of five: 5\.\d % in a single row, 8\.\d % in one row of 6\.", six)


@pytest.mark.core
def test_option_detect_plans_enough_pairs_to_detect_the_stated_change(tmp_path: Path, perftest: Path) -> None:
    text = CAMPAIGN.replace("throughput", "latency").replace("max-rate", "closed")

    done = ab(perftest, perftest, campaign(tmp_path, text), "--plan", "--detect", "5%", cwd=tmp_path)

    assert "9 pairs of 1 variant: 18 runs to do" in done.stderr
    assert "A change of 5.0 % in one row of 6 is detected in four cases of five with 9 pairs." in done.stderr
    assert list(tmp_path.glob("build/runs/*")) == []


@pytest.mark.core
def test_comparison_is_refused_if_no_number_of_pairs_can_detect_the_change(tmp_path: Path, perftest: Path) -> None:
    done = ab(perftest, perftest, campaign(tmp_path), "--detect", "2", cwd=tmp_path)

    assert done.returncode == 2
    assert "cannot be detected with any number of pairs up to 100: changes below 3.0 % do not count." in done.stderr
    assert list(tmp_path.glob("build/runs/ab-*")) == []


@pytest.mark.core
@pytest.mark.parametrize("words", ["0%", "-5", "five", "inf"])
def test_change_to_detect_must_be_a_percentage_above_zero(tmp_path: Path, perftest: Path, words: str) -> None:
    done = ab(perftest, perftest, campaign(tmp_path), "--plan", f"--detect={words}", cwd=tmp_path)

    assert done.returncode == 2
    assert "is not a percentage above zero, such as 5%" in done.stderr


@pytest.mark.core
def test_comparison_of_a_build_with_itself_is_stored_and_used_by_the_next_comparison(tmp_path: Path, perftest: Path) -> None:
    done = ab(perftest, perftest, campaign(tmp_path), "--pairs", "6", cwd=tmp_path)

    folder = only_folder(tmp_path)
    assert "Both sides are the same build (A/A)" in done.stdout
    [file] = (tmp_path / "build/runs/same-build").glob("*.csv")
    entries = read(file)
    assert {(entry.key.metric, entry.key.payload_bytes, entry.runs, entry.pairs) for entry in entries} == {
        ("goodput", 64, 12, 6),
        ("goodput", 1024, 12, 6),
    }
    assert set(same_build(file).bands) == {entry.key for entry in entries}
    again = run_tacholog_text("diff", folder / "old", folder / "new", "--format", "json", cwd=tmp_path)
    report = json.loads(again.stdout)
    assert len(report["settings"]["same_build_sessions"]) == 1
    widest = max(max(abs(entry.shift_low), abs(entry.shift_high)) for entry in entries)
    assert max(row["threshold"] for row in report["rows"] if row.get("p")) == pytest.approx(max(0.03, 2.718281828**widest - 1), abs=1e-4)


@pytest.mark.core
@pytest.mark.nightly
def test_delay_that_is_five_percent_longer_is_detected_as_worse(tmp_path: Path, perftest: Path) -> None:
    text = CAMPAIGN.replace("uds", "mock").replace("throughput", "latency").replace("max-rate", "closed")
    holds = [f"{perftest} {{arguments}} --set faults=hold={hold}us" for hold in (HOLD_US, HOLD_US * 105 // 100)]

    done = ab(*holds, campaign(tmp_path, text), "--across", "settings", "--format", "json", "--fail-on", "worse", cwd=tmp_path)

    found = {row["key"]["payload_bytes"]: row for row in json.loads(done.stdout)["rows"] if row["key"]["statistic"] == "p50"}
    verdicts = {size: row["verdict"] for size, row in found.items()}
    if verdicts != {64: "worse", 1024: "worse"}:
        _skip_if_the_host_was_too_busy(only_folder(tmp_path))
    assert verdicts == {64: "worse", 1024: "worse"}
    assert all(1.03 < row["ratio"] < 1.07 for row in found.values())
    assert not json.loads(done.stdout)["same_build"]
    assert done.returncode == 3


def _skip_if_the_host_was_too_busy(folder: Path) -> None:
    """Skip if a median is 30 % above the injected delay. Both sides poll, so each side needs a CPU all the time."""
    medians = []
    for log in folder.rglob("perftest.log"):
        records = (event.what for event in read_log(log).events if isinstance(event.what, Record))
        medians += [number.value for record in records if record.scope == "summary" and (number := record.number("latency", "p50"))]
    robbed = [value for value in medians if value is not None and value > 1.3 * HOLD_US * 1000]
    if robbed:
        pytest.skip(
            f"THE HOST IS TOO BUSY TO MEASURE: {len(robbed)} of {len(medians)} medians, up to {max(robbed) / 1000:.0f} us, of {HOLD_US} us injected"
        )


@pytest.mark.core
def test_interrupted_comparison_can_be_continued_and_has_only_complete_pairs(tmp_path: Path, perftest: Path) -> None:
    file, program = campaign(tmp_path, f"{CAMPAIGN}deadline_s = {LIMIT_S - 100}\n"), tmp_path / "perftest"
    ended = f"$(ls {tmp_path}/build/runs/ab-*/*/stream-uds/*/run.toml 2>/dev/null | wc -l)"
    hold = f'if test "$1" != --version && test {ended} -ge 7 && ! test -e {tmp_path}/go; then touch {tmp_path}/held; exec sleep 1000; fi'
    program.write_text(f'#!/bin/sh\n{hold}\nexec {perftest} "$@"\n')
    program.chmod(0o755)
    command = [sys.executable, "-m", "tacholog", "ab", "--no-control", str(program), str(program), str(file), "--pairs", "8"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        until((tmp_path / "held").exists, "seven runs are done")
        process.send_signal(signal.SIGINT)
        messages = process.communicate(timeout=LIMIT_S)[1]
    folder = only_folder(tmp_path)

    assert process.returncode == 130
    assert "of 8 pairs done; the same command with --resume continues" in messages
    assert [event.what for event in read_record(folder).events] == ["interrupted"]
    part = run_tacholog_text("diff", folder / "old", folder / "new")
    done_before = len(runs_in_order(folder))
    assert f"Interrupted: {done_before} of 16 planned runs were made." in part.stdout

    (tmp_path / "go").touch()
    (folder / "new/stream-uds/08").mkdir(exist_ok=True)
    whole = ab(program, program, file, "--resume", cwd=tmp_path)

    assert [event.what for event in read_record(folder).events] == ["interrupted", "resumed"]
    assert "Interrupted and resumed" in whole.stdout
    kept = [(side, run) for side, run in runs_in_order(folder) if side != "half-pairs"]
    assert Counter(side for side, _ in kept) == {"old": 8, "new": 8}
    halves = [path for path in folder.glob("half-pairs/*/stream-uds/*") if path.is_dir()]
    assert len(halves) == done_before % 2


@pytest.mark.core
def test_extended_comparison_reports_the_added_pairs_and_keeps_the_earlier_pairs(tmp_path: Path, perftest: Path) -> None:
    file = campaign(tmp_path)
    ab(perftest, perftest, file, "--pairs", "6", cwd=tmp_path)
    folder = only_folder(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("run.toml")}

    finished = ab(perftest, perftest, file, "--resume", cwd=tmp_path)
    done = ab(perftest, perftest, file, "--resume", "--pairs", "7", cwd=tmp_path)

    assert (finished.returncode, "all 6 pairs are done" in finished.stderr) == (2, True)
    assert "Extended: 6 pairs were planned, then 7." in done.stdout
    record = read_record(folder)
    assert (record.planned_pairs, record.pairs, record.runs, record.events[0].what) == (6, 7, 14, "extended")
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert [run.order_index for _, run in runs_in_order(folder)] == list(range(1, 15))


@pytest.mark.core
def test_ab_copies_both_sides_into_the_data_folder_if_both_releases_are_named(tmp_path: Path, perftest: Path) -> None:
    done = ab(perftest, perftest, campaign(tmp_path), "--pairs", "6", "--release", "9.1", "9.2", cwd=tmp_path)

    kept = tmp_path / "data/perftest/9.1-to-9.2"
    assert f"copied for publication: {kept.relative_to(tmp_path)}" in done.stderr
    assert len(list((kept / "old").rglob("run.toml"))) == len(list((kept / "new").rglob("run.toml"))) == 6
    assert (tmp_path / "data/hosts").is_dir()
    assert list((tmp_path / "data/same-build").glob("*.csv"))
    found = run_tacholog_text("diff", "9.1", "9.2", "--data", "data", "--format", "json", cwd=tmp_path)
    assert set(json.loads(found.stdout)["designs"]) == {"paired"}
    again = ab(perftest, perftest, campaign(tmp_path), "--release", "9.1", "9.2", cwd=tmp_path)
    assert (again.returncode, "exists already" in again.stderr) == (2, True)


@pytest.mark.core
def test_comparison_is_not_continued_with_another_build(tmp_path: Path, perftest: Path) -> None:
    file = campaign(tmp_path)
    ab(perftest, perftest, file, "--pairs", "1", cwd=tmp_path)

    done = ab(perftest, shutil.which("true") or "", file, "--resume", "--pairs", "2", cwd=tmp_path)

    assert done.returncode == 2
    assert "is not the build that this campaign was started with" in done.stderr


def test_command_template_runs_another_tool_with_its_own_arguments(tmp_path: Path) -> None:
    text = 'system = "coreutils"\ntool = "seq"\nrepetitions = 1\n[[runs]]\nname = "s"\ncommand = ["seq", "{last}"]\nvary.last = [2]\n'
    file = campaign(tmp_path, text)

    done = ab("seq -s , {arguments}", "echo {arguments}", file, "--pairs", "1", cwd=tmp_path)

    logs = {path.relative_to(only_folder(tmp_path)).parts[0]: path.read_text() for path in only_folder(tmp_path).rglob("perftest.log")}
    assert logs == {"old": "1,2\n", "new": "2\n"}
    assert done.returncode == 4  # These logs have no results, so nothing could be compared.
    assert "! The old side has no figures: none of its logs has a result." in done.stdout
    assert "tacholog: echo {arguments}: none of 1 runs gave a result (its log cannot be read: " in done.stderr
    assert "): is it the program that the campaign small runs? Its output is in build/runs/" in done.stderr


def test_message_names_a_program_that_printed_nothing(tmp_path: Path) -> None:
    text = 'system = "X"\ntool = "x"\nrepetitions = 1\n[[runs]]\nname = "s"\ncommand = ["x"]\n'
    silent = shutil.which("true") or ""

    done = ab(silent, silent, campaign(tmp_path, text), "--pairs", "1", cwd=tmp_path)

    assert done.returncode == 4
    assert done.stderr.count("tacholog: true: none of 1 runs gave a result (the program printed nothing): is it the program") == 2


def test_run_records_version_and_build_of_a_tool_if_its_command_starts_with_env(tmp_path: Path) -> None:
    text = 'system = "S"\ntool = "t"\nversion_command = ["t", "--version"]\nrepetitions = 1\n[[runs]]\nname = "s"\ncommand = ["t", "2"]\n'
    tool = tmp_path / "ping"
    tool.write_text('#!/bin/sh\n[ "$2" = --version ] && echo "$MODE 3.7.1" || echo "$MODE $@"\n')
    tool.chmod(0o755)

    ab(
        "env MODE=fast ./ping -q {arguments} -v",
        "nice -n 0 env MODE=slow ./ping -q {arguments}",
        campaign(tmp_path, text),
        "--pairs",
        "1",
        cwd=tmp_path,
    )

    runs = runs_in_order(only_folder(tmp_path))
    assert {run.tool_version for _, run in runs} == {"3.7.1"}
    assert {run.environment["program_sha256"] for _, run in runs} == {hashlib.sha256(tool.read_bytes()).hexdigest()}
    logs = {path.relative_to(only_folder(tmp_path)).parts[0]: path.read_text() for path in only_folder(tmp_path).rglob("perftest.log")}
    assert logs == {"old": "fast -q 2 -v\n", "new": "slow -q 2\n"}


def test_order_of_the_first_runs_does_not_depend_on_the_number_of_pairs(tmp_path: Path) -> None:
    text = CAMPAIGN.replace("options = { sizes", 'vary.transport = ["a", "b", "c"]\noptions = { sizes').replace('"stream-uds"', '"{transport}"')
    plan = read_campaign(campaign(tmp_path, text))
    few, many = (schedule_pairs((one, one), 5) for one in (msgspec.structs.replace(plan, repetitions=pairs) for pairs in (4, 7)))

    assert [side[: len(few[0])] for side in many] == list(few)
    assert len({run.folder.rpartition("/")[0] for run in few[0][:3]}) == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no-such-thing", "no-such-thing: this is not a program, a folder with a program, a command template (of several words) or a git revision"),
        (
            "perftest --sizes 64",
            (
                "perftest --sizes 64: this template has no {arguments}, so the tool would not get the options of the campaign; "
                'put {arguments} where the arguments of perftest belong, as in "perftest {arguments}"'
            ),
        ),
        (".", ".: no program perftest here (looked for bin/perftest, perftest, build/bench/release/perftest)"),
    ],
)
def test_message_names_a_side_that_does_not_exist(tmp_path: Path, name: str, message: str) -> None:
    done = ab(name, name, campaign(tmp_path), cwd=tmp_path)

    assert (done.returncode, done.stderr) == (2, f"tacholog: {message}\n")


def test_revisions_are_built_in_worktrees_that_are_removed_afterwards(tmp_path: Path) -> None:
    if not all(map(shutil.which, ("git", "c++"))):
        leave_out("git and a C++ compiler are needed to build a revision")
    repository = tmp_path / "repository"
    (repository / "bench").mkdir(parents=True)
    (repository / "bench/CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.21)\nproject(p CXX)\nadd_executable(perftest main.cpp)\n")
    environment = os.environ | {f"GIT_{who}_{what}": "tester" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for words in (["init", "-q", "-b", "main"], *(step for n in "12" for step in (["add", "."], ["commit", "-q", "-m", n], ["tag", f"v{n}"]))):
        if words[0] == "add":
            number = len(list(repository.glob(".git/refs/tags/*"))) + 1
            (repository / "bench/main.cpp").write_text(f'#include <cstdio>\nint main() {{ std::puts("version {number}.0"); }}\n')
        subprocess.run(["git", *words], cwd=repository, env=environment, check=True)
    plan = read_campaign(campaign(tmp_path))

    said_of_builds: list[str] = []
    builds = [find_build(name, plan, {}, repository, tmp_path / "work", said_of_builds.append) for name in ("v1", "v2", "v1")]

    said = [subprocess.run([str(build.tools["perftest"])], capture_output=True, text=True, check=True).stdout for build in builds]
    assert said == ["version 1.0\n", "version 2.0\n", "version 1.0\n"]
    assert [line.partition(",")[0] for line in said_of_builds] == [f"building revision {(build.revision or '')[:12]}" for build in builds[:2]]
    assert len({build.revision for build in builds}) == 2
    trees = subprocess.run(["git", "worktree", "list"], cwd=repository, capture_output=True, text=True, check=True).stdout
    assert len(trees.splitlines()) == 1


SERVED = """
system = "sockets"
tool = "sockperf"
version_command = ["sockperf", "--version"]
repetitions = 1
[[runs]]
name = "ping"
[[runs.processes]]
name = "capture"
role = "watch"
command = ["sleep", "300"]
ends = "stopped"
[[runs.processes]]
name = "server"
role = "sub"
command = ["sockperf", "server"]
ends = "stopped"
[[runs.processes]]
name = "client"
role = "pub"
command = ["sockperf", "ping-pong", "-t", "1"]
"""


def test_command_template_applies_to_each_process_that_runs_the_measured_program(tmp_path: Path) -> None:
    (tmp_path / "served.toml").write_text(SERVED)
    campaign = read_campaign(tmp_path / "served.toml")

    announced: list[str] = []
    build = find_build("env A=1 sockperf {arguments} -v", campaign, {}, None, tmp_path, announced.append)
    replaced = apply_template(campaign, build, 3)

    hint = "this changes each process that runs sockperf; to change only one of them, compare two campaigns, as in tacholog ab old.toml new.toml"
    assert announced == [f"env A=1 sockperf {{arguments}} -v: {hint}"]

    assert [process.command for process in replaced.runs[0].processes] == [
        ("sleep", "300"),
        ("env", "A=1", "sockperf", "server", "-v"),
        ("env", "A=1", "sockperf", "ping-pong", "-t", "1", "-v"),
    ]
    assert replaced.version_command == ("env", "A=1", "sockperf", "--version")


def test_measured_program_is_replaced_by_the_tool_that_the_command_template_names(tmp_path: Path) -> None:
    (tmp_path / "served.toml").write_text(SERVED)
    campaign = read_campaign(tmp_path / "served.toml")

    replaced = apply_template(campaign, find_build("env seq {arguments}", campaign, {}, None, tmp_path), 3)

    assert [process.command[:2] for process in replaced.runs[0].processes] == [("sleep", "300"), ("env", "seq"), ("env", "seq")]


def test_given_program_is_used_for_the_tool_with_the_same_file_name(tmp_path: Path) -> None:
    (tmp_path / "served.toml").write_text(SERVED)
    other = tmp_path / "bin" / "sockperf"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)

    build = find_build(str(other), read_campaign(tmp_path / "served.toml"), {}, None, tmp_path)

    assert build.tools == {"sockperf": other}


SEQ = 'system = "coreutils"\ntool = "seq"\nrepetitions = 1\n[[runs]]\nname = "{name}"\ncommand = ["seq", "{last}"]\n'


def test_two_campaigns_take_turns_and_each_uses_its_own_commands(tmp_path: Path) -> None:
    files = [tmp_path / "mine.toml", tmp_path / "mine-more.toml"]
    for file, last in zip(files, "12", strict=True):
        file.write_text(SEQ.format(name="s", last=last))

    ab(*files, "--pairs", "2", cwd=tmp_path)

    [folder] = (tmp_path / "build/runs").glob("ab-mine-to-mine-more-*")
    logs = {path.relative_to(folder).parts[0]: path.read_text() for path in folder.rglob("perftest.log")}
    assert logs == {"old": "1\n", "new": "1\n2\n"}
    assert [{side for side, _ in runs_in_order(folder)[start : start + 2]} for start in (0, 2)] == [{"old", "new"}] * 2
    assert (read_record(folder).old.name, read_record(folder).new.name) == ("mine", "mine-more")
    more = ab(*files, "--pairs", "3", "--resume", cwd=tmp_path)
    assert len(runs_in_order(folder)) == 6, more.stderr
    files[1].write_text(SEQ.format(name="s", last=3))
    assert "was started with different content" in ab(*files, "--pairs", "4", "--resume", cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a.toml", "b.toml"], "the variants of both sides need the same names to make pairs; only the old side has s"),
        (["a.toml", "b.toml", "a.toml"], "a.toml and b.toml are campaigns, so a.toml cannot be one too: leave it out"),
        (["a.toml", "seq"], "a.toml is a campaign: compare two campaigns, or two programs followed by the campaign"),
    ],
)
def test_campaigns_that_cannot_be_compared_are_refused_before_any_run(tmp_path: Path, words: list[str], message: str) -> None:
    for file, name in (("a.toml", "s"), ("b.toml", "t")):
        (tmp_path / file).write_text(SEQ.format(name=name, last=1))

    done = ab(*words, cwd=tmp_path)

    assert done.returncode == 2
    assert message in done.stderr
    assert not list(tmp_path.rglob("run.toml"))


TWO_SIZES = """
system = "Tacholog perftest"
tool = "perftest"
version_command = ["perftest", "--version"]
format = "native"
repetitions = 1
seed = 3

[[runs]]
name = "size-{sizes_bytes}"
command = ["perftest", "--test", "latency", "--transport", "mock", "--role", "both", "--sizes", "{sizes_bytes}", "--duration", "{duration_s}",
           "--warmup", "0.02", "--set", "faults=hold=1000us", "--cpu-pub", "{cpu_pub}", "--cpu-sub", "{cpu_sub}", "--output", "-"]
vary.sizes_bytes = [64, 1024]
options = { duration_s = 1, warmup_s = 0.02 }
conditions = { transport = "mock", load_mode = "closed", payload_touched = "write+read", publishers = 1, subscribers = 1 }
"""


def recorded(folder: Path, perftest: Path) -> tuple[Path, Path]:
    """Return the paths of two programs, the old and the new perftest. Both programs measure nothing, but print recorded logs.

    In the logs for messages of 64 bytes, the new latency is a hundred times the old latency. The logs for 1024 bytes are the same on both sides.
    """
    for name, size, hold_us in (("old-64", 64, 100), ("new-64", 64, 10_000), ("old-1024", 1024, 100)):
        words = ["--test", "latency", "--transport", "mock", "--sizes", str(size), "--duration", "1", "--warmup", "0.02"]
        done = subprocess.run([perftest, *words, "--set", f"faults=hold={hold_us}us", "--output", "-"], capture_output=True, check=True)
        (folder / f"{name}.log").write_bytes(done.stdout)
    shutil.copy(folder / "old-1024.log", folder / "new-1024.log")
    programs = folder / "old" / "perftest", folder / "new" / "perftest"
    for program in programs:
        program.parent.mkdir()
        log = f'"{program.parent}-$(echo "$*" | grep -o "1024\\|64" | head -n 1).log"'
        program.write_text(f'#!/bin/sh\ntest "$1" = --version && exec "{perftest}" --version\nexec cat {log}\n')
        program.chmod(0o755)
    return programs


KNOWN = """
[[known]]
metric = "latency"
payload_bytes = {size}
reason = "locks are robust now"
issue = 12
until = 9999-12-31
"""


def confirmations(folder: Path) -> list[Path]:
    return sorted(only_folder(folder).glob("confirmation-*Z"))


@pytest.mark.core
def test_confirmation_uses_only_new_pairs_of_the_variants_with_a_change(tmp_path: Path, perftest: Path) -> None:
    (old, new), file = recorded(tmp_path, perftest), campaign(tmp_path, TWO_SIZES)

    plan = ab(old, new, file, "--pairs", "6", "--confirm", "--plan", cwd=tmp_path)
    done = ab(old, new, file, "--pairs", "6", "--confirm", "--across", "settings", "--format", "json", "--fail-on", "worse", cwd=tmp_path)

    words = "With --confirm, the variants of rows that look worse or better are measured again in 6 new pairs: at most 24 more runs, about"
    assert words in plan.stderr
    report = json.loads(done.stdout)
    (row,) = [row for row in report["rows"] if row["verdict"] == "worse"]
    assert row["first_look"]["confirmed"]
    (folder,) = confirmations(tmp_path)
    assert {path.parent.name for path in folder.glob("*/*/01")} == {"size-64"}
    first, again = (runs_in_order(part) for part in (only_folder(tmp_path) / "old", folder))
    assert [run.order_index for _, run in again] == list(range(1, 13))
    assert len({run.session for _, run in (*first, *again)}) == 2
    assert len(row["old"]["values"]) == 6
    assert done.returncode == 3


@pytest.mark.core
def test_interrupted_confirmation_is_continued_and_does_not_measure_the_first_pairs_again(tmp_path: Path, perftest: Path) -> None:
    (old, new), file = recorded(tmp_path, perftest), campaign(tmp_path, TWO_SIZES)
    ab(old, new, file, "--pairs", "6", "--confirm", "--across", "settings", cwd=tmp_path)
    (folder,) = confirmations(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in only_folder(tmp_path).rglob("run.toml")}
    shutil.rmtree(folder / "new/size-64/06")

    done = ab(old, new, file, "--resume", "--confirm", "--across", "settings", cwd=tmp_path)
    again = ab(old, new, file, "--resume", "--confirm", "--across", "settings", cwd=tmp_path)

    after = {path: path.stat().st_mtime_ns for path in only_folder(tmp_path).rglob("run.toml")}
    assert confirmations(tmp_path) == [folder]
    changed = {path.relative_to(folder) for path in before if before[path] != after.get(path)}
    assert changed == {Path("old/size-64/06/run.toml"), Path("new/size-64/06/run.toml")}  # Both runs of a pair are measured again.
    assert [event.what for event in read_record(folder).events] == ["resumed"]
    assert done.stderr.count("size-64/06: ok") == 2
    assert "First look: " in done.stdout
    assert again.stdout == done.stdout


@pytest.mark.core
def test_known_regression_does_not_fail_the_comparison_even_if_new_pairs_confirm_it(tmp_path: Path, perftest: Path) -> None:
    (old, new), file = recorded(tmp_path, perftest), campaign(tmp_path, TWO_SIZES)

    def code_and_row(size: int, *words: str) -> tuple[int, dict[str, Any]]:
        """Compare with a file of known regressions that lists ``size`` bytes. Return the exit code, and the only row with the verdict "worse"."""
        (tmp_path / "slower.toml").write_text(KNOWN.format(size=size))
        options = ("--known", "slower.toml", "--pairs", "6", "--across", "settings", "--format", "json", "--fail-on", "worse")
        done = ab(old, new, file, *options, *words, cwd=tmp_path)
        (row,) = [row for row in json.loads(done.stdout)["rows"] if row["verdict"] == "worse"]
        return done.returncode, row

    first, row = code_and_row(64)
    assert (first, row["acknowledgement"]["state"]) == (0, "acknowledged")

    again, row = code_and_row(64, "--resume", "--confirm")
    assert (again, row["acknowledgement"]["state"], row["first_look"]["confirmed"]) == (0, "acknowledged", True)

    assert code_and_row(1024, "--resume", "--confirm")[0] == 3  # The file lists 1024 bytes, but 64 bytes are worse.


@pytest.mark.core
def test_option_confirm_cannot_be_used_with_the_option_release(tmp_path: Path, perftest: Path) -> None:
    done = ab(perftest, perftest, campaign(tmp_path), "--confirm", "--release", "1", "2", cwd=tmp_path)

    assert done.returncode == 2
    assert "--confirm cannot be used with --release" in done.stderr
