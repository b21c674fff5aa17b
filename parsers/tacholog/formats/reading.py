"""Reading a log: every line gets a class, every finding its line numbers, nothing disappears."""

from __future__ import annotations

import io
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.formats.bulk import RUN_LINES, BulkRecords, LineRun, RunCutter, rows_of
from tacholog.formats.kit.lines import Broken, Found, Line
from tacholog.formats.registry import Format, describe_error, detect, format_named, is_ours, package_of, readers_of_any_log
from tacholog.formats.source import LINE_BYTES, LogText, open_log
from tacholog.formats.validity import defect_of, impossible_number
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import SEVERITY, Facts, Histogram, Record, Status

LineClass = Literal["record", "chatter", "broken", "unknown"]
CLAIM_WINDOW_LINES = 4096
MOST_LINE_BYTES = 1 << 22  # Whatever a format says: a line is held in memory as a whole.
HELD_CHARACTERS = 1 << 23  # Of lines that wait for their class, and as many of those that wait to be reported, whatever their number.
LOOKS = 16  # A line in doubt costs another look at what is left of its run; after so many, the rest is read line by line.
_OVER: Any = object()  # Where a format has nothing more to say.
UNKNOWN_IN_A_ROW = 10_000  # Longer stretches that no format knows are reported as one: a 2 GB file of noise must not fill the memory.


class FormatFailure(UnreadableInput):
    """The code of a format failed, or yielded what is no finding: the log cannot be read in that format."""


class Event(NamedTuple):
    """Something found on the lines ``line`` to ``last_line`` (0: known only once the log had ended). ``text`` is the first line's.

    ``lines`` are those that nothing had claimed before: the second record of a row of several cells has none. ``run`` counts the runs in the log,
    of which there may be several, one behind the other.
    """

    line: int
    last_line: int
    lines: Sequence[int]
    text: str
    kind: LineClass
    what: Record | Facts | Histogram | Broken | None
    run: int = 0


class Account(msgspec.Struct):
    """How many lines a log has, and what each of them is; and how the log says that its run ended.

    ``runs`` are the facts of each run in the log, ``facts`` those of the present one, at the end what all of them say.
    """

    records: int = 0
    lines: Counter[LineClass] = msgspec.field(default_factory=Counter)
    facts: Facts = msgspec.field(default_factory=Facts)
    runs: list[Facts] = msgspec.field(default_factory=list)
    size_bytes: int = 0
    sha256: str = ""

    @property
    def total(self) -> int:
        """All lines: each is in exactly one class."""
        return self.lines.total()

    @property
    def status(self) -> Status | None:
        """How the run ended: as the log says, else ``empty`` without any record, and ``None``, not stated, with.

        Many tools have no word for it: the log of a run that was stopped is then like that of a shorter one.
        """
        return self.facts.status or (None if self.records else "empty")

    @property
    def reason(self) -> str | None:
        """Why the status is what it is."""
        return self.facts.reason or (None if self.records else "no result in the log")

    def conditions(self, run: int) -> Conditions:
        """What the log says of one of its runs, wherever it says so: metadata may stand last, as in JSON. Complete once the log has ended."""
        return (self.runs[run] if run < len(self.runs) else self.facts).conditions


class Held:
    """Records of a log that wait until all that the log says of their runs is known; the many of a long log wait in a file."""

    def __init__(self, in_memory: int = 20_000) -> None:
        """Hold up to so many in memory."""
        self._in_memory = in_memory
        self._events: list[Event] = []
        self._file: IO[bytes] | None = None

    def add(self, event: Event) -> None:
        """Hold an event of a record, of which the text and the other lines are let go."""
        self._events.append(event)
        if len(self._events) >= self._in_memory:
            self._file = self._file or tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when it is forgotten, and has no name
            rows = msgspec.msgpack.encode([(event.line, event.last_line, event.run, event.what) for event in self._events])
            self._file.write(len(rows).to_bytes(8, "little") + rows)
            self._events.clear()

    def __iter__(self) -> Iterator[Event]:
        """The events in their order, once."""
        if self._file:
            decoder = msgspec.msgpack.Decoder(list[tuple[int, int, int, Record]])
            with self._file as rows:
                rows.seek(0)
                while size := rows.read(8):
                    for line, last_line, run, record in decoder.decode(rows.read(int.from_bytes(size, "little"))):
                        yield Event(line, last_line, (), "", "record", record, run)
        yield from self._events


