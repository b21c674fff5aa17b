"""A figure of small panels, one for each system: latency and rate over message size, on axes that all panels share. Each dot is a run.

Letters at the ends of lines stand for the transports of a panel, which its heading names. If the pointer is on a dot, the number of the dot is shown.

Grey lines are the other systems. The dark line is the floor: the result of the same tool without a library, with the same reach (process, host,
network) and the same way of waiting. The figure is static SVG. Colours come from the style sheet, and each panel has a description in words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase

import msgspec

from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.view.home import GroupMembers, HomeMachine, differing_labels_of, floors, how, polls, reach_of
from tacholog.view.names import BASIS_WORDS
from tacholog.view.numerals import quantity, size
from tacholog.view.ranking_groups import SystemSeries, standing
from tacholog.view.series import Cell, labels_among

WIDTH, HEIGHT = 312, 154
_TOP, _BOTTOM = 18, 132
_LATENCY, _RATE = (44, 136), (200, 292)  # the left and right ends of the two plots; the ticks are on the left of a plot, the letters on its right
_FIRST = 6  # the number of panels that a phone shows unfolded
_LINE = 10.0  # height of a letter, in units of the drawing
_LINE_OF_TEXT = 13  # height of a line of text, in the same units
_LETTERS = 12  # the distance from the end of a plot to its letters
_MOST_TICKS = 5
_NEAR = 40.0  # labels of sizes with a smaller distance would overlap
_HALF = WIDTH / 2
_DASH = "4 2.5"
_PAIR = 2
_Cells = Mapping[int, Cell]


class Scale(msgspec.Struct, frozen=True):
    """A logarithmic axis of a plot: its range of values, and the positions of its ends in the drawing."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the position of a value in the drawing."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.start + share * (self.end - self.start), 1)


class Plot(msgspec.Struct, frozen=True):
    """A plot that all panels share: the ranked series, a title, and the axes with ticks and labels."""

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
    """A panel: its name, the series that it shows in all plots, and the names of their lines."""

    name: str
    series: tuple[SystemSeries, ...]
    line_names: Mapping[int, str]

    @property
    def letters(self) -> dict[str, str]:
        """The letters that stand for the names of lines, by name; empty if all lines have the same name."""
        names = dict.fromkeys(filter(None, self.line_names.values()))
        return dict(zip(sorted(names, key=str.casefold), ascii_lowercase, strict=False)) if len(names) > 1 else {}

    def how(self, member: SystemSeries) -> str:
        """Return, in words, how a series of the panel was measured."""
        return how(member, differing_labels_of(self.series))

    def members_in(self, plot: Plot) -> list[SystemSeries]:
        """Return the series of the panel in a plot."""
        return [member for member in plot.members.members if member in self.series]


def panels(machine: HomeMachine, anchor: str) -> Html:
    """Return the panels of a machine. ``anchor`` is the start of every id."""
    plots = list(_plots(machine))
    bare = floors(machine.series)
    ordered = sorted(_panels(machine.series), key=lambda panel: _sort_key(panel, plots[0]))
    ghosts = f"{anchor}-all"
    all_lines = "".join(_outline(plot, plot.cells(member)) for plot in plots for member in plot.members.members)
    hidden = tag("svg", tag("path", d=all_lines, id=ghosts), class_="tl-hidden", width=0, height=0, aria_hidden="true")
    drawn = [
        tag("div", _head(panel, plots, bare), _drawing(panel, plots, _floors_of(panel, plots, bare), ghosts, f"{anchor}-{index}"), class_="tl-panel")
        for index, panel in enumerate(ordered)
    ]
    return tag("figure", _legend(machine, bare), hidden, _rows(drawn), class_="tl-small-multiples")


def _rows(drawn: Sequence[Html]) -> Html:
    """Return the drawn panels as HTML. The first panels are always visible.

    On phones, a script folds all further panels, because a dozen panels are three screens high there.
    """
    first, others = (drawn[:_FIRST], drawn[_FIRST:]) if len(drawn) > _FIRST + 1 else (drawn, ())
    visible_panels = tag("div", *first, class_="tl-panels")
    if not others:
        return visible_panels
    words = tag("summary", tag("span", str(len(others)), class_="stat-count"), " more panels")
    hidden_panels = tag("div", *others, class_="tl-panels")
    return join([visible_panels, tag("details", words, hidden_panels, class_="tl-more-panels tl-folds-on-phone", open=True)])


def _panel_name(member: SystemSeries, series: Sequence[SystemSeries]) -> str:
    return member.system if len({each.system for each in series}) > 1 else member.transport


def _panels(series: Sequence[SystemSeries]) -> Iterator[Panel]:
    by_name: dict[str, list[SystemSeries]] = {}
    for member in series:
        by_name.setdefault(_panel_name(member, series), []).append(member)
    for name, members in by_name.items():
        names = line_names(members)
        yield Panel(name, tuple(members), {id(member): line_name for member, line_name in zip(members, names, strict=True)})


