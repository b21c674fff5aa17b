"""The bytes of a log as a site offers them: expanded if they were compressed, and without names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tacholog.formats._expand import CHUNK_BYTES, Damaged, expanded, packing_of
from tacholog.formats.source import UTF16_MARKS
from tacholog.report.privacy import Redactor

# A colour stands before a word without a blank: the word would not look like one.
_CONTROL = re.compile(r"(\x1b\[[0-9;]{0,100}[A-Za-z])")
_NOT_SHOWN = b"This log is UTF-16. It is not shown, because names in it could not be told from the rest.\n"


def lines(path: Path) -> Iterator[str]:
    """Yield the lines of a log with their ends; of a file that cannot be read, none. Bytes that are no text come back from `encoded` as they were."""
    rest = b""
    try:
        for chunk in _chunks(path):
            *whole, rest = (rest + chunk).split(b"\n")
            yield from (_text(line + b"\n") for line in whole)
            if len(rest) > CHUNK_BYTES:
                yield _text(rest)
                rest = b""
    except (OSError, Damaged):
        pass  # what came before the damage counts
    if rest:
        yield _text(rest)


def plain(line: str) -> str:
    """Return a line without what only controls a terminal."""
    return _CONTROL.sub("", line)


def redacted(path: Path, redactor: Redactor) -> bytes | None:
    """Return a log's bytes without names; nothing where none are in it and the file may be shown as it is."""
    try:
        with path.open("rb") as stream:
            start = stream.read(CHUNK_BYTES)
    except OSError:
        return None
    if start.startswith(UTF16_MARKS):
        return _NOT_SHOWN
    given = list(lines(path))
    shown = ["".join(redactor.text(piece) for piece in _CONTROL.split(line)) for line in given]
    return None if shown == given and packing_of(start) is None else "".join(shown).encode("utf-8", "surrogateescape")


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        start = stream.read(CHUNK_BYTES)
        packing = packing_of(start)
        pieces = _with_rest(start, stream)
        yield from expanded(packing, pieces) if packing else pieces


def _with_rest(start: bytes, stream: BinaryIO) -> Iterator[bytes]:
    yield start
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
