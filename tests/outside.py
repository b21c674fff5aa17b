"""The files outside of the folders of the tests: the checkout and the home of the user. No test may make a file there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = Path(os.environ.get("HOME") or "/")
#: Folders in the checkout that git, pytest, a compiler, mypy and .ci/run write, perhaps during the tests.
_OWN = (".git", "build/pytest", "build/bench", "build/mypy", "build/logs")
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or HOME / ".cache")
_CONFIG = Path(os.environ.get("XDG_CONFIG_HOME") or HOME / ".config")
#: Folders of the user. Only the names of their entries are compared before and after the tests.
_OF_THE_USER = (HOME, _CACHE, _CONFIG, HOME / ".local/share")
#: SQLite makes files with these endings next to an open cache, for example the user's cache.
_OPEN = ("-shm", "-wal")
_OF_TACHOLOG = (_CACHE / "tacholog", _CONFIG / "tacholog")


def files() -> set[str]:
    """The files of the checkout, and Tacholog's files in the home of the user."""
    return {entry.path for folder in (ROOT, *_OF_TACHOLOG) for entry in _files(folder) if not entry.name.endswith(_OPEN)}


def names_at_home() -> set[str]:
    """Return the paths directly in the folders of the user. New paths are no proof: other programs may also make files there during the tests."""
    return {str(path) for folder in _OF_THE_USER if folder.is_dir() for path in folder.iterdir()}


def _files(folder: str | Path) -> Iterator[os.DirEntry[str]]:
    try:
        entries = [*os.scandir(folder)]
    except (FileNotFoundError, NotADirectoryError, PermissionError):  # The folder is missing, or was deleted during the search.
        return
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            yield entry
        elif entry.name != "__pycache__" and entry.path not in _LEFT_OUT:
            yield from _files(entry.path)


_LEFT_OUT = {str(ROOT / name) for name in _OWN}
