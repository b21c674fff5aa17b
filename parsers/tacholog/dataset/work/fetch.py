"""Logs from the cache, and what is not in it from the logs themselves."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tacholog.dataset.cache import Cache, Kind, key_of
from tacholog.dataset.logs import Limits, Progress, lost_log, open_named
from tacholog.dataset.versions import detection_digest, reader_digest
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
    format: str | None = None
    detection_key: bytes = b""
    key: bytes | None = None
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

    def runs(self, listed: Iterable[ListedRun]) -> Iterator[tuple[ListedRun, list[LogEntry]]]:
        """Yield each run with the entries of its logs, in order."""
        windows: deque[_Window] = deque()
        for runs in _windows(listed, self._opened):
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

    def _opened(self, run: ListedRun) -> list[_Log]:
        """Return the logs of a run with what identifies their content. One that cannot be opened is lost already."""
        logs = [_Log(run, place, entry) for place, entry in enumerate(run.manifest.logs)]
        for log in logs:
            try:
                self._identify(log)
            except UnreadableInput as error:
                log.found = lost_log(log.entry, UNREADABLE, str(error))
            except OSError as error:
                log.found = lost_log(log.entry, UNREADABLE, f"cannot be read: {error.strerror}")
        return logs

    def _identify(self, log: _Log) -> None:
        run, name = log.run, log.entry.file
        if run.named_by_user:
            with open_named(run.folder, name, named_by_user=True) as stream:
                start = stream.read(HANDED_BYTES + 1)
        else:
            start = read_evidence(run.folder, name, HANDED_BYTES + 1)
        if len(start) <= HANDED_BYTES:
            log.content, log.size_bytes, log.sha256 = start, len(start), hashlib.sha256(start).hexdigest()
            return
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
        held: list[tuple[_Log, bytes]] = []
        while window.reading:
            held += _taken(*window.reading.pop(0))
            if sum(len(content) for _, content in held) >= _KEPT_BYTES:
                self._keep(held)
                held = []
        self._keep(held)
        held.clear()  # What the cache has need not stay in memory while the runs are used.
        logs = iter(window.logs)
        for run in window.runs:
            yield run, [log.found for log in (next(logs) for _ in run.manifest.logs) if log.found is not None]

    def _look_up(self, logs: Sequence[_Log]) -> None:
        """Find what the cache keeps of these logs."""
        for log in logs:
            log.detection_key = key_of(detection_digest(), log.sha256 or "") if log.entry.format is None else b""
        formats = self._cache.get(Kind.DETECTED, {log.detection_key: None for log in logs if log.detection_key})
        for log in logs:
            name = formats.get(log.detection_key) if log.entry.format is None else log.entry.format.encode()
            if name is not None:
                log.key = _key(log, name.decode())
        kept = self._cache.get(Kind.LOG, {log.key: None for log in logs if log.key})
        for log in logs:
            if (content := kept.get(log.key or b"")) is not None:
                log.found = self._within_limits(log, content)

    def _within_limits(self, log: _Log, content: bytes) -> LogEntry | None:
        """Return a kept entry; ``None`` if it is damaged."""
        try:
            found = decoded(content)
        except DamagedEntry:
            return None
        refusal = self._limits.refusal(found.head.text_bytes, found.columns.number_words.shape[1]) if self._limits else None
        return lost_log(log.entry, UNREADABLE, refusal, found.head.format) if refusal else found

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

    def _keep(self, read: Iterable[tuple[_Log, bytes]]) -> None:
        """Keep what was read. What could not be read is tried again the next time, and so is a log that was changed meanwhile."""
        entries: dict[bytes, bytes] = {}
        formats: dict[bytes, bytes] = {}
        for log, content in read:
            head = log.found.head if log.found else None
            if head is None or head.is_lost or head.sha256 != log.sha256:
                continue
            name = head.format or ""
            if log.entry.format is None:
                formats[log.detection_key] = name.encode()
            if key := _key(log, name):
                entries[key] = content
        self._cache.put(Kind.DETECTED, formats)
        self._cache.put(Kind.LOG, entries)


def _taken(chunk: Iterable[_Log], promise: Promise) -> list[tuple[_Log, bytes]]:
    """Give the logs of a chunk what was read of them, and return it as bytes."""
    read = []
    for log, one in zip(chunk, promise.result(), strict=True):
        log.found = one.entry()
        read.append((log, one.content))
    return read


def _key(log: _Log, format_name: str) -> bytes | None:
    """Return the key of a log that is read in this format; ``None`` if there is no such format, so that reading it says so."""
    try:
        digest = reader_digest(format_name) if format_name else detection_digest()
    except UnreadableInput:
        return None
    return key_of(digest, log.run.manifest_json, log.entry.file, log.sha256 or "")


def _windows(listed: Iterable[ListedRun], opened: Callable[[ListedRun], list[_Log]]) -> Iterator[tuple[list[ListedRun], list[_Log]]]:
    """Cut runs into windows of a bounded number of logs and bytes."""
    runs: list[ListedRun] = []
    logs: list[_Log] = []
    size_bytes = 0
    for run in listed:
        runs.append(run)
        of_run = opened(run)
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
