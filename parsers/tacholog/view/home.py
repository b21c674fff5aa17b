"""The machines of the home page with their main campaigns, and the transports that lead for each kind of message on each machine.

Series are grouped by the rule for all rankings (`tacholog.compare.comparable`). A group may contain different labels of a campaign, because a reader
who chooses a transport also chooses its variant. The name of each series states its variant.

Transports that poll and transports that sleep have separate choices, because a user who must not spend a processor on waiting needs a transport that
sleeps. For each of the two kinds, the choices are the fastest, the steadiest and the cheapest transport. The rule of all rankings
(`tacholog.view.ranking_groups.leaders`) determines the leader, and the transports whose ranges of runs overlap with the range of the leader. One
further rule applies: a transport is never the steadiest at a size if its runs at this size fall into two groups. If no number may lead, the best
number is shown with the reason, but not as a winner.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import log2
from statistics import median_low
from typing import Literal

import msgspec

from tacholog.compare.comparable import LABELS
from tacholog.compare.policy import MIN_RUNS
from tacholog.runs.labels import label_fields, labels_of
from tacholog.runs.moments import latest_instant
from tacholog.view.cost import SPINS
from tacholog.view.names import words
from tacholog.view.ranking_groups import UNDERSAMPLED, Group, SystemSeries, eligible, groups, leaders, rank_key
from tacholog.view.rankings import best_measured, of_last_releases
from tacholog.view.series import LOSS, Cell
from tacholog.view.views import View, manifest_of

ACROSS = (LABELS,)
SLEEPS = "sleeps"  # sleeps until the kernel reports a message
_WAITING = {"busy-poll": "polls", "block": SLEEPS, "spin-then-block": "polls, then sleeps"}
_LEAST = 2  # A machine with fewer transports offers no choice. Published figures with fewer sizes form no line.
_ALIKE = "one by one"  # Rates of batches are not comparable with rates of single messages.
UNDER_LOAD = ("open", "paced")


class GroupMembers(msgspec.Struct, frozen=True):
    """A group of a ranking, and its series."""

    group: Group
    members: tuple[SystemSeries, ...]


class HomeMachine(msgspec.Struct, frozen=True):
    """A machine with the series of its main campaign.

    Attributes:
        host: the id of the machine.
        published: whether all figures were published by a vendor.
        newest: the start time of the campaign's newest run, in seconds since 1970; minus infinity if no run states it.
        latency: the series of latencies, if there are at least two.
        rate: the series of rates.
        everything: all series of the machine, of all campaigns, that may be ranked.
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

    @property
    def repetitions(self) -> int:
        """The number of runs that most of these series have."""
        return median_low(len(member.series.runs) for member in self.series)


def machines(everything: Sequence[SystemSeries]) -> list[HomeMachine]:
    """Return the machines of all series: own machines come first, then machines of published figures, and within each kind the largest first.

    The size is the number of systems multiplied by the number of repetitions. Repetitions beyond the number that a verdict needs do not count.
    """
    last = of_last_releases([member for member in everything if not member.is_control])
    by_group = {group: measured for group, members in groups(last, least=1, across=ACROSS).items() if (measured := best_measured(members))}
    by_host: dict[str, dict[Group, list[SystemSeries]]] = {}
    for group, members in by_group.items():
        by_host.setdefault(group.host, {})[group] = members
    made = [machine for host, of_host in by_host.items() if (machine := _machine(host, of_host))]
    return sorted(sorted(made, key=_fullness, reverse=True), key=lambda machine: machine.published)


def _fullness(machine: HomeMachine) -> tuple[int, int, float]:
    systems = {member.system for member in machine.series}
    transports = {(member.system, member.transport) for member in machine.series}
    return len(systems) * min(machine.repetitions, MIN_RUNS), len(transports), machine.newest


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
    """Return the group of a metric with the most transports, then with the most series, then with the newest runs; ``None`` if there is none.

    A group of latencies under load is returned only if there is no other group.
    """
    of_metric = {group: members for group, members in by_group.items() if group.metric == metric and group["batched"] in (None, _ALIKE)}
    if not of_metric:
        return None

    def breadth(group: Group) -> tuple[bool, int, int, float]:
        members = of_metric[group]
        return group["load_mode"] not in UNDER_LOAD, len({(member.system, member.transport) for member in members}), len(members), _newest(members)

    group = max(of_metric, key=breadth)
    return GroupMembers(group, tuple(of_metric[group]))


