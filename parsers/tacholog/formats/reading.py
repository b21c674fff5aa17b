"""Reading a log: every line gets a class, every finding its line numbers, nothing disappears."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.formats.lines import Broken, Found, Line
from tacholog.formats.registry import Format, detect, format_named
from tacholog.formats.source import LogText, open_log
from tacholog.records import Facts, Histogram, Record, Status

LineClass = Literal["record", "chatter", "broken", "unknown"]
CLAIM_WINDOW_LINES = 4096
UNKNOWN_IN_A_ROW = 10_000  # Longer stretches that no format knows are reported as one: a 2 GB file of noise must not fill the memory.


class Event(NamedTuple):
    """Something found on the lines ``line`` to ``last_line`` (0: known only once the log had ended). ``text`` is the first line's.

    ``lines`` are those that nothing had claimed before: the second record of a row of several cells has none.
    """

    line: int
    last_line: int
    lines: Sequence[int]
    text: str
    kind: LineClass
    what: Record | Facts | Histogram | Broken | None


class Account(msgspec.Struct):
    """How many lines a log has, and what each of them is; and how the log says that its run ended."""

    records: int = 0
    lines: Counter[LineClass] = msgspec.field(default_factory=Counter)
    facts: Facts = msgspec.field(default_factory=Facts)
    size_bytes: int = 0
    sha256: str = ""

    @property
    def total(self) -> int:
        """All lines: each is in exactly one class."""
        return self.lines.total()

    @property
    def status(self) -> Status:
        """How the run ended: as the log says, else ``empty`` without any record and ``ok`` with."""
        return self.facts.status or ("ok" if self.records else "empty")

    @property
    def reason(self) -> str | None:
        """Why the status is what it is."""
        return self.facts.reason or (None if self.records else "no result in the log")


class Scan:
    """One pass over a log: iterate for its events, in about the order of their lines; then ``account`` is complete."""

    def __init__(self, text: LogText, name: str | None = None) -> None:
        """Prepare to read an open log, in the format of that name or the one that its head shows.

        Raises:
            UnreadableInput: no format fits, or several do.
        """
        self._text = text
        self.format_name = name or detect(text.head)
        self.format: Format = format_named(self.format_name)
        self.account = Account()
        self._waiting: dict[int, Line] = {}
        self._overdue: list[Line] = []
        self._noise: list[int] = []  # First, last and how many of a stretch of unknown lines that is too long to list.

    def __iter__(self) -> Iterator[Event]:
        """Yield every event; a line that the format did not claim in time is one of kind ``unknown``."""
        for found in self.format.parse(self._handed_out()):
            yield from self._given_up()
            yield self._taken(found)
        if self._text.trouble:
            self._learn(Facts(status="truncated", reason=self._text.trouble))
        self._give_up(0)
        yield from self._given_up()
        self.account.size_bytes, self.account.sha256 = self._text.identity()

    def _handed_out(self) -> Iterable[Line]:
        for line in self._text.lines():
            self._waiting[line.number] = line
            if len(self._waiting) > CLAIM_WINDOW_LINES:
                self._give_up(CLAIM_WINDOW_LINES)
            yield line

    def _give_up(self, window: int) -> None:
        """Take the oldest lines beyond ``window`` for unknown."""
        while len(self._waiting) > window:
            number = next(iter(self._waiting))
            line = self._waiting.pop(number)
            if len(self._overdue) < UNKNOWN_IN_A_ROW:
                self._overdue.append(line)
            else:
                first, _, count = self._noise or (number, number, 0)
                self._noise = [first, number, count + 1]

    def _given_up(self) -> Iterator[Event]:
        for line in self._overdue:
            yield self._event((line,), "unknown", None, (line.number,))
        if self._noise:
            first, last, count = self._noise
            self.account.lines["unknown"] += count
            yield Event(first, last, range(first, last + 1), f"{count} more lines that no rule knows", "unknown", None)
        self._overdue, self._noise = [], []

    def _taken(self, found: Found) -> Event:
        lines = tuple(sorted((found.line, *found.also))) if found.line else found.also
        claimed = tuple(line.number for line in lines if self._waiting.pop(line.number, None))
        if isinstance(found.what, Facts):
            self._learn(found.what)
        return self._event(lines, _kind(found), found.what, claimed)

    def _event(self, lines: tuple[Line, ...], kind: LineClass, what: Record | Facts | Histogram | Broken | None, claimed: tuple[int, ...]) -> Event:
        self.account.lines[kind] += len(claimed)
        self.account.records += isinstance(what, Record)
        if not lines:
            return Event(0, 0, (), "", kind, what)
        return Event(lines[0].number, lines[-1].number, claimed, lines[0].text, kind, what)

    def _learn(self, facts: Facts) -> None:
        """Put newer facts over the older ones."""
        old = self.account.facts
        known = {name: value for name in Facts.__struct_fields__ if (value := getattr(facts, name))}
        known["conditions"] = facts.conditions.over(old.conditions)
        known["environment"] = old.environment | facts.environment
        self.account.facts = msgspec.structs.replace(old, **known)


def _kind(found: Found) -> LineClass:
    match found.what:
        case Record() | Histogram():
            return "record"
        case Broken():
            return "broken"
        case _:
            return "chatter"


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
            scan = Scan(text, name)
            events = tuple(scan)
    except UnreadableInput as error:
        raise UnreadableInput(f"{path}: {error}") from None
    return Log(path.name, scan.format_name, scan.account, events)
