"""From arrays to the rows of a report, worst first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, isnan
from typing import Any, NamedTuple, cast

import numpy as np

from tacholog.diff.estimate import Estimates
from tacholog.diff.gate import Judgement
from tacholog.diff.match import NONE, Pairs
from tacholog.diff.numbers import BOUNDS, SETTING, SIZE, Column, Floats, Integers, Numbers, mark_names
from tacholog.diff.policy import Policy
from tacholog.diff.result import VERDICTS, Curve, Interval, Key, Level, Row, Side, Untested, Verdict
from tacholog.diff.verdict import CODE, INVALID_BITS, REASONS, SERIES, SOURCES, Thresholds, Verdicts, bounds, flags
from tacholog.records import METRICS, Bound

KEY_FIELDS = ("system", *SETTING, *SIZE, "metric", "statistic")
_BY_EFFECT: tuple[Verdict, ...] = ("worse", "better", "unreplicated_diff", "inconclusive")


class Findings(NamedTuple):
    """Everything that was found about the pairs that get a verdict. ``which`` points into ``judged``."""

    data: Numbers
    pairs: Pairs
    judged: list[Judgement]
    which: Integers
    found: Estimates
    limits: Thresholds
    verdicts: Verdicts


class _Plain(NamedTuple):
    """The arrays as lists, because picking single elements out of arrays is slow."""

    keys: list[Key]
    ratio: list[float]
    low: list[float]
    high: list[float]
    round_low: list[float]
    round_high: list[float]
    p: list[float]
    p_adjusted: list[float]
    threshold: list[float]
    detectable: list[float]
    level: list[Level | None]
    old: list[Side | None]
    new: list[Side | None]


def rows(findings: Findings, policy: Policy) -> tuple[Row, ...]:
    """The rows, by verdict, the largest effect first, then in the order of their names."""
    cell = _either(findings.pairs)
    effect = _effect(findings)
    kind = findings.verdicts.verdict
    large = np.isin(kind, [CODE[verdict] for verdict in _BY_EFFECT])
    order = np.lexsort((*_natural(findings.data, cell), np.where(large, -np.abs(effect), 0.0), kind))
    plain = _plain(findings, cell, policy)
    return tuple(_row(findings, plain, int(place)) for place in order)


def untested(data: Numbers, pairs: Pairs, policy: Policy) -> tuple[Untested, ...]:
    """The numbers that are shown and never tested, in the order of their names."""
    cell = _either(pairs)
    order = np.lexsort(tuple(_natural(data, cell)))
    keys = _keys(data, cell[order], policy)
    old, new = (_known(np.where(side == NONE, np.nan, data.cells.median[side])[order]) for side in pairs)
    return tuple(Untested(key=key, unit=METRICS[key.metric].unit, old=first, new=second) for key, first, second in zip(keys, old, new, strict=True))


def curves(findings: Findings, policy: Policy) -> tuple[Curve, ...]:
    """The series of single values that differ only in size, each summed up."""
    verdict = findings.verdicts.verdict
    chosen = np.isin(verdict, [CODE["unreplicated_diff"], CODE["unreplicated_same"]]) & findings.verdicts.by_value
    cells, data = findings.data.cells, findings.data
    exact = (cells.bound[findings.pairs.old] == 0) & (cells.bound[findings.pairs.new] == 0)
    places = np.flatnonzero(chosen & exact)
    code = data.codes([name for name in KEY_FIELDS if name not in (*SIZE, *policy.across)])[findings.pairs.old[places]]
    order = np.argsort(code, kind="stable")
    code, places = code[order], places[order]
    shift = np.log(cells.median[findings.pairs.new[places]] / cells.median[findings.pairs.old[places]])
    starts = np.flatnonzero(np.diff(code, prepend=-1))
    keys = _keys(data, findings.pairs.old[places[starts]], policy, without=SIZE)
    members = np.split(shift, starts[1:])
    return tuple(_curve(key, found) for key, found in zip(keys, members, strict=False) if len(found) >= SERIES)


def _curve(key: Key, shift: Floats) -> Curve:
    return Curve(
        key=key,
        rows=len(shift),
        mean_ratio=float(np.exp(shift.mean())),
        least=float(np.exp(shift.min())),
        most=float(np.exp(shift.max())),
        lower=int((shift < 0).sum()),
        equal=int((shift == 0).sum()),
        higher=int((shift > 0).sum()),
    )


def _either(pairs: Pairs) -> Integers:
    return np.where(pairs.old != NONE, pairs.old, pairs.new)


def _natural(data: Numbers, cell: Integers) -> Iterator[Any]:
    """Sort keys, least significant first: sizes within statistics within metrics within settings."""
    for name in ("demand", "payload_bytes_high", "payload_bytes", "statistic", "metric", *reversed(SETTING), "system"):
        column = data.columns[name]
        ranks = np.zeros(len(column.words) + 1, np.int64)
        ranks[1 + np.array(sorted(range(len(column.words)), key=lambda index: column.words[index]), np.int64)] = np.arange(1, len(column.words) + 1)
        yield ranks[column.codes[cell]]


def _effect(findings: Findings) -> Floats:
    old, new = findings.pairs
    median = findings.data.cells.median
    with np.errstate(divide="ignore", invalid="ignore"):
        by_value = np.log(median[new] / median[old])
    shift = findings.found.shift.estimate
    return np.nan_to_num(np.where(np.isnan(shift), by_value, shift))


def _plain(findings: Findings, cell: Integers, policy: Policy) -> _Plain:
    found, cells, pairs = findings.found, findings.data.cells, findings.pairs
    with np.errstate(divide="ignore", invalid="ignore"):
        by_value = cells.median[pairs.new] / cells.median[pairs.old]
    rounding = bounds(cells, pairs)
    tested = found.tested & np.isfinite(findings.verdicts.p_adjusted)
    shift = found.shift
    ratio = np.where(tested, np.exp(shift.estimate), np.where(pairs.both, by_value, np.nan))
    return _Plain(
        keys=_keys(findings.data, cell, policy),
        ratio=ratio.tolist(),
        low=np.exp(shift.low).tolist(),
        high=np.exp(shift.high).tolist(),
        round_low=np.exp(rounding.low).tolist(),
        round_high=np.exp(rounding.high).tolist(),
        p=shift.p.tolist(),
        p_adjusted=findings.verdicts.p_adjusted.tolist(),
        threshold=np.expm1(np.where(findings.verdicts.by_value, findings.limits.single, findings.limits.least)).tolist(),
        detectable=np.expm1(found.detectable).tolist(),
        level=_levels(findings),
        old=_sides(findings, pairs.old, 0),
        new=_sides(findings, pairs.new, 1),
    )


def _levels(findings: Findings) -> list[Level | None]:
    """The level of evidence: a, one value a side; b, repeated runs; c, repeated runs whose samples are counted. The poorer side decides."""
    cells, pairs = findings.data.cells, findings.pairs
    runs = np.minimum(cells.values[pairs.old], cells.values[pairs.new])
    counted = ~np.isnan(cells.samples[pairs.old] + cells.samples[pairs.new])
    names: list[Level] = ["a", "b", "c"]
    index = np.where(runs <= 1, 0, np.where(counted, 2, 1))
    return [names[level] if both else None for level, both in zip(index.tolist(), pairs.both.tolist(), strict=True)]


def _keys(data: Numbers, cell: Integers, policy: Policy, without: Sequence[str] = ()) -> list[Key]:
    columns = {name: _decoded(data.columns[name], cell) for name in KEY_FIELDS if name not in policy.across and name not in without}
    names = tuple(columns)
    return [Key(**dict(zip(names, values, strict=True))) for values in zip(*columns.values(), strict=True)]


def _decoded(column: Column, cell: Integers) -> list[Any]:
    words = np.empty(len(column.words) + 1, object)
    words[0] = None
    words[1:] = list(column.words)
    found: list[Any] = words[column.codes[cell]].tolist()
    return found


def _known(values: Floats) -> list[float | None]:
    return [None if isnan(value) else value for value in values.tolist()]


def _row(findings: Findings, plain: _Plain, place: int) -> Row:
    verdicts, found, judged = findings.verdicts, findings.found, findings.judged[findings.which[place]]
    key = plain.keys[place]
    verdict = VERDICTS[verdicts.verdict[place]]
    metric = METRICS[key.metric]
    bits = _marks(findings, place)
    tested = not isnan(plain.p_adjusted[place])
    by_value = bool(verdicts.by_value[place])
    design = found.designs[found.design[place]] if found.design[place] >= 0 else None
    decided = tested or by_value
    return Row(
        key=key,
        verdict=verdict,
        reasons=_reasons(findings, place, bits),
        unit=metric.unit,
        better=metric.better or "lower",
        level=plain.level[place],
        design=design.kind if design else "single" if by_value else None,
        old=plain.old[place],
        new=plain.new[place],
        ratio=_number(plain.ratio[place]),
        interval=_interval(plain, place, tested=tested) if decided else None,
        interval_kind=("confidence" if tested else "rounding") if decided else None,
        p=plain.p[place] if tested else None,
        p_adjusted=plain.p_adjusted[place] if tested else None,
        threshold=_number(plain.threshold[place]) if decided else None,
        threshold_source=_source(findings, place, by_value=by_value) if decided else None,
        detectable=_number(plain.detectable[place]) if tested else None,
        marks=mark_names(bits),
        flags=flags(design, bool(found.two_modes[place])) if tested else (),
        differences=judged.different,
        unverified=judged.unverified,
    )


def _source(findings: Findings, place: int, *, by_value: bool) -> str:
    source = findings.limits.single_source if by_value else findings.limits.source
    return SOURCES[source[place]]


def _number(value: float) -> float | None:
    return value if isfinite(value) else None


def _interval(plain: _Plain, place: int, *, tested: bool) -> Interval:
    low, high = (plain.low, plain.high) if tested else (plain.round_low, plain.round_high)
    return _number(low[place]), _number(high[place])


def _marks(findings: Findings, place: int) -> int:
    marks, bits = findings.data.cells.marks, 0
    for side in findings.pairs:
        if side[place] != NONE:
            bits |= int(marks[side[place]])
    return bits


def _reasons(findings: Findings, place: int, bits: int) -> tuple[str, ...]:
    reason = REASONS[findings.verdicts.reason[place]]
    if reason == "marked":
        return mark_names(bits & INVALID_BITS)
    if reason == "differs":
        return tuple(difference.field for difference in findings.judged[findings.which[place]].different)
    return (reason,) if reason else ()


def _sides(findings: Findings, side: Integers, which: int) -> list[Side | None]:
    """One side of every row. Paired runs and sessions come in the order in which they were compared."""
    cells, values, compared = findings.data.cells, findings.data.entries.value, findings.found.values
    columns = (cells.first[side], cells.values[side], cells.median[side], cells.bound[side], cells.resolution[side], cells.samples[side])
    found: list[Side | None] = []
    for place, (cell, first, count, median, bound, resolution, samples) in enumerate(zip(*(c.tolist() for c in (side, *columns)), strict=True)):
        if cell == NONE:
            found.append(None)
            continue
        logs = compared.get(place)
        found.append(
            Side(
                runs=count,
                median=_number(median),
                values=tuple((values[first : first + count] if logs is None else np.exp(logs[which])).tolist()),
                bound=cast("Bound", BOUNDS[bound]),
                resolution=_number(resolution),
                samples=int(samples) if isfinite(samples) else None,
            )
        )
    return found
