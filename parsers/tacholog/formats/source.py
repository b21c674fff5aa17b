"""Convert any bytes to lines, in bounded memory. Hostile content causes no exception.

Logs that are compressed by gzip, xz or Zstandard are expanded member by member. A decompression bomb is never expanded to its end.
"""

from __future__ import annotations

import hashlib
import itertools
import lzma
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from tacholog.errors import UnreadableInput
from tacholog.evidence import open_evidence
from tacholog.formats.blocks import RunCutter
from tacholog.formats.kit.bulk import Lines
from tacholog.formats.kit.lines import Line, PrefixedLine
from tacholog.formats.prefixes import FormatQueries, Prefix, lacking_prefix, prefix_of
from tacholog.formats.registry import any_fits, lines_known

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK_BYTES = 1 << 20
EXPANDED_BYTES = 1 << 36  # No text log is larger than 64 GiB.
# Compression makes logs ten times smaller, very regular logs a hundred times. A stream that expands 900-fold, to more than 2 MiB, is a bomb.
BOMB_RATIO, BOMB_BYTES = 900, 1 << 21
_PIECE_BYTES = 1 << 13
_MEMORY_BYTES = 1 << 28  # By default, no compressor uses a dictionary larger than 256 MiB.
_WINDOW_LOG = 27


class Damaged(Exception):
    """The stream is damaged, ends early, or is a decompression bomb. The message states which."""


class _Member(Protocol):
    """A decompressor of one of the streams in a file, such as `lzma.LZMADecompressor` or the decompressor of Zstandard."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


class _Gzip:
    """The decompressor of zlib with the interface of `_Member`."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def needs_input(self) -> bool:
        return not self._member.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data

    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes:
        return self._member.decompress(self._member.unconsumed_tail + data, max_length)


class Compression(NamedTuple):
    """A compression: its name in messages, the bytes at its start, and a function that creates the decompressor of a member."""

    name: str
    magic: bytes
    member: Callable[[], _Member]


COMPRESSIONS = (
    Compression("gzip", b"\x1f\x8b", _Gzip),
    Compression("xz", b"\xfd7zXZ\x00", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY_BYTES)),
    Compression("zstd", b"\x28\xb5\x2f\xfd", lambda: zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})),
)


def compression_of(start: bytes) -> Compression | None:
    """Return the compression of a file that starts with these bytes; ``None`` if it is not compressed."""
    return next((compression for compression in COMPRESSIONS if start.startswith(compression.magic)), None)


def expanded(compression: Compression, compressed: Iterator[bytes]) -> Iterator[bytes]:
    """Expand a stream in chunks of at most 1 MiB.

    Raises:
        Damaged: the stream cannot be expanded any further; the chunks that were yielded before are valid.
    """
    # Bytes of the current member, before and after expansion. Without these counts, harmless earlier members could hide a bomb.
    fed = grown = 0
    all_fed = all_grown = 0  # bytes of all members, before and after expansion; many small members can be a bomb together
    member = compression.member()
    for piece in _small_pieces(compressed):
        fed += len(piece)
        all_fed += len(piece)
        remaining = piece
        while remaining or not (member.eof or member.needs_input):
            if member.eof:
                remaining = remaining.lstrip(b"\x00")  # Zero bytes may fill the space between members, up to a multiple of the block size.
                if not remaining:
                    break
                member, fed, grown = compression.member(), len(remaining), 0
            chunk = _step(compression, member, remaining)
            grown += len(chunk)
            all_grown += len(chunk)
            _refuse_bomb(compression, fed, grown)
            _refuse_bomb(compression, all_fed, all_grown)
            if chunk:
                yield chunk
            remaining = member.unused_data if member.eof else b""
    if not member.eof:
        raise Damaged(f"the {compression.name} stream is damaged: it ends before its end mark")


def _small_pieces(compressed: Iterator[bytes]) -> Iterator[bytes]:
    """Yield small pieces, so that the size of each piece can be compared with the size of its output."""
    for piece in compressed:
        for start in range(0, len(piece), _PIECE_BYTES):
            yield piece[start : start + _PIECE_BYTES]


