"""ddsperf: the meaning of its lines. Expected values were copied by hand from the logs in ``ddsperf/`` (see its README)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import Log, read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "ddsperf"
SUB = "[1] {}.000  size 1024 total {} lost {} delta {} lost {} rate {} kS/s {} Mb/s (1.00 kS/s 8.19 Mb/s)\n"


def intervals(log: Log, definition: str) -> list[Record]:
    return [record for record in log.records if record.scope == "interval" and record.conditions.definition == definition]


def summaries(log: Log) -> list[Record]:
    return [record for record in log.records if record.scope == "summary"]


def values(record: Record, metric: str) -> dict[str, float | None]:
    """The key is the statistic."""
    return {number.statistic: number.value for number in record.numbers if number.metric == metric}


def test_interval_of_a_subscriber_has_the_rate_of_one_second_and_not_the_printed_rate_of_ten_seconds() -> None:
    second = intervals(read(LOGS / "sub.log"), "ddsperf-subscriber")[1]

    assert second == Record(
        test="throughput",
        payload_bytes=1024,
        numbers=(
            Number(metric="message_rate", statistic="mean", value=200_600, resolution=10),
            Number(metric="goodput", statistic="mean", value=1643.31e6, resolution=1e4),
            Number(metric="messages_received", statistic="total", value=200968),
            Number(metric="messages_lost", statistic="total", value=0),
        ),
        samples=200968,
        scope="interval",
        side="subscriber",
        conditions=Conditions(definition="ddsperf-subscriber"),
    )


def test_summary_of_a_subscriber_has_final_counts_and_a_mean_rate_that_excludes_the_first_second() -> None:
    (summary,) = summaries(read(LOGS / "sub.log"))

    assert (summary.payload_bytes, summary.samples, summary.side) == (1024, 2229576, "subscriber")
    # Four seconds count. Their rates are 200.60, 462.24, 831.63 and 468.65 kS/s, and 1643.31, 3786.70, 6812.74 and 3839.19 Mb/s.
    assert values(summary, "message_rate") == {"mean": 490_780.0}
    assert values(summary, "goodput") == {"mean": 4020.485e6}
    assert values(summary, "messages_received") == {"total": 2229576}
    assert values(summary, "loss") == {"total": 0}
    assert all(number.marks == ("derived",) for number in summary.numbers)


def test_second_in_which_the_publisher_left_is_excluded_from_the_mean() -> None:
    (summary,) = summaries(read(LOGS / "sub-netload-extended.log"))

    assert values(summary, "message_rate") == {"mean": pytest.approx((79920 + 80030 + 80010) / 3)}
    assert values(summary, "messages_received") == {"total": 320056}


def test_seconds_without_messages_count_as_zero_even_though_the_tool_prints_no_line_for_them() -> None:
    (summary,) = summaries(read(LOGS / "sub-publisher-stopped.log"))

    # Six seconds have rates of 5.00, 5.00, 5.00, 2.50, 17.43 and 5.00 kS/s. Between 5.018 s and 8.000 s, the log has no line for 1.982 s.
    assert values(summary, "message_rate") == {"mean": pytest.approx(39_930 / 7.982)}
    # The same six seconds have rates of 40.97, 40.95, 40.98, 20.48, 142.81 and 40.98 Mb/s.
    assert values(summary, "goodput") == {"mean": pytest.approx(327.17e6 / 7.982)}
    assert values(summary, "messages_received") == {"total": 44979}


def test_rate_in_a_late_report_is_weighted_by_the_time_that_the_report_covers() -> None:
    (summary,) = summaries(read(LOGS / "pub-stopped.log"))

    # Three seconds have rates of 5, 4.99 and 21.5 k/s. The time from 3.029 s to 7.216 s has a rate of 1.06 k/s.
    assert values(summary, "offered_rate") == {"mean": pytest.approx((5000 + 4990 + 21_500 + 1060 * 4.187) / 7.187)}


def test_pause_between_two_publishers_is_excluded_from_the_mean() -> None:
    text = "".join((SUB.format(time, time * 1000, 0, 1000, 0, "1.00", "8.19")) for time in (1, 2, 3))
    text += "[1] participant vm:7: gone\n[1] participant vm:8: new\n"
    text += "".join((SUB.format(time, time * 1000, 0, 1000, 0, "1.00", "8.19")) for time in (9, 10))

    (summary,) = summaries(read_text(text, "ddsperf"))

    assert values(summary, "message_rate") == {"mean": 1000}


def test_interval_of_a_ping_states_half_round_trips_to_one_peer() -> None:
    first = intervals(read(LOGS / "ping.log"), "ddsperf-ping")[0]

    assert (first.payload_bytes, first.samples, first.participant) == (2048, 99, "peer 1")
    assert first.conditions.basis == "rtt/2"
    assert values(first, "latency") == {"mean": 69317, "min": 54987, "p50": 66887, "p90": 87044, "p99": 92123, "max": 92123}
    assert {number.resolution for number in first.numbers} == {1}


def test_summary_of_a_ping_has_a_mean_weighted_by_samples_and_no_percentiles() -> None:
    (summary,) = summaries(read(LOGS / "ping-as-fast-as-possible.log"))

    assert (summary.payload_bytes, summary.samples, summary.participant) == (64, 46314 + 44660, "peer 1")
    assert values(summary, "latency") == {
        "min": 3512,
        "max": 1587512,
        "mean": pytest.approx((10721 * 46314 + 11129 * 44660) / 90974),
        "p50": None,
        "p90": None,
        "p99": None,
    }


def test_percentiles_of_a_run_are_unknown_if_the_log_states_percentiles_only_for_each_second() -> None:
    (summary,) = summaries(read(LOGS / "ping.log"))

    assert [(n.statistic, n.value, n.marks) for n in summary.numbers if n.statistic in ("p50", "p90", "p99")] == [
        ("p50", None, ("derived", "intervals_only")),
        ("p90", None, ("derived", "intervals_only")),
        ("p99", None, ("derived", "intervals_only")),
    ]


def test_summary_of_a_run_with_a_single_report_has_the_percentiles_of_this_report() -> None:
    (summary,) = summaries(read(LOGS / "ping-one-report.log"))

    assert values(summary, "latency") == {"mean": 12_826, "min": 8_351, "max": 3_133_346, "p50": 9_353, "p90": 9_839, "p99": 41_837}
    assert summary.samples == 38_809


def test_run_of_one_second_has_the_percentiles_of_that_second() -> None:
    text = "".join((LOGS / "ping.log").read_text(encoding="utf-8").splitlines(keepends=True)[:4])

    (summary,) = summaries(read_text(text, "ddsperf"))

    assert [values(summary, "latency")[name] for name in ("p50", "p90", "p99")] == [66887, 87044, 92123]


def test_peer_has_the_same_name_in_a_repetition_with_other_process_ids() -> None:
    text = (LOGS / "ping.log").read_text(encoding="utf-8")
    again = text.replace("vm:31347", "vm:40211").replace("31348", "40212")

    assert {record.participant for record in read_text(text, "ddsperf").records} == {None, "peer 1"}
    assert [record.participant for record in read_text(again, "ddsperf").records] == [
        record.participant for record in read(LOGS / "ping.log").records
    ]


def test_two_peers_have_different_names() -> None:
    line = "[1] 1.000  vm:{} size 64 mean 1.500us min 1.000us 50% 1.000us 90% 4.000us 99% 5.000us max 5.000us cnt 20\n"

    log = read_text(line.format(9) + line.format(7) + line.format(9).replace("1.000 ", "2.000 "), "ddsperf")

    assert [record.participant for record in intervals(log, "ddsperf-ping")] == ["peer 1", "peer 2", "peer 1"]


def test_summary_of_a_process_with_a_broken_line_is_marked_as_partial() -> None:
    text = (LOGS / "sub.log").read_text(encoding="utf-8").replace("delta 200968", "delta 2009x8")

    (summary,) = summaries(read_text(text, "ddsperf"))

    assert all("partial" in number.marks for number in summary.numbers)


def test_latency_from_source_timestamps_is_one_way_and_negative_values_are_impossible() -> None:
    text = "[7] 1.000  sublat vm:9 size 64 mean 1.500us min -2.000us 50% 1.000us 90% 4.000us 99% 5.000us max 5.000us cnt 20\n"

    record = intervals(read_text(text, "ddsperf"), "ddsperf-one-way")[0]

    assert record.conditions.basis == "one-way"
    assert record.side == "subscriber"
    assert record.number("latency", "min") == Number(metric="latency", statistic="min", value=None, marks=("impossible",))
    assert values(record, "latency")["p90"] == 4000


def test_rate_of_a_publisher_is_the_offered_rate_with_three_digits() -> None:
    log = read(LOGS / "pub.log")

    rates = [record.numbers[0] for record in intervals(log, "ddsperf-publisher")]
    assert [(rate.value, rate.resolution) for rate in rates] == [(270e3, 1e3), (201e3, 1e3), (469e3, 1e3), (828e3, 1e3), (483e3, 1e3)]
    (summary,) = summaries(log)
    # The subscriber ended before the last second.
    assert values(summary, "offered_rate") == {"mean": pytest.approx((201e3 + 469e3 + 828e3) / 3)}
    assert summary.payload_bytes is None


def test_rate_printed_as_80k_has_a_resolution_of_100_because_the_tool_omits_trailing_zeros() -> None:
    second = intervals(read(LOGS / "pub-with-pings.log"), "ddsperf-publisher")[1].numbers[0]  # "80k/s"

    assert (second.value, second.resolution) == (80_000, 100)


def test_processor_time_is_the_sum_over_threads_and_peak_memory_is_the_maximum() -> None:
    log = read(LOGS / "sub.log")

    own_use, peers = intervals(log, "ddsperf-process")[1:3]
    assert (own_use.participant, values(own_use, "cpu"), values(own_use, "peak_memory")) == (
        None,
        {"mean": 20},
        {"max": 7549747},
    )  # 0+1+14+5 %, 7.2 MB
    assert (peers.participant, values(peers, "cpu")) == ("peer 1", {"mean": 31})  # 2+0+22+7 %
    (summary,) = summaries(log)
    assert values(summary, "cpu") == {"mean": (20 + 41 + 71 + 35) / 4}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nomatch.log", "too few matching participants (0)"),
        ("criteria-not-met.log", "too few matching participants (0); RSS grew too much (0.000000 -> 7376896.000000)"),
        ("pub-best-effort-unmatched.log", "vm:4994 failed to match data reader, ping reader, pong reader, ping writer, pong writer"),
    ],
)
def test_run_is_failed_if_its_log_has_an_error(name: str, reason: str) -> None:
    account = read(LOGS / name).account

    assert (account.status, account.reason) == ("failed", reason)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[3] participant vm:9: failed to match in 5.000s", "participant vm:9: failed to match in 5.000s"),
        ("dds_create_writer(Stats) failed: -1", "dds_create_writer(Stats) failed: -1"),
        ("write error: -3", "write error: -3"),
    ],
)
def test_run_is_failed_if_its_log_has_an_error_that_is_known_only_from_the_source_code(line: str, reason: str) -> None:
    account = read_text(f"{line}\n", "ddsperf").account

    assert (account.status, account.reason) == ("failed", reason)


def test_no_line_of_a_sample_is_broken_or_unknown() -> None:
    for path in LOGS.glob("*.log"):
        assert (read(path).broken, read(path).unknown) == ([], []), path.name


def test_line_of_version_0_5_is_read_although_it_lacks_the_rates_of_ten_seconds() -> None:
    log = read_text("[1] 1.000  size 1024 total 500 lost 2 delta 500 lost 2 rate 0.50 kS/s 4.10 Mb/s\n", "ddsperf")

    assert values(log.records[0], "goodput") == {"mean": 4.1e6}


def test_summary_of_each_message_size_counts_only_the_seconds_with_this_size() -> None:
    text = SUB.format(1, 500, 0, 500, 0, "0.50", "4.10") + SUB.format(2, 900, 0, 400, 0, "0.40", "3.28").replace("size 1024", "size 64")

    first, second = summaries(read_text(text, "ddsperf"))

    assert (first.payload_bytes, values(first, "messages_received")) == (1024, {"total": 500})
    assert (second.payload_bytes, values(second, "messages_received")) == (64, {"total": 400})


def test_new_process_that_reuses_an_earlier_process_id_has_a_separate_summary() -> None:
    process = "[1] participant vm:1: new (self)\n" + SUB.format(1, 500, 0, 500, 0, "0.50", "4.10")

    assert [values(summary, "messages_received") for summary in summaries(read_text(process + process, "ddsperf"))] == [{"total": 500}] * 2


def test_interval_that_is_printed_twice_counts_once() -> None:
    first, second = SUB.format(1, 500, 0, 500, 0, "0.50", "4.10"), SUB.format(2, 900, 0, 400, 0, "0.40", "3.28")

    (summary,) = summaries(read_text(first + second + second + first, "ddsperf"))

    assert summary.samples == 900
    assert values(summary, "message_rate") == {"mean": 400}


@pytest.mark.parametrize(
    "line",
    [
        "[1] 1.000  size 1024 total 400 lost 0 delta 500 lost 0 rate 0.50 kS/s 4.10 Mb/s",
        "[1] 1.000  size 0 total 500 lost 0 delta 500 lost 0 rate 0.50 kS/s 4.10 Mb/s",
        "[1] 1.000  size 1024 total 500 lost 0 delta 500 lost 0 rate 0.50 kS/s 4.1",
        "[1] 1.000  vm:9 size 64 mean 1.500us min 2.000us 50% 1.000us 90% 4.000us 99% 5.000us max 5.000us cnt 20",
        "[1] 1.000  vm:9 size 64 mean 1.500us min 1.000us 50% 1.000us 90% 4.000us 99% 5.000us",
        "[1] 1.000  270k/s   0n |@____..__.......",
        "[1] 1.000  rss:7.2MB vcsw:7727 ivcsw:3818 tev:1%+0% recvUC:21",
    ],
)
def test_truncated_or_impossible_line_is_broken(line: str) -> None:
    log = read_text(f"{line}\n", "ddsperf")

    assert len(log.broken) == 1
    assert log.records == []


@pytest.mark.parametrize(
    "line",
    ["[1] 1.000  vm:9 size 64 mean 1.500us min 1.000us 50% 1.000us 90% 4.000us 99% 5.000us max 5.000us cnt 2", "[1] 1.000  vcsw:1 ivcsw:2 tev:1%+0%"],
)
def test_last_line_without_a_line_end_is_broken_because_a_digit_or_a_thread_may_be_missing(line: str) -> None:
    assert read_text(line, "ddsperf").broken == ["text:1: the log ends within this line"]


def test_counter_below_zero_is_unknown() -> None:
    log = read_text(SUB.format(1, 500, 18446744073709551615, 500, 0, "0.50", "4.10"), "ddsperf")

    summary = summaries(log)[0]
    lost = summary.number("messages_lost", "total")
    assert lost == Number(metric="messages_lost", statistic="total", value=None, marks=("derived", "impossible"))
    assert summary.number("loss", "total") is None


def test_line_without_received_messages_gives_no_record_and_is_not_broken() -> None:
    log = read_text("[1] 1.000  size 0 total 0 lost 0 delta 0 lost 0 rate 0.00 kS/s 0.00 Mb/s (0.00 kS/s 0.00 Mb/s)\n", "ddsperf")

    assert (log.records, log.broken, log.unknown) == ([], [], [])


def test_trace_lines_of_cyclone_dds_are_recognised_as_chatter() -> None:
    log = read(LOGS / "trace-lines.log")

    assert (log.broken, log.unknown, log.account.status) == ([], [], None)
    (summary,) = summaries(log)
    assert (summary.payload_bytes, summary.samples) == (12, 2839 + 2736)
    assert summary.number("latency", "max") == Number(metric="latency", statistic="max", value=3_372_989, resolution=1, marks=("derived",))


def test_mean_rate_is_an_upper_bound_if_all_rates_are_printed_as_0() -> None:
    log = read_text("".join(SUB.format(second, second, 0, 1, 0, "0.00", "0.01") for second in (1, 2, 3)))

    (summary,) = summaries(log)
    rate, goodput = summary.number("message_rate", "mean"), summary.number("goodput", "mean")
    assert rate is not None
    assert goodput is not None
    assert (rate.bound, rate.value) == ("<", 10)
    assert (goodput.bound, goodput.value) == ("=", 1e4)


def test_mean_rate_is_not_a_bound_if_only_one_rate_is_printed_as_0() -> None:
    rates = {1: "1.00", 2: "1.00", 3: "0.00"}
    log = read_text("".join(SUB.format(second, second, 0, 1, 0, rate, "8.19") for second, rate in rates.items()))

    (summary,) = summaries(log)
    rate = summary.number("message_rate", "mean")
    assert rate is not None
    assert (rate.bound, rate.value) == ("=", (1000 + 10) / 2)  # The first second is incomplete.


def test_lines_of_a_version_from_2019_are_read_although_they_lack_context_switches() -> None:
    log = read_text(
        "[21179] participant perftest8:21179: new (self)\n"
        "[21179] 2.000  size 12 total 1954567 lost 0 delta 1149660 lost 0 rate 1149.66 kS/s 110.37 Mb/s\n"
        "[21179] 2.000  rss:4.4MB dq.user:76%+0% recvUC:25%+4%\n"
        "[21179] 2.000  @perftest9:17340 rss:4.5MB recvUC:10%+0% pub:82%+10%\n"
        "[21179] 2.000  eno2: xmit 0% recv 41% [30721860914 29785042283]\n"
    )

    own_use, peer = intervals(log, "ddsperf-process")
    assert (values(own_use, "cpu"), values(own_use, "peak_memory")) == ({"mean": 105.0}, {"max": round(4.4 * 2**20)})
    assert (values(peer, "cpu"), values(peer, "peak_memory")) == ({"mean": 102.0}, {"max": round(4.5 * 2**20)})
    assert (log.broken, log.unknown) == ([], [])
