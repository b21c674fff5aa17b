"""The loss on both sides, and its verdict.

Lost messages come in bursts, so a run's share scatters far more widely than independent losses would: runs are the unit here too, and the test is
that of all other rows. It compares the differences of the shares, not their ratios: most runs lose nothing, and a ratio to 0 is undefined.
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
from tacholog.compare.diff.out_of_turn import side_verdicts
from tacholog.compare.diff.rows import natural
from tacholog.compare.diff.verdict import FAILED_BITS, by_shift
from tacholog.compare.policy import MIN_RUNS, Policy
from tacholog.compare.result import REASONS_OUT_OF_TURN, VERDICTS, Loss, LossSide, RunOrder, Verdict
from tacholog.compare.statistics import Shift, adjusted
from tacholog.schema.metrics import median_run

_COUNT = "messages_lost"
_OF_ONE_SIDE: tuple[Verdict, Verdict] = ("removed", "added")


class _LossTest(NamedTuple):
    """The estimates of the rows with loss, and the verdict of each as an index into `VERDICTS`; it means nothing for rows that were not tested.

    ``sides`` is the shift of rows whose sides did not take turns, ``side_verdict`` says whether they differ; -1: neither is shown.
    """

    estimates: Estimates
    verdict: Integers
    policy: Policy
    sides: Shift
    side_verdict: Integers


def loss_asked(policy: Policy) -> bool:
    """Whether loss is compared: it is, unless the user asked for other metrics only."""
    return not policy.metrics or any(word.partition(":")[0] == LOSS for word in policy.metrics)


def lossy(cells: CellTable, pairs: CellPairs, policy: Policy) -> tuple[CellPairs, int, int]:
    """Return the rows in which a run lost something, the number of rows without loss, and the number of rows that state only a count of messages.

    A log that states that no message was lost often prints no share: 0 of any number is 0.

    Args:
        cells: both sides' numbers.
        pairs: the cells that are compared, tested or not.
        policy: which metrics are asked for.
    """
    if not loss_asked(policy):
        return CellPairs(*(np.zeros(0, np.int64) for _ in range(2))), 0, 0
    shares, counts = (_rows_with(cells, pairs, name) for name in (LOSS, _COUNT))
    setting = cells.groups(("system", *SETTING, *SIZE, *cells.labels))[pairs.either]
    counts = counts[~np.isin(setting[counts], setting[shares])]
    most = np.append(np.nan_to_num(reduced_values(cells, np.maximum)), 0.0)  # The last element is that of a missing side, whose index is -1.
    lost, counted = (rows[np.maximum(most[pairs.old[rows]], most[pairs.new[rows]]) > 0] for rows in (shares, counts))
    return pairs.part(lost), len(shares) - len(lost) + len(counts) - len(counted), len(counted)


def _rows_with(cells: CellTable, pairs: CellPairs, metric: str) -> Integers:
    """The rows of a metric for which some run has a value."""
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
    """Give each row of `lossy` its verdict, the worst first.

    Args:
        cells: both sides' numbers.
        pairs: the rows in which a run lost something.
        judged: the judgements of the conditions, and the index of each row's judgement.
        runs: the order of both sides' runs, and a code for each: the same for a run that is on both sides.
        policy: the thresholds.
        host_changed: whether controls show that the host changed: nobody knows how much loss that explains.
    """
    (judgements, which), (order, codes) = judged, runs
    judgement_of = [judgements[index] for index in which.tolist()]
    same = same_runs(cells, pairs, codes)
    test = _test(cells, pairs, judgement_of, order, policy, ~same)
    if host_changed:
        test.side_verdict[:] = -1
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
    """The order among rows of one verdict: by the estimate of the test; without a test rows that lost more now, the largest share first."""
    if loss.difference is not None:
        return 0.0, -abs(loss.difference)
    if not loss.change:
        return 0.0, 0.0
    return -float(np.sign(loss.change)), -max(side.most for side in (loss.old, loss.new) if side)


def _test(cells: CellTable, pairs: CellPairs, judgements: list[Judgement], order: list[RunOrder], policy: Policy, free: Flags) -> _LossTest:
    """Test the rows with enough runs whose conditions are equal and known."""
    old, new = pairs
    equal = np.array([not (judgement.different or judgement.unverified) for judgement in judgements], bool)
    usable = ~(cells.mixed[old] | cells.mixed[new]) & ((cells.marks[old] | cells.marks[new]) & FAILED_BITS == 0)
    wanted = pairs.both & equal & usable & free & (np.minimum(cells.runs[old], cells.runs[new]) >= MIN_RUNS)
    least, rate = np.full(len(old), policy.loss_threshold_points / 100), policy.false_discovery_rate
    estimates = estimate(cells, pairs, wanted, order, least, np.asarray)
    adjust(estimates, np.flatnonzero(estimates.tested), least, rate)
    verdict = by_shift(Shift(*estimates.shift), estimates.p_adjusted, (least, least), np.ones(len(old), bool), rate, estimates.attainable)
    for row in np.flatnonzero(estimates.tested & (verdict == VERDICTS.index("no_change"))).tolist():
        means = [values.mean() for values in estimates.values[row]]
        if abs(means[1] - means[0]) >= least[row]:  # A few runs that lost much do not move the median.
            verdict[row] = VERDICTS.index("inconclusive")
    return _LossTest(estimates, verdict, policy, *_out_of_turn(cells, pairs, estimates, least, rate))


def _out_of_turn(cells: CellTable, pairs: CellPairs, estimates: Estimates, least: Floats, rate: float) -> tuple[Shift, Integers]:
    """The shift of the rows whose sides did not take turns, and whether they differ."""
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
    """The row with its verdict and the evidence. ``judged`` is the judgement of its conditions, and whether both sides are the same runs."""
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
    if test.estimates.tested[index]:
        return _by_test(row, index, test)
    if test.side_verdict[index] >= 0:
        return _by_sides(row, index, test)
    return _by_value(row, row.old, row.new, _why_untested(row.old, row.new, judgement, test.estimates, index), test.policy)


def _by_test(row: Loss, index: int, test: _LossTest) -> Loss:
    estimates, shift = test.estimates, Shift(*(column[index] for column in test.estimates.shift))
    count = [len(values) for values in estimates.values[index]]
    low, high = (float(end) if np.isfinite(end) else None for end in (shift.low, shift.high))
    verdict = VERDICTS[test.verdict[index]]
    few = verdict == "too_few_pairs"
    return replace(
        row,
        attainable_p=float(estimates.attainable[index]) if few else None,
        needed=int(estimates.needed[index]) if few else None,
        verdict=verdict,
        design=estimates.designs[estimates.design[index]].kind,
        old=_with_pairs(row.old, count[0]),
        new=_with_pairs(row.new, count[1]),
        difference=float(shift.estimate),
        interval=(low, high),
        p=float(shift.p),
        p_adjusted=float(estimates.p_adjusted[index]),
        threshold=test.policy.loss_threshold_points / 100,
    )


def _by_sides(row: Loss, index: int, test: _LossTest) -> Loss:
    """The row whose sides did not take turns, and that says whether the measurements differ."""
    shift = Shift(*(column[index] for column in test.sides))
    design = test.estimates.designs[test.estimates.design[index]]
    return replace(
        row,
        verdict=VERDICTS[test.side_verdict[index]],
        reasons=(design.reason or "order_unknown",),
        design=design.kind,
        difference=float(shift.estimate),
        interval=(float(shift.low), float(shift.high)),
        threshold=test.policy.loss_threshold_points / 100,
    )


def _with_pairs(side: LossSide | None, count: int) -> LossSide | None:
    return replace(side, pairs=count) if side else None


def _why_untested(old: LossSide, new: LossSide, judgement: Judgement, estimates: Estimates, index: int) -> str:
    least = min(old.runs, new.runs)
    if least < MIN_RUNS:
        return "single_run" if least == 1 else "few_runs"
    return "unverified" if judgement.unverified else estimates.designs[estimates.design[index]].reason or "order_unknown"


def _by_value(row: Loss, old: LossSide, new: LossSide, why: str, policy: Policy) -> Loss:
    """The verdict on single values, from the distance of the medians alone."""
    if why == "few_runs":
        return replace(row, verdict="insufficient", reasons=(why,))
    band = policy.single_loss_points / 100
    verdict: Verdict = "unreplicated_diff" if abs(new.median - old.median) > band else "unreplicated_same"
    return replace(row, verdict=verdict, reasons=(why,), design="single" if why in ("single_run", "unverified") else "confounded", threshold=band)


def _side(cells: CellTable, cell: int) -> LossSide | None:
    """The loss of a cell; ``None`` if there is no cell, or no run has a value."""
    shares = cells.value[cells.span(cell)] if cell != NONE else cells.value[:0]
    if not len(shares):
        return None
    return LossSide(runs=len(shares), lossy=int((shares > 0).sum()), median=median_run(shares.tolist(), LOSS), most=float(shares.max()))
