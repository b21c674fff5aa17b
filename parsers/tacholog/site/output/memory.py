"""What a build remembers for the next one, such as the digest of everything that a file was made of, or a part of a page itself."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeVar

import msgspec

_Value = TypeVar("_Value")
_STAMP_BYTES = 65  # of a SHA-256 in hexadecimal, and the end of its line


def kept_value(path: Path, kind: type[_Value]) -> _Value | None:
    """Return the value that `keep_value` wrote; nothing if there is none, if it is damaged, or if another version wrote it."""
    try:
        digest, _, content = path.read_bytes().partition(b"\n")
        return msgspec.json.decode(content, type=kind) if digest == _digest(content) else None
    except (OSError, msgspec.DecodeError):
        return None


def is_whole(path: Path) -> bool:
    """Whether a file is as `keep_value` wrote it. To decode the value too takes several times as long."""
    try:
        digest, _, content = path.read_bytes().partition(b"\n")
        return digest == _digest(content)
    except OSError:
        return False


def keep_value(path: Path, value: object) -> None:
    """Keep a value for the next build, with its digest: what is damaged on the disk must not come onto a page."""
    content = msgspec.json.encode(value)
    path.write_bytes(_digest(content) + b"\n" + content)


def stamp_of(path: Path) -> str:
    """Return the digest that a kept value begins with: another value has another. Large values are not read for it.

    Whether the value is still as it was kept, only `is_whole` and `kept_value` say.
    """
    with path.open("rb") as stream:
        return stream.readline(_STAMP_BYTES).decode("ascii", "replace").rstrip("\n")


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
