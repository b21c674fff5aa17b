"""What a build remembers for the next one: of each file that it wrote, the digest of everything that the file was made of."""

from __future__ import annotations

from pathlib import Path

import msgspec


def remembered(memory: Path) -> dict[str, str]:
    """Return the digests by the names of the files; nothing if there are none that can be read."""
    try:
        return msgspec.json.decode(memory.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return {}


def remember(memory: Path, digests: dict[str, str]) -> None:
    """Keep the digests for the next build."""
    memory.write_bytes(msgspec.json.encode(digests))
