"""The effect of the order of runs: a change of the machine between the sides must not look like a change of the release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tacholog.compare.diff.compare import compare
from tacholog.compare.pairing import PairRecord, PairSide, plan_warnings, write_record
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison, ComparisonWarning
from tacholog.render.diff.text import text
from tacholog.render.diff.words import remark
from tacholog.store.frames import Dataset

Floats = NDArray[np.float64]
Side = Callable[..., Dataset]
ROWS, SD = 40, 0.02
TURNS = "ONNO" * 4


def in_sessions(side: Side, order: str, *, slower: float = 0.0, change: float = 0.0, seed: int = 0) -> Comparison:
    """Compare sessions of three runs. In ``order``, O is an old session and N a new one. In the second half, all runs are slower by ``slower``."""
    generator = np.random.default_rng(seed)
    sides = []
    for letter in "ON":
        sessions = [index for index, one in enumerate(order) if one == letter]
        runs = np.repeat(sessions, 3)
        values = SD * generator.standard_normal((ROWS, len(sessions))).repeat(3, axis=1) + 0.01 * generator.standard_normal((ROWS, len(runs)))
        values += np.where(runs >= len(order) / 2, slower, 0.0) + (change if letter == "N" else 0.0)
        places = [100 * session + run for session in sessions for run in range(3)]
        sides.append(side(10_000 * np.exp(values), places, session=[f"session-{session}" for session in runs]))
    return compare(sides[0], sides[1], Policy())


def reasons(report: Comparison) -> set[str]:
    return {reason for row in report.rows for reason in row.reasons}


def test_host_that_got_slower_between_the_sides_is_not_a_change_of_the_release(side: Side) -> None:
    reports = [in_sessions(side, "O" * 8 + "N" * 8, slower=np.log(1.07), seed=seed) for seed in range(5)]

    assert [report.counts["worse"] + report.counts["better"] for report in reports] == [0] * 5
    assert reasons(reports[0]) == {"sessions_confounded"}
    assert reports[0].designs == {"confounded": ROWS}
    assert reports[0].warnings == (ComparisonWarning("sessions_confounded"), ComparisonWarning("no_band"))
    assert reports[0].counts["differs_worse"] > 0
    assert "The sessions of the sides did not take turns" in text(reports[0])


@pytest.mark.parametrize("order", ["ON" * 8, TURNS, "OONN" * 4])
def test_alternating_sessions_are_tested_and_a_slower_host_makes_no_row_worse(side: Side, order: str) -> None:
    slower = [in_sessions(side, order, slower=np.log(1.07), seed=seed) for seed in range(5)]
    changed = in_sessions(side, order, change=np.log(1.07))

    assert slower[0].designs == {"sessions": ROWS}
    assert sum(report.counts["worse"] + report.counts["better"] for report in slower) == 0
    assert changed.counts["worse"] >= 0.9 * ROWS


@pytest.mark.parametrize("order", ["OOOONNNN" * 2, "OOONNNNNNNNOOOOO", "N" * 8 + "O" * 8])
def test_blocks_of_sessions_get_no_verdict_for_any_number_of_sessions(side: Side, order: str) -> None:
    assert reasons(in_sessions(side, order)) == {"sessions_confounded"}


def test_sessions_are_compared_by_their_median_runs_if_each_side_has_six_sessions(side: Side) -> None:
    # Each session has two runs. The larger latency is used. So the sessions have 104, 102, 110, 104, 102 and 110.
    old = np.array([[100.0, 104, 102, 101, 110, 90, 100, 104, 102, 101, 110, 90]])
    places = [10 * (2 * session + session % 2) + run for session in range(6) for run in range(2)]
    others = [10 * (2 * session + 1 - session % 2) + run for session in range(6) for run in range(2)]
    names = [f"session-{run // 2}" for run in range(12)]

    (row,) = compare(
        side(old, places, session=[f"old-{name}" for name in names]), side(old * 2, others, session=[f"new-{name}" for name in names]), Policy()
    ).rows

    assert (row.verdict, row.design, row.ratio_kind) == ("worse", "sessions", "hodges_lehmann_sessions")
    assert [side and (side.values, side.median) for side in (row.old, row.new)] == [
        ((104, 102, 110, 104, 102, 110), 104),
        ((208, 204, 220, 208, 204, 220), 208),
    ]


def test_sessions_with_both_sides_get_no_verdict_if_the_same_side_is_always_first(side: Side) -> None:
    values = 10_000 * np.exp(0.01 * np.random.default_rng(1).standard_normal((2, 4, 12)))
    sessions = [f"session-{run // 2}" for run in range(12)]
    old = side(values[0], [10 * (run // 2) + run % 2 for run in range(12)], session=sessions, repetition=[1, 2] * 6)
    new = side(values[1] * 1.05, [10 * (run // 2) + 2 + run % 2 for run in range(12)], session=sessions, repetition=[3, 4] * 6)

    assert reasons(compare(old, new, Policy())) == {"same_first"}


def places_of(first_is_old: Sequence[bool]) -> tuple[list[int], list[int]]:
    """Return the positions in time of the old and of the new runs. ``first_is_old`` has one value for each pair."""
    return [2 * at + (not first) for at, first in enumerate(first_is_old)], [2 * at + first for at, first in enumerate(first_is_old)]


@pytest.mark.parametrize("later", [0, 1, 2])
def test_effect_of_the_position_within_a_pair_is_not_a_change_of_the_release(side: Side, later: int) -> None:
    first = [True] * (12 - later) + [False] * later
    places = places_of(first)
    noise = 0.01 * np.random.default_rng(5).standard_normal((2, ROWS, 12))
    second = np.log(1.05) * np.array([[not one for one in first], first])[:, None, :]
    old, new = (side(10_000 * np.exp(values), when) for values, when in zip(noise + second, places, strict=True))

    report = compare(old, new, Policy())

    assert (report.counts["worse"], reasons(report)) == (0, {"same_first"})
    assert report.warnings == (ComparisonWarning("same_first"),)
    assert "The same side ran first in every pair or session, or in nearly every one." in text(report)


def test_pairs_are_compared_if_each_side_was_first_in_several_pairs(side: Side) -> None:
    first = [True] * 9 + [False] * 3
    values = 10_000 * np.exp(0.01 * np.random.default_rng(5).standard_normal((2, 4, 12)))
    old, new = (side(one, when) for one, when in zip(values, places_of(first), strict=True))

    assert compare(old, new, Policy()).designs == {"paired": 4}


@pytest.mark.parametrize(
    ("said", "places", "reason", "words"),
    [
        (
            {"session": None},
            places_of([True, False] * 6),
            "pairs_unnamed",
            "the runs took turns, but do not state the session and repetition that make them pairs",
        ),
        (
            {"repetition": None},
            places_of([True, False] * 6),
            "pairs_unnamed",
            "the runs took turns, but do not state the session and repetition that make them pairs",
        ),
        ({}, (range(0, 48, 4), [*range(2, 46, 4), 1]), "few_pairs", "fewer than 6 pairs of runs were made next to each other"),
        (
            {"session": None},
            (range(12), range(12, 24)),
            "order_confounded",
            "the sides did not take turns, so the time or the machine of the measurement may explain it",
        ),
        (
            {"session": None},
            ([*range(6), *range(18, 24)], range(6, 18)),
            "order_confounded",
            "the sides did not take turns, so the time or the machine of the measurement may explain it",
        ),
        ({}, (None, range(12)), "order_unknown", "the order of the runs is not known, so the time or the machine of the measurement may explain it"),
    ],
)
def test_report_states_what_is_known_about_the_order_of_runs(
    side: Side, noise: Floats, said: dict[str, None], places: tuple[Sequence[int] | None, Sequence[int]], reason: str, words: str
) -> None:
    shuffled = {"repetition": list(range(12, 0, -1))} if reason == "few_pairs" else {}
    report = compare(side(noise[0], places[0], **said), side(noise[1], places[1], **said | shuffled), Policy())

    assert reasons(report) == {reason}
    untested = f"medians of 12 and 12 runs; band: 9.1 % lower to 10 % higher, assumed; {words}"
    assert all(remark(row).endswith(f"12 and 12 runs; {words}" if row.verdict == "differs_not" else untested) for row in report.rows)
    assert (report.counts["differs_not"] > 0) == (reason in ("order_confounded", "order_unknown"))
    assert "in a block" not in text(report)


# --- the plan of recorded pairs


@pytest.mark.parametrize(
    ("missing", "compared", "said"),
    [
        ("", ["old", "new"], ()),
        ("new/b/02", ["old", "new"], ("ab_unfinished:7:8",)),
        ("new/b/02", ["old"], ()),
        ("new/b/02", ["old/a", "new/a"], ()),
        ("new/b/02", ["old/b", "new/b"], ("ab_unfinished:3:4",)),
        ("new/b", ["old", "new"], ("ab_unfinished:6:8",)),
    ],
)
def test_comparison_is_called_interrupted_only_if_it_needs_a_missing_run(
    tmp_path: Path, missing: str, compared: list[str], said: tuple[str, ...]
) -> None:
    side = PairSide(name="x")
    record = PairRecord(campaign="c", campaign_sha256="", seed=1, planned_pairs=2, pairs=2, runs=8, old=side, new=side)
    write_record(tmp_path, record)
    runs = [tmp_path / side / variant / f"{number:02d}" for side in ("old", "new") for variant in "ab" for number in (1, 2)]
    for run in runs:
        if not missing or tmp_path / missing not in (run, *run.parents):
            run.mkdir(parents=True)
            (run / "run.toml").touch()

    found = [run for place in compared for run in runs if tmp_path / place in run.parents and run.exists()]

    assert tuple(one.text for one in plan_warnings([*map(str, found), str(found[0]), None])) == said


def test_plan_file_in_another_folder_is_ignored(tmp_path: Path) -> None:
    """For example, users keep a campaign file in the folder above the data folder."""
    (tmp_path / "ab.toml").write_text('system = "Some Middleware"\n')
    run = tmp_path / "data/1.0/01"
    run.mkdir(parents=True)

    assert plan_warnings([str(run)]) == ()
