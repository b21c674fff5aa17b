"""The text beside a point of a figure: where and how often its number was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tacholog.render.marks import in_order, mark_of
from tacholog.view.names import words
from tacholog.view.numerals import NOT_STATED, grouped
from tacholog.view.results import ResultRow
from tacholog.view.series import Cell, Series


def details_of(series: Series) -> tuple[str, ...]:
    """Return the details that all points of a series share, one per line: system and version, machine, kind of run, tool."""
    run = series.results[0].run
    system = " ".join(filter(None, (run.system or f"system {NOT_STATED}", run.system_version or f"(version {NOT_STATED})")))
    machine = f"machine: {run.host or NOT_STATED}"
    kind = "published by the vendor" if series.published else "own run"
    return (system, machine, ", ".join([kind, *_further(series)]))


def _further(series: Series) -> Iterator[str]:
    run, key = series.results[0].run, dict(series.key)
    if run.release and run.release != run.system_version:
        yield f"release {run.release}"
    if run.tool and run.tool != run.system and run.tool not in str(run.system):
        yield f"by {run.tool}"
    if key["basis"] is not None:
        yield words("basis", key["basis"])
    if key["load_mode"] is not None:
        yield f"load {key['load_mode']}"


def more_of(cell: Cell, result: ResultRow | None = None) -> tuple[str, ...]:
    """Return the details of one point: its runs and samples, its marks, and its log line. ``result`` is given for a point of one group of runs."""
    result = result or cell.result
    runs = f"{cell.run_count} run{'s' if cell.run_count != 1 else ''}"
    samples = _samples([one.samples for one in cell.results] if cell.run_count > 1 else [result.samples])
    marks = [f"marked: {mark_of(name).title}" for name in in_order(cell.marks)]
    place = f"{result.run.run}/{result.log}" + (f", line {result.number_line}" if result.number_line else "")
    return (f"{runs}, {samples}", *marks, place)


def _samples(counts: Sequence[int | None]) -> str:
    """Return how many samples the runs have, from the fewest to the most."""
    known = sorted({count for count in counts if count is not None})
    if not known:
        return f"samples {NOT_STATED}"
    each = " each" if len(counts) > 1 and len(known) == 1 and None not in counts else ""
    unknown = f", in {counts.count(None)} of them {NOT_STATED}" if None in counts else ""
    return f"{' to '.join(grouped(count) for count in dict.fromkeys((known[0], known[-1])))} samples{each}{unknown}"
