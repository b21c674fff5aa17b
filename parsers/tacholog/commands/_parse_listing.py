"""The listings of ``tacholog parse``. Each takes one event at a time, so that logs of any size are streamed."""

from __future__ import annotations

import csv
import heapq
import io
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from tacholog import terminal
from tacholog.commands.shared.messages import ENDED_BADLY, counted
from tacholog.formats.account import Account
from tacholog.formats.kit.lines import Broken
from tacholog.formats.reading import Event
from tacholog.formats.waiting import CLAIM_WINDOW_LINES
from tacholog.schema.conditions import Conditions
from tacholog.schema.metrics import METRICS
from tacholog.schema.records import Facts, Number, Record
from tacholog.view.names import row_names
from tacholog.view.numerals import NOT_STATED
from tacholog.visible import HIDDEN, drawn_in_line, no_formula

SHOWN_CHARACTERS = 160
_HELD_RECORDS = 5000
CSV_COLUMNS = ("log", "line", "last_line", "system", "scope", "test", "side", "payload_bytes", "samples")
CSV_NUMBER_COLUMNS = ("metric", "statistic", "value", "unit", "bound", "resolution", "marks")


def kind_of(record: Record) -> str:
    """What a record is counted as: its test, or its scope if that is not the summary of a test."""
    return record.test if record.scope == "summary" else record.scope


class Place(msgspec.Struct, frozen=True):
    """Where a record stands, and what is known of its run beyond its own line."""

    log: str
    system: str | None
    conditions: Conditions


class Listing(Protocol):
    """A way to print events."""

    def wants(self, record: Record) -> bool:
        """Whether it prints such a record."""
        ...

    def show(self, place: Place, event: Event) -> None:
        """Print an event, if it is of interest here."""

    def close(self) -> None:
        """Print what is left at the end of a log."""


class _Immediate:
    """Prints all at once and holds nothing back, as most listings do."""

    def wants(self, _: Record) -> bool:
        """It prints every record."""
        return True

    def close(self) -> None:
        """Print nothing more."""


class JsonLinesListing(_Immediate):
    """One JSON object a record. Numbers are named with their units; what is unknown is left out."""

    def show(self, place: Place, event: Event) -> None:
        """Print a record."""
        if isinstance(event.what, Record):
            text = json.dumps(_object(place, event, event.what), ensure_ascii=False)
            terminal.data(HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], text) + "\n")


class CsvListing(_Immediate):
    """One row a number, with a header."""

    def __init__(self) -> None:
        """Print the header."""
        self._print([*CSV_COLUMNS, *Conditions.__struct_fields__, *CSV_NUMBER_COLUMNS])

    def show(self, place: Place, event: Event) -> None:
        """Print a record's numbers."""
        record = event.what
        if not isinstance(record, Record):
            return
        shared = [place.log, event.line, event.last_line, place.system, record.scope, record.test, record.side, record.payload_bytes, record.samples]
        begin = f"{_csv_row(shared)},{_csv_conditions(record.conditions, place.conditions)}"
        terminal.data("".join(f"{begin},{_csv_number(number)}\n" for number in record.numbers))

    def _print(self, cells: list[Any]) -> None:
        terminal.data(_csv_row(cells) + "\n")


@lru_cache(maxsize=64)
def _csv_conditions(conditions: Conditions, others: Conditions) -> str:
    """The conditions of a record as cells: most records of a log have the same."""
    known = conditions.over(others)
    return _csv_row([getattr(known, name) for name in Conditions.__struct_fields__])


def _csv_number(number: Number) -> str:
    """The cells of a number: words of the schema and numbers, which need no quotes."""
    value = (number.metric, number.statistic, number.value, METRICS[number.metric].unit, number.bound, number.resolution)
    return ",".join(["" if cell is None else str(cell) for cell in (*value, " ".join(number.marks))])


def _csv_row(cells: list[Any]) -> str:
    row = io.StringIO()
    csv.writer(row, lineterminator="").writerow([no_formula(cell) if isinstance(cell, str) else cell for cell in cells])
    return row.getvalue()


