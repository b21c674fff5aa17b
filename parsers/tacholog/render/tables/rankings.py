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

_HOSTS, _CHOOSER = "hosts", "compare"  # pages of the site
_OPEN = (2, 1, 1, 1)  # unfolded tables of the first machine, of the second, and so on
_ONE_TRANSPORT = "Only one transport was measured: there is nothing to rank it against. These are its numbers."
_NOT_ALIKE = "Nothing can be ranked: no two transports were measured on the same machine, in the same way and in the same campaign."


def rankings(view: View, pages: PageIndex, links: Links, anchor: str, documents: Collection[str] = ()) -> Html:
    """Return the rankings of each machine: a table for each group of comparable series. A single transport has its numbers without a ranking.

    Args:
        view: the data to show.
        pages: the index of the pages.
        links: the addresses of the logs.
        anchor: the start of every id.
        documents: the pages that exist, of those that may be linked (machines, compare).
    """
    ranked = rankings_of(view, pages)
    used_marks: UsedMarks = {}
    sections = [] if ranked.hosts else [tag("p", _ONE_TRANSPORT if ranked.alone else _NOT_ALIKE, class_="tl-null")]
    for index, host in enumerate(ranked.hosts or ranked.alone):
        tables = [_group(ranked, links, anchor, used_marks, documents) for ranked in host.tables]
        are_open = _OPEN[index] if index < len(_OPEN) else 0
        tables[are_open:] = [folded(_title(ranked), table) for ranked, table in zip(host.tables[are_open:], tables[are_open:], strict=True)]
        head = machine_heading(host.host, view.hosts.get(host.host), host.published, documents, host.runs())
        sections.append(tag("section", head, remarks(host.runs()), *tables, class_="tl-glance"))
    return join([*sections, unranked_list(ranked.unranked), mark_notes(used_marks, anchor)])


def unranked_list(unranked: Sequence[Unranked]) -> Html:
    """Return a list of the systems and transports that are in no table, with the reason; nothing if all are in a table."""
    if not unranked:
        return NOTHING
    items = [tag("li", f"{group.names}: {group.reason}.") for group in unranked]
    return tag("section", tag("p", tag("strong", "Not ranked")), tag("ul", *items), class_="tl-unlisted")


def machine_heading(name: str, host: Host | None, published: Collection[bool], documents: Collection[str], runs: Iterable[RunRow] = ()) -> Html:
    """Return the heading of a machine: its name, a badge for own or published numbers, and warnings.

    Args:
        name: the id of the machine.
        host: the machine; ``None`` if there is no host file.
        published: the kinds of numbers: published, own, or both.
        documents: the pages that exist.
        runs: the runs on this machine that are shown.
    """
    label = host.name if host else name
    words = tag("a", label, href=f"doc:{_HOSTS}#{host_anchor(name)}") if host and _HOSTS in documents else esc(label)
    also = tag("code", name) if label != name else NOTHING
    caveat = caveats(host, runs)
    about = tag("span", caveat, class_="tl-caveat") if caveat else NOTHING
    return tag("h2", join([words, also, *(badge(published=kind) for kind in sorted(published)), about], " "), class_="tl-machine")


def _group(ranked: RankedGroup, links: Links, anchor: str, used_marks: UsedMarks, documents: Collection[str]) -> Html:
    """Return the table of a group, with its common conditions above and a link to the page that compares below."""
    table = group_table(ranked.group, ranked.members, ranked.sizes, links, anchor, used_marks)
    return join([_caption(ranked), table, _remark(ranked), _more(ranked, documents)])


def _title(ranked: RankedGroup) -> Html:
    """Return the heading of a folded table."""
    count = tag("span", f"{len(ranked.members)} series", class_="tl-muted stat-label")
    return tag("h3", ranked.group.words_of(ranked.members), " ", count)


def _caption(ranked: RankedGroup) -> Html:
    systems = list(dict.fromkeys(member.system for member in ranked.members))
    system_words = f" of {systems[0]}" if len(systems) == 1 else ""
    words = f"{system_words}: {METRICS[ranked.group.metric].better} is better. Load {ranked.group.load}, definition {ranked.group.definition}."
    if counted := runs_of_all(ranked.group, ranked.members, ranked.sizes):
        two = any(cell.groups for member in ranked.members for payload, cell in ranked.group.cells(member).items() if payload in ranked.sizes)
        words += f" Each number is the median of {counted}{', or of one of their two groups' if two else ''}."
    return tag("p", tag("strong", ranked.group.words_of(ranked.members)), words, _campaign(ranked), class_="tl-ranked")


def _campaign(ranked: RankedGroup) -> str:
    """Return the conditions that all ranked runs share: the campaign, the build of each system, and others."""
    of_build: dict[str, set[str]] = {}
    for member in ranked.members:
        if build := build_of(member):
            of_build.setdefault(build_words(str(build)), set()).add(member.system)
    is_one_program = len(of_build) == 1 and len(next(iter(of_build.values()))) > 1  # one program measured several libraries
    built = "; ".join(f"{'all' if is_one_program else ', '.join(sorted(systems))} built from {build}" for build, systems in sorted(of_build.items()))
    campaign = ranked.group["campaign"]
    named = f"campaign {campaign}" if campaign else ""
    together = ", ".join(filter(None, (named, built)))
    common = common_conditions(ranked.members)
    return "".join((f" {together[0].upper()}{together[1:]}." if together else "", f" In common: {common}." if common else ""))


