"""A machine on a page: the properties that are stated, and a list of those that are not."""

from __future__ import annotations

import re

from tacholog.render.html import NOTHING, Html, join, tag, visible
from tacholog.runs.manifest import Host
from tacholog.slugs import slug

SECTIONS = ("cpu", "memory", "storage", "network", "system")
_TITLES = {"cpu": "Processor", "memory": "Memory", "storage": "Storage", "network": "Network", "system": "System"}
# Properties that matter for every measurement; each with a pattern for the names that host files give it.
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
    name = join([tag("strong", host.name), ". "]) if named else NOTHING
    head = tag("p", name, kind, tag("span", f"Source: {host.source}.", class_="tl-muted"))
    return tag("div", head, tag("div", *parts, class_="tl-cards"), *notes, class_="tl-host", id=None if named else host_anchor(host_id))


def host_anchor(host_id: str) -> str:
    """Return the anchor of a machine on the page of machines."""
    return slug(f"host {host_id}")


def missing(section: str, properties: dict[str, str]) -> list[str]:
    """Return the expected properties of a section that are not stated."""
    # Values count too: "Intel 710, 10 Gbit/s" states a link speed under another name.
    stated = " ".join([*properties, *properties.values()]).lower()
    return [title for title, pattern in _EXPECTED.get(section, ()) if not re.search(rf"(?:\b|_)(?:{pattern})", stated)]


def _section(name: str, properties: dict[str, str], *, local_only: bool) -> Html:
    rows = [tag("div", tag("dt", key.replace("_", " ")), tag("dd", visible(value))) for key, value in properties.items()]
    gaps = missing(name, properties)
    if not rows and not gaps:
        return NOTHING
    gap = tag("p", f"Not stated: {', '.join(gaps)}.", class_="tl-null") if gaps else ""
    if name == "network" and local_only:
        gap = tag("p", "Not stated.", class_="tl-null")
    return tag("section", tag("h3", _TITLES[name]), tag("dl", *rows) if rows else "", gap, class_="tl-card")
