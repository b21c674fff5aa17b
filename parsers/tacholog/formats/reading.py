"""Read a log: every line gets a class, every finding gets its line numbers, and no line disappears."""

from __future__ import annotations

import heapq
import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, cast

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.formats.account import Account, LineClass
from tacholog.formats.blocks import RUN_LINES, RecordBlock, RunCutter, rows_of
from tacholog.formats.kit.bulk import Lines
from tacholog.formats.kit.findings import BulkFinding, Finding, Records
from tacholog.formats.kit.lines import Broken, Line, PrefixedLine
from tacholog.formats.registry import (
    TABS,
    Format,
    describe_error,
    detect,
    expands_tabs,
    format_named,
    is_ours,
    package_of,
    readers_of_any_log,
    system_of,
)
from tacholog.formats.source import LINE_BYTES, LogText, open_log
from tacholog.formats.validity import defect_of, defect_of_records, out_of_range
from tacholog.formats.waiting import WaitingLines
from tacholog.schema.records import Facts, Histogram, Number, Record

MOST_LINE_BYTES = 1 << 22  # The highest limit that a format may set for the length of a line. Each line is stored in memory as a whole.
#: Whether many lines can be read as arrays. Without NumPy, each line is read by itself: the findings are the same, but long logs take longer.
HAS_ARRAYS = find_spec("numpy") is not None
LOOKS = 16  # A sequence is read as arrays in at most this number of tries. A doubtful line ends a try. The other lines are read one by one.
_CLASSES: dict[type, LineClass] = {Record: "record", Histogram: "record", Broken: "broken"}
_OVER: Any = object()  # Returned by `next` when the format has finished.


class FormatFailure(UnreadableInput):
    """The code of a format failed, or yielded an object that is not a finding. So the log cannot be read in this format."""


class Event(NamedTuple):
    """A finding on the lines ``line`` to ``last_line``. Both are 0 if the finding became known only at the end of the log.

    ``text`` is the text of the first line.

    ``lines`` are those lines of the finding that no earlier event has claimed. If a row has two records, the event of the second record has no lines.
    ``run`` is the index of the run in the log; a log may contain several runs, one after the other.
    """

    line: int
    last_line: int
    lines: Sequence[int]
    text: str
    kind: LineClass
    what: Record | Facts | Histogram | Broken | None
    run: int = 0


class ChatterEvent(Event):
    """The event of many lines that are no results, or whose numbers belong to a result on another line."""

    source: Lines

    def one_by_one(self) -> Iterator[Event]:
        """Yield an event for each line."""
        for number in self.lines:
            yield Event(number, number, (number,), self.source.line(number - self.line).text, "chatter", None, self.run)


