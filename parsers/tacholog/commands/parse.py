"""Print the records in raw logs.

PATH is a log, a folder of logs (searched to any depth), or - for standard input. Logs may be compressed with gzip, xz or zstd. A run.toml beside a
log adds what the log does not state. The table has the usual metrics and statistics; intervals, resources and all other numbers are only in jsonl
and csv. Broken and unknown lines are counted and listed on standard error, as are runs that failed, were cut off or have no result. Exit code 2: a
log or a folder could not be read, or no log was found, or --as names a format that a log does not have. All other logs were read.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from click.core import ParameterSource

from tacholog import terminal
from tacholog.commands._parse_listing import LISTINGS, LineListing, Listing, LogComplaints, LogContext, Totals, kind_of
from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there
from tacholog.formats.blocks import RecordBlock
from tacholog.formats.reading import Event, HeldRecords, Scan
from tacholog.formats.registry import any_fits, detect, format_named, formats, name_without_unit
from tacholog.formats.source import LogText, open_log, text_of
from tacholog.runs.conditions import stated_conditions, with_stated_side, with_stated_size
from tacholog.runs.manifest import RUN_FILE, Manifest, folders_below, read_manifest
from tacholog.schema.records import Record

STANDARD_INPUT = "-"
COMPLAINTS_SHOWN = 20
STRICT_FAILURE = 1
UNREADABLE = 2


@click.command(help=__doc__)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "output", type=click.Choice(list(LISTINGS)), default="table", show_default=True, help="How to print the records.")
@click.option(
    "--as",
    "log_format",
    metavar="FORMAT",
    shell_complete=lambda _context, _parameter, incomplete: [name for name in formats() if name.startswith(incomplete)],
    help="Read the logs as this format ('tacholog formats' lists them) instead of detecting it.",
)
@click.option("--summary", is_flag=True, help="Print only totals for each log: its records, and its lines of each class.")
@click.option("--explain", is_flag=True, help="Print every line with its class; 'fact' is a line that states a fact about the run.")
@click.option("--strict", is_flag=True, help="Exit with 1 if any line is broken or unknown, or any run failed, was cut off or has no result.")
def parse(paths: tuple[str, ...], output: str, log_format: str | None, summary: bool, explain: bool, strict: bool) -> None:
    """Read each log, print its records, then print the totals."""
    if explain and (summary or _is_given("output")):
        raise click.UsageError("--explain prints lines, not records, so it cannot be combined with --format or --summary")
    if log_format:
        format_named(log_format)
    listing = None if summary else LineListing() if explain else LISTINGS[output]()
    totals = Totals()
    unreadable = False
    for path, reason in _logs(paths):
        terminal.status(f"reading {path}")
        failure = reason or _failure(path, log_format, listing, totals)
        if failure:
            terminal.line(f"tacholog: {path}: {failure}", err=True)
            unreadable = True
    totals.print(each=summary)
    if unreadable:
        sys.exit(UNREADABLE)
    if strict and totals.suspicious:
        sys.exit(STRICT_FAILURE)


def _failure(path: str, log_format: str | None, listing: Listing | None, totals: Totals) -> str | None:
    """Parse a log. Return the reason if it cannot be read; otherwise ``None``."""
    try:
        _parse_one(path, log_format, listing, totals)
    except UnreadableInput as error:
        return str(error)
    return None


def _logs(paths: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the path of each log, together with ``None``.

    If a folder has no log or cannot be listed, yield the path of the folder instead, together with the reason.
    """
    for path in paths:
        if path == STANDARD_INPUT or not Path(path).is_dir():
            yield path, None
            continue
        unlisted: list[OSError] = []
        files = [folder / name for folder, names in folders_below(Path(path), unlisted.append, regular=False) for name in names]
        logs = sorted(str(file) for file in files if file.suffix != ".toml")  # manifests, hosts and campaigns are not logs
        yield from ((str(error.filename), f"the folder cannot be listed: {error.strerror}") for error in unlisted)
        if not logs and not unlisted:
            yield path, "no log in this folder"
        yield from ((log, None) for log in logs)


@contextmanager
def _opened(path: str) -> Iterator[LogText]:
    if path == STANDARD_INPUT:
        yield text_of(sys.stdin.buffer)
    else:
        with open_log(Path(path)) as text:
            yield text


def _manifest(path: str) -> Manifest | None:
    file = Path(path).parent / RUN_FILE
    return read_manifest(file) if path != STANDARD_INPUT and is_there(file.parent, RUN_FILE) else None


def _parse_one(path: str, log_format: str | None, listing: Listing | None, totals: Totals) -> None:
    manifest, name = _manifest(path), Path(path).name
    stated_format = {log.file: log.format for log in manifest.logs}.get(name) if manifest else None
    kinds: Counter[str] = Counter()
    complaints = LogComplaints(path, limit=0 if isinstance(listing, LineListing) else COMPLAINTS_SHOWN)
    waiting = HeldRecords()
    with _opened(path) as text:
        asked = log_format or stated_format
        scan = Scan(text, asked)
        events = scan if isinstance(listing, LineListing) else scan.events(listing.wants if listing else lambda _: False)
        for event in events:
            if isinstance(event, RecordBlock):
                kinds[kind_of(event.like)] += len(event)
                continue
            if isinstance(listing, LineListing):
                listing.show(_context(path, scan, manifest, event.run), _completed(event, manifest, name))
            elif listing and isinstance(event.what, Record) and listing.wants(event.what):
                waiting.add(event)
            if isinstance(event.what, Record):
                kinds[kind_of(event.what)] += 1
            complaints.add(event)
    if listing:
        contexts = [_context(path, scan, manifest, run) for run in range(max(1, len(scan.account.runs)))]
        for event in waiting:  # The log may state facts after the records. All facts are known only now.
            listing.show(contexts[event.run], _completed(event, manifest, name))
        listing.close()
    complaints.close(scan.account if listing else None)
    if (text.prefix or complaints.count) and (note := text.note):
        terminal.remark(f"{path}: {note}")
    totals.add(path, scan.format_name, scan.account, kinds)
    other = _other_format(asked, text.head) if asked and not scan.account.records else ""
    if log_format and not scan.account.records and not any_fits(text.head.splitlines(), (log_format,)):
        raise UnreadableInput(f"nothing was read, because this is no log of the format {log_format}{other}")
    if other:
        terminal.line(f"{path}: no record was found in the format {asked}{other}", err=True)


def _other_format(asked: str, head: str) -> str:
    try:
        name = detect(head)
    except UnreadableInput:
        return ""
    return f"; it looks like the format {name}" if name != name_without_unit(asked) else ""


def _is_given(parameter: str) -> bool:
    return click.get_current_context().get_parameter_source(parameter) is not ParameterSource.DEFAULT


def _context(path: str, scan: Scan, manifest: Manifest | None, run: int) -> LogContext:
    conditions, measured = scan.account.conditions(run), scan.account.facts_of(run).system
    if manifest is None:
        return LogContext(path, measured or scan.system, conditions)
    return LogContext(path, measured or manifest.system, conditions.over(stated_conditions(manifest)))


def _completed(event: Event, manifest: Manifest | None, name: str) -> Event:
    """Return the event. If the record lacks the size, the side or the participant, they come from the manifest, as on the site."""
    if manifest is None or not isinstance(event.what, Record):
        return event
    entry = next((entry for entry in manifest.logs if entry.file == name), None)
    record = with_stated_side(event.what, entry) if entry else event.what
    return event._replace(what=with_stated_size(record, stated_conditions(manifest)))
