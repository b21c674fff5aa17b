"""The rank statistics equal the results of scipy and the values of published tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from tacholog.compare.groups import size_of_lower_group
from tacholog.compare.statistics import (
    adjusted,
    adjusted_each,
    normal_upper_tail,
    paired_shift,
    same_build_band,
    student_t_quantile,
    unpaired_shift,
)

ROWS = 40
Figure = Callable[[str, str], None]


def draws(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.random.default_rng(5).standard_normal(shape)


@pytest.mark.parametrize("pairs", [6, 12, 25])
def test_paired_p_value_equals_the_p_value_of_the_exact_signed_rank_test(pairs: int) -> None:
    differences = draws(ROWS, pairs) + 0.4

    expected = [stats.wilcoxon(row, method="exact").pvalue for row in differences]

    assert paired_shift(differences).p == pytest.approx(expected)


@pytest.mark.parametrize(("olds", "news"), [(6, 6), (10, 8), (20, 20)])
def test_unpaired_p_value_equals_the_p_value_of_the_exact_rank_sum_test(olds: int, news: int) -> None:
    old, new = draws(ROWS, olds), draws(ROWS, news) + 0.5

    expected = [stats.mannwhitneyu(one, two, method="exact").pvalue for one, two in zip(old, new, strict=True)]

    assert unpaired_shift(old, new).p == pytest.approx(expected)


def test_approximate_p_value_of_many_runs_is_close_to_the_exact_p_value() -> None:
    differences, old, new = draws(ROWS, 60), draws(ROWS, 60), draws(ROWS, 50)

    assert paired_shift(differences).p == pytest.approx([stats.wilcoxon(row, method="exact").pvalue for row in differences], abs=0.01)
    expected = [stats.mannwhitneyu(one, two, method="exact").pvalue for one, two in zip(old, new, strict=True)]
    assert unpaired_shift(old, new).p == pytest.approx(expected, abs=0.01)


def test_paired_p_value_is_exact_if_some_differences_are_equal() -> None:
    differences = np.array([[0.0, 1, 1, 1, 2, 2, -1, 0]])
    signs = np.array(np.meshgrid(*[[-1, 1]] * 8)).reshape(8, -1).T
    ranks = stats.rankdata(np.abs(differences[0])) * (differences[0] != 0)
    all_sums = (signs > 0) @ ranks
    seen = ranks[differences[0] > 0].sum()

    p = 2 * min((all_sums >= seen).mean(), (all_sums <= seen).mean())

    assert paired_shift(differences).p[0] == pytest.approx(p)


def test_unpaired_p_value_is_exact_if_some_values_are_equal() -> None:
    old, new = np.array([[3.0, 3, 4, 4, 4, 5]]), np.array([[4.0, 5, 5, 5, 6, 5]])

    def rank_sum(one: np.ndarray[tuple[int], np.dtype[np.float64]], two: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return float(stats.rankdata(np.concatenate([one, two]))[: len(one)].sum())

    expected = stats.permutation_test((old[0], new[0]), rank_sum, permutation_type="independent", n_resamples=100_000).pvalue

    assert unpaired_shift(old, new).p[0] == pytest.approx(expected)


def test_smallest_p_values_equal_the_values_of_published_tables() -> None:
    assert paired_shift(np.arange(1.0, 7)[None]).p[0] == pytest.approx(2 / 2**6)
    assert paired_shift(np.arange(1.0, 13)[None]).p[0] == pytest.approx(2 / 2**12)
    assert unpaired_shift(np.arange(6.0)[None], np.arange(6.0)[None] + 6).p[0] == pytest.approx(2 / 924)


def test_interval_of_ten_pairs_has_the_limits_of_a_published_table() -> None:
    # From table A.4 of Hollander, Wolfe & Chicken (2014): P(T+ >= 47) = 0.024 for n = 10. So the limits are the 9th and the 47th of 55 averages.
    differences = draws(1, 10)
    first, second = np.triu_indices(10)
    averages = np.sort((differences[0, first] + differences[0, second]) / 2)

    shift = paired_shift(differences)

    assert (shift.low[0], shift.high[0]) == (averages[8], averages[46])
    assert shift.estimate[0] == pytest.approx(np.median(averages))


def test_too_few_runs_have_no_interval() -> None:
    shift = paired_shift(draws(1, 5))

    assert (shift.low[0], shift.high[0]) == (-np.inf, np.inf)


def test_intervals_contain_the_true_shift_with_the_stated_confidence(figure: Figure) -> None:
    shift = paired_shift(np.random.default_rng(9).standard_t(3, (20_000, 12)))
    outer, inner = ((shift.low <= 0) & (shift.high >= 0)).mean(), ((shift.inner_low <= 0) & (shift.inner_high >= 0)).mean()

    figure("coverage of the 95 % and 90 % intervals", f"{outer:.3f}, {inner:.3f}")
    assert 0.945 <= outer <= 0.965
    assert 0.895 <= inner <= 0.925


def test_adjusted_p_values_equal_the_results_of_scipy() -> None:
    p = np.random.default_rng(3).random(100) ** 2

    assert adjusted(p) == pytest.approx(stats.false_discovery_control(p))


def test_band_of_one_build_is_exceeded_by_one_difference_in_twenty(figure: Figure) -> None:
    generator = np.random.default_rng(4)
    for sessions in (3, 8, 20):
        band = same_build_band(generator.standard_normal((20_000, sessions)).std(axis=1, ddof=1), sessions)
        left = (np.abs(generator.standard_normal(20_000) - generator.standard_normal(20_000)) > band).mean()
        figure(f"left the band of {sessions} sessions", f"{left:.3f}")
        assert 0.04 <= left <= 0.06


def test_two_clusters_are_detected_but_a_single_outlier_is_no_cluster() -> None:
    generator = np.random.default_rng(6)
    one = 0.02 * generator.standard_normal((1000, 12))
    two, outlier = one.copy(), one.copy()
    two[:, :4] += 0.3
    outlier[:, 0] += 0.3

    flagged = [np.mean([size_of_lower_group(sorted(row)) is not None for row in np.exp(values).tolist()]) for values in (one, two, outlier)]

    assert flagged[0] < 0.02
    assert flagged[1] > 0.98
    assert flagged[2] < 0.02


def test_holm_multiplies_the_smallest_p_value_by_the_number_of_p_values_and_keeps_their_order() -> None:
    assert adjusted_each(np.array([0.04, 0.01, 0.03, 0.5])) == pytest.approx([0.09, 0.04, 0.09, 0.5])
    assert adjusted_each(np.array([0.6, 0.9])) == pytest.approx([1.0, 1.0])
    assert adjusted_each(np.array([])).shape == (0,)


# --- the distributions


def test_normal_tail_equals_the_result_of_scipy_for_large_values() -> None:
    z = np.array([0.0, 0.5, 1.96, 5.0, 20.0, 37.0])

    assert normal_upper_tail(z) == pytest.approx(stats.norm.sf(z), rel=1e-12)


@pytest.mark.parametrize("probability", [0.6, 0.9, 0.975, 0.995])
@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 10, 31, 100, 1001])
def test_quantile_of_student_t_equals_the_result_of_scipy(probability: float, freedom: int) -> None:
    assert student_t_quantile(probability, freedom) == pytest.approx(float(stats.t.ppf(probability, freedom)), rel=1e-9)


@pytest.mark.parametrize(("probability", "freedom"), [(0.5, 3), (1.0, 3), (0.975, 0)])
def test_quantile_that_does_not_exist_is_refused(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="degrees of freedom"):
        student_t_quantile(probability, freedom)
