"""The machines of the home page, each with the campaign that measured most transports there, and which transport suits which message there.

Series are grouped by the rule for all rankings (`tacholog.compare.comparable`), across the labels of the campaign: a reader who chooses a transport
chooses its variant too. The name of each series says which variant it is.

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
SLEEPS = "sleeps"  # until the kernel reports a message
_WAITING = {"busy-poll": "polls", "block": SLEEPS, "spin-then-block": "polls, then sleeps"}
_LEAST = 2  # transports of an own machine, for a choice; sizes of a published document, for a line
_ALIKE = "one by one"  # Rates of batches are not comparable with rates of single messages.


class GroupMembers(msgspec.Struct, frozen=True):
    """A group of a ranking with its series."""

    group: Group
    members: tuple[SystemSeries, ...]


class HomeMachine(msgspec.Struct, frozen=True):
    """A machine with the series of its main campaign.

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
        return [member for ranked in (self.latency, self.rate) if ranked for member in ranked.members]


def machines(everything: Sequence[SystemSeries]) -> list[HomeMachine]:
    """Return the machines of all series: first machines with own runs and a choice of transports, the newest first; then those of documents."""
    last = of_last_releases([member for member in everything if not member.is_control])
    by_group = {group: measured for group, members in groups(last, least=1, across=ACROSS).items() if (measured := best_measured(members))}
    by_host: dict[str, dict[Group, list[SystemSeries]]] = {}
    for group, members in by_group.items():
        by_host.setdefault(group.host, {})[group] = members
    made = [machine for host, of_host in by_host.items() if (machine := _machine(host, of_host))]
    return sorted(sorted(made, key=lambda machine: (machine.newest, len(machine.series)), reverse=True), key=lambda machine: machine.published)


def _machine(host: str, by_group: Mapping[Group, Sequence[SystemSeries]]) -> HomeMachine | None:
    latency = widest(by_group, "latency")
    rates = {group: members for group, members in by_group.items() if latency is None or group["campaign"] == latency.group["campaign"]}
    rate = widest(rates, "goodput")
    main = [member for members in (latency, rate) if members for member in members.members]
    published = all(member.series.published for member in main)
    sizes = {size for member in main for size in member.series.sizes()}
    if not main or (len(sizes) < _LEAST if published else len({(member.system, member.transport) for member in main}) < _LEAST):
        return None
    everything = {id(member): member for members in by_group.values() for member in members}
    return HomeMachine(
        host=host,
        published=published,
        newest=_newest(main),
        latency=latency,
        rate=rate,
        everything=tuple(everything.values()),
    )


def widest(by_group: Mapping[Group, Sequence[SystemSeries]], metric: str) -> GroupMembers | None:
    """Return the group of a metric with the most transports, then the most series, then the newest runs; ``None`` if there is none."""
    of_metric = {group: members for group, members in by_group.items() if group.metric == metric and group["batched"] in (None, _ALIKE)}
    if not of_metric:
        return None

    def breadth(group: Group) -> tuple[int, int, float]:
        members = of_metric[group]
        return len({(member.system, member.transport) for member in members}), len(members), _newest(members)

    group = max(of_metric, key=breadth)
    return GroupMembers(group, tuple(of_metric[group]))


def _newest(members: Iterable[SystemSeries]) -> float:
    return latest_instant(run.start_time for member in members for run in member.series.runs)


def reach_of(member: SystemSeries) -> str | None:
    """Return how far the transport of a series carries a message: ``process``, ``host`` or ``network``; ``None`` if that is not stated."""
    return member.series.results[0].conditions.reach


def how(member: SystemSeries, differing: Collection[str] = ()) -> str:
    """Return, in words, how a series was measured: how its sides wait, whether messages may be lost, and its ``differing`` labels."""
    key = dict(member.series.key)
    labels = labels_of(member.series.runs[0].labels)
    reliability = str(key["reliability"] or "")
    parts = [waits(member), words("reliability", reliability) if reliability == "best-effort" else ""]
    return ", ".join(filter(None, [*parts, *(labels[name] for name in differing if name in labels)]))


def waits(member: SystemSeries) -> str:
    """Return, in words, how the sides of a series wait: as configured, or as the measurement shows."""
    waiting = str(dict(member.series.key)["waiting"] or "")
    return SPINS if member.spins else _WAITING.get(waiting, waiting)


def polls(member: SystemSeries) -> bool:
    """Whether a waiting side keeps a processor busy."""
    return member.spins or dict(member.series.key)["waiting"] == "busy-poll"


def differing_labels_of(members: Iterable[SystemSeries]) -> list[str]:
    """Return the labels in which any two of the series differ."""
    texts = {member.series.runs[0].labels for member in members}
    return [name for name in label_fields(texts) if len({labels_of(text).get(name) for text in texts}) > 1]


def floors(members: Sequence[SystemSeries]) -> list[SystemSeries]:
    """Return the series without a library: transports of the tool itself, in a campaign that measures libraries with it."""
    of_tool = [member for member in members if _is_of_tool(member)]
    return of_tool if len(of_tool) < len(members) else []


