"""The home page: a figure of the main campaign and a table of choices for each machine, beginning with the machine with the most measurements.

If no machine has comparable transports, the page shows the newest results of each system instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tacholog.render.evidence import load_line
from tacholog.render.home.choices import choices_table
from tacholog.render.home.panels import panels
from tacholog.render.html import NOTHING, Html, esc, join, tag
from tacholog.render.links import Links
from tacholog.render.marks import UsedMarks, mark_notes
from tacholog.render.table import count_of, plain_table
from tacholog.render.tables.cost import rig_cost
from tacholog.render.tables.hosts import host_anchor
from tacholog.render.tables.rankings import best_number, machine_heading
from tacholog.runs.moments import last_day
from tacholog.view.home import Choices, HomeMachine, choices, is_on_one_machine, machines
from tacholog.view.numerals import NOT_STATED, alphabetical
from tacholog.view.page_index import PageIndex
from tacholog.view.ranking_groups import SystemSeries, system_series
from tacholog.view.rankings import newest_release
from tacholog.view.remarks import caveats, remarks_on
from tacholog.view.results import RunRow
from tacholog.view.views import View, rig_series

MOST_MACHINES = 4
_OPEN = 1  # the machine with the most systems and repetitions is open; the others are folded
_MOST_DOCUMENTS = 12
_HOSTS = "hosts"
_WHICH, _ALL = "Which transport for which message?", "All of them, from the smallest message to the largest"


def machines_at_home(view: View, pages: PageIndex, links: Links, anchor: str, documents: Collection[str] = ()) -> Html:
    """Return a section for each machine, then a link to the newest measurement, and a list of the machines of published documents.

    The machine with the most measurements comes first. If there are no own runs, the sections show the machines of published documents. If nothing
    can be ranked, return the newest results instead.

    Args:
        view: the data to show.
        pages: the index of the pages.
        links: the addresses of the logs.
        anchor: the start of every id.
        documents: the existing pages.
    """
    everything = system_series(view, pages)
    all_machines = machines(everything)
    if not all_machines:
        return newest_results(view, everything, links)
    own_machines = [machine for machine in all_machines if not machine.published] or all_machines
    listed, used_marks = own_machines[:MOST_MACHINES], UsedMarks()
    sections = [_section(view, machine, links, f"{anchor}-{index}", (used_marks, anchor)) for index, machine in enumerate(listed)]
    for index, machine in enumerate(listed):
        sections[index] = _folded(view, machine, sections[index]) if index >= _OPEN else join([_heading(view, machine, documents), sections[index]])
    newest = _newest_line(view, own_machines, listed, anchor, documents)
    notes = tag("details", tag("summary", "What the marks mean"), mark_notes(used_marks, anchor), class_="tl-release") if used_marks else NOTHING
    published = _machines_without_section(view, everything, {machine.host for machine in listed}, documents)
    return join([newest, *sections, _others(len(own_machines) - len(listed), documents), notes, published])


def _section(view: View, machine: HomeMachine, links: Links, anchor: str, marks: tuple[UsedMarks, str]) -> Html:
    chosen = None if machine.published else choices(machine)
    table = _table(view, machine.host, chosen, links, marks)
    headings = [tag("h3", words, id=f"{anchor}-{name}") for words, name in ((_WHICH, "which"), (_ALL, "panels"))] if table else [NOTHING, NOTHING]
    measured = [run for column in chosen.columns for member in column.members for run in member.series.runs] if chosen else _runs(machine)
    own_cost = NOTHING if machine.published else rig_cost(rig_series(view, measured), links)
    parts = [_common_remarks(_runs(machine)), headings[0], table, own_cost, headings[1], panels(machine, anchor)]
    return tag("section", *parts, class_="tl-at-home", id=anchor)


def _heading(view: View, machine: HomeMachine, documents: Collection[str]) -> Html:
    return machine_heading(machine.host, view.hosts.get(machine.host), {machine.published}, documents, _runs(machine))


def _newest_line(view: View, machines: Sequence[HomeMachine], listed: Sequence[HomeMachine], anchor: str, documents: Collection[str]) -> Html:
    """Return a line with a link to the newest measurement; nothing if the page begins with it."""
    newest = max(machines, key=lambda machine: machine.newest)
    if newest is listed[0] or newest.published:
        return NOTHING
    runs = _runs(newest)
    campaign = newest.series[0].series.runs[0].campaign
    host = view.hosts.get(newest.host)
    name = tag("span", f"{host.name} ({newest.host})" if host else newest.host, class_="stat-label")
    address = f"#{anchor}-{listed.index(newest)}" if newest in listed else f"doc:{_HOSTS}" if _HOSTS in documents else None
    day = last_day(run.start_time for run in runs) or "date not stated"
    named = tag("span", f", campaign {campaign}", class_="stat-label") if campaign else NOTHING
    repeated = f" run{'s' * (newest.repetitions > 1)} each, on "
    where = tag("a", name, href=address) if address else name
    return tag("p", "Newest measurement: ", day, named, ", ", count_of(newest.repetitions), repeated, where, ".", class_="tl-newest")


def _folded(view: View, machine: HomeMachine, section: Html) -> Html:
    host = view.hosts.get(machine.host)
    caveat = caveats(host, _runs(machine))
    about = tag("span", caveat, class_="tl-caveat") if caveat else NOTHING
    name = tag("span", host.name if host else machine.host, class_="stat-label")
    summary = tag("summary", join([name, tag("code", machine.host), about], " "))
    return tag("details", summary, section, class_="tl-release")


def _runs(machine: HomeMachine) -> list[RunRow]:
    return list({run.run: run for member in machine.series for run in member.series.runs}.values())


def _common_remarks(runs: Sequence[RunRow]) -> Html:
    """Return the remarks that apply to all runs. Other remarks are on the pages of single runs."""
    notes = [remark.note for remark in remarks_on(runs) if not remark.runs and not remark.is_folded]
    return tag("div", *(tag("p", note) for note in notes), class_="tl-remarks", role="note") if notes else NOTHING


def _table(view: View, machine: str, choices_found: Choices | None, links: Links, marks: tuple[UsedMarks, str]) -> Html:
    if choices_found is None:
        return NOTHING
    used_marks, anchor = marks
    network = [member for column in choices_found.columns if column.reach == "network" for member in column.members]
    return choices_table(choices_found, links, anchor, used_marks, machine, loopback=is_on_one_machine(view, network))


def _others(count: int, documents: Collection[str]) -> Html:
    if count <= 0:
        return NOTHING
    words = f" more machine{'s' if count > 1 else ''}"
    return tag("p", count_of(count), words, " measured transports in the same way: see the ", _page_of_machines(documents), ".", class_="tl-note")


def _machines_without_section(view: View, everything: Iterable[SystemSeries], listed: Collection[str], documents: Collection[str]) -> Html:
    by_host: dict[str | None, dict[str, dict[str, str | None]]] = {}
    for member in everything:
        host = member.series.runs[0].host
        if member.series.published and host not in listed:
            by_host.setdefault(host, {}).setdefault(member.system, {})[member.transport] = member.document
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
    host_file = view.hosts.get(host) if host else None
    name = host_file.name if host_file else host or "machine not stated"
    label = tag("span", name, class_="stat-label")
    words = tag("a", label, href=f"doc:{_HOSTS}#{host_anchor(host)}") if host and host_file and _HOSTS in documents else label
    figures = [join([esc(system), ": ", join(_transports(transports), ", ")]) for system, transports in sorted(systems.items(), key=_by_name)]
    return tag("li", words, tag("span", " (", join(figures, "; "), ")", class_="stat-label"))


def _transports(documents: Mapping[str, str | None]) -> list[Html]:
    named = {transport: f"transport {NOT_STATED}" if transport == NOT_STATED else transport for transport in documents}
    return [
        tag("a", named[transport], href=f"doc:{page}") if page else esc(named[transport])
        for transport, page in sorted(documents.items(), key=_by_name)
    ]


def _by_name(item: tuple[str, object]) -> list[tuple[str, str]]:
    return alphabetical(item[0])


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
    """Return a table of systems, the most recently measured first. Each row shows the transport with the most numbers.

    Rows are sorted by time, because their numbers are not comparable.
    """
    by_system: dict[str, list[SystemSeries]] = {}
    for member in everything:
        by_system.setdefault(member.system, []).append(member)
    rows = [
        _system_row(view, system, [member for member in members if not member.is_control] or members, links) for system, members in by_system.items()
    ]
    rows.sort(key=lambda row: row[0], reverse=True)
    heads = ("system", "transport", "lowest latency", "highest payload received", "runs", "machine", "measured")
    table = plain_table("Newest results", heads, [cells for _, cells in rows[:_MOST_SYSTEMS]])
    left = len(rows) - _MOST_SYSTEMS
    more = tag("p", count_of(left), f" more system{'s' if left > 1 else ''}: see all systems and transports.", class_="tl-note") if left > 0 else ""
    loads = load_line(result for member in everything for result in member.series.results)
    return join([tag("p", _WHY_NO_RANKING, _NOT_COMPARABLE if len(rows) > 1 else ""), loads, table, more])


def _system_row(view: View, system: str, members: Sequence[SystemSeries], links: Links) -> tuple[tuple[str, int, str], list[object]]:
    """Return the sort key of a row, and its cells."""
    newest = newest_release(members)
    by_transport: dict[str, list[SystemSeries]] = {}
    for member in newest:
        by_transport.setdefault(member.transport, []).append(member)
    transport, best_members = max(by_transport.items(), key=lambda item: (sum(len(member.series.results) for member in item[1]), item[0]))
    runs = {run.run: run for member in best_members for run in member.series.runs}
    day = last_day(run.start_time for run in runs.values())
    hosts = sorted({view.hosts[run.host].name if run.host in view.hosts else run.host or NOT_STATED for run in runs.values()})
    others = {member.transport: member.document for member in members if member.transport != transport}
    cells: list[object] = [
        system,
        join([_linked(transport, best_members[0].document), _other_transports(others)]),
        best_number(best_members, "latency", "ns", links),
        best_number(best_members, "goodput", "bit_per_s", links),
        count_of(len(runs)),
        ", ".join(hosts),
        day or NOT_STATED,
    ]
    return (day, sum(len(member.series.results) for member in members), system), cells


def _other_transports(documents: dict[str, str | None]) -> Html | str:
    if not documents:
        return ""
    by_name = sorted(documents.items(), key=_by_name)
    left = len(by_name) - _MOST_LINKS
    named = [_linked(name, document) for name, document in by_name[:_MOST_LINKS]]
    return tag("span", " other transports: ", join(named, ", "), f" and {left} more" if left > 0 else "", class_="tl-muted stat-label")


def _linked(transport: str, document: str | None) -> Html:
    name = f"transport {NOT_STATED}" if transport == NOT_STATED else transport
    return tag("a", name, href=f"doc:{document}") if document else tag("span", name, class_="stat-label")
