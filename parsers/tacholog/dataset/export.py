"""The dataset for other tools: one table of all numbers as CSV, JSON or Parquet, and the latency distributions as HdrHistogram logs.

`tacholog export` writes these files, and the site offers the same ones for download.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacholog.errors import UnreadableInput
from tacholog.schema.tables import OFFERED_OF_RUNS
from tacholog.slugs import path_slug

if TYPE_CHECKING:
    import pandas as pd

    from tacholog.dataset.frames import Dataset

Bins = Sequence[tuple[float, float, int]]
_HDR_DIGITS = 3
_HDR_HEAD = (
    "#[Latencies in ns, written by tacholog export. Tag: payload bytes and line of the raw log]\n"
    "#[Histogram log format version 1.3]\n"
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
)


def results_table(data: Dataset) -> pd.DataFrame:
    """Return every number with its permanent id and the facts of its run: the table that other tools get."""
    results = data.results.merge(data.runs[["run", *OFFERED_OF_RUNS]], on="run", how="left")
    results["marks"] = [" ".join(marks) for marks in results["marks"]]
    names = zip(*(results[name].astype("string") for name in ("run", "log", "line", "metric", "statistic")), strict=True)
    results.insert(0, "id", [number_id(*(str(part) for part in parts)) for parts in names])
    return results


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
    parquet = io.BytesIO()
    results.to_parquet(parquet, compression="zstd", index=False)
    return parquet.getvalue()


def write_hdr(data: Dataset, folder: Path) -> int:
    """Write one HdrHistogram log for each raw log that has distributions, and return the number of histograms.

    Raises:
        UnreadableInput: no log has a distribution.
    """
    lines: dict[tuple[str, str], list[str]] = {}
    for row in data.histograms.to_dict("records"):
        if len(row["bins"]):
            lines.setdefault((str(row["run"]), str(row["log"])), []).append(_hdr_line(row["payload_bytes"], int(row["line"]), row["bins"]))
    if not lines:
        raise UnreadableInput("no log has a distribution: nothing to write")
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
