"""The numbers of both sides as cells: the name of each row, its conditions, one value for each run, and the pairs of cells to compare."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from msgspec.structs import replace
from numpy.typing import NDArray
from pandas.api.types import union_categoricals

from tacholog.compare import comparable
from tacholog.compare.comparable import A_REFERENCE, BYTES, STATED, as_text
from tacholog.compare.policy import IF_NO_PERCENTILE, Policy, samples_needed
from tacholog.compare.result import ComparisonWarning, RowKey
from tacholog.compare.sides import stated_of
from tacholog.compare.sizes import size_ranges
from tacholog.runs.labels import CONTROL, label_fields, labels_of
from tacholog.schema.marks import MARK_BITS, MARKS
from tacholog.schema.metrics import upper_of_two_counts
from tacholog.schema.records import BOUNDS
from tacholog.schema.tables import RESULTS

if TYPE_CHECKING:
    from tacholog.store.frames import Dataset


Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SETTING = ("test", "transport", "data_path", "type", "keyed", "publishers", "subscribers", "participant")
SIZE = ("payload_bytes", "payload_bytes_high", "demand")
NAME = ("metric", "statistic")
LOSS = "loss"
# Columns of the results that must be equal in a diff, and that are not part of the name of a row.
CONDITIONS = tuple(
    name for name, condition in comparable.CONDITIONS.items() if "diff" in condition.comparisons and name in RESULTS and name not in SETTING
)
# Properties of a run that distinguish rows with equal conditions. The version of the tool is last, because it may differ between the sides: a
# tool may be a part of the measured release.
OF_RUN = ("host", "tool", "options", "tool_version")
REACH = "reach"  # how far the transport reaches: it does not distinguish rows, but decides which properties of a machine must be stated
_COLUMNS = (*SETTING, *SIZE, *NAME, *CONDITIONS, REACH)
LATENCY_OF = (None, BYTES, A_REFERENCE)  # what a zero-copy latency measures; None: the data path is not zero copy


class ShortRuns(NamedTuple):
    """Runs that were left out of cells, one element for each run: the cell, the run, and its number of samples."""

    cell: Integers
    run: Integers
    samples: Floats


class CellTable(NamedTuple):
    """The numbers of both sides, one element for each cell. A cell contains the numbers of one row on one side under one set of conditions.

    Attributes:
        columns: the values of the cells in each column, such as the transport.
        new: whether the cell is on the new side.
        row: the number of the row, the same on both sides.
        conditions: the number of the set of conditions, the same on both sides.
        run: one run of the cell.
        first: the index in ``value`` at which the values of the cell begin.
        runs: the number of runs with a value.
        median: the median of the values; NaN: no run has a value.
        resolution: the step in which the values were printed; NaN: the values are exact.
        bound: an index into `BOUNDS`.
        samples: the number of samples of the run with the fewest samples; NaN: unknown.
        marks: the marks, as bits.
        mixed: whether the runs differ in a field of ``--across``.
        tested: whether the row gets a verdict.
        published: whether the run has no session, because it is a figure of a document or a log without a manifest.
        value: one value for each cell and run, sorted by cell and then by run.
        value_run: the run of each value.
        labels: the columns of the labels that must be equal on both sides (``label.plugin``).
        short: the runs that were left out of a cell because they have too few samples.
    """

    columns: dict[str, pd.Categorical]
    new: Flags
    row: Integers
    conditions: Integers
    run: Integers
    first: Integers
    runs: Integers
    median: Floats
    resolution: Floats
    bound: Integers
    samples: Floats
    marks: Integers
    mixed: Flags
    tested: Flags
    published: Flags
    value: Floats
    value_run: Integers
    labels: tuple[str, ...]
    short: ShortRuns

    def span(self, cell: int) -> slice:
        """Return the slice of ``value`` that contains the values of a cell."""
        first = int(self.first[cell])
        return slice(first, first + int(self.runs[cell]))

    def groups(self, names: Iterable[str]) -> Integers:
        """Return a number for each cell. Cells have the same number if their values are equal in all of these columns."""
        return groups([self.columns[name].codes for name in names], len(self.tested))

    def column(self, name: str, cell: Integers) -> list[Any]:
        """Return the values of these cells in a column; ``None`` for unknown values."""
        words = [*self.columns[name].categories.tolist(), None]
        return list(map(words.__getitem__, self.columns[name].codes[cell].tolist()))


def by_word(column: pd.Categorical, value_of: Callable[[Any], Any], unknown: object) -> NDArray[Any]:
    """Return one element for each value of a column: the result of ``value_of`` for this value, or ``unknown`` if the value is missing."""
    values: NDArray[Any] = np.array([*map(value_of, column.categories.tolist()), unknown])
    return values.take(column.codes)  # a missing value has the code -1, so it gets the last element: ``unknown``


def upper_of_two(metric: pd.Categorical) -> Integers:
    """Return 1 for each cell whose median is the upper of two middle values, else 0; see `tacholog.schema.metrics`."""
    is_upper: Integers = by_word(metric, upper_of_two_counts, unknown=False).astype(np.int64)
    return is_upper


def latency_of(cells: CellTable) -> Integers:
    """Return an index into `LATENCY_OF` for each cell, from the marks of the cell."""
    grows, handed = (cells.marks & MARK_BITS[name] > 0 for name in ("grows_with_size", "reference_only"))
    index: Integers = np.where(grows, 1, np.where(handed, 2, 0))
    return index


def cell_table(old: Dataset, new: Dataset, policy: Policy, profiles: Integers, least_runs: int = 0) -> CellTable:
    """Arrange the summary numbers of both sides in cells.

    Args:
        old: the first side.
        new: the second side.
        policy: the wanted rows, and the fields in which the sides may differ.
        profiles: the number of the profile of each run, the runs of the old side first.
        least_runs: runs with too few samples for a percentile are left out of a cell if at least this number of other runs remains; 0: never.
    """
    sides, frames = (old, new), [_wanted(side, policy) for side in (old, new)]
    run = _positions(old.runs, new.runs, frames)
    columns = {name: _joined_column([frame[name] for frame in frames]) for name in _COLUMNS}
    of_labels = _label_columns(sides)
    of_runs = {name: _joined_column([side.runs.reindex(columns=[name])[name] for side in sides]) for name in ("system", *OF_RUN)} | of_labels
    columns |= {name: column[run] for name, column in of_runs.items()}
    setting = [name for name in ("system", *SETTING, *SIZE) if name not in policy.across]
    conditions = [name for name in CONDITIONS if name not in policy.across]
    labels = tuple(name for name in of_labels if name not in policy.across)
    is_new = np.repeat([False, True], [len(frame) for frame in frames])
    cell = groups([is_new, profiles[run], *(columns[name].codes for name in (*setting, *NAME, *conditions))], len(run))
    order = np.argsort(cell * (int(run.max(initial=0)) + 1) + run, kind="stable")
    samples = _floats(frames, "samples")
    row = groups([profiles[run], *(columns[name].codes for name in (*setting, *NAME, *conditions))], len(run))
    is_short = _short_runs(cell, row, run, samples, columns["statistic"], least_runs)
    order = order[~is_short[order]]
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    source = order[starts]  # for each cell, the index of the result from which its columns are taken
    mixed = np.zeros(len(run), bool)
    for name in policy.across:
        if name in columns:
            mixed |= columns[name].codes != columns[name].codes[source][cell]
    for name, column in columns.items():  # columns are replaced one by one, which needs less memory than a copy of all columns
        columns[name] = column[source]
    upper = upper_of_two(columns["metric"])
    value, value_run, first, count = _one_value_a_run(cell[order], run[order], _floats(frames, "value")[order], upper)
    published = np.concatenate([side.runs["session"].isna().to_numpy(bool) for side in sides])
    cells = CellTable(
        columns=columns,
        new=is_new[source],
        row=groups([columns[name].codes for name in (*setting, *NAME)], len(source)),
        conditions=groups([profiles[run[source]], *(columns[name].codes for name in conditions)], len(source)),
        run=run[source],
        first=first,
        runs=count,
        median=_medians(value, first, count, upper),
        resolution=_reduced(np.fmax, _floats(frames, "resolution")[order], starts),
        bound=by_word(_joined_column([frame["bound"] for frame in frames])[source], BOUNDS.index, 0),
        samples=_reduced(np.fmin, samples[order], starts),
        marks=_reduced(np.bitwise_or, np.concatenate([_mark_bits(frame["marks"]) for frame in frames])[order], starts),
        mixed=_reduced(np.logical_or, mixed[order], starts),
        tested=np.zeros(len(source), bool),
        published=published[run[source]],
        value=value,
        value_run=value_run,
        labels=labels,
        short=ShortRuns(cell[is_short], run[is_short], samples[is_short]),
    )
    return cells._replace(tested=_gets_verdict(cells, cells.groups((*setting, *labels)), policy))


def _short_runs(cell: Integers, row: Integers, run: Integers, samples: Floats, statistic: pd.Categorical, least_runs: int) -> Flags:
    """Return a flag for each number, true if the number is left out because its run has too few samples for the percentile.

    If fewer than ``least_runs`` runs remain in one cell of a row, no run of this row is left out. Otherwise only the runs with enough samples would
    remain on one side, and all runs on the other side.
    """
    needed = by_word(statistic, lambda word: samples_needed(word) or 0, 0)
    is_short: Flags = samples < needed  # false if the number of samples is unknown (NaN)
    if not least_runs or not is_short.any():
        return np.zeros(len(cell), bool)
    runs = int(run.max()) + 1
    cell_of_run = np.unique(cell[~is_short] * runs + run[~is_short]) // runs  # each run is counted once, even if it has several numbers
    remain = (np.bincount(cell_of_run, minlength=int(cell.max()) + 1) >= least_runs)[cell]
    is_row_complete = np.zeros(int(row.max()) + 1, bool)
    is_row_complete[row[is_short & ~remain]] = True
    return is_short & ~is_row_complete[row]


def reduced_values(cells: CellTable, function: np.ufunc) -> Floats:
    """Return the smallest or the largest value of each cell, by ``np.minimum`` or ``np.maximum``; NaN if no run has a value."""
    result = np.full(len(cells.runs), np.nan)
    filled = np.flatnonzero(cells.runs)
    result[filled] = _reduced(function, cells.value, cells.first[filled])
    return result


def run_sets(cells: CellTable, codes: Integers) -> Integers:
    """Return a number for each cell. Two cells have the same number if they contain the same runs. ``codes`` identify the runs."""
    names = np.random.default_rng(1).integers(0, 2**62, int(codes.max(initial=0)) + 1, dtype=np.uint64)
    totals = np.concatenate([[np.uint64(0)], np.cumsum(names[codes][cells.value_run])])
    first, count = cells.first, cells.runs
    sums: Integers = totals[first + count] - totals[first]  # each run has a random number; a cell gets the sum over its runs
    return sums


@functools.cache
def mark_names(bits: int) -> tuple[str, ...]:
    """Return the names of the marks in a set of bits."""
    return tuple(name for name in MARKS if bits & MARK_BITS[name])


def _wanted(side: Dataset, policy: Policy) -> pd.DataFrame:
    results = side.results
    keep = (results["scope"] == "summary").to_numpy(bool)
    if policy.transports or policy.sizes:  # Controls of all transports and sizes are kept, because each shows whether the host changed.
        texts = side.runs.reindex(columns=["labels"])["labels"]
        controls = side.runs["run"][[isinstance(text, str) and CONTROL in labels_of(text) for text in texts]]
        wanted = _of_sizes(results, policy)
        if policy.transports:
            wanted = wanted & results["transport"].isin(policy.transports).to_numpy(bool)
        # This makes a new array, because the old array may be a read-only view of the table.
        keep = keep & (wanted | results["run"].isin(controls).to_numpy(bool))
    columns = ["run", *_COLUMNS, "value", "resolution", "bound", "samples", "marks"]
    return results[columns] if keep.all() else results.loc[keep, columns]


def _of_sizes(results: pd.DataFrame, policy: Policy) -> Flags:
    """Return whether the payload size of each number is within a range of the policy; always true if the policy names no sizes."""
    low, high = (results[name].to_numpy(np.float64, na_value=np.nan) for name in ("payload_bytes", "payload_bytes_high"))
    high = np.where(np.isnan(high), low, high)
    ranges = size_ranges(policy.sizes, "--size")
    return np.logical_or.reduce([(low >= wanted.low) & (high <= wanted.high) for wanted in ranges]) if ranges else np.ones(len(results), bool)


def _joined_column(parts: Sequence[pd.Series]) -> pd.Categorical:
    """Return one column with the values of all parts. The categories of the column are sorted."""
    parts = [part for part in parts if len(part)] or parts[:1]  # a side without rows adds nothing
    if all(isinstance(part.dtype, pd.CategoricalDtype) for part in parts):  # `concat` is slow: it converts the category of every row
        return union_categoricals([part.array for part in parts], sort_categories=True)
    return pd.Categorical(pd.concat(parts) if len(parts) > 1 else parts[0])


def _label_columns(sides: Sequence[Dataset]) -> dict[str, pd.Categorical]:
    """Return one column for each label, with one value for each run."""
    texts = [text if isinstance(text, str) else None for side in sides for text in side.runs.reindex(columns=["labels"])["labels"]]
    labels = [labels_of(text) for text in texts]
    return {name: pd.Categorical([labels_of_run.get(name) for labels_of_run in labels]) for name in label_fields(texts)}


def _positions(old: pd.DataFrame, new: pd.DataFrame, frames: Sequence[pd.DataFrame]) -> Integers:
    positions = [pd.Index(side["run"]).get_indexer(pd.Index(frame["run"])) for side, frame in zip((old, new), frames, strict=True)]
    return np.concatenate([positions[0], positions[1] + len(old)]).astype(np.int64)


def groups(columns: Sequence[NDArray[Any]], count: int) -> Integers:
    """Return a number for each row of these columns: equal rows have the same number. Numbers start at 0, in the order of first appearance."""
    numbers = np.zeros(count, np.int64)
    for column in columns:
        codes = column.astype(np.int64)
        if (codes != codes[:1]).any():  # most columns have only one value
            numbers = pd.factorize(numbers * (int(np.ptp(codes)) + 1) + codes)[0].astype(np.int64)
    return numbers


def _mark_bits(marks: pd.Series) -> Integers:
    lists = marks.tolist()
    ids = np.fromiter(map(id, lists), np.int64, len(lists))  # rows with the same marks have the same list object
    _, first, which = np.unique(ids, return_index=True, return_inverse=True)
    bits = [sum(MARK_BITS.get(name, 0) for name in {*lists[index]}) for index in first.tolist()]
    return np.array(bits, np.int64)[which]


def _gets_verdict(cells: CellTable, setting: Integers, policy: Policy) -> Flags:
    """Only some percentiles get a verdict, because all percentiles of a distribution carry almost the same information."""
    metric, statistic, is_new = cells.columns["metric"], cells.columns["statistic"], cells.new
    wanted = np.zeros(len(setting), bool)
    for name, statistics in policy.tests().items():
        if name != LOSS:  # loss is compared separately: most shares are 0, so there is no ratio
            wanted |= (metric == name) & statistic.isin(statistics)
    if policy.metrics:
        return wanted

    def any_of(where: Flags) -> Flags:
        """Return a flag for each cell: whether ``where`` is true for any cell with the same setting."""
        return np.bincount(setting, where)[setting] > 0

    latency, mean = metric == "latency", statistic == "mean"
    # If both sides have a mean and only one side has percentiles, only the mean can be compared.
    no_percentiles = [any_of(latency & side) & ~any_of(wanted & latency & side) for side in (~is_new, is_new)]
    instead = latency & (no_percentiles[0] | no_percentiles[1]) & statistic.isin(IF_NO_PERCENTILE)
    wanted |= instead & (mean | ~any_of(latency & mean))
    goodput = wanted & (metric == "goodput")
    unmoved = any_of(goodput & (cells.marks & MARK_BITS["no_bytes_moved"] > 0))
    useful = any_of(goodput) & ~unmoved
    return wanted & ~(goodput & unmoved) & ~((metric == "message_rate") & useful)


def _floats(frames: Sequence[pd.DataFrame], name: str) -> Floats:
    return np.concatenate([frame[name].to_numpy(np.float64, na_value=np.nan) for frame in frames])


def _reduced(function: np.ufunc, values: NDArray[Any], starts: Integers) -> NDArray[Any]:
    return function.reduceat(values, starts) if len(starts) else values[:0]


def _one_value_a_run(cell: Integers, run: Integers, value: Floats, upper: Integers) -> tuple[Floats, Integers, Integers, Integers]:
    """Reduce the values of each run in a cell to their median.

    Returns:
        Four arrays: the medians, the run of each median, the index of the first median of each cell, and the number of medians of each cell.
    """
    there = ~np.isnan(value)
    cell, run, value = cell[there], run[there], value[there]
    starts = np.flatnonzero((np.diff(cell, prepend=-1) != 0) | (np.diff(run, prepend=-1) != 0))
    value = _medians(value, starts, np.diff(starts, append=len(value)), upper[cell[starts]])
    count = np.bincount(cell[starts], minlength=len(upper)).astype(np.int64)
    return value, run[starts], np.cumsum(count) - count, count


def _medians(values: Floats, first: Integers, count: Integers, upper: Integers) -> Floats:
    """Return the median of each stretch of values, by the rule of `tacholog.schema.metrics`; NaN for an empty stretch.

    Args:
        values: all stretches, one after the other, shape (n,).
        first: the index of the first value of each stretch, shape (stretches,).
        count: the number of values of each stretch, shape (stretches,).
        upper: 1 if the upper of two middle values is the median, 0 if the lower value is, shape (stretches,).
    """
    medians = np.full(len(count), np.nan)
    there = count > 0
    if (count > 1).any():
        values = values[np.lexsort((values, np.repeat(np.arange(len(count)), count)))]
    medians[there] = values[(first + (count - 1 + upper) // 2)[there]]
    return medians


_SAY_LITTLE = ("definition", "basis", "load_mode")
KEY_FIELDS = ("system", *SETTING, *SIZE, "metric", "statistic")


def keys_of(cells: CellTable, cell: Integers, policy: Policy, without: Sequence[str] = ()) -> list[RowKey]:
    """Return the keys of the rows of these cells, without the fields of ``--across``."""
    columns = {name: cells.column(name, cell) for name in KEY_FIELDS if name not in policy.across and name not in without}
    names = tuple(columns)
    return [RowKey(**dict(zip(names, values, strict=True))) for values in zip(*columns.values(), strict=True)]


def row_keys(cells: CellTable, cell: Integers, policy: Policy) -> list[RowKey]:
    """Return the keys of the rows of these cells. A key also states the conditions that distinguish the row from rows with an otherwise equal key."""
    conditions = _distinguishing_conditions(cells, cell, policy)
    return [replace(key, apart=conditions[index]) if index in conditions else key for index, key in enumerate(keys_of(cells, cell, policy))]


def _distinguishing_conditions(cells: CellTable, cell: Integers, policy: Policy) -> dict[int, tuple[tuple[str, str | None], ...]]:
    """Return the conditions that distinguish rows with otherwise equal keys, by the index of the row.

    Each row also states the labels in which the runs of a side differ, so that readers need not guess to which rows a label applies. Rows without
    such conditions and labels are left out.
    """
    labels = _labels_that_differ(cells)
    distinguishing: dict[int, tuple[tuple[str, str | None], ...]] = {}
    if labels:
        columns = [cells.column(name, cell) for name in labels]
        distinguishing = {index: tuple(zip(labels, values, strict=True)) for index, values in enumerate(zip(*columns, strict=True))}
    siblings: dict[int, list[int]] = {}
    for member, row in enumerate(cells.row[cell].tolist()):
        siblings.setdefault(row, []).append(member)
    groups = [members for members in siblings.values() if len(members) > 1]
    conditions = [name for name in (*CONDITIONS, *OF_RUN) if name not in policy.across and _differs(cells, name, cell)] if groups else []
    columns_by_name = {name: cells.column(name, cell) for name in (*labels, *conditions)}
    for members in groups:
        values_by_name = {name: [values[member] for member in members] for name, values in columns_by_name.items()}
        values_by_name = {name: values for name, values in values_by_name.items() if name in labels or len({*values}) > 1}
        named = [*labels, *(name for name in CONDITIONS if name in values_by_name)]
        for name in OF_RUN:  # If two rows have equal conditions, the machine or the tool distinguishes them.
            alike = len({tuple(values_by_name[field][index] for field in named) for index in range(len(members))}) < len(members)
            if alike and name in values_by_name:
                named.append(name)
        named = _needed_conditions(named, values_by_name)
        for index, member in enumerate(members):
            distinguishing[member] = tuple((name, as_text(values_by_name[name][index])) for name in named)
    return distinguishing


def _differs(cells: CellTable, name: str, cell: Integers | Flags) -> bool:
    return len(np.unique(cells.columns[name].codes[cell])) > 1


def _labels_that_differ(cells: CellTable) -> list[str]:
    new = cells.new
    labels = [name for name in cells.labels if name != CONTROL]  # controls are listed separately
    return [name for name in labels if any(_differs(cells, name, side) for side in (new, ~new))]


def _needed_conditions(named: Sequence[str], values_by_name: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the conditions that are needed to distinguish the rows.

    A condition is left out if it follows from others. For example, an offered rate implies a paced load. A missing value does not distinguish a row.
    """
    needed = sorted(named, key=lambda name: name in _SAY_LITTLE)
    for name in (name for name in _SAY_LITTLE if name in named):
        fewer = [other for other in needed if other != name]
        distinct = {
            tuple((other, value) for other, value in zip(fewer, values, strict=True) if value is not None) for values in _rows(fewer, values_by_name)
        }
        if () not in distinct and len(distinct) == len({*_rows(needed, values_by_name)}):
            needed = fewer
    return needed


