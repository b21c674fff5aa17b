"""A figure of small panels, one for each system: latency and rate over message size, on axes that all panels share. Each dot is a run.

Grey lines are the other systems. The dark line is the floor: the result of the same tool without a library, with the same reach (process, host,
network) and the same way of waiting. The figure is static SVG. Colours come from the style sheet, and each panel has a description in words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from tacholog.render.figures.svg import series_class
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.view.cost import SPINS
from tacholog.view.home import GroupMembers, HomeMachine, floors, how, polls, reach_of, waits
from tacholog.view.names import BASIS_WORDS
from tacholog.view.numerals import quantity, size
from tacholog.view.ranking_groups import SystemSeries, standing
from tacholog.view.series import Cell, labels_among

WIDTH, HEIGHT = 312, 154
_TOP, _BOTTOM = 18, 132
_LATENCY, _RATE = (42, 130), (252, 294)  # from left to right
_NAMES = 74  # width of the names beside the lines, if there is only one plot
_FIRST = 6  # panels that a phone shows unfolded; on wider screens, these are whole rows of three or of two
_LINE = 11.0  # height of a line of text, in units of the drawing
_MOST_TICKS = 5
_MOST_NAMES = 5  # if there are more names, all lines of a transport share one
_MOST_LETTERS = 13  # letters of a name beside a line; a longer name would overlap the next plot
_SHORT_WAYS = {SPINS: "spins"}
_NEAR = 40.0  # labels of sizes that are closer to each other would overlap
_DASH = "4 2.5"
_Cells = Mapping[int, Cell]


class Scale(msgspec.Struct, frozen=True):
    """A logarithmic axis of a plot: its range of values, and the positions of its ends on the drawing."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the position of a value on the drawing."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.start + share * (self.end - self.start), 1)


class Plot(msgspec.Struct, frozen=True):
    """A plot that all panels have: the ranked series, a title, and the axes with ticks and labels."""

    members: GroupMembers
    title: str
    x: Scale
    y: Scale
    x_ticks: tuple[int, ...]
    y_ticks: tuple[tuple[float, str], ...]

    def cells(self, member: SystemSeries) -> _Cells:
        """Return the numbers of a series in this plot by size."""
        return self.members.group.cells(member)


class Panel(msgspec.Struct, frozen=True):
    """A panel: its name, the slot of its colour, and its series in all plots."""

    name: str
    slot: int
    series: tuple[SystemSeries, ...]

    def members_in(self, plot: Plot) -> list[SystemSeries]:
        """Return the series of the panel in a plot."""
        return [member for member in plot.members.members if member in self.series]


def panels(machine: HomeMachine, slots: Mapping[str, int], anchor: str) -> Html:
    """Return the panels of a machine.

    Args:
        machine: the machine with its series.
        slots: the slot of the colour of each system, or of each transport if there is only one system.
        anchor: the start of every id.
    """
    plots = list(_plots(machine))
    bare = floors(machine.series)
    ordered = sorted(_panels(machine.series, slots), key=lambda panel: _speed(panel, plots[0]))
    ghosts = f"{anchor}-all"
    all_lines = "".join(_outline(plot, plot.cells(member)) for plot in plots for member in plot.members.members)
    hidden = tag("svg", tag("path", d=all_lines, id=ghosts), class_="tl-hidden", width=0, height=0, aria_hidden="true")
    drawn = [
        tag("div", _head(panel, plots, bare), _drawing(panel, plots, _floors_of(panel, plots, bare), ghosts, f"{anchor}-{index}"), class_="tl-panel")
        for index, panel in enumerate(ordered)
    ]
    return tag("figure", _legend(machine.series, bare), hidden, _rows(drawn), class_="tl-small-multiples")


def _rows(drawn: Sequence[Html]) -> Html:
    """Return the panels. On phones, a script folds all but the first, because a dozen panels are three screens high there."""
    first, others = (drawn[:_FIRST], drawn[_FIRST:]) if len(drawn) > _FIRST + 1 else (drawn, ())
    visible_panels = tag("div", *first, class_="tl-panels")
    if not others:
        return visible_panels
    words = tag("summary", tag("span", str(len(others)), class_="stat-count"), " more panels")
    hidden_panels = tag("div", *others, class_="tl-panels")
    return join([visible_panels, tag("details", words, hidden_panels, class_="tl-more-panels tl-folds-on-phone", open=True)])


