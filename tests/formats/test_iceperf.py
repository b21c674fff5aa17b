"""iceperf: the meaning of its tables. Expected values were copied by hand from the logs in ``iceperf/`` (see its README)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.errors import UnreadableInput
from tacholog.formats.reading import Log, read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "iceperf"
TABLE = """
******      ICEORYX       ********
Measurement for: 1 kB, 2 kB

#### Measurement Result ####
2000 round trips for each payload.

| Payload Size [kB] | Average Latency [\u00b5s] |
|------------------:|---------------------:|
|                 1 |                   63 |
|                 2 |                   17 |

Finished!
"""


def means(log: Log) -> list[tuple[int | None, float | None, float | None]]:
    """Return the size, the mean in nanoseconds and the resolution of the mean."""
    return [(record.payload_bytes, number.value, number.resolution) for record in log.records for number in record.numbers]


def test_row_becomes_a_record_with_the_mean_half_round_trip() -> None:
    first = read(LOGS / "2.0.3-leader.log").records[0]

    assert first == Record(
        test="latency",
        payload_bytes=1024,
        numbers=(Number(metric="latency", statistic="mean", value=63_000, resolution=1000),),
        samples=2000,
        side="publisher",
        conditions=Conditions(
            transport="iceoryx", data_path="zero-copy", payload_touched="none", load_mode="closed", basis="rtt/2", definition="iceperf-mean"
        ),
    )


def test_resolution_of_a_mean_follows_from_its_two_significant_digits() -> None:
    resolutions = {value: resolution for _, value, resolution in means(read(LOGS / "2.0.3-leader.log"))}

    assert resolutions[8_200.0] == 100  # Printed 8.2.
    assert resolutions[17_000.0] == 1000  # Printed 17.
    assert resolutions[100_000.0] == 10_000  # Printed 1e+02.
    assert {resolution for value, _, resolution in [(v, s, r) for s, v, r in means(read(LOGS / "posted-message-queue.log"))] if value == 16e6} == {
        1e6
    }
    assert {resolution for _, value, resolution in means(read(LOGS / "manual.log")) if value == 600} == {10}  # Printed 0.6 instead of 0.60.


def test_kilobyte_is_1024_bytes() -> None:
    assert [size for size, _, _ in means(read(LOGS / "2.0.3-leader.log"))] == [1024 * 2**power for power in range(13)]


def test_heading_of_a_section_gives_the_transport_and_the_data_path() -> None:
    records = read(LOGS / "manual.log").records

    transports = [
        (records[index].conditions.transport, records[index].conditions.data_path, records[index].numbers[0].value) for index in (0, 13, 26)
    ]
    assert transports == [("message queue", "copy", 3100), ("Unix domain socket", "copy", 4300), ("iceoryx", "zero-copy", 730)]
    assert len(records) == 39


def test_units_in_cells_are_read_if_the_header_has_no_units() -> None:
    log = read(LOGS / "units-layout.log")

    assert [size for size, _, _ in means(log)] == [16 * 2**power for power in range(19)]
    assert {record.conditions.transport for record in log.records} == {"iceoryx waitset"}


def test_each_line_of_each_sample_log_is_known_and_valid() -> None:
    for path in LOGS.glob("*.log"):
        assert (read(path).broken, read(path).unknown) == ([], []), path.name


def test_reason_of_a_truncated_run_names_the_message_size_at_which_the_run_stopped() -> None:
    account = read(LOGS / "stuck.log").account

    assert (account.status, account.reason) == ("truncated", "MESSAGE QUEUE: the run stopped at 1 kB, before its table was complete")


def test_log_that_ends_within_a_table_is_truncated_and_keeps_its_rows() -> None:
    log = read(LOGS / "posted-message-queue.log")

    assert len(log.records) == 14
    assert log.account.status == "truncated"
    assert read(LOGS / "manual.log").account.status is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("******      ICEORYX       ********\n", ""),
        ("2000 round trips for each payload.\n", ""),
        ("2000 round trips for each payload.\n", "2000 round trips for each payload.\n" * 2),
        ("|------------------:|---------------------:|\n", ""),
        ("[kB] |", "|"),
    ],
)
def test_rows_of_an_incomplete_table_are_broken(old: str, new: str) -> None:
    log = read_text(TABLE.replace(old, new), "iceperf")

    assert log.records == []
    assert len(log.broken) == 2


def test_broken_row_affects_no_other_row() -> None:
    log = read_text(TABLE.replace("63 |", "6"), "iceperf")

    assert log.broken == ["text:10: row is cut short or garbled"]
    assert means(log) == [(2048, 17_000, 1000)]


def test_rows_after_a_repeated_size_are_broken_because_they_may_be_from_another_table() -> None:
    row = "|                 1 |                   63 |\n"

    log = read_text(TABLE.replace(row, row * 2), "iceperf")

    assert means(log) == [(1024, 63_000, 1000)]
    assert len(log.broken) == 2


def test_mean_that_is_printed_as_zero_is_below_its_resolution() -> None:
    log = read_text(TABLE.replace("                  63 |", "                   0 |"), "iceperf")

    assert log.records[0].numbers == (Number(metric="latency", statistic="mean", value=1, resolution=1, bound="<"),)


def test_log_of_version_0_16_has_the_transport_iceoryx_although_it_has_no_heading() -> None:
    log = read(LOGS / "0.16.log")

    assert [(record.payload_bytes, record.numbers[0].value, record.samples) for record in log.records] == [
        (1024, 340, 1_000_000),
        (2048, 340, 1_000_000),
        (4096, 340, 1_000_000),
        (8192, 340, 1_000_000),
    ]
    assert {record.conditions.transport for record in log.records} == {"iceoryx"}
    assert (log.broken, log.unknown, log.account.status, log.account.reason) == ([], [], None, None)


def test_log_whose_list_of_sizes_ends_with_a_comma_and_a_blank_is_read() -> None:
    log = read(LOGS / "manual-1.0.log")

    assert [record.numbers[0].value for record in log.records][:4] == [4_400, 2_400, 2_800, 4_000]
    assert (len(log.records), log.broken, log.unknown, log.account.status) == (13, [], [], None)


def test_reason_of_a_truncated_run_names_no_transport_if_the_heading_is_missing() -> None:
    account = read_text("Measurement for 1 kB payload ... done\n", "iceperf").account

    assert account.reason == "the run stopped at 1 kB, before its table was complete"


@pytest.mark.parametrize(
    ("lost", "reason"),
    [
        ("******      ICEORYX       ********\n", "no heading above the table states which transport was measured"),
        (
            "|------------------:|---------------------:|\n",
            "the rule below the table's head is missing: rows may be lost, or belong to another table",
        ),
        ("2000 round trips for each payload.\n", "a row outside of its table: it is unknown what it measured"),
    ],
)
def test_message_about_a_broken_row_states_which_line_above_the_row_is_missing(lost: str, reason: str) -> None:
    log = read_text(TABLE.replace(lost, ""), "iceperf")

    assert [line.partition(": ")[2] for line in log.broken] == [reason, reason]


@pytest.mark.parametrize("lost", ["\nFinished!\n", "|------------------:|---------------------:|\n"])
def test_run_is_not_truncated_if_its_table_has_the_last_message_size(lost: str) -> None:
    assert read_text(TABLE.replace(lost, "\n"), "iceperf").account.status != "truncated"


def test_run_is_truncated_if_its_table_lacks_the_last_message_size() -> None:
    log = read_text(TABLE[: TABLE.index("|                 2 |")], "iceperf")

    assert (log.account.status, log.account.reason) == ("truncated", "ICEORYX: the run stopped at 2 kB, before its table was complete")


def test_table_of_maximum_latencies_is_not_detected() -> None:
    with pytest.raises(UnreadableInput, match="no format fits"):
        read_text("| Payload Size | Maximum Latency [\u00b5s] |\n|-------------:|---------------------:|\n|      16 [B]  |               107000 |\n")
