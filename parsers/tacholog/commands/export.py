"""Export the numbers for other tools.

csv, json (one object per line) and parquet have one row for each number. hdr writes a folder of HdrHistogram logs, one for each raw log with
distributions.

Without --data, two folders are read: data/ of the checkout, and the newest folder in build/runs/ that holds runs. The output is not redacted: it
may contain private data from the logs.

Exit code 2: a run, a log or a folder could not be read (all others are written), or there is nothing to write.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tacholog import terminal
from tacholog.commands.report import default_roots
from tacholog.commands.shared.complaints import tell
from tacholog.commands.shared.paths import write_output
from tacholog.errors import UnreadableInput
from tacholog.extras import require

if TYPE_CHECKING:
    import pandas as pd


@click.command(help=__doc__)
@click.option("--data", "roots", multiple=True, metavar="DIR", type=click.Path(path_type=Path), help="A folder of runs. Can be given several times.")
@click.option("--format", "kind", type=click.Choice(["csv", "json", "parquet", "hdr"]), default="csv", show_default=True, help="The output format.")
@click.option(
    "--output", "path", metavar="PATH", type=click.Path(path_type=Path), help="The file to write, or the folder for hdr.  [default: standard output]"
)
def export(*, roots: tuple[Path, ...], kind: str, path: Path | None) -> None:
    """Read the data and write it in the chosen format."""
    from tacholog.dataset.complaints import complaints
    from tacholog.dataset.export import as_csv, as_json, as_parquet, results_table, write_hdr
    from tacholog.dataset.load import load

    if kind == "parquet":
        require("parquet", "--format parquet")
    folders = roots or default_roots()
    data = load(folders)
    exit_code = tell([complaints(data)])
    if data.runs.empty and not exit_code:
        raise UnreadableInput(f"nothing to export: no run.toml in {', '.join(map(str, folders))} or subfolders")
    if kind == "hdr":
        if path is None:
            raise UnreadableInput("--format hdr writes a folder: give its name with --output")
        click.echo(f"{write_hdr(data, path)} histograms in {path}")
        sys.exit(exit_code)
    writers: Mapping[str, Callable[[pd.DataFrame], bytes]] = {"csv": as_csv, "json": as_json, "parquet": as_parquet}
    content = writers[kind](results_table(data))
    if path is None:
        if kind == "parquet":
            raise UnreadableInput("--format parquet writes a file: give its name with --output")
        terminal.data(content.decode())
    else:
        write_output(path, content)
    sys.exit(exit_code)
