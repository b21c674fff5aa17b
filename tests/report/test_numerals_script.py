"""One formatter in two languages: the script of the page that compares writes the same numeral as Python for the same value."""

from __future__ import annotations

import json
import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from tacholog.view.numerals import quantity, rounded, size, steps_of

SCRIPT = Path(__file__).resolve().parent.parent.parent / "site" / "_static" / "tacholog-numerals.js"
UNITS = ("ns", "bit_per_s", "messages_per_s", "ratio")
# Where a step, a rounding or a binary fraction decides.
EDGES = (
    *(999.6, 999.4, 999.5, 999.4999999999999, 99.95, 99.949999999999, 9.995, 9.9949, 0.9995, 0.99949, 0.0, 1.0, 1000.0, 999_600.0, 999_500.0),
    *(1e6, 1e9, 1e12, 1e15, 1.23456789e18, 1_000_000_000_000.5, 1_000_000_000_005.0, 0.5, 2.5, 1.005, 1.015, 0.125, 100.5, 101.5, 1234.5),
    *(355.0, 0.05952558778717175, 18888858226.590515, 3527250.4e6, 1e-7, 4.5e-5, 12345678.9),
)


def values() -> list[float]:
    """Edges, values of all sizes as logs print them, and floats of any bits within what is ever shown."""
    chance = random.Random(12)  # noqa: S311 - no secret
    printed = [round(chance.uniform(1, 10) * 10 ** chance.randint(-6, 15), chance.randint(0, 6)) for _ in range(4000)]
    halves = [(chance.randint(100, 9999) + 0.5) * 10.0 ** chance.randint(-6, 9) for _ in range(4000)]
    bits = [struct.unpack("<d", struct.pack("<Q", chance.getrandbits(64)))[0] for _ in range(4000)]
    return [*EDGES, *(abs(value) for value in (*printed, *halves)), *(abs(value) for value in bits if 1e-12 < abs(value) < 1e24)]


@pytest.fixture(scope="module")
def written() -> dict[str, list[str]]:
    """What the script writes of each value."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node found; the pages' tests run the script in a browser")
    program = f"""
        {SCRIPT.read_text()}
        const {{ values, steps, sizes }} = JSON.parse(require("fs").readFileSync(0, "utf8"));
        const {{ rounded, quantity, size }} = globalThis.tachologNumerals;
        const found = {{ rounded: values.map((value) => rounded(value)), size: sizes.map(size) }};
        for (const [unit, each] of Object.entries(steps)) found[unit] = values.map((value) => quantity(value, each));
        console.log(JSON.stringify(found));
    """
    asked = {"values": values(), "sizes": SIZES, "steps": {unit: steps_of(unit) for unit in UNITS}}
    done = subprocess.run([node, "-e", program], input=json.dumps(asked), capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


SIZES = [0, 1, 16, 1000, 1023, 1024, 1025, 63000, 65536, 100000, 1048576, 1536 * 1024, 33554432, 1 << 30, (1 << 40) + 1]


@pytest.mark.parametrize("unit", UNITS)
def test_the_script_writes_each_quantity_as_python_does(written: dict[str, list[str]], unit: str) -> None:
    asked = values()

    different = [(value, quantity(value, unit), text) for value, text in zip(asked, written[unit], strict=True) if quantity(value, unit) != text]

    assert len(asked) > 8000
    assert different == []


def test_the_script_rounds_each_number_and_says_each_size_as_python_does(written: dict[str, list[str]]) -> None:
    assert [text for text, value in zip(written["rounded"], values(), strict=True) if text != rounded(value)] == []
    assert written["size"] == [size(bytes_) for bytes_ in SIZES]


def test_a_value_that_rounds_up_to_a_step_is_said_in_that_step() -> None:
    assert quantity(999.6, "ns") == "1\u00a0\u00b5s"
    assert quantity(999.4, "ns") == "999\u00a0ns"
    assert quantity(999_600.0, "ns") == "1\u00a0ms"
    assert quantity(999.4999999999999, "ns") == "1\u00a0\u00b5s"  # twelve digits, which is more than any log prints, are 999.5


def test_a_number_of_any_size_can_be_written() -> None:
    assert rounded(1e30) == "\u202f".join(["1", *["000"] * 10])
    assert rounded(1e-300).startswith("0.000")
