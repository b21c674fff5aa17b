"""What may stand side by side: series of one machine, one campaign, one basis, one definition. Nothing else is ever ranked."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tacholog.compare.policy import MIN_RUNS
from tacholog.render.figures.figures import LOGICAL, LOSS, REFERENCE
from tacholog.render.html import NOTHING, Html, tag
from tacholog.render.platforms import participant_title
from tacholog.render.tables.tables import CellWriter, Links, badge, column_decimals, each_run, marks_of_cells, page_anchor, scroller
from tacholog.schema.metrics import METRICS
from tacholog.view.headlines import RANKED_BY
from tacholog.view.names import words
from tacholog.view.numerals import NOT_STATED, size, unit_shown
from tacholog.view.series import Cell, Series, common_words, labels_among
from tacholog.view.views import Selection, View

_REFERENCE = "reference_only"  # the mark of a latency that grows with no bytes, because none moved
# What stands in a group's own words, above its table or nowhere because it says little there.
_SAID_OF_GROUP = (
    *("transport", "host", "definition", "load_mode", "basis", "campaign", "build", "planned_duration_s", "published", "side", "participant"),
    *("tool", "tool_version", "warmup", "settings", "run"),
)


_NEW = ("options", "settings")


class Compared(msgspec.Struct, frozen=True):
    """One series of one system over one transport."""

    system: str
    transport: str
    series: Series
    document: str | None = None

    @property
    def id(self) -> str:
        """A name for addresses, made from the conditions: it lasts as long as they do."""
        # What came to the conditions after 0.3 is left out where it is unknown: published addresses hold these names.
        key = tuple((name, value) for name, value in self.series.key if value is not None or name not in _NEW)
        return hashlib.sha256(repr((self.system, self.series.facts[0].test, key)).encode()).hexdigest()[:8]

    @property
    def each(self) -> str | None:
        """The link to the numbers of each of its runs, if it has a page and was repeated."""
        return each_run(self.series, self.document) if self.document else None

    @property
    def name(self) -> str:
        """What it is called among all others."""
        return f"{self.system}, {self.transport}: {self.series.label}"


class Group(msgspec.Struct, frozen=True):
    """What must be equal for two series to be compared; all of it is known.

    A campaign measures its transports in turns within the same hour. A few runs of one campaign and many of another lie apart by more than
    two transports do, so that whoever had the more runs would win.
    """

    metric: str
    statistic: str
    test: str
    host: str
    definition: str
    load: str
    basis: str | None = None
    of_reference: bool = False
    platform: str | None = None
    campaign: str | None = None
    batched: bool = False  # a rate of messages that travel together says nothing of one by one, nor have both been measured at the same sizes

    @property
    def words(self) -> str:
        """The number that is compared, in words."""
        told = {"p50": "median"}.get(self.statistic, "")
        of = "of a reference" if self.of_reference else ""
        how = "in batches" if self.batched else ""
        return ", ".join(filter(None, (METRICS[self.metric].words, told, words("basis", self.basis), of, how, self.platform)))

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
    for metric, statistic in RANKED_BY:
        basis = key["basis"] if metric == "latency" else None
        known = (key["host"], key["definition"]) if metric == "goodput" else (key["host"], key["definition"], basis)
        if not one.series.cells(metric, statistic) or (metric == "goodput" and one.series.has_mark(LOGICAL)):
            continue
        if None in known:
            return []
        test, load = one.series.facts[0].test, str(key["load_mode"] or NOT_STATED)
        said = None if basis is None else str(basis)
        reference = metric == "latency" and one.series.has_mark(REFERENCE)
        # A document that prints a column for each operating system does not say that one machine ran them all.
        platform = str(key["participant"]) if participant_title(key["participant"]) == "operating system" else None
        campaign = None if key["campaign"] is None else str(key["campaign"])
        of = (metric, statistic, test, str(key["host"]), str(key["definition"]), load)
        group = Group(*of, said, reference, platform, campaign, batched=bool(key["batch_bytes"]))
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
    """Return the keys of the best cells; of none where one of them rests on too few runs to be called so."""
    found = leaders(group, cells)
    return found if all(cells[key].run_count >= MIN_RUNS for key in found) else set()


def leaders(group: Group, cells: Mapping[int, Cell]) -> set[int]:
    """Return the keys of the cells that lead, however few runs they rest on: of one, or of several that repeated runs do not tell apart.

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
    return marks_of_cells(found[at] for found in map(group.cells, members) for at in sizes if at in found)


