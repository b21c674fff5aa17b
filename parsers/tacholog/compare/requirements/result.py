"""The verdicts on requirements: the output of ``--format json``, with the schema ``requirements/1``.

Values have the units of `tacholog.schema.metrics.METRICS`; null means unknown.
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
    """One row of a requirement, and whether it fulfils the requirement.

    ``reasons`` state why a row is undecided: ``across_limit`` (the interval contains the limit), ``few_runs``, ``undersampled``, and more.
    ``value`` is the median, which is the value of a run. ``over`` states whether the verdict rests on runs, sessions or pairs. ``interval`` is the
    interval of the median, widened by the rounding error, and ``confidence`` is the actual confidence of this interval. ``needed`` is the number of
    runs, or of samples in each run, that a verdict needs. ``limit`` is present if each row of the requirement has a limit of its own.

    For a relative requirement, ``baseline`` is the median of the other release. ``worse`` is the share by which the row is worse: 0.05 is 5 % worse,
    and a negative share is better. ``interval`` is then the interval of ``worse``.
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
    """A requirement and its verdict, which is the verdict of its worst row. It is ``missing`` if no row matches; ``hint`` then states why.

    ``place`` is its file and line. ``limit`` is in ``unit``, a unit of the schema. For a relative requirement, it is a share (0.05: at most 5 %
    worse), or null if each row has the threshold of `tacholog diff`. ``stated`` is the limit as in the file.
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
    """A run that failed or is incomplete. Its values may be missing, so the results may look better than they are."""

    run: str
    status: str
    reason: str | None


class RequirementReport(msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """All requirements of a file, judged for a set of runs. ``counts`` contains each verdict."""

    schema_: Literal["requirements/1"] = "requirements/1"
    generated_by: str
    file: str
    runs: int
    releases: tuple[str, ...]
    systems: tuple[str, ...]
    counts: dict[str, int]
    results: tuple[RequirementResult, ...]
    lost: tuple[LostRun, ...] = ()
