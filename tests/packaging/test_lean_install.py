"""What `pip install tacholog` installs without an extra: all commands except those that build a site, in at most 300 MB."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import LIMIT_S

from tacholog.installation import PACKAGES

pytestmark = pytest.mark.packaging
MOST_MB = 300
# Prints a log of the real perftest for any arguments.
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
def lean(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the package and its dependencies, as pip installs them."""
    folder = tmp_path_factory.mktemp("lean")
    for command in (
        [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(checkout)],
        [sys.executable, "-m", "venv", str(folder / "env")],
    ):
        subprocess.run(command, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    subprocess.run([folder / "env/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)], check=True)
    return folder / "env"


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
def test_installation_takes_at_most_300_mb_with_pip_and_bytecode(lean: Path) -> None:
    occupied = sum(path.lstat().st_blocks * 512 for path in lean.rglob("*"))

    assert occupied / 1e6 < MOST_MB


@pytest.mark.nightly
def test_installation_contains_no_package_of_an_extra(lean: Path) -> None:
    done = subprocess.run([lean / "bin/python", "-m", "pip", "freeze"], capture_output=True, text=True, check=True)
    have = {line.split("==")[0].lower().replace("-", "_") for line in done.stdout.splitlines()}

    assert have.isdisjoint({*(name for names in PACKAGES.values() for name in names), "sphinx_design", "scipy", "docutils", "dask"})


@pytest.mark.nightly
@pytest.mark.parametrize(
    "words",
    [
        ("parse", "--strict", "runs"),
        ("formats",),
        ("host",),
        ("export", "--data", "runs"),
        ("export", "--data", "runs", "--format", "json"),
        ("export", "--data", "runs", "--format", "hdr", "--output", "hdr"),
        ("export", "--data", "runs", "--format", "parquet", "--output", "/dev/stdout"),
    ],
    ids=" ".join,
)
def test_command_that_builds_no_site_needs_no_extra(lean: Path, measured: Path, words: tuple[str, ...]) -> None:
    done = tacholog(lean, *words, cwd=measured)

    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["text", "markdown", "json", "html", "github"])
def test_two_releases_are_compared_without_an_extra(lean: Path, checkout: Path, tmp_path: Path, kind: str) -> None:
    sides = [checkout / "data/perftest/0.2.0-to-0.3.0" / release for release in ("old", "new")]

    done = tacholog(lean, "diff", "--format", kind, *sides, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.nightly
def test_contributed_runs_are_checked_without_an_extra(lean: Path, checkout: Path, tmp_path: Path) -> None:
    done = tacholog(lean, "check", checkout / "data/ecal", cwd=tmp_path)

    assert "0 wrong" in done.stderr or "hosts/" in done.stdout, done.stderr


@pytest.mark.nightly
def test_two_builds_are_compared_without_an_extra(lean: Path, measured: Path) -> None:
    perftest = measured / "perftest"
    done = tacholog(
        lean, "ab", "--no-control", perftest, perftest, "small.toml", "--pairs", "6", "--format", "json", "--output", "pairs", cwd=measured
    )

    assert json.loads(done.stdout)["rows"], done.stderr


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("report", "--data", "runs", "--output", "site"), "site"),
        (("publish", "site", "--release", "1", "--branch", "gh-pages"), "site"),
    ],
)
def test_command_without_its_extra_states_the_command_to_install_it(lean: Path, measured: Path, words: tuple[str, ...], extra: str) -> None:
    done = tacholog(lean, *words, cwd=measured)

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.endswith(f": pip install 'tacholog[{extra}]'\n")


def test_only_the_rooms_site_and_sphinx_import_packages_of_the_extra(checkout: Path) -> None:
    package = checkout / "parsers/tacholog"
    heavy = {*PACKAGES["site"], "docutils"}
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
