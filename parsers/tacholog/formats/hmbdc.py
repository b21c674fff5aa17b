"""hmbdc: what ``tips-ping-pong`` prints, and the performance sample that comes with the library.

A pinger prints one character for each second of attempts, then its size and its result. A ponger prints one result for all its answers::

    Ping0cpy : msgSize=1000 msgPerSec=500
    round trip time (sec):(1998/1992):mean=0.001055589 std_dev=0.00198932 min=0.000000968 max=0.009193595 sampleSize=1998

    if clock is synced, one way latency (sec):
    mean=0.033357561 std_dev=0.0632374 min=0.000005181 max=0.346393959 sampleSize=697

Neither program states the version, the transport or the machine. In ``(a/b)``, a is the number of replies, and b the number of pings that were sent
after the first reply, so a can be larger than b. Conditions are the size, the rate, and the kind of ping (the data path); on the sample page also the
transport and the reliability. The machines, notes and commands of the sample page are environment. The options of the program (transport, threads,
cores) are not printed: the manifest must state them.
Source: logs of releases 15-29 and 17-6 and the program's text from 12-41 to 17-6; perf-sample.txt of 12-41 to 15.17-1.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

import msgspec

from tacholog.formats.kit import (
    Bound,
    Broken,
    Cell,
    Conditions,
    DataPath,
    Detected,
    Dialect,
    Facts,
    Finding,
    Line,
    LineStart,
    Number,
    Record,
    States,
    counted,
    impossible,
    printed,
)

SYSTEM = "hmbdc"
TOOL = "tips-ping-pong"
EXPANDS_TABS = True
DIALECTS = (
    Dialect("ping-pong", "12-41 and later", "real logs of 15-29 and 17-6"),
    Dialect("sample-12-41", "perf-sample.txt of 12-41", "the published page"),
    Dialect("sample", "perf-sample.txt of 14-2 to 17-6", "the published pages"),
)
DEFINITIONS = {
    "hmbdc-rtt": "Round trip from the pinger's send until it has the ponger's answer, on the pinger's clock. Pings are sent on a schedule that does "
    "not wait for answers, so time in queues counts. Answers to pings from before the start of the count are included, so more may be received "
    "than were sent.",
    "hmbdc-one-way": "From the pinger's send until the ponger's receipt, on the system clocks of both. The tool does not check that the clocks "
    "agree. One figure covers all pings that the ponger answered, of all clients and sizes.",
    "hmbdc-sample": "'1-way latency' as the performance sample states it: rounded figures over a range of message sizes. The sample does not state "
    "which statistic they are, or how they were computed from the round trips that the tool prints.",
    "hmbdc-sample-12-41": "'Latency performance' as the oldest performance sample states it: rounded figures over a range of message sizes. "
    "It does not say whether they are one-way.",
    "hmbdc-sample-reference": "The latency of TCP as qperf measures it: the mean of half a round trip, rounded. The sample states it for "
    "comparison; it is not a latency of hmbdc.",
}
STATES = {
    "latency": States(always="definition", sometimes="transport data_path reliability offered_rate_per_s load_mode basis payload_bytes"),
}

_PIECE = (
    r"Started Ponger, press ctrl-c to stop|Started Pinger with the first ?|"
    r"[0-9]{1,9} values ignored\(x\)(?:, good\(\.\), congested\(C\))?, press ctrl-c to get results"
)
_STARTED = re.compile(rf"(?:{_PIECE}){{1,8}}")
_PROGRESS = re.compile(r"[x.C]+")
_LOGGED = re.compile(r"[0-9]{14}\.[0-9]{9} [A-Z]{1,12} *: .*")
_NOTHING = "Nothing comes back - multicast might be disabled (need to disable firewall)"
_ONE_WAY = "if clock is synced, one way latency (sec):"
_CRASH = re.compile(r"terminate called .*|  what\(\):  .*")

_PINGS = re.compile(r"(?P<kind>Ping|PingGT1K|Ping0cpy) : msgSize=(?P<size>[0-9]{1,18}) msgPerSec=(?P<rate>[0-9]{1,10})")
_PINGS_MARK = re.compile(r"Ping\w{0,4} : msgSize=")
_TIME = r"-?[0-9]{1,9}\.[0-9]{9}"
_SPREAD = r"-?nan|[0-9]{1,18}(?:\.[0-9]{1,12})?(?:e[-+][0-9]{2})?"
_MEASURED = rf"mean=(?P<mean>{_TIME}) std_dev=(?P<std>{_SPREAD}) min=(?P<min>{_TIME}) max=(?P<max>{_TIME}) sampleSize=(?P<samples>[0-9]{{1,18}})"
_STATISTICS = rf"(?:NA sampleSize=0|{_MEASURED})"
_ROUND_TRIP = re.compile(rf"round trip time \(sec\):\((?P<received>[0-9]{{1,18}})/(?P<sent>[0-9]{{1,18}})\):{_STATISTICS}")
_ONE_WAY_RESULT = re.compile(_STATISTICS)
_DATA_PATHS: dict[str, DataPath] = {"Ping": "copy", "PingGT1K": "copy", "Ping0cpy": "zero-copy"}
_LOGGED_BETWEEN = 100  # The logger prints at most this number of lines between a size and its result.


TITLE = "HMBDC PERFORMANCE SAMPLE"
_SAMPLE = LineStart(rf" *{TITLE} \(updated with release ")


def detect(head: str) -> Detected:
    """Return whether the log has a line of the pinger or the ponger, or the title of the sample."""
    marks = ("round trip time (sec):(", "Started Pinger with the first", "Started Ponger, press ctrl-c", _ONE_WAY)
    fits = any(mark in head for mark in marks) or _SAMPLE.is_in(head)
    return Detected(fits, wants=f"'Started Pinger', 'Started Ponger', 'round trip time (sec):(' or '{TITLE}'")


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield the findings. If no ping of a run was answered, the run has failed."""
    page, pings = SamplePage(), _Pings()
    for line in lines:
        findings = page.take(line)
        yield from pings.take(line) if findings is None else findings
    yield from page.close()
    yield from pings.close()
    if pings.unanswered and not pings.answered:
        yield Finding(None, Facts(status="failed", reason="no ping was answered"))


