"""The content of a folder that is imported: its files, and the content of its logs. Each log is read only once."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.evidence import open_evidence
from tacholog.formats.account import Account
from tacholog.formats.blocks import RecordBlock
from tacholog.formats.reading import Scan
from tacholog.formats.registry import format_named
from tacholog.formats.source import LogText
from tacholog.runs.manifest import RUN_FILE, FileName
from tacholog.runs.problems import utf8
from tacholog.schema.conditions import Conditions
from tacholog.schema.records import Facts, Record

#: File extensions that a log never has.
NOT_LOGS = (".toml", ".md")
_CHUNK_BYTES = 1 << 20
_MOST_KINDS = 1000  # the most kinds of records in one log; usually, a log has only a few kinds for each size
_KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


class Problem(NamedTuple):
    """A file or folder that is not imported, with the reason."""

    path: str
    reason: str

    def __str__(self) -> str:
        """Return the path and the reason as one line of text."""
        return f"{self.path}: {self.reason}"


class FolderListing(NamedTuple):
    """The files of a folder.

    Attributes:
        files: their paths relative to the folder, with ``/`` between folders, sorted.
        problems: entries that are not files, and folders that cannot be listed.
        run_folders: folders with a ``run.toml``, whose logs already belong to runs.
    """

    files: list[str]
    problems: list[Problem]
    run_folders: list[str]


class KindOfRecord(NamedTuple):
    """Records of a log that differ only in their numbers.

    Attributes:
        record: what all these records have in common: the first record, without its numbers.
        metrics: the metrics of all their numbers.
        conditions: the conditions of the records. If a record does not state a condition, it is taken from ``in_log``.
        in_log: the conditions that the log states for its whole run.
    """

    record: Record
    metrics: frozenset[str]
    conditions: Conditions
    in_log: Conditions


class LogSurvey(NamedTuple):
    """The content of a log.

    Attributes:
        sha256: the SHA-256 of its bytes.
        text_sha256: the SHA-256 of its text. It differs from ``sha256`` if the log is compressed and was read.
        size_bytes: the number of its bytes.
        format: the name of its format; ``None`` if a rule states that the log contains no results, so that it was not read.
        system: the measured system, if the format or the log states it.
        tool: the tool that measured.
        facts: the facts that the log states about its run.
        kinds: the kinds of its records.
        status: how its run ended, according to the log; ``empty`` if the log has no record.
        bad_lines: the number of lines that are broken, or that its format does not recognise.
        prefix: a description of the prefix that was removed from each line.
    """

    sha256: str
    text_sha256: str
    size_bytes: int
    format: str | None = None
    system: str | None = None
    tool: str | None = None
    facts: Facts = Facts()
    kinds: tuple[KindOfRecord, ...] = ()
    status: str | None = None
    bad_lines: int = 0
    prefix: str | None = None


def list_files(root: Path, without: Path | None = None) -> FolderListing:
    """Return the files below a folder. Hidden files and folders are left out, and no link is followed.

    Args:
        root: the folder.
        without: a folder that is skipped, such as the target of the import. It may be below ``root``.
    """
    listing = FolderListing([], [], [])
    avoided = _identity(without) if without else None
    waiting = [""]
    while waiting:  # There is no recursion, because folders may be nested deeper than Python's stack allows.
        folder = waiting.pop()
        try:
            with os.scandir(root / folder) as entries:
                visible = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
        except OSError as error:
            listing.problems.append(Problem(utf8(folder) or ".", f"the folder cannot be listed: {error.strerror}; what is in it was not read"))
            continue
        if any(entry.name == RUN_FILE for entry in visible):
            listing.run_folders.append(utf8(folder) or ".")
            visible = [entry for entry in visible if entry.is_dir(follow_symlinks=False)]
        for entry in visible:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                if avoided is None or _identity(Path(entry.path)) != avoided:
                    waiting.append(path)
            elif reason := _not_a_log(entry, path):
                listing.problems.append(Problem(utf8(path), reason))
            else:
                listing.files.append(path)
    listing.files.sort()
    listing.problems.sort()
    return listing


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat(follow_symlinks=False) if not path.is_symlink() else path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _not_a_log(entry: os.DirEntry[str], path: str) -> str | None:
    if entry.is_symlink():
        return "not a file but a link, which is not followed"
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not stat.S_ISREG(mode):
        return f"not a file but {_KINDS.get(stat.S_IFMT(mode), 'something else')}"
    if utf8(path) != path:
        return "the name is not valid UTF-8, so it cannot name a page; rename it"
    try:
        msgspec.convert(path.split("/"), list[FileName])
    except msgspec.ValidationError:
        return "the path holds characters that cannot be shown, so it cannot stand in run.toml; rename it"
    return None


def survey(root: Path, path: str, format_name: str | None = None, progress: Callable[[str, int], object] | None = None) -> LogSurvey:
    """Read a log.

    Args:
        root: the folder that is imported.
        path: the path of the log below ``root``.
        format_name: the format of the log, if a rule states it.
        progress: a function that is called with the path and the number of bytes just read.

    Raises:
        UnreadableInput: the log cannot be opened or read, or no format fits.
    """
    with open_evidence(root, path) as stream:
        text = LogText(stream, (lambda count: progress(path, count)) if progress else None)
        scan = Scan(text, format_name)
        kinds = _kinds_of(scan)
    account, module = scan.account, format_named(scan.format_name)
    completed = tuple(_kind(record, metrics, account, run) for (record, run), metrics in kinds.items())
    return LogSurvey(
        sha256=account.sha256,
        text_sha256=account.text_sha256,
        size_bytes=account.size_bytes,
        format=scan.format_name,
        system=scan.system,
        tool=module.TOOL,
        facts=account.facts,
        kinds=completed,
        status=account.status,
        bad_lines=account.lines["broken"] + account.lines["unknown"],
        prefix=text.prefix.words if text.prefix else None,
    )


def _kinds_of(scan: Scan) -> dict[tuple[Record, int], frozenset[str]]:
    """Return the metrics of each kind of record. The key is a record without numbers, and the index of the run in the log."""
    kinds: dict[tuple[Record, int], frozenset[str]] = {}
    for event in scan.batches():
        record, run = (event.like, len(scan.account.runs)) if isinstance(event, RecordBlock) else (event.what, event.run)
        if not isinstance(record, Record) or record.scope == "resources":
            continue
        plain = msgspec.structs.replace(record, numbers=(), samples=None, scope="summary")
        metrics = frozenset(number.metric for number in record.numbers) if record.scope == "summary" else frozenset[str]()
        if (plain, run) in kinds:
            kinds[plain, run] |= metrics
        elif len(kinds) < _MOST_KINDS:
            kinds[plain, run] = metrics
    return kinds


def _kind(record: Record, metrics: frozenset[str], account: Account, run: int) -> KindOfRecord:
    in_log = account.conditions(run)
    return KindOfRecord(record, metrics, record.conditions.over(in_log), in_log)


def digest(root: Path, path: str) -> LogSurvey:
    """Return the checksum and the size of a log, without reading its results.

    Raises:
        UnreadableInput: it cannot be opened or read.
    """
    checksum, size_bytes = hashlib.sha256(), 0
    with open_evidence(root, path) as stream:
        for chunk in chunks_of(stream):
            checksum.update(chunk)
            size_bytes += len(chunk)
    return LogSurvey(checksum.hexdigest(), checksum.hexdigest(), size_bytes)


def chunks_of(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of an open log.

    Raises:
        UnreadableInput: it cannot be read to its end.
    """
    while True:
        try:
            chunk = stream.read(_CHUNK_BYTES)
        except OSError as error:
            raise UnreadableInput(f"cannot be read: {error.strerror}") from error
        if not chunk:
            return
        yield chunk


def is_log(root: Path, path: str) -> bool:
    """Whether a file is a log of a known format. The import calls this function for each file that no pattern fits."""
    try:
        with open_evidence(root, path) as stream:
            Scan(LogText(stream))
    except UnreadableInput:
        return False
    return True
