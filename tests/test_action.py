"""The action for the CI of other projects. The tests run the scripts of action.yml in their order, with the variables and files of a runner."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
import yaml
from tests.left_out import leave_out
from tests.waiting import LIMIT_S

ROOT = Path(__file__).resolve().parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
PAIRS = ROOT / "data/perftest/0.3.0-to-0.4.0"
#: The newer release is the baseline. Some of its rows are better, so these rows of the older release are worse.
WORSE = {"logs": str(PAIRS / "old"), "baseline": str(PAIRS / "new")}
LOG = ROOT / "tests/formats/native/latency-udp.log"
OTHER_LOG = ROOT / "tests/formats/native/latency-late-udp.log"
NAMES = re.compile(r"\b(?:inputs|steps|github|runner)\.[\w.-]+")
FUNCTIONS = {"contains": lambda text, part: part in text, "success": lambda: True, "failure": lambda: False}


def evaluated(expression: str, context: dict[str, str]) -> Any:  # noqa: ANN401 - a text or a truth value
    """Only && and || must be replaced to make the expressions of action.yml valid Python."""
    python = NAMES.sub(lambda name: repr(context.get(name[0], "")), expression).replace("&&", "and").replace("||", "or")
    return eval(python, dict(FUNCTIONS))  # noqa: S307 - of our own action


def filled(text: str, context: dict[str, str]) -> str:
    return re.sub(r"\$\{\{(.*?)\}\}", lambda match: str(evaluated(match[1].strip(), context)), text)


class Ran(NamedTuple):
    """The result of an action: its exit code, its outputs, the printed text, the folder with its report, and the summary of the job."""

    code: int
    outputs: dict[str, str]
    printed: str
    report: Path
    summary: str

    @property
    def comment(self) -> str:
        return (self.report / "comment.md").read_text()


def run_action(folder: Path, inputs: dict[str, str], more: Mapping[str, str] = MappingProxyType({}), *, installs: bool = False) -> Ran:
    """Run the scripts of the action in a folder, until a script fails. Steps whose condition is false are left out.

    Args:
        folder: the workspace of the job. The files of the runner are in a folder beside it.
        inputs: the inputs that the workflow states.
        more: values of the context (names with a dot, such as ``github.token``), and environment variables (names without a dot).
        installs: whether to run the step that installs Tacholog. Otherwise the action uses the package that is tested.
    """
    unknown = inputs.keys() - ACTION["inputs"].keys()
    assert not unknown
    runner = folder.parent / f"{folder.name}-runner"
    for name in ("temp/tacholog/bin", "files"):
        (runner / name).mkdir(parents=True, exist_ok=True)
    if not installs:
        program = runner / "temp/tacholog/bin/tacholog"
        program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT / "parsers"} exec {sys.executable} -m tacholog "$@"\n')
        program.chmod(0o755)
    files = {f"GITHUB_{name}": str(runner / "files" / name) for name in ("OUTPUT", "STEP_SUMMARY")}
    defaults = {name: entry["default"] for name, entry in ACTION["inputs"].items()}
    context = {f"inputs.{name}": value for name, value in (defaults | inputs).items()} | {"runner.temp": str(runner / "temp")}
    context |= {name: value for name, value in more.items() if "." in name}
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "GITHUB_WORKSPACE": str(folder),
        "GITHUB_ACTION_PATH": str(ROOT),
        "RUNNER_TEMP": str(runner / "temp"),
        "GITHUB_REPOSITORY": "o/r",
        **files,
        **{name: value for name, value in more.items() if "." not in name},
    }
    Path(files["GITHUB_STEP_SUMMARY"]).write_text("")
    printed, code = "", 0
    for step in STEPS:
        if "run" not in step or not evaluated(step.get("if", "True"), context) or (step["name"] == "Install Tacholog" and not installs):
            continue
        Path(files["GITHUB_OUTPUT"]).write_text("")
        script = runner / "files/script.sh"
        script.write_text(step["run"])
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],  # The runner uses the same command for `shell: bash`.
            cwd=folder,
            env=environment | {name: filled(str(value), context) for name, value in step.get("env", {}).items()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        printed += done.stdout
        for line in Path(files["GITHUB_OUTPUT"]).read_text().splitlines():
            name, _, value = line.partition("=")
            context[f"steps.{step['id']}.outputs.{name}"] = value
        if code := done.returncode:
            break
    outputs = {name: filled(entry["value"], context) for name, entry in ACTION["outputs"].items()}
    return Ran(code, outputs, printed, runner / "temp/tacholog-report", Path(files["GITHUB_STEP_SUMMARY"]).read_text())


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_comparison_with_the_baseline_is_written_to_the_comment_and_the_summary(workspace: Path) -> None:
    ran = run_action(workspace, {"logs": str(PAIRS / "new"), "baseline": str(PAIRS / "old")})

    assert ran.code == 0, ran.printed
    assert ran.outputs == {"diff": "0", "require": "", "report": str(ran.report)}
    assert ran.comment.startswith("### 0.3.0 → 0.4.0: ")
    assert ran.summary == ran.comment
    assert "<title>" in (ran.report / "diff.html").read_text()
    assert sorted(path.name for path in ran.report.iterdir()) == ["comment.md", "diff.html", "diff.md"]


def test_job_that_fails_because_of_a_verdict_still_writes_the_comment(workspace: Path) -> None:
    ran = run_action(workspace, WORSE | {"fail-on": "worse implausible"})

    assert (ran.code, ran.outputs["diff"]) == (3, "3"), ran.printed
    assert ran.summary == ran.comment


@pytest.mark.parametrize(("fail_on", "diff", "code"), [("", "0", 0), ("worse", "4", 4)])
def test_comparison_of_two_single_logs_fails_the_job_only_on_request(workspace: Path, fail_on: str, diff: str, code: int) -> None:
    ran = run_action(workspace, {"logs": str(LOG), "baseline": str(OTHER_LOG), "fail-on": fail_on})

    assert (ran.code, ran.outputs["diff"]) == (code, diff), ran.printed
    assert "not enough runs" in ran.comment


REQUIREMENT = (
    '[[require]]\nname = "shm is fast"\nmetric = "latency"\nstatistic = "p50"\ntransport = "shm"\nsize = "1 KiB"\nmax = {most}\nunit = "us"\n'
)


@pytest.mark.parametrize(("logs", "most", "require", "code"), [("new", 500, "0", 0), ("new", 0.001, "3", 3), (str(LOG), 500, "4", 0)])
def test_only_a_failed_requirement_fails_the_job(workspace: Path, logs: str, most: float, require: str, code: int) -> None:
    (workspace / "requirements.toml").write_text(REQUIREMENT.format(most=most))

    ran = run_action(workspace, {"logs": str(PAIRS / logs)})

    assert (ran.code, ran.outputs["require"], ran.outputs["diff"]) == (code, require, ""), ran.printed
    assert "shm is fast" in ran.comment


def test_comment_states_the_requirements_of_the_given_file_before_the_comparison(workspace: Path) -> None:
    (workspace / "limits.toml").write_text(REQUIREMENT.format(most=0.001))

    ran = run_action(workspace, {"logs": str(PAIRS / "new"), "baseline": str(PAIRS / "old"), "requirements": "limits.toml"})

    assert (ran.code, ran.outputs["require"], ran.outputs["diff"]) == (3, "3", "0"), ran.printed
    assert ran.comment.index("shm is fast") < ran.comment.index("### 0.3.0 → 0.4.0: ")


def test_log_that_cannot_be_read_fails_the_job(workspace: Path) -> None:
    (workspace / "broken.log").write_text("nothing that a format knows\n")

    ran = run_action(workspace, {"logs": "broken.log", "baseline": str(LOG)})

    assert (ran.code, ran.outputs["diff"]) == (2, "2"), ran.printed
    assert "broken.log" in ran.printed


HOSTILE = "$(touch pwned)`touch pwned`'; touch pwned; '\"; touch pwned; \"\ntouch pwned"
NAMED = ("logs", "baseline", "requirements", "fail-on", "campaign", "candidate", "pairs", "upload", "name")


@pytest.mark.parametrize(("name", "text"), [*((name, HOSTILE) for name in NAMED), *((name, "--output=pwned") for name in NAMED[:3])])
def test_no_input_becomes_a_command_or_an_option(workspace: Path, name: str, text: str) -> None:
    inputs = {"logs": str(LOG), "baseline": str(LOG), "comment": "true"} | ({"campaign": "c.toml"} if name in ("candidate", "pairs") else {})

    run_action(workspace, inputs | {name: text}, {"github.repository": "o/r", "github.event.pull_request.head.repo.full_name": "o/r"})

    assert [path.name for path in workspace.iterdir()] == []


CAMPAIGN = """
system = "Tacholog perftest"
tool = "perftest"
version_command = ["probe", "--version"]
format = "native"
repetitions = 2