def _is_of_tool(member: SystemSeries) -> bool:
    """Whether the log and the campaign name the same system, which is then the tool's own."""
    run = member.series.results[0].run
    manifest = manifest_of(run)
    return manifest is not None and not run.published and run.system == manifest.system


def is_on_one_machine(view: View, members: Iterable[SystemSeries]) -> bool:
    """Whether all processes of all runs were on one machine, so that any network was its loopback. False without runs."""
    names = {run.run for member in members for run in member.series.runs}
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
_NEAR = 1.0  # in powers of two: how far a size may be from that of a use
_CPU = "cpu_per_message"


class Choice(msgspec.Struct, frozen=True):
    """The leader by a criterion, or the best number if nothing may lead.

    Attributes:
        member: the leading series.
        cell: its number.
        overlapping: the series whose range of runs overlaps with that of the leader, the best first.
        candidates: how many series have such a number.
        measured: how many series were measured, with or without such a number.
        is_firm: whether the leader and all overlapping series have enough runs.
        doubts: the marks that keep all candidates from leading, if there is no leader.
        floor: the best number without a library, if the campaign measures libraries; ``None`` if there is none.
        newer: a lower number of a newer release of the floor's system, on the same machine and measured in the same way.
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
        """Whether the number is ``above`` its floor, ``below`` it in all runs, or below it with overlapping ranges of runs (``level``)."""
        if self.floor is None or (mine := standing(self.cell)).value >= (floor := standing(self.floor[1])).value:
            return "above"
        is_apart = mine.high is None or floor.low is None or mine.high < floor.low
        return "below" if is_apart else "level"


class CriterionNumbers(msgspec.Struct, frozen=True):
    """The numbers that a criterion compares: the metric, and each series with its numbers by size."""

    group: Group
    numbers: tuple[tuple[SystemSeries, Mapping[int, Cell]], ...]


class ReachColumn(msgspec.Struct, frozen=True):
    """The transports with one reach in one campaign.

    Attributes:
        reach: ``process``, ``host`` or ``network``.
        members: all series.
        ranked: the numbers of each measured criterion.
        bare: the `id` of each series without a library, in a campaign that measures libraries.
        others: the series of other campaigns on the same machine with the same reach.
    """

    reach: str
    members: tuple[SystemSeries, ...]
    ranked: Mapping[Criterion, CriterionNumbers]
    bare: frozenset[int]
    others: tuple[SystemSeries, ...] = ()

    def choice(self, criterion: Criterion, size: int) -> Choice | None:
        """Return the leader at a size; ``None`` if the size was not measured. Transports without a library only give the floor for libraries."""
        return next(iter(self.answers(criterion, size)), None)

    def answers(self, criterion: Criterion, size: int) -> list[Choice]:
        """Return the leaders at a size, the best first. Latencies have two leaders: one that polls and one that does not.

        A user who must not spend a processor on waiting needs another answer. Processor time is compared across both kinds.
        """
        ranked = self.ranked.get(criterion)
        if ranked is None:
            return []
        at_size = [(member, cells[size]) for member, cells in ranked.numbers if size in cells]
        kinds = [[pair for pair in at_size if polls(pair[0]) is kind] for kind in (True, False)] if criterion != "cheapest" else [at_size]
        able = [kind for kind in kinds if any(id(member) not in self.bare for member, _ in kind)]
        choices = [choice for kind in able if (choice := self._answer(criterion, size, kind, at_size))]
        return sorted(choices, key=lambda choice: (bool(choice.doubts), *rank_key(choice.cell)))

    def _answer(
        self, criterion: Criterion, size: int, kind: Sequence[tuple[SystemSeries, Cell]], at_size: Sequence[tuple[SystemSeries, Cell]]
    ) -> Choice | None:
        ranked = self.ranked[criterion]
        measured = sum(size in member.series.sizes() for member, _ in ranked.numbers if id(member) not in self.bare)
        choice = _chosen(criterion, [pair for pair in kind if id(pair[0]) not in self.bare], measured)
        bare = [pair for pair in kind if id(pair[0]) in self.bare] or [pair for pair in at_size if id(pair[0]) in self.bare]
        floor = _chosen(criterion, bare, len(bare))
        # An unreliable number is not compared with a floor, and no number with an unreliable floor.
        if choice is None or choice.doubts or floor is None or "undersampled" in floor.doubts:
            return choice
        return msgspec.structs.replace(choice, floor=(floor.member, floor.cell), newer=self._newer(ranked.group, floor))

    def _newer(self, group: Group, floor: Choice) -> tuple[SystemSeries, Cell] | None:
        """Return the lowest number of a newer release of the floor's system, if it is below the floor; otherwise ``None``."""
        size = floor.cell.result.payload_bytes
        newer = [
            (member, cell)
            for member in self.others
            if member.system == floor.member.system and version_of(member) != version_of(floor.member) and polls(member) is polls(floor.member)
            if _is_comparable(member, group) and _began(member) > _began(floor.member)
            if size is not None and (cell := group.cells(member).get(size))
            if UNDERSAMPLED not in cell.marks and rank_key(cell) < rank_key(floor.cell)
        ]
        return min(newer, key=lambda pair: rank_key(pair[1]), default=None)

    @property
    def latency(self) -> Group | None:
        """The group of its latencies; ``None`` if it has none."""
        return self.ranked["fastest"].group if "fastest" in self.ranked else None


