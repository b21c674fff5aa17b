"""The conversion of arrays to the rows of a comparison, worst rows first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from tacholog.compare.comparable import Judgement, as_text
from tacholog.compare.diff.cells import (
    CONDITIONS,
    KEY_FIELDS,
    NONE,
    OF_RUN,
    SETTING,
    SIZE,
    CellPairs,
    CellTable,
    Flags,
    Floats,
    Integers,
    keys_of,
    mark_names,
    row_keys,
)
from tacholog.compare.diff.verdict import CODE, INVALID_BITS, REASON, REASONS, SERIES, SOURCES, RowArrays, bounds
from tacholog.compare.groups import groups_of
from tacholog.compare.policy import Policy, samples_needed
from tacholog.compare.result import (
    DIFFERS,
    VERDICTS,
    ComparisonRow,
    Curve,
    Difference,
    Level,
    RatioKind,
    RowKey,
    RunOrder,
    ShortRun,
    Side,
    UntestedRow,
    Verdict,
)
from tacholog.compare.statistics import Shift
from tacholog.runs.labels import is_label
from tacholog.schema.metrics import METRICS, median_run
from tacholog.schema.records import BOUNDS

_REASON_ALONE = {reason: (reason,) if reason else () for reason in REASONS}
_FAR_APART = 1_000_000  # a difference of sizes, in bytes: to move so many takes 10 µs at 100 GB/s, so each printed latency shows it
_BY_EFFECT: tuple[Verdict, ...] = ("worse", "better", *DIFFERS, "unreplicated_diff", "inconclusive", "too_few_pairs")


def comparison_rows(arrays: RowArrays, policy: Policy, runs: Sequence[RunOrder]) -> tuple[ComparisonRow, ...]:
    """Return the rows, sorted by verdict, then by size of the effect, then by name.

    Of the rows that differ without a test, all worse rows come before all better rows, whatever their effects.
    """
    effect = _effect(arrays)
    has_effect = np.isin(arrays.verdict, [CODE[verdict] for verdict in _BY_EFFECT])
    to_better = (arrays.verdict == CODE["unreplicated_diff"]) & (np.where(arrays.lower_is_better, effect, -effect) < 0)
    by_name = natural(arrays.cells, arrays.pairs.either)
    order = np.lexsort((*by_name, np.where(has_effect, -np.abs(effect), 0.0), to_better, arrays.verdict))
    columns = _text_columns(arrays, order, policy.false_discovery_rate) | _figures(arrays, order) | _names(arrays, order, policy)
    sides = zip(columns["old"], columns["new"], columns["flags"], strict=True)
    columns["flags"] = [("two_modes", *flags) if groups_of(old) or groups_of(new) else flags for old, new, flags in sides]
    columns["short_runs"] = _short_runs(arrays, order, runs)
    metrics = [METRICS[key.metric] for key in columns["key"]]
    columns |= {"unit": [metric.unit for metric in metrics], "better": [metric.better or "lower" for metric in metrics]}
    names = tuple(columns)
    return tuple(ComparisonRow(**dict(zip(names, values, strict=True))) for values in zip(*columns.values(), strict=True))


def _names(arrays: RowArrays, order: Integers, policy: Policy) -> dict[str, list[Any]]:
    cells, pairs = arrays.cells, arrays.pairs.part(order)
    renamed = np.flatnonzero(pairs.both & (cells.row[pairs.old] != cells.row[pairs.new]))
    new_keys: list[RowKey | None] = [None] * len(order)
    for index, key in zip(renamed.tolist(), keys_of(cells, pairs.new[renamed], policy), strict=True):
        new_keys[index] = key
    return {"key": row_keys(cells, pairs.either, policy), "new_key": new_keys, "across": _across_values(cells, pairs, policy)}


def _short_runs(arrays: RowArrays, order: Integers, runs: Sequence[RunOrder]) -> list[tuple[ShortRun, ...]]:
    short, needed_by = arrays.cells.short, arrays.cells.columns["statistic"]
    if not len(short.cell):
        return [()] * len(order)
    of_cell: dict[int, tuple[ShortRun, ...]] = {}
    for cell, run, samples in zip(short.cell.tolist(), short.run.tolist(), short.samples.tolist(), strict=True):
        left_out = ShortRun(runs[run].side, runs[run].run, int(samples), samples_needed(str(needed_by[cell])) or 0)
        of_cell[cell] = (*of_cell.get(cell, ()), left_out)
    old, new = arrays.pairs.part(order)
    return [(*of_cell.get(before, ()), *of_cell.get(after, ())) for before, after in zip(old.tolist(), new.tolist(), strict=True)]


def _across_values(cells: CellTable, pairs: CellPairs, policy: Policy) -> list[tuple[Difference, ...]]:
    differences: list[tuple[Difference, ...]] = [()] * len(pairs.old)
    for name in (name for name in policy.across if name in cells.columns and name not in OF_RUN):
        column = cells.columns[name]
        texts = [*map(as_text, column.categories.tolist()), None]
        # The runs of a cell may have different values of a label, so the first value must not be stated for all runs.
        several = cells.mixed if is_label(name) else np.zeros(len(cells.mixed), bool)
        unsure = several[pairs.old] | several[pairs.new]
        codes = (np.where((side == NONE) | unsure, -1, column.codes[side]).tolist() for side in pairs)
        for index, (old, new) in enumerate(zip(*codes, strict=True)):
            if old >= 0 or new >= 0:
                differences[index] += (Difference(name, texts[old], texts[new]),)
    return differences


def untested_rows(cells: CellTable, pairs: CellPairs, policy: Policy) -> tuple[UntestedRow, ...]:
    """Return the numbers that are displayed, but never tested, in the order of their names."""
    pairs = pairs.part(np.lexsort(tuple(natural(cells, pairs.either))))
    keys = row_keys(cells, pairs.either, policy)
    old, new = (_or_none(np.where(side == NONE, np.nan, cells.median[side])) for side in pairs)
    return tuple(
        UntestedRow(key=key, unit=METRICS[key.metric].unit, old=old_value, new=new_value)
        for key, old_value, new_value in zip(keys, old, new, strict=True)
    )


def curves(arrays: RowArrays, policy: Policy) -> tuple[Curve, ...]:
    """Return a summary of each curve. The rows of a curve have a single value on each side, and differ only in the message size."""
    cells, pairs = arrays.cells, arrays.pairs
    is_single = (np.isin(arrays.verdict, [CODE["unreplicated_diff"], CODE["unreplicated_same"]]) | arrays.out_of_turn) & arrays.by_value
    exact = (cells.bound[pairs.old] == 0) & (cells.bound[pairs.new] == 0)
    rows = np.flatnonzero(is_single & exact)
    # Rows of one curve differ only in their sizes. Rows that also differ in another field, such as the offered rate, belong to another curve.
    others = [name for name in (*KEY_FIELDS, *CONDITIONS, *cells.labels) if name not in (*SIZE, *policy.across)]
    code = cells.groups(others)[pairs.old[rows]]
    order = np.argsort(code, kind="stable")
    code, rows = code[order], rows[order]
    shift = np.log(cells.median[pairs.new[rows]] / cells.median[pairs.old[rows]])
    starts = np.flatnonzero(np.diff(code, prepend=-1))
    all_keys = row_keys(cells, pairs.old, policy)
    keys = [msgspec.structs.replace(all_keys[row], **dict.fromkeys(SIZE)) for row in rows[starts].tolist()]
    members = zip(keys, *(np.split(column, starts[1:]) for column in (shift, rows)), strict=False)
    return tuple(_curve(key, shifts, _flat_latencies(arrays, key, which)) for key, shifts, which in members if len(shifts) >= SERIES)


def _flat_latencies(arrays: RowArrays, key: RowKey, rows: Integers) -> tuple[float | None, float | None]:
    """Return the latency of each side, if it is the same for all sizes; otherwise ``None``.

    Both are ``None`` if the sizes differ too little: then the same latency for all of them is nothing unusual.
    """
    cells = [side[rows] for side in arrays.pairs]
    sizes = [size for size in arrays.cells.column("payload_bytes", cells[0]) if size is not None]
    if key.metric != "latency" or max(sizes, default=0) - min(sizes, default=0) < _FAR_APART:
        return None, None
    old, new = (arrays.cells.median[cell] for cell in cells)
    return (float(old[0]) if (old == old[0]).all() else None), (float(new[0]) if (new == new[0]).all() else None)


def _curve(key: RowKey, shift: Floats, flat: tuple[float | None, float | None]) -> Curve:
    return Curve(
        key=key,
        rows=len(shift),
        mean_ratio=float(np.exp(shift.mean())),
        least=float(np.exp(shift.min())),
        most=float(np.exp(shift.max())),
        lower=int((shift < 0).sum()),
        equal=int((shift == 0).sum()),
        higher=int((shift > 0).sum()),
        old_flat=flat[0],
        new_flat=flat[1],
    )


def natural(cells: CellTable, cell: Integers) -> Iterator[Any]:
    """Yield the sort keys, the least significant key first. Rows are sorted by setting, then by metric, statistic and size."""
    for name in ("demand", "payload_bytes_high", "payload_bytes", "statistic", "metric", *reversed(cells.labels), *reversed(SETTING), "system"):
        yield cells.columns[name].codes[cell]  # the categories of a column are sorted; the code of a missing value is -1


def _effect(arrays: RowArrays) -> Floats:
    old, new = arrays.pairs
    median = arrays.cells.median
    with np.errstate(divide="ignore", invalid="ignore"):
        by_value = np.log(median[new] / median[old])
    shift = _displayed_shift(arrays).estimate
    return np.nan_to_num(np.where(np.isnan(shift), by_value, shift))


def _text_columns(arrays: RowArrays, order: Integers, rate: float) -> dict[str, list[Any]]:
    """Return the columns without figures, such as verdicts and marks. The columns are lists, because access to single elements of arrays is slow."""
    verdict, reason = arrays.verdict[order].tolist(), arrays.reason[order].tolist()
    bits, both = _mark_bits_of_both_sides(arrays)[order].tolist(), arrays.pairs.both[order].tolist()
    judgements = [arrays.judgements[index] for index in arrays.judgement[order].tolist()]
    return {
        **_design_columns(arrays, order, rate),
        "verdict": [VERDICTS[code] for code in verdict],
        "reasons": [_reasons(REASONS[code], marks, judgement) for code, marks, judgement in zip(reason, bits, judgements, strict=True)],
        "level": _levels(arrays, order),
        "threshold_source": _sources(arrays, order),
        "marks": [mark_names(marks) for marks in bits],
        "differences": [judgement.different + judgement.machines for judgement in judgements],
        "unverified": [judgement.unverified if has_both else () for judgement, has_both in zip(judgements, both, strict=True)],
    }


def _design_columns(arrays: RowArrays, order: Integers, rate: float) -> dict[str, list[Any]]:
    estimates = arrays.estimates
    tested, by_value = (column.tolist() for column in _by_test_and_by_value(arrays, order))
    has_range = (_by_test_and_by_value(arrays, order)[0] | arrays.out_of_turn[order]).tolist()
    designs = [estimates.designs[index] if index >= 0 else None for index in estimates.design[order].tolist()]
    significant = estimates.p_adjusted < rate  # false for NaN, which means that the row was not tested
    flag_columns = (column[order].tolist() for column in (arrays.same_runs, significant, arrays.gated))
    return {
        "design": [design.kind if design else "single" if single else None for design, single in zip(designs, by_value, strict=True)],
        "interval_kind": ["confidence" if test else "rounding" if single else None for test, single in zip(has_range, by_value, strict=True)],
        "flags": [
            tuple(itertools.compress(("significant", "gated"), is_set)) if test else ("same_runs",) if same else ()
            for test, same, *is_set in zip(tested, *flag_columns, strict=True)
        ],
    }


def _by_test_and_by_value(arrays: RowArrays, order: Integers) -> tuple[Flags, Flags]:
    return ~np.isnan(arrays.estimates.p_adjusted[order]), arrays.by_value[order]


def _figures(arrays: RowArrays, order: Integers) -> dict[str, list[Any]]:
    cells, estimates, pairs = arrays.cells, arrays.estimates, arrays.pairs.part(order)
    tested, by_value = _by_test_and_by_value(arrays, order)
    out_of_turn = arrays.out_of_turn[order]
    has_range = tested | out_of_turn
    shift = Shift(*(values[order] for values in _displayed_shift(arrays)))
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = cells.median[pairs.new] / cells.median[pairs.old]
    quotient[arrays.verdict[order] == CODE["not_comparable"]] = np.nan  # no ratio here: a reader would understand it as a comparison
    ends = [np.exp(np.where(has_range, *pair)) for pair in zip((shift.low, shift.high), bounds(cells, pairs), strict=True)]
    decided = tested | by_value
    limits = np.expm1(np.where(out_of_turn, _side_limit(arrays)[order], np.where(by_value, arrays.limits.single[order], arrays.limits.least[order])))
    intervals = list(zip(*map(_or_none, ends), strict=True))
    few = arrays.verdict[order] == CODE["too_few_pairs"]
    ratio = _or_none(np.where(has_range, np.exp(shift.estimate), np.where(pairs.both, quotient, np.nan)))
    return {
        "ratio": ratio,
        "ratio_kind": _ratio_kinds(ratio, has_range, arrays, order),
        "interval": [interval if is_decided else None for interval, is_decided in zip(intervals, decided.tolist(), strict=True)],
        "p": _or_none(np.where(tested, shift.p, np.nan)),
        "p_adjusted": _or_none(estimates.p_adjusted[order]),
        "threshold": _or_none(np.where(decided, limits, np.nan)),
        "detectable": _or_none(np.where(tested, np.expm1(estimates.detectable[order]), np.nan)),
        "attainable_p": _or_none(np.where(few, estimates.attainable[order], np.nan)),
        "host_change": _or_none(np.where(decided & (arrays.host_change is not None), np.expm1(arrays.host_change or 0.0), np.nan)),
        "needed": [count or None for count in np.where(few, estimates.needed[order], 0).tolist()],
        "old": _sides(arrays, order, 0),
        "new": _sides(arrays, order, 1),
    }


def _displayed_shift(arrays: RowArrays) -> Shift:
    if arrays.sides is None:
        return arrays.estimates.shift
    return Shift(*(np.where(arrays.out_of_turn, side, tested) for side, tested in zip(arrays.sides, arrays.estimates.shift, strict=True)))


def _side_limit(arrays: RowArrays) -> Floats:
    """Return the threshold in the direction of the change.

    For a row that does not differ, return the largest shift that counts as no difference.
    """
    if arrays.sides is None or arrays.side_limits is None:
        return arrays.limits.least
    low, high = arrays.side_limits
    return np.where(arrays.verdict == CODE["differs_not"], arrays.limits.close, np.where(arrays.sides.estimate > 0, high, -low))


def _ratio_kinds(ratio: list[float | None], has_range: Flags, arrays: RowArrays, order: Integers) -> list[RatioKind | None]:
    names: tuple[RatioKind, ...] = ("quotient", "hodges_lehmann_sessions", "hodges_lehmann_pairs", "hodges_lehmann_runs")
    by_runs = arrays.out_of_turn & (arrays.reason != REASON["sessions_confounded"])
    index = np.where(has_range, np.where(by_runs, 3, np.where(arrays.estimates.paired, 2, 1))[order], 0).tolist()
    return [None if value is None else names[which] for value, which in zip(ratio, index, strict=True)]


def _levels(arrays: RowArrays, order: Integers) -> list[Level | None]:
    """Return the level of evidence of the poorer side.

    a: one value per side. b: repeated runs. c: repeated runs that state their number of samples.
    """
    cells, (old, new) = arrays.cells, arrays.pairs
    runs = np.minimum(cells.runs[old], cells.runs[new])
    counted = ~np.isnan(cells.samples[old] + cells.samples[new])
    names: list[Level | None] = ["a", "b", "c", None]
    index = np.where(arrays.pairs.both, np.where(runs <= 1, 0, np.where(counted, 2, 1)), 3)
    return [names[level] for level in index[order].tolist()]


def _sources(arrays: RowArrays, order: Integers) -> list[str | None]:
    tested, by_value = _by_test_and_by_value(arrays, order)
    limit, of_test, of_sides = _side_limit(arrays), arrays.limits.source, arrays.limits.sides
    of_sides = np.where(limit > of_sides, SOURCES.index("controls"), np.where(limit > arrays.limits.least, SOURCES.index("same_build"), of_test))
    out_of_turn = arrays.out_of_turn[order]
    code = np.where(out_of_turn, of_sides[order], np.where(by_value, arrays.limits.single_source[order], of_test[order]))
    names = [*SOURCES, None]
    return [names[index] for index in np.where(tested | by_value, code, len(SOURCES)).tolist()]


def _or_none(values: Floats) -> list[float | None]:
    """Replace NaN and infinity by ``None``."""
    objects = values.astype(object)
    objects[~np.isfinite(values)] = None
    numbers: list[float | None] = objects.tolist()
    return numbers


def _mark_bits_of_both_sides(arrays: RowArrays) -> Integers:
    marks = arrays.cells.marks
    both: Integers = np.bitwise_or(*(np.where(side == NONE, 0, marks[side]) for side in arrays.pairs))
    return both


def _reasons(reason: str, bits: int, judgement: Judgement) -> tuple[str, ...]:
    if reason == "marked":
        return mark_names(bits & INVALID_BITS)
    if reason == "differs":
        return tuple(difference.field for difference in judgement.different)
    return _REASON_ALONE[reason]


def _sides(arrays: RowArrays, order: Integers, which: int) -> list[Side | None]:
    """Return one side of each row. A tested row has the values of its pairs or sessions. Any other row has the values of all runs."""
    cells, compared = arrays.cells, arrays.estimates.values
    cell_of = arrays.pairs[which][order]
    columns = (
        cell_of.tolist(),
        order.tolist(),
        _by_test_and_by_value(arrays, order)[0].tolist(),
        cells.column("metric", arrays.pairs.either[order]),
        *(column[cell_of].tolist() for column in (cells.runs, cells.bound)),
        *(_or_none(column[cell_of]) for column in (cells.median, cells.resolution, cells.samples)),
    )
    sides: list[Side | None] = []
    for cell, row, by_test, metric, runs, bound, median, resolution, samples in zip(*columns, strict=True):
        if cell == NONE:
            sides.append(None)
            continue
        values = compared[row][which].tolist() if by_test else (median,) if runs == 1 else cells.value[cells.span(cell)].tolist()
        sides.append(
            Side(
                runs=runs,
                median=median if len(values) == runs else median_run(values, metric),
                values=tuple(values),
                bound=BOUNDS[bound],
                resolution=resolution,
                samples=None if samples is None else int(samples),
            )
        )
    return sides
