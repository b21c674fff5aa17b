"""Tables by message size.

- `sizes_table` opens a page: a row for each size, columns for the main numbers of each series.
- `side_by_side` compares the series of a page: a row for each size, a column for each series.
- `systems_side_by_side` compares several systems of one campaign: a table for each size, a row for each transport.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tacholog.compare.comparable import is_ranked_nowhere, judge
from tacholog.compare.policy import MIN_RUNS
from tacholog.render.evidence import remarks
from tacholog.render.figures.svg import swatch
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.links import Links
from tacholog.render.marks import UsedMarks, mark_notes, shared_marks_note
from tacholog.render.table import TableCell, TableColumn, head, scroller
from tacholog.render.tables.results import CellWriter, ResultLine, ResultNumber, badge, heading_of, lost_words, marks_of_cells, results_table
from tacholog.schema.metrics import METRICS
from tacholog.view.names import BASIS_WORDS
from tacholog.view.numerals import Unit, unit_shown
from tacholog.view.numerals import size as size_words
from tacholog.view.page_index import PageIndex
from tacholog.view.ranking_groups import RANKED_BY, conditions_of, headline_statistic
from tacholog.view.refusals import refusals
from tacholog.view.series import LOGICAL, Cell, Series
from tacholog.view.side_by_side import COLUMNS, RATE, SIZES, SideBySideRow, at_size, of_session, session_of_several, side_by_side_rows, sizes_of
from tacholog.view.views import View

_WORDS = ("Median latency", "Mean latency", "Goodput")  # of `RANKED_BY`
_MOST_SERIES = 12  # side by side
_MOST_COLUMNS = 8  # with more of them, each series has one
_RATES = (("goodput", "mean"), ("message_rate", "mean"))
_OF_KEYS = ("keyed", "instances", "options", "run")  # what series that differ only in their keys do not share; the options set them
_SUSTAINED = ("sustained_rate", "lower-bound")
_ONE_RUN = "One run of each series: whether a difference between two series is more than noise cannot be tested."
_FEW_RUNS = f"Fewer than {MIN_RUNS} runs of each series: too few to test whether a difference between two series is more than noise."


class _SizeColumn(NamedTuple):
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
    heads = [TableColumn(join([_series_name(column.series) if several else NOTHING, column.heading]), column.unit.sign) for column in columns]
    return _by_size(label, columns, heads, links, anchor, compared)


def side_by_side(series: Sequence[Series], links: Links, anchor: str) -> Html:
    """Return one table with a column for each series; nothing for a single series, or for more than fit beside each other."""
    found = _headline(series)
    if found is None:
        return NOTHING
    (metric, statistic, words), shown = found
    unit = unit_shown(METRICS[metric].unit)
    columns = [_SizeColumn(member, metric, statistic, words, unit, member.cells(metric, statistic)) for member in shown]
    heads = [TableColumn(join([_series_name(member), badge(published=member.published)])) for member in shown]
    bases = {dict(member.key)["basis"] for member in shown}
    basis = BASIS_WORDS.get(str(bases.pop())) if metric == "latency" and len(bases) == 1 else None
    title = tag("p", tag("strong", ", ".join(filter(None, (words, basis, unit.sign)))), class_="tl-caption")
    return join([title, _by_size(f"{words} of every series", columns, heads, links, anchor, not_comparable(shown, metric))])


def _by_size(label: str, shown: Sequence[_SizeColumn], heads: Sequence[TableColumn], links: Links, anchor: str, below: Html) -> Html:
    """Return a table with a row for each size, between what all of its numbers have in common and the notes on its marks."""
    shared = marks_of_cells(cell for column in shown for cell in column.cells.values())
    seen: UsedMarks = {}
    lines = []
    for at in sorted({at for column in shown for at in column.cells}, key=lambda at: -1 if at is None else at):
        numbers = [
            ResultNumber(column.cells.get(at), column.series.absent(column.metric, column.statistic, at), links.to_each_run(column.series))
            for column in shown
        ]
        lines.append(ResultLine(head(next(number.cell.size_words for number in numbers if number.cell), value="" if at is None else at), numbers))
    write = CellWriter(links, anchor, seen, shared)
    table = results_table(label, [TableColumn("size"), *heads], [column.unit for column in shown], lines, write, "tl-table tl-beside")
    return join([shared_marks_note(shared, anchor), scroller(table), below, mark_notes(seen, anchor)])


def _series_name(series: Series) -> Html:
    return tag("div", swatch(series.slot, hollow=series.published), series.label)


def _columns(series: Sequence[Series]) -> list[_SizeColumn]:
    found = [(member, pairs) for member in _keyed_beside_unkeyed(series) if (pairs := _pairs(member))]
    most = 1 if sum(len(pairs) for _, pairs in found) > _MOST_COLUMNS else None
    return [
        _SizeColumn(member, metric, statistic, heading_of(metric, statistic), unit_shown(METRICS[metric].unit), member.cells(metric, statistic))
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


ROWS_AT_ONCE = 60  # of a table; a row has some 25 elements
_NO_CAMPAIGN = "No campaign measured several systems with one tool."


class SizeTable(NamedTuple):
    """Rows of a size that stand in one table: the size, which of several tables of that size it is, its title, and the rows."""

    size: int
    number: int
    title: str
    rows: Sequence[SideBySideRow]

    @property
    def name(self) -> str:
        """The end of its id."""
        return f"{self.size}-{self.number + 1}" if self.number else str(self.size)


Fold = Callable[[SizeTable, Html], Html]  # returns what leads to a table that is folded


def systems_side_by_side(view: View, pages: PageIndex, links: Links, anchor: str, fold: Fold) -> Html:
    """Return the first rows of the smallest size of the newest session that measured several systems with one tool, and folded all others."""
    session = session_of_several(view)
    if session is None:
        return tag("p", _NO_CAMPAIGN, class_="tl-null")
    part = of_session(view, session)
    rows = side_by_side_rows(part, pages)
    # No rule marks the processor time, so it takes no part in what all have in common.
    marked = (cells for row in rows for (metric, _), cells in row.cells.items() if metric != "cpu_per_message")
    shared = marks_of_cells(cell for cells in marked for cell in cells.values())
    slices = list(_slices(rows))
    if not slices:
        return tag("p", f"The newest such campaign measured none of {', '.join(map(size_words, SIZES))}.", class_="tl-null")
    first, *others = slices
    heading = tag("h2", first.title, id=f"{anchor}-{first.name}")
    shown = tag("section", heading, _marked_table(first, shared, links, anchor))
    folds = [fold(one, tag("section", _marked_table(one, shared, links, f"{anchor}-{one.name}"), id=f"{anchor}-{one.name}")) for one in others]
    return join([remarks(part.runs.values()), shown, *folds])


def _slices(rows: Sequence[SideBySideRow]) -> Iterator[SizeTable]:
    """Yield tables that a page can hold, whatever the number of systems is: those of each size."""
    for size in sizes_of(rows):
        of_size = at_size(rows, size)
        for number, start in enumerate(range(0, len(of_size), ROWS_AT_ONCE)):
            some = of_size[start : start + ROWS_AT_ONCE]
            which = f", rows {start + 1} to {start + len(some)}" if len(of_size) > ROWS_AT_ONCE else ""
            yield SizeTable(size, number, f"Messages of {size_words(size)}{which}", some)


def _marked_table(of: SizeTable, shared: Sequence[str], links: Links, anchor: str) -> Html:
    """Return a table between what all of its numbers have in common and the notes on its marks."""
    units = [unit_shown(METRICS[metric].unit) for metric, _, _ in COLUMNS]
    heads = [TableColumn(heading, unit.sign) for (_, _, heading), unit in zip(COLUMNS, units, strict=True)]
    seen: UsedMarks = {}
    lines = [ResultLine(_row_head(row), [_number(row, (metric, statistic), of.size, links) for metric, statistic, _ in COLUMNS]) for row in of.rows]
    write = CellWriter(links, anchor, seen, shared)
    table = results_table(of.title, [TableColumn("system, transport", class_="tl-text"), *heads], units, lines, write, "tl-table tl-rows")
    return join([shared_marks_note(shared, anchor), scroller(table), mark_notes(seen, anchor)])


def _number(row: SideBySideRow, name: tuple[str, str], size: int, links: Links) -> ResultNumber:
    below = _lost_words(row, size, links) if name == RATE else NOTHING
    return ResultNumber(row.cells.get(name, {}).get(size), row.absent(*name, size), below=below)


def _lost_words(row: SideBySideRow, size: int, links: Links) -> Html:
    found = row.lost(size)
    return NOTHING if found is None else lost_words(found, links)


def _row_head(row: SideBySideRow) -> TableCell:
    name = tag("strong", row.name)
    named = tag("a", name, href=f"doc:{row.document}") if row.document else name
    return head(join([named, " ", tag("span", row.how, class_="tl-how")]), "tl-text")
