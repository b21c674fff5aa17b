"""The tables of a dataset as pandas frames and as files. `open_saved` reads the files that `Dataset.save` wrote, also those of older versions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.runs.manifest import Host
from tacholog.schema.columns import Kind, SchemaColumn
from tacholog.schema.marks import marks_of
from tacholog.schema.tables import TABLES
from tacholog.store.distributions import PackedDistribution, packed_bins
from tacholog.store.engine import PARQUET, ask, connected, make_words, quoted, text, why_not_written

# NumPy and pandas take long to import, and many commands do not need them. So each function that needs them imports them.
if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray
    from pandas import DataFrame

    Integers = NDArray[np.int64]
else:
    DataFrame = Any  # `help` and `inspect.signature` evaluate the types of fields, but they must not import pandas.

#: One row of a table: its values by the names of the columns.
Row = dict[str, Any]
HOSTS_FILE = "hosts.json"


class Dataset(msgspec.Struct, frozen=True):
    """All data of a set of runs. An unknown value is ``<NA>``. `tacholog.schema.tables` declares the columns.

    Attributes:
        runs: one row for each run.
        logs: one row for each log, with the number of its lines in each class.
        problems: one row for each line or file that could not be used.
        results: one row for each number, in the unit that `tacholog.schema.metrics.METRICS` defines for its metric. Its text columns are categories,
            which store each word only once. As plain text, a column of a million rows takes 15 MB.
        histograms: one row for each latency record that has a distribution. Its ``bins`` are a `tacholog.store.distributions.PackedDistribution`.
        hosts: the machines, by their ids.
    """

    runs: DataFrame
    logs: DataFrame
    problems: DataFrame
    results: DataFrame
    histograms: DataFrame
    hosts: dict[str, Host]

    def save(self, folder: str | Path, *, packed: bool = False) -> None:
        """Write the tables as Parquet files and the hosts as JSON; `tacholog.store.frames.open_saved` reads them.

        Args:
            folder: the folder to write to.
            packed: whether distributions stay compressed. Other programs cannot read compressed distributions, but writing uncompressed distributions
                takes ten times as long.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in TABLES:
            write_table(getattr(self, name), folder / f"{name}.parquet", packed=packed)
        (folder / HOSTS_FILE).write_bytes(msgspec.json.encode(self.hosts))


def without_distributions(data: Dataset) -> Dataset:
    """Return a copy of the dataset without the bins of distributions."""
    none = data.histograms.iloc[:0].copy()  # a view, instead of this copy, would keep all bins in memory
    return msgspec.structs.replace(data, histograms=none)


def dtype_of(table: str, column: SchemaColumn) -> str:
    """Return the dtype of a column of a table."""
    return "category" if table == "results" and column.kind == "text" else column.dtype


def frame(table: str, rows: Sequence[Row]) -> pd.DataFrame:
    """Return the rows of a table as a frame. Its columns and dtypes are those of the schema, even if there are no rows."""
    import pandas as pd

    columns = {name: pd.Series([row[name] for row in rows], dtype=column.dtype) for name, column in TABLES[table].items()}
    return pd.DataFrame(columns)


def dataset(rows: dict[str, list[Row]], results: pd.DataFrame, hosts: dict[str, Host]) -> Dataset:
    """Return a dataset from the rows of the small tables, the results, and the machines."""
    small = {name: frame(name, rows[name]) for name in TABLES if name != "results"}
    return Dataset(**small, results=results, hosts=hosts)


