"""The table of releases."""

from __future__ import annotations

from collections.abc import Iterable

from tacholog.render.html import Html, join, tag
from tacholog.render.tables.logs import raw_name
from tacholog.render.tables.plain import null, plain_table
from tacholog.render.tables.tables import Links, badge
from tacholog.runs.manifest import RUN_FILE
from tacholog.view.names import build_words
from tacholog.view.numerals import NOT_STATED, grouped
from tacholog.view.results import RunRow
from tacholog.view.views import View, transport_of

_MOST_RUNS = 200  # of a release that are listed


def releases_table(view: View, links: Links) -> Html:
    """Return one row for each release: systems, versions, transports, machines, dates and runs. Runs without a release come last."""
    by_release: dict[str, list[RunRow]] = {}
    for run in view.runs.values():
        by_release.setdefault(run.release or "", []).append(run)
    names = sorted(by_release, key=lambda name: (not name, _latest(by_release[name]), name))
    rows = [_row(name, by_release[name], view, links) for name in names]
    counted = "numbers (with intervals)"
    heads = ("release", "kind", "systems and versions", "transports", "machines", "measured", counted, "builds", "runs")
    return plain_table("Releases", heads, rows)


def _row(name: str, runs: list[RunRow], view: View, links: Links) -> list[object]:
    kinds = sorted({run.published for run in runs})
    numbers = sum(len(view.by_run.get(run.run, ())) for run in runs)
    return [
        name or null(),
        join([badge(published=published) for published in kinds], " "),
        tag("span", _listed(f"{run.system or NOT_STATED} {run.system_version or ''}".strip() for run in runs), class_="stat-label"),
        _listed(_transports(runs, view)) or null(),
        _listed(run.host for run in runs if run.host) or null(),
        _days(runs),
        tag("span", grouped(numbers), data_v=numbers, class_="stat-count"),
        _listed(build_words(run.build) for run in runs if run.build) or null(),
        _runs(runs, links),
    ]


def _transports(runs: list[RunRow], view: View) -> set[str]:
    stated = {result.conditions.transport for run in runs for result in view.by_run.get(run.run, ())} | {transport_of(run) for run in runs}
    return {transport for transport in stated if transport}


def _days(runs: list[RunRow]) -> str | Html:
    """Return the first and the last day of the runs."""
    days = sorted({run.start_time[:10] for run in runs if run.start_time})
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else null()


def _runs(runs: list[RunRow], links: Links) -> Html:
    """Return the runs in a folded list."""
    if links.logs is None:
        return tag("span", str(len(runs)), data_v=len(runs), class_="stat-count")
    found = [tag("div", tag("a", run.run, href=f"root:{raw_name(run.run, RUN_FILE)}", title="The run's manifest")) for run in runs[:_MOST_RUNS]]
    if len(runs) > _MOST_RUNS:
        left = tag("span", grouped(len(runs) - _MOST_RUNS), class_="stat-count")
        found.append(tag("div", "and ", left, " more, which the files of the release on the page of downloads name"))
    summary = tag("summary", f"{len(runs)} run{'s' if len(runs) != 1 else ''}", class_="stat-count")
    return tag("details", summary, *found, class_="tl-each", data_v=len(runs))


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(set(words), key=str.lower))


def _latest(runs: list[RunRow]) -> str:
    return max((run.start_time or "" for run in runs), default="")
