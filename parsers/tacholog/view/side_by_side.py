"""The page "Side by side": one table for each machine, with comparable measurements of one size or one statistic at a time.

A row combines the latencies and the rates of a transport that were measured in the same way. The rule for all rankings
(`tacholog.compare.comparable`) decides which rows may be in one table. As on the home page, labels may differ, because a reader who chooses a
transport also chooses its variant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from tacholog.runs.labels import NOT_STATED
from tacholog.schema.metrics import METRICS
from tacholog.slugs import slug
from tacholog.view.home import ACROSS, UNDER_LOAD, differing_labels_of, polls, waits
from tacholog.view.names import BASIS_WORDS, joined, told_apart, with_system, words
from tacholog.view.numerals import size as size_words
from tacholog.view.page_index import PageIndex
from tacholog.view.ranking_groups import Group, SystemSeries, ordered_cells, system_series
from tacholog.view.rankings import Unranked, of_last_releases, ranked_groups, unranked, unranked_controls
from tacholog.view.results import RunRow
from tacholog.view.series import LOSS, NOT_MEASURED, Cell
from tacholog.view.views import View


class Statistic(NamedTuple):
    """A number of each row: metric, statistic, and their words on the page."""

    metric: str
    statistic: str
    words: str

    @property
    def pair(self) -> tuple[str, str]:
        """The metric and the statistic."""
        return self.metric, self.statistic


RATE = ("message_rate", "mean")
STATISTICS = (
    Statistic("latency", "p50", "latency, median"),
    Statistic("latency", "p99", "latency, 99\u00a0%"),
    Statistic("latency", "mean", "latency, mean"),
    Statistic(*RATE, "messages received"),
    Statistic("goodput", "mean", "payload received"),
    Statistic("cpu_per_message", "mean", "processor time per message"),
)
DOCUMENT, BY_SIZE = "side-by-side", "rankings"
_USUAL_SIZES = (64, 1024, 16384, 65536, 1048576)
_MOST_SIZES = 7
_PART_OF_ROWS = 3
_ALIKE = ("labels", "transport", "data_path", "reliability", "waiting", "settings", "host", "system_version")
_OF_A_TEST = frozenset({"test", "definition", "load_mode", "basis", "latency_of", "bytes_moved"})


class ComparedRow(msgspec.Struct, frozen=True):
    """A transport, measured in one way.

    Attributes:
        members: the series of its latencies, of its rates, or of both.
        labels: its values of the labels that differ between the rows of the table.
        how: other conditions that distinguish it from rows with the same name.
    """

    members: tuple[SystemSeries, ...]
    labels: tuple[str, ...] = ()
    how: str = ""

    @property
    def name(self) -> str:
        """The system and the transport of the row."""
        return with_system(self.members[0].system, self.members[0].transport)

    @property
    def document(self) -> str | None:
        """The page that shows the numbers of the row."""
        return next((member.document for member in self.members if member.part), None)

    @property
    def waits(self) -> str:
        """How the sides of the row wait, in words."""
        return waits(self.members[0])

    @property
    def guarantee(self) -> str:
        """Whether messages may be lost, in words."""
        return words("reliability", dict(self.members[0].series.key)["reliability"])

    def member(self, statistic: Statistic) -> SystemSeries | None:
        """Return the series that has a statistic."""
        return next((member for member in self.members if member.series.cells(*statistic.pair)), None)

    def cells(self, statistic: Statistic) -> dict[int, Cell]:
        """Return the numbers of a statistic by size in bytes, without numbers for an unknown size or a range of sizes."""
        member = self.member(statistic)
        cells = member.series.cells(*statistic.pair) if member else {}
        return {key: cell for key, cell in cells.items() if key is not None and cell.value is not None and cell.sizes_high is None}

    def absent(self, statistic: Statistic, size: int) -> str:
        """Return why the row lacks this number for a size. If no series has the number, another series of the same test gives the reason."""
        of_test = [member.series for member in self.members if (member.series.results[0].test == "latency") == (statistic.metric == "latency")]
        return of_test[0].absent(*statistic.pair, size) if of_test else NOT_MEASURED

    def lost(self, size: int) -> Cell | None:
        """Return the share of messages that its stream lost at a size; ``None`` if the rate does not have the mark for loss."""
        for member in self.members:
            rate = member.series.cells(*RATE).get(size)
            lost = member.series.cells("loss", "total").get(size) if rate is not None and LOSS in rate.marks else None
            if lost is not None and lost.value is not None:
                return lost
        return None


class RowGroup(msgspec.Struct, frozen=True):
    """Rows that were measured in the same way and wait in the same way, with their common words. The best row is highlighted."""

    words: str
    rows: tuple[ComparedRow, ...]


class MachineTable(msgspec.Struct, frozen=True):
    """The table of one machine. ``published`` contains True for published figures, False for own ones; ``labels`` are the labels that differ."""

    host: str
    published: frozenset[bool]
    groups: tuple[RowGroup, ...]
    labels: tuple[str, ...]
    load: str

    @property
    def rows(self) -> list[ComparedRow]:
        """All rows."""
        return [row for group in self.groups for row in group.rows]

    @property
    def members(self) -> list[SystemSeries]:
        """All series."""
        return [member for row in self.rows for member in row.members]

    def runs(self) -> list[RunRow]:
        """Return the runs of all series."""
        return [run for member in self.members for run in member.series.runs]

    def statistics(self) -> list[Statistic]:
        """Return the statistics to show.

        The mean latency is left out if there is a median latency. The mean goodput is left out if there is a message rate.
        """
        present = {statistic.pair for statistic in STATISTICS if any(row.cells(statistic) for row in self.rows)}
        instead = {("latency", "mean"): ("latency", "p50"), ("goodput", "mean"): RATE}
        return [statistic for statistic in STATISTICS if statistic.pair in present and instead.get(statistic.pair) not in present]

    def sizes(self) -> list[int]:
        """Return the usual sizes, and up to seven other sizes that many rows have.

        A size is in many rows if the number of its rows is at least a third of that of the most frequent size. For example, if the most frequent
        size is in 30 rows, a size in 10 rows is shown.
        """
        counts = Counter(size for row in self.rows for size in {size for statistic in STATISTICS for size in row.cells(statistic)})
        most = sorted(size for size, count in counts.items() if _PART_OF_ROWS * count >= max(counts.values()))
        if len(most) > _MOST_SIZES:
            most = [most[round(index * (len(most) - 1) / (_MOST_SIZES - 1))] for index in range(_MOST_SIZES)]
        return sorted({*most, *(size for size in _USUAL_SIZES if size in counts)})


class Slice(msgspec.Struct, frozen=True):
    """The part of all tables that one page shows: all statistics of one size, or all sizes of one statistic."""

    document: str
    words: str
    size: int | None = None
    statistic: Statistic | None = None

    def columns(self, table: MachineTable) -> list[tuple[Statistic, int]]:
        """Return the columns that this slice shows of a table. A column that was not measured in any row is left out.

        The list is empty if the table has no number for the slice.
        """
        statistics = [statistic for statistic in table.statistics() if self.statistic in (None, statistic)]
        columns = [(statistic, size) for statistic in statistics for size in (table.sizes() if self.size is None else [self.size])]
        has_number = {column: any(column[1] in row.cells(column[0]) for row in table.rows) for column in columns}
        if self.size is None or not any(has_number.values()):
            return [column for column in columns if has_number[column]]
        return [column for column in columns if has_number[column] or any(row.absent(*column) != NOT_MEASURED for row in table.rows)]


class SideBySide(msgspec.Struct, frozen=True):
    """The tables of all machines, the pages that show them, and the series without a table.

    ``is_alone``: whether there is only one transport. Its numbers are shown without a comparison.
    """

    tables: tuple[MachineTable, ...]
    slices: tuple[Slice, ...]
    unranked: tuple[Unranked, ...]
    is_alone: bool = False


def side_by_side_of(view: View, pages: PageIndex) -> SideBySide:
    """Return the tables of a view. Controls are left out, because they are not transports to choose from."""
    return view.once(("side by side", pages.parts), partial(_side_by_side, view, pages))


def _side_by_side(view: View, pages: PageIndex) -> SideBySide:
    series = system_series(view, pages)
    everything = [member for member in series if not member.is_control]
    # The newest release is chosen among all series, because it may have no series that can be ranked.
    last = of_last_releases(everything)
    ranked = ranked_groups(last, across=ACROSS)
    is_alone = not ranked and len({(member.system, member.transport) for member in last}) == 1
    if is_alone:
        ranked = ranked_groups(last, least=1, across=ACROSS)
    listed = [member for members in ranked.values() for member in members]
    # Latencies that begin when a message is sent leave out how late it was sent. They are only on the pages of their transports.
    ranked = {group: members for group, members in ranked.items() if not any(member.series.cells("send_lateness", "mean") for member in members)}
    tables = tuple(_table(host, of_host) for host, of_host in _by_host(ranked).items())
    missing = (*unranked(everything, last, listed), *unranked_controls(series))
    return SideBySide(tables, tuple(_slices(tables)), missing, is_alone)


def _slices(tables: Sequence[MachineTable]) -> Iterator[Slice]:
    """Without any numbers, yield the two pages that every site has."""
    of_any = {size for table in tables for size in table.sizes()}
    sizes = [size for size in _USUAL_SIZES if size in of_any] or (tables[0].sizes() if tables else [])
    statistics = [statistic for statistic in STATISTICS if any(statistic in table.statistics() for table in tables)]
    for size in sizes:
        yield Slice(DOCUMENT if size == sizes[0] else f"{DOCUMENT}--{size}", size_words(size), size)
    if not sizes:
        yield Slice(DOCUMENT, "", statistic=(statistics or STATISTICS)[0])
    for statistic in statistics or STATISTICS[:1]:
        is_first = not statistics or statistic == statistics[0]
        yield Slice(BY_SIZE if is_first else f"{BY_SIZE}--{slug('-'.join(statistic.pair))}", statistic.words, statistic=statistic)


def _by_host(ranked: Mapping[Group, Sequence[SystemSeries]]) -> dict[str, dict[Group, Sequence[SystemSeries]]]:
    hosts: dict[str, dict[Group, Sequence[SystemSeries]]] = {}
    for group, members in ranked.items():
        hosts.setdefault(group.host, {})[group] = members

    def rank(host: str) -> tuple[bool, int, str]:
        members = [member for of_group in hosts[host].values() for member in of_group]
        return all(member.series.published for member in members), -len(members), host

    return {host: hosts[host] for host in sorted(hosts, key=rank)}


def _table(host: str, of_host: Mapping[Group, Sequence[SystemSeries]]) -> MachineTable:
    members = [member for of_group in of_host.values() for member in of_group]
    labels = tuple(differing_labels_of(members))
    published = frozenset(member.series.published for member in members)
    groups = [group for words_of_pair, rows in _pairs(of_host, labels) for group in _row_groups(words_of_pair, rows)]
    return MachineTable(host, published, tuple(groups), labels, _load_words(of_host))


def _load_words(groups: Iterable[Group]) -> str:
    groups = list(groups)
    bases = dict.fromkeys(BASIS_WORDS.get(str(group["basis"]), str(group["basis"])) for group in groups if group.metric == "latency")
    loads = dict.fromkeys(group.load for group in groups if group.metric == "latency")
    latency = [f"Latency: {' and '.join(bases)}; {', or '.join(map(_loaded, loads))}."] if bases else []
    return " ".join([*latency, *(["Rates: as many messages as the sender can send."] if any(group.metric == "goodput" for group in groups) else [])])


def _loaded(load: str) -> str:
    words = {
        "closed": "one message at a time",
        "open": "messages on a fixed schedule, measured from the scheduled time (the system is loaded)",
    }
    return {**words, NOT_STATED: "load not stated"}.get(load, f"load {load}")


def _pairs(of_host: Mapping[Group, Sequence[SystemSeries]], labels: Sequence[str]) -> Iterator[tuple[str, list[ComparedRow]]]:
    """Each pair is a group of latencies and the group of rates that is comparable with it. The words distinguish the pair."""
    pairs: dict[tuple[object, ...], list[Group]] = {}

    def rank(group: Group) -> tuple[bool, bool, bool, int]:
        return group.metric != "latency", group["load_mode"] in UNDER_LOAD, group["load_share"] is not None, -len(of_host[group])

    for group in sorted(of_host, key=rank):
        conditions = tuple(pair for pair in group.conditions if pair[0] not in _OF_A_TEST)
        number = 0
        while group.metric in {other.metric for other in pairs.get((conditions, number), ())}:
            number += 1
        pairs.setdefault((conditions, number), []).append(group)
    firsts = [dict(groups[0].conditions) for groups in pairs.values()]
    fields = dict.fromkeys(name for first in firsts for name in first if name not in _OF_A_TEST - {"basis"})
    differing = told_apart([{name: first.get(name) for name in fields} for first in firsts])
    names = [joined([part for part in parts if part != ("batched", "one by one")]) for parts in differing]
    if len({first.get("campaign") for first in firsts}) > 1:  # Rows of several campaigns have different tools, so each group names its campaign.
        campaigns = [words("campaign", first.get("campaign")) for first in firsts]
        names = [name if campaign in name else ", ".join(filter(None, (campaign, name))) for campaign, name in zip(campaigns, names, strict=True)]
    for groups, name in zip(pairs.values(), names, strict=True):
        yield name, _rows([of_host[group] for group in groups], labels)


def _rows(series: Sequence[Sequence[SystemSeries]], labels: Sequence[str]) -> list[ComparedRow]:
    """Return rows, each with the latencies and the rates of one transport.

    Latencies and rates stay in separate rows if it is not clear which of them belong together, because the transport has several series.
    """
    by_way = [_by_way(members) for members in series]
    joined_members: list[tuple[SystemSeries, ...]] = []
    for key in dict.fromkeys(key for by_key in by_way for key in by_key):
        alike_series = [by_key[key] for by_key in by_way if key in by_key]
        if all(len(members) == 1 for members in alike_series):
            joined_members.append(tuple(member for members in alike_series for member in members))
        else:
            joined_members += [(member,) for members in alike_series for member in members]
    rows = [
        ComparedRow(members, tuple(dict(members[0].labels).get(name) or NOT_STATED for name in labels), _rate_words(members[0]))
        for members in joined_members
    ]
    alike: dict[object, list[int]] = {}
    for index, row in enumerate(rows):
        alike.setdefault((row.name, row.waits, row.guarantee, row.labels), []).append(index)
    for indices in alike.values():
        if len(indices) > 1:
            parts = told_apart([dict(rows[index].members[0].series.key) for index in indices])
            for index, differing in zip(indices, parts, strict=True):
                rows[index] = msgspec.structs.replace(rows[index], how=joined(differing))
    return rows


def _rate_words(member: SystemSeries) -> str:
    """Return the offered rate in words; an empty text if the load is not a share of the highest rate.

    If the load is a share, each row has a different offered rate.
    """
    key = dict(member.series.key)
    return words("offered_rate_per_s", key["offered_rate_per_s"]) if key["load_share"] is not None else ""


def _by_way(members: Iterable[SystemSeries]) -> dict[tuple[object, ...], list[SystemSeries]]:
    by_way: dict[tuple[object, ...], list[SystemSeries]] = {}
    for member in members:
        key = dict(member.series.key)
        by_way.setdefault((member.system, *(key.get(name) for name in _ALIKE)), []).append(member)
    return by_way


def _row_groups(words_of_pair: str, rows: Sequence[ComparedRow]) -> Iterator[RowGroup]:
    """Rows that poll and rows that sleep are separate, because a reader first decides whether a processor may be kept busy."""
    by_waiting: dict[bool, list[ComparedRow]] = {}
    for row in rows:
        by_waiting.setdefault(polls(row.members[0]), []).append(row)
    kinds = {True: "Polls: keeps a processor of each side busy", False: "Sleeps until a message comes"} if len(by_waiting) > 1 else {}
    for kind, some in sorted(by_waiting.items(), reverse=True):
        yield RowGroup(". ".join(filter(None, (words_of_pair[:1].upper() + words_of_pair[1:], kinds.get(kind)))), tuple(some))


def in_order(rows: Sequence[ComparedRow], columns: Sequence[tuple[Statistic, int]]) -> list[ComparedRow]:
    """Return the rows, the best first, by their first statistic over all sizes of the page. Rows without this statistic come last, by name."""
    statistic = columns[0][0]
    sizes = [size for other, size in columns if other == statistic]
    by_name = sorted(rows, key=lambda row: (row.name, row.labels, row.how))
    order = ordered_cells([row.cells(statistic) for row in by_name], sizes, lower=METRICS[statistic.metric].better == "lower")
    return [by_name[index] for index in order]
