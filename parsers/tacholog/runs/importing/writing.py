"""Put runs into a data folder: only what is new, and each run whole or not at all.

A run is made in a hidden folder of the data folder. When its logs and its ``run.toml`` are there, the hidden folder is renamed, which either happens
or does not. A log that was imported before is never changed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tacholog.errors import TachologError, UnreadableInput
from tacholog.evidence import open_evidence
from tacholog.runs.importing.grouping import ImportedRun, by_variant
from tacholog.runs.importing.names import repetition_folder, with_hash
from tacholog.runs.importing.survey import Problem, chunks_of
from tacholog.runs.manifest import HOSTS_FOLDER, RUN_FILE, Manifest, folders_below, read_manifest, write

_STAGING = ".import-"
# What a run's fields do not decide: these may differ in a run that was imported before.
_OF_LOGS = ("logs", "host", "notes", "start_time", "status", "reason", "environment", "commands", "order_index", "seed", "repetition")


class Known(NamedTuple):
    """The runs that a data folder holds already.

    Attributes:
        manifests: by the folder of each run; ``None`` if its ``run.toml`` cannot be read.
        variants: the folders of runs, by the folder that holds them.
        by_content: the folders of runs, by the SHA-256 of their logs.
    """

    manifests: dict[str, Manifest | None]
    variants: dict[str, list[str]]
    by_content: dict[tuple[str, ...], list[str]]


class Decided(NamedTuple):
    """What is to be done with the runs of a folder of logs.

    Attributes:
        new: runs to write; their folders and repetitions are final.
        present: runs that the data folder holds already, and the folder of each.
        relabelled: those of them whose fields are not what was asked for now, and the names of these fields.
        problems: runs that are not written, because their folder holds other logs.
    """

    new: list[ImportedRun]
    present: list[tuple[ImportedRun, str]]
    relabelled: list[tuple[str, tuple[str, ...]]]
    problems: list[Problem]


def known_runs(data: Path | None) -> Known:
    """Read the manifests of a data folder; none if there is no such folder."""
    manifests: dict[str, Manifest | None] = {}
    variants: dict[str, list[str]] = defaultdict(list)
    contents: dict[tuple[str, ...], list[str]] = defaultdict(list)
    if data is None or not data.is_dir():
        return Known(manifests, variants, contents)
    for folder, files in folders_below(data):
        if RUN_FILE not in files:
            continue
        run = folder.relative_to(data).as_posix()
        variants[run.rpartition("/")[0]].append(run)
        try:
            manifests[run] = read_manifest(folder / RUN_FILE)
        except UnreadableInput:
            manifests[run] = None
            continue
        contents[_content(manifests[run])].append(run)
    return Known(manifests, variants, contents)


def _content(manifest: Manifest | None) -> tuple[str, ...]:
    return tuple(sorted(log.sha256 for log in manifest.logs)) if manifest else ()


def _texts(run: ImportedRun) -> tuple[str, ...]:
    return tuple(sorted(log.survey.text_sha256 for log in run.logs))


def decide(runs: Iterable[ImportedRun], known: Known) -> Decided:
    """Decide which runs are new. Counted repetitions get the numbers that follow those of runs that are there already."""
    final: list[ImportedRun] = []
    for folder, members in by_variant(runs).items():
        # A folder of the same name may hold runs of other fields, imported from elsewhere.
        own = folder if _is_ours(folder, members, known) else with_hash(folder, members[0].key)
        final += [run._replace(folder=own) for run in _numbered(own, members, known)]
    decided = Decided([], [], [], [])
    planned = {run_folder(run) for run in final}
    seen: dict[tuple[str, ...], ImportedRun] = {}
    for run in final:
        first = seen.setdefault(_texts(run), run) if _has_results(run) else run
        if first is not run:
            what = "bytes" if _content(first.manifest) == _content(run.manifest) else "text"
            reason = f"it holds the same {what} as {first.logs[0].path}, so its numbers would count twice"
            decided.problems.append(Problem(run.logs[0].path, reason))
        else:
            _decide_run(run, known, planned, decided)
    return decided


def _has_results(run: ImportedRun) -> bool:
    return any(log.survey.kinds for log in run.logs)


def run_folder(run: ImportedRun) -> str:
    """Return the folder of a run, relative to the data folder."""
    return f"{run.folder}/{repetition_folder(run.repetition)}"


def _is_ours(folder: str, members: Sequence[ImportedRun], known: Known) -> bool:
    """Return whether a folder is free for these runs: it holds none, one of theirs, or runs with their fields."""
    present = [known.manifests[run] for run in known.variants.get(folder, ())]
    contents = {_content(run.manifest) for run in members}
    ours = _fields(members[0].manifest)
    return not present or any(_content(manifest) in contents or (manifest and _fields(manifest) == ours) for manifest in present)


def _fields(manifest: Manifest) -> dict[str, Any]:
    """Return what sets runs apart: the fields of a manifest that its logs do not decide."""
    return {name: value for name, value in msgspec.to_builtins(manifest).items() if name not in _OF_LOGS}


def _numbered(folder: str, members: Sequence[ImportedRun], known: Known) -> Iterator[ImportedRun]:
    """Yield runs with their final numbers. A counted run that is there already keeps its number; new ones get the next numbers."""
    if not members[0].is_counted:
        yield from members
        return
    present = known.variants.get(folder, [])
    waiting: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for place in sorted(present, reverse=True):
        waiting[_content(known.manifests[place])].append(place)
    numbers = [int(name) for place in present if (name := place.rpartition("/")[2]).isdecimal()]
    following = max(numbers, default=0)
    for run in members:
        if same := waiting.get(_content(run.manifest)):
            name = same.pop().rpartition("/")[2]
            yield run.at(int(name) if name.isdecimal() else run.repetition)
        else:
            following += 1
            yield run.at(following)


def _decide_run(run: ImportedRun, known: Known, planned: set[str], decided: Decided) -> None:
    place, content = run_folder(run), _content(run.manifest)
    if place in known.manifests:
        manifest = known.manifests[place]
        if manifest is None or _content(manifest) != content:
            decided.problems.extend(_changed(run, place, manifest))
            return
        _add_present(run, place, manifest, decided)
        return
    # Logs without results, such as those of runs that never began, are often the same.
    elsewhere = next((other for other in known.by_content.get(content, ()) if other not in planned), None) if _has_results(run) else None
    if elsewhere:
        _add_present(run, elsewhere, known.manifests[elsewhere], decided)
    else:
        decided.new.append(run)


def _add_present(run: ImportedRun, place: str, manifest: Manifest | None, decided: Decided) -> None:
    decided.present.append((_completed(run, manifest), place))
    asked, present = _fields(run.manifest), _fields(manifest) if manifest else {}
    names = tuple(name for name in sorted({*asked, *present}) if asked.get(name) != present.get(name))
    if names:
        decided.relabelled.append((place, tuple(word for name in names for word in _differing(name, asked.get(name), present.get(name)))))


def _completed(run: ImportedRun, manifest: Manifest | None) -> ImportedRun:
    """Return a run with the start time and the machine that somebody has written into its ``run.toml`` since, if nothing else states them."""
    since = {name: value for name in ("start_time", "host") if (value := getattr(manifest, name, None)) and not getattr(run.manifest, name)}
    return run._replace(manifest=msgspec.structs.replace(run.manifest, **since))


def _differing(name: str, asked: object, present: object) -> Iterator[str]:
    """Yield the names of fields with other values, those inside tables by their full names."""
    if not isinstance(asked, dict | None) or not isinstance(present, dict | None):
        yield name
        return
    first, second = asked or {}, present or {}
    yield from (f"{name}.{inner}" for inner in sorted({*first, *second}) if first.get(inner) != second.get(inner))


def _changed(run: ImportedRun, place: str, manifest: Manifest | None) -> Iterator[Problem]:
    """Yield a problem for each log that a run has now and did not have when it was imported."""
    if manifest is None:
        yield Problem(run.logs[0].path, f"{place}/{RUN_FILE} is there already, and cannot be read; nothing was changed")
        return
    before = Counter(log.sha256 for log in manifest.logs)
    names = {log.path: log.file for log in manifest.logs if log.path}
    for log in run.logs:
        if not before[log.survey.sha256]:
            what = "the log has changed since" if log.path in names else "that run was imported without this log"
            yield Problem(log.path, f"{place} is there already, and {what}; to import it anew, remove {place} first")
    if all(before[log.survey.sha256] for log in run.logs):
        yield Problem(run.logs[0].path, f"{place} is there already, with more logs")


@contextmanager
def staging(data: Path) -> Iterator[Path]:
    """Make a hidden folder in the data folder, and remove it at the end.

    Raises:
        TachologError: it cannot be made.
    """
    try:
        data.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=_STAGING, dir=data))
        folder.chmod(0o755)
    except OSError as error:
        raise TachologError(f"{data}: {error.strerror}") from error
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # The kernel drops the lock when the process ends, however it ends.
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def remove_leftovers(data: Path) -> None:
    """Remove the hidden folders of imports that were killed. That of an import that still runs is locked."""
    for folder in data.glob(f"{_STAGING}*"):
        if folder.is_symlink() or not folder.is_dir():
            continue
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)


def write_run(root: Path, data: Path, stage: Path, run: ImportedRun, *, link: bool) -> Problem | None:
    """Write a run into the data folder.

    Args:
        root: the folder that is imported.
        data: the data folder.
        stage: a folder on the same file system, from `staging`.
        run: the run.
        link: whether to make hard links instead of copies.

    Returns:
        Why the run was not written, if a log has changed since it was read, or somebody else has written the run; else ``None``.

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
            return Problem(log.path, "it was changed while it was read; import again")
    return None


