"""The design of the runs of a row: interleaved pairs, several sessions, or another order. In another order, the time may explain a change."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import comb
from typing import NamedTuple

import numpy as np

from tacholog.compare.diff.cells import Integers
from tacholog.compare.policy import MIN_RUNS
from tacholog.compare.result import DesignKind, RunOrder
from tacholog.runs.moments import instant

MOST_AHEAD = 0.25  # With at most this lead, a sudden change of the machine's speed changes the difference of the sides by at most a quarter.
_BY_CHANCE = 0.05


class Design(NamedTuple):
    """How the runs of a row are compared.

    ``old`` and ``new`` contain the index of the pair or session of each run; -1: it has none. ``groups_old`` and ``groups_new`` are the numbers of
    pairs or sessions. ``reason`` states what is wrong with the order; ``None``: nothing. If the order is wrong, the release cannot be shown to be the
    cause of a change. The sides are then compared by sessions if there are enough sessions, and otherwise by runs. ``pairs`` names each pair by its
    session and repetition. Pairs with the same name in different rows were measured at about the same time.
    """

    kind: DesignKind
    old: Integers
    new: Integers
    groups_old: int
    groups_new: int
    reason: str | None = None
    pairs: tuple[tuple[str, int], ...] = ()


def lay_out(old: Sequence[RunOrder], new: Sequence[RunOrder]) -> Design:
    """Recognise the design of two sets of at least `MIN_RUNS` runs each.

    The runs of a pair have the same session and repetition, and no other run of the row is between them. The times of the runs are decisive, not the
    names: two blocks of runs are not pairs. Sessions are not compared if all sessions of one side were made before those of the other side.
    """
    positions = _positions_in_time([*old, *new])
    if positions is None:
        return _refused(old, new, "order_unknown")
    return _paired(old, new, positions) or _sessions(old, new, positions) or _refused(old, new, _why_no_pairs(old, new, positions))


def hopeless(runs: Sequence[RunOrder]) -> str | None:
    """Return the reason why further runs in the same layout cannot give a verdict, however many they are; ``None`` if there is no such reason.

    This is less strict than `lay_out`, because a few runs cannot show whether the sides take turns. The reasons are: all runs of one side were made
    before those of the other side, or no run states its time.
    """
    if all(run.start_time is None for run in runs):
        return "order_unknown"
    moments: dict[str, list[tuple[float, int]]] = {"old": [], "new": []}
    for run in runs:
        moment = _moment(run)
        if moment is None:
            return None
        moments[run.side].append(moment)
    old, new = moments["old"], moments["new"]
    return "order_confounded" if old and new and (max(old) < min(new) or max(new) < min(old)) else None


def _refused(old: Sequence[RunOrder], new: Sequence[RunOrder], reason: str) -> Design:
    return Design("confounded", np.arange(len(old)), np.arange(len(new)), len(old), len(new), reason)


def _why_no_pairs(old: Sequence[RunOrder], new: Sequence[RunOrder], positions: Mapping[int, int]) -> str:
    if _largest_lead([1 / len(old)] * len(old), [1 / len(new)] * len(new), positions) > MOST_AHEAD:
        return "order_confounded"
    named = all(run.session is not None and run.repetition is not None for run in (*old, *new))
    return "few_pairs" if named else "pairs_unnamed"


def _paired(old: Sequence[RunOrder], new: Sequence[RunOrder], positions: Mapping[int, int]) -> Design | None:
    members: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, run in enumerate((*old, *new)):
        if run.session is not None and run.repetition is not None:
            members[run.session, run.repetition].append(index)
    sides = len(old)
    pairs = [(first, second) for first, second in (m for m in members.values() if len(m) == 2) if first < sides <= second]  # noqa: PLR2004 - a pair
    near = [(first, second) for first, second in pairs if abs(positions[first] - positions[second]) == 1]
    if len(near) < MIN_RUNS:
        return None
    if _is_one_side_mostly_first(sum(positions[first] < positions[second] for first, second in near), len(near)):
        return _refused(old, new, "same_first")
    near.sort(key=lambda pair: positions[pair[0]])
    olds, news = np.full(sides, -1), np.full(len(new), -1)
    names = []
    for group, (old_run, new_run) in enumerate(near):
        olds[old_run], news[new_run - sides] = group, group
        names.append((old[old_run].session or "", old[old_run].repetition or 0))
    return Design("paired", olds, news, len(near), len(near), pairs=tuple(names))


def _is_one_side_mostly_first(old_first: int, pairs: int) -> bool:
    """Return whether one side ran first more often than chance explains, by the sign test.

    In such a case, a row could be significant only because first runs differ from second runs.
    """
    rarer = min(old_first, pairs - old_first)
    count_of_orders = sum(comb(pairs, count) for count in range(rarer + 1))
    return bool(2 * count_of_orders / 2**pairs <= _BY_CHANCE)


def _sessions(old: Sequence[RunOrder], new: Sequence[RunOrder], positions: Mapping[int, int]) -> Design | None:
    grouped, weights = [], []
    for side in (old, new):
        runs = Counter(run.session for run in side)
        if None in runs or len(runs) < MIN_RUNS:
            return None
        names = sorted(str(name) for name in runs)
        grouped.append((np.array([names.index(str(run.session)) for run in side]), len(names)))
        weights.append([1 / len(runs) / runs[run.session] for run in side])
    sessions = Design("sessions", grouped[0][0], grouped[1][0], grouped[0][1], grouped[1][1])
    if _largest_lead(weights[0], weights[1], positions) > MOST_AHEAD:
        return sessions._replace(kind="confounded", reason="sessions_confounded")
    return _refused(old, new, "same_first") if _is_one_side_mostly_first_in_sessions(old, new, positions) else sessions


def _largest_lead(old: Sequence[float], new: Sequence[float], positions: Mapping[int, int]) -> float:
    """Return the largest lead of one side, as a share of its runs: the Kolmogorov-Smirnov distance between the times of the sides.

    Args:
        old: the weight of each old run; the sum is 1, and all sessions have the same weight.
        new: the weights of the new runs.
        positions: the position of each run in time, by its index; the runs of the old side are first.
    """
    steps = np.zeros(len(old) + len(new))
    for index, share in enumerate((*old, *(-share for share in new))):
        steps[positions[index]] = share
    return float(np.abs(np.cumsum(steps)).max()) - 1e-9  # a tolerance for sums of floats: 9/36 must not exceed 1/4


def _is_one_side_mostly_first_in_sessions(old: Sequence[RunOrder], new: Sequence[RunOrder], positions: Mapping[int, int]) -> bool:
    """Return whether one side ran first in more sessions than chance explains. Sessions with runs of only one side are ignored."""
    first: dict[tuple[str | None, bool], int] = {}
    for index, run in enumerate((*old, *new)):
        key = run.session, index >= len(old)
        first[key] = min(first.get(key, positions[index]), positions[index])
    shared = [name for name, is_new in first if not is_new and (name, True) in first]
    return bool(shared) and _is_one_side_mostly_first(sum(first[name, False] < first[name, True] for name in shared), len(shared))


def _positions_in_time(runs: Sequence[RunOrder]) -> dict[int, int] | None:
    """Return the positions by the index of the run; ``None`` if a run does not state its time."""
    moments = [_moment(run) for run in runs]
    if any(moment is None for moment in moments):
        return None
    order = sorted(range(len(runs)), key=lambda index: moments[index] or (0.0, 0))
    return {index: position for position, index in enumerate(order)}


def _moment(run: RunOrder) -> tuple[float, int] | None:
    when = instant(run.start_time)
    return None if when is None else (when, run.order_index or 0)
