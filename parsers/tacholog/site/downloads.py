"""The files for download: all numbers as Parquet; those of each page as CSV; those of each release of a system as JSON lines; text is compressed.

Each kind of file has each number once. No text holds all numbers, because text grows too large: 387 runs had 52 MB of JSON.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tacholog.dataset.export import ResultsFile, csv_rows, json_rows, results_table, results_tables
from tacholog.render.html import Html, join, tag
from tacholog.render.tables.plain import count_of, null, plain_table
from tacholog.site.output.memory import remember, remembered
from tacholog.site.result_pages import DEFAULT, Values, csv_name, csv_names, numbered, runs_of_pages, values_of_rows
from tacholog.site.sources import Sources
from tacholog.view.numerals import NOT_STATED, natural
from tacholog.view.run_digests import digest
from tacholog.view.views import View

if TYPE_CHECKING:
    import pandas as pd

    from tacholog.dataset.frames import Dataset

ALL = "data/results.parquet"
_RELEASES = "data/releases"
_RUNS_AT_ONCE = 50  # whose rows are in memory as text, several times: those of 300 runs took 370 MB
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
    counts: dict[tuple[str, str], int] = {}
    for run, results in view.by_run.items():
        pair = _release(view, run)
        counts[pair] = counts.get(pair, 0) + len(results)
    names = numbered(counts)
    return [ReleaseFile(*pair, counts[pair], f"{_RELEASES}/{names[pair]}") for pair in sorted(counts)]


def _release(view: View, run: str) -> tuple[str, str]:
    return view.runs[run].system or NOT_STATED, view.runs[run].release or NOT_STATED


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
    before, now = remembered(memory), dict[str, str]()
    memory.unlink(missing_ok=True)  # A build that fails may have written other files than those that it knows.
    outdated: dict[str, _File] = {}
    for name, file in _files(view, fields):
        now[name] = digest(sorted(runs[run] for run in file.runs))
        is_there = into.kept(_inside(into, f"{name}{file.ending}"))
        if before.get(name) != now[name] or not is_there:
            outdated[name] = file
    if outdated:
        _write(into, outdated, data, fields)
    remember(memory, now)


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
    for file in release_files(view):
        runs = frozenset(run for run in view.by_run if _release(view, run) == (file.system, file.release))
        yield file.name, _File(runs, (file.system, file.release), _JSON)
    yield ALL.removesuffix(_PARQUET), _File(frozenset(view.by_run), None, _PARQUET)


def _write(into: Sources, files: Mapping[str, _File], data: Dataset, fields: Sequence[str]) -> None:
    """Write files. Runs become text in groups, and each run once: a page and a release share its rows. Never all of them are in memory as text."""
    texts = {name: file for name, file in files.items() if file.rows_with is not None}
    in_texts = {run for file in texts.values() for run in file.runs}
    streams = {name: _Packed() for name in texts}
    for group in _groups(sorted(in_texts)):
        _add_texts(streams, texts, results_table(msgspec.structs.replace(data, results=data.results[data.results["run"].isin(group)])), fields)
    for name, stream in streams.items():
        into.write(_inside(into, f"{name}{files[name].ending}"), stream.content())
    if ALL.removesuffix(_PARQUET) in files:
        whole = ResultsFile("parquet", packed := io.BytesIO())
        for table in results_tables(data):
            whole.write(table)
        whole.close()
        into.write(_inside(into, ALL), packed.getvalue())


def _add_texts(streams: Mapping[str, _Packed], files: Mapping[str, _File], results: pd.DataFrame, fields: Sequence[str]) -> None:
    """Add rows to the files that they belong to."""
    endings = {file.ending for file in files.values()}
    head, *rows = csv_rows(results) if _CSV in endings else [b""]
    lines = json_rows(results) if _JSON in endings else []
    of_page, of_release = _places(results, fields), _places(results, ("system", "release"))
    for name, file in files.items():
        texts, places = (lines, of_release) if file.ending == _JSON else (rows, of_page)
        streams[name].add([texts[place] for place in places.get(file.rows_with or (), [])], b"" if file.ending == _JSON else head)


def _groups(runs: Sequence[str]) -> Iterator[frozenset[str]]:
    for start in range(0, len(runs), _RUNS_AT_ONCE):
        yield frozenset(runs[start : start + _RUNS_AT_ONCE])


def _places(results: pd.DataFrame, fields: Sequence[str]) -> dict[Values, list[int]]:
    """Return the places of the rows that have the same values."""
    places: dict[Values, list[int]] = {}
    for place, values in enumerate(zip(*values_of_rows(results, fields), strict=True)):
        places.setdefault(values, []).append(place)
    return places


class _Packed:
    """A compressed text that grows by rows."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        self._file = gzip.GzipFile(fileobj=self._buffer, mode="wb", compresslevel=_LEVEL, mtime=0)

    def add(self, rows: Sequence[bytes], head: bytes = b"") -> None:
        """Add rows, and before the first ones the head."""
        if rows:
            self._file.write(b"".join(rows if self._file.tell() else [head, *rows]))

    def content(self) -> bytes:
        """Return the whole text, compressed."""
        self._file.close()
        return self._buffer.getvalue()


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
    table = plain_table("Numbers by release", ("system", "release", "numbers", "file"), rows)
    return join([tag("p", "All numbers of this site: ", whole, ".", class_="tl-download"), table])


def _versions(view: View) -> dict[str, Html]:
    """Return, for each system, the versions of its runs without a release."""
    found: dict[str, set[str]] = {}
    for name in view.by_run:
        run = view.runs[name]
        if not run.release and run.system_version:
            found.setdefault(run.system or NOT_STATED, set()).add(run.system_version)
    return {
        system: join(["no release, version " if len(versions) == 1 else "no release, versions ", ", ".join(sorted(versions, key=natural))])
        for system, versions in found.items()
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
