"""The cache: what was made of a log is kept under the SHA-256 of everything that it was made from.

It is one SQLite file in the user's cache folder, safe to delete at any time. Several processes may use it at once. What it returns is what was put
under that key: each value carries a checksum over its kind, its key and its bytes. A value that is damaged counts as missing, and a file that is
damaged is made anew. Where nothing can be written, where others could write too, or where a file of another program is in its place, the cache stays
empty, and everything works without it.

Large values have a row each. Small ones, of which there may be a million, come many in a pack, and a table of keys says in which pack a value is. A
row for each of them would take longer to find, to check and to unpack than to use.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import sqlite3
import sys
import weakref
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tacholog.dataset.cache_file import APPLICATION, is_of_others
from tacholog.ownership import not_ours_alone

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

VARIABLE = "TACHOLOG_CACHE"
FILE = "cache.sqlite3"
_LAYOUT = 5  # Of the tables. A file of another layout is made anew.
_WAIT_S = 30
_AT_ONCE = 500  # Keys in one question. SQLite takes 999 or more.
_PAGES_KIB = 1 << 14  # Of the file in memory. Keys are in no order, so those of a hundred thousand logs are all over the pages of their table.
_KEY_BYTES = 32
_NOT_ASKED = b""
_CHECKSUM_BYTES = 16
_PLAIN, _ZSTANDARD, _ZLIB = b"\x00", b"\x01", b"\x02"
_WORTH_PACKING = 256  # Bytes. Shorter values do not get smaller.
_WORTH_ZSTANDARD = 1 << 16  # Bytes. To begin with Zstandard takes longer than to pack or unpack a shorter value with zlib.
_LEVEL = 1
_PIECE_BYTES = 1 << 18
_BROKEN_FILE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_Answer = TypeVar("_Answer")
#: What `unpacked` raises of bytes that `packed` did not make.
CompressionErrors = (zlib.error, zstd.ZstdError)


class Kind(StrEnum):
    """What a value is. Each kind has tables of its own."""

    MANIFEST = "manifest"  #: manifests, decoded, in packs
    LOG = "log"  #: what logs give, in packs: see `tacholog.dataset.work.entries`
    PUBLISHED = "published"  #: what pages show of logs: redacted text, digests of pages
    FILE = "file"  #: digests of files, in packs: see `tacholog.dataset.file_digests`


_PACKED = (Kind.MANIFEST, Kind.LOG, Kind.FILE)
_MOST_PACKS = {Kind.FILE: 2500}  # Each change of a file leaves a digest behind that nobody asks for again.


class Pack(NamedTuple):
    """Many small values that are kept together.

    Attributes:
        keys: that of each value; empty if it is not to be found.
        content: all of them, as `packed` makes it.
    """

    keys: Sequence[bytes]
    content: bytes


class Size(NamedTuple):
    """How much a cache keeps of one kind."""

    entries: int
    stored_bytes: int


class Cache:
    """A cache in one folder; without a folder, one that keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        """Open the file in this folder, or make it."""
        self.path = folder / FILE if folder else None
        self.refused: str | None = None  # why nothing is kept there, if others could put something into it
        self._is_busy = False
        self._connection = self._opened()

    def get(self, kind: Kind, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the values that are kept under these keys. One that is missing or damaged is left out."""
        found: dict[bytes, bytes] = {}
        for some in _batches(keys):
            rows = self._ask(functools.partial(_select, kind, some)) or ()
            found |= {key: unpacked(value) for key, stored in rows if (value := _right(kind, key, stored)) is not None}
        return found

    def put(self, kind: Kind, entries: Mapping[bytes, bytes]) -> None:
        """Keep these values. A value that cannot be kept, because the disk is full or another process writes for too long, is not kept."""
        rows = [(key, _stored(kind, key, value)) for key, value in entries.items()]
        if rows:
            self._write(functools.partial(_insert, kind, rows))

    def packs(self, kind: Kind, keys: Iterable[bytes]) -> Iterator[tuple[bytes, list[tuple[bytes, int]]]]:
        """Yield each pack that holds values with these keys: its content, still packed, and which of the keys are at which of its places.

        Only one is in memory at a time. A value whose pack is damaged is left out, and that pack is removed.
        """
        rest = dict.fromkeys(keys)
        is_there = True  # Most often everything is there, or nothing. What was put in together is mostly asked for together too.
        while rest:
            some = list(islice(rest, 1 if is_there else _AT_ONCE))
            numbers: set[int] = self._ask(functools.partial(_select_numbers, kind, some)) or set()
            for number in sorted(numbers):
                stored = self._ask(functools.partial(_select_pack, kind, number))
                if stored is None:
                    continue
                if (content := _right(kind, *stored)) is None:
                    self._write(functools.partial(_delete_pack, kind, number))
                elif found := [(key, place) for place, key in enumerate(_split(stored[0])) if rest.pop(key, _NOT_ASKED) is None]:
                    yield content, found
            is_there = bool(numbers)
            for key in some:
                rest.pop(key, None)

    def put_packs(self, kind: Kind, packs: Iterable[Pack]) -> None:
        """Keep these values. Those of a pack that cannot be kept are not kept, as with `put`."""
        wanted = [pack for pack in packs if any(pack.keys)]
        if wanted:
            self._write(functools.partial(_insert_packs, kind, wanted))

    def sizes(self) -> dict[Kind, Size]:
        """Return how much is kept of each kind."""
        return self._ask(lambda connection: {kind: _size(kind, connection) for kind in Kind}) or {}

    def clear(self) -> None:
        """Forget everything, and give the space back."""
        self.close()
        self._remove()
        self._connection = self._opened()

    def close(self) -> None:
        """Close the file."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def is_empty(self) -> bool:
        """Whether nothing is kept, and the file is not one that could not be opened."""
        if self._connection is None:
            return self.path is None or not os.path.lexists(self.path)
        return not any(size.entries for size in self.sizes().values())

    def is_usable(self) -> bool:
        """Whether the file could be opened."""
        return self._connection is not None

    def is_of_others(self) -> bool:
        """Whether a file that is not known to be a cache of this program is in its place."""
        try:
            return self._connection is None and self.path is not None and self.path.is_file() and is_of_others(self.path)
        except OSError:
            return False

    def _write(self, change: Callable[[sqlite3.Connection], object]) -> None:
        """Change the database; never again after it was busy for too long: another process may have stopped while it writes."""
        if not self._is_busy:
            self._ask(change)

    def _ask(self, question: Callable[[sqlite3.Connection], _Answer]) -> _Answer | None:
        """Ask the database; ``None`` if it cannot answer. A damaged file is removed, and a new one begun."""
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
        """Open the file, or begin it again if it is damaged or of another version."""
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
        # Beside the file, SQLite reads others: in one of them, somebody else could give the numbers that come out of it.
        self.refused = not_ours_alone(folder)
        if self.refused:
            return None
        self.path.touch(mode=0o600)  # Logs may hold private data.
        if not self.path.is_file() or self.path.stat().st_uid != os.geteuid():
            return None
        if is_of_others(self.path):
            raise _OthersFile
        connection = sqlite3.connect(self.path, timeout=_WAIT_S, check_same_thread=False)
        try:
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA journal_mode = WAL")  # Some network file systems cannot do it. Then writers wait for readers.
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
        for suffix in ("", "-wal", "-shm"):
            if self.path:
                with contextlib.suppress(OSError):
                    self.path.with_name(self.path.name + suffix).unlink()


class _OthersFile(Exception):
    """The file is not known to be of this program."""


class _OtherLayout(Exception):
    """The file is of another version of this program."""


def _is_broken(error: sqlite3.DatabaseError) -> bool:
    """Whether the file is damaged. Python itself says so without a code, of a text that is no UTF-8: no text is ever put in."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code is None or code & 0xFF in _BROKEN_FILE


def _size(kind: Kind, connection: sqlite3.Connection) -> Size:
    if kind not in _PACKED:
        return Size(*connection.execute(f'SELECT count(*), coalesce(sum(length(value) + length(key)), 0) FROM "{kind}"').fetchone())  # noqa: S608 - our own words
    (entries,) = connection.execute(f'SELECT count(*) FROM "{kind}"').fetchone()  # noqa: S608 - our own words
    (stored_bytes,) = connection.execute(f'SELECT coalesce(sum(length(value) + length(keys)), 0) FROM "{kind}_packs"').fetchone()  # noqa: S608 - our own words
    return Size(entries, stored_bytes)


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the tables in a new file.

    Raises:
        _OthersFile: another program has filled it.
        _OtherLayout: it has tables of another version.
    """
    if _marks(connection) == [APPLICATION, _LAYOUT]:
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")  # Another process may be at the same point.
        marks = _marks(connection)
        if marks == [APPLICATION, _LAYOUT]:
            return
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise _OtherLayout if marks[0] == APPLICATION else _OthersFile
        for kind in Kind:
            what = "pack INTEGER NOT NULL" if kind in _PACKED else "value BLOB NOT NULL"
            connection.execute(f'CREATE TABLE IF NOT EXISTS "{kind}" (key BLOB PRIMARY KEY, {what}) {"WITHOUT ROWID" if kind in _PACKED else ""}')
        for kind in _PACKED:
            connection.execute(f'CREATE TABLE IF NOT EXISTS "{kind}_packs" (id INTEGER PRIMARY KEY, keys BLOB NOT NULL, value BLOB NOT NULL)')
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_LAYOUT}")


