"""A diff as one HTML file: no script, no request, readable in print and in both colour schemes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from tacholog.compare.result import Report, RunOrder
from tacholog.installation import site_dir
from tacholog.render.diff import plot as diff_plot
from tacholog.render.diff.counts import APART, apart_words, buttons
from tacholog.render.diff.document import LOSS_SAYS, Section, document
from tacholog.render.diff.leads import NO_LEADS, Leads
from tacholog.render.diff.meanings import MEANINGS
from tacholog.render.diff.picture import picture
from tacholog.render.diff.shapes import swatch
from tacholog.render.diff.summary import by_transport, conclusion, shown_part
from tacholog.render.html import NOTHING, Html, join, linked, tag
from tacholog.render.table import Cell, Column, Row, Table, head, scroller
from tacholog.render.templates import html_templates
from tacholog.runs.labels import label_name
from tacholog.runs.moments import instant
from tacholog.slugs import slug

_PLOTTED = ("worse", "better", "inconclusive", "too_few_pairs", "no_change")
_MOST = 10_000  # rows of a verdict in a file: a browser does not show a million
_MOST_IN_PART = 100  # runs, and rows with loss, in a part of a page
_ELEMENTS_IN_PART = 4_500  # of its rows, runs and picture together: a browser lays out 5000 at once, and the frame of the page has 300
_LEAST_ROWS = 10  # of each verdict, whatever they cost
_OPEN = ("worse", "better")
_FOLDED = ("no_change", "unreplicated_same")  # also where they come first: nobody needs to look at them


class DiffBlock(msgspec.Struct, frozen=True):
    """The rows of one verdict: the table of those that are seen at once, and the table of so ``many_more`` that a reader unfolds."""

    section: Section
    sentence: Html
    folded: bool
    table: Html
    more: Html
    many_more: int
    is_drawn: bool


def html(report: Report, only: Sequence[str] = (), limit: int = 500) -> str:
    """The report as a page of its own.

    Args:
        report: the comparison.
        only: the verdicts to show; none: all.
        limit: rows to show at once of each verdict, the others are folded; 0: all.
    """
    style = (site_dir() / "_static" / "tacholog-diff.css").read_text(encoding="utf-8")
    return (
        html_templates()
        .get_template("diff.html.jinja")
        .render(
            **_context(report, only, limit),
            style=Html(style),  # noqa: S704 - our own file
            heading="h2",
        )
    )


def fragment(report: Report, anchor: str, only: Sequence[str] = (), limit: int = 50, leads: Leads = NO_LEADS) -> Html:
    """The report as part of a page; ``anchor`` begins all of its ids (`anchor_of`), ``leads`` are its links."""
    context = _context(report, only, limit, f"{anchor}-", _MOST_IN_PART, leads)
    rendered = html_templates().get_template("diff_rows.html.jinja").render(**context, heading="span")
    return tag("div", Html(rendered), class_="tl-diff", id=anchor)  # noqa: S704 - by an environment that escapes


def anchor_of(system: str, old: str, new: str, labels: Sequence[tuple[str, str]] = ()) -> str:
    """Return what the ids of a comparison on a page begin with; that of a verdict's rows ends with the verdict."""
    return slug(" ".join([f"diff {system} {old} {new}", *(f"{label_name(field)}={value}" for field, value in labels)]))


def brief(report: Report, target: str | None) -> Html:
    """The report in a line, with a link to all of it."""
    title = f"{report.old.name} \u2192 {report.new.name}"
    systems = " and ".join(name for name in report.new.systems if name.lower() not in report.new.name.lower())
    title = f"{systems}: {title}" if systems else title
    shown = shown_part(report, ())
    items = [tag("li", tag("b", one.number), f" {one.words.lower()}", class_=one.style) for one in buttons(shown)]
    apart = sum(shown.counts[verdict] for verdict in APART)
    items += [tag("li", tag("b", apart), f" {'does' if apart == 1 else 'do'} not compare")] if apart else []
    return tag(
        "div",
        tag("p", tag("a", title, href=f"doc:{target}") if target else tag("b", title), class_="lead stat-label"),
        tag("p", conclusion(report, with_reasons=False), class_="stat-evidence"),
        tag("ul", *items, class_="counts stat-count"),
        class_="tl-diff",
    )