def names_of(machines: Iterable[HomeMachine]) -> dict[str, int]:
    """Return the slot of the colour of each panel. A system has the same colour on all machines."""
    names = {_name(member, machine.series) for machine in machines for member in machine.series}
    return {name: slot for slot, name in enumerate(sorted(names, key=lambda name: (name.casefold(), name)))}


def _name(member: SystemSeries, series: Sequence[SystemSeries]) -> str:
    """Return the name of the panel of a series: its system, or its transport if all series are of one system."""
    return member.system if len({each.system for each in series}) > 1 else member.transport


def _panels(series: Sequence[SystemSeries], slots: Mapping[str, int]) -> Iterator[Panel]:
    by_name: dict[str, list[SystemSeries]] = {}
    for member in series:
        by_name.setdefault(_name(member, series), []).append(member)
    for name, members in by_name.items():
        yield Panel(name, slots.get(name, 0), tuple(members))


def _speed(panel: Panel, plot: Plot) -> tuple[float, str]:
    """Return the sort key of a panel: its best number at the smallest size of each series, then its name."""
    cells = [panel_cells[min(panel_cells)] for member in panel.members_in(plot) if (panel_cells := plot.cells(member))]
    sign = 1 if plot.members.group.metric == "latency" else -1
    return min((sign * (standing(cell).value or math.inf) for cell in cells), default=math.inf), panel.name


def _plots(machine: HomeMachine) -> Iterator[Plot]:
    both = machine.latency is not None and machine.rate is not None
    x_ranges = (_LATENCY, _RATE) if both else ((_LATENCY[0], _RATE[1] - _NAMES), (_LATENCY[0], _RATE[1]))
    for members, (left, right) in zip((machine.latency, machine.rate), x_ranges, strict=True):
        if members is None:
            continue
        cells = [members.group.cells(member) for member in members.members]
        values = [value for series_cells in cells for cell in series_cells.values() for value in (cell.low, cell.high) if value]
        sizes = sorted({payload for series_cells in cells for payload in series_cells})
        low, high = _decades(values)
        x = Scale(sizes[0], max(sizes[-1], 2 * sizes[0]), left, right)
        latency = members.group.metric == "latency"
        ticks = tuple((tick, quantity(tick, "ns") if latency else f"{tick / 1e9:g}") for tick in _powers(low, high))
        yield Plot(members, _title(members), x, Scale(low, high, _BOTTOM, _TOP), _sizes_labelled(sizes, x), ticks)


