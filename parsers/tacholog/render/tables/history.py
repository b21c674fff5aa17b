"""The history of a metric, as a table for each system.

A row has the values of a `HistoryLine`. A column has the values of a release; the newest release is the first column. Below each value is the verdict
of the comparison with the previous release.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from tacholog.compare.comparable import CODES, MACHINE
from tacholog.compare.result import DIFFERS, OUT_OF_TURN, ComparisonRow, RowKey, Verdict
from tacholog.render.diff import words
from tacholog.render.diff.drawings import path_of
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.links import Links
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, count_of, head, scroller
from tacholog.runs.labels import is_label, labels_of
from tacholog.schema.metrics import METRICS
from tacholog.view.history import Compare, HistoryChange, HistoryLine, HistoryPoint, SystemHistory, diff_documents, histories, other_machine
from tacholog.view.names import row_name
from tacholog.view.numerals import NOT_STATED, quantity
from tacholog.view.page_index import PageIndex
from tacholog.view.ranking_groups import system_series
from tacholog.view.results import ResultRow, RunRow, is_of_control, of_these_runs
from tacholog.view.series import Series
from tacholog.view.views import View

_HARDWARE = frozenset(CODES[name] for name in MACHINE)
_WITH_INTERVAL = ("worse", "better", *OUT_OF_TURN, "no_change", "inconclusive")
_WIDTH, _HEIGHT, _ROOM = 140, 34, 6
_LEAST_SHOWN = 0.001  # smaller probabilities are shown as "less than" this value


class FindLink(Protocol):
    """A function that returns the link to a value of a release of a system."""

    def __call__(self, system: str, release: str, key: RowKey, value: float, runs: Sequence[float] = (), /) -> str | None:
        """Return the link; ``None`` if no run has the value. ``runs`` are the values of the row's runs."""


def link_finder(view: View, links: Links) -> FindLink:
    """Return a function that finds the log line with a value, and returns the link to this line.

    If several runs have the value, the function prefers the runs that are the argument ``runs``. Runs of a control come last. The function searches
    the numbers of `Series`, which are already sorted into rows. To sort all numbers of all releases again would take too long.
    """
    series: dict[tuple[str, str, object], list[Series]] = {}
    for member in system_series(view, PageIndex()):
        series.setdefault((member.system, member.transport, dict(member.series.key)["release"]), []).append(member.series)
    run_order = {run: index for index, run in enumerate(view.runs)}

    def find(system: str, release: str, key: RowKey, value: float, runs: Sequence[float] = ()) -> str | None:
        labels = [(field, label) for field, label in key.apart if is_label(field)]
        names = (system, key.transport)
        candidates = [
            result
            for member in series.get((system, key.transport or NOT_STATED, release), ())
            for cell in [member.cells(key.metric, key.statistic).get(key.payload_bytes)]
            for result in (cell.results if cell else ())
            if (result.run.system, result.conditions.transport) == names and _has_labels(result, labels)
        ]
        matches = of_these_runs(candidates, value, runs)
        matches = [member for member in matches if not is_of_control(member)] or matches
        return links.to_line(_first_in_view(matches, run_order, view)) if matches else None

    return find


def _first_in_view(matches: Sequence[ResultRow], run_order: Mapping[str, int], view: View) -> ResultRow:
    """The matches are sorted by series, so their order is not that of the view."""
    run = min((result.run.run for result in matches), key=run_order.__getitem__)
    of_run = {id(result): result for result in matches if result.run.run == run}
    return next(result for result in (of_run.values() if len(of_run) == 1 else view.by_run[run]) if id(result) in of_run)


def _has_labels(result: ResultRow, labels: Iterable[tuple[str, str | None]]) -> bool:
    run_labels = labels_of(result.run.labels)
    return all(run_labels.get(field) == label for field, label in labels)


def _nowhere(_system: str, _release: str, _key: RowKey, _value: float, _runs: Sequence[float] = (), /) -> None:
    """Return no link, because there are no pages of logs."""


def history(runs: Sequence[RunRow], metric: str, statistic: str, compare: Compare, pages: Iterable[str], find: FindLink = _nowhere) -> Html:
    """Return the tables of a metric: one for each system with at least two releases. ``find`` returns the link to a value."""
    return tables_of(histories(runs, metric, statistic, compare), runs, pages, find)


