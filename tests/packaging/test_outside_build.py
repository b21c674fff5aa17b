"""An external project builds its own perftest from the installed package, as docs/add-a-middleware.md describes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests.packaging.cmake_program import cmake
from tests.waiting import LIMIT_S

pytestmark = pytest.mark.core

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/add-a-middleware.md"
# A file of the guide is the code block after a comment with its name.
FILE = re.compile(r"<!-- file: (?P<name>[\w.]+) -->\n```\w+\n(?P<text>.*?)```\n", re.DOTALL)


def run(*command: str | Path) -> str:
    """Run a command that must succeed, and return its output."""
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    return ended.stdout


@pytest.fixture(scope="module")
def built(perftest: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program that the project of the guide builds against an installed package."""
    assert perftest.is_file()
    folder = tmp_path_factory.mktemp("outside")
    cmake("--install", perftest.parent, "--prefix", folder / "prefix")
    files = dict(FILE.findall(GUIDE.read_text(encoding="utf-8")))
    assert sorted(files) == ["CMakeLists.txt", "notice_board.cpp"]
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    cmake("-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}")
    cmake("--build", folder / "build")
    return folder / "build/perftest"


def test_cmake_project_in_the_guide_has_at_most_ten_lines() -> None:
    project = dict(FILE.findall(GUIDE.read_text(encoding="utf-8")))["CMakeLists.txt"]

    assert len([line for line in project.splitlines() if line.strip()]) <= 10


@pytest.mark.nightly
def test_program_of_the_external_project_has_one_more_transport(built: Path) -> None:
    listed = run(built, "--list-transports", "--verbose")

    assert "notice-board    threads of one process, by a queue under a lock; reliable, copied\n" in listed
    assert "--set queue-length=N  (default 64)" in listed
    assert "\nshm  " in listed
    assert "zeromq" not in listed, "adapters are not part of the package"


@pytest.mark.nightly
def test_program_of_the_external_project_measures(built: Path) -> None:
    options = ("--sizes", "64,1KiB", "--duration", "0.1", "--warmup", "0", "--set", "queue-length=8")

    log = run(built, "--test", "latency", "--transport", "notice-board", *options)

    assert re.search(r"^settings queue_length=8$", log, re.MULTILINE)
    assert len(re.findall(r"^latency payload_bytes=\d+ ", log, re.MULTILINE)) == 2
    assert "end status=ok latency=2 " in log
