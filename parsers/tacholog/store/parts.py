"""Parts: Parquet files with the numbers of some runs. The name of a part is the SHA-256 of its bytes, so a damaged part is recognised.

A part is written under another name and then renamed, so it is either complete or missing. Only its owner can read it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import tempfile
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tacholog.schema.columns import Kind
from tacholog.schema.conditions import CONDITIONS, Conditions
from tacholog.schema.metrics import METRICS
from tacholog.schema.records import BOUNDS
from tacholog.schema.tables import RESULTS
from tacholog.store.columns import NOT_STATED, Columns, Shape
from tacholog.store.engine import PARQUET, TYPES, ask, connected, make_words, one_of, quoted, text, why_not_written

# NumPy and pandas take long to import, and many commands do not need them. So each function that needs them imports them.
if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

    from tacholog.store.columns import Integers

_READ_BYTES = 1 << 20
_OF_RECORDS = ("line", "payload_bytes", "payload_bytes_high", "samples")
_OF_SHAPES = ("scope", "test", "side", "participant")
#: The additional columns of a part: the number of the run in the part, a hash of the record's shape, and the ordinal of a number. The ordinal counts
#: the numbers with the same name on one line.
RUN, SETTING, ORDINAL = "run_number", "setting", "ordinal"
#: The usual values of columns. If all rows have the usual value, a part does not contain the column.
DEFAULTS = {"marks": "0", ORDINAL: "1", "last_line": "line"}


class Parts:
    """A folder of parts."""

    def __init__(self, folder: Path | None) -> None:
        """Use this folder. It need not exist. ``None`` means a temporary folder, which is deleted at the end."""
        self._folder = folder
        self._checked: set[str] = set()

    @property
    def folder(self) -> Path:
        """The folder. It is created if it does not exist."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="tacholog-parts-"))
            weakref.finalize(self, _remove, self._folder)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder

    def path(self, name: str) -> Path:
        """Return the path of the part with this name. The part need not exist."""
        return self.folder / f"{name}.parquet"

    def is_whole(self, name: str) -> bool:
        """Whether the part exists and is undamaged. A damaged part is deleted."""
        if name not in self._checked:
            path = self.path(name)
            try:
                if _sha256(path) == name:
                    self._checked.add(name)
                else:
                    path.unlink()
            except OSError:
                return False
        return name in self._checked


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def _sha256(path: Path) -> str:
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def put_part(folder: Path, write: Callable[[Path], object]) -> str:
    """Call ``write`` with the path of a new file in a folder of parts, and return the name of the resulting part.

    Raises:
        OSError: it cannot be written.
    """
    made = folder / f".part-{os.getpid()}-{secrets.token_hex(8)}"
    try:
        os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # Logs may contain private data.
        write(made)
        with made.open("rb", buffering=0) as file:
            os.fsync(file.fileno())  # Without `fsync`, a power failure may leave a file that has the name of the part, but not its content.
        name = _sha256(made)
        made.replace(folder / f"{name}.parquet")
    finally:
        made.unlink(missing_ok=True)
    return name


def write_part(folder: Path, columns: Columns, logs: Sequence[tuple[int, str]], log_of: Integers) -> str:
    """Write results as a part, and return its name.

    Args:
        folder: the folder of the part.
        columns: the results.
        logs: the number of the run and the name of each log.
        log_of: for each record the index of its log in ``logs``.

    Raises:
        OSError: it cannot be written.
    """
    import duckdb

    def write(path: Path) -> None:
        with connected(folder) as connection:
            try:
                _write_table(connection, columns, logs, log_of, path)
            except duckdb.IOException as error:
                raise OSError(why_not_written(error)) from error

    return put_part(folder, write)


def _write_table(connection: duckdb.DuckDBPyConnection, columns: Columns, logs: Sequence[tuple[int, str]], log_of: Integers, path: Path) -> None:
    """Write the table of a part, with one row for each number. A column without any value is left out."""
    records, numbers, shapes, names = columns.records, columns.numbers, columns.shapes, columns.names
    record = numbers.record
    table = _PartTable(connection)
    table.add_coded(log_of[record], {RUN: [number for number, _ in logs], "log": [name for _, name in logs]})
    of_shapes = {name: [getattr(shape, name) for shape in shapes] for name in _OF_SHAPES}
    of_conditions = {name: [getattr(shape.conditions, name) for shape in shapes] for name in Conditions.__struct_fields__}
    table.add_coded(records.shape[record], {SETTING: [_setting(shape) for shape in shapes], **of_shapes, **of_conditions})
    units = [METRICS[metric].unit for metric, _ in names]
    table.add_coded(numbers.name, {"metric": [metric for metric, _ in names], "statistic": [statistic for _, statistic in names], "unit": units})
    table.add_coded(numbers.bound, {"bound": BOUNDS})
    for name in _OF_RECORDS:
        table.add_integers(name, getattr(records, name)[record])
    if (records.last_line != records.line).any():
        table.add_integers("last_line", records.last_line[record])
    table.add_integers("value_line", numbers.value_line)
    table.add_integers("marks", numbers.marks, absent=0)
    table.add_integers(ORDINAL, ordinals(columns, log_of), absent=1)
    table.add_floats("value", numbers.value)
    table.add_floats("resolution", numbers.resolution)
    table.write(path, 1 + max(number for number, _ in logs))


