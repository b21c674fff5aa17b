"""The history of a metric: one line a row over all releases of a system, and between neighbours the verdict of their comparison.

A value is that of the runs which the comparison rests on, in pairs those of the pairs: a release that was measured in two campaigns has a line in
each, and no median over both, in which two builds or two days would be one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from tacholog.compare.policy import TESTED
from tacholog.compare.result import Key, Report, Row, Verdict
from tacholog.render.diff import words
from tacholog.render.html import NOTHING, Html, join, slug, tag
from tacholog.render.tables.tables import Links
from tacholog.schema.metrics import METRICS
from tacholog.view.numerals import natural, quantity
from tacholog.view.results import Fact, Run

Compare = Callable[[str, str, str], Report]
Find = Callable[[str, str, Key, float], str | None]  # the link to a value of a release of a system
MACHINE = frozenset({"cpu_model", "cores_smt", "memory", "nic", "mtu"})
METRICS_SHOWN = tuple((metric, statistic) for metric, statistics in (*TESTED.items(), ("latency", ("mean", "typical"))) for statistic in statistics)
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


class Point(msgspec.Struct, frozen=True):
    """A release's value in a line, and the row that compares it with the release before. ``runs`` are the values that it is the median of."""

    release: int
    value: float
    row: Row | None
    runs: tuple[float, ...]


class Line(msgspec.Struct):
    """A row over the releases in which it was measured alike. ``why`` says what made it begin anew, if something did."""

    key: Key
    points: list[Point]
    why: str | None = None


def releases_of(runs: Iterable[Run]) -> dict[str, list[str]]:
    """The releases of each system that has any, in order: by the time of the first run where all state it, else by the numbers in their names."""
    first: dict[str, dict[str, str]] = {}
    for run in runs:
        if run.system and run.release:
            known = first.setdefault(run.system, {})
            times = [time for time in (known.get(run.release), run.start_time) if time]
            known[run.release] = min(times, default="")
    return {system: _ordered(times) for system, times in sorted(first.items())}


def _ordered(times: Mapping[str, str]) -> list[str]:
    if all(times.values()):
        return sorted(times, key=lambda release: (times[release], natural(release)))
    return sorted(times, key=natural)


def neighbours(runs: Iterable[Run]) -> list[tuple[str, str, str]]:
    """Each system with two of its releases that follow one another."""
    return [(system, old, new) for system, names in releases_of(runs).items() for old, new in pairwise(names)]


def since(runs: Iterable[Run]) -> list[tuple[str, str, str]]:
    """Each system's newest release, with each older one that is not its neighbour: who skipped releases asks for all that changed since theirs."""
    return [(system, old, names[-1]) for system, names in releases_of(runs).items() for old in reversed(names[:-2])]


def latest(runs: Sequence[Run]) -> tuple[str, str, str] | None:
    """The newest comparison: that of the own runs made last, with the release before them."""
    own = [run for run in runs if not run.published]
    last = max((run for run in own if run.release and run.start_time), key=lambda run: run.start_time or "", default=None)
    found = [pair for pair in neighbours(own) if last is not None and (pair[0], pair[2]) == (last.system, last.release)]
    return found[-1] if found else None


def tested(facts: Iterable[Fact]) -> set[tuple[str, str]]:
    """The metrics that comparisons of these numbers test: means where a system has no percentiles, messages a second where no bytes were moved."""
    by_system: dict[str | None, set[tuple[str, str]]] = {}
    for fact in facts:
        found = by_system.setdefault(fact.run.system, set())
        found.add((fact.metric, fact.statistic))
        if "no_bytes_moved" in fact.marks:
            found.add(("message_rate", "unmoved"))
    return {one for found in by_system.values() for one in found if not _stands_in(one, found)}


def _stands_in(one: tuple[str, str], found: set[tuple[str, str]]) -> bool:
    """Whether a number is only tested where a better one is missing, and that one is there."""
    metric, statistic = one
    if metric == "latency" and statistic not in TESTED["latency"]:
        return any((metric, better) in found for better in TESTED["latency"])
    return metric == "message_rate" and ("goodput", "mean") in found and ("message_rate", "unmoved") not in found


def diff_documents(runs: Collection[Run]) -> dict[tuple[str, str, str], str]:
    """The names of the pages that compare two releases: `X` and `x` are two systems, `1-rc` and `1-RC` two releases, and each page has its own."""
    found: dict[tuple[str, str, str], str] = {}
    taken = set[str]()
    for pair in sorted({*neighbours(runs), *since(runs)}):
        system, old, new = pair
        first = slug(f"{system} {old} to {new}")
        name = next(name for name in (first, *(f"{first}-{number}" for number in range(2, len(taken) + 3))) if name not in taken)
        taken.add(name)
        found[pair] = f"diffs/{name}"
    return found