class TableListing:
    """One line a record, for people: the numbers that one looks for first, in readable units, and what sets the record apart from the others.

    That is known once they are all read, so records are held back until the end of their log, but never more than some thousands.
    """

    def __init__(self) -> None:
        """Start with nothing held back."""
        self._held: dict[tuple[str, str | None, str, str], list[tuple[int, Record, Conditions]]] = {}
        self._count = 0
        self._left_out: dict[str, Counter[str]] = {}  # By log: how many numbers of each metric have no column.

    def wants(self, record: Record) -> bool:
        """It prints what holds of a whole measurement."""
        return record.scope == "summary"

    def show(self, place: Place, event: Event) -> None:
        """Hold a record back; print all where they are many."""
        record = event.what
        if not isinstance(record, Record) or not self.wants(record):
            return
        shape = _shape_of(record)
        columns = _METRICS_SHOWN.get(shape, _OF_RATES) if shape else ()
        left_out = [number.metric for number in record.numbers if number.metric not in columns]
        if left_out:
            self._left_out.setdefault(place.log, Counter()).update(left_out)
        if not shape:
            return
        table = (place.log, place.system, record.test, shape)
        self._held.setdefault(table, []).append((event.line, record, record.conditions.over(place.conditions)))
        self._count += 1
        if self._count >= _HELD_RECORDS:
            self._print_tables()

    def close(self) -> None:
        """Print what is still held back, and name the metrics that have no column."""
        self._print_tables()
        for log, left_out in self._left_out.items():
            words = "1 number of another metric ({}) is" if left_out.total() == 1 else f"{left_out.total()} numbers of other metrics ({{}}) are"
            terminal.styled(f"{log}: {words.format(', '.join(sorted(left_out)))} only in jsonl and csv", dim=True)
        self._left_out.clear()

    def _print_tables(self) -> None:
        """Print a table for each test, and one for what its publishers offered where nothing was received."""
        for (log, system, test, shape), found in self._held.items():
            said = [tuple(_conditions(record, conditions).items()) for _, record, conditions in found]
            distinct = list(dict.fromkeys(said))
            named = dict(zip(distinct, row_names([dict(one) for one in distinct], but="basis"), strict=True))
            names = [
                f"{named[one]} (sum)".lstrip() if _is_sum(record, shape) else named[one] for one, (_, record, _) in zip(said, found, strict=True)
            ]
            terminal.styled(f"{log}  {system or f'system {NOT_STATED}'}, {test}{', offered' if shape == _OFFERED else ''}", bold=True)
            terminal.styled(_HEADERS.get(shape, _HEADER_OF_RATES) + ("  of" if any(names) else ""), dim=True)
            for (line, record, _), name in zip(found, names, strict=True):
                cells = _CELLS.get(shape, _throughput_cells)(record)
                row = f"{line:>7}  {_cell(record.payload_bytes):>10}  " + "  ".join(f"{cell:>12}" for cell in cells)
                terminal.line(f"{row}  {name}".rstrip())
        self._held.clear()
        self._count = 0


def _shape_of(record: Record) -> str | None:
    """Return which columns a record has in a table: those of its test or those of what was offered; ``None`` for what nobody looks for first."""
    metrics = {number.metric for number in record.numbers}
    if metrics & _LOOKED_FOR:
        return record.test
    return _OFFERED if metrics & _RATES_OFFERED else None


def _conditions(record: Record, conditions: Conditions) -> dict[str, object]:
    """What may set a record apart from the others of its log."""
    return {"participant": record.participant, "side": record.side, **{name: getattr(conditions, name) for name in Conditions.__struct_fields__}}


def _names_of_facts(facts: Facts) -> str:
    """Name what a line says of the whole run."""
    known = [name for name in Facts.__struct_fields__ if name not in ("conditions", "environment") and getattr(facts, name) is not None]
    known += [name for name in Conditions.__struct_fields__ if getattr(facts.conditions, name) is not None]
    return ", ".join([*known, *facts.environment])


class LineListing:
    """Every line with its class, for those who ask why a line became what it is. A line of chatter that states facts is called a fact."""

    def __init__(self) -> None:
        """Start with nothing held back."""
        self._held: list[tuple[int, str]] = []

    def wants(self, _: Record) -> bool:
        """It prints the line of every record."""
        return True

    def show(self, place: Place, event: Event) -> None:
        """Print the class of each line, in the order of the lines: what comes early is held back until its turn."""
        facts = _names_of_facts(event.what) if isinstance(event.what, Facts) else ""
        reason = event.what.reason if isinstance(event.what, Broken) else _printable(facts)
        kind = "fact" if facts else event.kind
        for line in event.lines:
            text = _printable(event.text) if line == event.line else f"(with line {event.line})"
            heapq.heappush(self._held, (line, f"{place.log}:{line}: {kind:<8} {text}" + (f"   <- {reason}" if reason else "")))
        while self._held and self._held[0][0] < event.line - 2 * CLAIM_WINDOW_LINES:
            terminal.line(heapq.heappop(self._held)[1])

    def close(self) -> None:
        """Print what is still held back."""
        while self._held:
            terminal.line(heapq.heappop(self._held)[1])


