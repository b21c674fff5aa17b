"""A comparison as one HTML file without scripts and requests, readable in print and in both colour schemes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import Any

import msgspec

from tacholog.compare.comparable import as_text
from tacholog.compare.result import DIFFERS, Comparison, ComparisonRow, Loss, RowKey, RunOrder, Side
from tacholog.installation import site_dir
from tacholog.render.diff import drawings
from tacholog.render.diff.document import LINKED, LOSS_SAYS, LinkOf, VerdictSection, document, no_link
from tacholog.render.diff.drawings import picture, swatch
from tacholog.render.diff.summary import APART, apart_words, buttons, by_transport, short_conclusion, shown_part
from tacholog.render.diff.words import MEANINGS, Which
from tacholog.render.html import NOTHING, Html, join, linked, tag
from tacholog.render.links import Links
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, head, scroller
from tacholog.render.templates import html_templates
from tacholog.runs.labels import is_label, label_name, labels_of
from tacholog.runs.moments import instant
from tacholog.slugs import slug
from tacholog.view.page_index import PageIndex
from tacholog.view.results import CONDITIONS, ResultRow, RunRow, is_of_control, of_these_runs
from tacholog.view.views import View

_OF_RUN = frozenset(RunRow.__struct_fields__)
_NAMES = tuple(name for name in RowKey.__struct_fields__ if name != "apart")


class ComparisonLinks:
    """The links of a comparison. With ``NO_LINKS``, nothing is linked."""

    def __init__(
        self,
        line: LinkOf = no_link,
        pages: PageIndex | None = None,
        *,
        is_linked: bool = False,
    ) -> None:
        """Store the links: ``line`` returns the link to the value of a side, ``pages`` are the pages of transports."""
        self.line, self._pages, self.is_linked = line, pages or PageIndex(), is_linked

    def transport(self, system: str | None, transport: str | None) -> str | None:
        """Return the link to the page of a transport; ``None`` if there is no page, or more than one."""
        documents = {part.document for part in self._pages.parts if (part.system, part.transport) == (system, transport)}
        return f"doc:{documents.pop()}" if len(documents) == 1 else None


NO_LINKS = ComparisonLinks()


def links_of(comparison: Comparison, sides: Mapping[Which, View], links: Links, pages: PageIndex) -> ComparisonLinks:
    """Return the links of a comparison: from values to log lines, and from transports to their pages."""
    names = tuple(name for name in _NAMES if name not in comparison.settings.across)
    wanted = {"old": {_setting(key, names) for key in (*(row.key for row in comparison.rows), *(loss.key for loss in comparison.losses))}}
    wanted["new"] = wanted["old"] | {_setting(row.new_key, names) for row in comparison.rows if row.new_key}
    numbers = {which: _numbers(side, wanted[which], names) for which, side in sides.items()} if links.logs is not None else {}
    controls = {id(row) for row in comparison.controls.rows} if comparison.controls else set()

    def line(row: ComparisonRow | Loss, which: Which, of_value: float | None = None, /) -> str | None:
        key = row.new_key if isinstance(row, ComparisonRow) and which == "new" and row.new_key else row.key
        value = _median_or_largest_loss(row, which) if of_value is None else of_value
        if value is None:
            return None
        candidates = [number for number in numbers.get(which, {}).get(_setting(key, names), ()) if is_of_control(number) == (id(row) in controls)]
        matching = of_these_runs(_with_conditions(candidates, key.apart), value, _values_of_runs(row, which))
        return next((link for number in matching if (link := links.to_line(number))), None)

    return ComparisonLinks(line, pages, is_linked=bool(numbers))


def _median_or_largest_loss(row: ComparisonRow | Loss, which: Which) -> float | None:
    if isinstance(row, Loss):
        lost = row.old if which == "old" else row.new
        return lost.most if lost else None
    side = row.old if which == "old" else row.new
    return side.median if side else None


def _values_of_runs(row: ComparisonRow | Loss, which: Which) -> Sequence[float]:
    side = row.old if which == "old" else row.new
    return side.values if isinstance(side, Side) else ()


def _setting(key: RowKey, names: Sequence[str]) -> tuple[object, ...]:
    return tuple(getattr(key, name) for name in names)


def _numbers(side: View, wanted: set[tuple[object, ...]], names: Sequence[str]) -> dict[tuple[object, ...], list[ResultRow]]:
    """Return only the numbers of the wanted rows, by row, because a release has many more numbers."""
    metrics = {(setting[-2], setting[-1]) for setting in wanted}  # the last two fields are metric and statistic
    numbers: dict[tuple[object, ...], list[ResultRow]] = {}
    for number in side.summaries():
        if (number.metric, number.statistic) in metrics and (setting := tuple(_of_number(number, name) for name in names)) in wanted:
            numbers.setdefault(setting, []).append(number)
    return numbers


def _of_number(number: ResultRow, name: str) -> object:
    if name == "system":
        return number.run.system
    return getattr(number.conditions if name in CONDITIONS else number, name)


def _with_conditions(there: Iterable[ResultRow], conditions: Sequence[tuple[str, str | None]]) -> list[ResultRow]:
    """Return the numbers that have all of these conditions, which are the conditions of a row.

    A number of another row must not be linked, even if both numbers have the same value.
    """
    return [number for number in there if all(_has(number, name, text) for name, text in conditions)]


def _has(number: ResultRow, name: str, text: str | None) -> bool:
    if is_label(name):
        return labels_of(number.run.labels).get(name) == text
    if name in CONDITIONS:
        return as_text(getattr(number.conditions, name)) == text
    return name not in _OF_RUN or as_text(getattr(number.run, name)) == text


_PLOTTED = ("worse", "better", *DIFFERS, "inconclusive", "too_few_pairs", "no_change", "differs_not")
_MOST = 10_000  # the largest number of rows of a verdict in a file; a browser cannot show a million
_MOST_IN_PART = 100  # a part of a page lists at most this number of runs, and this number of rows with loss
_ELEMENTS_IN_PART = 4_500  # the largest number of HTML elements; a browser is fast up to about 5000, and the frame has 300
_LEAST_ROWS = 10  # the number of rows of each verdict that are shown even if the part has too many elements
_FOLDED = ("no_change", "differs_not", "unreplicated_same")  # sections of these verdicts are folded, even the first one on a page


class DiffBlock(msgspec.Struct, frozen=True):
    """The rows of one verdict.

    ``table`` contains the rows that are visible at first. ``more`` contains the remaining rows, which are folded, and ``many_more`` is the number of
    these rows.
    """

    section: VerdictSection
    sentence: Html
    folded: bool
    table: Html
    more: Html
    many_more: int
    is_drawn: bool


def html(comparison: Comparison, only: Sequence[str] = (), limit: int = 500) -> str:
    """Return the comparison as an HTML file.

    Args:
        comparison: the comparison.
        only: the verdicts to show; if empty, all verdicts.
        limit: the number of unfolded rows of each verdict; 0: all rows.
    """
    style = (site_dir() / "_static" / "tacholog-diff.css").read_text(encoding="utf-8")
    return (
        html_templates()
        .get_template("diff.html.jinja")
        .render(
            **_context(comparison, only, limit),
            style=Html(style),  # noqa: S704 - our own file
            heading="h2",
        )
    )


def fragment(comparison: Comparison, anchor: str, only: Sequence[str] = (), limit: int = 50, links: ComparisonLinks = NO_LINKS) -> Html:
    """Return the comparison as a part of a page. All its ids begin with ``anchor`` (`anchor_of`); ``links`` are its links."""
    context = _context(comparison, only, limit, f"{anchor}-", _MOST_IN_PART, links)
    rendered = html_templates().get_template("diff_rows.html.jinja").render(**context, heading="span")
    return tag("div", Html(rendered), class_="tl-diff", id=anchor)  # noqa: S704 - by an environment that escapes


def anchor_of(system: str, old: str, new: str, labels: Sequence[tuple[str, str]] = ()) -> str:
    """Return the prefix of the ids of a comparison on a page. The id of a verdict's rows is this prefix with the verdict appended."""
    return slug(" ".join([f"diff {system} {old} {new}", *(f"{label_name(field)}={value}" for field, value in labels)]))


