"""The table that a page opens with: a row for each message size, and for each series the one or two numbers that matter most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tacholog.compare.policy import MIN_RUNS
from tacholog.render.figures.svg import swatch
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.marks import mark_notes, shared_marks_note
from tacholog.render.tables.columns import heading_of
from tacholog.render.tables.side_by_side import not_comparable
from tacholog.render.tables.tables import CellWriter, Links, Marks, column_decimals, marks_of_cells, scroller
from tacholog.schema.metrics import METRICS
from tacholog.view.headlines import headline_statistic
from tacholog.view.numerals import Unit, unit_shown
from tacholog.view.series import LOGICAL, Cell, Series

_MOST_COLUMNS = 8  # with more of them, each series has one
_RATES = (("goodput", "mean"), ("message_rate", "mean"))
_OF_KEYS = ("keyed", "instances", "options", "run")  # what series that differ only in their keys do not share; the options set them
_SUSTAINED = ("sustained_rate", "lower-bound")
_ONE_RUN = "One run of each series: whether a difference between two series is more than noise cannot be tested."
_FEW_RUNS = f"Fewer than {MIN_RUNS} runs of each series: too few to test whether a difference between two series is more than noise."


class _Shown(NamedTuple):
    """A column: a number of a series."""

    series: Series
    metric: str
    statistic: str
    heading: str
    unit: Unit
    cells: Mapping[int | None, Cell]

    @property
    def pair(self) -> tuple[str, str]:
        """The metric and the statistic."""
        return self.metric, self.statistic


def sizes_table(series: Sequence[Series], links: Links, anchor: str) -> Html:
    """Return the table, what its marks mean, which series do not compare, and whether there are enough runs to tell series apart."""
    columns = _columns(series)
    if not columns:
        return NOTHING
    shared = marks_of_cells(cell for column in columns for cell in column.cells.values())
    seen = dict.fromkeys(shared, False)
    write = CellWriter(links, anchor, Marks(seen, shared), None)
    places = [column_decimals(column.cells.values(), column.unit) for column in columns]
    sizes = sorted({at for column in columns for at in column.cells}, key=lambda at: -1 if at is None else at)
    rows = []
    for at in sizes:
        values = [
            write.cell(column.cells.get(at), column.unit, place, each=links.to_each_run(column.series), absent=column.series.absent(*column.pair, at))
            for column, place in zip(columns, places, strict=True)
        ]
        words = next(column.cells[at] for column in columns if at in column.cells).size_words
        rows.append(tag("tr", tag("th", words, scope="row", data_v=at), *values))
    several = len({column.series.slot for column in columns}) > 1
    heads = [_head(column, several=several) for column in columns]
    table = tag("table", tag("thead", tag("tr", tag("th", "size", scope="col"), *heads)), tag("tbody", *rows), class_="tl-table tl-beside")
    label = f"{series[0].results[0].test.capitalize()} by message size"
    shown = list({column.series.slot: column.series for column in columns}.values())
    compared = join([_sure(shown), not_comparable(shown, columns[0].metric)]) if several else NOTHING
    return join([shared_marks_note(shared, anchor), scroller(label, table), compared, mark_notes(seen, anchor)])


def _columns(series: Sequence[Series]) -> list[_Shown]:
    found = [(member, pairs) for member in _keyed_beside_unkeyed(series) if (pairs := _pairs(member))]
    most = 1 if sum(len(pairs) for _, pairs in found) > _MOST_COLUMNS else None
    return [
        _Shown(member, metric, statistic, heading_of(metric, statistic), unit_shown(METRICS[metric].unit), member.cells(metric, statistic))
        for member, pairs in found
        for metric, statistic in pairs[:most]
    ]


def _keyed_beside_unkeyed(series: Sequence[Series]) -> list[Series]:
    """Return the series so that those which differ only in their keys stand beside each other, and else in their order."""
    if len({dict(one.key)["keyed"] for one in series}) == 1:
        return list(series)
    places: dict[tuple[object, ...], int] = {}
    for one in series:
        places.setdefault(_without_keys(one), len(places))
    return sorted(series, key=lambda one: places[_without_keys(one)])


def _without_keys(series: Series) -> tuple[object, ...]:
    return tuple(part for part in series.key if part[0] not in _OF_KEYS)


def _pairs(series: Series) -> list[tuple[str, str]]:
    """Return what is shown of a series: the median and the 99th percentile, or what stands for them; rates; the highest rate that keeps a goal."""
    present = series.statistics()
    statistic = headline_statistic(series, "latency")
    if statistic is not None:
        further = "range-high" if statistic == "range-low" else "p99" if ("latency", "p99") in present else "max"
        return [("latency", name) for name in dict.fromkeys((statistic, further)) if ("latency", name) in present]
    if _SUSTAINED in present:
        return [_SUSTAINED]
    return [pair for pair in _RATES if pair in present and not (pair[0] == "goodput" and series.has_mark(LOGICAL))]


def _head(column: _Shown, *, several: bool) -> Html:
    unit = tag("span", column.unit.sign, class_="tl-unit")
    if not several:
        return tag("th", column.heading, unit, scope="col")
    name = tag("div", swatch(column.series.slot, hollow=column.series.published), column.series.label)
    return tag("th", name, column.heading, unit, scope="col")


def _sure(shown: Sequence[Series]) -> Html:
    """Return whether the runs are enough to tell series apart; nothing if they are."""
    most = max(len(member.runs) for member in shown)
    words = _ONE_RUN if most == 1 else _FEW_RUNS if most < MIN_RUNS else ""
    return tag("p", words, class_="tl-note") if words else NOTHING
