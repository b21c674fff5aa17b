"""Write the numbers for other tools.

csv, json (one object a line) and parquet hold one row a number; hdr is a folder of HdrHistogram logs, one a raw log that has distributions.

Without --data, the runs in the checkout's data/ and in the newest folder of build/runs/ that holds any are taken. Nothing is hidden: what this
prints is as private as the logs are. Exit code 2: a run, a log or a folder could not be read (all others are written), or there is nothing to write.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tacholog import terminal
from tacholog.commands._complaints import tell
from tacholog.commands._paths import write_output
from tacholog.commands.report import default_roots
from tacholog.errors import UnreadableInput
from tacholog.extras import require

if TYPE_CHECKING:
    import pandas as pd


@click.command(help=__doc__)
@click.option("--data", "roots", multiple=True, metavar="DIR", type=click.Path(path_type=Path), help="A folder of runs; may be given several times.")
@click.option("--format", "kind", type=click.Choice(["csv", "json", "parquet", "hdr"]), default="csv", show_default=True, help="What to write.")
@click.option(
    "--output", "path", metavar="PATH", type=click.Path(path_type=Path), help="Where it goes; for hdr a folder.  [default: standard output]"
)
def export(*, roots: tuple[Path, ...], kind: str, path: Path | None) -> None:
    """Read the data and write it in the chosen format."""
    from tacholog.dataset.complaints import complaints
    from tacholog.dataset.export import as_csv, as_json, as_parquet, results_table, write_hdr
    from tacholog.dataset.load import load

    if kind == "parquet":
        require("parquet", "--format parquet")
    given = roots or default_roots()
    data = load(given)
    lost = tell([complaints(data)])
    if data.runs.empty and not lost:
        raise UnreadableInput(f"no run.toml below {', '.join(map(str, given))}: nothing to export")
    if kind == "hdr":
        if path is None:
            raise UnreadableInput("--format hdr writes a folder: name it with --output")
        click.echo(f"{write_hdr(data, path)} histograms in {path}")
        sys.exit(lost)
    forms: Mapping[str, Callable[[pd.DataFrame], bytes]] = {"csv": as_csv, "json": as_json, "parquet": as_parquet}
    content = forms[kind](results_table(data))
    if path is None:
        if kind == "parquet":
            raise UnreadableInput("--format parquet writes a file: name it with --output")
        terminal.data(content.decode())
    else:
        write_output(path, content)
    sys.exit(lost)
