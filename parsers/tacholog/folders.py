"""Private folders: no other user can put files there, and only one process at a time works in them.

The files that a build or a cache keeps in a folder are trusted later: Sphinx unpickles them, templates are run, numbers are shown on pages. So other
users must not be able to write to the folder. They must also not be able to exchange the folder, or a link on the way to the folder
(`not_ours_alone`). Locks prevent two of our own processes from working in the same folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from tacholog.errors import TachologError

#: True on POSIX: files can be locked, and belong to users. False on Windows, where a folder of a user is private unless the user shares it.
HAS_LOCKS = find_spec("fcntl") is not None
_MOST_LINKS = 40  # the kernel's limit for the number of links in a path


def not_ours_alone(folder: Path) -> str | None:
    """Return the reason why another user could put files into a folder; ``None`` if nobody can. Parts of the path need not exist.

    The administrator can do anything, and does not count as another user.
    """
    if not HAS_LOCKS:
        return None
    us = os.geteuid()
    for path, state in _on_the_way(folder.absolute(), _MOST_LINKS):
        if state.st_uid not in (us, 0):
            return f"{path} belongs to another user"
        # In a folder with the sticky bit, such as /tmp, nobody else can exchange our files.
        if stat.S_ISDIR(state.st_mode) and not state.st_mode & stat.S_ISVTX and _others_write(state):
            return f"others can write to {path}"
    try:
        last = folder.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{folder}: {error.strerror}"
    if last.st_uid != us:
        return f"{folder} belongs to another user"
    return f"others can write to {folder}" if _others_write(last) else None


def is_ours(state: os.stat_result) -> bool:
    """Whether a file belongs to the user of this process. On Windows, the result is always true, because files have no user id there."""
    return not HAS_LOCKS or state.st_uid == os.geteuid()


def _on_the_way(path: Path, links: int) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield each existing folder and link on the way to a path, from the root down, then the path itself.

    For each link, the folders and links on the way to the target are yielded too.
    """
    current = Path("/")
    for name in path.parts:
        current = current / name
        try:
            state = current.lstat()
            yield current, state
            if stat.S_ISLNK(state.st_mode) and links:
                yield from _on_the_way(current.parent / current.readlink(), links - 1)
        except OSError:
            return


def _others_write(state: os.stat_result) -> bool:
    """Whether other users may write to a file or folder, according to the bits of its mode.

    If the file has an access control list, the group bits are the upper limit of the rights that this list grants.
    """
    return bool(state.st_mode & stat.S_IWOTH or (state.st_mode & stat.S_IWGRP and not _is_our_own_group(state.st_gid)))


def _is_our_own_group(number: int) -> bool:
    """Whether nobody else is in the group. On many systems, each user has a group with the same name, which may write the user's files."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return number == user.pw_gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


@contextmanager
def locked(folder: Path, message: str) -> Iterator[None]:
    """Lock an existing folder. The kernel releases the lock when the process ends, however it ends.

    Args:
        folder: the folder. The lock is advisory: a process that does not request it can still write to the folder.
        message: the text of the error if another process holds the lock.

    Raises:
        TachologError: another process holds the lock.
    """
    try:
        lock = folder_lock(folder)
    except BlockingIOError as error:
        raise TachologError(f"{folder}: {message}") from error
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def folder_lock(folder: Path, *, follows: bool = True) -> int | None:
    """Open and lock a folder. If ``follows`` is true, it may also be a link to a folder.

    Returns:
        The descriptor, which holds the lock until it is closed; ``None`` on Windows, which cannot lock folders.

    Raises:
        BlockingIOError: another process holds the lock.
    """
    if not HAS_LOCKS:
        return None
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if follows else os.O_NOFOLLOW))
    try:
        lock_file(lock)
    except OSError:
        os.close(lock)
        raise
    return lock


def lock_file(descriptor: int) -> None:
    """Lock an open file until it is closed. On Windows, nothing is locked: an open file can be neither renamed nor deleted there.

    Raises:
        BlockingIOError: another process holds the lock.
    """
    if HAS_LOCKS:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked_file(part: Path, message: str, wanted: Path) -> Iterator[BinaryIO]:
    """Open an empty temporary file for writing, and lock it until it is renamed. If it was not renamed at the end, it is removed.

    Without a lock, two processes could write into the same file. The first process to end would then rename a file that the other process is still
    writing. The lock of a killed process is released, so the next process begins the file again.

    Args:
        part: the temporary file.
        message: the text of the error if another process holds the lock.
        wanted: the final name of the file, for this message.

    Raises:
        TachologError: another process holds the lock.
    """
    if not HAS_LOCKS:
        try:
            with part.open("wb") as stream:
                yield stream
        finally:
            part.unlink(missing_ok=True)
        return
    lock = _locked_descriptor(part)
    if lock is None:
        raise TachologError(f"{wanted}: {message}")
    try:
        with os.fdopen(os.dup(lock), "wb") as stream:
            stream.truncate(0)
            yield stream
    finally:
        with suppress(OSError):
            if _is_at(part, lock):
                part.unlink()
        os.close(lock)


def _locked_descriptor(part: Path) -> int | None:
    """Return the descriptor; ``None`` if another process holds the lock."""
    while True:
        lock = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        try:
            lock_file(lock)
        except BlockingIOError:
            os.close(lock)
            return None
        except OSError:
            pass  # Some network file systems do not support locks.
        if _is_at(part, lock):
            return lock
        os.close(lock)  # The process that held the lock has just renamed the file.


def _is_at(part: Path, opened: int) -> bool:
    try:
        return os.path.samestat(os.lstat(part), os.fstat(opened))
    except FileNotFoundError:
        return False
