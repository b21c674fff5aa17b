"""What something was made of: the SHA-256 of files, and of the code that reads them. It is a part of every key of the cache.

A file that nobody has written to since it was read is not read again.

Who changes a file changes its state: its inode, its size, or one of its times. The time of the last change of the inode is among them: nobody can
set it back, as `touch` and `rsync` do with the time of the last modification. This is what git relies on, too.

The cache keeps each digest with the state that its file had, under the path of the file.
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

import tacholog.formats
from tacholog.formats.registry import format_named, formats, is_ours, package_of, readers_of_any_log
from tacholog.store.cache import Cache, Kind

_SETTLED_NS = 3_000_000_000  # Some file systems count time in steps of two seconds.
_STATE = struct.Struct("<QQQqq")
_AT_ONCE = 1000  # So many are written together.
_READ_BYTES = 1 << 20
_HAS_TIME_OF_CHANGE = sys.platform != "win32"  # There, it is the time of the creation.


class SeenFile(NamedTuple):
    """A file that was looked at.

    Attributes:
        sha256: the SHA-256 of its content, if that is known.
        size_bytes: its size; 0 if it is no regular file.
        key: under which its SHA-256 is kept; empty if it is not to be kept.
        state: what tells whether it was changed.
        changed_ns: when it was changed last.
    """

    sha256: str | None = None
    size_bytes: int = 0
    key: bytes = b""
    state: bytes = b""
    changed_ns: int = 0


_NOTHING = SeenFile()


class FileDigests:
    """Knows the digests of files, and keeps them in a cache."""

    def __init__(self, cache: Cache) -> None:
        """Look digests up in this cache."""
        self._cache = cache
        self._fresh: dict[bytes, bytes] = {}

    def seen(self, paths: Iterable[str]) -> list[SeenFile]:
        """Look at regular files; nothing is known of anything else.

        Args:
            paths: the files. Links on the way to them are followed, so the caller must not look at others' names with it.
        """
        looked = [_looked(path) for path in paths]
        known = self._cache.get(Kind.FILE, [file.key for file in looked if file.key]) | self._fresh
        return [file._replace(sha256=_digest_in(known.get(file.key, b""), file.state)) for file in looked]

    def remember(self, seen: SeenFile, sha256: str) -> None:
        """Keep the SHA-256 of a file that was read after it was looked at."""
        # Else a later change might leave its times as they are.
        if seen.key and time.time_ns() - seen.changed_ns >= _SETTLED_NS:
            self._fresh[seen.key] = seen.state + bytes.fromhex(sha256)
            if len(self._fresh) >= _AT_ONCE:
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
        self._cache.put(Kind.FILE, self._fresh)
        self._fresh = {}


def _digest_in(kept: bytes, state: bytes) -> str | None:
    """Return the SHA-256 that is kept of a file, if the file still has this state."""
    return kept[_STATE.size :].hex() if state and kept[: _STATE.size] == state else None


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
    return SeenFile(None, size_bytes, hashlib.sha256(whole).digest(), state, max(modified_ns, changed_ns))


_FORMATS = "tacholog.formats"
#: What turns the logs of a run into numbers of a part, whatever their format is. The modules that all formats share, and those of the format itself,
#: belong to it besides.
_READERS = (
    f"{_FORMATS}.kit",
    *("tacholog.schema", "tacholog.runs.disturbance", "tacholog.runs.manifest", "tacholog.runs.problems", "tacholog.runs.conditions"),
    *("tacholog.runs.clocks", "tacholog.runs.host", "tacholog.runs.labels", "tacholog.runs.moments"),
    *(f"tacholog.store.{name}" for name in ("assembly", "clocks", "columns", "distributions", "engine", "logs", "parts")),
    "tacholog.store.quality",
)


#: The files that digests were made of, with their states then.
_READ_FILES: dict[Path, tuple[int, ...]] = {}


@functools.cache
def code_digest(*names: str) -> str:
    """Return the SHA-256 of the sources of these modules and packages, in hexadecimal."""
    found = hashlib.sha256(f"Python {sys.version_info[:2]}".encode())
    for name in names:
        for path in _files(name):
            _READ_FILES[path] = _state(path)
            found.update(f"{name}/{path.name}\0{path.stat().st_size}\0".encode())
            found.update(path.read_bytes())
    return found.hexdigest()


def is_code_changed() -> bool:
    """Whether somebody has edited code since its digest was made. Processes that started since then may have read logs with the new code."""
    return any(_state(path) != state for path, state in _READ_FILES.items())


def _state(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


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
    """Return the version of all that reads a log of this format.

    Raises:
        UnreadableInput: there is no such format.
    """
    module = format_named(format_name)
    name: str = vars(module)["__name__"]
    own = name if is_ours(module) else name.partition(".")[0]  # A package from outside may keep what its format needs anywhere.
    others = sorted({reader.__module__ for reader in readers_of_any_log()})
    code = code_digest(*_READERS, *_shared_modules(), own, *others)
    return hashlib.sha256(f"{format_name} {package_of(format_name)} {code}".encode()).hexdigest()


@functools.cache
def _shared_modules() -> list[str]:
    """Return the modules beside those of the formats, which read logs of all formats."""
    own = {vars(module)["__name__"] for module in formats().values()}
    names = (f"{_FORMATS}.{path.stem}" for path in Path(tacholog.formats.__file__).parent.glob("*.py"))
    return sorted(name for name in names if name not in own)


@functools.cache
def detection_digest() -> str:
    """Return the version of all that finds the format of a log: every format has a say."""
    return hashlib.sha256(" ".join(reader_digest(name) for name in formats()).encode()).hexdigest()


@functools.cache
def manifest_digest() -> str:
    """Return the version of what reads manifests."""
    return code_digest("tacholog.runs.disturbance", "tacholog.runs.manifest", "tacholog.schema")
