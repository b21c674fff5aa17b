"""Figures over message size or processor time: the points and their form, the details of each point, and a description in words.

One `Figure` is drawn twice from the same points: as static SVG (`svg`), and by Plotly (`plots`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from tacholog.render.figures.axes import Axis, number_axis, share_axis, size_axis
from tacholog.render.marks import in_order, mark_of
from tacholog.schema.metrics import METRICS
from tacholog.view.cost import Cost, costs, resources_of
from tacholog.view.names import BASIS_WORDS, words
from tacholog.view.numerals import NOT_STATED, grouped, quantity, size, with_bound
from tacholog.view.ranking_groups import UNDERSAMPLED
from tacholog.view.results import ResultRow
from tacholog.view.series import LOGICAL, Cell, Series

_PERCENTILES = ("p50", "p99", "p99.99", "max")
_DASHES = ("solid", "dash", "dot")
_SHADED = ("p50", "p99")
MOST_SHADED = 2  # the largest number of areas: more areas would overlap and be unreadable
_LATENCY_STYLES = 2
MOST_DOTS = 400  # the largest number of dots for single runs in a figure: more dots would hide the lines
_MEDIAN = "p50"
_CROSS_NOTE = "Crosses have too few samples for their percentile{in_some}."
_IN_SOME = ", in at least one of their runs"
_ROUGH = "Those of medians are rough."
_LARGEST = "Those of high percentiles say little more than the largest value."
_NAMED = 2  # the largest number of values that are listed one by one
_RANGE_NOTE = (
    "A filled area is a range: the source states only its ends, for all sizes together. "
    "Triangles that point down mark an upper bound: the measured value is lower."
)
_GROUPS_NOTE = "Points beside the line: the runs form two groups, and the line follows the worse one."
_SHADE_NOTE = "The shaded area reaches from the median to the 99th percentile."
_DOTS_NOTE = "Each dot is a run."


class PlotPoint(NamedTuple):
    """A point: payload bytes, value in the unit of the schema, its text, the lowest and highest value of its runs, and more details.

    ``result`` is the result that the point shows, with its log line. ``undersampled`` points have too few samples.
    """

    x: float
    y: float
    words: str
    low: float | None = None
    high: float | None = None
    more: tuple[str, ...] = ()
    result: ResultRow | None = None
    undersampled: bool = False


class Trace(msgspec.Struct, frozen=True):
    """A line of a figure. It has the name and the slot (colour) of its series, and the name and the dash pattern of its style.

    Markers are ``hollow`` if the numbers were published. ``details`` apply to all points. If ``records`` is set, each point is computed from a whole
    record; its link then leads to the line of the record, and not to one number.

    ``shape`` states how the points are drawn:

    - ``line``: as a line.
    - ``area``: as an area, because the true values lie between the points.
    - ``below``: as upper bounds, because the true values are lower.
    - ``points``: without a line. If the runs of a size form two groups, this shows the second group.
    - ``runs``: as small dots, one for each run.
    """

    name: str
    slot: int
    style: str
    dash: str
    hollow: bool
    points: tuple[PlotPoint, ...]
    shape: Literal["line", "area", "below", "points", "runs"] = "line"
    details: tuple[str, ...] = ()
    records: bool = False


class Figure(msgspec.Struct, frozen=True):
    """A figure: title, text alternative, axes, lines, and a note below. A ``dense`` figure has many points, which are drawn small.

    ``shades`` are shaded areas between two lines of one series. They only repeat data of the lines.
    """

    title: str
    description: str
    x: Axis
    y: Axis
    traces: tuple[Trace, ...]
    note: str = ""
    dense: bool = False
    shades: tuple[Trace, ...] = ()


def latency_over_size(series: Sequence[Series]) -> Figure | None:
    """Return latency percentiles over message size. The colour identifies the series, and the dash pattern the percentile."""
    styles = _percentiles_of(series)
    traces = [
        trace
        for curve in series
        for dash, statistic in zip(_DASHES, styles, strict=False)
        for trace in _traces(curve, "latency", statistic, "ns", dash)
    ]
    ranges = sorted(
        (trace for curve in series for trace in _ranges_of_sizes(curve)), key=lambda trace: trace.shape != "area"
    )  # the last trace is on top
    dots = _dots(traces, series)
    traces = [_without_ranges(trace) if any(trace.slot == dot_trace.slot for dot_trace in dots) else trace for trace in traces]
    shades = tuple(shade for curve in series if (shade := _shade(curve)))
    notes = [_RANGE_NOTE if ranges else "", _DOTS_NOTE if dots else "", _SHADE_NOTE if shades and len(shades) <= MOST_SHADED else ""]
    notes.append(_cross_note(traces, series))
    figure = _figure("Latency over message size", latency_words(series), "ns", [*ranges, *dots, *traces], " ".join(filter(None, notes)))
    return msgspec.structs.replace(figure, shades=shades) if figure else None


def goodput_over_size(series: Sequence[Series]) -> Figure | None:
    """Return the figure of the payload received per second (y) by message size (x).

    If only references to the payload were passed on, no bytes were moved. Such rates are left out, and a note says so.
    """
    real = [curve for curve in series if not curve.has_mark(LOGICAL)]
    left_out = [curve.label for curve in series if curve.has_mark(LOGICAL) and curve.cells("goodput", "mean")]
    note = (
        f"Left out, because only references to the payload were handed over and no bytes moved: {'; '.join(left_out)}. "
        "Their message rates are in the next figure, their printed rates in the table."
        if left_out
        else ""
    )
    traces = [trace for curve in real for trace in _traces(curve, "goodput", "mean", "bit_per_s", "solid")]
    return _figure("Payload received per second", "Payload received", "bit_per_s", traces, note)


def messages_over_size(series: Sequence[Series]) -> Figure | None:
    """Return the figure of the messages received per second (y) by message size (x), with a line for each series."""
    traces = [trace for curve in series for trace in _traces(curve, "message_rate", "mean", "messages_per_s", "solid")]
    return _figure("Messages received per second", "Messages per second", "messages_per_s", traces)


def loss_over_size(series: Sequence[Series]) -> Figure | None:
    """Return the share of lost messages over message size, for the series that lost any."""
    losing = [curve for curve in series if any((cell.value or 0) > 0 for cell in curve.cells("loss", "total").values())]
    traces = [trace for curve in losing for trace in _traces(curve, "loss", "total", "ratio", "solid")]
    lossless = len(series) - len(losing)
    note = f"{lossless} of {len(series)} series lost nothing, or do not state their loss; they are not drawn." if lossless else ""
    return _figure("Messages lost", "Share of messages lost", "ratio", traces, note)


def sustained_over_size(series: Sequence[Series]) -> Figure | None:
    """Return the figure of the sustained rate (y) by message size (x), with a line for each series."""
    traces = [trace for curve in series for trace in _traces(curve, "sustained_rate", "lower-bound", "messages_per_s", "solid")]
    return _figure("Highest rate that keeps the goal", "Messages per second", "messages_per_s", traces)


FIGURES = {
    "latency": latency_over_size,
    "goodput": goodput_over_size,
    "messages": messages_over_size,
    "loss": loss_over_size,
    "sustained": sustained_over_size,
}


def words_of(cell: Cell, unit: str, written: Callable[[float, str], str] = quantity) -> str:
    """Return the number of a cell in words, with bound and unit. Repeated runs add their range. ``written`` formats a value."""
    if cell.value is None:
        return "not stated"
    text = with_bound(written(cell.value, unit), cell.result.bound)
    if cell.groups and cell.low is not None and cell.high is not None:
        both = " and ".join(f"{written(group.value, unit)} in {group.runs}" for group in cell.groups)
        return f"two groups of runs: {both} ({written(cell.low, unit)} to {written(cell.high, unit)} in all)"
    if cell.low is None or cell.high is None or len(cell.results) == 1:
        return text
    values = sorted(result.value for result in cell.results if result.value is not None)
    several = f"{len(values)} runs" if cell.run_count == len(values) else f"{len(values)} values of {cell.run_count} run{'s' * (cell.run_count > 1)}"
    if len(values) <= _NAMED:
        rule = "median" if METRICS[cell.result.metric].better is None else "the worse"
        return f"{text} ({rule} of {several}: {' and '.join(written(value, unit) for value in values)})"
    return f"{text} (median of {several}, {written(cell.low, unit)} to {written(cell.high, unit)})"


def latency_words(series: Sequence[Series]) -> str:
    """Return the title of a latency axis, with the basis if it is the same for all series."""
    bases = {dict(curve.key).get("basis") for curve in series}
    words = BASIS_WORDS.get(str(bases.pop())) if len(bases) == 1 else None
    return f"Latency, {words}" if words else "Latency"


def _percentiles_of(series: Sequence[Series]) -> list[str]:
    """Return two percentiles, or mean, min and max if no series has a median."""
    present = {statistic for curve in series for metric, statistic in curve.statistics() if metric == "latency"}
    chosen = [statistic for statistic in _PERCENTILES if statistic in present]
    if "p50" in present:
        return chosen[:_LATENCY_STYLES]
    return [statistic for statistic in ("mean", "min", "max") if statistic in present]


def _trace(series: Series, metric: str, statistic: str, unit: str, dash: str) -> Trace | None:
    least = -1.0 if unit == "ratio" else 0.0  # a logarithmic axis cannot show zero
    points = tuple(
        PlotPoint(x, cell.value, f"{size(x)}: {words_of(cell, unit)}", *_ends(cell), point_details(cell), cell.result, UNDERSAMPLED in cell.marks)
        for x, cell in sorted(series.cells(metric, statistic).items(), key=lambda item: item[0] or 0)
        if x and cell.value is not None and cell.value > least and cell.sizes_high is None  # a number for a range of sizes cannot be drawn as a point
    )
    return Trace(series.label, series.slot, statistic, dash, series.published, points, details=series_details(series)) if points else None


def _traces(series: Series, metric: str, statistic: str, unit: str, dash: str) -> Iterator[Trace]:
    """Yield the line of a statistic, and the points that are not on the line.

    If the runs of a size form two groups, the line goes through the value of one group. The value of the other group is such a point.
    """
    line = _trace(series, metric, statistic, unit, dash)
    if line is None:
        return
    yield line
    cells = series.cells(metric, statistic)
    other_groups = tuple(
        point._replace(y=group.value, low=None, high=None, more=point_details(cells[int(point.x)], group.result), result=group.result)
        for point in line.points
        for group in cells[int(point.x)].groups
        if group.value != point.y
    )
    if other_groups:
        yield msgspec.structs.replace(line, points=other_groups, shape="points")


def _dots(traces: Sequence[Trace], series: Sequence[Series]) -> list[Trace]:
    """Return dots for the single runs behind each line; nothing if no run was repeated, or if there would be too many dots."""
    by_slot = {curve.slot: curve for curve in series}
    dots: list[Trace] = []
    for trace in traces:
        if trace.shape == "line":
            cells = by_slot[trace.slot].cells("latency", trace.style)
            points = tuple(
                PlotPoint(point.x, result.value, f"{size(point.x)}: {quantity(result.value, 'ns')}, one run", more=(log_line(result),), result=result)
                for point in trace.points
                for result in cells[int(point.x)].results
                if result.value and len(cells[int(point.x)].results) > 1
            )
            dots += [msgspec.structs.replace(trace, points=points, shape="runs")] if points else []
    return dots if sum(len(trace.points) for trace in dots) <= MOST_DOTS else []


def _without_ranges(trace: Trace) -> Trace:
    """Return a line without the ranges of its points. The ranges are not needed if each run is drawn as a dot."""
    return msgspec.structs.replace(trace, points=tuple(point._replace(low=None, high=None) for point in trace.points))


def log_line(result: ResultRow) -> str:
    """Return the log and the line of a result, in words."""
    return f"{result.run.run}/{result.log}" + (f", line {result.number_line}" if result.number_line else "")


def _shade(series: Series) -> Trace | None:
    """Return the area between the median and the 99th percentile; ``None`` if fewer than two sizes have both."""
    low, high = (_trace(series, "latency", statistic, "ns", "solid") for statistic in _SHADED)
    both = {point.x for point in low.points} & {point.x for point in high.points} if low and high else set()
    if low is None or high is None or len(both) < len(_SHADED):
        return None
    edge = [point for point in low.points if point.x in both] + [point for point in reversed(high.points) if point.x in both]
    return msgspec.structs.replace(low, points=tuple(edge), shape="area")


def _ranges_of_sizes(series: Series) -> Iterator[Trace]:
    """Yield the traces of numbers that a source states for a range of sizes.

    A lower and an upper value together become an area. A single value or an upper bound becomes a line.
    """
    highs = series.cells("latency", "range-high")
    for payload, low in series.cells("latency", "range-low").items():
        high = highs.get(payload)
        if payload and low.value and high and high.value:
            words, more = f"{low.size_words}: {quantity(low.value, 'ns')} to {quantity(high.value, 'ns')}", point_details(low)
            last = low.sizes_high or payload
            corners = ((payload, low.value), (last, low.value), (last, high.value), (payload, high.value))
            ends = tuple(PlotPoint(x, y, words, more=more, result=low.result) for x, y in corners)
            yield Trace(series.label, series.slot, "total", "solid", series.published, ends, "area", series_details(series))
    for statistic in ("typical", "mean", "min", "max"):
        for payload, cell in series.cells("latency", statistic).items():
            if payload and cell.value and cell.sizes_high:
                words, more = f"{cell.size_words}: {words_of(cell, 'ns')}", point_details(cell)
                ends = tuple(PlotPoint(x, cell.value, words, more=more, result=cell.result) for x in (payload, cell.sizes_high))
                shape: Literal["line", "below"] = "below" if cell.result.bound == "<" else "line"
                yield Trace(series.label, series.slot, statistic, "solid", series.published, ends, shape, series_details(series))


def _cross_note(traces: Sequence[Trace], series: Sequence[Series]) -> str:
    by_slot = {curve.slot: curve for curve in series}
    crossed = [
        (trace.style, by_slot[trace.slot].cells("latency", trace.style)[int(point.x)])
        for trace in traces
        for point in trace.points
        if point.undersampled
    ]
    if not crossed:
        return ""
    styles = {style for style, _ in crossed}
    is_of_some = any(UNDERSAMPLED not in result.marks for _, cell in crossed for result in cell.results)
    return " ".join(
        filter(
            None,
            (
                _CROSS_NOTE.format(in_some=_IN_SOME if is_of_some else ""),
                _ROUGH if _MEDIAN in styles else "",
                _LARGEST if styles - {_MEDIAN} else "",
            ),
        )
    )


def _ends(cell: Cell) -> tuple[float | None, float | None]:
    return (cell.low, cell.high) if len(cell.results) > 1 else (None, None)


def _figure(title: str, y_title: str, unit: str, traces: Sequence[Trace], note: str = "") -> Figure | None:
    points = [point for trace in traces for point in trace.points]
    if not points:
        return None
    values = [value for point in points for value in (point.y, point.low, point.high) if value]
    values = values or [0.0]
    y = share_axis(values, y_title) if unit == "ratio" else number_axis(values, y_title, unit)
    x = size_axis([point.x for point in points])
    note = " ".join(filter(None, (note, _GROUPS_NOTE if any(trace.shape == "points" for trace in traces) else "")))
    return Figure(title, _description(title, traces), x, y, tuple(traces), note)


def _description(title: str, traces: Sequence[Trace]) -> str:
    lines = []
    for trace in traces:
        if trace.shape in ("points", "runs"):
            continue
        ends = trace.points[0].words if len(trace.points) == 1 else f"{trace.points[0].words}, to {trace.points[-1].words}"
        style = "" if trace.style in ("mean", "total") else f", {trace.style}"
        lines.append(f"{trace.name}{style}: from {ends}.")
    return f"{title}. " + " ".join(lines)


def series_details(series: Series) -> tuple[str, ...]:
    """Return the details that all points of a series share, one per line: system and version, machine, kind of run, tool."""
    run = series.results[0].run
    system = " ".join(filter(None, (run.system or f"system {NOT_STATED}", run.system_version or f"(version {NOT_STATED})")))
    machine = f"machine: {run.host or NOT_STATED}"
    kind = "published by the vendor" if series.published else "own run"
    return (system, machine, ", ".join([kind, *_run_details(series)]))


def _run_details(series: Series) -> Iterator[str]:
    run, key = series.results[0].run, dict(series.key)
    if run.release and run.release != run.system_version:
        yield f"release {run.release}"
    if run.tool and run.tool != run.system and run.tool not in str(run.system):
        yield f"by {run.tool}"
    if key["basis"] is not None:
        yield words("basis", key["basis"])
    if key["load_mode"] is not None:
        yield f"load {key['load_mode']}"


def point_details(cell: Cell, result: ResultRow | None = None) -> tuple[str, ...]:
    """Return the details of a point: runs and samples, marks, and log line.

    If the point shows a group of runs, ``result`` is the median of the group.
    """
    result = result or cell.result
    runs = f"{cell.run_count} run{'s' if cell.run_count != 1 else ''}"
    samples = _samples_words([row.samples for row in cell.results] if cell.run_count > 1 else [result.samples])
    marks = [f"marked: {mark_of(name).title}" for name in in_order(cell.marks)]
    return (f"{runs}, {samples}", *marks, log_line(result))


def _samples_words(counts: Sequence[int | None]) -> str:
    stated_counts = sorted({count for count in counts if count is not None})
    if not stated_counts:
        return f"samples {NOT_STATED}"
    each = " each" if len(counts) > 1 and len(stated_counts) == 1 and None not in counts else ""
    unknown = f", in {counts.count(None)} of them {NOT_STATED}" if None in counts else ""
    return f"{' to '.join(grouped(count) for count in dict.fromkeys((stated_counts[0], stated_counts[-1])))} samples{each}{unknown}"


_COST_TITLE = "Latency against processor time"
_COST_NOTE = "Each line is a series and each point a message size, from the smallest at the bottom left. Lower is faster; further left is cheaper."


def latency_over_cost(series: Sequence[Series], results: Iterable[ResultRow]) -> Figure | None:
    """Return the median latency over the processor time for each message: a line for each series, with a point for each size."""
    resources = resources_of(results)
    traces = [
        Trace(member.label, member.slot, "total", "solid", member.published, points, details=series_details(member))
        for member in series
        if (points := tuple(_cost_points(member, costs(member, resources))))
    ]
    if not traces:
        return None
    drawn = [point for trace in traces for point in trace.points]
    x = number_axis([point.x for point in drawn], "Processor time for each message, both sides together", "ns")
    y = number_axis([point.y for point in drawn], f"{latency_words(series)}, median", "ns")
    ends = " ".join(f"{trace.name}: from {trace.points[0].words}, to {trace.points[-1].words}." for trace in traces)
    return Figure(_COST_TITLE, f"{_COST_TITLE}. {ends}", x, y, tuple(traces), _COST_NOTE)


def _cost_points(series: Series, cost: Mapping[int | None, Cost]) -> Iterator[PlotPoint]:
    for payload, cell in sorted(series.cells("latency", "p50").items(), key=lambda item: item[0] or 0):
        point_cost = cost.get(payload)
        if point_cost is not None and point_cost.cpu_ns is not None and cell.value:
            words = f"{size(payload)}: {quantity(cell.value, 'ns')}, {quantity(point_cost.cpu_ns.value, 'ns')} of processor time"
            yield PlotPoint(point_cost.cpu_ns.value, cell.value, words, more=point_details(cell), result=cell.result)
