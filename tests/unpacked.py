"""The content of the files of a site: what is compressed counts as what it holds."""

from __future__ import annotations

import gzip
from pathlib import Path


def content_of(path: Path) -> bytes:
    """What a file holds, without its compression."""
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content
