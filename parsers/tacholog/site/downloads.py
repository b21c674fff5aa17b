"""The files for download: the numbers of each page as CSV, all numbers of the site as CSV, JSON and Parquet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from tacholog.dataset.export import as_json, as_parquet, csv_rows, results_table
from tacholog.render.html import Html, tag
from tacholog.site.sources import Sources
from tacholog.slugs import slug
from tacholog.view.numerals import NOT_STATED

if TYPE_CHECKING:
    from tacholog.dataset.frames import Dataset

ALL = "data/results"


def csv_name(system: str, transport: str) -> str:
    """Return the address of the CSV file for one system and transport."""
    return f"data/{slug(f'{system} {transport}')}.csv"


def csv_names(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the address of the CSV file for each system and transport. `X` and `x` are two systems, so their files are numbered."""
    names: dict[tuple[str, str], str] = {}
    for pair in sorted(pairs):
        first, taken = csv_name(*pair), set(names.values())
        numbered = (f"{first.removesuffix('.csv')}-{number}.csv" for number in range(2, len(taken) + 3))
        names[pair] = next(name for name in (first, *numbered) if name not in taken)
    return names


def write_downloads(sources: Sources, folder: str, data: Dataset) -> None:
    """Write one CSV file for each system and transport, and all numbers as CSV, JSON and Parquet."""
    results = results_table(data)
    pairs = results[["system", "transport"]].fillna(NOT_STATED)
    rows = csv_rows(results)
    groups = cast("dict[tuple[str, str], list[int]]", results.groupby([pairs["system"], pairs["transport"]]).indices)
    names = csv_names(groups)
    for pair, places in groups.items():
        sources.write(f"{folder}/{names[pair]}", b"".join([rows[0], *(rows[place + 1] for place in places)]))
    sources.write(f"{folder}/{ALL}.csv", b"".join(rows))
    sources.write(f"{folder}/{ALL}.json", as_json(results))
    sources.write(f"{folder}/{ALL}.parquet", as_parquet(results))


def download_links(system: str | None, transport: str | None, file: str | None = None) -> Html:
    """Return links to the downloads: of one page, if system and transport are given, else of the whole site."""
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