class _Pings:
    """Reads the results of pingers and pongers. A result has two lines.

    If two programs share a terminal, the first line of one program may be followed by the second line of the other program. Then a line of the next
    result is missing. So each record waits for the next result, and is broken if the next result lacks a line.
    """

    def __init__(self) -> None:
        self._first: Line | None = None
        self._record: Finding | None = None
        self._logged = 0
        self._doubted = False
        self.answered = self.unanswered = False

    def take(self, line: Line) -> Iterator[Finding]:
        text = line.text
        if "round trip time (sec)" in text or text.startswith(("mean=", "NA sampleSize=")):
            yield from self._result(line)
        elif _PINGS_MARK.search(text) or text.startswith(_ONE_WAY[:24]):
            doubted = self._first is not None
            yield from self.close()
            self._first, self._doubted = line, doubted
        elif _LOGGED.fullmatch(text) and self._logged < _LOGGED_BETWEEN:
            self._logged += 1
            yield Finding(line, None)
        else:
            findings = list(_about_the_run(line))
            if findings or self._first is None:  # A line of another program may be between the two lines of a result.
                yield from self.close()
            yield from findings

    def close(self) -> Iterator[Finding]:
        """Yield what still waits: a complete record, or a first line without its second line, which is broken."""
        if self._record:
            what = self._record.what
            self.answered |= isinstance(what, Record) and bool(what.samples)
            self.unanswered |= isinstance(what, Record) and not what.samples
            yield self._record
        if self._first:
            yield Finding(self._first, Broken("the result after this line is missing"))
        self._record, self._first, self._logged, self._doubted = None, None, 0, False

    def _result(self, line: Line) -> Iterator[Finding]:
        first, self._first = self._first, None
        if first is None:
            if self._record:
                self._record = self._record._replace(what=Broken("two results follow the first line of one result"))
            yield from self.close()
            yield Finding(line, Broken("the first line of this result is missing"))
            return
        what = _one_way(first, line) if first.text.startswith(_ONE_WAY[:24]) else _round_trip(first, line)
        doubtful = Broken("two lines before this result need a result: it is unknown which of them this result belongs to")
        self._record = Finding(first, doubtful if self._doubted else what, (line,))


def _about_the_run(line: Line) -> Iterator[Finding]:
    text = line.text
    if not text.strip() or text == _NOTHING or _PROGRESS.fullmatch(text) or _STARTED.fullmatch(text) or _LOGGED.fullmatch(text):
        yield Finding(line, None)
    elif _CRASH.fullmatch(text):
        yield Finding(line, Facts(status="failed", reason=text.strip()))


