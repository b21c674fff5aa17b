"""What an earlier build found out about series. The cells of a series whose runs did not change are not made again of all its numbers.

A cell is kept as places among the numbers of its series: the numbers themselves are there anyway, so no value is kept twice, and none can differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tacholog.view.results import ResultRow
from tacholog.view.run_digests import digest, run_digests
from tacholog.view.run_groups import RunGroup
from tacholog.view.series import Cell, Measured, Series
from tacholog.view.views import View

_NAME = "known series"


class KeptGroup(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A group of runs of a cell: the places of the number that stands for it, of its lowest and of its highest one, and how many runs it has."""

    result: int
    low: int
    high: int
    runs: int


class KeptCell(msgspec.Struct, frozen=True, array_like=True):
    """A cell: its size, and the places of its numbers. ``ends`` are those of the lowest and the highest value; null where it has no value."""

    size: int | None
    results: list[int]
    shown: int
    ends: tuple[int, int] | None
    stated: tuple[int, int] | None
    groups: list[KeptGroup]
    marks: list[str]


class KeptSeries(msgspec.Struct, frozen=True, array_like=True):
    """What is known of a series: its sizes, statistics and marks, and cells by metric and statistic, of those that pages asked for."""

    sizes: list[int | None]
    statistics: list[tuple[str, str]]
    marks: list[str]
    cells: list[tuple[str, str, list[KeptCell]]]


class KnownSeries:
    """What is known of series, by the digest of everything that each is made of."""

    def __init__(self, kept: Mapping[str, KeptSeries]) -> None:
        """``kept`` is what `now` returned at the end of an earlier build by the same code."""
        self._kept = kept
        self._given: dict[str, Measured] = {}

    def give(self, view: View, series: Iterable[Series]) -> None:
        """Tell series of a view what is known of them."""
        digests = run_digests(view)
        for one in series:
            made_of = digest([one.key, one.results[0].test, len(one.results), [digests[run.run] for run in one.runs]])
            self._given[made_of] = one.measured
            if made_of in self._kept:
                _tell(one.measured, self._kept[made_of])

    def now(self) -> Mapping[str, KeptSeries]:
        """Return what is known at the end of a build. If no page asked for series, nothing changed."""
        return {made_of: self._kept_of(made_of, measured) for made_of, measured in self._given.items()} or self._kept

    def _kept_of(self, made_of: str, measured: Measured) -> KeptSeries:
        before = self._kept.get(made_of)
        return before if before and len(before.cells) == len(measured.made_cells) else _packed(measured)


def remember(view: View, known: KnownSeries) -> None:
    """Note what is known of the series of a view."""
    view.once(_NAME, lambda: known)


def recall(view: View, series: Iterable[Series]) -> None:
    """Tell series of a view what is known of them, if anything is."""
    known: KnownSeries | None = view.once(_NAME, lambda: None)
    if known is not None:
        known.give(view, series)


def _tell(measured: Measured, kept: KeptSeries) -> None:
    results = measured.results
    cells = {(metric, statistic): {cell.size: _cell(cell, results) for cell in found} for metric, statistic, found in kept.cells}
    known = {"sizes": kept.sizes, "statistics": tuple(kept.statistics), "marks": frozenset(kept.marks), "made_cells": cells}
    measured.__dict__.update(known)  # where `cached_property` looks


def _cell(kept: KeptCell, results: Sequence[ResultRow]) -> Cell:
    shown, ends = results[kept.shown], kept.ends
    return Cell(
        None if ends is None else shown.value,
        None if ends is None else results[ends[0]].value,
        None if ends is None else results[ends[1]].value,
        tuple([results[place] for place in kept.results]),
        shown,
        kept.stated,
        tuple([_group(group, results) for group in kept.groups]) if kept.groups else (),
        tuple(kept.marks),
    )


def _group(kept: KeptGroup, results: Sequence[ResultRow]) -> RunGroup:
    value, low, high = (results[place].value for place in (kept.result, kept.low, kept.high))
    assert value is not None and low is not None and high is not None, "groups are of numbers with values"  # noqa: S101, PT018
    return RunGroup(results[kept.result], value, low, high, kept.runs)


def _packed(measured: Measured) -> KeptSeries:
    places = {id(result): place for place, result in enumerate(measured.results)}
    cells = [
        (metric, statistic, [_packed_cell(at, cell, places) for at, cell in found.items()])
        for (metric, statistic), found in measured.made_cells.items()
    ]
    return KeptSeries(list(measured.sizes), list(measured.statistics), sorted(measured.marks), cells)


def _packed_cell(at: int | None, cell: Cell, places: Mapping[int, int]) -> KeptCell:
    values = [result.value for result in cell.results]

    def place_of(value: float | None) -> int:
        return places[id(cell.results[values.index(value)])]

    groups = [KeptGroup(places[id(group.result)], place_of(group.low), place_of(group.high), group.runs) for group in cell.groups]
    ends = None if cell.value is None else (place_of(cell.low), place_of(cell.high))
    return KeptCell(at, [places[id(result)] for result in cell.results], places[id(cell.shown)], ends, cell.stated, groups, list(cell.marks))
