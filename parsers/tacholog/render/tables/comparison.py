"""The page on which readers compare series of their choice: the data for its script, and static tables for readers without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacholog.compare.policy import MIN_RUNS
from tacholog.render.html import NOTHING, Html, data_block, join, tag
from tacholog.render.links import Links, ScriptLinks
from tacholog.render.marks import UsedMarks, mark_notes, mark_of
from tacholog.render.table import count_of
from tacholog.render.tables.rankings import group_table, link_to_each_run
from tacholog.schema.metrics import METRICS
from tacholog.view.comparison import (
    METRICS_SHOWN,
    USES,
    OfferedSeries,
    SeriesComparison,
    campaign_words,
    comparison,
    metric_words,
    other_conditions,
    use_of,
    version_of,
)
from tacholog.view.names import BASIS_WORDS
from tacholog.view.numerals import NOT_STATED, bound_signs, size, steps_of
from tacholog.view.page_index import PageIndex
from tacholog.view.ranking_groups import Group, SystemSeries, common_conditions, groups, ordered, sizes_of
from tacholog.view.refusals import PUBLISHED_AGAIN
from tacholog.view.series import Cell
from tacholog.view.views import View

_MOST_COLUMNS = 10
_MOST_ROWS, _MOST_CELLS = 10, 450  # for one static table, and for all of them together; a cell has about six HTML elements


def compare(view: View, pages: PageIndex, links: Links, anchor: str) -> Html:
    """Return the element for the choices of the reader, the data of the script, and static tables of comparable series."""
    compared = comparison(view, pages)
    if not compared.series:
        return tag("p", "There is nothing to compare.", class_="tl-null")
    targets = ScriptLinks()
    data = _data(compared, links, targets) | {"hosts": {name: host.name for name, host in view.hosts.items()}}
    chooser = tag("div", class_="tl-choose", id=anchor)
    static = _static_tables([offered.system_series for offered in compared.series], links, anchor)
    return join([chooser, targets.html(), data_block(data, "tl-compare"), static])


def _data(compared: SeriesComparison, links: Links, targets: ScriptLinks) -> dict[str, Any]:
    """The data contain all verdicts and words, so that the script computes none."""
    entries = [_entry(offered, links, targets) for offered in compared.series]
    cells = [cell for offered in compared.series for each in offered.cells.values() for cell in each]
    used = dict.fromkeys(mark for _, cell in cells for mark in cell.marks)
    return {
        "metrics": [
            _metric(metric, statistic, label, compared) for metric, statistic, label in METRICS_SHOWN if f"{metric}.{statistic}" in compared.verdicts
        ],
        "series": entries,
        "marks": {name: [mark_of(name).sign, mark_of(name).title] for name in used},
        "bounds": bound_signs(),
        "bases": BASIS_WORDS,
        "labels": [name for name, _ in compared.series[0].system_series.labels],
        "sizes": {payload: size(payload) for payload in sorted({payload for payload, _ in cells})},
        "tinted_from": MIN_RUNS,
        "uses": USES,
        "again": PUBLISHED_AGAIN,
    }


def _metric(metric: str, statistic: str, label: str, compared: SeriesComparison) -> dict[str, object]:
    name = f"{metric}.{statistic}"
    return {
        "id": name,
        "metric": metric,
        "words": metric_words(metric, label),
        "steps": steps_of(METRICS[metric].unit),
        "better": METRICS[metric].better,
        "verdicts": [[verdicts.value_indices, verdicts.reasons] for verdicts in compared.verdicts[name]],
        "repeats": {index: others for index, others in enumerate(compared.repeats[name]) if others},
    }


def _entry(offered: OfferedSeries, links: Links, targets: ScriptLinks) -> dict[str, Any]:
    member = offered.system_series
    key = dict(member.series.key)
    each = link_to_each_run(member)
    return {
        "id": member.id,
        "system": member.system,
        "transport": member.transport,
        "label": member.series.label,
        "published": member.series.published,
        "version": version_of(member),
        "system_version": key["system_version"],
        "campaign": campaign_words(member),
        "each": each.partition("#")[2] if each else None,
        "host": key["host"],
        "basis": key["basis"],
        "labels": [NOT_STATED if value is None else value for _, value in member.labels],
        "conditions": dict(other_conditions(key)),
        "cells": {name: [_number_items(payload, cell, name, links, targets) for payload, cell in cells] for name, cells in offered.cells.items()},
        "absent": {name: reasons for name in offered.cells if (reasons := offered.absent(*name.split(".", 1)))},
        "page": targets.number(f"doc:{member.document}" if member.document else None),
        "newest": offered.is_newest,
        "main": offered.is_main,
    }


def _number_items(payload: int, cell: Cell, name: str, links: Links, targets: ScriptLinks) -> list[object]:
    """The last two items are the two groups of runs, if there are any, and the use (`use_of`)."""
    repeated = len(cell.results) > 1
    return [
        payload,
        cell.value,
        cell.low if repeated else None,
        cell.high if repeated else None,
        cell.run_count,
        cell.result.bound,
        targets.position(links, cell.result),
        list(cell.marks),
        [[group.value, group.runs, targets.position(links, group.result)] for group in cell.groups],
        use_of(cell, name.partition(".")[0]),
    ]


def _static_tables(everything: Sequence[SystemSeries], links: Links, anchor: str) -> Html:
    used_marks: UsedMarks = {}
    tables, left = list[Html](), _MOST_CELLS
    ranked_groups = groups(everything)
    for group, members in ranked_groups.items():
        sizes = sizes_of(group, members, _MOST_COLUMNS)
        rows = min(len(members), _MOST_ROWS, left // len(sizes))
        if rows:
            table = group_table(group, ordered(group, members, sizes), sizes, links, anchor, used_marks, rows)
            more = _note_on_omissions(len(members) - rows, "series") if rows < len(members) else NOTHING
            tables.append(join([_caption(group, members), table, more]))
            left -= rows * len(sizes)
    intro = (
        f"Each table: one machine, one definition. Yellow: best, or its range overlaps with that of the best (at least {MIN_RUNS} runs). "
        "With JavaScript, you can choose series here, and see their ratios."
    )
    more = _note_on_omissions(len(ranked_groups) - len(tables), "tables") if len(tables) < len(ranked_groups) else NOTHING
    return tag("div", tag("p", intro, class_="tl-note"), *tables, more, mark_notes(used_marks, anchor), class_="tl-static")


def _caption(group: Group, members: Sequence[SystemSeries]) -> Html:
    common = common_conditions(members)
    words = f" on {group.host}, {group.test}, load {group.load} ({group.definition}){f'. Same for all: {common}' if common else ''}."
    return tag("p", tag("strong", group.words_of(members)), words, class_="tl-ranked")


def _note_on_omissions(count: int, what: str) -> Html:
    return tag("p", count_of(count), f" more {what} are shown only with JavaScript. The pages of the transports have all numbers.", class_="tl-note")
