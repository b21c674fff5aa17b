"""The values that represent several runs of one series: medians, ranges, and two groups."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec
import pytest

from tacholog.render.figures.figures import latency_over_size, words_of
from tacholog.render.figures.svg import draw
from tacholog.render.links import Links
from tacholog.render.tables.rankings import group_table
from tacholog.render.tables.results import numbers_tables
from tacholog.render.tables.sizes import sizes_table
from tacholog.render.tables.summary import latency_summary
from tacholog.schema.conditions import Conditions
from tacholog.view.ranking_groups import Group, SystemSeries, groups, leaders, ordered, rank_key, standing
from tacholog.view.results import ResultRow, RunRow
from tacholog.view.series import Series, series_of

PERCENTILES = ("p50", "p99", "p99.9", "p99.99", "p99.999", "max")
# The values of three runs in ns, one for each percentile. None: the run had too few samples for this percentile.
PRINTED = (
    (362.0, 469.0, 2127.0, 432383.0, 1705983.0, 3935468.0),
    (351.0, 480.0, 2500.0, 2100000.0, None, 4100000.0),
    (355.0, 470.0, 1900.0, None, None, 22000.0),
)


def results_of(run: str, values: tuple[float | None, ...], line: int = 1, samples: int | None = None) -> list[ResultRow]:
    conditions = Conditions(basis="rtt")
    return [
        ResultRow(
            run=RunRow(run=run),
            log="a",
            line=line,
            test="latency",
            conditions=conditions,
            payload_bytes=64,
            metric="latency",
            statistic=name,
            value=value,
            samples=samples,
        )
        for name, value in zip(PERCENTILES, values, strict=True)
    ]


def test_percentile_that_only_some_runs_state_has_no_median() -> None:
    (series,) = series_of(result for index, values in enumerate(PRINTED) for result in results_of(f"run-{index}", values))

    cell = series.cells("latency", "p99.999")[64]

    assert cell.value is None
    assert cell.coverage == (1, 3, 3)
    assert series.cells("latency", "p99")[64].value == 470.0
    assert "stated in 2 of 3 runs" in numbers_tables([series], Links(), "t")


def test_run_that_measured_twice_is_counted_as_one_run_with_two_measurements() -> None:
    twice = [*results_of("run-0", PRINTED[0], line=1), *results_of("run-0", PRINTED[1], line=2)]

    (series,) = series_of([*twice, *results_of("run-1", PRINTED[2])])

    html = numbers_tables([series], Links(), "t")
    assert "stated in 2 of 3 measurements in 2 runs, so there is no median of all" in html
    assert "of 3 runs" not in html


def test_median_of_a_higher_percentile_is_a_higher_value() -> None:
    (series,) = series_of(result for index, values in enumerate(PRINTED) for result in results_of(f"run-{index}", values))

    medians = [series.cells("latency", name)[64].value for name in PERCENTILES]

    assert medians == [355.0, 470.0, 2127.0, None, None, 3935468.0]
    shown = [value for value in medians if value is not None]
    assert shown == sorted(shown)


def test_numbers_of_one_run_can_come_from_several_lines() -> None:
    first, second = results_of("run", PRINTED[0])[:2], results_of("run", PRINTED[0], line=2)[2:]

    (series,) = series_of([*first, *second])

    assert series.cells("latency", "p99")[64].value == 469.0
    assert series.cells("latency", "max")[64].value == 3935468.0


def test_median_links_to_the_middle_run_and_its_range_links_to_the_numbers_of_all_runs() -> None:
    (series,) = series_of(result for index, values in enumerate(PRINTED) for result in results_of(f"run-{index}", values, line=index + 1))

    shown = str(numbers_tables([series], Links("logs"), "t"))
    row = shown[shown.index("<tbody>") : shown.index("</tr>", shown.index("<tbody>"))]

    assert '<a href="doc:logs/run-2/a#L3:latency.p50">0.355</a>' in row  # The median of 0.362, 0.351 and 0.355 us.
    assert '<a class="tl-range" href="#t-0-each" title="Each run&#x27;s numbers">0.351\u20130.362</a>' in row
    assert 'id="t-0-each"' in shown


def test_median_and_range_are_plain_text_if_the_site_has_no_log_pages() -> None:
    (series,) = series_of(result for index, values in enumerate(PRINTED) for result in results_of(f"run-{index}", values))

    assert '<span class="tl-range">0.351\u20130.362</span>' in numbers_tables([series], Links(), "t")


# Median latencies of 64 bytes between two threads, in ns, from six runs in data/own: three on one core, and three on two cores.
TWO_GROUPS = (581.0, 131.0, 571.0, 140.0, 591.0, 141.0)


def runs_of(values: Sequence[float], transport: str | None = None, resolution: float | None = 1.0, statistic: str = "p50") -> Series:
    conditions = Conditions(basis="rtt", transport=transport, definition="ours", load_mode="closed")
    (series,) = series_of(
        ResultRow(
            run=RunRow(run=f"run-{index}", system="X", host="desk"),
            log="a",
            line=index + 1,
            test="latency",
            conditions=conditions,
            payload_bytes=64,
            metric="latency",
            statistic=statistic,
            value=value,
            resolution=resolution,
        )
        for index, value in enumerate(values)
    )
    return series


def test_median_of_an_even_number_of_runs_is_the_worse_of_the_two_middle_values() -> None:
    series = runs_of((356.0, 362.0, 351.0, 400.0))

    cell = series.cells("latency", "p50")[64]

    assert (cell.value, cell.result.value, cell.result.line) == (362.0, 362.0, 2)
    assert '<a href="doc:logs/run-1/a#L2:latency.p50">0.362</a>' in str(numbers_tables([series], Links("logs"), "t"))
    assert words_of(cell, "ns") == "362\u00a0ns (median of 4 runs, 351\u00a0ns to 400\u00a0ns)"


def test_two_groups_of_runs_are_shown_as_two_measured_values() -> None:
    cell = runs_of(TWO_GROUPS).cells("latency", "p50")[64]

    assert [(group.value, group.low, group.high, group.runs, group.result.line) for group in cell.groups] == [
        (140.0, 131.0, 141.0, 3, 4),
        (581.0, 571.0, 591.0, 3, 1),
    ]
    assert (cell.value, cell.result.line) == (581.0, 1)  # If both groups have the same size, the value of the worse group is shown.
    assert "two_groups" in cell.marks
    assert words_of(cell, "ns") == "two groups of runs: 140\u00a0ns in 3 and 581\u00a0ns in 3 (131\u00a0ns to 591\u00a0ns in all)"


def test_each_group_of_runs_has_a_linked_number_and_a_count_of_runs_in_the_table() -> None:
    shown = str(numbers_tables([runs_of(TWO_GROUPS)], Links("logs"), "t"))
    row = shown[shown.index("<tbody>") : shown.index("</tr>", shown.index("<tbody>"))]

    assert '<a href="doc:logs/run-3/a#L4:latency.p50">0.14</a>' in row
    assert '<a href="doc:logs/run-0/a#L1:latency.p50">0.581</a>' in row
    assert row.count('<span class="tl-of">in\u00a03\u00a0runs</span>') == 2
    assert "Runs fall into two groups" in shown


def test_table_draws_all_runs_of_two_groups_as_dots_between_the_lowest_and_the_highest_value() -> None:
    shown = str(numbers_tables([runs_of(TWO_GROUPS)], Links("logs"), "t"))

    # The values 131, 140, 141, 571, 581 and 591 ns are drawn as dots from x = 4 to x = 96.
    assert '<path d="M4.0 5h0M5.8 5h0M6.0 5h0M92.0 5h0M94.0 5h0M96.0 5h0" class="tl-dots"/>' in shown
    assert 'class="tl-strip"' not in str(numbers_tables([runs_of(TWO_GROUPS[:3])], Links("logs"), "t"))


def test_sentence_states_the_values_of_both_groups_of_runs() -> None:
    said = re.sub("<[^>]*>", "", str(latency_summary([runs_of(TWO_GROUPS)], Links("logs"))))

    assert "Median round trip is 140\u00a0ns or 581\u00a0ns (two groups of runs: 3 and 3) at 64\u00a0B" in said


def test_figure_has_a_point_for_each_group_of_runs() -> None:
    figure = latency_over_size([runs_of(TWO_GROUPS)])

    assert figure
    runs, *lines = sorted(figure.traces, key=lambda trace: trace.shape != "runs")
    assert sorted((point.y, point.result.line) for trace in lines for point in trace.points if point.result) == [(140.0, 4), (581.0, 1)]
    assert sorted(point.y for point in runs.points) == [131.0, 140.0, 141.0, 571.0, 581.0, 591.0]
    assert draw(figure, "t").count("in all)</title></circle>") == 2


def test_runs_form_two_groups_only_if_each_group_has_two_runs_and_the_gap_is_large_enough() -> None:
    def found(values: Sequence[float], resolution: float | None = 1.0) -> bool:
        return bool(runs_of(values, resolution=resolution).cells("latency", "p50")[64].groups)

    assert found(TWO_GROUPS)
    assert not found(TWO_GROUPS[:5])  # Too few runs.
    assert not found((131.0, 140.0, 141.0, 139.0, 135.0, 591.0))  # A single distant run is an outlier.
    assert not found((1000.0, 1001.0, 1002.0, 1090.0, 1091.0, 1092.0))  # The gap is less than 10 %.
    assert not found((9000.0, 9000.0, 9000.0, 10000.0, 10000.0, 10000.0), 1000.0)  # These values were printed in whole microseconds.
    assert not found((351.0, 362.0, 370.0, 381.0, 389.0, 402.0))  # There is only one group.
    assert not runs_of(TWO_GROUPS, statistic="std").cells("latency", "std")[64].groups  # A standard deviation is not ranked.


# The 99th percentiles of 64 B over loopback in the campaign middleware of 2026-11-23, in ns.
FASTDDS_UDP = (99071.0, 113791.0, 167807.0, 112127.0, 1150975.0, 1488895.0)
MOSQUITTO = (138879.0, 200191.0, 148607.0, 144639.0, 165375.0, 145407.0)
REDIS = (139647.0, 137471.0, 1483775.0, 124479.0, 131327.0, 128255.0)


def members_of(runs: Mapping[str, Sequence[float]]) -> tuple[Group, list[SystemSeries]]:
    """Return the ranking group that all series belong to, and these series.

    Each transport has one series. ``runs`` contains the values of the runs of each transport.
    """
    ((group, found),) = groups([SystemSeries("X", transport, runs_of(values, transport)) for transport, values in runs.items()]).items()
    return group, found


def leading(runs: Mapping[str, Sequence[float]]) -> list[str]:
    group, found = members_of(runs)
    return [found[place].transport for place in sorted(leaders({at: group.cells(one)[64] for at, one in enumerate(found)}))]


def test_runs_in_two_groups_are_ranked_by_the_worse_group_even_if_the_better_group_is_larger() -> None:
    runs = {"fastdds-udp": FASTDDS_UDP, "redis": REDIS}
    group, found = members_of(runs)

    assert standing(group.cells(found[0])[64]) == (1488895.0, 1150975.0, 1488895.0)
    assert group.cells(found[0])[64].value == 1488895.0  # Ratios, plots and sorted tables use the same value.
    assert standing(group.cells(found[1])[64]) == (137471.0, 124479.0, 1483775.0)  # A single slow run of six is not a group.
    assert [one.transport for one in ordered(group, found, [64])] == ["redis", "fastdds-udp"]


def test_worse_group_of_rates_is_the_group_with_the_lower_rates() -> None:
    result = runs_of(TWO_GROUPS).results
    (rates,) = series_of(msgspec.structs.replace(one, test="throughput", metric="goodput", statistic="mean") for one in result)

    assert standing(rates.cells("goodput", "mean")[64]) == (140.0, 131.0, 141.0)


def test_transport_with_two_groups_of_runs_is_ranked_by_the_worse_group() -> None:
    between, slow = (300.0, 301.0, 302.0, 303.0, 304.0, 305.0), (900.0,) * 6

    assert leading({"inter-thread": TWO_GROUPS, "uds": between, "tcp": slow}) == ["uds"]
    assert leading({"inter-thread": TWO_GROUPS, "uds": (580.0, 600.0) * 3, "tcp": slow}) == ["inter-thread", "uds"]
    assert leading({"inter-thread": TWO_GROUPS, "tcp": slow}) == ["inter-thread"]


def test_single_group_of_runs_precedes_two_groups_if_the_ranked_values_are_equal() -> None:
    both, one = (runs_of(values).cells("latency", "p50")[64] for values in (TWO_GROUPS, (581.0,) * 6))

    assert standing(both).value == standing(one).value == 581.0
    assert min([both, one], key=rank_key) is one


def test_two_groups_of_runs_are_highlighted_only_if_the_worse_group_is_among_the_best() -> None:
    def highlighted(runs: Mapping[str, Sequence[float]]) -> list[str]:
        group, found = members_of(runs)
        return re.findall(r"tl-best\"><a[^>]*>([^<]*)", str(group_table(group, found, [64], Links("l"), "t", {})))

    assert highlighted({"fastdds-udp": FASTDDS_UDP, "mosquitto": MOSQUITTO}) == ["149"]
    assert highlighted({"inter-thread": TWO_GROUPS, "tcp": (900.0,) * 6}) == ["0.14", "0.581"]


def test_note_says_that_only_some_runs_have_a_mark_if_other_runs_lack_the_mark() -> None:
    def said(*marks: tuple[str, ...]) -> str:
        results = [msgspec.structs.replace(result, marks=own) for result, own in zip(runs_of(MOSQUITTO[: len(marks)]).results, marks, strict=True)]
        return re.sub("<[^>]*>", "", str(numbers_tables(series_of(results), Links(), "t")))

    words = "Some numbers have this mark because of only some of their runs."
    assert words not in said(("undersampled",), ("undersampled",))
    assert words in said(("undersampled",), ())
    assert words not in said(("undersampled",))


@pytest.mark.parametrize(("samples", "words"), [(99_999, "too few samples"), (100_000, "not stated"), (None, "not stated")])
def test_cell_of_a_missing_percentile_states_whether_a_run_had_too_few_samples(samples: int | None, words: str) -> None:
    results = [*results_of("1", PRINTED[0], samples=2_000_000), *results_of("2", PRINTED[2], samples=samples)]
    (series,) = series_of(results)

    assert series.absent("latency", "p99.99", 64) == words
    assert f">{words}</" in numbers_tables([series], Links(), "t")
    assert series.absent("latency", "max", 64) == "not stated"


def test_missing_percentile_is_called_not_stated_if_the_sample_count_of_a_run_is_unknown() -> None:
    results = [result for run, samples in (("1", 1000), ("2", None)) for result in results_of(run, PRINTED[2], samples=samples)]
    (series,) = series_of(results)

    assert series.absent("latency", "p99.99", 64) == "not stated"


def test_keyed_and_unkeyed_series_with_equal_reliability_are_in_adjacent_columns() -> None:
    unkeyed = [Conditions(basis="rtt", reliability="best-effort", keyed=False), Conditions(basis="rtt", reliability="reliable", keyed=False)]
    keyed = [msgspec.structs.replace(conditions, keyed=True, instances=1000) for conditions in unkeyed]
    results = [
        msgspec.structs.replace(result, run=RunRow(run=str(number), options='{"keyed": "true"}' if conditions.keyed else None), conditions=conditions)
        for number, conditions in enumerate([*unkeyed, *keyed])
        for result in results_of("x", PRINTED[0])[:1]
    ]

    heads = re.findall(r"<th scope=\"col\"><div>.*?</svg>([^<]*)</div>", str(sizes_table(series_of(results), Links(), "t")))

    assert ["unkeyed" in head for head in heads] == [True, False, True, False]
    assert ["best-effort" in head for head in heads] == [True, True, False, False]
