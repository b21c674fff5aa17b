"""Runs that are on both sides: a run compared with itself cannot differ, so its rows show nothing."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tacholog.compare.diff.match import CellPairs
from tacholog.compare.diff.numbers import Flags, Integers, Numbers, run_sets
from tacholog.compare.result import ReportWarning
from tacholog.compare.sides import stated_of

if TYPE_CHECKING:
    from tacholog.store.frames import Dataset


class Shared(NamedTuple):
    """A code for each run of both sides, the old one's first: the same for a run that is on both.

    ``are_all``: all runs are on both. ``warnings`` say how many are, if any.
    """

    codes: Integers
    are_all: bool = False
    warnings: tuple[ReportWarning, ...] = ()


def shared(old: Dataset, new: Dataset) -> Shared:
    """Recognise the runs of both sides by their logs' bytes and by when they were made."""
    sides = [_identities(side) for side in (old, new)]
    known: dict[Hashable, int] = {}
    codes = np.array([known.setdefault(one, len(known)) for side in sides for one in side], np.int64)
    common = set(sides[0]) & set(sides[1])
    if not common:
        return Shared(codes)
    whole = common == set(sides[0]) == set(sides[1])
    return Shared(codes, whole, (ReportWarning("same_runs") if whole else ReportWarning("shared_runs", len(common)),))


def same_runs(data: Numbers, pairs: CellPairs, codes: Integers) -> Flags:
    """Which pairs of cells hold the same runs on both sides."""
    cells = data.cells
    sets = run_sets(cells, data.entries, codes)
    same: Flags = pairs.both & (cells.values[pairs.old] > 0) & (cells.values[pairs.old] == cells.values[pairs.new])
    same &= sets[pairs.old] == sets[pairs.new]
    return same


def _identities(dataset: Dataset) -> Sequence[Hashable]:
    """What each run is, in the order of ``runs``; a run whose log could not be read is equal to no other."""
    if "sha256" not in dataset.logs:
        return [object() for _ in dataset.runs["run"]]
    logs: dict[str, list[object]] = {}
    for run, digest in zip(dataset.logs["run"], dataset.logs["sha256"], strict=True):
        logs.setdefault(run, []).append(digest)
    made = stated_of(dataset.runs, ("run", "start_time", "order_index"))
    return [_identity(logs.get(run, []), when) for run, *when in (one.values() for one in made)]


def _identity(digests: Sequence[object], when: Sequence[object]) -> Hashable:
    known = [digest for digest in digests if isinstance(digest, str)]
    return (*sorted(known), *when) if known and len(known) == len(digests) else object()
