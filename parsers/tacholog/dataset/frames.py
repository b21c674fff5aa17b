"""The tables of a dataset as pandas frames."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tacholog.dataset.columns import BOUNDS, NOT_STATED, Columns, Shape, marks_of
from tacholog.extras import require
from tacholog.runs.manifest import Host
from tacholog.schema.columns import SchemaColumn
from tacholog.schema.conditions import CONDITIONS, Conditions
from tacholog.schema.metrics import METRICS
from tacholog.schema.tables import TABLES

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray
    from pandas import DataFrame

    from tacholog.dataset.columns import Integers
else:
    DataFrame = Any  # `help` and `inspect.signature` look up the types of fields, and pandas is not imported for that.

#: One row of a table, by the names of its columns.
Row = dict[str, Any]
HOSTS_FILE = "hosts.json"
#: Rows of a frame where results come in several. Their columns stay in the caches of the processor; those of a million rows do not.
FRAME_ROWS = 1 << 18
_FEW_WORDS = 8  # of a column whose type is kept


class Dataset(msgspec.Struct, frozen=True):
    """Everything that is known about a set of runs. Unknown is ``<NA>``. `tacholog.schema.tables` declares the columns.

    Attributes:
        runs: one row a run.
        logs: one row a log, with the number of its lines by class.
        problems: one row for each line or file that could not be used.
        results: one row a number, in the unit that `tacholog.schema.metrics.METRICS` gives its metric. Its text columns are categories, which hold
            each word once: as plain text, a million rows take 15 MB a column.
        histograms: one row for each latency record that has a distribution. Its ``bins`` are a `tacholog.dataset.distributions.Distribution`.
        hosts: the machines, by their ids.
    """

    runs: DataFrame
    logs: DataFrame
    problems: DataFrame
    results: DataFrame
    histograms: DataFrame
    hosts: dict[str, Host]

    def save(self, folder: str | Path, *, packed: bool = False) -> None:
        """Write the tables as Parquet files and the hosts as JSON; `tacholog.dataset.saved.open_saved` reads them.

        Args:
            folder: where to.
            packed: whether distributions stay packed. Other programs read their bins only if they do not, which takes ten times as long.
        """
        folder = Path(folder)
        require("parquet", f"{folder}: saving a dataset")
        from tacholog.dataset.parquet import write_table

        folder.mkdir(parents=True, exist_ok=True)
        for name in TABLES:
            write_table(getattr(self, name), folder / f"{name}.parquet", packed=packed)
        (folder / HOSTS_FILE).write_bytes(msgspec.json.encode(self.hosts))


class Part(NamedTuple):
    """A part of a dataset that is written and forgotten: ``results`` are frames beside ``data``, each made when it is asked for; at least one."""

    data: Dataset
    results: Iterator[pd.DataFrame]


def without_distributions(data: Dataset) -> Dataset:
    """Return a dataset that has no bins of distributions."""
    none = data.histograms.iloc[:0].copy()  # Without a copy, pandas keeps the columns of which these are a part, and so all bins.
    return msgspec.structs.replace(data, histograms=none)


def dtype_of(table: str, column: SchemaColumn) -> str:
    """Return the dtype of a column of a table."""
    return "category" if table == "results" and column.kind == "text" else column.dtype


def frame(table: str, rows: Sequence[Row]) -> pd.DataFrame:
    """Return the rows of a table as a frame. Its columns and dtypes are those of the schema, whatever the rows hold."""
    import pandas as pd

    columns = {name: pd.Series([row[name] for row in rows], dtype=column.dtype) for name, column in TABLES[table].items()}
    return pd.DataFrame(columns)


def dataset(rows: dict[str, list[Row]], results: pd.DataFrame, hosts: dict[str, Host]) -> Dataset:
    """Return the rows of the small tables, the results and the machines as a dataset."""
    small = {name: frame(name, rows[name]) for name in TABLES if name != "results"}
    return Dataset(**small, results=results, hosts=hosts)


def results_frames(columns: Columns, places: Sequence[tuple[str, str]], log_of: Integers) -> Iterator[pd.DataFrame]:
    """Yield results as `results_frame` returns them, in frames of `FRAME_ROWS` rows: those of all rows take five times the memory of the columns."""
    count = columns.number_count
    for start in range(0, max(1, count), FRAME_ROWS):
        numbers = [column[start : start + FRAME_ROWS] for column in columns.number_words]
        first, last = (int(numbers[0][0]), int(numbers[0][-1])) if count else (0, -1)  # The numbers are in the order of their records.
        part = Columns(columns.shapes, columns.names, [column[first : last + 1] for column in columns.record_words], numbers)
        yield results_frame(part, places, log_of[first : last + 1], first)


def results_frame(columns: Columns, places: Sequence[tuple[str, str]], log_of: Integers, first: int = 0) -> pd.DataFrame:
    """Return results as a frame. Its text columns hold each word once, as categories.

    Args:
        columns: the results.
        places: the run and the name of each log.
        log_of: for each record the place of its log in ``places``.
        first: what the numbers call the first of these records.
    """
    import numpy as np
    import pandas as pd

    records, numbers = columns.records, columns.numbers
    record = numbers.record - first if first else numbers.record
    log, shape = _Codes(_of_numbers(log_of, record), len(places)), _Codes(_of_numbers(records.shape, record), len(columns.shapes))
    name_of, bound = _Codes(numbers.name, len(columns.names)), _Codes(numbers.bound, len(BOUNDS))
    made: dict[str, Any] = {
        "run": _words([run for run, _ in places], log),
        "log": _words([name for _, name in places], log),
        **{name: _words([getattr(one, name) for one in columns.shapes], shape) for name in ("scope", "test", "side", "participant")},
        **{name: _of_conditions(name, columns.shapes, shape) for name in Conditions.__struct_fields__},
        "metric": _words([metric for metric, _ in columns.names], name_of),
        "statistic": _words([statistic for _, statistic in columns.names], name_of),
        "unit": _words([METRICS[metric].unit for metric, _ in columns.names], name_of),
        "bound": _words(BOUNDS, bound),
        "value": pd.arrays.FloatingArray(numbers.value.copy(), np.isnan(numbers.value)),
        "resolution": pd.arrays.FloatingArray(numbers.resolution.copy(), np.isnan(numbers.resolution)),
        "value_line": _integers(numbers.value_line.copy()),
        "marks": _marks(numbers.marks),
    }
    for name in ("line", "last_line", "payload_bytes", "payload_bytes_high", "samples"):
        made[name] = _integers(_of_numbers(getattr(records, name), record))
    return pd.DataFrame({name: made[name] for name in TABLES["results"]}, copy=False)


def _of_numbers(values: Integers, record: Integers) -> Integers:
    """Return the value of the record of each number. Many columns are the same in all records, and need not be looked up."""
    import numpy as np

    return np.full(len(record), values[0]) if len(values) and (values == values[0]).all() else values[record]


class _Codes:
    """A place in some list for each row, and which places of the list are used at all: asked once for all columns that the list gives."""

    def __init__(self, codes: Integers, count: int) -> None:
        import numpy as np

        # Where all rows have one code, which is so in most columns, its columns need not look it up row by row.
        self.used: list[int]
        if len(codes) and (codes == codes[0]).all():
            self.used = [int(codes[0])]
        else:
            self.used = np.flatnonzero(np.bincount(codes, minlength=count)).tolist()
        self.codes = codes

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the value of each row, where ``values`` has one for each place of the list."""
        import numpy as np

        few = values[self.used]
        return np.full(len(self.codes), few[0]) if len(few) and (few == few[0]).all() else values[self.codes]


