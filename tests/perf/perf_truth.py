"""Comparisons with a known truth, in long simulations: their error rate and their power. Figures are percentages of reports or of rows.

Each simulation has a short form as a test in ``tests/diff/test_simulations.py`` or ``tests/diff/test_order.py``, which also define the kinds of
noise.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from perf_table import Goal, Row

from tacholog.compare.diff.compare import compare
from tacholog.compare.diff.verdict import by_shift
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison
from tacholog.compare.statistics import adjusted, paired_shift

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.diff.conftest import make_side
from tests.diff.test_changepoints import found_at, page, slow_drift, steps
from tests.diff.test_controls import Host, of_host, report_of, share_moved
from tests.diff.test_controls import in_sessions as controls_in_sessions
from tests.diff.test_order import in_sessions, places_of
from tests.diff.test_power import CAMPAIGNS, CASES, Case, at_the_detectable_change, measured, resampled, swapped, with_change
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
    outliers,
    printed_in_steps,
    share,
    shared_by_rows,
    sticky_modes,
    verdicts,
)

Floats = NDArray[np.float64]
NOISES: tuple[Noise, ...] = (iid, drift, heavy_tails, autocorrelated, bimodal, sticky_modes, shared_by_rows, outliers)
REPORTS, AT_ONCE, WHOLE_REPORTS = 2000, 100, 20
HOST_REPORTS, PAGES, ENOUGH_CONTROLS = 300, 300, 8
AT_MOST, AT_LEAST = Goal("<=", 1), Goal(">=", 1)
SHIFTS = (0.0, 1.0, 2.0, 3.0, 4.5, 10.0, -3.0, -4.5)
SLOWER = float(np.log(1.07))


def percent(what: str, share_found: float, limit: float | None = None, goal: Goal | None = None) -> Row:
    return Row(what, 100 * share_found, "%", "goal" if goal else "", float("nan") if limit is None else limit, goal)


def truths() -> Iterator[Row]:
    yield from false_reports()
    yield from power()
    yield from real_noise()
    yield from detection()
    yield from hosts()
    yield from blocks()
    yield from histories()
    yield from rounding()
    yield from sessions()
    yield from positions()


def _reports(reports: int, made: Callable[[np.random.Generator, int], NDArray[np.int64]], seed: int) -> NDArray[np.int64]:
    """Return the verdicts of many simulated reports. They are computed in portions, because a report needs much memory."""
    generator = np.random.default_rng(seed)
    return np.concatenate([made(generator, AT_ONCE) for _ in range(reports // AT_ONCE)])


def false_reports() -> Iterator[Row]:
    """Yield the share of reports that call any of 40 rows better or worse although both sides are the same build."""
    for pairs in (6, 8, 12, 30):
        false: list[float] = []
        for noise in NOISES:

            def made(generator: np.random.Generator, count: int, noise: Noise = noise, pairs: int = pairs) -> NDArray[np.int64]:
                return verdicts(in_pairs(generator, noise(generator, (count, ROWS, 2 * pairs))))

            found = _reports(REPORTS // 2, made, 101)
            false.append(share(found, "better", "worse").any(axis=1).mean())
            yield percent(f"one build, {pairs} pairs, {noise.__name__}: reports with a false row", false[-1], 7, AT_MOST)
        yield percent(f"one build, {pairs} pairs, all kinds of noise: reports with a false row", float(np.mean(false)), 5, AT_MOST)


def by_ranks(differences: Floats) -> NDArray[np.int64]:
    """Return the verdicts that reports would have if only the rank test decided, with the whole significance level."""
    shift = paired_shift(differences)
    p = np.concatenate([adjusted(report) for report in shift.p.reshape(-1, ROWS)])
    least = np.full(len(p), np.log1p(0.03))
    return by_shift(shift, p, (least, least), np.ones(len(p), bool), 0.05).reshape(-1, ROWS)


def power() -> Iterator[Row]:
    """Yield the share of changed rows that are called worse: with both tests, and with the rank test alone. Some of 40 rows changed."""
    others = ((12, 1, 10), (12, 4, 5), (12, 20, 5), (14, 1, 5), (10, 1, 5), (10, 20, 5), (8, 4, 10), (8, 20, 5), (8, 40, 5), (7, 1, 10))
    more = [Case(pairs, changed, percent, noise, 0.0) for pairs, changed, percent in others for noise in (iid, outliers)]
    for case in (*CASES, *more):
        found: list[float] = []
        ranks: list[float] = []
        for seed in range(REPORTS // 2 // AT_ONCE):
            differences = with_change(case, AT_ONCE, seed)
            for verdict, kept in ((verdicts(differences), found), (by_ranks(differences), ranks)):
                kept.append(share(verdict, "worse")[:, : case.changed].mean())
        what = f"+{case.percent:g} % in {case.changed} of {ROWS} rows, {case.pairs} pairs, {case.noise.__name__}: rows called worse"
        yield percent(what, float(np.mean(found)), 100 * case.least or None, AT_LEAST if case.least else None)
        yield percent(f"{what}, by the ranks alone", float(np.mean(ranks)))


def real_noise() -> Iterator[Row]:
    """Yield how often reports find a change and how often they have a false row, with the noise of real campaigns.

    First, a single row is changed. Then, nothing is changed, but old and new runs are swapped at random.
    """
    lone = []
    for name in CAMPAIGNS:
        campaign = measured(Path(__file__).parents[2] / "data/perftest" / name)
        for pairs, change in ((8, 10), (12, 10), (12, 5)):
            found = resampled(campaign, pairs, change, REPORTS // 2, 104)
            lone += [found.changed] if pairs == 8 else []
            yield percent(f"{name}: +{change} % in one row, {pairs} pairs: found", found.changed)
            yield percent(f"{name}: +{change} % in one row, {pairs} pairs: reports with a false row", found.false, 5, AT_MOST)
        yield percent(f"{name}: labels swapped at random: reports with a false row", swapped(campaign, REPORTS // 2, 105), 5, AT_MOST)
    yield percent("both campaigns: +10 % in one row, 8 pairs: found", float(np.mean(lone)), 45, AT_LEAST)


def detection() -> Iterator[Row]:
    """Yield the share of reports that find the only changed row. This row changes by exactly the size that the report prints as detectable."""
    for pairs in (6, 7, 8, 10, 12, 15, 20, 30):
        for rows in (1, 4, 40):
            for sd in (0.02, 0.1):
                found = at_the_detectable_change(pairs, rows, sd, REPORTS // 2)
                yield percent(
                    f"the detectable change in one of {rows} rows, {pairs} pairs, noise of pairs {100 * sd:g} %: found", found, 75, AT_LEAST
                )
                yield percent(f"the detectable change in one of {rows} rows, {pairs} pairs, noise of pairs {100 * sd:g} %: found", found, 85, AT_MOST)


def hosts() -> Iterator[Row]:
    """Yield the share of reports with a false row. The host is slower on the new side, the build is the same, and the number of controls varies."""
    for slower in (1, 2, 3, 4, 7):
        for varies in (0.0, 0.03):
            for controls in (0, 4, 8, 12):
                host = Host(slower, varies)
                false = float(np.mean([_false(report_of(host, seed, controls=controls)) for seed in range(HOST_REPORTS)]))
                what = f"host {slower} % slower, varying by {varies:.0%}, {controls} controls: reports with a false row"
                enough = controls >= ENOUGH_CONTROLS
                yield percent(what, false, 5 if enough else None, AT_MOST if enough else None)
    found = [row.verdict == "worse" for seed in range(HOST_REPORTS) for row in report_of(Host(0), seed, lone=5).rows if row.key.payload_bytes == 16]
    yield percent("+5 % in one row, 12 pairs, with 12 controls: found", float(np.mean(found)), 80, AT_LEAST)


def blocks() -> Iterator[Row]:
    """Yield the share of reports that state a change of the host: first for an unchanged host, then for a changed host.

    Each side is a block of runs.
    """
    for noise in (iid, heavy_tails, outliers, bimodal, shared_by_rows, autocorrelated):
        for controls, runs in ((12, 6), (12, 8), (2, 6)):
            found = share_moved(functools.partial(of_host, Host(0), noise=noise, controls=controls, runs=runs), HOST_REPORTS)
            # With autocorrelated noise, the host itself changes between the blocks. So the share of reports has no limit.
            limit = (None, None) if noise is autocorrelated else (5, AT_MOST)
            yield percent(
                f"blocks of {runs} runs, {controls} controls, nothing changed, {noise.__name__}: the controls say that it did", found, *limit
            )
    for slower in (1, 2, 3, 4, 7):
        for varies in (0.0, 0.03):
            for controls in (2, 4, 12):
                found = share_moved(functools.partial(of_host, Host(slower, varies), controls=controls), HOST_REPORTS)
                yield percent(f"blocks of 6 runs, host {slower} % slower, varying by {varies:.0%}, {controls} controls: found", found)
    for effect in (0.0, 0.01, 0.04):
        found = share_moved(functools.partial(controls_in_sessions, Host(0), effect=effect), HOST_REPORTS)
        yield percent(f"8 sessions a side in turns, session effect {effect:.0%}: the controls say that the host changed", found, 5, AT_MOST)
        found = share_moved(functools.partial(controls_in_sessions, Host(4), effect=effect), HOST_REPORTS)
        yield percent(f"8 sessions a side in turns, session effect {effect:.0%}, host 4 % slower: found", found)


def histories() -> Iterator[Row]:
    """Yield how often the steps and drifts of histories are found. Then yield how often a change is found in histories without a change."""
    for session in (0.0, 0.01):
        goal = None if session else AT_LEAST
        stepped = [page(seed, steps(), session=session) for seed in range(PAGES)]
        for release, sign, what in ((10, 1, "+4 %"), (20, -1, "-6 %")):
            there = float(np.mean([found_at(found, release, sign) for found in stepped]))
            yield percent(f"history, session effect {session:.0%}: step of {what} found", there, None if session else 95, goal)
        drifts = [page(seed, slow_drift(), session=session) for seed in range(PAGES)]
        there = float(np.mean([any((one.history, one.kind) == (0, "drift") for one in found) for found in drifts]))
        yield percent(f"history, session effect {session:.0%}: +1 % a release over ten found as a drift", there, None if session else 95, goal)
        false = float(np.mean([bool(page(PAGES + seed, session=session)) for seed in range(PAGES)]))
        yield percent(f"history, session effect {session:.0%}: pages without a change that show one", false, 5, AT_MOST)


def rounding() -> Iterator[Row]:
    """Yield two figures for each kind of values printed in steps of 2 %.

    The first figure is the share of intervals (95 %) that contain the true change. The second figure is the share of changed rows that are judged
    as alike.
    """
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


def _false(report: Comparison) -> bool:
    return report.counts["better"] + report.counts["worse"] > 0


def sessions() -> Iterator[Row]:
    """Yield how reports judge sides that were measured in several sessions, for several orders of the sessions.

    First, the machine gets 7 % slower after half of the sessions, and the share of reports with a false row is yielded. Then, the new side is 7 %
    slower, and the share of rows that are called worse is yielded.
    """
    for order in ("O" * 8 + "N" * 8, "OOOONNNN" * 2, "OONN" * 4, "ON" * 8, "ONNO" * 4, "ON" * 12):
        reports = [in_sessions(make_side, order, slower=SLOWER, seed=seed) for seed in range(WHOLE_REPORTS)]
        yield percent(f"sessions {order}, 7 % slower halfway: reports with a false row", float(np.mean([_false(one) for one in reports])), 5, AT_MOST)
    for order in ("OONN" * 4, "ON" * 8, "ONNO" * 4):
        reports = [in_sessions(make_side, order, change=SLOWER, seed=seed) for seed in range(WHOLE_REPORTS)]
        yield percent(f"sessions {order}, new 7 % slower: rows called worse", float(np.mean([one.counts["worse"] / ROWS for one in reports])))


def positions() -> Iterator[Row]:
    """Yield the share of reports with a false row if the second run of each pair is 5 % slower.

    The share depends on how often the new side goes first: in none, 1, 2, 3 or 6 of twelve pairs.
    """
    for later in (0, 1, 2, 3, 6):
        first = np.array([True] * (12 - later) + [False] * later)
        false = []
        for seed in range(WHOLE_REPORTS):
            noise = 0.01 * np.random.default_rng(seed).standard_normal((2, ROWS, 12))
            second = np.log(1.05) * np.array([~first, first])[:, None, :]
            sides = [make_side(10_000 * np.exp(values), when) for values, when in zip(noise + second, places_of(first.tolist()), strict=True)]
            false.append(_false(compare(sides[0], sides[1], Policy())))
        yield percent(f"second is 5 % slower, new first in {later} of 12 pairs: reports with a false row", float(np.mean(false)), 5, AT_MOST)
