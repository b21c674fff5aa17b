"""One verdict for each row: the table of `docs/significance.md`, over all rows at once.

Rows that are tested together are adjusted together: their p-values by both tests, and what these could have found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tacholog.compare.bands import SameBuildBands
from tacholog.compare.diff.cells import NONE, SETTING, CellPairs, Cells, Flags, Floats, Integers, Numbers, by_word, keys_of, reduced_values
from tacholog.compare.diff.estimate import Estimates
from tacholog.compare.policy import MIN_RUNS, TESTABLE_BEYOND, Bands, Policy, RowFilter, band_of, percentile
from tacholog.compare.power import RunCounts, attainable, detectable, runs_needed, share_of_largest
from tacholog.compare.result import VERDICTS, Verdict
from tacholog.compare.statistics import PairedRows, Shift, adjusted, adjusted_each, by_largest
from tacholog.schema.marks import MARK_BITS
from tacholog.schema.metrics import METRICS
from tacholog.schema.records import BOUNDS

if TYPE_CHECKING:
    import pandas as pd


INVALIDATING = ("run_failed", "altered", "loss", "out_of_order", "impossible")
INVALID_BITS = sum(MARK_BITS[name] for name in INVALIDATING)
FAILED_BITS = INVALID_BITS & ~MARK_BITS["loss"]
CODE: dict[Verdict, int] = {verdict: index for index, verdict in enumerate(VERDICTS)}
REASONS = (
    *("", "few_runs", "undersampled", "single_run", "unverified", "order_confounded", "order_unknown", "bound"),
    *("same_measurement", "no_value", "not_positive", "marked", "differs", "mixed"),
    *("pairs_unnamed", "few_pairs", "sessions_confounded", "same_first", "host_changed"),
)
REASON = {name: index for index, name in enumerate(REASONS)}
SERIES = 3  # identical values in a row of as many sizes are the same measurement, printed again


class Thresholds(NamedTuple):
    """The smallest shift that counts, as a logarithm, and where it comes from: an index into `SOURCES`.

    ``close`` is the same without what rounding adds: two values a step of rounding apart are no change that could be shown, and not shown to be none.
    """

    least: Floats
    close: Floats
    source: Integers
    single: Floats
    single_source: Integers


SOURCES = ("policy", "override", "rounding", "same_build", "assumed")


class Bounds(NamedTuple):
    """The range of new over old that rounding and bounds allow: the smallest and the largest logarithm."""

    low: Floats
    high: Floats


class JudgedConditions(NamedTuple):
    """Which pairs differ in a condition, which leave one unstated, and which are the same runs on both sides."""

    different: Flags
    unverified: Flags
    same_runs: Flags


class Verdicts(NamedTuple):
    """Verdict and reason of each pair, as indices into `VERDICTS` and `REASONS`; whether single values decided; the adjusted p-values.

    ``gates`` holds for each gate which rows are in it; they were adjusted separately from all others. ``power`` says what a test can find.
    """

    verdict: Integers
    reason: Integers
    by_value: Flags
    p_adjusted: Floats
    gates: tuple[Flags, ...]
    power: Power

    @property
    def gated(self) -> Flags:
        """The rows of any gate."""
        any_gate = np.zeros(len(self.verdict), bool)
        for gate in self.gates:
            any_gate |= gate
        return any_gate


def thresholds(data: Numbers, pairs: CellPairs, policy: Policy, measured: SameBuildBands | None = None) -> Thresholds:
    """The threshold of each pair: the largest of policy, rounding and the band of one build, as the policy states it or as it was measured."""
    cell = np.where(pairs.old != NONE, pairs.old, pairs.new)
    chosen, assumed = (_band(data, cell, percent) for percent in (policy.thresholds_percent, policy.single_value_percent))
    source = np.zeros(len(cell), np.int64)
    for override in policy.row:
        fits = _selected(data, cell, override)
        chosen[fits], source[fits] = np.log1p(override.threshold_percent / 100), SOURCES.index("override")
    rounding = np.fmax(*(_rounding(data.cells, side) for side in pairs))
    build, single, single_source = _same_build(data, pairs, policy, measured, assumed)
    least = np.maximum(np.maximum(chosen, rounding), build)
    source = np.where(least > chosen, np.where(least == build, SOURCES.index("same_build"), SOURCES.index("rounding")), source)
    return Thresholds(least, np.maximum(chosen, build), source, single, single_source)


def _band(data: Numbers, cell: Integers, percent: Bands) -> Floats:
    """How much the statistic of each of these cells may differ, as a logarithm."""
    return np.log1p(by_word(data.stated["statistic"], lambda word: getattr(percent, band_of(word)), percent.centre)[cell] / 100)


def _selected(data: Numbers, cell: Integers, selection: RowFilter) -> Flags:
    """Which of these cells' rows a selection means."""
    fits = np.ones(len(cell), bool)
    for name, value in selection.wanted().items():
        fits &= (data.stated[name] == value)[cell]
    return fits


