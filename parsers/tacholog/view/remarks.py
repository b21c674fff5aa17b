"""What the manifests remark on their runs, shown where the figures of these runs are used: how to read them, and how not to."""

from __future__ import annotations

from collections.abc import Iterable

from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.view.results import RunRow
from tacholog.view.views import manifest_of

_MOST_OPEN = 4  # More of them stand between a reader and the figures: those of published figures are folded.


def remarks(runs: Iterable[RunRow]) -> Html:
    """Return each remark once, with the runs that it is on where it is not on all; nothing where there is none."""
    everything = list({run.run: run for run in runs}.values())
    found: dict[str, list[RunRow]] = {}
    for run in everything:
        manifest = manifest_of(run)
        for note in dict.fromkeys(manifest.notes if manifest else ()):
            found.setdefault(note, []).append(run)
    if not found:
        return NOTHING
    folded = {note for note, on in found.items() if len(found) > _MOST_OPEN and on[0].published}
    said = {note: tag("p", _whose(on, everything), note) for note, on in found.items()}
    shown = [line for note, line in said.items() if note not in folded]
    if folded:
        summary = tag("summary", f"{len(folded)} remarks on published figures say how to read them")
        shown.append(tag("details", summary, *(line for note, line in said.items() if note in folded)))
    return tag("div", *shown, class_="tl-remarks", role="note")


def _whose(on: list[RunRow], everything: list[RunRow]) -> Html:
    if len(on) == len(everything):
        return NOTHING
    several = len({run.system for run in everything}) > 1
    systems = list(dict.fromkeys(run.system for run in on if run.system)) if several else []
    count = f"{len(on)} run{'s' if len(on) > 1 else ''}" if several else f"{len(on)} of {len(everything)} runs"
    return join([tag("strong", ", ".join([*systems, *(_releases(on, everything) or [count])])), ": "])


def _releases(on: list[RunRow], everything: list[RunRow]) -> list[str]:
    """Return the releases that a remark is on all runs of, if it is on whole releases of one system: they say more than a number of runs."""
    releases = list(dict.fromkeys(run.release for run in on if run.release))
    of_them = [run for run in everything if run.release in releases]
    return releases if len({run.system for run in everything}) == 1 and len(of_them) == len(on) else []
