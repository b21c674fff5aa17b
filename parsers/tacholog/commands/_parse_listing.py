"""The listings of ``tacholog parse``. A listing gets one event after the other, so that a large log need not be kept in memory."""

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
_MOST_WAITING = 5000
CSV_COLUMNS = ("log", "line", "last_line", "system", "scope", "test", "side", "payload_bytes", "samples")
CSV_NUMBER_COLUMNS = ("metric", "statistic", "value", "unit", "bound", "resolution", "marks")


def kind_of(record: Record) -> str:
    """Return the name under which a record is counted: its test if it is the summary of a test, otherwise its scope."""
    return record.test if record.scope == "summary" else record.scope


class LogContext(msgspec.Struct, frozen=True):
    """The log of a record, with the system and the conditions that the log and its manifest state."""

    log: str
    system: str | None
    conditions: Conditions


class Listing(Protocol):
    """A way to print the events of logs."""

    def wants(self, record: Record) -> bool:
        """Whether the listing prints records of this kind."""
        ...

    def show(self, context: LogContext, event: Event) -> None:
        """Print an event, if the listing prints events of its kind."""

    def close(self) -> None:
        """Print the remaining events at the end of a log."""


class _Immediate:
    def wants(self, _: Record) -> bool:
        return True

    def close(self) -> None:
        """Do nothing, because no event waits."""


class JsonLinesListing(_Immediate):
    """A listing with one JSON object for each record. The names of numbers contain their units; unknown values are left out."""

    def show(self, context: LogContext, event: Event) -> None:
        """Print a record."""
        if isinstance(event.what, Record):
            text = json.dumps(_object(context, event, event.what), ensure_ascii=False)
            terminal.data(HIDDEN.sub(lambda match: json.dumps(match[0])[1:-1], text) + "\n")


class CsvListing(_Immediate):
    """A listing as CSV: a header, and one row for each number."""

    def __init__(self) -> None:
        """Print the header."""
        self._print([*CSV_COLUMNS, *Conditions.__struct_fields__, *CSV_NUMBER_COLUMNS])

    def show(self, context: LogContext, event: Event) -> None:
        """Print the numbers of a record."""
        record = event.what
        if not isinstance(record, Record):
            return
        shared = [
            context.log,
            event.line,
            event.last_line,
            context.system,
            record.scope,
            record.test,
            record.side,
            record.payload_bytes,
            record.samples,
        ]
        begin = f"{_csv_row(shared)},{_csv_conditions(record.conditions, context.conditions)}"
        terminal.data("".join(f"{begin},{_csv_number(number)}\n" for number in record.numbers))

    def _print(self, cells: list[Any]) -> None:
        terminal.data(_csv_row(cells) + "\n")


@lru_cache(maxsize=64)  # cached, because most records of a log have the same conditions
def _csv_conditions(conditions: Conditions, others: Conditions) -> str:
    combined = conditions.over(others)
    return _csv_row([getattr(combined, name) for name in Conditions.__struct_fields__])


def _csv_number(number: Number) -> str:
    value = (number.metric, number.statistic, number.value, METRICS[number.metric].unit, number.bound, number.resolution)
    # No cell needs quotation marks: the cells contain only words of the schema and numbers.
    return ",".join(["" if cell is None else str(cell) for cell in (*value, " ".join(number.marks))])


def _csv_row(cells: list[Any]) -> str:
    row = io.StringIO()
    csv.writer(row, lineterminator="").writerow([no_formula(cell) if isinstance(cell, str) else cell for cell in cells])
    return row.getvalue()


