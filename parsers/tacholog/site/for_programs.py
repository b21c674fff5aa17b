"""The files of a site for programs: newest results, badges, Atom feeds, and how to cite the site.

``results/latest.json`` contains the newest release of each system in a small and stable form, for dashboards. The feeds list comparisons of releases,
and the steps and drifts of all histories, the newest first. ``CITATION.cff`` and a Schema.org Dataset in JSON-LD describe the site.

Source:
    RFC 4287, The Atom Syndication Format; https://github.com/citation-file-format/citation-file-format, version 1.2.0; https://schema.org/Dataset.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import msgspec

from tacholog.compare.requirements.file import RequirementFile
from tacholog.compare.requirements.judge import judge
from tacholog.compare.row_values import RowValue, row_values
from tacholog.render.diff.summary import conclusion, headline
from tacholog.render.requirements import badges
from tacholog.render.tables.history import change_time, change_title, change_words
from tacholog.runs.moments import in_utc
from tacholog.site.data import SiteData, releases_of_site
from tacholog.site.downloads import ALL
from tacholog.site.settings import SiteSettings
from tacholog.store.frames import Dataset
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
from tacholog.view.names import row_name
from tacholog.view.page_index import BADGES, RESULTS
from tacholog.view.requirements import newest
from tacholog.view.results import RunRow
from tacholog.view.views import Selection, View
from tacholog.visible import drawn

LATEST = f"{RESULTS}/latest.json"
CITATION, DESCRIPTION = "CITATION.cff", "dataset.jsonld"
_FILES = ((ALL, "application/vnd.apache.parquet"), (LATEST, "application/json"))
RELEASES_FEED, CHANGES_FEED = "releases.atom", "changes.atom"
_ATOM = "http://www.w3.org/2005/Atom"
# The feeds have at most this many entries. The first limit is low, because each entry needs the comparison of two releases.
_COMPARISONS, _CHANGES = 10, 50
_Moments = Mapping[tuple[str, str], str]  # The key is a system and a release, the value is the start of the last run of this release.
_NAMES = uuid.uuid5(uuid.NAMESPACE_URL, "https://tacholog.invalid/feed")


class LatestRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row: the name, and the median over the runs with a 95 % confidence interval, in the schema's unit.

    Unknown values are left out: there is no ``low`` and no ``high`` if there are too few runs for an interval. ``marks`` are names of quality marks
    (`tacholog.schema.marks`), such as ``undersampled``; the field is left out if there are none.
    """

    name: str
    system: str | None = None
    release: str | None = None
    transport: str | None = None
    payload_bytes: int | None = None
    metric: str
    statistic: str
    unit: str
    better: str | None = None
    value: float
    low: float | None = None
    high: float | None = None
    runs: int
    host: str | None = None
    marks: tuple[str, ...] = ()