[[runs]]
name = "latency-udp"
command = ["probe", "--transport", "udp"]
"""
#: Prints a log of the real perftest for any arguments.
TOOL = '#!/bin/sh\n[ "$1" = --version ] && echo perftest 0.3.0 || cat {log}\n'


@pytest.fixture
def campaign(workspace: Path) -> Path:
    """Return the workspace with a campaign, and with a program for this campaign in each of two folders.

    The program is not called perftest, because the checkout may have a perftest.
    """
    for name in ("old", "new"):
        (workspace / name).mkdir()
        (workspace / name / "probe").write_text(TOOL.format(log=LOG))
        (workspace / name / "probe").chmod(0o755)
    (workspace / "small.toml").write_text(CAMPAIGN)
    return workspace


def test_campaign_is_measured_and_its_runs_are_compared_with_the_baseline(campaign: Path) -> None:
    path = f"{campaign / 'new'}:{os.environ['PATH']}"

    ran = run_action(campaign, {"campaign": "small.toml", "baseline": str(LOG), "upload": "report runs"}, {"PATH": path})

    assert (ran.code, ran.outputs["diff"]) == (0, "4"), ran.printed
    assert len([*ran.report.glob("runs/*/**/latency-udp/**/run.toml")]) >= len(("1", "2"))
    assert ran.comment.startswith("### ")


def test_candidate_and_baseline_are_measured_in_turns(campaign: Path) -> None:
    ran = run_action(campaign, {"campaign": "small.toml", "baseline": "old", "candidate": "new", "pairs": "6"})

    assert ran.code == 0, ran.printed
    assert ran.outputs["diff"] in ("0", "4")
    assert ran.comment.startswith("### old → new: ")
    assert not (ran.report / "runs").exists()


def test_campaign_that_cannot_run_fails_the_job(campaign: Path) -> None:
    (campaign / "new/probe").unlink()

    ran = run_action(campaign, {"campaign": "small.toml", "baseline": "old", "candidate": "new"})

    assert ran.code == 2, ran.printed
    assert "no program probe here" in ran.printed


@pytest.mark.site
def test_site_of_both_sides_is_built_on_request(workspace: Path) -> None:
    ran = run_action(workspace, {"logs": str(PAIRS / "new"), "baseline": str(PAIRS / "old"), "upload": "report site"})

    assert ran.code == 0, ran.printed
    assert "<title>" in (ran.report / "site/index.html").read_text()
    assert {"0.3.0", "0.4.0"} <= set(re.findall(r"\d\.\d\.\d", (ran.report / "site/releases.html").read_text()))


@pytest.mark.packaging
@pytest.mark.nightly
def test_action_installs_tacholog_from_its_own_commit(workspace: Path) -> None:
    ran = run_action(workspace, {"logs": str(PAIRS / "new"), "baseline": str(PAIRS / "old")}, installs=True)

    assert ran.code == 0, ran.printed
    installed = ran.report.parent / "tacholog/bin/python"
    where = subprocess.run([installed, "-I", "-c", "import tacholog; print(tacholog.__file__)"], capture_output=True, text=True, check=True).stdout
    assert Path(where.strip()).is_relative_to(ran.report.parent)
    assert ran.comment.startswith("### 0.3.0 → 0.4.0: ")


GH = """#!/bin/sh
# A replacement for gh, the program of GitHub. It prints the comments in the file COMMENTS with the requested filter, and notes all other calls in the
# file CALLS.
case "$*" in
  *--paginate*) for last; do :; done; jq -r "$last" "$COMMENTS" ;;
  *) echo "$*" >> "$CALLS" ;;
