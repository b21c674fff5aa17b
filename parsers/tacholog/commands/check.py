"""Check a folder of runs that somebody contributes.

Manifests, hosts, logs, and every row that comes of them.

Prints what is wrong, one line each, and exits with 1 if anything is. An unknown line is wrong too: either the log holds what its tool did not
print, or the format has to learn it. Logs are evidence: mend run.toml or the format, never the log. docs/add-a-run.md says what a run is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tacholog.commands._paths import Folder

if TYPE_CHECKING:
    from tacholog.dataset import Dataset

WRONG = 1
NO_LOGS = (".toml", ".md")


@click.command(help=__doc__)
@click.argument("folder", type=Folder(exists=True))
def check(folder: Path) -> None:
    """Load the folder as a dataset and say what is wrong with it."""
    from tacholog.checks import violations
    from tacholog.dataset import load

    dataset = load([folder])
    wrong = [*_unread(folder), *_complaints(dataset), *violations(dataset)]
    for line in wrong:
        click.echo(line)
    lines = int(dataset.logs["lines"].sum())
    click.echo(f"{_count(len(dataset.runs), 'run')}, {_count(lines, 'line')}, {_count(len(dataset.results), 'number')}, {len(wrong)} wrong", err=True)
    if wrong:
        sys.exit(WRONG)


def _unread(folder: Path) -> Iterator[str]:
    """What has no manifest beside it and is in no run: a forgotten run.toml must not look like a clean bill."""
    from tacholog.dataset import run_folders
    from tacholog.manifest import RUN_FILE, folders_below

    runs = [*run_folders(folder)]
    if not runs:
        yield f"{folder}: no run: there is no {RUN_FILE} in this folder or below"
    for inside, files in folders_below(folder):
        for file in files if inside not in runs else ():
            if Path(file).suffix not in NO_LOGS:
                yield f"{(inside / file).relative_to(folder)}: not read: there is no {RUN_FILE} beside it"


def _complaints(dataset: Dataset) -> Iterator[str]:
    from tacholog.report.complaints import complaint

    yield from map(complaint, dataset.problems.to_dict("records"))
    for row in dataset.runs.to_dict("records"):
        if row["status"] != "ok":
            yield f"{row['run']}: {row['status']}: {row['reason']}"
    for host in sorted(set(dataset.runs["host"].dropna()) - dataset.hosts.keys()):
        yield f"hosts/{host}.toml: missing, although runs name it"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
