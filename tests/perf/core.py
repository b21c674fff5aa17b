"""The transports of perftest compared with hand-written loops, measured in the same run, and with other tools.

The hand-written loops are in ``bench/perf/floor.cpp``. Their figures are named "bare". A hand-off is the transfer of a cache line from one process to
another. Its time is the lower limit for shared memory.

A goal compares equal work. The transport ``shm`` copies each payload, so its goal refers to the bare ring that copies payloads too. Another row
compares ``shm`` with the bare ring without copies. It has no goal, but shows how long a copy takes.

A virtual machine may get other processors at any time. Then a hand-off takes 230 ns instead of 60 ns, for example. So each round measures the
reference of a figure directly before the figure. If the time of a hand-off has changed afterwards, both are measured again. A row shows the round
with the median ratio.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perf_figures import Best, Failed, Figure, best, floor, options, perftest, transports
from perf_libraries import LIBRARY_BYTES
from perf_parity import parity_rows
from perf_peers import DDS_BYTES, peer_figures
from perf_subscribers import subscriber_rows
from perf_table import Effort, Goal, LeftOut, Row, Unit

SHARED = (64, 1024, 16384, 65536, 1048576, 4194304)
DATAGRAMS = (32, 1024, 8192, 63000)
WAYS = {"busy": "", "blocking": " --wait block", "spin-then-block": " --wait spin-then-block"}
BATCHED_TCP = {64: 5e6, 1024: 2e6, 65536: 92e3}  # The goals in messages per second, for each message size. They are the same for all machines.
RINGS = {"bare ring": ("ring-1", "ring-8"), "bare copying-ring": ("copying-ring-1", "copying-ring-8")}
SAME_HOST = " --set congestion=reno"  # All kernels have reno. BBR would delay packets, so the rate on one host would be only half as high.
UNREAD = " --touch none"  # Over sockets, payloads are neither written nor read, as in the bare loops, sockperf, qperf and iperf3.
HAND_OFF_S = 0.03  # How long the hand-off time is measured. It depends on the two processors that the machine has at the moment.
MOVED = 0.25
TRIES = 3
TURNS = 2  # The time to wake a sleeping processor can change from 35 us to 50 us within a second. So a cell and its references are measured in turns.
UNTOUCHED = (64, 4194304, 33554432)
# For each cell and size: the figures of the cell and of its references, which are measured directly before the cell.
Round = dict[tuple[str, int], Best]


class Cell(NamedTuple):
    """A configuration of perftest: the name of its figures, its arguments, and the message sizes."""

    name: str
    arguments: str
    sizes: tuple[int, ...]

    @property
    def transport(self) -> str:
        return self.arguments.split("--transport ")[1].split()[0]

    def missing(self) -> str | None:
        """The reason why this build cannot run the cell, or None."""
        if self.transport not in transports():
            return f"this build has no transport {self.transport}"
        unknown = [word for word in self.arguments.split() if word.startswith("--") and word not in options()]
        return f"perftest has no {unknown[0]}" if unknown else None


def latency_cells() -> Iterator[Cell]:
    """Yield the cells for round trips of each transport with each kind of waiting."""
    for way, option in WAYS.items():
        for transport in ("shm", "shm-zero-copy"):
            yield Cell(f"{transport} {way}", f"--test latency --transport {transport}{option}", SHARED if way == "busy" else (64,))
        if way != "spin-then-block":
            yield Cell(f"udp {way}", f"--test latency --transport udp{option}{UNREAD}", DATAGRAMS)
            yield Cell(f"tcp {way}", f"--test latency --transport tcp{option}{UNREAD}{SAME_HOST}", DATAGRAMS)
    yield Cell("shm-zero-copy untouched", "--test latency --transport shm-zero-copy --touch none", UNTOUCHED)
    for transport, sizes in (("inter-thread", (64, 1024)), ("uds", (64, 1024)), ("udp-reliable", DDS_BYTES), ("udp-multicast", DDS_BYTES)):
        yield Cell(f"{transport} busy", f"--test latency --transport {transport}", sizes)
    for transport in ("udp-reliable", "udp-multicast"):
        yield Cell(f"{transport} blocking", f"--test latency --transport {transport} --wait block", DDS_BYTES[:2])


def rate_cells() -> Iterator[Cell]:
    """Yield the cells for rates at the maximum speed that flow control allows."""
    for transport in ("shm", "shm-zero-copy", "inter-thread"):
        yield Cell(f"{transport} rate", f"--test throughput --transport {transport}", (64, 1024, 65536, 1048576))
    yield Cell("udp rate", f"--test throughput --transport udp{UNREAD}", (64, 1024, 63000))
    yield Cell("tcp rate", f"--test throughput --transport tcp{UNREAD}{SAME_HOST}", (64, 1024, 65536))
    yield Cell("udp batched rate", f"--test throughput --transport udp --batch-bytes 60KiB{UNREAD}", (64, 1024))
    yield Cell("tcp batched rate", f"--test throughput --transport tcp --batch-bytes 256KiB{UNREAD}{SAME_HOST}", (64, 1024, 65536))
    for transport in ("udp-reliable", "udp-multicast"):
        yield Cell(f"{transport} rate", f"--test throughput --transport {transport}{UNREAD}", (64, 1024, 63000))


class Wish(NamedTuple):
    """A figure, its reference figure, and the goal for their ratio."""

    what: tuple[str, int, str]
    beside: tuple[str, int, str]
    goal: Goal | None


def at_most(factor: float) -> Goal:
    return Goal("<=", factor)


def at_least(factor: float) -> Goal:
    return Goal(">=", factor)


def shared_memory_wishes() -> Iterator[Wish]:
    line, wake = ("bare line", 8, "p50"), ("bare futex", 4, "p50")
    for transport, ring in (("shm", "bare copying-ring"), ("shm-zero-copy", "bare ring")):
        yield Wish((f"{transport} busy", 64, "p50"), line, at_most(1.7))
        for size in SHARED:
            yield Wish((f"{transport} busy", size, "p50"), (ring, size, "p50"), at_most(1.15 if size > SHARED[0] else 1.05))
        for size in (64, 1024, 16384, 65536):
            yield Wish((f"{transport} busy", size, "p99"), (f"{transport} busy", size, "p50"), at_most(2))
            yield Wish((f"{transport} busy", size, "p99"), (f"{ring}-8-p99", size, "p99"), None)  # p99 of the bare ring, for comparison.
        yield Wish((f"{transport} blocking", 64, "p50"), wake, at_most(1.25))
        yield Wish((f"{transport} spin-then-block", 64, "p50"), (f"{transport} busy", 64, "p50"), at_most(1.1))
        for size, factor in ((64, 0.5), (1024, 0.8), (65536, 0.9), (1048576, 0.9)):
            yield Wish((f"{transport} rate", size, "rate"), (f"{ring}-rate", size, "rate"), at_least(factor))
    # For each size, the first row shows how long a copy takes. The second row shows how much slower two topics are than one buffer.
    for size in SHARED:
        yield Wish(("shm busy", size, "p50"), ("bare ring", size, "p50"), None)
        yield Wish(("shm-zero-copy busy", size, "p50"), ("bare one-buffer", size, "p50"), None)
    for size in (64, 1024, 65536, 1048576):
        yield Wish(("shm rate", size, "rate"), ("bare ring-rate", size, "rate"), None)
    yield Wish(("shm-zero-copy untouched", 64, "p50"), line, at_most(2))
    for size in UNTOUCHED[1:]:
        yield Wish(("shm-zero-copy untouched", size, "p50"), ("shm-zero-copy untouched", 64, "p50"), at_most(1.15))
    for size in (64, 1024):
        yield Wish(("inter-thread busy", size, "p50"), ("shm-zero-copy busy", size, "p50"), at_most(1))


def library_wishes() -> Iterator[Wish]:
    """Yield goals for shared memory: first for latency, then for rates. The references are libraries.

    These libraries are not alike: for example, Fast DDS copies the payload of each message, but iceoryx does not.
    """
    for size in LIBRARY_BYTES:
        for transport in ("shm", "shm-zero-copy"):
            yield Wish((f"{transport} busy", size, "p50"), ("iceoryx", size, "p50"), at_most(1))
    for library in ("zeromq", "nng", "fastdds"):
        yield Wish(("shm blocking", 64, "p50"), (library, 64, "p50"), at_most(1))
    for size in LIBRARY_BYTES:
        for library in ("zeromq", "nng", "iceoryx", "fastdds"):
            yield Wish(("shm rate", size, "rate"), (f"{library}-rate", size, "rate"), at_least(1))


def latency_wishes(protocol: str, way: str) -> Iterator[Wish]:
    """Yield the goals for the latency of a protocol over sockets.

    The reference of each row is a program with bare sockets. Rows for other tools, such as sockperf, are only shown, so they have no goal.
    """
    for size in DATAGRAMS:
        bare = (f"bare {protocol}-{way}", size, "p50")
        yield Wish((f"{protocol} {way}", size, "p50"), bare, at_most(1.1))
        yield Wish((f"sockperf {protocol} {way}", size, "p50"), bare, None)
        if way == "blocking":
            yield Wish((f"qperf {protocol}", size, "mean"), bare, None)


def rate_wishes() -> Iterator[Wish]:
    """The goals for messages per second over sockets."""
    for size in (64, 1024, 63000):
        for peer in ("iperf3 udp", "qperf udp", "bare udp-blocking-rate"):
            yield Wish(("udp rate", size, "rate"), (peer, size, "rate"), at_least(1))
        for transport in ("udp-reliable", "udp-multicast"):
            yield Wish((f"{transport} rate", size, "rate"), ("udp rate", size, "rate"), at_least(0.7))
    for size, factor in ((64, 10), (1024, 5)):
        yield Wish(("udp batched rate", size, "rate"), ("iperf3 udp", size, "rate"), at_least(factor))
        yield Wish(("udp batched rate", size, "rate"), ("udp rate", size, "rate"), None)
        yield Wish(("udp batched rate", size, "rate"), ("bare udp-segmented-rate", size, "rate"), None)
    for size in (64, 1024, 65536):
        yield Wish(("tcp batched rate", size, "rate"), ("tcp rate", size, "rate"), None)
        # The rate of the bare loops is 0.4 or 2.4 million messages per second by chance: the kernel may merge small messages before they are read.
        yield Wish(("tcp rate", size, "rate"), ("bare tcp-blocking-rate", size, "rate"), at_least(1))
        yield Wish(("tcp rate", size, "rate"), ("qperf tcp", size, "rate"), None)


def reliable_wishes() -> Iterator[Wish]:
    """Yield the goals for reliable messages over UDP. The references are two DDS libraries.

    Fast DDS writes and reads its payloads, as perftest does.
    """
    for transport in ("udp-reliable", "udp-multicast"):
        for size in DDS_BYTES:
            for way in ("busy", "blocking"):  # The kinds of waiting that both DDS libraries have.
                for peer in ("ddsperf", "fastdds-udp"):
                    yield Wish((f"{transport} {way}", size, "p50"), (peer, size, "p50"), at_most(1))
            for peer in ("ddsperf", "fastdds-udp-rate"):
                yield Wish((f"{transport} rate", size, "rate"), (peer, size, "rate"), None)


def wishes() -> Iterator[Wish]:
    """All goals, in the order of the table."""
    yield from shared_memory_wishes()
    yield from library_wishes()
    for protocol in ("udp", "tcp"):
        for way in ("busy", "blocking"):
            yield from latency_wishes(protocol, way)
    yield from rate_wishes()
    yield from reliable_wishes()


def before(cell: Cell, size: int) -> list[str]:
    """Return the hand-written loops that are measured directly before a cell, as arguments of ``bench/perf/floor``.

    These loops are the references of the cell whose names begin with "bare".
    """
    besides = dict.fromkeys(wish.beside[:2] for wish in wishes() if wish.what[:2] == (cell.name, size) and wish.beside[0].startswith("bare "))
    return [f"{name}:{of_size}" for what, of_size in besides for name in RINGS.get(what, (what.removeprefix("bare "),))]


def with_best_ring(figures: Best) -> Best:
    """Return the figures, with added figures of the best ring. For each size, the best ring has the figure of the fastest kind of ring."""
    found = dict(figures)
    for ring, kinds in RINGS.items():
        for size in SHARED:
            values = [figures[key] for kind in kinds if (key := (f"bare {kind}", size, "p50")) in figures]
            if values:
                found[ring, size, "p50"] = min(values)
    return found


def hand_off_ns() -> float:
    return next(floor(HAND_OFF_S, "line:8")).value


def together(effort: Effort, cell: Cell, size: int) -> Best:
    """Measure the references of a cell and then the cell, and return the best figures.

    The time of a hand-off is measured before and after these measurements. If the two times differ too much, all measurements are repeated.

    Raises:
        Failed: a program could not be run, or the time of a hand-off differed in each attempt.
    """
    for _ in range(TRIES):
        before_ns = hand_off_ns()
        found: list[Figure] = []
        for _ in range(TURNS):
            found += [figure for what in before(cell, size) for figure in floor(effort.seconds, what)]
            found += perftest(cell.name, cell.arguments, size, effort.seconds)
        if abs(hand_off_ns() - before_ns) <= MOVED * before_ns:
            return with_best_ring(best(found))
    raise Failed(f"in each of {TRIES} tries the processors moved: a hand-off took more than {MOVED:.0%} longer or shorter afterwards")


def one_round(effort: Effort, left_out: dict[str, str]) -> Round:
    """Measure all cells, each after its references. Each size is a separate process, so that a failure affects only this size."""
    figures: Round = {}
    for cell in (*latency_cells(), *rate_cells()):
        if why := cell.missing():
            left_out[cell.name] = why
            continue
        for size in cell.sizes:
            try:
                figures[cell.name, size] = together(effort, cell, size)
            except Failed as failed:
                left_out[f"a round of {cell.name} {size} B"] = str(failed)
    return figures


def in_round(wish: Wish, figures: Round, peers: Best) -> tuple[float, float] | None:
    """Return the figure of a wish and its reference in one round; None if one of them is missing.

    References from other tools are not measured in each round, but only once. Therefore, they are in ``peers``.
    """
    own = figures.get(wish.what[:2], {})
    others = (own, figures.get(wish.beside[:2], {}), peers)
    reference = next((found[wish.beside] for found in others if wish.beside in found), None)
    return None if wish.what not in own or reference is None else (own[wish.what], reference)


def row(wish: Wish, rounds: Sequence[Round], peers: Best) -> Row | None:
    """Return a row with a figure and its reference, from the round with the median ratio; None if no round has both."""
    pairs = sorted((pair for figures in rounds if (pair := in_round(wish, figures, peers))), key=lambda pair: pair[0] / pair[1])
    if not pairs:
        return None
    value, reference = pairs[len(pairs) // 2]
    name, size, statistic = wish.what
    other, other_size, other_statistic = wish.beside
    unit: Unit = "/s" if statistic == "rate" else "ns"
    beside = other if other_size == size or other.startswith("bare ") else f"{other} {other_size} B"
    if other_statistic != statistic:
        beside = f"{beside} {other_statistic}"
    return Row(f"{name} {size} B {statistic}", value, unit, beside, reference, wish.goal)


def absolute_rows(figures: Best) -> Iterator[Row]:
    """Yield the rows that are not compared with another figure: shares of lost messages, and rates with a fixed target."""
    for (what, size, statistic), value in sorted(figures.items()):
        if what in ("udp rate", "udp batched rate") and statistic == "loss":
            yield Row(f"{what} {size} B loss", value, "ratio", "everything", 1, at_most(0.01) if what == "udp rate" else None)
        if what == "tcp batched rate" and statistic == "rate":
            yield Row(f"{what} {size} B rate", value, "/s", "aim", BATCHED_TCP[size], at_least(1))


def measure(effort: Effort) -> Iterator[Row | LeftOut]:
    """Yield all rows, then the figures that could not be measured."""
    left_out: dict[str, str] = {}
    peers, without = peer_figures()
    rounds = [one_round(effort, left_out) for _ in range(effort.rounds)]
    found = (row(wish, rounds, best(peers)) for wish in wishes())
    yield from (each for each in found if each is not None)
    yield from absolute_rows(best(Figure(*key, value) for figures in rounds for cell in figures.values() for key, value in cell.items()))
    yield from parity_rows(effort)
    yield from subscriber_rows(effort)
    for name, why in {**left_out, **without}.items():
        yield LeftOut(name, why)
