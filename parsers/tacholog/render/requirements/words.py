"""A requirement in words: its verdict, its values, on what evidence, or why it cannot be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from tacholog.compare.policy import MIN_RUNS
from tacholog.compare.requirements.result import VERDICTS, RequirementReport, RequirementResult, RequirementRow, RequirementVerdict
from tacholog.render.diff.meanings import REASONS as DIFF_REASONS
from tacholog.render.diff.words import percent
from tacholog.render.table import Cell, Column, Row, Table, head
from tacholog.schema.marks import MARKS
from tacholog.schema.metrics import METRICS
from tacholog.view.names import row_name
from tacholog.view.numerals import quantity
from tacholog.view.refusals import TITLES as CONDITION_TITLES

TITLES: Mapping[RequirementVerdict, str] = MappingProxyType(
    {"failed": "Failed", "missing": "No such row", "undecided": "Cannot be told", "passed": "Passed"}
)
CLASSES: Mapping[RequirementVerdict, str] = MappingProxyType(  # of the verdicts of a diff that have the same colours
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
    """A row of a requirement, or a requirement without rows, as one line of a table. ``found`` is the row itself."""

    verdict: RequirementVerdict
    requirement: str
    row: str
    limit: str
    value: str
    interval: str
    remark: str
    found: RequirementRow | None = None


def lines_table(found: Sequence[RequirementLine], label: str = "", lead: Callable[[RequirementLine], str | None] = lambda _line: None) -> Table:
    """Return lines as a table. ``lead`` gives the link to a median, which is the value of a run."""
    columns = [Column(name) for name in ("verdict", "requirement", "row", "limit")]
    columns += [Column("median", align="right"), Column("interval"), Column()]
    rows = []
    for line in found:
        link = lead(line)
        is_median = line.found is not None and line.found.value is not None and line.found.worse is None
        cells = [
            Cell(TITLES[line.verdict], class_=f"{CLASSES[line.verdict]} stat-evidence"),
            head(line.requirement, "stat-label"),
            Cell(line.row, class_="stat-label"),
            Cell(line.limit, class_="stat-evidence"),
            Cell(line.value, link=link, class_="" if link else "n stat-median" if is_median else "n stat-evidence"),
            Cell(line.interval, class_="i stat-interval"),
            Cell(line.remark, class_="r stat-evidence"),
        ]
        rows.append(Row(cells))
    return Table(label, columns, [rows], "rows required")


def headline(report: RequirementReport) -> str:
    """Return the result in one line: how many requirements got each verdict, worst first."""
    counted = [f"{report.counts[verdict]} {TITLES[verdict].lower()}" for verdict in VERDICTS if report.counts[verdict]]
    return ", ".join(counted) or "no requirements"


def lines(report: RequirementReport) -> list[RequirementLine]:
    """Return all rows of all requirements, worst first."""
    found = [line for result in report.results for line in lines_of(result)]
    return sorted(found, key=lambda line: VERDICTS.index(line.verdict))


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
    """Return the interval of a row; nothing if there is none."""
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
    """Return a change in words: by how much the new side is worse or better."""
    return "equal" if worse == 0 else f"{percent(abs(worse))} {'worse' if worse > 0 else 'better'}"


def remark(result: RequirementResult, row: RequirementRow) -> str:
    """Return on what evidence a row was judged, or why it cannot be told."""
    return "; ".join([*(reason(result, row, code) for code in row.reasons), *_evidence(row)])


def _evidence(row: RequirementRow) -> list[str]:
    if not row.runs or row.over is None:
        return []
    if row.over == "pairs":
        return [f"{row.runs} pairs"]
    count = row.sessions if row.over == "sessions" and row.sessions else row.runs
    of = f"medians of {_counted(count, 'session')}" if row.over == "sessions" else _counted(count, "run")
    days = f" in {_counted(row.sessions, 'session')}" if row.over == "runs" and row.sessions else ""
    confidence = f", {row.confidence:.1%} interval".replace("%", "\u00a0%") if row.confidence and row.interval else ""
    return [f"{of}{days}{confidence}"]


def reason(result: RequirementResult, row: RequirementRow, code: str) -> str:
    """Return why a row cannot be told."""
    if code == "few_runs":
        if result.kind == "worse":
            return f"too few runs: {MIN_RUNS} a side are needed"
        can = f"they give {row.confidence:.1%} at most".replace("%", "\u00a0%") if row.confidence else "a single run gives no interval"
        return f"too few runs: {row.needed} are needed for {result.confidence * 100:g} %, and {can}"
    if code == "undersampled":
        wanted = f"{row.needed:,} samples in each run" if row.needed else "more samples in each run"
        return f"too few samples: {row.key.statistic} needs {wanted}"
    if code in MARKS:
        return MARKS[code].title.lower()
    if known := _REASONS.get(code) or DIFF_REASONS.get(code):
        return known
    return f"not comparable: {CONDITION_TITLES.get(code, code.replace('_', ' '))}"


def lost_words(report: RequirementReport) -> str:
    """Return which runs did not end well; nothing if all did. What they would have shown is not in any value."""
    if not report.lost:
        return ""
    named = ", ".join(f"{run.run} ({run.status})" for run in report.lost[:_NAMED])
    more = f" and {len(report.lost) - _NAMED} more" if len(report.lost) > _NAMED else ""
    return f"{_counted(len(report.lost), 'run')} did not end well, so the values may leave out the worst: {named}{more}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def about(report: RequirementReport) -> str:
    """Return what was judged: systems, releases, and how many runs."""
    names: Sequence[str] = [", ".join(report.systems), ", ".join(report.releases)]
    return ", ".join([*(name for name in names if name), _counted(report.runs, "run")])
