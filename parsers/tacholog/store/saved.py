"""Datasets on disk: what `tacholog.store.frames.Dataset.save` wrote, in this version or in an older one."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.extras import require
from tacholog.runs.manifest import Host
from tacholog.schema.tables import TABLES
from tacholog.store.frames import HOSTS_FILE, Dataset, dtype_of
from tacholog.store.parquet import read_histograms, read_results

if TYPE_CHECKING:
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
    import pandas as pd

    require("parquet", f"{folder}: reading a saved dataset")
    try:
        tables = {name: pd.read_parquet(folder / f"{name}.parquet") for name in TABLES if name not in ("results", "histograms")}
        tables["histograms"] = read_histograms(folder / "histograms.parquet", wanted=distributions)
        tables["results"] = read_results(folder / "results.parquet", tuple(without))
        hosts = msgspec.json.decode((folder / HOSTS_FILE).read_bytes(), type=dict[str, Host])
    except OSError as error:
        raise UnreadableInput(f"{folder}: no dataset: {error.strerror or error}") from error
    return Dataset(**{name: _with_new_columns(name, table, without) for name, table in tables.items()}, hosts=hosts)


def saved_runs(folder: Path) -> pd.DataFrame:
    """Read the runs of a saved dataset, and none of their numbers."""
    import pandas as pd

    require("parquet", f"{folder}: reading a saved dataset")
    return _with_new_columns("runs", pd.read_parquet(folder / "runs.parquet"), ())


def _with_new_columns(name: str, table: pd.DataFrame, without: Collection[str]) -> pd.DataFrame:
    """Add the columns that the schema has and an older version did not save; each in its place."""
    import pandas as pd

    unwanted = without if name == "results" else ()
    for place, (column, declared) in enumerate((key, value) for key, value in TABLES[name].items() if key not in unwanted):
        if column not in table:
            no_words = pd.CategoricalDtype(pd.Index([], dtype="str"))
            dtype = no_words if dtype_of(name, declared) == "category" else declared.dtype
            table.insert(min(place, table.shape[1]), column, pd.Series(pd.NA, table.index, dtype=dtype))
    return table