LISTINGS: Mapping[str, Callable[[], Listing]] = {"table": TableListing, "jsonl": JsonLinesListing, "csv": CsvListing}
_LOOKED_FOR = {"latency", "goodput", "message_rate", "messages_received", "sustained_rate"}
_OFFERED = "offered"
_RATES_OFFERED = {"offered_goodput", "offered_rate"}
_OF_RATES = {"goodput", "message_rate", "messages_received", "messages_lost", "loss"}
_METRICS_SHOWN = {"latency": {"latency"}, "sustain": {"sustained_rate"}, _OFFERED: {*_RATES_OFFERED, "messages_sent"}}
_LATENCY_STATISTICS = ("min", "mean", "p50", "p90", "p99", "p99.99", "max")
_LATENCY_HEADER = "  ".join(f"{f'{name} us':>12}" for name in _LATENCY_STATISTICS)
_HEADERS = {
    "latency": f"{'line':>7}  {'bytes':>10}  {'basis':>12}  {_LATENCY_HEADER}  {'samples':>12}",
    "sustain": f"{'line':>7}  {'bytes':>10}  {'messages/s':>12}  {'missed at':>12}",
    _OFFERED: f"{'line':>7}  {'bytes':>10}  {'Mbit/s':>12}  {'messages/s':>12}  {'sent':>12}",
}
_HEADER_OF_RATES = f"{'line':>7}  {'bytes':>10}  {'Mbit/s':>12}  {'messages/s':>12}  {'received':>12}  {'lost':>12}  {'lost %':>12}"


def _latency_cells(record: Record) -> list[str]:
    values = [_scaled(record.number("latency", name), 1e-3) for name in _LATENCY_STATISTICS]
    return [record.conditions.basis or "-", *values, _cell(record.samples)]


def _throughput_cells(record: Record) -> list[str]:
    counts = [_scaled(record.number(metric, "total"), 1.0) for metric in ("messages_received", "messages_lost")]
    return [_rate(record, "goodput", 1e-6), _rate(record, "message_rate", 1.0), *counts, _scaled(record.number("loss", "total"), 100.0)]


def _offered_cells(record: Record) -> list[str]:
    return [_rate(record, "offered_goodput", 1e-6), _rate(record, "offered_rate", 1.0), _scaled(record.number("messages_sent", "total"), 1.0)]


def _rate(record: Record, metric: str, scale: float) -> str:
    """Return the mean rate, or where there is none that of all subscribers together."""
    return _scaled(record.number(metric, "mean") or record.number(metric, "sum"), scale)


def _is_sum(record: Record, shape: str) -> bool:
    """Whether a rate in the row of a record is a sum."""
    shown = _METRICS_SHOWN.get(shape, _OF_RATES)
    return any(record.number(metric, "sum") and not record.number(metric, "mean") for metric in shown)


def _sustained_cells(record: Record) -> list[str]:
    return [_scaled(record.number("sustained_rate", f"{end}-bound"), 1.0) for end in ("lower", "upper")]


_CELLS = {"latency": _latency_cells, "sustain": _sustained_cells, _OFFERED: _offered_cells}


def _scaled(number: Number | None, scale: float) -> str:
    if number is None or number.value is None:
        return "-"
    sign = "" if number.bound == "=" else f"{number.bound} "
    return f"{sign}{number.value * scale:.10g}"


def _cell(value: int | None) -> str:
    return "-" if value is None else str(value)


def _object(place: Place, event: Event, record: Record) -> dict[str, Any]:
    where = {"log": place.log, "line": event.line}
    if event.last_line != event.line:
        where["last_line"] = event.last_line
    what = {name: getattr(record, name) for name in ("test", "scope", "side", "participant", "payload_bytes", "payload_bytes_high", "samples")}
    known = {name: value for name, value in what.items() if value is not None or name == "payload_bytes"}
    conditions = msgspec.to_builtins(record.conditions.over(place.conditions))
    numbers = {number.key: number.value for number in record.numbers}
    return {**where, "system": place.system, **known, **conditions, **numbers, **_about(record)}


