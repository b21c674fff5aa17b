"""A diff as text for a terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tacholog.compare.result import Report
from tacholog.render.diff.counts import counts, headline
from tacholog.render.diff.loss import LOSS_SAYS, loss_lines, loss_sentence
from tacholog.render.diff.notes import changed_words, machine_words, marked, warnings
from tacholog.render.diff.sections import DiffLine, Section, line_of, sections
from tacholog.render.diff.summary import across_words, conclusion, curve_words, figures_words, shown_part, side_words, unstated_words
from tacholog.render.markdown import escape as _escape
from tacholog.render.markdown import plain as _plain

FOLDED = ("no_change", "unreplicated_same")  # These rows are counted, and listed only on request: nobody needs to look at them.
_NUMERIC = (1, 2, 3)  # columns that stand flush right


def text(report: Report, only: Sequence[str] = (), limit: int = 20) -> str:
    """The report as text, worst first.

    Args:
        report: the comparison.
        only: the verdicts to list; none: all except rows without a change.
        limit: rows to list of each verdict; 0: all.
    """
    return "\n".join(_plain(line) for line in _text(shown_part(report, only), only, limit)) + "\n"


def markdown(report: Report, only: Sequence[str] = (), limit: int = 50) -> str:
    """The report as Markdown, for a pull request or a release page: worse and better rows are open, the rest is folded."""
    return "\n".join(_markdown(shown_part(report, only), only, limit)) + "\n"


def github(report: Report, only: Sequence[str] = (), limit: int = 50) -> str:
    """The report for the summary of a job on GitHub: how many rows got which verdict, then the Markdown.

    The place for it is the file that ``$GITHUB_STEP_SUMMARY`` names, which GitHub shows below the job; it takes at most a megabyte.
    """
    counted = [f"| {one.words} | {one.number} |" for one in counts(shown_part(report, only))]
    head, _, rest = markdown(report, only, limit).partition("\n")
    return "\n".join([head, *(["", "| verdict | rows |", "|---|--:|", *counted] if counted else []), rest])


def github_of_systems(reports: Mapping[str, Report]) -> str:
    """The same of the newest release of several systems, by their names. Without them, the headings could not be told apart."""
    parts = {system: github(report) for system, report in reports.items()}
    if len(parts) > 1:
        parts = {system: part.replace("### ", f"### {_escape(system)}: ", 1) for system, part in parts.items()}
    return "\n".join(parts.values())


def workflow_commands(report: Report, limit: int = 10) -> str:
    """The worse rows as GitHub's workflow commands, which it shows beside the change; ``limit`` of them, as it shows no more."""
    rows = [line_of(row) for row in report.rows if row.verdict == "worse"][:limit]
    lines = [f"{row.name}: {row.ratio}, {row.remark}" for row in rows]
    lines += [f"{line.name}: {line.remark}" for line in loss_lines(report) if line.verdict == "worse"]
    return "".join(f"::warning title=Worse than {_command(report.old.name)}::{_command(line)}\n" for line in lines[:limit])


