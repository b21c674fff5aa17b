"""Everything that can be compared, with what must be equal for a ratio to mean something; and the same as tables for readers without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tacholog.compare.policy import MIN_RUNS
from tacholog.render.figures.figures import LOGICAL, REFERENCE
from tacholog.render.html import Html, data_block, join, tag
from tacholog.render.marks import mark_notes, mark_of, said_of_all
from tacholog.render.platforms import participant_title
from tacholog.render.tables.tables import CellWriter, Links, Marks
from tacholog.render.targets import Targets
from tacholog.schema.metrics import METRICS
from tacholog.schema.tables import title
from tacholog.view.comparable import Compared, Group, compared, group_table, groups, marks_of_all, ordered, said_of_members, sizes_of
from tacholog.view.names import words
from tacholog.view.numerals import NOT_STATED, bound_signs, steps_of
from tacholog.view.rankings import main_campaigns, of_last_releases
from tacholog.view.views import View

# What is offered, in the order of asking.
METRICS_SHOWN = (
    *(("latency", name, said) for name, said in (("p50", "median"), ("p99", "99 %"), ("p99.9", "99.9 %"), ("p99.99", "99.99 %"), ("max", "maximum"))),
    ("latency", "mean", "mean"),
    ("goodput", "mean", ""),
    ("message_rate", "mean", ""),
    ("loss", "total", ""),
)
_GATE = ("host", "basis", "definition", "load_mode")  # what must be equal before one number may be divided by another
_SAID_ELSEWHERE = (*_GATE, "published", "run", "transport")
_SAYS_VERSION = ("release", "tool_version")
_MOST_COLUMNS = 10
_PUBLISHED = "published figures"
UNTOLD = frozenset({"loss", "undersampled", "run_failed", "out_of_order", "impossible"})  # marks under which a diff gives no verdict either


def compare(view: View, pages: Mapping[tuple[str, str], str], links: Links, anchor: str) -> Html:
    """Return the place where a script lets a reader choose, its data, and static tables of what may stand side by side."""
    everything = compared(view, pages)
    targets = Targets()
    last, first = {one.id for one in of_last_releases(everything)}, main_campaigns(everything)
    entries = [entry | {"newest": one.id in last, "main": one.id in first} for one in everything if (entry := _entry(one, links, targets))]
    if not entries:
        return tag("p", "There is nothing to compare.", class_="tl-null")
    used = dict.fromkeys(mark for entry in entries for cells in entry["cells"].values() for cell in cells for mark in cell[7])
    data = {
        "metrics": [_metric(*one) for one in METRICS_SHOWN if any(f"{one[0]}.{one[1]}" in entry["cells"] for entry in entries)],
        "series": entries,
        "marks": {name: [mark_of(name).sign, mark_of(name).title] for name in used},
        "bounds": bound_signs(),
        "tinted_from": MIN_RUNS,
        "untold": sorted(UNTOLD & used.keys()),
        "hosts": {name: host.name for name, host in view.hosts.items()},
    }
    shown = tag("div", class_="tl-choose", id=anchor)
    return join([shown, targets.html(), data_block(data, "tl-compare"), _static(everything, links, anchor)])


def _metric(metric: str, statistic: str, said: str) -> dict[str, object]:
    known = METRICS[metric]
    return {
        "id": f"{metric}.{statistic}",
        "metric": metric,
        "words": ", ".join(filter(None, (known.words, said))),
        "steps": steps_of(known.unit),
        "better": known.better,
    }


def _entry(one: Compared, links: Links, targets: Targets) -> dict[str, Any] | None:
    cells = {f"{metric}.{statistic}": rows for metric, statistic, _ in METRICS_SHOWN if (rows := list(_rows(one, metric, statistic, links, targets)))}
    if not cells:
        return None
    key = dict(one.series.key)
    said = dict(_conditions(key))
    facts = {"id": one.id, "system": one.system, "transport": one.transport, "label": one.series.label, "published": one.series.published}
    facts |= {
        "version": str(key["release"] or key["system_version"] or NOT_STATED),
        "system_version": key["system_version"],
        "campaign": _campaign(one),
        "test": one.series.facts[0].test,
        "logical": one.series.has_mark(LOGICAL),
        "reference": one.series.has_mark(REFERENCE),
        "each": one.each.partition("#")[2] if one.each else None,
        **{name: key[name] for name in _GATE},
    }
    return {**facts, "conditions": said, "cells": cells, "page": targets.number(f"doc:{one.document}" if one.document else None)}


def _campaign(one: Compared) -> str:
    """Return how long each size was measured, and how often: two campaigns of one release differ in nothing else."""
    if one.series.published:
        return _PUBLISHED
    duration = words("planned_duration_s", dict(one.series.key)["planned_duration_s"])
    runs = max(cell.run_count for metric, statistic, _ in METRICS_SHOWN for cell in one.series.cells(metric, statistic).values())
    return ", ".join(filter(None, (duration, f"{runs} run{'s' if runs > 1 else ''}")))


def _conditions(key: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield what each condition is called and its value; of release, version and tool version only what the others do not say."""
    told = {key["system_version"]}
    for name in (name for name in key if name not in _SAID_ELSEWHERE and key[name] is not None):
        if name in _SAYS_VERSION and key[name] in told:
            continue
        told |= {key[name]} if name in _SAYS_VERSION else set()
        called = participant_title(key[name]) if name == "participant" else title(name)
        yield called, words(name, key[name]).removeprefix(f"{called} ")


