"""A figure of small panels, one a system: latency and rate over message size, every run a dot, on axes that all panels share.

Grey lines are the other systems. The dark line is the floor: what the same tool reaches without a library, over as far a way and with the same way of
waiting. It is static SVG. Colours come from the style sheet, and each panel says in words what it draws.
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
_NAMES = 74  # for the names beside the lines, where there is only one plot
_FIRST = 6  # panels that a phone shows at once: elsewhere, whole rows of three or of two
_LINE = 11.0  # of text, in the units of the drawing
_MOST_TICKS = 5
_MOST_NAMES = 5  # with more of them, lines of one transport share a name
_MOST_LETTERS = 13  # of a name beside a line: a longer one would lie over the next plot
_SHORT_WAYS = {SPINS: "spins"}
_NEAR = 40.0  # two labels of sizes that are nearer than this would overlap
_DASH = "4 2.5"
_Cells = Mapping[int, Cell]


class Scale(msgspec.Struct, frozen=True):
    """A logarithmic axis of a plot: its range, and where on the drawing its ends are."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return where a value is on the drawing."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.start + share * (self.end - self.start), 1)


class Plot(msgspec.Struct, frozen=True):
    """A plot that all panels have: which number, its title, and its axes with the ticks and their labels."""

    members: GroupMembers
    title: str
    x: Scale
    y: Scale
    x_ticks: tuple[int, ...]
    y_ticks: tuple[tuple[float, str], ...]

    def cells(self, one: SystemSeries) -> _Cells:
        """Return the numbers of a series in this plot by size."""
        return self.members.group.cells(one)


class Panel(msgspec.Struct, frozen=True):
    """A panel: its name, the slot of its colour, its series of all plots."""

    name: str
    slot: int
    series: tuple[SystemSeries, ...]

    def of(self, plot: Plot) -> list[SystemSeries]:
        """Return its series in a plot."""
        return [one for one in plot.members.members if one in self.series]


def panels(machine: HomeMachine, slots: Mapping[str, int], anchor: str) -> Html:
    """Return the panels of a machine.

    Args:
        machine: what was measured there.
        slots: the colour of each system, and of each transport where there is only one system.
        anchor: starts every id.
    """
    plots = list(_plots(machine))
    bare = floors(machine.series)
    shown = sorted(_panels(machine.series, slots), key=lambda panel: _speed(panel, plots[0]))
    ghosts = f"{anchor}-all"
    all_lines = "".join(_outline(plot, plot.cells(one)) for plot in plots for one in plot.members.members)
    hidden = tag("svg", tag("path", d=all_lines, id=ghosts), class_="tl-hidden", width=0, height=0, aria_hidden="true")
    drawn = [
        tag("div", _head(panel, plots, bare), _drawing(panel, plots, _floors_of(panel, plots, bare), ghosts, f"{anchor}-{place}"), class_="tl-panel")
        for place, panel in enumerate(shown)
    ]
    return tag("figure", _legend(machine.series, bare), hidden, _rows(drawn), class_="tl-small-multiples")


def _rows(drawn: Sequence[Html]) -> Html:
    """Return the panels. On a phone, a script folds all but the first: below each other, a dozen are three screens high."""
    first, rest = (drawn[:_FIRST], drawn[_FIRST:]) if len(drawn) > _FIRST + 1 else (drawn, ())
    shown = tag("div", *first, class_="tl-panels")
    if not rest:
        return shown
    words = tag("summary", tag("span", str(len(rest)), class_="stat-count"), " more panels")
    return join([shown, tag("details", words, tag("div", *rest, class_="tl-panels"), class_="tl-more-panels tl-folds-on-phone", open=True)])


def names_of(machines: Iterable[HomeMachine]) -> dict[str, int]:
    """Return the slot of the colour of each panel of these machines: a system has the same colour on all."""
    names = {_name(one, machine.series) for machine in machines for one in machine.series}
    return {name: slot for slot, name in enumerate(sorted(names, key=lambda name: (name.casefold(), name)))}


def _name(one: SystemSeries, series: Sequence[SystemSeries]) -> str:
    """Return the name of the panel of a series: its system, or its transport where all are of one system."""
    return one.system if len({each.system for each in series}) > 1 else one.transport


def _panels(series: Sequence[SystemSeries], slots: Mapping[str, int]) -> Iterator[Panel]:
    found: dict[str, list[SystemSeries]] = {}
    for one in series:
        found.setdefault(_name(one, series), []).append(one)
    for name, members in found.items():
        yield Panel(name, slots.get(name, 0), tuple(members))