def _newest(members: Iterable[SystemSeries]) -> float:
    return latest_instant(run.start_time for member in members for run in member.series.runs)


def reach_of(member: SystemSeries) -> str | None:
    """Return how far the transport of a series carries a message: ``process``, ``host`` or ``network``; ``None`` if it is not stated."""
    return member.series.results[0].conditions.reach


def how(member: SystemSeries, differing: Collection[str] = (), but: str = "") -> str:
    """Return, in words, how a series was measured: how its sides wait, whether messages may be lost, and its ``differing`` labels.

    The way of waiting is left out if it is the one that the parameter ``but`` names.
    """
    key = dict(member.series.key)
    labels = labels_of(member.series.runs[0].labels)
    reliability = str(key["reliability"] or "")
    parts = [waits(member) if waits(member) != but else "", words("reliability", reliability) if reliability == "best-effort" else ""]
    return ", ".join(filter(None, [*parts, *(labels[name] for name in differing if name in labels)]))


def waits(member: SystemSeries) -> str:
    """Return, in words, how the sides of a series wait: as configured, unless the measurement shows that they spin by default."""
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
    """Return the series without a library: the tool's own transports, in a campaign that also measures libraries."""
    of_tool = [member for member in members if _is_of_tool(member)]
    return of_tool if len(of_tool) < len(members) else []


def _is_of_tool(member: SystemSeries) -> bool:
    """If the log and the manifest name the same system, this system is the tool itself."""
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
Doubt = Literal["two_groups", "undersampled"]
CRITERIA: tuple[Criterion, ...] = ("fastest", "steadiest", "cheapest")
REACHES = ("process", "host", "network")
USES = ((64, "Control messages"), (1024, "State"), (1 << 16, "Tiles"), (1 << 20, "Frames"), (4 << 20, "Images"))
_NEAR = 1.0  # how far a size may be from the size of a typical use, in powers of two
_CPU = "cpu_per_message"


class Choice(msgspec.Struct, frozen=True):
    """The leader by a criterion, or the best number if nothing may lead.

    Attributes:
        member: the leading series.
        cell: its number.
        overlapping: the series whose range of runs overlaps with that of the leader, the best first.
        candidates: the number of series that have a number for this criterion.
        measured: the number of series with this size, with or without a number for the criterion.
        is_firm: whether the leader and all overlapping series have enough runs.
        doubts: the marks that prevent all candidates from leading, if there is no leader.
    """

    member: SystemSeries
    cell: Cell
    overlapping: tuple[SystemSeries, ...]
    candidates: int
    measured: int
    is_firm: bool
    doubts: frozenset[Doubt] = frozenset()


class CriterionNumbers(msgspec.Struct, frozen=True):
    """The numbers that a criterion compares: the metric, and each series with its numbers by size."""

    group: Group
    numbers: tuple[tuple[SystemSeries, Mapping[int, Cell]], ...]


class ChoiceColumn(msgspec.Struct, frozen=True):
    """The transports with one reach and one way of waiting in one campaign.

    Attributes:
        reach: ``process``, ``host`` or ``network``.
        is_polling: whether a waiting side keeps a processor busy.
        members: all series.
        ranked: the numbers by which the series are ranked, for each measured criterion.
        bare: the `id` of each series without a library, in a campaign that measures libraries.
    """

    reach: str
    is_polling: bool
    members: tuple[SystemSeries, ...]
    ranked: Mapping[Criterion, CriterionNumbers]
    bare: frozenset[int]

    @property
    def is_choice(self) -> bool:
        """Whether there are several transports to choose from."""
        return len({(member.system, member.transport) for member in self.members if id(member) not in self.bare}) > 1

    def choice(self, criterion: Criterion, size: int, *, is_bare: bool = False) -> Choice | None:
        """Return the leader at a size; ``None`` if no series has a number for it.

        Args:
            criterion: the criterion by which the leader is the best.
            size: the size in bytes.
            is_bare: whether to choose among transports without a library. If it is false and the campaign measures libraries, the choice is among
                libraries only.
        """
        ranked = self.ranked.get(criterion)
        if ranked is None:
            return None
        members = [(member, cells) for member, cells in ranked.numbers if (id(member) in self.bare) is is_bare]
        measured = sum(size in member.series.sizes() for member, _ in members)
        return _chosen(criterion, [(member, cells[size]) for member, cells in members if size in cells], measured)


