"""Export the numbers for other tools.

csv, json (one object per line) and parquet have one row for each number. hdr writes a folder of HdrHistogram logs, one for each raw log with
distributions.

bencher (Bencher Metric Format) and github-action-benchmark have one value for each row of the newest release of each system: the median over its
runs, with its interval. github-action-benchmark needs two files, so it writes a folder with smaller-is-better.json and bigger-is-better.json.

DIR is a folder of runs; --data DIR means the same. If no folder is named, two folders are read: data/ of the checkout, and the newest folder in
build/runs/ that contains runs. The output is not redacted: it may contain private data from the logs.

Exit code 2: a run, a log or a folder could not be read (all others are written), or there is nothing to write.
"""

from __future__ import annotations

import codecs
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import click

from tacholog import terminal
from tacholog.commands.report import default_roots
from tacholog.commands.shared.arguments import reading_options, work_of
from tacholog.commands.shared.messages import mention_order, print_complaints
from tacholog.commands.shared.output import whole_file, write_output
from tacholog.errors import UnreadableInput

if TYPE_CHECKING:
    from tacholog.store.complaints import Complaints
    from tacholog.store.export import FileKind
    from tacholog.store.results import Store

_PIECE_BYTES = 1 << 20
_OPEN_FILES = Path("/dev/fd")  # The open files of this process, by their numbers. Windows does not have this folder.
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
    """Read the data, and write it in the chosen format."""
    if path is None and kind in (*_ONE_FILE, *_FOLDERS):
        raise UnreadableInput(f"--format {kind} writes a {'file' if kind in _ONE_FILE else 'folder'}: give its name with --output")
    from tacholog.store.complaints import complaints_of
    from tacholog.store.load import open_runs

    asked = (*folders, *roots) or default_roots()

    def read() -> tuple[Store, Complaints]:
        store = open_runs(asked, work=work_of(jobs, cluster))
        problems = complaints_of(store.problems, {run["run"]: run["root"] for run in store.runs})
        if not store.runs and not problems.unread:
            raise UnreadableInput(f"nothing to export: no run.toml in {', '.join(map(str, asked))} or subfolders")
        return store, problems

    if kind in _ROW_VALUES:
        sys.exit(_export_row_values(*read(), kind, path))
    if kind == "hdr":
        assert path is not None  # noqa: S101 - refused above
        sys.exit(_export_hdr(*read(), path))
    sys.exit(_export_results(read, cast("FileKind", kind), path))


def _export_hdr(store: Store, problems: Complaints, folder: Path) -> int:
    from tacholog.store.export import write_hdr

    count = write_hdr(store.histograms(), folder)
    if not count:
        raise UnreadableInput("no log has a distribution: nothing to write")
    exit_code = print_complaints([problems])
    click.echo(f"{count} histograms in {folder}")
    return exit_code


def _export_results(read: Callable[[], tuple[Store, Complaints]], kind: FileKind, path: Path | None) -> int:
    """Write the results in the format ``kind``, and return the exit code of the command.

    The results go to standard output if ``path`` is ``None``. A file appears at ``path`` only when the file is complete.
    """
    if path is not None:
        with whole_file(path) as stream:
            store, problems = read()
            opened = _OPEN_FILES / str(stream.fileno())
            if opened.exists():
                store.results.write(kind, opened)
            else:
                with _written(store, kind) as content:
                    shutil.copyfileobj(content, stream)
        return print_complaints([problems])
    store, problems = read()
    with _written(store, kind) as content:
        decoder = codecs.getincrementaldecoder("utf-8")()
        while piece := content.read(_PIECE_BYTES):
            terminal.data(decoder.decode(piece))
    return print_complaints([problems])


@contextmanager
def _written(store: Store, kind: FileKind) -> Iterator[BinaryIO]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results"
        store.results.write(kind, path)
        with path.open("rb") as stream:
            yield stream


def _export_row_values(store: Store, problems: Complaints, kind: str, path: Path | None) -> int:
    from tacholog.compare.row_values import row_values
    from tacholog.render.exports import bencher, github_action_benchmark
    from tacholog.view.requirements import newest

    data = store.dataset()
    mention_order(data.runs)
    values = row_values(newest(data))
    files = {"": bencher(values)} if kind == "bencher" else github_action_benchmark(values)
    exit_code = print_complaints([problems])
    for name, content in files.items():
        if path is None:
            terminal.data(content.decode())
        else:
            write_output(path / name if name else path, content)
    return exit_code
