"""Requirements as tables for a page: how each stands in the newest release, and what it was in the releases before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tacholog.compare.requirements.result import RequirementReport, RequirementResult
from tacholog.render.html import Html, join, tag
from tacholog.render.requirements.words import CLASSES, TITLES, RequirementLine, headline, lines, lines_of, lines_table, lost_words
from tacholog.render.table import Cell, Column, Row, Table, head, scroller
from tacholog.render.tables.history import Find
from tacholog.view.requirements import JudgedRelease, sections


def requirements_html(judged: Iterable[JudgedRelease], find: Find) -> Html:
    """Return two tables for each system: all rows of its newest release, and the verdict of each requirement in all of its releases.

    Args:
        judged: the releases.
        find: says where a value stands, which is that of a run.
    """
    parts: list[object] = []
    found = sections(judged)
    for releases in found.systems:
        last, system = releases[-1], releases[-1].system
        parts += [tag("h2", f"{system} {last.release}"), tag("p", f"{_counted(last.report)}.", class_="lead stat-count")]
        if lost := lost_words(last.report):
            parts.append(tag("p", f"{lost}.", class_="note stat-evidence"))
        parts.append(_rows(last, find))
        if len(releases) > 1:
            parts += [tag("h3", "History"), _history(releases, f"History of the requirements of {system}")]
    if found.nowhere:
        rows = [tag("li", f"{result.name} ({result.stated})", class_="stat-evidence") for result in found.nowhere]
        parts += [tag("h2", "No such row in any release"), tag("ul", *rows)]
    parts.append(
        tag("p", "For dashboards: ", tag("a", "the newest values and verdicts as JSON", href="root:results/latest.json"), ".", class_="says")
    )
    return tag("div", *parts, class_="tl-diff")


def _counted(report: RequirementReport) -> str:
    """Return how many requirements got each verdict, and of how many rows they speak if that is another number."""
    found = sum(len(result.rows) for result in report.results)
    return headline(report) if found in (0, len(report.results)) else f"{headline(report)} (requirements, with {found} rows together)"


def _rows(judged: JudgedRelease, find: Find) -> Html:
    def lead(line: RequirementLine) -> str | None:
        row = line.found
        return None if row is None or row.value is None or row.worse is not None else find(judged.system, judged.release, row.key, row.value)

    table = lines_table(lines(judged.report), f"Requirements of {judged.system} {judged.release}", lead)
    heads = [*(column._replace(heading=column.heading.capitalize()) for column in table.columns[:-1]), Column("Evidence")]
    rows = [row._replace(cells=[row.cells[0]._replace(text=tag("b", row.cells[0].text)), *row.cells[1:]]) for row in table.rows]
    # A table of the class `rows` shows no heads on narrow screens, so its cells must say by themselves what they are.
    return scroller(table._replace(columns=heads, bodies=[rows]), "scroll", tools=False)


def _history(releases: Sequence[JudgedRelease], label: str) -> Html:
    """Return a row for each requirement, in the order of the file, and a column for each release."""
    by_place = [{result.place: result for result in one.report.results} for one in releases]
    places = sorted(by_place[-1], key=lambda place: (len(place), place))
    rows = []
    for place in places:
        result = by_place[-1][place]
        first = [head(result.name, "stat-label"), Cell(result.stated, class_="stat-evidence")]
        rows.append(Row([*first, *(_cell(one[place]) for one in by_place)]))
    heads = [Column("Requirement"), Column("Limit"), *(Column(one.release, class_="n") for one in releases)]
    return scroller(Table(label, heads, [rows], "required"), "scroll", tools=False)


def _cell(result: RequirementResult) -> Cell:
    """Return the verdict of a requirement in a release; with its value, if it has one row."""
    found = lines_of(result)
    shown: list[object] = [TITLES[result.verdict].lower()]
    if len(result.rows) == 1 and found[0].value:
        shown += [tag("br"), found[0].value]
    elif len(result.rows) > 1:
        bad = sum(row.verdict != "passed" for row in result.rows)
        shown += [tag("br"), f"{len(result.rows)} rows" if not bad else f"{bad} of {len(result.rows)} rows"]
    return Cell(join(shown), class_=f"n {CLASSES[result.verdict]} stat-evidence")
