"""The intervals that a tool prints during a measurement, drawn over time: a mean would hide a rate that fell halfway."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from tacholog.render.figures.axes import count_axis, number_axis, time_axis
from tacholog.render.figures.distribution import spread
from tacholog.render.figures.figures import Figure, PlotPoint, Trace, latency_words
from tacholog.render.hover import details_of
from tacholog.schema.metrics import METRICS
from tacholog.view.numerals import quantity, size
from tacholog.view.results import ResultRow
from tacholog.view.series import Series

_LEAST = 3  # two intervals show no course
_MANY = 40
_DRAWN = (
    ("latency", (("p50", "solid"), ("p99", "dash"))),
    ("latency", (("mean", "solid"), ("max", "dash"))),
    ("goodput", (("mean", "solid"),)),
    ("offered_goodput", (("mean", "solid"),)),
    ("message_rate", (("mean", "solid"),)),
)


def interval_figures(curves: Iterable[Series], wanted: Callable[[Series], bool] = lambda _: True) -> list[tuple[int, Figure]]:
    """Return a figure for each wanted series of single intervals that has a run with enough of them, with the slot of the series."""
    found = ((curve.slot, _figure(curve)) for curve in curves if wanted(curve))
    return [(slot, figure) for slot, figure in found if figure]


def _figure(series: Series) -> Figure | None:
    for metric, styles in _DRAWN:
        runs = [(slot, at, results) for slot, at in enumerate(spread(series.sizes())) if (results := _longest(series, at, metric, styles[0][0]))]
        if runs:
            return _drawn(series, metric, styles, runs)
    return None


def _longest(series: Series, at: int | None, metric: str, statistic: str) -> list[ResultRow]:
    """Return the results of the run with the most intervals of a size (the first, if several have as many); none if these are too few."""
    named = (at, metric, statistic)
    wanted = [result for result in series.results if (result.payload_bytes, result.metric, result.statistic) == named and result.value]
    if not wanted:
        return []
    (run, log), count = Counter((result.run.run, result.log) for result in wanted).most_common(1)[0]
    return [result for result in series.results if (result.run.run, result.log, result.payload_bytes) == (run, log, at)] if count >= _LEAST else []


def _drawn(series: Series, metric: str, styles: Sequence[tuple[str, str]], runs: Sequence[tuple[int, int | None, list[ResultRow]]]) -> Figure:
    timed, common = all(_is_timed(results) for _, _, results in runs), details_of(series)
    traces = [
        Trace(size(at), slot, "total" if len(styles) == 1 else statistic, dash, series.published, points, details=(*common, *_log_of(results)))
        for slot, at, results in runs
        for statistic, dash in styles
        if (points := tuple(_points(results, metric, statistic, timed=timed)))
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
    """Group the results by interval: those on one line belong together, unless a number repeats (JSON may stand on one line)."""
    intervals: list[list[ResultRow]] = []
    for result in sorted(results, key=lambda result: result.line or 0):
        latest = intervals[-1] if intervals else []
        again = any((known.metric, known.statistic) == (result.metric, result.statistic) for known in latest)
        if not latest or again or latest[0].line != result.line:
            intervals.append([])
        intervals[-1].append(result)
    return intervals


def _value(results: Sequence[ResultRow], metric: str, statistic: str) -> float | None:
    return next((result.value for result in results if (result.metric, result.statistic) == (metric, statistic)), None)


def _is_timed(results: Sequence[ResultRow]) -> bool:
    return all(_value(found, "duration", "total") for found in _by_interval(results))


def _points(results: Sequence[ResultRow], metric: str, statistic: str, *, timed: bool) -> Iterator[PlotPoint]:
    """Yield a point at the end of each interval. An interval without a message has no place on a log axis."""
    at = 0.0
    for found in _by_interval(results):
        at += (_value(found, "duration", "total") or 0.0) / 1e9 if timed else 1.0
        value = _value(found, metric, statistic)
        if value:
            when = f"{at:.3g}\u00a0s" if timed else f"interval {at:.0f}"
            yield PlotPoint(at, value, f"{when}: {quantity(value, METRICS[metric].unit)}")
