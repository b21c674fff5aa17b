"""What names each row of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacholog.diff.numbers import SETTING, SIZE, Column, Integers, Numbers
from tacholog.diff.policy import Policy
from tacholog.diff.result import Key

KEY_FIELDS = ("system", *SETTING, *SIZE, "metric", "statistic")


def keys_of(data: Numbers, cell: Integers, policy: Policy, without: Sequence[str] = ()) -> list[Key]:
    """The keys of these cells' rows, without what the diff goes across."""
    columns = {name: _decoded(data.columns[name], cell) for name in KEY_FIELDS if name not in policy.across and name not in without}
    names = tuple(columns)
    return [Key(**dict(zip(names, values, strict=True))) for values in zip(*columns.values(), strict=True)]


def _decoded(column: Column, cell: Integers) -> list[Any]:
    words = np.empty(len(column.words) + 1, object)
    words[0] = None
    words[1:] = list(column.words)
    found: list[Any] = words[column.codes[cell]].tolist()
    return found
