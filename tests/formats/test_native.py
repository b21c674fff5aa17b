"""The native log: expected values were copied by hand from the logs in ``native/`` (see its README)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import zip_longest
from pathlib import Path

import pytest

from tacholog.formats.kit import counted
from tacholog.formats.native import COMPUTED
from tacholog.formats.reading import Log, read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Histogram, Number, Record

LOGS = Path(__file__).parent / "native"
Changed = Callable[[str, str, str], Log]  # see conftest.py


def test_one_way_latency_is_measured_by_the_subscriber_from_the_scheduled_time() -> None:
    log = read(LOGS / "latency-one-way-shm.log")
    interval, latency, sending = (record for record in log.records if record.scope != "resources")

    assert (log.broken, log.unknown, log.account.status) == ([], [], "ok")
    assert (latency.payload_bytes, latency.samples, latency.side) == (64, 200, "subscriber")
    assert (latency.conditions.basis, latency.conditions.definition) == ("one-way", "perftest-one-way")
    assert latency.number("latency", "min") == Number(metric="latency", statistic="min", value=15531)
    assert latency.number("latency", "p50") == Number(metric="latency", statistic="p50", value=50399)
    assert (interval.conditions.basis, interval.conditions.definition) == ("one-way", "perftest-one-way")
    assert (sending.conditions.basis, sending.number("latency", "p50")) == ("one-way", None)
    assert sending.number("send_lateness", "p50") == Number(metric="send_lateness", statistic="p50", value=41759)
    assert log.account.facts.conditions.waiting == "block"


def test_latency_line_becomes_a_record_of_round_trips_with_samples_and_counts() -> None:
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


def test_throughput_line_has_the_counts_of_both_sides() -> None:
    record = next(record for record in read(LOGS / "throughput-udp.log").records if record.payload_bytes == 65536)

    values = {number.key: number.value for number in record.numbers}
    assert values["messages_sent"] == 49042
    assert values["messages_received"] == 9386
    assert values["messages_lost"] == 39656
    assert values["loss"] == 39656 / 49042
    assert values["goodput_mean_bit_per_s"] == 16521952184
    assert values["offered_rate_mean_messages_per_s"] == 163472.6


def test_late_answers_are_counted_and_included_in_the_latencies() -> None:
    log = read(LOGS / "latency-late-udp.log")
    of_size = {record.payload_bytes: record for record in log.records if record.test == "latency" and record.scope == "summary"}

    assert (log.account.status, log.broken, log.unknown) == ("ok", [], [])
    assert [(size, record.samples, record.number("messages_late", "total")) for size, record in of_size.items()] == [
        (64, 2475, counted("messages_late", 3)),
        (1024, 1803, counted("messages_late", 4)),
    ]
    assert of_size[1024].number("latency", "max") == Number(metric="latency", statistic="max", value=8_069_898)


def test_demand_line_becomes_a_record_with_the_figures_of_both_sides() -> None:
    log = read(LOGS / "demand-udp.log")
    record = log.records[3]

    assert (log.account.status, log.broken, log.unknown) == ("ok", [], [])
    assert (record.test, record.payload_bytes, record.samples, record.side) == ("demand", 65536, 1788, "both")
    assert record.conditions == Conditions(demand=1000, recovery_time_ns=5_000_000, warmup="fixed", definition="perftest-demand")
    assert {number.key: number.value for number in record.numbers} == {
        "messages_sent": 2000,
        "messages_received": 1788,
        "messages_lost": 212,
        "messages_duplicated": 0,
        "messages_reordered": 0,
        "loss": 0.106,
        "send_duration_ns": 51721484,
        "duration_ns": 53009775,
        "offered_rate_mean_messages_per_s": 38668.651,
        "offered_goodput_mean_bit_per_s": 20273509554,
        "message_rate_mean_messages_per_s": 33729.628,
        "goodput_mean_bit_per_s": 17684039293,
    }


def test_each_of_several_subscribers_has_a_separate_record() -> None:
    log = read(LOGS / "three-subscribers-tcp.log")
    of_64 = [r for r in log.records if r.payload_bytes == 64 and r.conditions.definition == "perftest-throughput" and r.scope == "summary"]

    assert (log.account.status, log.broken, log.unknown) == ("ok", [], [])
    assert [(r.participant, r.samples) for r in of_64] == [("sub1", 45312), ("sub2", 45312), ("sub3", 45312)]
    assert [r.number("message_rate", "mean") for r in of_64] == [
        Number(metric="message_rate", statistic="mean", value=value) for value in (26465.866, 26618.594, 26867.998)
    ]
    assert [r.participant for r in log.records if r.scope == "resources" and r.payload_bytes == 64] == [None, "sub1", "sub2", "sub3"]
    assert log.account.facts.conditions.subscribers == 3
    assert log.account.facts.environment["perftest_slow_subscriber"] == "block"
    assert log.account.facts.environment["affinity_sub3_achieved"] == "1"


def test_aggregate_of_several_subscribers_has_their_lowest_rate_and_the_sum_of_their_rates() -> None:
    records = read(LOGS / "three-subscribers-tcp.log").records
    record = next(r for r in records if r.conditions.definition == "perftest-aggregate" and r.payload_bytes == 65536)

    assert (record.test, record.side, record.participant, record.samples) == ("throughput", "subscriber", "all", 3243)
    assert record.conditions.subscribers == 3
    assert {number.key: number.value for number in record.numbers} == {
        "messages_sent": 1081,
        "messages_received": 3243,
        "messages_lost": 0,
        "messages_duplicated": 0,
        "messages_reordered": 0,
        "messages_corrupted": 0,
        "loss": 0,
        "message_rate_min_messages_per_s": 904.845,
        "message_rate_sum_messages_per_s": 3157.714,
        "goodput_min_bit_per_s": 474399568,
        "goodput_sum_bit_per_s": 1655551486,
        "offered_rate_mean_messages_per_s": 906.440,
    }


def test_each_of_several_publishers_has_a_separate_record_and_the_aggregate_includes_all_publishers() -> None:
    log = read(LOGS / "three-publishers-tcp.log")
    *each, all_of_them = (r for r in log.records if r.payload_bytes == 64 and r.scope == "summary")

    assert (log.account.status, log.broken, log.unknown) == ("ok", [], [])
    assert (log.account.facts.conditions.publishers, log.account.facts.conditions.subscribers) == (3, 1)
    assert [(r.participant, r.side, r.samples) for r in each] == [
        (name, "subscriber", n) for name, n in (("pub1", 549), ("pub2", 549), ("pub3", 548))
    ]
    assert (all_of_them.participant, all_of_them.samples, all_of_them.conditions.definition) == ("all", 1646, "perftest-aggregate")
    assert (all_of_them.conditions.publishers, all_of_them.conditions.subscribers) == (3, 1)
    assert all_of_them.number("messages_sent", "total") == Number(metric="messages_sent", statistic="total", value=1646)
    assert all_of_them.number("message_rate", "min") == Number(metric="message_rate", statistic="min", value=487.054)
    assert [r.participant for r in log.records if r.scope == "interval"] == [None, None]


def test_messages_dropped_for_a_slow_subscriber_are_counted(changed: Changed) -> None:
    line = "throughput payload_bytes=64 participant=sub2 sent=10 received=7 lost=3 duplicated=0 reordered=0 dropped=2 duration_ns=5\n"
    record = changed("native/latency-udp.log", "start time=", line + "start time=").records[0]

    assert record.number("messages_dropped", "total") == Number(metric="messages_dropped", statistic="total", value=2)


def test_log_of_keyed_messages_states_how_many_instances_exist_and_how_many_were_received() -> None:
    log = read(LOGS / "keyed-mock.log")
    small, large = (record for record in log.records if record.scope == "summary")

    assert (log.broken, log.unknown, log.account.status) == ([], [], "ok")
    assert (log.account.facts.conditions.keyed, log.account.facts.conditions.instances) == (True, 10)
    assert (small.payload_bytes, large.payload_bytes) == (16, 1024)
    assert small.number("instances_heard", "total") == Number(metric="instances_heard", statistic="total", value=9)
    assert small.number("messages_lost", "total") == Number(metric="messages_lost", statistic="total", value=38)
    assert "instances_heard" in {number.key for number in large.numbers}


def test_use_of_keys_is_unknown_if_the_log_states_nothing_about_instances() -> None:
    conditions = read(LOGS / "throughput-udp.log").account.facts.conditions

    assert (conditions.keyed, conditions.instances) == (None, None)


def test_each_kind_of_burst_is_a_separate_record() -> None:
    records = read(LOGS / "demand-udp.log").records

    assert [(record.payload_bytes, record.conditions.demand) for record in records] == [(64, 100), (64, 1000), (65536, 100), (65536, 1000)]


def test_interval_of_a_demand_test_states_its_demand(changed: Changed) -> None:
    interval = "interval payload_bytes=64 demand=100 recovery_time_ns=5000000 index=0 duration_ns=1000000000 received=5000 lost=2\n"
    record = changed("native/latency-udp.log", "start time=", interval + "start time=").records[0]

    assert (record.test, record.scope, record.conditions.demand) == ("demand", "interval", 100)
    assert record.number("messages_lost", "total") == Number(metric="messages_lost", statistic="total", value=2)


def test_resource_line_with_the_role_sub_becomes_a_record_of_the_subscriber(changed: Changed) -> None:
    line = (
        "resources payload_bytes=64 test=throughput role=sub duration_ns=282076840 user_ns=30742000 system_ns=118851000 "
        "voluntary_switches=1 involuntary_switches=136 peak_memory_bytes=2871296\n"
    )
    record = changed("native/latency-udp.log", "start time=", line + "start time=").records[0]

    assert (record.test, record.payload_bytes, record.side) == ("throughput", 64, "subscriber")
    assert record.conditions == Conditions(definition="perftest-resources")
    assert {number.key: number.value for number in record.numbers} == {
        "cpu_time_user_ns": 30742000,
        "cpu_time_system_ns": 118851000,
        "context_switches_voluntary_switches": 1,
        "context_switches_involuntary_switches": 136,
        "peak_memory_max_bytes": 2871296,
        "duration_ns": 282076840,
    }


def test_peak_memory_is_a_bound_if_the_log_does_not_state_its_source(changed: Changed) -> None:
    """Without a source, the number may be the peak memory of the program that started perftest."""
    line = "resources payload_bytes=64 test=throughput role=pub duration_ns=282076840 peak_memory_bytes=114552832\n"
    with_source = line.replace("peak_memory_bytes", "peak_memory_from=VmHWM peak_memory_bytes")

    for text, bound in ((line, "<"), (with_source, "=")):
        record = changed("native/latency-udp.log", "start time=", text + "start time=").records[0]
        assert [(number.value, number.bound) for number in record.numbers if number.metric == "peak_memory"] == [(114552832, bound)]


def test_open_loop_latency_has_a_separate_definition_and_the_send_lateness_is_read(tmp_path: Path) -> None:
    sending = (
        "sending payload_bytes=64 basis=rtt planned=4000 sent=4000 target_rate_per_s=2000 offered_rate_per_s=1999.998 "
        "lateness_p50_ns=157 lateness_p99_ns=17535 lateness_max_ns=1004543 from_send_p50_ns=4039 from_send_p99_ns=90111\n"
    )
    path = tmp_path / "open.log"
    path.write_text((LOGS / "latency-udp.log").read_text().replace(" basis=rtt samples", " basis=rtt from=schedule samples", 1) + sending)
    records = read(path).records

    assert [r.conditions.definition for r in records if r.scope == "summary"] == ["perftest-rtt-open", "perftest-rtt", "perftest-sending"]
    assert (records[-1].samples, records[-1].conditions.offered_rate_per_s) == (4000, 2000)
    assert records[-1].number("send_lateness", "p99") == Number(metric="send_lateness", statistic="p99", value=17535)
    assert records[-1].number("latency", "p99") == Number(metric="latency", statistic="p99", value=90111)
    assert records[-1].number("offered_rate", "mean") == Number(metric="offered_rate", statistic="mean", value=1999.998)


@pytest.mark.parametrize("name", ["latency-udp.log", "throughput-udp.log", "demand-udp.log"])
def test_truncated_result_may_lack_numbers_but_never_has_wrong_numbers(name: str, tmp_path: Path) -> None:
    lines = (LOGS / name).read_text().splitlines()
    for number, line in enumerate(lines, start=1):
        kind, *pairs = line.split(" ")
        if kind not in {"latency", "throughput", "demand", "interval", "resources"}:
            continue
        cut = tmp_path / "cut.log"
        cut.write_text("\n".join([lines[0], lines[1], " ".join([kind, *pairs[:-1]]), ""]))

        assert read(cut).broken == [f"cut.log:3: {kind} line is cut short or garbled"] or "offered_rate_per_s=" in pairs[-1], number


def test_condition_warmup_is_unknown_if_the_outcome_of_the_warm_up_is_unknown(changed: Changed) -> None:
    assert changed("native/latency-udp.log", "outcome=fixed", "outcome=fi").records[0].conditions.warmup is None


def test_counters_of_the_kernel_are_facts_of_the_run(changed: Changed) -> None:
    line = "path tcp_in_segs=42 udp_in_datagrams=99806\n"
    facts = changed("native/latency-udp.log", "load at=end", line + "load at=end").account.facts

    assert facts.environment["path_udp_in_datagrams"] == "99806"


def test_configuration_becomes_the_conditions_of_the_run() -> None:
    facts = read(LOGS / "latency-udp.log").account.facts

    assert facts.conditions == Conditions(
        transport="udp",
        reach="network",  # The log is older than the key reach. The reach follows from the transport.
        data_path="copy",
        payload_touched="write+read",
        reliability="best-effort",
        load_mode="closed",
        waiting="busy-poll",
        tuning="none",  # The log is older than the option for tuning.
        warmup="fixed",
        publishers=1,
        subscribers=1,
        batch_bytes=0,  # The log is older than the option for batches.
        planned_duration_s=0.02,
    )
    assert facts.environment["affinity_pub_achieved"] == "0"
    assert facts.environment["host_distribution"] == "Debian GNU/Linux 12 (bookworm)"
    assert facts.environment["clock_overhead_ns"] == "21.0"
    assert facts.start_time == "2026-11-21T04:04:02.776Z"


@pytest.mark.parametrize(
    ("config", "reach"),
    [
        ("transport=udp reach=host", "host"),
        ("transport=new reach=process", "process"),
        ("transport=inter-thread", "process"),
        ("transport=uds", "host"),
        ("transport=new", None),
    ],
)
def test_reach_is_derived_from_the_transport_if_an_old_log_does_not_state_the_reach(config: str, reach: str | None, changed: Changed) -> None:
    assert changed("native/latency-udp.log", "transport=udp", config).account.facts.conditions.reach == reach


def test_tuning_options_of_perftest_are_a_condition(changed: Changed) -> None:
    asked = changed("native/latency-udp.log", "transport=udp", 'transport=udp tuning="real-time priority 50, locked memory"')

    assert asked.account.facts.conditions.tuning == "real-time priority 50, locked memory"


def test_histogram_has_as_many_samples_as_its_latency_line_states() -> None:
    parts = [event.what for event in read(LOGS / "latency-udp.log").events if isinstance(event.what, Histogram)]

    assert sum(count for part in parts if part.payload_bytes == 64 for _, _, count in part.bins) == 737
    assert parts[0].bins[0] == (2828, 2829, 1)


def test_run_with_a_killed_subscriber_is_failed_and_states_the_reason() -> None:
    account = read(LOGS / "subscriber-killed.log").account

    assert account.status == "failed"
    assert (account.reason or "").startswith("the subscriber process was killed by signal 9")


def test_log_without_its_end_is_truncated_and_keeps_its_records() -> None:
    log = read(LOGS / "publisher-killed.log")

    assert log.account.status == "truncated"
    assert [record.payload_bytes for record in log.records] == [64]


LATENCY = "latency-udp.log"
UNKNOWN_ROLE = "resources payload_bytes=64 test=latency role=audience peak_memory_bytes=1\n"
ZERO_MESSAGES = "demand payload_bytes=64 demand=0 recovery_time_ns=0 received=0 lost=0 receive_duration_ns=0\n"


@pytest.mark.parametrize(
    ("sample", "old", "new", "broken"),
    [
        (LATENCY, "samples=737", "samples=-1", "13: latency line: samples=-1 is no count"),
        (LATENCY, "samples=737", "samples=99999999999999999999", "13: latency line: samples=99999999999999999999 is no count"),
        (LATENCY, "samples=737 ", "", "13: latency line without samples"),
        (LATENCY, "p50_ns=3851 p90", "p50_ns=fast p90", "13: latency line: p50_ns=fast is no number"),
        (LATENCY, "latency payload_bytes=64 basis=rtt", "latency payload_bytes=0 basis=rtt", "13: latency line: a payload of 0 bytes"),
        (LATENCY, "latency payload_bytes=64 basis=rtt", "latency payload_bytes=64 basis=guess", "13: latency line: basis=guess is not known"),
        (LATENCY, "samples=737", 'samples="737', "13: latency line is cut short or garbled"),
        (LATENCY, "start time=", UNKNOWN_ROLE + "start time=", "6: resources line: role=audience is not known"),
        (LATENCY, "start time=", ZERO_MESSAGES + "start time=", "6: demand line: bursts of no messages"),
        (LATENCY, "transport=udp", "transport=udp reach=moon", "2: config line: Invalid enum value 'moon' - at `$.reach`"),
        (LATENCY, " duration_s=0.02 ", " duration_s=9999999999999999999 ", "2: config line: duration_s=9999999999999999999 is too large"),
        ("keyed-mock.log", "instances_heard=9", "instances_heard=11", "10: throughput line: messages of 11 of 10 instances were received"),
        ("throughput-nats.log", "messages=710 ", "messages=0 ", "24: cost line: the number of messages is 0"),
        ("throughput-nats.log", " sides_ns=41084000 companion_ns=130000000", "", "24: cost line is cut short or garbled"),
        (
            "sustain-of-sockperf.log",
            " definition=sockperf-latency goal",
            " definition=sockperf-lat\ufffdncy goal",
            "4: sustain line: definition=sockperf-lat\ufffdncy is no definition",
        ),
    ],
)
def test_impossible_line_is_broken_and_affects_no_other_line(changed: Changed, sample: str, old: str, new: str, broken: str) -> None:
    log = changed(f"native/{sample}", old, new)

    assert log.broken == [f"text:{broken}"]
    lost = broken.split(": ")[1].startswith(("latency", "throughput", "cost", "sustain"))  # Other lines contain no result.
    assert len(log.records) == len(read(LOGS / sample).records) - lost


def test_placement_and_round_trip_time_are_read_if_the_transport_is_null() -> None:
    log = read(LOGS / "latency-null.log")

    assert (log.account.status, log.broken, log.unknown) == ("ok", [], [])
    facts = log.account.facts
    assert (facts.conditions.placement, facts.conditions.transport, facts.conditions.reach) == ("shared-cache", "null", "process")
    assert {key: value for key, value in facts.environment.items() if key.startswith("placement")} == {
        "placement_relation": "shared-cache",
        "placement_shared_cache": "L3",
        "placement_numa_nodes": "0,0",
        "placement_cache_line_ns": "270.5",
    }
    assert facts.environment["host_realtime_throttling"] == "950000 of 1000000 us"
    assert facts.environment["host_shared_memory_huge_pages"] == "never"
    latency = [record.number("latency", "p50") for record in log.records if record.test == "latency" and record.scope == "summary"]
    assert [number.value for number in latency if number] == [40, 191]


@pytest.mark.parametrize(
    ("line", "placement"),
    [
        ("placement relation=shared-cache shared_cache=L3 numa_nodes=0,0 cache_line_ns=56.3", "shared-cache"),
        ("placement relation=unpinned", "unpinned"),
        ("placement relation=unknown", None),
    ],
)
def test_placement_is_a_condition_if_the_log_states_a_known_placement(changed: Changed, line: str, placement: str | None) -> None:
    log = changed("native/latency-udp.log", "start time=", f"{line}\nstart time=")

    assert (log.broken, log.unknown, log.account.facts.conditions.placement) == ([], [], placement)


def test_environment_states_the_bytes_in_huge_pages_for_each_message_size_and_side(changed: Changed) -> None:
    memory = "memory role={} payload_bytes={} shared_memory_bytes={} shared_huge_page_bytes={}\n"
    lines = memory.format("pub", 64, 135168, 0) + memory.format("pub", 1048576, 8396800, 8388608) + memory.format("sub", 64, 135168, 0)
    log = changed("native/latency-udp.log", "start time=", f"{lines}start time=")

    assert (log.broken, log.unknown) == ([], [])
    assert {key: value for key, value in log.account.facts.environment.items() if key.startswith("memory_")} == {
        "memory_64_pub_shared_memory_bytes": "135168",
        "memory_64_pub_shared_huge_page_bytes": "0",
        "memory_1048576_pub_shared_memory_bytes": "8396800",
        "memory_1048576_pub_shared_huge_page_bytes": "8388608",
        "memory_64_sub_shared_memory_bytes": "135168",
        "memory_64_sub_shared_huge_page_bytes": "0",
    }


def test_line_with_an_invalid_placement_is_broken(changed: Changed) -> None:
    log = changed("native/latency-udp.log", "start time=", "placement relation=moon\nstart time=")

    assert [broken.partition(": ")[2][:38] for broken in log.broken] == ["placement line: Invalid enum value 'mo"]


def test_line_of_an_unknown_kind_is_reported_as_unknown(changed: Changed) -> None:
    assert changed("native/latency-udp.log", "affinity role=pub", "banana role=pub").unknown == [7]


def test_quoted_text_is_unescaped(changed: Changed) -> None:
    log = changed("native/latency-udp.log", "start time=", r'error text="a \"quoted\" tab\t and \\ back"' + "\nstart time=")

    assert log.account.facts.reason == 'a "quoted" tab\t and \\ back'


def test_escaped_control_character_in_quoted_text_stays_escaped(changed: Changed) -> None:
    escaped = r"\x1B]0;owned\x07 \x9B2J \xC2\x9B2J \xE2\x80\xAE \x7F\x0D"

    log = changed("native/latency-udp.log", "transport=udp", f'transport="{escaped}"')

    assert log.account.facts.conditions.transport == escaped


def test_batch_size_is_a_condition_of_each_message_size() -> None:
    log = read(LOGS / "throughput-batched-udp.log")
    rows = [(record.payload_bytes, record.conditions.batch_bytes) for record in log.records if record.scope == "summary"]

    assert (log.broken, log.unknown, log.account.status) == ([], [], "ok")
    assert rows == [(64, None), (3000, 0)]
    assert log.account.facts.conditions.batch_bytes == 4096


def test_probes_of_a_throughput_test_become_a_separate_record_of_round_trips_under_load() -> None:
    log = read(LOGS / "throughput-probes-shm.log")
    records = [record for record in log.records if record.scope == "summary"]
    probed = records[1]

    assert (log.broken, log.unknown, log.account.status) == ([], [], "ok")
    assert [(record.test, record.payload_bytes) for record in records] == [
        ("throughput", 64),
        ("latency", 64),
        ("throughput", 4096),
        ("latency", 4096),
    ]
    assert (probed.samples, probed.side, probed.conditions.basis) == (194, "publisher", "rtt")
    assert probed.conditions.definition == "perftest-rtt-probe"
    assert log.account.facts.conditions.load_mode == "max-rate"
    assert log.account.facts.environment["perftest_probe_every"] == "200"


@pytest.mark.parametrize(("name", "key"), [("throughput-probes-shm.log", "probe_every"), ("latency-one-way-shm.log", "from")])
def test_result_with_an_unknown_key_is_broken_and_not_mixed_with_another_result(name: str, key: str, tmp_path: Path) -> None:
    changed = tmp_path / name
    changed.write_text((LOGS / name).read_text().replace(f" {key}=", f" p_{key}="))
    log = read(changed)

    assert f"latency line has a value that this version does not know: p_{key}=" in log.broken[-1]
    assert "latency" not in {record.test for record in log.records if record.samples and record.conditions.definition != "perftest-sending"}


def test_processor_time_per_message_includes_both_sides_and_the_broker() -> None:
    log = read(LOGS / "throughput-nats.log")
    costs = [record for record in log.records if record.number("cpu_per_message", "mean")]

    assert (log.broken, log.unknown, log.account.status) == ([], [], "ok")
    values = [(record.payload_bytes, record.side, record.numbers[0].value) for record in costs]
    assert values == [(64, "subscriber", (176977000 + 120000000) / 298946), (65536, "subscriber", (41084000 + 130000000) / 710)]
    assert {record.conditions.definition for record in costs} == {"perftest-throughput"}


@pytest.mark.parametrize("what_stands_of_the_broker", ["companion name=nats-server", "companion name=nats-se\ncut"])
def test_processor_time_per_message_without_the_time_of_the_broker_is_broken(what_stands_of_the_broker: str) -> None:
    original = (LOGS / "throughput-nats.log").read_text()
    cut = original.replace("companion name=nats-server", what_stands_of_the_broker).replace(" companion_ns=130000000", "")

    log = read_text(cut, "native")

    [reason] = [broken.partition(": ")[2] for broken in log.broken if "cost" in broken]
    assert reason == "cost line without companion_ns, although the run has started a program that takes processor time"
    assert [record.samples for record in log.records if any(number.metric == "cpu_per_message" for number in record.numbers)] == [298946]


def test_lines_of_two_runs_that_wrote_into_one_log_at_the_same_time_are_not_combined() -> None:
    first, second = ((LOGS / name).read_text().splitlines() for name in ("latency-udp.log", "latency-late-udp.log"))
    mixed = [line for pair in zip_longest(first, second) for line in pair if line is not None]

    log = read_text("\n".join(mixed), "native")

    used = [record for record in log.records if record.scope == "resources"]
    assert len(used) == sum(line.startswith("resources ") for line in mixed)
    assert {(record.samples, record.conditions.warmup) for record in used} == {(None, None)}


def test_lines_of_a_killed_run_and_of_the_next_run_are_read() -> None:
    killed, complete = ((LOGS / name).read_text() for name in ("publisher-killed.log", "latency-late-udp.log"))

    log = read_text(killed + complete + complete, "native")

    late = [record for record in log.records if record.number("messages_late", "total")]
    assert [record.conditions.warmup for record in late] == [None, None, "fixed", "fixed"]


def test_settings_of_a_transport_are_one_condition_with_sorted_names() -> None:
    log = read(LOGS / "throughput-zeromq-ipc.log")

    assert (log.broken, log.unknown, log.account.status) == ([], [], "ok")
    assert log.account.facts.conditions.settings == '{"high_water_mark": "500", "io_threads": "1", "sockets": "push-pull"}'
    assert log.account.facts.conditions.reliability == "reliable"


def test_library_of_a_middleware_is_the_system_and_perftest_is_the_tool() -> None:
    facts = read(LOGS / "throughput-zeromq-ipc.log").account.facts

    assert (facts.system, facts.system_version, facts.tool_version) == ("ZeroMQ", "4.3.4", "0.3.0")
    assert (facts.environment["transport_pub_library"], facts.environment["transport_sub_library_version"]) == ("ZeroMQ", "4.3.4")
    assert (facts.environment["way_expected"], facts.environment["way_agrees"]) == ("local", "yes")


def test_settings_and_system_are_unknown_if_the_log_lacks_settings_and_library() -> None:
    assert read(LOGS / "throughput-udp.log").account.facts.conditions.settings is None
    assert read(LOGS / "throughput-udp.log").account.facts.system is None


def test_broker_that_perftest_started_is_a_fact_about_the_run(changed: Changed) -> None:
    line = 'companion name=mosquitto version="mosquitto 2.0.11" command="/usr/sbin/mosquitto -p 41000"\n'
    log = changed("native/latency-udp.log", "start time=", line + "start time=")

    assert (log.broken, log.unknown) == ([], [])
    assert log.account.facts.environment["companion_version"] == "mosquitto 2.0.11"


def test_search_for_the_sustained_rate_gives_its_trials_and_both_bounds_of_the_rate() -> None:
    log = read(LOGS / "sustain-mock.log")
    trials = [record for record in log.records if record.test == "sustain" and record.scope == "interval"]
    (summary,) = [record for record in log.records if record.test == "sustain" and record.scope == "summary"]

    assert (log.broken, log.unknown, log.account.status) == ([], [], "ok")
    assert (summary.payload_bytes, summary.side, summary.conditions.definition) == (64, "publisher", "perftest-sustain")
    assert summary.conditions.goal == "p99 at most 20 ms, no loss, exceed ratio 0.5"
    assert summary.number("sustained_rate", "lower-bound") == Number(metric="sustained_rate", statistic="lower-bound", value=1861.9)
    assert summary.number("sustained_rate", "upper-bound") == Number(metric="sustained_rate", statistic="upper-bound", value=1882.2)
    assert len(trials) == 15
    assert (trials[0].samples, trials[0].conditions.offered_rate_per_s) == (100, 400)
    assert trials[0].number("loss", "total") == Number(metric="loss", statistic="total", value=0)
    passed = [number.value for trial in trials for number in trial.numbers if number.metric == "trials_passed"]
    assert passed == [1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 1, 0]


@pytest.mark.parametrize(
    ("outcome", "bound", "value"), [("above_range", ">", 1861.9), ("below_range", "<", 1882.2)], ids=["above the range", "below the range"]
)
def test_sustained_rate_is_a_bound_if_the_search_ended_at_a_limit_of_its_range(changed: Changed, outcome: str, bound: str, value: float) -> None:
    log = changed("native/sustain-mock.log", "outcome=found", f"outcome={outcome}")

    (summary,) = [record for record in log.records if record.test == "sustain" and record.scope == "summary"]
    (rate,) = [number for number in summary.numbers if number.metric == "sustained_rate"]
    assert (rate.statistic, rate.bound, rate.value) == ("lower-bound", bound, value)


def test_second_trial_with_the_same_index_is_broken(changed: Changed) -> None:
    log = changed("native/sustain-mock.log", "index=8 length=short", "index=7 length=short")

    assert log.broken == ["text:20: trial 7 stands after trial 7"]
    assert len([record for record in log.records if record.scope == "interval"]) == 14


@pytest.mark.parametrize("wrong", ["outcome=perhaps", "outcome=found colour=red", "goal_statistic=p98"])
def test_line_of_a_search_with_an_unknown_value_or_key_is_broken(changed: Changed, wrong: str) -> None:
    key = wrong.partition("=")[0]
    log = changed("native/sustain-mock.log", {"outcome": "outcome=found", "goal_statistic": "from=schedule goal_statistic=p99"}[key], wrong)

    assert [broken.split(" line")[0].split(" ")[-1] for broken in log.broken] == ["sustain"]


def test_goal_of_a_search_names_the_latency_definition_of_the_measuring_tool() -> None:
    log = read(LOGS / "sustain-of-sockperf.log")
    (summary,) = [record for record in log.records if record.scope == "summary"]

    assert (log.broken, log.unknown, log.account.status) == ([], [], "ok")
    assert summary.conditions.goal == "p99 at most 2 ms, no loss, exceed ratio 0.5, by sockperf-latency"
    assert (summary.conditions.transport, summary.conditions.basis, summary.conditions.definition) == ("UDP", "rtt/2", "sustain-of-tool")
    assert summary.number("sustained_rate", "lower-bound") == Number(metric="sustained_rate", statistic="lower-bound", value=8000, bound="<")


#: Each formula of `COMPUTED`, with a function that computes it.
WORKED_OUT: Mapping[str, Callable[[Mapping[str, int]], float]] = {
    "(sides_ns + companion_ns) / messages": lambda fields: (fields["sides_ns"] + fields["companion_ns"]) / fields["messages"],
    "sides_ns / messages": lambda fields: fields["sides_ns"] / fields["messages"],
    "lost / (received + lost)": lambda fields: fields["lost"] / (fields["received"] + fields["lost"]),
}


def test_each_formula_that_the_format_declares_is_checked_in_this_file() -> None:
    assert {formula for formulas in COMPUTED.values() for formula in formulas} == WORKED_OUT.keys()


@pytest.mark.parametrize(
    ("log", "count"), [("throughput-nats.log", 4), ("throughput-udp.log", 2), ("three-subscribers-tcp.log", 8), ("demand-udp.log", 4)]
)
def test_computed_number_equals_the_result_of_the_declared_formula(log: str, count: int) -> None:
    lines = (LOGS / log).read_text().splitlines()
    checked = 0
    for event in read(LOGS / log).events:
        for number in event.what.numbers if isinstance(event.what, Record) else ():
            fields = {name: int(text) for name, text in re.findall(r"(\w+)=(\d+)(?= |$)", lines[event.line - 1])}
            for formula in COMPUTED.get((number.metric, number.statistic), ()):
                if fields.keys() >= set(re.findall(r"[a-z_]+", formula)):
                    assert number.value == WORKED_OUT[formula](fields), lines[event.line - 1]
                    checked += 1
                    break

    assert checked == count
