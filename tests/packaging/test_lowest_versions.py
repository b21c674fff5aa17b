"""Each lower bound in pyproject.toml is true: with the oldest allowed versions of packages, logs are read and releases are compared."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.left_out import leave_out
from tests.waiting import LIMIT_S

pytestmark = [pytest.mark.packaging, pytest.mark.nightly]
LEFT_OUT = "not nightly and not core and not site and not packaging"


@pytest.fixture(scope="module")
def python(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment for the tests with the lowest versions.

    The environment has the wheel, the tools of the tests, and the lowest allowed version of each required package.
    """
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if uv is None:
        leave_out("no uv, which finds the lowest versions")
    folder = tmp_path_factory.mktemp("lowest")
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder, checkout)
    [wheel] = folder.glob("*.whl")
    path = folder / "env/bin/python"
    run(uv, "venv", "--quiet", "--python", sys.executable, folder / "env")
    install = (uv, "pip", "install", "--quiet", "--python", path)
    # uv installs the lowest versions only of direct dependencies: of the packages in pyproject.toml, but not of the packages that a wheel needs.
    run(*install, "--only-binary", ":all:", "--resolution", "lowest-direct", "-r", checkout / "pyproject.toml", "--extra", "diff")
    pins = folder / "pins.txt"
    pins.write_text(run(uv, "pip", "freeze", "--quiet", "--python", path))
    run(*install, "--no-deps", wheel)
    groups = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    run(*install, "--constraints", pins, *groups["tests"])
    return path


@pytest.mark.parametrize("room", ["formats", "diff"])
def test_tests_pass_with_the_lowest_versions(python: Path, room: str, checkout: Path, tmp_path: Path) -> None:
    options = ("-q", "--rootdir", checkout, "-c", checkout / "pyproject.toml", "-o", f"cache_dir={tmp_path / 'cache'}", "-m", LEFT_OUT)

    summary = run(python, "-m", "pytest", *options, checkout / "tests" / room).splitlines()[-1]

    assert " passed" in summary
    assert "failed" not in summary


def run(*command: str | Path) -> str:
    """Run a program that must succeed, and return its output. The settings of Python in the checkout are not used."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run([*map(str, command)], env=clean, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, f"{command}\n{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
    return done.stdout
