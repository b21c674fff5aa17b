"""Read the files of a site that somebody else has made.

No link is followed, nothing but regular files is opened, and none unpacks to more than its size allows.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from tacholog.errors import UnreadableInput
from tacholog.evidence import open_evidence, read_evidence

_MOST_READ = 2**28  # bytes of one file that is read as a whole, such as a page
# What is compressed may be a thousand times as long. Texts of a site have been 56 times as long.
_LEAST_UNPACKED, _MOST_TIMES = 2**26, 200
_MOST_UNPACKED = 2**32
_PIECE_BYTES = 2**20


def read_foreign(site: Path, name: str) -> bytes:
    """Return the bytes of a file of a site.

    Raises:
        UnreadableInput: it is missing, no regular file, behind a link, or too large.
    """
    content = read_evidence(site, name, _MOST_READ + 1)
    if len(content) > _MOST_READ:
        raise UnreadableInput(f"it is larger than {_MOST_READ >> 20} MiB")
    return content


def unpacked_pieces(site: Path, name: str) -> Iterator[bytes]:
    """Yield what a file of a site holds that is compressed with gzip.

    Raises:
        UnreadableInput: it cannot be read, or unpacks to more than its size allows.
    """
    size = 0
    with open_evidence(site, name) as stream:
        limit = most_unpacked(os.fstat(stream.fileno()).st_size)
        try:
            with gzip.GzipFile(fileobj=stream) as packed:
                while piece := packed.read(_PIECE_BYTES):
                    size += len(piece)
                    if size > limit:
                        raise UnreadableInput(f"it holds more than {limit >> 20} MiB, too much for its size")
                    yield piece
        except (OSError, EOFError, zlib.error) as error:
            raise UnreadableInput(f"it cannot be read: {error}") from error


def most_unpacked(size_bytes: int) -> int:
    """Return how many bytes a file of this size may hold."""
    return min(_LEAST_UNPACKED + _MOST_TIMES * size_bytes, _MOST_UNPACKED)
