"""Controls of runs that do not take turns in pairs: what all of them show together, and what they cannot show. The truth is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from tests.depth import tries
from tests.diff.bounds import at_most
from tests.diff.conftest import make_side
from tests.diff.test_controls import CONTROLS, Host, is_false, moved, msgspec_replace, with_controls
from tests.diff.test_simulations import SD, Noise, iid, shared_by_rows

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison
from tacholog.compare.statistics import SharedRows, by_largest, splits_of
from tacholog.render.diff.text import text
from tacholog.store.frames import Dataset

Figure = Callable[[str, str], None]
REPORTS, RUNS, SESSIONS = tries(5, 20), 6, 8


def in_blocks(values: NDArray[np.float64], rows: int = 1) -> Comparison:
    """A report of two blocks of runs: the first rows are measured, all others are controls. Logarithms, shape (sides, rows, runs)."""
    level, runs = 10_000 * np.exp(values), values.shape[2]
    sides = [with_controls(one[:rows], one[rows:], list(range(first, first + runs))) for one, first in zip(level, (0, 100), strict=True)]
    return compare(sides[0], sides[1], Policy(), everything=False)


def of_host(host: Host, seed: int, *, controls: int = CONTROLS, runs: int = RUNS, noise: Noise = iid) -> Comparison:
    """A report of two blocks, the second of which was measured while the host was slower."""
    generator = np.random.default_rng(seed)
    values = noise(generator, (2, 1 + controls, runs))
    values[1] += np.log1p(host.percent / 100) + host.varies * generator.standard_normal((1 + controls, 1))
    return in_blocks(values)


def in_sessions(host: Host, seed: int, *, effect: float, runs: int = 3, rows: int = 4) -> Comparison:
    """A report of sessions that take turns, of several runs each. Each session has an effect on all of its rows."""
    generator = np.random.default_rng(seed)
    values = iid(generator, (2, rows + CONTROLS, SESSIONS * runs)) + np.repeat(effect * generator.standard_normal((2, 1, SESSIONS)), runs, axis=2)
    values[1] += np.log1p(host.percent / 100)
    level, sides = 10_000 * np.exp(values), []
    for side in (0, 1):
        places = [(2 * session + side) * runs + run for session in range(SESSIONS) for run in range(runs)]
        named = {"session": [f"{side}-{index // runs}" for index in range(SESSIONS * runs)], "repetition": None}
        sides.append(with_controls(level[side, :rows], level[side, rows:], places, **named))
    return compare(sides[0], sides[1], Policy(), everything=False)


def has_moved(report: Comparison) -> bool:
    assert report.controls is not None
    return bool(report.controls.moved)


def share_moved(made: Callable[[int], Comparison], reports: int = REPORTS) -> float:
    return float(np.mean([has_moved(made(seed)) for seed in range(reports)]))


def test_splits_that_no_other_split_exceeds_have_the_smallest_p() -> None:
    rows = SharedRows(np.array([0]), np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]), np.arange(6)[None])

    (p,) = by_largest([rows], 1, 3)

    assert p == pytest.approx(1 / 10)  # 20 splits, of which each and its mirror image count once
    assert (splits_of(3, 3), splits_of(6, 6), splits_of(5, 6), splits_of(8, 8)) == (10, 462, 462, 4096)


def test_a_row_that_lacks_a_run_is_compared_by_those_that_it_has() -> None:
    whole = SharedRows(np.array([0]), np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]), np.arange(6)[None])
    short = SharedRows(np.array([1]), np.array([[4.0, 2.0, 3.0, 1.0]]), np.array([[0, 2, 3, 5]]))

    together = by_largest([whole, short], 3, 3)

    assert together[0] == pytest.approx(1 / 10)
    assert together[1] > 0.3
    assert np.isnan(together[2])


def test_all_controls_together_show_what_none_of_them_shows_alone() -> None:
    report = of_host(Host(2), 1)

    controls = moved(report)
    assert controls.layout == "blocks"
    assert controls.change == pytest.approx(0.02, abs=0.01)
    assert (controls.p or 1) < 0.01
    # Alone, each control would need all new runs to be slower than all old ones: 0.0022 at best, times twelve.
    assert max(row.ratio or 0 for row in controls.rows) < 1.05


@pytest.mark.parametrize("noise", [iid, shared_by_rows], ids=lambda noise: noise.__name__)
def test_controls_of_one_host_seldom_move(noise: Noise, figure: Figure) -> None:
    found = share_moved(lambda seed: of_host(Host(0), seed, noise=noise))

    figure(f"blocks of {RUNS} runs, nothing changed, {noise.__name__}", f"{found:.1%} of {REPORTS} reports say that the host changed")
    assert found <= at_most(0.03, REPORTS)  # 3 % by design


@pytest.mark.parametrize(("host", "controls", "least"), [(Host(2), 12, 0.8), (Host(4), 4, 0.8)], ids=str)
def test_a_change_of_the_host_between_two_blocks_is_found(host: Host, controls: int, least: float, figure: Figure) -> None:
    found = share_moved(lambda seed: of_host(host, seed, controls=controls))

    figure(f"blocks of {RUNS} runs, host {host.percent:g} % slower, {controls} controls", f"found in {found:.1%} of {REPORTS} reports")
    assert found >= least


def test_a_control_that_lost_a_run_does_not_take_the_others_with_it() -> None:
    generator = np.random.default_rng(2)
    values = iid(generator, (2, 1 + CONTROLS, 8))
    values[1] += np.log1p(0.02)
    sides = [with_controls(one[:1], one[1:], list(range(first, first + 8))) for one, first in zip(10_000 * np.exp(values), (0, 100), strict=True)]
    results = sides[1].results
    lost = (results["run"] == "control/run-3") & (results["payload_bytes"] == 16)

    report = compare(sides[0], msgspec_replace(sides[1], sides[1].runs, results[~lost].reset_index(drop=True)), Policy(), everything=False)

    assert (moved(report).p or 1) < 0.01  # the mean of the eleven others has all of its runs


def test_sessions_that_differ_by_themselves_are_no_change_of_the_host(figure: Figure) -> None:
    found = share_moved(lambda seed: in_sessions(Host(0), seed, effect=2 * SD))

    figure(f"{SESSIONS} sessions a side in turns, session effect {2 * SD:.0%}", f"{found:.1%} of {REPORTS} reports say that the host changed")
    assert found <= tries(at_most(0.03, REPORTS), 0.1)


def test_a_host_that_was_slower_in_each_second_session_is_found_and_takes_the_verdict() -> None:
    report = in_sessions(Host(7), 3, effect=0.5 * SD)

    assert moved(report).layout == "sessions"
    assert not is_false(report)
    assert {row.reasons for row in report.rows} == {("host_changed",)}


def test_a_report_of_blocks_says_what_controls_cannot_show() -> None:
    shown = text(of_host(Host(4), 4))

    assert "Host changed: 4.3 % worse, by controls (p 0.0022)." in shown
    assert "the host was not the same during both, but neither when it changed nor why." in shown
    assert "not called better or worse" not in shown


def test_controls_under_other_conditions_are_not_judged() -> None:
    generator = np.random.default_rng(5)
    old, new = 10_000 * np.exp(iid(generator, (2, 1 + CONTROLS, 8)))
    sides = [with_controls(old[:1], old[1:], list(range(8))), with_controls(new[:1], new[1:] * 2, list(range(100, 108)))]
    control = sides[1].results["run"].str.startswith("control/")
    sides[1].results.loc[control, "waiting"] = "block"

    report = compare(sides[0], sides[1], Policy(), everything=False)

    assert report.controls is not None
    assert report.controls.moved is None
    assert {row.verdict for row in report.controls.rows} == {"not_comparable"}


def lossy_side(values: NDArray[np.float64], loss: NDArray[np.float64], places: list[int]) -> Dataset:
    """One side: a row of latency with its loss, and controls."""
    side = with_controls(values[:1], values[1:], places)
    lost = make_side(loss, places, metric="loss", statistic="total", unit="ratio", samples=None).results
    return msgspec_replace(side, side.runs, pd.concat([side.results, lost], ignore_index=True))


@pytest.mark.parametrize(("percent", "verdict"), [(0, "worse"), (7, "inconclusive")])
def test_loss_is_not_blamed_on_the_release_while_the_host_changed(percent: float, verdict: str) -> None:
    generator = np.random.default_rng(6)
    old, new = 10_000 * np.exp(iid(generator, (2, 1 + CONTROLS, 12)))
    nothing, some = np.zeros((1, 12)), 0.2 + 0.01 * generator.random((1, 12))
    order = np.arange(12) % 2
    places = (2 * np.arange(12) + order).tolist(), (2 * np.arange(12) + 1 - order).tolist()

    report = compare(lossy_side(old, nothing, places[0]), lossy_side(new * (1 + percent / 100), some, places[1]), Policy(), everything=False)

    (loss,) = report.losses
    assert loss.verdict == verdict
    assert report.loss_counts[verdict] == 1
    assert ("the host changed, and that may explain it" in text(report)) == (verdict == "inconclusive")
