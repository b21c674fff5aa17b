"""Host files with one id that contradict each other describe two machines: each run has the properties that the nearest file states."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import msgspec
import pytest
from tests.command import run_tacholog_text
from tests.report.conftest import FIRST, SECOND, add_run, rti

from tacholog.compare.bands import find_same_build
from tacholog.runs.manifest import Host, read_host, read_manifest, write
from tacholog.site.build import build_site
from tacholog.store.frames import open_saved
from tacholog.store.load import load, open_path, open_paths

ID = "host-a2b38a"
CPU = {"model": "AMD EPYC", "threads": "2", "cache_l1d": "48 KiB", "governor": "powersave"}
CAMPAIGN = """\
system = "coreutils"
tool = "seq"
version_command = ["seq", "--version"]
log = "seq.log"
repetitions = 1

[[runs]]
name = "to-3"
command = ["seq", "3"]
conditions.transport = "pipe"
"""
MOVED = CPU | {"cache_l1d": "32 KiB"}


def add(root: Path, run: str, hosts: Path, cpu: dict[str, str]) -> None:
    add_run(root, run, SECOND if cpu == MOVED else FIRST, msgspec.structs.replace(rti("UDPv4", published=False), host=ID))
    (hosts / "hosts").mkdir(parents=True, exist_ok=True)
    write(hosts / "hosts" / f"{ID}.toml", Host(name="AMD EPYC, 2 threads", source="read by tacholog host", cpu=cpu))


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    """Return published data, and a campaign on a machine that has the same id but another processor."""
    data, runs = tmp_path / "data", tmp_path / "runs"
    add(data, "perftest/1", data, CPU)
    add(runs, "quick/1", runs / "quick", MOVED)
    return [data, runs]


def caches(roots: list[Path]) -> dict[str, str]:
    data = load(roots)
    return {run: data.hosts[host].cpu["cache_l1d"] for run, host in zip(data.runs["run"], data.runs["host"], strict=True)}


def test_each_run_has_the_properties_that_the_nearest_host_file_states(roots: list[Path]) -> None:
    assert caches(roots) == {"perftest/1": "48 KiB", "quick/1": "32 KiB"}
    assert caches(roots[::-1]) == {"perftest/1": "48 KiB", "quick/1": "32 KiB"}


def test_machine_keeps_its_id_if_a_folder_of_runs_describes_another_machine_by_this_id(roots: list[Path]) -> None:
    data = roots[0]
    add(data, "an-earlier-name/quick/1", data / "an-earlier-name/quick", MOVED)

    read = load(roots)
    host_of = dict(zip(read.runs["run"], read.runs["host"], strict=True))

    assert host_of["perftest/1"] == ID
    assert host_of["an-earlier-name/quick/1"] == host_of["quick/1"] != ID


def test_files_that_do_not_contradict_each_other_describe_one_machine(roots: list[Path]) -> None:
    data, runs = roots
    write(runs / f"quick/hosts/{ID}.toml", Host(name="The rack", source="typed by hand", cpu={"model": "AMD EPYC", "sockets": "1"}))

    read = load([data, runs])

    assert {*read.runs["host"]} == {ID}
    assert read.hosts[ID].cpu == {**CPU, "sockets": "1"}
    assert read.problems.empty


def test_host_file_with_the_id_of_a_machine_that_another_file_made_costs_no_run(roots: list[Path]) -> None:
    [other] = {*load(roots).runs["host"]} - {ID}
    write(roots[0] / f"hosts/{other}.toml", Host(name="Named by hand", source="typed by hand", cpu={"model": "Another"}))

    assert caches(roots) == {"perftest/1": "48 KiB", "quick/1": "32 KiB"}


def test_machine_stays_the_same_if_only_its_settings_and_programs_change(roots: list[Path]) -> None:
    file = roots[1] / f"quick/hosts/{ID}.toml"
    write(
        file, Host(name="AMD EPYC, 2 threads", source="read by tacholog host", cpu=CPU | {"governor": "performance"}, system={"compiler": "c++ 13"})
    )

    read = load(roots)

    assert {*read.runs["host"]} == {ID}
    assert read.problems.empty


@pytest.mark.site
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::DeprecationWarning")  # Sphinx warns extensions
def test_both_files_are_named_on_the_pages_of_machines_and_of_data_quality(roots: list[Path], tmp_path: Path) -> None:
    site = build_site(roots, tmp_path / "site", tmp_path / "work").parent

    [other] = {*open_saved(tmp_path / "work/dataset").runs["host"]} - {ID}
    for page in ("hosts.html", "quality.html"):
        text = re.sub(r"\s+", " ", re.sub("<[^>]*>", "", (site / page).read_text()))
        assert f"runs/quick/hosts/{ID}.toml" in text
        assert f"data/hosts/{ID}.toml" in text
        assert "cpu cache_l1d: 48 KiB, 32 KiB" in text
        assert other in text
        assert f"{ID}.toml not stated not read" not in text


def test_check_names_both_files(tmp_path: Path) -> None:
    add(tmp_path, "1", tmp_path, CPU)
    add(tmp_path, "quick/1", tmp_path / "quick", MOVED)

    done = run_tacholog_text("check", tmp_path)

    assert done.returncode == 1
    assert f"/quick/hosts/{ID}.toml contradicts {tmp_path.name}/hosts/{ID}.toml (cpu cache_l1d: 48 KiB, 32 KiB)" in done.stdout


def test_diff_says_that_machines_with_one_id_differ_and_in_which_properties(roots: list[Path]) -> None:
    done = run_tacholog_text("diff", roots[0] / "perftest", roots[1] / "quick")

    assert "Not the same machine: " in done.stdout
    assert "(cpu cache_l1d 48 KiB -> 32 KiB), which may explain a difference" in done.stdout
    assert "stated hardware is the same" not in done.stdout


def test_runs_of_several_folders_keep_their_machines(roots: list[Path], tmp_path: Path) -> None:
    load(roots[:1]).save(tmp_path / "saved")

    read = open_paths([tmp_path / "saved", roots[1]])

    assert sorted(read.hosts[host].cpu["cache_l1d"] for host in read.runs["host"]) == ["32 KiB", "48 KiB"]


def test_band_of_a_machine_is_not_used_for_another_machine_with_its_id(roots: list[Path], checkout: Path) -> None:
    data, quick = roots[0], open_path(roots[1] / "quick")
    (data / "same-build").mkdir()
    shutil.copy(next((checkout / "data/same-build").glob("*.csv")), data / "same-build" / f"{ID}.csv")
    published = open_path(data)

    assert find_same_build([published, published], [data]) is not None
    assert find_same_build([published, quick], [data]) is None
    assert find_same_build([quick, quick], [data]) is None


def test_release_is_copied_with_its_own_host_file_if_the_data_folder_describes_another_machine(tmp_path: Path) -> None:
    campaign = tmp_path / "small.toml"
    campaign.write_text(CAMPAIGN)
    run_tacholog_text("bench", "--no-control", campaign, "--release", "1", cwd=tmp_path)
    [file] = (tmp_path / "data/hosts").iterdir()
    here = read_host(file)
    write(file, msgspec.structs.replace(here, cpu=here.cpu | {"model": "Another"}))

    run_tacholog_text("bench", "--no-control", campaign, "--release", "2", "--output", tmp_path / "second", cwd=tmp_path)

    data = load([tmp_path / "data"])
    models = {run: data.hosts[host].cpu["model"] for run, host in zip(data.runs["run"], data.runs["host"], strict=True)}
    assert models == {"seq/1/to-3/01": "Another", "seq/2/to-3/01": here.cpu["model"]}
    assert read_manifest(tmp_path / "data/seq/2/to-3/01/run.toml").host == file.stem
