"""Figures of other tools on the same path, if their Debian packages are installed; read by our own parsers."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from perf_figures import Failed, Figure, figures_of, records, run
from perf_libraries import LIBRARY_BYTES, is_built, library_figures

LATENCY_BYTES = (32, 1024, 8192, 63000)
RATE_BYTES = (64, 1024, 63000)
DDS_BYTES = (64, 1024, 16384, 65536, 1048576)
ACTIVE, PASSIVE = ["taskset", "--cpu-list", "0"], ["taskset", "--cpu-list", "1"]  # perftest and the hand-written loops also run on these processors.
# By default, Cyclone DDS finds its peers by multicast on a network. This file lists the peers instead.
DDS_HOME = """<CycloneDDS><Domain>
<General><Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces><AllowMulticast>false</AllowMulticast></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><Peers><Peer Address="127.0.0.1"/></Peers></Discovery>
</Domain></CycloneDDS>"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@contextmanager
def beside(command: list[str]) -> Iterator[None]:
    """Run the other side of a tool while the context is open."""
    other = subprocess.Popen([*PASSIVE, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.4)
        if other.poll() is not None:
            raise Failed(f"`{' '.join(command)}` ended at once")
        yield
    finally:
        other.kill()
        other.wait()


def of_log(log: bytes, format_name: str, what: str, payload_bytes: int) -> Iterator[Figure]:
    for record in records(log, format_name):
        yield from figures_of(record, what, payload_bytes)


def qperf() -> Iterator[Figure]:
    """Yield the mean latencies and the rates of qperf. While qperf waits, it sleeps, unless the kernel polls."""
    port = str(free_port())
    with beside(["qperf", "-lp", port]):
        client = ["qperf", "127.0.0.1", "-lp", port, "-t", "1", "-uu", "-m"]
        for size in LATENCY_BYTES:
            for protocol in ("udp", "tcp"):
                yield from of_log(run([*ACTIVE, *client, str(size), f"{protocol}_lat"]), "qperf", f"qperf {protocol}", size)
        for size in RATE_BYTES:
            for protocol in ("udp", "tcp"):
                yield from of_log(run([*ACTIVE, *client, str(size), f"{protocol}_bw"]), "qperf", f"qperf {protocol}", size)


def sockperf() -> Iterator[Figure]:
    """Yield latencies, with sleeping and with polling sides. A latency is half of the time of a round trip."""
    for protocol, tcp in (("udp", []), ("tcp", ["--tcp"])):
        for waiting, nonblocked in (("blocking", []), ("busy", ["--nonblocked"])):
            address = ["-i", "127.0.0.1", "-p", str(free_port()), *tcp, *nonblocked]
            with beside(["sockperf", "server", *address]):
                for size in LATENCY_BYTES:
                    log = run([*ACTIVE, "sockperf", "ping-pong", *address, "-t", "1", "-m", str(size)])
                    yield from of_log(log, "sockperf", f"sockperf {protocol} {waiting}", size)


def iperf3() -> Iterator[Figure]:
    """Yield the rates that the server received."""
    for protocol, udp in (("udp", ["-u"]), ("tcp", [])):
        port = str(free_port())
        with beside(["iperf3", "--server", "--bind", "127.0.0.1", "--port", port]):
            for size in RATE_BYTES:
                log = run([*ACTIVE, "iperf3", "--client", "127.0.0.1", "--port", port, *udp, "-b", "0", "-l", str(size), "-t", "1"])
                yield from of_log(log, "iperf3", f"iperf3 {protocol}", size)


def ddsperf() -> Iterator[Figure]:
    """Yield figures of Cyclone DDS over UDP: the latency of round trips, and the rate at maximum speed."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "cyclonedds.xml"
        home.write_text(DDS_HOME, encoding="utf-8")
        os.environ["CYCLONEDDS_URI"] = f"file://{home}"
        for size in DDS_BYTES:
            with beside(["ddsperf", "pong"]):
                yield from of_log(run([*ACTIVE, "ddsperf", "-D", "2", "ping", "size", str(size)]), "ddsperf", "ddsperf", size)
            with beside(["ddsperf", "pub", "size", str(size)]):
                yield from of_log(run([*ACTIVE, "ddsperf", "-D", "3", "sub"]), "ddsperf", "ddsperf", size)


class Peer(NamedTuple):
    """A tool or library: its measurement, whether it is installed, and its Debian package."""

    measure: Callable[[], Iterator[Figure]]
    is_here: Callable[[], bool]
    package: str


def of_tool(measure: Callable[[], Iterator[Figure]], program: str, package: str) -> Peer:
    return Peer(measure, lambda: shutil.which(program) is not None, package)


def of_library(name: str, package: str, sizes: tuple[int, ...] = LIBRARY_BYTES) -> Peer:
    return Peer(lambda: library_figures(name, sizes), lambda: is_built(name), package)


PEERS = {
    "qperf": of_tool(qperf, "qperf", "qperf"),
    "sockperf": of_tool(sockperf, "sockperf", "sockperf"),
    "iperf3": of_tool(iperf3, "iperf3", "iperf3"),
    "ddsperf": of_tool(ddsperf, "ddsperf", "cyclonedds-tools"),
    "zeromq": of_library("zeromq", "libzmq3-dev"),
    "nng": of_library("nng", "libnng-dev"),
    "iceoryx": of_library("iceoryx", "iceoryx libiceoryx-posh-dev"),
    "fastdds": of_library("fastdds", "libfastrtps-dev"),
    "fastdds-udp": of_library("fastdds-udp", "libfastrtps-dev", DDS_BYTES),
}


def peer_figures() -> tuple[list[Figure], dict[str, str]]:
    """Return the figures of the installed peers, and the reasons why the figures of other peers are missing."""
    figures: list[Figure] = []
    left_out: dict[str, str] = {}
    for name, peer in PEERS.items():
        if not peer.is_here():
            left_out[name] = f"not installed (Debian: {peer.package})"
            continue
        try:
            figures.extend(peer.measure())
        except Failed as failed:
            left_out[name] = str(failed)
    return figures, left_out
