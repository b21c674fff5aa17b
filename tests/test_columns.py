"""The columns of a log do not depend on how its lines were read."""

from __future__ import annotations

import io

import numpy as np
import pytest
from tests.long_logs import LONG_LOGS, LongLog

from tacholog.dataset.columns import ColumnBuilder
from tacholog.formats.blocks import RecordBlock
from tacholog.formats.reading import Scan
from tacholog.formats.source import LogText
from tacholog.schema.records import Record

NEVER = 1_000_000


def columns_of(log: LongLog, text: str, run_lines: int) -> tuple[list[object], list[object], np.ndarray, np.ndarray]:
    scan, builder = Scan(LogText(io.BytesIO(text.encode())), log.format, run_lines), ColumnBuilder()
    for batch in scan.batches():
        if isinstance(batch, RecordBlock):
            builder.add_block(batch, len(scan.account.runs))
        elif isinstance(batch.what, Record):
            builder.add(batch, batch.what)
    shapes, names, records, numbers = builder.finish()
    return list(shapes), list(names), records, numbers


@pytest.mark.parametrize("name", [name for name in LONG_LOGS if "samples" not in name])  # All samples of a log are one record.
def test_blocks_and_single_records_in_turn_give_the_columns_of_single_records(name: str) -> None:
    log = LONG_LOGS[name]
    lines = log.text(120).splitlines(keepends=True)
    # A line that no block holds ends a run, so that blocks and single records take turns.
    text = "".join(line + "no line of this tool\n" * (place % 50 == 0 and place > 0) for place, line in enumerate(lines))
    many, single = columns_of(log, text, 3), columns_of(log, text, NEVER)
    assert single[2].shape[1] > 0
    assert many[:2] == single[:2]
    assert np.array_equal(many[2], single[2])
    assert np.array_equal(many[3], single[3])  # Floats as bits: NaN is NaN.
