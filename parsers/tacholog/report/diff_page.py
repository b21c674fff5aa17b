"""A diff as one HTML file: no script, no request, readable in print and in both colour schemes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tacholog.diff.result import VERDICTS, Report, RunOrder, Verdict
from tacholog.report import diff_plot
from tacholog.report import diff_words as words
from tacholog.report.diff_words import Line, Section
from tacholog.report.markup import Html, tag
from tacholog.resources import templates_dir

_PLOTTED = ("worse", "better", "inconclusive", "no_change", "unreplicated_diff", "unreplicated_same")
_FOLDED = ("no_change", "unreplicated_same", "removed", "added")


class Cell(msgspec.Struct, frozen=True):
    """A row of the page: its words and its drawings."""

    line: Line
    ratio_plot: Html
    runs_plot: Html


class Block(msgspec.Struct, frozen=True):
    """The rows of one verdict, with the axis that their drawings share."""

    section: Section
    folded: bool
    axis: Html | None
    cells: tuple[Cell, ...]
    hidden: int
    with_runs: bool
    with_intervals: bool


def html(report: Report, only: Sequence[str] = (), limit: int = 500, templates: Path | None = None) -> str:
    """The report as a page of its own.

    Args:
        report: the comparison.
        only: the verdicts to show; none: all.
        limit: rows to show of each verdict; 0: all.
        templates: where ``diff.html.jinja`` is; the package's own if not given.
    """
    made = Environment(
        loader=FileSystemLoader(templates or templates_dir()), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    blocks = [_block(section, limit) for section in words.sections(report, only)]
    context = {
        "report": report,
        "headline": words.headline(report),
        "sides": [("Old", words.side(report.old)), ("New", words.side(report.new))],
        "counts": [(verdict, words.MEANINGS[verdict].title, count) for verdict, count in _counts(report)],
        "warnings": words.warnings(report),
        "blocks": blocks,
        "curves": [words.curve(curve) for curve in report.curves],
        "unstated": words.unstated(report),
        "legend": diff_plot.legend(),
        "runs": [_moment(run) for run in sorted(report.runs, key=lambda run: (run.start_time or "", run.order_index or 0))][: limit or None],
    }
    return made.get_template("diff.html.jinja").render(context)


def _counts(report: Report) -> list[tuple[Verdict, int]]:
    return [(verdict, report.counts[verdict]) for verdict in VERDICTS if report.counts[verdict]]


def _block(section: Section, limit: int) -> Block:
    shown = section.lines[: limit or None]
    plotted = section.verdict in _PLOTTED
    span = diff_plot.reach([line.row for line in shown])
    cells = tuple(Cell(line, diff_plot.ratio_plot(line.row, span), diff_plot.runs_plot(line.row)) for line in shown)
    return Block(
        section=section,
        folded=section.verdict in _FOLDED,
        axis=diff_plot.axis(span) if plotted else None,
        cells=cells,
        hidden=len(section.lines) - len(shown),
        with_runs=any(cell.runs_plot for cell in cells),
        with_intervals=any(line.interval for line in shown),
    )


def _moment(run: RunOrder) -> tuple[Html, str, str, str]:
    """A run in the order of time."""
    when = run.start_time or "time not stated"
    return tag("b", run.side), run.run, when, run.session or "no session stated"
