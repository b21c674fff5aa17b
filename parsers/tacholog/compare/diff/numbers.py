"""Both sides' numbers as plain arrays: what names each row, what it was measured under, and one value for each run.

A million rows pass through here, so everything is whole-number codes: a column becomes small integers, several columns become one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacholog.compare import comparable
from tacholog.compare.comparable import A_REFERENCE, BYTES
from tacholog.compare.policy import IF_NO_PERCENTILE, Policy
from tacholog.runs.labels import CONTROL, label_fields, labels_of
from tacholog.schema.marks import MARK_BITS, MARKS
from tacholog.schema.metrics import upper_of_two_counts
from tacholog.schema.records import BOUNDS
from tacholog.schema.tables import RESULTS

if TYPE_CHECKING:
    import pandas as pd

    from tacholog.store.frames import Dataset

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SETTING = ("test", "transport", "data_path", "type", "keyed", "publishers", "subscribers", "participant")
SIZE = ("payload_bytes", "payload_bytes_high", "demand")
NAME = ("metric", "statistic")
LOSS = "loss"
# Columns of the results that a diff must find equal, and that do not name a row already.
CONDITIONS = tuple(
    name for name, condition in comparable.CONDITIONS.items() if "diff" in condition.comparisons and name in RESULTS and name not in SETTING
)
# What a run was made on and with, which tells rows apart where their conditions do not. The version of the tool comes last: a tool that measures
# itself has another one on each side, so that it names a row by one of its two sides.
OF_RUN = ("host", "tool", "options", "tool_version")
REACH = "reach"  # how far the transport reaches: it sets no rows apart, but decides which properties of a machine must be known
_COLUMNS = (*SETTING, *SIZE, *NAME, *CONDITIONS, REACH)
LATENCY_OF = (None, BYTES, A_REFERENCE)  # what a zero-copy latency is of; None: it is no zero-copy latency


class CodedColumn(NamedTuple):
    """A column of both sides as whole numbers: 0 is unknown, k is ``words[k - 1]``. They are of the smallest type that holds them."""

    codes: NDArray[np.unsignedinteger[Any]]
    words: Sequence[Any]

    def at(self, position: int) -> Any:  # noqa: ANN401 - a cell of any column
        """The value at a position, ``None`` if unknown."""
        code = self.codes[position]
        return self.words[code - 1] if code else None


class Cells(NamedTuple):
    """What one side says of one row under one set of conditions: ``first`` and ``values`` (how many) point into the entries, sorted by run.

    ``row`` and ``conditions`` are codes that both sides share, ``run`` is one of the cell's runs. ``median`` is NaN where no run gave a value.
    """

    new: Flags
    row: Integers
    conditions: Integers
    run: Integers
    first: Integers
    values: Integers
    median: Floats
    resolution: Floats
    bound: Integers
    samples: Floats
    marks: Integers
    mixed: Flags


def upper_of_two(data: Numbers) -> Integers:
    """For each cell 1 if the upper of two values in the middle is its median, 0 if the lower one is; see `tacholog.schema.metrics`."""
    return _upper_of_two(data.columns["metric"])


def _upper_of_two(metric: CodedColumn) -> Integers:
    upper: Integers = np.array([0, *map(upper_of_two_counts, metric.words)], np.int64)
    found: Integers = upper[metric.codes]
    return found


def latency_of(cells: Cells) -> Integers:
    """What each cell's latency is of, as its marks say: an index into `LATENCY_OF`."""
    grows, handed = (cells.marks & MARK_BITS[name] > 0 for name in ("grows_with_size", "reference_only"))
    found: Integers = np.where(grows, 1, np.where(handed, 2, 0))
    return found


class Entries(NamedTuple):
    """One value a run and cell, sorted by cell and then by run."""

    run: Integers
    value: Floats


class Numbers(NamedTuple):
    """Both sides' numbers: what each cell is about, column by column, its values, and whether its row gets a verdict.

    ``published`` says of each cell that its run belongs to no session: figures out of a document, or a log that lay alone.
    ``labels`` are the columns of the labels that both sides must share (``label.plugin``).
    """

    columns: dict[str, CodedColumn]
    cells: Cells
    entries: Entries
    tested: Flags
    published: Flags
    labels: tuple[str, ...]

    def codes(self, names: Iterable[str]) -> Integers:
        """One code for several columns of the cells: equal where all of them are equal."""
        return np.broadcast_to(_combined([self.columns[name] for name in names]), self.tested.shape)


