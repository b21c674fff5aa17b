"""Requirements that compare with another release: is this one at most so much worse? The interval is that of `tacholog diff`."""

from __future__ import annotations

from math import expm1, inf
from typing import NamedTuple

import msgspec

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy, RowFilter
from tacholog.compare.requirements.result import RequirementRow, RowVerdict
from tacholog.compare.result import COMPARED, Controls, DiffRow, RowKey
from tacholog.compare.sides import control_runs, of_runs
from tacholog.dataset.frames import Dataset

_ROUNDING = 1e-9
_NO_PARTNER = ("not_comparable", "removed", "added")


class Compared(NamedTuple):
    """The runs to compare with, the runs that are judged, and what the controls of both say of the host."""

    old: Dataset
    new: Dataset
    host: Controls | None


def host_between(old: Dataset, new: Dataset) -> Controls | None:
    """What the controls of two sets of runs say of the host; ``None`` if a side has none."""
    sides = [of_runs(side, control_runs(side)) for side in (old, new)]
    return None if any(side.runs.empty for side in sides) else compare(sides[0], sides[1], Policy(), everything=False).controls


def judge_relative(sides: Compared, metrics: tuple[str, ...], limit: float | None, rows: RowFilter | None = None) -> tuple[RequirementRow, ...]:
    """Judge each row that both sides, or one of them, have.

    Args:
        sides: the runs to compare, only those that the requirement names.
        metrics: as in ``tacholog diff --metric``; none: those that a diff tests.
        limit: by which share the new side may be worse; ``None``: by the threshold of each row.
        rows: the rows that are meant; ``None``: all.
    """
    report = compare(sides.old, sides.new, Policy(metrics=metrics), everything=False)
    wanted = rows.wanted() if rows else {}
    meant = [row for row in report.rows if all(getattr(row.key, name) == value for name, value in wanted.items())]
    compared = {_alike(row) for row in meant if row.verdict in COMPARED}
    # The other release may have been measured on a second machine too. Those runs answer nothing, and take nothing from the answer of the first.
    return tuple(_row(row, limit, sides.host) for row in meant if row.verdict not in _NO_PARTNER or _alike(row) not in compared)


def _alike(row: DiffRow) -> RowKey:
    """The name of a row without what tells it from rows of other machines or conditions."""
    return msgspec.structs.replace(row.new_key or row.key, apart=())


def _row(row: DiffRow, limit: float | None, host: Controls | None) -> RequirementRow:
    old, new = row.old, row.new
    tested = row.interval_kind == "confidence" and row.p is not None
    ends = _worse_interval(row) if tested else None
    allowed = limit if limit is not None else row.threshold if tested else None
    verdict, reasons = _verdict(ends, allowed, row, host)
    return RequirementRow(
        key=row.new_key or row.key,
        verdict=verdict,
        reasons=reasons,
        runs=len(new.values) if new and tested else new.runs if new else 0,
        over=None if not tested else "pairs" if row.design == "paired" else "sessions",
        value=new.median if new else None,
        baseline=old.median if old else None,
        worse=expm1(row.change) if row.change is not None else None,
        interval=(ends[0], ends[1] if ends[1] != inf else None) if ends else None,
        confidence=0.95 if ends else None,
        marks=row.marks,
        limit=row.threshold if limit is None and tested else None,
    )


def _verdict(ends: tuple[float, float] | None, limit: float | None, row: DiffRow, host: Controls | None) -> tuple[RowVerdict, tuple[str, ...]]:
    if ends is None or limit is None:
        return "undecided", _why(row)
    if (found := _against(ends, limit)) == "undecided":
        return found, ("across_limit",)
    return (found, ()) if _against(_without_host(ends, host), limit) == found else ("undecided", ("host_changed",))


def _against(ends: tuple[float, float], limit: float) -> RowVerdict:
    if ends[1] <= limit + _ROUNDING:
        return "passed"
    return "failed" if ends[0] > limit + _ROUNDING else "undecided"


def _without_host(ends: tuple[float, float], host: Controls | None) -> tuple[float, float]:
    """The interval, widened by what the change of the host may explain: a host that got slower makes a release look worse, a faster one better."""
    if host is None or host.explains is None:
        return ends
    better, worse = host.explains
    low = (1 + ends[0]) / (1 + worse) - 1 if worse is not None else -1.0
    return low, (1 + ends[1]) / (1 + better) - 1 if better is not None else inf


def _why(row: DiffRow) -> tuple[str, ...]:
    """Why a row has no interval, by the codes of the diff."""
    if "same_runs" in row.flags:
        return ("same_runs",)
    return row.reasons or (row.verdict,)


def _worse_interval(row: DiffRow) -> tuple[float, float]:
    """By which share the new side is worse: both ends of the interval, 0.05 for 5 % worse and below 0 for better."""
    low, high = row.interval or (None, None)
    low = 0.0 if low is None else low
    high = inf if high is None else high
    if row.better == "lower":
        return low - 1, high - 1
    return (1 / high - 1 if high else inf), (1 / low - 1 if low else inf)