def _put_in_place(made: Path, target: Path, run: ImportedRun) -> Problem | None:
    try:
        made.rename(target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        holds = "another import has just written it" if (target / RUN_FILE).exists() else "holds no run"
        return Problem(run.logs[0].path, f"{target} is there already, and {holds}")
    return None


def _copy(root: Path, path: str, target: Path) -> str:
    """Copy a log and its time. Return the SHA-256 of the copied bytes."""
    digest = hashlib.sha256()
    with open_evidence(root, path) as source, target.open("xb") as copy:
        for chunk in chunks_of(source):
            digest.update(chunk)
            copy.write(chunk)
        times = os.fstat(source.fileno())
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    return digest.hexdigest()


def _link(root: Path, path: str, target: Path) -> str:
    """Make a hard link to the log that was opened, whatever its path leads to by now. Return the SHA-256 of its bytes."""
    with open_evidence(root, path) as source:
        try:
            # Only with a folder does Python call linkat(), which can follow the link in /proc; the path is absolute, so any will do.
            os.link(f"/proc/self/fd/{source.fileno()}", target, src_dir_fd=source.fileno(), follow_symlinks=True)
        except OSError as error:
            way_out = "; without --link, logs are copied" if error.errno in (errno.EXDEV, errno.EPERM, errno.EMLINK) else ""
            raise TachologError(f"{root / path} cannot be linked to {target.parent.parent.parent}: {error.strerror}{way_out}") from error
        digest = hashlib.sha256()
        for chunk in chunks_of(source):
            digest.update(chunk)
        return digest.hexdigest()


def write_hosts(data: Path, runs: Iterable[ImportedRun]) -> list[str]:
    """Write a host file for each machine that a log describes, unless there is one. Return the ids of those that were written."""
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
