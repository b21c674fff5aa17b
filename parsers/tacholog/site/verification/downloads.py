"""Check the files for programs: Parquet against the logs, column by column; CSV and JSON lines against Parquet, row by row.

``results/latest.json`` is compared with the results of the logs.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there, open_evidence
from tacholog.privacy.free_text import MASK
from tacholog.schema.columns import DTYPES
from tacholog.schema.tables import OFFERED
from tacholog.site.downloads import ALL
from tacholog.site.for_programs import LATEST, latest_files
from tacholog.site.stamp import sha256_of
from tacholog.site.verification.reading import most_unpacked, read_foreign, unpacked_pieces
from tacholog.site.verification.receipt import Mismatch
from tacholog.store.engine import ask, connected, opened_parquet, quoted, text
from tacholog.store.export import FileKind, as_file
from tacholog.view.page_index import DATA, VERSIONS

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

    from tacholog.store.frames import Dataset

#: These columns are not compared here. Values are compared by their ids. Marks depend on machines and on other runs, and a site does not offer all of
#: these.
_NOT_COMPARED = ("id", "value", "marks")
_ENDING = "status"
_KINDS: Mapping[str, FileKind] = {".csv.gz": "csv", ".jsonl.gz": "json"}
_LEAST_ROWS = 100_000  # a table may have this number of rows, and one more row for each byte of its file
_LEAST_TEXT, _MOST_TEXT_TIMES = 1 << 26, 1000  # A table may have this many bytes of text, and this many more for each byte of its file.
_FIXED_SIZES = {"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE"}
_SHOWN_CHARACTERS = 120


def offered_table(site: Path) -> pd.DataFrame:
    """Return the table of all numbers, which a site offers for download.

    Raises:
        UnreadableInput: the table cannot be read.
    """
    import duckdb

    try:
        with open_evidence(site, ALL) as stream, connected() as connection:
            source = opened_parquet(stream, site / ALL)
            _refuse_bomb(connection, source, os.fstat(stream.fileno()).st_size)
            table: pd.DataFrame = connection.execute(f"FROM {source}").df()
        types = {
            name: DTYPES[OFFERED[name].kind] for name in map(str, table.columns) if name in OFFERED and name not in ("id", "run", "log", "value")
        }
        return table.astype({**types, "id": "str", "run": "str", "log": "str", "value": "float64"})
    except (UnreadableInput, OSError, ValueError, TypeError, KeyError, duckdb.Error) as error:
        raise UnreadableInput(f"{site / ALL}: it is not a table of numbers: {error}") from error


def altered_numbers(site: Path, mark: str) -> list[tuple[str, str, int]]:
    """Return each log with numbers that have this mark in the table of a site: its run, its name, and the count of these numbers.

    Raises:
        UnreadableInput: the table cannot be read.
    """
    with open_evidence(site, ALL) as stream, connected() as connection:
        source = opened_parquet(stream, site / ALL)
        if not any(name == "marks" for name, *_ in ask(connection, f"DESCRIBE SELECT * FROM {source}")):  # noqa: S608 - our own words
            return []
        wanted = f"list_contains(string_split(marks::VARCHAR, ' '), {text(mark)})"
        return ask(connection, f"SELECT run, log, count(*) FROM {source} WHERE {wanted} GROUP BY run, log ORDER BY run, log")  # noqa: S608


def _refuse_bomb(connection: duckdb.DuckDBPyConnection, source: str, size_bytes: int) -> None:
    """Refuse a table that would take too much memory for the size of its file.

    For example, a table whose rows all have the same value takes almost no space in the file, but much memory.

    Raises:
        UnreadableInput: the table has more rows or bytes than the size of its file allows.
    """
    metadata = source.replace("read_parquet", "parquet_metadata")
    of_columns = f"SELECT sum(row_group_num_rows) AS rows, sum(total_uncompressed_size) AS bytes FROM {metadata} GROUP BY column_id"  # noqa: S608 - our own words
    ((rows, unpacked),) = ask(connection, f"SELECT max(rows), sum(bytes) FROM ({of_columns})")  # noqa: S608 - our own words
    if (rows or 0) > _LEAST_ROWS + size_bytes or (unpacked or 0) > most_unpacked(size_bytes):
        raise UnreadableInput(f"the table has {rows} rows and {int(unpacked) >> 20} MiB, too much for a file of this size")
    texts = [name for name, type_, *_ in ask(connection, f"DESCRIBE SELECT * FROM {source}") if type_ not in _FIXED_SIZES]  # noqa: S608
    lengths = " + ".join(f"coalesce(sum(strlen({quoted(name)}::VARCHAR)), 0)" for name in texts) or "0"
    ((characters,),) = ask(connection, f"SELECT {lengths} FROM {source}")  # noqa: S608 - our own words, and names in quotes
    if characters > _LEAST_TEXT + _MOST_TEXT_TIMES * size_bytes:
        raise UnreadableInput(f"the texts in the table have {int(characters) >> 20} MiB, too much for a file of this size")


def as_offered(again: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return a table of numbers from the logs. The table has the names of runs that the site uses."""
    runs = [str(run) for run in again["run"]]
    ids = [f"{names[run]}{str(number).removeprefix(run)}" for run, number in zip(runs, again["id"], strict=True)]
    return again.assign(run=[names[run] for run in runs], id=ids)


