"""Find the runs and the hosts below folders, and report what belongs to no run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tacholog.errors import UnreadableInput
from tacholog.runs.machines import Conflict, HostFile, Machines
from tacholog.runs.manifest import HOSTS_FOLDER, RUN_FILE, folders_below, listed_below, read_host
from tacholog.runs.problems import CONTRADICTED, UNREADABLE, Row, add_unlisted_folder, folder_without_manifest, problem, special_files, utf8


class RunFolder(NamedTuple):
    """The folder of a run, and the names of all files in it. Runs whose files have the same names share one tuple of names."""

    path: Path
    names: tuple[str, ...]


def list_runs(roots: Sequence[Path], machines: Machines, problems: list[Row]) -> dict[str, RunFolder]:
    """Return the folder of each run. Hosts are read before any run, because the marks of a run depend on its host.

    Args:
        roots: the folders; runs are searched for in all folders below them. The id of a run is the path of its folder relative to its root.
        machines: the machines that the host files describe are added here.
        problems: a row is added for each folder and each file that cannot be used, and for host files that contradict each other.

    Raises:
        UnreadableInput: a root is no folder, or is named twice.
    """
    folders_of_runs: dict[str, RunFolder] = {}
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    resolved_roots: set[Path] = set()
    for root in roots:
        if not root.is_dir():
            raise UnreadableInput(f"{root}: no such folder")
        if root.resolve() in resolved_roots:
            raise UnreadableInput(f"{root}: this folder was given twice")
        resolved_roots.add(root.resolve())
        host_files: list[HostFile] = []
        for listed in listed_below(root, partial(add_unlisted_folder, root, problems)):
            folder, files = Path(listed.folder), listed.files
            if folder.name == HOSTS_FOLDER:
                host_files += _host_files(root, folder, files, problems)
            if RUN_FILE not in files:
                problems.extend((*special_files(folder), *folder_without_manifest(root, folder, files)))
                continue
            run = listed.folder[len(os.fspath(root)) :].lstrip("/") or "."
            if run in folders_of_runs:  # this name already belongs to the run in the other folder, so the problem is stored without a run
                reason = f"{folder}: not read, because the run {run} is in {folders_of_runs[run].path} too; give one of the two folders another name"
                problems.append(problem("", run, 0, UNREADABLE, "", reason))
                continue
            names = tuple(listed.names() if listed.others else files)
            folders_of_runs[run] = RunFolder(folder, shared.setdefault(names, names))
        host_files.sort(key=lambda file: len(file.folder.parts))  # stable: a folder of runs that is added later does not change the ids of others
        problems.extend(map(_conflict, machines.add_files(host_files)))
    return folders_of_runs


def run_folders(root: Path) -> Iterator[Path]:
    """Yield ``root`` and every folder below it that has a ``run.toml``, sorted. Symbolic links are not followed."""
    return (folder for folder, files in folders_below(root) if RUN_FILE in files)


def check_name(name: str) -> None:
    """Raise an error if the name of a run, a log or a host is not valid UTF-8."""
    if utf8(name) != name:
        raise UnreadableInput(f"{utf8(name)}: the name is not valid UTF-8, so it cannot name a page; rename it")


def _host_files(root: Path, folder: Path, files: Sequence[str], problems: list[Row]) -> Iterator[HostFile]:
    for file in files:
        if not file.endswith(".toml"):
            continue
        try:
            check_name(file)
            # Public pages hide absolute paths, so the name of the file begins with the name of the root.
            path = Path(root.name) / folder.relative_to(root) / file
            yield HostFile(folder.parent, file.removesuffix(".toml"), path.as_posix(), read_host(folder / file))
        except UnreadableInput as error:
            problems.append(problem("", file, 0, UNREADABLE, "", str(error)))


def _conflict(conflict: Conflict) -> Row:
    first, second = conflict.first, conflict.second
    reason = f"{second.path} contradicts {first} ({'; '.join(conflict.differing)}); here it describes another machine, {conflict.id}"
    return problem("", f"{second.id}.toml", 0, CONTRADICTED, "", reason)
