"""Parts: Parquet files with the numbers of some runs. The name of a part is the SHA-256 of its bytes, so that one that is damaged is found.

A part is written under another name and renamed: it is whole, or it is not there. Only its owner can read it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tacholog.schema.columns import Kind
from tacholog.schema.conditions import CONDITIONS, Conditions
from tacholog.schema.metrics import METRICS
from tacholog.schema.records import BOUNDS
from tacholog.schema.tables import RESULTS
from tacholog.store.columns import NOT_STATED, Columns, Shape
from tacholog.store.engine import TYPES, ask, connected, make_words, quoted, text, why_not_written

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

    from tacholog.store.columns import Integers

_READ_BYTES = 1 << 20
_OF_RECORDS = ("line", "last_line", "payload_bytes", "payload_bytes_high", "samples")
_OF_SHAPES = ("scope", "test", "side", "participant")
#: Columns of a part that are no columns of the results: the number of the run; what was measured, as a number that is equal for equal conditions; and
#: which one a number is of those of its line that have its name.
RUN, SETTING, ORDINAL = "run_number", "setting", "ordinal"


class Parts:
    """A folder of parts."""

    def __init__(self, folder: Path | None) -> None:
        """Use this folder, which need not exist; without one, a folder that is deleted at the end."""
        self._folder = folder
        self._whole: set[str] = set()

    @property
    def folder(self) -> Path:
        """The folder, which exists now."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="tacholog-parts-"))
            weakref.finalize(self, _remove, self._folder)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder

    def path(self, name: str) -> Path:
        """Return where a part of this name is, if it is there."""
        return self.folder / f"{name}.parquet"

    def is_whole(self, name: str) -> bool:
        """Whether there is a part of this name, with the bytes that it was written with. One that is damaged is deleted."""
        if name not in self._whole:
            path = self.path(name)
            try:
                if _sha256(path) == name:
                    self._whole.add(name)
                else:
                    path.unlink()
            except OSError:
                return False
        return name in self._whole


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def _sha256(path: Path) -> str:
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def put_part(folder: Path, write: Callable[[Path], object]) -> str:
    """Let ``write`` write a file into a folder of parts, and return its name as a part.

    Raises:
        OSError: it cannot be written.
    """
    made = folder / f".part-{os.getpid()}-{secrets.token_hex(8)}"
    try:
        os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # Logs may hold private data.
        write(made)
        with made.open("rb", buffering=0) as file:
            os.fsync(file.fileno())  # After a power failure, a file may have its name and not its bytes.
        name = _sha256(made)
        made.rename(folder / f"{name}.parquet")
    finally:
        made.unlink(missing_ok=True)
    return name


def write_part(folder: Path, columns: Columns, logs: Sequence[tuple[int, str]], log_of: Integers) -> str:
    """Write results as a part, and return its name.

    Args:
        folder: where to.
        columns: the results.
        logs: the number of the run and the name of each log.
        log_of: for each record the place of its log in ``logs``.

    Raises:
        OSError: it cannot be written.
    """
    import duckdb

    def write(path: Path) -> None:
        with connected(folder) as connection:
            try:
                _copy(connection, columns, logs, log_of, path)
            except duckdb.IOException as error:
                raise OSError(why_not_written(error)) from error

    return put_part(folder, write)


def _copy(connection: duckdb.DuckDBPyConnection, columns: Columns, logs: Sequence[tuple[int, str]], log_of: Integers, path: Path) -> None:
    """Write one row for each number. What all rows have is written once, and a column without any value is left out."""
    table = _Table(connection, columns.number_count)
    records, numbers, shapes, names = columns.records, columns.numbers, columns.shapes, columns.names
    record = numbers.record
    table.add_coded(RUN, log_of[record], [number for number, _ in logs])
    table.add_coded("log", log_of[record], [name for _, name in logs])
    shape = records.shape[record]
    table.add_coded(SETTING, shape, [_setting(one) for one in shapes])
    for name in _OF_SHAPES:
        table.add_coded(name, shape, [getattr(one, name) for one in shapes])
    for name in Conditions.__struct_fields__:
        table.add_coded(name, shape, [getattr(one.conditions, name) for one in shapes])
    table.add_coded("metric", numbers.name, [metric for metric, _ in names])
    table.add_coded("statistic", numbers.name, [statistic for _, statistic in names])
    table.add_coded("unit", numbers.name, [METRICS[metric].unit for metric, _ in names])
    table.add_coded("bound", numbers.bound, BOUNDS)
    for name in _OF_RECORDS:
        table.add_integers(name, getattr(records, name)[record])
    table.add_integers("value_line", numbers.value_line)
    table.add_integers("marks", numbers.marks, absent=0)
    table.add_integers(ORDINAL, ordinals(columns, log_of), absent=1)
    table.add_floats("value", numbers.value)
    table.add_floats("resolution", numbers.resolution)
    table.write(path)