def _step(compression: Compression, member: _Member, data: bytes) -> bytes:
    try:
        return member.decompress(data, CHUNK_BYTES)
    except (zlib.error, lzma.LZMAError, zstd.ZstdError, EOFError, MemoryError) as error:
        raise Damaged(f"the {compression.name} stream is damaged: {error}") from error


def _refuse_bomb(compression: Compression, fed: int, grown: int) -> None:
    if grown > EXPANDED_BYTES:
        raise Damaged(f"the {compression.name} stream has more than {EXPANDED_BYTES >> 30} GiB of text: no log is that long")
    if grown > BOMB_BYTES and grown > BOMB_RATIO * fed:
        raise Damaged(
            f"the {compression.name} stream was expanded only to {grown >> 20} MiB, from {max(1, fed >> 10)} KiB: the stream is taken "
            "for a decompression bomb (if the log is really that long, expand the stream yourself)"
        )


HEAD_BYTES = 1 << 20
LINE_BYTES = 1 << 16  # The longest line of most tools is a histogram of a few KiB. A format may declare a higher limit.
_LOOKED_AT = 4096  # The encoding is detected from this number of bytes.
_MOSTLY = 0.9
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Standard input, and the files that a shell creates for <(...). They are pipes too, but opening them does not block.
_HANDED_OVER = re.compile(r"/dev/stdin|/(dev|proc/self)/fd/[0-9]+")
_NO_FILES = {stat.S_IFIFO: "named pipe", stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}
# Control sequences of terminals: colours, cursor moves, modes, window titles, character sets, and resets. They never occur within a word. ECMA-48
# has more sequences, such as two blanks and a digit. They are not removed: if a damaged byte of a log is an escape, they would
# remove "  2" from "  27".
_CONTROL = re.compile(
    r"\x1b(?:\[[0-?]{0,100}[ -/]{0,10}[@-~]|\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\)|[()*+][0AB]|#[3-68]|%[@G]| [FG]|[78](?![0-9.])|[=>])|(?<!\w)\x1bc",
)
# Quoted-printable text of a mail has "=" only in two places: before two digits that encode a character, and at the end of a line that continues.
_JOINED_LINE, _PLAIN_EQUALS = re.compile(r"[^=\n]=$", re.MULTILINE), re.compile(r"=(?!\n|[0-9A-F]{2})")
_QUOTED_PRINTABLE = "the text is quoted-printable, as mails are sent: '=' joins lines, '=3D' stands for '='; decode it first (python3 -m quopri -d)"
UTF16_REFUSED = "the text is UTF-16; convert it to UTF-8 first (iconv -f {} -t UTF-8)"
_QUERIES = FormatQueries(any_fits, lines_known)
_TAR_HEADER = 512
_TAR_SUM = slice(148, 156)


class Digest:
    """A binary stream that computes the size and SHA-256 of all bytes that were read through it."""

    def __init__(self, stream: BinaryIO) -> None:
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
        """Return the SHA-256 of the bytes that were read, in hexadecimal."""
        return self._hash.hexdigest()


