"""Match the cells of the old side with those of the new one: an outer join, so that no cell is lost.

And recognise runs that are on both sides: a run compared with itself cannot differ, so its rows show nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tacholog.compare.comparable import STATED
from tacholog.compare.diff.numbers import CONDITIONS, NAME, SETTING, SIZE, Flags, Integers, Numbers, by_word, groups, run_sets
from tacholog.compare.result import ReportWarning
from tacholog.compare.sides import stated_of

if TYPE_CHECKING:
    from tacholog.store.frames import Dataset


NONE = -1


class CellPairs(NamedTuple):
    """Cells that are compared with each other, by their positions in `Cells`; `NONE` where a side has no such cell."""

    old: Integers
    new: Integers

    @property
    def both(self) -> Flags:
        """Where both sides have a cell."""
        result: Flags = (self.old != NONE) & (self.new != NONE)
        return result


def match(data: Numbers, across: Collection[str] = ()) -> CellPairs:
    """Pair the cells of both sides.

    Cells of one row under equal conditions are pairs. What is left over is paired where it is the only one left on each side: first under an equal
    workload (only the machine or the tool differ), then under any conditions, then with another participant, last where a side never says what the
    other says of each row. These pairs are then judged, and the report names what differs; everything else was removed or added.

    Args:
        data: both sides' numbers.
        across: what rows may differ in.
    """
    cells = data.cells
    workload = data.groups([*(name for name in CONDITIONS if name not in across), *data.labels])
    olds, news = ~cells.new, cells.new.copy()  # those without a partner so far
    found: list[tuple[Integers, Integers]] = []
    for columns in ((cells.row, cells.conditions), (cells.row, workload), (cells.row,), *((codes,) for codes in _looser(data, across).values())):
        pair = _only_ones(columns, olds, news)
        olds[pair[0]] = news[pair[1]] = False
        found.append(pair)
    left, right = np.flatnonzero(olds), np.flatnonzero(news)
    return CellPairs(
        np.concatenate([*(old for old, _ in found), left, np.full(len(right), NONE)]),
        np.concatenate([*(new for _, new in found), np.full(len(left), NONE), right]),
    )


def _looser(data: Numbers, across: Collection[str]) -> dict[str, Integers]:
    """Codes of the rows without the parts that may name the same row differently: the participant, and what only one side states."""
    names = [name for name in ("system", *SETTING, *SIZE, *NAME) if name not in across]
    found = {"anonymous": data.groups([name for name in names if name != "participant"])}
    silent = [name for name in names if name in STATED and _of_one_side(data, name)]
    if silent:
        rest = [name for name in names if name not in silent]
        found["unsaid"] = _plain(data, silent, data.groups(rest))
        found["unsaid_anonymous"] = _plain(data, silent, data.groups([name for name in rest if name != "participant"]))
    return found


def _of_one_side(data: Numbers, name: str) -> bool:
    """Whether only one side states this field."""
    stated = data.stated[name].notna()
    return bool(stated[data.cells.new].any() != stated[~data.cells.new].any())


def _plain(data: Numbers, silent: Collection[str], codes: Integers) -> Integers:
    """The codes, all different for rows of special data paths: a log that does not mention the data path means a copy."""
    if "data_path" not in silent:
        return codes
    special = by_word(data.stated["data_path"], lambda word: word != "copy", unknown=False)
    return np.where(special, -1 - np.arange(len(codes)), codes)


def _only_ones(columns: Sequence[Integers], olds: Flags, news: Flags) -> tuple[Integers, Integers]:
    """Pair the cells that are the only one on their side with their values in these columns, in the order of the old ones."""
    codes = groups(columns, len(olds))
    count = int(codes.max(initial=-1)) + 1
    is_alone = (np.bincount(codes[olds], minlength=count) == 1) & (np.bincount(codes[news], minlength=count) == 1)
    old, new = (np.flatnonzero(side & is_alone[codes]) for side in (olds, news))
    partner = np.full(count, NONE)
    partner[codes[new]] = new
    return old, partner[codes[old]]


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
    same: Flags = pairs.both & (cells.runs[pairs.old] > 0) & (cells.runs[pairs.old] == cells.runs[pairs.new])
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