def history_document(metric: str, statistic: str) -> str:
    """The name of the page of a metric's history."""
    return f"history/{slug(f'{metric} {statistic}')}"


def finder(facts: Iterable[Fact], links: Links) -> Find:
    """Say where values stand: the line of the run of that release which has that value; nothing where a value is none of a run."""
    by_row: dict[tuple[object, ...], list[Fact]] = {}
    for fact in facts:
        if fact.value is not None:
            key = (fact.run.system, fact.run.release, fact.conditions.transport, fact.payload_bytes, fact.metric, fact.statistic)
            by_row.setdefault(key, []).append(fact)

    def find(system: str, release: str, key: Key, value: float) -> str | None:
        there = by_row.get((system, release, key.transport, key.payload_bytes, key.metric, key.statistic), ())
        return next((links.to_line(fact) for fact in there if math.isclose(fact.value or 0.0, value)), None)

    return find


def _nowhere(_system: str, _release: str, _key: Key, _value: float) -> None:
    """Find nothing, where there are no pages of logs."""


def history(runs: Sequence[Run], metric: str, statistic: str, compare: Compare, pages: Iterable[str], find: Find = _nowhere) -> Html:
    """The tables of a metric, one a system with at least two releases; ``find`` says where a value of a release stands."""
    known, documents = set(pages), diff_documents(runs)
    parts: list[object] = []
    for system, names in releases_of(runs).items():
        reports = [compare(system, old, new) for old, new in pairwise(names)]
        found = lines(reports, metric, statistic)
        if found:
            parts += [
                tag("p", tag("b", system), class_="lead"),
                _table(system, names, found, {pair: page for pair, page in documents.items() if page in known}, find),
            ]
    return tag("div", *parts, tag("p", _LEGEND, class_="says"), class_="tl-diff") if parts else NOTHING


_LEGEND = (
    "Below each value: what the comparison with the release before it found. Each value is that of one run: the median of the runs that this "
    "comparison used (of the paired ones, if it used pairs). The ratio beside worse or better is estimated over all pairs (Hodges-Lehmann), "
    "so it may differ from the quotient of two values. A rise or fall of the trend is more than chance only where the value is worse or better. "
    "A new line begins where two releases are not comparable, such as on another machine, and where the next comparison uses other runs of a "
    "release, such as those of another campaign or build. Each line's trend has a scale of its own."
)


def lines(reports: Sequence[Report], metric: str, statistic: str) -> list[Line]:
    """Join the rows of neighbouring comparisons into lines. A row goes on where the next comparison starts from the same value of the same row."""
    found: list[Line] = []
    for index, report in enumerate(reports):
        chosen = [row for row in report.rows if (row.key.metric, row.key.statistic) == (metric, statistic)]
        for row in sorted(chosen, key=lambda row: not _goes_on(row)):  # what is only there or does not compare adds no line where one ends already
            _add(found, index, row, report.old.name)
    return sorted(found, key=lambda line: (_name(line.key), line.points[0].release))


def _goes_on(row: Row) -> bool:
    """Whether a row joins two releases."""
    return row.old is not None and row.new is not None and row.verdict != "not_comparable"


def _add(found: list[Line], index: int, row: Row, release: str) -> None:
    line = _line_of(found, index, row, release)
    new = row.new.median if row.new else None
    if row.new is None or new is None:
        return
    if line is not None and _goes_on(row):
        line.points.append(Point(index + 1, new, row, row.new.values))
    else:
        found.append(Line(row.new_key or row.key, [Point(index + 1, new, None, row.new.values)], _why(row)))


def _line_of(found: list[Line], index: int, row: Row, release: str) -> Line | None:
    """The line that ends where a row begins: a new one, if the row rests on other runs of the release than the lines that are there."""
    if row.old is None or row.old.median is None:
        return None
    old = Point(index, row.old.median, None, row.old.values)
    there = [one for one in found if _is_alike(one.key, row.key) and index in {point.release for point in one.points}]
    line = _from_runs(there, old)
    if line is None and (_goes_on(row) or not there):
        line = Line(row.key, [old], f"other runs of {release} than before" if there else None)
        found.append(line)
    return line


def _is_alike(one: Key, other: Key) -> bool:
    """Whether two comparisons name the same row: one may have to tell it from more others, and say more of it."""
    told = dict(other.apart)
    return msgspec.structs.replace(one, apart=other.apart) == other and all(told.get(name, value) == value for name, value in one.apart)


def _from_runs(found: Sequence[Line], start: Point) -> Line | None:
    """The line that ends with this value of this release, of the same runs: the runs of two campaigns can have the same median by chance."""
    return next((one for one in found if _same_runs(one.points[-1], start)), None)


