"""Errors in a campaign are reported before any run, and a plan runs nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.command import run_tacholog_text

TEXT = 'system = "{system}"\ntool = "seq"\nlog = "seq.log"\nrepetitions = 1\n[[runs]]\nname = "{name}"\ncommand = ["seq", "3"]\n'


def bench(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_tacholog_text("bench", "--no-control", *arguments, cwd=cwd)


def write_file(folder: Path, file: str, text: str) -> Path:
    (folder / file).write_text(text)
    return folder / file


@pytest.mark.parametrize("plan", [[], ["--plan"]])
def test_two_campaigns_with_the_same_tool_and_name_are_refused_before_the_first_run(tmp_path: Path, plan: list[str]) -> None:
    (tmp_path / "other").mkdir()
    files = [write_file(folder, "a.toml", TEXT.format(system="S", name="a")) for folder in (tmp_path, tmp_path / "other")]

    done = bench(*files, *plan, "--release", "2.0", cwd=tmp_path)

    assert done.returncode == 2
    assert "other/a.toml have the same name, so both would be copied to data/seq/2.0/a; rename one" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.toml", "other"]


def test_existing_release_is_refused_before_any_run(tmp_path: Path) -> None:
    first = write_file(tmp_path, "a.toml", TEXT.format(system="S", name="a"))
    second = write_file(tmp_path, "b.toml", TEXT.format(system="S", name="b").replace('"seq"\nlog', '"other"\nlog'))
    (tmp_path / "data" / "other" / "2.0").mkdir(parents=True)

    done = bench(first, second, "--release", "2.0", cwd=tmp_path)

    assert done.returncode == 2
    assert "data/other/2.0 exists already" in done.stderr
    assert not (tmp_path / "build").exists()


@pytest.mark.parametrize("command", [["bench"], ["ab", "tool.sh", "tool.sh"]])
def test_plan_runs_no_command_of_the_campaign_and_states_which_command_it_would_run(tmp_path: Path, command: list[str]) -> None:
    tool = write_file(tmp_path, "tool.sh", "#!/bin/sh\ntouch ran\necho 1.2.3\n")
    tool.chmod(0o755)
    asked = 'version_command = ["./tool.sh", "--version"]\nonly_if_listed = { by = ["./tool.sh", "list"], name = "{kind}" }\n'
    block = '[[runs]]\nname = "{kind}"\ncommand = ["./tool.sh", "3"]\nvary.kind = ["a", "b"]\n'
    path = write_file(tmp_path, "c.toml", f'system = "S"\ntool = "t"\nlog = "seq.log"\nrepetitions = 1\n{asked}{block}')

    done = run_tacholog_text(*command, path, "--plan", "--no-control", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "ran").exists()
    said = done.stdout if command == ["bench"] else done.stderr
    assert "what `./tool.sh --version` prints at the start" in said
    assert "There are fewer if `./tool.sh list`, which runs at the start, does not list all of them." in said


@pytest.mark.parametrize("plan", [[], ["--plan"]])
@pytest.mark.parametrize("kind", ["run", "process"])
def test_name_of_a_run_or_process_that_is_no_valid_file_name_is_refused_before_any_run(tmp_path: Path, plan: list[str], kind: str) -> None:
    long = "x" * 300
    process = f'[[runs.processes]]\nname = "{long}"\nrole = "client"\ncommand = ["seq", "3"]\n'
    block = f'[[runs]]\nname = "{long}"\ncommand = ["seq", "3"]\n' if kind == "run" else f'[[runs]]\nname = "a"\n{process}'
    path = write_file(tmp_path, "c.toml", f'system = "S"\ntool = "seq"\nlog = "seq.log"\nrepetitions = 1\n{block}')

    done = bench(path, *plan, cwd=tmp_path)

    assert done.returncode == 2
    reason = (
        "the name of a run has more than 200 bytes, so no folder can have it: xxx"
        if kind == "run"
        else "a name may have at most 64 characters, only letters, digits and . _ + -"
    )
    assert reason in done.stderr
    assert not (tmp_path / "build" / "runs").exists() or not list((tmp_path / "build" / "runs").rglob("run.toml"))


STAND_IN = """#!/bin/sh
case $1 in
  ab) mkdir -p build/runs/pairs && : > build/runs/pairs/ab.toml && echo diff; exit 4 ;;
  require) shift; echo "$@"; exit 3 ;;
esac
"""


@pytest.mark.parametrize("has_requirements", [True, False])
def test_ci_script_in_the_docs_writes_its_comment_before_the_job_fails(tmp_path: Path, *, has_requirements: bool) -> None:
    docs = (Path(__file__).parent.parent.parent / "docs" / "ci.md").read_text()
    recipe = docs.partition("```sh\n")[2].partition("```")[0]
    write_file(tmp_path, "tacholog", STAND_IN).chmod(0o755)
    if has_requirements:
        write_file(tmp_path, "requirements.toml", "")
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "BASE": "a", "HEAD": "b"}

    done = subprocess.run(["bash", "-e", "-c", recipe], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    said = "build/runs/pairs/new --than build/runs/pairs/old --fail-on failed --format markdown\n" if has_requirements else ""
    assert (tmp_path / "comment.md").read_text() == f"{said}diff\n", done.stderr
    assert done.returncode == (3 if has_requirements else 0)


@pytest.mark.parametrize("more", ["repetitions = 1000000000", "expected_s = nan", "expected_s = inf", "vary = { a = %s, b = %s, c = %s }"])
def test_campaign_with_too_many_runs_or_without_a_duration_is_refused(tmp_path: Path, more: str) -> None:
    text = TEXT.format(system="S", name="a")
    text = text.replace("repetitions = 1", more) if more.startswith("repetitions") else text + more.replace("%s", str([*range(100)])) + "\n"

    done = bench(write_file(tmp_path, "a.toml", text), "--plan", cwd=tmp_path)

    assert done.returncode == 2
    assert "more than 100,000 runs" in done.stderr or "`$.runs[0].expected_s`" in done.stderr
    assert "Traceback" not in done.stderr