def _remark(ranked: RankedGroup) -> Html:
    """Return why no best is highlighted, and which sizes are left out. A single series is not ranked, so it needs no reason."""
    no_best = no_best_words(ranked.group, ranked.members, ranked.sizes) if ranked.count > 1 else ""
    left_out = f"Sizes that are not in the table, because fewer series have them: {ranked.left_out}." if ranked.left_out else ""
    notes = " ".join(filter(None, (no_best, left_out)))
    return tag("p", notes, class_="tl-note") if notes else NOTHING


def _more(ranked: RankedGroup, documents: Collection[str]) -> Html:
    row_count = len(ranked.members)
    left_out = f"The best {row_count} of {ranked.count} series are shown. " if ranked.count > row_count else ""
    if _CHOOSER not in documents:
        return tag("p", left_out, class_="tl-note") if left_out else NOTHING
    basis = ranked.group["basis"]
    metric = f"{ranked.group.metric}.{ranked.group.statistic}" + (f"@{basis}" if basis else "")
    chosen = {"metric": metric, "host": ranked.group.host} | {name: value or NOT_STATED for name, value in ranked.members[0].labels}
    link = tag("a", "Choose sizes and a baseline", href=f"doc:{_CHOOSER}?{urlencode(chosen)}")
    return tag("p", left_out, link, ".", class_="tl-note")


def link_to_each_run(member: SystemSeries) -> str | None:
    """Return the link to the numbers of each run of a series; ``None`` if it has no page or was not repeated."""
    return f"doc:{member.document}#{_table_id(member.part, member)}-each" if member.part and member.series.repeated else None


def _table_id(part: PagePart, member: SystemSeries) -> str:
    """Return the id of the table with all numbers of a series on its page."""
    return f"{numbers_anchor(member.series.results[0].test, part.selection, part.number)}-{member.slot}"


def group_table(
    group: Group, members: Sequence[SystemSeries], sizes: Sequence[int], links: Links, anchor: str, used_marks: UsedMarks, most: int | None = None
) -> Html:
    """Return the table of a group: a row for each series, a column for each size, the best of each column highlighted (not for a single series).

    Marks of all numbers are shown above the table. The table has at most ``most`` rows, but the best is still the best of all members.
    """
    unit = unit_shown(METRICS[group.metric].unit)
    cells = [group.cells(member) for member in members]
    best = {payload: best_of(column_of(cells, payload)) if len(members) > 1 else set() for payload in sizes}
    several = len({member.system for member in members}) > 1
    mixed = len({member.series.published for member in members}) > 1
    shared = marks_of_cells(member_cells[payload] for member_cells in cells for payload in sizes if payload in member_cells)
    alike = runs_of_all(group, members, sizes)

    def below(member: SystemSeries, cell: Cell) -> Html:
        return NOTHING if alike else _runs_below(member, cell, links)

    labels = labels_among([(member.system, member.series) for member in members])
    lines = []
    for index, (member, label, member_cells) in islice(enumerate(zip(members, labels, cells, strict=True)), most):
        numbers = [
            ResultNumber(cell, each=link_to_each_run(member), best=index in best[payload], below=below(member, cell))
            if (cell := member_cells.get(payload))
            else ResultNumber(None, member.series.absent(group.metric, group.statistic, payload))
            for payload in sizes
        ]
        lines.append(ResultLine(_series_head(member, label, links, several=several, mixed=mixed), numbers))
    heads = [TableColumn("transport", class_="tl-text"), *(TableColumn(size(payload), unit.sign) for payload in sizes)]
    label = f"{group.words_of(members)} on {group.host}, {group['test']}, load {group.load}, {group['definition']}"
    table = results_table(label, heads, [unit] * len(sizes), lines, CellWriter(links, anchor, used_marks, shared), "tl-table tl-rows")
    return join([shared_marks_note(shared, anchor), scroller(table)])


def _runs_below(member: SystemSeries, cell: Cell, links: Links) -> Html:
    """Return the number of runs, linked to the numbers of each run."""
    series, text = member.series, runs_words(member, cell)
    if not text:
        return NOTHING
    if member.part is None or links.logs is None:
        return tag("span", text, class_="tl-runs")
    target = f"{_table_id(member.part, member)}{'-each' if series.repeated else ''}"
    return tag("span", tag("a", text, href=f"doc:{member.document}#{target}", title="The numbers of each run"), class_="tl-runs")