esac
"""
OF_BRANCH = {
    "github.repository": "o/r",
    "github.event.pull_request.head.repo.full_name": "o/r",
    "github.event.pull_request.number": "7",
    "github.token": "token",
}
Commented = Callable[..., tuple[Ran, list[str]]]


@pytest.fixture
def commented(workspace: Path, tmp_path: Path) -> Commented:
    """Run the action for a pull request with the given comments. Return the result of the action and its calls of gh."""
    if shutil.which("jq") is None:
        leave_out("jq is not installed")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gh").write_text(GH)
    (tmp_path / "bin/gh").chmod(0o755)

    def run(comments: list[tuple[int, str, str]], context: dict[str, str] = OF_BRANCH, **inputs: str) -> tuple[Ran, list[str]]:
        (tmp_path / "comments.json").write_text(json.dumps([{"id": number, "user": {"login": who}, "body": body} for number, who, body in comments]))
        variables = {
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "COMMENTS": str(tmp_path / "comments.json"),
            "CALLS": str(tmp_path / "calls"),
        }
        ran = run_action(workspace, inputs, context | variables)
        calls = (tmp_path / "calls").read_text().splitlines() if (tmp_path / "calls").exists() else []
        return ran, [call.replace(f"{ran.report.parent}/", "") for call in calls]

    return run


NEW_COMMENT = "pr comment 7 --repo o/r --body-file tacholog-comment.md"


@pytest.mark.parametrize(
    ("comments", "call"),
    [
        ([], NEW_COMMENT),
        ([(3, "github-actions[bot]", "Coverage: 80 %")], NEW_COMMENT),
        ([(4, "somebody", "<!-- tacholog: performance -->\nmine")], NEW_COMMENT),
        (
            [(5, "github-actions[bot]", "<!-- tacholog: performance -->\nold"), (6, "github-actions[bot]", "Coverage")],
            "api --method PATCH repos/o/r/issues/comments/5 --field body=@tacholog-comment.md",
        ),
    ],
)
def test_action_changes_its_own_earlier_comment_and_no_other_comment(commented: Commented, comments: list[tuple[int, str, str]], call: str) -> None:
    ran, calls = commented(comments, logs=str(PAIRS / "new"), baseline=str(PAIRS / "old"), comment="true")

    assert ran.code == 0, ran.printed
    assert calls == [call]
    assert (ran.report.parent / "tacholog-comment.md").read_text() == f"<!-- tacholog: performance -->\n{ran.comment}"


def test_second_job_posts_the_comment_that_the_first_job_wrote_and_compares_nothing(commented: Commented, tmp_path: Path) -> None:
    report = tmp_path / "work-runner/temp/tacholog-report"
    report.mkdir(parents=True)
    (report / "comment.md").write_text("### a -> b\n")

    ran, calls = commented([], comment="only", logs=str(LOG))

    assert ran.code == 0, ran.printed
    assert calls == [NEW_COMMENT]
    assert [path.name for path in report.iterdir()] == ["comment.md"]


def test_pull_request_of_a_fork_gets_no_comment(commented: Commented) -> None:
    ran, calls = commented(
        [], OF_BRANCH | {"github.event.pull_request.head.repo.full_name": "fork/r"}, logs=str(LOG), baseline=str(LOG), comment="true"
    )

    assert (ran.code, calls) == (0, []), ran.printed


def test_comment_is_posted_even_if_the_job_fails(commented: Commented) -> None:
    ran, calls = commented([], **WORSE, comment="true", **{"fail-on": "worse"})

    assert (ran.code, calls) == (3, [NEW_COMMENT]), ran.printed


def test_inputs_on_the_page_about_ci_are_the_inputs_of_the_action() -> None:
    page = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    workflows = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)]
    steps = [step for workflow in workflows for job in workflow["jobs"].values() for step in job["steps"]]
    used = [step for step in steps if "tacholog@" in step.get("uses", "")]

    table = page.partition("| input |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", table, flags=re.MULTILINE) == [*ACTION["inputs"]]
    assert [name for name in ACTION["outputs"] if f"`{name}`" not in page] == []
    assert len(used) >= len(("one job", "two jobs"))
    assert [name for step in used for name in step.get("with", {}) if name not in ACTION["inputs"]] == []
