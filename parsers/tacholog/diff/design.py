"""How the runs of a row were laid out: as interleaved pairs, as many sessions, or in an order that time may have confounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from tacholog.diff.numbers import Integers
from tacholog.diff.policy import MIN_RUNS
from tacholog.diff.result import DesignKind, RunOrder


class Design(NamedTuple):
    """How to read the runs of a row.

    ``old`` and ``new`` give each run its pair or its session (-1: none); ``groups_old`` and ``groups_new`` count these.
    ``reason`` says what is wrong with the order, if anything; ``same_first`` that in every pair the same side went first.
    """

    kind: DesignKind
    old: Integers
    new: Integers
    groups_old: int
    groups_new: int
    reason: str | None = None
    same_first: bool = False


def lay_out(old: Sequence[RunOrder], new: Sequence[RunOrder]) -> Design:
    """Recognise the design of two sets of runs, each of at least `MIN_RUNS`.

    Pairs share session and repetition, and no other run of the row lies between the two. Times decide, not names: two blocks of runs that claim
    to be pairs are not.
    """
    positions = _in_order([*old, *new])
    if positions is not None:
        paired = _paired(old, new, positions)
        if paired is not None:
            return paired
    sessions = _sessions(old, new)
    if sessions is not None:
        return sessions
    nobody = np.full(len(old), -1), np.full(len(new), -1)
    return Design("confounded", *nobody, 0, 0, "order_unknown" if positions is None else "order_confounded")


def _paired(old: Sequence[RunOrder], new: Sequence[RunOrder], positions: Mapping[int, int]) -> Design | None:
    members: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, run in enumerate((*old, *new)):
        if run.session is not None and run.repetition is not None:
            members[run.session, run.repetition].append(index)
    sides = len(old)
    pairs = [(one, two) for one, two in (m for m in members.values() if len(m) == 2) if one < sides <= two]  # noqa: PLR2004 - a pair
    near = [(one, two) for one, two in pairs if abs(positions[one] - positions[two]) == 1]
    if len(near) < MIN_RUNS:
        return None
    near.sort(key=lambda pair: positions[pair[0]])
    olds, news = np.full(sides, -1), np.full(len(new), -1)
    for group, (one, two) in enumerate(near):
        olds[one], news[two - sides] = group, group
    first = {positions[one] < positions[two] for one, two in near}
    return Design("paired", olds, news, len(near), len(near), same_first=len(first) == 1)


def _sessions(old: Sequence[RunOrder], new: Sequence[RunOrder]) -> Design | None:
    grouped = []
    for side in (old, new):
        names = sorted({run.session for run in side if run.session is not None})
        if len(names) < MIN_RUNS or any(run.session is None for run in side):
            return None
        grouped.append((np.array([names.index(run.session) for run in side if run.session is not None]), len(names)))
    return Design("sessions", grouped[0][0], grouped[1][0], grouped[0][1], grouped[1][1])


def _in_order(runs: Sequence[RunOrder]) -> dict[int, int] | None:
    """Each run's place in the order in which they were made, session by session; ``None`` if that is not known of all of them."""
    moments = [_moment(run) for run in runs]
    if any(moment is None for moment in moments):
        return None
    order = sorted(range(len(runs)), key=lambda index: moments[index] or (0.0, 0))
    return {index: place for place, index in enumerate(order)}


def _moment(run: RunOrder) -> tuple[float, int] | None:
    if run.start_time is None:
        return None
    try:
        when = datetime.fromisoformat(run.start_time)
    except ValueError:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp(), run.order_index or 0