def _words(words: Sequence[str | None], codes: _Codes) -> pd.Categorical:
    """Return a column of words as categories, in the order in which the words are listed, without those that no row has.

    Args:
        words: the word of each code; it may occur several times. ``None`` becomes ``<NA>``.
        codes: a place in ``words`` for each row.
    """
    import numpy as np
    import pandas as pd

    known: dict[str, int] = {}
    meant = np.full(len(words), -1)
    for place in codes.used:
        if (word := words[place]) is not None:
            meant[place] = known.setdefault(word, len(known))
    least = np.min_scalar_type(-max(len(known), 1))
    return pd.Categorical.from_codes(codes.of(meant.astype(least)), dtype=_type_of(tuple(known)), validate=False)


def _type_of(words: tuple[str, ...]) -> pd.CategoricalDtype:
    """Return the type of a column of these words. Most columns have one word or none, and to make a type takes longer than to fill a column."""
    return _kept_type(words) if len(words) <= _FEW_WORDS else _new_type(words)


def _new_type(words: tuple[str, ...]) -> pd.CategoricalDtype:
    import pandas as pd

    return pd.CategoricalDtype(pd.Index(words, dtype="str"))


_kept_type = functools.lru_cache(maxsize=128)(_new_type)


def _integers(values: Integers) -> pd.arrays.IntegerArray:
    """Return a column of integers of which none can be negative."""
    import pandas as pd

    return pd.arrays.IntegerArray(values, values == NOT_STATED)


def _of_conditions(name: str, shapes: Sequence[Shape], codes: _Codes) -> Any:  # noqa: ANN401 - an array of pandas
    """Return the column of a condition."""
    import numpy as np
    import pandas as pd

    values = [getattr(shape.conditions, name) for shape in shapes]
    if CONDITIONS[name].kind == "text":
        return _words(values, codes)
    few: Any = pd.Series(values, dtype=CONDITIONS[name].dtype).array
    if few.isna().all():  # as most conditions of most logs
        return type(few)(np.zeros(len(codes.codes), few.dtype.numpy_dtype), np.ones(len(codes.codes), dtype=bool))
    return few.take(codes.codes)


def _marks(bits: Integers) -> NDArray[np.object_]:
    """Return a column of marks. Rows with the same marks share them. Most rows have none, and need not be told apart."""
    import numpy as np
    import pandas as pd

    marked = np.flatnonzero(bits)
    of_marked, different = pd.factorize(bits[marked])
    sets = np.empty(1 + len(different), dtype=object)
    for place, one in enumerate((0, *different.tolist())):
        sets[place] = marks_of(one)
    codes = np.zeros(len(bits), dtype=np.intp)
    codes[marked] = of_marked + 1
    return sets[codes]
