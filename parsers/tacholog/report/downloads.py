"""The numbers of a page and of the whole site, for other tools: CSV, JSON, Parquet."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from tacholog.report.markup import Html, slug, tag
from tacholog.report.numerals import NOT_STATED
from tacholog.report.sources import Sources

if TYPE_CHECKING:
    import pandas as pd

    from tacholog.dataset import Dataset

ALL = "data/results"
_RUN_COLUMNS = ("run", "system", "system_version", "tool", "tool_version", "release", "host", "published", "status")


def csv_name(system: str, transport: str) -> str:
    """Return where the numbers of one system over one transport are offered."""
    return f"data/{slug(f'{system} {transport}')}.csv"


def write_downloads(sources: Sources, folder: str, data: Dataset) -> None:
    """Write one CSV a system and transport, and everything as CSV, JSON and Parquet."""
    results = data.results.merge(data.runs[list(_RUN_COLUMNS)], on="run", how="left")
    results["marks"] = [" ".join(marks) for marks in results["marks"]]
    pairs = results[["system", "transport"]].fillna(NOT_STATED)
    for (system, transport), part in results.groupby([pairs["system"], pairs["transport"]]):
        sources.write(f"{folder}/{csv_name(str(system), str(transport))}", _csv(part))
    sources.write(f"{folder}/{ALL}.csv", _csv(results))
    sources.write(f"{folder}/{ALL}.json", results.to_json(orient="records", lines=True))
    parquet = io.BytesIO()
    results.to_parquet(parquet, compression="zstd", index=False)
    sources.write(f"{folder}/{ALL}.parquet", parquet.getvalue())


def download_links(system: str | None, transport: str | None) -> Html:
    """Return the links to the downloads of a page, or of the whole site."""
    if system and transport:
        return tag(
            "p", "The numbers of this page: ", tag("a", "CSV", href=f"root:{csv_name(system, transport)}", download=True), class_="tl-download"
        )
    forms = (("csv", "CSV"), ("json", "JSON lines"), ("parquet", "Parquet"))
    links: list[object] = ["All numbers of this site: "]
    for ending, words in forms:
        links += [tag("a", words, href=f"root:{ALL}.{ending}", download=True), ", " if ending != "parquet" else "."]
    return tag("p", *links, class_="tl-download")


def _csv(results: pd.DataFrame) -> str:
    return results.to_csv(index=False, lineterminator="\n")
