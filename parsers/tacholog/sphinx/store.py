"""The dataset of a Sphinx build: opened once, known to the environment as what pages depend on."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.errors import ExtensionError

from tacholog.errors import TachologError
from tacholog.report.views import View, view_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment


def prepare_data(app: Sphinx, config: Config) -> None:
    """Read the runs that ``tacholog_data`` names, into a dataset beside Sphinx's own cache.

    Raises:
        ExtensionError: there are none, or ``tacholog_site`` names no usable file.
    """
    if not config.tacholog_data:
        return
    from tacholog.report.prepare import prepare
    from tacholog.report.settings import SiteSettings, read_settings

    work = Path(app.doctreedir, "tacholog")
    try:
        settings = read_settings(Path(app.confdir, config.tacholog_site)) if config.tacholog_site else SiteSettings()
        prepare([Path(app.confdir, config.tacholog_data)], work, settings)
    except TachologError as error:
        raise ExtensionError(f"tacholog_data: {error}") from error
    config.tacholog_dataset = str((work / "dataset").resolve())


def view(env: BuildEnvironment) -> View:
    """Return the dataset that ``tacholog_dataset`` names, and note that the page being read depends on it.

    Raises:
        TachologError: no dataset is configured, or there is none at that place.
    """
    configured: str | None = env.config.tacholog_dataset
    if not configured:
        raise TachologError("no data set: set tacholog_data in conf.py to a folder of runs, or tacholog_dataset to one that Tacholog saved")
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
