"""The SHA-256 of files that commands read again and again. A file that nobody has written to since it was read is not read again.

Who changes a file changes its state: its inode, its size, or one of its times. The time of the last change of the inode is among them: nobody can
set it back, as `touch` and `rsync` do with the time of the last modification. This is what git relies on, too.

The cache keeps each digest under the path of the file and its state. So what it says never becomes wrong: a changed file has another key.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from tacholog.dataset.cache import Cache, Kind, Pack, packed, unpacked

_SETTLED_NS = 3_000_000_000  # Some file systems count time in steps of two seconds.
_STATE = struct.Struct("<QQQqq")
_DIGEST_BYTES = 32
_RECORD_BYTES = 2 * _DIGEST_BYTES
_IN_PACK = 1000
_MOST_IN_MEMORY = 1 << 15  # A folder may have millions of files.
_READ_BYTES = 1 << 20
_HAS_TIME_OF_CHANGE = sys.platform != "win32"  # There, it is the time of the creation.


class SeenFile(NamedTuple):
    """A file that was looked at.

    Attributes:
        sha256: the SHA-256 of its content, if that is known.
        size_bytes: its size; 0 if it is no regular file.
        key: under which its SHA-256 is kept; empty if it is not to be kept.
        changed_ns: when it was changed last.
    """

    sha256: str | None = None
    size_bytes: int = 0
    key: bytes = b""
    changed_ns: int = 0


_NOTHING = SeenFile()


class FileDigests:
    """Knows the digests of files, and keeps them in a cache."""

    def __init__(self, cache: Cache) -> None:
        """Look digests up in this cache."""
        self._cache = cache
        self._known: dict[bytes, bytes] = {}
        self._fresh: dict[bytes, bytes] = {}

    def seen(self, paths: Iterable[str]) -> list[SeenFile]:
        """Look at regular files; nothing is known of anything else.

        Args:
            paths: the files. Links on the way to them are followed, so the caller must not look at others' names with it.
        """
        looked = [_looked(path) for path in paths]
        known = self._digests([file.key for file in looked if file.key])
        return [file if (digest := known.get(file.key)) is None else SeenFile(digest.hex(), file.size_bytes) for file in looked]

    def remember(self, seen: SeenFile, sha256: str) -> None:
        """Keep the SHA-256 of a file that was read after it was looked at."""
        # Else a later change might leave its times as they are.
        if seen.key and time.time_ns() - seen.changed_ns >= _SETTLED_NS:
            self._fresh[seen.key] = bytes.fromhex(sha256)
            if len(self._fresh) >= _IN_PACK:
                self.flush()

    def all_sha256(self, paths: Sequence[str], read: Callable[[str], str | None]) -> list[str | None]:
        """Return the SHA-256 of each of these regular files; what ``read`` says of anything else.

        Args:
            paths: as for `seen`.
            read: called if nobody knows what is in a file. Returns ``None`` for a file that cannot be read.
        """
        return [file.sha256 for file in self.read(paths, read)]

    def read(self, paths: Sequence[str], read: Callable[[str], str | None]) -> list[SeenFile]:
        """Return the same with the size of each file."""
        return [file if file.sha256 is not None else self._read(path, file, read) for path, file in zip(paths, self.seen(paths), strict=True)]

    def _read(self, path: str, seen: SeenFile, read: Callable[[str], str | None]) -> SeenFile:
        digest = read(path)
        if digest is not None:
            self.remember(seen, digest)
        return seen._replace(sha256=digest)

    def flush(self) -> None:
        """Write down what is not in the cache yet."""
        if self._fresh:
            content = b"".join([key + digest for key, digest in self._fresh.items()])
            self._cache.put_packs(Kind.FILE, [Pack(list(self._fresh), packed(content))])
            self._hold(self._fresh)
            self._fresh = {}

    def _digests(self, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the digests that are known under these keys, and maybe others."""
        found: dict[bytes, bytes] = {}
        missing: list[bytes] = []
        for key in keys:
            digest = self._known.get(key) or self._fresh.get(key)
            if digest is None:
                missing.append(key)
            else:
                found[key] = digest
        if missing:
            for pack, _ in self._cache.packs(Kind.FILE, missing):
                content = unpacked(pack)
                # What was kept together is mostly asked for together.
                kept = {
                    content[at : at + _DIGEST_BYTES]: content[at + _DIGEST_BYTES : at + _RECORD_BYTES] for at in range(0, len(content), _RECORD_BYTES)
                }
                found |= kept
                self._hold(kept)
        return found

    def _hold(self, pack: dict[bytes, bytes]) -> None:
        """Hold digests in memory."""
        if len(self._known) + len(pack) > _MOST_IN_MEMORY:
            self._known.clear()
        self._known |= pack


@lru_cache(maxsize=4)
def digests_in(cache: Cache) -> FileDigests:
    """Return the digests that a cache keeps: one object for each cache, so that nothing is looked up twice."""
    return FileDigests(cache)


def read_sha256(path: str) -> str:
    """Return the SHA-256 of a regular file. A site has thousands of small files, for which a buffer of Python takes longer than their bytes."""
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as this: to make a `Path` of each takes as long, too
        while piece := file.read(_READ_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _here() -> bytes:
    try:
        return os.fsencode(os.getcwd())  # noqa: PTH109 - no `Path` is needed
    except OSError:  # Somebody has deleted the folder. Other paths than those from here can still be read.
        return b""


def _looked(path: str) -> SeenFile:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return _NOTHING
    if not stat.S_ISREG(found.st_mode):
        return _NOTHING
    size_bytes, modified_ns, changed_ns = found.st_size, found.st_mtime_ns, found.st_ctime_ns
    if not _HAS_TIME_OF_CHANGE:
        return SeenFile(None, size_bytes)
    state = _STATE.pack(found.st_dev, found.st_ino, size_bytes, modified_ns, changed_ns)
    name = os.fsencode(path)
    whole = name if name.startswith(b"/") else _here() + b"/" + name
    return SeenFile(None, size_bytes, hashlib.sha256(state + whole).digest(), max(modified_ns, changed_ns))
