"""qperf: the meaning of its blocks. Expected values were copied by hand from the logs in ``qperf/`` (see its README)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.anywhere import anywhere

from tacholog.formats.reading import Log, read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "qperf"
PLAIN = """\
tcp_lat:
    latency        =  6.67 us
    msg_rate       =   150 K/sec
    msg_size       =   100 bytes
    time           =     1 sec
    loc_cpus_used  =   200 % cpus
    rem_cpus_used  =   200 % cpus
"""


def logged(name: str) -> Log:
    return read(LOGS / name, "qperf")


def test_latency_has_only_a_mean_and_is_half_of_a_round_trip() -> None:
    log = logged("tcp-lat-v-100.log")

    assert log.records == [
        Record(
            test="latency",
            payload_bytes=100,
            numbers=(
                Number(metric="latency", statistic="mean", value=6670, resolution=10, line=3),
                Number(metric="message_rate", statistic="mean", value=150_000, resolution=1000, line=4),
                Number(metric="cpu", statistic="local", value=200, resolution=1, line=7),
                Number(metric="cpu", statistic="remote", value=200, resolution=1, line=8),
            ),
            side="both",
            conditions=Conditions(transport="TCP", load_mode="closed", basis="rtt/2", definition="qperf-latency", planned_duration_s=1),
        )
    ]
    assert log.unknown == [1, 9]


def test_output_without_options_gives_only_the_latency() -> None:
    record = logged("tcp-lat-plain.log").records[0]

    assert record.numbers == (Number(metric="latency", statistic="mean", value=35_000, resolution=100, line=3),)
    assert (record.payload_bytes, record.samples, record.conditions.planned_duration_s) == (None, None, None)


def test_sizes_printed_in_kb_and_mb_are_multiples_of_1000_bytes() -> None:
    records = logged("loop-of-calls.log").records

    assert [(record.payload_bytes, record.numbers[0].value, record.numbers[0].resolution) for record in records] == [
        (100, 2310, 10),
        (1000, 3030, 10),
        (10_000, 2990, 10),
        (100_000, 12_700, 100),
        (1_000_000, 196_000, 1000),
        (10_000_000, 2_800_000, 10_000),
    ]


def test_sizes_that_are_multiples_of_1024_are_printed_exactly() -> None:
    assert [record.payload_bytes for record in logged("loop-of-sizes.log").records] == [1, 16, 256, 4096, 65536]


def test_message_size_with_only_three_known_digits_is_unknown() -> None:
    assert read_text(PLAIN.replace(" 100 bytes", "1.23 KB"), "qperf").records[0].payload_bytes is None


def test_each_known_row_of_a_block_becomes_a_number() -> None:
    record = logged("multi-vv.log").records[0]

    assert record.payload_bytes == 65536
    assert record.samples == 24282
    assert [(n.metric, n.statistic, n.value, n.resolution) for n in record.numbers] == [
        ("goodput", "mean", 12.72e9, 8e7),
        ("message_rate", "mean", 24_300, 100),
        ("cpu_cost", "publisher", 1.25e9, 1e7),
        ("cpu_cost", "subscriber", 1.25e9, 1e7),
        ("cpu", "publisher", 199, 1),
        ("cpu", "publisher-user", 131, 1),
        ("cpu", "publisher-interrupts", 14, 0.1),
        ("cpu", "publisher-kernel", 54, 0.1),
        ("duration", "publisher", 1e9, 1e7),
        ("cpu_time", "publisher", 1.99e9, 1e7),
        ("bytes_sent", "total", 1.6e9, 1e7),
        ("messages_sent", "total", 24347, None),
        ("cpu", "subscriber", 199, 1),
        ("cpu", "subscriber-user", 131, 1),
        ("cpu", "subscriber-interrupts", 14, 0.1),
        ("cpu", "subscriber-kernel", 54, 0.1),
        ("duration", "subscriber", 1e9, 1e7),
        ("cpu_time", "subscriber", 1.99e9, 1e7),
        ("bytes_received", "total", 1.59e9, 1e7),
        ("messages_received", "total", 24282, None),
    ]


def test_samples_of_a_ping_pong_are_the_messages_that_both_sides_received() -> None:
    tcp, udp = logged("multi-vv.log").records[1:]

    assert (tcp.samples, tcp.conditions.transport) == (146_691 + 146_692, "TCP")
    assert (udp.samples, udp.conditions.transport) == (155_689 + 155_690, "UDP")


def test_sent_data_is_offered_and_only_received_data_is_goodput() -> None:
    record = logged("udp-bw-vv.log").records[0]

    assert record.number("offered_goodput", "mean") == Number(metric="offered_goodput", statistic="mean", value=108e9, resolution=8e8, line=2)
    assert record.number("goodput", "mean") == Number(metric="goodput", statistic="mean", value=40.72e9, resolution=8e7, line=3)


@pytest.mark.parametrize(
    ("name", "metric", "value", "samples", "line"),
    [
        ("udp-lat-times-differ.log", "latency", 10_718, 46_648 + 46_649, 2),  # The test took 1.00 s on one side and 1.01 s on the other side.
        ("udp-bw-times-differ.log", "goodput", 39_110_656 * 8, 38_194, 3),  # The test took 1.06 s and 1.00 s.
    ],
)
def test_block_is_read_if_its_two_sides_differ_only_because_of_their_durations(name: str, metric: str, value: float, samples: int, line: int) -> None:
    (record,) = logged(name).records

    assert (record.number(metric, "mean"), record.samples) == (
        Number(metric=metric, statistic="mean", value=value, resolution=8 if samples == 38_194 else 1, line=line),
        samples,
    )


def test_rates_in_bits_are_not_read_as_bytes_and_have_the_requested_number_of_digits() -> None:
    record = logged("bits.log").records[0]

    assert record.payload_bytes == 1_000_000
    assert record.number("goodput", "mean") == Number(metric="goodput", statistic="mean", value=11.944e9, resolution=1e6, line=3)
    assert record.number("cpu_cost", "publisher") == Number(metric="cpu_cost", statistic="publisher", value=1.3267e9, resolution=1e5, line=7)


def test_rows_are_read_if_their_units_have_no_prefix_such_as_kilo() -> None:
    latency, bandwidth = logged("unscaled.log").records

    assert latency.numbers[0] == Number(metric="latency", statistic="mean", value=3443, resolution=1, line=2)
    assert bandwidth.numbers[0] == Number(metric="goodput", statistic="mean", value=8 * 5_702_090_752, resolution=8, line=28)
    assert (bandwidth.payload_bytes, bandwidth.samples, bandwidth.conditions.planned_duration_s) == (65536, 87007, 1)


def test_rows_of_the_two_nodes_have_the_statistics_local_and_remote() -> None:
    record = logged("by-node.log").records[0]

    assert record.number("messages_sent", "local") == Number(metric="messages_sent", statistic="local", value=398_346, line=6)
    assert record.number("messages_received", "remote") == Number(metric="messages_received", statistic="remote", value=140_282, line=8)


def test_description_of_each_machine_is_read_into_the_facts_of_the_run() -> None:
    facts = logged("conf.log").account.facts

    assert facts.tool_version == "0.4.11"
    assert facts.environment["rem_cpu"] == "2 Cores: Intel Xeon Processor 2.7GHz"


def test_latency_of_zero_is_impossible() -> None:
    record = logged("udp-lat-too-large.log").records[0]

    assert record.payload_bytes == 100_000
    assert record.numbers[0] == Number(metric="latency", statistic="mean", value=None, marks=("impossible",), line=2)


@pytest.mark.parametrize(
    ("name", "reason"), [("bad-host.log", "getaddrinfo failed: Name or service not known"), ("no-sctp.log", "sctp_lat gave no figures")]
)
def test_run_without_rows_is_failed(name: str, reason: str) -> None:
    log = logged(name)

    assert (log.account.status, log.account.reason) == ("failed", reason)
    assert log.records == []


def test_run_without_rows_is_not_failed_if_the_command_is_quit() -> None:
    log = logged("precise-and-quit.log")

    assert log.account.status is None
    assert log.records[0].numbers[0] == Number(metric="latency", statistic="mean", value=2277.18, resolution=0.01, line=2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    rem_cpus_used  =   200 % cpus\n", ""),
        ("    loc_cpus_used  =   200 % cpus\n", ""),
        ("    latency        =  6.67 us\n", ""),
        ("6.67 us", "5.67 us"),
        ("150 K/sec", "150 M/sec"),
        ("150 K/sec", "150 KB/sec"),
        ("6.67 us", "6.67 u"),
        ("100 bytes", "100 byt"),
        (" =   100 bytes", " =  100 bytes"),
        ("  =  ", "  =   "),
        ("    msg_size  ", "    msg_siz  "),
        ("tcp_lat", "tcp_bw"),
    ],
)
def test_block_without_a_row_or_with_contradictions_is_broken(old: str, new: str) -> None:
    log = read_text(PLAIN.replace(old, new) + "quit:\n", "qperf")

    assert log.records == []
    assert [text.partition(":")[2].partition(":")[0] for text in log.broken] == ["1"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rem_send_msgs    =  146,692 ", "rem_send_msgs    =  155,689 "),  # Only 146,691 messages came back.
        ("msg_rate         =      293 K/sec", "msg_rate         =      299 K/sec"),  # 293,383 messages were received in one second.
        ("recv_msgs         =  24,282 ", "recv_msgs         =  26,282 "),  # The rate is 24.3 thousand messages per second.
    ],
)
def test_block_with_a_count_of_another_test_is_broken(old: str, new: str) -> None:
    text = (LOGS / "multi-vv.log").read_text()
    assert old in text
    log = read_text(text.replace(old, new), "qperf")

    assert [why.partition(": ")[2] for why in log.broken] == ["the rows of this test contradict each other, or some are missing"]
    assert len(log.records) == 2


def test_block_with_a_message_size_of_zero_bytes_is_broken() -> None:
    log = read_text(PLAIN.replace("150 K/sec", "0.0 K/sec").replace("100 bytes", "0.0 bytes"), "qperf")

    assert [str(broken) for broken in log.broken] == ["text:1: a message size of 0, which qperf does not print"]


def test_block_gives_no_record_if_its_last_row_has_no_line_end() -> None:
    assert len(read_text(PLAIN, "qperf").records) == 1
    assert read_text(PLAIN.rstrip("\n"), "qperf").records == []


def test_each_row_without_the_name_of_its_test_is_broken() -> None:
    log = read_text(PLAIN.partition("\n")[2], "qperf")

    assert log.broken == [f"text:{line}: a row without its test" for line in range(1, 7)]


def test_unknown_row_is_reported_as_unknown_and_affects_no_other_row() -> None:
    log = read_text(PLAIN.replace("    time  ", "    moons = 5\n    time  ").replace("moons =", "moons          = "), "qperf")

    assert log.unknown == [5]
    assert len(log.records) == 1


def test_counts_are_read_even_if_the_blank_after_the_digits_is_missing() -> None:
    band, latency = read(LOGS / "stripped-counts.log").records

    assert (band.numbers[0].value, band.numbers[1].value) == (8.03e9 * 8, 123e3)
    assert (latency.numbers[0].value, latency.numbers[1].value, latency.samples) == (33_900, 29.5e3, 147_697 + 147_698)


def test_count_at_the_end_of_a_line_is_unknown_if_it_has_no_thousands_separator() -> None:
    text = (LOGS / "stripped-counts.log").read_text(encoding="utf-8").replace("rem_recv_msgs   =  147,698", "rem_recv_msgs   =      147")

    latency = read_text(text, "qperf").records[-1]

    assert latency.numbers[0].value == 33_900
    assert latency.number("messages_received", "remote") is None


@pytest.mark.parametrize("other", ["    retries = 3", "\tcore = 2", "    log = open(name)", "make: warning"])
def test_assignment_line_of_another_program_is_unknown_and_affects_no_result(other: str) -> None:
    header, first, *others = (LOGS / "udp-bw-vv.log").read_text(encoding="utf-8").splitlines()

    log = read_text("\n".join((header, first, other, *others, "")), "qperf")

    assert (anywhere(log.records), log.broken, log.unknown) == (anywhere(read(LOGS / "udp-bw-vv.log").records), [], [3])


def test_rows_with_tabs_are_read() -> None:
    log = read(LOGS / "tabs.log")

    assert [(record.numbers[0].metric, record.numbers[0].value) for record in log.records] == [
        ("goodput", 116e6 * 8),
        ("latency", 402_000),
        ("offered_goodput", 118e6 * 8),
        ("latency", 131_000),
    ]
    assert (log.broken, log.unknown, log.account.status) == ([], [], None)
    assert log.account.facts.environment["loc_node"] == "host-2"


@pytest.mark.parametrize("name", ["multi-vv.log", "tcp-lat-v-100.log", "loop-of-calls.log", "udp-bw-vv.log"])
def test_single_tab_instead_of_blanks_changes_nothing(name: str) -> None:
    text = (LOGS / name).read_text(encoding="utf-8")

    assert read_text(re.sub(r" {2,}", "\t", text), "qperf").records == read(LOGS / name).records


@pytest.mark.parametrize(
    ("name", "transport", "definition"),
    [
        ("rc_bw", "RDMA RC", "qperf-bandwidth"),
        ("rc_bi_bw", "RDMA RC", "qperf-both-ways"),
        ("rc_rdma_read_bw", "RDMA RC read", "qperf-bandwidth"),
        ("rc_rdma_write_bw", "RDMA RC write", "qperf-bandwidth"),
        ("uc_bw", "RDMA UC", "qperf-bandwidth"),
        ("uc_rdma_write_bw", "RDMA UC write", "qperf-bandwidth"),
        ("rc_lat", "RDMA RC", "qperf-latency"),
        ("rc_rdma_read_lat", "RDMA RC read", "qperf-one-sided"),
        ("rc_rdma_write_lat", "RDMA RC write", "qperf-one-sided"),
        ("rc_rdma_write_poll_lat", "RDMA RC write, polled", "qperf-one-sided"),
        ("rc_compare_swap_mr", "RDMA RC compare and swap", "qperf-bandwidth"),
        ("rc_fetch_add_mr", "RDMA RC fetch and add", "qperf-bandwidth"),
        ("ver_rc_fetch_add", "RDMA RC fetch and add, verified", "qperf-bandwidth"),
    ],
)
def test_transport_includes_the_kind_of_rdma_operation(name: str, transport: str, definition: str) -> None:
    figure = {"lat": "latency  =  2 us", "bw": "bw  =  855 MB/sec"}.get(name.rpartition("_")[2], "msg_rate  =  2 M/sec")

    (record,) = read_text(f"{name}:\n    {figure}\n", "qperf").records

    assert (record.conditions.transport, record.conditions.definition) == (transport, definition)


def test_printed_parameters_such_as_the_socket_buffer_are_settings() -> None:
    band, latency = read(LOGS / "socket-buffer.log").records

    assert band.conditions.settings == latency.conditions.settings == '{"loc_affinity": "1", "sock_buf_size": "64 KiB (65,536)"}'
    assert {record.conditions.settings for record in read(LOGS / "multi-vv.log").records} == {None}


def test_blank_before_the_name_of_a_test_changes_nothing() -> None:
    log = read_text("[INFO] Execute command qperf 192.168.0.102 udp_lat succeed.\n udp_lat:\n    latency  =  5.39 ms\n")

    (latency,) = log.records
    assert (latency.numbers[0].value, latency.conditions.transport) == (5_390_000, "UDP")
    assert len(log.unknown) == 1


def test_run_is_failed_if_the_tool_rejects_the_name_of_a_test() -> None:
    log = read_text("tcp_lat:\n    latency  =  6.67 us\nxrc_bw: bad test; try: qperf --help tests\n")

    assert (log.account.facts.status, log.account.facts.reason) == ("failed", "xrc_bw: bad test; try: qperf --help tests")
    assert len(log.records) == 1