def _round_trip(first: Line, line: Line) -> Record | Broken:
    pings, match = _PINGS.fullmatch(first.text), _ROUND_TRIP.fullmatch(line.text)
    if match is None or not line.whole:
        return Broken("a round trip that is cut short or garbled")
    if pings and (int(pings["size"]) == 0 or int(pings["rate"]) == 0):
        return Broken("an impossible message size or rate")
    cells = Cell.named(match, line=line.number)
    numbers = _numbers(cells)
    if numbers is None or int(match["received"]) != int(match["samples"] or 0):
        return Broken("the result contradicts itself")
    numbers += [counted(f"messages_{name}", int(cells[name]), cell=cells[name]) for name in ("received", "sent")]
    return Record(
        test="latency",
        payload_bytes=int(pings["size"]) if pings else None,
        numbers=tuple(numbers),
        samples=int(match["received"]),
        side="publisher",
        conditions=Conditions(
            data_path=_DATA_PATHS[pings["kind"]] if pings else None,
            offered_rate_per_s=float(pings["rate"]) if pings else None,
            load_mode="open",
            basis="rtt",
            definition="hmbdc-rtt",
        ),
    )


def _one_way(first: Line, line: Line) -> Record | Broken:
    match = _ONE_WAY_RESULT.fullmatch(line.text)
    if first.text != _ONE_WAY or match is None or not line.whole:
        return Broken("a one-way latency that is cut short or garbled")
    numbers = _numbers(Cell.named(match, line=line.number))
    if numbers is None:
        return Broken("the result contradicts itself")
    return Record(
        test="latency",
        payload_bytes=None,
        numbers=tuple(numbers),
        samples=int(match["samples"] or 0),
        side="subscriber",
        conditions=Conditions(load_mode="open", basis="one-way", definition="hmbdc-one-way"),
    )


def _numbers(cells: Mapping[str, Cell]) -> list[Number] | None:
    """Return the four statistics; empty for a result without samples, ``None`` for impossible statistics."""
    if "samples" not in cells:
        return []
    mean, least, most = (Decimal(cells[name]) for name in ("mean", "min", "max"))
    spread = Decimal(0) if "nan" in cells["std"] else Decimal(cells["std"])
    if not least <= mean <= most or spread > most - least + Decimal("1e-8") or int(cells["samples"]) == 0:
        return None
    return [_seconds("mean", cells["mean"]), _deviation(cells["std"]), _seconds("min", cells["min"]), _seconds("max", cells["max"])]


def _seconds(statistic: str, cell: Cell) -> Number:
    """Return a latency that was printed in whole nanoseconds; an impossible number if the printed time is negative."""
    # A negative time is the difference of two clocks, not a latency.
    number = printed("latency", statistic, float(Decimal(cell).scaleb(9)), 1.0, cell=cell)
    return msgspec.structs.replace(number, resolution=1.0)


def _deviation(cell: Cell) -> Number:
    """Return a deviation with six significant digits. The tool prints ``nan`` if rounding makes the variance negative."""
    if "nan" in cell:
        return impossible("latency", "std", cell=cell)
    value = Decimal(cell)
    number = printed("latency", "std", float(value.scaleb(9)), float(Decimal(1).scaleb(value.adjusted() + 4)), zero_is_exact=True, cell=cell)
    return number if value else msgspec.structs.replace(number, resolution=None)


_TITLE = re.compile(rf"\s*{TITLE} \(updated with release (?P<release>[0-9][\w.-]{{0,20}})\*?\)")
_COLUMNS = re.compile(
    r"transport {2,}reliability/scalability {2,}"
    r"(?:1-way latency measured on following hardware/OS|latency performance measured on following hardware with (?P<system>\S.{0,40}))"
)
_MACHINE = re.compile(r"(?:type +notes)? +(?P<letter>\[[a-z]\]) (?P<what>\S.*)")
_RULER = re.compile(r"-{20,}")
_NOTES, _RESULT = 20, 53
_BLOCK_LINES = 64

