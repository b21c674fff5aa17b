"""If cargo cannot provide the crates, adapters that need them are not built, and a message states how to install them."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from tests.left_out import leave_out
from tests.packaging.cmake_program import cmake

pytestmark = pytest.mark.core

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = re.compile(r"^-- (?P<name>\S+) is left out: (?P<remedy>.*)$", re.MULTILINE)
RUSTUP = "install cargo 1.89 or newer (https://rustup.rs)"


def left_out(build: Path, *options: str, first_on_path: Path | None = None) -> dict[str, str]:
    """Return the remedy for each transport that the core leaves out."""
    compiler = shutil.which("c++")
    if compiler is None:
        leave_out("no C++ compiler")
    path = os.environ["PATH"] if first_on_path is None else f"{first_on_path}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    said = cmake("-S", ROOT / "bench", "-B", build, f"-DCMAKE_CXX_COMPILER={compiler}", "-DBUILD_TESTING=OFF", *options, environment=environment)
    return {found["name"]: found["remedy"] for found in LEFT_OUT.finditer(said)}


def cargo_that(folder: Path, script: str) -> Path:
    folder.mkdir()
    program = folder / "cargo"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return folder


def test_message_states_how_to_install_cargo_if_cargo_is_missing(tmp_path: Path) -> None:
    with_cargo = [folder for folder in os.environ["PATH"].split(os.pathsep) if (Path(folder) / "cargo").exists()]
    make = shutil.which("make") or "make"  # make and cargo may be in the same folder, which CMake ignores here.

    remedies = left_out(tmp_path / "build", f"-DCMAKE_IGNORE_PATH={';'.join(with_cargo)}", "-G", "Unix Makefiles", f"-DCMAKE_MAKE_PROGRAM={make}")

    assert remedies["iceoryx2"] == RUSTUP
    assert remedies["aeron"] == RUSTUP


def test_message_states_the_version_of_a_cargo_that_is_too_old(tmp_path: Path) -> None:
    folder = cargo_that(tmp_path / "bin", "echo 'cargo 1.65.0'")

    remedies = left_out(tmp_path / "build", first_on_path=folder)

    assert remedies["iceoryx2"] == f"{RUSTUP}: {folder}/cargo is 1.65.0"
    assert remedies["aeron"] == f"{RUSTUP}: {folder}/cargo is 1.65.0"


def test_cargo_without_network_is_not_an_error(tmp_path: Path) -> None:
    folder = cargo_that(tmp_path / "bin", 'test "$1" = --version && echo "cargo 1.95.0"')

    remedies = left_out(tmp_path / "build", first_on_path=folder)

    assert remedies["iceoryx2"] == "cargo cannot fetch its crates: connect to crates.io, and configure again"


def test_build_without_crates_excludes_adapters_that_need_crates(tmp_path: Path) -> None:
    remedies = left_out(tmp_path / "build", "-DTACHOLOG_CRATES=OFF")

    assert not {"aeron", "iceoryx2"} & set(remedies)  # Transports that are switched off are not listed by CMake, but by perftest.
    compiled_in = (tmp_path / "build/transports_left_out.cpp").read_text(encoding="utf-8")
    assert '"iceoryx2", "configure with -DTACHOLOG_CRATES=ON"' in compiled_in
    assert '"aeron", "configure with -DTACHOLOG_CRATES=ON"' in compiled_in
