"""``tacholog import data.js`` makes runs from a history of github-action-benchmark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command import run_tacholog_text
from tests.importing.conftest import import_logs, manifests

from tacholog.formats.reading import read

OLD, NEW = "2d4a2469515123655e673fda9a1c85e3eb7e88bb", "2a300c71bb75dc8665f3c6552d582debb1763a18"
ADDRESS = "https://github.com/moveit/moveit_middleware_benchmark"
NAME = "Fixture/test_scenario"


def entry(commit: str, date: int, *seconds: float) -> dict[str, object]:
    """Return an entry as the action writes it, with a value for each repetition."""
    benches = [{"name": NAME, "value": round(value * 1e9), "unit": "ns/iter", "extra": "iterations: 1\ncpu: 1 ns\nthreads: 1"} for value in seconds]
    benches.append({"name": f"{NAME}_cv", "value": 0.2, "unit": "ns/iter", "extra": "iterations: 6\ncpu: 1 ns\nthreads: 1"})
    return {"commit": {"id": commit, "message": "m"}, "date": date, "tool": "googlecpp", "benches": benches}


ENTRIES = [entry(OLD, 1724344356259, 263.6, 298.4), entry(OLD, 1724348934280, 207.2, 175.4), entry(NEW, 1724395479612, 257.1, 212.9)]


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Return a file with a history of three entries. Two of the entries are of one commit."""
    return written(tmp_path, {"Perception Pipeline": ENTRIES})


def written(folder: Path, suites: object) -> Path:
    file = folder / "data.js"
    content = {"lastUpdate": 1728631797643, "repoUrl": ADDRESS, "entries": suites}
    file.write_text(f"window.BENCHMARK_DATA = {json.dumps(content, indent=2)}")
    return file


def test_each_entry_becomes_a_run_and_its_commit_becomes_the_release(history: Path, tmp_path: Path) -> None:
    printed = import_logs(history, "--to", tmp_path / "data")

    runs = manifests(tmp_path / "data")
    assert [(run.release, run.repetition) for run in runs.values()] == [("2a300c71bb", 1), ("2d4a246951", 1), ("2d4a246951", 2)]
    assert {run.system for run in runs.values()} == {"moveit_middleware_benchmark"}
    assert "3 measurements in 1 suite" in printed
    assert "3 runs imported" in printed


def test_log_of_a_run_contains_the_unchanged_text_of_its_entry(history: Path, tmp_path: Path) -> None:
    import_logs(history, "--to", tmp_path / "data")

    logs = sorted((tmp_path / "data").rglob("*.json"))
    assert len(logs) == 3
    assert all(log.read_text() in history.read_text() for log in logs)
    first = read(tmp_path / "data/moveit_middleware_benchmark/2d4a246951/01/000001.json")
    assert [record.numbers[0].value for record in first.records] == [263.6e9, 298.4e9]
    assert (first.facts.start_time, first.facts.build) == ("2024-08-22T16:32:36Z", OLD)


def test_runs_of_different_suites_have_different_labels(tmp_path: Path) -> None:
    file = written(tmp_path, {"Perception Pipeline": ENTRIES[:1], "Service Client": ENTRIES[2:]})

    import_logs(file, "--to", tmp_path / "data")
    assert {run.labels["suite"] for run in manifests(tmp_path / "data").values()} == {"Perception Pipeline", "Service Client"}


def test_system_name_from_the_command_line_replaces_the_name_of_the_repository(history: Path, tmp_path: Path) -> None:
    import_logs(history, "--to", tmp_path / "data", "--set", "system=Fast DDS", "--set", "host=ci")

    assert {(run.system, run.host) for run in manifests(tmp_path / "data").values()} == {("Fast DDS", "ci")}


def test_second_import_of_a_history_adds_only_new_entries(history: Path, tmp_path: Path) -> None:
    import_logs(history, "--to", tmp_path / "data")
    longer = written(tmp_path, {"Perception Pipeline": [*ENTRIES, entry(NEW, 1724579126041, 242.1, 176.1)]})

    assert "1 run imported" in import_logs(longer, "--to", tmp_path / "data")
    assert len(manifests(tmp_path / "data")) == 4


def test_dry_run_writes_nothing(history: Path, tmp_path: Path) -> None:
    assert "dry run: nothing was written" in import_logs(history, "--dry-run")
    assert [path.name for path in tmp_path.iterdir()] == ["data.js"]


def test_comparison_of_two_commits_has_a_row_for_the_benchmark(history: Path, tmp_path: Path) -> None:
    import_logs(history, "--to", tmp_path / "data")

    done = run_tacholog_text("diff", "2d4a246951", "2a300c71bb", "--data", tmp_path / "data", "--all")
    assert done.returncode == 0, done.stderr
    assert "latency" in done.stdout


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("alert(1)", "the file does not begin like this"),
        ("window.BENCHMARK_DATA = {}", "it has no 'entries'"),
        ('window.BENCHMARK_DATA = {"entries": {}}; alert(1)', "there is text after the last brace of the data"),
        ('window.BENCHMARK_DATA = {"entries": {"Suite": [{"benches": []}]}}', "entry 1 has no commit with an id"),
        ('window.BENCHMARK_DATA = {"entries": {"Suite": [{"commit": {"id": "../../etc"}}]}}', "entry 1 has no commit with an id"),
        ('window.BENCHMARK_DATA = {"entries": {"Suite": [', "no complete JSON"),
        ('window.BENCHMARK_DATA = {"entries": ' + "[" * 100_000, "no complete JSON"),
        ('window.BENCHMARK_DATA = {"entries": evil()}', "no complete JSON"),
    ],
)
def test_file_that_is_not_a_history_is_refused_and_never_executed(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "data.js"
    file.write_text(text)

    printed = import_logs(file, "--to", tmp_path / "data", status=2)
    assert "no history of github-action-benchmark" in printed
    assert reason in printed


def test_option_map_is_refused_for_a_benchmark_history(history: Path, tmp_path: Path) -> None:
    assert "use only --to, --set and --dry-run with it" in import_logs(history, "--to", tmp_path / "data", "--map", "{release}", status=2)
