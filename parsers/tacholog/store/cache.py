"""The cache: one SQLite index, and the Parquet parts beside it.

The key of a value is the SHA-256 of everything that determines the value. For each run, the index contains the name of the part with its numbers, and
everything else that was read from its logs. It also contains the SHA-256 of files that have not changed since they were read.

The cache can be deleted at any time. Several processes may use the cache at the same time. Each value has a checksum of its kind, its key and its
bytes. A damaged value is treated as missing, and a damaged file is replaced. The cache stays empty if its folder cannot be written, if other users
can write into this folder, or if a file of another program has the name of the cache. Everything works without the cache.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import math
import os
import shutil
import sqlite3
import sys
import time
import weakref
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from tacholog.folders import is_ours, not_ours_alone

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

VARIABLE = "TACHOLOG_CACHE"
FILE = "cache.sqlite3"
PARTS = "tacholog-parts"
_APPLICATION = 0x7AC40106  # The id of a cache in the header of its file. According to the list in the sources of SQLite, no other program uses it.
_LAYOUT = 7  # The version of the tables. A file with other tables is replaced.
_WAIT_S = 30
_YOUNG_S = 86_400  # a command writes a part first, and then the values that refer to it, within this time
_AT_ONCE = 500  # The number of keys in one query. SQLite allows at least 999.
_PAGES_KIB = 1 << 14  # The size of SQLite's page cache. Keys are random, so they are spread over all pages of their table.
_CHECKSUM_BYTES = 16
_PLAIN, _ZSTANDARD, _ZLIB = b"\x00", b"\x01", b"\x02"
_WORTH_PACKING = 256  # Values of fewer bytes are not compressed, because they would not become smaller.
_WORTH_ZSTANDARD = 1 << 16  # Smaller values than this are compressed with zlib, because Zstandard takes long to start.
_LEVEL = 1
_BROKEN_FILE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_MAGIC = b"SQLite format 3\x00"
_APPLICATION_AT = slice(68, 72)  # https://www.sqlite.org/fileformat2.html, "The Database Header" and "B-tree Pages"
_TABLES_AT = slice(103, 105)
_HEAD_BYTES = 105
_Answer = TypeVar("_Answer")


class Kind(StrEnum):
    """The kind of a value. Each kind has a separate table."""

    MANIFEST = "manifest"  #: manifests, decoded
    RUN = "run"  #: everything that was read from the logs of a run, and the name of the part with its numbers: see `tacholog.store.fetch`
    PUBLISHED = "published"  #: redacted text of logs, for pages
    FILE = "file"  #: digests of files: see `tacholog.store.digests`


class Size(NamedTuple):
    """The number of values of one kind in a cache, and their size."""

    entries: int
    stored_bytes: int


class Cache:
    """A cache in a folder. Without a folder, it stores nothing."""

    def __init__(self, folder: Path | None) -> None:
        """Open the file in this folder. Create it if it does not exist."""
        self.path = folder / FILE if folder else None
        self.refused: str | None = None  # The reason why the folder is not used: other users can write into it.
        self._is_busy = False
        self._connection = self._opened()

    def get(self, kind: Kind, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the values of these keys. Missing and damaged values are left out."""
        values: dict[bytes, bytes] = {}
        for keys_of_batch in _batches(keys):
            rows = self._ask(functools.partial(_select, kind, keys_of_batch)) or ()
            values |= {key: value for key, stored in rows if (value := _value_in(kind, key, stored)) is not None}
        return values

    def put(self, kind: Kind, entries: Mapping[bytes, bytes], part: str = "") -> None:
        """Store these values. Nothing is stored if the disk is full, or if another process writes for too long.

        Args:
            kind: the kind of the values.
            entries: the values, by their keys.
            part: the name of the part to which the values refer. `clean` deletes this part only after the values have been deleted.
        """
        rows = [(key, part, _stored(kind, key, value)) for key, value in entries.items()]
        if rows:
            self._write(functools.partial(_insert, kind, rows))

    def sizes(self) -> dict[Kind, Size]:
        """Return how many values of each kind are stored, and how many bytes they take. For the kind ``RUN``, the bytes of the parts are included."""
        sizes = self._ask(lambda connection: {kind: _size(kind, connection) for kind in Kind}) or {}
        if Kind.RUN in sizes and self.parts:
            of_parts = sum(path.stat().st_size for path in self.parts.glob("*.parquet"))
            sizes[Kind.RUN] = Size(sizes[Kind.RUN].entries, sizes[Kind.RUN].stored_bytes + of_parts)
        return sizes

    @property
    def parts(self) -> Path | None:
        """The folder of the parts; ``None`` if the cache stores nothing."""
        return self.path.parent / PARTS if self.path and self._connection else None

    def clean(self) -> None:
        """Delete old parts to which no value refers, and old files of killed processes.

        Recent files stay, because another command may still need them.
        """
        named = self._ask(lambda connection: {part for (part,) in connection.execute(f'SELECT DISTINCT part FROM "{Kind.RUN}"')})  # noqa: S608 - our own words
        if named is not None and self.parts:
            _remove_parts(self.parts, named, time.time() - _YOUNG_S)

    def clear(self) -> None:
        """Delete everything."""
        self.close()
        self._remove()
        self._connection = self._opened()

    def close(self) -> None:
        """Close the file."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def is_empty(self) -> bool:
        """Whether the cache has no values. A file that cannot be opened is not empty."""
        if self._connection is None:
            return self.path is None or not os.path.lexists(self.path)
        return not any(size.entries for size in self.sizes().values())

    def is_usable(self) -> bool:
        """Whether the file could be opened."""
        return self._connection is not None

    def is_of_others(self) -> bool:
        """Whether the file of the cache may be a file of another program."""
        try:
            return self._connection is None and self.path is not None and self.path.is_file() and is_of_others(self.path)
        except OSError:
            return False

    def _write(self, change: Callable[[sqlite3.Connection], object]) -> None:
        """Change the database. After one long wait for a lock, never try again, because the process that locked it may be stopped."""
        if not self._is_busy:
            self._ask(change)

    def _ask(self, question: Callable[[sqlite3.Connection], _Answer]) -> _Answer | None:
        """Return the answer of the database; ``None`` if it cannot answer. A damaged file is replaced by an empty file."""
        if self._connection is None:
            return None
        try:
            return question(self._connection)
        except sqlite3.DatabaseError as error:
            if _is_broken(error):
                self.clear()
            self._is_busy = self._is_busy or getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            return None

    def _opened(self) -> sqlite3.Connection | None:
        for _ in range(2):
            try:
                return self._connected()
            except (_OtherLayout, sqlite3.DatabaseError) as error:
                if isinstance(error, sqlite3.DatabaseError) and not _is_broken(error):
                    return None
                self._remove()
            except (_OthersFile, OSError):
                return None
        return None

    def _connected(self) -> sqlite3.Connection | None:
        if self.path is None:
            return None
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite also reads other files next to the database. By means of such a file, another user could change the numbers.
        self.refused = not_ours_alone(folder)
        if self.refused:
            return None
        self.path.touch(mode=0o600)  # Logs may contain private data.
        if not self.path.is_file() or not is_ours(self.path.stat()):
            return None
        if is_of_others(self.path):
            raise _OthersFile
        connection = sqlite3.connect(self.path, timeout=_WAIT_S, check_same_thread=False)
        try:
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA journal_mode = WAL")  # Some network file systems have no WAL. Then writers wait for readers.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA cache_size = -{_PAGES_KIB}")
            _prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            if self.path is None or is_of_others(self.path):
                return
        if self.path is None:
            return
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                self.path.with_name(self.path.name + suffix).unlink()
        parts = self.path.parent / PARTS
        _remove_parts(parts)
        with contextlib.suppress(OSError):
            parts.rmdir()


def _remove_parts(folder: Path, named: Collection[str] = (), before_s: float = math.inf) -> None:
    """Delete the files that `tacholog.store.parts` and the engine wrote before ``before_s``, except the parts in ``named``."""
    for path in [*folder.glob(f"{'[0-9a-f]' * 64}.parquet"), *folder.glob(".part-*"), *folder.glob(".spill-*")]:
        with contextlib.suppress(OSError):  # Another command may delete the same file.
            if path.stem in named or path.stat().st_mtime >= before_s:
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def is_of_others(path: Path) -> bool:
    """Whether a file may belong to another program. A file is only changed or deleted if it certainly belongs to this program.

    TACHOLOG_CACHE may name any folder, and other programs also use the name cache.sqlite3. So the first bytes are read before SQLite opens the file.
    If these bytes are damaged, the file may belong to another program. Then the file stays as it is, nothing is stored, and a message reports this.

    Two kinds of files count as files of this program, because a process leaves them if it is killed while it creates a cache: an empty file, and a
    database without tables and without the id of a program.

    Raises:
        OSError: there is no such file, or it cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head:
        return False
    application = head[_APPLICATION_AT]
    if not head.startswith(_MAGIC) or len(head) < _APPLICATION_AT.stop:
        return True
    is_unnamed = not any(application)
    return int.from_bytes(application, "big") != _APPLICATION and not (is_unnamed and head[_TABLES_AT] == b"\x00\x00")


