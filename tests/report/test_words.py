"""Numbers, sizes, ticks, escapes and scripts as readers see them."""

from __future__ import annotations

import subprocess

import pytest

from tacholog.render.figures.axes import number_axis, percentile_axis, share_axis, size_axis
from tacholog.render.figures.figures import latency_over_size
from tacholog.render.html import Html, tag, visible
from tacholog.render.links import Links
from tacholog.render.tables.hosts import missing
from tacholog.render.tables.results import numbers_tables
from tacholog.render.tables.summary import latency_summary
from tacholog.runs.manifest import Command, LogFile, Manifest
from tacholog.schema.conditions import CONDITIONS
from tacholog.schema.marks import MARKS
from tacholog.schema.metrics import METRICS
from tacholog.site.script import shell_script, words_of
from tacholog.slugs import path_slug, slug
from tacholog.view.numerals import by_version, decimals, in_full, quantity, rounded, size, unit_shown, with_bound
from tacholog.view.results import ResultRow, RunRow
from tacholog.view.series import series_of


@pytest.mark.parametrize(
    ("payload_bytes", "shown"),
    [(32, "32 B"), (1024, "1 KiB"), (63000, "63 000 B"), (1048576, "1 MiB"), (1548576, "1 548 576 B"), (33554432, "32 MiB"), (None, "not stated")],
)
def test_size_is_written_as_a_whole_number_of_units_or_in_bytes(payload_bytes: int | None, shown: str) -> None:
    assert size(payload_bytes).replace("\u00a0", " ").replace("\u202f", " ") == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (840.0, "ns", "840 ns"),
        (16_000.0, "ns", "16 µs"),
        (10_452_000.0, "ns", "10.5 ms"),
        (664.2e6, "bit_per_s", "664 Mbit/s"),
        (28.2622e9, "bit_per_s", "28.3 Gbit/s"),
        (0.9948, "ratio", "99.5 %"),
        (0.0000123, "ratio", "0.00123 %"),
        (322.5, "ns", "323 ns"),
        (999.6, "ns", "1 µs"),
        (71_581_305.0, "messages", "71\u202f581\u202f305"),
    ],
)
def test_quantity_has_the_most_readable_unit(value: float, unit: str, shown: str) -> None:
    assert quantity(value, unit).replace("\u00a0", " ") == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        *((664.2, "664"), (16.0, "16"), (16.5, "16.5"), (0.3225, "0.323"), (1.005, "1.01"), (1.004, "1"), (0.01234, "0.0123")),
        *((0.9996, "1"), (9.996, "10"), (97232.4, "97\u202f232"), (-1.255, "-1.26"), (0.0, "0"), (1e-12, "0.000000000001")),
    ],
)
def test_number_is_rounded_to_three_digits_but_never_before_the_decimal_point(number: float, shown: str) -> None:
    assert rounded(number) == shown


def test_number_is_the_same_in_a_table_and_in_a_sentence() -> None:
    for value_ns in (322.5, 323.5, 1004.9, 1005.0, 16_500.0, 99_950.0):
        number, _, unit = quantity(value_ns, "ns").partition("\u00a0")
        assert float(rounded(value_ns / 1e3)) == pytest.approx(float(number) * {"ns": 1e-3, "\u00b5s": 1.0}[unit], rel=1e-12)


def test_title_of_a_number_has_all_digits_of_the_log() -> None:
    assert in_full(322.5, "ns") == "322.5\u00a0ns"
    assert in_full(10_452_123.0, "ns") == "10.452123\u00a0ms"
    assert in_full(664.2e6, "bit_per_s") == "664.2\u00a0Mbit/s"


def test_decimals_are_counted_in_the_shown_text() -> None:
    assert [decimals(text) for text in ("16", "16.5", "1\u202f222", "0.323")] == [0, 1, 0, 3]


def test_sign_of_a_bound_is_shown_before_the_number() -> None:
    assert with_bound("1", "<") == "<\u202f1"
    assert with_bound("2", "~") == "~2"
    assert with_bound("4", "range-high") == "to 4"


