"""The dataset for other tools: one table of all numbers as CSV, JSON or Parquet, and the latency distributions as HdrHistogram logs.

`tacholog export` writes these files, and the site offers the same ones for download.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacholog.schema.tables import OFFERED_OF_RUNS, RUNS
from tacholog.slugs import path_slug
from tacholog.store.engine import ask, connected, text
from tacholog.store.ordinals import Ordinals, as_words, line_starts, with_ordinal
from tacholog.visible import no_formula

if TYPE_CHECKING:
    import pandas as pd

    from tacholog.store.columns import Integers
    from tacholog.store.frames import Dataset, Row

Bins = Sequence[Sequence[int]]
_HDR_DIGITS = 3
_TO_BE_QUOTED = re.compile('[",\\n\\r]')
_ROWS_OF_A_WORD = 8  # With fewer rows for each combination, it takes longer to find them than to write them.
_HDR_HEAD = (
    "#[Latencies in ns, written by tacholog export. Tag: payload bytes and line of the raw log]\n"
    "#[Histogram log format version 1.3]\n"
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
)


def results_table(data: Dataset) -> pd.DataFrame:
    """Return every number with its permanent id and the facts of its run: the table that other tools get."""
    (table,) = results_tables(data.runs, [data.results])
    return table


def results_tables(runs: pd.DataFrame, frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Yield the table for each of several frames of results. ``runs`` are those of all of them."""
    import pandas as pd

    names, columns = pd.Index(runs["run"]), {name: runs[name] for name in OFFERED_OF_RUNS}
    facts = {name: (column.astype("category") if RUNS[name].kind == "text" else column).array for name, column in columns.items()}
    yield from map(partial(_table, runs=names, facts=facts, ordinals=Ordinals()), frames)  # A loop would keep each frame until the next is made.


def _table(results: pd.DataFrame, runs: pd.Index, facts: Mapping[str, Any], ordinals: Ordinals) -> pd.DataFrame:
    """Return the table of these results. A frame is made at once: to put a dozen columns into one takes longer than to make them.

    Args:
        results: some results.
        runs: the names of runs.
        facts: what stands beside the results of a run: for each name an array with a value for each of the runs.
        ordinals: has counted the numbers before these.
    """
    import pandas as pd

    of_results = as_words(results["run"])
    places = runs.get_indexer(pd.Index(of_results.categories.astype("str")))
    of_runs = {name: _only_used(array.take(places, allow_fill=True)).take(of_results.codes, allow_fill=True) for name, array in facts.items()}
    columns: dict[str, Any] = {str(name): column.array for name, column in results.items()}
    table = {"id": _ids(results, ordinals.of(results)), **columns, "marks": _mark_words(results["marks"]), **of_runs}
    return pd.DataFrame(table, index=results.index, copy=False)


def _only_used(facts: Any) -> Any:  # noqa: ANN401 - an array of pandas
    """Return facts of runs without the words of other runs. These would be written too, and a run that has no numbers may be of a private system."""
    return facts.remove_unused_categories() if hasattr(facts, "remove_unused_categories") else facts


