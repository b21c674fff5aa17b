"""Pools, which execute reading tasks in several processes, or on the workers of a Dask cluster. All pools have the same interface."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from importlib import import_module
from typing import Any, Protocol, TypeVar

import msgspec

from tacholog.errors import TachologError
from tacholog.installation import require
from tacholog.store.cache import Cache, open_cache, others_file_words, refused_words
from tacholog.store.parts import Parts

_Result = TypeVar("_Result")
_CONNECT_S = 20
_START_S = 300.0  # The time limit for the start of a process on a busy machine.
_LOOK_S = 2.0  # The interval at which the workers of a cluster are counted.
_WITHOUT_WORKERS_S = 30.0  # The time limit for a cluster without workers: the workers may be restarting.


class Pool(Protocol):
    """Executes tasks."""

    @property
    def processes(self) -> int:
        """The number of tasks that are executed at the same time."""

    @property
    def is_remote(self) -> bool:
        """Whether tasks are executed on machines that have other files."""

    def submit(self, task: Callable[[], _Result], timeout_s: float) -> Future[_Result]:
        """Start a task. After the timeout, the task is ended. Other tasks are not affected.

        The future of a task has an exception if the task is ended, or if the task ends its process.
        """

    def close(self) -> None:
        """Execute no more tasks."""


class PoolLost(Exception):
    """The pool has no process and cannot start a new process, so the task must be executed elsewhere."""


class Processes:
    """Executes tasks in processes of this machine."""

    is_remote = False

    def __init__(self, count: int, warn: Callable[[str], object] = lambda _text: None) -> None:
        """Start at most this number of processes. This process may have threads and an open database, so the new processes are not forked from it.

        Args:
            count: the number of processes.
            warn: called once, with a warning, if the system cannot start a process.
        """
        from pebble import ProcessPool

        start = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"  # Windows has only "spawn".
        if start == "forkserver":
            multiprocessing.set_forkserver_preload(["tacholog.store.preloaded"])
        self.processes = count
        self._pool = ProcessPool(max_workers=count, initializer=_redirect_output, context=multiprocessing.get_context(start))
        self.is_lost = False  #: whether the system failed to start a process
        try:
            self._pool.schedule(os.getpid).result(_START_S)
        except Exception as error:  # noqa: BLE001 - whatever keeps the system from starting a process
            self.is_lost = True
            why = f"the system starts no further process ({' '.join(str(error).split())[:100]})"
            warn(f"{why}: some logs are read in this process, where a log that hangs stops everything")

    def submit(self, task: Callable[[], _Result], timeout_s: float) -> Future[_Result]:
        """Execute a task in one of the processes."""
        future: Future[_Result]
        try:
            future = self._pool.schedule(task, timeout=timeout_s)
        except (RuntimeError, OSError) as error:
            self.is_lost = True
            future = Future()
            future.set_exception(PoolLost(str(error)))
        return future

    def close(self) -> None:
        """End all processes."""
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()


def _redirect_output() -> None:
    """Redirect the output of formats to standard error, because standard output is for the output of the command."""
    os.dup2(2, 1)


class Cluster:
    """Executes tasks on the workers of a Dask cluster.

    If a worker ends because of a task, Dask tries the task on a few other workers. If these end too, the task fails with an exception. Other tasks
    that waited for these workers also fail with an exception. The caller must submit these tasks again.
    """

    is_remote = True

    def __init__(self, address: str, warn: Callable[[str], object] = lambda _text: None) -> None:
        """Connect to the scheduler.

        Args:
            address: the address of the scheduler.
            warn: called once, with a warning, if the cluster is lost.

        Raises:
            TachologError: no scheduler answers at the address, it has no workers, or the extra ``cluster`` is not installed.
        """
        require("cluster", "--cluster")
        distributed: Any = import_module("distributed")  # The package has types only in part.
        try:
            self._client = distributed.Client(address, timeout=_CONNECT_S, set_as_default=False)
            self._client.wait_for_workers(1, timeout=_CONNECT_S)
        except (OSError, ValueError) as error:  # A TimeoutError is an OSError too, so it is handled here.
            raise TachologError(f"--cluster {address}: no scheduler of a Dask cluster with workers answers there: {error}") from error
        self._address, self._warn = address, warn
        self._lock = threading.Lock()
        self._waiting: dict[Future[Any], Any] = {}
        self._why_lost: str | None = None
        self._is_closed = threading.Event()
        self.processes: int = sum(self._client.nthreads().values())
        threading.Thread(target=self._give_up_without_workers, daemon=True).start()

    def submit(self, task: Callable[[], _Result], timeout_s: float) -> Future[_Result]:
        """Execute a task on one of the workers."""
        answer: Future[_Result] = Future()
        why_lost, sent = self._why_lost, None
        try:
            sent = None if why_lost else self._client.submit(_execute_within, task, timeout_s, pure=False)
        except Exception as error:  # noqa: BLE001 - Dask has many exceptions for a scheduler that went away
            why_lost = str(error)
        with self._lock:
            why_lost = why_lost or self._why_lost  # If the cluster was lost in the meantime, this future must be completed here.
            if sent and not why_lost:
                self._waiting[answer] = sent
        if sent and not why_lost:
            sent.add_done_callback(lambda sent_future: self._answer(answer, sent_future))
        else:
            answer.set_exception(PoolLost(why_lost))
        return answer

    def _answer(self, answer: Future[Any], sent_future: Any) -> None:  # noqa: ANN401 - a future of Dask
        result: Any = None
        error: Exception | None = None
        try:
            result = sent_future.result()
        except Exception as raised:  # noqa: BLE001 - whatever the task or Dask raises
            # If the scheduler is lost, all tasks that waited for it are cancelled. It is not queried then, because that takes long.
            is_lost = type(raised).__name__.endswith("CancelledError") or not self._has_workers()
            error = PoolLost(str(raised)) if is_lost else raised
        with self._lock:  # The future is removed only now. Until now, `_give_up` could complete it.
            if self._waiting.pop(answer, None) is None:
                return
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)

    def _has_workers(self) -> bool:
        try:
            return bool(self._client.nthreads())
        except Exception:  # noqa: BLE001 - Dask has many exceptions for a scheduler that went away
            return False

    def _give_up_without_workers(self) -> None:
        seen_s = time.monotonic()
        while not self._is_closed.wait(_LOOK_S):
            if self._has_workers():
                seen_s = time.monotonic()
            elif time.monotonic() - seen_s >= _WITHOUT_WORKERS_S:
                self._give_up(f"had no workers for {_WITHOUT_WORKERS_S:g} seconds")
                return

    def _give_up(self, why: str) -> None:
        self._warn(f"--cluster {self._address}: the cluster {why}; the remaining logs are read on this machine")
        with self._lock:
            self._why_lost = why
            waiting, self._waiting = [*self._waiting], {}
        for answer in waiting:
            answer.set_exception(PoolLost(why))

    def close(self) -> None:
        """Disconnect from the cluster."""
        self._is_closed.set()
        self._client.close()  # The thread of `_give_up_without_workers` is not joined, because it may wait for a lost scheduler.


_one_at_a_time = threading.Lock()


def _execute_within(task: Callable[[], _Result], timeout_s: float) -> _Result:
    """Execute a task on a worker of a cluster. If the task takes too long, a signal ends the worker, and Dask starts a new worker."""
    with _one_at_a_time:
        signal.alarm(max(1, round(timeout_s)))
        try:
            return task()
        finally:
            signal.alarm(0)


_WORTH_PROCESSES = 300, 10_000_000  # Limits for the number and the bytes of logs: reading fewer logs takes less time than starting processes.


class LogCount(msgspec.Struct):
    """The number of logs whose results came from the cache, and the number of logs that were read."""

    cached: int = 0
    read: int = 0


class Work:
    """The pools that read logs, and the cache for the results."""

    def __init__(
        self,
        jobs: int = 1,
        cluster: str | None = None,
        *,
        cache: Cache | None = None,
        progress: Callable[[int, int], object] | None = None,
        text_read: Callable[[str, int], object] = lambda _log, _count: None,
        warned: Callable[[str], object] = lambda _text: None,
    ) -> None:
        """Prepare to read. Pools are started when they are needed.

        Args:
            jobs: the number of processes; 1 means that only this process reads.
            cluster: the address of the scheduler of a Dask cluster, if its workers read the logs.
            cache: the cache; ``None`` for the cache of the user.
            progress: called with the number of runs that were read so far, and the number of all runs.
            text_read: called with the name of the log that is read, and the number of bytes that are read next.
            warned: called with a warning if something cannot be done as the user asked.
        """
        self.tally = LogCount()
        self.cache = open_cache() if cache is None else cache
        self.parts = Parts(self.cache.parts)
        self.text_read = text_read
        self.tell: Callable[[int, int], object] = progress or (lambda _done, _total: None)
        self._jobs, self._cluster, self._warned = jobs, cluster, warned
        self._pools: dict[str, Pool] = {}
        if self.cache.path and self.cache.refused:
            warned(refused_words(self.cache.path, self.cache.refused))
        elif self.cache.path and self.cache.is_of_others():
            warned(others_file_words(self.cache.path))

    def end_pools(self) -> None:
        """End all processes that were started."""
        for pool in self._pools.values():
            pool.close()
        self._pools = {}

    def pool_for(self, logs: int, size_bytes: int, *, is_local: bool = False, are_alone: bool = False) -> Pool | None:
        """Return the pool that reads these logs; ``None`` if this process reads them itself.

        This process reads small and few logs itself. It also reads the logs of a single run itself: if reading them fails, no other run is affected.

        Args:
            logs: the number of logs.
            size_bytes: the total size of the logs.
            is_local: whether the logs must be read on this machine.
            are_alone: whether the command reads only one run, and these are its logs.
        """
        if self._cluster and not is_local:
            return self._pool("cluster", lambda: Cluster(str(self._cluster), self._warned))
        if self._jobs > 1 and not are_alone and (logs >= _WORTH_PROCESSES[0] or size_bytes >= _WORTH_PROCESSES[1]):
            pool = self._pool("processes", lambda: Processes(self._jobs, self._warned))
            return None if getattr(pool, "is_lost", False) else pool
        return None

    def _pool(self, name: str, make: Callable[[], Pool]) -> Pool:
        if name not in self._pools:
            self._pools[name] = make()
        return self._pools[name]


def all_cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
