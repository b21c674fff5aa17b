"""The files of a site that programs read: the newest results, badges, the feed, and how to cite it."""

from __future__ import annotations

from pathlib import Path

from tacholog.compare.bands import known
from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.renames import find_renames, renamed
from tacholog.compare.result import Report
from tacholog.compare.sides import of_release
from tacholog.dataset.frames import Dataset
from tacholog.site.programs.citation import citation_files
from tacholog.site.programs.feed import FEED, atom, release_entries
from tacholog.site.programs.latest import latest_files
from tacholog.site.requirements import kept_requirements
from tacholog.site.settings import SiteSettings
from tacholog.site.sources import Sources
from tacholog.view.views import View


def write_for_programs(sources: Sources, folder: str, data: Dataset, view: View, settings: SiteSettings) -> None:
    """Write them all.

    Args:
        sources: where the files are written.
        folder: the folder for files that are copied to the site as they are.
        data: the dataset, redacted.
        view: the same as a view.
        settings: the content of ``site.toml``.
    """
    dataset: Path = sources.folder.parent / "dataset"
    named = renamed(data, find_renames([dataset]))

    def compared(system: str, old: str, new: str) -> Report:
        sides = of_release(named, old, system), of_release(named, new, system)
        return compare(*sides, Policy(), (old, new), everything=False, measured=known(sides, (dataset,)))

    runs = list(view.runs.values())
    files: dict[str, str | bytes] = {**latest_files(named, kept_requirements(dataset)), **citation_files(runs, settings)}
    if feed := atom(release_entries(runs, compared), settings):
        files[FEED] = feed
    for name, content in files.items():
        sources.write(f"{folder}/{name}", content)
