"""The native log: expected values typed from the logs in ``native/`` (see its README)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import Log, read
from tacholog.records import Conditions, Histogram, Number, Record

LOGS = Path(__file__).parent / "native"


def changed(tmp_path: Path, old: str, new: str) -> Log:
    """The sample of a latency run with one text replaced, read."""
    path = tmp_path / "changed.log"
    text = (LOGS / "latency-udp.log").read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return read(path)


def test_a_latency_line_is_a_round_trip_with_its_samples_and_counts() -> None:
    log = read(LOGS / "latency-udp.log")
    event = next(event for event in log.events if isinstance(event.what, Record) and event.what.scope == "summary")
    record = event.what

    assert isinstance(record, Record)
    assert event.line == 13
    assert (record.payload_bytes, record.samples, record.conditions.basis, record.conditions.warmup) == (64, 737, "rtt", "fixed")
    assert record.number("latency", "p50") == Number(metric="latency", statistic="p50", value=3851)
    assert record.number("latency", "mean") == Number(metric="latency", statistic="mean", value=27578.9)
    assert record.number("latency", "max") == Number(metric="latency", statistic="max", value=2880551)
    assert record.number("latency", "p99.9") is None
    assert record.number("messages_lost", "total") == Number(metric="messages_lost", statistic="total", value=0)


def test_a_throughput_line_keeps_both_sides_counts() -> None:
    record = next(record for record in read(LOGS / "throughput-udp.log").records if record.payload_bytes == 65536)

    values = {number.key: number.value for number in record.numbers}
    assert values["messages_sent"] == 49042
    assert values["messages_received"] == 9386
    assert values["messages_lost"] == 39656
    assert values["loss"] == 39656 / 49042
    assert values["goodput_mean_bit_per_s"] == 16521952184
    assert values["offered_rate_mean_messages_per_s"] == 163472.6


def test_the_configuration_becomes_the_runs_conditions() -> None:
    facts = read(LOGS / "latency-udp.log").account.facts

    assert facts.conditions == Conditions(
        transport="udp",
        data_path="copy",
        payload_touched="write+read",
        reliability="best-effort",
        load_mode="closed",
        waiting="busy-poll",
        warmup="fixed",
        publishers=1,
        subscribers=1,
        planned_duration_s=0.02,
    )
    assert facts.environment["affinity_pub_achieved"] == "0"
    assert facts.environment["host_distribution"] == "Debian GNU/Linux 12 (bookworm)"
    assert facts.environment["clock_overhead_ns"] == "21.0"
    assert facts.start_time == "2026-11-21T04:04:02.776Z"


def test_a_histogram_holds_as_many_samples_as_its_line_says() -> None:
    parts = [event.what for event in read(LOGS / "latency-udp.log").events if isinstance(event.what, Histogram)]

    assert sum(count for part in parts if part.payload_bytes == 64 for _, _, count in part.bins) == 737
    assert parts[0].bins[0] == (2828, 2829, 1)


def test_a_run_whose_subscriber_was_killed_failed_and_says_why() -> None:
    account = read(LOGS / "subscriber-killed.log").account

    assert account.status == "failed"
    assert (account.reason or "").startswith("the subscriber process was killed by signal 9")


def test_a_log_without_its_end_is_truncated_and_keeps_what_it_has() -> None:
    log = read(LOGS / "publisher-killed.log")

    assert log.account.status == "truncated"
    assert [record.payload_bytes for record in log.records] == [64]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("samples=737", "samples=-1", "latency line: samples=-1 is no count"),
        ("samples=737", "samples=99999999999999999999", "latency line: samples=99999999999999999999 is no count"),
        ("samples=737 ", "", "latency line without samples"),
        ("p50_ns=3851 p90", "p50_ns=fast p90", "latency line: p50_ns=fast is no number"),
        ("latency payload_bytes=64 basis=rtt", "latency payload_bytes=0 basis=rtt", "latency line: a payload of 0 bytes"),
        ("latency payload_bytes=64 basis=rtt", "latency payload_bytes=64 basis=guess", "latency line: basis=guess is not known"),
        ("samples=737", 'samples="737', "latency line is cut short or garbled"),
    ],
)
def test_a_result_that_cannot_be_is_broken_and_costs_only_itself(tmp_path: Path, old: str, new: str, reason: str) -> None:
    log = changed(tmp_path, old, new)

    assert log.broken == [f"changed.log:13: {reason}"]
    assert [record.payload_bytes for record in log.records if record.scope == "summary"] == [1024]


def test_a_kind_that_is_not_known_is_unknown(tmp_path: Path) -> None:
    assert changed(tmp_path, "affinity role=pub", "banana role=pub").unknown == [7]


def test_quoted_text_is_unescaped(tmp_path: Path) -> None:
    log = changed(tmp_path, "start time=", r'error text="a \"quoted\" tab\t and \x41"' + "\nstart time=")

    assert log.account.facts.reason == 'a "quoted" tab\t and A'
