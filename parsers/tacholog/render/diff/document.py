"""The content of a comparison in words and tables. Text, Markdown and the page are all written from one `Document`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Protocol

import msgspec

from tacholog.compare.result import DIFFERS, Comparison, ComparisonRow, Loss, Verdict
from tacholog.render.diff.notes import changed_words, machine_words, marked, warnings
from tacholog.render.diff.summary import (
    across_words,
    conclusion,
    curve_words,
    figures_words,
    loss_sentence,
    pairs_words,
    shown_part,
    side_words,
    unstated_words,
)
from tacholog.render.diff.words import (
    BETWEEN,
    MEANINGS,
    SIDES,
    LossLine,
    Which,
    change,
    group_parts,
    interval,
    is_estimate,
    loss_line,
    ratio,
    remarks,
    sentence_of,
    sides_of,
    told_by_sentence,
    value_of,
)
from tacholog.render.html import Html, join, linked, tag
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, head
from tacholog.view.names import apart_words, row_name
from tacholog.view.numerals import in_full

LINKED = ("worse", "better", *DIFFERS)  # the verdicts of rows that most readers look at
LOSS_SAYS = "Compared in percentage points: most runs lose nothing, and a ratio to 0 is undefined."


class LinkOf(Protocol):
    """A function that returns the link to a value of a side: to its median (of a row of loss: to its largest loss), or to ``value``."""

    def __call__(self, row: ComparisonRow | Loss, which: Which, value: float | None = None, /) -> str | None:
        """Return the link; ``None`` if there is none."""


def no_link(_row: ComparisonRow | Loss, _which: Which, _value: float | None = None, /) -> None:
    """Return no link, because only pages have links from values to log lines."""


class DiffLine(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a comparison in words. ``row`` is the row itself."""

    name: str
    old: str
    new: str
    ratio: str
    interval: str
    remarks: tuple[str, ...]
    row: ComparisonRow

    @property
    def remark(self) -> str:
        """The remarks as one text."""
        return BETWEEN.join(self.remarks)