class Scan:
    """One pass over a log: iterate for its events, in about the order of their lines; then ``account`` is complete."""

    def __init__(self, text: LogText, name: str | None = None, run_lines: int = RUN_LINES) -> None:
        """Prepare to read an open log, in the format of that name or the one that its head shows.

        ``run_lines`` is how many lines of one shape in a row it takes to read them at once; what is found does not depend on it.

        Raises:
            UnreadableInput: no format fits, or several do; a damaged stream is named first.
        """
        self._text = text
        self.format_name = name or _detected(text)
        self.format: Format = format_named(self.format_name)
        self._ours = is_ours(self.format)  # What those yield is checked by tests, for checking each record costs a quarter of reading it.
        self.account = Account()
        self._unreadable: OSError | UnreadableInput | None = None  # Why the log itself could not be read on, which is nobody's format's fault.
        self._reached = 0
        self._runs: RunCutter = self._guarded(lambda: RunCutter(getattr(self.format, "BULK", ()), run_lines))
        self._waiting: dict[int, Line] = {}
        self._waiting_characters = 0
        self._overdue: list[Line] = []
        self._overdue_characters = 0
        self._noise: list[int] = []  # First, last and how many of a stretch of unknown lines that is too long to list.
        self._rows: list[BulkRecords] = []
        self._latest: Found | None = None
        self._records_before = 0  # In the log, where the present run began.

    def __iter__(self) -> Iterator[Event]:
        """Yield every event; a line that the format did not claim in time is one of kind ``unknown``."""
        for batch in self.batches():
            if isinstance(batch, BulkRecords):
                for line, record in batch.records():
                    yield Event(line.number, line.number, (line.number,), line.text, "record", record, len(self.account.runs))
            else:
                yield batch

    def batches(self) -> Iterator[Event | BulkRecords]:
        """Yield every event, and many at once where the format can: for those who can use arrays.

        Raises:
            UnreadableInput: the format failed, or the file did; nothing that was yielded can be trusted then.
        """
        lines = self._handed_out()
        findings: Any = self._guarded(lambda: iter(self.format.parse(lines)))
        while True:
            try:  # Not by way of `_guarded`, which would cost each finding two calls more.
                found = next(findings, _OVER)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                raise self._failure(error) from error
            if found is _OVER:
                break
            if not self._ours and (defect := defect_of(found, self._reached)):
                raise FormatFailure(f"{self._whose} {defect} (at line {self._reached})")
            if self._rows:
                yield from self._at_once()
            if self._overdue or self._noise:
                yield from self._given_up()
            yield self._taken(found)
        while self._guarded(lambda: next(lines, _OVER)) is not _OVER:  # Lines that the format did not ask for are unknown, and in the account.
            yield from self._given_up()
        yield from self._at_once()
        if self._text.trouble:
            self._learn(Facts(status="truncated", reason=self._text.trouble))
        self._give_up(0, 0)
        yield from self._given_up()
        self.account.runs.append(self.account.facts)
        self.account.facts = _common(self.account.runs)
        self.account.size_bytes, self.account.sha256 = self._text.identity()

    def _guarded(self, step: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever somebody's code returns
        """Take a step in the format's code. Whatever that does wrong costs this log, not the others, and names the package that it is of."""
        try:
            return step()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise self._failure(error) from error

    def _failure(self, error: BaseException) -> UnreadableInput:
        """What to say of an error in the format's code, also of what sys.exit() raises, which would end the command as if all were well."""
        if error is self._unreadable:
            if isinstance(self._unreadable, UnreadableInput):
                return self._unreadable
            return UnreadableInput(f"cannot be read beyond line {self._reached}: {self._unreadable.strerror}")
        return FormatFailure(f"{self._whose} failed at line {self._reached}: {describe_error(error)}")

    @property
    def _whose(self) -> str:
        return f"the format {self.format_name} of {package_of(self.format_name)}"

    def _at_once(self) -> Iterator[BulkRecords]:
        for rows in self._rows:
            self.account.lines["record"] += len(rows)
            self.account.records += len(rows)
            yield rows
        self._rows = []

    def _handed_out(self) -> Iterator[Line]:
        pieces = self._text.pieces(self._runs, min(int(getattr(self.format, "LINE_BYTES", LINE_BYTES)), MOST_LINE_BYTES))
        try:
            for piece in pieces:
                if isinstance(piece, LineRun):
                    yield from self._sampled(piece)
                else:
                    yield self._offered(piece)
        except (OSError, UnreadableInput) as error:
            self._unreadable = error
            raise

    def _sampled(self, run: LineRun) -> Iterator[Line]:
        """Hand out the lines of a run that the format must see; the others become rows like the one before them."""
        place, looks = 0, 0
        while place < len(run):
            line, self._latest = run.line(place), None
            yield self._offered(line)
            if looks < LOOKS and (like := self._record_on(line)):
                looks += 1
                if rows := rows_of(run, place, like):
                    self._rows.append(rows)
                    place += len(rows)
            place += 1

    def _record_on(self, line: Line) -> Record | None:
        """The record that the format found on a line just handed out, and on it alone."""
        found = self._latest
        return found.what if found and found.line == line and not found.also and isinstance(found.what, Record) else None

    def _offered(self, line: Line) -> Line:
        self._waiting[line.number] = line
        self._waiting_characters += len(line.text)
        self._reached = line.number
        if len(self._waiting) > CLAIM_WINDOW_LINES or self._waiting_characters > HELD_CHARACTERS:
            self._give_up(CLAIM_WINDOW_LINES, HELD_CHARACTERS)
        return line

    def _claimed(self, number: int) -> Line | None:
        """The line, if nothing has claimed it before: now something has."""
        line = self._waiting.pop(number, None)
        self._waiting_characters -= len(line.text) if line else 0
        return line

    def _give_up(self, lines: int, characters: int) -> None:
        """Take the oldest lines beyond so many, or so many characters of them, for unknown."""
        while len(self._waiting) > lines or self._waiting_characters > characters:
            number = next(iter(self._waiting))
            line = self._claimed(number)
            if line and len(self._overdue) < UNKNOWN_IN_A_ROW and self._overdue_characters < HELD_CHARACTERS:
                self._overdue.append(line)
                self._overdue_characters += len(line.text)
            else:
                first, _, count = self._noise or (number, number, 0)
                self._noise = [first, number, count + 1]

    def _given_up(self) -> Iterator[Event]:
        for line in self._overdue:
            yield self._unclaimed(line)
        if self._noise:
            first, last, count = self._noise
            self.account.lines["unknown"] += count
            yield Event(first, last, range(first, last + 1), f"{count} more lines that no rule knows", "unknown", None, len(self.account.runs))
        self._overdue, self._overdue_characters, self._noise = [], 0, []

    def _unclaimed(self, line: Line) -> Event:
        """Make the event of a line that the log's format did not claim: unknown, unless another tool prints it into logs of any format."""
        found = next((found for read in readers_of_any_log() if (found := read(line))), None)
        if found is None:
            return self._event((line,), "unknown", None, (line.number,))
        if isinstance(found.what, Facts):
            self._learn(found.what)
        return self._event((line,), _kind(found), found.what, (line.number,))

    def _taken(self, found: Found) -> Event:
        if isinstance(found.what, Record) and (fault := impossible_number(found.what)):
            found = found._replace(what=Broken(fault if self._ours else f"{self._whose} says that {fault}"))
        self._latest = found
        if isinstance(found.what, Facts):
            self._learn(found.what)
        lines = (found.line, *found.also) if found.line else found.also
        if found.also:
            lines = tuple(sorted(lines))
        given = tuple(own for line in lines if (own := self._claimed(line.number)))
        if len(given) == len(lines):
            lines = given  # What stands on a line is what the log says, whatever a format made of it.
        return self._event(lines, _kind(found), found.what, tuple(line.number for line in given))

    def _event(self, lines: tuple[Line, ...], kind: LineClass, what: Record | Facts | Histogram | Broken | None, claimed: tuple[int, ...]) -> Event:
        self.account.lines[kind] += len(claimed)
        self.account.records += isinstance(what, Record)
        run = len(self.account.runs)
        if not lines:
            return Event(0, 0, (), "", kind, what, run)
        return Event(lines[0].number, lines[-1].number, claimed, lines[0].shown, kind, what, run)

    def _learn(self, facts: Facts) -> None:
        """Put newer facts over the older ones. A tool that says its version again, after results, has been run again."""
        if facts.tool_version and self.account.facts.tool_version and self.account.records > self._records_before:
            self.account.runs.append(self.account.facts)
            self.account.facts, self._records_before = Facts(), self.account.records
        old = self.account.facts
        known = {name: value for name in Facts.__struct_fields__ if (value := getattr(facts, name))}
        if facts.status == "ok" and old.status:
            known.pop("status")  # What went wrong in a run is not undone by its closing words.
        known["conditions"] = facts.conditions.over(old.conditions)
        known["environment"] = old.environment | facts.environment
        self.account.facts = msgspec.structs.replace(old, **known)


def _detected(text: LogText) -> str:
    try:
        return detect(text.head)
    except UnreadableInput as error:
        if not text.trouble:
            raise
        left = f"; in what came before, {error}" if text.head else ""
        raise UnreadableInput(f"{text.trouble}{left}") from None


def _common(runs: Sequence[Facts]) -> Facts:
    """What all runs of a log say, and how the worst of them ended."""
    first, *others = runs
    if not others:
        return first
    conditions = {name: value for name, value in msgspec.structs.asdict(first.conditions).items() if all(_says(run, name, value) for run in others)}
    worst = max(runs, key=lambda run: SEVERITY[run.status])
    return Facts(
        conditions=Conditions(**conditions),
        tool_version=first.tool_version if all(run.tool_version == first.tool_version for run in others) else None,
        system_version=first.system_version if all(run.system_version == first.system_version for run in others) else None,
        build=first.build if all(run.build == first.build for run in others) else None,
        start_time=first.start_time,
        environment={name: value for name, value in first.environment.items() if all(run.environment.get(name) == value for run in others)},
        status=worst.status,
        reason=worst.reason,
    )


def _says(run: Facts, name: str, value: object) -> bool:
    return bool(getattr(run.conditions, name) == value)


def _kind(found: Found) -> LineClass:
    match found.what:
        case Record() | Histogram():
            return "record"
        case Broken():
            return "broken"
        case _:
            return "chatter"


class LineProblem(NamedTuple):
    """A line of a log that could not be used: ``broken``, because it is cut, garbled or impossible, or ``unknown`` to the format."""

    line: int
    kind: Literal["broken", "unknown"]
    text: str
    reason: str


class Log(msgspec.Struct, frozen=True):
    """A log that was read whole: for tests and small programs. Use `Scan` for logs of any size."""

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
        """What the log says of its whole run; of a log that holds several runs, what all of them have in common."""
        return self.account.facts

    @property
    def problems(self) -> list[LineProblem]:
        """The lines that could not be used, in order."""
        found = []
        for event in self.events:
            if isinstance(event.what, Broken):
                found.append(LineProblem(event.line, "broken", event.text, event.what.reason))
            elif event.kind == "unknown":
                found.append(LineProblem(event.line, "unknown", event.text, "no rule of the format knows this line"))
        return found

    @property
    def broken(self) -> list[str]:
        """Each broken line as ``name:line: reason``."""
        return [f"{self.name}:{e.line}: {e.what.reason}" for e in self.events if isinstance(e.what, Broken)]

    @property
    def unknown(self) -> list[int]:
        """The numbers of the lines that the format does not know."""
        return [event.line for event in self.events if event.kind == "unknown"]


def read(path: Path, name: str | None = None) -> Log:
    """Read one log file whole, in the format of that name or the one that its content shows.

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
