"""Which transport is the fastest at which size, one machine after the other. Numbers of two machines are never ranked against each other.

What is ranked nowhere is listed with the reason: a table that left series out silently would mislead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from tacholog.compare.comparable import is_ranked_nowhere, judge, unknown
from tacholog.compare.policy import MIN_RUNS
from tacholog.runs.moments import latest_instant
from tacholog.view.beside import SIZES
from tacholog.view.history import in_order_of_time
from tacholog.view.names import with_system
from tacholog.view.numerals import NOT_STATED, size
from tacholog.view.page_index import PageIndex
from tacholog.view.ranking_groups import RANKED_BY, Group, SystemSeries, conditions_of, groups, ordered, sizes_of, sizes_of_few, system_series
from tacholog.view.refusals import not_stated, refusals
from tacholog.view.results import RunRow
from tacholog.view.series import labels_among
from tacholog.view.views import View

MOST_ROWS = 6  # with those of all machines, the page has fewer than 5000 elements
_MOST_TAIL_ROWS = 5  # of a table of the 99 %, which has the usual sizes
_TAIL = "p99"
_MOST_SIZES = 7
_OF_A_CAMPAIGN = ("planned_duration_s", "warmup", "settings", "campaign", "build")
_SHARED_BY_CAMPAIGN = ("host", "release", "system_version", "campaign", "definition", "basis", "load_mode")
_OF_A_RELEASE = ("release", "system_version", "tool_version", "run", *_OF_A_CAMPAIGN)


class RankedGroup(msgspec.Struct, frozen=True):
    """One group of comparable series, the best first: those that are shown, at which sizes, and how many there are.

    ``left_out`` holds, in words, the sizes that only some of the series have.
    """

    group: Group
    members: tuple[SystemSeries, ...]
    sizes: tuple[int, ...]
    count: int
    left_out: str = ""


class HostRankings(msgspec.Struct, frozen=True):
    """The rankings of one machine. ``published`` holds whether figures are published ones: one or both."""

    host: str
    published: frozenset[bool]
    tables: tuple[RankedGroup, ...]

    def runs(self) -> list[RunRow]:
        """Return the runs of all series that are shown."""
        return [run for table in self.tables for member in table.members for run in member.series.runs]


class Rankings(msgspec.Struct, frozen=True):
    """The rankings of all machines, and what is ranked nowhere.

    Where there is only one transport, ``alone`` holds its numbers in tables of the same form, and ``hosts`` is empty.
    """

    hosts: tuple[HostRankings, ...]
    unranked: tuple[Unranked, ...]
    alone: tuple[HostRankings, ...] = ()


def rankings_of(view: View, pages: PageIndex) -> Rankings:
    """Return what can be ranked of a view. Controls are not: nobody chooses between them and a transport."""
    found = system_series(view, pages)
    everything = [one for one in found if not one.is_control]
    # The newest release is chosen among all series, and not among those that may be ranked: it may be followed by one of another kind.
    last = of_last_releases(everything)
    ranked = _ranked(last)
    alone = {} if ranked or len({(one.system, one.transport) for one in last}) > 1 else _ranked(last, least=1)
    not_shown = unranked(everything, last, [one for members in (ranked or alone).values() for one in members])
    return Rankings(_of_hosts(ranked), (*not_shown, *unranked_controls(found)), _of_hosts(alone))


def _of_hosts(found: Mapping[Group, Sequence[SystemSeries]]) -> tuple[HostRankings, ...]:
    hosts = []
    for host, of_host in _by_host(found).items():
        published = frozenset(one.series.published for group in of_host for one in found[group])
        hosts.append(HostRankings(host, published, tuple(table for group in of_host for table in _tables(group, found[group]))))
    return tuple(hosts)


def _tables(group: Group, members: Sequence[SystemSeries]) -> Iterator[RankedGroup]:
    """Yield the table of a group; of latencies that are ranked by their median another one, of their 99 % at the usual sizes."""
    yield _ranked_group(group, members)
    if (group.metric, group.statistic) != ("latency", "p50"):
        return
    tail = msgspec.structs.replace(group, statistic=_TAIL)
    able = [one for one in members if tail.cells(one)]
    sizes = [at for at in SIZES if any(at in tail.cells(one) for one in able)]
    if len(able) > 1 and sizes:
        yield RankedGroup(tail, tuple(ordered(tail, able, sizes)[:_MOST_TAIL_ROWS]), tuple(sizes), len(able))


def _ranked_group(group: Group, members: Sequence[SystemSeries]) -> RankedGroup:
    sizes = sizes_of(group, members, _MOST_SIZES)
    return RankedGroup(group, tuple(ordered(group, members, sizes)[:MOST_ROWS]), tuple(sizes), len(members), _sizes_left_out(group, members))


def _sizes_left_out(group: Group, members: Sequence[SystemSeries]) -> str:
    """Return which sizes the table leaves out because fewer series have them, and which series these are: ``64 KiB (only X, TCP)``."""
    labels = labels_among([(one.system, one.series) for one in members])

    def owners(places: Sequence[int]) -> str:
        first = members[places[0]]
        name = ", ".join(filter(None, (first.system, first.transport, labels[places[0]])))
        return f"only {name}" if len(places) == 1 else f"only {len(places)} of {len(members)} series"

    return "; ".join(f"{', '.join(map(size, sizes))} ({owners(places)})" for places, sizes in sizes_of_few(group, members).items())


def _ranked(last: Sequence[SystemSeries], *, least: int = 2) -> dict[Group, list[SystemSeries]]:
    """Return what may be ranked: of campaigns that measured the same, that of the most series, then of the most sizes."""
    kept = {group: members for group, found in groups(last, least=least).items() if len(members := best_measured(found)) >= least}
    main: dict[object, Group] = {}
    for group, members in kept.items():
        measured = group.of_any_campaign()
        if measured not in main or _breadth(group, members) > _breadth(main[measured], kept[main[measured]]):
            main[measured] = group
    return {group: kept[group] for group in main.values()}


def _breadth(group: Group, members: Sequence[SystemSeries]) -> tuple[int, int]:
    return len(members), sum(len(group.cells(one)) for one in members)


def _by_host(found: Mapping[Group, Sequence[SystemSeries]]) -> dict[str, list[Group]]:
    """Return the groups of each machine, the machine with own runs and the most series first."""
    hosts: dict[str, list[Group]] = {}
    for group in found:
        hosts.setdefault(group.host, []).append(group)

    def place(host: str) -> tuple[bool, int, str]:
        members = [one for group in hosts[host] for one in found[group]]
        return all(one.series.published for one in members), -len(members), host

    return {host: sorted(hosts[host], key=lambda group: (group.metric != "latency", -len(found[group]))) for host in sorted(hosts, key=place)}


def of_last_releases(members: Sequence[SystemSeries]) -> list[SystemSeries]:
    """Return the series of the last release of each, of all its campaigns."""
    return [one for found in _last_releases(members) for one in found]


def newest_release(members: Sequence[SystemSeries]) -> list[SystemSeries]:
    """Return the series of the newest release among those of one system: of all its campaigns and machines."""
    order = _order_of(members)
    places = [_place(one, order.get(one.system, ())) for one in members]
    return [one for one, place in zip(members, places, strict=True) if place == max(places)]


def main_campaigns(members: Sequence[SystemSeries]) -> set[str]:
    """Return the ids of the series that stand for their release, where several campaigns measured the same.

    It is the campaign of the most series, because those of two campaigns do not tell their transports apart; then one of enough runs for a verdict;
    then that of the most sizes; then the latest.
    """
    breadth = Counter(_campaign_of(one) for one in members)

    def evidence(one: SystemSeries) -> tuple[object, ...]:
        return (breadth[_campaign_of(one)], len(one.series.runs) >= MIN_RUNS, *_age(one, ()))

    alike: dict[object, list[SystemSeries]] = {}
    for one in members:
        of = tuple((name, value) for name, value in one.series.key if name not in (*_OF_A_CAMPAIGN, "run"))
        alike.setdefault((one.system, one.transport, one.series.results[0].test, of), []).append(one)
    kept = (found if found[0].series.published else [max(found, key=evidence)] for found in alike.values())
    return {one.id for found in kept for one in found}


def _campaign_of(one: SystemSeries) -> tuple[object, ...]:
    key = dict(one.series.key)
    return (one.system, one.series.results[0].test, *(key[name] for name in _SHARED_BY_CAMPAIGN))


def best_measured(members: Sequence[SystemSeries]) -> list[SystemSeries]:
    """Return the last release of each series, and for each system only one build: the one with the most series, or the latest of these."""
    kept = {id(one) for one in of_last_releases(members)}
    last = [one for one in members if id(one) in kept]
    builds: dict[tuple[str, bool], dict[object, list[SystemSeries]]] = {}
    for one in last:
        builds.setdefault((one.system, one.series.published), {}).setdefault(build_of(one), []).append(one)
    chosen = {system: max(of, key=lambda build: (len(of[build]), _latest(of[build]))) for system, of in builds.items()}
    return [one for one in last if build_of(one) == chosen[one.system, one.series.published]]


def build_of(one: SystemSeries) -> object:
    """Return the commit that the programs of a series were built from; ``None`` if it is not stated."""
    return dict(one.series.key)["build"]


def _latest(members: Iterable[SystemSeries]) -> float:
    return latest_instant(run.start_time for one in members for run in one.series.runs)


def _last_releases(members: Sequence[SystemSeries]) -> list[list[SystemSeries]]:
    """Return the series of the last release, in lists of those measured in the same way, by their number of sizes and then their time."""
    order = _order_of(members)
    alike: dict[object, list[SystemSeries]] = {}
    for one in members:
        of = tuple((name, value) for name, value in one.series.key if name not in _OF_A_RELEASE)
        alike.setdefault((one.system, one.transport, one.series.results[0].test, of), []).append(one)
    rows = []
    for found in alike.values():
        ages = {id(one): _age(one, order.get(one.system, ())) for one in found}
        last = max(ages.values())[0]
        rows.append(sorted((one for one in found if ages[id(one)][0] == last), key=lambda one: ages[id(one)]))
    return rows


def _age(one: SystemSeries, order: Sequence[str]) -> tuple[int, int, float]:
    """Sort by release first, not by time: a comparison of two builds measures the old one again after the new one.

    Then by the number of sizes: such a comparison measures only some sizes, and must not hide the campaign that measured all.
    """
    return _place(one, order), len(one.series.sizes()), latest_instant(run.start_time for run in one.series.runs)


def _order_of(members: Sequence[SystemSeries]) -> dict[str, list[str]]:
    return in_order_of_time((run.system, _label(run), run.start_time) for one in members for run in one.series.runs)


def _place(one: SystemSeries, order: Sequence[str]) -> int:
    return max(order.index(label) if (label := _label(run)) in order else -1 for run in one.series.runs)


def _label(run: RunRow) -> str | None:
    """The release of a run; of a run without one, the version of its system."""
    return run.release or run.system_version


_OLDER = "of an older release"
_ALONE = "no other transport was measured on the same machine, in the same way and in the same campaign"
_NO_NUMBER = "no median latency, mean latency or goodput is stated"

_CONTROL = "a control, which no release changes: it shows whether the machine changed"

_Name = tuple[str, str, str, str]  # system, version, transport, labels that differ


class Unranked(msgspec.Struct, frozen=True):
    """Systems and transports that no ranking shows, and the reason that they share."""

    names: str
    reason: str


def unranked(everything: Sequence[SystemSeries], newest: Sequence[SystemSeries], listed: Sequence[SystemSeries]) -> list[Unranked]:
    """Return the systems and transports that no ranking shows, by the reason.

    Args:
        everything: all series.
        newest: those of the newest releases.
        listed: those that a ranking shows.
    """
    shown, last = {_name(one) for one in listed}, {id(one) for one in newest}
    reasons: dict[_Name, list[str]] = {}
    for one in everything:
        if _name(one) not in shown:
            reasons.setdefault(_name(one), []).append(_why(one, newest) if id(one) in last else _OLDER)
    by_reason: dict[str, list[_Name]] = {}
    for name, found in reasons.items():
        by_reason.setdefault(min(found, key=_says_least), []).append(name)
    return [Unranked(_names(names), reason) for reason, names in by_reason.items()]


def unranked_controls(everything: Sequence[SystemSeries]) -> list[Unranked]:
    """Return the controls among all series, which no ranking shows."""
    names = dict.fromkeys(_name(one) for one in everything if one.is_control)
    return [Unranked(_names(names), _CONTROL)] if names else []


def _says_least(reason: str) -> int:
    """A reason that holds for one side of a measurement only (a sender states no goodput) gives way to one that says more."""
    return (reason == _OLDER) + 2 * (reason == _NO_NUMBER)


def _name(one: SystemSeries) -> _Name:
    key = dict(one.series.key)
    return one.system, str(key["release"] or key["system_version"] or ""), one.transport, one.label_words


def _names(names: Collection[_Name]) -> str:
    by_system: dict[str, list[str]] = {}
    for system, version, transport, labels in names:
        named = f"transport {transport}" if transport == NOT_STATED else transport
        shown = " with ".join(filter(None, ("" if transport.casefold() == system.casefold() else named, labels)))
        by_system.setdefault(" ".join(filter(None, (system, version))), []).append(shown)
    return "; ".join(f"{system} ({', '.join(filter(None, of))})" if any(of) else system for system, of in by_system.items())


def _why(one: SystemSeries, newest: Sequence[SystemSeries]) -> str:
    numbers = [(metric, statistic) for metric, statistic in RANKED_BY if one.series.cells(metric, statistic)]
    if not numbers:
        return _NO_NUMBER
    stated = conditions_of(one.series, numbers[0][0])
    if missing := unknown(stated, "ranking"):
        return not_stated(missing)
    if all(is_ranked_nowhere(conditions_of(one.series, metric)) for metric, _ in numbers):
        return "the rate counts bytes that never moved"
    closest = _closest(one, newest, *numbers[0])
    return f"{_ALONE}. {closest}" if closest else _ALONE


def _closest(one: SystemSeries, newest: Sequence[SystemSeries], metric: str, statistic: str) -> str:
    """Return, as a sentence without its dot, which series differs in the fewest conditions, and in which; nothing if no other has this number."""
    stated = conditions_of(one.series, metric)
    others = [other for other in newest if other is not one and other.series.cells(metric, statistic)]
    judged = [(other, refusals(judge(conditions_of(other.series, metric), stated, comparison="ranking"))) for other in others]
    differing = [(other, reasons) for other, reasons in judged if reasons]
    if not differing:
        return ""
    other, reasons = min(differing, key=lambda found: len(found[1]))
    return f"The most similar is {with_system(other.system, other.transport)}; from it to this one, the difference is {'; '.join(reasons)}"