def _ids(results: pd.DataFrame, ordinals: Integers) -> Any:  # noqa: ANN401 - an array of pandas
    """Return the id of each number. Its first half is made once for each record, its second half once for each name.

    Arrays of pandas join them, and no number has a text of its own in Python: that took as long as to read the log.
    """
    import numpy as np
    import pandas as pd

    runs, logs = (as_words(results[name]) for name in ("run", "log"))
    lines, run_codes, log_codes = results["line"].to_numpy(dtype=np.int64), runs.codes, logs.codes
    starts = line_starts(results)
    codes, different = pd.factorize(run_codes[starts].astype(np.int64) * max(1, len(logs.categories)) + log_codes[starts])
    names = [divmod(place, max(1, len(logs.categories))) for place in different.tolist()]
    run_names, log_names = runs.categories.tolist(), logs.categories.tolist()
    begins: Any = pd.array([number_id(run_names[run], log_names[log], "", "", "").removesuffix(":.") for run, log in names], dtype="str")
    metrics, statistics = (as_words(results[name]) for name in ("metric", "statistic"))
    words = [f":{metric}.{statistic}" for metric in metrics.categories for statistic in statistics.categories]
    others = np.flatnonzero(ordinals > 1)  # Few, or none: most lines give one number of a name.
    of_others = metrics.codes[others].astype(np.int64) * len(statistics.categories) + statistics.codes[others]
    of_others, named = pd.factorize(of_others + len(words) * ordinals[others])
    of_others += len(words)
    words += [with_ordinal(words[place % len(words)], place // len(words)) for place in named.tolist()]
    ends = pd.array(words, dtype="str")
    least = np.min_scalar_type(-len(ends) - 1)  # Of few bytes, for the processor's caches.
    of_name = metrics.codes.astype(least) * least.type(len(statistics.categories)) + statistics.codes.astype(least)
    of_name[others] = of_others
    halves: Any = begins.take(codes) + pd.Series(lines[starts]).astype("str").array
    return halves.take(np.cumsum(starts) - 1) + ends.take(of_name)


def _mark_words(marks: pd.Series) -> pd.Categorical:
    """Return the marks of each number as words. Numbers share their marks, so few of them are different, and each is put into words once."""
    import numpy as np
    import pandas as pd

    if marks.empty:
        return pd.Categorical([], categories=pd.Index([], dtype="str"))
    places = np.frombuffer(np.ascontiguousarray(marks.to_numpy()), dtype=np.intp)  # what tells objects apart
    others = np.flatnonzero(places != places[0])  # Few: most numbers have no mark.
    of_others, different = pd.factorize(places[others])
    codes = np.zeros(len(places), dtype=np.intp)
    codes[others] = of_others + 1
    firsts = np.zeros(1 + len(different), dtype=np.int64)
    firsts[of_others[::-1] + 1] = others[::-1]
    words = pd.Categorical([" ".join(marks.iloc[first]) for first in firsts.tolist()])
    categories = words.categories.astype("str")
    return pd.Categorical.from_codes(words.codes[codes], categories)


def number_id(run: str, log: str, line: str, metric: str, statistic: str) -> str:
    """Return the permanent id of a number, without the `with_ordinal` of one that is not the first of its name on the line."""
    return f"{run}/{log}#L{line}:{metric}.{statistic}"


def csv_head(results: pd.DataFrame) -> bytes:
    """Return the header of a table as CSV."""
    return ",".join(map(_quoted, map(str, results.columns))).encode() + b"\n"


def csv_rows(results: pd.DataFrame) -> list[bytes]:
    """Return the rows of a table as CSV, without its header. Several files can be put together from them. A missing value is an empty field.

    An apostrophe stands before text that a spreadsheet would take for a formula, as in the CSV that pages copy. Numbers are as they are.
    """
    starts = ["", *("," for _ in results.columns[1:])]
    return _text_rows(results, starts, lambda values: [_csv_value(one) for one in values.tolist()], "", "")


def json_rows(results: pd.DataFrame) -> list[bytes]:
    """Return the rows of a table as JSON, one object per line. A value that is not stated is null. Each number is the same when it is read again."""
    starts = [f"{',' if place else '{'}{_json_word(str(name))}:" for place, name in enumerate(results.columns)]
    return _text_rows(results, starts, _json_values, "null", "}")


def _text_rows(results: pd.DataFrame, starts: Sequence[str], written: Callable[[pd.Series], list[str]], missing: str, end: str) -> list[bytes]:
    """Return the rows of a table as text.

    Each different value is written once, and each combination of what stands side by side in many rows: pandas took three times as long.

    Args:
        results: the table.
        starts: what stands before each field.
        written: writes the different values of a column.
        missing: what stands for a missing value.
        end: what stands after the last field of a row.
    """
    import numpy as np
    import pandas as pd

    pieces: list[list[str]] = []
    block, of_block = np.zeros(len(results), dtype=np.int64), [""]

    def add(codes: Any, words: list[str]) -> None:  # noqa: ANN401 - an array of pandas
        pieces.append([words[code] for code in codes.tolist()])

    for start, name in zip(starts, results.columns, strict=True):
        codes, values = pd.factorize(results[name])
        words = [*(f"{start}{text}" for text in written(pd.Series(values))), f"{start}{missing}"]  # the code of what is missing is -1
        both, pairs = pd.factorize(block * len(words) + codes % len(words))
        if len(pairs) > len(results) // _ROWS_OF_A_WORD:
            add(block, of_block)
            block, of_block = codes, words
        else:
            block, of_block = both, [of_block[pair // len(words)] + words[pair % len(words)] for pair in pairs.tolist()]
    add(block, [f"{text}{end}\n" for text in of_block])
    return [row.encode() for row in map("".join, zip(*pieces, strict=True))]


def _csv_value(value: object) -> str:
    if isinstance(value, str):
        return _quoted(no_formula(value))
    return repr(value) if isinstance(value, float) else str(value)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _TO_BE_QUOTED.search(text) else text


def _json_values(values: pd.Series) -> list[str]:
    import pandas as pd

    if pd.api.types.is_numeric_dtype(values.dtype):  # which true and false are
        return [json.dumps(one) if math.isfinite(one) else "null" for one in values.tolist()]
    return [_json_word(str(value)) for value in values.tolist()]


def _json_word(word: str) -> str:
    return json.dumps(word).replace("/", "\\/")  # as pandas writes it


def as_parquet(results: pd.DataFrame) -> bytes:
    """Return a table as Parquet."""
    with tempfile.TemporaryDirectory() as folder, connected(folder) as connection:
        path = Path(folder, "results.parquet")
        connection.register("results", results)
        ask(connection, f"COPY results TO {text(str(path))} (FORMAT parquet, COMPRESSION zstd)")
        return path.read_bytes()


def write_hdr(histograms: Iterable[Row], folder: Path) -> int:
    """Write one HdrHistogram log for each raw log that has distributions, and return the number of histograms."""
    lines: dict[tuple[str, str], list[str]] = {}
    for row in histograms:
        if bins := row["bins"].tolist():
            lines.setdefault((str(row["run"]), str(row["log"])), []).append(_hdr_line(row["payload_bytes"], int(row["line"]), bins))
    for (run, log), found in lines.items():
        path = folder / f"{path_slug(f'{run}/{log}')}.hlog"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_HDR_HEAD + "".join(found), encoding="ascii")
    return sum(map(len, lines.values()))


def _hdr_line(payload_bytes: object, line: int, bins: Bins) -> str:
    """Return a histogram as one interval. Its start and length are 0: the bins do not say when they were measured."""
    import pandas as pd

    payload = "unknown" if payload_bytes is pd.NA or payload_bytes is None else payload_bytes
    return f"Tag=bytes-{payload}-line-{line},0.000,0.000,{bins[-1][1] / 1e6:.3f},{_hdr_encoded(bins)}\n"


def _hdr_encoded(bins: Bins) -> str:
    """Return the bins in HdrHistogram's own compressed form. Each sample stands at the upper edge of its bin, as in the percentiles on the pages."""
    from hdrh.histogram import HdrHistogram

    histogram = HdrHistogram(1, max(2, round(bins[-1][1])), _HDR_DIGITS)
    for _, upper, count in bins:
        histogram.record_value(max(1, round(upper)), count)
    return str(histogram.encode().decode("ascii"))
