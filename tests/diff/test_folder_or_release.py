"""The sides of a diff. If a folder and a release have the same name, the folder is used and a message states this."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from tests.command import run_tacholog_text

FORMATS = Path(__file__).parent.parent / "formats"
LOG = FORMATS / "iperf3" / "tcp.log"


def run(folder: Path, release: str) -> None:
    folder.mkdir(parents=True)
    shutil.copy(LOG, folder / "a.log")
    digest = hashlib.sha256(LOG.read_bytes()).hexdigest()
    (folder / "run.toml").write_text(f'system = "S"\nrelease = "{release}"\n\n[[logs]]\nfile = "a.log"\nsha256 = "{digest}"\n')


def test_folder_with_the_name_of_a_release_is_reported(tmp_path: Path) -> None:
    for release in ("a", "b"):
        run(tmp_path / "data" / release, release)
    run(tmp_path / "b" / "1", "other")

    hidden = run_tacholog_text("diff", "a", "b", "--data", "data", cwd=tmp_path)
    plain = run_tacholog_text("diff", "a", "./b", "--data", "data", cwd=tmp_path)

    words = "b: this is read as the folder ./b, not as the release b in data; write ./b for the folder, or call the command from another folder"
    assert words in hidden.stderr
    assert "this is read as" not in plain.stderr


def test_shell_completion_of_an_option_value_prints_the_values(tmp_path: Path) -> None:
    asked = {"_TACHOLOG_COMPLETE": "bash_complete", "COMP_WORDS": "tacholog diff 1.0 1.1 --format ", "COMP_CWORD": "5"}

    done = run_tacholog_text(cwd=tmp_path, environment=asked)

    assert "Traceback" not in done.stderr
    assert done.stdout.split() == ["plain,text", "plain,markdown", "plain,json", "plain,html", "plain,github", "plain,comment"]


def test_side_can_be_several_logs_named_one_by_one_or_by_a_pattern(tmp_path: Path) -> None:
    """Each real log of sockperf is a run of its side. A run.toml next to the logs is not a log."""
    for name in ("monday", "tuesday"):
        (tmp_path / name / "deep").mkdir(parents=True)
        for number, log in enumerate(("ping-pong-udp.log", "throughput-udp.log")):
            (tmp_path / name / ("deep" if number else "") / log).write_bytes((FORMATS / "sockperf" / log).read_bytes())
        (tmp_path / name / "run.toml").write_text("system = 5\n")
    first = tmp_path / "monday/ping-pong-udp.log"

    by_pattern = run_tacholog_text("diff", "--old", "monday/**", "--new", f"{tmp_path}/tuesday/**/*.log", "--format", "json", cwd=tmp_path)
    by_name = run_tacholog_text(
        "diff", "--old", first, "--old", "monday/deep/*", "--old", first, "--new", "tuesday/**", "--format", "json", cwd=tmp_path
    )

    assert (by_pattern.returncode, by_pattern.stderr) == (4, "")  # Exit code 4: one run of each row and side is not enough for a test.
    reports = [json.loads(done.stdout) for done in (by_pattern, by_name)]
    assert [report[side]["runs"] for report in reports for side in ("old", "new")] == [2, 2, 2, 2]
    assert len(reports[0]["rows"]) == len(reports[1]["rows"]) > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--old", "a*.log", "--new", "b.log"], "tacholog: --old a*.log: no such file\n"),
        (["--old", ".", "--new", "b.log"], "tacholog: --old .: it is a folder; its logs are './**'\n"),
        (["--old", "a.log"], "Error: two sides are needed: OLD and NEW, or --old LOGS and --new LOGS\n"),
        (["1.0"], "Error: two sides are needed: OLD and NEW, or --old LOGS and --new LOGS\n"),
        (["a2.log", "--old", "a1.log", "--new", "b.log"], "Put a pattern in quotes, so that the shell does not expand it: --old 'monday/*.log'\n"),
    ],
)
def test_incomplete_or_missing_side_is_reported_with_advice(words: list[str], message: str, tmp_path: Path) -> None:
    done = run_tacholog_text("diff", *words, cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr.endswith(message)
