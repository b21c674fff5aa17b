"""RTI Perftest's CSV and JSON, its published pages, raw latencies, and Perftest Lite."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "rti"
ROW = "          1024,       28,     16.9,       18,       61,       19,       61,       61,          61,            61\n"
NANOSECONDS = "Length (Bytes), Ave (ns), Std (ns), Min (ns), Max (ns), 50% (ns), 90% (ns), 99% (ns), 99.99% (ns), 99.9999% (ns)\n"


def values(record: Record, metric: str = "latency") -> dict[str, float | None]:
    """Return the value of each statistic of a metric in a record."""
    return {number.statistic: number.value for number in record.numbers if number.metric == metric}


def test_csv_of_a_publisher_gives_intervals_and_a_summary_with_serialisation_times() -> None:
    _, interval, summary = read(LOGS / "printer-3.1-csv-pub.csv").records

    assert values(interval) == {"last": 61_000, "mean": 28_000, "std": 16_900, "min": 18_000, "max": 61_000}
    assert values(interval, "cpu_of_machine") == {"last": 13.25}
    assert list(values(summary).values()) == [28_000, 16_900, 18_000, 61_000, 19_000, 61_000, 61_000, 61_000, 61_000]
    assert values(summary, "serialization") == {"mean": 343}
    assert values(summary, "deserialization") == {"mean": 324}
    assert values(summary, "cpu_of_machine") == {"mean": 12.88}


def test_csv_of_a_subscriber_has_intervals_and_a_summary() -> None:
    log = read(LOGS / "csv-intervals-sub.csv")

    assert len(log.records) == 16
    *_, interval, summary = log.records
    assert (interval.scope, interval.payload_bytes, interval.samples) == ("interval", 100, 19_126_206)
    assert values(interval, "message_rate") == {"last": 1_061_836, "mean": 1_162_883}
    assert values(interval, "goodput") == {"last": 849.5e6, "mean": 930.3e6}
    assert (summary.scope, summary.samples) == ("summary", 300_000_000)
    assert values(summary, "goodput") == {"mean": 883.6e6}


def test_last_line_of_a_run_over_tls_is_read_although_stray_bytes_precede_it() -> None:
    log = read(LOGS / "3.1-tls-csv-sub.log")

    assert values(log.records[0], "cpu_of_machine") == {"mean": 6.95}
    assert (log.unknown, log.account.status) == ([], "ok")


def test_latency_and_throughput_rows_without_a_header_are_distinguished_by_their_number_of_decimals() -> None:
    assert read(LOGS / "printer-3.1-csv-sub-no-heads.csv").records[0].test == "throughput"
    assert read(LOGS / "printer-3.1-csv-pub-no-heads.csv").records[0].test == "latency"


def test_latencies_without_a_header_are_marked_because_their_unit_is_assumed() -> None:
    without, with_head = read(LOGS / "printer-3.1-csv-pub-no-heads.csv").records[0], read(LOGS / "printer-4.2-csv-pub.csv").records[0]

    assert without.number("latency", "p50") == Number(metric="latency", statistic="p50", value=19_000, resolution=1000, marks=("unit_assumed",))
    assert with_head.number("latency", "p50") == Number(metric="latency", statistic="p50", value=19_000, resolution=1000)


def test_appended_runs_without_headers_use_the_header_of_the_first_run() -> None:
    log = read(LOGS / "csv-appended-pub.csv")

    assert [record.payload_bytes for record in log.records] == [1024, 32, 64]
    assert [n.marks for record in log.records for n in record.numbers if n.marks] == []


def test_unit_of_latencies_is_read_from_the_header() -> None:
    assert values(read_text(NANOSECONDS + ROW, "rti").records[0])["mean"] == 28


def test_latencies_of_a_high_resolution_build_are_read_with_three_decimals() -> None:
    _, _, summary = read(LOGS / "printer-4.3-fine-csv-pub.csv").records

    assert summary.number("latency", "mean") == Number(metric="latency", statistic="mean", value=27_550, resolution=1)


def test_run_without_samples_has_only_a_broken_row_with_message_size_0() -> None:
    log = read(LOGS / "csv-no-samples-pub.csv")

    assert log.broken == ["csv-no-samples-pub.csv:2: an impossible message size"]
    assert log.account.status == "empty"


def test_csv_of_the_java_version_has_decimal_commas_and_an_impossible_last_percentile() -> None:
    _, interval, summary = read(LOGS / "csv-java-pub.csv").records

    assert values(interval) == {"last": 96_000, "mean": 108_000, "std": 12_000, "min": 96_000, "max": 120_000}
    assert values(interval, "cpu_of_machine") == {"last": 13}
    assert values(summary)["p99"] == 120_000
    assert summary.number("latency", "p99.99") == Number(metric="latency", statistic="p99.99", value=None, marks=("impossible",))
    assert values(summary, "cpu_of_machine") == {"mean": 12.8}


def test_csv_of_the_c_sharp_version_is_read_although_a_comma_is_missing_and_loss_is_a_fraction() -> None:
    latency = read(LOGS / "csv-csharp-pub.csv").records[0]
    throughput = read(LOGS / "csv-csharp-sub.csv").records[0]

    assert values(latency)["max"] == 120_000
    assert values(latency)["p50"] == 108_000
    assert throughput.samples == 930_000
    assert throughput.number("loss", "total") == Number(metric="loss", statistic="total", value=0.07, marks=("derived",))


def test_rows_saved_by_a_spreadsheet_keep_their_printed_resolution() -> None:
    interval, summary = read(LOGS / "csv-saved-anew-sub.csv").records

    assert interval.number("loss", "total") == Number(metric="loss", statistic="total", value=0)
    assert interval.number("goodput", "last") == Number(metric="goodput", statistic="last", value=180e6, resolution=1e5)
    assert summary.number("goodput", "mean") == Number(metric="goodput", statistic="mean", value=180e6, resolution=1e5)
    assert summary.samples == 6_750_000


def test_loss_that_a_spreadsheet_truncated_to_0_is_below_a_hundredth_of_a_percent() -> None:
    text = (LOGS / "csv-saved-anew-sub.csv").read_text(encoding="utf-8").replace("180,0,0,,", "180,12,0,,")

    summary = read_text(text, "rti").records[1]

    assert summary.number("loss", "total") == Number(metric="loss", statistic="total", value=1e-4, resolution=1e-4, bound="<")


LATENCIES = {"mean": 28_000, "std": 16_900, "min": 18_000, "max": 61_000, "p50": 19_000, "p90": 61_000, "p99": 61_000, "p99.99": 61_000}
FINE = {"mean": 27_550, "std": 16_900, "min": 18_000, "max": 61_250, "p50": 19_000, "p90": 61_250, "p99": 61_250, "p99.99": 61_250}
CSHARP = {"mean": 108_000, "std": 12_000, "min": 96_000, "max": 120_000, "p50": 108_000, "p90": 120_000, "p99": 120_000, "p99.99": 120_000}
COUNTS = {"messages_received": 17_168_648, "messages_lost": 12, "message_rate": 572_285, "goodput": 4688.2e6}


@pytest.mark.parametrize(
    ("sample", "lost", "kept"),
    [
        ("printer-3.1-csv-sub.csv", 2, {**COUNTS, "loss": 1e-4}),  # The row ends with "24.1".
        # Only the line end is missing: all decimals are complete.
        ("printer-3.1-csv-sub.csv", 1, {**COUNTS, "loss": 1e-4, "cpu_of_machine": 24.12}),
        ("printer-3.1-csv-sub.csv", 11, COUNTS),  # The row ends with "0.0".
        ("csv-intervals-sub.csv", 2, {"messages_received": 300_000_000, "messages_lost": 0, "message_rate": 1_104_557, "goodput": 883.6e6}),
        ("csv-csharp-sub.csv", 2, {"messages_received": 930_000, "messages_lost": 70_000, "message_rate": 31_000, "goodput": 24.8e6, "loss": 0.07}),
        ("csv-saved-anew-sub.csv", 3, {"messages_received": 6_750_000, "messages_lost": 0, "message_rate": 225_000, "goodput": 180e6}),
        ("csv-saved-anew-sub.csv", 2, {"messages_received": 6_750_000, "messages_lost": 0, "message_rate": 225_000, "goodput": 180e6, "loss": 0}),
    ],
)
def test_truncated_last_row_of_rates_keeps_its_complete_cells(sample: str, lost: int, kept: dict[str, float]) -> None:
    log = read_text((LOGS / sample).read_text(encoding="utf-8")[:-lost], "rti")

    assert log.broken == []
    assert {number.metric: number.value for number in log.records[-1].numbers} == kept
    assert (log.records[-1].scope, log.records[-1].samples) == ("summary", kept["messages_received"])


@pytest.mark.parametrize(
    ("sample", "lost", "kept"),
    [
        ("printer-4.2-csv-pub.csv", 1, LATENCIES),  # The row ends with 61, which may have been 610.
        ("printer-4.2-csv-pub.csv", 2, LATENCIES),
        ("printer-4.3-fine-csv-pub.csv", 2, {**FINE, "p99.9999": 61_250}),
        (
            "csv-csharp-pub.csv",
            2,
            CSHARP,
        ),
        ("printer-3.1-csv-pub.csv", 2, {**LATENCIES, "p99.9999": 61_000}),
    ],
)
def test_truncated_last_row_of_latencies_keeps_its_complete_cells(sample: str, lost: int, kept: dict[str, float]) -> None:
    log = read_text((LOGS / sample).read_text(encoding="utf-8")[:-lost], "rti")

    assert log.broken == []
    assert values(log.records[-1]) == kept
    assert values(log.records[-1], "cpu_of_machine") == {}


@pytest.mark.parametrize(
    ("cut", "costs"),
    [
        ("0.343,                0.324,      0.667,   12.8", {"serialization": 343, "deserialization": 324}),
        ("0.343,                0.324,      0.66", {"serialization": 343, "deserialization": 324}),
        ("0.343,                0.32", {"serialization": 343}),
        ("0.34", {}),  # Without a third decimal, this cell may be truncated.
    ],
)
def test_time_of_serialisation_is_kept_if_its_cells_are_complete(cut: str, costs: dict[str, float]) -> None:
    text = (LOGS / "printer-3.1-csv-pub.csv").read_text(encoding="utf-8")
    log = read_text(text[: text.rindex("0.343")] + cut, "rti")

    assert {number.metric: number.value for number in log.records[-1].numbers if number.metric != "latency"} == costs
    assert values(log.records[-1]) == {**LATENCIES, "p99.9999": 61_000}
    assert log.broken == []


def test_interval_keeps_its_other_values_if_its_maximum_is_truncated() -> None:
    text = (LOGS / "printer-3.1-csv-pub.csv").read_text(encoding="utf-8")
    log = read_text(text[: text.index("61,   13.25") + 1], "rti")

    assert values(log.records[-1]) == {"last": 61_000, "mean": 28_000, "std": 16_900, "min": 18_000}
    assert (log.records[-1].scope, log.broken) == ("interval", [])


@pytest.mark.parametrize("sign", [",8", ",", ""])
def test_truncated_row_with_decimal_commas_keeps_its_complete_cells(sign: str) -> None:
    text = (LOGS / "csv-java-pub.csv").read_text(encoding="utf-8")
    log = read_text(text[: text.rindex(",80")] + sign, "rti")

    assert values(log.records[-1])["p99"] == 120_000
    assert values(log.records[-1], "cpu_of_machine") == {}
    assert log.broken == []


def test_truncated_row_of_a_spreadsheet_is_broken_because_decimals_may_be_missing() -> None:
    head = (LOGS / "printer-4.3-fine-csv-pub.csv").read_text(encoding="utf-8").splitlines()[-2].partition(", Serialization")[0]
    row = "1024,27,16.9,18,62,19,61,61,61,61.2"

    assert values(read_text(f"{head}\n{row}5\n", "rti").records[0])["p99.9999"] == 61_250
    assert read_text(f"{head}\n{row}", "rti").broken == ["text:2: the log ends within this line"]


@pytest.mark.parametrize(
    ("sample", "end"),
    [
        ("printer-3.1-csv-sub.csv", "4688.2,           1"),  # The loss after the rate is truncated.
        ("printer-3.1-csv-pub.csv", "18,       6"),  # The maximum is missing.
        ("printer-3.1-csv-sub-no-heads.csv", "0.0"),  # It is unknown whether the row is an interval or a summary.
        ("printer-3.1-csv-pub-no-heads.csv", "61,            6"),
    ],
)
def test_truncated_last_row_is_refused_if_its_complete_cells_are_not_enough(sample: str, end: str) -> None:
    text = (LOGS / sample).read_text(encoding="utf-8")
    complete = read_text(text, "rti")

    log = read_text(text[: text.rindex(end) + len(end)], "rti")

    assert log.records == complete.records[: len(log.records)]
    assert len(log.records) < len(complete.records)
    assert len(log.broken) + len(log.unknown) == 1


def test_json_of_a_publisher_is_read_although_the_surrounding_document_is_missing() -> None:
    log = read(LOGS / "printer-4.2-json-pub.txt")

    _, interval, summary = log.records
    assert values(interval) == {"last": 61_000, "mean": 27_550, "std": 16_900, "min": 18_000, "max": 61_000}
    assert summary.number("latency", "mean") == Number(
        metric="latency", statistic="mean", value=27_550, resolution=10, marks=("unit_assumed",), line=22
    )
    assert values(summary, "serialization") == {"mean": 343}
    assert values(summary, "cpu_of_machine") == {"mean": 12.88}
    assert (log.broken, log.unknown) == ([], [])


def test_record_of_a_json_object_states_the_lines_of_the_object() -> None:
    events = [event for event in read(LOGS / "printer-4.2-json-sub.txt").events if isinstance(event.what, Record)]

    assert [(event.line, event.last_line) for event in events] == [(4, 14), (15, 25), (26, 33)]
    assert values(events[1].what, "goodput") == {"last": 4683.5e6, "mean": 4685.8e6}  # type: ignore[arg-type]


def test_json_of_several_sizes_is_read_even_if_other_text_is_printed_between_its_lines() -> None:
    log = read(LOGS / "json-two-sizes-sub.txt")

    assert [(record.payload_bytes, record.samples) for record in log.records] == [(64, 71_581_304), (256, 43_076_525)]
    assert (log.broken, log.unknown) == ([], [])


def test_json_of_the_java_version_is_read_as_a_complete_document() -> None:
    log = read(LOGS / "json-java-pub.txt")

    assert [record.scope for record in log.records] == ["interval", "interval", "summary"]
    assert values(log.records[1])["std"] == 12_000
    assert values(log.records[2])["p99.9999"] is None
    assert (log.broken, log.unknown) == ([], [])


@pytest.mark.parametrize("lost", ['"latency_std"', '"CPU": 12.88', '"summary"'])
def test_json_object_in_which_a_line_is_missing_is_refused(lost: str) -> None:
    lines = (LOGS / "printer-4.2-json-pub.txt").read_text().splitlines()
    summary = next(index for index, line in enumerate(lines) if "summary" in line)
    gone = next(index for index, line in enumerate(lines) if lost in line and index >= summary)

    log = read_text("\n".join(lines[:gone] + lines[gone + 1 :]), "rti")

    assert [record.scope for record in log.records] == ["interval", "interval"]
    assert log.broken


def test_json_interval_is_refused_if_its_minimum_is_above_the_minimum_of_the_interval_before() -> None:
    text = (LOGS / "printer-4.2-json-pub.txt").read_text()
    later = text.replace('"latency_min": 18', '"latency_min": 19').replace('"latency_ave": 18', '"latency_ave": 19').replace(": 18,", ": 19,")

    log = read_text(text[: text.index("\t\t\t],")].rstrip() + ",\n" + later[later.index("\t\t\t\t{") :], "rti")

    assert [record.scope for record in log.records] == ["interval", "interval"]
    assert log.broken[0].startswith("text:20: the minimum grew or the maximum shrank")


def test_json_that_mixes_results_of_a_subscriber_and_of_a_publisher_is_refused() -> None:
    subscriber, publisher = ((LOGS / f"printer-4.2-json-{side}.txt").read_text() for side in ("sub", "pub"))

    log = read_text(subscriber[: subscriber.index('\t\t\t"summary"')] + publisher[publisher.index('\t\t\t"summary"') :], "rti")

    assert log.broken == ["text:26: another program printed this object than the objects before it"]


def test_two_merged_documents_of_json_are_refused() -> None:
    log = read_text('\t\t\t"length":64,\n' + (LOGS / "printer-4.2-json-pub.txt").read_text(), "rti")

    assert log.records == []


def test_web_page_without_processor_times_in_its_rows_is_read() -> None:
    log = read(LOGS / "page-routing.txt")

    assert [record.payload_bytes for record in log.records] == [32, 64, 128]
    assert list(values(log.records[1]).values()) == [45e3, 20.7e3, 38e3, 9822e3, 42e3, 57e3, 64e3, 100e3, 9822e3]
    assert log.records[0].conditions.transport == "UDPv4"
    assert log.records[0].conditions.reliability == "best-effort"
    assert log.records[0].number("cpu_of_machine", "mean") is None


def test_each_number_read_from_a_web_page_states_its_line() -> None:
    lines = (LOGS / "page-routing.txt").read_text(encoding="utf-8").splitlines()

    for record in read(LOGS / "page-routing.txt").records:
        for number in record.numbers:
            assert number.line is not None
            assert float(lines[number.line - 1]) * 1e3 == pytest.approx(number.value)


def test_processor_time_at_the_end_of_a_row_is_recognised_by_its_decimals() -> None:
    text = (LOGS / "page-routing.txt").read_text(encoding="utf-8").replace("9344\n\n64\n", "9344\n\n12.50\n\n64\n")

    first, second, _ = read_text(text, "rti").records

    assert values(first, "cpu_of_machine") == {"mean": 12.5}
    assert second.payload_bytes == 64


def test_row_of_a_web_page_is_refused_if_its_last_cell_is_missing() -> None:
    text = (LOGS / "page-routing.txt").read_text(encoding="utf-8").replace("9822\n\n128\n", "128\n")

    log = read_text(text, "rti")

    assert [record.payload_bytes for record in log.records] == [32]
    assert log.broken[0] == "text:49: cells of this row are missing or out of place"


def test_row_of_a_web_page_with_uneven_distances_between_its_cells_is_refused() -> None:
    text = (LOGS / "page-subscribers.txt").read_text(encoding="utf-8").replace("\n64\n\n512.3\n", "\n64\n\n\n512.3\n")

    assert read_text(text, "rti").broken[0] == "text:45: cells of this row are missing or out of place"


def test_last_row_of_a_web_page_with_an_additional_cell_is_refused() -> None:
    text = (LOGS / "page-throughput.txt").read_text(encoding="utf-8") + "7\n\nBehind the table.\n"

    assert [record.payload_bytes for record in read_text(text, "rti").records] == [32]


def test_web_page_with_throughput_results_is_read_like_the_summary_of_a_log() -> None:
    lossy, reliable = read(LOGS / "page-throughput.txt").records

    assert (lossy.payload_bytes, lossy.samples) == (32, 16_333_991)
    assert values(lossy, "loss") == {"total": 0.1774}
    assert (lossy.conditions.reliability, lossy.conditions.keyed) == ("best-effort", False)
    assert values(reliable, "goodput") == {"mean": 890.5e6}


def test_number_of_subscribers_is_read_from_the_text_of_a_web_page() -> None:
    _, spread, small, _ = read(LOGS / "page-subscribers.txt").records

    assert spread.conditions.subscribers == 8
    assert spread.payload_bytes is None
    assert values(spread, "goodput") == {"min": 512e6, "p50": 640.5e6, "p90": 811.3e6, "max": 930e6}
    assert (small.conditions.subscribers, small.payload_bytes) == (4, 64)
    assert small.number("loss", "total") == Number(metric="loss", statistic="total", value=1e-4, resolution=1e-4, bound="<", line=51)


def test_bullet_point_above_a_garbled_table_does_not_apply_to_the_next_table() -> None:
    text = (LOGS / "page-subscribers.txt").read_text(encoding="utf-8").replace("Subscribers\n\nMin", "Subscr bers\n\nMin")

    assert [record.conditions.reliability for record in read_text(text, "rti").records] == [None, None]


def test_raw_latencies_become_intervals_of_a_thousand_samples_and_a_summary() -> None:
    first, second, summary = read(LOGS / "latency-file.csv").records

    assert [first.samples, second.samples, summary.samples] == [1000, 205, 1205]
    assert values(first) == {"mean": 20_100, "min": 20_000, "max": 21_000, "p50": 20_000, "p90": 20_000, "p99": 21_000, "p99.99": 21_000}
    assert values(second)["max"] == 120_000
    assert summary.scope == "summary"
    assert values(summary)["p99.99"] == 120_000
    assert {n.marks for n in summary.numbers} == {("derived", "unit_assumed")}


def test_raw_latencies_with_a_missing_value_have_no_summary() -> None:
    log = read_text((LOGS / "latency-file.csv").read_text().replace("\n77, 20\n", "\n"), "rti")

    missing = "samples are missing here: the statistics cannot be computed"
    assert log.broken == [f"text:2: {missing}", f"text:79: {missing}"]
    assert [(record.scope, record.samples) for record in log.records] == [("interval", 205)]


def test_csv_of_perftest_lite_is_read_even_though_progress_lines_surround_it() -> None:
    log = read(LOGS / "lite-pub.csv")

    *_, progress, summary = log.records
    assert [values(record) for record in log.records[:3]] == [{"last": 20_000}, {"last": 21_000}, {"last": 22_000}]
    assert values(progress) == {"mean": 21_000, "min": 18_000, "max": 93_000}
    assert values(summary) == {"mean": 21_000, "min": 18_000, "max": 93_000}
    assert values(summary, "duration") == {"total": 30_000_012_000}
    assert (summary.conditions.load_mode, summary.conditions.basis, summary.conditions.transport) == ("closed", "rtt/2", "UDPv4")
    assert (log.broken, log.unknown) == ([], [])


def test_losses_that_the_subscriber_of_perftest_lite_counts_are_read() -> None:
    log = read(LOGS / "lite-sub.csv")

    progress, summary = log.records
    assert (log.broken, log.unknown) == ([], [])
    assert values(progress, "goodput") == {"last": 195e6}
    assert (summary.samples, summary.conditions.load_mode) == (714_285, None)
    assert summary.number("goodput", "mean") == Number(metric="goodput", statistic="mean", value=195_047_346, resolution=1)
    assert summary.number("loss", "total") == Number(metric="loss", statistic="total", value=15 / 714_300, marks=("derived",))


def test_tables_of_perftest_lite_are_read() -> None:
    assert values(read(LOGS / "lite-table-pub.txt").records[0]) == {
        "mean": 21_000,
        "min": 18_000,
        "max": 93_000,
        "p50": 20_000,
        "p90": 23_000,
        "p99": 31_000,
    }
    assert read(LOGS / "lite-table-sub.txt").records[0].number("goodput", "mean") == Number(
        metric="goodput", statistic="mean", value=195.05e6, resolution=1e4
    )


def test_web_page_of_connext_micro_is_read_although_it_lacks_the_percentile_99_9999() -> None:
    log = read(LOGS / "page-micro-2.4.14-latency.txt")

    assert [record.payload_bytes for record in log.records] == [32, 64, 128, 256, 1024, 4096, 8192]
    assert values(log.records[0]) == {
        "mean": 25_000,
        "std": 600,
        "min": 23_000,
        "max": 83_000,
        "p50": 25_000,
        "p90": 25_000,
        "p99": 26_000,
        "p99.99": 28_000,
    }
    assert values(log.records[-1])["p99.99"] == 118_000
    first = log.records[0].conditions
    assert (first.reliability, first.keyed, first.basis) == ("best-effort", True, "rtt/2")
    assert (log.broken, log.format) == ([], "rti")


def test_web_page_is_read_if_the_column_headers_state_the_units() -> None:
    log = read(LOGS / "page-micro-2.4.14.1-latency.txt")

    assert [(record.payload_bytes, values(record)["max"]) for record in log.records] == [
        *((32, 80_000), (64, 40_000), (128, 41_000), (256, 40_000)),
        (1024, 56_000),
    ]
    assert (log.records[0].conditions.keyed, log.broken) == (True, [])


def test_web_page_with_one_row_per_line_has_the_conditions_of_its_title() -> None:
    log = read(LOGS / "page-micro-3.0.3.txt")

    memory, udp, throughput = log.records[:8], log.records[8:11], log.records[11:]
    assert values(memory[-1]) == {
        "mean": 29_000,
        "std": 1200,
        "min": 26_000,
        "max": 317_000,
        "p50": 29_000,
        "p90": 30_000,
        "p99": 32_000,
        "p99.9": 36_000,
    }
    assert {(r.conditions.transport, r.conditions.reliability, r.conditions.keyed) for r in memory} == {("SHMEM", "best-effort", True)}
    assert [(r.payload_bytes, values(r)["p99.9"]) for r in udp] == [(32, 37_000), (64, 38_000), (63000, 632_000)]
    assert {r.conditions.transport for r in (*udp, *throughput)} == {"UDPv4"}
    assert [(r.samples, values(r, "goodput")["mean"], values(r, "messages_lost")["total"]) for r in throughput] == [
        (10161627, 43.3e6, 107063),
        (10245755, 87.4e6, 12413),
        (118016, 991.3e6, 0),
    ]
    assert (log.broken, log.unknown) == ([], [])


def test_vertical_bar_after_a_cell_is_not_part_of_the_cell() -> None:
    log = read(LOGS / "page-micro-2.4.14-throughput-bars.txt")

    assert [(r.payload_bytes, r.samples, values(r, "loss")["total"]) for r in log.records] == [
        (32, 16044363, 0.219),
        (64, 16288384, 0.1947),
        (128, 16544680, 0.169),
        (256, 15012642, 0.1874),
        (1024, 6389009, 0),
        (4096, 1766545, 0),
    ]
    assert log.records[0].conditions.keyed is True
    assert log.broken == []


def test_cell_that_contains_only_a_vertical_bar_states_no_processor_time() -> None:
    log = read(LOGS / "page-routing-bars.txt")

    assert [(record.payload_bytes, values(record)["p99.9999"], values(record, "cpu_of_machine")) for record in log.records] == [
        (32, 9_344_000, {}),
        (64, 9_822_000, {}),
        (128, 8_913_000, {}),
    ]
    assert (log.records[0].conditions.transport, log.records[0].conditions.reliability, log.broken) == ("UDPv4", "best-effort", [])


def test_processor_time_is_read_if_its_header_has_a_percent_sign_without_brackets() -> None:
    text = (LOGS / "page-routing.txt").read_text(encoding="utf-8").replace("CPU (%)", "CPU %").replace("9344\n\n64\n", "9344\n\n12.50\n\n64\n")

    first, *others = read_text(text).records
    assert values(first, "cpu_of_machine") == {"mean": 12.5}
    assert len(others) == 2


def test_web_page_about_c_sharp_is_read_despite_doubled_percent_signs_in_headers() -> None:
    log = read(LOGS / "page-csharp.txt")

    assert [(record.payload_bytes, values(record)["p90"], values(record)["p99.9999"]) for record in log.records] == [
        (32, 25_000, 584_000),
        (64, 25_000, 580_000),
    ]


def test_csv_of_the_design_document_is_read_although_a_header_lacks_brackets() -> None:
    head = "Length (Bytes), Ave (us), Std (us), Min (us), Max (us), 50% (us), 90% (us), 99% (us), 99.99% (us), 99.9999% (us), CPU %\n"
    log = read_text(head + ROW.removesuffix("\n") + ", 26.64\n")

    assert (values(log.records[0], "cpu_of_machine"), log.broken) == ({"mean": 26.64}, [])


def test_json_in_the_design_document_is_read_although_some_of_its_members_have_other_names() -> None:
    text = """{"perftest":
\t[
\t\t{
\t\t\t"length":100,
\t\t\t"summary":{
\t\t\t\t"packets": 6164888,
\t\t\t\t"packets/s_ave": 2055211,
\t\t\t\t"mbps_ave": 1644.2,
\t\t\t\t"lost": 0,
\t\t\t\t"lost_percent": 0.00
\t\t\t}
\t\t}
\t]
}
"""
    log = read_text(text)

    assert values(log.records[0], "goodput") == {"mean": 1644.2e6}
    assert (log.records[0].samples, log.broken, log.unknown) == (6_164_888, [], [])


def test_grid_table_of_restructured_text_is_read_with_the_title_above_it() -> None:
    text = """C++ Best Effort Keyed 1 Gbps
