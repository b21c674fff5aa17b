"""What may stand side by side: series of one machine, one basis, one definition. Nothing else is ever ranked."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tacholog.records import METRICS
from tacholog.report.figures import LOGICAL, LOSS, REFERENCE
from tacholog.report.markup import Html, tag
from tacholog.report.numerals import NOT_STATED, size, unit_shown
from tacholog.report.series import Cell, Series, words
from tacholog.report.tables import CellWriter, Links, badge, column_decimals, scroller
from tacholog.report.views import Selection, View

_REFERENCE = "reference_only"  # the mark of a latency that grows with no bytes, because none moved
_TOLD_BY = (("latency", "p50"), ("latency", "mean"), ("goodput", "mean"))


class Compared(msgspec.Struct, frozen=True):
    """One series of one system over one transport."""

    system: str
    transport: str
    series: Series
    document: str | None = None

    @property
    def id(self) -> str:
        """A name for addresses, made from the conditions: it lasts as long as they do."""
        return hashlib.sha256(repr((self.system, self.series.facts[0].test, self.series.key)).encode()).hexdigest()[:8]

    @property
    def name(self) -> str:
        """What it is called among all others."""
        return f"{self.system}, {self.transport}: {self.series.label}"


class Group(msgspec.Struct, frozen=True):
    """What must be equal for two series to be compared; all of it is known."""

    metric: str
    statistic: str
    test: str
    host: str
    definition: str
    load: str
    basis: str | None = None
    of_reference: bool = False

    @property
    def words(self) -> str:
        """The number that is compared, in words."""
        told = {"p50": "median"}.get(self.statistic, "")
        of = "of a reference" if self.of_reference else ""
        return ", ".join(filter(None, (METRICS[self.metric].words, told, words("basis", self.basis), of)))

    def cells(self, one: Compared) -> dict[int, Cell]:
        """Return the numbers of a series by size in bytes; those for a range of sizes or of no stated size are no place on a line."""
        found = one.series.cells(self.metric, self.statistic)
        return {at: cell for at, cell in found.items() if at is not None and cell.value is not None and cell.sizes_high is None}


def compared(view: View, pages: Mapping[tuple[str, str], str]) -> list[Compared]:
    """Return every series of a view. ``pages`` maps systems and transports to their documents."""
    pairs = sorted({(fact.run.system or NOT_STATED, fact.conditions.transport or NOT_STATED) for fact in view.summaries()})
    return [
        Compared(system, transport, series, pages.get((system, transport)))
        for system, transport in pairs
        for part in (view.only(Selection(system=system, transport=transport)),)
        for test in dict.fromkeys(fact.test for fact in part.summaries())
        for series in part.only(Selection(test=test)).series()
    ]


def groups(everything: Iterable[Compared]) -> dict[Group, list[Compared]]:
    """Return the series that may be compared with at least one other, by what they have in common."""
    found: dict[Group, list[Compared]] = {}
    for one in everything:
        for group in _groups_of(one):
            found.setdefault(group, []).append(one)
    return {group: members for group, members in found.items() if len(members) > 1}


def _groups_of(one: Compared) -> list[Group]:
    """Return what a series is measured by: nothing where machine, definition or basis is not known, or no bytes moved."""
    key = dict(one.series.key)
    for metric, statistic in _TOLD_BY:
        basis = key["basis"] if metric == "latency" else None
        known = (key["host"], key["definition"]) if metric == "goodput" else (key["host"], key["definition"], basis)
        if not one.series.cells(metric, statistic) or (metric == "goodput" and one.series.has_mark(LOGICAL)):
            continue
        if None in known:
            return []
        test, load = one.series.facts[0].test, str(key["load_mode"] or NOT_STATED)
        said = None if basis is None else str(basis)
        group = Group(
            metric, statistic, test, str(key["host"]), str(key["definition"]), load, said, metric == "latency" and one.series.has_mark(REFERENCE)
        )
        return [group] if group.cells(one) else []
    return []


def sizes_of(group: Group, members: Sequence[Compared], most: int) -> list[int]:
    """Choose at most so many sizes, the smallest and the largest among them, of those that most of the series have."""
    counts: dict[int, int] = {}
    for one in members:
        for at in group.cells(one):
            counts[at] = counts.get(at, 0) + 1
    sizes = sorted(at for at, count in counts.items() if count == max(counts.values()))
    if len(sizes) <= most:
        return sizes
    return [sizes[round(index * (len(sizes) - 1) / (most - 1))] for index in range(most)]


def best_of(group: Group, cells: Mapping[int, Cell]) -> set[int]:
    """Return the keys of the best cells: of one, or of several that repeated runs do not tell apart.

    A bound is no number to win with, nor is a rate that more than 1 % of the messages were lost at, nor a reference's latency beside those of bytes.
    """
    able = {key: cell for key, cell in cells.items() if cell.value is not None and cell.shown.bound == "=" and LOSS not in cell.marks}
    able = {key: cell for key, cell in able.items() if _REFERENCE not in cell.marks} or able
    if not able:
        return set()
    choose = min if METRICS[group.metric].better == "lower" else max
    best = able[choose(able, key=lambda key: able[key].value or 0.0)]
    return {key for key, cell in able.items() if _meet(cell, best)}


def _meet(one: Cell, other: Cell) -> bool:
    ends = [end for cell in (one, other) for end in (cell.low, cell.high)]
    if None in ends:
        return one.value == other.value
    low, high, other_low, other_high = (float(end or 0.0) for end in ends)
    return low <= other_high and other_low <= high


def ordered(group: Group, members: Sequence[Compared], sizes: Sequence[int]) -> list[Compared]:
    """Return the series, the best first: by the geometric mean over the sizes that they have, each against the best of its size."""
    cells = [group.cells(one) for one in members]
    lower = METRICS[group.metric].better == "lower"

    def worth(found: Mapping[int, Cell]) -> float:
        ratios = []
        for at in sizes:
            values = [float(each[at].value or 0.0) for each in cells if at in each]
            best = min(values, default=0.0) if lower else max(values, default=0.0)
            mine = float(found[at].value or 0.0) if at in found else 0.0
            if best > 0 and mine > 0:
                ratios.append(math.log(mine / best) * (1 if lower else -1))
        return sum(ratios) / len(ratios) if ratios else math.inf

    order = sorted(range(len(members)), key=lambda index: (worth(cells[index]), index))
    return [members[index] for index in order]


def marks_of_all(group: Group, members: Sequence[Compared], sizes: Sequence[int]) -> list[str]:
    """Return the marks on every number of a group: said once, they leave the cells to what differs."""
    shown = [found[at] for found in map(group.cells, members) for at in sizes if at in found]
    return [mark for mark in shown[0].marks if all(mark in cell.marks for cell in shown)] if shown else []


def group_table(group: Group, members: Sequence[Compared], sizes: Sequence[int], write: CellWriter, links: Links) -> Html:
    """Return the table of a group: a row a series, a column a size, the best of each column set off."""
    unit = unit_shown(METRICS[group.metric].unit)
    cells = [group.cells(one) for one in members]
    places = {at: column_decimals([found[at] for found in cells if at in found], unit) for at in sizes}
    best = {at: best_of(group, {index: found[at] for index, found in enumerate(cells) if at in found}) for at in sizes}
    several = len({one.system for one in members}) > 1
    mixed = len({one.series.published for one in members}) > 1
    rows = []
    for index, (one, found) in enumerate(zip(members, cells, strict=True)):
        shown = [
            write.cell(found[at], unit, places[at], best=index in best[at]) if at in found else tag("td", "not measured", class_="tl-null")
            for at in sizes
        ]
        rows.append(tag("tr", _name(one, links, several=several, mixed=mixed), *shown))
    heads = [tag("th", size(at), tag("span", unit.sign, class_="tl-unit"), scope="col") for at in sizes]
    head = tag("tr", tag("th", "transport", scope="col", class_="tl-text"), *heads)
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="tl-table tl-rows")
    return scroller(f"{group.words} on {group.host}, {group.test}, load {group.load}, {group.definition}", table)


def _name(one: Compared, links: Links, *, several: bool, mixed: bool) -> Html:
    text = f"{one.system}, {one.transport}" if several else one.transport
    named = tag("a", text, href=f"doc:{one.document}") if one.document and links.logs is not None else tag("strong", text)
    label = tag("span", f" {one.series.label} ", class_="tl-muted")
    return tag("th", named, label, badge(published=one.series.published) if mixed else "", scope="row", class_="tl-text")