class LogText:
    """The text of an open log: first its head for detection, then its lines, which can be read only once.

    A log may be compressed (gzip, xz, Zstandard). After reading, ``trouble`` is the reason if the bytes ended early; otherwise ``None``.
    """

    def __init__(self, stream: BinaryIO, on_chunk: Callable[[int], object] | None = None) -> None:
        """Wrap a stream opened for reading; only its first MiB is read now.

        ``on_chunk`` is called with the size of each chunk of text before the lines in the chunk are yielded. It may raise UnreadableInput to stop the
        reading, because the text of a compressed log can be a hundred times larger than the log.

        Raises:
            UnreadableInput: the text is UTF-16.
        """
        self.trouble: str | None = None
        self._on_chunk = on_chunk
        self._digest = Digest(stream)
        self._expanded_hash: hashlib._Hash | None = None
        start = self._digest.read(CHUNK_BYTES)
        compression = compression_of(start)
        self._chunks = self._expanded(compression, start) if compression else self._plain(start)
        self._head = self._first_chunks().removeprefix(UTF8_MARK)
        if refusal := why_no_text(self._head):
            raise UnreadableInput(refusal)
        self.prefix = prefix_of(self._whole_lines(), _QUERIES)
        self._line = partial(_without_prefix, self.prefix) if self.prefix else _line

    @property
    def head(self) -> str:
        """The start of the text (at most 1 MiB), without control sequences and prefixes. All line ends are those of Unix."""
        text, prefix = self._raw_head(), self.prefix
        return "\n".join(line[match.end() :] if (match := prefix.match(line)) else line for line in text.split("\n")) if prefix else text

    @property
    def note(self) -> str | None:
        """A message about the prefix or the encoding of the lines; ``None`` if there is no message."""
        if _JOINED_LINE.search(text := self._whole_lines()) and not _PLAIN_EQUALS.search(text):
            return _QUOTED_PRINTABLE
        if self.prefix:
            return f"each line begins with {self.prefix.label}, which was taken off"
        lacking = lacking_prefix(text, _QUERIES)
        if lacking is None:
            return None
        prefix, count, lines = lacking
        return f"{count} of {lines} lines begin with {prefix.label} and the others do not, so it was not taken off: cut it off with {prefix.command}"

    def _raw_head(self) -> str:
        return _text(self._head[:HEAD_BYTES]).replace("\r\n", "\n")

    def _whole_lines(self) -> str:
        head = self._raw_head()
        # If the log is longer than the head, the last line may be cut.
        return head[: head.rfind("\n") + 1] if len(self._head) > HEAD_BYTES else head

    def identity(self) -> tuple[int, str, str]:
        """Read the log to its end. Return the size in bytes and the SHA-256 of the stored log, and the SHA-256 of its text."""
        while self._digest.read(CHUNK_BYTES):
            pass  # Bytes that a format did not read still belong to the file.
        stored = self._digest.sha256()
        return self._digest.size_bytes, stored, self._expanded_hash.hexdigest() if self._expanded_hash else stored

    def lines(self) -> Iterator[Line]:
        """Yield each line without its end, without control sequences of terminals, and without the prefix of the log.

        Invalid UTF-8 is replaced by U+FFFD. A line longer than 64 KiB is cut and marked as incomplete.
        """
        return (piece for piece in self.pieces(RunCutter((), 1)) if isinstance(piece, Line))

    def pieces(self, runs: RunCutter, limit: int = LINE_BYTES) -> Iterator[Line | Lines]:
        """Yield each line as `lines` does, but yield consecutive lines with the same shape together, up to the end of a chunk.

        A line longer than ``limit`` bytes is cut.
        """
        number, carried, is_whole, _line = 1, b"", True, self._line
        if self.prefix:
            runs = RunCutter((), 1)  # The patterns of shapes match only lines without a prefix.
        for chunk in self._all_chunks():
            begin, end = chunk.find(b"\n"), chunk.rfind(b"\n") + 1
            if begin < 0:
                carried, is_whole = _clip(carried + chunk, limit, is_whole)
                continue
            yield _line(number, *_clip(carried + chunk[:begin], limit, is_whole))
            number += 1
            for text, bulk in runs.cut(chunk[begin:end]):
                if bulk:
                    run = Lines(number, text, bulk)
                    yield run
                    number += run.count
                    continue
                for raw in text[:-1].split(b"\n"):
                    yield _line(number, *_clip(raw, limit))
                    number += 1
            carried, is_whole = _clip(chunk[end:], limit)
        if carried or not is_whole:
            yield _line(number, carried, False)

    def _all_chunks(self) -> Iterator[bytes]:
        for chunk in itertools.chain((self._head,), self._chunks):
            if self._on_chunk:
                self._on_chunk(len(chunk))
            yield chunk

    def _plain(self, start: bytes) -> Iterator[bytes]:
        yield start
        while chunk := self._digest.read(CHUNK_BYTES):
            yield chunk

    def _expanded(self, compression: Compression, start: bytes) -> Iterator[bytes]:
        self._expanded_hash = digest = hashlib.sha256()
        try:
            for chunk in expanded(compression, self._plain(start)):
                digest.update(chunk)
                yield chunk
        except Damaged as damage:
            self.trouble = str(damage)

    def _first_chunks(self) -> bytes:
        """Return the bytes that the head needs. Several chunks may be needed, because a compressed stream may yield small chunks."""
        chunks: list[bytes] = []
        while sum(map(len, chunks)) < HEAD_BYTES and (chunk := next(self._chunks, b"")):
            chunks.append(chunk)
        return b"".join(chunks)