def group_table(group: Group, members: Sequence[Compared], sizes: Sequence[int], write: CellWriter, links: Links) -> Html:
    """Return the table of a group: a row a series, a column a size, the best of each column set off."""
    unit = unit_shown(METRICS[group.metric].unit)
    cells = [group.cells(one) for one in members]
    places = {at: column_decimals([found[at] for found in cells if at in found], unit) for at in sizes}
    best = {at: best_of(group, _column(cells, at)) for at in sizes}
    several = len({one.system for one in members}) > 1
    mixed = len({one.series.published for one in members}) > 1
    alike = runs_of_all(group, members, sizes)

    def below(one: Compared, cell: Cell) -> Html:
        return NOTHING if alike else _runs(one, cell, links)

    labels = labels_among([(one.system, one.series) for one in members])
    rows = []
    for index, (one, label, found) in enumerate(zip(members, labels, cells, strict=True)):
        shown = [
            write.cell(found[at], unit, places[at], best=index in best[at], below=below(one, found[at]), each=one.each)
            if at in found
            else tag("td", "not measured", class_="tl-null")
            for at in sizes
        ]
        rows.append(tag("tr", _name(one, label, links, several=several, mixed=mixed), *shown))
    heads = [tag("th", size(at), tag("span", unit.sign, class_="tl-unit"), scope="col") for at in sizes]
    head = tag("tr", tag("th", "transport", scope="col", class_="tl-text"), *heads)
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="tl-table tl-rows")
    return scroller(f"{group.words} on {group.host}, {group.test}, load {group.load}, {group.definition}", table)


def _column(cells: Sequence[Mapping[int, Cell]], at: int) -> dict[int, Cell]:
    return {index: found[at] for index, found in enumerate(cells) if at in found}


def runs_of_all(group: Group, members: Sequence[Compared], sizes: Sequence[int]) -> str:
    """Return how many runs each number of a group rests on, where all rest on as many: said once, it leaves the cells to the numbers."""
    said = {_counted(one, found[at]) for one in members for found in (group.cells(one),) for at in sizes if at in found}
    return said.pop() if len(said) == 1 else ""


def _counted(one: Compared, cell: Cell) -> str:
    """Return how many runs a number rests on, and how long each was meant to take; a document prints one, and seldom says what it was made of."""
    if one.series.published:
        return ""
    count, duration = cell.run_count, dict(one.series.key)["planned_duration_s"]
    return f"{count}\u202f\u00d7\u202f{duration:g}\u00a0s" if duration is not None else f"{count}\u00a0run{'s' if count > 1 else ''}"


def _runs(one: Compared, cell: Cell, links: Links) -> Html:
    """Return the number of runs, linked to the numbers of each."""
    series, text = one.series, _counted(one, cell)
    if not text:
        return NOTHING
    anchor = page_anchor(series.facts[0].test, one.system, one.transport)
    place = f"{anchor}-{series.slot}{'-each' if series.repeated else ''}"
    if one.document is None or links.logs is None:
        return tag("span", text, class_="tl-runs")
    return tag("span", tag("a", text, href=f"doc:{one.document}#{place}", title="The numbers of each run"), class_="tl-runs")


def not_set_off(group: Group, members: Sequence[Compared], sizes: Sequence[int]) -> str:
    """Say at which sizes no best is set off, and why; nothing where one is at each."""
    cells = [group.cells(one) for one in members]
    columns = {at: _column(cells, at) for at in sizes}
    bare = [at for at in sizes if leaders(group, columns[at]) and not best_of(group, columns[at])]
    if not bare:
        return ""
    where = "" if len(bare) == len(sizes) else f" at {', '.join(size(at) for at in bare)}"
    if all(one.series.published for one in members):
        return f"No best is highlighted{where}: single published figures cannot name a winner, because that takes {MIN_RUNS} runs."
    return f"No best is highlighted{where}: the leader, or one that cannot be told apart from it, rests on fewer than {MIN_RUNS} runs."


def said_of_members(members: Sequence[Compared]) -> str:
    """Return what else all members of a group have in common, which their labels therefore leave out."""
    versions = {dict(one.series.key)["system_version"] for one in members}
    found = common_words((one.series for one in members), {*_SAID_OF_GROUP, *(("release",) if versions != {None} else ())})
    return ", ".join(found)


def _name(one: Compared, label: str, links: Links, *, several: bool, mixed: bool) -> Html:
    text = f"{one.system}, {one.transport}" if several else one.transport
    named = tag("a", text, href=f"doc:{one.document}") if one.document and links.logs is not None else tag("strong", text)
    shown = tag("span", f" {label} ", class_="tl-muted") if label else NOTHING
    return tag("th", named, shown, badge(published=one.series.published) if mixed else "", scope="row", class_="tl-text")
