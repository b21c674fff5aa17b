"""The loss on both sides, and its verdict.

Messages are lost in bursts, so the share of a run scatters much more than with independent losses. So the test compares runs, as for all other rows.
It uses differences of the shares and not ratios, because most runs lose nothing, and a ratio to 0 is undefined.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from tacholog.compare.comparable import Judgement
from tacholog.compare.diff.cells import (
    LOSS,
    NONE,
    SETTING,
    SIZE,
    CellPairs,
    CellTable,
    Flags,
    Floats,
    Integers,
    mark_names,
    reduced_values,
    row_keys,
    same_runs,
)
from tacholog.compare.diff.estimate import Estimates, adjust, estimate, side_shifts
from tacholog.compare.diff.rows import natural
from tacholog.compare.diff.verdict import FAILED_BITS, by_shift, side_verdicts
from tacholog.compare.policy import MIN_RUNS, Policy
from tacholog.compare.result import REASONS_OUT_OF_TURN, VERDICTS, Loss, LossSide, RunOrder, Verdict
from tacholog.compare.statistics import Shift, adjusted
from tacholog.schema.metrics import median_run

_COUNT = "messages_lost"
_OF_ONE_SIDE: tuple[Verdict, Verdict] = ("removed", "added")


class _LossTest(NamedTuple):
    """The result of the test of rows with loss: the estimates, the displayed shifts and the verdicts.

    A verdict is an index into `VERDICTS`, or -1 if a row has no verdict. If the sides of a row did not take turns, the verdict states only whether
    the sides differ, and ``shift`` comes from `side_shifts`.
    """

    estimates: Estimates
    shift: Shift
    verdict: Integers
    policy: Policy


def loss_asked(policy: Policy) -> bool:
    """Whether loss is compared: the user asked for loss, or for no particular metric."""
    return not policy.metrics or any(word.partition(":")[0] == LOSS for word in policy.metrics)


def lossy(cells: CellTable, pairs: CellPairs, policy: Policy) -> tuple[CellPairs, int, int]:
    """Return the rows in which a run lost messages, the number of rows without loss, and the number of lossy rows that state only a count.

    A row that states 0 lost messages, without a share, is a row without loss.

    Args:
        cells: the numbers of both sides.
        pairs: all compared cells, tested or not.
        policy: the metrics that the user asked for.
    """
    if not loss_asked(policy):
        return CellPairs(*(np.zeros(0, np.int64) for _ in range(2))), 0, 0
    shares, counts = (_rows_with_value(cells, pairs, name) for name in (LOSS, _COUNT))
    setting = cells.groups(("system", *SETTING, *SIZE, *cells.labels))[pairs.either]
    counts = counts[~np.isin(setting[counts], setting[shares])]
    most = np.append(np.nan_to_num(reduced_values(cells, np.maximum)), 0.0)  # a missing side has the index -1, so it gets the last element: 0
    lost, counted = (rows[np.maximum(most[pairs.old[rows]], most[pairs.new[rows]]) > 0] for rows in (shares, counts))
    return pairs.part(lost), len(shares) - len(lost) + len(counts) - len(counted), len(counted)


def _rows_with_value(cells: CellTable, pairs: CellPairs, metric: str) -> Integers:
    has_value = np.where(pairs.old != NONE, cells.runs[pairs.old], 0) + np.where(pairs.new != NONE, cells.runs[pairs.new], 0) > 0
    return np.flatnonzero(has_value & (cells.columns["metric"] == metric)[pairs.either])


def losses(
    cells: CellTable,
    pairs: CellPairs,
    judged: tuple[list[Judgement], Integers],
    runs: tuple[list[RunOrder], Integers],
    policy: Policy,
    *,
    host_changed: bool,
) -> tuple[Loss, ...]:
    """Return each row of `lossy` with its verdict, the worst rows first.

    Args:
        cells: the numbers of both sides.
        pairs: the rows in which a run lost messages.
        judged: the judgements of the conditions, and the index of the judgement of each row.
        runs: the runs of both sides with their times, and a code for each run, as in `SharedRuns`.
        policy: the thresholds.
        host_changed: whether controls show that the host changed; how much loss this explains is unknown.
    """
    (judgements, which), (order, codes) = judged, runs
    judgement_of = [judgements[index] for index in which.tolist()]
    same = same_runs(cells, pairs, codes)
    test = _test(cells, pairs, judgement_of, order, policy, ~same)
    if host_changed:
        test.verdict[~test.estimates.tested] = -1
    sides = [[_side(cells, cell) for cell in side.tolist()] for side in pairs]
    rows = [Loss(key=key, verdict="invalid", old=old, new=new) for key, old, new in zip(row_keys(cells, pairs.either, policy), *sides, strict=True)]
    rows = [
        _loss(cells, pairs, index, row, (judgement, is_same), test)
        for index, (row, judgement, is_same) in enumerate(zip(rows, judgement_of, same.tolist(), strict=True))
    ]
    ranks = np.array([VERDICTS.index(row.verdict) for row in rows], np.int64)
    size = np.array([_sort_key(row) for row in rows]).reshape(-1, 2)
    return tuple(rows[index] for index in np.lexsort((*natural(cells, pairs.either), size[:, 1], size[:, 0], ranks)).tolist())


def _sort_key(loss: Loss) -> tuple[float, float]:
    """Sort tested rows by their estimate. Of the other rows, those whose loss rose come first, the largest loss first."""
    if loss.difference is not None:
        return 0.0, -abs(loss.difference)
    if not loss.change:
        return 0.0, 0.0
    return -float(np.sign(loss.change)), -max(side.most for side in (loss.old, loss.new) if side)


def _test(cells: CellTable, pairs: CellPairs, judgements: list[Judgement], order: list[RunOrder], policy: Policy, free: Flags) -> _LossTest:
    old, new = pairs
    equal = np.array([not (judgement.different or judgement.unverified) for judgement in judgements], bool)
    usable = ~(cells.mixed[old] | cells.mixed[new]) & ((cells.marks[old] | cells.marks[new]) & FAILED_BITS == 0)
    wanted = pairs.both & equal & usable & free & (np.minimum(cells.runs[old], cells.runs[new]) >= MIN_RUNS)
    least, rate = np.full(len(old), policy.loss_threshold_points / 100), policy.false_discovery_rate
    estimates = estimate(cells, pairs, wanted, order, np.asarray)
    adjust(estimates, np.flatnonzero(estimates.tested), least, rate)
    verdict = by_shift(Shift(*estimates.shift), estimates.p_adjusted, (least, least), np.ones(len(old), bool), rate, estimates.attainable)
    for row in np.flatnonzero(estimates.tested & (verdict == VERDICTS.index("no_change"))).tolist():
        means = [values.mean() for values in estimates.values[row]]
        if abs(means[1] - means[0]) >= least[row]:  # a few runs that lost many messages do not change the median
            verdict[row] = VERDICTS.index("inconclusive")
    sides, side_verdict = _out_of_turn(cells, pairs, estimates, least, rate)
    shift = Shift(*(np.where(estimates.tested, tested, of_sides) for tested, of_sides in zip(estimates.shift, sides, strict=True)))
    return _LossTest(estimates, shift, np.where(estimates.tested, verdict, side_verdict), policy)


def _out_of_turn(cells: CellTable, pairs: CellPairs, estimates: Estimates, least: Floats, rate: float) -> tuple[Shift, Integers]:
    """Judge the rows whose sides did not take turns. All other rows have the verdict -1."""
    reasons = np.array([*(design.reason in REASONS_OUT_OF_TURN for design in estimates.designs), False])
    wanted = reasons[estimates.design]
    shift, p_beyond = side_shifts(cells, pairs, estimates, wanted, (-least, least), np.asarray)
    p = np.ones(len(wanted))
    p[wanted] = adjusted(p_beyond[wanted])
    verdict = side_verdicts(shift, p < rate, (-least, least), least, np.ones(len(wanted), bool))
    for row in np.flatnonzero(wanted & (verdict == VERDICTS.index("differs_not"))).tolist():
        means = [cells.value[cells.span(int(side[row]))].mean() for side in pairs]
        if abs(means[1] - means[0]) >= least[row]:
            verdict[row] = -1
    return shift, np.where(wanted, verdict, -1)


def _loss(cells: CellTable, pairs: CellPairs, index: int, row: Loss, judged: tuple[Judgement, bool], test: _LossTest) -> Loss:
    """Return the row with its verdict. ``judged`` states the judgement of the row's conditions, and whether both sides have the same runs."""
    judgement, is_same = judged
    if row.old is None or row.new is None:
        return replace(row, verdict=_OF_ONE_SIDE[row.old is None], differences=judgement.different + judgement.machines)
    old, new = int(pairs.old[index]), int(pairs.new[index])
    marks = int(cells.marks[old] | cells.marks[new]) & FAILED_BITS
    if cells.mixed[old] or cells.mixed[new] or judgement.different:
        fields = tuple(difference.field for difference in judgement.different) or ("mixed",)
        return replace(row, verdict="not_comparable", reasons=fields, differences=judgement.different + judgement.machines)
    if marks:
        return replace(row, verdict="invalid", reasons=mark_names(marks))
    if is_same:
        return replace(row, verdict="unreplicated_same", reasons=("same_measurement",))
    if test.verdict[index] >= 0:
        return _by_test(row, index, test)
    return _by_value(row, row.old, row.new, _why_untested(row.old, row.new, judgement, test.estimates, index), test.policy)


