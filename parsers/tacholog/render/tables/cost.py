"""The cost of messages, as a table and as sentences: processor time, context switches and memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tacholog.render.figures.svg import swatch
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.render.links import Links
from tacholog.render.table import Table, TableCell, TableColumn, TableRow, empty, exact, head, scroller
from tacholog.render.tables.results import linked_number
from tacholog.runs.moments import last_day
from tacholog.view.cost import SPINS, Cost, Spread, costs, resources_of, spinning, way_of_measuring
from tacholog.view.names import BASIS_WORDS
from tacholog.view.numerals import quantity, rounded, size
from tacholog.view.results import ResultRow
from tacholog.view.series import Series

_MIB = float(1 << 20)
_TO = "\u2013"  # an en dash
_MOST_IN_WORDS = 6  # series
_LEAST_SHOWN = 0.001  # context switches per message: smaller numbers are mostly chance, so they are shown as "less than" this
_HOW = (
    "The kernel counted processor time, context switches and memory of both sides, also while they warmed up and waited for the end. "
    "Where the log does not state for how many messages, the processor time of a message is the processors in use times the time for a message. "
    "A side that polls keeps a processor in use, whether messages come or not. "
    "A round trip is two messages. Memory is that of the larger side; where logs state only an upper bound of it (without peak_memory_from), it is "
    "not shown. A range is that of all runs. If the runs form two groups, there are two numbers."
)


class _Column(NamedTuple):
    name: str
    heading: str
    unit: str
    step: float


_COLUMNS = (
    _Column("processors", "processors in use", "", 1.0),
    _Column("cpu_ns", "processor time per message", "µs", 1e3),
    _Column("switches", "context switches per message", "", 1.0),
    _Column("memory_bytes", "memory", "MiB", _MIB),
)


def has_cost(series: Sequence[Series], results: Iterable[ResultRow]) -> bool:
    """Whether any of the series has a known cost."""
    resources = resources_of(results)
    return any(costs(member, resources) for member in filter(_is_measured, series))


def cost_note() -> Html:
    """Return a note on the meaning and the source of the numbers, which a page needs only once."""
    return tag("p", _HOW, class_="tl-note")


def cost_table(series: Sequence[Series], results: Iterable[ResultRow]) -> Html:
    """Return a table with a row for each size and series; nothing if no cost is known."""
    measured = _costs_of(series, results)
    if not measured:
        return NOTHING
    columns = [column for column in _COLUMNS if any(getattr(cost, column.name) for _, by_payload in measured for cost in by_payload.values())]
    sizes = sorted({payload for _, by_payload in measured for payload in by_payload}, key=lambda payload: -1 if payload is None else payload)
    several = len(measured) > 1
    rows = [
        TableRow([*_heads(member, payload, several=several), *(_cell(by_payload[payload], column) for column in columns)])
        for payload in sizes
        for member, by_payload in measured
        if payload in by_payload
    ]
    named = [TableColumn("series", class_="tl-text")] if several else []
    heads = [TableColumn("size"), *named, *(TableColumn(column.heading, column.unit) for column in columns)]
    return scroller(Table(f"Processor time, context switches and memory: {series[0].results[0].test}", heads, [rows], "tl-table"))


def cost_summary(series: Sequence[Series], results: Iterable[ResultRow]) -> Html:
    """Return a sentence for each series on the cost of its smallest messages; an empty result if no cost is known, or if there are many series."""
    measured = _costs_of(series, results)
    items = [item for member, by_payload in measured if (item := _sentence(member, by_payload, named=len(measured) > 1))]
    return tag("ul", *items, class_="tl-answers stat-cost") if items and len(items) <= _MOST_IN_WORDS else NOTHING


def spin_note(series: Sequence[Series], results: Iterable[ResultRow]) -> Html:
    """Return a note on the series that are told to sleep (block) but spin by default; an empty result if there are no such series.

    The note also says how spinning is recognised.
    """
    resources = resources_of(results)
    spinning_ways = spinning(series, resources)
    spins = [member for member in series if member.results[0].test == "latency" and way_of_measuring(member) in spinning_ways]
    if not spins:
        return NOTHING
    names = join([tag("span", "; ".join(member.label for member in spins), class_="stat-label"), ": "]) if len(series) > 1 else NOTHING
    words = "it keeps more than 0.9 processors in use, with fewer than 0.1 context switches per message, although it is told to sleep (block)."
    return tag("p", names, tag("strong", SPINS), ". ", f"{words[0].upper()}{words[1:]}", class_="tl-note tl-spins")


def rig_cost(rig: Sequence[Series], links: Links) -> Html:
    """Return, for each series of perftest's transport ``null``, a sentence on how much of a round trip perftest itself takes.

    If there are several series, the sentence names the machine, or what else distinguishes the series.
    """
    hosts = [dict(member.key)["host"] for member in rig]
    are_machines = len({*hosts}) == len(hosts)
    names = ["" if len(rig) == 1 else f" on {host}" if are_machines else f" in {member.label}" for member, host in zip(rig, hosts, strict=True)]
    sentences = [_rig_words(member, links, name) for member, name in zip(rig, names, strict=True)]
    return join([tag("p", "Of each round trip, perftest itself takes ", *words, class_="tl-note") for words in sentences if words])


def _rig_words(member: Series, links: Links, name: str) -> list[Html | str]:
    cells = [(payload, cell) for payload, cell in member.cells("latency", "p50").items() if payload is not None]
    if not cells:
        return []
    numbers = [join([linked_number(cell, "ns", links), " at ", tag("span", size(payload), class_="stat-size")]) for payload, cell in cells]
    day = last_day(run.start_time for run in member.runs)
    return [join(numbers, ", "), name, f" (its transport null{f', {day}' if day else ''})."]


def _costs_of(series: Sequence[Series], results: Iterable[ResultRow]) -> list[tuple[Series, Mapping[int | None, Cost]]]:
    """Series of the same runs have the same costs, so only the first of them is returned."""
    resources = resources_of(results)
    measured: list[tuple[Series, Mapping[int | None, Cost]]] = []
    for member in filter(_is_measured, series):
        by_payload = costs(member, resources)
        if by_payload and all(by_payload != costs_before for _, costs_before in measured):
            measured.append((member, by_payload))
    return measured


def _is_measured(series: Series) -> bool:
    """Series without latencies and without a received rate are the other side of the same runs, so they have the same cost."""
    return any(metric == "latency" or (metric, statistic) == ("message_rate", "mean") for metric, statistic in series.statistics())


def _heads(member: Series, payload: int | None, *, several: bool) -> list[TableCell]:
    name = join([swatch(member.slot, hollow=member.published), " ", member.label])
    return [head(size(payload), value="" if payload is None else payload), *([TableCell(name, class_="tl-text stat-label")] if several else [])]


def _cell(cost: Cost, column: _Column) -> TableCell:
    spread: Spread | None = getattr(cost, column.name)
    if spread is None:
        return empty()
    ends = [_as_text(end, column) for end in (spread.low, spread.high)]
    return TableCell(_spread_text(spread, column), exact(spread.value), range=_TO.join(ends) if ends[0] != ends[1] else "", class_="stat-cost")


def _spread_text(spread: Spread, column: _Column) -> str | Html:
    if not spread.groups:
        return _as_text(spread.value, column)
    return join(
        tag("span", _as_text(value, column), tag("span", f"in\u00a0{runs}\u00a0runs", class_="tl-of"), class_="tl-group")
        for value, runs in spread.groups
    )


def _as_text(value: float, column: _Column) -> str:
    if column.name == "switches" and 0 < value < _LEAST_SHOWN:
        return f"<{_LEAST_SHOWN:g}"
    return rounded(value / column.step)


def _sentence(member: Series, by_payload: Mapping[int | None, Cost], *, named: bool) -> Html | None:
    payload = min(by_payload, key=lambda payload: payload or 0)
    cost = by_payload[payload]
    if cost.processors is None or cost.cpu_ns is None:
        return None
    basis = BASIS_WORDS.get(str(dict(member.key).get("basis"))) or "stream"
    used = f"with {rounded(cost.processors.value, 2)} processors in use ({basis})"
    times = " or ".join(quantity(value, "ns") for value, _ in cost.cpu_ns.groups) or quantity(cost.cpu_ns.value, "ns")
    words = f"{times} of processor time per message of {size(payload)}, {used}."
    label = join([tag("span", member.label, class_="tl-label"), " "]) if named else NOTHING
    return tag("li", swatch(member.slot, hollow=member.published), tag("div", label, words))
