"""The files of a site that programs read: the newest results, badges, and how to cite it."""

from __future__ import annotations

from pathlib import Path

from tacholog.compare.renames import find_renames, renamed
from tacholog.site.programs.citation import citation_files
from tacholog.site.programs.latest import latest_files
from tacholog.site.requirements import kept_requirements
from tacholog.site.settings import SiteSettings
from tacholog.site.sources import Sources
from tacholog.store.frames import Dataset
from tacholog.view.own_names import BADGES, RESULTS
from tacholog.view.views import View


def write_for_programs(site: Path, dataset: Path, data: Dataset, view: View, settings: SiteSettings) -> None:
    """Write them all. Those that are no longer wanted are deleted.

    Args:
        site: the folder of the site.
        dataset: the folder of the saved dataset, with the requirements beside it.
        data: the same dataset, redacted.
        view: the same as a view.
        settings: the content of ``site.toml``.
    """
    files: dict[str, str | bytes] = {
        **latest_files(renamed(data, find_renames([dataset])), kept_requirements(dataset)),
        **citation_files(view.runs.values(), settings),
    }
    folders = {name: Sources(site / name) for name in (RESULTS, BADGES)}
    top = Sources(site)
    for name, content in files.items():
        first, _, rest = name.partition("/")
        if rest:
            folders[first].write(rest, content)
        else:
            top.write(name, content)
    for one in folders.values():
        if one.folder.is_dir():
            one.tidy()
