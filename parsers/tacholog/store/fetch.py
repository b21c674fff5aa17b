"""Fetch runs. If the index contains a run, its numbers are in a part; otherwise its logs are read."""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tacholog.errors import TachologError, UnreadableInput
from tacholog.evidence import read_evidence
from tacholog.runs.logs import ReadingLimits
from tacholog.runs.manifest import Manifest
from tacholog.store.assembly import RunRecord, RunTask, read_runs
from tacholog.store.cache import Kind, key_of
from tacholog.store.digests import FileStamp, detection_digest, digests_in, is_code_changed, reader_digest
from tacholog.store.logs import open_named
from tacholog.store.parts import Parts, put_part
from tacholog.store.pool import Pool, PoolLost, Work

SENT_BYTES = 1 << 20  # If the files of a run have more bytes in total, they are not sent to another machine.
_AT_ONCE = 1000  # the number of runs that are looked up together
# A chunk has a limit for its number of runs. The limit is between these numbers, and is chosen so that each process reads several chunks.
_CHUNK_RUNS = 32, 256
_CHUNKS_OF_PROCESS = 2
# A chunk also has a limit for the bytes of its logs. This limit is also between two numbers, and is chosen in the same way as the limit for runs.
# Chunks must not be too small, because each chunk makes a part, and writing a part takes time.
_CHUNK_BYTES = 1 << 21, 1 << 24
_PATIENCE_S = 300.0  # The time limit for reading even the smallest log. It is long, because the machine may be busy.
_LEAST_BYTES_PER_S = 100_000.0  # Large logs get additional time, in proportion to their size.
_ATTEMPTS = 2  # the number of attempts to read a run alone


class ListedRun(NamedTuple):
    """A run whose manifest was read. It also contains the manifest as JSON, and the number of processors of its machine."""

    run: str
    folder: Path
    manifest: Manifest
    manifest_json: bytes
    named_by_user: bool = False
    processors: float | None = None


class StoredRun(NamedTuple):
    """A run, the path of the part with its numbers, and everything else that was read from its logs. If the run has no numbers, the path is empty."""

    listed: ListedRun
    part: str
    record: RunRecord


class _IndexEntry(msgspec.Struct, array_like=True):
    part: str
    record: RunRecord


class _PendingRun(msgspec.Struct, eq=False):
    listed: ListedRun
    logs: list[str | None]  # the SHA-256 of each log; None if the log cannot be read
    size_bytes: int = 0
    key: bytes = b""
    stored: StoredRun | None = None
    attempts: int = 0
    lost: dict[int, str] = {}


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_IndexEntry).decode
_Answer = tuple[str | None, list[RunRecord]]


@contextmanager
def fetching(work: Work, limits: ReadingLimits | None = None) -> Iterator[RunFetcher]:
    """Yield a fetcher of runs. At the end, all processes that it started are ended."""
    try:
        yield RunFetcher(work, limits)
    finally:
        digests_in(work.cache).flush()
        work.end_pools()


