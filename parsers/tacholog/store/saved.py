"""Read datasets on disk: what `tacholog.store.frames.Dataset.save` wrote, in this version or in an older one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.runs.manifest import Host
from tacholog.schema.columns import SchemaColumn
from tacholog.schema.tables import TABLES
from tacholog.store.distributions import Distribution, packed_bins
from tacholog.store.engine import ask, connected, make_words, quoted, text
from tacholog.store.frames import HOSTS_FILE, Dataset, array_of, dtype_of

if TYPE_CHECKING:
    import duckdb
    import pandas as pd


def is_saved(folder: Path) -> bool:
    """Return whether a folder holds a saved dataset."""
    return (folder / "results.parquet").is_file()


def open_saved(folder: Path, without: Collection[str] = (), *, distributions: bool = True) -> Dataset:
    """Read a saved dataset.

    A column that the version which saved it did not have is ``<NA>`` throughout.

    Args:
        folder: where it was saved.
        without: columns of the results that the caller does not need.
        distributions: whether the caller needs the distributions, which take more memory than all else.

    Raises:
        UnreadableInput: the folder holds no dataset.
    """
    unwanted: Mapping[str, Collection[str]] = {"results": without}
    try:
        hosts = msgspec.json.decode((folder / HOSTS_FILE).read_bytes(), type=dict[str, Host])
        tables = {name: read_table(folder, name, unwanted.get(name, ()), wanted=distributions or name != "histograms") for name in TABLES}
    except OSError as error:
        raise UnreadableInput(f"{folder}: no dataset: {error.strerror or error}") from error
    return Dataset(**tables, hosts=hosts)


def saved_runs(folder: Path) -> pd.DataFrame:
    """Read the runs of a saved dataset, and none of their numbers."""
    return read_table(folder, "runs")


def read_table(folder: Path, table: str, without: Collection[str] = (), *, wanted: bool = True) -> pd.DataFrame:
    """Read a saved table; none of its rows if they are not ``wanted``.

    Raises:
        UnreadableInput: the file is none, or a bin of a distribution does not have three numbers.
        OSError: it cannot be read.
    """
    import duckdb
    import pandas as pd

    path = folder / f"{table}.parquet"
    path.open("rb").close()  # The engine says less of a file that cannot be read.
    declared = {name: column for name, column in TABLES[table].items() if name not in without}
    source = f"read_parquet({text(str(path))}){'' if wanted else ' LIMIT 0'}"
    with connected() as connection:
        try:
            types = {name: type_ for name, type_, *_ in ask(connection, f"DESCRIBE SELECT * FROM {source}")}  # noqa: S608 - our own words
            coded = [name for name in declared if name in types and (dtype_of(table, declared[name]) == "category" or name == "marks")]
            words = _words(connection, source, coded)
            columns = ", ".join(_read_column(name, types.get(name), words) for name in declared)
            found = connection.execute(f"SELECT {columns} FROM {source}").fetchnumpy()  # noqa: S608 - our own words
        except duckdb.Error as error:
            raise UnreadableInput(f"{path}: {error}") from error
    made = {name: _made(path, name, found[name], words, declared[name], dtype_of(table, declared[name])) for name in declared}
    return pd.DataFrame(made, copy=False)


def _words(connection: duckdb.DuckDBPyConnection, source: str, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the words of some columns, and make their types."""
    names = list(names)
    if not names:
        return {}
    lists = ", ".join(f"list(DISTINCT {_text(name)} ORDER BY {_text(name)}) FILTER ({_text(name)} IS NOT NULL)" for name in names)
    (row,) = ask(connection, f"SELECT {lists} FROM {source}")  # noqa: S608 - our own words
    found = {name: words for name, words in zip(names, row, strict=True) if words}
    for name, words in found.items():
        make_words(connection, name, words)
    return found


def _read_column(name: str, type_: str | None, words: Mapping[str, list[str]]) -> str:
    """Return how a column is read."""
    value = quoted(name)
    if name in words:
        value = f"enum_code({_text(name)}::{quoted(f'words of {name}')})"
    elif type_ is None:
        value = "NULL::BIGINT"
    return f"{value} AS {quoted(name)}"


def _text(name: str) -> str:
    """Return a column of words as it is read. Marks are saved as lists."""
    return f"coalesce(array_to_string({quoted(name)}, ' '), '')" if name == "marks" else quoted(name)


def _made(path: Path, name: str, values: Any, words: Mapping[str, list[str]], declared: SchemaColumn, dtype: str) -> Any:  # noqa: ANN401 - arrays
    """Return a column as the schema declares it."""
    import numpy as np
    import pandas as pd

    if name == "bins":
        return pd.Series([_distribution(path, one) for one in values], dtype=object)
    if name == "marks":
        sets = np.empty(len(words.get(name, ())), dtype=object)
        sets[:] = [tuple(one.split()) for one in words.get(name, ())]
        return sets[np.ma.getdata(values)] if len(sets) else np.full(len(values), None, dtype=object)
    if dtype == "string":
        return pd.array([None if value is np.ma.masked else value for value in values], dtype="string")
    return array_of(declared.kind, values, words.get(name, ()))


def _distribution(path: Path, saved: Any) -> Distribution:  # noqa: ANN401 - bytes, a list of lists, or nothing
    """Return a distribution, however it was saved."""
    import numpy as np

    if isinstance(saved, bytes | bytearray):
        return Distribution(bytes(saved))
    bins = [] if saved is None or saved is np.ma.masked else [np.asarray(one) for one in saved]
    if any(len(one) != 3 for one in bins):  # noqa: PLR2004 - lower end, upper end, count
        raise UnreadableInput(f"{path}: a bin of a distribution does not have three numbers")
    return Distribution(packed_bins(np.array(bins, dtype=np.int64).reshape(-1, 3)))
