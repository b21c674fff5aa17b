"""Compressed texts that grow by runs. What the former file held of a run is taken from there, as long as neither of them has changed."""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tacholog.errors import TachologError

_LEVEL = 6  # of compression: level 9 takes twice the time for 3 % less


class Piece(NamedTuple):
    """What a file holds of a run: its name, its digest, and how many bytes it has in each of the texts."""

    run: str
    digest: str
    sizes: tuple[int, ...]


class FormerFile(msgspec.Struct, frozen=True):
    """A file that was written, or several of the same runs: of what it was made, the SHA-256 of each, and what it holds, in its order."""

    key: str
    sha256: tuple[str, ...] = ()
    pieces: tuple[Piece, ...] = ()


class FormerText:
    """The texts in former files, read run by run and never as a whole."""

    def __init__(self, pieces: Sequence[Piece], contents: Iterable[bytes]) -> None:
        """``contents`` are those of the files, in the order of the sizes of a piece."""
        self._digests = {piece.run: piece.digest for piece in pieces}
        self._rest = iter(pieces)
        self._streams = [gzip.GzipFile(fileobj=io.BytesIO(content)) for content in contents]

    def has(self, run: str, digest: str) -> bool:
        """Whether it holds a run, and the run had this digest."""
        return self._digests.get(run) == digest

    def take(self, run: str) -> list[bytes]:
        """Return what the texts hold of a run. Runs are taken in their order.

        Raises:
            TachologError: the texts are not what is known of them.
        """
        for piece in self._rest:
            texts = [stream.read(size) for stream, size in zip(self._streams, piece.sizes, strict=True)]
            if piece.run == run and tuple(map(len, texts)) == piece.sizes:
                return texts
        raise TachologError(f"{run}: a file for download is not what the last build wrote; build the site again")


def former_text(former: FormerFile, paths: Sequence[Path], heads: Sequence[bytes]) -> FormerText | None:
    """Return the texts of former files without their heads; nothing if one of the files is not what was written."""
    try:
        contents = [path.read_bytes() for path in paths]
    except OSError:
        return None
    if former.sha256 != tuple(hashlib.sha256(content).hexdigest() for content in contents):
        return None
    first = Piece("", "", tuple(map(len, heads)))
    text = FormerText([first, *former.pieces], contents)
    return text if text.take("") == list(heads) else None


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