def _same_runs(end: Point, start: Point) -> bool:
    """Whether two points are of the same runs, as far as their values tell: those of pairs, or of sessions, are fewer than those of all runs."""
    alike = end.release == start.release and math.isclose(end.value, start.value)
    return alike and (len(end.runs) != len(start.runs) or sorted(end.runs) == sorted(start.runs))


def _why(row: Row) -> str | None:
    """What is different, so that a line begins anew; nothing of a row that the release before has not under any conditions."""
    codes = row.reasons if row.verdict == "not_comparable" else tuple(one.field for one in row.differences if one.field != "host")
    said = "; ".join(words.reason(row, code) for code in codes)
    return f"another machine: {said}" if MACHINE & set(codes) else said or None


def _name(key: Key) -> tuple[object, ...]:
    return words.name(msgspec.structs.replace(key, payload_bytes=None)), key.payload_bytes or 0


def _table(system: str, names: Sequence[str], found: Sequence[Line], pages: Mapping[tuple[str, str, str], str], find: Find) -> Html:
    heads = [tag("th", "Row", scope="col"), tag("th", "Trend", scope="col")]
    for before, name in zip([None, *names], names, strict=False):
        page = pages.get((system, before, name)) if before is not None else None
        shown = tag("a", name, href=f"doc:{page}", title=f"All of {before} against {name}") if page else name
        heads.append(tag("th", shown, scope="col", class_="n"))
    body = [_row(line, names, lambda release, key, value: find(system, release, key, value)) for line in found]
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *body))
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=f"History of {system}")


def _row(line: Line, names: Sequence[str], find: Callable[[str, Key, float], str | None]) -> Html:
    at = {point.release: point for point in line.points}
    why = tag("span", line.why, class_="why") if line.why else NOTHING
    name = tag("th", words.name(line.key).partition(", ")[2], why, scope="row")  # the page says which metric
    links = {release: find(names[release], line.key, point.value) for release, point in at.items()}
    cells = (_cell(at.get(release), line.key, links.get(release)) for release in range(len(names)))
    return tag("tr", name, tag("td", _trend(line, len(names))), *cells, class_="anew" if line.why else None)


def _cell(point: Point | None, key: Key, link: str | None) -> Html:
    if point is None:
        return tag("td", class_="n")
    value = quantity(point.value, METRICS[key.metric].unit)
    shown = tag("a", value, href=link) if link else tag("span", value, class_="stat-median")
    return tag("td", shown, _marker(point.row) if point.row else NOTHING, class_="n")


def _marker(row: Row) -> Html:
    ratio = words.ratio(row.ratio) if row.ratio is not None and row.verdict in ("worse", "better", "unreplicated_diff") else ""
    return tag("span", " ".join(filter(None, (_SHORT[row.verdict], ratio))), class_=f"v {row.verdict} stat-ratio", title=words.remark(row) or None)


def _trend(line: Line, releases: int) -> Html:
    """The line, drawn over the releases; points that are worse or better than the one before have their colour and are larger."""
    if len(line.points) < 2 or min(point.value for point in line.points) <= 0:  # noqa: PLR2004 - a line takes two
        return NOTHING
    places = list(_places(line, releases))
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in places)
    dots = [
        tag("circle", cx=f"{x:g}", cy=f"{y:g}", r=4 if verdict in ("worse", "better") else 2.5, class_=f"dot {verdict}".strip())
        for (x, y), verdict in zip(places, (point.row.verdict if point.row else "" for point in line.points), strict=True)
    ]
    title = tag("title", join([f"{words.name(line.key)}: {len(places)} releases"]))
    return tag("svg", title, tag("path", d=path), *dots, class_="trend", viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img")


def _places(line: Line, releases: int) -> Iterator[tuple[float, float]]:
    logs = [math.log(point.value) for point in line.points]
    # At least 10 % high, so that noise does not look like a mountain.
    low, span = min(logs), max(max(logs) - min(logs), math.log(1.1))
    middle = (max(logs) - low) / 2
    for point, value in zip(line.points, logs, strict=True):
        x = _ROOM + (_WIDTH - 2 * _ROOM) * point.release / max(releases - 1, 1)
        y = _HEIGHT / 2 - (_HEIGHT - 2 * _ROOM) * (value - low - middle) / span
        yield round(x, 1), round(y, 1)


__all__ = [
    "METRICS_SHOWN",
    "Line",
    "Point",
    "diff_documents",
    "finder",
    "history",
    "history_document",
    "latest",
    "lines",
    "neighbours",
    "releases_of",
    "since",
    "tested",
]
