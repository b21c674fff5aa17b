"""Changing a published folder as a whole: the new content is written beside it, and takes its place in one step at the end.

Whatever stops it before that step, a full disk or a killed process, leaves the folder as it was, and the next try begins anew. Two that
publish into one folder at once do not meet: the second one is refused.
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
    """Hand out an empty folder for the new content; when the block ends well, it takes the place of ``folder``.

    Args:
        folder: what is to be replaced; it need not exist. It stays whole, and unchanged, until the block has ended.
        kept: names in it that belong to its owner and move over as they are, such as ``.git``.

    Raises:
        UnreadableInput: somebody else is publishing into the folder.
        TachologError: something cannot be written; nothing has changed.
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
                shutil.copystat(folder, fresh)  # whoever could read the old folder can read the new one
            _keep(folder, fresh, kept)
            _exchange(folder, fresh)
        except OSError as error:
            raise TachologError(f"{folder}: {_why(error)}; nothing was published, and what was there is as it was") from error
        finally:
            _recover(folder, fresh, kept)


def _beside(folder: Path) -> Path:
    """Return where the new content is written: beside the folder, or in it where that is another file system (a mount) or not ours."""
    parent = folder.parent
    while not parent.exists():
        parent = parent.parent
    is_mount = folder.exists() and folder.stat().st_dev != parent.stat().st_dev
    inside = folder.exists() and (is_mount or os.path.ismount(folder) or not os.access(parent, os.W_OK))
    return folder / ".tacholog-publish" if inside else folder.with_name(f".{folder.name}.tacholog-publish")


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold a lock by a file. The kernel lets go of it when the process ends, however that is; the file that a killed one leaves does no harm.

    Raises:
        UnreadableInput: another process holds it.
        TachologError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _locked(path, what)
    except OSError as error:
        raise TachologError(f"{what}: {_why(error)}; nothing was published, and what was there is as it was") from error
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
            raise UnreadableInput(f"{what}: another tacholog publish is writing to it; try again when that has ended") from None
        if _is_that(path, handle):
            return handle
        os.close(handle)  # The one before us ended and took its file away between our two calls.


def _is_that(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _keep(folder: Path, fresh: Path, kept: Sequence[str]) -> None:
    """Take over what belongs to the folder's owner: a file as a copy, a folder (of which there is one) by moving it, which `_recover` can undo."""
    for name in kept:
        if (folder / name).is_dir() and not (folder / name).is_symlink():
            (folder / name).rename(fresh / name)
        elif os.path.lexists(folder / name):
            shutil.copy2(folder / name, fresh / name, follow_symlinks=False)


def _recover(folder: Path, fresh: Path, kept: Sequence[str]) -> None:
    """Remove what a try left, after giving back what it had moved: a try that was killed did not get to it."""
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
    """Return what went wrong; ``copytree`` goes on after the first file that it could not copy, and lists them all."""
    if isinstance(error, shutil.Error):
        _, target, reason = error.args[0][0]
        return f"{Path(target).name}: {str(reason).partition('] ')[2].partition(': ')[0] or reason}"
    return f"{Path(error.filename).name}: {error.strerror}" if error.filename else str(error.strerror or error)


def _exchange(folder: Path, fresh: Path) -> None:
    """Let the two folders change places in one step; where the system cannot (a mount), their entries, one after the other."""
    if not folder.exists():
        fresh.rename(folder)
        return
    if _swapped(fresh, folder):
        return
    # index.html goes last: what it links to is there by then.
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
    """Let two paths change places in one step (Linux: ``renameat2``). False: this system or file system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    if (code := ctypes.get_errno()) in _NO_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(other))
