"""The dataset's frames as typed rows. The pages know nothing of pandas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tacholog.schema.conditions import Conditions

if TYPE_CHECKING:
    import pandas as pd

    from tacholog.dataset.frames import Dataset

CONDITIONS = Conditions.__struct_fields__
_LISTS = ("marks", "bins")  # pandas would ask each of their elements whether it is missing


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run: a row of ``runs``. ``manifest`` is the manifest as JSON, ``root`` the folder that holds the logs.

    ``build`` is the commit that the program was built from, with ``-dirty`` where its sources had been changed.
    """

    run: str
    system: str | None = None
    system_version: str | None = None
    tool: str | None = None
    tool_version: str | None = None
    release: str | None = None
    format: str | None = None
    host: str | None = None
    published: bool = False
    status: str | None = None
    reason: str | None = None
    start_time: str | None = None
    session: str | None = None
    repetition: int | None = None
    campaign: str | None = None
    options: str | None = None
    labels: str | None = None
    build: str | None = None
    root: str | None = None
    manifest: str | None = None


class LogRow(msgspec.Struct, frozen=True, kw_only=True):
    """One log of a run: a row of ``logs``."""

    run: str
    log: str
    sha256: str | None = None
    bytes: int | None = None
    format: str | None = None
    lines: int | None = None
    records: int | None = None
    chatter: int | None = None
    broken: int | None = None
    unknown: int | None = None
    status: str | None = None


class ProblemRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line, log or manifest that could not be read: a row of ``problems``."""

    run: str
    log: str | None = None
    line: int | None = None
    kind: str
    text: str | None = None
    reason: str | None = None


class HistogramRow(msgspec.Struct, frozen=True, kw_only=True):
    """The latency distribution behind one record: ascending bins ``(lower_ns, upper_ns, count)``; a row of ``histograms``."""

    run: str
    log: str
    line: int
    payload_bytes: int | None = None
    bins: tuple[tuple[float, float, int], ...] = ()


class ResultRow(msgspec.Struct, frozen=True, kw_only=True):
    """One number: a row of ``results`` with its run. ``value`` is in the metric's unit (`tacholog.schema.records.METRICS`)."""

    run: RunRow
    log: str
    line: int | None = None
    last_line: int | None = None
    scope: str = "summary"
    test: str = ""
    side: str | None = None
    participant: str | None = None
    conditions: Conditions = Conditions()
    payload_bytes: int | None = None
    payload_bytes_high: int | None = None
    metric: str
    statistic: str
    value: float | None = None
    unit: str = ""
    bound: str = "="
    resolution: float | None = None
    samples: int | None = None
    marks: tuple[str, ...] = ()
    value_line: int | None = None

    @property
    def place(self) -> int | None:
        """The line that the number itself stands on."""
        return self.line if self.value_line is None else self.value_line


def runs(data: Dataset) -> dict[str, RunRow]:
    """Return every run by its id, in the order of ids."""
    found = [msgspec.convert(row, RunRow, strict=False) for row in _rows(data.runs)]
    return {run.run: run for run in sorted(found, key=lambda run: run.run)}


def logs(data: Dataset) -> list[LogRow]:
    """Return every log, in the order of runs and names."""
    return sorted((msgspec.convert(row, LogRow, strict=False) for row in _rows(data.logs)), key=lambda log: (log.run, log.log))


def problems(data: Dataset) -> list[ProblemRow]:
    """Return everything that could not be read, in the order of the logs."""
    found = [msgspec.convert(row, ProblemRow, strict=False) for row in _rows(data.problems)]
    return sorted(found, key=lambda problem: (problem.run, problem.log or "", problem.line or 0))


def histograms(data: Dataset) -> list[HistogramRow]:
    """Return every histogram, in its order."""
    return [msgspec.convert(row, HistogramRow, strict=False) for row in _rows(data.histograms)]


def results(data: Dataset, known: Mapping[str, RunRow] | None = None) -> list[ResultRow]:
    """Return every number of the dataset, in its order."""
    known = runs(data) if known is None else known
    conditions: dict[tuple[object, ...], Conditions] = {}
    return [_result(row, known, conditions) for row in _rows(data.results)]


def _result(row: dict[str, object], known: Mapping[str, RunRow], conditions: dict[tuple[object, ...], Conditions]) -> ResultRow:
    """Return a row as a result. Numbers that were measured alike share their ``conditions``: those of each row took a third of the memory."""
    stated = tuple([row.pop(name, None) for name in CONDITIONS])
    if stated not in conditions:
        given = {name: value for name, value in zip(CONDITIONS, stated, strict=True) if value is not None}
        conditions[stated] = msgspec.convert(given, Conditions, strict=False)
    row["conditions"] = conditions[stated]
    row["run"] = known[str(row["run"])]
    return msgspec.convert(row, ResultRow, strict=False)


def _rows(frame: pd.DataFrame) -> Iterable[dict[str, object]]:
    """Yield the rows of a frame as what is known of them: pandas' several kinds of missing are left out."""
    import pandas as pd

    columns: dict[str, list[object]] = {}
    for name in frame.columns:
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            words = [*column.cat.categories.tolist(), None]  # the code of a missing word is -1
            columns[str(name)] = [words[code] for code in column.cat.codes.tolist()]
            continue
        values = column.tolist()
        gone = [False] * len(values) if name in _LISTS else pd.isna(column).tolist()
        columns[str(name)] = [(None if missing else _plain(value)) for value, missing in zip(values, gone, strict=True)]
    for row in zip(*columns.values(), strict=True):
        yield {name: value for name, value in zip(columns, row, strict=True) if value is not None}


def _plain(value: object) -> object:
    if hasattr(value, "tolist"):  # numpy arrays, which is how lists come back from Parquet
        return [_plain(each) for each in value.tolist()]
    return str(value) if isinstance(value, Path) else value
