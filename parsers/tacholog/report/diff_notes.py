"""What a diff must say beside its rows: runs that did not end well, and what their marks mean."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from tacholog.diff.result import Report, RunOrder
from tacholog.quality import MARKS

_NAMED = 5


def ended(report: Report) -> list[str]:
    """The runs of each side that did not end well: how many of how many, and the first of them with the reason."""
    sides: tuple[tuple[Literal["old", "new"], int], ...] = (("old", report.old.runs), ("new", report.new.runs))
    return [said for side, total in sides if (said := _ended([run for run in report.runs if run.side == side], side, total))]


def _ended(runs: list[RunOrder], side: str, total: int) -> str | None:
    bad = [run for run in runs if run.status not in (None, "ok")]
    if not bad:
        return None
    kinds = Counter(str(run.status) for run in bad)
    counted = ", ".join(f"{kinds[kind]} {kind}" for kind in ("failed", "truncated", "empty") if kinds[kind])
    names = "; ".join(f"{run.run} ({run.status}{f': {run.reason}' if run.reason else ''})" for run in bad[:_NAMED])
    more = f"; and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
    return (
        f"Not every run of the {side} side ended well ({counted}, of {total}): {names}{more}. "
        "Rows of a failed run get no verdict; a truncated run counts with what it has."
    )


def marked(report: Report) -> list[str]:
    """What the marks of the rows that were compared mean, each once. That a row failed or was published again, the row itself says."""
    found = Counter(mark for row in report.rows if row.marks and row.old and row.new and row.verdict != "invalid" for mark in row.marks)
    found.pop("republished", None)
    return [f"{mark.title} ({found[name]} row{'s' if found[name] > 1 else ''}): {mark.sentence}" for name, mark in MARKS.items() if name in found]