class RunFetcher:
    """Fetches many runs."""

    def __init__(self, work: Work, limits: ReadingLimits | None) -> None:
        """Prepare to fetch runs.

        Args:
            work: the cache, and the pools that read logs. They read the logs of the runs that the cache does not contain.
            limits: the limits for the size of a log.
        """
        self.used = [work.parts]  # The folders with parts. New parts are written to the last folder.
        self._work, self._cache, self._limits = work, work.cache, limits
        self._digests = digests_in(work.cache)
        self._is_alone = False
        self._waiting: dict[Future[_Answer], tuple[list[_PendingRun], Pool]] = {}

    def runs(self, listed: Sequence[ListedRun], tell_done: Callable[[int], object] = lambda _done: None) -> list[StoredRun]:
        """Return each run with everything that was read from its logs. The numbers stay in parts.

        Args:
            listed: the runs.
            tell_done: a function that is called with the number of runs that were fetched so far.
        """
        runs: list[_PendingRun] = []
        self._is_alone, self._tell_done = len(listed) == 1, tell_done
        remaining = iter(listed)
        while batch := [*islice(remaining, _AT_ONCE)]:
            runs += self._looked_up(batch)
        missing = [run for run in runs if run.stored is None]
        logs_missing = sum(len(run.logs) for run in missing)
        self._work.tally.cached += sum(len(run.logs) for run in runs) - logs_missing
        self._work.tally.read += logs_missing
        self._done = len(runs) - len(missing)
        if self._done:
            tell_done(self._done)
        if missing:
            self._read(missing)
            self._cache.clean()
        return [run.stored for run in runs if run.stored is not None]

    def _looked_up(self, listed: Sequence[ListedRun]) -> list[_PendingRun]:
        stamps = iter(self._digests.look_up([f"{run.folder}/{log.file}" for run in listed if not run.named_by_user for log in run.manifest.logs]))
        runs = [_PendingRun(run, []) for run in listed]
        for run in runs:
            for log in run.listed.manifest.logs:
                sha256, size_bytes = self._sha256_and_size(run.listed, log.file, FileStamp() if run.listed.named_by_user else next(stamps))
                run.logs.append(sha256)
                run.size_bytes += size_bytes
            run.key = _key(run)
        entries = self._cache.get(Kind.RUN, [run.key for run in runs if run.key])
        for run in runs:
            run.stored = self._from_index(run, entries.get(run.key))
            if run.stored is None and self._limits and run.key:
                run.key = key_of(run.key, _encode(self._limits))  # Limits may change the result of reading a log.
                run.stored = self._from_index(run, self._cache.get(Kind.RUN, [run.key]).get(run.key), is_limited=True)
        return runs

    def _from_index(self, run: _PendingRun, content: bytes | None, *, is_limited: bool = False) -> StoredRun | None:
        if content is None:
            return None
        try:
            entry = _decode(content)
        except msgspec.DecodeError:
            return None
        if self._limits and not is_limited and any(self._limits.refusals(*size) for size in entry.record.sizes):
            return None
        if entry.part and not self.used[0].is_whole(entry.part):
            return None
        return self._stored(run, self.used[0], entry.part, entry.record)

    def _stored(self, run: _PendingRun, parts: Parts, part: str, record: RunRecord) -> StoredRun:
        return StoredRun(run.listed, str(parts.path(part)) if part else "", record)

    def _sha256_and_size(self, run: ListedRun, name: str, stamp: FileStamp) -> tuple[str | None, int]:
        if stamp.sha256 is not None:
            return stamp.sha256, stamp.size_bytes
        try:
            with open_named(run.folder, name, run.named_by_user) as stream:
                size_bytes = os.fstat(stream.fileno()).st_size
                sha256 = hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # every open file has readinto
        except (UnreadableInput, OSError):
            # The log cannot be read. Nothing is reported here, because reading the log will report a problem with the reason.
            return None, 0
        self._digests.remember(stamp, sha256)
        return sha256, size_bytes

    def _store_answer(self, runs: Sequence[_PendingRun], answer: _Answer) -> None:
        part, records = answer
        if part is None:  # The disk is full, or the folder was changed. The runs are read again, and the cache does not store them.
            self.used.append(Parts(None))
            part, records = read_runs(self._tasks(runs), self._folder)
            if part is None:
                raise TachologError(f"{self._folder}: the numbers of the logs cannot be written there; make room")
        for run, record in zip(runs, records, strict=True):
            run.stored = self._stored(run, self.used[-1], part, record)
        # If the code has changed, processes may have read the runs with the new code, but the keys are made from the old code. So nothing is stored.
        if len(self.used) == 1 and not is_code_changed():
            entries = [(run, record) for run, record in zip(runs, records, strict=True) if run.key and not run.lost and _is_unchanged(run, record)]
            self._cache.put(Kind.RUN, {run.key: _encode(_IndexEntry(part, record)) for run, record in entries}, part)

    def _tasks(self, runs: Sequence[_PendingRun]) -> list[RunTask]:
        return [
            RunTask(listed.manifest_json, str(listed.folder), listed.named_by_user, self._limits, listed.processors, run.lost)
            for run in runs
            for listed in [run.listed]
        ]

    def _progress_of(self, runs: Sequence[_PendingRun]) -> Callable[[int, str, int], object]:
        return lambda index, log, count: self._work.text_read(f"{runs[index].listed.run}/{log}", count)

    def _pool_for(self, runs: Sequence[_PendingRun], *, is_local: bool) -> Pool | None:
        logs, size_bytes = sum(len(run.logs) for run in runs), sum(run.size_bytes for run in runs)
        return self._work.pool_for(logs, size_bytes, is_local=is_local, are_alone=self._is_alone)

    @property
    def _folder(self) -> Path:
        return self.used[-1].folder

    def _read(self, runs: Sequence[_PendingRun]) -> None:
        pool = self._pool_for(runs, is_local=False)
        if pool and pool.is_remote:
            large = [run for run in runs if run.size_bytes > SENT_BYTES]
            self._begin(large, self._pool_for(large, is_local=True))
            self._begin([run for run in runs if run.size_bytes <= SENT_BYTES], pool)
        else:
            self._begin(runs, pool)
        while self._waiting:
            done, _ = wait(self._waiting, return_when=FIRST_COMPLETED)
            for future in done:
                self._finish(future)

    def _begin(self, runs: Sequence[_PendingRun], pool: Pool | None) -> None:
        for chunk in _chunks(runs, pool.processes if pool else 1):
            if pool:
                self._submit(chunk, pool)
            else:
                self._read_here(chunk)

    def _submit(self, chunk: list[_PendingRun], pool: Pool) -> None:
        tasks = self._tasks(chunk)
        timeout_s = _patience_s(chunk)
        if pool.is_remote:
            sent = [msgspec.structs.replace(task, contents=_contents_of_logs(run.listed)) for task, run in zip(tasks, chunk, strict=True)]
            future: Future[_Answer] = pool.submit(partial(read_elsewhere, sent), timeout_s)  # type: ignore[arg-type]
        else:
            future = pool.submit(partial(read_runs, tasks, self._folder), timeout_s)
        self._waiting[future] = chunk, pool

    def _finish(self, future: Future[_Answer]) -> None:
        chunk, pool = self._waiting.pop(future)
        try:
            answer = self._received(future.result()) if pool.is_remote else future.result()
        except TachologError:
            raise
        except (PoolLost, CancelledError):
            self._begin(chunk, self._pool_for(chunk, is_local=True))
        except Exception as error:  # noqa: BLE001 - whatever ended the process: this is what the pool is for
            self._read_again(chunk, error, pool)
        else:
            self._store_answer(chunk, answer)
            progress = self._progress_of(chunk)
            for index, (run, record) in enumerate(zip(chunk, answer[1], strict=True)):
                for log, (text_bytes, _) in zip(run.listed.manifest.logs, record.sizes, strict=True):
                    progress(index, log.file, text_bytes)
            self._tell(chunk)

    def _received(self, answer: Any) -> _Answer:  # noqa: ANN401 - what `read_elsewhere` returned
        """Write the part that a worker on another machine returned. Return the name of the part, and the records."""
        version, content, records = answer
        if version != detection_digest():
            raise TachologError("--cluster: the workers have another version of Tacholog, or other formats, than this machine")
        try:
            return (put_part(self._folder, lambda path: path.write_bytes(content)) if content else ""), records
        except OSError:
            return None, records

    def _read_again(self, chunk: list[_PendingRun], error: BaseException, pool: Pool) -> None:
        """Read each half of the runs, and in the end each log alone, because only a log that ended its process may be lost."""
        if len(chunk) > 1:
            half = len(chunk) // 2
            for part in (chunk[:half], chunk[half:]):
                self._submit(part, pool)
            return
        (run,) = chunk
        run.attempts += 1
        left = [index for index in range(len(run.logs)) if index not in run.lost]
        if run.attempts == 1 and not isinstance(error, TimeoutError):
            self._submit(chunk, pool)  # The process may have ended because another program took the memory.
        elif run.attempts <= _ATTEMPTS and len(left) > 1:
            run.attempts = _ATTEMPTS
            run.lost = {index: why for index in left if (why := self._why_lost(run, index, pool))}
            self._submit(chunk, pool)
        else:
            run.lost |= dict.fromkeys(left, _why(error))
            self._read_here(chunk)

    def _why_lost(self, run: _PendingRun, index: int, pool: Pool) -> str | None:
        (task,) = self._tasks([run])
        others = {other: "not read now" for other in range(len(run.logs)) if other != index}
        trial = msgspec.structs.replace(task, lost=others, contents=_contents_of_logs(run.listed) if pool.is_remote else None)
        do: Callable[[], object] = partial(read_elsewhere, [trial]) if pool.is_remote else partial(read_runs, [trial], self._folder)
        try:
            pool.submit(do, _patience_s([run])).result()
        except Exception as error:  # noqa: BLE001 - as above
            return _why(error)
        return None

    def _read_here(self, chunk: Sequence[_PendingRun]) -> None:
        """Read runs in this process. There is no timeout, so reading may hang."""
        self._store_answer(chunk, read_runs(self._tasks(chunk), self._folder, self._progress_of(chunk)))
        self._tell(chunk)

    def _tell(self, chunk: Sequence[_PendingRun]) -> None:
        self._done += len(chunk)
        self._tell_done(self._done)


