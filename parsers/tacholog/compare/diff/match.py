"""Match the cells of the old side with those of the new one: an outer join, so that no cell is lost."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from tacholog.compare.comparable import STATED
from tacholog.compare.diff.numbers import CONDITIONS, NAME, SETTING, SIZE, Flags, Integers, Numbers, dense

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
    workload = data.codes([*(name for name in CONDITIONS if name not in across), *data.labels])
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
    found = {"anonymous": data.codes([name for name in names if name != "participant"])}
    silent = [name for name in names if name in STATED and _of_one_side(data, name)]
    if silent:
        rest = [name for name in names if name not in silent]
        found["unsaid"] = _plain(data, silent, data.codes(rest))
        found["unsaid_anonymous"] = _plain(data, silent, data.codes([name for name in rest if name != "participant"]))
    return found


def _of_one_side(data: Numbers, name: str) -> bool:
    """Whether only one side states this field."""
    stated = data.columns[name].codes > 0
    return bool(stated[data.cells.new].any() != stated[~data.cells.new].any())


def _plain(data: Numbers, silent: Collection[str], codes: Integers) -> Integers:
    """The codes, all different for rows of special data paths: a log that does not mention the data path means a copy."""
    if "data_path" not in silent:
        return codes
    path = data.columns["data_path"]
    special = np.array([False, *(word != "copy" for word in path.words)])[path.codes]
    return np.where(special, -1 - np.arange(len(codes)), codes)


def _only_ones(columns: Sequence[Integers], olds: Flags, news: Flags) -> tuple[Integers, Integers]:
    """Pair the cells that are the only one on their side with their values in these columns, in the order of the old ones.

    Pandas does this too. It takes some milliseconds to join even a few rows, and a site has many comparisons of few rows.
    """
    codes = dense(columns[0])
    for column in columns[1:]:
        codes = dense(codes * (len(codes) + 1) + dense(column))
    count = int(codes.max(initial=-1)) + 1
    is_alone = (np.bincount(codes[olds], minlength=count) == 1) & (np.bincount(codes[news], minlength=count) == 1)
    old, new = (np.flatnonzero(side & is_alone[codes]) for side in (olds, news))
    partner = np.full(count, NONE)
    partner[codes[new]] = new
    return old, partner[codes[old]]
