"""Which cell of the old side stands against which of the new one: an outer join, so that nothing drops out unseen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tacholog.diff.numbers import Cells, Flags, Integers

if TYPE_CHECKING:
    import pandas as pd

NONE = -1


class Pairs(NamedTuple):
    """Cells that stand against each other, by their positions in `Cells`; `NONE` where a side has nothing."""

    old: Integers
    new: Integers

    @property
    def both(self) -> Flags:
        """Where both sides have something."""
        result: Flags = (self.old != NONE) & (self.new != NONE)
        return result


def match(cells: Cells, workload: Integers, anonymous: Integers) -> Pairs:
    """Pair the cells of both sides.

    Cells of one row under equal conditions are pairs. What is left over is paired where it is the only one left on each side: first under an equal
    workload (only the machine or the tool differ), then under any conditions, last with another participant. These pairs go to the gate, which says
    what differs; everything else was removed or added.

    Args:
        cells: of both sides.
        workload: a code of the conditions without machine and tool, for each cell.
        anonymous: a code of the row without its participant, for each cell.
    """
    import pandas as pd

    frame = pd.DataFrame({"new": cells.new, "row": cells.row, "conditions": cells.conditions, "workload": workload, "anonymous": anonymous})
    left, right = frame[~frame["new"]], frame[frame["new"]]
    found: list[tuple[Integers, Integers]] = []
    for keys in (["row", "conditions"], ["row", "workload"], ["row"], ["anonymous"]):
        old, new = _only_ones(left, keys), _only_ones(right, keys)
        joined = old.merge(new, on=keys, suffixes=("_old", "_new"))
        pair = joined["at_old"].to_numpy(np.int64), joined["at_new"].to_numpy(np.int64)
        found.append(pair)
        left, right = left.drop(index=pair[0].tolist()), right.drop(index=pair[1].tolist())
    olds = np.concatenate([*(old for old, _ in found), left.index.to_numpy(np.int64), np.full(len(right), NONE)])
    news = np.concatenate([*(new for _, new in found), np.full(len(left), NONE), right.index.to_numpy(np.int64)])
    return Pairs(olds, news)


def _only_ones(side: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    alone = side[~side.duplicated(keys, keep=False)][keys]
    return alone.assign(at=alone.index)
