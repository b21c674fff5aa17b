"""The files of a site that programs read: the newest results, badges, and how to cite it."""

from __future__ import annotations

from pathlib import Path

from tacholog.site.data import SiteData
from tacholog.site.programs.citation import citation_files
from tacholog.site.programs.latest import latest_files
from tacholog.site.settings import SiteSettings


def write_for_programs(site: Path, data: SiteData, settings: SiteSettings) -> None:
    """Write them all into the folder of a site."""
    files: dict[str, str | bytes] = {**latest_files(data.renamed, data.requirements), **citation_files(data.view.runs.values(), settings)}
    for name, content in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(content.encode() if isinstance(content, str) else content)
