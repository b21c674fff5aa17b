"""Latency against processor time: the picture of polling and sleeping."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tacholog.render.figures.axes import number_axis
from tacholog.render.figures.figures import Figure, PlotPoint, Trace, latency_words
from tacholog.render.hover import details_of, more_of
from tacholog.view.cost import Cost, costs, resources_of
from tacholog.view.numerals import quantity, size
from tacholog.view.results import ResultRow
from tacholog.view.series import Series

_TITLE = "Latency against processor time"
_NOTE = "Each line is a series and each point a message size, from the smallest at the bottom left. Lower is faster; further left is cheaper."


def latency_over_cost(series: Sequence[Series], results: Iterable[ResultRow]) -> Figure | None:
    """Return the median latency over the processor time for each message: a line for each series, with a point for each size."""
    resources = resources_of(results)
    traces = [
        Trace(member.label, member.slot, "total", "solid", member.published, points, details=details_of(member))
        for member in series
        if (points := tuple(_points(member, costs(member, resources))))
    ]
    if not traces:
        return None
    drawn = [point for trace in traces for point in trace.points]
    x = number_axis([point.x for point in drawn], "Processor time for each message, both sides together", "ns")
    y = number_axis([point.y for point in drawn], f"{latency_words(series)}, median", "ns")
    ends = " ".join(f"{trace.name}: from {trace.points[0].words}, to {trace.points[-1].words}." for trace in traces)
    return Figure(_TITLE, f"{_TITLE}. {ends}", x, y, tuple(traces), _NOTE)


def _points(series: Series, cost: Mapping[int | None, Cost]) -> Iterator[PlotPoint]:
    for at, cell in sorted(series.cells("latency", "p50").items(), key=lambda item: item[0] or 0):
        found = cost.get(at)
        if found is not None and found.cpu_ns is not None and cell.value:
            words = f"{size(at)}: {quantity(cell.value, 'ns')}, {quantity(found.cpu_ns.value, 'ns')} of processor time"
            yield PlotPoint(found.cpu_ns.value, cell.value, words, more=more_of(cell), result=cell.result)
