"""The home page: for each machine a figure of its main campaign and a table of choices.

Where no machine has comparable transports, the page shows the newest results of each system instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tacholog.render.home.choices import choices_table
from tacholog.render.home.panels import names_of, panels
from tacholog.render.html import NOTHING, Html, esc, join, tag
from tacholog.render.links import Links
from tacholog.render.marks import UsedMarks, mark_notes
from tacholog.render.table import count_of, plain_table
from tacholog.render.tables.hosts import host_anchor
from tacholog.render.tables.rankings import best_number, machine_heading
from tacholog.runs.moments import last_day
from tacholog.view.home import Choices, HomeMachine, choices, is_on_one_machine, machines
from tacholog.view.numerals import NOT_STATED
from tacholog.view.page_index import PageIndex
from tacholog.view.ranking_groups import SystemSeries, system_series
from tacholog.view.rankings import newest_release
from tacholog.view.remarks import caveats, remarks_on
from tacholog.view.results import RunRow
from tacholog.view.views import View

MOST_MACHINES = 4
_OPEN = 1  # the newest machine; the others are folded
_MOST_DOCUMENTS = 12
_HOSTS = "hosts"
_WHICH = "Which transport for which message?"


def machines_at_home(view: View, pages: PageIndex, links: Links, anchor: str, documents: Collection[str] = ()) -> Html:
    """Return a section for each machine, the newest first, and a list of the machines of published documents.

    Where there are no own runs, the machines of documents have the sections. Where nothing can be ranked at all, there are the newest results.

    Args:
        view: what to show.
        pages: which page shows what.
        links: where the logs are.
        anchor: starts every id.
        documents: which of the pages that are linked to there are.
    """
    everything = system_series(view, pages)
    found = machines(everything)
    if not found:
        return newest_results(view, everything, links)
    own = [machine for machine in found if not machine.published] or found
    shown, seen = own[:MOST_MACHINES], UsedMarks()
    slots = names_of(shown)
    sections = [
        _section(view, machine, slots, links, f"{anchor}-{place}", (seen, anchor), documents, is_first=place == 0)
        for place, machine in enumerate(shown)
    ]
    sections[_OPEN:] = [_folded(view, machine, section) for machine, section in zip(shown[_OPEN:], sections[_OPEN:], strict=True)]
    notes = tag("details", tag("summary", "What the marks mean"), mark_notes(seen, anchor), class_="tl-release") if seen else NOTHING
    published = _published(view, everything, {machine.host for machine in shown}, documents)
    return join([*sections, _others(len(own) - len(shown), documents), notes, published])


def _section(
    view: View,
    machine: HomeMachine,
    slots: Mapping[str, int],
    links: Links,
    anchor: str,
    marks: tuple[UsedMarks, str],
    documents: Collection[str],
    *,
    is_first: bool,
) -> Html:
    runs = _runs(machine)
    head = machine_heading(machine.host, view.hosts.get(machine.host), {machine.published}, documents, runs)
    table = NOTHING if machine.published else _table(view, machine.host, choices(machine), links, marks, is_first=is_first)
    return tag("section", head, panels(machine, slots, anchor), table, _remark(runs), class_="tl-at-home", id=anchor)


def _folded(view: View, machine: HomeMachine, section: Html) -> Html:
    """Return the section of a machine, closed under its name."""
    host = view.hosts.get(machine.host)
    caveat = caveats(host, _runs(machine))
    about = tag("span", caveat, class_="tl-caveat") if caveat else NOTHING
    name = tag("span", host.name if host else machine.host, class_="stat-label")
    summary = tag("summary", join([name, tag("code", machine.host), about], " "))
    return tag("details", summary, section, class_="tl-release")


def _runs(machine: HomeMachine) -> list[RunRow]:
    return list({run.run: run for one in machine.series for run in one.series.runs}.values())


def _remark(runs: Sequence[RunRow]) -> Html:
    """Return the remarks that are on all runs. Those on some runs stand on the pages of these."""
    found = [remark.note for remark in remarks_on(runs) if not remark.runs and not remark.is_folded]
    return tag("p", " ".join(found), class_="tl-note") if found else NOTHING


def _table(view: View, machine: str, found: Choices | None, links: Links, marks: tuple[UsedMarks, str], *, is_first: bool) -> Html:
    """Return the table of choices: open for the newest machine, folded for all others."""
    if found is None:
        return NOTHING
    seen, anchor = marks
    network = [one for column in found.columns if column.reach == "network" for one in column.members]
    table = choices_table(found, links, anchor, seen, machine, loopback=is_on_one_machine(view, network))
    if is_first:
        return join([tag("h3", _WHICH, id=f"{anchor}-which"), table])
    return tag("details", tag("summary", _WHICH), table, class_="tl-release")


def _others(count: int, documents: Collection[str]) -> Html:
    if count <= 0:
        return NOTHING
    words = f" more machine{'s' if count > 1 else ''}"
    return tag("p", count_of(count), words, " measured transports in the same way: see the ", _page_of_machines(documents), ".", class_="tl-note")


def _published(view: View, everything: Iterable[SystemSeries], shown: Collection[str], documents: Collection[str]) -> Html:
    """Return a list of the machines of documents that have no section, with links to what was published of them."""
    by_host: dict[str | None, dict[str, dict[str, str | None]]] = {}
    for one in everything:
        host = one.series.runs[0].host
        if one.series.published and host not in shown:
            by_host.setdefault(host, {}).setdefault(one.system, {})[one.transport] = one.document
    if not by_host:
        return NOTHING
    hosts = sorted(by_host, key=lambda host: (host is None, -sum(map(len, by_host[host].values())), host or ""))
    items = [_document_item(view, host, by_host[host], documents) for host in hosts[:_MOST_DOCUMENTS]]
    left = len(hosts) - _MOST_DOCUMENTS
    more = tag("li", count_of(left), " more: see the ", _page_of_machines(documents), ".") if left > 0 else NOTHING
    return tag(
        "section", tag("h2", "Published by vendors, on machines of their own"), tag("ul", *items, more, class_="tl-links"), class_="tl-at-home"
    )


def _document_item(view: View, host: str | None, systems: Mapping[str, Mapping[str, str | None]], documents: Collection[str]) -> Html:
    known = view.hosts.get(host) if host else None
    name = known.name if known else host or "machine not stated"
    label = tag("span", name, class_="stat-label")
    words = tag("a", label, href=f"doc:{_HOSTS}#{host_anchor(host)}") if host and known and _HOSTS in documents else label
    figures = [join([esc(system), ": ", join(_transports(of), ", ")]) for system, of in sorted(systems.items())]
    return tag("li", words, tag("span", " (", join(figures, "; "), ")", class_="stat-label"))


def _transports(found: Mapping[str, str | None]) -> list[Html]:
    named = {transport: f"transport {NOT_STATED}" if transport == NOT_STATED else transport for transport in found}
    return [tag("a", named[transport], href=f"doc:{page}") if page else esc(named[transport]) for transport, page in sorted(found.items())]


def _page_of_machines(documents: Collection[str]) -> Html:
    return tag("a", "page of machines", href=f"doc:{_HOSTS}") if _HOSTS in documents else esc("pages of results")


_MOST_SYSTEMS = 12
_MOST_LINKS = 6
_WHY_NO_RANKING = (
    "No machine measured two transports in the same way, so nothing is ranked here. "
    "These are the newest results of one transport of each system: that with the most numbers."
)
_NOT_COMPARABLE = " Do not compare one row with another: they were measured in different ways or on different machines."


def newest_results(view: View, everything: Sequence[SystemSeries], links: Links) -> Html:
    """Return a table with a row for each system, the one that was measured last first; of each, the transport with the most numbers."""
    by_system: dict[str, list[SystemSeries]] = {}
    for one in everything:
        by_system.setdefault(one.system, []).append(one)
    rows = [_system_row(view, system, [one for one in members if not one.is_control] or members, links) for system, members in by_system.items()]
    rows.sort(key=lambda row: row[0], reverse=True)
    heads = ("system", "transport", "lowest latency", "highest goodput", "runs", "machine", "measured")
    table = plain_table("Newest results", heads, [cells for _, cells in rows[:_MOST_SYSTEMS]])
    left = len(rows) - _MOST_SYSTEMS
    more = tag("p", count_of(left), f" more system{'s' if left > 1 else ''}: see all systems and transports.", class_="tl-note") if left > 0 else ""
    return join([tag("p", _WHY_NO_RANKING, _NOT_COMPARABLE if len(rows) > 1 else ""), table, more])


def _system_row(view: View, system: str, members: Sequence[SystemSeries], links: Links) -> tuple[tuple[str, int, str], list[object]]:
    """Return what a row is ordered by, and its cells."""
    newest = newest_release(members)
    by_transport: dict[str, list[SystemSeries]] = {}
    for one in newest:
        by_transport.setdefault(one.transport, []).append(one)
    transport, shown = max(by_transport.items(), key=lambda item: (sum(len(one.series.results) for one in item[1]), item[0]))
    runs = {run.run: run for one in shown for run in one.series.runs}
    day = last_day(run.start_time for run in runs.values())
    hosts = sorted({view.hosts[run.host].name if run.host in view.hosts else run.host or NOT_STATED for run in runs.values()})
    others = {one.transport: one.document for one in members if one.transport != transport}
    cells: list[object] = [
        system,
        join([_linked(transport, shown[0].document), _other_transports(others)]),
        best_number(shown, "latency", "ns", links),
        best_number(shown, "goodput", "bit_per_s", links),
        count_of(len(runs)),
        ", ".join(hosts),
        day or NOT_STATED,
    ]
    return (day, sum(len(one.series.results) for one in members), system), cells


def _other_transports(documents: dict[str, str | None]) -> Html | str:
    """Return links to the other transports of a system, and of many how many more there are."""
    if not documents:
        return ""
    found = sorted(documents.items())
    left = len(found) - _MOST_LINKS
    named = [_linked(name, document) for name, document in found[:_MOST_LINKS]]
    return tag("span", " other transports: ", join(named, ", "), f" and {left} more" if left > 0 else "", class_="tl-muted stat-label")


def _linked(transport: str, document: str | None) -> Html:
    name = f"transport {NOT_STATED}" if transport == NOT_STATED else transport
    return tag("a", name, href=f"doc:{document}") if document else tag("span", name, class_="stat-label")
