"""zenoh's examples: round trips and rates. Expected values were copied by hand from the samples in ``zenoh/``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import Log, read, read_text
from tacholog.schema.records import Record

LOGS = Path(__file__).parent / "zenoh"


def values(record: Record) -> dict[str, float | None]:
    return {number.statistic: number.value for number in record.numbers}


def summaries(log: Log) -> list[Record]:
    return [record for record in log.records if record.scope == "summary"]


def test_round_trips_of_one_message_size_become_one_record() -> None:
    record = summaries(read(LOGS / "layout-ping.log"))[0]  # 39, 42, 45 and 1203 us.

    assert (record.payload_bytes, record.samples, record.conditions.basis) == (64, 4, "rtt")
    stated = values(record)
    assert [stated[name] for name in ("mean", "min", "p50", "max")] == [332_250, 39_000, 42_000, 1_203_000]
    assert {number.resolution for number in record.numbers} == {1000}


def test_next_message_size_starts_a_new_record() -> None:
    text = "8 bytes: seq=0 rtt=10us lat=5us\n8 bytes: seq=1 rtt=12us lat=6us\n64 bytes: seq=0 rtt=20us lat=10us\n"

    assert [(record.payload_bytes, record.samples) for record in summaries(read_text(text))] == [(8, 2), (64, 1)]


def test_summary_is_marked_as_partial_if_a_round_trip_is_missing() -> None:
    (record,) = summaries(read_text("8 bytes: seq=0 rtt=10us lat=5us\n8 bytes: seq=2 rtt=12us lat=6us\n"))

    assert all("partial" in number.marks for number in record.numbers)


def test_rate_over_all_rounds_is_the_harmonic_mean_of_the_rates_of_the_rounds() -> None:
    (summary,) = summaries(read_text("100 msg/s\n300 msg/s\n"))

    assert values(summary)["mean"] == 150  # 100 messages in 1 s, then 100 messages in a third of a second: 200 in 4/3 s.


def test_printed_total_is_the_only_summary() -> None:
    records = summaries(read(LOGS / "layout-sub-thr-ended.log"))

    assert [(number.metric, number.value) for record in records for number in record.numbers] == [
        ("message_rate", 111111.125),
        ("messages_received", 250000),
    ]
    assert records[0].payload_bytes is None


def test_records_of_round_trips_have_the_numbers_printed_in_the_log() -> None:
    log = read(LOGS / "1.10-ping.log")
    small, large = summaries(log)

    assert (log.broken, log.unknown) == ([], [])
    assert [(record.payload_bytes, record.samples) for record in (small, large)] == [(64, 10), (4096, 8)]
    assert [values(small)[name] for name in ("min", "mean", "max")] == [198_000, 219_600, 244_000]  # 206, 207, 217, 242, 211, 209, 198, 223, 239, 244
    assert [values(large)[name] for name in ("min", "p50", "max")] == [287_000, 684_000, 1_259_000]


def test_records_of_rounds_have_the_rates_printed_in_the_log() -> None:
    log = read(LOGS / "1.10-sub-thr.log")

    assert (log.broken, log.unknown) == ([], [])
    assert [round(values(record)["mean"] or 0, 3) for record in log.records if record.scope == "interval"] == [
        198185.336,
        18015.289,
        255812.868,
        154579.252,
    ]
    assert [round(values(record)["mean"] or 0) for record in summaries(log)] == [56392]


@pytest.mark.parametrize(
    "line",
    ["8 bytes: seq=0 rtt=43\u00b5s, lat=21\u00b5s", "8 bytes: seq=0 rtt=43\u03bcs lat=21.5\u03bcs"],
    ids=["zenoh-c", "Zenohex"],
)
def test_round_trip_of_an_example_in_another_language_is_read(line: str) -> None:
    assert [values(record)["mean"] for record in summaries(read_text(line + "\n"))] == [43_000]


@pytest.mark.parametrize(
    "line",
    [
        "Stats being dropped after unsubscribing: sent 250000 messages over 2.250000 seconds (111111.125000 msg/s)",
        "Stats after unsubscribing: received 250000 messages over 2250 miliseconds (111111.125 msg/s)",
        "Received 250000 messages in 2.25: averaged 111111.125000 msgs/sec",
    ],
    ids=["zenoh-c", "zenoh-pico", "zenoh-python"],
)
def test_total_of_an_example_in_another_language_is_the_only_summary(line: str) -> None:
    (summary,) = summaries(read_text(f"100000.5 msg/s\n{line}\n"))

    assert [(number.metric, number.value) for number in summary.numbers] == [("message_rate", 111111.125), ("messages_received", 250000)]


def test_summary_is_marked_as_partial_if_a_round_trip_timed_out() -> None:
    log = read_text("8 bytes: seq=0 rtt=10us lat=5us\nTIMEOUT seq=1\n")

    assert log.unknown == []
    assert all("partial" in number.marks for record in summaries(log) for number in record.numbers)


def test_records_of_zenoh_python_have_the_numbers_printed_in_the_log() -> None:
    ping, rounds = (read(LOGS / f"python-1.10-{name}.log") for name in ("ping", "sub-thr"))
    (round_trips,), (rate,) = summaries(ping), summaries(rounds)

    assert [(log.broken, log.unknown) for log in (ping, rounds)] == [([], [])] * 2
    assert (round_trips.samples, [values(round_trips)[name] for name in ("min", "mean", "max")]) == (8, [115_000, 168_125, 369_000])
    assert [(number.metric, number.value) for number in rate.numbers] == [("message_rate", 285753.261626), ("messages_received", 849582)]