def read_elsewhere(tasks: Sequence[RunTask]) -> tuple[str, bytes, list[RunRecord]]:
    """Read runs on a worker of a cluster. Return the version of the worker's code, the bytes of the part, and a record of each run."""
    parts = Parts(None)
    part, records = read_runs(tasks, parts.folder)
    if part is None:
        raise OSError("the part cannot be written")
    return detection_digest(), parts.path(part).read_bytes() if part else b"", records


def _contents_of_logs(run: ListedRun) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    for log in run.manifest.logs:
        try:
            contents[log.file] = (run.folder / log.file).read_bytes() if run.named_by_user else read_evidence(run.folder, log.file)
        except (UnreadableInput, OSError):
            continue
    return contents


def _patience_s(runs: Sequence[_PendingRun]) -> float:
    return _PATIENCE_S + sum(run.size_bytes for run in runs) / _LEAST_BYTES_PER_S


def _why(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return f"reading it took too long: it was not done after {_PATIENCE_S:g} s"
    code: int | None = getattr(error, "exitcode", None)
    if code is None:  # This is an error of Dask; its message states how many workers were lost.
        return f"reading it failed: {error}"
    if code >= 0:
        return f"the process that read it ended (status {code})"
    try:
        return f"the process that read it ended ({signal.Signals(-code).name})"
    except ValueError:
        return f"the process that read it ended (signal {-code})"


def _is_unchanged(run: _PendingRun, record: RunRecord) -> bool:
    return not record.is_lost and [log["sha256"] for log in record.logs] == run.logs


def _key(run: _PendingRun) -> bytes:
    """Return the key of a run. It is empty if a log cannot be read or its format does not exist; a problem reports this later."""
    listed = run.listed
    try:
        # A format that the manifest does not name is detected. Then the key depends on the code of all formats.
        digests = [detection_digest() if log.format is None else reader_digest(log.format) for log in listed.manifest.logs]
    except UnreadableInput:
        return b""
    if None in run.logs:
        return b""
    who = "named by the user" if listed.named_by_user else ""
    return key_of(*sorted(set(digests)), listed.manifest_json, who, str(listed.processors), *(str(sha256) for sha256 in run.logs))


def _chunks(runs: Sequence[_PendingRun], processes: int) -> Iterator[list[_PendingRun]]:
    fewest, most_runs = _CHUNK_RUNS
    chunks = _CHUNKS_OF_PROCESS * processes
    most = min(most_runs, max(fewest, len(runs) // chunks))
    most_bytes = min(_CHUNK_BYTES[1], max(_CHUNK_BYTES[0], sum(run.size_bytes for run in runs) // chunks))
    chunk: list[_PendingRun] = []
    size_bytes = 0
    for run in runs:
        if chunk and (len(chunk) >= most or size_bytes + run.size_bytes > most_bytes):
            yield chunk
            chunk, size_bytes = [], 0
        chunk.append(run)
        size_bytes += run.size_bytes
    if chunk:
        yield chunk
