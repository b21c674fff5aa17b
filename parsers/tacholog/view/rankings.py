"""Which transport is the fastest at which size, one machine after the other. Numbers of two machines are never ranked against each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from urllib.parse import urlencode

import msgspec

from tacholog.compare.policy import MIN_RUNS
from tacholog.render.html import NOTHING, Html, esc, join, tag
from tacholog.render.marks import mark_notes, said_of_all
from tacholog.render.tables.hosts import host_anchor
from tacholog.render.tables.tables import CellWriter, Links, Marks, badge
from tacholog.runs.manifest import Host
from tacholog.schema.metrics import METRICS
from tacholog.view.comparable import (
    Compared,
    Group,
    compared,
    group_table,
    groups,
    marks_of_all,
    not_set_off,
    ordered,
    runs_of_all,
    said_of_members,
    sizes_of,
)
from tacholog.view.history import releases_of
from tacholog.view.names import build_words
from tacholog.view.remarks import remarks
from tacholog.view.results import Run
from tacholog.view.unranked import not_listed
from tacholog.view.views import View

_HOSTS, _CHOOSER = "hosts", "compare"  # documents of our own site
_MOST_SIZES = 7
_MOST_ROWS = 8
_OF_A_CAMPAIGN = ("planned_duration_s", "warmup", "settings", "campaign", "build")
_SHARED_BY_CAMPAIGN = ("host", "release", "system_version", "campaign", "definition", "basis", "load_mode")
_OF_A_RELEASE = ("release", "system_version", "tool_version", "run", *_OF_A_CAMPAIGN)


def glance(view: View, pages: Mapping[tuple[str, str], str], links: Links, anchor: str, documents: Collection[str] = ()) -> Html:
    """Return a table for each machine and each number that more than one series of it can be ranked by.

    Args:
        view: what to show.
        pages: the documents of systems and transports.
        links: where the logs are.
        anchor: starts every id.
        documents: which of the pages that are linked to (machines, compare) there are.
    """
    seen: dict[str, None] = {}
    everything = compared(view, pages)
    # Of all that there is, before it is sorted by what may be ranked: a release that was followed by one of another kind is not the newest.
    last = of_last_releases(everything)
    found = _ranked(last)
    shown = []
    for host, of_host in _by_host(found).items():
        ranked = [_Ranked(group, found[group]) for group in of_host]
        tables = [one.html(links, anchor, seen, documents) for one in ranked]
        said = remarks(run for one in ranked for member in one.members for run in member.series.runs)
        published = {one.series.published for group in of_host for one in found[group]}
        head = _machine(host, view.hosts.get(host), published, documents)
        shown.append(tag("section", head, said, *tables, class_="tl-glance"))
    if not shown:
        words = "No two numbers here were measured on one machine, on one basis and by one definition: nothing can be ranked."
        return tag("p", words, class_="tl-null")
    return join([*shown, not_listed(everything, last, [one for members in found.values() for one in members]), mark_notes(seen, anchor)])


def _ranked(last: Sequence[Compared]) -> dict[Group, list[Compared]]:
    """Return what may be ranked: of campaigns that measured the same, that of the most series, then of the most sizes."""
    kept = {group: members for group, found in groups(last).items() if len(members := best_measured(found)) > 1}
    main: dict[Group, Group] = {}
    for group, members in kept.items():
        of = msgspec.structs.replace(group, campaign=None)
        if of not in main or _breadth(group, members) > _breadth(main[of], kept[main[of]]):
            main[of] = group
    return {group: kept[group] for group in main.values()}


def _breadth(group: Group, members: Sequence[Compared]) -> tuple[int, int]:
    return len(members), sum(len(group.cells(one)) for one in members)


def _by_host(found: Mapping[Group, Sequence[Compared]]) -> dict[str, list[Group]]:
    """Return the groups of each machine, the machine with own runs and the most series first."""
    hosts: dict[str, list[Group]] = {}
    for group in found:
        hosts.setdefault(group.host, []).append(group)

    def place(host: str) -> tuple[bool, int, str]:
        members = [one for group in hosts[host] for one in found[group]]
        return all(one.series.published for one in members), -len(members), host

    return {host: sorted(hosts[host], key=lambda group: (group.metric != "latency", -len(found[group]))) for host in sorted(hosts, key=place)}


def _machine(name: str, host: Host | None, published: Collection[bool], documents: Collection[str]) -> Html:
    known = host.name if host else name
    words = tag("a", known, href=f"doc:{_HOSTS}#{host_anchor(name)}") if host and _HOSTS in documents else esc(known)
    also = tag("code", name) if known != name else NOTHING
    return tag("h3", join([words, also, *(badge(published=kind) for kind in sorted(published))], " "), class_="tl-machine")


class _Ranked:
    """One group, the best first."""

    def __init__(self, group: Group, members: Sequence[Compared]) -> None:
        self.group, self.count = group, len(members)
        self.sizes = sizes_of(group, members, _MOST_SIZES)
        self.members = ordered(group, members, self.sizes)[:_MOST_ROWS]

    def html(self, links: Links, anchor: str, seen: dict[str, None], documents: Collection[str]) -> Html:
        """Return its table, with what is said of all of it above and where to go on from it below."""
        said = marks_of_all(self.group, self.members, self.sizes)
        seen.update(dict.fromkeys(said))
        table = group_table(self.group, self.members, self.sizes, CellWriter(links, anchor, Marks(seen, said), None), links)
        return join([self._caption(), said_of_all(said, anchor), table, self._remark(), self._more(documents)])

    def _caption(self) -> Html:
        systems = list(dict.fromkeys(one.system for one in self.members))
        of = f" of {systems[0]}" if len(systems) == 1 else ""
        words = f"{of}: {METRICS[self.group.metric].better} is better. Load {self.group.load}, definition {self.group.definition}."
        if counted := runs_of_all(self.group, self.members, self.sizes):
            two = any(self.group.cells(one)[at].groups for one in self.members for at in self.sizes if at in self.group.cells(one))
            words += f" Each number is the median of {counted}{', or of one of the two groups that these runs fall into' if two else ''}."
        return tag("p", tag("strong", self.group.words), words, self._campaign(), class_="tl-ranked")

    def _campaign(self) -> str:
        """Say what the runs have in common that makes them fit to be ranked: the campaign, and of each system the one build."""
        builds = {(one.system, build) for one in self.members if (build := _build(one))}
        built = "; ".join(f"{system} built from {build_words(str(build))}" for system, build in sorted(builds, key=str))
        campaign = f"campaign {self.group.campaign}" if self.group.campaign else ""
        said = ", ".join(filter(None, (campaign, built)))
        common = said_of_members(self.members)
        return "".join((f" {said[0].upper()}{said[1:]}." if said else "", f" In common: {common}." if common else ""))

    def _remark(self) -> Html:
        said = not_set_off(self.group, self.members, self.sizes)
        return tag("p", said, class_="tl-note") if said else NOTHING

    def _more(self, documents: Collection[str]) -> Html:
        left_out = f"The best {_MOST_ROWS} of {self.count} series are shown. " if self.count > _MOST_ROWS else ""
        if _CHOOSER not in documents:
            return tag("p", left_out, class_="tl-note") if left_out else NOTHING
        metric = f"{self.group.metric}.{self.group.statistic}" + (f"@{self.group.basis}" if self.group.basis else "")
        link = tag("a", "Choose sizes and a baseline", href=f"doc:{_CHOOSER}?{urlencode({'metric': metric, 'host': self.group.host})}")
        return tag("p", left_out, link, ".", class_="tl-note")


def of_last_releases(members: Sequence[Compared]) -> list[Compared]:
    """Return the series of the last release of each, of all its campaigns."""
    return [one for found in _last_releases(members) for one in found]


def newest_release(members: Sequence[Compared]) -> list[Compared]:
    """Return the series of the newest release among those of one system: of all its campaigns and machines."""
    order = _order_of(members)
    places = [_place(one, order.get(one.system, ())) for one in members]
    return [one for one, place in zip(members, places, strict=True) if place == max(places)]


def main_campaigns(members: Sequence[Compared]) -> set[str]:
    """Return the ids of the series that stand for their release, where several campaigns measured the same.

    It is the campaign of the most series, because those of two campaigns do not tell their transports apart; then one of enough runs for a verdict;
    then that of the most sizes; then the latest.
    """
    breadth = Counter(_campaign_of(one) for one in members)

    def evidence(one: Compared) -> tuple[object, ...]:
        return (breadth[_campaign_of(one)], len(one.series.runs) >= MIN_RUNS, *_age(one, ()))

    alike: dict[object, list[Compared]] = {}
    for one in members:
        of = tuple((name, value) for name, value in one.series.key if name not in (*_OF_A_CAMPAIGN, "run"))
        alike.setdefault((one.system, one.transport, one.series.facts[0].test, of), []).append(one)
    kept = (found if found[0].series.published else [max(found, key=evidence)] for found in alike.values())
    return {one.id for found in kept for one in found}


def _campaign_of(one: Compared) -> tuple[object, ...]:
    key = dict(one.series.key)
    return (one.system, one.series.facts[0].test, *(key[name] for name in _SHARED_BY_CAMPAIGN))


def best_measured(members: Sequence[Compared]) -> list[Compared]:
    """Return the last release of each series, and of each system only what one build was measured by: that of the most of it, of these the latest."""
    kept = {id(one) for one in of_last_releases(members)}
    last = [one for one in members if id(one) in kept]
    builds: dict[tuple[str, bool], dict[object, list[Compared]]] = {}
    for one in last:
        builds.setdefault((one.system, one.series.published), {}).setdefault(_build(one), []).append(one)
    chosen = {system: max(of, key=lambda build: (len(of[build]), _latest(of[build]))) for system, of in builds.items()}
    return [one for one in last if _build(one) == chosen[one.system, one.series.published]]


def _build(one: Compared) -> object:
    return dict(one.series.key)["build"]


def _latest(members: Iterable[Compared]) -> str:
    return max(run.start_time or "" for one in members for run in one.series.runs)


def _last_releases(members: Sequence[Compared]) -> list[list[Compared]]:
    """Return what was measured alike of the last release of each, the campaign with the most sizes, of these the latest, last."""
    order = _order_of(members)
    alike: dict[object, list[Compared]] = {}
    for one in members:
        of = tuple((name, value) for name, value in one.series.key if name not in _OF_A_RELEASE)
        alike.setdefault((one.system, one.transport, one.series.facts[0].test, of), []).append(one)
    rows = []
    for found in alike.values():
        ages = {id(one): _age(one, order.get(one.system, ())) for one in found}
        last = max(ages.values())[0]
        rows.append(sorted((one for one in found if ages[id(one)][0] == last), key=lambda one: ages[id(one)]))
    return rows


def _age(one: Compared, order: Sequence[str]) -> tuple[int, int, str]:
    """The release says more than the clock: where two builds are compared, the old one is measured again after the new one came.

    So do the sizes: such a comparison measures only some, and must not hide the campaign that measured all.
    """
    return _place(one, order), len(one.series.sizes()), max(run.start_time or "" for run in one.series.runs)


def _order_of(members: Sequence[Compared]) -> dict[str, list[str]]:
    return releases_of(msgspec.structs.replace(run, release=_label(run)) for one in members for run in one.series.runs)


def _place(one: Compared, order: Sequence[str]) -> int:
    return max(order.index(label) if (label := _label(run)) in order else -1 for run in one.series.runs)


def _label(run: Run) -> str | None:
    """Runs that no release is stated for belong to that of their version."""
    return run.release or run.system_version
