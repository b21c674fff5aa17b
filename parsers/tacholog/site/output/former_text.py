"""A compressed text that grows by runs. What the former file held of a run is taken from there, as long as neither of them has changed."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tacholog.errors import TachologError

_LEVEL = 6  # of compression: level 9 takes twice the time for 3 % less


class Piece(NamedTuple):
    """What a file holds of a run: its name, its digest, and how many bytes it has in the text."""

    run: str
    digest: str
    size: int


class FormerFile(msgspec.Struct, frozen=True):
    """A file that was written: of what it was made, its SHA-256, what it holds, in its order, and which rows of its runs these are."""

    key: str
    sha256: str = ""
    pieces: tuple[Piece, ...] = ()
    rows: str = ""


class FormerText:
    """The text in a former file, read run by run and never as a whole."""

    def __init__(self, pieces: Sequence[Piece], content: bytes) -> None:
        self._digests = {piece.run: piece.digest for piece in pieces}
        self._rest = iter(pieces)
        self._stream = gzip.GzipFile(fileobj=io.BytesIO(content))

    def has(self, run: str, digest: str) -> bool:
        """Whether it holds a run, and the run had this digest."""
        return self._digests.get(run) == digest

    def take(self, run: str) -> bytes:
        """Return what the text holds of a run. Runs are taken in their order.

        Raises:
            TachologError: the text is not what is known of it.
        """
        for piece in self._rest:
            try:
                text = self._stream.read(piece.size)
            except (OSError, EOFError, zlib.error):
                break
            if piece.run == run and len(text) == piece.size:
                return text
        raise TachologError(f"{run}: a file for download is not what the last build wrote; build the site again")


def former_text(former: FormerFile, path: Path, head: bytes) -> FormerText | None:
    """Return the text of a former file without its head; nothing if the file is not what was written."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if former.sha256 != hashlib.sha256(content).hexdigest():
        return None
    text = FormerText([Piece("", "", len(head)), *former.pieces], content)
    try:
        return text if text.take("") == head else None
    except TachologError:  # A file without rows has no head either.
        return None


class PackedText:
    """A compressed text that grows. Its head is written before the first piece that is not empty."""

    def __init__(self, head: bytes) -> None:
        """``head`` is what it begins with."""
        self._head = head
        self._buffer = io.BytesIO()
        self._file = gzip.GzipFile(fileobj=self._buffer, mode="wb", compresslevel=_LEVEL, mtime=0)

    def add(self, text: bytes) -> None:
        """Add a piece."""
        if text:
            self._file.write(self._head + text)
            self._head = b""

    def content(self) -> bytes:
        """Return the whole text, compressed."""
        self._file.close()
        return self._buffer.getvalue()
