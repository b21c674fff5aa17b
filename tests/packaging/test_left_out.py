"""If the library of an adapter is not installed, the adapter is left out, and a message names the package."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests.packaging.cmake_program import cmake
from tests.waiting import LIMIT_S

pytestmark = pytest.mark.core

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = ROOT / "bench/adapters"
LEFT_OUT = re.compile(r"^-- (?P<name>[\w-]+) is left out: (?P<remedy>.+)$", re.MULTILINE)


def configure(folder: Path, *options: str, fails: bool = False) -> str:
    """Configure the core in ``folder``/build without any library, and return the output of CMake."""
    (folder / "empty").mkdir()
    hidden = [f"-DCMAKE_FIND_ROOT_PATH_MODE_{kind}=ONLY" for kind in ("LIBRARY", "INCLUDE", "PACKAGE")]
    root = f"-DCMAKE_FIND_ROOT_PATH={folder / 'empty'}"
    return cmake("-S", ROOT / "bench", "-B", folder / "build", root, *hidden, *options, fails=fails)


@pytest.fixture(scope="module")
def without_packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("without")
    return configure(folder, "-DBUILD_TESTING=OFF"), folder / "build"


def test_message_names_the_package_to_install_for_each_adapter_that_is_not_built(without_packages: tuple[str, Path]) -> None:
    said = without_packages[0]
    listed = re.search(r"^-- transports: (.*)$", said, re.MULTILINE)
    assert listed
    built = set(listed[1].split())
    remedies = dict(LEFT_OUT.findall(said))

    assert remedies["zeromq"] == "install libzmq3-dev"
    for adapter in (folder.name for folder in ADAPTERS.iterdir() if folder.is_dir()):
        is_built = any(transport == adapter or transport.startswith(f"{adapter}-") for transport in built)
        assert is_built != (adapter in remedies), adapter  # Some adapters contain their library, and are built.


def test_built_program_contains_the_names_of_adapters_that_were_not_built(without_packages: tuple[str, Path]) -> None:
    said, build = without_packages
    compiled_in = (build / "transports_left_out.cpp").read_text(encoding="utf-8")

    for name, remedy in LEFT_OUT.findall(said):
        assert f'"{name}", "{remedy}"' in compiled_in


def test_missing_libraries_are_errors_if_all_adapters_are_required(tmp_path: Path) -> None:
    said = configure(tmp_path, "-DTACHOLOG_REQUIRE_ALL=ON", "-DTACHOLOG_CRATES=OFF", fails=True)

    missing = set(re.findall(r"^  ([\w-]+) (?:is|are) left out: ", said, re.MULTILINE))
    assert {"udp-xdp", "nats", "zeromq", "tests"} <= missing
    assert not {"aeron", "iceoryx2"} & missing  # These adapters were switched off on purpose.


def test_build_without_adapters_states_the_command_that_builds_each_of_them(tmp_path: Path) -> None:
    configure(tmp_path, "-DBUILD_TESTING=OFF", "-DTACHOLOG_ADAPTERS=OFF")

    compiled_in = (tmp_path / "build/transports_left_out.cpp").read_text(encoding="utf-8")
    named = set(re.findall(r'"([\w-]+)", "run `nox -s middleware`', compiled_in))
    assert named == {folder.name for folder in ADAPTERS.iterdir() if folder.is_dir()}


def test_program_states_how_to_build_each_missing_transport(perftest: Path) -> None:
    def asked(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([perftest, *options], capture_output=True, text=True, check=False, timeout=LIMIT_S)

    listed = asked("--list-transports").stdout
    expected = {"carrier-pigeon": "no such transport; --list-transports shows what there is"}
    for library, remedy in re.findall(r"^  left out of this build: (\S+) \((.+)\)$", listed, re.MULTILINE):
        expected |= dict.fromkeys((library, f"{library}-ipc"), f"left out of this build: {remedy}")

    for transport, why in expected.items():
        refused = asked("--test", "latency", "--transport", transport, "--sizes", "64")
        assert (refused.returncode, refused.stderr) == (2, f"perftest: --transport {transport}: {why}\n")
