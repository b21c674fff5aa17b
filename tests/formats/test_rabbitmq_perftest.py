"""RabbitMQ PerfTest: the meaning of its rates and latencies.

Expected values were copied by hand from the logs in ``rabbitmq_perftest/`` (see its README).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "rabbitmq_perftest"


def logged(name: str, scope: str = "summary") -> list[Record]:
    log = read(LOGS / name, "rabbitmq_perftest")
    assert (log.broken, log.unknown) == ([], [])
    return [record for record in log.records if record.scope == scope]


def values(record: Record) -> dict[tuple[str, str], float | None]:
    return {(number.metric, number.statistic): number.value for number in record.numbers}


def test_lines_at_the_end_become_the_summary_and_each_second_becomes_an_interval() -> None:
    published, received, delivery, confirm = logged("2.22-confirm.log")

    assert (values(published), published.side) == ({("offered_rate", "mean"): 2281}, "publisher")
    assert (values(received), received.side) == ({("message_rate", "mean"): 2281}, "subscriber")
    assert values(delivery) == {
        ("latency", "min"): 114000,
        ("latency", "p50"): 1075000,
        ("latency", "p75"): 5190000,
        ("latency", "p95"): 19739000,
        ("latency", "p99"): 36912000,
    }
    assert values(confirm)["latency", "p99"] == 24594000
    assert len(logged("2.22-confirm.log", "interval")) == 12


def test_consumer_latency_is_one_way_and_confirm_latency_is_the_time_to_acknowledgement() -> None:
    *_, delivery, confirm = logged("2.22-confirm.log")

    assert (delivery.conditions, delivery.side) == (Conditions(basis="one-way", definition="rabbitmq-consumer-latency"), "subscriber")
    assert confirm.conditions == Conditions(basis="pub-to-ack", acks="confirm", definition="rabbitmq-confirm-latency")
    assert confirm.side == "publisher"


def test_rate_of_confirmed_messages_is_the_acknowledged_rate() -> None:
    published = logged("2.22-confirm.log", "interval")[0]

    assert (values(published), published.conditions.acks) == ({("offered_rate", "mean"): 2002, ("acknowledged_rate", "mean"): 1969}, "confirm")


def test_percentiles_of_single_seconds_are_not_averaged() -> None:
    _, _, delivery, confirm = logged("2.22-confirm.csv")  # CSV has no summary.

    for record, minimum in ((delivery, 80000), (confirm, 71000)):
        assert record.number("latency", "min") == Number(
            metric="latency", statistic="min", value=minimum, resolution=1000, marks=("derived",), line=record.numbers[0].line
        )
        median = record.number("latency", "p50")
        assert median
        assert (median.value, "intervals_only" in median.marks) == (None, True)


def test_rates_of_a_csv_file_are_means_that_exclude_the_first_second() -> None:
    published, received, *_ = logged("2.22-confirm.csv")

    assert values(published) == {("offered_rate", "mean"): 2004, ("acknowledged_rate", "mean"): 2004}
    assert values(received) == {("message_rate", "mean"): 2048}


def test_meaning_of_compact_columns_is_read_from_the_header() -> None:
    published, received, delivery, confirm = logged("2.22-compact.log", "interval")[:4]

    assert values(published) == {("offered_rate", "mean"): 1681, ("acknowledged_rate", "mean"): 1628}
    assert values(received) == {("message_rate", "mean"): 1615}
    assert (values(delivery)["latency", "min"], values(delivery)["latency", "p99"]) == (1533000, 132565000)
    assert (values(confirm)["latency", "min"], values(confirm)["latency", "p99"]) == (134000, 35843000)


def test_latencies_in_milliseconds_are_marked_because_the_tool_drops_shorter_latencies() -> None:
    *_, delivery = logged("2.22-milliseconds.log")

    assert delivery.number("latency", "p50") == Number(metric="latency", statistic="p50", value=180e6, resolution=1e6, marks=("drops_samples",))
    assert read(LOGS / "2.22-milliseconds.log").account.facts.environment["clock_resolution_ns"] == "1000000"


@pytest.mark.parametrize("unit", ["\u00b5s", "\u03bcs", "micro-s", "microseconds", "?s"])
def test_unit_microsecond_is_read_with_each_spelling_of_the_micro_sign(unit: str) -> None:
    text = (LOGS / "2.22-consumer.log").read_text(encoding="utf-8").replace("\u00b5s", unit)

    assert read_text(text, "rabbitmq_perftest").records == read(LOGS / "2.22-consumer.log").records


def test_micro_sign_in_another_encoding_is_read(tmp_path: Path) -> None:
    path = tmp_path / "latin-1.log"
    path.write_bytes((LOGS / "2.22-consumer.log").read_text(encoding="utf-8").encode("latin-1"))

    assert read(path, "rabbitmq_perftest").records == read(LOGS / "2.22-consumer.log").records


def test_maximum_that_is_printed_after_the_percentiles_is_read() -> None:
    *_, delivery = logged("max.log")

    assert list(values(delivery).items())[-2:] == [(("latency", "p99"), 377734000), (("latency", "max"), 418935000)]


def test_interval_in_which_no_message_arrived_has_no_latency() -> None:
    published, received, *rest = logged("2.1-overload.log", "interval")

    assert values(published) == {("offered_rate", "mean"): 0.82}
    assert values(received) == {("message_rate", "mean"): 0}
    assert (rest[0].test, rest[0].side) == ("throughput", "publisher")


def test_rate_below_ten_is_read_with_one_decimal() -> None:
    assert logged("2.22-slow.log")[0].numbers[0] == Number(metric="offered_rate", statistic="mean", value=1.3, resolution=0.1)


@pytest.mark.parametrize("rate", ["2,281", "2.281"])
def test_rate_that_is_grouped_by_thousands_is_broken_and_not_a_thousand_times_too_small(rate: str) -> None:
    text = (LOGS / "2.22-confirm.log").read_text().replace("sending rate avg: 2281", f"sending rate avg: {rate}")

    log = read_text(text, "rabbitmq_perftest")

    assert len(log.broken) == 1
    rates = [number.value for record in log.records for number in record.numbers if number.metric == "offered_rate" and record.scope == "summary"]
    assert rates == [2001]  # the mean of the intervals


def test_message_size_is_unknown_because_the_log_does_not_state_the_size() -> None:
    assert {record.payload_bytes for record in read(LOGS / "2.22-confirm.log").records} == {None}


def test_run_is_ok_only_if_the_log_states_that_the_limit_was_reached() -> None:
    assert read(LOGS / "2.22-confirm.log").account.facts.status == "ok"
    assert read(LOGS / "2.1-overload.log").account.facts.status is None


def test_run_is_failed_if_the_log_has_an_exception() -> None:
    text = (LOGS / "2.22-consumer.log").read_text(encoding="utf-8") + "Main thread caught exception: java.net.ConnectException: Connection refused\n"

    assert read_text(text, "rabbitmq_perftest").account.facts.status == "failed"


def test_line_that_is_truncated_before_its_latencies_is_broken() -> None:
    text = (LOGS / "2.22-consumer.log").read_text(encoding="utf-8").partition(" consumer latency")[0]

    assert len(read_text(text, "rabbitmq_perftest").broken) == 1


def test_latency_of_centuries_is_impossible_but_the_other_numbers_of_its_line_are_read() -> None:
    # A user published this line. The clocks of its consumers and its producers differed.
    text = (
        "id: baseline-1773066073, time 1.001 s, received: 26120 msg/s, "
        "min/median/75th/95th/99th/max consumer latency: 7/18/23/34/22650827150373800/22650827161831440 ms\n"
    )
    received, latency = (record for record in read_text(text).records if record.scope == "interval")

    assert values(received) == {("message_rate", "mean"): 26120}
    assert [(number.statistic, number.value) for number in latency.numbers] == [
        ("min", 7e6),
        ("p50", 18e6),
        ("p75", 23e6),
        ("p95", 34e6),
        ("p99", None),
        ("max", None),
    ]
    assert all("impossible" in number.marks for number in latency.numbers[-2:])
