"""perftest of linux-rdma: tables and JSON. Expected values were copied by hand from the files in ``rdma_perftest/`` (see its README)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tacholog.formats.reading import Log, read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "rdma_perftest"


def test_latency_of_a_write_is_half_a_round_trip() -> None:
    (record,) = read(LOGS / "write-lat.log").records

    assert {number.statistic: (number.value, number.resolution) for number in record.numbers} == {
        "min": (1420, 10),
        "max": (1930, 10),
        "p50": (1470, 10),  # t_typical
        "mean": (1470, 10),
        "p99": (1570, 10),
        "p99.9": (1930, 10),
    }
    assert (record.payload_bytes, record.samples, record.side) == (2, 1000, "publisher")
    assert (record.conditions.transport, record.conditions.basis, record.conditions.load_mode) == ("RDMA RC write", "rtt/2", "closed")
    assert record.conditions.definition == "rdma-half-round-trip"


@pytest.mark.parametrize(("sample", "basis"), [("read-lat.log", "rtt"), ("send-lat-server.log", "rtt/2"), ("table-only.log", None)])
def test_basis_of_a_latency_is_read_from_the_banner_and_is_unknown_without_a_banner(sample: str, basis: str | None) -> None:
    assert read(LOGS / sample).records[-1].conditions.basis == basis


def test_maximum_and_mean_are_marked_because_the_tool_drops_the_longest_sample() -> None:
    (record,) = read(LOGS / "read-lat.log").records

    assert [number.statistic for number in record.numbers if number.marks == ("drops_samples",)] == ["max", "mean"]
    assert record.number("latency", "std") is None


def test_run_of_a_given_duration_has_only_the_mean_latency() -> None:
    (record,) = read(LOGS / "read-lat-duration.log").records

    assert [(number.statistic, number.value, number.marks) for number in record.numbers] == [("mean", 2420, ())]


def test_megabyte_is_2_to_the_power_of_20_bytes_and_a_gigabit_is_10_to_the_power_of_9_bits() -> None:
    megabytes, gigabits = (read(LOGS / name).records[-1] for name in ("write-bw-all.log", "write-bw-gbits.log"))

    assert [(number.metric, number.statistic, number.value) for number in megabytes.numbers] == [
        ("goodput", "mean", round(3639.12 * 2**20 * 8, 3)),
        ("goodput", "max", round(3639.55 * 2**20 * 8, 3)),
        ("message_rate", "mean", 465807),
    ]
    assert [(number.metric, number.statistic, number.value) for number in gigabits.numbers] == [
        ("goodput", "mean", 111.71e9),
        ("goodput", "max", 111.72e9),
        ("message_rate", "mean", 213070),
    ]


def test_unreliable_connection_gives_only_offered_rates() -> None:
    (record,) = read(LOGS / "send-bw-ud.log").records

    assert [(number.metric, number.statistic) for number in record.numbers] == [("offered_goodput", "mean"), ("offered_rate", "mean")]
    assert record.conditions.transport == "RDMA UD"


def test_sum_of_both_directions_has_a_separate_definition() -> None:
    assert read(LOGS / "write-bw-both-ways.log").records[0].conditions.definition == "rdma-both-ways"


def test_table_without_a_banner_does_not_state_whether_the_bytes_arrived() -> None:
    throughput = read(LOGS / "table-only.log").records[0]

    assert throughput == Record(
        test="throughput",
        payload_bytes=65536,
        numbers=(
            Number(
                metric="transfer_rate",
                statistic="mean",
                value=round(203.13 * 2**20 * 8, 3),
                resolution=0.01 * 2**20 * 8,
                value_start=43,
                value_end=49,
            ),
        ),
        samples=100000,
        conditions=Conditions(load_mode="max-rate", definition="rdma-any-bandwidth"),
    )


def test_unit_of_a_rate_in_json_is_derived_from_message_size_and_message_rate(changed: Callable[[str, str, str], Log]) -> None:
    (megabytes,) = read(LOGS / "write-bw.json").records
    (gigabits,) = changed("rdma_perftest/write-bw.json", "2229.27", "18.70").records  # The tool prints this rate with the option --report_gbits.

    assert (megabytes.numbers[0].value, megabytes.numbers[0].line) == (round(2229.27 * 2**20 * 8, 3), 26)
    assert gigabits.numbers[0].value == 18.70e9
    assert megabytes.conditions.transport == "RDMA RC write"


def test_json_of_a_latency_has_the_same_numbers_as_the_table() -> None:
    text = (
        '{\n"test_info": {\n"test": "RDMA_Read_Latency_Test",\n"Connection_type": "RC",\n"TX_depth": 1\n},\n"results": {\n"MsgSize": 2,\n'
        '"n_iterations": 1000,\n"t_min": 3.30,\n"t_max": 15.56,\n"t_typical": 3.40,\n"t_avg": 3.45,\n"t_stdev": 0.50,\n"percentile_99": 3.80,\n'
        '"percentile_99.9": 15.56\n}\n}\n'
    )
    (record,) = read_text(text).records
    (of_table,) = read(LOGS / "read-lat.log").records

    assert {number.statistic: number.value for number in record.numbers} == {number.statistic: number.value for number in of_table.numbers}
    assert (record.conditions.basis, record.conditions.definition) == ("rtt", "rdma-one-sided")


def test_two_numbers_without_a_blank_between_them_are_separated_after_two_decimals(changed: Callable[[str, str, str], Log]) -> None:
    log = changed("rdma_perftest/write-bw-all.log", "3639.55            3639.12            0.465807", "3639.553639.12  0.465807")

    assert log.records[-1].numbers[0].value == round(3639.12 * 2**20 * 8, 3)


@pytest.mark.parametrize(
    ("sample", "old", "new", "reason"),
    [
        ("write-lat.log", "1.42 ", "1.92 ", "latencies that do not ascend, or a size of 0"),
        (
            "write-lat.log",
            "1.42           1.93         1.47                1.47             0.00            1.57                    1.93",
            "3810.00 14672.00 3856.50 3900.45 512.09 4011.00 14672.00",
            "only whole or half numbers: they may be cycles (-C), and the length of a cycle is not printed",
        ),
        ("write-bw-gbits.log", "0.213070", "0.313070", "the bandwidth is not the message rate times the size"),
        ("write-bw-gbits.log", "111.71 ", "11171 ", "the row is garbled, or of another table"),
    ],
)
def test_impossible_row_is_broken(changed: Callable[[str, str, str], Log], sample: str, old: str, new: str, reason: str) -> None:
    log = changed(f"rdma_perftest/{sample}", old, new)

    assert ([problem.reason for problem in log.problems], log.records) == ([reason], [])


def test_operation_is_unknown_if_the_banner_of_a_second_test_lacks_its_title() -> None:
    first, second = ((LOGS / name).read_text(encoding="utf-8") for name in ("write-lat.log", "read-lat.log"))
    log = read_text(first + second.replace("                    RDMA_Read Latency Test\n", ""))

    assert [(record.conditions.transport, record.conditions.basis) for record in log.records] == [("RDMA RC write", "rtt/2"), (None, None)]
