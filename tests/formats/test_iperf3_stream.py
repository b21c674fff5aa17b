"""The JSON of iperf3 as a stream of events. The sample logs have results of version 3.12 in the format of version 3.17."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.anywhere import anywhere

from tacholog.formats.reading import Log, read, read_text

LOGS = Path(__file__).parent / "iperf3"
STREAM = (LOGS / "tcp-stream.json").read_text()


def sides(log: Log) -> list[tuple[str, str | None, float | None]]:
    """Return scope, side and rate of each record with a rate."""
    rates = [(record, next((n.value for n in record.numbers if n.metric in ("goodput", "offered_goodput")), None)) for record in log.records]
    return [(record.scope, record.side, rate) for record, rate in rates if rate]


def test_events_give_records_of_intervals_and_of_the_summary() -> None:
    log = read(LOGS / "tcp-stream.json")

    assert (log.format, log.broken, log.unknown, log.account.status) == ("iperf3", [], [], "ok")
    assert log.account.facts.tool_version == "3.17"
    assert [event.line for event in log.events if event.kind == "record"] == [2, 3, 4, 5, 5, 5]
    assert sides(log) == [
        ("interval", "publisher", 22138749327.464165),
        ("interval", "publisher", 18948663662.605316),
        ("interval", "publisher", 15580079505.132643),
        ("summary", "publisher", 18888858226.590515),
        ("summary", "subscriber", 18885712211.307755),
    ]
    assert {(record.payload_bytes, record.conditions.transport) for record in log.records} == {(131072, "TCP")}


@pytest.mark.parametrize("name", ["tcp", "udp-two-streams-reverse"])
def test_stream_of_events_gives_the_same_records_as_the_single_document(name: str) -> None:
    assert anywhere(read(LOGS / f"{name}-stream.json").records) == anywhere(read(LOGS / f"{name}.json").records)


def test_stream_without_its_end_is_truncated_and_keeps_its_intervals() -> None:
    log = read_text(STREAM[: STREAM.index('{"event":"end"')])

    assert [record.scope for record in log.records] == ["interval"] * 3
    assert (log.account.status, log.account.reason) == ("truncated", "the events stop before 'end'")


def test_error_event_makes_the_run_failed() -> None:
    account = read_text('{"event":"error","data":"unable to connect to server: Connection refused"}\n').account

    assert (account.status, account.reason) == ("failed", "unable to connect to server: Connection refused")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (',"omitted":false,"sender":true}}}\n', ',"omitted":false,"sender":true}}\n', "an event that is cut short or garbled"),
        ('{"event":"interval","data":', '{"event":"interval","data":1,"data":', "an event that is cut short or garbled"),
        ('"sum":{"start":0,', '"sum":{"srart":0,', "members of this result are missing, out of place, or contradict each other"),
    ],
)
def test_garbled_event_is_broken_and_affects_no_other_event(old: str, new: str, reason: str) -> None:
    assert old in STREAM

    log = read_text(STREAM.replace(old, new, 1))

    assert log.broken == [f"text:2: {reason}"]
    assert [event.line for event in log.events if event.kind == "record"] == [3, 4, 5, 5, 5]


def test_event_without_a_line_end_is_broken_because_it_may_be_truncated() -> None:
    assert read_text(STREAM.removesuffix("\n")).broken == ["text:5: the log ends within this event, or the line is too long"]
