"""The comparisons that a site shows. Each is kept by the digest of both sides: two releases that did not change are not compared again."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

import msgspec

from tacholog.compare.bands import known
from tacholog.compare.diff.compare import compare
from tacholog.compare.pairing import remarks
from tacholog.compare.policy import Policy
from tacholog.compare.renames import FILE as RENAMES
from tacholog.compare.renames import find_renames, renamed
from tacholog.compare.result import Report
from tacholog.compare.sides import of_labels, of_release
from tacholog.runs.labels import has_labels
from tacholog.site.shown import BAND_FILES, State, dataset_in, opened
from tacholog.store.cache import Kind, key_of, open_cache
from tacholog.store.digests import code_digest
from tacholog.store.frames import Dataset
from tacholog.view.results import RunRow
from tacholog.view.run_digests import digest, run_digests
from tacholog.view.views import View

Labels = tuple[tuple[str, str], ...]
_Kept = TypeVar("_Kept")
CODE = ("tacholog.compare", "tacholog.schema", "tacholog.store", "tacholog.runs")


@lru_cache(maxsize=64)
def comparison(folder: Path, state: State, which: tuple[str | None, str, str], policy: Policy, labels: Labels = ()) -> Report:
    """Compare two releases of a dataset, if labels are given only the runs that have them. The pages of a site ask for the same many times.

    Args:
        folder: the saved dataset.
        state: its state: a changed dataset is compared again.
        which: the system, if only one is meant, and the two releases.
        policy: what counts as a change.
        labels: the labels that the runs must have.
    """
    key = key_of("comparison", code_digest(*CODE), msgspec.msgpack.encode([which, policy, labels]), _sides(folder, state, which, labels))
    return kept(key, Report, lambda: _compared(folder, state, which, policy, labels))


def kept(key: bytes, kind: type[_Kept], make: Callable[[], _Kept]) -> _Kept:
    """Return what the cache keeps under a key; if it keeps nothing, or nothing of this kind, make it and keep it."""
    found = open_cache().get(Kind.PUBLISHED, [key]).get(key)
    if found is not None:
        try:
            return msgspec.msgpack.decode(found, type=kind)
        except msgspec.DecodeError:
            pass  # it is made again
    made = make()
    open_cache().put(Kind.PUBLISHED, {key: msgspec.msgpack.encode(made)})
    return made


def _sides(folder: Path, state: State, which: tuple[str | None, str, str], labels: Labels) -> str:
    """Return the digest of everything that a comparison reads: the runs of both sides, and what holds for all."""
    system, *releases = which
    everything = opened(folder, state)
    digests = run_digests(everything)
    files = files_beside(folder)
    is_renamed = (folder / RENAMES).is_file()  # then a run may count as one of another system

    def is_in(run: RunRow) -> bool:
        return (is_renamed or system in (None, run.system)) and has_labels(run.labels, labels)

    by_release = everything.once("runs by release", partial(_by_release, everything))
    runs = [[run for run in by_release.get(release, ()) if is_in(run)] for release in releases]
    sides = [sorted(digests[run.run] for run in side) for side in runs]
    return digest([sides, remarks(run.root for side in runs for run in side), everything.unread, everything.hosts, files])


def _by_release(view: View) -> dict[str | None, list[RunRow]]:
    """Return the runs of each release. Each comparison needs those of two, and a site of many releases has many comparisons."""
    found: dict[str | None, list[RunRow]] = {}
    for run in view.runs.values():
        found.setdefault(run.release, []).append(run)
    return found


def files_beside(folder: Path) -> list[bytes]:
    """Return the files beside a dataset that comparisons read."""
    return [file.read_bytes() for file in (*sorted(folder.glob(BAND_FILES)), folder / RENAMES) if file.is_file()]


@lru_cache(maxsize=1)
def dataset_of(folder: Path, state: State) -> Dataset:
    """Return the dataset with current names. ``state`` is a part of the cache key, so a changed dataset is opened again."""
    return renamed(dataset_in(folder, state), find_renames([folder]))


def _compared(folder: Path, state: State, which: tuple[str | None, str, str], policy: Policy, labels: Labels) -> Report:
    system, *releases = which
    dataset = dataset_of(folder, state)
    old, new = (of_labels(of_release(dataset, release, system), labels) for release in releases)
    return compare(old, new, policy, (releases[0], releases[1]), everything=False, measured=known((old, new), (folder,)))