class TableListing:
    """A readable table with one line for each record: its most important numbers, in readable units, and the conditions that differ between records.

    These conditions are only known after all records were read. Therefore the listing collects the records until the end of their log, but at most a
    few thousand at a time.
    """

    def __init__(self) -> None:
        """Create a listing without collected records."""
        self._waiting: dict[tuple[str, str | None, str, str], list[tuple[int, Record, Conditions]]] = {}
        self._count = 0
        self._left_out: dict[str, Counter[str]] = {}  # for each log, the metrics without a column, each with its count of numbers

    def wants(self, record: Record) -> bool:
        """Whether the record is the summary of a whole measurement."""
        return record.scope == "summary"

    def show(self, context: LogContext, event: Event) -> None:
        """Collect a record. If too many records are collected, print them."""
        record = event.what
        if not isinstance(record, Record) or not self.wants(record):
            return
        shape = _shape_of(record)
        columns = _METRICS_SHOWN.get(shape, _OF_RATES) if shape else ()
        left_out = [number.metric for number in record.numbers if number.metric not in columns]
        if left_out:
            self._left_out.setdefault(context.log, Counter()).update(left_out)
        if not shape:
            return
        table = (context.log, context.system, record.test, shape)
        self._waiting.setdefault(table, []).append((event.line, record, record.conditions.over(context.conditions)))
        self._count += 1
        if self._count >= _MOST_WAITING:
            self._print_tables()

    def close(self) -> None:
        """Print the collected records, and the names of the metrics that have no column."""
        self._print_tables()
        for log, left_out in self._left_out.items():
            words = "1 number of another metric ({}) is" if left_out.total() == 1 else f"{left_out.total()} numbers of other metrics ({{}}) are"
            terminal.styled(f"{log}: {words.format(', '.join(sorted(left_out)))} only in jsonl and csv", dim=True)
        self._left_out.clear()

    def _print_tables(self) -> None:
        for (log, system, test, shape), rows in self._waiting.items():
            keys = [tuple(_conditions(record, conditions).items()) for _, record, conditions in rows]
            distinct = list(dict.fromkeys(keys))
            name_of = dict(zip(distinct, row_names([dict(key) for key in distinct], but="basis"), strict=True))
            names = [
                f"{name_of[key]} (sum)".lstrip() if _is_sum(record, shape) else name_of[key] for key, (_, record, _) in zip(keys, rows, strict=True)
            ]
            terminal.styled(
                f"{log}  {system or f'system {NOT_STATED}'}, {test}{f', {shape}' if shape in (_OFFERED, _ACKNOWLEDGED) else ''}", bold=True
            )
            terminal.styled(_HEADERS.get(shape, _HEADER_OF_RATES) + ("  of" if any(names) else ""), dim=True)
            for (line, record, _), name in zip(rows, names, strict=True):
                cells = _CELLS.get(shape, _throughput_cells)(record)
                row = f"{line:>7}  {_cell(record.payload_bytes):>10}  " + "  ".join(f"{cell:>12}" for cell in cells)
                terminal.line(f"{row}  {name}".rstrip())
        self._waiting.clear()
        self._count = 0


def _shape_of(record: Record) -> str | None:
    """Return the key of the table that shows a record: the name of the test, `_OFFERED` or `_ACKNOWLEDGED`.

    Return ``None`` if no table shows the numbers.
    """
    metrics = {number.metric for number in record.numbers}
    if metrics & _TABLE_METRICS:
        return record.test
    return _ACKNOWLEDGED if metrics & _RATES_ACKNOWLEDGED else _OFFERED if metrics & _RATES_OFFERED else None


def _conditions(record: Record, conditions: Conditions) -> dict[str, object]:
    return {"participant": record.participant, "side": record.side, **{name: getattr(conditions, name) for name in Conditions.__struct_fields__}}


def _names_of_facts(facts: Facts) -> str:
    names = [name for name in Facts.__struct_fields__ if name not in ("conditions", "environment") and getattr(facts, name) is not None]
    names += [name for name in Conditions.__struct_fields__ if getattr(facts.conditions, name) is not None]
    return ", ".join([*names, *facts.environment])