def _about(record: Record) -> dict[str, Any]:
    """What is to be known of the numbers, by their names: only of those where there is something."""
    about = {
        "bounds": {number.key: number.bound for number in record.numbers if number.bound != "="},
        "resolutions": {number.key: number.resolution for number in record.numbers if number.resolution},
        "marks": {number.key: list(number.marks) for number in record.numbers if number.marks},
    }
    return {name: value for name, value in about.items() if value}


def _printable(text: str) -> str:
    """The text on one line, cut to a readable length."""
    safe = drawn_in_line(text[: SHOWN_CHARACTERS + 1])
    return safe if len(safe) <= SHOWN_CHARACTERS else safe[:SHOWN_CHARACTERS] + "..."


class LogComplaints:
    """What is wrong with a log, on standard error: its first broken and unknown lines, and how its run ended if not well."""

    def __init__(self, log: str, shown: int) -> None:
        """Name up to ``shown`` lines; 0 where all lines are listed anyway."""
        self._log = log
        self._shown = shown
        self.count = 0

    def hear(self, event: Event) -> None:
        """Name a line that is broken or unknown."""
        if event.kind not in ("broken", "unknown"):
            return
        self.count += 1
        if self.count <= self._shown:
            what = f"broken: {event.what.reason}" if isinstance(event.what, Broken) else "unknown"
            terminal.line(f"{self._log}:{event.line}: {what}: {_printable(event.text)!r}", err=True)

    def close(self, account: Account | None) -> None:
        """Say how many more there are, and, if the account is not printed anyway, that the run ended badly."""
        if self.count > self._shown > 0:
            terminal.line(f"{self._log}: {self.count - self._shown} more; --explain shows every line", err=True)
        if account and account.status in ENDED_BADLY:
            terminal.line(f"{self._log}: the run {ENDED_BADLY[account.status]}: {_printable(account.reason or 'no reason given')}", err=True)


class Totals:
    """The account of all logs of one call."""

    def __init__(self) -> None:
        """Start with no log."""
        self._rows: list[tuple[str, ...]] = []
        self._lines: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._ended_badly = 0

    @property
    def suspicious(self) -> bool:
        """Whether any line was broken or unknown, or any run ended badly."""
        return bool(self._lines["broken"] + self._lines["unknown"] + self._ended_badly)

    def add(self, log: str, format_name: str, account: Account, kinds: Counter[str]) -> None:
        """Count one log."""
        self._lines.update(account.lines)
        self._kinds.update(kinds)
        self._ended_badly += account.status in ENDED_BADLY
        counts = (account.lines["record"], account.lines["chatter"], account.lines["broken"], account.lines["unknown"], account.total)
        ending = (account.status or "not stated") + (f": {_printable(account.reason)}" if account.reason else "")
        self._rows.append((log, format_name, str(account.records), *map(str, counts), ending))

    def print(self, each: bool) -> None:
        """Print the account, by log if ``each``; to standard error if it stands beside other output. Of no log there is none."""
        if not self._rows:
            return
        header = ("log", "format", "records", "record lines", "chatter", "broken", "unknown", "lines", "run")
        rows = [header, *self._rows] if each else []
        widths = [max(len(row[column]) for row in rows) for column in range(len(header))] if rows else []
        for row in rows:
            aligned = (f"{cell:{'<' if column in (0, 1, 8) else '>'}{widths[column]}}" for column, cell in enumerate(row))
            terminal.line("  ".join(aligned).rstrip())
        tests = [f"{count} {kind}" for kind, count in sorted(self._kinds.items()) if kind not in ("interval", "resources")]
        intervals = [counted(self._kinds["interval"], "interval")] if self._kinds["interval"] else []
        resources = [f"{self._kinds['resources']} resources"] if self._kinds["resources"] else []
        kinds = ", ".join(tests + intervals + resources)
        records = counted(self._kinds.total(), "record") + (f" ({kinds})" if kinds else "")
        suspicious = f"{self._lines['broken']} broken and {self._lines['unknown']} unknown of {counted(self._lines.total(), 'line')}"
        terminal.line(f"{counted(len(self._rows), 'log')}: {records}, {suspicious}", err=not each)
        sys.stdout.flush()
