"""Logs of resources. Each process gives one record, with the resources that the kernel counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.kit import Broken, Line, Record
from tacholog.formats.reading import read
from tacholog.formats.resources import parse

LOGS = Path(__file__).parent / "resources"
USED = "used process=a test=latency user_ns=5000 peak_memory_bytes=9000 ."


def test_each_process_becomes_a_record_of_resources() -> None:
    records = list(read(LOGS / "perftest.log").records)

    assert [(record.scope, record.participant, record.side, record.test, record.payload_bytes) for record in records] == [
        ("resources", "sub", "subscriber", "latency", None),
        ("resources", "pub", "publisher", "latency", None),
    ]
    assert {number.key: (number.value, number.bound, number.resolution) for number in records[0].numbers} == {
        "duration_ns": (1202587697.0, "=", None),
        "cpu_time_user_ns": (58209000.0, "=", 1000.0),
        "cpu_time_system_ns": (242525000.0, "=", 1000.0),
        "context_switches_voluntary_switches": (25.0, "=", None),
        "context_switches_involuntary_switches": (1608.0, "=", None),
        "peak_memory_max_bytes": (6402048.0, "<", None),
    }


def test_resources_that_a_remote_shell_measured_are_lower_bounds_or_have_a_coarse_resolution() -> None:
    records = list(read(LOGS / "over-ssh.log").records)

    assert [(record.participant, record.conditions.definition) for record in records] == [
        ("publisher", "process-resources-by-shell"),
        ("subscriber", "process-resources-by-shell"),
    ]
    assert {number.key: (number.value, number.bound, number.resolution) for number in records[0].numbers} == {
        "duration_ns": (3113983825.0, "=", None),
        "cpu_time_user_ns": (150000000.0, "=", 10000000.0),
        "cpu_time_system_ns": (540000000.0, "=", 10000000.0),
        "context_switches_voluntary_switches": (178.0, ">", None),
        "context_switches_involuntary_switches": (307.0, ">", None),
        "peak_memory_max_bytes": (6529024.0, ">", None),
    }


def test_processor_time_printed_as_zero_is_read_as_less_than_one_microsecond() -> None:
    finding = next(iter(parse([Line(1, USED.replace("5000", "0"))])))

    assert isinstance(finding.what, Record)
    assert (finding.what.numbers[0].value, finding.what.numbers[0].bound) == (1000.0, "<")


def test_resource_log_of_a_run_without_results_is_valid_and_gives_no_records() -> None:
    log = read(LOGS / "without-results.log")

    assert (list(log.records), list(log.broken)) == ([], [])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (USED.removesuffix(" ."), "the line of a process is cut short or garbled"),
        (USED.replace("user_ns=5000", "user_ns=-1"), "user_ns=-1 is no number"),
        (USED.replace("user_ns", "new_ns"), "a process with new_ns, which this version does not know"),
        (USED.replace("process=a ", ""), "the line of a process does not name the process"),
        (USED.replace("latency", "speed"), "the line of a process names a test or a side that this version does not know"),
        (USED.replace("process=a", "process=a payload_bytes=0"), "a message size of 0"),
    ],
)
def test_incomplete_or_unknown_line_is_broken(line: str, reason: str) -> None:
    assert next(iter(parse([Line(1, line)]))).what == Broken(reason)