def numbers(old: Dataset, new: Dataset, policy: Policy, profiles: Integers) -> Numbers:
    """Arrange the summary numbers of both sides.

    Args:
        old: the first side.
        new: the second side.
        policy: which rows are wanted, and across which fields they are compared.
        profiles: what each run (the old side's first) was made on and with, as a code.
    """
    frames = [_wanted(side, policy) for side in (old, new)]
    columns = {name: _column([frame[name] for frame in frames]) for name in _COLUMNS}
    runs = _positions(old.runs, new.runs, frames)
    made = [side.runs.reindex(columns=["system", *OF_RUN]) for side in (old, new)]
    columns |= {name: _spread(_column([one[name] for one in made]), runs) for name in ("system", *OF_RUN)}
    of_labels = _labels(old.runs, new.runs)
    columns |= {name: _spread(column, runs) for name, column in of_labels.items()}
    labels = tuple(name for name in of_labels if name not in policy.across)
    named = [columns[name] for name in ("system", *SETTING, *SIZE) if name not in policy.across]
    setting = _combined(named)
    labelled_setting = _combined([*named, *(columns[name] for name in labels)]) if labels else setting
    kept = [columns[name] for name in CONDITIONS if name not in policy.across]
    width = int(profiles.max(initial=0)) + 1
    conditions = dense(_combined(kept) * width + profiles[runs])
    across = _combined([columns[name] for name in policy.across if name in columns])
    is_new = np.repeat([False, True], [len(frame) for frame in frames])
    marks = np.concatenate([_mark_bits(frame["marks"]) for frame in frames])
    names = _combined([columns[name] for name in NAME])
    row = dense(setting * (int(names.max(initial=0)) + 1) + names)
    cell = dense((conditions * (int(row.max(initial=0)) + 1) + row) * 2 + is_new)
    tested = _tested(columns, labelled_setting, is_new, marks, policy)
    cells, entries, at = _cells(frames, cell, runs, (marks, across, _upper_of_two(columns["metric"])), (is_new, row, conditions))
    published = np.concatenate([side.runs["session"].isna().to_numpy(bool) for side in (old, new)])
    for name, column in columns.items():  # one after the other, so that they are never all there twice
        columns[name] = _spread(column, at)
    return Numbers(columns, cells, entries, tested[at], published[cells.run], labels)


def least_of(data: Numbers, side: Integers) -> Floats:
    """The smallest value of each of these cells; NaN where no run gave a value."""
    entries, cells = data.entries, data.cells
    found = np.full(len(cells.values), np.nan)
    filled = np.flatnonzero(cells.values)
    if len(filled):
        found[filled] = np.minimum.reduceat(entries.value, cells.first[filled])
    return found[side]


def run_sets(cells: Cells, entries: Entries, codes: Integers) -> Integers:
    """A number for the runs of each cell: cells share it whose runs have the same codes (one for each run of both sides)."""
    names = np.random.default_rng(1).integers(0, 2**62, int(codes.max(initial=0)) + 1, dtype=np.uint64)
    totals = np.concatenate([[np.uint64(0)], np.cumsum(names[codes][entries.run])])
    first, count = cells.first, cells.values  # noqa: PD011 - no frame
    sums: Integers = totals[first + count] - totals[first]  # of a random number for each run
    return sums


def _spread(column: CodedColumn, positions: Integers) -> CodedColumn:
    """The column's values at these positions, as a column."""
    return CodedColumn(column.codes[positions], column.words)


@functools.cache
def mark_names(bits: int) -> tuple[str, ...]:
    """The names of the marks in a set of bits."""
    return tuple(name for name in MARKS if bits & MARK_BITS[name])


def _wanted(side: Dataset, policy: Policy) -> pd.DataFrame:
    results = side.results
    keep = (results["scope"] == "summary").to_numpy(bool)
    if policy.transports:  # but controls of any transport say whether the host changed
        texts = side.runs.reindex(columns=["labels"])["labels"]
        controls = side.runs["run"][[isinstance(text, str) and CONTROL in labels_of(text) for text in texts]]
        # Not in place: the array may be a view of the table, which pandas lets nobody write to.
        keep = keep & (results["transport"].isin(policy.transports) | results["run"].isin(controls)).to_numpy(bool)
    columns = ["run", *_COLUMNS, "value", "resolution", "bound", "samples", "marks"]
    return results[columns] if keep.all() else results.loc[keep, columns]


