"""The numbers of runs out of their parts: as a frame, or as a file for other tools.

A query sets the mark that only several releases together show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tacholog.schema.conditions import CONDITIONS
from tacholog.schema.marks import MARK_BITS, marks_of
from tacholog.schema.tables import OFFERED, OFFERED_OF_RUNS, RESULTS, RUNS
from tacholog.store.engine import TYPES, ask, connected, make_table, make_words, quoted
from tacholog.store.export import ID, FileKind, copy, text_columns
from tacholog.store.frames import Row, frame, results_frame
from tacholog.store.parts import ORDINAL, RUN, SETTING, words_of

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

_ORDER = "ORDER BY place, row"  # A query without it gives rows in any order: which side of a join is read first depends on sizes.
COINCIDENCE = 3  # So many equal figures are no accident. Fewer may be, unless they are bounds.
_SOURCE = "read_parquet(getvariable('files'), union_by_name = true, file_row_number = true)"
_NO_SOURCE = f"(SELECT NULL::BIGINT AS {RUN}, NULL::BIGINT AS file_row_number WHERE false)"


class PartRun(NamedTuple):
    """A run whose numbers are wanted: its number in its part, the part, and its row of ``runs``."""

    number: int
    part: str
    row: Row


class Results:
    """The numbers of some runs, in their order."""

    def __init__(self, folder: Path, runs: Sequence[PartRun]) -> None:
        """Take these runs, whose parts are all there. Two of them may be the same one in its part: copies of one run.

        Args:
            folder: where the engine may put what does not fit into memory.
            runs: the runs.
        """
        self._folder, self._runs = folder, [run for run in runs if run.part]
        self._files = {path: place for place, path in enumerate(dict.fromkeys(run.part for run in self._runs))}

    def frame(self) -> pd.DataFrame:
        """Return them as the table ``results``."""
        if not self._runs:
            return frame("results", ())
        with self._opened() as (connection, words):
            columns = ", ".join(f"enum_code({quoted(name)}) AS {quoted(name)}" if name in words else quoted(name) for name in RESULTS)
            found = connection.execute(f"SELECT {columns} FROM results {_ORDER}").fetchnumpy()  # noqa: S608 - our own words
            return results_frame(found, words)

    def write(self, kind: FileKind, path: Path) -> None:
        """Write the table that other tools get: every number with its permanent id and the facts of its run.

        Raises:
            OSError: the file cannot be written.
        """
        with self._opened() as (connection, words):
            bits = [bits for (bits,) in ask(connection, "SELECT DISTINCT marks FROM results ORDER BY marks")]
            rows = [{"marks": one, "mark_words": " ".join(marks_of(one))} for one in bits]
            type_ = make_words(connection, "mark_words", [row["mark_words"] for row in rows])
            make_table(connection, "mark_words", {"marks": "BIGINT", "mark_words": type_}, rows)
            known = {**words, "id": words["run"], "marks": [row["mark_words"] for row in rows]}
            columns = text_columns({name: (column.kind, known.get(name, ())) for name, column in OFFERED.items()}, kind)
            table = f"SELECT * EXCLUDE (marks, mark_words), mark_words AS marks, {ID} AS id FROM results LEFT JOIN mark_words USING (marks)"  # noqa: S608 - our own words
            copy(connection, f"SELECT {', '.join(columns)} FROM ({table}) {_ORDER}", kind, path)  # noqa: S608 - our own words

    @contextmanager
    def _opened(self) -> Iterator[tuple[duckdb.DuckDBPyConnection, Mapping[str, list[str]]]]:
        """Open a database with the view ``results``. Yield the words of its columns too."""
        files = [*self._files]
        with connected(self._folder, threads=2) as connection:
            words = dict(words_of(connection, files)) if files else {}
            words["run"] = list(dict.fromkeys(run.row["run"] for run in self._runs))
            for name in OFFERED_OF_RUNS:
                if RUNS[name].kind == "text":
                    words[name] = list(dict.fromkeys(run.row[name] for run in self._runs if run.row[name] is not None))
            types = {name: make_words(connection, name, found) for name, found in words.items()}
            facts = {name: types.get(name, TYPES[RUNS[name].kind]) for name in ("run", *OFFERED_OF_RUNS)}
            rows = [{"number": run.number, "place": place, **_release(run.row), **run.row} for place, run in enumerate(self._runs)]
            make_table(connection, "wanted", {"number": "BIGINT", "place": "INTEGER", "group": "VARCHAR", "label": "VARCHAR", **facts}, rows)
            source = _NO_SOURCE
            if files:
                ask(connection, "SET VARIABLE files = $files::VARCHAR[]", {"files": files})
                source = _SOURCE
            known = {name for name, *_ in ask(connection, f"DESCRIBE SELECT * FROM {source}")}  # noqa: S608 - our own words
            marks = "coalesce(p.marks, 0)" if "marks" in known else "0::BIGINT"
            repeated = ""
            if self._has_releases():
                ask(connection, f"CREATE TEMP TABLE repeated AS {_REPEATED.format(source=source, missing=_missing(known))}")
                bit = MARK_BITS["republished"]
                marks = f"{marks} | CASE WHEN r.label IS NULL THEN 0 ELSE {bit} END"
                same = (f"r.{SETTING} = p.{SETTING}", "r.metric = p.metric", "r.statistic = p.statistic")
                repeated = " AND ".join(['LEFT JOIN repeated r ON r."group" = w."group"', "r.label = w.label", *same])
            columns = [f"w.{quoted(name)}" for name in facts]
            columns += [_column(name, known, types) for name in RESULTS if name not in ("run", "marks")]
            ordinal = f"coalesce(p.{ORDINAL}, 1)" if ORDINAL in known else "1"
            made = f"w.place, p.file_row_number AS row, {ordinal} AS {ORDINAL}, {marks} AS marks, {', '.join(columns)}"
            ask(connection, f"CREATE TEMP VIEW results AS SELECT {made} FROM {source} p JOIN wanted w ON p.{RUN} = w.number {repeated}")  # noqa: S608 - our own words
            yield connection, words

    def _has_releases(self) -> bool:
        """Whether a system has several published releases: else none repeats another one."""
        found: dict[str, set[str]] = {}
        for one in self._runs:
            release = _release(one.row)
            if release["group"] is not None:
                found.setdefault(str(release["group"]), set()).add(str(release["label"]))
        return any(len(labels) > 1 for labels in found.values())


# The numbers that a release of a system publishes under some conditions, as a list: another release with the same list repeats them.
_REPEATED = f"""
WITH published AS (
    SELECT w."group", w.label, p.{SETTING}, p.metric, p.statistic, p.bound,
        struct_pack(size := p.payload_bytes, high := p.payload_bytes_high, value := p.value + 0.0, bound := p.bound) AS figure
    FROM (SELECT *, {{missing}} FROM {{source}}) p JOIN wanted w ON p.{RUN} = w.number WHERE w."group" IS NOT NULL
), releases AS (
    SELECT "group", label, {SETTING}, metric, statistic, list(DISTINCT figure ORDER BY figure) AS figures, bool_and(bound <> '=') AS are_bounds
    FROM published GROUP BY ALL
), repeated AS (
    SELECT "group", {SETTING}, metric, statistic, figures FROM releases GROUP BY ALL
    HAVING count(*) > 1 AND (len(figures) >= {COINCIDENCE} OR bool_and(are_bounds))
)
SELECT "group", label, {SETTING}, metric, statistic FROM releases JOIN repeated USING ("group", {SETTING}, metric, statistic, figures)
"""  # noqa: S608 - our own words


def _missing(known: set[str]) -> str:
    """Return columns that no part has, for a query that needs them."""
    return ", ".join(["0 AS none", *(f"NULL::BIGINT AS {name}" for name in ("payload_bytes", "payload_bytes_high") if name not in known)])


def _release(row: Row) -> dict[str, object]:
    """Return the system and the release of a run that somebody published."""
    is_published = row["published"] and row["release"]
    return {"group": row["system"], "label": row["release"]} if is_published else {"group": None, "label": None}


def _column(name: str, known: set[str], types: Mapping[str, str]) -> str:
    """Return a column of the results, with its type."""
    type_ = types.get(name, TYPES[(RESULTS.get(name) or CONDITIONS[name]).kind])
    return f"{f'p.{quoted(name)}' if name in known else 'NULL'}::{type_} AS {quoted(name)}"
