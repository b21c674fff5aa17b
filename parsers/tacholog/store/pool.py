"""Who does the work: this process, several processes, or the workers of a Dask cluster. All have one interface."""

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
_START_S = 300.0  # So long a process may take to start where the machine is busy.
_LOOK_S = 2.0  # So often it is looked whether a cluster has workers.
_WITHOUT_WORKERS_S = 30.0  # So long it may be without any: somebody may be starting them again.


class Pool(Protocol):
    """Does tasks."""

    @property
    def processes(self) -> int:
        """How many tasks it does at a time; 0: each at once, in this process."""

    @property
    def is_remote(self) -> bool:
        """Whether tasks are done on machines that have other files."""

    def submit(self, task: Callable[[], _Result], timeout_s: float) -> Future[_Result]:
        """Begin a task, which is ended after this time. A task that ends its process, or is ended, has an exception, and costs no other task."""

    def close(self) -> None:
        """Do no more tasks."""


class PoolLost(Exception):
    """No process is there any more, and none can be started. Others must do the task."""


class Here:
    """Does tasks in this process, at once. Nothing ends a task that hangs."""

    processes, is_remote = 0, False

    def submit(self, task: Callable[[], _Result], timeout_s: float) -> Future[_Result]:  # noqa: ARG002 - as all pools have it
        """Do a task now."""
        done: Future[_Result] = Future()
        done.set_result(task())
        return done

    def close(self) -> None:
        """Do nothing: there is nothing to end."""


class Processes:
    """Does tasks in processes of this machine."""

    is_remote = False

    def __init__(self, count: int, warn: Callable[[str], object] = lambda _text: None) -> None:
        """Start up to so many processes. They are not copies of this one, which may have threads and an open database.

        Args:
            count: how many.
            warn: is told, once, if the system starts no process.
        """
        from pebble import ProcessPool

        multiprocessing.set_forkserver_preload(["tacholog.store.preloaded"])
        self.processes = count
        self._pool = ProcessPool(max_workers=count, initializer=_begin, context=multiprocessing.get_context("forkserver"))
        self._why_lost = ""
        try:
            self._pool.schedule(os.getpid).result(_START_S)
        except Exception as error:  # noqa: BLE001 - whatever keeps the system from starting a process
            self._why_lost = " ".join(str(error).split())[:100]
            why = f"the system starts no further process ({self._why_lost})"
            warn(f"{why}: some logs are read in this one, where a log that hangs stops everything")

    @property
    def is_lost(self) -> bool:
        """Whether no process could be started."""
        return bool(self._why_lost)

    def submit(self, task: Callable[[], _Result], timeout_s: float) -> Future[_Result]:
        """Do a task in one of the processes."""
        future: Future[_Result]
        try:
            future = self._pool.schedule(task, timeout=timeout_s)
        except (RuntimeError, OSError) as error:
            self._why_lost = str(error)
            future = Future()
            future.set_exception(PoolLost(self._why_lost))
        return future

    def close(self) -> None:
        """End all processes."""
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()


def _begin() -> None:
    """Code of a format may print, and the output of a command is no place for it."""
    os.dup2(2, 1)


