"""PerfTestMulti of RabbitMQ: the samples of its JSON. Expected values were copied by hand from the files in ``rabbitmq_multi/`` (see its README)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import Log, read, read_text
from tacholog.schema.records import Record, Scope

LOGS = Path(__file__).parent / "rabbitmq_multi"


def of_scope(log: Log, scope: Scope) -> list[Record]:
    return [record for record in log.records if record.scope == scope]


def test_sample_has_the_rates_of_both_sides_and_the_latency() -> None:
    sent, received, latency = of_scope(read(LOGS / "various.js"), "interval")[:3]

    assert (sent.side, sent.numbers[0].metric, sent.numbers[0].value, sent.numbers[0].line) == ("publisher", "offered_rate", 24175, 14)
    assert (received.side, received.numbers[0].metric, received.numbers[0].value) == ("subscriber", "message_rate", 20796)
    assert {number.statistic: (number.value, number.resolution) for number in latency.numbers} == {
        "min": (372e3, 1000),
        "mean": (60881e3, 1000),
        "max": (183302e3, 1000),
    }
    assert (latency.conditions.basis, latency.conditions.settings) == ("one-way", '{"scenario": "no-ack"}')
    assert {number.marks for number in latency.numbers} == {("drops_samples",)}


def test_summary_excludes_the_first_three_samples_and_weights_latencies_by_messages() -> None:
    sent, received, latency = of_scope(read(LOGS / "various.js"), "summary")
    means = [record.numbers[0].value for record in (sent, received)]
    mean, minimum = latency.number("latency", "mean"), latency.number("latency", "min")

    assert means == [pytest.approx((33316 + 36983 + 33376) / 3), pytest.approx((35381 + 35301 + 34774) / 3)]
    assert mean is not None
    assert minimum is not None
    assert mean.value == pytest.approx((35381 * 159148e3 + 35301 * 154374e3 + 34774 * 162797e3) / (35381 + 35301 + 34774))
    assert minimum.value == 77431e3  # The first second, which is excluded, has a minimum of 372 us.


def test_totals_of_a_file_are_not_read_because_newer_versions_divide_them_by_a_million() -> None:
    text = (LOGS / "various.js").read_text(encoding="utf-8")

    assert read_text(text.replace("35076.92011845698", "0.03507692011845698")).records == read_text(text).records


def test_message_size_is_computed_from_two_rates_and_removed_from_the_scenario_name() -> None:
    sized = of_scope(read(LOGS / "message-sizes.js"), "interval")[0]

    assert (sized.payload_bytes, sized.conditions.settings) == (500000, '{"scenario": "message-sizes-large"}')
    assert {record.payload_bytes for record in read(LOGS / "various.js").records} == {None}  # The byte rates in this file are 0.


def test_each_scenario_has_a_separate_summary() -> None:
    text = (LOGS / "various.js").read_text(encoding="utf-8")
    scenario = text.removeprefix("{\n").removesuffix("}\n").rstrip()
    log = read_text("{\n" + scenario + ",\n" + scenario.replace('"no-ack"', '"ack"') + "\n}\n")

    assert [record.conditions.settings for record in of_scope(log, "summary")] == ['{"scenario": "no-ack"}'] * 3 + ['{"scenario": "ack"}'] * 3
    assert log.problems == []


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"min-latency":80743', '"min-latency":280743', "latencies that do not ascend"),
        ('"elapsed":4000', '"elapsed":0', "elapsed, send-msg-rate or recv-msg-rate of the sample is missing"),
    ],
)
def test_impossible_or_incomplete_sample_is_broken(old: str, new: str, reason: str) -> None:
    log = read_text((LOGS / "various.js").read_text(encoding="utf-8").replace(old, new))

    assert [problem.reason for problem in log.problems] == [reason]
    assert len(of_scope(log, "interval")) == 15
