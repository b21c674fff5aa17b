"""A number that no table can store affects only its own result: in the log, in the tables, and in a comparison."""

from __future__ import annotations

import random
import re
import warnings
from pathlib import Path

import pytest

import tacholog
from tacholog.errors import UnreadableInput
from tacholog.formats.reading import read_text
from tacholog.formats.registry import formats

HERE = Path(__file__).parent
NAMES = [name for name in sorted(formats()) if (HERE / name).is_dir()]
HUGE = (
    b"9223372036854775807",
    b"9223372036854775808",
    b"18446744073709551615",
    b"9" * 40,
    b"9" * 400,
    b"1e300",
    b"9e307",
    b"1e999",
    b"-1",
    b"0",
    b"0.0",
)
_NUMBER = re.compile(rb"[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?")
_SHARES = (0.02, 0.2)  # The share of changed numbers. With a large share, most results are broken before their numbers are checked.


def changed(log: bytes, chance: random.Random, share: float) -> bytes:
    """Replace a share of the numbers of a log by numbers such as 1e999."""
    return _NUMBER.sub(lambda number: chance.choice(HUGE) if chance.random() < share else number[0], log)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", NAMES)
def test_number_out_of_range_affects_at_most_its_own_result(name: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)  # noqa: S311
    samples = [path for path in sorted((HERE / name).iterdir()) if path.name != "README.md" and path.stat().st_size < 60_000]
    for number, sample in enumerate(chance.sample(samples, min(2, len(samples)))):
        old, new = tmp_path / f"{number}-old.log", tmp_path / f"{number}-new.log"
        old.write_bytes(sample.read_bytes())
        new.write_bytes(changed(sample.read_bytes(), chance, _SHARES[seed % 2]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                loaded = tacholog.load(new)
            except UnreadableInput:
                continue  # The change may affect the text by which the format is detected.
            loaded.save(tmp_path / f"{number}-saved")
            tacholog.diff(old, new)


@pytest.mark.parametrize(
    ("name", "sample", "old", "new", "reason"),
    [
        ("performance_test", "layout.json", '"latency_n":1000.0', '"latency_n":9e300', "the number of samples is about 2^1000, which is impossible"),
        ("native", "latency-udp.log", "samples=", "samples=9223372036854775808", None),
    ],
)
def test_count_out_of_the_range_of_the_schema_affects_no_other_row(name: str, sample: str, old: str, new: str, reason: str | None) -> None:
    text = (HERE / name / sample).read_text(encoding="utf-8")
    assert old in text
    original, log = read_text(text, name), read_text(text.replace(old, new, 1), name)

    assert len(log.broken) >= 1
    assert reason is None or log.broken[0].endswith(reason)
    assert 0 < len(log.records) < len(original.records) or name == "native"
