"""The ratio of the rate of perftest to the rate of a bare loop or of qperf, with its 95 % interval.

Each of ten rounds measures the reference and then perftest. Both receivers wait in the same way: both poll, or both sleep. qperf sleeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log
from typing import NamedTuple

from perf_figures import Failed, Figure, floor, perftest, run
from perf_peers import ACTIVE, beside, free_port, of_log
from perf_table import Effort, Goal, LeftOut, Row
from scipy import stats

ROUNDS = 10
PARITY = Goal(">=", 0.95)  # The goal for the lower end of the interval.
UNREAD = "--test throughput --touch none"
JOINED = "--transport tcp --set congestion=reno --set nagle=on"
WAYS = {"busy": "busy-poll", "blocking": "block"}


class Pair(NamedTuple):
    """A comparison: a run of perftest, and the reference that is measured directly before it."""

    what: str
    arguments: str
    payload_bytes: int
    beside: str  # The name of a hand-written loop in bench/perf/floor.cpp, or of a test of qperf.


def pairs() -> Iterator[Pair]:
    """Yield comparisons with large datagrams, and comparisons with small messages that the kernel merges."""
    for way, wait in WAYS.items():
        yield Pair(f"udp {way} rate", f"{UNREAD} --transport udp --wait {wait}", 63000, f"bare udp-{way}-rate")
        for size in (64, 1024):
            yield Pair(f"tcp joined {way} rate", f"{UNREAD} {JOINED} --wait {wait}", size, f"bare tcp-joined-{way}-rate")
    yield Pair("udp blocking rate", f"{UNREAD} --transport udp --wait block", 63000, "qperf udp_bw")
    for size in (64, 1024):
        yield Pair("tcp joined blocking rate", f"{UNREAD} {JOINED} --wait block", size, "qperf tcp_bw")


def rate_of(figures: Iterator[Figure]) -> float:
    return next(figure.value for figure in figures if figure.statistic == "rate")


def qperf(test: str, payload_bytes: int) -> float:
    """Return the messages per second that qperf measures. A run takes one second, because qperf cannot run for a shorter time."""
    port = str(free_port())
    with beside(["qperf", "-lp", port]):
        client = ["qperf", "127.0.0.1", "-lp", port, "-t", "1", "-uu", "-m", str(payload_bytes), test]
        return rate_of(of_log(run([*ACTIVE, *client]), "qperf", "qperf", payload_bytes))


def reference(pair: Pair, seconds: float) -> float:
    tool, name = pair.beside.split()
    return qperf(name, pair.payload_bytes) if tool == "qperf" else rate_of(floor(seconds, f"{name}:{pair.payload_bytes}"))


def interval(ratios: list[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean ratio, computed from logarithms, so that the ratios 2 and 0.5 have the same distance from 1."""
    logs = [log(ratio) for ratio in ratios]
    low, high = stats.t.interval(0.95, len(logs) - 1, loc=sum(logs) / len(logs), scale=stats.sem(logs))
    return exp(low), exp(high)


def parity_rows(effort: Effort) -> Iterator[Row | LeftOut]:
    """Yield the lower end of the 95 % interval of the ratio, for each pair."""
    for pair in pairs():
        try:
            ratios = []
            for _ in range(ROUNDS):
                before = reference(pair, effort.seconds)
                ratios.append(rate_of(perftest(pair.what, pair.arguments, pair.payload_bytes, effort.seconds)) / before)
        except (Failed, OSError) as failed:
            yield LeftOut(f"{pair.what} {pair.payload_bytes} B beside {pair.beside}", str(failed))
            continue
        low, high = interval(ratios)
        what = f"{pair.what} {pair.payload_bytes} B / {pair.beside}, 95 % interval to {high:.2f} from"
        yield Row(what, low, "ratio", "parity", 1, PARITY)