def _speed(panel: Panel, plot: Plot) -> tuple[float, str]:
    """Return what panels are ordered by: the lowest latency at the smallest size that any series of the panel has."""
    cells = [found[min(found)] for one in panel.of(plot) if (found := plot.cells(one))]
    sign = 1 if plot.members.group.metric == "latency" else -1
    return min((sign * (standing(cell).value or math.inf) for cell in cells), default=math.inf), panel.name


def _plots(machine: HomeMachine) -> Iterator[Plot]:
    both = machine.latency is not None and machine.rate is not None
    places = (_LATENCY, _RATE) if both else ((_LATENCY[0], _RATE[1] - _NAMES), (_LATENCY[0], _RATE[1]))
    for members, (left, right) in zip((machine.latency, machine.rate), places, strict=True):
        if members is None:
            continue
        cells = [members.group.cells(one) for one in members.members]
        values = [value for found in cells for cell in found.values() for value in (cell.low, cell.high) if value]
        sizes = sorted({at for found in cells for at in found})
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
    """Return the sizes that have room for a label: the largest, and from the smallest on those that are not too near."""
    kept = [sizes[-1]]
    for at in sizes[:-1]:
        if all(abs(x(at) - x(other)) >= _NEAR for other in kept):
            kept.append(at)
    return tuple(sorted(kept))


def _floors_of(panel: Panel, plots: Sequence[Plot], bare: Sequence[SystemSeries]) -> dict[int, list[SystemSeries]]:
    """Return the floor lines of each plot: of each reach and way of waiting that the panel has, the best series without a library."""
    found: dict[int, list[SystemSeries]] = {}
    for place, plot in enumerate(plots):
        wanted = {_way(one) for one in panel.of(plot) if one not in bare}
        for way in sorted(wanted, key=str):
            able = [one for one in bare if one in plot.members.members and _way(one) == way]
            if able:
                found.setdefault(place, []).append(min(able, key=lambda one: _worth(plot, one)))
    return found


def _way(one: SystemSeries) -> tuple[str | None, str | None]:
    waiting = dict(one.series.key)["waiting"]
    return reach_of(one), None if waiting is None else str(waiting)


def _worth(plot: Plot, one: SystemSeries) -> float:
    """Return the mean logarithm of the numbers of a series, with the better ones lower."""
    logs = [math.log(standing(cell).value) for cell in plot.cells(one).values() if cell.value]
    sign = 1 if plot.members.group.metric == "latency" else -1
    return sign * sum(logs) / len(logs) if logs else math.inf


# -- What a reader sees -----------------------------------------------------------------------------------------------------


def _head(panel: Panel, plots: Sequence[Plot], bare: Sequence[SystemSeries]) -> Html:
    """Return the name of a panel, with links to the pages of its transports."""
    pages = {one.transport: one.document for plot in plots for one in panel.of(plot)}
    if list(pages) == [panel.name]:
        return tag("p", _linked(panel.name, pages[panel.name], strong=True), class_="tl-panel-name")
    short = _short_names(list(pages))
    links = join([_linked(short[transport], document) for transport, document in sorted(pages.items())], ", ")
    floor = " (the floor)" if any(one in bare for one in panel.series) else ""
    return tag("p", tag("strong", panel.name), floor, " ", links, class_="tl-panel-name stat-label")


def _linked(text: str, document: str | None, *, strong: bool = False) -> Html:
    shown = tag("strong", text) if strong else text
    return tag("a", shown, href=f"doc:{document}") if document else tag("span", shown)


def _short_names(transports: Sequence[str]) -> dict[str, str]:
    """Return the names of transports without the first word that all of them share: ``ipc`` and ``udp`` for ``aeron-ipc`` and ``aeron-udp``."""
    heads = {transport.partition("-")[0] for transport in transports}
    shared = len(heads) == 1 and len(transports) > 1 and all("-" in transport for transport in transports)
    return {transport: transport.partition("-")[2] if shared else transport for transport in transports}


def _legend(series: Sequence[SystemSeries], bare: Sequence[SystemSeries]) -> Html:
    ways = {dict(one.series.key)["waiting"] for one in series}
    items = [tag("li", "Each dot is a run, lines join medians.")]
    if "busy-poll" in ways and len(ways) > 1:
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
        *(_path(_outline(plots[place], plots[place].cells(one)), one, "tl-floor") for place, found in bare.items() for one in found),
        tag("g", *(part for plot in plots for one in panel.of(plot) for part in _line(plot, one)), class_=series_class(panel.slot)),
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
    for at in plot.x_ticks:
        yield tag("text", size(at), x=plot.x(at), y=HEIGHT - 5, class_="tl-tick", text_anchor="middle")


