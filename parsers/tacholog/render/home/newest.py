"""The home page where nothing can be ranked: what each system measured last, with its best numbers and links, one below the other.

Rows stand in the order of time, not of their numbers: they are not comparable with each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacholog.render.html import Html, join, tag
from tacholog.render.tables.overview import best_number
from tacholog.render.tables.plain import count_of, plain_table
from tacholog.render.tables.tables import Links
from tacholog.runs.moments import last_day
from tacholog.view.numerals import NOT_STATED
from tacholog.view.ranking_groups import SystemSeries
from tacholog.view.rankings import newest_release
from tacholog.view.views import View

_MOST_SYSTEMS = 12
_MOST_LINKS = 6
_WHY = (
    "No machine measured two transports in the same way, so nothing is ranked here. "
    "These are the newest results of one transport of each system: that with the most numbers."
)
_APART = " Do not compare one row with another: they were measured in different ways or on different machines."


def newest_results(view: View, everything: Sequence[SystemSeries], links: Links) -> Html:
    """Return a table with a row for each system, the one that was measured last first; of each, the transport with the most numbers."""
    by_system: dict[str, list[SystemSeries]] = {}
    for one in everything:
        by_system.setdefault(one.system, []).append(one)
    rows = [_row(view, system, [one for one in members if not one.is_control] or members, links) for system, members in by_system.items()]
    rows.sort(key=lambda row: row[0], reverse=True)
    heads = ("system", "transport", "lowest latency", "highest goodput", "runs", "machine", "measured")
    table = plain_table("Newest results", heads, [cells for _, cells in rows[:_MOST_SYSTEMS]])
    left = len(rows) - _MOST_SYSTEMS
    more = tag("p", count_of(left), f" more system{'s' if left > 1 else ''}: see all systems and transports.", class_="tl-note") if left > 0 else ""
    return join([tag("p", _WHY, _APART if len(rows) > 1 else ""), table, more])


def _row(view: View, system: str, members: Sequence[SystemSeries], links: Links) -> tuple[tuple[str, int, str], list[object]]:
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
        join([_linked(transport, shown[0].document), _others(others)]),
        best_number(shown, "latency", "ns", links),
        best_number(shown, "goodput", "bit_per_s", links),
        count_of(len(runs)),
        ", ".join(hosts),
        day or NOT_STATED,
    ]
    return (day, sum(len(one.series.results) for one in members), system), cells


def _others(documents: dict[str, str | None]) -> Html | str:
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
