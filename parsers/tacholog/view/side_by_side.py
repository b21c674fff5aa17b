"""The page "Side by side": the systems that one campaign measured with one tool, by size, transport, variant and way of waiting.

One row combines a series of round trips and a series of streams at full rate that were measured in the same way. The rows are not ranked, because
their guarantees differ. Their names state the guarantees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf

import msgspec

from tacholog.runs.labels import label_fields, labels_of
from tacholog.runs.moments import latest_instant
from tacholog.view.cost import SPINS
from tacholog.view.names import words
from tacholog.view.numerals import NOT_STATED
from tacholog.view.page_index import PageIndex
from tacholog.view.ranking_groups import SystemSeries, system_series
from tacholog.view.series import LOSS, NOT_MEASURED, Cell, Series
from tacholog.view.views import View

#: The columns with their headings: the round trip at its median and 99 %, then the stream.
COLUMNS = (
    ("latency", "p50", "round trip, median"),
    ("latency", "p99", "round trip, 99 %"),
    ("message_rate", "mean", "messages received"),
    ("cpu_per_message", "mean", "processor time per message"),
)
SIZES = (64, 1024, 65536, 1048576)
_TESTS = ("latency", "throughput")
RATE = ("message_rate", "mean")
_ALIKE = ("labels", "transport", "data_path", "reliability", "waiting", "settings", "host", "system_version")
_LEAST = 2


class SideBySideRow(msgspec.Struct, frozen=True):
    """A transport of a system in one variant.

    Attributes:
        name: system and transport.
        how: its difference from other rows with the same name: labels, reliability, way of waiting.
        document: the page that shows the row's numbers; ``None`` if there is none.
        cells: its numbers by metric and statistic, and by size.
        series: the series of these numbers, by metric and statistic.
    """

    name: str
    how: str
    document: str | None
    cells: Mapping[tuple[str, str], Mapping[int | None, Cell]]
    series: Mapping[tuple[str, str], Series] = {}

    def absent(self, metric: str, statistic: str, size: int) -> str:
        """Return why the row lacks this number for a size. If no series of the row has it, another series of the same test gives the reason."""
        of_test = [name for name in self.series if (name[0] == "latency") == (metric == "latency")]
        of_test.sort(key=lambda name: name != (metric, statistic))
        return self.series[of_test[0]].absent(metric, statistic, size) if of_test else NOT_MEASURED

    def lost(self, size: int) -> Cell | None:
        """Return the share of messages that its stream lost at a size; ``None`` if the rate does not have the mark for loss."""
        rate = self.cells.get(RATE, {}).get(size)
        lost = self.series[RATE].cells("loss", "total").get(size) if rate is not None and LOSS in rate.marks else None
        return lost if lost is not None and lost.value is not None else None


def session_of_several(view: View) -> str | None:
    """Return the newest session in which one tool measured several systems, with own runs; ``None`` if there is none."""
    systems_of: dict[str, dict[str, set[str]]] = {}
    newest: dict[str, float] = {}
    for run in view.runs.values():
        if run.session is None or run.published or run.tool is None or run.system is None:
            continue
        systems_of.setdefault(run.session, {}).setdefault(run.tool, set()).add(run.system)
        newest[run.session] = max(newest.get(run.session, -inf), latest_instant((run.start_time,)))
    several = [session for session, tools in systems_of.items() if any(len(systems) >= _LEAST for systems in tools.values())]
    return max(several, key=lambda session: newest[session], default=None)


def of_session(view: View, session: str) -> View:
    """Return the part of a view that was measured in a session."""
    runs = {name: run for name, run in view.runs.items() if run.session == session and not run.published}
    by_run = {name: results for name, results in view.by_run.items() if name in runs}
    return msgspec.structs.replace(view, by_run=by_run, runs=runs)


def side_by_side_rows(view: View, pages: PageIndex) -> list[SideBySideRow]:
    """Return a row for each transport of each system in each variant, without controls."""
    rows: dict[tuple[object, ...], list[SystemSeries]] = {}
    for member in system_series(view, pages):
        key = dict(member.series.key)
        if member.is_control:
            continue
        if member.series.results[0].test in _TESTS and key.get("basis") in (None, "rtt") and key.get("load_mode") in ("closed", "max-rate"):
            rows.setdefault((member.system, *(key.get(name) for name in _ALIKE)), []).append(member)
    return [_row(members) for members in rows.values()]


def at_size(rows: Iterable[SideBySideRow], size: int) -> list[SideBySideRow]:
    """Return the rows with numbers for a size, sorted by the latency of the round trip. Rows without a round trip come last."""
    with_size = [row for row in rows if any(size in cells for cells in row.cells.values())]
    return sorted(with_size, key=lambda row: (_median(row, size), row.name, row.how))


def sizes_of(rows: Sequence[SideBySideRow]) -> list[int]:
    """Return the usual sizes for which at least one row has numbers."""
    return [size for size in SIZES if any(size in cells for row in rows for cells in row.cells.values())]


def _median(row: SideBySideRow, size: int) -> float:
    cell = row.cells.get(("latency", "p50"), {}).get(size)
    return inf if cell is None or cell.value is None else cell.value


def _row(members: Sequence[SystemSeries]) -> SideBySideRow:
    first = members[0]
    key = dict(first.series.key)
    text = key.get("labels")
    labels = labels_of(None if text is None else str(text))
    label_values = [str(labels[name]) for name in label_fields([None if text is None else str(text)])]
    spins = SPINS if any(member.spins for member in members) else ""
    how = [*label_values, *(words(name, key.get(name)) for name in ("reliability", "waiting")), spins]
    series: dict[tuple[str, str], Series] = {}
    for metric, statistic, _ in COLUMNS:
        for member in members:
            if member.series.cells(metric, statistic):
                series[metric, statistic] = member.series
    cells = {name: member.cells(*name) for name, member in series.items()}
    document = next((member.document for member in members if member.part), None)
    name = ", ".join(dict.fromkeys((first.system or NOT_STATED, first.transport)))
    return SideBySideRow(name, ", ".join(filter(None, how)), document, cells, series)