def _same_build(data: Numbers, pairs: CellPairs, policy: Policy, measured: SameBuildBands | None, assumed: Floats) -> tuple[Floats, Floats, Integers]:
    """The band of one build: for pairs, for single values, and the source of the latter.

    As long as too few sessions were measured to know how much they differ, the measured band of single values can only widen the assumed one.
    """
    stated = np.full(len(assumed), np.log1p((policy.same_build_percent or 0.0) / 100))
    single = stated.copy() if policy.same_build_percent else assumed.copy()
    source = np.full(len(assumed), SOURCES.index("same_build" if policy.same_build_percent else "assumed"))
    if measured is None or policy.same_build_percent:
        return stated, single, source
    both = np.flatnonzero(pairs.both)
    for place, key in zip(both.tolist(), keys_of(data, pairs.old[both], policy), strict=True):
        band = measured.bands.get(key)
        if band is not None:
            stated[place] = band.paired
            if band.across_sessions or band.single > single[place]:
                single[place], source[place] = band.single, SOURCES.index("same_build")
    return stated, single, source


def _rounding(cells: Cells, side: Integers) -> Floats:
    """How much two true values that are printed the same may differ, as a logarithm."""
    half = np.nan_to_num(cells.resolution[side] / 2)
    value = cells.median[side]
    with np.errstate(divide="ignore", invalid="ignore"):
        width = np.log((value + half) / np.maximum(value - half, 0.0))
    width[(side == NONE) | np.isnan(width)] = 0.0
    return width


