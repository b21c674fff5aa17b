"""Requirements that compare with another release: is this one at most so much worse? The interval is that of `tacholog diff`."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import msgspec

from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy, RowFilter
from tacholog.compare.requirements.result import RequirementRow, RowVerdict
from tacholog.compare.result import COMPARED, Controls, DiffRow, RowKey, worse_by
from tacholog.compare.sides import control_runs, of_runs
from tacholog.store.frames import Dataset

_Ends = tuple[float, float]
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
    ratios = _ratios(row) if tested else None
    ends = _worse(ratios, row) if ratios else None
    allowed = limit if limit is not None else _threshold(row) if tested else None
    verdict, reasons = _verdict(ratios, allowed, row, host)
    return RequirementRow(
        key=row.new_key or row.key,
        verdict=verdict,
        reasons=reasons,
        runs=len(new.values) if new and tested else new.runs if new else 0,
        over=None if not tested else "pairs" if row.design == "paired" else "sessions",
        value=new.median if new else None,
        baseline=old.median if old else None,
        worse=worse_by(row.ratio, row.better) if row.ratio else None,
        interval=(ends[0] if ends[0] != -inf else None, ends[1] if ends[1] != inf else None) if ends else None,
        confidence=0.95 if ends else None,
        marks=row.marks,
        limit=allowed if limit is None else None,
    )


def _verdict(ratios: _Ends | None, limit: float | None, row: DiffRow, host: Controls | None) -> tuple[RowVerdict, tuple[str, ...]]:
    if ratios is None or limit is None:
        return "undecided", _why(row)
    if (found := _against(_worse(ratios, row), limit)) == "undecided":
        return found, ("across_limit",)
    return (found, ()) if _against(_worse(_without_host(ratios, row, host), row), limit) == found else ("undecided", ("host_changed",))


def _against(ends: _Ends, limit: float) -> RowVerdict:
    if ends[1] <= limit + _ROUNDING:
        return "passed"
    return "failed" if ends[0] > limit + _ROUNDING else "undecided"


def _without_host(ratios: _Ends, row: DiffRow, host: Controls | None) -> _Ends:
    """The interval of the ratio, widened by what the change of the host may explain: a slower host makes a release look worse."""
    if host is None or host.explains is None:
        return ratios
    # How many times as slow the host may have made the new side, at least and at most.
    least, most = (None if end is None else 1 + end for end in host.explains)
    low, high = ratios
    if row.better == "lower":
        return (low / most if most is not None else 0.0), (high / least if least else inf)
    return (low * least if least is not None else 0.0), (high * most if most is not None else inf)


def _why(row: DiffRow) -> tuple[str, ...]:
    """Why a row has no interval, by the codes of the diff."""
    if "same_runs" in row.flags:
        return ("same_runs",)
    return row.reasons or (row.verdict,)


def _ratios(row: DiffRow) -> _Ends:
    """Both ends of the interval of the ratio, new over old."""
    low, high = row.interval or (None, None)
    return (0.0 if low is None else low), (inf if high is None else high)


def _worse(ratios: _Ends, row: DiffRow) -> _Ends:
    """By which share the new side is worse: both ends of the interval, the better one first."""
    low, high = sorted(worse_by(end, row.better) for end in ratios)
    return low, high


def _threshold(row: DiffRow) -> float | None:
    """The threshold of the diff as a share of the old value. The diff takes thresholds of logarithms: 3 % is x1.03, and of a rate x1/1.03."""
    if row.threshold is None or row.better == "lower":
        return row.threshold
    return row.threshold / (1 + row.threshold)
