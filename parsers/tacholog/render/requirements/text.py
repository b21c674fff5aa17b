"""Requirements as text for a terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from tacholog.compare.requirements.result import RequirementReport, RequirementVerdict
from tacholog.render.markdown import escape, plain
from tacholog.render.requirements.words import TITLES, RequirementLine, about, headline, lines, lost_words

#: Markdown for a pull request has at most this many lines: what needs no attention is folded, and of what remains the worst comes first.
MOST_LINES = 28
_SAME = ""  # what a table shows for the name of the requirement of the row above


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
        yield from _table(list(found))


def _table(found: Sequence[RequirementLine]) -> Iterator[str]:
    heads = ("requirement", "row", "limit", "median", "interval")
    cells = [line.cells[:-1] for line in found]
    widths = [max(len(row[column]) for row in [heads, *cells]) if any(row[column] for row in cells) else 0 for column in range(len(heads))]
    for row, remark in zip([heads, *cells], ["", *(line.remark for line in found)], strict=True):
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width]
        yield f"  {'  '.join([*padded, remark])}".rstrip()


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
    rows = ["| | requirement | row | limit | median | interval | |", "|---|---|---|---|--:|---|---|"]
    rows += ["| " + " | ".join([_sign(line.verdict), *map(escape, line.cells)]) + " |" for line in found]
    return [*rows, *([f"| | and {hidden} more rows | | | | | |"] if hidden else [])]


def _sign(verdict: RequirementVerdict) -> str:
    return TITLES[verdict] if verdict == "passed" else f"**{TITLES[verdict]}**"
