"""Where the library of an adapter is not installed, the adapter is left out with the name of the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.packaging.cmake_program import cmake

pytestmark = pytest.mark.core

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = ROOT / "bench/adapters"
LEFT_OUT = re.compile(r"^-- (?P<name>[\w-]+) is left out: (?P<remedy>.+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def without_packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Configure the core where CMake finds no library at all; give what it says and the folder."""
    folder = tmp_path_factory.mktemp("without")
    (folder / "empty").mkdir()
    hidden = [f"-DCMAKE_FIND_ROOT_PATH_MODE_{kind}=ONLY" for kind in ("LIBRARY", "INCLUDE", "PACKAGE")]
    said = cmake("-S", ROOT / "bench", "-B", folder / "build", "-DBUILD_TESTING=OFF", f"-DCMAKE_FIND_ROOT_PATH={folder / 'empty'}", *hidden)
    return said, folder / "build"


def test_an_adapter_without_its_library_is_left_out_with_the_package_to_install(without_packages: tuple[str, Path]) -> None:
    said = without_packages[0]
    listed = re.search(r"^-- transports: (.*)$", said, re.MULTILINE)
    assert listed
    built = set(listed[1].split())
    remedies = dict(LEFT_OUT.findall(said))

    assert remedies["zeromq"] == "install libzmq3-dev"
    for adapter in (folder.name for folder in ADAPTERS.iterdir() if folder.is_dir()):
        is_built = any(transport == adapter or transport.startswith(f"{adapter}-") for transport in built)
        assert is_built != (adapter in remedies), adapter  # some bring their library along, and are built


def test_the_program_itself_names_what_was_left_out(without_packages: tuple[str, Path]) -> None:
    said, build = without_packages
    compiled_in = (build / "transports_left_out.cpp").read_text(encoding="utf-8")

    for name, remedy in LEFT_OUT.findall(said):
        assert f'"{name}", "{remedy}"' in compiled_in
