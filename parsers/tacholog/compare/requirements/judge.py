"""Judge all requirements of a file for a set of runs: find the rows that each names, or why there are none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tacholog.compare.policy import RowFilter
from tacholog.compare.requirements.absolute import judge_absolute
from tacholog.compare.requirements.file import CONFIDENCE, Placed, PlacedGate, Requirement, RequirementFile
from tacholog.compare.requirements.relative import Compared, host_between, judge_relative
from tacholog.compare.requirements.result import (
    VERDICTS,
    LimitKind,
    LostRun,
    RequirementReport,
    RequirementResult,
    RequirementRow,
    RequirementVerdict,
)
from tacholog.compare.result import Controls
from tacholog.compare.sides import control_runs
from tacholog.errors import UnreadableInput
from tacholog.runs.labels import CONTROL, NOT_STATED, PREFIX, label_name, labels_of
from tacholog.schema.metrics import METRICS
from tacholog.store.frames import Dataset

if TYPE_CHECKING:
    import pandas as pd


EXIT_FAILED, EXIT_UNDECIDED = 3, 4
FAIL_ON: tuple[RequirementVerdict, ...] = ("failed", "undecided", "missing")
Base = Callable[[str], Dataset]  # the runs of a release, or of a folder


class _Other(NamedTuple):
    """What relative requirements compare with: ``than`` replaces what they name, ``host`` is what controls say of the host since then."""

    base: Base
    than: str | None
    host: Callable[[str], Controls | None]


def judge(dataset: Dataset, file: RequirementFile, base: Base, than: str | None = None) -> RequirementReport:
    """Judge all requirements.

    Args:
        dataset: the runs, of one release of each system.
        file: the requirements.
        base: gives the runs that a relative requirement compares with, by the name of their release or folder; of no name, an empty text.
        than: what relative requirements compare with, whatever the file says; ``None``: what the file says.

    Raises:
        UnreadableInput: ``base`` finds no such runs. See `check_bases` for requirements that name none.
    """
    other = _Other(base, than, cache(lambda name: host_between(base(name), dataset)))
    results = [
        _absolute(dataset, placed) if not placed.requirement.is_relative else _relative(dataset, placed, other) for placed in file.requirements
    ]
    results += [_gate(dataset, gate, other) for gate in file.gates]
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
    """The exit code: 3 if a requirement failed, else 4 if one cannot be told or has no row, else 0.

    Args:
        report: the verdicts.
        fail_on: the verdicts that count; none: all but ``passed``.
    """
    asked = [verdict for verdict in fail_on or FAIL_ON if report.counts[verdict]]
    return EXIT_FAILED if "failed" in asked else EXIT_UNDECIDED if asked else 0


def _absolute(dataset: Dataset, placed: Placed) -> RequirementResult:
    requirement = placed.requirement
    part = selected(dataset, requirement)
    kind: LimitKind = "max" if requirement.max is not None else "min"
    words = "at most" if kind == "max" else "at least"
    stated = requirement.max if requirement.max is not None else requirement.min
    rows = judge_absolute(part.dataset, requirement) if part.hint is None else ()
    unit = "\u00b5s" if requirement.unit == "us" else requirement.unit  # the sign that values have
    return _result(placed, kind, f"{words} {stated:g} {unit}", rows, part.hint)


def _relative(dataset: Dataset, placed: Placed, other: _Other) -> RequirementResult:
    requirement = placed.requirement
    name = other.than or requirement.than or ""
    old, new = selected(other.base(name), requirement), selected(dataset, requirement)
    hint = new.hint or (f"{name or 'the other release, which nothing names'}: {old.hint}" if old.hint else None)
    metrics = (f"{requirement.metric}:{requirement.statistic}",)
    rows = () if hint else judge_relative(Compared(old.dataset, new.dataset, other.host(name)), metrics, requirement.limit)
    stated = f"at most {requirement.max_worse_percent:g} % worse than {name}"
    return msgspec.structs.replace(_result(placed, "worse", stated, rows, hint), than=name)


def _gate(dataset: Dataset, gate: PlacedGate, other: _Other) -> RequirementResult:
    name = other.than or ""
    wanted = gate.rows
    metrics = (f"{wanted.metric}:{wanted.statistic}" if wanted.statistic else wanted.metric,) if wanted.metric else ()
    rows = judge_relative(Compared(other.base(name), dataset, other.host(name)), metrics, None, _named_in_rows(wanted))
    return RequirementResult(
        name=", ".join(f"{field} {value}" for field, value in wanted.wanted().items()) or "all rows",
        place=gate.place,
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


def _named_in_rows(wanted: RowFilter) -> RowFilter | None:
    return wanted if wanted.wanted() else None


def check_bases(file: RequirementFile, than: str | None) -> None:
    """Refuse a relative requirement that says nothing to compare with.

    Raises:
        UnreadableInput: neither the file nor the command line says it; the message names file and line.
    """
    placed = [one.place for one in file.requirements if one.requirement.is_relative and not one.requirement.than]
    for place in () if than else (*placed, *(gate.place for gate in file.gates)):
        raise UnreadableInput(f"{place}: than: name the release to compare with here, or with --than")


def _result(placed: Placed, kind: LimitKind, stated: str, rows: tuple[RequirementRow, ...], hint: str | None) -> RequirementResult:
    requirement = placed.requirement
    return RequirementResult(
        name=requirement.name or _named(requirement),
        place=placed.place,
        metric=requirement.metric,
        statistic=requirement.statistic,
        unit=METRICS[requirement.metric].unit,
        kind=kind,
        limit=requirement.limit,
        stated=stated,
        confidence=requirement.confidence,
        verdict=_worst(rows),
        hint=hint,
        rows=rows,
    )


def _named(requirement: Requirement) -> str:
    """A name made of what a requirement asks for, such as ``latency p99, shm, 1024 B``."""
    wanted = {name: value for name, value in requirement.wanted().items() if name != "payload_bytes"}
    size = [f"{requirement.bytes_wanted} B"] if requirement.bytes_wanted is not None else []
    statistic = "" if requirement.statistic == "total" else f" {requirement.statistic}"
    return ", ".join([f"{requirement.metric}{statistic}", *map(str, wanted.values()), *requirement.label.values(), *size])


def _worst(rows: tuple[RequirementRow, ...]) -> RequirementVerdict:
    """The verdict of the worst row."""
    found: set[RequirementVerdict] = {row.verdict for row in rows} or {"missing"}
    return min(found, key=VERDICTS.index)


def _lost(dataset: Dataset) -> tuple[LostRun, ...]:
    """The runs that did not end well."""
    bad = dataset.runs[~dataset.runs["status"].isin(["ok"]) & dataset.runs["status"].notna()]
    return tuple(
        LostRun(str(row["run"]), str(row["status"]), row["reason"] if isinstance(row["reason"], str) else None) for row in bad.to_dict("records")
    )


_OF_RUNS = ("system", "host")  # columns of the runs; all other properties are columns of the results
_NAMED = 8  # values that a hint names


class Selected(NamedTuple):
    """The part of a dataset that a requirement names; if it is empty, ``hint`` says which property leaves nothing."""

    dataset: Dataset
    hint: str | None


def selected(dataset: Dataset, requirement: Requirement) -> Selected:
    """The numbers that a requirement names, with their runs. Controls are left out, unless the requirement names their label.

    Args:
        dataset: the runs that are judged.
        requirement: whose metric, statistic and properties are asked for.
    """
    results = dataset.results
    kept = (results["scope"] == "summary").to_numpy(bool)
    if label_name(CONTROL) not in requirement.label:
        kept = kept & ~results["run"].isin(control_runs(dataset)).to_numpy(bool)
    for name, of_run, wanted in _steps(dataset, requirement):
        values = results[name] if of_run is None else results["run"].map(of_run).astype("string")
        fits = kept & (values == wanted).fillna(value=False).to_numpy(bool)
        if not fits.any():
            return Selected(_with(dataset, results[fits]), _hint(name, wanted, values[kept], whole=name == "metric"))
        kept = fits  # Rows are taken out of the table once: it has fifty columns.
    return Selected(_with(dataset, results[kept]), None)


def _steps(dataset: Dataset, requirement: Requirement) -> Iterator[tuple[str, dict[str, str | None] | None, str | int | float]]:
    """Yield each property that is asked for: its name, its value for each run if it is no column of the results, and the value that is wanted."""
    runs = dataset.runs.reindex(columns=["run", "labels", *_OF_RUNS]).astype(object)
    columns = runs.where(runs.notna(), None).set_index("run").to_dict()
    yield "metric", None, requirement.metric
    yield "statistic", None, requirement.statistic
    for name, value in requirement.wanted().items():
        yield name, columns[name] if name in _OF_RUNS else None, value
    for label, value in requirement.label.items():
        yield PREFIX + label, {run: labels_of(text).get(PREFIX + label, NOT_STATED) for run, text in columns["labels"].items()}, value


def _with(dataset: Dataset, results: pd.DataFrame) -> Dataset:
    """The dataset with these of its results, and the runs that they are of."""
    runs = dataset.runs[dataset.runs["run"].isin(results["run"].unique())]
    return msgspec.structs.replace(dataset, runs=runs, results=results)


def _hint(name: str, wanted: object, values: pd.Series, *, whole: bool) -> str:
    there = sorted({str(value) for value in values.dropna().unique()}, key=lambda text: (len(text), text) if text.isdecimal() else (0, text))
    if not there:
        return f"no number states {name}" if not whole else "there are no numbers at all"
    return f"nothing has {name} = {wanted}; there is {_listed(there)}"


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return ", ".join(words[:_NAMED]) + more
