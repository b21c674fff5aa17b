"""The table of a group of series that may be ranked: a row a series, a column a size, the best of each size highlighted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.marks import Seen, shared_marks_note
from tacholog.render.table import Cell, Column, head, scroller
from tacholog.render.tables.tables import CellWriter, Links, Number, ResultLine, badge, marks_of_cells, numbers_anchor, results_table
from tacholog.schema.metrics import METRICS
from tacholog.view.names import with_system
from tacholog.view.numerals import size, unit_shown
from tacholog.view.page_index import PagePart
from tacholog.view.ranking_groups import Group, SystemSeries, best_of, column_of, runs_of_all, runs_words
from tacholog.view.series import Cell as SeriesCell
from tacholog.view.series import labels_among


def link_to_each_run(one: SystemSeries) -> str | None:
    """Return the link to the numbers of each run of a series, if it has a page and was repeated."""
    return f"doc:{one.document}#{_table_id(one.part, one)}-each" if one.part and one.series.repeated else None


def _table_id(part: PagePart, one: SystemSeries) -> str:
    """Return the id of the table with all numbers of a series on its page."""
    return f"{numbers_anchor(one.series.results[0].test, part.selection, part.number)}-{one.slot}"


def group_table(
    group: Group, members: Sequence[SystemSeries], sizes: Sequence[int], links: Links, anchor: str, seen: Seen, most: int | None = None
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

    def below(one: SystemSeries, cell: SeriesCell) -> Html:
        return NOTHING if alike else _runs(one, cell, links)

    labels = labels_among([(one.system, one.series) for one in members])
    lines = []
    for index, (one, label, found) in islice(enumerate(zip(members, labels, cells, strict=True)), most):
        numbers = [
            Number(found[at], each=link_to_each_run(one), best=index in best[at], below=below(one, found[at]))
            if at in found
            else Number(None, one.series.absent(group.metric, group.statistic, at))
            for at in sizes
        ]
        lines.append(ResultLine(_name(one, label, links, several=several, mixed=mixed), numbers))
    heads = [Column("transport", class_="tl-text"), *(Column(size(at), unit.sign) for at in sizes)]
    label = f"{group.words_of(members)} on {group.host}, {group['test']}, load {group.load}, {group['definition']}"
    table = results_table(label, heads, [unit] * len(sizes), lines, CellWriter(links, anchor, seen, shared), "tl-table tl-rows")
    return join([shared_marks_note(shared, anchor), scroller(table)])


def _runs(one: SystemSeries, cell: SeriesCell, links: Links) -> Html:
    """Return the number of runs, linked to the numbers of each."""
    series, text = one.series, runs_words(one, cell)
    if not text:
        return NOTHING
    if one.part is None or links.logs is None:
        return tag("span", text, class_="tl-runs")
    place = f"{_table_id(one.part, one)}{'-each' if series.repeated else ''}"
    return tag("span", tag("a", text, href=f"doc:{one.document}#{place}", title="The numbers of each run"), class_="tl-runs")


def _name(one: SystemSeries, label: str, links: Links, *, several: bool, mixed: bool) -> Cell:
    text = with_system(one.system, one.transport) if several else one.transport
    named = tag("a", text, href=f"doc:{one.document}") if one.document and links.logs is not None else tag("strong", text)
    shown = tag("span", f" {label} ", class_="tl-muted") if label else NOTHING
    return head(join([named, shown, badge(published=one.series.published) if mixed else ""]), "tl-text")
