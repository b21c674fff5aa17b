"""A log as a site offers it: expanded if it was compressed, line by line what its class lets be shown, under the line numbers of the original."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.evidence import open_evidence, read_evidence
from tacholog.formats.expand import CHUNK_BYTES, Damaged, expanded, packing_of
from tacholog.formats.reading import LineClass, Scan
from tacholog.formats.registry import formats
from tacholog.formats.source import LINE_BYTES, UTF16_MARKS, LogText
from tacholog.privacy.native_log import native_line
from tacholog.privacy.redactor import Redactor

# What only controls a terminal, and what is not seen: a colour or a letter without width within a name must not hide it from whoever looks for names.
_CONTROL = re.compile(
    "\x1b\\[[0-?]{0,100}[ -/]{0,20}[@-~]|\x1b\\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\\\)?|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\ufeff]"
)
_SEQUENCE = re.compile("\x1b\\[[0-9;]{0,100}[A-Za-z]")
WITHHELD = "[withheld]"
SHOW_UNKNOWN = 'unknown_lines = "show" under [privacy] in site.toml shows them'
_NOT_SHOWN = "[This log is UTF-16. It is not shown, because names in it could not be told from the rest.]\n"
_CODES: tuple[LineClass, ...] = ("unknown", "record", "chatter", "broken")
Heard = Callable[[int], object]
Ranges = list[tuple[int, int]]


class Original(NamedTuple):
    """A log as it was written: the folder of its run, its name, and the format that reads it."""

    root: Path
    name: str
    format_name: str | None


class ShownLines(msgspec.Struct, frozen=True):
    """What of a log is shown: its lines by class as ranges of their numbers, and those that are withheld.

    ``cut`` counts the lines of which only the start is shown.
    """

    lines: int
    kinds: dict[LineClass, Ranges] = {}
    withheld: Ranges = []
    cut: int = 0
    trouble: str | None = None


def learn_lines(folder: Path, name: str, heard: Heard | None = None) -> Iterator[str]:
    """Yield the lines of a log without control sequences, each at most as long as it may be shown; of a file that cannot be read, none."""
    try:
        with open_evidence(folder, name) as stream:
            yield from (plain(_text(line.removesuffix(b"\n"))) for line, _ in _lines(stream, LINE_BYTES, heard))
    except (UnreadableInput, OSError):
        return


def publish(log: Original, redactor: Redactor, target: BinaryIO, heard: Heard | None = None) -> ShownLines:
    """Write a log of an own run to ``target`` as it may be shown, and return which of its lines are what.

    Raises:
        UnreadableInput: it is no file of its folder, or cannot be read.
    """
    with open_evidence(log.root, log.name) as stream:
        if stream.read(2) in UTF16_MARKS:
            target.write(_NOT_SHOWN.encode())
            return ShownLines(lines=1, withheld=[(1, 1)], trouble="the log is UTF-16")
        stream.seek(0)
        kinds = _kinds(stream, log.format_name)
        stream.seek(0)
        made = _Published(redactor, log.format_name, kinds)
        target.writelines(made.line(line, whole) for line, whole in _lines(stream, _limit(log.format_name), heard))
    target.write(made.closing())
    return made.shown()


class _Published:
    """The lines of one log, one after the other."""

    def __init__(self, redactor: Redactor, format_name: str | None, kinds: bytearray) -> None:
        self._redactor, self._privacy = redactor, redactor.privacy
        self._is_native = format_name == "native"
        self._kinds, self._number, self._cut = kinds, 0, 0
        self._by_kind: dict[LineClass, Ranges] = {}
        self._withheld: Ranges = []

    def line(self, raw: bytes, whole: bool) -> bytes:
        self._number += 1
        code = self._kinds[self._number] if self._number < len(self._kinds) else 0
        kind = _CODES[code]
        _add(self._by_kind.setdefault(kind, []), self._number)
        if kind == "unknown" and self._privacy.unknown_lines == "withhold" and raw.strip():
            _add(self._withheld, self._number)
            return f"{WITHHELD}\n".encode()
        end = b"\n" if raw.endswith(b"\n") else b""
        written = raw[: len(raw) - len(end)].decode("utf-8", "surrogateescape")
        text = plain(written.removesuffix("\r"))
        if not whole:
            self._cut += 1
        more = "" if whole else " [the rest of this line is not shown]"
        shown = self._shown(text, kind)
        # What was looked at is the text without control sequences. Where nothing had to be replaced these may stay; but the title of a window, which
        # is within one, was not looked at.
        kept = written if shown == text and "\x1b]" not in written else shown
        return (kept + more).encode("utf-8", "surrogateescape") + end

    def _shown(self, text: str, kind: LineClass) -> str:
        if kind in ("record", "chatter") and self._is_native:
            return native_line(text, self._redactor)
        # A result line is the tool's own words and numbers, and so is one that the owner lets be seen; all else may say anything.
        return self._redactor.text(text) if kind in ("record", "unknown") else self._redactor.free(text)

    def closing(self) -> bytes:
        """Say at the end, where no line number moves, what was withheld."""
        return f"[{withheld_words(self._withheld)}]\n".encode() if self._withheld else b""

    def shown(self) -> ShownLines:
        return ShownLines(lines=self._number, kinds=self._by_kind, withheld=self._withheld, cut=self._cut)


def withheld_words(ranges: Ranges) -> str:
    """Say how many lines are withheld, which, and how they can be shown."""
    count = sum(last - first + 1 for first, last in ranges)
    return f"{count} line{'s' if count > 1 else ''} withheld ({line_words(ranges)}): {SHOW_UNKNOWN}"


def line_words(ranges: Ranges, most: int = 20) -> str:
    """Return numbers of lines as words: ``lines 12, 40 to 41``."""
    words = [str(first) if first == last else f"{first} to {last}" for first, last in ranges[:most]]
    more = f" and {len(ranges) - most} more places" if len(ranges) > most else ""
    several = len(ranges) > 1 or (ranges and ranges[0][0] != ranges[0][1])
    return f"line{'s' if several else ''} {', '.join(words)}{more}"


def plain(line: str) -> str:
    """Return a line without what only controls a terminal or is not seen."""
    return line if line.isascii() and line.isprintable() else _CONTROL.sub("", line)


def lines_with_controls(folder: Path, log: str) -> int:
    """Return how many lines of a log hold sequences that control a terminal."""
    with open_evidence(folder, log) as stream:
        return sum(b"\x1b" in line and bool(_SEQUENCE.search(_text(line))) for line, _ in _lines(stream, LINE_BYTES, None))


def save_shown(folder: Path, log: str, shown: ShownLines) -> None:
    """Keep what is known of a shown log's lines, beside the folder of the shown logs."""
    path = _place(folder, log)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(shown))