def bounds(cells: Cells, pairs: CellPairs) -> Bounds:
    """The interval of new over old that rounding and bounds allow."""
    (old_low, old_high), (new_low, new_high) = (_ends(cells, side) for side in pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Bounds(np.log(new_low) - np.log(old_high), np.log(new_high) - np.log(old_low))


def _ends(cells: Cells, side: Integers) -> tuple[Floats, Floats]:
    value, bound = cells.median[side], cells.bound[side]
    half = np.nan_to_num(cells.resolution[side] / 2) * np.where(bound == BOUNDS.index("~"), 2, 1)
    low = np.where(bound == BOUNDS.index("<"), 0.0, np.maximum(value - half, 0.0))
    high = np.where(bound == BOUNDS.index(">"), np.inf, value + half)
    return np.where(bound == BOUNDS.index(">"), value, low), np.where(bound == BOUNDS.index("<"), value, high)


def testable(cells: Cells, pairs: CellPairs, statistic: pd.Categorical) -> tuple[Flags, Flags]:
    """Which pairs have enough samples beyond their percentile to be tested, and which have too few to be shown without a mark."""
    old, new = pairs
    share = by_word(statistic, lambda word: (100 - (percentile(word) or 0.0)) / 100, np.nan)[old]
    centre = by_word(statistic, lambda word: band_of(word) == "centre", unknown=True)[old]
    samples = np.fmin(cells.samples[old], cells.samples[new])
    with np.errstate(invalid="ignore"):
        enough = centre | ~(samples * share < TESTABLE_BEYOND * (1 - 1e-9))
    poor = (cells.marks[old] | cells.marks[new]) & MARK_BITS["undersampled"] > 0
    return enough, poor


def decide(data: Numbers, pairs: CellPairs, judged: JudgedConditions, found: Estimates, limits: Thresholds, policy: Policy) -> Verdicts:
    """Give each pair its verdict.

    Args:
        data: both sides' numbers.
        pairs: the pairs of cells.
        judged: the conditions of each pair, before its values are looked at.
        found: the estimates.
        limits: the thresholds.
        policy: the false discovery rate, and the rows that are tested apart.
    """
    cells, both = data.cells, pairs.both
    cell = np.where(pairs.old != NONE, pairs.old, pairs.new)
    gates = tuple(_selected(data, cell, selection) for selection in policy.gate)
    total = len(both)
    result = Verdicts(np.full(total, -1), np.zeros(total, np.int64), np.zeros(total, bool), np.full(total, np.nan), gates, no_power(total))
    _set(result, pairs.new == NONE, "removed")
    _set(result, pairs.old == NONE, "added")
    old, new = pairs
    marks = np.where(both, cells.marks[old] | cells.marks[new], 0)
    least = reduced_values(data, np.minimum)
    low, missing = np.fmin(least[old], least[new]), np.isnan(cells.median[old]) | np.isnan(cells.median[new])
    _set(result, both & (cells.mixed[old] | cells.mixed[new]), "not_comparable", "mixed")
    _set(result, both & judged.different, "not_comparable", "differs")
    _set(result, both & (marks & FAILED_BITS > 0), "invalid", "marked")
    _set(result, both & missing, "invalid", "no_value")
    _set(result, both & (marks & MARK_BITS["loss"] > 0), "lossy", "marked")
    _set(result, both & (low <= 0), "invalid", "not_positive")
    _set(result, judged.same_runs, "unreplicated_same", "same_measurement")
    runs = np.minimum(cells.runs[old], cells.runs[new])
    enough, poor = testable(cells, pairs, data.stated["statistic"])
    _set(result, poor | (~enough & (runs >= MIN_RUNS)), "insufficient", "undersampled")
    _set(result, (runs > 1) & (runs < MIN_RUNS), "insufficient", "few_runs")
    _by_value(result, data, pairs, judged.unverified, found, limits)
    _by_test(result, data, pairs, found, limits, policy.false_discovery_rate)
    return result


def _set(result: Verdicts, where: Flags, verdict: Verdict, reason: str = "") -> None:
    """Give the verdict to those of these pairs that have none yet."""
    free = where & (result.verdict < 0)
    result.verdict[free] = CODE[verdict]
    result.reason[free] = REASON[reason]


def _by_value(result: Verdicts, data: Numbers, pairs: CellPairs, unverified: Flags, found: Estimates, limits: Thresholds) -> None:
    """Verdicts from one value a side: a single run, or runs that cannot carry more."""
    cells, (old, new) = data.cells, pairs
    reason = np.zeros(len(old), np.int64)
    confounded = [index for index, design in enumerate(found.designs) if design.kind == "confounded"]
    for index in confounded:
        reason[found.design == index] = REASON[found.designs[index].reason or "order_unknown"]
    reason[unverified] = REASON["unverified"]
    reason[(cells.bound[old] != 0) | (cells.bound[new] != 0)] = REASON["bound"]
    reason[np.minimum(cells.runs[old], cells.runs[new]) == 1] = REASON["single_run"]
    low, high = bounds(cells, pairs)
    apart = (low > limits.single) | (high < -limits.single)
    free = (reason > 0) & (result.verdict < 0)
    result.by_value[free] = True
    result.verdict[free] = np.where(apart, CODE["unreplicated_diff"], CODE["unreplicated_same"])[free]
    result.reason[free] = reason[free]
    same = free & (cells.median[old] == cells.median[new]) & (cells.bound[old] == cells.bound[new])
    printed = data.published[old] & data.published[new]
    _mark_reprints(result, data, pairs, free & printed & (reason == REASON["single_run"]), same)


def _mark_reprints(result: Verdicts, data: Numbers, pairs: CellPairs, single: Flags, same: Flags) -> None:
    """Mark the published series whose values are all identical: two measurements never agree in every value."""
    series = (
        ("system", *SETTING, *data.labels, "metric", "statistic"),
        ("system", "test", "metric"),
    )
    for names in series:
        code = data.groups(names)[pairs.old]
        count = int(code.max(initial=0)) + 1
        rows = np.bincount(code[single], minlength=count)
        alike = np.bincount(code[single & same], minlength=count)
        reprinted = (rows >= SERIES) & (rows == alike)
        where = single & reprinted[code]
        result.verdict[where] = CODE["unreplicated_same"]
        result.reason[where] = REASON["same_measurement"]


def _by_test(result: Verdicts, data: Numbers, pairs: CellPairs, found: Estimates, limits: Thresholds, rate: float) -> None:
    """Verdicts from repeated runs: significant in this report and large enough, or shown to be small, or neither."""
    lower = lower_is_better(data, pairs)
    rows = np.flatnonzero(found.tested & (result.verdict < 0))
    for family, each in ((rows[~result.gated[rows]], False), (rows[result.gated[rows]], True)):
        result.p_adjusted[family] = adjusted_together(found, family, rate, each=each)
        for column, values in zip(result.power, power_of(found, family, limits.least, rate), strict=True):
            column[family] = values
    shift = Shift(*(values[rows] for values in found.shift))
    sides = limits.least[rows], limits.close[rows]
    result.verdict[rows] = by_shift(shift, result.p_adjusted[rows], sides, lower[rows], rate, result.power.attainable[rows])
    _set(result, result.verdict < 0, "insufficient", "few_runs")


def lower_is_better(data: Numbers, pairs: CellPairs) -> Flags:
    """The direction of each pair of cells."""
    return by_word(data.stated["metric"], lambda word: METRICS[word].better != "higher", unknown=True)[pairs.old]


def by_shift(
    shift: Shift, p_adjusted: Floats, limits: tuple[Floats, Floats], lower_is_better: Flags, rate: float, attainable: Floats | float = 0.0
) -> Integers:
    """The verdicts of tested rows, as indices into `VERDICTS`: significant in the report and large enough, or shown to be small, or neither.

    Rows that are neither had too few pairs if no value could have made them significant alone.

    Args:
        shift: what was estimated, shape (rows,) each.
        p_adjusted: the p-values, adjusted over the report.
        limits: the smallest shift that counts, and the largest that counts as none, as logarithms.
        lower_is_better: the rows' direction.
        rate: the false discovery rate.
        attainable: the least adjusted p-value that each row could have, if it were the only one that changed.
    """
    least, close = limits
    beyond_rounding = (shift.low > 0) | (shift.high < 0)
    real = (p_adjusted < rate) & (np.abs(shift.estimate) >= least) & beyond_rounding
    small = (shift.inner_low > -close) & (shift.inner_high < close)
    rose = np.where((shift.estimate > 0) == lower_is_better, CODE["worse"], CODE["better"])
    open_ = np.where((p_adjusted >= rate) & (np.asarray(attainable) >= rate), CODE["too_few_pairs"], CODE["inconclusive"])
    return np.where(real, rose, np.where(small, CODE["no_change"], open_))


def flags(two_modes: bool, significant: bool, gated: bool) -> tuple[str, ...]:
    """What a reader should know about the runs of a row, besides its verdict."""
    known = {"two_modes": two_modes, "significant": significant, "gated": gated}
    return tuple(name for name, there in known.items() if there)


class Power(NamedTuple):
    """The power of the tests in each row of a report, shape (rows,) each; NaN, or 0, for rows that were not tested.

    ``attainable`` is the smallest adjusted p-value that the row can have if only it changed, ``needed`` the number of pairs, or of sessions on each
    side, that makes it significant, ``detectable`` the smallest true shift of this row alone that is detected in four cases of five.
    """

    attainable: Floats
    needed: Integers
    detectable: Floats


def no_power(total: int) -> Power:
    """The power of rows that were not tested."""
    return Power(np.full(total, np.nan), np.zeros(total, np.int64), np.full(total, np.nan))


def adjusted_together(found: Estimates, family: Integers, rate: float, *, each: bool = False) -> Floats:
    """The adjusted p-values of rows that are tested together, in their order.

    Two tests share the level: the ranks of each row, and the largest of all rows. Each p-value is divided by its part of the level, and the smaller
    one counts.

    Args:
        found: the estimates of all rows.
        family: the rows that are tested together.
        rate: the level of both tests.
        each: whether any false row counts (Holm) and not the share of false rows (Benjamini and Hochberg).
    """
    if not len(family):
        return np.zeros(0)
    share = _share(found, family, rate)
    result = np.ones(len(family))
    if share < 1:
        result = (adjusted_each if each else adjusted)(found.shift.p[family]) / (1 - share)
    if share:
        members = np.zeros(len(found.tested), bool)
        members[family] = True
        largest = by_largest([_part(batch, members) for batch in found.in_pairs if members[batch.rows].any()], len(members))[family]
        result = np.fmin(result, largest / share)
    return np.minimum(result, 1.0)


def _part(batch: PairedRows, members: Flags) -> PairedRows:
    chosen = members[batch.rows]
    return PairedRows(batch.rows[chosen], batch.differences[chosen], batch.pairs[chosen])


def _share(found: Estimates, family: Integers, rate: float) -> float:
    """The part of the level that the test by the largest row gets."""
    paired = found.paired[family]
    return share_of_largest(np.unique(found.groups[family][paired, 0]).tolist(), rate, sessions=not paired.all())


def power_of(found: Estimates, family: Integers, least: Floats, rate: float) -> Power:
    """The power of the tests in rows that are adjusted together.

    Args:
        found: the estimates of all rows.
        family: the rows that are adjusted together, shape (members,).
        least: the smallest shift that counts in each row of the report.
        rate: the level of both tests.
    """
    result, many = no_power(len(family)), len(family)
    if not many:
        return result
    share = _share(found, family, rate)
    shapes, which = np.unique(np.column_stack([found.paired[family], found.groups[family]]), axis=0, return_inverse=True)
    for index, (paired, old, new) in enumerate(shapes.tolist()):
        there = np.flatnonzero(which.reshape(-1) == index)
        rows = family[there]
        design = RunCounts(old, new, many, bool(paired))
        result.attainable[there] = attainable(design, share)
        result.needed[there] = runs_needed(many, rate, bool(paired))
        result.detectable[there] = detectable(found.deviation[rows], design, rate, least[rows], found.hidden[rows], share=share)
    return result
