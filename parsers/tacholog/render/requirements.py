"""Requirements in words: text for a terminal, Markdown for a pull request, JUnit XML for CI services, badges for a README, and tables for a page.

In JUnit XML, a requirement is a test suite, and each of its rows is a test case. A row with the verdict "cannot be told" is an error, or skipped if
the caller accepts it. Source: https://github.com/testmoapp/junitxml, which describes the elements that the services read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tacholog.compare.policy import MIN_RUNS, samples_needed
from tacholog.compare.requirements.judge import FAIL_ON
from tacholog.compare.requirements.result import VERDICTS, RequirementReport, RequirementResult, RequirementRow, RequirementVerdict
from tacholog.render.diff.words import REASONS as DIFF_REASONS
from tacholog.render.diff.words import percent
from tacholog.render.html import Html, join, tag
from tacholog.render.markdown import escape, plain
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, head, scroller, terminal
from tacholog.render.table import markdown as markdown_table
from tacholog.render.tables.history import FindLink
from tacholog.schema.marks import MARKS
from tacholog.schema.metrics import METRICS
from tacholog.slugs import slug
from tacholog.view.names import row_name
from tacholog.view.numerals import quantity
from tacholog.view.refusals import TITLES as CONDITION_TITLES
from tacholog.view.requirements import JudgedRelease, sections
from tacholog.visible import drawn

_TWO = 2  # if this number of requirements passed, the word is "both", not "all"
TITLES: Mapping[RequirementVerdict, str] = MappingProxyType(
    {"failed": "Failed", "missing": "No such row", "undecided": "Cannot be told", "passed": "Passed"}
)
CLASSES: Mapping[RequirementVerdict, str] = MappingProxyType(  # CSS classes of verdicts of comparisons, for the same colours
    {"failed": "worse", "missing": "not_comparable", "undecided": "inconclusive", "passed": "no_change"}
)
_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "same_runs": "these are the runs that the requirement compares with",
        "across_limit": "the interval lies on both sides of the limit",
        "sessions_disagree": "the sessions lie on different sides of the limit",
        "some_runs_lost": "most runs are within the limit, but some lost so much that the mean of all is beyond it",
        "lossy": "more than 1 % of the messages were lost, so the figures describe only those that arrived",
        "marked": "a run failed, its log is not the one that was recorded, or its figures contradict each other",
        "removed": "only the other release has this row",
        "added": "the other release does not have this row",
    }
)


_NAMED = 3


class RequirementLine(NamedTuple):
    """A row of a requirement, or a requirement without rows, as one line of a table. ``result_row`` is the row itself."""

    verdict: RequirementVerdict
    requirement: str
    row: str
    limit: str
    value: str
    interval: str
    remark: str
    result_row: RequirementRow | None = None


def lines_table(
    requirement_lines: Sequence[RequirementLine], label: str = "", link_of: Callable[[RequirementLine], str | None] = lambda _line: None
) -> Table:
    """Return lines as a table. ``link_of`` returns the link from a median to the log line of the run with this value."""
    columns = [TableColumn(name) for name in ("verdict", "requirement", "row", "limit")]
    columns += [TableColumn("median", align="right"), TableColumn("interval"), TableColumn()]
    rows = []
    for line in requirement_lines:
        link = link_of(line)
        is_median = line.result_row is not None and line.result_row.value is not None and line.result_row.worse is None
        cells = [
            TableCell(TITLES[line.verdict], class_=f"{CLASSES[line.verdict]} stat-evidence"),
            head(line.requirement, "stat-label"),
            TableCell(line.row, class_="stat-label"),
            TableCell(line.limit, class_="stat-evidence"),
            TableCell(line.value, link=link, class_="" if link else "n stat-median" if is_median else "n stat-evidence"),
            TableCell(line.interval, class_="i stat-interval"),
            TableCell(line.remark, class_="r stat-evidence"),
        ]
        rows.append(TableRow(cells))
    return Table(label, columns, [rows], "rows required")


def headline(report: RequirementReport) -> str:
    """Return the result in one line: the number of requirements with each verdict, the worst first."""
    counted = [f"{report.counts[verdict]} {TITLES[verdict].lower()}" for verdict in VERDICTS if report.counts[verdict]]
    return ", ".join(counted) or "no requirements"


def lines(report: RequirementReport) -> list[RequirementLine]:
    """Return all rows of all requirements, the worst first."""
    requirement_lines = [line for result in report.results for line in lines_of(result)]
    return sorted(requirement_lines, key=lambda line: VERDICTS.index(line.verdict))


def lines_of(result: RequirementResult) -> list[RequirementLine]:
    """Return the rows of a requirement; one line without a row if there is none."""
    if not result.rows:
        return [RequirementLine("missing", result.name, "", result.stated, "", "", result.hint or "")]
    several = len({row.key.system for row in result.rows}) > 1
    return [_of_row(result, row, with_system=several) for row in result.rows]


def _of_row(result: RequirementResult, row: RequirementRow, *, with_system: bool) -> RequirementLine:
    name = row_name(row.key, with_system=with_system)
    unit = METRICS[row.key.metric].unit
    value = quantity(row.value, unit) if row.value is not None else ""
    if result.kind == "worse":
        value = change(row.worse) if row.worse is not None else ""
    limit = result.stated if row.limit is None else f"{result.stated} ({percent(row.limit)})"
    return RequirementLine(row.verdict, result.name, name, limit, value, interval(result, row), remark(result, row), row)


def interval(result: RequirementResult, row: RequirementRow) -> str:
    """Return the interval of a row; an empty text if there is none."""
    if row.interval is None:
        return ""
    low, high = row.interval
    if result.kind == "worse":
        ends = [change(end) if end is not None else "any" for end in (low, high)]
    else:
        unit = METRICS[row.key.metric].unit
        ends = [quantity(end, unit) if end is not None else "any" for end in (low, high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def change(worse: float) -> str:
    """Return, in words, by how much the new side is worse or better."""
    return "equal" if worse == 0 else f"{percent(abs(worse))} {'worse' if worse > 0 else 'better'}"


def remark(result: RequirementResult, row: RequirementRow) -> str:
    """Return the evidence for the verdict of a row, or the reason why it is undecided."""
    return "; ".join([*(reason(result, row, code) for code in row.reasons), *_evidence(row)])


def _evidence(row: RequirementRow) -> list[str]:
    if not row.runs or row.over is None:
        return []
    if row.over == "pairs":
        return [f"{row.runs} pairs"]
    count = row.sessions if row.over == "sessions" and row.sessions else row.runs
    medians = f"medians of {_counted(count, 'session')}" if row.over == "sessions" else _counted(count, "run")
    days = f" in {_counted(row.sessions, 'session')}" if row.over == "runs" and row.sessions else ""
    confidence = f", {row.confidence:.1%} interval".replace("%", "\u00a0%") if row.confidence and row.interval else ""
    return [f"{medians}{days}{confidence}"]


def reason(result: RequirementResult, row: RequirementRow, code: str) -> str:
    """Return why a row is undecided."""
    if code == "few_runs":
        if result.kind == "worse":
            return f"too few runs: {MIN_RUNS} a side are needed"
        can = f"they give {row.confidence:.1%} at most".replace("%", "\u00a0%") if row.confidence else "a single run gives no interval"
        return f"too few runs: {row.needed} are needed for {result.confidence * 100:g} %, and {can}"
    if code == "undersampled":
        needed = row.needed or samples_needed(row.key.statistic)
        return f"too few samples for a verdict: {row.key.statistic} needs {f'{needed:,}' if needed else 'more'} in each run"
    if code in MARKS:
        return MARKS[code].title.lower()
    if words := _REASONS.get(code) or DIFF_REASONS.get(code):
        return words
    return f"not comparable: {CONDITION_TITLES.get(code, code.replace('_', ' '))}"


def lost_words(report: RequirementReport) -> str:
    """Return, in words, the runs that did not end well; an empty text if all did. Their results are missing from the values."""
    if not report.lost:
        return ""
    named = ", ".join(f"{run.run} ({run.status})" for run in report.lost[:_NAMED])
    more = f" and {len(report.lost) - _NAMED} more" if len(report.lost) > _NAMED else ""
    return f"{_counted(len(report.lost), 'run')} did not end well, so the values may leave out the worst: {named}{more}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def about(report: RequirementReport) -> str:
    """Return the systems, the releases and the number of runs that were judged."""
    names: Sequence[str] = [", ".join(report.systems), ", ".join(report.releases)]
    return ", ".join([*(name for name in names if name), _counted(report.runs, "run")])


#: The largest number of Markdown lines for a pull request. Rows that need no attention are folded, and of the others, the worst come first.
MOST_LINES = 28


def text(report: RequirementReport) -> str:
    """Return the report as text, the worst rows first."""
    return "\n".join(plain(line) for line in _text(report)) + "\n"


def _text(report: RequirementReport) -> Iterator[str]:
    yield f"{report.file}: {headline(report)} ({about(report)})"
    if lost := lost_words(report):
        yield f"! {lost}"
    for verdict, members in groupby(lines(report), key=lambda line: line.verdict):
        yield ""
        yield TITLES[verdict].upper()
        table = lines_table(list(members))
        without_verdict = table._replace(columns=table.columns[1:], bodies=[[row._replace(cells=row.cells[1:]) for row in table.rows]])
        yield from (f"  {line}" for line in terminal(without_verdict))


def markdown(report: RequirementReport, most_lines: int = MOST_LINES) -> str:
    """Return the report as Markdown of at most ``most_lines`` lines: the rows that did not pass, the worst first; then, folded, the rows that did.

    Args:
        report: the verdicts.
        most_lines: the largest number of lines, at least 14.
    """
    requirement_lines = lines(report)
    open_rows = [line for line in requirement_lines if line.verdict != "passed"]
    passed = [line for line in requirement_lines if line.verdict == "passed"]
    head = [f"### Requirements: {headline(report)}", "", f"{escape(about(report))}."]
    head += ["", f"> **Note** {escape(lost)}."] if (lost := lost_words(report)) else []
    room = most_lines - len(head) - (4 if open_rows else 0) - (7 if passed else 0)
    listed = open_rows[: room if len(open_rows) <= room else room - 1]
    folded = passed[: max(0, room - len(listed) - 1)]
    body = [*head, *(["", *_markdown_rows(listed, len(open_rows) - len(listed))] if open_rows else [])]
    if passed:
        body += [
            "",
            f"<details><summary>{len(passed)} rows passed</summary>",
            "",
            *_markdown_rows(folded, len(passed) - len(folded)),
            "",
            "</details>",
        ]
    return "\n".join(body) + "\n"


def _markdown_rows(requirement_lines: Sequence[RequirementLine], hidden: int) -> list[str]:
    table = lines_table(requirement_lines)
    rows = [
        row._replace(cells=[row.cells[0]._replace(best=line.verdict != "passed"), *row.cells[1:]])
        for row, line in zip(table.rows, requirement_lines, strict=True)
    ]
    table = table._replace(columns=[TableColumn(), *table.columns[1:]], bodies=[rows])
    return markdown_table(table.with_rest(f"and {hidden} more rows" if hidden else ""))


def junit(report: RequirementReport, fail_on: Collection[str] = ()) -> str:
    """Return the report as JUnit XML.

    Args:
        report: the verdicts.
        fail_on: the verdicts that are failures or errors; if empty, all except ``passed``. Rows with other verdicts are skipped.
    """
    counted = fail_on or FAIL_ON
    root = Element("testsuites", name="requirements")
    totals = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for result in report.results:
        suite = SubElement(root, "testsuite", name=drawn(result.name), file=drawn(result.place))
        suite_counts = _suite(suite, result, counted)
        for name, count in suite_counts.items():
            suite.set(name, str(count))
            totals[name] += count
    for name, count in totals.items():
        root.set(name, str(count))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(suite: Element, result: RequirementResult, counted: Collection[str]) -> dict[str, int]:
    totals = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for line in lines_of(result):
        totals["tests"] += 1
        case = SubElement(suite, "testcase", name=drawn(line.row or line.requirement), classname=drawn(result.name), time="0")
        if line.verdict == "passed":
            continue
        kind = "skipped" if line.verdict not in counted else "failure" if line.verdict == "failed" else "error"
        totals[{"failure": "failures", "error": "errors"}.get(kind, kind)] += 1
        outcome = SubElement(case, kind, message=drawn(_message(line)))
        if kind != "skipped":
            outcome.set("type", line.verdict)
    return totals


def _message(line: RequirementLine) -> str:
    value = f"{line.value} ({line.interval})" if line.interval else line.value
    return "; ".join(part for part in (line.limit, value, line.remark) if part)


# White text on these colours has a contrast of at least 4.5.
_COLOURS: Mapping[RequirementVerdict, str] = MappingProxyType(
    {"failed": "#b3261e", "missing": "#8a5a00", "undecided": "#8a5a00", "passed": "#1e7b34"}
)
_GREY = "#555"
_HEIGHT, _PAD, _BASE = 20, 6, 14
_NARROW, _WIDE = "fijlrt.,:;!|'()[] I", "mwMW%@"  # characters whose width differs most from the average, in a sans-serif font of 11 px
_LONGEST = 80


def badges(report: RequirementReport) -> dict[str, str]:
    """Return a badge for each requirement, and the badge ``requirements`` for all of them, by file name without ``.svg``."""
    worst = report.results[0].verdict if report.results else "missing"  # The results are sorted, the worst first.
    images = {"requirements": badge("requirements", headline(report), worst)}
    for result in report.results:
        name = slug(result.name)
        while name in images:  # several requirements may have the same name
            name += "-2"
        images[name] = badge(result.name, _verdict_text(result), result.verdict)
    return images


def _verdict_text(result: RequirementResult) -> str:
    return f"{result.stated}: {TITLES[result.verdict].lower()}"


def badge(label: str, message: str, verdict: RequirementVerdict) -> str:
    """Return a badge: the label on grey, the message on the colour of the verdict. The title states the verdict for colour-blind readers."""
    texts = [_shortened(label), _shortened(message)]
    widths = [_width(text) + 2 * _PAD for text in texts]
    total = sum(widths)
    boxes = [
        tag("rect", width=widths[0], height=_HEIGHT, fill=_GREY),
        tag("rect", x=widths[0], width=widths[1], height=_HEIGHT, fill=_COLOURS[verdict]),
    ]
    placed = [_badge_text(texts[0], 0, widths[0]), _badge_text(texts[1], widths[0], widths[1])]
    head = {"xmlns": "http://www.w3.org/2000/svg", "width": total, "height": _HEIGHT, "role": "img", "aria_label": f"{label}: {message}"}
    font = tag("g", *placed, fill="#fff", text_anchor="middle", font_family="Verdana,DejaVu Sans,sans-serif", font_size="11")
    return str(tag("svg", tag("title", f"{label}: {message}"), *boxes, font, **head)) + "\n"


def _badge_text(text: str, left: int, width: int) -> Html:
    return tag("text", text, x=f"{left + width / 2:g}", y=_BASE, textLength=width - 2 * _PAD)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}\u2026"


def _width(text: str) -> int:
    """Return the approximate width of a text at 11 px. ``textLength`` gives exactly this width to any font."""
    return round(sum(4.0 if char in _NARROW else 10.0 if char in _WIDE else 7.0 for char in text))


def requirements_html(judged: Iterable[JudgedRelease], find: FindLink) -> Html:
    """Return two tables for each system: all rows of its newest release, and the verdict of each requirement in all of its releases.

    Args:
        judged: the releases.
        find: a function that returns the link from a value to the log line of the run with this value.
    """
    parts: list[object] = []
    judged_sections = sections(judged)
    for releases in judged_sections.systems:
        last, system = releases[-1], releases[-1].system
        parts += [tag("h2", f"{system} {last.release}"), tag("p", f"{_requirement_counts(last.report)}.", class_="lead stat-count")]
        if lost := lost_words(last.report):
            parts.append(tag("p", f"{lost}.", class_="note stat-evidence"))
        parts.append(_page_rows(last, find))
        if len(releases) > 1:
            parts += [tag("h3", "History"), _history(releases, f"History of the requirements of {system}")]
    if judged_sections.nowhere:
        rows = [tag("li", f"{result.name} ({result.stated})", class_="stat-evidence") for result in judged_sections.nowhere]
        parts += [tag("h2", "No such row in any release"), tag("ul", *rows)]
    parts.append(
        tag("p", "For dashboards: ", tag("a", "the newest values and verdicts as JSON", href="root:results/latest.json"), ".", class_="says")
    )
    return tag("div", *parts, class_="tl-diff")


def _requirement_counts(report: RequirementReport) -> str:
    count, total = sum(len(result.rows) for result in report.results), len(report.results)
    counted = f"{'Both' if total == _TWO else f'All {total}'} requirements passed" if report.counts["passed"] == total > 1 else headline(report)
    return counted if count in (0, total) else f"{counted} ({count} measurements)"


def _page_rows(judged: JudgedRelease, find: FindLink) -> Html:
    def link_of(line: RequirementLine) -> str | None:
        row = line.result_row
        return None if row is None or row.value is None or row.worse is not None else find(judged.system, judged.release, row.key, row.value)

    table = lines_table(lines(judged.report), f"Requirements of {judged.system} {judged.release}", link_of)
    heads = [*(column._replace(heading=column.heading.capitalize()) for column in table.columns[:-1]), TableColumn("Evidence")]
    rows = [row._replace(cells=[row.cells[0]._replace(text=tag("b", row.cells[0].text)), *row.cells[1:]]) for row in table.rows]
    # A table of the class `rows` has no headings on narrow screens, so its cells must be understood without headings.
    return scroller(table._replace(columns=heads, bodies=[rows]), "scroll", tools=False)


def _history(releases: Sequence[JudgedRelease], label: str) -> Html:
    by_place = [{result.place: result for result in release.report.results} for release in releases]
    entry_names = sorted(by_place[-1], key=lambda entry_name: (len(entry_name), entry_name))
    rows = []
    for entry_name in entry_names:
        result = by_place[-1][entry_name]
        first = [head(result.name, "stat-label"), TableCell(result.stated, class_="stat-evidence")]
        rows.append(TableRow([*first, *(_verdict_cell(results[entry_name]) for results in by_place)]))
    heads = [TableColumn("Requirement"), TableColumn("Limit"), *(TableColumn(release.release, class_="n") for release in releases)]
    return scroller(Table(label, heads, [rows], "required"), "scroll", tools=False)


def _verdict_cell(result: RequirementResult) -> TableCell:
    requirement_lines = lines_of(result)
    parts: list[object] = [TITLES[result.verdict].lower()]
    if len(result.rows) == 1 and requirement_lines[0].value:
        parts += [tag("br"), requirement_lines[0].value]
    elif len(result.rows) > 1:
        bad = sum(row.verdict != "passed" for row in result.rows)
        parts += [tag("br"), f"{len(result.rows)} rows" if not bad else f"{bad} of {len(result.rows)} rows"]
    return TableCell(join(parts), class_=f"n {CLASSES[result.verdict]} stat-evidence")