def _series_head(member: SystemSeries, label: str, links: Links, *, several: bool, mixed: bool) -> TableCell:
    text = with_system(member.system, member.transport) if several else member.transport
    named = tag("a", text, href=f"doc:{member.document}") if member.document and links.logs is not None else tag("strong", text)
    label_html = tag("span", f" {label} ", class_="tl-muted") if label else NOTHING
    return head(join([named, label_html, badge(published=member.series.published) if mixed else ""]), "tl-text")


_STATISTIC_WORDS = {"p50": "median", "range-low": "lower end of a range", "min": "minimum"}


def overview(view: View, pages: PageIndex, links: Links) -> Html:
    """Return a table of all systems and transports with their best numbers: a row for each part of a page."""
    by_part: dict[PagePart | None, list[SystemSeries]] = {}
    for member in system_series(view, pages):
        by_part.setdefault(member.part, []).append(member)
    columns = list(dict.fromkeys(name for part in pages.parts for name, _ in part.others if name != "host"))  # the host has its own column
    rows = [_overview_row(view, part, columns, by_part.get(part, ()), links) for part in pages.parts]
    best = ("lowest latency, newest release", "highest rate with at most 1\u202f% lost (else marked), newest release")
    split = [label_name(name) for name in columns]
    heads = ("transport", "system", *split, "kind", *best, "runs", "numbers, all releases", "hosts")
    return plain_table("Systems and transports", heads, rows, class_="tl-systems")


def _overview_row(view: View, page_part: PagePart, columns: Sequence[str], members: Sequence[SystemSeries], links: Links) -> list[object]:
    """Return a row. ``members`` are all series of the part of a page. Each best number names its release: the newest one with this metric.

    Series of a control count only if nothing else was measured.
    """
    part = view.only(page_part.selection)
    members = [member for member in members if not member.is_control] or members
    kinds = sorted({run.published for run in part.runs.values()})
    others = dict(page_part.others)
    return [
        tag("a", page_part.transport, href=f"doc:{page_part.document}"),  # the heading of its row
        page_part.system,
        *(others.get(name, "") for name in columns),
        join([badge(published=published) for published in kinds], " "),
        best_number(members, "latency", "ns", links),
        best_number(members, "goodput", "bit_per_s", links),
        count_of(len(part.runs)),
        count_of(sum(map(len, part.by_run.values()))),
        ", ".join(sorted({run.host or NOT_STATED for run in part.runs.values()})),
    ]


def best_number(members: Sequence[SystemSeries], metric: str, unit: str, links: Links) -> Html:
    """Return the best number of the newest release, with its size: the lowest latency, or the highest goodput at which bytes moved."""
    measured = [member for member in members if _candidates(member.series, metric)]
    candidates = [(*each, member) for member in newest_release(measured) for each in _candidates(member.series, metric)]
    if not candidates:
        return tag("span", "not measured", class_="tl-null")
    # A rate with loss counts only if no series has a rate without it, as the head of the column says.
    candidates = [candidate for candidate in candidates if LOSS not in candidate[1].marks] or candidates
    of_references = [candidate for candidate in candidates if REFERENCE in candidate[1].marks]
    candidates = [candidate for candidate in candidates if REFERENCE not in candidate[1].marks] or candidates
    value, cell, details, best = (min if metric == "latency" else max)(candidates, key=lambda candidate: candidate[0])
    released = f", {_released(dict(best.series.key)) or f'release {NOT_STATED}'}"
    row_labels = dict(best.part.others) if best.part else {}  # shown in the row already
    labels = joined([(name, label) for name, label in best.labels if name not in row_labels])
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
    """Return the release, and the version if the name of the release does not contain it: ``5.2 (version 6.0.0)``."""
    release, version = (str(key[name]) if key[name] else "" for name in ("release", "system_version"))
    if release and version and not re.search(rf"(?<![\w.]){re.escape(version)}(?![\w.])", release):
        return f"{release} (version {version})"
    return release or version or None


def _candidates(series: Series, metric: str) -> list[tuple[float, Cell, str]]:
    """Return the numbers that may be the best, each with its value for the ranking and the details beside it."""
    if metric == "goodput" and series.has_mark(LOGICAL):
        return []
    cells = headline(series, metric)
    # A rate with lost messages counts only if there is no rate without.
    lossless = {payload: cell for payload, cell in cells.items() if LOSS not in cell.marks}
    details = _latency_details(series, metric, headline_statistic(series, metric) or "") if lossless else ", more than 1\u202f% lost at every size"
    with_value = [cell for cell in (lossless or cells).values() if cell.value is not None]
    return [(standing(cell).value, cell, ", nothing arrived" if not lossless and cell.value == 0 else details) for cell in with_value]


def _latency_details(series: Series, metric: str, statistic: str) -> str:
    """Return the statistic and the basis of a latency, so that nobody compares a round trip with half of one, or a mean with a median."""
    if metric != "latency":
        return ""
    basis = dict(series.key).get("basis")
    parts = [_STATISTIC_WORDS.get(statistic, statistic), words("basis", basis) if basis else "basis not stated"]
    return "".join(f", {part}" for part in [*parts, *(["of a reference"] if series.has_mark(REFERENCE) else [])])
