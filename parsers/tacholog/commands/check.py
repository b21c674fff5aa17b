"""Check a folder of runs before you contribute it.

This checks manifests, host files, logs, and every number in the logs. It prints one line for each problem.

An unknown line in a log is a problem too: either the tool did not print this line, or the format does not recognise it yet. Logs are evidence:
correct run.toml or the format, but never change a log. docs/add-a-run.md describes what belongs to a run.

Exit code 1: there is a problem of any kind, even if other commands end with 2 in this case (as for a log that cannot be read). 0: there is no
problem.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tacholog import terminal
from tacholog.commands.shared.arguments import Folder, reading_options, work_of
from tacholog.commands.shared.messages import ENDED_BADLY, counted
from tacholog.errors import UnreadableInput
from tacholog.runs.disturbance import exceeded
from tacholog.runs.manifest import RUN_FILE, Manifest, folders_below
from tacholog.runs.problems import FORGOTTEN, UNREADABLE

if TYPE_CHECKING:
    from tacholog.store.frames import Dataset

WRONG = 1
NOT_LOGS = (".toml", ".md")


@click.command(help=__doc__)
@click.argument("folder", type=Folder(exists=True))
@reading_options
def check(folder: Path, *, jobs: int | None, cluster: str | None) -> None:
    """Load the folder as a dataset and print its problems."""
    from tacholog.store.complaints import violations, with_copies
    from tacholog.store.load import load

    dataset = with_copies(load([folder], work=work_of(jobs, cluster)))
    problems = [*_not_read(folder), *_complaints(dataset), *violations(dataset)]
    for line in problems:
        terminal.line(line)
    counts = {"run": len(dataset.runs), "line": int(dataset.logs["lines"].sum()), "number": len(dataset.results), "problem": len(problems)}
    terminal.remark(", ".join(counted(count, name) for name, count in counts.items()))
    if problems:
        sys.exit(WRONG)


def _not_read(folder: Path) -> Iterator[str]:
    """Yield a line for each file that belongs to no run. Without these lines, a folder with a missing run.toml would look correct."""
    from tacholog.compare import bands
    from tacholog.store.load import run_folders

    runs = [*run_folders(folder)]
    if not runs:
        yield f"{folder}: no run: there is no {RUN_FILE} in this folder or its subfolders"
    for subfolder, files in folders_below(folder):
        if subfolder.name == bands.FOLDER:
            yield from _unreadable_bands(subfolder, files)
            continue
        for file in files if subfolder not in runs else ():
            if Path(file).suffix not in NOT_LOGS:
                yield f"{(subfolder / file).relative_to(folder)}: not read: there is no {RUN_FILE} beside it"


def _unreadable_bands(folder: Path, files: Sequence[str]) -> Iterator[str]:
    """Yield a line for each unreadable file in a folder of bands."""
    from tacholog.compare import bands

    for file in files:
        try:
            bands.read(folder / file)
        except UnreadableInput as error:
            yield str(error)


def _disturbed(dataset: Dataset) -> Iterator[str]:
    """Yield a line for each limit of its campaign that a run exceeded."""
    for row in dataset.runs.to_dict("records"):
        manifest = msgspec.json.decode(row["manifest"], type=Manifest)
        for limit in exceeded(manifest.environment, manifest.limits):
            yield f"{row['run']}: above the limits of its campaign: {limit}"


def _source_of_status(row: Mapping[Any, Any], dataset: Dataset) -> str:
    """Return the path of the log that states the status of a run, or the path of the run if its manifest states the status."""
    logs = dataset.logs[(dataset.logs["run"] == row["run"]) & (dataset.logs["status"] == row["status"])]
    manifest_status = msgspec.json.decode(row["manifest"], type=Manifest).status
    return str(row["run"]) if logs.empty or manifest_status == row["status"] else str(Path(row["run"]) / logs.iloc[0]["log"])


def _complaints(dataset: Dataset) -> Iterator[str]:
    from tacholog.store.complaints import complaint

    problems = dataset.problems[dataset.problems["kind"] != FORGOTTEN]  # `_not_read` yields a line for each of these problems
    yield from map(complaint, problems.to_dict("records"))
    for row in dataset.runs.to_dict("records"):
        if row["status"] in ENDED_BADLY:
            yield f"{_source_of_status(row, dataset)}: {row['status']}: {row['reason']}"
    yield from _disturbed(dataset)
    # A host file that cannot be read is already listed, with the reason.
    unreadable = {Path(str(file)).stem for file in problems.loc[(problems["kind"] == UNREADABLE) & (problems["run"] == ""), "log"]}
    for host in sorted(set(dataset.runs["host"].dropna()) - dataset.hosts.keys() - unreadable):
        yield f"hosts/{host}.toml: missing, although a run names this host"
