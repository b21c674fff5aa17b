"""A diff as a comment on a pull request: short whatever the diff, the worst rows first, everything else folded or counted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tacholog.compare.result import Report
from tacholog.render.diff.counts import counts, headline
from tacholog.render.diff.loss import LossLine, loss_lines
from tacholog.render.diff.notes import host_words, machine_words, warnings
from tacholog.render.diff.sections import DiffLine, line_of
from tacholog.render.diff.summary import conclusion
from tacholog.render.markdown import escape

#: The comment has at most this many lines. With the requirements below it, both stay under 60.
MOST_LINES = 30
_OPEN = ("worse", "better")
_SHOWN = {"worse": 8, "better": 4}
_UNDECIDED = ("inconclusive", "too_few_pairs", "unreplicated_diff")
_MOST_UNDECIDED, _MOST_WARNINGS, _MOST_LOSS, _MOST_HOST = 3, 2, 2, 2
_FRAME = 7  # the lines around the folded rows and warnings
_HEAD = ("| row | old | new | change | 95 % interval | |", "|---|--:|--:|--:|:-:|---|")


def comment(report: Report) -> str:
    """Return the report as Markdown of at most `MOST_LINES` lines."""
    several = len({row.key.system for row in report.rows}) > 1
    rows = {verdict: [row for row in report.rows if row.verdict == verdict] for verdict in (*_OPEN, *_UNDECIDED)}
    lines = [f"### {escape(report.old.name)} → {escape(report.new.name)}: {escape(headline(report))}", "", escape(conclusion(report))]
    host = host_words(report)[:_MOST_HOST] if report.controls is not None and report.controls.moved else []
    host = [*machine_words(report), *host]
    if host:  # whoever reads only what is not folded must not blame the release for it
        lines += ["", *(f"> {escape(words)}" for words in host)]
    shown = [line_of(row, with_system=several) for verdict in _OPEN for row in rows[verdict][: _SHOWN[verdict]]]
    if shown:
        lines += ["", *_HEAD, *(_cells(line) for line in shown)]
        hidden = [f"{len(rows[verdict]) - _SHOWN[verdict]} more are {verdict}" for verdict in _OPEN if len(rows[verdict]) > _SHOWN[verdict]]
        lines += [f"| {', '.join(hidden)} | | | | | |"] if hidden else []
    lines += [f"- loss: {escape(line.name)}: {escape(line.remark)}" for line in _worse_loss(report)]
    undecided = [line_of(row, with_system=several) for verdict in _UNDECIDED for row in rows[verdict]]
    return "\n".join([*lines, *_folded(report, undecided, set(host), MOST_LINES - len(lines))]) + "\n"


def _folded(report: Report, undecided: Sequence[DiffLine], shown_above: Collection[str], room: int) -> Iterator[str]:
    """What is open, as far as there is room for it: at most so many lines, the counts and the warnings before the rows."""
    said = [warning for warning in warnings(report) if warning not in shown_above][:_MOST_WARNINGS]
    counted = ", ".join(f"{one.title}: {one.number}{f' ({one.ways})' if one.ways else ''}" for one in counts(report))
    if not counted and not said:
        return
    shown = undecided[: max(0, min(_MOST_UNDECIDED, room - len(said) - _FRAME))]
    yield ""
    if not shown and not said:
        yield escape(counted)
        return
    yield f"<details><summary>{escape(counted or 'Nothing was compared')}</summary>"
    yield ""
    if shown:
        yield from (*_HEAD, *map(_cells, shown), "")
    yield from (f"- {escape(warning)}" for warning in said)
    yield "</details>"


def _worse_loss(report: Report) -> list[LossLine]:
    return [line for line in loss_lines(report) if line.verdict == "worse"][:_MOST_LOSS]


def _cells(line: DiffLine) -> str:
    return "| " + " | ".join(escape(cell) for cell in (line.name, line.old, line.new, line.ratio, line.interval, line.remark)) + " |"