def _marks(connection: sqlite3.Connection) -> list[int]:
    return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]


def _select(kind: Kind, keys: Collection[bytes], connection: sqlite3.Connection) -> list[tuple[bytes, bytes]]:
    places = ",".join("?" * len(keys))
    return connection.execute(f'SELECT key, value FROM "{kind}" WHERE key IN ({places})', tuple(keys)).fetchall()  # noqa: S608 - our own words


def _insert(kind: Kind, rows: list[tuple[bytes, bytes]], connection: sqlite3.Connection) -> None:
    with connection:
        connection.executemany(f'INSERT OR REPLACE INTO "{kind}" VALUES (?, ?)', rows)  # noqa: S608 - our own words


def _select_numbers(kind: Kind, keys: Collection[bytes], connection: sqlite3.Connection) -> set[int]:
    places = ",".join("?" * len(keys))
    return {number for (number,) in connection.execute(f'SELECT pack FROM "{kind}" WHERE key IN ({places})', tuple(keys)) if isinstance(number, int)}  # noqa: S608 - our own words


def _select_pack(kind: Kind, pack: int, connection: sqlite3.Connection) -> tuple[bytes, object] | None:
    found: tuple[bytes, object] | None = connection.execute(f'SELECT keys, value FROM "{kind}_packs" WHERE id = ?', (pack,)).fetchone()  # noqa: S608 - our own words
    return found


