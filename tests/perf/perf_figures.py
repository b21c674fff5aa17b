"""Figures by name and size, from our own programs: perftest, and the hand-written loops of ``bench/perf/floor.cpp``."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tacholog.formats.reading import Scan
from tacholog.formats.source import LogText
from tacholog.schema.records import Record

BUILD = Path(__file__).parent.parent.parent / "build/bench/release"
PERFTEST = BUILD / "perftest"
FLOOR = BUILD / "perf/floor"
TIMEOUT_S = 120


class Figure(NamedTuple):
    """One measured value. More is better for ``rate``, less is better for all others."""

    what: str
    payload_bytes: int
    statistic: str
    value: float


Key = tuple[str, int, str]
Best = dict[Key, float]


class Failed(Exception):
    """A program could not be run, or printed no result."""


def run(command: list[str]) -> bytes:
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"`{' '.join(command)}` did not end within {TIMEOUT_S} s") from late
    if done.returncode != 0:
        words = (done.stderr.decode(errors="replace").strip() or f"status {done.returncode}").splitlines()
        raise Failed(f"`{' '.join(command)}`: {words[-1]}")
    return done.stdout


def records(log: bytes, format_name: str) -> list[Record]:
    found = [event.what for event in Scan(LogText(io.BytesIO(log)), format_name) if isinstance(event.what, Record)]
    return [record for record in found if record.scope != "resources"]


def figures_of(record: Record, what: str, payload_bytes: int) -> Iterator[Figure]:
    """Yield latencies in ns, rates in messages per second, and shares of lost messages.

    If round trips were measured, a latency is half of the time of a round trip.
    """
    factor = 0.5 if record.conditions.basis == "rtt" else 1.0
    for number in record.numbers:
        if number.value is None:
            continue
        if number.metric == "latency":
            yield Figure(what, payload_bytes, number.statistic, number.value * factor)
        elif number.metric == "message_rate":
            yield Figure(what, payload_bytes, "rate", number.value)
        elif number.metric == "goodput":
            yield Figure(what, payload_bytes, "rate", number.value / 8 / payload_bytes)
        elif number.metric == "loss":
            yield Figure(what, payload_bytes, "loss", number.value)


@cache
def options() -> str:
    return run([str(PERFTEST), "--help"]).decode()


@cache
def transports() -> frozenset[str]:
    return frozenset(line.split()[0] for line in run([str(PERFTEST), "--list-transports"]).decode().splitlines() if line[:1].strip())


def perftest(what: str, arguments: str, payload_bytes: int, seconds: float) -> Iterator[Figure]:
    """Run perftest with one size, and yield the figures of its summaries. Each role runs on a separate core."""
    words = [*arguments.split(), "--sizes", str(payload_bytes), "--duration", str(seconds), "--warmup", str(seconds / 4)]
    log = run([str(PERFTEST), *words, "--cpu-pub", "0", "--cpu-sub", "1"])
    for record in records(log, "native"):
        if record.scope == "summary":
            yield from figures_of(record, what, payload_bytes)


def floor(seconds: float, what: str) -> Iterator[Figure]:
    """Run hand-written loops, and yield their figures. The text ``what`` is a kind of loop, or a kind with one size such as ``ring-1:64``."""
    yield from floor_lines("bare ", run([str(FLOOR), str(seconds), what]))


def floor_lines(prefix: str, lines: bytes) -> Iterator[Figure]:
    """Yield the figure on each line, with ``prefix`` before its name. Each line is ``NAME BYTES VALUE``."""
    for line in lines.decode().splitlines():
        name, size, value = line.split()
        statistic = next((word for word in ("rate", "p99") if name.endswith(f"-{word}")), "p50")
        yield Figure(prefix + name, int(size), statistic, float(value))


def best(figures: Iterable[Figure]) -> Best:
    """Return the best value of each figure that was measured several times. The best value is right, because disturbances only make a value worse."""
    found: Best = {}
    for figure in figures:
        key = (figure.what, figure.payload_bytes, figure.statistic)
        better = max if figure.statistic == "rate" else min
        found[key] = better(found.get(key, figure.value), figure.value)
    return found
