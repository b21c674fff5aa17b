"""Runs of one series: what may be said of all of them together."""

from __future__ import annotations

from tacholog.records import Conditions
from tacholog.report.facts import Fact, Run
from tacholog.report.series import series_of
from tacholog.report.tables import Links, numbers

PERCENTILES = ("p50", "p99", "p99.9", "p99.99", "p99.999", "max")
# What three runs printed in ns: the second and the third took too few samples for the highest percentiles.
PRINTED = (
    (362.0, 469.0, 2127.0, 432383.0, 1705983.0, 3935468.0),
    (351.0, 480.0, 2500.0, 2100000.0, None, 4100000.0),
    (355.0, 470.0, 1900.0, None, None, 22000.0),
)


def facts_of(run: str, values: tuple[float | None, ...], line: int = 1) -> list[Fact]:
    conditions = Conditions(basis="rtt")
    return [
        Fact(
            run=Run(run=run),
            log="a",
            line=line,
            test="latency",
            conditions=conditions,
            payload_bytes=64,
            metric="latency",
            statistic=name,
            value=value,
        )
        for name, value in zip(PERCENTILES, values, strict=True)
    ]


def test_a_percentile_that_only_some_runs_state_has_no_median() -> None:
    (series,) = series_of(fact for index, values in enumerate(PRINTED) for fact in facts_of(f"run-{index}", values))

    cell = series.cells("latency", "p99.999")[64]

    assert cell.value is None
    assert cell.stated == (1, 3)
    assert series.cells("latency", "p99")[64].value == 470.0
    assert "stated in 2 of 3 runs" in numbers([series], Links(), "t")


def test_no_row_of_medians_is_out_of_order() -> None:
    (series,) = series_of(fact for index, values in enumerate(PRINTED) for fact in facts_of(f"run-{index}", values))

    medians = [series.cells("latency", name)[64].value for name in PERCENTILES]

    assert medians == [355.0, 470.0, 2127.0, None, None, 3935468.0]
    shown = [value for value in medians if value is not None]
    assert shown == sorted(shown)


def test_numbers_of_one_run_may_stand_in_several_of_its_lines() -> None:
    first, second = facts_of("run", PRINTED[0])[:2], facts_of("run", PRINTED[0], line=2)[2:]

    (series,) = series_of([*first, *second])

    assert series.cells("latency", "p99")[64].value == 469.0
    assert series.cells("latency", "max")[64].value == 3935468.0


def test_a_median_leads_to_the_line_of_the_run_in_the_middle_and_its_range_to_the_numbers_of_each_run() -> None:
    (series,) = series_of(fact for index, values in enumerate(PRINTED) for fact in facts_of(f"run-{index}", values, line=index + 1))

    shown = str(numbers([series], Links("logs"), "t"))
    row = shown[shown.index("<tbody>") : shown.index("</tr>", shown.index("<tbody>"))]

    assert '<a href="doc:logs/run-2/a#L3:latency.p50">0.355</a>' in row  # of 0.362, 0.351 and 0.355 us
    assert '<a class="tl-range" href="#t-0-each" title="Each run&#x27;s numbers">0.351\u20130.362</a>' in row
    assert 'id="t-0-each"' in shown


def test_without_pages_of_logs_neither_a_median_nor_its_range_is_a_link() -> None:
    (series,) = series_of(fact for index, values in enumerate(PRINTED) for fact in facts_of(f"run-{index}", values))

    assert '<span class="tl-range">0.351\u20130.362</span>' in numbers([series], Links(), "t")
