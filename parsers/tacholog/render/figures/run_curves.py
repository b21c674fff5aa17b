"""Figures of single runs: the whole latency distribution, and the course of a measurement over time.

The course is drawn from the intervals that a tool prints during the measurement, because a mean would hide a rate that dropped halfway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from tacholog.render.figures.axes import count_axis, number_axis, percentile_axis, time_axis
from tacholog.render.figures.figures import Figure, PlotPoint, Trace, latency_words, series_details
from tacholog.schema.metrics import METRICS, median_place
from tacholog.view.numerals import quantity, size
from tacholog.view.results import HistogramRow, ResultRow
from tacholog.view.series import Series

_MOST_LINES = 8
_STEPS_A_DECADE = 8
_CURVE_NOTE = "Each line is one run: the one with the middle median. It ends where fewer than ten samples remain above it."


def distribution_of(series: Series, histograms: Sequence[HistogramRow]) -> Figure | None:
    """Return latency over percentile, with one line for each size. Runs are not pooled: each line is the run whose median is in the middle."""
    by_record = {(histogram.run, histogram.log, histogram.line): histogram for histogram in histograms if histogram.packed}
    traces = [trace for slot, payload in enumerate(spread(series.sizes())) if (trace := _percentile_curve(series, payload, slot, by_record))]
    if not traces:
        return None
    points = [point for trace in traces for point in trace.points]
    x, y = percentile_axis(max(point.x for point in points)), number_axis([point.y for point in points], latency_words([series]), "ns")
    ends = " ".join(f"{trace.name}: {trace.points[0].words}, to {trace.points[-1].words}." for trace in traces)
    title = f"Percentile curves: {series.label}"
    return Figure(title, f"{title}. {ends}", x, y, tuple(traces), _CURVE_NOTE, dense=True)


def distributions_of(series: Sequence[Series], histograms: Sequence[HistogramRow]) -> Figure | None:
    """Return the percentile curves of several series at two sizes. The colour of a line identifies the series, and its dashes identify the size.

    If there is only one series, the figure shows all its sizes.
    """
    if len(series) == 1:
        return distribution_of(series[0], histograms)
    by_record = {(histogram.run, histogram.log, histogram.line): histogram for histogram in histograms if histogram.packed}
    sizes = _smallest_and_largest_size(series)
    traces = [
        msgspec.structs.replace(trace, name=member.label, slot=member.slot, style=size(payload), dash=dash)
        for member in series[:_MOST_LINES]
        for payload, dash in zip(sizes, ("solid", "dash"), strict=False)
        if (trace := _percentile_curve(member, payload, member.slot, by_record))
    ]
    if not traces:
        return None
    points = [point for trace in traces for point in trace.points]
    x, y = percentile_axis(max(point.x for point in points)), number_axis([point.y for point in points], latency_words(series), "ns")
    ends = " ".join(f"{trace.name}, {trace.style}: {trace.points[0].words}, to {trace.points[-1].words}." for trace in traces)
    return Figure("Percentile curves", f"Percentile curves. {ends}", x, y, tuple(traces), _CURVE_NOTE, dense=True)


def _smallest_and_largest_size(series: Sequence[Series]) -> list[int | None]:
    """Only sizes that all series have are used, unless there are none."""
    sizes = [set(member.sizes()) for member in series]
    candidates = sorted(set.intersection(*sizes) or set.union(*sizes), key=lambda payload: -1 if payload is None else payload)
    return list(dict.fromkeys((candidates[0], candidates[-1])))


def spread(sizes: Sequence[int | None]) -> list[int | None]:
    """Return at most `_MOST_LINES` of the sizes, evenly chosen. The first and the last size are always included."""
    if len(sizes) <= _MOST_LINES:
        return list(sizes)
    last = len(sizes) - 1
    return [sizes[round(index * last / (_MOST_LINES - 1))] for index in range(_MOST_LINES)]


def _percentile_curve(series: Series, payload: int | None, slot: int, by_record: dict[tuple[str, str, int], HistogramRow]) -> Trace | None:
    medians = [
        (result.value, result, histogram)
        for result in series.results
        if (result.payload_bytes, result.metric, result.statistic) == (payload, "latency", "p50") and result.value is not None
        if (histogram := by_record.get((result.run.run, result.log, result.line or 0)))
    ]
    if not medians:
        return None
    _, result, middle = medians[median_place([value for value, _, _ in medians], "latency")]
    points = tuple(point._replace(result=result) for point in _percentile_points(middle))
    details = (*series_details(series), f"{middle.run}/{middle.log}, line {middle.line}")
    return Trace(size(payload), slot, "total", "solid", series.published, points, details=details, records=True) if points else None


def _percentile_points(histogram: HistogramRow) -> Iterator[PlotPoint]:
    """Yield points at even steps along the axis of percentiles. The value is the upper edge of the bin that contains the percentile."""
    total = sum(count for _, _, count in histogram.bins())
    step, next_x, cumulated = 10 ** (1 / _STEPS_A_DECADE), 1.25, 0
    for _, upper, count in histogram.bins():
        cumulated += count
        while next_x <= total / 10 and cumulated >= total * (1 - 1 / next_x):
            share = 100 * (1 - 1 / next_x)
            yield PlotPoint(next_x, float(upper), f"{share:.6g}\u00a0%: {quantity(upper, 'ns')}")
            next_x *= step


_FEWEST_INTERVALS = 3  # fewer intervals do not show how a measurement changed over time
_MANY = 40
_DRAWN = (
    ("latency", (("p50", "solid"), ("p99", "dash"))),
    ("latency", (("mean", "solid"), ("max", "dash"))),
    ("goodput", (("mean", "solid"),)),
    ("offered_goodput", (("mean", "solid"),)),
    ("message_rate", (("mean", "solid"),)),
)


def interval_figures(curves: Iterable[Series], wanted: Callable[[Series], bool] = lambda _: True) -> list[tuple[int, Figure]]:
    """Return the slot and the figure of each wanted series. Series without a run with enough intervals are left out."""
    figures = ((curve.slot, _interval_figure(curve)) for curve in curves if wanted(curve))
    return [(slot, figure) for slot, figure in figures if figure]


def _interval_figure(series: Series) -> Figure | None:
    for metric, styles in _DRAWN:
        statistic = styles[0][0]
        sizes = enumerate(spread(series.sizes()))
        runs = [(slot, payload, results) for slot, payload in sizes if (results := _longest_run(series, payload, metric, statistic))]
        if runs:
            return _over_time(series, metric, styles, runs)
    return None


def _longest_run(series: Series, payload: int | None, metric: str, statistic: str) -> list[ResultRow]:
    """Return the results at a size of the run with the most intervals; an empty list if no run has enough intervals.

    If several runs have the most intervals, the first of these runs is used.
    """
    named = (payload, metric, statistic)
    wanted = [result for result in series.results if (result.payload_bytes, result.metric, result.statistic) == named and result.value]
    if not wanted:
        return []
    (run, log), count = Counter((result.run.run, result.log) for result in wanted).most_common(1)[0]
    return (
        [result for result in series.results if (result.run.run, result.log, result.payload_bytes) == (run, log, payload)]
        if count >= _FEWEST_INTERVALS
        else []
    )


def _over_time(series: Series, metric: str, styles: Sequence[tuple[str, str]], runs: Sequence[tuple[int, int | None, list[ResultRow]]]) -> Figure:
    timed, common = all(_is_timed(results) for _, _, results in runs), series_details(series)
    traces = [
        Trace(size(payload), slot, "total" if len(styles) == 1 else statistic, dash, series.published, points, details=(*common, *_log_of(results)))
        for slot, payload, results in runs
        for statistic, dash in styles
        if (points := tuple(_interval_points(results, metric, statistic, timed=timed)))
    ]
    drawn = [point for trace in traces for point in trace.points]
    unit = METRICS[metric].unit
    y = number_axis([point.y for point in drawn], latency_words([series]) if metric == "latency" else METRICS[metric].words, unit)
    highest = max(point.x for point in drawn)
    title = f"{METRICS[metric].words} while the measurement ran: {series.label}"
    ends = " ".join(f"{trace.name}: from {trace.points[0].words}, to {trace.points[-1].words}." for trace in traces)
    note = "Each line is one run: the one with the most intervals, which the tool printed while it measured."
    dense = any(len(trace.points) > _MANY for trace in traces)
    return Figure(title, f"{title}. {ends}", time_axis(highest) if timed else count_axis(highest), y, tuple(traces), note, dense)


def _log_of(results: Sequence[ResultRow]) -> list[str]:
    return [f"{results[0].run.run}/{results[0].log}"]


def _by_interval(results: Sequence[ResultRow]) -> list[list[ResultRow]]:
    """Return the results of each interval.

    A new log line begins a new interval. In JSON, several intervals can be on one line: a new interval begins at the second number of the same kind.
    """
    intervals: list[list[ResultRow]] = []
    for result in sorted(results, key=lambda result: result.line or 0):
        latest = intervals[-1] if intervals else []
        again = any((earlier.metric, earlier.statistic) == (result.metric, result.statistic) for earlier in latest)
        if not latest or again or latest[0].line != result.line:
            intervals.append([])
        intervals[-1].append(result)
    return intervals


def _value_of(results: Sequence[ResultRow], metric: str, statistic: str) -> float | None:
    return next((result.value for result in results if (result.metric, result.statistic) == (metric, statistic)), None)


def _is_timed(results: Sequence[ResultRow]) -> bool:
    return all(_value_of(interval, "duration", "total") for interval in _by_interval(results))


def _interval_points(results: Sequence[ResultRow], metric: str, statistic: str, *, timed: bool) -> Iterator[PlotPoint]:
    """Yield a point at the end of each interval. An interval without messages gets no point, because a logarithmic axis cannot show zero."""
    end = 0.0
    for interval in _by_interval(results):
        end += (_value_of(interval, "duration", "total") or 0.0) / 1e9 if timed else 1.0
        value = _value_of(interval, metric, statistic)
        if value:
            when = f"{end:.3g}\u00a0s" if timed else f"interval {end:.0f}"
            yield PlotPoint(end, value, f"{when}: {quantity(value, METRICS[metric].unit)}")
