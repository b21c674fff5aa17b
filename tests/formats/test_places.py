"""The position of each number on its line, as a format or the kit states it."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from tests.long_logs import LONG_LOGS, LongLog

from tacholog.formats.reading import Scan, read, read_text
from tacholog.formats.source import LogText
from tacholog.schema.records import Number, Record

SUMMARY = "Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)"
PLACED = [name for name in LONG_LOGS if name.startswith(("RTI ", "Fast RTPS", "perftest", "iperf3")) and "samples" not in name]
HERE = Path(__file__).parent
SAMPLES = [
    path for name in ("rti", "iperf3", "resources") for path in sorted((HERE / name).iterdir()) if path.suffix in {".log", ".csv", ".json", ".txt"}
]
UNITS = (1, 1e3, 1e6, 1e9, 1e-2, *(bits * 1024**power for bits in (1, 8) for power in range(5)), *(1000**power for power in range(5)))
ON_ONE_LINE = {"tcp-one-line.json", "tcp-stream.json", "udp-two-streams-reverse-stream.json"}  # The JSON of these logs is parsed as a whole.


def texts(line: str, record: Record | None) -> dict[tuple[str, str], str | None]:
    """Return the text at the position of each number of a record. All these numbers are on one line."""
    assert record is not None
    return {(n.metric, n.statistic): None if n.value_start is None else line[n.value_start : n.value_end] for n in record.numbers}


@pytest.mark.parametrize("before", ["", "  ", "2026-11-27T10:00:00.5 ", "Clock skew suspected: received time 5 usec, sent time 7 usec"])
def test_each_number_has_the_position_of_its_digits_on_the_line(before: str) -> None:
    lines = [before + SUMMARY.replace("77849677", f"7784967{index}") for index in range(9)]

    records = read_text("\n".join(lines) + "\n", "rti").records

    assert len(records) == 9
    assert texts(lines[3], records[3]) == {
        ("messages_received", "total"): "77849673",
        ("messages_lost", "total"): "0",
        ("message_rate", "mean"): "2594706",
        ("goodput", "mean"): "664.2",
        ("loss", "total"): "0.00",
    }


def test_numbers_are_equal_even_if_their_positions_differ() -> None:
    number, other = (Number(metric="loss", statistic="total", value=0.5, value_start=start, value_end=start + 3) for start in (3, 17))

    assert number == other
    assert hash(number) == hash(other)
    assert number != Number(metric="loss", statistic="total", value=0.25, value_start=3, value_end=6)


@pytest.mark.parametrize("log", [LONG_LOGS[name] for name in PLACED], ids=PLACED)
def test_numbers_that_are_read_in_bulk_have_the_same_positions_as_numbers_of_single_lines(log: LongLog) -> None:
    text = log.text(200)
    lines = text.split("\n")
    at_once, one_by_one = (
        [
            (event.line, number.metric, number.statistic, number.value_start, number.value_end)
            for event in sorted(Scan(LogText(io.BytesIO(text.encode())), log.format, run_lines))
            if isinstance(event.what, Record)
            for number in event.what.numbers
        ]
        for run_lines in (2, 10**6)
    )

    assert at_once == one_by_one
    assert {metric for _, metric, _, start, _ in at_once if start is None} <= {
        "loss",
        "duration",
    }  # Loss and duration are computed from other numbers.
    assert all(re.fullmatch(r"[0-9]+(\.[0-9]+)?", lines[line - 1][start:end]) for line, _, _, start, end in at_once if start is not None)


@pytest.mark.parametrize("path", SAMPLES, ids=[f"{path.parent.name}/{path.name}" for path in SAMPLES])
def test_each_number_in_the_sample_logs_has_the_position_of_its_digits_on_the_line(path: Path) -> None:
    lines = path.read_text(errors="replace").split("\n")
    numbers = [(number, number.line or event.line) for event in read(path).events if isinstance(event.what, Record) for number in event.what.numbers]

    for number, line in numbers:
        if number.value_start is None:
            # A computed number has no digits. In text, its counts are on its line; JSON has a line for each of them.
            assert number.metric == "duration" or (number.metric == "loss" and path.suffix != ".json") or number.marks or path.name in ON_ONE_LINE
            continue
        text = lines[line - 1][number.value_start : number.value_end]
        assert re.fullmatch(r"-?[0-9.,e+-]+", text)
        if number.bound == "=" and number.value:
            printed = float(text.replace(",", "" if "." in text else "."))  # A comma is a decimal point or a thousands separator.
            assert any(number.value == pytest.approx(printed * unit, rel=1e-6) for unit in UNITS)
