"""The cache of redaction: the names in each log, and the redacted logs and manifests of runs.

A key covers everything that its value depends on: the logs, the privacy settings, the names in all data, and the version of the code. So a text that
was redacted before a name became known is never shown later.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from tacholog.privacy.free_text import WORDS_FILE
from tacholog.privacy.known_names import KnownNames, NameList
from tacholog.privacy.logs import LineClasses
from tacholog.privacy.settings import KEY_VARIABLE
from tacholog.store.cache import Cache, Kind, key_of
from tacholog.store.digests import code_digest, reader_digest
from tacholog.store.frames import Row

_CODE = (
    *("tacholog.privacy", "tacholog.schema", "tacholog.evidence", "tacholog.runs", "tacholog.visible"),
    *("tacholog.formats.kit", "tacholog.formats.source", "tacholog.formats.source"),
)
_AT_ONCE = 4_000_000  # When more bytes than this are waiting, they are written together.
_RUNS_AT_ONCE = 100
_Value = TypeVar("_Value")


class RedactedLog(msgspec.Struct, frozen=True):
    """A redacted log: its published name, the SHA-256 of its redacted text, and its lines by class.

    The text has a separate entry, because it is large, and usually exists in the folder of redacted logs already.
    """

    name: str
    sha256: str
    classes: LineClasses


class RedactedRun(msgspec.Struct, frozen=True):
    """A redacted run.

    Attributes:
        logs: the redacted logs by their names.
        manifest: the redacted manifest as JSON. Its labels may be redacted in another way in the next build, because they must differ from the
            redacted labels of other runs.
        numbers: the numbers that replace names in the logs and in the manifest. Further names in the tables get the next numbers.
        without_results: the logs without results, according to the manifest.
        has_labels: whether the manifest has labels.
    """

    logs: dict[str, RedactedLog]
    manifest: bytes
    numbers: dict[str, dict[str, int]]
    without_results: set[str]
    has_labels: bool


class RedactionCache:
    """The cache entries of redacted runs, logs and names."""

    def __init__(self, cache: Cache) -> None:
        """Create the object. The cache is not read or written yet."""
        self._cache = cache
        self._new: dict[bytes, bytes] = {}
        self._waiting = 0

    def names(self, keys: Iterable[bytes]) -> dict[bytes, NameList]:
        """Return the names in logs and manifests by their keys. Keys that are not in the cache are left out."""
        values = self._cache.get(Kind.PUBLISHED, keys)
        return {key: names for key, value in values.items() if (names := _decoded(value, NameList)) is not None}

    def runs(self, keys: Sequence[bytes | None]) -> Iterator[RedactedRun | None]:
        """Yield the redacted run of each key, in order; ``None`` if the cache does not have it. The cache is read in groups, which is faster."""
        for start in range(0, len(keys), _RUNS_AT_ONCE):
            some = keys[start : start + _RUNS_AT_ONCE]
            values = self._cache.get(Kind.PUBLISHED, dict.fromkeys(key for key in some if key))
            for key in some:
                value = values.get(key) if key else None
                yield None if value is None else _decoded(value, RedactedRun)

    def text(self, sha256: str) -> bytes | None:
        """Return the redacted text with this SHA-256."""
        value = self._cache.get(Kind.PUBLISHED, [_text_key(sha256)]).get(_text_key(sha256))
        return value if value is not None and hashlib.sha256(value).hexdigest() == sha256 else None

    def keep_text(self, text: bytes) -> str:
        """Store a redacted text as `keep` does. Return its SHA-256."""
        sha256 = hashlib.sha256(text).hexdigest()
        self._keep(_text_key(sha256), text)
        return sha256

    def keep(self, key: bytes, value: object) -> None:
        """Store a value. It may be written later, when `flush` is called."""
        self._keep(key, msgspec.msgpack.encode(value))

    def _keep(self, key: bytes, value: bytes) -> None:
        self._new[key] = value
        self._waiting += len(value)
        if self._waiting > _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write all values that have not been written yet."""
        self._cache.put(Kind.PUBLISHED, self._new)
        self._new, self._waiting = {}, 0


def _text_key(sha256: str) -> bytes:
    return key_of("redacted text", sha256)


def _decoded(value: bytes, type_: type[_Value]) -> _Value | None:
    try:
        return msgspec.msgpack.decode(value, type=type_)
    except msgspec.DecodeError:
        return None


def names_key(log: Row, text_bytes: int) -> bytes | None:
    """Return the key of the names in a log; ``None`` for a log whose content is not known."""
    sha256 = log["sha256"]
    return key_of("names of a log", code_digest(*_CODE), str(text_bytes), sha256) if isinstance(sha256, str) else None


def manifest_names_key(manifest: str) -> bytes:
    """Return the key of the names in a manifest."""
    return key_of("names of a manifest", code_digest(*_CODE), manifest)


def settings_key(names: KnownNames, text_bytes: int) -> bytes:
    """Return a key for everything that the redaction of all runs depends on. All names must be collected before this call."""
    words = hashlib.sha256(WORDS_FILE.read_bytes()).hexdigest()
    settings = [names.privacy, names.state(), text_bytes, os.environ.get(KEY_VARIABLE)]
    return key_of("redaction", code_digest(*_CODE), words, msgspec.msgpack.encode(settings, order="deterministic"))


def run_key(manifest: str, logs: Sequence[Row], settings: bytes, machine: str | None) -> bytes | None:
    """Return the key of a redacted run; ``None`` if the content of one of its logs is not known.

    Args:
        manifest: the manifest as JSON.
        logs: the rows of the logs.
        settings: the result of `settings_key`.
        machine: the pseudonym of the machine of the run.
    """
    parts = []
    for log in logs:
        if not isinstance(log["sha256"], str) or not isinstance(log["format"], str):
            return None
        parts += [str(log["log"]), log["sha256"], reader_digest(log["format"])]
    return key_of("redacted run", settings, msgspec.msgpack.encode(machine), manifest, *parts)
