"""Write new runs into a data folder. Each run is written completely, or nothing of it is written.

A run is written into a hidden folder inside the data folder. When the logs and the ``run.toml`` of the run are complete, the hidden folder is
renamed. Renaming is atomic. If a log was imported before, it is never changed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tacholog.errors import TachologError, UnreadableInput
from tacholog.evidence import open_evidence
from tacholog.folders import folder_lock
from tacholog.runs.importing.grouping import ImportedRun
from tacholog.runs.importing.plan import run_folder
from tacholog.runs.importing.survey import Problem, chunks_of
from tacholog.runs.manifest import HOSTS_FOLDER, RUN_FILE, write

_STAGING = ".import-"


@contextmanager
def staging(data: Path) -> Iterator[Path]:
    """Create a hidden folder in the data folder, and remove it at the end.

    Raises:
        TachologError: the folder cannot be created.
    """
    try:
        data.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=_STAGING, dir=data))
        folder.chmod(0o755)
        lock = folder_lock(folder)  # When the process ends, even by a crash, the kernel releases the lock.
    except OSError as error:
        raise TachologError(f"{data}: {error.strerror}") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_leftovers(data: Path) -> None:
    """Remove the hidden folders of imports that were killed. A locked folder stays, because another import is still using it.

    Without locks (Windows), all of them stay.
    """
    for folder in data.glob(f"{_STAGING}*"):
        if folder.is_symlink() or not folder.is_dir():
            continue
        with contextlib.suppress(BlockingIOError):
            if (lock := folder_lock(folder, follows=False)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def write_run(root: Path, data: Path, stage: Path, run: ImportedRun, *, link: bool) -> Problem | None:
    """Write a run into the data folder.

    Args:
        root: the folder that is imported.
        data: the data folder.
        stage: a folder on the same file system, from `staging`.
        run: the run.
        link: whether hard links are made instead of copies.

    Returns:
        ``None`` if the run was written; otherwise the reason: a log has changed after it was read, or another process has written the run.

    Raises:
        TachologError: the data folder cannot be written, or a log cannot be linked.
    """
    made = stage / "run"
    target = data / run_folder(run)
    try:
        made.mkdir()
        problem = _add_logs(root, made, run, link=link)
        if problem is None:
            write(made / RUN_FILE, run.manifest)
            target.parent.mkdir(parents=True, exist_ok=True)
            problem = _put_in_place(made, target, run)
    except OSError as error:
        raise TachologError(f"{target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return problem


def _add_logs(root: Path, made: Path, run: ImportedRun, *, link: bool) -> Problem | None:
    for log, entry in zip(run.logs, run.manifest.logs, strict=True):
        try:
            sha256 = _link(root, log.path, made / entry.file) if link else _copy(root, log.path, made / entry.file)
        except UnreadableInput as error:
            return Problem(log.path, f"{error}")
        if sha256 != log.survey.sha256:
            return Problem(log.path, "the log was changed while it was read; import again")
    return None


def _put_in_place(made: Path, target: Path, run: ImportedRun) -> Problem | None:
    try:
        made.rename(target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        holds = "another import has just written it" if (target / RUN_FILE).exists() else "holds no run"
        return Problem(run.logs[0].path, f"{target} is already there, and {holds}")
    return None


def _copy(root: Path, path: str, target: Path) -> str:
    """Return the SHA-256 of the copied bytes."""
    digest = hashlib.sha256()
    with open_evidence(root, path) as source, target.open("xb") as copy:
        for chunk in chunks_of(source):
            digest.update(chunk)
            copy.write(chunk)
        times = os.fstat(source.fileno())
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    return digest.hexdigest()


def _link(root: Path, path: str, target: Path) -> str:
    """Make a hard link to the opened log, even if another file has the path now. Return the SHA-256 of the log."""
    with open_evidence(root, path) as source:
        try:
            # linkat() can follow the link in /proc, but Python calls it only if `src_dir_fd` is given. With an absolute path, the value of
            # `src_dir_fd` does not matter.
            os.link(f"/proc/self/fd/{source.fileno()}", target, src_dir_fd=source.fileno(), follow_symlinks=True)
        except OSError as error:
            way_out = "; without --link, logs are copied" if error.errno in (errno.EXDEV, errno.EPERM, errno.EMLINK) else ""
            raise TachologError(f"{root / path} cannot be linked to {target.parent.parent.parent}: {error.strerror}{way_out}") from error
        digest = hashlib.sha256()
        for chunk in chunks_of(source):
            digest.update(chunk)
        return digest.hexdigest()


def write_hosts(data: Path, runs: Iterable[ImportedRun]) -> list[str]:
    """Write a host file for each machine that a log describes, if there is no such file. Return the ids of the new files."""
    written: list[str] = []
    for run in runs:
        for name, host in run.hosts.items():
            path = data / HOSTS_FOLDER / f"{name}.toml"
            if name not in written and not os.path.lexists(path):
                with contextlib.suppress(FileExistsError):
                    path.parent.mkdir(parents=True, exist_ok=True)
                write(path, host)
                written.append(name)
    return written
