"""Export the numbers for other tools.

csv, json (one object per line) and parquet have one row for each number. hdr writes a folder of HdrHistogram logs, one for each raw log with
distributions.

Without --data, two folders are read: data/ of the checkout, and the newest folder in build/runs/ that holds runs. The output is not redacted: it
may contain private data from the logs.

Exit code 2: a run, a log or a folder could not be read (all others are written), or there is nothing to write.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tacholog.commands.report import default_roots
from tacholog.commands.shared.complaints import tell
from tacholog.commands.shared.paths import text_output, whole_file
from tacholog.commands.shared.progress import Progress
from tacholog.commands.shared.reading import reading_options, work_of
from tacholog.errors import UnreadableInput
from tacholog.extras import require

if TYPE_CHECKING:
    from tacholog.dataset.complaints import Complaints
    from tacholog.dataset.frames import Dataset


@click.command(help=__doc__)
@click.option("--data", "roots", multiple=True, metavar="DIR", type=click.Path(path_type=Path), help="A folder of runs. Can be given several times.")
@click.option("--format", "kind", type=click.Choice(["csv", "json", "parquet", "hdr"]), default="csv", show_default=True, help="The output format.")
@click.option(
    "--output", "path", metavar="PATH", type=click.Path(path_type=Path), help="The file to write, or the folder for hdr.  [default: standard output]"
)
@reading_options
def export(*, roots: tuple[Path, ...], kind: str, path: Path | None, jobs: int | None, cluster: str | None) -> None:
    """Read the data and write it in the chosen format."""
    if kind == "parquet":
        require("parquet", "--format parquet")
    if path is None and kind in ("parquet", "hdr"):
        raise UnreadableInput(f"--format {kind} writes a {'file' if kind == 'parquet' else 'folder'}: give its name with --output")
    from tacholog.dataset.load import load_parts

    folders = roots or default_roots()
    progress = Progress()
    parts = _told(load_parts(folders, progress, work=work_of(jobs, cluster, progress)), folders)
    if kind == "hdr":
        assert path is not None  # noqa: S101 - refused above
        sys.exit(_export_hdr(parts, path))
    sys.exit(_export_results(parts, kind, path))


Part = tuple["Dataset", "Complaints"]


def _told(parts: Iterable[Dataset], folders: Sequence[Path]) -> Iterator[Part]:
    """Yield each part with what could not be read.

    Raises:
        UnreadableInput: there is no run, and nothing that could not be read.
    """
    from tacholog.dataset.complaints import complaints

    is_empty = True
    for part in parts:
        found = complaints(part)
        is_empty = is_empty and part.runs.empty and not found.unread
        yield part, found
    if is_empty:
        raise UnreadableInput(f"nothing to export: no run.toml in {', '.join(map(str, folders))} or subfolders")


def _export_hdr(parts: Iterable[Part], folder: Path) -> int:
    """Write histograms, and return the exit code."""
    from tacholog.dataset.export import write_hdr

    told, count = [], 0
    for data, complained in parts:
        count += write_hdr(data, folder)
        told.append(complained)
    if not count:
        raise UnreadableInput("no log has a distribution: nothing to write")
    exit_code = tell(told)
    click.echo(f"{count} histograms in {folder}")
    return exit_code


def _export_results(parts: Iterable[Part], kind: str, path: Path | None) -> int:
    """Write all numbers part by part, and return the exit code. A file has its name only when it is whole."""
    from tacholog.dataset.export import ResultsFile, results_table

    told = []
    with whole_file(path) if path else text_output() as stream:
        file = ResultsFile(kind, stream)
        for data, complained in parts:
            told.append(complained)
            file.write(results_table(data))
        file.close()
    return tell(told)
