"""The distributions that users install: built as pip builds them, installed outside of the checkout, and used."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from tests.waiting import LIMIT_S

pytestmark = pytest.mark.packaging


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command without the settings of the checkout, and return its output. The output is shown if the command fails."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=clean, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def distributions(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the sdist and the wheel. The wheel is built from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, checkout, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(distributions: Path) -> Path:
    [path] = distributions.glob("tacholog-*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment with the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("env")
    run(sys.executable, "-m", "venv", folder, cwd=folder)
    run(folder / "bin/python", "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", f"{wheel}[site]", cwd=folder)
    return folder / "bin"


def test_wheel_is_pure_python_and_contains_templates_and_site_in_the_package(wheel: Path, checkout: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    assert wheel.name.endswith("-py3-none-any.whl")
    assert {name.split("/")[0].split("-")[0] for name in names} == {"tacholog"}
    for folder, inside in (("templates", "tacholog/_templates"), ("site", "tacholog/_site")):
        sources = [
            path.relative_to(checkout / folder)
            for path in (checkout / folder).rglob("*")
            if path.is_file() and not {"__pycache__", ".ruff_cache"} & {*path.parts}
        ]
        assert sources
        assert {f"{inside}/{path}" for path in sources} <= set(names)
    assert "tacholog/py.typed" in names


def test_sdist_contains_neither_published_data_nor_build_folders(distributions: Path) -> None:
    [path] = distributions.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        tops = {name.split("/")[1] for name in archive.getnames() if "/" in name}

    assert {"bench", "parsers", "site", "templates", "tests", "noxfile.py", "pyproject.toml", "LICENSE"} <= tops
    assert tops.isdisjoint({"build", "data", ".nox", ".ci"})


@pytest.mark.nightly
def test_installed_wheel_finds_its_formats(installed: Path, checkout: Path, tmp_path: Path) -> None:
    declared = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]["entry-points"]["tacholog.formats"]

    printed = run(installed / "tacholog", "formats", cwd=tmp_path)

    assert [name for name in declared if name not in printed] == []


@pytest.mark.nightly
def test_installed_wheel_builds_a_report_outside_of_the_checkout(installed: Path, checkout: Path, tmp_path: Path) -> None:
    # The releases of one system give a page of each kind. The browser tests build and read the site of all data.
    run(installed / "tacholog", "report", "--data", checkout / "data/ecal", "--output", tmp_path / "site", cwd=tmp_path)

    assert "<title>" in (tmp_path / "site/index.html").read_text()
    assert run(installed / "python", "-c", "import tacholog; print(tacholog.__file__)", cwd=tmp_path).startswith(str(installed.parent))


@pytest.mark.nightly
def test_installed_wheel_does_not_install_development_packages(installed: Path, tmp_path: Path) -> None:
    have = {line.split("==")[0].lower() for line in run(installed / "python", "-m", "pip", "freeze", cwd=tmp_path).splitlines()}

    assert have.isdisjoint({"pytest", "nox", "mypy", "ruff", "playwright", "hatchling", "dask", "distributed"})


def test_editable_installation_contains_only_a_path_to_the_sources(checkout: Path, tmp_path: Path) -> None:
    run(sys.executable, "-c", f"import hatchling.build; hatchling.build.build_editable({str(tmp_path)!r})", cwd=checkout)
    [editable] = tmp_path.glob("*.whl")
    archive = zipfile.ZipFile(editable)
    [pointer] = [name for name in archive.namelist() if name.endswith(".pth")]

    assert archive.read(pointer).decode().split() == [str(checkout / "parsers")]
    assert [name for name in archive.namelist() if name.endswith(".py")] == []
