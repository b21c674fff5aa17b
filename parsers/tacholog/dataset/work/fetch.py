"""Logs from the cache, and what is not in it from the logs themselves."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from tacholog.dataset.cache import Cache, Kind, Pack, key_of
from tacholog.dataset.file_digests import SeenFile, digests_in
from tacholog.dataset.logs import Limits, Progress, lost_log, open_named
from tacholog.dataset.versions import detection_digest, is_code_changed, reader_digest
from tacholog.dataset.work.entries import DamagedEntry, LogEntry, decoded
from tacholog.dataset.work.tasks import LogTask, Promise, Readers
from tacholog.errors import UnreadableInput
from tacholog.evidence import read_evidence
from tacholog.runs.manifest import LogFile, Manifest
from tacholog.runs.problems import UNREADABLE

HANDED_BYTES = 1 << 20  # A larger log is opened again by the process that reads it.
_WINDOW_LOGS = 1024  # So many are looked up, and read, together ...
_WINDOW_BYTES = 1 << 23  # ... if they are no larger than this.
# So much is given to other processes before the first of it is asked for. They go on with it while this process writes a part of a file.
_AHEAD_LOGS = 8 * _WINDOW_LOGS
_AHEAD_BYTES = 1 << 26
_CHUNK_LOGS = 32, 256  # So many go to one process at a time: as many as let each process have a few chunks of a window ...
_CHUNKS_OF_PROCESS = 2
_CHUNK_BYTES = 1 << 20  # ... if they are no larger than this.
_KEPT_BYTES = 1 << 23  # What was read is kept in so large parts. One for each chunk took a third longer.
_HASHED_BYTES = 1 << 18
_OTHER_LOGS = "what read some logs gave an answer for more or fewer of them"


class ListedRun(NamedTuple):
    """A run whose manifest is known: its id, its folder, its manifest, and that as JSON."""

    run: str
    folder: Path
    manifest: Manifest
    manifest_json: bytes
    named_by_user: bool = False


class LogCount(msgspec.Struct):
    """How many logs were taken from the cache, and how many were read."""

    kept: int = 0
    read: int = 0


class _Log(msgspec.Struct, eq=False):
    """A log on its way."""

    run: ListedRun
    place: int
    entry: LogFile
    sha256: str | None = None
    content: bytes | None = None
    size_bytes: int = 0
    key: bytes = b""
    found: LogEntry | None = None


class _Window(msgspec.Struct, eq=False):
    """Logs that are looked up and read together, and what is being read of them."""

    runs: list[ListedRun]
    logs: list[_Log]
    reading: list[tuple[list[_Log], Promise]]

    @property
    def size_bytes(self) -> int:
        """The size of all logs."""
        return sum(log.size_bytes for log in self.logs)


class Fetching:
    """Fetches the logs of many runs."""

    def __init__(self, cache: Cache, readers: Callable[[int, int], Readers], limits: Limits | None = None, progress: Progress | None = None) -> None:
        """Prepare to fetch.

        Args:
            cache: where entries are looked up and kept.
            readers: returns what reads the logs that are not in the cache, of which there are now so many with so many bytes.
            limits: how much of one log is read.
            progress: is told which log is being read, and how far.
        """
        self.tally = LogCount()
        self._processes = 0
        self._cache, self._readers, self._limits, self._progress = cache, readers, limits, progress
        self._digests = digests_in(cache)

    def runs(self, listed: Iterable[ListedRun]) -> Iterator[tuple[ListedRun, list[LogEntry]]]:
        """Yield each run with the entries of its logs, in order."""
        windows: deque[_Window] = deque()
        for runs in _windows(self._opened(listed)):
            windows.append(self._begun(runs))
            while self._are_enough(windows):
                yield from self._finished(windows.popleft())
        while windows:
            yield from self._finished(windows.popleft())

    def _are_enough(self, windows: Collection[_Window]) -> bool:
        """Return whether the first of these windows is to be finished before another one is begun."""
        if not self._processes:
            return bool(windows)  # Its logs are read already.
        if sum(len(window.logs) for window in windows) < _AHEAD_LOGS and sum(window.size_bytes for window in windows) < _AHEAD_BYTES:
            return False
        # A large log is a window of its own, and the cache may have some of them.
        all_busy = _CHUNKS_OF_PROCESS * self._processes
        return len(windows) > all_busy or sum(len(window.reading) for window in windows) >= all_busy

    def _opened(self, listed: Iterable[ListedRun]) -> Iterator[tuple[ListedRun, list[_Log]]]:
        """Yield each run with its logs and what identifies their content. One that cannot be opened is lost already."""
        for runs in _together(listed):
            seen = iter(self._digests.seen([f"{run.folder}/{log.file}" for run in runs if not run.named_by_user for log in run.manifest.logs]))
            for run in runs:
                logs = [_Log(run, place, entry) for place, entry in enumerate(run.manifest.logs)]
                for log in logs:
                    self._open(log, SeenFile() if run.named_by_user else next(seen))
                yield run, logs

    def _open(self, log: _Log, seen: SeenFile) -> None:
        if seen.sha256 is not None:
            log.sha256, log.size_bytes = seen.sha256, seen.size_bytes
            return
        self._identify(log)
        if log.sha256 is not None:
            self._digests.remember(seen, log.sha256)

    def _identify(self, log: _Log) -> None:
        """Read a log, or only its SHA-256 if it is large. One that cannot be read is lost."""
        try:
            self._read(log)
        except UnreadableInput as error:
            log.found = lost_log(log.entry, UNREADABLE, str(error))
        except OSError as error:
            log.found = lost_log(log.entry, UNREADABLE, f"cannot be read: {error.strerror}")

    def _read(self, log: _Log) -> None:
        run, name = log.run, log.entry.file
        if run.named_by_user:
            with open_named(run.folder, name, named_by_user=True) as stream:
                start = stream.read(HANDED_BYTES + 1)
        else:
            start = read_evidence(run.folder, name, HANDED_BYTES + 1)
        if len(start) <= HANDED_BYTES:
            log.content, log.size_bytes, log.sha256 = start, len(start), hashlib.sha256(start).hexdigest()
            return
        log.size_bytes = 0
        found = hashlib.sha256()
        with open_named(run.folder, name, run.named_by_user) as stream:
            while piece := stream.read(_HASHED_BYTES):
                found.update(piece)
                log.size_bytes += len(piece)
        log.sha256 = found.hexdigest()

    def _begun(self, window: tuple[list[ListedRun], list[_Log]]) -> _Window:
        """Look the logs of these runs up, and begin to read the others."""
        runs, logs = window
        self._look_up([log for log in logs if log.found is None])
        for log in logs:
            if log.found is None and log.content is None and log.size_bytes <= HANDED_BYTES:  # It was not opened yet. Workers may not find it.
                self._identify(log)
                log.key = _key(log)
        missing = [log for log in logs if log.found is None]
        self.tally.kept += len(logs) - len(missing)
        self.tally.read += len(missing)
        if not missing:
            return _Window(runs, logs, [])
        readers = self._readers(len(missing), sum(log.size_bytes for log in missing))
        self._processes = readers.processes
        chunks = _chunks(missing, max(1, readers.processes))
        return _Window(runs, logs, [(chunk, readers.submit([self._task(log) for log in chunk], self._heard(chunk))) for chunk in chunks])

    def _finished(self, window: _Window) -> Iterator[tuple[ListedRun, list[LogEntry]]]:
        """Wait for what is being read, keep it, and yield the runs."""
        held: list[Pack] = []
        while window.reading:
            held += _taken(*window.reading.pop(0))
            if sum(len(pack.content) for pack in held) >= _KEPT_BYTES:
                self._keep(held)
                held = []
        self._keep(held)
        held.clear()  # What the cache has need not stay in memory while the runs are used.
        logs_of_runs = iter(window.logs)
        for run in window.runs:
            yield run, [log.found for log in islice(logs_of_runs, len(run.manifest.logs)) if log.found is not None]

    def _keep(self, packs: Sequence[Pack]) -> None:
        """Keep what was read, if the code that read it is the one that its keys name."""
        if packs and not is_code_changed():
            self._cache.put_packs(Kind.LOG, packs)

    def _look_up(self, logs: Sequence[_Log]) -> None:
        """Find what the cache keeps of these logs. Several may have the same key: copies of one run."""
        by_key: dict[bytes, list[_Log]] = {}
        for log in logs:
            log.key = _key(log)
            if log.key:
                by_key.setdefault(log.key, []).append(log)
        for content, wanted in self._cache.packs(Kind.LOG, by_key):
            try:
                pack = decoded(content)
                for key, place in wanted:
                    logs_of_key = by_key[key]
                    for log in logs_of_key:
                        log.found = self._within_limits(log, pack.entry(place, is_last=log is logs_of_key[-1]))
            except DamagedEntry:  # It is read again.
                continue

    def _within_limits(self, log: _Log, found: LogEntry) -> LogEntry | None:
        """Return a kept entry, or that of a lost log if it is longer than what is to be read. ``None`` if the log is to be read again.

        That is where it is beyond both limits: which of them it meets first, and so which one is named, only reading it says.
        """
        refusals = self._limits.refusals(found.head.text_bytes, found.columns.number_count) if self._limits else []
        if len(refusals) > 1:
            return None
        return lost_log(log.entry, UNREADABLE, refusals[0], found.head.format) if refusals else found

    def _task(self, log: _Log) -> LogTask:
        return LogTask(
            log.run.manifest_json,
            log.place,
            log.content,
            str(log.run.folder),
            log.run.named_by_user,
            self._limits,
            log.size_bytes,
        )

    def _heard(self, chunk: Sequence[_Log]) -> Callable[[int, int], object]:
        progress = self._progress
        if progress is None:
            return lambda _place, _count: None
        return lambda place, count: progress(f"{chunk[place].run.run}/{chunk[place].entry.file}", count)


def _taken(chunk: Sequence[_Log], promise: Promise) -> list[Pack]:
    """Give the logs of a chunk what was read of them, and return it in packs.

    Raises:
        DamagedEntry: it is of more or fewer logs.
    """
    packs: list[Pack] = []
    waiting = iter(chunk)
    for read in promise.result():
        entries = read.pack()
        logs = list(islice(waiting, len(entries)))
        if len(logs) < len(entries):
            raise DamagedEntry(_OTHER_LOGS)
        for place, log in enumerate(logs):
            log.found = entries.entry(place, is_last=True)
        packs.append(Pack([_key_to_keep(log) for log in logs], read.content))
    if next(waiting, None):
        raise DamagedEntry(_OTHER_LOGS)
    return packs


def _key(log: _Log) -> bytes:
    """Return the key of a log; empty if its manifest names a format that does not exist, so that reading it says so.

    Every format has a say in which one a log is in. So where the manifest names none, what it gives depends on all of them.
    """
    try:
        digest = detection_digest() if log.entry.format is None else reader_digest(log.entry.format)
    except UnreadableInput:
        return b""
    return key_of(digest, log.run.manifest_json, log.entry.file, log.sha256 or "")


def _key_to_keep(log: _Log) -> bytes:
    """Return the key of what was read; empty if it is not to be kept: it could not be read, or changed meanwhile."""
    head = log.found.head if log.found else None
    return b"" if head is None or head.is_lost or head.sha256 != log.sha256 else log.key


def _together(listed: Iterable[ListedRun]) -> Iterator[list[ListedRun]]:
    """Cut runs into lists of a bounded number of logs."""
    runs: list[ListedRun] = []
    logs = 0
    for run in listed:
        runs.append(run)
        logs += len(run.manifest.logs)
        if logs >= _WINDOW_LOGS:
            yield runs
            runs, logs = [], 0
    if runs:
        yield runs


def _windows(opened: Iterable[tuple[ListedRun, list[_Log]]]) -> Iterator[tuple[list[ListedRun], list[_Log]]]:
    """Cut runs into windows of a bounded number of logs and bytes."""
    runs: list[ListedRun] = []
    logs: list[_Log] = []
    size_bytes = 0
    for run, of_run in opened:
        runs.append(run)
        logs += of_run
        size_bytes += sum(log.size_bytes for log in of_run)
        if len(logs) >= _WINDOW_LOGS or size_bytes >= _WINDOW_BYTES:
            yield runs, logs
            runs, logs, size_bytes = [], [], 0
    if runs:
        yield runs, logs


def _chunks(logs: Sequence[_Log], processes: int) -> Iterator[list[_Log]]:
    """Cut logs into chunks for one process, of which there are so many."""
    fewest, most_logs = _CHUNK_LOGS
    most = min(most_logs, max(fewest, len(logs) // (_CHUNKS_OF_PROCESS * processes)))
    chunk: list[_Log] = []
    size_bytes = 0
    for log in logs:
        if chunk and (len(chunk) >= most or size_bytes + log.size_bytes > _CHUNK_BYTES):
            yield chunk
            chunk, size_bytes = [], 0
        chunk.append(log)
        size_bytes += log.size_bytes
    if chunk:
        yield chunk
