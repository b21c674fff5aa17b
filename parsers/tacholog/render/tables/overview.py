"""All systems and transports, each with its best numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.tables.plain import count_of, plain_table
from tacholog.render.tables.tables import Links, badge, linked_number
from tacholog.runs.labels import label_name
from tacholog.view.names import joined, words
from tacholog.view.numerals import NOT_STATED
from tacholog.view.page_index import PageIndex, PagePart
from tacholog.view.ranking_groups import SystemSeries, headline, headline_statistic, standing, system_series
from tacholog.view.rankings import newest_release
from tacholog.view.series import LOGICAL, LOSS, REFERENCE, Cell, Series
from tacholog.view.views import View

_STATISTIC_WORDS = {"p50": "median", "range-low": "lower end of a range", "min": "minimum"}


def overview(view: View, pages: PageIndex, links: Links) -> Html:
    """Return all systems and transports with their best numbers: a row for each part of a page."""
    found: dict[PagePart | None, list[SystemSeries]] = {}
    for member in system_series(view, pages):
        found.setdefault(member.part, []).append(member)
    columns = list(dict.fromkeys(name for part in pages.parts for name, _ in part.others if name != "host"))  # hosts have a column already
    rows = [_overview_row(view, part, columns, found.get(part, ()), links) for part in pages.parts]
    best = ("lowest latency, newest release", "highest goodput, newest release, loss up to 1\u202f% where possible")
    split = [label_name(name) for name in columns]
    heads = ("transport", "system", *split, "kind", *best, "runs", "numbers, all releases", "hosts")
    return plain_table("Systems and transports", heads, rows, class_="tl-systems")


def _overview_row(view: View, shown: PagePart, columns: Sequence[str], members: Sequence[SystemSeries], links: Links) -> list[object]:
    """``members`` are all series of the part of a page. Each best number names its release: the newest one with this metric.

    A control has the best number only where nothing else was measured.
    """
    part = view.only(shown.selection)
    members = [member for member in members if not member.is_control] or members
    kinds = sorted({run.published for run in part.runs.values()})
    others = dict(shown.others)
    return [
        tag("a", shown.transport, href=f"doc:{shown.document}"),  # the heading of its row
        shown.system,
        *(others.get(name, "") for name in columns),
        join([badge(published=published) for published in kinds], " "),
        best_number(members, "latency", "ns", links),
        best_number(members, "goodput", "bit_per_s", links),
        count_of(len(part.runs)),
        count_of(sum(map(len, part.by_run.values()))),
        ", ".join(sorted({run.host or NOT_STATED for run in part.runs.values()})),
    ]


def best_number(members: Sequence[SystemSeries], metric: str, unit: str, links: Links) -> Html:
    """Return the best number of the newest release with its size: the lowest latency, or the highest goodput for which bytes moved."""
    measured = [member for member in members if _candidates(member.series, metric)]
    found = [(*each, member) for member in newest_release(measured) for each in _candidates(member.series, metric)]
    if not found:
        return tag("span", "not measured", class_="tl-null")
    found = [candidate for candidate in found if LOSS not in candidate[1].marks] or found  # of all series, as the head of the column says
    of_references = [candidate for candidate in found if REFERENCE in candidate[1].marks]
    found = [candidate for candidate in found if REFERENCE not in candidate[1].marks] or found
    value, cell, details, best = (min if metric == "latency" else max)(found, key=lambda candidate: candidate[0])
    released = f", {_released(dict(best.series.key)) or f'release {NOT_STATED}'}"
    elsewhere = dict(best.part.others) if best.part else {}  # what its row says already
    labels = joined([(name, label) for name, label in best.labels if name not in elsewhere])
    released += f", {labels}" if labels else ""
    released += ", control" if best.is_control else ""
    by_reference = NOTHING
    if of_references and REFERENCE not in cell.marks:
        claim = min(of_references, key=lambda candidate: candidate[0])
        by_reference = join([linked_number(claim[1], unit, links), " by reference; "])
    return tag(
        "span",
        by_reference,
        linked_number(cell, unit, links),
        tag("span", f" {cell.size_words}{details}{released}", class_="tl-muted stat-label"),
        data_v=f"{value:.12g}",
    )


def _released(key: Mapping[str, object]) -> str | None:
    """Return the release that the head of a column speaks of, and the version if its name does not have it: ``5.2 (version 6.0.0)``."""
    release, version = (str(key[name]) if key[name] else "" for name in ("release", "system_version"))
    if release and version and not re.search(rf"(?<![\w.]){re.escape(version)}(?![\w.])", release):
        return f"{release} (version {version})"
    return release or version or None


def _candidates(series: Series, metric: str) -> list[tuple[float, Cell, str]]:
    """Return the numbers that may be the best, each with the value to rank it by and the details to show beside it."""
    if metric == "goodput" and series.has_mark(LOGICAL):
        return []
    cells = headline(series, metric)
    # A rate at which messages were lost counts only if there is no other.
    whole = {at: cell for at, cell in cells.items() if LOSS not in cell.marks}
    details = _details(series, metric, headline_statistic(series, metric) or "") if whole else ", more than 1\u202f% lost at every size"
    known = [cell for cell in (whole or cells).values() if cell.value is not None]
    return [(standing(cell).value, cell, ", nothing arrived" if not whole and cell.value == 0 else details) for cell in known]


def _details(series: Series, metric: str, statistic: str) -> str:
    """Return the statistic and the basis of a latency, so that nobody compares a round trip with half of one, or a mean with a median."""
    if metric != "latency":
        return ""
    basis = dict(series.key).get("basis")
    parts = [_STATISTIC_WORDS.get(statistic, statistic), words("basis", basis) if basis else "basis not stated"]
    return "".join(f", {part}" for part in [*parts, *(["of a reference"] if series.has_mark(REFERENCE) else [])])
