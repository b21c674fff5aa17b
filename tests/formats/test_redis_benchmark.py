"""redis-benchmark: CSV, text and ``-q``. Expected values were copied by hand from the files in ``redis_benchmark/`` (see its README)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text
from tacholog.schema.conditions import Conditions

LOGS = Path(__file__).parent / "redis_benchmark"


def test_row_has_the_rate_and_the_round_trips_of_a_command() -> None:
    log = read(LOGS / "7.0-set-get.csv", "redis_benchmark")
    record = log.records[0]

    assert {(number.metric, number.statistic): (number.value, number.resolution) for number in record.numbers} == {
        ("call_rate", "mean"): (27173.91, 0.01),
        ("latency", "mean"): (233000, 1000),
        ("latency", "min"): (24000, 1000),
        ("latency", "p50"): (111000, 1000),
        ("latency", "p95"): (287000, 1000),
        ("latency", "p99"): (3735000, 1000),
        ("latency", "max"): (8135000, 1000),
    }
    assert record.conditions == Conditions(basis="rtt", definition="redis-benchmark", settings='{"command": "SET"}')
    assert (record.payload_bytes, record.samples, log.unknown) == (None, None, [])


def test_setting_for_the_command_omits_the_arguments_that_the_user_typed() -> None:
    named, own = (read(LOGS / name).records[-1].conditions.settings for name in ("7.0-ping-mset.csv", "7.0-publish.csv"))

    assert (named, own) == ('{"command": "MSET (10 keys)"}', '{"command": "publish"}')


def test_row_without_a_header_is_broken() -> None:
    head, row, *_ = (LOGS / "7.0-set-get.csv").read_text(encoding="utf-8").splitlines(keepends=True)

    assert len(read_text(row + head, "redis_benchmark").broken) == 1


def test_numbers_and_conditions_of_a_text_report_are_read() -> None:
    record, reply = read(LOGS / "7.0-set-get.log").records

    assert {(number.metric, number.statistic): (number.value, number.resolution, number.line) for number in record.numbers} == {
        ("call_rate", "mean"): (41322.31, 0.01, 41),
        ("latency", "mean"): (159000, 1000, 44),
        ("latency", "min"): (24000, 1000, 44),
        ("latency", "p50"): (127000, 1000, 44),
        ("latency", "p95"): (279000, 1000, 44),
        ("latency", "p99"): (511000, 1000, 44),
        ("latency", "max"): (4647000, 1000, 44),
    }
    assert (record.payload_bytes, record.samples, record.conditions.publishers) == (64, 5000, 10)
    assert record.conditions.settings == '{"appendonly": "no", "command": "SET", "keep_alive": "1"}'
    assert reply.payload_bytes is None  # GET sends no value. It reads the value of an earlier SET.


def test_number_of_samples_is_the_requested_number_even_if_more_requests_were_completed() -> None:
    assert [record.samples for record in read(LOGS / "7.0-pipeline.log").records] == [1003, 1003]  # 1008 requests were completed.


def test_payload_printed_for_a_user_defined_command_is_not_read_as_the_size() -> None:
    (record,) = read(LOGS / "7.0-publish.log").records

    assert "39 bytes payload" in (LOGS / "7.0-publish.log").read_text(encoding="utf-8")  # The 39 bytes include the command.
    assert record.payload_bytes is None


def test_position_of_a_number_is_correct_if_progress_text_precedes_the_number() -> None:
    text = (LOGS / "7.0-quiet.log").read_bytes().decode()
    rate = read(LOGS / "7.0-quiet.log").records[0].numbers[0]

    assert (rate.value, text.split("\n")[0][rate.value_start : rate.value_end]) == (64516.13, "64516.13")


def test_report_of_an_old_version_has_only_the_rate_and_the_maximum_in_whole_milliseconds() -> None:
    record = read(LOGS / "5.0-set-get.log").records[0]

    assert [(number.metric, number.statistic, number.value, number.resolution) for number in record.numbers] == [
        ("call_rate", "mean", 30883.26, 0.01),
        ("latency", "max", 3e6, 1e6),
    ]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("  throughput summary: 41322.31", "  throughput summary: 71428.57", "the rate does not match the requests and the time"),
        ("(cumulative count 5000)\n\nSummary", "(cumulative count 4000)\n\nSummary", "the rows of a distribution contradict each other"),
        ("50.000% <= 0.127", "50.000% <= 0.128", "the distribution does not match the summary"),
        ("0.159     0.024", "0.159     0.224", "latencies that do not ascend"),
        ("  64 bytes payload\n", "", "the next line of the report is missing or garbled"),
    ],
)
def test_contradictory_report_is_broken_and_affects_no_other_report(old: str, new: str, reason: str) -> None:
    text = (LOGS / "7.0-set-get.log").read_bytes().decode()
    log = read_text(text.replace(old, new, 1), "redis_benchmark")

    assert reason in [problem.reason for problem in log.problems]
    assert [record.conditions.settings for record in log.records] == ['{"appendonly": "no", "command": "GET", "keep_alive": "1"}']
