"""VideoTest of Fast DDS. The sample logs were written according to the source code of the tool."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text
from tacholog.schema.records import Number

LOGS = Path(__file__).parent / "fastrtps"
LOG = (LOGS / "video.log").read_text()
RATES = next(line for line in LOG.splitlines(keepends=True) if "29.41" in line)
DROPS = next(line for line in LOG.splitlines(keepends=True) if "0.42" in line)


def test_each_of_the_two_tables_becomes_a_record_of_the_subscriber() -> None:
    log = read(LOGS / "video.log")

    assert (log.format, log.broken, log.unknown) == ("fastrtps", [], [])
    rates, drops = log.records
    assert {(record.test, record.side, record.samples, record.payload_bytes) for record in log.records} == {("throughput", "subscriber", 60, None)}
    assert rates.number("message_rate", "mean") == Number(metric="message_rate", statistic="mean", value=29.41, resolution=0.01)
    assert [number.value for number in rates.numbers] == [0.83, 29.41, 26.02, 29.54, 29.97, 29.99, 30.0, 30.01]
    assert drops.number("messages_lost", "p90") == Number(metric="messages_lost", statistic="p90", value=1.0, resolution=0.01)
    assert drops.number("messages_lost", "min") == Number(metric="messages_lost", statistic="min", value=0.01, resolution=0.01, bound="<")


def test_row_of_a_csv_file_becomes_one_record_with_the_numbers_of_both_tables() -> None:
    """In this file, each number has up to six digits."""
    log = read(LOGS / "video.csv")

    assert (log.broken, log.unknown) == ([], [])
    (record,) = log.records
    assert record.number("message_rate", "p99.99") == Number(metric="message_rate", statistic="p99.99", value=29.9987, resolution=0.0001)
    assert record.number("messages_lost", "max") == Number(metric="messages_lost", statistic="max", value=2.0, resolution=1e-05)
    assert len(record.numbers) == 16


def test_row_below_the_header_of_the_other_table_is_broken() -> None:
    log = read_text(LOG.replace(RATES, DROPS), "fastrtps")

    assert log.broken == ["text:7: the row is cut short, garbled, or belongs to another table"]
    assert len(log.records) == 1


def test_second_row_of_a_table_is_broken() -> None:
    assert read_text(LOG.replace(RATES, RATES + RATES), "fastrtps").broken == ["text:8: a second row: this table has only one row"]


@pytest.mark.parametrize("printed", ["        nan", "      -1.00"])
def test_impossible_frame_rate_is_unknown(printed: str) -> None:
    (rates, _) = read_text(LOG.replace("      26.02", printed), "fastrtps").records

    assert rates.number("message_rate", "min") == Number(metric="message_rate", statistic="min", value=None, marks=("impossible",))


def test_row_with_unordered_statistics_is_broken() -> None:
    log = read_text(LOG.replace("29.54", "19.54"), "fastrtps")

    assert log.broken == ["text:7: minimum, percentiles and maximum of this row are not in order"]
