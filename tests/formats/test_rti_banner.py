"""The output of RTI Perftest around its results: the configuration of a run, its end, and warnings about its figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text
from tacholog.schema.conditions import Conditions

LOGS = Path(__file__).parent / "rti"


def test_configuration_in_the_banner_becomes_the_conditions_of_the_run_and_of_each_record() -> None:
    log = read(LOGS / "3.0.1-latency-pub.log")
    configured = Conditions(
        transport="UDPv4 & SHMEM",
        data_path="copy",
        reliability="reliable",
        keyed=False,
        batch_bytes=0,
        subscribers=1,
        load_mode="closed",
        waiting="listeners",
        planned_duration_s=120.0,
        settings='{"asynchronous_publishing": "No", "multicast": "False"}',
    )

    assert log.account.facts.conditions == configured
    assert log.records[0].conditions == Conditions(basis="rtt/2", definition="rti-one-way").over(configured)
    assert (log.account.facts.tool_version, log.account.facts.system_version) == ("3.0.1", "6.0.0")
    assert log.account.facts.environment["rti_perftest_commit"] == "a7a8334"
    assert log.account.facts.environment["rti_nic"] == "eth0"


def test_load_mode_is_read_from_the_banner_because_all_modes_print_the_same_results() -> None:
    assert read(LOGS / "3.0.1-throughput-pub.log").records[0].conditions.load_mode == "max-rate"
    assert read(LOGS / "3.0.1-throughput-sub.log").records[0].conditions.load_mode is None


def test_batch_size_is_a_condition_in_bytes() -> None:
    assert read(LOGS / "manual-latency.log").account.facts.conditions.batch_bytes == 8192


def test_each_run_in_a_log_has_the_conditions_of_the_banner_before_it(tmp_path: Path) -> None:
    both = tmp_path / "both.log"
    both.write_text((LOGS / "3.0.1-latency-pub.log").read_text() + (LOGS / "3.0.1-throughput-pub.log").read_text())

    assert [record.conditions.load_mode for record in read(both).records] == ["closed", "closed", "max-rate", "max-rate"]


def test_condition_missing_in_a_banner_is_not_taken_from_the_previous_run(tmp_path: Path) -> None:
    both = tmp_path / "both.log"
    both.write_text((LOGS / "3.0.1-latency-pub.log").read_text() + (LOGS / "3.0.1-throughput-sub.log").read_text())

    assert read(both).records[-1].conditions.load_mode is None


def test_latency_test_with_a_given_rate_is_still_a_closed_loop() -> None:
    conditions = read(LOGS / "notices-pub.log").account.facts.conditions

    assert (conditions.load_mode, conditions.offered_rate_per_s) == ("closed", 1000)
    assert (conditions.data_path, conditions.keyed, conditions.reliability) == ("zero-copy", True, "best-effort")
    assert conditions.subscribers == 2


def test_notices_printed_before_a_summary_add_marks_to_this_summary_only() -> None:
    log = read(LOGS / "notices-pub.log")

    first, second = log.records
    assert {number.marks for number in first.numbers} == {("clock_skew", "extra_answers")}
    assert {number.marks for number in second.numbers} == {()}
    assert log.unknown == []


def test_average_measured_with_a_low_resolution_clock_becomes_a_separate_record() -> None:
    average, summary = read(LOGS / "low-resolution-clock-pub.log").records

    assert (average.payload_bytes, average.conditions.definition) == (None, "rti-low-resolution")
    assert [(n.statistic, n.value, n.resolution) for n in average.numbers] == [("mean", 21_000, 1000)]
    assert {number.marks for number in summary.numbers} == {("low_resolution_clock",)}


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("fails-batching.log", "failed", "Batching cannot be used in a Latency test."),
        ("fails-crash.log", "failed", "command terminated with exit code 139"),
        ("fails-discovery.log", "failed", "the log stops at 'Waiting to discover 1 subscribers ...'"),
        ("manual-2.0-pub.log", "truncated", "the log stops before 'Test ended.'"),
        ("3.0.1-latency-pub.log", "ok", None),
    ],
)
def test_status_of_a_run_and_its_reason_are_read_from_the_end_of_the_log(name: str, status: str, reason: str | None) -> None:
    account = read(LOGS / name).account

    assert (account.status, account.reason) == (status, reason)


def test_real_logs_have_no_broken_or_unknown_line() -> None:
    for name in ("3.0.1-latency-pub.log", "3.0.1-throughput-pub.log", "3.0.1-throughput-sub.log", "3.1-tls-csv-sub.log", "csv-intervals-sub.csv"):
        log = read(LOGS / name)

        assert (log.broken, log.unknown) == ([], [])


@pytest.mark.parametrize(("said", "mode"), [("yes (latencyCount=1)", "closed"), ("ye", None), ("no", "max-rate")])
def test_load_mode_of_perftest_lite_is_not_guessed_from_a_truncated_line(said: str, mode: str | None) -> None:
    text = (LOGS / "lite-pub.csv").read_text().replace("yes (latencyCount=10000)", said)

    assert {record.conditions.load_mode for record in read_text(text, "rti").records} == {mode}


def test_custom_and_dynamic_types_are_read_from_the_banner() -> None:
    banner = "RTI Perftest 3.0.0 (RTI Connext DDS 6.0.0)\n\n{custom}Perftest Configuration:\n\tKeyed: No\n\tDynamic Data: {dynamic}\n\n"
    summary = "Length:   464  Packets:  8146078  Packets/s(ave):  135770  Mbps(ave):   504.0  Lost:     0 (0.00%)\n"
    custom = "Custom Type provided: 'Test'\n\n"
    types = [
        read_text(banner.format(custom=said, dynamic=dynamic) + summary).records[0].conditions.type
        for said, dynamic in ((custom, "No"), ("", "Yes"), (custom, "Yes"), ("", "No"))
    ]

    assert types == ["Test", "dynamic", "Test, dynamic", None]
