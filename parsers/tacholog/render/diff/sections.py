"""The rows of a diff by verdict, in words: what text, Markdown and the page list."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

import msgspec

from tacholog.compare.result import Difference, DiffRow, Report, Verdict
from tacholog.render.diff.meanings import MEANINGS, sentence_of, told_by_sentence
from tacholog.render.diff.words import BETWEEN, change, interval, is_estimate, ratio, remark, value_of
from tacholog.view.refusals import difference_words
from tacholog.view.row_names import apart_words, row_name


class DiffLine(msgspec.Struct, frozen=True, kw_only=True):
    """One row in words. ``row`` is the row itself."""

    name: str
    old: str
    new: str
    ratio: str
    interval: str
    remark: str
    row: DiffRow


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one verdict, worst first: how many there are, and those that are listed.

    ``alike`` are the conditions that the names of all listed rows have in common, ``shared`` is the part that their remarks have in common. Each name
    and each remark then holds only what differs.
    """

    verdict: Verdict
    title: str
    sentence: str
    total: int
    alike: str
    shared: str
    lines: tuple[DiffLine, ...]

    @property
    def common(self) -> str:
        """What all listed rows have in common: their conditions and what is remarked on them, as a sentence; nothing if they have nothing."""
        said = BETWEEN.join(part for part in (self.alike, self.shared) if part)
        return f"In all {'listed' if self.hidden else 'of these'} rows: {said}." if said else ""

    @property
    def interval_title(self) -> str:
        """What the intervals of these rows are."""
        kinds = {line.row.interval_kind for line in self.lines if line.interval}
        return "95 % interval, row alone" if kinds == {"confidence"} else "by rounding" if kinds == {"rounding"} else "interval"

    @property
    def ratio_title(self) -> str:
        """What the ratios of these rows are."""
        return "estimated ratio" if any(is_estimate(line.row) for line in self.lines) else "ratio"

    @property
    def hidden(self) -> int:
        """How many rows are counted and not listed."""
        return self.total - len(self.lines)


def sections(report: Report, only: Sequence[str] = (), limit: int = 0) -> list[Section]:
    """The rows by verdict, worst first; those of ``only``, or all. ``limit``: rows to list of each; 0: all."""
    several = len({row.key.system for row in report.rows}) > 1
    found = []
    for verdict, rows in groupby(report.rows, key=lambda row: row.verdict):
        if not only or verdict in only:
            meaning, listed = MEANINGS[verdict], list(rows)
            shown = listed[: limit or None]  # not all: there may be a million
            alike = _alike(shown)
            shared, lines = _shared_once([line_of(row, with_system=several, but=alike) for row in shown])
            shared = BETWEEN.join(part for part in shared.split(BETWEEN) if part != told_by_sentence(verdict, listed))
            words = {"title": meaning.title, "sentence": sentence_of(verdict, listed), "alike": ", ".join(alike), "shared": shared}
            found.append(Section(verdict=verdict, total=len(listed), lines=lines, **words))
    return found


def _alike(rows: Sequence[DiffRow]) -> list[str]:
    """Return the conditions that are in the names of all rows, in words."""
    words = [apart_words(row.key) for row in rows]
    return [word for word in words[0] if all(word in others for others in words)] if len(words) > 1 else []


def _shared_once(lines: Sequence[DiffLine]) -> tuple[str, tuple[DiffLine, ...]]:
    """Return the part that all remarks have in common, and the rows without it."""
    remarks = [line.remark.split(BETWEEN) for line in lines]
    own = change(lines[0].row) if lines else ""  # how much a row changed stays beside its ratio, also where all changed alike
    shared = [part for part in remarks[0] if part not in ("", own) and all(part in parts for parts in remarks)] if len(lines) > 1 else []
    rest = [BETWEEN.join(part for part in parts if part not in shared) for parts in remarks]
    return BETWEEN.join(shared), tuple(msgspec.structs.replace(line, remark=remark) for line, remark in zip(lines, rest, strict=True))


def line_of(row: DiffRow, *, with_system: bool = False, but: Collection[str] = ()) -> DiffLine:
    """One row in words; ``but`` are the conditions that its name leaves out."""
    return DiffLine(
        name=row_name(row.key, with_system=with_system, but=but) + _across(row),
        old=value_of(row, "old"),
        new=value_of(row, "new"),
        ratio=ratio(row.ratio) if row.ratio is not None else "",
        interval=interval(row),
        remark=remark(row),
        row=row,
    )


def _across(row: DiffRow) -> str:
    """Both sides' values of the fields that the diff goes across; for a row that only one side has, those of that side."""
    if row.old and row.new:
        return f" ({sides_of(row.across)})" if row.across else ""
    alone = [msgspec.structs.replace(one, old=one.old or one.new, new=one.old or one.new) for one in row.across]
    return f" ({sides_of(alone)})" if alone else ""


def sides_of(across: Sequence[Difference]) -> str:
    """The values on each side of the fields that a diff goes across: once if both are the same."""
    return "; ".join(difference_words(one) for one in across)
