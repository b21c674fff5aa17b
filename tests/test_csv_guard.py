"""No CSV that a command writes has a field that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path

import pytest
from tests.command import run_tacholog

from tacholog.visible import no_formula

SIGNS = ("=", "+", "-", "@", "\t", "\r")
LOG = Path(__file__).parent / "formats/native/latency-udp.log"


@pytest.mark.parametrize("sign", SIGNS)
def test_a_text_that_begins_like_a_formula_gets_an_apostrophe(sign: str) -> None:
    assert no_formula(f"{sign}SUM(1)") == f"'{sign}SUM(1)"
    assert no_formula(f"a{sign}SUM(1)") == f"a{sign}SUM(1)"


@pytest.mark.parametrize("text", ["-1.5", "-", "=", "", "1", "~"])
def test_a_number_and_a_sign_alone_are_no_formulas(text: str) -> None:
    assert no_formula(text) == text


@pytest.mark.parametrize("sign", [sign for sign in SIGNS if sign not in "\t\r"])
def test_parse_prints_no_formula(tmp_path: Path, sign: str) -> None:
    shutil.copy(LOG, tmp_path / f"{sign}cmd.log")

    done = run_tacholog("parse", "--format", "csv", "--", f"{sign}cmd.log", cwd=tmp_path)

    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert {row["log"] for row in rows} == {f"'{sign}cmd.log"}
