"""Tables of numbers: every number with its line, its marks and its spread; one table a series."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from tacholog.render.figures.figures import words_of
from tacholog.render.figures.svg import dot_strip, swatch
from tacholog.render.html import NOTHING, Html, esc, join, tag
from tacholog.render.inline import number_anchor
from tacholog.render.marks import Seen, in_order, mark_link, mark_notes, mark_of, see_marks, see_shared
from tacholog.render.tables.columns import TableColumn, columns_of, marks_everywhere, without_zeros
from tacholog.schema.metrics import METRICS
from tacholog.slugs import slug
from tacholog.view.numerals import NOT_STATED, Unit, decimals, grouped, in_full, quantity, rounded, size, with_bound
from tacholog.view.results import ResultRow
from tacholog.view.series import Cell, Series, absent_words
from tacholog.view.views import Selection, log_document

_MAX_PAD = 3
MOST_EACH = 200  # numbers of single runs in the tables of a test on a page; more are loaded when somebody asks for them
_TO = "\u2013"  # an en dash
_OWN_MEDIANS = "Each column has a median of its own, so sent minus received need not be lost. Below each table are the numbers of each run."


Apart = Callable[[str, Html], tuple[str, Html]]  # takes an id and its content; returns the file that holds it, and what stands on the page instead


class Links(msgspec.Struct, frozen=True):
    """The folder of the log pages. Without it, numbers are not linked. Sphinx resolves the links (``doc:``).

    ``all_numbers`` is what the ids of the tables with all numbers begin with (`numbers_anchor`), if they are on the same page.
    """

    logs: str | None = None
    all_numbers: str | None = None

    def to_line(self, result: ResultRow) -> str | None:
        """Return the link to the number itself on the line that it was read from."""
        anchor = number_anchor(result)
        return None if self.logs is None or anchor is None else f"{self.to_log(result.run.run, result.log)}#{anchor}"

    def to_each_run(self, series: Series) -> str | None:
        """Return the link to the values of each run of a series on the same page; ``None`` if no run was repeated."""
        return f"#{self.all_numbers}-{series.slot}-each" if self.all_numbers and series.repeated else None

    def to_log(self, run: str, log: str) -> str | None:
        """Return the link to the page of a log."""
        return None if self.logs is None else f"doc:{log_document(self.logs, run, log)}"


def numbers_anchor(test: str, selection: Selection, number: int = 1) -> str:
    """Return the start of the ids of the tables with all numbers of a test, in the part of a page that shows a selection.

    ``number``: that of the part, as for `page_anchor`.
    """
    return page_anchor(test, *selection.values(), number=number)


def numbers(series: Sequence[Series], links: Links, anchor: str, apart: Apart | None = None, marks_anchor: str = "") -> Html:
    """Return one table for each series, then the notes on their marks.

    Args:
        series: the series.
        links: where the pages of the logs are.
        anchor: the start of every id.
        apart: keeps a large table out of the page, and returns what stands in its place. Without it, the page holds every table.
        marks_anchor: the start of the ids of the notes, if another table on the page has notes of the same series.
    """
    seen: Seen = {}
    many = sum(len(one.results) for one in series if one.repeated) > MOST_EACH
    marks_anchor = marks_anchor or anchor
    tables = [_series_table(one, links, f"{anchor}-{one.slot}", marks_anchor, seen, apart if many else None) for one in series]
    note = tag("p", _OWN_MEDIANS, class_="tl-note") if any(one.repeated and _counts(one) for one in series) else NOTHING
    return join([note, *tables, mark_notes(seen, marks_anchor)])


def _counts(series: Series) -> bool:
    """Whether a reader may add up what it shows: messages that were sent, received and lost."""
    return len({"messages_sent", "messages_received", "messages_lost"} & {metric for metric, _ in series.statistics()}) > 1


def page_anchor(*what: str, number: int = 1) -> str:
    """Return the start of the ids of the tables on a page. It is made from what they show, so that links last.

    Of parts of a page that differ in capitals or blanks only, such as `UDP` and `udp`, the second has the ``number`` 2. No name has two hyphens.
    """
    first = slug("-".join(["tl", *what]))
    return first if number == 1 else f"{first}--{number}"


def scroller(label: str, *content: object) -> Html:
    """Return a region that scrolls on its own and by keyboard, so that the page never scrolls sideways. A script may add tools to it."""
    tools = tag("div", class_="tl-tools")
    return join([tools, tag("div", *content, class_="tl-scroll", role="region", aria_label=label, tabindex=0)])


def badge(*, published: bool) -> Html:
    """Return the badge for a published number or an own run."""
    if published:
        return tag("span", "published", class_="tl-badge tl-published", title="Published by the vendor, not measured by the owner of this site")
    return tag("span", "own run", class_="tl-badge tl-own", title="Measured by the owner of this site; the raw log is here")


def _series_table(series: Series, links: Links, anchor: str, marks_anchor: str, seen: Seen, apart: Apart | None) -> Html:
    columns, never = without_zeros(series, columns_of(series))
    everywhere = marks_everywhere(series, columns)
    see_shared(seen, everywhere)
    cells = [series.cells(column.metric, column.statistic) for column in columns]
    repeated = series.repeated
    places = [column_decimals(found.values(), column.unit) for column, found in zip(columns, cells, strict=True)]
    write = CellWriter(links, marks_anchor, Marks(seen, everywhere), f"#{anchor}-each" if repeated else None)
    rows = []
    for payload in series.sizes():
        shown = [
            write.cell(found.get(payload), column.unit, place, absent=series.absent(column.metric, column.statistic, payload))
            for column, found, place in zip(columns, cells, places, strict=True)
        ]
        rows.append(tag("tr", _row_head(series, payload), *shown, *_samples_cell(series, payload), *_runs_cell(series, payload, repeated=repeated)))
    heads = [*(column_head(column) for column in columns), *_extra_heads(series, repeated=repeated)]
    table = tag("table", tag("thead", tag("tr", tag("th", "size", scope="col"), *heads)), tag("tbody", *rows), class_="tl-table")
    title = tag("h4", swatch(series.slot, hollow=series.published), " ", series.label, " ", badge(published=series.published), class_="tl-caption")
    each = _every_run(series, columns, links, anchor, apart) if repeated else NOTHING
    above = _note_above(everywhere, never, marks_anchor)
    return tag(
        "section",
        title,
        above,
        scroller(f"{series.results[0].test.capitalize()} numbers: {series.label}", table),
        each,
        class_="tl-series",
        id=anchor,
    )


def _note_above(everywhere: Sequence[str], never: Sequence[TableColumn], marks_anchor: str) -> Html:
    notes = [join([mark_link(mark, marks_anchor), f" {mark_of(mark).title}: applies to every number in this table."]) for mark in everywhere]
    if never:
        notes.append(esc(f"None {', none '.join(column.heading for column in never)}."))
    return tag("p", join(notes, " "), class_="tl-note") if notes else NOTHING


class Marks(NamedTuple):
    """The marks of all cells so far, and those that are stated above the table."""

    seen: Seen
    above: Sequence[str]


class CellWriter:
    """Writes the cells of a table, and remembers their marks."""

    def __init__(self, links: Links, marks_anchor: str, marks: Marks, each: str | None) -> None:
        self._links, self._marks_anchor, self._marks, self._each = links, marks_anchor, marks, each

    def cell(
        self,
        cell: Cell | None,
        unit: Unit,
        places: int,
        *,
        best: bool = False,
        below: Html = NOTHING,
        each: str | None = None,
        absent: str = NOT_STATED,
    ) -> Html:
        """Return one cell: the number, its range and its marks. Of repeated runs it is the median, or the median of each group.

        The number links to its log line; a median links to the line of the run in the middle. The range links to the values of ``each`` run.
        ``best`` highlights the number. ``below`` is shown under the range. ``absent`` stands in place of a number that there is not.
        """
        if cell is None:
            return tag("td", absent, class_="tl-null")
        see_marks(self._marks.seen, cell)
        marks = [mark_link(mark, self._marks_anchor) for mark in in_order(cell.marks) if mark not in self._marks.above]
        result = cell.shown
        if cell.value is None:
            link = self._each if cell.stated and self._each else self._links.to_line(result)
            return tag("td", _linked(absent, link), *marks, class_="tl-null", title=_partly(cell))
        spread = cell.low is not None and cell.high is not None and len(cell.results) > 1
        signs = tag("sup", *marks) if marks else NOTHING
        if cell.groups:
            numbers_ = self._groups(cell, unit, signs, best=best)
        else:
            numbers_ = join([self._number(cell.value, result, unit, places, best=best), signs])
        link = self._links.to_line(result)
        range_ = _range(cell, unit, (self._each or each) if link else None) if spread else NOTHING
        return tag(
            "td",
            numbers_,
            range_,
            below,
            title=words_of(cell, METRICS[result.metric].unit, in_full),
            data_v=f"{cell.value:.12g}",
        )

    def _number(self, value: float, result: ResultRow, unit: Unit, places: int, *, best: bool) -> Html:
        text, pad = _aligned(value, result, unit, places)
        linked = _linked(text, self._links.to_line(result))
        return join([tag("strong", linked, class_="tl-best") if best else linked, pad])

    def _groups(self, cell: Cell, unit: Unit, signs: Html, *, best: bool) -> Html:
        """Return the number of each of the two groups of runs, with the number of runs in it, and a dot for each run."""
        parts = [
            tag(
                "span",
                self._number(group.value, group.result, unit, 0, best=best),
                tag("span", f"in\u00a0{group.runs}\u00a0runs", class_="tl-of"),
                signs if group is cell.groups[0] else NOTHING,
                class_="tl-group",
            )
            for group in cell.groups
        ]
        return join([*parts, dot_strip([result.value for result in cell.results if result.value is not None])])


def _partly(cell: Cell) -> str | None:
    if cell.stated is None:
        return None
    several = cell.stated.wanted > cell.stated.of_runs
    what = f"measurements in {cell.stated.of_runs} run{'s' if cell.stated.of_runs > 1 else ''}" if several else "runs"
    return f"stated in {cell.stated.times} of {cell.stated.wanted} {what}: no median of all of them"


def _every_run(series: Series, columns: Sequence[TableColumn], links: Links, anchor: str, apart: Apart | None) -> Html:
    """Return the values of each run, folded: the medians above were computed from them."""
    rows, has_samples = [], _has_samples(series)
    for payload in series.sizes():
        head = _row_head(series, payload)
        for run, by_name in series.measured.measurements(payload):
            samples = next((result.samples for result in by_name.values() if result.samples is not None), None)
            shown = [
                number_cell(
                    by_name.get((column.metric, column.statistic)),
                    column.unit,
                    links,
                    absent_words(column.metric, column.statistic, [samples]),
                )
                for column in columns
            ]
            tail = tag("td", grouped(samples) if samples is not None else NOT_STATED, class_="stat-count") if has_samples else ""
            rows.append(tag("tr", head, tag("td", run.run, class_="tl-text"), *shown, tail))
    extra = [_th("samples", "")] if has_samples else []
    heads = tag("tr", tag("th", "size", scope="col"), tag("th", "run", scope="col", class_="tl-text"), *(column_head(c) for c in columns), *extra)
    table = tag("table", tag("thead", heads), tag("tbody", *rows), class_="tl-table tl-small")
    summary = tag("summary", "Each run's numbers")
    content = scroller(f"Each run's {series.results[0].test} numbers: {series.label}", table)
    if apart is None:
        return tag("details", summary, content, class_="tl-each", id=f"{anchor}-each")
    file, instead = apart(f"{anchor}-each", content)
    return tag("details", summary, instead, class_="tl-each", id=f"{anchor}-each", data_part=file)


def column_head(column: TableColumn) -> Html:
    """Return the head of a column, with its unit."""
    return _th(column.heading, column.unit.sign)


def _th(words: str, unit: str) -> Html:
    return tag("th", words, tag("span", unit, class_="tl-unit") if unit else "", scope="col")


def _row_head(series: Series, payload: int | None) -> Html:
    exact = None if payload is None else f"{grouped(payload)} bytes"
    of_size = series.measured.of_size[payload]
    high = next((result.payload_bytes_high for result in of_size if result.payload_bytes_high is not None), None)
    words = size(payload) if high is None else f"{size(payload)} to {size(high)}"
    return tag("th", words, scope="row", title=exact, class_="tl-null" if payload is None else None, data_v=payload)


def _has_samples(series: Series) -> bool:
    """Whether the table has a column of samples. Rates need none, because the messages received have their own."""
    return any(metric == "latency" for metric, _ in series.statistics())


def _extra_heads(series: Series, *, repeated: bool) -> list[Html]:
    return [*([_th("samples", "")] if _has_samples(series) else []), *([_th("runs", "")] if repeated else [])]


def _samples_cell(series: Series, payload: int | None) -> list[Html]:
    if not _has_samples(series):
        return []
    found = sorted({result.samples for result in series.measured.of_size[payload] if result.samples is not None})
    if not found:
        return [tag("td", NOT_STATED, class_="tl-null")]
    text = grouped(found[0]) if len(found) == 1 else f"{grouped(found[0])} to {grouped(found[-1])}"
    return [tag("td", text, data_v=found[0], class_="stat-count")]


def _runs_cell(series: Series, payload: int | None, *, repeated: bool) -> list[Html]:
    runs = {result.run.run for result in series.measured.of_size[payload]}
    return [tag("td", str(len(runs)), class_="stat-count")] if repeated else []


def linked_number(cell: Cell, unit: str, links: Links, *, strong: bool = False, brief: bool = False) -> Html:
    """Return a number for a sentence, linked to its line. If the runs fall into two groups, return the number of each.

    With ``brief``, a note elsewhere says what two numbers mean.
    """
    title = words_of(cell, unit, in_full)

    def in_words(value: float, result: ResultRow) -> Html:
        found = _in_words(value, result, unit, links, title)
        return tag("strong", found) if strong else found

    if not cell.groups:
        return in_words(cell.value or 0.0, cell.shown)
    both = join([in_words(group.value, group.result) for group in cell.groups], " or ")
    if brief:
        return both
    counted = tag("span", " and ".join(str(group.runs) for group in cell.groups), class_="tl-of-groups stat-count")
    return join([both, " (two groups of runs: ", counted, ")"])


def _in_words(value: float, result: ResultRow, unit: str, links: Links, title: str) -> Html:
    text, link = with_bound(quantity(value, unit), result.bound), links.to_line(result)
    return tag("a", text, href=link, title=title or None) if link else esc(text)


def linked_value(value: float, result: ResultRow, unit: str, links: Links) -> Html:
    """Return the number of one run for a sentence, linked to its line."""
    return _in_words(value, result, unit, links, "")


def marks_of_cells(cells: Iterable[Cell]) -> list[str]:
    """Return the marks that all cells have. They are stated once instead of in each cell."""
    first, *rest = [cell.marks for cell in cells] or [()]
    return [mark for mark in first if all(mark in marks for marks in rest)]


def column_decimals(cells: Iterable[Cell], unit: Unit) -> int:
    """Return the number of decimals that align the decimal points of a column."""
    shown = [decimals(rounded(cell.value / unit.size)) for cell in cells if cell.value is not None]
    return min(max(shown, default=0), _MAX_PAD)


def _aligned(value: float, result: ResultRow, unit: Unit, places: int) -> tuple[str, Html]:
    """Return the number, and invisible digits that align its decimal point."""
    shown = rounded(value / unit.size)
    own = decimals(shown)
    lacking = ("." if own == 0 else "") + "0" * (places - own) if places > own else ""
    return with_bound(shown, result.bound), tag("span", lacking, class_="tl-pad", aria_hidden="true") if lacking else NOTHING


def _range(cell: Cell, unit: Unit, each: str | None) -> Html:
    if cell.low is None or cell.high is None:
        return NOTHING
    ends = [rounded(end / unit.size) for end in (cell.low, cell.high)]
    if ends[0] == ends[1]:
        return NOTHING
    text = _TO.join(ends)
    return tag("a", text, class_="tl-range", href=each, title="Each run's numbers") if each else tag("span", text, class_="tl-range")


def number_cell(result: ResultRow | None, unit: Unit, links: Links, absent: str = NOT_STATED) -> Html:
    """Return one cell: a number of one run, linked to its line. ``absent`` stands in place of a number that there is not."""
    if result is None or result.value is None:
        return tag("td", absent, class_="tl-null")
    text = with_bound(rounded(result.value / unit.size), result.bound)
    return tag("td", _linked(text, links.to_line(result)), title=in_full(result.value, METRICS[result.metric].unit), data_v=f"{result.value:.12g}")


def _linked(text: object, link: str | None) -> Html:
    return tag("a", text, href=link) if link else esc(text)
