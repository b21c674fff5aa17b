"""Lines that are read in bulk. The tests check the properties of these lines, the findings about them, and that no line is lost."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tacholog.formats.kit import (
    Bins,
    Bulk,
    BulkFinding,
    BulkStep,
    Conditions,
    Distribution,
    Finding,
    Histogram,
    Line,
    Lines,
    LineStart,
    Record,
    RecordColumns,
    Records,
    counted_column,
    lines_in,
    printed_column,
    read_in_bulk,
    rounded,
)
from tacholog.formats.registry import formats
from tacholog.formats.validity import defect_of
from tacholog.formats.waiting import WaitingLines

PAIRS = Bulk(rb"\d{1,9}+ \d{1,9}+")
LIKE = Record(test="latency", payload_bytes=64, numbers=(), conditions=Conditions(definition="some"))

NOT_MANY: Any = LIKE
FLOATS: Any = np.full(5, 64.0)
TASTE: Any = "taste"


def five_lines(number: int = 1) -> Lines:
    return Lines(number, b"1 10\n2 20\r\n3 30\n4 40\n5 50\n", PAIRS)


def columns(count: int = 5, value: float = 7.0, size: int = 64) -> RecordColumns:
    numbers = (printed_column("latency", "mean", np.full(count, value), 1.0),)
    return RecordColumns(np.ones(count, dtype=np.bool_), np.full(count, size), None, numbers)


def test_lines_read_in_bulk_equal_the_lines_of_the_log() -> None:
    part = five_lines(101).part(1, -1)

    assert (part.number, part.count) == (102, 3)
    assert [part.line(0), part.line(-1)] == [Line(102, "2 20"), Line(104, "4 40")]
    assert part.cells.tolist() == [[2, 20], [3, 30], [4, 40]]
    assert [line.text for line in lines_in(part.part(1))] == ["3 30", "4 40"]
    assert list(lines_in(Line(7, "seven"))) == [Line(7, "seven")]


def test_bulk_reading_replaces_the_first_letter_of_a_unit_by_a_declared_digit() -> None:
    amounts = Lines(1, b"5.84 GBytes\n3.20 MBytes\n", Bulk(rb"\d\.\d\d [MG]Bytes", letters=(("M", "2"), ("G", "3"))))

    assert amounts.cells.tolist() == [[5.84, 3], [3.20, 2]]


def test_valid_finding_about_many_lines_is_accepted() -> None:
    lines = five_lines()

    assert defect_of(BulkFinding(lines, None), 5) is None
    assert defect_of(BulkFinding(lines, Records(LIKE, columns())), 5) is None
    assert defect_of(BulkFinding(lines, Records(LIKE, columns(2), np.array([1, 4]))), 5) is None
    assert defect_of(Finding(lines.line(0), LIKE, (lines.part(1),)), 5) is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda lines: BulkFinding(lines.line(0), None),
        lambda lines: BulkFinding(lines, NOT_MANY),
        lambda lines: BulkFinding(Lines(lines.number + 1, b"1 1\n" * 5, PAIRS), None),
        lambda lines: BulkFinding(lines.part(2, 2), None),
        lambda lines: Finding(lines, None),
        lambda lines: Finding(lines.line(0), LIKE, (five_lines(3),)),
        lambda lines: BulkFinding(lines, Records(LIKE, columns(4))),
        lambda lines: BulkFinding(lines, Records(LIKE, columns()._replace(payload_bytes=FLOATS))),
        lambda lines: BulkFinding(lines, Records(LIKE, columns(value=-1.0))),
        lambda lines: BulkFinding(lines, Records(LIKE, columns(value=np.nan))),
        lambda lines: BulkFinding(lines, Records(LIKE, columns(value=np.inf))),
        lambda lines: BulkFinding(lines, Records(LIKE, columns(size=0))),
        lambda lines: BulkFinding(lines, Records(LIKE, columns()._replace(valid=np.zeros(5, dtype=np.bool_)))),
        lambda lines: BulkFinding(lines, Records(LIKE, columns()._replace(numbers=(counted_column("happiness", np.ones(5)),)))),
        lambda lines: BulkFinding(lines, Records(LIKE, columns(2), np.array([4, 1]))),
        lambda lines: BulkFinding(lines, Records(LIKE, columns(2), np.array([1, 5]))),
        lambda lines: BulkFinding(lines, Records(LIKE, columns(2), np.array([-1, 1]))),
        lambda lines: BulkFinding(lines, Records(Record(test=TASTE, payload_bytes=64, numbers=()), columns())),
    ],
)
def test_invalid_finding_about_many_lines_is_refused(wrong: Callable[[Lines], BulkFinding]) -> None:
    assert defect_of(wrong(five_lines()), 5) is not None


def test_each_line_belongs_to_at_most_one_finding_and_other_lines_are_unknown() -> None:
    waiting = WaitingLines()
    lines = five_lines()
    waiting.give_run(lines)

    assert list(waiting.claim_all(lines.part(0, 2))) == [1, 2]
    assert list(waiting.claim_all(lines.part(1, 3))) == [3]
    waiting.give(Line(6, "six"))
    assert waiting.claim(3) is None
    assert list(waiting.claim_all(lines.part(3, 4))) == [4]
    waiting.expire()

    assert [line.number for line in waiting.late] == [5, 6]


def test_record_can_be_assigned_only_to_a_line_without_another_finding() -> None:
    waiting = WaitingLines()
    lines = five_lines()
    waiting.give_run(lines)

    assert waiting.claim_places(lines.part(1), np.array([0, 2]))
    assert not waiting.claim_places(lines, np.array([1]))
    assert not waiting.claim_places(five_lines(3), np.array([4]))
    waiting.expire()

    assert [line.number for line in waiting.late] == [1, 3, 5]


def test_bulk_reading_continues_after_a_line_that_must_be_read_alone() -> None:
    read: list[str] = []

    def one(line: Line) -> list[Finding]:
        read.append(f"one {line.number}")
        return []

    def many(lines: Lines) -> BulkStep:
        count = 2 if lines.number == 1 else lines.count
        read.append(f"{count} from {lines.number}")
        return BulkStep(count)

    assert list(read_in_bulk([five_lines(), Line(6, "six")], one, many)) == []
    assert read == ["2 from 1", "one 3", "2 from 4", "one 6"]


@pytest.mark.parametrize("most", [50, 10**6])
def test_samples_counted_in_bulk_have_the_statistics_of_samples_counted_one_by_one(most: int) -> None:
    chance = random.Random(most)  # noqa: S311
    values = [chance.randint(0, most) for _ in range(80_000)]
    at_once, one_by_one = Distribution(), Distribution()

    for start in range(0, len(values), 30_000):
        at_once.add_many(np.array(values[start : start + 30_000]))
    for value in values:
        one_by_one.add(value)

    assert at_once.statistics() == one_by_one.statistics()
    assert at_once.count == 80_000


def test_bins_equal_a_tuple_with_the_same_numbers() -> None:
    bins = Bins([10, 19, 3, 20, 29, 5])
    same = ((10, 19, 3), (20, 29, 5))

    assert (tuple(bins), len(bins), bins[1], bins[-1], bins[:1]) == (same, 2, (20, 29, 5), (20, 29, 5), ((10, 19, 3),))
    assert Histogram(payload_bytes=64, basis="rtt", bins=bins) == Histogram(payload_bytes=64, basis="rtt", bins=same)
    assert np.asarray(bins, dtype=np.int64).tolist() == [list(edges) for edges in same]
    assert defect_of(Finding(Line(1, ""), Histogram(payload_bytes=64, basis="rtt", bins=bins)), 1) is None
    with pytest.raises(OverflowError):
        Bins([1, 2, 2**63])
    with pytest.raises(ValueError, match="lacks a number"):
        Bins([1, 2])


@pytest.mark.parametrize(
    ("head", "found"),
    [("alpha 1\n", True), ("beta\nalpha 1", True), ("an alpha 1", False), ("beta\r\nalpha 1\r\n", True), ("alpha x", False), ("", False)],
)
def test_pattern_of_a_line_start_matches_only_at_the_start_of_a_line(head: str, found: bool) -> None:
    assert LineStart(r"alpha \d\r?$").is_in(head) == found


def test_array_is_rounded_in_the_same_way_as_single_numbers() -> None:
    chance = random.Random(1)  # noqa: S311
    values = [float(chance.randint(1, 10**digits)) * step for digits in range(1, 21) for step in (1000, 1, 0.1, 0.001) for _ in range(50)]

    assert rounded(np.array(values)).tolist() == [round(value, 3) for value in values]


def repetitions(pattern: Any) -> Iterator[tuple[str, int, int]]:  # noqa: ANN401 - the type of a parsed pattern is not public
    """Yield the kind, the smallest count and the largest count of each repetition in a parsed pattern."""
    for index in range(len(pattern)) if hasattr(pattern, "__getitem__") else ():
        item = pattern[index]
        if isinstance(item, tuple) and str(item[0]).endswith("_REPEAT"):
            yield str(item[0]), item[1][0], item[1][1]
        yield from repetitions(item)


@pytest.mark.parametrize(("name", "bulk"), [(name, bulk) for name, module in formats().items() for bulk in getattr(module, "BULK", ())])
def test_no_pattern_of_a_line_backtracks(name: str, bulk: Bulk) -> None:
    parsed = re._parser.parse(bulk.line)  # type: ignore[attr-defined]  # noqa: SLF001 - nothing public says what is in a pattern

    assert [repetition for repetition in repetitions(parsed) if repetition[0] != "POSSESSIVE_REPEAT" and repetition[1] != repetition[2]] == [], name
