"""Our two distributions give the values of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tacholog.compare.statistics import normal_upper_tail, student_t_quantile


def test_normal_tail_equals_that_of_scipy_for_large_values() -> None:
    z = np.array([0.0, 0.5, 1.96, 5.0, 20.0, 37.0])

    assert normal_upper_tail(z) == pytest.approx(stats.norm.sf(z), rel=1e-12)


@pytest.mark.parametrize("probability", [0.6, 0.9, 0.975, 0.995])
@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 10, 31, 100, 1001])
def test_quantile_of_student_t_equals_that_of_scipy(probability: float, freedom: int) -> None:
    assert student_t_quantile(probability, freedom) == pytest.approx(float(stats.t.ppf(probability, freedom)), rel=1e-9)


@pytest.mark.parametrize(("probability", "freedom"), [(0.5, 3), (1.0, 3), (0.975, 0)])
def test_quantile_that_does_not_exist_is_refused(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="degrees of freedom"):
        student_t_quantile(probability, freedom)
