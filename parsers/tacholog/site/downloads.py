"""The numbers of a page and of the whole site, for other tools: CSV, JSON, Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from tacholog.render.html import Html, slug, tag
from tacholog.schema.tables import OFFERED_OF_RUNS
from tacholog.site.sources import Sources
from tacholog.view.numerals import NOT_STATED

if TYPE_CHECKING:
    import pandas as pd

    from tacholog.dataset.frames import Dataset

ALL = "data/results"


def csv_name(system: str, transport: str) -> str:
    """Return where the numbers of one system over one transport are offered."""
    return f"data/{slug(f'{system} {transport}')}.csv"


def csv_names(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return where the numbers of each system over each transport are offered: `X` and `x` are two systems, and have a file each."""
    found: dict[tuple[str, str], str] = {}
    for pair in sorted(pairs):
        first, taken = csv_name(*pair), set(found.values())
        numbered = (f"{first.removesuffix('.csv')}-{number}.csv" for number in range(2, len(taken) + 3))
        found[pair] = next(name for name in (first, *numbered) if name not in taken)
    return found


def results_of(data: Dataset) -> pd.DataFrame:
    """Return every number with its id and what is known of its run: the table that is offered to other tools."""
    results = data.results.merge(data.runs[["run", *OFFERED_OF_RUNS]], on="run", how="left")
    results["marks"] = [" ".join(marks) for marks in results["marks"]]
    names = zip(*(results[name].astype("string") for name in ("run", "log", "line", "metric", "statistic")), strict=True)
    results.insert(0, "id", [number_id(*(str(part) for part in parts)) for parts in names])
    return results


def number_id(run: str, log: str, line: str, metric: str, statistic: str) -> str:
    """Return the permanent id of a number."""
    return f"{run}/{log}#L{line}:{metric}.{statistic}"


def write_downloads(sources: Sources, folder: str, data: Dataset) -> None:
    """Write one CSV a system and transport, and everything as CSV, JSON and Parquet."""
    results = results_of(data)
    pairs = results[["system", "transport"]].fillna(NOT_STATED)
    rows = _csv_rows(results)
    groups = cast("dict[tuple[str, str], list[int]]", results.groupby([pairs["system"], pairs["transport"]]).indices)
    names = csv_names(groups)
    for pair, places in groups.items():
        sources.write(f"{folder}/{names[pair]}", b"".join([rows[0], *(rows[place + 1] for place in places)]))
    sources.write(f"{folder}/{ALL}.csv", b"".join(rows))
    sources.write(f"{folder}/{ALL}.json", as_json(results))
    sources.write(f"{folder}/{ALL}.parquet", as_parquet(results))


def download_links(system: str | None, transport: str | None, file: str | None = None) -> Html:
    """Return the links to the downloads of a page, or of the whole site."""
    if system and transport:
        return tag(
            "p",
            "The numbers of this page: ",
            tag("a", "CSV", href=f"root:{file or csv_name(system, transport)}", download=True),
            class_="tl-download",
        )
    forms = (("csv", "CSV"), ("json", "JSON lines"), ("parquet", "Parquet"))
    links: list[object] = ["All numbers of this site: "]
    for ending, words in forms:
        links += [tag("a", words, href=f"root:{ALL}.{ending}", download=True), ", " if ending != "parquet" else "."]
    return tag("p", *links, class_="tl-download")


def as_csv(results: pd.DataFrame) -> bytes:
    """Return a table as CSV."""
    return results.to_csv(index=False, lineterminator="\n").encode()


def _csv_rows(results: pd.DataFrame) -> list[bytes]:
    """Return a table as rows of CSV, the head first. Once for all files: a frame takes longer to be written than its rows."""
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
    """Return a table as JSON, one object a line; what is not stated is null."""
    return results.to_json(orient="records", lines=True).encode()


def as_parquet(results: pd.DataFrame) -> bytes:
    """Return a table as Parquet."""
    parquet = io.BytesIO()
    results.to_parquet(parquet, compression="zstd", index=False)
    return parquet.getvalue()
