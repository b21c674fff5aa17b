"""Comparisons whose truth is known, simulated at length: how often they are wrong, and how much they find. Percent of reports or of rows.

The short form of each is a test in ``tests/diff/test_simulations.py`` or ``tests/diff/test_order.py``; the kinds of noise come from there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from perf_table import Goal, Row

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.result import Report

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.diff.conftest import make_side
from tests.diff.test_order import in_sessions, places_of
from tests.diff.test_simulations import (
    ROWS,
    SD,
    Noise,
    autocorrelated,
    bimodal,
    drift,
    heavy_tails,
    iid,
    in_pairs,
    printed_in_steps,
    share,
    shared_by_rows,
    sticky_modes,
    verdicts,
)

Floats = NDArray[np.float64]
NOISES: tuple[Noise, ...] = (iid, drift, heavy_tails, autocorrelated, bimodal, sticky_modes, shared_by_rows)
REPORTS, AT_ONCE, WHOLE_REPORTS = 2000, 100, 20
AT_MOST, AT_LEAST = Goal("<=", 1), Goal(">=", 1)
SHIFTS = (0.0, 1.0, 2.0, 3.0, 4.5, 10.0, -3.0, -4.5)
SLOWER = float(np.log(1.07))


def percent(what: str, share_found: float, limit: float | None = None, goal: Goal | None = None) -> Row:
    """A share as a row, in percent, beside what it must be."""
    return Row(what, 100 * share_found, "%", "goal" if goal else "", float("nan") if limit is None else limit, goal)


def truths() -> Iterator[Row]:
    """All tables."""
    yield from false_reports()
    yield from power()
    yield from rounding()
    yield from sessions()
    yield from positions()


def _reports(reports: int, made: Callable[[np.random.Generator, int], NDArray[np.int64]], seed: int) -> NDArray[np.int64]:
    """The verdicts of so many reports, some at a time: the averages of all pairs of all rows take much memory."""
    generator = np.random.default_rng(seed)
    return np.concatenate([made(generator, AT_ONCE) for _ in range(reports // AT_ONCE)])


def false_reports() -> Iterator[Row]:
    """One build against itself, in pairs: the reports that call any of 40 rows better or worse."""
    for pairs in (12, 30):
        for noise in NOISES:

            def made(generator: np.random.Generator, count: int, noise: Noise = noise, pairs: int = pairs) -> NDArray[np.int64]:
                return verdicts(in_pairs(generator, noise(generator, (count, ROWS, 2 * pairs))))

            found = _reports(REPORTS, made, 101)
            false = share(found, "better", "worse").any(axis=1).mean()
            yield percent(f"one build, {pairs} pairs, {noise.__name__}: reports with a false row", false, 5, AT_MOST)


def power() -> Iterator[Row]:
    """A change of some of 40 rows: the changed rows that are called worse, or had too few pairs to be."""
    cases = ((12, 1, 5), (12, 1, 10), (12, 4, 5), (15, 1, 5), (8, 1, 10), (6, 1, 50), (6, 20, 50))
    for pairs, changed, change in cases:
        for noise in (iid, heavy_tails):

            def made(
                generator: np.random.Generator, count: int, noise: Noise = noise, pairs: int = pairs, changed: int = changed, change: int = change
            ) -> NDArray[np.int64]:
                old, new = noise(generator, (2 * count, ROWS, pairs)).reshape(2, count, ROWS, pairs)
                new[:, :changed] += np.log1p(change / 100)
                return verdicts((new - old).reshape(-1, pairs))

            found = _reports(REPORTS // 2, made, 102)[:, :changed]
            what = f"+{change} % in {changed} of {ROWS} rows, {pairs} pairs, {noise.__name__}"
            yield percent(f"{what}: rows called worse", share(found, "worse").mean())
            if pairs < 11:
                yield percent(f"{what}: too few pairs", share(found, "too_few_pairs").mean())


def rounding() -> Iterator[Row]:
    """Values printed in steps of 2 % of themselves: the rows whose 95 % interval holds the truth, and those falsely called alike."""
    for noise in (iid, heavy_tails):
        for scale in (0.05, 0.25, 0.5, 1.0):
            for pairs in (8, 12, 20):
                what = f"steps of 2 %, noise {SD * scale:.1%} {noise.__name__}, {pairs} pairs"
                found = {
                    shift: printed_in_steps(np.random.default_rng(103), noise, float(np.log1p(shift / 100)), pairs, scale=scale, rows=4000)
                    for shift in SHIFTS
                }
                yield percent(f"{what}: least coverage", min(one.covered for one in found.values()), 94, AT_LEAST)
                alike = max(one.alike for shift, one in found.items() if abs(np.log1p(shift / 100)) >= np.log1p(0.03))
                yield percent(f"{what}: most falsely alike", alike, 5, AT_MOST)


def _false(report: Report) -> bool:
    return report.counts["better"] + report.counts["worse"] > 0


def sessions() -> Iterator[Row]:
    """Sessions on a machine that gets 7 % slower halfway, and alternating ones with a true change of 7 %."""
    for order in ("O" * 8 + "N" * 8, "OOOONNNN" * 2, "OONN" * 4, "ON" * 8, "ONNO" * 4, "ON" * 12):
        reports = [in_sessions(make_side, order, slower=SLOWER, seed=seed) for seed in range(WHOLE_REPORTS)]
        yield percent(f"sessions {order}, 7 % slower halfway: reports with a false row", float(np.mean([_false(one) for one in reports])), 5, AT_MOST)
    for order in ("OONN" * 4, "ON" * 8, "ONNO" * 4):
        reports = [in_sessions(make_side, order, change=SLOWER, seed=seed) for seed in range(WHOLE_REPORTS)]
        yield percent(f"sessions {order}, new 7 % slower: rows called worse", float(np.mean([one.counts["worse"] / ROWS for one in reports])))


def positions() -> Iterator[Row]:
    """Whoever runs second in a pair is 5 % slower: the reports that call any row better or worse, by how often the new side went first."""
    for later in (0, 1, 2, 3, 6):
        first = np.array([True] * (12 - later) + [False] * later)
        false = []
        for seed in range(WHOLE_REPORTS):
            noise = 0.01 * np.random.default_rng(seed).standard_normal((2, ROWS, 12))
            second = np.log(1.05) * np.array([~first, first])[:, None, :]
            sides = [make_side(10_000 * np.exp(values), when) for values, when in zip(noise + second, places_of(first.tolist()), strict=True)]
            false.append(_false(compare(sides[0], sides[1], Policy())))
        yield percent(f"second is 5 % slower, new first in {later} of 12 pairs: reports with a false row", float(np.mean(false)), 5, AT_MOST)
