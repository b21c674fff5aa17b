"""The dataset that a site shows, opened once: by the build that made it, and by the directives that show it in the same process."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from tacholog.compare.bands import FOLDER as BANDS
from tacholog.errors import TachologError
from tacholog.store.frames import Dataset, open_saved
from tacholog.view.views import View, view_of

BAND_FILES = f"{BANDS}/*.csv"
_KINDS = ("*.parquet", "*.json", "*.toml", BAND_FILES)
State = tuple[tuple[str, int], ...]
_given: dict[tuple[Path, State], tuple[Dataset, View]] = {}


def state_of(folder: Path) -> State:
    """Return the files of a dataset with their modification times. If these are the same, the dataset is the same."""
    return tuple((file.name, file.stat().st_mtime_ns) for file in sorted(file for kind in _KINDS for file in folder.glob(kind)))


def keep(folder: Path, data: Dataset, view: View) -> None:
    """Note what is in a dataset that was just saved: opening it again would take longer than all else in a small build."""
    _given.clear()
    _given[folder.resolve(), state_of(folder)] = data, view


def opened(folder: Path, state: State) -> View:
    """Return all of a dataset. ``state`` is a part of the key, so a changed dataset is opened again.

    Raises:
        TachologError: the folder holds no dataset.
    """
    known = _given.get((folder.resolve(), state))
    return known[1] if known else _opened(folder, state)


def dataset_in(folder: Path, state: State) -> Dataset:
    """Return the tables of a dataset; one that is opened for them comes without its distributions.

    Raises:
        TachologError: the folder holds no dataset.
    """
    known = _given.get((folder.resolve(), state))
    return known[0] if known else open_saved(folder, distributions=False)


@lru_cache(maxsize=1)
def _opened(folder: Path, state: State) -> View:
    if not state:
        raise TachologError(f"no data set in {folder}")
    return view_of(open_saved(folder))
