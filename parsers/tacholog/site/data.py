"""The data that a site shows: the dataset, its view, the comparisons of its releases, and the verdicts on its requirements. Each is computed once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import tomli_w

from tacholog.compare.bands import find_same_build
from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.requirements.file import FILE, RequirementFile, read_requirements
from tacholog.compare.requirements.judge import Base, judge
from tacholog.compare.requirements.result import RequirementReport
from tacholog.compare.result import Comparison
from tacholog.compare.sides import find_renames, of_labels, of_release, of_runs, renamed
from tacholog.errors import TachologError, UnreadableInput
from tacholog.evidence import is_there, read_small_evidence
from tacholog.privacy.classes import published_text
from tacholog.privacy.redactor import Redactor
from tacholog.runs.manifest import SAME_BUILD_FOLDER
from tacholog.store.frames import Dataset, open_saved
from tacholog.view import results as rows
from tacholog.view.requirements import JudgedRelease, judged_releases
from tacholog.view.views import View, view_of

Labels = tuple[tuple[str, str], ...]
_KINDS = ("*.parquet", "*.json", "*.toml", f"{SAME_BUILD_FOLDER}/*.csv")


class SiteData:
    """A saved dataset, and the values that several pages derive from it. Each value is computed once."""

    def __init__(self, folder: Path, data: Dataset, view: View) -> None:
        """Create the data of a site. ``folder`` contains the dataset ``data``, and ``view`` is a view of it."""
        self.folder, self.data, self.view = folder, data, view
        self.documents: frozenset[str] = frozenset()  # the pages of the site, if Tacholog builds it
        self.feeds: Mapping[str, str] = {}  # the title of each feed, by its file
        self._comparisons: dict[tuple[object, ...], Comparison] = {}

    @cached_property
    def renamed(self) -> Dataset:
        """The dataset with old names replaced by the current names, which the file of renames states."""
        return renamed(self.data, find_renames([self.folder]))

    def comparison(self, which: tuple[str | None, str, str], policy: Policy | None = None, labels: Labels = ()) -> Comparison:
        """Compare two releases.

        Args:
            which: the system (``None``: all systems), and the two releases.
            policy: the rules for what counts as a change.
            labels: the labels that the runs must have.
        """
        key = (which, policy := policy or Policy(), labels)
        if key not in self._comparisons:
            system, *releases = which
            old, new = (of_labels(of_release(self.renamed, release, system), labels) for release in releases)
            measured = find_same_build((old, new), (self.folder,))
            self._comparisons[key] = compare(
                old, new, policy, (releases[0], releases[1]), everything=False, measured=measured, band_roots=(self.folder,)
            )
        return self._comparisons[key]

    def compare(self, system: str, old: str, new: str) -> Comparison:
        """Compare two releases of a system by the default rules."""
        return self.comparison((system, old, new))

    @cached_property
    def requirements(self) -> RequirementFile | None:
        """The requirements stored with the dataset, if there are any."""
        return kept_requirements(self.folder)

    @cached_property
    def judged(self) -> list[JudgedRelease]:
        """The verdicts on the requirements for the newest releases of each system. The oldest of these releases comes first."""
        file, data = self.requirements, self.renamed
        if file is None:
            return []
        base = releases_of_site(data)

        def judged(system: str, release: str) -> RequirementReport:
            return judge(of_release(data, release, system), file, base)

        return list(judged_releases(rows.runs(data).values(), judged))


_open: dict[Path, tuple[object, SiteData]] = {}


def _state_of(folder: Path) -> tuple[tuple[str, int], ...]:
    return tuple((str(file), file.stat().st_mtime_ns) for file in files_of(folder))


def files_of(folder: Path) -> list[Path]:
    """Return the files of a saved dataset, and the files next to it that comparisons read."""
    return sorted(file for kind in _KINDS for file in folder.glob(kind))


def hold(data: SiteData) -> None:
    """Remember a dataset that was just saved, so that `data_in` need not open it again."""
    _open.clear()
    _open[data.folder] = _state_of(data.folder), data


def data_in(folder: Path) -> SiteData:
    """Return the data in the folder of a saved dataset. The dataset is opened only once, unless its files change.

    Raises:
        TachologError: the folder contains no dataset.
    """
    folder = folder.resolve()
    state = _state_of(folder)
    if not state:
        raise TachologError(f"no data set in {folder}")
    if folder not in _open or _open[folder][0] != state:
        data = open_saved(folder)
        hold(SiteData(folder, data, view_of(data)))
    return _open[folder][1]


def documents_of_site(folder: str | None) -> frozenset[str]:
    """Return the names of the pages that `tacholog report` makes of a dataset; an empty result for the dataset of another project."""
    opened = _open.get(Path(folder)) if folder else None
    return opened[1].documents if opened else frozenset()


DOCUMENT = "requirements"
LABELS = "label"
_VOCABULARY = ("metric", "statistic", "unit", "size")  # never redacted: `read_requirements` accepts only words of the schema here


def find_requirements(roots: Sequence[Path]) -> Path | None:
    """Return the first folder of runs that contains a file of requirements; ``None`` if no folder does.

    Raises:
        UnreadableInput: the file cannot be used; the message names file, line and key.
    """
    root = next((root for root in roots if is_there(root, FILE)), None)
    if root is not None:
        _content(root)
        read_requirements(root / FILE)
    return root


def _content(root: Path) -> bytes:
    try:
        return read_small_evidence(root, FILE)
    except UnreadableInput as error:
        raise UnreadableInput(f"{root / FILE}: {error}") from error


def keep_requirements(root: Path | None, folder: Path, redactor: Redactor) -> None:
    """Copy the requirements in a folder of runs to the folder of the dataset, redacted like the dataset.

    A file that has not changed keeps its modification time. If ``root`` is ``None``, the copy of an earlier build is deleted.
    """
    target = folder / FILE
    if root is None:
        target.unlink(missing_ok=True)
        return
    content = _redacted(_content(root), redactor)
    if not target.is_file() or target.read_bytes() != content:
        target.write_bytes(content)


def _redacted(content: bytes, redactor: Redactor) -> bytes:
    tables = tomllib.loads(content.decode("utf-8-sig"))
    redacted_tables = {kind: [_redacted_entry(entry, redactor) for entry in entries] for kind, entries in tables.items()}
    return content if redacted_tables == tables else tomli_w.dumps(redacted_tables).encode()


def _redacted_entry(entry: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in entry.items():
        if key == LABELS:
            fields[key] = {redactor.identifier(name): redactor.text(text) for name, text in value.items()}
        elif isinstance(value, str) and key not in _VOCABULARY:
            fields[key] = published_text(value, key, "name" if key in ("host", "participant") else "public", redactor)
        else:
            fields[key] = value
    return fields


def kept_requirements(folder: Path) -> RequirementFile | None:
    """Return the requirements stored with a dataset; ``None`` if there are none."""
    path = folder / FILE
    return read_requirements(path) if path.is_file() else None


def releases_of_site(data: Dataset) -> Base:
    """Return a function for requirements relative to a release. It returns the runs of a release; no runs if the site lacks the release."""
    there = {str(name) for name in data.runs["release"].dropna()}
    return lambda name: of_release(data, name) if name in there else of_runs(data, ())