def test_ticks_are_at_1_2_or_5_times_a_power_of_ten() -> None:
    axis = number_axis([16_000, 190_000], "Latency", "ns")

    assert [label.replace("\u00a0", " ") for label in axis.labels] == ["20 µs", "50 µs", "100 µs", "200 µs"]


def test_each_tick_of_sizes_except_the_last_is_a_power_of_two() -> None:
    assert all(tick.is_integer() and int(tick).bit_count() == 1 for tick in size_axis([32, 31457280]).ticks[:-1])


def test_axis_of_few_sizes_has_its_ticks_at_the_points() -> None:
    assert size_axis([64, 1 << 10, 1 << 16, 1 << 20, 1 << 22]).ticks == (64, 1 << 10, 1 << 16, 1 << 20, 1 << 22)


def test_axis_of_many_sizes_has_equally_spaced_ticks_that_include_1_kib_and_1_mib() -> None:
    axis = size_axis([32, *(2.0**power for power in range(6, 24)), 20 << 20])

    assert [label.replace("\u00a0", " ") for label in axis.labels] == ["32 B", "1 KiB", "32 KiB", "1 MiB", "20 MiB"]


def test_ticks_of_sizes_have_short_labels() -> None:
    axis = size_axis([100, 10_000_000])

    assert [label.replace("\u00a0", " ") for label in axis.labels] == ["100 B", "1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB"]


def test_ticks_include_the_ends_of_an_axis_without_close_neighbours() -> None:
    axis = size_axis([28, 100_000, 100 << 10])

    assert (axis.ticks[0], axis.ticks[-1]) == (28, 100 << 10)
    assert 32 not in axis.ticks
    assert 65536 not in axis.ticks
    assert [size_axis([16, 1 << 20]).ticks[end] for end in (0, -1)] == [16, 1 << 20]
    assert share_axis([0.0, 0.98], "Loss").ticks[0] == 0


def test_axis_of_percentiles_has_equal_distances_from_90_to_99_and_from_99_to_99_9_percent() -> None:
    axis = percentile_axis(10_000)

    assert [label.replace("\u00a0", " ") for label in axis.labels] == ["50 %", "90 %", "99 %", "99.9 %", "99.99 %"]
    assert axis.position(1000) - axis.position(100) == pytest.approx(axis.position(100) - axis.position(10))


def test_small_noise_does_not_fill_the_whole_axis() -> None:
    axis = number_axis([100.0, 101.0], "Latency", "ns")

    assert axis.high / axis.low >= 10


def test_markup_escapes_everything_except_markup_objects() -> None:
    assert tag("b", "<i>", Html("<u>x</u>"), title='"') == '<b title="&quot;">&lt;i&gt;<u>x</u></b>'
    assert visible("a\x1bb\u202ec") == (
        'a<span class="tl-control" title="U+001B">\u241b</span>b<span class="tl-control" title="U+202E">\\u{202e}</span>c'
    )


def test_names_of_pages_are_simple_and_unique() -> None:
    assert slug("RTI Connext DDS") == "rti-connext-dds"
    assert slug("UDPv4_WAN") == "udpv4_wan"
    assert slug("../../etc") != slug("etc")
    assert ".." not in path_slug("../x/..")
    assert path_slug("a b/log") != path_slug("a-b/log")


def test_shell_script_keeps_each_argument_unchanged() -> None:
    argv = ("printf", "%s|", "two words", "$HOME", "`id`", "a'b", "", "x{payload_bytes}y")

    text = subprocess.run(["sh", "-c", f"payload_bytes=7; {words_of(argv)}"], check=True, capture_output=True, text=True).stdout

    assert text == "two words|$HOME|`id`|a'b||x7y|"


def test_script_of_perftest_can_run_with_a_shorter_duration_and_states_this() -> None:
    logs = (LogFile(file="a.log", sha256="0" * 64),)
    command = Command(role="both", argv=("perftest", "--test", "latency", "--duration", "0.5", "--output", "-"))

    script = shell_script(Manifest(system="X", commands=(command,), logs=logs), "run", [])

    assert script
    assert 'perftest --test latency --duration "${DURATION_S:-0.5}" --output -' in script
    assert "# Set DURATION_S to another time per size, in seconds" in script


