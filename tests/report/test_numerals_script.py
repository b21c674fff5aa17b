"""The script of the comparison page writes each number in the same way as Python."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.left_out import leave_out

from tacholog.view.numerals import quantity, rounded, steps_of

STATIC = Path(__file__).resolve().parent.parent.parent / "site" / "_static"
SCRIPT = STATIC / "tacholog-numerals.js"
UNITS = ("ns", "bit_per_s", "messages_per_s", "ratio")
# Values at a change of unit, at a rounding limit, or with an inexact binary fraction.
EDGES = (
    *(999.6, 999.4, 999.5, 999.4999999999999, 99.95, 99.949999999999, 9.995, 9.9949, 0.9995, 0.99949, 0.0, 1.0, 1000.0, 999_600.0, 999_500.0),
    *(1e6, 1e9, 1e12, 1e15, 1.23456789e18, 1_000_000_000_000.5, 1_000_000_000_005.0, 0.5, 2.5, 1.005, 1.015, 0.125, 100.5, 101.5, 1234.5),
    *(355.0, 0.05952558778717175, 18888858226.590515, 3527250.4e6, 1e-7, 4.5e-5, 12345678.9),
)
# Three kinds of values: values as logs print them, values halfway between two rounded values, and random floats in the range of shown values.
PRINTED = st.builds(lambda digits, places: float(f"{digits}e{places}"), st.integers(0, 10**7), st.integers(-9, 9))
HALVES = st.builds(lambda digits, places: float(f"{digits}.5e{places}"), st.integers(100, 9999), st.integers(-6, 9))
VALUES = st.lists(PRINTED | HALVES | st.floats(1e-12, 1e24), min_size=1, max_size=200)

Write = Callable[[list[float], list[list[object]] | None], list[str]]


@pytest.fixture(scope="module")
def write() -> Iterator[Write]:
    node = shutil.which("node")
    if node is None:
        leave_out("no node found; the pages' tests run the script in a browser")
    program = f"""
        {SCRIPT.read_text()}
        require("readline").createInterface({{ input: process.stdin }}).on("line", (line) => {{
            const [values, steps] = JSON.parse(line);
            console.log(JSON.stringify(values.map((value) => globalThis.tachologNumerals.numeral(value, steps ?? undefined))));
        }});
    """
    with subprocess.Popen([node, "-e", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        to_script, from_script = process.stdin, process.stdout
        assert to_script
        assert from_script

        def written(values: list[float], steps: list[list[object]] | None) -> list[str]:
            to_script.write(json.dumps([values, steps]) + "\n")
            to_script.flush()
            return list(json.loads(from_script.readline()))

        yield written


@pytest.mark.parametrize("unit", UNITS)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=VALUES)
@example(values=list(EDGES))
def test_script_writes_each_quantity_as_python_does(write: Write, unit: str, values: list[float]) -> None:
    assert write(values, steps_of(unit)) == [quantity(value, unit) for value in values]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=VALUES)
@example(values=list(EDGES))
def test_script_writes_a_number_that_has_no_unit_as_python_does(write: Write, values: list[float]) -> None:
    assert write(values, None) == [rounded(value) for value in values]


def test_comparison_page_has_no_other_code_that_formats_numbers() -> None:
    script = (STATIC / "tacholog-compare.js").read_text()

    assert [way for way in ("toFixed", "toPrecision", "toLocaleString", "Intl.", "Math.round") if way in script] == []


def test_value_that_rounds_up_to_the_next_unit_is_written_in_that_unit() -> None:
    assert quantity(999.6, "ns") == "1\u00a0\u00b5s"
    assert quantity(999.4, "ns") == "999\u00a0ns"
    assert quantity(999_600.0, "ns") == "1\u00a0ms"
    assert quantity(999.4999999999999, "ns") == "1\u00a0\u00b5s"  # The value is first rounded to twelve digits, more than any log prints: 999.5.


def test_number_of_any_magnitude_can_be_written() -> None:
    assert rounded(1e30) == "\u202f".join(["1", *["000"] * 10])
    assert rounded(1e-300).startswith("0.000")
