"""docs/add-a-format.md has an example format for a tool that prints blocks. This format reads its log, and passes the tests for formats."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.depth import tries
from tests.waiting import LIMIT_S

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs/add-a-format.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("### A result on several lines\n")[2].partition("\n## ")[0]
(MODULE,) = re.findall(r"^```py\n(.*?)^```$", SECTION, flags=re.MULTILINE | re.DOTALL)
(LOG,) = re.findall(r"^```text\n(.*?)^```$", SECTION, flags=re.MULTILINE | re.DOTALL)
(CALL,) = re.findall(r"`(format_tests\(.*?\))`", SECTION)
MORE = LOG + LOG.replace("64 B", "1024 B").replace("10.25", "11.75").replace("31.00", "30.50")
TESTS = f"""
from pathlib import Path
from tacholog.formats.reading import read
from tacholog.formats.testing import Allowances, Distance, format_tests

HERE = Path(__file__).parent
logs = [HERE / "blocks.log"]
TestBlocks = {CALL.removesuffix(")")}, examples={tries(5, 60)})


def test_each_number_stands_on_its_own_line() -> None:
    first, second = read(logs[0]).records

    assert (first.payload_bytes, second.payload_bytes) == (64, 1024)
    assert [(n.statistic, n.value, n.resolution, n.line) for n in second.numbers] == [("p50", 11750, 10, 5), ("p99", 30500, 10, 6)]


def test_a_block_that_lacks_a_line_or_its_end_is_broken() -> None:
    broken = HERE / "broken.log"
    broken.write_text({LOG!r}.replace("  p50  10.25 us\\n", "") + {LOG!r} + {LOG!r}.removesuffix(" us\\n"))
    log = read(broken, "blockbench")

    assert [record.payload_bytes for record in log.records] == [64]
    assert sorted((problem.line, problem.kind) for problem in log.problems) == [(1, "broken"), (2, "unknown"), (6, "broken"), (8, "unknown")]
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a folder with the files that pip would install: the example module of the page, with its log and its tests."""
    information = tmp_path / "tacholog_blockbench-0.1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tacholog-blockbench\nVersion: 0.1.0\n")
    (information / "entry_points.txt").write_text("[tacholog.formats]\nblockbench = tacholog_blockbench\n")
    (tmp_path / "tacholog_blockbench.py").write_text(MODULE)
    (tmp_path / "blocks.log").write_text(MORE)
    (tmp_path / "test_blocks.py").write_text(TESTS)
    return tmp_path


def test_example_format_for_blocks_reads_its_log_and_passes_the_tests_for_formats(package: Path) -> None:
    path = os.pathsep.join(folder for folder in (str(package), os.environ.get("PYTHONPATH", "")) if folder)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(package / "test_blocks.py")],
        cwd=package,
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )

    assert done.returncode == 0, done.stdout
    assert re.search(r"^19 passed", done.stdout, re.MULTILINE)