````````````````````````````

+----------+----------+------+----------+----------+-----+-----+-----+--------+
| Length   | Ave (us) | Std  | Min (us) | Max (us) | 50% | 90% | 99% | 99.99% |
+==========+==========+======+==========+==========+=====+=====+=====+========+
| 32       |25        |0.6   | 23       | 83       | 25  | 25  | 26  | 28     |
+----------+----------+------+----------+----------+-----+-----+-----+--------+
| 64       |25        |0.5   | 24       | 295      | 25  | 25  | 26  | 28     |
+----------+----------+------+----------+----------+-----+-----+-----+--------+
"""
    log = read_text(text)

    assert [(record.payload_bytes, values(record)["max"]) for record in log.records] == [(32, 83_000), (64, 295_000)]
    assert {(record.conditions.reliability, record.conditions.keyed) for record in log.records} == {("best-effort", True)}
    assert (log.broken, log.unknown) == ([], [])


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        (NANOSECONDS + ROW + NANOSECONDS.replace("ns", "us") + ROW, ["4: heads with two units of time in one run"]),
        (
            NANOSECONDS.replace("Min (ns)", "Min (xs)") + ROW,
            ["1: the head is garbled or of an unknown version", "2: the head above is garbled"],
        ),
        (NANOSECONDS + ROW.replace(" 61\n", "\n"), ["2: cells of this row are missing or out of place"]),
        (NANOSECONDS + ROW.replace("16.9", "169"), ["2: cells of this row are missing or out of place"]),
    ],
    ids=["headers of two units", "garbled header", "truncated row", "shifted row"],
)
def test_csv_rows_that_do_not_match_their_header_or_have_two_headers_are_refused(text: str, broken: list[str]) -> None:
    assert read_text(text, "rti").broken == [f"text:{why}" for why in broken]


LITE = "1024,714285,15,195.047346,30000012"
OF_128 = "128 12 0.7 11 530 12 13 14 17"
NOT_FITTING, MISPLACED = "a row that does not fit the table's columns", "cells of this row are missing or out of place"


@pytest.mark.parametrize(
    ("sample", "old", "new", "why", "records"),
    [
        ("page-micro-3.0.3.txt", OF_128, "128 12 0.7 11 530 12 13 14", NOT_FITTING, 13),
        ("page-micro-3.0.3.txt", OF_128, "128 12 0.7 11 530 12 13 14 17 20", NOT_FITTING, 13),
        ("page-micro-3.0.3.txt", OF_128, "128 12 11 0.7 530 12 13 14 17", MISPLACED, 13),
        ("page-micro-3.0.3.txt", OF_128, "128 12 0.7 11 530 19 13 14 17", "the statistics contradict each other", 13),
        ("page-micro-3.0.3.txt", "64 | 32 | 0.8 | 31 | 334 | 32 | 33 |", "64 | 32 | 0.8 | 31 | 334 | 33 |", NOT_FITTING, 13),
        ("page-micro-3.0.3.txt", "170759 | 87.4", "170759 | 97.4", "rate, size and Mbps contradict each other", 13),
        ("lite-sub.csv", LITE, LITE.replace("195.", "185."), "size, samples, time and Mbps contradict each other", 1),
        ("lite-sub.csv", LITE, LITE.replace("1024", "0"), "an impossible message size", 1),
        ("lite-pub.csv", "1024,714285,21,18,93,0,0,0", "1024,714285,0,0,0,0,0,0", "no latency was measured", 4),
    ],
)
def test_damaged_row_is_broken_and_affects_no_other_row(sample: str, old: str, new: str, why: str, records: int) -> None:
    text = (LOGS / sample).read_text(encoding="utf-8")
    assert old in text

    log = read_text(text.replace(old, new, 1), "rti")

    assert [reason.partition(": ")[2] for reason in log.broken] == [why]
    assert len(log.records) == records
