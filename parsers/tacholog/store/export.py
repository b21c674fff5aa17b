"""The dataset for other tools: one table of all numbers as CSV, JSON or Parquet, and the latency distributions as HdrHistogram logs.

`tacholog.store.results` writes the table for `tacholog export` from the parts. The site offers the same table, after redaction.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tacholog.schema.columns import Kind
from tacholog.schema.tables import OFFERED_OF_RUNS, RUNS
from tacholog.slugs import path_slug
from tacholog.store.engine import PARQUET, ask, connected, quoted, text, why_not_written
from tacholog.store.frames import mark_words, ordinals
from tacholog.visible import no_formula

# NumPy and pandas take long to import, and many commands do not need them. So each function that needs them imports them.
if TYPE_CHECKING:
    import duckdb
    import pandas as pd

    from tacholog.store.frames import Dataset, Row

FileKind = Literal["csv", "json", "parquet"]
Bins = Sequence[Sequence[int]]
_HDR_DIGITS = 3
_HDR_HEAD = (
    "#[Latencies in ns, written by tacholog export. Tag: payload bytes and line of the raw log]\n"
    "#[Histogram log format version 1.3]\n"
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
)
_HOW: Mapping[FileKind, str] = {"csv": "FORMAT csv, HEADER", "json": "FORMAT json", "parquet": PARQUET}
_FORMULA = r"regexp_matches({0}, '(?s)^[=+\-@\t\r].') AND NOT regexp_matches({0}, '^-[0-9.]+$')"  # It is true for a text that `no_formula` changes.
#: The SQL expression for the id of a number. `number_id` returns the same id.
ID = "concat(run, '/', log, '#L', line, ':', metric, '.', statistic, CASE WHEN ordinal = 1 THEN '' ELSE '~' || ordinal END)"


def number_id(run: str, log: str, line: str, metric: str, statistic: str) -> str:
    """Return the permanent id of a number. `with_ordinal` adds the ordinal if the line has several numbers with this name."""
    return f"{run}/{log}#L{line}:{metric}.{statistic}"


def with_ordinal(name: str, ordinal: int) -> str:
    """Return the name itself for the first number of a line with this name, ``name~2`` for the second, and so on."""
    return name if ordinal == 1 else f"{name}~{ordinal}"


def results_table(data: Dataset) -> pd.DataFrame:
    """Return the table for other tools: every number with its permanent id and the facts about its run."""
    import pandas as pd

    results = data.results.assign(marks=mark_words(data.results["marks"]))
    with connected() as connection:
        connection.register("results", results.assign(ordinal=ordinals(results)))
        ids = connection.execute(f"SELECT {ID} AS id FROM results").df()["id"].astype("str").array  # noqa: S608 - our own words
    runs = results["run"].astype("category").array
    positions = pd.Index(data.runs["run"]).get_indexer(pd.Index(runs.categories.astype("str"))).take(runs.codes)
    table: dict[str, Any] = {"id": ids}
    table |= {str(name): column.array for name, column in results.items()}
    for name in OFFERED_OF_RUNS:
        fact = data.runs[name].astype("category") if RUNS[name].kind == "text" else data.runs[name]
        table[name] = fact.iloc[positions].array.remove_unused_categories() if RUNS[name].kind == "text" else fact.iloc[positions].array
    return pd.DataFrame(table, index=data.results.index, copy=False)


def text_columns(kinds: Mapping[str, tuple[Kind, Collection[str]]], kind: FileKind) -> Iterator[str]:
    """Yield an SQL expression for each column. The expression returns the values in the form in which the file contains them.

    A spreadsheet may interpret a text as a formula. In CSV, such a text gets an apostrophe before it, as in the CSV that users copy from pages.
    Numbers are unchanged.

    Args:
        kinds: for each column its kind, and the words that it may contain.
        kind: the kind of the file.
    """
    for name, (column, words) in kinds.items():
        value = quoted(name)
        if kind == "csv" and column == "text" and any(no_formula(word) != word for word in words):
            value = f"CASE WHEN {_FORMULA.format(f'{value}::VARCHAR')} THEN '''' || {value} ELSE {value}::VARCHAR END"
        if kind == "csv" and column == "text" and "" in words:
            value = f"nullif({value}::VARCHAR, '')"  # Without `nullif`, the engine would write an empty text as two quotes.
        if kind == "csv" and column == "true or false":
            value = f"CASE WHEN {value} THEN 'True' WHEN NOT {value} THEN 'False' END"
        yield f"{value} AS {quoted(name)}"


def copy(connection: duckdb.DuckDBPyConnection, query: str, kind: FileKind, path: Path) -> None:
    """Write the result of a query to a file.

    Raises:
        OSError: it cannot be written.
    """
    import duckdb

    try:
        ask(connection, f"COPY ({query}) TO {text(str(path))} ({_HOW[kind]}, USE_TMP_FILE false)")
    except duckdb.IOException as error:
        raise OSError(why_not_written(error)) from error


def as_file(table: pd.DataFrame, kind: FileKind) -> bytes:
    """Return a table as a file: CSV, JSON (one object in a line), or Parquet."""
    with files_of(table) as files:
        return files.content(kind, "true")


class TableFiles:
    """The rows of a table as files. A column whose name begins with a dot is not written."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, kinds: Mapping[str, tuple[Kind, Collection[str]]], folder: Path) -> None:
        """Prepare the files. In the database of the connection, the table ``offered`` contains the rows."""
        self._connection, self._kinds, self._folder = connection, kinds, folder
        self._columns = functools.cache(lambda kind: ", ".join(text_columns(kinds, kind)))

    def content(self, kind: FileKind, condition: str) -> bytes:
        """Return a file with the rows for which an SQL condition is true."""
        query = f"SELECT {self._columns(kind)} FROM offered WHERE {condition}"  # noqa: S608 - our own words
        path = self._folder / "file"
        copy(self._connection, query, kind, path)
        return path.read_bytes()

    def digests(self, *columns: str) -> dict[tuple[Any, ...], str]:
        """Return a digest for each combination of values of these columns. It is the digest of all rows with these values, in their order."""
        names, groups = text(" ".join(self._kinds)), ", ".join(map(quoted, columns))
        digest = f"sha256({names} || string_agg(\".hash\"::VARCHAR, ' ' ORDER BY rowid))"
        rows = ask(self._connection, f"SELECT {groups}, {digest} FROM offered GROUP BY {groups}")  # noqa: S608 - our own words
        return {tuple(row[:-1]): row[-1] for row in rows}


