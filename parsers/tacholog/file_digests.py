"""The SHA-256 of files that a build reads again and again. A file that nobody has written to since it was read is not read again.

Who changes a file changes its state: its inode, its size, or one of its times. The time of the last change of the inode is among them: nobody can
set it back, as `touch` and `rsync` do with the time of the last modification. This is what git relies on, too.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

_SETTLED_NS = 3_000_000_000  # Some file systems count time in steps of two seconds.
_STATE = struct.Struct("<QQQqq")
_DIGEST_BYTES = 32
_READ_BYTES = 1 << 20
_before: dict[bytes, bytes] = {}
_now: dict[bytes, bytes] | None = None  # nothing is remembered outside of a build


class SeenFile(NamedTuple):
    """A file that was looked at.

    Attributes:
        sha256: the SHA-256 of its content, if that is remembered.
        size_bytes: its size, if that is remembered.
        state: what `remember` needs.
    """

    sha256: str | None = None
    size_bytes: int = 0
    state: tuple[bytes, bytes, int] | None = None


_NOTHING = SeenFile()


def seen_file(path: str) -> SeenFile:
    """Look at a regular file; nothing is remembered of anything else.

    Args:
        path: the file. Links on the way to it are followed, so the caller must not look at others' names with it.
    """
    if _now is None:
        return _NOTHING
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return _NOTHING
    if not stat.S_ISREG(found.st_mode):
        return _NOTHING
    name = os.fsencode(path)
    state = _STATE.pack(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    known = _now.get(name) or _before.get(name)
    if known is not None and known.startswith(state):
        _now[name] = known
        return SeenFile(known[_STATE.size :].hex(), found.st_size)
    return SeenFile(state=(name, state, max(found.st_mtime_ns, found.st_ctime_ns)))


def remember(seen: SeenFile, sha256: str) -> None:
    """Remember the SHA-256 of a file that was read after it was looked at."""
    if _now is None or seen.state is None:
        return
    name, state, changed_ns = seen.state
    if time.time_ns() - changed_ns >= _SETTLED_NS:
        _now[name] = state + bytes.fromhex(sha256)  # Else a later change might leave its times as they are.


def known_sha256(path: str, read: Callable[[], str | None]) -> str | None:
    """Return the SHA-256 of a regular file; what ``read`` says of anything else.

    Args:
        path: as for `seen_file`.
        read: called if nobody knows what is in the file. Returns ``None`` for a file that cannot be read.
    """
    seen = seen_file(path)
    if seen.sha256 is not None:
        return seen.sha256
    digest = read()
    if digest is not None:
        remember(seen, digest)
    return digest


@contextmanager
def remembering(memory: Path) -> Iterator[None]:
    """Remember digests for as long as this is open, and in a file until the next time. Nothing is kept of a file that nobody asked for."""
    global _before, _now  # As with a cache, what is in it is true or is not used, whoever asks.
    given = _remembered(memory)
    _before, _now = given, {}
    try:
        yield
    finally:
        made, _before, _now = _now, {}, None
        if made != given:
            _keep(memory, made)


def read_sha256(path: str) -> str:
    """Return the SHA-256 of a regular file. A site has thousands of small files, for which a buffer of Python takes longer than their bytes."""
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as this: to make a `Path` of each takes as long, too
        while piece := file.read(_READ_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _remembered(memory: Path) -> dict[bytes, bytes]:
    if sys.platform == "win32":
        return {}  # There, the time of the last change is that of the creation.
    try:
        content = memory.read_bytes()
        if hashlib.sha256(content[_DIGEST_BYTES:]).digest() != content[:_DIGEST_BYTES]:
            return {}
        found = msgspec.msgpack.decode(content[_DIGEST_BYTES:], type=dict[bytes, bytes])
    except (OSError, msgspec.DecodeError):
        return {}
    whole = _STATE.size + _DIGEST_BYTES
    return found if all(len(value) == whole for value in found.values()) else {}


def _keep(memory: Path, made: dict[bytes, bytes]) -> None:
    content = msgspec.msgpack.encode(made)
    part = memory.with_name(f"{memory.name}.part")
    try:
        part.write_bytes(hashlib.sha256(content).digest() + content)
        part.replace(memory)
    except OSError:  # What is not remembered is read again. The build is not spoilt by it.
        with suppress(OSError):
            part.unlink()
