"""``tacholog scaffold``: the written package can be installed, passes its tests, and its format is found."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.waiting import LIMIT_S

from tacholog.commands.scaffold import scaffold

pytestmark = pytest.mark.packaging
NAME = "gap_bench"
SAVED = Path(__file__).parents[1] / "saved/0.4.0/format-package"  # A package that the scaffold of 0.4.0 wrote, without its README.


def run(folder: Path, *command: str, path: Path | str | None = None, status: int = 0) -> str:
    """Run ``python -m``. ``path`` is an additional import path. The exit code must be ``status``."""
    places = os.pathsep.join(str(place) for place in (path, os.environ.get("PYTHONPATH")) if place)
    environment = os.environ | {"PYTHONPATH": places, "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == status, f"{command}\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scaffold") / "package"
    assert CliRunner().invoke(scaffold, [NAME, "--output", str(folder)]).exit_code == 0
    return folder


@pytest.fixture(scope="module")
def installed(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package is installed into a separate folder, so that other tests do not see the format."""
    folder = tmp_path_factory.mktemp("installed")
    quiet = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-compile")
    run(folder, "pip", "install", *quiet, "--target", str(folder), str(package))
    return folder


def test_tests_of_the_package_pass_after_its_installation(package: Path, installed: Path) -> None:
    assert "21 passed" in run(package, "pytest", "-q", "-p", "no:cacheprovider", path=installed)


def test_package_written_by_tacholog_0_4_0_passes_its_tests(tmp_path: Path) -> None:
    package = Path(shutil.copytree(SAVED, tmp_path / "package"))
    information = package / "src/tacholog_pingbench-0.1.0.dist-info"  # The files that pip writes for an installation.
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tacholog-pingbench\nVersion: 0.1.0\n")
    (information / "entry_points.txt").write_text("[tacholog.formats]\npingbench = tacholog_pingbench\n")

    assert "20 passed" in run(package, "pytest", "-q", "-p", "no:cacheprovider", path=package / "src")


@pytest.mark.nightly
def test_failed_package_test_shows_the_log_if_a_control_character_crashes_the_format(package: Path, installed: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(installed, tmp_path / "crashing"))
    module = path / f"tacholog_{NAME}/__init__.py"
    sound = module.read_text()
    crashing = sound.replace(
        "            yield Finding(line, _RESULT", '            int(line.text.split(" B:")[0])\n            yield Finding(line, _RESULT'
    )
    assert crashing != sound
    module.write_text(crashing)

    said = run(package, "pytest", "-q", "-p", "no:cacheprovider", "-k", "control", path=path, status=1)

    assert f"the format {NAME} of tacholog-{NAME} 0.1.0 failed at line" in said
    assert "The log was:" in said
    module.write_text(sound)
    assert "1 passed" in run(package, "pytest", "-q", "-p", "no:cacheprovider", "-k", "control", path=path)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("right", "wrong", "test", "said"),
    [
        (
            'definition="gap_bench-rtt"',
            'definition="nope"',
            "names_a_definition",
            "gap_bench-2.1.log:2: 'nope' is none of DEFINITIONS (gap_bench-rtt)",
        ),
        (
            "payload_bytes basis definition",
            'basis definition", sometimes="payload_bytes',
            "format_declares",
            "latency: no sample lacks payload_bytes: add one that does, or declare it always",
        ),
        (
            'STATES = {"latency": ',
            'STATES = {"delay": 3, "latency": ',
            "format_declares",
            'STATES is no mapping from tests to States, such as {"latency": States(always="basis definition")}',
        ),
    ],
)
def test_tests_of_the_package_fail_if_no_sample_has_a_declared_property(
    package: Path, installed: Path, tmp_path: Path, right: str, wrong: str, test: str, said: str
) -> None:
    path = Path(shutil.copytree(installed, tmp_path / "wrong"))
    module = path / f"tacholog_{NAME}/__init__.py"
    assert right in module.read_text()
    module.write_text(module.read_text().replace(right, wrong))

    assert said in run(package, "pytest", "-q", "-p", "no:cacheprovider", "-k", test, path=path, status=1)


def test_package_tests_say_what_to_install_if_hypothesis_is_missing(package: Path, installed: Path, tmp_path: Path) -> None:
    (tmp_path / "hypothesis.py").write_text("raise ImportError('no module of that name')")

    said = run(package, "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", path=f"{tmp_path}{os.pathsep}{installed}", status=2)

    assert "tacholog.formats.testing needs hypothesis: pip install pytest hypothesis" in said


def test_installed_format_is_listed_and_reads_its_sample(package: Path, installed: Path) -> None:
    assert NAME in run(package, "tacholog", "formats", path=installed)
    assert "2 records (2 latency), 0 broken and 0 unknown of 3 lines" in run(
        package, "tacholog", "parse", "--strict", f"tests/{NAME}-2.1.log", path=installed
    )


def files(package: Path) -> list[Path]:
    """Return all files of the package, except the compiled files of Python."""
    return [path for path in package.rglob("*") if path.is_file() and path.parent.name != "__pycache__"]


def test_written_package_contains_the_given_name_and_not_the_name_of_the_example(package: Path) -> None:
    written = files(package)

    assert f"tacholog_{NAME}" in {path.parent.name for path in written}
    assert [path for path in written if "pingbench" in str(path.relative_to(package)) + path.read_text()] == []


def test_existing_files_are_not_overwritten(package: Path) -> None:
    before = {path: path.read_text() for path in files(package)}

    done = CliRunner().invoke(scaffold, ["other", "--output", str(package)])

    assert done.exit_code != 0
    assert "exists already" in str(done.exception)  # The command line prints this exception in one line.
    assert {path: path.read_text() for path in files(package)} == before


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rti", "already installed"),
        ("9a", "cannot be the name of a module"),
        ("class", "cannot be the name of a module"),
        ("../x", "cannot be the name of a module"),
    ],
)
def test_invalid_name_is_refused(name: str, said: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(scaffold, [name, "--output", str(tmp_path / "package")])

    assert done.exit_code == 2
    assert said in done.output
    assert not (tmp_path / "package").exists()
