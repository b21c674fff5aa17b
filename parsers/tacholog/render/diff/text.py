"""A diff as text for a terminal, as Markdown for a pull request, and as a short comment on one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tacholog.compare.result import Comparison
from tacholog.render.diff.document import LOSS_SAYS, DiffLine, Document, VerdictSection, document, line_of, loss_lines, rows_table
from tacholog.render.diff.notes import host_words, machine_words, warnings
from tacholog.render.diff.summary import conclusion, counts, headline, shown_part
from tacholog.render.diff.words import LossLine
from tacholog.render.markdown import escape, plain
from tacholog.render.table import Cell, Column, Row, Table, terminal
from tacholog.render.table import markdown as markdown_table

FOLDED = ("no_change", "unreplicated_same")  # These rows are counted, and listed only on request: nobody needs to look at them.
#: The comment has at most this many lines. With the requirements below it, both stay under 60.
MOST_LINES = 30
_OPEN = ("worse", "better")
_SHOWN = {"worse": 8, "better": 4}
_UNDECIDED = ("inconclusive", "too_few_pairs", "unreplicated_diff")
_MOST_UNDECIDED, _MOST_WARNINGS, _MOST_LOSS, _MOST_HOST = 3, 2, 2, 2
_FRAME = 7  # the lines around the folded rows and warnings


def text(report: Comparison, only: Sequence[str] = (), limit: int = 20) -> str:
    """The report as text, worst first.

    Args:
        report: the comparison.
        only: the verdicts to list; none: all except rows without a change.
        limit: rows to list of each verdict; 0: all.
    """
    return "\n".join(plain(line) for line in _text(shown_part(report, only), only, limit)) + "\n"


def markdown(report: Comparison, only: Sequence[str] = (), limit: int = 50) -> str:
    """The report as Markdown, for a pull request or a release page: worse and better rows are open, the rest is folded."""
    return "\n".join(_markdown(shown_part(report, only), only, limit)) + "\n"


def github(report: Comparison, only: Sequence[str] = (), limit: int = 50) -> str:
    """The report for the summary of a job on GitHub: how many rows got which verdict, then the Markdown.

    The place for it is the file that ``$GITHUB_STEP_SUMMARY`` names, which GitHub shows below the job; it takes at most a megabyte.
    """
    counted = [Row([Cell(one.words), Cell(str(one.number))]) for one in counts(shown_part(report, only))]
    head, _, rest = markdown(report, only, limit).partition("\n")
    table = Table("Verdicts", [Column("verdict"), Column("rows", align="right")], [counted])
    return "\n".join([head, *(["", *markdown_table(table)] if counted else []), rest])


def github_of_systems(reports: Mapping[str, Comparison]) -> str:
    """The same of the newest release of several systems, by their names. Without them, the headings could not be told apart."""
    parts = {system: github(report) for system, report in reports.items()}
    if len(parts) > 1:
        parts = {system: part.replace("### ", f"### {escape(system)}: ", 1) for system, part in parts.items()}
    return "\n".join(parts.values())


def workflow_commands(report: Comparison, limit: int = 10) -> str:
    """The worse rows as GitHub's workflow commands, which it shows beside the change; ``limit`` of them, as it shows no more."""
    rows = [line_of(row) for row in report.rows if row.verdict == "worse"][:limit]
    lines = [f"{row.name}: {row.ratio}, {row.remark}" for row in rows]
    lines += [f"{line.name}: {line.remark}" for line in loss_lines(report) if line.verdict == "worse"]
    return "".join(f"::warning title=Worse than {_command(report.old.name)}::{_command(line)}\n" for line in lines[:limit])


