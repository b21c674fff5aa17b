"""The transports with the best numbers: the table of one group of comparable series, and the overview of all systems and transports."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

from tacholog.compare.comparable import ACKNOWLEDGED
from tacholog.render.html import NOTHING, Html, esc, join, tag
from tacholog.render.links import Links
from tacholog.render.marks import UsedMarks, shared_marks_note
from tacholog.render.table import TableCell, TableColumn, count_of, head, plain_table, scroller
from tacholog.render.tables.hosts import host_anchor
from tacholog.render.tables.results import CellWriter, ResultLine, ResultNumber, badge, linked_number, marks_of_cells, numbers_anchor, results_table
from tacholog.runs.labels import label_name
from tacholog.runs.manifest import Host
from tacholog.schema.metrics import METRICS
from tacholog.view.names import joined, with_system, words
from tacholog.view.numerals import NOT_STATED, size, unit_shown
from tacholog.view.page_index import PageIndex, PagePart
from tacholog.view.ranking_groups import (
    Group,
    SystemSeries,
    best_of,
    column_of,
    headline,
    headline_statistic,
    runs_of_all,
    runs_words,
    standing,
    system_series,
)
from tacholog.view.rankings import Unranked, newest_release
from tacholog.view.remarks import caveats
from tacholog.view.results import RunRow
from tacholog.view.series import LOGICAL, LOSS, REFERENCE, Cell, Series, labels_among
from tacholog.view.views import View

_HOSTS = "hosts"  # the document with the machines


def unranked_list(unranked: Sequence[Unranked]) -> Html:
    """Return a list of the systems and transports that are in no table, with the reasons; nothing if all are in a table."""
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
        runs: the shown runs on this machine.
    """
    label = host.name if host else name
    words = tag("a", label, href=f"doc:{_HOSTS}#{host_anchor(name)}") if host and _HOSTS in documents else esc(label)
    also = tag("code", name) if label != name else NOTHING
    caveat = caveats(host, runs)
    about = tag("span", caveat, class_="tl-caveat") if caveat else NOTHING
    return tag("h2", join([words, also, *(badge(published=kind) for kind in sorted(published)), about], " "), class_="tl-machine")


def link_to_each_run(member: SystemSeries) -> str | None:
    """Return the link to the numbers of each run of a series; ``None`` if it has no page or was not repeated."""
    return f"doc:{member.document}#{_table_id(member.part, member)}-each" if member.part and member.series.repeated else None


def _table_id(part: PagePart, member: SystemSeries) -> str:
    return f"{numbers_anchor(member.series.results[0].test, part.selection, part.number)}-{member.slot}"


def group_table(
    group: Group, members: Sequence[SystemSeries], sizes: Sequence[int], links: Links, anchor: str, used_marks: UsedMarks, most: int | None = None
) -> Html:
    """Return the table of a group: a row for each series, a column for each size. The best of each column is highlighted, unless there is one series.

    Marks that every number has are shown above the table. The table has at most ``most`` rows. The best number is the best of all members, also of
    members without a row.
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
    """Return a table with the best numbers of each transport. If the page of a transport is divided into parts, each part has a row."""
    by_part: dict[PagePart | None, list[SystemSeries]] = {}
    for member in system_series(view, pages):
        by_part.setdefault(member.part, []).append(member)
    columns = list(dict.fromkeys(name for part in pages.parts for name, _ in part.others if name != "host"))  # the host has a column of its own
    rows = [_overview_row(view, part, columns, by_part.get(part, ()), links) for part in pages.parts]
    best = ("lowest latency, newest release", "highest rate with at most 1\u202f% lost (else marked), newest release")
    split = [label_name(name) for name in columns]
    heads = ("transport", "system", *split, "kind", *best, "runs", "numbers, all releases", "hosts")
    return plain_table("Systems and transports", heads, rows, class_="tl-systems")


def _overview_row(view: View, page_part: PagePart, columns: Sequence[str], members: Sequence[SystemSeries], links: Links) -> list[object]:
    """Return the cells of a row of the overview. The row shows a transport, its best numbers, and the counts of its runs and numbers.

    Each best number comes from the newest release with numbers of its metric. A control is used only if nothing else was measured.
    """
    part = view.only(page_part.selection)
    members = [member for member in members if not member.is_control] or members
    kinds = sorted({run.published for run in part.runs.values()})
    others = dict(page_part.others)
    return [
        tag("a", page_part.transport, href=f"doc:{page_part.document}"),  # the heading of the row contains this link
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
    """Return the lowest latency or the highest goodput of the newest release, with its size. Rates of references do not count."""
    measured = [member for member in members if _candidates(member.series, metric)]
    candidates = [(*each, member) for member in newest_release(measured) for each in _candidates(member.series, metric)]
    if not candidates:
        return tag("span", "not measured", class_="tl-null")
    # A rate with loss is used only if no series has a rate without loss. The heading of the column says so.
    candidates = [candidate for candidate in candidates if LOSS not in candidate[1].marks] or candidates
    of_references = [candidate for candidate in candidates if REFERENCE in candidate[1].marks]
    candidates = [candidate for candidate in candidates if REFERENCE not in candidate[1].marks] or candidates
    # The time until a broker acknowledged a message is no delivery time. It is used only if a system has no other latency.
    candidates = [candidate for candidate in candidates if dict(candidate[-1].series.key).get("basis") != ACKNOWLEDGED] or candidates
    value, cell, details, best = (min if metric == "latency" else max)(candidates, key=lambda candidate: candidate[0])
    released = f", {_released(dict(best.series.key)) or f'release {NOT_STATED}'}"
    row_labels = dict(best.part.others) if best.part else {}  # the row already shows these labels, so they are not repeated
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
    """Return ``5.2 (version 6.0.0)``, or only the release if its name contains the version."""
    release, version = (str(key[name]) if key[name] else "" for name in ("release", "system_version"))
    if release and version and not re.search(rf"(?<![\w.]){re.escape(version)}(?![\w.])", release):
        return f"{release} (version {version})"
    return release or version or None


def _candidates(series: Series, metric: str) -> list[tuple[float, Cell, str]]:
    """Return the numbers that may be the best, each with its value for the ranking and with the details shown next to it."""
    if metric == "goodput" and series.has_mark(LOGICAL):
        return []
    cells = headline(series, metric)
    # A rate with lost messages is used only if there is no rate without loss.
    lossless = {payload: cell for payload, cell in cells.items() if LOSS not in cell.marks}
    details = _latency_details(series, metric, headline_statistic(series, metric) or "") if lossless else ", more than 1\u202f% lost at every size"
    with_value = [cell for cell in (lossless or cells).values() if cell.value is not None]
    return [(standing(cell).value, cell, ", nothing arrived" if not lossless and cell.value == 0 else details) for cell in with_value]


def _latency_details(series: Series, metric: str, statistic: str) -> str:
    """Return the statistic and the basis of a latency in words; an empty text for other metrics.

    Without these words, readers may compare a round trip with half a round trip, or a mean with a median.
    """
    if metric != "latency":
        return ""
    basis = dict(series.key).get("basis")
    parts = [_STATISTIC_WORDS.get(statistic, statistic), words("basis", basis) if basis else "basis not stated"]
    return "".join(f", {part}" for part in [*parts, *(["of a reference"] if series.has_mark(REFERENCE) else [])])
