"""What a path that the user names holds: a folder of runs, raw logs without a manifest, or a saved dataset."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there
from tacholog.formats.source import not_a_file
from tacholog.runs.manifest import HOSTS_FOLDER, folders_below, read_host
from tacholog.runs.problems import no_files
from tacholog.schema.tables import TABLES
from tacholog.store.frames import Dataset
from tacholog.store.load import load, load_logs, run_folders
from tacholog.store.saved import is_saved, open_saved
from tacholog.store.work import Work

if TYPE_CHECKING:
    import pandas as pd


def open_path(path: Path, without: Collection[str] = (), *, work: Work | None = None) -> Dataset:
    """Read one folder or one log.

    Args:
        path: a folder of runs, a log, a folder of logs, or a folder in which `Dataset.save` wrote.
        without: of a saved dataset: columns of the results that the caller does not need.
        work: who reads the logs; ``None``: this process.

    Raises:
        UnreadableInput: there is nothing, or nothing that can be read.
    """
    if wrong := not_a_file(path):
        raise UnreadableInput(f"{path}: {wrong}, and is not read")
    if path.is_file():
        return load_logs([path], work=work)
    if not path.is_dir():
        raise UnreadableInput(f"{path}: no such file or folder")
    if is_saved(path):
        return open_saved(path, without)
    if next(run_folders(path), None) is not None:
        return with_hosts_above(load([path], work=work), path)
    return _load_folder_of_logs(path, work)


def open_paths(paths: Sequence[Path]) -> Dataset:
    """Read several folders or logs into one dataset. Folders of runs are read together, so that their runs are compared with each other.

    Raises:
        UnreadableInput: one of them cannot be read, or is given twice.
    """
    roots = [path for path in paths if path.is_dir() and not is_saved(path) and next(run_folders(path), None) is not None]
    parts = [open_path(path) for path in paths if path not in roots]
    if roots:
        runs = load(roots)
        for root in roots:
            runs = with_hosts_above(runs, root)
        parts.insert(0, runs)
    return joined(parts)


def _load_folder_of_logs(path: Path, work: Work | None) -> Dataset:
    folders = list(folders_below(path))
    logs = [folder / file for folder, files in folders for file in files if Path(file).suffix not in (".toml", ".md")]
    left_out = [row for folder, _ in folders for row in no_files(folder)]
    if not logs:
        raise UnreadableInput("; ".join((f"{path}: no run.toml, no saved dataset and no log below it", *(row["reason"] for row in left_out))))
    return load_logs(logs, left_out, skip_unreadable=True, work=work)


def with_hosts_above(dataset: Dataset, path: Path) -> Dataset:
    """Return the dataset with the hosts that are described above the folder: ``data/rti/x`` knows those in ``data/hosts``."""
    hosts = dict(dataset.hosts)
    for host in sorted(set(dataset.runs["host"].dropna()) - hosts.keys()):
        name = f"{HOSTS_FOLDER}/{host}.toml"
        above = next((folder for folder in path.resolve().parents if "/" not in host and is_there(folder, name)), None)
        if above:
            hosts[host] = read_host(above / name)
    return msgspec.structs.replace(dataset, hosts=hosts)


def joined(parts: Sequence[Dataset]) -> Dataset:
    """Return several datasets as one.

    Raises:
        UnreadableInput: two of them hold the same run.
    """
    import pandas as pd

    if len(parts) == 1:
        return parts[0]
    tables = {name: pd.concat([getattr(part, name) for part in parts], ignore_index=True) for name in TABLES if name != "results"}
    tables["results"] = _joined_results([part.results for part in parts])
    runs = tables["runs"]["run"]
    if runs.duplicated().any():
        raise UnreadableInput(f"the run {runs[runs.duplicated()].iloc[0]} was given twice; its numbers would count twice")
    return Dataset(**tables, hosts={name: host for part in parts for name, host in part.hosts.items()})


def _joined_results(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return several frames of results as one. Columns of categories stay such, although their words differ."""
    import pandas as pd
    from pandas.api.types import union_categoricals

    is_text = {name: all(isinstance(frame[name].dtype, pd.CategoricalDtype) for frame in frames) for name in frames[0].columns}
    others = pd.concat([frame[[name for name in frame.columns if not is_text[name]]] for frame in frames], ignore_index=True)
    made = {name: union_categoricals([frame[name].array for frame in frames]) if is_text[name] else others[name] for name in frames[0].columns}
    return pd.DataFrame(made)
