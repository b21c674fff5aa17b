"""Round trips and rates of other libraries between two processes of this host, from the programs of ``bench/perf/peers``."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perf_figures import BUILD, Figure, floor_lines, run

LIBRARY_BYTES = (64, 1024, 65536, 1048576)
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108
SECONDS = "0.5"


def program(library: str) -> str:
    """The program of a library; it is built where the library is installed."""
    return str(BUILD / f"perf/peer-{library}")


def library_figures(library: str, sizes: tuple[int, ...] = LIBRARY_BYTES) -> Iterator[Figure]:
    """Half round trips in ns, and messages a second."""
    with nothing_left_behind():
        for size in sizes:
            for what in ("latency", "rate"):
                yield from floor_lines("", run([program(library), SECONDS, what, str(size)]))


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """The peer that is killed cannot take its shared memory along."""
    there = set(SHARED_MEMORY.iterdir())
    yield
    for file in set(SHARED_MEMORY.iterdir()) - there:
        if file.name.startswith(("fastrtps_", "sem.fastrtps_", "fast_datasharing_")) or file.name in {"iceoryx_mgmt", getpass.getuser()}:
            file.unlink(missing_ok=True)
