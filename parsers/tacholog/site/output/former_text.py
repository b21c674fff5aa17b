"""A compressed text that grows by runs. What the former file held of a run is taken from there, as long as neither of them has changed.

Some runs together are compressed by themselves: a file of gzip may have several members, which every reader joins. So for a run more, only a few are
compressed again, and all other members are copied as they are. Which runs are together follows from their names alone: a file is the same however it
grew.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import msgspec

from tacholog.errors import TachologError

_LEVEL = 6  # of compression: level 9 takes twice the time for 3 % less
_GZIP = 16 + zlib.MAX_WBITS
_RUNS_TOGETHER = 16  # in the mean: those of less took more bytes, those of more more time


class Piece(NamedTuple):
    """What a file holds of a run: its name, its digest, and how many bytes it has in the text."""

    run: str
    digest: str
    size: int


class Member(NamedTuple):
    """Some runs that are compressed together, and how many bytes they have then: none, if the runs have no text."""

    pieces: tuple[Piece, ...]
    packed_bytes: int


class FormerFile(msgspec.Struct, frozen=True):
    """A file that was written: of what it was made, its SHA-256, and what it holds behind its head, in its order."""

    key: str
    sha256: str = ""
    members: tuple[Member, ...] = ()


def groups(runs: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the runs of a file, in their order, as they are compressed together."""
    start = 0
    for end, run in enumerate(runs, start=1):
        if end == len(runs) or zlib.crc32(run.encode("utf-8", "surrogateescape")) % _RUNS_TOGETHER == 0:
            yield tuple(runs[start:end])
            start = end


class FormerText:
    """The text in a former file, of which one member at a time is unpacked."""

    def __init__(self, members: Sequence[Member], content: bytes, start: int) -> None:
        """``content`` is the file, of which the first member begins at ``start``."""
        ends = accumulate((member.packed_bytes for member in members), initial=start)
        self._members = {
            member.pieces[0].run: (member, content[place : place + member.packed_bytes]) for member, place in zip(members, ends, strict=False)
        }
        self._first_of = {piece.run: member.pieces[0].run for member in members for piece in member.pieces}
        self._digests = {piece.run: piece.digest for member in members for piece in member.pieces}
        self._unpacked: tuple[str, dict[str, bytes]] = "", {}

    def has(self, run: str, digest: str) -> bool:
        """Whether it holds a run, and the run had this digest."""
        return self._digests.get(run) == digest

    def member(self, runs: Sequence[str], digests: Mapping[str, str]) -> tuple[Member, bytes] | None:
        """Return the member that holds just these runs with these digests, and its bytes."""
        found = self._members.get(runs[0])
        return found if found and [piece[:2] for piece in found[0].pieces] == [(run, digests[run]) for run in runs] else None

    def take(self, run: str) -> bytes:
        """Return what the text holds of a run.

        Raises:
            TachologError: the text is not what is known of it.
        """
        first = self._first_of.get(run)
        if first is None:
            raise _other_text(run)
        if self._unpacked[0] != first:
            member, content = self._members[first]
            try:
                text = zlib.decompress(content, _GZIP) if content else b""
            except zlib.error:
                raise _other_text(run) from None
            ends = list(accumulate((piece.size for piece in member.pieces), initial=0))
            if ends[-1] != len(text):
                raise _other_text(run)
            self._unpacked = first, {piece.run: text[start:end] for piece, start, end in zip(member.pieces, ends, ends[1:], strict=False)}
        return self._unpacked[1][run]


def _other_text(run: str) -> TachologError:
    return TachologError(f"{run}: a file for download is not what the last build wrote; build the site again")


def former_text(former: FormerFile, path: Path, head: bytes) -> FormerText | None:
    """Return the text of a former file without its head; nothing if the file is not what was written."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    start = packed(head) if head else b""
    if former.sha256 != hashlib.sha256(content).hexdigest() or not content.startswith(start):  # A file without rows has no head either.
        return None
    return FormerText(former.members, content, len(start))


class PackedText:
    """A compressed text that grows by members. Its head is a member of its own, before the first that is not empty."""

    def __init__(self, head: bytes) -> None:
        """``head`` is what it begins with."""
        self._head = head
        self._parts: list[bytes] = []

    def add(self, member: bytes) -> None:
        """Add a member that is compressed already; none if it has no bytes."""
        if not member:
            return
        if not self._parts and self._head:
            self._parts.append(packed(self._head))
        self._parts.append(member)

    def content(self) -> bytes:
        """Return the whole text, compressed."""
        return b"".join(self._parts) or packed(b"")


def packed(text: bytes) -> bytes:
    """Return a text as a member of a file of gzip: the same bytes for the same text."""
    packer = zlib.compressobj(_LEVEL, wbits=_GZIP)
    return packer.compress(text) + packer.flush()
