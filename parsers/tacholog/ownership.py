"""Whose a folder is. What a build or a cache keeps there is trusted later: Sphinx unpickles it, templates are run, numbers come onto pages.

So it is kept only where nobody else can put anything: others must not be able to write to the folder, nor to exchange it, or a link on the way to it.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

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