class Choices(msgspec.Struct, frozen=True):
    """The table of a machine: its columns, and its rows, each a size with its typical use."""

    columns: tuple[ReachColumn, ...]
    rows: tuple[tuple[int, str], ...]


def choices(machine: HomeMachine) -> Choices | None:
    """Return which transport leads at which size on a machine; ``None`` if no series states its reach."""
    columns = tuple(_column(reach, [member for member in machine.everything if reach_of(member) == reach]) for reach in REACHES)
    sizes = {size for column in columns for member in column.members for size in member.series.sizes() if size is not None}
    rows = [(size, use) for wanted, use in USES if (size := _nearest(wanted, sizes)) is not None]
    return Choices(columns, tuple(rows)) if rows else None


def _nearest(wanted: int, sizes: set[int]) -> int | None:
    """Return the measured size that is nearest to that of a use, or the size of the use if none is near."""
    near = min(sizes, key=lambda size: (abs(log2(size / wanted)), size), default=None)
    return near if near is not None and abs(log2(near / wanted)) <= _NEAR else wanted if sizes else None


def _column(reach: str, members: Sequence[SystemSeries]) -> ReachColumn:
    by_group = {group: best_measured(of_group) for group, of_group in groups(members, least=1, across=ACROSS).items()}
    latency = widest(by_group, "latency")
    rates = {group: of_group for group, of_group in by_group.items() if latency is None or group["campaign"] == latency.group["campaign"]}
    rate = widest(rates, "goodput")
    series = tuple(member for kind in (latency, rate) if kind for member in kind.members)
    ranked: dict[Criterion, CriterionNumbers] = {}
    if latency:
        ranked["fastest"] = _ranked(latency, latency.group)
        ranked["steadiest"] = _ranked(latency, msgspec.structs.replace(latency.group, statistic="p99"))
    if rate:
        ranked["cheapest"] = _without_loss(rate, _ranked(rate, msgspec.structs.replace(rate.group, metric=_CPU, statistic="mean")))
    of_column = set(map(id, series))
    return ReachColumn(reach, series, ranked, frozenset(map(id, floors(series))), tuple(member for member in members if id(member) not in of_column))


def _is_comparable(member: SystemSeries, group: Group) -> bool:
    """Whether a series would be in a group if it were of the same campaign."""
    own_group = group_of(member, (*ACROSS, "campaign"))
    return own_group is not None and own_group.conditions == tuple(pair for pair in group.conditions if pair[0] != "campaign")


def _began(member: SystemSeries) -> float:
    return latest_instant(run.start_time for run in member.series.runs)


def _ranked(members: GroupMembers, group: Group) -> CriterionNumbers:
    return CriterionNumbers(group, tuple((member, group.cells(member)) for member in members.members))


def _without_loss(rate: GroupMembers, costs: CriterionNumbers) -> CriterionNumbers:
    """Return processor times without transports that lost many messages at full rate, as for the fastest."""
    rates = {id(member): rate.group.cells(member) for member in rate.members}
    numbers = [
        (member, {size: cell for size, cell in cells.items() if size in rates[id(member)] and LOSS not in rates[id(member)][size].marks})
        for member, cells in costs.numbers
    ]
    return CriterionNumbers(costs.group, tuple(numbers))


def _chosen(criterion: Criterion, candidates: Sequence[tuple[SystemSeries, Cell]], measured: int) -> Choice | None:
    cells = {index: cell for index, (_, cell) in enumerate(candidates)}
    steady = {index: cell for index, cell in cells.items() if criterion != "steadiest" or not cell.groups}
    leading = sorted(leaders(steady), key=lambda index: (rank_key(cells[index]), index))
    doubts: frozenset[Doubt] = frozenset()
    if not leading:
        doubted = {index: marks for index, cell in eligible(cells).items() if (marks := _doubts(criterion, cell))}
        leading = sorted(doubted, key=lambda index: (rank_key(cells[index]), index))[:1]
        doubts = doubts.union(*doubted.values())
    if not leading:
        return None
    first, *others = leading
    is_firm = all(cells[index].run_count >= MIN_RUNS for index in leading)
    return Choice(candidates[first][0], cells[first], tuple(candidates[index][0] for index in others), len(candidates), measured, is_firm, doubts)


def _doubts(criterion: Criterion, cell: Cell) -> set[Doubt]:
    """Return which marks keep a number from leading."""
    doubts: set[Doubt] = {"undersampled"} if UNDERSAMPLED in cell.marks else set()
    return doubts | {"two_groups"} if criterion == "steadiest" and cell.groups else doubts
