"""Folders that only we write: nobody else can put files there, and one process at a time works in them.

What a build or a cache keeps in a folder is trusted later: Sphinx unpickles it, templates are run, numbers come onto pages. So other users must not
be able to write to the folder, nor to exchange it or a link on the way to it (`not_ours_alone`). Locks keep two of our own processes apart.
"""

from __future__ import annotations

import fcntl
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tacholog.errors import TachologError

_MOST_LINKS = 40  # as the kernel follows


def not_ours_alone(folder: Path) -> str | None:
    """Return why somebody else could put files into a folder, in words; ``None`` if nobody can. What of it does not exist yet is ours to make.

    The administrator can do anything, and counts as nobody else.
    """
    us = os.geteuid()
    for path, state in _on_the_way(folder.absolute(), _MOST_LINKS):
        if state.st_uid not in (us, 0):
            return f"{path} belongs to another user"
        # In a folder with the sticky bit, such as /tmp, nobody can exchange what is ours.
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


def _on_the_way(path: Path, links: int) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield each folder and link on the way to a path, and the path itself, as far as they exist, from the root down; of a link also its way."""
    at = Path("/")
    for name in path.parts:
        at = at / name
        try:
            state = at.lstat()
            yield at, state
            if stat.S_ISLNK(state.st_mode) and links:
                yield from _on_the_way(at.parent / at.readlink(), links - 1)
        except OSError:
            return


def _others_write(state: os.stat_result) -> bool:
    """Whether others can write there, by its mode: where there is a list of access rights, the mode of the group is the most that it gives."""
    return bool(state.st_mode & stat.S_IWOTH or (state.st_mode & stat.S_IWGRP and not _is_our_own_group(state.st_gid)))


def _is_our_own_group(number: int) -> bool:
    """Whether nobody else is in a group: many systems give each user one of the same name, and let it write what the user makes."""
    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return number == user.pw_gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


@contextmanager
def locked(folder: Path, taken: str) -> Iterator[None]:
    """Hold a folder that exists. The kernel lets go of it when the process ends, however it ends.

    Args:
        folder: what is held; a process that does not ask for it is not kept from it.
        taken: what the error says if another process holds it.

    Raises:
        TachologError: another process holds it now.
    """
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise TachologError(f"{folder}: {taken}") from error
        yield
    finally:
        os.close(lock)


@contextmanager
def locked_file(part: Path, taken: str, wanted: Path) -> Iterator[BinaryIO]:
    """Open a file that is being written, empty, and hold it until it has another name. What is left of it in the end is removed.

    Two processes that write under one name would write into one file: the first to end would give the name of a whole file to what the other one is
    still writing. One that was killed has let go of the file, so that the next one begins it again.

    Args:
        part: the file.
        taken: what the error says if another process holds it.
        wanted: the name that the file will have, for that error.

    Raises:
        TachologError: another process holds it now.
    """
    lock = _held_at(part)
    if lock is None:
        raise TachologError(f"{wanted}: {taken}")
    try:
        with os.fdopen(os.dup(lock), "wb") as stream:
            stream.truncate(0)
            yield stream
    finally:
        with suppress(OSError):
            if _is_at(part, lock):
                part.unlink()
        os.close(lock)


def _held_at(part: Path) -> int | None:
    """Return the descriptor of a file that is held now; ``None`` if another process holds it."""
    while True:
        lock = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        except OSError:
            pass  # Some network file systems hold nothing.
        if _is_at(part, lock):
            return lock
        os.close(lock)  # Who held it has just given it its name.


def _is_at(part: Path, opened: int) -> bool:
    try:
        return os.path.samestat(os.lstat(part), os.fstat(opened))
    except FileNotFoundError:
        return False
