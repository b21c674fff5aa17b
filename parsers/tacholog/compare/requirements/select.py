"""The rows that a requirement names, and why there are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tacholog.compare.requirements.file import Requirement
from tacholog.compare.sides import control_runs
from tacholog.runs.labels import CONTROL, NOT_STATED, PREFIX, label_name, labels_of
from tacholog.store.frames import Dataset

if TYPE_CHECKING:
    import pandas as pd

_OF_RUNS = ("system", "host")  # columns of the runs; all other properties are columns of the results
_NAMED = 8  # values that a hint names


class Selected(NamedTuple):
    """The part of a dataset that a requirement names; if it is empty, ``hint`` says which property leaves nothing."""

    dataset: Dataset
    hint: str | None


def selected(dataset: Dataset, requirement: Requirement) -> Selected:
    """The numbers that a requirement names, with their runs. Controls are left out, unless the requirement names their label.

    Args:
        dataset: the runs that are judged.
        requirement: whose metric, statistic and properties are asked for.
    """
    results = dataset.results
    kept = (results["scope"] == "summary").to_numpy(bool)
    if label_name(CONTROL) not in requirement.label:
        kept = kept & ~results["run"].isin(control_runs(dataset)).to_numpy(bool)
    for name, of_run, wanted in _steps(dataset, requirement):
        values = results[name] if of_run is None else results["run"].map(of_run).astype("string")
        fits = kept & (values == wanted).fillna(value=False).to_numpy(bool)
        if not fits.any():
            return Selected(_with(dataset, results[fits]), _hint(name, wanted, values[kept], whole=name == "metric"))
        kept = fits  # Rows are taken out of the table once: it has fifty columns.
    return Selected(_with(dataset, results[kept]), None)


def _steps(dataset: Dataset, requirement: Requirement) -> Iterator[tuple[str, dict[str, str | None] | None, str | int | float]]:
    """Yield each property that is asked for: its name, its value for each run if it is no column of the results, and the value that is wanted."""
    runs = dataset.runs.reindex(columns=["run", "labels", *_OF_RUNS]).astype(object)
    columns = runs.where(runs.notna(), None).set_index("run").to_dict()
    yield "metric", None, requirement.metric
    yield "statistic", None, requirement.statistic
    for name, value in requirement.wanted().items():
        yield name, columns[name] if name in _OF_RUNS else None, value
    for label, value in requirement.label.items():
        yield PREFIX + label, {run: labels_of(text).get(PREFIX + label, NOT_STATED) for run, text in columns["labels"].items()}, value


def _with(dataset: Dataset, results: pd.DataFrame) -> Dataset:
    """The dataset with these of its results, and the runs that they are of."""
    runs = dataset.runs[dataset.runs["run"].isin(results["run"].unique())]
    return msgspec.structs.replace(dataset, runs=runs, results=results)


def _hint(name: str, wanted: object, values: pd.Series, *, whole: bool) -> str:
    there = sorted({str(value) for value in values.dropna().unique()}, key=lambda text: (len(text), text) if text.isdecimal() else (0, text))
    if not there:
        return f"no number states {name}" if not whole else "there are no numbers at all"
    return f"nothing has {name} = {wanted}; there is {_listed(there)}"


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return ", ".join(words[:_NAMED]) + more
