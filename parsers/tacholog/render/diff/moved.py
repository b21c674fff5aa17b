"""What moved between two releases, in a few words: the rows that moved most, and of each transport how many rows have which verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from tacholog.compare.policy import band_of, percentile
from tacholog.compare.result import VERDICTS, DiffRow, Report, Verdict
from tacholog.render.diff.apart import APART
from tacholog.render.diff.meanings import has_one_value
from tacholog.render.diff.words import percent
from tacholog.schema.metrics import METRICS
from tacholog.view.names import with_system
from tacholog.view.numerals import NOT_STATED, size
from tacholog.view.row_names import row_name

_UNTESTED: Verdict = "unreplicated_diff"
_MOST_STATISTICS = 3  # of a metric that are named; of more, tails are told together


class TransportCounts(msgspec.Struct, frozen=True):
    """How many rows of a transport have each verdict, for better and worse which rows these are, and how many rows do not compare.

    ``system`` and ``transport`` are those of its rows, ``name`` is what they are called.
    """

    system: str | None
    transport: str | None
    name: str
    counts: tuple[tuple[Verdict, int, str], ...]
    apart: int


class Moved(msgspec.Struct, frozen=True):
    """A row that moved: its verdict, its name, and by how much."""

    verdict: Verdict
    name: str
    words: str


def moved_most(report: Report, most: int = 3) -> list[Moved]:
    """Return the rows that moved most, the largest change first.

    Rows that are worse or better come from tests. Only if there are none, rows without a test stand in. Medians and means come before
    tails, which are the weakest evidence.
    """
    several = len({row.key.system for row in report.rows}) > 1
    rows = [row for row in report.rows if row.verdict in ("worse", "better")] or [row for row in report.rows if row.verdict == _UNTESTED]
    return [Moved(row.verdict, row_name(row.key, with_system=several), _amount(row)) for row in _largest(rows)[:most]]


def _largest(rows: Sequence[DiffRow]) -> list[DiffRow]:
    return sorted((row for row in rows if row.change is not None), key=lambda row: (band_of(row.key.statistic) != "centre", -abs(row.change or 0)))


def _amount(row: DiffRow) -> str:
    ratio = row.ratio or 1.0
    if row.verdict == _UNTESTED:
        return f"{percent(abs(ratio - 1))} {'higher' if ratio > 1 else 'lower'}, {'one value on each side' if has_one_value(row) else 'not proven'}"
    return f"{percent(abs(ratio - 1))} {row.verdict}"


def by_transport(report: Report) -> list[TransportCounts]:
    """Return the counts of each transport, which add up to those of the sections.

    Return nothing if there are fewer than two transports, or if no row compares: that is one sentence, and not a table of zeros.
    """
    if not any(report.counts[verdict] for verdict in VERDICTS if verdict not in APART):
        return []
    several = len({row.key.system for row in report.rows}) > 1
    found: dict[str, list[DiffRow]] = {}
    for row in report.rows:
        transport = row.key.transport or f"transport {NOT_STATED}"
        found.setdefault(with_system(row.key.system, transport) if several and row.key.system else transport, []).append(row)
    shown = [verdict for verdict in VERDICTS if verdict not in APART and (report.counts[verdict] or verdict in ("worse", "better"))]
    return [_counted(name, found[name], shown) for name in sorted(found, key=str.lower)] if len(found) > 1 else []


def _counted(name: str, rows: Sequence[DiffRow], shown: Sequence[Verdict]) -> TransportCounts:
    counted = Counter(row.verdict for row in rows)
    counts = ((verdict, counted[verdict], _which([row for row in rows if row.verdict == verdict])) for verdict in shown)
    first = rows[0].key
    return TransportCounts(first.system, first.transport, name, tuple(counts), sum(counted[verdict] for verdict in APART))


def _which(rows: Sequence[DiffRow]) -> str:
    """Which rows are better or worse, and by how much: ``p99, 1 KiB, 6.3 %``, or the statistics of several."""
    if not rows or rows[0].verdict not in ("worse", "better"):
        return ""
    if len(rows) > 1:
        return how_much(rows, with_metric=True)
    (row,) = rows
    payload = size(row.key.payload_bytes) if row.key.payload_bytes is not None else ""
    parts = (_measured(row), payload, percent(abs(row.ratio - 1)) if row.ratio is not None else "")
    return ", ".join(part for part in parts if part)


def _measured(row: DiffRow) -> str:
    """What a row is of: of a latency the statistic alone."""
    return row.key.statistic if row.key.metric == "latency" else METRICS[row.key.metric].words.lower()


def where_and_how_much(rows: Sequence[DiffRow]) -> str:
    """Return the metrics of rows that are better or worse, all of their transports, and by how much: ``latency over udp: p50 by 6 %; over shm: ...``.

    Only transports of which the same statistics moved are named together: otherwise it would read as if each statistic had moved over each of them.
    """
    metrics: dict[str, list[DiffRow]] = {}
    for row in rows:
        metrics.setdefault(METRICS[row.key.metric].words.lower(), []).append(row)
    return "; ".join(f"{metric}{_moved_over(members)}" for metric, members in metrics.items())


def _moved_over(rows: Sequence[DiffRow]) -> str:
    """Return which statistics moved over which transports, those first whose medians or means moved."""
    over: dict[str | None, list[DiffRow]] = {}
    for row in sorted(rows, key=lambda row: row.key.transport or ""):
        over.setdefault(row.key.transport, []).append(row)
    alike: dict[frozenset[str], list[str | None]] = {}
    for transport, members in sorted(over.items(), key=lambda found: not any(band_of(row.key.statistic) == "centre" for row in found[1])):
        alike.setdefault(frozenset(row.key.statistic for row in members), []).append(transport)
    parts = (f"{_over(transports)}: {how_much([row for transport in transports for row in over[transport]])}" for transports in alike.values())
    return ";".join(parts)


def _over(transports: Sequence[str | None]) -> str:
    *names, last = (transport or f"transport {NOT_STATED}" for transport in transports)
    return f" over {', '.join(names)}{' and ' if names else ''}{last}" if transports != [None] else ""


def how_much(rows: Sequence[DiffRow], *, with_metric: bool = False) -> str:
    """Return by how much rows changed, medians and means before tails: ``p50 by 6.3 to 12 %, p99 by 14 %``."""
    named: dict[str, list[DiffRow]] = {}
    for row in sorted(rows, key=lambda row: (band_of(row.key.statistic) != "centre", percentile(row.key.statistic) or 0.0)):
        named.setdefault(_measured(row) if with_metric else row.key.statistic, []).append(row)
    if len(named) > _MOST_STATISTICS:
        centre = {name: members for name, members in named.items() if band_of(members[0].key.statistic) == "centre"}
        named = {**centre, "tails": [row for name, members in named.items() if name not in centre for row in members]}
    return ", ".join(_range(name, members) for name, members in named.items() if members)


def _range(name: str, rows: Sequence[DiffRow]) -> str:
    amounts = sorted(abs(row.ratio - 1) for row in rows if row.ratio is not None)
    if not amounts:
        return name
    least, most = percent(amounts[0]), percent(amounts[-1])
    lower = "" if least == most else f"{least.removesuffix('%').rstrip()} to "
    return f"{name} by {lower}{most}"
