"""The remarks of manifests on their runs: how to read their figures, and how not to."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tacholog.view.results import RunRow

_MOST_OPEN = 4  # With more of them a reader does not reach the figures: those on published figures are folded.


class _OfManifest(msgspec.Struct, frozen=True):
    """Only this of a manifest: pages ask all runs of a site for it, and the rest takes four times as long to read."""

    notes: tuple[str, ...] = ()


_decode = msgspec.json.Decoder(_OfManifest).decode


class Remark(msgspec.Struct, frozen=True):
    """A remark, which of the runs it is on (nothing if on all of them), and whether it is folded away."""

    note: str
    runs: str
    is_folded: bool


def remarks_on(runs: Iterable[RunRow]) -> list[Remark]:
    """Return each remark once, those that stay open first."""
    everything = list({run.run: run for run in runs}.values())
    found: dict[str, list[RunRow]] = {}
    for run in everything:
        for note in dict.fromkeys(_decode(run.manifest).notes if run.manifest else ()):
            found.setdefault(note, []).append(run)
    remarks = [Remark(note, _runs(on, everything), len(found) > _MOST_OPEN and on[0].published) for note, on in found.items()]
    return sorted(remarks, key=lambda remark: remark.is_folded)


def _runs(on: list[RunRow], everything: list[RunRow]) -> str:
    if len(on) == len(everything):
        return ""
    several = len({run.system for run in everything}) > 1
    systems = list(dict.fromkeys(run.system for run in on if run.system)) if several else []
    count = f"{len(on)} run{'s' if len(on) > 1 else ''}" if several else f"{len(on)} of {len(everything)} runs"
    return ", ".join([*systems, *(_releases(on, everything) or [count])])


def _releases(on: list[RunRow], everything: list[RunRow]) -> list[str]:
    """Return the releases whose runs all have the remark, if these are all of its runs and of one system: they say more than a number of runs."""
    releases = list(dict.fromkeys(run.release for run in on if run.release))
    of_them = [run for run in everything if run.release in releases]
    return releases if len({run.system for run in everything}) == 1 and len(of_them) == len(on) else []