def saved_shown(folder: Path, log: str) -> ShownLines | None:
    """Return what `save_shown` kept; nothing for a log that is shown as it was published."""
    try:
        return msgspec.json.decode(read_evidence(_place(folder, log).parent, _place(folder, log).name), type=ShownLines)
    except (UnreadableInput, msgspec.DecodeError):
        return None


def _place(folder: Path, log: str) -> Path:
    return folder.with_name(f"{folder.name}.lines") / f"{hashlib.sha256(log.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"


def sha256_of(folder: Path, log: str) -> str | None:
    """Return the SHA-256 of a file, nothing if it cannot be read."""
    try:
        with open_evidence(folder, log) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # every open file has readinto
    except (UnreadableInput, OSError):
        return None


def _kinds(stream: BinaryIO, format_name: str | None) -> bytearray:
    """The class of each line by its number; 0, unknown, of each that the format does not claim. A byte a line: a log of 64 MB may have millions."""
    found = bytearray(1)
    if format_name is None:
        return found
    try:
        for event in Scan(LogText(stream), format_name):
            code = _CODES.index(event.kind)
            if not code:
                continue
            for number in event.lines:
                if number >= len(found):
                    found.extend(bytes(max(number + 1 - len(found), len(found))))
                found[number] = code
    except UnreadableInput:
        return bytearray(1)  # A format that failed in the middle of a log is not trusted with its beginning.
    return found


def _limit(format_name: str | None) -> int:
    """How many bytes of a line are shown: those that its format is given."""
    limit: int = LINE_BYTES if format_name is None else getattr(formats().get(format_name), "LINE_BYTES", LINE_BYTES)
    return limit


def _lines(stream: BinaryIO, limit: int, heard: Heard | None) -> Iterator[tuple[bytes, bool]]:
    """Yield each line with its end, and whether it is whole: one over the limit is cut there, and has its end all the same."""
    rest, whole = b"", True
    try:
        for chunk in _chunks(stream, heard):
            *lines, tail = chunk.split(b"\n")
            for line in lines:
                cut, is_whole = _clipped(rest + line, limit, whole)
                yield cut + b"\n", is_whole
                rest, whole = b"", True
            rest, whole = _clipped(rest + tail, limit, whole)
    except Damaged:
        pass  # what came before the damage counts
    if rest:
        yield rest, whole


def _clipped(raw: bytes, limit: int, whole: bool) -> tuple[bytes, bool]:
    return (raw, whole) if len(raw) <= limit else (raw[:limit], False)


def _chunks(stream: BinaryIO, heard: Heard | None) -> Iterator[bytes]:
    start = stream.read(CHUNK_BYTES)
    packing = packing_of(start)
    pieces: Iterable[bytes] = _with_rest(start, stream)
    for chunk in expanded(packing, iter(pieces)) if packing else pieces:
        if heard:
            heard(len(chunk))
        yield chunk


def _with_rest(start: bytes, stream: BinaryIO) -> Iterator[bytes]:
    yield start
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape").removesuffix("\r")


def _add(ranges: Ranges, number: int) -> None:
    if ranges and ranges[-1][1] == number - 1:
        ranges[-1] = (ranges[-1][0], number)
    else:
        ranges.append((number, number))
