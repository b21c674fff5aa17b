"""Whether a dataset is as the schema declares it. Checked where runs come in from others.

The checks of single columns are derived from `tacholog.schema.tables`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tacholog.formats.registry import formats
from tacholog.runs.manifest import RUN_FILE
from tacholog.schema.columns import SchemaColumn
from tacholog.schema.marks import MARKS
from tacholog.schema.statistics import is_statistic
from tacholog.schema.tables import TABLES
from tacholog.store.frames import dtype_of

if TYPE_CHECKING:
    import pandas as pd

    from tacholog.store.frames import Dataset

MAY_BE_NEGATIVE = ("latency",)  # One-way latencies between two clocks. They are shown as they are, and marked.


def violations(dataset: Dataset) -> list[str]:
    """Return each way in which the tables are not as the schema declares them, as a sentence; nothing if all is well."""
    found = [said for name, declared in TABLES.items() for column, about in declared.items() for said in _of_column(dataset, name, column, about)]
    return [*found, *_broken_rules(dataset), *_undefined(dataset), *_same_text(dataset)]


def _of_column(dataset: Dataset, name: str, column: str, about: SchemaColumn) -> Iterator[str]:
    """Yield what a column is not."""
    import pandas as pd

    table: pd.DataFrame = getattr(dataset, name)
    if column not in table:
        yield f"{name}: there is no column {column}"
        return
    values = table[column]
    if table.empty:
        return  # Without values, a column may have any type.
    if values.dtype != dtype_of(name, about):
        yield f"{name}: {column}: a column of the type {values.dtype}, and not {dtype_of(name, about)}"
        return
    for check, wrong in _checks(values, about):
        if wrong.any():
            row = table[wrong.to_numpy(bool)].iloc[0]
            shown = "" if pd.isna(row[column]) else f" {_plain(row[column])!r}"
            yield f"{name}: {column}{shown} {check}, in {_place(row)}"


def _checks(values: pd.Series, about: SchemaColumn) -> Iterator[tuple[str, pd.Series]]:
    """Yield the words for a value that the schema does not allow, and which values of a column they are said of."""
    missing = values.isna()
    if about.required:
        yield "is missing", missing
    if about.unique:
        yield "is there twice", values.duplicated() & ~missing
    if about.allowed:
        yield f"is none of {', '.join(map(str, about.allowed))}", ~values.isin(about.allowed) & ~missing
    if about.at_least is not None:
        yield f"is less than {about.at_least}", (values < about.at_least).fillna(value=False)
    if about.above is not None:
        yield f"is not more than {about.above:g}", (values <= about.above).fillna(value=False)


def _place(row: pd.Series) -> str:
    """Return the file that a row comes from, and the line if it has one. A row of a run comes from its manifest."""
    import pandas as pd

    line = f":{row['line']}" if pd.notna(row.get("line", pd.NA)) else ""
    return f"{Path(str(row['run'])) / str(row.get('log', RUN_FILE))}{line}"


def _plain(value: object) -> object:
    """Return a number of NumPy as one of Python, which is shown without the name of its type."""
    import numpy as np

    return value.item() if isinstance(value, np.generic) else value


def _undefined(dataset: Dataset) -> list[str]:
    """Return the definitions that numbers refer to and their format does not give. Nobody could know what such a number is."""
    known = {name: tuple(getattr(module, "DEFINITIONS", ())) for name, module in formats().items()}
    used = dataset.results[["run", "log", "definition"]].dropna().drop_duplicates().merge(dataset.logs[["run", "log", "format"]], on=["run", "log"])
    found = []
    for run, log, definition, name in used.astype(str).to_numpy().tolist():
        if definition not in known.get(name, ()):
            found.append(f"{run}/{log}: the definition {definition!r} is none of the format {name} ({', '.join(known.get(name, ())) or 'none'})")
    return found


def _same_text(dataset: Dataset) -> list[str]:
    """Return the logs of one run that are copies of each other. Each of their numbers would count twice."""
    logs = dataset.logs[(dataset.logs["bytes"].fillna(0) > 0) & dataset.logs["text_sha256"].notna()]
    named: dict[tuple[str, str], dict[str, str]] = {}
    for run, text, log, stored in logs[["run", "text_sha256", "log", "sha256"]].astype(str).to_numpy().tolist():
        named.setdefault((run, text), {})[log] = stored
    return [
        f"{run}: {' and '.join(sorted(names))} hold the same {'bytes' if len({*names.values()}) == 1 else 'text'}"
        for (run, _), names in named.items()
        if len(names) > 1
    ]


def _lines_add_up(logs: pd.DataFrame) -> pd.Series:
    return logs["lines"].isna() | (logs[["records", "chatter", "broken", "unknown"]].sum(axis=1) == logs["lines"])


def _not_negative(results: pd.DataFrame) -> pd.Series:
    return results["value"].isna() | (results["value"] >= 0) | results["metric"].isin(MAY_BE_NEGATIVE)


def _known_statistics(results: pd.DataFrame) -> pd.Series:
    known = [name for name in results["statistic"].unique() if is_statistic(name)]
    return results["statistic"].isin(known)


def _known_marks(results: pd.DataFrame) -> pd.Series:
    return results["marks"].map(lambda marks: MARKS.keys() >= set(marks))


_RULES: tuple[tuple[str, str, Callable[[pd.DataFrame], pd.Series]], ...] = (
    ("logs", "the lines are not the sum of records, chatter, broken and unknown ones", _lines_add_up),
    ("results", "a value is negative", _not_negative),
    ("results", "a statistic is not known", _known_statistics),
    ("results", "a mark is not known", _known_marks),
)


def _broken_rules(dataset: Dataset) -> list[str]:
    """Return the rules that take more than one column, or a function, and do not hold; each with the first place where it does not."""
    found = []
    for name, words, holds in _RULES:
        table: pd.DataFrame = getattr(dataset, name)
        wrong = table[~holds(table).astype(bool)]
        if not wrong.empty:
            first = wrong.iloc[0]
            found.append(f"{name}: {words}, first in {_place(first)}")
    return found
