"""Kafka's performance tools: the meaning of their lines. Expected values were copied by hand from the logs in ``kafka/`` (see its README)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "kafka"
MEBIBYTE = 8 * 2**20  # in bits


def values(record: Record) -> dict[tuple[str, str], float | None]:
    return {(number.metric, number.statistic): number.value for number in record.numbers}


def test_line_of_a_producer_gives_the_acknowledged_rate_and_the_time_to_acknowledgement() -> None:
    rates, latencies = read(LOGS / "producer-summary.log").records

    assert rates == Record(
        test="throughput",
        payload_bytes=None,
        numbers=(
            Number(metric="acknowledged_rate", statistic="mean", value=233699.462491, resolution=1e-6),
            Number(metric="acknowledged_goodput", statistic="mean", value=round(22.29 * MEBIBYTE, 6), resolution=0.01 * MEBIBYTE),
            Number(metric="messages_acknowledged", statistic="total", value=1000000),
        ),
        samples=1000000,
        side="publisher",
        conditions=Conditions(transport="TCP", definition="kafka-producer"),
    )
    assert (latencies.conditions.basis, latencies.side) == ("pub-to-ack", "publisher")
    assert values(latencies) == {
        ("latency", "mean"): 866.05e6,
        ("latency", "max"): 1652e6,
        ("latency", "p50"): 827e6,
        ("latency", "p95"): 1500e6,
        ("latency", "p99"): 1595e6,
        ("latency", "p99.9"): 1614e6,
    }


def test_percentiles_of_a_producer_are_whole_milliseconds_and_have_at_most_half_a_million_samples() -> None:
    latencies = read(LOGS / "producer-1.0.log").records[-1]

    assert latencies.samples == 500000
    assert {number.resolution for number in latencies.numbers if number.statistic.startswith("p")} == {1e6}


def test_conditions_are_read_from_the_command_in_the_log() -> None:
    fast, paced = (read(LOGS / f"producer-{name}.log").records[-1] for name in ("1.0", "paced-3.5"))

    assert (fast.payload_bytes, fast.conditions.acks, fast.conditions.load_mode, fast.conditions.offered_rate_per_s) == (100, "1", "max-rate", None)
    assert (paced.payload_bytes, paced.conditions.acks, paced.conditions.load_mode, paced.conditions.offered_rate_per_s) == (
        1000,
        "all",
        "paced",
        200,
    )


def test_interval_of_an_old_producer_is_read_although_its_maximum_has_no_unit() -> None:
    interval = read(LOGS / "producer-1.0.log").records[1]

    assert interval.scope == "interval"
    assert values(interval) == {("latency", "mean"): 1031.4e6, ("latency", "max"): 1618e6}


def test_decimal_comma_is_not_read_as_a_thousands_separator() -> None:
    records = read(LOGS / "producer-comma-made-by-hand.log").records

    rates = [values(record)["acknowledged_rate", "mean"] for record in records if record.test == "throughput"]
    assert rates == [199534.5, 243997.657622, 1.081198]


def test_percentile_that_is_printed_as_zero_is_below_one_millisecond() -> None:
    median = read(LOGS / "producer-comma-made-by-hand.log").records[-1].number("latency", "p50")

    assert median
    assert (median.bound, median.value) == ("<", 1e6)


def test_summary_of_the_steady_state_has_a_separate_definition() -> None:
    whole, steady = [record for record in read(LOGS / "4.3-warmup.log").records if record.scope == "summary" and record.test == "latency"]

    assert (whole.conditions.definition, whole.conditions.warmup) == ("kafka-producer", None)
    assert (steady.conditions.definition, steady.conditions.warmup) == ("kafka-producer-steady", "10000 records")
    assert (values(whole)["latency", "p99"], values(steady)["latency", "p99"]) == (1579e6, 1130e6)


def test_consumer_gives_two_records_and_one_of_them_excludes_the_time_to_join_the_group() -> None:
    whole, fetched = read(LOGS / "consumer-3.5.log").records

    assert (whole.conditions.definition, fetched.conditions.definition) == ("kafka-consumer", "kafka-consumer-fetch")
    assert values(whole) == {
        ("message_rate", "mean"): 1047.0981,
        ("goodput", "mean"): pytest.approx(0.9986 * MEBIBYTE),
        ("messages_received", "total"): 3446,
        ("bytes_received", "total"): pytest.approx(3.2864 * 2**20),
    }
    assert values(fetched) == {("message_rate", "mean"): 49942.029, ("goodput", "mean"): pytest.approx(47.6284 * MEBIBYTE)}


def test_row_of_a_consumer_states_the_start_time_of_the_run() -> None:
    assert read(LOGS / "consumer-3.5.log").facts.start_time == "2023-02-07T17:53:25.127"


def test_fetch_rates_are_impossible_if_the_rebalance_time_is_measured_from_1970() -> None:
    whole, fetched = read(LOGS / "consumer-2.3-rebalance.log").records

    assert values(whole)["message_rate", "mean"] == 189.2721
    assert [(number.value, number.marks) for number in fetched.numbers] == [(None, ("impossible",))] * 2


def test_total_count_in_an_interval_row_of_a_consumer_is_left_out() -> None:
    interval, fetched = read(LOGS / "consumer-detailed-3.5.log").records

    assert (interval.scope, fetched.scope) == ("interval", "interval")
    assert values(interval) == {("message_rate", "mean"): 0.3089, ("goodput", "mean"): pytest.approx(0.0003 * MEBIBYTE)}


def test_run_of_a_consumer_that_timed_out_is_failed_and_its_rate_is_exactly_zero() -> None:
    log = read(LOGS / "consumer-timeout.log")

    assert (log.facts.status, log.facts.reason) == ("failed", "the consumer stopped before all messages had arrived")
    rate = log.records[0].number("message_rate", "mean")
    assert rate
    assert (rate.value, rate.bound) == (0, "=")


def test_row_with_decimal_commas_and_without_rebalance_columns_is_read() -> None:
    (row,) = read(LOGS / "consumer-1-made-by-hand.log").records

    assert values(row)["message_rate", "mean"] == 1764602.0822
    assert values(row)["messages_received", "total"] == 10000000


def test_end_to_end_latency_is_a_one_way_latency_in_a_closed_loop() -> None:
    (record,) = read(LOGS / "end-to-end-comma.log").records

    assert values(record) == {("latency", "mean"): 1499800, ("latency", "p50"): 1e6, ("latency", "p99"): 6e6, ("latency", "p99.9"): 18e6}
    assert record.payload_bytes == 255
    assert record.conditions == Conditions(transport="TCP", basis="one-way", definition="kafka-end-to-end", load_mode="closed", acks="all")


def test_median_below_one_millisecond_is_a_bound_although_the_mean_is_exact() -> None:
    (record,) = read(LOGS / "end-to-end.log").records

    assert [(number.statistic, number.value, number.bound) for number in record.numbers[:2]] == [("mean", 1049300, "="), ("p50", 1e6, "<")]


def test_clock_resolution_is_one_millisecond() -> None:
    assert {read(LOGS / f"{name}.log").facts.environment["clock_resolution_ns"] for name in ("producer-1.0", "end-to-end")} == {"1000000"}


@pytest.mark.parametrize(
    "line",
    [
        "10 records sent, 9.462491 records/sec (2.29 MB/sec), 6.05 ms avg latency, 9.00 ms max latency, 7 ms 50th, 8 ms 95th, 9",
        "10 records sent, 9.462491 records/sec (2.29 MB/sec), 9.00 ms max latency, 7 ms 50th, 5 ms 95th, 9 ms 99th, 9 ms 99.9th.",
        "10 records sent, NaN records/sec (NaN MB/sec), NaN ms avg latency, 0.00 ms max latency, 0 ms 50th, 0 ms 95th, 0 ms 99th, 0 ms 99.9th.",
        "2023-02-07 17:53:25:127, 2023-02-07 17:53:28:418, 3.2864, 0.9986, 3446, 1047.09",
        "Percentiles: 50th = 1, 99th = 6, 99.9th = 18",
    ],
)
def test_damaged_line_is_broken(line: str) -> None:
    log = read_text((LOGS / "producer-summary.log").read_text() + line + "\n", "kafka")

    assert [broken.partition(": ")[0] for broken in log.broken] == ["text:2"]


def test_mean_without_percentiles_is_broken() -> None:
    log = read_text("Avg latency: 1.0493 ms\nPercentiles: 50th = 0, 99th = 3, 99.9th = 7\nAvg latency: 1.0493 ms\n", "kafka")

    assert (len(log.records), [broken.partition(": ")[0] for broken in log.broken]) == (1, ["text:3"])


def test_line_about_a_created_topic_states_its_partitions_and_replication() -> None:
    text = 'Topic "t" does not exist. Will create topic with 1 partition(s) and replication factor = 1\n'
    facts = read_text(text + (LOGS / "end-to-end.log").read_text(), "kafka").facts

    assert (facts.conditions.partitions, facts.conditions.replication_factor) == (1, 1)


def test_records_of_a_producer_have_the_numbers_printed_in_its_log() -> None:
    log = read(LOGS / "4.3-producer.log")
    rates, latencies = log.records[-2:]

    assert (log.broken, log.unknown) == ([], [])
    assert values(rates)["acknowledged_rate", "mean"] == 4702.194357
    assert [values(latencies)["latency", name] for name in ("mean", "p50", "p95", "p99", "p99.9", "max")] == [
        6087e6,
        6708e6,
        7366e6,
        7447e6,
        7478e6,
        7482e6,
    ]
    assert (latencies.payload_bytes, latencies.conditions.acks, latencies.conditions.offered_rate_per_s) == (512, "all", 10000)


def test_records_of_a_consumer_have_the_numbers_printed_in_its_log() -> None:
    whole, fetched = read(LOGS / "4.3-consumer.log").records

    assert (values(whole)["message_rate", "mean"], values(whole)["messages_received", "total"]) == (11894.8495, 100000)
    assert values(fetched)["message_rate", "mean"] == 60753.3414
    rates = [values(record)["message_rate", "mean"] for record in read(LOGS / "4.3-consumer-detailed.log").records if record.scope == "interval"]
    assert rates == [0.2183, 6.8027, 36247.1910, 36247.1910, 87369.3182, 87369.3182]


def test_record_of_an_end_to_end_latency_has_the_numbers_printed_in_its_log() -> None:
    log = read(LOGS / "4.3-end-to-end.log")
    (record,) = log.records

    assert values(record) == {("latency", "mean"): 3125100, ("latency", "p50"): 1e6, ("latency", "p99"): 36e6, ("latency", "p99.9"): 89e6}
    assert (record.payload_bytes, record.conditions.acks, log.facts.conditions.partitions) == (100, "all", 1)


def test_logs_with_decimal_commas_give_the_printed_numbers() -> None:
    producer, consumer, end_to_end = (read(LOGS / f"4.3-{name}-comma.log").records for name in ("producer", "consumer", "end-to-end"))

    assert values(producer[-2])["acknowledged_rate", "mean"] == 4980.906525
    assert (values(producer[-1])["latency", "mean"], values(producer[-1])["latency", "p99"]) == (96.13e6, 440e6)
    assert (values(consumer[0])["message_rate", "mean"], values(consumer[1])["message_rate", "mean"]) == (19762.5148, 81657.1661)
    assert (values(end_to_end[0])["latency", "mean"], end_to_end[0].conditions.acks) == (1941700, "1")


def test_run_is_failed_if_a_consumer_of_version_4_3_timed_out() -> None:
    assert read(LOGS / "4.3-consumer-timeout.log").facts.status == "failed"


def test_lines_with_metrics_of_the_kafka_client_give_no_records() -> None:
    log = read(LOGS / "4.3-metrics.log")

    assert (log.broken, log.unknown) == ([], [])
    assert [values(record)["acknowledged_rate", "mean"] for record in log.records if record.test == "throughput"] == [1002.004008]


def test_command_continues_on_the_next_line_only_after_a_backslash() -> None:
    line = (LOGS / "producer-summary.log").read_text()
    log = read_text(f"kafka-producer-perf-test.sh --topic t \\\n--record-size 100\n--throughput 10\n{line}")

    assert (log.records[0].payload_bytes, log.records[0].conditions.load_mode) == (100, None)
    assert log.unknown == [3]
