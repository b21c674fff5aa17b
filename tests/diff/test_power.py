"""What the two tests of a report find together, and how often they are wrong: on made-up noise, and on noise of this repository's campaigns.

``nox -s perf -- diff`` prints the same with more reports.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.depth import tries
from tests.diff.bounds import at_least, at_most
from tests.diff.test_simulations import ROWS, Floats, Noise, heavy_tails, iid, in_pairs, outliers, share, shared_by_rows, verdicts

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.sides import find
from tacholog.compare.statistics import SharedRows, by_largest, flips_of

REPORTS = tries(40, 200)
CAMPAIGNS = ("0.1.0-to-0.2.0", "0.2.0-to-0.3.0")
Figure = Callable[[str, str], None]


class Case(NamedTuple):
    """A change of some of 40 rows, and in how many reports or rows it must be found."""

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
    """The share of the changed rows that are called worse, and of the reports that call any other row better or worse."""

    changed: float
    false: float


def with_change(case: Case, reports: int, seed: int) -> Floats:
    """The differences of so many reports with a change, shape (reports * rows, pairs)."""
    generator = np.random.default_rng(seed)
    old, new = case.noise(generator, (2 * reports, ROWS, case.pairs)).reshape(2, reports, ROWS, case.pairs)
    new[:, : case.changed] += np.log1p(case.percent / 100)
    return np.asarray((new - old).reshape(-1, case.pairs))


def simulated(case: Case, reports: int, seed: int) -> Found:
    """What so many reports with a change say."""
    found = verdicts(with_change(case, reports, seed))
    false = share(found, "better", "worse")[:, case.changed :].any(axis=1).mean()
    return Found(float(share(found, "worse")[:, : case.changed].mean()), float(false))


class Measured(NamedTuple):
    """The pairs of a campaign: the differences of each row, and its threshold."""

    differences: Floats
    thresholds: Floats


@functools.cache
def measured(folder: Path) -> Measured:
    """Read the pairs of a campaign of this repository."""
    report = compare(find(str(folder / "old"), []), find(str(folder / "new"), []), Policy(), everything=False)
    rows = [row for row in report.rows if row.p_adjusted is not None and row.old and row.new]
    differences = np.array([np.log(np.array(row.new.values) / np.array(row.old.values)) for row in rows if row.old and row.new])
    return Measured(differences, np.log1p(np.array([row.threshold or 0.0 for row in rows])))


def resampled(campaign: Measured, pairs: int, percent: float, reports: int, seed: int) -> Found:
    """Reports made of so many pairs of a campaign, each drawn once, without its own change, and with its sides swapped or not; one row changed."""
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
    """The share of reports with a false row if the labels of real pairs are swapped at random: then nothing but chance sets the sides apart."""
    generator = np.random.default_rng(seed)
    pairs = campaign.differences.shape[1]
    made = campaign.differences * generator.choice([-1.0, 1.0], (reports, 1, pairs))
    found = verdicts(made.reshape(-1, pairs), len(campaign.thresholds), np.tile(campaign.thresholds, reports))
    return float(share(found, "better", "worse").any(axis=1).mean())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.pairs}-pairs-{case.percent:g}%-in-{case.changed}-{case.noise.__name__}")
def test_a_change_is_found_in_as_many_reports_as_promised(case: Case, figure: Figure) -> None:
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


def test_eight_pairs_find_a_single_change_in_half_of_the_reports_with_the_noise_of_real_campaigns(checkout: Path, figure: Figure) -> None:
    found = {name: resampled(measured(checkout / "data/perftest" / name), 8, 10, REPORTS, 33) for name in CAMPAIGNS}

    for name, one in found.items():
        figure(f"+10 % in one row, 8 pairs of campaign {name}", f"{one.changed:.1%} found, {one.false:.1%} of reports false")
    assert np.mean([one.changed for one in found.values()]) >= tries(at_least(0.45, 2 * REPORTS), 0.45)
    assert all(one.false <= tries(at_most(0.05, REPORTS), 0.05) for one in found.values())


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_real_pairs_with_swapped_labels_are_rarely_called_better_or_worse(name: str, checkout: Path, figure: Figure) -> None:
    false = swapped(measured(checkout / "data/perftest" / name), REPORTS, 34)

    figure(f"labels swapped in campaign {name}", f"{false:.1%} of reports false")
    assert false <= tries(at_most(0.05, REPORTS), 0.07)


def largest_of_all_rows(differences: Floats) -> Floats:
    """The p-values by the largest Student's t of any row, in the plainest way: all flips, one at a time."""
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


def test_the_largest_of_all_rows_is_that_of_all_flips() -> None:
    differences = np.random.default_rng(35).standard_normal((5, 8)) + np.array([0.0, 0.5, 1.0, 2.0, 4.0])[:, None]

    assert by_largest([one_batch(differences)], 5) == pytest.approx(largest_of_all_rows(differences))


def test_rows_with_other_numbers_of_pairs_share_the_flips_of_the_pairs_that_they_share() -> None:
    differences = np.random.default_rng(36).standard_normal((1, 8)) + 1.5
    alone = by_largest([one_batch(differences)], 1)[0]
    longer, shorter = one_batch(differences), SharedRows(np.array([1]), differences[:, :7], np.arange(7)[None])

    together = by_largest([longer, shorter], 2)

    assert alone <= together[0] < 2 * alone  # rows with other pairs would nearly double it
    assert np.isnan(by_largest([longer], 2)[1])


def test_no_p_value_is_below_that_of_the_one_flip_in_all_that_changes_nothing() -> None:
    for pairs, least in ((6, 1 / 32), (13, 1 / 4096), (40, 1 / 4096)):
        certain = np.full((1, pairs), 0.1) + np.random.default_rng(37).normal(0, 0.001, (1, pairs))
        assert by_largest([one_batch(certain)], 1)[0] == least == 1 / flips_of(pairs)


def test_rows_that_never_differ_or_always_by_the_same_have_p_values_too() -> None:
    p = by_largest([one_batch(np.array([[0.0] * 8, [0.1] * 8, [-0.1] * 8]))], 3)

    assert p.tolist() == [1.0, 1 / 128, 1 / 128]
