"""The results that a format yields: findings on a line, on several lines, or on many lines that were read together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tacholog.formats.kit.bulk import Lines, RecordColumns
from tacholog.formats.kit.lines import Broken, Line
from tacholog.schema.records import Facts, Histogram, Record

if TYPE_CHECKING:
    # At run time, only the functions that use NumPy import it: most logs are read without it.
    import numpy as np
    from numpy.typing import NDArray

_LOOKS = 16  # Lines are read together at most this number of times, because each try may end at a doubtful line. Then they are read one by one.
_LINES_A_LOOK = 500  # One more try is allowed after each 500 lines that were read together.


class Finding(NamedTuple):
    """The content of a line: a record, facts about the run, part of a histogram, a broken result, or ``None`` for a line without meaning.

    ``also`` are the other lines of the same finding. ``line`` is ``None`` only for facts that become known at the end of the log. If a row of a table
    contains several records, each record is a finding on the same line; the first finding determines the class of the line.
    """

    line: Line | None
    what: Record | Facts | Histogram | Broken | None
    also: tuple[Line | Lines, ...] = ()


def finding_on(lines: Sequence[Line | Lines], what: Record | Facts | Histogram | Broken | None) -> Finding:
    """Make a finding on several lines (at least one)."""
    first, *others = lines
    if isinstance(first, Line):
        return Finding(first, what, tuple(others))
    return Finding(first.line(0), what, (*((first.part(1),) if first.count > 1 else ()), *others))


class Records(NamedTuple):
    """One record for each of many lines.

    ``like`` is one of these records: all have the same scope, test, side, participant and conditions. ``places`` are the indices of their lines;
    ``None`` means all lines.
    """

    like: Record
    columns: RecordColumns
    places: NDArray[np.int64] | None = None


class BulkFinding(NamedTuple):
    """The content of many lines. Usually each line has one record. If ``what`` is ``None``, the lines have no meaning, or they are interpreted later.

    If records have several kinds, use one finding for each kind.
    """

    lines: Lines
    what: Records | None


class BulkStep(NamedTuple):
    """One step of reading in bulk: how many of the `Lines` were read, counted from the first line, and the findings on them."""

    lines: int = 0
    found: Sequence[Finding | BulkFinding] = ()


def read_in_bulk(
    lines: Iterable[Line | Lines], one: Callable[[Line], Iterable[Finding]], many: Callable[[Lines], BulkStep]
) -> Iterator[Finding | BulkFinding]:
    """Yield the findings on all lines. ``one`` reads a single line. ``many`` reads consecutive lines of one shape together.

    ``many`` may stop before the last of these lines. Then ``one`` reads the next line, and ``many`` gets the rest. After ``many``, the format must
    have the same state as if ``one`` had read the lines.
    """
    for piece in lines:
        if isinstance(piece, Lines):
            yield from _run_in_bulk(piece, one, many)
        else:
            yield from one(piece)


def _run_in_bulk(
    run: Lines, read_line: Callable[[Line], Iterable[Finding]], read_lines: Callable[[Lines], BulkStep]
) -> Iterator[Finding | BulkFinding]:
    index = tries = 0
    while index < run.count:
        step = read_lines(run.part(index)) if tries < _LOOKS + index // _LINES_A_LOOK else BulkStep()
        tries += 1
        yield from step.found
        index += step.lines
        if index < run.count:
            yield from read_line(run.line(index))
            index += 1
