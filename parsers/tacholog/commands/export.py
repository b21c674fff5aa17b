"""Write the numbers for other tools.

csv, json (one object a line) and parquet hold one row a number; hdr is a folder of HdrHistogram logs, one a raw log that has distributions.

Without --data, the runs in the checkout's data/ and the newest folder in build/runs/ are taken. Nothing is hidden: what this prints is as private as
the logs are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tacholog.commands.report import default_roots
from tacholog.errors import UnreadableInput

if TYPE_CHECKING:
    import pandas as pd


@click.command(help=__doc__)
@click.option("--data", "roots", multiple=True, metavar="DIR", type=click.Path(path_type=Path), help="A folder of runs; may be given several times.")
@click.option("--format", "kind", type=click.Choice(["csv", "json", "parquet", "hdr"]), default="csv", show_default=True, help="What to write.")
@click.option(
    "--output", "path", metavar="PATH", type=click.Path(path_type=Path), help="Where it goes; for hdr a folder.  [default: standard output]"
)
def export(*, roots: tuple[Path, ...], kind: str, path: Path | None) -> None:
    """Read the data, write it."""
    from tacholog.dataset import load
    from tacholog.report.downloads import as_csv, as_json, as_parquet, results_of
    from tacholog.report.hdr import write_hdr

    data = load(roots or default_roots())
    if kind == "hdr":
        if path is None:
            raise UnreadableInput("--format hdr writes a folder: name it with --output")
        click.echo(f"{write_hdr(data, path)} histograms in {path}")
        return
    forms: Mapping[str, Callable[[pd.DataFrame], bytes]] = {"csv": as_csv, "json": as_json, "parquet": as_parquet}
    content = forms[kind](results_of(data))
    if path is None:
        if kind == "parquet":
            raise UnreadableInput("--format parquet writes a file: name it with --output")
        sys.stdout.buffer.write(content)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