def _rows(one: Compared, metric: str, statistic: str, links: Links, targets: Targets) -> Iterator[list[object]]:
    """Yield size, value, lowest and highest of repeated runs, runs, bound, where it stands (link and line), marks, and both groups of runs."""
    for at, cell in sorted(one.series.cells(metric, statistic).items(), key=lambda item: item[0] or 0):
        if at is None or cell.value is None or cell.sizes_high is not None:
            continue
        repeated = len(cell.facts) > 1
        place = [targets.number(links.to_line(cell.shown)), cell.shown.line]
        yield [
            at,
            cell.value,
            cell.low if repeated else None,
            cell.high if repeated else None,
            cell.run_count,
            cell.shown.bound,
            place,
            list(cell.marks),
            [[group.value, group.runs, [targets.number(links.to_line(group.fact)), group.fact.line]] for group in cell.groups],
        ]


def _static(everything: Sequence[Compared], links: Links, anchor: str) -> Html:
    """Return a table for each group of series that may be compared: same machine, same definition."""
    seen: dict[str, None] = {}
    tables = [_group(group, members, links, anchor, seen) for group, members in groups(everything).items()]
    intro = (
        "Each table holds what was measured on one machine, by one definition. The best number of each size is highlighted if it rests on "
        f"{MIN_RUNS} runs or more. If repeated runs cannot tell several apart, all of them are highlighted. "
        "With scripts, this page lets you choose and shows ratios."
    )
    return tag("div", tag("p", intro, class_="tl-note"), *tables, mark_notes(seen, anchor), class_="tl-static")


def _group(group: Group, members: Sequence[Compared], links: Links, anchor: str, seen: dict[str, None]) -> Html:
    sizes = sizes_of(group, members, _MOST_COLUMNS)
    said = marks_of_all(group, members, sizes)
    seen.update(dict.fromkeys(said))
    table = group_table(group, ordered(group, members, sizes), sizes, CellWriter(links, anchor, Marks(seen, said), None), links)
    common = said_of_members(members)
    words = f" on {group.host}, {group.test}, load {group.load} ({group.definition}){f'. In common: {common}' if common else ''}."
    return join([tag("p", tag("strong", group.words), words, class_="tl-ranked"), said_of_all(said, anchor), table])
