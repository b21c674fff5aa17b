"""Bytes to lines, whatever the bytes are: bounded memory, no exception from hostile content."""

from __future__ import annotations

import hashlib
import itertools
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

from tacholog.errors import UnreadableInput
from tacholog.evidence import open_evidence
from tacholog.formats.bulk import RunCutter
from tacholog.formats.expand import CHUNK_BYTES, Damaged, Packing, expanded, packing_of
from tacholog.formats.kit.bulk import Lines
from tacholog.formats.kit.lines import Line, PrefixedLine
from tacholog.formats.prefixes import Judges, Prefix, lacking_prefix, prefix_of
from tacholog.formats.registry import any_fits, lines_known

HEAD_BYTES = 1 << 20
LINE_BYTES = 1 << 16  # The longest line that most tools print is a histogram of a few KiB; a format may have a constant of its own.
_LOOKED_AT = 4096  # Bytes, for the kind of text.
_MOSTLY = 0.9
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Standard input, and what a shell passes for <(...): these are pipes too, but opening them does not block.
_HANDED_OVER = re.compile(r"/dev/stdin|/(dev|proc/self)/fd/[0-9]+")
_NO_FILES = {stat.S_IFIFO: "named pipe", stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}
# What terminals are told: colours, moves of the cursor and modes; titles of windows; sets of characters; and to begin anew, which stands in no word.
# ECMA-48 has more, such as two blanks and a digit. Where one byte of a log became an escape, those would take "  2" of "  27" along.
_CONTROL = re.compile(
    r"\x1b(?:\[[0-?]{0,100}[ -/]{0,10}[@-~]|\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\)|[()*+][0AB]|#[3-68]|%[@G]| [FG]|[78](?![0-9.])|[=>])|(?<!\w)\x1bc",
)
# Of a mail: "=" and two digits stand for a character, "=" at the end of a line joins it with the next. A "=" of another kind is in no such text.
_JOINED_LINE, _PLAIN_EQUALS = re.compile(r"[^=\n]=$", re.MULTILINE), re.compile(r"=(?!\n|[0-9A-F]{2})")
_QUOTED_PRINTABLE = "the text is quoted-printable, as mails are sent: '=' joins lines, '=3D' stands for '='; decode it first (python3 -m quopri -d)"
UTF16_REFUSED = "the text is UTF-16; convert it to UTF-8 first (iconv -f {} -t UTF-8)"
_JUDGES = Judges(any_fits, lines_known)
_TAR_HEADER = 512
_TAR_SUM = slice(148, 156)


class Digest:
    """A binary stream that remembers the size and SHA-256 of all that was read through it."""

    def __init__(self, stream: BinaryIO) -> None:
        """Wrap a stream opened for reading."""
        self._stream = stream
        self._hash = hashlib.sha256()
        self.size_bytes = 0

    def read(self, size: int) -> bytes:
        """Read up to ``size`` bytes."""
        data = self._stream.read(size)
        self._hash.update(data)
        self.size_bytes += len(data)
        return data

    def sha256(self) -> str:
        """The SHA-256 of what was read, in hexadecimal."""
        return self._hash.hexdigest()


