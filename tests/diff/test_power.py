"""The power and the error rate of the two tests of a report: on artificial noise, and on noise of the campaigns in this repository.

``nox -s perf -- diff`` prints the same figures for more reports.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.depth import tries
from tests.diff.bounds import at_least, at_most
from tests.diff.test_simulations import ROWS, Floats, Noise, heavy_tails, iid, in_pairs, outliers, share, shared_by_rows, verdicts

from tacholog.commands import ab
from tacholog.compare.diff.compare import compare, exit_code
from tacholog.compare.policy import Bands, Policy, RowFilter
from tacholog.compare.power import RunCounts, detectable, runs_needed
from tacholog.compare.result import Comparison
from tacholog.compare.sides import find
from tacholog.compare.statistics import SharedRows, by_largest, flips_of
from tacholog.render.diff.page import html
from tacholog.render.diff.summary import conclusion
from tacholog.render.diff.text import markdown, text
from tacholog.render.diff.words import percent, remark

REPORTS = tries(40, 200)
CAMPAIGNS = ("0.1.0-to-0.2.0", "0.2.0-to-0.3.0")
Figure = Callable[[str, str], None]


class Case(NamedTuple):
    """A simulated change: how many of 40 rows change, by how much, and how often the change must be detected at least."""

    pairs: int
    changed: int
    percent: float
    noise: Noise
    least: float


CASES = (
    Case(12, 1, 5, iid, 0.8),
    Case(12, 1, 5, outliers, 0.4),
    Case(12, 1, 5, heavy_tails, 0.8),
    Case(8, 1, 10, iid, 0.95),
    Case(6, 1, 50, iid, 0.9),
    Case(6, 20, 50, iid, 0.9),
)


class Found(NamedTuple):
    """The share of changed rows that are called worse, and the share of reports that call an unchanged row better or worse."""

    changed: float
    false: float


def with_change(case: Case, reports: int, seed: int) -> Floats:
    """Return the differences of pairs as logarithms, shape (reports * rows, pairs).

    In each report, only the first rows change. The number of these rows is ``case.changed``.
    """
    generator = np.random.default_rng(seed)
    old, new = case.noise(generator, (2 * reports, ROWS, case.pairs)).reshape(2, reports, ROWS, case.pairs)
    new[:, : case.changed] += np.log1p(case.percent / 100)
    return np.asarray((new - old).reshape(-1, case.pairs))


def simulated(case: Case, reports: int, seed: int) -> Found:
    found = verdicts(with_change(case, reports, seed))
    false = share(found, "better", "worse")[:, case.changed :].any(axis=1).mean()
    return Found(float(share(found, "worse")[:, : case.changed].mean()), float(false))


class Measured(NamedTuple):
    """The pairs of a campaign: the differences of each row as logarithms, and the threshold of each row."""

    differences: Floats
    thresholds: Floats


@functools.cache
def measured(folder: Path) -> Measured:
    """Return the pairs of a campaign, without the rows that lack a pair. A row lacks a pair if a run of this pair was too short."""
    report = compare(find(str(folder / "old"), []), find(str(folder / "new"), []), Policy(), everything=False)
    rows = [row for row in report.rows if row.p_adjusted is not None and row.old and row.new]
    differences = [np.log(np.array(row.new.values) / np.array(row.old.values)) for row in rows if row.old and row.new]
    pairs = max(map(len, differences))
    complete = [len(row) == pairs for row in differences]
    return Measured(np.array(list(compress(differences, complete))), np.log1p(np.array([row.threshold or 0.0 for row in compress(rows, complete)])))


def resampled(campaign: Measured, pairs: int, percent: float, reports: int, seed: int) -> Found:
    """Return how often a change is found with the noise of a campaign.

    Each report has ``pairs`` random pairs of the campaign. First, the median change of each row is removed, and the sides of pairs are swapped at
    random. Then one row is made slower by ``percent``.
    """
    generator = np.random.default_rng(seed)
    noise = campaign.differences - np.median(campaign.differences, axis=1, keepdims=True)
    rows, all_pairs = noise.shape
    chosen = [generator.permutation(all_pairs)[:pairs] for _ in range(reports)]
    made = np.stack([noise[:, pair] * generator.choice([-1.0, 1.0], pairs) for pair in chosen])
    lone = generator.integers(0, rows, reports)
    made[np.arange(reports), lone] += np.log1p(percent / 100)
    found = verdicts(made.reshape(-1, pairs), rows, np.tile(campaign.thresholds, reports))
    called = share(found, "better", "worse")
    called[np.arange(reports), lone] = False
    return Found(float(share(found, "worse")[np.arange(reports), lone].mean()), float(called.any(axis=1).mean()))


def swapped(campaign: Measured, reports: int, seed: int) -> float:
    """Return the share of reports with a better or worse row. The sides of real pairs are swapped at random, so all differences are chance."""
    generator = np.random.default_rng(seed)
    pairs = campaign.differences.shape[1]
    made = campaign.differences * generator.choice([-1.0, 1.0], (reports, 1, pairs))
    found = verdicts(made.reshape(-1, pairs), len(campaign.thresholds), np.tile(campaign.thresholds, reports))
    return float(share(found, "better", "worse").any(axis=1).mean())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.pairs}-pairs-{case.percent:g}%-in-{case.changed}-{case.noise.__name__}")
def test_change_is_detected_in_the_documented_share_of_reports(case: Case, figure: Figure) -> None:
    found = simulated(case, REPORTS, 31)

    what = f"+{case.percent:g} % in {case.changed} of {ROWS} rows, {case.pairs} pairs, {case.noise.__name__}"
    figure(what, f"{found.changed:.1%} found, {found.false:.1%} of reports false")
    assert found.changed >= tries(at_least(case.least - 0.03, REPORTS), case.least - 0.03)
    assert found.false <= tries(at_most(0.05, REPORTS), 0.05)


@pytest.mark.parametrize("pairs", [6, 8])
@pytest.mark.parametrize("noise", [iid, outliers, shared_by_rows])
def test_few_pairs_of_one_build_are_rarely_called_better_or_worse(noise: Noise, pairs: int, figure: Figure) -> None:
    generator = np.random.default_rng(32)

    found = verdicts(in_pairs(generator, noise(generator, (REPORTS, ROWS, 2 * pairs))))

    false = share(found, "better", "worse").any(axis=1).mean()
    figure(f"A/A, {pairs} pairs, {noise.__name__}", f"{false:.1%} of reports false")
    assert false <= tries(at_most(0.05, REPORTS), 0.07)


def test_eight_pairs_with_real_noise_reveal_half_of_all_changes_of_a_single_row(checkout: Path, figure: Figure) -> None:
    found = {name: resampled(measured(checkout / "data/perftest" / name), 8, 10, REPORTS, 33) for name in CAMPAIGNS}

    for name, one in found.items():
        figure(f"+10 % in one row, 8 pairs of campaign {name}", f"{one.changed:.1%} found, {one.false:.1%} of reports false")
    assert np.mean([one.changed for one in found.values()]) >= tries(at_least(0.45, 2 * REPORTS), 0.45)
    assert all(one.false <= tries(at_most(0.05, REPORTS), 0.05) for one in found.values())


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_real_pairs_with_randomly_swapped_sides_are_rarely_called_better_or_worse(name: str, checkout: Path, figure: Figure) -> None:
    false = swapped(measured(checkout / "data/perftest" / name), REPORTS, 34)

    figure(f"labels swapped in campaign {name}", f"{false:.1%} of reports false")
    assert false <= tries(at_most(0.05, REPORTS), 0.07)


def largest_of_all_rows(differences: Floats) -> Floats:
    """Return the p-value of each row, computed from all sign flips.

    For each flip, the largest Student's t among all rows is found. The p-value of a row is the share of flips whose largest t is not smaller than
    the t of the row without a flip.
    """
    pairs = differences.shape[1]
    reached = np.zeros(len(differences))

    def sizes(signs: NDArray[np.int64]) -> Floats:
        flipped = differences * signs
        return np.asarray(np.abs(flipped.mean(axis=1)) / flipped.std(axis=1, ddof=1))

    own = sizes(np.ones(pairs, np.int64))
    for flip in range(2**pairs):
        signs = 1 - 2 * ((flip >> np.arange(pairs)) & 1)
        reached += sizes(signs).max() >= own - 1e-9
    return np.asarray(reached / 2**pairs)


def one_batch(differences: Floats, pairs: NDArray[np.int64] | None = None) -> SharedRows:
    rows, count = differences.shape
    return SharedRows(np.arange(rows), differences, np.tile(np.arange(count), (rows, 1)) if pairs is None else pairs)


def test_p_values_are_equal_to_those_that_follow_from_all_sign_flips() -> None:
    differences = np.random.default_rng(35).standard_normal((5, 8)) + np.array([0.0, 0.5, 1.0, 2.0, 4.0])[:, None]

    assert by_largest([one_batch(differences)], 5) == pytest.approx(largest_of_all_rows(differences))


def test_rows_with_different_numbers_of_pairs_are_tested_with_common_sign_flips() -> None:
    differences = np.random.default_rng(36).standard_normal((1, 8)) + 1.5
    alone = by_largest([one_batch(differences)], 1)[0]
    longer, shorter = one_batch(differences), SharedRows(np.array([1]), differences[:, :7], np.arange(7)[None])

    together = by_largest([longer, shorter], 2)

    assert alone <= together[0] < 2 * alone  # Independent flips for each row would nearly double the p-value.
    assert np.isnan(by_largest([longer], 2)[1])


def test_smallest_p_value_is_one_divided_by_the_number_of_sign_flips() -> None:
    for pairs, least in ((6, 1 / 32), (13, 1 / 4096), (40, 1 / 4096)):
        certain = np.full((1, pairs), 0.1) + np.random.default_rng(37).normal(0, 0.001, (1, pairs))
        assert by_largest([one_batch(certain)], 1)[0] == least == 1 / flips_of(pairs)


def test_rows_with_zero_or_constant_differences_have_p_values() -> None:
    p = by_largest([one_batch(np.array([[0.0] * 8, [0.1] * 8, [-0.1] * 8]))], 3)

    assert p.tolist() == [1.0, 1 / 128, 1 / 128]


# --- the smallest detectable change: the plan and the report compute it with the same function


Compared = Callable[..., Comparison]


def scattered(rows: int, pairs: int, noise: float) -> tuple[Floats, Floats]:
    """Return old and new values. In each row, the logarithms of new over old have the mean 0 and exactly the standard deviation ``noise``."""
    steps = np.resize([1.0, -1.0], pairs) * (1 + 0.1 * np.arange(pairs))
    steps -= steps.mean()
    new = np.exp(noise * steps / steps.std(ddof=1))
    return np.full((rows, pairs), 10_000.0), 10_000 * np.tile(new, (rows, 1))


def test_six_pairs_show_a_large_change_of_a_single_row_among_forty(compared: Compared) -> None:
    old, new = scattered(40, 6, 0.3)
    new[:1] = old[:1] * np.array([1.5, 1.51, 1.52, 1.5, 1.49, 1.48])

    report = compared(old, new)

    found = {row.key.payload_bytes: row for row in report.rows}
    assert {size for size, row in found.items() if row.verdict == "worse"} == {16}
    assert found[16].p == 2 / 2**6
    # Six pairs have 64 sign flips. A flip and its opposite count as one, so there are 32 flips. Only one flip gives a t as large as that of this row.
    assert found[16].p_adjusted == 1 / 2**5
    assert found[32].verdict == "inconclusive"
    assert found[32].detectable is not None
    assert 0.5 < found[32].detectable < 10


def test_six_pairs_are_too_few_if_their_smallest_possible_p_value_is_above_the_level(compared: Compared) -> None:
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


def test_six_pairs_are_enough_if_each_row_changed(compared: Compared) -> None:
    old = np.full((40, 6), 10_000.0)

    assert compared(old, old * np.array([1.5, 1.51, 1.52, 1.5, 1.49, 1.48])).counts["worse"] == 40


def test_detectable_change_is_smaller_for_rows_of_a_gate_than_for_other_rows(compared: Compared) -> None:
    old, new = scattered(40, 8, 0.1)
    report = compared(old, new, Policy(gate=(RowFilter(payload_bytes=16), RowFilter(payload_bytes=32))))

    found = {row.key.payload_bytes: row.detectable or 0 for row in report.rows}
    assert found[16] == found[32]
    assert 0 < found[32] < 0.7 * found[48]


def test_six_pairs_are_too_few_for_loss_in_many_rows(compared: Compared) -> None:
    lost = np.tile([0.0, 0.02, 0.0, 0.05, 0.0, 0.0], (40, 1))

    report = compared(lost * 0, lost, Policy(false_discovery_rate=0.01), metric="loss", statistic="total", test="throughput")

    assert report.loss_counts["too_few_pairs"] == 40
    assert {(loss.attainable_p, loss.needed) for loss in report.losses} == {(1 / 2**5, 8)}
    assert exit_code(report, ("inconclusive",)) == 3
    assert "8 pairs are needed" in text(report)


@pytest.mark.parametrize(
    ("rows", "rate", "pairs", "sessions"), [(1, 0.05, 6, 6), (40, 0.05, 6, 7), (1000, 0.05, 6, 9), (40, 0.01, 8, 8), (40, 0.001, 11, 10)]
)
def test_number_of_pairs_or_sessions_that_a_row_needs_depends_on_the_number_of_rows(rows: int, rate: float, pairs: int, sessions: int) -> None:
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
    """Return the share of reports that call a row worse if its change is exactly the smallest detectable change."""
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


def test_suggested_number_of_pairs_is_the_smallest_number_that_detects_the_change() -> None:
    suggested = ab.pairs_to_detect(0.05, 0.02, 40)

    assert suggested == 12
    assert ab.smallest_change(0.02, 12, 40) <= 0.05 < ab.smallest_change(0.02, 11, 40)
    assert ab.detect_words(0.05, 0.02, 40) == "A change of 5.0 % in one row of 40 is detected in four cases of five with 12 pairs."


def test_change_that_a_hundred_pairs_cannot_detect_is_called_not_detectable() -> None:
    assert ab.pairs_to_detect(0.05, 0.5, 40) is None
    assert ab.detect_words(0.05, 0.5, 40).endswith("cannot be detected with any number of pairs up to 100: the noise is too large for 100 pairs.")
    assert ab.detect_words(0.02, 0.001, 40).endswith("cannot be detected with any number of pairs up to 100: changes below 3.0 % do not count.")
