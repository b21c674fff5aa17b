"""A diff as one HTML file: no script, no request, readable in print and in both colour schemes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from tacholog.compare.result import DiffRow, Report, RunOrder
from tacholog.render.diff import plot as diff_plot
from tacholog.render.diff import words
from tacholog.render.diff.apart import APART, apart_words
from tacholog.render.diff.counts import buttons
from tacholog.render.diff.leads import NO_LEADS, Leads
from tacholog.render.diff.loss import LOSS_SAYS, loss_lines, loss_sentence
from tacholog.render.diff.meanings import MEANINGS
from tacholog.render.diff.moved import by_transport
from tacholog.render.diff.notes import changed_words, machine_words, marked, warnings
from tacholog.render.diff.picture import picture
from tacholog.render.diff.sections import DiffLine, Section, sections
from tacholog.render.diff.shapes import swatch
from tacholog.render.diff.summary import across_words, conclusion, curve_words, figures_words, shown_part, side_words, unstated_words
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.templates import html_templates
from tacholog.resources import site_dir
from tacholog.runs.labels import label_name
from tacholog.runs.moments import instant
from tacholog.slugs import slug
from tacholog.view.numerals import in_full

_PLOTTED = ("worse", "better", "inconclusive", "too_few_pairs", "no_change")
_MOST = 10_000  # rows of a verdict in a file: a browser does not show a million
_MOST_IN_PART = 100  # runs, and rows with loss, in a part of a page
_ELEMENTS_IN_PART = 4_500  # of its rows, runs and picture together: a browser lays out 5000 at once, and the frame of the page has 300
_LEAST_ROWS = 10  # of each verdict, whatever they cost
_OPEN = ("worse", "better")
_FOLDED = ("no_change", "unreplicated_same")  # also where they come first: nobody needs to look at them


class DiffCell(msgspec.Struct, frozen=True):
    """A row of the page: its words, its drawings, both values with all their digits, and the links to their lines."""

    line: DiffLine
    ratio_plot: Html
    runs_plot: Html
    full: tuple[str, str]
    leads: tuple[str | None, str | None]


class DiffBlock(msgspec.Struct, frozen=True):
    """The rows of one verdict, with the axis that their drawings share: those that are seen at once, and those that a reader unfolds."""

    section: Section
    sentence: Html
    folded: bool
    axis: Html | None
    cells: tuple[DiffCell, ...]
    more: tuple[DiffCell, ...]
    with_runs: bool
    with_ratios: bool
    with_intervals: bool
    with_remarks: bool

    @property
    def is_drawn(self) -> bool:
        """Whether its ratios are drawn. Then a remark has a line of its own: beside so many columns it would be narrow, which makes rows high."""
        return self.axis is not None

    @property
    def columns(self) -> int:
        """How many columns the table of these rows has."""
        return 3 + self.with_ratios + self.with_intervals + self.is_drawn + self.with_runs + (self.with_remarks and not self.is_drawn)


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
            prefix="",
        )
    )


def fragment(report: Report, anchor: str, only: Sequence[str] = (), limit: int = 50, leads: Leads = NO_LEADS) -> Html:
    """The report as part of a page; ``anchor`` begins all of its ids (`anchor_of`), ``leads`` are its links."""
    context = _context(report, only, limit, _MOST_IN_PART, leads)
    rendered = html_templates().get_template("diff_rows.html.jinja").render(**context, heading="span", prefix=f"{anchor}-")
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


def _context(report: Report, only: Sequence[str], limit: int, most: int = _MOST, leads: Leads = NO_LEADS) -> dict[str, Any]:
    report = shown_part(report, only)
    losses = loss_lines(report, most)
    found: Iterable[Section] = sections(report, only, limit and max(limit, most if most == _MOST else _ELEMENTS_IN_PART // 6))
    if most != _MOST:
        found = _bounded(found, 6 * min(len(report.runs), most) + 7 * len(losses), 2 * leads.is_linked)
    blocks = [_block(section, limit, leads, is_open=_is_open(section, place)) for place, section in enumerate(found)]
    is_drawn = any(cell.ratio_plot or cell.runs_plot for block in blocks if block.axis or block.with_runs for cell in (*block.cells, *block.more))
    transports = by_transport(report)
    moments = sorted(report.runs, key=lambda run: (instant(run.start_time) or 0.0, run.order_index or 0))
    return {
        "report": report,
        "conclusion": conclusion(report, with_reasons=False),
        "picture": NOTHING if only else picture(report),
        "across": across_words(report),
        "sides": [("Old", side_words(report.old)), ("New", side_words(report.new))],
        "counts": [(one, swatch(one.place)) for one in buttons(report)],
        "transports": [(line, leads.transport(line.system, line.transport)) for line in transports],
        "columns": [(verdict, swatch(verdict), MEANINGS[verdict].title) for verdict, _, _ in (transports[0].counts if transports else ())],
        "machines": machine_words(report),
        "warnings": warnings(report),
        "blocks": [block for block in blocks if block.section.verdict not in APART],
        "apart": [block for block in blocks if block.section.verdict in APART],
        "apart_words": apart_words(report),
        "losses": [(line, leads.line(loss, "old"), leads.line(loss, "new")) for line, loss in zip(losses, report.losses, strict=False)],
        "loss_open": any(line.verdict in _OPEN or line.way == "higher" for line in losses),
        "loss_says": LOSS_SAYS if report.losses else "",
        "loss_sentence": loss_sentence(report),
        "curves": [curve_words(curve) for curve in report.curves],
        "unstated": unstated_words(report),
        "marked": marked(report),
        "changed": [changed_words(change) for change in report.changed],
        "legend": diff_plot.legend() if is_drawn else "",
        "figures": figures_words(report),
        "runs": [_moment(run) for run in moments[:most]],
        "other_runs": len(moments[most:]),
    }


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
    shown = section.lines
    plotted = section.verdict in _PLOTTED
    span = diff_plot.reach([line.row for line in shown])
    is_apart = section.verdict in APART  # such rows have nothing to draw: their values must not be set side by side
    cells = tuple(
        DiffCell(
            line,
            diff_plot.ratio_plot(line.row, span),
            NOTHING if is_apart else diff_plot.runs_plot(line.row),
            _in_full(line.row),
            (leads.line(line.row, "old"), leads.line(line.row, "new")),
        )
        for line in shown
    )
    return DiffBlock(
        section=section,
        sentence=_with_code(section.sentence),
        folded=not is_open,
        axis=diff_plot.axis(span) if plotted else None,
        cells=cells[: limit or None],
        more=cells[limit:] if limit else (),
        with_runs=any(cell.runs_plot for cell in cells),
        with_ratios=any(line.ratio for line in shown),
        with_intervals=any(line.interval for line in shown),
        with_remarks=any(line.remark for line in shown),
    )


def _with_code(sentence: str) -> Html:
    """Return a sentence in which words between back quotes are code."""
    return join(tag("code", part) if index % 2 else part for index, part in enumerate(sentence.split("`")))


def _in_full(row: DiffRow) -> tuple[str, str]:
    return words.value_of(row, "old", in_full), words.value_of(row, "new", in_full)


def _moment(run: RunOrder) -> tuple[Html, str, str, str]:
    """A run in the order of time."""
    when = run.start_time or "time not stated"
    name = run.run if run.status in (None, "ok") else f"{run.run} ({run.status})"
    return tag("b", run.side), name, when, run.session or "no session stated"
