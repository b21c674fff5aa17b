"""Bytes to lines, whatever the bytes are: bounded memory, no exception from hostile content."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tacholog.errors import UnreadableInput
from tacholog.formats.lines import Line

CHUNK_BYTES = 1 << 20
HEAD_BYTES = 1 << 20
LINE_BYTES = 1 << 16  # The longest line that a known tool prints is a histogram of a few KiB.
EXPANDED_BYTES = 1 << 36  # A compressed log above 64 GiB is taken for a decompression bomb.
GZIP_MAGIC = b"\x1f\x8b"
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


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

    ``trouble`` says after reading why the bytes ended early (a damaged gzip stream), ``None`` if they did not.
    """

    def __init__(self, stream: BinaryIO) -> None:
        """Wrap a stream opened for reading; only its first MiB is read now.

        Raises:
            UnreadableInput: the text is UTF-16.
        """
        self.trouble: str | None = None
        self._digest = Digest(stream)
        start = self._digest.read(CHUNK_BYTES)
        self._chunks = self._gunzip(start) if start.startswith(GZIP_MAGIC) else self._plain(start)
        self._head = next(self._chunks, b"").removeprefix(UTF8_MARK)
        if self._head.startswith(UTF16_MARKS):
            raise UnreadableInput("the text is UTF-16; convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)")

    @property
    def head(self) -> str:
        """The start of the text, at most 1 MiB."""
        return self._head.decode(errors="replace")

    def identity(self) -> tuple[int, str]:
        """Size in bytes and SHA-256 of the log as it is stored, once it has been read to its end."""
        while self._digest.read(CHUNK_BYTES):
            pass  # What a parser had no use for still belongs to the file.
        return self._digest.size_bytes, self._digest.sha256()

    def lines(self) -> Iterator[Line]:
        """Yield each line without its end. Invalid UTF-8 becomes U+FFFD; a line over 64 KiB is cut there and not whole."""
        for number, (raw, whole) in enumerate(self._raw_lines(), start=1):
            yield Line(number, raw.removesuffix(b"\r").decode(errors="replace"), whole)

    def _raw_lines(self) -> Iterator[tuple[bytes, bool]]:
        rest, whole = b"", True
        for chunk in self._all_chunks():
            first, *others = chunk.split(b"\n")
            rest, whole = _clip(rest + first, whole)
            for other in others:
                yield rest, whole
                rest, whole = _clip(other, True)
        if rest or not whole:
            yield rest, False

    def _all_chunks(self) -> Iterator[bytes]:
        yield self._head
        yield from self._chunks

    def _plain(self, start: bytes) -> Iterator[bytes]:
        yield start
        while chunk := self._digest.read(CHUNK_BYTES):
            yield chunk

    def _gunzip(self, start: bytes) -> Iterator[bytes]:
        """Expand the stream, member by member; what came before the damage is kept."""
        expanded_bytes = 0
        try:
            for chunk in _expanded(self._plain(start)):
                expanded_bytes += len(chunk)
                if expanded_bytes > EXPANDED_BYTES:
                    raise zlib.error(f"over {EXPANDED_BYTES >> 30} GiB when expanded, which is taken for a decompression bomb")  # noqa: TRY301
                yield chunk
        except zlib.error as error:
            self.trouble = f"the gzip stream is damaged: {error}"


def _expanded(compressed: Iterator[bytes]) -> Iterator[bytes]:
    """Expand gzip members in pieces of at most 1 MiB.

    Raises:
        zlib.error: the stream is damaged or ends early.
    """
    member = zlib.decompressobj(wbits=31)
    for piece in compressed:
        rest = piece
        while rest:
            if member.eof:
                member = zlib.decompressobj(wbits=31)
            if chunk := member.decompress(rest, CHUNK_BYTES):
                yield chunk
            rest = member.unused_data if member.eof else member.unconsumed_tail
    if not member.eof:
        raise zlib.error("it ends before its end mark")


def _clip(raw: bytes, whole: bool) -> tuple[bytes, bool]:
    return (raw, whole) if len(raw) <= LINE_BYTES else (raw[:LINE_BYTES], False)


@contextmanager
def open_log(path: Path) -> Iterator[LogText]:
    """Open a log file.

    Raises:
        UnreadableInput: it cannot be opened, or is UTF-16.
    """
    try:
        stream = path.open("rb")
    except OSError as error:
        raise UnreadableInput(f"cannot open: {error.strerror}") from error
    with stream:
        yield LogText(stream)
