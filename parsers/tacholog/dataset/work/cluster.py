"""The workers of a Dask cluster as readers of logs.

A worker gets logs as bytes, so that it need not see the folders of the one who asks. It reads them in a process of its own (`Pool`): a log that hangs
its reader costs the cluster nothing. What was given to a worker that is lost is given to another one by Dask.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import msgspec

from tacholog.dataset.versions import detection_digest
from tacholog.dataset.work.entries import ReadLogs
from tacholog.dataset.work.pool import Pool
from tacholog.dataset.work.tasks import Heard, LogTask, Promise
from tacholog.errors import TachologError
from tacholog.extras import require

_CONNECT_S = 20
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[LogTask]).decode


class Cluster:
    """Reads logs on the workers of a cluster."""

    def __init__(self, address: str, here: int) -> None:
        """Connect to the scheduler.

        Args:
            address: of the scheduler.
            here: in how many processes of this machine logs are read that are too large to be sent, and those that the cluster gives back unread.

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
        self._here = Pool(here)
        self.processes: int = sum(self._client.nthreads().values())

    def submit(self, tasks: Sequence[LogTask], heard: Heard) -> Promise:
        """Read these logs on one of the workers; here if one is too large to be sent."""
        if any(task.content is None for task in tasks):
            return self._here.submit(tasks, heard)
        sent = self._client.submit(read_on_worker, _encode(list(tasks)), pure=False)
        return _Sent(sent, lambda: self._here.submit(tasks, heard).result())

    def close(self) -> None:
        """Leave the cluster."""
        self._client.close()
        self._here.close()


class _Sent:
    """Logs that are being read on a worker."""

    def __init__(self, future: Any, read_here: Any) -> None:  # noqa: ANN401 - a future of Dask, and a function
        self._future, self._read_here = future, read_here

    def result(self) -> list[ReadLogs]:
        """Wait for the entries. If the cluster gives up, the logs are read here.

        Raises:
            TachologError: the workers have another version of Tacholog, whose entries would be different.
        """
        try:
            version, packs = self._future.result()
        except Exception:  # noqa: BLE001 - the scheduler went away, or too many workers were lost; Dask has many exceptions for that
            return list(self._read_here())
        if version != detection_digest():
            raise TachologError("--cluster: the workers have another version of Tacholog, or other formats, than this machine")
        return [ReadLogs(content) for content in packs]


def read_on_worker(request: bytes) -> tuple[str, list[bytes]]:
    """Read logs on a worker. Return the version of what reads there, and what they gave in packs."""
    found = _pool().submit(_decode(request), lambda _place, _count: None).result()
    return detection_digest(), [read.content for read in found]


@functools.cache
def _pool() -> Pool:
    """Return the processes of this worker: as many as it has threads."""
    distributed: Any = import_module("distributed")
    return Pool(distributed.get_worker().state.nthreads)
