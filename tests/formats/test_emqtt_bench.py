"""emqtt-bench: a line for each counter and second. Expected values were copied by hand from the files in ``emqtt_bench/`` (see its README)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import Log, read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record, Scope

LOGS = Path(__file__).parent / "emqtt_bench"


def of_scope(log: Log, scope: Scope) -> list[Record]:
    return [record for record in log.records if record.scope == scope]


def test_each_line_of_a_counter_becomes_a_record_of_one_interval() -> None:
    assert read(LOGS / "sub.log").records[0] == Record(
        test="throughput",
        payload_bytes=None,
        numbers=(Number(metric="message_rate", statistic="mean", value=0.31, resolution=0.01, value_start=22, value_end=26),),
        scope="interval",
        side="subscriber",
        conditions=Conditions(definition="emqtt-received"),
    )


def test_mean_rate_is_weighted_by_the_durations_after_the_connection() -> None:
    (record,) = of_scope(read(LOGS / "sub.log"), "summary")
    rate = record.number("message_rate", "mean")

    # The first line is excluded, because the client waited for about 13 seconds before it. The other five lines state 10, 10, 10, 10 and 5 messages.
    # These 45 messages took 10/9.95 + 10/10.02 + 10/9.56 + 10/10.26 + 5/4.98 seconds.
    assert rate is not None
    assert rate.value == pytest.approx(8.9504, abs=1e-4)
    assert rate.marks == ("derived",)


def test_sent_messages_and_acknowledged_messages_have_separate_rates() -> None:
    log = read(LOGS / "pub-acknowledged.log")

    assert [(record.side, record.numbers[0].metric, record.numbers[0].value) for record in of_scope(log, "summary")] == [
        ("publisher", "offered_rate", 15000),
        ("publisher", "acknowledged_rate", 15000),
    ]
    assert log.facts.environment == {"emqtt_pub_overrun": "12"}


def test_mean_latency_of_a_run_weights_each_second_by_its_number_of_messages() -> None:
    text = (LOGS / "sub-latency.log").read_text(encoding="utf-8").replace("6s publish_latency avg=1ms", "6s publish_latency avg=5ms")
    record = next(record for record in of_scope(read_text(text), "summary") if record.test == "latency")
    mean = record.number("latency", "mean")

    assert (record.conditions.basis, record.samples) == ("one-way", 52)
    assert mean is not None
    assert mean.value == pytest.approx((2 * 1e6 + 50 * 5e6) / 52)


def test_latency_printed_as_zero_is_below_one_millisecond() -> None:
    (record,) = read_text("5s publish_latency avg=0ms\n").records

    assert record.numbers == (Number(metric="latency", statistic="mean", value=1e6, resolution=1e6, bound="<", value_start=23, value_end=24),)


def test_run_is_failed_if_a_client_ended() -> None:
    facts = read(LOGS / "pub-tls.log").facts

    assert (facts.status, facts.reason) == ("failed", "EXIT for {shutdown,closed}")


def test_line_of_an_old_version_counts_the_messages_of_one_second() -> None:
    intervals = of_scope(read(LOGS / "old-sent.log"), "interval")

    assert [(record.numbers[0].metric, record.numbers[0].value) for record in intervals] == [("offered_rate", 92900), ("offered_rate", 92900)]


def test_second_run_in_a_log_has_a_separate_summary() -> None:
    log = read_text((LOGS / "sub.log").read_text(encoding="utf-8") * 2)

    assert (len(of_scope(log, "summary")), log.problems) == (2, [])


def test_counter_that_does_not_grow_is_broken_and_the_summary_is_marked_as_partial() -> None:
    log = read_text((LOGS / "sub.log").read_text(encoding="utf-8").replace("total=34", "total=14"))

    assert [problem.reason for problem in log.problems] == ["a counter that does not grow"]
    assert of_scope(log, "summary")[0].numbers[0].marks == ("derived", "partial")
