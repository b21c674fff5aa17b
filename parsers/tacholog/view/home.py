"""The machines of the home page, each with the campaign that measured most transports there, and which transport suits which message there.

Series are put together by the one rule of what may be ranked (`tacholog.compare.comparable`), across the labels of the campaign: a reader who chooses
a transport chooses its variant too. The name of each series says which variant it is.

The choices are the fastest, the steadiest and the cheapest. What leads, and which other ranges of runs overlap with the leader's, is decided by the
rule of all rankings (`tacholog.view.ranking_groups.leaders`). In addition, a number of two groups of runs is never the steadiest. Where nothing may
lead, the best number is shown with the reason, and not as a winner.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log2
from typing import Literal

import msgspec

from tacholog.compare.comparable import LABELS
from tacholog.compare.policy import MIN_RUNS
from tacholog.runs.labels import label_fields, labels_of
from tacholog.runs.moments import latest_instant
from tacholog.view.comparison import version_of
from tacholog.view.cost import SPINS
from tacholog.view.names import words
from tacholog.view.ranking_groups import UNDERSAMPLED, Group, SystemSeries, eligible, group_of, groups, leaders, rank_key, standing
from tacholog.view.rankings import best_measured, of_last_releases
from tacholog.view.series import LOSS, Cell
from tacholog.view.views import View, manifest_of

ACROSS = (LABELS,)
SLEEPS = "sleeps"  # until the kernel says that a message is there
_WAITING = {"busy-poll": "polls", "block": SLEEPS, "spin-then-block": "polls, then sleeps"}
_LEAST = 2  # transports of an own machine, so that there is a choice; sizes of a published document, so that there is a line
_ALIKE = "one by one"  # rates of batches say nothing of messages one by one


class GroupMembers(msgspec.Struct, frozen=True):
    """Series that may be ranked, and the number by which they are."""

    group: Group
    members: tuple[SystemSeries, ...]


class HomeMachine(msgspec.Struct, frozen=True):
    """A machine, and what its main campaign measured there.

    Attributes:
        host: the id of the machine.
        published: whether all figures are a vendor's.
        newest: when the newest run of the campaign began, in seconds since 1970; minus infinity if no run says.
        latency: its series of latencies, if there are two or more.
        rate: its series of rates.
        everything: all series of the machine that may be ranked at all, of all campaigns.
    """

    host: str
    published: bool
    newest: float
    latency: GroupMembers | None
    rate: GroupMembers | None
    everything: tuple[SystemSeries, ...]

    @property
    def series(self) -> list[SystemSeries]:
        """The series of the main campaign."""
        return [one for found in (self.latency, self.rate) if found for one in found.members]


def machines(everything: Sequence[SystemSeries]) -> list[HomeMachine]:
    """Return the machines of all series: first those with own runs and a choice of transports, the newest first; then those of documents."""
    last = of_last_releases([one for one in everything if not one.is_control])
    found = {group: kept for group, members in groups(last, least=1, across=ACROSS).items() if (kept := best_measured(members))}
    by_host: dict[str, dict[Group, list[SystemSeries]]] = {}
    for group, members in found.items():
        by_host.setdefault(group.host, {})[group] = members
    made = [machine for host, of_host in by_host.items() if (machine := _machine(host, of_host))]
    return sorted(sorted(made, key=lambda one: (one.newest, len(one.series)), reverse=True), key=lambda one: one.published)


def _machine(host: str, found: Mapping[Group, Sequence[SystemSeries]]) -> HomeMachine | None:
    latency = widest(found, "latency")
    rates = {group: members for group, members in found.items() if latency is None or group["campaign"] == latency.group["campaign"]}
    rate = widest(rates, "goodput")
    shown = [one for members in (latency, rate) if members for one in members.members]
    published = all(one.series.published for one in shown)
    sizes = {at for one in shown for at in one.series.sizes()}
    if not shown or (len(sizes) < _LEAST if published else len({(one.system, one.transport) for one in shown}) < _LEAST):
        return None
    everything = {id(one): one for members in found.values() for one in members}
    return HomeMachine(
        host=host,
        published=published,
        newest=_newest(shown),
        latency=latency,
        rate=rate,
        everything=tuple(everything.values()),
    )


def widest(found: Mapping[Group, Sequence[SystemSeries]], metric: str) -> GroupMembers | None:
    """Return the group of a metric that compares most transports, of several the one with the most series, then the newest; nothing if none does."""
    of_metric = {group: members for group, members in found.items() if group.metric == metric and group["batched"] in (None, _ALIKE)}
    if not of_metric:
        return None

    def breadth(group: Group) -> tuple[int, int, float]:
        members = of_metric[group]
        return len({(one.system, one.transport) for one in members}), len(members), _newest(members)

    group = max(of_metric, key=breadth)
    return GroupMembers(group, tuple(of_metric[group]))


def _newest(members: Iterable[SystemSeries]) -> float:
    return latest_instant(run.start_time for one in members for run in one.series.runs)


def reach_of(one: SystemSeries) -> str | None:
    """Return how far the transport of a series carries a message: ``process``, ``host`` or ``network``; ``None`` if that is not stated."""
    return one.series.results[0].conditions.reach


def how(one: SystemSeries, differing: Collection[str] = ()) -> str:
    """Return in words how a series was measured: how its sides wait, whether messages may be lost, and the labels that are ``differing``."""
    key = dict(one.series.key)
    labels = labels_of(one.series.runs[0].labels)
    reliability = str(key["reliability"] or "")
    parts = [waits(one), words("reliability", reliability) if reliability == "best-effort" else ""]
    return ", ".join(filter(None, [*parts, *(labels[name] for name in differing if name in labels)]))


def waits(one: SystemSeries) -> str:
    """Return in words how the sides of a series wait: as they were told to, or as the measurement shows that they do."""
    waiting = str(dict(one.series.key)["waiting"] or "")
    return SPINS if one.spins else _WAITING.get(waiting, waiting)


def polls(one: SystemSeries) -> bool:
    """Whether a side that waits keeps a processor in use."""
    return one.spins or dict(one.series.key)["waiting"] == "busy-poll"


def differing_labels_of(members: Iterable[SystemSeries]) -> list[str]:
    """Return the labels in which any two of the series differ."""
    texts = {one.series.runs[0].labels for one in members}
    return [name for name in label_fields(texts) if len({labels_of(text).get(name) for text in texts}) > 1]


def floors(members: Sequence[SystemSeries]) -> list[SystemSeries]:
    """Return the series without a library: transports of the tool itself, in a campaign that measures libraries with it."""
    own = [one for one in members if _is_of_tool(one)]
    return own if len(own) < len(members) else []


def _is_of_tool(one: SystemSeries) -> bool:
    """Whether the log names no other system than the campaign, which names the tool's own."""
    run = one.series.results[0].run
    manifest = manifest_of(run)
    return manifest is not None and not run.published and run.system == manifest.system


