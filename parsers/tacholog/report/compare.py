"""Everything that can be compared, with what must be equal for a ratio to mean something; and the same as tables for readers without scripts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tacholog.records import METRICS
from tacholog.report.figures import LOGICAL
from tacholog.report.marks import mark_notes, mark_of
from tacholog.report.markup import Html, data_block, join, tag
from tacholog.report.numerals import NOT_STATED, size, unit_shown
from tacholog.report.series import Series, title, words
from tacholog.report.tables import CellWriter, Links, Marks, badge, column_decimals, scroller
from tacholog.report.views import Selection, View

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
_MOST_COLUMNS = 10


class Compared(msgspec.Struct, frozen=True):
    """One series of one system over one transport."""

    system: str
    transport: str
    series: Series
    document: str | None = None

    @property
    def id(self) -> str:
        """A name for addresses, made from the conditions: it lasts as long as they do."""
        return hashlib.sha256(repr((self.system, self.series.facts[0].test, self.series.key)).encode()).hexdigest()[:8]

    @property
    def name(self) -> str:
        """What it is called among all others."""
        return f"{self.system}, {self.transport}: {self.series.label}"


def compared(view: View, pages: Mapping[tuple[str, str], str]) -> list[Compared]:
    """Return every series of a view. ``pages`` maps systems and transports to their documents."""
    pairs = sorted({(fact.run.system or NOT_STATED, fact.conditions.transport or NOT_STATED) for fact in view.summaries()})
    return [
        Compared(system, transport, series, pages.get((system, transport)))
        for system, transport in pairs
        for part in (view.only(Selection(system=system, transport=transport)),)
        for test in dict.fromkeys(fact.test for fact in part.summaries())
        for series in part.only(Selection(test=test)).series()
    ]


def compare(view: View, pages: Mapping[tuple[str, str], str], links: Links, anchor: str) -> Html:
    """Return the place where a script lets a reader choose, its data, and static tables of what may stand side by side."""
    everything = compared(view, pages)
    targets = _Targets()
    entries = [entry for one in everything if (entry := _entry(one, links, targets))]
    if not entries:
        return tag("p", "There is nothing to compare.", class_="tl-null")
    used = dict.fromkeys(mark for entry in entries for cells in entry["cells"].values() for cell in cells for mark in cell[7])
    data = {
        "metrics": [_metric(*one) for one in METRICS_SHOWN if any(f"{one[0]}.{one[1]}" in entry["cells"] for entry in entries)],
        "series": entries,
        "marks": {name: [mark_of(name).sign, mark_of(name).title] for name in used},
        "hosts": {name: host.name for name, host in view.hosts.items()},
    }
    shown = tag("div", class_="tl-choose", id=anchor)
    return join(
        [shown, tag("div", *targets.links(), hidden=True, class_="tl-targets"), data_block(data, "tl-compare"), _static(everything, links, anchor)]
    )


class _Targets:
    """The links that the script needs: as elements, so that the builder resolves them like all others."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def number(self, link: str | None) -> int | None:
        """Return the number of a link without its anchor."""
        return None if link is None else self._places.setdefault(link.partition("#")[0], len(self._places))

    def links(self) -> Iterator[Html]:
        """Yield an element a link, in the order of numbers."""
        for link in self._places:
            yield tag("a", href=link, tabindex=-1)


def _metric(metric: str, statistic: str, said: str) -> dict[str, object]:
    known = METRICS[metric]
    return {
        "id": f"{metric}.{statistic}",
        "metric": metric,
        "words": ", ".join(filter(None, (known.words, said))),
        "unit": known.unit,
        "better": known.better,
    }


