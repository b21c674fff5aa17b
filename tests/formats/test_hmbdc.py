"""hmbdc: the output of a pinger, a ponger and the performance sample.

Expected values were copied by hand from the logs in ``hmbdc/`` (see its README).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "hmbdc"
PINGS = "Ping0cpy : msgSize=100 msgPerSec=500\n"
RESULT = "round trip time (sec):(1996/1988):mean=0.000584529 std_dev=0.00142221 min=0.000000948 max=0.008027795 sampleSize=1996\n"


def latency(statistic: str, value: float | None, resolution: float | None = 1.0, line: int | None = None) -> Number:
    return Number(metric="latency", statistic=statistic, value=value, resolution=resolution, line=line)


def test_result_of_a_pinger_is_a_round_trip_with_the_conditions_of_the_line_before() -> None:
    log = read(LOGS / "17-6-ipc-0cpy-ping.log")

    assert log.records[2] == Record(
        test="latency",
        payload_bytes=100,
        numbers=(
            latency("mean", 584529, line=17),
            latency("std", 1422210, 10, line=17),
            latency("min", 948, line=17),
            latency("max", 8027795, line=17),
            Number(metric="messages_received", statistic="total", value=1996, line=17),
            Number(metric="messages_sent", statistic="total", value=1988, line=17),
        ),
        samples=1996,
        side="publisher",
        conditions=Conditions(data_path="zero-copy", offered_rate_per_s=500, load_mode="open", basis="rtt", definition="hmbdc-rtt"),
    )
    assert [record.payload_bytes for record in log.records] == [16, 64, 100, 1000, 10000, 100000]
    assert [record.conditions.data_path for record in log.records] == ["copy", "copy", "zero-copy", "zero-copy", "zero-copy", "zero-copy"]
    assert log.unknown == [1, 6, 7, 12, 13, 18, 19, 24, 25, 30, 31, 36]


def test_record_states_both_lines_from_which_the_record_was_read() -> None:
    event = next(event for event in read(LOGS / "17-6-ipc-0cpy-ping.log").events if isinstance(event.what, Record))

    assert list(event.lines) == [4, 5]


def test_message_sent_without_zero_copy_has_the_data_path_copy() -> None:
    record = read(LOGS / "17-6-rmcast-loopback-ping.log").records[0]

    assert (record.payload_bytes, record.samples, record.conditions.data_path) == (1000, 789, "copy")
    assert record.number("latency", "mean") == latency("mean", 66797681, line=5)
    assert record.number("latency", "std") == latency("std", 99634600, 100, line=5)


def test_result_of_a_ponger_is_a_one_way_latency_without_a_size() -> None:
    record = read(LOGS / "17-6-ipc-0cpy-pong.log").records[0]

    assert (record.payload_bytes, record.samples, record.side, record.conditions.basis) == (None, 11890, "subscriber", "one-way")
    assert [number.value for number in record.numbers] == [40380369, 185378000, 290, 1368964495]


def test_ponger_in_the_process_of_the_pinger_has_separate_records() -> None:
    log = read(LOGS / "17-6-interthread-both.log")

    assert [(record.conditions.basis, record.payload_bytes) for record in log.records[:4]] == [
        ("one-way", None),
        ("rtt", 16),
        ("one-way", None),
        ("rtt", 100),
    ]
    assert len(log.records) == 10


def test_message_size_without_any_answer_gives_a_record_with_zero_samples_and_no_latency() -> None:
    log = read(LOGS / "15-29-ipc-regular-ping.log")

    assert log.records[5].numbers == (
        Number(metric="messages_received", statistic="total", value=0, line=35),
        Number(metric="messages_sent", statistic="total", value=0, line=35),
    )
    assert (log.records[5].payload_bytes, log.records[5].samples) == (1000000, 0)
    assert log.account.status is None
    assert log.broken == []


def test_run_in_which_no_ping_was_answered_is_failed() -> None:
    log = read(LOGS / "17-6-nothing-back-ping.log")

    assert (log.account.status, log.account.reason) == ("failed", "no ping was answered")
    assert log.unknown == []


def test_record_lacks_only_overwritten_values_if_two_threads_interleave_their_output() -> None:
    log = read(LOGS / "interleaved.log")

    assert [(record.payload_bytes, record.samples) for record in log.records] == [(None, 299), (16, 299), (None, 299)]
    assert log.records[2].conditions == Conditions(load_mode="open", basis="rtt", definition="hmbdc-rtt")
    assert (log.broken, log.unknown) == ([], [])
    assert (log.account.status, log.account.reason) == ("failed", "what():  file not expected size")


def test_latency_below_zero_is_impossible_and_unknown() -> None:
    one_way, rtt, _ = read(LOGS / "interleaved.log").records

    below_zero = Number(metric="latency", statistic="min", value=None, resolution=1, marks=("impossible",), line=7)
    assert one_way.number("latency", "min") == below_zero
    assert one_way.number("latency", "std") == latency("std", 5919.66, 0.01, line=7)
    assert one_way.number("latency", "max") == latency("max", 8402, line=7)
    assert rtt.number("latency", "std") == Number(metric="latency", statistic="std", value=None, marks=("impossible",), line=11)


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        (RESULT, ["1: the first line of this result is missing"]),
        (
            PINGS + "\n" + RESULT,
            ["1: the result after this line is missing", "3: the first line of this result is missing"],
        ),
        (PINGS + RESULT.rstrip("\n"), ["1: a round trip that is cut short or garbled"]),
        (PINGS + RESULT.replace("=1996", "=199"), ["1: the result contradicts itself"]),
        (PINGS + RESULT.replace("max=0.008", "max=0.0"), ["1: a round trip that is cut short or garbled"]),
        (PINGS + RESULT.replace("max=0.008", "max=0.000"), ["1: the result contradicts itself"]),
        (PINGS + RESULT.replace("mean=0.0", "mean=0.9"), ["1: the result contradicts itself"]),
        (PINGS + RESULT.replace("=0.00142221", "=1.42221"), ["1: the result contradicts itself"]),
        (PINGS.replace("=100 ", "=0 ") + RESULT, ["1: an impossible message size or rate"]),
        (
            PINGS + RESULT + RESULT,
            ["1: two results follow the first line of one result", "3: the first line of this result is missing"],
        ),
        (
            PINGS + PINGS + RESULT,
            [
                "1: the result after this line is missing",
                "2: two lines before this result need a result: it is unknown which of them this result belongs to",
            ],
        ),
    ],
)
def test_result_is_broken_if_it_is_damaged_or_contradictory_or_has_no_line_with_conditions(text: str, reasons: list[str]) -> None:
    log = read_text(text, "hmbdc")

    assert log.broken == [f"text:{reason}" for reason in reasons]
    assert log.records == []


def test_each_row_of_the_performance_sample_becomes_a_record_with_lower_and_upper_limits() -> None:
    log = read(LOGS / "perf-sample-14-2.txt")

    assert [
        (event.line, r.conditions.transport, r.payload_bytes, r.payload_bytes_high, [(n.bound, n.value) for n in r.numbers])
        for event in log.events
        if isinstance(r := event.what, Record)
    ] == [
        (8, "TCP (qperf), loopback", 100, 10_000_000, [("range-low", 5e3), ("range-high", 2e6)]),
        (9, "TCP (qperf), network", 100, 10_000_000, [("range-low", 60e3), ("range-high", 90e6)]),
        (13, "inter-thread", None, None, [("~", 2e3)]),
        (18, "inter-process (IPC)", 100, 10_000_000, [("<", 1e3)]),
        (19, "inter-process (IPC)", 100, 10_000_000, [("range-low", 1e3), ("range-high", 4e6)]),
        (25, "tcpcast", 100, 10_000_000, [("range-low", 60e3), ("range-high", 80e6)]),
        (30, "rmcast", 100, 10_000_000, [("range-low", 60e3), ("range-high", 80e6)]),
        (36, "rnetmap", None, None, []),
    ]
    assert log.broken == []
    assert log.unknown == []


def test_size_of_zero_bytes_is_broken() -> None:
    log = read_text((LOGS / "perf-sample-14-2.txt").read_text().replace("(100B-10MB)", "(0B-10MB)", 1), "hmbdc")

    assert log.broken == ["text:8: a result that is cut short or garbled"]
    assert len(log.records) == 7


def test_records_of_the_performance_sample_state_the_data_path_the_reliability_and_the_basis() -> None:
    records = read(LOGS / "perf-sample-14-2.txt").records

    assert [record.conditions.data_path for record in records] == [None, None, "pointer", "zero-copy", "copy", None, None, None]
    assert [record.conditions.reliability for record in records] == [None, None, *["reliable"] * 6]
    assert [record.conditions.basis for record in records] == ["rtt/2", "rtt/2", *["one-way"] * 6]
    assert {record.conditions.definition for record in records[:2]} == {"hmbdc-sample-reference"}


def test_lower_and_upper_end_of_a_printed_latency_range_become_two_numbers() -> None:
    first = read(LOGS / "perf-sample-14-2.txt").records[0]

    assert first.numbers == (
        Number(metric="latency", statistic="range-low", value=5000, resolution=1000, bound="range-low"),
        Number(metric="latency", statistic="range-high", value=2_000_000, resolution=1_000_000, bound="range-high"),
    )


def test_environment_has_the_commands_machines_and_notes_of_the_performance_sample() -> None:
    """Each key of the environment contains the number of a row, the letter of a machine, or the name of a transport."""
    facts = read(LOGS / "perf-sample-15.17-1.txt").account.facts

    assert facts.system_version == "12-41"
    assert facts.environment["machine [b]"] == "Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz, Ubuntu 18.04"
    assert facts.environment["command 0.1 [a] 1 argv"] == '["qperf"]'
    assert facts.environment["command 0.1 [a] 2 argv"] == '["qperf","-v","-m","{payload_bytes}","127.0.0.1","tcp_lat"]'
    assert facts.environment["command 3.1 [b] 1 argv"] == '["./tips-ping-pong","-r","pong","--cpuIndex","4","-I","192.168.2.0/24"]'
    assert json.loads(facts.environment["command 3.1 [a] 1 argv"])[3:9] == [
        "--cpuIndex",
        "2",
        "--msgPerSec",
        "{messages_per_s}",
        "--netprot",
        "tcpcast",
    ]
    assert json.loads(facts.environment["command 3.1 [a] 1 each"])[-2:] == [
        {"payload_bytes": 1_000_000, "messages_per_s": 50},
        {"payload_bytes": 10_000_000, "messages_per_s": 10},
    ]
    assert facts.environment["notes tcpcast"] == (
        "as reliable/scalable as TCP, slow receivers can be purged if configured at sender (see waitForSlowReceivers)"
    )


def test_command_of_a_row_is_stored_unchanged_even_if_it_contradicts_the_row() -> None:
    facts = read(LOGS / "perf-sample-14-2.txt").account.facts

    assert (
        json.loads(facts.environment["command 0.1 [a] 1 argv"])[-4:] == ["nonet", "--msgSize={payload_bytes}", "--runTime", "30", "--use0cpy=0"][-4:]
    )


@pytest.mark.parametrize(
    "command", ["qperf; rm -rf /", "qperf $(id)", "for s in 1 2; do qperf -m ${a[7]}; done", "qperf 'open", "for s in x; do qperf -m $s; done"]
)
def test_command_with_unknown_shell_syntax_is_stored_as_text(command: str, tmp_path: Path) -> None:
    path = tmp_path / "sample.txt"
    path.write_text((LOGS / "perf-sample-14-2.txt").read_text().replace("[b] qperf", f"[b] {command}"))

    environment = read(path).account.facts.environment

    assert environment["command 0.2 [b] 1 text"] == command
    assert "command 0.2 [b] 1 argv" not in environment


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("4.1) 60us", "3.1) 60us", "30: a result that is garbled or has another transport's number"),
        ("60us - 80ms for messages (100B-10MB)\nmulticast", "60us - 80ms for\nmulticast", "30: a result that is cut short or garbled"),
        (
            "60us - 80ms for messages (100B-10MB)\nmulticast",
            "60ms - 80us for messages (100B-10MB)\nmulticast",
            "30: a range that ends below its start",
        ),
        ("UDP multicast,    \n(rmcast)", "UDP multicast, yes\n(rmcast)", "30: a result next to an unknown transport, or in the wrong column"),
        ("(rmcast)  ", "(rmcas)   ", "30: a result next to an unknown transport, or in the wrong column"),
        ("reliable UDP    ", "reliable UDP", "30: a result next to an unknown transport, or in the wrong column"),
    ],
)
def test_damaged_row_of_the_performance_sample_is_broken(old: str, new: str, reason: str) -> None:
    text = (LOGS / "perf-sample-14-2.txt").read_text()

    log = read_text(text.replace(old, new, 1), "hmbdc")

    assert log.broken == [f"text:{reason}"]
    assert len(log.records) == 7


def test_performance_sample_that_ends_within_a_block_gives_no_record_for_this_block() -> None:
    lines = (LOGS / "perf-sample-14-2.txt").read_text().splitlines(keepends=True)

    log = read_text("".join(lines[:31]), "hmbdc")

    assert log.broken == ["text:30: the table ends within this transport"]


def test_words_hundreds_of_nano_seconds_are_read_as_the_range_from_100_to_1000_nanoseconds() -> None:
    text = (LOGS / "perf-sample-14-2.txt").read_text().replace("~2us (shared poniter passing)", "hundreds of nano seconds")

    assert [(n.value, n.resolution, n.bound) for n in read_text(text, "hmbdc").records[2].numbers] == [
        (100, 100, "range-low"),
        (1000, 100, "range-high"),
    ]


def test_performance_sample_with_an_older_title_is_read_and_its_latencies_are_not_one_way() -> None:
    log = read(LOGS / "perf-sample-12-41.txt")

    assert [
        (event.line, r.conditions.transport, r.payload_bytes, r.payload_bytes_high, [(n.bound, n.value) for n in r.numbers])
        for event in log.events
        if isinstance(r := event.what, Record)
    ] == [
        (8, "TCP (qperf), loopback", 100, 10_000_000, [("range-low", 5e3), ("range-high", 2e6)]),
        (9, "TCP (qperf), network", 100, 10_000_000, [("range-low", 60e3), ("range-high", 90e6)]),
        (12, "inter-thread", None, None, [("~", 2e3)]),
        (19, "inter-process (IPC)", None, None, [("range-low", 100), ("range-high", 1000)]),
        (20, "inter-process (IPC)", 100, 10_000_000, [("range-low", 1e3), ("range-high", 4e6)]),
        (27, "tcpcast", 100, 10_000_000, [("range-low", 60e3), ("range-high", 80e6)]),
        (32, "rmcast", 100, 10_000_000, [("range-low", 60e3), ("range-high", 80e6)]),
        (38, "rnetmap", None, None, []),
    ]
    # The header of this version states "latency performance", the headers of later versions state "1-way latency".
    assert [record.conditions.basis for record in log.records] == ["rtt/2", "rtt/2", *[None] * 6]
    assert {record.conditions.definition for record in log.records[2:]} == {"hmbdc-sample-12-41"}
    assert [record.conditions.data_path for record in log.records] == [None, None, "pointer", "zero-copy", "copy", None, None, None]
    assert log.account.facts.system_version == "12-41"
    assert log.account.facts.environment["machine of all"] == "CentOs 7"
    assert (log.broken, log.unknown) == ([], [])


def test_footnote_is_kept_and_its_asterisk_is_not_part_of_the_version() -> None:
    log = read(LOGS / "perf-sample-12-41-noted.txt")

    assert log.records == read(LOGS / "perf-sample-14-2.txt").records
    assert log.account.facts.system_version == "12-41"
    assert log.account.facts.environment["note *"] == "For ver 15-17 or later, please add the following param: --additional outBufferSizePower2=18"
    assert (log.broken, log.unknown) == ([], [])