class VerdictSection(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one verdict. ``total`` is the number of all these rows, and ``lines`` are the listed rows, the worst first.

    ``alike`` are the conditions that all listed rows have, and ``shared`` are the remarks that all listed rows have. Both are stated once,
    so that the rows contain only their differences.
    """

    verdict: Verdict
    title: str
    sentence: str
    total: int
    alike: tuple[str, ...]
    shared: tuple[str, ...]
    lines: tuple[DiffLine, ...]

    @property
    def common(self) -> str:
        """The conditions and remarks that all listed rows have in common, as a sentence; an empty text if there are none."""
        common = BETWEEN.join([*([", ".join(self.alike)] if self.alike else []), *self.shared])
        return f"In all {'listed' if self.hidden else 'of these'} rows: {common}." if common else ""

    @property
    def hidden(self) -> int:
        """The number of rows that are counted but not listed."""
        return self.total - len(self.lines)

    def table(self, link_of: LinkOf = no_link) -> Table:
        """Return the listed rows as a table."""
        kinds = {line.row.interval_kind for line in self.lines if line.interval}
        interval_title = "95 % interval, row alone" if kinds == {"confidence"} else "by rounding" if kinds == {"rounding"} else "interval"
        ratio_title = "estimated ratio" if any(is_estimate(line.row) for line in self.lines) else "ratio"
        return rows_table(self.title, self.lines, (ratio_title, interval_title), link_of)


def rows_table(label: str, lines: Sequence[DiffLine], titles: tuple[str, str], link_of: LinkOf = no_link) -> Table:
    """Return rows as a table. ``titles`` are the headings of the columns of ratios and of intervals."""
    numbers = [TableColumn(name, class_="n", align="right") for name in ("old", "new", titles[0])]
    columns = [TableColumn("row"), *numbers, TableColumn(titles[1], align="centre"), TableColumn()]
    return Table(label, columns, [[_cells(line, link_of) for line in lines]], "rows")


def _cells(line: DiffLine, link_of: LinkOf) -> TableRow:
    return TableRow(
        [
            head(line.name),
            TableCell(line.old, link=link_of(line.row, "old"), title=value_of(line.row, "old", in_full), class_="n stat-median"),
            TableCell(line.new, link=link_of(line.row, "new"), title=value_of(line.row, "new", in_full), class_="n stat-median"),
            TableCell(line.ratio, class_=f"n stat-ratio {line.row.ratio_kind or ''}"),
            TableCell(line.interval, class_="i stat-interval"),
            TableCell(_linked_remark(line, link_of), class_="r stat-evidence"),
        ]
    )


def _linked_remark(line: DiffLine, link_of: LinkOf) -> str | Html:
    """Return the remarks of a row. If the row has a verdict, the medians of two groups are linked to their log lines.

    In all rows, these links would leave no room for other rows: a page has a limited number of elements.
    """
    if link_of is no_link or line.row.verdict not in LINKED:
        return line.remark
    linked_parts: dict[str, Html] = {}
    for which in SIDES:
        parts = group_parts(line.row, which)
        html = join(linked(text, None if value is None else link_of(line.row, which, value)) for text, value in parts)
        linked_parts["".join(text for text, _ in parts)] = html
    return join((linked_parts.get(part, part) for part in line.remarks), BETWEEN)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a comparison, in words. ``sides`` are the two sides; ``changed`` lists other differences between them."""

    sides: tuple[str, str]
    across: str
    conclusion: str
    machines: list[str]
    warnings: list[str]
    sections: list[VerdictSection]
    losses: tuple[Loss, ...]
    loss_lines: list[LossLine]
    loss_sentence: str
    curves: list[str]
    figures: list[str]
    unstated: str
    marked: list[str]
    changed: list[str]

    @property
    def notes(self) -> list[str]:
        """The notes at the end: how figures were computed, and other notes on the rows."""
        return [*self.figures, *([self.unstated] if self.unstated else []), *self.marked, *(f"Changed too: {change}" for change in self.changed)]

    @property
    def lost_more(self) -> int:
        """The number of rows with loss that are not listed."""
        return len(self.losses) - len(self.loss_lines)

    def loss_table(self, link_of: LinkOf = no_link) -> Table:
        """Return the rows with lost messages as a table."""
        rows = [
            TableRow(
                [
                    head(line.name),
                    TableCell(_share(line.old_parts, link_of(loss, "old")), class_="stat-evidence"),
                    TableCell(_share(line.new_parts, link_of(loss, "new")), class_="stat-evidence"),
                    TableCell(line.remark, class_="r stat-evidence"),
                ]
            )
            for line, loss in zip(self.loss_lines, self.losses, strict=False)
        ]
        return Table("Loss", [TableColumn("row"), TableColumn("old"), TableColumn("new"), TableColumn()], [rows], "rows")


def _share(parts: tuple[str, str, str], link: str | None) -> str | Html:
    before, share, after = parts
    return join([before, tag("a", share, href=link), after]) if link else "".join(parts)


def document(comparison: Comparison, only: Sequence[str] = (), limit: int = 0, most_lost: int = 0, *, with_reasons: bool = True) -> Document:
    """Return the content of a comparison.

    Args:
        comparison: the comparison.
        only: the verdicts to list; if empty, all verdicts.
        limit: the largest number of listed rows of each verdict; 0: all rows.
        most_lost: the largest number of listed rows with loss; 0: all rows.
        with_reasons: whether the conclusion states why rows are not comparable.
    """
    comparison = shown_part(comparison, only)
    unstated = unstated_words(comparison)
    return Document(
        sides=(side_words(comparison.old), side_words(comparison.new)),
        across=across_words(comparison) if comparison.settings.across else "",
        conclusion=conclusion(comparison, with_reasons=with_reasons),
        machines=[*machine_words(comparison), *pairs_words(comparison)],
        warnings=warnings(comparison),
        sections=sections(comparison, only, limit),
        losses=comparison.losses,
        loss_lines=loss_lines(comparison, most_lost),
        loss_sentence=loss_sentence(comparison),
        curves=[curve_words(curve) for curve in comparison.curves],
        figures=figures_words(comparison),
        unstated=f"Not stated on one side or both, so rows can only be judged as single values: {unstated}." if unstated else "",
        marked=[f"Marked: {mark}" for mark in marked(comparison)],
        changed=[changed_words(change) for change in comparison.changed],
    )


def loss_lines(comparison: Comparison, limit: int = 0) -> list[LossLine]:
    """Return the rows in which a run lost messages, the worst first; at most ``limit`` rows, or all rows if it is 0."""
    several = len({loss.key.system for loss in comparison.losses}) > 1
    return [loss_line(loss, with_system=several) for loss in comparison.losses[: limit or None]]


def sections(comparison: Comparison, only: Sequence[str] = (), limit: int = 0) -> list[VerdictSection]:
    """Return one section for each verdict, the worst first. The arguments are those of `document`."""
    several = len({row.key.system for row in comparison.rows}) > 1
    sections = []
    for verdict, rows in groupby(comparison.rows, key=lambda row: row.verdict):
        if not only or verdict in only:
            listed = list(rows)
            listed_rows = listed[: limit or None]  # Only listed rows are put into words, because there may be a million rows.
            alike = _conditions_of_all(listed_rows)
            shared, lines = _shared_once([line_of(row, with_system=several, but=alike) for row in listed_rows])
            sections.append(
                VerdictSection(
                    verdict=verdict,
                    title=MEANINGS[verdict].title,
                    sentence=sentence_of(verdict, listed),
                    total=len(listed),
                    alike=tuple(alike),
                    shared=tuple(part for part in shared if part != told_by_sentence(verdict, listed)),
                    lines=lines,
                )
            )
    return sections


def _conditions_of_all(rows: Sequence[ComparisonRow]) -> list[str]:
    words = [apart_words(row.key) for row in rows]
    return [word for word in words[0] if all(word in others for others in words)] if len(words) > 1 else []


def _shared_once(lines: Sequence[DiffLine]) -> tuple[list[str], tuple[DiffLine, ...]]:
    """Return the remarks that all rows have, and the rows without these remarks."""
    first_change = change(lines[0].row) if lines else ""  # each row keeps its change, even if all rows have the same change
    shared = [part for part in lines[0].remarks if part != first_change and all(part in line.remarks for line in lines)] if len(lines) > 1 else []
    return shared, tuple(msgspec.structs.replace(line, remarks=tuple(part for part in line.remarks if part not in shared)) for line in lines)


def line_of(row: ComparisonRow, *, with_system: bool = False, but: Collection[str] = ()) -> DiffLine:
    """Return one row in words. Its name leaves out the conditions in ``but``."""
    return DiffLine(
        name=row_name(row.key, with_system=with_system, but=but) + _across_in_name(row),
        old=value_of(row, "old"),
        new=value_of(row, "new"),
        ratio=ratio(row.ratio) if row.ratio is not None else "",
        interval=interval(row),
        remarks=remarks(row),
        row=row,
    )


def _across_in_name(row: ComparisonRow) -> str:
    if row.old and row.new:
        return f" ({sides_of(row.across)})" if row.across else ""
    alone = [
        msgspec.structs.replace(difference, old=difference.old or difference.new, new=difference.old or difference.new) for difference in row.across
    ]
    return f" ({sides_of(alone)})" if alone else ""