def tables_of(by_system: Mapping[str, SystemHistory], runs: Collection[RunRow], pages: Iterable[str], find: FindLink) -> Html:
    """Return the tables of a metric for histories that are computed already."""
    page_names = set(pages)
    documents = {pair: page for pair, page in diff_documents(runs).items() if page in page_names}
    parts: list[object] = []
    for system, history in by_system.items():
        parts += [
            tag("p", tag("b", system), class_="lead"),
            *_tables(system, history, documents, find),
            *list_of_changes(history.changes, history.releases),
        ]
    return tag("div", *parts, tag("p", _LEGEND, class_="says stat-evidence"), class_="tl-diff") if parts else NOTHING


_LEGEND = (
    "Below each value: what the comparison with the release before it found, with the 95 % interval of the ratio. Each value is that of one run: "
    "the median of the runs that this comparison used (of the paired ones, if it used pairs). The ratio is estimated over all pairs "
    "(Hodges-Lehmann), so it may differ from the quotient of two values. If the runs form two groups, the comparison of the two releases and the "
    "page of the transport show both. In a trend, a thin vertical line is the range of a release's runs. A rise "
    "or fall is significant only where the value is worse or better. "
    "A line shows one machine. Another machine begins a new line, even if its stated hardware is the same. A new line also begins where two releases "
    "are not comparable, and where the next comparison uses other runs of a release, such as those of another campaign or build. Such lines stand "
    "together, "
    "with the reason above them. Each trend has a scale of its own. In lines of five releases or more, Tacholog looks for "
    "steps and drifts over all releases, corrected for all lines of the page; a dashed line shows the levels."
)


def _tables(system: str, history: SystemHistory, pages: Mapping[tuple[str, str, str], str], find: FindLink) -> Iterator[Html]:
    long = [line for line in history.lines if len(line.points) > 1]
    short = [line for line in history.lines if len(line.points) <= 1]
    if long:
        yield _table(system, history.releases, long, history.changes, pages, find)
    if short:
        table = _table(system, history.releases, short, (), pages, find, more=", rows of one release only" if long else "")
        summary = tag("summary", count_of(len(short)), f" row{'s' if len(short) > 1 else ''} of one release only")
        yield tag("details", summary, table, class_="alone") if long else table


def _table(
    system: str,
    names: Sequence[str],
    lines: Sequence[HistoryLine],
    changes: Sequence[HistoryChange],
    pages: Mapping[tuple[str, str, str], str],
    find: FindLink,
    *,
    more: str = "",
) -> Html:
    heads = []
    for before, name in zip([None, *names], names, strict=False):
        page = pages.get((system, before, name)) if before is not None else None
        heading = tag("a", name, href=f"doc:{page}", title=f"All of {before} against {name}") if page else name
        heads.append(TableColumn(heading, class_="n"))
    heads = [TableColumn("Row"), TableColumn("Trend"), *reversed(heads)]  # phones show the first columns only
    bodies = list(_bodies(names, lines, changes, functools.partial(_value_link, find, system)))
    return scroller(Table(f"History of {system}{more}", heads, bodies, "history"), "scroll", tools=False)


def _bodies(
    names: Sequence[str],
    lines: Sequence[HistoryLine],
    changes: Sequence[HistoryChange],
    find: Callable[[RowKey, str, HistoryPoint], str | None],
) -> Iterator[list[TableRow]]:
    """Lines that begin for the same reason form a group, with the reason as its heading. Groups with the newest releases come first."""
    by_reason: dict[str | None, list[HistoryLine]] = {}
    for line in sorted(lines, key=lambda line: line.points[-1].release, reverse=True):
        by_reason.setdefault(why_it_begins(line), []).append(line)
    for index, (reason, members) in enumerate(by_reason.items()):
        rows = [_row(line, names, functools.partial(find, line.key), [change for change in changes if change.line is line]) for line in members]
        if reason or index:
            title = tag("span", reason[:1].upper() + reason[1:] if reason else "Rows without an earlier line")
            rows.insert(0, TableRow([TableCell(title, class_="stat-evidence", scope="rowgroup", span=len(names) + 2)], "anew"))
        yield rows


