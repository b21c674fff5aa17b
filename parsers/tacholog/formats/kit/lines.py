"""The types that a format module uses: lines, times in lines, and the statements of a format about its logs as a whole.

Times are converted to ISO 8601. A time has no zone if the text states none.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple, Self

import msgspec

_SECONDS = re.compile(r"[0-9]{10}(?:[.,][0-9]{1,9}|[0-9]{3})?")
_OF_C = re.compile(r"[A-Z][a-z]{2} (?P<month>[A-Z][a-z]{2}) (?P<day>[ 0-9][0-9]) (?P<clock>[0-9:]{8})(?P<zone> (?:UTC|GMT))? (?P<year>[0-9]{4})")
_ISO = re.compile(r"(?P<day>[0-9]{4}[-/][0-9]{2}[-/][0-9]{2})[T ](?P<clock>[0-9:]{8}(?:[.,][0-9]{1,9})?) ?(?P<zone>Z|UTC|[+-][0-9]{2}:?[0-9]{2})?")
# strptime expects names in the language of the user's locale, so it is not used.
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LATEST = 2**34


def of_seconds(seconds: object) -> str | None:
    """Return a whole number of seconds since 1970 as ISO 8601; ``None`` for anything else."""
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 0 < seconds < _LATEST:
        return None
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}Z"


def as_iso(text: str) -> str | None:
    """Return a time as ISO 8601. The time may be in ISO 8601, in the form of C's ``ctime``, or in seconds or milliseconds since 1970.

    ``None`` for any other form, such as a time without a year, because the year is not guessed.
    """
    if _SECONDS.fullmatch(text):
        return of_seconds(int(text[:10]))
    try:
        if match := _ISO.fullmatch(text):
            zone = {"UTC": "Z", None: ""}.get(match["zone"], match["zone"])
            return datetime.fromisoformat(f"{match['day'].replace('/', '-')}T{match['clock']}{zone}").isoformat()
        if match := _OF_C.fullmatch(text):
            day = f"{match['year']}-{MONTHS.index(match['month']) + 1:02}-{int(match['day']):02}"
            return datetime.fromisoformat(f"{day}T{match['clock']}{'Z' if match['zone'] else ''}").isoformat()
    except ValueError:
        pass
    return None


class Line(NamedTuple):
    """A line of a log. ``number`` counts from 1. ``whole`` is false if the log ends within the line, or if the line was too long and was cut."""

    number: int
    text: str
    whole: bool = True

    @property
    def shown(self) -> str:
        """The line as it is in the log, and as users see it."""
        return self.text

    @property
    def time(self) -> str | None:
        """The time in the prefix of the line, as ISO 8601, without a zone if the log states none; ``None`` if there is no time."""
        return None


class PrefixedLine(Line):
    """A line of a log with a prefix before each line. ``text`` is without this prefix; ``stamp`` is the time in it."""

    prefix: str = ""
    stamp: str = ""

    @property
    def shown(self) -> str:
        """The line as it is in the log."""
        return self.prefix + self.text

    @property
    def time(self) -> str | None:
        """The time in the prefix of the line, as ISO 8601."""
        return as_iso(self.stamp) if self.stamp else None


class Cell(str):
    """A printed value, from ``start`` to ``end`` on its line. ``line`` is the number of this line, if the record spans several lines."""

    __slots__ = ("end", "line", "start")
    start: int
    end: int
    line: int | None

    def __new__(cls, text: str, start: int, line: int | None = None) -> Self:
        """Create a cell from a text and the number of characters before it."""
        cell = super().__new__(cls, text)
        cell.start, cell.end, cell.line = start, start + len(text), line
        return cell

    @classmethod
    def named(cls, match: re.Match[str], shift: int = 0, line: int | None = None) -> dict[str, Cell]:
        """Return the named groups of a match as cells.

        ``shift`` is the number of characters before the matched text, if the text is only a part of the line.
        """
        return {name: cls(match[name], match.start(name) + shift, line) for name in match.re.groupindex if match[name] is not None}

    @classmethod
    def between(cls, text: str, separator: str | None, shift: int = 0) -> list[Cell]:
        """Return the texts between separators, or between blanks, without surrounding blanks."""
        pieces = re.finditer(r"\S+" if separator is None else rf"(?:^|(?<={re.escape(separator)}))[^{re.escape(separator)}]*", text)
        return [cls(piece[0].strip(), shift + piece.start() + len(piece[0]) - len(piece[0].lstrip())) for piece in pieces]

    def read_as(self, text: str) -> Cell:
        """Return a cell with the same position and another text, such as a number without its thousands separators."""
        cell = Cell(text, self.start, self.line)
        cell.end = self.end
        return cell


class Broken(msgspec.Struct, frozen=True):
    """The content of a result line that cannot be used, because it is cut off, garbled or impossible. Other lines are not affected."""

    reason: str


class Detected(NamedTuple):
    """Whether a log has this format, judged from its start, and a description of such logs.

    Attributes:
        fits: whether the log has this format.
        wants: a description of the lines that a log of this format has.
        names_itself: whether the log fits because its first line names its own format. Then other lines may quote logs of other tools, for example in
            an error.
    """

    fits: bool
    wants: str
    names_itself: bool = False


class LineStart:
    """A pattern that the start of a line must match, for ``detect``. It may span several lines, and ``$`` matches at the end of each line."""

    def __init__(self, pattern: str) -> None:
        # Searching for a line feed is faster than trying "^" at each character, and every log is tried with every format.
        self._pattern = re.compile(rf"\n(?:{pattern})", re.MULTILINE)

    def is_in(self, head: str) -> bool:
        """Whether a line of the head starts with the pattern."""
        return self._pattern.search(f"\n{head}") is not None


class Dialect(NamedTuple):
    """One dialect of a format: its name, the versions that print it, and the logs or sources with which it was checked."""

    name: str
    versions: str
    evidence: str


class States(NamedTuple):
    """The conditions that the logs of a format state for the results of one test. Names are separated by blanks.

    Besides conditions, ``payload_bytes`` and ``tool_version`` can be named. A condition that is not named is never stated by a log: if comparisons
    need it, a campaign must state it.

    Attributes:
        always: conditions that every result states.
        sometimes: conditions that some results state, depending on the version or the options of the tool.
    """

    always: str = ""
    sometimes: str = ""


def closed_cells(line: Line, separator: str = ",") -> list[str]:
    """Return the cells of a row that are certainly complete. If the log ends within the line, the last cell may be cut and is left out."""
    cells = line.text.split(separator)
    return cells if line.whole else cells[:-1]
