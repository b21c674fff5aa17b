"""Lines that are read in bulk give the same records as lines that are read one by one."""

from __future__ import annotations

import io
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import tries
from tests.long_logs import LONG_LOGS, LongLog

from tacholog.formats.blocks import RecordBlock
from tacholog.formats.kit.lines import Broken
from tacholog.formats.reading import ChatterEvent, Event, Scan
from tacholog.formats.source import LogText
from tacholog.formats.testing.properties import check_bulk

NEVER = 1_000_000
BANNER = "RTI Perftest 3.0.1 (RTI Connext DDS 6.0.1)\n\nPerftest Configuration:\n\tReliability: Best Effort\n\tKeyed: No\n"


def summary(size: int, rate: int, seconds: int, lost: int, slip: float) -> str:
    received = rate * seconds
    share = 100 * lost / (received + lost) if received + lost else 0.0
    return (
        f"Length: {size:5d}  Packets: {received:8d}  Packets/s(ave): {rate:7d}  "
        f"Mbps(ave): {rate * size * 8 / 1e6 + slip:7.1f}  Lost: {lost:5d} ({share:.2f}%)"
    )


def interval(size: int, rate: int, last: int, lost: int, slip: float) -> str:
    received = rate * 7
    share = 100 * lost / (received + lost) if received + lost else 0.0
    return (
        f"Packets: {received:8d}  Packets/s: {last:7d}  Packets/s(ave): {rate:7d}  Mbps: {last * size * 8 / 1e6:7.1f}  "
        f"Mbps(ave): {rate * size * 8 / 1e6 + slip:7.1f}  Lost: {lost:5d} ({share:.2f}%)"
    )


def answer(low: int, spread: int, high: int, deviation: float) -> str:
    last = min(low + spread, high)
    return f"One way Latency: {last:6d} us  Ave {(low + high) // 2:6d} us  Std {deviation:6.1f} us  Min {low:6d} us  Max {high:6d} us"


rates = st.integers(0, 3_000_000)
losses = st.one_of(st.just(0), st.integers(0, 5), st.integers(0, 10**7))
slips = st.sampled_from([0.0] * 12 + [0.1, 900.0])
summaries = st.builds(summary, st.integers(0, 40_000_000), rates, st.integers(0, 40), losses, slips)
intervals = st.builds(interval, st.just(1024), rates, rates, losses, slips)
answers = st.builds(answer, st.integers(0, 9), st.integers(0, 9), st.integers(9, 10**6), st.floats(0, 1000))
others = st.sampled_from(
    ["", "no line of this tool", "********** New data length is 2048", "Length:    32  Packets: 7", "Packets:  1  Packets/s:", "\x1b[1mLost\x1b[0m"]
)


