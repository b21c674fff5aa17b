"""The workflows of GitHub Actions: which rights a job has, which code it runs, and what text becomes a part of a script."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted([*(ROOT / ".github/workflows").glob("*.yml"), ROOT / "action.yml"])
NAMES = [path.name for path in FILES]


def jobs_of(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / ".github/workflows" / name).read_text(encoding="utf-8"))["jobs"])


def steps_of(path: Path) -> list[dict[str, Any]]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [*content.get("runs", {}).get("steps", ()), *(step for job in content.get("jobs", {}).values() for step in job["steps"])]


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_actions_are_pinned_by_a_commit_with_their_version_in_a_comment(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))

    assert used
    assert [action for action in used if not action.startswith("./ ") and not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+.*", action)] == []


def test_action_has_the_same_commit_and_version_everywhere() -> None:
    texts = [path.read_text(encoding="utf-8") for path in [*FILES, ROOT / "docs/ci.md"]]
    used = {match for text in texts for match in re.findall(r"uses: ([\w/-]+)@([0-9a-f]{40} # v[\d.]+)", text)}

    assert len({action for action, _ in used}) == len(used)


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_steps_obey_the_rules_for_expressions_and_tokens(path: Path) -> None:
    steps = steps_of(path)

    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []
    keeping = [step for step in steps if "checkout@" in step.get("uses", "") and step["with"].get("persist-credentials") is not False]
    assert len(keeping) == path.read_text(encoding="utf-8").count("- it pushes\n")


def test_job_that_runs_code_of_strangers_has_no_right_to_write() -> None:
    text, jobs = (ROOT / ".github/workflows/performance.yml").read_text(encoding="utf-8"), jobs_of("performance.yml")
    [checkout] = [step for step in jobs["comment"]["steps"] if "checkout" in step["uses"]]

    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    assert "permissions" not in jobs["measure"]
    assert jobs["comment"]["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert checkout["with"]["ref"] == "${{ github.event.pull_request.base.sha }}"
    assert jobs["comment"]["steps"][-1] == {"uses": "./", "with": {"comment": "only"}}
    assert "github.event.pull_request.head.repo.full_name == github.repository" in jobs["comment"]["if"]


def test_code_of_strangers_gets_no_secret() -> None:
    text = (ROOT / ".github/workflows/performance.yml").read_text(encoding="utf-8")

    assert [*yaml.safe_load(text)[True]] == ["pull_request"]  # YAML 1.1 reads the key "on" as true. pull_request_target would have too many rights.
    assert "secrets." not in text
    assert "github.token" not in text


def test_release_jobs_run_after_the_checks_and_have_only_the_necessary_rights() -> None:
    jobs = jobs_of("release.yml")

    assert yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["permissions"] == {}
    assert {name: job.get("needs") for name, job in jobs.items()} == {"check": None, "pypi": "check", "image": "pypi", "github": "image"}
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "check": {"contents": "read"},
        "pypi": {"id-token": "write"},
        "image": {"contents": "read", "packages": "write", "id-token": "write", "attestations": "write"},
        "github": {"contents": "write"},
    }
    assert "secrets." not in str(jobs)