class Scan:
    """One pass over a log. Iterate over it to get the events, roughly in the order of their lines. After that, ``account`` is complete."""

    def __init__(self, text: LogText, name: str | None = None, run_lines: int = RUN_LINES) -> None:
        """Prepare to read an open log, in the named format or in the detected format.

        If at least ``run_lines`` consecutive lines have the same shape, they are read as arrays. The findings do not depend on this number.

        Raises:
            UnreadableInput: no format fits, or several formats fit. If the stream is damaged, the message states this first.
        """
        self._text = text
        self.format_name = name or _detected(text)
        self.format: Format = format_named(self.format_name)
        self._ours = is_ours(self.format)  # Tests check our own formats; checking each record here would be slow.
        self._expands = expands_tabs(self.format)
        self.account = Account()
        self._unreadable: OSError | UnreadableInput | None = None  # Why the log could not be read to its end. This is not an error of the format.
        self._runs: RunCutter = self._guarded(lambda: RunCutter(getattr(self.format, "BULK", ()) if HAS_ARRAYS else (), run_lines))
        self._waiting = WaitingLines()
        self._found_blocks: list[RecordBlock] = []
        self._latest: Finding | None = None
        self._lines_claimed: Sequence[Line] = ()  # The lines that the latest finding claimed. The next finding may be on these lines, too.

    @cached_property
    def system(self) -> str | None:
        """The measured system, unless the manifest or the log itself states another system; ``None`` if it is unknown."""
        return system_of(self.format, self._text.head)

    def __iter__(self) -> Iterator[Event]:
        """Yield every event. If the format does not claim a line in time, the line becomes an event of the kind ``unknown``."""
        return cast("Iterator[Event]", self.events())

    def events(self, wanted: Callable[[Record], bool] | None = None) -> Iterator[Event | RecordBlock]:
        """Yield every event. If several blocks have records on the same lines, the events of these blocks are sorted by line.

        If ``wanted`` is given, consecutive lines of chatter are one event. ``wanted`` is called with the first record of each block. If it returns
        false, the block itself is yielded, and not its events.
        """
        blocks: list[Iterator[Event]] = []  # Blocks whose records may alternate on the same lines.
        for batch in self.batches():
            if isinstance(batch, RecordBlock) and wanted and not wanted(batch.like):
                yield batch
                continue
            if isinstance(batch, RecordBlock):
                blocks.append(_events_of(batch, len(self.account.runs)))
                continue
            if blocks:
                yield from heapq.merge(*blocks, key=attrgetter("line"))
                blocks = []
            if isinstance(batch, ChatterEvent) and wanted is None:
                yield from batch.one_by_one()
            else:
                yield batch
        yield from heapq.merge(*blocks, key=attrgetter("line"))

    def batches(self) -> Iterator[Event | RecordBlock]:
        """Yield every event. Many records that the format can read as arrays are yielded together.

        Raises:
            FormatFailure: the format failed; the events that were yielded before must not be used.
            UnreadableInput: the file could not be read to its end.
        """
        lines = self._lines()
        findings: Any = self._guarded(lambda: iter(self.format.parse(lines)))
        while True:
            try:  # `_guarded` is not used here, because it would add two calls for each finding.
                finding = next(findings, _OVER)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                raise self._failure(error) from error
            if finding is _OVER:
                break
            if not self._ours and (defect := defect_of(finding, self._waiting.reached)):
                raise self._distrust(defect)
            if self._found_blocks:
                yield from self._blocks()
            if self._waiting.late or self._waiting.stretch:
                yield from self._late_events()
            yield self._event_of_finding(finding) if type(finding) is Finding else self._event_of_many(finding)
        while self._guarded(lambda: next(lines, _OVER)) is not _OVER:  # Lines that the format did not read are unknown.
            yield from self._late_events()
        yield from self._blocks()
        if self._text.trouble:
            self.account.learn(Facts(status="truncated", reason=self._text.trouble))
        self._waiting.expire()
        yield from self._late_events()
        self.account.close()
        self.account.size_bytes, self.account.sha256, self.account.text_sha256 = self._text.identity()

    def _guarded(self, step: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever somebody's code returns
        """Run code of the format. An error in this code affects only this log. The message names the package of the format."""
        try:
            return step()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise self._failure(error) from error

    def _failure(self, error: BaseException) -> UnreadableInput:
        """Return the exception for an error in the format's code. `sys.exit()` is an error too: it must not end the command successfully.

        Raises:
            MemoryError: a format of this package lacked memory, which is no fault of the log, so the command ends.
        """
        if self._ours and isinstance(error, MemoryError):
            raise error
        if error is self._unreadable:
            if isinstance(self._unreadable, UnreadableInput):
                return self._unreadable
            return UnreadableInput(f"cannot be read beyond line {self._waiting.reached}: {self._unreadable.strerror}")
        return FormatFailure(f"{self._format_words} failed at line {self._waiting.reached}: {describe_error(error)}")

    def _distrust(self, defect: str) -> FormatFailure:
        return FormatFailure(f"{self._format_words} {defect} (at line {self._waiting.reached})")

    @property
    def _format_words(self) -> str:
        return f"the format {self.format_name} of {package_of(self.format_name)}"

    def _blocks(self) -> Iterator[RecordBlock]:
        for rows in self._found_blocks:
            self.account.lines["record"] += len(rows)
            self.account.records += len(rows)
            yield rows
        self._found_blocks = []

    def _lines(self) -> Iterator[Line | Lines]:
        pieces = self._text.pieces(self._runs, min(int(getattr(self.format, "LINE_BYTES", LINE_BYTES)), MOST_LINE_BYTES))
        waiting = self._waiting
        try:
            for piece in pieces:
                if not isinstance(piece, Lines):
                    waiting.give(piece)
                    yield _as_formats_see(piece, self._expands)
                elif piece.bulk.is_alone:
                    yield from self._lines_of_run(piece)
                else:
                    waiting.give_run(piece)
                    yield piece
        except (OSError, UnreadableInput) as error:
            self._unreadable = error
            raise

    def _lines_of_run(self, run: Lines) -> Iterator[Line]:
        """Yield the lines that the format itself must read.

        After a line with a record, the next lines may look like that line. They are not yielded, because they become records without the format: each
        of these records is made like the record of the yielded line.
        """
        index, tries = 0, 0
        while index < run.count:
            line, self._latest = run.line(index), None
            self._waiting.give(line)
            yield _as_formats_see(line, self._expands)
            if tries < LOOKS and (like := self._record_on(line)):
                tries += 1
                if rows := rows_of(run.part(index), like):
                    self._found_blocks.append(rows)
                    index += len(rows)
            index += 1

    def _record_on(self, line: Line) -> Record | None:
        """Return the record that the format found on this line. The answer is correct only until the format gets the next line."""
        finding = self._latest
        return (
            finding.what
            if finding and finding.line and finding.line.number == line.number and not finding.also and isinstance(finding.what, Record)
            else None
        )

    def _late_events(self) -> Iterator[Event]:
        for line in self._waiting.late:
            yield self._event_of_unclaimed(line)
        if self._waiting.stretch:
            first, last, count = self._waiting.stretch
            self.account.lines["unknown"] += count
            text = f"{count} more lines that the format does not recognise"
            yield Event(first, last, range(first, last + 1), text, "unknown", None, len(self.account.runs))
        self._waiting.forget_late()

    def _event_of_unclaimed(self, line: Line) -> Event:
        finding = next((finding for read in readers_of_any_log() if (finding := read(line))), None)
        if finding is None:
            return self._event((line,), "unknown", None, (line.number,))
        if isinstance(finding.what, Facts):
            self.account.learn(finding.what)
        return self._event((line,), _kind(finding), finding.what, (line.number,))

    def _event_of_finding(self, finding: Finding) -> Event:
        if fault := out_of_range(finding.what):
            finding = finding._replace(what=Broken(fault if self._ours else f"{self._format_words} says that {fault}"))
        if self._expands and isinstance(finding.what, Broken) and finding.line and _has_tabs_for_blanks(self._waiting.text(finding.line)):
            finding = finding._replace(what=Broken(f"{finding.what.reason}; {TABS}"))
        self._latest = finding
        if isinstance(finding.what, Facts):
            self.account.learn(finding.what)
        lines: tuple[Line, ...] = (finding.line,) if finding.line else ()
        if finding.also:
            if any(isinstance(line, Lines) for line in finding.also):
                return self._event_of_pieces(finding)
            lines = tuple(sorted((*lines, *(line for line in finding.also if isinstance(line, Line)))))
        claimed = tuple(claimed_line for line in lines if (claimed_line := self._waiting.claim(line.number)))
        if len(claimed) == len(lines):
            lines = claimed  # Events show the text of the log, even if the format changed the line.
        self._lines_claimed = claimed or self._lines_claimed
        if isinstance(finding.what, Record):
            finding = finding._replace(what=with_positions_in_log(finding.what, finding, self._lines_claimed))
        if self._text.prefix:
            finding = self._checked_for_prefix(finding, claimed)
        event = self._event(lines, _kind(finding), finding.what, tuple(line.number for line in claimed))
        if isinstance(finding.what, Broken) and finding.line and finding.line.number != event.line:
            damaged = next(line for line in lines if line.number == finding.line.number)
            return event._replace(line=damaged.number, text=damaged.shown)  # For a broken result, the damaged line is shown.
        return event

    def _checked_for_prefix(self, finding: Finding, claimed: Sequence[Line]) -> Finding:
        """Check a finding in a log with a prefix. A line without the prefix does not belong to the run."""
        self.account.first_time = self.account.first_time or next((time for line in claimed if (time := line.time)), None)
        prefix = self._text.prefix
        if (
            prefix
            and isinstance(finding.what, Record | Histogram)
            and not all(isinstance(line, PrefixedLine) for line in claimed if line.text.strip())
        ):
            self._latest = finding = finding._replace(what=Broken(f"the line does not begin with {prefix.words}, as the others do"))
        return finding

    def _event_of_many(self, finding: BulkFinding) -> Event | RecordBlock:
        lines, what = finding
        if what is not None:
            return self._block_of_records(lines, what)
        numbers = self._waiting.claim_all(lines)
        self.account.lines["chatter"] += len(numbers)
        event = ChatterEvent(lines.number, lines.number + lines.count - 1, numbers, "", "chatter", None, len(self.account.runs))
        event.source = lines
        return event

    def _block_of_records(self, lines: Lines, records: Records) -> RecordBlock:
        if defect := defect_of_records(records, lines.count):
            raise self._distrust(defect)
        block = RecordBlock.on(lines, records)
        if not self._waiting.claim_places(lines, block.lines - lines.number):
            raise self._distrust("finds records on the wrong lines: it has claimed these lines before, or they are not the latest lines")
        self.account.lines["record"] += len(block)
        self.account.records += len(block)
        return block

    def _event_of_pieces(self, finding: Finding) -> Event:
        """Claim the lines of a finding, and return its event. A piece of the finding may be `Lines`, which are many lines together."""
        pieces = sorted((piece for piece in (finding.line, *finding.also) if piece), key=lambda piece: piece.number)
        numbers = tuple(chain.from_iterable(self._waiting.claim_all(piece) for piece in pieces))
        first, last = (piece.line(index) if isinstance(piece, Lines) else piece for piece, index in ((pieces[0], 0), (pieces[-1], -1)))
        self._latest = finding
        return self._event((first, last), _kind(finding), finding.what, numbers)

    def _event(self, lines: tuple[Line, ...], kind: LineClass, what: Record | Facts | Histogram | Broken | None, claimed: tuple[int, ...]) -> Event:
        self.account.lines[kind] += len(claimed)
        self.account.records += isinstance(what, Record)
        run = len(self.account.runs)
        if not lines:
            return Event(0, 0, (), "", kind, what, run)
        return Event(lines[0].number, lines[-1].number, claimed, lines[0].shown, kind, what, run)


def _has_tabs_for_blanks(text: str) -> bool:
    # A line of JSON may have tabs anyway, so the tabs in such a line show nothing.
    return "\t" in text.strip() and text.lstrip()[:1] not in ('"', "{", "}")


def _as_formats_see(line: Line, expand: bool) -> Line:
    """Remove trailing blanks and, if ``expand``, replace tabs. Editors, terminals and web pages change blanks."""
    if line.text[-1:] in (" ", "\t"):
        line = line._replace(text=line.text.rstrip(" \t"))
    return line._replace(text=line.text.expandtabs()) if expand and "\t" in line.text else line


def _events_of(block: RecordBlock, run: int) -> Iterator[Event]:
    for line, record in block.records():
        yield Event(line, line, (line,), block.run.line(line - block.run.number).text, "record", record, run)


def _detected(text: LogText) -> str:
    try:
        return detect(text.head)
    except UnreadableInput as error:
        if not text.trouble:
            if note := text.note:
                raise UnreadableInput(f"{error}; {note}") from None
            raise
        left = f"; in the text before that point, {error}" if text.head else ""
        raise UnreadableInput(f"{text.trouble}{left}") from None


def _kind(finding: Finding) -> LineClass:
    return _CLASSES.get(type(finding.what), "chatter")


def why_unknown(text: str) -> str:
    """Return the reason for an unknown line."""
    reason = "the format does not recognise this line"
    return f"{reason}; {TABS}" if "\t" in text.strip() else reason


class LineProblem(NamedTuple):
    """A line of a log that could not be used: ``broken`` (cut, garbled or impossible), or ``unknown`` to the format."""

    line: int
    kind: Literal["broken", "unknown"]
    text: str
    reason: str


class Log(msgspec.Struct, frozen=True):
    """A log that was read completely into memory, for tests and small programs. Use `Scan` for logs of any size."""

    name: str
    format: str
    account: Account
    events: tuple[Event, ...]

    @property
    def records(self) -> list[Record]:
        """The records, in order."""
        return [event.what for event in self.events if isinstance(event.what, Record)]

    @property
    def facts(self) -> Facts:
        """The facts about the run; for a log of several runs, the facts that all runs share."""
        return self.account.facts

    @property
    def problems(self) -> list[LineProblem]:
        """The lines that could not be used, in order."""
        problems = []
        for event in self.events:
            if isinstance(event.what, Broken):
                problems.append(LineProblem(event.line, "broken", event.text, event.what.reason))
            elif event.kind == "unknown":
                problems.append(LineProblem(event.line, "unknown", event.text, why_unknown(event.text)))
        return problems

    @property
    def broken(self) -> list[str]:
        """Each broken line as ``name:line: reason``."""
        return [f"{self.name}:{e.line}: {e.what.reason}" for e in self.events if isinstance(e.what, Broken)]

    @property
    def unknown(self) -> list[int]:
        """The numbers of the lines that the format does not know."""
        return [event.line for event in self.events if event.kind == "unknown"]


def read(path: Path, name: str | None = None) -> Log:
    """Read a log file completely, in the named format or in the detected format.

    Raises:
        UnreadableInput: the file cannot be opened, or its format is not known.
    """
    try:
        with open_log(path) as text:
            return _read(text, name, path.name)
    except UnreadableInput as error:
        raise UnreadableInput(f"{path}: {error}") from None


def read_text(text: str, name: str | None = None) -> Log:
    """Read a log that is a text, as `read` reads a file.

    Raises:
        UnreadableInput: its format is not known.
    """
    return _read(LogText(io.BytesIO(text.encode())), name, "text")


def _read(text: LogText, format_name: str | None, log_name: str) -> Log:
    scan = Scan(text, format_name)
    events = tuple(scan)
    return Log(log_name, scan.format_name, scan.account, events)


_TAB = 8  # in columns


def with_positions_in_log(record: Record, finding: Finding, lines: Sequence[Line]) -> Record:
    """Return the record with the position of each number on the line of the log.

    A line of the log may be longer than the line that the format got, for example by a prefix.
    """
    if all(number.value_start is None for number in record.numbers):
        return record
    in_log = {line.number: line for line in lines}
    seen_lines = {line.number: line for line in (finding.line, *finding.also) if isinstance(line, Line)}
    first = next(iter(seen_lines))
    pairs = ((number, seen_lines.get(number.line or first)) for number in record.numbers)
    return msgspec.structs.replace(
        record, numbers=tuple(_number_in_log(number, line, in_log.get(line.number, line) if line else None) for number, line in pairs)
    )


def _number_in_log(number: Number, seen_line: Line | None, line: Line | None) -> Number:
    """Return a number with its position on a line of the log. The format got this line as ``seen_line``."""
    start, end = number.value_start, number.value_end
    if start is None or end is None or (seen_line is line and line and line.shown is line.text):
        return number
    start_in_log = _offset_in_log(start, seen_line.text, line) if seen_line and line else None
    return (
        number
        if start_in_log == start
        else msgspec.structs.replace(number, value_start=start_in_log, value_end=None if start_in_log is None else start_in_log + end - start)
    )


def _offset_in_log(offset: int, seen_text: str, line: Line) -> int | None:
    """Convert an offset in ``seen_text`` to an offset on the line of the log; ``None`` if ``seen_text`` is not found on this line.

    ``seen_text`` is the text that the format got.
    """
    before, text = len(line.shown) - len(line.text), line.text.rstrip(" \t")
    if line.text.startswith(seen_text):
        return before + offset
    if text.endswith(seen_text):
        return before + len(text) - len(seen_text) + offset
    if text.expandtabs() != seen_text:
        return None
    for piece in text.split("\t"):
        if offset < len(piece):
            break
        before += len(piece) + 1
        offset -= len(piece) // _TAB * _TAB + _TAB
    return before + offset


class HeldRecords:
    """Stores the records of a log until all facts about their runs are known. If there are many records, they are stored in a file."""

    def __init__(self, in_memory: int = 20_000) -> None:
        """Store up to ``in_memory`` records in memory."""
        self._in_memory = in_memory
        self._events: list[Event] = []
        self._file: IO[bytes] | None = None

    def add(self, event: Event) -> None:
        """Store the event of a record, but not the text and the other lines of the event."""
        self._events.append(event)
        if len(self._events) >= self._in_memory:
            self._file = self._file or tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when it is forgotten, and has no name
            rows = msgspec.msgpack.encode([(event.line, event.last_line, event.run, event.what) for event in self._events])
            self._file.write(len(rows).to_bytes(8, "little") + rows)
            self._events.clear()

    def __iter__(self) -> Iterator[Event]:
        """Yield the events in the order in which they were added. This is possible only once."""
        if self._file:
            decoder = msgspec.msgpack.Decoder(list[tuple[int, int, int, Record]])
            with self._file as rows:
                rows.seek(0)
                while size := rows.read(8):
                    for line, last_line, run, record in decoder.decode(rows.read(int.from_bytes(size, "little"))):
                        yield Event(line, last_line, (), "", "record", record, run)
        yield from self._events
