"""What the requirements were found to be of each release. A verdict is kept by the digest of its runs: an unchanged release is judged once."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec

from tacholog.compare.pairing import remarks
from tacholog.compare.requirements.file import RequirementFile
from tacholog.compare.requirements.judge import judge
from tacholog.compare.requirements.result import RequirementReport
from tacholog.compare.sides import of_release
from tacholog.site.output.diffs import CODE, dataset_of, files_beside, kept
from tacholog.site.requirements import releases_of_site
from tacholog.site.shown import State, opened
from tacholog.store.cache import key_of
from tacholog.store.digests import code_digest
from tacholog.view import results as rows
from tacholog.view.requirements import JudgedRelease, judged_releases
from tacholog.view.results import RunRow
from tacholog.view.run_digests import run_digests


def judged_in(folder: Path, state: State, file: RequirementFile) -> list[JudgedRelease]:
    """Judge the newest releases of each system in a saved dataset, the oldest first.

    Args:
        folder: the saved dataset.
        state: its state: a changed dataset is judged again.
        file: the requirements.
    """
    data, everything = dataset_of(folder, state), opened(folder, state)
    base, digests, runs = releases_of_site(data), run_digests(everything), rows.runs(data).values()

    def of_runs(some: Sequence[RunRow]) -> list[object]:
        return [sorted(digests[run.run] for run in some), remarks(run.root for run in some)]

    compared_with = sorted({placed.requirement.than or "" for placed in file.requirements})
    others = [of_runs([run for run in runs if run.release == name]) for name in compared_with]
    shared = [version("tacholog"), file, others, everything.unread, everything.hosts, files_beside(folder)]
    settings = key_of("requirements", code_digest(*CODE), msgspec.msgpack.encode(shared, order="deterministic"))

    def judged(system: str, release: str) -> RequirementReport:
        its = [run for run in runs if run.system == system and run.release == release]
        key = key_of("judged release", settings, msgspec.msgpack.encode(of_runs(its)))
        return kept(key, RequirementReport, lambda: judge(of_release(data, release, system), file, base))

    return list(judged_releases(runs, judged))
