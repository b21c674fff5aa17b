"""The performance tests of ZeroMQ: blocks of three to five lines. Expected values were copied by hand from the texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "zeromq"
LATENCY = "message size: 1 [B]\nroundtrip count: 10000\naverage latency: 26.123 [us]\n"
THROUGHPUT = "message size: 64 [B]\nmessage count: 1000000\nmean throughput: 2871352 [msg/s]\nmean throughput: 1470.132 [Mb/s]\n"


def test_latency_block_gives_the_mean_half_round_trip() -> None:
    assert read_text(LATENCY).records == [
        Record(
            test="latency",
            payload_bytes=1,
            numbers=(Number(metric="latency", statistic="mean", value=26123, resolution=1, line=3),),
            samples=10000,
            side="publisher",
            conditions=Conditions(basis="rtt/2", load_mode="closed", definition="zeromq-latency"),
        )
    ]


def test_throughput_block_gives_the_rate_of_the_receiver() -> None:
    (record,) = read_text(THROUGHPUT).records

    assert (record.payload_bytes, record.side, record.conditions.load_mode) == (64, "subscriber", "max-rate")
    assert [(number.metric, number.value) for number in record.numbers] == [
        ("message_rate", 2871352),
        ("goodput", 1470.132e6),  # 10^6 bits.
        ("messages_received", 1000000),
    ]


def test_each_of_several_blocks_becomes_a_separate_record() -> None:
    assert [record.test for record in read_text(LATENCY + THROUGHPUT + LATENCY).records] == ["latency", "throughput", "latency"]


def test_block_is_read_even_if_it_states_the_elapsed_time_before_its_results() -> None:
    (record,) = read(LOGS / "layout-elapsed-thr.log").records

    assert record.number("message_rate", "mean") == Number(metric="message_rate", statistic="mean", value=400000, resolution=1, line=4)


def test_rates_that_contradict_each_other_are_broken() -> None:
    log = read_text(THROUGHPUT.replace("1470.132", "12.345"))  # The tool prints such a rate if a 32-bit integer overflows.

    assert [problem.reason for problem in log.problems] == ["the rates in msg/s and in Mb/s contradict each other"]


@pytest.mark.parametrize("missing", range(1, 4))
def test_block_with_a_missing_line_is_broken(missing: int) -> None:
    lines = THROUGHPUT.splitlines(keepends=True)

    log = read_text("".join(line for number, line in enumerate(lines) if number != missing) + LATENCY, "zeromq")
    assert [record.test for record in log.records] == ["latency"]
    assert log.problems


def test_system_is_unknown_because_the_log_does_not_name_the_library() -> None:
    assert read_text(LATENCY).facts.system is None


def test_megabit_of_nng_is_2_to_the_power_of_20_bits() -> None:
    (record,) = read(LOGS / "nng-2.0-local-thr.log").records
    bits, rate = record.number("goodput", "mean"), record.number("message_rate", "mean")

    assert bits == Number(metric="goodput", statistic="mean", value=round(2100.134 * 2**20, 3), resolution=1048.576, line=5)
    assert rate == Number(metric="message_rate", statistic="mean", value=268817, resolution=1, line=4)


def test_resolution_of_an_nng_mean_is_one_millisecond_divided_by_the_number_of_half_round_trips() -> None:
    (record,) = read(LOGS / "nng-2.0-remote-lat.log").records

    assert record.numbers == (
        Number(metric="latency", statistic="mean", value=56400, resolution=100, line=4),
    )  # The resolution is 1 ms divided by 10000 half round trips.


def test_records_have_the_numbers_printed_in_the_logs() -> None:
    latencies = [(record.payload_bytes, record.numbers[0].value) for record in read(LOGS / "libzmq-4.3.4-remote-lat.log").records]

    assert latencies == [(64, 31555), (4096, 60629)]
    assert [record.test for record in read(LOGS / "libzmq-4.3.4-inproc.log").records] == ["latency", "throughput"]


def test_latency_is_read_if_its_unit_is_written_with_the_greek_letter_mu() -> None:
    # This text is from the README of CZTop's performance tests.
    text = "message size: 1000 [B]\nroundtrip count: 10000\nelapsed time: 0.805 [s]\naverage latency: 40.254 [\u03bcs]\n"

    assert [number.value for record in read_text(text).records for number in record.numbers] == [40254]


def test_megabit_is_10_to_the_power_of_6_bits_if_the_two_printed_rates_show_this() -> None:
    # This text is from the README of a port of nng's tests.
    text = "message size: 1000 [B]\nmessage count: 10000000\nthroughput: 911578 [msg/s]\nthroughput: 7292.624 [Mb/s]\n"
    (record,) = read_text(text).records
    goodput = record.number("goodput", "mean")

    assert goodput
    assert goodput.value == 7292.624e6


def test_indented_blocks_with_blank_lines_between_the_blocks_are_read() -> None:
    log = read_text("\t" + LATENCY.replace("\n", "\n\t").rstrip("\t") + "\n\t" + LATENCY.replace("\n", "\n\t").rstrip("\t"))

    assert [number.value for record in log.records for number in record.numbers] == [26123, 26123]
    assert log.unknown == []
