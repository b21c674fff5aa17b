"""Who reads the logs of a dataset, and where what they give is kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tacholog.store.cache import Cache, open_cache, others_file_words, refused_words
from tacholog.store.fetch import Fetching, LogCount
from tacholog.store.file_digests import digests_in
from tacholog.store.logs import Limits, Progress
from tacholog.store.parts import Parts
from tacholog.store.pool import Cluster, Here, Pool, Processes

_WORTH_PROCESSES = 300, 2_000_000  # Logs, bytes. A process takes a third of a second to start.


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

    @contextmanager
    def fetching(self, limits: Limits | None = None, progress: Progress | None = None) -> Iterator[Fetching]:
        """Fetch runs. At the end, all processes that were started for it are ended."""
        fetching = Fetching(self.cache, self.parts, self.pool_for, limits, progress, self.tally)
        try:
            yield fetching
        finally:
            digests_in(self.cache).flush()
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
