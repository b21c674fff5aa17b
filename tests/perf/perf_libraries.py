"""Round trips and rates of other libraries between two processes of this host: the adapters of perftest, if their packages are installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from perf_figures import Figure, perftest, transports

LIBRARY_BYTES = (64, 1024, 65536, 1048576)
SECONDS = 0.5


class Adapter(NamedTuple):
    """A transport of perftest with the options of its measurement.

    With them, no message is lost, and each side waits in the usual way of the library.
    """

    transport: str
    options: str


ADAPTERS = {
    "zeromq": Adapter("zeromq-ipc", "--wait block --set sockets=push-pull"),
    "nng": Adapter("nng-ipc", "--wait block --set sockets=push-pull"),
    "iceoryx": Adapter("iceoryx", "--wait busy-poll --set queue-full=wait"),
    "fastdds": Adapter("fastdds-shm", "--wait block"),
    "fastdds-udp": Adapter("fastdds-udp", "--wait block"),
}


def is_built(library: str) -> bool:
    return ADAPTERS[library].transport in transports()


def library_figures(library: str, sizes: tuple[int, ...] = LIBRARY_BYTES) -> Iterator[Figure]:
    """Yield latencies in ns, and rates in messages per second. A latency is half of the time of a round trip."""
    transport, options = ADAPTERS[library]
    for size in sizes:
        yield from perftest(library, f"--test latency --transport {transport} {options}", size, SECONDS)
        yield from perftest(f"{library}-rate", f"--test throughput --transport {transport} {options}", size, SECONDS)
