"""Whose a file with the name of the cache is. Only a file of this program is ever deleted, or changed at all.

TACHOLOG_CACHE may name any folder, and other programs call their files cache.sqlite3 too. So the first bytes are read before SQLite opens the file.
They cannot be told from those of others if they themselves were damaged: then the file stays, nothing is kept, and a message says so.
"""

from __future__ import annotations

from pathlib import Path

APPLICATION = 0x7AC40106  # Nobody else's, as far as the list in the sources of SQLite knows.
_MAGIC = b"SQLite format 3\x00"
_APPLICATION_AT = slice(68, 72)  # https://www.sqlite.org/fileformat2.html, "The Database Header" and "B-tree Pages"
_TABLES_AT = slice(103, 105)
_HEAD_BYTES = 105


def is_of_others(path: Path) -> bool:
    """Whether a file holds anything that this program cannot tell to be its own.

    What holds nothing yet is nobody's: an empty file, or a database without tables and without the id of a program. A process that was killed when it
    began a cache leaves such a file.

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
    return int.from_bytes(application, "big") != APPLICATION and not (is_unnamed and head[_TABLES_AT] == b"\x00\x00")
