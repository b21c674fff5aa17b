"""Write the tables of a dataset as Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tacholog.store.engine import ask, connected, quoted, text, why_not_written

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


def write_table(frame: pd.DataFrame, path: Path, *, packed: bool = False) -> None:
    """Write a table. Marks become lists of words, and distributions lists of bins, unless they are to stay ``packed``.

    Raises:
        OSError: it cannot be written.
    """
    import duckdb

    with connected() as connection:
        columns = {str(name): quoted(str(name)) for name in frame.columns}
        given = _with_used_words(frame)
        if "marks" in columns and frame["marks"].dtype == object:
            given["marks"] = mark_words(frame["marks"])
            columns["marks"] = "CASE marks WHEN '' THEN []::VARCHAR[] ELSE string_split(marks::VARCHAR, ' ') END"
        if "bins" in columns:
            given["bins"] = range(len(frame))
            columns["bins"] = "packed" if packed else "coalesce(found, [])"
            _register_bins(connection, frame["bins"], packed=packed)
        connection.register("given", given)
        joined = "LEFT JOIN distributions ON place = given.bins ORDER BY given.bins" if "bins" in columns else ""
        query = ", ".join(f"{value} AS {quoted(name)}" for name, value in columns.items())
        try:
            ask(connection, f"COPY (SELECT {query} FROM given {joined}) TO {text(str(path))} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)")  # noqa: S608
        except duckdb.IOException as error:
            raise OSError(why_not_written(error)) from error


def _with_used_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose categories are words of its rows. All others would be saved too, and rows may have been left out as private."""
    columns = {name: column.cat.remove_unused_categories() for name, column in frame.items() if column.dtype == "category"}
    return frame.assign(**{str(name): column for name, column in columns.items()})


def mark_words(marks: pd.Series) -> pd.Categorical[str]:
    """Return marks as words. Rows share them, and each set of marks is put into words once."""
    import pandas as pd

    known: dict[int, str] = {id(one): " ".join(one) for one in marks}
    return pd.Categorical([known[id(one)] for one in marks])


def _register_bins(connection: duckdb.DuckDBPyConnection, distributions: pd.Series, *, packed: bool) -> None:
    """Make the table ``distributions``: the place of each, with its bins as a list, or as bytes."""
    import numpy as np
    import pandas as pd

    if packed:
        connection.register("distributions", pd.DataFrame({"place": range(len(distributions)), "packed": [one.packed for one in distributions]}))
        return
    parts: list[NDArray[np.int64]] = [one.array() for one in distributions]
    words = np.concatenate([*parts, np.zeros((0, 3), dtype=np.int64)])
    place = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    connection.register("bins", {"place": place, "number": np.arange(len(words)), **dict(zip("abc", np.ascontiguousarray(words.T), strict=True))})
    ask(connection, "CREATE TEMP TABLE distributions AS SELECT place, list([a, b, c] ORDER BY number) AS found FROM bins GROUP BY place")
