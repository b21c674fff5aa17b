"""Bring a site up to date: build it again and replace the files that differ; leave it unchanged if nothing is new."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacholog.errors import TachologError
from tacholog.folders import not_ours_alone
from tacholog.memory import spare_existing
from tacholog.site.output_folder import FIRST_PAGE, MARKER, claim, not_there, nothing_left_of_refused, only_one_build, take_over
from tacholog.site.settings import SiteSettings, with_questions
from tacholog.site.stamp import former_site, inputs_of, is_built_of, program_of, remove_stamp, write_stamp
from tacholog.store.complaints import saved_complaints

if TYPE_CHECKING:
    from tacholog.store.logs import Progress
    from tacholog.store.pool import Work

CHECKS = ("every page was built without a warning", "every reference leads somewhere")


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
        site: the folder to which the site is written.
        work: the folder for the dataset and for intermediate files.
        settings: the content of ``site.toml``.
        progress: a function that is called with the name of a log and the number of bytes read from it.
        reading: the processes that read the logs; ``None``: this process.

    Raises:
        TachologError: the folders contain no run, ``site`` contains files that Tacholog did not create, another process is building it, other users
            can write to ``work``, or Sphinx reported a problem.
    """
    settings = with_questions(settings or SiteSettings(), roots)
    missing = not_there(site / MARKER, site, work)
    claim(site, roots)
    with only_one_build(work), only_one_build(site), nothing_left_of_refused(site, missing):
        if reason := not_ours_alone(work):
            raise TachologError(f"{work}: {reason}; the next build executes what this build stores there, so no other user may write to it")
        inputs = inputs_of(roots, settings)
        if is_built_of(site, inputs):
            return site / FIRST_PAGE
        # Importing the modules that build a site takes longer than finding out that nothing is new.
        from tacholog.site.whole import build_whole

        spare_existing()
        made = work / "made"
        shutil.rmtree(made, ignore_errors=True)
        try:
            former = former_site(site, program_of(settings))
            build_whole(roots, made, work, settings, former, progress, reading)
            remove_stamp(site)
            try:
                take_over(made, site, former.reused)
            except OSError as error:
                raise TachologError(f"{site}: {error.strerror}: the site is not finished; run the same command again") from error
        finally:
            shutil.rmtree(made, ignore_errors=True)
        complaints = saved_complaints(work)
        write_stamp(site, inputs, CHECKS, len(complaints.unread) - complaints.altered, settings.limits.sizes, complaints.altered, former.keys)
    return site / FIRST_PAGE
