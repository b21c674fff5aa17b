"""hmbdc's performance sample: a page of text columns with rounded latencies of each transport, and the commands that gave them.

A block of lines a transport, name, notes and results side by side at columns 0, 20 and 53, and blank lines between the blocks::

    inter-process       reliable,                        2.1) less than 1us for 0cpy messages (100B-10MB)
    (IPC)               sender blocks if buffer full     2.2) 1us - 4ms for regular messages (100B-10MB)

Behind a ruler, the commands stand under the number of their row, each with the letter of its machine.
The oldest one's head does not say that its latencies are one-way.
Source: perf-sample.txt of hmbdc releases 12-41, 14-2 and 15.17-1, and one between them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from tacholog.formats.hmbdc.commands import read_command
from tacholog.formats.kit import Bound, Broken, Conditions, DataPath, Facts, Finding, Line, Number, Record

TITLE = "HMBDC PERFORMANCE SAMPLE"

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
    """A transport of the table: the number of its rows, and what the schema calls it."""

    block: int | None
    words: str


_TRANSPORTS: Mapping[str, _Transport] = {
    "qperf": _Transport(0, "TCP (qperf)"),
    "inter-thread": _Transport(1, "inter-thread"),
    "inter-process (IPC)": _Transport(2, "inter-process (IPC)"),
    "tcpcast": _Transport(3, "tcpcast"),
    "TCP (tcpcast)": _Transport(3, "tcpcast"),
    "reliable UDP multicast (rmcast)": _Transport(4, "rmcast"),
    "reliable netmap multicast (rnetmap)": _Transport(None, "rnetmap"),
}
_DATA_PATHS: Mapping[str, DataPath] = {"0cpy": "zero-copy", "regular": "copy"}


class SamplePage:
    """Where in a sample the text is, and the block that is being collected: names span lines, so results wait for the block's end."""

    def __init__(self) -> None:
        self._part = ""  # title, columns, table, commands: what was seen last.
        self._block: list[Line] = []
        self._row = ""
        self._commands: dict[str, list[str]] = {}
        self._says_one_way = False

    def take(self, line: Line) -> list[Finding] | None:
        """Read a line of the sample; ``None`` if it is not one."""
        if title := _TITLE.fullmatch(line.text):
            found = self.close()
            self._part = "title"
            return [*found, Finding(line, Facts(system_version=title["release"]))]
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
        """Leave the table. A block that did not end may lack part of its name, so its results are broken."""
        found = [Finding(line, Broken("the table ends within this transport")) for line in self._block if _has_result(line)]
        self._block, self._part, self._row, self._commands = [], "", "", {}
        return found

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
        found = _read_block(self._block, says_one_way=self._says_one_way) if self._block else []
        self._block = []
        if line.text:
            self._part = "commands"
        return [*found, Finding(line, None)]

    def _command(self, line: Line) -> list[Finding] | None:
        if section := _SECTION.fullmatch(line.text):
            self._row, self._commands = section["row"], {}
        elif self._row and (command := _COMMAND.fullmatch(line.text)):
            said = self._commands.setdefault(command["letter"], [])
            if len(said) < _COMMANDS_A_ROW:
                said.append(command["command"].rstrip())
                return [Finding(line, Facts(environment=_fields(f"{self._row} {command['letter']} {len(said)}", said[-1])))]
            return [Finding(line, None)]
        elif note := _FOOTNOTE.fullmatch(line.text):
            return [Finding(line, Facts(environment={"note *": note["note"]}))]
        elif line.text.strip() and line.text != _COMMANDS_TITLE:
            return None
        return [Finding(line, None)]


def _fields(key: str, command: str) -> dict[str, str]:
    """A command of a row, a machine, and its place among those: words and what they ran over, as JSON; text if it cannot be taken apart."""
    shown = read_command(command)
    if shown is None:
        return {f"command {key} text": command}
    fields = {f"command {key} argv": msgspec.json.encode(shown.argv).decode()}
    return fields | ({f"command {key} each": msgspec.json.encode(shown.each).decode()} if shown.each else {})


def _has_result(line: Line) -> bool:
    return bool(line.text[_RESULT:].strip()) or _ROW.search(line.text) is not None


