"""What every row of a dataset must be, whatever the logs said: the schema of the tables, checked where data comes in from others."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from tacholog.formats.registry import formats
from tacholog.schema.conditions import Basis, DataPath, LoadMode, Reliability, Touched
from tacholog.schema.marks import MARKS
from tacholog.schema.metrics import METRICS
from tacholog.schema.records import Bound, Scope, Status, Test

if TYPE_CHECKING:
    import pandera.pandas as pa

    from tacholog.dataset.frames import Dataset

MAY_BE_NEGATIVE = ("latency",)  # One-way latencies on two clocks: shown as they are, and marked.


def violations(dataset: Dataset) -> list[str]:
    """Say what in the tables is not as the schema wants it: an empty list if all is well."""
    import pandera.errors

    found: list[str] = []
    for name, schema in (("runs", _runs()), ("logs", _logs()), ("results", _results())):
        try:
            schema.validate(getattr(dataset, name), lazy=True)
        except pandera.errors.SchemaErrors as errors:
            cases = errors.failure_cases.drop_duplicates(["column", "check"])
            found += [f"{name}: {case.column}: {case.check} does not hold, first for {case.failure_case!r}" for case in cases.itertuples()]
    return [*found, *_undefined(dataset), *_same_bytes(dataset)]


def _undefined(dataset: Dataset) -> list[str]:
    """Numbers whose definition nobody gives: they would stand beside others without anybody knowing what they are."""
    known = {name: tuple(getattr(module, "DEFINITIONS", ())) for name, module in formats().items()}
    used = dataset.results[["run", "log", "definition"]].dropna().drop_duplicates().merge(dataset.logs[["run", "log", "format"]], on=["run", "log"])
    found = []
    for run, log, definition, name in used.astype(str).to_numpy().tolist():
        if definition not in known.get(name, ()):
            found.append(f"{run}/{log}: the definition {definition!r} is none of the format {name} ({', '.join(known.get(name, ())) or 'none'})")
    return found


def _same_bytes(dataset: Dataset) -> list[str]:
    """Logs of one run that are copies of each other: each of their numbers counts twice."""
    logs = dataset.logs[dataset.logs["bytes"].fillna(0) > 0]
    named: dict[tuple[str, str], list[str]] = {}
    for run, digest, log in logs[["run", "sha256", "log"]].astype(str).to_numpy().tolist():
        named.setdefault((run, digest), []).append(log)
    return [f"{run}: {' and '.join(sorted(names))} hold the same bytes" for (run, _), names in named.items() if len(names) > 1]


def _text(*allowed: str, nullable: bool = False) -> pa.Column:
    import pandera.pandas as pa

    return pa.Column("string", pa.Check.isin(allowed) if allowed else None, nullable=nullable)


def _count(at_least: int = 0, nullable: bool = False) -> pa.Column:
    import pandera.pandas as pa

    return pa.Column("Int64", pa.Check.ge(at_least), nullable=nullable)


def _runs() -> pa.DataFrameSchema:
    import pandera.pandas as pa

    return pa.DataFrameSchema(
        {
            "run": pa.Column("string", unique=True),
            "system": _text(),
            "status": _text(*get_args(Status), nullable=True),
            "published": pa.Column("boolean"),
        }
    )


def _logs() -> pa.DataFrameSchema:
    import pandera.pandas as pa

    counts = ("records", "chatter", "broken", "unknown")
    every_line_has_a_class = pa.Check(
        lambda logs: logs["lines"].isna() | (logs[list(counts)].sum(axis=1) == logs["lines"]), name="lines = records + chatter + broken + unknown"
    )
    columns = {"run": _text(), "log": _text(), "status": _text(*get_args(Status), nullable=True), **{name: _count() for name in counts}}
    return pa.DataFrameSchema(columns, checks=every_line_has_a_class)


def _results() -> pa.DataFrameSchema:
    import pandera.pandas as pa

    known = {
        "scope": get_args(Scope),
        "test": get_args(Test),
        "metric": tuple(METRICS),
        "unit": tuple({metric.unit for metric in METRICS.values()}),
        "bound": get_args(Bound),
    }
    may_be_unknown = {
        "basis": get_args(Basis),
        "load_mode": get_args(LoadMode),
        "data_path": get_args(DataPath),
        "payload_touched": get_args(Touched),
        "reliability": get_args(Reliability),
    }
    return pa.DataFrameSchema(
        {
            **{name: _text(*allowed) for name, allowed in known.items()},
            **{name: _text(*allowed, nullable=True) for name, allowed in may_be_unknown.items()},
            "line": _count(1),
            "last_line": _count(1),
            "payload_bytes": _count(1, nullable=True),
            "samples": _count(nullable=True),
            "value": pa.Column("Float64", nullable=True),
            "resolution": pa.Column("Float64", pa.Check.gt(0), nullable=True),
            "marks": pa.Column("object", pa.Check(lambda marks: set(marks) <= MARKS.keys(), element_wise=True, name="marks are known")),
        },
        checks=pa.Check(lambda rows: rows["value"].isna() | (rows["value"] >= 0) | rows["metric"].isin(MAY_BE_NEGATIVE), name="no value is negative"),
    )
