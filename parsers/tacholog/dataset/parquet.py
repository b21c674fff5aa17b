"""The tables of a dataset as Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tacholog.dataset.shared_objects import objects_of
from tacholog.errors import UnreadableInput
from tacholog.schema.tables import RESULTS

if TYPE_CHECKING:
    import pandas as pd

_LISTS = ("marks", "bins")
_DISTRIBUTIONS_AT_ONCE = 2000


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table. Distributions are written in parts: their bins would be in memory three times."""
    from pyarrow import parquet

    rows = _DISTRIBUTIONS_AT_ONCE if "bins" in frame else max(1, len(frame))
    first = _arrow(frame.iloc[:rows])
    # In these columns, words come again and again. A dictionary of values or bins is given up when it is full, which took time and bytes; and no
    # reader of these files asks for the least and the greatest value.
    repeated = [name for name in frame.columns if name not in (*_LISTS, "value")]
    with parquet.ParquetWriter(path, first.schema, compression="zstd", use_dictionary=repeated, write_statistics=False) as file:
        file.write_table(first)
        for start in range(rows, len(frame), rows):
            file.write_table(_arrow(frame.iloc[start : start + rows]))


def _arrow(frame: pd.DataFrame) -> Any:  # noqa: ANN401 - pyarrow comes without types
    """Return a frame as a table of Arrow. Marks and bins are made here: pandas would ask each row for the type of its list."""
    import pyarrow as pa

    lists = [name for name in _LISTS if name in frame]
    table = pa.Table.from_pandas(frame.drop(columns=lists), preserve_index=False)
    for name in lists:
        table = table.append_column(name, _mark_lists(frame[name]) if name == "marks" else _bin_lists(frame[name]))
    return table


def _mark_lists(marks: pd.Series) -> Any:  # noqa: ANN401 - pyarrow comes without types
    import pyarrow as pa

    codes, different = objects_of(marks)
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


def read_histograms(path: Path, *, wanted: bool = True) -> pd.DataFrame:
    """Read saved distributions; none of them if they are not ``wanted``.

    Each has its bins as one array of shape (n, 3): an array for each bin took six times the memory.

    Raises:
        UnreadableInput: a bin does not have three numbers.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    table = parquet.read_table(path) if wanted else parquet.read_schema(path).empty_table()
    if "bins" not in table.column_names:  # of a version that saved none
        return cast("pd.DataFrame", table.to_pandas())
    lists = pa.chunked_array(table["bins"]).combine_chunks()
    ends = np.cumsum(pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False))
    words = lists.flatten().flatten().to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    if len(words) != 3 * (int(ends[-1]) if len(ends) else 0):
        raise UnreadableInput(f"{path}: a bin of a distribution does not have three numbers")
    frame: pd.DataFrame = table.drop_columns(["bins"]).to_pandas()
    bins = np.empty(len(ends), dtype=object)
    for place, part in enumerate(np.split(words.reshape(-1, 3), ends[:-1]) if len(ends) else ()):
        bins[place] = part
    frame["bins"] = bins
    return frame
