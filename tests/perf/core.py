"""perftest's transports beside the machine's floor, in the same run, and beside other tools.

L is a cache line handed from one process to another, F a futex wake; "bare" are loops by hand (``bench/perf/floor.cpp``).
A goal compares like with like: ``shm`` copies each payload, so its ring is the one that does; what the copy itself costs
is the row beside the other ring, which has no goal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from perf_figures import Best, Failed, Figure, best, floor, options, perftest, transports
from perf_peers import peer_figures
from perf_table import Effort, Goal, LeftOut, Row, Unit

SHARED = (64, 1024, 16384, 65536, 1048576, 4194304)
DATAGRAMS = (32, 1024, 8192, 63000)
WAYS = {"busy": "", "blocking": " --wait block", "spin-then-block": " --wait spin-then-block"}
BATCHED_TCP = {64: 5e6, 1024: 2e6, 65536: 92e3}  # messages a second that are aimed at, whatever the machine
RINGS = {"bare ring-1": "bare ring", "bare ring-8": "bare ring", "bare one-buffer": "bare ring"}
RINGS |= {"bare copying-ring-1": "bare copying-ring", "bare copying-ring-8": "bare copying-ring"}
UNTOUCHED = (64, 4194304, 33554432)


class Cell(NamedTuple):
    """A run of perftest: the name of its figures, its transport and options, its sizes."""

    name: str
    arguments: str
    sizes: tuple[int, ...]

    @property
    def transport(self) -> str:
        """The transport that it needs."""
        return self.arguments.split("--transport ")[1].split()[0]

    def missing(self) -> str | None:
        """Why this build cannot run it."""
        if self.transport not in transports():
            return f"this build has no transport {self.transport}"
        unknown = [word for word in self.arguments.split() if word.startswith("--") and word not in options()]
        return f"perftest has no {unknown[0]}" if unknown else None


def latency_cells() -> Iterator[Cell]:
    """Round trips, each transport in each way of waiting."""
    for way, option in WAYS.items():
        for transport in ("shm", "shm-zero-copy"):
            yield Cell(f"{transport} {way}", f"--test latency --transport {transport}{option}", SHARED if way == "busy" else (64,))
        if way != "spin-then-block":
            for transport in ("udp", "tcp"):
                yield Cell(f"{transport} {way}", f"--test latency --transport {transport}{option}", DATAGRAMS)
    yield Cell("shm-zero-copy untouched", "--test latency --transport shm-zero-copy --touch none", UNTOUCHED)
    for transport in ("inter-thread", "uds", "udp-reliable", "udp-multicast"):
        yield Cell(f"{transport} busy", f"--test latency --transport {transport}", (64, 1024))


def rate_cells() -> Iterator[Cell]:
    """As fast as flow control lets."""
    for transport in ("shm", "shm-zero-copy", "inter-thread"):
        yield Cell(f"{transport} rate", f"--test throughput --transport {transport}", (64, 1024, 65536, 1048576))
    yield Cell("udp rate", "--test throughput --transport udp", (64, 1024, 63000))
    yield Cell("tcp rate", "--test throughput --transport tcp", (64, 1024, 65536))
    yield Cell("udp batched rate", "--test throughput --transport udp --batch-bytes 60KiB", (64, 1024))
    yield Cell("tcp batched rate", "--test throughput --transport tcp --batch-bytes 64KiB", (64, 1024, 65536))
    for transport in ("udp-reliable", "udp-multicast"):
        yield Cell(f"{transport} rate", f"--test throughput --transport {transport}", (64, 1024, 63000))


def own_figures(effort: Effort, left_out: dict[str, str]) -> Iterator[Figure]:
    """Everything of ours, the floor and perftest in turns."""
    cells = [*latency_cells(), *rate_cells()]
    left_out.update({cell.name: why for cell in cells if (why := cell.missing())})
    for _ in range(effort.rounds):
        yield from floor(effort.seconds)
        for cell in cells:
            if cell.name not in left_out:
                yield from of_cell(cell, effort, left_out)


def of_cell(cell: Cell, effort: Effort, left_out: dict[str, str]) -> Iterator[Figure]:
    """A process for each size: one that fails costs only itself."""
    for size in cell.sizes:
        try:
            yield from perftest(cell.name, cell.arguments, size, effort.seconds)
        except Failed as failed:
            left_out[f"a round of {cell.name} {size} B"] = str(failed)


class Wish(NamedTuple):
    """A figure, the one it is set beside, and the goal."""

    what: tuple[str, int, str]
    beside: tuple[str, int, str]
    goal: Goal | None


def at_most(factor: float) -> Goal:
    """The ratio shall be no more than this."""
    return Goal("<=", factor)


def at_least(factor: float) -> Goal:
    """The ratio shall be no less than this."""
    return Goal(">=", factor)


def shared_memory_wishes() -> Iterator[Wish]:
    """The goals for transports over shared memory."""
    line, wake = ("bare line", 8, "p50"), ("bare futex", 4, "p50")
    for transport, ring in (("shm", "bare copying-ring"), ("shm-zero-copy", "bare ring")):
        yield Wish((f"{transport} busy", 64, "p50"), line, at_most(1.7))
        for size in SHARED:
            yield Wish((f"{transport} busy", size, "p50"), (ring, size, "p50"), at_most(1.15 if size > SHARED[0] else 1.05))
        for size in (64, 1024, 16384, 65536):
            yield Wish((f"{transport} busy", size, "p99"), (f"{transport} busy", size, "p50"), at_most(2))
        yield Wish((f"{transport} blocking", 64, "p50"), wake, at_most(1.25))
        yield Wish((f"{transport} spin-then-block", 64, "p50"), (f"{transport} busy", 64, "p50"), at_most(1.1))
        for size, factor in ((64, 0.5), (1024, 0.8), (65536, 0.9), (1048576, 0.9)):
            yield Wish((f"{transport} rate", size, "rate"), (f"{ring}-rate", size, "rate"), at_least(factor))
    for size in SHARED:
        yield Wish(("shm busy", size, "p50"), ("bare ring", size, "p50"), None)
    for size in (64, 1024, 65536, 1048576):
        yield Wish(("shm rate", size, "rate"), ("bare ring-rate", size, "rate"), None)
    yield Wish(("shm-zero-copy untouched", 64, "p50"), line, at_most(2))
    for size in UNTOUCHED[1:]:
        yield Wish(("shm-zero-copy untouched", size, "p50"), ("shm-zero-copy untouched", 64, "p50"), at_most(1.15))
    for size in (64, 1024):
        yield Wish(("inter-thread busy", size, "p50"), ("shm-zero-copy busy", size, "p50"), at_most(1))


def latency_wishes(protocol: str, way: str) -> Iterator[Wish]:
    """A transport over sockets beside bare ones, and what other tools say of the same path."""
    for size in DATAGRAMS:
        bare = (f"bare {protocol}-{way}", size, "p50")
        yield Wish((f"{protocol} {way}", size, "p50"), bare, at_most(1.1))
        yield Wish((f"sockperf {protocol} {way}", size, "p50"), bare, None)
        if way == "blocking":
            yield Wish((f"qperf {protocol}", size, "mean"), bare, None)


def rate_wishes() -> Iterator[Wish]:
    """The goals for messages a second over sockets."""
    for size in (64, 1024, 63000):
        for peer in ("iperf3 udp", "qperf udp", "bare udp-rate"):
            yield Wish(("udp rate", size, "rate"), (peer, size, "rate"), at_least(1))
        for transport in ("udp-reliable", "udp-multicast"):
            yield Wish((f"{transport} rate", size, "rate"), ("udp rate", size, "rate"), at_least(0.7))
    for size, factor in ((64, 10), (1024, 5)):
        yield Wish(("udp batched rate", size, "rate"), ("iperf3 udp", size, "rate"), at_least(factor))
        yield Wish(("udp batched rate", size, "rate"), ("udp rate", size, "rate"), None)
        yield Wish(("udp batched rate", size, "rate"), ("bare udp-segmented-rate", size, "rate"), None)
    for size in (64, 1024, 65536):
        yield Wish(("tcp batched rate", size, "rate"), ("tcp rate", size, "rate"), None)
        yield Wish(("tcp rate", size, "rate"), ("bare tcp-rate", size, "rate"), at_least(1))
        yield Wish(("tcp rate", size, "rate"), ("qperf tcp", size, "rate"), None)


def reliable_wishes() -> Iterator[Wish]:
    """The goals for reliable UDP, beside a DDS over UDP."""
    for size in (64, 1024):
        for transport in ("udp-reliable", "udp-multicast"):
            yield Wish((f"{transport} busy", size, "p50"), ("ddsperf", size, "p50"), at_most(1))
            yield Wish((f"{transport} rate", size, "rate"), ("ddsperf", size, "rate"), None)


def wishes() -> Iterator[Wish]:
    """All goals, in the order of the table."""
    yield from shared_memory_wishes()
    for protocol in ("udp", "tcp"):
        for way in ("busy", "blocking"):
            yield from latency_wishes(protocol, way)
    yield from rate_wishes()
    yield from reliable_wishes()


def with_best_ring(figures: Best) -> Best:
    """A hand-written ring is as fast as the fastest of its kinds at that size."""
    found = dict(figures)
    for (what, size, statistic), value in figures.items():
        if (ring := RINGS.get(what)) is not None:
            key = (ring, size, statistic)
            found[key] = min(found.get(key, value), value)
    return found


def row(wish: Wish, figures: Best) -> Row | None:
    """The wish with its figures, if both are there."""
    value, reference = figures.get(wish.what), figures.get(wish.beside)
    if value is None or reference is None:
        return None
    name, size, statistic = wish.what
    other, other_size, other_statistic = wish.beside
    unit: Unit = "/s" if statistic == "rate" else "ns"
    beside = other if other_size == size or other.startswith("bare ") else f"{other} {other_size} B"
    if other_statistic != statistic:
        beside = f"{beside} {other_statistic}"
    return Row(f"{name} {size} B {statistic}", value, unit, beside, reference, wish.goal)


def absolute_rows(figures: Best) -> Iterator[Row]:
    """What is not set beside another figure: shares that were lost, and rates that are aimed at as such."""
    for (what, size, statistic), value in sorted(figures.items()):
        if what in ("udp rate", "udp batched rate") and statistic == "loss":
            yield Row(f"{what} {size} B loss", value, "ratio", "everything", 1, at_most(0.01) if what == "udp rate" else None)
        if what == "tcp batched rate" and statistic == "rate":
            yield Row(f"{what} {size} B rate", value, "/s", "aim", BATCHED_TCP[size], at_least(1))


def measure(effort: Effort) -> Iterator[Row | LeftOut]:
    """All rows, then what could not be had."""
    left_out: dict[str, str] = {}
    peers, without = peer_figures()
    figures = with_best_ring(best([*own_figures(effort, left_out), *peers]))
    for wish in wishes():
        found = row(wish, figures)
        if found is not None:
            yield found
    yield from absolute_rows(figures)
    for name, why in {**left_out, **without}.items():
        yield LeftOut(name, why)