def _line(plot: Plot, one: SystemSeries) -> Iterator[Html]:
    """Yield the line through the medians of a series, and a dot for each of its runs."""
    cells = plot.cells(one)
    yield _path(_outline(plot, cells), one, "tl-path")
    dots = [(plot.x(at), plot.y(result.value)) for at, cell in cells.items() for result in cell.results if result.value]
    yield tag("path", d="".join(f"M{x:g} {y:g}h0" for x, y in sorted({*dots})), class_="tl-dots")


def _path(outline: str, one: SystemSeries, class_: str) -> Html:
    return tag("path", d=outline, class_=class_, stroke_dasharray=_DASH if polls(one) else None)


def _outline(plot: Plot, cells: _Cells) -> str:
    places = [(plot.x(at), plot.y(cells[at].value or 0)) for at in sorted(cells) if cells[at].value]
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in places) if len(places) > 1 else ""


def _labels(panel: Panel, plot: Plot) -> Iterator[Html]:
    """Yield the name of each line beside its end: of lines of one name, that of the longest, then the lowest."""
    ends: dict[str, tuple[int, float]] = {}
    for one, name in zip(panel.of(plot), line_names(panel.of(plot)), strict=True):
        if name and (cells := plot.cells(one)):
            last = max(cells)
            ends[name] = max(ends.get(name, (0, 0.0)), (last, plot.y(cells[last].value or plot.y.high)))
    for name, y in spread_labels({name: y for name, (_, y) in ends.items()}, _TOP, _BOTTOM).items():
        yield tag("text", name, x=round(plot.x.end + 5, 1), y=round(y + 3.5, 1), class_="tl-name")


def line_names(members: Sequence[SystemSeries]) -> list[str]:
    """Return what each line of a panel is called: its transport, if there are several, and its way of waiting, if the transport has several.

    Where the names are too many or too long, lines of one transport share its name. In a document on one transport, a line is called by the
    conditions in which the lines differ, if there is room.
    """
    transports = list(dict.fromkeys(one.transport for one in members))
    short = _short_names(transports) if len(transports) > 1 else dict.fromkeys(transports, "")
    ways: dict[str, set[object]] = {}
    for one in members:
        ways.setdefault(one.transport, set()).add(_way_words(one))
    names = [" ".join(filter(None, (short[one.transport], _way_words(one) if len(ways[one.transport]) > 1 else ""))) for one in members]
    if not any(names) and len(names) > 1 and members[0].series.published:
        labels = labels_among([(one.system, one.series) for one in members])
        return labels if all(len(label) <= _MOST_LETTERS for label in labels) else names
    have_room = len({*names}) <= _MOST_NAMES and all(len(name) <= _MOST_LETTERS for name in names)
    return names if have_room else [_cut(short[one.transport]) for one in members]


def _way_words(one: SystemSeries) -> str:
    """Return how a series waits in one word, where there is one: the table below the panels has the whole words."""
    return _SHORT_WAYS.get(waits(one), waits(one))


def _cut(name: str) -> str:
    return name if len(name) <= _MOST_LETTERS else f"{name[: _MOST_LETTERS - 1]}\u2026"


def spread_labels(places: Mapping[str, float], top: float, bottom: float) -> dict[str, float]:
    """Return places of labels, from top to bottom, moved so far that no two lie on one another and none leaves the plot."""
    order = sorted(places, key=lambda name: (places[name], name))
    found: list[float] = []
    for name in order:
        found.append(max(places[name], found[-1] + _LINE if found else top))
    limit = bottom
    for place in range(len(found) - 1, -1, -1):
        found[place] = min(found[place], limit)
        limit = found[place] - _LINE
    return dict(zip(order, found, strict=True))


def _described(panel: Panel, plot: Plot) -> str:
    """Return the medians that a panel draws in words, for readers who cannot see it."""
    unit = "ns" if plot.members.group.metric == "latency" else "bit_per_s"
    lines = []
    for one in panel.of(plot):
        cells = plot.cells(one)
        numbers = ", ".join(f"{quantity(cells[at].value or 0.0, unit)} at {size(at)}" for at in sorted(cells))
        lines.append(f"{one.transport}{_in_brackets(how(one))}: {numbers}")
    return f"{plot.title}. {'; '.join(lines)}." if lines else ""


def _in_brackets(words: str) -> str:
    return f" ({words})" if words else ""
