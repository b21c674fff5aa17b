"""Steps and drifts over many releases, in simulated histories with known changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.depth import tries
from tests.diff.bounds import at_least, at_most

from tacholog.compare.changepoints import Change, changes, step_penalty
from tacholog.compare.result import Comparison, Controls, RowKey
from tacholog.render.tables.history import list_of_changes
from tacholog.view.history import HistoryLine, HistoryPoint, changes_of

RELEASES, HISTORIES, RUNS, NOISE, PAGES = 30, 40, 6, 0.02, tries(10, 40)
Floats = NDArray[np.float64]
Figure = Callable[[str, str], None]


def page(seed: int, change: Floats | None = None, *, session: float = 0.0, releases: int = RELEASES, histories: int = HISTORIES) -> list[Change]:
    """Simulate the histories of one page, and return the changes that are found in them.

    Args:
        seed: the seed of the random noise.
        change: the logarithms that are added to the first history, one for each release.
        session: the standard deviation of a random effect that all runs of a release share.
        releases: how many releases a history has.
        histories: how many histories the page has.
    """
    generator = np.random.default_rng(seed)
    values = NOISE * generator.standard_normal((histories, releases, RUNS)) + session * generator.standard_normal((histories, releases, 1))
    if change is not None:
        values[0] += change[:, None]
    return changes((10_000 * np.exp(values)).tolist())


def steps() -> Floats:
    """The history gets 4 % slower at release 10 and 6 % faster at release 20."""
    level = np.zeros(RELEASES)
    level[10:] += np.log(1.04)
    level[20:] += np.log(0.94)
    return level


def slow_drift(releases: int = RELEASES, first: int = 9) -> Floats:
    """The history gets 1 % slower with each of ten releases."""
    return np.asarray(np.log(1.01) * np.clip(np.arange(releases) - first, 0, 10))


def found_at(found: list[Change], release: int, sign: int) -> bool:
    return any((one.history, one.kind) == (0, "step") and abs(one.first - release) <= 1 and np.sign(one.shift) == sign for one in found)


@pytest.mark.parametrize("session", [0.0, 0.01])
def test_steps_are_detected_at_most_one_release_away_from_the_true_release(session: float, figure: Figure) -> None:
    pages = [page(seed, steps(), session=session) for seed in range(PAGES)]

    up, down = (float(np.mean([found_at(found, *where) for found in pages])) for where in ((10, 1), (20, -1)))
    others = float(np.mean([any(one.history for one in found) for found in pages]))
    figure(f"history, session effect {session:.0%}", f"+4 % found on {up:.0%}, -6 % on {down:.0%} of {PAGES} pages; {others:.1%} with a false one")
    assert min(up, down) >= (0.5 if session else tries(0.9, 0.95))
    assert others <= at_most(0.05, PAGES)  # In a longer simulation, 5 % of the pages have a false change.


@pytest.mark.parametrize(("releases", "first"), [(30, 9), (10, 0)])
def test_slow_drift_is_detected_as_a_drift(releases: int, first: int, figure: Figure) -> None:
    pages = [page(seed, slow_drift(releases, first), releases=releases) for seed in range(PAGES)]

    called = float(np.mean([any((one.history, one.kind) == (0, "drift") and one.shift > 0 for one in found) for found in pages]))
    found = float(np.mean([any(one.history == 0 and one.shift > 0 for one in found) for found in pages]))
    figure(f"+1 % a release over ten of {releases}", f"found on {found:.0%} of {PAGES} pages, as a drift on {called:.0%}")
    assert found >= tries(0.9, 0.95)
    assert called >= (tries(0.9, 0.95) if releases == RELEASES else tries(at_least(0.7, PAGES), 0.7))


def test_chance_alone_rarely_causes_a_change_on_a_page(figure: Figure) -> None:
    pages = [page(seed, session=session) for seed in range(PAGES) for session in (0.0, 0.01)]

    false = float(np.mean([bool(found) for found in pages]))
    figure("histories without a change", f"{false:.1%} of {2 * PAGES} pages show one")
    assert false <= tries(at_most(0.05, 2 * PAGES), 0.1)  # In a longer simulation, 5 % of the pages have a false change.


def test_change_states_its_release_and_an_interval_that_contains_its_size() -> None:
    first, second = sorted(page(3, steps()), key=lambda one: one.first)[:2]

    assert (first.history, first.kind, first.first, first.last) == (0, "step", 10, 10)
    assert first.low < np.log(1.04) < first.high
    assert second.low < np.log(0.94) < second.high
    assert 0 <= second.p < 0.001


@pytest.mark.parametrize("apart", [0.1, 0.5])
@pytest.mark.parametrize("release", [0, 15, RELEASES - 1])
def test_single_outlying_release_is_not_a_step(release: int, apart: float) -> None:
    level = np.zeros(RELEASES)
    level[release] = apart

    assert not [one for seed in range(5) for one in page(seed, level) if one.history == 0]


def test_two_outlying_releases_are_steps() -> None:
    level = np.zeros(RELEASES)
    level[15:17] = 0.1

    assert [(one.kind, one.first) for one in sorted(page(4, level), key=lambda one: one.first) if one.history == 0] == [("step", 15), ("step", 17)]


def test_drift_that_ends_at_the_newest_release_is_not_an_outlier() -> None:
    found = [one for one in page(4, np.linspace(0, 0.05 * (RELEASES - 1), RELEASES)) if one.history == 0]

    assert [(one.kind, one.first, one.last) for one in found] == [("drift", 0, RELEASES - 1)]


@pytest.mark.parametrize(("releases", "first"), [(30, 0), (30, 9), (10, 0)])
def test_interval_of_a_drift_contains_the_whole_change(releases: int, first: int, figure: Figure) -> None:
    level = slow_drift(releases, first) if first else np.linspace(0, np.log(1.01) * (releases - 1), releases)

    drifts = [one for seed in range(PAGES) for one in page(seed, level, releases=releases, histories=5) if (one.history, one.kind) == (0, "drift")]
    held = float(np.mean([one.low <= level[-1] <= one.high for one in drifts]))

    figure(f"drift over {releases} releases from {first} on", f"its interval holds the change in {held:.0%} of {len(drifts)}")
    assert held >= tries(at_least(0.95, len(drifts)), 0.93)


def test_values_that_alternate_between_two_rounded_values_have_no_changes() -> None:
    generator = np.random.default_rng(8)
    true = 16.45 * np.exp(0.003 * generator.standard_normal((40, RELEASES, 1)))  # Rounded to 16 or 17, mostly to 16.

    assert changes(np.round(true).tolist(), [0.5 / 16] * 40) == []


def test_step_that_rounding_can_explain_is_not_reported_but_a_larger_step_is_reported(compared: Callable[..., Comparison]) -> None:
    report = compared(np.full(6, 16.0), np.full(6, 16.0), resolution=1.0)
    found = []
    for after in (17.0, 20.0):
        points = [HistoryPoint(place, value, report.rows[0], (value,) * 6) for place, value in enumerate([16.0] * 15 + [after] * 15)]
        found.append(changes_of([(HistoryLine(report.rows[0].key, points), [report] * (RELEASES - 1))]))

    assert found[0] == []
    assert [one.release for one in found[1]] == [15]
    assert found[1][0].low < 19.5 / 16.5
    assert found[1][0].high > 20.5 / 15.5


def test_long_history_has_a_change_and_a_short_history_on_the_same_page_has_no_change() -> None:
    generator = np.random.default_rng(5)
    short = [[1.0, 1.01], [1.0, 0.99], [2.0, 2.01], [2.0, 1.99]]
    long = np.exp(0.01 * generator.standard_normal((20, 4)) + np.repeat([0.0, 0.3], 10)[:, None]).tolist()

    assert [(one.history, one.first) for one in changes([short, long])] == [(1, 10)]


def test_histories_without_variation_have_no_changes() -> None:
    assert changes([[[5.0, 5.0]] * 12] * 3) == []
    assert changes([]) == []


def test_penalty_of_a_step_is_larger_for_more_histories_and_for_shorter_histories() -> None:
    assert step_penalty(30, 1) < step_penalty(30, 40) < step_penalty(10, 40)


def line_of(levels: Floats, seed: int = 7) -> HistoryLine:
    """Return a history with one point for each release. ``levels`` are the logarithms of the latency. The runs of a release vary by 1 %."""
    runs = 10_000 * np.exp(levels[:, None] + 0.01 * np.random.default_rng(seed).standard_normal((len(levels), RUNS)))
    key = RowKey(system="M", test="latency", transport="shm", payload_bytes=64, metric="latency", statistic="p50")
    return HistoryLine(key, [HistoryPoint(place, float(np.median(values)), None, tuple(values.tolist())) for place, values in enumerate(runs)])


@pytest.mark.parametrize(
    ("moved", "alone", "by"),
    [
        (None, None, "release or host"),
        (False, (-0.01, 0.02), "release"),
        (False, (-0.1, 0.1), "release or host"),  # The interval is wide, so the change of the host may explain this step.
        (True, (-0.1, 0.1), "host"),
        (True, (-0.01, 0.02), "release or host"),  # The step is larger than the change of the host.
        (True, (None, None), "host"),
    ],
)
def test_controls_decide_whether_a_step_is_attributed_to_the_release_or_to_the_host(
    compared: Callable[..., Comparison], moved: bool | None, alone: tuple[float | None, float | None] | None, by: str
) -> None:
    line, report = line_of(steps()), compared(np.full(6, 10.0), np.full(6, 10.0))
    reports = [msgspec.structs.replace(report, controls=Controls(moved=moved, alone=alone)) for _ in range(RELEASES - 1)]

    up, down = sorted(changes_of([(line, reports)]), key=lambda one: one.release)

    assert [(one.before, one.release, one.reason) for one in (up, down)] == [(9, 10, by), (19, 20, by)]
    assert up.low < 1.04 < up.high


def test_page_describes_each_change_and_lists_the_worst_change_first(compared: Callable[..., Comparison]) -> None:
    line, report = line_of(steps()), compared(np.full(6, 10.0), np.full(6, 10.0))
    names = [f"1.{number}" for number in range(RELEASES)]

    shown = "".join(list_of_changes(changes_of([(line, [report] * (RELEASES - 1))]), names))

    assert "Steps and drifts over all releases (2):" in shown
    assert re.search(r"<b>1\.10: </b>shm, 64\sB rose by [34]\.\d % \([\d.]+ % to [\d.]+ %\), worse\. Possible cause: release or host\. ", shown)
    assert re.search(r"<b>1\.20: </b>shm, 64\sB fell by [56]\.\d % \([\d.]+ % to [\d.]+ %\), better\. ", shown)
    assert "A page without any change shows such a step in less than 0.1 % of cases." in shown
    assert list_of_changes([], names) == []


def test_drift_names_its_first_and_last_release(compared: Callable[..., Comparison]) -> None:
    line, report = line_of(slow_drift()), compared(np.full(6, 10.0), np.full(6, 10.0))

    (change,) = changes_of([(line, [report] * (RELEASES - 1))])
    shown = "".join(list_of_changes([change], [f"1.{number}" for number in range(RELEASES)]))

    assert change.kind == "drift"
    assert re.search(r"<b>1\.(8|9|10) to 1\.(18|19|20): </b>shm, 64\sB rose by \d+(\.\d)? % ", shown)
    assert change.reason == "release or host"


def test_segments_are_the_same_as_those_of_the_ruptures_library() -> None:
    ruptures = import_module("ruptures")  # Imported by name, because the library has no type hints. Without the library, the test fails.
    from tacholog.compare.changepoints import _segmented

    generator = np.random.default_rng(6)
    for _ in range(20):
        levels = generator.standard_normal(RELEASES) + np.repeat(generator.normal(0, 4, 3), RELEASES // 3)
        ours = _segmented(levels[None], 20.0)[0]
        theirs = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(levels[:, None]).predict(pen=20.0)
        assert ours == theirs[:-1]
