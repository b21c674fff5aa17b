"""Find the runs and the hosts below folders, and report what belongs to no run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tacholog.errors import UnreadableInput
from tacholog.runs.manifest import HOSTS_FOLDER, RUN_FILE, Host, folders_below, listed_below, read_host
from tacholog.runs.problems import UNREADABLE, Row, add_unlisted_folder, folder_without_manifest, problem, special_files, utf8


class RunFolder(NamedTuple):
    """The folder of a run, and the names of all files in it. Runs whose files have the same names share one tuple of names."""

    path: Path
    names: tuple[str, ...]


def list_runs(roots: Sequence[Path], hosts: dict[str, Host], problems: list[Row]) -> dict[str, RunFolder]:
    """Return the folder of each run. Hosts are read before any run, because the marks of a run depend on its host.

    Args:
        roots: the folders; runs are searched for in all folders below them. The id of a run is the path of its folder relative to its root.
        hosts: the hosts that are read are added here.
        problems: a row is added for each folder and each file that cannot be used.

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
        for listed in listed_below(root, partial(add_unlisted_folder, root, problems)):
            folder, files = Path(listed.folder), listed.files
            if folder.name == HOSTS_FOLDER:
                _load_hosts(folder, files, hosts, problems)
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
    return folders_of_runs


def run_folders(root: Path) -> Iterator[Path]:
    """Yield ``root`` and every folder below it that has a ``run.toml``, sorted. Symbolic links are not followed."""
    return (folder for folder, files in folders_below(root) if RUN_FILE in files)


def check_name(name: str) -> None:
    """Raise an error if the name of a run, a log or a host is not valid UTF-8."""
    if utf8(name) != name:
        raise UnreadableInput(f"{utf8(name)}: the name is not valid UTF-8, so it cannot name a page; rename it")


def _load_hosts(folder: Path, files: Sequence[str], hosts: dict[str, Host], problems: list[Row]) -> None:
    for file in files:
        if not file.endswith(".toml"):
            continue
        try:
            check_name(file)
            hosts[file.removesuffix(".toml")] = read_host(folder / file)
        except UnreadableInput as error:
            problems.append(problem("", file, 0, UNREADABLE, "", str(error)))
