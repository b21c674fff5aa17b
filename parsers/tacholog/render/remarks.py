"""The remarks of manifests as HTML, shown where the figures of their runs are used."""

from __future__ import annotations

from collections.abc import Container, Iterable

from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.view.remarks import Remark, remarks_on
from tacholog.view.results import RunRow


def remarks(runs: Iterable[RunRow], but: Container[str] = ()) -> Html:
    """Return each remark once, with the runs that it is on where it is not on all; nothing where there is none. ``but`` are shown elsewhere."""
    found = [remark for remark in remarks_on(runs) if remark.note not in but]
    if not found:
        return NOTHING
    shown = [_paragraph(remark) for remark in found if not remark.is_folded]
    folded = [_paragraph(remark) for remark in found if remark.is_folded]
    if folded:
        summary = tag("summary", f"{len(folded)} remarks on how to read the published figures")
        shown.append(tag("details", summary, *folded))
    return tag("div", *shown, class_="tl-remarks", role="note")


def _paragraph(remark: Remark) -> Html:
    return tag("p", join([tag("strong", remark.runs), ": "]) if remark.runs else NOTHING, remark.note)
