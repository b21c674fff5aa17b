"""The files for download: the numbers of each page as CSV, all numbers of the site as CSV, JSON and Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacholog.dataset.export import as_json, as_parquet, csv_rows, results_table
from tacholog.render.html import Html, tag
from tacholog.site.result_pages import DEFAULT, Values, csv_name, csv_names, values_of_rows
from tacholog.site.sources import Sources

if TYPE_CHECKING:
    from tacholog.dataset.frames import Dataset

ALL = "data/results"


def write_downloads(sources: Sources, folder: str, data: Dataset, fields: Sequence[str] = DEFAULT) -> None:
    """Write one CSV file for each page of results, and all numbers as CSV, JSON and Parquet.

    Args:
        sources: where the files are written.
        folder: the folder for files that are copied to the site as they are.
        data: the dataset.
        fields: what makes a page (``pages`` of ``site.toml``).
    """
    results = results_table(data)
    rows = csv_rows(results)
    places: dict[Values, list[int]] = {}
    for place, values in enumerate(zip(*values_of_rows(results, fields), strict=True)):
        places.setdefault(values, []).append(place)
    for values, name in csv_names(places).items():
        sources.write(f"{folder}/{name}", b"".join([rows[0], *(rows[place + 1] for place in places[values])]))
    sources.write(f"{folder}/{ALL}.csv", b"".join(rows))
    sources.write(f"{folder}/{ALL}.json", as_json(results))
    sources.write(f"{folder}/{ALL}.parquet", as_parquet(results))


def download_links(system: str | None, transport: str | None, file: str | None = None) -> Html:
    """Return links to the downloads: of one page, if its file or system and transport are given, else of the whole site."""
    named = file or (csv_name(system, transport) if system and transport else None)
    if named:
        return tag("p", "The numbers of this page: ", tag("a", "CSV", href=f"root:{named}", download=True), class_="tl-download")
    forms = (("csv", "CSV"), ("json", "JSON lines"), ("parquet", "Parquet"))
    links: list[object] = ["All numbers of this site: "]
    for ending, words in forms:
        links += [tag("a", words, href=f"root:{ALL}.{ending}", download=True), ", " if ending != "parquet" else "."]
    return tag("p", *links, class_="tl-download")
