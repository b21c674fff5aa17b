"""Requirements as text for a terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from tacholog.compare.requirements.result import RequirementReport
from tacholog.render.markdown import escape, plain
from tacholog.render.requirements.words import TITLES, RequirementLine, about, headline, lines, lines_table, lost_words
from tacholog.render.table import Column, terminal
from tacholog.render.table import markdown as markdown_table

#: Markdown for a pull request has at most this many lines: what needs no attention is folded, and of what remains the worst comes first.
MOST_LINES = 28


def text(report: RequirementReport) -> str:
    """Return the report as text, worst first."""
    return "\n".join(plain(line) for line in _text(report)) + "\n"


def _text(report: RequirementReport) -> Iterator[str]:
    yield f"{report.file}: {headline(report)} ({about(report)})"
    if lost := lost_words(report):
        yield f"! {lost}"
    for verdict, found in groupby(lines(report), key=lambda line: line.verdict):
        yield ""
        yield TITLES[verdict].upper()
        table = lines_table(list(found))
        shown = table._replace(columns=table.columns[1:], bodies=[[row._replace(cells=row.cells[1:]) for row in table.rows]])
        yield from (f"  {line}" for line in terminal(shown))


def markdown(report: RequirementReport, most_lines: int = MOST_LINES) -> str:
    """Return the report as Markdown of at most so many lines: what did not pass, worst first; then, folded, what did.

    Args:
        report: the verdicts.
        most_lines: how long it may be, 14 or more.
    """
    found = lines(report)
    open_rows = [line for line in found if line.verdict != "passed"]
    passed = [line for line in found if line.verdict == "passed"]
    head = [f"### Requirements: {headline(report)}", "", f"{escape(about(report))}."]
    head += ["", f"> **Note** {escape(lost)}."] if (lost := lost_words(report)) else []
    room = most_lines - len(head) - (4 if open_rows else 0) - (7 if passed else 0)
    shown = open_rows[: room if len(open_rows) <= room else room - 1]
    folded = passed[: max(0, room - len(shown) - 1)]
    body = [*head, *(["", *_rows(shown, len(open_rows) - len(shown))] if open_rows else [])]
    if passed:
        body += ["", f"<details><summary>{len(passed)} rows passed</summary>", "", *_rows(folded, len(passed) - len(folded)), "", "</details>"]
    return "\n".join(body) + "\n"


def _rows(found: Sequence[RequirementLine], hidden: int) -> list[str]:
    table = lines_table(found)
    rows = [
        row._replace(cells=[row.cells[0]._replace(best=line.verdict != "passed"), *row.cells[1:]])
        for row, line in zip(table.rows, found, strict=True)
    ]
    table = table._replace(columns=[Column(), *table.columns[1:]], bodies=[rows])
    return markdown_table(table.with_rest(f"and {hidden} more rows" if hidden else ""))