def _by_test(row: Loss, index: int, test: _LossTest) -> Loss:
    estimates, shift = test.estimates, Shift(*(column[index] for column in test.shift))
    low, high = (float(end) if np.isfinite(end) else None for end in (shift.low, shift.high))
    design, verdict = estimates.designs[estimates.design[index]], VERDICTS[test.verdict[index]]
    row = replace(
        row,
        verdict=verdict,
        design=design.kind,
        difference=float(shift.estimate),
        interval=(low, high),
        threshold=test.policy.loss_threshold_points / 100,
    )
    if not estimates.tested[index]:
        return replace(row, reasons=(design.reason or "order_unknown",))
    old, new = (replace(side, pairs=len(values)) if side else None for side, values in zip((row.old, row.new), estimates.values[index], strict=True))
    row = replace(row, old=old, new=new, p=float(shift.p), p_adjusted=float(estimates.p_adjusted[index]))
    if verdict != "too_few_pairs":
        return row
    return replace(row, attainable_p=float(estimates.attainable[index]), needed=int(estimates.needed[index]))


def _why_untested(old: LossSide, new: LossSide, judgement: Judgement, estimates: Estimates, index: int) -> str:
    least = min(old.runs, new.runs)
    if least < MIN_RUNS:
        return "single_run" if least == 1 else "few_runs"
    return "unverified" if judgement.unverified else estimates.designs[estimates.design[index]].reason or "order_unknown"


def _by_value(row: Loss, old: LossSide, new: LossSide, why: str, policy: Policy) -> Loss:
    if why == "few_runs":
        return replace(row, verdict="insufficient", reasons=(why,))
    band = policy.single_loss_points / 100
    verdict: Verdict = "unreplicated_diff" if abs(new.median - old.median) > band else "unreplicated_same"
    return replace(row, verdict=verdict, reasons=(why,), design="single" if why in ("single_run", "unverified") else "confounded", threshold=band)


def _side(cells: CellTable, cell: int) -> LossSide | None:
    shares = cells.value[cells.span(cell)] if cell != NONE else cells.value[:0]
    if not len(shares):
        return None
    return LossSide(runs=len(shares), lossy=int((shares > 0).sum()), median=median_run(shares.tolist(), LOSS), most=float(shares.max()))
