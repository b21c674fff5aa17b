"""The workflow that measures pull requests: the code of strangers that it runs, and the files that it writes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.left_out import leave_out

FILE = ".github/workflows/performance.yml"


@pytest.fixture
def text(checkout: Path) -> str:
    return (checkout / FILE).read_text(encoding="utf-8")


@pytest.fixture
def jobs(text: str) -> dict[str, Any]:
    return dict(yaml.safe_load(text)["jobs"])


def test_actions_are_pinned_by_a_commit_with_their_version_in_a_comment(text: str) -> None:
    used = re.findall(r"uses: (.*)", text)

    assert len(used) == 5
    assert [one for one in used if not re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)] == []


def test_job_that_runs_code_of_strangers_cannot_write_and_the_job_that_writes_runs_no_such_code(text: str, jobs: dict[str, Any]) -> None:
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    assert "permissions" not in jobs["measure"]
    assert jobs["comment"]["permissions"] == {"pull-requests": "write"}
    assert not [step for step in jobs["comment"]["steps"] if "checkout" in step.get("uses", "")]
    assert "github.event.pull_request.head.repo.full_name == github.repository" in jobs["comment"]["if"]


def test_code_of_strangers_gets_no_secret_and_its_text_never_becomes_part_of_a_command(text: str, jobs: dict[str, Any]) -> None:
    (checkout,) = [step for step in jobs["measure"]["steps"] if "checkout" in step.get("uses", "")]
    steps = [step for job in jobs.values() for step in job["steps"]]

    assert [*yaml.safe_load(text)[True]] == ["pull_request"]  # YAML 1.1 reads the key "on" as true. pull_request_target would have too many rights.
    assert "secrets." not in text
    assert "github.token" not in str(jobs["measure"])
    assert checkout["with"]["persist-credentials"] is False
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []


GH = """#!/bin/sh
# Stands for the program of GitHub: it lists the comments of COMMENTS, filters them as it is asked to, and notes what is written.
case "$*" in
  *--paginate*) for last; do :; done; jq -r "$last" "$COMMENTS" ;;
  *) echo "$*" >> "$CALLS" ;;
esac
"""


@pytest.mark.parametrize(
    ("comments", "call"),
    [
        ([], "pr comment 7 --repo o/r --body-file all.md"),
        ([(3, "github-actions[bot]", "Coverage: 80 %")], "pr comment 7 --repo o/r --body-file all.md"),
        ([(4, "somebody", "<!-- tacholog: performance -->\nmine")], "pr comment 7 --repo o/r --body-file all.md"),
        (
            [(5, "github-actions[bot]", "<!-- tacholog: performance -->\nold"), (6, "github-actions[bot]", "Coverage")],
            "api --method PATCH repos/o/r/issues/comments/5 --field body=@all.md",
        ),
    ],
)
def test_only_the_comment_of_this_workflow_is_changed(tmp_path: Path, jobs: dict[str, Any], comments: list[tuple[int, str, str]], call: str) -> None:
    if shutil.which("jq") is None:
        leave_out("jq is not installed")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gh").write_text(GH)
    (tmp_path / "bin/gh").chmod(0o755)
    (tmp_path / "comments.json").write_text(json.dumps([{"id": number, "user": {"login": who}, "body": body} for number, who, body in comments]))
    (tmp_path / "comment").mkdir()
    (tmp_path / "comment/diff.md").write_text("### a -> b\n")
    environment = os.environ | {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "COMMENTS": str(tmp_path / "comments.json"),
        "CALLS": str(tmp_path / "calls"),
        "GITHUB_REPOSITORY": "o/r",
        "NUMBER": "7",
    }
    script = jobs["comment"]["steps"][-1]["run"]

    subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env=environment, check=True)

    assert (tmp_path / "calls").read_text() == f"{call}\n"
    assert (tmp_path / "all.md").read_text() == "<!-- tacholog: performance -->\n### a -> b\n"
