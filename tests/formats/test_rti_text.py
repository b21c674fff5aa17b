"""RTI Perftest's old text: intervals, time of serialisation, processor time, and differences between its versions and languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "rti"
HEAD = "\n\n********** New data length is {}\n"
SECOND = "Packets:   572288  Packets/s:  572288  Packets/s(ave):  572288  Mbps:  4688.2  Mbps(ave):  4688.2  Lost:     0 (0.00%)\n"
ANSWER = "One way Latency:     {0} us  Ave     {0} us  Std    0.2 us  Min     {1} us  Max     {2}\n"
SUMMARY = (
    "Length: {} Latency: Ave     28 us Std   16.9 us Min     18 us Max     61 us 50%     19 us 90%     61 us 99%     61 us 99.99%     61 us "
    "99.9999%     61 us\n"
)
COST = "Serialization/Deserialization: 0.343 us / 0.324 us / TOTAL: 0.667 us\n"


def values(record: Record, metric: str = "latency") -> dict[str, float | None]:
    """Return the value of each statistic of a metric in a record."""
    return {number.statistic: number.value for number in record.numbers if number.metric == metric}


def test_interval_of_latency_has_the_latest_latency_and_the_statistics_since_the_start() -> None:
    first, second, _, _ = read(LOGS / "printer-3.1-legacy-pub.log").records

    assert (first.payload_bytes, first.scope, first.side) == (1024, "interval", "publisher")
    assert values(second) == {"last": 61_000, "mean": 28_000, "std": 16_900, "min": 18_000, "max": 61_000}
    assert second.number("cpu_of_machine", "last") == Number(metric="cpu_of_machine", statistic="last", value=13.25, resolution=0.01)
    assert second.conditions.definition == "rti-one-way-running"


def test_interval_of_throughput_has_the_rate_of_the_last_second_and_the_mean_since_the_start() -> None:
    _, second, summary = read(LOGS / "printer-3.1-legacy-sub.log").records

    assert second.scope == "interval"
    assert values(second, "message_rate") == {"last": 571_712, "mean": 572_000}
    assert values(second, "goodput") == {"last": 4683.5e6, "mean": 4685.8e6}
    assert second.number("messages_lost", "total") == Number(metric="messages_lost", statistic="total", value=12)
    assert summary.scope == "summary"


def test_micro_sign_that_versions_from_4_0_on_print_is_read() -> None:
    assert values(read(LOGS / "printer-4.3-legacy-pub.log").records[2])["mean"] == 28_000


def test_message_size_of_a_serialisation_time_is_read_from_the_previous_summary() -> None:
    latency, cost = read(LOGS / "3.0.1-latency-pub.log").records

    assert latency.payload_bytes == cost.payload_bytes == 64
    assert latency.number("cpu_of_machine", "mean") == Number(metric="cpu_of_machine", statistic="mean", value=9.06, resolution=0.01)
    assert values(cost, "serialization") == {"mean": 2118}
    assert values(cost, "deserialization") == {"mean": 2145}
    assert cost.conditions.definition == "rti-serialization"


def test_summary_of_version_5_1_is_read_although_it_lacks_the_last_percentile_and_a_unit() -> None:
    _, interval, summary = read(LOGS / "legacy-5.1-pub.log").records

    assert values(interval) == {"last": 410_000, "mean": 403_000, "std": 7_000, "min": 396_000, "max": 410_000}
    assert list(values(summary)) == ["mean", "std", "min", "max", "p50", "p90", "p99", "p99.99"]


def test_loss_that_is_printed_without_a_percentage_is_read_only_as_a_count() -> None:
    first = read(LOGS / "manual-2.0-sub.log").records[0]

    assert values(first, "messages_lost") == {"total": 0}
    assert first.number("loss", "total") is None


def test_latencies_of_high_resolution_builds_are_read_in_nanoseconds_and_in_microseconds() -> None:
    interval, nanoseconds, microseconds = read(LOGS / "legacy-nanoseconds-pub.log").records

    assert values(interval)["last"] == 3250
    assert nanoseconds.number("latency", "mean") == Number(metric="latency", statistic="mean", value=3310, resolution=1)
    assert nanoseconds.number("latency", "std") == Number(metric="latency", statistic="std", value=60.5, resolution=0.1)
    assert microseconds.number("latency", "std") == Number(metric="latency", statistic="std", value=61, resolution=1)
    assert values(microseconds)["max"] == 3371


def test_decimal_commas_of_the_java_version_are_read() -> None:
    interval, summary = read(LOGS / "legacy-java-2.2-pub.log").records

    assert values(interval)["std"] == 100
    assert values(summary)["std"] == 12_000
    assert values(summary, "cpu_of_machine") == {"mean": 12.5}


def test_processor_time_of_the_c_sharp_version_is_divided_by_a_hundred() -> None:
    interval, summary = read(LOGS / "legacy-csharp-sub.log").records

    assert values(interval, "cpu_of_machine") == {"last": 12}
    assert values(summary, "cpu_of_machine") == {"mean": 12}
    assert summary.number("loss", "total") == Number(metric="loss", statistic="total", value=0.07, resolution=1e-4)


@pytest.mark.parametrize(("text", "percent"), [("CPU: 17.35%", 17.35), ("CPU: 12.3 percent ", 12.3), ("CPU: 12%", 12), ("CPU 24.12 (%)", 24.12)])
def test_processor_time_is_read_in_each_spelling(text: str, percent: float) -> None:
    line = f"Length:    64  Packets:  1420059  Packets/s(ave):   11833  Mbps(ave):     6.1  Lost:     0 (0.00%) {text}\n"

    assert values(read_text(line, "rti").records[0], "cpu_of_machine") == {"mean": percent}


@pytest.mark.parametrize("text", ["(0.00%)", "(0.0 %)", "(0.00 %)", "(0.00 (%))"])
def test_share_of_loss_is_read_in_each_spelling(text: str) -> None:
    line = f"Length:    64  Packets:  1420059  Packets/s(ave):   11833  Mbps(ave):     6.1  Lost:     0 {text}\n"

    assert values(read_text(line, "rti").records[0], "loss") == {"total": 0}


def test_interval_is_broken_if_the_minimum_is_larger_than_in_the_previous_interval() -> None:
    """Such an interval is of another message size, and the header with this size is lost."""
    log = read_text(HEAD.format(64) + ANSWER.format(20, 18, 25) + ANSWER.format(40, 38, 45) + ANSWER.format(40, 38, 45), "rti")

    assert [record.payload_bytes for record in log.records] == [64]
    assert [text.partition(": ")[2] for text in log.broken] == [
        "the minimum grew or the maximum shrank: this interval belongs to another size than the intervals before it",
        "no head states the size of this interval",
    ]


def test_last_percentiles_of_the_java_version_are_impossible_if_they_equal_the_minimum() -> None:
    line = SUMMARY.format(64).replace("99.99%     61", "99.99%     18").replace("99.9999%     61", "99.9999%     18")

    record = read_text(line, "rti").records[0]

    assert record.number("latency", "p99.99") == Number(metric="latency", statistic="p99.99", value=None, marks=("impossible",))
    assert record.number("latency", "p99.9999") == Number(metric="latency", statistic="p99.9999", value=None, marks=("impossible",))
    assert values(record)["p99"] == 61_000


RATES = "Length: {}  Packets:  1420059  Packets/s(ave):   11833  Mbps(ave):     6.1  Lost:     0 (0.00%)\n"
NO_SUMMARY = "there is no summary of latencies before this line"


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        pytest.param(COST, f"1: {NO_SUMMARY}", id="time of serialisation without a summary"),
        pytest.param(SUMMARY.format(64) + SUMMARY.format(128) + COST, f"3: {NO_SUMMARY}", id="time of serialisation where not each summary has one"),
        pytest.param(SUMMARY.format(64) + COST + SUMMARY.format(128) + COST, None, id="time of serialisation after each summary"),
        pytest.param(SECOND, "1: no head states the size of this interval", id="interval without a header"),
        pytest.param(HEAD.format(1024) + SECOND, None, id="interval below its header"),
        pytest.param(
            HEAD.format(1024) + HEAD.format(64) + SECOND,
            "7: two sizes are mixed: it is unknown to which size this interval belongs",
            id="two merged logs",
        ),
        pytest.param(HEAD.format(64) + SECOND, "4: rate, size and Mbps contradict each other", id="interval with a rate of another size"),
        pytest.param(
            HEAD.format(1024) + SECOND + SECOND.replace(" (0.00%)", ""),
            "5: two sizes are mixed: it is unknown to which size this interval belongs",
            id="interval printed in another form",
        ),
        pytest.param(SUMMARY.format(64).replace("50%     19", "50%     91"), "1: the statistics contradict each other", id="median above p90"),
        # The mean is at most 40: half of the samples are at most 19, and the others at most 61.
        pytest.param(SUMMARY.format(64).replace("Ave     28", "Ave     58"), "1: the statistics contradict each other", id="impossible mean"),
        pytest.param(
            "Length: 31457280  Packets:     1120  Packets/s(ave):      37  Mbps(ave):  9358.5  Lost: 215763 (99.84%)\n",
            "1: the share of loss contradicts the counts",
            id="share of loss that contradicts the counts",
        ),
        pytest.param(RATES.format(128), "1: rate, size and Mbps contradict each other", id="rates that contradict the size"),
        # Without a line end, the processor time may be missing.
        pytest.param(SUMMARY.format(64).rstrip("\n"), "1: the log ends within this line", id="latencies at the end of a log"),
        pytest.param(RATES.format(64).rstrip("\n"), "1: the log ends within this line", id="rates at the end of a log"),
    ],
)
def test_line_that_contradicts_itself_or_earlier_lines_is_refused(text: str, broken: str | None) -> None:
    assert read_text(text, "rti").broken == ([f"text:{broken}"] if broken else [])
