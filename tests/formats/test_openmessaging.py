"""OpenMessaging Benchmark: the meaning of its JSON and its lines.

Expected values were copied by hand from the logs in ``openmessaging/`` (see its README).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Record

LOGS = Path(__file__).parent / "openmessaging"
MEBIBYTE = 8 * 2**20  # in bits


def summary(log: str, definition: str) -> Record:
    (record,) = [record for record in read(LOGS / log).records if record.scope == "summary" and record.conditions.definition == definition]
    return record


def values(record: Record) -> dict[tuple[str, str], float | None]:
    return {(number.metric, number.statistic): number.value for number in record.numbers}


def numbers_of(records: list[Record]) -> set[tuple[object, ...]]:
    return {(record.conditions.definition, record.scope, *name, value) for record in records for name, value in values(record).items()}


def test_publish_latency_ends_at_the_acknowledgement_and_the_publish_delay_is_read_in_microseconds() -> None:
    record = summary("kafka-2026.json", "omb-publish")

    assert (record.conditions.basis, record.conditions.load_mode, record.side, record.payload_bytes) == ("pub-to-ack", "paced", "publisher", 200)
    numbers = values(record)
    assert numbers["latency", "mean"] == pytest.approx(683337.071)
    assert numbers["latency", "p50"] == 474_000
    assert numbers["latency", "p99.9"] == 4_283_000
    assert numbers["latency", "max"] == 29_405_000
    assert numbers["send_lateness", "p50"] == 60_000
    assert numbers["send_lateness", "max"] == 29_478_000


def test_clock_resolution_is_one_millisecond_if_end_to_end_latencies_are_whole_milliseconds() -> None:
    record = summary("kafka-2026.json", "omb-end-to-end")

    assert (record.conditions.basis, record.side) == ("one-way", "subscriber")
    assert values(record)["latency", "p99.99"] == 12e6
    assert {number.resolution for number in record.numbers if number.statistic != "mean"} == {1e6}
    assert read(LOGS / "kafka-2026.json").facts.environment["clock_resolution_ns"] == "1000000"


def test_end_to_end_latency_of_rabbitmq_has_a_resolution_of_one_microsecond() -> None:
    record = summary("rabbitmq-2020-classic.json", "omb-end-to-end")

    assert values(record)["latency", "p50"] == 433_000
    assert {number.resolution for number in record.numbers if number.statistic != "mean"} == {1e3}
    assert read(LOGS / "rabbitmq-2020-classic.json").facts.environment["clock_resolution_ns"] == "1000"


def test_each_end_to_end_latency_is_marked_because_the_tool_silently_drops_samples() -> None:
    marks = {number.marks for number in summary("kafka-2026.json", "omb-end-to-end").numbers}

    assert marks == {("drops_samples",)}
    assert {number.marks for number in summary("kafka-2026.json", "omb-publish").numbers} == {()}


def test_end_to_end_latency_is_unknown_if_all_samples_were_dropped() -> None:
    numbers = summary("behind-made-by-hand.json", "omb-end-to-end").numbers

    assert {(number.value, number.marks) for number in numbers} == {(None, ("drops_samples",))}


def test_file_without_a_publish_delay_is_read_as_a_result_of_an_old_version() -> None:
    record = summary("kafka-2020-acks-all.json", "omb-publish-2017")

    assert (record.conditions.load_mode, record.payload_bytes) == (None, None)
    assert values(record)["latency", "p99"] == 58_830_000


def test_rate_of_the_whole_test_is_the_mean_of_the_rates_of_its_intervals() -> None:
    record = summary("kafka-2026.json", "omb-rates")

    numbers = values(record)
    assert numbers["acknowledged_rate", "mean"] == pytest.approx((502.91389043167027 + 499.94671166161635 + 500.9344339361986) / 3)
    assert numbers["message_rate", "mean"] == pytest.approx(numbers["acknowledged_rate", "mean"])
    assert numbers["backlog", "last"] == 0
    assert {number.marks for number in record.numbers} == {("derived",)}


def test_interval_has_rates_backlog_and_latencies() -> None:
    intervals = [record for record in read(LOGS / "kafka-2026.json").records if record.scope == "interval"]

    assert [record.conditions.definition for record in intervals] == ["omb-rates", "omb-publish"] * 3 + ["omb-end-to-end"] * 3
    assert values(intervals[2]) == {
        ("acknowledged_rate", "mean"): 499.94671166161635,
        ("message_rate", "mean"): 499.94671166161635,
        ("backlog", "last"): 0,
    }
    assert values(intervals[3])["latency", "p99"] == 3_366_000


def test_backlog_below_zero_is_impossible() -> None:
    first = read(LOGS / "kafka-2020-acks-all.json").records[0].number("backlog", "last")

    assert first
    assert (first.value, first.marks) == (None, ("impossible",))


def test_rate_is_marked_as_not_sustained_if_the_backlog_grows_too_much() -> None:
    behind = summary("behind-made-by-hand.json", "omb-rates")
    logged = summary("whole-made-by-hand.log", "omb-rates")

    assert {number.marks for record in (behind, logged) for number in record.numbers} == {("derived", "not_sustained")}
    assert values(behind)["backlog", "last"] == 5000
    assert not any("not_sustained" in number.marks for number in summary("kafka-2026.json", "omb-rates").numbers)


def test_driver_and_conditions_are_read_from_the_json() -> None:
    facts = read(LOGS / "behind-made-by-hand.json").facts

    assert facts.system == "Pulsar"
    assert (facts.conditions.topics, facts.conditions.partitions, facts.conditions.publishers) == (2, 16, 6)
    assert facts.conditions.acks is None


def test_each_line_of_a_result_is_known() -> None:
    for log in ("kafka-2026.json", "kafka-2020-acks-all.json", "rabbitmq-2020-classic.json", "behind-made-by-hand.json", "whole-made-by-hand.log"):
        assert (read(LOGS / log).broken, read(LOGS / log).unknown) == ([], []), log


def test_json_result_gives_the_same_numbers_if_it_is_on_one_line() -> None:
    text = (LOGS / "kafka-2026.json").read_text()

    one_line = read_text(" ".join(text.split()) + "\n", "openmessaging")

    assert [values(record) for record in one_line.records] == [values(record) for record in read(LOGS / "kafka-2026.json").records]


def test_json_gives_the_same_numbers_if_its_members_are_sorted_and_each_value_is_on_one_line() -> None:
    text = json.dumps(json.loads((LOGS / "kafka-2026.json").read_text()), indent=2, sort_keys=True) + "\n"

    log = read_text(text)

    assert (log.broken, log.unknown) == ([], [])
    assert numbers_of(log.records) == numbers_of(read(LOGS / "kafka-2026.json").records)


def test_line_of_a_log_has_rates_in_mebibytes_and_a_rounded_backlog() -> None:
    rates, latencies = read(LOGS / "pulsar-2021.log").records[2:4]

    assert values(rates) == {
        ("acknowledged_rate", "mean"): 500238.6,
        ("acknowledged_goodput", "mean"): pytest.approx(488.5 * MEBIBYTE),
        ("message_rate", "mean"): 500002.1,
        ("goodput", "mean"): pytest.approx(488.3 * MEBIBYTE),
        ("backlog", "last"): 4300,
    }
    assert latencies.conditions == Conditions(basis="pub-to-ack", definition="omb-publish-2017")
    assert values(latencies)["latency", "p99.9"] == 5_800_000


def test_summary_of_a_log_excludes_the_warm_up_and_has_the_conditions_of_the_workload() -> None:
    log = read(LOGS / "whole-made-by-hand.log")
    record = summary("whole-made-by-hand.log", "omb-publish")

    assert log.facts.system == "Kafka"
    assert log.facts.status == "ok"
    assert [values(record)["acknowledged_rate", "mean"] for record in log.records if record.test == "throughput"] == [
        400043.1,
        500238.6,
        499674.2,
        pytest.approx(499956.4),
    ]
    assert values(record)["latency", "p50"] == 3_800_000
    assert values(record)["send_lateness", "p99"] == 2_336_000
    assert record.payload_bytes == 1024
    assert record.conditions == Conditions(
        topics=1,
        partitions=100,
        consumer_groups=1,
        publishers=4,
        subscribers=4,
        offered_rate_per_s=500_000,
        load_mode="paced",
        warmup="fixed",
        planned_duration_s=900,
        basis="pub-to-ack",
        definition="omb-publish",
    )
    assert log.facts.conditions.acks == "all"


def test_log_without_the_start_of_its_traffic_has_no_summary() -> None:
    """The intervals of such a log may be from the warm-up."""
    assert {record.scope for log in ("pulsar-2021.log", "kafka-2026.log") for record in read(LOGS / log).records} == {"interval"}


def test_results_of_a_second_driver_in_one_log_are_broken() -> None:
    text = (LOGS / "whole-made-by-hand.log").read_text()

    log = read_text(text + text.replace("DRIVER : Kafka", "DRIVER : Pulsar"), "openmessaging")

    assert len(log.records) == len(read(LOGS / "whole-made-by-hand.log").records)
    assert {broken.partition(": ")[2] for broken in log.broken} == {"a second driver in one log: split the log at the line 'WORKLOAD'"}


def test_document_that_ends_early_is_truncated_and_keeps_the_results_before_its_end() -> None:
    text = (LOGS / "kafka-2026.json").read_text()

    log = read_text(text[: text.index('  "aggregatedEndToEndLatency50pct"')], "openmessaging")

    assert log.facts.status == "truncated"
    assert "omb-publish" in {record.conditions.definition for record in log.records if record.scope == "summary"}


def test_lists_of_different_lengths_are_broken() -> None:
    text = (LOGS / "kafka-2026.json").read_text().replace('"backlog" : [ 0, 0, 0 ]', '"backlog" : [ 0, 0 ]')

    assert [broken.partition(": ")[2] for broken in read_text(text, "openmessaging").broken] == ["the lists of this result have different lengths"]