class LogText:
    """The text of an open log: its head for detection, then its lines, once.

    A log may be compressed (gzip, xz, Zstandard). ``trouble`` says after reading why the bytes ended early, ``None`` if they did not.
    """

    def __init__(self, stream: BinaryIO, heard: Callable[[int], object] | None = None) -> None:
        """Wrap a stream opened for reading; only its first MiB is read now.

        ``heard`` is told how many bytes of text each chunk holds before its lines are handed out. It may refuse more of them by raising
        UnreadableInput: a compressed log may hold a hundred times the text that its size promises.

        Raises:
            UnreadableInput: the text is UTF-16.
        """
        self.trouble: str | None = None
        self._heard = heard
        self._digest = Digest(stream)
        self._expanded_hash: hashlib._Hash | None = None
        start = self._digest.read(CHUNK_BYTES)
        packing = packing_of(start)
        self._chunks = self._expanded(packing, start) if packing else self._plain(start)
        self._head = self._first_chunks().removeprefix(UTF8_MARK)
        if refusal := why_no_text(self._head):
            raise UnreadableInput(refusal)
        self.prefix = prefix_of(self._whole_lines(), _JUDGES)
        self._line = partial(_without_prefix, self.prefix) if self.prefix else _line

    @property
    def head(self) -> str:
        """The start of the text, at most 1 MiB, without control sequences and what stands before each line; lines end as on Unix."""
        text, found = self._raw_head(), self.prefix
        return "\n".join(line[match.end() :] if (match := found.of(line)) else line for line in text.split("\n")) if found else text

    @property
    def note(self) -> str | None:
        """What users are told of the prefix or the encoding of the lines; ``None`` if there is nothing to say."""
        if _JOINED_LINE.search(lines := self._whole_lines()) and not _PLAIN_EQUALS.search(lines):
            return _QUOTED_PRINTABLE
        if self.prefix:
            return f"each line begins with {self.prefix.said}, which was taken off"
        lacking = lacking_prefix(lines, _JUDGES)
        if lacking is None:
            return None
        found, count, lines = lacking
        return f"{count} of {lines} lines begin with {found.said} and the others do not, so it was not taken off: cut it off with {found.command}"

    def _raw_head(self) -> str:
        return _text(self._head[:HEAD_BYTES]).replace("\r\n", "\n")

    def _whole_lines(self) -> str:
        """The lines of the head; the last one may be cut, so it says nothing of a log that is longer."""
        head = self._raw_head()
        return head[: head.rfind("\n") + 1] if len(self._head) > HEAD_BYTES else head

    def identity(self) -> tuple[int, str, str]:
        """Size in bytes and SHA-256 of the log as it is stored, and SHA-256 of its text, once it has been read to its end."""
        while self._digest.read(CHUNK_BYTES):
            pass  # What a parser had no use for still belongs to the file.
        stored = self._digest.sha256()
        return self._digest.size_bytes, stored, self._expanded_hash.hexdigest() if self._expanded_hash else stored

    def lines(self) -> Iterator[Line]:
        """Yield each line without its end, without what only controls a terminal, and without what stands before each line of the log.

        Invalid UTF-8 becomes U+FFFD; a line over 64 KiB is cut there and not whole.
        """
        return (piece for piece in self.pieces(RunCutter((), 1)) if isinstance(piece, Line))

    def pieces(self, runs: RunCutter, limit: int = LINE_BYTES) -> Iterator[Line | Lines]:
        """Yield each line as `lines` does, and whole runs of lines as they stand in the log; a run ends where a chunk does.

        A line over ``limit`` bytes is cut there.
        """
        number, rest, whole, _line = 1, b"", True, self._line
        if self.prefix:
            runs = RunCutter((), 1)  # They are shapes of whole lines.
        for chunk in self._all_chunks():
            begin, end = chunk.find(b"\n"), chunk.rfind(b"\n") + 1
            if begin < 0:
                rest, whole = _clip(rest + chunk, limit, whole)
                continue
            yield _line(number, *_clip(rest + chunk[:begin], limit, whole))
            number += 1
            for text, bulk in runs.cut(chunk[begin + 1 : end]):
                if bulk:
                    run = Lines(number, text, bulk)
                    yield run
                    number += run.count
                    continue
                for raw in text[:-1].split(b"\n"):
                    yield _line(number, *_clip(raw, limit))
                    number += 1
            rest, whole = _clip(chunk[end:], limit)
        if rest or not whole:
            yield _line(number, rest, False)

    def _all_chunks(self) -> Iterator[bytes]:
        for chunk in itertools.chain((self._head,), self._chunks):
            if self._heard:
                self._heard(len(chunk))
            yield chunk

    def _plain(self, start: bytes) -> Iterator[bytes]:
        yield start
        while chunk := self._digest.read(CHUNK_BYTES):
            yield chunk

    def _expanded(self, packing: Packing, start: bytes) -> Iterator[bytes]:
        """Expand the stream; what came before any damage is kept."""
        self._expanded_hash = found = hashlib.sha256()
        try:
            for chunk in expanded(packing, self._plain(start)):
                found.update(chunk)
                yield chunk
        except Damaged as damage:
            self.trouble = str(damage)

    def _first_chunks(self) -> bytes:
        """As many chunks as it takes for the head: a compressed stream may come in small ones."""
        found: list[bytes] = []
        while sum(map(len, found)) < HEAD_BYTES and (chunk := next(self._chunks, b"")):
            found.append(chunk)
        return b"".join(found)


