"""What so many pairs can find among so many rows: said before the first run and after the last one, by one function."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tacholog.commands import ab
from tacholog.compare.diff.compare import exit_code
from tacholog.compare.policy import Bands, Policy, RowFilter
from tacholog.compare.result import Report
from tacholog.compare.statistics import detectable, least_p, runs_needed
from tacholog.render.diff.page import html
from tacholog.render.diff.summary import conclusion
from tacholog.render.diff.text import markdown, text
from tacholog.render.diff.words import percent, remark

Floats = NDArray[np.float64]
Compared = Callable[..., Report]


def scattered(rows: int, pairs: int, noise: float) -> tuple[Floats, Floats]:
    """Rows whose pairs differ by nothing on average, with exactly this standard deviation of the differences."""
    steps = np.resize([1.0, -1.0], pairs) * (1 + 0.1 * np.arange(pairs))
    steps -= steps.mean()
    new = np.exp(noise * steps / steps.std(ddof=1))
    return np.full((rows, pairs), 10_000.0), 10_000 * np.tile(new, (rows, 1))


def test_six_pairs_of_forty_rows_are_too_few_whatever_the_values(compared: Compared) -> None:
    old, new = scattered(40, 6, 0.3)
    new[:20] = old[:20] * np.array([1.5, 1.51, 1.52, 1.5, 1.49, 1.48])

    report = compared(old, new)

    assert {row.verdict for row in report.rows} == {"too_few_pairs"}
    row = next(row for row in report.rows if row.key.payload_bytes == 16)
    assert row.ratio == pytest.approx(1.5, abs=0.001)
    assert row.p == 2 / 2**6
    assert row.p_adjusted == pytest.approx(0.0625)
    assert (row.attainable_p, row.needed) == (1.0, 11)
    assert row.detectable is None
    assert "11 pairs are needed" in remark(row)
    assert "such intervals occur by chance" in remark(row)
    assert [exit_code(report, asked) for asked in ((), ("inconclusive",), ("worse",))] == [0, 3, 0]
    assert conclusion(report).endswith("no verdict in 40 (40 too few pairs for so many rows).")
    assert all("Too few pairs for so many rows".lower() in show(report).lower() for show in (text, markdown, html))


def test_few_pairs_are_enough_where_every_row_changed(compared: Compared) -> None:
    old = np.full((40, 6), 10_000.0)

    assert compared(old, old * np.array([1.5, 1.51, 1.52, 1.5, 1.49, 1.48])).counts["worse"] == 40


def test_a_gate_takes_fewer_pairs_than_the_report_around_it(compared: Compared) -> None:
    old, new = scattered(40, 8, 0.1)
    report = compared(old, new, Policy(gate=(RowFilter(payload_bytes=16), RowFilter(payload_bytes=32))))

    found = {row.key.payload_bytes: (row.verdict, row.needed) for row in report.rows}
    assert (found[16], found[32], found[48]) == (("inconclusive", None), ("inconclusive", None), ("too_few_pairs", 11))


def test_loss_of_few_pairs_in_many_rows_is_too_few_too(compared: Compared) -> None:
    lost = np.tile([0.0, 0.02, 0.0, 0.05, 0.0, 0.0], (40, 1))

    report = compared(lost * 0, lost, metric="loss", statistic="total", test="throughput")

    assert report.loss_counts["too_few_pairs"] == 40
    assert {(loss.attainable_p, loss.needed) for loss in report.losses} == {(1.0, 11)}
    assert exit_code(report, ("inconclusive",)) == 3
    assert "11 pairs are needed" in text(report)


@pytest.mark.parametrize(("rows", "pairs", "sessions"), [(1, 6, 6), (4, 8, 6), (40, 11, 7), (120, 13, 8), (1000, 16, 9)])
def test_so_many_pairs_or_sessions_are_needed_for_one_row_among_many(rows: int, pairs: int, sessions: int) -> None:
    for paired, count in ((True, pairs), (False, sessions)):
        assert runs_needed(rows, 0.05, paired) == count
        assert rows * least_p(count, count, paired) < 0.05
        assert count == 6 or rows * least_p(count - 1, count - 1, paired) >= 0.05


def test_the_detectable_change_is_never_below_the_threshold(compared: Compared) -> None:
    old, new = scattered(1, 12, 0.001)
    new *= 1.03

    (row,) = compared(old, new, Policy(thresholds_percent=Bands(centre=3.01))).rows

    assert row.verdict == "inconclusive"
    assert row.detectable is not None
    assert 0.0301 < row.detectable < 0.032


@pytest.mark.parametrize(("rows", "pairs"), [(1, 12), (40, 12), (40, 15), (12, 30), (2, 8)])
def test_the_plan_and_the_comparison_say_the_same_smallest_detectable_change(compared: Compared, rows: int, pairs: int) -> None:
    noise = 0.03
    planned = ab.smallest_change(noise, pairs, rows)

    found = {row.detectable for row in compared(*scattered(rows, pairs, noise * 2**0.5)).rows}

    assert {percent(value or 0) for value in found} == {percent(planned)}
    alone = ab.smallest_change(noise, pairs, 1)
    assert percent(planned) in ab.change_words(alone, planned, rows)


def test_a_plan_that_cannot_find_one_row_among_many_says_how_many_pairs_it_takes() -> None:
    said = ab.change_words(ab.smallest_change(0.02, 8, 1), ab.smallest_change(0.02, 8, 40), 40)

    assert said.endswith("none in one row of 40, however large: that needs 11 pairs, or a smaller campaign.")


@pytest.mark.parametrize("pairs", [11, 12, 20])
def test_a_lone_row_at_the_detectable_change_is_found_in_four_reports_of_five(pairs: int, figure: Callable[[str, str], None]) -> None:
    from tacholog.compare.statistics import adjusted, paired_shift

    reports, rows, sd, least = 400, 40, 0.03, np.log1p(0.03)
    shift = detectable(np.array([sd]), (pairs, pairs), 0.05 / rows, np.array([least]), paired=True)[0]
    difference = sd * np.random.default_rng(pairs).standard_normal((reports, rows, pairs))
    difference[:, 0] += shift
    found = paired_shift(difference.reshape(-1, pairs))
    p = np.array([adjusted(one)[0] for one in found.p.reshape(reports, rows)])
    power = ((p < 0.05) & (found.estimate.reshape(reports, rows)[:, 0] >= least)).mean()

    figure(f"lone row of 40 at its detectable change, {pairs} pairs", f"found in {power:.1%} of reports")
    assert 0.75 <= power <= 0.88
