"""`tacholog bench` with real programs: the files of a campaign, and failed runs."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest
from tests.command import CLOCK_FILE, run_tacholog_text
from tests.waiting import LIMIT_S, gone, until

from tacholog.campaign.pairs import pairs_folder
from tacholog.errors import UnreadableInput
from tacholog.runs.manifest import Manifest, read_host, read_manifest, write

HEAD = 'system = "coreutils"\ntool = "seq"\nversion_command = ["seq", "--version"]\nlog = "seq.log"\nrepetitions = 2\n'
GOOD = '[[runs]]\nname = "to-{last}"\ncommand = ["seq", "{last}"]\nvary.last = [3, 5]\nconditions.transport = "pipe"\n'
# Shell commands that advance the clock of the harness by 1000 seconds. They start in the folder of the run, build/runs/small-*/hangs/01.
LATER = "cd ../../../../..; echo $(($(cat clock 2>/dev/null || echo 0) + 1000)) > new; mv new clock; wait"
HANGS = f'[[runs]]\nname = "hangs"\ncommand = ["sh", "-c", "echo begun; trap \'\' TERM; sleep 300 & echo $! > child; {LATER}"]\ndeadline_s = 3\n'


def bench(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_tacholog_text("bench", "--no-control", *arguments, cwd=cwd)


def campaign(folder: Path, text: str) -> Path:
    path = folder / "small.toml"
    path.write_text(HEAD + text)
    return path


def only_folder(output: Path) -> Path:
    [folder] = output.glob("small-*")
    return folder


def manifests(folder: Path) -> dict[str, Manifest]:
    return {str(path.parent.relative_to(folder)): read_manifest(path) for path in sorted(folder.rglob("run.toml"))}


# The first run measures nothing: it prints a log of perftest. According to this log, the sustained rate is 1861.9 messages of 64 bytes per second.
HALF = """
[[runs]]
name = "sustain"
command = ["cat", "{log}"]
options = {{ log = "LOG" }}
repetitions = 1
[[runs]]
name = "half-{{sizes_bytes}}"
command = ["sh", "-c", "seq 3; echo --rate %rate%"]
vary.sizes_bytes = [64, 128]
sustained = {{ run = "sustain", share = 0.5 }}
""".replace("{{", "{").replace("}}", "}")


def test_run_can_use_half_of_the_sustained_rate_that_an_earlier_run_found(tmp_path: Path, checkout: Path) -> None:
    log = checkout / "tests/formats/native/sustain-mock.log"

    done = bench(campaign(tmp_path, HALF.replace("LOG", str(log))), "--output", "out", cwd=tmp_path)

    folder = only_folder(tmp_path / "out")
    runs = manifests(folder)
    assert runs["half-64/01"].options == runs["half-64/02"].options == {"sizes_bytes": 64, "rate_per_s": 930}
    assert [runs[name].conditions.load_share for name in ("half-64/01", "half-64/02", "half-128/01", "sustain/01")] == [0.5, 0.5, None, None]
    assert runs["half-64/02"].commands[0].argv[-1] == "seq 3; echo --rate 930"
    assert (folder / "half-64/02/seq.log").read_text().endswith("--rate 930\n")
    assert (runs["half-128/01"].status, runs["half-128/01"].reason) == ("failed", "sustain found no rate for messages of 128 bytes")
    assert done.returncode == 1


def test_folder_of_each_run_has_a_manifest_and_the_unchanged_log(tmp_path: Path) -> None:
    done = bench(campaign(tmp_path, GOOD), "--output", "out", cwd=tmp_path)

    assert done.returncode == 0
    assert f"4 of 4 runs are good: {only_folder(tmp_path / 'out').relative_to(tmp_path)}" in done.stdout.splitlines()
    runs = manifests(only_folder(tmp_path / "out"))
    assert sorted(runs) == ["to-3/01", "to-3/02", "to-5/01", "to-5/02"]
    run = runs["to-3/02"]
    assert (run.status, run.repetition, run.campaign, run.conditions.transport) == ("ok", 2, "small", "pipe")
    assert run.commands[0].argv == ("seq", "3")
    assert run.options == {"last": 3}
    log = only_folder(tmp_path / "out") / "to-3/02/seq.log"
    assert log.read_text() == "1\n2\n3\n"
    assert run.logs[0].sha256 == hashlib.sha256(b"1\n2\n3\n").hexdigest()
    assert "load1_before" in run.environment
    assert "load1_after" in run.environment
    assert run.environment["program_sha256"] == hashlib.sha256(Path(shutil.which("seq") or "").read_bytes()).hexdigest()


def test_description_of_the_host_is_stored_with_the_runs_under_a_pseudonym(tmp_path: Path) -> None:
    bench(campaign(tmp_path, GOOD), cwd=tmp_path)

    folder = only_folder(tmp_path / "build/runs")
    run = next(iter(manifests(folder).values()))
    assert run.host is not None
    assert read_host(folder / "hosts" / f"{run.host}.toml").source == "read by tacholog host"
    assert os.uname().nodename not in (folder / "plan.toml").read_text()


def test_stored_files_contain_no_path_of_this_machine(tmp_path: Path) -> None:
    bench(campaign(tmp_path, GOOD), cwd=tmp_path)

    kept = [path.read_text() for path in only_folder(tmp_path / "build/runs").rglob("*.toml")]
    assert [text for text in kept if str(tmp_path) in text or "/usr/" in text] == []


def test_order_and_seed_are_recorded(tmp_path: Path) -> None:
    bench(campaign(tmp_path, "seed = 11\n" + GOOD), cwd=tmp_path)

    folder = only_folder(tmp_path / "build/runs")
    planned = tomllib.loads((folder / "plan.toml").read_text())
    runs = manifests(folder)
    assert planned["seed"] == 11
    assert {run.seed for run in runs.values()} == {11}
    assert [run["folder"] for run in planned["runs"]] == sorted(runs, key=lambda name: runs[name].order_index or 0)


def test_hanging_program_and_its_child_processes_are_stopped_and_the_run_is_failed(tmp_path: Path) -> None:
    clock = {CLOCK_FILE: str(tmp_path / "clock")}
    done = run_tacholog_text("bench", "--no-control", campaign(tmp_path, GOOD + HANGS), cwd=tmp_path, environment=clock)

    folder = only_folder(tmp_path / "build/runs")
    run = manifests(folder)["hangs/01"]
    assert (run.status, run.reason) == ("failed", "stopped by the harness: not done within its deadline of 3 s")
    assert (folder / "hangs/01/seq.log").read_text() == "begun\n"
    assert gone(int((folder / "hangs/01/child").read_text()))
    assert "4 of 6 runs are good" in done.stdout
    assert "hangs/01: failed" in done.stderr


@pytest.mark.parametrize(
    ("command", "status", "reason"),
    [
        ('["sh", "-c", "echo 1; echo no such device >&2; exit 3"]', "failed", "exit code 3; it printed: no such device"),
        ('["sh", "-c", "kill -SEGV $$"]', "failed", "killed by SIGSEGV"),
        ('["true"]', "empty", "the program printed nothing"),
    ],
    ids=["exit code", "crash", "silence"],
)
def test_failed_run_is_kept_and_states_why_it_failed(tmp_path: Path, command: str, status: str, reason: str) -> None:
    done = bench(campaign(tmp_path, f'[[runs]]\nname = "bad"\ncommand = {command}\n'), cwd=tmp_path)

    run = manifests(only_folder(tmp_path / "build/runs"))["bad/01"]
    assert (run.status, run.reason) == (status, reason)
    assert done.returncode == 1
    assert f"0 of 2 runs are good: {only_folder(tmp_path / 'build/runs').relative_to(tmp_path)}" in done.stdout.splitlines()
    assert f"bad/02: {status}, " in done.stderr
    assert reason in done.stderr


def interrupted(tmp_path: Path, with_signal: signal.Signals) -> tuple[Path, int, str]:
    """Interrupt a campaign during its slow run. Return its folder, its exit code and its messages."""
    slow = '[[runs]]\nname = "slow"\ncommand = ["sh", "-c", "echo $$ > pid; test -e ../../go || sleep 1000; echo done"]\ndeadline_s = 500\n'
    file = campaign(tmp_path, "seed = 1\n" + GOOD + slow)
    command = [sys.executable, "-m", "tacholog", "bench", "--no-control", str(file), "--output", "out"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        until(lambda: list(tmp_path.glob("out/*/slow/*/pid")), "the slow run began")
        [pid] = tmp_path.glob("out/*/slow/*/pid")
        until(lambda: pid.read_text().strip(), "the slow run wrote its process id")
        process.send_signal(with_signal)
        messages = process.communicate(timeout=LIMIT_S)[1]
    until(lambda: gone(int(pid.read_text())), "the slow run ended")
    return only_folder(tmp_path / "out"), process.returncode, messages


@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["ctrl-c", "terminated", "closed"])
def test_interrupted_campaign_states_how_to_continue(tmp_path: Path, with_signal: signal.Signals) -> None:
    folder, code, messages = interrupted(tmp_path, with_signal)

    assert code == 128 + with_signal
    assert f"tacholog bench --resume {folder.relative_to(tmp_path)}" in messages
    assert "slow/01" not in manifests(folder)


def test_resumed_campaign_does_the_remaining_runs_and_keeps_the_finished_runs(tmp_path: Path) -> None:
    folder, _, _ = interrupted(tmp_path, signal.SIGINT)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("run.toml")}
    (folder / "go").write_text("")

    bench(tmp_path / "small.toml", "--output", "out", "--resume", cwd=tmp_path)

    assert len(manifests(folder)) == 6
    assert {path: path.stat().st_mtime_ns for path in before} == before
    runs = manifests(folder)
    assert [run.order_index for run in sorted(runs.values(), key=lambda run: run.order_index or 0)] == [1, 2, 3, 4, 5, 6]
    repeated = "Measured again from the start: the first try was interrupted, or others used too much of the machine."
    assert [repeated in run.notes for run in runs.values()].count(True) == 1


def test_running_campaign_cannot_be_resumed_at_the_same_time(tmp_path: Path) -> None:
    bench(campaign(tmp_path, GOOD), cwd=tmp_path)
    folder = only_folder(tmp_path / "build/runs")
    shutil.rmtree(folder / "to-3")
    held = os.open(folder, os.O_RDONLY)  # The lock that the measuring harness holds.
    fcntl.flock(held, fcntl.LOCK_EX)

    done = bench(folder, "--resume", cwd=tmp_path)
    os.close(held)

    assert done.returncode == 2
    assert done.stderr.endswith("this campaign is being measured already, by another process\n")
    assert not (folder / "to-3").exists()


def test_finished_campaign_has_nothing_to_resume(tmp_path: Path) -> None:
    file = campaign(tmp_path, GOOD)
    bench(file, cwd=tmp_path)

    done = bench(file, "--resume", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (2, "tacholog: nothing to resume: there is no unfinished campaign small under build/runs\n")


def test_release_of_a_started_campaign_cannot_be_changed(tmp_path: Path) -> None:
    bench(campaign(tmp_path, GOOD), cwd=tmp_path)

    done = bench(only_folder(tmp_path / "build/runs"), "--resume", "--release", "2.0", cwd=tmp_path)

    assert done.returncode == 2
    assert "--resume continues a campaign, and always uses the release of its start; leave out --release" in done.stderr


def test_campaign_is_not_continued_with_another_build(tmp_path: Path) -> None:
    tool = tmp_path / "count"
    shutil.copy(shutil.which("seq") or "", tool)
    text = f'[[runs]]\nname = "count"\ncommand = ["{tool}", "3"]\n'
    bench(campaign(tmp_path, text), cwd=tmp_path)
    shutil.copy(shutil.which("cat") or "", tool)

    done = bench(only_folder(tmp_path / "build/runs"), "--resume", cwd=tmp_path)

    assert done.returncode == 2
    assert "is not the build that this campaign was started with" in done.stderr


def test_last_lines_say_how_many_runs_began_on_a_busy_machine(tmp_path: Path) -> None:
    bench(campaign(tmp_path, GOOD), cwd=tmp_path)
    folder = only_folder(tmp_path / "build/runs")
    for load, run in zip(("15.10", "19.33", "0.1", "0.1"), sorted(folder.rglob("run.toml")), strict=True):
        manifest = read_manifest(run)
        facts = {name: text for name, text in manifest.environment.items() if name != "other_load_before"}
        write(run, msgspec.structs.replace(manifest, environment={**facts, "load1_before": load}))
    [host] = (folder / "hosts").iterdir()
    write(host, msgspec.structs.replace(read_host(host), cpu={"threads": "2"}))

    done = bench(folder, "--resume", cwd=tmp_path)

    assert "The machine was busy when 2 of 4 runs began: their numbers measure other programs too." in done.stdout


def test_release_is_copied_for_publication_with_the_description_of_its_host(tmp_path: Path) -> None:
    file = campaign(tmp_path, GOOD)
    bench(file, "--release", "9.5", cwd=tmp_path)

    kept = manifests(tmp_path / "data/seq/9.5")
    assert sorted(kept) == ["to-3/01", "to-3/02", "to-5/01", "to-5/02"]
    assert {run.release for run in kept.values()} == {"9.5"}
    assert (tmp_path / "data/hosts" / f"{kept['to-3/01'].host}.toml").is_file()

    again = bench(file, "--release", "9.5", cwd=tmp_path)
    assert again.returncode == 2
    assert "data/seq/9.5 exists already" in again.stderr


def test_release_has_a_folder_for_each_campaign_if_there_are_several(tmp_path: Path) -> None:
    first, second = (campaign(tmp_path, GOOD).rename(tmp_path / f"{name}.toml") for name in ("latency", "rate"))

    done = bench(first, second, "--release", "9.5", cwd=tmp_path)

    runs = [f"{name}/to-{last}/{repetition}" for name in ("latency", "rate") for last in (3, 5) for repetition in ("01", "02")]
    assert done.returncode == 0, done.stderr
    assert sorted(manifests(tmp_path / "data/seq/9.5")) == runs
    assert {run.release for run in manifests(tmp_path / "data/seq/9.5").values()} == {"9.5"}
    again = bench(first, second, "--release", "9.5", cwd=tmp_path)
    assert (again.returncode, "data/seq/9.5 exists already" in again.stderr) == (2, True)


@pytest.mark.parametrize("label", ["../../evil", "b c", "/", ".hidden", "a/b"])
def test_release_that_is_not_a_valid_folder_name_is_refused_before_any_run(tmp_path: Path, label: str) -> None:
    done = bench(campaign(tmp_path, GOOD), "--release", label, cwd=tmp_path)

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "letters, digits and . _ + - only" in done.stderr
    assert not (tmp_path / "build/runs").exists()


@pytest.mark.parametrize(("releases", "message"), [(("../evil", "b"), "letters, digits"), (("a", "a"), "need different labels")])
def test_releases_of_a_comparison_must_have_different_and_valid_folder_names(tmp_path: Path, releases: tuple[str, str], message: str) -> None:
    with pytest.raises(UnreadableInput, match=message):
        pairs_folder(tmp_path, "perftest", releases)


def test_message_names_the_path_given_for_perftest_if_no_program_is_there(tmp_path: Path) -> None:
    file = campaign(tmp_path, '[[runs]]\nname = "x"\ncommand = ["perftest"]\n')

    done = bench(file, "--perftest", "nowhere/perftest", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (2, "tacholog: nowhere/perftest: not an executable file\n")


@pytest.mark.core
def test_perftest_measures_and_its_log_is_complete(tmp_path: Path, perftest: Path) -> None:
    text = """
    [[runs]]
    name = "latency"
    command = ["perftest", "--test", "latency", "--transport", "inter-thread", "--role", "both", "--sizes", "16,64", "--duration", "0.1",
               "--warmup", "0.05", "--output", "-"]
    """
    done = bench(campaign(tmp_path, text.replace("    ", "")), "--perftest", perftest, cwd=tmp_path)

    assert "2 of 2 runs are good" in done.stdout
    folder = only_folder(tmp_path / "build/runs")
    log = (folder / "latency/01/seq.log").read_text().splitlines()
    assert log[0].startswith("perftest version=")
    assert log[-1].startswith("end status=ok latency=2")


def test_campaign_without_any_run_leaves_no_folder(tmp_path: Path) -> None:
    done = bench(campaign(tmp_path, '[[runs]]\nname = "x"\ncommand = ["no-such-tool"]\n'), cwd=tmp_path)

    assert done.returncode == 2
    assert not list(tmp_path.glob("build/runs/*"))


def test_all_runs_are_tried_before_the_exit_code_reports_a_failed_run(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(HEAD + GOOD)
    file = campaign(tmp_path, GOOD + '[[runs]]\nname = "bad"\ncommand = ["false"]\n')

    done = bench(file, tmp_path / "other.toml", cwd=tmp_path)

    assert done.returncode == 1
    assert "4 of 6 runs are good" in done.stdout
    assert "4 of 4 runs are good" in done.stdout


def test_program_that_cannot_be_started_is_a_failed_run(tmp_path: Path) -> None:
    tool = tmp_path / "no-program"
    tool.write_bytes(b"\x7fELF nothing")
    tool.chmod(0o755)

    bench(campaign(tmp_path, f'[[runs]]\nname = "bad"\ncommand = ["{tool}"]\n'), cwd=tmp_path)

    run = manifests(only_folder(tmp_path / "build/runs"))["bad/02"]
    assert (run.status, run.reason) == ("failed", "cannot be started: Exec format error")


def test_log_in_an_unknown_format_is_reported_directly_after_its_run(tmp_path: Path) -> None:
    done = bench(campaign(tmp_path, '[[runs]]\nname = "odd"\ncommand = ["echo", "nobody knows this"]\n'), cwd=tmp_path)

    assert done.returncode == 1
    assert "odd/01: not good, " in done.stderr
    assert "its log cannot be read: no format fits (tacholog parse shows more)" in done.stderr
    assert "0 of 2 runs are good" in done.stdout


def test_unknown_format_is_refused_before_any_run(tmp_path: Path) -> None:
    path = campaign(tmp_path, '[[runs]]\nname = "a"\ncommand = ["echo"]\n')
    path.write_text('format = "sockprf"\n' + path.read_text())

    commands: tuple[list[str | Path], ...] = (["bench", path], ["bench", "--plan", path], ["ab", "echo", "echo", path])
    for arguments in commands:
        done = run_tacholog_text(*arguments, cwd=tmp_path)

        assert (done.returncode, done.stdout) == (2, "")
        assert f"{path}: format: no format is called 'sockprf' (is sockperf meant?); there are: " in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_option_dry_run_is_a_synonym_of_plan(tmp_path: Path) -> None:
    path = campaign(tmp_path, '[[runs]]\nname = "a"\ncommand = ["echo"]\n')

    plan, dry_run = (bench(option, path, cwd=tmp_path) for option in ("--plan", "--dry-run"))

    assert (dry_run.returncode, dry_run.stdout) == (0, plan.stdout)


def test_folder_given_in_place_of_a_campaign_file_is_refused_with_advice(tmp_path: Path) -> None:
    path = campaign(tmp_path, '[[runs]]\nname = "a"\ncommand = ["echo", "x"]\n')
    bench(path, cwd=tmp_path)
    started = only_folder(tmp_path / "build/runs")

    for option in (["--plan"], []):
        done = bench(*option, started, cwd=tmp_path)

        assert done.returncode == 2
        assert "is the folder of a campaign that was started; --resume continues it" in done.stderr
    assert "is a folder: name the file of a campaign in it, such as " in bench("--plan", tmp_path, cwd=tmp_path).stderr


def test_message_about_an_error_in_a_block_of_runs_names_the_campaign_file(tmp_path: Path) -> None:
    path = campaign(tmp_path, '[[runs]]\nname = "a"\ncommand = ["echo", "{nothing}"]\n')

    commands: tuple[list[str | Path], ...] = (["bench", path], ["bench", "--plan", path], ["ab", "echo", "echo", path])
    for arguments in commands:
        done = run_tacholog_text(*arguments, cwd=tmp_path)

        assert (done.returncode, done.stderr.startswith(f"tacholog: {path}: ")) == (2, True), done.stderr
