"""The history of a metric as tables, one a system: a line a row, a column a release, and below each value the verdict of the comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from tacholog.compare.comparable import CODES, MACHINE
from tacholog.compare.result import DiffRow, Report, RowKey, Verdict
from tacholog.render.diff import words
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.tables.tables import Links
from tacholog.runs.labels import is_label, labels_of
from tacholog.schema.metrics import METRICS
from tacholog.view.history import HistoryChange, HistoryLine, HistoryPoint, changes_of, diff_documents, lines, releases_of
from tacholog.view.numerals import quantity
from tacholog.view.results import ResultRow, RunRow
from tacholog.view.row_names import row_name

Compare = Callable[[str, str, str], Report]
Find = Callable[[str, str, RowKey, float], str | None]  # the link to a value of a release of a system
_HARDWARE = frozenset(CODES[name] for name in MACHINE)
_SHORT: Mapping[Verdict, str] = {
    "worse": "worse",
    "better": "better",
    "no_change": "no change",
    "inconclusive": "too noisy to tell",
    "too_few_pairs": "too few pairs for so many rows",
    "insufficient": "not enough runs",
    "unreplicated_diff": "differs, not replicated",
    "unreplicated_same": "alike, not replicated",
    "invalid": "failed",
    "lossy": "too much lost",
    "not_comparable": "not comparable",
    "removed": "",
    "added": "",
}
_WIDTH, _HEIGHT, _ROOM = 140, 34, 6
_LEAST_SHOWN = 0.001  # a probability below it is shown as less than this


def finder(results: Iterable[ResultRow], links: Links) -> Find:
    """Say where values stand: the line of the run of that release which has that value; nothing where a value is none of a run."""
    by_row: dict[tuple[object, ...], list[ResultRow]] = {}
    for result in results:
        if result.value is not None:
            key = (result.run.system, result.run.release, result.conditions.transport, result.payload_bytes, result.metric, result.statistic)
            by_row.setdefault(key, []).append(result)

    def find(system: str, release: str, key: RowKey, value: float) -> str | None:
        there = by_row.get((system, release, key.transport, key.payload_bytes, key.metric, key.statistic), ())
        labels = [(field, label) for field, label in key.apart if is_label(field)]
        return next((links.to_line(one) for one in there if math.isclose(one.value or 0.0, value) and _has_labels(one, labels)), None)

    return find


def _has_labels(result: ResultRow, labels: Iterable[tuple[str, str | None]]) -> bool:
    given = labels_of(result.run.labels)
    return all(given.get(field) == label for field, label in labels)


def _nowhere(_system: str, _release: str, _key: RowKey, _value: float) -> None:
    """Find nothing, where there are no pages of logs."""


def history(runs: Sequence[RunRow], metric: str, statistic: str, compare: Compare, pages: Iterable[str], find: Find = _nowhere) -> Html:
    """The tables of a metric, one a system with at least two releases; ``find`` says where a value of a release stands."""
    known, documents = set(pages), diff_documents(runs)
    releases = releases_of(runs)
    reports = {system: [compare(system, old, new) for old, new in pairwise(names)] for system, names in releases.items()}
    found = {system: lines(compared, metric, statistic) for system, compared in reports.items()}
    changes = changes_of([(line, reports[system]) for system, members in found.items() for line in members])
    parts: list[object] = []
    for system, members in ((system, members) for system, members in found.items() if members):
        of_system = [change for change in changes if any(change.line is line for line in members)]
        documents_of_system = {pair: page for pair, page in documents.items() if page in known}
        parts += [
            tag("p", tag("b", system), class_="lead"),
            _table(system, releases[system], (members, of_system), documents_of_system, find),
            *list_of_changes(of_system, releases[system]),
        ]
    return tag("div", *parts, tag("p", _LEGEND, class_="says"), class_="tl-diff") if parts else NOTHING


_LEGEND = (
    "Below each value: what the comparison with the release before it found. Each value is that of one run: the median of the runs that this "
    "comparison used (of the paired ones, if it used pairs). The ratio beside worse or better is estimated over all pairs (Hodges-Lehmann), "
    "so it may differ from the quotient of two values. A rise or fall of the trend is significant only where the value is worse or better. "
    "A new line begins where two releases are not comparable, such as on another machine, and where the next comparison uses other runs of a "
    "release, such as those of another campaign or build. Each line's trend has a scale of its own. In lines of five releases or more, steps and "
    "drifts are looked for over all releases, corrected for all lines of the page; a dashed line shows the levels."
)


def _table(
    system: str,
    names: Sequence[str],
    found: tuple[Sequence[HistoryLine], Sequence[HistoryChange]],
    pages: Mapping[tuple[str, str, str], str],
    find: Find,
) -> Html:
    members, changes = found
    heads = [tag("th", "Row", scope="col"), tag("th", "Trend", scope="col")]
    for before, name in zip([None, *names], names, strict=False):
        page = pages.get((system, before, name)) if before is not None else None
        shown = tag("a", name, href=f"doc:{page}", title=f"All of {before} against {name}") if page else name
        heads.append(tag("th", shown, scope="col", class_="n"))
    body = [
        _row(line, names, lambda release, key, value: find(system, release, key, value), [one for one in changes if one.line is line])
        for line in members
    ]
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *body))
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=f"History of {system}")


def _row(line: HistoryLine, names: Sequence[str], find: Callable[[str, RowKey, float], str | None], changes: Sequence[HistoryChange]) -> Html:
    at = {point.release: point for point in line.points}
    reason = why_it_begins(line)
    why = tag("span", reason, class_="why") if reason else NOTHING
    name = tag("th", row_name(line.key).partition(", ")[2], why, scope="row")  # the page says which metric
    links = {release: find(names[release], line.key, point.value) for release, point in at.items()}
    cells = (_cell(at.get(release), line.key, links.get(release)) for release in range(len(names)))
    return tag("tr", name, tag("td", _trend(line, len(names), changes)), *cells, class_="anew" if reason else None)


def _cell(point: HistoryPoint | None, key: RowKey, link: str | None) -> Html:
    if point is None:
        return tag("td", class_="n")
    value = quantity(point.value, METRICS[key.metric].unit)
    shown = tag("a", value, href=link) if link else tag("span", value, class_="stat-median")
    return tag("td", shown, _marker(point.row) if point.row else NOTHING, class_="n")


def _marker(row: DiffRow) -> Html:
    ratio = words.ratio(row.ratio) if row.ratio is not None and row.verdict in ("worse", "better", "unreplicated_diff") else ""
    return tag("span", " ".join(filter(None, (_SHORT[row.verdict], ratio))), class_=f"v {row.verdict} stat-ratio", title=words.remark(row) or None)


def _trend(line: HistoryLine, releases: int, changes: Sequence[HistoryChange] = ()) -> Html:
    """The line, drawn over the releases; points that are worse or better than the one before have their colour and are larger.

    Where the line has steps, a dashed line shows the levels between them.
    """
    if len(line.points) < 2 or min(point.value for point in line.points) <= 0:  # noqa: PLR2004 - a line takes two
        return NOTHING
    places = list(_places(line, releases))
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in places)
    dots = [
        tag("circle", cx=f"{x:g}", cy=f"{y:g}", r=4 if verdict in ("worse", "better") else 2.5, class_=f"dot {verdict}".strip())
        for (x, y), verdict in zip(places, (point.row.verdict if point.row else "" for point in line.points), strict=True)
    ]
    title = tag("title", join([f"{row_name(line.key)}: {len(places)} releases"]))
    levels = [tag("path", d=_levels(line, places, changes), class_="levels", stroke_dasharray="3 2")] if changes else []
    return tag("svg", title, tag("path", d=path), *levels, *dots, class_="trend", viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img")


def _levels(line: HistoryLine, places: Sequence[tuple[float, float]], changes: Sequence[HistoryChange]) -> str:
    """The path of the levels between steps, each at the mean height of its points; a drift is one straight line."""
    starts = [place for place, point in enumerate(line.points) if any(one.kind == "step" and one.release == point.release for one in changes)]
    drift = next((one for one in changes if one.kind == "drift"), None)
    if drift is not None:
        ends = [place for place, point in enumerate(line.points) if point.release in (drift.before, drift.release)]
        parts = [places[: ends[0] + 1], places[ends[1] :]]
        heights = [sum(y for _, y in part) / len(part) for part in parts]
        (left, _), (right, _) = places[ends[0]], places[ends[1]]
        return f"M{places[0][0]:g} {heights[0]:.1f}H{left:g}L{right:g} {heights[1]:.1f}H{places[-1][0]:g}"
    stretches = [places[first:last] for first, last in pairwise([0, *starts, len(places)])]
    return "".join(f"M{part[0][0]:g} {sum(y for _, y in part) / len(part):.1f}H{part[-1][0]:g}" for part in stretches)


def list_of_changes(changes: Sequence[HistoryChange], names: Sequence[str]) -> list[Html]:
    """What changed, when, and how sure: a list of all steps and drifts; nothing if there are none."""
    if not changes:
        return []
    items = [tag("li", tag("b", f"{_when(one, names)}: "), change_words(one)) for one in changes]
    return [tag("p", f"Steps and drifts over all releases ({len(changes)}):"), tag("ul", *items, class_="changes")]


def _when(change: HistoryChange, names: Sequence[str]) -> str:
    return names[change.release] if change.kind == "step" else f"{names[change.before]} to {names[change.release]}"


def change_words(change: HistoryChange) -> str:
    """A step or a drift in words: what changed, how much, how sure, and by what."""
    key = change.line.key
    better = METRICS[key.metric].better
    rose = change.ratio > 1
    judged = "" if better is None else f", {'worse' if rose == (better == 'lower') else 'better'}"
    ends = sorted(abs(end - 1) for end in (change.low, change.high))
    how = f"{words.percent(ends[0])} to {words.percent(ends[1])}" if (change.low > 1) == (change.high > 1) else "or none"
    sure = f"at most {change.p:.1%}" if change.p >= _LEAST_SHOWN else f"less than {_LEAST_SHOWN:.1%}"
    name = row_name(key).partition(", ")[2]
    what = f"{name} {'rose' if rose else 'fell'} by {words.percent(abs(change.ratio - 1))} ({how}){judged}"
    kind = "drift" if change.kind == "drift" else "step"
    return f"{what}. By: {change.reason}. A page without any change shows such a {kind} in {sure.replace('%', ' %')} of cases."


def _places(line: HistoryLine, releases: int) -> Iterator[tuple[float, float]]:
    logs = [math.log(point.value) for point in line.points]
    # At least 10 % high, so that noise does not look like a mountain.
    low, span = min(logs), max(max(logs) - min(logs), math.log(1.1))
    middle = (max(logs) - low) / 2
    for point, value in zip(line.points, logs, strict=True):
        x = _ROOM + (_WIDTH - 2 * _ROOM) * point.release / max(releases - 1, 1)
        y = _HEIGHT / 2 - (_HEIGHT - 2 * _ROOM) * (value - low - middle) / span
        yield round(x, 1), round(y, 1)


def why_it_begins(line: HistoryLine) -> str | None:
    """Why a line begins anew; nothing if the release before has no such row under any conditions."""
    if line.other_runs_of is not None:
        return f"other runs of {line.other_runs_of} than before"
    row = line.begun_by
    if row is None:
        return None
    codes = row.reasons if row.verdict == "not_comparable" else tuple(one.field for one in row.differences if one.field != "host")
    reasons = "; ".join(words.reason(row, code) for code in codes)
    return f"another machine: {reasons}" if _HARDWARE & set(codes) else reasons or None