def _command(text: str) -> str:
    """Text within a workflow command, in which these signs would mean something."""
    return plain(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A").replace(":", "%3A").replace(",", "%2C")


def _text(report: Comparison, only: Sequence[str], limit: int) -> Iterator[str]:
    said = document(report, only, limit, limit)
    yield f"OLD  {said.sides[0]}"
    yield f"NEW  {said.sides[1]}"
    if said.across:
        yield f"A comparison of configurations, across: {said.across}"
    yield ""
    if not report.warns("same_runs") and (counts(report) or report.losses):  # the conclusion says the rest
        yield f"{headline(report)}."
    yield said.conclusion
    yield from (f"! {warning}" for warning in (*said.machines, *said.warnings))
    for section in said.sections:
        if section.verdict not in FOLDED or only:
            yield ""
            yield f"{section.title.upper()} ({section.total}). {section.sentence}"
            yield from (f"  {line}" for line in _rows(section))
    if said.loss_lines or said.loss_sentence:
        yield ""
        yield f"LOSS ({len(said.losses)}). {LOSS_SAYS} {said.loss_sentence}" if said.loss_lines else f"LOSS. {said.loss_sentence}"
        yield from (f"  {line.name}  old: {line.old}; new: {line.new}; {line.remark}" for line in said.loss_lines)
        if said.lost_more:
            yield f"  ... and {said.lost_more} more (--limit 0 lists all)"
    if said.curves:
        yield ""
        yield "SERIES OF SINGLE VALUES. Sizes share a session, so there is no test over them."
        yield from (f"  {curve}" for curve in said.curves)
    if said.notes:
        yield ""
        yield from said.notes


def _rows(section: VerdictSection) -> Iterator[str]:
    table = section.table()
    if section.common:
        yield section.common
    yield from terminal(table._replace(columns=[Column(), *table.columns[1:]]))
    if section.hidden:
        yield f"... and {section.hidden} more (--limit 0 lists all)"


def _markdown(report: Comparison, only: Sequence[str], limit: int) -> Iterator[str]:
    said = document(report, only, limit, limit)
    yield f"### {escape(report.old.name)} → {escape(report.new.name)}: {headline(report)}"
    yield ""
    yield f"- old: {escape(said.sides[0])}"
    yield f"- new: {escape(said.sides[1])}"
    if said.across:
        yield f"- a comparison of configurations, across: {escape(said.across)}"
    yield ""
    yield escape(said.conclusion)
    for warning in (*said.machines, *said.warnings):
        yield ""
        yield f"> **Note** {escape(warning)}"
    for section in said.sections:
        yield ""
        yield from _block(section, folded=section.verdict not in _OPEN and not only)
    if said.losses or said.loss_sentence:
        yield ""
        yield from _loss(said)
    if notes := [*said.curves, *said.notes]:
        yield ""
        yield from (f"- {escape(note)}" for note in notes)


def _loss(said: Document) -> Iterator[str]:
    if not said.losses:
        yield f"**Loss**: {said.loss_sentence}"
        return
    yield f"**Loss ({len(said.losses)})**: {LOSS_SAYS} {said.loss_sentence}"
    yield ""
    yield from markdown_table(said.loss_table().with_rest(f"... and {said.lost_more} more" if said.lost_more else ""))


def _block(section: VerdictSection, *, folded: bool) -> Iterator[str]:
    title = f"{section.title} ({section.total})"
    yield f"<details><summary><b>{title}</b>: {section.sentence}</summary>" if folded else f"**{title}**: {section.sentence}"
    yield ""
    if section.common:
        yield escape(section.common)
        yield ""
    yield from markdown_table(section.table().with_rest(f"... and {section.hidden} more" if section.hidden else ""))
    if folded:
        yield ""
        yield "</details>"


def comment(report: Comparison) -> str:
    """The report as a comment of at most `MOST_LINES` lines, whatever the diff: the worst rows first, everything else folded or counted."""
    several = len({row.key.system for row in report.rows}) > 1
    rows = {verdict: [row for row in report.rows if row.verdict == verdict] for verdict in (*_OPEN, *_UNDECIDED)}
    lines = [f"### {escape(report.old.name)} → {escape(report.new.name)}: {escape(headline(report))}", "", escape(conclusion(report))]
    host = host_words(report)[:_MOST_HOST] if report.controls is not None and report.controls.moved else []
    host = [*machine_words(report), *host]
    if host:  # whoever reads only what is not folded must not blame the release for it
        lines += ["", *(f"> {escape(words)}" for words in host)]
    shown = [line_of(row, with_system=several) for verdict in _OPEN for row in rows[verdict][: _SHOWN[verdict]]]
    if shown:
        hidden = [f"{len(rows[verdict]) - _SHOWN[verdict]} more are {verdict}" for verdict in _OPEN if len(rows[verdict]) > _SHOWN[verdict]]
        lines += ["", *_table(shown, ", ".join(hidden))]
    lines += [f"- loss: {escape(line.name)}: {escape(line.remark)}" for line in _worse_loss(report)]
    undecided = [line_of(row, with_system=several) for verdict in _UNDECIDED for row in rows[verdict]]
    return "\n".join([*lines, *_folded(report, undecided, set(host), MOST_LINES - len(lines))]) + "\n"


def _folded(report: Comparison, undecided: Sequence[DiffLine], shown_above: Collection[str], room: int) -> Iterator[str]:
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
        yield from (*_table(shown), "")
    yield from (f"- {escape(warning)}" for warning in said)
    yield "</details>"


def _worse_loss(report: Comparison) -> list[LossLine]:
    return [line for line in loss_lines(report) if line.verdict == "worse"][:_MOST_LOSS]


def _table(lines: Sequence[DiffLine], hidden: str = "") -> list[str]:
    """Rows of several verdicts as Markdown."""
    return markdown_table(rows_table("Rows", lines, ("change", "95 % interval")).with_rest(hidden))
