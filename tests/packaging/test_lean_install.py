"""What pip installs: `pip install tacholog` in at most 40 MB, and `pip install tacholog[diff]` with all that comparisons and exports need."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import LIMIT_S

from tacholog.cli import EXTRAS
from tacholog.installation import PACKAGES

pytestmark = pytest.mark.packaging
MOST_MB = {"": 40, "[diff]": 300}
# A program that prints a recorded log of perftest, whatever its arguments are.
STUB = '#!/bin/sh\n[ "$1" = --version ] && echo perftest 0.3.0 || cat {log}\n'
CAMPAIGN = """
system = "Tacholog perftest"
tool = "perftest"
version_command = ["perftest", "--version"]
format = "native"
repetitions = 1

[[runs]]
name = "latency-udp"
command = ["perftest", "--transport", "udp"]
"""


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(checkout)]
    subprocess.run(command, check=True, capture_output=True)
    [path] = folder.glob("*.whl")
    return path


def installed(wheel: Path, extra: str, folder: Path) -> Path:
    """Create an environment in ``folder``, let pip install the wheel and its dependencies there, and return the folder."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, capture_output=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, f"{wheel}{extra}"], check=True)
    return folder


@pytest.fixture(scope="module")
def lean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(wheel, "", tmp_path_factory.mktemp("lean"))


@pytest.fixture(scope="module")
def comparing(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(wheel, "[diff]", tmp_path_factory.mktemp("comparing"))


def tacholog(environment: Path, *words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    command = [str(environment / "bin/tacholog"), *map(str, words)]
    return subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, errors="replace", check=False, timeout=LIMIT_S)


@pytest.fixture(scope="module")
def measured(lean: Path, checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a campaign, and the runs that the lean environment measured."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "perftest").write_text(STUB.format(log=checkout / "tests/formats/native/latency-udp.log"))
    (folder / "perftest").chmod(0o755)
    (folder / "small.toml").write_text(CAMPAIGN)
    done = tacholog(lean, "bench", "--no-control", "small.toml", "--perftest", folder / "perftest", "--output", "runs", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.nightly
@pytest.mark.parametrize(("environment", "extra"), [("lean", ""), ("comparing", "[diff]")])
def test_installation_including_bytecode_is_not_larger_than_its_limit(environment: str, extra: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(environment)
    occupied = sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))

    assert occupied / 1e6 < MOST_MB[extra]


@pytest.mark.nightly
def test_installation_contains_no_optional_package(lean: Path) -> None:
    code = f"from importlib.util import find_spec; print([name for name in {sorted({*sum(PACKAGES.values(), ())})} if find_spec(name)])"
    done = subprocess.run([lean / "bin/python", "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


@pytest.mark.nightly
@pytest.mark.parametrize("words", [("parse", "--strict", "runs"), ("formats",), ("host",), ("scaffold", "mytool")], ids=" ".join)
def test_command_that_reads_or_measures_needs_no_optional_packages(lean: Path, measured: Path, words: tuple[str, ...]) -> None:
    done = tacholog(lean, *words, cwd=measured)

    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize(
    "words",
    [
        ("export", "--data", "runs"),
        ("export", "--data", "runs", "--format", "json"),
        ("export", "--data", "runs", "--format", "hdr", "--output", "hdr"),
        ("export", "--data", "runs", "--format", "parquet", "--output", "/dev/stdout"),
        ("table", "runs"),
    ],
    ids=" ".join,
)
def test_optional_packages_for_comparisons_are_enough_to_compare_and_to_export(comparing: Path, measured: Path, words: tuple[str, ...]) -> None:
    done = tacholog(comparing, *words, cwd=measured)

    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["text", "markdown", "json", "html", "github"])
def test_releases_can_be_compared_if_the_packages_for_comparisons_are_installed(comparing: Path, checkout: Path, tmp_path: Path, kind: str) -> None:
    sides = [checkout / "data/perftest/0.2.0-to-0.3.0" / release for release in ("old", "new")]

    done = tacholog(comparing, "diff", "--format", kind, *sides, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.nightly
def test_contributed_runs_are_checked_without_optional_packages(lean: Path, checkout: Path, tmp_path: Path) -> None:
    done = tacholog(lean, "check", checkout / "data/ecal", cwd=tmp_path)

    assert ", 0 problems" in done.stderr or "hosts/" in done.stdout, done.stderr


@pytest.mark.nightly
def test_two_builds_are_compared_with_the_optional_packages_of_diff(comparing: Path, measured: Path) -> None:
    perftest = measured / "perftest"
    done = tacholog(
        comparing, "ab", "--no-control", perftest, perftest, "small.toml", "--pairs", "6", "--format", "json", "--output", "pairs", cwd=measured
    )

    assert json.loads(done.stdout)["rows"], done.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("command", EXTRAS)
def test_command_states_how_to_install_its_missing_optional_packages(lean: Path, measured: Path, command: str) -> None:
    done = tacholog(lean, command, "some", "words", cwd=measured)

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.endswith(f': pip install "tacholog[{EXTRAS[command]}]"\n')


def test_only_two_subpackages_import_the_optional_packages_that_build_sites(checkout: Path) -> None:
    package = checkout / "parsers/tacholog"
    heavy = {*PACKAGES["site"], "docutils"} - {*PACKAGES["diff"]}
    found = {
        path.relative_to(package).parts[0]
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        )
        if name.split(".")[0] in heavy
    }

    assert found == {"site", "sphinx"}
