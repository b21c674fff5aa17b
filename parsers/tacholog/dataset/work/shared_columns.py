"""Columns of a large log in memory that two processes share: the one fills them, and the other one uses them where they are.

They are in the pack of the log too, which goes into the cache. To take them out of it costs a tenth of what the export of a large log takes.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import resource
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tacholog.dataset.columns import one_value

if TYPE_CHECKING:
    from tacholog.dataset.columns import Integers

_WORD_BYTES = 8
# A column of another process keeps a file open here as long as it is in use. So many are used, or this part of the files that may be open.
_MOST_FILES, _PART_OF_FILES = 64, 8
_borrowed_memory: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
_lock = threading.Lock()


class SharedColumn(msgspec.Struct, frozen=True, array_like=True):
    """Where another process finds a column.

    Attributes:
        count: how many values it has.
        file: the descriptor of a file that is nowhere but in memory; ``None`` if all rows have the same value.
        value: that value.
    """

    count: int
    file: int | None = None
    value: int = 0


class Lender:
    """Makes columns that another process can use."""

    def __init__(self) -> None:
        """Start without columns."""
        self._files: dict[int, int] = {}  # by the place of the column in memory

    def column(self, count: int) -> Integers:
        """Return a column of so many values, at least one, which is not filled yet. Where memory cannot be shared, it is an array as any other."""
        import numpy as np

        try:
            return self._shared(count)
        except OSError:
            return np.empty(count, dtype=np.int64)

    def _shared(self, count: int) -> Integers:
        import numpy as np

        if sys.platform != "linux":
            raise OSError("only Linux has files that are in memory and cannot shrink")
        file = os.memfd_create("tacholog-column", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(file, count * _WORD_BYTES)
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)  # Whoever uses it would be killed if it shrank.
            made = np.frombuffer(mmap.mmap(file, count * _WORD_BYTES), dtype=np.int64)
        except OSError:
            os.close(file)
            raise
        self._files[_place(made)] = file
        return made

    def lent(self, columns: Sequence[Integers]) -> list[SharedColumn]:
        """Return where another process finds these columns, which must not be empty. Those that were made elsewhere are copied.

        Returns:
            One for each column; none if one of them cannot be shared.
        """
        try:
            return [self._lent(column) for column in columns]
        except OSError:
            return []

    def _lent(self, column: Integers) -> SharedColumn:
        if column.strides == (0,):
            return SharedColumn(len(column), value=int(column[0]))
        if _place(column) not in self._files:
            column, own = self._shared(len(column)), column
            column[:] = own
        return SharedColumn(len(column), self._files[_place(column)])

    def take_back(self) -> None:
        """Close the files. Whoever has opened them keeps them."""
        for file in self._files.values():
            os.close(file)
        self._files.clear()


def _place(column: Integers) -> int:
    return int(column.__array_interface__["data"][0])


def borrowed(process: int, columns: Sequence[SharedColumn]) -> list[Integers]:
    """Return columns that another process lends. They can be changed here, which does not change them there.

    Args:
        process: its id.
        columns: where they are.

    Returns:
        The columns; none if one of them cannot be had, or if many are in use already.
    """
    try:
        with _lock:
            files = sum(column.file is not None for column in columns)
            return [_borrowed(process, column) for column in columns] if len(_borrowed_memory) + files <= _most_files() else []
    except (OSError, ValueError, OverflowError):  # Not every system lets one process open the files of another one.
        return []


def _most_files() -> int:
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_FILES if allowed == resource.RLIM_INFINITY else min(_MOST_FILES, allowed // _PART_OF_FILES)


def _borrowed(process: int, column: SharedColumn) -> Integers:
    import numpy as np

    if column.file is None:
        return one_value(column.value, column.count)
    if sys.platform != "linux":
        raise OSError("only Linux has files that are in memory and cannot shrink")
    file = os.open(f"/proc/{process}/fd/{column.file}", os.O_RDWR | os.O_CLOEXEC)
    try:
        if not fcntl.fcntl(file, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
            raise ValueError("the file can shrink")
        memory = mmap.mmap(file, column.count * _WORD_BYTES, flags=mmap.MAP_PRIVATE)
    finally:
        os.close(file)  # The memory has a descriptor of its own.
    _borrowed_memory.add(memory)
    return np.frombuffer(memory, dtype=np.int64)