def _column(parts: Sequence[pd.Series]) -> CodedColumn:
    import pandas as pd
    from pandas.api.types import union_categoricals

    parts = [part for part in parts if len(part)] or parts[:1]  # Where there is only one side, nothing has to be joined.
    categories = all(isinstance(part.dtype, pd.CategoricalDtype) for part in parts)  # which concat would write out, row by row
    joined = parts[0] if len(parts) == 1 else union_categoricals([part.array for part in parts]) if categories else pd.concat(parts)
    codes, words = pd.factorize(joined)
    return CodedColumn((codes + 1).astype(np.min_scalar_type(len(words))), words.tolist())


def _labels(old: pd.DataFrame, new: pd.DataFrame) -> dict[str, CodedColumn]:
    """A column for each label that any run has, one value a run."""
    import pandas as pd

    texts = [text if isinstance(text, str) else None for side in (old, new) for text in side.reindex(columns=["labels"])["labels"]]
    labels = [labels_of(text) for text in texts]
    return {name: _column([pd.Series([one.get(name) for one in labels], dtype="string")]) for name in label_fields(texts)}


def _positions(old: pd.DataFrame, new: pd.DataFrame, frames: Sequence[pd.DataFrame]) -> Integers:
    import pandas as pd

    found = [pd.Index(side["run"]).get_indexer(pd.Index(frame["run"])) for side, frame in zip((old, new), frames, strict=True)]
    return np.concatenate([found[0], found[1] + len(old)]).astype(np.int64)


def _combined(columns: Iterable[CodedColumn]) -> Integers:
    """Several columns as one code: equal where all are equal."""
    total: Integers | None = None
    size = 1
    for column in columns:
        width = len(column.words) + 1
        if total is None:
            total, size = column.codes.astype(np.int64), width
            continue
        if size > 2**62 // width:
            total = dense(total)
            size = int(total.max(initial=0)) + 1
        total = total * width + column.codes
        size *= width
    return dense(total) if total is not None else np.zeros(1, np.int64)


def dense(codes: Integers) -> Integers:
    """The same as whole numbers from 0 on without gaps, in the order in which they appear."""
    import pandas as pd

    return pd.factorize(codes)[0].astype(np.int64)


def _mark_bits(marks: pd.Series) -> Integers:
    lists = marks.to_numpy(object)
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    bits = np.zeros(len(lists), np.int64)
    known: dict[int, int] = {}  # by the identity of the list, which rows with the same marks share
    marked = np.flatnonzero(lengths)
    for one in lists[marked]:
        if id(one) not in known:
            known[id(one)] = sum({MARK_BITS.get(name, 0) for name in one})
    bits[marked] = [known[id(one)] for one in lists[marked]]
    return bits


def _tested(columns: dict[str, CodedColumn], setting: Integers, is_new: Flags, marks: Integers, policy: Policy) -> Flags:
    """Which numbers get a verdict: near-copies of one another (all percentiles of one distribution) would only be counted several times."""
    tests = policy.tests()
    metric, statistic = columns["metric"], columns["statistic"]
    wanted = np.zeros(len(setting), bool)
    for name, statistics in tests.items():
        if name == LOSS:  # its rows are apart: most shares are zero, and have no ratio
            continue
        wanted |= _is(metric, (name,)) & _is(statistic, statistics)
    if policy.metrics:
        return wanted
    latency, count = _is(metric, ("latency",)), int(setting.max(initial=0)) + 1
    percentiles = np.ones(count, bool)
    for side in (~is_new, is_new):
        # Where both sides have a mean and only one has percentiles, the mean is what they have in common.
        percentiles &= _any(setting, wanted & latency & side, count) | ~_any(setting, latency & side, count)
    mean = _any(setting, latency & _is(statistic, ("mean",)), count)
    instead = latency & ~percentiles[setting] & _is(statistic, IF_NO_PERCENTILE)
    wanted |= instead & (_is(statistic, ("mean",)) | ~mean[setting])
    goodput = wanted & _is(metric, ("goodput",))
    unmoved = _any(setting, goodput & (marks & MARK_BITS["no_bytes_moved"] > 0), count)
    useless = unmoved | ~_any(setting, goodput, count)
    wanted &= ~(goodput & unmoved[setting])
    return wanted & ~(_is(metric, ("message_rate",)) & ~useless[setting])


