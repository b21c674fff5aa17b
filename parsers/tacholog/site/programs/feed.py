"""The Atom feed of a site: each release of each system that was compared with the one before, the newest first.

Source:
    RFC 4287, The Atom Syndication Format.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tacholog.compare.result import Report
from tacholog.render.diff.meanings import headline
from tacholog.render.diff.summary import conclusion
from tacholog.site.settings import SiteSettings
from tacholog.view.history import diff_documents, neighbours
from tacholog.view.results import RunRow
from tacholog.visible import drawn

FEED = "releases.atom"
_ATOM = "http://www.w3.org/2005/Atom"
_MOST = 10  # entries; each is a comparison
_NAMES = uuid.uuid5(uuid.NAMESPACE_URL, "https://tacholog.invalid/feed")  # ids must not change where the site moves


class FeedEntry(NamedTuple):
    """One entry: what makes its id, its title, when it happened, the page, and a summary."""

    key: str
    title: str
    updated: str
    page: str
    summary: str


def release_entries(runs: Sequence[RunRow], compare: Callable[[str, str, str], Report]) -> list[FeedEntry]:
    """Return an entry for each of the newest comparisons. A release whose runs state no time has no place in a feed."""
    documents = diff_documents(runs)
    dated = [(moment, pair) for pair in neighbours(runs) if (moment := _moment(runs, pair[0], pair[2]))]
    return [_entry(moment, pair, documents[pair], compare(*pair)) for moment, pair in sorted(dated, reverse=True)[:_MOST]]


def _entry(moment: str, pair: tuple[str, str, str], document: str, report: Report) -> FeedEntry:
    system, old, new = pair
    return FeedEntry(" ".join(pair), f"{system} {new}: {headline(report)}", moment, f"{document}.html", f"{old} → {new}. {conclusion(report)}")


def _moment(runs: Sequence[RunRow], system: str, release: str) -> str | None:
    """When the last run of a release began, as a date of RFC 3339; nothing if no run states it."""
    found = []
    for run in runs:
        if run.system == system and run.release == release and run.start_time:
            try:
                when = datetime.fromisoformat(run.start_time)
            except ValueError:
                continue
            found.append(when if when.tzinfo else when.replace(tzinfo=UTC))
    return max(found).astimezone(UTC).isoformat(timespec="seconds") if found else None


def atom(entries: Sequence[FeedEntry], settings: SiteSettings) -> bytes | None:
    """Return the feed; ``None`` if there is nothing to tell. Links are absolute if ``site.toml`` states the address of the site."""
    if not entries:
        return None
    base = f"{drawn(settings.url).rstrip('/')}/" if settings.url else ""
    feed = Element("feed", xmlns=_ATOM)
    _add(feed, "id", f"urn:uuid:{uuid.uuid5(_NAMES, settings.url or settings.name)}")
    _add(feed, "title", f"{settings.name}: releases")
    _add(feed, "updated", max(entry.updated for entry in entries))
    SubElement(feed, "link", rel="alternate", href=f"{base}releases.html")
    if base:
        SubElement(feed, "link", rel="self", href=f"{base}{FEED}")
    _add(SubElement(feed, "author"), "name", settings.name)
    for entry in entries:
        made = SubElement(feed, "entry")
        _add(made, "id", f"urn:uuid:{uuid.uuid5(_NAMES, entry.key)}")
        _add(made, "title", entry.title)
        _add(made, "updated", entry.updated)
        SubElement(made, "link", rel="alternate", href=f"{base}{entry.page}")
        _add(made, "summary", entry.summary)
    indent(feed)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(feed, encoding="unicode")}\n'.encode()


def _add(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = drawn(text)
