"""Finding the data that OLD and NEW name: a release label, a folder of runs, a saved dataset, or raw logs without any manifest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacholog.dataset.frames import Dataset
from tacholog.dataset.inputs import open_path
from tacholog.dataset.load import load
from tacholog.dataset.work.work import Work
from tacholog.errors import UnreadableInput
from tacholog.formats.source import not_a_file
from tacholog.runs.labels import has_labels, label_name, labels_of
from tacholog.runs.manifest import Manifest
from tacholog.schema.tables import TABLES

if TYPE_CHECKING:
    import pandas as pd


_UNUSED = (
    "log",
    "line",
    "last_line",
    "value_line",
    "unit",
)  # No row of a comparison names its place in a log: for a million rows this saves 40 MB.


def find(name: str, roots: Sequence[Path], work: Work | None = None) -> Dataset:
    """Read one side of a diff.

    Args:
        name: a path, or a release label that is looked for in ``roots``.
        roots: folders of runs.
        work: who reads the logs; ``None``: this process.

    Raises:
        UnreadableInput: there is nothing of that name, or nothing in it.
    """
    path = Path(name)
    if not_a_file(path) or path.exists():
        return open_path(path, _UNUSED, work=work)
    return _release(name, roots, work)


def _only(dataset: Dataset, runs: pd.DataFrame) -> Dataset:
    """The part of a dataset that belongs to these of its runs."""
    tables = {name: getattr(dataset, name) for name in TABLES if name != "runs"}
    # A run that could not be read may belong to this release: the report must name it.
    others = dataset.runs["run"][~dataset.runs["run"].isin(runs["run"])]
    return Dataset(runs=runs, **{name: table[~table["run"].isin(others)] for name, table in tables.items()}, hosts=dataset.hosts)


def of_runs(dataset: Dataset, names: Collection[str]) -> Dataset:
    """The part of a dataset that belongs to the runs of these names."""
    return _only(dataset, dataset.runs[dataset.runs["run"].isin(names)])


def of_release(dataset: Dataset, label: str, system: str | None = None) -> Dataset:
    """The part of a dataset that was measured of one release, of one system if one is named.

    Raises:
        UnreadableInput: there is no such run.
    """
    runs = dataset.runs if system is None else dataset.runs[dataset.runs["system"] == system]
    chosen = runs[runs["release"] == label]
    if chosen.empty:
        raise UnreadableInput(f"no release {label!r}{f' of {system}' if system else ''}; {_there(set(runs['release'].dropna()))}")
    return _only(dataset, chosen)


def of_labels(dataset: Dataset, asked: Sequence[tuple[str, str]]) -> Dataset:
    """The part of a dataset that was measured with these labels; all of it if none is asked for.

    Raises:
        UnreadableInput: there is no such run.
    """
    if not asked:
        return dataset
    texts = [text if isinstance(text, str) else None for text in dataset.runs.reindex(columns=["labels"])["labels"]]
    chosen = dataset.runs[[has_labels(text, asked) for text in texts]]
    if chosen.empty:
        wanted = ", ".join(f"{label_name(field)}={value}" for field, value in asked)
        there = sorted({f"{label_name(field)}={value}" for text in texts for field, value in labels_of(text).items()})
        raise UnreadableInput(f"no run with the label {wanted}; there are: {', '.join(there) or 'no labels'}")
    return _only(dataset, chosen)


def _there(releases: set[str]) -> str:
    return f"there are: {', '.join(sorted(releases))}" if releases else "no run there has a release label"


def _release(label: str, roots: Sequence[Path], work: Work | None) -> Dataset:
    """The runs of that release, in the first of the roots that has some. Only their logs are read."""
    there: set[str] = set()

    def wanted(manifest: Manifest) -> bool:
        if manifest.release is not None:
            there.add(manifest.release)
        # Published figures are compared with those of all other releases: some are the same measurement, published again.
        return manifest.release is not None and (manifest.release == label or manifest.published)

    for root in roots:
        dataset = load([root], work=work, wanted=wanted)
        if label in set(dataset.runs["release"].dropna()):
            return of_release(dataset, label)
    places = ", ".join(map(str, roots)) or "any folder"
    raise UnreadableInput(f"{label}: no such file or folder, and no release with this name in {places} ({_there(there)})")