def _entry(one: Compared, links: Links, targets: _Targets) -> dict[str, Any] | None:
    cells = {f"{metric}.{statistic}": rows for metric, statistic, _ in METRICS_SHOWN if (rows := list(_rows(one, metric, statistic, links, targets)))}
    if not cells:
        return None
    key = dict(one.series.key)
    said = {title(name): words(name, key[name]) for name in key if name not in _SAID_ELSEWHERE and key[name] is not None}
    facts = {"id": one.id, "system": one.system, "transport": one.transport, "label": one.series.label, "published": one.series.published}
    facts |= {"test": one.series.facts[0].test, "logical": one.series.has_mark(LOGICAL), **{name: key[name] for name in _GATE}}
    return {**facts, "conditions": said, "cells": cells, "page": targets.number(f"doc:{one.document}" if one.document else None)}


def _rows(one: Compared, metric: str, statistic: str, links: Links, targets: _Targets) -> Iterator[list[object]]:
    """Yield size, value, lowest and highest of repeated runs, runs, bound, where it stands (link and line), and marks."""
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
        ]


def _static(everything: Sequence[Compared], links: Links, anchor: str) -> Html:
    """Return a table for each group of series that may be compared: same machine, same definition."""
    groups: dict[tuple[str, ...], list[Compared]] = {}
    for one in everything:
        if key := _comparable(one):
            groups.setdefault(key, []).append(one)
    seen: dict[str, None] = {}
    tables = [_group_table(key, group, links, CellWriter(links, anchor, Marks(seen, ()), None)) for key, group in groups.items() if len(group) > 1]
    intro = "What may stand side by side: measured on one machine, by one definition. With scripts, this page lets you choose and shows ratios."
    return tag("div", tag("p", intro), *tables, mark_notes(seen, anchor), class_="tl-static")


def _comparable(one: Compared) -> tuple[str, ...] | None:
    """Return what must be equal for two series to be compared; nothing where it is not known, or where there is nothing to show."""
    key = dict(one.series.key)
    known = [key["host"], key["definition"], key["load_mode"] or NOT_STATED]
    for metric, statistic in (("latency", "p50"), ("latency", "mean"), ("goodput", "mean")):
        if not one.series.cells(metric, statistic) or (metric == "goodput" and one.series.has_mark(LOGICAL)):
            continue
        found = [*known, *([key["basis"]] if metric == "latency" else [])]
        return None if None in found else (metric, statistic, one.series.facts[0].test, *map(str, found))
    return None


def _group_table(key: tuple[str, ...], group: Sequence[Compared], links: Links, write: CellWriter) -> Html:
    metric, statistic, test, host, definition, load, *basis = key
    unit = unit_shown(METRICS[metric].unit)
    cells = [one.series.cells(metric, statistic) for one in group]
    sizes = _spread(sorted({at for found in cells for at in found if at is not None}))
    places = {at: column_decimals([found[at] for found in cells if at in found], unit) for at in sizes}
    rows = []
    for one, found in zip(group, cells, strict=True):
        values = [write.cell(found[at], unit, places[at]) if at in found else tag("td", "not measured", class_="tl-null") for at in sizes]
        rows.append(tag("tr", tag("th", _linked(one, links), " ", badge(published=one.series.published), scope="row", class_="tl-text"), *values))
    said = ", ".join(
        filter(None, (METRICS[metric].words, {"p50": "median"}.get(statistic, ""), *(words("basis", name) for name in basis), unit.sign))
    )
    head = tag("tr", tag("th", "series", scope="col", class_="tl-text"), *(tag("th", size(at), scope="col") for at in sizes))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="tl-table tl-rows")
    caption = tag("p", tag("strong", said), f" on {host}, {test}, load {load} ({definition})", class_="tl-caption")
    return join([caption, scroller(f"{said} on {host}, {test}, load {load}, {definition}", table)])


def _linked(one: Compared, links: Links) -> Html:
    return tag("a", one.name, href=f"doc:{one.document}") if one.document and links.logs is not None else join([one.name])


def _spread(sizes: Sequence[int]) -> list[int]:
    if len(sizes) <= _MOST_COLUMNS:
        return list(sizes)
    last = len(sizes) - 1
    return [sizes[round(index * last / (_MOST_COLUMNS - 1))] for index in range(_MOST_COLUMNS)]
