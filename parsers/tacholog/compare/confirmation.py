"""The confirmation of a comparison: rows that are worse or better in the first pairs get their verdicts from new pairs alone.

The rows were chosen because of their changes in the first pairs. So the first pairs exaggerate these changes, and are not used a second time. The new
pairs were not used for the choice. So the p-values of the chosen rows are adjusted for the chosen rows only. Rows that look better are treated like
rows that look worse: otherwise the verdicts would depend on which side is called old.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np

from tacholog.compare.comparable import as_text
from tacholog.compare.diff.cells import KEY_FIELDS, Flags
from tacholog.compare.result import VERDICTS, Comparison, ComparisonRow, ComparisonWarning, FirstLook, Input, Loss, RowKey
from tacholog.compare.sides import control_runs
from tacholog.runs.labels import is_label, labels_of

if TYPE_CHECKING:
    import pandas as pd

    from tacholog.store.frames import Dataset

_CHANGED = ("worse", "better")
_BY_EFFECT = (*_CHANGED, "inconclusive", "too_few_pairs")
Row = TypeVar("Row", ComparisonRow, Loss)


def changed_rows(comparison: Comparison) -> list[RowKey]:
    """Return the names of the rows that are worse or better, also those of loss."""
    rows: list[ComparisonRow | Loss] = [*comparison.rows, *comparison.losses]
    return [row.key for row in rows if row.verdict in _CHANGED]


def runs_with(side: Dataset, rows: Iterable[RowKey], across: Collection[str]) -> set[str]:
    """Return the names of the runs that have a number of any of these rows."""
    return {str(run) for run in side.results["run"][_is_number_of_any(side, rows, across)]}


def only_rows(side: Dataset, rows: Iterable[RowKey], across: Collection[str]) -> Dataset:
    """Return one side with the numbers of these rows and of the controls."""
    is_control = side.results["run"].isin(control_runs(side)).to_numpy(bool)
    return msgspec.structs.replace(side, results=side.results[_is_number_of_any(side, rows, across) | is_control])


def _is_number_of_any(side: Dataset, rows: Iterable[RowKey], across: Collection[str]) -> Flags:
    total = np.zeros(len(side.results), bool)
    for key in rows:
        texts = {name: as_text(getattr(key, name)) for name in KEY_FIELDS if name not in across} | dict(key.apart)
        fits = np.ones(len(total), bool)
        for name, text in texts.items():
            fits &= _is_equal(_values_of_field(side, name), text)
        total |= fits
    return total


def _values_of_field(side: Dataset, name: str) -> pd.Series:
    """Return one value for each number of the side. A property of a run is repeated for all numbers of the run."""
    if name in side.results:
        return side.results[name]
    column = "labels" if is_label(name) else name
    values = side.runs.reindex(columns=[column])[column].astype(object)
    if is_label(name):
        values = values.map(lambda text: labels_of(text).get(name) if isinstance(text, str) else None)
    return side.results["run"].astype(object).map(dict(zip(side.runs["run"], values, strict=True)))


def _is_equal(column: pd.Series, text: str | None) -> Flags:
    codes, values = column.factorize()
    fits = [as_text(value) == text for value in values.tolist()]  # each different value is converted to text only once
    equal: Flags = np.array([*fits, text is None])[codes]  # a missing value has the code -1, so it gets the last element
    return equal


def confirmed(first: Comparison, again: Comparison | None, pairs: int) -> Comparison:
    """Return the first comparison with the rows of new pairs in place of the rows that are worse or better.

    Args:
        first: the comparison of the first pairs.
        again: the comparison of the new pairs, with these rows alone; ``None`` if there is no such row, so that nothing was measured again.
        pairs: how many new pairs were planned.
    """
    chosen = len(changed_rows(first))
    warning = ComparisonWarning("first_look", chosen, pairs)
    if again is None:
        return msgspec.structs.replace(first, warnings=(*first.warnings, warning))
    rows = sorted((_from_new_pairs(row, again.rows, again) for row in first.rows), key=_order)
    losses = sorted((_from_new_pairs(loss, again.losses, again) for loss in first.losses), key=lambda loss: VERDICTS.index(loss.verdict))
    return msgspec.structs.replace(
        first,
        old=_with_new_runs(first.old, again.old),
        new=_with_new_runs(first.new, again.new),
        rows=tuple(rows),
        losses=tuple(losses),
        counts=dict.fromkeys(VERDICTS, 0) | Counter(row.verdict for row in rows),
        loss_counts=dict.fromkeys(VERDICTS, 0) | Counter(loss.verdict for loss in losses),
        warnings=(*dict.fromkeys((*first.warnings, *again.warnings)), warning),
        runs=(*first.runs, *again.runs),
        problems=(*first.problems, *again.problems),
    )


def _order(row: ComparisonRow) -> tuple[int, float]:
    return VERDICTS.index(row.verdict), -abs(row.change or 0.0) if row.verdict in _BY_EFFECT else 0.0


def _from_new_pairs(row: Row, candidates: Sequence[Row], again: Comparison) -> Row:
    if row.verdict not in _CHANGED:
        return row
    fits = [candidate for candidate in candidates if _is_same_row(candidate.key, row.key)]
    new = fits[0] if len(fits) == 1 else _row_without_new_values(row, again)
    return msgspec.structs.replace(new, key=row.key, first_look=_first_look(row, is_confirmed=new.verdict == row.verdict))


def _is_same_row(again: RowKey, first: RowKey) -> bool:
    """Return whether a key of the new pairs and a key of the first pairs name the same row.

    The key of the new pairs may have fewer distinguishing conditions, because the new pairs have fewer rows.
    """
    return msgspec.structs.replace(again, apart=()) == msgspec.structs.replace(first, apart=()) and {*again.apart} <= {*first.apart}


def _row_without_new_values(row: Row, again: Comparison) -> Row:
    if isinstance(row, Loss):  # the new pairs have no such row if no new run lost messages
        return Loss(key=row.key, verdict="no_change" if again.lossless else "insufficient", reasons=() if again.lossless else ("few_runs",))
    return ComparisonRow(key=row.key, verdict="insufficient", reasons=("few_runs",), unit=row.unit, better=row.better)


def _first_look(row: ComparisonRow | Loss, *, is_confirmed: bool) -> FirstLook:
    if isinstance(row, Loss):
        pairs = row.old.pairs if row.old else None
        return FirstLook(verdict=row.verdict, confirmed=is_confirmed, pairs=pairs, difference=row.difference, p_adjusted=row.p_adjusted)
    pairs = len(row.old.values) if row.old else None
    return FirstLook(verdict=row.verdict, confirmed=is_confirmed, pairs=pairs, ratio=row.ratio, p_adjusted=row.p_adjusted)


def _with_new_runs(first: Input, again: Input) -> Input:
    return msgspec.structs.replace(
        first,
        runs=first.runs + again.runs,
        numbers=first.numbers + again.numbers,
        last=again.last or first.last,
        problems=first.problems + again.problems,
    )
