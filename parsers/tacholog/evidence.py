"""Open files that a folder of runs names. Nothing outside such a folder may ever be read or published.

A path that the user types is the user's own choice. A name in a manifest, a plan or a folder may come from a stranger: it must be the name of a
regular file inside its folder, and no link may be on the way to it. Each folder is opened, and the next name is looked up in the open folder. So the
checked file is always the file that is read, even if files are exchanged after the check.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections.abc import Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tacholog.errors import UnreadableInput

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
}
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
# Without O_NONBLOCK, opening a named pipe could wait forever for a writer. Without O_NOCTTY, a terminal could become the terminal of this process.
# Windows has none of these flags, but needs O_BINARY: otherwise it changes line ends.
_FLAGS = os.O_RDONLY | _NO_LINKS | reduce(or_, (getattr(os, f"O_{name}", 0) for name in ("CLOEXEC", "NONBLOCK", "NOCTTY", "BINARY", "NOINHERIT")))
_AN_OPEN_FOLDER = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_DIRECTORY", 0)
_HAS_OPEN_FOLDERS = os.open in os.supports_dir_fd  #: whether a name can be looked up in an open folder; not on Windows
_NOT_IN_NAMES = "\x00\\:" if os.name == "nt" else "\x00"  # On Windows, "a\\b" and "c:x" lead to another folder, and "a:b" to a hidden part of a file.
_SMALL_BYTES = 16 << 20  # A thousand times the size of any manifest. Without a limit, a sparse file of terabytes would fill the memory.
_STEP_BYTES = 1 << 12  # Files that the kernel generates, such as files in /proc, have the size 0.


def open_evidence(folder: Path, name: str) -> BinaryIO:
    """Open a regular file of a folder for reading. A later read error, for example of a failing disk, also raises UnreadableInput.

    Args:
        folder: the folder of a run or of several runs. Links above it are followed, because the user named it.
        name: the path of the file below that folder, with ``/`` between folders.

    Raises:
        UnreadableInput: the name leads out of the folder, a link is on the way, or there is no regular file that can be opened.
    """
    return io.BufferedReader(_Evidence(_opened(folder, name)[0]))


class _Evidence(io.FileIO):
    """An open file that turns read errors into UnreadableInput, so that they affect only this file."""

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        try:
            return super().readinto(buffer)
        except OSError as error:
            raise _unreadable(error) from error

    def readall(self) -> bytes:
        try:
            return super().readall()
        except OSError as error:
            raise _unreadable(error) from error


def _unreadable(error: OSError) -> UnreadableInput:
    return UnreadableInput(f"cannot be read: {error.strerror}")


def read_evidence(folder: Path, name: str, most_bytes: int | None = None) -> bytes:
    """Read a small file of a folder, opened as by `open_evidence`, without the overhead of a Python stream.

    Args:
        folder: as for `open_evidence`.
        name: as for `open_evidence`.
        most_bytes: read at most this many bytes; ``None``: no limit.

    Raises:
        UnreadableInput: the file cannot be opened or read.
    """
    file, size_bytes = _opened(folder, name)
    try:
        left = sys.maxsize if most_bytes is None else most_bytes
        wanted = min(max(size_bytes + 1, _STEP_BYTES), left)
        piece = os.read(file, wanted)
        if len(piece) == size_bytes < wanted:
            return piece  # The file is complete. A file that the kernel generates has the size 0 and is read to its end below.
        pieces: list[bytes] = []
        while piece:
            pieces.append(piece)
            left -= len(piece)
            piece = os.read(file, min(wanted, left))
        return b"".join(pieces)
    except OSError as error:
        raise _unreadable(error) from error
    finally:
        os.close(file)


def read_small_evidence(folder: Path, name: str) -> bytes:
    """Return the bytes of a file that people write, such as a manifest: see `open_evidence`.

    Raises:
        UnreadableInput: the file cannot be opened or read, or is far too large.
    """
    content = read_evidence(folder, name, _SMALL_BYTES + 1)
    if len(content) > _SMALL_BYTES:
        raise UnreadableInput(f"larger than {_SMALL_BYTES >> 20} MiB")
    return content


def is_there(folder: Path, name: str) -> bool:
    """Return whether a folder has an entry of that name. A broken link is an entry too: it must be reported, not skipped."""
    try:
        parts = _safe_parts(name)
    except UnreadableInput:
        return False
    return os.path.lexists(f"{folder}/{'/'.join(parts)}")  # No `Path` is created, because this would take longer than the check.


def _opened(folder: Path, name: str) -> tuple[int, int]:
    """Return the descriptor and the size of a regular file."""
    *inner, last = _safe_parts(name)
    if not _HAS_OPEN_FOLDERS:
        file = _opened_by_path(os.fspath(folder), (*inner, last))
    elif inner:
        parent = _open(os.fspath(folder), _AN_OPEN_FOLDER, None)
        try:
            for part in inner:
                below = _open(part, _AN_OPEN_FOLDER | _NO_LINKS, parent)
                os.close(parent)
                parent = below
            file = _open(last, _FLAGS, parent)
        finally:
            os.close(parent)
    else:  # O_NOFOLLOW applies only to the last name of a path. The user chose the names before it.
        file = _open(f"{folder}/{last}", _FLAGS, None)  # No `Path`: for a million logs, creating each `Path` takes as long as opening the file.
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        os.close(file)
        raise UnreadableInput(f"not a file but {_KINDS.get(stat.S_IFMT(status.st_mode), 'something else')}")
    return file, status.st_size


def _opened_by_path(path: str, names: Sequence[str]) -> int:
    """Open the file that these names lead to from ``path``, and return its descriptor. Raise `UnreadableInput` if one of the names is a link.

    All names are checked before the file is opened. Therefore a link that is made after the check is followed.
    """
    for name in names:
        path = os.path.join(path, name)  # noqa: PTH118 - as in `_opened`, no `Path` is made
        try:
            state = os.lstat(path)
        except OSError:
            break  # `_open` below reports this error.
        # On Windows, a junction is a link to a folder.
        is_junction = getattr(state, "st_reparse_tag", 0) == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)
        if stat.S_ISLNK(state.st_mode) or is_junction:
            raise UnreadableInput("not a file but a link, which is not followed")
    return _open(path, _FLAGS, None)


def _safe_parts(name: str) -> list[str]:
    parts = name.split("/")
    if any(character in name for character in _NOT_IN_NAMES) or any(part in ("", ".", "..") for part in parts):
        raise UnreadableInput(f"{name!r} is not the name of a file in this folder")
    return parts


def _open(path: str, flags: int, parent: int | None) -> int:
    try:
        return os.open(path, flags) if parent is None else os.open(path, flags, dir_fd=parent)
    except OSError as error:
        raise UnreadableInput(_in_words(error, path, parent)) from error


def _in_words(error: OSError, path: str, parent: int | None) -> str:
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
        try:
            status = os.lstat(path) if parent is None else os.stat(path, dir_fd=parent, follow_symlinks=False)
            kind = _KINDS.get(stat.S_IFMT(status.st_mode))
        except OSError:
            kind = None
        if kind:
            return f"not a file but {kind}{', which is not followed' if kind == 'a link' else ''}"
    return f"cannot open: {error.strerror}"