class LineListing:
    """A listing of all lines, each with its class (``--explain``).

    If a chatter line states facts, its class is shown as "fact".
    """

    def __init__(self) -> None:
        """Create a listing without collected records."""
        self._waiting: list[tuple[int, str]] = []

    def wants(self, _: Record) -> bool:
        """Return True: this listing prints the lines of all records."""
        return True

    def show(self, context: LogContext, event: Event) -> None:
        """Print the class of each line, in order. A line waits until all previous lines are printed, because events may be out of order."""
        facts = _names_of_facts(event.what) if isinstance(event.what, Facts) else ""
        reason = event.what.reason if isinstance(event.what, Broken) else _printable(facts)
        kind = "fact" if facts else event.kind
        for line in event.lines:
            text = _printable(event.text) if line == event.line else f"(with line {event.line})"
            heapq.heappush(self._waiting, (line, f"{context.log}:{line}: {kind:<8} {text}" + (f"   <- {reason}" if reason else "")))
        while self._waiting and self._waiting[0][0] < event.line - 2 * CLAIM_WINDOW_LINES:
            terminal.line(heapq.heappop(self._waiting)[1])

    def close(self) -> None:
        """Print the collected lines."""
        while self._waiting:
            terminal.line(heapq.heappop(self._waiting)[1])


