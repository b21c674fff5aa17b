"""The columns of a log do not depend on how its lines were read."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from tests.long_logs import LONG_LOGS, LongLog

from tacholog.formats.blocks import RecordBlock
from tacholog.formats.reading import Event, Scan
from tacholog.formats.source import LogText
from tacholog.schema.records import Number, Record
from tacholog.store.columns import ColumnBuilder

NEVER = 1_000_000


def columns_of(log: LongLog, text: str, run_lines: int) -> tuple[list[object], list[object], Any, Any]:
    scan, builder = Scan(LogText(io.BytesIO(text.encode())), log.format, run_lines), ColumnBuilder()
    for batch in scan.batches():
        if isinstance(batch, RecordBlock):
            builder.add_block(batch, len(scan.account.runs))
        elif isinstance(batch.what, Record):
            builder.add(batch, batch.what)
    shapes, names, records, numbers = builder.finish()
    return list(shapes), list(names), np.stack(list(records)), np.stack(list(numbers))


@pytest.mark.parametrize("name", [name for name in LONG_LOGS if "samples" not in name])  # A log of samples is a single record.
def test_reading_in_blocks_gives_the_same_columns_as_reading_line_by_line(name: str) -> None:
    log = LONG_LOGS[name]
    lines = log.text(120).splitlines(keepends=True)
    # An unknown line ends a block, so that blocks and single records alternate.
    text = "".join(line + "no line of this tool\n" * (place % 50 == 0 and place > 0) for place, line in enumerate(lines))
    many, single = columns_of(log, text, 3), columns_of(log, text, NEVER)
    assert single[2].shape[1] > 0
    assert many[:2] == single[:2]
    assert np.array_equal(many[2], single[2])
    assert np.array_equal(many[3], single[3])  # Floats are compared as bits, so that NaN equals NaN.


def test_records_are_sorted_by_their_lines_even_if_they_are_added_in_another_order() -> None:
    builder, expected = ColumnBuilder(), []
    # Each item is the line of a record, and the number of values in the record. Line 4 has two records.
    for place, (line, count) in enumerate([(3, 2), (2, 1), (4, 0), (4, 3), (6, 1), (5, 2), (9, 1), (8, 1), (7, 2)]):
        stated = tuple(Number(metric="latency", statistic="p50", value=float(10 * place + one)) for one in range(count))
        builder.add(Event(line, line, (line,), "", "record", None, 0), Record(test="latency", payload_bytes=place + 1, numbers=stated))
        expected += [(line, place, 10.0 * place + one) for one in range(count)]
    _, _, records, numbers = builder.finish()
    assert records[0].tolist() == [2, 3, 4, 4, 5, 6, 7, 8, 9]
    assert records[3].tolist() == [2, 1, 3, 4, 6, 5, 9, 8, 7]
    found = list(zip(records[0][numbers[0]].tolist(), (records[3][numbers[0]] - 1).tolist(), numbers[2].view("float64").tolist(), strict=True))
    assert found == sorted(expected)