class Cluster:
    """Does tasks on the workers of a Dask cluster.

    Dask tries a task that ends its worker on a few others. Then the task has an exception, and so have tasks that waited on the same workers: whoever
    submitted them must do them again.
    """

    is_remote = True

    def __init__(self, address: str, warn: Callable[[str], object] = lambda _text: None) -> None:
        """Connect to the scheduler.

        Args:
            address: of the scheduler.
            warn: is told, once, that the cluster is lost.

        Raises:
            TachologError: no scheduler answers at the address, it has no workers, or the extra ``cluster`` is not installed.
        """
        require("cluster", "--cluster")
        distributed: Any = import_module("distributed")  # It comes with types for a part of it only.
        try:
            self._client = distributed.Client(address, timeout=_CONNECT_S, set_as_default=False)
            self._client.wait_for_workers(1, timeout=_CONNECT_S)
        except (OSError, ValueError) as error:  # TimeoutError is an OSError.
            raise TachologError(f"--cluster {address}: no scheduler of a Dask cluster with workers answers there: {error}") from error
        self._address, self._warn = address, warn
        self._lock = threading.Lock()
        self._waiting: dict[Future[Any], Any] = {}
        self._why_lost: str | None = None
        self._is_closed = threading.Event()
        self.processes: int = sum(self._client.nthreads().values())
        threading.Thread(target=self._watch, daemon=True).start()

    def submit(self, task: Callable[[], _Result], timeout_s: float) -> Future[_Result]:
        """Do a task on one of the workers."""
        answer: Future[_Result] = Future()
        why_lost, sent = self._why_lost, None
        try:
            sent = None if why_lost else self._client.submit(_within, task, timeout_s, pure=False)
        except Exception as error:  # noqa: BLE001 - Dask has many exceptions for a scheduler that went away
            why_lost = str(error)
        with self._lock:
            why_lost = why_lost or self._why_lost  # The cluster may have been given up just now: then nobody else answers.
            if sent and not why_lost:
                self._waiting[answer] = sent
        if sent and not why_lost:
            sent.add_done_callback(lambda found: self._answer(answer, found))
        else:
            answer.set_exception(PoolLost(why_lost))
        return answer

    def _answer(self, answer: Future[Any], found: Any) -> None:  # noqa: ANN401 - a future of Dask
        """Hand on what a worker gave."""
        with self._lock:
            if self._waiting.pop(answer, None) is None:
                return
        try:
            answer.set_result(found.result())
        except Exception as error:  # noqa: BLE001 - whatever the task or Dask raises
            # To ask a scheduler that is gone takes long, and all that waited for it is cancelled.
            is_lost = type(error).__name__.endswith("CancelledError") or not self._has_workers()
            answer.set_exception(PoolLost(str(error)) if is_lost else error)

    def _has_workers(self) -> bool:
        try:
            return bool(self._client.nthreads())
        except Exception:  # noqa: BLE001 - Dask has many exceptions for a scheduler that went away
            return False

    def _watch(self) -> None:
        """Give the cluster up when it has been without workers for too long."""
        seen_s = time.monotonic()
        while not self._is_closed.wait(_LOOK_S):
            if self._has_workers():
                seen_s = time.monotonic()
            elif time.monotonic() - seen_s >= _WITHOUT_WORKERS_S:
                self._give_up(f"had no workers for {_WITHOUT_WORKERS_S:g} seconds")
                return

    def _give_up(self, why: str) -> None:
        self._warn(f"--cluster {self._address}: the cluster {why}; the rest is read on this machine")
        with self._lock:
            self._why_lost = why
            waiting, self._waiting = [*self._waiting], {}
        for answer in waiting:
            answer.set_exception(PoolLost(why))

    def close(self) -> None:
        """Leave the cluster."""
        self._is_closed.set()
        self._client.close()  # Nobody waits for the watcher: it may ask a scheduler that is gone.


_one_at_a_time = threading.Lock()


def _within(task: Callable[[], _Result], timeout_s: float) -> _Result:
    """Do a task on a worker of a cluster. If it takes too long, the system ends the worker, whatever it does, and Dask starts another one."""
    with _one_at_a_time:
        signal.alarm(max(1, round(timeout_s)))
        try:
            return task()
        finally:
            signal.alarm(0)


_WORTH_PROCESSES = 300, 2_000_000  # Logs, bytes. A process takes a third of a second to start.


class LogCount(msgspec.Struct):
    """How many logs were taken from the cache, and how many were read."""

    kept: int = 0
    read: int = 0


class Work:
    """Who reads the logs, and where what they give is kept."""

    def __init__(
        self,
        jobs: int = 1,
        cluster: str | None = None,
        *,
        cache: Cache | None = None,
        told: Callable[[int, int], object] | None = None,
        warned: Callable[[str], object] = lambda _text: None,
    ) -> None:
        """Say who reads.

        Args:
            jobs: in how many processes; 1: in this one.
            cluster: the address of the scheduler of a Dask cluster whose workers read instead.
            cache: where entries are looked up and kept; ``None``: in the user's cache.
            told: is told how many runs of how many are done.
            warned: is told what goes otherwise than the user asked for.
        """
        self.tally = LogCount()
        self.cache = open_cache() if cache is None else cache
        self.parts = Parts(self.cache.parts)
        self._jobs, self._cluster, self._told, self._warned = jobs, cluster, told, warned
        self._pools: dict[str, Pool] = {}
        if self.cache.path and self.cache.refused:
            warned(refused_words(self.cache.path, self.cache.refused))
        elif self.cache.path and self.cache.is_of_others():
            warned(others_file_words(self.cache.path))

    def tell(self, done: int, total: int) -> None:
        """Tell how many runs are done."""
        if self._told:
            self._told(done, total)

    def end_pools(self) -> None:
        """End all processes that were started."""
        for pool in self._pools.values():
            pool.close()
        self._pools = {}

    def pool_for(self, logs: int, size_bytes: int, *, is_local: bool = False) -> Pool:
        """Return what reads so many logs. A few are read in this process.

        Args:
            logs: how many.
            size_bytes: the size of all of them.
            is_local: whether they are to be read on this machine.
        """
        if self._cluster and not is_local:
            return self._pool("cluster", lambda: Cluster(str(self._cluster), self._warned))
        if self._jobs > 1 and (logs >= _WORTH_PROCESSES[0] or size_bytes >= _WORTH_PROCESSES[1]):
            pool = self._pool("processes", lambda: Processes(self._jobs, self._warned))
            return Here() if getattr(pool, "is_lost", False) else pool
        return Here()

    def _pool(self, name: str, make: Callable[[], Pool]) -> Pool:
        if name not in self._pools:
            self._pools[name] = make()
        return self._pools[name]


def all_cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
