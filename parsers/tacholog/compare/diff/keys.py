"""The name of each row of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from tacholog.compare.comparable import as_text
from tacholog.compare.diff.numbers import CONDITIONS, OF_RUN, SETTING, SIZE, Flags, Integers, Numbers
from tacholog.compare.policy import Policy
from tacholog.compare.result import RowKey
from tacholog.runs.labels import CONTROL

_SAY_LITTLE = ("definition", "basis", "load_mode")
KEY_FIELDS = ("system", *SETTING, *SIZE, "metric", "statistic")


def keys_of(data: Numbers, cell: Integers, policy: Policy, without: Sequence[str] = ()) -> list[RowKey]:
    """The keys of these cells' rows, without the fields that the diff goes across."""
    columns = {name: data.said(name, cell) for name in KEY_FIELDS if name not in policy.across and name not in without}
    names = tuple(columns)
    return [RowKey(**dict(zip(names, values, strict=True))) for values in zip(*columns.values(), strict=True)]


def row_keys(data: Numbers, cell: Integers, policy: Policy) -> list[RowKey]:
    """The keys of the rows of one table, each with the conditions that distinguish it from rows of the same key.

    Args:
        data: both sides' numbers.
        cell: the cell that names each row.
        policy: what the diff goes across.
    """
    apart = _apart(data, cell, policy)
    return [replace(key, apart=apart[place]) if place in apart else key for place, key in enumerate(keys_of(data, cell, policy))]


def _apart(data: Numbers, cell: Integers, policy: Policy) -> dict[int, tuple[tuple[str, str | None], ...]]:
    """The conditions that distinguish rows of one key, by their places; most rows have a key of their own, and are not in it.

    A label that differs within a side is named in every row: a reader must not have to guess which rows it concerns.
    """
    labels = _labels_that_differ(data)
    found: dict[int, tuple[tuple[str, str | None], ...]] = {}
    if labels:
        columns = [data.said(name, cell) for name in labels]
        found = {place: tuple(zip(labels, values, strict=True)) for place, values in enumerate(zip(*columns, strict=True))}
    siblings: dict[int, list[int]] = {}
    for place, row in enumerate(data.cells.row[cell].tolist()):
        siblings.setdefault(row, []).append(place)
    groups = [places for places in siblings.values() if len(places) > 1]
    conditions = [name for name in (*CONDITIONS, *OF_RUN) if name not in policy.across and _differs(data, name, cell)] if groups else []
    said = {name: data.said(name, cell) for name in (*labels, *conditions)}
    for places in groups:
        stated = {name: [values[place] for place in places] for name, values in said.items()}
        stated = {name: values for name, values in stated.items() if name in labels or len({*values}) > 1}
        named = [*labels, *(name for name in CONDITIONS if name in stated)]
        for name in OF_RUN:  # machine and tool only where the conditions leave two rows alike
            alike = len({tuple(stated[one][index] for one in named) for index in range(len(places))}) < len(places)
            if alike and name in stated:
                named.append(name)
        named = _needed(named, stated)
        for index, place in enumerate(places):
            found[place] = tuple((name, as_text(stated[name][index])) for name in named)
    return found


def _differs(data: Numbers, name: str, cell: Integers | Flags) -> bool:
    """Whether these cells state different things in a column."""
    return len(np.unique(data.stated[name].codes[cell])) > 1


def _labels_that_differ(data: Numbers) -> list[str]:
    """The labels that are not the same in all rows of a side."""
    new = data.cells.new
    labels = [name for name in data.labels if name != CONTROL]  # controls stand apart
    return [name for name in labels if any(_differs(data, name, side) for side in (new, ~new))]


def _needed(named: Sequence[str], stated: Mapping[str, Sequence[Any]]) -> list[str]:
    """The names without redundant ones: where a rate is offered, the load is paced. A condition that is not stated distinguishes nothing."""
    kept = sorted(named, key=lambda name: name in _SAY_LITTLE)
    for name in (name for name in _SAY_LITTLE if name in named):
        fewer = [one for one in kept if one != name]
        distinct = {tuple((one, value) for one, value in zip(fewer, values, strict=True) if value is not None) for values in _rows(fewer, stated)}
        if () not in distinct and len(distinct) == len({*_rows(kept, stated)}):
            kept = fewer
    return kept


def _rows(names: Sequence[str], stated: Mapping[str, Sequence[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*(stated[name] for name in names), strict=True))
