"""Reading logs: megabytes per CPU second (compared with `wc -l` on the same file), peak memory, and the start-up time of the command line.

CPU time is measured because the machine is shared.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from perf_table import Effort, Goal, Row

LOG_BYTES = 200_000_000
SLOW_LOG_BYTES = 10_000_000
SIZES = (32, 64, 256, 1024, 4096, 16384, 63000, 100_000, 250_000, 500_000, 1_048_576)
GOAL_BYTES_A_CPU_SECOND, GOAL_MB = 40e6, 250
GOAL_HELP_NS = 150e6
TACHOLOG = (sys.executable, "-m", "tacholog")


class Cost(NamedTuple):
    """The resources of a process: CPU seconds (user and system), and its largest resident set in MB."""

    cpu_s: float
    peak_mb: float


def measure(effort: Effort) -> Iterator[Row]:
    """Yield the speed of reading several kinds of logs, the peak memory, and the time that ``tacholog --help`` takes."""
    with tempfile.TemporaryDirectory() as folder:
        for name, lines, size in LOGS:
            path = Path(folder, "some.log")
            _write(path, lines, size)
            yield from _reading(name, path, aimed=size == LOG_BYTES)
    bare = min(cost([sys.executable, "-c", "pass"]).cpu_s for _ in range(effort.rounds))
    helped = min(cost([*TACHOLOG, "--help"]).cpu_s for _ in range(effort.rounds))
    yield Row("tacholog --help over python -c pass", (helped - bare) * 1e9, "ns", "aim", GOAL_HELP_NS, Goal("<=", 1))


def _reading(name: str, path: Path, *, aimed: bool) -> Iterator[Row]:
    size = path.stat().st_size
    counted, parsed = cost(["wc", "-l", str(path)]), cost([*TACHOLOG, "parse", "--summary", str(path)])
    speed = size / parsed.cpu_s
    yield Row(f"{name}, a CPU-second", speed, "B/s", "wc -l", size / max(counted.cpu_s, 1e-3))
    if aimed:
        yield Row(f"{name}, a CPU-second", speed, "B/s", "aim", GOAL_BYTES_A_CPU_SECOND, Goal(">=", 1))
        yield Row(f"{name}, peak memory", parsed.peak_mb, "MB", "aim", GOAL_MB, Goal("<=", 1))


def cost(argv: Sequence[str]) -> Cost:
    with Path(os.devnull).open("wb") as nowhere:
        process = subprocess.Popen(argv, stdout=nowhere)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(argv)} failed")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6)


def _write(path: Path, lines: Callable[[random.Random], Iterator[str]], size: int) -> None:
    written = 0
    with path.open("w") as log:
        for line in lines(random.Random(1)):
            if written >= size:
                break
            log.write(line)
            written += len(line)


def _summaries(dice: random.Random) -> Iterator[str]:
    """Yield summary lines as RTI Perftest prints them, ordered by message size. About every second line has losses."""
    while True:
        for size in SIZES:
            rate, lost = dice.randint(40_000, 2_500_000), dice.choice((0, dice.randint(1, 1_000_000)))
            received = rate * 30 + dice.randint(0, 9999)
            mbit, share = rate * size * 8 / 1e6, 100 * lost / (received + lost)
            yield (f"Length: {size:5d}  Packets: {received:8d}  Packets/s(ave): {rate:7d}  Mbps(ave): {mbit:7.1f}  Lost: {lost:5d} ({share:.2f}%)\n")


def _answers(dice: random.Random) -> Iterator[str]:
    """Yield the lines that a publisher of RTI Perftest prints for answers.

    The publisher prints a line for each answer. Therefore, the largest logs of the tool consist of such lines.
    """
    while True:
        yield "********** New data length is 1024\n"
        low, high = 40, 40
        for at in range(100_000):
            last = dice.randint(low - (dice.random() < 0.001 and low > 5), 90)
            low, high = min(low, last), max(high, last)
            yield f"One way Latency: {last:6d} us  Ave {(low + high) // 2:6.0f} us  Std {at % 70 / 10:6.1f} us  Min {low:6d} us  Max {high:6d} us\n"


def _oddities(_: random.Random) -> Iterator[str]:
    """Yield summary lines with decimal commas, as Java prints them in many countries. Such summary lines are read one by one, not in bulk."""
    while True:
        yield "Length: 63000  Packets: 18900000  Packets/s(ave):  630000  Mbps(ave): 317520,0  Lost:     0 (0,00%)\n"


LOGS = (
    ("200 MB of RTI's summaries", _summaries, LOG_BYTES),
    ("200 MB of RTI's intervals", _answers, LOG_BYTES),
    ("10 MB of summaries read singly", _oddities, SLOW_LOG_BYTES),
)
