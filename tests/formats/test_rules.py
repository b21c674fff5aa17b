"""A rule declares one kind of line. The rule in docs/add-a-format.md gives the same results for single lines and for many lines."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tacholog.formats.blocks import RunCutter, rows_of
from tacholog.formats.kit import Broken, Cells, Check, Field, Line, LineRule, Lines, Order, Record, ascending, at_least, every

PAGE = (Path(__file__).parent.parent.parent / "docs/add-a-format.md").read_text(encoding="utf-8")
MODULE = next(code for code in re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL) if "LineRule(" in code)
SAID: dict[str, LineRule] = {}
exec(MODULE, SAID)  # noqa: S102 - the code of our own page
RULE = SAID["_RESULT"]

LIKE = Record(test="throughput", payload_bytes=None, numbers=(), scope="interval")
COUNTS = LineRule(
    "(?P<second>[0-9]{1,9}+) s: (?P<received>[0-9]{1,9}+) received, (?P<lost>[0-9]{1,9}+) lost, (?P<amount>[0-9]{1,5}+) (?P<unit>[KM])B",
    fields=(
        Field.counted("messages_received", "received"),
        Field("loss", "total", lambda cells: cells["lost"] / at_least(cells["lost"] + cells["received"], 1), marks=("derived",)),
        Field(
            "bytes_received", "total", "amount", unit=1000, resolution=lambda cells: 1000 * cells["unit"], zero=lambda cells: cells["received"] == 0
        ),
    ),
    record=LIKE,
    checks=(Check("more lost than sent", lambda cells: cells["lost"] <= 100),),
    order=(Order("seconds go back", lambda now, before: now["second"] > before["second"]),),
    size=None,
    samples="received",
    letters={"K": "1", "M": "2"},
)


def lines(text: str) -> Lines:
    ((run, bulk),) = RunCutter(COUNTS.bulk, 1).cut(f"\n{text}".encode())
    assert bulk is not None
    return Lines(1, run, bulk)


def test_rule_in_the_docs_reads_the_line_in_the_docs() -> None:
    record = RULE.read("1024 B: rtt p50 11.75 us, p99 30.50 us (5000 samples)")

    assert isinstance(record, Record)
    assert (record.payload_bytes, record.samples, record.conditions.definition) == (1024, 5000, "pingbench-rtt")
    assert [(n.statistic, n.value, n.resolution, n.value_start, n.value_end) for n in record.numbers] == [
        ("p50", 11750, 10, 16, 21),
        ("p99", 30500, 10, 30, 35),
    ]


def test_lines_whose_pattern_contains_a_text_field_are_not_read_in_bulk() -> None:
    rule = LineRule('"(?P<command>[A-Z]{1,9}+)",(?P<p50>[0-9]{1,9}+)', fields=(Field("latency", "p50", "p50"),), record=LIKE, size=None)
    ((run, bulk),) = RunCutter(rule.bulk, 1).cut(b'\n"SET",2\n"GET",3\n')
    first = rule.read('"SET",2')
    assert bulk is not None
    assert isinstance(first, Record)

    assert rule.columns(Lines(1, run, bulk), first) is None


def test_line_that_fails_a_check_is_broken_and_a_line_of_another_kind_is_ignored() -> None:
    assert RULE.read("64 B: rtt p50 31.75 us, p99 30.50 us (5000 samples)") == Broken("p50 is above p99")
    assert RULE.read("0 B: rtt p50 1.75 us, p99 30.50 us (5000 samples)") is None
    assert RULE.read("64 B: rtt p50 31.75 us, p99 30.50 us (5000 sam") is None


def test_lines_that_are_read_in_bulk_give_the_same_records_as_single_lines() -> None:
    text = "".join(f"{index} s: {index % 3 * 7} received, {index % 2} lost, {index} {'KM'[index % 2]}B\n" for index in range(1, 40))
    run = lines(text)
    like = COUNTS.read(run.line(0).text)
    assert isinstance(like, Record)

    block = rows_of(run, like)

    assert block is not None
    records = [record for _, record in block.records()]
    assert records == [COUNTS.read(line) for line in text.splitlines()[1:-1]]
    assert [n.value_start for n in records[20].numbers] == [n.value_start for n in COUNTS.read(run.line(21).text).numbers]  # type: ignore[union-attr]


@pytest.mark.parametrize("doubtful", ["5 s: 7 received, 101 lost, 9 KB", "2 s: 7 received, 1 lost, 9 KB"])
def test_bulk_reading_stops_before_a_line_that_fails_a_check(doubtful: str) -> None:
    good = [f"{index} s: 7 received, 1 lost, 9 KB" for index in range(1, 9)]
    run = lines("".join(f"{line}\n" for line in [*good[:4], doubtful, *good[5:]]))
    like = COUNTS.read(good[0])
    assert isinstance(like, Record)

    block = rows_of(run, like)

    assert block is not None
    assert block.lines.tolist() == [2, 3]  # Bulk reading includes the line directly before the failing line.


def test_line_is_checked_against_the_line_before() -> None:
    first, second = (COUNTS.cells(COUNTS.match(f"{index} s: 7 received, 1 lost, 9 KB") or {}) for index in (1, 2))

    assert isinstance(COUNTS.record(second, first), Record)
    assert COUNTS.record(first, second) == Broken("seconds go back")


def test_functions_for_checks_accept_single_numbers_and_arrays() -> None:
    low, high = np.array([1.0, 5.0]), np.array([2.0, 4.0])

    assert (ascending([1, 2, 2]), ascending([2, 1]), ascending([])) == (True, False, True)
    assert ascending([low, high]).tolist() == [True, False]
    assert every([low > 0, high > 3]).tolist() == [False, True]
    assert (at_least(0, 1), at_least(7, 1), at_least(np.array([0.0, 7.0]), 1).tolist()) == (1, 7, [1, 7])


def test_bulk_reading_does_not_start_after_a_record_of_another_kind() -> None:
    run = lines("".join(f"{index} s: 7 received, 1 lost, 9 KB\n" for index in range(1, 9)))

    assert COUNTS.columns(run, Record(test="latency", payload_bytes=None, numbers=(), scope="interval")) is None
    assert COUNTS.columns(run, LIKE) is None
    assert isinstance(COUNTS.cells_of(run), Cells)
    assert RULE.match(Line(1, "64 B").text) is None