class LatestRequirement(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement: its name, its limit in words, its verdict (failed, missing, undecided, passed), and the path of its badge."""

    name: str
    limit: str
    verdict: str
    badge: str


class Latest(msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """The content of ``results/latest.json``.

    Later versions may add fields. If a version changes or removes a field, the number in ``schema`` changes.
    """

    schema_: Literal["latest/1"] = "latest/1"
    generated_by: str
    rows: tuple[LatestRow, ...]
    requirements: tuple[LatestRequirement, ...]


def latest_files(data: Dataset, file: RequirementFile | None) -> dict[str, bytes]:
    """Return ``results/latest.json``, and a badge for each requirement. The keys are the paths of the files in the site."""
    chosen = newest(data)
    files: dict[str, bytes] = {}
    requirements: list[LatestRequirement] = []
    if file is not None and not chosen.runs.empty:
        others = {than for required in file.requirements if (than := required.requirement.than)}
        report = judge(newest(data, others) if others else chosen, file, releases_of_site(data))
        made = badges(report)
        files = {f"{BADGES}/{name}.svg": svg.encode() for name, svg in made.items()}
        named = list(made)[1:]  # left out: the first badge, which stands for all requirements together
        requirements = [
            LatestRequirement(name=drawn(result.name), limit=result.stated, verdict=result.verdict, badge=f"{BADGES}/{name}.svg")
            for result, name in zip(report.results, named, strict=True)
        ]
    latest = Latest(generated_by=f"tacholog {version('tacholog')}", rows=tuple(map(_row, row_values(chosen))), requirements=tuple(requirements))
    return {LATEST: _one_row_a_line(latest), **files}


def _one_row_a_line(latest: Latest) -> bytes:
    """Return the file as JSON text in which each row is on a line of its own.

    Therefore a change of one row changes only one line of the file. The file is also half as long as with indentation.
    """
    encoder = msgspec.json.Encoder()
    lists = [b",\n".join(map(encoder.encode, rows)) for rows in (latest.rows, latest.requirements)]
    head = (encoder.encode(latest.schema_), encoder.encode(latest.generated_by))
    return b'{"schema": %s, "generated_by": %s,\n"rows": [\n%s\n],\n"requirements": [\n%s\n]}\n' % (*head, *lists)


def _row(row: RowValue) -> LatestRow:
    return LatestRow(
        name=drawn(row_name(row.key, with_system=True).replace("\u00a0", " ").replace("\u202f", " ")),
        system=row.key.system,
        release=row.release,
        transport=row.key.transport,
        payload_bytes=row.key.payload_bytes,
        metric=row.key.metric,
        statistic=row.key.statistic,
        unit=row.unit,
        better=row.better,
        value=row.value,
        low=row.low,
        high=row.high,
        runs=row.runs,
        host=row.host,
        marks=row.marks,
    )


def citation_files(runs: Iterable[RunRow], settings: SiteSettings) -> dict[str, str]:
    """Return the citation file and the description for search engines. The keys are the names of the files."""
    there = list(runs)
    described = json.dumps(description(there, settings), ensure_ascii=False, indent=1)
    return {CITATION: _citation(_last_day(there), _systems(there), settings), DESCRIPTION: f"{described}\n"}


def _last_day(runs: Iterable[RunRow]) -> str | None:
    return max((run.start_time[:10] for run in runs if run.start_time and _is_day(run.start_time[:10])), default=None)


def _systems(runs: Iterable[RunRow]) -> list[str]:
    return sorted({run.system for run in runs if run.system})


def _is_day(text: str) -> bool:
    from datetime import date

    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _citation(released: str | None, systems: list[str], settings: SiteSettings) -> str:
    entries: list[tuple[str, object]] = [
        ("cff-version", "1.2.0"),
        ("message", "If you use these measurements, please cite them as below. Each number has an id of its own: see the page about the figures."),
        ("type", "dataset"),
        ("title", drawn(settings.title)),
        ("authors", [{"name": drawn(settings.name)}]),
        *([("date-released", released)] if released else []),
        *([("url", drawn(settings.url))] if settings.url else []),
        ("keywords", [drawn(word) for word in ("publish/subscribe", "latency", "throughput", "benchmark", *systems)]),
    ]
    # JSON strings are also YAML strings, so a name cannot change the structure of the YAML.
    return "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in entries)


def description(runs: Iterable[RunRow], settings: SiteSettings) -> dict[str, object]:
    """Return a description of the dataset for search engines, in the words of schema.org.

    The first page also contains this description, because search engines follow no link to a file with the description.
    """
    there = list(runs)
    released, systems = _last_day(there), _systems(there)
    base = f"{drawn(settings.url).rstrip('/')}/" if settings.url else ""
    what = ", ".join(systems) or "publish/subscribe systems"
    dataset: dict[str, object] = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": drawn(settings.title),
        "description": drawn(settings.intro or f"Latency and throughput of {what}, each number with its log."),
        "keywords": ["publish/subscribe", "latency", "throughput", "benchmark", *map(drawn, systems)],
        "creator": {"@type": "Organization", "name": drawn(settings.name)},
        "isAccessibleForFree": True,
        "variableMeasured": ["latency", "goodput", "message rate", "loss"],
        "distribution": [{"@type": "DataDownload", "contentUrl": f"{base}{name}", "encodingFormat": kind} for name, kind in _FILES],
    }
    if base:
        dataset["url"] = base
    if released:
        dataset["dateModified"] = released
    return dataset


class FeedEntry(NamedTuple):
    """One entry of a feed: the key of its id, its title, its time, its page, and a summary."""

    key: str
    title: str
    updated: str
    page: str
    summary: str


class Feed(NamedTuple):
    """A feed: its file, its title, the page with the same content, the time of the newest release, and its entries."""

    file: str
    title: str
    page: str
    updated: str
    entries: tuple[FeedEntry, ...]


def feeds(view: View, compare: Compare, name: str) -> list[Feed]:
    """Return the feed of releases and the feed of changes (steps and drifts). A release whose runs state no start time has no entry.

    A feed without entries is also written, so that readers can already subscribe to it.

    Args:
        view: the view of everything that the site shows.
        compare: a function that compares two releases of a system.
        name: the name of the site.
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


def newest_change(all_feeds: Sequence[Feed]) -> dict[str, str] | None:
    """Return the newest step or drift of all histories: its description, and the document of the page that shows it; ``None`` if there is none."""
    entries = [entry for feed in all_feeds if feed.file == CHANGES_FEED for entry in feed.entries]
    return {"title": entries[0].title, "document": entries[0].page.removesuffix(".html")} if entries else None


def _release_entries(runs: Sequence[RunRow], moments: _Moments, compare: Compare) -> Iterator[FeedEntry]:
    documents = diff_documents(runs)
    dated = [(moment, pair) for pair in neighbours(runs) if (moment := moments.get((pair[0], pair[2])))]
    for moment, pair in sorted(dated, reverse=True)[:_COMPARISONS]:
        (system, old, new), report = pair, compare(*pair)
        yield FeedEntry(_key(*pair), f"{system} {new}: {headline(report)}", moment, f"{documents[pair]}.html", f"{old} → {new}. {conclusion(report)}")


def _change_entries(view: View, moments: _Moments, compare: Compare) -> list[FeedEntry]:
    entries: dict[str, FeedEntry] = {}
    for metric, statistic in metrics_in(view):
        page = f"{history_document(metric, statistic)}.html"
        for system, history in histories_in(view, metric, statistic, compare, Selection()).items():
            for change in history.changes:
                if moment := moments.get((system, history.releases[change.release])):
                    entry = _change_entry(system, history, change, (moment, page))
                    # Two campaigns may show the same change. Only the clearest one gets an entry; it comes first.
                    entries.setdefault(entry.key, entry)
    return sorted(entries.values(), key=lambda entry: entry.updated, reverse=True)[:_CHANGES]


def _change_entry(system: str, history: SystemHistory, change: HistoryChange, moment_and_page: tuple[str, str]) -> FeedEntry:
    """Return the entry of a change in the feed of changes.

    The id of the entry does not contain the size of the change. So the id stays the same if later releases lead to another size.
    """
    moment, page = moment_and_page
    before, release = history.releases[change.before], history.releases[change.release]
    row = {name: value for name, value in msgspec.to_builtins(change.line.key).items() if name != "system"}
    key = _key(system, change.kind, before, release, *(f"{name}={value}" for name, value in sorted(row.items())))
    return FeedEntry(key, f"{system} {change_time(change, history.releases)}: {change_title(change)}", moment, page, change_words(change))


def _key(*words: str) -> str:
    # Different lists of words have different keys.
    return msgspec.json.encode(words).decode()


def _moments(runs: Sequence[RunRow]) -> _Moments:
    """Return times as dates of RFC 3339. A release without start times is left out."""
    newest_moments: dict[tuple[str, str], datetime] = {}
    for run in runs:
        if run.system and run.release and run.start_time and (when := in_utc(run.start_time)):
            key = run.system, run.release
            newest_moments[key] = max(newest_moments.get(key, when), when)
    return {key: when.isoformat(timespec="seconds") for key, when in newest_moments.items()}


def write_feeds(site: Path, all_feeds: Sequence[Feed], settings: SiteSettings) -> None:
    """Write the feeds into a site."""
    for feed in all_feeds:
        (site / feed.file).write_bytes(atom(feed, settings))


def atom(feed: Feed, settings: SiteSettings) -> bytes:
    """Return the text of a feed. Links are absolute if ``site.toml`` states the address of the site.

    The ids are made from the name of the site and not from its address, because they must not change if the site moves.
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


def write_for_programs(site: Path, data: SiteData, settings: SiteSettings) -> None:
    """Write all files for programs into the folder of a site."""
    files: dict[str, str | bytes] = {**latest_files(data.renamed, data.requirements), **citation_files(data.view.runs.values(), settings)}
    for name, content in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(content.encode() if isinstance(content, str) else content)
