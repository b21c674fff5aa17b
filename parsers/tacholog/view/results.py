"""The frames of a dataset as typed rows, so that pages do not depend on pandas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pandas as pd

from tacholog.schema.conditions import Conditions
from tacholog.store.distributions import PackedDistribution
from tacholog.store.frames import ordinals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacholog.store.frames import Dataset
import math
from bisect import bisect_left
from collections.abc import Hashable

from tacholog.runs.labels import CONTROL, labels_of

CONDITIONS = Conditions.__struct_fields__


class RunRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One run: a row of the table ``runs``. ``manifest`` is the manifest as JSON, ``root`` is the folder with the logs.

    ``build`` is the commit from which the program was built, with ``-dirty`` if the sources had been changed.
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


class LogRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One log of a run: a row of the table ``logs``."""

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


class ProblemRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One line, log or manifest that could not be read: a row of the table ``problems``."""

    run: str
    log: str | None = None
    line: int | None = None
    kind: str
    text: str | None = None
    reason: str | None = None


class HistogramRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The latency distribution of one record: a row of the table ``histograms``.

    ``packed`` contains the bins as a `PackedDistribution`. They are unpacked later, because pages plot the bins of only a few runs.
    """

    run: str
    log: str
    line: int
    payload_bytes: int | None = None
    packed: bytes = b""

    def bins(self) -> Iterator[tuple[int, int, int]]:
        """Yield the bins in ascending order: ``(lower_ns, upper_ns, count)``."""
        return iter(PackedDistribution(self.packed))


class ResultRow(msgspec.Struct, frozen=True, gc=False):
    """One number: a row of the table ``results``, with its run. ``value`` is in the metric's unit (`tacholog.schema.metrics.METRICS`).

    ``ordinal`` is the index of the number among those with the same line, metric and statistic.

    ``gc=False`` excludes the rows from garbage collection: a site has millions of rows, and they contain no reference cycles. The fields are
    positional, because `results` makes rows from whole columns, which is much faster with positions than with names.
    """

    run: RunRow
    log: str
    metric: str
    statistic: str
    line: int | None = None
    last_line: int | None = None
    scope: str = "summary"
    test: str = ""
    side: str | None = None
    participant: str | None = None
    conditions: Conditions = Conditions()
    payload_bytes: int | None = None
    payload_bytes_high: int | None = None
    value: float | None = None
    unit: str = ""
    bound: str = "="
    resolution: float | None = None
    samples: int | None = None
    marks: tuple[str, ...] = ()
    value_line: int | None = None
    ordinal: int = 1

    @property
    def number_line(self) -> int | None:
        """The line that contains the number itself."""
        return self.line if self.value_line is None else self.value_line


def conditions_among(results: Iterable[ResultRow]) -> list[Conditions]:
    """Return the conditions of these numbers. An object that several numbers share is returned once, but different objects may have equal values."""
    return list({id(result.conditions): result.conditions for result in results}.values())


def runs(data: Dataset) -> dict[str, RunRow]:
    """Return every run by its id, sorted by the ids."""
    rows = [msgspec.convert(row, RunRow, strict=False) for row in _rows(data.runs)]
    return {run.run: run for run in sorted(rows, key=lambda run: run.run)}


def logs(data: Dataset) -> list[LogRow]:
    """Return every log, in the order of runs and names."""
    return sorted((msgspec.convert(row, LogRow, strict=False) for row in _rows(data.logs)), key=lambda log: (log.run, log.log))


def problems(data: Dataset) -> list[ProblemRow]:
    """Return everything that could not be read, in the order of the logs."""
    rows = [msgspec.convert(row, ProblemRow, strict=False) for row in _rows(data.problems)]
    return sorted(rows, key=lambda problem: (problem.run, problem.log or "", problem.line or 0))


def histograms(data: Dataset) -> list[HistogramRow]:
    """Return every histogram, in the order of the dataset."""
    frame = data.histograms
    if frame.empty:
        return []
    rows = zip(_rows(frame[["run", "log", "line", "payload_bytes"]]), frame["bins"], strict=True)
    return [msgspec.structs.replace(msgspec.convert(row, HistogramRow, strict=False), packed=bins.packed) for row, bins in rows]


def results(data: Dataset, runs_by_id: Mapping[str, RunRow] | None = None) -> list[ResultRow]:
    """Return every number, in the order of the dataset.

    Rows are made from whole columns, which is much faster than converting each row.
    """
    runs_by_id = runs(data) if runs_by_id is None else runs_by_id
    frame = data.results.assign(ordinal=ordinals(data.results))
    parts = (frame.iloc[start : start + _ROWS_AT_ONCE] for start in range(0, len(frame), _ROWS_AT_ONCE))
    return [result for part in parts for result in _results(part, runs_by_id)]


_ROWS_AT_ONCE = 100_000  # In portions, because the lists of all columns would take as much memory as the rows.


def _results(frame: pd.DataFrame, runs_by_id: Mapping[str, RunRow]) -> Iterator[ResultRow]:
    columns = {
        name: _with_defaults(name, (_shared_values_of if name in _REPEATED else _values_of)(frame[name])) for name in _OF_NUMBER if name in frame
    }
    columns["marks"] = frame["marks"].tolist()
    columns["run"] = _runs_of(frame["run"], runs_by_id)
    columns["conditions"] = _conditions(frame)
    in_order = (columns.get(name) or repeat(_DEFAULTS[name], len(frame)) for name in ResultRow.__struct_fields__)
    return map(ResultRow, *in_order)