def columns_compared(offered: pd.DataFrame, again: pd.DataFrame, is_masked: Callable[[str, str], bool]) -> Iterator[Mismatch]:
    """Yield the differences between the site and the logs in all columns except the values: at most one mismatch for each log and column.

    Args:
        offered: the numbers that the site offers.
        again: the numbers that were read again from its logs.
        is_masked: a function that returns whether any text of a log is masked or withheld. Its arguments are the run and the name of the log. If
            the function returns true, the status of the run is not compared, because the masked text may have stated the status.
    """
    yield from (Mismatch(place=ALL, reason=f"the column {name} is not there") for name in OFFERED if name not in offered)
    offered_rows, logged_rows = _by_id(offered), _by_id(again)
    both = offered_rows.index.intersection(logged_rows.index)
    offered_rows, logged_rows = offered_rows.loc[both], logged_rows.loc[both]
    logs = [(str(run), str(log)) for run, log in zip(logged_rows["run"], logged_rows["log"], strict=True)]
    for name in OFFERED:
        if name in _NOT_COMPARED or name not in offered:
            continue
        different: dict[tuple[str, str], list[tuple[str, object, object]]] = {}
        for log, number, offered_value, logged in zip(
            logs, logged_rows["id"], _values_or_none(offered_rows[name]), _values_or_none(logged_rows[name]), strict=True
        ):
            if not _equal(offered_value, logged) and MASK not in str(logged):
                different.setdefault(log, []).append((str(number), offered_value, logged))
        for log, cases in different.items():
            if name == _ENDING and is_masked(*log):
                continue
            number, offered_value, logged = cases[0]
            more = f", also of {len(cases) - 1} more numbers" if len(cases) > 1 else ""
            yield Mismatch(place=number, reason=f"{ALL} has another {name} than the log gives{more}", shown=_words(offered_value), log=_words(logged))


def texts_compared(site: Path, offered: pd.DataFrame) -> Iterator[Mismatch]:
    """Yield the CSV and JSON lines files whose rows differ from those of the Parquet file."""
    kept_from, findings = _kept_from_older(site)
    yield from findings
    head = as_file(offered.iloc[:0], "csv")
    for ending, kind in _KINDS.items():
        wanted = Counter(as_file(offered, kind).removeprefix(head).split(b"\n"))
        wanted.pop(b"", None)
        plain: Callable[[bytes], bytes] = bytes
        for file in sorted((site / DATA).rglob(f"*{ending}")):
            name = file.relative_to(site).as_posix()
            if name in kept_from:
                continue
            try:
                rows = _counted_rows(site, name, head if kind == "csv" else b"")
            except UnreadableInput as error:
                yield Mismatch(place=name, reason=str(error))
                continue
            if plain is bytes and rows - wanted:  # An older version wrote the same values in another notation.
                plain = _plain_csv if kind == "csv" else _plain_json
                wanted = _counted(wanted, plain)
            rows = _counted(rows, plain)
            if others := rows - wanted:
                first = next(islice(others, 1)).decode(errors="replace")[:_SHOWN_CHARACTERS]
                yield Mismatch(place=name, reason=f"{others.total()} rows are not those of {ALL}", shown=first)
            wanted -= rows
        if wanted:
            first = next(islice(wanted, 1)).decode(errors="replace")[:_SHOWN_CHARACTERS]
            yield Mismatch(place=ALL, reason=f"{wanted.total()} rows are in no file *{ending}", shown=first)


