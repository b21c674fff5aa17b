"""Release or host? What a diff states about rows if the host changed, with and without controls. With a known truth."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pandas as pd
import pytest
from tests.depth import tries
from tests.diff.bounds import at_least, at_most
from tests.diff.conftest import HOST, make_side
from tests.diff.test_simulations import PAIRS, ROWS, Floats, iid

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison, ComparisonRow, Controls
from tacholog.render.diff.page import html
from tacholog.render.diff.text import markdown, text
from tacholog.render.diff.words import remark
from tacholog.store.frames import Dataset

CONTROLS, REPORTS = 12, tries(5, 20)
Figure = Callable[[str, str], None]
LABEL = '{"control": "yes"}'


def with_controls(rows: Floats, controls: Floats, places: list[int], **said: Any) -> Dataset:  # noqa: ANN401 - any column
    """Return one side: rows of a campaign, and controls that ran at the same times."""
    measured, beside = make_side(rows, places, **said), make_side(controls, places, labels=LABEL, **{"transport": "inter-thread"} | said)
    for table in (beside.runs, beside.results):
        table["run"] = "control/" + table["run"]
    runs, results = (pd.concat([getattr(side, name) for side in (measured, beside)], ignore_index=True) for name in ("runs", "results"))
    return msgspec_replace(measured, runs, results)


def msgspec_replace(side: Dataset, runs: pd.DataFrame, results: pd.DataFrame) -> Dataset:
    return Dataset(runs=runs, results=results, hosts=side.hosts, logs=side.logs, problems=side.problems, histograms=side.histograms)


def turns(pairs: int) -> tuple[list[int], list[int]]:
    """Return the positions of the runs of interleaved pairs: the sides take turns in going first."""
    first = np.arange(pairs) % 2
    return (2 * np.arange(pairs) + first).tolist(), (2 * np.arange(pairs) + 1 - first).tolist()


class Host(NamedTuple):
    """The slowdown of each row by the host, its variation, and whether the controls have it too."""

    percent: float
    varies: float = 0.0
    shared: bool = True


def report_of(host: Host, seed: int, *, lone: float = 0.0, controls: int = CONTROLS, pairs: int = PAIRS, **said: Any) -> Comparison:  # noqa: ANN401
    """Return a report of 40 rows with noise of 2 %. The host was slower for the new side."""
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
def test_change_of_the_host_is_not_attributed_to_the_release_if_controls_share_it(host: Host, figure: Figure) -> None:
    found = [report_of(host, seed) for seed in range(REPORTS)]

    false = float(np.mean([is_false(report) for report in found]))
    figure(f"host {host.percent:g} % slower, varying by {host.varies:.0%}", f"{false:.1%} of {REPORTS} reports with a false row")
    assert false <= at_most(0.05, REPORTS)  # 5 % in the long simulation


def test_change_of_the_host_is_attributed_to_the_release_without_controls() -> None:
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


def test_change_beyond_that_of_the_host_is_detected() -> None:
    report = report_of(Host(4), 2, lone=40)

    assert [row.key.payload_bytes for row in report.rows if row.verdict == "worse"] == [16]
    low, high = moved(report).explains or (None, None)
    assert low is not None
    assert high is not None
    assert low <= 0
    assert 0.04 < high < 0.2


def test_each_output_marks_the_rows_and_lists_other_differences_as_candidates() -> None:
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


def test_controls_that_do_not_cover_a_transport_are_reported() -> None:
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


def test_blocks_of_runs_get_no_verdict_but_controls_show_that_the_host_changed() -> None:
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


def test_single_control_that_moved_explains_any_change() -> None:
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
def test_other_programs_and_processor_states_recorded_by_runs_are_candidates(facts: dict[str, tuple[str, str]], candidates: str) -> None:
    generator = np.random.default_rng(10)
    old, new = 10_000 * np.exp(iid(generator, (2, 1 + CONTROLS, PAIRS)) + np.array([0.0, np.log(1.07)])[:, None, None])
    manifests = [f'{{"environment": {json.dumps({name: two[side] for name, two in facts.items()})}}}' for side in (0, 1)]
    sides = [
        with_controls(values[:1], values[1:], places, manifest=manifest)
        for values, places, manifest in zip((old, new), turns(PAIRS), manifests, strict=True)
    ]

    shown = text(compare(sides[0], sides[1], Policy()))

    assert f"What else differs between the environments, as candidates: {candidates}." in shown


def test_row_that_is_only_a_control_on_the_other_side_names_no_other_conditions() -> None:
    generator = np.random.default_rng(11)
    old, new = 10_000 * np.exp(iid(generator, (2, 1 + CONTROLS, PAIRS)))
    sides = [with_controls(values[:1], values[1:], places) for values, places in zip((old, new), turns(PAIRS), strict=True)]
    also = make_side(new[1:], turns(PAIRS)[1], transport="inter-thread")  # The new release also measured inter-thread without controls.
    for table in (also.runs, also.results):
        table["run"] = "inter-thread/" + table["run"]
    runs, results = (pd.concat([getattr(side, name) for side in (sides[1], also)], ignore_index=True) for name in ("runs", "results"))

    report = compare(sides[0], msgspec_replace(sides[1], runs, results), Policy())

    added = [row for row in report.rows if row.verdict == "added"]
    assert (len(report.rows), len(added)) == (1 + CONTROLS, CONTROLS)
    assert [row.differences for row in added] == [()] * CONTROLS
    assert "control" not in "".join(map(remark, added))
