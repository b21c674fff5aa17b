"""Finding the data that OLD and NEW name: a release label, a folder of runs, a saved dataset, or raw logs without any manifest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tacholog.dataset.load import TABLES, Dataset, load, load_logs, open_saved, run_folders
from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there
from tacholog.formats.source import not_a_file
from tacholog.runs.manifest import HOSTS_FOLDER, folders_below, read_host
from tacholog.runs.problems import no_files

if TYPE_CHECKING:
    import pandas as pd


_UNUSED = (
    "log",
    "line",
    "last_line",
    "value_line",
    "unit",
)  # No row of a comparison names its place in a log: for a million rows this saves 40 MB.


def find(name: str, roots: Sequence[Path]) -> Dataset:
    """Read one side of a diff.

    Args:
        name: a path, or a release label that is looked for in ``roots``.
        roots: folders of runs.

    Raises:
        UnreadableInput: there is nothing of that name, or nothing in it.
    """
    path = Path(name)
    if wrong := not_a_file(path):
        raise UnreadableInput(f"{path}: {wrong}, and is not read")
    if path.is_file():
        return load_logs([path])
    if path.is_dir():
        return _folder(path)
    return _release(name, roots)


def _folder(path: Path) -> Dataset:
    if (path / "results.parquet").is_file():
        return open_saved(path, _UNUSED, as_categories=True)
    if next(run_folders(path), None) is not None:
        return _with_hosts(load([path]), path)
    folders = list(folders_below(path))
    logs = [folder / file for folder, files in folders for file in files if Path(file).suffix not in (".toml", ".md")]
    left_out = [row for folder, _ in folders for row in no_files(folder)]
    if not logs:
        raise UnreadableInput("; ".join((f"{path}: no run.toml, no saved dataset and no log below it", *(row["reason"] for row in left_out))))
    return load_logs(logs, left_out)


def _with_hosts(dataset: Dataset, path: Path) -> Dataset:
    """The dataset with hosts that are described above the folder: ``data/rti/x`` knows those in ``data/hosts``."""
    hosts = dict(dataset.hosts)
    for host in sorted(set(dataset.runs["host"].dropna()) - hosts.keys()):
        name = f"{HOSTS_FOLDER}/{host}.toml"
        above = next((folder for folder in path.resolve().parents if "/" not in host and is_there(folder, name)), None)
        if above:
            hosts[host] = read_host(above / name)
    return msgspec.structs.replace(dataset, hosts=hosts)


def _only(dataset: Dataset, runs: pd.DataFrame) -> Dataset:
    """The part of a dataset that belongs to these of its runs."""
    tables = {name: getattr(dataset, name) for name in TABLES if name != "runs"}
    # A run that could not be read may belong to this release: the report must name it.
    others = dataset.runs["run"][~dataset.runs["run"].isin(runs["run"])]
    return Dataset(runs=runs, **{name: table[~table["run"].isin(others)] for name, table in tables.items()}, hosts=dataset.hosts)


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


def _there(releases: set[str]) -> str:
    return f"there are: {', '.join(sorted(releases))}" if releases else "no run there has a release label"


def _release(label: str, roots: Sequence[Path]) -> Dataset:
    """The runs of that release, in all of the roots."""
    there: set[str] = set()
    for root in roots:
        dataset = load([root])
        found = set(dataset.runs["release"].dropna())
        if label in found:
            return of_release(dataset, label)
        there |= found
    places = ", ".join(map(str, roots)) or "any folder"
    raise UnreadableInput(f"{label}: no such file or folder, and no release of that name in {places} ({_there(there)})")
