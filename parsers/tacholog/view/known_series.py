"""What an earlier build found out about series. The cells of a series whose runs did not change are not made again of all its numbers.

A cell is kept as places among the numbers of its series: the numbers themselves are there anyway, so no value is kept twice, and none can differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tacholog.view.results import ResultRow
from tacholog.view.run_digests import digest, run_digests
from tacholog.view.run_groups import RunGroup
from tacholog.view.series import Cell, Measured, Series, Stated
from tacholog.view.views import View

_NAME = "known series"
_NOWHERE = -1


class KeptGroup(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A group of runs of a cell: the places of the number that stands for it, of its lowest and of its highest one, and how many runs it has."""

    result: int
    low: int
    high: int
    runs: int


class KeptDetails(msgspec.Struct, frozen=True, array_like=True):
    """What few cells have: how many runs state the number, of how many; two groups of runs; marks."""

    stated: Stated | None
    groups: list[KeptGroup]
    marks: list[str]


class KeptCells(msgspec.Struct, frozen=True, array_like=True):
    """The cells of a metric and a statistic, column by column: a site has some ten thousand cells.

    ``shown``, ``lows`` and ``highs`` are places too; `_NOWHERE` where a cell has no value. ``details`` are by the place of the cell.
    """

    metric: str
    statistic: str
    sizes: list[int | None]
    results: list[list[int]]
    shown: list[int]
    lows: list[int]
    highs: list[int]
    details: dict[int, KeptDetails]


class KeptSeries(msgspec.Struct, frozen=True, array_like=True):
    """What is known of a series: its sizes, statistics and marks, whether it was repeated, and those cells that pages asked for."""

    sizes: list[int | None]
    statistics: list[tuple[str, str]]
    marks: list[str]
    is_repeated: bool
    cells: list[KeptCells]


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

    def forget(self) -> None:
        """Forget everything: no more pages ask."""
        self._kept = {}
        self._given = {}

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
    cells = {(one.metric, one.statistic): _cells(one, measured.results) for one in kept.cells}
    known = {"sizes": kept.sizes, "statistics": tuple(kept.statistics), "marks": frozenset(kept.marks), "is_repeated": kept.is_repeated}
    measured.__dict__.update(known, made_cells=cells)  # where `cached_property` looks


def _cells(kept: KeptCells, results: Sequence[ResultRow]) -> dict[int | None, Cell]:
    found = {}
    for place, (at, places, shown, low, high) in enumerate(zip(kept.sizes, kept.results, kept.shown, kept.lows, kept.highs, strict=True)):
        of_cell = tuple([results[one] for one in places])
        values = (None, None, None) if low == _NOWHERE else (results[shown].value, results[low].value, results[high].value)
        details = kept.details.get(place)
        if details is None:
            found[at] = Cell(*values, of_cell, results[shown])
        else:
            groups = tuple([_group(group, results) for group in details.groups])
            found[at] = Cell(*values, of_cell, results[shown], details.stated, groups, tuple(details.marks))
    return found


def _group(kept: KeptGroup, results: Sequence[ResultRow]) -> RunGroup:
    value, low, high = (results[place].value for place in (kept.result, kept.low, kept.high))
    assert value is not None and low is not None and high is not None, "groups are of numbers with values"  # noqa: S101, PT018
    return RunGroup(results[kept.result], value, low, high, kept.runs)


def _packed(measured: Measured) -> KeptSeries:
    places = {id(result): place for place, result in enumerate(measured.results)}
    cells = [_packed_cells(name, found, places) for name, found in measured.made_cells.items()]
    return KeptSeries(list(measured.sizes), list(measured.statistics), sorted(measured.marks), measured.is_repeated, cells)


def _packed_cells(name: tuple[str, str], found: Mapping[int | None, Cell], places: Mapping[int, int]) -> KeptCells:
    details = {
        place: KeptDetails(cell.stated, [_packed_group(cell, group, places) for group in cell.groups], list(cell.marks))
        for place, cell in enumerate(found.values())
        if cell.stated or cell.groups or cell.marks
    }
    return KeptCells(
        *name,
        list(found),
        [[places[id(result)] for result in cell.results] for cell in found.values()],
        [places[id(cell.shown)] for cell in found.values()],
        [_place_of(cell.low, cell, places) for cell in found.values()],
        [_place_of(cell.high, cell, places) for cell in found.values()],
        details,
    )


def _packed_group(cell: Cell, group: RunGroup, places: Mapping[int, int]) -> KeptGroup:
    return KeptGroup(places[id(group.result)], _place_of(group.low, cell, places), _place_of(group.high, cell, places), group.runs)


def _place_of(value: float | None, cell: Cell, places: Mapping[int, int]) -> int:
    """Return where the first number of a cell with this value is, which may be none that equals itself."""
    return _NOWHERE if value is None else next(places[id(result)] for result in cell.results if result.value is value or result.value == value)