def is_on_one_machine(view: View, members: Iterable[SystemSeries]) -> bool:
    """Whether there are runs, and all processes of all of them were on one machine, so that a network was its loopback."""
    names = {run.run for one in members for run in one.series.runs}
    return bool(names) and all(_hosts(view, name) for name in names)


def _hosts(view: View, name: str) -> bool:
    run = view.runs[name]
    manifest = manifest_of(run)
    if manifest is None or manifest.clocks == "several" or not manifest.commands:
        return False
    return all(command.host in (None, run.host) and command.machine is None for command in manifest.commands)


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

    member: SystemSeries
    cell: Cell
    overlapping: tuple[SystemSeries, ...]
    candidates: int
    measured: int
    is_firm: bool
    doubts: frozenset[Doubt] = frozenset()
    floor: tuple[SystemSeries, Cell] | None = None
    newer: tuple[SystemSeries, Cell] | None = None

    @property
    def beside_floor(self) -> BesideFloor:
        """Whether the number is ``above`` its floor, ``below`` it in all runs, or below it with ranges of the runs that overlap (``level``)."""
        if self.floor is None or (mine := standing(self.cell)).value >= (floor := standing(self.floor[1])).value:
            return "above"
        is_apart = mine.high is None or floor.low is None or mine.high < floor.low
        return "below" if is_apart else "level"


class CriterionNumbers(msgspec.Struct, frozen=True):
    """The numbers that a criterion compares: the metric, and each series with its numbers by size."""

    group: Group
    numbers: tuple[tuple[SystemSeries, Mapping[int, Cell]], ...]


