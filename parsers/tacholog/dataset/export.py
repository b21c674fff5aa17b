"""The dataset for other tools: one table of all numbers as CSV, JSON or Parquet, and the latency distributions as HdrHistogram logs.

`tacholog export` writes these files, and the site offers the same ones for download.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tacholog.schema.tables import OFFERED, OFFERED_OF_RUNS, RUNS
from tacholog.slugs import path_slug

if TYPE_CHECKING:
    import pandas as pd

    from tacholog.dataset.frames import Dataset

Bins = Sequence[tuple[float, float, int]]
_HDR_DIGITS = 3
_GROUP_ROWS = 1 << 17
_HDR_HEAD = (
    "#[Latencies in ns, written by tacholog export. Tag: payload bytes and line of the raw log]\n"
    "#[Histogram log format version 1.3]\n"
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
)


def results_table(data: Dataset) -> pd.DataFrame:
    """Return every number with its permanent id and the facts of its run: the table that other tools get."""
    import pandas as pd

    results = data.results.copy()
    runs = results["run"].astype("category").cat
    places = pd.Index(data.runs["run"]).get_indexer(pd.Index(runs.categories.astype("str")))
    for name in OFFERED_OF_RUNS:
        column = data.runs[name]
        column = column.astype("category") if RUNS[name].kind == "text" else column
        results[name] = column.array.take(places[runs.codes])
    results["marks"] = _texts(results["marks"], " ".join)
    names = zip(*(results[name].astype("object") for name in ("run", "log", "line", "metric", "statistic")), strict=True)
    results.insert(0, "id", [number_id(*map(str, parts)) for parts in names])
    return results


def _texts(values: pd.Series, words: Callable[[Any], str]) -> pd.Series:
    """Return a text for each value. Few values are different, and each of them is put into words once."""
    import pandas as pd

    codes, different = pd.factorize(pd.Series([*map(tuple, values)], dtype="object", index=values.index))
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index([words(value) for value in different], dtype="str")), index=values.index)


def number_id(run: str, log: str, line: str, metric: str, statistic: str) -> str:
    """Return the permanent id of a number."""
    return f"{run}/{log}#L{line}:{metric}.{statistic}"


def as_csv(results: pd.DataFrame) -> bytes:
    """Return a table as CSV."""
    return results.to_csv(index=False, lineterminator="\n").encode()


def csv_rows(results: pd.DataFrame) -> list[bytes]:
    """Return a table as rows of CSV, the header first.

    Several files can be put together from these rows: pandas takes longer to write a table than to write all of its rows once.
    """
    import csv

    text = io.StringIO(as_csv(results).decode(), newline="")
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    rows = []
    for row in csv.reader(text):
        writer.writerow(row)
        rows.append(out.getvalue().encode())
        out.seek(0)
        out.truncate()
    return rows


def as_json(results: pd.DataFrame) -> bytes:
    """Return a table as JSON, one object per line. A value that is not stated is null."""
    return results.to_json(orient="records", lines=True).encode()


def as_parquet(results: pd.DataFrame) -> bytes:
    """Return a table as Parquet."""
    stream = io.BytesIO()
    file = ResultsFile("parquet", stream)
    file.write(results)
    file.close()
    return stream.getvalue()


class ResultsFile:
    """Writes tables of results one after the other, so that never all of them need to be in memory."""

    def __init__(self, kind: str, stream: BinaryIO) -> None:
        """Write ``csv``, ``json`` (one object per line) or ``parquet`` to an open file."""
        self._kind, self._stream = kind, stream
        self._parquet: Any = None
        self._is_first = True

    def write(self, results: pd.DataFrame) -> None:
        """Write a table of `results_table`."""
        if self._kind == "parquet":
            self._write_parquet(results)
        elif self._kind == "json":
            self._stream.write(as_json(results))
        else:
            self._stream.write(results.to_csv(index=False, lineterminator="\n", header=self._is_first).encode())
        self._is_first = False

    def close(self) -> None:
        """Write the end of the file."""
        if self._parquet:
            self._parquet.close()

    def _write_parquet(self, results: pd.DataFrame) -> None:
        from pyarrow import parquet

        schema = _parquet_schema(results)
        if self._parquet is None:
            self._parquet = parquet.ParquetWriter(self._stream, schema, compression="zstd")
        for start in range(0, len(results), _GROUP_ROWS):
            self._parquet.write_table(_as_arrow(results.iloc[start : start + _GROUP_ROWS], schema))


def _parquet_schema(results: pd.DataFrame) -> Any:  # noqa: ANN401 - pyarrow comes without types
    """Return the types of the columns: the same for every part of the file, whatever its rows hold."""
    import pyarrow as pa

    words = pa.dictionary(pa.int32(), pa.string())
    types = {"text": words, "integer": pa.int64(), "number": pa.float64(), "true or false": pa.bool_()}
    return pa.schema([(name, pa.string() if name == "id" else types[OFFERED[name].kind]) for name in results.columns])


def _as_arrow(results: pd.DataFrame, schema: Any) -> Any:  # noqa: ANN401 - pyarrow comes without types
    import pyarrow as pa

    return pa.table([pa.array(results[field.name]).cast(field.type) for field in schema], schema=schema)


def write_hdr(data: Dataset, folder: Path) -> int:
    """Write one HdrHistogram log for each raw log that has distributions, and return the number of histograms."""
    lines: dict[tuple[str, str], list[str]] = {}
    for row in data.histograms.to_dict("records"):
        if len(row["bins"]):
            lines.setdefault((str(row["run"]), str(row["log"])), []).append(_hdr_line(row["payload_bytes"], int(row["line"]), row["bins"]))
    for (run, log), found in lines.items():
        path = folder / f"{path_slug(f'{run}/{log}')}.hlog"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_HDR_HEAD + "".join(found), encoding="ascii")
    return sum(map(len, lines.values()))


def _hdr_line(payload_bytes: object, line: int, bins: Bins) -> str:
    """Return a histogram as one interval. Its start and length are 0: the bins do not say when they were measured."""
    import pandas as pd

    payload = "unknown" if payload_bytes is pd.NA or payload_bytes is None else payload_bytes
    return f"Tag=bytes-{payload}-line-{line},0.000,0.000,{bins[-1][1] / 1e6:.3f},{_hdr_encoded(bins)}\n"


def _hdr_encoded(bins: Bins) -> str:
    """Return the bins in HdrHistogram's own compressed form. Each sample stands at the upper edge of its bin, as in the percentiles on the pages."""
    from hdrh.histogram import HdrHistogram

    histogram = HdrHistogram(1, max(2, round(bins[-1][1])), _HDR_DIGITS)
    for _, upper, count in bins:
        histogram.record_value(max(1, round(upper)), count)
    return str(histogram.encode().decode("ascii"))