class _OthersFile(Exception):
    """The file may be of another program."""


class _OtherLayout(Exception):
    """The file is of another version of this program."""


def _is_broken(error: sqlite3.DatabaseError) -> bool:
    """Whether an error shows that the file is damaged.

    An error without a code also shows damage. Python raises such an error for a text that is not valid UTF-8. The cache stores no text as a value, so
    a text can only come from damage.
    """
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code is None or code & 0xFF in _BROKEN_FILE


def _size(kind: Kind, connection: sqlite3.Connection) -> Size:
    return Size(*connection.execute(f'SELECT count(*), coalesce(sum(length(value) + length(key)), 0) FROM "{kind}"').fetchone())  # noqa: S608 - our own words


def _prepare(connection: sqlite3.Connection) -> None:
    """Create the tables in a new file.

    Raises:
        _OthersFile: the file has content of another program.
        _OtherLayout: the file has tables of another version.
    """
    if _marks(connection) == [_APPLICATION, _LAYOUT]:
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")  # Another process may be creating the same tables.
        marks = _marks(connection)
        if marks == [_APPLICATION, _LAYOUT]:
            return
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise _OtherLayout if marks[0] == _APPLICATION else _OthersFile
        for kind in Kind:
            connection.execute(f'CREATE TABLE IF NOT EXISTS "{kind}" (key BLOB PRIMARY KEY, part TEXT NOT NULL, value BLOB NOT NULL)')
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_LAYOUT}")


