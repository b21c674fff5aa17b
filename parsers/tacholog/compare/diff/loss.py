"""The loss on both sides, and its verdict.

Lost messages come in bursts, so a run's share scatters far wider than so many coin tosses would: runs are the unit here too, and the test is that of
all other rows. It takes the shares' differences, not their ratios: most runs lose nothing, and a ratio to nothing is none.
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
    Flags,
    Floats,
    Integers,
    Numbers,
    mark_names,
    reduced_values,
    row_keys,
    same_runs,
)
from tacholog.compare.diff.estimate import Estimates, estimate
from tacholog.compare.diff.rows import either, natural
from tacholog.compare.diff.verdict import FAILED_BITS, Power, adjusted_together, by_shift, power_of
from tacholog.compare.policy import MIN_RUNS, Policy
from tacholog.compare.result import VERDICTS, Loss, LossSide, RunOrder, Verdict
from tacholog.compare.statistics import Shift
from tacholog.schema.metrics import median_run

_COUNT = "messages_lost"
_OF_ONE_SIDE: tuple[Verdict, Verdict] = ("removed", "added")


class _Tested(NamedTuple):
    """What the test says of each row; ``p_adjusted`` is NaN where nothing was tested. ``reach`` has only the rows that were tested."""

    found: Estimates
    p_adjusted: Floats
    verdict: Integers
    reach: Power
    policy: Policy


def loss_asked(policy: Policy) -> bool:
    """Whether loss is compared: it is, unless the user asked for other metrics only."""
    return not policy.metrics or any(word.partition(":")[0] == LOSS for word in policy.metrics)


def lossy(data: Numbers, pairs: CellPairs, policy: Policy) -> tuple[CellPairs, int, int]:
    """Return the rows in which a run lost something, how many there are in which none did, and how many say only how many messages were lost.

    A log that says of no message that it was lost has no share of them printed, as often as not: none of any number is none.

    Args:
        data: both sides' numbers.
        pairs: the cells that stand against each other, tested or not.
        policy: which metrics are asked for.
    """
    if not loss_asked(policy):
        return CellPairs(*(np.zeros(0, np.int64) for _ in range(2))), 0, 0
    shares, counts = (_stated(data, pairs, name) for name in (LOSS, _COUNT))
    setting = data.groups(("system", *SETTING, *SIZE, *data.labels))[either(pairs)]
    counts = counts[~np.isin(setting[counts], setting[shares])]
    most = np.append(np.nan_to_num(reduced_values(data, np.maximum)), 0.0)  # the last one is that of a side that is not there
    lost, counted = (places[np.maximum(most[pairs.old[places]], most[pairs.new[places]]) > 0] for places in (shares, counts))
    return CellPairs(pairs.old[lost], pairs.new[lost]), len(shares) - len(lost) + len(counts) - len(counted), len(counted)


def _stated(data: Numbers, pairs: CellPairs, name: str) -> Integers:
    """The rows of a metric of which some run has a value."""
    stated = np.where(pairs.old != NONE, data.cells.runs[pairs.old], 0) + np.where(pairs.new != NONE, data.cells.runs[pairs.new], 0) > 0
    return np.flatnonzero(stated & (data.stated["metric"] == name)[either(pairs)])


def losses(
    data: Numbers, pairs: CellPairs, asked: tuple[list[Judgement], Integers], runs: tuple[list[RunOrder], Integers], policy: Policy
) -> tuple[Loss, ...]:
    """Give each row of `lossy` its verdict, the worst first.

    Args:
        data: both sides' numbers.
        pairs: the rows in which a run lost something.
        asked: the judgements on conditions, and the place of each row's judgement.
        runs: the order of both sides' runs, and a code for each: the same for a run that is on both sides.
        policy: what counts as a change.
    """
    (judgements, which), (order, codes) = asked, runs
    judged = [judgements[index] for index in which.tolist()]
    same = same_runs(data, pairs, codes)
    tested = _test(data, pairs, judged, order, policy, ~same)
    sides = [[_side(_values(data, cell)) for cell in side.tolist()] for side in pairs]
    rows = zip(row_keys(data, either(pairs), policy), *sides, judged, same.tolist(), strict=True)
    found = [
        _loss(data, pairs, place, Loss(key=key, verdict="invalid", old=old, new=new), (one, alike), tested)
        for place, (key, old, new, one, alike) in enumerate(rows)
    ]
    ranks = np.array([VERDICTS.index(loss.verdict) for loss in found], np.int64)
    size = np.array([_place(loss) for loss in found]).reshape(-1, 2)
    return tuple(found[place] for place in np.lexsort((*natural(data, either(pairs)), size[:, 1], size[:, 0], ranks)).tolist())


def _place(loss: Loss) -> tuple[float, float]:
    """Where a row stands among those of its verdict: by what the test estimated; without a test what lost more now, the largest share first."""
    if loss.difference is not None:
        return 0.0, -abs(loss.difference)
    if not loss.change:
        return 0.0, 0.0
    return -float(np.sign(loss.change)), -max(side.most for side in (loss.old, loss.new) if side)


def _test(data: Numbers, pairs: CellPairs, judged: list[Judgement], order: list[RunOrder], policy: Policy, free: Flags) -> _Tested:
    """Test the rows with enough runs whose conditions are equal and known."""
    cells, (old, new) = data.cells, pairs
    equal = np.array([not (one.different or one.unverified) for one in judged], bool)
    whole = ~(cells.mixed[old] | cells.mixed[new]) & ((cells.marks[old] | cells.marks[new]) & FAILED_BITS == 0)
    wanted = pairs.both & equal & whole & free & (np.minimum(cells.runs[old], cells.runs[new]) >= MIN_RUNS)
    least = np.full(len(old), policy.loss_threshold_points / 100)
    found = estimate(data, pairs, wanted, order, least, np.asarray)
    p, attainable = np.full(len(old), np.nan), np.zeros(len(old))
    family = np.flatnonzero(found.tested)
    p[family] = adjusted_together(found, family, policy.false_discovery_rate)
    within = power_of(found, family, least, policy.false_discovery_rate)
    attainable[found.tested] = within.attainable
    verdict = by_shift(Shift(*found.shift), p, (least, least), np.ones(len(old), bool), policy.false_discovery_rate, attainable)
    for place in np.flatnonzero(verdict == VERDICTS.index("no_change")).tolist():
        means = [values.mean() for values in found.values[place]]
        if abs(means[1] - means[0]) >= least[place]:  # a few runs that lost much move no median
            verdict[place] = VERDICTS.index("inconclusive")
    return _Tested(found, p, verdict, within, policy)


def _loss(data: Numbers, pairs: CellPairs, place: int, row: Loss, known: tuple[Judgement, bool], tested: _Tested) -> Loss:
    """The row with its verdict and the evidence."""
    judged, alike = known
    if row.old is None or row.new is None:
        return replace(row, verdict=_OF_ONE_SIDE[row.old is None], differences=judged.different + judged.machines)
    cells, old, new = data.cells, int(pairs.old[place]), int(pairs.new[place])
    marks = int(cells.marks[old] | cells.marks[new]) & FAILED_BITS
    if cells.mixed[old] or cells.mixed[new] or judged.different:
        fields = tuple(one.field for one in judged.different) or ("mixed",)
        return replace(row, verdict="not_comparable", reasons=fields, differences=judged.different + judged.machines)
    if marks:
        return replace(row, verdict="invalid", reasons=mark_names(marks))
    if alike:
        return replace(row, verdict="unreplicated_same", reasons=("same_measurement",))
    if tested.found.tested[place]:
        return _by_test(row, place, tested)
    return _by_value(row, row.old, row.new, _why(row.old, row.new, judged, tested.found, place), tested.policy)


def _by_test(row: Loss, place: int, tested: _Tested) -> Loss:
    found, shift = tested.found, Shift(*(column[place] for column in tested.found.shift))
    count = [len(values) for values in found.values[place]]
    low, high = (float(end) if np.isfinite(end) else None for end in (shift.low, shift.high))
    verdict = VERDICTS[tested.verdict[place]]
    member = int(found.tested[:place].sum())
    few = verdict == "too_few_pairs"
    return replace(
        row,
        attainable_p=float(tested.reach.attainable[member]) if few else None,
        needed=int(tested.reach.needed[member]) if few else None,
        verdict=verdict,
        design=found.designs[found.design[place]].kind,
        old=_counted(row.old, count[0]),
        new=_counted(row.new, count[1]),
        difference=float(shift.estimate),
        interval=(low, high),
        p=float(shift.p),
        p_adjusted=float(tested.p_adjusted[place]),
        threshold=tested.policy.loss_threshold_points / 100,
    )


def _counted(side: LossSide | None, count: int) -> LossSide | None:
    return replace(side, pairs=count) if side else None


def _why(old: LossSide, new: LossSide, judged: Judgement, found: Estimates, place: int) -> str:
    """Why a row was not tested."""
    least = min(old.runs, new.runs)
    if least < MIN_RUNS:
        return "single_run" if least == 1 else "few_runs"
    return "unverified" if judged.unverified else found.designs[found.design[place]].reason or "order_unknown"


def _by_value(row: Loss, old: LossSide, new: LossSide, why: str, policy: Policy) -> Loss:
    """The verdict on single values, from the distance of the medians alone."""
    if why == "few_runs":
        return replace(row, verdict="insufficient", reasons=(why,))
    apart, band = new.median - old.median, policy.single_loss_points / 100
    verdict: Verdict = "unreplicated_diff" if abs(apart) > band else "unreplicated_same"
    return replace(row, verdict=verdict, reasons=(why,), design="single" if why in ("single_run", "unverified") else "confounded", threshold=band)


def _values(data: Numbers, cell: int) -> Floats:
    """One share a run of a cell; none where there is no cell."""
    if cell == NONE:
        return data.entries.value[:0]
    first = data.cells.first[cell]
    return data.entries.value[first : first + data.cells.runs[cell]]


def _side(shares: Floats) -> LossSide | None:
    if not len(shares):
        return None
    return LossSide(runs=len(shares), lossy=int((shares > 0).sum()), median=median_run(shares.tolist(), LOSS), most=float(shares.max()))
