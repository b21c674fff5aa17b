"""Which transport has the best numbers: the rankings of each machine, the table of one ranked group, and the overview of all systems and transports.

A ranking has a table for each group of comparable series: a row for each series, a column for each size, with the best of each size highlighted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from urllib.parse import urlencode

from tacholog.render.evidence import remarks
from tacholog.render.html import NOTHING, Html, esc, folded, join, tag
from tacholog.render.links import Links
from tacholog.render.marks import UsedMarks, mark_notes, shared_marks_note
from tacholog.render.table import TableCell, TableColumn, count_of, head, plain_table, scroller
from tacholog.render.tables.hosts import host_anchor
from tacholog.render.tables.results import CellWriter, ResultLine, ResultNumber, badge, linked_number, marks_of_cells, numbers_anchor, results_table
from tacholog.runs.labels import label_name
from tacholog.runs.manifest import Host
from tacholog.schema.metrics import METRICS
from tacholog.view.names import build_words, joined, with_system, words
from tacholog.view.numerals import NOT_STATED, size, unit_shown
from tacholog.view.page_index import PageIndex, PagePart
from tacholog.view.ranking_groups import (
    Group,
    SystemSeries,
    best_of,
    column_of,
    common_conditions,
    headline,
    headline_statistic,
    no_best_words,
    runs_of_all,
    runs_words,
    standing,
    system_series,
)
from tacholog.view.rankings import RankedGroup, Unranked, build_of, newest_release, rankings_of
from tacholog.view.remarks import caveats
from tacholog.view.results import RunRow
from tacholog.view.series import LOGICAL, LOSS, REFERENCE, Cell, Series, labels_among
from tacholog.view.views import View

_HOSTS, _CHOOSER = "hosts", "compare"  # documents of our own site
_OPEN = (2, 1, 1, 1)  # tables of the first machine, of the second and so on; all others are folded
_ONE_TRANSPORT = "Only one transport was measured: there is nothing to rank it against. These are its numbers."
_NOT_ALIKE = "Nothing can be ranked: no two transports were measured on the same machine, in the same way and in the same campaign."


def rankings(view: View, pages: PageIndex, links: Links, anchor: str, documents: Collection[str] = ()) -> Html:
    """Return a table for each machine and each number that more than one series of it can be ranked by; of a single transport, its numbers.

    Args:
        view: what to show.
        pages: which page shows what.
        links: where the logs are.
        anchor: starts every id.
        documents: which of the pages that are linked to (machines, compare) there are.
    """
    found = rankings_of(view, pages)
    seen: UsedMarks = {}
    shown = [] if found.hosts else [tag("p", _ONE_TRANSPORT if found.alone else _NOT_ALIKE, class_="tl-null")]
    for place, host in enumerate(found.hosts or found.alone):
        tables = [_group(ranked, links, anchor, seen, documents) for ranked in host.tables]
        are_open = _OPEN[place] if place < len(_OPEN) else 0
        tables[are_open:] = [folded(_title(ranked), table) for ranked, table in zip(host.tables[are_open:], tables[are_open:], strict=True)]
        head = machine_heading(host.host, view.hosts.get(host.host), host.published, documents, host.runs())
        shown.append(tag("section", head, remarks(host.runs()), *tables, class_="tl-glance"))
    return join([*shown, unranked_list(found.unranked), mark_notes(seen, anchor)])


def unranked_list(found: Sequence[Unranked]) -> Html:
    """Return a list of the systems and transports that no table shows, by the reason; nothing where all are shown."""
    if not found:
        return NOTHING
    items = [tag("li", f"{one.names}: {one.reason}.") for one in found]
    return tag("section", tag("p", tag("strong", "Not ranked")), tag("ul", *items), class_="tl-unlisted")


def machine_heading(name: str, host: Host | None, published: Collection[bool], documents: Collection[str], runs: Iterable[RunRow] = ()) -> Html:
    """Return the heading of a machine: its name, whether figures are own or published ones, and what a reader must know of it.

    Args:
        name: the id of the machine.
        host: the machine; ``None`` if nobody describes it.
        published: whether figures are published ones: one or both.
        documents: which pages there are.
        runs: the runs that are shown of it.
    """
    known = host.name if host else name
    words = tag("a", known, href=f"doc:{_HOSTS}#{host_anchor(name)}") if host and _HOSTS in documents else esc(known)
    also = tag("code", name) if known != name else NOTHING
    caveat = caveats(host, runs)
    about = tag("span", caveat, class_="tl-caveat") if caveat else NOTHING
    return tag("h2", join([words, also, *(badge(published=kind) for kind in sorted(published)), about], " "), class_="tl-machine")


def _group(ranked: RankedGroup, links: Links, anchor: str, seen: UsedMarks, documents: Collection[str]) -> Html:
    """Return the table of a group, with what holds for all of it above and where to go on from it below."""
    table = group_table(ranked.group, ranked.members, ranked.sizes, links, anchor, seen)
    return join([_caption(ranked), table, _remark(ranked), _more(ranked, documents)])


def _title(ranked: RankedGroup) -> Html:
    """Return the heading of a table that is folded."""
    count = tag("span", f"{len(ranked.members)} series", class_="tl-muted stat-label")
    return tag("h3", ranked.group.words_of(ranked.members), " ", count)


def _caption(ranked: RankedGroup) -> Html:
    systems = list(dict.fromkeys(one.system for one in ranked.members))
    of = f" of {systems[0]}" if len(systems) == 1 else ""
    words = f"{of}: {METRICS[ranked.group.metric].better} is better. Load {ranked.group.load}, definition {ranked.group.definition}."
    if counted := runs_of_all(ranked.group, ranked.members, ranked.sizes):
        two = any(ranked.group.cells(one)[at].groups for one in ranked.members for at in ranked.sizes if at in ranked.group.cells(one))
        words += f" Each number is the median of {counted}{', or of one of their two groups' if two else ''}."
    return tag("p", tag("strong", ranked.group.words_of(ranked.members)), words, _campaign(ranked), class_="tl-ranked")


def _campaign(ranked: RankedGroup) -> str:
    """Return what all runs share so that they can be ranked: the campaign, and for each system one build."""
    of_build: dict[str, set[str]] = {}
    for one in ranked.members:
        if build := build_of(one):
            of_build.setdefault(build_words(str(build)), set()).add(one.system)
    whole = len(of_build) == 1 and len(next(iter(of_build.values()))) > 1  # a campaign with one program over several libraries
    built = "; ".join(f"{'all' if whole else ', '.join(sorted(systems))} built from {build}" for build, systems in sorted(of_build.items()))
    campaign = ranked.group["campaign"]
    named = f"campaign {campaign}" if campaign else ""
    together = ", ".join(filter(None, (named, built)))
    common = common_conditions(ranked.members)
    return "".join((f" {together[0].upper()}{together[1:]}." if together else "", f" In common: {common}." if common else ""))


def _remark(ranked: RankedGroup) -> Html:
    """Return why no best is highlighted, if so, and which sizes the table leaves out. A series alone is not ranked, so it needs no such reason."""
    no_best = no_best_words(ranked.group, ranked.members, ranked.sizes) if ranked.count > 1 else ""
    left_out = f"Sizes that are not in the table, because fewer series have them: {ranked.left_out}." if ranked.left_out else ""
    notes = " ".join(filter(None, (no_best, left_out)))
    return tag("p", notes, class_="tl-note") if notes else NOTHING


def _more(ranked: RankedGroup, documents: Collection[str]) -> Html:
    shown = len(ranked.members)
    left_out = f"The best {shown} of {ranked.count} series are shown. " if ranked.count > shown else ""
    if _CHOOSER not in documents:
        return tag("p", left_out, class_="tl-note") if left_out else NOTHING
    basis = ranked.group["basis"]
    metric = f"{ranked.group.metric}.{ranked.group.statistic}" + (f"@{basis}" if basis else "")
    chosen = {"metric": metric, "host": ranked.group.host} | {name: value or NOT_STATED for name, value in ranked.members[0].labels}
    link = tag("a", "Choose sizes and a baseline", href=f"doc:{_CHOOSER}?{urlencode(chosen)}")
    return tag("p", left_out, link, ".", class_="tl-note")


def link_to_each_run(one: SystemSeries) -> str | None:
    """Return the link to the numbers of each run of a series, if it has a page and was repeated."""
    return f"doc:{one.document}#{_table_id(one.part, one)}-each" if one.part and one.series.repeated else None


def _table_id(part: PagePart, one: SystemSeries) -> str:
    """Return the id of the table with all numbers of a series on its page."""
    return f"{numbers_anchor(one.series.results[0].test, part.selection, part.number)}-{one.slot}"


def group_table(
    group: Group, members: Sequence[SystemSeries], sizes: Sequence[int], links: Links, anchor: str, seen: UsedMarks, most: int | None = None
) -> Html:
    """Return the table of a group: a row a series, a column a size, the best of each column set off. A series alone is the best of nothing.

    Marks on every number stand above it. The table has at most ``most`` rows. What is best is still the best of all members.
    """
    unit = unit_shown(METRICS[group.metric].unit)
    cells = [group.cells(one) for one in members]
    best = {at: best_of(column_of(cells, at)) if len(members) > 1 else set() for at in sizes}
    several = len({one.system for one in members}) > 1
    mixed = len({one.series.published for one in members}) > 1
    shared = marks_of_cells(found[at] for found in cells for at in sizes if at in found)
    alike = runs_of_all(group, members, sizes)

    def below(one: SystemSeries, cell: Cell) -> Html:
        return NOTHING if alike else _runs_below(one, cell, links)

    labels = labels_among([(one.system, one.series) for one in members])
    lines = []
    for index, (one, label, found) in islice(enumerate(zip(members, labels, cells, strict=True)), most):
        numbers = [
            ResultNumber(found[at], each=link_to_each_run(one), best=index in best[at], below=below(one, found[at]))
            if at in found
            else ResultNumber(None, one.series.absent(group.metric, group.statistic, at))
            for at in sizes
        ]
        lines.append(ResultLine(_series_head(one, label, links, several=several, mixed=mixed), numbers))
    heads = [TableColumn("transport", class_="tl-text"), *(TableColumn(size(at), unit.sign) for at in sizes)]
    label = f"{group.words_of(members)} on {group.host}, {group['test']}, load {group.load}, {group['definition']}"
    table = results_table(label, heads, [unit] * len(sizes), lines, CellWriter(links, anchor, seen, shared), "tl-table tl-rows")
    return join([shared_marks_note(shared, anchor), scroller(table)])


def _runs_below(one: SystemSeries, cell: Cell, links: Links) -> Html:
    """Return the number of runs, linked to the numbers of each."""
    series, text = one.series, runs_words(one, cell)
    if not text:
        return NOTHING
    if one.part is None or links.logs is None:
        return tag("span", text, class_="tl-runs")
    place = f"{_table_id(one.part, one)}{'-each' if series.repeated else ''}"
    return tag("span", tag("a", text, href=f"doc:{one.document}#{place}", title="The numbers of each run"), class_="tl-runs")


def _series_head(one: SystemSeries, label: str, links: Links, *, several: bool, mixed: bool) -> TableCell:
    text = with_system(one.system, one.transport) if several else one.transport
    named = tag("a", text, href=f"doc:{one.document}") if one.document and links.logs is not None else tag("strong", text)
    shown = tag("span", f" {label} ", class_="tl-muted") if label else NOTHING
    return head(join([named, shown, badge(published=one.series.published) if mixed else ""]), "tl-text")


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
    details = _latency_details(series, metric, headline_statistic(series, metric) or "") if whole else ", more than 1\u202f% lost at every size"
    known = [cell for cell in (whole or cells).values() if cell.value is not None]
    return [(standing(cell).value, cell, ", nothing arrived" if not whole and cell.value == 0 else details) for cell in known]


def _latency_details(series: Series, metric: str, statistic: str) -> str:
    """Return the statistic and the basis of a latency, so that nobody compares a round trip with half of one, or a mean with a median."""
    if metric != "latency":
        return ""
    basis = dict(series.key).get("basis")
    parts = [_STATISTIC_WORDS.get(statistic, statistic), words("basis", basis) if basis else "basis not stated"]
    return "".join(f", {part}" for part in [*parts, *(["of a reference"] if series.has_mark(REFERENCE) else [])])
