"""Tables of measured numbers: one for each series, in which each number has its range, its marks and a link to its log line.

This module also defines the columns of these tables, numbers within sentences, and the words on lost messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from tacholog.compare.policy import percentile
from tacholog.render.figures.figures import words_of
from tacholog.render.figures.svg import dot_strip, swatch
from tacholog.render.html import NOTHING, Html, esc, join, linked, tag
from tacholog.render.links import Links
from tacholog.render.marks import UsedMarks, add_marks, add_shared_marks, in_order, mark_link, mark_notes, shared_mark
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, empty, exact, head, scroller
from tacholog.schema.metrics import METRICS
from tacholog.slugs import slug
from tacholog.store.quality import LOSS_LIMIT
from tacholog.view.numerals import NOT_STATED, SECONDS, Unit, decimals, grouped, in_full, quantity, rounded, size, unit_shown, with_bound
from tacholog.view.results import ResultRow
from tacholog.view.series import LOSS, TWO_GROUPS, Cell, Series, absent_words
from tacholog.view.views import Selection

_MAX_PAD = 3
_NEARLY_ALL = 0.9
MOST_EACH = 200  # the largest number of single values that a page contains for a test; if there are more, the page loads them on demand
_TO = "\u2013"  # an en dash
_OWN_MEDIANS = 'Columns may come from different runs, so "sent \u2212 received" is not "lost". Below each table are the numbers of each run.'


# A function of the id and the content of a table. It returns the name of the file that will contain the table, and the HTML that replaces it.
MoveTableOut = Callable[[str, Html], tuple[str, Html]]


def numbers_anchor(test: str, selection: Selection, number: int = 1) -> str:
    """Return the start of the ids of the tables with all numbers of a test, within one part of a page.

    ``selection`` is what the part shows. ``number`` is the number of the part, as for `page_anchor`.
    """
    return page_anchor(test, *selection.values(), number=number)


def numbers_tables(series: Sequence[Series], links: Links, anchor: str, move_out: MoveTableOut | None = None, marks_anchor: str = "") -> Html:
    """Return one table for each series, then the notes that explain the marks in these tables.

    Args:
        series: the series.
        links: the addresses of the log pages.
        anchor: the start of every id.
        move_out: a function that moves a large table into a separate file, and returns the HTML that replaces it. Without it, the page contains every
            table.
        marks_anchor: the start of the ids of the notes; ``anchor`` if it is empty. A different start is needed if another table on the page has notes
            on the same series.
    """
    used_marks: UsedMarks = {}
    many = sum(len(member.results) for member in series if member.repeated) > MOST_EACH
    marks_anchor = marks_anchor or anchor
    tables = [_series_table(member, links, f"{anchor}-{member.slot}", marks_anchor, used_marks, move_out if many else None) for member in series]
    note = tag("p", _OWN_MEDIANS, class_="tl-note") if any(member.repeated and _has_several_counts(member) for member in series) else NOTHING
    return join([note, *tables, mark_notes(used_marks, marks_anchor)])


def _has_several_counts(series: Series) -> bool:
    """With two of these counts, a reader may try to calculate the third."""
    return len({"messages_sent", "messages_received", "messages_lost"} & {metric for metric, _ in series.statistics()}) > 1


def page_anchor(*what: str, number: int = 1) -> str:
    """Return the start of the ids of the tables on a page. It is made from their content, so that links stay valid.

    If the names of two parts of a page differ only in case or blanks, such as `UDP` and `udp`, the second part has the ``number`` 2. No name contains
    two consecutive hyphens.
    """
    first = slug("-".join(["tl", *what]))
    return first if number == 1 else f"{first}--{number}"


def badge(*, published: bool) -> Html:
    """Return the badge for a published number or an own run."""
    if published:
        return tag("span", "published", class_="tl-badge tl-published", title="Published by the vendor, not measured by the owner of this site")
    return tag("span", "own run", class_="tl-badge tl-own", title="Measured by the owner of this site; the raw log is here")


def _series_table(series: Series, links: Links, anchor: str, marks_anchor: str, used_marks: UsedMarks, move_out: MoveTableOut | None) -> Html:
    columns, never = without_zeros(series, columns_of(series))
    everywhere = marks_everywhere(series, columns)
    write = CellWriter(links, marks_anchor, used_marks, everywhere, f"#{anchor}-each" if series.repeated else None)
    cells = [series.cells(column.metric, column.statistic) for column in columns]
    has_samples = _has_samples(series)
    lines = [
        ResultLine(
            _row_head(series, payload),
            [
                ResultNumber(column_cells.get(payload), series.absent(column.metric, column.statistic, payload))
                for column, column_cells in zip(columns, cells, strict=True)
            ],
            [*([_samples_cell(series, payload)] if has_samples else []), *([_runs_cell(series, payload)] if series.repeated else [])],
        )
        for payload in series.sizes()
    ]
    further = [*([TableColumn("samples")] if has_samples else []), *([TableColumn("runs")] if series.repeated else [])]
    label = f"{series.results[0].test.capitalize()} numbers: {series.label}"
    table = results_table(label, [TableColumn("size"), *map(column_head, columns), *further], [column.unit for column in columns], lines, write)
    return tag(
        "section",
        tag("h4", swatch(series.slot, hollow=series.published), " ", series.label, " ", badge(published=series.published), class_="tl-caption"),
        _note_above(everywhere, never, marks_anchor),
        scroller(table),
        _values_of_each_run(series, columns, links, anchor, move_out) if series.repeated else NOTHING,
        class_="tl-series",
        id=anchor,
    )


def _note_above(everywhere: Sequence[str], never: Sequence[MetricColumn], marks_anchor: str) -> Html:
    notes = [shared_mark(mark, marks_anchor) for mark in everywhere]
    if never:
        notes.append(esc(f"None {', none '.join(column.heading for column in never)}."))
    return tag("p", join(notes, " "), class_="tl-note") if notes else NOTHING


class ResultNumber(NamedTuple):
    """A number in a table of results, or the reason why it is missing (``absent``).

    The range of the number links to ``each``, the values of each run. ``best`` highlights the number. ``below`` is shown under the range.
    """

    cell: Cell | None
    absent: str = NOT_STATED
    each: str | None = None
    best: bool = False
    below: Html = NOTHING


class ResultLine(NamedTuple):
    """A row of a table of numbers: its heading, its numbers, and the cells after them."""

    head: TableCell
    numbers: Sequence[ResultNumber]
    tail: Sequence[TableCell] = ()


def results_table(
    label: str, columns: Sequence[TableColumn], units: Sequence[Unit], lines: Sequence[ResultLine], write: CellWriter, class_: str = "tl-table"
) -> Table:
    """Return a table of numbers, with aligned decimal points. ``units`` are the units of the columns with numbers."""
    column_digits = [column_decimals([cell for line in lines if (cell := line.numbers[index].cell)], unit) for index, unit in enumerate(units)]
    rows = [TableRow([line.head, *map(write.cell, line.numbers, units, column_digits), *line.tail]) for line in lines]
    return Table(label, columns, [rows], class_, write.marks_anchor)


class CellWriter:
    """Makes the cells of a table of results, and collects their marks in ``used_marks``.

    Marks in ``above`` are shown once above the table, and not in its cells.
    """

    def __init__(self, links: Links, marks_anchor: str, used_marks: UsedMarks, above: Sequence[str] = (), each: str | None = None) -> None:
        """Create a writer. ``each`` is the link to the values of each run, if it is the same for the whole table."""
        self.marks_anchor = marks_anchor
        self._links, self._used_marks, self._above, self._each = links, used_marks, above, each
        add_shared_marks(used_marks, above)

    def cell(self, number: ResultNumber, unit: Unit, digits: int = 0) -> TableCell:
        """Return one cell: the number, its range and its marks. For repeated runs, the number is the median, or the median of each group.

        The number links to its log line; a median links to the line of the median run. ``digits`` is the number of decimals of the column.
        """
        cell = number.cell
        if cell is None:
            return empty(number.absent)
        add_marks(self._used_marks, cell)
        marks = tuple(mark for mark in in_order(cell.marks) if mark not in self._above)
        link, each = self._links.to_line(cell.result), self._each or number.each
        if cell.value is None:
            return empty(number.absent, self._each if cell.coverage and self._each else link, marks, _partly(cell))
        text, pad = (
            (self._medians_of_groups(cell, unit, marks, best=number.best), "") if cell.groups else _aligned(cell.value, cell.result, unit, digits)
        )
        return TableCell(
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

    def _medians_of_groups(self, cell: Cell, unit: Unit, marks: Sequence[str], *, best: bool) -> Html:
        # The mark of two groups is left out, because the cell shows both groups.
        signs = tag("sup", *(mark_link(mark, self.marks_anchor) for mark in marks if mark != TWO_GROUPS)) if {*marks} - {TWO_GROUPS} else NOTHING
        parts = []
        for group in cell.groups:
            number = linked(_aligned(group.value, group.result, unit, 0)[0], self._links.to_line(group.result))
            number_html = tag("strong", number, class_="tl-best") if best else number
            runs_html = tag("span", f"in\u00a0{group.runs}\u00a0runs", class_="tl-of")
            parts.append(tag("span", number_html, runs_html, signs if group is cell.groups[0] else NOTHING, class_="tl-group"))
        return join([*parts, dot_strip([result.value for result in cell.results if result.value is not None])])


def _partly(cell: Cell) -> str | None:
    if cell.coverage is None:
        return None
    several = cell.coverage.wanted > cell.coverage.of_runs
    what = f"measurements in {cell.coverage.of_runs} run{'s' if cell.coverage.of_runs > 1 else ''}" if several else "runs"
    return f"stated in {cell.coverage.times} of {cell.coverage.wanted} {what}, so there is no median of all"


def _values_of_each_run(series: Series, columns: Sequence[MetricColumn], links: Links, anchor: str, move_out: MoveTableOut | None) -> Html:
    rows, has_samples = [], _has_samples(series)
    for payload in series.sizes():
        first = _row_head(series, payload)
        for run, by_name in series.measured.measurements(payload):
            samples = next((result.samples for result in by_name.values() if result.samples is not None), None)
            number_cells = (number_cell(by_name.get(column.pair), column.unit, links, absent_words(*column.pair, [samples])) for column in columns)
            tail = [count(NOT_STATED if samples is None else grouped(samples))] if has_samples else []
            rows.append(TableRow([first, TableCell(run.run, class_="tl-text"), *number_cells, *tail]))
    names = [TableColumn("size"), TableColumn("run", class_="tl-text")]
    heads = [*names, *map(column_head, columns), *([TableColumn("samples")] if has_samples else [])]
    table = Table(f"Each run's {series.results[0].test} numbers: {series.label}", heads, [rows], "tl-table tl-small")
    return folded_table("Each run's numbers", scroller(table), f"{anchor}-each", move_out)


def folded_table(words: str, content: Html, anchor: str, move_out: MoveTableOut | None, *, is_open: bool = False) -> Html:
    """Return a folded table. ``move_out`` moves it into a file of its own."""
    file, page_content = (None, content) if move_out is None else move_out(anchor, content)
    return tag("details", tag("summary", words), page_content, class_="tl-each", id=anchor, data_part=file, open=is_open)


def column_head(column: MetricColumn) -> TableColumn:
    """Return the head of a column, with its unit. If its heading has a short name of the metric, its title has the full one."""
    full = _with_statistic(METRICS[column.metric].words, column.statistic) if column.metric in _SHORT_NAMES else ""
    return TableColumn(column.heading, column.unit.sign, title=full)


def count(text: str, value: object = "") -> TableCell:
    """Return a cell with a count."""
    return TableCell(text, str(value), class_="stat-count")


def _row_head(series: Series, payload: int | None) -> TableCell:
    high = next((result.payload_bytes_high for result in series.measured.of_size[payload] if result.payload_bytes_high is not None), None)
    words = size(payload) if high is None else f"{size(payload)} to {size(high)}"
    if payload is None:
        return head(words, "tl-null")
    return head(words, value=payload, title=f"{grouped(payload)} bytes")


def _has_samples(series: Series) -> bool:
    """Rates need no column of samples, because the number of received messages has its own column."""
    return any(metric == "latency" for metric, _ in series.statistics())


def _samples_cell(series: Series, payload: int | None) -> TableCell:
    counts = sorted({result.samples for result in series.measured.of_size[payload] if result.samples is not None})
    if not counts:
        return empty()
    return count(" to ".join(grouped(samples) for samples in dict.fromkeys((counts[0], counts[-1]))), counts[0])


def _runs_cell(series: Series, payload: int | None) -> TableCell:
    return count(str(len({result.run.run for result in series.measured.of_size[payload]})))


def linked_number(cell: Cell, unit: str, links: Links, *, strong: bool = False, brief: bool = False) -> Html:
    """Return a number for a sentence, linked to its line. Two runs that differ are both named, and two groups of runs too.

    With ``brief``, the other run is left out, and the numbers of two groups are not explained, because a note on the page already explains them.
    """
    title = words_of(cell, unit, in_full)

    def in_words(value: float, result: ResultRow) -> Html:
        number = _in_words(value, result, unit, links, title)
        return tag("strong", number) if strong else number

    if not cell.groups:
        number = in_words(cell.value or 0.0, cell.result)
        other = None if brief else _other_run(cell, unit)
        return join([number, " (the other run: ", in_words(other.value or 0.0, other), ")"]) if other else number
    both = join([in_words(group.value, group.result) for group in cell.groups], " or ")
    if brief:
        return both
    counted = tag("span", " and ".join(str(group.runs) for group in cell.groups), class_="tl-of-groups stat-count")
    return join([both, " (two groups of runs: ", counted, ")"])


def _other_run(cell: Cell, unit: str) -> ResultRow | None:
    """Return the result of the other one of two runs; ``None`` if there are not two runs, or if both are the same in words."""
    others = [result for result in cell.results if result is not cell.result]
    if len(others) != 1 or cell.value is None or others[0].value is None:
        return None
    return others[0] if quantity(others[0].value, unit) != quantity(cell.value, unit) else None


def _in_words(value: float, result: ResultRow, unit: str, links: Links, title: str) -> Html:
    text, link = with_bound(quantity(value, unit), result.bound), links.to_line(result)
    return tag("a", text, href=link, title=title or None) if link else esc(text)


def linked_value(value: float, result: ResultRow, unit: str, links: Links) -> Html:
    """Return the number of one run for a sentence, linked to its line."""
    return _in_words(value, result, unit, links, "")


def marks_of_cells(cells: Iterable[Cell]) -> list[str]:
    """Return the marks that at least nine of ten cells have. They are shown once for all cells, and not at each number."""
    marks = [cell.marks for cell in cells]
    counts = Counter(mark for of_cell in marks for mark in of_cell)
    return in_order(mark for mark, count in counts.items() if count >= len(marks) * _NEARLY_ALL)


def column_decimals(cells: Iterable[Cell], unit: Unit) -> int:
    """Return the number of decimals that align the decimal points of a column."""
    digits = [decimals(rounded(cell.value / unit.size)) for cell in cells if cell.value is not None]
    return min(max(digits, default=0), _MAX_PAD)


def _aligned(value: float, result: ResultRow, unit: Unit, digits: int) -> tuple[str, str]:
    """Return the number, and the decimal point or zeros to add to it, so that all decimal points of the column are aligned."""
    text = rounded(value / unit.size)
    own_digits = decimals(text)
    return with_bound(text, result.bound), ("." if own_digits == 0 else "") + "0" * (digits - own_digits) if digits > own_digits else ""


def _range(cell: Cell, unit: Unit) -> str:
    if cell.low is None or cell.high is None:
        return ""
    ends = [rounded(end / unit.size) for end in (cell.low, cell.high)]
    return _TO.join(ends) if ends[0] != ends[1] else ""


def number_cell(result: ResultRow | None, unit: Unit, links: Links, absent: str = NOT_STATED) -> TableCell:
    """Return one cell: a number of one run, linked to its line. ``absent`` is the text if there is no number."""
    if result is None or result.value is None:
        return empty(absent)
    text = with_bound(rounded(result.value / unit.size), result.bound)
    return TableCell(text, exact(result.value), links.to_line(result), title=in_full(result.value, METRICS[result.metric].unit))


_STATISTICS = ("typical", "range-low", "min", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999", "max", "range-high", "mean", "std")
_HEADINGS = {
    "p50": "median",
    "std": "std dev",
    "range-low": "lowest",
    "range-high": "highest",
    "typical": "typical",
    "min": "min",
    "max": "max",
    "mean": "mean",
}
_COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("sustained_rate", "lower-bound", "sustained rate"),
    ("sustained_rate", "upper-bound", "goal missed at"),
    ("message_rate", "mean", "received rate"),
    ("goodput", "mean", "goodput"),
    ("offered_rate", "mean", "offered rate"),
    ("cpu_per_message", "mean", "processor time per message"),
    ("messages_sent", "total", "sent"),
    ("messages_received", "total", "received"),
    ("messages_lost", "total", "lost"),
    ("loss", "total", "loss"),
    ("messages_duplicated", "total", "received twice"),
    ("messages_late", "total", "answered late"),
    ("messages_reordered", "total", "out of order"),
    ("messages_corrupted", "total", "corrupted"),
    ("histogram_overflow", "total", "above the histogram"),
    ("duration", "total", "duration"),
)
# The names of metrics that have a column for each statistic. Their full names would need ten lines in each of these columns.
_SHORT_NAMES = {"send_lateness": "send delay", "send_call": "send call", "interval_per_message": "time divided by messages"}
_ERRORS = ("messages_duplicated", "messages_late", "messages_reordered", "messages_corrupted", "histogram_overflow")
_MEASURED = ("latency", "goodput", "message_rate", "sustained_rate")


class MetricColumn(msgspec.Struct, frozen=True):
    """A column of numbers: metric, statistic, heading and unit."""

    metric: str
    statistic: str
    heading: str
    unit: Unit

    @property
    def pair(self) -> tuple[str, str]:
        """The metric and the statistic."""
        return self.metric, self.statistic


def columns_of(series: Series) -> list[MetricColumn]:
    """Return the columns for which a series has numbers, in the order of the table."""
    present = series.statistics()
    latency = [MetricColumn("latency", name, heading_of("latency", name), unit_shown("ns")) for name in _STATISTICS if ("latency", name) in present]
    others = [
        MetricColumn(metric, statistic, heading, SECONDS if metric == "duration" else unit_shown(METRICS[metric].unit))
        for metric, statistic, heading in _COLUMNS
        if (metric, statistic) in present
    ]
    listed = {(column.metric, column.statistic) for column in (*latency, *others)}
    unlisted = [
        MetricColumn(metric, statistic, _metric_words(metric, statistic), _metric_unit(metric))
        for metric, statistic in present
        if (metric, statistic) not in listed
    ]
    return [*latency, *others, *unlisted]


def heading_of(metric: str, statistic: str) -> str:
    """Return the heading of a number: ``median``, ``99 %``, ``goodput``."""
    if metric == "latency":
        return _statistic_words(statistic)
    return next((heading for *pair, heading in _COLUMNS if pair == [metric, statistic]), _metric_words(metric, statistic))


def without_zeros(series: Series, columns: Sequence[MetricColumn]) -> tuple[list[MetricColumn], list[MetricColumn]]:
    """Return two lists of columns: those to show, and those of errors that never occurred. A sentence replaces the latter."""
    never = [column for column in columns if column.metric in _ERRORS and _all_zero(series, column)]
    return [column for column in columns if column not in never], never


def marks_everywhere(series: Series, columns: Sequence[MetricColumn]) -> list[str]:
    """Return the marks that nearly every latency and rate of a series has."""
    return marks_of_cells(cell for column in columns if column.metric in _MEASURED for cell in series.cells(column.metric, column.statistic).values())


def _all_zero(series: Series, column: MetricColumn) -> bool:
    return all(cell.high == 0 for cell in series.cells(column.metric, column.statistic).values())


def _metric_words(metric: str, statistic: str) -> str:
    words = METRICS[metric].words.lower() if metric in METRICS else metric
    return _with_statistic(_SHORT_NAMES.get(metric, words), statistic)


def _with_statistic(words: str, statistic: str) -> str:
    return words if statistic == "total" else f"{words}, {_statistic_words(statistic)}"


def _statistic_words(statistic: str) -> str:
    return _HEADINGS.get(statistic, statistic if percentile(statistic) is None else f"{statistic.removeprefix('p')} %")


def _metric_unit(metric: str) -> Unit:
    return unit_shown(METRICS[metric].unit) if metric in METRICS else Unit("", 1.0)


def worst_run(cell: Cell) -> tuple[float, ResultRow]:
    """Return the largest share that a run lost, and the result that states this share. The cell must have a value."""
    return max(((result.value, result) for result in cell.results if result.value is not None), key=lambda candidate: candidate[0])


def lost_words(cell: Cell, links: Links) -> Html:
    """Return the words below a rate: the share of lost messages (``77 %``). If most runs lost little, state only the worst run (``up to 3 %``)."""
    if cell.groups:
        low, high = (linked_value(group.value, group.result, "ratio", links) for group in sorted(cell.groups, key=lambda group: group.value))
        words = ["some runs lost ", low, ", others ", high]
    elif cell.value is not None and cell.value > LOSS_LIMIT:
        words = [linked_number(cell, "ratio", links), " lost"]
    else:  # if the median loss is 0 %, show the worst run, because "0 %" beside the mark of loss looks like a mistake
        words = ["up to ", linked_value(*worst_run(cell), "ratio", links), " lost"]
    return tag("span", *words, class_="tl-runs tl-lost")


def loss_line(title: str, series: Sequence[Series], links: Links) -> Html:
    """Return one line on the largest loss of a test, which is shown above folded content; nothing if no rate has the mark of loss."""
    marked = [
        (*worst_run(cell), payload, member)
        for member in series
        if member.has_mark(LOSS)
        for payload, cell in member.cells("loss", "total").items()
        if cell.value is not None and LOSS in cell.marks
    ]
    if not marked:
        return NOTHING
    most, result, payload, worst = max(marked, key=lambda candidate: candidate[0])
    of_several = f"{worst.label}, " if len(series) > 1 else ""
    where = tag("span", f"{of_several}{size(payload)}", class_="stat-size")
    share = tag("strong", linked_value(most, result, "ratio", links))
    return tag("p", f"{title}: up to ", share, " of the messages were lost (", where, ").", class_="tl-note tl-loss")