def test_script_runs_a_command_once_for_each_listed_set_of_placeholder_values() -> None:
    each = ({"payload_bytes": 100, "rate": 500}, {"payload_bytes": 1000, "rate": 50})
    ping = Command(role="pub", argv=("ping", "{rate}", "-s{payload_bytes}"), result="3.1", machine="a", each=each)
    pong = Command(role="sub", argv=("pong",), result="3.1", machine="b")

    script = shell_script(Manifest(system="X", commands=(ping, pong), logs=()), "run", [7]) or ""

    assert script.index("Subscriber of result 3.1 on machine b") < script.index("Publisher of result 3.1 on machine a")
    assert script.endswith("\nping 500 -s100\nping 50 -s1000\n")


def test_duration_that_is_not_a_number_stays_a_quoted_word() -> None:
    assert words_of(("perftest", "--duration", "$(id)")) == "perftest --duration '$(id)'"


def test_no_text_of_a_manifest_can_end_a_comment_of_the_script() -> None:
    logs = (LogFile(file="a.log", sha256="0" * 64),)
    manifest = Manifest(system="x\nrm -rf /", tool="y\rz", commands=(Command(role="p\nub", argv=("true",)),), logs=logs)

    script = shell_script(manifest, "run\nid", [32])

    assert script
    assert [line for line in script.splitlines() if line and not line.startswith("#")] == ["set -eu", "true"]


def test_property_does_not_count_as_missing_if_another_property_states_the_value() -> None:
    assert missing("network", {"nic": "Intel 710, dual port, 10 Gbit/s"}) == ["MTU", "switch"]
    assert missing("cpu", {"model": "Some CPU"}) == ["cores", "governor", "turbo"]


def test_number_for_a_range_of_sizes_is_shown_with_the_smallest_and_the_largest_size() -> None:
    run = RunRow(run="published", published=True)
    facts = [
        ResultRow(
            run=run, log="a", test="latency", payload_bytes=100, payload_bytes_high=1000, metric="latency", statistic=name, value=value, bound=name
        )
        for name, value in (("range-low", 1e3), ("range-high", 4e6))
    ]
    series = series_of(facts)

    said = latency_summary(series, Links())

    assert '<strong>from 1\u00a0µs</strong> <strong>to 4\u00a0ms</strong> for <span class="stat-size">100\u00a0B to 1\u202f000\u00a0B</span>' in said
    assert "100\u00a0B to 1\u202f000\u00a0B</th>" in numbers_tables(series, Links(), "t")
    figure = latency_over_size(series)
    assert figure
    assert [(trace.shape, trace.points[0][:2], trace.points[2][:2]) for trace in figure.traces] == [("area", (100, 1e3), (1000, 4e6))]


def test_upper_bound_for_a_range_of_sizes_is_drawn_as_an_upper_bound() -> None:
    run = RunRow(run="published", published=True)
    bound = ResultRow(
        run=run, log="a", test="latency", payload_bytes=100, payload_bytes_high=1000, metric="latency", statistic="typical", value=1e3, bound="<"
    )

    figure = latency_over_size(series_of([bound]))

    assert figure
    assert [(trace.shape, [point[:2] for point in trace.points]) for trace in figure.traces] == [("below", [(100, 1e3), (1000, 1e3)])]
    assert "Triangles that point down mark an upper bound" in figure.note
    assert "<\u202f1\u00a0µs" in figure.traces[0].points[0].words


def test_each_condition_has_a_meaning_and_each_metric_has_a_displayed_unit() -> None:
    assert all(condition.meaning.endswith(".") for condition in CONDITIONS.values())
    assert all("_" not in unit_shown(metric.unit).sign for metric in METRICS.values())
    assert all(mark.sign and mark.title and mark.sentence.endswith(".") for mark in MARKS.values())


def test_releases_with_any_number_of_digits_are_sorted() -> None:
    long = "9" * 5000
    releases = [f"1.{long}", "1.10", "1.\u0663", "1.02", f"2.{long}-rc1", f"2.{long}", f"1.1{long}"]

    assert sorted(releases, key=by_version) == ["1.02", "1.\u0663", "1.10", f"1.{long}", f"1.1{long}", f"2.{long}-rc1", f"2.{long}"]
