"""The trials of a search for the highest rate that keeps a goal: the rate of each trial, and its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.links import Links
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, empty, exact, head, scroller
from tacholog.render.tables.results import MOST_EACH, MetricColumn, MoveTableOut, column_head, columns_of, count, folded_table, number_cell
from tacholog.view.numerals import NOT_STATED, rounded, size, unit_shown
from tacholog.view.results import ResultRow
from tacholog.view.series import Series, SeriesNumbers, absent_words

_PASSED = ("trials_passed", "total")
_LATENCY = ("p50", "p99")  # shown next to the percentile of the goal
_OTHERS = (("offered_rate", "mean"), ("messages_lost", "total"), ("loss", "total"), ("duration", "total"))
_Search = tuple[str, str, int | None]  # run, log, payload


def trials_tables(trials: Sequence[ResultRow], series: Sequence[Series], links: Links, anchor: str, move_out: MoveTableOut | None = None) -> Html:
    """Return one table for each series, with its trials in the order of time.

    Args:
        trials: the numbers of the trials (`View.trials`).
        series: the series of the highest rates. Trials of other series are left out.
        links: the addresses of the log pages.
        anchor: the start of every id.
        move_out: a function that moves a large table into a separate file.
    """
    by_search: dict[_Search, dict[int, list[ResultRow]]] = {}
    for result in trials:
        by_search.setdefault(_search(result), {}).setdefault(result.line or 0, []).append(result)
    return join([_table(member, by_search, links, f"{anchor}-{member.slot}-trials", move_out) for member in series])


def _search(result: ResultRow) -> _Search:
    return result.run.run, result.log, result.payload_bytes


def _table(
    series: Series, by_search: Mapping[_Search, Mapping[int, list[ResultRow]]], links: Links, anchor: str, move_out: MoveTableOut | None
) -> Html:
    searches = [name for name in dict.fromkeys(map(_search, series.results)) if name in by_search]
    if not searches:
        return NOTHING
    columns = _columns(series, [result for name in searches for trial in by_search[name].values() for result in trial])
    rows = [
        _row(name, number, trial, columns, links) for name in searches for number, (_, trial) in enumerate(sorted(by_search[name].items()), start=1)
    ]
    names = [TableColumn("size"), TableColumn("run", class_="tl-text"), TableColumn("trial", class_="tl-text")]
    heads = [
        *names,
        TableColumn("rate asked for", unit_shown("messages_per_s").sign),
        *map(column_head, columns),
        TableColumn("goal kept", class_="tl-text"),
    ]
    content = scroller(Table(f"Trials: {series.label}", heads, [rows], "tl-table tl-small"))
    many = len(rows) * len(columns) > MOST_EACH
    return folded_table(f"All trials: {series.label}", content, anchor, move_out if many else None, is_open=not many)


def _columns(series: Series, trials: Sequence[ResultRow]) -> list[MetricColumn]:
    """Return the percentile of the goal, and the numbers that explain it. The log contains all other percentiles."""
    goal = str(dict(series.key).get("goal") or "").partition(" ")[0]
    wanted = {*_OTHERS, *(("latency", statistic) for statistic in (*_LATENCY, goal))}
    return [
        column
        for column in columns_of(Series(series.label, series.slot, series.key, SeriesNumbers(tuple(trials))))
        if (column.metric, column.statistic) in wanted
    ]


def _row(search: _Search, number: int, trial: Sequence[ResultRow], columns: Sequence[MetricColumn], links: Links) -> TableRow:
    by_name = {(result.metric, result.statistic): result for result in trial}
    asked = trial[0].conditions.offered_rate_per_s
    rate = NOT_STATED if asked is None else rounded(asked / unit_shown("messages_per_s").size)
    return TableRow(
        [
            head(tag("span", size(search[2]), class_="stat-size"), value="" if search[2] is None else search[2]),
            TableCell(tag("span", search[0], class_="stat-label"), class_="tl-text"),
            count(str(number)),
            TableCell(tag("span", rate, class_="stat-label"), "" if asked is None else exact(asked)),
            *(number_cell(by_name.get(column.pair), column.unit, links, absent_words(*column.pair, [trial[0].samples])) for column in columns),
            _goal_kept(by_name.get(_PASSED), links),
        ]
    )


def _goal_kept(result: ResultRow | None, links: Links) -> TableCell:
    if result is None or result.value is None:
        return empty()
    return TableCell("yes" if result.value else "no", exact(result.value), links.to_line(result), class_="tl-text")
