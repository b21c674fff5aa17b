"""Which transport for which message: the fastest, the steadiest and the cheapest of those that one campaign measured on one machine.

What leads, and whose ranges overlap with its own, is decided by the rule of all rankings (`tacholog.view.ranking_groups.leaders`). In addition, what
falls into two groups of runs is never the steadiest. Where nothing may lead, the best number is shown with the reason, and not as a winner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import Literal

import msgspec

from tacholog.compare.policy import MIN_RUNS
from tacholog.runs.moments import latest_instant
from tacholog.view.comparison import version_of
from tacholog.view.home.machines import ACROSS, Machine, Members, floors, polls, reach_of, widest
from tacholog.view.ranking_groups import Compared, Group, eligible, group_of, groups, leaders
from tacholog.view.rankings import best_measured
from tacholog.view.series import LOSS, Cell
from tacholog.view.standing import UNDERSAMPLED, rank_key, standing

Criterion = Literal["fastest", "steadiest", "cheapest"]
BesideFloor = Literal["above", "level", "below"]
Doubt = Literal["two_groups", "undersampled"]
CRITERIA: tuple[Criterion, ...] = ("fastest", "steadiest", "cheapest")
REACHES = ("process", "host", "network")
USES = ((64, "Control messages"), (1024, "State"), (1 << 16, "Tiles"), (1 << 20, "Frames"), (4 << 20, "Images"))
_NEAR = 1.0  # a size within a factor of two stands for a use
_CPU = "cpu_per_message"


class Choice(msgspec.Struct, frozen=True):
    """What leads by a criterion, or has the best number where nothing may lead.

    Attributes:
        member: the series that leads.
        cell: its number.
        overlapping: the series whose range of runs overlaps with its own, the best first.
        candidates: how many series have such a number.
        measured: how many series were measured, with or without such a number.
        is_firm: whether all that lead rest on enough runs.
        doubts: why nothing may lead, if so: the marks that keep all candidates from it.
        floor: the best number without a library, where the campaign measures libraries; ``None`` where nobody measured one.
        newer: a lower number of a newer release of what gives the floor, on the same machine and measured in the same way.
    """

    member: Compared
    cell: Cell
    overlapping: tuple[Compared, ...]
    candidates: int
    measured: int
    is_firm: bool
    doubts: frozenset[Doubt] = frozenset()
    floor: tuple[Compared, Cell] | None = None
    newer: tuple[Compared, Cell] | None = None

    @property
    def beside_floor(self) -> BesideFloor:
        """Whether the number is ``above`` its floor, ``below`` it in all runs, or below it with ranges of the runs that overlap (``level``)."""
        if self.floor is None or (mine := standing(self.cell)).value >= (floor := standing(self.floor[1])).value:
            return "above"
        is_apart = mine.high is None or floor.low is None or mine.high < floor.low
        return "below" if is_apart else "level"


class Ranked(msgspec.Struct, frozen=True):
    """The numbers that a criterion compares: the metric, and each series with its numbers by size."""

    group: Group
    numbers: tuple[tuple[Compared, Mapping[int, Cell]], ...]


class Column(msgspec.Struct, frozen=True):
    """What one campaign measured of transports with one reach.

    Attributes:
        reach: ``process``, ``host`` or ``network``.
        members: all series.
        ranked: the numbers of each criterion; those that nobody measured are left out.
        bare: the transports without a library, by their `id`, in a campaign that measures libraries.
        others: what other campaigns measured on the same machine with the same reach.
    """

    reach: str
    members: tuple[Compared, ...]
    ranked: Mapping[Criterion, Ranked]
    bare: frozenset[int]
    others: tuple[Compared, ...] = ()

    def choice(self, criterion: Criterion, size: int) -> Choice | None:
        """Return what leads at a size; nothing if nobody measured it. Among libraries, the transports without one only give the floor."""
        return next(iter(self.answers(criterion, size)), None)

    def answers(self, criterion: Criterion, size: int) -> list[Choice]:
        """Return what leads at a size, the best first: of latencies what leads among those that poll, and among those that do not.

        Who may not spend a processor on waiting needs another answer than who may. Processor time is compared across both.
        """
        ranked = self.ranked.get(criterion)
        if ranked is None:
            return []
        at_size = [(one, cells[size]) for one, cells in ranked.numbers if size in cells]
        kinds = [[pair for pair in at_size if polls(pair[0]) is kind] for kind in (True, False)] if criterion != "cheapest" else [at_size]
        able = [kind for kind in kinds if any(id(one) not in self.bare for one, _ in kind)]
        found = [choice for kind in able if (choice := self._answer(criterion, size, kind, at_size))]
        return sorted(found, key=lambda choice: (bool(choice.doubts), *rank_key(choice.cell)))

    def _answer(
        self, criterion: Criterion, size: int, kind: Sequence[tuple[Compared, Cell]], at_size: Sequence[tuple[Compared, Cell]]
    ) -> Choice | None:
        ranked = self.ranked[criterion]
        measured = sum(size in one.series.sizes() for one, _ in ranked.numbers if id(one) not in self.bare)
        choice = _chosen(criterion, [one for one in kind if id(one[0]) not in self.bare], measured)
        bare = [one for one in kind if id(one[0]) in self.bare] or [one for one in at_size if id(one[0]) in self.bare]
        floor = _chosen(criterion, bare, len(bare))
        # No number is held against a floor that cannot be relied on, and none that cannot be relied on against a floor.
        if choice is None or choice.doubts or floor is None or "undersampled" in floor.doubts:
            return choice
        return msgspec.structs.replace(choice, floor=(floor.member, floor.cell), newer=self._newer(ranked.group, floor))

    def _newer(self, group: Group, floor: Choice) -> tuple[Compared, Cell] | None:
        """Return the lowest number of a newer release of what gives a floor, if it is lower; nothing if there is none."""
        at = floor.cell.shown.payload_bytes
        found = [
            (one, cell)
            for one in self.others
            if one.system == floor.member.system and version_of(one) != version_of(floor.member) and polls(one) is polls(floor.member)
            if _is_comparable(one, group) and _began(one) > _began(floor.member)
            if at is not None and (cell := group.cells(one).get(at)) and UNDERSAMPLED not in cell.marks and rank_key(cell) < rank_key(floor.cell)
        ]
        return min(found, key=lambda pair: rank_key(pair[1]), default=None)

    @property
    def latency(self) -> Group | None:
        """What all its latencies share; nothing if there are none."""
        return self.ranked["fastest"].group if "fastest" in self.ranked else None


class Choices(msgspec.Struct, frozen=True):
    """The table of a machine: its columns, and its rows as sizes with what they are used for."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[int, str], ...]


