"""The dataset that a site shows, opened once: by the build that made it, and by the directives that show it in the same process."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from tacholog.compare.bands import FOLDER as BANDS
from tacholog.dataset.frames import Dataset
from tacholog.dataset.saved import open_saved
from tacholog.errors import TachologError
from tacholog.view.views import View, view_of

BAND_FILES = f"{BANDS}/*.csv"
_KINDS = ("*.parquet", "*.json", "*.toml", BAND_FILES)
State = tuple[tuple[str, int], ...]
_given: dict[tuple[Path, State], tuple[View, Dataset]] = {}


def state_of(folder: Path) -> State:
    """Return the files of a dataset with their modification times. If these are the same, the dataset is the same."""
    return tuple((file.name, file.stat().st_mtime_ns) for file in sorted(file for kind in _KINDS for file in folder.glob(kind)))


def keep(folder: Path, view: View, data: Dataset) -> None:
    """Note what is in a dataset that was just saved: opening it again would take longer than all else in a small build.

    ``data`` is the dataset without distributions. Comparisons need no more, and a second one would take the memory twice.
    """
    _given.clear()
    _given[folder.resolve(), state_of(folder)] = view, data


def opened(folder: Path, state: State) -> View:
    """Return all of a dataset. ``state`` is a part of the key, so a changed dataset is opened again.

    Raises:
        TachologError: the folder holds no dataset.
    """
    given = _given.get((folder.resolve(), state))
    return given[0] if given else _opened(folder, state)


def opened_tables(folder: Path, state: State) -> Dataset:
    """Return the tables of a dataset, without distributions.

    Raises:
        TachologError: the folder holds no dataset.
    """
    given = _given.get((folder.resolve(), state))
    return given[1] if given else open_saved(folder, distributions=False)


@lru_cache(maxsize=1)
def _opened(folder: Path, state: State) -> View:
    if not state:
        raise TachologError(f"no data set in {folder}")
    return view_of(open_saved(folder))
