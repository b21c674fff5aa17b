"""What a reader must know of a machine beside its name: whether it is virtual, and whether others took processor time while it was measured."""

from __future__ import annotations

from collections.abc import Iterable

from tacholog.runs.disturbance import MOMENTS, STEAL
from tacholog.runs.manifest import Host
from tacholog.schema.records import number_in
from tacholog.view.numerals import rounded
from tacholog.view.results import RunRow
from tacholog.view.views import manifest_of

_NOT_VIRTUAL = "none"


def caveats(host: Host | None, runs: Iterable[RunRow] = ()) -> str:
    """Return the caveats of a machine in words, only those that somebody recorded; nothing if there are none.

    Args:
        host: the machine; ``None`` if nobody describes it.
        runs: the runs that are shown of it.
    """
    virtual = host.system.get("virtualisation") if host else None
    steal = max((found for run in runs for found in _steal_percents(run)), default=0.0)
    shared = f"shared: its host took up to {rounded(steal, 2)}\u00a0% of the processor time (in these runs)" if steal else ""
    return ", ".join(filter(None, ("" if virtual == _NOT_VIRTUAL else virtual, shared)))


def _steal_percents(run: RunRow) -> Iterable[float]:
    manifest = manifest_of(run)
    recorded = manifest.environment if manifest else {}
    return (percent for moment in MOMENTS if (percent := number_in(recorded, f"{STEAL}_{moment}")) is not None)
