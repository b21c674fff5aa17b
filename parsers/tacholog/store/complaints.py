"""The problems of a dataset as lines of text, copies of logs, and differences between tables and their schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tacholog.formats.registry import formats, name_without_unit
from tacholog.runs.manifest import RUN_FILE
from tacholog.runs.problems import ALTERED, COPIED, FORGOTTEN, LOST, UNREADABLE, problem
from tacholog.schema.columns import SchemaColumn
from tacholog.schema.marks import MARKS
from tacholog.schema.metrics import is_statistic
from tacholog.schema.tables import TABLES
from tacholog.store.frames import Dataset, dtype_of, frame

# NumPy and pandas take long to import, and many commands do not need them. So each function that needs them imports them.
if TYPE_CHECKING:
    import pandas as pd

    from tacholog.store.frames import Row

FILE = "complaints.json"
COINCIDENCE = 3  # Fewer equal figures may be equal by chance, unless they are bounds.


class Complaints(msgspec.Struct, frozen=True):
    """The problems of a dataset. Each problem is one line of text.

    Attributes:
        unread: problems of runs, logs, hosts and folders that could not be read, or that differ from their manifest.
        others: problems of single lines, and of files that no manifest lists.
        altered: the number of problems in ``unread`` about logs that were read, but differ from their manifest.
    """

    unread: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    altered: int = 0

    def save(self, folder: Path) -> None:
        """Write the complaints to the folder of a dataset. They contain the true names, which the user who builds the site needs.

        The dataset itself may hide these names.
        """
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE).write_bytes(msgspec.json.encode(self))


def complaints(data: Dataset) -> Complaints:
    """Return the problems of a dataset that was read from logs."""
    rows = data.problems.to_dict("records")
    return complaints_of(rows, dict(zip(data.runs["run"], data.runs["root"], strict=True))) if rows else Complaints()


def complaints_of(rows: Sequence[Mapping[Any, Any]], roots: Mapping[str, str]) -> Complaints:
    """Return problems of runs that were read from logs.

    Args:
        rows: rows of ``problems``.
        roots: the folder of each run.
    """
    folders = {run: Path(root) for run, root in roots.items()}
    altered = _unique([row for row in rows if row["kind"] == ALTERED], folders, unread=True)
    return Complaints(_unique(rows, folders, unread=True), _unique(rows, folders, unread=False), len(altered))


def saved_complaints(folder: Path) -> Complaints:
    """Return the complaints that `Complaints.save` wrote; no complaints if there is no such file."""
    path = folder / FILE
    return msgspec.json.decode(path.read_bytes(), type=Complaints) if path.is_file() else Complaints()


def _unique(rows: Iterable[Mapping[Any, Any]], folders: Mapping[str, Path], *, unread: bool) -> tuple[str, ...]:
    return tuple(dict.fromkeys(complaint(row, folders) for row in rows if (row["kind"] in LOST) == unread))


def complaint(row: Mapping[Any, Any], folders: Mapping[str, Path] | None = None) -> str:
    """Return a problem as a line of text: its location, its kind, the reason, and, if the problem is about a line of a log, the text of this line.

    Args:
        row: a row of ``problems``.
        folders: the folder of each run.
    """
    if not row["run"] or row["kind"] == FORGOTTEN or (row["kind"] == UNREADABLE and row["log"] in ("", RUN_FILE)):
        return str(row["reason"])  # The reason names the file or folder, and the key in the file.
    path = (folders or {}).get(row["run"], Path(row["run"])) / row["log"]
    line = f":{row['line']}" if row["line"] else ""
    text = f": {row['text']!r}" if row["text"] else ""
    return f"{path}{line}: {row['kind']}: {row['reason']}{text}"


def with_copies(data: Dataset) -> Dataset:
    """Return the dataset with additional problems: one for each log of an own run that has the same text as a log of an earlier run.

    The problem names the earlier run, so the dataset must contain only runs whose names may be shown. Logs with one or two numbers are ignored,
    because they may be equal by chance.
    """
    copies = _copies(data)
    if not copies:
        return data
    rows = [{str(name): value for name, value in row.items()} for row in data.problems.to_dict("records")]
    return msgspec.structs.replace(data, problems=frame("problems", [*rows, *copies]))


def _copies(data: Dataset) -> list[Row]:
    own_runs = data.runs.loc[~data.runs["published"].astype(bool), "run"]
    texts = data.logs["text_sha256"].fillna(data.logs["sha256"])  # A dataset of an older version has only the second column.
    logs = data.logs.assign(text_sha256=texts)[data.logs["run"].isin(own_runs) & texts.notna()]
    logs = logs[logs.duplicated("text_sha256", keep=False)]
    if logs.empty:
        return []
    numbers = data.results.loc[data.results["run"].isin(logs["run"]), ["run", "log"]].value_counts().to_dict()
    roots = dict(data.runs[["run", "root"]].astype(str).to_numpy().tolist())
    first: dict[str, tuple[str, str, str]] = {}
    copies: list[Row] = []
    for run, log, text, stored in logs[["run", "log", "text_sha256", "sha256"]].astype(str).to_numpy().tolist():
        if numbers.get((run, log), 0) < COINCIDENCE:
            continue
        other, file, stored_there = first.setdefault(text, (run, log, stored))
        if other != run:
            name = other if Path(roots[other], file) == Path(other) else f"{other}/{file}"  # a log without run.toml is a run with the name of the log
            what = "bytes" if stored == stored_there else "text"  # one of the files may be compressed
            reason = f"the same {what} as {name}: a copy is no second measurement, and makes intervals over runs too narrow"
            copies.append(problem(run, log, 0, COPIED, "", reason))
    return copies


MAY_BE_NEGATIVE = ("latency",)  # A one-way latency between two clocks may be negative. It is shown unchanged, and marked.


def violations(dataset: Dataset) -> list[str]:
    """Return a sentence for each difference between the tables and their schema."""
    sentences = [
        sentence for name, declared in TABLES.items() for column, about in declared.items() for sentence in _of_column(dataset, name, column, about)
    ]
    return [*sentences, *_broken_rules(dataset), *_undefined(dataset), *_same_text(dataset)]


def _of_column(dataset: Dataset, name: str, column: str, about: SchemaColumn) -> Iterator[str]:
    """Yield a sentence for each rule of the schema that a column violates."""
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
            value_text = "" if pd.isna(row[column]) else f" {_plain(row[column])!r}"
            yield f"{name}: {column}{value_text} {check}, in {_location(row)}"


def _checks(values: pd.Series, about: SchemaColumn) -> Iterator[tuple[str, pd.Series]]:
    """For each rule of a column, yield a description of values that violate the rule, and a flag for each value."""
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


def _location(row: pd.Series) -> str:
    """Return the file from which a row was read, and its line, if the row has a line. A row of ``runs`` was read from the manifest."""
    import pandas as pd

    line = f":{row['line']}" if pd.notna(row.get("line", pd.NA)) else ""
    return f"{Path(str(row['run'])) / str(row.get('log', RUN_FILE))}{line}"


def _plain(value: object) -> object:
    """Return a number of NumPy as a number of Python, because Python prints it without the name of its type."""
    import numpy as np

    return value.item() if isinstance(value, np.generic) else value


def _undefined(dataset: Dataset) -> list[str]:
    """Return a sentence for each definition that numbers have but their format does not explain. Nobody can interpret such numbers."""
    definitions = {name: tuple(getattr(module, "DEFINITIONS", ())) for name, module in formats().items()}
    used = dataset.results[["run", "log", "definition"]].dropna().drop_duplicates().merge(dataset.logs[["run", "log", "format"]], on=["run", "log"])
    sentences = []
    for run, log, definition, name in used.astype(str).to_numpy().tolist():
        defined = definitions.get(name_without_unit(name), ())
        if definition not in defined:
            sentences.append(f"{run}/{log}: the definition {definition!r} is none of the format {name} ({', '.join(defined) or 'none'})")
    return sentences


def _same_text(dataset: Dataset) -> list[str]:
    """Return a sentence for each text that several logs of one run contain. Its numbers would be counted several times."""
    logs = dataset.logs[(dataset.logs["bytes"].fillna(0) > 0) & dataset.logs["text_sha256"].notna()]
    named: dict[tuple[str, str], dict[str, str]] = {}
    for run, text, log, stored in logs[["run", "text_sha256", "log", "sha256"]].astype(str).to_numpy().tolist():
        named.setdefault((run, text), {})[log] = stored
    return [
        f"{run}: {' and '.join(sorted(names))} hold the same {'bytes' if len({*names.values()}) == 1 else 'text'}"
        for (run, _), names in named.items()
        if len(names) > 1
    ]


_RULES: tuple[tuple[str, str, Callable[[pd.DataFrame], pd.Series]], ...] = (
    (
        "logs",
        "the lines are not the sum of records, chatter, broken and unknown ones",
        lambda logs: logs["lines"].isna() | (logs[["records", "chatter", "broken", "unknown"]].sum(axis=1) == logs["lines"]),
    ),
    ("results", "a value is negative", lambda results: results["value"].isna() | (results["value"] >= 0) | results["metric"].isin(MAY_BE_NEGATIVE)),
    ("results", "a statistic is not known", lambda results: results["statistic"].isin(filter(is_statistic, results["statistic"].unique()))),
    ("results", "a mark is not known", lambda results: results["marks"].map(lambda marks: MARKS.keys() >= set(marks))),
)


def _broken_rules(dataset: Dataset) -> list[str]:
    """Return a sentence for each of our own rules that a row violates. It names the first such row."""
    sentences = []
    for name, words, holds in _RULES:
        table: pd.DataFrame = getattr(dataset, name)
        wrong = table[~holds(table).astype(bool)]
        if not wrong.empty:
            first = wrong.iloc[0]
            sentences.append(f"{name}: {words}, first in {_location(first)}")
    return sentences
