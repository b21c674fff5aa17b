"""performance_test: what its tables say. Expected values are typed from the logs in ``performance_test/`` (see its README)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.reading import Log, read, read_text
from tacholog.records import Number, Record

LOGS = Path(__file__).parent / "performance_test"
JSON = (LOGS / "layout.json").read_text(encoding="utf-8")
SUBSCRIBER = (LOGS / "layout-subscriber-only.log").read_text(encoding="utf-8")


def rows(log: Log, test: str, scope: str = "interval") -> list[Record]:
    """The records of one kind."""
    return [record for record in log.records if (record.test, record.scope) == (test, scope)]


def values(record: Record) -> dict[str, float | None]:
    """The numbers by name."""
    return {number.key: number.value for number in record.numbers}


def test_a_row_holds_latencies_in_four_digits_of_a_millisecond() -> None:
    (latency,) = rows(read(LOGS / "layout.log"), "latency")

    assert (latency.payload_bytes, latency.samples, latency.conditions.basis) == (1024, 998, "one-way")
    assert [(n.statistic, n.value, n.resolution, n.marks) for n in latency.numbers] == [
        ("min", 41_200, 10, ()),
        ("max", 912_300, 100, ()),
        ("mean", 65_500, 10, ()),
        ("std", 34641.016, None, ("derived",)),  # the root of 1.2e-06 / 1000 s^2
    ]


def test_a_row_holds_counts_and_their_rates() -> None:
    (counts,) = rows(read(LOGS / "layout.log"), "throughput")

    assert values(counts) == {
        "messages_received": 998,
        "messages_sent": 998,
        "messages_lost": 0,
        "loss": 0,
        "message_rate_mean_messages_per_s": pytest.approx(998 / 1.0001),
        "offered_rate_mean_messages_per_s": pytest.approx(998 / 1.0001),
        "goodput_mean_bit_per_s": pytest.approx(8 * 1021952 / 1.0001),
        "duration_ns": 1_000_100_000,
        "cpu_of_machine_mean_percent": 3.1,
    }
    assert {number.metric for number in counts.numbers if number.marks == ("derived",)} == {"loss", "message_rate", "offered_rate", "goodput"}


def test_what_is_run_is_stated_before_the_table() -> None:
    log = read(LOGS / "layout-subscriber-only.log")

    conditions = log.account.facts.conditions
    assert (conditions.reliability, conditions.type, conditions.offered_rate_per_s, conditions.planned_duration_s) == ("reliable", "Array1k", 100, 4)
    assert (conditions.publishers, conditions.subscribers, conditions.load_mode) == (0, 1, "open")
    assert log.account.facts.tool_version == "2.3.0"
    assert log.account.facts.environment["performance_test RMW Implementation"] == "rmw_fastrtps_cpp"
    assert rows(log, "latency")[0].conditions.reliability == "reliable"


def test_the_summary_has_extremes_a_weighted_mean_and_sums() -> None:
    log = read(LOGS / "layout-subscriber-only.log")
    (latency,) = rows(log, "latency", "summary")
    (counts,) = rows(log, "throughput", "summary")

    assert (latency.payload_bytes, latency.samples) == (1040, 97 + 100 + 99)
    assert values(latency) == {
        "latency_min_ns": 55_120,
        "latency_max_ns": 1_402_000,
        "latency_mean_ns": pytest.approx((112_300 * 97 + 100_000 * 100 + 120_100 * 99) / 296),
    }
    assert values(counts)["messages_received"] == 296
    assert values(counts)["messages_lost"] == 3
    assert values(counts)["loss"] == pytest.approx(3 / 299)
    assert values(counts)["message_rate_mean_messages_per_s"] == pytest.approx((100 / 1.000171 + 99 / 1.00015) / 2)
    assert values(counts)["peak_memory_max_bytes"] == 30200 * 1024
    assert all("derived" in number.marks for record in (latency, counts) for number in record.numbers)


def test_a_row_without_samples_has_no_latency() -> None:
    log = read(LOGS / "layout-subscriber-only.log")

    assert [record.samples for record in rows(log, "latency")] == [97, 100, 99]
    assert values(rows(log, "throughput")[0])["messages_received"] == 0


@pytest.mark.parametrize("huge", ["inf", "1.798e+308", "nan", "-1"])
def test_extremes_of_nothing_are_impossible(huge: str) -> None:
    log = read_text(SUBSCRIBER.replace("0.0712", huge), "performance_test")

    assert rows(log, "latency")[0].number("latency", "min") == Number(metric="latency", statistic="min", value=None, marks=("impossible",))


def test_the_main_side_of_a_round_trip_measures_round_trips() -> None:
    log = read(LOGS / "layout-round-trip.log")

    assert {record.conditions.basis for record in rows(log, "latency")} == {"rtt"}
    assert {record.conditions.load_mode for record in log.records} == {None}


@pytest.mark.parametrize("instead", ["", "Roundtrip Mode: NAIN\n", "Roundtrip Made: MAIN\n"])
def test_where_the_mode_is_lost_it_is_not_known_what_a_latency_is_of(instead: str) -> None:
    text = (LOGS / "layout-round-trip.log").read_text(encoding="utf-8").replace("Roundtrip Mode: MAIN\n", instead)
    log = read_text(text, "performance_test")

    assert {(record.conditions.basis, record.conditions.definition) for record in rows(log, "latency")} == {(None, None)}
    assert {record.conditions.load_mode for record in log.records} == {None}


def test_two_experiments_in_one_log_have_their_own_conditions_and_summaries() -> None:
    log = read_text(SUBSCRIBER + SUBSCRIBER.replace("RELIABLE", "BEST_EFFORT").replace("Array1k", "Array4k"), "performance_test")

    found = [(record.conditions.reliability, record.conditions.type) for record in rows(log, "latency", "summary")]
    assert found == [("reliable", "Array1k"), ("best-effort", "Array4k")]


def test_a_row_printed_twice_counts_once() -> None:
    last = SUBSCRIBER.splitlines()[-2]

    log = read_text(SUBSCRIBER.replace(last, f"{last}\n{last}"), "performance_test")

    assert rows(log, "latency", "summary")[0].samples == 296


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("97,\t\t0,", "97,\t\t", "row is cut short, garbled or of another table"),
        ("97,\t\t0,", "97,\t\t0.5,", "a count that no counter of the tool can hold"),
        ("97,\t\t0,", f"{2**64 - 1},\t\t0,", "a count that no counter of the tool can hold"),
        ("1.000188", "7.000188", "the cells contradict each other"),
        ("0.1123", "2.1123", "the cells contradict each other"),
        ("97,\t\t0,\t\t3,\t\tinf", "97,\t\t100,\t\t3,\t\t0.30", "the cells contradict each other"),
    ],
)
def test_a_row_that_cannot_be_is_broken_and_costs_only_itself(old: str, new: str, reason: str) -> None:
    log = read_text(SUBSCRIBER.replace(old, new), "performance_test")

    assert log.broken == [f"text:24: {reason}"]
    assert [record.samples for record in rows(log, "latency")] == [100, 99]


def test_a_row_without_its_table_is_broken() -> None:
    header = next(line for line in SUBSCRIBER.splitlines() if line.startswith("T_experiment"))

    assert len(read_text(SUBSCRIBER.replace(header, ""), "performance_test").broken) == 4
    assert len(read_text(SUBSCRIBER.replace(header, header[:200]), "performance_test").broken) == 5


def test_a_last_row_without_its_end_may_have_lost_digits() -> None:
    assert read_text(SUBSCRIBER[: SUBSCRIBER.index("1.5,\t\t\nMax") + 1], "performance_test").broken == ["text:26: the log ends within this line"]


def test_json_has_all_digits_of_its_latencies_and_times() -> None:
    log = read(LOGS / "layout.json")
    latency, counts = rows(log, "latency")[0], rows(log, "throughput")[1]

    assert (latency.payload_bytes, latency.samples, latency.conditions.basis) == (4112, 998, "one-way")
    assert [(n.statistic, n.value, n.resolution, n.marks) for n in latency.numbers] == [
        ("min", 38_912, None, ()),
        ("max", 1_402_117, None, ()),
        ("mean", 65_123.0484968938, None, ()),
        ("std", 50_000, None, ("derived",)),  # the root of 2.5e-09 s^2
    ]
    assert values(counts) == {
        "messages_received": 998,
        "messages_sent": 1001,
        "messages_lost": 3,
        "loss": pytest.approx(3 / 1001),
        "message_rate_mean_messages_per_s": pytest.approx(998 / 1.000188007),
        "offered_rate_mean_messages_per_s": pytest.approx(1001 / 1.000188007),
        "goodput_mean_bit_per_s": pytest.approx(8 * 4_103_776 / 1.000188007),
        "duration_ns": 1_000_188_007,
        "cpu_of_machine_mean_percent": 3.25,
        "peak_memory_max_bytes": 30_100 * 1024,
    }


def test_json_says_what_is_run_and_has_the_same_summaries_as_text() -> None:
    log = read(LOGS / "layout.json")
    (summary,) = rows(log, "latency", "summary")

    conditions = log.account.facts.conditions
    assert (conditions.reliability, conditions.type, conditions.offered_rate_per_s, conditions.planned_duration_s) == ("reliable", "Array4k", 1000, 4)
    assert (conditions.publishers, conditions.subscribers, conditions.load_mode, conditions.data_path) == (1, 1, "open", "zero-copy")
    assert (log.account.facts.tool_version, log.account.status) == ("2.3.0", None)
    assert log.account.facts.environment["performance_test RMW Implementation"] == "rmw_cyclonedds_cpp"
    assert [record.samples for record in rows(log, "latency")] == [998, 1000, 999]
    assert (summary.samples, values(summary)["latency_min_ns"], values(summary)["latency_max_ns"]) == (2997, 38_912, 1_402_117)
    assert (log.broken, log.unknown, log.account.total) == ([], [], 1)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"latency_n":998.0,', "", "an object of the list is garbled, or has not the members that the tool prints"),
        ('"latency_n":998.0', '"latency_m":998.0', "an object of the list is garbled, or has not the members that the tool prints"),
        ('"latency_n":998.0', '"latency_n":"998"', "an object of the list is garbled, or has not the members that the tool prints"),
        ('"latency_min":3.8912e-05', '"latency_min":0.5', "the cells contradict each other"),
        ('"loop_start":1000188007', '"loop_start":7000188007', "the cells contradict each other"),
        ('"num_samples_lost":3', f'"num_samples_lost":{2**64 - 3}', "a count that no counter of the tool can hold"),
    ],
)
def test_an_object_of_json_that_cannot_be_costs_only_itself(old: str, new: str, reason: str) -> None:
    assert old in JSON
    log = read_text(JSON.replace(old, new), "performance_test")

    assert log.broken == [f"text:1: {reason}"]
    assert [record.samples for record in rows(log, "latency")] == [1000, 999]


def test_json_that_ends_early_is_read_as_far_as_it_goes() -> None:
    log = read_text(JSON[: JSON.index('"num_samples_received":1000')], "performance_test")

    assert [record.samples for record in rows(log, "latency")] == [998]
    assert (log.account.status, log.account.facts.reason) == ("truncated", "the JSON ends before its last brace")


def test_json_without_its_head_is_refused_for_nobody_knows_what_was_run() -> None:
    log = read_text(JSON.replace('"rate":1000', '"rate";1000'), "performance_test")

    assert (log.records, log.broken) == ([], ["text:1: the JSON says in a garbled way what was run"])


def test_json_of_an_hour_is_read_though_it_is_one_line() -> None:
    head, found, results = JSON.partition('"analysis_results":[')
    last = results[results.rindex('{"experiment_start"') : results.index("]}")]
    hour = (last.replace("4001100998", f"{second}001100998") for second in range(5, 3605))
    text = f"{head}{found}{results.removesuffix(']}')},{','.join(hour)}]}}"
    log = read_text(text, "performance_test")

    assert len(text) > 2_500_000
    assert len(rows(log, "latency")) == 3 + 3600
    assert rows(log, "latency", "summary")[0].samples == 2997 + 3600 * 999


def test_every_line_is_known() -> None:
    for path in LOGS.glob("layout*"):
        assert (read(path).broken, read(path).unknown) == ([], []), path.name


def test_prose_with_colons_is_not_taken_for_what_is_run() -> None:
    log = read_text("Note: this is a mail.\n" + SUBSCRIBER + "Bye: me\n", "performance_test")

    assert log.unknown == [1, 29]