def _command(text: str) -> str:
    """Text within a workflow command, in which these signs would mean something."""
    return _plain(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A").replace(":", "%3A").replace(",", "%2C")


def _text(report: Report, only: Sequence[str], limit: int) -> Iterator[str]:
    yield f"OLD  {side_words(report.old)}"
    yield f"NEW  {side_words(report.new)}"
    if report.settings.across:
        yield f"A comparison of configurations, across: {across_words(report)}"
    yield ""
    if "same_runs" not in report.warnings and (counts(report) or report.losses):  # the conclusion says the rest
        yield f"{headline(report)}."
    yield conclusion(report)
    yield from (f"! {warning}" for warning in (*machine_words(report), *warnings(report)))
    for section in sections(report, only, limit):
        if section.verdict in FOLDED and not only:
            continue
        yield ""
        yield f"{section.title.upper()} ({section.total}). {section.sentence}"
        if section.common:
            yield f"  {section.common}"
        yield from _table(section)
    yield from _footer(report, limit)


def _table(section: Section) -> Iterator[str]:
    shown = section.lines
    cells = [(line.name, line.old, line.new, line.ratio, line.interval) for line in shown]
    heads = ("", "old", "new", section.ratio_title, section.interval_title)
    there = [column for column in range(len(heads)) if any(row[column] not in ("", "-") for row in cells)]  # no column that says nothing
    widths = [max(len(row[column]) for row in [heads, *cells]) for column in range(len(heads))]
    for row, remark in zip([heads, *cells], ["", *(line.remark for line in shown)], strict=True):
        padded = (row[column].rjust(widths[column]) if column in _NUMERIC else row[column].ljust(widths[column]) for column in there)
        yield f"  {'  '.join(padded)}  {remark}".rstrip()
    if section.hidden:
        yield f"  ... and {section.hidden} more (--limit 0 lists all)"


def _footer(report: Report, limit: int) -> Iterator[str]:
    if loss := list(_loss(report, limit)):
        yield ""
        yield from loss
    if report.curves:
        yield ""
        yield "SERIES OF SINGLE VALUES. Sizes share a session, so there is no test over them."
        yield from (f"  {curve_words(curve)}" for curve in report.curves)
    yield from _notes(report)


def _loss(report: Report, limit: int) -> Iterator[str]:
    lines, total = loss_lines(report, limit), len(report.losses)
    if not total and not loss_sentence(report):
        return
    yield f"LOSS ({total}). {LOSS_SAYS} {loss_sentence(report)}" if lines else f"LOSS. {loss_sentence(report)}"
    yield from (f"  {line.name}  old: {line.old}; new: {line.new}; {line.remark}" for line in lines)
    if len(lines) < total:
        yield f"  ... and {total - len(lines)} more (--limit 0 lists all)"


def _notes(report: Report) -> Iterator[str]:
    notes = figures_words(report)
    unstated = unstated_words(report)
    if unstated:
        notes.append(f"Not stated on one side or both, so rows can only be judged as single values: {unstated}.")
    notes += [f"Marked: {mark}" for mark in marked(report)]
    notes += [f"Changed too: {changed_words(change)}" for change in report.changed]
    if notes:
        yield ""
        yield from notes


def _markdown(report: Report, only: Sequence[str], limit: int) -> Iterator[str]:
    yield f"### {_escape(report.old.name)} → {_escape(report.new.name)}: {headline(report)}"
    yield ""
    yield f"- old: {_escape(side_words(report.old))}"
    yield f"- new: {_escape(side_words(report.new))}"
    if report.settings.across:
        yield f"- a comparison of configurations, across: {_escape(across_words(report))}"
    yield ""
    yield _escape(conclusion(report))
    for warning in (*machine_words(report), *warnings(report)):
        yield ""
        yield f"> **Note** {_escape(warning)}"
    for section in sections(report, only, limit):
        yield ""
        yield from _block(section, folded=section.verdict not in ("worse", "better") and not only)
    if loss := list(_loss_block(report, limit)):
        yield ""
        yield from loss
    notes = [*(curve_words(curve) for curve in report.curves), *(note for note in _notes(report) if note)]
    if notes:
        yield ""
        yield from (f"- {_escape(note)}" for note in notes)


def _loss_block(report: Report, limit: int) -> Iterator[str]:
    lines, total = loss_lines(report, limit), len(report.losses)
    if not total and not loss_sentence(report):
        return
    yield f"**Loss ({total})**: {LOSS_SAYS} {loss_sentence(report)}" if total else f"**Loss**: {loss_sentence(report)}"
    if total:
        yield ""
        yield "| row | old | new | |"
        yield "|---|---|---|---|"
        yield from ("| " + " | ".join(_escape(cell) for cell in (line.name, line.old, line.new, line.remark)) + " |" for line in lines)
    if len(lines) < total:
        yield f"| ... and {total - len(lines)} more | | | |"


def _block(section: Section, *, folded: bool) -> Iterator[str]:
    title = f"{section.title} ({section.total})"
    yield f"<details><summary><b>{title}</b>: {section.sentence}</summary>" if folded else f"**{title}**: {section.sentence}"
    yield ""
    if section.common:
        yield _escape(section.common)
        yield ""
    yield f"| row | old | new | {section.ratio_title} | {section.interval_title} | |"
    yield "|---|--:|--:|--:|:-:|---|"
    yield from (_cells(line) for line in section.lines)
    if section.hidden:
        yield f"| ... and {section.hidden} more | | | | | |"
    if folded:
        yield ""
        yield "</details>"


def _cells(line: DiffLine) -> str:
    return "| " + " | ".join(_escape(cell) for cell in (line.name, line.old, line.new, line.ratio, line.interval, line.remark)) + " |"
