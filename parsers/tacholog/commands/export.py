"""Export the numbers for other tools.

csv, json (one object per line) and parquet have one row for each number. hdr writes a folder of HdrHistogram logs, one for each raw log with
distributions.

bencher (Bencher Metric Format) and github-action-benchmark have one value for each row of the newest release of each system: the median over its
runs, with its interval. The latter needs two files, so it writes a folder with smaller-is-better.json and bigger-is-better.json.

DIR is a folder of runs; --data DIR means the same. Without any, two folders are read: data/ of the checkout, and the newest folder in build/runs/
that holds runs. The output is not redacted: it may contain private data from the logs.

Exit code 2: a run, a log or a folder could not be read (all others are written), or there is nothing to write.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tacholog import terminal
from tacholog.commands.report import default_roots
from tacholog.commands.shared.complaints import tell
from tacholog.commands.shared.paths import text_output, whole_file, write_output
from tacholog.commands.shared.progress import Progress
from tacholog.commands.shared.reading import reading_options, work_of
from tacholog.errors import UnreadableInput
from tacholog.extras import require

if TYPE_CHECKING:
    from tacholog.dataset.complaints import Complaints
    from tacholog.dataset.frames import Dataset, Part

_ONE_FILE, _FOLDERS = ("parquet",), ("hdr", "github-action-benchmark")
_ROW_VALUES = ("bencher", "github-action-benchmark")
FORMATS = ("csv", "json", "parquet", "hdr", *_ROW_VALUES)


@click.command(help=__doc__)
@click.argument("folders", metavar="[DIR]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--data", "roots", multiple=True, metavar="DIR", type=click.Path(path_type=Path), help="A folder of runs. Can be given several times.")
@click.option("--format", "kind", type=click.Choice(FORMATS), default="csv", show_default=True, help="The output format.")
@click.option(
    "--output",
    "path",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="The file to write; for hdr and github-action-benchmark, the folder.  [default: standard output]",
)
@reading_options
def export(*, folders: tuple[Path, ...], roots: tuple[Path, ...], kind: str, path: Path | None, jobs: int | None, cluster: str | None) -> None:
    """Read the data and write it in the chosen format."""
    if kind == "parquet":
        require("parquet", "--format parquet")
    if path is None and kind in (*_ONE_FILE, *_FOLDERS):
        raise UnreadableInput(f"--format {kind} writes a {'file' if kind in _ONE_FILE else 'folder'}: give its name with --output")
    from tacholog.dataset.frames import Part
    from tacholog.dataset.load import load, load_parts

    asked = (*folders, *roots) or default_roots()
    progress = Progress()
    work = work_of(jobs, cluster, progress)
    if kind in _ROW_VALUES:  # a row's value needs all of its runs at once
        data = load(asked, progress=progress, work=work)
        ((_, complained),) = _told([Part(data, iter(()))], asked)
        sys.exit(_export_row_values(data, complained, kind, path))
    parts = _told(load_parts(asked, progress, work=work), asked)
    if kind == "hdr":
        assert path is not None  # noqa: S101 - refused above
        sys.exit(_export_hdr(parts, path))
    sys.exit(_export_results(parts, kind, path))


def _told(parts: Iterable[Part], folders: Sequence[Path]) -> Iterator[tuple[Part, Complaints]]:
    """Yield each part with what could not be read.

    Raises:
        UnreadableInput: there is no run, and nothing that could not be read.
    """
    from tacholog.dataset.complaints import complaints

    is_empty = True
    for part in parts:
        found = complaints(part.data)
        is_empty = is_empty and part.data.runs.empty and not found.unread
        yield part, found
    if is_empty:
        raise UnreadableInput(f"nothing to export: no run.toml in {', '.join(map(str, folders))} or subfolders")


def _export_hdr(parts: Iterable[tuple[Part, Complaints]], folder: Path) -> int:
    """Write histograms, and return the exit code."""
    from tacholog.dataset.export import write_hdr

    told, count = [], 0
    for part, complained in parts:
        count += write_hdr(part.data, folder)
        told.append(complained)
    if not count:
        raise UnreadableInput("no log has a distribution: nothing to write")
    exit_code = tell(told)
    click.echo(f"{count} histograms in {folder}")
    return exit_code


def _export_results(parts: Iterable[tuple[Part, Complaints]], kind: str, path: Path | None) -> int:
    """Write all numbers part by part, and return the exit code. A file has its name only when it is whole."""
    from tacholog.dataset.export import ResultsFile, results_tables

    told = []
    with whole_file(path) if path else text_output() as stream:
        file = ResultsFile(kind, stream)
        for part, complained in parts:
            told.append(complained)
            for table in results_tables(part.data.runs, part.results):
                file.write(table)
                del table  # Otherwise two tables are in memory while the next is made.
        file.close()
    return tell(told)


def _export_row_values(data: Dataset, complained: Complaints, kind: str, path: Path | None) -> int:
    """Write one value for each row in the form of a service that follows benchmarks, and return the exit code."""
    from tacholog.compare.row_values import row_values
    from tacholog.render.exports import bencher, github_action_benchmark
    from tacholog.view.requirements import newest

    values = row_values(newest(data))
    files = {"": bencher(values)} if kind == "bencher" else github_action_benchmark(values)
    exit_code = tell([complained])
    for name, content in files.items():
        if path is None:
            terminal.data(content.decode())
        else:
            write_output(path / name if name else path, content)
    return exit_code