_VALUE = r"(?P<{0}>[0-9]{{1,9}})(?P<{0}_unit>ns|us|ms|s)"
_SIZES = r"\((?P<size>[1-9][0-9]{0,11})(?P<size_unit>B|KB|MB|GB)-(?P<size_high>[1-9][0-9]{0,11})(?P<size_high_unit>B|KB|MB|GB)\)"
_MESSAGES = rf"for (?:(?P<kind>loopback|network|0cpy|regular) )?messages {_SIZES}"
_RANGE = re.compile(rf"{_VALUE.format('low')} - {_VALUE.format('high')} {_MESSAGES}")
_BOUND = re.compile(rf"(?P<bound>~|less than ){_VALUE.format('value')} (?:{_MESSAGES}|\((?P<note>[a-z ]{{3,60}})\))")
_HUNDREDS = re.compile(r"hundreds of nano seconds(?: for (?P<kind>0cpy|regular) messages| \((?P<note>[a-z ]{3,60})\))?")
_PROSE = re.compile(r"slightly better than (?:tcpcast|rmcast|rnetmap)")
_ROW = re.compile(r"(?P<block>[0-9])\.(?P<row>[0-9])\) (?P<text>\S.*)")
_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}

_SECTION = re.compile(r"(?P<row>[0-9]\.[0-9])\)\s*")
_COMMAND = re.compile(r"(?P<letter>\[[a-z]\]) (?P<command>\S.{0,2000})")
_COMMANDS_A_ROW = 8
_COMMANDS_TITLE = "commands and notes when obtaining the above performance data"
_FOOTNOTE = re.compile(r"\* (?P<note>For ver .{1,200})")
_POINTER = re.compile("shared po(?:ni|in)ter passing")


class _Transport(NamedTuple):
    block: int | None  # The number at the start of the rows.
    words: str  # The name as a condition.


_TRANSPORTS: Mapping[str, _Transport] = {
    "qperf": _Transport(0, "TCP (qperf)"),
    "inter-thread": _Transport(1, "inter-thread"),
    "inter-process (IPC)": _Transport(2, "inter-process (IPC)"),
    "tcpcast": _Transport(3, "tcpcast"),
    "TCP (tcpcast)": _Transport(3, "tcpcast"),
    "reliable UDP multicast (rmcast)": _Transport(4, "rmcast"),
    "reliable netmap multicast (rnetmap)": _Transport(None, "rnetmap"),
}
_SAMPLE_DATA_PATHS: Mapping[str, DataPath] = {"0cpy": "zero-copy", "regular": "copy"}


class SamplePage:
    """hmbdc's performance sample: a page of text columns with rounded latencies of each transport, and the commands that measured them.

    Each transport has a block of lines, with its name, notes and results at columns 0, 20 and 53. Blank lines separate the blocks::

        inter-process       reliable,                        2.1) less than 1us for 0cpy messages (100B-10MB)
        (IPC)               sender blocks if buffer full     2.2) 1us - 4ms for regular messages (100B-10MB)

    A name may span several lines, so results wait for the end of their block. After a ruler, the page lists the commands that measured each
    row. The number of the row is above these commands, and each command begins with the letter of a machine. The head of the oldest sample does not
    state that the latencies are one-way.
    """

    def __init__(self) -> None:
        self._part = ""  # The current part of the page: title, columns, table or commands.
        self._block: list[Line] = []
        self._row = ""
        self._commands: dict[str, list[str]] = {}
        self._says_one_way = False

    def take(self, line: Line) -> list[Finding] | None:
        """Return the findings on a line of the sample; ``None`` if the line does not belong to the sample."""
        if title := _TITLE.fullmatch(line.text):
            findings = self.close()
            self._part = "title"
            return [*findings, Finding(line, Facts(system_version=title["release"]))]
        match self._part:
            case "title" | "columns":
                return self._header(line)
            case "table":
                return self._table(line)
            case "commands":
                return self._command(line)
            case _:
                return None

    def close(self) -> list[Finding]:
        """End the table, and return the results of its unfinished block as broken. A part of the transport's name may be missing there."""
        findings = [Finding(line, Broken("the table ends within this transport")) for line in self._block if _has_result(line)]
        self._block, self._part, self._row, self._commands = [], "", "", {}
        return findings

    def _header(self, line: Line) -> list[Finding] | None:
        if columns := _COLUMNS.fullmatch(line.text):
            self._part, self._says_one_way = "columns", columns["system"] is None
            return [Finding(line, Facts(environment={"machine of all": columns["system"]}) if columns["system"] else None)]
        if not line.text.strip():
            self._part = "table" if self._part == "columns" else self._part
            return [Finding(line, None)]
        if machine := _MACHINE.fullmatch(line.text):
            return [Finding(line, Facts(environment={f"machine {machine['letter']}": machine["what"]}))]
        return None

    def _table(self, line: Line) -> list[Finding] | None:
        if line.text and not _RULER.fullmatch(line.text):
            self._block.append(line)
            return self.close() if len(self._block) > _BLOCK_LINES else []
        findings = _read_block(self._block, says_one_way=self._says_one_way) if self._block else []
        self._block = []
        if line.text:
            self._part = "commands"
        return [*findings, Finding(line, None)]

    def _command(self, line: Line) -> list[Finding] | None:
        if section := _SECTION.fullmatch(line.text):
            self._row, self._commands = section["row"], {}
        elif self._row and (command := _COMMAND.fullmatch(line.text)):
            commands = self._commands.setdefault(command["letter"], [])
            if len(commands) < _COMMANDS_A_ROW:
                commands.append(command["command"].rstrip())
                return [Finding(line, Facts(environment=_fields(f"{self._row} {command['letter']} {len(commands)}", commands[-1])))]
            return [Finding(line, None)]
        elif note := _FOOTNOTE.fullmatch(line.text):
            return [Finding(line, Facts(environment={"note *": note["note"]}))]
        elif line.text.strip() and line.text != _COMMANDS_TITLE:
            return None
        return [Finding(line, None)]


