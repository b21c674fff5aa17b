"""The files for download: all numbers as Parquet; those of each page as CSV; those of each release of a system as JSON lines; text is compressed.

Each kind of file has each number once. No text holds all numbers, because text grows too large: 387 runs had 52 MB of JSON.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tacholog.render.html import Html, join, tag
from tacholog.render.tables.plain import count_of, null, plain_table
from tacholog.site.output.former_text import FormerFile, Packed, Packing, chunks_of, former_chunks, gzip_of, packed
from tacholog.site.output.memory import keep_value, kept_value
from tacholog.site.result_pages import DEFAULT, Values, csv_name, csv_names, numbered, runs_of_pages, values_of_rows
from tacholog.site.sources import Sources
from tacholog.store.export import as_parquet, csv_head, csv_rows, json_rows, results_table, results_tables
from tacholog.view.numerals import NOT_STATED, natural
from tacholog.view.own_names import DATA
from tacholog.view.run_digests import digest
from tacholog.view.views import View

if TYPE_CHECKING:
    import pandas as pd

    from tacholog.store.frames import Dataset

ALL = f"{DATA}/results.parquet"
_RELEASES = f"{DATA}/releases"
# So many runs, and of these so many numbers, are in memory as text at a time, and that several times: 60,000 numbers took 370 MB.
_RUNS_AT_ONCE = 50
_NUMBERS_AT_ONCE = 20_000
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
    before, now = kept_value(memory, dict[str, FormerFile]) or {}, dict[str, FormerFile]()
    memory.unlink(missing_ok=True)  # A build that fails may have written other files than those that it knows.
    outdated: dict[str, _File] = {}
    for name, file in _files(view, fields):
        key = digest([fields, file.rows_with, sorted(runs[run] for run in file.runs)])
        is_there = into.kept(_inside(into, f"{name}{file.ending}"))
        if name in before and before[name].key == key and is_there:
            now[name] = before[name]
        else:
            outdated[name] = file
            now[name] = FormerFile(key)
    if outdated:
        head = csv_head(results_table(msgspec.structs.replace(data, results=data.results.iloc[:0])))
        texts = {
            name: _Text(
                file,
                (fields, head if file.ending == _CSV else b""),
                runs,
                former_chunks(before[name], into.folder / _inside(into, f"{name}{file.ending}")) if name in before else {},
            )
            for name, file in outdated.items()
            if file.rows_with is not None
        }
        _write_texts(into, texts, now, data, fields)
        if ALL.removesuffix(_PARQUET) in outdated:
            into.write(_inside(into, ALL), as_parquet(results_table(data)))
    keep_value(memory, now)


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


class _Text:
    """A file that is written as text: a chunk of runs is taken from the former file if none of them has changed, else made of their rows."""

    def __init__(self, file: _File, written_with: tuple[Sequence[str], bytes], digests: Mapping[str, str], former: Mapping[str, Packed]) -> None:
        """``written_with`` is what makes a page, and the head of the file; ``former`` are the chunks that can be taken."""
        fields, self._head = written_with
        self.file = file
        self._chunks: dict[str, Packed | None] = {}
        self._made: dict[str, str] = {}  # The key of the chunk of each run whose chunk has to be made.
        self._packing: Packing | None = None
        for runs in chunks_of(sorted(file.runs)):
            # Rows of the same runs are others in a file of this name that was about something else, or had other columns.
            key = digest([fields, file.rows_with, self._head, [(run, digests[run]) for run in runs]])
            self._chunks[key] = former.get(key)
            if key not in former:
                self._made.update(dict.fromkeys(runs, key))

    def needs(self, run: str) -> bool:
        """Whether a run is in this file and has to be made of its rows."""
        return run in self._made

    def add(self, run: str, rows: bytes) -> None:
        """Add rows of a run that is needed. Runs come in the order of their names, and all rows of one before those of the next."""
        key = self._made[run]
        if self._packing is None or self._packing.key != key:
            self._end_chunk()
            self._packing = Packing(key)
        self._packing.add(rows)

    def _end_chunk(self) -> None:
        if self._packing is not None:
            self._chunks[self._packing.key] = self._packing.finish()
            self._packing = None

    def finish(self, made_of: FormerFile) -> tuple[bytes, FormerFile]:
        """Return the content of the file, and what is to be known of it at the next build beside what it is made of."""
        self._end_chunk()
        chunks = [chunk for chunk in self._chunks.values() if chunk and chunk.content]
        if chunks:  # A text without rows has no head either.
            chunks.insert(0, packed("", self._head))
        content = gzip_of(chunks)
        known = tuple(one.chunk for one in chunks)
        return content, msgspec.structs.replace(made_of, sha256=hashlib.sha256(content).hexdigest(), chunks=known)


def _write_texts(into: Sources, texts: Mapping[str, _Text], known: dict[str, FormerFile], data: Dataset, fields: Sequence[str]) -> None:
    """Write files, and put into ``known`` what they are made of.

    Numbers become text in parts, and each number once: a page and a release share its rows. Never all of them are in memory as text.
    """
    of_run: dict[str, list[_Text]] = {}
    for text in texts.values():
        for run in text.file.runs:
            if text.needs(run):
                of_run.setdefault(run, []).append(text)
    for table in results_tables(data.runs, _parts(data.results, sorted(of_run))):
        rows = _Rows(table, of_run, fields)
        for run in rows.runs:
            for text in of_run[run]:
                text.add(run, rows.text(run, text.file))
    for name, text in texts.items():
        content, known[name] = text.finish(known[name])
        into.write(f"{_inside(into, name)}{text.file.ending}", content)


class _Rows:
    """The rows of some runs as text, of each run in those forms in which a file needs them."""

    def __init__(self, results: pd.DataFrame, files: Mapping[str, Sequence[_Text]], fields: Sequence[str]) -> None:
        runs = [str(run) for run in results["run"]]
        self.runs = list(dict.fromkeys(runs))
        # A page has runs of all releases, of which most are as they were: JSON is made of those in the files of a release.
        self.csv, self.json = (self._made(written, ending, results, runs, files) for written, ending in ((csv_rows, _CSV), (json_rows, _JSON)))
        self.of_page, self.of_release = _places(runs, results, fields), _places(runs, results, ("system", "release"))

    @staticmethod
    def _made(
        written: Callable[[pd.DataFrame], list[bytes]], ending: str, results: pd.DataFrame, runs: Sequence[str], files: Mapping[str, Sequence[_Text]]
    ) -> dict[int, bytes]:
        needed = {run for run in set(runs) if any(text.file.ending == ending for text in files[run])}
        places = [place for place, run in enumerate(runs) if run in needed]
        return dict(zip(places, written(results.iloc[places]), strict=True))

    def text(self, run: str, file: _File) -> bytes:
        """Return the rows of a run that belong to a file, as text."""
        texts, places = (self.json, self.of_release) if file.ending == _JSON else (self.csv, self.of_page)
        return b"".join(texts[place] for place in places.get((run, file.rows_with or ()), []))


def _parts(results: pd.DataFrame, runs: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield the numbers of these runs, in their order, a bounded number at a time."""
    import numpy as np

    for first in range(0, len(runs), _RUNS_AT_ONCE):
        group = {run: place for place, run in enumerate(runs[first : first + _RUNS_AT_ONCE])}
        of_group = results[results["run"].isin(list(group))]
        in_order = np.argsort(of_group["run"].astype(str).map(group).to_numpy(), kind="stable")
        for start in range(0, len(of_group), _NUMBERS_AT_ONCE):
            yield of_group.iloc[in_order[start : start + _NUMBERS_AT_ONCE]]


def _places(runs: Sequence[str], results: pd.DataFrame, fields: Sequence[str]) -> dict[tuple[str, Values], list[int]]:
    """Return the places of the rows of each run that have the same values."""
    places: dict[tuple[str, Values], list[int]] = {}
    for place, (run, *values) in enumerate(zip(runs, *values_of_rows(results, fields), strict=True)):
        places.setdefault((run, tuple(values)), []).append(place)
    return places


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
