"""The downloads: all numbers as Parquet, the numbers of each page as CSV, those of each release as JSON lines. Text files are compressed.

Each kind of file contains each number once. No text file contains all numbers, because it would become too large: 387 runs had 52 MB of JSON.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tacholog.render.html import Html, join, tag
from tacholog.render.table import count_of, null, plain_table
from tacholog.site.result_pages import DEFAULT, Values, csv_name, csv_names, numbered, runs_of_pages, values_of_rows
from tacholog.store.engine import quoted
from tacholog.store.export import FileKind, TableFiles, files_of, results_table
from tacholog.view.numerals import NOT_STATED, alphabetical, natural
from tacholog.view.page_index import DATA
from tacholog.view.views import View

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from tacholog.site.stamp import FormerSite
    from tacholog.store.frames import Dataset

ALL = f"{DATA}/results.parquet"
_RELEASES = f"{DATA}/releases"
_LEVEL = 6  # compression level: level 9 takes twice the time for 3 % less
_CSV, _JSON = ".csv.gz", ".jsonl.gz"


class ReleaseFile(NamedTuple):
    """The file with the numbers of a release: system, release, number of rows, and the address of the file without its ending."""

    system: str
    release: str
    numbers: int
    name: str


def release_files(view: View) -> list[ReleaseFile]:
    """Return the file for each system and release that has numbers."""
    runs = _runs_of_releases(view)
    names = numbered(runs)
    order = sorted(runs, key=lambda pair: (alphabetical(pair[0]), natural(pair[1])))
    return [ReleaseFile(*pair, sum(len(view.by_run[run]) for run in runs[pair]), f"{_RELEASES}/{names[pair]}") for pair in order]


def _runs_of_releases(view: View) -> dict[tuple[str, str], list[str]]:
    runs: dict[tuple[str, str], list[str]] = {}
    for name in view.by_run:
        run = view.runs[name]
        runs.setdefault((run.system or NOT_STATED, run.release or NOT_STATED), []).append(name)
    return runs


def write_downloads(site: Path, data: Dataset, view: View, former: FormerSite, fields: Sequence[str] = DEFAULT) -> dict[tuple[str, str], str]:
    """Write the files, with the runs in the order of their names. Return a digest of all numbers for each log, by run and log.

    Args:
        site: the folder of the site.
        data: the dataset.
        view: the view of the same dataset.
        former: the files of the previous build.
        fields: the fields that define a page (``pages`` in ``site.toml``).
    """
    (site / _RELEASES).mkdir(parents=True, exist_ok=True)
    table = results_table(data)
    table = table.iloc[table["run"].astype("str").argsort(kind="stable").to_numpy()]
    pages, releases = _coded(table, fields), _coded(table, ("system", "release"))
    names = {values: name.removesuffix(_CSV) for values, name in csv_names(runs_of_pages(view, fields)).items()}
    of_pages = [(f"{names[values]}{_CSV}", number) for number, values in enumerate(pages[1])]
    of_releases = [(f"{file.name}{_JSON}", releases[1].index((file.system, file.release))) for file in release_files(view)]
    with files_of(table.assign(**{_CSV: pages[0], _JSON: releases[0]})) as files:
        (site / ALL).write_bytes(files.content("parquet", "true"))
        _write(site, former, files, "csv", _CSV, of_pages)
        _write(site, former, files, "json", _JSON, of_releases)
        return {(run, log): digest for (run, log), digest in files.digests("run", "log").items()}


def _write(site: Path, former: FormerSite, files: TableFiles, kind: FileKind, column: str, numbered_files: Iterable[tuple[str, int]]) -> None:
    digests = files.digests(column)
    for name, number in numbered_files:
        if not former.has(name, digests[(number,)]):
            (site / name).write_bytes(compressed(files.content(kind, f"{quoted(column)} = {number}")))


def compressed(content: bytes) -> bytes:
    """Return a file for download, compressed with gzip. Equal contents give equal files."""
    return gzip.compress(content, _LEVEL, mtime=0)


def _coded(table: pd.DataFrame, fields: Sequence[str]) -> tuple[NDArray[np.integer[Any]], list[Values]]:
    """Return an index for each row, and the different combinations of values to which the indexes refer."""
    import pandas as pd

    values = pd.DataFrame(dict(enumerate(values_of_rows(table, fields))))
    codes = values.groupby(list(values), sort=False).ngroup().to_numpy()
    return codes, list(values.drop_duplicates().itertuples(index=False, name=None))


def download_links(view: View, system: str | None, transport: str | None, file: str | None = None) -> Html:
    """Return links to the downloads of the whole site, or the link to the file of one page.

    The page is selected by ``file``, or by ``system`` and ``transport`` together.
    """
    named = file or (csv_name(system, transport) if system and transport else None)
    if named:
        return tag("p", "The numbers of this page: ", tag("a", "CSV (gzip)", href=f"root:{named}", download=True), class_="tl-download")
    parquet_link = tag("a", "Parquet", href=f"root:{ALL}", download=True)
    files = release_files(view)
    versions = _versions_without_release(view)
    rows = [
        [
            file.system if file.system != NOT_STATED else null(),
            file.release if file.release != NOT_STATED else versions.get(file.system) or null(),
            count_of(file.numbers),
            _link(file),
        ]
        for file in files
    ]
    table = plain_table("Numbers by release", ("system", "release", "numbers", "file"), rows, class_="tl-compact")
    return join([tag("p", "All numbers of this site: ", parquet_link, ".", class_="tl-download"), table])


def _versions_without_release(view: View) -> dict[str, Html]:
    versions_by_system: dict[str, set[str]] = {}
    for name in view.by_run:
        run = view.runs[name]
        if not run.release and run.system_version:
            versions_by_system.setdefault(run.system or NOT_STATED, set()).add(run.system_version)
    in_order = {system: sorted(versions, key=lambda version: (natural(version), version)) for system, versions in versions_by_system.items()}
    return {
        system: join(["no release, version " if len(versions) == 1 else "no release, versions ", ", ".join(versions)])
        for system, versions in in_order.items()
    }


def _link(file: ReleaseFile) -> Html:
    return tag("a", "JSON lines", href=f"root:{file.name}{_JSON}", download=True)


def all_downloads() -> Html:
    """Return a paragraph with links to the downloads of the whole site. Pages whose main subject is not the downloads show it."""
    parquet_link = tag("a", "Parquet", href=f"root:{ALL}", download=True)
    return tag(
        "p",
        "All numbers of this site: ",
        parquet_link,
        ", or by release as ",
        tag("a", "JSON lines", href="doc:downloads"),
        ".",
        class_="tl-download",
    )
