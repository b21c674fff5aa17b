"""The page that compares: its data for the script, and static tables for readers without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacholog.compare.policy import MIN_RUNS
from tacholog.render.html import NOTHING, Html, data_block, join, tag
from tacholog.render.links import Links, Targets
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
_MOST_ROWS, _MOST_CELLS = 10, 450  # of one table, and of all tables without scripts; a cell has some six elements


def compare(view: View, pages: PageIndex, links: Links, anchor: str) -> Html:
    """Return the place where a script lets a reader choose, its data, and static tables of what may stand side by side."""
    found = comparison(view, pages)
    if not found.series:
        return tag("p", "There is nothing to compare.", class_="tl-null")
    targets = Targets()
    data = _data(found, links, targets) | {"hosts": {name: host.name for name, host in view.hosts.items()}}
    shown = tag("div", class_="tl-choose", id=anchor)
    return join([shown, targets.html(), data_block(data, "tl-compare"), _static([one.system_series for one in found.series], links, anchor)])


def _data(found: SeriesComparison, links: Links, targets: Targets) -> dict[str, Any]:
    """Return what the script needs. Its verdicts are made here, its words too."""
    entries = [_entry(one, links, targets) for one in found.series]
    cells = [cell for one in found.series for each in one.cells.values() for cell in each]
    used = dict.fromkeys(mark for _, cell in cells for mark in cell.marks)
    return {
        "metrics": [
            _metric(metric, statistic, label, found) for metric, statistic, label in METRICS_SHOWN if f"{metric}.{statistic}" in found.verdicts
        ],
        "series": entries,
        "marks": {name: [mark_of(name).sign, mark_of(name).title] for name in used},
        "bounds": bound_signs(),
        "bases": BASIS_WORDS,
        "labels": [name for name, _ in found.series[0].system_series.labels],
        "sizes": {at: size(at) for at in sorted({at for at, _ in cells})},
        "tinted_from": MIN_RUNS,
        "uses": USES,
        "again": PUBLISHED_AGAIN,
    }


def _metric(metric: str, statistic: str, label: str, found: SeriesComparison) -> dict[str, object]:
    name = f"{metric}.{statistic}"
    return {
        "id": name,
        "metric": metric,
        "words": metric_words(metric, label),
        "steps": steps_of(METRICS[metric].unit),
        "better": METRICS[metric].better,
        "verdicts": [[verdicts.value_indices, verdicts.reasons] for verdicts in found.verdicts[name]],
        "repeats": {place: others for place, others in enumerate(found.repeats[name]) if others},
    }


def _entry(offered: OfferedSeries, links: Links, targets: Targets) -> dict[str, Any]:
    one = offered.system_series
    key = dict(one.series.key)
    each = link_to_each_run(one)
    return {
        "id": one.id,
        "system": one.system,
        "transport": one.transport,
        "label": one.series.label,
        "published": one.series.published,
        "version": version_of(one),
        "system_version": key["system_version"],
        "campaign": campaign_words(one),
        "each": each.partition("#")[2] if each else None,
        "host": key["host"],
        "basis": key["basis"],
        "labels": [NOT_STATED if value is None else value for _, value in one.labels],
        "conditions": dict(other_conditions(key)),
        "cells": {name: [_numbers(at, cell, name, links, targets) for at, cell in cells] for name, cells in offered.cells.items()},
        "absent": {name: found for name in offered.cells if (found := offered.absent(*name.split(".", 1)))},
        "page": targets.number(f"doc:{one.document}" if one.document else None),
        "newest": offered.is_newest,
        "main": offered.is_main,
    }


def _numbers(at: int, cell: Cell, name: str, links: Links, targets: Targets) -> list[object]:
    """Return size, value, lowest and highest of repeated runs, runs, bound, place (link and line), marks, both groups of runs, and the use."""
    repeated = len(cell.results) > 1
    return [
        at,
        cell.value,
        cell.low if repeated else None,
        cell.high if repeated else None,
        cell.run_count,
        cell.result.bound,
        targets.place(links, cell.result),
        list(cell.marks),
        [[group.value, group.runs, targets.place(links, group.result)] for group in cell.groups],
        use_of(cell, name.partition(".")[0]),
    ]


def _static(everything: Sequence[SystemSeries], links: Links, anchor: str) -> Html:
    """Return a table for each group of series that may be ranked: same machine, same definition. Of many, only as much as a page can hold."""
    seen: UsedMarks = {}
    tables, left = list[Html](), _MOST_CELLS
    found = groups(everything)
    for group, members in found.items():
        sizes = sizes_of(group, members, _MOST_COLUMNS)
        rows = min(len(members), _MOST_ROWS, left // len(sizes))
        if rows:
            table = group_table(group, ordered(group, members, sizes), sizes, links, anchor, seen, rows)
            more = _more(len(members) - rows, "series") if rows < len(members) else NOTHING
            tables.append(join([_caption(group, members), table, more]))
            left -= rows * len(sizes)
    intro = (
        f"Each table: one machine, one definition. Yellow: best, or its range overlaps with that of the best (at least {MIN_RUNS} runs). "
        "With JavaScript, you can choose series here, and see their ratios."
    )
    more = _more(len(found) - len(tables), "tables") if len(tables) < len(found) else NOTHING
    return tag("div", tag("p", intro, class_="tl-note"), *tables, more, mark_notes(seen, anchor), class_="tl-static")


def _caption(group: Group, members: Sequence[SystemSeries]) -> Html:
    common = common_conditions(members)
    words = f" on {group.host}, {group.test}, load {group.load} ({group.definition}){f'. In common: {common}' if common else ''}."
    return tag("p", tag("strong", group.words_of(members)), words, class_="tl-ranked")


def _more(count: int, what: str) -> Html:
    """Say what is left out of a list without scripts, and where else its numbers are."""
    return tag("p", count_of(count), f" more {what} are shown only with JavaScript. The pages of the transports have all numbers.", class_="tl-note")
