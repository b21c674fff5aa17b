"""The tables of a dataset as pandas frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tacholog.runs.manifest import Host
from tacholog.schema.columns import Kind, SchemaColumn
from tacholog.schema.marks import marks_of
from tacholog.schema.tables import TABLES
from tacholog.store.parquet import write_table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray
    from pandas import DataFrame

    Integers = NDArray[np.int64]
else:
    DataFrame = Any  # `help` and `inspect.signature` look up the types of fields, and pandas is not imported for that.

#: One row of a table, by the names of its columns.
Row = dict[str, Any]
HOSTS_FILE = "hosts.json"


class Dataset(msgspec.Struct, frozen=True):
    """Everything that is known about a set of runs. Unknown is ``<NA>``. `tacholog.schema.tables` declares the columns.

    Attributes:
        runs: one row a run.
        logs: one row a log, with the number of its lines by class.
        problems: one row for each line or file that could not be used.
        results: one row a number, in the unit that `tacholog.schema.metrics.METRICS` gives its metric. Its text columns are categories, which hold
            each word once: as plain text, a million rows take 15 MB a column.
        histograms: one row for each latency record that has a distribution. Its ``bins`` are a `tacholog.store.distributions.Distribution`.
        hosts: the machines, by their ids.
    """

    runs: DataFrame
    logs: DataFrame
    problems: DataFrame
    results: DataFrame
    histograms: DataFrame
    hosts: dict[str, Host]

    def save(self, folder: str | Path, *, packed: bool = False) -> None:
        """Write the tables as Parquet files and the hosts as JSON; `tacholog.store.saved.open_saved` reads them.

        Args:
            folder: where to.
            packed: whether distributions stay packed. Other programs read their bins only if they do not, which takes ten times as long.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in TABLES:
            write_table(getattr(self, name), folder / f"{name}.parquet", packed=packed)
        (folder / HOSTS_FILE).write_bytes(msgspec.json.encode(self.hosts))


def without_distributions(data: Dataset) -> Dataset:
    """Return a dataset that has no bins of distributions."""
    none = data.histograms.iloc[:0].copy()  # Without a copy, pandas keeps the columns of which these are a part, and so all bins.
    return msgspec.structs.replace(data, histograms=none)


def dtype_of(table: str, column: SchemaColumn) -> str:
    """Return the dtype of a column of a table."""
    return "category" if table == "results" and column.kind == "text" else column.dtype


def frame(table: str, rows: Sequence[Row]) -> pd.DataFrame:
    """Return the rows of a table as a frame. Its columns and dtypes are those of the schema, whatever the rows hold."""
    import pandas as pd

    columns = {name: pd.Series([row[name] for row in rows], dtype=column.dtype) for name, column in TABLES[table].items()}
    return pd.DataFrame(columns)


def dataset(rows: dict[str, list[Row]], results: pd.DataFrame, hosts: dict[str, Host]) -> Dataset:
    """Return the rows of the small tables, the results and the machines as a dataset."""
    small = {name: frame(name, rows[name]) for name in TABLES if name != "results"}
    return Dataset(**small, results=results, hosts=hosts)


def results_frame(found: Mapping[str, Any], words: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Return results as a frame. Its text columns hold each word once, as categories.

    Args:
        found: the columns, as the engine gives them; of words their places in the list of words.
        words: the words of each column of words.
    """
    import numpy as np
    import pandas as pd

    made = {"marks": _marks(np.asarray(found["marks"]))}
    made |= {name: array_of(column.kind, found[name], words.get(name, ())) for name, column in TABLES["results"].items() if name not in made}
    return pd.DataFrame({name: made[name] for name in TABLES["results"]}, copy=False)


def array_of(kind: Kind, values: Any, words: Sequence[str]) -> Any:  # noqa: ANN401 - arrays of NumPy and pandas
    """Return a column of this kind, as the schema declares it.

    Args:
        kind: what its values are.
        values: the values; of words their places in the list of words.
        words: the words.
    """
    import numpy as np
    import pandas as pd

    if kind == "text":
        return _words(words, np.ma.filled(values.astype(np.int64), -1) if words else np.full(len(values), -1))
    kinds = {"integer": (pd.arrays.IntegerArray, np.int64), "number": (pd.arrays.FloatingArray, np.float64)}
    array, dtype = kinds.get(kind, (pd.arrays.BooleanArray, np.bool_))
    mask = np.ma.getmaskarray(values)
    known = np.ma.filled(values, 0) if mask.any() else np.ma.getdata(values)
    return array(known.astype(dtype, copy=False), mask)


def _words(words: Sequence[str], codes: NDArray[np.integer[Any]]) -> pd.Categorical:
    """Return a column of words as categories, without those that no row has.

    Args:
        words: all words.
        codes: a place in ``words`` for each row, -1 for ``<NA>``.
    """
    import numpy as np
    import pandas as pd

    used = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(words)))
    if len(used) < len(words):
        meant = np.full(len(words) + 1, -1)
        meant[used] = np.arange(len(used))
        codes = meant[codes]
    least = np.min_scalar_type(-max(len(used), 1))
    dtype = pd.CategoricalDtype(pd.Index([words[place] for place in used.tolist()], dtype="str"))
    return pd.Categorical.from_codes(codes.astype(least), dtype=dtype, validate=False)


def _marks(bits: Integers) -> NDArray[np.object_]:
    """Return a column of marks. Rows with the same marks share them. Most rows have none, and need not be told apart."""
    import numpy as np
    import pandas as pd

    marked = np.flatnonzero(bits)
    of_marked, different = pd.factorize(bits[marked])
    sets = np.empty(1 + len(different), dtype=object)
    for place, one in enumerate((0, *different.tolist())):
        sets[place] = marks_of(one)
    codes = np.zeros(len(bits), dtype=np.intp)
    codes[marked] = of_marked + 1
    return sets[codes]