def _context(report: Report, only: Sequence[str], limit: int, prefix: str = "", most: int = _MOST, leads: Leads = NO_LEADS) -> dict[str, Any]:
    report = shown_part(report, only)
    listed = limit and max(limit, most if most == _MOST else _ELEMENTS_IN_PART // 6)
    said = document(report, only, listed, most, with_reasons=False)
    found: Iterable[Section] = said.sections
    if most != _MOST:
        found = _bounded(found, 6 * min(len(report.runs), most) + 7 * len(said.loss_lines), 2 * leads.is_linked)
    blocks = [_block(section, limit, leads, is_open=_is_open(section, place)) for place, section in enumerate(found)]
    moments = sorted(report.runs, key=lambda run: (instant(run.start_time) or 0.0, run.order_index or 0))
    apart = [block for block in blocks if block.section.verdict in APART]
    return {
        "prefix": prefix,
        "report": report,
        "said": said,
        "picture": NOTHING if only else picture(report),
        "counts": [(one, swatch(one.place)) for one in buttons(report)],
        "blocks": [block for block in blocks if block.section.verdict not in APART],
        "apart": apart,
        "apart_words": apart_words(report),
        "loss_table": scroller(_titled(said.loss_table(leads.line), "Lost"), "scroll", tools=False) if said.loss_lines else NOTHING,
        "loss_open": any(line.verdict in _OPEN or line.way == "higher" for line in said.loss_lines),
        "loss_says": LOSS_SAYS if report.losses else "",
        "legend": diff_plot.legend() if any(block.is_drawn for block in blocks) else "",
        "runs": scroller(_runs(moments[:most]), "scroll", tools=False),
        "other_runs": len(moments[most:]),
        "transports": _transports(report, leads, prefix, with_apart=bool(apart)),
    }


def _transports(report: Report, leads: Leads, prefix: str, *, with_apart: bool) -> Html:
    """Return how many rows of each transport have which verdict; nothing for a single transport."""
    found = by_transport(report)
    if not found:
        return NOTHING
    columns = [Column("Transport")]
    for verdict, _, _ in found[0].counts:
        title = join([swatch(verdict), MEANINGS[verdict].title])
        columns.append(Column(linked(title, f"#{prefix}{verdict}" if report.counts[verdict] else None), class_=f"n {verdict}"))
    columns += [Column(tag("a", "Do not compare", href=f"#{prefix}apart"), class_="n")] if with_apart else []
    rows = []
    for line in found:
        cells = [head(linked(line.name, leads.transport(line.system, line.transport)))]
        for verdict, number, which in line.counts:
            named = join([" ", tag("span", "(", which, ")", class_="which")]) if which else NOTHING
            cells.append(Cell(str(number), below=named, class_=f"n stat-count {verdict}"))
        rows.append(Row([*cells, *([Cell(str(line.apart), class_="n stat-count")] if with_apart else [])]))
    return scroller(Table("Transports", columns, [rows], "transports"), "scroll", tools=False)


def _runs(moments: Sequence[RunOrder]) -> Table:
    """Return the runs in the order of time."""
    rows = []
    for run in moments:
        name = run.run if run.status in (None, "ok") else f"{run.run} ({run.status})"
        when, session = run.start_time or "time not stated", run.session or "no session stated"
        rows.append(Row([Cell(tag("b", run.side)), Cell(name), Cell(when), Cell(session)]))
    return Table("Runs", [Column("Side"), Column("Run"), Column("Started"), Column("Session")], [rows])


def _bounded(found: Iterable[Section], spent: int, links: int) -> Iterator[Section]:
    """Yield the sections with as many rows as a part of a page may hold beside the ``spent`` elements; the first verdicts matter most.

    ``links`` is how many each row has.
    """
    left = _ELEMENTS_IN_PART - spent - 300  # the picture's signs with their words
    for section in found:
        of_row = links + (6 if section.verdict in APART else 18 if section.verdict in _PLOTTED else 12)
        lines = section.lines[: max(_LEAST_ROWS, left // of_row)]
        left -= of_row * len(lines)
        yield msgspec.structs.replace(section, lines=lines)


def _is_open(section: Section, place: int) -> bool:
    """Whether rows are seen at once: what changed, or else what comes first. The other verdicts are folded under their names and counts."""
    return section.verdict in _OPEN or (place == 0 and section.verdict not in _FOLDED)


def _block(section: Section, limit: int, leads: Leads, *, is_open: bool) -> DiffBlock:
    span = diff_plot.reach([line.row for line in section.lines])
    axis = diff_plot.axis(span) if section.verdict in _PLOTTED else NOTHING
    is_apart = section.verdict in APART  # such rows have nothing to draw: their values must not be set side by side
    runs = [NOTHING if is_apart else diff_plot.runs_plot(line.row) for line in section.lines]
    drawn = [(Column(join(["Ratio, drawn", axis])), [diff_plot.ratio_plot(line.row, span) for line in section.lines])] if axis else []
    drawn += [(Column("Runs"), runs)] if any(runs) else []
    table, rows = _drawn(section, leads, drawn, said_below=bool(axis))
    first, more = rows[: limit or None], rows[limit:] if limit else []
    later = table._replace(label=f"{section.title}, more rows", bodies=[[row for each in more for row in each]])
    return DiffBlock(
        section=section,
        sentence=_with_code(section.sentence),
        folded=not is_open,
        table=scroller(table._replace(bodies=[[row for each in first for row in each]]), "scroll", tools=False),
        more=scroller(later, "scroll", tools=False) if more else NOTHING,
        many_more=len(more),
        is_drawn=any(any(found) for _, found in drawn),
    )


def _drawn(section: Section, leads: Leads, drawn: Sequence[tuple[Column, Sequence[Html]]], *, said_below: bool) -> tuple[Table, list[list[Row]]]:
    """Return the table of a section with its drawings, and the rows of each line.

    With ``said_below``, a remark has a row of its own: beside so many columns it would be narrow, which makes rows high.
    """
    table = _titled(section.table(leads.line), "Why").without_empty_columns()
    has_remarks = any(line.remark for line in section.lines)
    before = len(table.columns) - has_remarks
    columns = [*table.columns[:before], *(column for column, _ in drawn), *([] if said_below else table.columns[before:])]
    rows = []
    for place, row in enumerate(table.rows):
        cells = [*row.cells[:before], *(Cell(found[place]) for _, found in drawn)]
        remark = row.cells[before:]
        if not said_below:
            rows.append([Row([*cells, *remark])])
        elif section.lines[place].remark:
            rows.append([Row(cells, "said"), Row([remark[0]._replace(span=len(columns))], "why")])
        else:
            rows.append([Row(cells)])
    return table._replace(columns=columns), rows


def _titled(table: Table, last: str) -> Table:
    """Return a table with headings that begin with a capital letter, and a heading for its remarks."""
    return table._replace(columns=[*(one._replace(heading=one.heading.capitalize()) for one in table.columns[:-1]), Column(last)])


def _with_code(sentence: str) -> Html:
    """Return a sentence in which words between back quotes are code."""
    return join(tag("code", part) if index % 2 else part for index, part in enumerate(sentence.split("`")))
