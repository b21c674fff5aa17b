"""A comparison as text for a terminal, as Markdown for a pull request, and as a short comment on a pull request."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from tacholog.compare.result import DIFFERS, Comparison, ComparisonRow, Verdict
from tacholog.render.diff.document import LOSS_SAYS, DiffLine, Document, VerdictSection, document, line_of, loss_lines, rows_table
from tacholog.render.diff.notes import host_words, known_words, machine_words, warnings
from tacholog.render.diff.summary import conclusion, counts, headline, pairs_words, shown_part
from tacholog.render.diff.words import MEANINGS, LossLine
from tacholog.render.markdown import escape, plain
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, terminal
from tacholog.render.table import markdown as markdown_table

FOLDED = ("no_change", "differs_not", "unreplicated_same")  # If there are more than `_FEW` rows with these verdicts, they are listed only on request.
_FEW = 10
#: The largest number of lines of the comment. Together with the requirements below it, it stays under 60 lines.
MOST_LINES = 30
_OPEN: tuple[Verdict, ...] = ("worse", "better", *DIFFERS)
_WITHOUT_RATIO = ("not_comparable", "invalid")  # a ratio of rows with these verdicts has no meaning
_MOST_ROWS, _MOST_WARNINGS, _MOST_LOSS, _MOST_HOST = 10, 2, 2, 2  # in a comment


def text(comparison: Comparison, only: Sequence[str] = (), limit: int = 20) -> str:
    """Return the comparison as text, the worst rows first.

    Args:
        comparison: the comparison.
        only: the verdicts to list; if empty, all verdicts except "no change".
        limit: the largest number of listed rows of each verdict; 0: all rows.
    """
    return "\n".join(plain(line) for line in _text(shown_part(comparison, only), only, limit)) + "\n"


def markdown(comparison: Comparison, only: Sequence[str] = (), limit: int = 50) -> str:
    """Return the comparison as Markdown, for a pull request or a release page. Worse and better rows are visible, the others are folded."""
    return "\n".join(_markdown(shown_part(comparison, only), only, limit)) + "\n"


def github(comparison: Comparison, only: Sequence[str] = (), limit: int = 50) -> str:
    """Return the comparison for the summary of a GitHub job: the number of rows with each verdict, then the Markdown.

    The caller writes it to the file ``$GITHUB_STEP_SUMMARY``, which GitHub shows below the job. This file may have at most one megabyte.
    """
    counted = [TableRow([TableCell(count.words), TableCell(str(count.number))]) for count in counts(shown_part(comparison, only))]
    head, _, body = markdown(comparison, only, limit).partition("\n")
    table = Table("Verdicts", [TableColumn("verdict"), TableColumn("rows", align="right")], [counted])
    return "\n".join([head, *(["", *markdown_table(table)] if counted else []), body])


def github_of_systems(reports: Mapping[str, Comparison]) -> str:
    """Return the text of `github` for each of several systems. If there is more than one system, each heading contains the name of its system."""
    parts = {system: github(report) for system, report in reports.items()}
    if len(parts) > 1:
        parts = {system: part.replace("### ", f"### {escape(system)}: ", 1) for system, part in parts.items()}
    return "\n".join(parts.values())


def workflow_commands(comparison: Comparison, limit: int = 10) -> str:
    """Return the worse rows as GitHub workflow commands, which GitHub shows next to the changed lines. GitHub shows at most ``limit`` rows."""
    rows = [line_of(row) for row in comparison.rows if row.verdict == "worse" and not row.is_acknowledged][:limit]
    lines = [f"{row.name}: {row.ratio}, {row.remark}" for row in rows]
    losses = tuple(loss for loss in comparison.losses if loss.verdict == "worse" and not loss.is_acknowledged)
    lines += [f"{line.name}: {line.remark}" for line in loss_lines(msgspec.structs.replace(comparison, losses=losses))]
    return "".join(f"::warning title=Worse than {_escaped(comparison.old.name)}::{_escaped(line)}\n" for line in lines[:limit])


def _escaped(text: str) -> str:
    return plain(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A").replace(":", "%3A").replace(",", "%2C")


def _text(comparison: Comparison, only: Sequence[str], limit: int) -> Iterator[str]:
    content = document(comparison, only, limit, limit)
    yield f"OLD  {content.sides[0]}"
    yield f"NEW  {content.sides[1]}"
    if content.across:
        yield f"A comparison of configurations, across: {content.across}"
    yield ""
    if not comparison.warns("same_runs") and (counts(comparison) or comparison.losses):  # otherwise, the conclusion already says everything
        yield f"{headline(comparison)}."
    yield content.conclusion
    yield from (f"! {warning}" for warning in (*content.machines, *content.warnings))
    folded = [] if only else [section for section in content.sections if section.verdict in FOLDED]
    if sum(section.total for section in folded) <= _FEW:
        folded = []
    for section in content.sections:
        if section not in folded:
            yield ""
            yield f"{section.title.upper()} ({section.total}). {section.sentence}"
            yield from (f"  {line}" for line in _rows(section))
    if folded:
        yield ""
        yield f"Only counted here: {', '.join(f'{section.total} {section.title.lower()}' for section in folded)} (--all lists them)."
    if content.loss_lines or content.loss_sentence:
        yield ""
        yield f"LOSS ({len(content.losses)}). {LOSS_SAYS} {content.loss_sentence}" if content.loss_lines else f"LOSS. {content.loss_sentence}"
        yield from (f"  {line.name}  old: {line.old}; new: {line.new}; {line.remark}" for line in content.loss_lines)
        if content.lost_more:
            yield f"  ... and {content.lost_more} more (--limit 0 lists all)"
    if content.curves:
        yield ""
        yield "SERIES OF SINGLE VALUES. Sizes share a session, so there is no test over them."
        yield from (f"  {curve}" for curve in content.curves)
    if content.notes:
        yield ""
        yield from content.notes


def _rows(section: VerdictSection) -> Iterator[str]:
    table = section.table()
    if section.common:
        yield section.common
    yield from terminal(table._replace(columns=[TableColumn(), *table.columns[1:]]))
    if section.hidden:
        yield f"... and {section.hidden} more (--limit 0 lists all)"


def _markdown(comparison: Comparison, only: Sequence[str], limit: int) -> Iterator[str]:
    content = document(comparison, only, limit, limit)
    yield f"### {escape(comparison.old.name)} → {escape(comparison.new.name)}: {headline(comparison)}"
    yield ""
    yield f"- old: {escape(content.sides[0])}"
    yield f"- new: {escape(content.sides[1])}"
    if content.across:
        yield f"- a comparison of configurations, across: {escape(content.across)}"
    yield ""
    yield escape(content.conclusion)
    for warning in (*content.machines, *content.warnings):
        yield ""
        yield f"> **Note** {escape(warning)}"
    for section in content.sections:
        yield ""
        yield from _block(section, folded=section.verdict not in _OPEN and not only)
    if content.losses or content.loss_sentence:
        yield ""
        yield from _loss(content)
    if notes := [*content.curves, *content.notes]:
        yield ""
        yield from (f"- {escape(note)}" for note in notes)


def _loss(content: Document) -> Iterator[str]:
    if not content.losses:
        yield f"**Loss**: {content.loss_sentence}"
        return
    yield f"**Loss ({len(content.losses)})**: {LOSS_SAYS} {content.loss_sentence}"
    yield ""
    yield from markdown_table(content.loss_table().with_rest(f"... and {content.lost_more} more" if content.lost_more else ""))


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


def comment(comparison: Comparison) -> str:
    """Return the comparison as a comment of at most `MOST_LINES` lines: the rows with the largest changes, with or without a verdict."""
    lines = [f"### {' → '.join(map(escape, _names_for_title(comparison)))}: {escape(headline(comparison))}", "", escape(conclusion(comparison))]
    host = host_words(comparison)[:_MOST_HOST] if comparison.controls is not None and comparison.controls.moved else []
    host = [*_in_one_line(known_words(comparison)), *machine_words(comparison), *pairs_words(comparison), *host]
    if host:  # These words are not folded, so that nobody attributes a change of the host to the release.
        lines += ["", *(f"> {escape(words)}" for words in host)]
    rows = shown_part(comparison, ()).rows
    if listed := _moved_most(rows):
        several = len({row.key.system for row in comparison.rows}) > 1
        hidden = [
            f"{count} more are {MEANINGS[verdict].words}"
            for verdict in _OPEN
            if (count := sum(row.verdict == verdict for row in rows) - sum(row.verdict == verdict for row in listed))
        ]
        lines += ["", *_table([_with_verdict(line_of(row, with_system=several)) for row in listed], ", ".join(hidden))]
    lines += [f"- loss: {escape(line.name)}: {escape(line.remark)}" for line in _worse_loss(comparison)]
    return "\n".join([*lines, *_counts_and_warnings(comparison, set(host))]) + "\n"


def _in_one_line(sentences: Sequence[str]) -> list[str]:
    """Return one line, because a comment is short."""
    more = f" And {len(sentences) - _MOST_WARNINGS} more entries." if len(sentences) > _MOST_WARNINGS else ""
    return [" ".join(sentences[:_MOST_WARNINGS]) + more] if sentences else []


def _names_for_title(comparison: Comparison) -> tuple[str, str]:
    """Return a name of each side for the title.

    The name is the release of the side. It is the name that the user gave if the side does not have exactly one release. It is also the name that the
    user gave if both sides have the same release.
    """
    sides = comparison.old, comparison.new
    old, new = (side.releases[0] if len(side.releases) == 1 else side.name for side in sides)
    return (old, new) if old != new else (sides[0].name, sides[1].name)


def _moved_most(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """Return worse rows, then better rows, then all other rows. In each of these groups, the largest changes come first."""
    ranked = [
        (_rank(row), row.is_acknowledged, -abs(row.change), row) for row in rows if row.change is not None and row.verdict not in _WITHOUT_RATIO
    ]
    return [row for *_, row in sorted(ranked, key=lambda entry: entry[:3])[:_MOST_ROWS]]


def _rank(row: ComparisonRow) -> int:
    return _OPEN.index(row.verdict) if row.verdict in _OPEN else len(_OPEN)


def _with_verdict(line: DiffLine) -> DiffLine:
    """In a table of several verdicts, remarks begin with the verdict, unless it is "worse" or "better"."""
    remarks = line.remarks if line.row.verdict in ("worse", "better") else (MEANINGS[line.row.verdict].words, *line.remarks)
    return msgspec.structs.replace(line, remarks=remarks, interval=line.interval or "not known")


def _counts_and_warnings(comparison: Comparison, shown_above: Collection[str]) -> Iterator[str]:
    above = {*shown_above, *known_words(comparison)}
    sentences = [warning for warning in warnings(comparison) if warning not in above][:_MOST_WARNINGS]
    counted = ", ".join(f"{count.title}: {count.number}{f' ({count.directions})' if count.directions else ''}" for count in counts(comparison))
    if not counted and not sentences:
        return
    yield ""
    if not sentences:
        yield escape(counted)
        return
    yield f"<details><summary>{escape(counted or 'Nothing was compared')}</summary>"
    yield ""
    yield from (f"- {escape(warning)}" for warning in sentences)
    yield "</details>"


def _worse_loss(comparison: Comparison) -> list[LossLine]:
    return [line for line in loss_lines(comparison) if line.verdict == "worse"][:_MOST_LOSS]


def _table(lines: Sequence[DiffLine], hidden: str = "") -> list[str]:
    return markdown_table(rows_table("Rows", lines, ("change", "95 % interval")).with_rest(hidden))
