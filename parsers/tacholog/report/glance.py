"""Which transport is the fastest at which size, one machine after the other. Numbers of two machines are never ranked against each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from urllib.parse import urlencode

import msgspec

from tacholog.manifest import Host
from tacholog.records import METRICS
from tacholog.report.comparable import Compared, Group, compared, group_table, groups, marks_of_all, ordered, sizes_of
from tacholog.report.facts import Run
from tacholog.report.history import releases_of
from tacholog.report.hosts import host_anchor
from tacholog.report.marks import mark_notes, said_of_all
from tacholog.report.markup import NOTHING, Html, esc, join, tag
from tacholog.report.tables import CellWriter, Links, Marks, badge
from tacholog.report.views import View

_HOSTS, _CHOOSER = "hosts", "compare"  # documents of our own site
_MOST_SIZES = 7
_MOST_ROWS = 8
_OF_A_RELEASE = ("release", "system_version", "tool_version", "planned_duration_s", "run")


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
    found = groups(compared(view, pages))
    shown = []
    for host, of_host in _by_host(found).items():
        tables = [_Ranked(group, found[group]).html(links, anchor, seen, documents) for group in of_host]
        published = {one.series.published for group in of_host for one in found[group]}
        head = _machine(host, view.hosts.get(host), published, documents)
        shown.append(tag("section", head, *tables, class_="tl-glance"))
    if not shown:
        words = "No two numbers here were measured on one machine, on one basis and by one definition: nothing can be ranked."
        return tag("p", words, class_="tl-null")
    return join([*shown, mark_notes(seen, anchor)])


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
        found = newest(members)
        self.group, self.count = group, len(found)
        self.sizes = sizes_of(group, found, _MOST_SIZES)
        self.members = ordered(group, found, self.sizes)[:_MOST_ROWS]

    def html(self, links: Links, anchor: str, seen: dict[str, None], documents: Collection[str]) -> Html:
        """Return its table, with what is said of all of it above and where to go on from it below."""
        said = marks_of_all(self.group, self.members, self.sizes)
        seen.update(dict.fromkeys(said))
        table = group_table(self.group, self.members, self.sizes, CellWriter(links, anchor, Marks(seen, said), None), links)
        return join([self._caption(), said_of_all(said, anchor), table, self._more(documents)])

    def _caption(self) -> Html:
        systems = list(dict.fromkeys(one.system for one in self.members))
        of = f" of {systems[0]}" if len(systems) == 1 else ""
        words = f"{of}: {METRICS[self.group.metric].better} is better. Load {self.group.load}, definition {self.group.definition}."
        return tag("p", tag("strong", self.group.words), words, class_="tl-ranked")

    def _more(self, documents: Collection[str]) -> Html:
        left_out = f"The best {_MOST_ROWS} of {self.count} series are shown. " if self.count > _MOST_ROWS else ""
        if _CHOOSER not in documents:
            return tag("p", left_out, class_="tl-note") if left_out else NOTHING
        metric = f"{self.group.metric}.{self.group.statistic}" + (f"@{self.group.basis}" if self.group.basis else "")
        link = tag("a", "Choose sizes and a baseline", href=f"doc:{_CHOOSER}?{urlencode({'metric': metric, 'host': self.group.host})}")
        return tag("p", left_out, link, ".", class_="tl-note")


def newest(members: Sequence[Compared]) -> list[Compared]:
    """Return the series without those that a later release, or a later campaign of the same one, has measured anew in as many sizes."""
    order = releases_of(msgspec.structs.replace(run, release=_label(run)) for one in members for run in one.series.runs)
    alike: dict[object, list[Compared]] = {}
    for one in members:
        of = tuple((name, value) for name, value in one.series.key if name not in _OF_A_RELEASE)
        alike.setdefault((one.system, one.transport, one.series.facts[0].test, of), []).append(one)
    kept = {id(one) for found in alike.values() for one in _last(found, order.get(found[0].system, ()))}
    return [one for one in members if id(one) in kept]


def _last(found: Sequence[Compared], order: Sequence[str]) -> list[Compared]:
    """Return the last of own runs; of published tables all of the last release, because a document that prints two means them to differ."""
    ages = [_age(one, order) for one in found]
    last = max(ages)
    return [one for one, age in zip(found, ages, strict=True) if age == last or (one.series.published and age[0] == last[0])]


def _age(one: Compared, order: Sequence[str]) -> tuple[int, int, str]:
    """The release says more than the clock: where two builds are compared, the old one is measured again after the new one came.

    So do the sizes: such a comparison measures only some, and must not hide the campaign that measured all.
    """
    runs = one.series.runs
    place = max(order.index(label) if (label := _label(run)) in order else -1 for run in runs)
    return place, len(one.series.sizes()), max(run.start_time or "" for run in runs)


def _label(run: Run) -> str | None:
    """Runs that no release is stated for belong to that of their version."""
    return run.release or run.system_version
