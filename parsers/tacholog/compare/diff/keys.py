"""The name of each row of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from tacholog.compare.comparable import as_text
from tacholog.compare.diff.numbers import CONDITIONS, OF_RUN, SETTING, SIZE, CodedColumn, Integers, Numbers
from tacholog.compare.policy import Policy
from tacholog.compare.result import RowKey
from tacholog.runs.labels import CONTROL

_SAY_LITTLE = ("definition", "basis", "load_mode")
KEY_FIELDS = ("system", *SETTING, *SIZE, "metric", "statistic")


def keys_of(data: Numbers, cell: Integers, policy: Policy, without: Sequence[str] = ()) -> list[RowKey]:
    """The keys of these cells' rows, without the fields that the diff goes across."""
    columns = {name: _decoded(data.columns[name], cell) for name in KEY_FIELDS if name not in policy.across and name not in without}
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
        columns = [_decoded(data.columns[name], cell) for name in labels]
        found = {place: tuple(zip(labels, values, strict=True)) for place, values in enumerate(zip(*columns, strict=True))}
    siblings: dict[int, list[int]] = {}
    for place, row in enumerate(data.cells.row[cell].tolist()):
        siblings.setdefault(row, []).append(place)
    groups = [places for places in siblings.values() if len(places) > 1]
    conditions = [name for name in (*CONDITIONS, *OF_RUN) if name not in policy.across]
    for places, differing in zip(groups, _differing(data, [cell[places] for places in groups], conditions), strict=True):
        stated = {name: [data.columns[name].at(int(cell[place])) for place in places] for name in (*labels, *differing)}
        named = [*labels, *(name for name in CONDITIONS if name in stated)]
        for name in OF_RUN:  # machine and tool only where the conditions leave two rows alike
            alike = len({tuple(stated[one][index] for one in named) for index in range(len(places))}) < len(places)
            if alike and name in stated:
                named.append(name)
        named = _needed(named, stated)
        for index, place in enumerate(places):
            found[place] = tuple((name, as_text(stated[name][index])) for name in named)
    return found


def _differing(data: Numbers, groups: Sequence[Integers], names: Sequence[str]) -> Iterator[list[str]]:
    """Yield for each group of cells the columns of these names in which they differ. There are hundreds of groups, and few columns differ in any."""
    if not groups:
        return
    starts = np.cumsum([0, *map(len, groups[:-1])])
    cells, firsts = np.concatenate(groups), np.repeat([group[0] for group in groups], [len(group) for group in groups])
    found = [np.logical_or.reduceat(data.columns[name].codes[cells] != data.columns[name].codes[firsts], starts) for name in names]
    for place in range(len(groups)):
        yield [name for name, differs in zip(names, found, strict=True) if differs[place]]


def _labels_that_differ(data: Numbers) -> list[str]:
    """The labels that are not the same in all rows of a side."""
    new = data.cells.new
    labels = [name for name in data.labels if name != CONTROL]  # controls stand apart
    return [name for name in labels if any(len(np.unique(data.columns[name].codes[side])) > 1 for side in (new, ~new))]


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


def _decoded(column: CodedColumn, cell: Integers) -> list[Any]:
    words = np.empty(len(column.words) + 1, object)
    words[0] = None
    words[1:] = list(column.words)
    found: list[Any] = words[column.codes[cell]].tolist()
    return found
