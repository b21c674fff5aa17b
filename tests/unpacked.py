"""The content of the files of a site, uncompressed."""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from pathlib import Path

_PART = re.compile(r'tachologPart\("([^"]+)", "([^"]+)"\);\n')


def content_of(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix == ".js" and (part := _PART.fullmatch(content.decode())):
        return zlib.decompress(base64.b64decode(part[2]))
    return gzip.decompress(content) if path.suffix == ".gz" else content


def pieces_of(script: Path) -> dict[str, str]:
    """Return the pieces of HTML that a script gives to its page, by id."""
    part = _PART.fullmatch(script.read_text())
    assert part
    assert part[1] == script.name
    pieces: dict[str, str] = json.loads(content_of(script))
    return pieces
