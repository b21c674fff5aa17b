"""The numbers of runs, read from their parts: as a frame, or as a file for other tools.

The numbers get one more mark here. It depends on several releases, so it cannot be stored in a part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tacholog.runs.manifest import Host
from tacholog.runs.problems import COINCIDENCE
from tacholog.schema.conditions import CONDITIONS
from tacholog.schema.marks import MARK_BITS, marks_of
from tacholog.schema.tables import OFFERED, OFFERED_OF_RUNS, RESULTS, RUNS
from tacholog.store.distributions import PackedDistribution
from tacholog.store.engine import TYPES, ask, connected, make_words, one_of, quoted, set_list, text
from tacholog.store.export import ID, FileKind, copy, text_columns
from tacholog.store.fetch import RunFetcher, StoredRun
from tacholog.store.frames import Dataset, Row, dataset, frame, results_frame
from tacholog.store.parts import DEFAULTS, ORDINAL, RUN, SETTING, Contents, contents_of

# NumPy and pandas take long to import, and many commands do not need them. So each function that needs them imports them.
if TYPE_CHECKING:
    import duckdb
    import pandas as pd

_ORDER = "ORDER BY place, row"
_NO_SOURCE = f"(SELECT 0 AS file_index, 0 AS file_row_number, 0 AS {RUN} WHERE false)"


class PartRun(NamedTuple):
    """A run whose numbers are wanted.

    ``number`` identifies the run in its part. ``part`` is the path of this part, and ``row`` is the row of the run in the table ``runs``.
    """

    number: int
    part: str
    row: Row


class StoredNumbers:
    """The numbers of some runs, in the order of the runs."""

    def __init__(self, folder: Path, runs: Sequence[PartRun]) -> None:
        """Prepare to read these runs. All their parts must exist. If a run occurs several times, its numbers are stored only once in a part.

        Args:
            folder: the folder in which the engine may write data that does not fit into memory.
            runs: the runs.
        """
        self._folder, self._runs = folder, [run for run in runs if run.part]

    def frame(self) -> pd.DataFrame:
        """Return the numbers as the table ``results``."""
        if not self._runs:
            return frame("results", ())
        with self._opened() as (connection, words, order):
            columns = ", ".join(f"enum_code({quoted(name)}) AS {quoted(name)}" if name in words else quoted(name) for name in RESULTS)
            arrays = connection.execute(f"SELECT {columns} FROM results {order}").fetchnumpy()  # noqa: S608 - our own words
            return results_frame(arrays, words)

    def write(self, kind: FileKind, path: Path) -> None:
        """Write the table for other tools: every number with its permanent id and the facts about its run.

        Raises:
            OSError: the file cannot be written.
        """
        with self._opened() as (connection, words, order):
            bits = [bits for (bits,) in ask(connection, "SELECT DISTINCT marks FROM results ORDER BY marks")]
            sets = [" ".join(marks_of(mark_bits)) for mark_bits in bits]
            position = f"list_position({set_list(connection, 'bits', 'BIGINT', bits)}, marks) - 1"
            marks = one_of(connection, "marks", make_words(connection, "marks", sets), sets, position)
            words_of = {**words, "id": words["run"], "marks": sets}
            columns = text_columns({name: (column.kind, words_of.get(name, ())) for name, column in OFFERED.items()}, kind)
            table = f"SELECT * REPLACE ({marks} AS marks), {ID} AS id FROM results"  # noqa: S608 - our own words
            copy(connection, f"SELECT {', '.join(columns)} FROM ({table}) {order}", kind, path)  # noqa: S608 - our own words

    @contextmanager
    def _opened(self) -> Iterator[tuple[duckdb.DuckDBPyConnection, Mapping[str, list[str]], str]]:
        """Yield a database with the view ``results``, the words in its columns, and a clause that sorts its rows.

        The words of a text column are all texts that occur in the column.
        """
        with connected(self._folder, threads=2) as connection:
            contents = contents_of(connection, list(dict.fromkeys(run.part for run in self._runs)))
            scan = _Scan(self._runs, contents)
            words = {name: contents.words.get(name, []) for name, column in RESULTS.items() if column.kind == "text"}
            words["run"] = list(dict.fromkeys(run.row["run"] for run in self._runs))
            for name in OFFERED_OF_RUNS:
                if RUNS[name].kind == "text":
                    words[name] = list(dict.fromkeys(run.row[name] for run in self._runs if run.row[name] is not None))
            types = {name: make_words(connection, name, of_column) for name, of_column in words.items()}

            releases = [_release(run.row) for run in self._runs]
            of_runs = {name: (types.get(name, TYPES[RUNS[name].kind]), [run.row[name] for run in self._runs]) for name in ("run", *OFFERED_OF_RUNS)}
            of_runs |= {"group": ("VARCHAR", [group for group, _ in releases]), "label": ("VARCHAR", [label for _, label in releases])}
            of_runs["place"] = "INTEGER", [*range(len(self._runs))]
            facts = [
                f"{one_of(connection, name, type_, scan.listed(values), 'number')} AS {quoted(name)}" for name, (type_, values) in of_runs.items()
            ]
            columns = [_column(name, contents, types) for name in (*RESULTS, SETTING, ORDINAL) if name != "run"]
            starts, files = set_list(connection, "starts", "BIGINT", scan.starts), set_list(connection, "files", "VARCHAR", scan.files)
            source = f"read_parquet({files}, union_by_name = true, file_row_number = true)" if scan.files else _NO_SOURCE
            part = f"SELECT *, file_row_number AS row, {starts}[file_index::BIGINT + 1] + {RUN} AS number FROM {source}"  # noqa: S608 - our own words
            wanted = "" if None not in scan.positions else "WHERE place IS NOT NULL"
            ask(connection, f"CREATE TEMP VIEW numbers AS SELECT {', '.join((*facts, *columns))}, row FROM ({part}) {wanted}")  # noqa: S608 - our own words
            if _has_several_releases(releases):
                ask(connection, f"CREATE TEMP TABLE repeated AS {_REPEATED}")
                ask(connection, f"CREATE TEMP VIEW results AS {_WITH_REPEATED}")
            else:
                ask(connection, "CREATE TEMP VIEW results AS FROM numbers")
            # A query without a join returns rows in the order of the files.
            yield connection, words, "" if scan.is_in_order and not _has_several_releases(releases) else _ORDER


class _Scan:
    """The order in which the files are read, and the runs in these files.

    Attributes:
        files: the files, in the order of reading. If a run is wanted several times, its file is listed several times.
        starts: for each file, the number of runs in all earlier files.
        positions: for each run in the files, its position in the list of wanted runs; ``None`` if it is not in this list.
        is_in_order: whether the files contain the wanted runs in the wanted order.
    """

    def __init__(self, runs: Sequence[PartRun], contents: Contents) -> None:
        copies: Counter[tuple[str, int]] = Counter()
        positions_of_files: dict[tuple[str, int], list[int | None]] = {}
        for position, run in enumerate(runs):
            file = run.part, copies[run.part, run.number]
            copies[run.part, run.number] += 1
            positions_of_files.setdefault(file, [None] * contents.runs[run.part])[run.number] = position
        self.files = [path for path, _ in positions_of_files]
        self.starts = [0]
        for positions in positions_of_files.values():
            self.starts.append(self.starts[-1] + len(positions))
        self.positions = [position for positions in positions_of_files.values() for position in positions]
        wanted = [position for position in self.positions if position is not None]
        self.is_in_order = wanted == sorted(wanted)

    def listed(self, values: Sequence[object]) -> list[object]:
        """Return the values of the wanted runs, in the order of the runs in the files. If a run is not wanted, its value is ``None``."""
        return [None if position is None else values[position] for position in self.positions]


def _has_several_releases(releases: Sequence[tuple[str | None, str | None]]) -> bool:
    """Whether some system has several published releases. If not, no release can repeat the numbers of another release."""
    systems = [system for system, _ in {*releases} if system is not None]
    return len(systems) > len({*systems})


# The query makes a list of the numbers that a release of a system publishes under the same conditions. If another release has an equal list, it
# repeats these numbers.
_REPEATED = f"""
WITH releases AS (
    SELECT "group", label, {SETTING}, metric, statistic, bool_and(bound <> '=') AS are_bounds, list(DISTINCT figure ORDER BY figure) AS figures
    FROM (SELECT *, struct_pack(size := payload_bytes, high := payload_bytes_high, value := value + 0.0, bound := bound) AS figure FROM numbers)
    WHERE "group" IS NOT NULL GROUP BY "group", label, {SETTING}, metric, statistic
), repeated AS (
    SELECT "group", {SETTING}, metric, statistic, figures FROM releases GROUP BY ALL
    HAVING count(*) > 1 AND (len(figures) >= {COINCIDENCE} OR bool_and(are_bounds))
)
SELECT "group", label, {SETTING}, metric, statistic FROM releases JOIN repeated USING ("group", {SETTING}, metric, statistic, figures)
"""  # noqa: S608 - our own words
_WITH_REPEATED = f"""
SELECT n.* REPLACE (n.marks | CASE WHEN r.label IS NULL THEN 0 ELSE {MARK_BITS["republished"]} END AS marks)
FROM numbers n LEFT JOIN repeated r USING ("group", label, {SETTING}, metric, statistic)
"""  # noqa: S608 - our own words


def _release(row: Row) -> tuple[str | None, str | None]:
    """Return the system and the release of a run; both are ``None`` if the run is not published."""
    return (row["system"], row["release"]) if row["published"] and row["release"] else (None, None)


def _column(name: str, contents: Contents, types: Mapping[str, str]) -> str:
    type_ = "BIGINT" if name in (SETTING, ORDINAL) else types.get(name, TYPES[(RESULTS.get(name) or CONDITIONS[name]).kind])
    value = quoted(name) if name in contents.columns else "NULL"
    if name in contents.everywhere:
        value = text(contents.everywhere[name])
    if name in DEFAULTS:
        value = f"coalesce({value}, {DEFAULTS[name]})"
    return f"{value}::{type_} AS {quoted(name)}"


class Store:
    """Runs with everything that was read from their logs. The numbers stay in parts until they are needed."""

    def __init__(self, fetching: RunFetcher, runs: Sequence[StoredRun], hosts: dict[str, Host]) -> None:
        self.hosts = hosts
        self.problems: list[Row] = []
        self.runs = [
            {**run.record.run, "run": run.listed.run, "root": str(run.listed.folder), "manifest": run.listed.manifest_json.decode()} for run in runs
        ]
        self._stored, self._parts = runs, fetching.used  # This reference prevents temporary parts from being deleted.

    @staticmethod
    def problems_of(run: StoredRun) -> list[Row]:
        """Return the problems of the logs of a run."""
        return [{**row, "run": run.listed.run} for row in run.record.problems]

    @property
    def results(self) -> StoredNumbers:
        """The numbers of all runs."""
        runs = [PartRun(stored.record.number, stored.part, row) for stored, row in zip(self._stored, self.runs, strict=True)]
        return StoredNumbers(self._parts[-1].folder, runs)

    def logs(self) -> list[Row]:
        """Return the rows of ``logs``."""
        return [{**row, "run": run.listed.run} for run in self._stored for row in run.record.logs]

    def histograms(self) -> Iterator[Row]:
        """Yield the rows of ``histograms``."""
        for run in self._stored:
            for log, line, payload_bytes, basis, packed in run.record.histograms:
                location = {"run": run.listed.run, "log": log, "line": line}
                yield {**location, "payload_bytes": payload_bytes, "basis": basis, "bins": PackedDistribution(packed)}

    def dataset(self) -> Dataset:
        """Return everything as frames."""
        rows = {"runs": self.runs, "logs": self.logs(), "problems": self.problems, "histograms": [*self.histograms()]}
        return dataset(rows, self.results.frame(), self.hosts)
