"""The SHA-256 of files, and of the code that reads them. The keys of the cache contain both digests.

A file that has not changed since it was read is not read again.

Each change of a file changes its state: its inode number, its size, or one of its times. One of these times is the ctime, the time of the last change
of the inode. `touch` and `rsync` set the modification time, but no program can set the ctime. Git relies on the same fact.

The cache contains each digest under the path of its file, together with the state of the file.
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

from tacholog.formats.registry import entries, format_named, name_without_unit, package_of
from tacholog.store.cache import Cache, Kind

_SETTLED_NS = 3_000_000_000  # Some file systems store times in steps of two seconds.
_STATE = struct.Struct("<QQQqq")
_AT_ONCE = 1000  # the number of digests that are written together
_READ_BYTES = 1 << 20
_HAS_TIME_OF_CHANGE = sys.platform != "win32"  # On Windows, ``st_ctime_ns`` is the time of creation.


class FileStamp(NamedTuple):
    """The known facts about a file. Its state shows whether it was changed.

    Attributes:
        sha256: the SHA-256 of its content, if it is known.
        size_bytes: its size; 0 if it is not a regular file.
        key: the key under which the cache stores the SHA-256; empty if the SHA-256 must not be stored.
        state: its state. If the file changes, the state changes too.
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
        self._cache = cache
        self._fresh: dict[bytes, bytes] = {}

    def look_up(self, paths: Iterable[str]) -> list[FileStamp]:
        """Return a stamp for each path, with the digest from the cache if it is there. The stamp is empty if the path is not a regular file.

        Args:
            paths: the files. If a folder in a path is a link, the link is followed. So the paths must not contain names that strangers chose.
        """
        files = [_stamp_of(path) for path in paths]
        entries = self._cache.get(Kind.FILE, [file.key for file in files if file.key]) | self._fresh
        return [file._replace(sha256=_digest_in(entries.get(file.key, b""), file.state)) for file in files]

    def remember(self, file: FileStamp, sha256: str) -> None:
        """Store the SHA-256 of a file that was read after its stamp was taken."""
        # If a file is changed again within this time, its times may stay the same.
        if file.key and time.time_ns() - file.changed_ns >= _SETTLED_NS:
            self._fresh[file.key] = file.state + bytes.fromhex(sha256)
            if len(self._fresh) >= _AT_ONCE:
                self.flush()

    def all_sha256(self, paths: Sequence[str], read: Callable[[str], str | None]) -> list[str | None]:
        """Return the SHA-256 of each of these files.

        Args:
            paths: as for `look_up`.
            read: a function that reads a file whose SHA-256 is not known. It returns the SHA-256, or ``None`` if the file cannot be read.
        """
        return [file.sha256 for file in self.read(paths, read)]

    def read(self, paths: Sequence[str], read: Callable[[str], str | None]) -> list[FileStamp]:
        """Return the SHA-256 and the size of each file."""
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
    """Return the SHA-256 in an entry of the cache; ``None`` if the file has changed since the entry was written."""
    return entry[_STATE.size :].hex() if state and entry[: _STATE.size] == state else None


@lru_cache(maxsize=4)
def digests_in(cache: Cache) -> FileDigests:
    """Return the digests in a cache. For one cache, it is always the same object."""
    return FileDigests(cache)


def read_sha256(path: str) -> str:
    """Return the SHA-256 of a regular file. No buffer is used, because creating one takes longer than reading a small file of a site."""
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as this: to make a `Path` of each takes as long, too
        while piece := file.read(_READ_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _here() -> bytes:
    try:
        return os.fsencode(os.getcwd())  # noqa: PTH109 - no `Path` is needed
    except OSError:  # The current folder was deleted. Absolute paths can still be read.
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


#: The code that turns the logs of a run into the numbers of a part. The version of each format includes the code of all formats. Otherwise, all
#: formats would have to be loaded only to find the modules of one format. This would be the slowest step of a command that finds all its runs in the
#: cache.
_READERS = (
    "tacholog.formats",
    *("tacholog.schema", "tacholog.runs.disturbance", "tacholog.runs.manifest", "tacholog.runs.problems", "tacholog.runs.conditions"),
    *("tacholog.runs.clocks", "tacholog.runs.host", "tacholog.runs.labels", "tacholog.runs.logs", "tacholog.runs.moments"),
    *(f"tacholog.store.{name}" for name in ("assembly", "columns", "distributions", "engine", "logs", "parts")),
    "tacholog.store.quality",
)


#: The files of code whose digests were computed, with their states at that time.
_READ_FILES: dict[Path, tuple[int, ...]] = {}


@functools.cache
def code_digest(*names: str) -> str:
    """Return the SHA-256 of the sources of these modules and packages, in hexadecimal."""
    digest = hashlib.sha256(f"Python {sys.version_info[:2]}".encode())
    for name in names:
        for path in _source_files(name):
            _READ_FILES[path] = _state(path)
            digest.update(f"{name}/{path.name}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def is_code_changed() -> bool:
    """Whether code was edited after its digest was computed.

    Processes that were started after the edit may have read logs with the new code.
    """
    return any(_state(path) != state for path, state in _READ_FILES.items())


def _state(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _source_files(name: str) -> list[Path]:
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
    base = name_without_unit(format_name)
    if base not in entries() or base != format_name:
        format_named(format_name)
    package = entries()[base].module.partition(".")[0]
    own_packages = () if package == "tacholog" else (package,)  # A format of another package may need code in any module of this package.
    return hashlib.sha256(f"{format_name} {package_of(format_name)} {code_digest(*_READERS, *own_packages)}".encode()).hexdigest()


@functools.cache
def detection_digest() -> str:
    """Return the version of the code that detects the format of a log: the code of all formats."""
    return hashlib.sha256(" ".join(reader_digest(name) for name in entries()).encode()).hexdigest()


@functools.cache
def manifest_digest() -> str:
    """Return the version of the code that reads manifests."""
    return code_digest("tacholog.runs.disturbance", "tacholog.runs.manifest", "tacholog.schema")
