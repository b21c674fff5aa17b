"""The tests for formats state clearly what is wrong with a format."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.kit import States
from tacholog.formats.testing.claims import Allowances, ChangedLog, Distance, name_distance
from tacholog.formats.testing.properties import FormatUnderTest, check_states, faults_of_definitions, faults_of_states, results_of

HERE = Path(__file__).parent
LOG = HERE / "rti/cell-missing.txt"
SEED = 19  # With this seed, the reliability of one table moves to another table. The format cannot notice this, so it needs an allowance.


def test_failure_message_describes_the_fault_and_the_change_of_the_log() -> None:
    subject = FormatUnderTest("rti", [LOG.read_bytes()], [b"another log\n"], Allowances(), ())

    with pytest.raises(AssertionError) as failed:
        subject.check_moved("torn", SEED)

    first, nearest, difference, _, line, *_ = str(failed.value).splitlines()
    assert first == "a result of the format mixes values of different records of the sample (found 1 times):"
    assert nearest == "Compared with the nearest record of the sample:"
    assert difference == "  reliability: 'best-effort' here, 'reliable' there"
    assert line == "  29: b'32'"
    assert failed.value.__notes__[0].startswith(f"The change: lines torn, seed {SEED}\nThe log was:\n")


def test_failure_message_suggests_the_smallest_allowance_that_makes_the_test_pass() -> None:
    log, seed = (HERE / "ecal/latency-5.3.log").read_bytes(), 8  # With this seed, a block gets the times of the next block.

    def check(distance: Distance) -> None:
        FormatUnderTest("ecal", [log], [], Allowances(may_lack_size=True, moved=distance), ()).check_moved("torn", seed)

    with pytest.raises(AssertionError) as failed:
        check(Distance.NONE)

    words = "\nIf the change cannot be recognised in this log, use at least allow=Allowances(moved=Distance.SIZE).\nThe record: Record("
    assert words in str(failed.value)
    with pytest.raises(AssertionError):
        check(Distance.CONTEXT)
    check(Distance.SIZE)


def test_failure_message_states_that_no_allowance_would_be_enough() -> None:
    sample, other = ((HERE / f"qperf/{name}.log").read_bytes() for name in ("tcp-lat-plain", "tcp-lat-v-100"))
    subject = FormatUnderTest("qperf", [sample], [], Allowances(), ())
    changed = ChangedLog(other, subject.events(other), subject.true(sample))

    words = "This log passes with no Distance: the record states a value that no record of the sample states."
    assert name_distance(changed, "torn", Allowances()) == words


#: The results of the first log state no size and no duration; the results of the second log state both.
LATENCIES = [HERE / "qperf/tcp-lat-plain.log", HERE / "qperf/tcp-lat-v-100.log"]
ALWAYS, SOMETIMES = "basis definition load_mode transport", "payload_bytes planned_duration_s"


@pytest.mark.parametrize(
    ("logs", "declared", "faults"),
    [
        (LATENCIES, {"latency": States(ALWAYS, SOMETIMES)}, []),
        (
            LATENCIES[1:],
            {"latency": States(f"{ALWAYS} planned_duration_s", "payload_bytes")},
            ["latency: no sample lacks payload_bytes: add one that does, or declare it always"],
        ),
        (
            LATENCIES,
            {"latency": States(f"{ALWAYS} payload_bytes", "planned_duration_s")},
            ["latency: tcp-lat-plain.log:2 does not state payload_bytes: declare it sometimes"],
        ),
        (
            LATENCIES,
            {"latency": States("basis definition load_mode", "payload_bytes")},
            [
                "latency: some results state planned_duration_s: declare it sometimes",
                "latency: all results state transport: declare it always",
            ],
        ),
        (
            LATENCIES,
            {"latency": States(ALWAYS, f"{SOMETIMES} reach")},
            ["latency: no sample states reach: add one that does, or do not declare it"],
        ),
        (
            LATENCIES,
            {"latency": States(f"{ALWAYS} payload_bytes", SOMETIMES)},
            ["latency: payload_bytes is declared twice: declare it always or sometimes"],
        ),
        (
            LATENCIES,
            {"latency": States(ALWAYS, SOMETIMES), "demand": States()},
            ["no sample has a result of the test demand: add one, or leave demand out"],
        ),
        (LATENCIES, {}, [f'latency is not declared: add "latency": States(always="{ALWAYS}", sometimes="{SOMETIMES}")']),
    ],
)
def test_message_names_a_wrongly_declared_condition_and_gives_advice(logs: list[Path], declared: dict[str, States], faults: list[str]) -> None:
    assert faults_of_states(declared, results_of("qperf", logs)) == faults


def test_records_of_resources_need_no_declaration_of_their_conditions() -> None:
    results = results_of("resources", [HERE / "resources/sockperf.log"])

    assert [result.test for result in results] == [None, None]
    assert faults_of_states({}, results) == []


def test_definition_that_the_format_does_not_declare_is_reported_only_once() -> None:
    results = results_of("qperf", LATENCIES)

    assert faults_of_definitions({"qperf-latency"}, results) == []
    assert faults_of_definitions({"qperf-rate"}, results) == ["tcp-lat-plain.log:2: 'qperf-latency' is none of DEFINITIONS (qperf-rate)"]
    assert faults_of_definitions({"one"}, [results[0]._replace(definition=None)]) == [
        "tcp-lat-plain.log:2: no definition is stated: name one of DEFINITIONS (one)"
    ]


def test_failure_message_names_the_format_if_conditions_are_declared_wrongly() -> None:
    with pytest.raises(AssertionError) as failed:
        check_states("qperf", LATENCIES)

    first, second, *_ = str(failed.value).splitlines()
    assert first == "STATES of qperf does not match the results of its samples:"
    assert second == "  no sample has a result of the test throughput: add one, or leave throughput out"
