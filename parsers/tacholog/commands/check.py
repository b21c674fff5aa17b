"""Check a folder of runs before you contribute it.

This checks manifests, host files, logs, and every number in the logs. It prints one line for each problem.

An unknown line in a log is a problem too: either the tool did not print this line, or the format does not recognise it yet. Logs are evidence:
correct run.toml or the format, but never change a log. docs/add-a-run.md describes what belongs to a run.

Exit code 1: there is a problem of any kind, even one for which other commands end with 2, such as a log that cannot be read. 0: there is no
problem.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tacholog import terminal
from tacholog.commands.shared.arguments import Folder
from tacholog.commands.shared.messages import Progress, counted
from tacholog.errors import UnreadableInput
from tacholog.runs.manifest import RUN_FILE, SAME_BUILD_FOLDER, folders_below

WRONG = 1
NOT_LOGS = (".toml", ".md")


@click.command(help=__doc__)
@click.argument("folder", type=Folder(exists=True))
@click.option("--jobs", metavar="N", type=click.IntRange(1), hidden=True)
@click.option("--cluster", metavar="ADDRESS", hidden=True)
def check(folder: Path, *, jobs: int | None, cluster: str | None) -> None:
    """Read the runs below the folder and print their problems."""
    from tacholog.runs.checking import check_runs

    if jobs or cluster:
        terminal.line("tacholog: check reads all logs in one process: leave out --jobs and --cluster, which it no longer needs", err=True)
    progress = Progress()
    checked = check_runs(folder, progress.runs, progress)
    problems = [*_not_read(folder, {run.path for run in checked.runs.values()}), *checked.problems]
    for line in problems:
        terminal.line(line)
    terminal.remark(", ".join(counted(count, name) for name, count in {**checked.read, "problem": len(problems)}.items()))
    if problems:
        sys.exit(WRONG)


def _not_read(folder: Path, runs: set[Path]) -> Iterator[str]:
    """Yield a line for each file that may be a log but belongs to no run.

    Without these lines, a folder with a missing run.toml would look correct.
    """
    if not runs:
        yield f"{folder}: no run: there is no {RUN_FILE} in this folder or its subfolders"
    for subfolder, files in folders_below(folder):
        if subfolder.name == SAME_BUILD_FOLDER:
            yield from _unreadable_bands(subfolder, files)
            continue
        for file in files if subfolder not in runs else ():
            if Path(file).suffix not in NOT_LOGS:
                yield f"{(subfolder / file).relative_to(folder)}: not read: there is no {RUN_FILE} beside it"


def _unreadable_bands(folder: Path, files: Sequence[str]) -> Iterator[str]:
    from tacholog.compare import bands

    for file in files:
        try:
            bands.read(folder / file)
        except UnreadableInput as error:
            yield str(error)
