"""The problems of a folder of runs: files, logs and folders that could not be used, and folders of logs without a ``run.toml``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tacholog.errors import UnreadableInput
from tacholog.formats.reading import Scan
from tacholog.formats.source import not_a_file, open_log_in
from tacholog.runs.manifest import HOSTS_FOLDER, PLAN_FILE, RUN_FILE, SAME_BUILD_FOLDER, Manifest
from tacholog.runs.moments import is_moment

#: One row of a table: its values by the names of the columns.
Row = dict[str, Any]

UNREADABLE = "unreadable"  # A log, run, host or folder that could not be read.
ALTERED = "altered"  # The SHA-256 of a log is not the SHA-256 in its manifest: the log was cut or changed.
CONTRADICTED = "contradicted"  # A condition that the manifest and the log state differently, or a property that two host files state differently.
CLOCKS = "clocks"  # One-way latencies between machines without reports on their clocks.
COPIED = "copied"  # A log of an own run that is also in another run: one measurement would be counted twice.
FORGOTTEN = "forgotten"  # A folder of logs without a manifest.
LOST = (UNREADABLE, ALTERED, FORGOTTEN)  # After a problem of these kinds, the dataset lacks something that the user asked for.
COINCIDENCE = 3  # two results with fewer numbers than this may be equal by chance, unless they are only bounds
_ALTERED_REASON = re.compile(r"the log's SHA-256 is [0-9a-f]{64}, run\.toml says [0-9a-f]{64}")
_NO_LOGS = (".toml", ".md")
_TEXT_SHOWN = 200
_NAMES_SHOWN = 5


def problem(run: str, log: str, line: int, kind: str, text: str, reason: str) -> Row:
    """Return one row of the table ``problems``."""
    return {"run": utf8(run), "log": utf8(log), "line": line, "kind": kind, "text": text_shown(text), "reason": utf8(reason)}


def altered_reason(sha256: str, in_manifest: str) -> str:
    """Return the reason why a log is marked as altered: its SHA-256 differs from the SHA-256 in its manifest."""
    return f"the log's SHA-256 is {sha256}, {RUN_FILE} says {in_manifest}"


def is_altered_reason(text: str) -> bool:
    """Whether `altered_reason` returned this text. Such a text contains only two checksums, so it contains no private name."""
    return _ALTERED_REASON.fullmatch(text) is not None


def text_shown(text: str) -> str:
    """Return the part of a line that is stored in a table."""
    return text[:_TEXT_SHOWN]


def utf8(name: str) -> str:
    """Return the name of a file in a form for tables and pages: bytes that are not valid UTF-8 become escape sequences."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def add_unlisted_folder(root: Path, problems: list[Row], error: OSError) -> None:
    """Add the problem that a folder cannot be listed."""
    folder = Path(error.filename)
    reason = f"{folder}: the folder cannot be listed: {error.strerror}; what is in it was not read"
    problems.append(problem(folder.relative_to(root).as_posix(), "", 0, UNREADABLE, "", reason))


def unlisted_files(run: str, folder: Path, names: Iterable[str], manifest: Manifest) -> Iterator[Row]:
    """Yield a problem for each file in the folder of a run that the manifest of the run does not list.

    Args:
        run: the id of the run.
        folder: its folder.
        names: the sorted names of all entries except folders and hidden entries.
        manifest: the manifest of the run.
    """
    listed = {RUN_FILE, *(entry.file for entry in manifest.logs)}
    for name in names:
        if name in listed:
            continue
        wrong = not_a_file(folder / name)
        reason = f"{wrong}, and was not read" if wrong else f"the file is not listed in {RUN_FILE} and was not read"
        yield problem(run, name, 0, "manifest", "", reason)


def special_files(folder: Path) -> Iterator[Row]:
    """Yield a problem for each named pipe, socket and device in a folder of logs. Opening such a file could block forever."""
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if not entry.name.startswith(".") and not _is_plain(entry))
    for name in names:
        if wrong := not_a_file(folder / name):
            yield problem("", name, 0, UNREADABLE, "", f"{folder / name}: {wrong}, and was not read")