def _sort_key(panel: Panel, plot: Plot) -> tuple[float, str]:
    """Return the sort key of a panel. It is the best number at the smallest size of each series, and then the name."""
    cells = [panel_cells[min(panel_cells)] for member in panel.members_in(plot) if (panel_cells := plot.cells(member))]
    sign = 1 if plot.members.group.metric == "latency" else -1
    return min((sign * (standing(cell).value or math.inf) for cell in cells), default=math.inf), panel.name


def _plots(machine: HomeMachine) -> Iterator[Plot]:
    both = machine.latency is not None and machine.rate is not None
    x_ranges = (_LATENCY, _RATE) if both else ((_LATENCY[0], _RATE[1]), (_LATENCY[0], _RATE[1]))
    for members, (left, right) in zip((machine.latency, machine.rate), x_ranges, strict=True):
        if members is None:
            continue
        cells = [members.group.cells(member) for member in members.members]
        values = [value for series_cells in cells for cell in series_cells.values() for value in (cell.low, cell.high) if value]
        sizes = sorted({payload for series_cells in cells for payload in series_cells})
        low, high = _enclosing_powers_of_ten(values)
        x = Scale(sizes[0], max(sizes[-1], 2 * sizes[0]), left, right)
        latency = members.group.metric == "latency"
        ticks = tuple((tick, quantity(tick, "ns") if latency else f"{tick / 1e9:g}") for tick in _powers(low, high))
        yield Plot(members, _title(members), x, Scale(low, high, _BOTTOM, _TOP), _sizes_with_room_for_label(sizes, x), ticks)


def _title(members: GroupMembers) -> str:
    group = members.group
    if group.metric != "latency":
        return "Gbit/s"
    return ", ".join(filter(None, (BASIS_WORDS.get(str(group["basis"] or ""), "latency"), {"p50": "median"}.get(group.statistic, group.statistic))))


def _enclosing_powers_of_ten(values: Sequence[float]) -> tuple[float, float]:
    low, high = math.floor(math.log10(min(values)) + 1e-9), math.ceil(math.log10(max(values)) - 1e-9)
    return 10.0**low, 10.0 ** max(high, low + 1)


def _powers(low: float, high: float) -> list[float]:
    first, last = round(math.log10(low)), round(math.log10(high))
    step = math.ceil((last - first + 1) / _MOST_TICKS)
    return [10.0**power for power in range(first, last + 1, step)]


def _sizes_with_room_for_label(sizes: Sequence[int], x: Scale) -> tuple[int, ...]:
    labelled = [sizes[-1]]
    for payload in sizes[:-1]:
        if all(abs(x(payload) - x(other)) >= _NEAR for other in labelled):
            labelled.append(payload)
    return tuple(sorted(labelled))


def _floors_of(panel: Panel, plots: Sequence[Plot], bare: Sequence[SystemSeries]) -> dict[int, list[SystemSeries]]:
    """Return the floors of each plot, by the index of the plot. A floor is the best series that uses no library.

    A plot has one floor for each combination of reach and way of waiting that its series with a library have.
    """
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
    pages = {member.transport: member.document for plot in plots for member in panel.members_in(plot)}
    if list(pages) == [panel.name] and not panel.letters:
        return tag("p", _linked(panel.name, pages[panel.name], strong=True), class_="tl-panel-name")
    floor = " (no library)" if any(member in bare for member in panel.series) else ""
    short = _short_names(list(pages))
    documents = {short[transport]: document for transport, document in sorted(pages.items())}
    named = {name: documents.get(name) for name in panel.letters} or documents
    links = [join([_letter(panel.letters.get(name, "")), _linked(name, document)]) for name, document in named.items()]
    return tag("p", tag("strong", panel.name), floor, " ", join(links, ", "), class_="tl-panel-name stat-label")


def _letter(letter: str) -> Html:
    return join([tag("b", letter, class_="tl-letter"), "\u00a0"]) if letter else NOTHING


def _linked(text: str, document: str | None, *, strong: bool = False) -> Html:
    content = tag("strong", text) if strong else text
    return tag("a", content, href=f"doc:{document}") if document else tag("span", content)


def _short_names(transports: Sequence[str]) -> dict[str, str]:
    """Return ``ipc`` and ``udp`` for ``aeron-ipc`` and ``aeron-udp``, if all names have the same first word."""
    heads = {transport.partition("-")[0] for transport in transports}
    shared = len(heads) == 1 and len(transports) > 1 and all("-" in transport for transport in transports)
    return {transport: transport.partition("-")[2] if shared else transport for transport in transports}