def _value_link(find: FindLink, system: str, key: RowKey, release: str, point: HistoryPoint) -> str | None:
    return find(system, release, key, point.value, point.runs)


def _row(line: HistoryLine, names: Sequence[str], find: Callable[[str, HistoryPoint], str | None], changes: Sequence[HistoryChange]) -> TableRow:
    points = {point.release: point for point in line.points}
    name = head(row_name(line.key).partition(", ")[2])  # without the metric, which the page already states
    links = {release: find(names[release], point) for release, point in points.items()}
    cells = [_cell(points.get(release), line.key, links.get(release)) for release in reversed(range(len(names)))]
    return TableRow([name, TableCell(_trend(line, len(names), changes)), *cells])


def _cell(point: HistoryPoint | None, key: RowKey, link: str | None) -> TableCell:
    if point is None:
        return TableCell(class_="n")
    value = quantity(point.value, METRICS[key.metric].unit)
    marker = _marker(point.row) if point.row else NOTHING
    return TableCell(value if link else tag("span", value, class_="stat-median"), link=link, below=marker, class_="n")


def _marker(row: ComparisonRow) -> Html:
    ratio = words.ratio(row.ratio) if row.ratio is not None and row.verdict in ("worse", "better", *DIFFERS, "unreplicated_diff") else ""
    between = f"({words.interval(row)})" if row.verdict in _WITH_INTERVAL and words.interval(row) else ""
    verdict = "" if row.verdict in ("removed", "added") else words.MEANINGS[row.verdict].words
    return tag("span", " ".join(filter(None, (verdict, ratio, between))), class_=f"v {row.verdict} stat-ratio", title=words.remark(row) or None)