LISTINGS: Mapping[str, Callable[[], Listing]] = {"table": TableListing, "jsonl": JsonLinesListing, "csv": CsvListing}
_TABLE_METRICS = {"latency", "goodput", "message_rate", "messages_received", "sustained_rate"}
_OFFERED, _ACKNOWLEDGED = "offered", "acknowledged"
_RATES_OFFERED = {"offered_goodput", "offered_rate"}
_RATES_ACKNOWLEDGED = {"acknowledged_goodput", "acknowledged_rate"}
_OF_RATES = {"goodput", "message_rate", "messages_received", "messages_lost", "loss"}
_METRICS_SHOWN = {
    "latency": {"latency"},
    "sustain": {"sustained_rate"},
    _OFFERED: {*_RATES_OFFERED, "messages_sent"},
    _ACKNOWLEDGED: {*_RATES_ACKNOWLEDGED, "messages_acknowledged"},
}
_LATENCY_STATISTICS = ("min", "mean", "p50", "p90", "p99", "p99.99", "max")
_LATENCY_HEADER = "  ".join(f"{f'{name} us':>12}" for name in _LATENCY_STATISTICS)
_HEADERS = {
    "latency": f"{'line':>7}  {'bytes':>10}  {'basis':>12}  {_LATENCY_HEADER}  {'samples':>12}",
    "sustain": f"{'line':>7}  {'bytes':>10}  {'messages/s':>12}  {'missed at':>12}",
    _OFFERED: f"{'line':>7}  {'bytes':>10}  {'Mbit/s':>12}  {'messages/s':>12}  {'sent':>12}",
    _ACKNOWLEDGED: f"{'line':>7}  {'bytes':>10}  {'Mbit/s':>12}  {'messages/s':>12}  {'acknowledged':>12}",
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


def _acknowledged_cells(record: Record) -> list[str]:
    count = _scaled(record.number("messages_acknowledged", "total"), 1.0)
    return [_rate(record, "acknowledged_goodput", 1e-6), _rate(record, "acknowledged_rate", 1.0), count]


def _rate(record: Record, metric: str, scale: float) -> str:
    return _scaled(record.number(metric, "mean") or record.number(metric, "sum"), scale)


def _is_sum(record: Record, shape: str) -> bool:
    metrics = _METRICS_SHOWN.get(shape, _OF_RATES)
    return any(record.number(metric, "sum") and not record.number(metric, "mean") for metric in metrics)


def _sustained_cells(record: Record) -> list[str]:
    return [_scaled(record.number("sustained_rate", f"{end}-bound"), 1.0) for end in ("lower", "upper")]


_CELLS = {"latency": _latency_cells, "sustain": _sustained_cells, _OFFERED: _offered_cells, _ACKNOWLEDGED: _acknowledged_cells}


def _scaled(number: Number | None, scale: float) -> str:
    if number is None or number.value is None:
        return "-"
    sign = "" if number.bound == "=" else f"{number.bound} "
    return f"{sign}{number.value * scale:.10g}"


def _cell(value: int | None) -> str:
    return "-" if value is None else str(value)


def _object(context: LogContext, event: Event, record: Record) -> dict[str, Any]:
    position = {"log": context.log, "line": event.line}
    if event.last_line != event.line:
        position["last_line"] = event.last_line
    fields = {name: getattr(record, name) for name in ("test", "scope", "side", "participant", "payload_bytes", "payload_bytes_high", "samples")}
    stated_fields = {name: value for name, value in fields.items() if value is not None or name == "payload_bytes"}
    conditions = msgspec.to_builtins(record.conditions.over(context.conditions))
    numbers = {number.key: number.value for number in record.numbers}
    return {**position, "system": context.system, **stated_fields, **conditions, **numbers, **_qualifiers(record)}


def _qualifiers(record: Record) -> dict[str, Any]:
    qualifiers = {
        "bounds": {number.key: number.bound for number in record.numbers if number.bound != "="},
        "resolutions": {number.key: number.resolution for number in record.numbers if number.resolution},
        "marks": {number.key: list(number.marks) for number in record.numbers if number.marks},
    }
    return {name: value for name, value in qualifiers.items() if value}


def _printable(text: str) -> str:
    safe = drawn_in_line(text[: SHOWN_CHARACTERS + 1])
    return safe if len(safe) <= SHOWN_CHARACTERS else safe[:SHOWN_CHARACTERS] + "..."


class LogComplaints:
    """Prints the problems of a log on standard error.

    These are the first broken and unknown lines, and a bad ending of the run.
    """

    def __init__(self, log: str, limit: int) -> None:
        """Create an object that prints at most ``limit`` lines. ``limit`` is 0 if the listing prints all lines anyway."""
        self._log = log
        self._limit = limit
        self.count = 0

    def add(self, event: Event) -> None:
        """Print a line that is broken or unknown."""
        if event.kind not in ("broken", "unknown"):
            return
        self.count += 1
        if self.count <= self._limit:
            problem = f"broken: {event.what.reason}" if isinstance(event.what, Broken) else "unknown"
            terminal.line(f"{self._log}:{event.line}: {problem}: {_printable(event.text)!r}", err=True)

    def close(self, account: Account | None) -> None:
        """Print how many broken and unknown lines were left out. If the run ended badly, also print how it ended.

        ``account`` is ``None`` if the ending must not be printed here, because it is in the totals of each log.
        """
        if self.count > self._limit > 0:
            terminal.line(f"{self._log}: {self.count - self._limit} more; --explain shows every line", err=True)
        if account and account.status in ENDED_BADLY:
            terminal.line(f"{self._log}: the run {ENDED_BADLY[account.status]}: {_printable(account.reason or 'no reason given')}", err=True)


class Totals:
    """The totals of all logs of one command."""

    def __init__(self) -> None:
        """Start without logs."""
        self._rows: list[tuple[str, ...]] = []
        self._lines: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._ended_badly = 0

    @property
    def suspicious(self) -> bool:
        """Whether any line was broken or unknown, or any run ended badly."""
        return bool(self._lines["broken"] + self._lines["unknown"] + self._ended_badly)

    def add(self, log: str, format_name: str, account: Account, kinds: Counter[str]) -> None:
        """Add the account of one log."""
        self._lines.update(account.lines)
        self._kinds.update(kinds)
        self._ended_badly += account.status in ENDED_BADLY
        counts = (account.lines["record"], account.lines["chatter"], account.lines["broken"], account.lines["unknown"], account.total)
        ending = (account.status or "not stated") + (f": {_printable(account.reason)}" if account.reason else "")
        self._rows.append((log, format_name, str(account.records), *map(str, counts), ending))

    def print(self, each: bool) -> None:
        """Print a line for each log if ``each`` is true. Then print the sums over all logs on standard error."""
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
        terminal.remark(f"{counted(len(self._rows), 'log')}: {records}, {suspicious}", err=not each)
        sys.stdout.flush()
