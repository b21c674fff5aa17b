"""Print the records in raw logs.

PATH is a log, a folder of logs (searched to any depth), or - for standard input. Logs may be compressed with gzip. A run.toml beside a log
completes what the log does not say. Broken and unknown lines are counted, and named on standard error.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tacholog.commands._listing import LISTINGS, Explained, Listing, Place, Silent, Totals, complaint
from tacholog.errors import UnreadableInput
from tacholog.formats.reading import Scan
from tacholog.formats.source import LogText, open_log
from tacholog.manifest import RUN_FILE, Manifest, read_manifest
from tacholog.records import Record

STANDARD_INPUT = "-"
COMPLAINTS_SHOWN = 20
STRICT_FAILURE = 1
UNREADABLE = 2


@click.command(help=__doc__)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "output", type=click.Choice(list(LISTINGS)), default="table", show_default=True, help="How to print the records.")
@click.option("--as", "log_format", metavar="FORMAT", help="Read the logs as this format ('tacholog formats' lists them) instead of detecting it.")
@click.option("--summary", is_flag=True, help="Print only the account: records, and lines of each class, by log.")
@click.option("--explain", is_flag=True, help="Print every line with its class.")
@click.option("--strict", is_flag=True, help="Exit with 1 if any line is broken or unknown.")
def parse(paths: tuple[str, ...], output: str, log_format: str | None, summary: bool, explain: bool, strict: bool) -> None:
    """Read each log, print what is found, then the account."""
    listing: Listing = Silent() if summary else Explained() if explain else LISTINGS[output]()
    totals = Totals()
    unreadable = False
    for path in _logs(paths):
        try:
            _parse_one(path, log_format, listing, totals)
        except UnreadableInput as error:
            click.echo(f"tacholog: {path}: {error}", err=True)
            unreadable = True
    totals.print(each=summary)
    if unreadable:
        sys.exit(UNREADABLE)
    if strict and totals.suspicious:
        sys.exit(STRICT_FAILURE)


def _logs(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if path == STANDARD_INPUT or not Path(path).is_dir():
            yield path
            continue
        found = sorted(str(file) for file in Path(path).rglob("*") if _may_be_log(file, Path(path)))
        if not found:
            click.echo(f"tacholog: {path}: no log in this folder", err=True)
        yield from found


def _may_be_log(file: Path, below: Path) -> bool:
    """Whether a file found in a folder is taken for a log: manifests, hosts and campaigns are TOML, which no tool logs in."""
    hidden = any(part.startswith(".") for part in file.relative_to(below).parts)
    return file.is_file() and file.suffix != ".toml" and not hidden


@contextmanager
def _opened(path: str) -> Iterator[LogText]:
    if path == STANDARD_INPUT:
        yield LogText(sys.stdin.buffer)
    else:
        with open_log(Path(path)) as text:
            yield text


def _manifest(path: str) -> Manifest | None:
    beside = Path(path).parent / RUN_FILE
    return read_manifest(beside) if path != STANDARD_INPUT and beside.is_file() else None


def _parse_one(path: str, log_format: str | None, listing: Listing, totals: Totals) -> None:
    manifest = _manifest(path)
    stated = {log.file: log.format for log in manifest.logs}.get(Path(path).name) if manifest else None
    tests: Counter[str] = Counter()
    suspicious = 0
    with _opened(path) as text:
        scan = Scan(text, log_format or stated)
        for event in scan:
            listing.show(_place(path, scan, manifest), event)
            if isinstance(event.what, Record):
                tests[event.what.test] += 1
            elif event.kind in ("broken", "unknown"):
                suspicious += 1
                if suspicious <= COMPLAINTS_SHOWN and not isinstance(listing, Explained):
                    click.echo(complaint(path, event), err=True)
    listing.close()
    if suspicious > COMPLAINTS_SHOWN:
        click.echo(f"{path}: {suspicious - COMPLAINTS_SHOWN} more; --explain shows every line", err=True)
    totals.add(path, scan.format_name, scan.account, tests)


def _place(path: str, scan: Scan, manifest: Manifest | None) -> Place:
    conditions = scan.account.facts.conditions
    if manifest is None:
        return Place(path, scan.format.SYSTEM, conditions)
    return Place(path, manifest.system, conditions.over(manifest.conditions))
