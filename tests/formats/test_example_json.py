"""docs/add-a-format.md has an example format for JSON. The format reads real logs, and passes the tests that each format must pass."""

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
MODULE = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)[1]
SAMPLES = "docs/example-logs/fio"
TESTS = f"""
from pathlib import Path
from tacholog.formats.reading import read
from tacholog.formats.testing import format_tests

LOGS = Path({str(ROOT / SAMPLES)!r})
LOG_FILES = [LOGS / "tcp-3.33.json", LOGS / "refused-3.33.json"]
# "lat_ns" has the members of "clat_ns" and follows it: if the lines between them are lost, nothing shows it.
TestFio = format_tests("fio", LOG_FILES, not_moved=LOG_FILES[:1], examples={tries(5, 60)})


def test_numbers_are_those_of_the_log_and_stand_on_their_lines() -> None:
    first, second = read(LOGS / "tcp-3.33.json").records
    numbers = {{number.statistic: (number.value, number.line) for number in first.numbers}}

    assert (first.payload_bytes, first.samples, second.payload_bytes) == (64, 10240, 1024)
    assert (numbers["mean"], numbers["std"]) == ((178424.854492, 88), (889360.709820, 89))
    assert (numbers["p50"], numbers["p99.99"]) == ((16320.0, 98), (15663104.0, 108))


def test_a_run_that_was_refused_failed() -> None:
    log = read(LOGS / "refused-3.33.json")

    assert (log.account.status, log.account.reason) == ("failed", "error 111 in job send-1024")
    assert (log.records, log.unknown) == ([], [])
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder has the files that pip would install."""
    folder = tmp_path_factory.mktemp("fio")
    (folder / "tacholog_fio.py").write_text(MODULE)
    information = folder / "tacholog_fio-0.1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tacholog-fio\nVersion: 0.1.0\n")
    (information / "entry_points.txt").write_text("[tacholog.formats]\nfio = tacholog_fio\n")
    return folder


def run(package: Path, cwd: Path, *words: str) -> str:
    """Return the output of a Python program that runs in ``cwd`` and can import the package."""
    path = os.pathsep.join(part for part in (str(package), os.environ.get("PYTHONPATH", "")) if part)
    environment = os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_page_shows_the_records_that_the_example_format_reads(package: Path) -> None:
    example = re.search(r"^\$ tacholog (parse docs/example-logs/.*)\n((?:.*\n)*?)```", PAGE, flags=re.MULTILINE)

    assert example
    assert run(package, ROOT, "tacholog", *example[1].split()) == example[2]


def test_example_format_for_json_passes_the_tests_for_formats(package: Path) -> None:
    (package / "test_fio.py").write_text(TESTS)

    output = run(package, package, "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(package / "test_fio.py"))

    assert re.search(r"^19 passed", output, re.MULTILINE)
