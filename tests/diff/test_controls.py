"""Simulated changes of the release or of the host: does the report name the right cause, with and without controls?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from tests.depth import tries
from tests.diff.bounds import at_least, at_most
from tests.diff.conftest import HOST, make_side
from tests.diff.test_simulations import PAIRS, ROWS, SD, Floats, Noise, iid, shared_by_rows

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison, ComparisonRow, Controls
from tacholog.compare.statistics import SharedRows, by_largest, splits_of
from tacholog.render.diff.page import html
from tacholog.render.diff.text import markdown, text
from tacholog.render.diff.words import remark
from tacholog.store.frames import Dataset

CONTROLS, REPORTS = 12, tries(5, 20)
Figure = Callable[[str, str], None]
LABEL = '{"control": "yes"}'


def with_controls(rows: Floats, controls: Floats, places: list[int], **said: Any) -> Dataset:  # noqa: ANN401 - any column
    measured, beside = make_side(rows, places, **said), make_side(controls, places, labels=LABEL, **{"transport": "inter-thread"} | said)
    for table in (beside.runs, beside.results):
        table["run"] = "control/" + table["run"]
    runs, results = (pd.concat([getattr(side, name) for side in (measured, beside)], ignore_index=True) for name in ("runs", "results"))
    return msgspec_replace(measured, runs, results)


def msgspec_replace(side: Dataset, runs: pd.DataFrame, results: pd.DataFrame) -> Dataset:
    return Dataset(runs=runs, results=results, hosts=side.hosts, logs=side.logs, problems=side.problems, histograms=side.histograms)


def turns(pairs: int) -> tuple[list[int], list[int]]:
    """Return the positions in time of the old runs and of the new runs. The sides take turns in going first."""
    first = np.arange(pairs) % 2
    return (2 * np.arange(pairs) + first).tolist(), (2 * np.arange(pairs) + 1 - first).tolist()


class Host(NamedTuple):
    """A simulated change of the host.

    Attributes:
        percent: how much slower the rows become.
        varies: how much the slowdown differs between rows.
        shared: whether the controls become slower too.
    """

    percent: float
    varies: float = 0.0
    shared: bool = True


def report_of(host: Host, seed: int, *, lone: float = 0.0, controls: int = CONTROLS, pairs: int = PAIRS, **said: Any) -> Comparison:  # noqa: ANN401
    """Compare two sides with 40 rows and 2 % noise. The host makes the runs of the new side slower."""
    generator = np.random.default_rng(seed)
    old, new = iid(generator, (2, ROWS + controls, pairs))
    effect = np.log1p(host.percent / 100) + host.varies * generator.standard_normal((ROWS + controls, 1))
    effect[ROWS:] *= host.shared
    new = new + effect
    new[0] += np.log1p(lone / 100)
    sides = []
    for values, places in zip((old, new), turns(pairs), strict=True):
        level = 10_000 * np.exp(values)
        sides.append(with_controls(level[:ROWS], level[ROWS:], places, **said) if controls else make_side(level[:ROWS], places, **said))
    return compare(sides[0], sides[1], Policy(), everything=False)


def is_false(report: Comparison) -> bool:
    return report.counts["worse"] + report.counts["better"] > 0


def moved(report: Comparison) -> Controls:
    assert report.controls is not None
    assert report.controls.moved
    return report.controls


@pytest.mark.parametrize("host", [Host(1), Host(4), Host(1, 0.03), Host(7, 0.03)], ids=str)
def test_change_of_the_host_is_not_attributed_to_the_release_if_controls_show_the_same_change(host: Host, figure: Figure) -> None:
    found = [report_of(host, seed) for seed in range(REPORTS)]

    false = float(np.mean([is_false(report) for report in found]))
    figure(f"host {host.percent:g} % slower, varying by {host.varies:.0%}", f"{false:.1%} of {REPORTS} reports with a false row")
    assert false <= at_most(0.05, REPORTS)  # In a longer simulation, 5 % of the reports wrongly call a row better or worse.


def test_change_of_the_host_is_attributed_to_the_release_if_there_are_no_controls() -> None:
    report = report_of(Host(7), 1, controls=0)

    assert report.controls is None
    assert report.counts["worse"] == ROWS


def test_controls_have_separate_verdicts_and_no_rows_in_the_report() -> None:
    report = report_of(Host(7), 1)

    controls = moved(report)
    assert controls.change == pytest.approx(0.07, abs=0.01)
    assert len(controls.rows) == CONTROLS
    assert len(report.rows) == ROWS
    assert not any(row.key.apart for row in (*report.rows, *controls.rows))
    assert {row.host_change for row in report.rows} == {controls.change}
    assert {row.reasons for row in report.rows} == {("host_changed",)}


def test_change_that_is_larger_than_the_change_of_the_host_is_detected() -> None:
    report = report_of(Host(4), 2, lone=40)

    assert [row.key.payload_bytes for row in report.rows if row.verdict == "worse"] == [16]
    low, high = moved(report).explains or (None, None)
    assert low is not None
    assert high is not None
    assert low <= 0
    assert 0.04 < high < 0.2


def test_each_output_marks_rows_that_the_host_affected_and_lists_how_the_hosts_differ() -> None:
    generator = np.random.default_rng(3)
    old, new = 10_000 * np.exp(iid(generator, (2, ROWS + CONTROLS, PAIRS)) + np.array([0.0, np.log(1.04)])[:, None, None])
    later = msgspec.structs.replace(HOST, system={"kernel": "6.5"})
    places = turns(PAIRS)
    sides = with_controls(old[:ROWS], old[ROWS:], places[0]), with_controls(new[:ROWS], new[ROWS:], places[1], host=later)

    report = compare(sides[0], sides[1], Policy())

    row = report.rows[0]
    assert "host changed: 3.8 % worse, by controls" in remark(row)
    for show in (text, markdown, html):
        shown = show(report)
        assert "by controls" in shown
        assert "as candidates: system kernel 6.1 -" in shown


def test_transport_that_no_control_covers_is_reported() -> None:
    report = report_of(Host(7, shared=False), 4)

    assert report.controls is not None
    assert report.controls.moved is False
    assert report.counts["worse"] == ROWS
    assert report.controls.uncovered == ("shm",)
    assert "No control uses shm: the controls cannot tell whether the host changed for rows that use it." in text(report)
    assert re.search(
        r"The controls show no significant change of the host \(12 rows that no release changes; 0\.0 % worse on average, p 0\.4\)", text(report)
    )


def test_worse_rows_on_a_changed_machine_without_controls_have_a_warning() -> None:
    later = msgspec.structs.replace(HOST, system={"kernel": "6.5"})
    places = turns(PAIRS)
    values = np.full((2, PAIRS), 10_000.0) * np.exp(0.01 * np.random.default_rng(5).standard_normal((2, PAIRS)))

    report = compare(make_side(values, places[0]), make_side(1.2 * values[:, ::-1], places[1], host=later), Policy())

    assert report.counts["worse"] == 2
    assert "The environments differ, and no control was measured: release or host? Candidates: system kernel 6.1 -> 6.5." in text(report)


def test_runs_in_blocks_get_no_verdict_but_their_controls_show_that_the_host_changed() -> None:
    generator = np.random.default_rng(6)
    old, new = 10_000 * np.exp(iid(generator, (2, 4 + CONTROLS, 8)) + np.array([0.0, np.log(1.07)])[:, None, None])
    sides = [with_controls(values[:4], values[4:], list(range(first, first + 8))) for values, first in ((old, 0), (new, 100))]

    report = compare(sides[0], sides[1], Policy())

    assert report.counts["unreplicated_same"] + report.counts["unreplicated_diff"] == 4
    assert moved(report).change == pytest.approx(0.07, abs=0.02)
    assert {row.host_change for row in report.rows} == {moved(report).change}


def test_controls_hardly_reduce_the_power_of_a_report(figure: Figure) -> None:
    found: list[ComparisonRow] = []
    for seed in range(REPORTS):
        found += [row for row in report_of(Host(0), 100 + seed, lone=10, pairs=8).rows if row.key.payload_bytes == 16]

    share = float(np.mean([row.verdict == "worse" for row in found]))
    figure("+10 % in one row, 8 pairs, with controls", f"found in {share:.1%} of {REPORTS} reports")
    assert share >= tries(at_least(0.95, REPORTS), 0.8)


def test_change_of_any_size_may_come_from_the_host_if_only_one_control_exists() -> None:
    report = report_of(Host(20), 7, controls=1)

    assert moved(report).explains == (None, None)
    assert not is_false(report)
    assert "one control shows no range" in text(report)


def test_controls_with_too_few_runs_are_not_judged() -> None:
    report = report_of(Host(7), 8, pairs=4)

    assert report.controls is not None
    assert report.controls.moved is None


def test_report_warns_that_few_controls_can_miss_a_change_of_the_host() -> None:
    found = [text(report_of(Host(0), 9, lone=20, controls=controls)) for controls in (4, 8)]

    assert ["Only 4 controls could be judged. Fewer than 8 can miss a change of the host" in shown for shown in found] == [True, False]
    assert "could be judged" not in found[1]


@pytest.mark.parametrize(
    ("facts", "candidates"),
    [
        ({"other_load_during": ("0.02", "0.98")}, "load of other programs, median 0.0 -> 1.0"),
        ({"other_load_during": ("0.02", "0.08"), "load1_before": ("0.2", "0.9")}, "nothing that was recorded"),
        ({"mhz_before": ("3500", "1200")}, "processor frequency before, median, MHz 3500.0 -> 1200.0"),
        ({"server.steal_percent_during": ("0.5", "7.5")}, "stolen processor time, median, % 0.5 -> 7.5"),
        ({"governor": ("performance", "powersave")}, "governor performance -> powersave"),
    ],
)
def test_recorded_load_and_processor_states_are_listed_as_possible_causes(facts: dict[str, tuple[str, str]], candidates: str) -> None:
    generator = np.random.default_rng(10)
    old, new = 10_000 * np.exp(iid(generator, (2, 1 + CONTROLS, PAIRS)) + np.array([0.0, np.log(1.07)])[:, None, None])
    manifests = [f'{{"environment": {json.dumps({name: two[side] for name, two in facts.items()})}}}' for side in (0, 1)]
    sides = [
        with_controls(values[:1], values[1:], places, manifest=manifest)
        for values, places, manifest in zip((old, new), turns(PAIRS), manifests, strict=True)
    ]

    shown = text(compare(sides[0], sides[1], Policy()))

    assert f"What else differs between the environments, as candidates: {candidates}." in shown


def test_row_is_called_added_if_the_old_side_has_this_row_only_as_a_control() -> None:
    generator = np.random.default_rng(11)
    old, new = 10_000 * np.exp(iid(generator, (2, 1 + CONTROLS, PAIRS)))
    sides = [with_controls(values[:1], values[1:], places) for values, places in zip((old, new), turns(PAIRS), strict=True)]
    # The new release has inter-thread twice: as controls, and here as measured runs.
    also = make_side(new[1:], turns(PAIRS)[1], transport="inter-thread")
    for table in (also.runs, also.results):
        table["run"] = "inter-thread/" + table["run"]
    runs, results = (pd.concat([getattr(side, name) for side in (sides[1], also)], ignore_index=True) for name in ("runs", "results"))

    report = compare(sides[0], msgspec_replace(sides[1], runs, results), Policy())

    added = [row for row in report.rows if row.verdict == "added"]
    assert (len(report.rows), len(added)) == (1 + CONTROLS, CONTROLS)
    assert [row.differences for row in added] == [()] * CONTROLS
    assert "control" not in "".join(map(remark, added))


# --- Controls of runs that were not interleaved


RUNS, SESSIONS = 6, 8


def in_blocks(values: NDArray[np.float64], rows: int = 1) -> Comparison:
    """Return a comparison in which all runs of the old side precede all runs of the new side.

    ``values`` are logarithms, shape (sides, rows, runs). The comparison has as many rows as ``rows`` says. All further rows are controls.
    """
    level, runs = 10_000 * np.exp(values), values.shape[2]
    sides = [with_controls(one[:rows], one[rows:], list(range(first, first + runs))) for one, first in zip(level, (0, 100), strict=True)]
    return compare(sides[0], sides[1], Policy(), everything=False)


def of_host(host: Host, seed: int, *, controls: int = CONTROLS, runs: int = RUNS, noise: Noise = iid) -> Comparison:
    """Return a comparison of two blocks of runs. In the second block, all rows and all controls are slower because of the host."""
    generator = np.random.default_rng(seed)
    values = noise(generator, (2, 1 + controls, runs))
    values[1] += np.log1p(host.percent / 100) + host.varies * generator.standard_normal((1 + controls, 1))
    return in_blocks(values)


def in_sessions(host: Host, seed: int, *, effect: float, runs: int = 3, rows: int = 4) -> Comparison:
    """Return a comparison in which sessions of several runs alternate between the sides.

    On the new side, the host makes all rows slower. In addition, each session has a random shift, which is the same for all rows. ``effect`` is the
    standard deviation of this shift.
    """
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


def test_p_value_is_the_smallest_possible_if_all_new_runs_exceed_all_old_runs() -> None:
    rows = SharedRows(np.array([0]), np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]), np.arange(6)[None])

    (p,) = by_largest([rows], 1, 3)

    assert p == pytest.approx(1 / 10)  # Six runs have 20 splits into two sides of three. A split and the same split with swapped sides count once.
    assert (splits_of(3, 3), splits_of(6, 6), splits_of(5, 6), splits_of(8, 8)) == (10, 462, 462, 4096)


def test_row_with_missing_runs_is_tested_with_its_other_runs() -> None:
    whole = SharedRows(np.array([0]), np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]), np.arange(6)[None])
    short = SharedRows(np.array([1]), np.array([[4.0, 2.0, 3.0, 1.0]]), np.array([[0, 2, 3, 5]]))

    together = by_largest([whole, short], 3, 3)

    assert together[0] == pytest.approx(1 / 10)
    assert together[1] > 0.3
    assert np.isnan(together[2])


def test_mean_of_all_controls_shows_a_change_that_no_single_control_shows() -> None:
    report = of_host(Host(2), 1)

    controls = moved(report)
    assert controls.layout == "blocks"
    assert controls.change == pytest.approx(0.02, abs=0.01)
    assert (controls.p or 1) < 0.01
    # A single control cannot reach this p-value. Its smallest p-value is 0.0022, which is multiplied by the 12 controls.
    assert max(row.ratio or 0 for row in controls.rows) < 1.05


@pytest.mark.parametrize("noise", [iid, shared_by_rows], ids=lambda noise: noise.__name__)
def test_controls_on_an_unchanged_host_rarely_show_a_change(noise: Noise, figure: Figure) -> None:
    found = share_moved(lambda seed: of_host(Host(0), seed, noise=noise))

    figure(f"blocks of {RUNS} runs, nothing changed, {noise.__name__}", f"{found:.1%} of {REPORTS} reports say that the host changed")
    assert found <= at_most(0.03, REPORTS)  # At most 3 % of the reports may say that an unchanged host changed.


@pytest.mark.parametrize(("host", "controls", "least"), [(Host(2), 12, 0.8), (Host(4), 4, 0.8)], ids=str)
def test_change_of_the_host_between_two_blocks_is_detected(host: Host, controls: int, least: float, figure: Figure) -> None:
    found = share_moved(lambda seed: of_host(host, seed, controls=controls))

    figure(f"blocks of {RUNS} runs, host {host.percent:g} % slower, {controls} controls", f"found in {found:.1%} of {REPORTS} reports")
    assert found >= least


def test_control_with_a_missing_run_does_not_exclude_the_other_controls() -> None:
    generator = np.random.default_rng(2)
    values = iid(generator, (2, 1 + CONTROLS, 8))
    values[1] += np.log1p(0.02)
    sides = [with_controls(one[:1], one[1:], list(range(first, first + 8))) for one, first in zip(10_000 * np.exp(values), (0, 100), strict=True)]
    results = sides[1].results
    lost = (results["run"] == "control/run-3") & (results["payload_bytes"] == 16)

    report = compare(sides[0], msgspec_replace(sides[1], sides[1].runs, results[~lost].reset_index(drop=True)), Policy(), everything=False)

    assert (moved(report).p or 1) < 0.01  # One control lacks a run. The mean of the other eleven controls is tested.


def test_random_differences_between_sessions_are_not_a_change_of_the_host(figure: Figure) -> None:
    found = share_moved(lambda seed: in_sessions(Host(0), seed, effect=2 * SD))

    figure(f"{SESSIONS} sessions a side in turns, session effect {2 * SD:.0%}", f"{found:.1%} of {REPORTS} reports say that the host changed")
    assert found <= tries(at_most(0.03, REPORTS), 0.1)


def test_each_row_states_that_the_host_was_slower_in_all_sessions_of_the_new_side() -> None:
    report = in_sessions(Host(7), 3, effect=0.5 * SD)

    assert moved(report).layout == "sessions"
    assert not is_false(report)
    assert {row.reasons for row in report.rows} == {("host_changed",)}


def test_report_of_blocks_states_what_controls_cannot_show() -> None:
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
    side = with_controls(values[:1], values[1:], places)
    lost = make_side(loss, places, metric="loss", statistic="total", unit="ratio", samples=None).results
    return msgspec_replace(side, side.runs, pd.concat([side.results, lost], ignore_index=True))


@pytest.mark.parametrize(("percent", "verdict"), [(0, "worse"), (7, "inconclusive")])
def test_loss_is_not_attributed_to_the_release_if_the_host_changed(percent: float, verdict: str) -> None:
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
