"""Judge all requirements of a file for a set of runs: for each requirement, find and judge its rows, or state why there are none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from math import inf
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from tacholog.compare.diff.cells import CellTable, mark_names
from tacholog.compare.diff.compare import compare
from tacholog.compare.diff.verdict import FAILED_BITS
from tacholog.compare.policy import Policy, samples_needed
from tacholog.compare.requirements.file import CONFIDENCE, GateEntry, Requirement, RequirementEntry, RequirementFile
from tacholog.compare.requirements.result import (
    VERDICTS,
    LimitKind,
    LostRun,
    RequirementReport,
    RequirementResult,
    RequirementRow,
    RequirementVerdict,
    RowVerdict,
)
from tacholog.compare.result import COMPARED, ComparisonRow, Controls, RowKey, worse_by
from tacholog.compare.row_values import DatasetRows, MedianInterval, attainable_confidence, dataset_rows, median_interval, values_needed
from tacholog.compare.sides import control_runs, of_runs
from tacholog.errors import UnreadableInput
from tacholog.runs.labels import CONTROL, NOT_STATED, PREFIX, label_name, labels_of
from tacholog.schema.marks import MARK_BITS
from tacholog.schema.metrics import METRICS, median_run
from tacholog.schema.records import BOUNDS
from tacholog.store.frames import Dataset

if TYPE_CHECKING:
    import pandas as pd


_LOST = ("loss", "messages_lost")
_EXACT = 1e-9  # relative tolerance: a limit in the file and the same number in a log may differ by rounding of floats


class _RunValue(NamedTuple):
    value: float
    session: str | None


def judge_absolute(dataset: Dataset, requirement: Requirement) -> tuple[RequirementRow, ...]:
    """Judge each row of a dataset. The dataset must contain only the numbers that the requirement selects.

    Rows are the same as in `tacholog diff`: runs under different conditions, or on different machines, are different rows.
    """
    dataset_cells = dataset_rows(dataset)
    rows = [msgspec.structs.replace(_absolute_row(dataset_cells, cell, requirement), key=key) for cell, key in enumerate(dataset_cells.keys)]
    return tuple(sorted(rows, key=_order))


def _order(row: RequirementRow) -> tuple[object, ...]:
    return ("failed", "undecided", "passed").index(row.verdict), row.key.transport or "", row.key.payload_bytes or 0


def _absolute_row(rows: DatasetRows, cell: int, requirement: Requirement) -> RequirementRow:
    cells = rows.cells
    runs = [_RunValue(value, run["session"]) for value, run in rows.values(cell)]
    samples = float(cells.samples[cell])
    row = RequirementRow(
        key=RowKey(metric=requirement.metric, statistic=requirement.statistic),  # replaced by the row's own key later
        verdict="undecided",
        host=rows.runs[int(cells.run[cell])]["host"],
        runs=len(runs),
        sessions=len({run.session for run in runs if run.session is not None}),
        samples=None if np.isnan(samples) else int(samples),
        marks=mark_names(int(cells.marks[cell])),
    )
    if reasons := _reasons_not_to_judge(int(cells.marks[cell]), runs, row.samples, requirement):
        needed = samples_needed(requirement.statistic) if "undersampled" in reasons else None
        return msgspec.structs.replace(row, reasons=reasons, needed=needed, value=_median([run.value for run in runs], requirement))
    return _judged(row, runs, _widths(cells, cell), requirement)


def _reasons_not_to_judge(marks: int, runs: Sequence[_RunValue], samples: int | None, requirement: Requirement) -> tuple[str, ...]:
    if not runs:
        return ("no_value",)
    if marks & FAILED_BITS:
        return ("marked", *(name for name in mark_names(marks & FAILED_BITS)))
    if marks & MARK_BITS["loss"] and requirement.metric != "loss":
        return ("lossy",)
    needed = samples_needed(requirement.statistic)
    if marks & MARK_BITS["undersampled"] or (needed is not None and samples is not None and samples < needed):
        return ("undersampled",)
    return ()


def _judged(row: RequirementRow, runs: Sequence[_RunValue], widths: tuple[float, float], requirement: Requirement) -> RequirementRow:
    needed = values_needed(requirement.confidence)
    over_sessions = row.sessions >= needed and all(run.session is not None for run in runs)
    by_session = _medians_of_sessions(runs)
    values = list(by_session.values()) if over_sessions else [run.value for run in runs]
    median_range = median_interval(values, requirement.confidence)
    row = msgspec.structs.replace(row, value=_median([run.value for run in runs], requirement), over="sessions" if over_sessions else "runs")
    if median_range is None:
        return msgspec.structs.replace(row, reasons=("few_runs",), needed=needed, confidence=attainable_confidence(len(values)))
    median_range = MedianInterval(max(median_range.low - widths[0], 0.0), median_range.high + widths[1], median_range.confidence)
    verdict = _absolute_verdict(median_range.low, median_range.high, requirement)
    reasons: tuple[str, ...] = ("across_limit",) if verdict == "undecided" else ()
    # If there are too few sessions, all runs are judged together. In this case, the verdict is undecided if a session alone has a different verdict.
    # More runs per session would not change this disagreement.
    if verdict != "undecided" and not over_sessions and any(_absolute_verdict(value, value, requirement) != verdict for value in by_session.values()):
        verdict, reasons = "undecided", ("sessions_disagree",)
    # Losses occur in bursts. A few runs that lost many messages do not change the median, so without this check, a limit of 0 would pass.
    mean = fmean(run.value for run in runs)
    if verdict == "passed" and requirement.metric in _LOST and _absolute_verdict(mean, mean, requirement) == "failed":
        verdict, reasons = "undecided", ("some_runs_lost",)
    interval = (median_range.low, median_range.high if np.isfinite(median_range.high) else None)
    return msgspec.structs.replace(row, verdict=verdict, reasons=reasons, interval=interval, confidence=median_range.confidence)


def _medians_of_sessions(runs: Sequence[_RunValue]) -> dict[str, float]:
    """Return the median of each session. For an even number of runs, it is the mean of the two middle runs.

    All other code uses the worse of the two middle runs. Here, each session of two runs would then look too bad: in simulations, a requirement that
    was just fulfilled failed in 19 % of the cases.
    """
    names = sorted({run.session for run in runs if run.session is not None})
    return {name: median(run.value for run in runs if run.session == name) for name in names}


def _median(values: Sequence[float], requirement: Requirement) -> float | None:
    return median_run(values, requirement.metric) if values else None


def _absolute_verdict(low: float, high: float, requirement: Requirement) -> RowVerdict:
    """Return whether an interval fulfils the limit; ``undecided`` if only a part of it does. A value equal to the limit fulfils the limit."""
    limit = requirement.limit
    room = abs(limit) * _EXACT
    if requirement.max is not None:
        return "passed" if high <= limit + room else "failed" if low > limit + room else "undecided"
    return "passed" if low >= limit - room else "failed" if high < limit - room else "undecided"


def _widths(cells: CellTable, cell: int) -> tuple[float, float]:
    """Return how far the true value may be below the printed value, and how far above it."""
    resolution, bound = float(cells.resolution[cell]), BOUNDS[int(cells.bound[cell])]
    half = 0.0 if np.isnan(resolution) else resolution / 2
    if bound == "<":
        return np.inf, half
    if bound == ">":
        return half, np.inf
    return (2 * half, 2 * half) if bound == "~" else (half, half)


_Ends = tuple[float, float]
_ROUNDING = 1e-9
_NO_PARTNER = ("not_comparable", "removed", "added")


def host_between(old: Dataset, new: Dataset) -> Controls | None:
    """Return the result of the controls of two sets of runs; ``None`` if a side has no controls."""
    sides = [of_runs(side, control_runs(side)) for side in (old, new)]
    return None if any(side.runs.empty for side in sides) else compare(sides[0], sides[1], Policy(), everything=False).controls


def judge_relative(
    sides: tuple[Dataset, Dataset], host: Controls | None, metrics: tuple[str, ...], limit: float | None, wanted: Mapping[str, object]
) -> tuple[RequirementRow, ...]:
    """Judge each row of either side.

    Args:
        sides: the runs to compare with and the judged runs, each with only the numbers that the requirement selects.
        host: the result of the controls of both sides.
        metrics: as in ``tacholog diff --metric``; empty: the metrics that a diff tests.
        limit: the share by which the new side may be worse; ``None``: the threshold of each row.
        wanted: the required properties of the rows.
    """
    comparison = compare(*sides, Policy(metrics=metrics), everything=False)
    selected_rows = [row for row in comparison.rows if all(getattr(row.key, name) == value for name, value in wanted.items())]
    compared = {_key_without_conditions(row) for row in selected_rows if row.verdict in COMPARED}
    # One release may have been measured on a second machine too. A row of the second machine has no partner. It is left out if the same row of
    # another machine was compared.
    return tuple(
        _relative_row(row, limit, host) for row in selected_rows if row.verdict not in _NO_PARTNER or _key_without_conditions(row) not in compared
    )


def _key_without_conditions(row: ComparisonRow) -> RowKey:
    return msgspec.structs.replace(row.new_key or row.key, apart=())


def _relative_row(row: ComparisonRow, limit: float | None, host: Controls | None) -> RequirementRow:
    old, new = row.old, row.new
    tested = row.interval_kind == "confidence" and row.p is not None
    ratios = _ratios(row) if tested else None
    ends = _worse_shares(ratios, row) if ratios else None
    allowed = limit if limit is not None else _threshold(row) if tested else None
    verdict, reasons = _relative_verdict(ratios, allowed, row, host)
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


def _relative_verdict(ratios: _Ends | None, limit: float | None, row: ComparisonRow, host: Controls | None) -> tuple[RowVerdict, tuple[str, ...]]:
    if ratios is None or limit is None:
        return "undecided", _reasons_without_interval(row)
    if (verdict := _against(_worse_shares(ratios, row), limit)) == "undecided":
        return verdict, ("across_limit",)
    return (verdict, ()) if _against(_worse_shares(_without_host(ratios, row, host), row), limit) == verdict else ("undecided", ("host_changed",))


def _against(ends: _Ends, limit: float) -> RowVerdict:
    if ends[1] <= limit + _ROUNDING:
        return "passed"
    return "failed" if ends[0] > limit + _ROUNDING else "undecided"


def _without_host(ratios: _Ends, row: ComparisonRow, host: Controls | None) -> _Ends:
    """Widen the interval by the changes that the host may have caused. A slower host makes a release look worse."""
    if host is None or host.explains is None:
        return ratios
    # The smallest and the largest factor by which the host may have slowed down the new side.
    least, most = (None if end is None else 1 + end for end in host.explains)
    low, high = ratios
    if row.better == "lower":
        return (low / most if most is not None else 0.0), (high / least if least else inf)
    return (low * least if least is not None else 0.0), (high * most if most is not None else inf)


def _reasons_without_interval(row: ComparisonRow) -> tuple[str, ...]:
    if "same_runs" in row.flags:
        return ("same_runs",)
    return row.reasons or (row.verdict,)


def _ratios(row: ComparisonRow) -> _Ends:
    low, high = row.interval or (None, None)
    return (0.0 if low is None else low), (inf if high is None else high)


def _worse_shares(ratios: _Ends, row: ComparisonRow) -> _Ends:
    """Convert both ends of an interval of ratios to shares by which the new side is worse. The better end comes first."""
    low, high = sorted(worse_by(end, row.better) for end in ratios)
    return low, high


def _threshold(row: ComparisonRow) -> float | None:
    """Return the threshold of a row as a share of the old value; ``None`` if the row has no threshold.

    The threshold of the comparison is a factor: 3 % means a factor of 1.03. If a higher value is better, as for a rate, the value must fall by this
    factor to be worse. A rate at the threshold is therefore the old value divided by 1.03, so the share is a little less than 3 %.
    """
    if row.threshold is None or row.better == "lower":
        return row.threshold
    return row.threshold / (1 + row.threshold)


EXIT_FAILED, EXIT_UNDECIDED = 3, 4
FAIL_ON: tuple[RequirementVerdict, ...] = ("failed", "undecided", "missing")
Base = Callable[[str], Dataset]  # returns the runs of a release, or of a folder


class _Baseline(NamedTuple):
    """The older releases with which relative requirements are compared.

    ``base`` returns the runs of a release or folder. ``than`` is a release or folder for all requirements; if it is ``None``, each requirement names
    a release. ``host`` returns the result of the controls, by the name of the release.
    """

    base: Base
    than: str | None
    host: Callable[[str], Controls | None]


def judge(dataset: Dataset, file: RequirementFile, base: Base, than: str | None = None) -> RequirementReport:
    """Judge all requirements.

    Args:
        dataset: the runs, of one release of each system.
        file: the requirements.
        base: a function that returns the runs of a release or folder, for relative requirements. Its argument is an empty text if no release is
            named.
        than: the release or folder to compare with; ``None``: the release or folder that each requirement names.

    Raises:
        UnreadableInput: ``base`` finds no runs. See `check_bases` for requirements without a release.
    """
    baseline = _Baseline(base, than, cache(lambda name: host_between(base(name), dataset)))
    results = [_absolute(dataset, entry) if not entry.requirement.is_relative else _relative(dataset, entry, baseline) for entry in file.requirements]
    results += [_gate(dataset, gate, baseline) for gate in file.gates]
    counted = Counter(result.verdict for result in results)
    runs = dataset.runs
    return RequirementReport(
        generated_by=f"tacholog {version('tacholog')}",
        file=file.path,
        runs=len(runs),
        releases=tuple(sorted({str(name) for name in runs["release"].dropna()})),
        systems=tuple(sorted({str(name) for name in runs["system"].dropna()})),
        counts={verdict: counted.get(verdict, 0) for verdict in VERDICTS},
        results=tuple(sorted(results, key=lambda result: VERDICTS.index(result.verdict))),
        lost=_lost(dataset),
    )


def exit_code(report: RequirementReport, fail_on: tuple[str, ...] = ()) -> int:
    """Return the exit code: 3 if a requirement failed, else 4 if a requirement is undecided or has no row, else 0.

    Args:
        report: the verdicts.
        fail_on: the verdicts that count; empty: all except ``passed``.
    """
    asked = [verdict for verdict in fail_on or FAIL_ON if report.counts[verdict]]
    return EXIT_FAILED if "failed" in asked else EXIT_UNDECIDED if asked else 0


def _absolute(dataset: Dataset, entry: RequirementEntry) -> RequirementResult:
    requirement = entry.requirement
    part, hint = matching_numbers(dataset, requirement)
    kind: LimitKind = "max" if requirement.max is not None else "min"
    words = "at most" if kind == "max" else "at least"
    limit = requirement.max if requirement.max is not None else requirement.min
    rows = judge_absolute(part, requirement) if hint is None else ()
    unit = "\u00b5s" if requirement.unit == "us" else requirement.unit  # the unit as reports write it
    return _result(entry, kind, f"{words} {limit:g} {unit}", rows, hint)


def _relative(dataset: Dataset, entry: RequirementEntry, baseline: _Baseline) -> RequirementResult:
    requirement = entry.requirement
    name = baseline.than or requirement.than or ""
    old, old_hint = matching_numbers(baseline.base(name), requirement)
    new, hint = matching_numbers(dataset, requirement)
    hint = hint or (f"{name or 'the other release (not named)'}: {old_hint}" if old_hint else None)
    metrics = (f"{requirement.metric}:{requirement.statistic}",)
    rows = () if hint else judge_relative((old, new), baseline.host(name), metrics, requirement.limit, {})
    limit = f"at most {requirement.max_worse_percent:g} % worse than {name}"
    return msgspec.structs.replace(_result(entry, "worse", limit, rows, hint), than=name)


def _gate(dataset: Dataset, gate: GateEntry, baseline: _Baseline) -> RequirementResult:
    name = baseline.than or ""
    wanted = gate.rows
    metrics = (f"{wanted.metric}:{wanted.statistic}" if wanted.statistic else wanted.metric,) if wanted.metric else ()
    rows = judge_relative((baseline.base(name), dataset), baseline.host(name), metrics, None, wanted.wanted())
    return RequirementResult(
        name=", ".join(f"{field} {value}" for field, value in wanted.wanted().items()) or "all rows",
        place=gate.location,
        metric=wanted.metric,
        statistic=wanted.statistic,
        unit=METRICS[wanted.metric].unit if wanted.metric in METRICS else None,
        kind="worse",
        limit=None,
        stated=f"not worse than {name} by more than the threshold",
        confidence=CONFIDENCE,
        than=name,
        verdict=_worst(rows),
        hint=None if rows else "no tested row of either side has these properties",
        rows=rows,
    )


def check_bases(file: RequirementFile, than: str | None) -> None:
    """Refuse a relative requirement without a release to compare with.

    Raises:
        UnreadableInput: neither the file nor the command line names a release; the message names file and line.
    """
    unnamed = [entry.location for entry in file.requirements if entry.requirement.is_relative and not entry.requirement.than]
    for location in () if than else (*unnamed, *(gate.location for gate in file.gates)):
        raise UnreadableInput(f"{location}: than: the release to compare with is missing; state it here or with --than")


def _result(entry: RequirementEntry, kind: LimitKind, limit: str, rows: tuple[RequirementRow, ...], hint: str | None) -> RequirementResult:
    requirement = entry.requirement
    return RequirementResult(
        name=requirement.name or _default_name(requirement),
        place=entry.location,
        metric=requirement.metric,
        statistic=requirement.statistic,
        unit=METRICS[requirement.metric].unit,
        kind=kind,
        limit=requirement.limit,
        stated=limit,
        confidence=requirement.confidence,
        verdict=_worst(rows),
        hint=hint,
        rows=rows,
    )


def _default_name(requirement: Requirement) -> str:
    """Return a name such as ``latency p99, shm, 1024 B``."""
    wanted = {name: value for name, value in requirement.wanted().items() if name != "payload_bytes"}
    size = [f"{requirement.bytes_wanted} B"] if requirement.bytes_wanted is not None else []
    statistic = "" if requirement.statistic == "total" else f" {requirement.statistic}"
    return ", ".join([f"{requirement.metric}{statistic}", *map(str, wanted.values()), *requirement.label.values(), *size])


def _worst(rows: tuple[RequirementRow, ...]) -> RequirementVerdict:
    verdicts: set[RequirementVerdict] = {row.verdict for row in rows} or {"missing"}
    return min(verdicts, key=VERDICTS.index)


def _lost(dataset: Dataset) -> tuple[LostRun, ...]:
    bad = dataset.runs[~dataset.runs["status"].isin(["ok"]) & dataset.runs["status"].notna()]
    return tuple(
        LostRun(str(row["run"]), str(row["status"]), row["reason"] if isinstance(row["reason"], str) else None) for row in bad.to_dict("records")
    )


_OF_RUNS = ("system", "host")  # columns of the runs; all other properties are columns of the results
_NAMED = 8  # the largest number of values that a hint names


def matching_numbers(dataset: Dataset, requirement: Requirement) -> tuple[Dataset, str | None]:
    """Return the part of the dataset with the numbers that a requirement selects. If there are no numbers, also return a hint.

    The hint names the property whose required value no number has. Numbers of controls are selected only if the requirement names the label of
    controls.
    """
    results = dataset.results
    remaining = (results["scope"] == "summary").to_numpy(bool)
    if label_name(CONTROL) not in requirement.label:
        remaining = remaining & ~results["run"].isin(control_runs(dataset)).to_numpy(bool)
    for name, of_run, wanted in _steps(dataset, requirement):
        values = results[name] if of_run is None else results["run"].map(of_run).astype("string")
        fits = remaining & (values == wanted).fillna(value=False).to_numpy(bool)
        if not fits.any():
            return _with(dataset, results[fits]), _hint(name, wanted, values[remaining], is_metric=name == "metric")
        remaining = fits  # The loop changes only flags: it would be slow to copy rows of the table, because it has fifty columns.
    return _with(dataset, results[remaining]), None


def _steps(dataset: Dataset, requirement: Requirement) -> Iterator[tuple[str, dict[str, str | None] | None, str | int | float]]:
    """Yield the name, the values and the required value of each property.

    For a label or another property of runs, the values are by run. For a column of the results, they are ``None``.
    """
    runs = dataset.runs.reindex(columns=["run", "labels", *_OF_RUNS]).astype(object)
    columns = runs.where(runs.notna(), None).set_index("run").to_dict()
    yield "metric", None, requirement.metric
    yield "statistic", None, requirement.statistic
    for name, value in requirement.wanted().items():
        yield name, columns[name] if name in _OF_RUNS else None, value
    for label, value in requirement.label.items():
        yield PREFIX + label, {run: labels_of(text).get(PREFIX + label, NOT_STATED) for run, text in columns["labels"].items()}, value


def _with(dataset: Dataset, results: pd.DataFrame) -> Dataset:
    runs = dataset.runs[dataset.runs["run"].isin(results["run"].unique())]
    return msgspec.structs.replace(dataset, runs=runs, results=results)


def _hint(name: str, wanted: object, values: pd.Series, *, is_metric: bool) -> str:
    there = sorted({str(value) for value in values.dropna().unique()}, key=lambda text: (len(text), text) if text.isdecimal() else (0, text))
    if not there:
        return f"no number states {name}" if not is_metric else "there are no numbers at all"
    return f"nothing has {name} = {wanted}; there is {_listed(there)}"


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return ", ".join(words[:_NAMED]) + more