def _fields(key: str, command: str) -> dict[str, str]:
    """Return the facts about a command as JSON; its text if it cannot be parsed. ``key`` states row, machine and index."""
    command_line = read_command(command)
    if command_line is None:
        return {f"command {key} text": command}
    fields = {f"command {key} argv": msgspec.json.encode(command_line.argv).decode()}
    return fields | ({f"command {key} each": msgspec.json.encode(command_line.each).decode()} if command_line.each else {})


def _has_result(line: Line) -> bool:
    return bool(line.text[_RESULT:].strip()) or _ROW.search(line.text) is not None


def _is_cut_or_shifted(line: Line) -> bool:
    return bool(line.text[_NOTES - 1 : _NOTES].strip() or line.text[_RESULT - 1 : _RESULT].strip()) or not line.whole


def _column(block: Sequence[Line], start: int, end: int) -> str:
    return " ".join(text for line in block if (text := line.text[start:end].strip()))


def _read_block(block: Sequence[Line], *, says_one_way: bool) -> list[Finding]:
    name, notes = _column(block, 0, _NOTES), _column(block, _NOTES, _RESULT)
    transport = _TRANSPORTS.get(name)
    # If the columns of a line are shifted, part of the name may be missing.
    if transport is None or any(_is_cut_or_shifted(line) for line in block):
        spoiled = Broken("a result next to an unknown transport, or in the wrong column")
        return [Finding(line, spoiled) for line in block if _has_result(line)]
    reference = transport.block == 0
    measured = Conditions(basis="one-way", definition="hmbdc-sample") if says_one_way else Conditions(definition="hmbdc-sample-12-41")
    conditions = Conditions(reliability="reliable" if re.match(r"reliable\b|as reliable", notes) else None).over(
        Conditions(basis="rtt/2", definition="hmbdc-sample-reference") if reference else measured
    )
    findings = [
        Finding(line, _result(line.text, transport, row_number, conditions) if _has_result(line) else None)
        for row_number, line in enumerate(block, start=1)
    ]
    if notes and findings[-1].what is None:
        findings[-1] = Finding(block[-1], Facts(environment={f"notes {name}": notes}))
    return findings


def _result(text: str, transport: _Transport, row_number: int, conditions: Conditions) -> Record | Broken:
    """Return the result on a line of the table.

    The line must begin with the expected number of the row. A line of prose, which has no number, becomes a record without numbers.
    """
    row = _ROW.fullmatch(text, _RESULT)
    if row is None and _PROSE.fullmatch(text, _RESULT) and transport.block is None:
        return _record(None, (), transport, conditions)
    if row is None or (int(row["block"]), int(row["row"])) != (transport.block, row_number):
        return Broken("a result that is garbled or has another transport's number")
    end = len(text.rstrip())
    if match := _RANGE.fullmatch(text, row.start("text"), end):
        numbers = (_number("range-low", "range-low", match, "low"), _number("range-high", "range-high", match, "high"))
        in_order = (numbers[0].value or 0) < (numbers[1].value or 0)
        return _record(match, numbers, transport, conditions) if in_order else Broken("a range that ends below its start")
    if match := _BOUND.fullmatch(text, row.start("text"), end):
        return _record(match, (_number("typical", "~" if match["bound"] == "~" else "<", match, "value"),), transport, conditions)
    if match := _HUNDREDS.fullmatch(text, row.start("text"), end):
        bounds: Mapping[Bound, float] = {"range-low": 100.0, "range-high": 1000.0}
        hundreds = [Number(metric="latency", statistic=name, value=value, resolution=100.0, bound=name) for name, value in bounds.items()]
        return _record(match, hundreds, transport, conditions)
    return Broken("a result that is cut short or garbled")


