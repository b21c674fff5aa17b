"""Match the cells of the old side with those of the new one: an outer join, so that no cell is lost."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tacholog.compare.comparable import STATED
from tacholog.compare.diff.numbers import CONDITIONS, NAME, SETTING, SIZE, Flags, Integers, Numbers

if TYPE_CHECKING:
    import pandas as pd

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
    import pandas as pd

    cells = data.cells
    workload = data.codes([*(name for name in CONDITIONS if name not in across), *data.labels])
    looser = _looser(data, across)
    frame = pd.DataFrame({"new": cells.new, "row": cells.row, "conditions": cells.conditions, "workload": workload} | looser)
    left, right = frame[~frame["new"]], frame[frame["new"]]
    found: list[tuple[Integers, Integers]] = []
    for keys in (["row", "conditions"], ["row", "workload"], ["row"], *([name] for name in looser)):
        old, new = _only_ones(left, keys), _only_ones(right, keys)
        joined = old.merge(new, on=keys, suffixes=("_old", "_new"))
        pair = joined["at_old"].to_numpy(np.int64), joined["at_new"].to_numpy(np.int64)
        found.append(pair)
        left, right = left.drop(index=pair[0].tolist()), right.drop(index=pair[1].tolist())
    olds = np.concatenate([*(old for old, _ in found), left.index.to_numpy(np.int64), np.full(len(right), NONE)])
    news = np.concatenate([*(new for _, new in found), np.full(len(left), NONE), right.index.to_numpy(np.int64)])
    return CellPairs(olds, news)


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


def _only_ones(side: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    alone = side[~side.duplicated(keys, keep=False)][keys]
    return alone.assign(at=alone.index)
