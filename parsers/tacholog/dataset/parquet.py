"""The tables of a dataset as Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacholog.schema.tables import RESULTS

if TYPE_CHECKING:
    import pandas as pd

_LISTS = ("marks", "bins")


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table."""
    from pyarrow import parquet

    parquet.write_table(_arrow(frame), path, compression="zstd")


def _arrow(frame: pd.DataFrame) -> Any:  # noqa: ANN401 - pyarrow comes without types
    """Return a frame as a table of Arrow. Marks and bins are made here: pandas would ask each row for the type of its list."""
    import pyarrow as pa

    lists = [name for name in _LISTS if name in frame]
    table = pa.Table.from_pandas(frame.drop(columns=lists), preserve_index=False)
    for name in lists:
        table = table.append_column(name, _mark_lists(frame[name]) if name == "marks" else _bin_lists(frame[name]))
    return table


def _mark_lists(marks: pd.Series) -> Any:  # noqa: ANN401 - pyarrow comes without types
    import pandas as pd
    import pyarrow as pa

    codes, different = pd.factorize(pd.Series([*map(tuple, marks)], dtype="object"))
    return pa.array([list(one) for one in different], pa.list_(pa.string())).take(pa.array(codes))


def _bin_lists(bins: pd.Series) -> Any:  # noqa: ANN401 - pyarrow comes without types
    import numpy as np
    import pyarrow as pa

    parts = [np.asarray([*map(list, one)] if isinstance(one, list) else one, dtype=np.int64).reshape(-1, 3) for one in bins]
    ends = np.cumsum([0, *map(len, parts)])
    words = np.concatenate(parts).ravel() if parts else np.zeros(0, dtype=np.int64)
    inner = pa.ListArray.from_arrays(pa.array(np.arange(0, len(words) + 1, 3), pa.int32()), pa.array(words))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), inner)


def read_results(path: Path, without: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read saved results. Rows with the same marks share them: an array for each row took half of the time and a quarter of the memory."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    names = [name for name in parquet.read_schema(path).names if name not in ("marks", *without)]
    text = [name for name, column in RESULTS.items() if column.kind == "text" and name in names]
    frame: pd.DataFrame = parquet.read_table(path, columns=names, read_dictionary=text).to_pandas()
    marks = parquet.read_table(path, columns=["marks"])["marks"].combine_chunks().cast(pa.list_(pa.string()))
    joined = pc.fill_null(pc.binary_join(marks, " "), "").dictionary_encode()
    sets = np.empty(len(joined.dictionary), object)
    for place, words in enumerate(joined.dictionary.to_pylist()):
        sets[place] = tuple(words.split())
    for name in text:  # The words of a saved dataset are of the type that those of a loaded one have.
        column = frame[name].astype("category")  # One without any word is of no type.
        frame[name] = column.cat.set_categories(column.cat.categories.astype("str"), rename=True)
    frame["marks"] = sets[joined.indices.to_numpy(zero_copy_only=False)]
    pa.default_memory_pool().release_unused()
    return frame
