"""Replace the content of a published folder in one step: the new content is written beside it and swapped in at the end.

If anything stops it before that step, such as a full disk or a killed process, the folder is unchanged, and the next attempt starts again. If two
processes publish into one folder, the second one is refused.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tacholog.errors import TachologError, UnreadableInput

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EBUSY, errno.EXDEV)


@contextmanager
def replaced(folder: Path, kept: Sequence[str]) -> Iterator[Path]:
    """Yield an empty folder for the new content. When the block ends without an error, it replaces ``folder``.

    Args:
        folder: the folder to replace. It need not exist, and stays unchanged until the block has ended.
        kept: names in the folder that belong to its owner, such as ``.git``. They move to the new folder.

    Raises:
        UnreadableInput: another process is publishing into the folder.
        TachologError: something cannot be written. Nothing has changed.
    """
    folder = folder.resolve()
    beside = _beside(folder)
    with locked(beside.with_name(f"{beside.name}.lock"), str(folder)):
        fresh = beside.with_name(f"{beside.name}.new")
        _recover(folder, fresh, kept)
        try:
            fresh.mkdir(parents=True)
            yield fresh
            if folder.exists():
                shutil.copystat(folder, fresh)  # the new folder has the permissions of the old one
            _keep(folder, fresh, kept)
            _exchange(folder, fresh)
        except OSError as error:
            raise TachologError(f"{folder}: {_why(error)}; nothing was published, and the folder is unchanged") from error
        finally:
            _recover(folder, fresh, kept)


def _beside(folder: Path) -> Path:
    """Return the path for the new content: beside the folder, or inside it if the folder is a mount or its parent cannot be written."""
    parent = folder.parent
    while not parent.exists():
        parent = parent.parent
    is_mount = folder.exists() and folder.stat().st_dev != parent.stat().st_dev
    inside = folder.exists() and (is_mount or os.path.ismount(folder) or not os.access(parent, os.W_OK))
    return folder / ".tacholog-publish" if inside else folder.with_name(f".{folder.name}.tacholog-publish")


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold a lock on a file. The kernel releases it when the process ends, even if it is killed; a file that is left over does no harm.

    Raises:
        UnreadableInput: another process holds the lock.
        TachologError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _locked(path, what)
    except OSError as error:
        raise TachologError(f"{what}: {_why(error)}; nothing was published, and the folder is unchanged") from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _locked(path: Path, what: str) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise UnreadableInput(f"{what}: another tacholog publish is writing to it; try again later") from None
        if _is_same_file(path, handle):
            return handle
        os.close(handle)  # The process before us ended, and deleted its file between our two calls.


def _is_same_file(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _keep(folder: Path, fresh: Path, kept: Sequence[str]) -> None:
    """Bring the owner's names into the new folder: copy files, and move folders. `_recover` can undo a move."""
    for name in kept:
        if (folder / name).is_dir() and not (folder / name).is_symlink():
            (folder / name).rename(fresh / name)
        elif os.path.lexists(folder / name):
            shutil.copy2(folder / name, fresh / name, follow_symlinks=False)


def _recover(folder: Path, fresh: Path, kept: Sequence[str]) -> None:
    """Remove what an earlier attempt left, after moving the owner's folders back: a process that was killed could not do it."""
    if not os.path.lexists(fresh):
        return
    for name in kept:
        if os.path.lexists(fresh / name) and folder.is_dir() and not os.path.lexists(folder / name):
            (fresh / name).rename(folder / name)
    if fresh.is_dir() and not fresh.is_symlink():
        shutil.rmtree(fresh)
    else:
        fresh.unlink()


def _why(error: OSError) -> str:
    """Return what went wrong. ``copytree`` lists all files that it could not copy; the first one is enough."""
    if isinstance(error, shutil.Error):
        _, target, reason = error.args[0][0]
        return f"{Path(target).name}: {str(reason).partition('] ')[2].partition(': ')[0] or reason}"
    return f"{Path(error.filename).name}: {error.strerror}" if error.filename else str(error.strerror or error)


def _exchange(folder: Path, fresh: Path) -> None:
    """Swap the two folders in one step. If the system cannot do that (a mount), swap their entries one by one."""
    if not folder.exists():
        fresh.rename(folder)
        return
    if _swapped(fresh, folder):
        return
    # index.html comes last, when the pages that it links to are there.
    names = {path.name for parent in (fresh, folder) for path in parent.iterdir()} - {fresh.name, f"{fresh.stem}.lock"}
    for name in sorted(names, key=lambda name: (name == "index.html", name)):
        if not os.path.lexists(folder / name):
            (fresh / name).rename(folder / name)
        elif not os.path.lexists(fresh / name):
            (folder / name).rename(fresh / name)
        elif not _swapped(fresh / name, folder / name):
            (folder / name).rename(fresh / f".{name}.old")
            (fresh / name).rename(folder / name)


def _swapped(one: Path, other: Path) -> bool:
    """Swap two paths in one step (Linux: ``renameat2``). Return False if the system or the file system cannot do that."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    if (code := ctypes.get_errno()) in _NO_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(other))
