"""Tables by message size.

- `sizes_table` opens a page: a row for each size, columns for the main numbers of each series.
- `side_by_side` compares the series of a page: a row for each size, a column for each series.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tacholog.compare.comparable import is_ranked_nowhere, judge
from tacholog.compare.policy import MIN_RUNS
from tacholog.render.figures.svg import swatch
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.links import Links
from tacholog.render.marks import UsedMarks, mark_notes, shared_marks_note
from tacholog.render.table import TableColumn, head, scroller, words_table
from tacholog.render.tables.results import CellWriter, ResultLine, ResultNumber, badge, heading_of, marks_of_cells, results_table
from tacholog.schema.metrics import METRICS
from tacholog.view.names import BASIS_WORDS
from tacholog.view.numerals import Unit, unit_shown
from tacholog.view.ranking_groups import RANKED_BY, conditions_of, headline_statistic
from tacholog.view.refusals import condition_title, not_stated
from tacholog.view.series import LOGICAL, Cell, Series, conditions_in_words, headings_among

_WORDS = ("Median latency", "Mean latency", "Payload received")  # of `RANKED_BY`
_MOST_SERIES = 12  # side by side
_MOST_COLUMNS = 8  # with more columns than this, each series has only one column
_RATES = (("goodput", "mean"), ("message_rate", "mean"))
_OF_KEYS = ("keyed", "instances", "options", "run")  # A series with keys is next to the series without keys that differs only in these fields.
_SUSTAINED = ("sustained_rate", "lower-bound")
_ONE_RUN = "One run of each series: whether a difference between two series is more than noise cannot be tested."
_FEW_RUNS = f"Fewer than {MIN_RUNS} runs of each series: too few to test whether a difference between two series is more than noise."


class _SizeColumn(NamedTuple):
    series: Series
    metric: str
    statistic: str
    heading: str
    unit: Unit
    cells: Mapping[int | None, Cell]

    @property
    def pair(self) -> tuple[str, str]:
        return self.metric, self.statistic


def sizes_table(series: Sequence[Series], links: Links, anchor: str) -> Html:
    """Return the table with notes: its marks, the series that are not comparable, and whether there are enough runs to distinguish series."""
    columns = _columns(series)
    if not columns:
        return NOTHING
    several = len({column.series.slot for column in columns}) > 1
    members = list({column.series.slot: column.series for column in columns}.values())
    names = headings_among(members) if several else [""]
    compared = join([_note_on_few_runs(members), not_comparable(members, columns[0].metric), _conditions(members, names)]) if several else NOTHING
    label = f"{series[0].results[0].test.capitalize()} by message size"
    name_of = {member.slot: name for member, name in zip(members, names, strict=True)}
    heads = [_head(column.series, name_of[column.series.slot], column.heading, column.unit.sign) for column in columns]
    return _by_size(label, columns, heads, links, anchor, compared)


def side_by_side(series: Sequence[Series], links: Links, anchor: str) -> Html:
    """Return one table with a column for each series; nothing if there is only one series, or if there are too many."""
    main_number = _headline(series)
    if main_number is None:
        return NOTHING
    (metric, statistic, words), members = main_number
    unit = unit_shown(METRICS[metric].unit)
    columns = [_SizeColumn(member, metric, statistic, words, unit, member.cells(metric, statistic)) for member in members]
    names = headings_among(members)
    heads = [_head(member, name, badge(published=member.published)) for member, name in zip(members, names, strict=True)]
    bases = {dict(member.key)["basis"] for member in members}
    basis = BASIS_WORDS.get(str(bases.pop())) if metric == "latency" and len(bases) == 1 else None
    title = tag("p", tag("strong", ", ".join(filter(None, (words, basis, unit.sign)))), class_="tl-caption")
    below = join([not_comparable(members, metric), _conditions(members, names)])
    return join([title, _by_size(f"{words} of every series", columns, heads, links, anchor, below)])


def _by_size(label: str, columns: Sequence[_SizeColumn], heads: Sequence[TableColumn], links: Links, anchor: str, below: Html) -> Html:
    shared = marks_of_cells(cell for column in columns for cell in column.cells.values())
    used_marks: UsedMarks = {}
    lines = []
    for payload in sorted({payload for column in columns for payload in column.cells}, key=lambda payload: -1 if payload is None else payload):
        numbers = [
            ResultNumber(column.cells.get(payload), column.series.absent(column.metric, column.statistic, payload), links.to_each_run(column.series))
            for column in columns
        ]
        size_head = head(next(number.cell.size_words for number in numbers if number.cell), value="" if payload is None else payload)
        lines.append(ResultLine(size_head, numbers))
    write = CellWriter(links, anchor, used_marks, shared)
    table = results_table(label, [TableColumn("size"), *heads], [column.unit for column in columns], lines, write, "tl-table tl-beside")
    return join([shared_marks_note(shared, anchor), scroller(table), below, mark_notes(used_marks, anchor)])


def _head(series: Series, name: str, content: Html | str, unit: str = "") -> TableColumn:
    """Return the head of a column. If ``name`` is a short name of the series, the title has its full name, which screen readers and copies state."""
    if not name:
        return TableColumn(content, unit)
    full = series.label if isinstance(content, Html) else f"{series.label}, {content}"
    heading = join([tag("div", swatch(series.slot, hollow=series.published), name, " "), content])
    return TableColumn(heading, unit, title=full if name != series.label else "")


def _conditions(members: Sequence[Series], names: Sequence[str]) -> Html:
    """Return all conditions of the columns, folded: a table of those that differ, then the others; nothing if ``names`` are the full names."""
    if all(name == member.label for name, member in zip(names, members, strict=True)):
        return NOTHING
    conditions = conditions_in_words(members)
    different = [condition for condition in conditions if len({*condition[1]}) > 1]
    heads = [join([swatch(member.slot, hollow=member.published), " ", name]) for name, member in zip(names, members, strict=True)]
    rows = list(zip(heads, *(values for _, values in different), strict=True))
    table = words_table(f"Conditions that differ: {members[0].results[0].test}", ("series", *(title for title, _ in different)), rows)
    shared = [tag("div", tag("dt", title), tag("dd", values[0])) for title, values in conditions if len({*values}) == 1]
    content = [scroller(table), tag("p", "The same for all:"), tag("dl", *shared, class_="tl-facts")]
    return tag("details", tag("summary", "All conditions of these columns"), *content, class_="tl-each")


def _columns(series: Sequence[Series]) -> list[_SizeColumn]:
    with_pairs = [(member, pairs) for member in _keyed_beside_unkeyed(series) if (pairs := _shown_numbers(member))]
    most = 1 if sum(len(pairs) for _, pairs in with_pairs) > _MOST_COLUMNS else None
    return [
        _SizeColumn(member, metric, statistic, heading_of(metric, statistic), unit_shown(METRICS[metric].unit), member.cells(metric, statistic))
        for member, pairs in with_pairs
        for metric, statistic in pairs[:most]
    ]


def _keyed_beside_unkeyed(series: Sequence[Series]) -> list[Series]:
    """Series that differ only in their keys come next to each other."""
    if len({dict(member.key)["keyed"] for member in series}) == 1:
        return list(series)
    order: dict[tuple[object, ...], int] = {}
    for member in series:
        order.setdefault(_without_keys(member), len(order))
    return sorted(series, key=lambda member: order[_without_keys(member)])


def _without_keys(series: Series) -> tuple[object, ...]:
    return tuple(part for part in series.key if part[0] not in _OF_KEYS)


def _shown_numbers(series: Series) -> list[tuple[str, str]]:
    """Return pairs of metric and statistic. Rates are shown only if the series has neither latencies nor a sustained rate."""
    present = series.statistics()
    statistic = headline_statistic(series, "latency")
    if statistic is not None:
        further = "range-high" if statistic == "range-low" else "p99" if ("latency", "p99") in present else "max"
        return [("latency", name) for name in dict.fromkeys((statistic, further)) if ("latency", name) in present]
    if _SUSTAINED in present:
        return [_SUSTAINED]
    return [pair for pair in _RATES if pair in present and not (pair[0] == "goodput" and series.has_mark(LOGICAL))]


def _note_on_few_runs(members: Sequence[Series]) -> Html:
    most = max(len(member.runs) for member in members)
    words = _ONE_RUN if most == 1 else _FEW_RUNS if most < MIN_RUNS else ""
    return tag("p", words, class_="tl-note") if words else NOTHING


def not_comparable(members: Sequence[Series], metric: str) -> Html:
    """Return one sentence on why the series are not all comparable: conditions that differ, or are not stated. It is empty if all are comparable."""
    first, *others = (conditions_of(member, metric) for member in members)
    judgements = [judge(first, other, comparison="ratio") for other in others]
    different = dict.fromkeys(condition_title(difference) for judgement in judgements for difference in judgement.different)
    unverified = dict.fromkeys(code for judgement in judgements for code in judgement.unverified)
    if not different and not unverified:
        return NOTHING
    reasons = [f"they differ in {', '.join(different)}"] if different else []
    reasons += [not_stated(unverified)] if unverified else []
    return tag("p", f"Not all of these columns are comparable: {'; '.join(reasons)}.", class_="tl-note")


def _headline(series: Sequence[Series]) -> tuple[tuple[str, str, str], list[Series]] | None:
    for (metric, statistic), words in zip(RANKED_BY, _WORDS, strict=True):
        members = [member for member in series if member.cells(metric, statistic) and not is_ranked_nowhere(conditions_of(member, metric))]
        if members:
            return ((metric, statistic, words), members) if 1 < len(members) <= _MOST_SERIES else None
    return None
