"""The files for download: all numbers as Parquet; those of each page as CSV; those of each release of a system as JSON lines; text is compressed.

Each kind of file has each number once. No text holds all numbers, because text grows too large: 387 runs had 52 MB of JSON.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tacholog.render.html import Html, join, tag
from tacholog.render.tables.plain import count_of, null, plain_table
from tacholog.site.output.memory import keep_value, kept_value
from tacholog.site.result_pages import DEFAULT, Values, csv_name, csv_names, numbered, runs_of_pages, values_of_rows
from tacholog.site.sources import Sources
from tacholog.store.export import files_of, results_table
from tacholog.view.numerals import NOT_STATED, natural
from tacholog.view.own_names import DATA
from tacholog.view.run_digests import digest
from tacholog.view.views import View

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from tacholog.store.frames import Dataset

ALL = f"{DATA}/results.parquet"
_RELEASES = f"{DATA}/releases"
_LEVEL = 6  # of compression: level 9 takes twice the time for 3 % less
_CSV, _JSON, _PARQUET = ".csv.gz", ".jsonl.gz", ".parquet"


class ReleaseFile(NamedTuple):
    """The numbers of a release: system, release, how many, and the address of its file without the ending."""

    system: str
    release: str
    numbers: int
    name: str


def release_files(view: View) -> list[ReleaseFile]:
    """Return the file of each system and release that has numbers."""
    runs = _runs_of_releases(view)
    names = numbered(runs)
    return [ReleaseFile(*pair, sum(len(view.by_run[run]) for run in runs[pair]), f"{_RELEASES}/{names[pair]}") for pair in sorted(runs)]


def _runs_of_releases(view: View) -> dict[tuple[str, str], list[str]]:
    """Return the runs with numbers of each system and release."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in view.by_run:
        run = view.runs[name]
        found.setdefault((run.system or NOT_STATED, run.release or NOT_STATED), []).append(name)
    return found


def write_downloads(into: Sources, memory: Path, data: Dataset, view: View, runs: Mapping[str, str], fields: Sequence[str] = DEFAULT) -> None:
    """Write the files whose runs changed.

    Args:
        into: the folder ``data`` of the site.
        memory: the file that keeps between builds what each file was made of.
        data: the dataset.
        view: the same dataset.
        runs: the digest of each run.
        fields: what makes a page (``pages`` of ``site.toml``).
    """
    before, now = kept_value(memory, dict[str, str]) or {}, dict[str, str]()
    memory.unlink(missing_ok=True)  # A build that fails may have written other files than those that it knows.
    outdated: dict[str, _File] = {}
    for name, file in _files(view, fields):
        now[name] = digest([fields, file.rows_with, sorted(runs[run] for run in file.runs)])
        if not into.kept(_inside(into, f"{name}{file.ending}")) or before.get(name) != now[name]:
            outdated[name] = file
    if outdated:
        _write(into, data, outdated, fields)
    keep_value(memory, now)


def _write(into: Sources, data: Dataset, files: Mapping[str, _File], fields: Sequence[str]) -> None:
    """Write files: the runs in the order of their names."""
    table = results_table(data)
    table = table.iloc[table["run"].astype("str").argsort(kind="stable").to_numpy()]
    of_kind = {_CSV: _coded(table, fields), _JSON: _coded(table, ("system", "release"))}
    with files_of(table.assign(**{ending: codes for ending, (codes, _) in of_kind.items()})) as content_of:
        for name, file in files.items():
            if file.rows_with is None:
                content = content_of("parquet", "true")
            else:
                place = of_kind[file.ending][1].index(file.rows_with)
                rows = content_of("csv" if file.ending == _CSV else "json", f'"{file.ending}" = {place}')
                content = gzip.compress(rows, _LEVEL, mtime=0)
            into.write(_inside(into, f"{name}{file.ending}"), content)


def _coded(table: pd.DataFrame, fields: Sequence[str]) -> tuple[NDArray[np.int64], list[Values]]:
    """Return for each row the place of its values in a list of values, and that list."""
    import pandas as pd

    codes, different = pd.MultiIndex.from_arrays(values_of_rows(table, fields)).factorize()
    return codes, [tuple(values) for values in different]


class _File(NamedTuple):
    """A file for download: its runs, the values that its rows have, and its ending."""

    runs: frozenset[str]
    rows_with: Values | None
    ending: str


def _files(view: View, fields: Sequence[str]) -> Iterator[tuple[str, _File]]:
    """Yield each file with its address without the ending."""
    pages = runs_of_pages(view, fields)
    for values, name in csv_names(pages).items():
        yield name.removesuffix(_CSV), _File(frozenset(pages[values]), values, _CSV)
    of_releases = _runs_of_releases(view)
    for file in release_files(view):
        release = (file.system, file.release)
        yield file.name, _File(frozenset(of_releases[release]), release, _JSON)
    yield ALL.removesuffix(_PARQUET), _File(frozenset(view.by_run), None, _PARQUET)


def _inside(into: Sources, name: str) -> str:
    return name.removeprefix(f"{into.folder.name}/")


def download_links(view: View, system: str | None, transport: str | None, file: str | None = None) -> Html:
    """Return links to the downloads: of one page, if its file or system and transport are given, else of the whole site."""
    named = file or (csv_name(system, transport) if system and transport else None)
    if named:
        return tag("p", "The numbers of this page: ", tag("a", "CSV (gzip)", href=f"root:{named}", download=True), class_="tl-download")
    whole = tag("a", "Parquet", href=f"root:{ALL}", download=True)
    files = release_files(view)
    versions = _versions(view)
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
    return join([tag("p", "All numbers of this site: ", whole, ".", class_="tl-download"), table])


def _versions(view: View) -> dict[str, Html]:
    """Return, for each system, the versions of its runs without a release."""
    found: dict[str, set[str]] = {}
    for name in view.by_run:
        run = view.runs[name]
        if not run.release and run.system_version:
            found.setdefault(run.system or NOT_STATED, set()).add(run.system_version)
    in_order = {system: sorted(versions, key=lambda version: (natural(version), version)) for system, versions in found.items()}
    return {
        system: join(["no release, version " if len(versions) == 1 else "no release, versions ", ", ".join(versions)])
        for system, versions in in_order.items()
    }


def _link(file: ReleaseFile) -> Html:
    return tag("a", "JSON lines", href=f"root:{file.name}{_JSON}", download=True)


def all_downloads() -> Html:
    """Return the links of a page that is not about downloads."""
    whole = tag("a", "Parquet", href=f"root:{ALL}", download=True)
    return tag(
        "p",
        "All numbers of this site: ",
        whole,
        ", or by release as ",
        tag("a", "JSON lines", href="doc:downloads"),
        ".",
        class_="tl-download",
    )
