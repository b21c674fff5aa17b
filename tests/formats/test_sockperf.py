"""sockperf: the output of its client. Expected values were copied by hand from the logs in ``sockperf/`` (see its README)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.anywhere import anywhere

from tacholog.formats.reading import Log, read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Histogram, Number

LOGS = Path(__file__).parent / "sockperf"
Changed = Callable[[str, str, str], Log]  # see conftest.py


def logged(name: str) -> Log:
    return read(LOGS / name, "sockperf")


def test_statistics_are_half_round_trips_in_nanoseconds() -> None:
    log = logged("ping-pong-udp.log")

    (record,) = log.records
    assert (record.samples, record.side, record.payload_bytes) == (337358, "publisher", None)
    assert record.conditions == Conditions(transport="UDP", basis="rtt/2", definition="sockperf-latency")
    assert [(n.metric, n.statistic, n.value, n.resolution) for n in record.numbers] == [
        ("latency", "mean", 3761, 1),
        ("latency", "std", 57581, 1),
        ("latency", "min", 1571, 1),
        ("latency", "p25", 1717, 1),
        ("latency", "p50", 1770, 1),
        ("latency", "p75", 1855, 1),
        ("latency", "p90", 1942, 1),
        ("latency", "p99", 6307, 1),
        ("latency", "p99.9", 924168, 1),
        ("latency", "p99.99", 2520022, 1),
        ("latency", "p99.999", 2799699, 1),
        ("latency", "max", 4504972, 1),
        ("messages_sent", "total", 337358, None),
        ("messages_received", "total", 337358, None),
        ("messages_lost", "total", 0, None),
        ("messages_duplicated", "total", 0, None),
        ("messages_reordered", "total", 0, None),
        ("duration", "total", 2.545e9, 1e6),
    ]
    assert log.unknown == []
    assert log.account.facts.tool_version == "3.7-no.git"


def test_each_number_states_its_position_in_the_log() -> None:
    (record,) = logged("ping-pong-udp.log").records
    lines = (LOGS / "ping-pong-udp.log").read_text(encoding="utf-8").replace("\x1b[2;35m", "").replace("\x1b[0m", "").splitlines()

    printed = [(number.statistic, lines[(number.line or 0) - 1][number.value_start : number.value_end]) for number in record.numbers]

    assert printed[:4] == [("mean", "3.761"), ("std", "57.581"), ("min", "1.571"), ("p25", "1.717")]
    assert printed[-6:-4] == [("total", "337358"), ("total", "337358")]
    assert printed[-1] == ("total", "2.545")


def test_latency_measured_with_the_option_full_rtt_is_a_round_trip() -> None:
    record = logged("ping-pong-tcp-full-rtt.log").records[0]

    assert record.conditions == Conditions(transport="TCP", basis="rtt", definition="sockperf-rtt")
    assert record.number("latency", "p50") == Number(metric="latency", statistic="p50", value=3961, resolution=1, line=23)


def test_result_under_load_has_the_number_of_sent_and_of_answered_messages() -> None:
    record = logged("under-load.log").records[0]

    assert record.samples == 273
    assert [record.numbers[index].value for index in (12, 13)] == [545, 273]


def test_message_about_a_signal_between_the_lines_of_a_result_changes_nothing() -> None:
    log = logged("under-load-interrupted-within.log")

    (record,) = log.records
    assert record.number("latency", "mean") == Number(metric="latency", statistic="mean", value=559_994, resolution=1, line=12)
    assert (record.samples, log.broken, log.unknown) == (551, [], [])


@pytest.mark.parametrize(
    ("name", "payload", "bit_per_s", "resolution", "rate"),
    [
        ("throughput-udp.log", 1400, 4126.791 * 2**20, 2**20 / 1000, 386362),
        ("throughput-tcp.log", 1024, 16404.359 * 2**20, 2**20 / 1000, 2099758),
        ("throughput-giga-size.log", 1024, 1920 * 2**20, 2**20, 245788),
        ("throughput-nine-decimals.log", 1024, 3675.84375 * 2**20, 2**20 / 1e9, 470508),
    ],
)
def test_throughput_is_read_as_sent_data_in_units_of_2_to_the_power_of_20(
    name: str, payload: int, bit_per_s: float, resolution: float, rate: int
) -> None:
    log = logged(name)

    (record,) = log.records
    sent, offered = record.numbers[:2]
    assert sent.metric == "offered_goodput"
    assert sent.value == pytest.approx(bit_per_s, rel=1e-12)
    assert sent.resolution == pytest.approx(resolution)
    assert (offered.metric, offered.value) == ("offered_rate", rate)
    assert (record.test, record.side, record.payload_bytes, record.conditions.load_mode) == ("throughput", "publisher", payload, "max-rate")
    assert log.unknown == []


def test_message_size_is_1472_bytes_if_the_log_has_no_note_about_the_size(changed: Changed) -> None:
    note = "sockperf: \x1b[2;35mNOTE: test was performed, using msg-size=1400. For getting maximum throughput consider using --msg-size=1472\x1b[0m\n"

    log = changed("sockperf/throughput-udp.log", note, "")
    assert log.broken == ["text:8: the bandwidth is not the rate times the size"]

    text = (LOGS / "throughput-udp.log").read_text().replace(note, "").replace("515.849 MBps (4126.791 Mbps)", "542.378 MBps (4339.026 Mbps)")
    assert [record.payload_bytes for record in read_text(text).records] == [1472]


def test_record_has_the_rate_and_the_size_range_of_the_note(changed: Changed) -> None:
    log = changed("sockperf/throughput-udp.log", "using msg-size=1400.", "using average msg-size=1400 (+/-100), mps=400000.")

    (record,) = log.records
    assert (record.payload_bytes, record.payload_bytes_high) == (1300, 1500)
    assert (record.conditions.load_mode, record.conditions.offered_rate_per_s) == ("paced", 400_000)


def test_full_log_gives_a_summary_and_a_histogram_of_its_packets() -> None:
    log = logged("full-log.csv")

    (record,) = log.records
    assert (record.payload_bytes, record.samples, record.conditions.planned_duration_s) == (14, 54, 1)
    (histogram,) = [event.what for event in log.events if isinstance(event.what, Histogram)]
    assert (histogram.payload_bytes, histogram.basis) == (14, "rtt/2")
    assert sum(count for _, _, count in histogram.bins) == 54
    assert histogram.bins[0] == (28240, 28255, 1)
    assert histogram.bins[-1] == (3452928, 3454975, 1)
    assert log.unknown == []


def test_load_mode_of_a_full_log_is_open_if_only_some_messages_request_a_reply() -> None:
    record = logged("full-log-under-load-rtt.csv").records[0]

    assert record.conditions == Conditions(
        load_mode="open",
        offered_rate_per_s=200,
        basis="rtt",
        definition="sockperf-rtt",
        planned_duration_s=1,
        settings='{"burst": "1", "reply-every": "2"}',
    )


def test_full_log_with_missing_packets_is_truncated_and_keeps_its_summary() -> None:
    log = logged("full-log-cut.csv")

    assert (log.account.status, log.account.reason) == ("truncated", "the full log has 299 of 337358 packets")
    assert [record.payload_bytes for record in log.records] == [64]
    assert not any(isinstance(event.what, Histogram) for event in log.events)


def test_full_log_without_its_last_packet_is_truncated(changed: Changed) -> None:
    last = next(line for line in (LOGS / "full-log.csv").read_text().splitlines(keepends=True) if line.startswith("53, "))

    log = changed("sockperf/full-log.csv", last, "")

    assert log.account.reason == "the full log has 53 of 54 packets"
    assert not any(isinstance(event.what, Histogram) for event in log.events)


@pytest.mark.parametrize(
    ("end", "broken", "status", "reason"),
    [
        ("1872.337", 0, None, None),  # The row has all decimals, so it is complete.
        ("1872.33", 1, "truncated", "the full log has 53 of 54 packets"),
        ("2.950406805, ", 1, "truncated", "the full log has 53 of 54 packets"),  # A missing latency is not computed.
    ],
)
def test_last_packet_of_a_full_log_counts_if_its_latency_is_complete(end: str, broken: int, status: str | None, reason: str | None) -> None:
    text = (LOGS / "full-log.csv").read_text(encoding="utf-8")
    log = read_text(text[: text.rindex(end) + len(end)], "sockperf")

    assert (len(log.broken), log.account.status, log.account.reason) == (broken, status, reason)
    assert [record.samples for record in log.records] == [54]
    assert not any(isinstance(event.what, Histogram) for event in log.events)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2, 2.436662134,", "9, 2.436662134,"),
        ("2, 2.436662134,", "2, 2.436562134,"),
        ("855.980\n", "855.98\n"),
    ],
)
def test_packet_out_of_order_or_with_a_wrong_time_is_broken(changed: Changed, old: str, new: str) -> None:
    log = changed("sockperf/full-log.csv", old, new)

    assert log.broken[0] == "text:24: a packet's row that is cut, garbled or out of its place"
    assert log.account.status == "truncated"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no-server.log", "No messages were received from the server. Is the server down?"),
        ("refused.log", "ERROR: Can`t connect socket (errno=111 Connection refused)"),
    ],
)
def test_run_of_a_client_without_a_server_is_failed(name: str, reason: str) -> None:
    log = logged(name)

    assert (log.account.status, log.account.reason) == ("failed", reason)
    assert log.unknown == []


def test_log_of_a_server_gives_no_records() -> None:
    log = logged("server.log")

    assert (log.records, log.unknown) == ([], [])


@pytest.mark.parametrize(
    ("old", "new", "broken"),
    [
        ("ReceivedMessages=337358", "ReceivedMessages=33735", "10: the counts of samples differ"),
        ("sockperf: ---> percentile 90.000 =    1.942\n", "", "10: percentiles are missing, or not those of the tool"),
        ("   1.942", "   8.942", "10: minimum, percentiles, mean and maximum are out of order"),
        ("Latency is 3.761", "Latency is 3.762", "10: the summary is another's"),
        ("(std-dev=57.581)", "(std-dev=57.581", "10: the rest of this result is missing"),
        ("sockperf: # dropped", "sockperf: Test ended\nsockperf: # dropped", "10: the rest of this result is missing"),
    ],
)
def test_result_with_contradictory_or_missing_statistics_is_broken(changed: Changed, old: str, new: str, broken: str) -> None:
    log = changed("sockperf/ping-pong-udp.log", old, new)

    assert log.records == []
    assert log.broken[0] == f"text:{broken}"


@pytest.mark.parametrize(
    ("old", "new", "broken"),
    [
        ("772987 messages", "77298 messages", "8: the rate is not the messages divided by the time"),
        ("4126.791", "4126.891", "8: bits are not eight times the bytes"),
        ("515.849", "516.849", "8: the bandwidth is not the rate times the size"),
    ],
)
def test_contradicting_rates_are_broken(changed: Changed, old: str, new: str, broken: str) -> None:
    assert changed("sockperf/throughput-udp.log", old, new).broken == [f"text:{broken}"]


def test_result_gives_no_record_if_its_last_line_has_no_line_end(changed: Changed) -> None:
    log = changed("sockperf/ping-pong-udp.log", "    1.571\n", "    1.571")

    assert log.records == []


def test_additional_statistics_that_newer_versions_print_are_read(changed: Changed) -> None:
    more = "std-dev=57.581, mean-ad=1.100, median-ad=0.090, siqr=0.069, cv=15.310, std-error=0.099, 99.0% ci=[3.506, 4.016])"

    record = changed("sockperf/ping-pong-udp.log", "std-dev=57.581)", more).records[0]

    assert [record.numbers[index].value for index in (12, 13, 14, 15)] == [1100, 90, 69, 99]
    assert record.numbers[15].statistic == "std-error"


def test_mean_of_versions_before_3_6_is_read_from_the_name_avg_lat() -> None:
    log = logged("ping-pong-before-3.6.log")

    (record,) = log.records
    assert record.conditions == Conditions(transport="TCP", basis="rtt/2", definition="sockperf-latency")
    assert (record.samples, record.number("latency", "p25")) == (1, None)  # A single sample has no 25th percentile.
    assert {n.value for n in record.numbers if n.metric == "latency" and n.statistic != "std"} == {121880}
    assert record.number("duration", "total") == Number(metric="duration", statistic="total", value=1e6, resolution=1e6, bound="<", line=8)
    assert (log.broken, log.unknown) == ([], [])


def test_percentiles_of_versions_before_2_8_are_read() -> None:
    """The layout is from the source code of sockperf 2.5, with the percentiles 95.00 and 99.50. The figures are invented."""
    names = ("99.99", "99.90", "99.50", "99.00", "95.00", "90.00", "75.00", "50.00", "25.00")
    text = (
        "sockperf: [Total Run] RunTime=1.000 sec; SentMessages=20100; ReceivedMessages=20100\n"
        "sockperf: ========= Printing statistics for Server No: 0\n"
        "sockperf: [Valid Duration] RunTime=0.900 sec; SentMessages=20000; ReceivedMessages=20000\n"
        "sockperf: \x1b[2;35m====> avg-lat=  5.403 (std-dev=0.677)\x1b[0m\n"
        "sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0\n"
        "sockperf: Summary: Latency is 5.403 usec\n"
        "sockperf: Total 20000 observations; each percentile contains 200.00 observations\n"
        "sockperf: ---> <MAX> observation =   42.337\n"
        + "".join(f"sockperf: ---> percentile  {name} = {9.9 - index:8.3f}\n" for index, name in enumerate(names))
        + "sockperf: ---> <MIN> observation =    1.003\n"
    )

    log = read_text(text)

    (record,) = log.records
    assert [(n.statistic, n.value) for n in record.numbers if n.metric == "latency"] == [
        ("mean", 5403),
        ("std", 677),
        ("min", 1003),
        *(("p25", 1900), ("p50", 2900), ("p75", 3900), ("p90", 4900), ("p95", 5900), ("p99", 6900), ("p99.5", 7900), ("p99.9", 8900)),
        ("p99.99", 9900),
        ("max", 42337),
    ]
    assert (log.broken, log.unknown) == ([], [])


def test_minimum_and_maximum_are_read_even_if_a_web_page_removed_their_angle_brackets() -> None:
    text = (LOGS / "ping-pong-udp.log").read_text().replace("<MAX>", "MAX").replace("<MIN>", "MIN")

    assert read_text(text, "sockperf").records == logged("ping-pong-udp.log").records


def test_note_split_in_two_by_a_mail_affects_no_result(changed: Changed) -> None:
    log = changed("sockperf/throughput-udp.log", "For getting maximum", "For getting \nmaximum")

    assert anywhere(log.records) == anywhere(logged("throughput-udp.log").records)
    assert log.broken == []
    assert len(log.unknown) == 1


def test_message_states_that_the_first_lines_of_a_result_are_missing() -> None:
    log = read_text("sockperf: Summary: Message Rate is 75439 [msg/sec]\nsockperf: Summary: BandWidth is 105.902 MBps (847.215 Mbps)\n")

    assert log.broken == [f"text:{line}: a line of a result whose first lines are missing" for line in (1, 2)]


def test_version_line_without_a_number_is_known_and_gives_no_tool_version(changed: Changed) -> None:
    log = changed("sockperf/throughput-udp.log", "#3.7-no.git", "#")

    assert log.account.facts.tool_version is None
    assert log.unknown == []
