"""The dataset of a Sphinx build: opened once, known to the environment as what pages depend on."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tacholog.errors import TachologError
from tacholog.report.views import View, view_of

if TYPE_CHECKING:
    from sphinx.environment import BuildEnvironment


def view(env: BuildEnvironment) -> View:
    """Return the dataset that ``tacholog_dataset`` names, and note that the page being read depends on it.

    Raises:
        TachologError: no dataset is configured, or there is none at that place.
    """
    configured: str | None = env.config.tacholog_dataset
    if not configured:
        raise TachologError("no data set: set tacholog_dataset in conf.py to a folder that Tacholog saved")
    folder = Path(env.srcdir, configured)
    files = sorted((*folder.glob("*.parquet"), *folder.glob("*.json")))
    for file in files:
        env.note_dependency(str(file))
    return _opened(folder, tuple((file.name, file.stat().st_mtime_ns) for file in files))


@lru_cache(maxsize=1)
def _opened(folder: Path, state: tuple[tuple[str, int], ...]) -> View:
    """Open a dataset; ``state`` makes sure that one which has changed since is opened again."""
    from tacholog.dataset import open_saved

    if not state:
        raise TachologError(f"no data set in {folder}")
    return view_of(open_saved(folder))
