"""How many messages were lost, in words beside a rate: its mark alone does not tell 2 % from 77 %."""

from __future__ import annotations

from collections.abc import Sequence

from tacholog.render.html import NOTHING, Html, tag
from tacholog.render.tables.tables import Links, linked_number, linked_value
from tacholog.store.quality import LOSS_LIMIT
from tacholog.view.numerals import size
from tacholog.view.results import ResultRow
from tacholog.view.series import LOSS, Cell, Series


def worst_run(cell: Cell) -> tuple[float, ResultRow]:
    """Return the largest share that a run lost, and where that is stated. The cell is one that has a value."""
    return max(((result.value, result) for result in cell.results if result.value is not None), key=lambda stated: stated[0])


def lost(cell: Cell, links: Links) -> Html:
    """Return the share that was lost, to stand under a rate: ``77 % lost``. If most runs lost little, it is that of the worst: ``up to 3 % lost``."""
    return tag("span", "" if _is_lossy(cell) else "up to ", _share(cell, links), " lost", class_="tl-runs tl-lost")


def loss_line(title: str, series: Sequence[Series], links: Links) -> Html:
    """Return one line on the largest loss of a test, to stand above what is folded; nothing if no rate carries the mark of it."""
    marked = [
        (*worst_run(cell), at, one)
        for one in series
        if one.has_mark(LOSS)
        for at, cell in one.cells("loss", "total").items()
        if cell.value is not None and LOSS in cell.marks
    ]
    if not marked:
        return NOTHING
    most, result, at, worst = max(marked, key=lambda found: found[0])
    of_several = f"{worst.label}, " if len(series) > 1 else ""
    where = tag("span", f"{of_several}{size(at)}", class_="stat-size")
    share = tag("strong", linked_value(most, result, "ratio", links))
    return tag("p", f"{title}: up to ", share, " of the messages were lost (", where, ").", class_="tl-note tl-loss")


def _is_lossy(cell: Cell) -> bool:
    return bool(cell.groups) or (cell.value is not None and cell.value > LOSS_LIMIT)


def _share(cell: Cell, links: Links) -> Html:
    """Return the median, or what the worst run lost, if the mark is of few runs: a median of 0 % beside the mark would look like a mistake."""
    if _is_lossy(cell):
        return linked_number(cell, "ratio", links, brief=True)
    return linked_value(*worst_run(cell), "ratio", links)
