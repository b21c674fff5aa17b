"""Columns in memory that two processes share."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tacholog.dataset.columns import one_value
from tacholog.dataset.work.shared_columns import Lender, SharedColumn, borrowed

pytestmark = [
    pytest.mark.machinery,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux has files that are in memory and cannot shrink"),
]

# It lends three columns, and says where they are. At each line that it reads, it says what is in the first one; at the end it takes them back.
_OTHER = """
import json, sys, numpy as np, msgspec
from tacholog.dataset.columns import one_value
from tacholog.dataset.work.shared_columns import Lender
lender = Lender()
made = lender.column(3)
made[:] = [-1, 2, 1 << 62]
print(msgspec.json.encode(lender.lent([made, np.array([5, 6]), one_value(-7, 4)])).decode(), flush=True)
for line in sys.stdin:
    if line == "take back\\n":
        lender.take_back()
    print(json.dumps(made.tolist()), flush=True)
"""


@contextmanager
def another_process() -> Iterator[tuple[subprocess.Popen[str], list[SharedColumn]]]:
    with subprocess.Popen([sys.executable, "-c", _OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        yield process, [SharedColumn(*one) for one in json.loads(process.stdout.readline())]
        process.stdin.close()


def said(process: subprocess.Popen[str], line: str) -> object:
    assert process.stdin
    assert process.stdout
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def values(columns: Sequence[np.ndarray]) -> list[list[int]]:
    return [column.tolist() for column in columns]


def test_another_process_finds_the_columns_and_may_change_them_for_itself() -> None:
    with another_process() as (process, columns):
        found = borrowed(process.pid, columns)
        assert values(found) == [[-1, 2, 1 << 62], [5, 6], [-7, -7, -7, -7]]

        found[0][1] = 99
        assert said(process, "") == [-1, 2, 1 << 62]
        assert found[0].tolist() == [-1, 99, 1 << 62]


def test_columns_that_were_borrowed_stay_when_they_are_taken_back_and_when_the_other_process_has_ended() -> None:
    with another_process() as (process, columns):
        found = borrowed(process.pid, columns)
        said(process, "take back")
        assert borrowed(process.pid, columns) == []
    assert values(found) == [[-1, 2, 1 << 62], [5, 6], [-7, -7, -7, -7]]


def test_columns_of_a_process_that_has_ended_are_not_there() -> None:
    with another_process() as (process, columns):
        pass
    assert borrowed(process.pid, columns) == []


@pytest.mark.parametrize(
    "wrong",
    [SharedColumn(3, 99_999), SharedColumn(3, -5), SharedColumn(4_000_000, 3), SharedColumn(-3, 3), SharedColumn(-3), SharedColumn(2, value=1 << 70)],
)
def test_a_column_that_cannot_be_had_is_refused_with_all_others(wrong: SharedColumn) -> None:
    with another_process() as (process, columns):
        assert borrowed(process.pid, [*columns, wrong]) == []


def test_no_more_columns_are_in_use_than_files_may_be_open_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacholog.dataset.work.shared_columns._most_files", lambda: 64)
    lender = Lender()
    columns = lender.lent([lender.column(2) for _ in range(40)])
    in_use = borrowed(os.getpid(), columns)
    assert len(in_use) == 40

    before = len(list(Path("/proc/self/fd").iterdir()))
    assert borrowed(os.getpid(), columns) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    del in_use
    assert len(borrowed(os.getpid(), columns)) == 40
    lender.take_back()


def test_a_file_that_can_shrink_is_refused() -> None:
    file = os.memfd_create("can shrink")
    os.ftruncate(file, 80)
    assert borrowed(os.getpid(), [SharedColumn(10, file)]) == []
    os.close(file)


def test_where_no_memory_can_be_shared_columns_are_arrays_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_name: str, _flags: int) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    lender = Lender()
    monkeypatch.setattr(os, "memfd_create", refuse)
    column = lender.column(3)
    column[:] = [1, 2, 3]
    assert column.tolist() == [1, 2, 3]
    assert lender.lent([one_value(3, 2), column]) == []
    assert lender.lent([one_value(3, 2)]) == [SharedColumn(2, value=3)]