def brief(comparison: Comparison, target: str | None) -> Html:
    """Return the comparison in one line, with a link to the whole comparison."""
    title = f"{comparison.old.name} \u2192 {comparison.new.name}"
    systems = " and ".join(name for name in comparison.new.systems if name.lower() not in comparison.new.name.lower())
    title = f"{systems}: {title}" if systems else title
    part = shown_part(comparison, ())
    items = [tag("li", tag("b", count.number), f" {count.words.lower()}", class_=count.style) for count in buttons(part)]
    total_apart = sum(part.counts[verdict] for verdict in APART)
    items += [tag("li", tag("b", total_apart), f" {'does' if total_apart == 1 else 'do'} not compare")] if total_apart else []
    return tag(
        "div",
        tag("p", tag("a", title, href=f"doc:{target}") if target else tag("b", title), class_="lead stat-label"),
        tag("p", short_conclusion(comparison), class_="stat-evidence"),
        tag("ul", *items, class_="counts stat-count"),
        class_="tl-diff",
    )


def _context(
    comparison: Comparison, only: Sequence[str], limit: int, prefix: str = "", most: int = _MOST, links: ComparisonLinks = NO_LINKS
) -> dict[str, Any]:
    comparison = shown_part(comparison, only)
    listed = limit and max(limit, most if most == _MOST else _ELEMENTS_IN_PART // 6)
    content = document(comparison, only, listed, most, with_reasons=False)
    verdict_sections: Iterable[VerdictSection] = content.sections
    if most != _MOST:
        verdict_sections = _bounded(verdict_sections, 6 * min(len(comparison.runs), most) + 7 * len(content.loss_lines), 2 * links.is_linked)
    blocks = [_block(section, limit, links, is_open=_is_open(section, index)) for index, section in enumerate(verdict_sections)]
    moments = sorted(comparison.runs, key=lambda run: (instant(run.start_time) or 0.0, run.order_index or 0))
    apart_blocks = [block for block in blocks if block.section.verdict in APART]
    return {
        "prefix": prefix,
        "report": comparison,
        "content": content,
        "picture": NOTHING if only else picture(comparison),
        "counts": [(count, swatch(count.anchor)) for count in buttons(comparison)],
        "blocks": [block for block in blocks if block.section.verdict not in APART],
        "apart": apart_blocks,
        "apart_words": apart_words(comparison),
        "loss_table": scroller(_titled(content.loss_table(links.line), "Lost"), "scroll", tools=False) if content.loss_lines else NOTHING,
        "loss_open": any(line.verdict in LINKED or line.direction == "higher" for line in content.loss_lines),
        "loss_says": LOSS_SAYS if comparison.losses else "",
        "legend": drawings.legend() if any(block.is_drawn for block in blocks) else "",
        "runs": scroller(_table_of_runs(moments[:most]), "scroll", tools=False),
        "other_runs": len(moments[most:]),
        "transports": _table_of_transports(comparison, links, prefix, with_apart=bool(apart_blocks)),
    }


def _table_of_transports(comparison: Comparison, links: ComparisonLinks, prefix: str, *, with_apart: bool) -> Html:
    transports = by_transport(comparison)
    if not transports:
        return NOTHING
    columns = [TableColumn("Transport")]
    for verdict, _, _ in transports[0].counts:
        title = join([swatch(verdict), MEANINGS[verdict].title])
        columns.append(TableColumn(linked(title, f"#{prefix}{verdict}" if comparison.counts[verdict] else None), class_=f"n {verdict}"))
    columns += [TableColumn(tag("a", "Do not compare", href=f"#{prefix}apart"), class_="n")] if with_apart else []
    rows = []
    for line in transports:
        cells = [head(linked(line.name, links.transport(line.system, line.transport)))]
        for verdict, number, which in line.counts:
            named = join([" ", tag("span", "(", which, ")", class_="which")]) if which else NOTHING
            cells.append(_count_cell(number, verdict, MEANINGS[verdict].title, named))
        rows.append(TableRow([*cells, *([_count_cell(line.not_comparable, "", "Do not compare")] if with_apart else [])]))
    return scroller(Table("Transports", columns, [rows], "transports"), "scroll", tools=False)


def _count_cell(number: int, verdict: str, title: str, below: Html = NOTHING) -> TableCell:
    """Return a cell with a count. On phones, it names its column, and a count of 0 is hidden."""
    return TableCell(str(number), below=below, class_=f"n stat-count {verdict}{'' if number else ' zero'}", head=title)


def _table_of_runs(moments: Sequence[RunOrder]) -> Table:
    rows = []
    for run in moments:
        name = run.run if run.status in (None, "ok") else f"{run.run} ({run.status})"
        when, session = run.start_time or "time not stated", run.session or "no session stated"
        rows.append(TableRow([TableCell(tag("b", run.side)), TableCell(name), TableCell(when), TableCell(session)]))
    return Table("Runs", [TableColumn("Side"), TableColumn("Run"), TableColumn("Started"), TableColumn("Session")], [rows])


def _bounded(sections: Iterable[VerdictSection], spent: int, links: int) -> Iterator[VerdictSection]:
    """Yield the sections with fewer rows, so that this part of a page does not get too many HTML elements. The first sections keep the most rows.

    ``spent`` is the number of HTML elements that the part already has. ``links`` is the number of links of each row.
    """
    left = _ELEMENTS_IN_PART - spent - 300  # reserves 300 elements for the picture: its signs and their titles
    for section in sections:
        # Each side of a row with two groups may link both of its groups.
        in_groups = sum("two_modes" in line.row.flags for line in section.lines) if section.verdict in LINKED else 0
        of_row = (
            links
            + ceil(2 * links * in_groups / max(len(section.lines), 1))
            + (6 if section.verdict in APART else 18 if section.verdict in _PLOTTED else 12)
        )
        lines = section.lines[: max(_LEAST_ROWS, left // of_row)]
        left -= of_row * len(lines)
        yield msgspec.structs.replace(section, lines=lines)


def _is_open(section: VerdictSection, index: int) -> bool:
    return section.verdict in LINKED or (index == 0 and section.verdict not in _FOLDED)


def _block(section: VerdictSection, limit: int, links: ComparisonLinks, *, is_open: bool) -> DiffBlock:
    span = drawings.reach([line.row for line in section.lines])
    axis = drawings.axis(span) if section.verdict in _PLOTTED else NOTHING
    is_apart = section.verdict in APART  # no drawing, because the values of these rows must not be compared
    runs = [NOTHING if is_apart else drawings.runs_plot(line.row) for line in section.lines]
    drawn = [(TableColumn(join(["Ratio, drawn", axis])), [drawings.ratio_plot(line.row, span) for line in section.lines])] if axis else []
    drawn += [(TableColumn("Runs"), runs)] if any(runs) else []
    table, rows = _drawn(section, links, drawn, said_below=bool(axis))
    first, more = rows[: limit or None], rows[limit:] if limit else []
    later = table._replace(label=f"{section.title}, more rows", bodies=[[row for each in more for row in each]])
    return DiffBlock(
        section=section,
        sentence=_with_code(section.sentence),
        folded=not is_open,
        table=scroller(table._replace(bodies=[[row for each in first for row in each]]), "scroll", tools=False),
        more=scroller(later, "scroll", tools=False) if more else NOTHING,
        many_more=len(more),
        is_drawn=any(any(cells) for _, cells in drawn),
    )


def _drawn(
    section: VerdictSection, links: ComparisonLinks, drawn: Sequence[tuple[TableColumn, Sequence[Html]]], *, said_below: bool
) -> tuple[Table, list[list[TableRow]]]:
    """Return the table of a section with its drawings. Also return the body of this table: for each compared row, a list of one or two table rows.

    If ``said_below`` is true, the second table row has the remark on the compared row. In a column, this remark would be narrow and high.
    """
    table = _titled(section.table(links.line), "Why").without_empty_columns()
    has_remarks = any(line.remark for line in section.lines)
    before = len(table.columns) - has_remarks
    columns = [*table.columns[:before], *(column for column, _ in drawn), *([] if said_below else table.columns[before:])]
    rows = []
    for index, row in enumerate(table.rows):
        cells = [*row.cells[:before], *(TableCell(column_cells[index]) for _, column_cells in drawn)]
        remark = row.cells[before:]
        if not said_below:
            rows.append([TableRow([*cells, *remark])])
        elif section.lines[index].remark:
            rows.append([TableRow(cells, "said"), TableRow([remark[0]._replace(span=len(columns))], "why")])
        else:
            rows.append([TableRow(cells)])
    return table._replace(columns=columns), rows


def _titled(table: Table, last: str) -> Table:
    return table._replace(columns=[*(column._replace(heading=column.heading.capitalize()) for column in table.columns[:-1]), TableColumn(last)])


def _with_code(sentence: str) -> Html:
    return join(tag("code", part) if index % 2 else part for index, part in enumerate(sentence.split("`")))
