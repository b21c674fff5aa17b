"""Shell completion and project files for frequent users of ``tacholog``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import run_tacholog_text
from tests.left_out import leave_out
from tests.questions.datasets import run
from tests.waiting import LIMIT_S

from tacholog.cli import COMMANDS

ROOT = Path(__file__).resolve().parent.parent


def completed(words: str, cwd: Path, shell: str = "bash") -> list[str]:
    """Return the completions that a shell gets for an unfinished command line. They are requested in the same way as the shell requests them."""
    count = len(words.split(" ")) - 1
    last = words.rpartition(" ")[2]
    asked = {
        "_TACHOLOG_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": words.rpartition(" ")[0] if shell == "fish" else words,
        "COMP_CWORD": last if shell == "fish" else str(count),
    }
    done = run_tacholog_text(cwd=cwd, environment=asked)
    assert done.stderr == ""
    return done.stdout.split("\n") if shell == "zsh" else done.stdout.split()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    run(tmp_path / "perf", "a", 10.0, release="1.0")
    run(tmp_path / "perf", "b", 11.0, release="2.0-rc1")
    (tmp_path / "tacholog.toml").write_text('data = "perf"\noutput = "pages"\n')
    return tmp_path


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("tacholog req", "require"),
        ("tacholog diff 1.0 2.0-rc1 --format js", "json"),
        ("tacholog table --format mark", "markdown"),
        ("tacholog parse --as sock", "sockperf"),
        ("tacholog diff 1", "1.0"),
        ("tacholog diff 1.0 2", "2.0-rc1"),
        ("tacholog diff --format json 1.0 2", "2.0-rc1"),
        ("tacholog require 2", "2.0-rc1"),
    ],
)
def test_shell_completes_each_kind_of_word(words: str, offered: str, shell: str, project: Path) -> None:
    assert any(offered in each for each in completed(words, project, shell))


def test_completion_line_in_the_docs_works_in_bash(project: Path) -> None:
    script = (
        'eval "$(_TACHOLOG_COMPLETE=bash_source tacholog)"; COMP_WORDS=(tacholog diff 1.0 2); COMP_CWORD=3; '
        '_tacholog_completion tacholog; echo "${COMPREPLY[@]}"'
    )
    program = project / "bin" / "tacholog"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tacholog "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "parsers"), "PATH": f"{program.parent}:{os.environ['PATH']}"}

    done = subprocess.run(["bash", "-c", script], cwd=project, capture_output=True, text=True, timeout=LIMIT_S, check=False, env=environment)

    assert done.stdout == "2.0-rc1\n", done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_line_in_the_docs_is_valid_in_other_shells(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell) or leave_out(f"{shell} is not installed")
    done = run_tacholog_text(cwd=tmp_path, environment={"_TACHOLOG_COMPLETE": f"{shell}_source"})

    checked = subprocess.run([program, "-n"], input=done.stdout, capture_output=True, text=True, timeout=LIMIT_S, check=False)

    assert (checked.returncode, checked.stderr) == (0, "")


def test_project_has_its_defaults_in_a_file(project: Path) -> None:
    compared = run_tacholog_text("diff", "1.0", "2.0-rc1", cwd=project)
    reported = run_tacholog_text("report", cwd=project)

    assert "1.0" in compared.stdout
    assert reported.returncode == 0, reported.stderr
    assert (project / "pages" / "index.html").is_file()


def test_python_project_has_its_defaults_in_its_own_file(project: Path) -> None:
    (project / "tacholog.toml").unlink()
    (project / "pyproject.toml").write_text('[project]\nname = "x"\n\n[tool.tacholog]\ndata = ["perf"]\n')

    assert run_tacholog_text("table", "--subject", "release", cwd=project).stdout.startswith("Median latency of each release")


def test_unknown_key_in_a_file_of_defaults_is_refused_and_the_file_is_named(project: Path) -> None:
    (project / "tacholog.toml").write_text('dat = "perf"\n')

    done = run_tacholog_text("diff", "1.0", "2.0-rc1", cwd=project)

    assert (done.returncode, done.stderr) == (2, "tacholog: tacholog.toml: Object contains unknown field `dat` (is data meant?)\n")


def test_help_is_also_a_command(tmp_path: Path) -> None:
    assert run_tacholog_text("help", "diff", cwd=tmp_path).stdout == run_tacholog_text("diff", "--help", cwd=tmp_path).stdout
    assert run_tacholog_text("help", cwd=tmp_path).stdout == run_tacholog_text("--help", cwd=tmp_path).stdout
    assert run_tacholog_text("-V", cwd=tmp_path).stdout == run_tacholog_text("--version", cwd=tmp_path).stdout


def test_quiet_prints_results_and_errors_only_and_verbose_names_the_logs_that_are_read(project: Path) -> None:
    verbose, usual, quiet = (run_tacholog_text("check", "perf", *words, cwd=project) for words in (["--verbose"], [], ["-q"]))
    wrong = run_tacholog_text("check", "nowhere", "-q", cwd=project)

    assert usual.stderr.startswith("2 runs, ")
    assert (quiet.stdout, quiet.stderr) == (usual.stdout, "")
    assert verbose.stderr.splitlines() == ["reading a/client.log", "reading b/client.log", *usual.stderr.splitlines()]
    assert "nowhere: no such folder" in wrong.stderr


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("sustain", "cache", "host")])
def test_quiet_and_verbose_have_the_same_meaning_for_each_command(command: str) -> None:
    text = run_tacholog_text(command, "--help").stdout

    assert "-q, --quiet" in text
    assert "-v, --verbose" in text
    assert text.count("--verbose ") == 1