def _text(raw: bytes) -> str:
    return without_sequences(raw.decode(errors="replace"))


def without_sequences(text: str) -> str:
    """Return text without what is meant for a terminal: this is what formats read."""
    return _CONTROL.sub("", text) if "\x1b" in text else text


def _line(number: int, raw: bytes, whole: bool) -> Line:
    return Line(number, _text(raw.removesuffix(b"\r")), whole)


def _without_prefix(prefix: Prefix, number: int, raw: bytes, whole: bool) -> Line:
    text = _text(raw.removesuffix(b"\r"))
    found = prefix.of(text)
    if found is None:
        return Line(number, text, whole)
    line = PrefixedLine(number, text[found.end() :], whole)
    line.prefix = found[0]
    if prefix.has_time:
        line.stamp = found["time"]
    return line


def why_no_text(head: bytes) -> str | None:
    """Say why bytes are not the text of one log, and the way out; ``None`` if they may be."""
    if encoding := utf16_of(head):
        return UTF16_REFUSED.format(encoding)
    if _is_tar(head):
        return "an archive (tar), not the text of one log: unpack it first (tar -xf)"
    return None


def utf16_of(head: bytes) -> str | None:
    """Return what ``iconv`` calls the UTF-16 that bytes are; ``None`` if they are none. Without a mark, every second byte of a log is NUL."""
    if head.startswith(UTF16_MARKS):
        return "UTF-16"
    seen = head[:_LOOKED_AT]
    first, second = seen[0::2], seen[1::2]
    for encoding, zero, other in (("UTF-16LE", second, first), ("UTF-16BE", first, second)):
        if len(zero) > 1 and zero.count(0) >= _MOSTLY * len(zero) and other.count(0) <= (1 - _MOSTLY) * len(other):
            return encoding
    return None


def _is_tar(head: bytes) -> bool:
    """Whether bytes begin as an archive does: with a header that holds the sum of its bytes, each of the sum's own counted as a blank."""
    header = head[:_TAR_HEADER]
    said = header[_TAR_SUM].strip(b" \0")
    if len(header) < _TAR_HEADER or not said.isdigit() or not header[0]:
        return False
    try:
        return int(said, 8) == sum(header) - sum(header[_TAR_SUM]) + 8 * ord(" ")
    except ValueError:
        return False


def _clip(raw: bytes, limit: int, whole: bool = True) -> tuple[bytes, bool]:
    return (raw, whole) if len(raw) <= limit else (raw[:limit], False)


def not_a_file(path: Path) -> str | None:
    """Say that a path is that of a named pipe, a socket or a device; ``None`` if it is not, or nothing is there."""
    try:
        kind = _NO_FILES.get(stat.S_IFMT(path.stat().st_mode))
    except OSError:
        return None  # Opening it raises the error.
    return f"not a file but a {kind}" if kind else None


def would_wait(path: Path) -> str | None:
    """Say what a path is, if to read it may wait for ever; ``None`` for a file, and for what a shell passes for ``<(...)``."""
    return None if _HANDED_OVER.fullmatch(str(path)) else not_a_file(path)


@contextmanager
def open_log(path: Path) -> Iterator[LogText]:
    """Open a log file that the user names. One that a manifest or a folder names is opened by `open_log_in`.

    Raises:
        UnreadableInput: it cannot be opened or read, is no file but a named pipe or the like, or is UTF-16.
    """
    if wrong := would_wait(path):
        raise UnreadableInput(wrong)
    try:
        stream = path.open("rb")
    except OSError as error:
        raise UnreadableInput(f"cannot open: {error.strerror}") from error
    with stream:
        yield text_of(stream)


def text_of(stream: BinaryIO) -> LogText:
    """Return the text of an open stream.

    Raises:
        UnreadableInput: it cannot be read, as a disk that fails, or is UTF-16.
    """
    try:
        return LogText(stream)
    except OSError as error:
        raise UnreadableInput(f"cannot be read: {error.strerror}") from error


@contextmanager
def open_log_in(folder: Path, name: str) -> Iterator[LogText]:
    """Open a log by its name in a folder, as evidence is opened: a regular file inside it, no link on the way.

    Raises:
        UnreadableInput: it is none, cannot be opened or read, or is UTF-16.
    """
    with open_evidence(folder, name) as stream:
        yield LogText(stream)
