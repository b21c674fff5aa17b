"""No CSV file of a command has a field that a spreadsheet would execute."""

from __future__ import annotations

import csv
import hashlib
import io
import shutil
from pathlib import Path

import pytest
from tests.command import run_tacholog

from tacholog.runs.manifest import LogFile, Manifest, write
from tacholog.visible import no_formula

SIGNS = ("=", "+", "-", "@", "\t", "\r")
LOG = Path(__file__).parent / "formats/native/latency-udp.log"
#: The CSV field for each text, in files of commands and of pages.
FORMULAS = {
    "=1+1": "'=1+1",
    "+1 555": "'+1 555",
    "-x": "'-x",
    "@SUM(1)": "'@SUM(1)",
    "\t=1": "'\t=1",
    "\r=1": '"\'\r=1"',
    '=HYPERLINK("a",1)': '"\'=HYPERLINK(""a"",1)"',
    "-1.5": "-1.5",
    "<": "<",
    "-": "-",
    "a=1": "a=1",
}


@pytest.mark.parametrize("sign", SIGNS)
def test_text_that_starts_like_a_formula_gets_an_apostrophe(sign: str) -> None:
    assert no_formula(f"{sign}SUM(1)") == f"'{sign}SUM(1)"
    assert no_formula(f"a{sign}SUM(1)") == f"a{sign}SUM(1)"


@pytest.mark.parametrize("text", ["-1.5", "-", "=", "", "1", "~"])
def test_number_and_single_sign_are_not_treated_as_formulas(text: str) -> None:
    assert no_formula(text) == text


@pytest.mark.parametrize("sign", [sign for sign in SIGNS if sign not in "\t\r"])
def test_parse_prints_no_formula(tmp_path: Path, sign: str) -> None:
    shutil.copy(LOG, tmp_path / f"{sign}cmd.log")

    done = run_tacholog("parse", "--format", "csv", "--", f"{sign}cmd.log", cwd=tmp_path)

    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert {row["log"] for row in rows} == {f"'{sign}cmd.log"}


def test_export_prints_no_formula(tmp_path: Path) -> None:
    text = LOG.read_bytes()
    log = LogFile(file="a.log", sha256=hashlib.sha256(text).hexdigest())
    for number, cell in enumerate(FORMULAS):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        (folder / "a.log").write_bytes(text)
        write(folder / "run.toml", Manifest(system=cell, release="1", host="h", status="ok", logs=(log,)))

    done = run_tacholog("export", "--data", tmp_path)

    rows = list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))
    assert done.returncode == 0, done.stderr
    assert {row["system"] for row in rows} == {no_formula(cell) for cell in FORMULAS}
