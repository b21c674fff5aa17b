"""Values that were printed in steps: no verdict relies on digits that were lost by rounding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison
from tacholog.compare.statistics import RoundingRange, paired_shift, unpaired_shift
from tacholog.render.diff.words import remark
from tacholog.store.frames import Dataset

Floats = NDArray[np.float64]
Compared = Callable[..., Comparison]
Side = Callable[..., Dataset]
US = 1000.0


def test_whole_microseconds_cannot_show_that_nothing_changed(compared: Compared) -> None:
    """RTI prints whole microseconds: 15.6 and 16.3 us, 4.5 % apart, are both printed as 16."""
    generator = np.random.default_rng(1)
    true = np.array([15.6, 15.6 * 1.045])[:, None] * np.exp(0.002 * generator.standard_normal((2, 12)))

    (row,) = compared(np.round(true[:1]) * US, np.round(true[1:]) * US, resolution=US).rows

    assert row.old
    assert row.new
    assert {*row.old.values, *row.new.values} == {16_000.0}
    assert (row.verdict, row.ratio) == ("inconclusive", 1.0)
    assert row.interval == pytest.approx((15.5 / 16.5, 16.5 / 15.5))


def test_each_end_of_the_interval_includes_the_rounding_of_the_values(compared: Compared) -> None:
    old, new = np.full(12, 100.0 * US), np.full(12, 110.0 * US)

    (row,) = compared(old, new, resolution=2 * US).rows

    assert row.interval == pytest.approx((109 / 101, 111 / 99))
    assert row.verdict == "worse"


def test_change_that_rounding_alone_can_explain_is_not_reported(compared: Compared) -> None:
    old, new = np.full(12, 100.0 * US), np.array([104.0, 102, 104, 102, 104, 102, 104, 104, 104, 104, 104, 104]) * US

    (row,) = compared(old, new, resolution=3.2 * US).rows

    assert row.p_adjusted == pytest.approx(2 * 2 / 2**12)
    assert row.ratio is not None
    assert row.threshold is not None
    assert row.ratio - 1 > row.threshold
    assert row.interval is not None
    assert (row.interval[0] or 0) < 1
    assert row.verdict == "inconclusive"
    assert "a change, but rounding alone may explain it" in remark(row)


def test_intervals_of_sessions_are_widened_like_intervals_of_pairs(side: Side) -> None:
    values = np.full((1, 12), 16 * US)
    places = [2 * session + session % 2 for session in range(12)], [2 * session + 1 - session % 2 for session in range(12)]
    old, new = (
        side(values, when, session=[f"{name}-{run}" for run in range(12)], resolution=US) for when, name in zip(places, ("old", "new"), strict=True)
    )

    (row,) = compare(old, new, Policy()).rows

    assert (row.design, row.verdict) == ("sessions", "inconclusive")
    assert row.interval == pytest.approx((15.5 / 16.5, 16.5 / 15.5))


def test_interval_of_loss_is_widened_by_percentage_points_if_loss_is_printed_in_whole_percent(compared: Compared) -> None:
    said = {"metric": "loss", "statistic": "total", "test": "throughput", "resolution": 0.01}

    (loss,) = compared(np.full(12, 0.02), np.full(12, 0.03), **said).losses

    assert loss.interval == pytest.approx((0.0, 0.02))
    assert loss.verdict == "inconclusive"


def test_value_below_half_a_step_may_be_zero(compared: Compared) -> None:
    (row,) = compared(np.full(12, 0.5 * US), np.full(12, 5 * US), resolution=US).rows

    assert row.interval is not None
    assert row.interval[0] == pytest.approx(4.5)
    assert row.interval[1] is None
    assert row.detectable is None


@pytest.mark.parametrize("paired", [True, False])
def test_interval_of_rounded_values_contains_the_interval_of_the_true_values(*, paired: bool) -> None:
    generator = np.random.default_rng(3)
    true = 20 * np.exp(0.05 * generator.standard_t(3, (2, 500, 9)))
    printed, half = np.round(true), 0.5
    low, high = np.log(np.maximum(printed - half, 1e-9)), np.log(printed + half)
    hidden = RoundingRange(low[0], high[0], low[1], high[1])
    old, new = np.log(true)
    one, two = np.log(printed)

    exact = paired_shift(new - old) if paired else unpaired_shift(old, new)
    wide = paired_shift(two - one, hidden) if paired else unpaired_shift(one, two, hidden)

    for below, above in ((wide.low, exact.low), (exact.high, wide.high), (wide.inner_low, exact.inner_low), (exact.inner_high, wide.inner_high)):
        assert (below <= above + 1e-12).all()