def _marks(connection: sqlite3.Connection) -> list[int]:
    return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]


def _select(kind: Kind, keys: Collection[bytes], connection: sqlite3.Connection) -> list[tuple[bytes, bytes]]:
    placeholders = ",".join("?" * len(keys))
    return connection.execute(f'SELECT key, value FROM "{kind}" WHERE key IN ({placeholders})', tuple(keys)).fetchall()  # noqa: S608 - our own words


def _insert(kind: Kind, rows: list[tuple[bytes, str, bytes]], connection: sqlite3.Connection) -> None:
    with connection:
        connection.executemany(f'INSERT OR REPLACE INTO "{kind}" VALUES (?, ?, ?)', rows)  # noqa: S608 - our own words


def _stored(kind: Kind, key: bytes, value: bytes) -> bytes:
    content = _packed(value)
    return _checksum(kind, key, content) + content


def _packed(value: bytes) -> bytes:
    if len(value) < _WORTH_PACKING:
        return _PLAIN + value
    return _ZLIB + zlib.compress(value, _LEVEL) if len(value) < _WORTH_ZSTANDARD else _ZSTANDARD + zstd.compress(value, _LEVEL)


def _value_in(kind: Kind, key: object, stored: object) -> bytes | None:
    """Return the stored value; ``None`` if its checksum is wrong."""
    if not isinstance(key, bytes) or not isinstance(stored, bytes) or len(stored) <= _CHECKSUM_BYTES:
        return None
    content = stored[_CHECKSUM_BYTES:]
    if stored[:_CHECKSUM_BYTES] != _checksum(kind, key, content):
        return None
    encoding, packed = content[:1], content[1:]
    if encoding == _ZLIB:
        return zlib.decompress(packed)
    return packed if encoding == _PLAIN else zstd.decompress(packed)


def _checksum(kind: Kind, key: bytes, content: bytes) -> bytes:
    digest = hashlib.blake2b(len(key).to_bytes(8, "little"), digest_size=_CHECKSUM_BYTES, person=kind.encode()[:16])
    digest.update(key)
    digest.update(content)
    return digest.digest()


def _batches(keys: Iterable[bytes]) -> Iterator[list[bytes]]:
    remaining = iter(keys)
    while batch := list(islice(remaining, _AT_ONCE)):
        yield batch


def key_of(*parts: str | bytes) -> bytes:
    """Return the key of a value: the SHA-256 of all parts that determine the value. The length of each part is hashed too."""
    contents = [part.encode() if isinstance(part, str) else part for part in parts]
    return hashlib.sha256(b"".join([piece for content in contents for piece in (len(content).to_bytes(8, "little"), content)])).digest()


def cache_folder() -> Path | None:
    """Return the folder of the cache: the folder that TACHOLOG_CACHE names, or else the user's cache folder. ``None`` if no folder is known."""
    if named := os.environ.get(VARIABLE):
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not Path(base).is_absolute():  # According to the XDG specification, a relative path must be ignored.
        try:
            base = str(Path.home() / ".cache")
        except RuntimeError:
            return None
    return Path(base) / "tacholog"


def others_file_words(path: Path) -> str:
    """Return a message about a file that may not be a cache. It tells the user what to do."""
    return f"{path}: Tacholog did not make this file, or it is damaged, so nothing is kept: move it away, or name another folder with {VARIABLE}"


def refused_words(path: Path, reason: str) -> str:
    """Return a message about a folder that is not used, because other users can write into it. It tells the user what to do."""
    return f"{path.parent}: {reason}, so nothing is kept there: make it writable only by you, or name another folder with {VARIABLE}"


def open_cache() -> Cache:
    """Return the cache of this user. Each process opens it once."""
    return _opened_in(os.getpid(), cache_folder())


@functools.lru_cache(maxsize=4)
def _opened_in(process: int, folder: Path | None) -> Cache:
    cache = Cache(folder)
    atexit.register(_close_of, process, weakref.ref(cache))  # This moves the latest changes from a second file into the database.
    return cache


def _close_of(process: int, opened: weakref.ref[Cache]) -> None:
    cache = opened()
    if cache and os.getpid() == process:  # A forked process must not use the connection of its parent.
        cache.close()
