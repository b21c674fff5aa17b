"""The workers of a Dask cluster as readers of logs.

A worker gets logs as bytes, so that it need not see the folders of the one who asks. It reads them in a process of its own (`Pool`): a log that hangs
its reader costs the cluster nothing. What was given to a worker that is lost is given to another one by Dask.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from tacholog.dataset.work.pool import Pool
from tacholog.dataset.work.tasks import Heard, LogTask
from tacholog.errors import TachologError
from tacholog.extras import require

_CONNECT_S = 20


class Cluster:
    """Reads logs on the workers of a cluster."""

    def __init__(self, address: str) -> None:
        """Connect to the scheduler.

        Raises:
            TachologError: nothing answers at the address, or the extra ``cluster`` is not installed.
        """
        require("cluster", "--cluster")
        from distributed import Client

        try:
            self._client = Client(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise TachologError(f"--cluster {address}: no scheduler of a Dask cluster answers there: {error}") from error
        self._here: Pool | None = None

    def submit(self, tasks: Sequence[LogTask], heard: Heard) -> Future[list[bytes]]:
        """Read these logs on one of the workers; here those that are too large to be sent."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave the cluster."""
        self._client.close()
        if self._here:
            self._here.close()
