"""Logs of thousands of lines with one layout, as the tools print them: one log for each layout that a format reads in bulk."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent / "formats"
Dice = random.Random


class LongLog(NamedTuple):
    """A log of any length: its format, the lines before the results, and the results."""

    format: str
    head: str
    rows: Callable[[Dice], Iterator[str]]

    def text(self, rows: int, seed: int = 1) -> str:
        lines = self.rows(random.Random(seed))  # noqa: S311
        return self.head + "".join(f"{next(lines)}\n" for _ in range(rows))


def _above(file: str, mark: str, *, included: bool = False) -> str:
    """Return the text of a sample log before ``mark``. If ``included`` is true, it also has the line with ``mark``."""
    text = (HERE / file).read_text()
    at = text.index(mark)
    return text[: text.index("\n", at) + 1 if included else at]


def _rti_summaries(dice: Dice) -> Iterator[str]:
    while True:
        for size in (32, 64, 1024, 63000):
            rate, lost = dice.randint(40_000, 2_500_000), dice.choice((0, dice.randint(1, 1_000_000)))
            received = rate * 30 + dice.randint(0, 9999)
            share = 100 * lost / (received + lost)
            yield (
                f"Length: {size:5d}  Packets: {received:8d}  Packets/s(ave): {rate:7d}  Mbps(ave): {rate * size * 8 / 1e6:7.1f}  "
                f"Lost: {lost:5d} ({share:.2f}%)"
            )


def _rti_answers(dice: Dice) -> Iterator[str]:
    low, high, at = 40, 40, 0
    while True:
        last = dice.randint(low - (dice.random() < 0.001 and low > 5), 90)
        low, high, at = min(low, last), max(high, last), at + 1
        yield f"One way Latency: {last:6d} us  Ave {(low + high) // 2:6.0f} us  Std {at % 70 / 10:6.1f} us  Min {low:6d} us  Max {high:6d} us"


def _rti_csv_running(dice: Dice) -> Iterator[str]:
    received, size = 0, 1024
    while True:
        rate = dice.randint(400_000, 600_000)
        last, received = rate + dice.randint(-500, 500), received + rate
        yield (f"{size:14d}, {received:13d}, {last:10d}, {rate:13d}, {last * size * 8 / 1e6:8.1f}, {rate * size * 8 / 1e6:9.1f}, {0:12d}, {0:16.2f}")


def _rti_csv_summaries(dice: Dice) -> Iterator[str]:
    while True:
        size, rate, lost = dice.choice((32, 1024)), dice.randint(400_000, 600_000), dice.choice((0, dice.randint(1, 10**6)))
        received = rate * 30
        yield f"{size:14d}, {received:13d}, {rate:13d}, {rate * size * 8 / 1e6:12.1f}, {lost:12d}, {100 * lost / (received + lost):16.2f}"


def _rti_csv_running_latencies(dice: Dice) -> Iterator[str]:
    while True:
        low, spread = dice.randint(10, 20), dice.randint(1, 50)
        yield f"{1024:14d}, {low + spread // 2:12d}, {low + spread // 3:8d}, {dice.random() * 9:8.1f}, {low:8d}, {low + spread:8d}"


def _rti_csv_latencies(dice: Dice) -> Iterator[str]:
    while True:
        low = dice.randint(10, 20)
        levels = [low + dice.randint(2, 4)]
        levels += [levels[-1] + step for step in (dice.randint(0, 9), 10, 20, 30)]
        cells = ", ".join(f"{level:8d}" for level in levels)
        yield f"{dice.choice((32, 1024)):14d}, {(low + levels[0]) // 2 + 1:8d}, {dice.random() * 9:8.1f}, {low:8d}, {levels[-1] + 5:8d}, {cells}"


def _numbered(dice: Dice) -> Iterator[str]:
    number = 0
    while True:
        yield f"{number}, {dice.randint(18, 60)}"
        number += 1


def _demands(dice: Dice) -> Iterator[str]:
    size = 16
    while True:
        for demand in (100, 1000, 50000):
            for recovery in (0, 5, 100):
                sent, sent_us = demand * dice.randint(10, 90), dice.randint(10**6, 2 * 10**6)
                received, received_us = sent - dice.choice((0, 0, dice.randint(0, sent), sent)), sent_us + dice.randint(0, 9999)
                yield (
                    f"{size:8},{demand:8},{recovery:13},{sent:13},{sent_us:13},{sent * 1e6 / sent_us:12.3f},{sent * size * 8 / sent_us:11.3f},"
                    f"{received:13},{sent - received:13},{received_us:13},{received * 1e6 / received_us:12.3f},"
                    f"{received * size * 8 / received_us:11.3f}"
                )
        size += 16


def _fast_dds_latencies(dice: Dice) -> Iterator[str]:
    while True:
        levels = sorted(dice.uniform(9, 900) for _ in range(6))
        cells = (dice.uniform(1, 20), dice.uniform(levels[0] + 0.01, levels[-1] - 0.01), *levels)
        yield f"{dice.choice((16, 1024)):8},{2000:8}," + ",".join(f"{cell:8.3f}" for cell in cells) + " "


def _fast_dds_samples(dice: Dice) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{number},{16 if number % 3000 < 2000 else 1024},{dice.uniform(18, 60):.4f}"


def _iperf3(row: str) -> Callable[[Dice], Iterator[str]]:
    def rows(dice: Dice) -> Iterator[str]:
        for second in range(10**6):
            amount = dice.uniform(1.6, 2.2)
            end, lost = f"{second + 1}.00", dice.randint(0, 77)
            rate, count = amount * 8 * 1.073741824, dice.randint(0, 60)
            yield row.format(start=second, end=f"{end:<6}", amount=amount, rate=rate, count=count, jitter=dice.random(), lost=lost)

    return rows


_ROW = "[  5] {start:3d}.00-{end} sec  {amount:4.2f} GBytes  {rate:4.1f} Gbits/sec"


def _packets(dice: Dice) -> Iterator[str]:
    at, number = 2_433_057_141, 0
    while True:
        trip = dice.randint(1900, 9000) * 2
        end = at + trip
        yield f"{number}, {at // 10**9}.{at % 10**9:09d}, {end // 10**9}.{end % 10**9:09d}, {trip // 2 / 1000:.3f}"
        at, number = end + 20, number + 1


def _native_intervals(dice: Dice) -> Iterator[str]:
    for index in range(10**9):
        duration = dice.randint(999_000_000, 1_001_000_000)
        yield f"interval payload_bytes=64 index={index} duration_ns={duration} received={dice.randint(10**6, 2 * 10**6)} lost={dice.choice((0, 5))}"


def _native_latencies(dice: Dice) -> Iterator[str]:
    for index in range(10**9):
        duration, low = dice.randint(999_000_000, 1_001_000_000), dice.randint(180, 400)
        yield (
            f"interval payload_bytes=64 index={index} duration_ns={duration} messages={dice.randint(10**5, 2 * 10**5)} "
            f"p50_ns={low} p99_ns={low * 3} max_ns={low * 90}"
        )


def _whole_numbers(dice: Dice) -> Iterator[str]:
    while True:
        yield str(dice.randint(1, 40))


def _histograms(_: Dice) -> Iterator[str]:
    size = (HERE / "native/latency-udp.log").read_text()
    block = size[size.index("interval payload") : size.index("warmup payload_bytes=1024")].splitlines()
    while True:
        yield from block


_IPERF3_TCP = _above("iperf3/tcp.log", "Cwnd", included=True)
LONG_LOGS = {
    "RTI summaries": LongLog("rti", "", _rti_summaries),
    "RTI intervals": LongLog("rti", "********** New data length is 1024\n", _rti_answers),
    "RTI CSV, throughput": LongLog(
        "rti", "Length (Bytes), Total Samples, Ave Samples/s,    Ave Mbps, Lost Samples, Lost Samples (%)\n", _rti_csv_summaries
    ),
    "RTI CSV, intervals of throughput": LongLog(
        "rti", "Length (Bytes), Total Samples,  Samples/s, Ave Samples/s,     Mbps,  Ave Mbps, Lost Samples, Lost Samples (%)\n", _rti_csv_running
    ),
    "RTI CSV, latency": LongLog(
        "rti",
        "Length (Bytes), Ave (us), Std (us), Min (us), Max (us), 50% (us), 90% (us), 99% (us), 99.99% (us), 99.9999% (us)\n",
        _rti_csv_latencies,
    ),
    "RTI CSV, intervals of latency": LongLog(
        "rti", "Length (Bytes), Latency (us), Ave (us), Std (us), Min (us), Max (us)\n", _rti_csv_running_latencies
    ),
    "RTI samples": LongLog("rti", "Sample Number, Value\n", _numbered),
    "Fast RTPS demands": LongLog("fastrtps", _above("fastrtps/throughput-2.9.1-publisher.log", "[ Bytes,Demand", included=True), _demands),
    "Fast RTPS latencies": LongLog("fastrtps", _above("fastrtps/latency-2.9.1.log", "--------,", included=True), _fast_dds_latencies),
    "Fast RTPS samples": LongLog("fastrtps", "Sample,Payload [Bytes],Latency [us]\n", _fast_dds_samples),
    "iperf3 TCP": LongLog("iperf3", _IPERF3_TCP, _iperf3(_ROW + "  {count:3d}    895 KBytes       ")),
    "iperf3 server": LongLog(
        "iperf3", _IPERF3_TCP.partition("Connecting")[0] + "[ ID] Interval           Transfer     Bitrate\n", _iperf3(_ROW + " " * 18)
    ),
    "iperf3 UDP sender": LongLog("iperf3", _above("iperf3/udp.log", "Total Datagrams", included=True), _iperf3(_ROW + "  {count}  ")),
    "iperf3 UDP receiver": LongLog(
        "iperf3",
        "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n",
        _iperf3(_ROW + "  {jitter:5.3f} ms  {lost}/77 (1.2%)  "),
    ),
    "sockperf full log": LongLog("sockperf", _above("sockperf/full-log.csv", "latency(usec)", included=True), _packets),
    "perftest intervals": LongLog("native", _above("native/throughput-udp.log", "throughput payload"), _native_intervals),
    "perftest intervals of latency": LongLog("native", _above("native/latency-udp.log", "interval payload"), _native_latencies),
    "eCAL samples": LongLog("ecal", "", _whole_numbers),
}
#: A log whose lines are too long to be read in bulk.
HISTOGRAMS = LongLog("native", _above("native/latency-udp.log", "interval payload"), _histograms)