def _insert_packs(kind: Kind, packs: Sequence[Pack], connection: sqlite3.Connection) -> None:
    with connection:
        for pack in packs:
            keys = b"".join(key.ljust(_KEY_BYTES, b"\x00") for key in pack.keys)
            value = _checksum(kind, keys, pack.content) + pack.content
            added = connection.execute(f'INSERT INTO "{kind}_packs" (keys, value) VALUES (?, ?)', (keys, value)).lastrowid  # noqa: S608 - our own words
            connection.executemany(f'INSERT OR REPLACE INTO "{kind}" VALUES (?, ?)', [(key, added) for key in pack.keys if key])  # noqa: S608 - our own words
        if kind in _MOST_PACKS:
            _delete_oldest(kind, _MOST_PACKS[kind], connection)


def _delete_oldest(kind: Kind, most: int, connection: sqlite3.Connection) -> None:
    """Delete the older half of the packs, if there are more than these. Their keys are found by reading all keys, so it must be seldom."""
    first, last = connection.execute(f'SELECT min(id), max(id) FROM "{kind}_packs"').fetchone()  # noqa: S608 - our own words
    if last - first >= most:
        for table, number in ((f"{kind}_packs", "id"), (kind, "pack")):
            connection.execute(f'DELETE FROM "{table}" WHERE {number} <= ?', (last - most // 2,))  # noqa: S608 - our own words


def _delete_pack(kind: Kind, pack: int, connection: sqlite3.Connection) -> None:
    with connection:
        connection.execute(f'DELETE FROM "{kind}_packs" WHERE id = ?', (pack,))  # noqa: S608 - our own words


def _split(keys: bytes) -> list[bytes]:
    """Return the keys of a pack. They count, and not those of the table: that may be damaged, or a removed pack have left its number to another."""
    return [keys[start : start + _KEY_BYTES] for start in range(0, len(keys), _KEY_BYTES)]


def _stored(kind: Kind, key: bytes, value: bytes) -> bytes:
    content = packed(value)
    return _checksum(kind, key, content) + content


def packed(value: bytes) -> bytes:
    """Return a value in fewer bytes, if it gets smaller at all."""
    if len(value) < _WORTH_PACKING:
        return _PLAIN + value
    return _ZLIB + zlib.compress(value, _LEVEL) if len(value) < _WORTH_ZSTANDARD else _ZSTANDARD + zstd.compress(value, _LEVEL)


def packed_pieces(pieces: Iterable[ReadableBuffer], size_bytes: int) -> bytes:
    """Return what `packed` makes of these bytes, one piece behind the other. If there are many, never all of them are in memory."""
    if size_bytes < _WORTH_ZSTANDARD:
        return packed(b"".join(pieces))
    compressor = zstd.ZstdCompressor(_LEVEL)
    return b"".join([_ZSTANDARD, *map(compressor.compress, pieces), compressor.flush()])


def _right(kind: Kind, key: object, stored: object) -> bytes | None:
    """Return the value that was stored, still packed; ``None`` if it is not what was stored under this key, or under these keys of a pack."""
    if not isinstance(key, bytes) or not isinstance(stored, bytes) or len(stored) <= _CHECKSUM_BYTES:
        return None
    content = stored[_CHECKSUM_BYTES:]
    return content if stored[:_CHECKSUM_BYTES] == _checksum(kind, key, content) else None


def unpacked(content: bytes) -> bytes:
    """Return the value of which `packed` made this content."""
    how, rest = content[:1], content[1:]
    if how == _ZLIB:
        return zlib.decompress(rest)
    return rest if how == _PLAIN else zstd.ZstdDecompressor().decompress(rest)


class Unpacking:
    """The bytes of which `packed` or `packed_pieces` made a content, piece by piece."""

    def __init__(self, content: bytes) -> None:
        """Begin at the first one."""
        self._decompressor = zstd.ZstdDecompressor() if content[:1] == _ZSTANDARD else None
        self._rest = memoryview(content)[1:] if self._decompressor else memoryview(unpacked(content))

    def take(self, count: int) -> bytes | memoryview:
        """Return the next bytes, so many of them; fewer at the end."""
        decompressor = self._decompressor
        if decompressor is None:
            return self._taken(count)
        pieces: list[bytes] = []
        while count and not decompressor.eof and (self._rest or not decompressor.needs_input):
            piece = decompressor.decompress(self._taken(_PIECE_BYTES) if decompressor.needs_input else b"", count)
            pieces.append(piece)
            count -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _taken(self, count: int) -> memoryview:
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken


def _checksum(kind: Kind, key: bytes, content: bytes) -> bytes:
    found = hashlib.blake2b(len(key).to_bytes(8, "little"), digest_size=_CHECKSUM_BYTES, person=kind.encode()[:16])
    found.update(key)
    found.update(content)
    return found.digest()


def _batches(keys: Iterable[bytes]) -> Iterator[list[bytes]]:
    rest = iter(keys)
    while some := list(islice(rest, _AT_ONCE)):
        yield some


def key_of(*parts: str | bytes) -> bytes:
    """Return the key of what is made from these parts: the SHA-256 of all of them, each with its length."""
    contents = [part.encode() if isinstance(part, str) else part for part in parts]
    return hashlib.sha256(b"".join([piece for content in contents for piece in (len(content).to_bytes(8, "little"), content)])).digest()


def cache_folder() -> Path | None:
    """Return where the cache lies: in the folder that TACHOLOG_CACHE names, else in the user's cache folder. ``None`` if there is none."""
    if named := os.environ.get(VARIABLE):
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not Path(base).is_absolute():  # The specification of XDG asks to ignore a relative one.
        try:
            base = str(Path.home() / ".cache")
        except RuntimeError:
            return None
    return Path(base) / "tacholog"


def others_file_words(path: Path) -> str:
    """Return what to do about a file that is not known to be a cache."""
    return f"{path}: Tacholog did not make this file, or it is damaged, so nothing is kept: move it away, or name another folder with {VARIABLE}"


def refused_words(path: Path, reason: str) -> str:
    """Return what to do about a folder in which nothing is kept, because others could put something there."""
    return f"{path.parent}: {reason}, so nothing is kept there: let only yourself write there, or name another folder with {VARIABLE}"


def open_cache() -> Cache:
    """Return the cache of this user, opened once in each process."""
    return _opened_in(os.getpid(), cache_folder())


@functools.lru_cache(maxsize=4)
def _opened_in(process: int, folder: Path | None) -> Cache:
    cache = Cache(folder)
    atexit.register(_close_of, process, weakref.ref(cache))  # Else what was written last stays in a second file, until somebody closes it.
    return cache


def _close_of(process: int, opened: weakref.ref[Cache]) -> None:
    cache = opened()
    if cache and os.getpid() == process:  # A process that was forked has no part in it.
        cache.close()
