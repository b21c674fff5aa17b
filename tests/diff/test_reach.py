"""The smallest change that a number of pairs can detect in a number of rows: one function states it before the first run and after the last."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.depth import tries
from tests.diff.bounds import at_least, at_most
from tests.diff.test_simulations import share, verdicts

from tacholog.commands import ab
from tacholog.compare.diff.compare import exit_code
from tacholog.compare.policy import Bands, Policy, RowFilter
from tacholog.compare.power import RunCounts, detectable, runs_needed
from tacholog.compare.result import Comparison
from tacholog.render.diff.page import html
from tacholog.render.diff.summary import conclusion
from tacholog.render.diff.text import markdown, text
from tacholog.render.diff.words import percent, remark

Floats = NDArray[np.float64]
Compared = Callable[..., Comparison]


def scattered(rows: int, pairs: int, noise: float) -> tuple[Floats, Floats]:
    """Return rows whose pairs have a mean difference of zero, and differences with exactly this standard deviation."""
    steps = np.resize([1.0, -1.0], pairs) * (1 + 0.1 * np.arange(pairs))
    steps -= steps.mean()
    new = np.exp(noise * steps / steps.std(ddof=1))
    return np.full((rows, pairs), 10_000.0), 10_000 * np.tile(new, (rows, 1))


def test_six_pairs_find_a_large_change_of_a_single_row_among_forty(compared: Compared) -> None:
    old, new = scattered(40, 6, 0.3)
    new[:1] = old[:1] * np.array([1.5, 1.51, 1.52, 1.5, 1.49, 1.48])

    report = compared(old, new)

    found = {row.key.payload_bytes: row for row in report.rows}
    assert {size for size, row in found.items() if row.verdict == "worse"} == {16}
    assert found[16].p == 2 / 2**6
    assert found[16].p_adjusted == 1 / 2**5  # Of the 32 flips of six signs, only the identity reaches the value of this row.
    assert found[32].verdict == "inconclusive"
    assert found[32].detectable is not None
    assert 0.5 < found[32].detectable < 10


def test_six_pairs_are_too_few_for_a_level_that_their_signs_cannot_reach(compared: Compared) -> None:
    old, new = scattered(40, 6, 0.3)
    new[:20] = old[:20] * np.array([1.5, 1.51, 1.52, 1.5, 1.49, 1.48])

    report = compared(old, new, Policy(false_discovery_rate=0.01))

    assert {row.verdict for row in report.rows} == {"too_few_pairs"}
    row = next(row for row in report.rows if row.key.payload_bytes == 16)
    assert row.ratio == pytest.approx(1.5, abs=0.001)
    assert (row.attainable_p, row.needed) == (1 / 2**5, 8)
    assert row.detectable is None
    assert "8 pairs are needed" in remark(row)
    assert "such intervals occur by chance" in remark(row)
    assert [exit_code(report, asked) for asked in ((), ("inconclusive",), ("worse",))] == [0, 3, 0]
    assert conclusion(report).endswith("40 rows are unproven (too few pairs for so many rows).")
    assert all("Too few pairs for so many rows".lower() in show(report).lower() for show in (text, markdown, html))


def test_few_pairs_are_enough_if_each_row_changed(compared: Compared) -> None:
    old = np.full((40, 6), 10_000.0)

    assert compared(old, old * np.array([1.5, 1.51, 1.52, 1.5, 1.49, 1.48])).counts["worse"] == 40


def test_row_of_a_gate_is_found_at_a_smaller_change_than_other_rows_of_the_report(compared: Compared) -> None:
    old, new = scattered(40, 8, 0.1)
    report = compared(old, new, Policy(gate=(RowFilter(payload_bytes=16), RowFilter(payload_bytes=32))))

    found = {row.key.payload_bytes: row.detectable or 0 for row in report.rows}
    assert found[16] == found[32]
    assert 0 < found[32] < 0.7 * found[48]


def test_few_pairs_are_too_few_also_for_loss_in_many_rows(compared: Compared) -> None:
    lost = np.tile([0.0, 0.02, 0.0, 0.05, 0.0, 0.0], (40, 1))

    report = compared(lost * 0, lost, Policy(false_discovery_rate=0.01), metric="loss", statistic="total", test="throughput")

    assert report.loss_counts["too_few_pairs"] == 40
    assert {(loss.attainable_p, loss.needed) for loss in report.losses} == {(1 / 2**5, 8)}
    assert exit_code(report, ("inconclusive",)) == 3
    assert "8 pairs are needed" in text(report)


@pytest.mark.parametrize(
    ("rows", "rate", "pairs", "sessions"), [(1, 0.05, 6, 6), (40, 0.05, 6, 7), (1000, 0.05, 6, 9), (40, 0.01, 8, 8), (40, 0.001, 11, 10)]
)
def test_needed_pairs_or_sessions_for_one_row_depend_on_the_number_of_rows(rows: int, rate: float, pairs: int, sessions: int) -> None:
    assert (runs_needed(rows, rate, paired=True), runs_needed(rows, rate, paired=False)) == (pairs, sessions)


def test_detectable_change_is_never_below_the_threshold(compared: Compared) -> None:
    old, new = scattered(1, 12, 0.001)
    new *= 1.03

    (row,) = compared(old, new, Policy(thresholds_percent=Bands(centre=3.01))).rows

    assert row.verdict == "inconclusive"
    assert row.detectable is not None
    assert 0.0301 < row.detectable < 0.032


@pytest.mark.parametrize(("rows", "pairs"), [(1, 12), (40, 12), (40, 15), (12, 30), (2, 8)])
def test_plan_and_comparison_state_the_same_smallest_detectable_change(compared: Compared, rows: int, pairs: int) -> None:
    noise = 0.03
    planned = ab.smallest_change(noise, pairs, rows)

    found = {row.detectable for row in compared(*scattered(rows, pairs, noise * 2**0.5)).rows}

    assert {percent(value or 0) for value in found} == {percent(planned)}
    alone = ab.smallest_change(noise, pairs, 1)
    assert percent(planned) in ab.change_words(alone, planned, rows)


def at_the_detectable_change(pairs: int, rows: int, sd: float, reports: int) -> float:
    """Return the share of simulated reports that find a single row with exactly the change that is printed as detectable."""
    threshold = np.log1p(np.array([0.03]))
    shift = detectable(np.array([sd]), RunCounts(pairs, pairs, rows, paired=True), 0.05, threshold)[0]
    differences = sd * np.random.default_rng(pairs).standard_normal((reports, rows, pairs))
    differences[:, 0] += shift
    return float(share(verdicts(differences.reshape(-1, pairs), rows), "worse")[:, 0].mean())


@pytest.mark.parametrize(("pairs", "rows"), [(6, 1), (6, 40), (8, 2), (8, 40), (12, 40), (20, 40)])
def test_single_row_with_the_detectable_change_is_found_in_four_reports_of_five(pairs: int, rows: int, figure: Callable[[str, str], None]) -> None:
    reports = tries(60, 400)
    found = at_the_detectable_change(pairs, rows, 0.03, reports)

    figure(f"lone row of {rows} at its detectable change, {pairs} pairs", f"found in {found:.1%} of reports")
    assert tries(at_least(0.8, reports), 0.75) <= found <= tries(at_most(0.8, reports), 0.85)


def test_suggested_number_of_pairs_is_the_smallest_that_detects_the_change() -> None:
    suggested = ab.pairs_to_detect(0.05, 0.02, 40)

    assert suggested == 12
    assert ab.smallest_change(0.02, 12, 40) <= 0.05 < ab.smallest_change(0.02, 11, 40)
    assert ab.detect_words(0.05, 0.02, 40) == "A change of 5.0 % in one row of 40 is detected in four cases of five with 12 pairs."


def test_change_that_a_hundred_pairs_cannot_detect_is_called_not_detectable() -> None:
    assert ab.pairs_to_detect(0.05, 0.5, 40) is None
    assert ab.detect_words(0.05, 0.5, 40).endswith("cannot be detected with any number of pairs up to 100: the noise is too large for 100 pairs.")
    assert ab.detect_words(0.02, 0.001, 40).endswith("cannot be detected with any number of pairs up to 100: changes below 3.0 % do not count.")
