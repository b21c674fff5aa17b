"""The Atom feeds of a site: comparisons of releases, and the steps and drifts of all histories, the newest first.

Source:
    RFC 4287, The Atom Syndication Format.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import msgspec

from tacholog.render.diff.summary import conclusion, headline
from tacholog.render.tables.history import change_time, change_title, change_words
from tacholog.runs.moments import in_utc
from tacholog.site.settings import SiteSettings
from tacholog.view.history import (
    Compare,
    HistoryChange,
    SystemHistory,
    diff_documents,
    histories_in,
    history_document,
    metrics_in,
    neighbours,
)
from tacholog.view.results import RunRow
from tacholog.view.views import Selection, View
from tacholog.visible import drawn

RELEASES_FEED, CHANGES_FEED = "releases.atom", "changes.atom"
_ATOM = "http://www.w3.org/2005/Atom"
_COMPARISONS, _CHANGES = 10, 50  # entries; the first kind costs a comparison each
_Moments = Mapping[tuple[str, str], str]  # by system and release
_NAMES = uuid.uuid5(uuid.NAMESPACE_URL, "https://tacholog.invalid/feed")


class FeedEntry(NamedTuple):
    """One entry: what makes its id, its title, when it happened, the page, and a summary."""

    key: str
    title: str
    updated: str
    page: str
    summary: str


class Feed(NamedTuple):
    """A feed: its file, its title, the page that shows the same, when the newest release was measured, and its entries."""

    file: str
    title: str
    page: str
    updated: str
    entries: tuple[FeedEntry, ...]


def feeds(view: View, compare: Compare, name: str) -> list[Feed]:
    """Return both feeds. A release whose runs state no time has no place in a feed.

    A feed without entries is there too: who subscribes wants to hear of what is still to come.

    Args:
        view: all that the site shows.
        compare: compares two releases of a system.
        name: what the site is called.
    """
    runs = list(view.runs.values())
    moments = _moments(runs)
    measured = [moment for system, _, new in neighbours(runs) if (moment := moments.get((system, new)))]
    if not measured:
        return []
    releases, changes = tuple(_release_entries(runs, moments, compare)), tuple(_change_entries(view, moments, compare))
    return [
        Feed(RELEASES_FEED, f"{name}: releases", "releases.html", max(measured), releases),
        Feed(CHANGES_FEED, f"{name}: steps and drifts", "releases.html", max(measured), changes),
    ]


def newest_change(found: Sequence[Feed]) -> dict[str, str] | None:
    """Return the newest step or drift of all histories: its words, and the document of the page that shows it; nothing if there is none."""
    entries = [entry for feed in found if feed.file == CHANGES_FEED for entry in feed.entries]
    return {"title": entries[0].title, "document": entries[0].page.removesuffix(".html")} if entries else None


def _release_entries(runs: Sequence[RunRow], moments: _Moments, compare: Compare) -> Iterator[FeedEntry]:
    """Yield an entry for each of the newest comparisons."""
    documents = diff_documents(runs)
    dated = [(moment, pair) for pair in neighbours(runs) if (moment := moments.get((pair[0], pair[2])))]
    for moment, pair in sorted(dated, reverse=True)[:_COMPARISONS]:
        (system, old, new), report = pair, compare(*pair)
        yield FeedEntry(_key(*pair), f"{system} {new}: {headline(report)}", moment, f"{documents[pair]}.html", f"{old} → {new}. {conclusion(report)}")


def _change_entries(view: View, moments: _Moments, compare: Compare) -> list[FeedEntry]:
    """Return an entry for each of the newest steps and drifts in the histories of all metrics."""
    found: dict[str, FeedEntry] = {}
    for metric, statistic in metrics_in(view):
        page = f"{history_document(metric, statistic)}.html"
        for system, history in histories_in(view, metric, statistic, compare, Selection()).items():
            for change in history.changes:
                if moment := moments.get((system, history.releases[change.release])):
                    entry = _change_entry(system, history, change, (moment, page))
                    found.setdefault(entry.key, entry)  # two campaigns may show the same change: the clearest stands for both
    return sorted(found.values(), key=lambda entry: entry.updated, reverse=True)[:_CHANGES]


def _change_entry(system: str, history: SystemHistory, change: HistoryChange, at: tuple[str, str]) -> FeedEntry:
    """Return the entry of a change. Its id is made from what changed and when, so it lasts while later releases make its size more exact."""
    moment, page = at
    before, release = history.releases[change.before], history.releases[change.release]
    row = {name: value for name, value in msgspec.to_builtins(change.line.key).items() if name != "system"}
    key = _key(system, change.kind, before, release, *(f"{name}={value}" for name, value in sorted(row.items())))
    return FeedEntry(key, f"{system} {change_time(change, history.releases)}: {change_title(change)}", moment, page, change_words(change))


def _key(*words: str) -> str:
    """Return the words as one text, which no other words give."""
    return msgspec.json.encode(words).decode()


def _moments(runs: Sequence[RunRow]) -> _Moments:
    """When the last run of each release began, as a date of RFC 3339; nothing of a release of which no run states it."""
    found: dict[tuple[str, str], datetime] = {}
    for run in runs:
        if run.system and run.release and run.start_time and (when := in_utc(run.start_time)):
            of = run.system, run.release
            found[of] = max(found.get(of, when), when)
    return {of: when.isoformat(timespec="seconds") for of, when in found.items()}


def write_feeds(site: Path, found: Sequence[Feed], settings: SiteSettings) -> None:
    """Write the feeds into a site."""
    for feed in found:
        (site / feed.file).write_bytes(atom(feed, settings))


def atom(feed: Feed, settings: SiteSettings) -> bytes:
    """Return the text of a feed. Links are absolute if ``site.toml`` states the address of the site.

    The ids are made from the name of the site and not from its address: they must not change where the site moves.
    """
    base = f"{drawn(settings.url).rstrip('/')}/" if settings.url else ""
    of_feed = uuid.uuid5(_NAMES, _key(settings.name, feed.file))
    root = Element("feed", xmlns=_ATOM)
    _add(root, "id", f"urn:uuid:{of_feed}")
    _add(root, "title", feed.title)
    _add(root, "updated", feed.updated)
    SubElement(root, "link", rel="alternate", href=f"{base}{feed.page}")
    if base:
        SubElement(root, "link", rel="self", href=f"{base}{feed.file}")
    _add(SubElement(root, "author"), "name", settings.name)
    for entry in feed.entries:
        made = SubElement(root, "entry")
        _add(made, "id", f"urn:uuid:{uuid.uuid5(of_feed, entry.key)}")
        _add(made, "title", entry.title)
        _add(made, "updated", entry.updated)
        SubElement(made, "link", rel="alternate", href=f"{base}{entry.page}")
        _add(made, "summary", entry.summary)
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'.encode()


def _add(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = drawn(text)
