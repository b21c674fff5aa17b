"""Tests the complete decision rule on artificial campaigns whose true change is known. The results are printed at the end of the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.depth import tries
from tests.diff.bounds import at_least, at_most

from tacholog.compare.diff.design import Design as LaidOut
from tacholog.compare.diff.estimate import Estimates, adjusted_together, no_estimates
from tacholog.compare.diff.verdict import CODE, by_shift
from tacholog.compare.power import RunCounts, attainable, share_of_largest
from tacholog.compare.result import Comparison
from tacholog.compare.statistics import RoundingRange, SharedRows, Shift, adjusted, adjusted_each, paired_shift, unpaired_shift

REPORTS, ROWS, PAIRS = tries(60, 400), 40, 12
SD = 0.02
FALSE = tries(at_most(0.05, REPORTS), 0.05)  # The largest allowed share of reports that call an unchanged row better or worse.
Floats = NDArray[np.float64]
Figure = Callable[[str, str], None]
Noise = Callable[[np.random.Generator, tuple[int, ...]], Floats]


def iid(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return np.asarray(SD * generator.standard_normal(shape))


def drift(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return iid(generator, shape) + np.linspace(0, 0.06, shape[-1])


def heavy_tails(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return np.asarray(SD * generator.standard_t(3, shape) / np.sqrt(3))


def autocorrelated(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    steps, found = iid(generator, shape), np.zeros(shape)
    found[..., 0] = steps[..., 0]
    for run in range(1, shape[-1]):
        found[..., run] = 0.7 * found[..., run - 1] + np.sqrt(1 - 0.7**2) * steps[..., run]
    return found


def bimodal(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Return noise with two modes: about three of ten runs are 15 % slower."""
    return iid(generator, shape) + np.where(generator.random(shape) < 0.3, np.log(1.15), 0.0)