def _rows(names: Sequence[str], values_by_name: Mapping[str, Sequence[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*(values_by_name[name] for name in names), strict=True))


NONE = -1


class CellPairs(NamedTuple):
    """Cells that are compared with each other, by their indices in a `CellTable`; `NONE` if a side has no such cell."""

    old: Integers
    new: Integers

    @property
    def either(self) -> Integers:
        """The cell that names each pair: the old cell, or the new cell if there is no old cell."""
        return np.where(self.old != NONE, self.old, self.new)

    def part(self, which: Flags | Integers) -> CellPairs:
        """Return the selected pairs."""
        return CellPairs(self.old[which], self.new[which])

    @property
    def both(self) -> Flags:
        """Whether both sides have a cell, for each pair."""
        result: Flags = (self.old != NONE) & (self.new != NONE)
        return result


def match(cells: CellTable, across: Collection[str] = ()) -> CellPairs:
    """Pair the cells of both sides. This is an outer join, so no cell is lost.

    Cells of one row under equal conditions are pairs. If each side has only one remaining cell of a row, these two cells are paired too. The first
    step requires an equal workload: only the machine or the tool may differ. The second step accepts any other conditions. Later steps also accept
    another participant, and differences in fields that one side never states. The conditions of all pairs are judged later, and the comparison names
    their differences. A cell without a partner was removed or added.
    """
    workload = cells.groups([*(name for name in CONDITIONS if name not in across), *cells.labels])
    olds, news = ~cells.new, cells.new.copy()  # cells without a partner so far
    pairs: list[tuple[Integers, Integers]] = []
    for columns in ((cells.row, cells.conditions), (cells.row, workload), (cells.row,), *((codes,) for codes in _looser(cells, across).values())):
        pair = _unique_pairs(columns, olds, news)
        olds[pair[0]] = news[pair[1]] = False
        pairs.append(pair)
    left, right = np.flatnonzero(olds), np.flatnonzero(news)
    return CellPairs(
        np.concatenate([*(old for old, _ in pairs), left, np.full(len(right), NONE)]),
        np.concatenate([*(new for _, new in pairs), np.full(len(left), NONE), right]),
    )


def _looser(cells: CellTable, across: Collection[str]) -> dict[str, Integers]:
    """Return several codes for each cell. Cells have the same code if they differ only in ignored fields.

    The ignored fields are the participant, the fields that only one side states, or both.
    """
    names = [name for name in ("system", *SETTING, *SIZE, *NAME) if name not in across]
    codes = {"anonymous": cells.groups([name for name in names if name != "participant"])}
    silent = [name for name in names if name in STATED and _of_one_side(cells, name)]
    if silent:
        others = [name for name in names if name not in silent]
        codes["unsaid"] = _matching_copies_only(cells, silent, cells.groups(others))
        codes["unsaid_anonymous"] = _matching_copies_only(cells, silent, cells.groups([name for name in others if name != "participant"]))
    return codes


def _of_one_side(cells: CellTable, name: str) -> bool:
    has_value = cells.columns[name].notna()
    return bool(has_value[cells.new].any() != has_value[~cells.new].any())


def _matching_copies_only(cells: CellTable, silent: Collection[str], codes: Integers) -> Integers:
    """Return the codes by which cells find partners. Only copies can find a partner if one side states no data path.

    The reason is that a log that states no data path measured copies. So each cell that is not a copy gets a unique code.
    """
    if "data_path" not in silent:
        return codes
    special = by_word(cells.columns["data_path"], lambda word: word != "copy", unknown=False)
    return np.where(special, -1 - np.arange(len(codes)), codes)


def _unique_pairs(columns: Sequence[Integers], olds: Flags, news: Flags) -> tuple[Integers, Integers]:
    """Return the cells whose values occur exactly once on each side, in the order of the old cells."""
    codes = groups(columns, len(olds))
    count = int(codes.max(initial=-1)) + 1
    is_alone = (np.bincount(codes[olds], minlength=count) == 1) & (np.bincount(codes[news], minlength=count) == 1)
    old, new = (np.flatnonzero(side & is_alone[codes]) for side in (olds, news))
    partner = np.full(count, NONE)
    partner[codes[new]] = new
    return old, partner[codes[old]]


class SharedRuns(NamedTuple):
    """A code for each run of both sides, the runs of the old side first. A run that is on both sides has the same code twice.

    ``are_all``: all runs are on both sides. ``warnings`` state how many runs are on both sides, if there are any.
    """

    codes: Integers
    are_all: bool = False
    warnings: tuple[ComparisonWarning, ...] = ()


def shared_runs(old: Dataset, new: Dataset) -> SharedRuns:
    """Recognise runs that are on both sides, by the checksums of their logs and by their times."""
    sides = [_identities(side) for side in (old, new)]
    number_of: dict[Hashable, int] = {}
    codes = np.array([number_of.setdefault(identity, len(number_of)) for side in sides for identity in side], np.int64)
    common = set(sides[0]) & set(sides[1])
    if not common:
        return SharedRuns(codes)
    are_all = common == set(sides[0]) == set(sides[1])
    return SharedRuns(codes, are_all, (ComparisonWarning("same_runs") if are_all else ComparisonWarning("shared_runs", len(common)),))


def same_runs(cells: CellTable, pairs: CellPairs, codes: Integers) -> Flags:
    """Whether both cells of each pair contain the same runs."""
    sets = run_sets(cells, codes)
    same: Flags = pairs.both & (cells.runs[pairs.old] > 0) & (cells.runs[pairs.old] == cells.runs[pairs.new])
    same &= sets[pairs.old] == sets[pairs.new]
    return same


def _identities(dataset: Dataset) -> Sequence[Hashable]:
    """Return one identity for each run. A run whose log could not be read is not equal to any other run."""
    if "sha256" not in dataset.logs:
        return [object() for _ in dataset.runs["run"]]
    logs: dict[str, list[object]] = {}
    for run, digest in zip(dataset.logs["run"], dataset.logs["sha256"], strict=True):
        logs.setdefault(run, []).append(digest)
    made = stated_of(dataset.runs, ("run", "start_time", "order_index"))
    return [_identity(logs.get(run, []), when) for run, *when in (row.values() for row in made)]


def _identity(digests: Sequence[object], when: Sequence[object]) -> Hashable:
    texts = [digest for digest in digests if isinstance(digest, str)]
    return (*sorted(texts), *when) if texts and len(texts) == len(digests) else object()