def _setting(shape: Shape) -> int:
    """Return a number for what a record was measured under: the same for equal conditions."""
    return int.from_bytes(hashlib.sha256(msgspec.msgpack.encode(shape)).digest()[:8], "little", signed=True)


class _Table:
    """A table that is put together column by column, and written."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, rows: int) -> None:
        import numpy as np

        self._connection = connection
        self._arrays: dict[str, NDArray[Any]] = {"rows": np.zeros(rows, dtype=np.int8)}
        self._columns: list[str] = []
        self.words: dict[str, list[str]] = {}

    def add_coded(self, name: str, codes: Integers, values: Sequence[object]) -> None:
        """Add a column that has one of these values in each row."""
        import numpy as np

        used = np.flatnonzero(np.bincount(codes, minlength=len(values))).tolist()
        known = list(dict.fromkeys(value for place in used if (value := values[place]) is not None))
        if not known:
            return
        type_ = TYPES[_kind(name)]
        if _kind(name) == "text":
            self.words[name] = [str(word) for word in known]
            type_ = make_words(self._connection, name, self.words[name])
        if len(known) == 1 and all(values[place] is not None for place in used):
            ask(self._connection, f"SET VARIABLE {quoted(name)} = $value::{TYPES[_kind(name)]}", {"value": known[0]})
            self._columns.append(f"getvariable({text(name)})::{type_} AS {quoted(name)}")
            return
        places = {value: place for place, value in enumerate(known)}
        meant = np.array([places.get(value, -1) for value in values], dtype=np.int64)
        self._arrays[name] = meant[codes] + 1  # No value is at place 0.
        values_of = f"enum_range(NULL::{type_})" if _kind(name) == "text" else f"getvariable({text(name)})"
        if _kind(name) != "text":
            ask(self._connection, f"SET VARIABLE {quoted(name)} = $values::{type_}[]", {"values": known})
        self._columns.append(f"{values_of}[{quoted(name)}]::{type_} AS {quoted(name)}")

    def add_integers(self, name: str, values: Integers, absent: int = NOT_STATED) -> None:
        """Add a column of integers; left out if none of them is known."""
        import numpy as np

        if not len(values) or not (values != absent).any():
            return
        self._arrays[name] = np.ascontiguousarray(values)
        known = f"nullif({quoted(name)}, {NOT_STATED})" if absent == NOT_STATED else quoted(name)
        self._columns.append(f"{known} AS {quoted(name)}")

    def add_floats(self, name: str, values: NDArray[np.float64]) -> None:
        """Add a column of floats."""
        import numpy as np

        self._arrays[name] = np.ascontiguousarray(values)
        self._columns.append(f"nullif({quoted(name)}, 'NaN'::DOUBLE) AS {quoted(name)}")

    def write(self, path: Path) -> None:
        """Write it, with the words of each of its columns."""
        self._connection.register("arrays", self._arrays)
        words = text(msgspec.json.encode(self.words).decode())
        query = f"SELECT {', '.join(self._columns)} FROM arrays"  # noqa: S608 - our own words
        ask(
            self._connection,
            f"COPY ({query}) TO {text(str(path))} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false, KV_METADATA {{words: {words}}})",
        )


def _kind(name: str) -> Kind:
    return "integer" if name in (RUN, SETTING) else (RESULTS.get(name) or CONDITIONS[name]).kind


def words_of(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> Mapping[str, list[str]]:
    """Return the words of each column of some parts."""
    found: dict[str, dict[str, None]] = {}
    files = {"files": list(paths)}
    for (content,) in ask(connection, "SELECT value FROM parquet_kv_metadata($files) WHERE key = 'words' ORDER BY file_name", files):
        for name, words in msgspec.json.decode(content, type=dict[str, list[str]]).items():
            found.setdefault(name, {}).update(dict.fromkeys(words))
    return {name: list(words) for name, words in found.items()}


def ordinals(columns: Columns, log_of: Integers) -> Integers:
    """Return of each number which it is of those of its line that have its name, from 1. Most lines give one number of a name."""
    import numpy as np

    numbers, found = columns.numbers, np.ones(columns.number_count, dtype=np.int64)
    if not len(found):
        return found
    line, log = columns.records.line[numbers.record], log_of[numbers.record]
    starts = np.ones(len(found), dtype=bool)
    starts[1:] = (np.diff(line) != 0) | (np.diff(log) != 0)
    key = np.cumsum(starts) * len(columns.names) + numbers.name
    order = np.argsort(key, kind="stable")
    first = np.ones(len(found), dtype=bool)
    first[1:] = np.diff(key[order]) != 0
    if not first.all():
        places = np.arange(len(found))
        found[order] = places - np.maximum.accumulate(np.where(first, places, 0)) + 1
    return found
