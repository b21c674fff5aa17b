"""The whole latency distribution of a run, up to its last samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from tacholog.render.figures.axes import number_axis, percentile_axis
from tacholog.render.figures.figures import Figure, PlotPoint, Trace, latency_words
from tacholog.render.hover import details_of
from tacholog.schema.metrics import median_place
from tacholog.view.numerals import quantity, size
from tacholog.view.results import HistogramRow
from tacholog.view.series import Series

_MOST_LINES = 8
_STEPS_A_DECADE = 8
_NOTE = "Each line is one run: the one with the middle median. It ends where fewer than ten samples remain above it."


def distribution_of(series: Series, histograms: Sequence[HistogramRow]) -> Figure | None:
    """Return latency over percentile, one line for each size. Each line is one run, the one with the middle median: runs are not pooled."""
    by_record = {(histogram.run, histogram.log, histogram.line): histogram for histogram in histograms if histogram.packed}
    traces = [trace for slot, at in enumerate(spread(series.sizes())) if (trace := _trace(series, at, slot, by_record))]
    if not traces:
        return None
    points = [point for trace in traces for point in trace.points]
    x, y = percentile_axis(max(point.x for point in points)), number_axis([point.y for point in points], latency_words([series]), "ns")
    ends = " ".join(f"{trace.name}: {trace.points[0].words}, to {trace.points[-1].words}." for trace in traces)
    title = f"Percentile curves: {series.label}"
    return Figure(title, f"{title}. {ends}", x, y, tuple(traces), _NOTE, dense=True)


def distributions_of(series: Sequence[Series], histograms: Sequence[HistogramRow]) -> Figure | None:
    """Return the percentile curves of several series in one figure: colour tells the series, dash tells the size. Of a single series, all sizes."""
    if len(series) == 1:
        return distribution_of(series[0], histograms)
    by_record = {(histogram.run, histogram.log, histogram.line): histogram for histogram in histograms if histogram.packed}
    sizes = _ends_of(series)
    traces = [
        msgspec.structs.replace(trace, name=member.label, slot=member.slot, style=size(at), dash=dash)
        for member in series[:_MOST_LINES]
        for at, dash in zip(sizes, ("solid", "dash"), strict=False)
        if (trace := _trace(member, at, member.slot, by_record))
    ]
    if not traces:
        return None
    points = [point for trace in traces for point in trace.points]
    x, y = percentile_axis(max(point.x for point in points)), number_axis([point.y for point in points], latency_words(series), "ns")
    ends = " ".join(f"{trace.name}, {trace.style}: {trace.points[0].words}, to {trace.points[-1].words}." for trace in traces)
    return Figure("Percentile curves", f"Percentile curves. {ends}", x, y, tuple(traces), _NOTE, dense=True)


def _ends_of(series: Sequence[Series]) -> list[int | None]:
    """Return the smallest and the largest size that all series have, or that any has."""
    sizes = [set(member.sizes()) for member in series]
    found = sorted(set.intersection(*sizes) or set.union(*sizes), key=lambda at: -1 if at is None else at)
    return list(dict.fromkeys((found[0], found[-1])))


def spread(sizes: Sequence[int | None]) -> list[int | None]:
    """Choose at most as many sizes as there are colours, including the smallest and the largest."""
    if len(sizes) <= _MOST_LINES:
        return list(sizes)
    last = len(sizes) - 1
    return [sizes[round(index * last / (_MOST_LINES - 1))] for index in range(_MOST_LINES)]


def _trace(series: Series, at: int | None, slot: int, by_record: dict[tuple[str, str, int], HistogramRow]) -> Trace | None:
    medians = [
        (result.value, result, histogram)
        for result in series.results
        if (result.payload_bytes, result.metric, result.statistic) == (at, "latency", "p50") and result.value is not None
        if (histogram := by_record.get((result.run.run, result.log, result.line or 0)))
    ]
    if not medians:
        return None
    _, result, middle = medians[median_place([value for value, _, _ in medians], "latency")]
    points = tuple(point._replace(result=result) for point in _points(middle))
    details = (*details_of(series), f"{middle.run}/{middle.log}, line {middle.line}")
    return Trace(size(at), slot, "total", "solid", series.published, points, details=details, records=True) if points else None


def _points(histogram: HistogramRow) -> Iterator[PlotPoint]:
    """Yield the latency at even steps of the axis: the upper edge of the bin with that rank, as for percentiles."""
    total = sum(count for _, _, count in histogram.bins())
    step, wanted, seen = 10 ** (1 / _STEPS_A_DECADE), 1.25, 0
    for _, upper, count in histogram.bins():
        seen += count
        while wanted <= total / 10 and seen >= total * (1 - 1 / wanted):
            share = 100 * (1 - 1 / wanted)
            yield PlotPoint(wanted, float(upper), f"{share:.6g}\u00a0%: {quantity(upper, 'ns')}")
            wanted *= step
