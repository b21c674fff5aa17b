"""The headline number of every series of a page in one table: what people otherwise copy together from many."""

from __future__ import annotations

from collections.abc import Sequence

from tacholog.records import METRICS
from tacholog.report.figures import LOGICAL
from tacholog.report.marks import mark_notes
from tacholog.report.markup import NOTHING, Html, join, tag
from tacholog.report.numerals import Unit, unit_shown
from tacholog.report.series import Series
from tacholog.report.svg import swatch
from tacholog.report.tables import CellWriter, Links, Marks, badge, column_decimals, scroller

_HEADLINES = (("latency", "p50", "Median latency"), ("latency", "mean", "Mean latency"), ("goodput", "mean", "Goodput"))
_MOST = 12


def side_by_side(series: Sequence[Series], links: Links, anchor: str) -> Html:
    """Return one table, a column a series; nothing where there is only one series, or more than fit beside each other."""
    found = _headline(series)
    if found is None:
        return NOTHING
    (metric, statistic, words), shown = found
    unit = unit_shown(METRICS[metric].unit)
    seen: dict[str, None] = {}
    rows = _rows(shown, metric, statistic, unit, CellWriter(links, anchor, Marks(seen, ()), None))
    heads = [tag("th", tag("div", swatch(one.slot, hollow=one.published), one.label), badge(published=one.published), scope="col") for one in shown]
    table = tag("table", tag("thead", tag("tr", tag("th", "size", scope="col"), *heads)), tag("tbody", *rows), class_="tl-table tl-beside")
    title = tag("p", tag("strong", f"{words}, {unit.sign}"), class_="tl-caption")
    return join([title, scroller(f"{words} of every series", table), mark_notes(seen, anchor)])


def has_side_by_side(series: Sequence[Series]) -> bool:
    """Whether there is anything to set side by side."""
    return _headline(series) is not None


def _headline(series: Sequence[Series]) -> tuple[tuple[str, str, str], list[Series]] | None:
    for metric, statistic, words in _HEADLINES:
        shown = [one for one in series if one.cells(metric, statistic) and not (metric == "goodput" and one.has_mark(LOGICAL))]
        if shown:
            return ((metric, statistic, words), shown) if 1 < len(shown) <= _MOST else None
    return None


def _rows(series: Sequence[Series], metric: str, statistic: str, unit: Unit, write: CellWriter) -> list[Html]:
    cells = [one.cells(metric, statistic) for one in series]
    places = [column_decimals(found.values(), unit) for found in cells]
    sizes = sorted({at for found in cells for at in found}, key=lambda at: -1 if at is None else at)
    rows = []
    for at in sizes:
        values = [
            write.cell(found[at], unit, place) if at in found else tag("td", "not measured", class_="tl-null")
            for found, place in zip(cells, places, strict=True)
        ]
        rows.append(tag("tr", tag("th", next(found[at] for found in cells if at in found).size_words, scope="row", data_v=at), *values))
    return rows
