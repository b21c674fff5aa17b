"""One table with the most important number of every series of a page, so that readers need not collect them."""

from __future__ import annotations

from collections.abc import Sequence

from tacholog.compare.comparable import is_ranked_nowhere, judge
from tacholog.render.figures.svg import swatch
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.marks import mark_notes, shared_marks_note
from tacholog.render.tables.tables import CellWriter, Links, Marks, badge, column_decimals, marks_of_cells, scroller
from tacholog.schema.metrics import METRICS
from tacholog.view.headlines import RANKED_BY
from tacholog.view.names import BASIS_WORDS
from tacholog.view.numerals import unit_shown
from tacholog.view.ranking_groups import conditions_of
from tacholog.view.refusals import refusals
from tacholog.view.series import Series

_WORDS = ("Median latency", "Mean latency", "Goodput")
_MOST = 12


def side_by_side(series: Sequence[Series], links: Links, anchor: str) -> Html:
    """Return one table with a column for each series; nothing for a single series, or for more than fit beside each other."""
    found = _headline(series)
    if found is None:
        return NOTHING
    (metric, statistic, words), shown = found
    unit = unit_shown(METRICS[metric].unit)
    cells = [member.cells(metric, statistic) for member in shown]
    shared_marks = marks_of_cells(cell for found in cells for cell in found.values())
    seen = dict.fromkeys(shared_marks, False)
    rows = _rows(shown, (metric, statistic), links, CellWriter(links, anchor, Marks(seen, shared_marks), None))
    heads = [
        tag("th", tag("div", swatch(member.slot, hollow=member.published), member.label), badge(published=member.published), scope="col")
        for member in shown
    ]
    table = tag("table", tag("thead", tag("tr", tag("th", "size", scope="col"), *heads)), tag("tbody", *rows), class_="tl-table tl-beside")
    bases = {dict(member.key)["basis"] for member in shown}
    basis = BASIS_WORDS.get(str(bases.pop())) if metric == "latency" and len(bases) == 1 else None
    title = tag("p", tag("strong", ", ".join(filter(None, (words, basis, unit.sign)))), class_="tl-caption")
    return join(
        [
            title,
            shared_marks_note(shared_marks, anchor),
            scroller(f"{words} of every series", table),
            not_comparable(shown, metric),
            mark_notes(seen, anchor),
        ]
    )


def not_comparable(shown: Sequence[Series], metric: str) -> Html:
    """Return which columns are not comparable with the first one, and why; nothing if all are."""
    first, *others = shown
    stated = conditions_of(first, metric)
    by_reason: dict[str, list[str]] = {}
    for other in others:
        if found := refusals(judge(stated, conditions_of(other, metric), comparison="ratio")):
            by_reason.setdefault("; ".join(found), []).append(other.label)
    if not by_reason:
        return NOTHING
    items = [tag("li", f"{'; '.join(labels)}: {reason}") for reason, labels in by_reason.items()]
    return tag("div", tag("p", f"Not comparable with the first column ({first.label}):"), tag("ul", *items), class_="tl-note")


def _headline(series: Sequence[Series]) -> tuple[tuple[str, str, str], list[Series]] | None:
    for (metric, statistic), words in zip(RANKED_BY, _WORDS, strict=True):
        shown = [member for member in series if member.cells(metric, statistic) and not is_ranked_nowhere(conditions_of(member, metric))]
        if shown:
            return ((metric, statistic, words), shown) if 1 < len(shown) <= _MOST else None
    return None


def _rows(shown: Sequence[Series], of: tuple[str, str], links: Links, write: CellWriter) -> list[Html]:
    unit, cells = unit_shown(METRICS[of[0]].unit), [member.cells(*of) for member in shown]
    places = [column_decimals(found.values(), unit) for found in cells]
    sizes = sorted({at for found in cells for at in found}, key=lambda at: -1 if at is None else at)
    rows = []
    for at in sizes:
        values = [
            write.cell(found.get(at), unit, place, each=links.to_each_run(member), absent=member.absent(*of, at))
            for member, found, place in zip(shown, cells, places, strict=True)
        ]
        rows.append(tag("tr", tag("th", next(found[at] for found in cells if at in found).size_words, scope="row", data_v=at), *values))
    return rows
