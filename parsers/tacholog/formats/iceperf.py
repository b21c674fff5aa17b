"""iceperf, the benchmark among the examples of Eclipse iceoryx: one table of mean latencies for each transport.

A section names the transport; its table follows when all sizes have been measured::

    ******      ICEORYX       ********
    #### Measurement Result ####
    2000 round trips for each payload.

    | Payload Size [kB] | Average Latency [us] |
    |------------------:|---------------------:|
    |                 1 |                   63 |
    |              1024 |                1e+02 |

The tool prints a micro sign in place of ``us``. Newer versions begin at 16 bytes and put the unit into the cell, as in ``16 [B]``. A kB is 1024
bytes. The tool prints two significant digits in the default notation of C++. The resolution of ``63`` is a microsecond, the resolution of ``1e+02``
is ten microseconds, and the resolution of ``0.6`` is ten nanoseconds.

Conditions are the size and the transport, from the heading. The number of round trips is the number of samples. No other options are printed. Output
of RouDi, the daemon of iceoryx, is recognised and ignored.
Source: iceoryx_examples/iceperf of iceoryx, releases 0.16 to 2.95; samples in tests/formats/iceperf/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from enum import IntEnum

import msgspec

from tacholog.formats.kit import Broken, Cell, Conditions, Detected, Dialect, Facts, Finding, Line, LineStart, Number, Record, States, printed

SYSTEM = "iceoryx"
TOOL = "iceperf"
EXPANDS_TABS = True
DIALECTS = (
    Dialect("kilobytes-0.16", "0.16: no heading, because there is only one transport", "a posted log"),
    Dialect("kilobytes", "0.17 to 2.0", "a log recorded with 2.0.3, a posted log, an early manual"),
    Dialect("units", "2.95 and later: from 16 bytes, with the unit in the cell", "from source only"),
)
DEFINITIONS = {
    "iceperf-mean": "Time of all round trips of a size, divided by twice their number: the mean of half a round trip, with two significant digits. "
    "The time includes allocating and sending a message, but not writing its payload.",
}
STATES = {
    "latency": States(always="transport data_path payload_touched load_mode basis definition payload_bytes"),
}

_SECTION = re.compile(r" {0,4}\*{6} +(?P<name>MESSAGE QUEUE|UNIX DOMAIN SOCKET|ICEORYX(?: C API| WAITSET)?) +\*{8}")
_MEASURING = re.compile(r" {0,4}Measurement for: (?P<sizes>[0-9]{1,4} (?:kB|\[[kM]?B\])(?:, [0-9]{1,4} (?:kB|\[[kM]?B\])){0,40}),? *")
_ONLY_WAY = re.compile(r"Waiting (?:to subscribe to|for subscriber to) (?:Hardy|Laurel) \.\.\. (?:done)?")
_MEASURED = re.compile(r" {0,4}Measurement for (?P<size>[0-9]{1,4}) kB payload \.\.\. (?:done)?")
_RESULT = re.compile(r" {0,4}#### Measurement Result ####")
_ROUNDS = re.compile(r" {0,4}(?P<rounds>[0-9]{1,18}) round trips for each payload\.")
_HEADER = re.compile(r" {0,4}\| Payload Size (?P<kilo>\[kB\] )?\| Average Latency \[[\u00b5\u03bc]s\] \|")
_RULE = re.compile(r" {0,4}\|-{13,18}:\|-{21}:\|")
_ROW = re.compile(
    r" {0,4}\| {1,20}(?P<size>[1-9][0-9]{0,3})(?: \[?(?P<unit>[kMG]?B)\]?)? {1,5}\|"
    r" {1,22}(?P<mean>[1-9][0-9]?|[1-9]\.[0-9]|0\.0{0,3}[1-9][0-9]?|[1-9](?:\.[0-9])?e[+-]0[0-9]|0) \|"
)
_FINISHED = re.compile(r" {0,4}Finished!")
_CHATTER = re.compile(
    r" {0,4}(?:Waiting (?:for|till|to)\b.{0,80}|waiting for follower|registering with the leader, .{0,80})"
    r"|[0-9]{4}-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9]\.[0-9]{3} \[[ A-Za-z]{5,9}\]: ?.{0,2000}"
    r"|(?:Log level set to: .{0,80}|Reserving [0-9]+ bytes in the shared memory .{0,200}|\[ Reserving shared memory successful \])|\s*"
)
_HEAD = LineStart(rf"(?:{_SECTION.pattern}|{_HEADER.pattern})\r?$")
_UNITS = {None: 1024, "B": 1, "kB": 1024, "MB": 1024**2, "GB": 1024**3}
_COPIED = {"MESSAGE QUEUE": "message queue", "UNIX DOMAIN SOCKET": "Unix domain socket"}
_HANDED_OVER = {"ICEORYX": "iceoryx", "ICEORYX C API": "iceoryx C API", "ICEORYX WAITSET": "iceoryx waitset"}


class _Stage(IntEnum):
    """The position within a section. The stages have a fixed order. If a line is out of order, the position is unknown until the next section."""

    LOST = 0
    SECTION = 1
    MEASURED = 2
    RESULT = 3
    ROUNDS = 4
    HEADER = 5
    ROWS = 6


class _Section(msgspec.Struct):
    name: str | None = None
    stage: _Stage = _Stage.LOST
    measuring: str | None = None  # The last size whose measurement started.
    measured: int = 0
    rounds: int | None = None
    kilobytes: bool = False
    last_bytes: int = 0
    trouble: str | None = None  # The reason why no row of the table can be a record.

    def reach(self, stage: _Stage, *after: _Stage) -> None:
        """Begin a stage if it may follow the current stage; otherwise the position is unknown."""
        self.stage = stage if self.stage in after else _Stage.LOST


def detect(head: str) -> Detected:
    """Return whether the log has a section or a table of iceperf."""
    return Detected(_HEAD.is_in(head), wants="'****** ICEORYX ********' (or another section), or '| Payload Size [kB] | Average Latency [us] |'")


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield a record for each row, and how the run ended."""
    section = _Section()
    for line in lines:
        if line.text.lstrip(" ").startswith("|") and not (_HEADER.fullmatch(line.text) or _RULE.fullmatch(line.text)):
            yield Finding(line, _row(line, section))
        elif begun := _SECTION.fullmatch(line.text):
            if unfinished := _unfinished(section):
                yield Finding(line, unfinished)
            section = _Section(begun["name"], _Stage.SECTION)
            yield Finding(line, None)
        elif _is_known(line.text, section):
            yield Finding(line, None)
    if unfinished := _unfinished(section):
        yield Finding(None, unfinished)


