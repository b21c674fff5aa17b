"""From arrays to the rows of a report, worst first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

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
    Flags,
    Floats,
    Integers,
    Numbers,
    keys_of,
    mark_names,
    row_keys,
)
from tacholog.compare.diff.estimate import Estimates
from tacholog.compare.diff.verdict import CODE, INVALID_BITS, REASONS, SERIES, SOURCES, Thresholds, Verdicts, bounds, flags, lower_is_better
from tacholog.compare.policy import Policy
from tacholog.compare.result import VERDICTS, ComparisonRow, Curve, Difference, Level, RatioKind, RowKey, Side, UntestedRow, Verdict
from tacholog.compare.statistics import Shift
from tacholog.runs.labels import is_label
from tacholog.schema.metrics import METRICS, median_run
from tacholog.schema.records import BOUNDS

_ALONE = {reason: (reason,) if reason else () for reason in REASONS}
_MOVING_SHOWS = 1_000_000  # bytes: 10 microseconds at 100 GB/s, which no printed latency hides
_BY_EFFECT: tuple[Verdict, ...] = ("worse", "better", "unreplicated_diff", "inconclusive", "too_few_pairs")


class RowArrays(NamedTuple):
    """All results for the pairs that get a verdict. ``which`` holds the place of each pair's judgement in ``judged``.

    ``host_change`` is how much the controls moved, as a logarithm, if they did.
    """

    data: Numbers
    pairs: CellPairs
    judged: list[Judgement]
    which: Integers
    found: Estimates
    limits: Thresholds
    verdicts: Verdicts
    same_runs: Flags
    host_change: float | None = None


def rows(findings: RowArrays, policy: Policy) -> tuple[ComparisonRow, ...]:
    """The rows, by verdict, the largest effect first, then in the order of their names. Of those that differ without proof, worse is first."""
    cell = either(findings.pairs)
    effect = _effect(findings)
    kind = findings.verdicts.verdict
    large = np.isin(kind, [CODE[verdict] for verdict in _BY_EFFECT])
    to_better = (kind == CODE["unreplicated_diff"]) & (np.where(lower_is_better(findings.data, findings.pairs), effect, -effect) < 0)
    order = np.lexsort((*natural(findings.data, cell), np.where(large, -np.abs(effect), 0.0), to_better, kind))
    columns = _worded(findings, order, policy.false_discovery_rate) | _estimated(findings, order) | _names(findings, order, policy)
    metrics = [METRICS[key.metric] for key in columns["key"]]
    columns |= {"unit": [metric.unit for metric in metrics], "better": [metric.better or "lower" for metric in metrics]}
    names = tuple(columns)
    return tuple(ComparisonRow(**dict(zip(names, values, strict=True))) for values in zip(*columns.values(), strict=True))


def _names(findings: RowArrays, order: Integers, policy: Policy) -> dict[str, list[Any]]:
    """The name of each row, and its name on the new side if that is another one."""
    old, new = (side[order] for side in findings.pairs)
    data = findings.data
    other = np.flatnonzero((old != NONE) & (new != NONE) & (data.cells.row[old] != data.cells.row[new]))
    renamed: list[RowKey | None] = [None] * len(order)
    for place, key in zip(other.tolist(), keys_of(data, new[other], policy), strict=True):
        renamed[place] = key
    return {"key": row_keys(data, either(CellPairs(old, new)), policy), "new_key": renamed, "across": _across(data, CellPairs(old, new), policy)}


def _across(data: Numbers, pairs: CellPairs, policy: Policy) -> list[tuple[Difference, ...]]:
    """The values on each side of the fields that the diff goes across."""
    found: list[tuple[Difference, ...]] = [()] * len(pairs.old)
    for name in (name for name in policy.across if name in data.stated and name not in OF_RUN):
        column = data.stated[name]
        texts = [*map(as_text, column.categories.tolist()), None]
        # The runs of a cell may have several labels, and the first of them would pass for that of all.
        several = data.cells.mixed if is_label(name) else np.zeros(len(data.cells.mixed), bool)
        unsure = several[pairs.old] | several[pairs.new]
        codes = (np.where((side == NONE) | unsure, -1, column.codes[side]).tolist() for side in pairs)
        for place, (old, new) in enumerate(zip(*codes, strict=True)):
            if old >= 0 or new >= 0:
                found[place] += (Difference(name, texts[old], texts[new]),)
    return found


def untested(data: Numbers, pairs: CellPairs, policy: Policy) -> tuple[UntestedRow, ...]:
    """The numbers that are shown and never tested, in the order of their names."""
    cell = either(pairs)
    order = np.lexsort(tuple(natural(data, cell)))
    keys = row_keys(data, cell[order], policy)
    old, new = (_known(np.where(side == NONE, np.nan, data.cells.median[side])[order]) for side in pairs)
    return tuple(
        UntestedRow(key=key, unit=METRICS[key.metric].unit, old=first, new=second) for key, first, second in zip(keys, old, new, strict=True)
    )


def curves(findings: RowArrays, policy: Policy) -> tuple[Curve, ...]:
    """The series of single values that differ only in size, each summed up."""
    verdict = findings.verdicts.verdict
    chosen = np.isin(verdict, [CODE["unreplicated_diff"], CODE["unreplicated_same"]]) & findings.verdicts.by_value
    cells, data = findings.data.cells, findings.data
    exact = (cells.bound[findings.pairs.old] == 0) & (cells.bound[findings.pairs.new] == 0)
    places = np.flatnonzero(chosen & exact)
    # Only sizes form a curve: rows that differ in something else, such as the offered rate, belong to another curve.
    alike = [name for name in (*KEY_FIELDS, *CONDITIONS, *data.labels) if name not in (*SIZE, *policy.across)]
    code = data.groups(alike)[findings.pairs.old[places]]
    order = np.argsort(code, kind="stable")
    code, places = code[order], places[order]
    shift = np.log(cells.median[findings.pairs.new[places]] / cells.median[findings.pairs.old[places]])
    starts = np.flatnonzero(np.diff(code, prepend=-1))
    keys = _without_sizes(row_keys(data, findings.pairs.old, policy), places[starts])
    members = zip(keys, *(np.split(part, starts[1:]) for part in (shift, places)), strict=False)
    return tuple(_curve(key, found, _flat(findings, key, where)) for key, found, where in members if len(found) >= SERIES)


def _without_sizes(keys: list[RowKey], places: Integers) -> list[RowKey]:
    """The keys at these places as those of all sizes together."""
    nothing = dict.fromkeys(SIZE)
    return [msgspec.structs.replace(keys[place], **nothing) for place in places.tolist()]


def _flat(findings: RowArrays, key: RowKey, places: Integers) -> tuple[float | None, float | None]:
    """The latency of each side if it is the same at all of these sizes, although moving the bytes should make a difference."""
    cells = [side[places] for side in findings.pairs]
    sizes = [size for size in findings.data.said("payload_bytes", cells[0]) if size is not None]
    if key.metric != "latency" or max(sizes, default=0) - min(sizes, default=0) < _MOVING_SHOWS:
        return None, None
    old, new = (findings.data.cells.median[cell] for cell in cells)
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


def either(pairs: CellPairs) -> Integers:
    """The cell that names each pair: the old side's, or the new one's where there is none."""
    return np.where(pairs.old != NONE, pairs.old, pairs.new)


def natural(data: Numbers, cell: Integers) -> Iterator[Any]:
    """Sort keys, least significant first: sizes within statistics within metrics within settings."""
    for name in ("demand", "payload_bytes_high", "payload_bytes", "statistic", "metric", *reversed(data.labels), *reversed(SETTING), "system"):
        yield data.stated[name].codes[cell]  # The words of a column are in order, after what is not stated.


def _effect(findings: RowArrays) -> Floats:
    old, new = findings.pairs
    median = findings.data.cells.median
    with np.errstate(divide="ignore", invalid="ignore"):
        by_value = np.log(median[new] / median[old])
    shift = findings.found.shift.estimate
    return np.nan_to_num(np.where(np.isnan(shift), by_value, shift))


def _worded(findings: RowArrays, order: Integers, rate: float) -> dict[str, list[Any]]:
    """The columns of the rows that hold words. Columns, because access to single elements of arrays is slow."""
    verdicts = findings.verdicts
    verdict, reason = verdicts.verdict[order].tolist(), verdicts.reason[order].tolist()
    bits, which = _marks(findings)[order].tolist(), findings.which[order].tolist()
    judged = [findings.judged[index] for index in which]
    return {
        **_designed(findings, order, rate),
        "verdict": [VERDICTS[code] for code in verdict],
        "reasons": [_reasons(REASONS[code], marks, one) for code, marks, one in zip(reason, bits, judged, strict=True)],
        "level": _levels(findings, order),
        "threshold_source": _sources(findings, order),
        "marks": [mark_names(marks) for marks in bits],
        "differences": [one.different + one.machines for one in judged],
        "unverified": [one.unverified if both else () for one, both in zip(judged, findings.pairs.both[order].tolist(), strict=True)],
    }


def _designed(findings: RowArrays, order: Integers, rate: float) -> dict[str, list[Any]]:
    """The columns for the design of the runs and the kind of evidence."""
    found = findings.found
    tested, by_value = (flags.tolist() for flags in _decided(findings, order))
    designs = [found.designs[index] if index >= 0 else None for index in found.design[order].tolist()]
    real = findings.verdicts.p_adjusted < rate  # where nothing was tested it is NaN, and not below anything
    flagged = zip(tested, *(column[order].tolist() for column in (found.two_modes, real, findings.verdicts.gated)), strict=True)
    return {
        "design": [design.kind if design else "single" if single else None for design, single in zip(designs, by_value, strict=True)],
        "interval_kind": ["confidence" if one else "rounding" if single else None for one, single in zip(tested, by_value, strict=True)],
        "flags": [
            flags(*found_flags) if one else ("same_runs",) if same else ()
            for (one, *found_flags), same in zip(flagged, findings.same_runs[order].tolist(), strict=True)
        ],
    }


def _decided(findings: RowArrays, order: Integers) -> tuple[Flags, Flags]:
    """Which rows were decided by a test, and which by their single values."""
    return ~np.isnan(findings.verdicts.p_adjusted[order]), findings.verdicts.by_value[order]


def _estimated(findings: RowArrays, order: Integers) -> dict[str, list[Any]]:
    """The columns of the rows that are numbers."""
    found, cells, reach = findings.found, findings.data.cells, findings.verdicts.power
    pairs = CellPairs(findings.pairs.old[order], findings.pairs.new[order])
    tested, by_value = _decided(findings, order)
    shift = Shift(*(values[order] for values in found.shift))
    with np.errstate(divide="ignore", invalid="ignore"):
        single = cells.median[pairs.new] / cells.median[pairs.old]
    single[findings.verdicts.verdict[order] == CODE["not_comparable"]] = np.nan  # whoever sees a ratio compares
    rounding = bounds(cells, pairs)
    ends = [np.exp(np.where(tested, *pair)) for pair in ((shift.low, rounding.low), (shift.high, rounding.high))]
    decided = tested | by_value
    limits = np.expm1(np.where(by_value, findings.limits.single[order], findings.limits.least[order]))
    interval = list(zip(*map(_known, ends), strict=True))
    few = findings.verdicts.verdict[order] == CODE["too_few_pairs"]
    ratio = _known(np.where(tested, np.exp(shift.estimate), np.where(pairs.both, single, np.nan)))
    return {
        "ratio": ratio,
        "ratio_kind": _ratio_kinds(ratio, tested, found.paired[order]),
        "interval": [ends if there else None for ends, there in zip(interval, decided.tolist(), strict=True)],
        "p": _known(np.where(tested, shift.p, np.nan)),
        "p_adjusted": _known(findings.verdicts.p_adjusted[order]),
        "threshold": _known(np.where(decided, limits, np.nan)),
        "detectable": _known(np.where(tested, np.expm1(reach.detectable[order]), np.nan)),
        "attainable_p": _known(np.where(few, reach.attainable[order], np.nan)),
        "host_change": _known(np.where(decided & (findings.host_change is not None), np.expm1(findings.host_change or 0.0), np.nan)),
        "needed": [count or None for count in np.where(few, reach.needed[order], 0).tolist()],
        "old": _sides(findings, order, 0),
        "new": _sides(findings, order, 1),
    }


def _ratio_kinds(ratio: list[float | None], tested: Flags, paired: Flags) -> list[RatioKind | None]:
    """Which ratio each row has: an estimate, or the quotient of what is shown of both sides."""
    names: tuple[RatioKind, ...] = ("quotient", "hodges_lehmann_sessions", "hodges_lehmann_pairs")
    index = np.where(tested, np.where(paired, 2, 1), 0).tolist()
    return [None if value is None else names[which] for value, which in zip(ratio, index, strict=True)]


def _levels(findings: RowArrays, order: Integers) -> list[Level | None]:
    """The level of evidence: a, one value a side; b, repeated runs; c, repeated runs whose samples are counted. The poorer side decides."""
    cells, (old, new) = findings.data.cells, findings.pairs
    runs = np.minimum(cells.runs[old], cells.runs[new])
    counted = ~np.isnan(cells.samples[old] + cells.samples[new])
    names: list[Level | None] = ["a", "b", "c", None]
    index = np.where(findings.pairs.both, np.where(runs <= 1, 0, np.where(counted, 2, 1)), 3)
    return [names[level] for level in index[order].tolist()]


def _sources(findings: RowArrays, order: Integers) -> list[str | None]:
    """Where the threshold of each row comes from."""
    tested, by_value = _decided(findings, order)
    code = np.where(by_value, findings.limits.single_source[order], findings.limits.source[order])
    names = [*SOURCES, None]
    return [names[index] for index in np.where(tested | by_value, code, len(SOURCES)).tolist()]


def _known(values: Floats) -> list[float | None]:
    """The numbers, and ``None`` where there is none."""
    found = values.astype(object)
    found[~np.isfinite(values)] = None
    listed: list[float | None] = found.tolist()
    return listed


def _marks(findings: RowArrays) -> Integers:
    """The marks of both sides of each row, as bits."""
    marks = findings.data.cells.marks
    both: Integers = np.bitwise_or(*(np.where(side == NONE, 0, marks[side]) for side in findings.pairs))
    return both


def _reasons(reason: str, bits: int, judged: Judgement) -> tuple[str, ...]:
    if reason == "marked":
        return mark_names(bits & INVALID_BITS)
    if reason == "differs":
        return tuple(difference.field for difference in judged.different)
    return _ALONE[reason]


def _sides(findings: RowArrays, order: Integers, which: int) -> list[Side | None]:
    """One side of every row. Paired runs and sessions come in the order in which they were compared, where a test decided; else it is all runs."""
    cells, compared = findings.data.cells, findings.found.values
    tested = _decided(findings, order)[0].tolist()
    values = findings.data.entries.value
    side = findings.pairs[which][order]
    exact = (cells.first, cells.runs, cells.bound)
    columns = (
        *(column[side].tolist() for column in exact),
        *(_known(column[side]) for column in (cells.median, cells.resolution, cells.samples)),
    )
    metrics = findings.data.said("metric", either(findings.pairs)[order])
    found: list[Side | None] = []
    for cell, place, by_test, name, (first, count, bound, middle, resolution, samples) in zip(
        side.tolist(), order.tolist(), tested, metrics, zip(*columns, strict=True), strict=True
    ):
        if cell == NONE:
            found.append(None)
            continue
        run_by_run = compared[place][which].tolist() if by_test else (middle,) if count == 1 else values[first : first + count].tolist()
        found.append(
            Side(
                runs=count,
                median=middle if len(run_by_run) == count else median_run(run_by_run, name),
                values=tuple(run_by_run),
                bound=BOUNDS[bound],
                resolution=resolution,
                samples=None if samples is None else int(samples),
            )
        )
    return found
