"""The table of releases: the runs of each release, and the changes from the previous release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from tacholog.compare.result import Comparison
from tacholog.render.diff.drawings import swatch
from tacholog.render.diff.page import anchor_of
from tacholog.render.diff.summary import APART, apart_words, buttons, moved_most
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.links import Links
from tacholog.render.table import null, plain_table
from tacholog.render.tables.logs import raw_name
from tacholog.render.tables.results import badge
from tacholog.runs.labels import CONTROL, labels_of
from tacholog.runs.manifest import RUN_FILE
from tacholog.view.history import Compare, neighbours, releases_of
from tacholog.view.names import build_words
from tacholog.view.numerals import NOT_STATED, grouped
from tacholog.view.results import RunRow
from tacholog.view.views import View, transport_of

_MOST_RUNS = 200  # the number of listed runs of a release
Pages = Mapping[tuple[str, str, str], str]  # the page of each comparison: (system, old release, new release)
_NO_PAGES: Pages = {}


class Release(msgspec.Struct, frozen=True):
    """The runs of one release of a system. All runs without a release are one `Release` with empty names."""

    system: str
    name: str
    runs: tuple[RunRow, ...]


def releases_table(view: View, links: Links, compare: Compare | None = None, pages: Pages = _NO_PAGES) -> Html:
    """Return a table with a row for each release of each system, the newest first. Runs without a release are counted below the table.

    Args:
        view: the runs.
        links: the addresses of the logs.
        compare: compares two releases of a system; without it, the table shows no changes.
        pages: the pages of these comparisons.
    """
    before = {(system, new): old for system, old, new in neighbours(view.runs.values())}
    heads = ["release", "measured", "machines", "runs"] + (["since the release before", "what moved most"] if compare else [])
    rows = []
    all_releases = releases(view)
    for release in all_releases:
        if not release.name:
            continue
        old = before.get((release.system, release.name))
        row = [_name(release), _days(release.runs), _listed(run.host for run in release.runs if run.host) or null(), _runs(release, view, links)]
        if compare and old is None:
            row += [tag("span", "first release here", class_="tl-null"), ""]
        elif compare and old is not None:
            report = compare(release.system, old, release.name)
            pair = (release.system, old, release.name)
            row += [_verdict_counts(report, pages.get(pair)), _largest_changes(report, pages.get(pair), anchor_of(*pair))]
        rows.append(row)
    table = plain_table("Releases", heads, rows) if rows else NOTHING
    return join([table, *(_runs_without_release(release, view, links) for release in all_releases if not release.name)])


def _runs_without_release(release: Release, view: View, links: Links) -> Html:
    systems = _listed(run.system or NOT_STATED for run in release.runs)
    line = tag("p", f"Runs without a release, of these systems: {systems}.", class_="tl-note stat-label")
    return join([line, _runs(release, view, links)])


def releases(view: View) -> list[Release]:
    """Return the releases of each system, the newest first. Systems with own runs come first, because readers look for them."""
    runs_of: dict[tuple[str, str], list[RunRow]] = {}
    for run in view.runs.values():
        runs_of.setdefault((run.system or "" if run.release else "", run.release or ""), []).append(run)
    order = {(system, name): index for system, names in releases_of(view.runs.values()).items() for index, name in enumerate(names)}
    own_systems = {system for (system, _), runs in runs_of.items() if not all(run.published for run in runs)}

    def rank(which: tuple[str, str]) -> tuple[object, ...]:
        system, name = which
        return not name, system not in own_systems, system.lower(), system, -order.get(which, 0)

    return [Release(*which, tuple(runs_of[which])) for which in sorted(runs_of, key=rank)]


def _name(release: Release) -> Html:
    kinds = sorted({run.published for run in release.runs})
    # The name of a release may already contain the system, as in published documents.
    system = tag("span", release.system, class_="tl-of") if release.system.lower() not in release.name.lower() else NOTHING
    return join([release.name, system, *(badge(published=published) for published in kinds)], " ")


def _verdict_counts(comparison: Comparison, page: str | None) -> Html:
    title = f"{comparison.old.name} \u2192 {comparison.new.name}"
    link = tag("a", title, href=f"doc:{page}") if page else title
    counts = buttons(comparison)
    items = [tag("li", swatch(button.anchor), tag("b", button.number), f" {button.words.lower()}", class_=button.style) for button in counts]
    not_compared = apart_words(comparison)
    if not_compared:
        items.append(tag("li", f"{sum(comparison.counts[verdict] for verdict in APART)} do not compare" if counts else f"{not_compared}."))
    counted = tag("ul", *items, class_="counts stat-count") if items else NOTHING
    return tag("div", tag("div", link, class_="stat-label"), counted, class_="tl-diff tl-wraps")


def _largest_changes(comparison: Comparison, page: str | None, anchor: str) -> Html:
    changes = moved_most(comparison)
    if not changes:
        is_compared = comparison.counts["unreplicated_same"] or any(row.p_adjusted is not None for row in comparison.rows)
        return tag("span", "no change above the threshold" if is_compared else "", class_="tl-null")
    names = (tag("a", change.name, href=f"doc:{page}#{anchor}-{change.verdict}") if page else change.name for change in changes)
    return join(tag("div", name, f": {change.words}", class_="tl-wraps tl-moved stat-evidence") for name, change in zip(names, changes, strict=True))


def _transports(runs: Iterable[RunRow], view: View) -> set[str]:
    runs = list(runs)
    names = {result.conditions.transport for run in runs for result in view.by_run.get(run.run, ())} | {transport_of(run) for run in runs}
    return {transport for transport in names if transport}


def _days(runs: Iterable[RunRow]) -> str | Html:
    days = sorted({run.start_time[:10] for run in runs if run.start_time})
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else null()


def _runs(release: Release, view: View, links: Links) -> Html:
    runs = release.runs
    if links.logs is None:
        return tag("span", str(len(runs)), data_v=len(runs), class_="stat-count")
    measured, controls = ([run for run in runs if (CONTROL in labels_of(run.labels)) is kind] for kind in (False, True))
    facts = (
        *((name, _systems(group)) for name, group in (("Measured", measured), ("Controls, which no release changes", controls)) if group),
        ("Transports", _listed(_transports(runs, view)) or NOT_STATED),
        ("Builds", _listed(build_words(run.build) for run in runs if run.build) or NOT_STATED),
        ("Numbers", grouped(sum(len(view.by_run.get(run.run, ())) for run in runs))),
    )
    about = [tag("div", f"{name}: {words}", class_="tl-wraps stat-label") for name, words in facts]
    run_links = [tag("div", tag("a", run.run, href=f"root:{raw_name(run.run, RUN_FILE)}", title="The run's manifest")) for run in runs[:_MOST_RUNS]]
    if len(runs) > _MOST_RUNS:
        left = tag("span", grouped(len(runs) - _MOST_RUNS), class_="stat-count")
        run_links.append(tag("div", "and ", left, " more, which the files of the release on the page of downloads name"))
    summary = tag("summary", f"{len(runs)} run{'s' if len(runs) != 1 else ''}", class_="stat-count")
    return tag("details", summary, *about, *run_links, class_="tl-each", data_v=len(runs))


def _systems(runs: Iterable[RunRow]) -> str:
    return _listed(f"{run.system or NOT_STATED} {run.system_version or ''}".strip() for run in runs)


def _listed(words: Iterable[str]) -> str:
    # The word itself is a second sort key, because otherwise the order of `UDP` and `udp` in a set would be random.
    return ", ".join(sorted(set(words), key=lambda word: (word.lower(), word)))
