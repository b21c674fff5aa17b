"""The folder of redacted logs. Each run has a folder of its own there, and beside it one with the classes of the lines.

A build notes which files it left. To list 20,000 folders takes the next one longer than to look at the files in them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from tacholog.privacy.logs import LINES, shown_file

_Names = dict[str, list[str]]  # the logs that are shown of each run, by the name of its folder


class ShownLogs:
    """The folder of redacted logs while a build fills it."""

    def __init__(self, folder: Path) -> None:
        """``folder`` may hold the logs of the last build."""
        self._folder = folder
        self._before = _noted(folder) or {}
        _note(folder).unlink(missing_ok=True)  # A build that is stopped may leave other files.
        self._now: _Names = {}

    def of_run(self, run: str) -> Path:
        """Return the folder of the redacted logs of a run."""
        return self._folder / hashlib.sha256(run.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def keep(self, of_run: Path, logs: Collection[str]) -> None:
        """Note that these logs of a run are shown, and delete what an earlier build showed besides them."""
        names = sorted(logs)
        if self._before.get(of_run.name) != names:
            _delete_others(os.fspath(of_run), set(names))
            _delete_others(f"{of_run}{LINES}", {shown_file("", name).rpartition("/")[2] for name in names})
        self._now[of_run.name] = names

    def close(self) -> None:
        """Delete the logs of other runs, and note for the next build what is there."""
        for name in os.listdir(self._folder) if self._folder.is_dir() else ():  # noqa: PTH208 - there are thousands, and none needs a `Path`
            if name.removesuffix(LINES) not in self._now:
                shutil.rmtree(self._folder / name)
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        _note(self._folder).write_bytes(msgspec.json.encode(self._now))


def shown_files(folder: Path) -> Iterator[str]:
    """Yield the redacted logs that the last build left, and the files with the classes of their lines; nothing if it did not come to its end."""
    for name, logs in (_noted(folder) or {}).items():
        for log in logs:
            yield f"{folder}/{name}/{log}"
            yield shown_file(f"{folder}/{name}", log)


def _note(folder: Path) -> Path:
    return Path(f"{folder}.json")


def _noted(folder: Path) -> _Names | None:
    try:
        return msgspec.json.decode(_note(folder).read_bytes(), type=_Names)
    except (OSError, msgspec.DecodeError):
        return None


def _delete_others(folder: str, kept: Collection[str]) -> None:
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as files:
        for file in files:
            if file.name not in kept:
                Path(file).unlink()