def _slipped(line: Line) -> bool:
    """Whether the gap before a column is not blank, or the line may go on."""
    return bool(line.text[_NOTES - 1 : _NOTES].strip() or line.text[_RESULT - 1 : _RESULT].strip()) or not line.whole


def _column(block: Sequence[Line], start: int, end: int) -> str:
    return " ".join(text for line in block if (text := line.text[start:end].strip()))


def _read_block(block: Sequence[Line], *, says_one_way: bool) -> list[Finding]:
    """What a whole block says. A line whose columns have slipped spoils all of it: half a name is another name."""
    name, notes = _column(block, 0, _NOTES), _column(block, _NOTES, _RESULT)
    transport = _TRANSPORTS.get(name)
    if transport is None or any(_slipped(line) for line in block):
        spoiled = Broken("a result beside a name that is no transport's, or out of its column")
        return [Finding(line, spoiled) for line in block if _has_result(line)]
    reference = transport.block == 0
    own = Conditions(basis="one-way", definition="hmbdc-sample") if says_one_way else Conditions(definition="hmbdc-sample-12-41")
    stated = Conditions(reliability="reliable" if re.match(r"reliable\b|as reliable", notes) else None).over(
        Conditions(basis="rtt/2", definition="hmbdc-sample-reference") if reference else own
    )
    found = [Finding(line, _result(line.text, transport, at, stated) if _has_result(line) else None) for at, line in enumerate(block, start=1)]
    if notes and found[-1].what is None:
        found[-1] = Finding(block[-1], Facts(environment={f"notes {name}": notes}))
    return found


def _result(text: str, transport: _Transport, at: int, stated: Conditions) -> Record | Broken:
    """A result cell: rows are numbered within their transport, one a line from its first; only prose has no number."""
    row = _ROW.fullmatch(text, _RESULT)
    if row is None and _PROSE.fullmatch(text, _RESULT) and transport.block is None:
        return _record(None, (), transport, stated)
    if row is None or (int(row["block"]), int(row["row"])) != (transport.block, at):
        return Broken("a result that is garbled or has another transport's number")
    end = len(text.rstrip())
    if found := _RANGE.fullmatch(text, row.start("text"), end):
        numbers = (_number("range-low", "range-low", found, "low"), _number("range-high", "range-high", found, "high"))
        in_order = (numbers[0].value or 0) < (numbers[1].value or 0)
        return _record(found, numbers, transport, stated) if in_order else Broken("a range that ends below its start")
    if found := _BOUND.fullmatch(text, row.start("text"), end):
        return _record(found, (_number("typical", "~" if found["bound"] == "~" else "<", found, "value"),), transport, stated)
    if found := _HUNDREDS.fullmatch(text, row.start("text"), end):
        bounds: Mapping[Bound, float] = {"range-low": 100.0, "range-high": 1000.0}
        hundreds = [Number(metric="latency", statistic=name, value=value, resolution=100.0, bound=name) for name, value in bounds.items()]
        return _record(found, hundreds, transport, stated)
    return Broken("a result that is cut short or garbled")


def _record(found: re.Match[str] | None, numbers: Sequence[Number], transport: _Transport, stated: Conditions) -> Record:
    groups = found.groupdict() if found else {}
    kind, note = groups.get("kind") or "", groups.get("note") or ""
    sized = groups.get("size") is not None
    conditions = Conditions(
        transport=f"{transport.words}, {kind}" if kind in {"loopback", "network"} else transport.words,
        data_path="pointer" if _POINTER.fullmatch(note) else _DATA_PATHS.get(kind),
    )
    return Record(
        test="latency",
        payload_bytes=int(groups["size"]) * _UNITS[groups["size_unit"]] if sized else None,
        payload_bytes_high=int(groups["size_high"]) * _UNITS[groups["size_high_unit"]] if sized else None,
        numbers=tuple(numbers),
        conditions=conditions.over(stated),
    )


def _number(statistic: str, bound: Bound, found: re.Match[str], name: str) -> Number:
    start, end = found.span(name)
    unit = _UNITS[found[f"{name}_unit"]]
    return Number(
        metric="latency",
        statistic=statistic,
        value=float(int(found[name]) * unit),
        resolution=float(unit),
        bound=bound,
        value_start=start,
        value_end=end,
    )
