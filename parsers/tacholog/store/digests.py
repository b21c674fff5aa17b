"""The SHA-256 of files, and of the code that reads them. Both are parts of the keys of the cache.

A file that was not changed since it was read is not read again.

A change of a file changes its state: its inode, its size, or one of its times. One of these is the time of the last change of the inode. No program
can set it back, as `touch` and `rsync` do with the time of the last modification. Git relies on the same.

The cache has each digest under the path of its file, together with the state of the file.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tacholog.formats.registry import entries, format_named, package_of
from tacholog.store.cache import Cache, Kind

_SETTLED_NS = 3_000_000_000  # Some file systems count time in steps of two seconds.
_STATE = struct.Struct("<QQQqq")
_AT_ONCE = 1000  # So many are written together.
_READ_BYTES = 1 << 20
_HAS_TIME_OF_CHANGE = sys.platform != "win32"  # There, it is the time of the creation.


class FileStamp(NamedTuple):
    """What is known of a file, and what tells whether it was changed.

    Attributes:
        sha256: the SHA-256 of its content, if it is known.
        size_bytes: its size; 0 if it is no regular file.
        key: the key of its SHA-256 in the cache; empty if the SHA-256 must not be stored.
        state: its state, which differs after any change.
        changed_ns: the time of its last change.
    """

    sha256: str | None = None
    size_bytes: int = 0
    key: bytes = b""
    state: bytes = b""
    changed_ns: int = 0


_NOTHING = FileStamp()


class FileDigests:
    """The digests of files, stored in a cache."""

    def __init__(self, cache: Cache) -> None:
        """Look digests up in this cache."""
        self._cache = cache
        self._fresh: dict[bytes, bytes] = {}

    def look_up(self, paths: Iterable[str]) -> list[FileStamp]:
        """Return the stamps of files, with the digests that the cache has. The stamp of anything but a regular file is empty.

        Args:
            paths: the files. Links in their folders are followed, so the caller must not pass names that others chose.
        """
        files = [_stamp_of(path) for path in paths]
        entries = self._cache.get(Kind.FILE, [file.key for file in files if file.key]) | self._fresh
        return [file._replace(sha256=_digest_in(entries.get(file.key, b""), file.state)) for file in files]

    def remember(self, file: FileStamp, sha256: str) -> None:
        """Store the SHA-256 of a file that was read after its stamp was taken."""
        # Else a later change might leave its times as they are.
        if file.key and time.time_ns() - file.changed_ns >= _SETTLED_NS:
            self._fresh[file.key] = file.state + bytes.fromhex(sha256)
            if len(self._fresh) >= _AT_ONCE:
                self.flush()

    def all_sha256(self, paths: Sequence[str], read: Callable[[str], str | None]) -> list[str | None]:
        """Return the SHA-256 of each of these files.

        Args:
            paths: as for `look_up`.
            read: reads a file whose SHA-256 is not known, and returns it; ``None`` for a file that cannot be read.
        """
        return [file.sha256 for file in self.read(paths, read)]

    def read(self, paths: Sequence[str], read: Callable[[str], str | None]) -> list[FileStamp]:
        """Return the same with the size of each file."""
        return [file if file.sha256 is not None else self._read(path, file, read) for path, file in zip(paths, self.look_up(paths), strict=True)]

    def _read(self, path: str, file: FileStamp, read: Callable[[str], str | None]) -> FileStamp:
        digest = read(path)
        if digest is not None:
            self.remember(file, digest)
        return file._replace(sha256=digest)

    def flush(self) -> None:
        """Write new digests to the cache."""
        self._cache.put(Kind.FILE, self._fresh)
        self._fresh = {}


def _digest_in(entry: bytes, state: bytes) -> str | None:
    """Return the SHA-256 in an entry of the cache, if the file still has the state of the entry."""
    return entry[_STATE.size :].hex() if state and entry[: _STATE.size] == state else None


@lru_cache(maxsize=4)
def digests_in(cache: Cache) -> FileDigests:
    """Return the digests in a cache: one object for each cache."""
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


def _stamp_of(path: str) -> FileStamp:
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return _NOTHING
    if not stat.S_ISREG(status.st_mode):
        return _NOTHING
    size_bytes, modified_ns, changed_ns = status.st_size, status.st_mtime_ns, status.st_ctime_ns
    if not _HAS_TIME_OF_CHANGE:
        return FileStamp(None, size_bytes)
    state = _STATE.pack(status.st_dev, status.st_ino, size_bytes, modified_ns, changed_ns)
    name = os.fsencode(path)
    absolute = name if name.startswith(b"/") else _here() + b"/" + name
    return FileStamp(None, size_bytes, hashlib.sha256(absolute).digest(), state, max(modified_ns, changed_ns))


#: The code that turns the logs of a run into numbers of a part. All formats are in the version of each format: to find the modules of one, all would
#: have to be loaded, which takes longer than everything else that a command does if the cache has all runs.
_READERS = (
    "tacholog.formats",
    *("tacholog.schema", "tacholog.runs.disturbance", "tacholog.runs.manifest", "tacholog.runs.problems", "tacholog.runs.conditions"),
    *("tacholog.runs.clocks", "tacholog.runs.host", "tacholog.runs.labels", "tacholog.runs.moments"),
    *(f"tacholog.store.{name}" for name in ("assembly", "columns", "distributions", "engine", "logs", "parts")),
    "tacholog.store.quality",
)


#: The files that digests were made of, with their states then.
_READ_FILES: dict[Path, tuple[int, ...]] = {}


@functools.cache
def code_digest(*names: str) -> str:
    """Return the SHA-256 of the sources of these modules and packages, in hexadecimal."""
    digest = hashlib.sha256(f"Python {sys.version_info[:2]}".encode())
    for name in names:
        for path in _files(name):
            _READ_FILES[path] = _state(path)
            digest.update(f"{name}/{path.name}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def is_code_changed() -> bool:
    """Whether code was edited after its digest was made. Processes that started after that may have read logs with the new code."""
    return any(_state(path) != state for path, state in _READ_FILES.items())


def _state(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _files(name: str) -> list[Path]:
    """Return the files that a module consists of; of a package all below it."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return []
    if spec.submodule_search_locations:
        return sorted(path for folder in spec.submodule_search_locations for path in Path(folder).rglob("*.py"))
    return [Path(spec.origin)] if spec.origin and Path(spec.origin).is_file() else []


@functools.cache
def reader_digest(format_name: str) -> str:
    """Return the version of the code that reads logs of this format.

    Raises:
        UnreadableInput: there is no such format.
    """
    if format_name not in entries():
        format_named(format_name)
    package = entries()[format_name].module.partition(".")[0]
    own_packages = () if package == "tacholog" else (package,)  # A package from outside may keep what its format needs anywhere.
    return hashlib.sha256(f"{format_name} {package_of(format_name)} {code_digest(*_READERS, *own_packages)}".encode()).hexdigest()


@functools.cache
def detection_digest() -> str:
    """Return the version of the code that finds the format of a log, which is that of all formats."""
    return hashlib.sha256(" ".join(reader_digest(name) for name in entries()).encode()).hexdigest()


@functools.cache
def manifest_digest() -> str:
    """Return the version of the code that reads manifests."""
    return code_digest("tacholog.runs.disturbance", "tacholog.runs.manifest", "tacholog.schema")