@contextmanager
def files_of(table: pd.DataFrame) -> Iterator[TableFiles]:
    """Yield the files of a table."""
    kinds = _kinds_of(table)
    with tempfile.TemporaryDirectory() as folder, connected(folder) as connection:
        connection.register("given", table)
        # Words are hashed as texts. The engine would hash the word of an ENUM as its index in the list of all words, and this index depends on other
        # rows.
        values = ", ".join(f"{quoted(name)}::VARCHAR" if kind == "text" else quoted(name) for name, (kind, _) in kinds.items())
        ask(connection, f'CREATE TEMP TABLE offered AS SELECT *, hash({values}) AS ".hash" FROM given')  # noqa: S608 - our own words
        yield TableFiles(connection, kinds, Path(folder))


def _kinds_of(table: pd.DataFrame) -> dict[str, tuple[Kind, Collection[str]]]:
    import pandas as pd

    kinds: dict[str, tuple[Kind, Collection[str]]] = {}
    for name, column in table.items():
        if str(name).startswith("."):
            continue
        is_text = not pd.api.types.is_numeric_dtype(column.dtype)  # For pandas, flags are numeric too.
        is_flag = pd.api.types.is_bool_dtype(column.dtype)
        words = frozenset(column.cat.categories if column.dtype == "category" else column.dropna().unique().tolist() if is_text else ())
        kinds[str(name)] = ("text" if is_text else "true or false" if is_flag else "number"), words
    return kinds


def write_hdr(histograms: Iterable[Row], folder: Path) -> int:
    """Write one HdrHistogram log for each raw log that has distributions, and return the number of histograms."""
    lines: dict[tuple[str, str], list[str]] = {}
    for row in histograms:
        if bins := row["bins"].tolist():
            lines.setdefault((str(row["run"]), str(row["log"])), []).append(_hdr_line(row["payload_bytes"], int(row["line"]), bins))
    for (run, log), lines_of_log in lines.items():
        path = folder / f"{path_slug(f'{run}/{log}')}.hlog"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_HDR_HEAD + "".join(lines_of_log), encoding="ascii")
    return sum(map(len, lines.values()))


def _hdr_line(payload_bytes: object, line: int, bins: Bins) -> str:
    """Return a histogram as one interval. Its start and its length are 0, because the bins do not state when the latencies were measured."""
    import pandas as pd

    payload = "unknown" if payload_bytes is pd.NA or payload_bytes is None else payload_bytes
    return f"Tag=bytes-{payload}-line-{line},0.000,0.000,{bins[-1][1] / 1e6:.3f},{_hdr_encoded(bins)}\n"


def _hdr_encoded(bins: Bins) -> str:
    """Return the bins in HdrHistogram's own compressed form. Samples count at the upper end of their bin, as in the percentiles on pages."""
    from hdrh.histogram import HdrHistogram

    histogram = HdrHistogram(1, max(2, round(bins[-1][1])), _HDR_DIGITS)
    for _, upper, count in bins:
        histogram.record_value(max(1, round(upper)), count)
    return str(histogram.encode().decode("ascii"))
