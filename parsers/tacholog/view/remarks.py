"""Notes that a reader needs next to figures: the remarks in manifests, and the caveats of machines (virtual, or shared with others)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tacholog.runs.disturbance import MOMENTS, STEAL
from tacholog.runs.manifest import Host
from tacholog.schema.records import number_in
from tacholog.view.numerals import rounded
from tacholog.view.results import RunRow
from tacholog.view.views import manifest_of

_MOST_OPEN = 4  # If there are more remarks on published figures, they are folded, so that a reader reaches the figures.


class _NotesOnly(msgspec.Struct, frozen=True):
    """The notes of a manifest. Only the notes are decoded, because decoding the whole manifests of all runs of a site takes much longer."""

    notes: tuple[str, ...] = ()


_decode = msgspec.json.Decoder(_NotesOnly).decode


class Remark(msgspec.Struct, frozen=True):
    """A remark on runs.

    ``runs`` states in words which runs the remark concerns. This text is empty if the remark concerns all runs. ``is_folded`` states whether the page
    shows the remark folded.
    """

    note: str
    runs: str
    is_folded: bool


def remarks_on(runs: Iterable[RunRow]) -> list[Remark]:
    """Return each remark once. Remarks that are not folded come first."""
    everything = list({run.run: run for run in runs}.values())
    by_note: dict[str, list[RunRow]] = {}
    for run in everything:
        for note in dict.fromkeys(_decode(run.manifest).notes if run.manifest else ()):
            by_note.setdefault(note, []).append(run)
    remarks = [Remark(note, _runs(on, everything), len(by_note) > _MOST_OPEN and on[0].published) for note, on in by_note.items()]
    return sorted(remarks, key=lambda remark: remark.is_folded)


def _runs(on: list[RunRow], everything: list[RunRow]) -> str:
    if len(on) == len(everything):
        return ""
    several = len({run.system for run in everything}) > 1
    systems = list(dict.fromkeys(run.system for run in on if run.system)) if several else []
    count = f"{len(on)} run{'s' if len(on) > 1 else ''}" if several else f"{len(on)} of {len(everything)} runs"
    return ", ".join([*systems, *(_releases_with_remark(on, everything) or [count])])


def _releases_with_remark(on: list[RunRow], everything: list[RunRow]) -> list[str]:
    """Return the releases of the runs with a remark, if the remark concerns exactly the runs of these releases.

    Return an empty list if there are several systems, or if other runs of these releases lack the remark.
    """
    releases = list(dict.fromkeys(run.release for run in on if run.release))
    of_them = [run for run in everything if run.release in releases]
    return releases if len({run.system for run in everything}) == 1 and len(of_them) == len(on) else []


_NOT_VIRTUAL = "none"


def caveats(host: Host | None, runs: Iterable[RunRow] = ()) -> str:
    """Return the recorded caveats of a machine in words; an empty text if it has none.

    Args:
        host: the machine; ``None`` if it has no host file.
        runs: the shown runs on this machine.
    """
    virtual = host.system.get("virtualisation") if host else None
    steal = max((percent for run in runs for percent in _steal_percents(run)), default=0.0)
    shared = f"shared: its host took up to {rounded(steal, 2)}\u00a0% of the processor time (in these runs)" if steal else ""
    return ", ".join(filter(None, ("" if virtual == _NOT_VIRTUAL else virtual, shared)))


def _steal_percents(run: RunRow) -> Iterable[float]:
    manifest = manifest_of(run)
    recorded = manifest.environment if manifest else {}
    return (percent for moment in MOMENTS if (percent := number_in(recorded, f"{STEAL}_{moment}")) is not None)
