"""The two sides of a comparison: find the data that OLD and NEW name, select a part of it, and apply renames.

OLD and NEW are each a release label, a folder of runs, a saved dataset, or a raw log without a manifest.

``renames.toml`` in the folder of the runs lists names that changed since an older release, so that a row keeps its history under its new name::

    [transport]
    "shmem" = "shm"            # old name = the name that it has today

Each table is one of `RENAMED_FIELDS`. Numbers, logs and pages keep the old names; only comparisons use the new names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there
from tacholog.formats.source import not_a_file
from tacholog.runs.labels import CONTROL, has_labels, label_name, labels_of
from tacholog.runs.manifest import RENAMES_FILE, Manifest, read_evidence_toml, read_toml
from tacholog.schema.metrics import METRICS
from tacholog.schema.tables import TABLES
from tacholog.store.frames import Dataset
from tacholog.store.load import load, open_path
from tacholog.store.pool import Work
from tacholog.visible import one_form

if TYPE_CHECKING:
    import pandas as pd


# These columns are not read, because a comparison does not show the log lines of its values.
_UNUSED = ("log", "line", "last_line", "value_line", "unit")


def find(name: str, roots: Sequence[Path], work: Work | None = None) -> Dataset:
    """Read one side of a diff; see `find_all`."""
    return find_all([name], roots, work)[0]


def find_all(names: Sequence[str], roots: Sequence[Path], work: Work | None = None) -> list[Dataset]:
    """Read the sides of a diff, in the order of their names. Releases in one folder are read together, so that the folder is searched once.

    Args:
        names: paths, or release labels, which are searched in ``roots``.
        roots: folders of runs.
        work: the pool that reads the logs; ``None``: this process.

    Raises:
        UnreadableInput: there is no data with one of the names, or a name is empty.
    """
    if "" in names:  # A script may pass an unset variable. Without this check, the current folder would be read.
        raise UnreadableInput("a side has no name: give a release, a log or a folder (. is the current one)")
    datasets = {name: open_path(Path(name), _UNUSED, work=work) for name in dict.fromkeys(names) if not_a_file(Path(name)) or Path(name).exists()}
    labels = {name: one_form(name) for name in names if name not in datasets}
    if labels:
        releases = _releases(list(dict.fromkeys(labels.values())), roots, work)
        datasets |= {name: releases[label] for name, label in labels.items()}
    return [datasets[name] for name in names]


def hidden_releases(names: Sequence[str], roots: Sequence[Path]) -> list[tuple[str, Path]]:
    """Return the names that `find_all` reads as paths, but that are also names of releases. Each name comes with the folder of the release.

    Only manifests are read for this. If no name without a slash is an existing path, nothing is read.
    """
    words = {name for name in names if "/" not in name and name.strip(".") and Path(name).exists()}
    root_of: dict[str, Path] = {}

    def noted(manifest: Manifest, root: Path) -> bool:
        if manifest.release in words:
            root_of.setdefault(str(manifest.release), root)
        return False

    for root in roots if words else ():
        load([root], wanted=partial(noted, root=root))
    return sorted(root_of.items())


def _only(dataset: Dataset, runs: pd.DataFrame) -> Dataset:
    names, problems = set(runs["run"].tolist()), dataset.problems
    tables = {name: getattr(dataset, name) for name in TABLES if name not in ("runs", "problems")}
    return Dataset(
        runs=runs,
        **{name: table[table["run"].isin(names)] for name, table in tables.items()},
        # Problems of unreadable runs are kept, because these runs may belong to this release.
        problems=problems[~problems["run"].isin(set(dataset.runs["run"].tolist()) - names)],
        hosts=dataset.hosts,
    )


def stated_of(runs: pd.DataFrame, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return these columns of each run; ``None`` for missing values. `DataFrame.to_dict` would be too slow for the many comparisons of a site."""
    frame: Any = runs  # The type stubs of pandas lack na_value=None.
    columns = [frame[name].to_numpy(dtype=object, na_value=None).tolist() if name in frame else [None] * len(frame) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def of_runs(dataset: Dataset, names: Collection[str]) -> Dataset:
    """Return the part of a dataset that belongs to the runs with these names."""
    return _only(dataset, dataset.runs[dataset.runs["run"].isin(names)])


def of_release(dataset: Dataset, label: str, system: str | None = None) -> Dataset:
    """Return the part of a dataset that belongs to one release, of all systems or of ``system``.

    Raises:
        UnreadableInput: the dataset has no such run.
    """
    runs = dataset.runs
    is_wanted = runs["release"] == label
    chosen = runs[is_wanted if system is None else is_wanted & (runs["system"] == system)]
    if chosen.empty:
        others = runs if system is None else runs[runs["system"] == system]
        raise UnreadableInput(f"no release {label!r}{f' of {system}' if system else ''}; {_there(set(others['release'].dropna()))}")
    return _only(dataset, chosen)


def of_labels(dataset: Dataset, asked: Sequence[tuple[str, str]]) -> Dataset:
    """Return the part of a dataset whose runs have these labels; the whole dataset if ``asked`` is empty.

    Raises:
        UnreadableInput: the dataset has no such run.
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


def control_runs(dataset: Dataset) -> set[str]:
    """Return the names of the control runs."""
    runs = dataset.runs.reindex(columns=["run", "labels"]).dropna()
    return {str(run) for run, labels in zip(runs["run"], runs["labels"], strict=True) if CONTROL in labels_of(str(labels))}


def without_controls(dataset: Dataset) -> Dataset:
    """Return the dataset without its control runs."""
    controls = control_runs(dataset)
    return _only(dataset, dataset.runs[~dataset.runs["run"].isin(controls)]) if controls else dataset


def _there(releases: set[str]) -> str:
    return f"there are: {', '.join(sorted(releases))}" if releases else "no run there has a release label"


def _releases(labels: Sequence[str], roots: Sequence[Path], work: Work | None) -> dict[str, Dataset]:
    """Read each release from the first root that contains it. Logs of other releases are not read."""
    there: set[str] = set()
    releases: dict[str, Dataset] = {}

    def wanted(manifest: Manifest) -> bool:
        if manifest.release is not None:
            there.add(manifest.release)
        # Published figures are read for all releases, because a later release may publish the same measurement again.
        return manifest.release is not None and (manifest.release in missing or manifest.published)

    for root in roots:
        missing = [label for label in labels if label not in releases]
        if missing:
            dataset = load([root], work=work, wanted=wanted)
            in_root = set(dataset.runs["release"].dropna())
            releases |= {label: of_release(dataset, label) for label in missing if label in in_root}
    for label in labels:
        if label not in releases:
            folders = ", ".join(map(str, roots)) or "any folder"
            reason = f"no release with this name in {folders} ({_there(there)}); --data DIR names another folder"
            raise UnreadableInput(f"{label}: no such file or folder, and {reason}")
    return releases


RENAMED_FIELDS = ("system", "transport", "type", "participant", "metric", "statistic")
Renames = Mapping[str, Mapping[str, str]]


def read_renames(path: Path) -> Renames:
    """Read a file of renames.

    Raises:
        UnreadableInput: the file is missing, is not TOML, renames a field that cannot be renamed, or gives a metric an unknown new name. The
            message names the file and the key.
    """
    return _checked(path, read_toml(path, dict[str, dict[str, str]]))


def _checked(path: Path, renames: dict[str, dict[str, str]]) -> Renames:
    if unknown := sorted(renames.keys() - set(RENAMED_FIELDS)):
        raise UnreadableInput(f"{path}: [{unknown[0]}]: only {', '.join(RENAMED_FIELDS)} can be renamed")
    if unknown := sorted(set(renames.get("metric", {}).values()) - METRICS.keys()):
        raise UnreadableInput(f"{path}: [metric]: there is no metric {unknown[0]!r}")
    return renames


def folder_of_renames(roots: Sequence[Path]) -> Path | None:
    """Return the first of these folders that contains a file of renames; ``None`` if there is none."""
    return next((root for root in roots if is_there(root, RENAMES_FILE)), None)


def find_renames(roots: Sequence[Path]) -> Renames:
    """Return the renames in the first of these folders that contains a file of renames; empty if there is none.

    Raises:
        UnreadableInput: the file is wrong, see `read_renames`.
    """
    root = folder_of_renames(roots)
    return {} if root is None else _checked(root / RENAMES_FILE, read_evidence_toml(root / RENAMES_FILE, dict[str, dict[str, str]]))


def renamed(dataset: Dataset, renames: Renames) -> Dataset:
    """Return the dataset with the current names."""
    if not renames:
        return dataset
    runs, results = dataset.runs, dataset.results
    for field, names in renames.items():
        if field == "system":
            runs = _replaced(runs, field, names)
        else:
            results = _replaced(results, field, names)
    return msgspec.structs.replace(dataset, runs=runs, results=results)


def _replaced(frame: pd.DataFrame, field: str, names: Mapping[str, str]) -> pd.DataFrame:
    column = frame[field].astype("string")  # a categorical column does not accept new values
    return frame.assign(**{field: column.replace(dict(names)).astype(column.dtype)})
