"""The tables of a dataset as Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tacholog.errors import UnreadableInput
from tacholog.schema.tables import RESULTS
from tacholog.store.distributions import Distribution, packed_bins
from tacholog.store.shared_objects import objects_of

if TYPE_CHECKING:
    import pandas as pd

_LISTS = ("marks", "bins")
_DISTRIBUTIONS_AT_ONCE = 2000


def write_table(frame: pd.DataFrame, path: Path, *, packed: bool = False) -> None:
    """Write a table. Distributions are lists of bins, or ``packed``. They are written in parts, because all bins would be in memory three times."""
    from pyarrow import parquet

    frame = _with_used_words(frame)
    rows = _DISTRIBUTIONS_AT_ONCE if "bins" in frame else max(1, len(frame))
    first = _arrow(frame.iloc[:rows], packed)
    # In these columns, words come again and again. A dictionary of values or bins is given up when it is full, which took time and bytes; and no
    # reader of these files asks for the least and the greatest value.
    repeated = [name for name in frame.columns if name not in (*_LISTS, "value")]
    with parquet.ParquetWriter(path, first.schema, compression="zstd", use_dictionary=repeated, write_statistics=False) as file:
        file.write_table(first)
        for start in range(rows, len(frame), rows):
            file.write_table(_arrow(frame.iloc[start : start + rows], packed))


def _with_used_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose categories are words of its rows. All others would be saved too, and rows may have been left out as private."""
    import numpy as np

    columns = {name: column.array for name, column in frame.items() if column.dtype == "category"}
    counts = {name: np.bincount(array.codes[array.codes >= 0], minlength=len(array.categories)) for name, array in columns.items()}
    return frame.assign(**{str(name): columns[name].remove_unused_categories() for name, count in counts.items() if not count.all()})


def _arrow(frame: pd.DataFrame, packed: bool) -> Any:  # noqa: ANN401 - pyarrow comes without types
    """Return a frame as a table of Arrow. Marks and bins are made here: pandas would ask each row for the type of its list."""
    import pyarrow as pa

    lists = [name for name in _LISTS if name in frame]
    table = pa.Table.from_pandas(frame.drop(columns=lists), preserve_index=False)
    for name in lists:
        made = _mark_lists(frame[name]) if name == "marks" else _packed(frame[name]) if packed else _bin_lists(frame[name])
        table = table.append_column(name, made)
    return table


def _packed(distributions: pd.Series) -> Any:  # noqa: ANN401 - pyarrow comes without types
    import pyarrow as pa

    return pa.array([one.packed for one in distributions], pa.binary())


def _mark_lists(marks: pd.Series) -> Any:  # noqa: ANN401 - pyarrow comes without types
    import pyarrow as pa

    codes, different = objects_of(marks)
    return pa.array([list(one) for one in different], pa.list_(pa.string())).take(pa.array(codes))


def _bin_lists(distributions: pd.Series) -> Any:  # noqa: ANN401 - pyarrow comes without types
    import numpy as np
    import pyarrow as pa

    parts = [one.array() for one in distributions]
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
    """Read saved distributions; none of them if they are not ``wanted``. Each is a `Distribution`, however it was saved.

    Raises:
        UnreadableInput: a bin does not have three numbers.
    """
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(path) if wanted else parquet.read_schema(path).empty_table()
    if "bins" not in table.column_names:  # of a version that saved none
        return cast("pd.DataFrame", table.to_pandas())
    saved = pa.chunked_array(table["bins"]).combine_chunks()
    frame: pd.DataFrame = table.drop_columns(["bins"]).to_pandas()
    made = [Distribution(one or b"") for one in saved.to_pylist()] if pa.types.is_binary(saved.type) else _of_lists(saved, path)
    frame["bins"] = pd.Series(made, index=frame.index, dtype="object")
    return frame


def _of_lists(lists: Any, path: Path) -> list[Distribution]:  # noqa: ANN401 - pyarrow comes without types
    """Return distributions that are saved as lists of bins."""
    import numpy as np
    import pyarrow.compute as pc

    ends = np.cumsum(pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False))
    words = lists.flatten().flatten().to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    if len(words) != 3 * (int(ends[-1]) if len(ends) else 0):
        raise UnreadableInput(f"{path}: a bin of a distribution does not have three numbers")
    return [Distribution(packed_bins(part)) for part in (np.split(words.reshape(-1, 3), ends[:-1]) if len(ends) else ())]