class Choices(msgspec.Struct, frozen=True):
    """The table of a machine: its columns, and its rows. Each row is a size with its typical use.

    ``has_loaded``: whether the machine also has latencies under load. They are on other pages.
    """

    columns: tuple[ChoiceColumn, ...]
    rows: tuple[tuple[int, str], ...]
    has_loaded: bool = False


def choices(machine: HomeMachine) -> Choices | None:
    """Return which transport leads at which size on a machine; ``None`` if no series states its reach.

    The reach of a series says how far its messages travel: within one process, between the processes of one host, or over a network.

    A column with only one transport offers no choice. Such columns are shown only if there are no other columns.
    """
    by_reach = [_columns(reach, [member for member in machine.everything if reach_of(member) == reach]) for reach in REACHES]
    all_columns = tuple(column for of_reach in by_reach for column in of_reach)
    columns = tuple(column for column in all_columns if column.is_choice) or all_columns
    sizes = {size for column in columns for member in column.members for size in member.series.sizes() if size is not None}
    rows = [(size, use) for wanted, use in USES if (size := _nearest_measured_size(wanted, sizes)) is not None]
    has_loaded = any(dict(member.series.key)["load_mode"] in UNDER_LOAD for member in machine.everything)
    return Choices(columns, tuple(rows), has_loaded) if rows else None


def _nearest_measured_size(wanted: int, sizes: set[int]) -> int | None:
    """Return the measured size that is nearest to ``wanted``; ``None`` if there are no measured sizes.

    If the nearest size is not near enough, return ``wanted`` itself.
    """
    near = min(sizes, key=lambda size: (abs(log2(size / wanted)), size), default=None)
    return near if near is not None and abs(log2(near / wanted)) <= _NEAR else wanted if sizes else None


def _columns(reach: str, members: Sequence[SystemSeries]) -> Iterator[ChoiceColumn]:
    """Yield a column for series that poll, and a column for series that sleep. A column without any library is left out if libraries are measured."""
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
        ranked["cheapest"] = _without_lossy_transports(rate, _ranked(rate, msgspec.structs.replace(rate.group, metric=_CPU, statistic="mean")))
    bare = frozenset(map(id, floors(series)))
    for is_polling in (True, False):
        alike = tuple(member for member in series if polls(member) is is_polling)
        if any(id(member) not in bare for member in alike):
            numbers = {criterion: _of_members(of_criterion, alike) for criterion, of_criterion in ranked.items()}
            yield ChoiceColumn(reach, is_polling, alike, numbers, bare)


def _of_members(numbers: CriterionNumbers, members: Sequence[SystemSeries]) -> CriterionNumbers:
    ids = set(map(id, members))
    return CriterionNumbers(numbers.group, tuple(pair for pair in numbers.numbers if id(pair[0]) in ids))


def _ranked(members: GroupMembers, group: Group) -> CriterionNumbers:
    return CriterionNumbers(group, tuple((member, group.cells(member)) for member in members.members))


def _without_lossy_transports(rate: GroupMembers, costs: CriterionNumbers) -> CriterionNumbers:
    """Return the costs without those at which a transport lost many messages at full rate.

    ``costs`` has a cost for each series and size. A cost is left out if ``rate`` has no number for this series and size, or a number with the mark
    for loss. A ranking of rates leaves out these transports too.
    """
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
    doubts: set[Doubt] = {"undersampled"} if UNDERSAMPLED in cell.marks else set()
    return doubts | {"two_groups"} if criterion == "steadiest" and cell.groups else doubts
