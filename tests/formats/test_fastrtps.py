"""Fast RTPS and Fast DDS: the output and the exports of their tests.

Expected values were copied by hand from the logs in ``fastrtps/`` (see its README).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "fastrtps"
SAMPLES = Path(__file__).parent / "fastrtps_samples" / "latency-2.9.1.csv"
IMPOSSIBLE = ("impossible",)


def value(record: Record, metric: str, statistic: str = "mean") -> float | None:
    number = record.number(metric, statistic)
    assert number is not None
    return number.value


def test_row_becomes_one_record_with_the_figures_of_both_sides() -> None:
    (record,) = read(LOGS / "throughput-2.9.1-publisher.log").records

    assert record == Record(
        test="demand",
        payload_bytes=1024,
        numbers=(
            Number(metric="messages_sent", statistic="total", value=17200),
            Number(metric="send_duration", statistic="total", value=1_005_207_000, resolution=1000),
            Number(metric="offered_rate", statistic="mean", value=17110.906, resolution=0.001),
            Number(metric="offered_goodput", statistic="mean", value=140.173e6, resolution=1000),
            Number(metric="messages_received", statistic="total", value=16996),
            Number(metric="messages_lost", statistic="total", value=201),
            Number(metric="loss", statistic="total", value=204 / 17200, marks=("derived",)),
            Number(metric="duration", statistic="total", value=1_009_645_000, resolution=1000),
            Number(metric="message_rate", statistic="mean", value=16833.643, resolution=0.001),
            Number(metric="goodput", statistic="mean", value=137.901e6, resolution=1000),
        ),
        samples=16996,
        side="both",
        conditions=Conditions(demand=100, recovery_time_ns=5_000_000, definition="fastrtps-demand-1.9.4"),
    )


def test_last_row_of_a_table_with_tabs_is_read_even_if_text_follows_its_last_cell() -> None:
    log = read(LOGS / "throughput-0.5.1.md")

    assert [(r.payload_bytes, r.conditions.demand) for r in log.records] == [
        *((16, demand) for demand in (500, 750, 850, 1000, 1250, 1400, 1500, 1600, 1750, 2000)),
        *((32, demand) for demand in (500, 750, 850)),
    ]
    last = log.records[-1]
    assert (value(last, "messages_sent", "total"), value(last, "offered_goodput"), value(last, "messages_lost", "total")) == (199750, 10.198e6, 881)
    assert (value(last, "goodput"), value(last, "duration", "total")) == (10.126e6, 5_027_873_000)
    assert (last.number("message_rate", "mean"), last.conditions.recovery_time_ns) == (None, None)
    assert {r.conditions.definition for r in log.records} == {"fastrtps-demand-0.5.1"}
    assert (log.broken, log.unknown) == ([], [1, 3, 22])


def test_recovery_time_in_a_banner_applies_to_the_rows_below_the_banner() -> None:
    log = read(LOGS / "throughput-1.9.3.log")

    assert [r.conditions.recovery_time_ns for r in log.records] == [0] * 99 + [10_000_000] * 99
    first = log.records[0]
    assert (first.payload_bytes, first.conditions.demand, value(first, "offered_goodput"), value(first, "goodput")) == (16, 100, 65.094e6, 38.329e6)
    assert log.broken == []


def test_definition_depends_on_whether_the_send_duration_includes_the_waits_between_bursts() -> None:
    text = (LOGS / "throughput-1.9.3.log").read_text()
    assert {r.conditions.definition for r in read(LOGS / "throughput-1.9.3.log").records[:99]} == {"fastrtps-demand-1.9.1"}

    row = "     16,    500,      152500,      5011845,  30427.916,     3.895,      152500,           0,     5019968, 30378.680,     3.888\n"
    old = read_text(text[: text.index("     16,")] + row, "fastrtps")

    assert [r.conditions.definition for r in old.records] == ["fastrtps-demand-1.7"]


def test_negative_count_that_the_tool_printed_as_a_huge_number_is_impossible() -> None:
    (record,) = read(LOGS / "throughput-underflow.log").records

    assert record.samples is None
    assert record.number("messages_received", "total") == Number(metric="messages_received", statistic="total", value=None, marks=IMPOSSIBLE)
    assert record.number("goodput", "mean") == Number(metric="goodput", statistic="mean", value=None, marks=IMPOSSIBLE)
    assert record.number("message_rate", "mean") == Number(metric="message_rate", statistic="mean", value=None, marks=IMPOSSIBLE)
    assert value(record, "messages_lost", "total") == 110804


def test_exported_table_has_times_in_nanoseconds() -> None:
    log = read(LOGS / "throughput-2.9.1.csv")

    assert [(r.payload_bytes, r.conditions.recovery_time_ns) for r in log.records] == [
        (size, recovery) for size in (16, 1024, 16384) for recovery in (0, 5_000_000)
    ]
    first = log.records[0]
    assert first.number("duration", "total") == Number(metric="duration", statistic="total", value=1_000_311_387, resolution=1)
    assert first.number("loss", "total") == Number(metric="loss", statistic="total", value=104096 / 214900, marks=("derived",))
    assert (log.broken, log.unknown) == ([], [])


def test_exported_table_is_read_if_the_names_of_its_columns_differ_slightly() -> None:
    text = (LOGS / "throughput-2.9.1.csv").read_text().replace("[sample/burst]", "[samples/burst]").replace("[Mb/s]", "[Mbits/s]")

    assert len(read_text("\n" + text, "fastrtps").records) == 6


def test_rows_of_the_table_of_2014_become_records_of_the_publisher() -> None:
    first, _ = read(LOGS / "throughput-0.4.log").records

    assert (first.side, first.conditions.demand, value(first, "messages_sent", "total")) == ("publisher", 500, 152500)
    assert first.number("offered_goodput", "mean") == Number(metric="offered_goodput", statistic="mean", value=3_894_680, resolution=10)
    assert first.number("send_duration", "total") == Number(metric="send_duration", statistic="total", value=5_011_850_000, resolution=10_000)


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        ("17200", "17300"),  # The rates do not match 17300 samples.
        ("137.901", "137.90"),  # The number is truncated.
        ("137.901", "139.901"),  # The rate is from another row.
        ("  100,", "  101,"),  # The demand is 101, but 17200 samples are not a multiple of 101.
        ("201,", "301,"),  # More samples were lost than sent.
        ("1005207", "0"),  # The time is zero.
        ("   1024,", "   0,"),  # The size is zero.
        ("16996,", ""),  # A cell is missing.
    ],
)
def test_row_whose_cells_contradict_each_other_is_broken(what: str, instead: str) -> None:
    log = read_text((LOGS / "throughput-2.9.1-publisher.log").read_text().replace(what, instead), "fastrtps")

    assert log.records == []
    assert len(log.broken) == 1


def test_row_without_the_header_of_its_table_is_broken() -> None:
    row = (LOGS / "throughput-2.9.1-publisher.log").read_text().splitlines()[9]

    assert read_text(row + "\n", "fastrtps").broken == ["text:1: a row without the header of its table"]


def test_row_is_broken_if_its_message_size_is_smaller_than_the_size_in_the_row_before() -> None:
    """Such a row is from another table, because sizes only grow within a table."""
    lines = (LOGS / "throughput-1.9.3.log").read_text().splitlines(keepends=True)
    without_second_header = [line for index, line in enumerate(lines) if not (index > 120 and not line.lstrip()[:1].isdigit())]

    log = read_text("".join(without_second_header), "fastrtps")

    assert {r.conditions.recovery_time_ns for r in log.records[:99]} == {0}
    assert "sizes only grow within a table" in log.broken[0]


def test_lines_of_a_subscriber_become_a_record_with_the_rate_that_the_subscriber_states() -> None:
    (record,) = read(LOGS / "throughput-2.9.1-subscriber.log").records

    assert record == Record(
        test="demand",
        payload_bytes=1024,
        numbers=(
            Number(metric="messages_received", statistic="total", value=16996, marks=("derived",)),
            Number(metric="messages_lost", statistic="total", value=201, line=16),
            Number(metric="message_rate", statistic="mean", value=4322.07, resolution=0.01, line=17),
        ),
        samples=16996,
        side="subscriber",
        conditions=Conditions(demand=100, definition="fastrtps-subscriber"),
    )


def test_number_of_received_messages_is_read_from_the_log_of_a_newer_subscriber() -> None:
    (record,) = read(LOGS / "throughput-2.10-subscriber.log").records

    assert record.number("messages_received", "total") == Number(metric="messages_received", statistic="total", value=16999, line=8)


def test_lines_of_a_subscriber_out_of_order_are_broken() -> None:
    lines = (LOGS / "throughput-2.10-subscriber.log").read_text().splitlines(keepends=True)
    lines[6], lines[8] = lines[8], lines[6]

    log = read_text("".join(lines), "fastrtps")

    assert log.records == []
    assert log.broken[0] == "text:6: these lines are cut short, garbled or out of order"


def test_latencies_with_three_decimals_are_half_round_trips() -> None:
    first, second = read(LOGS / "latency-2.9.1.log").records

    assert first.conditions == Conditions(basis="rtt/2", load_mode="closed", definition="fastrtps-latency-1.9.4")
    assert [(n.statistic, n.value, n.resolution) for n in first.numbers if n.metric == "latency"] == [
        ("std", 10_687, 1),
        ("mean", 20_575, 1),
        ("min", 9_634, 1),
        ("p50", 18_566, 1),
        ("p90", 25_308, 1),
        ("p99", 33_642, 1),
        ("p99.99", 46_645, 1),
        ("max", 462_214, 1),
    ]
    assert (first.samples, second.payload_bytes, value(second, "latency", "max")) == (2000, 1024, 1_051_267)


def test_published_log_with_three_decimals_is_read_completely() -> None:
    log = read(LOGS / "latency-1.9.2.log")

    assert [r.payload_bytes for r in log.records] == [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]
    assert (log.records[0].samples, value(log.records[0], "latency"), value(log.records[0], "latency", "p99.99")) == (10001, 8272, 58625)
    assert log.account.facts.conditions.subscribers == 1


def test_clock_overhead_is_read_in_microseconds_whichever_unit_is_printed() -> None:
    assert read(LOGS / "latency-1.9.2.log").account.facts.environment == {"clock_overhead_ns": "18.4725"}


def test_latencies_with_two_decimals_are_round_trips_if_the_table_has_no_column_of_samples() -> None:
    first, _ = read(LOGS / "latency-0.5.1.log").records

    assert (first.samples, first.conditions.basis, first.conditions.definition) == (10000, "rtt", "fastrtps-latency-0.5.1")
    assert first.number("latency", "min") == Number(metric="latency", statistic="min", value=40_120, resolution=10)
    assert first.number("latency", "std") == Number(metric="latency", statistic="std", value=12_000, resolution=1000)


def test_latencies_with_two_decimals_have_an_unknown_basis_if_the_table_has_a_column_of_samples() -> None:
    log = read(LOGS / "latency-1.1.log")

    assert {(r.conditions.basis, r.conditions.definition) for r in log.records} == {(None, "fastrtps-latency-1.1")}
    assert (log.broken, log.unknown) == ([], [])


def test_percentile_of_too_few_samples_is_unknown() -> None:
    _, second = read(LOGS / "latency-1.1.log").records

    assert second.number("latency", "p99") == Number(metric="latency", statistic="p99", value=None, marks=IMPOSSIBLE)
    assert value(second, "latency") == 9_100


@pytest.mark.parametrize(
    ("what", "instead"),
    [("462.214 ", "462.21 "), (" 25.308", " 35.308"), ("20.575", "0.575"), ("      16,", ""), ("      16,", "      0,")],
)
def test_truncated_or_unordered_latency_row_is_broken(what: str, instead: str) -> None:
    log = read_text((LOGS / "latency-2.9.1.log").read_text().replace(what, instead), "fastrtps")

    assert [r.payload_bytes for r in log.records] == [1024]
    assert len(log.broken) == 1


def test_single_samples_become_one_record_for_each_message_size() -> None:
    log = read(SAMPLES)

    (record,) = log.records
    assert log.format == "fastrtps"
    assert (record.payload_bytes, record.samples, record.conditions.basis) == (16, 200, "rtt/2")
    assert record.number("latency", "min") == Number(metric="latency", statistic="min", value=10353.8, resolution=0.1)
    assert record.number("latency", "p50") == Number(metric="latency", statistic="p50", value=20_890.8, resolution=0.1)


def test_samples_of_the_next_message_size_start_a_new_record() -> None:
    log = read_text("Sample,Payload [Bytes],Latency [us]\n1,16,2.5\n2,16,1.5\n3,32,1e+06\n", "fastrtps")

    assert [(r.payload_bytes, r.samples, value(r, "latency", "max")) for r in log.records] == [(16, 2, 2500), (32, 1, 1e9)]


@pytest.mark.parametrize("rows", ["1,16,2.5\n3,16,1.5\n", "2,16,2.5\n", "1,16,2.5\n2,16,x\n", "1,16,2.5\n2,16,1"])
def test_message_size_with_a_missing_or_garbled_sample_has_no_statistics(rows: str) -> None:
    log = read_text("Sample,Payload [Bytes],Latency [us]\n" + rows, "fastrtps")

    assert log.records == []
    assert log.broken


def test_summary_of_eprosima_has_jitter() -> None:
    first, *_ = read(LOGS / "latency-summary.csv").records

    assert (value(first, "latency", "max"), value(first, "latency", "p50"), value(first, "latency", "p99.99")) == (124_435, 7_776, 37_675)
    assert (value(first, "jitter"), value(first, "jitter", "max"), first.samples) == (433, 110_706, 10000)


def test_table_with_decimal_commas_is_refused_with_advice() -> None:
    log = read(LOGS / "latency-decimal-commas.csv")

    assert log.records == []
    assert log.broken[0].endswith("a table with decimal commas: its cells cannot be separated; export it again with decimal points")


def test_file_of_one_message_size_has_minimum_and_average() -> None:
    (record,) = read(LOGS / "latency-16.csv").records

    assert (record.payload_bytes, record.samples, record.conditions.reliability, record.conditions.basis) == (None, 10000, "reliable", None)
    assert record.numbers == (
        Number(metric="latency", statistic="min", value=9634, resolution=0.01),
        Number(metric="latency", statistic="mean", value=20574.5, resolution=0.1),
    )


def test_file_is_broken_if_minimum_or_average_is_stated_only_in_the_file_name() -> None:
    (broken,) = read(LOGS / "latency-average-2.9.1.csv").broken

    assert broken.startswith("latency-average-2.9.1.csv:2: only the file's name says whether these are minima or averages")


def test_rate_in_quotation_marks_belongs_to_the_heading_above_it() -> None:
    log = read(LOGS / "throughput-all.csv")

    assert [(r.payload_bytes, r.conditions.demand, value(r, "goodput")) for r in log.records] == [
        (16, 100, 38.329e6),
        (16, 200, 38.538e6),
        (32, 100, 77.165e6),
    ]
    (record,) = read(LOGS / "throughput-16-500.csv").records
    assert (record.conditions.demand, record.conditions.reliability, value(record, "goodput")) == (500, "reliable", 38.4677e6)


def test_table_with_fewer_rates_than_headings_is_broken() -> None:
    log = read_text((LOGS / "throughput-all.csv").read_text().replace(',"77.165"', ""), "fastrtps")

    assert log.records == []
    assert log.broken == ["text:2: the numbers of values and headings differ, or a value is garbled"]


@pytest.mark.parametrize("heading", ["0 bytes; demand 200", "16 bytes; demand 0"])
def test_heading_in_quotation_marks_is_broken_if_it_states_zero_bytes_or_zero_messages(heading: str) -> None:
    log = read_text((LOGS / "throughput-all.csv").read_text().replace("16 bytes; demand 200", heading), "fastrtps")

    assert log.records == []
    assert log.broken == ["text:2: a heading with an impossible message size or demand"]


def test_run_in_which_the_tool_prints_an_error_is_failed() -> None:
    text = (LOGS / "latency-1.1.log").read_text().replace("TEST OF SIZE: 16 ENDS", "Error in test ")

    assert (read_text(text, "fastrtps").account.status, read_text(text, "fastrtps").account.reason) == ("failed", "Error in test")


@pytest.mark.parametrize("end", ["1051.2", "1051", "", "1"])
def test_last_row_truncated_in_its_last_cell_keeps_the_other_cells(end: str) -> None:
    text = (LOGS / "latency-2.9.1.log").read_text(encoding="utf-8")
    log = read_text(text[: text.index("1051.267")] + end, "fastrtps")

    (first, last) = log.records
    assert (log.broken, last.payload_bytes, last.samples) == ([], 1024, 2000)
    statistics = {number.statistic: number.value for number in last.numbers if number.metric == "latency"}
    assert statistics == {"std": 23439, "mean": 17409, "min": 13270, "p50": 15564, "p90": 20545, "p99": 33156, "p99.99": 63472}
    assert first.number("latency", "max") is not None


def test_last_row_truncated_before_its_median_is_refused() -> None:
    text = (LOGS / "latency-2.9.1.log").read_text(encoding="utf-8")
    log = read_text(text[: text.index("15.564") + 3], "fastrtps")

    assert [broken.partition(": ")[2] for broken in log.broken] == ["the log ends within this line"]


SENT = {"messages_sent": 17200, "send_duration": 1_005_207_000, "offered_rate": 17110.906, "offered_goodput": 140.173e6}
RECEIVED = {"messages_received": 16996, "messages_lost": 201, "loss": 204 / 17200, "duration": 1_009_645_000}


@pytest.mark.parametrize(
    ("end", "rates"),
    [
        ("16833.643,    137.901", {"message_rate": 16833.643, "goodput": 137.901e6}),
        ("16833.643,    137.90", {"message_rate": 16833.643}),
        ("16833.643,    1", {"message_rate": 16833.643}),
        ("16833.643,", {"message_rate": 16833.643}),
        ("16833.643", {}),  # Without a comma after the cell, digits may be missing.
        ("1009645,   1", {}),
        ("1009645,", {}),
    ],
)
def test_truncated_last_row_of_a_throughput_table_keeps_its_complete_cells(end: str, rates: dict[str, float]) -> None:
    text = (LOGS / "throughput-2.9.1-publisher.log").read_text(encoding="utf-8")
    log = read_text(text[: text.index(end) + len(end)], "fastrtps")

    (record,) = log.records
    assert {number.metric: number.value for number in record.numbers} == {**SENT, **RECEIVED, **rates}
    assert (record.payload_bytes, record.side, record.samples, log.broken) == (1024, "both", 16996, [])
    assert record.conditions == Conditions(demand=100, recovery_time_ns=5_000_000, definition="fastrtps-demand-1.9.4")


@pytest.mark.parametrize(
    ("sample", "end", "received", "goodput"),
    [
        ("throughput-2.9.1.csv", "11640.367,1525.72", 11738, None),
        ("throughput-0.5.1.md", "5027873,	10.12", 198869, None),
        ("throughput-1.9.3.log", "160975.231, 21099.34", 850000, None),
        ("throughput-1.9.3.log", "160975.231, 21099.346", 850000, 21099.346e6),
    ],
)
def test_truncated_last_row_keeps_its_complete_cells_in_each_version_of_the_throughput_table(
    sample: str, end: str, received: int, goodput: float | None
) -> None:
    text = (LOGS / sample).read_text(encoding="utf-8")
    complete = read_text(text, "fastrtps").records
    log = read_text(text[: text.rindex(end) + len(end)], "fastrtps")

    last = log.records[-1]
    assert (len(log.records), log.broken) == (len(complete), [])
    assert value(last, "messages_received", "total") == received
    assert {number.value for number in last.numbers if number.metric == "goodput"} == ({goodput} if goodput else set())
    assert last.conditions.definition == complete[-1].conditions.definition


@pytest.mark.parametrize(
    ("sample", "end"),
    [
        ("throughput-2.9.1-publisher.log", "201,     100964"),  # Without the last cell, rate and definition are unknown.
        ("throughput-0.4.log", "5.00698e+06, 500"),  # The last digits of the demand may be missing: it may have been 5000.
        ("throughput-0.4.log", "5.00698e+06,"),
    ],
)
def test_truncated_last_row_of_a_throughput_table_is_refused_if_its_complete_cells_are_not_enough(sample: str, end: str) -> None:
    text = (LOGS / sample).read_text(encoding="utf-8")
    complete = read_text(text, "fastrtps").records
    log = read_text(text[: text.rindex(end) + len(end)], "fastrtps")

    assert log.records == complete[:-1]
    assert [broken.partition(": ")[2] for broken in log.broken] == ["a row of this table is cut short or garbled"]


def test_table_with_decimal_commas_is_refused_even_if_a_spreadsheet_changed_its_header() -> None:
    log = read(LOGS / "latency-decimal-commas-dual-host.csv")

    why = "a table with decimal commas: its cells cannot be separated; export it again with decimal points"
    assert log.broken == [f"latency-decimal-commas-dual-host.csv:{line}: {why}" for line in range(2, 13)]  # Line 13 contains a single letter.
    assert (log.records, log.unknown) == ([], [])


def test_both_sides_are_in_one_process_only_if_the_log_states_intraprocess() -> None:
    log = read(LOGS / "latency-intraprocess.log")

    assert (log.account.facts.conditions.reach, log.account.facts.conditions.subscribers) == ("process", 1)
    assert [value(record, "latency") for record in log.records] == [1152, 1132, 3163, 34246]
    assert log.unknown == [1]  # Line 1 is the command of the user.
    between = read_text((LOGS / "latency-intraprocess.log").read_text(encoding="utf-8").replace("intraprocess ", ""))
    assert (between.account.facts.conditions.reach, between.unknown) == (None, [1])


def test_lines_that_version_1_9_prints_before_and_after_a_row_are_known() -> None:
    text = """Performing test with 1 subscribers and 10000 samples
PUBLISHER!
Subscriber Data Sub Matched\x20
Subscriber Data Pub Matched\x20
Command Sub Matched\x20
SUBSCRIBER!
DISCOVERY COMPLETE\x20
Printing round-trip times in us, statistics for 10000 samples
   Bytes, Samples,   stdev,    mean,     min,     50%,     90%,     99%,  99.99%,     max
--------,--------,--------,--------,--------,--------,--------,--------,--------,--------,
Preparing test with data size: 16
RCOMMAND: 1
Publisher has new test ready...
Testing with data size: 16
RCOMMAND: 3
Publisher has stopped the test
TEST OF SIZE: 16 ENDS
      16,   10000,   0.077,   0.501,   0.483,   0.493,   0.503,   0.754,   3.208,   5.653
"""
    log = read_text(text)

    assert (log.unknown, log.broken) == ([], [])
    assert [(n.statistic, n.value) for n in log.records[0].numbers if n.statistic in {"mean", "max"}] == [("mean", 501), ("max", 5653)]
