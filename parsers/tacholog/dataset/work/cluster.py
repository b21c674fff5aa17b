"""The workers of a Dask cluster as readers of logs.

A worker gets logs as bytes, so that it need not see the folders of the one who asks. It reads them in a process of its own (`Pool`): a log that hangs
its reader costs the cluster nothing. What was given to a worker that is lost is given to another one by Dask.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
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
_LOOK_S = 2.0  # So often it is looked whether there are workers while this machine waits for them.
_WITHOUT_WORKERS_S = 30.0  # So long a cluster may be without any: somebody may be starting them again.
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[LogTask]).decode


class Cluster:
    """Reads logs on the workers of a cluster."""

    def __init__(self, address: str, here: int, warn: Callable[[str], object] = lambda _text: None) -> None:
        """Connect to the scheduler.

        Args:
            address: of the scheduler.
            here: in how many processes of this machine logs are read that are too large to be sent, and those that the cluster gives back unread.
            warn: is told, once, that the cluster is lost, and as that of `Pool`.

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
        self._here = Pool(here, warned=warn)
        self._address, self._warn = address, warn
        self._is_lost = False
        self.processes: int = sum(self._client.nthreads().values())

    def submit(self, tasks: Sequence[LogTask], heard: Heard) -> Promise:
        """Read these logs on one of the workers; here if one is too large to be sent."""
        if self._is_lost or any(task.content is None for task in tasks):
            return self._here.submit(tasks, heard)
        sent = self._client.submit(read_on_worker, _encode(list(tasks)), pure=False)
        return _Sent(functools.partial(self._answer, sent), lambda: self._here.submit(tasks, heard).result())

    def _answer(self, sent: Any) -> tuple[str, list[bytes]] | None:  # noqa: ANN401 - a future of Dask
        """Wait for what a worker answers; ``None`` if the cluster does not answer any more."""
        seen_s = time.monotonic()
        while not self._is_lost:
            try:
                answer: tuple[str, list[bytes]] = sent.result(timeout=_LOOK_S)
            except TimeoutError:
                seen_s = time.monotonic() if self._has_workers() else seen_s
                if time.monotonic() - seen_s < _WITHOUT_WORKERS_S:
                    continue
                self._give_up(f"had no workers for {_WITHOUT_WORKERS_S:g} seconds")
            except Exception as error:  # noqa: BLE001 - the scheduler went away, or too many workers were lost; Dask has many exceptions for that
                if self._has_workers():
                    return None  # These logs alone: several workers were lost with them.
                self._give_up(f"is lost ({error})")
            else:
                return answer
        return None

    def _has_workers(self) -> bool:
        try:
            return bool(self._client.nthreads())
        except Exception:  # noqa: BLE001 - as above
            return False

    def _give_up(self, why: str) -> None:
        self._is_lost = True
        self._warn(f"--cluster {self._address}: the cluster {why}; the rest is read on this machine")

    def close(self) -> None:
        """Leave the cluster."""
        self._client.close()
        self._here.close()


class _Sent:
    """Logs that are being read on a worker."""

    def __init__(self, answer: Callable[[], tuple[str, list[bytes]] | None], read_here: Callable[[], list[ReadLogs]]) -> None:
        self._answer, self._read_here = answer, read_here

    def result(self) -> list[ReadLogs]:
        """Wait for the entries. If the cluster gives up, the logs are read here.

        Raises:
            TachologError: the workers have another version of Tacholog, whose entries would be different.
        """
        answer = self._answer()
        if answer is None:
            return list(self._read_here())
        version, packs = answer
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