def _record(match: re.Match[str] | None, numbers: Sequence[Number], transport: _Transport, common: Conditions) -> Record:
    groups = match.groupdict() if match else {}
    kind, note = groups.get("kind") or "", groups.get("note") or ""
    sized = groups.get("size") is not None
    conditions = Conditions(
        transport=f"{transport.words}, {kind}" if kind in {"loopback", "network"} else transport.words,
        data_path="pointer" if _POINTER.fullmatch(note) else _SAMPLE_DATA_PATHS.get(kind),
    )
    return Record(
        test="latency",
        payload_bytes=int(groups["size"]) * _UNITS[groups["size_unit"]] if sized else None,
        payload_bytes_high=int(groups["size_high"]) * _UNITS[groups["size_high_unit"]] if sized else None,
        numbers=tuple(numbers),
        conditions=conditions.over(common),
    )


def _number(statistic: str, bound: Bound, match: re.Match[str], name: str) -> Number:
    start, end = match.span(name)
    unit = _UNITS[match[f"{name}_unit"]]
    return Number(
        metric="latency",
        statistic=statistic,
        value=float(int(match[name]) * unit),
        resolution=float(unit),
        bound=bound,
        value_start=start,
        value_end=end,
    )


_LOOP = re.compile(r"for (?P<name>[a-z]{1,8}) in (?P<values>[^;]{1,400}); do (?:a=\(\$(?P<split>[a-z]{1,8})\); )?(?P<command>[^;]{1,1500}); done")
_VARIABLE = re.compile(r"\$(?:\{a\[(?P<index>[0-9])\]\}|(?P<name>[a-z]{1,8})\b)")
_OPTIONS = {"--msgSize": "payload_bytes", "-m": "payload_bytes", "--msgPerSec": "messages_per_s"}
_SHELL = frozenset("$`;|&<>(){}")


class CommandLine(msgspec.Struct, frozen=True):
    """The words of a command.

    ``argv`` are the words, with ``{payload_bytes}`` and ``{messages_per_s}`` in place of the variables of a loop. ``each`` are the iterations of the
    loop: for each iteration, the values of these variables.
    """

    argv: tuple[str, ...]
    each: tuple[dict[str, int], ...] = ()


def read_command(text: str) -> CommandLine | None:
    """Parse a command line; ``None`` if it has shell syntax that the sample does not use.

    The sample writes three kinds of lines: a command; ``for s in 100 1000; do COMMAND; done``, with ``$s`` for the size; and ``for cfg in "100 500"
    "1000 50"; do a=($cfg); COMMAND; done``, with ``${a[0]}`` and ``${a[1]}`` for size and rate.
    """
    loop = _LOOP.fullmatch(text.strip())
    try:
        words = shlex.split(loop["command"] if loop else text)
        values = [value.split() for value in shlex.split(loop["values"])] if loop else []
    except ValueError:
        return None
    names: dict[int, str] = {}
    argv = tuple(_word(before, word, names) for before, word in zip(["", *words], words, strict=False))
    holds_shell = not _SHELL.isdisjoint("".join(argv).replace("{payload_bytes}", "").replace("{messages_per_s}", ""))
    if not argv or holds_shell or not all(_are_numbers(value, max(names, default=0)) for value in values):
        return None
    return CommandLine(argv, tuple({name: int(value[index]) for index, name in sorted(names.items())} for value in values if names))


def _are_numbers(value: list[str], last: int) -> bool:
    return len(value) > last and all(part.isascii() and part.isdecimal() for part in value)


def _word(before: str, word: str, names: dict[int, str]) -> str:
    """Replace a shell variable in a word by the name of its option, in braces. Also store this name in ``names``, under the variable's index."""
    option = _OPTIONS.get(word.partition("=")[0] if "=" in word else before)
    variable = _VARIABLE.search(word)
    if variable is None or option is None:
        return word
    names[int(variable["index"] or 0)] = option
    return word[: variable.start()] + "{" + option + "}" + word[variable.end() :]
