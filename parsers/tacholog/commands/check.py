"""Check a folder of runs that somebody contributes: manifests, hosts, logs, and every row that comes of them.

Prints what is wrong, one line each, and exits with 1 if anything is.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

WRONG = 1


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def check(folder: Path) -> None:
    """Load the folder as a dataset and say what is wrong with it."""
    from tacholog.checks import violations
    from tacholog.dataset import load

    dataset = load([folder])
    wrong = [f"{row['run']}/{row['log']}:{row['line']}: {row['kind']}: {row['reason']}" for row in dataset.problems.to_dict("records")]
    wrong += [f"{row['run']}: {row['status']}: {row['reason']}" for row in dataset.runs.to_dict("records") if row["status"] != "ok"]
    named = set(dataset.runs["host"].dropna())
    wrong += [f"hosts/{host}.toml: missing, although runs name it" for host in sorted(named - dataset.hosts.keys())]
    wrong += violations(dataset)
    for line in wrong:
        click.echo(line)
    click.echo(f"{len(dataset.runs)} runs, {len(dataset.results)} numbers, {len(wrong)} wrong", err=True)
    if wrong:
        sys.exit(WRONG)
