"""``pip install tacholog`` is small: reading logs needs no package of an extra. A command that needs an extra names it if it is missing."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tests.command import run_tacholog_text
from tests.samples import SAMPLE_LOGS
from tests.waiting import LIMIT_S

from tacholog.cli import COMMANDS, EXTRAS
from tacholog.installation import PACKAGES, Extra

MOST_MB = 40
NOT_INSTALLED = sorted({name for names in PACKAGES.values() for name in names})
#: A program with the same arguments as `tacholog`, for which no package of an extra is installed.
BASE_ALONE = f"""
import sys
sys.modules.update(dict.fromkeys({NOT_INSTALLED}))
from tacholog.cli import main
main()
"""
#: Valid arguments of each command that needs no extra.
ACCEPTED = {
    "parse": ("{checkout}/tests/formats/native/latency-udp.log",),
    "formats": (),
    "check": ("{checkout}/docs/example-logs",),
    "import": ("{checkout}/docs/example-logs", "--to", "runs", "--map", "{{label.any}}/{{label.some}}", "--dry-run"),
    "bench": ("{checkout}/tests/short.toml", "--plan", "--perftest", "{program}"),
    "sustain": ("--help",),
    "cache": (),
    "scaffold": ("mytool",),
    "host": (),
}


def without_extras(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BASE_ALONE, *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=LIMIT_S)


def test_each_command_either_needs_an_extra_or_is_tested_without_extras() -> None:
    assert sorted([*EXTRAS, *ACCEPTED]) == sorted(COMMANDS)


@pytest.mark.parametrize("command", ACCEPTED)
def test_command_that_reads_or_measures_needs_no_extra(command: str, checkout: Path, tmp_path: Path) -> None:
    program = tmp_path / "perftest"
    program.write_text("#!/bin/sh\necho perftest 0.3.0\n")
    program.chmod(0o755)
    words = [word.format(checkout=checkout, program=program) for word in ACCEPTED[command]]

    done = without_extras(command, *words, cwd=tmp_path)

    assert "not installed" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout


@pytest.mark.parametrize("command", EXTRAS)
def test_command_without_its_extra_prints_one_line_with_the_command_to_install_the_extra(command: str, tmp_path: Path) -> None:
    done = without_extras(command, "some", "words", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"tacholog: tacholog {command} needs packages that are not installed (numpy, ")
    assert line.endswith(f': pip install "tacholog[{EXTRAS[command]}]"')


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_needs_no_extra(command: str, tmp_path: Path) -> None:
    done = without_extras(command, "--help", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: tacholog {command}")


@pytest.mark.parametrize("function", ["load", "diff"])
def test_function_without_its_extra_raises_an_error_with_the_command_to_install_the_extra(function: str, tmp_path: Path) -> None:
    program = f"import sys; sys.modules.update(dict.fromkeys({NOT_INSTALLED})); import tacholog; tacholog.{function}('a', 'b')"

    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=LIMIT_S)

    assert f"tacholog.{function} needs packages that are not installed" in done.stderr.splitlines()[-1]
    assert done.stderr.endswith(': pip install "tacholog[diff]"\n')


def test_logs_have_the_same_records_with_and_without_numpy(tmp_path: Path) -> None:
    words = ["parse", "--format", "jsonl", *map(str, SAMPLE_LOGS)]
    with_arrays = subprocess.run(
        [sys.executable, "-m", "tacholog", *words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )

    done = without_extras(*words, cwd=tmp_path)

    assert len(done.stdout.splitlines()) > 1000
    assert [*map(json.loads, done.stdout.splitlines())] == [*map(json.loads, with_arrays.stdout.splitlines())]
    assert (done.returncode, done.stderr) == (with_arrays.returncode, with_arrays.stderr)


def test_check_finds_the_same_problems_with_and_without_arrays(tmp_path: Path) -> None:
    for number, log in enumerate(SAMPLE_LOGS):
        run = tmp_path / "data" / str(number)
        run.mkdir(parents=True)
        shutil.copy(log, run / "some.log")
        digest = hashlib.sha256(log.read_bytes()).hexdigest()
        (run / "run.toml").write_text(
            f'system = "S"\nhost = "h"\n[conditions]\ntransport = "tcp"\npayload_bytes = 64\n[[logs]]\nfile = "some.log"\nsha256 = "{digest}"\n'
        )
    (tmp_path / "data/same-build").mkdir()
    (tmp_path / "data/same-build/host.csv").write_text("session\nmuch\n")
    with_arrays = run_tacholog_text("check", "data", cwd=tmp_path)

    done = without_extras("check", "data", cwd=tmp_path)

    kinds = ("same-build/host.csv:2: ", ": broken: ", ": unknown: ", ": contradicted: ", "hosts/h.toml: missing")
    assert [kind for kind in kinds if kind not in done.stdout] == []
    assert (done.returncode, done.stdout, done.stderr) == (1, with_arrays.stdout, with_arrays.stderr)


def declared(checkout: Path, *extras: Extra) -> set[str]:
    """Return the packages that the project declares for its base and for these extras."""
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = project["dependencies"] + [line for extra in extras for line in project["optional-dependencies"][extra]]
    requirements = [*map(Requirement, lines)]
    return {requirement.name for requirement in requirements if requirement.marker is None or requirement.marker.evaluate()}


def needed_by(names: set[str]) -> set[str]:
    """Return these packages, and all packages that they need."""
    needed: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        requirements = map(Requirement, importlib.metadata.requires(name) or ())
        waiting += [requirement.name for requirement in requirements if requirement.marker is None or requirement.marker.evaluate({"extra": ""})]
    return needed


def test_packages_of_an_installation_without_extras_take_at_most_40_mb_including_bytecode(checkout: Path) -> None:
    paths = [Path(str(path.locate())) for name in needed_by(declared(checkout)) for path in importlib.metadata.files(name) or ()]
    occupied = sum(path.stat().st_size for path in paths if path.is_file() and path.suffix != ".pyc")
    occupied += sum(path.stat().st_size for path in paths if path.suffix == ".py")  # Bytecode is about as large as its source.
    occupied += sum(2 * path.stat().st_size for path in (checkout / "parsers/tacholog").rglob("*.py"))
    occupied += sum(path.stat().st_size for name in ("site", "templates") for path in (checkout / name).rglob("*") if path.is_file())

    assert 1 < occupied / 1e6 < MOST_MB


def test_extras_declare_exactly_the_packages_that_commands_check_for(checkout: Path) -> None:
    modules = {"hdrhistogram": "hdrh", "tacholog": ""}
    for extra in ("diff", "site"):
        names = {modules.get(name, name).replace("-", "_") for name in declared(checkout, "diff", extra) - declared(checkout)} - {""}
        assert names == {*PACKAGES[extra]}


def test_page_about_installation_lists_what_each_extra_adds_and_shows_the_message(checkout: Path, tmp_path: Path) -> None:
    page = (checkout / "docs/install.md").read_text(encoding="utf-8")
    base, diff, site = (set(re.findall(r"`([a-z]+)`", row)) for row in re.findall(r"^\| `pip install .*? \| (.*) \|", page, re.MULTILINE))
    command, message = re.findall(r"^\$ tacholog (.*)\n(.*\n)", page, re.MULTILINE)[0]

    assert base == {*ACCEPTED}
    assert diff == {name for name, extra in EXTRAS.items() if extra == "diff"}
    assert site == {name for name, extra in EXTRAS.items() if extra == "site"}
    assert without_extras(*command.split(), cwd=tmp_path).stderr == message