def _is(column: CodedColumn, words: Sequence[str]) -> Flags:
    chosen = np.array([False, *(word in words for word in column.words)])
    result: Flags = chosen[column.codes]
    return result


def _any(group: Integers, where: Flags, count: int) -> Flags:
    found = np.zeros(count, bool)
    found[group[where]] = True
    return found


def _cells(
    frames: Sequence[pd.DataFrame],
    cell: Integers,
    runs: Integers,
    coded: tuple[Integers, Integers, Integers],
    shared: tuple[Flags, Integers, Integers],
) -> tuple[Cells, Entries, Integers]:
    """Sort the numbers into cells, give each cell one value a run, and say where in the columns each cell is described."""
    marks, across, upper = coded
    order = np.argsort(cell * (int(runs.max(initial=0)) + 1) + runs, kind="stable")
    cell, runs, upper = cell[order], runs[order], upper[order]
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    value = _floats(frames, "value")[order]
    resolution, samples = _floats(frames, "resolution")[order], _floats(frames, "samples")[order]
    across = np.broadcast_to(across, order.shape)[order]
    entries, first, count = _one_a_run(cell, runs, value, upper)
    is_new, row, conditions = shared[0][order][starts], shared[1][order][starts], shared[2][order][starts]
    return (
        Cells(
            new=is_new,
            row=row,
            conditions=conditions,
            run=runs[starts],
            first=first,
            values=count,
            median=_medians(entries.value, first, count, upper[starts]),
            resolution=_reduce(np.fmax, resolution, starts),
            bound=_bound_codes(frames)[order][starts],
            samples=_reduce(np.fmin, samples, starts),
            marks=_reduce(np.bitwise_or, marks[order], starts),
            mixed=_reduce(np.maximum, across, starts) != _reduce(np.minimum, across, starts),
        ),
        entries,
        order[starts],
    )


def _floats(frames: Sequence[pd.DataFrame], name: str) -> Floats:
    return np.concatenate([frame[name].to_numpy(np.float64, na_value=np.nan) for frame in frames])


def _bound_codes(frames: Sequence[pd.DataFrame]) -> Integers:
    column = _column([frame["bound"] for frame in frames])
    known: Integers = np.array([0, *(BOUNDS.index(word) for word in column.words)], np.int64)
    found: Integers = known[column.codes]
    return found


def _reduce(function: np.ufunc, values: NDArray[Any], starts: Integers) -> NDArray[Any]:
    return function.reduceat(values, starts) if len(starts) else values[:0]


def _one_a_run(cell: Integers, runs: Integers, value: Floats, upper: Integers) -> tuple[Entries, Integers, Integers]:
    """One value for each cell and run (the median, where a run measured it more than once); cells with no value keep a count of 0."""
    total = int(cell[-1]) + 1 if len(cell) else 0
    present = ~np.isnan(value)
    kept, run, values = cell[present], runs[present], value[present]
    if len(kept) and (again := (np.diff(kept) == 0) & (np.diff(run) == 0)).any():
        starts = np.flatnonzero(np.concatenate([[True], ~again]))
        values = _medians(values, starts, np.diff(starts, append=len(values)), upper[present][starts])
        kept, run = kept[starts], run[starts]
    count = np.bincount(kept, minlength=total).astype(np.int64)
    return Entries(run, values), np.cumsum(count) - count, count


def _medians(values: Floats, first: Integers, count: Integers, upper: Integers) -> Floats:
    """The median of each stretch of values, which is one of them: the rule of `tacholog.schema.metrics`, for many at once. NaN for an empty stretch.

    Args:
        values: all stretches, one after the other, shape (n,).
        first: where each begins, shape (stretches,).
        count: how many values each has, shape (stretches,).
        upper: 1 where the upper of two in the middle counts, 0 where the lower one does, shape (stretches,).
    """
    medians = np.full(len(count), np.nan)
    medians[count == 1] = values[first[count == 1]]
    several = np.flatnonzero(count > 1)
    if len(several):
        label = np.repeat(np.arange(len(count)), count)
        ordered = values[np.lexsort((values, label))]
        medians[several] = ordered[first[several] + (count[several] - 1 + upper[several]) // 2]
    return medians
