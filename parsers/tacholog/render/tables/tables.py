"""Tables of numbers: every number with its line, its marks and its spread; one table a series."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from tacholog.render.figures.figures import words_of
from tacholog.render.figures.svg import dot_strip, swatch
from tacholog.render.html import NOTHING, Html, esc, join, linked, tag
from tacholog.render.inline import number_anchor
from tacholog.render.marks import Seen, in_order, mark_link, mark_notes, see_marks, see_shared, shared_mark
from tacholog.render.table import Cell, Column, Row, Table, empty, exact, head, scroller
from tacholog.render.tables.columns import TableColumn, columns_of, marks_everywhere, without_zeros
from tacholog.schema.metrics import METRICS
from tacholog.slugs import slug
from tacholog.view.numerals import NOT_STATED, Unit, decimals, grouped, in_full, quantity, rounded, size, with_bound
from tacholog.view.results import ResultRow
from tacholog.view.series import Cell as SeriesCell
from tacholog.view.series import Series, absent_words
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


def badge(*, published: bool) -> Html:
    """Return the badge for a published number or an own run."""
    if published:
        return tag("span", "published", class_="tl-badge tl-published", title="Published by the vendor, not measured by the owner of this site")
    return tag("span", "own run", class_="tl-badge tl-own", title="Measured by the owner of this site; the raw log is here")


def _series_table(series: Series, links: Links, anchor: str, marks_anchor: str, seen: Seen, apart: Apart | None) -> Html:
    columns, never = without_zeros(series, columns_of(series))
    everywhere = marks_everywhere(series, columns)
    write = CellWriter(links, marks_anchor, seen, everywhere, f"#{anchor}-each" if series.repeated else None)
    cells = [series.cells(column.metric, column.statistic) for column in columns]
    has_samples = _has_samples(series)
    lines = [
        ResultLine(
            _row_head(series, payload),
            [
                Number(found.get(payload), series.absent(column.metric, column.statistic, payload))
                for column, found in zip(columns, cells, strict=True)
            ],
            [*([_samples_cell(series, payload)] if has_samples else []), *([_runs_cell(series, payload)] if series.repeated else [])],
        )
        for payload in series.sizes()
    ]
    further = [*([Column("samples")] if has_samples else []), *([Column("runs")] if series.repeated else [])]
    label = f"{series.results[0].test.capitalize()} numbers: {series.label}"
    table = results_table(label, [Column("size"), *map(column_head, columns), *further], [column.unit for column in columns], lines, write)
    return tag(
        "section",
        tag("h4", swatch(series.slot, hollow=series.published), " ", series.label, " ", badge(published=series.published), class_="tl-caption"),
        _note_above(everywhere, never, marks_anchor),
        scroller(table),
        _every_run(series, columns, links, anchor, apart) if series.repeated else NOTHING,
        class_="tl-series",
        id=anchor,
    )


def _note_above(everywhere: Sequence[str], never: Sequence[TableColumn], marks_anchor: str) -> Html:
    notes = [shared_mark(mark, marks_anchor) for mark in everywhere]
    if never:
        notes.append(esc(f"None {', none '.join(column.heading for column in never)}."))
    return tag("p", join(notes, " "), class_="tl-note") if notes else NOTHING


class Number(NamedTuple):
    """A number in a table of results, or why there is none (``absent``).

    Its range links to the values of ``each`` run. ``best`` sets it off. ``below`` is shown under the range.
    """

    cell: SeriesCell | None
    absent: str = NOT_STATED
    each: str | None = None
    best: bool = False
    below: Html = NOTHING


class ResultLine(NamedTuple):
    """A row of a table of results: its head, its numbers, and the cells after them."""

    head: Cell
    numbers: Sequence[Number]
    tail: Sequence[Cell] = ()


def results_table(
    label: str, columns: Sequence[Column], units: Sequence[Unit], lines: Sequence[ResultLine], write: CellWriter, class_: str = "tl-table"
) -> Table:
    """Return a table of numbers, with their decimal points aligned. ``units`` are those of the columns with numbers."""
    places = [column_decimals([cell for line in lines if (cell := line.numbers[at].cell)], unit) for at, unit in enumerate(units)]
    rows = [Row([line.head, *map(write.cell, line.numbers, units, places), *line.tail]) for line in lines]
    return Table(label, columns, [rows], class_, write.marks_anchor)


class CellWriter:
    """Makes the cells of a table of results, and remembers their marks in ``seen``. Those in ``above`` are stated above the table."""

    def __init__(self, links: Links, marks_anchor: str, seen: Seen, above: Sequence[str] = (), each: str | None = None) -> None:
        """``each`` is the link to the values of each run, where it is the same for the whole table."""
        self.marks_anchor = marks_anchor
        self._links, self._seen, self._above, self._each = links, seen, above, each
        see_shared(seen, above)

    def cell(self, number: Number, unit: Unit, places: int = 0) -> Cell:
        """Return one cell: the number, its range and its marks. Of repeated runs it is the median, or the median of each group.

        The number links to its log line; a median links to the line of the run in the middle. ``places`` is how many decimals its column has.
        """
        cell = number.cell
        if cell is None:
            return empty(number.absent)
        see_marks(self._seen, cell)
        marks = tuple(mark for mark in in_order(cell.marks) if mark not in self._above)
        link, each = self._links.to_line(cell.result), self._each or number.each
        if cell.value is None:
            return empty(number.absent, self._each if cell.coverage and self._each else link, marks, _partly(cell))
        text, pad = (self._groups(cell, unit, marks, best=number.best), "") if cell.groups else _aligned(cell.value, cell.result, unit, places)
        return Cell(
            text,
            exact(cell.value),
            None if cell.groups else link,
            _range(cell, unit) if len(cell.results) > 1 else "",
            each if link else None,
            () if cell.groups else marks,
            number.below,
            pad,
            best=number.best and not cell.groups,
            title=words_of(cell, METRICS[cell.result.metric].unit, in_full),
        )

    def _groups(self, cell: SeriesCell, unit: Unit, marks: Sequence[str], *, best: bool) -> Html:
        """Return the number of each of the two groups of runs, with the number of runs in it, and a dot for each run."""
        signs = tag("sup", *(mark_link(mark, self.marks_anchor) for mark in marks)) if marks else NOTHING
        parts = []
        for group in cell.groups:
            number = linked(_aligned(group.value, group.result, unit, 0)[0], self._links.to_line(group.result))
            shown = tag("strong", number, class_="tl-best") if best else number
            of = tag("span", f"in\u00a0{group.runs}\u00a0runs", class_="tl-of")
            parts.append(tag("span", shown, of, signs if group is cell.groups[0] else NOTHING, class_="tl-group"))
        return join([*parts, dot_strip([result.value for result in cell.results if result.value is not None])])


def _partly(cell: SeriesCell) -> str | None:
    if cell.coverage is None:
        return None
    several = cell.coverage.wanted > cell.coverage.of_runs
    what = f"measurements in {cell.coverage.of_runs} run{'s' if cell.coverage.of_runs > 1 else ''}" if several else "runs"
    return f"stated in {cell.coverage.times} of {cell.coverage.wanted} {what}: no median of all of them"


def _every_run(series: Series, columns: Sequence[TableColumn], links: Links, anchor: str, apart: Apart | None) -> Html:
    """Return the values of each run, folded: the medians above were computed from them."""
    rows, has_samples = [], _has_samples(series)
    for payload in series.sizes():
        first = _row_head(series, payload)
        for run, by_name in series.measured.measurements(payload):
            samples = next((result.samples for result in by_name.values() if result.samples is not None), None)
            shown = (number_cell(by_name.get(column.pair), column.unit, links, absent_words(*column.pair, [samples])) for column in columns)
            tail = [count(NOT_STATED if samples is None else grouped(samples))] if has_samples else []
            rows.append(Row([first, Cell(run.run, class_="tl-text"), *shown, *tail]))
    heads = [Column("size"), Column("run", class_="tl-text"), *map(column_head, columns), *([Column("samples")] if has_samples else [])]
    table = Table(f"Each run's {series.results[0].test} numbers: {series.label}", heads, [rows], "tl-table tl-small")
    return folded_table("Each run's numbers", scroller(table), f"{anchor}-each", apart)


def folded_table(words: str, content: Html, anchor: str, apart: Apart | None, *, is_open: bool = False) -> Html:
    """Return a table that a reader unfolds. ``apart`` keeps it out of the page."""
    file, shown = (None, content) if apart is None else apart(anchor, content)
    return tag("details", tag("summary", words), shown, class_="tl-each", id=anchor, data_part=file, open=is_open)


def column_head(column: TableColumn) -> Column:
    """Return the head of a column, with its unit."""
    return Column(column.heading, column.unit.sign)


def count(text: str, value: object = "") -> Cell:
    """Return a cell with a count of something."""
    return Cell(text, str(value), class_="stat-count")


def _row_head(series: Series, payload: int | None) -> Cell:
    high = next((result.payload_bytes_high for result in series.measured.of_size[payload] if result.payload_bytes_high is not None), None)
    words = size(payload) if high is None else f"{size(payload)} to {size(high)}"
    if payload is None:
        return head(words, "tl-null")
    return head(words, value=payload, title=f"{grouped(payload)} bytes")


def _has_samples(series: Series) -> bool:
    """Whether the table has a column of samples. Rates need none, because the messages received have their own."""
    return any(metric == "latency" for metric, _ in series.statistics())


def _samples_cell(series: Series, payload: int | None) -> Cell:
    found = sorted({result.samples for result in series.measured.of_size[payload] if result.samples is not None})
    if not found:
        return empty()
    return count(" to ".join(grouped(one) for one in dict.fromkeys((found[0], found[-1]))), found[0])


def _runs_cell(series: Series, payload: int | None) -> Cell:
    return count(str(len({result.run.run for result in series.measured.of_size[payload]})))


def linked_number(cell: SeriesCell, unit: str, links: Links, *, strong: bool = False, brief: bool = False) -> Html:
    """Return a number for a sentence, linked to its line. If the runs fall into two groups, return the number of each.

    With ``brief``, a note elsewhere says what two numbers mean.
    """
    title = words_of(cell, unit, in_full)

    def in_words(value: float, result: ResultRow) -> Html:
        found = _in_words(value, result, unit, links, title)
        return tag("strong", found) if strong else found

    if not cell.groups:
        return in_words(cell.value or 0.0, cell.result)
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


def marks_of_cells(cells: Iterable[SeriesCell]) -> list[str]:
    """Return the marks that all cells have. They are stated once instead of in each cell."""
    first, *rest = [cell.marks for cell in cells] or [()]
    return [mark for mark in first if all(mark in marks for marks in rest)]


def column_decimals(cells: Iterable[SeriesCell], unit: Unit) -> int:
    """Return the number of decimals that align the decimal points of a column."""
    shown = [decimals(rounded(cell.value / unit.size)) for cell in cells if cell.value is not None]
    return min(max(shown, default=0), _MAX_PAD)


def _aligned(value: float, result: ResultRow, unit: Unit, places: int) -> tuple[str, str]:
    """Return the number, and the digits that it lacks to align its decimal point."""
    shown = rounded(value / unit.size)
    own = decimals(shown)
    return with_bound(shown, result.bound), ("." if own == 0 else "") + "0" * (places - own) if places > own else ""


def _range(cell: SeriesCell, unit: Unit) -> str:
    """Return the lowest and the highest value of all runs; nothing if they are shown alike."""
    if cell.low is None or cell.high is None:
        return ""
    ends = [rounded(end / unit.size) for end in (cell.low, cell.high)]
    return _TO.join(ends) if ends[0] != ends[1] else ""


def number_cell(result: ResultRow | None, unit: Unit, links: Links, absent: str = NOT_STATED) -> Cell:
    """Return one cell: a number of one run, linked to its line. ``absent`` stands in place of a number that there is not."""
    if result is None or result.value is None:
        return empty(absent)
    text = with_bound(rounded(result.value / unit.size), result.bound)
    return Cell(text, exact(result.value), links.to_line(result), title=in_full(result.value, METRICS[result.metric].unit))