def _title(members: GroupMembers) -> str:
    group = members.group
    if group.metric != "latency":
        return "Gbit/s"
    return ", ".join(filter(None, (BASIS_WORDS.get(str(group["basis"] or ""), "latency"), {"p50": "median"}.get(group.statistic, group.statistic))))


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Return the powers of ten around all values."""
    low, high = math.floor(math.log10(min(values)) + 1e-9), math.ceil(math.log10(max(values)) - 1e-9)
    return 10.0**low, 10.0 ** max(high, low + 1)


def _powers(low: float, high: float) -> list[float]:
    first, last = round(math.log10(low)), round(math.log10(high))
    step = math.ceil((last - first + 1) / _MOST_TICKS)
    return [10.0**power for power in range(first, last + 1, step)]


def _sizes_labelled(sizes: Sequence[int], x: Scale) -> tuple[int, ...]:
    """Return the sizes that have room for a label: the largest, and then, from the smallest on, each that is not too close to the others."""
    labelled = [sizes[-1]]
    for payload in sizes[:-1]:
        if all(abs(x(payload) - x(other)) >= _NEAR for other in labelled):
            labelled.append(payload)
    return tuple(sorted(labelled))


def _floors_of(panel: Panel, plots: Sequence[Plot], bare: Sequence[SystemSeries]) -> dict[int, list[SystemSeries]]:
    """Return the floor lines of each plot: the best series without a library for each reach and way of waiting in the panel."""
    floors: dict[int, list[SystemSeries]] = {}
    for index, plot in enumerate(plots):
        wanted = {_reach_and_waiting(member) for member in panel.members_in(plot) if member not in bare}
        for wanted_way in sorted(wanted, key=str):
            able = [member for member in bare if member in plot.members.members and _reach_and_waiting(member) == wanted_way]
            if able:
                floors.setdefault(index, []).append(min(able, key=lambda member: _worth(plot, member)))
    return floors


def _reach_and_waiting(member: SystemSeries) -> tuple[str | None, str | None]:
    waiting = dict(member.series.key)["waiting"]
    return reach_of(member), None if waiting is None else str(waiting)


def _worth(plot: Plot, member: SystemSeries) -> float:
    """Return the mean logarithm of the numbers of a series. A lower result is better."""
    logs = [math.log(standing(cell).value) for cell in plot.cells(member).values() if cell.value]
    sign = 1 if plot.members.group.metric == "latency" else -1
    return sign * sum(logs) / len(logs) if logs else math.inf


# -- The text around the drawing -----------------------------------------------------------------------------------------------------


def _head(panel: Panel, plots: Sequence[Plot], bare: Sequence[SystemSeries]) -> Html:
    """Return the name of a panel, with links to the pages of its transports."""
    pages = {member.transport: member.document for plot in plots for member in panel.members_in(plot)}
    if list(pages) == [panel.name]:
        return tag("p", _linked(panel.name, pages[panel.name], strong=True), class_="tl-panel-name")
    short = _short_names(list(pages))
    links = join([_linked(short[transport], document) for transport, document in sorted(pages.items())], ", ")
    floor = " (the floor)" if any(member in bare for member in panel.series) else ""
    return tag("p", tag("strong", panel.name), floor, " ", links, class_="tl-panel-name stat-label")


def _linked(text: str, document: str | None, *, strong: bool = False) -> Html:
    content = tag("strong", text) if strong else text
    return tag("a", content, href=f"doc:{document}") if document else tag("span", content)


def _short_names(transports: Sequence[str]) -> dict[str, str]:
    """Return the names of transports without a common first word: ``ipc`` and ``udp`` for ``aeron-ipc`` and ``aeron-udp``."""
    heads = {transport.partition("-")[0] for transport in transports}
    shared = len(heads) == 1 and len(transports) > 1 and all("-" in transport for transport in transports)
    return {transport: transport.partition("-")[2] if shared else transport for transport in transports}


def _legend(series: Sequence[SystemSeries], bare: Sequence[SystemSeries]) -> Html:
    waitings = {dict(member.series.key)["waiting"] for member in series}
    items = [tag("li", "Each dot is a run, lines join medians.")]
    if "busy-poll" in waitings and len(waitings) > 1:
        items += [_sample(NOTHING, "sleeps until a message comes"), _sample(_DASH, "polls: keeps one processor of each side busy, messages or not")]
    if bare:
        items.append(_sample(NOTHING, "floor: the measuring tool alone, with the same way of waiting", "tl-floor"))
    if len(series) > 1:
        items.append(_sample(NOTHING, "all others", "tl-ghost"))
    return tag("figcaption", tag("ul", *items, class_="tl-legend"))


def _sample(dash: str, words: str, class_: str = "tl-grey") -> Html:
    path = tag("path", d="M1 6H27", class_="tl-path", stroke_dasharray=dash or None)
    return tag("li", tag("svg", path, class_=f"tl-swatch {class_}", viewBox="0 0 28 12", aria_hidden="true"), words)


# -- The drawing ------------------------------------------------------------------------------------------------------------


def _drawing(panel: Panel, plots: Sequence[Plot], bare: Mapping[int, Sequence[SystemSeries]], ghosts: str, anchor: str) -> Html:
    described = " ".join(filter(None, (_described(panel, plot) for plot in plots)))
    return tag(
        "svg",
        tag("title", f"{panel.name}: {' and '.join(plot.title for plot in plots)} over message size", id=f"{anchor}-t"),
        tag("desc", described, id=f"{anchor}-d"),
        *(part for plot in plots for part in _axes(plot)),
        tag("use", href=f"#{ghosts}", class_="tl-ghost"),
        *(_path(_outline(plots[index], plots[index].cells(member)), member, "tl-floor") for index, floors in bare.items() for member in floors),
        tag("g", *(part for plot in plots for member in panel.members_in(plot) for part in _line(plot, member)), class_=series_class(panel.slot)),
        *_labels(panel, plots[0]),
        class_="tl-svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_labelledby=f"{anchor}-t",
        aria_describedby=f"{anchor}-d",
    )


def _axes(plot: Plot) -> Iterator[Html]:
    left, right = plot.x.start, plot.x.end
    yield tag("path", d="".join(f"M{left:g} {plot.y(tick):g}H{right:g}" for tick, _ in plot.y_ticks), class_="tl-grid")
    yield tag("text", plot.title, x=left, y=10, class_="tl-axis")
    for tick, label in plot.y_ticks:
        yield tag("text", label, x=left - 4, y=round(plot.y(tick) + 3.5, 1), class_="tl-tick", text_anchor="end")
    for payload in plot.x_ticks:
        yield tag("text", size(payload), x=plot.x(payload), y=HEIGHT - 5, class_="tl-tick", text_anchor="middle")


def _line(plot: Plot, member: SystemSeries) -> Iterator[Html]:
    """Yield the line through the medians of a series, and a dot for each of its runs."""
    cells = plot.cells(member)
    yield _path(_outline(plot, cells), member, "tl-path")
    dots = [(plot.x(payload), plot.y(result.value)) for payload, cell in cells.items() for result in cell.results if result.value]
    yield tag("path", d="".join(f"M{x:g} {y:g}h0" for x, y in sorted({*dots})), class_="tl-dots")


def _path(outline: str, member: SystemSeries, class_: str) -> Html:
    return tag("path", d=outline, class_=class_, stroke_dasharray=_DASH if polls(member) else None)


def _outline(plot: Plot, cells: _Cells) -> str:
    points = [(plot.x(payload), plot.y(cells[payload].value or 0)) for payload in sorted(cells) if cells[payload].value]
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points) if len(points) > 1 else ""


def _labels(panel: Panel, plot: Plot) -> Iterator[Html]:
    """Yield the name of each line beside its end. Of several lines with one name, the one that ends at the largest size gets it, then the lowest."""
    ends: dict[str, tuple[int, float]] = {}
    for member, name in zip(panel.members_in(plot), line_names(panel.members_in(plot)), strict=True):
        if name and (cells := plot.cells(member)):
            last = max(cells)
            ends[name] = max(ends.get(name, (0, 0.0)), (last, plot.y(cells[last].value or plot.y.high)))
    for name, y in spread_labels({name: y for name, (_, y) in ends.items()}, _TOP, _BOTTOM).items():
        yield tag("text", name, x=round(plot.x.end + 5, 1), y=round(y + 3.5, 1), class_="tl-name")


def line_names(members: Sequence[SystemSeries]) -> list[str]:
    """Return the name of each line of a panel.

    It contains the transport if the panel has several, and the way of waiting if the transport has several. If the names are too many or too long,
    all lines of a transport share its name. In a document on one transport, lines are named after the conditions in which they differ, if there is
    room.
    """
    transports = list(dict.fromkeys(member.transport for member in members))
    short = _short_names(transports) if len(transports) > 1 else dict.fromkeys(transports, "")
    waiting_words: dict[str, set[object]] = {}
    for member in members:
        waiting_words.setdefault(member.transport, set()).add(_waiting_word(member))
    names = [
        " ".join(filter(None, (short[member.transport], _waiting_word(member) if len(waiting_words[member.transport]) > 1 else "")))
        for member in members
    ]
    if not any(names) and len(names) > 1 and members[0].series.published:
        labels = labels_among([(member.system, member.series) for member in members])
        return labels if all(len(label) <= _MOST_LETTERS for label in labels) else names
    have_room = len({*names}) <= _MOST_NAMES and all(len(name) <= _MOST_LETTERS for name in names)
    return names if have_room else [_cut(short[member.transport]) for member in members]


def _waiting_word(member: SystemSeries) -> str:
    """Return the way of waiting of a series, in one word if possible. The table below the panels has the full words."""
    return _SHORT_WAYS.get(waits(member), waits(member))


def _cut(name: str) -> str:
    return name if len(name) <= _MOST_LETTERS else f"{name[: _MOST_LETTERS - 1]}\u2026"


def spread_labels(heights: Mapping[str, float], top: float, bottom: float) -> dict[str, float]:
    """Return the heights of labels, from top to bottom, moved so that they do not overlap and stay within the plot."""
    order = sorted(heights, key=lambda name: (heights[name], name))
    spread: list[float] = []
    for name in order:
        spread.append(max(heights[name], spread[-1] + _LINE if spread else top))
    limit = bottom
    for index in range(len(spread) - 1, -1, -1):
        spread[index] = min(spread[index], limit)
        limit = spread[index] - _LINE
    return dict(zip(order, spread, strict=True))


def _described(panel: Panel, plot: Plot) -> str:
    """Return the medians of a panel in words, for readers who cannot see it."""
    unit = "ns" if plot.members.group.metric == "latency" else "bit_per_s"
    lines = []
    for member in panel.members_in(plot):
        cells = plot.cells(member)
        numbers = ", ".join(f"{quantity(cells[payload].value or 0.0, unit)} at {size(payload)}" for payload in sorted(cells))
        lines.append(f"{member.transport}{_in_brackets(how(member))}: {numbers}")
    return f"{plot.title}. {'; '.join(lines)}." if lines else ""


def _in_brackets(words: str) -> str:
    return f" ({words})" if words else ""