def choices(machine: Machine) -> Choices | None:
    """Return which transport leads at which size on a machine; nothing if it has no series whose reach is stated."""
    columns = tuple(_column(reach, [one for one in machine.everything if reach_of(one) == reach]) for reach in REACHES)
    sizes = {size for column in columns for one in column.members for size in one.series.sizes() if size is not None}
    rows = [(at, use) for wanted, use in USES if (at := _nearest(wanted, sizes)) is not None]
    return Choices(columns, tuple(rows)) if rows else None


def _nearest(wanted: int, sizes: set[int]) -> int | None:
    """Return the measured size that stands for a use. The largest use is also that of larger messages."""
    near = min(sizes, key=lambda size: (abs(log2(size / wanted)), size), default=None)
    return near if near is not None and abs(log2(near / wanted)) <= _NEAR else wanted if sizes else None


def _column(reach: str, members: Sequence[Compared]) -> Column:
    found = {group: best_measured(of) for group, of in groups(members, least=1, across=ACROSS).items()}
    latency = widest(found, "latency")
    rate = widest({group: of for group, of in found.items() if latency is None or group["campaign"] == latency.group["campaign"]}, "goodput")
    series = tuple(one for kind in (latency, rate) if kind for one in kind.members)
    ranked: dict[Criterion, Ranked] = {}
    if latency:
        ranked["fastest"] = _ranked(latency, latency.group)
        ranked["steadiest"] = _ranked(latency, msgspec.structs.replace(latency.group, statistic="p99"))
    if rate:
        ranked["cheapest"] = _without_loss(rate, _ranked(rate, msgspec.structs.replace(rate.group, metric=_CPU, statistic="mean")))
    of_column = set(map(id, series))
    return Column(reach, series, ranked, frozenset(map(id, floors(series))), tuple(one for one in members if id(one) not in of_column))


def _is_comparable(one: Compared, group: Group) -> bool:
    """Whether a series would be in a group, had its campaign measured it."""
    found = group_of(one, (*ACROSS, "campaign"))
    return found is not None and found.conditions == tuple(pair for pair in group.conditions if pair[0] != "campaign")


def _began(one: Compared) -> float:
    return latest_instant(run.start_time for run in one.series.runs)


def _ranked(members: Members, group: Group) -> Ranked:
    return Ranked(group, tuple((one, group.cells(one)) for one in members.members))


def _without_loss(rate: Members, costs: Ranked) -> Ranked:
    """Return processor times without those of transports that lost many messages at full rate: these are not among the fastest either."""
    rates = {id(one): rate.group.cells(one) for one in rate.members}
    kept = [
        (one, {at: cell for at, cell in cells.items() if at in rates[id(one)] and LOSS not in rates[id(one)][at].marks})
        for one, cells in costs.numbers
    ]
    return Ranked(costs.group, tuple(kept))


def _chosen(criterion: Criterion, found: Sequence[tuple[Compared, Cell]], measured: int) -> Choice | None:
    cells = {place: cell for place, (_, cell) in enumerate(found)}
    steady = {place: cell for place, cell in cells.items() if criterion != "steadiest" or not cell.groups}
    leading = sorted(leaders(steady), key=lambda place: (rank_key(cells[place]), place))
    doubts: frozenset[Doubt] = frozenset()
    if not leading:
        doubted = {place: marks for place, cell in eligible(cells).items() if (marks := _doubts(criterion, cell))}
        leading = sorted(doubted, key=lambda place: (rank_key(cells[place]), place))[:1]
        doubts = doubts.union(*doubted.values())
    if not leading:
        return None
    first, *others = leading
    is_firm = all(cells[place].run_count >= MIN_RUNS for place in leading)
    return Choice(found[first][0], cells[first], tuple(found[place][0] for place in others), len(found), measured, is_firm, doubts)


def _doubts(criterion: Criterion, cell: Cell) -> set[Doubt]:
    """Return which marks keep a number from leading."""
    found: set[Doubt] = {"undersampled"} if UNDERSAMPLED in cell.marks else set()
    return found | {"two_groups"} if criterion == "steadiest" and cell.groups else found