def _trend(line: HistoryLine, releases: int, changes: Sequence[HistoryChange] = ()) -> Html:
    """A thin vertical line shows the range of a release's runs. If the line has steps, a dashed line shows the levels between them."""
    if len(line.points) < 2 or min(point.value for point in line.points) <= 0:  # noqa: PLR2004 - a line takes two
        return NOTHING
    scale = _Scale(line, releases)
    coordinates = [(scale.x(point.release), scale.y(point.value)) for point in line.points]
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in coordinates)
    dots = [_dot(x, y, point.row.verdict if point.row else None) for (x, y), point in zip(coordinates, line.points, strict=True)]
    ranges = [
        f"M{scale.x(point.release):g} {scale.y(min(point.runs)):g}V{scale.y(max(point.runs)):g}" for point in line.points if len(point.runs) > 1
    ]
    spread = [tag("path", d="".join(ranges), class_="spread")] if ranges else []
    title = tag("title", join([f"{row_name(line.key)}: {len(coordinates)} releases"]))
    levels = [tag("path", d=_levels(line, coordinates, changes), class_="levels", stroke_dasharray="3 2")] if changes else []
    return tag("svg", title, tag("path", d=path), *spread, *levels, *dots, class_="trend", viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img")


def _levels(line: HistoryLine, coordinates: Sequence[tuple[float, float]], changes: Sequence[HistoryChange]) -> str:
    """Return the path that draws the levels in a trend. A level is at the mean height of its points, and a drift is a line between two levels."""
    step_releases = {change.release for change in changes if change.kind == "step"}
    starts = [index for index, point in enumerate(line.points) if point.release in step_releases]
    drift = next((change for change in changes if change.kind == "drift"), None)
    if drift is not None:
        ends = [index for index, point in enumerate(line.points) if point.release in (drift.before, drift.release)]
        parts = [coordinates[: ends[0] + 1], coordinates[ends[1] :]]
        heights = [sum(y for _, y in part) / len(part) for part in parts]
        (left, _), (right, _) = coordinates[ends[0]], coordinates[ends[1]]
        return f"M{coordinates[0][0]:g} {heights[0]:.1f}H{left:g}L{right:g} {heights[1]:.1f}H{coordinates[-1][0]:g}"
    stretches = [coordinates[first:last] for first, last in pairwise([0, *starts, len(coordinates)])]
    return "".join(f"M{part[0][0]:g} {sum(y for _, y in part) / len(part):.1f}H{part[-1][0]:g}" for part in stretches)


def list_of_changes(changes: Sequence[HistoryChange], names: Sequence[str]) -> list[Html]:
    """Return a list of all steps and drifts, each with its time, its size and its certainty; nothing if there are none."""
    if not changes:
        return []
    items = [tag("li", tag("b", f"{change_time(change, names)}: "), change_words(change)) for change in changes]
    return [tag("p", f"Steps and drifts over all releases ({len(changes)}):"), tag("ul", *items, class_="changes")]


def change_time(change: HistoryChange, names: Sequence[str]) -> str:
    """Return the release of a step, or the two releases between which a drift happened."""
    return names[change.release] if change.kind == "step" else f"{names[change.before]} to {names[change.release]}"


def change_words(change: HistoryChange) -> str:
    """Return a step or a drift in words: row, size, certainty and possible reason."""
    ends = sorted(abs(end - 1) for end in (change.low, change.high))
    how = f"{words.percent(ends[0])} to {words.percent(ends[1])}" if (change.low > 1) == (change.high > 1) else "or none"
    sure = f"at most {change.p:.1%}" if change.p >= _LEAST_SHOWN else f"less than {_LEAST_SHOWN:.1%}"
    name = row_name(change.line.key).partition(", ")[2]  # without the metric, which the page already states
    what = f"{name} {_size_in_percent(change)} ({how}){_judged(change)}"
    return f"{what}. Possible cause: {change.reason}. A page without any change shows such a {change.kind} in {sure.replace('%', ' %')} of cases."


def change_title(change: HistoryChange) -> str:
    """Return a step or a drift in a few words: the full name of the row, and the size of the change."""
    return f"{row_name(change.line.key)} {_size_in_percent(change)}{_judged(change)}"


def _size_in_percent(change: HistoryChange) -> str:
    return f"{'rose' if change.ratio > 1 else 'fell'} by {words.percent(abs(change.ratio - 1))}"


def _judged(change: HistoryChange) -> str:
    better = METRICS[change.line.key.metric].better
    return "" if better is None else f", {'worse' if (change.ratio > 1) == (better == 'lower') else 'better'}"


def _dot(x: float, y: float, verdict: Verdict | None) -> Html:
    path = path_of(verdict, x, y) if verdict in ("worse", "better") else None
    return tag("path", d=path, class_=f"sign {verdict}") if path else tag("circle", cx=f"{x:g}", cy=f"{y:g}", r=2.5, class_="dot")


class _Scale:
    """The scales of a trend. The vertical scale covers the values of all runs, and at least 10 %, so that noise does not look like a large change."""

    def __init__(self, line: HistoryLine, releases: int) -> None:
        logs = [math.log(value) for point in line.points for value in (point.value, *point.runs) if value > 0]
        self.middle = (min(logs) + max(logs)) / 2
        self.span = max(max(logs) - min(logs), math.log(1.1))
        self.last = max(releases - 1, 1)

    def x(self, release: int) -> float:
        return round(_ROOM + (_WIDTH - 2 * _ROOM) * release / self.last, 1)

    def y(self, value: float) -> float:
        """Return the vertical position of a value. A value without a logarithm is at the bottom."""
        share = (math.log(value) - self.middle) / self.span if value > 0 else -0.5
        return round(_HEIGHT / 2 - (_HEIGHT - 2 * _ROOM) * share, 1)


def why_it_begins(line: HistoryLine) -> str | None:
    """Return why a line of a history begins at a later release. ``None`` means that no release before has a similar row."""
    if line.other_runs_of is not None:
        return f"other runs of {line.other_runs_of} than before"
    row = line.begun_by
    if row is None:
        return None
    machine = other_machine(row)
    if machine is not None and row.old and row.new and row.verdict != "not_comparable":
        both_known = machine.old is not None and machine.new is not None
        what = "another machine with the same processor model, cores and memory" if both_known else "whether it is the same machine is not known"
        return f"{what}: {machine.old or NOT_STATED} -> {machine.new or NOT_STATED}"
    differing = tuple(difference.field for difference in row.differences if difference.field != "host")
    codes = row.reasons if row.verdict == "not_comparable" else differing
    reasons = "; ".join(words.reason(row, code) for code in codes)
    return f"another machine: {reasons}" if _HARDWARE & set(codes) else reasons or None
