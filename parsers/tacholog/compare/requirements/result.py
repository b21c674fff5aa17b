"""The verdicts on requirements: the form of ``--format json``, the schema ``requirements/1``.

Values have the units of `tacholog.schema.metrics.METRICS`; unknown is null.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tacholog.compare.result import Interval, RowKey

RowVerdict = Literal["passed", "failed", "undecided"]
RequirementVerdict = Literal["failed", "missing", "undecided", "passed"]
#: Worst first. A requirement has the verdict of its worst row.
VERDICTS: tuple[RequirementVerdict, ...] = ("failed", "missing", "undecided", "passed")
LimitKind = Literal["max", "min", "worse"]


class RequirementRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row that a requirement names, and whether it holds there.

    ``reasons`` state why a row is undecided: ``across_limit``, the interval holds the limit; ``few_runs``; ``undersampled``; and more.
    ``value`` is the median, that of a run. ``interval`` is that of the median over ``over`` (runs, or sessions), widened by what rounding hides, and
    ``confidence`` what so many of them give. ``needed`` is the number of runs, or of samples in each run, that a verdict needs.
    Of a relative requirement, ``baseline`` is the median of the other release, ``worse`` by how much this one is worse (0.05: 5 %; below 0: better),
    and ``interval`` is that of ``worse``. ``limit`` is there if it is not the same in all rows of the requirement.
    """

    key: RowKey
    verdict: RowVerdict
    reasons: tuple[str, ...] = ()
    host: str | None = None
    runs: int = 0
    sessions: int = 0
    over: Literal["runs", "sessions", "pairs"] | None = None
    value: float | None = None
    interval: Interval | None = None
    confidence: float | None = None
    needed: int | None = None
    samples: int | None = None
    marks: tuple[str, ...] = ()
    baseline: float | None = None
    worse: float | None = None
    limit: float | None = None


class RequirementResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A requirement and its verdict: that of the worst of its rows; ``missing`` if no row matches it; ``hint`` then states why.

    ``place`` is its file and line. ``limit`` is in ``unit`` of the schema; of a relative requirement it is a share (0.05: at most 5 % worse), or null
    if each row has the threshold of `tacholog diff`. ``stated`` is the limit as the file writes it.
    """

    name: str
    place: str
    metric: str | None
    statistic: str | None
    unit: str | None
    kind: LimitKind
    limit: float | None
    stated: str
    confidence: float
    than: str | None = None
    verdict: RequirementVerdict
    hint: str | None = None
    rows: tuple[RequirementRow, ...] = ()


class LostRun(msgspec.Struct, frozen=True):
    """A run that did not end well: it may be missing from the values, so the others may look better than the whole."""

    run: str
    status: str
    reason: str | None


class RequirementReport(msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """All requirements of a file, judged for a set of runs. ``counts`` holds every verdict."""

    schema_: Literal["requirements/1"] = "requirements/1"
    generated_by: str
    file: str
    runs: int
    releases: tuple[str, ...]
    systems: tuple[str, ...]
    counts: dict[str, int]
    results: tuple[RequirementResult, ...]
    lost: tuple[LostRun, ...] = ()
