"""The functions that `import tacholog` offers to notebooks and scripts."""

from __future__ import annotations

import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tacholog
from tacholog.errors import UnreadableInput

ROOT = Path(__file__).parent.parent
RTI = ROOT / "tests/formats/rti/3.0.1-throughput-sub.log"


def test_log_is_read_into_records_facts_and_problems(tmp_path: Path) -> None:
    log = tmp_path / "sub.log"
    log.write_bytes(RTI.read_bytes() + b"and a line that no tool prints\n")

    found = tacholog.read(log)

    assert found.format == "rti"
    assert found.records[0].payload_bytes == 64
    assert found.facts.tool_version == "3.0.1"
    assert [(problem.kind, problem.text) for problem in found.problems] == [("unknown", "and a line that no tool prints")]


def test_folders_and_logs_are_loaded_into_one_dataset() -> None:
    dataset = tacholog.load(str(ROOT / "data/ecal"), RTI)

    assert set(dataset.runs["system"]) == {"eCAL", "RTI Connext DDS"}
    assert dataset.runs["run"].is_unique
    assert str(dataset.results["value"].dtype) == "Float64"
    assert set(dataset.results["run"]) <= set(dataset.runs["run"])


def test_saved_dataset_is_loaded_unchanged(tmp_path: Path) -> None:
    saved = tacholog.load(RTI)
    saved.save(str(tmp_path))

    again = tacholog.load(tmp_path)

    assert list(again.results.columns) == list(saved.results.columns)
    assert again.results["value"].equals(saved.results["value"])


def test_repeated_run_is_refused() -> None:
    with pytest.raises(UnreadableInput, match="was given twice"):
        tacholog.load(RTI, RTI)


def test_file_of_no_format_in_a_folder_of_logs_affects_only_itself(tmp_path: Path) -> None:
    shutil.copy(RTI, tmp_path)
    (tmp_path / "notes.txt").write_text("hello world\n")

    with pytest.warns(UserWarning, match=r"notes\.txt: no format fits"):
        dataset = tacholog.load(tmp_path)

    assert [Path(run).name for run in dataset.runs["run"]] == [RTI.name]
    assert dataset.problems[["log", "kind"]].to_numpy().tolist() == [["notes.txt", "unreadable"]]


def test_unreadable_file_that_is_given_by_its_name_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello world\n")

    with pytest.raises(UnreadableInput, match=r"notes\.txt: no format fits"):
        tacholog.load(RTI, tmp_path / "notes.txt")


def test_folder_without_a_readable_file_is_refused_with_reasons(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello world\n")

    with pytest.raises(UnreadableInput, match=r"notes\.txt: no format fits"):
        tacholog.load(tmp_path)


def test_unreadable_file_causes_a_warning(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tests/formats/rti", tmp_path / "run", ignore=lambda _, names: [name for name in names if name != RTI.name])
    (tmp_path / "run/run.toml").write_text("speed = 3\n")

    with pytest.warns(UserWarning, match="run.toml: Object contains unknown field `speed`"):
        tacholog.load(tmp_path)


def test_two_sides_are_compared_by_path_and_as_datasets() -> None:
    by_path = tacholog.diff(RTI, RTI)
    as_datasets = tacholog.diff(tacholog.load(RTI), tacholog.load(RTI))

    assert by_path.old.name == str(RTI)
    assert as_datasets.old.name == "old"
    assert by_path.counts == as_datasets.counts
    assert len(by_path.rows) == len(as_datasets.rows) > 0


def test_formats_are_listed_with_the_outputs_that_they_read() -> None:
    formats = {found.name: found for found in tacholog.list_formats()}

    assert formats["iperf3"].tool == "iperf3"
    assert formats["iperf3"].reads
    assert formats["iperf3"].dialects


def test_import_of_the_package_imports_no_other_package() -> None:
    code = "import sys; before = set(sys.modules); import tacholog; print(*(set(sys.modules) - before))"

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert {name for name in found if name.partition(".")[0] not in sys.stdlib_module_names} == {"tacholog"}


def test_no_submodule_has_the_name_of_a_function() -> None:
    modules = {module.name for module in pkgutil.iter_modules(tacholog.__path__)}

    assert modules.isdisjoint(tacholog.__all__)