def _setting(shape: Shape) -> int:
    return int.from_bytes(hashlib.sha256(msgspec.msgpack.encode(shape)).digest()[:8], "little", signed=True)


class _PartTable:
    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._arrays: dict[str, NDArray[Any]] = {}
        self._columns: dict[str, str] = {}
        self._words: dict[str, list[str | None]] = {}

    def add_coded(self, codes: Integers, columns: Mapping[str, Sequence[Any]]) -> None:
        """Add columns that use the same codes.

        Each column has a list of values. The code of a row is an index in these lists: it selects the value of the row.

        Args:
            codes: the code of each row.
            columns: for each column the list of its values.
        """
        import numpy as np

        used = np.flatnonzero(np.bincount(codes)).tolist()
        array = f"codes of {next(iter(columns))}"
        self._arrays[array] = codes
        for name, values in columns.items():
            different = list(dict.fromkeys(values[code] for code in used))
            if different == [None]:
                continue
            type_ = TYPES[_kind(name)]
            if _kind(name) == "text":
                self._words[name] = different
                type_ = make_words(self._connection, name, [word for word in values if word is not None])
            are_same = different * len(values) if len(different) == 1 else values
            self._columns[name] = one_of(self._connection, name, type_, are_same, quoted(array))

    def add_integers(self, name: str, values: Integers, absent: int = NOT_STATED) -> None:
        """Add a column of integers. If all values are ``absent``, the column is left out."""
        import numpy as np

        if (values != absent).any():
            self._arrays[name] = np.ascontiguousarray(values)
            self._columns[name] = f"nullif({quoted(name)}, {absent})"

    def add_floats(self, name: str, values: NDArray[np.float64]) -> None:
        import numpy as np

        self._arrays[name] = np.ascontiguousarray(values)
        self._columns[name] = f"nullif({quoted(name)}, 'NaN'::DOUBLE)"

    def write(self, path: Path, runs: int) -> None:
        """Write the table to a file, together with the metadata that `contents_of` reads."""
        self._connection.register("arrays", self._arrays)
        about = text(msgspec.json.encode(_About(runs, list(self._columns), self._words)).decode())
        query = f"SELECT {', '.join(f'{value} AS {quoted(name)}' for name, value in self._columns.items())} FROM arrays"  # noqa: S608 - our own words
        how = f"{PARQUET}, USE_TMP_FILE false, KV_METADATA {{about: {about}}}"
        ask(self._connection, f"COPY ({query}) TO {text(str(path))} ({how})")


def _kind(name: str) -> Kind:
    return "integer" if name in (RUN, SETTING) else (RESULTS.get(name) or CONDITIONS[name]).kind


class _About(msgspec.Struct, array_like=True):
    """The metadata of a part: the number of its runs, its columns, and the words of each column.

    Each word occurs once. A list contains ``None`` if a row has no word in this column.
    """

    runs: int
    columns: list[str]
    words: dict[str, list[str | None]]


class Contents(NamedTuple):
    """The contents of some parts.

    Attributes:
        runs: the number of runs of each part.
        columns: the columns that at least one part has.
        words: for each column of words, the different words in this column.
        everywhere: the columns that contain the same word in all rows of all parts, each with this word.
    """

    runs: Mapping[str, int]
    columns: Collection[str]
    words: Mapping[str, list[str]]
    everywhere: Mapping[str, str]


def contents_of(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> Contents:
    """Read the metadata of some parts."""
    rows = ask(connection, "SELECT file_name, value FROM parquet_kv_metadata($files) WHERE key = 'about'", {"files": paths}) if paths else []
    of_files = {name: msgspec.json.decode(content, type=_About) for name, content in rows}
    abouts = [of_files[path] for path in paths]
    columns = dict.fromkeys(name for about in abouts for name in about.columns)
    different = {name: dict.fromkeys(word for about in abouts for word in about.words.get(name, [None])) for name in columns}
    words = {name: [word for word in of_column if word is not None] for name, of_column in different.items()}
    everywhere = {name: words[name][0] for name, of_column in different.items() if len(of_column) == len(words[name]) == 1}
    return Contents({path: about.runs for path, about in zip(paths, abouts, strict=True)}, columns.keys(), words, everywhere)


def ordinals(columns: Columns, log_of: Integers) -> Integers:
    """Return the ordinal of each number among the numbers with the same name on its line, counted from 1. Most ordinals are 1."""
    import numpy as np

    numbers, result = columns.numbers, np.ones(columns.number_count, dtype=np.int64)
    if not len(result):
        return result
    line, log = columns.records.line[numbers.record], log_of[numbers.record]
    starts = np.ones(len(result), dtype=bool)
    starts[1:] = (np.diff(line) != 0) | (np.diff(log) != 0)
    key = np.cumsum(starts) * len(columns.names) + numbers.name
    if (np.diff(key) > 0).all():
        return result
    order = np.argsort(key, kind="stable")
    first = np.ones(len(result), dtype=bool)
    first[1:] = np.diff(key[order]) != 0
    if not first.all():
        positions = np.arange(len(result))
        result[order] = positions - np.maximum.accumulate(np.where(first, positions, 0)) + 1
    return result
