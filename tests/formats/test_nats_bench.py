"""nats bench: the meaning of its rates and times. Expected values were copied by hand from the logs in ``nats_bench/`` (see its README)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text
from tacholog.formats.registry import formats
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "nats_bench"
MEBIBYTE = 8 * 2**20  # in bits


def logged(name: str) -> list[Record]:
    log = read(LOGS / name, "nats_bench")
    assert (log.broken, log.unknown) == ([], [])
    return list(log.records)


def values(record: Record) -> dict[tuple[str, str], float | None]:
    return {(number.metric, number.statistic): number.value for number in record.numbers}


def test_rates_of_publishers_and_of_subscribers_become_records_but_the_sum_of_both_does_not() -> None:
    publisher, subscriber = logged("0.1-one-to-one.log")

    assert values(publisher) == {("offered_rate", "mean"): 3517660, ("offered_goodput", "mean"): pytest.approx(53.68 * MEBIBYTE, abs=1)}
    assert values(subscriber) == {("message_rate", "mean"): 2957796, ("goodput", "mean"): pytest.approx(45.13 * MEBIBYTE, abs=1)}
    assert [(record.side, record.participant, record.samples, record.payload_bytes) for record in (publisher, subscriber)] == [
        ("publisher", None, 100000, 16),
        ("subscriber", None, 100000, 16),
    ]


def test_unit_mb_of_old_versions_is_a_mebibyte() -> None:
    """The goodput equals the message rate multiplied by the message size only if MB means mebibyte."""
    publisher = logged("0.1-one-to-one.log")[0]
    goodput = publisher.number("offered_goodput", "mean")

    assert goodput
    assert goodput.value == pytest.approx(3517660 * 16 * 8, rel=1e-4)
    assert goodput.resolution == pytest.approx(0.01 * MEBIBYTE)


def test_lines_of_clients_are_read_if_the_line_of_the_sum_comes_first() -> None:
    records = logged("0.1-five-to-five.log")

    assert [(record.participant, record.numbers[0].metric, record.numbers[0].statistic, record.numbers[0].value) for record in records[::5]] == [
        ("all", "offered_rate", "mean", 1172667),
        ("pub5", "offered_rate", "mean", 235545),
        ("sub4", "message_rate", "mean", 1170641),
    ]
    assert [(record.participant, record.samples) for record in records[5:8]] == [("pub5", 200000), ("all", None), ("sub1", 1000000)]
    assert records[6].numbers[0] == Number(metric="message_rate", statistic="sum", value=5851064, resolution=1)
    assert {(record.conditions.publishers, record.conditions.subscribers) for record in records} == {(5, 5)}


def test_lines_of_clients_are_read_if_the_line_of_the_sum_comes_last() -> None:
    records = logged("0.2-subscribers.log")

    assert [(record.participant, record.numbers[0].statistic, record.numbers[0].value) for record in records] == [
        ("sub1", "mean", 1013938),
        ("sub2", "mean", 1014120),
        ("sub3", "mean", 1007242),
        ("sub4", "mean", 1004311),
        ("all", "sum", 4015923),
    ]
    without_options = "".join((LOGS / "0.2-subscribers.log").read_text(encoding="utf-8").splitlines(keepends=True)[9:])
    assert [record.participant for record in read_text(without_options, "nats_bench").records] == ["sub1", "sub2", "sub3", "sub4", "all"]


def test_time_that_version_0_2_prints_is_the_interval_per_message() -> None:
    (record,) = logged("0.2-publisher.log")

    assert record.number("interval_per_message", "mean") == Number(
        metric="interval_per_message", statistic="mean", value=70, resolution=10, marks=("derived",)
    )
    assert pytest.approx(70, abs=5) == 1e9 / 14786683
    assert record.number("latency", "mean") is None


def test_time_that_a_publisher_prints_is_the_duration_of_its_send_call() -> None:
    (record,) = logged("0.4-publisher.log")

    assert values(record) == {
        ("offered_rate", "mean"): 4868024,
        ("offered_goodput", "mean"): 297 * MEBIBYTE,
        ("send_call", "min"): 60,
        ("send_call", "mean"): 140,
        ("send_call", "max"): 193680,
        ("send_call", "p50"): 70,
        ("send_call", "p90"): 70,
        ("send_call", "p99"): 80,
        ("send_call", "p99.9"): 29990,
    }
    assert (record.test, record.conditions.basis, record.conditions.load_mode, record.samples) == ("throughput", None, "max-rate", 100000)


def test_standard_deviation_of_times_is_not_read() -> None:
    for name in ("0.4-two-publishers.log", "0.4-two-requesters.log", "0.4-two-publishers.csv"):
        assert "std" not in {number.statistic for record in logged(name) for number in record.numbers}


def test_requester_states_round_trips_in_a_closed_loop() -> None:
    (record,) = logged("0.4-requester.log")

    assert (record.test, record.conditions.basis, record.conditions.load_mode) == ("latency", "rtt", "closed")
    assert (record.number("latency", "p99"), record.samples) == (Number(metric="latency", statistic="p99", value=178990, resolution=10), 5000)
    assert record.number("call_rate", "mean") == Number(metric="call_rate", statistic="mean", value=9436, resolution=1)


def test_times_with_thousands_separators_are_read() -> None:
    (record,) = logged("0.4-requester.log")
    maximum = record.number("latency", "max")
    text = (LOGS / "0.4-requester.log").read_text(encoding="utf-8").splitlines()[3]

    assert maximum
    assert (maximum.value, text[maximum.value_start : maximum.value_end]) == (60_217_180, "60,217.18")


def test_synchronous_publisher_states_times_until_the_acknowledgement() -> None:
    rates, latencies = logged("0.4-jetstream-sync.log")

    assert values(rates) == {("acknowledged_rate", "mean"): 18277, ("acknowledged_goodput", "mean"): pytest.approx(1.1 * MEBIBYTE, abs=1)}
    assert (rates.conditions.basis, latencies.conditions.basis, latencies.conditions.load_mode) == (None, "pub-to-ack", "closed")
    assert (latencies.conditions.durability, latencies.conditions.replication_factor, latencies.conditions.topics) == ("memory", 1, 1)
    assert (values(latencies)["latency", "p50"], latencies.samples) == (46610, 3000)


def test_times_of_an_asynchronous_publisher_are_times_of_batches() -> None:
    _, latencies = logged("0.4-jetstream-async.log")

    assert (latencies.conditions.definition, latencies.conditions.demand, latencies.samples) == ("nats-bench-batch", 500, 40)
    assert values(latencies)["latency", "max"] == 5_800_260


def test_times_of_fetch_calls_are_not_read() -> None:
    (record,) = logged("0.4-fetch.log")

    assert values(record) == {("message_rate", "mean"): 163925, ("goodput", "mean"): 10 * MEBIBYTE}


def test_line_with_the_times_of_all_clients_becomes_a_separate_record() -> None:
    *_, rates, calls = logged("0.4-two-publishers.log")

    assert (rates.participant, values(rates)) == ("all", {("offered_rate", "mean"): 3047738, ("offered_goodput", "mean"): 186 * MEBIBYTE})
    assert (calls.participant, calls.samples, values(calls)["send_call", "p99"]) == ("all", 100000, 2270)


def test_answers_are_not_counted_in_the_csv_file_of_a_requester() -> None:
    (record,) = logged("0.4-requester.csv")  # MsgCount is 10000: 5000 requests and 5000 answers.

    assert (record.payload_bytes, record.samples) == (64, 5000)
    assert values(record)["offered_rate", "mean"] == 9436
    assert values(record)["duration", "total"] == 529854000
    assert values(record)["send_call", "p99"] == 178997
    assert record.conditions == Conditions(definition="nats-bench-publisher-or-requester")


def test_message_size_in_a_csv_file_is_unknown_if_several_sizes_are_possible() -> None:
    row = "x,P0,30,3000,2,299.000000,10.033445\n"  # Each of the sizes 100, 120, 125 and 150 bytes is possible.
    (record,) = read_text(f"#RunID,ClientID,MsgCount,MsgBytes,MsgsPerSec,BytesPerSec,DurationSecs\n{row}", "nats_bench").records

    assert (record.payload_bytes, record.samples) == (None, None)


def test_rounded_message_size_is_unknown() -> None:
    (record,) = logged("0.2-rounded-size.log")  # "16 KiB" may be 16,000 bytes.

    assert record.payload_bytes is None
    assert values(record)["offered_goodput", "mean"] == pytest.approx(3.5 * 1024 * MEBIBYTE, abs=1)


def test_options_that_change_the_load_are_settings_but_names_of_streams_are_not() -> None:
    settings = logged("0.1-jetstream.log")[0].conditions.settings or ""

    assert '"pubbatch": "100"' in settings
    assert '"storage": "memory"' in settings
    assert "benchstream" not in settings


def test_kind_of_the_clients_is_a_setting() -> None:
    assert '"benchmark": "JetStream durable consumer (fetch)"' in (logged("0.4-fetch.log")[0].conditions.settings or "")


@pytest.mark.parametrize("name", ["0.4-no-server.log", "0.4-not-supported.log"])
def test_run_is_failed_if_the_log_has_an_error(name: str) -> None:
    log = read(LOGS / name, "nats_bench")

    assert (log.records, log.account.facts.status, log.unknown) == ([], "failed", [])


def test_run_is_failed_if_a_client_disconnected() -> None:
    warning = "WARNING: at least one of the clients disconnected or experienced an error during the benchmark. These results are not optimal!\n"
    text = f"09:50:40 {warning}" + (LOGS / "0.4-publisher.log").read_text(encoding="utf-8")

    assert read_text(text, "nats_bench").account.facts.status == "failed"


def test_line_that_is_truncated_within_its_times_is_broken() -> None:
    text = (LOGS / "0.4-publisher.log").read_text(encoding="utf-8").partition(" ~ P50")[0]

    log = read_text(text, "nats_bench")

    assert (log.records, len(log.broken)) == ([], 1)


def test_default_message_size_printed_by_a_separate_subscriber_is_not_read() -> None:
    # This log is from natscli issue 1441. The messages had 250,000 bytes.
    text = (
        "22:45:52 Starting Core NATS subscribe benchmark [clients=1, msg-size=128 B, msgs=10,000, multi-subject=false, subject=worker.inbox.0]\n\n"
        "Sub stats: 5,884 msgs/sec ~ 735.51 KB/sec\n"
    )
    by_default, stated = (read_text(each).records[0] for each in (text, text.replace("128 B", "16 B").replace("735.51", "91.94")))

    assert (by_default.payload_bytes, list(values(by_default).values())) == (None, [5884])
    assert (stated.payload_bytes, list(values(stated).values())) == (16, [5884, pytest.approx(91.94 * 1024 * 8, abs=1)])


def test_similar_log_of_another_program_is_not_detected_as_nats_bench() -> None:
    # This log is from the README of Centrifuge's benchmark.
    text = (
        "Starting benchmark [msgs=10000, msgsize=128, pubs=4, subs=100]\nCentrifuge Pub/Sub stats: 503,660 msgs/sec ~ 61.48 MB/sec\n"
        " Pub stats: 5,014 msgs/sec ~ 626.77 KB/sec\n"
    )

    assert not formats()["nats_bench"].detect(text).fits
    assert formats()["nats_bench"].detect(text.replace("Centrifuge", "NATS")).fits
