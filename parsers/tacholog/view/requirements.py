"""The runs for which requirements are judged: the newest release of each system, and earlier releases for the history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tacholog.compare.requirements.result import VERDICTS, RequirementReport, RequirementResult
from tacholog.compare.sides import of_runs
from tacholog.view import results as rows
from tacholog.view.history import releases_of
from tacholog.view.results import RunRow

if TYPE_CHECKING:
    from tacholog.store.frames import Dataset

HISTORY_LENGTH = 12  # releases on a page; each of them is judged separately


def newest(data: Dataset, without: Collection[str] = ()) -> Dataset:
    """Return the runs of the newest release of each system. For a system without releases, return all its runs.

    Args:
        data: any runs.
        without: releases that are baselines. They are used only if a system has no other release.
    """
    releases = releases_of(rows.runs(data).values())
    last = {system: ([name for name in names if name not in without] or names)[-1:] for system, names in releases.items()}
    chosen = [
        str(run["run"])
        for run in data.runs[["run", "system", "release"]].astype(object).to_dict("records")
        if run["system"] not in last or [run["release"]] == last[str(run["system"])]
    ]
    return of_runs(data, chosen)


class JudgedRelease(NamedTuple):
    """A release of a system, and the report on its requirements."""

    system: str
    release: str
    report: RequirementReport


def judged_releases(runs: Iterable[RunRow], judged: Callable[[str, str], RequirementReport]) -> Iterator[JudgedRelease]:
    """Judge the last `HISTORY_LENGTH` releases of each system, sorted from old to new. A baseline release is also judged, by absolute limits.

    Args:
        runs: any runs.
        judged: a function that judges a release of a system.
    """
    for system, names in releases_of(runs).items():
        for release in names[-HISTORY_LENGTH:]:
            yield JudgedRelease(system, release, judged(system, release))


class RequirementSections(NamedTuple):
    """The content of a page. ``systems``: the releases of each system, with the requirements that apply to it.

    ``nowhere``: requirements for no system.
    """

    systems: list[list[JudgedRelease]]
    nowhere: list[RequirementResult]


def sections(judged: Iterable[JudgedRelease]) -> RequirementSections:
    """Assign requirements to systems. For example, a requirement on latency in shared memory does not apply to a system without shared memory."""
    by_system = [list(releases) for _, releases in groupby(judged, key=lambda judgement: judgement.system)]
    wanted_places = [{result.place for judgement in releases for result in judgement.report.results if result.rows} for releases in by_system]
    anywhere = set().union(*wanted_places)
    systems = [[_only(judgement, wanted) for judgement in releases] for releases, wanted in zip(by_system, wanted_places, strict=True) if wanted]
    last = by_system[-1][-1].report.results if by_system else ()
    return RequirementSections(systems, [result for result in last if result.place not in anywhere])


def _only(judgement: JudgedRelease, wanted: Collection[str]) -> JudgedRelease:
    results = tuple(result for result in judgement.report.results if result.place in wanted)
    counted = Counter(result.verdict for result in results)
    report = msgspec.structs.replace(judgement.report, results=results, counts={verdict: counted.get(verdict, 0) for verdict in VERDICTS})
    return judgement._replace(report=report)
