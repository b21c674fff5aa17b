"""DuckDB, the engine that writes and reads the parts."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tacholog.schema.columns import Kind

if TYPE_CHECKING:
    import duckdb

#: The type of a column of each kind. If all words of a column are known in advance, its type is an ENUM, which is several times as fast as texts.
TYPES: Mapping[Kind, str] = {"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "true or false": "BOOLEAN", "list": "BIGINT"}
_MEMORY = "1GB"  # The limit for memory. Without it, DuckDB takes up to 80 % of the memory of the machine.
# A column with more different values than this limit gets no dictionary, because a dictionary would take time and make the file larger. A column
# of an ENUM always has a dictionary.
PARQUET = "FORMAT parquet, COMPRESSION zstd, DICTIONARY_SIZE_LIMIT 1000"
_OFFLINE = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}


@contextmanager
def connected(folder: Path | str | None = None, threads: int = 1) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database in memory. Data that does not fit into memory is written to a new folder in ``folder``. Only the user can read the new folder.

    Raises:
        MemoryError: a query needs more memory than the machine has.
        OSError: a file cannot be read or written.
    """
    import duckdb

    with tempfile.TemporaryDirectory(prefix=".spill-", dir=folder) as spill:
        connection = duckdb.connect(config={"memory_limit": _MEMORY, "threads": threads, "temp_directory": spill, **_OFFLINE})
        try:
            yield connection
        except duckdb.OutOfMemoryException as error:
            raise MemoryError(str(error)) from error
        except duckdb.IOException as error:  # For example, another command has deleted the part in the meantime.
            raise OSError(errno.EIO, str(error)) from error
        finally:
            connection.close()


def ask(connection: duckdb.DuckDBPyConnection, query: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """Run a query and return its rows."""
    return connection.execute(query, values).fetchall()


def why_not_written(error: Exception) -> str:
    """Return the message of the operating system from an error of DuckDB about a file. The message may be inside JSON."""
    return str(error).rpartition(": ")[2].partition('"')[0]


def quoted(name: str) -> str:
    """Return a name in the quotes that SQL requires."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Return a text in the quotes that SQL requires."""
    return "'" + value.replace("'", "''") + "'"


def make_words(connection: duckdb.DuckDBPyConnection, name: str, words: Iterable[str]) -> str:
    """Create an ENUM of these words, and return its name."""
    type_ = quoted(f"words of {name}")
    ask(connection, "SET VARIABLE words = $words::VARCHAR[]", {"words": list(dict.fromkeys(words))})
    ask(connection, f"CREATE TYPE {type_} AS ENUM (SELECT unnest(getvariable('words')))")
    return type_


def set_list(connection: duckdb.DuckDBPyConnection, name: str, type_: str, values: Iterable[object]) -> str:
    """Store values in a variable, and return the SQL expression for the list of these values."""
    ask(connection, f"SET VARIABLE {quoted(name)} = $values::{type_}[]", {"values": list(values)})
    return f"getvariable({text(name)})"


def one_of(connection: duckdb.DuckDBPyConnection, name: str, type_: str, values: Sequence[object], position: str) -> str:
    """Return the SQL expression for the value at a position. ``position`` is an SQL expression too; the first position is 0.

    If all values are equal, the expression does not contain ``position``.
    """
    is_same = len({*values}) == 1
    listed = set_list(connection, f"values of {name}", type_, values[:1] if is_same else values)
    return f"{listed}[{1 if is_same else f'{position} + 1'}]"


def opened_parquet(stream: BinaryIO, path: Path) -> str:
    """Return the SQL expression that reads a Parquet file that is already open.

    DuckDB reads the open file, even if another file has replaced it at ``path``. On Windows, this is not possible, so DuckDB opens ``path`` again.
    """
    folder = Path("/dev/fd")
    return f"read_parquet({text(str(folder / str(stream.fileno()) if folder.is_dir() else path))})"
