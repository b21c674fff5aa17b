"""Rows whose sides were not interleaved state whether the measurements differ, but never that the release is the cause."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.depth import tries
from tests.diff.bounds import at_least, at_most
from tests.diff.conftest import make_side
from tests.diff.test_controls import with_controls
from tests.diff.test_simulations import Noise, heavy_tails, iid, shared_by_rows

from tacholog.compare.bands import Band, SameBuildBands
from tacholog.compare.diff.compare import compare, exit_code
from tacholog.compare.policy import Policy
from tacholog.compare.result import Comparison, ComparisonRow, Verdict
from tacholog.render.diff.page import html
from tacholog.render.diff.text import comment, markdown, text

Floats = NDArray[np.float64]
Figure = Callable[[str, str], None]
REPORTS, ROWS, RUNS = tries(20, 1000), 40, 8
LOSS: dict[str, Any] = {"metric": "loss", "statistic": "total", "unit": "ratio", "test": "throughput", "basis": None}
RATE: dict[str, Any] = {"metric": "goodput", "statistic": "mean", "unit": "bit_per_s", "test": "throughput", "basis": None}


def two_days(
    old: Floats,
    new: Floats,
    *,
    measured: SameBuildBands | None = None,
    band_roots: tuple[Path, ...] = (),
    timed: bool = True,
    **stated: Any,  # noqa: ANN401 - any column
) -> Comparison:
    """Return a comparison in which all new runs were made after all old runs. ``stated`` has values for further columns of the runs."""
    days = (0, 1000)
    sides = [make_side(values, range(day, day + values.shape[1]) if timed else None, **stated) for values, day in zip((old, new), days, strict=True)]
    return compare(sides[0], sides[1], Policy(), ("1.0", "1.1"), measured=measured, band_roots=band_roots)


def values(seed: int, rows: int = 1, runs: int = RUNS) -> Floats:
    """Return random latencies of one build, shape (2, rows, runs). They are about 10 us."""
    return np.asarray(10_000 * np.exp(iid(np.random.default_rng(seed), (2, rows, runs))))


def only(report: Comparison) -> ComparisonRow:
    (row,) = report.rows
    return row


class Shares(NamedTuple):
    """Results of simulated reports.

    Attributes:
        differs: the share of reports that show a difference.
        measured_worse: the share of reports with a row that was measured worse.
        called: the share of reports with a verdict of better or worse.
        rows_worse: the share of rows that were measured worse.
    """

    differs: float
    measured_worse: float
    called: float
    rows_worse: float


def simulated(change: Callable[[np.random.Generator], Floats | float], noise: Noise = iid) -> Shares:
    """Simulate reports in which the new side is slower, and return how often they show a difference.

    ``change`` returns by how much the new side is slower, as a logarithm.
    """
    reports: list[tuple[bool, bool, bool, float]] = []
    for seed in range(REPORTS):
        generator = np.random.default_rng(seed)
        old, new = noise(generator, (2, ROWS, RUNS))
        counts = two_days(10_000 * np.exp(old), 10_000 * np.exp(new + change(generator))).counts
        worse, better = counts["differs_worse"], counts["differs_better"]
        reports.append((worse + better > 0, worse > 0, counts["worse"] + counts["better"] > 0, worse / ROWS))
    return Shares(*(float(np.mean(column)) for column in zip(*reports, strict=True)))


@pytest.mark.parametrize("noise", [iid, heavy_tails, shared_by_rows])
def test_at_most_one_in_twenty_reports_on_equal_sides_shows_a_difference(noise: Noise, figure: Figure) -> None:
    shares = simulated(lambda _: 0.0, noise)

    figure(f"two days, no difference, {noise.__name__}", f"measured worse or better in {shares.differs:.1%} of {REPORTS} reports")
    assert shares.differs <= tries(at_most(0.05, REPORTS), 0.05)
    assert shares.called == 0


def test_host_that_is_slower_on_the_second_day_never_makes_the_release_worse(figure: Figure) -> None:
    shares = simulated(lambda _: float(np.log(1.07)))

    figure("two days, host 7 % slower", f"measured worse in {shares.measured_worse:.1%} of {REPORTS} reports; worse or better in {shares.called:.1%}")
    assert shares.called == 0


def test_release_that_is_ten_percent_slower_has_the_verdict_measured_worse(figure: Figure) -> None:
    shares = simulated(lambda _: float(np.log(1.1)))

    figure("two days, release 10 % slower", f"measured worse in {shares.measured_worse:.1%} of {REPORTS} reports, {shares.rows_worse:.1%} of rows")
    assert shares.measured_worse >= tries(at_least(0.95, REPORTS), 0.95)


@pytest.mark.parametrize(
    ("factor", "settings", "verdict", "words"),
    [
        (1.1, {}, "differs_worse", "slower"),
        (0.9, {}, "differs_better", "faster"),
        (1.1, RATE, "differs_better", "higher"),
        (0.9, RATE, "differs_worse", "lower"),
    ],
)
def test_metric_decides_whether_a_higher_value_is_better(factor: float, settings: dict[str, Any], verdict: Verdict, words: str) -> None:
    old, new = values(1)

    report = two_days(old, new * factor, **settings)

    row = only(report)
    assert (row.verdict, row.reasons, row.design, row.ratio_kind, row.interval_kind) == (
        *(verdict, ("order_confounded",), "confounded"),
        *("hodges_lehmann_runs", "confidence"),
    )
    assert row.ratio == pytest.approx(factor, abs=0.03)
    assert f" % {words}" in text(report)


def test_no_difference_is_seen_if_the_interval_is_within_the_threshold() -> None:
    old, new = values(2, runs=30)

    row = only(two_days(old, new))

    assert row.verdict == "differs_not"
    assert row.interval is not None
    assert 1 / 1.03 < (row.interval[0] or 0) < 1 < (row.interval[1] or 9) < 1.03


def test_row_whose_runs_have_no_known_order_can_be_measured_worse() -> None:
    old, new = values(3)

    row = only(two_days(old, new * 1.1, timed=False))

    assert (row.verdict, row.reasons) == ("differs_worse", ("order_unknown",))


@pytest.mark.parametrize(("runs", "verdict"), [(5, "insufficient"), (6, "differs_worse")])
def test_row_needs_six_runs_per_side_to_be_measured_worse(runs: int, verdict: Verdict) -> None:
    old, new = values(4, runs=runs)

    assert only(two_days(old, new * 1.2)).verdict == verdict


def test_row_does_not_get_the_verdict_measured_worse_if_a_condition_is_not_stated() -> None:
    old, new = values(5)

    row = only(two_days(old, new * 1.5, reliability=None))

    assert (row.verdict, row.reasons) == ("unreplicated_diff", ("unverified",))


def test_one_row_among_many_needs_more_than_six_runs_to_be_measured_worse() -> None:
    def report(runs: int) -> Comparison:
        old, new = values(6, rows=ROWS, runs=runs)
        new[0] *= 2
        return two_days(old, new)

    assert report(6).counts["differs_worse"] == 0
    assert report(7).counts["differs_worse"] == 1


def test_sessions_that_do_not_alternate_are_compared_as_sessions() -> None:
    old, new = (np.repeat(side, 3, axis=1) for side in values(7))
    names = [f"session {run // 3}" for run in range(3 * RUNS)]

    row = only(two_days(old, new * 1.1, session=names))

    assert (row.verdict, row.reasons, row.ratio_kind) == ("differs_worse", ("sessions_confounded",), "hodges_lehmann_sessions")


def test_difference_is_not_reported_if_sessions_of_one_build_differ_as_much() -> None:
    old, new = values(8)
    key = only(two_days(old, new)).key

    def report(between: float) -> ComparisonRow:
        bands = SameBuildBands(Path("same-build.csv"), ("a", "b", "c"), {key: Band(0.01, 0.5, across_sessions=True, between=between)})
        return only(two_days(old, new * 1.1, measured=bands))

    assert report(0.2).verdict == "unreplicated_same"
    assert (report(0.05).verdict, report(0.05).threshold_source) == ("differs_worse", "same_build")


def test_difference_that_a_change_of_the_host_explains_is_not_reported() -> None:
    def report(of_release: float) -> ComparisonRow:
        generator = np.random.default_rng(9)
        noise = iid(generator, (2, 13, RUNS))
        noise[1] += np.log(1.07)
        noise[1, 0] += np.log(of_release)
        level = 10_000 * np.exp(noise)
        sides = [with_controls(side[:1], side[1:], list(range(first, first + RUNS))) for side, first in zip(level, (0, 1000), strict=True)]
        return only(compare(sides[0], sides[1], Policy()))

    assert report(1.0).verdict.startswith("unreplicated")
    assert (report(1.5).verdict, report(1.5).threshold_source) == ("differs_worse", "controls")


def test_loss_can_get_the_verdicts_measured_worse_and_measured_better() -> None:
    generator = np.random.default_rng(10)
    old, new = 0.001 * generator.random((1, RUNS)), 0.02 + 0.001 * generator.random((1, RUNS))

    (more,), (less,) = (two_days(*sides, **LOSS).losses for sides in ((old, new), (new, old)))

    assert (more.verdict, less.verdict) == ("differs_worse", "differs_better")
    assert more.difference == pytest.approx(0.02, abs=0.001)
    assert "more loss measured: +2.01 points" in text(two_days(old, new, **LOSS))


def test_exit_codes_depend_on_the_option_fail_on() -> None:
    old, new = values(11)
    differs, alike, single = two_days(old, new * 1.2), two_days(*values(2, runs=30)), two_days(old[:, :1], new[:, :1] * 2)

    assert [exit_code(differs, fail_on) for fail_on in ((), ("differs",), ("worse",))] == [0, 3, 4]
    assert [exit_code(alike, fail_on) for fail_on in ((), ("differs",), ("worse",))] == [0, 0, 4]
    assert exit_code(single, ("differs",)) == 4


def test_first_sentence_counts_the_differing_rows_and_names_the_command_for_pairs() -> None:
    old, new = values(12, rows=4)
    new[:2] *= 1.2
    report = two_days(old, new, release="1.0")
    sentence = "2 of 4 rows differ: 2 measured worse (latency over shm: p50 by"

    assert sentence in text(report)
    for written in (text(report), markdown(report), comment(report), html(report)):
        assert "tacholog ab OLD NEW CAMPAIGN --release 1.0 1.0" in written
        assert "measured worse" in written.lower()


def test_report_states_the_usual_drift_of_one_build_if_the_machine_has_no_measured_band(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent.parent / "data"
    old, new = values(13)

    known, unknown = (two_days(old, new * 1.2, band_roots=(folder,)) for folder in (root, tmp_path))

    assert "the medians of one build drifted by 4.1 % to 239 % between sessions within one day, half of the rows by at most 16 %" in text(known)
    assert unknown.warns("no_band")
