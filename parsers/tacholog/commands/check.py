"""Check a folder of runs that somebody contributes.

It checks manifests, host files, logs, and every number read from them. It prints one line for each thing that is
wrong. The exit code is 1 if anything is wrong, and else 0.

An unknown line is wrong too: either the log holds something that its tool did not print, or the format has to learn the line. Logs are
evidence: correct run.toml or the format, never the log. docs/add-a-run.md says what a run is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tacholog import terminal
from tacholog.commands._listing import ENDED_BADLY, counted
from tacholog.commands._paths import Folder
from tacholog.errors import UnreadableInput

if TYPE_CHECKING:
    from tacholog.dataset.frames import Dataset

WRONG = 1
NO_LOGS = (".toml", ".md")


@click.command(help=__doc__)
@click.argument("folder", type=Folder(exists=True))
def check(folder: Path) -> None:
    """Load the folder as a dataset and say what is wrong with it."""
    from tacholog.dataset.checks import violations
    from tacholog.dataset.load import load

    dataset = load([folder])
    wrong = [*_unread(folder), *_complaints(dataset), *violations(dataset)]
    for line in wrong:
        terminal.line(line)
    lines = int(dataset.logs["lines"].sum())
    click.echo(
        f"{counted(len(dataset.runs), 'run')}, {counted(lines, 'line')}, {counted(len(dataset.results), 'number')}, {len(wrong)} wrong", err=True
    )
    if wrong:
        sys.exit(WRONG)


def _unread(folder: Path) -> Iterator[str]:
    """What has no manifest beside it and is in no run: a forgotten run.toml must not look like a clean bill."""
    from tacholog.compare import bands
    from tacholog.dataset.load import run_folders
    from tacholog.runs.manifest import RUN_FILE, folders_below

    runs = [*run_folders(folder)]
    if not runs:
        yield f"{folder}: no run: there is no {RUN_FILE} in this folder or below"
    for inside, files in folders_below(folder):
        if inside.name == bands.FOLDER:
            yield from _wrong_bands(inside, files)
            continue
        for file in files if inside not in runs else ():
            if Path(file).suffix not in NO_LOGS:
                yield f"{(inside / file).relative_to(folder)}: not read: there is no {RUN_FILE} beside it"


def _wrong_bands(folder: Path, files: Sequence[str]) -> Iterator[str]:
    """The files of a folder for bands of one build that are none."""
    from tacholog.compare import bands

    for file in files:
        try:
            bands.read(folder / file)
        except UnreadableInput as error:
            yield str(error)


def _complaints(dataset: Dataset) -> Iterator[str]:
    from tacholog.dataset.complaints import complaint
    from tacholog.runs.problems import FORGOTTEN

    problems = dataset.problems[dataset.problems["kind"] != FORGOTTEN]  # named file by file already
    yield from map(complaint, problems.to_dict("records"))
    for row in dataset.runs.to_dict("records"):
        if row["status"] in ENDED_BADLY:
            yield f"{row['run']}: {row['status']}: {row['reason']}"
    for host in sorted(set(dataset.runs["host"].dropna()) - dataset.hosts.keys()):
        yield f"hosts/{host}.toml: missing, although runs name it"
