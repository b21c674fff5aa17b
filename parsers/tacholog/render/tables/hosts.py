"""Machines on a page: one machine as a card of its properties, or several side by side. Expected properties that are not stated are named."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from tacholog.render.html import NOTHING, Html, join, tag, visible
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, count_of, head, null, scroller
from tacholog.runs.manifest import Host
from tacholog.slugs import path_slug
from tacholog.view.remarks import caveats
from tacholog.view.results import RunRow
from tacholog.view.views import View

SECTIONS = ("cpu", "memory", "storage", "network", "system")
_TITLES = {"cpu": "Processor", "memory": "Memory", "storage": "Storage", "network": "Network", "system": "System"}
# Properties that matter for every measurement, each with a pattern for its names in host files.
_EXPECTED: dict[str, tuple[tuple[str, str], ...]] = {
    "cpu": (("model", "model|name|processor"), ("cores", "core|cpus|threads"), ("governor", "governor"), ("turbo", "turbo|boost")),
    "memory": (("size", "size|total|bytes|memory"), ("channels and speed", "channel|speed|type")),
    "network": (
        ("adapter", "nic|adapter|model|card|interface|eth|en[opsx]|wl"),
        ("link speed", r"speed|link|[gm]bit|[gm]be\b"),
        ("MTU", "mtu"),
        ("switch", "switch"),
    ),
    "system": (("operating system", "os|distribution|system"), ("kernel", "kernel"), ("virtualisation", "virtual"), ("clock source", "clock")),
}


def host_card(host_id: str, host: Host | None, *, named: bool = True) -> Html:
    """Return the properties of a machine by section. Each section ends with the expected properties that are not stated."""
    if host is None:
        words = "There is no host file for this machine" if host_id else "The document does not state the machine"
        return tag("p", f"{words}: everything about it is not stated.", class_="tl-null")
    parts = [_section(name, getattr(host, name), local_only=not host.network) for name in SECTIONS]
    notes = [tag("p", note, class_="tl-note") for note in host.notes]
    kind = join([host.kind, ". "]) if host.kind else NOTHING
    name = tag("h3", host.name, " ", tag("code", host_id), id=path_slug(f"machine-{host_id}")) if named else NOTHING
    head = tag("p", kind, tag("span", f"Source: {host.source}.", class_="tl-muted"))
    return tag("div", name, head, tag("div", *parts, class_="tl-cards"), *notes, class_="tl-host", id=None if named else host_anchor(host_id))


def host_anchor(host_id: str) -> str:
    """Return the anchor of a machine on the page of machines."""
    return path_slug(f"host-{host_id}")  # `Lab A` and `lab-a` are two machines, so their ids must differ


def missing(section: str, properties: dict[str, str]) -> list[str]:
    """Return the expected properties of a section that are not stated."""
    # The values are searched too: "Intel 710, 10 Gbit/s" states a link speed under another name.
    text = " ".join([*properties, *properties.values()]).lower()
    return [title for title, pattern in _EXPECTED.get(section, ()) if not re.search(rf"(?:\b|_)(?:{pattern})", text)]


class _Machine(msgspec.Struct, frozen=True):
    id: str
    host: Host
    runs: tuple[RunRow, ...]

    def properties(self, section: str) -> Mapping[str, str]:
        section_properties: Mapping[str, str] = getattr(self.host, section)
        return section_properties


def machines_side_by_side(view: View) -> Html:
    """Return the machines that have runs, with a column for each machine and a row for each property.

    Machines that our tool examined and machines that documents describe are in separate tables, because they state different properties.
    """
    by_host: dict[str, list[RunRow]] = {}
    for run in view.runs.values():
        if run.host in view.hosts:
            by_host.setdefault(str(run.host), []).append(run)
    machines = [_Machine(name, view.hosts[name], tuple(runs)) for name, runs in by_host.items()]
    machines.sort(key=lambda machine: (-len(machine.runs), machine.id))
    groups = [(title, [machine for machine in machines if machine.host.published == published]) for title, published in _GROUPS]
    return join(_side_by_side(title, members, alone=len(members) == len(machines)) for title, members in groups if members)


_GROUPS = (("Machines of own runs", False), ("Machines that published documents describe", True))
_DIFFERS = "\u2260"


def _side_by_side(title: str, machines: Sequence[_Machine], *, alone: bool) -> Html:
    corner = TableColumn(tag("span", "property", class_="tl-muted"))
    bodies = [[TableRow([head("runs here"), *(TableCell(count_of(len(machine.runs))) for machine in machines)])]]
    bodies += [body for name in SECTIONS if (body := _body(name, machines))]
    table = Table(title, [corner, *map(_head, machines)], bodies, "tl-table tl-machines")
    caption = NOTHING if alone else tag("p", title, class_="tl-caption")
    notes = [tag("li", tag("strong", machine.host.name), ": ", note) for machine in machines for note in machine.host.notes]
    below = tag("ul", *notes, class_="tl-notes") if notes else NOTHING
    return tag("div", caption, scroller(table, tools=False), below, class_="tl-host")


def _head(machine: _Machine) -> TableColumn:
    host = machine.host
    warning = caveats(host, machine.runs)
    parts = [tag("span", host.name, class_="tl-name"), tag("code", machine.id)]
    parts += [tag("span", warning, class_="tl-caveat")] if warning else []
    parts += [tag("span", f"{host.kind}.", class_="tl-muted")] if host.kind else []
    parts.append(tag("span", f"Source: {host.source}", class_="tl-muted"))
    return TableColumn(join(parts), id=host_anchor(machine.id))


def _body(section: str, machines: Sequence[_Machine]) -> list[TableRow]:
    names = dict.fromkeys(name for machine in machines for name in machine.properties(section))
    if not names:
        return []
    all_properties = {f"{index} {name}": value for index, machine in enumerate(machines) for name, value in machine.properties(section).items()}
    title = TableCell(_TITLES[section], class_="tl-section", scope="rowgroup", span=len(machines) + 1)
    rows = [_row(name.replace("_", " "), [machine.properties(section).get(name) for machine in machines]) for name in names]
    return [TableRow([title]), *rows, *(_row(gap, [None] * len(machines)) for gap in missing(section, all_properties))]


def _row(name: str, values: Sequence[str | None]) -> TableRow:
    differs = len(set(values)) > 1
    # A sign, not only a colour, shows that the machines differ.
    sign = tag("span", _DIFFERS, class_="tl-differs-sign", title="The machines differ") if differs else NOTHING
    cells = [TableCell(null() if value is None else visible(value)) for value in values]
    return TableRow([head(join([name, sign])), *cells], "" if differs or len(values) == 1 else "tl-alike")


def _section(name: str, properties: dict[str, str], *, local_only: bool) -> Html:
    rows = [tag("div", tag("dt", key.replace("_", " ")), tag("dd", visible(value))) for key, value in properties.items()]
    gaps = missing(name, properties)
    if not rows and not gaps:
        return NOTHING
    gap = tag("p", f"Not stated: {', '.join(gaps)}.", class_="tl-null") if gaps else ""
    if name == "network" and local_only:
        gap = tag("p", "Not stated.", class_="tl-null")
    return tag("section", tag("h3", _TITLES[name]), tag("dl", *rows) if rows else "", gap, class_="tl-card")
