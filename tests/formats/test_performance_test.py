"""performance_test: the meaning of its tables. Expected values were copied by hand from the logs in ``performance_test/`` (see its README)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.formats.kit import Broken
from tacholog.formats.performance_test.json import ExperimentDocument, read_document
from tacholog.formats.performance_test.rows import ExperimentRow
from tacholog.formats.reading import Log, read, read_text
from tacholog.schema.records import Number, Record

LOGS = Path(__file__).parent / "performance_test"
JSON = (LOGS / "layout.json").read_text(encoding="utf-8")
SCREEN = (LOGS / "layout-screen.log").read_text(encoding="utf-8")
SUBSCRIBER = (LOGS / "layout-subscriber-only.log").read_text(encoding="utf-8")


def rows(log: Log, test: str, scope: str = "interval") -> list[Record]:
    return [record for record in log.records if (record.test, record.scope) == (test, scope)]


def values(record: Record) -> dict[str, float | None]:
    return {number.key: number.value for number in record.numbers}


def test_latencies_of_a_row_are_milliseconds_with_four_significant_digits() -> None:
    (latency,) = rows(read(LOGS / "layout.log"), "latency")

    assert (latency.payload_bytes, latency.samples, latency.conditions.basis) == (None, 999, "one-way")
    assert [(n.statistic, n.value, n.resolution, n.marks) for n in latency.numbers] == [
        ("min", 41_200, 10, ()),
        ("max", 912_300, 100, ()),
        ("mean", 65_500, 10, ()),
        ("std", 34641.016, None, ("derived",)),  # This is the square root of the variance, 1.2e-06 / 1000 s^2.
    ]


def test_counts_of_a_row_are_computed_from_the_rates_of_the_row() -> None:
    (counts,) = rows(read(LOGS / "layout.log"), "throughput")

    assert values(counts) == {
        "messages_received": pytest.approx(998 * 1.0001),
        "messages_sent": pytest.approx(998 * 1.0001),
        "messages_lost": 0,
        "loss": 0,
        "message_rate_mean_messages_per_s": 998,
        "offered_rate_mean_messages_per_s": 998,
        "goodput_mean_bit_per_s": 8 * 1021952,
        "duration_ns": 1_000_100_000,
        "cpu_of_machine_mean_percent": 3.1,
    }
    derived = {number.metric for number in counts.numbers if number.marks == ("derived",)}
    assert derived == {"loss", "messages_received", "messages_sent", "messages_lost"}


def test_rates_are_the_printed_rates_even_if_a_row_covers_more_than_a_second() -> None:
    log = read(LOGS / "80ff298-five-subscribers.log")

    # One publisher sends ten messages of 4 MiB per second to five subscribers. The rows cover 1.4, 1.3, 1.4 and 1.4 s.
    assert [values(row)["offered_rate_mean_messages_per_s"] for row in rows(log, "throughput")] == [9, 9, 10, 9]
    assert [values(row)["message_rate_mean_messages_per_s"] for row in rows(log, "throughput")] == [48, 45, 49, 47]
    assert [values(row)["goodput_mean_bit_per_s"] for row in rows(log, "throughput")] == [
        8 * 209_653_033,
        8 * 203_528_272,
        8 * 216_483_735,
        8 * 209_731_641,
    ]
    (counts,) = rows(log, "throughput", "summary")
    received = 48 * 1.399811 + 45 * 1.299662 + 49 * 1.399944 + 47 * 1.399907
    assert values(counts)["messages_received"] == pytest.approx(received)
    # The rate excludes the first row, because the time before this row is unknown.
    assert values(counts)["message_rate_mean_messages_per_s"] == pytest.approx((received - 48 * 1.399811) / (1.299662 + 1.399944 + 1.399907))


def test_no_row_states_the_message_size() -> None:
    for path in LOGS.iterdir():
        if path.name != "README.md":
            assert {record.payload_bytes for record in read(path).records} == {None}, path.name


def test_system_is_the_middleware_that_the_log_names() -> None:
    systems = {path.name: read(path).account.facts.system for path in LOGS.glob("*.[lj]*")}

    assert systems == {
        "036a5f5-cumulative.json": "ROS 2 with rmw_fastrtps_cpp",
        "57791ae-two-hosts.log": "ROS 2 with rmw_fastrtps_cpp",
        "80ff298-cyclonedds.log": "ROS 2 with rmw_cyclonedds_cpp",
        "80ff298-fastrtps.log": "ROS 2 with rmw_fastrtps_cpp",
        "80ff298-five-subscribers.log": "ROS 2 with rmw_ecal_dynamic_cpp",
        "80ff298-struct4k.log": "ROS 2 with rmw_fastrtps_cpp",
        "eff2a50-subscriber.json": "ROS 2 with rmw_fastrtps_cpp",
        "layout-round-trip.log": "ROS 2 with rmw_fastrtps_cpp",
        "layout-subscriber-only.log": "ROS 2 with rmw_fastrtps_cpp",
        "layout.json": "ROS 2 with rmw_cyclonedds_cpp",
        "layout.log": "CycloneDDS",
        "layout-screen.log": "ROS 2 with rmw_fastrtps_cpp",
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("History kind: KEEP_ALL", "History kind: KEEP_LAST"),
        ("History depth: 1000", "History depth: 16"),
        ("Durability: VOLATILE", "Durability: TRANSIENT_LOCAL"),
        ("Sync. pub/sub: 0", "Sync. pub/sub: 1"),
        ("Communication mean: ROS2", "Communication mean: ROS2PollingSubscription"),
        ("With security: 0", "With security: 1"),
        ("Use single participant: 0", "Use single participant: 1"),
        ("Ignore seconds from beginning: 10", "Ignore seconds from beginning: 5"),
    ],
)
def test_runs_with_different_ways_to_send_messages_have_different_conditions(old: str, new: str) -> None:
    text = (LOGS / "80ff298-cyclonedds.log").read_text(encoding="utf-8")
    assert old in text

    assert read_text(text).account.facts.conditions != read_text(text.replace(old, new)).account.facts.conditions


def test_text_and_json_use_the_same_names_for_settings() -> None:
    text, json = (read(LOGS / name).account.facts.conditions.settings for name in ("57791ae-two-hosts.log", "036a5f5-cumulative.json"))

    assert text == (
        '{"communication": "ROS2", "durability": "VOLATILE", "history": "KEEP_LAST", "history_depth": "10", '
        '"security": "0", "single_participant": "0", "synchronous": "0"}'
    )
    assert json == (
        '{"communication": "RCLCPP_STATIC_SINGLE_THREADED_EXECUTOR", "durability": "VOLATILE", "history": "KEEP_LAST", "history_depth": "16", '
        '"real_time": "1", "security": "0", "single_participant": "0", "synchronous": "0"}'
    )


@pytest.mark.parametrize(
    ("rest", "settings"), [("Sync. pub/sub: t", '"history_depth": "1000"'), ("Sync. pub/sub: true", '"synchronous": "1"'), ("", "KEEP_ALL")]
)
def test_only_complete_settings_of_a_truncated_line_are_used(rest: str, settings: str) -> None:
    text = (LOGS / "layout.log").read_text().replace("Sync. pub/sub: true", rest)

    found = str(read_text(text).account.facts.conditions.settings)

    assert settings in found
    assert ('"synchronous"' in found) == rest.endswith("true")


def test_conditions_of_a_run_are_read_from_the_lines_before_the_table() -> None:
    log = read(LOGS / "layout-subscriber-only.log")

    conditions = log.account.facts.conditions
    assert (conditions.reliability, conditions.type, conditions.offered_rate_per_s, conditions.planned_duration_s) == ("reliable", "Array1k", 100, 4)
    assert (conditions.publishers, conditions.subscribers, conditions.load_mode) == (0, 1, "open")
    assert log.account.facts.tool_version == "2.3.0"
    assert log.account.facts.environment["performance_test RMW Implementation"] == "rmw_fastrtps_cpp"
    assert rows(log, "latency")[0].conditions.reliability == "reliable"


def test_summary_has_minimum_maximum_weighted_mean_and_sums() -> None:
    log = read(LOGS / "layout-subscriber-only.log")
    (latency,) = rows(log, "latency", "summary")
    (counts,) = rows(log, "throughput", "summary")

    assert latency.samples == 98 + 101 + 100
    assert values(latency) == {
        "latency_min_ns": 55_120,
        "latency_max_ns": 1_402_000,
        "latency_mean_ns": pytest.approx((112_300 * 98 + 100_000 * 101 + 120_100 * 100) / 299),
    }
    assert values(counts)["messages_received"] == pytest.approx(97 * 1.000188 + 100 * 1.000171 + 99 * 1.00015)
    assert values(counts)["messages_lost"] == pytest.approx(3 * 1.000188)
    assert values(counts)["loss"] == pytest.approx(3 / 299, rel=1e-4)
    assert values(counts)["message_rate_mean_messages_per_s"] == pytest.approx((100 * 1.000171 + 99 * 1.00015) / 2.000321)
    assert values(counts)["peak_memory_max_bytes"] == 30200 * 1024
    assert all("derived" in number.marks for record in (latency, counts) for number in record.numbers)


def test_row_without_samples_has_no_latency() -> None:
    log = read(LOGS / "layout-subscriber-only.log")

    assert [record.samples for record in rows(log, "latency")] == [98, 101, 100]
    assert values(rows(log, "throughput")[0])["messages_received"] == 0


@pytest.mark.parametrize("huge", ["inf", "1.798e+308", "nan", "-1"])
def test_minimum_that_is_infinite_or_negative_is_impossible(huge: str) -> None:
    log = read_text(SUBSCRIBER.replace("0.0712", huge), "performance_test")

    assert rows(log, "latency")[0].number("latency", "min") == Number(metric="latency", statistic="min", value=None, marks=("impossible",))


def test_latencies_of_the_main_process_in_a_round_trip_test_are_round_trips() -> None:
    log = read(LOGS / "layout-round-trip.log")

    assert {record.conditions.basis for record in rows(log, "latency")} == {"rtt"}
    assert {record.conditions.load_mode for record in log.records} == {None}


@pytest.mark.parametrize("instead", ["", "Roundtrip Mode: NAIN\n", "Roundtrip Made: MAIN\n"])
def test_basis_of_a_latency_is_unknown_if_the_mode_is_missing(instead: str) -> None:
    text = (LOGS / "layout-round-trip.log").read_text(encoding="utf-8").replace("Roundtrip Mode: MAIN\n", instead)
    log = read_text(text, "performance_test")

    assert {(record.conditions.basis, record.conditions.definition) for record in rows(log, "latency")} == {(None, None)}
    assert {record.conditions.load_mode for record in log.records} == {None}


def test_two_experiments_in_one_log_have_separate_conditions_and_summaries() -> None:
    log = read_text(SUBSCRIBER + SUBSCRIBER.replace("RELIABLE", "BEST_EFFORT").replace("Array1k", "Array4k"), "performance_test")

    values = [(record.conditions.reliability, record.conditions.type) for record in rows(log, "latency", "summary")]
    assert values == [("reliable", "Array1k"), ("best-effort", "Array4k")]


def test_row_that_is_printed_twice_counts_once() -> None:
    last = SUBSCRIBER.splitlines()[-2]

    log = read_text(SUBSCRIBER.replace(last, f"{last}\n{last}"), "performance_test")

    assert rows(log, "latency", "summary")[0].samples == 299


def test_truncated_row_is_broken_and_the_summary_is_marked_as_partial() -> None:
    log = read_text(SUBSCRIBER.replace("97,\t\t0,", "97,\t\t"), "performance_test")

    assert log.broken == ["text:24: row is cut short, garbled or of another table"]
    assert [record.samples for record in rows(log, "latency")] == [101, 100]
    (latency,), (counts,) = rows(log, "latency", "summary"), rows(log, "throughput", "summary")
    assert {number.marks for record in (latency, counts) for number in record.numbers} == {("derived", "partial")}


@pytest.mark.parametrize(
    ("old", "new", "impossible"),
    [
        ("97,\t\t0,", "97,\t\t0.5,", ["messages_sent"]),
        ("97,\t\t0,", f"{2**64 - 1},\t\t0,", ["messages_received"]),
        ("1.000188", "7.000188", ["duration"]),
        ("0.1123", "2.1123", ["latency", "latency", "latency"]),
        ("0.1123", "-7.376e+08", ["latency"]),
        ("97,\t\t0,\t\t3,\t\tinf", "97,\t\t100,\t\t3,\t\t0.30", ["messages_sent", "messages_lost"]),
    ],
)
def test_impossible_cell_is_unknown_and_the_other_cells_of_its_row_are_kept(old: str, new: str, impossible: list[str]) -> None:
    assert old in SUBSCRIBER
    log = read_text(SUBSCRIBER.replace(old, new, 1), "performance_test")

    third = [event.what for event in log.events if event.line == 24 and isinstance(event.what, Record) and event.what.scope == "interval"]
    numbers = [number for record in third for number in record.numbers]
    assert log.broken == []
    assert [(number.metric, number.value, number.marks) for number in numbers if number.value is None] == [
        (metric, None, ("impossible",)) for metric in impossible
    ]
    assert values(third[-1])["message_rate_mean_messages_per_s" if "messages_received" not in impossible else "messages_received"] == (
        None if "messages_received" in impossible else 97
    )


def test_row_has_counts_but_no_latencies_if_the_hosts_have_no_common_clock() -> None:
    log = read(LOGS / "57791ae-two-hosts.log")

    assert log.broken == []
    assert [
        row.number("message_rate", "mean") is not None and values(row)["message_rate_mean_messages_per_s"] for row in rows(log, "throughput")[:4]
    ] == [
        50,
        50,
        53,
        0,
    ]
    assert [values(row)["messages_lost"] for row in rows(log, "throughput")[:4]] == [0, 0, pytest.approx(81 * 1.089199), pytest.approx(6 * 1.004381)]
    assert {number.value for row in rows(log, "latency") for number in row.numbers} == {None}
    assert rows(log, "latency", "summary") == []
    (counts,) = rows(log, "throughput", "summary")
    received, lost = 50 * 1.036718 + 50 * 1.003882 + 53 * 1.089199, 81 * 1.089199 + 6 * 1.004381
    assert [values(counts)["messages_received"], values(counts)["messages_lost"]] == pytest.approx([received, lost])
    assert values(counts)["loss"] == pytest.approx(lost / (received + lost))


def test_second_without_messages_lowers_the_rate_of_the_run() -> None:
    (counts,) = rows(read(LOGS / "57791ae-two-hosts.log"), "throughput", "summary")

    # The rates are 50 messages per second for 1.003882 s, and then 53 for 1.089199 s. In the last 1.004381 s, one message arrived.
    # Its bytes are printed, but its rate is below one message per second and is printed as 0.
    assert values(counts)["message_rate_mean_messages_per_s"] == pytest.approx((50 * 1.003882 + 53 * 1.089199) / 3.097462)
    total = 8 * (3_082_678 * 1.003882 + 3_304_264 * 1.089199 + 56_444 * 1.004381)
    assert values(counts)["goodput_mean_bit_per_s"] == pytest.approx(total / 3.097462)


def test_seconds_without_messages_count_only_between_seconds_with_messages() -> None:
    silent, first, second, third = [line for line in SUBSCRIBER.splitlines() if line[:1].isdigit()]
    moved = [
        first,
        silent.replace("1.000312", "3.000700").replace("1.000204", "1.000000"),
        silent.replace("1.000312", "4.000800").replace("1.000204", "1.000000"),
        second.replace("3.000871", "5.000971"),
        third.replace("4.001100", "6.001200"),
        silent.replace("1.000312", "7.001300"),
    ]
    text = SUBSCRIBER.replace(f"{first}\n{second}\n{third}", "\n".join(moved))
    (counts,) = rows(read_text(text, "performance_test"), "throughput", "summary")

    # The rates are 97, 0 for two seconds, 100 for 1.000171 s, and 99 for 1.00015 s. The last second has no messages and is not part of the run.
    received = 100 * 1.000171 + 99 * 1.00015
    assert values(counts)["message_rate_mean_messages_per_s"] == pytest.approx(received / 4.000321)
    assert values(counts)["messages_received"] == pytest.approx(97 * 1.000188 + received)
    assert values(counts)["duration_ns"] == pytest.approx(1e9 * (1.000188 + 2 + 1.000171 + 1.00015))


def test_latencies_of_version_036a5f5_are_cumulative_since_the_start() -> None:
    log = read(LOGS / "036a5f5-cumulative.json")
    parts = rows(log, "latency")
    (summary,) = rows(log, "latency", "summary")

    assert (summary.samples, summary.payload_bytes, len(rows(log, "throughput", "summary"))) == (11509, None, 1)
    assert [(n.statistic, n.value, n.marks) for n in summary.numbers] == [
        ("min", 58_851, ()),
        ("max", 1_186_950, ()),
        ("mean", pytest.approx(252_242.19202363426, rel=1e-12), ()),
        ("std", pytest.approx(282_346.2575, rel=1e-6), ("derived",)),  # This is the square root of the variance, 7.971940520818639e-8 s^2.
    ]
    assert [part.samples for part in parts[:3]] == [100, 100, 100]
    # The second row states 200 messages with a mean of 0.0003081402500000002 s, the first row 100 messages with a mean of 0.00028963948 s.
    assert values(parts[1])["latency_mean_ns"] == pytest.approx(2 * 308_140.25 - 289_639.48)


def test_intervals_of_a_run_agree_with_the_summary_of_this_run() -> None:
    log = read(LOGS / "036a5f5-cumulative.json")
    parts = [(part.samples or 0, values(part)["latency_mean_ns"] or 0, values(part)["latency_std_ns"] or 0) for part in rows(log, "latency")]
    (summary,) = rows(log, "latency", "summary")
    mean, std = values(summary)["latency_mean_ns"] or 0, values(summary)["latency_std_ns"] or 0

    samples = sum(count for count, _, _ in parts)
    assert samples == summary.samples == 11509
    assert sum(count * part for count, part, _ in parts) / samples == pytest.approx(mean, rel=1e-12)
    squares = sum(count * (deviation**2 + (part - mean) ** 2) for count, part, deviation in parts)
    assert squares / samples == pytest.approx(std**2, rel=1e-7)
    # The printed rate of each second lacks its decimals: about 115 messages are missing in total.
    assert sum(values(row)["messages_received"] or 0 for row in rows(log, "throughput")) == pytest.approx(11403.4, abs=0.01)


def test_log_with_cumulative_latencies_is_marked_as_partial_if_it_ends_early() -> None:
    text = (LOGS / "036a5f5-cumulative.json").read_text(encoding="utf-8")

    (summary,) = rows(read_text(text[: text.index('{"experiment_start":7001060465')], "performance_test"), "latency", "summary")

    assert summary.samples == 200
    assert all({"derived", "partial"} <= set(number.marks) for number in summary.numbers)


def test_latencies_of_an_unknown_version_are_read_as_cumulative_if_the_printed_counts_show_this() -> None:
    text = (LOGS / "036a5f5-cumulative.json").read_text(encoding="utf-8").replace('"036a5f5"', '"0123456"')

    (summary,) = rows(read_text(text, "performance_test"), "latency", "summary")

    assert summary.samples == 11509


def test_json_of_a_version_with_more_members_is_read_by_the_names_of_the_members() -> None:
    log = read(LOGS / "eff2a50-subscriber.json")
    (latency,), (counts,) = rows(log, "latency", "summary"), rows(log, "throughput", "summary")

    assert (log.broken, len(rows(log, "latency"))) == ([], 115)
    assert [record.samples for record in rows(log, "latency")][:3] == [100, 100, 100]
    assert values(rows(log, "latency")[0])["latency_min_ns"] == 98_110
    assert [latency.samples, values(counts)["messages_received"], values(counts)["messages_lost"]] == pytest.approx([11500, 11385.23, 0], abs=0.01)


def test_number_of_messages_is_computed_although_the_printed_rate_is_truncated() -> None:
    """The tool truncates rates: it prints 99 for 100 messages in 1.000019 s. The number of latencies in the JSON is the true number of messages."""
    document = read_document((LOGS / "eff2a50-subscriber.json").read_text(encoding="utf-8"))

    assert isinstance(document, ExperimentDocument)
    counts = [(row.received, int(float(row.cells["latencies"]))) for row in document.rows if isinstance(row, ExperimentRow)]
    assert len(counts) == 115
    assert [received for received, _ in counts] == [counted for _, counted in counts]


def test_table_with_an_additional_column_is_read_by_the_names_of_the_columns() -> None:
    text = SUBSCRIBER.replace("received,\tsent", "received,\tsomething new,\tsent").replace("97,\t\t0,", "97,\t\t5,\t\t0,")

    assert [record.samples for record in rows(read_text(text, "performance_test"), "latency")] == [98]


def test_row_without_the_header_of_its_table_is_broken() -> None:
    header = next(line for line in SUBSCRIBER.splitlines() if line.startswith("T_experiment"))

    assert len(read_text(SUBSCRIBER.replace(header, ""), "performance_test").broken) == 4
    assert len(read_text(SUBSCRIBER.replace(header, header[:200]), "performance_test").broken) == 4
    assert len(read_text(SUBSCRIBER.replace(header, header[:30]), "performance_test").broken) >= 4


def test_last_row_without_its_end_keeps_its_complete_cells() -> None:
    last = SUBSCRIBER[: SUBSCRIBER.index("1.5,\t\t\nMax") + 1]  # The row ends with "1", truncated from 1.5 % of processor time.
    log = read_text(last, "performance_test")

    assert log.broken == []
    assert [record.samples for record in rows(log, "latency")] == [98, 101, 100]
    assert "cpu_of_machine_mean_percent" not in values(rows(log, "throughput")[-1])
    assert "cpu_of_machine_mean_percent" in values(rows(log, "throughput")[-2])


def test_last_row_that_ends_before_its_counts_is_broken() -> None:
    text = SUBSCRIBER[: SUBSCRIBER.index("4.0011")] + "4.0001,\t\t1.0001,\t\t99,\t\t0"

    assert read_text(text, "performance_test").broken[-1].endswith("the log ends within this line")


def test_json_has_all_digits_of_its_latencies_and_times() -> None:
    log = read(LOGS / "layout.json")
    latency, counts = rows(log, "latency")[0], rows(log, "throughput")[1]

    assert (latency.samples, latency.conditions.basis) == (998, "one-way")
    assert [(n.statistic, n.value, n.resolution, n.marks) for n in latency.numbers] == [
        ("min", 38_912, None, ()),
        ("max", 1_402_117, None, ()),
        ("mean", 65_123.0484968938, None, ()),
        ("std", 50_000, None, ("derived",)),  # This is the square root of the variance, 2.5e-09 s^2.
    ]
    assert values(counts) == {
        "messages_received": pytest.approx(998 * 1.000188007),
        "messages_sent": pytest.approx(1001 * 1.000188007),
        "messages_lost": pytest.approx(3 * 1.000188007),
        "loss": pytest.approx(3 / 1001),
        "message_rate_mean_messages_per_s": 998,
        "offered_rate_mean_messages_per_s": 1001,
        "goodput_mean_bit_per_s": 8 * 4_103_776,
        "duration_ns": 1_000_188_007,
        "cpu_of_machine_mean_percent": 3.25,
        "peak_memory_max_bytes": 30_100 * 1024,
    }


def test_json_has_the_conditions_of_the_run_and_the_same_summaries_as_text() -> None:
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
        ('"latency_n":998.0,', "", "an object of the list is garbled, or lacks members that the tool prints"),
        ('"latency_n":998.0', '"latency_m":998.0', "an object of the list is garbled, or lacks members that the tool prints"),
        ('"latency_n":998.0', '"latency_n": "998"', "an object of the list is garbled, or lacks members that the tool prints"),
        # Written in full, these numbers have so many digits that parsing would take hours.
        ('"latency_n":998.0', '"latency_n":9.5e100000000', "an object of the list is garbled, or lacks members that the tool prints"),
        ('"latency_n":998.0', '"latency_n":9.5e-100000000', "an object of the list is garbled, or lacks members that the tool prints"),
        (
            '"latency_mean":6.51230484968938e-05',
            '"latency_mean":1e999999999999999999',
            "an object of the list is garbled, or lacks members that the tool prints",
        ),
    ],
)
def test_impossible_object_in_json_affects_no_other_object(old: str, new: str, reason: str) -> None:
    assert old in JSON
    log = read_text(JSON.replace(old, new), "performance_test")

    assert log.broken == [f"text:1: {reason}"]
    assert [record.samples for record in rows(log, "latency")] == [1000, 999]


def test_json_that_ends_early_is_read_up_to_its_end() -> None:
    log = read_text(JSON[: JSON.index('"num_samples_received":1000')], "performance_test")

    assert [record.samples for record in rows(log, "latency")] == [998]
    assert (log.account.status, log.account.facts.reason) == ("truncated", "the JSON ends before its last brace")


def test_json_without_its_header_is_refused_because_its_conditions_are_unknown() -> None:
    log = read_text(JSON.replace('"rate":1000', '"rate";1000'), "performance_test")

    assert (log.records, log.broken) == ([], ["text:1: the description of the run in the JSON is garbled"])


def test_json_of_a_run_of_one_hour_is_read_although_it_is_a_single_line() -> None:
    head, separator, results = JSON.partition('"analysis_results":[')
    last = results[results.rindex('{"experiment_start"') : results.index("]}")]
    hour = (last.replace("4001100998", f"{second}001100998") for second in range(5, 3605))
    text = f"{head}{separator}{results.removesuffix(']}')},{','.join(hour)}]}}"
    log = read_text(text, "performance_test")

    assert len(text) > 2_500_000
    assert len(rows(log, "latency")) == 3 + 3600
    assert rows(log, "latency", "summary")[0].samples == 2997 + 3600 * 999


def test_each_line_is_known_and_valid_in_samples_whose_names_begin_with_layout() -> None:
    for path in LOGS.glob("layout*"):
        assert (read(path).broken, read(path).unknown) == ([], []), path.name


def test_prose_with_colons_is_not_read_as_conditions() -> None:
    log = read_text("Note: this is a mail.\n" + SUBSCRIBER + "Bye: me\n", "performance_test")

    assert log.unknown == [1, 29]


def test_full_screen_output_has_the_same_values_as_a_row_but_latencies_in_microseconds() -> None:
    log = read(LOGS / "layout-screen.log")
    latency, counts = rows(log, "latency")[0], rows(log, "throughput")[1]

    assert [(n.statistic, n.value, n.resolution) for n in latency.numbers] == [
        ("min", 71_000, 1000),
        ("max", 1_402_000, 1000),
        ("mean", 112_000, 1000),
    ]
    assert (latency.samples, latency.conditions.basis, latency.conditions.type, latency.conditions.load_mode) == (98, "one-way", "Array1k", "open")
    assert values(counts) == {
        "messages_received": pytest.approx(97 * 1.000188),
        "messages_sent": pytest.approx(100 * 1.000188),
        "messages_lost": pytest.approx(3 * 1.000188),
        "loss": pytest.approx(0.03),
        "message_rate_mean_messages_per_s": 97,
        "offered_rate_mean_messages_per_s": 100,
        "goodput_mean_bit_per_s": 8 * 100880,
        "duration_ns": 1_000_188_000,
    }
    assert {n.metric: n.line for n in counts.numbers} == dict.fromkeys((n.metric for n in counts.numbers), 64) | {"duration": 55}
    assert [event.line for event in log.events if isinstance(event.what, Record) and event.what == latency] == [55]


def test_summary_is_computed_from_consecutive_outputs_of_the_full_screen_display() -> None:
    log = read(LOGS / "layout-screen.log")
    (latency,), (counts,) = rows(log, "latency", "summary"), rows(log, "throughput", "summary")

    # The printed rates of 97 and 100 per second need at least 98 and 101 messages. The first second has no message and no record.
    assert [record.samples for record in rows(log, "latency")] == [98, 101]
    assert values(latency) == {
        "latency_min_ns": 60_000,
        "latency_max_ns": 1_402_000,
        "latency_mean_ns": pytest.approx((112_000 * 98 + 100_000 * 101) / 199),
    }
    assert values(counts)["messages_lost"] == pytest.approx(3 * 1.000188)
    assert (log.account.status, log.account.lines["unknown"], log.account.lines["broken"]) == ("ok", 0, 0)


def test_indented_full_screen_output_is_read_if_it_has_a_table_for_each_of_two_loops() -> None:
    loops = """
