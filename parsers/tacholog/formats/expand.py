"""Expanding compressed logs: gzip, xz and Zstandard, member by member, in bounded memory, and never a decompression bomb to its end."""

from __future__ import annotations

import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK_BYTES = 1 << 20
EXPANDED_BYTES = 1 << 36  # Nobody reads a log above 64 GiB as text.
# Real logs shrink to a tenth, the most monotonous of them to a hundredth. What grows 900-fold, and is more than 2 MiB, was made to.
BOMB_RATIO, BOMB_BYTES = 900, 1 << 21
_PIECE_BYTES = 1 << 13
_MEMORY_BYTES = 1 << 28  # A dictionary above 256 MiB is nothing that a packer makes unasked.
_WINDOW_LOG = 27


class Damaged(Exception):
    """The stream is damaged, ends early or is a bomb; the message says which."""


class _Member(Protocol):
    """One compressed stream of several that may stand one behind the other: what `lzma.LZMADecompressor` and its Zstandard sister are."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


class _Gzip:
    """zlib's decompressor in the same shape."""

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


class Packing(NamedTuple):
    """A way to compress: its name in messages, the bytes that it starts with, and how to begin a member."""

    name: str
    magic: bytes
    member: Callable[[], _Member]


PACKINGS = (
    Packing("gzip", b"\x1f\x8b", _Gzip),
    Packing("xz", b"\xfd7zXZ\x00", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY_BYTES)),
    Packing("zstd", b"\x28\xb5\x2f\xfd", lambda: zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})),
)


def packing_of(start: bytes) -> Packing | None:
    """How a file that starts with these bytes is compressed; ``None`` if it is not."""
    return next((packing for packing in PACKINGS if start.startswith(packing.magic)), None)


def expanded(packing: Packing, compressed: Iterator[bytes]) -> Iterator[bytes]:
    """Expand a stream in chunks of at most 1 MiB.

    Raises:
        Damaged: the stream cannot be expanded any further; what was yielded before is good.
    """
    fed = grown = 0  # of the present member: what came before it does not hide a bomb
    all_fed = all_grown = 0  # of all members: many small ones are a bomb too
    member = packing.member()
    for piece in _small(compressed):
        fed += len(piece)
        all_fed += len(piece)
        rest = piece
        while rest or not (member.eof or member.needs_input):
            if member.eof:
                rest = rest.lstrip(b"\x00")  # Padding between members, to a whole block.
                if not rest:
                    break
                member, fed, grown = packing.member(), len(rest), 0
            chunk = _step(packing, member, rest)
            grown += len(chunk)
            all_grown += len(chunk)
            _refuse_bomb(packing, fed, grown)
            _refuse_bomb(packing, all_fed, all_grown)
            if chunk:
                yield chunk
            rest = member.unused_data if member.eof else b""
    if not member.eof:
        raise Damaged(f"the {packing.name} stream is damaged: it ends before its end mark")


def _small(compressed: Iterator[bytes]) -> Iterator[bytes]:
    """The stream in pieces so small that what has been fed and what came out of it can be compared."""
    for piece in compressed:
        for at in range(0, len(piece), _PIECE_BYTES):
            yield piece[at : at + _PIECE_BYTES]


def _step(packing: Packing, member: _Member, data: bytes) -> bytes:
    try:
        return member.decompress(data, CHUNK_BYTES)
    except (zlib.error, lzma.LZMAError, zstd.ZstdError, EOFError, MemoryError) as error:
        raise Damaged(f"the {packing.name} stream is damaged: {error}") from error


def _refuse_bomb(packing: Packing, fed: int, grown: int) -> None:
    if grown > EXPANDED_BYTES:
        raise Damaged(f"the {packing.name} stream was left at {EXPANDED_BYTES >> 30} GiB of text: no log is that long")
    if grown > BOMB_BYTES and grown > BOMB_RATIO * fed:
        raise Damaged(
            f"the {packing.name} stream was left at {grown >> 20} MiB, which came out of {max(1, fed >> 10)} KiB: it is taken "
            "for a decompression bomb (expand it yourself if it is none)"
        )
