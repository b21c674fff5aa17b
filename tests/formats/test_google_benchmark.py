"""Google Benchmark and github-action-benchmark: the numbers that are results. Expected values were copied by hand from the samples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacholog.errors import UnreadableInput
from tacholog.formats.google_benchmark.names import payload_in
from tacholog.formats.reading import read, read_text
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Number, Record

HERE = Path(__file__).parent
GOOGLE, ACTION = HERE / "google_benchmark", HERE / "github_action_benchmark"
ITERATION = {"name": "BM_Send", "run_name": "BM_Send", "run_type": "iteration", "threads": 1, "iterations": 1000, "real_time": 5.5, "time_unit": "us"}


def report(*benchmarks: dict[str, object]) -> str:
    return json.dumps({"context": {"num_cpus": 2, "mhz_per_cpu": 2000}, "benchmarks": benchmarks}, indent=2)


def means(text: str) -> list[float | None]:
    return [number.value for record in read_text(text, "google_benchmark").records for number in record.numbers]


def test_each_repetition_becomes_a_record_with_a_mean() -> None:
    records = read(GOOGLE / "moveit-service-client.json").records

    assert records[0] == Record(
        test="latency",
        payload_bytes=None,
        numbers=(Number(metric="latency", statistic="mean", value=4548103310.0004425, line=37),),
        samples=1,
        conditions=Conditions(
            definition="google-benchmark-iteration",
            settings='{"benchmark": "ScenarioBasicServiceClientFixture/test_scenario_basic_service_client"}',
        ),
    )
    assert [record.numbers[0].value for record in records[1:]] == [4011311264.9996767, 4180386018.9993429]


def test_aggregates_are_not_read_if_the_report_has_their_repetitions() -> None:
    log = read(GOOGLE / "moveit-service-client.json")

    assert len(log.records) == 3  # The mean (4.19 s), the deviation (0.298 s) and 'cv' (printed as 0.0712 ns) are not read.
    assert (log.problems, log.account.lines["unknown"]) == ([], 0)


def test_mean_is_the_result_if_only_aggregates_were_printed() -> None:
    rows = [
        {**ITERATION, "name": f"BM_Send_{name}", "run_type": "aggregate", "aggregate_name": name, "iterations": 5, "real_time": time}
        for name, time in (("mean", 5.5), ("median", 5.4), ("stddev", 0.2), ("cv", 0.04))
    ]

    (record,) = read_text(report(*rows), "google_benchmark").records
    assert (record.numbers[0].value, record.samples) == (5500.0, None)


def test_aggregates_of_old_versions_are_recognised_by_the_end_of_their_names() -> None:
    old = {name: value for name, value in ITERATION.items() if name not in ("run_name", "run_type")}

    assert means(report(old, {**old, "name": "BM_Send_mean"}, {**old, "name": "BM_Send_cv", "real_time": 0.04})) == [5500.0]


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"error_occurred": True, "error_message": "no subscriber", "real_time": 0.0}, "the benchmark failed or was skipped: no subscriber"),
        ({"skipped": True, "skip_message": "too large", "real_time": 0.0}, "the benchmark failed or was skipped: too large"),
        ({"real_time": 0.0}, "a time of 0: the benchmark failed, or did nothing"),
        ({"iterations": 0}, "a time of 0: the benchmark failed, or did nothing"),
        ({"time_unit": "min"}, "real_time, time_unit or iterations of the benchmark is missing or unknown"),
    ],
)
def test_failed_benchmark_gives_a_problem_with_the_reason_and_no_record(members: dict[str, object], reason: str) -> None:
    log = read_text(report({**ITERATION, **members}, ITERATION), "google_benchmark")

    assert [problem.reason for problem in log.problems] == [reason]
    assert [record.numbers[0].value for record in log.records] == [5500.0]


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("BM_Send/size:64", 64),
        ("BM_Send/payload_bytes:4096/zero_copy:1/real_time", 4096),
        ("BM_Send/4096", None),  # The meaning of an argument without a name is unknown.
        ("BM_Send/threads:4", None),
        ("BM_Send/size:64/bytes:8", None),
        ("BM_Send/size:0", None),
        ("BM_Resize/resize:64", None),
    ],
)
def test_message_size_is_read_only_from_an_argument_with_a_name_such_as_size(name: str, size: int | None) -> None:
    assert payload_in(name) == size


@pytest.mark.parametrize(
    ("name", "bytes_per_second", "size", "settings"),
    [
        ("BM_Send/4096/real_time", 2.18896782105536e9, 4096, "BM_Send/real_time"),  # 534416.0 items a second.
        ("BM_Send/4096/8", 2.18896782105536e9, 4096, "BM_Send/8"),
        ("BM_Send/4096", 4.37793564211072e9, None, "BM_Send/4096"),  # The rates state 8192 bytes per item, so 4096 is not the size.
        ("BM_Send/4096/4096", 2.18896782105536e9, None, "BM_Send/4096/4096"),  # Either of the two equal arguments may be the size.
        ("BM_Send/size:64/4096", 2.18896782105536e9, 64, "BM_Send/4096"),  # The argument named size is the size, although the rates match 4096.
    ],
)
def test_argument_without_a_name_is_the_size_only_if_it_equals_the_bytes_per_item(
    name: str, bytes_per_second: float, size: int | None, settings: str
) -> None:
    row = {**ITERATION, "name": name, "run_name": name, "bytes_per_second": bytes_per_second, "items_per_second": 5.3441597193734372e5}

    (record,) = read_text(report(row), "google_benchmark").records
    assert (record.payload_bytes, record.conditions.settings) == (size, json.dumps({"benchmark": settings}))


def test_results_of_one_benchmark_with_different_message_sizes_have_the_same_settings() -> None:
    rows = [{**ITERATION, "name": name, "run_name": name} for name in ("BM_Send/size:64/real_time", "BM_Send/size:128/real_time")]

    records = read_text(report(*rows), "google_benchmark").records
    assert [record.payload_bytes for record in records] == [64, 128]
    assert {record.conditions.settings for record in records} == {'{"benchmark": "BM_Send/real_time"}'}


def test_version_machine_and_start_time_are_read_from_the_context_of_the_report() -> None:
    facts = read(GOOGLE / "layout-1.9.json").facts

    assert (facts.tool_version, facts.start_time) == ("1.9.1", "2026-01-31T12:00:00+00:00")
    assert facts.environment == {
        "host_cpus_online": "2",
        "load_start_load1": "0.5",
        "library_build_type": "release",
        "cpu_scaling_enabled": "false",
    }


def test_entry_of_github_action_benchmark_gives_records_of_repetitions_and_not_of_aggregates() -> None:
    log = read(ACTION / "moveit-entry.json")

    assert [record.numbers[0].value for record in log.records] == [263615048809.99997, 298353617507.99994, 175431627984.0]
    assert [record.samples for record in log.records] == [1, 1, 1]
    assert log.problems == []


def test_entry_of_github_action_benchmark_states_its_commit_and_its_start_time() -> None:
    facts = read(ACTION / "moveit-entry.json").facts

    assert (facts.build, facts.start_time) == ("2d4a2469515123655e673fda9a1c85e3eb7e88bb", "2024-08-22T16:32:36Z")


def test_value_of_a_go_benchmark_becomes_a_record_only_if_it_is_a_time() -> None:
    (record,) = read(ACTION / "layout-go.json").records

    assert (record.numbers[0].value, record.samples, record.payload_bytes) == (412.5, 2911232, 64)


def test_mean_of_catch2_is_read_in_its_printed_unit() -> None:
    (record,) = read(ACTION / "layout-catch2.json").records

    assert record.numbers == (Number(metric="latency", statistic="mean", value=43186.0, resolution=1.0, line=11),)


def test_mean_time_of_pytest_benchmark_is_read_from_the_text_next_to_the_rate() -> None:
    log = read(ACTION / "layout-pytest.json")

    assert [record.samples for record in log.records] == [510, 1751]
    assert [record.numbers[0].value for record in log.records] == pytest.approx([1049881.8196, 124433.506])
    assert log.problems == []
    assert log.records[0].numbers[0].line == 14


def test_value_of_unknown_meaning_is_not_read() -> None:
    log = read(ACTION / "layout-cargo.json")

    assert log.records == []
    assert [problem.reason for problem in log.problems] == ["not read: the values of 'cargo' are not known to be mean times"]


def test_history_file_is_refused_and_the_message_states_the_command_that_imports_this_file() -> None:
    text = f'window.BENCHMARK_DATA = {{"entries": {{"Suite": [{(ACTION / "moveit-entry.json").read_text()}]}}}}'

    with pytest.raises(UnreadableInput, match=r"'tacholog import data\.js --to DATA' makes a run of each entry"):
        read_text(text)


def test_plain_number_in_the_list_of_benchmarks_is_a_broken_result() -> None:
    text = report(ITERATION).replace('"benchmarks": [\n', '"benchmarks": [\n    1, 1,\n')

    log = read_text(text, "google_benchmark")
    assert [problem.reason for problem in log.problems] == ["a value instead of a result"]
    assert len(log.records) == 1


def test_benchmark_with_contradictory_members_is_broken() -> None:
    log = read_text(report({**ITERATION, "aggregate_unit": "percentage"}, {**ITERATION, "name": "BM_Receive"}), "google_benchmark")

    assert [problem.reason for problem in log.problems] == ["members of the benchmark contradict each other"] * 2