# The numbers of a record share the objects for its lines and sizes. Otherwise these objects would take a third of the memory.
_REPEATED = {"line", "last_line", "payload_bytes", "payload_bytes_high", "samples", "resolution", "value_line"}
_PLAIN = ("value", *sorted(_REPEATED))  # these columns contain numbers, which differ in each run
_OF_NUMBER = tuple(name for name in ResultRow.__struct_fields__ if name not in ("run", "conditions", "marks"))
_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(ResultRow) if field.default is not msgspec.NODEFAULT}


def _with_defaults(name: str, column: list[Any]) -> list[Any]:
    default = _DEFAULTS.get(name)
    return column if default is None or None not in column else [default if value is None else value for value in column]


def _runs_of(column: pd.Series, runs_by_id: Mapping[str, RunRow]) -> list[RunRow]:
    codes, names = pd.factorize(column)
    return _words_of([runs_by_id[str(name)] for name in names], codes)


def _conditions(frame: pd.DataFrame) -> list[Conditions]:
    """Rows with equal conditions share one object, to save memory."""
    names = [name for name in CONDITIONS if name in frame]
    alike, different = _combinations(frame, names)
    made = [
        msgspec.convert({name: value for name, value in zip(names, values, strict=True) if value is not None}, Conditions, strict=False)
        for values in different
    ]
    return _words_of(made, alike)


def _combinations(frame: pd.DataFrame, names: Sequence[str]) -> tuple[NDArray[np.int64], list[tuple[Any, ...]]]:
    """Return the index of the combination of values for each row, and the distinct combinations."""
    indices = frame.groupby(list(names), dropna=False, observed=True, sort=False).ngroup().to_numpy().astype(np.int64)
    first = np.unique(indices, return_index=True)[1]
    return indices, list(zip(*(_values_of(frame[name].iloc[first]) for name in names), strict=True))


def _rows(frame: pd.DataFrame) -> Iterable[dict[str, object]]:
    columns = {str(name): _values_of(frame[name]) for name in frame.columns}
    for row in zip(*columns.values(), strict=True):
        yield {name: value for name, value in zip(columns, row, strict=True) if value is not None}


def _values_of(column: pd.Series) -> list[Any]:
    """Return the values of a column as a list. All kinds of missing values in pandas become ``None``."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _words_of(column.cat.categories.tolist(), column.cat.codes.to_numpy())
    untyped: Any = column  # The type hints of pandas do not allow None in place of a missing value.
    values: list[Any] = untyped.to_numpy(dtype=object, na_value=None).tolist()
    return [_plain(value) for value in values] if column.dtype == object else values


def _shared_values_of(column: pd.Series) -> list[Any]:
    codes, different = pd.factorize(column)
    return _words_of(_values_of(pd.Series(different)), codes)


def _words_of(words: Sequence[Any], codes: NDArray[np.integer[Any]]) -> list[Any]:
    """The code -1 stands for a missing value and becomes ``None``."""
    choices = np.empty(len(words) + 1, dtype=object)
    for code, word in enumerate(words):  # NumPy would turn a list of tuples into a two-dimensional array.
        choices[code] = word
    words_of_codes: list[Any] = choices[codes].tolist()
    return words_of_codes


def _plain(value: Any) -> object:  # noqa: ANN401 - anything that a column holds
    if hasattr(value, "dtype") and value.dtype != object:
        return value.tolist()
    if hasattr(value, "tolist"):  # numpy arrays, because Parquet returns lists in this form
        return [_plain(each) for each in value.tolist()]
    return str(value) if isinstance(value, Path) else value


def is_of_control(result: ResultRow) -> bool:
    """Whether a number belongs to a control. Names of rows do not show this: a control has the same names as the measurement next to it."""
    return CONTROL in labels_of(result.run.labels)


def of_these_runs(results: Iterable[ResultRow], value: float, values: Sequence[float]) -> list[ResultRow]:
    """Return the numbers that are equal to ``value``. Only groups of runs that have all ``values`` are used.

    If no group has all of them, all groups are used. Comparisons and histories store only the values of the runs of a row. Other runs can have an
    equal value by chance.
    """
    groups: dict[Hashable, list[ResultRow]] = {}
    for result in results:
        if result.value is not None:
            groups.setdefault((result.run.host, result.run.campaign, result.run.release, is_of_control(result), result.conditions), []).append(result)
    alike = [(group, result) for group in groups.values() for result in group if result.value is not None and math.isclose(result.value, value)]
    complete = {id(group) for group, _ in alike if _has_all(group, values)}
    return [result for group, result in alike if id(group) in complete] or [result for _, result in alike]


def _has_all(group: Sequence[ResultRow], values: Sequence[float]) -> bool:
    have = sorted(result.value for result in group if result.value is not None)
    for value in sorted(values):
        index = bisect_left(have, value * (1 - 1e-9))
        if index == len(have) or not math.isclose(have[index], value):
            return False
        del have[index]
    return True
