"""The raw logs for download: compressed, and named after their content, so that each is there once."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tacholog.errors import UnreadableInput
from tacholog.evidence import read_evidence
from tacholog.render.tables.logs import raw_log_name, raw_name
from tacholog.runs.manifest import RUN_FILE, as_toml
from tacholog.site.offered import offered_log
from tacholog.site.output.log_pages import PageMaker
from tacholog.site.sources import Sources
from tacholog.view.views import View, manifest_of


def write_raw(maker: PageMaker, raw: Sources, view: View, runs: Mapping[str, str]) -> None:
    """Write each log and each manifest.

    A log that is there already is not read: its name is the SHA-256 of its text. Nor is a manifest written again of a run that did not change.

    Args:
        maker: what remembers of which runs the manifests were made.
        raw: the folder of raw logs in the site.
        view: everything.
        runs: the digest of each run, with that of the code.
    """
    folder = raw.folder.name
    for log in view.logs:
        run = view.runs[log.run]
        offered = offered_log(run, log)
        if run.root is None or not offered.is_readable or not offered.sha256:
            continue
        name = raw_log_name(offered.sha256).removeprefix(f"{folder}/")
        if not raw.kept(name):
            with suppress(UnreadableInput):
                raw.write(name, gzip.compress(read_evidence(Path(run.root), log.log), mtime=0))
    for run in view.runs.values():
        name = raw_name(run.run, RUN_FILE)
        inside = name.removeprefix(f"{folder}/")
        if run.manifest and not (maker.was_made_of(name, runs[run.run]) and raw.kept(inside)) and (manifest := manifest_of(run)):
            raw.write(inside, as_toml(manifest))
