"""redis-benchmark with --csv. Expected values are typed from the files in ``redis_benchmark/`` (see its README)."""

from __future__ import annotations

from pathlib import Path

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


def test_setting_command_has_the_name_of_the_command_without_arguments_of_the_user() -> None:
    named, own = (read(LOGS / name).records[-1].conditions.settings for name in ("7.0-ping-mset.csv", "7.0-publish.csv"))

    assert (named, own) == ('{"command": "MSET (10 keys)"}', '{"command": "publish"}')


def test_row_without_a_header_is_broken() -> None:
    head, row, *_ = (LOGS / "7.0-set-get.csv").read_text(encoding="utf-8").splitlines(keepends=True)

    assert len(read_text(row + head, "redis_benchmark").broken) == 1
