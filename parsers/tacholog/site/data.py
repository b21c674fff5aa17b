"""The data that a site shows: the dataset, its view, the comparisons of its releases, and the verdicts on its requirements. Each is made once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from tacholog.compare.bands import FOLDER as BANDS
from tacholog.compare.bands import find_same_build
from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.requirements.file import RequirementFile
from tacholog.compare.requirements.judge import judge
from tacholog.compare.requirements.result import RequirementReport
from tacholog.compare.result import Comparison
from tacholog.compare.sides import find_renames, of_labels, of_release, renamed
from tacholog.errors import TachologError
from tacholog.site.requirements import kept_requirements, releases_of_site
from tacholog.store.frames import Dataset, open_saved
from tacholog.view import results as rows
from tacholog.view.requirements import JudgedRelease, judged_releases
from tacholog.view.views import View, view_of

Labels = tuple[tuple[str, str], ...]
_KINDS = ("*.parquet", "*.json", "*.toml", f"{BANDS}/*.csv")


class SiteData:
    """A saved dataset, and what pages ask of it again and again."""

    def __init__(self, folder: Path, data: Dataset, view: View) -> None:
        """``data`` and ``view`` are what the folder holds."""
        self.folder, self.data, self.view = folder, data, view
        self.documents: frozenset[str] = frozenset()  # the pages of the site, if it is one of ours
        self.feeds: Mapping[str, str] = {}  # their titles, by their files
        self._comparisons: dict[tuple[object, ...], Comparison] = {}

    @cached_property
    def renamed(self) -> Dataset:
        """The dataset with current names."""
        return renamed(self.data, find_renames([self.folder]))

    def comparison(self, which: tuple[str | None, str, str], policy: Policy | None = None, labels: Labels = ()) -> Comparison:
        """Compare two releases.

        Args:
            which: the system, if only one is meant, and the two releases.
            policy: what counts as a change.
            labels: the labels that the runs must have.
        """
        key = (which, policy := policy or Policy(), labels)
        if key not in self._comparisons:
            system, *releases = which
            old, new = (of_labels(of_release(self.renamed, release, system), labels) for release in releases)
            measured = find_same_build((old, new), (self.folder,))
            self._comparisons[key] = compare(old, new, policy, (releases[0], releases[1]), everything=False, measured=measured)
        return self._comparisons[key]

    def compare(self, system: str, old: str, new: str) -> Comparison:
        """Compare two releases of a system by the usual rules."""
        return self.comparison((system, old, new))

    @cached_property
    def requirements(self) -> RequirementFile | None:
        """The requirements beside the dataset, if there are any."""
        return kept_requirements(self.folder)

    @cached_property
    def judged(self) -> list[JudgedRelease]:
        """What the requirements were found to be of the newest releases of each system, the oldest first."""
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
    """Return the files of a saved dataset, and those beside it that comparisons read."""
    return sorted(file for kind in _KINDS for file in folder.glob(kind))


def hold(data: SiteData) -> None:
    """Note what is in a dataset that was just saved: `data_in` need not open it again."""
    _open.clear()
    _open[data.folder] = _state_of(data.folder), data


def data_in(folder: Path) -> SiteData:
    """Return what is in the folder of a saved dataset. It is opened once, and again when it changes.

    Raises:
        TachologError: the folder holds no dataset.
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
    """Return the pages of the site of ours that shows a dataset, if one does."""
    held = _open.get(Path(folder)) if folder else None
    return held[1].documents if held else frozenset()