publisher loop                                       subscriber loop
+----------+----------+----------+----------+        +----------+----------+----------+----------+
| min      | max      | mean     | variance |        | min      | max      | mean     | variance |
+----------+----------+----------+----------+        +----------+----------+----------+----------+
| 0.007260 | 0.008229 | 0.008057 | 0.000000 |        | 0.000000 | 0.000000 | 0.000000 | 0.000000 |
+----------+----------+----------+----------+        +----------+----------+----------+----------+
"""
    screen = SCREEN[SCREEN.index("\n  run time") :].replace("\n  system usage", f"{loops}\n  system usage")
    log = read_text("\n".join(f"    {line}".rstrip() for line in screen.split("\n")), "performance_test")

    assert [values(record)["latency_mean_ns"] for record in rows(log, "latency")] == [112_000, 100_000]
    assert (log.account.status, log.account.lines["unknown"], log.account.lines["broken"]) == ("ok", 0, 0)
    assert rows(log, "latency")[0].conditions.basis is None  # The header is missing.


@pytest.mark.parametrize(
    ("old", "new"),
    [("| 97   | 100 ", "| 97   | 1O0 "), ("| 97   | 100  |", "| 97   |"), ("| recv | sent | lost | data_recv", "| recv | sent | data_recv")],
)
def test_damaged_row_of_a_full_screen_output_affects_no_other_output(old: str, new: str) -> None:
    offset = SCREEN.index("T_experiment | 2.000600")
    log = read_text(SCREEN[:offset] + SCREEN[offset:].replace(old, new, 1), "performance_test")

    assert [record.samples for record in rows(log, "latency")] == [101]
    assert log.account.lines["broken"] > 0
    assert all("partial" in number.marks for number in rows(log, "latency", "summary")[0].numbers)


def test_last_full_screen_output_is_read_even_if_its_system_usage_is_missing() -> None:
    log = read_text(SCREEN[: SCREEN.rindex("  system usage")], "performance_test")
    cut = read_text(SCREEN[: SCREEN.rindex("| recv | sent")], "performance_test")

    assert [record.samples for record in rows(log, "latency")] == [98, 101]
    assert [record.samples for record in rows(cut, "latency")] == [98]
    assert [event.what.reason for event in cut.events if isinstance(event.what, Broken)] == ["the screen ends before its samples"]


def test_full_screen_output_without_a_time_is_broken() -> None:
    offset = SCREEN.index("| T_experiment | 2.000600")
    text = SCREEN[:offset] + SCREEN[offset:].replace("| T_experiment | 2.000600", "", 1)
    above = text.rindex("| recv | sent", 0, offset)
    row = text.index("| 0 ", above)
    log = read_text(text[: row + 4] + text[text.index("\n", row) :], "performance_test")

    assert [record.samples for record in rows(log, "latency")] == [101]
    assert log.account.lines["broken"] > 0


def test_full_screen_outputs_of_two_runs_in_one_file_are_not_combined() -> None:
    lines = SCREEN[SCREEN.index("\n  run time") :].split("\n")
    log = read_text("\n".join(line for line in lines for _ in range(2)), "performance_test")

    assert log.records == []
    assert log.account.lines["broken"] > 0


def test_latency_printed_as_zero_in_a_full_screen_output_is_an_upper_bound() -> None:
    log = read_text(SCREEN.replace("| 0.000060 |", "| 0.000000 |"), "performance_test")
    latencies = [record.number("latency", "min") for record in (rows(log, "latency")[1], *rows(log, "latency", "summary"))]

    assert [(n.bound, n.value, n.marks) for n in latencies if n] == [("<", 1000, ()), ("=", 71_000, ("derived", "partial"))]


def test_load_mode_of_a_relay_process_is_unknown_in_old_versions_of_the_tool() -> None:
    head, table = (LOGS / "layout.log").read_text(encoding="utf-8").split("---EXPERIMENT-START---")
    plain = read_text(f"{head}---EXPERIMENT-START---{table}", "performance_test")
    relay = read_text(f"{head}With security: 0\nRoundtrip Mode: RELAY\n\n---EXPERIMENT-START---{table}", "performance_test")

    assert plain.account.facts.conditions.load_mode == "open"
    assert relay.account.facts.conditions.load_mode is None
    assert {record.conditions.load_mode for record in relay.records} == {None}