def _text(raw: bytes) -> str:
    return without_sequences(raw.decode(errors="replace"))


def without_sequences(text: str) -> str:
    """Return the text as formats read it: without control sequences of terminals."""
    return _CONTROL.sub("", text) if "\x1b" in text else text


def _line(number: int, raw: bytes, is_whole: bool) -> Line:
    return Line(number, _text(raw.removesuffix(b"\r")), is_whole)


def _without_prefix(prefix: Prefix, number: int, raw: bytes, is_whole: bool) -> Line:
    text = _text(raw.removesuffix(b"\r"))
    match = prefix.match(text)
    if match is None:
        return Line(number, text, is_whole)
    line = PrefixedLine(number, text[match.end() :], is_whole)
    line.prefix = match[0]
    if prefix.has_time:
        line.stamp = match["time"]
    return line


def why_no_text(head: bytes) -> str | None:
    """Return the reason why bytes are not the text of one log, with a remedy; ``None`` if they may be such a text."""
    if encoding := utf16_of(head):
        return UTF16_REFUSED.format(encoding)
    if _is_tar(head):
        return "an archive (tar), not the text of one log: unpack it first (tar -xf)"
    return None


def utf16_of(head: bytes) -> str | None:
    """Return the name of the UTF-16 encoding of bytes, as ``iconv`` needs it; ``None`` for other encodings.

    UTF-16 without a byte-order mark is recognised too, because nearly every second byte of such a text is zero.
    """
    if head.startswith(UTF16_MARKS):
        return "UTF-16"
    start = head[:_LOOKED_AT]
    first, second = start[0::2], start[1::2]
    for encoding, zero, other in (("UTF-16LE", second, first), ("UTF-16BE", first, second)):
        if len(zero) > 1 and zero.count(0) >= _MOSTLY * len(zero) and other.count(0) <= (1 - _MOSTLY) * len(other):
            return encoding
    return None


def _is_tar(head: bytes) -> bool:
    """Whether the checksum in the header of a tar archive is correct.

    The checksum is the sum of all bytes of the header. The bytes of the checksum count as blanks.
    """
    header = head[:_TAR_HEADER]
    checksum = header[_TAR_SUM].strip(b" \0")
    if len(header) < _TAR_HEADER or not checksum.isdigit() or not header[0]:
        return False
    try:
        return int(checksum, 8) == sum(header) - sum(header[_TAR_SUM]) + 8 * ord(" ")
    except ValueError:
        return False


def _clip(raw: bytes, limit: int, is_whole: bool = True) -> tuple[bytes, bool]:
    return (raw, is_whole) if len(raw) <= limit else (raw[:limit], False)


def not_a_file(path: Path) -> str | None:
    """Return a message if a path is a named pipe, a socket or a device; ``None`` for any other path, even if it does not exist."""
    try:
        kind = _NO_FILES.get(stat.S_IFMT(path.stat().st_mode))
    except OSError:
        return None  # Opening the path will raise the error.
    return f"not a file but a {kind}" if kind else None


def would_wait(path: Path) -> str | None:
    """Return a message if reading a path may block for ever; ``None`` for a file, and for a pipe that a shell creates for ``<(...)``."""
    return None if _HANDED_OVER.fullmatch(str(path)) else not_a_file(path)


@contextmanager
def open_log(path: Path) -> Iterator[LogText]:
    """Open a log file that the user names. `open_log_in` opens logs that a manifest or a folder names.

    Raises:
        UnreadableInput: it cannot be opened or read, or is not a regular file (for example a named pipe), or is UTF-16.
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
        UnreadableInput: it cannot be read, for example from a failing disk, or is UTF-16.
    """
    try:
        return LogText(stream)
    except OSError as error:
        raise UnreadableInput(f"cannot be read: {error.strerror}") from error


@contextmanager
def open_log_in(folder: Path, name: str) -> Iterator[LogText]:
    """Open a log by its name in a folder. It must be a regular file inside the folder, and no link may be on the way.

    Raises:
        UnreadableInput: there is no such file, or it cannot be opened or read, or is UTF-16.
    """
    with open_evidence(folder, name) as stream:
        yield LogText(stream)
