"""Export the numbers for other tools.

csv, json (one object per line) and parquet have one row for each number. hdr writes a folder of HdrHistogram logs, one for each raw log with
distributions.

bencher (Bencher Metric Format) and github-action-benchmark have one value for each row of the newest release of each system: the median over its
runs, with its interval. The latter needs two files, so it writes a folder with smaller-is-better.json and bigger-is-better.json.

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

    from tacholog.dataset.frames import Dataset

_FOLDERS = ("hdr", "github-action-benchmark")
FORMATS = ("csv", "json", "parquet", "hdr", "bencher", "github-action-benchmark")


@click.command(help=__doc__)
@click.option("--data", "roots", multiple=True, metavar="DIR", type=click.Path(path_type=Path), help="A folder of runs. Can be given several times.")
@click.option("--format", "kind", type=click.Choice(FORMATS), default="csv", show_default=True, help="The output format.")
@click.option(
    "--output",
    "path",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="The file to write; for hdr and github-action-benchmark, the folder.  [default: standard output]",
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
    if kind in _FOLDERS and path is None:
        raise UnreadableInput(f"--format {kind} writes a folder: give its name with --output")
    if kind in ("bencher", "github-action-benchmark"):
        _write_row_values(data, kind, path)
        sys.exit(exit_code)
    if kind == "hdr" and path is not None:
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


def _write_row_values(data: Dataset, kind: str, path: Path | None) -> None:
    """Write one value for each row in the form of a service that follows benchmarks."""
    from tacholog.compare.row_values import row_values
    from tacholog.render.exports import bencher, github_action_benchmark
    from tacholog.view.requirements import newest

    values = row_values(newest(data))
    if kind == "bencher" and path is None:
        terminal.data(bencher(values).decode())
    elif kind == "bencher" and path is not None:
        write_output(path, bencher(values))
    elif path is not None:
        for name, content in github_action_benchmark(values).items():
            write_output(path / name, content)