def _is_plain(entry: os.DirEntry[str]) -> bool:
    # The listing of the folder contains the answer, so no system call is needed.
    return entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)


def folder_without_manifest(root: Path, folder: Path, files: Sequence[str]) -> Iterator[Row]:
    """Yield a problem for a folder that contains logs but no manifest. Without this problem, the logs would be skipped without a message.

    A folder below a ``plan.toml`` belongs to a planned run. It is not a problem.
    """
    if RUN_FILE in files or folder.name == HOSTS_FOLDER:
        return
    no_logs = (*_NO_LOGS, ".csv") if folder == root / SAME_BUILD_FOLDER else _NO_LOGS
    logs = [name for name in files if Path(name).suffix not in no_logs and _is_log(folder, name)]
    if logs and not any((above / PLAN_FILE).is_file() for above in (folder, *folder.resolve().parents)):
        names = ", ".join(logs[:_NAMES_SHOWN]) + (f" and {len(logs) - _NAMES_SHOWN} more" if len(logs) > _NAMES_SHOWN else "")
        reason = f"{folder}: no {RUN_FILE} in this folder, so that {names} {'was' if len(logs) == 1 else 'were'} not read"
        yield problem(folder.relative_to(root).as_posix(), "", 0, FORGOTTEN, "", reason)


def _is_log(folder: Path, name: str) -> bool:
    try:
        with open_log_in(folder, name) as text:
            Scan(text)
    except UnreadableInput:
        return False
    return True


def manifest_problems(manifest: Manifest) -> list[Row]:
    """Return a list with a problem if the ``start_time`` of a manifest is not a valid time. Otherwise the list is empty.

    The problem has no run yet: the caller adds it.
    """
    if manifest.start_time is None or is_moment(manifest.start_time):
        return []
    reason = f'start_time = {manifest.start_time!r} is not a time such as "2026-01-31T12:00:00Z", and was not used'
    return [problem("", RUN_FILE, 0, "manifest", "", reason)]


class LogIdentity(NamedTuple):
    """A log, the folder of its run, and two checksums: the SHA-256 of its bytes and the SHA-256 of its text.

    The checksums differ if the log is compressed.
    """

    run: str
    folder: str
    log: str
    sha256: str
    text_sha256: str


def copies(logs: Iterable[LogIdentity]) -> Iterator[Row]:
    """Yield a problem for each log that has the same text as a log of an earlier run.

    Args:
        logs: logs of own runs with at least `COINCIDENCE` numbers. The names of their runs must not be private, because a problem names the earlier
            run.
    """
    first: dict[str, LogIdentity] = {}
    for log in logs:
        other = first.setdefault(log.text_sha256, log)
        if other.run != log.run:
            is_bare = Path(other.folder, other.log) == Path(other.run)  # if there is no run.toml, the run has the name of its log
            name = other.run if is_bare else f"{other.run}/{other.log}"
            what = "bytes" if log.sha256 == other.sha256 else "text"  # if only the text is equal, a file may be compressed
            reason = f"the same {what} as {name}: a copy is no second measurement, and makes intervals over runs too narrow"
            yield problem(log.run, log.log, 0, COPIED, "", reason)


def complaint(row: Mapping[Any, Any], folders: Mapping[str, Path] | None = None) -> str:
    """Return a problem as a line of text: the location, the kind, the reason, and the line of the log if the problem is about one line.

    Args:
        row: a row of ``problems``.
        folders: the folder of each run.
    """
    if not row["run"] or row["kind"] == FORGOTTEN or (row["kind"] == UNREADABLE and row["log"] in ("", RUN_FILE)):
        return str(row["reason"])  # the reason already names the file or the folder, and the key if there is one
    path = (folders or {}).get(row["run"], Path(row["run"])) / row["log"]
    line = f":{row['line']}" if row["line"] else ""
    text = f": {row['text']!r}" if row["text"] else ""
    return f"{path}{line}: {row['kind']}: {row['reason']}{text}"