def sticky_modes(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    slow = generator.random(shape) < 0.3
    changes = generator.random(shape) < 1 / 8
    for run in range(1, shape[-1]):
        slow[..., run] = np.where(changes[..., run], slow[..., run], slow[..., run - 1])
    return iid(generator, shape) + np.where(slow, np.log(1.15), 0.0)


def outliers(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """About four of a hundred runs are much slower, by 0.5 in logarithms."""
    return iid(generator, shape) + np.where(generator.random(shape) < 0.04, 0.5, 0.0)


def shared_by_rows(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """The noise has two parts with equal deviation. One differs between rows, the other is the same for all rows of a run."""
    return iid(generator, shape) + SD * generator.standard_normal((shape[0], 1, shape[-1]))


def in_pairs(generator: np.random.Generator, runs: Floats) -> Floats:
    """Return the difference between the two runs of each pair, shape (reports * rows, pairs). The old run of each pair is chosen at random."""
    both = runs.reshape(*runs.shape[:2], -1, 2)
    swapped = generator.random((len(runs), 1, both.shape[2])) < 0.5
    difference = both[..., 1] - both[..., 0]
    return np.where(swapped, -difference, difference).reshape(-1, both.shape[2])


def verdicts(differences: Floats, rows: int = ROWS, thresholds: Floats | None = None) -> NDArray[np.int64]:
    """Return the verdict of each row of each report as a code of ``CODE``, shape (reports, rows).

    ``thresholds`` has a threshold for each row of each report, as a logarithm. If it is ``None``, every threshold is 3 %.
    """
    shift = paired_shift(differences)
    pairs = differences.shape[1]
    p = np.concatenate([adjusted_together(*report) for report in reports_of(differences, shift, rows)])
    least = np.full(len(p), np.log1p(0.03)) if thresholds is None else thresholds
    reach = attainable(RunCounts(pairs, pairs, rows, paired=True), share_of_largest([pairs], 0.05))
    return by_shift(shift, p, (least, least), np.ones(len(p), bool), 0.05, reach).reshape(-1, rows)


def reports_of(differences: Floats, shift: Shift, rows: int) -> Iterator[tuple[Estimates, NDArray[np.int64], float]]:
    """Yield the arguments of `adjusted_together` for each report. Within a report, all rows have the same pairs."""
    pairs, family = differences.shape[1], np.arange(rows)
    numbers = np.tile(np.arange(pairs), (rows, 1))
    every = np.ones(rows, bool)
    design = lay_out_nothing(pairs)
    for first in range(0, len(differences), rows):
        part = slice(first, first + rows)
        of_report = Shift(*(column[part] for column in shift))
        in_pairs = [SharedRows(family, differences[part], numbers)]
        groups = np.full((rows, 2), pairs)
        untested = no_estimates(np.zeros(rows, np.int64), (design,))
        yield untested._replace(tested=every, shift=of_report, groups=groups, in_pairs=in_pairs), family, 0.05


def lay_out_nothing(pairs: int) -> LaidOut:
    """Return the design of interleaved pairs, without the positions of runs."""
    nothing = np.zeros(0, np.int64)
    return LaidOut("paired", nothing, nothing, pairs, pairs)


class Printed(NamedTuple):
    """Shares of rows whose intervals are right although the values are rounded.

    Attributes:
        covered: the share of rows whose 95 % interval contains the true change.
        alike: the share of rows whose 90 % interval shows that nothing changed.
    """

    covered: float
    alike: float


def printed_in_steps(generator: np.random.Generator, noise: Noise, shift: float, pairs: int, *, scale: float = 1.0, rows: int = 2000) -> Printed:
    """Simulate values that a tool prints in steps of 2 %, and return for how many rows the intervals are right.

    The true value of a row has a random position between two steps. The noise is multiplied by ``scale``.
    """
    step = 0.02
    level = 1 + step * generator.random((1, rows, 1))
    true = level * np.exp(scale * noise(generator, (2, rows, pairs)) + np.array([0.0, shift])[:, None, None])
    values = np.round(true / step) * step
    low, high = np.log(np.maximum(values - step / 2, 1e-9)), np.log(values + step / 2)
    old, new = np.log(np.maximum(values, 1e-9))
    found = paired_shift(new - old, RoundingRange(low[0], high[0], low[1], high[1]))
    limit = np.log1p(0.03)
    alike = (found.inner_low > -limit) & (found.inner_high < limit)
    return Printed(float(((found.low <= shift) & (shift <= found.high)).mean()), float(alike.mean()))


def share(found: NDArray[np.int64], *kinds: str) -> NDArray[np.bool_]:
    return np.isin(found, [code for name, code in CODE.items() if name in kinds])


@pytest.mark.parametrize("noise", [iid, drift, heavy_tails, autocorrelated, bimodal, sticky_modes, shared_by_rows, outliers])
def test_pairs_of_one_build_are_called_better_or_worse_in_at_most_one_report_in_twenty(noise: Noise, figure: Figure) -> None:
    generator = np.random.default_rng(11)

    found = verdicts(in_pairs(generator, noise(generator, (REPORTS, ROWS, 2 * PAIRS))))

    alarms = share(found, "better", "worse").any(axis=1).mean()
    alike, open_ = share(found, "no_change").mean(), share(found, "inconclusive").mean()
    figure(f"A/A, {noise.__name__}", f"false better/worse in {alarms:.1%} of {REPORTS} reports; rows: {alike:.0%} no change, {open_:.0%} too noisy")
    assert alarms <= FALSE


@pytest.mark.parametrize("noise", [iid, heavy_tails])
@pytest.mark.parametrize("scale", [0.05, 0.25, 1.0])
def test_interval_of_values_printed_in_steps_of_two_percent_contains_the_true_change(noise: Noise, scale: float, figure: Figure) -> None:
    found = {
        (shift, pairs): printed_in_steps(np.random.default_rng(31), noise, np.log1p(shift / 100), pairs, scale=scale, rows=500)
        for shift in (0.0, 1.0, 4.5, -4.5, 10.0)
        for pairs in (8, 12)
    }

    least = min(one.covered for one in found.values())
    alike = max(one.alike for (shift, _), one in found.items() if abs(shift) > 3)
    figure(
        f"steps of 2 %, noise {scale * SD:.1%} {noise.__name__}",
        f"interval holds the truth in at least {least:.1%}; +-4.5 % called alike {alike:.1%}",
    )
    assert least >= 0.94
    assert alike <= 0.05


def test_rows_that_are_five_percent_slower_are_detected(figure: Figure) -> None:
    generator = np.random.default_rng(12)
    changed = 4
    old, new = iid(generator, (2, REPORTS, ROWS, PAIRS))
    new[:, :changed] += np.log(1.05)

    found = verdicts((new - old).reshape(-1, PAIRS))

    worse, others = share(found, "worse"), share(found, "better", "worse")[:, changed:]
    power, any_found = worse[:, :changed].mean(), worse[:, :changed].any(axis=1).mean()
    figure(
        "+5 % in 4 of 40 rows, 2 % noise, 12 pairs",
        f"{power:.1%} of rows and {any_found:.1%} of reports found; {others.any(axis=1).mean():.1%} of reports false",
    )
    assert power >= tries(at_least(0.9, REPORTS), 0.9)
    assert any_found >= tries(at_least(0.9, REPORTS), 0.9)
    assert others.any(axis=1).mean() <= FALSE


def test_single_slower_row_of_a_gate_is_detected_in_nine_of_ten_reports(figure: Figure) -> None:
    generator = np.random.default_rng(21)
    old, new = iid(generator, (2, REPORTS, 4, PAIRS))
    new[:, 0] += np.log(1.05)
    shift = paired_shift((new - old).reshape(-1, PAIRS))

    p = np.array([adjusted_each(gate) for gate in shift.p.reshape(-1, 4)])
    called = (p < 0.05) & (np.abs(shift.estimate.reshape(-1, 4)) >= np.log1p(0.03))

    figure("+5 % in 1 of 4 rows of a gate, 12 pairs", f"found in {called[:, 0].mean():.1%} of reports; {called[:, 1:].any(axis=1).mean():.1%} false")
    assert called[:, 0].mean() >= tries(at_least(0.9, REPORTS), 0.9)
    assert called[:, 1:].any(axis=1).mean() <= FALSE


@pytest.mark.parametrize(("changed", "least"), [(1, 0.8), (2, 0.9), (4, 0.99)])
def test_report_with_more_changed_rows_has_a_worse_row_more_often(changed: int, least: float, figure: Figure) -> None:
    generator = np.random.default_rng(18)
    old, new = iid(generator, (2, REPORTS, ROWS, PAIRS))
    new[:, :changed] += np.log(1.05)

    reports = share(verdicts((new - old).reshape(-1, PAIRS)), "worse")[:, :changed].any(axis=1).mean()

    figure(f"+5 % in {changed} of 40 rows, 2 % noise, 12 pairs", f"{reports:.1%} of reports say that a row is worse")
    assert reports >= tries(at_least(least, REPORTS), least)


def test_sessions_of_one_build_are_rarely_called_better_or_worse(figure: Figure) -> None:
    generator = np.random.default_rng(19)
    sessions = 8
    # Random differences between sessions, which are the same for all rows of a session.
    shared = 0.02 * generator.standard_normal((2, REPORTS, 1, sessions))
    old, new = iid(generator, (2, REPORTS, ROWS, sessions)) + shared

    shift = unpaired_shift(old.reshape(-1, sessions), new.reshape(-1, sessions))
    p = np.concatenate([adjusted(report) for report in shift.p.reshape(-1, ROWS)])
    threshold = np.full(len(p), np.log1p(0.03))
    found = by_shift(shift, p, (threshold, threshold), np.ones(len(p), bool), 0.05).reshape(-1, ROWS)

    alarms = share(found, "better", "worse").any(axis=1).mean()
    figure("A/A, 8 sessions a side that share their luck over all rows", f"false better/worse in {alarms:.1%} of {REPORTS} reports")
    assert alarms <= FALSE


def test_change_of_two_percent_is_below_the_threshold_and_mostly_no_change_or_inconclusive(figure: Figure) -> None:
    generator = np.random.default_rng(14)
    old, new = iid(generator, (2, REPORTS, ROWS, PAIRS))

    found = verdicts((new + np.log(1.02) - old).reshape(-1, PAIRS))

    parts = [share(found, name).mean() for name in ("worse", "no_change", "inconclusive")]
    figure("+2 % in all rows, 2 % noise, 12 pairs", f"{parts[0]:.0%} worse, {parts[1]:.0%} no change, {parts[2]:.0%} too noisy")
    assert share(found, "better").mean() == 0


def test_report_has_the_same_verdicts_as_the_simulation(compared: Callable[..., Comparison]) -> None:
    generator = np.random.default_rng(15)
    old, new = iid(generator, (2, ROWS, PAIRS))
    new[:4] += np.log(1.05)

    report = compared(10_000 * np.exp(old), 10_000 * np.exp(new))

    expected = verdicts(new - old)[0]
    assert {row.key.payload_bytes: CODE[row.verdict] for row in report.rows} == {16 * (row + 1): code for row, code in enumerate(expected)}
