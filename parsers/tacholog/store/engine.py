"""DuckDB, the engine that writes and reads the parts."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacholog.schema.columns import Kind

if TYPE_CHECKING:
    import duckdb

#: The type of a column of each kind. A column of words is an ENUM where all its words are known: texts take several times as long.
TYPES: Mapping[Kind, str] = {"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "true or false": "BOOLEAN", "list": "BIGINT"}
_MEMORY = "1GB"  # Else it takes up to 80 % of what the machine has.
_OFFLINE = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}


@contextmanager
def connected(folder: Path | str | None = None, threads: int = 1) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database in memory. What does not fit into it lies in a folder of its own below ``folder``, which only we can read.

    Raises:
        MemoryError: a query takes more memory than there is.
        OSError: a file cannot be read or written.
    """
    import duckdb

    with tempfile.TemporaryDirectory(prefix=".spill-", dir=folder) as spill:
        connection = duckdb.connect(config={"memory_limit": _MEMORY, "threads": threads, "temp_directory": spill, **_OFFLINE})
        try:
            yield connection
        except duckdb.OutOfMemoryException as error:
            raise MemoryError(str(error)) from error
        except duckdb.IOException as error:  # Such as a part that another command has deleted meanwhile.
            raise OSError(errno.EIO, str(error)) from error
        finally:
            connection.close()


def ask(connection: duckdb.DuckDBPyConnection, query: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """Run a query and return its rows."""
    return connection.execute(query, values).fetchall()


def why_not_written(error: Exception) -> str:
    """Return what the system said, out of an error of DuckDB about a file: that may hold a second one, as JSON."""
    return str(error).rpartition(": ")[2].partition('"')[0]


def quoted(name: str) -> str:
    """Return the name of a column, or of anything else, as it stands in a query."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Return a text of our own as it stands in a query."""
    return "'" + value.replace("'", "''") + "'"


def make_words(connection: duckdb.DuckDBPyConnection, name: str, words: Iterable[str]) -> str:
    """Make a type of these words, and return its name."""
    type_ = quoted(f"words of {name}")
    ask(connection, "SET VARIABLE words = $words::VARCHAR[]", {"words": list(dict.fromkeys(words))})
    ask(connection, f"CREATE TYPE {type_} AS ENUM (SELECT unnest(getvariable('words')))")
    return type_


def make_table(connection: duckdb.DuckDBPyConnection, name: str, types: Mapping[str, str], rows: Sequence[Mapping[str, object]]) -> None:
    """Make a small table of rows."""
    fields = ", ".join(f"{quoted(column)} {type_}" for column, type_ in types.items())
    values = [{column: row[column] for column in types} for row in rows]
    ask(connection, f"CREATE TEMP TABLE {quoted(name)} AS SELECT unnest($rows::STRUCT({fields})[], max_depth := 2)", {"rows": values})
