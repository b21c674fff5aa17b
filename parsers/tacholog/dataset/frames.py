"""The tables of a dataset as pandas frames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tacholog.extras import require
from tacholog.runs.manifest import Host
from tacholog.schema.tables import TABLES

if TYPE_CHECKING:
    import pandas as pd

#: One row of a table, by the names of its columns.
Row = dict[str, Any]
HOSTS_FILE = "hosts.json"


class Dataset(msgspec.Struct, frozen=True):
    """Everything that is known about a set of runs. Unknown is ``<NA>``. `tacholog.schema.tables` declares the columns.

    Attributes:
        runs: one row a run.
        logs: one row a log, with the number of its lines by class.
        problems: one row for each line or file that could not be used.
        results: one row a number, in the unit that `tacholog.schema.metrics.METRICS` gives its metric.
        histograms: one row for each latency record that has a distribution.
        hosts: the machines, by their ids.
    """

    runs: pd.DataFrame
    logs: pd.DataFrame
    problems: pd.DataFrame
    results: pd.DataFrame
    histograms: pd.DataFrame
    hosts: dict[str, Host]

    def save(self, folder: Path) -> None:
        """Write the tables as Parquet files and the hosts as JSON; `tacholog.dataset.saved.open_saved` reads them."""
        require("parquet", f"{folder}: saving a dataset")
        folder.mkdir(parents=True, exist_ok=True)
        for name in TABLES:
            getattr(self, name).to_parquet(folder / f"{name}.parquet", compression="zstd", index=False)
        (folder / HOSTS_FILE).write_bytes(msgspec.json.encode(self.hosts, order="sorted"))


def frame(table: str, rows: Sequence[Row]) -> pd.DataFrame:
    """Return the rows of a table as a frame. Its columns and dtypes are those of the schema, whatever the rows hold."""
    import pandas as pd

    columns = {name: pd.Series([row[name] for row in rows], dtype=column.dtype) for name, column in TABLES[table].items()}
    return pd.DataFrame(columns)


def dataset(rows: dict[str, list[Row]], hosts: dict[str, Host]) -> Dataset:
    """Return the rows of all tables as a dataset."""
    return Dataset(**{name: frame(name, rows[name]) for name in TABLES}, hosts=hosts)
