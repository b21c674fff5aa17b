"""RTI Perftest: the meaning of its lines and pages. Expected values were copied by hand from the logs in ``rti/`` (see its README)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "rti"


def test_throughput_summary_becomes_one_record_with_its_printed_resolution() -> None:
    first = read(LOGS / "document.md").records[0]

    assert first == Record(
        test="throughput",
        payload_bytes=32,
        numbers=(
            Number(metric="messages_received", statistic="total", value=77849677),
            Number(metric="messages_lost", statistic="total", value=0),
            Number(metric="message_rate", statistic="mean", value=2594706, resolution=1),
            Number(metric="goodput", statistic="mean", value=664.2e6, resolution=1e5),
            Number(metric="loss", statistic="total", value=0),
        ),
        samples=77849677,
        side="subscriber",
        conditions=Conditions(definition="rti-throughput"),
    )


def test_latency_summary_is_half_of_a_round_trip_in_whole_microseconds() -> None:
    first = read(LOGS / "manual-latency.log").records[0]

    assert first.payload_bytes == 32
    assert first.conditions.basis == "rtt/2"
    assert first.samples is None
    assert [(n.statistic, n.value, n.resolution) for n in first.numbers] == [
        ("mean", 100_000, 1000),
        ("std", 202_500, 100),
        ("min", 62_000, 1000),
        ("max", 5_543_000, 1000),
        ("p50", 88_000, 1000),
        ("p90", 107_000, 1000),
        ("p99", 180_000, 1000),
        ("p99.99", 5_543_000, 1000),
        ("p99.9999", 5_543_000, 1000),
    ]


def test_each_log_in_the_manual_has_seven_records_and_one_line_that_the_tool_did_not_print() -> None:
    for name in ("manual-latency.log", "manual-throughput.log"):
        log = read(LOGS / name)

        assert len(log.records) == 7
        assert log.broken == []
        assert log.unknown == [1]


def test_banner_states_the_versions() -> None:
    facts = read(LOGS / "manual-latency.log").account.facts

    assert (facts.tool_version, facts.system_version) == ("2.3.2", "5.3.0")


def test_results_between_prose_and_scripts_are_read() -> None:
    log = read(LOGS / "document.md")

    assert [(event.line, event.what.payload_bytes) for event in log.events if isinstance(event.what, Record)] == [(11, 32), (12, 64), (16, 31457280)]
    assert log.unknown == [1, 3, 5, 6, 7, 9, 14, 18]


def test_lost_samples_are_read_as_a_count_and_as_the_printed_share() -> None:
    lossy = read(LOGS / "document.md").records[2]

    assert lossy.number("messages_lost", "total") == Number(metric="messages_lost", statistic="total", value=215763)
    assert lossy.number("loss", "total") == Number(metric="loss", statistic="total", value=0.9948, resolution=1e-4)


def test_row_of_a_web_page_becomes_a_record_with_the_reliability_stated_above_its_table() -> None:
    log = read(LOGS / "page.txt")

    best_effort, reliable = log.records
    assert best_effort.payload_bytes == 2048
    assert [n.value for n in best_effort.numbers] == [39e3, 980.1e3, 20e3, 100057e3, 30e3, 31e3, 31e3, 63e3, 100057e3]
    assert best_effort.conditions.reliability == "best-effort"
    assert reliable.conditions.reliability == "reliable"
    assert reliable.conditions.keyed is False
    assert reliable.conditions.transport == "UDPv4_WAN"


def test_record_of_a_web_page_has_the_lines_of_its_cells() -> None:
    event = next(event for event in read(LOGS / "page.txt").events if isinstance(event.what, Record))

    assert (event.line, event.last_line) == (29, 47)
    assert list(event.lines) == [29, 31, 33, 35, 37, 39, 41, 43, 45, 47]


def test_line_numbers_of_a_script_on_a_web_page_are_not_read_as_cells() -> None:
    assert len(read(LOGS / "page.txt").records) == 2


def test_row_with_a_missing_cell_is_broken_and_affects_no_other_row() -> None:
    log = read(LOGS / "cell-missing.txt")

    assert log.broken == ["cell-missing.txt:29: the table ends within this row"]
    assert [record.payload_bytes for record in log.records] == [32]


def test_truncated_line_is_broken_and_affects_no_other_line() -> None:
    log = read(LOGS / "cut-short.log")

    assert log.broken == ["cut-short.log:3: summary line is cut short or garbled"]
    assert [record.payload_bytes for record in log.records] == [32, 64]


def test_latency_that_is_printed_as_zero_is_below_one_microsecond() -> None:
    line = "Length: 16 Latency: Ave 0 us Std 0.2 us Min 0 us Max 9 us 50% 0 us 90% 1 us 99% 1 us 99.99% 9 us 99.9999% 9 us\n"

    record = read_text(line, "rti").records[0]

    assert record.number("latency", "p50") == Number(metric="latency", statistic="p50", value=1000, resolution=1000, bound="<")


@pytest.mark.parametrize("size", ["0", "9" * 30, "9" * 5000])
def test_impossible_message_size_is_refused(size: str) -> None:
    line = f"Length: {size} Packets: 5 Packets/s(ave): 5 Mbps(ave): 5.0 Lost: 0 (0.00%)\n"

    assert read_text(line, "rti").broken == ["text:1: an impossible message size"]


def test_last_line_of_a_log_is_broken_if_its_count_of_lost_samples_may_be_truncated() -> None:
    line = "Length: 32 Packets: 10000000 Packets/s(ave): 47913 Mbps(ave): 12.3 Lost: 21"

    assert read_text(line, "rti").broken == ["text:1: the log ends within this line"]
    assert len(read_text(line + "\n", "rti").records) == 1