def results_frame(arrays: Mapping[str, Any], words: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Return results as a frame. Its text columns are categories, which store each word only once.

    Args:
        arrays: the columns, as the engine returns them. A column of words contains codes: positions in the list of its words.
        words: the words of each column of words.
    """
    import numpy as np
    import pandas as pd

    made = {"marks": _marks(np.asarray(arrays["marks"]))}
    made |= {name: array_of(column.kind, arrays[name], words.get(name, ())) for name, column in TABLES["results"].items() if name not in made}
    return pd.DataFrame({name: made[name] for name in TABLES["results"]}, copy=False)


def ordinals(results: pd.DataFrame) -> pd.Series:
    """Return the ordinal of each number among the numbers with the same name on its line, counted from 1. Most ordinals are 1."""
    names = ["run", "log", "line", "metric", "statistic"]
    return results.groupby(names, sort=False, observed=True, dropna=False).cumcount() + 1


def array_of(kind: Kind, values: Any, words: Sequence[str]) -> Any:  # noqa: ANN401 - arrays of NumPy and pandas
    """Return a column of this kind, as the schema declares it.

    Args:
        kind: the kind of its values.
        values: the values; for words, their positions in the list of words.
        words: the words.
    """
    import numpy as np
    import pandas as pd

    if kind == "text":
        return _words(words, np.ma.filled(values.astype(np.int64), -1) if words else np.full(len(values), -1))
    kinds = {"integer": (pd.arrays.IntegerArray, np.int64), "number": (pd.arrays.FloatingArray, np.float64)}
    array, dtype = kinds.get(kind, (pd.arrays.BooleanArray, np.bool_))
    mask = np.ma.getmaskarray(values)
    filled = np.ma.filled(values, 0) if mask.any() else np.ma.getdata(values)
    return array(filled.astype(dtype, copy=False), mask)


def _words(words: Sequence[str], codes: NDArray[np.integer[Any]]) -> pd.Categorical:
    """Return a column of words as categories, without unused words. A code is the position of a word in ``words``; -1 means ``<NA>``."""
    import numpy as np
    import pandas as pd

    used = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(words)))
    if len(used) < len(words):
        new_codes = np.full(len(words) + 1, -1)
        new_codes[used] = np.arange(len(used))
        codes = new_codes[codes]
    least = np.min_scalar_type(-max(len(used), 1))
    dtype = pd.CategoricalDtype(pd.Index([words[code] for code in used.tolist()], dtype="str"))
    return pd.Categorical.from_codes(codes.astype(least), dtype=dtype, validate=False)


def _marks(bits: Integers) -> NDArray[np.object_]:
    """Return the marks of each row as a tuple. Rows with the same marks share one tuple."""
    import numpy as np
    import pandas as pd

    # Only rows with marks are grouped, because most rows have no marks.
    marked = np.flatnonzero(bits)
    of_marked, different = pd.factorize(bits[marked])
    sets = np.empty(1 + len(different), dtype=object)
    for index, mark_bits in enumerate((0, *different.tolist())):
        sets[index] = marks_of(mark_bits)
    codes = np.zeros(len(bits), dtype=np.intp)
    codes[marked] = of_marked + 1
    return sets[codes]


def write_table(frame: pd.DataFrame, path: Path, *, packed: bool = False) -> None:
    """Write a table to a Parquet file.

    Marks are written as lists of words. Distributions are written as lists of bins, but as compressed bytes if ``packed`` is true.

    Raises:
        OSError: the file cannot be written.
    """
    import duckdb

    with connected() as connection:
        columns = {str(name): quoted(str(name)) for name in frame.columns}
        rows = _with_used_words(frame)
        if "marks" in columns and frame["marks"].dtype == object:
            rows["marks"] = mark_words(frame["marks"])
            columns["marks"] = "CASE marks WHEN '' THEN []::VARCHAR[] ELSE string_split(marks::VARCHAR, ' ') END"
        if "bins" in columns:
            rows["bins"] = range(len(frame))
            columns["bins"] = "packed" if packed else "coalesce(found, [])"
            _register_bins(connection, frame["bins"], packed=packed)
        connection.register("given", rows)
        joined = "LEFT JOIN distributions ON place = given.bins ORDER BY given.bins" if "bins" in columns else ""
        query = ", ".join(f"{value} AS {quoted(name)}" for name, value in columns.items())
        try:
            ask(connection, f"COPY (SELECT {query} FROM given {joined}) TO {text(str(path))} ({PARQUET}, USE_TMP_FILE false)")  # noqa: S608
        except duckdb.IOException as error:
            raise OSError(why_not_written(error)) from error


def _with_used_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Remove unused categories. They would be saved too, and may be words of private rows that were removed."""
    columns = {name: column.cat.remove_unused_categories() for name, column in frame.items() if column.dtype == "category"}
    return frame.assign(**{str(name): column for name, column in columns.items()})


def mark_words(marks: pd.Series) -> pd.Categorical[str]:
    """Return marks as words. Each different set of marks is converted only once, and rows with equal marks share the result."""
    import pandas as pd

    words: dict[int, str] = {id(mark_set): " ".join(mark_set) for mark_set in marks}
    return pd.Categorical([words[id(mark_set)] for mark_set in marks])


def _register_bins(connection: duckdb.DuckDBPyConnection, distributions: pd.Series, *, packed: bool) -> None:
    """Create the table ``distributions`` with the position and the bins of each distribution. The bins are a list or bytes."""
    import numpy as np
    import pandas as pd

    if packed:
        connection.register("distributions", pd.DataFrame({"place": range(len(distributions)), "packed": [each.packed for each in distributions]}))
        return
    parts: list[NDArray[np.int64]] = [distribution.array() for distribution in distributions]
    words = np.concatenate([*parts, np.zeros((0, 3), dtype=np.int64)])
    positions = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    connection.register("bins", {"place": positions, "number": np.arange(len(words)), **dict(zip("abc", np.ascontiguousarray(words.T), strict=True))})
    ask(connection, "CREATE TEMP TABLE distributions AS SELECT place, list([a, b, c] ORDER BY number) AS found FROM bins GROUP BY place")


def is_saved(folder: Path) -> bool:
    """Return whether a folder holds a saved dataset."""
    return (folder / "results.parquet").is_file()


def open_saved(folder: Path, without: Collection[str] = (), *, distributions: bool = True) -> Dataset:
    """Read a saved dataset.

    If an older version saved the dataset without a column, all values of this column are ``<NA>``.

    Args:
        folder: the folder in which it was saved.
        without: columns of the results that the caller does not need.
        distributions: whether the caller needs the distributions, which take more memory than everything else.

    Raises:
        UnreadableInput: there is no dataset in the folder.
    """
    unwanted: Mapping[str, Collection[str]] = {"results": without}
    try:
        hosts = msgspec.json.decode((folder / HOSTS_FILE).read_bytes(), type=dict[str, Host])
        tables = {name: read_table(folder, name, unwanted.get(name, ()), wanted=distributions or name != "histograms") for name in TABLES}
    except OSError as error:
        raise UnreadableInput(f"{folder}: no dataset: {error.strerror or error}") from error
    return Dataset(**tables, hosts=hosts)


def saved_runs(folder: Path) -> pd.DataFrame:
    """Read the runs of a saved dataset, without their numbers."""
    return read_table(folder, "runs")


def read_table(folder: Path, table: str, without: Collection[str] = (), *, wanted: bool = True) -> pd.DataFrame:
    """Return a saved table. If ``wanted`` is false, the returned table has all columns, but no rows.

    Raises:
        UnreadableInput: the file is not a saved table, or a bin of a distribution does not have three numbers.
        OSError: the file cannot be read.
    """
    import duckdb
    import pandas as pd

    path = folder / f"{table}.parquet"
    path.open("rb").close()  # if the file cannot be opened, this call raises an error with a clearer reason than the engine
    declared = {name: column for name, column in TABLES[table].items() if name not in without}
    source = f"read_parquet({text(str(path))}){'' if wanted else ' LIMIT 0'}"
    with connected() as connection:
        try:
            types = {name: type_ for name, type_, *_ in ask(connection, f"DESCRIBE SELECT * FROM {source}")}  # noqa: S608 - our own words
            coded = [name for name in declared if name in types and (dtype_of(table, declared[name]) == "category" or name == "marks")]
            words = _words_of_file(connection, source, coded)
            columns = ", ".join(_read_column(name, types.get(name), words) for name in declared)
            arrays = connection.execute(f"SELECT {columns} FROM {source}").fetchnumpy()  # noqa: S608 - our own words
        except duckdb.Error as error:
            raise UnreadableInput(f"{path}: {error}") from error
    made = {name: _made(path, name, arrays[name], words, declared[name], dtype_of(table, declared[name])) for name in declared}
    return pd.DataFrame(made, copy=False)


def _words_of_file(connection: duckdb.DuckDBPyConnection, source: str, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the words of some columns, and create an ENUM of the words of each column."""
    names = list(names)
    if not names:
        return {}
    lists = ", ".join(f"list(DISTINCT {_text(name)} ORDER BY {_text(name)}) FILTER ({_text(name)} IS NOT NULL)" for name in names)
    (row,) = ask(connection, f"SELECT {lists} FROM {source}")  # noqa: S608 - our own words
    words_of_columns = {name: words for name, words in zip(names, row, strict=True) if words}
    for name, words in words_of_columns.items():
        make_words(connection, name, words)
    return words_of_columns


def _read_column(name: str, type_: str | None, words: Mapping[str, list[str]]) -> str:
    value = quoted(name)
    if name in words:
        value = f"enum_code({_text(name)}::{quoted(f'words of {name}')})"
    elif type_ is None:
        value = "NULL::BIGINT"
    return f"{value} AS {quoted(name)}"


def _text(name: str) -> str:
    """Return the SQL expression that reads a column as texts. The marks of a number are a list in the file; they become one text."""
    return f"coalesce(array_to_string({quoted(name)}, ' '), '')" if name == "marks" else quoted(name)


def _made(path: Path, name: str, values: Any, words: Mapping[str, list[str]], declared: SchemaColumn, dtype: str) -> Any:  # noqa: ANN401 - arrays
    import numpy as np
    import pandas as pd

    if name == "bins":
        return pd.Series([_distribution(path, value) for value in values], dtype=object)
    if name == "marks":
        sets = np.empty(len(words.get(name, ())), dtype=object)
        sets[:] = [tuple(marks.split()) for marks in words.get(name, ())]
        return sets[np.ma.getdata(values)] if len(sets) else np.full(len(values), None, dtype=object)
    if dtype == "string":
        return pd.array([None if value is np.ma.masked else value for value in values], dtype="string")
    return array_of(declared.kind, values, words.get(name, ()))


def _distribution(path: Path, saved: Any) -> PackedDistribution:  # noqa: ANN401 - bytes, a list of lists, or nothing
    import numpy as np

    if isinstance(saved, bytes | bytearray):
        return PackedDistribution(bytes(saved))
    bins = [] if saved is None or saved is np.ma.masked else [np.asarray(item) for item in saved]
    if any(len(item) != 3 for item in bins):  # noqa: PLR2004 - lower end, upper end, count
        raise UnreadableInput(f"{path}: a bin of a distribution does not have three numbers")
    return PackedDistribution(packed_bins(np.array(bins, dtype=np.int64).reshape(-1, 3)))