def steady(low: int, count: int) -> list[str]:
    """From line to line, the minimum falls and the maximum rises, as in a real log."""
    return [answer(max(low - index // 3, 0), index % 3, low + index, index / 7) for index in range(count)]


def with_cpu(lines: list[str]) -> list[str]:
    return [f"{line} CPU: {index * 7 % 11:.2f}%" for index, line in enumerate(lines)]


stretches = st.one_of(
    st.lists(summaries, max_size=12),
    st.lists(intervals, max_size=12),
    st.lists(answers, max_size=8),
    st.builds(steady, st.integers(0, 50), st.integers(1, 12)),
    st.lists(others, max_size=2),
    st.builds(
        with_cpu,
        st.one_of(st.lists(summaries, max_size=8), st.lists(intervals, max_size=8), st.builds(steady, st.integers(0, 50), st.integers(1, 8))),
    ),
)
logs = st.lists(stretches, min_size=1, max_size=8).map(lambda parts: [line for part in parts for line in part])


def events(text: str, run_lines: int, name: str = "rti") -> tuple[list[Event], Scan]:
    scan = Scan(LogText(io.BytesIO(text.encode())), name, run_lines)
    return sorted(scan, key=lambda event: (event.line, event.kind)), scan


@settings(deadline=None, max_examples=tries(75, 300))
@given(logs, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_lines_read_in_bulk_give_the_same_events_as_lines_read_one_by_one(lines: list[str], end: str, ended: bool) -> None:
    text = BANNER + "********** New data length is 1024\n" + end.join(lines) + (end if ended else "")

    at_once, scan = events(text, 2)
    one_by_one, slow = events(text, NEVER)

    assert at_once == one_by_one
    assert scan.account == slow.account


@pytest.mark.parametrize(
    ("line", "records"),
    [
        (lambda index: summary(63000, 20000 + index, 30, index % 2 * 600, 0.0), 300),
        (lambda index: interval(1024, 20000 + index, 19000, index % 3 * 7, 0.0), 300),
        (lambda index: answer(max(40 - index, 3), 1, 100 + index, 1.5), 300),
    ],
    ids=["summaries", "intervals of throughput", "intervals of latency"],
)
def test_many_consecutive_lines_with_one_layout_are_read_in_bulk(line: Callable[[int], str], records: int) -> None:
    text = "********** New data length is 1024\n" + "".join(line(index) + "\n" for index in range(records))

    batches = list(Scan(LogText(io.BytesIO(text.encode())), "rti").batches())

    # The first and the last line are read separately.
    assert sum(len(batch) for batch in batches if isinstance(batch, RecordBlock)) == records - 2


def test_only_the_line_with_an_implausible_value_is_broken() -> None:
    lines = [summary(1024, 20000 + index, 30, 0, 0.0) for index in range(300)]
    lines[150] = summary(1024, 20000, 30, 0, 5000.0)

    all_events, scan = events("\n".join(lines) + "\n", 2)

    assert [event.line for event in all_events if isinstance(event.what, Broken)] == [151]
    assert scan.account.records == 299


def test_minimum_printed_as_0_is_an_upper_bound_even_if_its_line_is_read_in_bulk() -> None:
    lines = [answer(0, 1, 100 + index, 1.5) for index in range(300)]

    all_events, _ = events("********** New data length is 64\n" + "\n".join(lines) + "\n", 2)

    record = all_events[200].what
    low = record.number("latency", "min")  # type: ignore[union-attr]
    assert (low.value, low.bound, low.resolution) == (1000, "<", 1000)  # type: ignore[union-attr]


@pytest.mark.parametrize("log", LONG_LOGS.values(), ids=LONG_LOGS)
def test_long_log_of_each_layout_is_read_in_bulk(log: LongLog) -> None:
    text = log.text(2000)
    scan = Scan(LogText(io.BytesIO(text.encode())), log.format)

    singly = sum(1 for batch in scan.batches() if not isinstance(batch, (RecordBlock, ChatterEvent)))

    assert singly < 40
    assert scan.account.lines["broken"] == scan.account.lines["unknown"] == 0
    assert scan.account.total == text.count("\n")


@pytest.mark.parametrize("log", LONG_LOGS.values(), ids=LONG_LOGS)
def test_long_log_gives_the_same_records_in_bulk_and_line_by_line(log: LongLog) -> None:
    check_bulk(log.format, log.text(2000).encode())


@pytest.mark.parametrize("log", LONG_LOGS.values(), ids=LONG_LOGS)
@settings(deadline=None, max_examples=10, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_long_log_with_changed_numbers_gives_the_same_records_in_bulk_and_line_by_line(log: LongLog, seed: int) -> None:
    """A changed digit does not change the layout of the line: only the checks of the numbers detect the change."""
    chance = random.Random(seed)  # noqa: S311
    text = bytearray(log.text(60, seed).encode())
    digits = [offset for offset, byte in enumerate(text) if chr(byte).isdigit() and offset >= len(log.head)]
    for offset in chance.sample(digits, chance.randint(1, 12)):
        text[offset] = ord(chance.choice("0123456789"))

    check_bulk(log.format, bytes(text))
