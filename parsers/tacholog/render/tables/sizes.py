"""Tables with a row for each message size: the one that a page opens with, and that of the most important number of every series side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tacholog.compare.comparable import is_ranked_nowhere, judge
from tacholog.compare.policy import MIN_RUNS
from tacholog.render.figures.svg import swatch
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.marks import Seen, mark_notes, shared_marks_note
from tacholog.render.table import Column, head, scroller
from tacholog.render.tables.columns import heading_of
from tacholog.render.tables.tables import CellWriter, Links, Number, ResultLine, badge, marks_of_cells, results_table
from tacholog.schema.metrics import METRICS
from tacholog.view.names import BASIS_WORDS
from tacholog.view.numerals import Unit, unit_shown
from tacholog.view.ranking_groups import RANKED_BY, conditions_of, headline_statistic
from tacholog.view.refusals import refusals
from tacholog.view.series import LOGICAL, Cell, Series

_WORDS = ("Median latency", "Mean latency", "Goodput")  # of `RANKED_BY`
_MOST_SERIES = 12  # side by side
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
    several = len({column.series.slot for column in columns}) > 1
    shown = list({column.series.slot: column.series for column in columns}.values())
    compared = join([_sure(shown), not_comparable(shown, columns[0].metric)]) if several else NOTHING
    label = f"{series[0].results[0].test.capitalize()} by message size"
    heads = [Column(join([_name(column.series) if several else NOTHING, column.heading]), column.unit.sign) for column in columns]
    return _by_size(label, columns, heads, links, anchor, compared)


def side_by_side(series: Sequence[Series], links: Links, anchor: str) -> Html:
    """Return one table with a column for each series; nothing for a single series, or for more than fit beside each other."""
    found = _headline(series)
    if found is None:
        return NOTHING
    (metric, statistic, words), shown = found
    unit = unit_shown(METRICS[metric].unit)
    columns = [_Shown(member, metric, statistic, words, unit, member.cells(metric, statistic)) for member in shown]
    heads = [Column(join([_name(member), badge(published=member.published)])) for member in shown]
    bases = {dict(member.key)["basis"] for member in shown}
    basis = BASIS_WORDS.get(str(bases.pop())) if metric == "latency" and len(bases) == 1 else None
    title = tag("p", tag("strong", ", ".join(filter(None, (words, basis, unit.sign)))), class_="tl-caption")
    return join([title, _by_size(f"{words} of every series", columns, heads, links, anchor, not_comparable(shown, metric))])


def _by_size(label: str, shown: Sequence[_Shown], heads: Sequence[Column], links: Links, anchor: str, below: Html) -> Html:
    """Return a table with a row for each size, between what all of its numbers have in common and the notes on its marks."""
    shared = marks_of_cells(cell for column in shown for cell in column.cells.values())
    seen: Seen = {}
    lines = []
    for at in sorted({at for column in shown for at in column.cells}, key=lambda at: -1 if at is None else at):
        numbers = [
            Number(column.cells.get(at), column.series.absent(column.metric, column.statistic, at), links.to_each_run(column.series))
            for column in shown
        ]
        lines.append(ResultLine(head(next(number.cell.size_words for number in numbers if number.cell), value="" if at is None else at), numbers))
    write = CellWriter(links, anchor, seen, shared)
    table = results_table(label, [Column("size"), *heads], [column.unit for column in shown], lines, write, "tl-table tl-beside")
    return join([shared_marks_note(shared, anchor), scroller(table), below, mark_notes(seen, anchor)])


def _name(series: Series) -> Html:
    return tag("div", swatch(series.slot, hollow=series.published), series.label)


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


def _sure(shown: Sequence[Series]) -> Html:
    """Return whether the runs are enough to tell series apart; nothing if they are."""
    most = max(len(member.runs) for member in shown)
    words = _ONE_RUN if most == 1 else _FEW_RUNS if most < MIN_RUNS else ""
    return tag("p", words, class_="tl-note") if words else NOTHING


def not_comparable(shown: Sequence[Series], metric: str) -> Html:
    """Return which columns are not comparable with the first one, and why; nothing if all are."""
    first, *others = shown
    stated = conditions_of(first, metric)
    by_reason: dict[str, list[str]] = {}
    for other in others:
        if found := refusals(judge(stated, conditions_of(other, metric), comparison="ratio")):
            by_reason.setdefault("; ".join(found), []).append(other.label)
    if not by_reason:
        return NOTHING
    items = [tag("li", f"{'; '.join(labels)}: {reason}") for reason, labels in by_reason.items()]
    return tag("div", tag("p", f"Not comparable with the first column ({first.label}):"), tag("ul", *items), class_="tl-note")


def _headline(series: Sequence[Series]) -> tuple[tuple[str, str, str], list[Series]] | None:
    for (metric, statistic), words in zip(RANKED_BY, _WORDS, strict=True):
        shown = [member for member in series if member.cells(metric, statistic) and not is_ranked_nowhere(conditions_of(member, metric))]
        if shown:
            return ((metric, statistic, words), shown) if 1 < len(shown) <= _MOST_SERIES else None
    return None
