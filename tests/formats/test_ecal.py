"""eCAL: the output of its samples and the tables of its documentation.

Expected values were copied by hand from the logs in ``ecal/`` (see its README).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text
from tacholog.formats.registry import detect, formats
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "ecal"
SAMPLES = Path(__file__).parent / "ecal_samples" / "000001-lat.log"
RECEIVED = """\
--------------------------------------------
Messages received             : 300
Message size received         : 64 kB
Message average latency       : 8 us
Message min latency           : 7 us @ 1
Message max latency           : 76 us @ 286
Throughput                    : 7738 MB/s
                              : 7 GB/s
                              : 123 kMsg/s
--------------------------------------------
"""


def latencies(record: Record) -> list[tuple[str, float | None, str]]:
    return [(n.statistic, n.value / 1000 if n.value else None, n.bound) for n in record.numbers if n.metric == "latency"]


def test_block_of_a_receiver_gives_a_one_way_latency_in_whole_microseconds_and_no_throughput() -> None:
    log = read(LOGS / "latency-6.2-receiver.log")

    assert log.records[3] == Record(
        test="latency",
        payload_bytes=65536,
        numbers=(
            Number(metric="latency", statistic="mean", value=8000, resolution=1000, line=35),
            Number(metric="latency", statistic="min", value=7000, resolution=1000, line=36),
            Number(metric="latency", statistic="max", value=76000, resolution=1000, line=37),
            Number(metric="size_over_latency", statistic="mean", value=7738 * 2**20 * 8, resolution=2**20 * 8, marks=("derived",), line=38),
            Number(metric="messages_received", statistic="total", value=300, line=33),
        ),
        samples=300,
        side="subscriber",
        conditions=Conditions(basis="one-way", definition="ecal-5.12-one-way"),
    )


def test_log_of_a_receiver_has_one_record_per_block_and_no_unknown_line() -> None:
    log = read(LOGS / "latency-6.2-receiver.log")

    assert [r.payload_bytes for r in log.records] == [1024, 1024, 65536, 65536, 4194304, 4194304, None, None]
    assert [n.value for r in log.records if (n := r.number("latency", "mean"))] == [4000, 2000, 3000, 8000, 1333000, 7000, 33000]
    assert (log.broken, log.unknown) == ([], [])


def test_block_with_only_a_count_of_messages_gives_a_record_with_this_count() -> None:
    few = read(LOGS / "latency-6.2-receiver.log").records[6]

    assert few.numbers == (Number(metric="messages_received", statistic="total", value=50, line=63),)
    assert few.conditions == Conditions(definition="ecal-few-received")


def test_message_size_below_one_kilobyte_is_unknown_and_not_zero() -> None:
    small = read(LOGS / "latency-6.2-receiver.log").records[7]

    assert small.payload_bytes is None
    assert latencies(small) == [("mean", 33, "="), ("min", 7, "="), ("max", 180, "=")]


def test_log_of_a_sender_states_exact_sizes_data_paths_and_counts_of_sent_messages() -> None:
    log = read(LOGS / "latency-6.2-sender.log")

    assert [r.payload_bytes for r in log.records] == [1024, 1024, 65536, 65536, 4194304, 4194304, 1024, 100]
    assert [r.numbers[0].value for r in log.records] == [300, 300, 300, 300, 200, 200, 50, 200]
    assert [r.conditions.data_path == "zero-copy" for r in log.records] == [False, True, True, False, False, True, False, False]
    assert [r.conditions.offered_rate_per_s for r in log.records] == [None] * 7 + [200]
    assert {(r.side, r.conditions.definition) for r in log.records} == {("publisher", "ecal-sent")}


def test_command_lines_that_the_user_typed_are_unknown_lines() -> None:
    assert read(LOGS / "latency-6.2-sender.log").unknown == [1, 11, 21, 31, 41, 51, 61, 71]


def test_run_has_a_condition_only_if_all_senders_of_the_run_state_the_same_value() -> None:
    first = (LOGS / "latency-6.2-sender.log").read_text().split("$ ")[2]

    assert read_text(first, "ecal").account.facts.conditions == Conditions(data_path="zero-copy", settings='{"buffers": "1"}')
    assert read(LOGS / "latency-6.2-sender.log").account.facts.conditions == Conditions()


def test_summary_file_of_a_receiver_is_read_like_its_printed_output() -> None:
    (record,) = read(LOGS / "latency-6.2-logfile.log").records

    assert (record.samples, latencies(record)) == (500, [("mean", 2, "="), ("min", 1, "="), ("max", 12, "=")])


def test_file_of_single_latencies_becomes_one_record_with_percentiles() -> None:
    log = read(SAMPLES)

    (record,) = log.records
    assert log.format == "ecal"
    assert record.samples == 500
    assert record.payload_bytes is None
    by_name = {n.statistic: n.value for n in record.numbers}
    assert (by_name["min"], by_name["p50"], by_name["p90"], by_name["p99"], by_name["max"]) == (1000, 2000, 4000, 5000, 12000)
    assert by_name["mean"] == 2414
    assert all(n.resolution == 1000 for n in record.numbers)


def test_percentiles_of_single_latencies_are_exact() -> None:
    (record,) = read_text("".join(f"{value}\n" for value in range(1000, 0, -1)), "ecal").records

    assert {n.statistic: n.value for n in record.numbers} == {
        "mean": 500_500,
        "std": 288_674.99,
        "min": 1_000,
        "p50": 500_000,
        "p90": 900_000,
        "p99": 990_000,
        "p99.9": 999_000,
        "p99.99": 1_000_000,
        "p99.999": 1_000_000,
        "p99.9999": 1_000_000,
        "max": 1_000_000,
    }


def test_percentile_of_very_many_latencies_is_rounded_to_its_stated_resolution() -> None:
    (record,) = read_text("".join(f"{value}\n" for value in range(100_000)), "ecal").records

    assert record.number("latency", "max") == Number(metric="latency", statistic="max", value=99_999_000, resolution=1000)
    assert record.number("latency", "p99") == Number(metric="latency", statistic="p99", value=98_944_000, resolution=64_000)


def test_file_of_latencies_with_a_damaged_line_gives_no_statistics() -> None:
    log = read_text("2\n1\nx3\n4\n", "ecal")

    assert log.records == []
    assert log.broken == ["text:3: not a whole number of microseconds: without it, the statistics of this file would be wrong"]


def test_latency_below_zero_is_impossible() -> None:
    (record,) = read_text("-3\n1\n2\n", "ecal").records

    assert record.number("latency", "min") == Number(metric="latency", statistic="min", value=None, marks=("impossible",))


def test_file_is_detected_as_a_list_of_latencies_only_if_its_beginning_has_only_integers() -> None:
    assert detect("2\n1\n33\n") == "ecal"
    assert not formats()["ecal"].detect("2\n1.5\n").fits
    assert not formats()["ecal"].detect("2\n1\nend\n").fits


def test_published_table_gives_a_record_for_each_size_and_column() -> None:
    log = read(LOGS / "performance-5.12.rst")

    assert len(log.records) == 64
    assert [(r.payload_bytes, r.participant, r.conditions.transport, r.conditions.data_path, latencies(r)) for r in log.records[32:36]] == [
        (262144, "Win10 AMD64", "SHM", "copy", [("mean", 37, "=")]),
        (262144, "Win10 AMD64", "SHM", "zero-copy", [("mean", 5, "=")]),
        (262144, "Ubuntu22 AMD64", "SHM", "copy", [("mean", 135, "=")]),
        (262144, "Ubuntu22 AMD64", "SHM", "zero-copy", [("mean", 3, "=")]),
    ]
    assert {(r.conditions.basis, r.conditions.definition) for r in log.records} == {("one-way", "ecal-published")}


def test_all_records_of_a_table_row_state_the_line_of_this_row() -> None:
    events = [event for event in read(LOGS / "performance-5.12.rst").events if isinstance(event.what, Record)]

    assert [event.line for event in events[:5]] == [60, 60, 60, 60, 62]
    assert [list(event.lines) for event in events[:5]] == [[60], [], [], [], [62]]


def test_megabyte_of_a_published_table_is_2_to_the_power_of_20_bytes() -> None:
    last = [r for r in read(LOGS / "performance-5.11.rst").records if r.payload_bytes == 32 * 2**20]

    assert [latencies(r) for r in last] == [[("mean", us, "=")] for us in (6642, 2471, 5880, 2078)]


def test_environment_has_the_numbers_of_runs_and_buffers_that_a_document_states() -> None:
    assert read(LOGS / "performance-5.12.rst").account.facts.environment == {"ecal_runs": "5000", "ecal_buffers": "1"}


def test_text_above_a_markdown_table_states_the_unit_and_the_number_of_samples() -> None:
    first, second, *_, last = read(LOGS / "readme-5.4.md").records

    assert (first.payload_bytes, first.participant, latencies(first), first.samples) == (1024, "Win10 AMD64", [("mean", 13, "=")], 20000)
    assert (second.participant, latencies(second)) == ("Ubuntu16 AMD64", [("mean", 14, "=")])
    assert (last.payload_bytes, latencies(last)) == (4096 * 1024, [("mean", 3600, "=")])


def test_two_columns_for_the_same_platform_have_different_transports() -> None:
    log = read(LOGS / "readme-5.5.2.md")

    assert len(log.records) == 45
    assert [(r.participant, r.conditions.transport, latencies(r)[0][1]) for r in log.records[-3:]] == [
        ("Win10 AMD64", "eCAL SHM", 3956),
        ("Ubuntu18 AMD64", "eCAL SHM", 2252),
        ("Ubuntu18 AMD64", "Iceoryx SHM", 1060),
    ]


def test_all_rows_of_a_table_are_broken_if_two_columns_have_the_same_heading() -> None:
    text = (LOGS / "readme-5.5.2.md").read_text(encoding="utf-8")
    log = read_text("".join(line for line in text.splitlines(keepends=True) if "Iceoryx" not in line), "ecal")

    assert log.records == []
    assert log.broken[0] == "text:3: two columns of the table have the same heading"


def test_table_without_a_unit_is_broken() -> None:
    log = read_text("|Payload Size (kB)|Win10 AMD64|\n|---:|---:|\n| 1 | 13 |\n", "ecal")

    assert log.broken == ["text:3: neither the table's heading nor the text before it states the unit"]


def test_sender_of_version_5_3_states_round_trips_and_the_receiver_states_one_way_latencies() -> None:
    there_and_back, cut_short, one_way = read(LOGS / "latency-5.3.log").records

    assert (there_and_back.payload_bytes, there_and_back.conditions.basis, latencies(there_and_back)) == (65536, "rtt", [("mean", 57, "=")])
    assert (cut_short.samples, cut_short.conditions.definition) == (411, "ecal-5.3-rtt-cut-short")
    assert cut_short.number("messages_lost", "total") == Number(metric="messages_lost", statistic="total", value=1)
    assert (one_way.samples, one_way.conditions.basis, latencies(one_way)) == (1000, "one-way", [("mean", 27, "=")])


@pytest.mark.parametrize("seam", [" LATENCY / THROUGHPUT TEST\n", "-------------------------------\n"])
def test_block_does_not_get_the_size_of_the_previous_block(seam: str) -> None:
    lines = (LOGS / "latency-5.3.log").read_text().splitlines(keepends=True)

    log = read_text("".join([*lines[1:5], seam, "Message average roundtrip time 80 us\n"]), "ecal")

    assert log.records == []


def test_rows_of_two_senders_are_not_merged_into_one_block() -> None:
    lines = (LOGS / "latency-6.2-sender.log").read_text().splitlines(keepends=True)
    first = next(index for index, line in enumerate(lines) if line.startswith("Zero copy"))
    last = next(index for index, line in enumerate(lines) if line.startswith("Messages sent"))

    for seam in (["-" * 44 + "\n"] * 2, [lines[first]]):
        assert read_text("".join([*lines[: first + 1], *seam, *lines[first + 1 : last + 1]]), "ecal").records == []


def test_number_of_sent_messages_is_marked_as_derived_if_the_log_has_only_the_requested_number() -> None:
    sent = read(LOGS / "latency-5.3.log").records[0].number("messages_sent", "total")

    assert sent == Number(metric="messages_sent", statistic="total", value=1000, marks=("derived",))


def test_log_of_version_5_10_is_detected_by_the_units_of_its_throughput() -> None:
    sender, receiver = read(LOGS / "latency-5.10.log").records

    assert (sender.payload_bytes, sender.conditions.data_path) == (65536, "zero-copy")
    assert receiver.conditions.definition == "ecal-5.10-one-way"
    derived = Number(metric="size_over_latency", statistic="mean", value=3123474 * 1024 * 8, resolution=8192, marks=("derived",), line=15)
    assert receiver.number("size_over_latency", "mean") == derived


def test_log_in_python_gives_only_a_record_of_the_receiver_with_a_separate_definition() -> None:
    log = read(LOGS / "latency-python.log")

    (record,) = log.records
    assert (record.payload_bytes, record.samples, record.conditions.definition) == (2**20, 731, "ecal-python-one-way")
    assert (log.account.status, log.account.reason) == ("failed", "Package lost after message 731 -> stop.")


def test_printed_latency_of_the_performance_samples_is_read_as_the_time_between_two_messages() -> None:
    sender, receiver = read(LOGS / "performance.log").records

    interval = Number(metric="interval_per_message", statistic="mean", value=665_761, resolution=1, marks=("derived",), line=19)
    assert receiver.number("interval_per_message", "mean") == interval
    assert receiver.number("latency", "mean") is None
    assert receiver.number("goodput", "mean") == Number(metric="goodput", statistic="mean", value=12304718 * 1024 * 8, resolution=8192, line=15)
    assert (sender.side, sender.number("message_rate", "mean")) == (None, None)


def test_block_gives_no_record_if_the_name_of_its_transport_layer_is_truncated() -> None:
    text = (LOGS / "pubsub-throughput.log").read_text().replace("LAYER: SHM ZERO-COPY\n", "LAYER: SHM ZERO-COP\n")

    assert [record.conditions.data_path for record in read_text(text, "ecal").records] == ["copy"]


def test_negative_count_that_the_tool_printed_as_a_huge_number_is_impossible() -> None:
    copied, handed_over = read(LOGS / "pubsub-throughput.log").records

    assert copied.number("bytes_lost", "total") == Number(metric="bytes_lost", statistic="total", value=16777216, line=7)
    assert copied.number("offered_goodput", "mean") == Number(
        metric="offered_goodput", statistic="mean", value=2488 * 2**23, resolution=2**23, line=8
    )
    assert (copied.conditions.transport, copied.conditions.data_path) == ("SHM", "copy")
    assert handed_over.conditions.data_path == "zero-copy"
    assert handed_over.number("bytes_lost", "total") == Number(metric="bytes_lost", statistic="total", value=None, marks=("impossible",), line=18)


def test_line_of_perftool_about_one_second_is_read_as_an_interval() -> None:
    sent, _, received, _ = read(LOGS / "perftool.log").records

    assert (sent.scope, sent.side, sent.number("messages_sent", "total")) == (
        "interval",
        "publisher",
        Number(metric="messages_sent", statistic="total", value=9),
    )
    assert sent.number("interval_per_message", "max") == Number(metric="interval_per_message", statistic="max", value=100_001_000, resolution=1000)
    assert received.number("messages_lost", "total") == Number(metric="messages_lost", statistic="total", value=0)
    assert received.number("message_rate", "mean") == Number(metric="message_rate", statistic="mean", value=10, resolution=0.1)


def test_loss_is_unknown_and_not_zero_if_perftool_prints_no_loss() -> None:
    early, received = read(LOGS / "perftool-2023.log").records

    assert early.number("send_call", "mean") == Number(metric="send_call", statistic="mean", value=105_000, resolution=1000)
    assert received.number("messages_lost", "total") is None


def test_results_of_service_calls_and_of_several_topics_are_read() -> None:
    service, first, second, all_topics = read(LOGS / "service-and-topics.log").records

    assert (service.conditions.basis, latencies(service)) == ("rtt", [("mean", 62, "="), ("min", 55, "="), ("max", 131, "=")])
    assert [(r.participant, r.numbers[0].value) for r in (first, second, all_topics)] == [("pub 1", 12345), ("pub 2", 12340), ("all topics", 24685)]


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        ("Message min latency           : 7 us @ 1\n", ""),  # A row is missing.
        ("Message min latency           : 7 us @ 1\n", "Message min latency           : 7 u\n"),  # A row is truncated.
        ("7 us @ 1", "9 us @ 1"),  # The minimum is now above the mean.
        ("76 us @ 286", "76 us @ 300"),  # Messages are numbered from 0, so the last of 300 messages has number 299.
        ("64 kB", "128 kB"),  # The size is from another block.
        ("64 kB", "32 kB"),  # The size is from another block.
        ("8 us", "8 us us"),  # Two lines were merged.
        ("7 GB/s", "9 GB/s"),  # The rate is from another block.
    ],
)
def test_block_with_missing_damaged_or_contradictory_rows_is_broken(what: str, instead: str) -> None:
    assert len(read_text(RECEIVED, "ecal").records) == 1

    log = read_text(RECEIVED.replace(what, instead), "ecal")

    assert log.records == []
    assert log.broken


def test_latency_printed_as_zero_is_below_one_microsecond() -> None:
    (record,) = read_text(RECEIVED.replace("7 us @ 1", "0 us @ 1"), "ecal").records

    assert record.number("latency", "min") == Number(metric="latency", statistic="min", value=1000, resolution=1000, bound="<", line=5)


def test_block_at_the_end_of_a_truncated_log_is_broken() -> None:
    assert read_text(RECEIVED[: RECEIVED.index("Throughput")], "ecal").broken == ["text:2: the log ends within this block"]


@pytest.mark.parametrize(
    ("sample", "end"),
    [
        ("latency-6.2-receiver.log", ": 29 kMsg/s"),  # The unit after the number shows that no digit is missing.
        ("latency-6.2-receiver.log", ": 29 kMsg/"),
        ("latency-6.2-receiver.log", ": 2"),
        ("latency-5.10.log", ": 48804 Msg"),
        ("latency-5.3.log", ":   36034 Msg/s"),
        ("latency-5.3.log", ":   3603"),
        ("latency-python.log", ": 3218.92 msg"),
        ("latency-python.log", ": 3218."),
        ("pubsub-throughput.log", "GB/s"),
        ("service-and-topics.log", "calls/s"),
    ],
)
def test_truncated_last_block_is_read_if_all_digits_of_its_record_are_complete(sample: str, end: str) -> None:
    text = (LOGS / sample).read_text(encoding="utf-8")
    cut = text[: text.rindex(end) + len(end)]
    complete = read_text(text[: text.index("\n", len(cut)) + 1], "ecal").records

    log = read_text(cut, "ecal")

    assert log.records == complete
    assert log.broken == []


def test_truncated_last_row_of_a_receiver_does_not_affect_its_block() -> None:
    (record,) = read_text(RECEIVED[: RECEIVED.index("3 kMsg/s")], "ecal").records  # The row ends with "12" instead of "123 kMsg/s".

    assert latencies(record) == [("mean", 8, "="), ("min", 7, "="), ("max", 76, "=")]
    assert (record.samples, record.payload_bytes) == (300, 64 * 1024)
    assert [number.value for number in record.numbers if number.metric == "size_over_latency"] == [7738 * 2**20 * 8]


def test_round_trip_at_the_end_of_a_log_is_read_only_if_its_unit_is_complete() -> None:
    """The unit after the number shows that no digit is missing."""
    text = (LOGS / "latency-5.3.log").read_text(encoding="utf-8")
    there_and_back = text[: text.index(" us") + len(" us")]

    assert latencies(read_text(there_and_back, "ecal").records[0]) == [("mean", 57, "=")]
    assert read_text(there_and_back[:-1], "ecal").records == []


@pytest.mark.parametrize("end", ["7738 MB", ": 7 G", "76 us @ 28", "76 us @ 286"])
def test_block_is_broken_if_a_needed_row_is_missing_or_truncated(end: str) -> None:
    log = read_text(RECEIVED[: RECEIVED.index(end) + len(end)], "ecal")

    assert log.records == []
    assert log.broken == ["text:2: a row of this block is cut short, garbled or repeated"]


def test_count_of_sent_messages_is_refused_if_its_last_digits_may_be_missing() -> None:
    text = (LOGS / "latency-5.10.log").read_text(encoding="utf-8")
    log = read_text(text[: text.rindex("Messages sent           : 100") + len("Messages sent           : 100")], "ecal")

    assert log.broken[-1].endswith("a row of this block is cut short, garbled or repeated")


def test_mean_of_zero_round_trips_is_impossible() -> None:
    record = read_text((LOGS / "latency-5.3.log").read_text().replace("message 412", "message 1").replace("80 us", "0 us"), "ecal").records[1]

    assert record.numbers[0] == Number(metric="latency", statistic="mean", value=None, marks=("impossible",))
    assert record.samples == 0


def test_block_of_a_receiver_is_read_even_if_it_interrupts_the_block_of_a_sender() -> None:
    sender = (LOGS / "latency-5.10.log").read_text().splitlines(keepends=True)[:8]

    log = read_text("".join([*sender[:6], *RECEIVED, *sender[6:]]), "ecal")

    assert [r.side for r in log.records] == ["subscriber", "publisher"]
    assert log.broken == []


def test_published_table_of_version_5_6_is_read_although_its_columns_differ_from_later_tables() -> None:
    log = read(LOGS / "performance-5.6.rst")

    means = {
        (r.payload_bytes, r.participant, r.conditions.transport): (r.numbers[0].value, r.samples)
        for r in log.records
        if r.payload_bytes in {1024, 512 * 1024, 1024 * 1024, 16384 * 1024}
    }
    assert means == {
        (1024, "Win10 AMD64", "eCAL SHM"): (10_000, 200_000),
        (1024, "Ubuntu18 AMD64", "eCAL SHM"): (4_000, 200_000),
        (1024, "Ubuntu18 AMD64", "Iceoryx SHM"): (6_000, 200_000),
        (512 * 1024, "Win10 AMD64", "eCAL SHM"): (56_000, 200_000),
        (512 * 1024, "Ubuntu18 AMD64", "eCAL SHM"): (50_000, 200_000),
        (512 * 1024, "Ubuntu18 AMD64", "Iceoryx SHM"): (28_000, 200_000),
        (1024 * 1024, "Win10 AMD64", "eCAL SHM"): (103_000, 10_000),
        (1024 * 1024, "Ubuntu18 AMD64", "eCAL SHM"): (154_000, 10_000),
        (1024 * 1024, "Ubuntu18 AMD64", "Iceoryx SHM"): (82_000, 10_000),
        (16384 * 1024, "Win10 AMD64", "eCAL SHM"): (3_956_000, 10_000),
        (16384 * 1024, "Ubuntu18 AMD64", "eCAL SHM"): (2_252_000, 10_000),
        (16384 * 1024, "Ubuntu18 AMD64", "Iceoryx SHM"): (1_060_000, 10_000),
    }
    assert (len(log.records), log.broken, log.format) == (45, [], "ecal")
