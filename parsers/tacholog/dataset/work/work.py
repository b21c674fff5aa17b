"""Who reads the logs of a dataset: this process, several processes, or the workers of a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tacholog.dataset.cache import Cache, open_cache, others_file_words, refused_words
from tacholog.dataset.file_digests import digests_in
from tacholog.dataset.logs import Limits, Progress
from tacholog.dataset.work.fetch import Fetching, LogCount
from tacholog.dataset.work.tasks import InThisProcess, Readers

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
        self._jobs, self._cluster, self._told, self._warned = jobs, cluster, told, warned
        self._readers: Readers | None = None
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
        """Fetch logs. At the end, all processes that were started for it are ended."""
        fetching = Fetching(self.cache, self._readers_for, limits, progress)
        try:
            yield fetching
        finally:
            digests_in(self.cache).flush()
            self.tally.kept += fetching.tally.kept
            self.tally.read += fetching.tally.read
            if self._readers:
                self._readers.close()
                self._readers = None

    def _readers_for(self, logs: int, size_bytes: int) -> Readers:
        """Return what reads so many logs. A few are read in this process."""
        if self._readers is None and self._cluster:
            from tacholog.dataset.work.cluster import Cluster

            self._readers = Cluster(self._cluster, self._jobs, self._warned)
        if self._readers is None and self._jobs > 1 and (logs >= _WORTH_PROCESSES[0] or size_bytes >= _WORTH_PROCESSES[1]):
            from tacholog.dataset.work.pool import Pool

            self._readers = Pool(self._jobs, warned=self._warned)
        return self._readers or InThisProcess()


def all_cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
