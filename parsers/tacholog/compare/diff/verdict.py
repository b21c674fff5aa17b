"""One verdict for each row, by the table in `docs/significance.md`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacholog.compare.bands import SameBuildBands
from tacholog.compare.comparable import Judgement
from tacholog.compare.diff.cells import NONE, SETTING, CellPairs, CellTable, Flags, Floats, Integers, by_word, keys_of, reduced_values
from tacholog.compare.diff.estimate import Estimates, adjust, side_shifts
from tacholog.compare.policy import MIN_RUNS, Bands, Policy, RowFilter, band_of, samples_needed
from tacholog.compare.result import OUT_OF_TURN, REASONS_OUT_OF_TURN, VERDICTS, Interval, Verdict
from tacholog.compare.statistics import Shift, adjusted, adjusted_each
from tacholog.schema.marks import MARK_BITS
from tacholog.schema.metrics import METRICS
from tacholog.schema.records import BOUNDS

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
SERIES = 3  # If at least this number of sizes have identical values, the second document repeats the first measurement.


class Thresholds(NamedTuple):
    """The thresholds of each row, as logarithms.

    Attributes:
        least: the smallest shift that counts.
        close: the largest shift that is shown to be no change. It does not include the rounding error, because values that differ by a rounding step
            show neither a change nor equality.
        source: where ``least`` comes from, as an index into `SOURCES`.
        single: the smallest shift that counts if single values decide.
        single_source: where ``single`` comes from, as an index into `SOURCES`.
        sides: the smallest shift that counts if the sides did not take turns. It is at least the band of the medians of two sessions.
    """

    least: Floats
    close: Floats
    source: Integers
    single: Floats
    single_source: Integers
    sides: Floats


SOURCES = ("policy", "override", "rounding", "same_build", "assumed", "controls")


class RowArrays(NamedTuple):
    """All results for the pairs that get a verdict, one element for each pair.

    Attributes:
        cells: the numbers of both sides.
        pairs: the compared cells.
        judgements: the judgements of the conditions.
        judgement: the index of the judgement of each pair.
        same_runs: whether both sides are the same runs.
        estimates: the estimates and tests.
        limits: the thresholds.
        verdict: the verdict, as an index into `VERDICTS`; -1: none yet.
        reason: the reason, as an index into `REASONS`.
        by_value: whether single values decided.
        gates: the rows of each gate, which are tested separately from all other rows.
        host_change: how much the controls moved, as a logarithm; ``None``: they did not move.
        sides: the shift of rows whose sides did not take turns; ``None``: not computed.
        side_limits: the lowest and the highest shift that does not count, for the rows of ``sides``.
    """

    cells: CellTable
    pairs: CellPairs
    judgements: list[Judgement]
    judgement: Integers
    same_runs: Flags
    estimates: Estimates
    limits: Thresholds
    verdict: Integers
    reason: Integers
    by_value: Flags
    gates: tuple[Flags, ...]
    host_change: float | None = None
    sides: Shift | None = None
    side_limits: tuple[Floats, Floats] | None = None

    @property
    def out_of_turn(self) -> Flags:
        """Whether each row has a verdict on the measurements only: they differ, or no difference was seen. The verdict names no cause."""
        return np.isin(self.verdict, [CODE[verdict] for verdict in OUT_OF_TURN])

    @property
    def different(self) -> Flags:
        """Whether a condition differs, for each row."""
        return np.array([bool(judgement.different) for judgement in self.judgements] or [False])[self.judgement]

    @property
    def gated(self) -> Flags:
        """Whether each row is in at least one of the gates."""
        any_gate = np.zeros(len(self.verdict), bool)
        for gate in self.gates:
            any_gate |= gate
        return any_gate

    @property
    def lower_is_better(self) -> Flags:
        """Whether lower values are better, for each row."""
        return lower_is_better(self.cells, self.pairs)

    def give(self, where: Flags, verdict: Verdict, reason: str = "") -> None:
        """Set the verdict of these rows, except of rows that already have a verdict."""
        free = where & (self.verdict < 0)
        self.verdict[free] = CODE[verdict]
        self.reason[free] = REASON[reason]


def lower_is_better(cells: CellTable, pairs: CellPairs) -> Flags:
    """Whether lower values are better, for each pair of cells."""
    return by_word(cells.columns["metric"], lambda word: METRICS[word].better != "higher", unknown=True)[pairs.old]


def thresholds(cells: CellTable, pairs: CellPairs, policy: Policy, measured: SameBuildBands | None = None) -> Thresholds:
    """Return the threshold of each pair: the largest of the policy, the rounding error and the band of one build (stated or measured)."""
    cell = pairs.either
    chosen, assumed = (_log_band(cells, cell, percent) for percent in (policy.thresholds_percent, policy.single_value_percent))
    source = np.zeros(len(cell), np.int64)
    for override in policy.row:
        fits = matching_rows(cells, cell, override)
        chosen[fits], source[fits] = np.log1p(override.threshold_percent / 100), SOURCES.index("override")
    rounding = np.fmax(*(_rounding_width(cells, side) for side in pairs))
    build, single, single_source, between = _same_build_bands(cells, pairs, policy, measured, assumed)
    least = np.maximum(np.maximum(chosen, rounding), build)
    source = np.where(least > chosen, np.where(least == build, SOURCES.index("same_build"), SOURCES.index("rounding")), source)
    return Thresholds(least, np.maximum(chosen, build), source, single, single_source, np.maximum(least, between))


def _log_band(cells: CellTable, cell: Integers, percent: Bands) -> Floats:
    return np.log1p(by_word(cells.columns["statistic"], lambda word: getattr(percent, band_of(word)), percent.centre)[cell] / 100)


def matching_rows(cells: CellTable, cell: Integers, selection: RowFilter) -> Flags:
    """Whether a filter selects the row of each of these cells."""
    fits = np.ones(len(cell), bool)
    for name, value in selection.wanted().items():
        fits &= (cells.columns[name] == value)[cell]
    return fits


def _same_build_bands(
    cells: CellTable, pairs: CellPairs, policy: Policy, measured: SameBuildBands | None, assumed: Floats
) -> tuple[Floats, Floats, Integers, Floats]:
    """Return how much the results of one build differ: three bands of each row.

    The band of single values is assumed if it is neither stated in the policy nor measured. If it was measured in too few sessions, the wider of the
    measured and the assumed band is used. The band of two sessions is 0 if it is unknown.

    Returns:
        Four arrays, with one element for each row:

        - the band of pairs
        - the band of single values
        - the source of the band of single values, as an index into `SOURCES`
        - the band of two sessions, which is that of their medians
    """
    for_pairs = np.full(len(assumed), np.log1p((policy.same_build_percent or 0.0) / 100))
    single = for_pairs.copy() if policy.same_build_percent else assumed.copy()
    source = np.full(len(assumed), SOURCES.index("same_build" if policy.same_build_percent else "assumed"))
    between = np.zeros(len(assumed))
    if measured is None or policy.same_build_percent:
        return for_pairs, single, source, between
    both = np.flatnonzero(pairs.both)
    for row, key in zip(both.tolist(), keys_of(cells, pairs.old[both], policy), strict=True):
        band = measured.bands.get(key)
        if band is not None:
            for_pairs[row], between[row] = band.paired, band.between or 0.0
            if band.across_sessions or band.single > single[row]:
                single[row], source[row] = band.single, SOURCES.index("same_build")
    return for_pairs, single, source, between


def _rounding_width(cells: CellTable, side: Integers) -> Floats:
    """Return how much two true values with the same printed value may differ, as a logarithm."""
    half = np.nan_to_num(cells.resolution[side] / 2)
    value = cells.median[side]
    with np.errstate(divide="ignore", invalid="ignore"):
        width = np.log((value + half) / np.maximum(value - half, 0.0))
    width[(side == NONE) | np.isnan(width)] = 0.0
    return width


def bounds(cells: CellTable, pairs: CellPairs) -> tuple[Floats, Floats]:
    """Return the smallest and the largest possible true ratio new over old, as logarithms. Values are known only up to rounding and bounds."""
    (old_low, old_high), (new_low, new_high) = (_ends(cells, side) for side in pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(new_low) - np.log(old_high), np.log(new_high) - np.log(old_low)


def _ends(cells: CellTable, side: Integers) -> tuple[Floats, Floats]:
    value, bound = cells.median[side], cells.bound[side]
    half = np.nan_to_num(cells.resolution[side] / 2) * np.where(bound == BOUNDS.index("~"), 2, 1)
    low = np.where(bound == BOUNDS.index("<"), 0.0, np.maximum(value - half, 0.0))
    high = np.where(bound == BOUNDS.index(">"), np.inf, value + half)
    return np.where(bound == BOUNDS.index(">"), value, low), np.where(bound == BOUNDS.index("<"), value, high)


def decide(
    cells: CellTable,
    pairs: CellPairs,
    judged: tuple[list[Judgement], Integers],
    same_runs: Flags,
    estimates: Estimates,
    limits: Thresholds,
    policy: Policy,
) -> RowArrays:
    """Return the results with the verdict of each pair.

    Args:
        cells: the numbers of both sides.
        pairs: the pairs of cells.
        judged: the judgements of the conditions, and the index of the judgement of each pair.
        same_runs: whether each pair has the same runs on both sides.
        estimates: the estimates, whose adjusted p-values are filled in here.
        limits: the thresholds.
        policy: the false discovery rate, and the rows that are tested separately.
    """
    both, total = pairs.both, len(pairs.old)
    rows = RowArrays(
        cells=cells,
        pairs=pairs,
        judgements=judged[0],
        judgement=judged[1],
        same_runs=same_runs,
        estimates=estimates,
        limits=limits,
        verdict=np.full(total, -1),
        reason=np.zeros(total, np.int64),
        by_value=np.zeros(total, bool),
        gates=tuple(matching_rows(cells, pairs.either, selection) for selection in policy.gate),
    )
    rows.give(pairs.new == NONE, "removed")
    rows.give(pairs.old == NONE, "added")
    old, new = pairs
    marks = np.where(both, cells.marks[old] | cells.marks[new], 0)
    least = reduced_values(cells, np.minimum)
    low, missing = np.fmin(least[old], least[new]), np.isnan(cells.median[old]) | np.isnan(cells.median[new])
    rows.give(both & (cells.mixed[old] | cells.mixed[new]), "not_comparable", "mixed")
    rows.give(both & rows.different, "not_comparable", "differs")
    rows.give(both & (marks & FAILED_BITS > 0), "invalid", "marked")
    rows.give(both & missing, "invalid", "no_value")
    rows.give(both & (marks & MARK_BITS["loss"] > 0), "lossy", "marked")
    rows.give(both & (low <= 0), "invalid", "not_positive")
    rows.give(same_runs, "unreplicated_same", "same_measurement")
    runs = np.minimum(cells.runs[old], cells.runs[new])
    needed = by_word(cells.columns["statistic"], lambda word: samples_needed(word) or 0, 0)[old]
    is_short = np.fmin(cells.samples[old], cells.samples[new]) < needed  # false if the number of samples is unknown (NaN)
    is_marked = (cells.marks[old] | cells.marks[new]) & MARK_BITS["undersampled"] > 0
    rows.give(is_marked | (is_short & (runs >= MIN_RUNS)), "insufficient", "undersampled")
    rows.give((runs > 1) & (runs < MIN_RUNS), "insufficient", "few_runs")
    _decide_by_value(rows)
    _decide_by_test(rows, policy.false_discovery_rate)
    return rows


def _decide_by_value(rows: RowArrays) -> None:
    """Compare one value of each side. It is the value of a single run, or the median of runs that cannot be tested."""
    cells, (old, new) = rows.cells, rows.pairs
    reason = np.zeros(len(old), np.int64)
    for index, design in enumerate(rows.estimates.designs):
        if design.kind == "confounded":
            reason[rows.estimates.design == index] = REASON[design.reason or "order_unknown"]
    unverified = np.array([bool(judgement.unverified) for judgement in rows.judgements] or [False])[rows.judgement]
    reason[unverified] = REASON["unverified"]
    reason[(cells.bound[old] != 0) | (cells.bound[new] != 0)] = REASON["bound"]
    reason[np.minimum(cells.runs[old], cells.runs[new]) == 1] = REASON["single_run"]
    low, high = bounds(cells, rows.pairs)
    differs = (low > rows.limits.single) | (high < -rows.limits.single)
    free = (reason > 0) & (rows.verdict < 0)
    rows.by_value[free] = True
    rows.verdict[free] = np.where(differs, CODE["unreplicated_diff"], CODE["unreplicated_same"])[free]
    rows.reason[free] = reason[free]
    same = free & (cells.median[old] == cells.median[new]) & (cells.bound[old] == cells.bound[new])
    printed = cells.published[old] & cells.published[new]
    _mark_reprints(rows, free & printed & (reason == REASON["single_run"]), same)


def _mark_reprints(rows: RowArrays, single: Flags, same: Flags) -> None:
    """If both sides of a published series have the same values, mark them as one measurement. Two measurements never agree in all values."""
    series = (
        ("system", *SETTING, *rows.cells.labels, "metric", "statistic"),
        ("system", "test", "metric"),
    )
    for names in series:
        code = rows.cells.groups(names)[rows.pairs.old]
        count = int(code.max(initial=0)) + 1
        members = np.bincount(code[single], minlength=count)
        identical = np.bincount(code[single & same], minlength=count)
        reprinted = (members >= SERIES) & (members == identical)
        where = single & reprinted[code]
        rows.verdict[where] = CODE["unreplicated_same"]
        rows.reason[where] = REASON["same_measurement"]


def _decide_by_test(rows: RowArrays, rate: float) -> None:
    """Decide the verdicts of the rows that were tested. The rows of gates are tested separately from all other rows."""
    estimates, limits = rows.estimates, rows.limits
    members = np.flatnonzero(estimates.tested & (rows.verdict < 0))
    is_gated = rows.gated[members]
    adjust(estimates, members[~is_gated], limits.least, rate)
    adjust(estimates, members[is_gated], limits.least, rate, each=True)
    rows.verdict[members] = by_shift(
        Shift(*(values[members] for values in estimates.shift)),
        estimates.p_adjusted[members],
        (limits.least[members], limits.close[members]),
        rows.lower_is_better[members],
        rate,
        estimates.attainable[members],
    )
    rows.give(rows.verdict < 0, "insufficient", "few_runs")


def by_shift(
    shift: Shift, p_adjusted: Floats, limits: tuple[Floats, Floats], lower_is_better: Flags, rate: float, attainable: Floats | float = 0.0
) -> Integers:
    """Return the verdicts of tested rows, as indices into `VERDICTS`.

    The first of these verdicts that applies is returned for each row:

    - worse or better: the change is significant and large enough.
    - no change: the change is shown to be small.
    - too few pairs: no values could have been significant.
    - too noisy to tell: all other rows.

    Args:
        shift: the estimates, shape (rows,) each.
        p_adjusted: the adjusted p-values.
        limits: the smallest shift that counts, and the largest shift that is no change, as logarithms.
        lower_is_better: whether lower values are better, for each row.
        rate: the false discovery rate.
        attainable: the smallest adjusted p-value that each row could have if no other row changed.
    """
    least, close = limits
    beyond_rounding = (shift.low > 0) | (shift.high < 0)
    real = (p_adjusted < rate) & (np.abs(shift.estimate) >= least) & beyond_rounding
    small = (shift.inner_low > -close) & (shift.inner_high < close)
    rose = np.where((shift.estimate > 0) == lower_is_better, CODE["worse"], CODE["better"])
    undecided = np.where((p_adjusted >= rate) & (np.asarray(attainable) >= rate), CODE["too_few_pairs"], CODE["inconclusive"])
    return np.where(real, rose, np.where(small, CODE["no_change"], undecided))


def out_of_turn(rows: RowArrays) -> Flags:
    """Whether each row has enough runs, but its sides did not take turns, or do not state their order."""
    return rows.by_value & np.isin(rows.reason, [REASON[reason] for reason in REASONS_OUT_OF_TURN])


def say_whether_sides_differ(rows: RowArrays, host: Interval | None, rate: float) -> RowArrays:
    """Return the rows with verdicts for the rows of `out_of_turn`: whether the measurements of both sides differ.

    A row is unchanged if neither a difference nor its absence can be shown. All other rows are unchanged too.

    These verdicts never state that a release is better or worse, because anything else that changed between the sides may be the cause, such as the
    machine or the day. The rank sum test decides whether the change is larger than the threshold. It compares the runs, or the sessions if each side
    has enough of them. Its p-values are adjusted for all rows of the comparison.

    Args:
        rows: the results.
        host: the lowest and the highest relative change that a change of the host explains. A positive change is worse. An end without a limit is
            ``None``.
        rate: the false discovery rate.
    """
    wanted = out_of_turn(rows)
    if not wanted.any():
        return rows
    limits = _limits(rows, host)
    shift, p_beyond = side_shifts(rows.cells, rows.pairs, rows.estimates, wanted, limits)
    p = np.ones(len(wanted))
    gated = rows.gated
    p[wanted & ~gated] = adjusted(p_beyond[wanted & ~gated])
    p[wanted & gated] = adjusted_each(p_beyond[wanted & gated])
    verdict = side_verdicts(shift, p < rate, limits, rows.limits.close, rows.lower_is_better)
    decided = wanted & (verdict >= 0)
    rows.verdict[decided] = verdict[decided]
    return rows._replace(sides=shift, side_limits=limits)


def _limits(rows: RowArrays, host: Interval | None) -> tuple[Floats, Floats]:
    """Return two limits for each row. A shift between them is no difference, because it is small or because a change of the host explains it."""
    least = rows.limits.sides
    if host is None:
        return -least, least
    better, worse = (np.inf if end is None else abs(float(np.log1p(end))) for end in host)
    lower = rows.lower_is_better
    return np.minimum(-least, -np.where(lower, better, worse)), np.maximum(least, np.where(lower, worse, better))


def side_verdicts(shift: Shift, significant: Flags, limits: tuple[Floats, Floats], close: Floats, lower_is_better: Flags) -> Integers:
    """Return the verdicts as indices into `VERDICTS`; -1 if neither a difference nor its absence is shown.

    Args:
        shift: the estimates, shape (rows,) each.
        significant: whether the shift is significantly outside the limits, adjusted for all rows of the comparison.
        limits: two limits of each row. The row differs if its shift is significantly below the first limit or above the second limit.
        close: another limit of each row. The row does not differ if the whole interval of its shift is between ``-close`` and ``close``.
        lower_is_better: whether lower values are better, for each row.
    """
    low, high = limits
    is_outside = significant & ((shift.low > high) | (shift.high < low))
    rose = np.where((shift.estimate > 0) == lower_is_better, CODE["differs_worse"], CODE["differs_better"])
    is_inside = (shift.low > -close) & (shift.high < close)
    return np.where(is_outside, rose, np.where(is_inside, CODE["differs_not"], -1))