class ReachColumn(msgspec.Struct, frozen=True):
    """What one campaign measured of transports with one reach.

    Attributes:
        reach: ``process``, ``host`` or ``network``.
        members: all series.
        ranked: the numbers of each criterion; those that nobody measured are left out.
        bare: the transports without a library, by their `id`, in a campaign that measures libraries.
        others: what other campaigns measured on the same machine with the same reach.
    """

    reach: str
    members: tuple[SystemSeries, ...]
    ranked: Mapping[Criterion, CriterionNumbers]
    bare: frozenset[int]
    others: tuple[SystemSeries, ...] = ()

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
        self, criterion: Criterion, size: int, kind: Sequence[tuple[SystemSeries, Cell]], at_size: Sequence[tuple[SystemSeries, Cell]]
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

    def _newer(self, group: Group, floor: Choice) -> tuple[SystemSeries, Cell] | None:
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

    columns: tuple[ReachColumn, ...]
    rows: tuple[tuple[int, str], ...]


def choices(machine: HomeMachine) -> Choices | None:
    """Return which transport leads at which size on a machine; nothing if it has no series whose reach is stated."""
    columns = tuple(_column(reach, [one for one in machine.everything if reach_of(one) == reach]) for reach in REACHES)
    sizes = {size for column in columns for one in column.members for size in one.series.sizes() if size is not None}
    rows = [(at, use) for wanted, use in USES if (at := _nearest(wanted, sizes)) is not None]
    return Choices(columns, tuple(rows)) if rows else None


def _nearest(wanted: int, sizes: set[int]) -> int | None:
    """Return the measured size that stands for a use. The largest use is also that of larger messages."""
    near = min(sizes, key=lambda size: (abs(log2(size / wanted)), size), default=None)
    return near if near is not None and abs(log2(near / wanted)) <= _NEAR else wanted if sizes else None


def _column(reach: str, members: Sequence[SystemSeries]) -> ReachColumn:
    found = {group: best_measured(of) for group, of in groups(members, least=1, across=ACROSS).items()}
    latency = widest(found, "latency")
    rate = widest({group: of for group, of in found.items() if latency is None or group["campaign"] == latency.group["campaign"]}, "goodput")
    series = tuple(one for kind in (latency, rate) if kind for one in kind.members)
    ranked: dict[Criterion, CriterionNumbers] = {}
    if latency:
        ranked["fastest"] = _ranked(latency, latency.group)
        ranked["steadiest"] = _ranked(latency, msgspec.structs.replace(latency.group, statistic="p99"))
    if rate:
        ranked["cheapest"] = _without_loss(rate, _ranked(rate, msgspec.structs.replace(rate.group, metric=_CPU, statistic="mean")))
    of_column = set(map(id, series))
    return ReachColumn(reach, series, ranked, frozenset(map(id, floors(series))), tuple(one for one in members if id(one) not in of_column))


def _is_comparable(one: SystemSeries, group: Group) -> bool:
    """Whether a series would be in a group, had its campaign measured it."""
    found = group_of(one, (*ACROSS, "campaign"))
    return found is not None and found.conditions == tuple(pair for pair in group.conditions if pair[0] != "campaign")


def _began(one: SystemSeries) -> float:
    return latest_instant(run.start_time for run in one.series.runs)


def _ranked(members: GroupMembers, group: Group) -> CriterionNumbers:
    return CriterionNumbers(group, tuple((one, group.cells(one)) for one in members.members))


def _without_loss(rate: GroupMembers, costs: CriterionNumbers) -> CriterionNumbers:
    """Return processor times without those of transports that lost many messages at full rate: these are not among the fastest either."""
    rates = {id(one): rate.group.cells(one) for one in rate.members}
    kept = [
        (one, {at: cell for at, cell in cells.items() if at in rates[id(one)] and LOSS not in rates[id(one)][at].marks})
        for one, cells in costs.numbers
    ]
    return CriterionNumbers(costs.group, tuple(kept))


def _chosen(criterion: Criterion, found: Sequence[tuple[SystemSeries, Cell]], measured: int) -> Choice | None:
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
