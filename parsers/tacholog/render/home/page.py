"""The machines of the home page: of each a figure of all that its main campaign measured, and which transport suits which message."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tacholog.render.home.choices import choices_table
from tacholog.render.home.newest import newest_results
from tacholog.render.home.panels import names_of, panels
from tacholog.render.html import NOTHING, Html, esc, join, tag
from tacholog.render.marks import Seen, mark_notes
from tacholog.render.tables.hosts import host_anchor
from tacholog.render.tables.plain import count_of
from tacholog.render.tables.rankings import machine_heading
from tacholog.render.tables.tables import Links
from tacholog.view.home import Choices, HomeMachine, choices, is_on_one_machine, machines
from tacholog.view.numerals import NOT_STATED
from tacholog.view.page_index import PageIndex
from tacholog.view.ranking_groups import SystemSeries, system_series
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
    shown, seen = own[:MOST_MACHINES], Seen()
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
    marks: tuple[Seen, str],
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


def _table(view: View, machine: str, found: Choices | None, links: Links, marks: tuple[Seen, str], *, is_first: bool) -> Html:
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
