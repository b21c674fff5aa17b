"""Bring a site up to date: build it, change only its style sheets, or leave it as it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacholog.errors import TachologError
from tacholog.garbage import keep_made
from tacholog.ownership import not_ours_alone
from tacholog.site.output.styles import styles_refreshed
from tacholog.site.output_folder import MARKER, claim, not_there, nothing_left_of_refused, only_one_build
from tacholog.site.settings import SiteSettings
from tacholog.site.stamp import built_in, is_built_of, note_built
from tacholog.site.unchanged import inputs_of

if TYPE_CHECKING:
    from tacholog.store.logs import Progress
    from tacholog.store.pool import Work


def build_site(
    roots: Sequence[Path],
    site: Path,
    work: Path,
    settings: SiteSettings | None = None,
    progress: Progress | None = None,
    *,
    reading: Work | None = None,
) -> Path:
    """Build the site and return its first page.

    Args:
        roots: folders of runs (each with ``run.toml`` files below it).
        site: the folder that the site is written to.
        work: the folder for sources, dataset and Sphinx's cache. It is kept, so that the next build has less to do.
        settings: the content of ``site.toml``.
        progress: called with the name of a log and the number of bytes that were read of it.
        reading: who reads the logs; ``None``: this process.

    Raises:
        TachologError: there is no run in the folders, ``site`` holds files that Tacholog did not make, another process builds it, others can write to
            ``work``, or Sphinx reported a problem.
    """
    settings = settings or SiteSettings()
    missing = not_there(site / MARKER, site, work)
    claim(site, roots)
    with only_one_build(work), only_one_build(site), nothing_left_of_refused(site, missing):
        if reason := not_ours_alone(work):
            raise TachologError(f"{work}: {reason}; what a build keeps is run by the next one, so it must be ours alone")
        inputs = inputs_of(roots, settings)
        if is_built_of(site, inputs.text):
            return site / "index.html"
        if not (built_in(work, site) and styles_refreshed(site, inputs)):
            # To import what builds a site takes longer than to change its style sheets.
            from tacholog.site.whole import build_whole

            keep_made()
            build_whole(roots, site, work, settings, inputs, progress, reading)
        note_built(work, site)
    return site / "index.html"