def _legend(machine: HomeMachine, bare: Sequence[SystemSeries]) -> Html:
    series = machine.series
    waitings = {dict(member.series.key)["waiting"] for member in series}
    of_two = " (of two runs, the worse)" if machine.repetitions == _PAIR else ""
    items = [tag("li", f"Each dot is a run; lines join the medians{of_two}.")]
    if "busy-poll" in waitings and len(waitings) > 1:
        items += [_sample(NOTHING, "sleeps until a message comes"), _sample(_DASH, "polls: keeps one processor of each side busy, messages or not")]
    if bare:
        items.append(_sample(NOTHING, "without a library: the measuring tool alone, waiting in the same way", "tl-floor"))
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
        tag("g", *(part for plot in plots for member in panel.members_in(plot) for part in _line(plot, member))),
        *(letter for plot in plots for letter in _letters(panel, plot)),
        *(value for plot in plots for member in panel.members_in(plot) for value in _values(panel, plot, member)),
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
    cells = plot.cells(member)
    yield _path(_outline(plot, cells), member, "tl-path")
    dots = [(plot.x(payload), plot.y(result.value)) for payload, cell in cells.items() for result in cell.results if result.value]
    yield tag("path", d="".join(f"M{x:g} {y:g}h0" for x, y in sorted({*dots})), class_="tl-dots")


def _path(outline: str, member: SystemSeries, class_: str) -> Html:
    return tag("path", d=outline, class_=class_, stroke_dasharray=_DASH if polls(member) else None)


def _outline(plot: Plot, cells: _Cells) -> str:
    points = [(plot.x(payload), plot.y(cells[payload].value or 0)) for payload in sorted(cells) if cells[payload].value]
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points) if len(points) > 1 else ""


def _letters(panel: Panel, plot: Plot) -> Iterator[Html]:
    """Yield the letters at the ends of the lines of a plot, each with a thin connecting line.

    If several lines have the same letter and end at about the same height, the letter is drawn once.
    """
    ends: dict[str, tuple[str, float, float]] = {}
    for member in panel.members_in(plot):
        letter, cells = panel.letters.get(panel.line_names[id(member)]), plot.cells(member)
        if letter and cells:
            x, y = plot.x(max(cells)), plot.y(cells[max(cells)].value or plot.y.high)
            if all(letter != other or abs(y - other_y) >= _LINE for other, _, other_y in ends.values()):
                ends[f"{letter}{len(ends)}"] = (letter, x, y)
    column = plot.x.end + _LETTERS
    for name, y in spread_labels({name: end[2] for name, end in ends.items()}, _TOP, _BOTTOM).items():
        letter, x_end, y_end = ends[name]
        yield tag("path", d=f"M{x_end + 2:g} {y_end:g}L{column - 2:g} {round(y, 1):g}", class_="tl-leader")
        yield tag("text", letter, x=column, y=round(y + 3.5, 1), class_="tl-name")


def _values(panel: Panel, plot: Plot, member: SystemSeries) -> Iterator[Html]:
    """Yield the number at each size as text. The page shows it only while the pointer is on its dot."""
    name = ", ".join(filter(None, (panel.line_names[id(member)], panel.how(member))))
    unit = "ns" if plot.members.group.metric == "latency" else "bit_per_s"
    for payload, cell in plot.cells(member).items():
        if cell.value:
            x, y = plot.x(payload), plot.y(cell.value)
            number = f"{size(payload)}: {quantity(cell.value, unit)}"
            second = [tag("tspan", number, x=_HALF, dy=_LINE_OF_TEXT)] if name else []
            top = round(max(y - 8 - _LINE_OF_TEXT * len(second), 10), 1)
            text = tag("text", name or number, *second, x=_HALF, y=top, text_anchor="middle")
            yield tag("g", tag("path", d=f"M{x:g} {y:g}h0"), text, class_="tl-value")


def line_names(members: Sequence[SystemSeries]) -> list[str]:
    """Name each line of a panel by its transport. If all transports are the same, the names of published lines state how they differ."""
    transports = list(dict.fromkeys(member.transport for member in members))
    if len(transports) > 1:
        short = _short_names(transports)
        return [short[member.transport] for member in members]
    if len(members) > 1 and members[0].series.published:
        return labels_among([(member.system, member.series) for member in members])
    return [""] * len(members)


def spread_labels(heights: Mapping[str, float], top: float, bottom: float) -> dict[str, float]:
    """Return new heights for labels, from top to bottom. Labels are moved so that they do not overlap, and stay within the plot."""
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
    """Return the medians of a panel in words, for readers who cannot see the figure."""
    unit = "ns" if plot.members.group.metric == "latency" else "bit_per_s"
    lines = []
    for member in panel.members_in(plot):
        cells = plot.cells(member)
        numbers = ", ".join(f"{quantity(cells[payload].value or 0.0, unit)} at {size(payload)}" for payload in sorted(cells))
        lines.append(f"{member.transport}{_in_brackets(panel.how(member))}: {numbers}")
    return f"{plot.title}. {'; '.join(lines)}." if lines else ""


def _in_brackets(words: str) -> str:
    return f" ({words})" if words else ""