def _counted(rows: Counter[bytes], plain: Callable[[bytes], bytes]) -> Counter[bytes]:
    counts: Counter[bytes] = Counter()
    for row, count in rows.items():
        counts[plain(row)] += count
    return counts


def _plain_csv(row: bytes) -> bytes:
    fields = next(csv.reader([row.decode(errors="surrogateescape")]), [])
    return ",".join(f'"{field}"' for field in fields).encode(errors="surrogateescape")


def _plain_json(row: bytes) -> bytes:
    try:
        return json.dumps(json.loads(row)).encode()
    except ValueError:
        return row


def newest_compared(site: Path, again: Dataset, left_out: Collection[str]) -> Iterator[Mismatch]:
    """Yield the rows of ``results/latest.json`` that differ from the logs. The rows of systems in ``left_out`` are not compared."""
    if not is_there(site, LATEST):
        return  # an earlier version built the site, or no release has numbers
    try:
        offered_rows = msgspec.json.decode(read_foreign(site, LATEST), type=_LatestRows)
    except (UnreadableInput, msgspec.DecodeError) as error:
        yield Mismatch(place=LATEST, reason=f"it cannot be read: {error}")
        return
    logged = msgspec.json.decode(latest_files(again, None)[LATEST], type=_LatestRows)
    # A redacted log differs from the original, so its numbers may have another mark. Therefore marks are not compared here, nor in the Parquet file.
    for row in (*offered_rows.rows, *logged.rows):
        row.pop("marks", None)
    offered_counts, logged_counts = (
        Counter(msgspec.json.encode(row, order="sorted").decode() for row in rows) for rows in _of_others(offered_rows, logged, left_out)
    )
    yield from (Mismatch(place=LATEST, reason="the logs give no such row", shown=row) for row in offered_counts - logged_counts)
    yield from (Mismatch(place=LATEST, reason="the logs give this row, and it is not there", log=row) for row in logged_counts - offered_counts)


def _of_others(offered_rows: _LatestRows, logged: _LatestRows, left_out: Collection[str]) -> Iterator[list[dict[str, object]]]:
    yield from ([row for row in rows.rows if row.get("system") not in left_out] for rows in (offered_rows, logged))


class _LatestRows(msgspec.Struct, frozen=True):
    rows: list[dict[str, object]]


def _kept_from_older(site: Path) -> tuple[set[str], list[Mismatch]]:
    """Return the files to which only old links lead, and the problems found. No page of the newest version shows the rows of these files."""
    versions = [path for path in (site / VERSIONS).glob("*") if path.is_dir() and not path.is_symlink()]
    if not versions:
        return set(), []
    newest = [version for version in versions if sha256_of(version / ALL) == sha256_of(site / ALL)]
    if not newest:
        return set(), [Mismatch(place=ALL, reason=f"it differs from the file of each version in {VERSIONS}/")]
    names = {path.relative_to(site).as_posix() for path in (site / DATA).rglob("*.gz")}
    ours = {name for name in names if any((version / name).is_file() for version in newest)}
    return {name for name in names - ours if any(sha256_of(version / name) == sha256_of(site / name) for version in versions)}, []


def _counted_rows(site: Path, name: str, head: bytes) -> Counter[bytes]:
    text = b"".join(unpacked_pieces(site, name))
    if text and not text.startswith(head):
        raise UnreadableInput("its first line does not name the columns")
    rows = Counter(text.removeprefix(head).split(b"\n"))
    rows.pop(b"", None)
    return rows


def _by_id(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a new index: the id of each number, and the count of earlier numbers with this id.

    The count is necessary, because earlier versions of Tacholog gave the same id to several numbers of a line.
    """
    return table.set_index([table["id"].astype(str).rename("number"), table.groupby("id", observed=True).cumcount().rename("place")])


def _values_or_none(column: pd.Series) -> list[object]:
    values: list[object] = column.astype(object).where(column.notna(), None).tolist()
    return values


def _equal(first: object, second: object) -> bool:
    return first == second or (isinstance(first, float) and isinstance(second, float) and math.isclose(first, second, rel_tol=1e-12))


def _words(value: object) -> str:
    return "not stated" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)