def _unfinished(section: _Section) -> Facts | None:
    """Return facts if a leader began to measure, but printed no complete table. A follower never prints a table."""
    if section.measuring is None:
        return None
    where = f"{section.name}: " if section.name else ""
    return Facts(status="truncated", reason=f"{where}the run stopped at {section.measuring}, before its table was complete")


def _is_known(text: str, section: _Section) -> bool:
    """Return whether the tool prints this line around its rows. Also update the position within the section."""
    if match := _MEASURING.fullmatch(text):
        section.reach(_Stage.MEASURED, _Stage.SECTION)
        section.measuring = match["sizes"].rpartition(", ")[2]
    elif match := _MEASURED.fullmatch(text):
        again = int(match["size"]) <= section.measured  # The line belongs to another section, whose heading is missing.
        section.reach(_Stage.MEASURED, *(() if again else (_Stage.SECTION, _Stage.MEASURED)))
        section.measuring, section.measured = f"{match['size']} kB", int(match["size"])
    elif _ONLY_WAY.fullmatch(text) and section.name is None:  # Version 0.16 has no headings. Later versions print this line after a heading.
        section.name, section.stage = "ICEORYX", _Stage.SECTION
    elif _RESULT.fullmatch(text):
        section.reach(_Stage.RESULT, _Stage.SECTION, _Stage.MEASURED)
    elif match := _ROUNDS.fullmatch(text):
        section.reach(_Stage.ROUNDS, _Stage.RESULT)
        section.rounds = int(match["rounds"])
    elif match := _HEADER.fullmatch(text):
        section.reach(_Stage.HEADER, _Stage.ROUNDS)
        section.kilobytes = match["kilo"] is not None
    elif _RULE.fullmatch(text):
        section.reach(_Stage.ROWS, _Stage.HEADER)
    elif _FINISHED.fullmatch(text):
        _finish(section)
    else:
        return _CHATTER.fullmatch(text) is not None
    return True


def _finish(section: _Section) -> None:
    """Handle ``Finished!``, which ends the table. Old versions also print it before the table, when the subscriber has left."""
    if section.stage == _Stage.ROWS:
        section.stage, section.measuring = _Stage.LOST, None


def _row(line: Line, section: _Section) -> Record | Broken:
    row = _ROW.fullmatch(line.text)
    if row is None:
        return Broken("row is cut short or garbled")
    payload_bytes = int(row["size"]) * _UNITS[row["unit"]]
    if section.measuring and payload_bytes == _bytes_of(section.measuring):
        section.measuring = None  # The table has reached the last size.
    if section.stage != _Stage.ROWS or section.kilobytes != (row["unit"] is None):
        section.trouble = section.trouble or _why_lost(section)
        section.stage = _Stage.LOST
        return Broken(section.trouble)
    # The tool doubles the size from row to row. A broken row leaves a gap between two sizes, but sizes never repeat.
    if payload_bytes <= section.last_bytes or payload_bytes & (payload_bytes - 1):
        section.stage = _Stage.LOST
        return Broken("a size out of order: the row is from another table")
    section.last_bytes = payload_bytes
    return Record(
        test="latency",
        payload_bytes=payload_bytes,
        numbers=(_mean(Cell(row["mean"], row.start("mean"))),),
        samples=section.rounds,
        side="publisher",
        conditions=_conditions(section.name or ""),
    )


def _why_lost(section: _Section) -> str:
    if section.name is None:
        return "no heading above the table states which transport was measured"
    if section.stage == _Stage.HEADER:
        return "the rule below the table's head is missing: rows may be lost, or belong to another table"
    return "a row outside of its table: it is unknown what it measured"


def _bytes_of(measuring: str) -> int:
    count, unit = measuring.split(" ")
    return int(count) * _UNITS[unit.strip("[]")]


def _mean(cell: Cell) -> Number:
    """Return a mean. The tool computes whole nanoseconds, and prints microseconds with two significant digits, without trailing zeros."""
    value = Decimal(cell) * 1000
    return printed("latency", "mean", float(value), max(1.0, float(Decimal(10) ** (value.adjusted() - 1))) if value else 1.0, cell=cell)


def _conditions(name: str) -> Conditions:
    shared = Conditions(basis="rtt/2", load_mode="closed", payload_touched="none", definition="iceperf-mean")
    if name in _COPIED:
        return msgspec.structs.replace(shared, transport=_COPIED[name], data_path="copy")
    return msgspec.structs.replace(shared, transport=_HANDED_OVER[name], data_path="zero-copy")
