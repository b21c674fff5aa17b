"""The page about campaigns: its main example can be run, its other examples are valid, and its tables name each key."""

from __future__ import annotations

import re
import runpy
import shutil
import socket
from pathlib import Path

import msgspec
import pytest
from tests.command import run_tacholog_text
from tests.left_out import leave_out

from tacholog.campaign.campaign_file import Campaign, NameList, Process, RunBlock, SustainedRate, read_campaign
from tacholog.campaign.machines.machine import HostEntry, ReadyCondition
from tacholog.campaign.plan import schedule_runs
from tacholog.campaign.preview import preview
from tacholog.runs.disturbance import Limits
from tacholog.runs.manifest import read_manifest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/campaigns.md").read_text(encoding="utf-8")
EXAMPLE, *FRAGMENTS = re.findall(r"^```toml\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
HEAD = 'system = "S"\ntool = "t"\nrepetitions = 1\n'
RUN = '[[runs]]\nname = "r"\ncommand = ["client"]\n'


def test_main_example_prints_the_plan_on_the_page_and_can_be_run(tmp_path: Path) -> None:
    if shutil.which("iperf3") is None:
        leave_out("the example of docs/campaigns.md needs iperf3")
    (tmp_path / "mine.toml").write_text(EXAMPLE)
    shown = re.search(r"^```console\n\$ tacholog (bench --plan mine\.toml)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)

    plan = run_tacholog_text(*shown[1].split(), cwd=tmp_path) if shown else None
    with socket.socket() as free:  # The port on the page may be in use by another server of this machine.
        free.bind(("127.0.0.1", 0))
        (tmp_path / "mine.toml").write_text(EXAMPLE.replace("port = 5201", f"port = {free.getsockname()[1]}"))
    done = run_tacholog_text("bench", "--no-control", "mine.toml", cwd=tmp_path)

    assert plan is not None
    assert shown is not None
    of_this_machine = re.compile(r"^(Program iperf3: ).*|^(Version of iperf3: ).*", flags=re.MULTILINE)
    assert of_this_machine.sub(r"\1\2", plan.stdout) == of_this_machine.sub(r"\1\2", shown[2])
    assert done.returncode == 0, done.stdout + done.stderr
    runs = sorted((run.conditions.payload_bytes, run.repetition) for run in map(read_manifest, tmp_path.rglob("run.toml")))
    assert runs == [(1024, 1), (1024, 2), (65536, 1), (65536, 2)]


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_each_short_example_is_a_valid_part_of_a_campaign(fragment: str, tmp_path: Path) -> None:
    path = tmp_path / "part.toml"
    path.write_text(HEAD + fragment + ("" if "[[runs]]" in fragment else RUN))

    assert schedule_runs(read_campaign(path), 1, ("0", "1"))


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_no_example_states_an_option_that_its_command_does_not_have(fragment: str, tmp_path: Path) -> None:
    path = tmp_path / "part.toml"
    path.write_text(HEAD + fragment + ("" if "[[runs]]" in fragment else RUN))

    assert preview(read_campaign(path), "part", {}).unused == ()


def test_example_of_one_process_measures_what_its_options_state(tmp_path: Path, perftest: Path) -> None:
    fragment = next(text for text in FRAGMENTS if 'name = "latency-{transport}"' in text)
    seconds = fragment.replace("duration_s = 10, warmup_s = 5", "duration_s = 0.2, warmup_s = 0.1")
    assert seconds != fragment
    (tmp_path / "one.toml").write_text('system = "S"\ntool = "perftest"\nformat = "native"\nrepetitions = 1\n' + seconds)

    done = run_tacholog_text("bench", "--no-control", "--perftest", perftest, "one.toml", cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.rglob("run.toml"))) == 2


def test_tables_of_keys_are_up_to_date_and_name_each_key() -> None:
    assert runpy.run_path(str(ROOT / "docs/make_tables.py"))["with_keys"](PAGE) == PAGE, "run: python docs/make_tables.py"
    listed = {
        name: re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE)
        for name, table in re.findall(r"<!-- keys: (\w+) -->(.*?)<!--", PAGE, re.DOTALL)
    }
    structs: tuple[type[msgspec.Struct], ...] = (Campaign, RunBlock, SustainedRate, NameList, Limits, Process, ReadyCondition, HostEntry)
    assert listed == {struct.__name__: [field.encode_name for field in msgspec.structs.fields(struct)] for struct in structs}


@pytest.mark.parametrize("path", sorted((ROOT / "bench/campaigns").rglob("*.toml")), ids=lambda path: path.stem)
def test_each_campaign_of_the_project_can_be_planned(path: Path, tmp_path: Path) -> None:
    done = run_tacholog_text("bench", "--no-control", "--plan", path, cwd=tmp_path)

    assert done.returncode == 0 or done.stderr.startswith("tacholog: not found on this machine: "), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", sorted((ROOT / "bench/campaigns/tools").glob("*.toml")), ids=lambda path: path.stem)
def test_campaign_of_a_tool_states_all_conditions_that_comparisons_need(path: Path) -> None:
    done = run_tacholog_text("bench", "--no-control", "--plan", path)

    assert done.stdout.splitlines()[-1] == "All conditions that comparisons need will be stated."


@pytest.mark.parametrize("path", sorted((ROOT / "bench/campaigns/tools/templates").glob("*.toml")), ids=lambda path: path.stem)
def test_template_states_at_the_top_that_it_was_not_run_and_has_all_required_conditions(path: Path) -> None:
    done = run_tacholog_text("bench", "--no-control", "--plan", path)

    assert "NOT RUN by this project" in " ".join(path.read_text().splitlines()[:2])
    assert "nothing states it" not in done.stdout
